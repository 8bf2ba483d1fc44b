//! A matrix multiplication as operators record it.

use super::model::Gemm;
use crate::gemm_kernel::GemmKernel;
use crate::recorded::{Backward, Read, Recorded};
use crate::tensor::strides_value;
use crate::{OpCall, Parameter, PerfModel, Undefined, Value};

/// Reads a multiplication out of the recorded arguments.
pub(crate) type Layout = for<'a> fn(&OpCall<'a>) -> Gemmed<'a>;

pub(super) type Gemmed<'a> = Result<GemmCall<'a>, Undefined>;

/// A multiplication as an operator records it, with what reports show besides its dimensions.
pub(crate) struct GemmCall<'a> {
    pub(super) gemm: Gemm,
    /// Whether the batch is the first parameter; otherwise it is the last.
    pub(super) batch_first: bool,
    /// Strides of the operands, where they are shown.
    pub(super) strides: Option<[Value; 2]>,
    /// Element types of operands and result, as far as they are shown.
    pub(super) types: Vec<&'a str>,
    pub(super) extras: Vec<Parameter>,
    pub(super) backward: Backward,
    pub(super) note: Option<String>,
    /// What TraceLens makes of it, where that differs.
    pub(super) tracelens: Option<Gemm>,
}

impl<'a> GemmCall<'a> {
    /// An operator of training: the gradients are multiplications of their own.
    pub(super) fn from_training(
        call: &OpCall<'_>,
        operands: [usize; 2],
        gemm: Gemm,
        types: Vec<&'a str>,
    ) -> Result<Self, Undefined> {
        let strides = Some(strides(call, operands)?);
        Ok(Self {
            strides,
            backward: Backward::OtherMultiplications,
            batch_first: false,
            ..Self::from_engine(gemm, types)
        })
    }

    /// An operator of an inference engine.
    pub(super) fn from_engine(gemm: Gemm, types: impl Into<Vec<&'a str>>) -> Self {
        Self {
            gemm,
            batch_first: true,
            strides: None,
            types: types.into(),
            extras: Vec::new(),
            backward: Backward::AsModelled,
            note: None,
            tracelens: None,
        }
    }

    /// The model, with the transposes that the kernels' names tell.
    pub(crate) fn recorded(self, call: &OpCall<'_>) -> Read {
        let Self { gemm, batch_first, strides, types, extras, backward, note, tracelens } = self;
        let mut parameters = gemm.parameters();
        if batch_first {
            parameters.rotate_right(1);
        }
        let batch = if batch_first { None } else { parameters.pop() };
        if let Some([a, b]) = strides {
            parameters.extend([("stride_A", a), ("stride_B", b)]);
        }
        parameters.push(("dtype_A_B", Value::Tuple(types.into_iter().map(Value::from).collect())));
        parameters.extend(extras);
        parameters.extend(batch);
        if let Some(kernel) = call.kernels.iter().find_map(|name| GemmKernel::parse(name)) {
            let transposes = vec![kernel.transpose_a.into(), kernel.transpose_b.into()];
            parameters.push(("transpose", Value::Tuple(transposes)));
        }
        let recorded =
            Recorded::new(gemm).with_parameters(parameters).with_notes(note).with_backward(backward);
        Ok(match tracelens {
            Some(tracelens) => recorded.with_tracelens(tracelens),
            None => recorded,
        })
    }
}

/// Strides of both operands; nothing where the call records no strides at all.
pub(super) fn strides(call: &OpCall<'_>, [a, b]: [usize; 2]) -> Result<[Value; 2], Undefined> {
    let of = |index| Ok(strides_value(call.strides_if_recorded(index)?.as_deref()));
    Ok([of(a)?, of(b)?])
}
