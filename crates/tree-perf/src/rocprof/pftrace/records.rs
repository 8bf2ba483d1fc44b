//! What several of the tables are made from.

use std::sync::OnceLock;

use trace_ingest::rocprof::Profile;

use super::api_kernel_pairs::Pairs;
use super::gpu_kernels::GpuKernels;
use super::options::PftraceOptions;
use crate::rocprof::analysis::RocprofAnalysis;

/// Found when first asked for, once; one analysis has one of these.
#[derive(Default)]
pub(in crate::rocprof) struct PftraceRecords {
    kernels: OnceLock<GpuKernels>,
    pairs: OnceLock<Pairs>,
}

impl PftraceRecords {
    /// The kernels that count.
    pub(super) fn kernels(&self, profile: &Profile, options: &PftraceOptions) -> &GpuKernels {
        self.kernels.get_or_init(|| GpuKernels::of(profile, options))
    }

    /// The HIP calls with their kernels.
    pub(super) fn pairs(&self, analysis: &RocprofAnalysis, options: &PftraceOptions) -> &Pairs {
        self.pairs.get_or_init(|| Pairs::of(analysis, options))
    }
}
