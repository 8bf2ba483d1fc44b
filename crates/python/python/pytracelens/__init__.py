"""Answers from profiler traces of GPU jobs: where the time went, what to fix first.

>>> import pytracelens as tl
>>> trace = tl.read("trace.json.gz")          # doctest: +SKIP
>>> trace.sheet("ops_summary").to_pandas()    # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Union

from . import _native
from ._native import InternalError, NoDeviceEvents, NotComparable, ReadError, TraceError, __version__
from ._table import Table

__all__ = [
    "Diff",
    "InternalError",
    "NoDeviceEvents",
    "NotComparable",
    "ReadError",
    "Report",
    "Table",
    "Trace",
    "TraceError",
    "__version__",
    "diff",
    "gate",
    "read",
]

StrPath = Union[str, "os.PathLike[str]"]
Progress = Callable[[int, int], object]


def _document(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    return document


class Report:
    """Tables and what is said of them. Iterating gives the names of the tables."""

    def __init__(self, native: _native.NativeReport) -> None:
        self._native = native
        self._answer: dict[str, Any] | None = None

    @property
    def answer(self) -> dict[str, Any]:
        """What ``--json`` prints, without its tables: inputs, trust, warnings, result, findings, what cannot be answered."""
        if self._answer is None:
            self._answer = _document(self._native.answer_json())
        return self._answer

    @property
    def info(self) -> dict[str, Any]:
        """The first file: its name, size, hash, format, devices, rank, events and span in ns."""
        first: dict[str, Any] = self.answer["inputs"][0]
        return first

    @property
    def trust(self) -> dict[str, Any] | None:
        """How far the figures can be trusted: verdict, share of time with a launch and with a model, shapes, stacks."""
        trust: dict[str, Any] | None = self.answer["trust"]
        return trust

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """What to know before relying on a figure: code, severity, message."""
        warnings: list[dict[str, Any]] = self.answer["warnings"]
        return warnings

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What to change first. Gains (``us``) are in µs: low, mid, high."""
        findings: list[dict[str, Any]] = self.answer["findings"]
        return findings

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.names())

    def __len__(self) -> int:
        return len(self._native.names())

    def __contains__(self, name: object) -> bool:
        return name in self._native.names()

    def sheet(self, name: str) -> Table:
        """A table by its name; ``KeyError`` names the nearest where there is none."""
        return Table(self._native.table(name))

    __getitem__ = sheet

    def save(self, path: StrPath) -> None:
        """Writes the report as its name ends: .xlsx, .json, .html, or else a directory of CSV files."""
        self._native.save(os.fspath(path))

    def _repr_html_(self) -> str:
        from ._html import report

        return report(self)


class Trace(Report):
    """A recording with its report."""

    def why(self, target: str | int, top: int = 5) -> dict[str, Any]:
        """All that is known of an operator, kernel or module by its name, or of an event by its number. Times are in µs."""
        return _document(self._native.why_json(str(target), top))

    def tree(
        self,
        name: str | None = None,
        *,
        uid: int | None = None,
        callers: bool = False,
        depth: int = 4,
        min_us: float = 0.0,
        top: int = 1000,
    ) -> Table:
        """What calls launch, or who calls them: uid, depth, name, kind, device_us, calls; equal siblings are one row."""
        return Table(self._native.tree(uid, name, callers, depth, min_us, top))


class Diff(Report):
    """Two recordings whose call trees are aligned: ``diff_ledger``, ``diff_units``, ``diff_classes``."""


def read(
    path: StrPath,
    *,
    arch: str | None = None,
    threads: int | None = None,
    python_frames: bool = True,
    progress: Progress | None = None,
) -> Trace:
    """Reads a recording of any kind, recognised by its content, and makes its report.

    ``arch`` names the architecture that figures are held against, the one that the recording names where it is left out.
    ``python_frames=False`` reads faster and tells no modules. ``progress`` is called with bytes read and bytes in all. The
    interpreter's lock is free meanwhile; an exception of ``progress``, or Ctrl-C, ends the reading.

    Raises ``ReadError``, ``NoDeviceEvents`` or ``TraceError``, each with ``code``.
    """
    return Trace(_native.read(os.fspath(path), arch, threads, python_frames, progress))


def diff(baseline: StrPath, candidate: StrPath, *, progress: Progress | None = None) -> Diff:
    """Aligns the call trees of two recordings and divides the difference of their times."""
    return Diff(_native.diff(os.fspath(baseline), os.fspath(candidate), progress))


def gate(
    baseline: StrPath | Iterable[StrPath],
    candidate: StrPath | Iterable[StrPath],
    *,
    slower_by_pct: float | None = None,
) -> dict[str, Any]:
    """Whether candidates are slower than baselines: verdict, metrics with bounds, ledger."""

    def paths(given: StrPath | Iterable[StrPath]) -> list[str]:
        if isinstance(given, (str, os.PathLike)):
            return [os.fspath(given)]
        return [os.fspath(path) for path in given]

    return _document(_native.gate_json(paths(baseline), paths(candidate), slower_by_pct))
