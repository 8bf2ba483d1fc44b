"""The server, asked by the official client of the protocol: client.py TRACELENS TESTDATA.

The answers to its questions are worked out from the events of the files themselves."""

import asyncio
import collections
import gzip
import json
import pathlib
import sys

from mcp import Client, StdioServerParameters

TRACE = "generated/cuda_training_step.json.gz"
STACKS = "recorded/h200/stacks_modules.json.gz"
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


class Raw:
    """The events of a file."""

    def __init__(self, path: pathlib.Path) -> None:
        self.document = json.loads(gzip.open(path).read())
        events = self.document["traceEvents"]
        self.events = len(events)
        self.spans = [event for event in events if event.get("ph") == "X"]
        self.device = [event for event in self.spans if event.get("cat") in DEVICE]
        self.start = min(event["ts"] for event in self.spans)

    def named(self, name: str, category: str = "cpu_op") -> list:
        return [event for event in self.spans if event["name"] == name and event["cat"] == category]


def merged(events: list) -> list:
    """When at least one of them ran."""
    spans = []
    for start, end in sorted((event["ts"], event["ts"] + event["dur"]) for event in events):
        if spans and start <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, end])
    return spans


def busy(events: list) -> float:
    return sum(end - start for start, end in merged(events))


def is_near(found: float, known: float) -> bool:
    return abs(found - known) <= max(0.002, 0.001 * abs(known))


class Asked:
    """A conversation, which counts its questions."""

    def __init__(self, client) -> None:
        self.client, self.questions = client, 0

    async def call(self, tool: str, is_error: bool = False, **arguments) -> dict:
        answer = await self.client.call_tool(tool, arguments)
        assert answer.is_error == is_error, answer
        document = answer.structured_content
        assert json.loads(answer.content[0].text) == document, tool
        return document

    async def rows(self, tool: str, **arguments) -> list:
        found, wanted = [], arguments.get("top", 500)
        while True:
            table = (await self.call(tool, **arguments))["tables"][0]
            names = [column["name"] for column in table["columns"]]
            found += [dict(zip(names, row)) for row in table["rows"]]
            arguments["cursor"] = table.get("next")
            if arguments["cursor"] is None or len(found) >= wanted:
                return found

    def holds(self, question: str, found, known) -> None:
        self.questions += 1
        is_number = isinstance(known, float)
        assert is_near(found, known) if is_number else found == known, (question, found, known)


async def questions(asked: Asked, handle: str, opened: dict, root: pathlib.Path) -> None:
    raw, stacks = Raw(root / TRACE), Raw(root / STACKS)
    holds, ask, rows = asked.holds, asked.call, asked.rows

    files = {row["file"]: row["bytes"] for row in await rows("open")}
    holds("which recordings are there?", files[TRACE], (root / TRACE).stat().st_size)
    holds("how many events has the recording?", opened["inputs"][0]["events"], raw.events)
    holds("how many of them are of devices?", opened["trust"]["device_events"], len(raw.device))
    marks = {event["name"] for event in raw.spans if event["name"].startswith("ProfilerStep#")}
    holds("how many steps?", opened["trust"]["steps"], len(marks))

    summary = await ask("summary", trace=handle)
    device = summary["result"]["devices"][0]
    holds("for how long was the GPU busy?", device["busy_us"], float(busy(raw.device)))
    first, last = merged(raw.device)[0][0], merged(raw.device)[-1][1]
    holds("for how long was it idle between?", device["idle_us"], float(last - first - busy(raw.device)))
    collectives = [event for event in raw.device if event["name"].startswith("nccl")]
    others = [event for event in raw.device if event["cat"] != "gpu_memcpy" and event not in collectives]
    exposed = busy(collectives + others) - busy(others)
    holds("how much communication is exposed?", device["exposed_communication_us"], float(exposed))

    by_name = collections.Counter()
    for event in raw.device:
        if event["cat"] == "kernel":
            by_name[event["name"]] += event["dur"]
    time = {"column": "Kernel duration (µs)_sum"}
    kernels = await rows("table", trace=handle, name="device_timeline", top=500)
    most, most_time = by_name.most_common(1)[0]
    of_kernel = await ask("why", trace=handle, target=most)
    holds("how long did the kernel with most time run?", of_kernel["result"]["cost"]["sum_us"], float(most_time))
    holds("how often?", of_kernel["result"]["cost"]["calls"], len(raw.named(most, "kernel")))
    summed = await rows("table", trace=handle, name="kernel_summary", sort=[time], top=1)
    assert most.startswith(summed[0]["Kernel name"].split("…")[0]), summed

    calls = raw.named("aten::mm")
    ids = {event["args"]["External id"] for event in calls}
    below = [event for event in raw.device if event["args"].get("External id") in ids]
    of_operator = (await ask("why", trace=handle, target="aten::mm"))["result"]
    holds("how often was aten::mm called?", of_operator["cost"]["calls"], len(calls))
    holds("what did its kernels take?", of_operator["cost"]["sum_us"], float(sum(event["dur"] for event in below)))

    holds("how many device events are there?", len(kernels), len(raw.device))
    one = next(event for event in raw.device if event["cat"] == "kernel")
    launch = next(
        event
        for event in raw.spans
        if event["cat"] == "cuda_runtime" and event["args"].get("correlation") == one["args"]["correlation"]
    )
    start = float(one["ts"] - raw.start)
    found = next(row for row in kernels if is_near(row["start_us"], start) and row["name"][:20] == one["name"][:20])
    holds("how long was its first kernel launched before it ran?", found["launch_delay_us"], float(one["ts"] - launch["ts"]))
    between = [event for event in raw.device if 12_000 <= event["ts"] - raw.start < 20_000]
    window = {"start_ms": 12, "end_ms": 20}
    some = await rows("table", trace=handle, name="device_timeline", window=window, top=500)
    holds("what started between 12 and 20 ms?", sorted(row["name"][:20] for row in some), sorted(event["name"][:20] for event in between))
    copies = [{"column": "name", "op": "contains", "value": "Memcpy HtoD"}]
    copied = await rows("table", trace=handle, name="device_timeline", filter=copies, top=500)
    holds("how many copies to the device?", len(copied), sum("Memcpy HtoD" in event["name"] for event in raw.device))

    spans = merged(raw.device)
    longest = max(after[0] - before[1] for before, after in zip(spans, spans[1:]))
    gaps = await rows("table", trace=handle, name="gpu_gaps", top=1)
    holds("how long was the longest gap?", gaps[0]["Duration (ms)"] * 1000, float(longest))
    of_modules = await rows("table", trace=STACKS, name="modules", top=50)
    frames = {event["name"] for event in stacks.spans if event["cat"] == "python_function"}
    modules = {frame.removeprefix("nn.Module: ").rsplit("_", 1)[0] for frame in frames if frame.startswith("nn.Module: ")}
    assert {row["name"] for row in of_modules} <= modules, (of_modules, modules)
    module = of_modules[0]["name"]
    starts = [event for event in stacks.spans if event["name"].startswith(f"nn.Module: {module}_")]
    holds("how often was the module with most time called?", of_modules[0]["calls"], len(starts))

    changed = await ask("path", trace=handle, what_if=[{"name": "aten::mm"}], top=1)
    said = changed["result"]["statements"][-1]
    holds("how many events would change if aten::mm were free?", f"{len(below)} events changed" in said, True)
    up = await rows("tree", trace=handle, name="aten::mm", direction="up", depth=1)
    holds("where does aten::mm stand?", (up[0]["name"], up[0]["calls"]), ("aten::mm", len(calls)))
    shapes, types = [[4096, 1024], [1024, 512]], ["c10::BFloat16", "c10::BFloat16"]
    model = (await ask("model", name="aten::mm", dims=shapes, types=types, arch="H100-SXM"))["result"]
    holds("how much work is a product?", (model["flops"], model["bytes"]), (2 * 4096 * 1024 * 512, 2 * (4096 * 1024 + 1024 * 512 + 4096 * 512)))
    other = "generated/rocm_training_step.json.gz"
    gate = await ask("gate", baseline=[TRACE], candidate=[other])
    holds("is the run on another GPU slower?", gate["result"]["verdict"], "not_comparable")
    rocm = Raw(root / other)
    ledger = await rows("diff", baseline=TRACE, candidate=other, top=100)
    total = next(row for row in ledger if row["item"] == "total")
    spans = [merged(one.device) for one in (raw, rocm)]
    holds("what differs in total?", total["delta_us"], float((spans[1][-1][1] - spans[1][0][0]) - (spans[0][-1][1] - spans[0][0][0])))
    ranks = await ask("ranks", traces=[f"recorded/cpu/gloo_collectives_rank{rank}.json.gz" for rank in (0, 1)])
    holds("how many ranks have these recordings?", ranks["tables"][0]["rows_total"], 2)
    columns = await ask("columns", name="gpu_timeline", column="time ms")
    holds("in which unit is the timeline?", columns["result"]["sheets"][0]["columns"][0]["unit"], "ms")
    for tool, arguments, near in [
        ("table", {"trace": handle, "name": "ops_sumary"}, "ops_summary"),
        ("table", {"trace": handle, "name": "ops_summary", "select": ["Cuont"]}, "Count"),
        ("advise", {"trace": handle, "rules": ["COMM-EXPOSD"]}, "COMM-EXPOSED"),
        ("why", {"trace": handle, "target": "aten::mmm"}, "aten::mm"),
        ("table", {"trac": handle, "name": "ops_summary"}, "trace"),
    ]:
        wrong = await ask(tool, is_error=True, **arguments)
        assert near in wrong["error"]["action"], wrong
    assert asked.questions >= 20, asked.questions


async def ask(mode: str, program: str, root: str) -> None:
    server = StdioServerParameters(command=program, args=["mcp", "--root", root])
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools
        names = {tool.name for tool in tools}
        assert {"open", "table", "why", "diff", "gate", "ranks", "model"} <= names, names
        assert all(tool.output_schema for tool in tools), tools

        told = []

        async def progress(done, total, message):
            told.append((done, total))

        opened = await client.call_tool("open", {"path": TRACE}, progress_callback=progress)
        assert not opened.is_error, opened
        document = opened.structured_content
        assert document["schema"] == "tracelens.agent/1.0"
        handle = document["result"]["trace"]
        await questions(Asked(client), handle, document, pathlib.Path(root))

        wrong = await client.call_tool("table", {"trace": handle, "name": "ops_sumary"})
        assert wrong.is_error and wrong.structured_content["error"]["code"] == "unknown-table"

        # All are answered, and all alike.
        asked = [client.call_tool("why", {"trace": handle, "target": "aten::mm"}) for _ in range(200)]
        answers = await asyncio.gather(*asked)
        assert all(answer.structured_content == answers[0].structured_content for answer in answers)


for mode in ("legacy", "auto"):
    asyncio.run(ask(mode, *sys.argv[1:3]))
    print(mode, "ok")
