//! Arrows between the nodes of a replayed graph, brought to the device events at their ends. Where the file does not say
//! which events these are, the start of an arrow stands at the end of a node and its finish at the start of another of the
//! same replay.

use hashbrown::{HashMap, HashSet};
use trace_ingest::{Category, EventId, Flow, FlowEnd, FlowKind, Trace, TrackId};

use crate::fault::{Fault, Faults};

/// Positions of two events among those that may be nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// Events that are tried for the start of an arrow.
const MOST_CANDIDATES: usize = 64;

/// Whether a category is of nodes of graphs that are no kernels, copies or fills.
pub(crate) fn node_categories(trace: &Trace) -> impl Fn(Category) -> bool + use<> {
    let has_arrows = trace.flows().iter().any(|flow| flow.kind == FlowKind::GraphDependency);
    let events = trace.events();
    let mut known: HashSet<Category> = HashSet::new();
    if has_arrows {
        known.extend(events.ids().map(|event| events.category(event)));
        known.retain(|&category| trace.category_name(category).starts_with("graph_"));
    }
    move |category| known.contains(&category)
}

/// An event at an end of arrows: row, time, correlation, index in the file, position.
type End = (TrackId, i64, i64, u32, u32);

/// The dependencies that the arrows of a trace show between events, of which some may be no nodes.
pub(crate) fn resolve(
    trace: &Trace,
    works: impl Iterator<Item = EventId> + Clone,
    faults: &mut Faults,
) -> Vec<Dependency> {
    let mut arrows: HashMap<i64, [Option<&Flow>; 2]> = HashMap::new();
    let mut order: Vec<i64> = Vec::new();
    for flow in trace.flows().iter().filter(|flow| flow.kind == FlowKind::GraphDependency) {
        let ends = arrows.entry(flow.id).or_insert_with(|| {
            order.push(flow.id);
            [None; 2]
        });
        ends[usize::from(flow.end == FlowEnd::Finish)] = Some(flow);
    }
    if arrows.is_empty() {
        return Vec::new();
    }
    let events = trace.events();
    let (mut starting, mut ending): (Vec<End>, Vec<End>) = (Vec::new(), Vec::new());
    let mut positions: HashMap<u32, u32> = HashMap::new();
    for (event, position) in works.zip(0..) {
        let is_node = !events.category(event).is_device()
            || events.arguments().graph_node.get(event.index()).is_some_and(|node| node != 0);
        let (track, uid) = (events.track(event), events.uid(event));
        positions.insert(uid, position);
        if let (true, Some(correlation)) = (is_node, events.correlation(event)) {
            starting.push((track, events.start(event), correlation, uid, position));
            ending.push((track, events.end(event), correlation, uid, position));
        }
    }
    starting.sort_unstable();
    ending.sort_unstable();
    let mut found = Vec::with_capacity(order.len());
    for id in order {
        let position = |flow: Option<&Flow>| positions.get(&flow?.event?).copied();
        let [start, finish] = arrows[&id];
        if let (Some(from), Some(to)) = (position(start), position(finish)) {
            found.push(Dependency { from, to });
            continue;
        }
        let place = |flow: Option<&Flow>| flow.and_then(|flow| Some((flow.track, flow.time?)));
        let (Some(start), Some(finish)) = (place(start), place(finish)) else {
            faults.count(Fault::UnresolvedDependency, None);
            continue;
        };
        // Smallest indices in the file first.
        let mut pairs: Vec<(u32, u32, Dependency)> = Vec::new();
        for &(_, _, correlation, uid, from) in near(&ending, start).take(MOST_CANDIDATES) {
            for time in finish.1.saturating_sub(1)..=finish.1.saturating_add(1) {
                let key = (finish.0, time, correlation);
                let first = starting.partition_point(|end| (end.0, end.1, end.2) < key);
                let same = starting[first..].iter().take_while(|end| (end.0, end.1, end.2) == key);
                pairs.extend(
                    same.take(2)
                        .filter(|end| end.4 != from)
                        .map(|end| (uid, end.3, Dependency { from, to: end.4 })),
                );
            }
        }
        pairs.sort_unstable_by_key(|&(from, to, _)| (from, to));
        match pairs.first() {
            Some(&(uid, _, dependency)) => {
                if pairs.len() > 1 {
                    faults.count(Fault::AmbiguousDependency, Some(uid));
                }
                found.push(dependency);
            }
            None => faults.count(Fault::UnresolvedDependency, None),
        }
    }
    found
}

/// The ends on a row within 1 ns of a time.
fn near(ends: &[End], (track, time): (TrackId, i64)) -> impl Iterator<Item = &End> {
    let first = ends.partition_point(|end| (end.0, end.1) < (track, time.saturating_sub(1)));
    ends[first..].iter().take_while(move |end| end.0 == track && end.1 <= time.saturating_add(1))
}
