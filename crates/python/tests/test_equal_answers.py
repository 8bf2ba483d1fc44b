"""The package and the program say the same of the same recordings."""

from __future__ import annotations

import ast
import dataclasses
import json
import math
import os
import subprocess
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import pytracelens as tl

from test_pytracelens import RECORDINGS, ROOT, TESTDATA, TRAINING, program

CORPUS = Path(os.environ.get("TRACE_CORPUS") or ROOT.parent / "shared/corpus")
OF_CORPUS = (ROOT / "crates/cli/tests/command_line/mcp/recordings_of_the_corpus.txt").read_text().splitlines()
ROCM = TESTDATA / "generated/rocm_training_step.json.gz"


def answer(*arguments: str | Path) -> dict[str, Any]:
    """What the program prints."""
    out = subprocess.run([program(), *arguments, "--json"], capture_output=True, text=True)
    document: dict[str, Any] = json.loads(out.stdout)
    return document


def told(members: Iterable[Any]) -> Any:
    """Dataclasses as JSON has them."""
    return json.loads(json.dumps([dataclasses.asdict(member) for member in members]))


def cell(value: Any) -> Any:
    """A value as JSON has it: infinite ones are null, whole numbers that a double does not hold are hexadecimal text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) >= 1 << 53:
        return f"{value & (1 << 64) - 1:#018x}"
    return value


def same(ours: Any, theirs: Any) -> bool:
    """Whether a cell of a frame is that of JSON. Frames have lists of names with commas, and other lists and records as Python
    writes them, tuples among them."""
    if not isinstance(theirs, (list, dict)):
        return bool(ours == theirs)
    if all(isinstance(one, str) for one in theirs) and ours == ", ".join(theirs):
        return True
    return bool(json.loads(json.dumps(ast.literal_eval(ours))) == theirs)


def rows(table: tl.Table) -> list[list[Any]]:
    """The rows as JSON has them."""
    columns = [map(cell, table[name].to_list()) for name in table.columns]
    return [list(row) for row in zip(*columns)]


def assert_equal(table: tl.Table, document: dict[str, Any], what: object) -> None:
    assert [column["name"] for column in document["columns"]] == table.columns, what
    assert [column["unit"] for column in document["columns"]] == list(table.units.values()), what
    assert document["rows_total"] == len(document["rows"]) == len(table), what
    for number, (ours, theirs) in enumerate(zip(rows(table), document["rows"])):
        other = [(at, cell) for at, cell in enumerate(zip(ours, theirs)) if not same(*cell)]
        assert not other, (what, number)


def given(name: str) -> Path:
    path = CORPUS / name
    if not path.exists():
        if os.environ.get("REQUIRE_CORPUS"):
            pytest.fail(f"{path} is not there")
        pytest.skip(f"SKIPPED: {path} is not there")
    return path


def read(path: Path) -> tl.Trace:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.TraceWarning)
        # As the program reads where no option asks for frames.
        return tl.read(path, python_frames=False)


def assert_the_program_agrees(path: Path) -> None:
    trace, said = read(path), answer("report", path)
    tables = {table["name"]: table for table in said["tables"]}
    if "kernel_summary" in trace and "kernel_summary" not in tables:
        # Traces have it on the command line where it is asked for.
        said = answer("report", path, "--enable_kernel_summary")
        tables = {table["name"]: table for table in said["tables"]}
    assert set(trace) == set(tables)
    for name, table in tables.items():
        # The overview lists the options of the command.
        if name != "overview":
            assert_equal(trace.table(name), table, name)
    for member in ("inputs", "trust", "warnings", "findings", "cannot_answer"):
        assert trace.answer[member] == said[member], member
    assert told(trace.findings) == said["findings"]
    name = max(tables, key=lambda name: len(tables[name]["rows"]))
    column = trace.table(name).columns[0]
    picked = answer("table", path, name, "--select", column, "--sort", column, "--top", "5")["tables"][0]
    table = trace.table(name, select=[column], sort=column, top=5)
    assert (table.columns, rows(table)) == ([column], picked["rows"])
    if "ops_summary" in trace and len(trace.table("ops_summary")):
        operator = trace.table("ops_summary")["name"].to_list()[0]
        ours, theirs = trace.why(operator), answer("why", path, operator)["result"]
        assert ours["cost"] == theirs["cost"] and ours["kernels"] == theirs["kernels"]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_the_program_agrees_on_recordings(path: Path) -> None:
    assert_the_program_agrees(path)


@pytest.mark.parametrize("name", OF_CORPUS)
def test_the_program_agrees_on_the_corpus(name: str) -> None:
    assert_the_program_agrees(given(name))


def test_the_program_agrees_on_two_runs() -> None:
    found, said = tl.diff(TRAINING, ROCM), answer("diff", TRAINING, ROCM)
    assert list(found) == [table["name"] for table in said["tables"]]
    for table in said["tables"]:
        assert_equal(found.table(table["name"]), table, table["name"])
    for candidate in (TRAINING, ROCM):
        assert tl.gate(TRAINING, candidate) == answer("gate", "--baseline", TRAINING, "--candidate", candidate)["result"]
