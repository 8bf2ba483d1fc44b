//! `marker_ranges`.

use trace_ingest::rocprof::{Call, Dispatch, Domain, Profile};

use super::{assert_rows, call, dispatch, profile, table};

const COLUMNS: [&str; 7] =
    ["name", "Count", "Total Time (ms)", "Kernels", "Kernel Time (ms)", "GPU Busy Time (ms)", "kernels_by"];

fn add(profile: &mut Profile, domain: Domain, name: &str, span: (i64, i64), correlation: u64) {
    let call = call(profile, domain, name, span, correlation);
    profile.calls.push(call);
}

/// A step with a forward range inside, another step, and a mark.
fn with_ranges() -> Profile {
    let mut profile = profile();
    add(&mut profile, Domain::Marker, "step", (0, 10_000), 1);
    add(&mut profile, Domain::Marker, "forward", (1_000, 3_000), 2);
    add(&mut profile, Domain::Marker, "step", (10_000, 20_000), 3);
    add(&mut profile, Domain::Marker, "here", (500, 500), 4);
    profile
}

#[test]
fn kernels_belong_to_the_ranges_that_their_launch_lies_in() {
    let mut profile = with_ranges();
    add(&mut profile, Domain::Hip, "hipLaunchKernel", (1_500, 1_600), 11);
    add(&mut profile, Domain::Hip, "hipLaunchKernel", (2_900, 3_100), 12);
    add(&mut profile, Domain::Hip, "hipLaunchKernel", (30_000, 30_100), 13);
    // They run long after the ranges, the first two for 3 µs each with 1 µs in common.
    profile.dispatches = vec![
        dispatch(0, 40_000, 43_000, 11),
        dispatch(1, 42_000, 45_000, 12),
        dispatch(1, 50_000, 51_000, 13),
        dispatch(1, 60_000, 61_000, 99),
    ];
    assert_rows(
        &table(profile, "marker_ranges").unwrap(),
        &COLUMNS,
        &[
            &["step", "2", "0.02", "2", "0.006", "0.005", "launch"],
            &["forward", "1", "0.002", "1", "0.003", "0.003", "launch"],
            &["here", "1", "0", "0", "0", "0", "launch"],
        ],
    );
}

#[test]
fn launches_of_other_threads_and_processes_are_not_in_a_range() {
    let mut profile = with_ranges();
    for (thread, process, correlation) in [(8, 0, 11), (7, 1, 12), (7, 0, 13)] {
        let launch = call(&mut profile, Domain::Hip, "hipLaunchKernel", (1_500, 1_600), correlation);
        profile.calls.push(Call { thread, process, ..launch });
        let kernel = dispatch(0, 5_000, 6_000, correlation);
        profile.dispatches.push(Dispatch { process, ..kernel });
    }
    let table = table(profile, "marker_ranges").unwrap();
    assert_rows(&table, &["name", "Kernels"], &[&["step", "1"], &["forward", "1"], &["here", "0"]]);
}

#[test]
fn a_kernel_in_nested_ranges_of_one_text_counts_once() {
    let mut profile = profile();
    add(&mut profile, Domain::Marker, "recurse", (0, 10_000), 1);
    add(&mut profile, Domain::Marker, "recurse", (1_000, 9_000), 2);
    add(&mut profile, Domain::Hip, "hipLaunchKernel", (2_000, 2_100), 3);
    profile.dispatches = vec![dispatch(0, 5_000, 6_000, 3)];
    let row: &[&str] = &["recurse", "2", "0.018", "1", "0.001", "0.001", "launch"];
    assert_rows(&table(profile, "marker_ranges").unwrap(), &COLUMNS, &[row]);
}

#[test]
fn without_calls_kernels_belong_to_the_ranges_that_they_run_in() {
    let mut profile = with_ranges();
    // The first from the first step into the second; the second in forward; one of another process; one outside.
    profile.dispatches = vec![
        dispatch(0, 8_000, 13_000, 0),
        dispatch(1, 2_000, 5_000, 0),
        Dispatch { process: 1, ..dispatch(2, 2_000, 5_000, 0) },
        dispatch(1, 20_000, 30_000, 0),
    ];
    assert_rows(
        &table(profile, "marker_ranges").unwrap(),
        &COLUMNS,
        &[
            &["step", "2", "0.02", "2", "0.008", "0.008", "time"],
            &["forward", "1", "0.002", "1", "0.001", "0.001", "time"],
            &["here", "1", "0", "0", "0", "0", "time"],
        ],
    );
}

#[test]
fn a_kernel_that_reaches_into_several_ranges_counts_once_by_time() {
    let mut profile = profile();
    for span in [(0, 1_000), (2_000, 3_000), (5_000, 6_000)] {
        add(&mut profile, Domain::Marker, "phase", span, 0);
    }
    // The long one covers all of the ranges; the short ones lie in the first, in the second, and between.
    profile.dispatches = vec![
        dispatch(0, 0, 10_000, 0),
        dispatch(1, 100, 200, 0),
        dispatch(1, 2_500, 2_600, 0),
        dispatch(1, 3_000, 4_000, 0),
    ];
    let row: &[&str] = &["phase", "3", "0.003", "3", "0.0032", "0.003", "time"];
    assert_rows(&table(profile, "marker_ranges").unwrap(), &COLUMNS, &[row]);
}
