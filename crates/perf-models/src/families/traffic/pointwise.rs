//! Operators that make each element of their result of the elements at the same place of their operands.
//!
//! One rule reads them all out of the recorded arguments: every tensor among the operands is read once, the result
//! has the shape that they broadcast to and the type that they promote to. The tables say beside the name how many
//! operands an operator has, what comes of their types, and what it costs for each element. Operators that are in no
//! table are read by the same rule where the kernel that they launched says that they are of this kind.

use super::{
    OpCall, OpGroup, Read, Row, TensorTraffic, is_in_place, like, movement, noted, op, per_result, plain,
    tensor,
};
use crate::families::elementwise::binary;
use crate::families::elementwise::unary::{self, UnaryElementwise};
use crate::kernel_names::pytorch_kernel;
use crate::promotion::{Kind, broadcast, promoted};
use crate::recorded::{Assumptions, Recorded};
use crate::tensor::{Tensor, elements};
use crate::{Activation, Category, Family, Gap, PerfModel, Undefined};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResultType {
    /// That which the operands promote to.
    Promoted,
    /// The same, but no whole numbers: `float` where the operands are.
    Fraction,
    /// `bool`.
    Flag,
    /// That of the first operand.
    First,
    /// That which the operands behind the first promote to: the first chooses between them.
    Chosen,
}

use ResultType::{Chosen, First, Flag, Fraction, Promoted};

/// Rows for operators with the same schema.
macro_rules! rows {
    ($read:expr; $($name:literal)+) => { &[$(op(concat!("aten::", $name), $read)),+] };
}

/// The same, and for those that change their first operand.
macro_rules! both_ways {
    ($read:expr; $($name:literal)+) => {
        &[$(op(concat!("aten::", $name), $read), op(concat!("aten::", $name, "_"), $read)),+]
    };
}

const BINARY: &[Row] = both_ways!(|call| pointwise(call, 2, Promoted, 1.0);
    "sub" "subtract" "multiply" "remainder" "fmod" "floor_divide" "bitwise_and" "bitwise_or" "bitwise_xor"
    "bitwise_left_shift" "bitwise_right_shift" "hypot" "gcd" "lcm" "heaviside" "nextafter");
const BINARY_RESULT: &[Row] = rows!(|call| pointwise(call, 2, Promoted, 1.0);
    "rsub" "maximum" "minimum" "fmax" "fmin" "logaddexp" "logaddexp2" "__and__" "__or__" "__xor__" "__lshift__"
    "__rshift__" "_prelu_kernel" "pow_");
const BINARY_FRACTION: &[Row] = both_ways!(|call| pointwise(call, 2, Fraction, 1.0);
    "atan2" "xlogy" "true_divide" "copysign");
const COMPARISON: &[Row] = both_ways!(|call| pointwise(call, 2, Flag, 1.0);
    "eq" "ne" "lt" "le" "gt" "ge" "logical_and" "logical_or" "logical_xor");
const TERNARY: &[Row] = both_ways!(|call| pointwise(call, 3, Promoted, 3.0); "addcmul" "addcdiv" "lerp");
const CLAMP: &[Row] = both_ways!(|call| pointwise(call, 3, Promoted, 1.0); "clamp" "clip");
const MASK: &[Row] = both_ways!(|call| pointwise(call, 3, First, 0.0); "masked_fill");
const CHOICE: &[Row] = rows!(|call| pointwise(call, 3, Chosen, 0.0); "where" "_s_where");
const UNARY: &[Row] = both_ways!(|call| pointwise(call, 1, First, 1.0);
    "abs" "ceil" "floor" "round" "trunc" "frac" "sgn" "sign" "bitwise_not" "conj_physical" "nan_to_num" "relu" "hardtanh"
    "leaky_relu" "hardsigmoid" "hardswish" "threshold" "elu" "mish");
const UNARY_RESULT: &[Row] = rows!(|call| pointwise(call, 1, First, 1.0);
    "neg_" "softplus" "softshrink" "hardshrink");
const UNARY_FRACTION: &[Row] = both_ways!(|call| pointwise(call, 1, Fraction, 1.0);
    "exp" "exp2" "expm1" "log" "log2" "log10" "log1p" "sqrt" "sin" "cos" "tan" "sinh" "cosh" "asin" "acos" "atan" "asinh"
    "acosh" "atanh" "erf" "erfc" "erfinv" "reciprocal" "lgamma" "digamma" "logit" "i0" "sinc");
const UNARY_FRACTION_RESULT: &[Row] = rows!(|call| pointwise(call, 1, Fraction, 1.0); "rsqrt_");
const UNARY_FLAG: &[Row] =
    rows!(|call| pointwise(call, 1, Flag, 1.0); "logical_not" "isnan" "isposinf" "isneginf" "signbit");

const ACTIVATIONS: &[Row] = &[
    op("aten::gelu", |call| activation(call, gelu(call, 1))),
    op("aten::gelu_", |call| activation(call, gelu(call, 1))),
    op("aten::silu_", |call| activation(call, Activation::Silu)),
    op("aten::sigmoid_", |call| activation(call, Activation::Sigmoid)),
    op("aten::tanh", |call| pointwise(call, 1, Fraction, Activation::Tanh.operations())),
    op("aten::tanh_", |call| activation(call, Activation::Tanh)),
    op("aten::gelu_backward", |call| activation_backward(call, gelu(call, 2))),
    op("aten::silu_backward", |call| activation_backward(call, Activation::Silu)),
    // 1 − y² of the result y, times the gradient.
    op("aten::tanh_backward", |call| pointwise(call, 2, Promoted, 3.0)),
    op("aten::glu", glu),
    op("aten::native_dropout", dropout),
    op("aten::_fused_dropout", dropout),
];

/// The gradient and what the forward pass has kept; inputs between them are numbers.
const BACKWARD: &[Row] = rows!(|call| pointwise(call, 6, First, 1.0);
    "leaky_relu_backward" "hardtanh_backward" "hardswish_backward" "hardsigmoid_backward" "elu_backward"
    "softplus_backward" "softshrink_backward" "hardshrink_backward" "mish_backward" "native_dropout_backward"
    "logit_backward");

const RANDOM: &[Row] = rows!(written_alone;
    "normal_" "uniform_" "bernoulli_" "random_" "exponential_" "log_normal_" "cauchy_" "geometric_");
const FILLS: &[Row] = rows!(written_alone; "fill_" "zero_");
const MOVES: &[Row] = rows!(|call| pointwise(call, 1, First, 0.0);
    "flip" "roll" "tril" "tril_" "triu" "triu_");

const fn elementwise(rows: &'static [Row]) -> OpGroup {
    OpGroup::ours(Family::TensorTraffic, Category::Elementwise, rows)
}

pub(in crate::families) const GROUPS: &[OpGroup] = &[
    elementwise(BINARY),
    elementwise(BINARY_RESULT),
    elementwise(BINARY_FRACTION),
    elementwise(COMPARISON),
    elementwise(TERNARY),
    elementwise(CLAMP),
    elementwise(MASK),
    elementwise(CHOICE),
    elementwise(UNARY),
    elementwise(UNARY_RESULT),
    elementwise(UNARY_FRACTION),
    elementwise(UNARY_FRACTION_RESULT),
    elementwise(UNARY_FLAG),
    elementwise(ACTIVATIONS),
    elementwise(BACKWARD),
    OpGroup::ours(Family::TensorTraffic, Category::Rng, RANDOM),
    OpGroup::ours(Family::TensorTraffic, Category::CopyFill, FILLS),
    OpGroup::ours(Family::TensorTraffic, Category::CopyFill, MOVES),
];

/// Whether calls of this name may be read by their kernels: operators of PyTorch that no table knows.
pub(crate) fn is_open(name: &str) -> bool {
    name.starts_with("aten::")
}

/// An operator that no table knows, if it launched one kernel alone and PyTorch makes such for operations on each
/// element.
pub(crate) fn by_kernel(call: &OpCall<'_>) -> Read {
    match call.kernels {
        [kernel] if pytorch_kernel(kernel) == Some(Category::Elementwise) => {
            let mut assumptions = Assumptions(vec![
                "derived from the operator's only kernel: each tensor is read once; the shape and type of the result follow from the inputs"
                    .into(),
            ]);
            let traffic = traffic(call, call.input_count(), Promoted, 1.0, &mut assumptions);
            noted(traffic, assumptions)
        }
        _ => Err(Undefined { gap: Gap::NoModel, reason: "no performance model for this operator".into() }),
    }
}

fn pointwise(call: &OpCall<'_>, operands: usize, result: ResultType, operations: f64) -> Read {
    let mut assumptions = Assumptions::default();
    let traffic = traffic(call, operands, result, operations, &mut assumptions);
    noted(traffic, assumptions)
}

// Operators that TraceLens models, too: the same rule, under the parameters that their families show.

fn with_family_model(
    call: &OpCall<'_>,
    (operands, result): (usize, ResultType),
    tracelens: impl PerfModel + 'static,
) -> Read {
    let mut assumptions = Assumptions::default();
    let traffic = match traffic(call, operands, result, 1.0, &mut assumptions) {
        // The operations are known without the size of the types.
        Err(undefined) if undefined.gap == Gap::DataType => return Ok(Recorded::new(tracelens)),
        traffic => traffic?,
    };
    Ok(Recorded::new(traffic)
        .with_parameters(tracelens.parameters())
        .with_notes(assumptions.0)
        .with_tracelens(tracelens))
}

fn binary_of_type(call: &OpCall<'_>, result: ResultType) -> Read {
    with_family_model(call, (2, result), binary::binary(call)?.into_tracelens()?)
}

pub(in crate::families) fn binary(call: &OpCall<'_>) -> Read {
    binary_of_type(call, Promoted)
}

/// `div(self, other, rounding_mode)`: a quotient that is rounded is no fraction.
pub(in crate::families) fn quotient(call: &OpCall<'_>) -> Read {
    let is_rounded = matches!(call.written_value(2).as_ref(), "floor" | "trunc");
    binary_of_type(call, if is_rounded { Promoted } else { Fraction })
}

/// `clamp_min(self, min)`, `pow(self, exponent)`: a tensor and a number, or two tensors.
pub(in crate::families) fn with_operand(call: &OpCall<'_>) -> Read {
    with_family_model(call, (2, Promoted), unary::unary(call)?)
}

pub(in crate::families) fn fraction(call: &OpCall<'_>) -> Read {
    with_family_model(call, (1, Fraction), unary::unary(call)?)
}

pub(in crate::families) fn same_type(call: &OpCall<'_>) -> Read {
    with_family_model(call, (1, First), unary::unary(call)?)
}

/// `copy_(self, src)`: the second is read, which may be smaller, and the first is written.
pub(in crate::families) fn copy(call: &OpCall<'_>) -> Read {
    let tracelens: UnaryElementwise = unary::unary(call)?;
    let written = call.tensor(0)?;
    let read = tensor(call, 1).unwrap_or_else(|| written.clone());
    let parameters = tracelens.parameters();
    let traffic = per_result(1.0, [read], [written]);
    Ok(Recorded::new(traffic).with_parameters(parameters).with_tracelens(tracelens))
}

/// The rule: the first inputs are operands; a tensor behind them is there for the result.
fn traffic(
    call: &OpCall<'_>,
    operands: usize,
    result: ResultType,
    operations: f64,
    assumptions: &mut Assumptions,
) -> Result<TensorTraffic, Undefined> {
    let inputs = call.input_count();
    let read: Vec<Tensor> = (0..operands.min(inputs)).filter_map(|index| tensor(call, index)).collect();
    // A tensor whose type has no known size is no absent one.
    for index in 0..operands.min(inputs) {
        if call.dimensions(index).is_ok_and(|shape| !shape.is_empty()) {
            call.tensor(index)?.bytes()?;
        }
    }
    if read.is_empty() {
        // Says what of the first operand is missing.
        let first = call.tensor(0)?;
        first.bytes()?;
        return Err(Undefined::arguments("no operand was recorded as a tensor"));
    }
    let mut shape = Vec::new();
    for tensor in &read {
        shape = broadcast(&shape, &tensor.shape)?;
    }
    // It is recorded before it gets its shape.
    let given = (operands..inputs).rev().find_map(|index| tensor(call, index));
    let given = given.filter(|given| !given.shape.is_empty() || shape.is_empty());
    let written = match given {
        Some(given) => Tensor::new(shape, given.element_type),
        None if is_in_place(call) => call.tensor(0)?,
        None => {
            let element_type = result_type(call, &read, operands, result);
            let differs = |tensor: &Tensor| !tensor.shape.is_empty() && tensor.element_type != element_type;
            if read.len() > 1 && read.iter().any(differs) {
                assumptions.0.push(format!("result in {element_type}, promoted from the operands"));
            }
            Tensor::new(shape, element_type)
        }
    };
    Ok(per_result(operations, read, [written]))
}

fn result_type(call: &OpCall<'_>, read: &[Tensor], operands: usize, result: ResultType) -> String {
    let numbers = |from: usize| {
        (from..operands.min(call.input_count()))
            .filter(|&index| tensor(call, index).is_none())
            .filter_map(|index| Kind::from_number(&call.written_value(index)))
    };
    let first = || read.first().map_or_else(String::new, |tensor| tensor.element_type.clone());
    match result {
        Promoted => promoted(read, numbers(0)),
        Fraction => match promoted(read, numbers(0)) {
            name if Kind::from_type(&name) < Kind::Fraction => "float".to_owned(),
            name => name,
        },
        Flag => "bool".to_owned(),
        First => first(),
        Chosen => promoted(read.get(1..).unwrap_or_default(), numbers(1)),
    }
}

/// `gelu(self, approximate)`: the approximation is a text.
fn gelu(call: &OpCall<'_>, approximate: usize) -> Activation {
    match call.written_value(approximate).as_ref() {
        "tanh" => Activation::GeluTanh,
        _ => Activation::Gelu,
    }
}

fn activation(call: &OpCall<'_>, activation: Activation) -> Read {
    pointwise(call, 1, First, activation.operations())
}

/// The gradient and the operand: for the derivative as many operations as for the function, and the product of both.
fn activation_backward(call: &OpCall<'_>, activation: Activation) -> Read {
    pointwise(call, 2, First, activation.operations() + 1.0)
}

/// `glu(self, dim)`: one half times the sigmoid of the other.
fn glu(call: &OpCall<'_>) -> Read {
    let input = call.tensor(0)?;
    let results = elements(&input.shape) / 2.0;
    let written = Tensor::new([results as u64], input.element_type.clone());
    plain(Ok(per_result(Activation::Sigmoid.gated_operations(), [input], [written])))
}

/// `native_dropout(input, p, train)`: a comparison and a product, and the mask is written, too.
fn dropout(call: &OpCall<'_>) -> Read {
    let input = call.tensor(0)?;
    let (result, mask) = (input.clone(), like(&input, "bool"));
    plain(Ok(per_result(2.0, [input], [result, mask])))
}

/// The first input is written, whatever it holds.
fn written_alone(call: &OpCall<'_>) -> Read {
    plain(Ok(movement([], [call.tensor(0)?])))
}

#[cfg(test)]
mod tests {
    use super::super::recorded_call::{Input, RecordedCall};
    use super::*;
    use crate::Tables;

    const BF16: &str = "c10::BFloat16";

    /// FLOPs, bytes and the type of the result.
    fn figures(
        name: &str,
        inputs: &[Input<'_>],
        concrete: &[&str],
        kernels: &[&str],
    ) -> Result<(f64, f64, String), Undefined> {
        let recorded = RecordedCall::new(inputs, concrete);
        let call = OpCall { kernels, ..recorded.call(name) };
        let model = Tables::All.model(&call)?;
        let types = model.parameters().into_iter().find(|(name, _)| *name == "dtype_in_out").unwrap().1;
        let result = types.items().unwrap()[1].to_string();
        Ok((model.flops()?, model.bytes()?, result))
    }

    #[test]
    fn operators_that_no_table_knows_are_read_by_their_kernel() {
        let inputs: [Input<'_>; 2] = [(&[4, 8], "float"), (&[8], "float")];
        let kernel = "void at::native::vectorized_elementwise_kernel<4, at::native::special_kernel>";
        let ours = |kernels: &[&str]| figures("aten::unheard_of", &inputs, &[], kernels);
        assert_eq!(ours(&[kernel]), Ok((32.0, 4.0 * (32.0 + 8.0 + 32.0), "float".to_owned())));
        for kernels in [&[][..], &[kernel, kernel], &["void at::native::reduce_kernel<512, 1>"]] {
            assert_eq!(ours(kernels).unwrap_err().gap, Gap::NoModel, "{kernels:?}");
        }
        let call = OpCall { name: "aten::unheard_of", kernels: &[kernel], ..OpCall::default() };
        assert_eq!(Tables::Common.model(&call).unwrap_err().gap, Gap::NoModel);
        assert_eq!(Tables::All.model(&call).unwrap_err().gap, Gap::Arguments);
        assert!(!Tables::Common.has_model("aten::unheard_of"));
        assert!(figures("my::unheard_of", &inputs, &[], &[kernel]).is_err());
    }

    #[test]
    fn what_is_filled_is_written_and_not_read() {
        for name in ["aten::fill_", "aten::zero_", "aten::normal_"] {
            assert_eq!(figures(name, &[(&[5, 7], BF16)], &[], &[]).unwrap().1, 70.0, "{name}");
        }
    }
}
