//! The graph of HTA's critical path analysis, of what it reads of recordings.

use critical_path::{PathClass, Recorded, Scope};
use perf_models::CommunicationPatterns;
use reference_tools::read_as_hta;
use testdata::corpus;
use trace_ingest::{ReadOptions, read_path};
use trace2tree::{TraceTree, TreeOptions};

/// Case, nodes, edges (operator, dependency, launch, kernel to kernel, synchronization), nodes of the path, its length
/// in µs, shares in percent of the host and between kernels.
type Hta = (&'static str, usize, [usize; 5], usize, i64, f64, f64);

/// HTA, main branch, commit f4d0062c, with times in whole µs.
const HTA: &[Hta] = &[
    ("kineto/cuda-event-sync", 54, [38, 10, 5, 0, 4], 40, 2411, 98.0921, 0.0),
    ("pytorch/mi300-bert-small", 798, [656, 80, 43, 18, 0], 637, 2034, 87.3156, 11.3078),
    ("pytorch/h100-qwen1.5-0.5b", 10890, [8473, 1218, 24, 1174, 0], 2826, 33641, 5.0143, 8.2709),
    ("pytorch/h100-falconsai-vit", 2002, [1664, 181, 147, 8, 0], 1687, 4591, 99.8475, 0.0),
    ("pytorch/h100-owlv2-large", 52918, [42519, 5233, 156, 5009, 0], 35842, 222_574, 49.8942, 1.0420),
];

#[test]
fn the_graph_is_that_of_hta() {
    for &(case, nodes, edges, path_nodes, length, host, between) in HTA {
        let Some(folder) = corpus(case) else { return };
        let mut trace = read_path(&folder.join("trace.json.gz"), &ReadOptions::default()).unwrap();
        read_as_hta(&mut trace);
        let tree = TraceTree::build(trace, &TreeOptions::default());
        let scope = match case {
            "kineto/cuda-event-sync" => Scope::containing(tree.trace(), "ProfilerStep", 0..=0).unwrap(),
            _ => Scope::Whole,
        };
        let recorded = Recorded::new(&tree, &scope, &CommunicationPatterns::default());
        let path = recorded.dag_path();
        let share = |wanted: PathClass| {
            let segments = path.segments.iter().filter(|segment| segment.class == Some(wanted));
            segments.map(|segment| segment.weight).sum::<i64>() as f64 / path.length as f64 * 100.0
        };
        // Which of two events of one µs comes first decides between a launch delay and a delay between kernels.
        let [.., launch, between_kernels, synchronization, _] = path.edges;
        assert_eq!((path.nodes, path.edges[0], path.edges[1]), (nodes, edges[0], edges[1]), "{case}");
        assert_eq!((launch + between_kernels, synchronization), (edges[2] + edges[3], edges[4]), "{case}");
        assert!(launch.abs_diff(edges[2]) <= 8, "{case}: {launch} launch delays");
        assert_eq!((path.segments.len() + 1, path.length), (path_nodes, length * 1000), "{case}");
        assert_eq!(path.circular, 0, "{case}");
        let found_host = share(PathClass::HostOperator) + share(PathClass::HostRuntime);
        assert!((found_host - host).abs() < 0.005, "{case}: host {found_host} %");
        let found_between = share(PathClass::KernelGap);
        assert!((found_between - between).abs() < 0.005, "{case}: between kernels {found_between} %");
    }
}
