//! Options of the analysis of an XLA profile.

use perf_models::{Architecture, CommunicationPatterns, PeakBasis};
use sheets::{Layout, Scope};

use crate::device_events::is_copy_kernel;

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

/// How kernels that only copy or fill memory count, such as `__amd_rocclr_copyBuffer`, which some ROCm releases
/// record as kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyKernels {
    /// As kernels, as they were recorded.
    #[default]
    Computation,
    /// As copies and fills.
    Memcpy,
}

/// Options of an analysis and of the sheets made from it. The defaults are those of the report.
#[derive(Clone, Debug)]
pub struct JaxOptions {
    /// Architecture that the figures are held against; the device that the profile names where none is given.
    pub architecture: Option<Architecture>,
    /// Which of its peaks count; `None` takes those of [`Conventions::peak_basis`].
    pub peak_basis: Option<PeakBasis>,
    /// Keep only kernels whose operation or source file contains one of these texts; all kernels when empty.
    pub keyword_filters: Vec<String>,
    /// How figures are made and shown where reports differ.
    pub conventions: Conventions,
    /// How copying kernels count.
    pub copy_kernels: CopyKernels,
    /// Which kernels communicate.
    pub communication: CommunicationPatterns,
    /// GPUs of one host, from which ranks follow in profiles of several hosts.
    pub gpus_per_node: u32,
}

impl JaxOptions {
    /// Which of the architecture's peaks count.
    pub(crate) fn peak_basis(&self) -> PeakBasis {
        self.peak_basis.unwrap_or(self.conventions.peak_basis)
    }

    /// Whether a kernel of this name counts as a copy or fill.
    pub(crate) fn counts_as_copy(&self, kernel: &str) -> bool {
        self.copy_kernels == CopyKernels::Memcpy && is_copy_kernel(kernel)
    }
}

impl Default for JaxOptions {
    fn default() -> Self {
        JaxOptions {
            architecture: None,
            peak_basis: None,
            keyword_filters: Vec::new(),
            conventions: Conventions::default(),
            copy_kernels: CopyKernels::default(),
            communication: CommunicationPatterns::default(),
            gpus_per_node: 8,
        }
    }
}
