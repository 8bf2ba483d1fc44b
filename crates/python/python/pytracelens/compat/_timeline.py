"""What the device's time went to, and files of events. Times are in µs."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _native
from ._pandas import frame
from ._tree import GPU_CATEGORIES
from ._unsupported import refuse

if TYPE_CHECKING:
    import pandas

Interval = tuple[float, float]


def merge_intervals(intervals: Iterable[Interval]) -> list[Interval]:
    """The union of intervals, in order; those that touch become one."""
    merged: list[Interval] = []
    for start, end in sorted(intervals, key=lambda interval: interval[0]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def breakdown_rows(times: Mapping[str, float]) -> list[dict[str, Any]]:
    """Kinds of time as rows: ms, and percent of the total."""
    total = times["total_time"]
    share = (lambda us: 100 * us / total) if total else (lambda us: float("nan"))
    return [{"type": kind, "time ms": us / 1e3, "percent": share(us)} for kind, us in times.items()]


BREAKDOWN_COLUMNS = ["type", "time ms", "percent"]


class GPUEventAnalyser:
    """Kinds of time of device events, given as mappings with ``ts``, ``dur``, ``cat`` and ``name``."""

    def __init__(self, events: Iterable[Mapping[str, Any]]) -> None:
        self.events = events

    @staticmethod
    def merge_intervals(intervals: Iterable[Interval]) -> list[Interval]:
        """The union of intervals, in order; those that touch become one."""
        return merge_intervals(intervals)

    def compute_metrics(
        self,
        micro_idle_thresh_us: float | None = None,
        gpu_pid: int | None = None,
        event_filter: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> dict[str, float]:
        """Times in µs by kind: busy, idle, computation and so on. ``ValueError`` without device events."""
        chosen = [event for event in self.events if event.get("cat") in GPU_CATEGORIES]
        if gpu_pid is not None:
            chosen = [event for event in chosen if event["pid"] == gpu_pid]
        if event_filter is not None:
            chosen = [event for event in chosen if event_filter(event)]
        spans = [(float(event["ts"]), float(event["dur"]), event["cat"], event["name"]) for event in chosen]
        times = _native.breakdown(spans, micro_idle_thresh_us)
        if times is None:
            raise ValueError("No GPU events found in the trace")
        return times

    def get_breakdown_df(
        self,
        micro_idle_thresh_us: float | None = None,
        gpu_pid: int | None = None,
        event_filter: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> pandas.DataFrame:
        """The same as a frame: ``type``, ``time ms``, ``percent``."""
        times = self.compute_metrics(micro_idle_thresh_us, gpu_pid, event_filter)
        return frame(breakdown_rows(times), BREAKDOWN_COLUMNS)


class DataLoader:
    """Reads files of events."""

    @staticmethod
    def load_data(filename_path: str | os.PathLike[str], save_preprocessed: bool = False) -> dict[str, Any]:
        """The document of a ``.json`` or ``.json.gz`` file."""
        path = os.fspath(filename_path)
        refuse(
            {"save_preprocessed": save_preprocessed, "a profile in XPlane's format": path.endswith("pb")},
            {
                "save_preprocessed": "write the document with the module json",
                "a profile in XPlane's format": "pytracelens.read(path) reads it",
            },
        )
        if not path.endswith((".json", ".json.gz")):
            raise ValueError(f"Unknown file type: {path}")
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            document: dict[str, Any] = json.load(file)
        return document
