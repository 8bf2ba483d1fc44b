//! The critical path of real recordings, held against the figures of a prototype of the walk.

use std::collections::BTreeMap;
use std::path::Path;

use critical_path::{PathClass, Recorded, Scope};
use perf_models::CommunicationPatterns;
use testdata::corpus;
use trace_ingest::{ReadOptions, Trace, read_path};
use trace2tree::{TraceTree, TreeOptions};

fn read(path: &Path) -> Trace {
    read_path(path, &ReadOptions::default()).unwrap()
}

fn tree(trace: Trace) -> TraceTree {
    TraceTree::build(trace, &TreeOptions::default())
}

/// Shares of the path's classes in percent.
fn shares(classes: impl Iterator<Item = (PathClass, i64)>, whole: i64) -> BTreeMap<&'static str, f64> {
    let mut sums: BTreeMap<&'static str, i64> = BTreeMap::new();
    classes.for_each(|(class, time)| *sums.entry(class.as_str()).or_default() += time);
    sums.into_iter().map(|(class, time)| (class, time as f64 / whole as f64 * 100.0)).collect()
}

/// Recording, its length in ns, and shares of classes in percent, as a prototype found them.
const WALL: &str = "
    h100-falconsai-vit 7868635: host_operator 49.8, host_untraced 38.7, host_runtime 11.55
    h100-owlv2-large 1211181602: host_untraced 51.6, gpu_compute 45.3, gpu_memory 1.3
    h100-qwen1.5-0.5b 49657374: gpu_compute 88.1, kernel_gap 4.8, host_untraced 3.0, host_operator 2.8
    mi300-bert-small 4024799: host_untraced 49.1, host_operator 41.0, host_runtime 8.8
    mi300-qwen1.5-0.5b 47085800: gpu_compute 87.8, host_operator 5.6, host_untraced 4.9
    mi300-timesformer 390621802: host_untraced 63.7, gpu_compute 30.2
    torch-compile-triton 12939993: gpu_compute 97.0";

#[test]
fn the_walk_gives_each_nanosecond_to_the_class_that_the_prototype_gave_it_to() {
    for row in WALL.trim().lines() {
        let (recording, expected) = row.split_once(": ").unwrap();
        let (case, length) = recording.trim().split_once(' ').unwrap();
        let length = length.parse().unwrap();
        let Some(folder) = corpus(&format!("pytorch/{case}")) else { return };
        let tree = tree(read(&folder.join("trace.json.gz")));
        let recorded = Recorded::new(&tree, &Scope::Whole, &CommunicationPatterns::default());
        let path = recorded.wall_path();
        assert!(path.windows(2).all(|two| two[0].end == two[1].start), "{case}");
        assert_eq!(path.first().map(|first| first.start), Some(recorded.time().start), "{case}");
        assert_eq!(path.last().map(|last| last.end), Some(recorded.time().end), "{case}");
        assert_eq!(recorded.time().end - recorded.time().start, length, "{case}");
        assert_eq!(recorded.faults(), [], "{case}");
        let shares = shares(path.iter().map(|segment| (segment.class, segment.duration())), length);
        for (class, expected) in expected.split(", ").map(|share| share.split_once(' ').unwrap()) {
            let expected: f64 = expected.parse().unwrap();
            let found = shares.get(class).copied().unwrap_or_default();
            assert!((found - expected).abs() <= 0.0501, "{case}: {class} is {found}%, not {expected}%");
        }
    }
}
