//! `api_summary`, `api_kernel_latency` and `marker_ranges`.

use trace_ingest::rocprof::{Call, CopyDirection, Dispatch, Domain, Profile};

use super::{assert_rows, call, copy, dispatch, profile, table};

const LATENCIES: &str = "function | name | Launches | Count | Launch Overhead Mean (µs) | \
    Queue Delay Mean (µs) | Start Latency Mean (µs) | GPU Time Mean (µs) | GPU Time Total (ms)";

/// Two launches, a call that sets nothing off, an HSA call and a marker.
fn with_calls() -> Profile {
    let mut profile = profile();
    for (domain, name, span, correlation) in [
        (Domain::Hip, "hipLaunchKernel", (1_000, 3_000), 1),
        (Domain::Hip, "hipLaunchKernel", (10_000, 14_000), 2),
        (Domain::Hip, "hipDeviceSynchronize", (20_000, 26_000), 3),
        (Domain::Hsa, "hsa_signal_store", (1_200, 1_300), 4),
        (Domain::Marker, "step", (0, 90_000), 1),
    ] {
        let call = call(&mut profile, domain, name, span, correlation);
        profile.calls.push(call);
    }
    // The second starts before its call returns.
    profile.dispatches = vec![dispatch(0, 5_000, 8_000, 1), dispatch(0, 13_000, 20_000, 2)];
    profile
}

#[test]
fn calls_are_counted_by_library_and_function() {
    let columns = "domain | function | Count | Total Time (ms) | Mean Time (µs) | Median Time (µs) | \
        Min Time (µs) | Max Time (µs) | Percentage (%) | Cumulative Percentage (%) | GPU Events | \
        GPU Time (ms)";
    // Both HIP functions took 6 µs: the name decides.
    assert_rows(
        &table(with_calls(), "api_summary").unwrap(),
        columns,
        &[
            "HIP | hipDeviceSynchronize | 1 | 0.006 | 6 | 6 | 6 | 6 | 50 | 50 | 0 | 0",
            "HIP | hipLaunchKernel | 2 | 0.006 | 3 | 3 | 2 | 4 | 50 | 100 | 2 | 0.01",
            "HSA | hsa_signal_store | 1 | 0.0001 | 0.1 | 0.1 | 0.1 | 0.1 | 100 | 100 | 0 | 0",
        ],
    );
    let columns = "function | Std Time (µs)";
    let std = 2.0_f64.sqrt().to_string();
    let rows = ["hipDeviceSynchronize | -", &format!("hipLaunchKernel | {std}"), "hsa_signal_store | -"];
    assert_rows(&table(with_calls(), "api_summary").unwrap(), columns, &rows);
}

#[test]
fn libraries_without_a_domain_go_by_the_profilers_name() {
    let mut profile = profile();
    for kind in ["OMPT", "KFD_QUEUE"] {
        let call = call(&mut profile, Domain::Other, "begin", (0, 1_000), 0);
        let kind = profile.strings.intern(kind);
        profile.calls.push(Call { kind, ..call });
    }
    assert_rows(
        &table(profile, "api_summary").unwrap(),
        "domain | function | Count | Percentage (%)",
        &["KFD_QUEUE | begin | 1 | 100", "OMPT | begin | 1 | 100"],
    );
}

#[test]
fn markers_alone_are_no_calls() {
    let mut profile = with_calls();
    profile.calls.retain(|call| call.domain == Domain::Marker);
    assert!(table(profile.clone(), "api_summary").is_none());
    assert!(table(profile, "api_kernel_latency").is_none());
}

#[test]
fn a_kernel_is_timed_from_its_launch() {
    // A: 2 and 4. Q: 2, and 0 for the kernel that began early. Start latency: 4 and 3. K: 3 and 7.
    let table = table(with_calls(), "api_kernel_latency").unwrap();
    assert_rows(&table, LATENCIES, &["hipLaunchKernel | gemm | 2 | 2 | 3 | 1 | 3.5 | 5 | 0.01"]);
    let columns = "event | Launch Overhead Median (µs) | Launch Overhead P95 (µs) | \
        Launch Overhead Max (µs) | Queue Delay P95 (µs) | Queue Delay Max (µs) | \
        Start Latency Median (µs) | GPU Time P95 (µs) | GPU Time Max (µs)";
    assert_rows(&table, columns, &["kernel | 3 | 3.9 | 4 | 1.9 | 2 | 3.5 | 6.8 | 7"]);
}

#[test]
fn processes_do_not_share_correlation_ids() {
    let mut profile = with_calls();
    profile.dispatches.push(Dispatch { process: 1, ..dispatch(2, 100_000, 100_500, 1) });
    let other = call(&mut profile, Domain::Hip, "hipExtLaunchKernel", (98_000, 99_000), 1);
    profile.calls.push(Call { process: 1, ..other });
    assert_rows(
        &table(profile, "api_kernel_latency").unwrap(),
        LATENCIES,
        &[
            "hipLaunchKernel | gemm | 2 | 2 | 3 | 1 | 3.5 | 5 | 0.01",
            "hipExtLaunchKernel | gemm | 1 | 1 | 1 | 1 | 2 | 0.5 | 0.0005",
        ],
    );
}

#[test]
fn events_without_a_call_have_a_row_of_their_own() {
    let mut profile = with_calls();
    profile.dispatches.push(dispatch(1, 50_000, 51_000, 99));
    profile.dispatches.push(dispatch(1, 60_000, 62_000, 0));
    profile.dispatches.push(Dispatch { correlation: None, ..dispatch(1, 70_000, 71_000, 0) });
    // An id of 0 is none, on either side.
    let call = call(&mut profile, Domain::Hip, "hipGetDevice", (0, 10), 0);
    profile.calls.push(call);
    assert_rows(
        &table(profile, "api_kernel_latency").unwrap(),
        LATENCIES,
        &[
            "hipLaunchKernel | gemm | 2 | 2 | 3 | 1 | 3.5 | 5 | 0.01",
            &format!("- | copy | 0 | 3 | - | - | - | {} | 0.004", 4.0 / 3.0),
        ],
    );
}

#[test]
fn a_graph_launch_counts_once_for_all_its_kernels() {
    let mut profile = profile();
    let call = call(&mut profile, Domain::Hip, "hipGraphLaunch", (0, 5_000), 8);
    profile.calls.push(call);
    profile.dispatches =
        vec![dispatch(0, 6_000, 8_000, 8), dispatch(0, 8_000, 10_000, 8), dispatch(1, 10_000, 10_500, 8)];
    assert_rows(
        &table(profile, "api_kernel_latency").unwrap(),
        LATENCIES,
        &[
            "hipGraphLaunch | gemm | 1 | 2 | 5 | 2 | 7 | 2 | 0.004",
            "hipGraphLaunch | copy | 1 | 1 | 5 | 5 | 10 | 0.5 | 0.0005",
        ],
    );
}

#[test]
fn copies_are_joined_as_kernels_are() {
    let mut profile = with_calls();
    let mut copied = copy(&mut profile, CopyDirection::HostToDevice, (15_000, 16_000), None);
    copied.correlation = Some(5);
    profile.copies.push(copied);
    let call = call(&mut profile, Domain::Hip, "hipMemcpyAsync", (14_500, 14_900), 5);
    profile.calls.push(call);
    let table = table(profile, "api_kernel_latency").unwrap();
    assert_rows(
        &table,
        "function | event | name | Count | Queue Delay Max (µs)",
        &[
            "hipLaunchKernel | kernel | gemm | 2 | 2",
            "hipMemcpyAsync | copy | MEMORY_COPY_HOST_TO_DEVICE | 1 | 0.1",
        ],
    );
}

#[test]
fn of_calls_with_one_id_the_innermost_hip_call_is_the_launch() {
    let mut profile = profile();
    for (domain, name, span) in [
        (Domain::Hsa, "hsa_queue_add", (2_000, 2_500)),
        (Domain::Hip, "hipInner", (1_500, 2_900)),
        (Domain::Hip, "hipOuter", (1_000, 3_000)),
        (Domain::Marker, "step", (1_900, 2_000)),
    ] {
        let call = call(&mut profile, domain, name, span, 1);
        profile.calls.push(call);
    }
    profile.dispatches = vec![dispatch(0, 5_000, 6_000, 1)];
    let table = table(profile, "api_kernel_latency").unwrap();
    assert_rows(&table, "function | name | Launches | Count", &["hipInner | gemm | 1 | 1"]);
}

const RANGES: &str =
    "name | Count | Total Time (ms) | Kernels | Kernel Time (ms) | GPU Busy Time (ms) | kernels_by";

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
        RANGES,
        &[
            "step | 2 | 0.02 | 2 | 0.006 | 0.005 | launch",
            "forward | 1 | 0.002 | 1 | 0.003 | 0.003 | launch",
            "here | 1 | 0 | 0 | 0 | 0 | launch",
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
    assert_rows(&table, "name | Kernels", &["step | 1", "forward | 1", "here | 0"]);
}

#[test]
fn a_kernel_in_nested_ranges_of_one_text_counts_once() {
    let mut profile = profile();
    add(&mut profile, Domain::Marker, "recurse", (0, 10_000), 1);
    add(&mut profile, Domain::Marker, "recurse", (1_000, 9_000), 2);
    add(&mut profile, Domain::Hip, "hipLaunchKernel", (2_000, 2_100), 3);
    profile.dispatches = vec![dispatch(0, 5_000, 6_000, 3)];
    let row = "recurse | 2 | 0.018 | 1 | 0.001 | 0.001 | launch";
    assert_rows(&table(profile, "marker_ranges").unwrap(), RANGES, &[row]);
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
        RANGES,
        &[
            "step | 2 | 0.02 | 2 | 0.008 | 0.008 | time",
            "forward | 1 | 0.002 | 1 | 0.001 | 0.001 | time",
            "here | 1 | 0 | 0 | 0 | 0 | time",
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
    let row = "phase | 3 | 0.003 | 3 | 0.0032 | 0.003 | time";
    assert_rows(&table(profile, "marker_ranges").unwrap(), RANGES, &[row]);
}
