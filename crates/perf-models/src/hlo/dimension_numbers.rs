//! Which dimension of an operand has which part in a contraction.

/// The dimensions of a matrix multiplication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotDimensionNumbers {
    /// Dimensions of the first operand that are summed over.
    pub lhs_contracting: Vec<i64>,
    /// Those of the second operand, in the same order.
    pub rhs_contracting: Vec<i64>,
    /// Dimensions of the first operand that tell multiplications apart.
    pub lhs_batch: Vec<i64>,
    /// Those of the second operand, in the same order.
    pub rhs_batch: Vec<i64>,
}

/// The dimensions of a convolution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConvolutionDimensionNumbers {
    /// Images of the input.
    pub input_batch: i64,
    /// Channels of the input.
    pub input_feature: i64,
    /// Extents of the input.
    pub input_spatial: Vec<i64>,
    /// Channels of the input that a filter covers: those of one group.
    pub kernel_input_feature: i64,
    /// Filters.
    pub kernel_output_feature: i64,
    /// Extents of a filter.
    pub kernel_spatial: Vec<i64>,
    /// Images of the result.
    pub output_batch: i64,
    /// Channels of the result.
    pub output_feature: i64,
    /// Extents of the result.
    pub output_spatial: Vec<i64>,
}

/// How a filter or a window moves: one entry for each spatial dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The dimensions, in the order of the spatial dimensions.
    pub dimensions: Vec<WindowDimension>,
}

/// How a window moves along one dimension. The default is a window of one that moves by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowDimension {
    /// Extent of the window.
    pub size: i64,
    /// Step from one position to the next.
    pub stride: i64,
    /// Elements added before the input; negative ones are cut off.
    pub padding_low: i64,
    /// Elements added after the input.
    pub padding_high: i64,
    /// Distance of the window's taps; 1 for neighbours.
    pub window_dilation: i64,
    /// Distance of the input's elements; 1 for neighbours, more in transposed convolutions.
    pub base_dilation: i64,
    /// Whether the window's taps are taken from the last to the first.
    pub reversed: bool,
}

impl Default for WindowDimension {
    fn default() -> Self {
        Self {
            size: 1,
            stride: 1,
            padding_low: 0,
            padding_high: 0,
            window_dilation: 1,
            base_dilation: 1,
            reversed: false,
        }
    }
}
