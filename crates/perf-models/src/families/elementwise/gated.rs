//! Activations that are multiplied with a gate.

use super::unary::parameters;
use crate::recorded::{Read, Recorded};
use crate::tensor::{Tensor, finite};
use crate::{Activation, ComputeSpec, Figure, OpCall, Parameter, PerfModel, element_size};

/// An activation of one half of the last dimension, multiplied with the other half.
///
/// ```
/// use perf_models::{Activation, GatedActivation, PerfModel, Tensor};
///
/// let gelu = GatedActivation {
///     output: Tensor::new([4, 256], "c10::BFloat16"),
///     input_type: "c10::BFloat16".into(),
///     input_strides: None,
///     output_strides: None,
///     activation: Activation::Gelu,
/// };
/// assert_eq!(gelu.flops()?, 8.0 * 4.0 * 256.0);
/// assert_eq!(gelu.bytes()?, 2.0 * 3.0 * 4.0 * 256.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GatedActivation {
    /// The result.
    pub output: Tensor,
    /// Element type of the input, which has twice as many elements.
    pub input_type: String,
    /// Strides of the input in elements, for reports.
    pub input_strides: Option<Vec<i64>>,
    /// Strides of the result in elements, for reports.
    pub output_strides: Option<Vec<i64>>,
    /// What is computed.
    pub activation: Activation,
}

impl PerfModel for GatedActivation {
    /// [`Activation::gated_operations`] for each element of the result.
    fn flops(&self) -> Figure {
        finite(self.activation.gated_operations() * self.output.elements())
    }

    /// Both halves read, the result written.
    fn bytes(&self) -> Figure {
        finite(2.0 * self.output.elements() * element_size(&self.input_type)? + self.output.bytes()?)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.input_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        parameters(
            &self.output.shape,
            (&self.input_type, Some(&self.output.element_type)),
            (self.input_strides.as_deref(), self.output_strides.as_deref()),
        )
    }
}

/// `silu_and_mul(out, input)`.
pub(super) fn gated(call: &OpCall<'_>, activation: Activation) -> Read {
    Ok(Recorded::new(GatedActivation {
        output: call.tensor(0)?,
        input_type: call.type_of(1)?.to_owned(),
        input_strides: Some(call.strides_of(1)?),
        output_strides: Some(call.strides_of(0)?),
        activation,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BF16: &str = "c10::BFloat16";

    #[test]
    fn gates_read_twice_what_they_write() {
        let model = |shape: &[u64], activation, input: &str| GatedActivation {
            output: Tensor::new(shape, BF16),
            input_type: input.into(),
            input_strides: None,
            output_strides: None,
            activation,
        };
        for (shape, activation, input, expected) in [
            ([4, 9, 256].as_slice(), Activation::Silu, "float", (46_080.0, 92_160.0)),
            (&[4, 256], Activation::Gelu, BF16, (8192.0, 6144.0)),
            (&[4, 256], Activation::GeluTanh, BF16, (10_240.0, 6144.0)),
        ] {
            let model = model(shape, activation, input);
            assert_eq!((model.flops().unwrap(), model.bytes().unwrap()), expected, "{activation:?}");
        }
    }
}
