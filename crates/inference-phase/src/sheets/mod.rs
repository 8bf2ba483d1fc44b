//! Sheets of the phases, made from an [`Analysis`](tree_perf::Analysis) and the phases of its device work.

mod kernel_summary;
mod notice;
mod ops_summary;
mod phase_analysis;
mod phase_summary;
mod statistics;
mod step_summary;

use polars::prelude::{DataFrame, PolarsResult};
use tree_perf::{Column, SheetChart};

pub use notice::PhaseNotice;
pub use phase_analysis::{PhaseAnalysis, PhaseMethod, PhaseOptions};
pub use statistics::{PhaseStatistics, StepStatistics};

use crate::phase::Phase;

/// A sheet of the phases with everything that is known of it before a trace is read.
pub struct PhaseSheet {
    /// Name in the report.
    pub name: &'static str,
    /// What one row is, in one sentence.
    pub description: &'static str,
    /// All columns that it may have, in order.
    pub columns: &'static [Column],
    /// Picture that goes with it.
    pub chart: Option<SheetChart>,
    build: Build,
}

enum Build {
    All(fn(&PhaseAnalysis<'_>) -> PolarsResult<Option<DataFrame>>),
    OfPhase(Phase, fn(&PhaseAnalysis<'_>, Phase) -> PolarsResult<Option<DataFrame>>),
}

impl PhaseSheet {
    /// Makes the table; `None` when there is nothing to show and the sheet is left out.
    ///
    /// # Errors
    /// When polars refuses the columns, which is a fault of this crate.
    pub fn build(&self, phases: &PhaseAnalysis<'_>) -> PolarsResult<Option<DataFrame>> {
        match self.build {
            Build::All(build) => build(phases),
            Build::OfPhase(phase, build) => build(phases, phase),
        }
    }

    /// The description of a column of this sheet.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// The sheets of the phases, in order.
#[must_use]
pub fn phase_sheets() -> &'static [PhaseSheet] {
    &SHEETS
}

static SHEETS: [PhaseSheet; 10] = [
    phase_summary::SHEET,
    step_summary::SHEET,
    ops_summary::sheet("ops_summary_prefill", Phase::Prefill),
    ops_summary::sheet("ops_summary_decode", Phase::Decode),
    ops_summary::sheet("ops_summary_mixed", Phase::Mixed),
    ops_summary::sheet("ops_summary_unknown", Phase::Unknown),
    kernel_summary::sheet("kernel_summary_prefill", Phase::Prefill),
    kernel_summary::sheet("kernel_summary_decode", Phase::Decode),
    kernel_summary::sheet("kernel_summary_mixed", Phase::Mixed),
    kernel_summary::sheet("kernel_summary_unknown", Phase::Unknown),
];
