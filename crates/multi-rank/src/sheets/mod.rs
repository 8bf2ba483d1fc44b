//! The tables of a job.

mod collectives;
mod job;

use sheets::Sheet;

use crate::analysis::JobAnalysis;

/// The sheets of a job, in their order. Those that say what TraceLens does not are left out where its figures are asked
/// for.
#[must_use]
pub fn job_sheets<'a>() -> Vec<Sheet<'a, JobAnalysis>> {
    let mut all = job::sheets();
    all.extend(collectives::sheets());
    all
}
