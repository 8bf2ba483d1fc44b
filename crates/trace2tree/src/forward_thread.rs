//! Forward operators by the forward thread that the profiler recorded with the backward.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use trace_ingest::{EventId, RowId, Trace, TrackId};

use crate::names::NameClasses;

/// A forward thread: process, and the profiler's number of the thread in it.
type ForwardThread = (RowId, i64);

/// The events with one sequence number.
struct Numbered {
    /// Events that evaluate a backward.
    backward: Vec<EventId>,
    /// `(thread, start, first in the file last, event)` of the events that are not part of a backward, sorted.
    forward: Vec<(TrackId, i64, Reverse<EventId>)>,
}

/// `(backward, forward)` of all backwards whose forward is found. `numbered` is sorted.
pub(crate) fn links(
    trace: &Trace,
    names: &NameClasses,
    numbered: &[(i64, EventId)],
) -> Vec<(EventId, EventId)> {
    let events = trace.events();
    let groups: Vec<Numbered> = numbered
        .chunk_by(|a, b| a.0 == b.0)
        .map(|group| {
            let (backward, others): (Vec<EventId>, Vec<EventId>) = group
                .iter()
                .map(|&(_, event)| event)
                .partition(|&event| names.is_evaluate_function(events.name(event)));
            let mut forward: Vec<_> = others
                .into_iter()
                .filter(|&event| forward_thread(trace, event).is_none())
                .map(|event| (events.track(event), events.start(event), Reverse(event)))
                .collect();
            forward.sort_unstable();
            Numbered { backward, forward }
        })
        .filter(|group| !group.backward.is_empty() && !group.forward.is_empty())
        .collect();
    let tracks = tracks_of_forward_threads(trace, &groups);
    let mut links = Vec::new();
    for Numbered { backward, forward } in &groups {
        let threads: Vec<_> = forward.chunk_by(|a, b| a.0 == b.0).collect();
        for &event in backward {
            let known = forward_thread(trace, event).and_then(|thread| tracks.get(&thread));
            let is_candidate = |track: TrackId| match known {
                Some(&known) => track == known,
                None => track != events.track(event),
            };
            let found = threads.iter().filter(|thread| is_candidate(thread[0].0)).filter_map(|thread| {
                let before = thread.partition_point(|&(_, start, _)| start < events.start(event));
                thread[..before].last().map(|&(_, start, first)| (start, first))
            });
            links.extend(found.max().map(|(_, Reverse(forward))| (event, forward)));
        }
    }
    links
}

/// The forward thread that was recorded with an event; none with an event that runs forward.
fn forward_thread(trace: &Trace, event: EventId) -> Option<ForwardThread> {
    let events = trace.events();
    let number = events.arguments().forward_thread.get(event.index()).filter(|&number| number > 0)?;
    Some((trace.tracks().get(events.track(event)).pid, number))
}

/// Which thread of the trace a forward thread is: of its process the one that began earlier something with the
/// same sequence number most often. No thread stands for two.
fn tracks_of_forward_threads(trace: &Trace, groups: &[Numbered]) -> BTreeMap<ForwardThread, TrackId> {
    let events = trace.events();
    let mut common: BTreeMap<(ForwardThread, TrackId), u64> = BTreeMap::new();
    let mut first_start: BTreeMap<TrackId, i64> = BTreeMap::new();
    for Numbered { backward, forward } in groups {
        let mut latest: BTreeMap<ForwardThread, i64> = BTreeMap::new();
        for &event in backward {
            let Some(thread) = forward_thread(trace, event) else { continue };
            let start = latest.entry(thread).or_insert(i64::MIN);
            *start = events.start(event).max(*start);
        }
        for track_starts in forward.chunk_by(|a, b| a.0 == b.0) {
            let (track, start, _) = track_starts[0];
            let first = first_start.entry(track).or_insert(start);
            *first = start.min(*first);
            let pid = trace.tracks().get(track).pid;
            let later = latest.iter().filter(|((process, _), latest)| *process == pid && start < **latest);
            later.for_each(|(&thread, _)| *common.entry((thread, track)).or_default() += 1);
        }
    }
    // Of equals, the profiler numbered the thread first that ran something first.
    let mut by_votes: Vec<_> = common
        .into_iter()
        .map(|((thread, track), count)| (Reverse(count), thread, first_start.get(&track).copied(), track))
        .collect();
    by_votes.sort_unstable();
    let mut taken = BTreeSet::new();
    let mut tracks = BTreeMap::new();
    for (_, thread, _, track) in by_votes {
        if !tracks.contains_key(&thread) && taken.insert(track) {
            tracks.insert(thread, track);
        }
    }
    tracks
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments, EventId};

    use crate::fixture::Fixture;
    use crate::{LinkBackwardBy, TraceTree, TreeOptions};

    const EVALUATE: &str = "autograd::engine::evaluate_function: MmBackward0";

    /// An event on a thread with its start, sequence number and forward thread.
    fn event(
        fixture: &mut Fixture,
        name: &str,
        tid: i64,
        start: f64,
        number: i64,
        forward_thread: Option<i64>,
    ) -> EventId {
        let arguments =
            EventArguments { sequence_number: Some(number), forward_thread, ..EventArguments::default() };
        fixture.event(Category::CPU_OP, name, (1, tid), (start, 5.0), arguments)
    }

    fn linked(fixture: Fixture) -> TraceTree {
        let link_backward_by = LinkBackwardBy::ForwardThread;
        TraceTree::build(fixture.finish(), &TreeOptions { link_backward_by, ..TreeOptions::default() })
    }

    #[test]
    fn threads_that_gave_the_same_numbers_are_told_apart() {
        let mut fixture = Fixture::new();
        let a = [1, 2, 3].map(|n| event(&mut fixture, "a", 11, 10.0 * n as f64, n, Some(0)));
        let b = [2, 3, 4].map(|n| event(&mut fixture, "b", 22, 1.0 + 10.0 * n as f64, n, Some(0)));
        let of_b = [2, 3, 4].map(|n| event(&mut fixture, EVALUATE, 33, 100.0 + 10.0 * n as f64, n, Some(5)));
        let of_a = [1, 2, 3].map(|n| event(&mut fixture, EVALUATE, 33, 200.0 + 10.0 * n as f64, n, Some(8)));
        event(&mut fixture, "MmBackward0", 33, 221.0, 2, Some(8));
        let tree = linked(fixture);
        assert_eq!(of_a.map(|backward| tree.forward_event(backward).unwrap()), a);
        assert_eq!(of_b.map(|backward| tree.forward_event(backward).unwrap()), b);
        assert_eq!(tree.statistics().backward_links, 6);
        assert_eq!(
            TraceTree::build(tree.into_trace(), &TreeOptions::default()).statistics().backward_links,
            4
        );
    }

    #[test]
    fn a_backward_on_its_forwards_thread_belongs_to_the_last_event_before_it() {
        let mut fixture = Fixture::new();
        event(&mut fixture, "outer", 1, 0.0, 7, Some(0));
        let inner = event(&mut fixture, "inner", 1, 1.0, 7, Some(0));
        let backward = event(&mut fixture, EVALUATE, 1, 50.0, 7, Some(1));
        event(&mut fixture, "MmBackward0", 1, 51.0, 7, Some(1));
        let again = event(&mut fixture, EVALUATE, 1, 70.0, 7, Some(1));
        event(&mut fixture, "after", 1, 90.0, 7, Some(0));
        let tree = linked(fixture);
        assert_eq!(tree.backward_events(inner), [backward, again]);
    }

    #[test]
    fn a_backward_without_a_forward_thread_belongs_to_another_thread() {
        let mut fixture = Fixture::new();
        let forward = event(&mut fixture, "a", 1, 0.0, 7, None);
        let backward = event(&mut fixture, EVALUATE, 2, 50.0, 7, None);
        event(&mut fixture, "MmBackward0", 2, 51.0, 7, None);
        event(&mut fixture, EVALUATE, 2, 90.0, 8, None);
        let tree = linked(fixture);
        assert_eq!(tree.forward_event(backward), Some(forward));
        assert_eq!(tree.statistics().backward_links, 1);
    }

    #[test]
    fn of_equal_starts_the_first_in_the_file_is_the_forward() {
        let mut fixture = Fixture::new();
        let first = event(&mut fixture, "a", 1, 0.0, 7, Some(0));
        event(&mut fixture, "b", 1, 0.0, 7, Some(0));
        let backward = event(&mut fixture, EVALUATE, 2, 50.0, 7, Some(1));
        assert_eq!(linked(fixture).forward_event(backward), Some(first));
    }
}
