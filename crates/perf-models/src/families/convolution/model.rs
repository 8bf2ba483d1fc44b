//! The work of a convolution.

use crate::recorded::AsTraceLens;
use crate::tensor::{Tensor, count_value, elements, finite, shape_value, strides_value};
use crate::{ComputeSpec, Figure, Parameter, PerfModel, Undefined, Value};

/// A convolution of one, two or three spatial dimensions, or its transpose.
///
/// `input` is (batch, channels, spatial...). `filter` is (output channels, input channels of a group,
/// spatial...), transposed (input channels, output channels of a group, spatial...).
///
/// ```
/// use perf_models::{Convolution, PerfModel, Tensor};
///
/// // Patches of 16×16 of four images, each a vector of 768.
/// let patches = Convolution {
///     input: Tensor::new([4, 3, 224, 224], "c10::BFloat16"),
///     filter: Tensor::new([768, 3, 16, 16], "c10::BFloat16"),
///     stride: vec![16, 16],
///     padding: vec![0, 0],
///     dilation: vec![1, 1],
///     output_padding: vec![0, 0],
///     groups: 1,
///     ..Convolution::default()
/// };
/// assert_eq!(patches.output_shape()?, [4, 768, 14, 14]);
/// assert_eq!(patches.flops()?, 924_844_032.0);
/// assert_eq!(patches.bytes()?, 3_588_096.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Convolution {
    /// What is convolved.
    pub input: Tensor,
    /// The filters.
    pub filter: Tensor,
    /// Whether a number for each output channel is added.
    pub bias: bool,
    /// Step of the filter along each spatial dimension.
    pub stride: Vec<u64>,
    /// Zeros added at both ends of each spatial dimension.
    pub padding: Vec<u64>,
    /// Distance of the filter's taps along each spatial dimension.
    pub dilation: Vec<u64>,
    /// Whether this is the transpose, which enlarges.
    pub transposed: bool,
    /// What a transpose's result has more at the end of each spatial dimension.
    pub output_padding: Vec<u64>,
    /// Groups of channels that are convolved separately.
    pub groups: u64,
    /// Strides of the input in elements, for reports.
    pub input_strides: Option<Vec<i64>>,
    /// Strides of the filters in elements, for reports.
    pub filter_strides: Option<Vec<i64>>,
}

impl Convolution {
    /// Number of spatial dimensions: 1, 2 or 3.
    ///
    /// # Errors
    ///
    /// When input and filter have other or different numbers of dimensions, or a setting lacks one.
    pub fn spatial_dimensions(&self) -> Result<usize, Undefined> {
        let (input, filter) = (self.input.shape.len(), self.filter.shape.len());
        if !(3..=5).contains(&input) || filter != input {
            let reason =
                format!("no convolution has a {input}-dimensional input and a {filter}-dimensional filter");
            return Err(Undefined::arguments(reason));
        }
        let spatial = input - 2;
        let settings = [
            ("stride", &self.stride),
            ("padding", &self.padding),
            ("dilation", &self.dilation),
            ("output padding", &self.output_padding),
        ];
        for (name, setting) in settings {
            if setting.len() != spatial {
                let found = setting.len();
                let reason = format!("{name} has {found} numbers for {spatial} spatial dimensions");
                return Err(Undefined::arguments(reason));
            }
        }
        Ok(spatial)
    }

    /// Shape of the result.
    ///
    /// # Errors
    ///
    /// When the filter does not fit into the input.
    pub fn output_shape(&self) -> Result<Vec<u64>, Undefined> {
        let spatial = self.spatial_dimensions()?;
        let channels = if self.transposed {
            self.filter.shape[1].saturating_mul(self.groups)
        } else {
            self.filter.shape[0]
        };
        let mut shape = vec![self.input.shape[0], channels];
        for axis in 0..spatial {
            shape.push(self.output_extent(axis)?);
        }
        Ok(shape)
    }

    fn output_extent(&self, axis: usize) -> Result<u64, Undefined> {
        let [input, taps] = [&self.input, &self.filter].map(|tensor| i128::from(tensor.shape[axis + 2]));
        let [stride, padding, dilation, output_padding] =
            [&self.stride, &self.padding, &self.dilation, &self.output_padding]
                .map(|setting| i128::from(setting[axis]));
        // Products of two 64-bit numbers: what does not fit saturates, and is refused below.
        let reach = dilation.saturating_mul(taps - 1);
        let extent = if self.transposed {
            (input - 1)
                .saturating_mul(stride)
                .saturating_sub(2 * padding)
                .saturating_add(reach)
                .saturating_add(output_padding + 1)
        } else if stride == 0 {
            return Err(Undefined::arguments(format!("the stride of spatial dimension {axis} is zero")));
        } else {
            let room = (input + 2 * padding - 1).saturating_sub(reach);
            if room < 0 { -1 } else { room / stride + 1 }
        };
        u64::try_from(extent).map_err(|_| {
            let reason = format!("a filter of {taps} does not fit spatial dimension {axis} of {input}");
            Undefined::arguments(reason)
        })
    }

    /// Multiply-adds of the forward pass, and of the pass to either gradient.
    fn products(&self) -> Result<f64, Undefined> {
        let output = self.output_shape()?;
        // The larger side meets each tap of one group's filters once.
        let positions = if self.transposed { elements(&self.input.shape) } else { elements(&output) };
        finite(elements(&self.filter.shape[1..]) * positions)
    }

    /// Work towards some of the gradients.
    fn gradient_flops(&self, gradients: Gradients) -> Figure {
        let passes = f64::from(u8::from(gradients.input) + u8::from(gradients.filter));
        let bias = if gradients.bias { elements(&self.output_shape()?) } else { 0.0 };
        finite(passes * 2.0 * self.products()? + bias)
    }

    /// Bytes towards some of the gradients, each tensor once: the result's gradient and, of input and filters, the other one
    /// read, their gradients and that of the bias written.
    fn gradient_bytes(&self, gradients: Gradients) -> Figure {
        let Gradients { input, filter, bias } = gradients;
        let output = self.output_shape()?;
        let when = |wanted: bool, elements: f64| if wanted { elements } else { 0.0 };
        let operands = self.filter.elements() + self.input.elements();
        let moved = when(input || filter || bias, elements(&output))
            + when(input, operands)
            + when(filter, operands)
            + when(bias, output[1] as f64);
        finite(moved * self.element_size()?)
    }

    /// As TraceLens counts them: the result's gradient is read for each of the gradients anew.
    fn tracelens_gradient_bytes(&self, gradients: Gradients) -> Figure {
        let output = self.output_shape()?;
        let passes = f64::from(u8::from(gradients.input) + u8::from(gradients.filter));
        let operands = elements(&output) + self.filter.elements() + self.input.elements();
        let bias = if gradients.bias { elements(&output) + output[1] as f64 } else { 0.0 };
        finite((passes * operands + bias) * self.element_size()?)
    }

    fn element_size(&self) -> Figure {
        crate::element_size(&self.input.element_type)
    }

    fn all_gradients(&self) -> Gradients {
        Gradients { input: true, filter: true, bias: self.bias }
    }
}

impl Convolution {
    pub(super) fn into_tracelens(self) -> AsTraceLens<Self> {
        let backward_bytes = self.tracelens_gradient_bytes(self.all_gradients());
        AsTraceLens { backward_bytes, ..AsTraceLens::new(self) }
    }
}

impl ConvolutionBackward {
    pub(super) fn into_tracelens(self) -> AsTraceLens<Self> {
        let bytes = self.forward.tracelens_gradient_bytes(self.gradients);
        AsTraceLens { bytes: bytes.clone(), backward_bytes: bytes, ..AsTraceLens::new(self) }
    }
}

impl PerfModel for Convolution {
    /// Two for each tap of the filters at each position.
    fn flops(&self) -> Figure {
        let bias = if self.bias { elements(&self.output_shape()?) } else { 0.0 };
        finite(2.0 * self.products()? + bias)
    }

    /// Input, filters and bias read, the result written.
    fn bytes(&self) -> Figure {
        let output = self.output_shape()?;
        let bias = if self.bias { output[1] as f64 } else { 0.0 };
        let moved = self.input.elements() + self.filter.elements() + bias + elements(&output);
        finite(moved * self.element_size()?)
    }

    /// The gradients of input, filters and bias.
    fn backward_flops(&self) -> Figure {
        self.gradient_flops(self.all_gradients())
    }

    /// The gradients of input, filters and bias.
    fn backward_bytes(&self) -> Figure {
        self.gradient_bytes(self.all_gradients())
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::matrix(&self.input.element_type)
    }

    fn parameters(&self) -> Vec<Parameter> {
        let kind = match self.input.shape.len() {
            3 => "conv1d".into(),
            4 => "conv2d".into(),
            5 => "conv3d".into(),
            _ => Value::None,
        };
        let types = [&self.input, &self.filter].map(|tensor| Value::from(tensor.element_type.as_str()));
        vec![
            ("convNd", kind),
            ("input_shape", shape_value(&self.input.shape)),
            ("filter_shape", shape_value(&self.filter.shape)),
            ("dtype_input_weight", Value::Tuple(types.to_vec())),
            ("input_stride", strides_value(self.input_strides.as_deref())),
            ("weight_stride", strides_value(self.filter_strides.as_deref())),
            ("bias", self.bias.into()),
            ("stride", shape_value(&self.stride)),
            ("padding", shape_value(&self.padding)),
            ("dilation", shape_value(&self.dilation)),
            ("transposed_conv", self.transposed.into()),
            ("output_padding", shape_value(&self.output_padding)),
            ("groups", count_value(self.groups)),
        ]
    }
}

/// The gradients that a backward pass computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gradients {
    /// That of the input.
    pub input: bool,
    /// That of the filters.
    pub filter: bool,
    /// That of the bias.
    pub bias: bool,
}

/// The backward pass of a convolution.
///
/// ```
/// use perf_models::{Convolution, ConvolutionBackward, Gradients, PerfModel, Tensor};
///
/// let forward = Convolution {
///     input: Tensor::new([10, 512, 7, 7], "c10::BFloat16"),
///     filter: Tensor::new([512, 512, 3, 3], "c10::BFloat16"),
///     stride: vec![1, 1],
///     padding: vec![1, 1],
///     dilation: vec![1, 1],
///     output_padding: vec![0, 0],
///     groups: 1,
///     ..Convolution::default()
/// };
/// let backward = ConvolutionBackward {
///     gradients: Gradients { input: true, filter: true, bias: false },
///     forward: forward.clone(),
/// };
/// assert_eq!(backward.flops()?, 2.0 * forward.flops()?);
/// assert_eq!(backward.bytes()?, 10_942_464.0);
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvolutionBackward {
    /// The convolution whose gradients are wanted.
    pub forward: Convolution,
    /// Which are.
    pub gradients: Gradients,
}

impl PerfModel for ConvolutionBackward {
    fn flops(&self) -> Figure {
        self.forward.gradient_flops(self.gradients)
    }

    fn bytes(&self) -> Figure {
        self.forward.gradient_bytes(self.gradients)
    }

    fn backward_flops(&self) -> Figure {
        self.flops()
    }

    fn backward_bytes(&self) -> Figure {
        self.bytes()
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.forward.compute_spec()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.forward.parameters()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn convolution(input: &[u64], filter: &[u64], element_type: &str) -> Convolution {
        let spatial = input.len().saturating_sub(2);
        Convolution {
            input: Tensor::new(input, element_type),
            filter: Tensor::new(filter, element_type),
            stride: vec![1; spatial],
            padding: vec![0; spatial],
            dilation: vec![1; spatial],
            output_padding: vec![0; spatial],
            groups: 1,
            ..Convolution::default()
        }
    }

    #[test]
    fn figures_follow_from_shapes() {
        let bf16 = "c10::BFloat16";
        let patches =
            Convolution { stride: vec![16; 2], ..convolution(&[4, 3, 224, 224], &[768, 3, 16, 16], bf16) };
        let grouped = Convolution {
            stride: vec![2; 2],
            padding: vec![1; 2],
            groups: 2,
            ..convolution(&[8, 64, 56, 56], &[128, 32, 3, 3], bf16)
        };
        let with_bias = Convolution {
            padding: vec![1; 2],
            bias: true,
            ..convolution(&[8, 64, 56, 56], &[128, 64, 3, 3], bf16)
        };
        let transposed = Convolution {
            stride: vec![2; 2],
            padding: vec![1; 2],
            transposed: true,
            ..convolution(&[8, 64, 28, 28], &[64, 32, 4, 4], "float")
        };
        let sequence = Convolution { bias: true, ..convolution(&[2, 4, 10], &[6, 4, 3], "float") };
        // Result, forward FLOPs and bytes, backward FLOPs and bytes.
        let cases: [(&Convolution, &[u64], [f64; 4]); 5] = [
            (&patches, &[4, 768, 14, 14], [924_844_032.0, 3_588_096.0, 1_849_688_064.0, 5_971_968.0]),
            (&grouped, &[8, 128, 28, 28], [462_422_016.0, 4_890_624.0, 924_844_032.0, 8_175_616.0]),
            (&with_bias, &[8, 128, 56, 56], [3_702_587_392.0, 9_781_504.0, 7_401_963_520.0, 13_140_224.0]),
            (&transposed, &[8, 32, 56, 56], [411_041_792.0, 4_947_968.0, 822_083_584.0, 6_684_672.0]),
            (&sequence, &[2, 6, 8], [2400.0, 1016.0, 4704.0, 1624.0]),
        ];
        for (convolution, output, expected) in cases {
            assert_eq!(convolution.output_shape().unwrap(), output);
            let found = [
                convolution.flops(),
                convolution.bytes(),
                convolution.backward_flops(),
                convolution.backward_bytes(),
            ];
            assert_eq!(found.map(Result::unwrap), expected, "{convolution:?}");
        }
    }

    #[test]
    fn groups_of_a_transpose_have_channels_each() {
        let transposed = Convolution {
            transposed: true,
            groups: 4,
            ..convolution(&[1, 64, 8, 8], &[64, 16, 3, 3], "float")
        };
        assert_eq!(transposed.output_shape().unwrap(), [1, 64, 10, 10]);
        assert_eq!(transposed.flops(), Ok(2.0 * 16.0 * 9.0 * 64.0 * 64.0));
    }

    #[test]
    fn only_the_wanted_gradients_count() {
        let forward = Convolution { bias: true, ..convolution(&[2, 4, 10], &[6, 4, 3], "float") };
        let (output, filter, input) = (96.0, 72.0, 80.0);
        let cases = [
            ((true, true, true), 4704.0, 1624.0),
            ((true, true, false), 4608.0, 4.0 * (output + 2.0 * (filter + input))),
            ((true, false, false), 2304.0, 4.0 * (output + filter + input)),
            ((false, true, false), 2304.0, 4.0 * (output + filter + input)),
            ((false, false, true), 96.0, 4.0 * (output + 6.0)),
            ((false, false, false), 0.0, 0.0),
        ];
        for ((input, filter, bias), flops, bytes) in cases {
            let gradients = Gradients { input, filter, bias };
            let backward = ConvolutionBackward { forward: forward.clone(), gradients };
            assert_eq!((backward.flops(), backward.bytes()), (Ok(flops), Ok(bytes)), "{gradients:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_undefined() {
        let fits = convolution(&[1, 3, 8, 8], &[4, 3, 3, 3], "float");
        let too_large = convolution(&[1, 3, 8, 8], &[4, 3, 9, 9], "float");
        let no_stride = Convolution { stride: vec![0, 0], ..fits.clone() };
        let short = Convolution { padding: vec![0], ..fits.clone() };
        let ranks = convolution(&[1, 3, 8, 8], &[4, 3, 3], "float");
        let flat = convolution(&[1, 3], &[4, 3], "float");
        let eroded = Convolution { transposed: true, padding: vec![9, 9], ..fits.clone() };
        assert!(fits.flops().is_ok());
        for convolution in [too_large, no_stride, short, ranks, flat, eroded] {
            for figure in [convolution.flops(), convolution.bytes(), convolution.backward_flops()] {
                assert_eq!(figure.unwrap_err().gap, crate::Gap::Arguments, "{convolution:?}");
            }
        }
        let unknown = convolution(&[1, 3, 8, 8], &[4, 3, 3, 3], "");
        assert_eq!(unknown.bytes().unwrap_err().gap, crate::Gap::DataType);
    }

    proptest! {
        #[test]
        fn figures_are_never_negative_and_double_with_the_batch(
            input: [u64; 4], filter: [u64; 4], settings: [u64; 8], transposed: bool, bias: bool, groups: u64,
        ) {
            let [s, t, p, q, d, e, o, r] = settings;
            let one = Convolution {
                stride: vec![s, t], padding: vec![p, q], dilation: vec![d, e], output_padding: vec![o, r],
                transposed, bias, groups,
                ..convolution(&input, &filter, "float")
            };
            for figure in [one.flops(), one.bytes(), one.backward_flops(), one.backward_bytes()] {
                prop_assert!(figure.is_err() || figure.is_ok_and(|figure| figure >= 0.0 && figure.is_finite()));
            }
        }

        #[test]
        fn twice_the_batch_is_twice_the_operations(batch in 0_u64..1000, extent in 3_u64..50, transposed: bool, bias: bool) {
            let of = |batch| Convolution {
                bias, transposed, ..convolution(&[batch, 4, extent, extent], &[4, 4, 3, 3], "c10::Half")
            };
            let (one, two) = (of(batch), of(2 * batch));
            prop_assert_eq!(2.0 * one.flops().unwrap(), two.flops().unwrap());
            prop_assert_eq!(2.0 * one.backward_flops().unwrap(), two.backward_flops().unwrap());
        }
    }
}
