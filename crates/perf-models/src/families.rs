//! The tables of operators: one module for each kind of work.

use crate::recorded::Read;
use crate::{Activation, Category, Family, OpCall};

pub(crate) mod attention;
pub(crate) mod collective;
pub(crate) mod convolution;
pub(crate) mod cross_entropy;
pub(crate) mod elementwise;
pub(crate) mod gemm;
pub(crate) mod grouped_gemm;
pub(crate) mod hyper_connection;
pub(crate) mod inference_attention;
pub(crate) mod moe;
pub(crate) mod normalization;
pub(crate) mod quantization;
pub(crate) mod reduce;
pub(crate) mod rms_norm;
pub(crate) mod rope;
pub(crate) mod sampling;
pub(crate) mod state_space;
pub(crate) mod traffic;
pub(crate) mod triton;

/// Operators of one category, and of one family if there is a model for them.
pub(crate) struct OpGroup {
    pub(crate) category: Category,
    /// `None` where the category is all that is known: no FLOPs, no bytes.
    pub(crate) family: Option<Family>,
    pub(crate) rows: &'static [Row],
    /// TraceLens has no such rows: reports that must equal its own do not see them.
    pub(crate) is_ours: bool,
}

/// How the model of a call is read out of its recorded arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadModel {
    Call(fn(&OpCall<'_>) -> Read),
    /// A matrix multiplication, and the activation that its operator applies to the result.
    Gemm(gemm::Layout, Option<Activation>),
}

impl ReadModel {
    pub(crate) fn read(self, call: &OpCall<'_>) -> Read {
        match self {
            Self::Call(read) => read(call),
            Self::Gemm(layout, activation) => layout(call)?.recorded(call, activation),
        }
    }
}

/// What is known of an operator by its name, beside what its group has in common.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) read: Option<ReadModel>,
    pub(crate) backward_work: BackwardWork,
    pub(crate) forward_call: Option<&'static str>,
    pub(crate) needs_step: bool,
}

/// Where reports show the backward work of an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackwardWork {
    /// In its forward rows, by the figures that its model gives the backward pass.
    #[default]
    OfForward,
    /// The operator is backward work itself and stands in the tables of backward work by its own figures.
    Itself,
    /// Not in its rows: the backward pass is an operator of its own, which would count twice, or there is none.
    NotCounted,
}

/// An operator with the layout of its arguments.
const fn op(name: &'static str, read: fn(&OpCall<'_>) -> Read) -> Row {
    Row { read: Some(ReadModel::Call(read)), ..named(name) }
}

const fn gemm(name: &'static str, layout: gemm::Layout) -> Row {
    fused_gemm(name, layout, None)
}

/// A matrix multiplication whose operator applies an activation to the result.
const fn fused_gemm(name: &'static str, layout: gemm::Layout, activation: Option<Activation>) -> Row {
    Row { read: Some(ReadModel::Gemm(layout, activation)), ..named(name) }
}

pub(crate) const fn named(name: &'static str) -> Row {
    Row { name, read: None, backward_work: BackwardWork::OfForward, forward_call: None, needs_step: false }
}

impl Row {
    /// The step of the inference engine around a call completes its arguments.
    const fn needs_step(self) -> Self {
        Self { needs_step: true, ..self }
    }

    const fn backward_work(self, backward_work: BackwardWork) -> Self {
        Self { backward_work, ..self }
    }

    /// Calls record no shapes; those of the operator `name` with the same sequence number are theirs.
    const fn shaped_as(self, name: &'static str) -> Self {
        Self { forward_call: Some(name), ..self }
    }
}

impl OpGroup {
    const fn modelled(family: Family, category: Category, rows: &'static [Row]) -> Self {
        Self { category, family: Some(family), rows, is_ours: false }
    }

    const fn category_only(category: Category, rows: &'static [Row]) -> Self {
        Self { category, family: None, rows, is_ours: false }
    }

    /// Modelled here alone.
    const fn ours(family: Family, category: Category, rows: &'static [Row]) -> Self {
        Self { category, family: Some(family), rows, is_ours: true }
    }
}

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
        traffic::softmax::GROUPS,
        traffic::pointwise::GROUPS,
        traffic::loss::GROUPS,
        traffic::lists::GROUPS,
        traffic::index::GROUPS,
        traffic::embedding::GROUPS,
        traffic::pooling::GROUPS,
        traffic::serving::GROUPS,
    ]
    .into_iter()
    .flatten()
}
