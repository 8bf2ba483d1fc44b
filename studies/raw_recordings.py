"""Readers of raw recordings for first_pages.py: Kineto JSON (also Ascend, XProf, fused ranks), Nsight Systems SQLite, rocprofv3
JSON and CSV, XPlane, Tenstorrent CSV. Plain rules of their own; nothing is shared with the program that is checked."""

import bisect, csv, gzip, io, json, os, re, sqlite3
from decimal import Decimal

COMMUNICATION = (
    "nccl",
    "rccl",
    "allreduce",
    "all_reduce",
    "allgather",
    "all_gather",
    "reducescatter",
    "reduce_scatter",
    "alltoall",
    "all_to_all",
    "userbuffers",
    "internode",
    "hcom_",
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "::ep::",
    "deep_ep",
    "cross_device_reduce",
)
MARKS = re.compile(r"^(ProfilerStep#|step|execute_|iter|train)", re.I)


class Recording:
    """What every reader below fills in; times are integers in nanoseconds."""

    def __init__(self, kind):
        self.kind, self.events, self.overhead = kind, None, []
        self.work = []  # (device, start, end, name, "kernel", "copy" or "fill", correlation)
        self.calls = {}  # correlation -> (start, end, name) of the host call
        self.operators = []  # (start, end) of long aten operators
        self.names = {}  # name of a host event -> [how often it is there, for how long]
        self.marks = []  # (name, start, end) of ranges on the host
        self.memory = {}  # (type, id) -> greatest "Total Allocated"
        self.counts = {}  # what the head of the page counts besides

    def named(self, name, start, end):
        known = self.names.setdefault(name, [0, 0])
        known[0] += 1
        known[1] += end - start


def opened(path):
    data = open(path, "rb").read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def ns(text):
    """Microseconds as the file writes them -> nanoseconds, without a detour by doubles."""
    return text * 1000 if isinstance(text, int) else int(Decimal(text).scaleb(3).to_integral_value())


def read_kineto(path):
    text = opened(path).decode("utf-8", "replace").lstrip()
    document, _ = json.JSONDecoder(strict=False, parse_float=str).raw_decode(text)
    events = document if isinstance(document, list) else document["traceEvents"]
    recording, overhead, lanes = Recording("kineto"), [], {}
    for event in events:
        if event.get("ph") == "M" and event.get("name") in ("process_name", "thread_name"):
            lanes[event["pid"], event.get("tid") if event["name"][0] == "t" else None] = str(event["args"].get("name", ""))
    recording.events = len(events)
    names = [name for (_, tid), name in lanes.items() if tid is None]
    recording.kind = "xprof" if any(n.startswith("/device:") for n in names) else "ascend" if "Ascend Hardware" in names else "kineto"
    for event in events:
        args, name = event.get("args") or {}, str(event.get("name"))
        if name == "[memory]" and "Total Allocated" in args:
            key = (args.get("Device Type"), args.get("Device Id"))
            recording.memory[key] = max(recording.memory.get(key, 0), int(args["Total Allocated"]))
        if event.get("ph") != "X" or "ts" not in event:
            continue
        start = ns(event["ts"])
        end, category = start + ns(event.get("dur", 0)), str(event.get("cat", "")).lower()
        process, lane = lanes.get((event["pid"], None), ""), lanes.get((event["pid"], event.get("tid")))
        if recording.kind == "xprof":
            if process.startswith("/device:") and lane == "XLA Ops":
                kind = "copy" if re.fullmatch(r"copy(-start|-done)?(\.\d+)?", name) else "kernel"
                recording.work.append((process, start, end, name, kind, None))
            continue
        if recording.kind == "ascend":
            task = args.get("Task Type", "")
            if name.startswith("hcom_") or process == "Ascend Hardware" and not re.match(r"(EVENT|PLACE|SDMA$|Write|Notify)", task):
                recording.work.append(("NPU", start, end, name, "copy" if "DMA_SQE" in task else "kernel", None))
            elif name.startswith("ProfilerStep#"):
                recording.marks.append((name, start, end))
            continue
        # Ranks that were fused into one file number their calls alike.
        number, rank = args.get("correlation", args.get("correlation id")), args.get("rank", "")
        if category in ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset") or (
            category == "mtia_ccp_events" and not name.startswith("event_")
        ):
            kind = "copy" if "memcpy" in category or name == "dma_request" else "fill" if "memset" in category else "kernel"
            recording.work.append((str(args.get("device", event.get("pid"))), start, end, name, kind, (rank, number)))
        elif re.fullmatch(r"(\w+_)?(runtime|driver)", category):
            recording.calls[rank, number] = (start, end, name)
        elif category in ("user_annotation", "cpu_op", "operator") and MARKS.match(name):
            recording.marks.append((name, start, end))
        if category not in ("python_function", "ac2g"):
            recording.named(name, start, end)
        if category == "overhead":
            overhead.append((start, end))
        if category in ("cpu_op", "operator") and end - start > 500_000 and name.startswith("aten::"):
            recording.operators.append((start, end))
    recording.overhead = overhead
    return recording


def read_nsys(path):
    recording = Recording("nsys")
    base = sqlite3.connect(f"file:{os.path.abspath(path)}?mode=ro&immutable=1", uri=True)
    base.text_factory = lambda raw: raw.decode("utf-8", "replace")
    tables = [row[0] for row in base.execute("select name from sqlite_master where type='table'")]
    strings = dict(base.execute("select id, value from StringIds")) if "StringIds" in tables else {}
    recording.events = 0

    def rows(name, *wanted):
        for table in tables:
            if re.fullmatch(f"(CUPTI_ACTIVITY_KIND_)?{name}(_V\\d+)?", table):
                known = {row[1] for row in base.execute(f'pragma table_info("{table}")')}
                for row in base.execute(f'select {",".join(c if c in known else "null" for c in wanted)} from "{table}"'):
                    recording.events += 1
                    yield row

    for name, kind in (("KERNEL", "kernel"), ("MEMCPY", "copy"), ("MEMSET", "fill"), ("GRAPH_TRACE", "kernel")):
        for start, end, device, pid, correlation, text in rows(
            name, "start", "end", "deviceId", "globalPid", "correlationId", "demangledName"
        ):
            recording.work.append((device, start, end, strings.get(text, name), kind, ((pid or 0) >> 24, correlation)))
    for start, end, tid, correlation, name in rows("RUNTIME", "start", "end", "globalTid", "correlationId", "nameId"):
        recording.calls[(tid or 0) >> 24, correlation] = (start, end, strings.get(name, ""))
        recording.named(strings.get(name, ""), start, end)
    for start, end, text, text_id, kind in rows("NVTX_EVENTS", "start", "end", "text", "textId", "eventType"):
        recording.events -= kind == 75  # names a domain
        if end is not None:
            recording.marks.append((text if text is not None else strings.get(text_id, ""), start, end))
    for table in ("SYNCHRONIZATION", "OVERHEAD", "PROFILER_OVERHEAD"):
        sum(1 for _ in rows(table, "start"))
    return recording


def read_rocprof(path):
    recording = Recording("rocprof")
    recording.counts = {"kernel dispatches": 0, "memory copies": 0, "calls": 0}

    def add(device, start, end, name, kind, correlation):
        recording.counts["memory copies" if kind == "copy" else "kernel dispatches"] += 1
        recording.work.append((device, int(start), int(end), name, kind, correlation))

    def call(correlation, start, end, name):
        recording.counts["calls"] += 1
        recording.calls[correlation] = (int(start), int(end), name)
        recording.named(name, int(start), int(end))

    if ".json" in path:
        for tool in json.loads(opened(path))["rocprofiler-sdk-tool"]:
            symbols = {s["kernel_id"]: s.get("formatted_kernel_name") or s["kernel_name"] for s in tool["kernel_symbols"]}
            records = tool["buffer_records"]
            for kind in ("kernel_dispatch", "memory_copy", "hip_api", "hsa_api"):
                for one in records.get(kind, []):
                    times = one["start_timestamp"], one["end_timestamp"]
                    correlation = one["correlation_id"]["internal"]
                    if kind == "kernel_dispatch":
                        info = one["dispatch_info"]
                        add(info["agent_id"]["handle"], *times, symbols[info["kernel_id"]], "kernel", correlation)
                    elif kind == "memory_copy":
                        add(one["dst_agent_id"]["handle"], *times, "copy", "copy", correlation)
                    else:
                        call(correlation, *times, kind)
        return recording
    for kind in ("kernel", "memory_copy", "hip_api"):
        table = path.replace("_kernel_trace.csv", f"_{kind}_trace.csv")
        for row in csv.DictReader(open(table)) if os.path.exists(table) else ():
            times = row["Start_Timestamp"], row["End_Timestamp"]
            if kind == "hip_api":
                call(row["Correlation_Id"], *times, row["Function"])
            elif kind == "kernel":
                add(row["Agent_Id"], *times, row["Kernel_Name"], "kernel", row["Correlation_Id"])
            else:
                add(row["Destination_Agent_Id"], *times, "copy", "copy", row["Correlation_Id"])
    return recording


def fields(data):
    """The fields of a protobuf message: (number, integer or bytes)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or varint()
            at += size
            yield tag >> 3, data[at - size : at]


def read_xplane(path):
    recording = Recording("xplane")
    recording.events = 0
    for plane in (value for number, value in fields(memoryview(opened(path))) if number == 1):
        parts, names = list(fields(plane)), {}
        name = next((bytes(value).decode() for key, value in parts if key == 2), "")
        for entry in (dict(fields(dict(fields(value))[2])) for key, value in parts if key == 4):
            names[entry.get(1, 0)] = bytes(entry.get(4) or entry.get(2, b"")).decode("utf-8", "replace")
        for line in (list(fields(value)) for key, value in parts if key == 3):
            head, events = dict((k, v) for k, v in line if k in (2, 3)), [dict(fields(v)) for k, v in line if k == 4]
            recording.events += len(events)
            lane = bytes(head.get(2, b"")).decode()
            if not name.startswith("/device:") or not (lane == "XLA Ops" if "TPU" in name else lane.startswith("Stream")):
                continue
            for event in events:
                start, title = head.get(3, 0) + event.get(2, 0) / 1000, names.get(event.get(1), "")
                kind = "copy" if re.match(r"(Mem|Copy|copy)", title) else "kernel"
                recording.work.append((name, start, start + event.get(3, 0) / 1000, title, kind, None))
    return recording


def read_metal(path):
    recording = Recording("metal")
    recording.rows = list(csv.DictReader(io.StringIO(opened(path).decode())))
    return recording


def union(spans):
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def total(merged):
    return sum(end - start for start, end in merged)


def is_communication(name):
    return any(part in name.lower() for part in COMMUNICATION)


def timeline(work):
    """Shares of one device: each moment belongs to computation (with fills), else communication, else copies, else nothing."""
    computing = [(w[1], w[2]) for w in work if w[4] != "copy" and not is_communication(w[3])]
    talking = [(w[1], w[2]) for w in work if w[4] != "copy" and is_communication(w[3])]
    everything = union((w[1], w[2]) for w in work)
    first, last = everything[0][0], everything[-1][1]
    one, two, busy = total(union(computing)), total(union(computing + talking)), total(everything)
    gap = max((b[0] - a[1] for a, b in zip(everything, everything[1:])), default=0)
    return dict(
        first=first,
        last=last,
        span=last - first,
        busy=busy,
        idle=last - first - busy,
        computation=one,
        comm=two - one,
        copies=busy - two,
        gap=gap,
    )


class Gaps:
    """Idle time of a device by what comes next, where a launch is the host call with the correlation of the work.

    late: until the call ends that launches what comes next, if it ends after the device ran dry; profiler: what of this lies in
    work that the profiler recorded of itself; waited: the rest of gaps before linked work; unlinked: gaps before work without a
    call; bare: gaps from 1 ms on, of `late`, that no recorded host event covers by more than half."""

    def __init__(self, work, recording):
        self.late = self.profiler = self.waited = self.unlinked = self.bare = self.slack = 0
        overhead = union(recording.overhead)
        starts = [span[0] for span in overhead]
        covers = [c[:2] for c in recording.calls.values() if c[1] - c[0] > 500_000] + recording.overhead + recording.operators
        dry = None
        for one in sorted(work, key=lambda w: w[1]):
            if dry is not None and one[1] > dry:
                call = recording.calls.get(one[5])
                if call:
                    late = min(one[1], max(call[1], dry)) - dry
                    # A kernel never starts at once: 20 us of a gap may be that.
                    self.slack += min(one[1] - dry - late, 20_000)
                    self.late, self.waited = self.late + late, self.waited + one[1] - dry - late
                    for start, end in overhead[max(0, bisect.bisect(starts, dry) - 1) :]:
                        if start >= dry + late:
                            break
                        self.profiler += max(0, min(end, dry + late) - max(start, dry))
                    if one[1] - dry >= 1_000_000 and not any(min(e, one[1]) - max(s, dry) > 0.5 * (one[1] - dry) for s, e in covers):
                        self.bare += one[1] - dry
                else:
                    self.unlinked += one[1] - dry
            dry = max(dry or one[2], one[2])


def reader(path):
    by_end = (
        ("ops.csv", read_metal),
        ("_kernel_trace.csv", read_rocprof),
        ("_results.json", read_rocprof),
        ("_results.json.gz", read_rocprof),
        (".pb", read_xplane),
        (".sqlite", read_nsys),
    )
    return next((read for end, read in by_end if path.endswith(end)), read_kineto)
