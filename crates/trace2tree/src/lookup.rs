//! Finding events by name and by the profiler's ids.

use trace_ingest::{EventId, StringId, Trace, Track, TrackId};

use crate::layout::grouped;
use crate::tree::TraceTree;

/// Nodes by name.
#[derive(Clone, Debug)]
pub(crate) struct NameIndex {
    /// Start of each string's events in `events`; one entry more than strings.
    offsets: Vec<u32>,
    events: Vec<EventId>,
}

impl NameIndex {
    fn new(tree: &TraceTree) -> NameIndex {
        let table = tree.trace().events();
        let nodes = table.ids().filter(|&event| tree.contains(event));
        let (offsets, events) =
            grouped(tree.trace().strings().len(), nodes, |event| table.name(event).index());
        NameIndex { offsets, events }
    }
}

/// Events with an External id, sorted by `(External id, row of the trace, file order)`.
#[derive(Clone, Debug)]
pub(crate) struct ExternalIdIndex(Vec<(i64, TrackId, EventId)>);

impl ExternalIdIndex {
    fn new(trace: &Trace) -> ExternalIdIndex {
        let events = trace.events();
        let mut index: Vec<_> = events
            .arguments()
            .external_id
            .iter()
            .map(|(row, id)| (id, events.track(EventId(row as u32)), EventId(row as u32)))
            .collect();
        index.sort_unstable();
        ExternalIdIndex(index)
    }
}

impl TraceTree {
    /// The nodes with this name, in file order. The first query by name builds an index.
    pub fn find_by_name(&self, name: &str) -> &[EventId] {
        self.trace.strings().find(name).map_or(&[], |name| self.find_by_name_id(name))
    }

    /// The nodes with this interned name, in file order.
    pub fn find_by_name_id(&self, name: StringId) -> &[EventId] {
        let index = self.by_name.get_or_init(|| NameIndex::new(self));
        &index.events[index.offsets[name.index()] as usize..index.offsets[name.index() + 1] as usize]
    }

    /// The distinct names of nodes, by id.
    pub fn node_names(&self) -> impl Iterator<Item = StringId> + '_ {
        self.trace.strings().iter().map(|(id, _)| id).filter(|&id| !self.find_by_name_id(id).is_empty())
    }

    /// The first event in the file, of any category, with this `External id` on this process and thread. The
    /// first query builds an index.
    pub fn find_by_external_id(&self, external_id: i64, track: Track) -> Option<EventId> {
        let track = self.trace.tracks().find(track)?;
        let ExternalIdIndex(index) = self.by_external_id.get_or_init(|| ExternalIdIndex::new(&self.trace));
        let first = index.partition_point(|&(id, other, _)| (id, other) < (external_id, track));
        index.get(first).filter(|entry| (entry.0, entry.1) == (external_id, track)).map(|entry| entry.2)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use trace_ingest::{Category, EventArguments, RowId, Track};

    #[test]
    fn names_find_nodes_in_file_order() {
        let mut fixture = Fixture::new();
        let late = fixture.op("aten::mm", (20.0, 5.0));
        let early = fixture.op("aten::mm", (10.0, 5.0));
        fixture.op("aten::add", (0.0, 5.0));
        fixture.event(Category::USER_ANNOTATION, "aten::mm", (1, 1), (0.0, 5.0), EventArguments::default());
        fixture.kernel("unlinked", (0.0, 5.0), 1);
        let tree = fixture.tree();
        assert_eq!(tree.find_by_name("aten::mm"), [late, early]);
        assert_eq!(tree.find_by_name("unlinked"), []);
        assert_eq!(tree.find_by_name("never recorded"), []);
        assert_eq!(tree.node_names().count(), 2);
    }

    #[test]
    fn external_id_process_and_thread_find_the_first_event() {
        let mut fixture = Fixture::new();
        let arguments = EventArguments { external_id: Some(42), ..EventArguments::default() };
        fixture.event(Category::CPU_OP, "other thread", (1, 2), (0.0, 5.0), arguments);
        let event = fixture.event(Category::CPU_OP, "a", (1, 1), (10.0, 5.0), arguments);
        fixture.event(Category::CPU_OP, "b", (1, 1), (0.0, 5.0), arguments);
        let tree = fixture.tree();
        let on = |pid, tid| Track { pid: RowId::Number(pid), tid: RowId::Number(tid) };
        assert_eq!(tree.find_by_external_id(42, on(1, 1)), Some(event));
        assert_eq!(tree.find_by_external_id(99, on(1, 1)), None);
        assert_eq!(tree.find_by_external_id(42, on(5, 5)), None);
    }
}
