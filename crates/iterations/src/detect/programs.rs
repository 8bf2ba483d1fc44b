//! Runs of compiled programs: recorded on the devices that execute nothing else, such as TPUs, or called by the host, as
//! JAX calls those of GPUs.

use hashbrown::{HashMap, HashSet};
use trace_ingest::{EventId, PerString, RecordingKind, StringId, Trace, TrackId};
use trace2tree::TraceTree;

use super::found::Found;
use super::host::Work;
use super::marks::MarkGroup;
use super::names::without_numbers;
use crate::device_runs::{DeviceRuns, Run};
use crate::level::{Evidence, Iteration, Level, LevelKind};
use crate::reason::Reason;

/// Programs that take a smaller share of the device's time, such as those that fill arrays, are passed over.
const LEAST_SHARE: f64 = 0.05;

/// Least share of the device's work that marked steps hold, or that calls of programs launch.
const LEAST_COVERED: f64 = 0.5;

/// Most programs that one iteration runs in turn.
const MOST_IN_TURN: usize = 64;

/// Most of them that are named.
const NAMED: usize = 3;

/// The iterations of a trace of compiled programs; `None` where it is none. `marks` are the steps that the program
/// annotates.
pub(crate) fn find(tree: &TraceTree, marks: &[&MarkGroup]) -> Option<Found> {
    let trace = tree.trace();
    match DeviceRuns::new(trace) {
        Some(runs) => Some(on_devices(tree, &runs, marks)),
        None if marks.is_empty() && trace.facts().recorder.kind == Some(RecordingKind::XPlane) => {
            by_calls(tree)
        }
        None => None,
    }
}

/// A run of a program, as an iteration.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    name: StringId,
    track: Option<TrackId>,
    start: i64,
    end: i64,
}

impl From<&Run> for Stretch {
    fn from(run: &Run) -> Self {
        Stretch { name: run.name, track: None, start: run.start, end: run.end }
    }
}

/// Runs of the programs that take most of the time, in order.
struct MainRuns {
    runs: Vec<Stretch>,
    /// The program with the most time.
    most: StringId,
    /// Their share of the time.
    share: f64,
}

impl MainRuns {
    /// Those among all, by the time of each; `None` without any.
    fn new(all: &[Stretch], time: impl Fn(&Stretch) -> i64) -> Option<MainRuns> {
        let mut by_name: HashMap<StringId, i64> = HashMap::new();
        for run in all {
            let name_time = by_name.entry(run.name).or_default();
            *name_time = name_time.saturating_add(time(run));
        }
        let total = sum(by_name.values().copied());
        let name_time = |run: &Stretch| by_name.get(&run.name).copied().unwrap_or(0);
        let is_main = |run: &&Stretch| name_time(run) as f64 >= LEAST_SHARE * total as f64;
        let runs: Vec<Stretch> = all.iter().filter(is_main).copied().collect();
        let most = runs.iter().max_by_key(|run| (name_time(run), std::cmp::Reverse(run.start)))?.name;
        let share = sum(runs.iter().map(time)) as f64 / total.max(1) as f64;
        Some(MainRuns { runs, most, share })
    }

    /// The shortest sequence of two programs or more that all runs repeat, at least twice.
    fn period(&self) -> Option<usize> {
        let names: Vec<StringId> = self.runs.iter().map(|run| run.name).collect();
        let repeats =
            |length: usize| names.iter().skip(length).zip(&names).all(|(name, before)| name == before);
        let most = (names.len() / 2).min(MOST_IN_TURN);
        (1..=most).find(|&length| repeats(length)).filter(|&length| length > 1)
    }

    /// Adds the runs, and the steps that run several programs in turn.
    fn add_to(self, trace: &Trace, found: &mut Found) {
        let name = program_name(trace.text(self.most));
        let confidence = 0.9 * self.share;
        let level = |kind, name: String, evidence, confidence, iterations| Level {
            kind,
            name,
            evidence,
            confidence,
            first: 0,
            iterations,
        };
        if found.steps.is_none()
            && let Some(length) = self.period()
        {
            let mut programs: Vec<String> = Vec::new();
            for run in &self.runs[..length] {
                let name = program_name(trace.text(run.name));
                if !programs.contains(&name) {
                    programs.push(name);
                }
            }
            if programs.len() > NAMED {
                let more = programs.len() - NAMED;
                programs.truncate(NAMED);
                programs.push(format!("{more} more"));
            }
            let steps = self.runs.chunks(length).map(|chunk| Iteration {
                number: None,
                track: chunk[0].track,
                start: chunk[0].start,
                end: chunk[chunk.len() - 1].end,
                whole: chunk.len() == length,
            });
            let steps = level(
                LevelKind::Step,
                programs.join(", "),
                Evidence::ProgramSequence,
                confidence,
                steps.collect(),
            );
            found.add_steps(steps, Reason::ProgramsInTurn(length));
        }
        let counted = found.steps.as_ref().map_or(0, |(steps, _)| steps.iterations.len());
        if self.runs.len() > counted.max(1) {
            let runs = self.runs.iter().map(|&Stretch { track, start, end, .. }| Iteration {
                number: None,
                track,
                start,
                end,
                whole: true,
            });
            let runs = level(
                LevelKind::ProgramRun,
                name.clone(),
                Evidence::RecordedSteps,
                confidence,
                runs.collect(),
            );
            found.add_steps(runs, Reason::ProgramRuns(name));
        } else if counted == 0 {
            found.failure = Some(Reason::SinglePass(None));
        }
    }
}

/// Steps that the recorder marked on the device, those that the program annotated, or runs of the programs that take
/// most of the time of the busiest device.
fn on_devices(tree: &TraceTree, runs: &DeviceRuns, marks: &[&MarkGroup]) -> Found {
    let trace = tree.trace();
    let mut found = Found::default();
    let all: Vec<Stretch> = runs.runs().iter().map(Stretch::from).collect();
    let time = |run: &Stretch| run.end.saturating_sub(run.start);
    let steps = runs.steps();
    let in_steps = |run: &&Stretch| {
        let after = steps.partition_point(|step| step.start <= run.start);
        steps[..after].last().is_some_and(|step| run.start < step.end)
    };
    let covered = sum(all.iter().filter(in_steps).map(time));
    let share = covered as f64 / sum(all.iter().map(time)).max(1) as f64;
    if let Some(first) = steps.first().filter(|_| share >= LEAST_COVERED) {
        let (name, _) = without_numbers(trace.text(first.name));
        let name = name.trim_matches(|c: char| c == '0' || c == '#' || c == ' ').to_owned();
        let name = if name.is_empty() { "Steps".to_owned() } else { name };
        let iteration = |step: &Run| Iteration {
            number: without_numbers(trace.text(step.name)).1,
            track: None,
            start: step.start,
            end: step.end,
            whole: true,
        };
        let level = Level {
            kind: LevelKind::Step,
            name: name.clone(),
            evidence: Evidence::RecordedSteps,
            confidence: share,
            first: 0,
            iterations: steps.iter().map(iteration).collect(),
        };
        found.add_steps(level, Reason::Marked(name));
    }
    let Some(main) = MainRuns::new(&all, time) else { return found };
    if found.steps.is_none()
        && let Some(level) = annotated(tree, &main, marks)
    {
        let name = level.name.clone();
        found.add_steps(level, Reason::Marked(name));
    }
    main.add_to(trace, &mut found);
    found
}

/// The steps that the program annotated, as the runs that it called in each: by its calls where they are as many as the
/// runs, else as many runs for each step. The host is far ahead of the device, so times of one say nothing of the other.
fn annotated(tree: &TraceTree, main: &MainRuns, marks: &[&MarkGroup]) -> Option<Level> {
    let thread_marks = marks.iter().flat_map(|group| group.by_track().map(move |marks| (group, marks)));
    let (group, marks) = thread_marks.max_by_key(|(_, marks)| marks.len())?;
    let runs = &main.runs;
    let mut programs = PerString::new(tree.trace().strings(), program_name);
    let names: Vec<String> = runs.iter().map(|run| programs.get(run.name).clone()).collect();
    let known: HashSet<&String> = names.iter().collect();
    let is_on_mark_thread = |call: &&Call| Some(call.track) == marks.first().map(|mark| mark.track);
    let calls = calls(tree, called_program);
    let calls: Vec<&Call> =
        calls.iter().filter(is_on_mark_thread).filter(|call| known.contains(&call.program)).collect();
    let mark_at = |time: i64| {
        let after = marks.partition_point(|mark| mark.start <= time);
        after.checked_sub(1).filter(|&at| time < marks[at].end)
    };
    let has_matching_calls =
        calls.len() == runs.len() && calls.iter().zip(&names).all(|(call, name)| call.program == *name);
    let (mark_indices, certainty): (Vec<Option<usize>>, f64) = match has_matching_calls {
        true => (calls.iter().map(|call| mark_at(call.start)).collect(), 1.0),
        false if runs.len().is_multiple_of(marks.len()) => {
            let each = runs.len() / marks.len();
            ((0..runs.len()).map(|run| Some(run / each)).collect(), 0.9)
        }
        false => return None,
    };
    let called: Vec<(usize, &Stretch)> =
        mark_indices.into_iter().zip(runs).filter_map(|(of, run)| Some((of?, run))).collect();
    let step = |own: &[(usize, &Stretch)]| {
        let [(mark, first), ..] = own else { return None };
        let (number, start) = (marks.get(*mark)?.number, first.start);
        Some(Iteration { number, track: None, start, end: own.last()?.1.end, whole: true })
    };
    let iterations: Vec<Iteration> = called.chunk_by(|a, b| a.0 == b.0).filter_map(step).collect();
    (!iterations.is_empty()).then(|| Level {
        kind: LevelKind::Step,
        name: group.name.clone(),
        evidence: Evidence::RecordedSteps,
        confidence: certainty * main.share,
        first: 0,
        iterations,
    })
}

/// A call of a compiled program that lies in no other.
#[derive(Clone, Debug)]
struct Call {
    event: EventId,
    program: String,
    name: StringId,
    track: TrackId,
    start: i64,
    end: i64,
}

/// The calls by thread and start. `program` is the program that an event of a name calls.
fn calls(tree: &TraceTree, program: fn(&str) -> Option<String>) -> Vec<Call> {
    let events = tree.trace().events();
    let mut programs = PerString::new(tree.trace().strings(), program);
    let mut found: Vec<Call> = Vec::new();
    for &event in tree.host_events() {
        let name = events.name(event);
        if let Some(program) = programs.get(name) {
            let (track, start, end) = (events.track(event), events.start(event), events.end(event));
            found.push(Call { event, program: program.clone(), name, track, start, end });
        }
    }
    found.sort_by_key(|call| (call.track, call.start, std::cmp::Reverse(call.end)));
    let mut last: Option<(TrackId, i64)> = None;
    found.retain(|call| {
        let is_inner = last.is_some_and(|(track, end)| track == call.track && call.start < end);
        if !is_inner {
            last = Some((call.track, call.end));
        }
        !is_inner
    });
    found
}

/// JAX's call of a compiled function, whose program is named after it.
fn called_program(name: &str) -> Option<String> {
    let function = |prefix: &str| name.strip_prefix(prefix)?.strip_suffix(')');
    let (kind, function) =
        function("PjitFunction(").map(|f| ("jit", f)).or(function("PmapFunction(").map(|f| ("pmap", f)))?;
    let is_kept = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let function: String = function.chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
    Some(format!("{kind}_{function}"))
}

/// XLA's execution of a program on a GPU.
fn executed_program(name: &str) -> Option<String> {
    Some(name.strip_suffix(":XLA GPU module")?.to_owned())
}

/// Calls of compiled programs that launch most of the work of GPUs, or the executions of these programs where the
/// recording has no calls. An iteration lasts until the next begins.
fn by_calls(tree: &TraceTree) -> Option<Found> {
    let (trace, events) = (tree.trace(), tree.trace().events());
    let launched = tree
        .linked_device_events()
        .iter()
        .filter_map(|&event| Some((events.start(tree.launch(event)?), events.duration(event))));
    let work = Work::new(launched.collect());
    let all = [called_program as fn(&str) -> Option<String>, executed_program]
        .into_iter()
        .map(|program| calls(tree, program))
        .find(|calls| !calls.is_empty())?;
    let own = |call: &Call| sum(tree.device_events(call.event).iter().map(|&event| events.duration(event)));
    let thread_calls = all.chunk_by(|a, b| a.track == b.track);
    let calls = thread_calls.max_by_key(|calls| (sum(calls.iter().map(own)), calls.len()))?;
    // Without device work, the calls' own time is all there is to go by.
    let took = |call: &Stretch| match work.total() {
        0 => call.end.saturating_sub(call.start),
        _ => work.between(call.start, call.end),
    };
    let ends = calls.iter().skip(1).map(|next| Some(next.start)).chain([None]);
    let stretches: Vec<Stretch> = calls
        .iter()
        .zip(ends)
        .map(|(call, end)| Stretch {
            name: call.name,
            track: Some(call.track),
            start: call.start,
            end: end.unwrap_or(call.end),
        })
        .collect();
    let mut main = MainRuns::new(&stretches, took)?;
    // What comes between two main runs belongs to the first of them.
    for at in 1..main.runs.len() {
        main.runs[at - 1].end = main.runs[at].start;
    }
    let covered = sum(main.runs.iter().map(took));
    let total = if work.total() > 0 { work.total() } else { sum(stretches.iter().map(took)) };
    main.share = covered as f64 / total.max(1) as f64;
    let mut found = Found::default();
    if main.share < LEAST_COVERED {
        return None;
    }
    if let Some(level) = named_ranges(tree, calls, &main) {
        let name = level.name.clone();
        found.add_steps(level, Reason::Repeats(name));
    }
    main.add_to(trace, &mut found);
    // A single call may hold anything.
    found.steps.is_some().then_some(found)
}

/// Ranges of the program's own around the calls: the outermost of one name that come at least twice and hold all calls
/// but a few.
fn named_ranges(tree: &TraceTree, calls: &[Call], main: &MainRuns) -> Option<Level> {
    /// Least share of the calls.
    const HELD: f64 = 0.9;
    let (trace, events) = (tree.trace(), tree.trace().events());
    let names: HashSet<StringId> = main.runs.iter().map(|run| run.name).collect();
    let is_main = |call: &&Call| names.contains(&call.name);
    let main_calls: Vec<&Call> = calls.iter().filter(is_main).collect();
    let mut ranges: HashMap<String, (usize, Vec<EventId>)> = HashMap::new();
    for call in &main_calls {
        for above in tree.ancestors(call.event) {
            let (key, _) = without_numbers(trace.name(above));
            let (held, range_events) = ranges.entry(key).or_default();
            *held += 1;
            if range_events.last() != Some(&above) {
                range_events.push(above);
            }
        }
    }
    let most = |held: usize| held as f64 >= HELD * main_calls.len() as f64;
    let repeated = ranges.into_values().filter(|(held, ranges)| most(*held) && ranges.len() > 1);
    let (_, ranges) = repeated.min_by_key(|(_, ranges)| (ranges.len(), ranges.first().copied()))?;
    let name = trace.name(*ranges.first()?);
    let ends = ranges.iter().skip(1).map(|&next| Some(events.start(next))).chain([None]);
    let iterations = ranges.iter().zip(ends).map(|(&range, end)| Iteration {
        number: without_numbers(trace.name(range)).1,
        track: Some(events.track(range)),
        start: events.start(range),
        end: end.unwrap_or(events.end(range)),
        whole: true,
    });
    Some(Level {
        kind: LevelKind::Step,
        name: name.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ' || c == '#').to_owned(),
        evidence: Evidence::Annotations,
        confidence: 0.9 * main.share,
        first: 0,
        iterations: iterations.collect(),
    })
}

/// Times of a damaged recording may be of any size.
fn sum(times: impl Iterator<Item = i64>) -> i64 {
    times.fold(0, i64::saturating_add)
}

/// `jit_step(9646411105960254074)` and `PjitFunction(step)` are `jit_step`.
fn program_name(name: &str) -> String {
    called_program(name)
        .or_else(|| executed_program(name))
        .unwrap_or_else(|| name.split('(').next().unwrap_or(name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DetectOptions, Division, Iterations, Part};
    use trace_ingest::{Category, EventArguments, RecorderFacts, TraceBuilder, TraceFacts};
    use trace2tree::TreeOptions;

    /// A profile in the making. Times are in the trace's unit.
    struct Profile {
        builder: TraceBuilder,
        correlation: i64,
    }

    impl Profile {
        fn new() -> Self {
            let mut builder = TraceBuilder::new();
            let recorder = RecorderFacts { kind: Some(RecordingKind::XPlane), ..RecorderFacts::default() };
            builder.facts(TraceFacts { recorder, ..TraceFacts::default() });
            Profile { builder, correlation: 0 }
        }

        /// An event of a category on a line of a plane.
        fn on(
            &mut self,
            category: &str,
            (pid, tid): (i64, i64),
            name: &str,
            start: i64,
            length: i64,
        ) -> EventId {
            let (category, track) = (self.builder.category(category), self.builder.track(pid, tid));
            self.builder.event(category, name, track, start, length, EventArguments::default())
        }

        fn run(&mut self, device: i64, name: &str, start: i64, length: i64) {
            self.on("xla_module", (device, 2), name, start, length);
        }

        fn call(&mut self, function: &str, start: i64, length: i64) {
            self.on("cpu_op", (1, 1), &format!("PjitFunction({function})"), start, length);
        }

        /// A kernel that a worker of the host launches at a time.
        fn kernel(&mut self, launch: i64, start: i64, length: i64) {
            self.correlation += 1;
            let arguments =
                EventArguments { correlation: Some(self.correlation), ..EventArguments::default() };
            let worker = self.builder.track(1, 9);
            self.builder.event(Category::CUDA_RUNTIME, "launch", worker, launch, 1, arguments);
            let stream = self.builder.track(5, 7);
            self.builder.event(Category::KERNEL, "fusion", stream, start, length, arguments);
        }

        fn finish(self) -> TraceTree {
            TraceTree::build(self.builder.finish(), &TreeOptions::default())
        }

        fn found(self) -> Iterations {
            Iterations::detect(&self.finish(), &DetectOptions::default())
        }
    }

    fn starts(level: &Level) -> Vec<i64> {
        level.iterations.iter().map(|iteration| iteration.start).collect()
    }

    #[test]
    fn runs_of_the_programs_that_take_the_time_are_iterations_of_one_device() {
        let mut profile = Profile::new();
        for (name, device, start, length) in [
            ("jit_fill(1)", 3, 0, 1),
            ("jit_step(2)", 3, 10, 100),
            ("jit_step(2)", 4, 12, 90),
            ("jit_step(2)", 3, 120, 100),
        ] {
            profile.run(device, name, start, length);
        }
        let found = profile.found();
        let level = found.steps().unwrap();
        assert_eq!((level.kind, level.name.as_str()), (LevelKind::ProgramRun, "jit_step"));
        assert_eq!(starts(level), [10, 120]);
        assert_eq!(found.reason(), &Reason::ProgramRuns("jit_step".to_owned()));
    }

    #[test]
    fn one_run_is_no_iteration() {
        let mut profile = Profile::new();
        profile.run(3, "jit_step(2)", 10, 100);
        let found = profile.found();
        assert_eq!((found.steps(), found.reason()), (None, &Reason::SinglePass(None)));
    }

    #[test]
    fn programs_in_turn_are_one_step() {
        let mut profile = Profile::new();
        for step in 0..4 {
            profile.run(3, "jit_gradients(1)", 1000 * step, 500);
            profile.run(3, "jit_gradients(1)", 1000 * step + 500, 300);
            if step < 3 {
                profile.run(3, "jit_update(2)", 1000 * step + 800, 100);
            }
        }
        let found = profile.found();
        let level = found.steps().unwrap();
        assert_eq!((level.kind, level.name.as_str()), (LevelKind::Step, "jit_gradients, jit_update"));
        assert_eq!(level.evidence, Evidence::ProgramSequence);
        assert_eq!(starts(level), [0, 1000, 2000, 3000]);
        assert_eq!(
            level.iterations.iter().map(|step| step.whole).collect::<Vec<_>>(),
            [true, true, true, false]
        );
        assert_eq!(found.levels()[1].iterations.len(), 11);
    }

    #[test]
    fn steps_that_the_recorder_marks_on_the_device_come_first() {
        let mut profile = Profile::new();
        for step in 0..3 {
            for device in [3, 4] {
                let start = 1000 * step + 10 * (device - 3);
                profile.on("xla_step", (device, 1), &(step + 7).to_string(), start, 900);
                profile.run(device, "jit_step(2)", start, 400);
                profile.run(device, "jit_update(3)", start + 500, 300);
                let category = ("xla_op", (device, 3));
                profile.on(category.0, category.1, "fusion", start + 5, 300);
            }
        }
        let tree = profile.finish();
        let found = Iterations::detect(&tree, &DetectOptions::default());
        let level = found.steps().unwrap();
        assert_eq!((level.kind, starts(level)), (LevelKind::Step, vec![0, 1000, 2000]));
        let numbers: Vec<_> = level.iterations.iter().map(|step| step.number).collect();
        assert_eq!(numbers, [Some(7), Some(8), Some(9)]);
        let division = Division::new(&tree, &level.iterations);
        for event in tree.trace().events().ids() {
            let step = usize::try_from(tree.trace().events().start(event) / 1000).unwrap();
            assert_eq!(division.part_of(event), Some(Part::Iteration(step)));
        }
    }

    #[test]
    fn annotated_steps_are_the_runs_that_they_call_however_far_the_host_is_ahead() {
        // A run to warm up, then three steps with two runs each that the host calls long before they run.
        let mut profile = Profile::new();
        profile.call("step", 0, 5);
        profile.run(3, "jit_step(2)", 1000, 100);
        for step in 0..3 {
            profile.on("user_annotation", (1, 1), "train", 10 + 10 * step, 9);
            for half in 0..2 {
                profile.call("step", 11 + 10 * step + 4 * half, 3);
                profile.run(3, "jit_step(2)", 1100 + 200 * step + 100 * half, 100);
            }
        }
        let found = profile.found();
        let level = found.steps().unwrap();
        assert_eq!((level.kind, level.name.as_str()), (LevelKind::Step, "train"));
        assert_eq!(starts(level), [1100, 1300, 1500]);
        assert_eq!(found.reason(), &Reason::Marked("train".to_owned()));
        assert_eq!(found.levels()[1].iterations.len(), 7);
    }

    #[test]
    fn annotated_steps_of_gpus_hold_what_workers_launch_in_them() {
        let mut profile = Profile::new();
        for step in 0..4 {
            profile.on("user_annotation", (1, 1), "train", 1000 * step, 900);
            profile.call("gradients", 1000 * step + 10, 200);
            profile.call("update", 1000 * step + 400, 200);
            profile.kernel(1000 * step + 100, 1000 * step + 700, 600);
            profile.kernel(1000 * step + 500, 1000 * step + 1300, 100);
        }
        let found = profile.found();
        let level = found.steps().unwrap();
        assert_eq!((level.kind, level.name.as_str(), level.confidence), (LevelKind::Step, "train", 1.0));
        assert_eq!(starts(level), [0, 1000, 2000, 3000]);
    }

    #[test]
    fn without_calls_every_annotated_step_has_as_many_runs() {
        let mut profile = Profile::new();
        for step in 0..3 {
            profile.on("user_annotation", (1, 1), "train", 10 * step, 9);
            profile.run(3, "jit_gradients(2)", 1000 * step, 400);
            profile.run(3, "jit_update(2)", 1000 * step + 500, 400);
        }
        let found = profile.found();
        assert_eq!(starts(found.steps().unwrap()), [0, 1000, 2000]);
    }

    #[test]
    fn calls_of_a_compiled_function_are_iterations_with_what_workers_launch() {
        let mut profile = Profile::new();
        for step in 0..5 {
            profile.call("forward", 1000 * step, 500);
            // The call itself is recorded twice, one in the other.
            profile.call("forward", 1000 * step + 1, 498);
            profile.call("convert", 1000 * step + 900, 10);
            if step < 3 {
                profile.kernel(1000 * step + 100, 1000 * step + 700, 600);
            }
            profile.kernel(1000 * step + 950, 1000 * step + 960, 1);
        }
        let tree = profile.finish();
        let found = Iterations::detect(&tree, &DetectOptions::default());
        let level = found.steps().unwrap();
        assert_eq!((level.kind, level.name.as_str()), (LevelKind::ProgramRun, "jit_forward"));
        assert_eq!(starts(level), [0, 1000, 2000, 3000, 4000]);
        let division = Division::new(&tree, &level.iterations);
        let events = tree.trace().events();
        let kernels = events.ids().filter(|&event| events.category(event) == Category::KERNEL);
        let parts: Vec<_> = kernels.map(|event| division.part_of(event).unwrap()).collect();
        let of = Part::Iteration;
        // The last call ends before what comes after it.
        assert_eq!(parts, [of(0), of(0), of(1), of(1), of(2), of(2), of(3), Part::After(4)]);
    }

    #[test]
    fn ranges_of_the_programs_own_around_calls_are_steps() {
        let mut profile = Profile::new();
        profile.on("cpu_op", (1, 1), "epoch", 0, 10_000);
        for step in 0..4 {
            profile.on("cpu_op", (1, 1), &format!("batch {step}"), 1000 * step, 900);
            for (at, function) in ["gradients", "update"].into_iter().enumerate() {
                let start = 1000 * step + 10 + 300 * at as i64;
                profile.call(function, start, 200);
                profile.kernel(start + 10, start + 20, 200);
            }
        }
        let found = profile.found();
        let level = found.steps().unwrap();
        assert_eq!((level.kind, level.name.as_str()), (LevelKind::Step, "batch"));
        assert_eq!(level.evidence, Evidence::Annotations);
        assert_eq!(starts(level), [0, 1000, 2000, 3000]);
        assert_eq!(level.iterations[3].number, Some(3));
    }

    #[test]
    fn executions_stand_for_calls_that_were_not_recorded() {
        let mut profile = Profile::new();
        for step in 0..3 {
            for worker in 8..10 {
                profile.on("cpu_op", (1, worker), "jit_step:XLA GPU module", 1000 * step, 50);
            }
            profile.kernel(1000 * step + 10, 1000 * step + 20, 500);
        }
        let found = profile.found();
        let level = found.steps().unwrap();
        assert_eq!((level.name.as_str(), starts(level)), ("jit_step", vec![0, 1000, 2000]));
    }

    #[test]
    fn names_of_functions_are_those_of_their_programs() {
        for (name, program) in [
            ("PjitFunction(step)", "jit_step"),
            ("PjitFunction(<lambda>)", "jit__lambda_"),
            ("PmapFunction(step)", "pmap_step"),
            ("jit_step(96464)", "jit_step"),
            ("jit_step:XLA GPU module", "jit_step"),
        ] {
            assert_eq!(program_name(name), program);
        }
    }
}
