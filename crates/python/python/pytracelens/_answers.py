"""What is said of a recording, as ``tracelens --json`` says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

_T = TypeVar("_T")


def _make(kind: type[_T], document: Mapping[str, Any], **members: Any) -> _T:
    """An answer from its document; members that this version does not know are left out."""
    known = {field.name: document[field.name] for field in fields(kind) if field.name in document}  # type: ignore[arg-type]
    return kind(**{**known, **members})


@dataclass(frozen=True)
class Input:
    """A file that was read."""

    id: str
    """``t1``, ``t2`` …, by which warnings name it."""
    role: Literal["trace", "baseline", "candidate"]
    file: str
    """Its name, without its folder."""
    bytes: int | None
    """Its size; None for directories."""
    sha256: str | None
    """SHA-256 of its bytes on disk."""
    format: str | None
    """What it holds: ``kineto``, ``xplane``, ``rocprof``, ``nsys``, ``tenstorrent-ops``."""
    compression: str | None
    """How it is packed: ``none``, ``gzip``, ``zstd``, ``zip``."""
    recorder: str | None
    """Name and version of the recorder, where the file says more than its format."""
    devices: tuple[str, ...]
    """Devices that it names."""
    rank: int | None
    """Rank of the recorded process."""
    world_size: int | None
    """Ranks of its job."""
    events: int | None
    """Events in it."""
    span_ns: int | None
    """Time from the first start to the last end in ns."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Input:
        return _make(cls, document, devices=tuple(document["devices"]))


@dataclass(frozen=True)
class Trust:
    """How far the figures of a recording can be trusted."""

    verdict: Literal["full", "degraded", "unusable"]
    device_events: int | None
    linked_pct_of_time: float | None
    """Share of the device time whose launch is recorded, in percent."""
    modelled_pct_of_time: float | None
    """Share of the device time whose FLOPs and bytes are known, in percent."""
    shapes: bool | None
    """Whether operators have their shapes; None where the recorder could not record some."""
    stacks: bool | None
    """Whether Python frames are recorded."""
    truncated: bool
    """Whether the file ends early or is damaged, so that events are lost."""
    bytes_lost: int | None
    """Bytes of the unpacked file that could not be used; None where that is not known."""
    events_lost: int
    steps: int | None
    clock: Literal["sound", "doubtful", "wrong"] | None
    """How the clocks of host and device agree; None where the recording does not tell."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Trust:
        return _make(cls, document)


@dataclass(frozen=True)
class Lost:
    """What is missing in figures: in all of them, or in those of operators."""

    bytes: int
    events: int
    time_us: float | None
    """Time in which at least one of these events ran, in µs; None where that is not known."""


@dataclass(frozen=True)
class AnswerWarning:
    """What to know before relying on a figure."""

    code: str
    """Where it comes from and what it is, such as ``reading/truncated``. Never renamed."""
    severity: Literal["info", "warning", "distrust"]
    input: str | None
    """The input that it is about, by its ``id``."""
    count: int | None
    """How often it happened."""
    first_uid: int | None
    """The event where it happened first."""
    first_offset: int | None
    """Bytes of the unpacked file before the place where it happened first."""
    lost: Lost | None
    message: str
    """What happened, and what to do."""
    action: str | None
    """What to do, with which the message ends, where it says that."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> AnswerWarning:
        first = document["first"] or {}
        lost = document["lost"] and _make(Lost, document["lost"])
        return _make(cls, document, first_uid=first.get("uid"), first_offset=first.get("offset"), lost=lost)


@dataclass(frozen=True)
class Gain:
    """What a change would give back, in µs."""

    low: float
    mid: float
    high: float


@dataclass(frozen=True)
class Evidence:
    """A row of a table."""

    table: str
    column: str
    key: str


@dataclass(frozen=True)
class Finding:
    """What to change."""

    rule: str
    rank: int
    """Its place, from 1."""
    title: str
    """What is wrong, and where."""
    us: Gain | None
    """What the change would give back in µs; None where no figure is known."""
    amount_us: float | None
    """Time of the window that it is about in µs, of which the gain is a part; None where no figure is known."""
    share_pct: float | None
    """The middle of it in percent of the window."""
    confidence: str
    evidence: tuple[Evidence, ...]
    """Rows that show it."""
    doubts: tuple[str, ...]
    """Why it may be wrong, by rule of ``tracelens doctor``."""
    action: str
    """What to do."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Finding:
        return _make(
            cls,
            document,
            us=document["us"] and _make(Gain, document["us"]),
            evidence=tuple(_make(Evidence, row) for row in document["evidence"]),
            doubts=tuple(document["doubts"]),
        )


@dataclass(frozen=True)
class Unanswered:
    """What could not be looked at."""

    question: str
    """What would have been answered: the tables, or the figure."""
    code: str
    """Why not, in a word, such as ``no-shapes``."""
    reason: str
    needs: str
    """How to record it."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Unanswered:
        return _make(cls, document)
