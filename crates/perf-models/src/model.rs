//! What a performance model answers.

use std::fmt;

use crate::{ComputeSpec, Undefined, Value};

/// A figure of a model, or why there is none. Never negative, never NaN.
pub type Figure = Result<f64, Undefined>;

/// A named dimension or property of a call, under the name that reports use.
pub type Parameter = (&'static str, Value);

/// The work of one operator call, derived from its shapes and types: how many floating-point
/// operations it takes and how many bytes it has to move at least.
///
/// Every family has a struct with named dimensions that can be made by hand; reading one out of recorded
/// arguments is a separate function per argument layout.
pub trait PerfModel: fmt::Debug + Send + Sync {
    /// Floating-point operations; a multiply-add counts as two.
    ///
    /// # Errors
    ///
    /// When there is no formula or an argument is missing.
    fn flops(&self) -> Figure;

    /// Bytes read and written at least: every input once, every output once.
    ///
    /// # Errors
    ///
    /// When there is no formula or an element type has no known size.
    fn bytes(&self) -> Figure;

    /// Floating-point operations of the backward pass.
    ///
    /// # Errors
    ///
    /// When there is no formula.
    fn backward_flops(&self) -> Figure {
        Err(Undefined::no_formula("no formula for the backward pass"))
    }

    /// Bytes of the backward pass.
    ///
    /// # Errors
    ///
    /// When there is no formula.
    fn backward_bytes(&self) -> Figure {
        Err(Undefined::no_formula("no formula for the backward pass"))
    }

    /// Which peak the work is held against; `None` where no peak is stated for the types.
    fn compute_spec(&self) -> Option<ComputeSpec>;

    /// Parameters in the order in which reports show them.
    fn parameters(&self) -> Vec<Parameter>;

    /// What was assumed because the call does not record it, for a note beside the figures.
    fn assumption(&self) -> Option<String> {
        None
    }
}
