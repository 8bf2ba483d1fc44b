"""Answers from profiler traces of GPU jobs: where the time went, what to fix first.

>>> import pytracelens as tl
>>> trace = tl.read("trace.json.gz")          # doctest: +SKIP
>>> trace.table("ops_summary").to_pandas()    # doctest: +SKIP
"""

from __future__ import annotations

import glob
import json
import os
import warnings as _warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, Union

from . import _native
from ._answers import AnswerWarning, Evidence, Finding, Gain, Input, Lost, Trust, Unanswered
from ._errors import (
    CannotAnswer,
    InternalError,
    NoDeviceEvents,
    NotComparable,
    ReadError,
    TraceError,
    UnknownName,
    error_of_sizes,
)
from ._native import __version__
from ._options import ReportOptions, asked
from ._progress import Progress, told
from ._public import Public
from ._table import Column, Table
from ._timeline import Timeline, Window
from ._tree import Node, Tree

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "AnswerWarning",
    "CannotAnswer",
    "Column",
    "Diff",
    "Evidence",
    "Finding",
    "Gain",
    "Input",
    "InternalError",
    "Lost",
    "NoDeviceEvents",
    "Node",
    "NotComparable",
    "ReadError",
    "Report",
    "ReportOptions",
    "Table",
    "Timeline",
    "Trace",
    "TraceError",
    "TraceWarning",
    "Tree",
    "Trust",
    "Unanswered",
    "UnknownName",
    "Window",
    "__version__",
    "diff",
    "gate",
    "model",
    "read",
    "read_many",
]

StrPath = Union[str, "os.PathLike[str]"]
Value = Union[bool, float, str]
Condition = Union[tuple[str, str], tuple[str, str, Union[Value, Iterable[Value]]]]

Size = Union[bool, int, str, Iterable[int], "os.PathLike[str]", None]


def __dir__() -> list[str]:
    return sorted(__all__)


class TraceWarning(UserWarning):
    """A warning to read before relying on a figure, as a Python warning; ``code`` is that of the ``AnswerWarning``."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[TraceWarning], tuple[str, str]]:
        return type(self), (str(self), self.code)


def _document(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    return document


def _paths(given: StrPath | Iterable[StrPath]) -> list[str]:
    if isinstance(given, (str, os.PathLike)):
        return [os.fspath(given)]
    return [os.fspath(path) for path in given]


def _condition(given: Condition) -> tuple[str, str, Any]:
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3) or not all(isinstance(text, str) for text in given[:2]):
        raise TypeError(f'a condition is (column, operator, value) or (column, "null"), not {given!r}')
    column, operator, *values = given
    value = values[0] if values else None
    if value is None or isinstance(value, (str, Real)):
        return column, operator, value
    listed = list(value) if isinstance(value, Iterable) else [value]
    if not all(isinstance(one, (str, Real)) for one in listed):
        raise TypeError(f"cells are compared with numbers, texts, flags, or lists of them, not {value!r}")
    return column, operator, listed


class Report(Public):
    """Tables, with trust, warnings and findings. Iteration yields the names of the tables."""

    def __init__(self, native: _native.NativeReport) -> None:
        self._native = native

    @cached_property
    def answer(self) -> dict[str, Any]:
        """What ``--json`` prints, without the tables: inputs, trust, warnings, result, findings, what cannot be answered."""
        return _document(self._native.answer_json())

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files, in order."""
        return tuple(map(Input._of, self.answer["inputs"]))

    @property
    def info(self) -> Input:
        """The first file: its name, size, hash, format, devices, rank, events and span in ns."""
        return self.inputs[0]

    @property
    def trust(self) -> Trust | None:
        """How far the figures can be trusted; None if that was not examined, as for jobs, comparisons, and profiles that are
        not traces."""
        trust = self.answer["trust"]
        return None if trust is None else Trust._of(trust)

    @property
    def warnings(self) -> tuple[AnswerWarning, ...]:
        """Warnings to read before relying on a figure."""
        return tuple(map(AnswerWarning._of, self.answer["warnings"]))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What to change first. Gains are in µs."""
        return tuple(map(Finding._of, self.answer["findings"]))

    @property
    def unanswered(self) -> tuple[Unanswered, ...]:
        """What could not be answered, and how to record what is missing."""
        return tuple(map(Unanswered._of, self.answer["cannot_answer"]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.names())

    def __len__(self) -> int:
        return len(self._native.names())

    def __contains__(self, name: object) -> bool:
        return name in self._native.names()

    def __getitem__(self, name: str) -> Table:
        """The table of this name; if there is none, ``UnknownName`` (a ``KeyError``) lists similar names."""
        return Table(self._native.table(name))

    def table(
        self,
        name: str,
        *,
        select: Iterable[str] | None = None,
        where: Iterable[Condition] = (),
        sort: str | Iterable[str] = (),
        top: int | None = None,
    ) -> Table:
        """The table of this name, or its rows that meet all conditions, sorted on request.

        Conditions are ``(column, operator, value)`` with ``eq ne lt le gt ge contains starts in``, or ``(column, "null")``. To
        sort, give a column (largest first) or ``column:asc``. ``select`` names the columns to return, ``top`` limits the rows.
        """
        columns = None if select is None else list(select)
        conditions = list(map(_condition, where))
        orders = [sort] if isinstance(sort, str) else list(sort)
        named = [(order.removesuffix(":asc").removesuffix(":desc"), not order.endswith(":asc")) for order in orders]
        if columns is None and not conditions and not named and top is None:
            return self[name]
        return Table(self._native.rows(name, columns, conditions, named, top))

    def save(self, path: StrPath) -> None:
        """Writes the report in the format of the extension: .xlsx, .json or .html; without one, a directory of CSV files."""
        self._native.save(os.fspath(path))

    def _warn(self, stacklevel: int) -> None:
        """Issues the warnings that matter as Python warnings."""
        for warning in map(AnswerWarning._of, json.loads(self._native.warnings_json())):
            if warning.severity != "info":
                _warnings.warn(TraceWarning(_line(warning.message, warning.action), warning.code), stacklevel=stacklevel + 1)

    def _must_be_whole(self) -> None:
        if self.answer["status"] == "ok":
            return
        for warning in self.warnings:
            if warning.severity == "distrust":
                raise _cannot_answer(_line(warning.message, warning.action), warning.code, warning.action)
        for lacking in self.unanswered:
            raise _cannot_answer(_line(f"{lacking.question}: {lacking.reason}", lacking.needs), lacking.code, lacking.needs)

    def __repr__(self) -> str:
        inputs = [Input._of(document) for document in json.loads(self._native.inputs_json())]
        return f"<{type(self).__name__} of {_named(inputs)}; {len(self)} tables>"

    def _repr_html_(self) -> str:
        from ._html import report

        return report(self)


def _named(inputs: list[Input]) -> str:
    """The files, and of a single one what it is."""
    if len(inputs) == 2 and {given.role for given in inputs} == {"baseline", "candidate"}:
        return f"{inputs[0].file} and {inputs[1].file}"
    if len(inputs) != 1:
        return f"{len(inputs)} files, {inputs[0].file} first" if inputs else "no file"
    only = inputs[0]
    facts = [only.format, *(name if n == 1 else f"{n} × {name}" for name, n in Counter(only.devices).items())]
    facts += [] if only.rank is None else [f"rank {only.rank}"]
    facts += [] if only.events is None else [f"{only.events:,} events"]
    facts += [] if only.span_ns is None else [f"{only.span_ns / 1e6:,.1f} ms"]
    known = ", ".join(fact for fact in facts if fact)
    return f"{only.file}: {known}" if known else only.file


def _line(message: str, action: str | None) -> str:
    return message if action is None else f"{message}; {action}"


def _cannot_answer(message: str, code: str, action: str | None) -> CannotAnswer:
    return CannotAnswer(message, code, action)


class Trace(Report):
    """A recording with its report."""

    def __init__(self, native: _native.NativeReport, path: StrPath, arch: str | None) -> None:
        super().__init__(native)
        self._path = os.fspath(path)
        self._arch = arch

    def report(self, **options: Unpack[ReportOptions]) -> Report:
        """The report with options of ``tracelens pytorch``; reads the trace file again. Without options, returns this report."""
        if not options:
            return Report(self._native)
        return Report(_native.report(self._path, asked(options, self._arch)))

    def why(self, target: str | int, top: int = 5) -> dict[str, Any]:
        """Explains an operator, kernel or module, given its name, or an event, given its number. Times are in µs."""
        return _document(self._native.why_json(str(target), top))

    def advise(self) -> tuple[Finding, ...]:
        """What to change first: the same as ``findings``."""
        return self.findings

    def diff(self, candidate: Trace | StrPath) -> Diff:
        """Compares another recording with this one, which is the baseline."""
        other = candidate._path if isinstance(candidate, Trace) else candidate
        return diff(self._path, other)

    @cached_property
    def tree(self) -> Tree:
        """The call tree; raises ``TraceError`` if the recording has none."""
        return Tree(self._native)

    @cached_property
    def timeline(self) -> Timeline:
        """The events over time; raises ``TraceError`` if the recording has none."""
        return Timeline(self._native.analysis())


class Diff(Report):
    """Two recordings whose call trees are aligned: ``diff_ledger``, ``diff_units``, ``diff_classes``."""


def read(
    path: StrPath,
    *,
    arch: str | None = None,
    threads: int | None = None,
    python_frames: bool = True,
    progress: Progress | None = None,
    strict: bool = False,
) -> Trace:
    """Reads a recording of any kind, which is recognized by its content, and builds its report.

    ``arch`` names the architecture for rooflines; by default, the one that the recording names. ``python_frames=False`` reads
    faster, but modules are unknown. ``progress`` is a function that is called with the bytes read and the total bytes, or True
    for a tqdm bar. Reading releases the GIL; an exception in ``progress``, or Ctrl-C, ends it.

    Raises ``ReadError``, ``NoDeviceEvents`` or another ``TraceError``, each with ``code``, ``help`` and ``path``, and with
    ``strict=True`` also ``CannotAnswer`` if something cannot be answered. Warnings to read before relying on a figure are in
    ``warnings``, and are also issued as a ``TraceWarning``.
    """
    with told(progress) as call:
        trace = Trace(_native.read(os.fspath(path), arch, threads, python_frames, call), path, arch)
    trace._warn(stacklevel=2)
    if strict:
        trace._must_be_whole()
    return trace


def read_many(paths: StrPath | Iterable[StrPath], *, threads: int | None = None) -> Report:
    """Reads the recordings of a job's ranks and builds the report on the job. A path may be a pattern, such as ``rank*.json.gz``."""
    named = _paths(paths)
    if isinstance(paths, str) and not os.path.exists(paths):
        named = sorted(glob.glob(paths)) or named
    job = Report(_native.read_ranks(named, threads))
    job._warn(stacklevel=2)
    return job


def diff(baseline: StrPath, candidate: StrPath, *, progress: Progress | None = None) -> Diff:
    """Aligns the call trees of two recordings and attributes the difference between their times."""
    with told(progress) as call:
        return Diff(_native.diff(os.fspath(baseline), os.fspath(candidate), call))


def gate(
    baseline: StrPath | Iterable[StrPath],
    candidate: StrPath | Iterable[StrPath],
    *,
    slower_by_pct: float | None = None,
    strict: bool = False,
) -> dict[str, Any]:
    """Whether candidates are slower than baselines: verdict, metrics with bounds, ledger.

    With ``strict=True``, raises ``CannotAnswer`` or ``NotComparable`` if the recordings do not allow a verdict.
    """
    return _document(_native.gate_json(_paths(baseline), _paths(candidate), slower_by_pct, strict))


def _option(name: str, value: Size) -> list[str]:
    """An option as the command line writes it; none where it is None or a flag that is off."""
    if value is None or value is False:
        return []
    if name in ("dtype", "output_dtype"):
        value = _native.data_type(str(value)) or str(value)
    if value is True:
        return [f"--{name}"]
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
    else:
        text = ",".join(map(str, value)) if isinstance(value, Iterable) else str(value)
    return [f"--{name}={text}"]


_KINDS = (
    "use one of gemm, grouped-gemm, sdpa, conv, unary, binary, norm, reduce, rope, cross-entropy, causal-conv1d, "
    "or give the args of an operator's call"
)
# Options of every command, which say nothing of an operation.
_NO_SIZES = {"help", "version", "json", "jsonl", "list", "quiet"}


def model(
    name: str, args: Mapping[str, Any] | None = None, *, kernels: Iterable[str] = (), **sizes: Size
) -> dict[str, Any]:
    """The cost of an operation by its performance model: FLOPs and bytes, or the reason why there are none.

    With ``args``, evaluates a call of the operator ``name``: ``args`` are the arguments as recorders write and name them, and the
    figures cover forward and backward.

    >>> import pytracelens as tl
    >>> call = {"Input Dims": [[4096, 1024], [1024, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
    >>> tl.model("aten::mm", call)["flops"]
    4294967296

    Without ``args``, evaluates an operation of the kind ``name`` from its sizes, which are options of ``tracelens model``: ``intensity`` is in FLOPs per
    byte, and with ``arch="h100"`` or ``gpu_arch_json_path=…`` the ``roofline_time_us`` is the least time in µs. Shapes are lists,
    flags are True. The kinds are ``gemm``, ``grouped-gemm``, ``sdpa``, ``conv``, ``unary``, ``binary``, ``norm``, ``reduce``,
    ``rope``, ``cross-entropy`` and ``causal-conv1d``; ``tracelens model --list`` lists their sizes.

    >>> gemm = tl.model("gemm", m=4096, n=512, k=1024, arch="h100")
    >>> gemm["flops"], gemm["bytes"], gemm["arch"]["bound"]
    (4294967296, 13631488, 'COMPUTE_BOUND')
    >>> tl.model("conv", input=[1, 64, 56, 56], filter=[64, 64, 3, 3], padding=1, backward=True)["flops"]
    462422016

    ``dtype`` is a type by any common spelling, such as ``bf16`` or ``torch.bfloat16``, or the type itself.

    Raises ``TraceError`` if a kind, size or value is invalid.
    """
    if args is None:
        if kernels:
            raise TypeError("kernels are those of a call, whose args are missing")
        if name.startswith("-"):
            raise TraceError(f"{name!r} is no kind of operation; {_KINDS}", "arguments", _KINDS)
        unknown = sorted(sizes.keys() & _NO_SIZES)
        if unknown:
            raise TraceError(f"the operation has no size {unknown[0]}", "arguments")
        options = [option for size, value in sizes.items() for option in _option(size, value)]
        answer, error = _native.model_by_sizes_json([name, *options])
        if answer is None:
            raise error_of_sizes(*(error or ("", "internal", None)))
        text, warning = answer
        if warning is not None:
            _warnings.warn(TraceWarning(warning, "unknown-keys"), stacklevel=2)
        return _document(text)
    if sizes:
        raise TypeError(f"a call has its sizes in args, and none of its own: {', '.join(sizes)}")
    call = {"name": name, "args": dict(args), "kernel_details": [{"name": kernel} for kernel in kernels]}
    return _document(_native.model_json(json.dumps(call)))
