//! Recordings that contradict themselves, and very long ones.

use critical_path::{
    CriticalPath, Dependencies, Fault, GraphReplay, GraphReplays, PathClass, PathOptions, Recorded, Replay,
    Scaling, Scope,
};
use perf_models::CommunicationPatterns;
use trace_ingest::{
    Category, EventArguments, EventId, Flow, FlowEnd, FlowKind, Synchronization, TraceBuilder,
};
use trace2tree::{TraceTree, TreeOptions};

fn device(correlation: i64, stream: i64, node: Option<i64>) -> EventArguments {
    EventArguments {
        correlation: Some(correlation),
        device: Some(0),
        stream: Some(stream),
        graph_node: node,
        ..EventArguments::default()
    }
}

/// 600 launches, of which the last takes 5 ms because the queue is full, or as long as the others.
#[test]
fn a_full_queue_makes_what_if_inexact_and_says_so() {
    let path = |last: i64, changes: &[Scaling]| {
        let mut builder = TraceBuilder::new();
        let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
        for at in 0..600 {
            let length = if at == 599 { last } else { 2_000 };
            let arguments = device(at, 7, None);
            builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, at * 3_000, length, arguments);
            builder.event(Category::KERNEL, "gemm", stream, 10_000 + at * 50_000, 50_000, arguments);
        }
        let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
        CriticalPath::new(tree, &PathOptions { changes: changes.to_vec(), ..PathOptions::default() }).faults
    };
    let faster = [Scaling { name: "gemm".to_owned(), factor: 0.5 }];
    let found = path(5_000_000, &faster);
    assert!(matches!(found[..], [(Fault::FullQueue, 1, Some(_))]), "{found:?}");
    assert_eq!(path(5_000_000, &[]), []);
    assert_eq!(path(2_000, &faster), []);
}

/// Every moment once, and nothing left out.
fn check(recorded: &Recorded<'_>) {
    let path = recorded.wall_path();
    assert_eq!(
        path.iter().map(|part| part.duration()).sum::<i64>(),
        recorded.time().end - recorded.time().start
    );
    assert!(path.windows(2).all(|two| two[0].end == two[1].start));
    assert!(recorded.dag_path(&Default::default()).length >= 0);
    assert!(Replay::new(recorded).with(&[]).duration >= 0);
}

fn arrow(builder: &mut TraceBuilder, id: i64, from: (i64, i64), to: (i64, i64)) {
    for (end, (lane, time)) in [(FlowEnd::Start, from), (FlowEnd::Finish, to)] {
        let track = builder.track(0, lane);
        let id = FlowKind::FIRST_GRAPH_DEPENDENCY + id;
        builder.flow(Flow { kind: FlowKind::GraphDependency, end, id, track, time: Some(time), event: None });
    }
}

/// Nodes of a graph, of which those that an arrow goes from and to are known by their places.
fn replay_of(nodes: &[(&str, i64, i64)], arrows: &[(u32, u32)]) -> TraceTree {
    let mut builder = TraceBuilder::new();
    let host = builder.track(1, 1);
    builder.event(Category::CUDA_RUNTIME, "cudaGraphLaunch", host, 0, 10_000, device(5, 7, None));
    let track = builder.track(0, 7);
    for (number, &(name, start, end)) in (1..).zip(nodes) {
        let arguments = device(5, 7, Some(3 << 32 | number));
        builder.event(Category::KERNEL, name, track, start, end - start, arguments);
    }
    for (id, &(from, to)) in (FlowKind::FIRST_GRAPH_DEPENDENCY..).zip(arrows) {
        for (end, event) in [(FlowEnd::Start, from), (FlowEnd::Finish, to)] {
            let (kind, event) = (FlowKind::GraphDependency, Some(event + 1));
            builder.flow(Flow { kind, end, id, track, time: None, event });
        }
    }
    TraceTree::build(builder.finish(), &TreeOptions::default())
}

#[test]
fn the_longest_chain_of_a_replay_is_found_by_events_that_arrows_name() {
    // By times alone, C could come after either of two equal kernels, and D after any.
    let nodes = [("A", 30_000, 35_000), ("A", 30_000, 35_000), ("C", 35_000, 36_000), ("D", 36_000, 40_000)];
    let replay = GraphReplay {
        launch: EventId(0),
        graph: Some(3),
        works: 4,
        work_time: 15_000,
        span: 10_000,
        dependencies: Some(Dependencies { edges: 2, roots: 2, critical: 9_000 }),
    };
    let tree = replay_of(&nodes, &[(1, 2), (0, 3)]);
    assert_eq!(GraphReplays::new(&tree).replays, [replay]);
    // An arrow back and one that comes from nowhere change nothing.
    let tree = replay_of(&nodes, &[(1, 2), (0, 3), (3, 0), (77, 3)]);
    assert_eq!(GraphReplays::new(&tree).replays, [replay]);
    let recorded = Recorded::new(&tree, &Scope::Whole, &CommunicationPatterns::default());
    let faults: Vec<Fault> = recorded.faults().into_iter().map(|(fault, ..)| fault).collect();
    assert_eq!(faults, [Fault::UnresolvedDependency, Fault::DependencyOnLater]);
    let tree = replay_of(&nodes, &[]);
    assert_eq!(GraphReplays::new(&tree).replays, [GraphReplay { dependencies: None, ..replay }]);
}

#[test]
fn the_path_through_a_graph_goes_by_its_dependencies() {
    // Lanes 7 and 8; D comes after B, which comes after A; C is on the lane of D.
    let nodes = [
        ("A", 7, 30_000, 35_000),
        ("B", 7, 35_000, 37_000),
        ("C", 8, 30_500, 34_000),
        ("D", 8, 37_200, 40_000),
    ];
    let mut builder = TraceBuilder::new();
    let host = builder.track(1, 1);
    builder.event(Category::CUDA_RUNTIME, "cudaGraphLaunch", host, 0, 10_000, device(5, 7, None));
    for (number, (name, lane, start, end)) in (1..).zip(nodes) {
        let track = builder.track(0, lane);
        builder.event(Category::KERNEL, name, track, start, end - start, device(5, lane, Some(number)));
    }
    arrow(&mut builder, 0, (7, 35_000), (7, 35_000));
    arrow(&mut builder, 1, (7, 37_000), (8, 37_200));
    arrow(&mut builder, 2, (8, 34_000), (8, 37_200));
    let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
    let replay = GraphReplay {
        launch: EventId(0),
        graph: None,
        works: 4,
        work_time: 13_300,
        span: 10_000,
        dependencies: Some(Dependencies { edges: 3, roots: 2, critical: 9_800 }),
    };
    assert_eq!(GraphReplays::new(&tree).replays, [replay]);
    let recorded = Recorded::new(&tree, &Scope::Whole, &CommunicationPatterns::default());
    let path = recorded.wall_path();
    let name = |event| tree.trace().name(event);
    let found: Vec<_> =
        path.iter().map(|part| (part.class, part.event.map_or("", name), part.duration())).collect();
    assert_eq!(
        found,
        [
            (PathClass::HostRuntime, "cudaGraphLaunch", 10_000),
            (PathClass::LaunchDelay, "A", 20_000),
            (PathClass::GpuCompute, "A", 5_000),
            (PathClass::GpuCompute, "B", 2_000),
            (PathClass::GraphDependency, "D", 200),
            (PathClass::GpuCompute, "D", 2_800),
        ]
    );
    check(&recorded);
}

#[test]
fn contradictions_are_counted() {
    let mut builder = TraceBuilder::new();
    let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
    builder.event(Category::CUDA_RUNTIME, "cudaGraphLaunch", host, 0, 10, device(1, 7, None));
    // Two nodes of no length that depend on each other, and arrows to nothing.
    builder.event(Category::KERNEL, "a", stream, 100, 0, device(1, 7, Some(1)));
    builder.event(Category::KERNEL, "b", stream, 100, 0, device(1, 7, Some(2)));
    builder.event(Category::KERNEL, "c", stream, 200, 50, device(1, 7, Some(3)));
    arrow(&mut builder, 0, (7, 100), (7, 100));
    arrow(&mut builder, 1, (7, 250), (7, 100));
    arrow(&mut builder, 2, (7, 9_000), (7, 9_100));
    // A kernel before its launch.
    builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, 400, 10, device(2, 7, None));
    builder.event(Category::KERNEL, "early", stream, 300, 20, device(2, 7, None));
    // A stream that waits for work that comes later.
    let (category, kind) = (builder.category("cuda_sync"), builder.intern("Stream Wait Event"));
    let other = builder.track(0, 8);
    builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, 500, 10, device(3, 7, None));
    builder.event(Category::KERNEL, "late", stream, 900, 50, device(3, 7, None));
    builder.event(Category::CUDA_RUNTIME, "cudaEventRecord", host, 520, 5, device(4, 7, None));
    builder.event(Category::CUDA_RUNTIME, "cudaStreamWaitEvent", host, 530, 5, device(5, 8, None));
    let synchronization = Some(Synchronization { kind: Some(kind), stream: Some(7), record: Some(4) });
    let waits = EventArguments { synchronization, ..device(5, 8, None) };
    builder.event(category, "Stream Wait Event", other, 530, 5, waits);
    let lost = EventArguments { synchronization, ..device(77, 8, None) };
    builder.event(category, "Stream Wait Event", other, 535, 5, lost);
    builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, 540, 10, device(6, 8, None));
    builder.event(Category::KERNEL, "waiting", other, 600, 50, device(6, 8, None));
    let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
    let recorded = Recorded::new(&tree, &Scope::Whole, &CommunicationPatterns::default());
    // An arrow that no event fits is of no event.
    let unresolved = recorded.faults().into_iter().find(|&(fault, ..)| fault == Fault::UnresolvedDependency);
    assert!(matches!(unresolved, Some((_, 1.., None))), "{unresolved:?}");
    let faults: Vec<Fault> = recorded.faults().into_iter().map(|(fault, ..)| fault).collect();
    for fault in [
        Fault::LaunchAfterWork,
        Fault::UnresolvedDependency,
        Fault::AmbiguousDependency,
        Fault::DependencyOnLater,
        Fault::WaitsForLater,
        Fault::SynchronizationWithoutCall,
    ] {
        assert!(faults.contains(&fault), "{fault:?} is not among {faults:?}");
    }
    check(&recorded);
}

#[test]
fn a_million_events_of_a_stream_without_launches_are_gone_through_once() {
    let mut builder = TraceBuilder::new();
    let stream = builder.track(0, 7);
    for number in 0..1_000_000 {
        builder.event(Category::KERNEL, "k", stream, number * 10, 7, device(number, 7, None));
    }
    let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
    let recorded = Recorded::new(&tree, &Scope::Whole, &CommunicationPatterns::default());
    check(&recorded);
    assert_eq!(recorded.wall_path().len(), 1_999_999);
}

/// The device's clock is ahead of the host's: the kernel seems to end after the call that waited for it.
#[test]
fn a_wait_is_one_although_the_clocks_differ() {
    let mut builder = TraceBuilder::new();
    let (host, track) = (builder.track(1, 1), builder.track(0, 7));
    builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, 0, 5_000, device(5, 7, None));
    builder.event(Category::KERNEL, "gemm", track, 10_000, 990_000, device(5, 7, None));
    let arguments = EventArguments { correlation: Some(6), ..EventArguments::default() };
    builder.event(Category::CUDA_RUNTIME, "cudaDeviceSynchronize", host, 5_000, 987_000, arguments);
    let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
    let recorded = Recorded::new(&tree, &Scope::default(), &CommunicationPatterns::default());
    let halved = Scaling { name: "gemm".to_owned(), factor: 0.5 };
    let duration = Replay::new(&recorded).with(&[halved]).duration;
    assert!((500_000..=510_000).contains(&duration), "{duration}");
}
