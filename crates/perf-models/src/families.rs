//! The tables of operator names: one module for each kind of work.

use crate::{Category, Family};

mod attention;
mod collective;
mod convolution;
mod cross_entropy;
mod elementwise;
mod gemm;
mod grouped_gemm;
mod hyper_connection;
mod inference_attention;
mod moe;
mod normalization;
mod quantization;
mod reduce;
mod rms_norm;
mod rope;
mod sampling;
mod state_space;

/// Operators of one category, and of one family if there is a model for them.
pub(crate) struct OpGroup {
    pub(crate) category: Category,
    /// `None` where the category is all that is known: no FLOPs, no bytes.
    pub(crate) family: Option<Family>,
    pub(crate) names: &'static [&'static str],
}

impl OpGroup {
    const fn modelled(family: Family, category: Category, names: &'static [&'static str]) -> Self {
        Self { category, family: Some(family), names }
    }

    const fn category_only(category: Category, names: &'static [&'static str]) -> Self {
        Self { category, family: None, names }
    }
}

/// Every group of operators.
pub(crate) fn groups() -> impl Iterator<Item = &'static OpGroup> {
    [
        gemm::GROUPS,
        attention::GROUPS,
        convolution::GROUPS,
        inference_attention::GROUPS,
        elementwise::GROUPS,
        grouped_gemm::GROUPS,
        moe::GROUPS,
        state_space::GROUPS,
        rope::GROUPS,
        cross_entropy::GROUPS,
        rms_norm::GROUPS,
        sampling::GROUPS,
        quantization::GROUPS,
        collective::GROUPS,
        hyper_connection::GROUPS,
        normalization::GROUPS,
        reduce::GROUPS,
    ]
    .into_iter()
    .flatten()
}
