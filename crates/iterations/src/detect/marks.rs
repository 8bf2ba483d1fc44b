//! Ranges that the recorder, an engine or the program named.

use perf_models::{AnnotationKind, IterationAnnotation};
use trace_ingest::{Category, PerString, RecordingKind, RowId, Trace, TrackId};

use super::names::without_numbers;
use crate::level::{Iteration, LevelKind};

/// A range on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) number: Option<i64>,
    pub(crate) track: TrackId,
}

impl Mark {
    pub(crate) fn iteration(&self) -> Iteration {
        let Mark { start, end, number, track } = *self;
        Iteration { number, track: Some(track), start, end, whole: true }
    }
}

/// What a range says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MarkKind {
    /// `ProfilerStep#12`
    ProfilerStep,
    /// A step of an inference engine.
    EngineStep,
    /// An image or a video, by a diffusion engine.
    Image,
    /// `enumerate(DataLoader)#…`: the loop asks for its next batch.
    NextBatch,
    /// `Optimizer.step#…`
    OptimizerStep,
    /// Any other name, without its numbers.
    Named(String),
}

/// The ranges of one kind in one process, by track and start. Of ranges in each other on a thread the outermost stands.
#[derive(Clone, Debug)]
pub(crate) struct MarkGroup {
    pub(crate) kind: MarkKind,
    /// As a person would write it.
    pub(crate) name: String,
    pub(crate) pid: RowId,
    pub(crate) marks: Vec<Mark>,
}

impl MarkGroup {
    /// The ranges of each thread.
    pub(crate) fn by_track(&self) -> impl Iterator<Item = &[Mark]> {
        self.marks.chunk_by(|a, b| a.track == b.track)
    }
}

/// All ranges of a recording.
pub(crate) fn groups(trace: &Trace) -> Vec<MarkGroup> {
    let events = trace.events();
    let mut read =
        PerString::new(trace.strings(), read as fn(&str) -> Option<(MarkKind, String, Option<i64>)>);
    let is_xplane = trace.facts().recorder.kind == Some(RecordingKind::XPlane);
    let mut groups: Vec<MarkGroup> = Vec::new();
    let mut index: hashbrown::HashMap<(RowId, trace_ingest::StringId), usize> = hashbrown::HashMap::new();
    let mut by_kind: hashbrown::HashMap<(RowId, MarkKind), usize> = hashbrown::HashMap::new();
    for event in events.ids() {
        let category = events.category(event);
        if category != Category::USER_ANNOTATION && category != Category::CPU_OP {
            continue;
        }
        let name = events.name(event);
        let Some((kind, text, number)) = read.get(name) else { continue };
        // JAX has no other ranges than those of steps.
        let kind = match kind {
            MarkKind::Named(_) if is_xplane && category == Category::USER_ANNOTATION => {
                &MarkKind::ProfilerStep
            }
            kind => kind,
        };
        // Old recorders write ranges as operators; of these only the names that PyTorch gives are known to be ranges.
        if category == Category::CPU_OP && matches!(kind, MarkKind::Named(_)) {
            continue;
        }
        let track = events.track(event);
        let pid = trace.tracks().get(track).pid;
        let group = *index.entry((pid, name)).or_insert_with(|| {
            *by_kind.entry((pid, kind.clone())).or_insert_with(|| {
                groups.push(MarkGroup { kind: kind.clone(), name: text.clone(), pid, marks: Vec::new() });
                groups.len() - 1
            })
        });
        let (start, end, number) = (events.start(event), events.end(event), *number);
        groups[group].marks.push(Mark { start, end, number, track });
    }
    for group in &mut groups {
        outermost(&mut group.marks);
    }
    groups
}

/// Kind of a range, its name for people, and the number in its name. `None` for ranges that libraries put around
/// parts of a step.
fn read(name: &str) -> Option<(MarkKind, String, Option<i64>)> {
    let number_after = |prefix: &str| name.strip_prefix(prefix)?.parse::<i64>().ok();
    if let Some(number) = number_after("ProfilerStep#") {
        return Some((MarkKind::ProfilerStep, "ProfilerStep".to_owned(), Some(number)));
    }
    if let Some(step) = IterationAnnotation::parse(name) {
        return Some(match step.kind {
            AnnotationKind::DiffusionNative => (MarkKind::Image, "execute_diffusion".to_owned(), None),
            _ => (MarkKind::EngineStep, "engine step".to_owned(), None),
        });
    }
    let before_number = |name: &str| name.split('#').next().unwrap_or(name).to_owned();
    if name.starts_with("enumerate(DataLoader)") {
        return Some((MarkKind::NextBatch, before_number(name), None));
    }
    if name.starts_with("Optimizer.step#") {
        return Some((MarkKind::OptimizerStep, "Optimizer.step".to_owned(), None));
    }
    const LIBRARIES: [&str; 8] = [
        "nccl:",
        "gloo:",
        "rccl:",
        "## Call CompiledFxGraph",
        "Optimizer.zero_grad",
        "Torch-Compiled Region",
        "TorchDynamo",
        "PyTorch Profiler",
    ];
    if LIBRARIES.iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    let (key, number) = without_numbers(name);
    Some((
        MarkKind::Named(key),
        name.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ' || c == '#').to_owned(),
        number,
    ))
}

/// Sorts by track and start; leaves out what lies in another, and ends what reaches into the next where that begins.
fn outermost(marks: &mut Vec<Mark>) {
    marks.sort_by_key(|mark| (mark.track, mark.start, std::cmp::Reverse(mark.end)));
    let mut last: Option<(TrackId, i64)> = None;
    marks.retain(|mark| {
        let inside =
            last.is_some_and(|(track, end)| track == mark.track && mark.end <= end && mark.start < end);
        if !inside {
            last = Some((mark.track, mark.end));
        }
        !inside
    });
    for at in 1..marks.len() {
        let (track, start) = (marks[at].track, marks[at].start);
        let before = &mut marks[at - 1];
        if before.track == track {
            before.end = before.end.min(start);
        }
    }
}

impl MarkKind {
    /// Level of the iterations that such ranges are.
    pub(crate) fn level(&self) -> LevelKind {
        match self {
            MarkKind::EngineStep => LevelKind::EngineStep,
            MarkKind::Image => LevelKind::Image,
            _ => LevelKind::Step,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_ingest::{EventArguments, TraceBuilder};

    fn found(given: &[(&str, i64, i64, i64)]) -> Vec<(String, Vec<(i64, i64)>)> {
        let mut builder = TraceBuilder::new();
        for &(name, tid, start, duration) in given {
            let track = builder.track(1, tid);
            builder.event(Category::USER_ANNOTATION, name, track, start, duration, EventArguments::default());
        }
        let groups = groups(&builder.finish());
        groups
            .into_iter()
            .map(|group| (group.name, group.marks.iter().map(|mark| (mark.start, mark.end)).collect()))
            .collect()
    }

    #[test]
    fn of_ranges_in_each_other_the_outermost_stands_and_crossing_ones_are_cut() {
        assert_eq!(
            found(&[
                ("warm 1", 1, 0, 100),
                ("warm 2", 1, 10, 90),
                ("warm 3", 1, 120, 50),
                ("warm 4", 1, 150, 50)
            ]),
            [("warm".to_owned(), vec![(0, 100), (120, 150), (150, 200)])]
        );
    }

    #[test]
    fn engine_steps_are_one_group_and_library_ranges_none() {
        let groups = found(&[
            ("step[DECODE bs=1]", 1, 0, 10),
            ("step[EXTEND bs=1 toks=7]", 1, 10, 10),
            ("nccl:all_reduce", 1, 0, 5),
            ("## Call CompiledFxGraph abc ##", 1, 0, 5),
        ]);
        assert_eq!(groups, [("engine step".to_owned(), vec![(0, 10), (10, 20)])]);
    }
}
