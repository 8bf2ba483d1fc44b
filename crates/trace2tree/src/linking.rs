//! Device events under the calls that launched them.

use hashbrown::HashMap;
use trace_ingest::{Category, EventId, FlowEnd, FlowKind, PerString, Trace, TrackId};

use crate::flow_linking;
use crate::id_index::{Candidate, IdIndex};
use crate::names::CallKind;
use crate::row::NONE;
use crate::warning::TreeStatistics;

/// How the launch of a device event is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkBy {
    /// By the correlation id that the profiler gave both. A call may launch any number of device events.
    /// When several calls carry one correlation id, a graph launch is taken before a call whose name contains
    /// `launch`, `memcpy` or `memset`, that before any other call, and among equals the first in the file.
    /// A device event without such a call falls back to the launch arrow (`ac2g`) that ends at it, then to
    /// the first call with its External id, unless that merely repeats the correlation id, then to the operator at which an arrow of the autograd profiler (`cpu_to_cuda`)
    /// that ends at it starts.
    #[default]
    Correlation,
    /// By launch arrows alone, as TraceLens does: a call needs both ends of an arrow and gets at most one
    /// device event, unless it is `cudaGraphLaunch` or `hipGraphLaunch`. Memory fills of ROCm, for
    /// which no arrow is recorded, stay unlinked.
    Flow,
}

/// Sets the parent of every device event whose launch is found. Returns how many correlation ids of linked device
/// events several calls carry.
pub(crate) fn link(
    trace: &Trace,
    link_by: LinkBy,
    parent: &mut [u32],
    statistics: &mut TreeStatistics,
) -> u64 {
    match link_by {
        LinkBy::Correlation => by_correlation(trace, parent, statistics),
        LinkBy::Flow => {
            flow_linking::link(trace, parent, statistics);
            0
        }
    }
}

fn by_correlation(trace: &Trace, parent: &mut [u32], statistics: &mut TreeStatistics) -> u64 {
    let events = trace.events();
    let mut kinds: PerString<'_, CallKind> = PerString::new(trace.strings(), CallKind::from_name);
    let mut calls = Vec::new();
    let mut device = Vec::new();
    for event in events.ids() {
        let category = events.category(event);
        if category.is_launch_api() {
            if let Some(id) = events.correlation(event) {
                calls.push(Candidate { id, rank: *kinds.get(events.name(event)), row: event.0 });
            }
        } else if category.is_device() {
            device.push(event);
        }
    }
    let (index, shared) = IdIndex::new(calls);
    let mut shared_used = vec![false; shared.len()];
    let mut left = Vec::new();
    for event in device {
        let found = events.correlation(event).and_then(|id| Some((id, index.get(id)?)));
        let Some((id, row)) = found else {
            left.push(event);
            continue;
        };
        parent[event.index()] = row;
        match kinds.get(events.name(EventId(row))) {
            CallKind::GraphLaunch => statistics.linked_by_graph_launch += 1,
            _ => statistics.linked_by_correlation += 1,
        }
        if let Ok(position) = shared.binary_search(&id) {
            shared_used[position] = true;
        }
    }
    if !left.is_empty() {
        let arrows = Arrows::new(trace, &mut kinds);
        left.retain(|&event| match arrows.launch(trace, event) {
            Some(row) => {
                parent[event.index()] = row;
                statistics.linked_by_flow += 1;
                false
            }
            None => true,
        });
        statistics.linked_by_external_id = by_external_id(trace, &mut kinds, &left, parent);
        statistics.linked_by_flow += by_operator_arrow(trace, &left, parent);
    }
    shared_used.into_iter().filter(|&used| used).count() as u64
}

fn by_external_id(
    trace: &Trace,
    kinds: &mut PerString<'_, CallKind>,
    device: &[EventId],
    parent: &mut [u32],
) -> u64 {
    let events = trace.events();
    if device.iter().all(|&event| events.operator_id(event).is_none()) {
        return 0;
    }
    let calls = calls(trace)
        .filter_map(|event| {
            let rank = *kinds.get(events.name(event));
            events.operator_id(event).map(|id| Candidate { id, rank, row: event.0 })
        })
        .collect();
    let (index, _) = IdIndex::new(calls);
    let mut linked = 0;
    for &event in device {
        if let Some(row) = events.operator_id(event).and_then(|id| index.get(id)) {
            parent[event.index()] = row;
            linked += 1;
        }
    }
    linked
}

/// Links by arrows between operators and device work ([`FlowKind::OperatorToDevice`]), whose ends are the starts of both. Of
/// operators of a thread that start together, the innermost is taken.
fn by_operator_arrow(trace: &Trace, device: &[EventId], parent: &mut [u32]) -> u64 {
    let arrows = || trace.flows().iter().filter(|flow| flow.kind == FlowKind::OperatorToDevice);
    if arrows().next().is_none() {
        return 0;
    }
    let events = trace.events();
    let place = |event: EventId| (events.track(event), events.start(event));
    let is_operator = |&event: &EventId| events.category(event) == Category::CPU_OP;
    let ends = |end: FlowEnd| {
        arrows()
            .filter(move |flow| flow.end == end)
            .filter_map(|flow| Some((flow.id, flow.track, flow.time?)))
    };
    let mut operators: Vec<EventId> = events.ids().filter(is_operator).collect();
    operators.sort_by_key(|&event| (place(event), events.duration(event)));
    let starts: HashMap<i64, u32> = ends(FlowEnd::Start)
        .filter_map(|(id, track, time)| {
            let at = operators.partition_point(|&event| place(event) < (track, time));
            let operator = operators.get(at).filter(|&&event| place(event) == (track, time))?;
            Some((id, operator.0))
        })
        .collect();
    let mut finishes: Vec<((TrackId, i64), i64)> =
        ends(FlowEnd::Finish).map(|(id, track, time)| ((track, time), id)).collect();
    finishes.sort_unstable();
    // Work that starts together takes its arrows in the order of the file.
    let mut taken = vec![false; finishes.len()];
    let mut linked = 0;
    for &event in device {
        let first = finishes.partition_point(|&(of, _)| of < place(event));
        let mut here = (first..finishes.len()).take_while(|&at| finishes[at].0 == place(event));
        let Some(arrow) = here.find(|&at| !taken[at]).filter(|_| parent[event.index()] == NONE) else {
            continue;
        };
        taken[arrow] = true;
        if let Some(&operator) = starts.get(&finishes[arrow].1) {
            parent[event.index()] = operator;
            linked += 1;
        }
    }
    linked
}

fn calls(trace: &Trace) -> impl Iterator<Item = EventId> + '_ {
    trace.events().ids().filter(|&event| trace.events().category(event).is_launch_api())
}

/// Launch arrows, for device events whose correlation id names no call.
///
/// An arrow's end has an id and a row of the trace. It ends at a device event of that row that carries the
/// id as correlation or External id, and starts at a call of the start's row that does so.
struct Arrows {
    starts: Vec<(i64, TrackId)>,
    finishes: Vec<(i64, TrackId)>,
    /// Calls by id and row; correlation before External id, launches before other calls.
    calls: Vec<(i64, TrackId, bool, CallKind, u32)>,
}

impl Arrows {
    fn new(trace: &Trace, kinds: &mut PerString<'_, CallKind>) -> Arrows {
        let events = trace.events();
        let ends = |end: FlowEnd| {
            let mut ends: Vec<(i64, TrackId)> = trace
                .flows()
                .iter()
                .filter(|flow| flow.kind == FlowKind::Launch && flow.end == end)
                .map(|flow| (flow.id, flow.track))
                .collect();
            ends.sort_unstable();
            ends
        };
        let (starts, finishes) = (ends(FlowEnd::Start), ends(FlowEnd::Finish));
        let mut with_id = Vec::new();
        if !starts.is_empty() && !finishes.is_empty() {
            for event in calls(trace) {
                let (track, kind) = (events.track(event), *kinds.get(events.name(event)));
                for (id, external) in [(events.correlation(event), false), (events.operator_id(event), true)]
                {
                    with_id.extend(id.map(|id| (id, track, external, kind, event.0)));
                }
            }
            with_id.sort_unstable();
        }
        Arrows { starts, finishes, calls: with_id }
    }

    fn launch(&self, trace: &Trace, device: EventId) -> Option<u32> {
        let events = trace.events();
        [events.correlation(device), events.operator_id(device)].into_iter().flatten().find_map(|id| {
            self.finishes.binary_search(&(id, events.track(device))).ok()?;
            let first = self.starts.partition_point(|&(other, _)| other < id);
            let starts = self.starts[first..].iter().take_while(|&&(other, _)| other == id);
            starts.map(|&(_, track)| track).find_map(|track| {
                let call = self.calls.partition_point(|&(other, row, ..)| (other, row) < (id, track));
                self.calls.get(call).filter(|call| (call.0, call.1) == (id, track)).map(|call| call.4)
            })
        })
    }
}

/// The device events of the trace that have no parent, in file order.
pub(crate) fn unlinked(trace: &Trace, parent: &[u32]) -> Vec<EventId> {
    let is_unlinked =
        |event: &EventId| parent[event.index()] == NONE && trace.events().category(*event).is_device();
    trace.events().ids().filter(is_unlinked).collect()
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Fixture, Planted, names};
    use crate::{TraceTree, TreeOptions, TreeWarning};
    use trace_ingest::{Category, EventArguments, EventId, FlowEnd};

    fn external(id: i64) -> EventArguments {
        EventArguments { external_id: Some(id), ..EventArguments::default() }
    }

    #[test]
    fn a_kernel_hangs_below_the_call_with_its_correlation_id() {
        let mut fixture = Fixture::new();
        let a = fixture.op("a", (0.0, 100.0));
        let launch = fixture.launch("hipLaunchKernel", (5.0, 5.0), 1);
        let kernel = fixture.kernel("k", (20.0, 5.0), 1);
        fixture.arrow(1);
        let tree = fixture.tree();
        assert_eq!(tree.children(a), [launch]);
        assert_eq!(tree.device_events(a), [kernel]);
        assert_eq!(tree.children(launch), [kernel]);
        assert_eq!(tree.parent(kernel), Some(launch));
        assert_eq!(tree.launch(kernel), Some(launch));
        assert_eq!(tree.launch(launch), None);
        assert_eq!(tree.roots(), [a]);
        assert_eq!(tree.operator_roots(), [a]);
        assert_eq!(tree.statistics().linked_by_correlation, 1);
        assert_eq!(tree.warnings(), []);
    }

    #[test]
    fn the_kernel_of_a_call_that_was_moved_up_counts_for_its_new_ancestors() {
        let mut fixture = Fixture::new();
        let p = fixture.op("p", (0.0, 40.0));
        let a = fixture.op("a", (5.0, 10.0));
        let launch = fixture.launch("hipLaunchKernel", (12.0, 10.0), 1);
        let kernel = fixture.kernel("k", (50.0, 5.0), 1);
        let tree = fixture.tree();
        assert_eq!((tree.parent(launch), tree.parent(kernel)), (Some(p), Some(launch)));
        assert_eq!(tree.device_events(p), [kernel]);
        assert!(tree.non_gpu_path(a) && !tree.non_gpu_path(p));
        assert_eq!(tree.warnings(), [TreeWarning::ReattachedHostEvents { count: 1, first_uid: launch.0 }]);
    }

    #[test]
    fn an_operator_without_device_work_is_off_the_gpu_path_and_one_with_it_is_not() {
        let mut fixture = Fixture::new();
        let idle = fixture.op("idle", (0.0, 5.0));
        let busy = fixture.op("busy", (10.0, 20.0));
        fixture.launch("cudaLaunchKernel", (12.0, 5.0), 1);
        let kernel = fixture.kernel("k", (20.0, 5.0), 1);
        let span =
            fixture.event(Category::USER_ANNOTATION, "step", (1, 1), (0.0, 50.0), EventArguments::default());
        let tree = fixture.tree();
        assert!(tree.non_gpu_path(idle) && tree.non_gpu_path(span));
        assert!(!tree.non_gpu_path(busy) && !tree.non_gpu_path(kernel));
        assert_eq!(tree.device_events(idle), []);
        assert_eq!(tree.device_events(kernel), []);
    }

    #[test]
    fn arrows_of_the_autograd_profiler_link_operators_that_made_no_call() {
        let mut fixture = Fixture::new();
        let outer = fixture.op("outer", (0.0, 100.0));
        let inner = fixture.op("inner", (0.0, 50.0));
        let later = fixture.op("later", (60.0, 20.0));
        let on_device = |fixture: &mut Fixture, name, start| {
            fixture.event(Category::KERNEL, name, (0, 0), (start, 10.0), EventArguments::default())
        };
        // Two that start together take their arrows in the order of the file.
        let kernels = [("k1", 200.0), ("k2", 200.0), ("k3", 300.0), ("without", 400.0)]
            .map(|(name, start)| on_device(&mut fixture, name, start));
        for (id, (operator, kernel)) in [(0.0, 200.0), (60.0, 200.0), (60.0, 300.0)].into_iter().enumerate() {
            for (end, row, time) in [(FlowEnd::Start, (1, 1), operator), (FlowEnd::Finish, (0, 0), kernel)] {
                fixture.operator_arrow(id as i64, end, row, time);
            }
        }
        let tree = fixture.tree();
        assert_eq!(kernels.map(|kernel| tree.launch(kernel)), [Some(inner), Some(later), Some(later), None]);
        assert_eq!(tree.kernel_launcher(kernels[0]), Some(inner));
        assert_eq!(tree.device_events(outer), &kernels[..3]);
        assert_eq!((tree.operator(kernels[1]), tree.statistics().linked_by_flow), (Some(later), 3));
    }

    #[test]
    fn one_call_may_launch_several_device_events() {
        let mut fixture = Fixture::new();
        let launch = fixture.launch("cudaLaunchCooperativeKernelMultiDevice", (0.0, 5.0), 1);
        fixture.kernel("k0", (20.0, 5.0), 1);
        fixture.kernel("k1", (21.0, 5.0), 1);
        let tree = fixture.tree();
        assert_eq!(names(&tree, tree.device_events(launch)), ["k0", "k1"]);
    }

    #[test]
    fn any_graph_launch_gets_all_kernels_of_its_correlation_id() {
        for name in ["cudaGraphLaunch", "hipGraphLaunch", "cuGraphLaunch", "hipGraphLaunch_spt"] {
            let mut fixture = Fixture::new();
            let op = fixture.op("replay", (0.0, 100.0));
            fixture.launch(name, (5.0, 5.0), 4);
            for (index, duration) in [20.0, 30.0, 40.0].into_iter().enumerate() {
                fixture.kernel("k", (200.0 + 50.0 * index as f64, duration), 4);
            }
            let tree = fixture.tree();
            assert_eq!(tree.device_events(op).len(), 3, "{name}");
            assert_eq!(tree.gpu_time(op).ticks(), 90_000);
            assert_eq!(tree.statistics().linked_by_graph_launch, 3);
        }
    }

    #[test]
    fn of_calls_that_share_a_correlation_id_the_launching_one_is_taken() {
        let mut fixture = Fixture::new();
        fixture.launch("cudaStreamSynchronize", (0.0, 1.0), 1);
        let first = fixture.launch("cudaLaunchKernel", (2.0, 1.0), 1);
        fixture.launch("cudaLaunchKernel", (4.0, 1.0), 1);
        let kernel = fixture.kernel("k", (20.0, 5.0), 1);
        let tree = fixture.tree();
        assert_eq!(tree.parent(kernel), Some(first));
        assert_eq!(tree.warnings(), [TreeWarning::SharedCorrelations { count: 1 }]);
    }

    #[test]
    fn device_events_without_a_launch_stay_out_of_the_tree_and_are_reported() {
        let mut fixture = Fixture::new();
        fixture.op("a", (0.0, 10.0));
        let early = fixture.kernel("early", (20.0, 5.0), 77);
        let overlapping = fixture.kernel("overlapping", (22.0, 5.0), 78);
        let tree = fixture.tree();
        assert!(!tree.contains(early));
        assert_eq!((tree.parent(early), tree.launch(early)), (None, None));
        assert_eq!(tree.unlinked_device_events(), [early, overlapping]);
        let [TreeWarning::UnlinkedDeviceEvents { count: 2, busy_microseconds }] = tree.warnings() else {
            panic!("{:?}", tree.warnings())
        };
        assert_eq!(*busy_microseconds, 7.0);
    }

    #[test]
    fn copies_and_fills_link_by_external_id_when_nothing_else_does() {
        for (category, call) in
            [(Category::GPU_MEMCPY, "cudaMemcpyAsync"), (Category::GPU_MEMSET, "cudaMemsetAsync")]
        {
            let mut fixture = Fixture::new();
            let op = fixture.event(Category::CPU_OP, "aten::copy_", (1, 1), (0.0, 20.0), external(5));
            fixture.event(Category::CUDA_RUNTIME, "cudaStreamIsCapturing", (1, 1), (1.0, 2.0), external(5));
            let call = fixture.event(Category::CUDA_RUNTIME, call, (1, 1), (5.0, 2.0), external(5));
            let device = fixture.event(category, "transfer", (0, 7), (30.0, 5.0), external(5));
            let tree = fixture.tree();
            assert_eq!(tree.parent(device), Some(call));
            assert_eq!(tree.device_events(op), [device]);
            assert_eq!(tree.statistics().linked_by_external_id, 1);
        }
    }

    #[test]
    fn an_external_id_that_repeats_the_correlation_id_names_no_operator() {
        let both = |external, correlation| EventArguments {
            external_id: Some(external),
            correlation: Some(correlation),
            ..EventArguments::default()
        };
        let mut fixture = Fixture::new();
        fixture.event(Category::CPU_OP, "aten::convolution_backward", (1, 1), (0.0, 40.0), external(16));
        fixture.event(Category::CUDA_RUNTIME, "hipExtModuleLaunchKernel", (1, 1), (5.0, 2.0), both(16, 30));
        fixture.event(Category::CUDA_RUNTIME, "hipDeviceSynchronize", (1, 1), (50.0, 9.0), both(61, 61));
        let early = fixture.event(Category::KERNEL, "queued before", (0, 7), (20.0, 5.0), both(16, 16));
        let other = fixture.event(Category::KERNEL, "of operator 61", (0, 7), (30.0, 5.0), both(61, 9));
        let own = fixture.event(Category::KERNEL, "of operator 16", (0, 7), (40.0, 5.0), both(16, 99));
        let tree = fixture.tree();
        assert_eq!(tree.unlinked_device_events(), [early, other]);
        assert_eq!(tree.statistics().linked_by_external_id, 1);
        assert!(tree.launch(own).is_some());
    }

    #[test]
    fn an_arrow_links_where_call_and_kernel_share_no_correlation_id() {
        let mut fixture = Fixture::new();
        fixture.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", (1, 2), (0.0, 1.0), external(5));
        let call = fixture.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", (1, 1), (0.0, 1.0), external(5));
        let kernel = fixture.kernel("k", (30.0, 5.0), 5);
        fixture.arrow(5);
        let tree = fixture.tree();
        assert_eq!(tree.parent(kernel), Some(call), "the arrow starts on thread 1");
        assert_eq!(tree.statistics().linked_by_flow, 1);
    }

    #[test]
    fn an_arrow_to_another_stream_does_not_link() {
        let mut fixture = Fixture::new();
        fixture.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", (1, 1), (0.0, 1.0), external(5));
        let kernel = fixture.device(Category::KERNEL, ("k", 8, 30.0, 5.0), 5);
        fixture.arrow(5);
        assert_eq!(fixture.tree().unlinked_device_events(), [kernel], "the arrow ends on stream 7");
    }

    #[test]
    fn events_without_arguments_are_tolerated() {
        let mut fixture = Fixture::new();
        for (category, row) in
            [(Category::CPU_OP, (1, 1)), (Category::CUDA_RUNTIME, (1, 1)), (Category::KERNEL, (0, 7))]
        {
            fixture.event(category, "bare", row, (0.0, 1.0), EventArguments::default());
        }
        let tree = fixture.tree();
        assert_eq!((tree.host_events().len(), tree.unlinked_device_events()), (2, &[EventId(2)][..]));
    }

    #[test]
    fn building_again_gives_the_same_tree() {
        let mut fixture = Fixture::new();
        fixture.op("a", (0.0, 100.0));
        fixture.launch("cudaLaunchKernel", (5.0, 5.0), 1);
        fixture.kernel("k", (20.0, 5.0), 1);
        fixture.kernel("unlinked", (40.0, 5.0), 2);
        let first = fixture.tree();
        let options = TreeOptions { python_frames: true, ..TreeOptions::default() };
        let text = |tree: &TraceTree| format!("{:?}", (tree.layout(), tree.statistics(), tree.warnings()));
        let before = text(&first);
        assert_eq!(text(&TraceTree::build(first.into_trace(), &options)), before);
    }
}
