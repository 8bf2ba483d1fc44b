//! Where the time of the GPUs went.

use trace_ingest::rocprof::CopyDirection::*;
use trace_ingest::rocprof::{Agent, SourceFormat};

use super::{Conventions, THEIRS, TimelineRule, reference, small};
use crate::fixture::{Recorded, rows};
use crate::{RocprofAnalysis, RocprofNotice, RocprofOptions, rocprof_notices};

const TIMELINE: &str = "type | time ms | percent";

#[test]
fn the_timeline_counts_every_instant_once() {
    let expected = [
        "total_time | 0.001 | 100.0",
        "kernel | 3.1e-5 | 3.1",
        "memory | 1.1e-5 | 1.0999999999999999",
        "busy_time | 4.1e-5 | 4.1000000000000005",
        "idle | 0.000959 | 95.89999999999999",
    ];
    let analysis = small(Some((0, 1000))).analyse(reference());
    assert_eq!(rows(&analysis, "gpu_timeline", TIMELINE), expected);
    // Ours is of the window of the first page, whatever the times of the processes are.
    let ours = [
        "total_time | 0.000413",
        "kernel | 3.1e-5",
        "memory | 1.1e-5",
        "busy_time | 4.1e-5",
        "idle | 0.000372",
    ];
    for times in [Some((0, 1000)), Some((120, 450)), None] {
        let analysis = small(times).analyse(RocprofOptions::default());
        assert_eq!(rows(&analysis, "gpu_timeline", "type | time ms"), ours, "{times:?}");
        assert!(rocprof_notices(&analysis).is_empty(), "{:?}", rocprof_notices(&analysis));
    }
}

/// Ours, but for the timeline, which is of the processes.
fn process_options() -> RocprofOptions {
    let conventions = Conventions { timeline: TimelineRule::Processes, ..Conventions::default() };
    RocprofOptions { conventions, ..RocprofOptions::default() }
}

#[test]
fn without_times_of_processes_the_total_is_from_the_first_start_to_the_last_end() {
    let analysis = small(None).analyse(process_options());
    let found = rows(&analysis, "gpu_timeline", "type | time ms");
    assert_eq!(found[0], "total_time | 0.000413");
    assert_eq!(found[4], "idle | 0.000372");
    assert_eq!(rocprof_notices(&analysis), [RocprofNotice::NoProcessTimes]);

    let analysis = small(None).analyse(reference());
    let found = rows(&analysis, "gpu_timeline", TIMELINE);
    let expected = [
        "total_time | 0.0 | 100.0",
        "kernel | 3.1e-5 | 0.0",
        "memory | 1.1e-5 | 0.0",
        "busy_time | 4.1e-5 | 0.0",
        "idle | 0.0 | 0.0",
    ];
    assert_eq!(found, expected);

    let mut csv = small(None);
    csv.profile.source = SourceFormat::Csv;
    let found = rows(&csv.analyse(reference()), "gpu_timeline", "type | time ms");
    assert_eq!(found[0], "total_time | 0.000413", "TraceLens reads no CSV");
}

#[test]
fn the_total_of_several_processes_is_from_the_first_to_the_last() {
    let recorded = || {
        let mut recorded = small(Some((50, 1000)));
        let second = recorded.process(Some((20, 700)));
        recorded.run("a_gemm", None, 600, 650).process = second;
        recorded
    };
    let analysis = recorded().analyse(process_options());
    let found = rows(&analysis, "gpu_timeline", "type | time ms");
    assert_eq!(
        found,
        [
            "total_time | 0.00098",
            "kernel | 8.1e-5",
            "memory | 1.1e-5",
            "busy_time | 9.1e-5",
            "idle | 0.000889"
        ]
    );
    assert!(rocprof_notices(&analysis).is_empty(), "{:?}", rocprof_notices(&analysis));

    // TraceLens reads the first process alone.
    let analysis = recorded().analyse(reference());
    let found = rows(&analysis, "gpu_timeline", "type | time ms");
    assert_eq!(found[..2], ["total_time | 0.00095", "kernel | 3.1e-5"]);
    assert_eq!(rows(&analysis, "kernel_summary", "name | Count")[0], "a_gemm | 2");
}

#[test]
fn records_outside_of_the_processes_widen_the_total_and_are_told() {
    let analysis = small(Some((120, 450))).analyse(process_options());
    let found = rows(&analysis, "gpu_timeline", "type | time ms");
    assert_eq!((found[0].as_str(), found[4].as_str()), ("total_time | 0.000413", "idle | 0.000372"));
    assert_eq!(rocprof_notices(&analysis), [RocprofNotice::OutsideProcessTimes { records: 4 }]);

    let analysis =
        small(Some((120, 450))).analyse(RocprofOptions { conventions: THEIRS, ..RocprofOptions::default() });
    let found = rows(&analysis, "gpu_timeline", "type | time ms");
    assert_eq!((found[0].as_str(), found[4].as_str()), ("total_time | 0.00033", "idle | 0.000289"));
    assert_eq!(rocprof_notices(&analysis), [RocprofNotice::TraceLensFigures]);
}

#[test]
fn copies_alone_have_a_timeline_but_not_in_the_reference() {
    let recorded = || {
        let mut recorded = Recorded::new(Some((0, 1000)));
        recorded.copy(HostToDevice, [None, None], 100, 350);
        recorded
    };
    let analysis = recorded().analyse(RocprofOptions::default());
    let found = rows(&analysis, "gpu_timeline", "type | percent");
    assert_eq!(
        found,
        ["total_time | 100.0", "kernel | 0.0", "memory | 100.0", "busy_time | 100.0", "idle | 0.0"]
    );
    assert!(rows(&recorded().analyse(reference()), "gpu_timeline", "type").is_empty());
}

#[test]
fn every_gpu_has_its_own_timeline() {
    let mut recorded = Recorded::new(Some((0, 10_000)));
    let host = recorded.cpu("1");
    let second = recorded.gpu("12", 1);
    let first = recorded.gpu("11", 0);
    for (name, agent, start, end) in [
        ("gemm", first, 1000, 1400),
        ("ncclDevKernel_AllReduce_Sum", first, 1300, 1800),
        ("gemm", second, 5000, 5100),
        ("__amd_rocclr_fillBufferAligned.kd", second, 5100, 5150),
    ] {
        recorded.run(name, Some(agent), start, end);
    }
    for (direction, ends, start, end) in [
        (HostToDevice, [Some(host), Some(first)], 1700, 1900),
        (DeviceToHost, [Some(second), Some(host)], 5200, 5300),
        (DeviceToDevice, [Some(first), Some(second)], 1950, 2000),
        (DeviceToDevice, [Some(second), Some(second)], 5400, 5500),
        (HostToHost, [Some(host), Some(host)], 9000, 9100),
        (Other, [Some(host), Some(second)], 5900, 6000),
    ] {
        recorded.copy(direction, ends, start, end);
    }
    recorded.run("gemm", None, 7000, 7100);
    for options in [RocprofOptions::default(), reference()] {
        let analysis = RocprofAnalysis::new(recorded.profile.clone(), options);
        let found = rows(&analysis, "gpu_timeline_by_agent", "agent | gpu | type | time ms | percent");
        let product = rows(&analysis, "gpu_timeline_by_agent", "product");
        assert_eq!((product[0].as_str(), product[18].as_str()), ("AMD Instinct MI300X", "-"));
        assert_eq!(
            found,
            [
                "11 | 0 | total_time | 0.001 | 100.0",
                "11 | 0 | kernel | 0.0008 | 80.0",
                "11 | 0 | memory | 0.00025 | 25.0",
                "11 | 0 | busy_time | 0.00095 | 95.0",
                "11 | 0 | idle | 5e-5 | 5.0",
                "11 | 0 | computation_time | 0.0004 | 40.0",
                "11 | 0 | comm_time | 0.0005 | 50.0",
                "11 | 0 | exposed_comm_time | 0.0004 | 40.0",
                "11 | 0 | exposed_memcpy_time | 0.00015 | 15.0",
                "12 | 1 | total_time | 0.00405 | 100.0",
                "12 | 1 | kernel | 0.00015 | 3.7037037037037033",
                "12 | 1 | memory | 0.00035 | 8.641975308641975",
                "12 | 1 | busy_time | 0.0005 | 12.345679012345679",
                "12 | 1 | idle | 0.00355 | 87.65432098765432",
                "12 | 1 | computation_time | 0.00015 | 3.7037037037037033",
                "12 | 1 | comm_time | 0.0 | 0.0",
                "12 | 1 | exposed_comm_time | 0.0 | 0.0",
                "12 | 1 | exposed_memcpy_time | 0.00035 | 8.641975308641975",
                "- | - | total_time | 0.0001 | 100.0",
                "- | - | kernel | 0.0001 | 100.0",
                "- | - | memory | 0.0 | 0.0",
                "- | - | busy_time | 0.0001 | 100.0",
                "- | - | idle | 0.0 | 0.0",
                "- | - | computation_time | 0.0001 | 100.0",
                "- | - | comm_time | 0.0 | 0.0",
                "- | - | exposed_comm_time | 0.0 | 0.0",
                "- | - | exposed_memcpy_time | 0.0 | 0.0",
            ]
        );
    }
}

#[test]
fn gpus_that_share_a_window_are_idle_in_the_rest_of_it() {
    let mut recorded = Recorded::new(None);
    let agents = [recorded.gpu("11", 0), recorded.gpu("12", 1)];
    recorded.run("gemm", Some(agents[0]), 1000, 2000);
    recorded.run("gemm", Some(agents[1]), 1000, 5000);
    let mut analysis = recorded.analyse(RocprofOptions::default());
    analysis.know_shared_windows([(0, 4000), (1, 4000)]);
    let found = rows(&analysis, "gpu_timeline_by_agent", "gpu | type | time ms | percent");
    for row in ["0 | total_time | 0.004 | 100.0", "0 | idle | 0.003 | 75.0", "1 | idle | 0.0 | 0.0"] {
        assert!(found.iter().any(|found| found == row), "{row}: {found:#?}");
    }
}

#[test]
fn agents_that_the_profile_does_not_describe_take_part_by_the_direction_of_copies() {
    let mut recorded = Recorded::new(None);
    for label in ["Agent 0", "Agent 4"] {
        recorded.profile.agents.push(Agent { label: label.to_owned(), ..Agent::default() });
    }
    recorded.copy(HostToDevice, [Some(0), Some(1)], 0, 10);
    recorded.copy(DeviceToHost, [Some(1), Some(0)], 20, 30);
    let analysis = recorded.analyse(RocprofOptions::default());
    let found = rows(&analysis, "gpu_timeline_by_agent", "agent | type | time ms");
    assert_eq!(found.len(), 9);
    assert_eq!(
        found[..3],
        ["Agent 4 | total_time | 3e-5", "Agent 4 | kernel | 0.0", "Agent 4 | memory | 2e-5"]
    );
}
