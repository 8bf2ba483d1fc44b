//! How the sheets of this crate are made.

use std::borrow::Cow;

use sheets::{Cell, Field, Sheet};

use crate::analysis::JaxAnalysis;
use crate::tpu::TpuAnalysis;

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

/// A sheet of rows that are made from the sums of a TPU profile.
pub(crate) fn tpu_sheet<'a, R: 'a>(
    name: &'static str,
    description: &'static str,
    fields: impl IntoIterator<Item = Field<(), R>>,
    rows: impl Fn(&'a TpuAnalysis) -> Vec<R> + Send + Sync + 'a,
) -> Sheet<'a, JaxAnalysis> {
    Sheet::new(name, description, fields, move |analysis: &'a JaxAnalysis| {
        analysis.tpu().map_or_else(Vec::new, &rows)
    })
}

/// A text, missing where it is empty.
pub(crate) fn unless_empty(text: &str) -> Cell<'_> {
    Some(text).filter(|text| !text.is_empty()).into()
}
