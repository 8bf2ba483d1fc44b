//! Findings and notices of a TPU profile: what bounds its program, and what the tables leave out or assume.

use std::collections::BTreeMap;
use std::fmt;

use trace_ingest::Picoseconds;

use super::analysis::TpuAnalysis;
use super::category::{WorkClass, work_class};
use super::transfers::transfers;

/// What most of the time of all cores went to.
#[derive(Clone, Debug, PartialEq)]
pub struct TpuFinding {
    /// The kind of work.
    pub class: WorkClass,
    /// The category of operations of this kind that takes most of it; `None` of idle time.
    pub category: Option<String>,
    /// Own time of that category, or of the idle time, as a share of all time, 0 to 1.
    pub share: f64,
    /// Own time of computing operations as a share of all time, 0 to 1.
    pub compute_share: f64,
}

impl fmt::Display for TpuFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = self.share * 100.0;
        let compute = self.compute_share * 100.0;
        match (&self.category, self.class) {
            (Some(category), WorkClass::Compute) => {
                write!(f, "largest: compute, {compute:.1}% of the window ({category} {share:.1}%)")
            }
            (Some(category), class) => write!(
                f,
                "largest: {}, {category} {share:.1}% of the window; compute {compute:.1}%",
                class.as_str()
            ),
            (None, _) => write!(f, "device idle {share:.1}% of the window; compute {compute:.1}%"),
        }
    }
}

/// The kind of work that takes most of the time; `None` when nothing was recorded.
#[must_use]
pub fn tpu_finding(analysis: &TpuAnalysis) -> Option<TpuFinding> {
    let table = &analysis.table;
    let total = table.total.max(table.op_time());
    if total == Picoseconds(0) {
        return None;
    }
    let mut classes: BTreeMap<WorkClass, BTreeMap<&str, Picoseconds>> = BTreeMap::new();
    for op in &table.ops {
        let described = analysis.op(op);
        let class = work_class(&described.category, &described.expression);
        *classes.entry(class).or_default().entry(&described.category).or_default() += op.self_time;
    }
    let sum = |categories: &BTreeMap<&str, Picoseconds>| categories.values().copied().sum::<Picoseconds>();
    let share = |time: Picoseconds| time.0 as f64 / total.0 as f64;
    let compute_share = share(classes.get(&WorkClass::Compute).map_or(Picoseconds(0), sum));
    let longest = classes.iter().max_by_key(|(_, categories)| sum(categories));
    let idle_time = table.idle_time();
    match longest.filter(|(_, categories)| sum(categories) >= idle_time) {
        Some((&class, categories)) => {
            let (category, time) = categories.iter().max_by_key(|entry| *entry.1)?;
            Some(TpuFinding {
                class,
                category: Some((*category).to_string()),
                share: share(*time),
                compute_share,
            })
        }
        None => Some(TpuFinding {
            class: WorkClass::Idle,
            category: None,
            share: share(idle_time),
            compute_share,
        }),
    }
}

/// A notice about a profile for the reader of its tables.
#[derive(Clone, Debug, PartialEq, thiserror::Error, miette::Diagnostic)]
pub enum TpuNotice {
    /// Planes of sparse cores, which no table has.
    #[error("{} SparseCore {} in no table: {}", .planes.len(), if .planes.len() == 1 { "plane is" } else { "planes are" }, .planes.join(", "))]
    #[diagnostic(code("tpu/sparse-cores"), severity(Warning))]
    SparseCores {
        /// Their names.
        planes: Vec<String>,
    },
    /// The profile does not say what a core can do: nothing is held against a peak.
    #[error("{reason}: no peaks and no roofline")]
    #[diagnostic(code("tpu/no-peaks"), severity(Warning))]
    NoPeaks {
        /// What it does not say.
        reason: String,
    },
    /// Executions that belong to no operation of a program: they are in no table, and their time counts as idle.
    #[error(
        "{executions} {} ({time_us:.3} µs) to no operation of a program: not in any table, counted as idle",
        if *.executions == 1 { "execution on a tensor core belongs" } else { "executions on tensor cores belong" }
    )]
    #[diagnostic(code("tpu/without-operation"), severity(Warning))]
    WithoutOperation {
        /// How many.
        executions: u64,
        /// Their time without that of operations inside them, in µs.
        time_us: f64,
    },
    /// Asynchronous operations whose end was not recorded.
    #[error(
        "{transfers} asynchronous {} no end in the profile or window and {} in no table",
        if *.transfers == 1 { "operation has" } else { "operations have" },
        if *.transfers == 1 { "is" } else { "are" }
    )]
    #[diagnostic(code("tpu/unfinished"), severity(Warning))]
    Unfinished {
        /// How many.
        transfers: u64,
    },
}

impl TpuNotice {
    /// All notices of a profile.
    #[must_use]
    pub fn all(analysis: &TpuAnalysis) -> Vec<Self> {
        let mut notices = Vec::new();
        let profile = &analysis.profile;
        if !profile.sparse_cores.is_empty() {
            notices.push(TpuNotice::SparseCores { planes: profile.sparse_cores.clone() });
        }
        let table = &analysis.table;
        if let Some(missing) = profile.peaks.as_ref().err().filter(|_| !table.ops.is_empty()) {
            notices.push(TpuNotice::NoPeaks { reason: missing.to_string() });
        }
        if table.left_out > 0 {
            let time_us = table.left_out_time.to_microseconds();
            notices.push(TpuNotice::WithoutOperation { executions: table.left_out, time_us });
        }
        let unfinished = transfers(analysis).1;
        if unfinished > 0 {
            notices.push(TpuNotice::Unfinished { transfers: unfinished });
        }
        notices
    }
}
