//! One module per sheet of a GPU profile, and the list of the sheets of all profiles.

mod call_groups;
mod categorized_mean;
mod columns;
mod gemms;
mod kernel_launchers;
mod kernel_rows;
mod kernel_summaries;
pub(super) mod op_sheets;
mod op_sheets_reference;
mod operator_columns;
mod ops_all;
mod ops_summary;
mod rooflines;
mod steps;
mod timeline;

pub(super) use ops_summary::stem;

use std::sync::LazyLock;

use polars::prelude::{DataFrame, PolarsResult};

use super::analysis::JaxAnalysis;
use super::tpu::tpu_sheets;
use super::{collectives, details};
use tree_perf::Sheet;

/// The sheets of an XLA profile, in order: those of GPUs, those of TPUs, and those of what both have.
pub fn jax_sheets() -> &'static [&'static Sheet<JaxAnalysis>] {
    static OWN: [&Sheet<JaxAnalysis>; 28] = [
        &timeline::PER_GPU,
        &timeline::AVERAGES,
        &timeline::AVERAGES_WITH_OVERLAP,
        &ops_summary::BY_CATEGORY,
        &ops_summary::BY_NAME,
        &ops_all::SHEET,
        &steps::SUMMARY,
        &steps::SHEET,
        &rooflines::ROOFS,
        &rooflines::POINTS,
        &op_sheets::GEMM,
        &op_sheets::ATTENTION_BACKWARD,
        &op_sheets::ATTENTION_FORWARD,
        &op_sheets::ATTENTION_V3,
        &op_sheets::CONVOLUTION,
        &op_sheets::TRANSFORMER_ENGINE,
        &op_sheets::COMMUNICATION,
        &op_sheets::REST,
        &kernel_launchers::SHEET,
        &kernel_summaries::BY_NAME,
        &kernel_summaries::BY_CATEGORY,
        &kernel_summaries::BY_ARGUMENTS,
        &kernel_launchers::XLA,
        &kernel_summaries::XLA,
        &categorized_mean::CATEGORIES,
        &categorized_mean::XLA,
        &gemms::SHEET,
        &gemms::DETAILS,
    ];
    static ALL: LazyLock<Vec<&'static Sheet<JaxAnalysis>>> = LazyLock::new(|| {
        let of_tpus = tpu_sheets().iter().copied();
        OWN.into_iter().chain(of_tpus).chain(&collectives::OF_PROFILE).chain(details::SHEETS).collect()
    });
    &ALL
}

/// A table of what ran on GPUs; `None` when nothing did.
fn of_gpus(
    analysis: &JaxAnalysis,
    table: impl FnOnce(&JaxAnalysis) -> PolarsResult<Option<DataFrame>>,
) -> PolarsResult<Option<DataFrame>> {
    if analysis.gpus().is_empty() { Ok(None) } else { table(analysis) }
}
