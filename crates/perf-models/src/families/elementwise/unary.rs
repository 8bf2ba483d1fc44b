//! One tensor in, one out.

use super::super::rms_norm::MX_BLOCK;
use crate::tensor::{Tensor, elements, finite, shape_value, strides_value};
use crate::{ComputeSpec, Figure, OpCall, Parameter, PerfModel, Undefined, Value, element_size};

type Read = Result<Box<dyn PerfModel>, Undefined>;

/// One operation on each element of a tensor.
///
/// ```
/// use perf_models::{PerfModel, Tensor, UnaryElementwise};
///
/// // A copy from BF16 to FP32.
/// let copy = UnaryElementwise {
///     input: Tensor::new([4096, 2048], "c10::BFloat16"),
///     output_type: Some("float".into()),
///     ..UnaryElementwise::default()
/// };
/// assert_eq!(copy.flops()?, 4096.0 * 2048.0);
/// assert_eq!(copy.bytes()?, 4096.0 * 2048.0 * (2.0 + 4.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnaryElementwise {
    /// What is operated on; its shape is that of the result.
    pub input: Tensor,
    /// Element type of the result; `None` for that of the input.
    pub output_type: Option<String>,
    /// Strides of the input in elements, for reports.
    pub input_strides: Option<Vec<i64>>,
    /// Strides of the result in elements, for reports.
    pub output_strides: Option<Vec<i64>>,
}

impl PerfModel for UnaryElementwise {
    /// One for each element.
    fn flops(&self) -> Figure {
        finite(self.input.elements())
    }

    /// Each element read and written.
    fn bytes(&self) -> Figure {
        let input = element_size(&self.input.element_type)?;
        let output = self.output_type.as_deref().map_or(Ok(input), element_size)?;
        finite(self.input.elements() * (input + output))
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.input.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        parameters(
            &self.input.shape,
            (&self.input.element_type, self.output_type.as_deref()),
            (self.input_strides.as_deref(), self.output_strides.as_deref()),
        )
    }
}

/// Shape, types and strides as reports show them.
fn parameters(
    shape: &[u64],
    (input_type, output_type): (&str, Option<&str>),
    (input_strides, output_strides): (Option<&[i64]>, Option<&[i64]>),
) -> Vec<Parameter> {
    vec![
        ("op_shape", shape_value(shape)),
        ("dtype_in_out", Value::Tuple(vec![input_type.into(), output_type.into()])),
        ("stride_input", strides_value(input_strides)),
        ("stride_output", strides_value(output_strides)),
    ]
}

/// Input 0 is the tensor, input 1 the other end of a copy, if it is a tensor.
pub(super) fn unary(call: &OpCall<'_>) -> Read {
    let mut model = UnaryElementwise {
        input: call.tensor(0)?,
        input_strides: Some(call.strides_of(0)?),
        ..UnaryElementwise::default()
    };
    if call.has_dimensions(1) {
        model.output_type = Some(call.type_of(1)?.to_owned());
        model.output_strides = Some(call.strides_of(1)?);
    }
    Ok(Box::new(model))
}

/// A tensor becomes one of FP8 numbers, with one scale.
pub(super) fn quantization_fp8(call: &OpCall<'_>) -> Read {
    Ok(Box::new(UnaryElementwise {
        input: call.tensor(0)?,
        output_type: Some("c10::Float8_e4m3fnuz".to_owned()),
        input_strides: call.strides_of(0).ok(),
        output_strides: None,
    }))
}

/// Quantization of a matrix to MXFP4 along its rows and along its columns.
///
/// ```
/// use perf_models::{Mxfp4DualQuantization, PerfModel};
///
/// let quantization = Mxfp4DualQuantization {
///     rows: 64,
///     columns: 7168,
///     element_type: "c10::BFloat16".into(),
///     strides: None,
/// };
/// assert_eq!(quantization.flops()?, 64.0 * 7168.0);
/// // 7168 / 32 scales for each row, 64 / 32 for each column.
/// let scales = 64.0 * 224.0 + 7168.0 * 2.0;
/// assert_eq!(quantization.bytes()?, 64.0 * 7168.0 * (2.0 + 0.5 + 0.5) + scales);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mxfp4DualQuantization {
    /// Rows of the matrix.
    pub rows: u64,
    /// Columns of the matrix.
    pub columns: u64,
    /// Its element type as PyTorch names it.
    pub element_type: String,
    /// Its strides in elements, for reports.
    pub strides: Option<Vec<i64>>,
}

impl PerfModel for Mxfp4DualQuantization {
    /// One for each element.
    fn flops(&self) -> Figure {
        Ok(self.rows as f64 * self.columns as f64)
    }

    /// The matrix read, two numbers a byte written twice, and a byte for each block of a row or column.
    fn bytes(&self) -> Figure {
        let elements = u128::from(self.rows) * u128::from(self.columns);
        let packed = 2.0 * elements.div_ceil(2) as f64;
        let scales = |count: u64, along: u64| count as f64 * (along as f64 / MX_BLOCK).ceil();
        let scales = scales(self.rows, self.columns) + scales(self.columns, self.rows);
        Ok(elements as f64 * element_size(&self.element_type)? + packed + scales)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let types = (self.element_type.as_str(), Some("c10::Float4_e2m1fn_x2"));
        parameters(&[self.rows, self.columns], types, (self.strides.as_deref(), None))
    }
}

pub(super) fn quantization_mxfp4_dual(call: &OpCall<'_>) -> Read {
    let [rows, columns] = call.dimensions_of(0)?;
    let element_type = call.type_of(0)?.to_owned();
    Ok(Box::new(Mxfp4DualQuantization { rows, columns, element_type, strides: call.strides_of(0).ok() }))
}

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

/// The function of a [`GatedActivation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x·sigmoid(x)`.
    Silu,
    /// Gaussian error linear unit by the error function.
    Gelu,
    /// Gaussian error linear unit by its approximation with the hyperbolic tangent.
    GeluTanh,
}

impl Activation {
    /// Operations for each element of the result, the gate's multiplication included.
    fn operations(self) -> f64 {
        match self {
            // Exponential, sum, reciprocal, two products.
            Self::Silu => 5.0,
            Self::Gelu => 8.0,
            // The cubic argument takes two more.
            Self::GeluTanh => 10.0,
        }
    }
}

impl PerfModel for GatedActivation {
    /// 5 (SiLU), 8 (GELU) or 10 (GELU by hyperbolic tangent) for each element of the result.
    fn flops(&self) -> Figure {
        finite(self.activation.operations() * self.output.elements())
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
    Ok(Box::new(GatedActivation {
        output: call.tensor(0)?,
        input_type: call.type_of(1)?.to_owned(),
        input_strides: Some(call.strides_of(1)?),
        output_strides: Some(call.strides_of(0)?),
        activation,
    }))
}

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
        let reason = format!("{found} numbers are no padding of {dimensions} dimensions");
        return Err(Undefined::arguments(reason));
    }
    let mut output_shape = input.shape.clone();
    for (extent, [before, after]) in output_shape.iter_mut().rev().zip(sides) {
        *extent = extent
            .checked_add_signed(*before)
            .and_then(|extent| extent.checked_add_signed(*after))
            .ok_or_else(|| {
                Undefined::arguments(format!("a dimension of {extent} cannot be padded by {padding:?}"))
            })?;
    }
    let input_strides = Some(call.strides_of(0)?);
    Ok(Box::new(ResizingCopy { input, output_shape, padding: Some(padding), input_strides }))
}

/// `upsample_nearest(input, output_size, ...)`, or with scale factors instead of a size as input 2.
pub(super) fn upsampling(call: &OpCall<'_>) -> Read {
    let input = call.tensor(0)?;
    let [batch, channels, spatial @ ..] = input.shape.as_slice() else {
        return Err(Undefined::arguments(format!("Input Dims[0] has {} dimensions", input.shape.len())));
    };
    let size = if call.written_value(1).is_empty() {
        enlarged(spatial, &call.concrete_floats(2)?)?
    } else {
        let sides = call.concrete_integers(1)?;
        let side = |side: i64| {
            u64::try_from(side)
                .map_err(|_| Undefined::arguments(format!("Concrete Inputs[1] is negative: {side}")))
        };
        sides.into_iter().map(side).collect::<Result<_, _>>()?
    };
    let output_shape = [&[*batch, *channels], size.as_slice()].concat();
    let input_strides = Some(call.strides_of(0)?);
    Ok(Box::new(ResizingCopy { input, output_shape, padding: None, input_strides }))
}

/// Spatial dimensions times their scale factors, rounded down.
fn enlarged(spatial: &[u64], factors: &[f64]) -> Result<Vec<u64>, Undefined> {
    let reasonable = factors.iter().all(|factor| factor.is_finite() && *factor > 0.0);
    if factors.len() != spatial.len() || !reasonable {
        let reason = format!("{factors:?} are no scale factors of {} dimensions", spatial.len());
        return Err(Undefined::arguments(reason));
    }
    Ok(spatial.iter().zip(factors).map(|(&extent, factor)| (extent as f64 * factor) as u64).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BF16: &str = "c10::BFloat16";

    fn figures(model: &dyn PerfModel) -> (f64, f64) {
        (model.flops().unwrap(), model.bytes().unwrap())
    }

    #[test]
    fn elements_are_read_and_written_once() {
        let unary = |shape: &[u64], input: &str, output: Option<&str>| UnaryElementwise {
            input: Tensor::new(shape, input),
            output_type: output.map(str::to_owned),
            ..UnaryElementwise::default()
        };
        let cases = [
            (unary(&[16, 559, 1024], "float", None), (9_158_656.0, 73_269_248.0)),
            (unary(&[1, 512], "int", Some("int")), (512.0, 4096.0)),
            (unary(&[4, 8], BF16, Some("float")), (32.0, 192.0)),
            (unary(&[4096, 2048], BF16, Some("c10::Float8_e4m3fnuz")), (8_388_608.0, 25_165_824.0)),
            (unary(&[4, 8], "bool", None), (32.0, 64.0)),
        ];
        for (model, expected) in cases {
            assert_eq!(figures(&model), expected, "{model:?}");
        }
        assert_eq!(unary(&[4], "", None).bytes().unwrap_err().gap, crate::Gap::DataType);
    }

    #[test]
    fn both_copies_of_a_dual_quantization_have_their_scales() {
        let model =
            |rows, columns| Mxfp4DualQuantization { rows, columns, element_type: BF16.into(), strides: None };
        assert_eq!(figures(&model(4096, 2048)), (8_388_608.0, 25_690_112.0));
        assert_eq!(figures(&model(3, 33)), (99.0, 198.0 + 100.0 + 6.0 + 33.0));
        assert_eq!(figures(&model(0, 33)), (0.0, 0.0));
    }

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
            assert_eq!(figures(&model(shape, activation, input)), expected, "{activation:?}");
        }
    }

    fn resized(
        read: fn(&OpCall<'_>) -> Read,
        shape: &[i64],
        concrete: &[&str],
    ) -> Result<(String, f64, f64), String> {
        let dims = [Value::from(shape)];
        let types = [Value::from(BF16)];
        let concrete: Vec<Value> = concrete.iter().map(|&text| text.into()).collect();
        let call = OpCall {
            dims: Some(&dims),
            types: Some(&types),
            strides: Some(&dims),
            concrete: Some(&concrete),
            ..OpCall::default()
        };
        let model = read(&call).map_err(|undefined| undefined.to_string())?;
        let (flops, bytes) = figures(&*model);
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

    proptest! {
        #[test]
        fn twice_the_elements_is_twice_the_work(shape in proptest::collection::vec(0_u64..1000, 0..5)) {
            let of = |first| UnaryElementwise {
                input: Tensor::new([&[first], shape.as_slice()].concat(), "float"),
                ..UnaryElementwise::default()
            };
            let (one, two) = (figures(&of(3)), figures(&of(6)));
            prop_assert_eq!((2.0 * one.0, 2.0 * one.1), two);
        }
    }
}
