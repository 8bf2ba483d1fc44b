//! What a performance model answers.

use std::fmt;

use crate::tensor::finite;
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
        Err(Undefined::no_formula("there is no formula for the backward pass"))
    }

    /// Bytes of the backward pass.
    ///
    /// # Errors
    ///
    /// When there is no formula.
    fn backward_bytes(&self) -> Figure {
        Err(Undefined::no_formula("there is no formula for the backward pass"))
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

/// A model whose figures are numbers, whatever extents a call records: the product of enough of them leaves
/// the range of numbers.
pub(crate) struct Finite(pub(crate) Box<dyn PerfModel>);

impl fmt::Debug for Finite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PerfModel for Finite {
    fn flops(&self) -> Figure {
        finite(self.0.flops()?)
    }

    fn bytes(&self) -> Figure {
        finite(self.0.bytes()?)
    }

    fn backward_flops(&self) -> Figure {
        finite(self.0.backward_flops()?)
    }

    fn backward_bytes(&self) -> Figure {
        finite(self.0.backward_bytes()?)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.0.compute_spec()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.0.parameters()
    }

    fn assumption(&self) -> Option<String> {
        self.0.assumption()
    }
}
