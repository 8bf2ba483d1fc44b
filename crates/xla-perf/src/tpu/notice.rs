//! What the tables of a TPU profile leave out.

use std::fmt;

use super::analysis::TpuAnalysis;
use super::async_copies::transfers;

/// Something that a reader of the tables ought to know.
#[derive(Clone, Debug, PartialEq)]
pub enum TpuNotice {
    /// Planes of sparse cores, which no table has.
    SparseCores {
        /// Their names.
        planes: Vec<String>,
    },
    /// The profile does not say what a core can do: nothing is held against a peak.
    NoPeaks {
        /// What it does not say.
        reason: String,
    },
    /// Executions that belong to no operation of a program: they are in no table, and their time counts as idle.
    WithoutOperation {
        /// How many.
        executions: u64,
        /// Their time without that of operations inside them, in µs.
        time_us: f64,
    },
    /// Asynchronous operations whose end was not recorded.
    Unfinished {
        /// How many.
        transfers: u64,
    },
}

impl TpuNotice {
    /// What there is to say of a profile.
    #[must_use]
    pub fn of(analysis: &TpuAnalysis) -> Vec<Self> {
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
            let time_us = table.left_out_ps as f64 / 1e6;
            notices.push(TpuNotice::WithoutOperation { executions: table.left_out, time_us });
        }
        let unfinished = transfers(analysis).1;
        if unfinished > 0 {
            notices.push(TpuNotice::Unfinished { transfers: unfinished });
        }
        notices
    }
}

impl fmt::Display for TpuNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TpuNotice::SparseCores { planes } => {
                write!(f, "{} planes of sparse cores are in no table: {}", planes.len(), planes.join(", "))
            }
            TpuNotice::NoPeaks { reason } => {
                write!(f, "{reason}: no operation is held against a peak and there is no roofline")
            }
            TpuNotice::WithoutOperation { executions, time_us } => write!(
                f,
                "{executions} executions on tensor cores ({time_us:.3} µs) belong to no operation of a program: they \
                 are in no table and their time counts as idle"
            ),
            TpuNotice::Unfinished { transfers } => {
                write!(
                    f,
                    "{transfers} asynchronous operations have no end in the profile and are in no table"
                )
            }
        }
    }
}
