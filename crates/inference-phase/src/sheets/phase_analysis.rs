//! Which phase the device work of a trace belongs to by any of the methods, with the figures of phases and steps.

use std::collections::BTreeMap;
use std::fmt;

use gpu_timeline::{Interval, SortFew, busy_time};
use trace_ingest::{EventId, PerString};
use trace2tree::is_graph_launch;
use tree_perf::Analysis;

use crate::DetectOptions;
use crate::methods::{DetectionMethod, LaunchingCall, phases_of_calls};
use crate::step::{Load, Phase, Source, Step, Steps};
use crate::tracelens;

/// A method of ours or of TraceLens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseMethod {
    /// Ours.
    Ours(DetectionMethod),
    /// That of TraceLens as it is, for comparison: [`Phase::Mixed`] stands for undecided too.
    TraceLens(tracelens::Method),
}

impl Default for PhaseMethod {
    fn default() -> Self {
        PhaseMethod::Ours(DetectionMethod::default())
    }
}

impl fmt::Display for PhaseMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PhaseMethod::Ours(method) => method.fmt(formatter),
            PhaseMethod::TraceLens(method) => write!(formatter, "legacy {method}"),
        }
    }
}

/// The method that detects the phases of inference, and what it knows of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseOptions {
    /// By what.
    pub method: PhaseMethod,
    /// The most tokens (per request, where requests are known) that generation may have.
    pub decode_threshold: i64,
    /// The most requests that the engine runs at a time, if known; a hint to the method that looks at whole steps.
    pub max_num_seqs: Option<i64>,
}

impl PhaseOptions {
    /// Whether the method looks at whole steps of the engine, so that [`PhaseAnalysis::steps`] has some to say of.
    #[must_use]
    pub fn finds_steps(&self) -> bool {
        matches!(self.method, PhaseMethod::Ours(DetectionMethod::Hybrid))
    }
}

impl Default for PhaseOptions {
    fn default() -> Self {
        let DetectOptions { decode_threshold, max_num_seqs, .. } = DetectOptions::default();
        PhaseOptions { method: PhaseMethod::default(), decode_threshold, max_num_seqs }
    }
}

/// A part of a call's device time: all of it, unless what the call launched belongs to steps of several phases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallPart {
    /// Place of the call among the analysis' launchers.
    pub(crate) launcher: usize,
    pub(crate) phase: Phase,
    /// In the trace's unit.
    pub(crate) time: i64,
}

/// The phases of a trace's device work.
///
/// The direct device times of all launching operators are divided among the phases without rest: their sum over
/// phases is their sum over operators, exactly.
pub struct PhaseAnalysis<'a> {
    pub(crate) analysis: &'a Analysis,
    pub(crate) options: PhaseOptions,
    steps: Option<Steps>,
    /// Phase by event; empty where steps say it.
    phase_of: Vec<Phase>,
    pub(crate) parts: Vec<CallPart>,
    phases: Vec<PhaseStatistics>,
    step_statistics: Vec<StepStatistics>,
}

impl<'a> PhaseAnalysis<'a> {
    /// Finds the phases.
    #[must_use]
    pub fn new(analysis: &'a Analysis, options: PhaseOptions) -> Self {
        let mut phases = PhaseAnalysis {
            analysis,
            options,
            steps: None,
            phase_of: Vec::new(),
            parts: Vec::new(),
            phases: Vec::new(),
            step_statistics: Vec::new(),
        };
        match options.method {
            PhaseMethod::Ours(DetectionMethod::Hybrid) => {
                let PhaseOptions { decode_threshold, max_num_seqs, .. } = options;
                let detect = DetectOptions { decode_threshold, max_num_seqs, ..DetectOptions::default() };
                phases.steps = Some(Steps::detect(analysis.tree(), &detect));
            }
            PhaseMethod::Ours(method) => phases.label_calls(|calls| {
                phases_of_calls(method, analysis.trace(), calls, options.decode_threshold)
            }),
            PhaseMethod::TraceLens(method) => phases.label_calls(|calls| {
                let rows: Vec<tracelens::Call<'_>> =
                    calls.iter().map(|call| tracelens_call(analysis, call)).collect();
                tracelens::phases(method, &rows, options.decode_threshold)
            }),
        }
        phases.parts = phases.divide();
        phases.step_statistics =
            phases.steps.as_ref().map_or_else(Vec::new, |steps| step_statistics(analysis, steps));
        phases.phases = phase_statistics(&phases);
        phases
    }

    /// Gives what calls launched the phases of the calls.
    fn label_calls(&mut self, label: impl FnOnce(&[LaunchingCall<'_>]) -> Vec<Phase>) {
        let calls: Vec<LaunchingCall<'_>> = self
            .analysis
            .launchers()
            .map(|launcher| LaunchingCall { event: launcher.event, kernels: launcher.kernels })
            .collect();
        let labels = label(&calls);
        self.phase_of = vec![Phase::Unknown; self.analysis.trace().events().len()];
        for (call, phase) in calls.iter().zip(labels) {
            for &kernel in call.kernels {
                self.phase_of[kernel.index()] = phase;
            }
        }
    }

    /// Divides the time of every call among the phases of what it launched.
    fn divide(&self) -> Vec<CallPart> {
        let events = self.analysis.trace().events();
        let mut parts = Vec::new();
        let mut scratch = Vec::new();
        for (launcher, row) in self.analysis.launchers().enumerate() {
            let Some(&first) = row.kernels.first() else { continue };
            let phase = self.phase_of(first);
            if row.kernels.iter().all(|&kernel| self.phase_of(kernel) == phase) {
                parts.push(CallPart { launcher, phase, time: row.direct_time });
                continue;
            }
            // What runs for two phases at once counts for the first of them, so that nothing counts twice.
            let mut before = 0;
            for (position, &phase) in Phase::ALL.iter().enumerate() {
                if !row.kernels.iter().any(|&kernel| self.phase_of(kernel) == phase) {
                    continue;
                }
                let up_to = &Phase::ALL[..=position];
                let counted = row.kernels.iter().filter(|&&kernel| up_to.contains(&self.phase_of(kernel)));
                let intervals =
                    counted.map(|&kernel| Interval::between(events.start(kernel), events.end(kernel)));
                let so_far = busy_time(intervals, &mut scratch);
                parts.push(CallPart { launcher, phase, time: so_far - before });
                before = so_far;
            }
        }
        parts
    }

    /// The analysis.
    #[must_use]
    pub fn analysis(&self) -> &'a Analysis {
        self.analysis
    }

    /// How the phases were told apart.
    #[must_use]
    pub fn options(&self) -> PhaseOptions {
        self.options
    }

    /// The steps; `None` for methods that look at calls one by one.
    #[must_use]
    pub fn steps(&self) -> Option<&Steps> {
        self.steps.as_ref()
    }

    /// Phase of a device event.
    #[must_use]
    pub fn phase_of(&self, device_event: EventId) -> Phase {
        match &self.steps {
            Some(steps) => steps.phase_of(device_event),
            None => self.phase_of.get(device_event.index()).copied().unwrap_or(Phase::Unknown),
        }
    }

    /// Figures of the phases that occur, in the order of [`Phase::ALL`].
    #[must_use]
    pub fn phases(&self) -> &[PhaseStatistics] {
        &self.phases
    }

    /// Figures of the steps, in their order; empty for methods that look at calls one by one.
    #[must_use]
    pub fn step_statistics(&self) -> &[StepStatistics] {
        &self.step_statistics
    }

    /// What a reader should know before trusting the phases.
    #[must_use]
    pub fn notices(&self) -> Vec<PhaseNotice> {
        notices(self)
    }
}

fn tracelens_call<'t>(analysis: &'t Analysis, call: &LaunchingCall<'_>) -> tracelens::Call<'t> {
    let trace = analysis.trace();
    tracelens::Call {
        name: trace.name(call.event),
        kernels: call.kernels.iter().map(|&kernel| trace.name(kernel)).collect(),
        input_dims: trace.argument(call.event, |signature| signature.dims),
    }
}

/// Figures of a phase. Times are in the trace's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseStatistics {
    /// The phase.
    pub phase: Phase,
    /// Steps; `None` where calls were labelled one by one.
    pub steps: Option<usize>,
    /// Requests of the steps, summed over steps; `None` where no step says.
    pub requests: Option<i64>,
    /// Tokens of the steps, likewise.
    pub tokens: Option<i64>,
    /// Device events, those of communication and those without a launch included.
    pub device_events: usize,
    /// Σ of the direct device times of operators: over all phases that of the operator sheets.
    pub kernel_time: i64,
    /// Time in which at least one device event of the phase ran.
    pub busy_time: i64,
    /// Mean busy time of the steps that have device events.
    pub mean_step_time: Option<f64>,
    /// Tokens of the steps that say them, per second of these steps' busy time.
    pub tokens_per_second: Option<f64>,
    /// What decided the phase, that with the most device time first; empty where calls were labelled one by one.
    pub sources: Vec<Source>,
    /// Mean confidence, weighed by device time, 0 to 1; `None` where calls were labelled one by one.
    pub confidence: Option<f64>,
}

/// Figures of a step. Times are in the trace's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepStatistics {
    /// Start of its first device event and end of its last; `None` without any.
    pub device_span: Option<(i64, i64)>,
    /// Time in which at least one of its device events ran.
    pub busy_time: i64,
    /// Σ of the durations of its device events.
    pub device_time: i64,
    /// Device events.
    pub device_events: usize,
    /// Launches of captured graphs that did device work.
    pub graph_launches: usize,
}

/// Requests of both kinds; `None` where neither is known.
fn requests(load: &Load) -> Option<i64> {
    sum_of_known(load.context_requests, load.generation_requests)
}

/// Tokens of both kinds; `None` where neither is known.
fn tokens(load: &Load) -> Option<i64> {
    sum_of_known(load.context_tokens, load.generation_tokens)
}

fn sum_of_known(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.map_or(b, |a| Some(a.saturating_add(b.unwrap_or(0))))
}

/// Figures of all steps.
pub(super) fn step_statistics(analysis: &Analysis, steps: &Steps) -> Vec<StepStatistics> {
    let (tree, trace) = (analysis.tree(), analysis.trace());
    let events = trace.events();
    let mut intervals: Vec<Vec<Interval>> = vec![Vec::new(); steps.steps().len()];
    for event in analysis.device_events() {
        if let Some(step) = steps.step_of(event) {
            intervals[step].push(Interval::between(events.start(event), events.end(event)));
        }
    }
    let mut scratch = Vec::new();
    let mut statistics: Vec<StepStatistics> = intervals
        .iter()
        .map(|step_intervals| StepStatistics {
            device_span: step_intervals
                .iter()
                .map(|one| (one.start, one.end))
                .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
            busy_time: busy_time(step_intervals.iter().copied(), &mut scratch),
            device_time: step_intervals.iter().map(|one| one.length()).sum(),
            device_events: step_intervals.len(),
            graph_launches: 0,
        })
        .collect();
    // Sorted by launch: each one's device events stand together.
    let mut is_graph = PerString::new(trace.strings(), is_graph_launch);
    for group in
        tree.linked_device_events().chunk_by(|&a, &b| tree.recorded_launch(a) == tree.recorded_launch(b))
    {
        let Some((step, launch)) =
            group.first().and_then(|&event| Some((steps.step_of(event)?, tree.recorded_launch(event)?)))
        else {
            continue;
        };
        statistics[step].graph_launches += usize::from(*is_graph.get(events.name(launch)));
    }
    statistics
}

/// Figures of the phases that have device events or steps.
pub(super) fn phase_statistics(phases: &PhaseAnalysis<'_>) -> Vec<PhaseStatistics> {
    let events = phases.analysis.trace().events();
    let mut intervals: [Vec<Interval>; 4] = Default::default();
    for event in phases.analysis.device_events() {
        intervals[phases.phase_of(event).index()]
            .push(Interval::between(events.start(event), events.end(event)));
    }
    let mut kernel_times = [0i64; 4];
    for part in &phases.parts {
        kernel_times[part.phase.index()] += part.time;
    }
    let mut scratch = Vec::new();
    Phase::ALL
        .into_iter()
        .filter_map(|phase| {
            let phase_intervals = &intervals[phase.index()];
            let steps = phases.steps().map(|steps| {
                let all = steps.steps().iter().zip(phases.step_statistics());
                all.filter(|(step, _)| step.phase == phase).collect::<Vec<_>>()
            });
            if phase_intervals.is_empty() && steps.as_ref().is_none_or(Vec::is_empty) {
                return None;
            }
            let device_time: i64 = phase_intervals.iter().map(|one| one.length()).sum();
            let phase_steps = steps.as_deref().unwrap_or_default();
            let (sources, confidence) = match steps {
                Some(_) => decided_by(phase_steps, device_time),
                None => (Vec::new(), None),
            };
            let sum = |of: fn(&Load) -> Option<i64>| {
                phase_steps.iter().filter_map(|(step, _)| of(&step.load)).reduce(|a, b| a + b)
            };
            Some(PhaseStatistics {
                phase,
                steps: steps.as_ref().map(Vec::len),
                requests: sum(requests),
                tokens: sum(tokens),
                device_events: phase_intervals.len(),
                kernel_time: kernel_times[phase.index()],
                busy_time: busy_time(phase_intervals.iter().copied(), &mut scratch),
                mean_step_time: mean_step_time(phase_steps),
                tokens_per_second: tokens_per_second(phases.analysis, phase_steps),
                sources,
                confidence,
            })
        })
        .collect()
}

/// The sources by device time, and the mean confidence; what belongs to no step is decided by nothing.
fn decided_by(steps: &[(&Step, &StepStatistics)], device_time: i64) -> (Vec<Source>, Option<f64>) {
    let mut times: BTreeMap<Source, i64> = BTreeMap::new();
    let mut weighed = 0.0;
    for (step, statistics) in steps {
        *times.entry(step.source).or_default() += statistics.device_time;
        weighed += step.confidence * statistics.device_time as f64;
    }
    let step_time: i64 = times.values().sum();
    if step_time < device_time {
        *times.entry(Source::Nothing).or_default() += device_time - step_time;
    }
    let mut sources: Vec<(Source, i64)> = times.into_iter().collect();
    sources.sort_few_by_key(|&(source, time)| (std::cmp::Reverse(time), source));
    let confidence = match device_time {
        0 => {
            let sum: f64 = steps.iter().map(|(step, _)| step.confidence).sum();
            (!steps.is_empty()).then(|| sum / steps.len() as f64)
        }
        _ => Some(weighed / device_time as f64),
    };
    (sources.into_iter().map(|(source, _)| source).collect(), confidence)
}

fn mean_step_time(steps: &[(&Step, &StepStatistics)]) -> Option<f64> {
    let busy: Vec<i64> =
        steps.iter().filter(|(_, of)| of.device_events > 0).map(|(_, of)| of.busy_time).collect();
    (!busy.is_empty()).then(|| busy.iter().sum::<i64>() as f64 / busy.len() as f64)
}

fn tokens_per_second(analysis: &Analysis, steps: &[(&Step, &StepStatistics)]) -> Option<f64> {
    let known = steps.iter().filter_map(|(step, of)| Some((tokens(&step.load)?, of.busy_time)));
    let (tokens, time) = known.filter(|&(_, time)| time > 0).reduce(|a, b| (a.0 + b.0, a.1 + b.1))?;
    Some(tokens as f64 / (analysis.trace().to_microseconds(time) / 1e6))
}

/// More device time than this, as a share of all, is worth a notice.
const WORTH_SAYING: f64 = 0.01;

/// A limit of the phases of a trace.
#[derive(Clone, Debug, PartialEq, thiserror::Error, miette::Diagnostic)]
pub enum PhaseNotice {
    /// Neither the engine's annotations nor its Python frames say the phase of a part of the device time.
    #[error("{}", inferred_in_words(.by, *.unknown_percent, *.prompts_percent))]
    #[diagnostic(code("phases/inferred"), severity(Warning))]
    Inferred {
        /// What decided instead with its share of the device time in percent, surest first.
        by: Vec<(Source, f64)>,
        /// Share of the device time in percent whose phase is unknown.
        unknown_percent: f64,
        /// The part of it that belongs to steps which process prompts.
        prompts_percent: f64,
    },
    /// A method that looks at calls one by one leaves a part of the device time undecided.
    #[error("{method} finds no phase for {percent:.1}% of operator device time, shown as Unknown")]
    #[diagnostic(
        code("phases/undecided"),
        severity(Warning),
        help("use method hybrid, which classifies by step")
    )]
    Undecided {
        /// The method.
        method: DetectionMethod,
        /// Share of the operators' device time in percent.
        percent: f64,
    },
    /// The trace has no host events, so nothing says which step launched what.
    #[error("the trace has no host events to link device work to steps: all phases are Unknown")]
    #[diagnostic(code("phases/device-only"), severity(Warning))]
    DeviceOnly,
    /// The phases are those of TraceLens.
    #[error(
        "phases come from TraceLens's method {method}, for comparison only: it matches parts of operator \
         names, and Mixed also means undecided"
    )]
    #[diagnostic(code("phases/trace-lens"), severity(Warning))]
    TraceLens {
        /// The method.
        method: tracelens::Method,
    },
}

fn inferred_in_words(by: &[(Source, f64)], unknown_percent: f64, prompts_percent: f64) -> String {
    let mut parts = Vec::new();
    let inferred: f64 = by.iter().map(|(_, percent)| percent).sum();
    if !by.is_empty() {
        let sources: Vec<String> =
            by.iter().map(|(source, percent)| format!("{} {percent:.1}%", source.as_str())).collect();
        parts
            .push(format!("the phase of {inferred:.1}% of device time is inferred ({})", sources.join(", ")));
    }
    if unknown_percent > 0.0 {
        parts.push(match by.is_empty() {
            true => format!("the phase of {unknown_percent:.1}% of device time is unknown"),
            false => format!("the phase of {unknown_percent:.1}% is unknown"),
        });
    }
    let mut words =
        format!("{}: no engine annotations or Python frames identify the phase", parts.join(", "));
    if prompts_percent > 0.0 {
        words += &format!(
            "; {prompts_percent:.1}% are prompt steps whose attention does not show whether they also decode"
        );
    }
    words
}

pub(super) fn notices(phases: &PhaseAnalysis<'_>) -> Vec<PhaseNotice> {
    let all_unknown = phases.phases().iter().all(|statistics| statistics.phase == Phase::Unknown);
    if phases.analysis.is_gpu_only() && all_unknown {
        return vec![PhaseNotice::DeviceOnly];
    }
    match phases.options.method {
        PhaseMethod::TraceLens(method) => vec![PhaseNotice::TraceLens { method }],
        PhaseMethod::Ours(method) => match phases.steps() {
            Some(_) => inferred(phases).into_iter().collect(),
            None => undecided(phases, method).into_iter().collect(),
        },
    }
}

fn inferred(phases: &PhaseAnalysis<'_>) -> Option<PhaseNotice> {
    let steps = phases.steps()?;
    if steps.inferred_share() <= WORTH_SAYING {
        return None;
    }
    let total: i64 = steps.time_by_source().iter().map(|&(_, time)| time).sum();
    let percent = |time: i64| time as f64 / total as f64 * 100.0;
    let by = steps
        .time_by_source()
        .iter()
        .filter(|&&(source, time)| source > Source::EngineFrames && source != Source::Nothing && time > 0)
        .map(|&(source, time)| (source, percent(time)))
        .collect();
    let unknown = steps.time_by_source().iter().find(|(source, _)| *source == Source::Nothing);
    let with_prompts = steps.steps().iter().zip(phases.step_statistics());
    let with_prompts = with_prompts.filter(|(step, _)| step.phase == Phase::Unknown && step.has_prompts);
    Some(PhaseNotice::Inferred {
        by,
        unknown_percent: unknown.map_or(0.0, |&(_, time)| percent(time)),
        prompts_percent: percent(with_prompts.map(|(_, statistics)| statistics.device_time).sum()),
    })
}

fn undecided(phases: &PhaseAnalysis<'_>, method: DetectionMethod) -> Option<PhaseNotice> {
    let total: i64 = phases.parts.iter().map(|part| part.time).sum();
    let unknown: i64 =
        phases.parts.iter().filter(|part| part.phase == Phase::Unknown).map(|part| part.time).sum();
    let share = if total == 0 { 0.0 } else { unknown as f64 / total as f64 };
    (share > WORTH_SAYING).then_some(PhaseNotice::Undecided { method, percent: share * 100.0 })
}
