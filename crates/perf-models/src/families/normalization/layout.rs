//! Reads normalizations out of recorded arguments.

use std::num::NonZeroU64;

use super::model::{Channels, Normalization, NormalizationBackward, NormalizationKind, Statistics};
use crate::families::traffic::tensor;
use crate::recorded::{Read, Recorded};
use crate::{OpCall, PerfModel, Undefined};

/// Where a forward call records what.
pub(super) struct Layout {
    weight: usize,
    bias: Option<usize>,
    channels: ChannelsOf,
    training: Training,
    kind: NormalizationKind,
    statistics: StatisticsOf,
}

/// What has a mean and a deviation.
#[derive(Clone, Copy)]
enum StatisticsOf {
    Channel,
    /// Each channel of each image.
    ChannelOfImage,
    /// What is normalized together.
    Row,
    /// Each group of each image; the number of groups is the value of this input.
    Group(usize),
}

enum ChannelsOf {
    /// The second dimension of the input.
    SecondDimension,
    /// The elements of the normalized shape, which is the value of this input.
    NormalizedShape(usize),
}

/// Whether statistics are computed.
enum Training {
    Always,
    Never,
    /// If the value of this input says so.
    Input(usize),
}

/// `batch_norm(input, weight, bias, running_mean, running_var, training, ...)`.
pub(super) const BATCH: Layout = Layout {
    weight: 1,
    bias: Some(2),
    channels: ChannelsOf::SecondDimension,
    training: Training::Input(5),
    kind: NormalizationKind::MeanAndVariance,
    statistics: StatisticsOf::Channel,
};

/// As [`BATCH`], with `use_input_stats` in the place of `training`.
pub(super) const INSTANCE: Layout = Layout { statistics: StatisticsOf::ChannelOfImage, ..BATCH };

/// `layer_norm(input, normalized_shape, weight, bias, ...)`.
pub(super) const LAYER: Layout = Layout {
    weight: 2,
    bias: Some(3),
    channels: ChannelsOf::NormalizedShape(1),
    training: Training::Always,
    kind: NormalizationKind::MeanAndVariance,
    statistics: StatisticsOf::Row,
};

/// `group_norm(input, num_groups, weight, bias, ...)`.
pub(super) const GROUP: Layout =
    Layout { channels: ChannelsOf::SecondDimension, statistics: StatisticsOf::Group(1), ..LAYER };

/// `native_group_norm(input, weight, bias, N, C, HxW, group, eps)`.
pub(super) const NATIVE_GROUP: Layout =
    Layout { weight: 1, bias: Some(2), statistics: StatisticsOf::Group(6), ..GROUP };

/// As [`GROUP`] or, from releases that do not record the number of groups, `(input, weight, bias, ...)`.
pub(super) fn group_forward(call: &OpCall<'_>) -> Read {
    forward(call, if call.has_dimensions(1) { &NATIVE_GROUP } else { &GROUP })
}

/// `_fused_rms_norm(input, normalized_shape, weight, eps)`.
pub(super) const RMS: Layout =
    Layout { bias: None, training: Training::Never, kind: NormalizationKind::Rms, ..LAYER };

impl ChannelsOf {
    fn count(&self, call: &OpCall<'_>, input: usize) -> Result<u64, Undefined> {
        match *self {
            Self::SecondDimension => call.dimension(input, 1),
            Self::NormalizedShape(index) => {
                let sides = call.concrete_integers(index)?;
                let count = sides.iter().try_fold(1_u64, |count, &side| {
                    u64::try_from(side).ok().and_then(|side| count.checked_mul(side))
                });
                count.ok_or_else(|| {
                    Undefined::arguments(format!("Concrete Inputs[{index}] is not a shape: {sides:?}"))
                })
            }
        }
    }
}

/// Input `index` and its strides; channels, weight, bias and the rest are the caller's to fill in.
fn normalization(call: &OpCall<'_>, index: usize) -> Result<Normalization, Undefined> {
    Ok(Normalization {
        input: call.tensor(index)?,
        input_strides: Some(call.strides_of(index)?),
        ..Normalization::default()
    })
}

pub(super) fn forward(call: &OpCall<'_>, layout: &Layout) -> Read {
    let training = match layout.training {
        Training::Always => true,
        Training::Never => false,
        Training::Input(index) => call.concrete_flag(index)?,
    };
    let channels = layout.channels.count(call, 0)?;
    let model = Normalization {
        channels: Channels::Count(channels),
        affine: call.has_dimensions(layout.weight),
        bias: layout.bias.is_some_and(|bias| call.has_dimensions(bias)),
        training,
        kind: layout.kind,
        parameter_type: tensor(call, layout.weight).map(|weight| weight.element_type),
        ..normalization(call, 0)?
    };
    let images = model.input.shape.first().copied().unwrap_or(1);
    let (statistics, note) = match layout.statistics {
        StatisticsOf::Channel => (Statistics::Channels, None),
        StatisticsOf::ChannelOfImage => (Statistics::Count(images.saturating_mul(channels)), None),
        // Conversion saturates.
        StatisticsOf::Row => {
            (Statistics::Count((model.input.elements() / channels.max(1) as f64) as u64), None)
        }
        StatisticsOf::Group(index) => match call.positive_integer(index) {
            Some(groups) => (Statistics::Count(images.saturating_mul(groups)), None),
            None => {
                let note = "statistics excluded: number of groups not recorded".to_owned();
                (Statistics::Count(0), Some(note))
            }
        },
    };
    let tracelens = model.clone().into_tracelens();
    Ok(Recorded::new(Normalization { statistics, ..model }).with_notes(note).with_tracelens(tracelens))
}

/// The gradients of what a forward call normalized, and how TraceLens has them.
fn gradients(forward: Normalization, statistics: Statistics, output_mask: Vec<bool>) -> Recorded {
    let model = NormalizationBackward { forward, output_mask };
    let tracelens = model.clone().into_tracelens();
    let forward = Normalization { statistics, ..model.forward };
    Recorded::new(NormalizationBackward { forward, ..model }).with_tracelens(tracelens)
}

/// As many statistics as the tensor at input `index` has elements.
fn recorded_statistics(call: &OpCall<'_>, index: usize, otherwise: f64) -> Statistics {
    // Conversion saturates.
    Statistics::Count(tensor(call, index).map_or(otherwise, |mean| mean.elements()) as u64)
}

/// Rows of an input of which so many elements are normalized together.
fn rows(forward: &Normalization) -> f64 {
    forward.input.elements() / forward.channels.count().max(1.0)
}

/// `native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean,
/// save_invstd, train, eps, output_mask)`.
pub(super) fn batch_backward(call: &OpCall<'_>) -> Read {
    let affine = call.has_dimensions(2);
    // Without a mask, a layer with weights has biases, too.
    let bias = call.concrete_flags(9).ok().and_then(|mask| mask.get(2).copied()).unwrap_or(true);
    let forward = Normalization {
        channels: Channels::Count(call.dimension(1, 1)?),
        affine,
        bias: affine && bias,
        training: call.concrete_flag(7)?,
        parameter_type: tensor(call, 2).map(|weight| weight.element_type),
        ..normalization(call, 1)?
    };
    let tracelens = NormalizationBackward { forward: forward.clone(), output_mask: vec![true] };
    let mask = call.concrete_flags(9).unwrap_or_else(|_| vec![true]);
    let parameters = tracelens.parameters();
    Ok(gradients(forward, Statistics::Channels, mask)
        .with_parameters(parameters)
        .with_tracelens(tracelens.into_tracelens()))
}

/// `cudnn_batch_norm_backward(input, grad_output, weight, ...)`, and `miopen_...`: they record no flag for training, which they
/// are for; TraceLens counts as if the statistics were given.
pub(super) fn vendor_batch_backward(call: &OpCall<'_>) -> Read {
    let affine = call.has_dimensions(2);
    let channels = Channels::Count(call.dimension(0, 1)?);
    let parameter_type = tensor(call, 2).map(|weight| weight.element_type);
    let given = Normalization { channels, affine, bias: affine, parameter_type, ..normalization(call, 0)? };
    let output_mask = vec![true];
    let tracelens = NormalizationBackward { forward: given.clone(), output_mask: output_mask.clone() };
    let forward = Normalization { training: true, ..given };
    Ok(gradients(forward, Statistics::Channels, output_mask).with_tracelens(tracelens.into_tracelens()))
}

/// `native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask)`.
pub(super) fn layer_backward(call: &OpCall<'_>) -> Read {
    let output_mask = call.concrete_flags(7)?;
    let wanted = |gradient: usize| output_mask.get(gradient).copied().unwrap_or(false);
    let forward = Normalization {
        channels: Channels::Count(ChannelsOf::NormalizedShape(2).count(call, 1)?),
        affine: wanted(1),
        bias: wanted(2),
        training: true,
        parameter_type: tensor(call, 5).map(|weight| weight.element_type),
        ..normalization(call, 1)?
    };
    let statistics = recorded_statistics(call, 3, rows(&forward));
    Ok(gradients(forward, statistics, output_mask))
}

/// `native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask)`.
pub(super) fn group_backward(call: &OpCall<'_>) -> Read {
    let output_mask = call.concrete_flags(9)?;
    let groups = u64::try_from(call.concrete_integer(8)?).ok().and_then(NonZeroU64::new);
    let groups =
        groups.ok_or_else(|| Undefined::arguments("Concrete Inputs[8] is not a number of groups"))?;
    let forward = Normalization {
        channels: Channels::Group { all: call.dimension(1, 1)?, groups },
        affine: call.has_dimensions(4),
        bias: output_mask.get(2).copied().unwrap_or(false),
        training: true,
        parameter_type: tensor(call, 4).map(|weight| weight.element_type),
        ..normalization(call, 1)?
    };
    let images = forward.input.shape.first().copied().unwrap_or(1);
    let statistics = Statistics::Count(images.saturating_mul(groups.get()));
    // Weights are those of all groups.
    let model = Normalization { channels: Channels::Count(call.dimension(1, 1)?), ..forward.clone() };
    let tracelens = NormalizationBackward { forward, output_mask: output_mask.clone() };
    let parameters = tracelens.parameters();
    Ok(gradients(model, statistics, output_mask)
        .with_parameters(parameters)
        .with_tracelens(tracelens.into_tracelens()))
}

/// `_fused_rms_norm_backward(grad_out, input, normalized_shape, rstd, weight, output_mask)`.
pub(super) fn rms_backward(call: &OpCall<'_>) -> Read {
    let forward = Normalization {
        channels: Channels::Count(ChannelsOf::NormalizedShape(2).count(call, 1)?),
        affine: call.has_dimensions(4),
        kind: NormalizationKind::Rms,
        parameter_type: tensor(call, 4).map(|weight| weight.element_type),
        ..normalization(call, 1)?
    };
    Ok(gradients(forward, Statistics::Channels, call.concrete_flags(5)?))
}

pub(super) fn instance_backward(_: &OpCall<'_>) -> Read {
    Err(Undefined::no_formula("no formula for the backward pass of instance normalization"))
}

/// `primus::fused_ln_modulate(x, ...)` with `x` (sequence, batch, channels).
pub(super) fn modulated(call: &OpCall<'_>) -> Read {
    Ok(Recorded::new(modulated_normalization(call)?))
}

/// `primus::fused_ln_modulate_backward(x, ...)`.
pub(super) fn modulated_backward(call: &OpCall<'_>) -> Read {
    let forward = modulated_normalization(call)?;
    Ok(Recorded::new(NormalizationBackward { forward, output_mask: vec![true; 3] }))
}

fn modulated_normalization(call: &OpCall<'_>) -> Result<Normalization, Undefined> {
    let [_, _, channels] = call.dimensions_of(0)?;
    Ok(Normalization {
        input: call.tensor(0)?,
        input_strides: call.strides_of(0).ok(),
        channels: Channels::Count(channels),
        affine: true,
        bias: true,
        training: true,
        kind: NormalizationKind::Modulated,
        ..Normalization::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PerfModel;
    use crate::Value;

    /// Reads a call with the given shapes and values, and answers how it shows bias, affine and training.
    fn flags(read: impl Fn(&OpCall<'_>) -> Read, dims: &[&[i64]], concrete: &[&str]) -> [String; 3] {
        let dims: Vec<Value> = dims.iter().map(|&shape| Value::from(shape)).collect();
        let types = vec![Value::from("float"); dims.len()];
        let concrete: Vec<Value> = concrete.iter().map(|&text| Value::from(text)).collect();
        let call = OpCall {
            dims: Some(&dims),
            types: Some(&types),
            strides: Some(&dims),
            concrete: Some(&concrete),
            ..OpCall::default()
        };
        let parameters = read(&call).unwrap().parameters();
        ["has_bias", "is_affine", "is_training"]
            .map(|name| parameters.iter().find(|(found, _)| *found == name).unwrap().1.to_string())
    }

    #[test]
    fn absent_weights_and_flags_that_say_no_are_no() {
        let x: &[i64] = &[4, 8, 2];
        let (w, none): (&[i64], &[i64]) = (&[8], &[]);
        let all = ["True"; 3];
        let batch = |call: &OpCall<'_>| forward(call, &BATCH);
        assert_eq!(flags(batch, &[x, w, w], &["", "", "", "", "", "True"]), all);
        assert_eq!(flags(batch, &[x, w, w], &["", "", "", "", "", "False"]), ["True", "True", "False"]);
        assert_eq!(flags(batch, &[x, none, none], &["", "", "", "", "", ""]), ["False"; 3]);
        let layer = |call: &OpCall<'_>| forward(call, &LAYER);
        assert_eq!(flags(layer, &[x, none, w, w], &["", "[2]"]), all);
        assert_eq!(flags(layer, &[x, none, w, none], &["", "[2]"]), ["False", "True", "True"]);
        assert_eq!(flags(layer, &[x, none, none, none], &["", "[2]"]), ["False", "False", "True"]);
        let group = |call: &OpCall<'_>| forward(call, &GROUP);
        assert_eq!(flags(group, &[x, none, w, w], &[]), all);
        let native_group = |call: &OpCall<'_>| forward(call, &NATIVE_GROUP);
        assert_eq!(flags(native_group, &[x, w, w], &[]), all);
        assert_eq!(flags(native_group, &[x, w, none], &[]), ["False", "True", "True"]);
        let rms = |call: &OpCall<'_>| forward(call, &RMS);
        assert_eq!(flags(rms, &[x, none, w], &["", "[2]"]), ["False", "True", "False"]);
    }

    #[test]
    fn backward_calls_tell_weights_by_tensor_or_mask() {
        let x: &[i64] = &[4, 8, 2];
        let (w, none): (&[i64], &[i64]) = (&[8], &[]);
        let values = |train, mask| ["", "", "", "", "", "", "", train, "", mask];
        let batch = |train, mask, weight| flags(batch_backward, &[x, x, weight], &values(train, mask));
        assert_eq!(batch("True", "[True, True, True]", w), ["True"; 3]);
        assert_eq!(batch("True", "[True, True, False]", w), ["False", "True", "True"]);
        assert_eq!(batch("False", "[True, True, True]", none), ["False"; 3]);
        assert_eq!(flags(vendor_batch_backward, &[x, x, w], &[]), ["True"; 3]);
        let layer = ["", "", "[2]", "", "", "", "", "[True, True, False]"];
        assert_eq!(flags(layer_backward, &[x, x], &layer), ["False", "True", "True"]);
        let group = ["", "", "", "", "", "4", "8", "2", "4", "[True, True, True]"];
        assert_eq!(flags(group_backward, &[x, x, none, none, w], &group), ["True"; 3]);
        assert_eq!(flags(group_backward, &[x, x, none, none, none], &group), ["True", "False", "True"]);
        let rms = ["", "", "[2]", "", "", "[True, True]"];
        assert_eq!(flags(rms_backward, &[x, x, none, none, w], &rms), ["False", "True", "False"]);
    }

    #[test]
    fn shapes_that_cannot_be_read_are_named() {
        let dims = vec![Value::tuple([4, 8]); 5];
        let types = vec![Value::from("float"); 5];
        for (text, reason) in [
            ("[x]", "Concrete Inputs[1] \"[x]\" holds no integers"),
            ("[-8]", "Concrete Inputs[1] is not a shape: [-8]"),
            ("[9223372036854775807, 8]", "Concrete Inputs[1] is not a shape: [9223372036854775807, 8]"),
        ] {
            let concrete = [Value::from(""), Value::from(text)];
            let call = OpCall {
                dims: Some(&dims),
                types: Some(&types),
                strides: Some(&dims),
                concrete: Some(&concrete),
                ..OpCall::default()
            };
            assert_eq!(forward(&call, &LAYER).unwrap_err().reason, reason);
        }
        let concrete = ["", "", "", "", "", "", "", "", "0", "[True]"].map(Value::from);
        let call = OpCall {
            dims: Some(&dims),
            types: Some(&types),
            strides: Some(&dims),
            concrete: Some(&concrete),
            ..OpCall::default()
        };
        assert_eq!(group_backward(&call).unwrap_err().reason, "Concrete Inputs[8] is not a number of groups");
        assert_eq!(instance_backward(&call).unwrap_err().gap, crate::Gap::NoFormula);
    }
}
