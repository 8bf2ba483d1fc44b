//! The call stack of each host thread, from the spans of its events.

use std::thread;

use hashbrown::HashMap;
use trace_ingest::{Category, EventId, Trace, TrackId};

use crate::row::NONE;
use crate::warning::TreeStatistics;

/// Of fewer events than this, another thread costs more than it sorts.
const WORTH_A_THREAD: usize = 1 << 14;

/// The given host events by start; of events that start together the longer one first, so that callers
/// come before callees, then in file order.
pub(crate) fn time_order(
    trace: &Trace,
    hosts: impl Iterator<Item = EventId>,
    threads: usize,
) -> Vec<EventId> {
    let events = trace.events();
    // A recorder writes each of these lists in order, or nearly, however it mixes them.
    let mut lists: HashMap<(TrackId, Category), Vec<(i64, EventId)>> = HashMap::new();
    for event in hosts {
        let list = lists.entry((events.track(event), events.category(event))).or_default();
        list.push((events.start(event), event));
    }
    let mut keys: Vec<(i64, EventId)> = lists.into_values().flatten().collect();
    let order = |&(start, event): &(i64, EventId), &(other_start, other): &(i64, EventId)| {
        let longer_first = || events.end(other).cmp(&events.end(event));
        start.cmp(&other_start).then_with(longer_first).then(event.cmp(&other))
    };
    if threads > 1 && keys.len() >= WORTH_A_THREAD {
        let middle = keys.len() / 2;
        let (front, back) = keys.split_at_mut(middle);
        thread::scope(|scope| {
            scope.spawn(|| front.sort_by(order));
            back.sort_by(order);
        });
    }
    // The stable sort profits from ascending runs, such as the two above and the lists.
    keys.sort_by(order);
    keys.into_iter().map(|(_, event)| event).collect()
}

/// Finds the caller of every event: the innermost event of its thread that is still open when it starts.
///
/// `order` is [`time_order`]. Times are integers, so an event that ends exactly with its caller nests. An
/// event that starts inside an open event but outlives it contradicts a call stack:
///
/// * When it does so by starting less than one microsecond before the open event ends, and that event has
///   a caller, the two are taken for siblings whose clock readings crossed.
/// * Otherwise it is placed under the innermost open event that encloses it, or becomes a root. Nothing is
///   left out.
///
/// Returns the first event in time that outlives the event it starts in.
pub(crate) fn nest(
    trace: &Trace,
    order: &[EventId],
    parent: &mut [u32],
    statistics: &mut TreeStatistics,
) -> Option<EventId> {
    let events = trace.events();
    let tolerance = trace.time_unit().per_microsecond();
    let mut stacks: Vec<Vec<(i64, u32)>> = vec![Vec::new(); trace.tracks().len()];
    let mut first_reattached = None;
    for &event in order {
        let (start, end) = (events.start(event), events.end(event));
        let stack = &mut stacks[events.track(event).index()];
        while stack.last().is_some_and(|&(top_end, _)| top_end <= start) {
            stack.pop();
        }
        if let Some(&(top_end, _)) = stack.last()
            && top_end < end
        {
            if top_end - start < tolerance && stack.len() >= 2 {
                statistics.sibling_overlaps += 1;
                stack.pop();
            } else {
                statistics.reattached += 1;
                first_reattached.get_or_insert(event);
                while stack.last().is_some_and(|&(top_end, _)| top_end < end) {
                    stack.pop();
                }
            }
        }
        parent[event.index()] = stack.last().map_or(NONE, |&(_, row)| row);
        stack.push((end, event.0));
    }
    first_reattached
}

#[cfg(test)]
mod tests {
    use super::{WORTH_A_THREAD, time_order};
    use crate::fixture::{Fixture, Planted, names};
    use crate::{TraceTree, TreeOptions};
    use proptest::prelude::*;
    use trace_ingest::{Category, EventArguments, EventId, TraceBuilder};

    /// Builds a tree of operators on one thread and returns the parent of each.
    fn parents(spans: &[(f64, f64)]) -> (Vec<Option<usize>>, u64, u64) {
        let mut fixture = Fixture::new();
        for (index, &span) in spans.iter().enumerate() {
            fixture.op(&format!("op{index}"), span);
        }
        let tree = fixture.tree();
        let parents =
            tree.trace().events().ids().map(|event| tree.parent(event).map(|p| p.index())).collect();
        (parents, tree.statistics().reattached, tree.statistics().sibling_overlaps)
    }

    #[test]
    fn threads_do_not_change_the_order_in_time() {
        let mut builder = TraceBuilder::new();
        let tracks = [1, 2, 3].map(|thread| builder.track(1, thread));
        let mut state = 1u64;
        // Few distinct times, so that starts and whole spans repeat.
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % limit) as i64
        };
        for _ in 0..WORTH_A_THREAD + 1 {
            let (start, duration) = (below(3000), below(4));
            let track = tracks[below(3) as usize];
            let category = [Category::CPU_OP, Category::CUDA_RUNTIME][below(2) as usize];
            builder.event(category, "op", track, start, duration, EventArguments::default());
        }
        let trace = builder.finish();
        let order = time_order(&trace, trace.events().ids(), 1);
        assert_eq!(time_order(&trace, trace.events().ids(), 2), order);
        let events = trace.events();
        let key = |event: EventId| (events.start(event), -events.end(event), event);
        assert!(order.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
        assert_eq!(order.len(), events.len());
    }

    #[test]
    fn nested_operators_are_parent_and_child() {
        assert_eq!(
            parents(&[(0.0, 100.0), (10.0, 20.0), (12.0, 3.0), (40.0, 5.0)]).0,
            [None, Some(0), Some(1), Some(0)]
        );
    }

    #[test]
    fn touching_operators_are_siblings() {
        assert_eq!(parents(&[(0.0, 10.0), (10.0, 10.0)]).0, [None, None]);
    }

    #[test]
    fn a_child_that_ends_exactly_with_its_parent_nests() {
        // In doubles 3743411252990.51 + 6.279 and …991.51 + 5.279 differ; in nanoseconds they do not.
        let spans = [(3_743_411_252_990.51, 6.279), (3_743_411_252_991.51, 5.279)];
        assert_eq!(parents(&spans), (vec![None, Some(0)], 0, 0));
    }

    #[test]
    fn of_operators_that_start_together_the_longer_is_the_parent() {
        // The parent is listed after its child.
        assert_eq!(parents(&[(10.0, 2.0), (10.0, 50.0), (20.0, 5.0)]), (vec![Some(1), None, Some(1)], 0, 0));
    }

    #[test]
    fn of_equal_spans_the_first_in_the_file_is_the_parent() {
        assert_eq!(parents(&[(0.0, 5.0), (0.0, 5.0)]).0, [None, Some(0)]);
    }

    #[test]
    fn a_moment_at_the_end_of_an_operator_is_of_its_caller() {
        assert_eq!(parents(&[(32.0, 12.0), (37.0, 6.0), (43.0, 0.0)]), (vec![None, Some(0), Some(0)], 0, 0));
    }

    #[test]
    fn an_operator_that_outlives_a_root_becomes_a_root() {
        assert_eq!(parents(&[(0.0, 10.0), (9.5, 10.0), (12.0, 3.0)]), (vec![None, None, Some(1)], 1, 0));
    }

    #[test]
    fn an_overlap_below_a_microsecond_makes_siblings() {
        // The third outlives the first as well and stays below it.
        let spans = [(0.0, 20.0), (5.0, 10.0), (14.5, 10.0), (22.0, 1.0)];
        assert_eq!(parents(&spans), (vec![None, Some(0), Some(0), Some(2)], 0, 1));
    }

    #[test]
    fn an_overlap_of_a_microsecond_moves_up_to_the_enclosing_operator() {
        assert_eq!(parents(&[(0.0, 40.0), (5.0, 10.0), (14.0, 10.0)]), (vec![None, Some(0), Some(0)], 1, 0));
    }

    #[test]
    fn moving_up_stops_at_the_innermost_enclosing_operator() {
        let spans = [(0.0, 100.0), (0.0, 50.0), (1.0, 20.0), (2.0, 10.0), (8.0, 30.0)];
        assert_eq!(parents(&spans).0, [None, Some(0), Some(1), Some(2), Some(1)]);
    }

    #[test]
    fn threads_do_not_nest_into_each_other() {
        let mut fixture = Fixture::new();
        fixture.op("a", (0.0, 100.0));
        fixture.op_on(2, "b", (10.0, 10.0));
        let tree = fixture.tree();
        assert_eq!(names(&tree, tree.roots()), ["a", "b"]);
    }

    #[test]
    fn python_frames_join_only_on_request() {
        let mut fixture = Fixture::new();
        let frame = fixture.python("f.py(1): f", (0.0, 50.0));
        let op = fixture.op("a", (1.0, 2.0));
        let trace = fixture.finish();
        let without = TraceTree::build(trace.clone(), &TreeOptions::default());
        assert!(!without.contains(frame) && without.parent(op).is_none());
        let with = TraceTree::build(trace, &TreeOptions { python_frames: true, ..TreeOptions::default() });
        assert_eq!(with.parent(op), Some(frame));
    }

    #[test]
    fn a_million_nested_operators_build_and_walk() {
        let mut builder = TraceBuilder::new();
        let track = builder.track(1, 1);
        let deep = 1_000_000;
        for level in 0..deep {
            builder.event(
                Category::CPU_OP,
                "op",
                track,
                level,
                2 * (deep - level),
                EventArguments::default(),
            );
        }
        let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
        let root = tree.roots()[0];
        assert_eq!(tree.roots().len(), 1);
        assert_eq!(tree.descendants(root).count() as i64, deep - 1);
        let last = tree.descendants(root).last().unwrap();
        assert_eq!(tree.ancestors(last).count() as i64, deep - 1);
    }

    #[test]
    fn the_tolerance_is_one_microsecond_exclusive() {
        // One unit short of a microsecond overlaps, one microsecond does not.
        for (overlap, siblings) in [(0.999, 1), (1.0, 0)] {
            let counts = parents(&[(0.0, 40.0), (5.0, 10.0), (15.0 - overlap, 10.0)]);
            assert_eq!(counts, (vec![None, Some(0), Some(0)], 1 - siblings, siblings));
        }
    }

    proptest! {
        // Spans of whole microseconds never overlap by less than the tolerance.
        #[test]
        fn every_parent_encloses_its_child(spans in prop::collection::vec((0u32..50, 0u32..20), 1..60)) {
            let mut fixture = Fixture::new();
            for &(start, duration) in &spans {
                fixture.op("op", (f64::from(start), f64::from(duration)));
            }
            let tree = fixture.tree();
            let events = tree.trace().events();
            for event in events.ids() {
                let Some(parent) = tree.parent(event) else { continue };
                prop_assert!(events.start(parent) <= events.start(event));
                prop_assert!(events.start(event) < events.end(parent));
                prop_assert!(events.end(event) <= events.end(parent));
                // No event in between: every other one that encloses the child encloses the parent too, or
                // was ended by an event that outlives it.
                if tree.statistics().reattached == 0 {
                    let tighter = events.ids().find(|&other| {
                        let strictly_inside = events.start(other) > events.start(parent)
                            && events.end(other) < events.end(parent);
                        strictly_inside && events.start(other) < events.start(event)
                            && events.start(event) < events.end(other)
                            && events.end(event) <= events.end(other) && other != event
                    });
                    prop_assert_eq!(tighter, None);
                }
            }
            prop_assert_eq!(tree.host_events().len(), spans.len());
        }
    }
}
