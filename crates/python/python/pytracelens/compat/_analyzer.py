"""Launchers, figures and times of a trace as frames. Times are in µs unless a column says otherwise."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _native
from . import _frames
from ._frames import ARGUMENTS, DIRECT, FIGURES, PLACE, SUBTREE
from ._pandas import frame, library
from ._report import asked
from ._timeline import BREAKDOWN_COLUMNS, breakdown_rows
from ._tree import Event, Tree
from ._unsupported import refuse

if TYPE_CHECKING:
    import pandas

DATA_MOVEMENT = ("at::native::direct_copy_kernel_cuda", "transpose_")
MODEL_INSTEAD = "models are those of pytracelens; the command `tracelens pytorch --extension_file` adds others"

Row = dict[str, Any]


class TreePerfAnalyzer:
    """The analysis of a trace of PyTorch."""

    def __init__(
        self,
        native: _native.NativeAnalysis,
        arch: Mapping[str, Any] | str | None,
        detect_recompute: bool,
        parity: bool,
    ) -> None:
        self._native = native
        self.tree = Tree(native)
        self.arch = arch
        self.gpu_only: bool = native.gpu_only
        self._detect_recompute = detect_recompute
        self._parity = parity

    @classmethod
    def from_file(
        cls,
        profile_filepath: str | os.PathLike[str],
        capture_trace_filepath: str | os.PathLike[str] | None = None,
        jax: bool = False,
        enable_pseudo_ops: bool = False,
        tree_postprocess_extension: Any = None,
        *args: Any,
        add_python_func: bool = False,
        arch: Mapping[str, Any] | str | None = None,
        python_path: str | None = None,
        event_to_category: Any = None,
        include_unlinked_kernels: bool = False,
        rebuild_tree: bool = True,
        detect_recompute: bool = False,
        enable_origami: bool = False,
        inductor_cache_dir: str | None = None,
        pb_file_name: str | None = None,
        metadata_events: Any = None,
        kernel_metadata_keyword_filters: Any = None,
        parity: bool = False,
    ) -> TreePerfAnalyzer:
        """Reads a trace. ``arch`` is the name of a bundled architecture or the content of a file of one; ``parity=True``
        gives the figures of TraceLens."""
        if args:
            raise TypeError(f"from_file takes 5 arguments by position, and got {5 + len(args)}")
        refuse(
            {
                "capture_trace_filepath": capture_trace_filepath,
                "jax": jax,
                "tree_postprocess_extension": tree_postprocess_extension,
                "python_path": python_path,
                "event_to_category": event_to_category,
                "rebuild_tree=False": not rebuild_tree,
                "enable_origami": enable_origami,
                "inductor_cache_dir": inductor_cache_dir,
                "pb_file_name": pb_file_name,
                "metadata_events": metadata_events,
                "kernel_metadata_keyword_filters": kernel_metadata_keyword_filters,
            },
            {
                "capture_trace_filepath": "use the command `tracelens inference --capture_folder`",
                "jax": "use pytracelens.read(path)",
                "tree_postprocess_extension": MODEL_INSTEAD,
                "python_path": "models need no other program",
                "event_to_category": "categories are those that the recorder wrote",
                "rebuild_tree=False": "the tree is always built of the recording",
                "enable_origami": "times are held against rooflines: give arch",
                "inductor_cache_dir": "kernels of Triton get their figures from the recording alone",
                "pb_file_name": "use pytracelens.read(path)",
                "metadata_events": "use pytracelens.read(path)",
                "kernel_metadata_keyword_filters": "use pytracelens.read(path)",
            },
        )
        options = asked(
            arch,
            None,
            parity=parity,
            include_unlinked_kernels=include_unlinked_kernels,
            detect_recompute=detect_recompute,
            enable_pseudo_ops=enable_pseudo_ops,
        )
        native = _native.analyse(os.fspath(profile_filepath), options, add_python_func)
        return cls(native, arch, detect_recompute, parity)

    def _launchers(
        self, gpu_pid: int | None, categories: Iterable[str] | None
    ) -> Iterable[tuple[int, str, bool, float, float, list[int]]]:
        refuse(
            {"gpu_pid": gpu_pid is not None},
            {"gpu_pid": "the sheets of pytracelens.read(path) tell devices apart"},
        )
        wanted = None if categories is None else set(categories)
        return (row for row in self._native.launchers() if wanted is None or row[1] in wanted)

    def _kernels(self, uids: Iterable[int]) -> list[Row]:
        kernels = map(self._native.kernel, uids)
        return [{"name": name, "dur": duration, "stream": stream} for name, duration, stream in kernels]

    def get_kernel_launchers(
        self, include_nccl: bool = False, gpu_pid: int | None = None, gpu_kernel_op_cats: Iterable[str] | None = None
    ) -> list[Event]:
        """The operators that launched device work, by start, with what it took written into them.

        ``op category`` is that of the first kernel. ``gpu_kernel_op_cats`` keeps work of these kinds.
        """
        refuse(
            {"include_nccl": include_nccl and self._parity},
            {"include_nccl": "read the trace with parity=False: TraceLens leaves communication out"},
        )
        launchers: dict[int, Event] = {}
        for uid, category, is_communication, direct, subtree, kernels in self._launchers(gpu_pid, gpu_kernel_op_cats):
            if is_communication and not include_nccl:
                continue
            work = self._kernels(kernels)
            event = launchers.get(uid)
            if event is None:
                event = launchers[uid] = self.tree.get_UID2event(uid)
                event.update(
                    {"op category": category, DIRECT: 0.0, SUBTREE: 0.0, "direct_kernel_count": 0, "kernel_details": []}
                )
            event[DIRECT] += direct
            event[SUBTREE] += subtree
            event["direct_kernel_count"] += len(kernels)
            event["kernel_details"] = [*event["kernel_details"], *work]
        return list(launchers.values())

    def get_df_kernel_launchers(
        self,
        id_cols: bool = False,
        include_kernel_details: bool = False,
        include_call_stack: bool = False,
        include_first_occurrence_time: bool = False,
        gpu_pid: int | None = None,
        gpu_kernel_op_cats: Iterable[str] | None = None,
        include_args: bool = False,
        args_cols: Sequence[str] | None = None,
    ) -> pandas.DataFrame:
        """A row per operator that launched device work and kind of that work: the rows behind the sheet ``ops_summary``.

        ``id_cols`` adds process, thread and ``External id``, ``include_args`` all recorded arguments in ``args``,
        ``args_cols`` a column for each of these.
        """
        rows = []
        for uid, category, _, direct, subtree, kernels in self._launchers(gpu_pid, gpu_kernel_op_cats):
            row = {
                **self._native.labels(uid),
                "op category": category,
                DIRECT: direct,
                SUBTREE: subtree,
                "direct_kernel_count": len(kernels),
                "num_kernels": len(kernels),
            }
            if include_kernel_details:
                row["kernel_details"] = self._kernels(kernels)
            if include_call_stack:
                row["call_stack"] = self._native.call_stack(uid)
            self._add_arguments(row, uid, include_args, args_cols)
            rows.append(row)
        columns = ["name", "op category", "UID", DIRECT, SUBTREE, "direct_kernel_count", "num_kernels", *ARGUMENTS, *PLACE]
        columns += ["pid", "tid", "External id"] if id_cols else []
        columns += ["kernel_details"] if include_kernel_details else []
        columns += ["call_stack"] if include_call_stack else []
        columns += ["ts"] if include_first_occurrence_time else []
        columns += ["parent_module"] if self._native.python_frames else []
        columns += ["is_recompute"] if self._detect_recompute else []
        return frame(rows, self._with_arguments(columns, include_args, args_cols))

    def _add_arguments(self, row: Row, uid: int, include_args: bool, args_cols: Sequence[str] | None) -> None:
        if include_args or args_cols:
            arguments = self.tree.get_UID2event(uid)["args"]
            row.update({name: arguments.get(name) for name in args_cols or () if name not in ARGUMENTS})
            row["args"] = arguments

    @staticmethod
    def _with_arguments(columns: list[str], include_args: bool, args_cols: Sequence[str] | None) -> list[str]:
        more = [*(args_cols or ()), *(["args"] if include_args else [])]
        return list(dict.fromkeys([*columns, *more]))

    @staticmethod
    def get_df_kernel_launchers_summary(df_kernel_launchers: pandas.DataFrame) -> pandas.DataFrame:
        """Launchers by name: sums of direct and subtree kernel time, calls, kinds of work, shares of direct time."""
        return _frames.summary(df_kernel_launchers)

    @staticmethod
    def get_df_kernel_launchers_summary_by_category(df_kernel_launchers: pandas.DataFrame) -> pandas.DataFrame:
        """Launchers by kind of work: calls, direct kernel time in ms, shares of it."""
        return _frames.summary_by_category(df_kernel_launchers)

    @staticmethod
    def get_df_kernel_launchers_summary_by_shape(df_kernel_launchers: pandas.DataFrame, name: str) -> pandas.DataFrame:
        """Calls of one operator by the shapes of their inputs: calls, direct kernel time in ms, shares of it."""
        return _frames.summary_by_shape(df_kernel_launchers, name)

    @staticmethod
    def get_df_kernel_launchers_unique_args(
        df_kernel_launchers: pandas.DataFrame,
        event_name: str | None = None,
        agg_metrics: Sequence[str] = ["mean"],
        include_pct: bool = False,
        group_by_num_kernels: bool = False,
        group_by_parent_module: bool = False,
        include_overlapping_kernels: bool = False,
    ) -> pandas.DataFrame:
        """Launchers by name and arguments: calls, statistics and sums of direct and subtree kernel time, ``ex_UID`` of the
        first call; with ``kernel_details`` in the frame also statistics of the kernels."""
        return _frames.unique_args(
            df_kernel_launchers,
            event_name,
            agg_metrics,
            include_pct,
            group_by_num_kernels,
            group_by_parent_module,
            include_overlapping_kernels,
        )

    def _metrics(self, event: Mapping[str, Any], bwd: bool, non_data_mov: bool) -> tuple[Row | None, list[int], str | None]:
        """Figures of a call, its kernels, and why there are no figures."""
        call = self._native.modelled_call(event["UID"], bwd)
        kernels: list[int] = call["kernels"]
        figures: Row | None = call["figures"]
        if figures is None:
            return None, kernels, call["reason"]
        if non_data_mov:
            named = ((uid, self._native.kernel(uid)[0]) for uid in kernels)
            rest = [uid for uid, name in named if not any(moves in name for moves in DATA_MOVEMENT)]
            time = self._native.busy_time(rest)
            figures["Non-Data-Mov Kernel Time (µs)"] = time
            figures["Non-Data-Mov TFLOPS/s"] = figures["GFLOPS"] * 1e3 / time if time else None
        return {**figures, **{f"param: {name}": value for name, value in call["parameters"].items()}}, kernels, None

    def compute_perf_metrics(
        self,
        event: Mapping[str, Any],
        bwd: bool = False,
        non_data_mov: bool = False,
        perf_model_class: Any = None,
    ) -> Row:
        """Figures of one call by the model of its operator: work, kernel time in µs, rates, roofline and parameters.

        ``bwd`` asks for its backward work, ``non_data_mov`` adds the time without kernels that only move data.
        ``ValueError`` says why there are none.
        """
        refuse({"perf_model_class": perf_model_class}, {"perf_model_class": MODEL_INSTEAD})
        metrics, _, reason = self._metrics(event, bwd, non_data_mov)
        if metrics is None:
            raise ValueError(f"no figures of {event['name']}: {reason}")
        return metrics

    def build_df_perf_metrics(
        self,
        events: Iterable[Mapping[str, Any]],
        bwd: bool = False,
        non_data_mov: bool = False,
        include_kernel_details: bool = False,
        include_args: bool = False,
        dict_name_to_perf_model: Any = None,
        args_cols: Sequence[str] | None = None,
    ) -> pandas.DataFrame:
        """Figures of calls, a row each. Calls without figures are left out, with a warning that counts them."""
        refuse(
            {"dict_name_to_perf_model": dict_name_to_perf_model}, {"dict_name_to_perf_model": MODEL_INSTEAD}
        )
        rows: list[Row] = []
        left_out: list[str] = []
        figures = dict.fromkeys(FIGURES)
        for event in events:
            if bwd and not event.get("bwd_events"):
                continue
            metrics, kernels, reason = self._metrics(event, bwd, non_data_mov)
            if metrics is None:
                left_out.append(f"{event['name']}: {reason}")
                continue
            figures.update(dict.fromkeys(metrics))
            row = {**self._native.labels(event["UID"]), **metrics, "num_kernels": len(kernels)}
            if include_kernel_details:
                row["kernel_details"] = [
                    {**kernel, "gpu_op_uid": uid} for kernel, uid in zip(self._kernels(kernels), kernels)
                ]
            self._add_arguments(row, event["UID"], include_args, args_cols)
            rows.append(row)
        if left_out:
            warnings.warn(f"{len(left_out)} calls have no figures, such as {left_out[0]}", stacklevel=2)
        columns = ["name", "UID", *PLACE, *ARGUMENTS, *figures, "num_kernels"]
        columns += ["kernel_details"] if include_kernel_details else []
        columns += ["is_recompute"] if self._detect_recompute else []
        return frame(rows, self._with_arguments(columns, include_args, args_cols))

    @staticmethod
    def summarize_df_perf_metrics(
        df_perf_metrics: pandas.DataFrame,
        agg_metrics: Sequence[str] = ["mean", "std"],
        group_by_num_kernels: bool = False,
        include_overlapping_kernels: bool = False,
    ) -> pandas.DataFrame:
        """Figures of calls by name and parameters of the model, most kernel time first."""
        return _frames.perf_summary(df_perf_metrics, agg_metrics, group_by_num_kernels, include_overlapping_kernels)

    def get_df_gpu_timeline(
        self, micro_idle_thresh_us: float | None = None, gpu_pid: int | None = None
    ) -> pandas.DataFrame:
        """Kinds of the device's time: ``type``, ``time ms``, ``percent``; recomputed work apart where it is detected.

        With a threshold in µs idle time is split by the length of gaps.
        """
        library()
        found = self._native.timelines(micro_idle_thresh_us, gpu_pid)
        if not found:
            raise ValueError("No GPU events found in the trace")
        rows = [
            {**row, "is_recompute": is_recompute} for is_recompute, times in found for row in breakdown_rows(times)
        ]
        return frame(rows, [*BREAKDOWN_COLUMNS, *(["is_recompute"] if self._detect_recompute else [])])

    def build_nn_module_latency_tree(self, root: Mapping[str, Any]) -> None:
        """Writes into a module and all below it their ``GPU Time``, ``nn Parent GPU Time``, and where modules inside leave
        some over ``Non-nn.Module GPU Time``."""
        self.tree._needs_modules()
        times: dict[int, float] = {}
        for uid, parent, time, own in self._native.module_times(root["UID"]):
            times[uid] = time
            event = self.tree.get_UID2event(uid)
            event["GPU Time"] = time
            event["nn Parent GPU Time"] = None if parent is None else times[parent]
            if own is not None:
                event["Non-nn.Module GPU Time"] = own
