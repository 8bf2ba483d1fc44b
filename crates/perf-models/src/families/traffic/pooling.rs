//! Pooling and interpolation.

use super::{OpCall, OpGroup, Read, Tensor, TensorTraffic, like, movement, op, per_result, plain};
use crate::families::elementwise::resizing::upsampled_shape;
use crate::tensor::elements;
use crate::{Category, Family, Undefined};

pub(in crate::families) const GROUPS: &[OpGroup] = &[
    OpGroup::ours(
        Family::TensorTraffic,
        Category::Pooling,
        &[
            op("aten::max_pool2d_with_indices", |call| pooling(call, 2, &MAXIMUM)),
            op("aten::max_pool3d_with_indices", |call| pooling(call, 3, &MAXIMUM)),
            op("aten::avg_pool2d", |call| pooling(call, 2, &MEAN)),
            op("aten::avg_pool3d", |call| pooling(call, 3, &MEAN)),
            op("aten::_adaptive_avg_pool2d", |call| adaptive(call, false)),
            op("aten::_adaptive_avg_pool3d", |call| adaptive(call, false)),
            op("aten::adaptive_max_pool2d", |call| adaptive(call, true)),
            op("aten::adaptive_max_pool3d", |call| adaptive(call, true)),
            op("aten::max_pool2d_with_indices_backward", |call| backward(call, Some(7))),
            op("aten::max_pool3d_with_indices_backward", |call| backward(call, Some(7))),
            op("aten::avg_pool2d_backward", |call| backward(call, None)),
            op("aten::avg_pool3d_backward", |call| backward(call, None)),
            op("aten::_adaptive_avg_pool2d_backward", |call| backward(call, None)),
            op("aten::_adaptive_avg_pool3d_backward", |call| backward(call, None)),
            op("aten::adaptive_max_pool2d_backward", |call| backward(call, Some(2))),
            op("aten::adaptive_max_pool3d_backward", |call| backward(call, Some(2))),
        ],
    ),
    OpGroup::ours(
        Family::TensorTraffic,
        Category::Upsampling,
        &[
            op("aten::_upsample_nearest_exact1d", |call| interpolation(call, 2, 0.0)),
            op("aten::_upsample_nearest_exact2d", |call| interpolation(call, 2, 0.0)),
            op("aten::_upsample_nearest_exact3d", |call| interpolation(call, 2, 0.0)),
            // A product with a weight and a sum for each of the points around.
            op("aten::upsample_linear1d", |call| interpolation(call, 3, 2.0 * 2.0)),
            op("aten::upsample_bilinear2d", |call| interpolation(call, 3, 2.0 * 4.0)),
            op("aten::_upsample_bilinear2d_aa", |call| interpolation(call, 3, 2.0 * 4.0)),
            op("aten::upsample_trilinear3d", |call| interpolation(call, 3, 2.0 * 8.0)),
            op("aten::upsample_bicubic2d", |call| interpolation(call, 3, 2.0 * 16.0)),
            op("aten::_upsample_bicubic2d_aa", |call| interpolation(call, 3, 2.0 * 16.0)),
            op("aten::upsample_nearest1d_backward", |call| interpolation_backward(call, 1.0)),
            op("aten::upsample_nearest2d_backward", |call| interpolation_backward(call, 1.0)),
            op("aten::upsample_nearest3d_backward", |call| interpolation_backward(call, 1.0)),
            op("aten::upsample_linear1d_backward", |call| interpolation_backward(call, 2.0 * 2.0)),
            op("aten::upsample_bilinear2d_backward", |call| interpolation_backward(call, 2.0 * 4.0)),
            op("aten::upsample_trilinear3d_backward", |call| interpolation_backward(call, 2.0 * 8.0)),
            op("aten::upsample_bicubic2d_backward", |call| interpolation_backward(call, 2.0 * 16.0)),
        ],
    ),
];

/// Where a pooling records what follows the kernel, the stride and the padding.
struct Layout {
    dilation: Option<usize>,
    rounds_up: usize,
    /// The places of the largest elements are written, too.
    has_places: bool,
}

/// `max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)`.
const MAXIMUM: Layout = Layout { dilation: Some(4), rounds_up: 5, has_places: true };
/// `avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)`.
const MEAN: Layout = Layout { dilation: None, rounds_up: 4, has_places: false };

/// A number for each spatial dimension: one number stands for all of them, and `otherwise` for none.
fn sides(call: &OpCall<'_>, index: usize, spatial: usize, otherwise: &[u64]) -> Result<Vec<u64>, Undefined> {
    let recorded = match call.written_value(index).as_ref() {
        "" | "[]" => return Ok(otherwise.to_vec()),
        _ => call.concrete_integers(index)?,
    };
    let wrong =
        || Undefined::arguments(format!("Concrete Inputs[{index}] {recorded:?} should have {spatial} sizes"));
    let sides: Vec<u64> =
        recorded.iter().map(|&side| u64::try_from(side).map_err(|_| wrong())).collect::<Result<_, _>>()?;
    match sides.as_slice() {
        &[side] => Ok(vec![side; spatial]),
        sides if sides.len() == spatial => Ok(sides.to_vec()),
        _ => Err(wrong()),
    }
}

/// The shape and the spatial dimensions of an input, which are the last ones.
fn image(call: &OpCall<'_>, index: usize, spatial: usize) -> Result<(Tensor, usize), Undefined> {
    let input = call.tensor(index)?;
    let first = input.shape.len().checked_sub(spatial).ok_or_else(|| {
        Undefined::arguments(format!(
            "Input Dims[{index}] has {} dimensions, not {spatial} or more",
            input.shape.len()
        ))
    })?;
    Ok((input, first))
}

/// One window for each element of the result. Elements of a window count one operation each.
fn pooling(call: &OpCall<'_>, spatial: usize, layout: &Layout) -> Read {
    let (input, first) = image(call, 0, spatial)?;
    let ones = vec![1; spatial];
    let window = sides(call, 1, spatial, &[])?;
    if window.len() != spatial {
        return Err(Undefined::arguments("the window size was not recorded"));
    }
    let stride = sides(call, 2, spatial, &window)?;
    let padding = sides(call, 3, spatial, &vec![0; spatial])?;
    let dilation = layout.dilation.map_or(Ok(ones.clone()), |index| sides(call, index, spatial, &ones))?;
    let rounds_up = call.concrete_flag(layout.rounds_up).unwrap_or(false);
    let mut output = input.clone();
    for side in 0..spatial {
        output.shape[first + side] = windows(
            input.shape[first + side],
            (window[side], stride[side], padding[side], dilation[side]),
            rounds_up,
        )?;
    }
    let places = layout.has_places.then(|| like(&output, "long int"));
    let written: Vec<Tensor> = std::iter::once(output).chain(places).collect();
    plain(Ok(per_result(elements(&window), [input], written)))
}

/// How many windows fit along one dimension
/// ([`torch.nn.MaxPool2d`](https://pytorch.org/docs/stable/generated/torch.nn.MaxPool2d.html)).
fn windows(
    extent: u64,
    (window, stride, padding, dilation): (u64, u64, u64, u64),
    rounds_up: bool,
) -> Result<u64, Undefined> {
    let too_large = || Undefined::arguments("the window is larger than its input");
    let reach = dilation.saturating_mul(window.saturating_sub(1)).saturating_add(1);
    let padded = extent.saturating_add(padding.saturating_mul(2));
    let room = padded.checked_sub(reach).ok_or_else(too_large)?;
    if stride == 0 {
        return Err(Undefined::arguments("the stride is 0"));
    }
    let count = if rounds_up { room.div_ceil(stride) } else { room / stride } + 1;
    // The last window begins inside of the input or of the padding before it.
    let begins_outside = rounds_up && (count - 1).saturating_mul(stride) >= extent.saturating_add(padding);
    Ok(count - u64::from(begins_outside))
}

/// `_adaptive_avg_pool2d(self, output_size)`: each element read in about one window.
fn adaptive(call: &OpCall<'_>, has_places: bool) -> Read {
    let size = call.concrete_integers(1)?;
    let (input, first) = image(call, 0, size.len())?;
    let mut output = input.clone();
    for (extent, &side) in output.shape[first..].iter_mut().zip(&size) {
        *extent = u64::try_from(side)
            .map_err(|_| Undefined::arguments(format!("Concrete Inputs[1] is negative: {side}")))?;
    }
    let places = has_places.then(|| like(&output, "long int"));
    let flops = input.elements();
    let written = std::iter::once(output).chain(places).collect();
    plain(Ok(TensorTraffic { read: vec![input], written, flops }))
}

/// `max_pool2d_with_indices_backward(grad_output, self, …, indices)`: the gradient is written to the places of the
/// largest elements; without places, to all of each window.
fn backward(call: &OpCall<'_>, places: Option<usize>) -> Read {
    let (gradient, input) = (call.tensor(0)?, call.tensor(1)?);
    let places = places.map(|index| call.tensor(index)).transpose()?;
    let flops = gradient.elements().max(if places.is_some() { 0.0 } else { input.elements() });
    let read = std::iter::once(gradient).chain(places).collect();
    plain(Ok(TensorTraffic { read, written: vec![input], flops }))
}

/// `upsample_bilinear2d(self, output_size, align_corners, …)`, or scale factors instead of a size at `factors`.
fn interpolation(call: &OpCall<'_>, factors: usize, operations: f64) -> Read {
    let input = call.tensor(0)?;
    let output = Tensor::new(upsampled_shape(call, &input, factors)?, input.element_type.clone());
    plain(Ok(match operations {
        0.0 => movement([input], [output]),
        _ => per_result(operations, [input], [output]),
    }))
}

/// `upsample_bilinear2d_backward(grad_output, output_size, input_size, …)`.
fn interpolation_backward(call: &OpCall<'_>, operations: f64) -> Read {
    let gradient = call.tensor(0)?;
    let shape: Option<Vec<u64>> =
        call.concrete_integers(2)?.into_iter().map(|side| u64::try_from(side).ok()).collect();
    let shape = shape.ok_or_else(|| Undefined::arguments("Concrete Inputs[2] is not a shape"))?;
    let input = Tensor::new(shape, gradient.element_type.clone());
    let flops = operations * gradient.elements();
    plain(Ok(TensorTraffic { read: vec![gradient], written: vec![input], flops }))
}

#[cfg(test)]
mod tests {
    use super::windows;

    #[test]
    fn windows_are_counted_as_pytorch_does() {
        // Extent, (window, stride, padding, dilation), rounded down, rounded up.
        for (extent, sizes, down, up) in [
            (112, (3, 2, 1, 1), 56, 57),
            (10, (3, 3, 0, 1), 3, 4),
            (10, (2, 2, 0, 1), 5, 5),
            (7, (3, 2, 0, 2), 2, 2),
            // The fourth window would begin behind the input.
            (6, (1, 3, 0, 1), 2, 2),
        ] {
            assert_eq!(
                (windows(extent, sizes, false), windows(extent, sizes, true)),
                (Ok(down), Ok(up)),
                "{extent} {sizes:?}"
            );
        }
        assert!(windows(2, (3, 1, 0, 1), false).is_err() && windows(5, (3, 0, 0, 1), false).is_err());
    }
}
