//! A part of a recording, to look at alone: some iterations, the steady ones, or a stretch of time.

use std::fmt;
use std::ops::Range;

use trace_ingest::{Category, EventId, Trace};
use trace2tree::{EventSet, TraceTree};

use crate::detect::{DetectOptions, Iterations};
use crate::division::{Division, LaunchedWork, Part};
use crate::level::{Iteration, Level};
use crate::measure::Measured;

/// What of a recording is looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum Window {
    /// The steps with these indices.
    Iterations(Range<usize>),
    /// The longest run of steps that are whole, warmed up and like the others ([`Measured::steady`]).
    Steady,
    /// A stretch of time, in µs from the recording's first event: what runs on the host in it, and the device work
    /// that starts in it.
    Microseconds(Range<f64>),
    /// A stretch of time of the host, in µs from the recording's first event: what runs there in it, and the device work
    /// that is launched in it. Work whose launch was not recorded counts by its start.
    Launches(Range<f64>),
    /// A range of the host: what runs in its process while it is open, and the device work that its process launches then.
    Named(NamedRange),
}

/// A range or operator of the host by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRange {
    /// Its text, without the number of the call that PyTorch adds for NVTX.
    pub text: String,
    /// The domain of NVTX that it is of, if not the default one.
    pub domain: Option<String>,
    /// Which of them, by start, from 0 on.
    pub index: usize,
}

impl NamedRange {
    /// The ranges of this name, by start.
    fn all(&self, trace: &Trace) -> Vec<EventId> {
        let wanted = match &self.domain {
            Some(domain) => format!("{domain}:{}", self.text),
            None => self.text.clone(),
        };
        let special = &trace.events().arguments().nvtx;
        let has_domain =
            |event: EventId| special.get(event.index()).is_some_and(|special| special.has_domain);
        let mut ranges = host_ranges(trace, |name| name == wanted);
        ranges.retain(|&event| has_domain(event) == self.domain.is_some());
        ranges
    }
}

/// The ranges and operators of the host with such names, by start.
#[must_use]
pub fn host_ranges(trace: &Trace, is_meant: impl FnMut(&str) -> bool) -> Vec<EventId> {
    let (events, has_name) = (trace.events(), trace.strings().classify(is_meant));
    let is_range = |&event: &EventId| {
        matches!(events.category(event), Category::CPU_OP | Category::USER_ANNOTATION)
            && has_name[events.name(event).index()]
    };
    let mut ranges: Vec<EventId> = events.ids().filter(is_range).collect();
    ranges.sort_by_key(|&event| (events.start(event), event));
    ranges
}

impl fmt::Display for NamedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.text)?;
        self.domain.as_ref().map_or(Ok(()), |domain| write!(f, " of the domain {domain}"))
    }
}

/// The events of a window.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The events that belong to it: device events, and all of the host that runs at the time of their launches.
    pub events: EventSet,
    /// When it is, on the host and in the trace's time unit.
    pub time: Range<i64>,
    /// The iterations in it, and of the levels below and beside, those in the same time.
    pub iterations: Iterations,
    /// The steps that were chosen, by their indices in the recording; `None` for a stretch of time.
    pub steps: Option<Range<usize>>,
    /// Steps in the recording.
    pub of: usize,
    /// What was asked for.
    pub window: Window,
}

/// Why there is no such window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum WindowError {
    /// The recording shows no steps.
    #[error("iterations cannot be selected: {reason}")]
    NoSteps {
        /// Why, as a sentence.
        reason: String,
    },
    /// Fewer steps than asked for.
    #[error("the recording has no {}", numbered(.asked))]
    #[diagnostic(help("it has {}", numbered(&(0..*.steps))))]
    OutOfRange {
        /// The steps that were asked for.
        asked: Range<usize>,
        /// Steps in the recording.
        steps: usize,
    },
    /// No step is steady.
    #[error("none of the {steps} iterations is steady")]
    #[diagnostic(help("select iterations by number"))]
    NoneSteady {
        /// Steps in the recording.
        steps: usize,
    },
    /// No device event starts in it.
    #[error("no device work starts in the window")]
    #[diagnostic(help("choose another"))]
    Empty,
    /// The host has no range of this name, or fewer than asked for.
    #[error("the recording has no range {}{asked}", nth(.asked, *.found))]
    #[diagnostic(help("{}", ranges_of(*.found)))]
    NoRange {
        /// The one that was asked for.
        asked: NamedRange,
        /// Ranges of the name.
        found: usize,
    },
    /// No device work was launched in the range.
    #[error("range {} of {asked} launched no device work", asked.index)]
    #[diagnostic(help("choose another"))]
    NothingLaunched {
        /// The range.
        asked: NamedRange,
    },
}

/// Iterations by their numbers.
fn numbered(iterations: &Range<usize>) -> String {
    match iterations.len() {
        1 => format!("iteration {}", iterations.start),
        _ => format!("iterations {} to {}", iterations.start, iterations.end.saturating_sub(1)),
    }
}

/// The number of a range, where there are others of its name.
fn nth(asked: &NamedRange, found: usize) -> String {
    if found == 0 { String::new() } else { format!("{} of ", asked.index) }
}

fn ranges_of(found: usize) -> String {
    match found {
        0 => "the sheet nvtx_ranges lists its ranges".to_owned(),
        found => format!("it has ranges 0 to {} of this name", found - 1),
    }
}

impl Window {
    /// The trace of the window alone: its events, with their times and tracks in the recording.
    ///
    /// # Errors
    ///
    /// When the recording has no such iterations, or nothing runs in the window.
    pub fn cut(&self, tree: TraceTree) -> Result<(Trace, Selected), WindowError> {
        let found = Iterations::detect(&tree, &DetectOptions::default());
        self.cut_of(tree, found)
    }

    /// The same by the iterations that were found before.
    ///
    /// # Errors
    ///
    /// When the recording has no such iterations, or nothing runs in the window.
    pub fn cut_of(&self, tree: TraceTree, found: Iterations) -> Result<(Trace, Selected), WindowError> {
        let selected = self.select(&tree, found)?;
        let mut trace = tree.into_trace();
        trace.retain(|event| selected.events.contains(event));
        Ok((trace, selected))
    }

    /// The events of a recording that belong to the window, by the iterations that were found in it.
    ///
    /// # Errors
    ///
    /// When the recording has no such iterations, or nothing runs in the window.
    pub fn select(&self, tree: &TraceTree, found: Iterations) -> Result<Selected, WindowError> {
        let of = found.steps().map_or(0, |steps| steps.iterations.len());
        let events = tree.trace().events();
        let work = LaunchedWork::new(tree);
        let mut chosen = EventSet::with_capacity(events.len());
        let process = |event: EventId| tree.trace().tracks().get(events.track(event)).pid;
        let unit = tree.trace().time_unit().per_microsecond() as f64;
        let in_units =
            |time: &Range<f64>| (time.start * unit).round() as i64..(time.end * unit).round() as i64;
        let mut only = None;
        let (time, steps) = match self {
            Window::Launches(time) => {
                let time = in_units(time);
                let launched = work.launched_in(&time).map(|(event, _)| event);
                let unlaunched = work.starting_in(&time).filter(|(_, launch)| launch.is_none());
                for event in launched.chain(unlaunched.map(|(event, _)| event)) {
                    chosen.insert(event);
                }
                (time, None)
            }
            Window::Microseconds(time) => {
                let time = in_units(time);
                for (event, launch) in work.starting_in(&time) {
                    chosen.insert(event);
                    // A launch before the window, and what is around it, belongs to the work in it all the same.
                    let launch = launch.into_iter();
                    launch.flat_map(|launch| tree.ancestors(launch).chain([launch])).for_each(|host| {
                        chosen.insert(host);
                    });
                }
                (time, None)
            }
            Window::Named(asked) => {
                let ranges = asked.all(tree.trace());
                let no_range = || WindowError::NoRange { asked: asked.clone(), found: ranges.len() };
                let &range = ranges.get(asked.index).ok_or_else(no_range)?;
                let time = events.start(range)..events.end(range);
                only = Some(process(range));
                for (event, launch) in work.launched_in(&time) {
                    if only == Some(process(launch)) {
                        chosen.insert(event);
                    }
                }
                if chosen.is_empty() {
                    return Err(WindowError::NothingLaunched { asked: asked.clone() });
                }
                (time, None)
            }
            Window::Iterations(_) | Window::Steady => {
                let no_steps = || WindowError::NoSteps { reason: found.reason().to_string() };
                let level = found.steps().ok_or_else(no_steps)?;
                let steps = self.steps(tree, level)?;
                let division = Division::of(&work, tree.trace(), &level.iterations);
                let is_inside = |event: &EventId| matches!(division.part_of(*event), Some(Part::Iteration(index)) if steps.contains(&index));
                events.ids().filter(is_inside).for_each(|event| {
                    chosen.insert(event);
                });
                let chosen_steps = &level.iterations[steps.clone()];
                let start = chosen_steps.iter().map(|step| step.start).min().unwrap_or_default();
                let end = chosen_steps.iter().map(|step| step.end).max().unwrap_or(start);
                (start..end, Some(steps))
            }
        };
        if chosen.is_empty() {
            return Err(WindowError::Empty);
        }
        let is_device_category = |category: Category| {
            work.is_device_category(category) || category == Category::GPU_USER_ANNOTATION
        };
        for event in events.ids().filter(|&event| !is_device_category(events.category(event))) {
            let is_same_process = only.is_none_or(|only| only == process(event));
            if is_same_process && events.start(event) < time.end && events.end(event) >= time.start {
                chosen.insert(event);
            }
        }
        let iterations = found.within(&time, steps.as_ref());
        Ok(Selected { events: chosen, time, iterations, steps, of, window: self.clone() })
    }

    /// The indices of the steps of a window that names steps.
    fn steps(&self, tree: &TraceTree, level: &Level) -> Result<Range<usize>, WindowError> {
        let count = level.iterations.len();
        match self {
            Window::Iterations(asked) if asked.start < asked.end && asked.end <= count => Ok(asked.clone()),
            Window::Iterations(asked) => Err(WindowError::OutOfRange { asked: asked.clone(), steps: count }),
            Window::Steady | Window::Microseconds(_) | Window::Launches(_) | Window::Named(_) => {
                let run = Measured::from_all_events(tree, &level.iterations).longest_steady_run();
                run.ok_or(WindowError::NoneSteady { steps: count })
            }
        }
    }
}

impl Iterations {
    /// Those in a stretch of time; of the steps these, where they are named. What the stretch cuts is not whole; levels
    /// without any are gone.
    fn within(self, time: &Range<i64>, steps: Option<&Range<usize>>) -> Iterations {
        let is_inside = |iteration: &Iteration| iteration.start < time.end && iteration.end > time.start;
        let (mut levels, mut place_of_steps) = (Vec::new(), None);
        for (place, mut level) in self.levels.into_iter().enumerate() {
            let is_steps = self.steps == Some(place);
            let range = match steps.filter(|_| is_steps) {
                Some(steps) => steps.clone(),
                None => {
                    let first = level.iterations.iter().position(is_inside).unwrap_or(0);
                    first..level.iterations.iter().rposition(is_inside).map_or(first, |last| last + 1)
                }
            };
            if range.is_empty() {
                continue;
            }
            level.first += range.start;
            level.iterations = level.iterations[range].to_vec();
            for iteration in &mut level.iterations {
                iteration.whole &= time.start <= iteration.start && iteration.end <= time.end;
            }
            if is_steps {
                place_of_steps = Some(levels.len());
            }
            levels.push(level);
        }
        Iterations { levels, steps: place_of_steps, ..self }
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::{EventArguments, Trace, TraceBuilder};
    use trace2tree::TreeOptions;

    use super::*;
    use crate::{Evidence, LevelKind, Program, Reason};

    /// Steps of 100, each with an operator and a kernel that runs 150 later; the first and the sixth take long on the
    /// device.
    fn recorded() -> (TraceTree, Iterations) {
        let mut builder = TraceBuilder::new();
        let (host, stream) = (builder.track(1, 1), builder.track(0, 7));
        builder.event(Category::PYTHON_FUNCTION, "main", host, 0, 1000, EventArguments::default());
        let mut iterations = Vec::new();
        for step in 0..10 {
            let start = 100 * step;
            let arguments = || EventArguments { correlation: Some(step + 1), ..EventArguments::default() };
            let name = format!("op{step}");
            builder.event(Category::CPU_OP, &name, host, start + 10, 50, EventArguments::default());
            builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, start + 20, 5, arguments());
            let length = if step == 0 || step == 5 { 120 } else { 40 };
            builder.event(Category::KERNEL, "k", stream, start + 150, length, arguments());
            let number = Some(step + 3);
            iterations.push(Iteration { number, track: Some(host), start, end: start + 100, whole: true });
        }
        let level = Level {
            kind: LevelKind::Step,
            name: "ProfilerStep".to_owned(),
            evidence: Evidence::RecordedSteps,
            confidence: 1.0,
            first: 0,
            iterations,
        };
        let options = TreeOptions { python_frames: true, ..TreeOptions::default() };
        let tree = TraceTree::build(builder.finish(), &options);
        let found = Iterations {
            levels: vec![level],
            steps: Some(0),
            reason: Reason::Marked("ProfilerStep".to_owned()),
            program: Program::Unknown,
        };
        (tree, found)
    }

    fn names(trace: &Trace, selected: &Selected, category: Category) -> Vec<String> {
        let events = trace.events();
        let chosen = selected.events.iter().filter(|&event| events.category(event) == category);
        chosen.map(|event| format!("{}@{}", trace.name(event), events.start(event))).collect()
    }

    #[test]
    fn iterations_bring_what_they_launched_and_what_is_around_them() {
        let (tree, found) = recorded();
        let selected = Window::Iterations(3..5).select(&tree, found).unwrap();
        let of = |category| names(tree.trace(), &selected, category);
        assert_eq!(of(Category::CPU_OP), ["op3@310", "op4@410"]);
        assert_eq!(of(Category::KERNEL), ["k@450", "k@550"]);
        assert_eq!(of(Category::PYTHON_FUNCTION), ["main@0"]);
        let steps = selected.iterations.steps().unwrap();
        assert_eq!((steps.first, steps.iterations.len(), steps.iterations[0].number), (3, 2, Some(6)));
        assert_eq!((selected.steps, selected.of), (Some(3..5), 10));
    }

    #[test]
    fn a_cut_has_the_times_of_the_recording() {
        let (tree, _) = recorded();
        let (trace, selected) = Window::Microseconds(0.44..0.56).cut(tree).unwrap();
        assert_eq!(selected.time, 440..560);
        let events = trace.events();
        let kernels = events.ids().filter(|&event| events.category(event) == Category::KERNEL);
        assert_eq!(kernels.map(|event| events.start(event)).collect::<Vec<_>>(), [450, 550]);
        assert_eq!(events.len(), selected.events.iter().count());
    }

    #[test]
    fn the_steady_ones_are_the_longest_run_without_odd_ones() {
        let (tree, found) = recorded();
        let selected = Window::Steady.select(&tree, found).unwrap();
        // The step after a long one waits less, so that it is odd, too.
        assert_eq!(selected.steps, Some(2..5));
    }

    #[test]
    fn a_stretch_of_time_has_the_work_that_starts_in_it_with_its_launches() {
        let (tree, found) = recorded();
        let selected = Window::Microseconds(0.44..0.56).select(&tree, found).unwrap();
        let of = |category| names(tree.trace(), &selected, category);
        assert_eq!(of(Category::KERNEL), ["k@450", "k@550"]);
        assert_eq!(
            of(Category::CUDA_RUNTIME),
            ["cudaLaunchKernel@320", "cudaLaunchKernel@420", "cudaLaunchKernel@520"]
        );
        assert_eq!(of(Category::CPU_OP), ["op3@310", "op4@410", "op5@510"]);
        let steps = selected.iterations.steps().unwrap();
        assert_eq!(steps.iterations.iter().map(|step| step.whole).collect::<Vec<_>>(), [false, false]);
    }

    #[test]
    fn a_range_brings_what_was_launched_in_it() {
        let (tree, found) = recorded();
        let named =
            |text: &str, index| Window::Named(NamedRange { text: text.to_owned(), domain: None, index });
        let selected = named("op3", 0).select(&tree, found.clone()).unwrap();
        assert_eq!(names(tree.trace(), &selected, Category::KERNEL), ["k@450"]);
        assert_eq!(selected.time, 310..360);
        let error = |text: &str, index| named(text, index).select(&tree, found.clone()).unwrap_err();
        let one = error("op3", 1);
        assert_eq!(one.to_string(), "the recording has no range 1 of 'op3'");
        assert!(help(&one).contains("0"), "{}", help(&one));
        assert!(error("op", 0).to_string().starts_with("the recording has no range 'op'"));
    }

    #[test]
    fn a_stretch_of_launches_brings_what_was_launched_in_it() {
        let (tree, found) = recorded();
        let of = |window: Window| {
            let selected = window.select(&tree, found.clone()).unwrap();
            names(tree.trace(), &selected, Category::KERNEL)
        };
        // The kernel of the launch at 320 starts at 450.
        assert_eq!(of(Window::Launches(0.31..0.36)), ["k@450"]);
        assert_eq!(of(Window::Microseconds(0.44..0.46)), ["k@450"]);
    }

    #[test]
    fn a_range_is_of_its_process() {
        let mut builder = TraceBuilder::new();
        for process in [1, 2] {
            let (host, stream) = (builder.track(process, 1), builder.track(process - 1, 7));
            let arguments = || EventArguments { correlation: Some(process), ..EventArguments::default() };
            let name = format!("r{process}");
            builder.event(Category::USER_ANNOTATION, &name, host, 0, 100, EventArguments::default());
            builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", host, 10 * process, 5, arguments());
            builder.event(Category::KERNEL, "k", stream, 100 * process, 5, arguments());
        }
        let tree = TraceTree::build(builder.finish(), &TreeOptions::default());
        let found = Iterations::detect(&tree, &DetectOptions::default());
        let window = Window::Named(NamedRange { text: "r2".to_owned(), domain: None, index: 0 });
        let selected = window.select(&tree, found).unwrap();
        assert_eq!(names(tree.trace(), &selected, Category::KERNEL), ["k@200"]);
        assert_eq!(names(tree.trace(), &selected, Category::CUDA_RUNTIME), ["cudaLaunchKernel@20"]);
    }

    #[test]
    fn a_window_between_steps_has_none() {
        let (tree, mut found) = recorded();
        found.levels[0].iterations.retain(|step| step.start >= 300);
        // The kernel at 150 of the first step, before the steps that are left.
        let selected = Window::Microseconds(0.14..0.16).select(&tree, found).unwrap();
        assert!(selected.iterations.steps().is_none() && selected.iterations.levels().is_empty());
    }

    fn help(error: &WindowError) -> String {
        miette::Diagnostic::help(error).map(|help| help.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_is_not_there_is_said() {
        let (tree, found) = recorded();
        let error = |window: Window| window.select(&tree, found.clone()).unwrap_err();
        let asked = error(Window::Iterations(8..12));
        assert_eq!(asked.to_string(), "the recording has no iterations 8 to 11");
        assert_eq!(help(&asked), "it has iterations 0 to 9");
        assert_eq!(error(Window::Microseconds(5.0..6.0)), WindowError::Empty);
        let nothing = TraceTree::build(TraceBuilder::new().finish(), &TreeOptions::default());
        let found = Iterations::detect(&nothing, &DetectOptions::default());
        let error = Window::Steady.select(&nothing, found).unwrap_err();
        assert!(error.to_string().starts_with("iterations cannot be selected: "), "{error}");
    }
}
