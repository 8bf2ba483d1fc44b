//! Traces that lack a part: which sheets they have.

use operator_sheets::KernelOptions;
use trace_ingest::Category;
use tree_perf::{Analysis, AnalysisOptions, Conventions, UnlinkedRule, pytorch_sheets};

use crate::common::{Table, conventions};
use crate::fixture::{Analysed, Fixture};

/// Every sheet that can be asked for.
pub(crate) fn everything() -> AnalysisOptions {
    AnalysisOptions {
        detect_recompute: true,
        include_call_stack: true,
        include_overlap_info: true,
        include_first_occurrence_time: true,
        group_by_num_kernels: true,
        kernel_summary: true,
        kernels: KernelOptions { short_kernel_study: true, ..KernelOptions::default() },
        ..AnalysisOptions::default()
    }
}

/// `sheet: rows` of the sheets that are not left out.
pub(crate) fn sheets(analysis: &Analysis) -> Vec<String> {
    pytorch_sheets()
        .iter()
        .filter_map(|sheet| {
            let table = Table::build(analysis, &sheet.name)?;
            Some(format!("{}: {}", sheet.name, table.rows.len()))
        })
        .collect()
}

#[test]
fn a_trace_of_device_events_alone_has_the_sheets_of_the_device() {
    let mut fixture = Fixture::new();
    fixture.launches(0.0, &[("a", 7, 1000.0, 20.0), ("ncclDevKernel", 8, 1000.0, 5.0)]);
    let analysis = fixture.analyse(everything());
    assert!(analysis.is_gpu_only());
    let expected = [
        "gpu_timeline: 8",
        "time_budget: 1",
        "ops_summary_by_category: 2",
        "kernel_summary: 2",
        "short_kernels_histogram: 100",
        "short_kernels_all_details: 1",
        "coll_analysis: 1",
    ];
    assert_eq!(sheets(&analysis), expected);
}

#[test]
fn one_operator_makes_a_trace_more_than_device_events() {
    let mut fixture = Fixture::new();
    fixture.op("aten::mm", (0.0, 1.0));
    assert!(!fixture.analyse(everything()).is_gpu_only());
}

#[test]
fn a_trace_without_linked_work_has_no_operator_sheets() {
    let mut fixture = Fixture::new();
    fixture.op("aten::mm", (0.0, 10.0));
    fixture.unlinked(("gemm", 7, 1000.0, 20.0));
    let analysis = fixture.analyse(everything());
    let expected = [
        "gpu_timeline: 8",
        "ops_summary_by_category: 1",
        "host_ops: 1",
        "coverage: 1",
        "kernel_summary: 1",
        "short_kernels_histogram: 0",
        "short_kernels_all_details: 0",
    ];
    assert_eq!(sheets(&analysis), expected);
    let conventions = Conventions { unlinked: UnlinkedRule::LeftOut, ..Conventions::default() };
    let theirs = Analysis::from_tree(
        analysis.tree().clone(),
        AnalysisOptions { conventions, ..AnalysisOptions::default() },
    );
    assert_eq!((analysis.timeline().map(|all| all.busy), theirs.timeline()), (Some(20_000), None));
}

#[test]
fn a_trace_that_only_communicates_has_operator_sheets_but_not_as_tracelens_has_them() {
    for (are_theirs, expected) in [
        (
            true,
            &[
                "gpu_timeline: 8",
                "coverage: 1",
                "kernel_summary: 1",
                "short_kernels_histogram: 0",
                "short_kernels_all_details: 0",
                "coll_analysis: 1",
            ][..],
        ),
        (
            false,
            &[
                "gpu_timeline: 8",
                "time_budget: 1",
                "ops_summary_by_category: 1",
                "ops_summary: 1",
                "ops_all: 1",
                "ops_all_kl_overlap: 1",
                "unified_perf_summary: 1",
                "unified_perf_summary_kl_overlap: 1",
                "coverage: 1",
                "kernel_summary: 1",
                "short_kernels_histogram: 0",
                "short_kernels_all_details: 0",
                "coll_analysis: 1",
            ],
        ),
    ] {
        let mut fixture = Fixture::new();
        fixture.call("c10d::allreduce_", 0.0, &[("ncclDevKernel_AllReduce", 7, 1000.0, 20.0)]);
        assert_eq!(
            sheets(
                &fixture.analyse(AnalysisOptions { conventions: conventions(are_theirs), ..everything() })
            ),
            expected
        );
    }
}

#[test]
fn a_trace_without_device_events_has_empty_sheets() {
    let mut host_only = Fixture::new();
    host_only.op("aten::mm", (0.0, 10.0));
    let of_devices = ["short_kernels_histogram: 0", "short_kernels_all_details: 0"];
    assert_eq!(sheets(&Fixture::new().analyse(everything())), of_devices);
    let of_host = ["ops_summary_by_category: 1", "ops_summary: 1", "host_ops: 1", "unified_perf_summary: 1"];
    assert_eq!(sheets(&host_only.analyse(everything())), [&of_host[..], &of_devices].concat());
}

#[test]
fn launches_without_operators_are_no_operators() {
    // Calls, graph launches and annotations, but no operator anywhere: the trace is one of the device alone.
    let mut fixture = Fixture::new();
    fixture.launch("hipGraphLaunch", (0.0, 5.0), 90);
    fixture.device(Category::KERNEL, ("g1", 7, 1000.0, 4.0), 90);
    fixture.device(Category::GPU_MEMCPY, ("Memcpy DtoH", 7, 1010.0, 3.0), 90);
    fixture.unlinked(("g2", 7, 1020.0, 5.0));
    fixture.annotation("step", 1, (0.0, 50.0));
    let analysis = fixture.analyse(everything());
    assert!(analysis.is_gpu_only());
    let expected = [
        "gpu_timeline: 8",
        "time_budget: 1",
        "gpu_gap_causes: 2",
        "ops_summary_by_category: 2",
        "kernel_summary: 2",
        "short_kernels_histogram: 100",
        "short_kernels_all_details: 2",
    ];
    assert_eq!(sheets(&analysis), expected);
    let columns = "Kernel name | Parent op category | Linked";
    assert_eq!(
        Table::of_sheet(&analysis, "kernel_summary").select(columns),
        ["g2 | - | False", "g1 | other | True"]
    );
}
