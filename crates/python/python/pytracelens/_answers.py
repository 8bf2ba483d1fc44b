"""Answers about a recording, as in ``tracelens --json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

_T = TypeVar("_T")


def _make(kind: type[_T], document: Mapping[str, Any], **members: Any) -> _T:
    """An answer from its JSON document; members unknown to this version are omitted."""
    known = {field.name: document[field.name] for field in fields(kind) if field.name in document}  # type: ignore[arg-type]
    return kind(**{**known, **members})


@dataclass(frozen=True)
class Input:
    """A file that was read."""

    id: str
    """``t1``, ``t2`` …: how warnings refer to it."""
    role: Literal["trace", "baseline", "candidate"]
    file: str
    """Its name, without its folder."""
    bytes: int | None
    """Its size; None for directories."""
    sha256: str | None
    """SHA-256 of its bytes on disk."""
    format: str | None
    """Its format: ``kineto``, ``xplane``, ``rocprof``, ``nsys``, ``tenstorrent-ops``."""
    compression: str | None
    """Compression: ``none``, ``gzip``, ``zstd``, ``zip``."""
    recorder: str | None
    """Name and version of the recorder; None if the file does not name it."""
    devices: tuple[str, ...]
    """Devices named in it."""
    rank: int | None
    """Rank of the recorded process."""
    world_size: int | None
    """Number of ranks in its job."""
    events: int | None
    """Number of events in it."""
    span_ns: int | None
    """Time from the first start to the last end in ns."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Input:
        return _make(cls, document, devices=tuple(document["devices"]))


@dataclass(frozen=True)
class Trust:
    """How reliable the figures of a recording are."""

    verdict: Literal["full", "degraded", "unusable"]
    device_events: int | None
    linked_pct_of_time: float | None
    """Percentage of device time in events whose launch is recorded."""
    modelled_pct_of_time: float | None
    """Percentage of device time spent in work whose FLOPs and bytes are known."""
    shapes: bool | None
    """Whether operators have shapes; None if the recorder cannot record them."""
    stacks: bool | None
    """Whether Python frames are recorded."""
    truncated: bool
    """Whether the file is truncated or damaged, so that events are lost."""
    bytes_lost: int | None
    """Bytes of the unpacked file that could not be used; None if unknown."""
    events_lost: int
    steps: int | None
    clock: Literal["sound", "doubtful", "wrong"] | None
    """How well host and device clocks agree; None if unknown."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Trust:
        return _make(cls, document)


@dataclass(frozen=True)
class Lost:
    """Data missing from all figures, or from operator figures."""

    bytes: int
    events: int
    time_us: float | None
    """Time in which at least one of these events ran, in µs; None if unknown."""


@dataclass(frozen=True)
class AnswerWarning:
    """A warning to read before relying on a figure."""

    code: str
    """Its source and kind, such as ``reading/truncated``. Never renamed."""
    severity: Literal["info", "warning", "distrust"]
    input: str | None
    """``id`` of the input concerned."""
    count: int | None
    """How often it happened."""
    first_uid: int | None
    """The event where it first happened."""
    first_offset: int | None
    """Byte offset in the unpacked file where it first happened."""
    lost: Lost | None
    message: str
    """What happened, and what to do."""
    action: str | None
    """What to do; the message ends with it."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> AnswerWarning:
        first = document["first"] or {}
        lost = document["lost"] and _make(Lost, document["lost"])
        return _make(cls, document, first_uid=first.get("uid"), first_offset=first.get("offset"), lost=lost)


@dataclass(frozen=True)
class Gain:
    """Recoverable time, in µs."""

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
    """Its rank, from 1."""
    title: str
    """What is wrong, and where."""
    us: Gain | None
    """Recoverable time in µs; None if unknown."""
    amount_us: float | None
    """Time affected in µs, including the gain; None if unknown."""
    share_pct: float | None
    """Probable gain in percent of the window."""
    confidence: str
    evidence: tuple[Evidence, ...]
    """Rows as evidence."""
    doubts: tuple[str, ...]
    """Reasons to doubt it, by rule of ``tracelens doctor``."""
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
    """What could not be answered."""

    question: str
    """The missing tables or figure."""
    code: str
    """The reason as a code, such as ``no-shapes``."""
    reason: str
    needs: str
    """How to record it."""

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Unanswered:
        return _make(cls, document)
