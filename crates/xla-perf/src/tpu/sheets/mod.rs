//! The tables of a TPU profile as sheets, named as in the XLA profiler where it has them.

mod async_copies;
mod collectives;
mod field;
mod framework_op_stats;
mod hlo_stats;
mod host_offload;
mod module_runs;
mod op_profile;
mod overview;
mod roofline_model;

use polars::prelude::{DataFrame, PolarsResult};

use super::analysis::TpuAnalysis;
use crate::analysis::JaxAnalysis;
use tree_perf::Sheet;

/// The sheets of a TPU profile, in order. A profile without tensor cores has none of them.
pub fn tpu_sheets() -> &'static [&'static Sheet<JaxAnalysis>] {
    static ALL: [&Sheet<JaxAnalysis>; 9] = [
        &overview::SHEET,
        &hlo_stats::SHEET,
        &roofline_model::SHEET,
        &op_profile::SHEET,
        &framework_op_stats::SHEET,
        &module_runs::SHEET,
        &collectives::SHEET,
        &async_copies::SHEET,
        &host_offload::SHEET,
    ];
    &ALL
}

/// A table of the sums of a TPU profile; `None` when there is no tensor core.
fn summed(
    analysis: &JaxAnalysis,
    table: impl FnOnce(&TpuAnalysis) -> PolarsResult<Option<DataFrame>>,
) -> PolarsResult<Option<DataFrame>> {
    analysis.tpu().map_or(Ok(None), table)
}
