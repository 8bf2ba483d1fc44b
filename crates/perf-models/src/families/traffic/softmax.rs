//! Softmax and its logarithm along one dimension, which PyTorch calls by itself.

use super::{OpCall, OpGroup, Read, like, op, per_result, plain};
use crate::data_type::type_of_scalar_number;
use crate::{Category, Family, Softmax};

/// The logarithm subtracts where softmax divides: both count alike.
pub(in crate::families) const GROUPS: &[OpGroup] = &[OpGroup::ours(
    Family::TensorTraffic,
    Category::Softmax,
    &[
        op("aten::_softmax", |call| forward(call, true)),
        op("aten::_log_softmax", |call| forward(call, true)),
        op("aten::_safe_softmax", |call| forward(call, false)),
        op("aten::_softmax_backward_data", backward),
        op("aten::_log_softmax_backward_data", backward),
    ],
)];

/// `_softmax(self, dim, half_to_float)`; `_safe_softmax(self, dim, dtype)` has no such flag.
fn forward(call: &OpCall<'_>, has_flag: bool) -> Read {
    let input = call.tensor(0)?;
    let to_float = has_flag && call.concrete_flag(2).unwrap_or(false);
    let output = like(&input, if to_float { "float" } else { &input.element_type });
    plain(Ok(per_result(Softmax::OPERATIONS, [input], [output])))
}

/// `_softmax_backward_data(grad_output, output, dim, input_dtype)`: for each element the product of both, its part of
/// the sum of the row, the difference, and the product with the result: four operations.
fn backward(call: &OpCall<'_>) -> Read {
    let (gradient, output) = (call.tensor(0)?, call.tensor(1)?);
    let input_type = type_of_scalar_number(&call.written_value(3));
    let result = like(&output, input_type.unwrap_or(&output.element_type));
    plain(Ok(per_result(4.0, [gradient, output], [result])))
}
