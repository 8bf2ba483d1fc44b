//! What an instruction costs.

use perf_models::{ComputeSpec, Figure, Parameter, PerfModel, Undefined};

use crate::HloKind;

/// What an instruction costs: the operations that it takes and the bytes that it moves at least.
///
/// Work of matrix units and of the ordinary arithmetic units is kept apart, because a fused kernel does both
/// at the same time: [`flops`](Self::flops) is what [`spec`](Self::spec) is the peak of, the matrix
/// multiplications and convolutions where there are any, and the arithmetic on floating-point elements where
/// there are none. So a fusion costs what the matrix multiplication in it costs. Operations on integers are
/// counted in matrix multiplications only.
#[derive(Clone, Debug, PartialEq)]
pub struct HloCost {
    /// The kind of work.
    pub kind: HloKind,
    /// Operations against the peak of `spec`, or why there is no figure.
    pub flops: Figure,
    /// Operations of the ordinary arithmetic units; `flops` has them only where there are no others.
    pub vector_flops: f64,
    /// Bytes read and written, or why there is no figure.
    pub bytes: Figure,
    /// The peak that `flops` are held against.
    pub spec: Option<ComputeSpec>,
    /// Dimensions and settings, by the names that reports use.
    pub parameters: Vec<Parameter>,
    /// What was taken for granted.
    pub assumption: Option<String>,
}

impl HloCost {
    pub(crate) fn undefined(kind: HloKind, reason: Undefined) -> Self {
        Self {
            kind,
            flops: Err(reason.clone()),
            vector_flops: 0.0,
            bytes: Err(reason),
            spec: None,
            parameters: Vec::new(),
            assumption: None,
        }
    }
}

impl PerfModel for HloCost {
    fn flops(&self) -> Figure {
        self.flops.clone()
    }

    fn bytes(&self) -> Figure {
        self.bytes.clone()
    }

    fn backward_flops(&self) -> Figure {
        Err(Undefined::no_formula("the backward pass has its own instructions"))
    }

    fn backward_bytes(&self) -> Figure {
        Err(Undefined::no_formula("the backward pass has its own instructions"))
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.spec
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone()
    }

    fn assumption(&self) -> Option<String> {
        self.assumption.clone()
    }
}
