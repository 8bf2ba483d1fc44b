//! HIP calls and their kernels, and copies by size.

use trace_ingest::rocprof::{CopyDirection, Domain, Process};

use super::{Fixture, floats, integers, table, texts};
use crate::fixture::headers;
use crate::notice::pftrace_notices;
use crate::{PftraceOptions, RocprofAnalysis, RocprofNotice};

/// Calls and kernels of two GPUs, linked by correlation numbers 1 to 7.
fn calls_and_kernels() -> Fixture {
    let mut fixture = Fixture::new();
    for (correlation, name, start, length) in [
        (1, "hipLaunchKernel", 1000, 500),
        (2, "hipLaunchKernel", 3000, 700),
        (3, "hipLaunchKernel", 5000, 600),
        (4, "hipMemcpyHtoDAsync", 7000, 100),
        (5, "hipExtModuleLaunchKernel", 8000, 10),
        (6, "hipMemcpyAsync", 9100, 10),
        (7, "hipGraphLaunch", 9200, 10),
    ] {
        fixture.call(name, start, length).correlation = Some(correlation);
    }
    for (correlation, name, agent, start, length) in [
        (1, "kA.kd", "A", 2000, 3000),
        (2, "kA.kd", "A", 3600, 3100),
        (3, "kA.kd", "B", 9000, 2900),
        (5, "kB", "A", 9500, 5),
        (5, "kC", "A", 9000, 6),
        (7, "kG", "A", 9900, 5),
    ] {
        fixture.kernel(name, agent, start, length).correlation = Some(correlation);
    }
    for (correlation, start, length) in [(4, 7500, 50), (6, 9150, 20)] {
        let copy = fixture.copy(CopyDirection::HostToDevice, Some(64), start, length);
        copy.correlation = Some(correlation);
    }
    fixture
}

/// GPU, function and kernel of each row.
fn keys(analysis: &RocprofAnalysis) -> Vec<(i64, String, String)> {
    let frame = table(analysis, "api_kernel_summary");
    let rows = integers(&frame, "DevId").into_iter().zip(texts(&frame, "API Name"));
    rows.zip(texts(&frame, "Kernel Name")).map(|((device, api), kernel)| (device, api, kernel)).collect()
}

fn key(device: i64, api: &str, kernel: &str) -> (i64, String, String) {
    (device, api.to_owned(), kernel.to_owned())
}

#[test]
fn launches_with_their_kernels() {
    let analysis = calls_and_kernels().analysis(PftraceOptions::default());
    let copy = "MEMORY_COPY";
    assert_eq!(
        keys(&analysis),
        [
            key(0, "hipExtModuleLaunchKernel", "kC"),
            key(0, "hipLaunchKernel", "kA.kd"),
            key(0, "hipMemcpyHtoDAsync", copy),
            key(1, "hipLaunchKernel", "kA.kd"),
        ]
    );
    let frame = table(&analysis, "api_kernel_summary");
    assert_eq!(headers(&frame).len(), 27);
    assert_eq!((integers(&frame, "PID")[0], integers(&frame, "TID")[0]), (7, 1));
    assert_eq!(integers(&frame, "Count"), [1, 2, 1, 1]);
    assert_eq!(integers(&frame, "QCount"), [1, 2, 1, 1]);
    assert_eq!(floats(&frame, "TAvg_ns"), [1006.0, 3900.0, 550.0, 6900.0]);
    assert_eq!(floats(&frame, "AAvg_ns"), [10.0, 600.0, 100.0, 600.0]);
    assert_eq!(floats(&frame, "QAvg_ns"), [990.0, 250.0, 400.0, 3400.0]);
    assert_eq!(floats(&frame, "KAvg_ns"), [6.0, 3050.0, 50.0, 2900.0]);
    assert_eq!((integers(&frame, "QMin_ns")[1], integers(&frame, "QMax_ns")[1]), (0, 500));
    let deviations = ["TStdDev_ns", "AStdDev_ns", "QStdDev_ns", "KStdDev_ns"];
    assert_eq!(deviations.map(|column| floats(&frame, column)[1]), [100.0, 100.0, 250.0, 50.0]);
    assert_eq!(floats(&frame, "KMed_ns")[1], 3050.0);
}

#[test]
fn calls_that_are_no_launches_are_there_on_request() {
    let options = PftraceOptions { include_nonlaunch_apis: true, ..PftraceOptions::default() };
    let mut fixture = calls_and_kernels();
    fixture.call("hipGetDevice", 100, 30).correlation = Some(8);
    fixture.call("ncclAllReduce", 100, 30).domain = Domain::Rccl;
    fixture.call("hipMalloc", 100, 30);
    let analysis = fixture.analysis(options);
    let keys = keys(&analysis);
    assert_eq!(keys.len(), 7);
    assert!(keys.contains(&key(0, "hipGraphLaunch", "kG")));
    assert!(keys.contains(&key(0, "hipMemcpyAsync", "MEMORY_COPY")));
    let alone = keys.iter().position(|row| *row == key(0, "hipGetDevice", "")).unwrap();
    let frame = table(&analysis, "api_kernel_summary");
    assert_eq!((integers(&frame, "Count")[alone], integers(&frame, "QCount")[alone]), (1, 0));
    let means = ["TAvg_ns", "AAvg_ns", "QAvg_ns", "KAvg_ns"].map(|column| floats(&frame, column)[alone]);
    assert_eq!(means, [0.0, 30.0, 0.0, 0.0]);
    assert_eq!(integers(&frame, "TMax_ns")[alone], 0);
}

#[test]
fn every_kernel_of_a_call_counts_on_request() {
    let options = PftraceOptions { allow_multi_kernel_per_api: true, ..PftraceOptions::default() };
    let keys = keys(&calls_and_kernels().analysis(options));
    assert_eq!(keys[..2], ["kB", "kC"].map(|kernel| key(0, "hipExtModuleLaunchKernel", kernel)));
    assert_eq!(keys.len(), 5);
}

#[test]
fn excluded_kernels_leave_nothing() {
    let mut fixture = Fixture::new();
    fixture.call("hipLaunchKernel", 1_000_000, 10_000).correlation = Some(42);
    fixture.kernel("xla::redzone_checker_kernel(x)", "A", 1_020_000, 50_000).correlation = Some(42);
    let analysis = fixture.analysis(PftraceOptions::default());
    assert_eq!(keys(&analysis), []);
    assert_eq!(pftrace_notices(&analysis), [RocprofNotice::LaunchesWithoutKernel { count: 1 }]);

    let keep = PftraceOptions { exclude_kernel_regex: "".parse().unwrap(), ..PftraceOptions::default() };
    let frame = table(&fixture.analysis(keep), "api_kernel_summary");
    assert_eq!((floats(&frame, "KAvg_ns"), floats(&frame, "QAvg_ns")), (vec![50_000.0], vec![10_000.0]));
    let other =
        PftraceOptions { exclude_kernel_regex: "^xla::".parse().unwrap(), ..PftraceOptions::default() };
    assert_eq!(keys(&fixture.analysis(other)), []);
}

#[test]
fn calls_and_kernels_of_different_processes_are_apart() {
    let mut fixture = Fixture::new();
    fixture.recorded.profile.processes.push(Process { pid: Some(3), ..Process::default() });
    for (process, kernel) in [(0, "kP"), (1, "kQ")] {
        let call = fixture.call("hipLaunchKernel", 0, 10);
        (call.correlation, call.process) = (Some(1), process);
        let dispatch = fixture.kernel(kernel, "A", 20 - i64::from(process), 5);
        (dispatch.correlation, dispatch.process) = (Some(1), process);
    }
    let analysis = fixture.analysis(PftraceOptions::default());
    let frame = table(&analysis, "api_kernel_summary");
    assert_eq!(
        (integers(&frame, "PID"), texts(&frame, "Kernel Name")),
        (vec![3, 7], vec!["kQ".into(), "kP".into()])
    );
    // TraceLens has one call with number 1, the last, and of its kernels the one that began first.
    let reference = table(&fixture.reference(PftraceOptions::default()), "api_kernel_summary");
    assert_eq!((integers(&reference, "PID"), texts(&reference, "Kernel Name")), (vec![3], vec!["kQ".into()]));
}

#[test]
fn a_kernel_without_length_does_not_displace_one_that_was_timed() {
    let mut fixture = Fixture::new();
    fixture.call("hipLaunchKernel", 100, 10).correlation = Some(1);
    fixture.kernel("untimed.kd", "A", 0, 0).correlation = Some(1);
    fixture.kernel("timed", "A", 200, 30).correlation = Some(1);
    assert_eq!(keys(&fixture.analysis(PftraceOptions::default())), [key(0, "hipLaunchKernel", "timed")]);
    assert_eq!(
        keys(&fixture.reference(PftraceOptions::default())),
        [key(0, "hipLaunchKernel", "untimed.kd")]
    );
    fixture.recorded.profile.dispatches.pop();
    assert_eq!(keys(&fixture.analysis(PftraceOptions::default())), [key(0, "hipLaunchKernel", "untimed.kd")]);
}

#[test]
fn kernels_that_are_called_register_are_kernels() {
    let mut fixture = Fixture::new();
    fixture.call("hipLaunchKernel", 100, 10).correlation = Some(1);
    fixture.kernel("load_registers", "A", 200, 30).correlation = Some(1);
    assert_eq!(keys(&fixture.analysis(PftraceOptions::default())).len(), 1);
    assert_eq!(keys(&fixture.reference(PftraceOptions::default())).len(), 0);
}

#[test]
fn copies_have_the_gpu_that_they_write_or_read() {
    let mut fixture = Fixture::new();
    fixture.kernel("k", "A", 0, 1);
    fixture.kernel("k", "B", 0, 1);
    let (host, gpu) = (fixture.agent("host"), fixture.agent("B"));
    for (correlation, source, destination) in [(1, host, gpu), (2, gpu, host)] {
        fixture.call("hipMemcpyHtoDAsync", 0, 5).correlation = Some(correlation);
        let copy = fixture.copy(CopyDirection::HostToDevice, None, 10, 5);
        (copy.correlation, copy.source, copy.destination) =
            (Some(correlation), Some(source), Some(destination));
    }
    let frame = table(&fixture.analysis(PftraceOptions::default()), "api_kernel_summary");
    assert_eq!((integers(&frame, "DevId"), integers(&frame, "Count")), (vec![1], vec![2]));
    let reference = table(&fixture.reference(PftraceOptions::default()), "api_kernel_summary");
    assert_eq!(integers(&reference, "DevId"), [0]);
}

#[test]
fn of_calls_with_one_number_the_innermost_launches_and_0_is_no_number() {
    let mut fixture = Fixture::new();
    fixture.call("hipLaunchKernelGGL", 20, 10).correlation = Some(1);
    fixture.call("hipLaunchKernel", 0, 100).correlation = Some(1);
    fixture.kernel("k", "A", 200, 30).correlation = Some(1);
    fixture.call("hipModuleLaunchKernel", 0, 100).correlation = Some(0);
    fixture.kernel("other", "A", 200, 30).correlation = Some(0);
    assert_eq!(keys(&fixture.analysis(PftraceOptions::default())), [key(0, "hipLaunchKernelGGL", "k")]);
    assert_eq!(
        keys(&fixture.reference(PftraceOptions::default())),
        [key(0, "hipLaunchKernel", "k"), key(0, "hipModuleLaunchKernel", "other")]
    );
}

const SHEET: &str = "memory_copy_by_copy_bytes";

#[test]
fn copies_of_one_size_and_direction_are_one_row() {
    let mut fixture = Fixture::new();
    let (host, gpu, other) = (fixture.agent("0"), fixture.agent("Agent 2"), fixture.agent("37946"));
    fixture.recorded.profile.agents[other as usize].logical_node_id = Some(3);
    use CopyDirection::{DeviceToDevice, DeviceToHost, HostToDevice, HostToHost, Other};
    for (direction, bytes, source, destination) in [
        (HostToDevice, Some(20_138), Some(host), Some(gpu)),
        (HostToDevice, Some(20_138), None, Some(gpu)),
        (HostToDevice, Some(20_138), Some(host), Some(other)),
        (DeviceToHost, Some(4_096), Some(gpu), Some(host)),
        (DeviceToDevice, Some(4_096), Some(gpu), Some(other)),
        (DeviceToDevice, Some(4_096), Some(gpu), None),
        (HostToHost, Some(100_000), Some(host), Some(host)),
        (Other, Some(100_000), None, None),
        (HostToDevice, None, Some(host), Some(gpu)),
    ] {
        let copy = fixture.copy(direction, bytes, 0, 10);
        (copy.source, copy.destination) = (source, destination);
    }
    let analysis = fixture.analysis(PftraceOptions::default());
    let frame = table(&analysis, SHEET);
    let rows: Vec<(i64, String, i64)> = integers(&frame, "copy_bytes")
        .into_iter()
        .zip(texts(&frame, "direction"))
        .zip(integers(&frame, "count"))
        .map(|((bytes, direction), count)| (bytes, direction, count))
        .collect();
    let row = |bytes, direction: &str, count| (bytes, direction.to_owned(), count);
    assert_eq!(
        rows,
        [
            row(4_096, "d2d (GPU 2 -> GPU 3)", 1),
            row(4_096, "d2d (GPU 2 -> GPU ?)", 1),
            row(4_096, "d2h (GPU 2)", 1),
            row(20_138, "h2d (GPU 2)", 2),
            row(20_138, "h2d (GPU 3)", 1),
            row(100_000, "other", 2),
        ]
    );
    assert_eq!(pftrace_notices(&analysis), [RocprofNotice::CopiesWithoutSize { count: 1 }]);
}
