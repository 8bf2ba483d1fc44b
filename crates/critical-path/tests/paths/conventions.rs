//! What each convention of the graph of dependencies changes, in µs, on small recordings.

use critical_path::{Conventions, DagEdgeKind, Recorded, Scope};
use perf_models::CommunicationPatterns;
use trace_ingest::{Category, EventArguments, TraceBuilder};
use trace2tree::{TraceTree, TreeOptions};

use DagEdgeKind::{Dependency, KernelKernelDelay, LaunchDelay, Operator};

/// A recording, whose times are in µs.
struct Recording(TraceBuilder);

impl Recording {
    fn new() -> Self {
        Recording(TraceBuilder::new())
    }

    fn host(
        mut self,
        category: Category,
        name: &str,
        thread: i64,
        times: (i64, i64),
        correlation: Option<i64>,
    ) -> Self {
        let track = self.0.track(1, thread);
        let arguments = EventArguments { correlation, ..EventArguments::default() };
        self.0.event(category, name, track, times.0 * 1000, (times.1 - times.0) * 1000, arguments);
        self
    }

    fn operator(self, name: &str, thread: i64, times: (i64, i64)) -> Self {
        self.host(Category::CPU_OP, name, thread, times, None)
    }

    fn call(self, name: &str, times: (i64, i64), correlation: i64) -> Self {
        self.host(Category::CUDA_RUNTIME, name, 1, times, Some(correlation))
    }

    fn work(mut self, name: &str, device: i64, times: (i64, i64), correlation: i64) -> Self {
        let track = self.0.track(device, 7);
        let arguments = EventArguments {
            correlation: Some(correlation),
            device: Some(device),
            stream: Some(7),
            ..EventArguments::default()
        };
        self.0.event(Category::KERNEL, name, track, times.0 * 1000, (times.1 - times.0) * 1000, arguments);
        self
    }

    /// A launch and its kernel.
    fn launched(self, id: i64, call: (i64, i64), work: (i64, i64)) -> Self {
        self.call("cudaLaunchKernel", call, id).work("gemm", 0, work, id)
    }

    fn tree(self) -> TraceTree {
        TraceTree::build(self.0.finish(), &TreeOptions::default())
    }
}

/// The edges of the path: what they are and what they weigh.
fn path(tree: &TraceTree, conventions: Conventions) -> Vec<(DagEdgeKind, i64)> {
    let recorded = Recorded::new(tree, &Scope::Whole, &CommunicationPatterns::default());
    let path = recorded.dag_path(&conventions);
    path.segments.iter().map(|segment| (segment.kind, segment.weight / 1000)).collect()
}

/// The edges of the graph.
fn edges(tree: &TraceTree, conventions: Conventions, of: DagEdgeKind) -> usize {
    let recorded = Recorded::new(tree, &Scope::Whole, &CommunicationPatterns::default());
    recorded.dag_path(&conventions).edges[of as usize]
}

#[test]
fn without_locks_a_copy_weighs_nothing_on_the_host() {
    let tree = Recording::new()
        .operator("aten::copy_", 1, (0, 100))
        .call("cudaMemcpyAsync", (10, 90), 1)
        .work("Memcpy HtoD", 0, (20, 25), 1)
        .tree();
    assert_eq!(path(&tree, Conventions::default()), [(Operator, 10), (Operator, 80), (Operator, 10)]);
    let without = Conventions { ignores_locks: true, ..Conventions::default() };
    assert_eq!(path(&tree, without), [(Operator, 10), (LaunchDelay, 10), (Operator, 5)]);
}

#[test]
fn without_locks_launches_of_two_threads_do_not_wait() {
    let tree = Recording::new()
        .call("cudaLaunchKernel", (0, 10), 1)
        .host(Category::CUDA_RUNTIME, "cudaLaunchKernel", 2, (5, 20), Some(2))
        .tree();
    let without = Conventions { ignores_locks: true, ..Conventions::default() };
    // The first call ends while the second is open, which may have held the lock; the second ends after the first.
    assert_eq!(edges(&tree, Conventions::default(), Dependency), 2);
    assert_eq!(edges(&tree, without, Dependency), 0);
}

#[test]
fn the_backward_continues_the_forward_unless_threads_are_kept_apart() {
    let tree =
        Recording::new().operator("forward", 1, (0, 10)).operator("autograd::engine", 2, (20, 35)).tree();
    assert_eq!(path(&tree, Conventions::default()), [(Operator, 10), (Dependency, 0), (Operator, 15)]);
    let apart = Conventions { keeps_threads_apart: true, ..Conventions::default() };
    assert_eq!(path(&tree, apart), [(Operator, 15)]);
}

#[test]
fn kernels_far_apart_or_overlapping_are_linked_if_any_gap_is() {
    let far = Recording::new().launched(1, (0, 5), (20, 32)).launched(2, (5, 10), (1600, 1610)).tree();
    let any = Conventions { links_any_gap: true, ..Conventions::default() };
    assert_eq!(path(&far, Conventions::default()), [(Operator, 12)]);
    assert_eq!(path(&far, any), [(Operator, 12), (KernelKernelDelay, 1568), (Operator, 10)]);

    let overlapping = Recording::new().launched(1, (0, 5), (20, 50)).launched(2, (5, 10), (40, 60)).tree();
    assert_eq!(path(&overlapping, Conventions::default()), [(Operator, 30)]);
    assert_eq!(path(&overlapping, any), [(Operator, 30), (KernelKernelDelay, 0), (Operator, 20)]);
    let subtracted = Conventions { subtracts_overlap: true, ..any };
    let expected = [(Operator, 30), (KernelKernelDelay, -10), (Operator, 20)];
    assert_eq!(path(&overlapping, subtracted), expected);
    // It is searched as if the two followed each other.
    let recorded = Recorded::new(&overlapping, &Scope::Whole, &CommunicationPatterns::default());
    assert_eq!(recorded.dag_path(&subtracted).length, 50_000);
}

#[test]
fn of_the_kernels_of_one_call_the_last_alone_may_count() {
    let tree = Recording::new()
        .call("cudaGraphLaunch", (0, 5), 1)
        .work("a", 0, (20, 30), 1)
        .work("b", 0, (31, 40), 1)
        .work("c", 0, (41, 45), 1)
        .tree();
    assert_eq!(path(&tree, Conventions::default()).iter().map(|(_, weight)| weight).sum::<i64>(), 25);
    let one = Conventions { one_work_per_call: true, ..Conventions::default() };
    // The call takes longer than the last kernel.
    assert_eq!(path(&tree, one), [(Operator, 5)]);
    assert_eq!(edges(&tree, one, Operator), 2);
}

#[test]
fn kernels_of_calls_without_length_may_be_left_out() {
    let tree = Recording::new().launched(1, (0, 0), (20, 30)).launched(2, (5, 10), (40, 44)).tree();
    let left_out = Conventions { ignores_instant_calls: true, ..Conventions::default() };
    assert_eq!(edges(&tree, Conventions::default(), Operator), 3);
    assert_eq!(edges(&tree, left_out, Operator), 2);
}

#[test]
fn streams_of_two_devices_may_be_one() {
    let tree = Recording::new()
        .launched(1, (0, 5), (20, 30))
        .call("cudaLaunchKernel", (5, 10), 2)
        .work("gemm", 1, (40, 50), 2)
        .tree();
    let merged = Conventions { merges_devices: true, ..Conventions::default() };
    assert_eq!(edges(&tree, Conventions::default(), KernelKernelDelay), 0);
    assert_eq!(edges(&tree, Conventions::default(), LaunchDelay), 2);
    // Two kernels are in one queue then.
    assert_eq!(path(&tree, merged), [(Operator, 10), (KernelKernelDelay, 10), (Operator, 10)]);
    assert_eq!(edges(&tree, merged, LaunchDelay), 0);
}

#[test]
fn operators_that_name_a_stream_may_be_left_out() {
    let mut recording = Recording::new().operator("Torch-Compiled Region", 1, (0, 100));
    let track = recording.0.track(1, 1);
    let arguments = EventArguments { stream: Some(0), ..EventArguments::default() };
    recording.0.event(Category::CPU_OP, "triton_poi_fused_0", track, 10_000, 40_000, arguments);
    let tree = recording.tree();
    assert_eq!(path(&tree, Conventions::default()), [(Operator, 10), (Operator, 40), (Operator, 50)]);
    let left_out = Conventions { ignores_operators_on_streams: true, ..Conventions::default() };
    assert_eq!(path(&tree, left_out), [(Operator, 100)]);
}

#[test]
fn calls_that_fill_no_queue_have_no_launch_delay() {
    let tree = Recording::new().call("cuLaunchKernelEx", (0, 5), 1).work("gemm", 0, (20, 30), 1).tree();
    assert_eq!(path(&tree, Conventions::default()), [(LaunchDelay, 20), (Operator, 10)]);
    let unqueued = Conventions { unqueued_calls: &["cuLaunchKernelEx"], ..Conventions::default() };
    assert_eq!(path(&tree, unqueued), [(Operator, 10)]);
}

#[test]
fn kernels_launched_before_the_scope_stand_in_the_queue() {
    let tree = Recording::new().launched(1, (0, 5), (20, 30)).launched(2, (10, 15), (40, 50)).tree();
    let scope = Scope::LaunchedIn(10_000..15_000);
    let recorded = Recorded::new(&tree, &scope, &CommunicationPatterns::default());
    let path = recorded.dag_path(&Conventions::default());
    // The kernel waited for the one before it, not for its launch.
    assert_eq!(path.edges[LaunchDelay as usize], 0);
    assert_eq!(path.length, 10_000);
}

#[test]
fn each_end_may_close_the_innermost_operator() {
    // The second begins in the first and ends behind it; the third begins before the second ends.
    let tree = Recording::new()
        .operator("a", 1, (0, 10))
        .operator("b", 1, (5, 12))
        .operator("c", 1, (11, 20))
        .tree();
    let innermost = Conventions { closes_innermost: true, ..Conventions::default() };
    // c in b in a, or b and c in a.
    let nested = [(Operator, 5), (Operator, 6), (Operator, 9), (Operator, 0), (Operator, 0)];
    assert_eq!(path(&tree, Conventions::default()), nested);
    let beside = [(Operator, 5), (Operator, 7), (Operator, 0), (Operator, 9), (Operator, 0)];
    assert_eq!(path(&tree, innermost), beside);
}

#[test]
fn the_events_of_devices_may_be_counted_first() {
    let tree =
        Recording::new().operator("nccl:all_reduce", 1, (0, 10)).work("ncclDevKernel", 0, (20, 30), 1).tree();
    let first = |device_first| Scope::containing(tree.trace(), "nccl", 0..=0, device_first);
    assert_eq!(first(false), Ok(Scope::LaunchedIn(0..10_000)));
    assert_eq!(first(true), Ok(Scope::LaunchedIn(20_000..30_000)));
}
