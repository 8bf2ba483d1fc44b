//! The tree: building it and walking it.

use std::cmp::Reverse;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread;

use trace_ingest::{Category, EventId, StringId, Time, Trace, Track};

use crate::backward::{BackwardLinks, LinkBackwardBy};
use crate::busy_time::busy_time;
use crate::event_set::EventSet;
use crate::layout::Layout;
use crate::linking::{self, LinkBy};
use crate::lookup::{ExternalIdIndex, NameIndex};
use crate::names::NameClasses;
use crate::nesting;
use crate::pseudo_operators::PseudoOperators;
use crate::row::{NONE, some};
use crate::unrecorded::{LostLaunches, Overruns, Unrecorded};
use crate::warning::{TreeStatistics, TreeWarning};

/// What the tree is built from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeOptions {
    /// Whether Python frames are nodes. They are most events of a trace that has them; queries about
    /// `nn.Module`s and recomputation need them.
    pub python_frames: bool,
    /// How the launch of a device event is found.
    pub link_by: LinkBy,
    /// How the forward operator of a backward operator is found.
    pub link_backward_by: LinkBackwardBy,
    /// How many threads may work on one tree; none and one are the same, more than two are not used. The tree is the
    /// same for any number.
    pub threads: usize,
    /// Keeps the recorded ends of device events that run far into the next one of their queue
    /// ([`TraceTree::overruns`]). Otherwise such an event ends where the next one starts.
    pub keep_overruns: bool,
}

/// A trace as a forest: operators, the calls inside them, and below the calls the device events they launched.
///
/// Nodes are events ([`EventId`]). Host nodes are operators (`cpu_op`), calls of a runtime or driver
/// ([`Category::is_launch_api`]) and, on request, Python frames (`python_function`); device nodes are the kernels, copies and fills whose
/// launch was found. All other events of the trace have no parent, no children and no device events.
///
/// Host nodes are numbered in pre-order and device nodes are sorted by the number of their launch, so that
/// the host nodes and the device nodes of any subtree are one slice each
/// ([`TraceTree::host_subtree`], [`TraceTree::device_events`]).
#[derive(Clone, Debug)]
pub struct TraceTree {
    pub(crate) trace: Trace,
    pub(crate) options: TreeOptions,
    pub(crate) names: NameClasses,
    /// Parent per event row.
    pub(crate) parent: Vec<u32>,
    layout: Layout,
    unlinked: Vec<EventId>,
    pub(crate) backward: BackwardLinks,
    pub(crate) pseudo_operators: PseudoOperators,
    /// Events put here from other recordings.
    pub(crate) captured: EventSet,
    statistics: TreeStatistics,
    pub(crate) warnings: Vec<TreeWarning>,
    pub(crate) by_name: OnceLock<NameIndex>,
    pub(crate) by_external_id: OnceLock<ExternalIdIndex>,
    pub(crate) lost_launches: OnceLock<LostLaunches>,
    pub(crate) unrecorded: OnceLock<Unrecorded>,
    pub(crate) overruns: Overruns,
}

impl TraceTree {
    /// Builds the tree of a trace. What the trace contradicts itself in is put right and counted
    /// ([`TraceTree::warnings`]); building never fails.
    pub fn build(trace: Trace, options: &TreeOptions) -> TraceTree {
        let mut names = NameClasses::default();
        names.extend(trace.strings());
        let nodes = || Nodes::find(&trace, &names, options);
        let backward = || BackwardLinks::new(&trace, &names, options.link_backward_by);
        let (nodes, backward) = match options.threads > 1 {
            true => thread::scope(|scope| {
                let backward = scope.spawn(backward);
                let nodes = nodes();
                (nodes, backward.join().unwrap_or_else(|panic| resume_unwind(panic)))
            }),
            false => (nodes(), backward()),
        };
        let Nodes { parent, first_reattached, shared_correlations, layout, unlinked, mut statistics } = nodes;
        statistics.backward_links = backward.len() as u64;
        let mut warnings = Vec::new();
        if let Some(first) = first_reattached {
            let (count, first_uid) = (statistics.reattached, trace.events().uid(first));
            warnings.push(TreeWarning::ReattachedHostEvents { count, first_uid });
        }
        if !unlinked.is_empty() {
            let busy = busy_time(trace.events(), unlinked.iter().copied());
            let (count, busy_microseconds) = (unlinked.len() as u64, trace.to_microseconds(busy));
            warnings.push(TreeWarning::UnlinkedDeviceEvents { count, busy_microseconds });
        }
        if shared_correlations > 0 {
            warnings.push(TreeWarning::SharedCorrelations { count: shared_correlations });
        }
        let mut tree = TraceTree {
            trace,
            options: options.clone(),
            names,
            parent,
            layout,
            unlinked,
            backward,
            pseudo_operators: PseudoOperators::default(),
            captured: EventSet::default(),
            statistics,
            warnings,
            by_name: OnceLock::new(),
            by_external_id: OnceLock::new(),
            lost_launches: OnceLock::new(),
            unrecorded: OnceLock::new(),
            overruns: Overruns::default(),
        };
        tree.end_overruns();
        tree
    }

    /// Derives everything again from the parents, after events were added or moved.
    pub(crate) fn derive_layout(&mut self) {
        self.names.extend(self.trace.strings());
        let hosts = host_events_by_time(&self.trace, &self.options);
        self.layout = Layout::new(&self.trace, &self.names, &hosts, &self.parent);
        self.by_name = OnceLock::new();
        self.by_external_id = OnceLock::new();
        self.lost_launches = OnceLock::new();
        self.unrecorded = OnceLock::new();
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Gives the trace back.
    pub fn into_trace(self) -> Trace {
        self.trace
    }

    /// What the tree was built from.
    pub fn options(&self) -> &TreeOptions {
        &self.options
    }

    /// What building counted.
    pub fn statistics(&self) -> &TreeStatistics {
        &self.statistics
    }

    /// Faults that building and the passes after it recovered from, each kind once.
    pub fn warnings(&self) -> &[TreeWarning] {
        &self.warnings
    }

    /// Number of nodes: host events and linked device events.
    pub fn node_count(&self) -> usize {
        self.layout.host_order.len() + self.layout.device_order.len()
    }

    /// Whether the event is a node.
    pub fn contains(&self, event: EventId) -> bool {
        self.is_host(event) || self.launch(event).is_some()
    }

    /// Whether the event is a host node.
    pub fn is_host(&self, event: EventId) -> bool {
        self.layout.position(event).is_some()
    }

    /// The event that this one ran in; for a device event its launch, or the inserted operator that it was
    /// isolated under from others of that launch ([`crate::TreeEdit::isolate`]).
    #[inline]
    pub fn parent(&self, event: EventId) -> Option<EventId> {
        some(self.parent[event.index()])
    }

    /// Host children in time order, then launched device events in file order.
    #[inline]
    pub fn children(&self, event: EventId) -> &[EventId] {
        self.layout.children(event)
    }

    /// The parent, its parent, and so on to the root.
    pub fn ancestors(&self, event: EventId) -> impl Iterator<Item = EventId> + '_ {
        std::iter::successors(self.parent(event), |&above| self.parent(above))
    }

    /// The topmost ancestor; the event itself when it has no parent.
    pub fn root(&self, event: EventId) -> EventId {
        self.ancestors(event).last().unwrap_or(event)
    }

    /// All events below this one in pre-order, device events included.
    pub fn descendants(&self, event: EventId) -> impl Iterator<Item = EventId> + '_ {
        let mut stack: Vec<EventId> = self.children(event).iter().rev().copied().collect();
        std::iter::from_fn(move || {
            let next = stack.pop()?;
            stack.extend(self.children(next).iter().rev());
            Some(next)
        })
    }

    /// Host events without a parent, in time order.
    pub fn roots(&self) -> &[EventId] {
        &self.layout.roots
    }

    /// Operators (`cpu_op`) that no other operator encloses, in time order. With Python frames they are
    /// mostly not roots.
    pub fn operator_roots(&self) -> &[EventId] {
        &self.layout.operator_roots
    }

    /// All host nodes in pre-order.
    pub fn host_events(&self) -> &[EventId] {
        &self.layout.host_order
    }

    /// All linked device events in order of their launches.
    pub fn linked_device_events(&self) -> &[EventId] {
        &self.layout.device_order
    }

    /// Device events whose launch is not in the trace, in file order; mostly they were launched before
    /// recording began.
    pub fn unlinked_device_events(&self) -> &[EventId] {
        &self.unlinked
    }

    /// A host event and all host events below it, in pre-order; empty for any other event.
    pub fn host_subtree(&self, event: EventId) -> &[EventId] {
        self.layout.subtree(event)
    }

    /// The device events that a host event and everything below it launched, in pre-order of the launches;
    /// empty for any other event.
    #[inline]
    pub fn device_events(&self, event: EventId) -> &[EventId] {
        self.layout.device_events(event)
    }

    /// Positions of [`TraceTree::device_events`] in [`TraceTree::linked_device_events`].
    pub fn device_positions(&self, event: EventId) -> Range<usize> {
        self.layout.device_positions(event)
    }

    /// [`TraceTree::device_events`] by file order of the launches, then of the events: the order in which
    /// reports list them.
    pub fn device_events_in_file_order(&self, event: EventId) -> Vec<EventId> {
        let mut events = self.device_events(event).to_vec();
        events.sort_unstable_by_key(|&event| (self.launch(event), event));
        events
    }

    /// Whether the event is not a device event and caused no device work.
    pub fn non_gpu_path(&self, event: EventId) -> bool {
        !self.trace.events().category(event).is_device() && self.device_events(event).is_empty()
    }

    /// The call that launched a device event.
    pub fn launch(&self, event: EventId) -> Option<EventId> {
        let parent = self.parent(event).filter(|_| self.trace.events().category(event).is_device())?;
        Some(self.pseudo_operators.launch(event).unwrap_or(parent))
    }

    /// The nearest operator (`cpu_op`) above an event.
    #[inline]
    pub fn operator(&self, event: EventId) -> Option<EventId> {
        some(self.layout.operator[event.index()])
    }

    /// Time in which at least one device event of the subtree ran.
    pub fn gpu_time(&self, event: EventId) -> Time {
        self.gpu_time_of(&[event])
    }

    /// Time in which at least one device event of these subtrees ran, whether they run side by side or enclose each other.
    pub fn gpu_time_of(&self, events: &[EventId]) -> Time {
        let below = events.iter().flat_map(|&event| self.device_events(event)).copied();
        self.trace.time(busy_time(self.trace.events(), below))
    }

    /// The nodes with this name, in file order. The first query by name builds an index.
    pub fn find_by_name(&self, name: &str) -> &[EventId] {
        self.trace.strings().find(name).map_or(&[], |name| self.find_by_name_id(name))
    }

    /// The nodes with this interned name, in file order.
    pub fn find_by_name_id(&self, name: StringId) -> &[EventId] {
        self.by_name.get_or_init(|| NameIndex::new(&self.trace, |event| self.contains(event))).find(name)
    }

    /// The distinct names of nodes, by id.
    pub fn node_names(&self) -> impl Iterator<Item = StringId> + '_ {
        self.trace.strings().iter().map(|(id, _)| id).filter(|&id| !self.find_by_name_id(id).is_empty())
    }

    /// The names of nodes that contain a text, in upper or lower case, with the GPU time below each, the longest first.
    pub fn names_containing(&self, text: &str) -> Vec<(StringId, Time)> {
        let text = text.to_lowercase();
        let contains = |name: &StringId| self.trace.text(*name).to_lowercase().contains(&text);
        let timed = |name| {
            let events = self.find_by_name_id(name);
            let is_device_event = |event: &EventId| self.trace.events().category(*event).is_device();
            let own = || self.trace.time(busy_time(self.trace.events(), events.iter().copied()));
            (name, if events.first().is_some_and(is_device_event) { own() } else { self.gpu_time_of(events) })
        };
        let mut names: Vec<_> = self.node_names().filter(contains).map(timed).collect();
        names.sort_by_key(|&(_, time)| Reverse(time.ticks()));
        names
    }

    /// The first event in the file, of any category, with this `External id` on this process and thread. The
    /// first query builds an index.
    pub fn find_by_external_id(&self, external_id: i64, track: Track) -> Option<EventId> {
        let track = self.trace.tracks().find(track)?;
        let index = self.by_external_id.get_or_init(|| ExternalIdIndex::new(&self.trace));
        index.find(external_id, track)
    }

    /// The forward operator of a backward operator, found as [`TreeOptions::link_backward_by`] says or given by
    /// [`TreeEdit::link_backward`].
    pub fn forward_event(&self, backward: EventId) -> Option<EventId> {
        self.backward.forward_of(backward)
    }

    /// The backward operators of a forward operator ([`TraceTree::forward_event`]), in file order.
    pub fn backward_events(&self, forward: EventId) -> &[EventId] {
        self.backward.backward_of(forward)
    }

    /// The distinct backward operators of an event and everything below it, in file order.
    pub fn backward_events_of_subtree(&self, event: EventId) -> Vec<EventId> {
        let mut found: Vec<EventId> = std::iter::once(event)
            .chain(self.descendants(event))
            .flat_map(|event| self.backward_events(event).iter().copied())
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The host events of the tree in time order.
fn host_events_by_time(trace: &Trace, options: &TreeOptions) -> Vec<EventId> {
    let events = trace.events();
    let is_host = |event: &EventId| match events.category(*event) {
        Category::CPU_OP => true,
        Category::PYTHON_FUNCTION => options.python_frames,
        category => category.is_launch_api(),
    };
    nesting::time_order(trace, events.ids().filter(is_host), options.threads)
}

/// What nests and what launched what: all of a tree but the links between operators and their backwards.
struct Nodes {
    parent: Vec<u32>,
    /// The first host event in time that outlives the event it starts in.
    first_reattached: Option<EventId>,
    /// Correlation ids of linked device events that several calls carry.
    shared_correlations: u64,
    layout: Layout,
    unlinked: Vec<EventId>,
    statistics: TreeStatistics,
}

impl Nodes {
    fn find(trace: &Trace, names: &NameClasses, options: &TreeOptions) -> Nodes {
        let mut parent = vec![NONE; trace.events().len()];
        let mut statistics = TreeStatistics::default();
        let hosts = host_events_by_time(trace, options);
        statistics.host_events = hosts.len() as u64;
        let first_reattached = nesting::nest(trace, &hosts, &mut parent, &mut statistics);
        let shared_correlations = linking::link(trace, options.link_by, &mut parent, &mut statistics);
        let layout = Layout::new(trace, names, &hosts, &parent);
        let unlinked = linking::unlinked(trace, &parent);
        statistics.unlinked_device_events = unlinked.len() as u64;
        Nodes { parent, first_reattached, shared_correlations, layout, unlinked, statistics }
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Fixture, Planted};

    #[test]
    fn the_nearest_operator_of_a_kernel_skips_calls_and_python_frames() {
        let mut fixture = Fixture::new();
        fixture.op("outer", (0.0, 100.0));
        let inner = fixture.op("inner", (1.0, 90.0));
        fixture.python("f.py(1): f", (2.0, 80.0));
        let call = fixture.launch("cudaLaunchKernel", (3.0, 5.0), 1);
        let kernel = fixture.kernel("k", (50.0, 5.0), 1);
        let bare = fixture.launch("cudaLaunchKernel", (200.0, 5.0), 2);
        let tree = fixture.tree();
        assert_eq!(
            (tree.operator(kernel), tree.operator(call), tree.operator(bare)),
            (Some(inner), Some(inner), None)
        );
        assert_eq!(tree.root(kernel), tree.roots()[0]);
        assert_eq!(tree.root(bare), bare);
    }

    #[test]
    fn overlapping_kernels_count_once_in_gpu_time() {
        let mut fixture = Fixture::new();
        let op = fixture.op("op", (0.0, 100.0));
        fixture.launch("cudaLaunchKernel", (1.0, 5.0), 1);
        fixture.launch("cudaLaunchKernel", (10.0, 5.0), 2);
        fixture.kernel("k", (50.0, 10.0), 1);
        fixture.kernel("k", (55.0, 10.0), 2);
        let tree = fixture.tree();
        assert_eq!(tree.gpu_time(op).microseconds(), 15.0);
    }
}
