//! Options of the analysis of an XLA profile.

use perf_models::{Architecture, CommunicationPatterns, PeakBasis};

use crate::device_events::is_copy_kernel;

/// Whose figures a report has where TraceLens is known to be wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JaxFigures {
    /// The right ones: work of an instruction from its HLO, held against the time of all its kernels.
    #[default]
    Correct,
    /// Those of TraceLens, for comparison: work by its formulas, credited to every kernel.
    TraceLens,
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
    /// Which of its peaks count.
    pub peak_basis: PeakBasis,
    /// Keep only kernels whose operation or source file contains one of these texts; all kernels when empty.
    pub keyword_filters: Vec<String>,
    /// Whose figures.
    pub figures: JaxFigures,
    /// How copying kernels count.
    pub copy_kernels: CopyKernels,
    /// Which kernels communicate.
    pub communication: CommunicationPatterns,
    /// GPUs of one host, from which ranks follow in profiles of several hosts.
    pub gpus_per_node: u32,
}

impl JaxOptions {
    /// Whether a kernel of this name counts as a copy or fill.
    pub(crate) fn counts_as_copy(&self, kernel: &str) -> bool {
        self.copy_kernels == CopyKernels::Memcpy && is_copy_kernel(kernel)
    }
}

impl Default for JaxOptions {
    fn default() -> Self {
        JaxOptions {
            architecture: None,
            peak_basis: PeakBasis::default(),
            keyword_filters: Vec::new(),
            figures: JaxFigures::default(),
            copy_kernels: CopyKernels::default(),
            communication: CommunicationPatterns::default(),
            gpus_per_node: 8,
        }
    }
}
