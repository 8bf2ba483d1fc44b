//! Which phase the device work of a trace belongs to, by any of the methods.

use std::fmt;

use gpu_timeline::{Interval, busy_time};
use trace_ingest::EventId;
use tree_perf::Analysis;

use super::notice::{PhaseNotice, notices};
use super::statistics::{PhaseStatistics, StepStatistics, of_phases, of_steps};
use crate::DetectOptions;
use crate::methods::{
    DetectionMethod, LaunchingCall, LegacyMethod, LegacyRow, legacy_phases, phases_of_calls,
};
use crate::phase::Phase;
use crate::steps::Steps;

/// A method of ours or of the reference tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseMethod {
    /// Ours.
    Ours(DetectionMethod),
    /// The reference tool's as it is, for comparison: [`Phase::Mixed`] stands for undecided too.
    Legacy(LegacyMethod),
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
            PhaseMethod::Legacy(method) => write!(formatter, "legacy {method}"),
        }
    }
}

/// How phases are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseOptions {
    /// By what.
    pub method: PhaseMethod,
    /// The most tokens (per request, where requests are known) that generation may have.
    pub decode_threshold: i64,
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
        let decode_threshold = DetectOptions::default().decode_threshold;
        PhaseOptions { method: PhaseMethod::default(), decode_threshold }
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
                let detect =
                    DetectOptions { decode_threshold: options.decode_threshold, ..DetectOptions::default() };
                phases.steps = Some(Steps::detect(analysis.tree(), &detect));
            }
            PhaseMethod::Ours(method) => phases.label_calls(|calls| {
                phases_of_calls(method, analysis.trace(), calls, options.decode_threshold)
            }),
            PhaseMethod::Legacy(method) => phases.label_calls(|calls| {
                let rows: Vec<LegacyRow<'_>> = calls.iter().map(|call| legacy_row(analysis, call)).collect();
                legacy_phases(method, &rows, options.decode_threshold)
            }),
        }
        phases.parts = phases.divide();
        phases.step_statistics =
            phases.steps.as_ref().map_or_else(Vec::new, |steps| of_steps(analysis, steps));
        phases.phases = of_phases(&phases);
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
                    counted.map(|&kernel| Interval::new(events.start(kernel), events.end(kernel)));
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

fn legacy_row<'t>(analysis: &'t Analysis, call: &LaunchingCall<'_>) -> LegacyRow<'t> {
    let trace = analysis.trace();
    LegacyRow {
        name: trace.name(call.event),
        kernels: call.kernels.iter().map(|&kernel| trace.name(kernel)).collect(),
        input_dims: trace.argument(call.event, |signature| signature.dims),
    }
}
