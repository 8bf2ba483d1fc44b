//! Two tensors in, one out.

use crate::promotion::{broadcast, promoted};
use crate::recorded::{AsTraceLens, Read, Recorded};
use crate::tensor::{Tensor, elements, finite, shape_value, strides_value};
use crate::{ComputeSpec, Figure, OpCall, Parameter, PerfModel, Undefined, Value, element_size};

/// One operation on each pair of elements of two tensors, broadcast to one shape.
///
/// ```
/// use perf_models::{BinaryElementwise, PerfModel, Tensor};
///
/// // A number for each channel is added to the pixels of four images.
/// let [pixels, bias] = [[4, 768, 14, 14], [1, 768, 1, 1]].map(|shape| Tensor::new(shape, "c10::BFloat16"));
/// let sum = BinaryElementwise { inputs: [pixels, bias], ..BinaryElementwise::default() };
/// assert_eq!(sum.flops()?, 602_112.0);
/// assert_eq!(sum.bytes()?, 2_409_984.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BinaryElementwise {
    /// The operands.
    pub inputs: [Tensor; 2],
    /// Element type of the result; `None` for that which the operands promote to.
    pub output_type: Option<String>,
    /// Strides of the operands in elements, for reports.
    pub input_strides: [Option<Vec<i64>>; 2],
    /// Strides of the result in elements, for reports.
    pub output_strides: Option<Vec<i64>>,
}

impl BinaryElementwise {
    /// Shape of the result.
    ///
    /// # Errors
    ///
    /// When the operands cannot be broadcast to one shape.
    pub fn output_shape(&self) -> Result<Vec<u64>, Undefined> {
        let [left, right] = &self.inputs;
        broadcast(&left.shape, &right.shape)
    }

    fn output_size(&self) -> Figure {
        match &self.output_type {
            Some(element_type) => element_size(element_type),
            None => element_size(&promoted(&self.inputs, [])),
        }
    }

    /// As TraceLens has it: where no type is recorded, the result's elements are as wide as the wider operand's, or the first
    /// one's where either has no dimensions; the first operand decides the peak.
    pub(crate) fn into_tracelens(self) -> Result<AsTraceLens<Self>, Undefined> {
        let [left, right] = &self.inputs;
        let output_size = || {
            if let Some(element_type) = &self.output_type {
                return element_size(element_type);
            }
            let (left_size, right_size) =
                (element_size(&left.element_type)?, element_size(&right.element_type)?);
            let both_tensors = !left.shape.is_empty() && !right.shape.is_empty();
            Ok(if both_tensors { left_size.max(right_size) } else { left_size })
        };
        let output = elements(&self.output_shape()?);
        let bytes = || finite(left.bytes()? + right.bytes()? + output * output_size()?);
        let (bytes, spec) = (bytes(), ComputeSpec::vector(&left.element_type));
        Ok(AsTraceLens { bytes, spec, ..AsTraceLens::new(self) })
    }
}

impl PerfModel for BinaryElementwise {
    /// One for each element of the result.
    fn flops(&self) -> Figure {
        finite(elements(&self.output_shape()?))
    }

    /// Both operands read, the result written.
    fn bytes(&self) -> Figure {
        let [left, right] = &self.inputs;
        let output = elements(&self.output_shape()?) * self.output_size()?;
        finite(left.bytes()? + right.bytes()? + output)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&promoted(&self.inputs, []))
    }

    fn parameters(&self) -> Vec<Parameter> {
        let [left, right] = &self.inputs;
        let [left_strides, right_strides] = &self.input_strides;
        let types = vec![
            left.element_type.as_str().into(),
            right.element_type.as_str().into(),
            self.output_type.as_deref().into(),
        ];
        vec![
            ("shape_in1", shape_value(&left.shape)),
            ("shape_in2", shape_value(&right.shape)),
            ("dtype_in1_in2_out", Value::Tuple(types)),
            ("stride_input1", strides_value(left_strides.as_deref())),
            ("stride_input2", strides_value(right_strides.as_deref())),
            ("stride_output", strides_value(self.output_strides.as_deref())),
        ]
    }
}

/// Inputs 0 and 1 are the operands, input 2 the result, if it is a tensor.
pub(crate) fn binary(call: &OpCall<'_>) -> Result<BinaryElementwise, Undefined> {
    let mut model = operands(call)?;
    if call.has_dimensions(2) {
        model.output_type = Some(call.type_of(2)?.to_owned());
        model.output_strides = Some(call.strides_of(2)?);
    }
    Ok(model)
}

/// Inputs 0 and 1 are the operands, further inputs are not the result.
pub(crate) fn binary_without_output(call: &OpCall<'_>) -> Read {
    let model = operands(call)?;
    Ok(Recorded::new(model.clone()).with_tracelens(model.into_tracelens()?))
}

fn operands(call: &OpCall<'_>) -> Result<BinaryElementwise, Undefined> {
    let model = BinaryElementwise {
        inputs: [call.tensor(0)?, call.tensor(1)?],
        input_strides: [Some(call.strides_of(0)?), Some(call.strides_of(1)?)],
        ..BinaryElementwise::default()
    };
    model.output_shape()?;
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BF16: &str = "c10::BFloat16";

    /// Shape and element type.
    type Operand = (&'static [u64], &'static str);

    #[test]
    fn figures_follow_from_shapes_and_types() {
        let cases: [(Operand, Operand, Option<&str>, f64, f64); 9] = [
            ((&[1, 559, 64], "float"), (&[], "double"), None, 35_776.0, 286_216.0),
            ((&[4, 768, 14, 14], BF16), (&[1, 768, 1, 1], BF16), None, 602_112.0, 2_409_984.0),
            ((&[4, 197, 768], BF16), (&[1, 197, 768], BF16), None, 605_184.0, 2_723_328.0),
            ((&[4, 768], BF16), (&[4, 768], "float"), None, 3072.0, 30_720.0),
            ((&[], "double"), (&[4, 768], BF16), None, 3072.0, 12_296.0),
            ((&[4, 8], "int"), (&[8], "int"), Some("float"), 32.0, 288.0),
            ((&[8192, 14336], BF16), (&[8192, 14336], BF16), None, 117_440_512.0, 704_643_072.0),
            ((&[4, 1], "bool"), (&[1, 8], "bool"), None, 32.0, 44.0),
            ((&[0, 4], "float"), (&[1, 4], "float"), None, 0.0, 16.0),
        ];
        for (left, right, output, flops, bytes) in cases {
            let model = BinaryElementwise {
                inputs: [left, right].map(|(shape, element_type)| Tensor::new(shape, element_type)),
                output_type: output.map(str::to_owned),
                ..BinaryElementwise::default()
            };
            assert_eq!((model.flops(), model.bytes()), (Ok(flops), Ok(bytes)), "{model:?}");
        }
    }

    #[test]
    fn shapes_that_do_not_broadcast_are_undefined() {
        let dims = [Value::tuple([2]), Value::tuple([3])];
        let types = [Value::from("float"), Value::from("float")];
        let call =
            OpCall { dims: Some(&dims), types: Some(&types), strides: Some(&dims), ..OpCall::default() };
        assert_eq!(binary_without_output(&call).unwrap_err().gap, crate::Gap::Arguments);
    }
}
