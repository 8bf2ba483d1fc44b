//! Options of the sheets of single kernels, which reports of several recorders have.

use std::num::NonZeroUsize;

/// Which sheets of single kernels a report has.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(rename_all = "snake_case"))]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(default))]
pub struct KernelOptions {
    /// Add kernel_details, one row per kernel
    #[cfg_attr(feature = "clap", arg(long))]
    pub kernel_details: bool,

    /// Keep only the first N rows of kernel_details
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub topk_kernels: Option<usize>,

    /// Add a histogram of short-kernel durations and a sheet of short kernels by name
    #[cfg_attr(feature = "clap", arg(long))]
    pub short_kernel_study: bool,

    /// Count kernels below this duration as short
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "US", default_value_t = Self::default().short_kernel_threshold_us, value_parser = flags::microseconds())
    )]
    pub short_kernel_threshold_us: f64,

    /// Number of bins of the short-kernel histogram
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "N", default_value_t = Self::default().short_kernel_histogram_bins)
    )]
    pub short_kernel_histogram_bins: NonZeroUsize,
}

impl Default for KernelOptions {
    fn default() -> Self {
        KernelOptions {
            kernel_details: false,
            topk_kernels: None,
            short_kernel_study: false,
            short_kernel_threshold_us: 10.0,
            short_kernel_histogram_bins: const { NonZeroUsize::new(100).unwrap() },
        }
    }
}
