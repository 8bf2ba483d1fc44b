//! Replays of captured graphs: how much of the time that a replay takes its longest chain of kernels explains.

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use trace_ingest::{EventId, FlowKind, PerString, Trace};
use trace2tree::{TraceTree, is_graph_launch};

use crate::fault::Faults;
use crate::graph_dependencies::{self, Dependency};

/// What a launch of a graph ran on the device. Times are in the trace's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphReplay {
    /// The call that launched it.
    pub launch: EventId,
    /// Number of the graph, where the recorder tells it.
    pub graph: Option<i64>,
    /// Kernels, copies and fills.
    pub works: u64,
    /// Sum of their lengths.
    pub work_time: i64,
    /// From the first start to the last end.
    pub span: i64,
    /// What its dependencies say; `None` where the recording has none.
    pub dependencies: Option<Dependencies>,
}

/// What the dependencies between the nodes of a replay say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// How many there are.
    pub edges: u64,
    /// Nodes that wait for no other.
    pub roots: u64,
    /// Time of the longest chain of kernels, copies and fills of which each waits for the one before.
    pub critical: i64,
}

/// The replays of graphs in a recording.
#[derive(Debug)]
pub struct GraphReplays<'t> {
    /// The recording.
    pub trace: &'t Trace,
    /// By the start of their launch.
    pub replays: Vec<GraphReplay>,
}

impl<'t> GraphReplays<'t> {
    /// Finds the replays in a recording: launches of graphs with device work.
    #[must_use]
    pub fn new(tree: &'t TraceTree) -> Self {
        let trace = tree.trace();
        let events = trace.events();
        let mut launches_graph = PerString::new(trace.strings(), is_graph_launch);
        let mut position_of: HashMap<EventId, u32> = HashMap::new();
        let mut replays: Vec<GraphReplay> = Vec::new();
        // Nodes with the position of their replay.
        let mut nodes: Vec<(EventId, u32)> = Vec::new();
        let mut replay_by_correlation: HashMap<i64, u32> = HashMap::new();
        for event in events.ids().filter(|&event| events.category(event).is_device()) {
            let Some(launch) = tree.launch(event) else { continue };
            if !*launches_graph.get(events.name(launch)) {
                continue;
            }
            let replay = *position_of.entry(launch).or_insert_with(|| {
                let (graph, dependencies) = (None, None);
                replays.push(GraphReplay { launch, graph, works: 0, work_time: 0, span: 0, dependencies });
                replays.len() as u32 - 1
            });
            let found = &mut replays[replay as usize];
            found.works += 1;
            found.work_time += events.duration(event);
            found.graph = found.graph.or(events.graph(event));
            nodes.push((event, replay));
            if let Some(correlation) = events.correlation(event) {
                replay_by_correlation.insert(correlation, replay);
            }
        }
        if trace.flows().iter().any(|flow| flow.kind == FlowKind::GraphDependency) {
            let is_node = graph_dependencies::node_categories(trace);
            let others = events.ids().filter(|&event| is_node(events.category(event)));
            nodes.extend(
                others.filter_map(|event| {
                    Some((event, *replay_by_correlation.get(&events.correlation(event)?)?))
                }),
            );
            add_dependencies(trace, &mut nodes, &mut replays);
        }
        let mut spans = vec![(i64::MAX, i64::MIN); replays.len()];
        for &(event, replay) in &nodes {
            let (start, end) = &mut spans[replay as usize];
            (*start, *end) = ((*start).min(events.start(event)), (*end).max(events.end(event)));
        }
        for (replay, (start, end)) in replays.iter_mut().zip(spans) {
            replay.span = end - start;
        }
        replays.sort_few_by_key(|replay| (events.start(replay.launch), replay.launch));
        GraphReplays { trace, replays }
    }
}

/// Adds what the dependencies between nodes say of each replay.
fn add_dependencies(trace: &Trace, nodes: &mut [(EventId, u32)], replays: &mut [GraphReplay]) {
    let events = trace.events();
    nodes.sort_by_key(|&(event, _)| (events.start(event), events.end(event), event));
    // What is odd about the arrows, the critical path tells.
    let found = graph_dependencies::resolve(trace, nodes.iter().map(|node| node.0), &mut Faults::default());
    let is_within_replay =
        |edge: &Dependency| edge.from < edge.to && nodes[edge.from as usize].1 == nodes[edge.to as usize].1;
    let mut edges: Vec<(u32, u32)> =
        found.iter().filter(|edge| is_within_replay(edge)).map(|edge| (edge.to, edge.from)).collect();
    edges.sort_unstable();
    edges.dedup();
    for replay in &mut *replays {
        replay.dependencies = Some(Dependencies::default());
    }
    // Nodes come after those that they wait for, so one pass finds the longest chain to each.
    let mut chains = vec![0i64; nodes.len()];
    let mut edges = edges.into_iter().peekable();
    for (at, &(event, replay)) in (0u32..).zip(&*nodes) {
        let Some(found) = &mut replays[replay as usize].dependencies else { continue };
        let (mut before, mut waits) = (0, 0);
        while let Some((_, from)) = edges.next_if(|edge| edge.0 == at) {
            before = before.max(chains[from as usize]);
            waits += 1;
        }
        let own = if events.category(event).is_device() { events.duration(event) } else { 0 };
        chains[at as usize] = before + own;
        found.edges += waits;
        found.roots += u64::from(waits == 0);
        found.critical = found.critical.max(before + own);
    }
}
