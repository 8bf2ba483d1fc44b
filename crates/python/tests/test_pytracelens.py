"""The package as a notebook uses it, on the recordings of the repository."""

from __future__ import annotations

import dataclasses
import doctest
import gc
import gzip
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import pytracelens as tl

ROOT = Path(__file__).resolve().parents[3]
TESTDATA = ROOT / "testdata"
TRAINING = TESTDATA / "generated/cuda_training_step.json.gz"
RECORDINGS = [
    TRAINING,
    TESTDATA / "recorded/h200/jax_step.xplane.pb",
    TESTDATA / "generated/rocprof/run_results.db",
    TESTDATA / "generated/nsys/run.sqlite",
    TESTDATA / "generated/metal_ops.csv",
]


@pytest.fixture(scope="module")
def trace() -> tl.Trace:
    return tl.read(TRAINING)


def test_a_report_has_tables_and_what_is_said_of_them(trace: tl.Trace) -> None:
    assert "ops_summary" in trace and len(trace) == len(list(trace))
    assert trace.info.format == "kineto" and trace.info.sha256 is not None and len(trace.info.sha256) == 64
    assert trace.trust is not None and (trace.trust.verdict, trace.trust.clock) == ("full", "sound")
    assert trace.findings[0].us is not None and trace.findings[0].us.mid > 0
    assert trace.advise() == trace.findings
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.trust.verdict = "unusable"  # type: ignore[misc]
    ops = trace.table("ops_summary")
    assert ops.units["total_direct_kernel_time_ms"] == "ms" and ops.units["name"] is None
    with pytest.raises(KeyError, match="ops_summary"):
        trace.table("ops_sumary")


def test_dataclasses_have_the_members_of_the_answer() -> None:
    schema = json.loads((ROOT / "crates/answers/schema/answer-1.json").read_text())["$defs"]
    for kind, name in {
        tl.Input: "Input",
        tl.Trust: "Trust",
        tl.AnswerWarning: "AnswerWarning",
        tl.Lost: "Lost",
        tl.Finding: "AnswerFinding",
        tl.Gain: "Gain",
        tl.Evidence: "Row",
        tl.Unanswered: "CannotAnswer",
    }.items():
        members = set(schema[name]["properties"])
        if kind is tl.AnswerWarning:
            members = members - {"first"} | {"first_uid", "first_offset"}
        assert {field.name for field in dataclasses.fields(kind)} == members, name


def test_warnings_reach_python(tmp_path: Path) -> None:
    cut = tmp_path / "cut.json"
    text = gzip.decompress(TRAINING.read_bytes())
    cut.write_bytes(text[: len(text) * 9 // 10])
    with pytest.warns(tl.TraceWarning) as told:
        trace = tl.read(cut)
    assert {warning.filename for warning in told} == {__file__}
    codes = [warning.message.code for warning in told if isinstance(warning.message, tl.TraceWarning)]
    assert codes == [warning.code for warning in trace.warnings if warning.severity != "info"]
    truncated = next(warning for warning in trace.warnings if warning.code == "reading/truncated")
    assert truncated.severity == "distrust" and truncated.lost is not None and truncated.lost.bytes > 0
    with pytest.warns(tl.TraceWarning), pytest.raises(tl.CannotAnswer) as raised:
        tl.read(cut, strict=True)
    assert raised.value.code == "reading/truncated" and str(raised.value) == f"{truncated.message}; {truncated.action}"


def test_rows_that_meet_conditions(trace: tl.Trace) -> None:
    time = "total_direct_kernel_time_ms"
    whole = trace.table("ops_summary")
    names, times = whole["name"].to_list(), whole[time].to_list()
    found = trace.table("ops_summary", select=["name", time], where=[(time, "gt", times[2])], sort=f"{time}:asc")
    assert found.columns == ["name", time]
    assert found[time].to_list() == sorted(cell for cell in times if cell > times[2])
    assert trace.table("ops_summary", where=[("name", "in", names[:2])], top=1)["name"].to_list() == names[:1]
    assert len(trace.table("ops_summary", where=[("name", "null")])) == 0
    with pytest.raises(KeyError, match="name"):
        trace.table("ops_summary", where=[("nane", "eq", "aten::mm")])
    for condition in ["name eq aten::mm", (3, "null"), ("name",), ("name", "eq", "a", "b")]:
        with pytest.raises(TypeError, match="a condition is"):
            trace.table("ops_summary", where=[condition])  # type: ignore[list-item]
    for value in [object(), {"a": 1}.items()]:
        with pytest.raises(TypeError, match="cells are compared with"):
            trace.table("ops_summary", where=[("name", "in", value)])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="'int' object"):
        trace.table("ops_summary", select=[3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        trace.table("ops_summary", top="all")  # type: ignore[arg-type]
    with pytest.raises(tl.TraceError, match="contains or starts with a string"):
        trace.table("ops_summary", where=[("name", "gt", "aten::mm")])


def test_options_of_the_command_line_make_other_reports(trace: tl.Trace) -> None:
    times = trace.report(micro_idle_thresh_us=5.0, topk_ops=3)
    assert "micro_idle_time" in times.table("gpu_timeline")["type"].to_list()
    assert "micro_idle_time" not in trace.report().table("gpu_timeline")["type"].to_list()
    more = set(trace.report(waits=True, kernel_details=True, disable_coll_analysis=True))
    assert {"idle_causes", "kernel_details"} <= more and "coll_analysis" not in more, more
    with pytest.raises(TypeError, match="topk_op;.* topk_ops"):
        trace.report(topk_op=3)  # type: ignore[call-arg]


def test_frames_have_the_values_of_the_program(trace: tl.Trace) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = trace.table("unified_perf_summary")
    arrow = table.to_arrow()
    assert arrow.num_rows == len(table) and arrow.column_names == table.columns
    assert arrow.schema.field("name").type == pyarrow.large_string()
    field = next(arrow.schema.field(name) for name, unit in table.units.items() if unit == "us")
    assert field.metadata[b"unit"] == b"us" and field.metadata[b"description"]
    program = os.environ.get("TRACELENS")
    if program:
        out = subprocess.run([program, "table", TRAINING, "ops_summary", "--top", "500", "--json"], capture_output=True, check=True)
        rows = json.loads(out.stdout)["tables"][0]
        names = [column["name"] for column in rows["columns"]]
        ours = trace.table("ops_summary").to_arrow().to_pylist()
        at = names.index("total_direct_kernel_time_ms")
        assert [row["total_direct_kernel_time_ms"] for row in ours] == [row[at] for row in rows["rows"]]


def test_every_table_of_every_recording_is_a_frame() -> None:
    pytest.importorskip("pyarrow")
    for path in RECORDINGS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tl.TraceWarning)
            report = tl.read(path)
        for name in report:
            table = report.table(name)
            assert table.to_arrow().num_rows == len(table), (path, name)
        assert "<ul>" in report._repr_html_()


def test_pandas_and_polars_take_tables(trace: tl.Trace) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    table = trace.table("ops_summary")
    assert isinstance(table.to_pandas(), pandas.DataFrame)
    frame = polars.DataFrame(table)
    assert frame["name"][0] == "aten::mm" and frame.height == len(table)


def test_one_thing_and_its_place(trace: tl.Trace) -> None:
    why = trace.why("aten::mm")
    assert why["cost"]["sum_us"] > 0 and why["kernels"]
    below = trace.tree.table("aten::addmm", depth=2)
    assert below.columns[:3] == ["uid", "depth", "name"] and len(below) >= 2
    with pytest.raises(KeyError, match="aten::mm"):
        trace.why("aten:mm")


def test_calls_have_their_cost(trace: tl.Trace) -> None:
    mm = trace.tree.find("aten::mm")[0]
    found = tl.model(mm.name, mm.args, kernels=[kernel.name for kernel in mm.kernels])
    (m, k), (_, n) = mm.args["Input Dims"]
    assert found["flops"] == 2 * m * n * k and found["bytes"] > 0
    assert tl.model("aten::mm", {})["flops"] is None and tl.model("aten::mm", {})["reason"]
    with pytest.raises(tl.TraceError, match="Input Dims must be a list"):
        tl.model("aten::mm", {"Input Dims": 3})


def program() -> str:
    """The program that the answers of the package are held against."""
    return os.environ.get("TRACELENS") or pytest.skip("TRACELENS does not name the program")


def test_operations_have_the_cost_that_the_program_says(tmp_path: Path) -> None:
    file = tmp_path / "arch.json"
    file.write_text('{"name": "mine", "mem_bw_gbps": 1000, "max_achievable_tflops": {"matrix_bf16": 100}, "colour": "red"}')
    conv: dict[str, Any] = {"input": [1, 64, 56, 56], "filter": (64, 64, 3, 3), "bias": False, "backward": True}
    for kind, sizes, options in [
        ("gemm", {"m": 4096, "n": 512, "k": 1024, "arch": "h100"}, "--m 4096 --n 512 --k 1024 --arch h100"),
        ("conv", conv, "--input 1,64,56,56 --filter 64,64,3,3 --backward"),
        ("sdpa", {"heads": 8, "q_len": 64, "head_dim": 128, "causal": True, "kv_heads": None}, "--heads 8 --q-len 64 --head-dim 128 --causal"),
        ("gemm", {"m": 8, "n": 8, "k": 8, "gpu_arch_json_path": file}, f"--m 8 --n 8 --k 8 --gpu_arch_json_path {file}"),
    ]:
        with warnings.catch_warnings(record=True) as told:
            found = tl.model(kind, **sizes)
        out = subprocess.run([program(), "model", kind, *options.split(), "--json"], capture_output=True, text=True, check=True)
        assert found == json.loads(out.stdout)["result"], kind
        assert [f"tracelens: warning: {warning.message}\n" for warning in told] == out.stderr.splitlines(keepends=True)


def test_operations_that_are_asked_for_wrongly() -> None:
    sizes: dict[str, Any] = {"m": 8, "n": 8, "k": 8}
    for kind, options, code, message in [
        ("gem", sizes, "arguments", "^there is no operation of the kind 'gem'; did you mean 'gemm'$"),
        ("--list", {}, "arguments", "is no kind of operation; use one of gemm, "),
        ("gemm", {"m": 8}, "arguments", "^the operation lacks n k$"),
        ("gemm", {**sizes, "mm": 8}, "arguments", "^the operation has no size mm; did you mean m$"),
        ("gemm", {**sizes, "m": -1}, "arguments", "^invalid value '-1' for m: invalid digit found in string$"),
        ("gemm", {**sizes, "dtype": "bfloat"}, "arguments", "^invalid value 'bfloat' for dtype; use one of fp64, fp32, .*fp4$"),
        ("gemm", {**sizes, "help": True}, "arguments", "^the operation has no size help$"),
        ("gemm", {**sizes, "arch": "abacus"}, "answer/unknown-architecture", "abacus"),
        ("sdpa", {"heads": 3, "kv_heads": 2, "q_len": 1, "head_dim": 1}, "sizes", "kv_heads 2 does not divide heads 3$"),
    ]:
        with pytest.raises(tl.TraceError, match=message) as raised:
            tl.model(kind, **options)
        assert raised.value.code == code and raised.value.path is None
        assert "--" not in str(raised.value).replace("'--list'", "") and "tracelens" not in str(raised.value)
    with pytest.raises(TypeError, match="args are missing"):
        tl.model("aten::mm", kernels=["gemm"])
    with pytest.raises(TypeError, match="none of its own: m"):
        tl.model("aten::mm", {}, m=8)


def test_types_of_data_have_many_names() -> None:
    sizes: dict[str, Any] = {"m": 64, "n": 64, "k": 64}
    for name, spellings in {
        "bf16": ["bfloat16", "torch.bfloat16", "BFloat16", "c10::BFloat16"],
        "fp16": ["float16", "torch.half"],
        "fp32": ["float32", "torch.float"],
        "fp8": ["float8_e4m3fn"],
    }.items():
        for spelling in spellings:
            assert tl.model("gemm", **sizes, dtype=spelling) == tl.model("gemm", **sizes, dtype=name), spelling


def test_objects_say_what_they_are(trace: tl.Trace, tmp_path: Path) -> None:
    assert repr(trace).startswith(f"<Trace of {TRAINING.name}: kineto, 8 × NVIDIA H100 80GB HBM3, rank 0, ")
    assert repr(trace).endswith(f" ms; {len(trace)} tables>") and repr(trace.report()).startswith("<Report of ")
    other = TESTDATA / "generated/rocm_training_step.json.gz"
    assert repr(trace.diff(other)).startswith(f"<Diff of {TRAINING.name} and {other.name}; ")
    assert repr(trace.tree) == f"<Tree: {len(trace.tree.roots)} roots>"
    assert repr(trace.timeline) == f"<Timeline: {len(trace.timeline.events()):,} events>"
    for recording in RECORDINGS[1:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tl.TraceWarning)
            assert f"{recording.name}: " in repr(tl.read(recording))


def test_only_public_names_are_listed(trace: tl.Trace) -> None:
    assert dir(tl) == sorted(tl.__all__)
    table = trace["ops_summary"]
    for thing in [trace, table, table["name"], trace.tree, trace.tree.roots[0], trace.timeline]:
        assert not [name for name in dir(thing) if name.startswith("_") and not name.startswith("__")], thing
    assert {"table", "why", "tree"} < set(dir(trace)) and {"name", "columns"} < set(dir(table))


def test_there_is_one_way_to_a_table(trace: tl.Trace) -> None:
    whole = trace.table("ops_summary")
    assert list(whole) == list(trace["ops_summary"]) and not hasattr(trace, "sheet")
    rows = list(whole)
    assert [row["name"] for row in rows] == list(whole["name"]) and list(rows[0]) == whole.columns
    assert "name" in whole and "nane" not in whole


def test_exceptions_are_one_family(trace: tl.Trace, tmp_path: Path) -> None:
    wrong: list[Callable[[], object]] = [
        lambda: tl.read(tmp_path / "none.json"),
        lambda: tl.read(TRAINING, arch="abacus"),
        lambda: trace["ops_sumary"],
        lambda: trace.table("ops_summary", where=[("nane", "eq", "a")]),
        lambda: trace["ops_summary"]["nane"],
        lambda: trace.why("aten:mm"),
        lambda: trace.tree.find(uid=4_000_000_000),
        lambda: trace.tree.table("nothing of this name"),
        lambda: trace.timeline.breakdown(1000),
        lambda: trace.timeline.events(["length"]),
        lambda: trace.save(tmp_path / "r.docx"),
        lambda: tl.model("gemm", m=8),
        lambda: tl.gate(TRAINING, TRAINING, slower_by_pct=-3),
        lambda: tl.gate(TRAINING, TRAINING, strict=True),
        lambda: tl.read_many([]),
    ]
    for call in wrong:
        with pytest.raises(tl.TraceError) as raised:
            call()
        error = raised.value
        assert type(error).__module__ == "pytracelens" and getattr(tl, type(error).__name__) is type(error)
        assert error.code and (error.help is None or str(error).endswith(error.help))
        assert " --" not in str(error) and "`" not in str(error), error
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error) and vars(again) == vars(error)
    with pytest.raises(KeyError) as missing:
        trace["ops_sumary"]
    assert isinstance(missing.value, tl.UnknownName) and str(missing.value).startswith("this report has no table")
    with pytest.raises(TypeError, match="the option topk_ops is int, not 'many'"):
        trace.report(topk_ops="many")  # type: ignore[arg-type]
    warning = pickle.loads(pickle.dumps(tl.TraceWarning("told", "code")))
    assert (str(warning), warning.code) == ("told", "code")


def test_other_libraries_take_tables_by_name(trace: tl.Trace) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = trace["ops_summary"]
    frame = pandas.DataFrame(table)
    assert list(frame.columns) == table.columns and list(frame["name"]) == list(table["name"])
    assert list(pandas.Series(table["name"])) == list(table["name"])
    polars = pytest.importorskip("polars")
    # polars makes a column of structs of any stream of Arrow.
    assert polars.from_arrow(table).struct.unnest().equals(polars.DataFrame(table))
    assert polars.from_dataframe(table).equals(polars.DataFrame(table))
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql('select name from "table"').fetchall()
    assert [row[0] for row in found] == list(table["name"])


def command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pytracelens", *arguments], cwd=cwd, capture_output=True, text=True)


def test_the_command_is_the_program(tmp_path: Path) -> None:
    written = ["report", str(TRAINING), "--output_csvs_dir", "sheets"]
    wrong = [["report", "--jason", "--json"], ["report", str(TRAINING), "--output_csvs_dir"], ["report", "none.json", "--json"]]
    for number, (arguments, code) in enumerate([(written, 0), (["--version"], 0), *((usage, 2) for usage in wrong)]):
        ours_in, theirs_in = tmp_path / f"ours{number}", tmp_path / f"theirs{number}"
        ours_in.mkdir()
        theirs_in.mkdir()
        ours = command(*arguments, cwd=ours_in)
        theirs = subprocess.run([program(), *arguments], cwd=theirs_in, capture_output=True, text=True)
        assert ours.returncode == theirs.returncode == code, ours.stderr
        named = [text.replace("Usage: pytracelens ", "Usage: tracelens ") for text in (ours.stdout, ours.stderr)]
        assert named == [theirs.stdout, theirs.stderr]
        files = [{path.name: path.read_bytes() for path in folder.glob("sheets/*")} for folder in (ours_in, theirs_in)]
        assert files[0] == files[1] and bool(files[0]) == (arguments == written)


def test_each_run_of_a_process_has_its_own_answer() -> None:
    runs = [["report", "--jason", "--json"], ["archs", "--json"], ["report", "none.json"], ["model", "gemm", "--json"]]
    script = f"from pytracelens import _native; print([_native.command(['pytracelens', *run]) for run in {runs!r}])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    documents, decoder = [], json.JSONDecoder()
    while out.startswith("{"):
        document, end = decoder.raw_decode(out)
        documents.append(document)
        out = out[end:].lstrip()
    assert [document["command"]["name"] for document in documents] == ["report", "archs", "model"]
    assert [document["status"] for document in documents] == ["error", "ok", "error"]
    assert out == "[2, 0, 2, 2]\n"


@pytest.mark.skipif(os.name != "posix", reason="signals of this kind are those of POSIX")
def test_ctrl_c_ends_the_command() -> None:
    arguments = [sys.executable, "-m", "pytracelens", "model", "--jsonl", "-"]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None and running.stdout is not None
        running.stdin.write(b'{"name": "aten::mm"}\n')
        running.stdin.flush()
        assert json.loads(running.stdout.readline())["flops"] is None
        running.send_signal(signal.SIGINT)
        assert running.wait(10) == 130


def test_the_command_is_installed_under_its_name() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 and later read TOML")
    project = tomllib.loads((ROOT / "crates/python/pyproject.toml").read_text())["project"]
    [(name, entry)] = project["scripts"].items()
    assert name == "pytracelens" and callable(EntryPoint(name, entry, "console_scripts").load())


def test_examples_of_the_documentation_hold() -> None:
    assert doctest.testmod(tl).failed == 0


def test_nodes_of_the_tree(trace: tl.Trace) -> None:
    tree = trace.tree
    addmm = tree.find("aten::addmm")[0]
    assert addmm.kind == "cpu_op" and addmm.args["Input Dims"] and addmm.dur_us > 0
    assert tree.find(uid=addmm.uid) == addmm and addmm.parent is not None and addmm in addmm.parent.children
    assert addmm.us == pytest.approx(sum(kernel.dur_us for kernel in addmm.kernels)) and addmm.us > 0
    launch = addmm.kernels[0].parent
    assert launch is not None and "Launch" in launch.name
    walked = list(addmm.walk())
    assert walked[0] == addmm and len(set(walked)) == len(walked) and set(addmm.kernels) < set(walked)
    assert "aten::addmm" in str(addmm) and addmm.kernels[0].name[:20] in str(addmm)
    roots = tree.roots
    assert all(root.parent is None for root in roots) and addmm in {node for root in roots for node in root.walk()}
    assert tree.find("nothing of this name") == []
    with pytest.raises(KeyError, match="no event 4000000000"):
        tree.find(uid=4_000_000_000)
    with pytest.raises(TypeError):
        tree.find()  # type: ignore[call-overload]
    with pytest.raises(tl.TraceError, match="no call tree"):
        tl.read(RECORDINGS[1]).tree


def test_events_as_columns(trace: tl.Trace) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = trace.timeline.events()
    arrow = table.to_arrow()
    assert arrow.schema.field("name").type == pyarrow.dictionary(pyarrow.int32(), pyarrow.large_string())
    document = json.loads(gzip.decompress(TRAINING.read_bytes()))["traceEvents"]
    for row in arrow.to_pylist()[:: max(1, arrow.num_rows // 500)]:
        written = document[row["uid"]]
        assert row["name"] == written["name"] and row["category"] == written["cat"], row
        assert row["duration_us"] == pytest.approx(written.get("dur", 0), abs=1e-3)
        assert row["correlation"] == written.get("args", {}).get("correlation"), row
    kernels = trace.timeline.events(["duration_us", "category"]).to_arrow().to_pylist()
    spans = sum(row["duration_us"] for row in kernels if row["category"] == "kernel")
    assert spans == pytest.approx(sum(event["dur"] for event in document if event.get("cat") == "kernel"))
    assert "<table>" in table._repr_html_()
    with pytest.raises(KeyError, match="duration_us"):
        trace.timeline.events(["length"])


def test_time_of_devices_in_windows(trace: tl.Trace) -> None:
    parts = ["computation_us", "exposed_communication_us", "exposed_memcpy_us", "idle_us"]

    def row(window: tl.Window | None = None) -> dict[str, float]:
        table = trace.timeline.breakdown(window)
        assert len(table) == 1
        return {name: table[name].to_list()[0] for name in table.columns}

    whole = row()
    assert sum(whole[part] for part in parts) == pytest.approx(whole["total_us"])
    device = trace.answer["result"]["devices"][0]
    assert all(whole[part] == pytest.approx(device[part]) for part in [*parts, "total_us"])
    first = row((0.0, whole["total_us"] / 2))
    assert 0 < first["total_us"] < whole["total_us"]
    assert 0 < row(0)["total_us"] <= whole["total_us"]
    for window, reason in [(1000, "iteration 1000"), ((2.0, 1.0), "is empty"), ("soon", "steady")]:
        with pytest.raises(tl.TraceError, match=reason):
            trace.timeline.breakdown(window)  # type: ignore[arg-type]
    for wrong in [{"step": 1}, (1.0,), ("0", "1"), 1.5]:
        with pytest.raises(TypeError, match="a window is a step"):
            trace.timeline.breakdown(wrong)  # type: ignore[arg-type]


def test_two_runs(trace: tl.Trace) -> None:
    other = TESTDATA / "generated/rocm_training_step.json.gz"
    found = trace.diff(other)
    assert found.info.role == "baseline" and found.inputs[1].role == "candidate" and "diff_ledger" in found
    verdict = tl.gate(TRAINING, [other])
    assert verdict["verdict"] == "not_comparable"
    with pytest.raises(tl.NotComparable) as raised:
        tl.gate(TRAINING, [other], strict=True)
    assert raised.value.code == "not-comparable"


def test_ranks_of_a_job(tmp_path: Path) -> None:
    text = gzip.decompress(TRAINING.read_bytes())
    for rank in range(2):
        document = json.loads(text)
        document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(document))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.TraceWarning)
        job = tl.read_many(str(tmp_path / "rank*.json"))
    assert [given.file for given in job.inputs] == ["rank0.json", "rank1.json"] and len(job) > 1
    with pytest.raises(tl.TraceError) as raised:
        tl.read_many(str(tmp_path / "none*.json"))
    assert raised.value.code


def test_errors_have_codes(tmp_path: Path) -> None:
    with pytest.raises(tl.ReadError) as raised:
        tl.read(tmp_path / "none.json")
    assert raised.value.code == "ingest/io" and raised.value.path == str(tmp_path / "none.json")
    (tmp_path / "empty.json").write_text("")
    with pytest.raises(tl.ReadError) as raised:
        tl.read(tmp_path / "empty.json")
    assert raised.value.code == "ingest/empty"
    (tmp_path / "host.json").write_text('{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}')
    with pytest.raises(tl.TraceError):
        tl.read(tmp_path / "host.json")
    with pytest.raises(TypeError):
        tl.read(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        tl.read(TRAINING, threads="two")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="progress is a callable"):
        tl.read(TRAINING, progress=3)  # type: ignore[arg-type]
    with pytest.raises(tl.TraceError, match="choose one of"):
        tl.read(TRAINING, arch="abacus")


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("big") / "big.json"
    path.write_text('{"schemaVersion": 1, "traceEvents": [' + " " * (256 << 20) + "]}")
    return path


@pytest.mark.skipif(os.name != "posix", reason="signals of this kind are those of POSIX")
def test_ctrl_c_ends_reading(big: Path) -> None:
    begun = threading.Event()
    sent = []

    def interrupt() -> None:
        begun.wait()
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        tl.read(big, progress=lambda read, total: begun.set())
    thread.join()
    assert time.monotonic() - sent[0] < 1


def test_reading_leaves_others_their_time_and_ends_when_asked(big: Path) -> None:
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    seen: list[tuple[int, int]] = []

    class Enough(Exception):
        pass

    def stop(read: int, total: int) -> None:
        seen.append((read, total))
        if read > total // 10:
            raise Enough

    started = time.monotonic()
    with pytest.raises(Enough):
        tl.read(big, progress=stop)
    done.set()
    thread.join()
    assert seen and seen[-1][0] < seen[-1][1] and counted > 1000
    assert time.monotonic() - started < 5


def test_reports_are_saved(trace: tl.Trace, tmp_path: Path) -> None:
    for name in ("r.xlsx", "r.json", "r.html", "sheets"):
        trace.save(tmp_path / name)
        assert (tmp_path / name).exists()
    assert json.loads((tmp_path / "r.json").read_text())["schema"] == "tracelens.answer/1.0"
    with pytest.raises(tl.TraceError, match=".docx is not a report format"):
        trace.save(tmp_path / "r.docx")
    try:
        trace.save(tmp_path / "r.docx")
    except tl.TraceError as error:
        assert error.action == "use a name ending in .xlsx, .json or .html, or a directory"


def test_what_is_exported_shares_memory(trace: tl.Trace) -> None:
    pyarrow = pytest.importorskip("pyarrow")

    def addresses(table: Any) -> list[list[int]]:
        chunks = [chunk for column in table.columns for chunk in column.chunks]
        return [[buffer.address for buffer in chunk.buffers() if buffer is not None] for chunk in chunks]

    for table in [trace.table("unified_perf_summary"), trace.timeline.events()]:
        first, second = pyarrow.table(table), pyarrow.table(table)
        assert addresses(first) == addresses(second)
        name = table.columns[1]
        [shared] = addresses(pyarrow.table({name: pyarrow.array(table[name])}))
        assert shared == addresses(first)[1]


def test_columns_are_arrays(trace: tl.Trace) -> None:
    numpy = pytest.importorskip("numpy")
    pyarrow = pytest.importorskip("pyarrow")
    for table in [trace.table("unified_perf_summary"), trace.timeline.events()]:
        for name, arrow in zip(table.columns, pyarrow.table(table).columns, strict=True):
            column, cells = table[name], arrow.to_pylist()
            assert column.to_list() == cells and len(column) == len(cells)
            array = numpy.asarray(column)
            if array.dtype == object:
                assert array.tolist() == cells
            else:
                assert numpy.array_equal(array, numpy.array(cells, dtype=array.dtype), equal_nan=array.dtype.kind == "f"), name
            assert pyarrow.schema([pyarrow.field(column)]) is not None
    with pytest.raises(ValueError, match="pyarrow"):
        numpy.asarray(trace.table("ops_summary")["name"], copy=False)
    with pytest.raises(KeyError, match="name"):
        trace.table("ops_summary")["nane"]


def test_schemas_say_what_columns_are(trace: tl.Trace) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = trace.table("ops_summary")
    schema = pyarrow.schema(table)
    assert schema.equals(pyarrow.table(table).schema, check_metadata=True)
    time = table["total_direct_kernel_time_ms"]
    assert (time.kind, time.unit, time.aggregate) == ("duration", "ms", "sum") and time.description
    metadata = schema.field(time.name).metadata
    assert metadata == {
        b"kind": b"duration",
        b"unit": b"ms",
        b"aggregate": b"sum",
        b"description": time.description.encode(),
    }
    calls = trace.table("unified_perf_summary")
    work = calls["GFLOPS"]
    assert (work.unit, work.per, work.aggregate) == ("GFLOP", "call", "none") and time.per is None
    assert pyarrow.schema(calls).field(work.name).metadata[b"per"] == b"call"
    assert "<small>GFLOP per call</small>" in calls._repr_html_()


def test_frames_are_those_of_csv_files(trace: tl.Trace, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    trace.save(tmp_path / "sheets")
    for name in trace:
        frame = trace.table(name).to_pandas()
        written = pandas.read_csv(tmp_path / "sheets" / f"{name}.csv", keep_default_na=False, na_values=[""])
        # Frames have the names of columns, files their titles.
        for column, title in zip(frame.columns, written.columns, strict=True):
            for ours, theirs in zip(frame[column], written[title], strict=True):
                # An empty text and a missing value are the same in CSV.
                if pandas.isna(ours) or ours == "":
                    assert pandas.isna(theirs), (name, column)
                elif isinstance(ours, (int, float)) and not isinstance(ours, bool):
                    assert ours == float(theirs), (name, column)
                else:
                    assert str(ours) == str(theirs), (name, column)


def test_what_is_let_go_is_freed() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if not Path("/proc/self/statm").exists():
        pytest.skip("the system does not say how much memory a process has")

    def once() -> tuple[object, ...]:
        trace = tl.read(TRAINING)
        return trace, trace.timeline.events(), trace.tree.roots[0].children

    once()
    before = resident()
    held = [once() for _ in range(20)]
    size = (resident() - before) / len(held)
    held.clear()
    gc.collect()
    before = resident()
    for _ in range(60):
        once()
    assert size > 100_000 and resident() - before < 60 * size / 4


def test_a_panic_is_an_exception_and_the_process_lives() -> None:
    """No thread can be started where the address space is used up, which the standard library answers with a panic."""
    resource = pytest.importorskip("resource")
    if not Path("/proc/self/statm").exists():
        pytest.skip("the system does not say how much address space a process has")
    program = f"""
import resource
from pathlib import Path
import pytracelens as tl

used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
_, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), hard))
found = None
try:
    tl.read({str(TRAINING)!r})
except Exception as error:
    found = error
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
assert isinstance(found, tl.InternalError) and found.code == "internal", repr(found)
print(len(tl.read({str(TRAINING)!r}).table("ops_summary")))
"""
    assert resource.RLIMIT_AS is not None
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert out.returncode == 0 and int(out.stdout) > 0, out.stderr


def test_progress_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[int, int]] = []
    tl.read(TRAINING, progress=lambda read, total: seen.append((read, total)))
    assert seen and all(read <= total == TRAINING.stat().st_size for read, total in seen)
    pytest.importorskip("tqdm")
    tl.read(TRAINING, progress=True)
    assert "B/s" in capsys.readouterr().err


def test_notebooks_show_text_of_recordings_as_text(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>" + "&" * 100_000
    event = {"ph": "X", "pid": 1}
    events = [
        {**event, "cat": "cpu_op", "name": hostile, "tid": 1, "ts": 100, "dur": 50, "args": {"External id": 1}},
        {**event, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": 110, "dur": 9, "args": {"External id": 1, "correlation": 7}},
        {**event, "cat": "kernel", "name": hostile, "tid": 7, "ts": 200, "dur": 50, "args": {"External id": 1, "correlation": 7, "device": 0, "stream": 7}},
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    trace = tl.read(path)
    assert "<img" not in trace.table("ops_summary")._repr_html_() and "<img" not in trace._repr_html_()
    assert "<img" not in trace.timeline.events()._repr_html_()
    assert len(trace._repr_html_()) <= 60_000
