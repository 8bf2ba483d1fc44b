//! Sheets of the phases, made from an [`Analysis`](tree_perf::Analysis) and the phases of its device work.

mod iteration_work;
mod phase_analysis;
mod phase_summary;
mod step_summary;
mod within_phase;

use sheets::Sheet;

pub use iteration_work::work_of_iterations;
pub use phase_analysis::{
    PhaseAnalysis, PhaseMethod, PhaseNotice, PhaseOptions, PhaseStatistics, StepStatistics,
};

use crate::step::Phase;

/// The sheets of the phases, in order.
#[must_use]
pub fn phase_sheets<'a>() -> Vec<Sheet<'a, PhaseAnalysis<'a>>> {
    vec![
        phase_summary::sheet(),
        step_summary::sheet(),
        within_phase::ops_summary("ops_summary_prefill", Phase::Prefill),
        within_phase::ops_summary("ops_summary_decode", Phase::Decode),
        within_phase::ops_summary("ops_summary_mixed", Phase::Mixed),
        within_phase::ops_summary("ops_summary_unknown", Phase::Unknown),
        within_phase::kernel_summary("kernel_summary_prefill", Phase::Prefill),
        within_phase::kernel_summary("kernel_summary_decode", Phase::Decode),
        within_phase::kernel_summary("kernel_summary_mixed", Phase::Mixed),
        within_phase::kernel_summary("kernel_summary_unknown", Phase::Unknown),
    ]
}
