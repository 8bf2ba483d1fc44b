//! Cross-entropy loss.

use super::{OpGroup, named, op};
use crate::recorded::{Read, Recorded};
use crate::tensor::{Tensor, count_value, finite};
use crate::{Category, ComputeSpec, Family, Figure, OpCall, Parameter, PerfModel, Value, element_size};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::CrossEntropy,
        Category::CrossEntropyForward,
        &[op("CrossEntropyFunction", read)],
    ),
    OpGroup::category_only(Category::CrossEntropyBackward, &[named("CrossEntropyFunctionBackward")]),
];

/// The loss of logits, fused with the gradient that the backward pass scales.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrossEntropy {
    /// Scores of every class, the last dimension, for each element of a batch, the first.
    pub logits: Tensor,
}

impl CrossEntropy {
    fn batch(&self) -> u64 {
        self.logits.shape.first().copied().unwrap_or(1)
    }

    fn classes(&self) -> u64 {
        self.logits.shape.last().copied().unwrap_or(1)
    }
}

impl PerfModel for CrossEntropy {
    /// Five for each class: maximum, difference, exponential, sum and scaling of the softmax.
    fn flops(&self) -> Figure {
        Ok(5.0 * self.batch() as f64 * self.classes() as f64)
    }

    /// Logits, and for each element of the batch a label of 8 bytes and a loss of 4.
    fn bytes(&self) -> Figure {
        let size = element_size(&self.logits.element_type).unwrap_or(ASSUMED_SIZE);
        finite(self.logits.elements() * size + 12.0 * self.batch() as f64)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.logits.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let shape = self.logits.shape.iter().map(|&dimension| count_value(dimension)).collect();
        vec![
            ("batch", count_value(self.batch())),
            ("vocab_size", count_value(self.classes())),
            ("logits_shape", Value::List(shape)),
        ]
    }

    fn assumption(&self) -> Option<String> {
        assumed_size(&self.logits.element_type)
    }
}

/// Bytes of an element whose type is not recorded: most training is in 16 bits.
pub(super) const ASSUMED_SIZE: f64 = 2.0;

/// The note that an element's size was assumed.
pub(super) fn assumed_size(element_type: &str) -> Option<String> {
    element_size(element_type)
        .err()
        .map(|_| format!("assumed {ASSUMED_SIZE} bytes per element: {element_type:?} has no known size"))
}

fn read(call: &OpCall<'_>) -> Read {
    call.dimension(0, 0)?;
    let element_type = call.type_of(0).unwrap_or("");
    Ok(Recorded::new(CrossEntropy { logits: Tensor::new(call.dimensions(0)?, element_type) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logits_are_moved_once() {
        let cases = [
            (vec![8192, 1, 128_256], "c10::BFloat16", 5_253_365_760.0, 2_101_444_608.0),
            (vec![8192, 1, 128_256], "", 5_253_365_760.0, 2_101_444_608.0),
            (vec![4, 10], "float", 200.0, 208.0),
        ];
        for (shape, element_type, flops, bytes) in cases {
            let model = CrossEntropy { logits: Tensor::new(shape, element_type) };
            assert_eq!((model.flops(), model.bytes()), (Ok(flops), Ok(bytes)), "{model:?}");
            assert_eq!(model.assumption().is_some(), element_type.is_empty());
        }
    }

    #[test]
    fn logits_without_a_batch_are_undefined() {
        for dims in [vec![], vec![Value::tuple([])], vec![Value::tuple([-1, 3])]] {
            let call = OpCall { dims: Some(&dims), ..OpCall::default() };
            assert_eq!(read(&call).unwrap_err().gap, crate::Gap::Arguments, "{dims:?}");
        }
    }
}
