//! Collectives that inference engines implement themselves.
//!
//! Bytes are the traffic of the device's own memory; what crosses the links between devices is not in
//! them. No peak of an arithmetic unit bounds a collective, so there is no compute spec.

use super::{OpGroup, named, op};
use crate::recorded::{Read, Recorded};
use crate::tensor::{Tensor, count_value, elements, shape_value, strides_value};
use crate::{
    Category, ComputeSpec, Family, Figure, OpCall, Parameter, PerfModel, Undefined, Value, element_size,
};

/// Sum over devices, read and written once by each.
///
/// ```
/// use perf_models::{CustomAllReduce, PerfModel, Tensor};
///
/// let input = Tensor::new([64, 7168], "c10::BFloat16");
/// let sum = CustomAllReduce { input, input_strides: None };
/// assert_eq!((sum.flops()?, sum.bytes()?), (0.0, 2.0 * 2.0 * 64.0 * 7168.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomAllReduce {
    /// What each device contributes.
    pub input: Tensor,
    /// Its strides in elements, for reports.
    pub input_strides: Option<Vec<i64>>,
}

impl PerfModel for CustomAllReduce {
    /// None: the additions are hidden behind the transfers.
    fn flops(&self) -> Figure {
        Ok(0.0)
    }

    /// The tensor read and written.
    fn bytes(&self) -> Figure {
        Ok(2.0 * self.input.bytes()?)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        None
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            ("op_shape", shape_value(&self.input.shape)),
            ("dtype_in", Value::from(self.input.element_type.as_str())),
            ("stride_input", strides_value(self.input_strides.as_deref())),
        ]
    }
}

/// Sum over devices, addition of a residual and RMS normalization in one kernel.
///
/// ```
/// use perf_models::{AllReduceRmsNorm, PerfModel, Tensor};
///
/// let sum = AllReduceRmsNorm {
///     input: Tensor::new([64, 7168], "c10::BFloat16"),
///     input_strides: None,
///     channels: 7168,
/// };
/// // Residual and normalization take five operations an element, and two a row.
/// assert_eq!(sum.flops()?, 64.0 * (5.0 * 7168.0 + 2.0));
/// // Four passes over the tokens, and the weight.
/// assert_eq!(sum.bytes()?, 2.0 * (4.0 * 64.0 + 1.0) * 7168.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllReduceRmsNorm {
    /// What each device contributes.
    pub input: Tensor,
    /// Its strides in elements, for reports.
    pub input_strides: Option<Vec<i64>>,
    /// Elements of a row, and of the weight.
    pub channels: u64,
}

impl PerfModel for AllReduceRmsNorm {
    /// With E elements and c channels: E for the residual, ⌊E/c⌋(2c + 2) + 2E for the normalization.
    fn flops(&self) -> Figure {
        let (elements, channels) = (self.input.elements(), self.channels as f64);
        if channels == 0.0 {
            return Err(Undefined::arguments("the weight has no elements"));
        }
        Ok(elements + (elements / channels).floor() * (2.0 * channels + 2.0) + 2.0 * elements)
    }

    /// Input and residual read, sum and result written, weight read.
    fn bytes(&self) -> Figure {
        Ok(4.0 * self.input.bytes()? + self.channels as f64 * element_size(&self.input.element_type)?)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        None
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            ("op_shape", shape_value(&self.input.shape)),
            ("dtype_in", Value::from(self.input.element_type.as_str())),
            ("stride_input", strides_value(self.input_strides.as_deref())),
            ("num_channels", count_value(self.channels)),
        ]
    }
}

/// A collective whose result has another size than its input: reduce-scatter, all-gather.
///
/// ```
/// use perf_models::{CustomReshard, PerfModel, Tensor};
///
/// // A reduce-scatter over 8 devices: each keeps 8 of 64 rows.
/// let reduce_scatter = CustomReshard {
///     input: Tensor::new([64, 7168], "c10::BFloat16"),
///     input_strides: None,
///     output_shape: vec![8, 7168],
/// };
/// assert_eq!((reduce_scatter.flops()?, reduce_scatter.bytes()?), (0.0, 2.0 * (64.0 + 8.0) * 7168.0));
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomReshard {
    /// What each device contributes.
    pub input: Tensor,
    /// Its strides in elements, for reports; `None` for operators that take the output first.
    pub input_strides: Option<Vec<i64>>,
    /// Shape of what each device receives.
    pub output_shape: Vec<u64>,
}

impl PerfModel for CustomReshard {
    /// None: the additions of a reduce-scatter are hidden behind the transfers.
    fn flops(&self) -> Figure {
        Ok(0.0)
    }

    /// Input read, output written.
    fn bytes(&self) -> Figure {
        let size = element_size(&self.input.element_type)?;
        Ok((self.input.elements() + elements(&self.output_shape)) * size)
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        None
    }

    fn parameters(&self) -> Vec<Parameter> {
        let input = ("op_shape", shape_value(&self.input.shape));
        let output = ("out_shape", shape_value(&self.output_shape));
        let element_type = ("dtype_in", Value::from(self.input.element_type.as_str()));
        match &self.input_strides {
            Some(strides) => {
                vec![input, output, element_type, ("stride_input", strides_value(Some(strides)))]
            }
            None => vec![output, input, element_type],
        }
    }
}

/// A handle, input, output.
fn all_reduce(call: &OpCall<'_>) -> Read {
    let input_strides = Some(call.strides_of(1)?);
    Ok(Recorded::new(CustomAllReduce { input: call.tensor(1)?, input_strides }))
}

/// Reads the input at `input` and the weight at `weight`.
fn all_reduce_norm(call: &OpCall<'_>, input: usize, weight: usize) -> Read {
    let channels = call.dimension(weight, 0)?;
    let input_strides = Some(call.strides_of(input)?);
    Ok(Recorded::new(AllReduceRmsNorm { input: call.tensor(input)?, input_strides, channels }))
}

/// A handle, input, output.
fn reshard(call: &OpCall<'_>) -> Read {
    let input_strides = Some(call.strides_of(1)?);
    let output_shape = call.dimensions(2)?;
    Ok(Recorded::new(CustomReshard { input: call.tensor(1)?, input_strides, output_shape }))
}

/// Output, input; the element type is that of the output.
fn gather_into(call: &OpCall<'_>) -> Read {
    let input = Tensor::new(call.dimensions(1)?, call.type_of(0)?);
    Ok(Recorded::new(CustomReshard { input, input_strides: None, output_shape: call.dimensions(0)? }))
}

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::CustomCollective,
        Category::CustomCollective,
        &[
            op("aiter::fused_allreduce_rmsnorm", |call| all_reduce_norm(call, 2, 6)),
            op("aiter::fused_allreduce_rmsnorm_", |call| all_reduce_norm(call, 0, 2)),
            op("aiter::reduce_scatter", reshard),
            op("aiter::all_gather_reg", reshard),
            op("_C_custom_ar::all_reduce", all_reduce),
            op("_C_custom_ar::qr_all_reduce", all_reduce),
            op("sgl_kernel::all_reduce_reg", all_reduce),
            op("sgl_kernel::qr_all_reduce", all_reduce),
            op("sglang::reg_all_gather_into_tensor", gather_into),
        ],
    ),
    OpGroup::category_only(
        Category::CustomCollective,
        &[
            named(
                "aiter::allgather_lastdim<std::bfloat16_t, 2>(aiter::RankData*, aiter::RankSignals, aiter::Signal*, std::bfloat16_t*, int, int, int) (Synthetic Op)",
            ),
            named(
                "aiter::allgather_lastdim<std::bfloat16_t, 4>(aiter::RankData*, aiter::RankSignals, aiter::Signal*, std::bfloat16_t*, int, int, int) (Synthetic Op)",
            ),
        ],
    ),
];
