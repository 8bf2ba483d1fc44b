//! Recordings of this project on an H200.

use std::path::{Path, PathBuf};

use nsys_perf::{NsysAnalysis, NsysFinding, NsysOptions, nsys_findings};
use trace_ingest::NsysKernelNames;

use crate::{table, tree};

pub(crate) fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/recorded/h200/nsys")
        .join(format!("{name}.sqlite"))
}

#[test]
fn device_work_belongs_to_the_innermost_range_once() {
    let tree = tree(&recording("transformer_step"), NsysKernelNames::Demangled);
    let analysis = NsysAnalysis::new(&tree, NsysOptions::default());
    let ranges = analysis.ranges();
    assert!(ranges.instances.len() > 800);
    let own: i64 = ranges.instances.iter().map(|instance| instance.own_operation_time).sum();
    let outermost: i64 = ranges
        .instances
        .iter()
        .filter(|instance| instance.parent.is_none())
        .map(|instance| instance.operation_time)
        .sum();
    assert!(own > 0);
    assert_eq!(own, outermost);
    for instance in &ranges.instances {
        assert!(instance.own_operation_time <= instance.operation_time);
        assert_eq!(instance.operations == 0, instance.projection.is_none());
    }
}

#[test]
fn what_the_recorder_left_out_is_said() {
    for (name, expected) in [
        ("transformer_step", &[NsysFinding::NoElementTypes][..]),
        ("cuda_graph_nodes", &[NsysFinding::NoElementTypes]),
        ("cuda_graph_whole", &[NsysFinding::LostGraphs { count: 3 }, NsysFinding::NoElementTypes]),
    ] {
        let tree = tree(&recording(name), NsysKernelNames::Demangled);
        assert_eq!(nsys_findings(&NsysAnalysis::new(&tree, NsysOptions::default())), expected, "{name}");
    }
}

#[test]
fn sheets_without_rows_are_left_out() {
    let tree = tree(&recording("cuda_graph_whole"), NsysKernelNames::Demangled);
    assert!(table(&tree, "os_runtime_summary").is_none());
    assert!(table(&tree, "cuda_gpu_trace").is_none());
    assert!(table(&tree, "memory_fills").is_none());
    // Replays of a whole graph are no kernels.
    let kernels = table(&tree, "cuda_gpu_kern_sum").unwrap();
    assert!(kernels.rows.iter().flatten().flatten().all(|cell| !cell.starts_with("CUDA graph")));
}
