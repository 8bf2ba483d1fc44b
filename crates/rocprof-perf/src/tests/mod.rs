//! The sheets of kernels and of timelines, of profiles by hand.

mod conservation;
mod kernels;
mod pftrace;
mod records;
mod timelines;

use operator_sheets::KernelOptions;
use sheets::{Layout, Scope};
use trace_ingest::rocprof::CopyDirection::HostToDevice;

use crate::conventions::{
    Conventions, Cumulation, KernelCategories, LaunchRule, OverlapRule, Processes, TimeUnits, TimelineRule,
};
use crate::fixture::{Recorded, built, headers};
use crate::{RocprofNotice, RocprofOptions, rocprof_notices, rocprof_sheets};

/// The conventions that differ from ours in every rule: those of TraceLens.
const THEIRS: Conventions = Conventions {
    scope: Scope::Core,
    layout: Layout::Listed,
    categories: KernelCategories::Short,
    units: TimeUnits::AThousandthBelow,
    processes: Processes::First,
    cumulation: Cumulation::AsFound,
    overlap: OverlapRule::Pairs,
    launches: LaunchRule::Number,
    timeline: TimelineRule::Processes,
    unknown_agent: Some("0"),
};

/// Ours, with their categories of kernels.
fn with_short_categories() -> Conventions {
    Conventions { categories: KernelCategories::Short, ..Conventions::default() }
}

fn reference() -> RocprofOptions {
    RocprofOptions { conventions: THEIRS, ..everything() }
}

fn everything() -> RocprofOptions {
    RocprofOptions {
        kernels: KernelOptions { kernel_details: true, short_kernel_study: true, ..KernelOptions::default() },
        ..RocprofOptions::default()
    }
}

/// Six runs of kernels that are named in every way, one of a kernel that the file does not describe, and a copy.
fn small(times: Option<(i64, i64)>) -> Recorded {
    let mut recorded = Recorded::new(times);
    let gemm = recorded.kernel(1, [None, None, Some("a_gemm")]);
    let reduce = recorded.kernel(2, [None, Some("reduce<float>"), Some("")]);
    let raw = recorded.kernel(3, [Some("raw.kd"), None, None]);
    let empty = recorded.kernel(4, [Some(""), None, None]);
    let unknown = recorded.kernel(9, [None, None, None]);
    for (kernel, start, end) in [
        (gemm, 100, 105),
        (reduce, 103, 110),
        (raw, 200, 205),
        (unknown, 300, 305),
        (gemm, 400, 408),
        (empty, 500, 503),
    ] {
        recorded.dispatch(kernel, None, start, end);
    }
    recorded.copy(HostToDevice, [None, None], 90, 101);
    recorded
}

#[test]
fn sheets_that_were_not_asked_for_are_left_out() {
    let options = RocprofOptions { disable_kernel_summary: true, ..RocprofOptions::default() };
    let analysis = small(Some((0, 1000))).analyse(options);
    for sheet in [
        "kernel_summary",
        "kernel_summary_by_category",
        "kernel_details",
        "short_kernels_summary",
        "short_kernel_histogram",
    ] {
        assert!(built(&analysis, sheet).is_none(), "{sheet}");
    }
    assert!(built(&analysis, "gpu_timeline").is_some());
}

#[test]
fn a_profile_without_kernels_has_headers_and_a_list_of_what_to_check() {
    let full = small(Some((0, 1000))).analyse(everything());
    for options in [everything(), reference()] {
        let analysis = Recorded::new(Some((0, 1000))).analyse(options);
        for sheet in [
            "gpu_timeline",
            "kernel_summary",
            "kernel_summary_by_category",
            "kernel_details",
            "short_kernels_summary",
            "short_kernel_histogram",
        ] {
            let frame = built(&analysis, sheet).unwrap();
            assert_eq!(frame.height(), 0, "{sheet}");
            assert_eq!(headers(&frame), headers(&built(&full, sheet).unwrap()), "{sheet}");
        }
        assert!(built(&analysis, "gpu_timeline_by_agent").is_none());
        let notices = rocprof_notices(&analysis);
        assert!(notices.contains(&RocprofNotice::NoKernels), "{notices:?}");
    }
    let help = miette::Diagnostic::help(&RocprofNotice::NoKernels).unwrap().to_string();
    assert!(help.contains("--kernel-trace"), "{help}");
}

#[test]
fn names_of_sheets_fit_a_workbook_and_differ_as_their_columns_do() {
    let sheets = rocprof_sheets();
    for (position, sheet) in sheets.iter().enumerate() {
        assert!(sheet.name.len() <= 31, "{}", sheet.name);
        assert!(sheets[..position].iter().all(|other| other.name != sheet.name), "{}", sheet.name);
        for (place, column) in sheet.columns.iter().enumerate() {
            let is_new = sheet.columns[..place].iter().all(|other| other.name != column.name);
            assert!(is_new, "{}: {}", sheet.name, column.name);
        }
    }
}
