//! A recording with its critical path, and what changes of it would bring.

use std::ops::Range;

use gpu_timeline::SortFew;
use perf_models::CommunicationPatterns;
use trace_ingest::{EventId, Trace};
use trace2tree::TraceTree;

use crate::class::PathClass;
use crate::conventions::Conventions;
use crate::dag::{DagEdge, DagEdgeKind};
use crate::fault::Fault;
use crate::recorded::{Recorded, Scope};
use crate::replay::{Replay, Replayed, Scaling};
use crate::wall::PathSegment;

/// How the path is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathMode {
    /// Backwards by the clock on the wall: each moment is attributed once, and the path is as long as the recording.
    #[default]
    Wall,
    /// The longest path through the graph that Holistic Trace Analysis defines.
    Dag,
}

/// What is asked of a recording.
#[derive(Clone, Debug, Default)]
pub struct PathOptions {
    /// How the path is found.
    pub mode: PathMode,
    /// Which part of the recording.
    pub scope: Scope,
    /// How the graph of [`PathMode::Dag`] is made.
    pub conventions: Conventions,
    /// Keep all edges of the graph, not only those of the path ([`CriticalPath::edges`]); of [`PathMode::Dag`] alone.
    pub all_edges: bool,
    /// Changes to try, each alone, and all together where there are several.
    pub changes: Vec<Scaling>,
    /// Names of kernels that communicate.
    pub communication: CommunicationPatterns,
}

/// A stretch of the path in either mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathPart {
    /// When it begins, in the trace's unit from its origin.
    pub start: i64,
    /// How much of the path it is, in the trace's unit.
    pub duration: i64,
    /// What it is; `None` for edges of the graph that only say what comes after what.
    pub class: Option<PathClass>,
    /// The edge of the graph that it is.
    pub edge: Option<DagEdgeKind>,
    /// What it is charged to; of a gap what comes after it.
    pub event: Option<EventId>,
}

impl From<PathSegment> for PathPart {
    fn from(segment: PathSegment) -> Self {
        PathPart {
            start: segment.start,
            duration: segment.duration(),
            class: Some(segment.class),
            edge: None,
            event: segment.event,
        }
    }
}

/// What changes would bring.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIf {
    /// The changes, all at once.
    pub changes: Vec<Scaling>,
    /// How long the recording would take.
    pub replayed: Replayed,
}

/// A recording with its critical path.
pub struct CriticalPath {
    tree: TraceTree,
    /// How the path was found.
    pub mode: PathMode,
    /// When the recording, or the part that was chosen, begins and ends, in the trace's unit from its origin.
    pub time: Range<i64>,
    /// The path, in order.
    pub parts: Vec<PathPart>,
    /// Of the parts together: each row of a table asks for its share.
    length: i64,
    /// The edges of the graph; empty unless they were asked for.
    pub edges: Vec<DagEdge>,
    /// What the changes would bring.
    pub what_if: Vec<WhatIf>,
    /// What was odd about the recording: how often, and at which event of the file's list first, where that is known.
    pub faults: Vec<(Fault, u64, Option<u32>)>,
}

impl CriticalPath {
    /// The path through a recording.
    #[must_use]
    pub fn new(tree: TraceTree, options: &PathOptions) -> Self {
        let recorded = Recorded::new(&tree, &options.scope, &options.communication);
        let (mut circular, mut edges) = (0, Vec::new());
        let parts: Vec<PathPart> = match options.mode {
            PathMode::Wall => recorded.wall_path().into_iter().map(PathPart::from).collect(),
            PathMode::Dag => {
                let path = match options.all_edges {
                    true => {
                        let (path, all) = recorded.dag_path_and_edges(&options.conventions);
                        edges = all;
                        path
                    }
                    false => recorded.dag_path(&options.conventions),
                };
                circular = path.circular;
                let path = path.segments.into_iter().map(|segment| PathPart {
                    start: segment.start,
                    duration: segment.weight,
                    class: segment.class,
                    edge: Some(segment.kind),
                    event: Some(segment.event),
                });
                path.collect()
            }
        };
        let mut what_if = Vec::new();
        if !options.changes.is_empty() {
            let replay = Replay::new(&recorded);
            // Its graph and that of the path are of the same dependencies.
            circular = replay.circular().max(circular);
            let alone = options.changes.iter().map(std::slice::from_ref);
            let together = (options.changes.len() > 1).then_some(&options.changes[..]);
            what_if = alone
                .chain(together)
                .map(|changes| WhatIf { changes: changes.to_vec(), replayed: replay.with(changes) })
                .collect();
        }
        let (time, mut faults) = (recorded.time(), recorded.faults());
        faults.extend((circular > 0).then_some((Fault::Circle, circular, None)));
        drop(recorded);
        if !what_if.is_empty() {
            let events = tree.trace().events();
            let mut held =
                tree.held_by_full_queue(events.ids().filter(|&id| events.category(id).is_device()));
            held.retain(|&launch| time.start < events.end(launch) && events.start(launch) < time.end);
            let first = held.first().map(|&launch| events.uid(launch));
            faults.extend(first.map(|first| (Fault::FullQueue, held.len() as u64, Some(first))));
        }
        let length = parts.iter().map(|part| part.duration).sum();
        CriticalPath { tree, mode: options.mode, time, parts, length, edges, what_if, faults }
    }

    /// The recording.
    #[must_use]
    pub fn tree(&self) -> &TraceTree {
        &self.tree
    }

    /// The trace.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        self.tree.trace()
    }

    /// Length of the path, in the trace's unit.
    #[must_use]
    pub fn length(&self) -> i64 {
        self.length
    }

    /// Time of each class that the path has, the most first, in the trace's unit.
    #[must_use]
    pub fn by_class(&self) -> Vec<(PathClass, i64)> {
        let time = |class: PathClass| {
            self.parts.iter().filter(|part| part.class == Some(class)).map(|part| part.duration).sum::<i64>()
        };
        let mut classes: Vec<_> = PathClass::ALL
            .into_iter()
            .map(|class| (class, time(class)))
            .filter(|&(_, time)| time != 0)
            .collect();
        classes.sort_few_by_key(|&(_, time)| std::cmp::Reverse(time));
        classes
    }

    /// Time of each class and name that the path has, and in how many parts, the most first.
    #[must_use]
    pub fn by_name(&self) -> Vec<PathGroup> {
        PathGroup::of(self.parts.iter().copied(), self.trace())
    }
}

/// The parts of a path of one class and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathGroup {
    /// What they are.
    pub class: PathClass,
    /// What they are charged to; of gaps what comes after them. Empty where nothing was recorded after them.
    pub name: String,
    /// Their time, in the trace's unit.
    pub time: i64,
    /// How many.
    pub parts: usize,
    /// The longest, in the trace's unit.
    pub longest: i64,
}

impl PathGroup {
    /// The groups of the parts of a path through `trace`, the most time first.
    #[must_use]
    pub fn of(parts: impl IntoIterator<Item = PathPart>, trace: &Trace) -> Vec<PathGroup> {
        let mut groups: hashbrown::HashMap<(PathClass, &str), PathGroup> = hashbrown::HashMap::new();
        for part in parts {
            let Some(class) = part.class else { continue };
            let name = part.event.map_or("", |event| trace.name(event));
            let group = groups.entry((class, name)).or_insert_with(|| PathGroup {
                class,
                name: name.to_owned(),
                time: 0,
                parts: 0,
                longest: 0,
            });
            group.time += part.duration;
            group.parts += 1;
            group.longest = group.longest.max(part.duration);
        }
        let mut groups: Vec<PathGroup> = groups.into_values().collect();
        groups.sort_few_by(|a, b| {
            b.time.cmp(&a.time).then_with(|| (a.class, &a.name).cmp(&(b.class, &b.name)))
        });
        groups
    }
}
