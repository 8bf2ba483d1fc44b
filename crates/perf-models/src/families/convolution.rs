//! Convolution.

pub(crate) mod model;

use super::{
    BackwardWork::{Itself, NotCounted},
    OpGroup, named, op,
};
use crate::recorded::{Read, Recorded};
use crate::tensor::Tensor;
use crate::{Category, Family, OpCall, Undefined, Value};
use model::{Convolution, ConvolutionBackward, Gradients};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::Conv,
        Category::ConvForward,
        &[
            op("aten::convolution", forward).backward_work(NotCounted),
            op("ConvBias_", fused_forward).backward_work(NotCounted),
            op("ConvBiasReLU_", fused_forward).backward_work(NotCounted),
        ],
    ),
    OpGroup::modelled(
        Family::Conv,
        Category::ConvBackward,
        &[
            op("aten::convolution_backward", backward).backward_work(Itself),
            op("ConvBias_Backward", fused_backward).backward_work(Itself).shaped_as("ConvBias_"),
            op("ConvBiasReLU_Backward", fused_backward).backward_work(Itself).shaped_as("ConvBiasReLU_"),
        ],
    ),
    OpGroup::category_only(
        Category::ConvForward,
        &[
            named("aten::miopen_convolution").backward_work(NotCounted),
            named("aten::cudnn_convolution").backward_work(NotCounted),
        ],
    ),
];

/// `convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)`.
fn forward(call: &OpCall<'_>) -> Read {
    let bias = call.has_dimensions(2);
    let model = Convolution { bias, ..convolution(call, 0, 3)? };
    Ok(Recorded::new(model.clone()).with_tracelens(model.into_tracelens()))
}

/// `convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed,
/// output_padding, groups, output_mask)`.
fn backward(call: &OpCall<'_>) -> Read {
    // Without a recorded mask, the bias's shape says whether there is a bias; PyTorch records `[0]` for none.
    let has_bias_shape = call.has_dimensions(3)
        || call.concrete_text(3).is_ok_and(|text| !matches!(text, "" | "[0]" | "[]" | "None"));
    let gradients = match call.concrete_flags(10).as_deref() {
        Ok(&[input, filter, bias]) => Gradients { input, filter, bias },
        _ => Gradients { input: true, filter: true, bias: has_bias_shape },
    };
    let forward = Convolution { bias: gradients.bias, ..convolution(call, 1, 4)? };
    let model = ConvolutionBackward { forward, gradients };
    Ok(Recorded::new(model.clone()).with_tracelens(model.into_tracelens()))
}

/// Input and filter from input `tensors` on, settings from input `settings` on.
fn convolution(call: &OpCall<'_>, tensors: usize, settings: usize) -> Result<Convolution, Undefined> {
    let (input, filter) = operands(call, tensors)?;
    let spatial = input.shape.len().saturating_sub(2);
    let convolution = Convolution {
        stride: numbers(call, settings, spatial, 1)?,
        padding: numbers(call, settings + 1, spatial, 0)?,
        dilation: numbers(call, settings + 2, spatial, 1)?,
        transposed: call.concrete_flag(settings + 3)?,
        output_padding: numbers(call, settings + 4, spatial, 0)?,
        groups: count_or(call, settings + 5, 1)?,
        input_strides: call.strides_if_recorded(tensors)?,
        filter_strides: call.strides_if_recorded(tensors + 1)?,
        input,
        filter,
        ..Convolution::default()
    };
    convolution.spatial_dimensions()?;
    Ok(convolution)
}

fn operands(call: &OpCall<'_>, first: usize) -> Result<(Tensor, Tensor), Undefined> {
    let (input, filter) = (call.tensor(first)?, call.tensor(first + 1)?);
    if input.element_type != filter.element_type {
        let types = format!("{:?} and {:?}", input.element_type, filter.element_type);
        return Err(Undefined::arguments(format!("input and filter have different types: {types}")));
    }
    Ok((input, filter))
}

/// The numbers of a setting, one for each spatial dimension: `[1, 1]`. A single number is for all.
fn numbers(call: &OpCall<'_>, index: usize, spatial: usize, default: u64) -> Result<Vec<u64>, Undefined> {
    if call.concrete_text(index).is_ok_and(|text| text.trim().is_empty()) {
        return Ok(vec![default; spatial]);
    }
    let numbers: Vec<u64> = call
        .concrete_integers(index)?
        .into_iter()
        .map(|number| count(number, index))
        .collect::<Result<_, _>>()?;
    Ok(if let [number] = numbers.as_slice() { vec![*number; spatial] } else { numbers })
}

fn count(number: i64, index: usize) -> Result<u64, Undefined> {
    u64::try_from(number)
        .map_err(|_| Undefined::arguments(format!("Concrete Inputs[{index}] is negative: {number}")))
}

/// `ConvBias_(input, weight, bias, padding or stride...)`: one number for all spatial dimensions each.
fn fused_forward(call: &OpCall<'_>) -> Read {
    let model = fused(call)?;
    Ok(Recorded::new(model.clone()).with_tracelens(model.into_tracelens()))
}

/// The gradients of the forward call: the backward call records no shapes of its own.
fn fused_backward(call: &OpCall<'_>) -> Read {
    let Some(forward) = call.forward else {
        return Err(Undefined::arguments("the forward call with the same sequence number is unknown"));
    };
    let gradients = Gradients { input: true, filter: true, bias: true };
    let model = ConvolutionBackward { forward: fused(forward)?, gradients };
    Ok(Recorded::new(model.clone()).with_tracelens(model.into_tracelens()))
}

fn fused(call: &OpCall<'_>) -> Result<Convolution, Undefined> {
    let (input, filter) = operands(call, 0)?;
    let spatial = input.shape.len().saturating_sub(2);
    let convolution = Convolution {
        bias: true,
        stride: vec![count_or(call, 3, 1)?; spatial],
        padding: vec![count_or(call, 4, 0)?; spatial],
        dilation: vec![1; spatial],
        output_padding: vec![0; spatial],
        groups: 1,
        input_strides: call.strides_of(0).ok(),
        filter_strides: call.strides_of(1).ok(),
        input,
        filter,
        ..Convolution::default()
    };
    convolution.spatial_dimensions()?;
    Ok(convolution)
}

/// The number at input `index`, which may be absent.
fn count_or(call: &OpCall<'_>, index: usize, default: u64) -> Result<u64, Undefined> {
    match call.concrete.and_then(|values| values.get(index)) {
        None | Some(Value::None) => Ok(default),
        Some(Value::Text(text)) if text.trim().is_empty() => Ok(default),
        Some(_) => match call.concrete_integers(index)?.as_slice() {
            [number] => count(*number, index),
            numbers => Err(Undefined::arguments(format!(
                "Concrete Inputs[{index}] has {} numbers, not 1",
                numbers.len()
            ))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PerfModel;

    fn texts(values: &[&str]) -> Vec<Value> {
        values.iter().map(|&value| Value::from(value)).collect()
    }

    #[test]
    fn a_fused_backward_call_needs_its_forward_call() {
        let dims = [vec![8, 64, 56, 56], vec![128, 64, 3, 3]].map(Value::tuple);
        let types = texts(&["c10::BFloat16"; 2]);
        let concrete = texts(&["", "", "", "1", "1"]);
        let forward =
            OpCall { dims: Some(&dims), types: Some(&types), concrete: Some(&concrete), ..OpCall::default() };
        let alone = OpCall { name: "ConvBias_Backward", ..OpCall::default() };
        assert_eq!(fused_backward(&alone).unwrap_err().gap, crate::Gap::Arguments);
        let linked = OpCall { forward: Some(&forward), ..alone };
        let model = fused_backward(&linked).unwrap();
        assert_eq!((model.flops(), model.bytes()), (Ok(7_401_963_520.0), Ok(13_140_224.0)));
    }
}
