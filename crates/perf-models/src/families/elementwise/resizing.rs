//! Padding and upsampling.

use super::unary::parameters;
use crate::recorded::{Read, Recorded};
use crate::tensor::{Tensor, elements, finite, shape_value};
use crate::{ComputeSpec, Figure, OpCall, Parameter, PerfModel, Undefined, Value, element_size};

/// A copy into a tensor of another shape: padding, upsampling.
///
/// ```
/// use perf_models::{PerfModel, ResizingCopy, Tensor};
///
/// // Images of 64 channels, enlarged from 32 × 32 to 64 × 64.
/// let upsampling = ResizingCopy {
///     input: Tensor::new([1, 64, 32, 32], "c10::BFloat16"),
///     output_shape: vec![1, 64, 64, 64],
///     ..ResizingCopy::default()
/// };
/// assert_eq!(upsampling.flops()?, 64.0 * 64.0 * 64.0);
/// assert_eq!(upsampling.bytes()?, 2.0 * 64.0 * (32.0 * 32.0 + 64.0 * 64.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResizingCopy {
    /// What is copied.
    pub input: Tensor,
    /// Shape of the result, which has the element type of the input.
    pub output_shape: Vec<u64>,
    /// Elements added before and after each dimension, the last dimension first, where it is a padding.
    pub padding: Option<Vec<i64>>,
    /// Strides of the input in elements, for reports.
    pub input_strides: Option<Vec<i64>>,
}

impl PerfModel for ResizingCopy {
    /// One for each element of the result.
    fn flops(&self) -> Figure {
        finite(elements(&self.output_shape))
    }

    /// The input read, the result written.
    fn bytes(&self) -> Figure {
        let moved = self.input.elements() + elements(&self.output_shape);
        finite(moved * element_size(&self.input.element_type)?)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.input.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let element_type = self.input.element_type.as_str();
        let mut shown = vec![
            ("input_shape", shape_value(&self.input.shape)),
            ("output_shape", shape_value(&self.output_shape)),
        ];
        if let Some(padding) = &self.padding {
            shown.push(("padding", Value::List(padding.iter().map(|&added| added.into()).collect())));
        }
        let types = (element_type, Some(element_type));
        shown.extend(parameters(&self.output_shape, types, (self.input_strides.as_deref(), None)));
        shown
    }
}

/// `replication_pad(input, padding)`: two numbers for each dimension, the last dimension first.
pub(super) fn padding(call: &OpCall<'_>) -> Read {
    let input = call.tensor(0)?;
    let padding = call.concrete_integers(1)?;
    let (sides, odd) = padding.as_chunks::<2>();
    if !odd.is_empty() || sides.len() > input.shape.len() {
        let (found, dimensions) = (padding.len(), input.shape.len());
        let reason = format!("padding has {found} numbers for {dimensions} dimensions");
        return Err(Undefined::arguments(reason));
    }
    let mut output_shape = input.shape.clone();
    for (extent, [before, after]) in output_shape.iter_mut().rev().zip(sides) {
        *extent = extent
            .checked_add_signed(*before)
            .and_then(|extent| extent.checked_add_signed(*after))
            .ok_or_else(|| {
                Undefined::arguments(format!("padding {padding:?} does not fit a dimension of size {extent}"))
            })?;
    }
    let input_strides = Some(call.strides_of(0)?);
    Ok(Recorded::new(ResizingCopy { input, output_shape, padding: Some(padding), input_strides }))
}

/// `upsample_nearest(input, output_size, ...)`, or with scale factors instead of a size as input 2.
pub(super) fn upsampling(call: &OpCall<'_>) -> Read {
    let input = call.tensor(0)?;
    let output_shape = upsampled_shape(call, &input, 2)?;
    let input_strides = Some(call.strides_of(0)?);
    Ok(Recorded::new(ResizingCopy { input, output_shape, padding: None, input_strides }))
}

/// The shape that an image of (batch, channels, ...) is interpolated to: with the size at input 1, else with the scale
/// factors at input `factors`.
pub(in crate::families) fn upsampled_shape(
    call: &OpCall<'_>,
    input: &Tensor,
    factors: usize,
) -> Result<Vec<u64>, Undefined> {
    let [batch, channels, spatial @ ..] = input.shape.as_slice() else {
        return Err(Undefined::arguments(format!(
            "Input Dims[0] has {} dimensions, fewer than 2",
            input.shape.len()
        )));
    };
    let size = if call.written_value(1).is_empty() {
        enlarged(spatial, &call.concrete_floats(factors)?)?
    } else {
        let sides = call.concrete_integers(1)?;
        let side = |side: i64| {
            u64::try_from(side)
                .map_err(|_| Undefined::arguments(format!("Concrete Inputs[1] is negative: {side}")))
        };
        sides.into_iter().map(side).collect::<Result<_, _>>()?
    };
    Ok([&[*batch, *channels], size.as_slice()].concat())
}

/// Spatial dimensions times their scale factors, rounded down.
fn enlarged(spatial: &[u64], factors: &[f64]) -> Result<Vec<u64>, Undefined> {
    let reasonable = factors.iter().all(|factor| factor.is_finite() && *factor > 0.0);
    if factors.len() != spatial.len() || !reasonable {
        let reason = format!("{factors:?} are not scale factors for {} dimensions", spatial.len());
        return Err(Undefined::arguments(reason));
    }
    Ok(spatial.iter().zip(factors).map(|(&extent, factor)| (extent as f64 * factor) as u64).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resized(
        read: fn(&OpCall<'_>) -> Read,
        shape: &[i64],
        concrete: &[&str],
    ) -> Result<(String, f64, f64), String> {
        let dims = [Value::from(shape)];
        let types = [Value::from("c10::BFloat16")];
        let concrete: Vec<Value> = concrete.iter().map(|&text| text.into()).collect();
        let call = OpCall {
            dims: Some(&dims),
            types: Some(&types),
            strides: Some(&dims),
            concrete: Some(&concrete),
            ..OpCall::default()
        };
        let model = read(&call).map_err(|undefined| undefined.to_string())?;
        let (flops, bytes) = (model.flops().unwrap(), model.bytes().unwrap());
        Ok((model.parameters()[1].1.to_string(), flops, bytes))
    }

    #[test]
    fn padding_starts_at_the_last_dimension() {
        let pad = |shape: &[i64], text| resized(padding, shape, &["", text]);
        assert_eq!(
            pad(&[1, 16, 60, 60], "[1, 2, 3, 4]"),
            Ok(("(1, 16, 67, 63)".into(), 67_536.0, 250_272.0))
        );
        assert_eq!(
            pad(&[1, 16, 4, 60, 60], "[1, 1, 1, 1, 2, 0]"),
            Ok(("(1, 16, 6, 62, 62)".into(), 369_024.0, 1_198_848.0))
        );
        assert_eq!(pad(&[4, 8], "[-1, -2]"), Ok(("(4, 5)".into(), 20.0, 104.0)));
        for text in ["[1]", "[1, 1, 1, 1, 1, 1]", "[-9, 0]", "", "[x]"] {
            assert!(pad(&[4, 8], text).is_err(), "{text}");
        }
    }

    #[test]
    fn upsampling_has_a_size_or_scale_factors() {
        let up = |shape: &[i64], size, factors| resized(upsampling, shape, &["", size, factors]);
        let doubled = Ok(("(1, 512, 64, 64)".to_owned(), 2_097_152.0, 5_242_880.0));
        assert_eq!(up(&[1, 512, 32, 32], "[64, 64]", "2."), doubled);
        assert_eq!(up(&[1, 512, 32, 32], "", "[2., 2.]"), doubled);
        assert_eq!(up(&[1, 1, 5], "", "[1.5]").unwrap().0, "(1, 1, 7)");
        for (shape, size, factors) in [
            ([1, 1, 5].as_slice(), "", "[2., 2.]"),
            (&[1, 1, 5], "", "[-1.]"),
            (&[1, 1, 5], "", ""),
            (&[1, 1, 5], "[-3]", ""),
            (&[1], "[3]", ""),
        ] {
            assert!(up(shape, size, factors).is_err(), "{shape:?} {size} {factors}");
        }
    }
}
