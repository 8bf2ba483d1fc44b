//! Linking by launch arrows alone, for comparison with TraceLens.

use trace_ingest::{EventId, EventTable, FlowEnd, FlowKind, Trace, TrackId};

use crate::id_index::{Candidate, IdIndex};
use crate::names::TRACELENS_GRAPH_LAUNCHES;
use crate::row::NONE;
use crate::warning::TreeStatistics;

/// Which argument holds the number that arrows refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkId {
    Correlation,
    ExternalId,
}

impl LinkId {
    /// The first call whose name contains `launch` decides for the whole trace.
    fn for_trace(trace: &Trace) -> LinkId {
        let events = trace.events();
        let first_launch = events.ids().find(|&event| {
            events.category(event).is_launch_api()
                && trace.name(event).to_ascii_lowercase().contains("launch")
        });
        match first_launch.and_then(|event| events.correlation(event)) {
            Some(_) => LinkId::Correlation,
            None => LinkId::ExternalId,
        }
    }

    fn get(self, events: &EventTable, event: EventId) -> Option<i64> {
        match self {
            LinkId::Correlation => events.correlation(event),
            LinkId::ExternalId => events.external_id(event),
        }
    }
}

/// Sets the parents of device events: per call in file order, either all device events that share its id
/// (graph launches by exact name) or the one at the end of its arrow. Of several arrows with one id the last
/// counts, and an arrow ends at the last event of its row that carries the id; when that event is not a device
/// event, nothing is linked. A device event that two calls claim stays with the last.
pub(crate) fn link(trace: &Trace, parent: &mut [u32], statistics: &mut TreeStatistics) {
    let events = trace.events();
    let link_id = LinkId::for_trace(trace);
    let column = match link_id {
        LinkId::Correlation => &events.arguments().correlation,
        LinkId::ExternalId => &events.arguments().external_id,
    };

    let mut by_row: Vec<(i64, TrackId, u32)> = Vec::with_capacity(column.len());
    let mut by_id: Vec<(i64, u32)> = Vec::new();
    for (row, id) in column.iter() {
        let event = EventId(row as u32);
        by_row.push((id, events.track(event), event.0));
        if events.category(event).is_device() {
            by_id.push((id, event.0));
        }
    }
    by_row.sort_unstable();
    by_id.sort_unstable();
    let last_in_row = |id: i64, track: TrackId| {
        let end = by_row.partition_point(|&(other, row, _)| (other, row) <= (id, track));
        by_row[..end].last().filter(|entry| (entry.0, entry.1) == (id, track)).map(|entry| entry.2)
    };

    let flows = trace.flows();
    let last_arrow = |end: FlowEnd| {
        let candidates = flows
            .iter()
            .enumerate()
            .filter(|(_, flow)| flow.kind == FlowKind::Launch && flow.end == end)
            .map(|(position, flow)| Candidate {
                id: flow.id,
                rank: std::cmp::Reverse(position),
                row: position as u32,
            })
            .collect();
        IdIndex::new(candidates).0
    };
    let (starts, finishes) = (last_arrow(FlowEnd::Start), last_arrow(FlowEnd::Finish));

    let graph_launches = TRACELENS_GRAPH_LAUNCHES.map(|name| trace.strings().find(name));
    for call in events.ids().filter(|&event| events.category(event).is_launch_api()) {
        let Some(id) = link_id.get(events, call) else { continue };
        if graph_launches.contains(&Some(events.name(call))) {
            let first = by_id.partition_point(|&(other, _)| other < id);
            for &(_, row) in by_id[first..].iter().take_while(|&&(other, _)| other == id) {
                statistics.linked_by_graph_launch += u64::from(parent[row as usize] == NONE);
                parent[row as usize] = call.0;
            }
        } else if starts.get(id).is_some()
            && let Some(finish) = finishes.get(id)
            && let Some(row) = last_in_row(id, flows[finish as usize].track)
            && events.category(EventId(row)).is_device()
        {
            statistics.linked_by_flow += u64::from(parent[row as usize] == NONE);
            parent[row as usize] = call.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::{LinkBy, TraceTree, TreeOptions};
    use trace_ingest::{Category, EventArguments, EventId, Flow, FlowEnd, FlowKind};

    fn by_flow(fixture: Fixture) -> TraceTree {
        TraceTree::build(fixture.finish(), &TreeOptions { link_by: LinkBy::Flow, ..TreeOptions::default() })
    }

    #[test]
    fn without_an_arrow_nothing_is_linked() {
        let mut fixture = Fixture::new();
        let call = fixture.launch("hipLaunchKernel", (0.0, 1.0), 1);
        let fill = fixture.launch("hipMemsetAsync", (2.0, 1.0), 2);
        let kernel = fixture.kernel("k", (20.0, 5.0), 1);
        fixture.device(Category::GPU_MEMSET, ("Memset (Device)", 7, 30.0, 5.0), 2);
        fixture.arrow(1);
        let tree = by_flow(fixture);
        assert_eq!((tree.children(call), tree.children(fill)), (&[kernel][..], &[][..]));
        assert_eq!((tree.statistics().linked_by_flow, tree.unlinked_device_events().len()), (1, 1));
    }

    #[test]
    fn a_call_gets_only_the_last_of_several_kernels() {
        let mut fixture = Fixture::new();
        let call = fixture.launch("hipLaunchKernel", (0.0, 1.0), 1);
        let kernels = [10.0, 20.0].map(|start| fixture.kernel("k", (start, 5.0), 1));
        fixture.arrow(1);
        assert_eq!(by_flow(fixture).children(call), [kernels[1]]);
    }

    #[test]
    fn of_two_arrows_with_one_id_the_last_counts() {
        let mut fixture = Fixture::new();
        let call = fixture.launch("hipLaunchKernel", (0.0, 1.0), 1);
        fixture.kernel("k", (10.0, 5.0), 1);
        let other = fixture.device(Category::KERNEL, ("k", 8, 10.0, 5.0), 1);
        fixture.arrow(1);
        let track = fixture.builder.track(0, 8);
        let (kind, end) = (FlowKind::Launch, FlowEnd::Finish);
        fixture.builder.flow(Flow { kind, end, id: 1, track, time: None, event: None });
        assert_eq!(by_flow(fixture).children(call), [other]);
    }

    #[test]
    fn only_the_two_exact_graph_launch_names_get_all_kernels() {
        for (name, linked) in [("cudaGraphLaunch", 2), ("hipGraphLaunch", 2), ("cuGraphLaunch", 0)] {
            let mut fixture = Fixture::new();
            let call = fixture.launch(name, (0.0, 1.0), 1);
            fixture.kernel("k", (10.0, 5.0), 1);
            fixture.kernel("k", (20.0, 5.0), 1);
            assert_eq!(by_flow(fixture).children(call).len(), linked, "{name}");
        }
    }

    fn with_ids(correlation: Option<i64>, external_id: i64) -> EventArguments {
        EventArguments { correlation, external_id: Some(external_id), ..EventArguments::default() }
    }

    /// A call and a kernel that share correlation 1 and External id 5, and an arrow with the given id.
    fn linked_with(call: &str, correlation: Option<i64>, arrow: i64) -> bool {
        let mut fixture = Fixture::new();
        fixture.event(Category::CUDA_RUNTIME, call, (1, 1), (0.0, 1.0), with_ids(correlation, 5));
        fixture.event(Category::KERNEL, "k", (0, 7), (10.0, 1.0), with_ids(correlation, 5));
        fixture.arrow(arrow);
        by_flow(fixture).parent(EventId(1)).is_some()
    }

    #[test]
    fn correlation_is_the_link_when_a_launch_has_it() {
        assert!(linked_with("cudaLaunchKernel", Some(1), 1));
        assert!(!linked_with("cudaLaunchKernel", Some(1), 5));
    }

    #[test]
    fn external_id_is_the_link_when_a_launch_has_no_correlation() {
        assert!(linked_with("cudaLaunchKernel", None, 5));
    }

    #[test]
    fn external_id_is_the_link_when_no_call_is_a_launch() {
        assert!(linked_with("cudaMemcpyAsync", Some(1), 5));
        assert!(!linked_with("cudaMemcpyAsync", Some(1), 1));
    }

    #[test]
    fn the_last_event_of_the_row_hides_a_kernel_with_the_same_id() {
        let mut fixture = Fixture::new();
        fixture.event(Category::CUDA_RUNTIME, "cudaMemcpyAsync", (1, 1), (0.0, 1.0), with_ids(None, 5));
        let copy = fixture.event(Category::GPU_MEMCPY, "copy", (0, 7), (10.0, 1.0), with_ids(None, 5));
        fixture.event(Category::GPU_USER_ANNOTATION, "step", (0, 7), (5.0, 9.0), with_ids(None, 5));
        fixture.arrow(5);
        assert_eq!(by_flow(fixture).unlinked_device_events(), [copy]);
    }
}
