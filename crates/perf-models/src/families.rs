//! The tables of operator names: one module for each kind of work.

use crate::{Category, Family, OpCall, PerfModel, Undefined};

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
pub(crate) mod triton;

/// Operators of one category, and of one family if there is a model for them.
pub(crate) struct OpGroup {
    pub(crate) category: Category,
    /// `None` where the category is all that is known: no FLOPs, no bytes.
    pub(crate) family: Option<Family>,
    pub(crate) ops: Ops,
}

/// Reads the model of a call out of its recorded arguments.
pub(crate) type ReadModel = fn(&OpCall<'_>) -> Result<Box<dyn PerfModel>, Undefined>;

/// Operators of a group.
pub(crate) enum Ops {
    /// With the argument layout of each.
    Modelled(&'static [(&'static str, ReadModel)]),
    /// By name only.
    Named(&'static [&'static str]),
}

impl OpGroup {
    const fn modelled(family: Family, category: Category, ops: &'static [(&'static str, ReadModel)]) -> Self {
        Self { category, family: Some(family), ops: Ops::Modelled(ops) }
    }

    const fn category_only(category: Category, names: &'static [&'static str]) -> Self {
        Self { category, family: None, ops: Ops::Named(names) }
    }

    /// The operators, each with how its model is read.
    pub(crate) fn ops(&self) -> impl Iterator<Item = (&'static str, Option<ReadModel>)> + use<> {
        let (modelled, named): (&'static [(&'static str, ReadModel)], &'static [&'static str]) =
            match self.ops {
                Ops::Modelled(ops) => (ops, &[]),
                Ops::Named(names) => (&[], names),
            };
        let modelled = modelled.iter().map(|&(name, read)| (name, Some(read)));
        modelled.chain(named.iter().map(|&name| (name, None)))
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
