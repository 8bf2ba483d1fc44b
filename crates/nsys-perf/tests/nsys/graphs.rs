//! CUDA graphs, and ranges that a thread starts and another ends: small recordings by hand, times in ns.

use nsys_perf::{NsysAnalysis, NsysOptions};
use trace_ingest::{Category, EventArguments, LaunchGeometry, NvtxRange, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};

use crate::common::Table;

/// A launch of a kernel, a replay of a graph with these nodes, and ranges around the replay.
fn recording(nodes: &[(i64, i64)], ranges: &[(&str, NvtxRange)]) -> TraceTree {
    let mut builder = TraceBuilder::new();
    let (host, device) = (builder.track(111, 111), builder.track(0, 7));
    let linked = |id| EventArguments { correlation: Some(id), ..EventArguments::default() };
    let geometry = Some(LaunchGeometry { grid: [1; 3], block: [1; 3], ..LaunchGeometry::default() });
    let on_device = |id| EventArguments { device: Some(0), stream: Some(7), geometry, ..linked(id) };
    for &(name, nvtx) in ranges {
        let arguments = EventArguments { nvtx: Some(nvtx), ..EventArguments::default() };
        builder.event(Category::USER_ANNOTATION, name, host, 50, 650, arguments);
    }
    builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, 0, 100, linked(49));
    builder.event(Category::CUDA_RUNTIME, "cudaGraphLaunch", host, 100, 500, linked(50));
    builder.event(Category::KERNEL, "k", device, 500, 400, on_device(49));
    for &(start, end) in nodes {
        builder.event(Category::KERNEL, "node", device, start, end - start, on_device(50));
    }
    TraceTree::build(builder.finish(), &TreeOptions::default())
}

const NODES: [(i64, i64); 3] = [(1000, 3000), (3100, 6000), (6200, 9000)];

#[test]
fn a_replay_is_one_call_of_many_kernels() {
    let tree = recording(&NODES, &[]);
    let latencies: Table = crate::table(&tree, "cuda_kern_exec_sum").unwrap();
    let columns = "API Name | Count | QCount | TAvg (ns) | AAvg (ns) | QAvg (ns) | KAvg (ns) | KMax (ns)";
    assert_eq!(
        latencies.select(columns),
        [
            "cudaGraphLaunch | 3 | 1 | 8900 | 500 | 400 | 2566.6666666666665 | 2900",
            "cudaLaunchKernel | 1 | 1 | 900 | 100 | 400 | 400 | 400"
        ]
    );
}

#[test]
fn a_replay_in_one_piece_is_one_operation() {
    for (work, operations) in [(&NODES[..], 3), (&[(1000, 9000)], 1)] {
        let tree = recording(work, &[("step", NvtxRange::default())]);
        let analysis = NsysAnalysis::new(&tree, NsysOptions::default());
        let [step] = &analysis.ranges().instances[..] else { panic!("one range") };
        assert_eq!((step.operations, step.projection), (operations, Some((1000, 9000))));
    }
}

#[test]
fn a_range_owns_what_its_thread_launches_between_its_ends() {
    let start_end = NvtxRange { is_start_end: true, ..NvtxRange::default() };
    let crossing = NvtxRange { crosses_threads: true, ..start_end };
    let tree = recording(&NODES, &[("step", NvtxRange::default()), ("own", start_end), ("cross", crossing)]);
    let analysis = NsysAnalysis::new(&tree, NsysOptions::default());
    let ranges = &analysis.ranges().instances;
    let found: Vec<_> = ranges
        .iter()
        .map(|range| (tree.trace().name(range.event), range.operations, range.projection, range.level))
        .collect();
    let projection = Some((1000, 9000));
    assert_eq!(found, [("step", 3, projection, 0), ("own", 3, projection, 0), ("cross", 0, None, 0)]);
    // One of the two that hold it is the innermost.
    assert_eq!(ranges.iter().map(|range| range.own_operation_time).sum::<i64>(), 2000 + 2900 + 2800);
}
