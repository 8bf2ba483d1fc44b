"""Options of trace reports, named as in ``tracelens pytorch``."""

from __future__ import annotations

import json
from typing import Literal, TypedDict, get_args, get_type_hints


class ReportOptions(TypedDict, total=False):
    """Options of a trace report."""

    topk_ops: int
    topk_short_kernels: int
    topk_roofline_ops: int
    include_unlinked_kernels: bool
    """Also count device events without a launch."""
    micro_idle_thresh_us: float
    """Divide idle time into gaps shorter than this, in µs, and longer ones."""
    iteration: str
    budget: Literal["step", "host", "projected"]
    kernel_details: bool
    topk_kernels: int
    short_kernel_study: bool
    short_kernel_threshold_us: float
    short_kernel_histogram_bins: int
    waits: bool
    kernel_wait_threshold_us: float
    min_gap_us: float
    queue_limit: int
    memory: bool
    kernel_summary: bool
    """Default: True."""
    host_ops: bool
    detect_recompute: bool
    include_call_stack: bool
    enable_pseudo_ops: bool
    include_overlap_info: bool
    include_first_occurrence_time: bool
    group_by_num_kernels: bool
    disable_coll_analysis: bool
    group_by_parent_module: bool
    parity: bool
    """Reproduce the figures of TraceLens."""


_TAKEN: dict[type, tuple[type, ...]] = {bool: (bool,), int: (int,), float: (float, int), str: (str, int)}


def asked(options: ReportOptions, arch: str | None) -> str:
    """The options as the JSON that the report accepts."""
    known = ReportOptions.__annotations__
    unknown = options.keys() - known.keys()
    if unknown:
        raise TypeError(f"a report has no options {', '.join(sorted(unknown))}; it has {', '.join(known)}")
    for name, value in options.items():
        kind = get_type_hints(ReportOptions)[name]
        choices = get_args(kind)
        is_right = value in choices if choices else type(value) in _TAKEN[kind]
        if not is_right:
            wanted = " or ".join(map(repr, choices)) if choices else kind.__name__
            raise TypeError(f"the option {name} is {wanted}, not {value!r}")
    return json.dumps({"arch": arch, "kernel_summary": True, **options})
