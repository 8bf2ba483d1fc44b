"""Options of reports of traces, by the names that ``tracelens pytorch`` has."""

from __future__ import annotations

from typing import TypedDict


class ReportOptions(TypedDict, total=False):
    """Options of the report of a trace."""

    include_unlinked_kernels: bool
    """Count device events without a launch, too."""
    micro_idle_thresh_us: float | None
    """Divide idle time into that of gaps shorter than this, in µs, and the rest."""
    collective_analysis: bool
    kernel_summary: bool
    short_kernel_study: bool
    short_kernel_threshold_us: float
    short_kernel_histogram_bins: int
    topk_short_kernels: int | None
    topk_ops: int | None
    topk_roofline_ops: int | None
    enable_pseudo_ops: bool
    group_by_num_kernels: bool
    include_overlap_info: bool
    detect_recompute: bool
    include_first_occurrence_time: bool
    include_call_stack: bool
    parity: bool
    """Give the figures of TraceLens."""


DEFAULTS: ReportOptions = {
    "include_unlinked_kernels": False,
    "micro_idle_thresh_us": None,
    "collective_analysis": True,
    "kernel_summary": True,
    "short_kernel_study": False,
    "short_kernel_threshold_us": 10.0,
    "short_kernel_histogram_bins": 100,
    "topk_short_kernels": None,
    "topk_ops": None,
    "topk_roofline_ops": None,
    "enable_pseudo_ops": False,
    "group_by_num_kernels": False,
    "include_overlap_info": False,
    "detect_recompute": False,
    "include_first_occurrence_time": False,
    "include_call_stack": False,
    "parity": False,
}
