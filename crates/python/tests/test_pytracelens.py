"""The package as a notebook uses it, on the recordings of the repository."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

import pytracelens as tl

TESTDATA = Path(__file__).resolve().parents[3] / "testdata"
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
    assert trace.info["format"] == "kineto" and len(trace.info["sha256"]) == 64
    assert trace.trust is not None and trace.trust["verdict"] == "full"
    assert trace.findings[0]["us"]["mid"] > 0
    ops = trace.sheet("ops_summary")
    assert ops.units["total_direct_kernel_time_ms"] == "ms" and ops.units["name"] is None
    with pytest.raises(KeyError, match="ops_summary"):
        trace.sheet("ops_sumary")


def test_frames_have_the_values_of_the_program(trace: tl.Trace) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = trace.sheet("unified_perf_summary")
    arrow = table.to_arrow()
    assert arrow.num_rows == len(table) and arrow.column_names == table.columns
    assert arrow.schema.field("name").type == pyarrow.large_string()
    field = next(arrow.schema.field(name) for name, unit in table.units.items() if unit == "µs")
    assert field.metadata[b"unit"].decode() == "µs" and field.metadata[b"description"]
    program = os.environ.get("TRACELENS")
    if program:
        out = subprocess.run([program, "table", TRAINING, "ops_summary", "--top", "500", "--json"], capture_output=True, check=True)
        rows = json.loads(out.stdout)["tables"][0]
        names = [column["name"] for column in rows["columns"]]
        ours = trace.sheet("ops_summary").to_arrow().to_pylist()
        at = names.index("total_direct_kernel_time_ms")
        assert [row["total_direct_kernel_time_ms"] for row in ours] == [row[at] for row in rows["rows"]]


def test_every_table_of_every_recording_is_a_frame() -> None:
    pytest.importorskip("pyarrow")
    for path in RECORDINGS:
        report = tl.read(path)
        for name in report:
            table = report.sheet(name)
            assert table.to_arrow().num_rows == len(table), (path, name)
        assert "<ul>" in report._repr_html_()


def test_pandas_and_polars_take_tables(trace: tl.Trace) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    table = trace.sheet("ops_summary")
    assert isinstance(table.to_pandas(), pandas.DataFrame)
    frame = polars.DataFrame(table)
    assert frame["name"][0] == "aten::mm" and frame.height == len(table)


def test_one_thing_and_its_place(trace: tl.Trace) -> None:
    why = trace.why("aten::mm")
    assert why["cost"]["sum_us"] > 0 and why["kernels"]
    below = trace.tree("aten::addmm", depth=2)
    assert below.columns[:3] == ["uid", "depth", "name"] and len(below) >= 2
    with pytest.raises(KeyError, match="aten::mm"):
        trace.why("aten:mm")


def test_two_runs() -> None:
    other = TESTDATA / "generated/rocm_training_step.json.gz"
    found = tl.diff(TRAINING, other)
    assert found.answer["inputs"][0]["role"] == "baseline" and "diff_ledger" in found
    verdict = tl.gate(TRAINING, [other])
    assert verdict["verdict"] == "not_comparable"


def test_errors_have_codes(tmp_path: Path) -> None:
    with pytest.raises(tl.ReadError) as raised:
        tl.read(tmp_path / "none.json")
    assert raised.value.code == "ingest/io"
    (tmp_path / "empty.json").write_text("")
    with pytest.raises(tl.ReadError) as raised:
        tl.read(tmp_path / "empty.json")
    assert raised.value.code == "ingest/empty"
    (tmp_path / "host.json").write_text('{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}')
    with pytest.raises(tl.TraceError):
        tl.read(tmp_path / "host.json")
    with pytest.raises(TypeError):
        tl.read(3)  # type: ignore[arg-type]
    with pytest.raises(tl.TraceError, match="bundled"):
        tl.read(TRAINING, arch="abacus")


def test_reading_leaves_others_their_time_and_ends_when_asked(tmp_path: Path) -> None:
    big = tmp_path / "big.json"
    big.write_text('{"schemaVersion": 1, "traceEvents": [' + " " * (256 << 20) + "]}")
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
    with pytest.raises(tl.TraceError, match=".docx is no format"):
        trace.save(tmp_path / "r.docx")


def test_notebooks_show_text_of_recordings_as_text(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    event = {"ph": "X", "pid": 1}
    events = [
        {**event, "cat": "cpu_op", "name": hostile, "tid": 1, "ts": 100, "dur": 50, "args": {"External id": 1}},
        {**event, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": 110, "dur": 9, "args": {"External id": 1, "correlation": 7}},
        {**event, "cat": "kernel", "name": hostile, "tid": 7, "ts": 200, "dur": 50, "args": {"External id": 1, "correlation": 7, "device": 0, "stream": 7}},
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    trace = tl.read(path)
    assert "<img" not in trace.sheet("ops_summary")._repr_html_() and "<img" not in trace._repr_html_()
    del trace
    gc.collect()
