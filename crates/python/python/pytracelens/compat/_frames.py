"""Frames of launchers and of figures, put together. Times are in µs unless a column says otherwise."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ._pandas import library
from ._unsupported import refuse

if TYPE_CHECKING:
    import pandas

ARGUMENTS = ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"]
PLACE = ["process_name", "process_label", "thread_name"]
DIRECT, SUBTREE = "total_direct_kernel_time", "total_subtree_kernel_time"
PERCENT, CUMULATIVE = "Percentage (%)", "Cumulative Percentage (%)"
KERNEL_TIME = "Kernel Time (µs)"
# Figures that every call with a model has.
FIGURES = ["GFLOPS", KERNEL_TIME, "TFLOPS/s", "Data Moved (MB)", "FLOPS/Byte", "TB/s", "Compute Spec"]
LONGEST_NAME = 64

OVERLAP_INSTEAD = {
    "include_overlapping_kernels": "generate_perf_report_pytorch(…, include_overlap_info=True) has the sheets of overlap",
}


def _present(table: pandas.DataFrame, columns: Iterable[str]) -> list[str]:
    return [column for column in columns if column in table.columns]


def _groups(table: pandas.DataFrame, keys: list[str]) -> Iterable[tuple[Any, pandas.DataFrame]]:
    """Rows with equal keys, told apart by how these print, in the order in which they are first met."""
    labels = [repr(row) for row in table[keys].itertuples(index=False, name=None)]
    groups: Iterable[tuple[Any, pandas.DataFrame]] = table.groupby(labels, sort=False)
    return groups


def _first(values: pandas.Series) -> Any:
    """The first value that is there; None where none is."""
    there = values.dropna()
    return None if there.empty else there.iloc[0]


def _with_shares(table: pandas.DataFrame, of: str) -> pandas.DataFrame:
    """The rows by this column, the greatest first, with their shares in its sum."""
    # Sums that differ only by how they were rounded are equal.
    table = table.sort_values(of, ascending=False, kind="stable", ignore_index=True, key=lambda sums: sums.round(6))
    table[PERCENT] = table[of] / table[of].sum() * 100
    table[CUMULATIVE] = table[PERCENT].cumsum()
    return table


def _calls(group: pandas.DataFrame) -> int:
    """Calls behind the rows: one that does work of several kinds has a row for each."""
    return int(group["UID"].nunique())


def summary(launchers: pandas.DataFrame) -> pandas.DataFrame:
    """Launchers by name: sums of direct and subtree kernel time, calls, kinds of work, shares of direct time."""
    keys = _present(launchers, ["name", "is_recompute"])
    rows = [
        {
            **{key: group[key].iloc[0] for key in keys},
            f"{DIRECT}_sum": group[DIRECT].sum(),
            f"{SUBTREE}_sum": group[SUBTREE].sum(),
            f"{DIRECT}_ms": group[DIRECT].sum() / 1e3,
            f"{SUBTREE}_ms": group[SUBTREE].sum() / 1e3,
            "Count": _calls(group),
            "Categories": sorted(group["op category"].unique()),
        }
        for _, group in _groups(launchers, keys)
    ]
    sums = [f"{DIRECT}_sum", f"{SUBTREE}_sum", f"{DIRECT}_ms", f"{SUBTREE}_ms"]
    return _with_shares(library().DataFrame(rows, columns=[*keys, *sums, "Count", "Categories"]), f"{DIRECT}_ms")


def _by(launchers: pandas.DataFrame, keys: list[str]) -> pandas.DataFrame:
    rows = [
        {
            **{key: group[key].iloc[0] for key in keys},
            "Count": _calls(group),
            f"{DIRECT}_ms": group[DIRECT].sum() / 1e3,
        }
        for _, group in _groups(launchers, keys)
    ]
    return _with_shares(library().DataFrame(rows, columns=[*keys, "Count", f"{DIRECT}_ms"]), f"{DIRECT}_ms")


def summary_by_category(launchers: pandas.DataFrame) -> pandas.DataFrame:
    """Launchers by kind of work: calls, direct kernel time in ms, shares of it."""
    return _by(launchers, _present(launchers, ["op category", "is_recompute"]))


def summary_by_shape(launchers: pandas.DataFrame, name: str) -> pandas.DataFrame:
    """Calls of one operator by the shapes of their inputs: calls, direct kernel time in ms, shares of it."""
    return _by(launchers[launchers["name"] == name], ["name", "Input Dims"])


def kernel_statistics(lists: Sequence[Any]) -> list[dict[str, Any]]:
    """Kernels of the calls, position by position. Calls with a different number of kernels than the first do not count."""
    lists = [kernels for kernels in lists if kernels]
    if not lists:
        return []
    positions = zip(*[kernels for kernels in lists if len(kernels) == len(lists[0])])
    described = []
    for position in positions:
        durations = [kernel["dur"] for kernel in position]
        described.append(
            {
                "name": position[0]["name"],
                "stream": position[0]["stream"],
                "count": len(durations),
                "total_duration_us": sum(durations),
                "mean_duration_us": statistics.fmean(durations),
                "median_duration_us": statistics.median(durations),
                "std_dev_duration_us": statistics.pstdev(durations),
                "min_duration_us": min(durations),
                "max_duration_us": max(durations),
            }
        )
    return sorted(described, key=lambda kernel: (kernel["total_duration_us"], kernel["name"]))


def _short(kernels: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    def cut(name: str) -> str:
        return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."

    shortened = [
        {
            "name": cut(kernel["name"]),
            "stream": kernel["stream"],
            "mean_duration_us": round(kernel["mean_duration_us"], 2),
        }
        for kernel in kernels
    ]
    return shortened or None


def unique_args(
    launchers: pandas.DataFrame,
    event_name: str | None,
    agg_metrics: Sequence[str],
    include_pct: bool,
    group_by_num_kernels: bool,
    group_by_parent_module: bool,
    include_overlapping_kernels: bool,
) -> pandas.DataFrame:
    """Launchers by name and arguments."""
    refuse({"include_overlapping_kernels": include_overlapping_kernels}, OVERLAP_INSTEAD)
    if event_name is not None:
        launchers = launchers[launchers["name"] == event_name]
    keys = ["name", "op category", *PLACE, *ARGUMENTS]
    keys += ["num_kernels"] if group_by_num_kernels else []
    keys += ["parent_module"] if group_by_parent_module else []
    keys = _present(launchers, [*keys, "is_recompute"])
    figures = _figures([*agg_metrics, "sum"])
    rows = []
    for _, group in _groups(launchers, keys):
        row = {key: _first(group[key]) for key in keys}
        row["operation_count"] = len(group)
        if "ts" in group.columns:
            row["first_occurrence_time"] = group["ts"].min()
        for figure in figures:
            row[f"{DIRECT}_{figure}"] = group[DIRECT].agg(figure)
            row[f"{SUBTREE}_{figure}"] = group[SUBTREE].agg(figure)
        row["ex_UID"] = group["UID"].iloc[0]
        if "kernel_details" in group.columns:
            row["kernel_details_summary"] = kernel_statistics(list(group["kernel_details"]))
            row["trunc_kernel_details"] = _short(row["kernel_details_summary"])
        rows.append(row)
    columns = [*keys, "operation_count"]
    columns += ["first_occurrence_time"] if "ts" in launchers.columns else []
    columns += [f"{time}_{figure}" for figure in figures for time in (DIRECT, SUBTREE)]
    columns.append("ex_UID")
    columns += ["kernel_details_summary", "trunc_kernel_details"] if "kernel_details" in launchers.columns else []
    table = library().DataFrame(rows, columns=columns)
    if "first_occurrence_time" in columns:
        table["first_occurrence_time"] -= table["first_occurrence_time"].min()
    table = _with_shares(table.sort_values("ex_UID", kind="stable"), f"{DIRECT}_sum")
    return table if include_pct else table.drop(columns=[PERCENT, CUMULATIVE])


def _figures(asked: Iterable[str]) -> list[str]:
    """Names of statistics, each once."""
    return list(dict.fromkeys(asked))


def perf_summary(
    metrics: pandas.DataFrame, agg_metrics: Sequence[str], group_by_num_kernels: bool, include_overlapping_kernels: bool
) -> pandas.DataFrame:
    """Figures of calls by name and parameters of the model, most kernel time first."""
    refuse({"include_overlapping_kernels": include_overlapping_kernels}, OVERLAP_INSTEAD)
    parameters = [column for column in metrics.columns if column.startswith("param: ")]
    keys = ["name", *parameters, *(["num_kernels"] if group_by_num_kernels else [])]
    keys += _present(metrics, ["is_recompute"])
    firsts = ["GFLOPS", "Data Moved (MB)", "FLOPS/Byte"]
    rates = ["TB/s", "TFLOPS/s"]
    labels = [*PLACE, "Compute Spec", "Roofline Time (µs)", "Roofline Bound"]
    times = [KERNEL_TIME, "Non-Data-Mov Kernel Time (µs)"]
    rates += ["Non-Data-Mov TFLOPS/s", "Pct Roofline"]
    statistic = _figures(agg_metrics)
    # Where no call has a figure, its column would not be one of numbers.
    metrics = metrics.astype({column: float for column in _present(metrics, [*rates, *times])})
    of: dict[str, tuple[str, Callable[[pandas.Series], Any] | str]] = {}
    for column in _present(metrics, firsts):
        of[f"{column}_first"] = (column, _first)
    for column in _present(metrics, rates):
        of.update({f"{column}_{figure}": (column, figure) for figure in statistic})
    for column in _present(metrics, labels):
        of[column if column == "Compute Spec" else f"{column}_first"] = (column, _first)
    for column in _present(metrics, ARGUMENTS):
        of[f"{column}_first"] = (column, _first)
    for column in _present(metrics, times):
        of.update({f"{column}_{figure}": (column, figure) for figure in _figures([*statistic, "sum"])})
    of["name_count"] = ("name", "count")
    of["UID_first"] = ("UID", _first)
    rows = []
    for _, group in _groups(metrics, keys):
        row = {key: _first(group[key]) for key in keys}
        for column, (source, how) in of.items():
            row[column] = group[source].agg(how) if isinstance(how, str) else how(group[source])
        if "kernel_details" in group.columns:
            row["kernel_details__summarize_kernel_stats"] = kernel_statistics(list(group["kernel_details"]))
            row["trunc_kernel_details"] = _short(row["kernel_details__summarize_kernel_stats"])
        rows.append(row)
    details = ["kernel_details__summarize_kernel_stats", "trunc_kernel_details"]
    columns = [*keys, *of, *(details if "kernel_details" in metrics.columns else [])]
    table = library().DataFrame(rows, columns=columns)
    by = [f"{KERNEL_TIME}_sum", "UID_first"]
    ordered: pandas.DataFrame = table.sort_values(by, ascending=[False, True], kind="stable", ignore_index=True)
    return ordered
