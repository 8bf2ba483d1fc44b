//! Findings and notices of a profile: where the time of the GPUs goes, and what the sheets leave out or assume.

use std::collections::BTreeMap;
use std::fmt;

use gpu_timeline::{Breakdown, DeviceEvent, device_waits, short_wait};
use hlo_cost::HloKind;
use operator_sheets::{Bound, Headline, IdleFor, TimeShares, Unclassified, Whole};

use crate::analysis::{Gpu, JaxAnalysis};
use crate::device_events::is_copy_kernel;
use crate::operators::stem;

/// What most of the kernel time went to, and how much of the time the GPUs did anything.
#[derive(Clone, Debug, PartialEq)]
pub struct JaxFinding {
    /// Known kind of work with the most kernel time, and its share of the kernel time, 0 to 1; `None` where nothing tells
    /// any.
    pub category: Option<(String, f64)>,
    /// What nothing tells the kind of.
    pub unclassified: Unclassified,
    /// Instruction with the most kernel time, without its number.
    pub operator: String,
    /// Its share of the kernel time, 0 to 1.
    pub operator_share: f64,
    /// What bounds the work.
    pub bound: Bound,
    /// Shares of the GPUs' time, of all GPUs together.
    pub shares: TimeShares,
    /// Share of its window in which each GPU is idle, where there are several.
    pub idle_of_devices: Vec<f64>,
}

/// Where the time goes; `None` when nothing took time on a GPU.
#[must_use]
pub fn jax_finding(analysis: &JaxAnalysis) -> Option<JaxFinding> {
    let (mut categories, mut names, mut unclassified) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for call in analysis.calls() {
        let operator = &analysis.operators()[call.operator];
        match operator.category.as_str() {
            category if category == HloKind::Other.as_str() => {
                *unclassified.entry(stem(&operator.name)).or_insert(0) += call.time.0;
            }
            category => *categories.entry(category).or_insert(0) += call.time.0,
        }
        *names.entry(stem(&operator.name)).or_insert(0) += call.time.0;
    }
    let all: i64 = names.values().sum();
    let most = |sums: BTreeMap<&str, i64>| {
        let (name, time) = sums.into_iter().max_by_key(|&(_, time)| time)?;
        Some((name.to_owned(), time as f64 / all as f64))
    };
    if all <= 0 {
        return None;
    }
    let (category, (operator, operator_share)) = (most(categories), most(names)?);
    let sum = |time: fn(&Breakdown) -> i64| {
        analysis.gpus().iter().map(|gpu| time(&gpu.breakdown)).sum::<i64>() as f64
    };
    let (total, busy) = (sum(|breakdown| breakdown.total), sum(|breakdown| breakdown.busy));
    let shares = TimeShares {
        idle: sum(|breakdown| breakdown.idle) / total,
        unrecorded: 0.0,
        exposed_communication: sum(|breakdown| breakdown.exposed_communication) / busy,
        exposed_copies: sum(|breakdown| breakdown.exposed_memcpy) / busy,
    };
    let idle = |gpu: &Gpu| gpu.breakdown.idle as f64 / gpu.breakdown.total.max(1) as f64;
    let several = analysis.gpus().len() > 1;
    Some(JaxFinding {
        category,
        unclassified: Unclassified::new(unclassified, all),
        operator,
        operator_share,
        bound: Bound::from_shares(&shares, || idle_for(analysis)),
        idle_of_devices: analysis.gpus().iter().filter(|_| several).map(idle).collect(),
        shares,
    })
}

/// What the GPUs wait for in most of their idle time.
fn idle_for(analysis: &JaxAnalysis) -> IdleFor {
    let trace = analysis.trace();
    let waits = (0..analysis.gpus().len()).flat_map(|gpu| {
        let own = analysis.device_events().iter().filter(|event| event.gpu == gpu);
        let events: Vec<DeviceEvent> = own.map(|event| event.device_event(trace)).collect();
        device_waits(&events, short_wait(trace.time_unit().per_microsecond()))
    });
    IdleFor::of(waits.map(|wait| (wait.cause, wait.span.length())))
}

impl JaxFinding {
    fn largest(&self) -> Option<(&str, f64)> {
        self.category.as_ref().map(|(category, share)| (category.as_str(), *share))
    }

    /// A sentence of what is unclassified, where the finding is not about that.
    #[must_use]
    pub fn unclassified_beside(&self) -> Option<String> {
        self.unclassified.beside(self.largest().map(|(_, share)| share), Whole::KernelTime)
    }
}

impl fmt::Display for JaxFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headline = Headline {
            bound: self.bound,
            shares: &self.shares,
            device: "GPU",
            idle_of_devices: &self.idle_of_devices,
            largest: self.largest(),
            unclassified: &self.unclassified,
            whole: Whole::KernelTime,
        };
        write!(f, "{headline}; largest instruction: {}, {:.1}%", self.operator, self.operator_share * 100.0)
    }
}

/// A notice about a profile for the reader of its sheets.
#[derive(Clone, Debug, PartialEq, thiserror::Error, miette::Diagnostic)]
pub enum JaxNotice {
    /// A program that kernels ran has an HLO module that cannot be decoded: its instructions have no figures.
    #[error("{reason}, so its instructions have times but no FLOPs or bytes")]
    #[diagnostic(code("xla/damaged-program"), severity(Warning))]
    DamagedProgram {
        /// Which, where, and what is wrong.
        reason: String,
    },
    /// Kernels that name an instruction which the profile does not embed: they have no figures.
    #[error(
        "{kernels} {} ({time_us:.3} µs) {} missing from the profile: {} but no FLOPs or bytes",
        if *.kernels == 1 { "kernel" } else { "kernels" },
        if *.kernels == 1 { "names an instruction" } else { "name instructions" },
        if *.kernels == 1 { "it has a time" } else { "they have times" }
    )]
    #[diagnostic(code("xla/unknown-instructions"), severity(Warning))]
    UnknownInstructions {
        /// How many kernels.
        kernels: usize,
        /// Their time in µs.
        time_us: f64,
    },
    /// Kernels without the name of an instruction: they are operators of their own.
    #[error(
        "{kernels} {} ({time_us:.3} µs) {} no instruction: each kernel name is its own operator",
        if *.kernels == 1 { "kernel" } else { "kernels" },
        if *.kernels == 1 { "names" } else { "name" }
    )]
    #[diagnostic(code("xla/kernels-without-instruction"), severity(Warning))]
    KernelsWithoutInstruction {
        /// How many kernels.
        kernels: usize,
        /// Their time in µs.
        time_us: f64,
    },
    /// Kernels of the runtime that only copy or fill memory count as computation, as they were recorded.
    #[error(
        "{kernels} {} ({time_us:.3} µs) of the ROCm runtime only {} memory but {} as computation, as recorded",
        if *.kernels == 1 { "kernel" } else { "kernels" },
        if *.kernels == 1 { "copies or fills" } else { "copy or fill" },
        if *.kernels == 1 { "counts" } else { "count" }
    )]
    #[diagnostic(code("xla/copy-kernels-are-computation"), severity(Warning))]
    CopyKernelsAreComputation {
        /// How many kernels.
        kernels: usize,
        /// Their time in µs.
        time_us: f64,
    },
    /// No kernel comes from an operation or a source file with the keywords that were asked for.
    #[error("no kernel matches {} in its operation or source file", .keywords.join(" or "))]
    #[diagnostic(code("xla/nothing-has-keyword"), severity(Warning))]
    NothingHasKeyword {
        /// The keywords.
        keywords: Vec<String>,
    },
    /// The profile has sums of events without a place in time: no window has them.
    #[error(
        "the profile has {sums} operation {} without individual times: the window omits {}",
        if *.sums == 1 { "total" } else { "totals" },
        if *.sums == 1 { "it" } else { "them" }
    )]
    #[diagnostic(code("xla/sums-left-out"), severity(Warning))]
    SumsLeftOut {
        /// How many sums.
        sums: usize,
    },
    /// An error or note that the profiler recorded.
    #[error("the profiler reports: {text}")]
    #[diagnostic(code("xla/recorder"), severity(Warning))]
    Recorder {
        /// Its text.
        text: String,
    },
}

impl JaxAnalysis {
    /// What the sheets leave out or assume, so that nothing goes missing silently.
    pub fn notices(&self) -> Vec<JaxNotice> {
        let profile = self.profile();
        let mut notices: Vec<JaxNotice> = profile
            .errors
            .iter()
            .chain(&profile.notes)
            .map(|text| JaxNotice::Recorder { text: text.clone() })
            .collect();
        let sums = self.sums_left_out();
        notices.extend((sums > 0).then_some(JaxNotice::SumsLeftOut { sums }));
        let mut programs: Vec<u64> =
            self.operators().iter().filter_map(|operator| operator.program?.id).collect();
        programs.sort_unstable();
        programs.dedup();
        notices.extend(programs.into_iter().filter_map(|id| {
            Some(JaxNotice::DamagedProgram { reason: self.program_error(id)?.to_string() })
        }));
        let sum = |chosen: &dyn Fn(usize) -> bool| {
            let of = self.device_events().iter().filter(|event| event.category.is_some());
            let of: Vec<i64> = of
                .filter(|event| chosen(event.operator))
                .map(|event| profile.trace.events().duration(event.event))
                .collect();
            (!of.is_empty()).then(|| (of.len(), self.us(of.iter().sum())))
        };
        let operator = |at: usize| &self.operators()[at];
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
        if !self.options().rebucket_copy_kernels {
            notices.extend(
                sum(&copies)
                    .map(|(kernels, time_us)| JaxNotice::CopyKernelsAreComputation { kernels, time_us }),
            );
        }
        let keywords = &self.options().kernel_metadata_keyword_filters;
        if !keywords.is_empty() && sum(&|at| self.keeps(at)).is_none() {
            notices.push(JaxNotice::NothingHasKeyword { keywords: keywords.clone() });
        }
        notices
    }
}
