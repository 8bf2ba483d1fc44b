"""Collectives of a job's ranks as frames. Times are in µs unless a column says otherwise."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .. import Report, _native
from ._pandas import frame
from ._unsupported import refuse

if TYPE_CHECKING:
    import pandas

_PER_RANK = re.compile(r"rank_\d+_")
_STATISTICS = ["mean", "median", "std", "min", "max", "sum", "count"]


class NcclAnalyser:
    """The collectives of the recordings of a job, a file per rank; figures are those of ``pytracelens.read_many``."""

    def __init__(
        self, list_profile_filepaths: Iterable[str | os.PathLike[str]], world_size: int | None = None, **kwargs: Any
    ) -> None:
        refuse(dict(kwargs), dict.fromkeys(kwargs, "the recordings are read by as many threads as there are cores"))
        paths = [os.fspath(path) for path in list_profile_filepaths]
        if world_size is not None and len(paths) != world_size:
            raise ValueError(f"{len(paths)} recordings are not those of {world_size} ranks")
        self.world_size = len(paths)
        self._report = Report(_native.read_ranks(paths, None, _STATISTICS))

    def _table(self, name: str, is_detailed: bool = True, without: Iterable[str] = ()) -> pandas.DataFrame:
        if name not in self._report:
            return frame([], [])
        found = self._report[name].to_pandas()
        left_out = set(without)
        kept = [column for column in found.columns if column not in left_out and (is_detailed or not _PER_RANK.match(column))]
        return found[kept]

    @staticmethod
    def _not_asked(agg_metrics: Sequence[str], columns: Iterable[str]) -> list[str]:
        unknown = [name for name in agg_metrics if name not in _STATISTICS]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is no statistic; use {', '.join(_STATISTICS)}")
        endings = tuple(f"_{name}" for name in _STATISTICS if name not in agg_metrics)
        return [column for column in columns if column.endswith(endings) and column != "operation_count"]

    def build_df_long(self) -> pandas.DataFrame:
        """A row per collective and rank."""
        return self._table("nccl_long")

    def build_df_summary_long(self) -> pandas.DataFrame:
        """Collectives of each rank by kind and size."""
        return self._table("nccl_summary_long")

    def build_df_nccl_implicit_sync_cat(self, detailed: bool = False, strict_metadata_check: bool = True) -> pandas.DataFrame:
        """A row per collective that no rank leaves before all have come; ``detailed`` adds columns for each rank."""
        return self._table("nccl_implicit_sync", detailed)

    def build_df_summary_nccl_implicit_sync_cat(
        self,
        agg_metrics: Sequence[str] = ("mean", "std"),
        metadata_fields: Sequence[str] | None = None,
        strict_metadata_check: bool = True,
    ) -> pandas.DataFrame:
        """These collectives by kind and size, with these statistics of latency, skew and bandwidth."""
        refuse({"metadata_fields": metadata_fields}, {"metadata_fields": "group the rows of build_df_nccl_implicit_sync_cat"})
        name = "nccl_summary_implicit_sync"
        columns = self._report[name].columns if name in self._report else []
        return self._table(name, without=self._not_asked(agg_metrics, columns))

    def build_df_nccl_all2allv(self, detailed: bool = False, strict_metadata_check: bool = True) -> pandas.DataFrame:
        """A row per uneven exchange; empty where there is none."""
        return self._table("nccl_all2allv", detailed)

    def build_df_summary_nccl_all2allv(
        self, agg_metrics: Sequence[str] = ("mean", "std"), strict_metadata_check: bool = True
    ) -> pandas.DataFrame:
        """Uneven exchanges by group and kind, with these statistics."""
        name = "nccl_summary_all2allv"
        columns = self._report[name].columns if name in self._report else []
        return self._table(name, without=self._not_asked(agg_metrics, columns))
