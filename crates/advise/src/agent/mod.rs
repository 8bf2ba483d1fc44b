//! The findings of the reference's agent, by its rules, for programs that read its files.
//!
//! Figures are those of the reference's report with measured peaks. The rules with their faults are kept, because the files
//! are for comparison with the reference's: system findings have no figure (AQ1), a fusion's time is that of its first
//! instance times their number (AQ2), candidates overlap each other and the operators' findings (AQ3), a fusion takes every
//! operator that shares the name of a kernel out of the estimates (AQ4), units of 1024² bytes count as 10⁶ (AQ5),
//! `percent_of_compute` is of the total (AQ7), `operation_count` of recommendations is 0 (AQ11), few libraries are known
//! (AQ12), modules have no shapes, so that a kernel has the data of its first row (AQ13), kernel classes are the
//! reference's (AQ15), an attention kernel hides the fusions of the layer around it (AQ16), and a slow host call counts as
//! synchronisation (AQ17). The rest of `AQ1` to `AQ18` are of what is not written here: the comparison of two traces, the
//! metrics of copies and collectives (`multi_kernel`), and processes that fail silently. Our own advice is
//! [`Advice`](crate::Advice).
//!
//! 1. `operation`: how near an operator is to its roofline, what it would give back there.
//! 2. `fusion`: kernels of a module, or of operators side by side, that might be one; `fusion_estimate`: what that saves.
//! 3. `report`: findings, their ranking and the files.

mod fusion;
mod fusion_estimate;
mod kernel_class;
mod operation;
mod report;

use std::collections::BTreeMap;

use serde::Serialize;

pub use fusion::{Candidate, CandidateKernel, FusionScopes, ScopeOrigin};
pub use fusion_estimate::{FusionConfidence, FusionEstimate};
pub use kernel_class::kernel_class;
pub use operation::{BoundType, Efficiency, Estimation, ImpactEstimate, Operation, OperationRow};
pub use report::{
    AgentReport, CategoryFinding, CategoryManifest, CategoryMetrics, CpuIdleMetrics, FusionMetrics,
    ManifestCategory, Priority, PriorityData, Recommendation,
};

type IndexMap<K, V> = indexmap::IndexMap<K, V, hashbrown::DefaultHashBuilder>;

/// What the agent's rules are asked about.
#[derive(Debug, Default)]
pub struct AgentInput {
    /// The trace, as the manifest names it.
    pub trace_path: String,
    /// The device's peaks.
    pub platform: Platform,
    /// Shares of time.
    pub timeline: Timeline,
    /// Rows of `unified_perf_summary`, in its order.
    pub rows: Vec<OperationRow>,
    /// What might be fused.
    pub scopes: FusionScopes,
}

/// Peaks of a device.
#[derive(Clone, Debug, Default)]
pub struct Platform {
    /// Its name.
    pub name: String,
    /// Memory bandwidth in 10⁹ bytes a second.
    pub memory_gb_per_s: f64,
    /// Peaks by compute spec, such as `matrix_bf16`, in 10¹² operations a second.
    pub peak_tflops: BTreeMap<String, f64>,
}

impl Platform {
    fn tb_per_s(&self) -> f64 {
        self.memory_gb_per_s / 1000.0
    }

    fn peak(&self, spec: &str) -> Option<f64> {
        self.peak_tflops.get(spec).copied()
    }

    /// The peak of a spec, else that of matrix products in BF16.
    fn peak_or_matrix_bf16(&self, spec: Option<&str>) -> Option<f64> {
        spec.and_then(|spec| self.peak(spec)).or_else(|| self.peak("matrix_bf16"))
    }
}

/// Rows of `gpu_timeline`.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Timeline {
    /// Whole time in ms.
    #[serde(rename = "total_time_ms")]
    pub total_ms: f64,
    /// With computation.
    #[serde(rename = "computation_time_percent")]
    pub computation_percent: f64,
    /// With communication alone.
    #[serde(rename = "exposed_comm_time_percent")]
    pub exposed_communication_percent: f64,
    /// With copies alone.
    #[serde(rename = "exposed_memcpy_time_percent")]
    pub exposed_copy_percent: f64,
    /// With nothing.
    #[serde(rename = "idle_time_percent")]
    pub idle_percent: f64,
}

/// The first input of a call: by it rows of one kernel are told apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FirstInput {
    /// Extents of a tensor; none for a scalar.
    Tensor(Vec<i64>),
    /// Extents of each tensor of a list.
    List(Vec<Vec<i64>>),
}

/// A number with so many decimal digits, ties to even, as Python rounds.
fn round(value: f64, digits: usize) -> f64 {
    format!("{value:.digits$}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::round;

    #[test]
    fn numbers_round_by_their_exact_value() {
        // 2.675 is a little less, 0.125 and 0.375 are ties.
        for (value, rounded) in [(2.675, 2.67), (0.125, 0.12), (0.375, 0.38), (-1.005, -1.0), (11.07, 11.07)]
        {
            assert_eq!(round(value, 2), rounded, "{value}");
        }
    }
}
