//! What the sheets leave out.

use std::fmt;

/// Something of the trace that a sheet does not show although a reader might look for it there.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// Short kernels whose operator has no recorded arguments are no part of the short-kernel details.
    ShortKernelsWithoutArguments {
        /// How many.
        count: usize,
        /// Sum of their durations in µs.
        time_us: f64,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::ShortKernelsWithoutArguments { count, time_us } => write!(
                f,
                "{count} short kernels ({time_us:.3} µs) are in the histogram but not in the short-kernel details: \
                 no operator with recorded arguments launched them"
            ),
        }
    }
}
