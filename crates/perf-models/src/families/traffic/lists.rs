//! Operators on lists of tensors: concatenation, `_foreach_…`, fused optimizers. Their shapes are recorded, their
//! element types are not.

use super::element_type::assumed_list_element_type;
use super::{OpCall, OpGroup, Read, Tensor, TensorTraffic, movement, noted, op, tensor};
use crate::recorded::Assumptions;
use crate::tensor::elements;
use crate::{Category, Family, Undefined, Value};

/// Rows of `_foreach_` operators that make new lists, and of those that change the first.
macro_rules! foreach {
    ($operations:literal; $($name:literal)+) => {
        &[$(
            op(concat!("aten::_foreach_", $name), |call| foreach(call, $operations)),
            op(concat!("aten::_foreach_", $name, "_"), |call| foreach(call, $operations)),
        )+]
    };
}

const fn list_group(rows: &'static [super::Row]) -> OpGroup {
    OpGroup::ours(Family::TensorTraffic, Category::MultiTensorApply, rows)
}

pub(in crate::families) const GROUPS: &[OpGroup] = &[
    OpGroup::ours(
        Family::TensorTraffic,
        Category::CopyFill,
        &[
            op("aten::cat", concatenation),
            op("aten::_cat", concatenation),
            op("aten::stack", concatenation),
            op("aten::hstack", concatenation),
            op("aten::vstack", concatenation),
        ],
    ),
    list_group(
        foreach!(1.0; "add" "sub" "mul" "div" "clamp_max" "clamp_min" "maximum" "minimum" "pow" "abs" "ceil" "exp"
        "floor" "log" "neg" "reciprocal" "round" "rsqrt" "sigmoid" "sign" "sqrt" "tanh" "trunc"),
    ),
    list_group(foreach!(3.0; "addcmul" "addcdiv" "lerp")),
    list_group(&[
        op("aten::_foreach_copy_", copies),
        op("aten::_foreach_zero_", zeros),
        op("aten::_foreach_norm", norms),
        op("aten::_amp_foreach_non_finite_check_and_unscale_", |call| foreach(call, 1.0)),
        op("aten::_fused_adam_", |call| optimizer(call, &ADAM)),
        op("aten::_fused_adamw_", |call| optimizer(call, &ADAM)),
        op("aten::_fused_sgd_", |call| optimizer(call, &SGD)),
        op("aten::_fused_adagrad_", |call| optimizer(call, &ADAGRAD)),
    ]),
];

/// The elements of the list of tensors at input `index`; `None` where there is none or it is empty.
fn list(call: &OpCall<'_>, index: usize) -> Option<f64> {
    if !matches!(call.type_of(index), Ok("TensorList" | "GenericList[]" | "OptionalTensorList")) {
        return None;
    }
    let shapes = call.dims_entry(index).ok()?.items()?;
    let shape = |value: &Value| -> Option<Vec<u64>> {
        value.items()?.iter().map(|extent| u64::try_from(extent.as_int()?).ok()).collect()
    };
    let shapes: Vec<Vec<u64>> = shapes.iter().map(shape).collect::<Option<_>>()?;
    (!shapes.is_empty()).then(|| shapes.iter().map(|shape| elements(shape)).sum())
}

/// The same, with the reason where there is none.
fn recorded_list(call: &OpCall<'_>, index: usize) -> Result<f64, Undefined> {
    let missing = || Undefined::arguments(format!("Input Dims[{index}] is not a list of shapes"));
    list(call, index).ok_or_else(missing)
}

/// All elements of a list as one tensor. Conversion saturates.
fn together(elements: f64, element_type: &str) -> Tensor {
    Tensor::new([elements as u64], element_type)
}

/// `cat(tensors, dim)`: each element read and written. A result that the caller gave has the type.
fn concatenation(call: &OpCall<'_>) -> Read {
    let mut assumptions = Assumptions::default();
    let elements = recorded_list(call, 0)?;
    let given = (1..call.input_count()).find_map(|index| tensor(call, index));
    let element_type = match given {
        Some(given) => given.element_type,
        None => assumed_list_element_type(call, &mut assumptions),
    };
    let all = together(elements, &element_type);
    noted(Ok(movement([all.clone()], [all])), assumptions)
}

/// The lists among the operands read, one written: the first, or a new one as long.
fn foreach(call: &OpCall<'_>, operations: f64) -> Read {
    let mut assumptions = Assumptions::default();
    let first = recorded_list(call, 0)?;
    let element_type = assumed_list_element_type(call, &mut assumptions);
    // Lists of the same length; shorter ones are of numbers, or flags of the whole list.
    let others = (1..call.input_count()).filter_map(|index| list(call, index));
    let read =
        std::iter::once(first).chain(others).map(|elements| together(elements, &element_type)).collect();
    let written = vec![together(first, &element_type)];
    noted(Ok(TensorTraffic { read, written, flops: operations * first }), assumptions)
}

/// `_foreach_copy_(self, src)`: the source read, the first list written.
fn copies(call: &OpCall<'_>) -> Read {
    let mut assumptions = Assumptions::default();
    let [written, read] = [recorded_list(call, 0)?, recorded_list(call, 1)?];
    let element_type = assumed_list_element_type(call, &mut assumptions);
    noted(Ok(movement([together(read, &element_type)], [together(written, &element_type)])), assumptions)
}

/// `_foreach_zero_(self)`.
fn zeros(call: &OpCall<'_>) -> Read {
    let mut assumptions = Assumptions::default();
    let written = recorded_list(call, 0)?;
    let element_type = assumed_list_element_type(call, &mut assumptions);
    noted(Ok(movement([], [together(written, &element_type)])), assumptions)
}

/// `_foreach_norm(self, ord)`: a square and a sum for each element, a number for each tensor.
fn norms(call: &OpCall<'_>) -> Read {
    let mut assumptions = Assumptions::default();
    let read = recorded_list(call, 0)?;
    let element_type = assumed_list_element_type(call, &mut assumptions);
    let tensors = call.dims_entry(0)?.items().map_or(0, <[Value]>::len) as f64;
    let (read, written) = (together(read, &element_type), together(tensors, &element_type));
    noted(Ok(TensorTraffic { flops: 2.0 * read.elements(), ..movement([read], [written]) }), assumptions)
}

/// The lists of a fused optimizer, which reads all and writes all but the gradients.
struct Optimizer {
    /// Places of the parameters and of what is kept of each.
    state: &'static [usize],
    gradients: usize,
    /// Operations for each parameter.
    operations: f64,
}

/// `(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, …)`. Both averages take three operations each
/// and the square one, root, quotient and sum of the denominator three, the step three, the decay of weights two
/// ([Adam](https://arxiv.org/abs/1412.6980), algorithm 1; [AdamW](https://arxiv.org/abs/1711.05101), algorithm 2).
const ADAM: Optimizer = Optimizer { state: &[0, 2, 3, 4], gradients: 1, operations: 15.0 };
/// `(self, grads, momentum_buffer_list, …)`: decay of weights, momentum and step, two each.
const SGD: Optimizer = Optimizer { state: &[0, 2], gradients: 1, operations: 6.0 };
/// `(self, grads, state_sums, state_steps, …)`: decay of weights and sum of squares two each, root, sum and the step
/// three.
const ADAGRAD: Optimizer = Optimizer { state: &[0, 2], gradients: 1, operations: 9.0 };

fn optimizer(call: &OpCall<'_>, lists: &Optimizer) -> Read {
    let mut assumptions = Assumptions::default();
    let parameters = recorded_list(call, 0)?;
    let gradients = recorded_list(call, lists.gradients)?;
    let element_type = assumed_list_element_type(call, &mut assumptions);
    let state: Vec<Tensor> =
        lists.state.iter().filter_map(|&index| Some(together(list(call, index)?, &element_type))).collect();
    let read = state.iter().cloned().chain([together(gradients, &element_type)]).collect();
    noted(Ok(TensorTraffic { read, written: state, flops: lists.operations * parameters }), assumptions)
}
