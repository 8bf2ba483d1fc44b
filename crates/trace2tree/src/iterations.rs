//! Iterations of a program that does not annotate them.

use std::collections::VecDeque;

use trace_ingest::{EventId, StringId};

use crate::event_set::EventSet;
use crate::period::{common_prefixes, repeating_period};
use crate::tree::TraceTree;

/// One pass of a loop, a run of neighbouring calls in one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// The first call.
    pub first: EventId,
    /// The last call; the first one when the loop makes one call a pass.
    pub last: EventId,
    /// Start of the first call, in the trace's time unit.
    pub start: i64,
    /// End of the last call, in the trace's time unit.
    pub end: i64,
}

/// The iterations of the outermost loop that does device work, in time order; empty when none is found.
///
/// The frames above the trace's operators are searched from the top, level by level, through those with a
/// child that caused device work. The loop is the first frame of which the names of all children repeat a
/// block at least three times without a gap, over more than half of the children from the first block on; the
/// earliest such block is taken, of those the shortest. Every further copy of the block in that frame
/// is an iteration as well. When none of them caused device work, the search goes on below.
///
/// Loops are mostly in Python, so the tree should have Python frames
/// ([`crate::TreeOptions::python_frames`]).
pub fn iteration_roots(tree: &TraceTree) -> Vec<Iteration> {
    let mut seen = EventSet::with_capacity(tree.trace().events().len());
    let tops = tree.operator_roots().iter().map(|&root| tree.root(root));
    let mut pending: VecDeque<EventId> = tops.filter(|&top| seen.insert(top)).collect();
    while let Some(frame) = pending.pop_front() {
        let with_device_work = |child: &&EventId| !tree.device_events(**child).is_empty();
        let children = tree.children(frame);
        if !children.iter().any(|child| with_device_work(&child)) {
            continue;
        }
        let iterations = iterations_in(tree, children);
        if !iterations.is_empty() {
            return iterations;
        }
        pending.extend(children.iter().filter(with_device_work));
    }
    Vec::new()
}

/// The blocks that the names of these events repeat.
fn iterations_in(tree: &TraceTree, children: &[EventId]) -> Vec<Iteration> {
    let events = tree.trace().events();
    let names: Vec<StringId> = children.iter().map(|&child| events.name(child)).collect();
    let Some(period) = repeating_period(&names) else { return Vec::new() };
    let block = &names[period.start..period.start + period.length];
    let equal = common_prefixes(block.iter(), names[period.start..].iter());
    let mut iterations = Vec::new();
    let mut caused_device_work = false;
    let mut at = 0;
    while at < equal.len() {
        if equal[at] < period.length {
            at += 1;
            continue;
        }
        let calls = &children[period.start + at..][..period.length];
        caused_device_work |= calls.iter().any(|&call| !tree.device_events(call).is_empty());
        at += period.length;
        let (first, last) = (calls[0], calls[period.length - 1]);
        iterations.push(Iteration { first, last, start: events.start(first), end: events.end(last) });
    }
    if !caused_device_work {
        iterations.clear();
    }
    iterations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, Planted};

    /// A frame around calls of these names, each with one kernel; starts and durations in µs.
    fn calls_in_a_frame(calls: &[(&str, f64, f64)]) -> TraceTree {
        let mut fixture = Fixture::new();
        fixture.python("main", (0.0, 100_000.0));
        fixture.python("training_loop", (10.0, 90_000.0));
        add_calls(&mut fixture, calls);
        fixture.tree()
    }

    fn add_calls(fixture: &mut Fixture, calls: &[(&str, f64, f64)]) {
        for &(name, start, duration) in calls {
            fixture.op(name, (start, duration));
            let correlation = start as i64;
            fixture.launch("cudaLaunchKernel", (start + 1.0, 5.0), correlation);
            fixture.kernel("k", (start + 2.0, 10.0), correlation);
        }
    }

    /// First and last name, start and duration in µs.
    fn found(tree: &TraceTree) -> Vec<(&str, &str, f64, f64)> {
        let trace = tree.trace();
        let row = |iteration: Iteration| {
            (
                trace.name(iteration.first),
                trace.name(iteration.last),
                trace.to_microseconds(iteration.start - trace.events().start(EventId(0))),
                trace.to_microseconds(iteration.end - iteration.start),
            )
        };
        iteration_roots(tree).into_iter().map(row).collect()
    }

    #[test]
    fn each_pass_of_a_training_loop_lasts_from_its_first_call_to_its_last() {
        let calls: Vec<(&str, f64, f64)> = (0..3)
            .map(|pass| 2000.0 * f64::from(pass))
            .flat_map(|at| [("step_fwd", 100.0 + at, 300.0), ("step_bwd", 500.0 + at, 300.0)])
            .collect();
        let passes = [100.0, 2100.0, 4100.0].map(|start| ("step_fwd", "step_bwd", start, 700.0));
        assert_eq!(found(&calls_in_a_frame(&calls)), passes);
    }

    #[test]
    fn what_comes_before_and_between_passes_belongs_to_none() {
        let names = ["setup", "a", "b", "a", "b", "a", "b", "save", "a", "b", "a"];
        let calls: Vec<_> =
            names.iter().zip(1..).map(|(&name, at)| (name, 100.0 * f64::from(at), 50.0)).collect();
        let starts: Vec<f64> = found(&calls_in_a_frame(&calls)).iter().map(|pass| pass.2).collect();
        assert_eq!(starts, [200.0, 400.0, 600.0, 900.0]);
    }

    #[test]
    fn a_name_that_a_pass_calls_twice_does_not_split_it() {
        let names = ["a", "b", "a", "c"].repeat(3);
        let calls: Vec<_> =
            names.iter().zip(1..).map(|(&name, at)| (name, 100.0 * f64::from(at), 50.0)).collect();
        let passes = [100.0, 500.0, 900.0].map(|start| ("a", "c", start, 350.0));
        assert_eq!(found(&calls_in_a_frame(&calls)), passes);
    }

    #[test]
    fn loops_without_device_work_and_too_few_passes_are_none() {
        let mut fixture = Fixture::new();
        fixture.python("main", (0.0, 1000.0));
        for at in [10.0, 30.0, 50.0] {
            fixture.op("idle", (at, 10.0));
        }
        assert_eq!(iteration_roots(&fixture.tree()), []);
        let twice = [("a", 100.0, 50.0), ("a", 200.0, 50.0)];
        assert_eq!(iteration_roots(&calls_in_a_frame(&twice)), []);
        assert_eq!(iteration_roots(&Fixture::new().tree()), []);
    }

    #[test]
    fn calls_that_repeat_beside_the_device_work_are_no_iterations() {
        let mut fixture = Fixture::new();
        fixture.python("main", (0.0, 10_000.0));
        for at in [10.0, 20.0, 30.0, 40.0] {
            fixture.python("isinstance", (at, 5.0));
        }
        fixture.python("generate", (100.0, 9000.0));
        add_calls(&mut fixture, &[200.0, 1200.0, 2200.0].map(|at| ("step", at, 500.0)));
        let passes = [200.0, 1200.0, 2200.0].map(|start| ("step", "step", start, 500.0));
        assert_eq!(found(&fixture.tree()), passes);
    }

    #[test]
    fn of_nested_loops_the_outer_one_is_found() {
        let mut fixture = Fixture::new();
        fixture.python("main", (0.0, 10_000.0));
        for outer in [100.0, 1100.0, 2100.0] {
            fixture.python("step", (outer, 900.0));
            let inner = [outer + 10.0, outer + 210.0, outer + 410.0].map(|at| ("layer", at, 100.0));
            add_calls(&mut fixture, &inner);
        }
        let passes = [100.0, 1100.0, 2100.0].map(|start| ("step", "step", start, 900.0));
        assert_eq!(found(&fixture.tree()), passes);
    }
}
