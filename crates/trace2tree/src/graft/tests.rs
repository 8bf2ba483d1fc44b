use super::*;
use crate::fixture::{Fixture, Planted, names};
use crate::{PseudoOperator, TreeOptions, busy_time};
use proptest::prelude::*;
use testdata::trace::shapes;
use trace_ingest::Sequence;

/// A capture: a module that launches two kernels, one of them through an operator with arguments.
fn capture() -> (TraceTree, RecordedCalls) {
    let mut fixture = Fixture::new();
    let kernel = fixture.builder.intern("gemm");
    fixture.python("capture.py(1): run", (0.0, 1000.0));
    let module = fixture.python("nn.Module: Linear_0", (10.0, 100.0));
    let shaped = fixture.recorded([Some(shapes(&[&[32]])), None, None, None]);
    let arguments = EventArguments { external_id: Some(5), ..shaped };
    fixture.event(Category::CPU_OP, "aten::mm", (1, 1), (20.0, 50.0), arguments);
    let named = EventArguments { launched_kernel: Some(kernel), ..EventArguments::default() };
    let first = fixture.event(Category::CUDA_RUNTIME, "hipLaunchKernel", (1, 1), (30.0, 5.0), named);
    fixture.op("aten::idle", (80.0, 5.0));
    let second = fixture.launch("hipMemcpyAsync", (90.0, 5.0), 2);
    let tree = fixture.tree();
    let end = tree.trace().events().end(module);
    let calls =
        RecordedCalls::copy(&tree, &[first, second], |caller| tree.trace().events().end(caller) <= end)
            .unwrap();
    (tree, calls)
}

struct Replay {
    tree: TraceTree,
    launch: EventId,
    kernels: [EventId; 2],
}

/// A graph launch below an operator, with two device events.
fn replay() -> Replay {
    let mut fixture = Fixture::new();
    fixture.op("replay", (0.0, 100.0));
    let launch = fixture.launch("hipGraphLaunch", (40.0, 30.0), 7);
    let kernels = [fixture.kernel("gemm", (200.0, 10.0), 7), fixture.kernel("Memcpy DtoD", (220.0, 5.0), 7)];
    Replay { tree: fixture.tree(), launch, kernels }
}

fn graft(tree: &mut TraceTree, launch: EventId, calls: &RecordedCalls, device_events: &[(usize, EventId)]) {
    tree.edit().graft(&[Graft { launch, calls, device_events: device_events.to_vec() }]).unwrap();
}

#[test]
fn launches_are_copied_with_their_callers_up_to_the_limit() {
    let (_, calls) = capture();
    assert_eq!(
        (calls.len(), calls.launch_count(), calls.is_empty()),
        (4, 2, false),
        "without the idle operator"
    );
    assert_eq!((calls.launch_name(0), calls.launched_kernel(0)), (Some("hipLaunchKernel"), Some("gemm")));
    assert_eq!((calls.launch_name(1), calls.launched_kernel(1)), (Some("hipMemcpyAsync"), None));
    assert_eq!((calls.launch_name(2), calls.launched_kernel(2)), (None, None));
}

#[test]
fn device_events_get_the_operators_of_the_capture() {
    let (_, calls) = capture();
    let Replay { mut tree, launch, kernels } = replay();
    let recorded = tree.trace().events().len();
    graft(&mut tree, launch, &calls, &[(0, kernels[0]), (1, kernels[1])]);
    let above = |event| names(&tree, &tree.ancestors(event).collect::<Vec<_>>());
    assert_eq!(
        above(kernels[0]),
        ["hipLaunchKernel", "aten::mm", "nn.Module: Linear_0", "hipGraphLaunch", "replay"]
    );
    assert_eq!(above(kernels[1]), ["hipMemcpyAsync", "nn.Module: Linear_0", "hipGraphLaunch", "replay"]);
    let operator = tree.operator(kernels[0]).unwrap();
    assert_eq!(
        tree.trace().argument(operator, |s| s.dims).unwrap().display(Sequence::Tuple).to_string(),
        "((32,),)"
    );
    assert_eq!(tree.kernel_launcher(kernels[0]), Some(operator));
    assert_eq!(
        tree.parent_module(operator).map(|module| tree.trace().name(module)),
        Some("nn.Module: Linear_0")
    );
    assert_eq!(tree.launch(kernels[0]), tree.parent(kernels[0]));
    assert_eq!(tree.recorded_launch(kernels[0]), Some(launch));
    assert_eq!(tree.device_events(launch), kernels);
    assert_eq!(tree.find_by_name("aten::mm"), [operator]);
    assert_eq!(tree.find_by_name("aten::idle"), []);
    let events = tree.trace().events();
    for event in events.ids() {
        assert_eq!(tree.is_captured(event), event.index() >= recorded);
        if tree.is_captured(event) {
            assert_eq!((events.start(event), events.end(event)), (events.start(launch), events.end(launch)));
            assert_eq!((events.track(event), events.external_id(event)), (events.track(launch), None));
        }
    }
    assert!(tree.has_captured());
}

#[test]
fn every_replay_gets_events_of_its_own_and_shares_names_and_arguments() {
    let (_, calls) = capture();
    let mut fixture = Fixture::new();
    let launches = [40.0, 140.0].map(|at| fixture.launch("hipGraphLaunch", (at, 30.0), at as i64));
    let kernels = [40, 140].map(|id| fixture.kernel("gemm", (300.0 + id as f64, 10.0), id));
    let mut tree = fixture.tree();
    let grafts =
        [0, 1].map(|at| Graft { launch: launches[at], calls: &calls, device_events: vec![(0, kernels[at])] });
    tree.edit().graft(&grafts).unwrap();
    let operators = kernels.map(|kernel| tree.operator(kernel).unwrap());
    let events = tree.trace().events();
    assert_ne!(operators[0], operators[1]);
    assert_ne!(events.uid(operators[0]), events.uid(operators[1]));
    assert_eq!(events.name(operators[0]), events.name(operators[1]));
    assert_eq!(events.signature(operators[0]), events.signature(operators[1]));
    assert_eq!(tree.trace().signatures().len(), 1);
    assert_eq!(tree.find_by_name("hipMemcpyAsync"), [], "nothing belongs below it");
}

#[test]
fn a_tree_without_python_frames_gets_none() {
    let (_, calls) = capture();
    let Replay { tree, launch, kernels } = replay();
    let mut tree = TraceTree::build(tree.into_trace(), &TreeOptions::default());
    graft(&mut tree, launch, &calls, &[(0, kernels[0]), (1, kernels[1])]);
    let above = names(&tree, &tree.ancestors(kernels[0]).collect::<Vec<_>>());
    assert_eq!(above, ["hipLaunchKernel", "aten::mm", "hipGraphLaunch", "replay"]);
    assert_eq!(tree.device_events(tree.roots()[0]), kernels);
}

#[test]
fn what_is_inserted_around_captured_events_did_not_run_either() {
    let (_, calls) = capture();
    let Replay { mut tree, launch, kernels } = replay();
    graft(&mut tree, launch, &calls, &[(0, kernels[0])]);
    let named = |name| PseudoOperator { name, ..PseudoOperator::default() };
    let operator = tree.operator(kernels[0]).unwrap();
    let around = tree.edit().insert_above(operator, named("around")).unwrap();
    let beside = tree.edit().isolate(kernels[1], named("beside")).unwrap();
    assert_eq!((tree.is_captured(around), tree.is_captured(beside)), (true, false));
    assert_eq!(tree.operator(tree.launch(kernels[0]).unwrap()), Some(operator));
    assert_eq!(tree.device_events(around), [kernels[0]]);
}

#[test]
fn what_does_not_belong_below_the_launch_leaves_the_tree_as_it_was() {
    let (_, calls) = capture();
    let Replay { mut tree, launch, kernels } = replay();
    let before = tree.node_count();
    for (device_events, said) in [
        (
            vec![(0, launch)],
            "event 1 (hipGraphLaunch) is not a device event directly below event 1 (hipGraphLaunch)",
        ),
        (
            vec![(0, kernels[0]), (1, kernels[0])],
            "event 2 (gemm) is not a device event directly below event 1 (hipGraphLaunch)",
        ),
        (vec![(2, kernels[0])], "recorded launch 2 does not exist: there are 2"),
    ] {
        let error = tree.edit().graft(&[Graft { launch, calls: &calls, device_events }]).unwrap_err();
        assert_eq!(error.to_string(), said);
        assert_eq!((tree.node_count(), tree.has_captured()), (before, false));
    }
    graft(&mut tree, launch, &calls, &[(0, kernels[0])]);
    let again = Graft { launch, calls: &calls, device_events: vec![(0, kernels[0])] };
    assert!(tree.edit().graft(&[again]).is_err(), "it hangs below the recorded launch now");
}

#[test]
fn only_host_events_can_be_copied() {
    let Replay { tree, kernels, .. } = replay();
    let error = RecordedCalls::copy(&tree, &kernels, |_| true).unwrap_err();
    assert_eq!(error.to_string(), "event 2 (gemm) is not a host event of the tree");
}

proptest! {
    #[test]
    fn grafting_neither_loses_nor_doubles_device_events(
        spans in prop::collection::vec((0u32..200, 1u32..60, any::<bool>()), 1..30),
        pick in prop::collection::vec(0usize..30, 1..30),
        python_frames: bool,
    ) {
        let mut fixture = Fixture::new();
        let mut launches = Vec::new();
        for &(start, duration, is_launch) in &spans {
            let span = (f64::from(start), f64::from(duration));
            match is_launch {
                true => launches.push(fixture.launch("cudaLaunchKernel", span, 0)),
                false if start % 2 == 0 => { fixture.python("f", span); }
                false => { fixture.op("op", span); }
            }
        }
        prop_assume!(!launches.is_empty());
        let capture = fixture.tree();
        let calls = RecordedCalls::copy(&capture, &launches, |_| true).unwrap();

        let mut fixture = Fixture::new();
        let root = fixture.op("replay", (0.0, 100.0));
        let launch = fixture.launch("cudaGraphLaunch", (10.0, 5.0), 1);
        let kernels: Vec<EventId> =
            (0..pick.len()).map(|at| fixture.kernel("k", (200.0 + at as f64, 3.0), 1)).collect();
        let options = TreeOptions { python_frames, ..TreeOptions::default() };
        let mut tree = TraceTree::build(fixture.finish(), &options);
        let time = tree.gpu_time(root);
        let device_events: Vec<(usize, EventId)> =
            kernels.iter().zip(&pick).skip(1).map(|(&kernel, at)| (at % launches.len(), kernel)).collect();
        graft(&mut tree, launch, &calls, &device_events);

        let mut below = tree.device_events(launch).to_vec();
        below.sort_unstable();
        prop_assert_eq!(&below, &kernels);
        prop_assert_eq!(tree.gpu_time(root), time);
        let launchers = tree.kernel_launchers(|_| true);
        let mut charged: Vec<EventId> = launchers.iter().flat_map(|(_, events)| events.to_vec()).collect();
        charged.sort_unstable();
        prop_assert_eq!(charged, kernels.clone());
        prop_assert_eq!(busy_time(tree.trace().events(), kernels), time.ticks());
        let nodes: usize = tree.roots().iter().map(|&root| 1 + tree.descendants(root).count()).sum();
        prop_assert_eq!(nodes, tree.node_count());
        for &(at, kernel) in &device_events {
            let copied = capture.ancestors(launches[at % launches.len()]).filter(|&above| {
                python_frames || capture.trace().events().category(above) != Category::PYTHON_FUNCTION
            });
            let expected = copied.count() + 3;
            prop_assert_eq!(tree.ancestors(kernel).count(), expected);
        }
    }
}
