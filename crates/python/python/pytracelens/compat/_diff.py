"""What differs between two trees, as frames. Times are in µs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import Table, _native
from ._pandas import frame
from ._tree import Tree

if TYPE_CHECKING:
    import pandas

_ARGUMENTS = ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"]


class TraceDiff:
    """Aligns two trees, ``baseline`` and ``variant``; the alignment is that of ``pytracelens.diff``."""

    def __init__(self, tree1: Tree, tree2: Tree) -> None:
        self.baseline = tree1
        self.variant = tree2
        self._text = ""
        self._frames: dict[str, pandas.DataFrame] | None = None
        self._mates: tuple[dict[int, int], dict[int, int]] = ({}, {})

    def _found(self) -> dict[str, pandas.DataFrame]:
        if self._frames is None:
            tables, self._text = _native.tree_diff(self.baseline._native, self.variant._native)
            frames = {table.name: Table(table).to_pandas() for table in tables if table.name != "diff_map"}
            for table in tables:
                if table.name == "diff_map":
                    pairs = list(zip(table.values("uid_a"), table.values("uid_b")))
                    known = [(a, b) for a, b in pairs if a is not None and b is not None]
                    self._mates = (dict(known), {b: a for a, b in known})
            self._frames = frames
        return self._frames

    def generate_tracediff_report(self) -> None:
        """Compares the trees, which each attribute does when it is first asked for; writes no files."""
        self._found()

    @property
    def diff_stats_df(self) -> pandas.DataFrame:
        """A row per device event of both runs in work that differs."""
        found = self._found().get("diff_stats")
        return frame([], ["name", "cpu_op_name", "source", "kernel_time"]) if found is None else found

    @property
    def diff_stats_unique_args_summary_df(self) -> pandas.DataFrame:
        """The same by operator, arguments, what they have in common, and run; most kernel time first."""
        stats = self.diff_stats_df
        keys = [name for name in ["cpu_op_name", "lowest_common_ancestor_name", "source", *_ARGUMENTS] if name in stats]
        return self._summed(stats, keys)

    @property
    def diff_stats_names_summary_df(self) -> pandas.DataFrame:
        """The same by operator and run; most kernel time first."""
        return self._summed(self.diff_stats_df, ["cpu_op_name", "source"])

    @staticmethod
    def _summed(stats: pandas.DataFrame, keys: list[str]) -> pandas.DataFrame:
        times: Any = stats.groupby(keys, dropna=False, sort=False)["kernel_time"]
        summed = times.agg(["count", "sum", "mean"]).reset_index()
        summed = summed.rename(columns={"count": "num_kernels", "sum": "kernel_time_sum", "mean": "kernel_time_mean"})
        ordered: pandas.DataFrame = summed.sort_values("kernel_time_sum", ascending=False, kind="stable", ignore_index=True)
        return ordered

    def get_corresponding_uid(self, tree_num: int, uid: int) -> int:
        """The UID in the other tree of what this event of tree 1 or 2 is there; -1 where there is nothing."""
        if tree_num not in (1, 2):
            raise ValueError(f"the trees are 1 and 2, not {tree_num!r}")
        self._found()
        return self._mates[tree_num - 1].get(uid, -1)

    def print_tracediff_report_files(
        self, output_folder: str | os.PathLike[str] = "rprt_diff", prune_non_gpu: bool = False
    ) -> None:
        """Writes both trees as one, and the frames, into a folder. The tree has nodes with device work alone, so that
        ``prune_non_gpu`` finds nothing to leave out."""
        self._found()
        folder = Path(output_folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "merged_tree_output.txt").write_text(self._text, encoding="utf-8")
        self.diff_stats_df.to_csv(folder / "diff_stats.csv", index=False)
        self.diff_stats_unique_args_summary_df.to_csv(folder / "diff_stats_unique_args_summary.csv", index=False)
        self.diff_stats_names_summary_df.to_csv(folder / "diff_stats_names_summary.csv", index=False)
