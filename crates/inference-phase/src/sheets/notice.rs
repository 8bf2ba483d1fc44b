//! What a reader should know before trusting the phases.

use std::fmt;

use super::phase_analysis::{PhaseAnalysis, PhaseMethod};
use crate::methods::{DetectionMethod, LegacyMethod};
use crate::phase::Phase;
use crate::step::Source;

/// More device time than this, as a share of all, is worth a notice.
const WORTH_SAYING: f64 = 0.01;

/// A limit of the phases of a trace.
#[derive(Clone, Debug, PartialEq)]
pub enum PhaseNotice {
    /// Neither the engine's annotations nor its Python frames say the phase of a part of the device time.
    Inferred {
        /// What decided instead with its share of the device time in percent, surest first.
        by: Vec<(Source, f64)>,
        /// Share of the device time in percent whose phase is unknown.
        unknown_percent: f64,
    },
    /// A method that looks at calls one by one leaves a part of the device time undecided.
    Undecided {
        /// The method.
        method: DetectionMethod,
        /// Share of the operators' device time in percent.
        percent: f64,
    },
    /// The trace has no host events, so nothing says which step launched what.
    DeviceOnly,
    /// The phases are the reference tool's.
    Legacy {
        /// The method.
        method: LegacyMethod,
    },
}

impl fmt::Display for PhaseNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PhaseNotice::Inferred { by, unknown_percent } => {
                let inferred: f64 = by.iter().map(|(_, percent)| percent).sum();
                if !by.is_empty() {
                    write!(f, "the phase of {inferred:.1}% of the device time is inferred (")?;
                    for (position, (source, percent)) in by.iter().enumerate() {
                        let separator = if position > 0 { ", " } else { "" };
                        write!(f, "{separator}{} {percent:.1}%", source.as_str())?;
                    }
                    f.write_str(")")?;
                }
                if *unknown_percent > 0.0 {
                    let start = if by.is_empty() { "the phase" } else { ", that" };
                    let of = if by.is_empty() { " of the device time" } else { "" };
                    write!(f, "{start} of {unknown_percent:.1}%{of} is unknown")?;
                }
                f.write_str(": neither annotations nor Python frames of the engine say it")
            }
            PhaseNotice::Undecided { method, percent } => write!(
                f,
                "{method} says nothing of the phase of {percent:.1}% of the operators' device time, which is Unknown; \
                 hybrid looks at whole steps"
            ),
            PhaseNotice::DeviceOnly => f.write_str(
                "the trace has no host events, so nothing says which step launched what: the phase of all device \
                 work is Unknown",
            ),
            PhaseNotice::Legacy { method } => write!(
                f,
                "phases are those of the reference tool's {method}, for comparison only: it labels operators by \
                 parts of names, and Mixed means undecided too"
            ),
        }
    }
}

pub(super) fn notices(phases: &PhaseAnalysis<'_>) -> Vec<PhaseNotice> {
    let all_unknown = phases.phases().iter().all(|statistics| statistics.phase == Phase::Unknown);
    if phases.analysis.is_gpu_only() && all_unknown {
        return vec![PhaseNotice::DeviceOnly];
    }
    match phases.options.method {
        PhaseMethod::Legacy(method) => vec![PhaseNotice::Legacy { method }],
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
    Some(PhaseNotice::Inferred { by, unknown_percent: unknown.map_or(0.0, |&(_, time)| percent(time)) })
}

fn undecided(phases: &PhaseAnalysis<'_>, method: DetectionMethod) -> Option<PhaseNotice> {
    let total: i64 = phases.parts.iter().map(|part| part.time).sum();
    let unknown: i64 =
        phases.parts.iter().filter(|part| part.phase == Phase::Unknown).map(|part| part.time).sum();
    let share = if total == 0 { 0.0 } else { unknown as f64 / total as f64 };
    (share > WORTH_SAYING).then_some(PhaseNotice::Undecided { method, percent: share * 100.0 })
}
