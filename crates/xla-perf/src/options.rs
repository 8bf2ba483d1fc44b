//! Options of the analysis of an XLA profile.

use std::num::NonZeroU32;

use perf_models::{Architecture, CommunicationPatterns, PeakBasis};
use sheets::{Layout, Scope};

/// How figures are made and shown where reports of other tools differ from ours. The default is ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conventions {
    /// How much a report tells.
    pub scope: Scope,
    /// Which columns tables have, and in which order.
    pub layout: Layout,
    /// What work is credited to.
    pub work: WorkRule,
    /// Which peaks count where nobody says it.
    pub peak_basis: PeakBasis,
}

/// What work is credited to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkRule {
    /// The instruction: its work by its HLO, held against the time of all its kernels.
    #[default]
    Instruction,
    /// Every kernel of a library call: its work by formulas of calls, as far as their arguments go.
    LibraryKernel,
}

/// Options of an analysis and of the sheets made from it. The defaults are those of the report.
#[derive(Clone, Debug, Default)]
#[cfg_attr(
    feature = "clap",
    derive(clap::Args),
    command(next_help_heading = "Analysis", rename_all = "snake_case")
)]
pub struct JaxOptions {
    /// Keep only kernels whose instruction's operation or source file contains one of these texts
    #[cfg_attr(feature = "clap", arg(long, value_name = "TEXT", num_args = 1..))]
    pub kernel_metadata_keyword_filters: Vec<String>,

    /// Count copy and fill kernels of the ROCm runtime as copies, not as computation
    #[cfg_attr(feature = "clap", arg(long))]
    pub rebucket_copy_kernels: bool,

    /// GPUs per host; with several profiles, rank = host × N + GPU [default: 8]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N"))]
    pub gpus_per_node: Option<NonZeroU32>,

    /// Architecture for rooflines; by default the bundled one of the recorded device, if any.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub architecture: Option<Architecture>,

    /// Peaks to use; `None`: [`Conventions::peak_basis`].
    #[cfg_attr(feature = "clap", arg(skip))]
    pub peak_basis: Option<PeakBasis>,

    /// Which conventions to follow where reports of other tools differ from ours.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub conventions: Conventions,

    /// Names of communication kernels.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub communication: CommunicationPatterns,
}

impl JaxOptions {
    /// Which of the architecture's peaks count.
    pub(crate) fn peak_basis(&self) -> PeakBasis {
        self.peak_basis.unwrap_or(self.conventions.peak_basis)
    }

    /// GPUs of one host.
    pub fn gpus_per_node(&self) -> u32 {
        self.gpus_per_node.map_or(8, NonZeroU32::get)
    }
}
