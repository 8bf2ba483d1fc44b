//! Which graph launches belong to which step, and which captures come into question for it.

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use perf_models::{AnnotationKind, IterationAnnotation};
use trace_ingest::{Category, EventId, PerString, TrackId};
use trace2tree::{TraceTree, is_graph_launch};

use super::library::{CaptureFile, CaptureMode};

/// How large a step is, in the units that engines capture for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepSize {
    pub(super) tokens: i64,
    /// `None` for steps with prompts, which are not captured for a number of requests.
    pub(super) requests: Option<i64>,
    /// Whether the engine captures steps without prompts for a number of requests rather than of tokens.
    pub(super) counts_requests: bool,
    /// Whether the text has the products of lengths, so is the most detailed one of nested ones.
    pub(super) is_detailed: bool,
}

impl StepSize {
    /// The size that an annotation states; `None` for texts that annotate no step. Of `execute_128_anything` the
    /// number is taken.
    pub(super) fn from_annotation(annotation: &str) -> Option<StepSize> {
        let Some(step) = IterationAnnotation::parse(annotation) else {
            let number = annotation.strip_prefix("execute_")?.split('_').next()?;
            let tokens = number.parse().ok()?;
            return Some(StepSize { tokens, requests: None, counts_requests: false, is_detailed: false });
        };
        let is_sglang = matches!(
            step.kind,
            AnnotationKind::SglangDetailed | AnnotationKind::SglangNative | AnnotationKind::SglangOther
        );
        Some(StepSize {
            tokens: step.batch_size,
            // Only steps without prompts are captured for so many requests, however many tokens each has.
            requests: Some(step.requests()).filter(|&requests| requests > 0 && step.context_requests == 0),
            counts_requests: is_sglang,
            is_detailed: step.has_pair_statistics,
        })
    }
}

/// A captured trace that may be what a step replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) file: usize,
    /// Whether its size alone does not speak for it: only the names of all kernels do then.
    pub(super) needs_names: bool,
}

/// The smallest of the sizes that a batch of this size fits into.
fn closest_size(size: i64, sizes: impl Iterator<Item = i64>) -> Option<i64> {
    sizes.filter(|&captured| captured >= size).min()
}

/// Captured traces in the order in which they come into question for a step with this many graph launches.
///
/// First those of the smallest size that holds the step, then larger ones, which padding across ranks leads to, then
/// those of unknown size. Within one size, the mode that the number of launches suggests comes first, then captures whose
/// file name has the rank of the replay, then the one listed last. A step of unknown size takes a capture only if all in
/// the folder are of one size.
pub(super) fn candidates(
    files: &[CaptureFile],
    size: Option<StepSize>,
    launches: usize,
    rank: Option<i64>,
) -> Vec<Candidate> {
    let sizes = || files.iter().filter_map(|file| file.batch_size);
    let wanted = CaptureMode::from_count(launches);
    // Other names than the two may mean either.
    let preference = |file: usize| {
        let is_same_rank = rank.is_some() && rank_in(&files[file].file) == rank;
        (files[file].mode != wanted, !is_same_rank, std::cmp::Reverse(file))
    };
    let sized = |size: Option<i64>, needs_names: bool| {
        let mut found: Vec<usize> = (0..files.len()).filter(|&file| files[file].batch_size == size).collect();
        found.sort_few_by_key(|&file| preference(file));
        found.into_iter().map(move |file| Candidate { file, needs_names })
    };
    let Some(size) = size else {
        let mut distinct: Vec<Option<i64>> = files.iter().map(|file| file.batch_size).collect();
        distinct.sort_unstable();
        distinct.dedup();
        return match distinct[..] {
            [only] => sized(only, false).collect(),
            _ => Vec::new(),
        };
    };
    let tokens = closest_size(size.tokens, sizes());
    let requests = size.requests.and_then(|requests| closest_size(requests, sizes()));
    let [own, other] =
        if size.counts_requests && requests.is_some() { [requests, tokens] } else { [tokens, requests] };
    // The size in the unit that the engine does not capture for is a guess.
    let other = other.filter(|_| own != other);
    let least = own.max(other).unwrap_or(i64::MAX);
    let mut larger: Vec<i64> = sizes().filter(|&size| size > least).collect();
    larger.sort_unstable();
    larger.dedup();
    own.map(|size| (size, false))
        .into_iter()
        .chain(other.map(|size| (size, true)))
        .chain(larger.into_iter().map(|size| (size, true)))
        .flat_map(|(size, needs_names)| sized(Some(size), needs_names))
        .chain(sized(None, true))
        .collect()
}

/// The number after the last `rank` of a file name: of `bs_32_rank0.json` it is 0.
fn rank_in(file: &str) -> Option<i64> {
    let (_, after) = file.rsplit_once("rank")?;
    let number = after.trim_start_matches(['_', '-']);
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    number[..end].parse().ok()
}

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
    by_start.sort_few_by_key(|&step| steps[step].start);
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
    let is_name = trace.strings().classify(is_graph_launch);
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
    launches.sort_few_by_key(|&launch| (events.start(launch), launch));
    launches
}

fn steps(tree: &TraceTree) -> Vec<Step> {
    let trace = tree.trace();
    let events = trace.events();
    let mut sizes = PerString::new(trace.strings(), StepSize::from_annotation);
    let mut annotations: Vec<(EventId, StepSize)> = events
        .ids()
        .filter(|&event| events.category(event) == Category::USER_ANNOTATION)
        .filter_map(|event| Some((event, (*sizes.get(events.name(event)))?)))
        .collect();
    let end_last = |event: EventId| std::cmp::Reverse(events.end(event));
    annotations
        .sort_few_by_key(|&(event, _)| (events.track(event), events.start(event), end_last(event), event));
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
mod sizes_tests {
    use super::*;

    #[test]
    fn the_smallest_size_that_holds_the_batch_is_closest() {
        for (size, sizes, expected) in [
            (128, &[64, 256, 512][..], Some(256)),
            (30, &[16, 32, 64], Some(32)),
            (32, &[64, 32], Some(32)),
            (100, &[16, 32], None),
        ] {
            assert_eq!(closest_size(size, sizes.iter().copied()), expected);
        }
    }

    #[test]
    fn annotations_state_tokens_and_requests() {
        let size = |annotation| {
            StepSize::from_annotation(annotation)
                .map(|size| (size.tokens, size.requests, size.counts_requests))
        };
        for (annotation, expected) in [
            ("execute_128_context_3_generation_2", Some((128, None, false))),
            ("execute_context_0(0)_generation_32(128)", Some((128, Some(32), false))),
            ("step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]", Some((128, Some(64), true))),
            ("step[EXTEND bs=2 toks=64]", Some((64, None, true))),
            ("execute_diffusion_1_1024x1024", Some((1, None, false))),
            ("ProfilerStep#3", None),
            ("execute_model", None),
        ] {
            assert_eq!(size(annotation), expected, "{annotation}");
        }
    }

    fn files(files: &[(Option<i64>, &str)]) -> Vec<CaptureFile> {
        let file = |&(batch_size, mode): &(Option<i64>, &str)| CaptureFile {
            file: String::new(),
            batch_size,
            is_batch_size_stated: batch_size.is_some(),
            mode: CaptureMode::from_name(mode),
        };
        files.iter().map(file).collect()
    }

    fn order(captured: &[(Option<i64>, &str)], annotation: &str, launches: usize) -> Vec<(usize, bool)> {
        let found = candidates(&files(captured), StepSize::from_annotation(annotation), launches, None);
        found.into_iter().map(|candidate| (candidate.file, candidate.needs_names)).collect()
    }

    #[test]
    fn larger_and_unknown_sizes_come_after_the_closest_and_need_names() {
        let captured = [(Some(64), "FULL"), (None, "FULL"), (Some(16), "FULL"), (Some(32), "FULL")];
        let step = "execute_context_0(0)_generation_30(30)";
        assert_eq!(order(&captured, step, 1), [(3, false), (0, true), (1, true)]);
        assert_eq!(order(&captured, "execute_context_0(0)_generation_100(100)", 1), [(1, true)]);
    }

    #[test]
    fn the_number_of_launches_chooses_between_modes_of_one_size() {
        let captured = [(Some(8), "FULL"), (Some(8), "PIECEWISE"), (Some(8), "DECODE"), (Some(8), "FULL")];
        let step = "execute_context_0(0)_generation_8(8)";
        let files =
            |launches| order(&captured, step, launches).iter().map(|found| found.0).collect::<Vec<_>>();
        assert_eq!(files(1), [3, 0, 2, 1]);
        assert_eq!(files(25), [1, 3, 2, 0]);
    }

    #[test]
    fn captures_of_the_replays_own_rank_come_first() {
        for (file, rank) in [
            ("bs_32_rank0.json.gz", Some(0)),
            ("graph_capture_rank_12.1773709679453551615.pt.trace.json.gz", Some(12)),
            ("rank-3.json", Some(3)),
            ("ranked.json", None),
            ("bs_32.json", None),
        ] {
            assert_eq!(rank_in(file), rank, "{file}");
        }
        let mut captured = files(&[(Some(8), "FULL"), (Some(8), "FULL"), (Some(8), "PIECEWISE")]);
        for (file, name) in
            captured.iter_mut().zip(["bs_8_rank0.json", "bs_8_rank1.json", "bs_8_rank0_p.json"])
        {
            file.file = name.to_owned();
        }
        let size = StepSize::from_annotation("execute_context_0(0)_generation_8(8)");
        let order =
            |rank| candidates(&captured, size, 1, rank).iter().map(|found| found.file).collect::<Vec<_>>();
        assert_eq!(order(Some(0)), [0, 1, 2]);
        assert_eq!(order(Some(1)), [1, 0, 2]);
        assert_eq!(order(None), [1, 0, 2]);
    }

    #[test]
    fn engines_that_capture_for_requests_are_asked_for_requests_first() {
        let captured = [(Some(8), "FULL"), (Some(32), "FULL"), (Some(64), "FULL")];
        let verify = "step[TARGET_VERIFY bs=8 toks=32 g_sq=32 g_sqsq=128 g_sqsk=4096 g_sk=1024]";
        assert_eq!(order(&captured, verify, 1), [(0, false), (1, true), (2, true)]);
        let drafted = "execute_context_0(0)_generation_8(32)";
        assert_eq!(order(&captured, drafted, 1), [(1, false), (0, true), (2, true)]);
    }

    #[test]
    fn without_a_step_one_size_is_taken_and_of_several_none() {
        let one = files(&[(Some(8), "FULL"), (Some(8), "PIECEWISE")]);
        assert_eq!(candidates(&one, None, 2, None).first().map(|candidate| candidate.file), Some(1));
        assert_eq!(candidates(&files(&[(Some(8), "FULL"), (None, "FULL")]), None, 1, None), []);
    }
}

#[cfg(test)]
mod steps_tests {
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
