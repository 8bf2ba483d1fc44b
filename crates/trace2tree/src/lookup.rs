//! Finding events by name and by the profiler's ids.

use trace_ingest::{EventId, StringId, Trace, TrackId};

use crate::layout::grouped;

/// Nodes by name.
#[derive(Clone, Debug)]
pub(crate) struct NameIndex {
    /// Start of each string's events in `events`; one entry more than strings.
    offsets: Vec<u32>,
    events: Vec<EventId>,
}

impl NameIndex {
    /// Of the events that are nodes.
    pub(crate) fn new(trace: &Trace, is_node: impl Fn(EventId) -> bool) -> NameIndex {
        let table = trace.events();
        let nodes = table.ids().filter(|&event| is_node(event));
        let (offsets, events) = grouped(trace.strings().len(), nodes, |event| table.name(event).index());
        NameIndex { offsets, events }
    }

    pub(crate) fn find(&self, name: StringId) -> &[EventId] {
        &self.events[self.offsets[name.index()] as usize..self.offsets[name.index() + 1] as usize]
    }
}

/// Events with an External id, sorted by `(External id, row of the trace, file order)`.
#[derive(Clone, Debug)]
pub(crate) struct ExternalIdIndex(Vec<(i64, TrackId, EventId)>);

impl ExternalIdIndex {
    pub(crate) fn new(trace: &Trace) -> ExternalIdIndex {
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

    /// The first event with this id on a track.
    pub(crate) fn find(&self, external_id: i64, track: TrackId) -> Option<EventId> {
        let ExternalIdIndex(index) = self;
        let first = index.partition_point(|&(id, other, _)| (id, other) < (external_id, track));
        index.get(first).filter(|entry| (entry.0, entry.1) == (external_id, track)).map(|entry| entry.2)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Fixture, Planted};
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
