//! RMS normalization of inference engines, alone or fused with addition or quantization.
//!
//! [Root mean square layer normalization](https://arxiv.org/abs/1910.07467): a row is squared, summed,
//! divided by the root of the mean and scaled by a weight.

use super::{OpGroup, op};
use crate::recorded::{Read, Recorded};
use crate::tensor::{Tensor, count_value, finite, shape_value, strides_value};
use crate::{
    Category, ComputeSpec, Family, Figure, OpCall, Parameter, PerfModel, Undefined, Value, element_size,
};

/// Elements that share one scale in the microscaling formats ([OCP MX], section 5.2).
///
/// [OCP MX]: https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf
pub(super) const MX_BLOCK: f64 = 32.0;

/// RMS normalization of the rows of a tensor, with what is fused to it.
///
/// ```
/// use perf_models::{InferenceRmsNorm, PerfModel, RmsNormFusion, Tensor};
///
/// let norm = InferenceRmsNorm {
///     input: Tensor::new([64, 7168], "c10::BFloat16"),
///     input_strides: None,
///     channels: 7168,
///     fused: RmsNormFusion::Addition,
/// };
/// let elements = 64.0 * 7168.0;
/// assert_eq!(norm.flops()?, 64.0 * (2.0 * 7168.0 + 2.0) + 2.0 * elements + elements);
/// // Input, residual, sum and result; the weight once.
/// assert_eq!(norm.bytes()?, 2.0 * (4.0 * elements + 7168.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InferenceRmsNorm {
    /// What is normalized.
    pub input: Tensor,
    /// Its strides in elements, for reports.
    pub input_strides: Option<Vec<i64>>,
    /// Elements of a row, and of the weight.
    pub channels: u64,
    /// Work in the same kernel.
    pub fused: RmsNormFusion,
}

/// What is fused with an RMS normalization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RmsNormFusion {
    /// Nothing.
    Nothing,
    /// A residual is added first and the sum written as well.
    Addition,
    /// A residual is added first, the sum written as well and the rows of the result padded.
    AdditionAndPadding {
        /// Elements of a row of the result.
        padded_channels: u64,
    },
    /// The result is quantized to 8 bits.
    Quantization {
        /// 32-bit scales of a row.
        scales_per_row: u64,
        /// Whether a residual is added first and the sum written as well.
        addition: bool,
    },
    /// The result is quantized to 4 bits with a scale for each 32 elements.
    Fp4Quantization {
        /// Whether a residual is added first and the sum written as well.
        addition: bool,
        /// Elements of a row of a second tensor that is normalized beside the first.
        second_channels: Option<u64>,
    },
}

impl InferenceRmsNorm {
    /// Elements of a row.
    fn row_length(&self) -> Figure {
        match self.channels {
            0 => Err(Undefined::arguments("a row has no elements")),
            channels => Ok(channels as f64),
        }
    }

    /// Rows that are complete; a tensor whose size is no multiple of the channels has a rest.
    fn rows(&self) -> Figure {
        Ok((self.input.elements() / self.row_length()?).floor())
    }

    /// Squares and their sum, mean and root for each row: 2c + 2; division and weight: 2 for each element.
    fn normalization_flops(&self) -> Figure {
        let (elements, channels) = (self.input.elements(), self.row_length()?);
        Ok(elements / channels * (2.0 * channels + 2.0) + 2.0 * elements)
    }
}

impl PerfModel for InferenceRmsNorm {
    /// With E elements and c channels: (E/c)(2c + 2) + 2E, and E for an addition, 2E for a quantization.
    fn flops(&self) -> Figure {
        let elements = self.input.elements();
        let fused = match self.fused {
            RmsNormFusion::Nothing => 0.0,
            RmsNormFusion::Addition | RmsNormFusion::AdditionAndPadding { .. } => elements,
            RmsNormFusion::Quantization { addition: false, .. } => 2.0 * elements,
            RmsNormFusion::Quantization { addition: true, .. } => 3.0 * elements,
            RmsNormFusion::Fp4Quantization { addition, second_channels } => {
                let addition = if addition { self.rows()? * self.channels as f64 } else { 0.0 };
                let second_elements = self.rows()? * second_channels.unwrap_or(0) as f64;
                let second = (self.normalization_flops()? * second_elements / elements.max(1.0)).trunc();
                addition + second + 2.0 * elements
            }
        };
        finite(self.normalization_flops()? + fused)
    }

    /// Input, weight and output, and the residual, the sum and the scales where there are any.
    fn bytes(&self) -> Figure {
        let size = element_size(&self.input.element_type)?;
        let (input, weight) = (self.input.bytes()?, self.channels as f64 * size);
        let elements = self.input.elements();
        let rest = match self.fused {
            RmsNormFusion::Nothing => input,
            RmsNormFusion::Addition => 3.0 * input,
            RmsNormFusion::AdditionAndPadding { padded_channels } => {
                input + self.rows()? * (padded_channels as f64 + self.channels as f64) * size
            }
            RmsNormFusion::Quantization { scales_per_row, addition } => {
                let residual_and_sum = if addition { 2.0 * input } else { 0.0 };
                residual_and_sum + elements + 4.0 * self.rows()? * scales_per_row as f64
            }
            RmsNormFusion::Fp4Quantization { addition, second_channels } => {
                let residual_and_sum = if addition { 2.0 * input } else { 0.0 };
                let second = (2.0 * self.rows()? + 1.0) * second_channels.unwrap_or(0) as f64 * size;
                residual_and_sum + 0.5 * elements + (elements / MX_BLOCK).floor() + second
            }
        };
        finite(input + weight + rest)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.input.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let element_types = Value::Tuple(vec![Value::from(self.input.element_type.as_str()), Value::None]);
        vec![
            ("op_shape", shape_value(&self.input.shape)),
            ("dtype_in_out", element_types),
            ("stride_input", strides_value(self.input_strides.as_deref())),
            ("stride_output", Value::None),
            ("num_channels", count_value(self.channels)),
            ("has_bias", Value::Bool(false)),
            ("is_affine", Value::Bool(true)),
            ("is_training", Value::Bool(false)),
        ]
    }
}

/// Reads a normalization of input `input` with the weight `weight`.
fn plain(call: &OpCall<'_>, input: usize, weight: usize) -> Result<InferenceRmsNorm, Undefined> {
    let channels = call.dimension(weight, 0)?;
    if channels == 0 {
        return Err(Undefined::arguments(format!("the weight Input Dims[{weight}] has no elements")));
    }
    Ok(InferenceRmsNorm {
        input: call.tensor(input)?,
        input_strides: Some(call.strides_of(input)?),
        channels,
        fused: RmsNormFusion::Nothing,
    })
}

fn with(model: InferenceRmsNorm, fused: RmsNormFusion) -> Read {
    Ok(Recorded::new(InferenceRmsNorm { fused, ..model }))
}

fn norm(call: &OpCall<'_>, input: usize, weight: usize) -> Read {
    with(plain(call, input, weight)?, RmsNormFusion::Nothing)
}

fn norm_of_sum(call: &OpCall<'_>) -> Read {
    with(plain(call, 1, 4)?, RmsNormFusion::Addition)
}

fn norm_and_row_quantization(call: &OpCall<'_>) -> Read {
    with(plain(call, 1, 3)?, RmsNormFusion::Quantization { scales_per_row: 1, addition: false })
}

/// A group size that is absent or not positive means one group: the row.
fn norm_and_optional_group_quantization(call: &OpCall<'_>) -> Read {
    let model = plain(call, 1, 3)?;
    let scales_per_row = model.channels.div_ceil(call.positive_integer(5).unwrap_or(model.channels));
    with(model, RmsNormFusion::Quantization { scales_per_row, addition: false })
}

fn norm_and_group_quantization(call: &OpCall<'_>, weight: usize, group_size: usize, addition: bool) -> Read {
    let model = plain(call, 0, weight)?;
    let group = call.concrete_integer(group_size)?;
    let group = u64::try_from(group).ok().filter(|&size| size > 0).ok_or_else(|| {
        Undefined::arguments(format!(
            "the group size in Concrete Inputs[{group_size}] is not positive: {group}"
        ))
    })?;
    let scales_per_row = model.channels.div_ceil(group);
    with(model, RmsNormFusion::Quantization { scales_per_row, addition })
}

/// Rows are padded to a multiple of `Concrete Inputs[4]`, not at all if it is not positive.
fn norm_of_sum_with_padding(call: &OpCall<'_>) -> Read {
    let model = plain(call, 0, 1)?;
    let padded_channels = match u64::try_from(call.concrete_integer(4)?) {
        Ok(multiple) if multiple > 0 => model.channels.div_ceil(multiple).saturating_mul(multiple),
        _ => model.channels,
    };
    with(model, RmsNormFusion::AdditionAndPadding { padded_channels })
}

/// A second tensor at 3 and a residual at 6, if they are there: matrices.
fn norm_and_fp4_quantization(call: &OpCall<'_>) -> Read {
    let model = plain(call, 0, 1)?;
    let matrix = |index| call.dimensions_of::<2>(index).ok();
    let second_channels = matrix(3).map(|[_, columns]| columns);
    with(model, RmsNormFusion::Fp4Quantization { addition: matrix(6).is_some(), second_channels })
}

/// `fused_add_rms_norm(input!, residual!, weight, …)`: the sum takes the place of the residual.
fn norm_of_sum_in_place(call: &OpCall<'_>) -> Read {
    with(plain(call, 0, 2)?, RmsNormFusion::Addition)
}

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::ours(
        Family::RmsNorm,
        Category::RmsNorm,
        &[
            op("_C::rms_norm", |call| norm(call, 1, 2)),
            op("sgl_kernel::rmsnorm", |call| norm(call, 1, 2)),
            op("_C::fused_add_rms_norm", norm_of_sum_in_place),
            op("sgl_kernel::fused_add_rmsnorm", norm_of_sum_in_place),
        ],
    ),
    OpGroup::modelled(
        Family::RmsNorm,
        Category::RmsNorm,
        &[
            op("aiter::fused_add_rmsnorm_pad_", norm_of_sum_with_padding),
            op("aiter::rms_norm", |call| norm(call, 0, 1)),
            op("aiter::rmsnorm", |call| norm(call, 1, 2)),
            op("aiter::rmsnorm2d_fwd_ck", |call| norm(call, 0, 1)),
            op("aiter::rmsnorm2d_fwd_with_add_ck", norm_of_sum),
            op("aiter::add_rmsnorm", norm_of_sum),
            op("aiter::rmsnorm2d_fwd_with_dynamicquant_ck", norm_and_row_quantization),
            op("aiter::_fuse_rmsnorm_fp4_quant", norm_and_fp4_quantization),
            op("aiter::rmsnorm_quant", norm_and_optional_group_quantization),
            op("vllm::rocm_aiter_rmsnorm_fp8_group_quant", |call| {
                norm_and_group_quantization(call, 1, 3, false)
            }),
            op("vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant", |call| {
                norm_and_group_quantization(call, 2, 4, true)
            }),
            op("vllm::rocm_aiter_triton_add_rmsnorm_pad", norm_of_sum_with_padding),
            op("sglang_profiler::fused_mxfp4_quant_fused_rms_mxfp4_quant", norm_and_fp4_quantization),
        ],
    ),
];
