//! The sheets of an XLA profile, in order.

use std::borrow::Cow;

use sheets::{Field, Sheet};

use crate::analysis::JaxAnalysis;
use crate::collectives::sheets::profile_collective_sheets;
use crate::details::detail_sheets;
use crate::gpu::gpu_sheets;
use crate::tpu::tpu_sheets;

/// The sheets of an XLA profile, in order: those of GPUs, those of TPUs, and those of what both have.
#[must_use]
pub fn jax_sheets<'a>() -> Vec<Sheet<'a, JaxAnalysis>> {
    let lists = [gpu_sheets(), tpu_sheets(), profile_collective_sheets(), detail_sheets()];
    lists.into_iter().flatten().collect()
}

/// A sheet whose cells may depend on the analysis. Without rows it is left out of the report.
pub(crate) fn sheet<'a, R: 'a>(
    name: impl Into<Cow<'static, str>>,
    description: impl Into<Cow<'static, str>>,
    fields: impl IntoIterator<Item = Field<&'a JaxAnalysis, R>>,
    rows: impl Fn(&'a JaxAnalysis) -> Vec<R> + Send + Sync + 'a,
) -> Sheet<'a, JaxAnalysis> {
    Sheet::with_context(name, description, fields, move |analysis| {
        Some((analysis, rows(analysis))).filter(|(_, rows)| !rows.is_empty())
    })
}

/// A sheet of what ran on GPUs, which is in the report of every profile of a GPU, even without rows.
pub(crate) fn gpu_sheet<'a, R: 'a>(
    name: impl Into<Cow<'static, str>>,
    description: impl Into<Cow<'static, str>>,
    fields: impl IntoIterator<Item = Field<&'a JaxAnalysis, R>>,
    rows: impl Fn(&'a JaxAnalysis) -> Vec<R> + Send + Sync + 'a,
) -> Sheet<'a, JaxAnalysis> {
    Sheet::with_context(name, description, fields, move |analysis: &'a JaxAnalysis| {
        (!analysis.gpus().is_empty()).then(|| (analysis, rows(analysis)))
    })
}
