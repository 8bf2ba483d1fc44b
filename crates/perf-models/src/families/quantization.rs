//! Quantization with a scale for each token, tensor or group of elements.

use super::rms_norm::MX_BLOCK;
use super::{OpGroup, op};
use crate::recorded::{Read, Recorded};
use crate::tensor::{Tensor, count_value, elements, shape_value, strides_value};
use crate::{Category, ComputeSpec, Family, Figure, OpCall, Parameter, PerfModel, Value};

/// Dynamic quantization that writes the scales it finds.
///
/// ```
/// use perf_models::{PerfModel, ScaledQuantization, Tensor};
///
/// // To FP8 with a scale for each of 64 tokens.
/// let quantization = ScaledQuantization {
///     input: Tensor::new([64, 7168], "c10::BFloat16"),
///     scales: Tensor::new([64, 1], "float"),
///     output: Tensor::new([64, 7168], "c10::Float8_e4m3fn"),
///     ..ScaledQuantization::default()
/// };
/// assert_eq!(quantization.flops()?, 2.59375 * 64.0 * 7168.0);
/// assert_eq!(quantization.bytes()?, 64.0 * 7168.0 * (2.0 + 1.0) + 4.0 * 64.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScaledQuantization {
    /// What is quantized.
    pub input: Tensor,
    /// The scales.
    pub scales: Tensor,
    /// The result.
    pub output: Tensor,
    /// Strides of input, scales and output in elements, for reports.
    pub strides: [Option<Vec<i64>>; 3],
}

impl PerfModel for ScaledQuantization {
    /// 2.59375 for each element: magnitude, division and rounding, and with groups of 32 the share of a
    /// comparison tree and of the scale's own arithmetic (19/32).
    fn flops(&self) -> Figure {
        Ok(2.59375 * self.output.elements())
    }

    /// Input read, scales and output written.
    fn bytes(&self) -> Figure {
        Ok(self.output.bytes()? + self.input.bytes()? + self.scales.bytes()?)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.input.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let [input, scales, output] = &self.strides;
        let element_types = [&self.input, &self.scales, &self.output]
            .map(|tensor| Value::from(tensor.element_type.as_str()))
            .into_iter()
            .collect();
        vec![
            ("shape_in1", shape_value(&self.input.shape)),
            ("shape_in2", shape_value(&self.scales.shape)),
            ("shape_out", shape_value(&self.output.shape)),
            ("dtype_in1_in2_out", Value::Tuple(element_types)),
            ("stride_input1", strides_value(input.as_deref())),
            ("stride_input2", strides_value(scales.as_deref())),
            ("stride_output", strides_value(output.as_deref())),
        ]
    }
}

/// Quantization to FP8 with a 32-bit scale for each group of a row.
///
/// ```
/// use perf_models::{GroupQuantizationFp8, PerfModel, Tensor};
///
/// let quantization = GroupQuantizationFp8 {
///     input: Tensor::new([64, 7168], "c10::BFloat16"),
///     group_size: 128,
///     group_size_assumed: false,
/// };
/// let elements = 64.0 * 7168.0;
/// assert_eq!(quantization.flops()?, 6.0 * elements);
/// assert_eq!(quantization.bytes()?, (2.0 + 1.0) * elements + 4.0 * elements / 128.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupQuantizationFp8 {
    /// What is quantized; its last dimension is the row.
    pub input: Tensor,
    /// Elements of a group.
    pub group_size: u64,
    /// Whether the call records no usable group size and the usual one was taken.
    pub group_size_assumed: bool,
}

impl GroupQuantizationFp8 {
    /// Rows of the input.
    #[must_use]
    pub fn rows(&self) -> u64 {
        match self.input.shape.as_slice() {
            [rows @ .., _] => elements(rows) as u64,
            [] => 1,
        }
    }

    /// Elements of a row.
    #[must_use]
    pub fn columns(&self) -> u64 {
        self.input.shape.last().copied().unwrap_or(1)
    }

    /// Groups of a row, at least 1.
    #[must_use]
    pub fn groups(&self) -> u64 {
        self.columns().div_ceil(self.group_size.max(1)).max(1)
    }
}

impl PerfModel for GroupQuantizationFp8 {
    /// 6 for each element: magnitude, maximum, division, two clamps and rounding.
    fn flops(&self) -> Figure {
        Ok(6.0 * self.input.elements())
    }

    /// Input read; one byte for each element and 4 for each group written.
    fn bytes(&self) -> Figure {
        let scales = 4.0 * self.rows() as f64 * self.groups() as f64;
        Ok(self.input.bytes()? + self.input.elements() + scales)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.input.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let shape = shape_value(&self.input.shape);
        let element_type = Value::from(self.input.element_type.as_str());
        let element_types =
            Value::Tuple(vec![element_type.clone(), Value::None, Value::from("c10::float8_e4m3fn")]);
        vec![
            ("M", count_value(self.rows())),
            ("N", count_value(self.columns())),
            ("group_size", count_value(self.group_size)),
            ("num_groups", count_value(self.groups())),
            ("shape_x", shape.clone()),
            ("dtype_x", element_type),
            ("shape_in1", shape.clone()),
            ("shape_in2", Value::Tuple(Vec::new())),
            ("shape_out", shape),
            ("dtype_in1_in2_out", element_types),
            ("stride_input1", Value::None),
            ("stride_input2", Value::None),
            ("stride_output", Value::None),
        ]
    }

    fn assumption(&self) -> Option<String> {
        self.group_size_assumed.then(|| format!("assumed group size {}", self.group_size))
    }
}

/// Quantization to MXFP4: 4 bits an element and an 8-bit scale for each 32.
///
/// ```
/// use perf_models::{Mxfp4Quantization, PerfModel, Tensor};
///
/// let input = Tensor::new([64, 7168], "c10::BFloat16");
/// let quantization = Mxfp4Quantization { input, ..Mxfp4Quantization::default() };
/// assert_eq!(quantization.flops()?, 2.0 * 64.0 * 7168.0);
/// assert_eq!(quantization.bytes()?, 64.0 * 7168.0 * (2.0 + 0.5) + 64.0 * 7168.0 / 32.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mxfp4Quantization {
    /// What is quantized.
    pub input: Tensor,
    /// Its strides in elements, for reports.
    pub input_strides: Option<Vec<i64>>,
}

impl PerfModel for Mxfp4Quantization {
    /// A comparison for the largest magnitude and a division for each element.
    fn flops(&self) -> Figure {
        Ok(2.0 * self.input.elements())
    }

    /// Input read; half a byte for each element and a byte for each complete group of 32 written.
    fn bytes(&self) -> Figure {
        let elements = self.input.elements();
        Ok(self.input.bytes()? + 0.5 * elements + (elements / MX_BLOCK).floor())
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.input.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let element_type = Value::from(self.input.element_type.as_str());
        vec![
            ("op_shape", shape_value(&self.input.shape)),
            ("dtype_in_out", Value::Tuple(vec![element_type.clone(), element_type])),
            ("stride_input", strides_value(self.input_strides.as_deref())),
            ("stride_output", Value::None),
        ]
    }
}

/// Output, input, scales.
fn scaled(call: &OpCall<'_>) -> Read {
    let [output, input, scales] = [call.tensor(0)?, call.tensor(1)?, call.tensor(2)?];
    let strides = [call.strides_of(1)?, call.strides_of(2)?, call.strides_of(0)?].map(Some);
    Ok(Recorded::new(ScaledQuantization { input, scales, output, strides }))
}

/// Input, group size.
fn fp8_groups(call: &OpCall<'_>) -> Read {
    /// The block of DeepSeek-V3's FP8 recipe, which vLLM takes where nothing is said.
    const USUAL_GROUP: u64 = 128;
    let recorded = call.positive_integer(1);
    Ok(Recorded::new(GroupQuantizationFp8 {
        input: call.tensor(0)?,
        group_size: recorded.unwrap_or(USUAL_GROUP),
        group_size_assumed: recorded.is_none(),
    }))
}

/// Reads a quantization of input `index` whose strides are not reported.
fn mxfp4(call: &OpCall<'_>, index: usize) -> Read {
    Ok(Recorded::new(Mxfp4Quantization { input: call.tensor(index)?, input_strides: None }))
}

fn mxfp4_with_strides(call: &OpCall<'_>, index: usize) -> Read {
    let input_strides = Some(call.strides_of(index)?);
    Ok(Recorded::new(Mxfp4Quantization { input: call.tensor(index)?, input_strides }))
}

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::BinaryElementwise,
        Category::GroupQuant,
        &[
            op("aiter::dynamic_per_token_scaled_quant", scaled),
            op("aiter::dynamic_per_group_scaled_quant", scaled),
            op("aiter::dynamic_per_tensor_quant", scaled),
            op("vllm::triton_per_token_group_quant_fp8", fp8_groups),
        ],
    ),
    OpGroup::modelled(
        Family::GroupQuant,
        Category::GroupQuant,
        &[
            op("aiter::fused_dynamic_mx_quant_moe_sort_hip", |call| mxfp4_with_strides(call, 2)),
            op("aiter::dynamic_per_group_scaled_quant_fp4", |call| mxfp4(call, 1)),
            op("sglang_profiler::fused_mxfp4_quant_fused_flatten_mxfp4_quant", |call| {
                mxfp4_with_strides(call, 0)
            }),
            op("sglang_profiler::quant_dynamic_mxfp4_quant", |call| mxfp4(call, 0)),
        ],
    ),
    // The quantization model with the category of the sort that it is fused with.
    OpGroup::modelled(
        Family::GroupQuant,
        Category::MoeAuxiliary,
        &[op("aiter::fused_dynamic_mxfp4_quant_moe_sort_hip", |call| mxfp4(call, 2))],
    ),
];
