//! What the tables of operators are made of.

use super::gemm::call::Layout;
use crate::recorded::Read;
use crate::{Category, Family, OpCall};

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
    /// A matrix multiplication.
    Gemm(Layout),
}

impl ReadModel {
    pub(crate) fn read(self, call: &OpCall<'_>) -> Read {
        match self {
            Self::Call(read) => read(call),
            Self::Gemm(layout) => layout(call)?.recorded(call),
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
    Forward,
    /// The operator is backward work itself and stands in the tables of backward work by its own figures.
    Itself,
    /// Nowhere: there is no backward pass, or it is a separate operator, and counting it here would count it twice.
    NotCounted,
}

/// An operator with the layout of its arguments.
pub(super) const fn op(name: &'static str, read: fn(&OpCall<'_>) -> Read) -> Row {
    Row { read: Some(ReadModel::Call(read)), ..named(name) }
}

pub(super) const fn gemm(name: &'static str, layout: Layout) -> Row {
    Row { read: Some(ReadModel::Gemm(layout)), ..named(name) }
}

pub(crate) const fn named(name: &'static str) -> Row {
    Row { name, read: None, backward_work: BackwardWork::Forward, forward_call: None, needs_step: false }
}

impl Row {
    /// The step of the inference engine around a call completes its arguments.
    pub(super) const fn needs_step(self) -> Self {
        Self { needs_step: true, ..self }
    }

    pub(super) const fn backward_work(self, backward_work: BackwardWork) -> Self {
        Self { backward_work, ..self }
    }

    /// Calls record no shapes; those of the operator `name` with the same sequence number are theirs.
    pub(super) const fn shaped_as(self, name: &'static str) -> Self {
        Self { forward_call: Some(name), ..self }
    }
}

impl OpGroup {
    pub(super) const fn modelled(family: Family, category: Category, rows: &'static [Row]) -> Self {
        Self { category, family: Some(family), rows, is_ours: false }
    }

    pub(super) const fn category_only(category: Category, rows: &'static [Row]) -> Self {
        Self { category, family: None, rows, is_ours: false }
    }

    /// Modelled here alone.
    pub(super) const fn ours(family: Family, category: Category, rows: &'static [Row]) -> Self {
        Self { category, family: Some(family), rows, is_ours: true }
    }
}
