"""The report of a trace as frames."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .. import Report, _native
from ._pandas import library
from ._unsupported import refuse

if TYPE_CHECKING:
    import pandas

StrPath = str | os.PathLike[str]


class _Families(Mapping[str, str]):
    """Operators that have a model, and the family of it, asked for when it is first looked at."""

    def __init__(self) -> None:
        self._families: dict[str, str] | None = None

    def _all(self) -> dict[str, str]:
        if self._families is None:
            self._families = dict(_native.modelled_operators())
        return self._families

    def __getitem__(self, name: str) -> str:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


op_to_perf_model_class_map: Mapping[str, str] = _Families()


def build_sheet_category_to_op_names(op_to_perf_model_class_map: Mapping[str, str]) -> dict[str, list[str]]:
    """The names of operators by their family, such as ``GEMM``."""
    names: dict[str, list[str]] = {}
    for name, family in op_to_perf_model_class_map.items():
        names.setdefault(family, []).append(name)
    return names


class _Names(Mapping[str, list[str]]):
    """The names of operators by their family; a family without any has an empty list."""

    def __getitem__(self, family: str) -> list[str]:
        return build_sheet_category_to_op_names(op_to_perf_model_class_map).get(family, [])

    def __iter__(self) -> Iterator[str]:
        return iter(build_sheet_category_to_op_names(op_to_perf_model_class_map))

    def __len__(self) -> int:
        return len(build_sheet_category_to_op_names(op_to_perf_model_class_map))


dict_cat2names: Mapping[str, list[str]] = _Names()


def asked(
    arch: Mapping[str, Any] | str | None,
    arch_file: StrPath | None,
    **options: bool | float | None,
) -> str:
    """Options of an analysis as the library takes them."""
    if isinstance(arch, Mapping) and "mem_bw_gbps" not in arch:
        # Such as {"num_cus": 304}, which says nothing that times could be held against.
        arch = None
    device = {
        "arch": arch if isinstance(arch, str) else None,
        "arch_file": None if arch_file is None else os.fspath(arch_file),
        "arch_json": json.dumps(dict(arch)) if isinstance(arch, Mapping) else None,
    }
    return json.dumps({**device, **options})


def generate_perf_report_pytorch(
    profile_json_path: StrPath,
    output_xlsx_path: StrPath | None = None,
    output_csvs_dir: StrPath | None = None,
    include_unlinked_kernels: bool = False,
    micro_idle_thresh_us: float | None = None,
    collective_analysis: bool = True,
    kernel_summary: bool = False,
    short_kernel_study: bool = False,
    short_kernel_threshold_us: float = 10.0,
    short_kernel_histogram_bins: int = 100,
    topk_short_kernels: int | None = None,
    topk_ops: int | None = None,
    topk_roofline_ops: int | None = None,
    enable_pseudo_ops: bool = False,
    comparison_json_path: StrPath | None = None,
    extension_file: StrPath | None = None,
    python_path: StrPath | None = None,
    gpu_arch_json_path: StrPath | None = None,
    gpu_arch_platform: str | None = None,
    group_by_num_kernels: bool = False,
    enable_origami: bool = False,
    inductor_cache_dir: StrPath | None = None,
    include_overlap_info: bool = False,
    detect_recompute: bool = False,
    include_first_occurrence_time: bool = False,
    include_call_stack: bool = False,
    *,
    disable_coll_analysis: bool = False,
    enable_kernel_summary: bool = False,
    parity: bool = False,
) -> dict[str, pandas.DataFrame]:
    """The sheets of the report of a trace, by name, as frames of pandas.

    They are also written to a workbook or a directory of CSV files where one is named. ``parity=True`` gives the figures of
    TraceLens.
    """
    refuse(
        {
            "comparison_json_path": comparison_json_path,
            "extension_file": extension_file,
            "python_path": python_path,
            "enable_origami": enable_origami,
            "inductor_cache_dir": inductor_cache_dir,
        },
        {
            "comparison_json_path": "use pytracelens.diff(baseline, candidate)",
            "extension_file": "use the command `tracelens pytorch --extension_file`, which runs the same files",
            "python_path": "models need no other program",
            "enable_origami": "times are held against rooflines: give gpu_arch_platform or gpu_arch_json_path",
            "inductor_cache_dir": "kernels of Triton get their figures from the recording alone",
        },
    )
    if gpu_arch_json_path is not None and gpu_arch_platform is not None:
        raise ValueError("at most one of gpu_arch_json_path and gpu_arch_platform can be given")
    library()
    options = asked(
        gpu_arch_platform,
        gpu_arch_json_path,
        parity=parity,
        include_unlinked_kernels=include_unlinked_kernels,
        detect_recompute=detect_recompute,
        enable_pseudo_ops=enable_pseudo_ops,
        micro_idle_thresh_us=micro_idle_thresh_us,
        disable_coll_analysis=disable_coll_analysis or not collective_analysis,
        kernel_summary=kernel_summary or enable_kernel_summary,
        short_kernel_study=short_kernel_study,
        short_kernel_threshold_us=short_kernel_threshold_us,
        short_kernel_histogram_bins=short_kernel_histogram_bins,
        topk_short_kernels=topk_short_kernels,
        topk_ops=topk_ops,
        topk_roofline_ops=topk_roofline_ops,
        group_by_num_kernels=group_by_num_kernels,
        include_overlap_info=include_overlap_info,
        include_first_occurrence_time=include_first_occurrence_time,
        include_call_stack=include_call_stack,
    )
    native = _native.report(os.fspath(profile_json_path), options)
    if output_xlsx_path is not None:
        native.save(os.fspath(output_xlsx_path))
    if output_csvs_dir is not None:
        native.save_csvs(os.fspath(output_csvs_dir))
    report = Report(native)
    frames: dict[str, pandas.DataFrame] = {name: report.table(name).to_pandas() for name in report}
    return frames
