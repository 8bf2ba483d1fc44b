//! The work of a normalization.

use std::num::NonZeroU64;

use crate::recorded::AsTraceLens;
use crate::tensor::{Tensor, count_value, finite, shape_value, strides_value};
use crate::{ComputeSpec, Figure, Parameter, PerfModel, Undefined, Value, element_size};

/// A normalization over channels: batch, layer, group, instance or RMS normalization.
///
/// `channels` is the number of elements that share mean and variance, or that have a weight each.
///
/// ```
/// use perf_models::{Channels, Normalization, NormalizationKind, PerfModel, Statistics, Tensor};
///
/// // Layer normalization of 4×197 tokens.
/// let layer_norm = Normalization {
///     input: Tensor::new([4, 197, 768], "c10::BFloat16"),
///     input_strides: None,
///     channels: Channels::Count(768),
///     affine: true,
///     bias: true,
///     training: true,
///     kind: NormalizationKind::MeanAndVariance,
///     statistics: Statistics::Count(4 * 197),
///     parameter_type: None,
/// };
/// assert_eq!(layer_norm.flops()?, 3_030_528.0);
/// assert_eq!(layer_norm.bytes()?, 2_430_112.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Normalization {
    /// What is normalized.
    pub input: Tensor,
    /// Strides of the input in elements, for reports.
    pub input_strides: Option<Vec<i64>>,
    /// Number of channels.
    pub channels: Channels,
    /// Whether each channel has a weight.
    pub affine: bool,
    /// Whether each channel has a bias, too.
    pub bias: bool,
    /// Whether statistics are computed rather than given.
    pub training: bool,
    /// What it is normalized by.
    pub kind: NormalizationKind,
    /// How many statistics there are.
    pub statistics: Statistics,
    /// Element type of weights and biases; `None` for that of the input.
    pub parameter_type: Option<String>,
}

/// How many means and deviations a normalization has. Kernels keep them in `float`, of `double` in `double`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Statistics {
    /// One of each for a channel, and running ones beside them: batch normalization.
    #[default]
    Channels,
    /// So many of each: as many as rows of layer normalization, as groups of each image of group normalization.
    Count(u64),
}

impl Statistics {
    /// By the sizes alone: of rows where all of the last extent is normalized together, else of channels.
    #[must_use]
    pub fn by_sizes(input: &Tensor, channels: u64) -> Self {
        match input.shape.last() == Some(&channels) {
            // Conversion saturates.
            true => Self::Count((input.elements() / channels.max(1) as f64) as u64),
            false => Self::Channels,
        }
    }
}

/// The number of channels of a normalization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// So many.
    Count(u64),
    /// Those of one group.
    Group {
        /// Channels of all groups.
        all: u64,
        /// Groups.
        groups: NonZeroU64,
    },
}

impl Default for Channels {
    fn default() -> Self {
        Self::Count(0)
    }
}

impl Channels {
    /// The number; fractional where the groups do not divide the channels.
    #[must_use]
    pub fn count(self) -> f64 {
        match self {
            Self::Count(count) => count as f64,
            Self::Group { all, groups } => all as f64 / groups.get() as f64,
        }
    }

    fn value(self) -> Value {
        match self {
            Self::Count(count) => count_value(count),
            Self::Group { .. } => Value::Float(self.count()),
        }
    }
}

/// What a normalization divides by, and what is fused with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NormalizationKind {
    /// Mean and variance.
    #[default]
    MeanAndVariance,
    /// The root mean square.
    Rms,
    /// Mean and variance, then a shift and a scale that differ from sequence to sequence.
    Modulated,
}

impl Normalization {
    fn elements(&self) -> f64 {
        self.input.elements()
    }

    fn element_size(&self) -> Figure {
        element_size(&self.input.element_type)
    }

    /// Bytes of a weight of each channel.
    fn parameter_bytes(&self) -> Figure {
        let name = self.parameter_type.as_deref().unwrap_or(&self.input.element_type);
        Ok(self.channels.count() * element_size(name)?)
    }

    /// Bytes of one statistic, wherever there is one.
    fn statistic_bytes(&self) -> Figure {
        let count = match self.statistics {
            Statistics::Channels => self.channels.count(),
            Statistics::Count(count) => count as f64,
        };
        Ok(count * self.element_size()?.max(4.0))
    }

    /// As TraceLens counts them: two statistics for each channel, twice that where they are computed, of the input's type.
    fn tracelens_bytes(&self) -> Figure {
        let (elements, channels, size) = (self.elements(), self.channels.count(), self.element_size()?);
        match self.kind {
            NormalizationKind::MeanAndVariance => {
                let statistics = 2.0 + when(self.training, 2.0);
                let parameters = when(self.affine, 1.0) + when(self.affine && self.bias, 1.0);
                finite(2.0 * elements * size + channels * size * (statistics + parameters))
            }
            NormalizationKind::Rms => finite(2.0 * elements * size + when(self.affine, channels * size)),
            NormalizationKind::Modulated => self.bytes(),
        }
    }

    pub(super) fn into_tracelens(self) -> AsTraceLens<Self> {
        AsTraceLens { bytes: self.tracelens_bytes(), ..AsTraceLens::new(self) }
    }

    /// Rows that are normalized each by itself.
    fn rows(&self) -> Figure {
        if self.elements() == 0.0 {
            Ok(0.0)
        } else if self.channels.count() > 0.0 {
            Ok(self.elements() / self.channels.count())
        } else {
            Err(Undefined::arguments("no channels are normalized"))
        }
    }

    /// Sequence length, batch and channels of a modulated normalization.
    fn sequence_and_batch(&self) -> Result<[f64; 3], Undefined> {
        match self.input.shape.as_slice() {
            &[sequence, batch, channels] => Ok([sequence, batch, channels].map(|count| count as f64)),
            shape => Err(Undefined::arguments(format!(
                "the modulated input has {} dimensions, not 3",
                shape.len()
            ))),
        }
    }
}

fn when(condition: bool, figure: f64) -> f64 {
    if condition { figure } else { 0.0 }
}

impl PerfModel for Normalization {
    /// Two for each element (difference and scaling) and 6 for each channel; three more for each element
    /// where its statistics are computed.
    fn flops(&self) -> Figure {
        let (elements, channels) = (self.elements(), self.channels.count());
        finite(match self.kind {
            NormalizationKind::MeanAndVariance => {
                6.0 * channels + 2.0 * elements + when(self.training, 3.0 * elements)
            }
            // Square and sum in each channel, root and reciprocal in each row, scaling and weight.
            NormalizationKind::Rms => {
                self.rows()? * (2.0 * channels + 2.0) + elements * if self.affine { 2.0 } else { 1.0 }
            }
            NormalizationKind::Modulated => 12.0 * elements,
        })
    }

    /// Input read, result written, the parameters of the channels read, and the statistics: running ones read and, where
    /// others are computed, written, as those are.
    fn bytes(&self) -> Figure {
        let (elements, size) = (self.elements(), self.element_size()?);
        finite(match self.kind {
            NormalizationKind::MeanAndVariance => {
                let statistics = match self.statistics {
                    Statistics::Channels => 2.0 + when(self.training, 4.0),
                    Statistics::Count(_) => 2.0,
                };
                let parameters = when(self.affine, 1.0) + when(self.affine && self.bias, 1.0);
                2.0 * elements * size
                    + parameters * self.parameter_bytes()?
                    + statistics * self.statistic_bytes()?
            }
            NormalizationKind::Rms => {
                let rows = self.rows()? * size.max(4.0);
                2.0 * elements * size + when(self.affine, self.parameter_bytes()?) + rows
            }
            NormalizationKind::Modulated => {
                // Shift and scale for each sequence read, two 32-bit statistics for each row written.
                let [sequence, batch, channels] = self.sequence_and_batch()?;
                2.0 * elements * size + 2.0 * batch * channels * size + 8.0 * sequence * batch
            }
        })
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(&self.input.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            ("op_shape", shape_value(&self.input.shape)),
            ("dtype_in_out", Value::Tuple(vec![self.input.element_type.as_str().into(), Value::None])),
            ("stride_input", strides_value(self.input_strides.as_deref())),
            ("stride_output", Value::None),
            ("num_channels", self.channels.value()),
            ("has_bias", self.bias.into()),
            ("is_affine", self.affine.into()),
            ("is_training", self.training.into()),
        ]
    }
}

/// The backward pass of a normalization.
///
/// ```
/// use perf_models::{Channels, Normalization, NormalizationBackward, PerfModel, Statistics, Tensor};
///
/// // Layer normalization over the last three dimensions, all three gradients.
/// let backward = NormalizationBackward {
///     forward: Normalization {
///         input: Tensor::new([8, 16, 32, 32], "float"),
///         channels: Channels::Count(16 * 32 * 32),
///         affine: true,
///         bias: true,
///         training: true,
///         statistics: Statistics::Count(8),
///         ..Normalization::default()
///     },
///     output_mask: vec![true, true, true],
/// };
/// assert_eq!(backward.flops()?, 1_179_648.0);
/// assert_eq!(backward.bytes()?, 1_769_536.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NormalizationBackward {
    /// The normalization whose gradients are wanted.
    pub forward: Normalization,
    /// Which gradients are computed: of the input, the weights, the biases, as far as recorded.
    pub output_mask: Vec<bool>,
}

impl NormalizationBackward {
    fn wants(&self, gradient: usize) -> bool {
        self.output_mask.get(gradient).copied().unwrap_or(false)
    }

    /// Whether there is such a gradient and nothing says that it is not wanted.
    fn writes(&self, gradient: usize, exists: bool) -> bool {
        exists && self.output_mask.get(gradient).copied().unwrap_or(true)
    }

    /// As TraceLens counts them: the input's gradient is only written where it passed through the statistics, of which there
    /// is one for each channel.
    fn tracelens_bytes(&self) -> Figure {
        let forward = &self.forward;
        let (elements, channels, size) =
            (forward.elements(), forward.channels.count(), forward.element_size()?);
        match forward.kind {
            NormalizationKind::MeanAndVariance => {
                let tensors = if self.wants(0) && forward.training { 3.0 } else { 2.0 };
                let gradients = when(forward.training, if forward.bias { 2.0 } else { 1.0 });
                let per_channel = when(forward.training, 1.0) + when(forward.affine, 1.0 + gradients);
                finite(tensors * elements * size + per_channel * channels * size)
            }
            NormalizationKind::Rms => {
                finite(3.0 * elements * size + when(forward.affine, 2.0 * channels * size))
            }
            NormalizationKind::Modulated => self.bytes(),
        }
    }

    pub(super) fn into_tracelens(self) -> AsTraceLens<Self> {
        let bytes = self.tracelens_bytes();
        let backward_bytes = self.unless_fused(bytes.clone());
        AsTraceLens { bytes, backward_bytes, ..AsTraceLens::new(self) }
    }
}

impl PerfModel for NormalizationBackward {
    /// Of the weights and biases four for each element; of the input two, and five more where it passed
    /// through the statistics.
    fn flops(&self) -> Figure {
        let forward = &self.forward;
        let (elements, channels) = (forward.elements(), forward.channels.count());
        finite(match forward.kind {
            NormalizationKind::MeanAndVariance => {
                let to_input = match (self.wants(0), forward.training) {
                    (true, true) => 5.0 * elements,
                    (true, false) => 0.0,
                    (false, _) => 2.0 * elements,
                };
                when(!forward.training, 3.0 * channels) + 4.0 * elements + to_input
            }
            NormalizationKind::Rms => {
                let to_weight = elements + when(forward.rows()? > 1.0, elements);
                elements
                    + when(forward.affine, elements)
                    + when(self.wants(0), 6.0 * elements)
                    + when(self.wants(1) && forward.affine, to_weight)
            }
            NormalizationKind::Modulated => 15.0 * elements,
        })
    }

    /// Gradient, input, weights and statistics read, the gradients that are wanted written.
    fn bytes(&self) -> Figure {
        let forward = &self.forward;
        let (elements, size) = (forward.elements(), forward.element_size()?);
        let tensors = (2.0 + when(self.writes(0, true), 1.0)) * elements * size;
        let weights = when(forward.affine, 1.0) + when(self.writes(1, forward.affine), 1.0);
        finite(match forward.kind {
            NormalizationKind::MeanAndVariance => {
                let parameters = weights + when(self.writes(2, forward.affine && forward.bias), 1.0);
                tensors + parameters * forward.parameter_bytes()? + 2.0 * forward.statistic_bytes()?
            }
            NormalizationKind::Rms => {
                tensors + weights * forward.parameter_bytes()? + forward.rows()? * size.max(4.0)
            }
            NormalizationKind::Modulated => {
                let [sequence, batch, channels] = forward.sequence_and_batch()?;
                3.0 * elements * size + 8.0 * batch * sequence + 3.0 * batch * channels * size
            }
        })
    }

    /// The call is the backward pass.
    fn backward_flops(&self) -> Figure {
        self.unless_fused(self.flops())
    }

    /// The call is the backward pass.
    fn backward_bytes(&self) -> Figure {
        self.unless_fused(self.bytes())
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.forward.compute_spec()
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = self.forward.parameters();
        let mask = self.output_mask.iter().map(|&wanted| wanted.into()).collect();
        parameters.push(("output_mask", Value::List(mask)));
        parameters
    }
}

impl NormalizationBackward {
    fn unless_fused(&self, figure: Figure) -> Figure {
        match self.forward.kind {
            NormalizationKind::Modulated => Err(Undefined::no_formula("the call is itself a backward pass")),
            _ => figure,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn normalization(shape: &[u64], channels: u64, element_type: &str) -> Normalization {
        Normalization {
            input: Tensor::new(shape, element_type),
            channels: Channels::Count(channels),
            affine: true,
            bias: true,
            training: true,
            ..Normalization::default()
        }
    }

    #[test]
    fn forward_figures_follow_from_shapes() {
        let bf16 = "c10::BFloat16";
        let batch = normalization(&[10, 512, 7, 7], 512, bf16);
        let evaluation = Normalization { training: false, ..batch.clone() };
        let rms = Normalization {
            kind: NormalizationKind::Rms,
            bias: false,
            training: false,
            ..normalization(&[8, 16, 32, 32], 1024, "float")
        };
        let modulated = Normalization {
            kind: NormalizationKind::Modulated,
            ..normalization(&[256, 2, 3072], 3072, bf16)
        };
        let rows = Normalization {
            statistics: Statistics::Count(4 * 197),
            ..normalization(&[4, 197, 768], 768, bf16)
        };
        let cases = [
            (rows, 3_030_528.0, 2_430_112.0),
            (batch, 1_257_472.0, 1_017_856.0),
            (evaluation, 504_832.0, 1_009_664.0),
            (normalization(&[8, 16, 32, 32], 16, "float"), 655_456.0, 1_049_088.0),
            (normalization(&[1, 512, 32, 32], 512, bf16), 2_624_512.0, 2_111_488.0),
            (rms, 524_544.0, 1_053_184.0),
            (modulated, 18_874_368.0, 6_320_128.0),
        ];
        for (model, flops, bytes) in cases {
            assert_eq!((model.flops(), model.bytes()), (Ok(flops), Ok(bytes)), "{model:?}");
            assert_eq!(model.backward_flops().unwrap_err().gap, crate::Gap::NoFormula);
        }
    }

    #[test]
    fn backward_figures_follow_from_shapes_and_mask() {
        let bf16 = "c10::BFloat16";
        let layer = Normalization {
            statistics: Statistics::Count(8),
            ..normalization(&[8, 16, 32, 32], 16384, "float")
        };
        let plain_layer = Normalization { affine: false, bias: false, ..layer.clone() };
        let given = Normalization { training: false, ..normalization(&[8, 16, 32, 32], 16, "float") };
        let rms =
            Normalization { kind: NormalizationKind::Rms, ..normalization(&[8, 16, 32, 32], 1024, "float") };
        let modulated = Normalization {
            kind: NormalizationKind::Modulated,
            ..normalization(&[256, 2, 3072], 3072, bf16)
        };
        let group = normalization(&[8, 16, 32, 32], 4, "float");
        let all = [true, true, true].as_slice();
        let cases = [
            (normalization(&[10, 512, 7, 7], 512, bf16), &[true][..], 2_257_920.0, 1_512_448.0),
            (given, &[true], 524_336.0, 1_573_184.0),
            (group, all, 1_179_648.0, 1_572_944.0),
            (layer, all, 1_179_648.0, 1_769_536.0),
            (plain_layer, &[true, false, false], 1_179_648.0, 1_572_928.0),
            (normalization(&[4, 8], 8, "float"), &[false, true, true], 192.0, 416.0),
            (rms.clone(), &[true, true], 1_310_720.0, 1_581_568.0),
            (rms, &[true, false], 1_048_576.0, 1_577_472.0),
            (modulated, all, 23_592_960.0, 9_478_144.0),
        ];
        for (forward, mask, flops, bytes) in cases {
            let fused = forward.kind == NormalizationKind::Modulated;
            let model = NormalizationBackward { forward, output_mask: mask.to_vec() };
            assert_eq!((model.flops(), model.bytes()), (Ok(flops), Ok(bytes)), "{model:?}");
            assert_eq!(model.backward_flops().is_err(), fused);
        }
    }

    #[test]
    fn nothing_to_normalize_is_no_work_and_no_channels_are_undefined() {
        let rms = |shape: &[u64], channels| Normalization {
            kind: NormalizationKind::Rms,
            ..normalization(shape, channels, "float")
        };
        assert_eq!(rms(&[0, 8], 8).flops(), Ok(0.0));
        assert_eq!(rms(&[4, 8], 0).flops().unwrap_err().gap, crate::Gap::Arguments);
        let flat = Normalization { kind: NormalizationKind::Modulated, ..normalization(&[4, 8], 8, "float") };
        assert_eq!(flat.bytes().unwrap_err().gap, crate::Gap::Arguments);
        assert_eq!(normalization(&[4, 8], 8, "").bytes().unwrap_err().gap, crate::Gap::DataType);
    }

    proptest! {
        #[test]
        fn more_is_never_less(
            shape in proptest::collection::vec(1_u64..100, 3), channels in 1_u64..100,
            affine: bool, bias: bool, training: bool, mask: [bool; 3], kind in 0..3_u8,
        ) {
            let kind = [NormalizationKind::MeanAndVariance, NormalizationKind::Rms, NormalizationKind::Modulated]
                [usize::from(kind)];
            let of = |first: u64| {
                let shape = [first * shape[0], shape[1], shape[2]];
                let forward =
                    Normalization { affine, bias, training, kind, ..normalization(&shape, channels, "float") };
                NormalizationBackward { forward, output_mask: mask.to_vec() }
            };
            let (one, two) = (of(1), of(2));
            for (one, two) in [
                (one.flops(), two.flops()), (one.bytes(), two.bytes()),
                (one.forward.flops(), two.forward.flops()), (one.forward.bytes(), two.forward.bytes()),
            ] {
                let (one, two) = (one.unwrap(), two.unwrap());
                prop_assert!(one > 0.0 && one < two && two <= 2.0 * one + 2.0 * shape.iter().product::<u64>() as f64);
            }
        }
    }
}
