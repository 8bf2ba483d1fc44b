//! One tensor in, one out.

use super::super::rms_norm::MX_BLOCK;
use crate::recorded::{Read, Recorded};
use crate::tensor::{Tensor, finite, shape_value, strides_value};
use crate::{ComputeSpec, Figure, OpCall, Parameter, PerfModel, Undefined, Value, element_size};

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
pub(super) fn parameters(
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
pub(crate) fn unary(call: &OpCall<'_>) -> Result<UnaryElementwise, Undefined> {
    let mut model = UnaryElementwise {
        input: call.tensor(0)?,
        input_strides: Some(call.strides_of(0)?),
        ..UnaryElementwise::default()
    };
    if call.has_dimensions(1) {
        model.output_type = Some(call.type_of(1)?.to_owned());
        model.output_strides = Some(call.strides_of(1)?);
    }
    Ok(model)
}

/// A tensor becomes one of FP8 numbers, with one scale.
pub(super) fn quantization_fp8(call: &OpCall<'_>) -> Read {
    Ok(Recorded::new(UnaryElementwise {
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
    Ok(Recorded::new(Mxfp4DualQuantization { rows, columns, element_type, strides: call.strides_of(0).ok() }))
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
