"""Every call that notebooks of TraceLens make, on a recording of the repository."""

from __future__ import annotations

import copy
import gc
import gzip
import importlib
import json
import pickle
import pprint
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import pytracelens as tl
from pytracelens import compat

TESTDATA = Path(__file__).resolve().parents[3] / "testdata"
TRAINING = TESTDATA / "generated/cuda_training_step.json.gz"
DIRECT = "total_direct_kernel_time"


@pytest.fixture(scope="module")
def analyzer() -> compat.TreePerfAnalyzer:
    return compat.TreePerfAnalyzer.from_file(TRAINING, add_python_func=True)


@pytest.fixture(scope="module")
def trace() -> tl.Trace:
    return tl.read(TRAINING)


@pytest.fixture(scope="module")
def launchers(analyzer: compat.TreePerfAnalyzer) -> pandas.DataFrame:
    return analyzer.get_df_kernel_launchers(
        id_cols=True,
        include_kernel_details=True,
        include_call_stack=True,
        include_first_occurrence_time=True,
        include_args=True,
        args_cols=["Sequence number"],
    )


@pytest.fixture
def modules() -> Iterator[None]:
    """Leaves the modules of Python as they were."""
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "TraceLens"}
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "TraceLens"]:
        del sys.modules[name]
    sys.modules.update(before)


@pytest.mark.usefixtures("modules")
def test_imports_of_notebooks_work_once_installed() -> None:
    assert compat.install(force=True) and compat.install()
    from TraceLens import GPUEventAnalyser, NcclAnalyser, TraceDiff, TreePerfAnalyzer  # type: ignore[import-not-found]
    from TraceLens.PerfModel.torch_op_mapping import (  # type: ignore[import-not-found]
        build_sheet_category_to_op_names,
        op_to_perf_model_class_map,
    )
    from TraceLens.Reporting.generate_perf_report_pytorch import (  # type: ignore[import-not-found]
        generate_perf_report_pytorch,
    )
    from TraceLens.TreePerf import TreePerfAnalyzer as same  # type: ignore[import-not-found]
    from TraceLens.util import DataLoader  # type: ignore[import-not-found]

    assert TreePerfAnalyzer is same is compat.TreePerfAnalyzer and GPUEventAnalyser is compat.GPUEventAnalyser
    assert "aten::mm" in build_sheet_category_to_op_names(op_to_perf_model_class_map)["GEMM"]
    assert callable(generate_perf_report_pytorch) and NcclAnalyser and TraceDiff
    assert DataLoader.load_data(str(TRAINING))["traceEvents"]
    from TraceLens.NcclAnalyser.nccl_analyser import NcclAnalyser as same_analyser  # type: ignore[import-not-found]
    from TraceLens.PerfModel import dict_cat2names  # type: ignore[import-not-found]
    from TraceLens.PerfModel.perf_model import GEMM, SDPA  # type: ignore[import-not-found]

    assert same_analyser is NcclAnalyser is compat.NcclAnalyser
    assert "aten::mm" in dict_cat2names["GEMM"] and dict_cat2names["no such family"] == []
    for family in ("SDPA", "CONV", "UnaryElementwise", "BinaryElementwise"):
        assert dict_cat2names[family], family
    assert GEMM is compat.GEMM and SDPA is compat.SDPA
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("TraceLens.Trace2Tree")


@pytest.mark.usefixtures("modules")
def test_a_real_installation_wins_unless_forced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "TraceLens").mkdir()
    (tmp_path / "TraceLens/__init__.py").write_text("real = True")
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("TraceLens", None)
    assert not compat.install() and "TraceLens" not in sys.modules
    assert importlib.import_module("TraceLens").real
    assert not compat.install()
    assert compat.install(force=True)
    assert not hasattr(importlib.import_module("TraceLens"), "real")
    sys.modules["TraceLens"] = ModuleType("TraceLens")
    assert not compat.install()


def test_launchers_have_the_times_of_the_sheets(
    analyzer: compat.TreePerfAnalyzer, trace: tl.Trace, launchers: pandas.DataFrame
) -> None:
    total = launchers[DIRECT].sum()
    assert total == pytest.approx(trace.table("ops_summary").to_pandas()[f"{DIRECT}_ms"].sum() * 1e3)
    assert launchers[["UID", "op category"]].duplicated().sum() == 0
    details = [sum(kernel["dur"] for kernel in kernels) for kernels in launchers["kernel_details"]]
    assert all(details[row] >= launchers[DIRECT][row] - 1e-6 for row in range(len(launchers)))
    assert list(launchers["num_kernels"]) == [len(kernels) for kernels in launchers["kernel_details"]]
    assert launchers["call_stack"][0][0] == launchers["name"][0] and "train.py" in launchers["call_stack"][0][-1]
    assert {"pid", "tid", "External id", "ts", "args", "Sequence number", "parent_module"} <= set(launchers.columns)
    assert isinstance(launchers["Input Dims"][0], tuple)
    only = analyzer.get_df_kernel_launchers(gpu_kernel_op_cats=["GEMM"])
    assert set(only["op category"]) == {"GEMM"} and "kernel_details" not in only.columns
    with pytest.raises(NotImplementedError, match="gpu_pid"):
        analyzer.get_df_kernel_launchers(gpu_pid=0)


def test_summaries_have_the_rows_of_the_sheets(trace: tl.Trace, launchers: pandas.DataFrame) -> None:
    of = compat.TreePerfAnalyzer
    summary = of.get_df_kernel_launchers_summary(launchers)
    sheet = trace.table("ops_summary").to_pandas()
    assert dict(zip(summary["name"], summary[f"{DIRECT}_ms"])) == pytest.approx(
        dict(zip(sheet["name"], sheet[f"{DIRECT}_ms"]))
    )
    assert dict(zip(summary["name"], summary["Count"])) == dict(zip(sheet["name"], sheet["Count"]))
    by_category = of.get_df_kernel_launchers_summary_by_category(launchers)
    sheet = trace.table("ops_summary_by_category").to_pandas()
    assert dict(zip(by_category["op category"], by_category[f"{DIRECT}_ms"])) == pytest.approx(
        dict(zip(sheet["op category"], sheet[f"{DIRECT}_ms"]))
    )
    unique = of.get_df_kernel_launchers_unique_args(launchers, agg_metrics=["mean", "std"], include_pct=True)
    sheet = trace.table("ops_all").to_pandas() if "ops_all" in trace else trace.table("ops_unique_args").to_pandas()
    assert len(unique) == len(sheet)
    assert list(unique["ex_UID"]) == list(sheet["ex_UID"])
    assert list(unique[f"{DIRECT}_mean"]) == pytest.approx(list(sheet[f"{DIRECT}_mean"]))
    for table in (summary, by_category, unique):
        assert table["Cumulative Percentage (%)"].iloc[-1] == pytest.approx(100)
    assert unique["first_occurrence_time"].min() == 0
    kernels = unique["kernel_details_summary"][0][0]
    assert kernels["count"] == unique["operation_count"][0] and unique["trunc_kernel_details"][0]
    shapes = of.get_df_kernel_launchers_summary_by_shape(launchers, "aten::mm")
    mm = of.get_df_kernel_launchers_unique_args(
        launchers, event_name="aten::mm", group_by_num_kernels=True, group_by_parent_module=True
    )
    assert shapes[f"{DIRECT}_ms"].sum() == pytest.approx(mm[f"{DIRECT}_sum"].sum() / 1e3)
    assert "Percentage (%)" not in mm.columns and {"num_kernels", "parent_module"} <= set(mm.columns)
    assert of.get_df_kernel_launchers_unique_args(launchers, event_name="aten::none").empty
    with pytest.raises(NotImplementedError, match="include_overlap_info"):
        of.get_df_kernel_launchers_unique_args(launchers, include_overlapping_kernels=True)


def test_launchers_as_events(analyzer: compat.TreePerfAnalyzer, launchers: pandas.DataFrame) -> None:
    computing = analyzer.get_kernel_launchers()
    everything = analyzer.get_kernel_launchers(include_nccl=True)
    assert len(everything) == launchers["UID"].nunique() > len(computing)
    assert sum(event[DIRECT] for event in everything) == pytest.approx(launchers[DIRECT].sum())
    first = analyzer.tree.get_UID2event(everything[0]["UID"])
    assert first is everything[0] and first["op category"] and first["direct_kernel_count"] == len(first["kernel_details"])


def test_figures_have_the_values_of_the_sheet(analyzer: compat.TreePerfAnalyzer, trace: tl.Trace) -> None:
    names = compat.build_sheet_category_to_op_names(compat.op_to_perf_model_class_map)["GEMM"]
    events = [event for event in analyzer.tree.events if event["name"] in names]
    metrics = analyzer.build_df_perf_metrics(
        events, non_data_mov=True, include_kernel_details=True, include_args=True, args_cols=["Sequence number"]
    )
    assert len(metrics) == len(events) and {"param: M", "kernel_details", "args"} <= set(metrics.columns)
    assert (metrics["Non-Data-Mov Kernel Time (µs)"] <= metrics["Kernel Time (µs)"]).all()
    sheet = trace.table("unified_perf_summary").to_pandas().set_index("ex_UID")
    ours = metrics.set_index("UID")
    shared = sheet.index.intersection(ours.index)
    assert len(shared) > 3
    assert list(ours["GFLOPS"][shared]) == pytest.approx(list(sheet["GFLOPS"][shared]))
    assert list(ours["Data Moved (MB)"][shared]) == pytest.approx(list(sheet["Data Moved (MB)"][shared]))
    summary = analyzer.summarize_df_perf_metrics(metrics, ["mean", "max"], group_by_num_kernels=True)
    assert summary["Kernel Time (µs)_sum"].sum() == pytest.approx(metrics["Kernel Time (µs)"].sum())
    assert summary["name_count"].sum() == len(metrics) and "TFLOPS/s_max" in summary.columns
    one = analyzer.compute_perf_metrics(events[0])
    assert one["GFLOPS"] * 1e3 / one["Kernel Time (µs)"] == pytest.approx(one["TFLOPS/s"])
    assert one["param: M"] == metrics["param: M"][0]


def test_figures_of_backward_work(analyzer: compat.TreePerfAnalyzer) -> None:
    forward = [event for event in analyzer.tree.events if event["name"] == "aten::layer_norm" or "bwd_events" in event]
    linked = [event for event in forward if "bwd_events" in event]
    assert linked
    with pytest.warns(UserWarning, match="calls have no figures"):
        metrics = analyzer.build_df_perf_metrics(linked, bwd=True)
    assert (metrics["Kernel Time (µs)"] > 0).all()
    for event in linked:
        assert analyzer.tree.get_UID2event(event["bwd_events"][0])["fwd_event"] == event["UID"]


def test_calls_without_a_model_say_so(analyzer: compat.TreePerfAnalyzer) -> None:
    kernel = next(event for event in analyzer.tree.events if event["cat"] == "cuda_runtime")
    with pytest.raises(ValueError, match="no figures of"):
        analyzer.compute_perf_metrics(kernel)
    with pytest.warns(UserWarning, match="1 calls have no figures"):
        assert analyzer.build_df_perf_metrics([kernel]).empty
    with pytest.raises(NotImplementedError, match="perf_model_class"):
        analyzer.compute_perf_metrics(kernel, perf_model_class=object)


def test_the_timeline_is_that_of_the_sheet(analyzer: compat.TreePerfAnalyzer, trace: tl.Trace) -> None:
    timeline = analyzer.get_df_gpu_timeline().set_index("type")
    sheet = trace.table("gpu_timeline").to_pandas().set_index("type")
    assert dict(timeline["time ms"]) == pytest.approx({kind: sheet["time ms"][kind] for kind in timeline.index})
    split = analyzer.get_df_gpu_timeline(micro_idle_thresh_us=10, gpu_pid=0).set_index("type")["time ms"]
    assert split["micro_idle_time"] + split["macro_idle_time"] == pytest.approx(timeline["time ms"]["idle_time"])
    with pytest.raises(ValueError, match="No GPU events"):
        analyzer.get_df_gpu_timeline(gpu_pid=99)


def test_times_of_chosen_events(analyzer: compat.TreePerfAnalyzer) -> None:
    device = compat.GPUEventAnalyser(analyzer.tree.events)
    times = device.compute_metrics()
    parts = ("computation_time", "exposed_comm_time", "exposed_memcpy_time", "idle_time")
    assert sum(times[part] for part in parts) == pytest.approx(times["total_time"])
    copies = device.compute_metrics(event_filter=lambda event: event["cat"] == "gpu_memcpy")
    assert copies["computation_time"] == 0 and copies["busy_time"] == copies["total_memcpy_time"]
    frame = device.get_breakdown_df(micro_idle_thresh_us=10, gpu_pid=0)
    assert list(frame.columns) == ["type", "time ms", "percent"] and "micro_idle_time" in set(frame["type"])
    file = compat.DataLoader.load_data(TRAINING)["traceEvents"]
    assert compat.GPUEventAnalyser(file).compute_metrics() == pytest.approx(times)
    with pytest.raises(ValueError, match="No GPU events"):
        compat.GPUEventAnalyser([]).compute_metrics()


def test_intervals_that_touch_become_one() -> None:
    assert compat.merge_intervals([]) == []
    assert compat.merge_intervals([(20, 30), (0, 10), (10, 15), (2, 3)]) == [(0, 15), (20, 30)]
    assert compat.GPUEventAnalyser.merge_intervals([(0, 1)]) == [(0, 1)]


def test_files_of_events_are_json(tmp_path: Path) -> None:
    plain = tmp_path / "t.json"
    plain.write_text('{"traceEvents": []}')
    assert compat.DataLoader.load_data(plain) == {"traceEvents": []}
    with pytest.raises(ValueError, match="Unknown file type"):
        compat.DataLoader.load_data("t.csv")
    with pytest.raises(NotImplementedError, match="pytracelens.read"):
        compat.DataLoader.load_data("host.xplane.pb")
    with pytest.raises(NotImplementedError, match="save_preprocessed"):
        compat.DataLoader.load_data(plain, save_preprocessed=True)


def test_events_are_those_of_the_file(analyzer: compat.TreePerfAnalyzer) -> None:
    file = compat.DataLoader.load_data(TRAINING)["traceEvents"]
    events = analyzer.tree.events
    assert len(events) == len(list(events)) and events[-1] is events[len(events) - 1]
    assert [event["UID"] for event in events[:3]] == sorted(event["UID"] for event in events[:3])
    checked = ["External id", "correlation", "stream", "device", "Input Dims", "Input type", "Input Strides"]
    checked += ["Concrete Inputs", "grid", "block", "Python id", "Sequence number", "bytes", "Collective name"]
    seen = set()
    for event in events:
        recorded = file[event["UID"]]
        for key in ("ph", "name", "pid", "tid", "dur"):
            assert event.get(key) == recorded.get(key), (key, recorded)
        assert event["cat"] == recorded.get("cat", "")
        assert event["ts"] == pytest.approx(recorded["ts"], abs=1e-3)
        arguments = recorded.get("args", {})
        for key in checked:
            assert event["args"].get(key) == arguments.get(key), (key, recorded)
        seen |= set(event["args"])
    assert set(checked) <= seen


def test_the_tree_is_one(analyzer: compat.TreePerfAnalyzer, capsys: pytest.CaptureFixture[str]) -> None:
    tree = analyzer.tree
    placed = [event for event in tree.events if event.get("tree")]
    roots = [event for event in placed if "parent" not in event]
    reached = set()
    stack = list(roots)
    while stack:
        event = stack.pop()
        reached.add(event["UID"])
        children = tree.get_children_events(event)
        assert all(tree.get_parent_event(child) is event for child in children)
        stack += children
    assert reached == {event["UID"] for event in placed}
    root = max(roots, key=lambda event: event["dur"])
    assert tree.get_parent_event(root) is None
    kernels = tree.get_gpu_events(root)
    assert kernels and all(kernel["cat"] in ("kernel", "gpu_memcpy", "gpu_memset") for kernel in kernels)
    assert tree.traverse_parents_and_print(kernels[0], cpu_op_fields=["Input Dims"]) is root
    assert "1-up:" in capsys.readouterr().out
    backward = next(event for event in placed if "fwd_event" in event)
    tree.traverse_parents_and_print(backward, follow_fwd_link=True)
    tree.traverse_subtree_and_print(root, prune_non_gpu=False, cpu_op_fields=("Input Dims",), include_bwd=True)
    printed = capsys.readouterr().out
    assert f"UID: {root['UID']}, Category: {root['cat']}" in printed and "Input Dims: [[" in printed
    with pytest.raises(tl.TraceError, match="Input Dims"):
        tree.traverse_subtree_and_print(root, cpu_op_fields=["Input Dim"])
    assert tree.cpu_root_nodes and tree.events_by_uid[root["UID"]] is root
    with pytest.raises(KeyError):
        tree.get_UID2event(10**9)


def test_what_is_written_into_events_stays() -> None:
    tree = compat.TreePerfAnalyzer.from_file(TRAINING).tree
    uids = [event["UID"] for event in tree.events[:8]]
    tree.get_UID2event(uids[0])["GPU Time"] = 3
    tree.get_UID2event(uids[1]).update({"a": 1}, b=2)
    assert tree.get_UID2event(uids[2]).setdefault("c", 4) == 4
    tree.get_UID2event(uids[3]).pop("name")
    del tree.get_UID2event(uids[4])["args"]
    event = tree.get_UID2event(uids[5])
    event |= {"d": 5}
    copied = copy.deepcopy(event)
    copied["d"] = 6
    assert type(pickle.loads(pickle.dumps(event))) is dict
    del event
    gc.collect()
    found = {event["UID"]: event for event in tree.events}
    assert found[uids[0]]["GPU Time"] == 3 and (found[uids[1]]["a"], found[uids[1]]["b"]) == (1, 2)
    assert found[uids[2]]["c"] == 4 and "name" not in found[uids[3]] and "args" not in found[uids[4]]
    assert found[uids[5]]["d"] == 5 and "GPU Time" not in found[uids[6]]


def test_events_have_the_rest_when_they_are_asked_for_it() -> None:
    tree = compat.TreePerfAnalyzer.from_file(TRAINING, add_python_func=True).tree

    def event() -> compat.Event:
        return next(event for event in tree.events if event["name"] == "aten::addmm")

    whole = dict(event())
    assert {"args", "children", "gpu_events", "parent", "tree"} <= whole.keys()
    assert event()["args"] == whole["args"] and event().get("children") == whole["children"]
    assert "parent" in event() and "colour" not in event() and event().get("colour", 3) == 3
    assert len(event()) == len(whole) and list(event()) == list(whole) and event() == whole and whole == event()
    assert {**event()} == whole and dict(event().items()) == whole and json.loads(json.dumps(event())) == whole
    assert pprint.pformat(event()) == pprint.pformat(whole)
    assert repr(event()) == repr(whole) and event().copy() == whole and event() | {} == {} | event() == whole
    assert list(pandas.DataFrame([event()]).columns) == list(whole)
    with pytest.raises(KeyError, match="colour"):
        event()["colour"]
    looked_at = list(tree.events)
    assert sum(event["name"] == "aten::addmm" and event.get("cat") == "cpu_op" for event in looked_at) > 0
    # A pass over names makes nothing else of the events.
    assert not any(event._is_whole for event in looked_at)
    del looked_at
    kept = event()
    assert event() is kept and tree.events[0] is not kept
    kept["dur"] = -1
    assert kept["args"] == whole["args"] and kept["dur"] == -1


def test_kernels_are_numbered_on_their_stream(analyzer: compat.TreePerfAnalyzer) -> None:
    streams: dict[tuple[int, int], list[compat.Event]] = {}
    for event in analyzer.tree.events:
        arguments = event["args"]
        assert ("stream_index" in arguments) == (arguments.get("stream") is not None)
        if "stream_index" in arguments:
            streams.setdefault((arguments["device"], arguments["stream"]), []).append(event)
    assert len(streams) > 1
    for events in streams.values():
        events.sort(key=lambda event: event["args"]["stream_index"])
        assert [event["args"]["stream_index"] for event in events] == list(range(len(events)))
        assert all(one["ts"] <= other["ts"] for one, other in zip(events, events[1:]))


def test_models_need_no_trace() -> None:
    assert compat.GEMM.flops_func(40960, 6144, 1536, False) == 773094113280
    assert compat.GEMM.bytes_func(40960, 6144, 1536, False, 2, 2, 2, 2) == 648019968
    assert compat.GEMM.bytes_func(8, 8, 8, True, 2, 2, None, 2) is None
    model = tl.model("gemm", m=64, n=32, k=16, dtype="fp16", bias=True)
    assert compat.GEMM.flops_func(64, 32, 16, True) == model["flops"]
    assert compat.GEMM.bytes_func(64, 32, 16, True, 2, 2, 2, 2) == model["bytes"]
    sizes = (1, 4096, 64, 4096, 8, 128, 128)
    causal, full = compat.SDPA.flops_func(*sizes, True), compat.SDPA.flops_func(*sizes, False)
    assert full == 4 * 64 * 4096**2 * 128 and 0.5 * full <= causal < 0.51 * full
    assert compat.SDPA.bytes_func(*sizes, True, 2) == 2 * 4096 * 128 * 2 * (64 + 8)
    assert compat.SDPA.flops_bwd_func(*sizes, False, flash_impl=True) == pytest.approx(2.5 * full, rel=1e-4)
    assert compat.SDPA.bytes_bwd_func(*sizes, True, 2) > compat.SDPA.bytes_func(*sizes, True, 2)
    with pytest.raises(ValueError, match="1, 2, 4 or 8 bytes"):
        compat.SDPA.bytes_func(*sizes, True, 3)


def test_an_architecture_may_say_little() -> None:
    analyzer = compat.TreePerfAnalyzer.from_file(TRAINING, arch={"num_cus": 304})
    mm = next(event for event in analyzer.tree.events if event["name"] == "aten::mm")
    assert analyzer.compute_perf_metrics(mm)["GFLOPS"] > 0


def test_collectives_of_a_job(tmp_path: Path) -> None:
    text = gzip.decompress(TRAINING.read_bytes())
    paths = [tmp_path / f"rank{rank}.json" for rank in range(2)]
    for rank, path in enumerate(paths):
        document = json.loads(text)
        document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
        path.write_text(json.dumps(document))
    job = compat.NcclAnalyser([str(path) for path in paths], 2)
    long = job.build_df_long()
    assert set(long["rank"]) == {0, 1} and {"Collective name", "dur", "collective_id"} <= set(long.columns)
    plain, detailed = job.build_df_nccl_implicit_sync_cat(), job.build_df_nccl_implicit_sync_cat(detailed=True)
    assert len(plain) == len(detailed) > 0 and "comm_latency" in plain.columns
    assert {"rank_0_ts", "rank_1_ts"} <= set(detailed.columns) - set(plain.columns)
    summary = job.build_df_summary_nccl_implicit_sync_cat(agg_metrics=["mean"])
    assert summary["count"].sum() == len(plain) and "comm_latency_mean" in summary.columns
    assert not [name for name in summary.columns if name.endswith(("_std", "_median", "_min", "_max"))]
    assert "comm_latency_std" in job.build_df_summary_nccl_implicit_sync_cat().columns
    assert job.build_df_nccl_all2allv().empty and job.build_df_summary_nccl_all2allv().empty
    assert len(job.build_df_summary_long()) > 0
    with pytest.raises(ValueError, match="'most' is no statistic"):
        job.build_df_summary_nccl_implicit_sync_cat(agg_metrics=["most"])
    with pytest.raises(ValueError, match="2 recordings are not those of 8 ranks"):
        compat.NcclAnalyser(paths, 8)
    with pytest.raises(NotImplementedError, match="max_workers"):
        compat.NcclAnalyser(paths, 2, max_workers=4)


def test_two_trees_are_aligned(analyzer: compat.TreePerfAnalyzer, tmp_path: Path) -> None:
    one = compat.TreePerfAnalyzer.from_file(TRAINING).tree
    other = compat.TreePerfAnalyzer.from_file(TESTDATA / "generated/rocm_training_step.json.gz").tree
    diff = compat.TraceDiff(one, other)
    diff.generate_tracediff_report()
    stats = diff.diff_stats_df
    assert {"name", "cpu_op_name", "source", "kernel_time", "lowest_common_ancestor_name"} <= set(stats.columns)
    assert set(stats["source"]) == {"trace1", "trace2"}
    for summary in (diff.diff_stats_unique_args_summary_df, diff.diff_stats_names_summary_df):
        assert summary["kernel_time_sum"].sum() == pytest.approx(stats["kernel_time"].sum())
        assert summary["num_kernels"].sum() == len(stats) > len(summary)
    mm = next(event for event in one.events if event["name"] == "aten::mm")
    mate = diff.get_corresponding_uid(1, mm["UID"])
    assert diff.variant.get_UID2event(mate)["name"] == "aten::mm" and diff.get_corresponding_uid(2, mate) == mm["UID"]
    assert diff.get_corresponding_uid(1, 10**9) == -1
    with pytest.raises(ValueError, match="1 and 2, not 3"):
        diff.get_corresponding_uid(3, 0)
    texts = []
    for is_pruned in (False, True):
        folder = tmp_path / str(is_pruned)
        diff.print_tracediff_report_files(folder, prune_non_gpu=is_pruned)
        texts.append((folder / "merged_tree_output.txt").read_text("utf-8"))
        assert len(pandas.read_csv(folder / "diff_stats.csv")) == len(stats)
    # All nodes of the merged tree have device work.
    assert "aten::mm" in texts[0] and "(0.000 | 0.000 µs)" not in texts[0] and texts[0] == texts[1]
    same = compat.TraceDiff(one, one)
    assert same.diff_stats_df.empty and same.diff_stats_names_summary_df.empty


def test_modules(analyzer: compat.TreePerfAnalyzer) -> None:
    tree = analyzer.tree
    modules = [event for event in tree.events if event["name"].startswith("nn.Module:")]
    outer = next(event for event in modules if tree.get_nn_module_parent(event) is None)
    children = tree.get_nn_module_children(outer)
    assert children and all(tree.get_nn_module_parent(tree.get_UID2event(uid)) == outer["UID"] for uid in children)
    assert analyzer.build_nn_module_latency_tree(outer) is None
    kernels = compat.GPUEventAnalyser(tree.get_gpu_events(outer)).compute_metrics()
    assert outer["GPU Time"] == pytest.approx(kernels["busy_time"])
    child = tree.get_UID2event(children[0])
    assert child["nn Parent GPU Time"] == outer["GPU Time"] and child["GPU Time"] <= outer["GPU Time"]
    without = compat.TreePerfAnalyzer.from_file(TRAINING)
    with pytest.raises(ValueError, match="add_python_func"):
        without.tree.get_nn_module_children(without.tree.events[0])


def test_options_of_an_analysis() -> None:
    parity = compat.TreePerfAnalyzer.from_file(TRAINING, parity=True, detect_recompute=True, enable_pseudo_ops=True)
    launchers = parity.get_df_kernel_launchers()
    assert launchers["UID"].is_unique and "is_recompute" in launchers.columns
    assert "communication" not in set(launchers["op category"])
    assert "is_recompute" in parity.get_df_gpu_timeline().columns
    with pytest.raises(NotImplementedError, match="parity=False"):
        parity.get_kernel_launchers(include_nccl=True)
    slow = {"name": "slow", "mem_bw_gbps": 100.0, "max_achievable_tflops": {"matrix_bf16": 10.0}}
    given = compat.TreePerfAnalyzer.from_file(TRAINING, arch=slow)
    mm = next(event for event in given.tree.events if event["name"] == "aten::mm")
    assert given.compute_perf_metrics(mm)["Pct Roofline"] > 100
    with pytest.raises(tl.TraceError, match="choose one of"):
        compat.TreePerfAnalyzer.from_file(TRAINING, arch="abacus")
    with pytest.raises(NotImplementedError, match="pytracelens.read"):
        compat.TreePerfAnalyzer.from_file(TRAINING, jax=True)
    with pytest.raises(TypeError):
        compat.TreePerfAnalyzer.from_file(TRAINING, colour="red")  # type: ignore[call-arg]


def test_the_report_is_a_dictionary_of_frames(trace: tl.Trace, tmp_path: Path) -> None:
    book, folder = tmp_path / "r.xlsx", tmp_path / "sheets.d"
    frames = compat.generate_perf_report_pytorch(
        TRAINING,
        output_xlsx_path=book,
        output_csvs_dir=folder,
        kernel_summary=True,
        short_kernel_study=True,
        topk_ops=5,
        micro_idle_thresh_us=10,
        gpu_arch_platform="H100",
    )
    sums = frames["ops_summary"][f"{DIRECT}_ms"].sum()
    assert sums == pytest.approx(trace.table("ops_summary").to_pandas()[f"{DIRECT}_ms"].sum())
    assert {"kernel_summary", "unified_perf_summary", "GEMM"} <= set(frames)
    assert "micro_idle_time" in set(frames["gpu_timeline"]["type"])
    assert book.exists() and (folder / "ops_summary.csv").exists()
    assert "coll_analysis" not in compat.generate_perf_report_pytorch(TRAINING, collective_analysis=False)
    with pytest.raises(TypeError, match="colour"):
        compat.generate_perf_report_pytorch(TRAINING, colour="red")  # type: ignore[call-arg]
    with pytest.raises(NotImplementedError, match="pytracelens.diff"):
        compat.generate_perf_report_pytorch(TRAINING, comparison_json_path=TRAINING)
    with pytest.raises(ValueError, match="at most one"):
        compat.generate_perf_report_pytorch(TRAINING, gpu_arch_platform="H100", gpu_arch_json_path="a.json")


@pytest.mark.parametrize(
    ("of", "instead"),
    [
        (compat.JaxNcclAnalyser, "pytracelens.read_many"),
        (compat.JaxTreePerfAnalyzer, "pytracelens.read"),
        (compat.TraceFuse, "tracelens fuse"),
        (compat.EventReplayer, "tracelens replay"),
    ],
)
def test_classes_of_other_calls_name_these(of: type, instead: str) -> None:
    with pytest.raises(NotImplementedError, match=instead):
        of("a", b=1)


def test_pandas_is_asked_for_where_it_is_missing(analyzer: compat.TreePerfAnalyzer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        analyzer.get_df_kernel_launchers()
