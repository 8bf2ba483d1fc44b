//! A run as flat arrays: the part of its tree that leads to device work.

use std::ops::Range;

use hashbrown::HashMap;
use perf_models::CommunicationPatterns;
use trace_ingest::{Category, EventId, SignatureId, StringId, TrackId};
use trace2tree::{TraceTree, is_graph_launch};

use super::labels::{self, LabelId, Labels, hash};
use crate::names::NameClasses;

/// Place of no node.
pub(crate) const NONE: u32 = u32::MAX;

/// What a node of an outline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// The run.
    Root,
    /// A thread of the host.
    Thread,
    /// A stream, for the device events whose launch was not recorded.
    Stream,
    /// The call of an `nn.Module`.
    Module,
    /// An operator.
    Operator,
    /// A call of the runtime or driver.
    Call,
    /// A call that launches a captured graph.
    GraphLaunch,
    /// A kernel, copy or fill.
    Device,
}

impl NodeKind {
    /// Whether it is a module or an operator: what the program calls.
    pub(crate) fn is_program(self) -> bool {
        matches!(self, NodeKind::Module | NodeKind::Operator)
    }

    fn is_call(self) -> bool {
        matches!(self, NodeKind::Call | NodeKind::GraphLaunch)
    }
}

/// How alike two nodes have to be, from most to least. Nodes with an equal key are that much alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// The same program below, with the same shapes and types. Of calls and device events: the same kernels.
    Inputs,
    /// The same program below. Of calls and device events: kernels that do the same kind of work.
    Structure,
    /// The same name, shapes and types. Of calls and device events: the same kernels.
    Own,
    /// The same name. Of device events: the same kind of work.
    Label,
}

impl Level {
    pub(crate) const ALL: [Level; 4] = [Level::Inputs, Level::Structure, Level::Own, Level::Label];
}

/// The nodes of a run in pre-order, node 0 the run itself. All columns have a row per node.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) kind: Vec<NodeKind>,
    pub(crate) label: Vec<LabelId>,
    /// The event; of threads and streams the first event on them.
    pub(crate) event: Vec<Option<EventId>>,
    pub(crate) parent: Vec<u32>,
    /// Nodes of the subtree, the node itself included.
    size: Vec<u32>,
    /// Where the node's children begin in `child`; one more than nodes.
    first_child: Vec<u32>,
    child: Vec<u32>,
    /// Hashes of [`Level`], by level.
    keys: Vec<[u64; 4]>,
    /// Hash of everything below, kernel names included.
    exact: Vec<u64>,
    /// Shapes and types; 0 where none are recorded.
    pub(crate) inputs: Vec<u64>,
    /// Of device events the start and the duration, in the unit that both runs are brought to; 0 of other nodes.
    pub(crate) start: Vec<i64>,
    pub(crate) duration: Vec<i64>,
    /// The place of the event's track; 0 of nodes without one.
    pub(crate) track: Vec<u32>,
    /// What a device event does; empty of other nodes.
    pub(crate) category: Vec<&'static str>,
}

impl Outline {
    pub(crate) fn new(
        tree: &TraceTree,
        classes: &NameClasses,
        communication: &CommunicationPatterns,
        scale: i64,
        labels: &mut Labels,
    ) -> Self {
        let mut builder = Builder {
            tree,
            classes,
            communication,
            scale,
            labels,
            names: HashMap::new(),
            signatures: HashMap::new(),
            outline: Outline::default(),
        };
        let root = builder.push_named(NodeKind::Root, "run", None, NONE);
        for (thread, events) in
            by_track(tree, tree.roots().iter().copied().filter(|&e| leads_to_device(tree, e)))
        {
            let lane = builder.push_named(NodeKind::Thread, "thread", Some(thread), root);
            builder.push_subtrees(events, lane);
        }
        let mut unlinked = tree.unlinked_device_events().to_vec();
        unlinked.sort_by_key(|&event| tree.trace().events().start(event));
        for (stream, events) in by_track(tree, unlinked) {
            let lane = builder.push_named(NodeKind::Stream, "stream", Some(stream), root);
            builder.push_subtrees(events, lane);
        }
        let mut outline = builder.outline;
        outline.derive();
        outline
    }

    pub(crate) fn len(&self) -> usize {
        self.kind.len()
    }

    /// The nodes below and the node itself.
    pub(crate) fn subtree(&self, node: u32) -> Range<u32> {
        node..node + self.size[node as usize]
    }

    pub(crate) fn size(&self, node: u32) -> u32 {
        self.size[node as usize]
    }

    pub(crate) fn children(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.child[self.first_child[node] as usize..self.first_child[node + 1] as usize]
    }

    pub(crate) fn key(&self, node: u32, level: Level) -> u64 {
        self.keys[node as usize][level as usize]
    }

    pub(crate) fn keys(&self, node: u32) -> [u64; 4] {
        self.keys[node as usize]
    }

    /// The first level on which two nodes are equal.
    pub(crate) fn level(&self, node: u32, other: &Self, other_node: u32) -> Option<Level> {
        Level::ALL.into_iter().find(|&level| self.key(node, level) == other.key(other_node, level))
    }

    pub(crate) fn exact(&self, node: u32) -> u64 {
        self.exact[node as usize]
    }

    pub(crate) fn kind(&self, node: u32) -> NodeKind {
        self.kind[node as usize]
    }

    /// The device events, in pre-order.
    pub(crate) fn device_nodes(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len() as u32).filter(|&node| self.kind(node) == NodeKind::Device)
    }

    /// Of each node, and behind the last, the durations of all device events before it: the time of any subtree is a
    /// difference of two of them.
    pub(crate) fn device_time_before(&self) -> Vec<i64> {
        let mut sum = 0_i64;
        let sums = self.duration.iter().map(|&duration| {
            sum = sum.saturating_add(duration);
            sum
        });
        std::iter::once(0).chain(sums).collect()
    }

    /// Sizes, children and hashes, from kinds, labels and parents.
    fn derive(&mut self) {
        let count = self.len();
        self.size = vec![1; count];
        self.first_child = vec![0; count + 1];
        for node in (1..count).rev() {
            let parent = self.parent[node] as usize;
            self.size[parent] += self.size[node];
            self.first_child[parent + 1] += 1;
        }
        for node in 0..count {
            self.first_child[node + 1] += self.first_child[node];
        }
        let mut next = self.first_child.clone();
        self.child = vec![NONE; count.saturating_sub(1)];
        for node in 1..count {
            let place = &mut next[self.parent[node] as usize];
            self.child[*place as usize] = node as u32;
            *place += 1;
        }
        self.derive_hashes();
    }

    fn derive_hashes(&mut self) {
        let count = self.len();
        let known = std::mem::take(&mut self.keys);
        let mut keys = vec![[0; 4]; count];
        let mut exact = vec![0; count];
        let mut bytes = Vec::new();
        let mut all = |start: u64, below: &mut dyn Iterator<Item = u64>| {
            bytes.clear();
            bytes.extend_from_slice(&start.to_le_bytes());
            below.for_each(|below| bytes.extend_from_slice(&below.to_le_bytes()));
            hash(&bytes)
        };
        for node in (0..count).rev() {
            // Until here the builder's: the hash of what is compared of the name, and that of the name itself.
            let [label, name, ..] = known[node];
            let kind = self.kind[node];
            let label = all(kind as u64, &mut [label].into_iter());
            let own = all(label, &mut [self.inputs[node]].into_iter());
            let children = self.children(node as u32);
            let program = |level: Level| {
                let keys = &keys;
                let kinds = &self.kind;
                let program = children.iter().filter(|&&child| kinds[child as usize].is_program());
                program.map(move |&child| keys[child as usize][level as usize])
            };
            exact[node] = match kind {
                NodeKind::Device => all(label, &mut [name].into_iter()),
                _ => all(own, &mut children.iter().map(|&child| exact[child as usize])),
            };
            let categories = children.iter().filter(|&&child| self.kind[child as usize] == NodeKind::Device);
            let mut categories = categories.map(|&child| keys[child as usize][Level::Structure as usize]);
            keys[node] = match kind {
                NodeKind::Device => [exact[node], label, exact[node], label],
                _ if kind.is_call() => {
                    let below = &mut (&mut categories).chain(program(Level::Structure));
                    [exact[node], all(label, below), exact[node], label]
                }
                _ => [
                    all(own, &mut program(Level::Inputs)),
                    all(label, &mut program(Level::Structure)),
                    own,
                    label,
                ],
            };
        }
        (self.keys, self.exact) = (keys, exact);
    }
}

/// Whether a host event launched device work.
fn leads_to_device(tree: &TraceTree, event: EventId) -> bool {
    !tree.non_gpu_path(event)
}

/// The events of each track, the tracks in order of their first event.
fn by_track(tree: &TraceTree, events: impl IntoIterator<Item = EventId>) -> Vec<(EventId, Vec<EventId>)> {
    let mut place: HashMap<TrackId, usize> = HashMap::new();
    let mut tracks: Vec<(EventId, Vec<EventId>)> = Vec::new();
    for event in events {
        let track = tree.trace().events().track(event);
        let at = *place.entry(track).or_insert_with(|| {
            tracks.push((event, Vec::new()));
            tracks.len() - 1
        });
        tracks[at].1.push(event);
    }
    tracks
}

/// What is asked of each distinct name once.
#[derive(Clone, Copy)]
struct Name {
    label: LabelId,
    /// Hash of what is compared: the label, of device events what they do.
    compared: u64,
    /// Hash of the label.
    whole: u64,
    category: &'static str,
}

struct Builder<'r> {
    tree: &'r TraceTree,
    classes: &'r NameClasses,
    communication: &'r CommunicationPatterns,
    scale: i64,
    labels: &'r mut Labels,
    names: HashMap<(StringId, NodeKind), Name>,
    signatures: HashMap<SignatureId, u64>,
    outline: Outline,
}

impl Builder<'_> {
    fn push_named(&mut self, kind: NodeKind, label: &str, event: Option<EventId>, parent: u32) -> u32 {
        let whole = hash(label.as_bytes());
        let name = Name { label: self.labels.intern(label), compared: whole, whole, category: "" };
        self.push(kind, name, event, 0, parent)
    }

    fn push(&mut self, kind: NodeKind, name: Name, event: Option<EventId>, inputs: u64, parent: u32) -> u32 {
        let outline = &mut self.outline;
        let node = outline.len() as u32;
        outline.kind.push(kind);
        outline.label.push(name.label);
        outline.event.push(event);
        outline.parent.push(parent);
        outline.keys.push([name.compared, name.whole, 0, 0]);
        outline.inputs.push(inputs);
        outline.category.push(name.category);
        let events = self.tree.trace().events();
        let device = event.filter(|_| kind == NodeKind::Device);
        outline.start.push(device.map_or(0, |event| events.start(event).saturating_mul(self.scale)));
        outline
            .duration
            .push(device.map_or(0, |event| events.duration(event).max(0).saturating_mul(self.scale)));
        outline.track.push(event.map_or(0, |event| events.track(event).index() as u32));
        node
    }

    /// Adds events and what is below them. Python frames that are no modules are left out, and what they call stands in
    /// their place: they change with every version of a library.
    fn push_subtrees(&mut self, events: Vec<EventId>, lane: u32) {
        let tree = self.tree;
        let mut open: Vec<(EventId, u32)> = events.into_iter().rev().map(|event| (event, lane)).collect();
        while let Some((event, parent)) = open.pop() {
            let node = match self.kind(event) {
                Some(kind) => self.push_event(event, kind, parent),
                None => parent,
            };
            let children = tree.children(event);
            let is_device = |event: &EventId| tree.trace().events().category(*event).is_device();
            let hosts = children.partition_point(|event| !is_device(event));
            let (hosts, devices) = children.split_at(hosts);
            if devices.len() < 2 {
                open.extend(devices.iter().map(|&event| (event, node)));
            } else {
                let mut devices = devices.to_vec();
                devices.sort_by_key(|&event| std::cmp::Reverse((tree.trace().events().start(event), event)));
                open.extend(devices.into_iter().map(|event| (event, node)));
            }
            let hosts = hosts.iter().rev().filter(|&&event| leads_to_device(tree, event));
            open.extend(hosts.map(|&event| (event, node)));
        }
    }

    /// What the node of an event is; `None` of frames that get none.
    fn kind(&self, event: EventId) -> Option<NodeKind> {
        let events = self.tree.trace().events();
        match events.category(event) {
            Category::PYTHON_FUNCTION => self.tree.is_module(event).then_some(NodeKind::Module),
            category if category.is_device() => Some(NodeKind::Device),
            category if category.is_launch_api() => {
                let is_graph = is_graph_launch(self.tree.trace().name(event));
                Some(if is_graph { NodeKind::GraphLaunch } else { NodeKind::Call })
            }
            _ => Some(NodeKind::Operator),
        }
    }

    fn push_event(&mut self, event: EventId, kind: NodeKind, parent: u32) -> u32 {
        let trace = self.tree.trace();
        let (labels, classes, communication) = (&mut *self.labels, self.classes, self.communication);
        let id = trace.events().name(event);
        let name = *self.names.entry((id, kind)).or_insert_with(|| {
            let text = trace.text(id);
            let (label, category) = match kind {
                NodeKind::Device => (text.to_owned(), labels::device_category(text, communication)),
                NodeKind::Call | NodeKind::GraphLaunch => (labels::call(text), ""),
                NodeKind::Module => (labels::module(text), ""),
                _ => (labels::operator(text, classes), ""),
            };
            let whole = hash(label.as_bytes());
            let compared = if kind == NodeKind::Device { hash(category.as_bytes()) } else { whole };
            Name { label: labels.intern(&label), compared, whole, category }
        });
        let signature = trace.events().signature(event).filter(|_| kind == NodeKind::Operator);
        let inputs = signature.map_or(0, |signature| {
            *self.signatures.entry(signature).or_insert_with(|| {
                let recorded = trace.signatures().get(signature);
                let argument = |id| trace.signatures().argument(id);
                labels::inputs(recorded.dims.map(argument), recorded.types.map(argument))
            })
        });
        self.push(kind, name, Some(event), inputs, parent)
    }
}
