//! Which graph launches belong to which step.

use hashbrown::HashMap;
use trace_ingest::{Category, EventId, StringId, TrackId};
use trace2tree::{TraceTree, is_graph_launch};

use super::sizes::StepSize;

/// Graph launches of one step, by start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replays {
    /// Annotation of the step; `None` for launches outside of steps.
    pub(super) step: Option<EventId>,
    pub(super) size: Option<StepSize>,
    pub(super) launches: Vec<EventId>,
}

/// A step: the outermost annotation, with the size that the most detailed one inside it states.
struct Step {
    annotation: EventId,
    track: TrackId,
    start: i64,
    end: i64,
    size: StepSize,
}

/// All graph launches by step, steps in order of their first launch.
///
/// A launch belongs to the step of its thread that it lies in; else to the one step under way on any thread, if it
/// is one. Launches of one thread outside of steps are taken together.
pub(super) fn replays(tree: &TraceTree) -> Vec<Replays> {
    let steps = steps(tree);
    let events = tree.trace().events();
    let mut by_start: Vec<usize> = (0..steps.len()).collect();
    by_start.sort_by_key(|&step| steps[step].start);
    let mut upcoming = by_start.into_iter().peekable();
    let mut open: Vec<usize> = Vec::new();
    let mut found: Vec<Replays> = Vec::new();
    let mut group_of: HashMap<Result<usize, TrackId>, usize> = HashMap::new();
    for launch in graph_launches(tree) {
        let (start, end, track) = (events.start(launch), events.end(launch), events.track(launch));
        while let Some(step) = upcoming.next_if(|&step| steps[step].start <= start) {
            open.push(step);
        }
        open.retain(|&step| steps[step].end > start);
        let own = open.iter().copied().find(|&step| steps[step].track == track && steps[step].end >= end);
        let step = own.or(if let [only] = open[..] { Some(only) } else { None });
        let group = *group_of.entry(step.ok_or(track)).or_insert_with(|| {
            let step = step.map(|step| &steps[step]);
            let (annotation, size) = (step.map(|step| step.annotation), step.map(|step| step.size));
            found.push(Replays { step: annotation, size, launches: Vec::new() });
            found.len() - 1
        });
        found[group].launches.push(launch);
    }
    found
}

/// Calls that launched a graph, by start. Where a runtime call makes a driver call for it, only the one that the
/// device events hang below counts.
fn graph_launches(tree: &TraceTree) -> Vec<EventId> {
    let trace = tree.trace();
    let events = trace.events();
    let is_name: Vec<bool> = trace.strings().iter().map(|(_, name)| is_graph_launch(name)).collect();
    let is_launch = |event: EventId| {
        events.category(event).is_launch_api()
            && is_name[events.name(event).index()]
            && !tree.is_captured(event)
    };
    let mut launches: Vec<EventId> = events
        .ids()
        .filter(|&event| is_launch(event))
        .filter(|&event| {
            let has_own = tree.children(event).iter().any(|&child| events.category(child).is_device());
            has_own || (tree.device_events(event).is_empty() && !tree.ancestors(event).any(is_launch))
        })
        .collect();
    launches.sort_by_key(|&launch| (events.start(launch), launch));
    launches
}

fn steps(tree: &TraceTree) -> Vec<Step> {
    let trace = tree.trace();
    let events = trace.events();
    let mut sizes: HashMap<StringId, Option<StepSize>> = HashMap::new();
    let mut annotations: Vec<(EventId, StepSize)> = events
        .ids()
        .filter(|&event| events.category(event) == Category::USER_ANNOTATION)
        .filter_map(|event| {
            let name = events.name(event);
            let size = *sizes.entry(name).or_insert_with(|| StepSize::of(trace.text(name)));
            size.map(|size| (event, size))
        })
        .collect();
    let end_last = |event: EventId| std::cmp::Reverse(events.end(event));
    annotations.sort_by_key(|&(event, _)| (events.track(event), events.start(event), end_last(event), event));
    let mut steps: Vec<Step> = Vec::new();
    for (annotation, size) in annotations {
        let (track, start, end) =
            (events.track(annotation), events.start(annotation), events.end(annotation));
        match steps.last_mut().filter(|around| around.track == track && end <= around.end) {
            Some(around) if size.is_detailed && !around.size.is_detailed => around.size = size,
            Some(_) => {}
            None => steps.push(Step { annotation, track, start, end, size }),
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_ingest::{EventArguments, TraceBuilder};
    use trace2tree::TreeOptions;

    /// Annotations and calls as `(thread, start, duration, name)`; graph launches but those of `cuda…` have a kernel.
    fn of(events: &[(i64, i64, i64, &str)]) -> Vec<(Option<String>, Option<i64>, Vec<usize>)> {
        let mut builder = TraceBuilder::new();
        let stream = builder.track(0, 7);
        for (at, &(thread, start, duration, name)) in events.iter().enumerate() {
            let track = builder.track(1, thread);
            let is_call = name.contains("GraphLaunch");
            let category = if is_call { Category::CUDA_RUNTIME } else { Category::USER_ANNOTATION };
            let correlation = is_call.then_some(at as i64);
            let arguments = EventArguments { correlation, ..EventArguments::default() };
            builder.event(category, name, track, start, duration, arguments);
        }
        // A runtime call that makes a driver call leaves the kernel to that.
        let launched = events.iter().enumerate().filter(|(_, event)| !event.3.starts_with("cuda"));
        for (at, _) in launched {
            let arguments = EventArguments { correlation: Some(at as i64), ..EventArguments::default() };
            builder.event(Category::KERNEL, "k", stream, 1000 + at as i64, 1, arguments);
        }
        let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
        let row = |replays: Replays| {
            let step = replays.step.map(|step| tree.trace().name(step).to_owned());
            let launches = replays.launches.iter().map(|launch| launch.index()).collect();
            (step, replays.size.map(|size| size.tokens), launches)
        };
        replays(&tree).into_iter().map(row).collect()
    }

    const DETAILED: &str = "step[DECODE bs=8 g_sq=16 g_sqsq=32 g_sqsk=64 g_sk=32]";

    #[test]
    fn a_launch_belongs_to_the_step_of_its_thread() {
        let found = of(&[
            (1, 0, 100, "execute_context_0(0)_generation_8(8)"),
            (2, 0, 100, "execute_context_0(0)_generation_4(4)"),
            (1, 10, 5, "hipGraphLaunch"),
            (2, 10, 5, "hipGraphLaunch"),
            (1, 50, 5, "hipGraphLaunch"),
            (3, 60, 5, "hipGraphLaunch"),
        ]);
        let step = |name: &str| Some(name.to_owned());
        assert_eq!(
            found,
            [
                (step("execute_context_0(0)_generation_8(8)"), Some(8), vec![2, 4]),
                (step("execute_context_0(0)_generation_4(4)"), Some(4), vec![3]),
                (None, None, vec![5]),
            ]
        );
    }

    #[test]
    fn a_launch_of_another_thread_belongs_to_the_only_step_under_way() {
        let found = of(&[
            (1, 0, 100, "step[DECODE bs=8]"),
            (2, 10, 5, "hipGraphLaunch"),
            (2, 200, 5, "hipGraphLaunch"),
        ]);
        assert_eq!(found, [(Some("step[DECODE bs=8]".to_owned()), Some(8), vec![1]), (None, None, vec![2])]);
    }

    #[test]
    fn nested_annotations_are_one_step_with_the_most_detailed_size() {
        let found = of(&[
            (1, 0, 100, "ProfilerStep#1"),
            (1, 5, 90, "step[DECODE bs=8]"),
            (1, 10, 80, DETAILED),
            (1, 20, 5, "hipGraphLaunch"),
        ]);
        assert_eq!(found, [(Some("step[DECODE bs=8]".to_owned()), Some(16), vec![3])]);
    }

    #[test]
    fn a_driver_call_within_the_runtime_call_is_no_launch_of_its_own() {
        let found =
            of(&[(1, 0, 50, "cudaGraphLaunch"), (1, 10, 5, "cuGraphLaunch"), (1, 60, 5, "cudaGraphLaunch")]);
        assert_eq!(found, [(None, None, vec![1, 2])]);
    }
}
