//! What the sheets of a profile leave out or assume.

use std::fmt;

use super::analysis::JaxAnalysis;
use super::device_events::is_copy_kernel;
use super::options::CopyKernels;

/// Something of a profile that a reader of its sheets ought to know.
#[derive(Clone, Debug, PartialEq)]
pub enum JaxNotice {
    /// A program that kernels ran has an HLO module that cannot be decoded: its instructions have no figures.
    DamagedProgram {
        /// Which, where, and what is wrong.
        reason: String,
    },
    /// Kernels that name an instruction which the profile does not embed: they have no figures.
    UnknownInstructions {
        /// How many kernels.
        kernels: usize,
        /// Their time in µs.
        time_us: f64,
    },
    /// Kernels without the name of an instruction: they are operators of their own.
    KernelsWithoutInstruction {
        /// How many kernels.
        kernels: usize,
        /// Their time in µs.
        time_us: f64,
    },
    /// Kernels of the runtime that only copy or fill memory count as computation, as they were recorded.
    CopyKernelsAreComputation {
        /// How many kernels.
        kernels: usize,
        /// Their time in µs.
        time_us: f64,
    },
    /// No kernel comes from an operation or a source file with the keywords that were asked for.
    NothingHasKeyword {
        /// The keywords.
        keywords: Vec<String>,
    },
    /// What the recorder says went wrong.
    Recorder {
        /// Its text.
        text: String,
    },
}

impl JaxNotice {
    pub(super) fn of(analysis: &JaxAnalysis) -> Vec<Self> {
        let profile = analysis.profile();
        let mut notices: Vec<Self> = profile
            .errors
            .iter()
            .chain(&profile.notes)
            .map(|text| JaxNotice::Recorder { text: text.clone() })
            .collect();
        let mut programs: Vec<u64> =
            analysis.operators().iter().filter_map(|operator| operator.program?.id).collect();
        programs.sort_unstable();
        programs.dedup();
        notices.extend(programs.into_iter().filter_map(|id| {
            let error = profile.programs.module(id)?.err()?;
            Some(JaxNotice::DamagedProgram { reason: error.to_string() })
        }));
        let sum = |chosen: &dyn Fn(usize) -> bool| {
            let of = analysis.device_events().iter().filter(|event| event.category.is_some());
            let of: Vec<i64> = of
                .filter(|event| chosen(event.operator))
                .map(|event| profile.trace.events().duration(event.event))
                .collect();
            (!of.is_empty()).then(|| (of.len(), analysis.us(of.iter().sum())))
        };
        let operator = |at: usize| &analysis.operators()[at];
        let named = |at: usize| operator(at).program.is_some();
        let copies = |at: usize| is_copy_kernel(&operator(at).name);
        let has_record = |at: usize| operator(at).record.is_some();
        notices.extend(
            sum(&|at| named(at) && !has_record(at) && !copies(at))
                .map(|(kernels, time_us)| JaxNotice::UnknownInstructions { kernels, time_us }),
        );
        notices.extend(
            sum(&|at| !named(at) && !copies(at))
                .map(|(kernels, time_us)| JaxNotice::KernelsWithoutInstruction { kernels, time_us }),
        );
        if analysis.options().copy_kernels == CopyKernels::Computation {
            notices.extend(
                sum(&copies)
                    .map(|(kernels, time_us)| JaxNotice::CopyKernelsAreComputation { kernels, time_us }),
            );
        }
        let keywords = &analysis.options().keyword_filters;
        if !keywords.is_empty() && sum(&|at| analysis.keeps(at)).is_none() {
            notices.push(JaxNotice::NothingHasKeyword { keywords: keywords.clone() });
        }
        notices
    }
}

impl fmt::Display for JaxNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JaxNotice::DamagedProgram { reason } => {
                write!(f, "{reason}; its instructions have times but neither FLOPs nor bytes")
            }
            JaxNotice::UnknownInstructions { kernels, time_us } => write!(
                f,
                "{kernels} kernels ({time_us:.3} µs) name instructions that the profile does not embed: they have \
                 times but neither FLOPs nor bytes"
            ),
            JaxNotice::KernelsWithoutInstruction { kernels, time_us } => write!(
                f,
                "{kernels} kernels ({time_us:.3} µs) name no instruction: each name is an operator of its own"
            ),
            JaxNotice::CopyKernelsAreComputation { kernels, time_us } => write!(
                f,
                "{kernels} kernels ({time_us:.3} µs) of the ROCm runtime only copy or fill memory and count as \
                 computation, as they were recorded; --rebucket_copy_kernels counts them as copies"
            ),
            JaxNotice::NothingHasKeyword { keywords } => {
                write!(f, "no kernel comes from an operation or a source file with {}", keywords.join(" or "))
            }
            JaxNotice::Recorder { text } => write!(f, "the recorder says: {text}"),
        }
    }
}
