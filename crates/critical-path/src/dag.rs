//! The path through the graph of operators, launches, kernels and synchronizations, as Holistic Trace Analysis (HTA,
//! `critical_path_analysis`) defines it, on exact times. Gaps of the host between operators that no other encloses weigh
//! nothing there, so that the path is shorter than the step.

use hashbrown::{HashMap, HashSet};
use trace_ingest::{Category, EventId, PerString};

use crate::class::PathClass;
use crate::conventions::Conventions;
use crate::graph::{Edge, Graph};
use crate::recorded::{NONE, Recorded, Stream, WaitsFor, Work, some};

/// Calls of which HTA knows that they put one kernel, copy or fill into a queue.
pub const QUEUED_CALLS: [&str; 12] = [
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cudaMemcpyAsync",
    "cudaMemsetAsync",
    "hipLaunchKernel",
    "hipExtModuleLaunchKernel",
    "hipMemsetAsync",
    "hipMemcpyAsync",
    "hipMemcpyWithStream",
    "runFunction - job_prep_and_submit_for_execution",
];

/// What an edge of the graph stands for, with HTA's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DagEdgeKind {
    /// `critical_path_operator`: an operator, call or kernel runs.
    Operator,
    /// `critical_path_dependency`: an operator comes after another on a thread, or has to wait for its lock. No weight.
    Dependency,
    /// `critical_path_kernel_launch_delay`: from a launch to the start of its kernel, where nothing was queued.
    LaunchDelay,
    /// `critical_path_kernel_kernel_delay`: between two kernels of a stream.
    KernelKernelDelay,
    /// `critical_path_sync_dependency`: the host or a stream waits for a kernel. No weight.
    Synchronization,
    /// A node of a graph waits for another. No weight; HTA does not know it.
    GraphDependency,
}

impl DagEdgeKind {
    /// All kinds.
    pub const ALL: [DagEdgeKind; 6] = [
        DagEdgeKind::Operator,
        DagEdgeKind::Dependency,
        DagEdgeKind::LaunchDelay,
        DagEdgeKind::KernelKernelDelay,
        DagEdgeKind::Synchronization,
        DagEdgeKind::GraphDependency,
    ];

    /// Its name in sheets.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            DagEdgeKind::Operator => "operator",
            DagEdgeKind::Dependency => "dependency",
            DagEdgeKind::LaunchDelay => "kernel_launch_delay",
            DagEdgeKind::KernelKernelDelay => "kernel_kernel_delay",
            DagEdgeKind::Synchronization => "sync_dependency",
            DagEdgeKind::GraphDependency => "graph_dependency",
        }
    }
}

/// An edge of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DagSegment {
    /// When the path comes to its source, in the trace's unit from its origin.
    pub start: i64,
    /// What it weighs, in the trace's unit: the time between its ends, or 0; below 0 by [`Conventions::subtracts_overlap`].
    pub weight: i64,
    /// What it stands for.
    pub kind: DagEdgeKind,
    /// What it is charged to.
    pub event: EventId,
    /// What bounds it; `None` for edges without weight.
    pub class: Option<PathClass>,
}

/// An edge of the graph, on the path or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DagEdge {
    /// Where it begins: an event, and its start or its end in the trace's unit from its origin.
    pub from: (EventId, i64),
    /// Where it leads to.
    pub to: (EventId, i64),
    /// What it weighs, in the trace's unit: the time between its ends, or 0.
    pub weight: i64,
    /// What it stands for.
    pub kind: DagEdgeKind,
    /// Whether the longest path goes along it.
    pub is_on_path: bool,
}

/// The longest path, and the graph that it is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DagPath {
    /// The edges of the path, in order.
    pub segments: Vec<DagSegment>,
    /// Sum of their weights, in the trace's unit.
    pub length: i64,
    /// Nodes of the graph: starts and ends that an edge touches.
    pub nodes: usize,
    /// Edges of the graph, in the order of [`DagEdgeKind::ALL`].
    pub edges: [usize; DagEdgeKind::ALL.len()],
    /// Edges that were left out because they close a circle.
    pub circular: u64,
}

/// In nanoseconds: kernels of a stream so far apart are not linked.
const MOST_KERNEL_GAP: i64 = 1_500_000;

/// Calls under one lock of the CUDA runtime.
const LOCKED: [&str; 3] = ["cudaHostAlloc", "cudaLaunchKernel", "cudaMemcpyAsync"];

/// Open calls under the lock that are put in order.
const MOST_OPEN: usize = 64;

/// Calls whose end waits for the device.
const BLOCKING: [&str; 6] = [
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventQuery",
    "cudaEventSynchronize",
    "cudaMemcpy",
    "cudaMemcpyAsync",
];

#[derive(Clone, Copy)]
struct Charge {
    kind: DagEdgeKind,
    event: EventId,
    /// By how much the edge leads back in time: 0, or less.
    overlap: i64,
}

struct Builder<'r, 't> {
    recorded: &'r Recorded<'t>,
    conventions: Conventions,
    /// By node: its time, event and whether it is the end.
    nodes: Vec<(i64, EventId, bool)>,
    /// By event row: start and end node.
    event_nodes: Vec<[u32; 2]>,
    edges: Vec<Edge<Charge>>,
}

impl Recorded<'_> {
    /// The longest path through the graph of dependencies.
    #[must_use]
    pub fn dag_path(&self, conventions: &Conventions) -> DagPath {
        self.dag(conventions).path()
    }

    /// The same with all edges of the graph, by the node that they lead to.
    #[must_use]
    pub fn dag_path_and_edges(&self, conventions: &Conventions) -> (DagPath, Vec<DagEdge>) {
        let dag = self.dag(conventions);
        (dag.path(), dag.all_edges())
    }

    fn dag(&self, conventions: &Conventions) -> Dag<'_, '_> {
        let mut builder = Builder::new(self, *conventions);
        let locked = if conventions.ignores_locks { HashSet::new() } else { builder.add_locks() };
        builder.add_threads(&locked);
        builder.add_device();
        builder.solve()
    }
}

/// Whether an event is an operator or call of the host.
fn is_host(recorded: &Recorded<'_>, conventions: &Conventions, event: EventId) -> bool {
    let has_stream = || recorded.trace().events().stream(event).is_some_and(|stream| stream != -1);
    recorded.runs_on_host(event) && !(conventions.ignores_operators_on_streams && has_stream())
}

/// The device work of calls that launched it.
fn launched<'r>(recorded: &'r Recorded<'_>, conventions: &Conventions) -> impl Iterator<Item = &'r Work> {
    let Conventions { ignores_instant_calls, one_work_per_call, .. } = *conventions;
    // By call its last work in the file, where that alone exists.
    let mut last: HashMap<usize, EventId> = HashMap::new();
    for work in recorded.works.iter().filter(|_| one_work_per_call) {
        if let Some(launch) = some(work.launch) {
            let last = last.entry(launch).or_insert(work.event);
            *last = work.event.max(*last);
        }
    }
    recorded.works.iter().filter(move |work| {
        let Some(launch) = some(work.launch) else { return false };
        let call = &recorded.calls[launch];
        !(ignores_instant_calls && call.end <= call.start)
            && last.get(&launch).is_none_or(|&last| last == work.event)
    })
}

impl<'r, 't> Builder<'r, 't> {
    fn new(recorded: &'r Recorded<'t>, conventions: Conventions) -> Self {
        let events = recorded.trace().events();
        let hosts = recorded.tree.host_events().iter().copied();
        let hosts = hosts.filter(|&event| is_host(recorded, &conventions, event));
        let works = launched(recorded, &conventions);
        let mut nodes: Vec<(i64, EventId, bool)> = hosts
            .chain(works.map(|work| work.event))
            .flat_map(|event| [(events.start(event), event, false), (events.end(event), event, true)])
            .collect();
        nodes.sort_unstable();
        let mut event_nodes = vec![[NONE; 2]; events.len()];
        for (&(_, event, is_end), node) in nodes.iter().zip(0..) {
            event_nodes[event.index()][usize::from(is_end)] = node;
        }
        Builder { recorded, conventions, nodes, event_nodes, edges: Vec::new() }
    }

    fn add(&mut self, from: u32, to: u32, kind: DagEdgeKind, event: EventId, weighs: bool) {
        if from == NONE || to == NONE || from == to {
            return;
        }
        let time = self.nodes[to as usize].0 - self.nodes[from as usize].0;
        let weight = if weighs { time.max(0) } else { 0 };
        let overlap = if weighs { time.min(0) } else { 0 };
        self.edges.push(Edge { from, to, weight, kind: Charge { kind, event, overlap } });
    }

    /// Orders the calls under a lock. Returns the pairs of nodes that it linked.
    fn add_locks(&mut self) -> HashSet<(u32, u32)> {
        let trace = self.recorded.trace();
        let mut is_locked = PerString::new(trace.strings(), |name: &str| LOCKED.contains(&name));
        let mut linked = HashSet::new();
        let mut open: Vec<u32> = Vec::new();
        let mut last_end: Option<u32> = None;
        for node in 0..self.nodes.len() as u32 {
            let (_, event, is_end) = self.nodes[node as usize];
            if !trace.events().category(event).is_launch_api() || !*is_locked.get(trace.events().name(event))
            {
                continue;
            }
            if !is_end {
                // More are open than any program has threads for only in a damaged recording.
                if open.len() < MOST_OPEN {
                    open.push(node);
                }
                last_end = None;
                continue;
            }
            let own = self.event_nodes[event.index()][0];
            for &start in &open {
                let kind = if start == own { DagEdgeKind::Operator } else { DagEdgeKind::Dependency };
                self.add(start, node, kind, event, start == own);
                linked.insert((start, node));
            }
            if let Some(last) = last_end {
                self.add(last, node, DagEdgeKind::Dependency, event, false);
                linked.insert((last, node));
            }
            open.retain(|&start| start != own);
            last_end = Some(node);
        }
        linked
    }

    /// Threads, of which one that runs the backward is taken together with that of the forward.
    fn merged_threads(&self) -> HashMap<u32, u32> {
        let trace = self.recorded.trace();
        let events = trace.events();
        let mut parts = PerString::new(trace.strings(), |name: &str| {
            [name.contains("autograd"), name.contains("forward")]
        });
        let mut threads: [HashSet<u32>; 2] = Default::default();
        for event in events.ids() {
            if matches!(events.category(event), Category::CPU_OP | Category::USER_ANNOTATION) {
                let has = *parts.get(events.name(event));
                for (threads, has) in threads.iter_mut().zip(has) {
                    if has {
                        threads.insert(events.track(event).index() as u32);
                    }
                }
            }
        }
        let only = |threads: &HashSet<u32>| threads.iter().next().copied().filter(|_| threads.len() == 1);
        let both = only(&threads[0]).zip(only(&threads[1])).filter(|(backward, forward)| backward != forward);
        both.into_iter().collect()
    }

    fn add_threads(&mut self, locked: &HashSet<(u32, u32)>) {
        let recorded = self.recorded;
        let trace = recorded.trace();
        let events = trace.events();
        let merged = match self.conventions.keeps_threads_apart {
            true => HashMap::new(),
            false => self.merged_threads(),
        };
        let mut is_blocking = PerString::new(trace.strings(), |name: &str| BLOCKING.contains(&name));
        let mut hosts: Vec<(u32, i64, i64, EventId)> = recorded
            .tree
            .host_events()
            .iter()
            .copied()
            .filter(|&event| is_host(recorded, &self.conventions, event))
            .map(|event| {
                let thread = events.track(event).index() as u32;
                let thread = merged.get(&thread).copied().unwrap_or(thread);
                (thread, events.start(event), -events.end(event), event)
            })
            .collect();
        hosts.sort_unstable();
        for thread_events in hosts.chunk_by(|a, b| a.0 == b.0) {
            let mut open: Vec<EventId> = Vec::new();
            let mut ends: Vec<i64> = match self.conventions.closes_innermost {
                true => thread_events.iter().map(|&(_, _, end, _)| -end).collect(),
                false => Vec::new(),
            };
            ends.sort_unstable();
            let mut ends = ends.into_iter().peekable();
            // Node visited last inside an operator that no other encloses, and the end of the last such operator.
            let (mut last, mut last_top): (Option<u32>, Option<u32>) = (None, None);
            let mut leave = |this: &mut Self,
                             open: &mut Vec<EventId>,
                             time: i64,
                             last: &mut Option<u32>,
                             last_top: &mut Option<u32>| {
                while let Some(&event) = open.last()
                    && match this.conventions.closes_innermost {
                        true => ends.next_if(|&end| end <= time).is_some(),
                        false => events.end(event) <= time,
                    }
                {
                    open.pop();
                    let end = this.event_nodes[event.index()][1];
                    let blocks = *is_blocking.get(events.name(event));
                    if let Some(from) = *last
                        && !locked.contains(&(from, end))
                    {
                        // From a start what starts, from an end what ends.
                        let (_, source, is_end) = this.nodes[from as usize];
                        let charged = if is_end { event } else { source };
                        this.add(from, end, DagEdgeKind::Operator, charged, !blocks);
                    }
                    *last = Some(end);
                    if open.is_empty() {
                        *last_top = Some(end);
                        *last = None;
                    }
                }
            };
            for &(_, time, _, event) in thread_events {
                leave(self, &mut open, time, &mut last, &mut last_top);
                let start = self.event_nodes[event.index()][0];
                match (last, last_top) {
                    (Some(from), _) if !locked.contains(&(from, start)) => {
                        let charged = match self.nodes[from as usize].2 {
                            true => open.last().copied().unwrap_or(event),
                            false => self.nodes[from as usize].1,
                        };
                        self.add(from, start, DagEdgeKind::Operator, charged, true);
                    }
                    (None, Some(from)) if !locked.contains(&(from, start)) => {
                        self.add(from, start, DagEdgeKind::Dependency, event, false);
                    }
                    _ => {}
                }
                last = Some(start);
                open.push(event);
            }
            leave(self, &mut open, i64::MAX, &mut last, &mut last_top);
        }
    }

    /// By stream of the recording the one that it is taken for.
    fn streams(&self) -> Vec<u32> {
        let mut first: HashMap<_, u32> = HashMap::new();
        let taken_for = |(stream, position): (&Stream, u32)| match self.conventions.merges_devices {
            true => *first.entry(stream.number).or_insert(position),
            false => position,
        };
        self.recorded.streams.iter().zip(0..).map(taken_for).collect()
    }

    fn add_device(&mut self) {
        let recorded = self.recorded;
        let most_gap = recorded.nanoseconds(MOST_KERNEL_GAP);
        let streams = self.streams();
        let is_alone = self.launched_alone(&streams);
        let mut waiting: Vec<usize> = (0..recorded.calls.len())
            .filter(|&call| {
                !matches!(recorded.calls[call].waits_for, WaitsFor::Unrecorded | WaitsFor::Nothing)
            })
            .filter(|&call| self.event_nodes[recorded.calls[call].event.index()][1] != NONE)
            .collect();
        waiting.sort_by_key(|&call| (recorded.calls[call].end, call));
        let mut waiting = waiting.into_iter().peekable();
        let mut last_on_stream = vec![NONE; recorded.streams.len()];
        for (work, position) in recorded.works.iter().zip(0u32..) {
            while let Some(call) = waiting.next_if(|&call| recorded.calls[call].end < work.start) {
                self.add_wait(call, &streams, &last_on_stream);
            }
            let [start, end] = self.event_nodes[work.event.index()];
            if start == NONE {
                continue;
            }
            self.add(start, end, DagEdgeKind::Operator, work.event, true);
            let in_graph = recorded.graph_predecessors.get(position as usize);
            for &before in in_graph {
                let from = self.event_nodes[recorded.works[before as usize].event.index()][1];
                self.add(from, start, DagEdgeKind::GraphDependency, work.event, false);
            }
            let mut last_source: Option<i64> = None;
            for &source in recorded.awaited.get(position as usize) {
                let source = recorded.works[source as usize];
                let from = self.event_nodes[source.event.index()][1];
                if source.end <= work.start {
                    self.add(from, start, DagEdgeKind::Synchronization, work.event, false);
                    last_source = last_source.max(Some(source.end));
                }
            }
            let stream = streams[work.stream as usize] as usize;
            let before = some(last_on_stream[stream]).map(|before| recorded.works[before]);
            last_on_stream[stream] = position;
            let call = recorded.calls[work.launch as usize];
            let is_early = |time: Option<i64>| time.is_none_or(|time| time < call.start);
            if is_alone[position as usize]
                && is_early(before.map(|before| before.end))
                && is_early(last_source)
            {
                let from = self.event_nodes[call.event.index()][0];
                self.add(from, start, DagEdgeKind::LaunchDelay, work.event, true);
            } else if let Some(before) = before
                && in_graph.is_empty()
                && (self.conventions.links_any_gap || (0..most_gap).contains(&(work.start - before.end)))
                && last_source.is_none_or(|source| source < before.end)
            {
                let from = self.event_nodes[before.event.index()][1];
                self.add(from, start, DagEdgeKind::KernelKernelDelay, before.event, true);
            }
        }
        for call in waiting {
            self.add_wait(call, &streams, &last_on_stream);
        }
    }

    /// Links the last work of the streams that a call waits for with its end.
    fn add_wait(&mut self, call: usize, streams: &[u32], last_on_stream: &[u32]) {
        let recorded = self.recorded;
        let call = recorded.calls[call];
        let end = self.event_nodes[call.event.index()][1];
        let any_device = self.conventions.merges_devices;
        let mut link = |work: u32| {
            if let Some(work) = some(work).map(|work| recorded.works[work])
                && work.end <= call.end
            {
                let from = self.event_nodes[work.event.index()][1];
                self.add(from, end, DagEdgeKind::Synchronization, call.event, false);
            }
        };
        match call.waits_for {
            WaitsFor::Device(device) => {
                let all = recorded.streams.iter().zip(last_on_stream);
                all.filter(|(stream, _)| any_device || stream.device == device)
                    .for_each(|(_, &work)| link(work));
            }
            WaitsFor::Stream(stream) => link(last_on_stream[streams[stream as usize] as usize]),
            WaitsFor::Work(work) => link(work),
            WaitsFor::Nothing | WaitsFor::Unrecorded => {}
        }
    }

    /// By work whether its stream's queue was empty at the launch and is when it starts.
    fn launched_alone(&self, streams: &[u32]) -> Vec<bool> {
        let recorded = self.recorded;
        let trace = recorded.trace();
        let unqueued = self.conventions.unqueued_calls;
        let mut is_queued = PerString::new(trace.strings(), |name: &str| {
            QUEUED_CALLS.contains(&name) && !unqueued.contains(&name)
        });
        let works =
            (recorded.works.iter().zip(0..)).map(|(work, at)| (work.stream, work.start, work.launch, at));
        let outside = recorded.outside.iter().map(|work| (work.stream, work.start, work.launch, NONE));
        // Launches first where times are equal.
        let mut points: Vec<(u32, i64, bool, u32)> = Vec::new();
        for (stream, start, launch, position) in works.chain(outside) {
            let Some(call) = some(launch).map(|launch| recorded.calls[launch]) else { continue };
            if *is_queued.get(trace.events().name(call.event)) {
                let stream = streams[stream as usize];
                points.push((stream, call.start, false, position));
                points.push((stream, start, true, position));
            }
        }
        points.sort_unstable();
        let (mut alone_at_launch, mut alone) =
            (vec![false; recorded.works.len()], vec![false; recorded.works.len()]);
        for stream_points in points.chunk_by(|a, b| a.0 == b.0) {
            let mut length = 0i64;
            for &(_, _, is_start, work) in stream_points {
                length += if is_start { -1 } else { 1 };
                match (some(work), is_start) {
                    (None, _) => {}
                    (Some(work), false) => alone_at_launch[work] = length == 1,
                    (Some(work), true) => alone[work] = alone_at_launch[work] && length == 0,
                }
            }
        }
        alone
    }

    fn solve(self) -> Dag<'r, 't> {
        let mut edges = [0; DagEdgeKind::ALL.len()];
        let mut is_touched = vec![false; self.nodes.len()];
        for edge in &self.edges {
            edges[edge.kind.kind as usize] += 1;
            is_touched[edge.from as usize] = true;
            is_touched[edge.to as usize] = true;
        }
        let graph = Graph::new(self.nodes.len(), self.edges);
        let (on_path, length) = graph.longest_path();
        let touched = is_touched.into_iter().filter(|&is| is).count();
        Dag {
            recorded: self.recorded,
            conventions: self.conventions,
            nodes: self.nodes,
            graph,
            on_path,
            length,
            touched,
            edges,
        }
    }
}

/// The graph with its longest path.
struct Dag<'r, 't> {
    recorded: &'r Recorded<'t>,
    conventions: Conventions,
    /// By node: its time, event and whether it is the end.
    nodes: Vec<(i64, EventId, bool)>,
    graph: Graph<Charge>,
    /// Positions of the edges of the path, in its order.
    on_path: Vec<usize>,
    length: i64,
    /// Nodes that an edge touches.
    touched: usize,
    /// Edges by kind, circular ones included.
    edges: [usize; DagEdgeKind::ALL.len()],
}

impl Dag<'_, '_> {
    fn path(&self) -> DagPath {
        let recorded = self.recorded;
        let class_of_work: HashMap<EventId, PathClass> =
            recorded.works.iter().map(|work| (work.event, work.class)).collect();
        let segments = self.on_path.iter().map(|&position| {
            let Edge { from, weight, kind: Charge { kind, event, overlap }, .. } = self.graph.edges[position];
            let weight = weight + if self.conventions.subtracts_overlap { overlap } else { 0 };
            let class = match kind {
                DagEdgeKind::Operator => Some(match class_of_work.get(&event) {
                    Some(&class) => class,
                    None if recorded.trace().events().category(event).is_launch_api() => {
                        PathClass::HostRuntime
                    }
                    None => PathClass::HostOperator,
                }),
                DagEdgeKind::LaunchDelay => Some(PathClass::LaunchDelay),
                DagEdgeKind::KernelKernelDelay => Some(PathClass::KernelGap),
                DagEdgeKind::Dependency | DagEdgeKind::Synchronization | DagEdgeKind::GraphDependency => None,
            };
            DagSegment { start: self.nodes[from as usize].0, weight, kind, event, class }
        });
        DagPath {
            segments: segments.collect(),
            length: self.length,
            nodes: self.touched,
            edges: self.edges,
            circular: self.graph.circular,
        }
    }

    fn all_edges(&self) -> Vec<DagEdge> {
        let mut is_on_path = vec![false; self.graph.edges.len()];
        self.on_path.iter().for_each(|&position| is_on_path[position] = true);
        let moment = |node: u32| {
            let (time, event, _) = self.nodes[node as usize];
            (event, time)
        };
        let edge = |(edge, is_on_path): (&Edge<Charge>, bool)| DagEdge {
            from: moment(edge.from),
            to: moment(edge.to),
            weight: edge.weight,
            kind: edge.kind.kind,
            is_on_path,
        };
        self.graph.edges.iter().zip(is_on_path).map(edge).collect()
    }
}
