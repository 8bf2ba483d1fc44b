//! Loss functions. Their last step, the mean or sum over all elements, reads nothing again.

use super::{OpCall, OpGroup, Read, Tensor, TensorTraffic, count, like, op, plain, tensor};
use crate::tensor::elements;
use crate::{Category, Family, Undefined};

pub(in crate::families) const GROUPS: &[OpGroup] = &[
    OpGroup::ours(
        Family::TensorTraffic,
        Category::Elementwise,
        &[
            // Difference, square and sum.
            op("aten::mse_loss", |call| forward(call, 2, 3.0)),
            op("aten::l1_loss", |call| forward(call, 2, 3.0)),
            // Comparison, square or absolute value, product, difference and sum.
            op("aten::smooth_l1_loss", |call| forward(call, 2, 6.0)),
            op("aten::huber_loss", |call| forward(call, 2, 6.0)),
            // Two logarithms, two products, difference and sum.
            op("aten::binary_cross_entropy", |call| forward(call, 3, 6.0)),
            // Difference and product with the gradient and the number of elements.
            op("aten::mse_loss_backward", |call| backward(call, 3, 3.0)),
            op("aten::smooth_l1_loss_backward", |call| backward(call, 3, 5.0)),
            op("aten::huber_loss_backward", |call| backward(call, 3, 5.0)),
            op("aten::binary_cross_entropy_backward", |call| backward(call, 4, 5.0)),
        ],
    ),
    OpGroup::ours(
        Family::TensorTraffic,
        Category::CrossEntropyForward,
        &[op("aten::nll_loss_forward", likelihood), op("aten::nll_loss2d_forward", likelihood)],
    ),
    OpGroup::ours(
        Family::TensorTraffic,
        Category::CrossEntropyBackward,
        &[
            op("aten::nll_loss_backward", likelihood_backward),
            op("aten::nll_loss2d_backward", likelihood_backward),
        ],
    ),
];

/// `mse_loss(self, target, reduction)`: the numbers of the enumeration `at::Reduction`.
const NO_REDUCTION: u64 = 0;

fn operands(call: &OpCall<'_>, count: usize) -> Vec<Tensor> {
    (0..count.min(call.input_count())).filter_map(|index| tensor(call, index)).collect()
}

/// `loss(self, target, [weight,] reduction)`.
fn forward(call: &OpCall<'_>, tensors: usize, operations: f64) -> Read {
    let input = call.tensor(0)?;
    let each = count(call, tensors)? == NO_REDUCTION;
    let result = if each { input.clone() } else { Tensor::new([], input.element_type.clone()) };
    let read = operands(call, tensors);
    plain(Ok(TensorTraffic { flops: operations * input.elements(), read, written: vec![result] }))
}

/// `loss_backward(grad_output, self, target, [weight,] reduction)`: a gradient for each element of `self`.
fn backward(call: &OpCall<'_>, tensors: usize, operations: f64) -> Read {
    let input = call.tensor(1)?;
    let read = operands(call, tensors);
    plain(Ok(TensorTraffic { flops: operations * input.elements(), read, written: vec![input] }))
}

/// `nll_loss_forward(self, target, weight, reduction, ignore_index)`: of each row the likelihood of the target is
/// read, and summed.
fn likelihood(call: &OpCall<'_>) -> Read {
    let (input, target) = (call.tensor(0)?, call.tensor(1)?);
    let chosen = like(&target, &input.element_type);
    let each = count(call, 3)? == NO_REDUCTION;
    let result = if each { chosen.clone() } else { Tensor::new([], input.element_type.clone()) };
    let weight = Tensor::new([], input.element_type);
    let flops = target.elements();
    plain(Ok(TensorTraffic { flops, read: vec![target, chosen], written: vec![result, weight] }))
}

/// `nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight)`: the gradient of all
/// likelihoods is written, all but one of a row as zeros.
fn likelihood_backward(call: &OpCall<'_>) -> Read {
    let (gradient, input, target) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    if elements(&target.shape) > input.elements() {
        return Err(Undefined::arguments("more targets than likelihoods"));
    }
    let flops = target.elements();
    plain(Ok(TensorTraffic { flops, read: vec![gradient, target], written: vec![input] }))
}
