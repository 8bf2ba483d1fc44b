//! What a fusion would save.

use serde::Serialize;

use super::fusion::{Candidate, CandidateKernel, ModelledKernels, NORMS};
use super::operation::{BoundType, OperationRow, TARGETS};
use super::{IndexMap, Platform, round};

/// More kernels than this are not fused.
const MOST_KERNELS: usize = 15;
/// The least that a fusion must save, in percent of the whole time.
const LEAST_PERCENT: f64 = 2.0;
/// The least that a fusion must save, in ms.
const LEAST_MS: f64 = 0.1;
/// Part of memory accesses and arithmetic that runs at the same time in a fused kernel.
const OVERLAP: f64 = 0.85;

/// Types of normalisations.
const NORM_CLASSES: [&str; 5] = ["LayerNorm", "BatchNorm", "GroupNorm", "InstanceNorm", "Norm"];

/// How sure a fusion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FusionConfidence {
    /// Name and kernels say what is fused.
    High,
    /// One of the two does.
    Medium,
    /// Neither.
    Low,
}

/// What fusing the kernels of a candidate would save.
#[derive(Clone, Debug, Serialize)]
pub struct FusionEstimate {
    /// Base name of the candidate.
    pub operation: String,
    /// Always `kernel_fusion`.
    pub category: &'static str,
    /// Always `kernel_fusion`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What 87.5 % of the saving gives back, in percent of the whole time.
    pub impact_score: f64,
    /// The same for 75 %.
    pub impact_score_low: f64,
    /// The same for all of it.
    pub impact_score_high: f64,
    /// `full` where all kernels have a model, else `partial`.
    pub estimation: &'static str,
    /// Compute where a matrix product takes what follows it.
    pub bound_type: BoundType,
    /// Kernel time of the first instance times their number, in ms (AQ2).
    pub time_ms: f64,
    /// How often it ran.
    pub instance_count: usize,
    /// Kernels.
    pub kernel_count: usize,
    /// Those with a model.
    pub modeled_kernel_count: usize,
    /// How sure it is.
    pub confidence: FusionConfidence,
    /// Names of the kernels.
    pub affected_gpu_kernels: Vec<String>,
    /// `matrix_compute` with a matrix product, else `memory_bound`.
    pub fusion_type: &'static str,
    /// That kernels have no model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// A kernel with the figures of its row.
struct Modelled<'a> {
    kernel: &'a CandidateKernel,
    row: Option<&'a OperationRow>,
    /// Data in units of 1024² bytes, where a model tells it.
    data: Option<f64>,
    is_matrix: bool,
}

impl<'a> Modelled<'a> {
    fn new(kernel: &'a CandidateKernel, row: Option<&'a OperationRow>) -> Self {
        let class = kernel.class.to_uppercase();
        let spec = row.and_then(|row| row.compute_spec.as_deref());
        let is_matrix = spec.is_some_and(|spec| spec.starts_with("matrix_"))
            || class.contains("GEMM")
            || class.contains("CONV");
        Modelled { kernel, row, data: row.and_then(|row| row.mebibytes), is_matrix }
    }

    fn name_contains(&self, text: &str) -> bool {
        self.kernel.name.to_lowercase().contains(text)
    }

    fn is_norm(&self) -> bool {
        NORM_CLASSES.contains(&self.kernel.class) || NORMS.iter().any(|norm| self.name_contains(norm))
    }
}

fn duration(kernels: &[&Modelled<'_>]) -> f64 {
    kernels.iter().map(|kernel| kernel.kernel.dur_us).sum()
}

/// The candidates that are worth an estimate.
pub(super) fn worthwhile(candidates: &[Candidate], total_ms: f64) -> Vec<&Candidate> {
    let least_us = total_ms * 10.0 * LEAST_PERCENT;
    let kept = candidates.iter().filter(|candidate| {
        candidate.kernel_count <= MOST_KERNELS && candidate.total_kernel_time_us >= least_us
    });
    // Of those that look alike the one with the shorter name.
    let mut distinct: IndexMap<(usize, usize, u64), &Candidate> = IndexMap::default();
    for candidate in kept {
        let time = round(candidate.total_kernel_time_us, 1).to_bits();
        let known =
            distinct.entry((candidate.instance_count, candidate.kernel_count, time)).or_insert(candidate);
        let length = |candidate: &Candidate| candidate.module_name.chars().count();
        if length(candidate) < length(known) {
            *known = candidate;
        }
    }
    distinct.into_values().collect()
}

/// What the fusions would save, most first.
pub(super) fn estimates(
    candidates: &[&Candidate],
    modelled: &ModelledKernels<'_>,
    platform: &Platform,
    total_ms: f64,
) -> Vec<FusionEstimate> {
    let estimates =
        candidates.iter().filter_map(|candidate| estimate(candidate, modelled, platform, total_ms));
    let mut estimates: Vec<FusionEstimate> = estimates.collect();
    estimates.sort_by(|a, b| b.impact_score.total_cmp(&a.impact_score));
    estimates
}

fn estimate(
    candidate: &Candidate,
    modelled: &ModelledKernels<'_>,
    platform: &Platform,
    total_ms: f64,
) -> Option<FusionEstimate> {
    if total_ms <= 0.0 || candidate.kernels.len() < 2 {
        return None;
    }
    let with_row = |kernel| -> Modelled<'_> {
        let kernel: &CandidateKernel = kernel;
        Modelled::new(kernel, modelled.row(&kernel.name, candidate.input.as_ref()))
    };
    let kernels: Vec<Modelled<'_>> = candidate.kernels.iter().map(with_row).collect();
    let known = kernels.iter().filter(|kernel| kernel.data.is_some()).count();
    let least_known = if kernels.len() < 5 { 0.5 } else { 0.75 };
    let has_matrix = kernels.iter().any(|kernel| kernel.is_matrix);
    let only_norms_follow =
        has_matrix && kernels.iter().filter(|kernel| !kernel.is_matrix).all(Modelled::is_norm);
    if known == 0
        || only_norms_follow
        || kernels.iter().any(|kernel| kernel.kernel.name.starts_with("triton_"))
        || (known as f64 / kernels.len() as f64) < least_known
    {
        return None;
    }
    let all: Vec<&Modelled<'_>> = kernels.iter().collect();
    let current_us = duration(&all);
    if current_us <= 0.0 {
        return None;
    }
    let (mut saving_us, mut has_epilogue) = (0.0, false);
    for part in all.chunk_by(|_, next| !next.is_matrix) {
        let others: Vec<_> = part.iter().copied().filter(|kernel| !kernel.is_matrix).collect();
        if others.len() == part.len() {
            saving_us += roofline_saving(part, platform)?;
        } else {
            has_epilogue |= !others.is_empty();
            saving_us += duration(&others);
        }
    }
    let count = candidate.instance_count as f64;
    let gap = saving_us / current_us;
    let time_ms = current_us * count / 1000.0;
    let [low, mid, high] = TARGETS.map(|target| target * gap * time_ms / total_ms * 100.0);
    if saving_us * count / 1000.0 < LEAST_MS || high < LEAST_PERCENT {
        return None;
    }
    let unknown = kernels.len() - known;
    Some(FusionEstimate {
        operation: candidate.base_name.clone(),
        category: "kernel_fusion",
        kind: "kernel_fusion",
        impact_score: round(mid, 2),
        impact_score_low: round(low, 2),
        impact_score_high: round(high, 2),
        estimation: if unknown == 0 { "full" } else { "partial" },
        bound_type: if has_epilogue { BoundType::Compute } else { BoundType::Memory },
        time_ms: round(time_ms, 3),
        instance_count: candidate.instance_count,
        kernel_count: kernels.len(),
        modeled_kernel_count: known,
        confidence: confidence(candidate, &kernels),
        affected_gpu_kernels: kernels.iter().map(|kernel| kernel.kernel.name.clone()).collect(),
        fusion_type: if has_matrix { "matrix_compute" } else { "memory_bound" },
        warning: (unknown > 0).then(|| {
            format!(
                "{unknown} of {} kernels lack perf models; impact_score uses trace time for unmodeled kernels",
                kernels.len()
            )
        }),
    })
}

/// Time in µs that one kernel in place of these would save, by its roofline: it reads what the first reads and writes what the
/// last writes. Kernels without a model stay as they are. Units of 1024² bytes count as 10⁶ bytes (AQ5). `None` where the
/// device's peak is not known.
fn roofline_saving(kernels: &[&Modelled<'_>], platform: &Platform) -> Option<f64> {
    let known: Vec<_> = kernels.iter().copied().filter(|kernel| kernel.data.is_some()).collect();
    let (Some(first), Some(last)) = (known.first(), known.last()) else { return Some(0.0) };
    let half = |kernel: &Modelled<'_>| kernel.data.unwrap_or(0.0) / 2.0;
    let read = first.kernel.data_in_mb.unwrap_or_else(|| half(first));
    let written = last.kernel.data_out_mb.unwrap_or_else(|| half(last));
    let bytes = (read + written) * 1e6;
    if bytes <= 0.0 {
        return Some(0.0);
    }
    let gflops: f64 = known.iter().filter_map(|kernel| kernel.row?.gflops).sum();
    let memory = bytes / (platform.tb_per_s() * 1e12) * 1e6;
    // Parts with a matrix product are no business of the roofline: all arithmetic here is that of vector units.
    let vector = match gflops > 0.0 {
        true => gflops * 1e9 / (platform.peak_or_matrix_bf16(Some("vector_bf16"))? * 1e12) * 1e6,
        false => 0.0,
    };
    let best = memory.max(vector);
    let fused = best + (1.0 - OVERLAP) * (memory + vector - best);
    let unknown: Vec<_> = kernels.iter().copied().filter(|kernel| kernel.data.is_none()).collect();
    Some((duration(kernels) - fused - duration(&unknown)).max(0.0))
}

/// Parts of names that say what a module does, in lower case.
const NAME_HINTS: [&str; 15] = [
    "attention",
    "sdpa",
    "self_attn",
    "rmsnorm",
    "rms_norm",
    "layernorm",
    "layer_norm",
    "batchnorm",
    "batch_norm",
    "mlp",
    "rotary",
    "rope",
    "apply_rotary",
    "silu",
    "swiglu",
];

fn confidence(candidate: &Candidate, kernels: &[Modelled<'_>]) -> FusionConfidence {
    let names = [&candidate.base_name, &candidate.module_name].map(|name| name.to_lowercase());
    let by_name = NAME_HINTS.iter().any(|hint| names.iter().any(|name| name.contains(hint)));
    let has = |text: &str| kernels.iter().any(|kernel| kernel.name_contains(text));
    let matrix = kernels.iter().filter(|kernel| kernel.is_matrix).count();
    let by_kernels = (matrix >= 2 && has("softmax"))
        || has("rsqrt")
        || (matrix >= 2 && matrix < kernels.len())
        || (has("neg") && (has("catarray") || has("cat_")))
        || (matrix == 0 && kernels.len() >= 3);
    match (by_name, by_kernels) {
        (true, true) => FusionConfidence::High,
        (false, false) => FusionConfidence::Low,
        _ => FusionConfidence::Medium,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fusion::FusionScopes;
    use super::super::{FirstInput, ScopeOrigin};
    use super::*;

    fn platform() -> Platform {
        let peaks = [("matrix_bf16".to_owned(), 708.0), ("vector_bf16".to_owned(), 163.0)];
        Platform { name: "MI300X".to_owned(), memory_gb_per_s: 5300.0, peak_tflops: peaks.into() }
    }

    fn row(kernel: &str, spec: &str, mebibytes: Option<f64>) -> OperationRow {
        OperationRow {
            category: if spec.starts_with("matrix") { "GEMM" } else { "elementwise" }.to_owned(),
            kernels: vec![kernel.to_owned()],
            input: Some(FirstInput::Tensor(vec![8])),
            compute_spec: Some(spec.to_owned()),
            gflops: Some(0.0),
            mebibytes,
            ..OperationRow::default()
        }
    }

    /// The estimates of one module that ran ten times.
    fn of_module(
        name: &str,
        kernels: &[(&str, f64)],
        rows: &[OperationRow],
        total_ms: f64,
    ) -> Vec<FusionEstimate> {
        let mut scopes = FusionScopes::default();
        for _ in 0..10 {
            scopes.add_module(name, kernels.iter().copied(), ScopeOrigin::default);
        }
        let modelled = ModelledKernels::new(rows);
        let candidates = scopes.candidates(&modelled);
        estimates(&worthwhile(&candidates, total_ms), &modelled, &platform(), total_ms)
    }

    #[test]
    fn one_kernel_reads_what_the_first_reads_and_writes_what_the_last_writes() {
        // 26.5 MB in and out at 5.3 TB/s are 5 µs of 60 each; the third has no model and stays.
        let rows = [row("pow", "vector_fp32", Some(26.5)), row("mul", "vector_fp32", Some(26.5))];
        let kernels = [("pow", 30.0), ("rsqrt", 20.0), ("mul", 30.0)];
        let [found] = &of_module("nn.Module: RMSNorm_0", &kernels, &rows, 10.0)[..] else { panic!() };
        assert_eq!((found.impact_score_high, found.impact_score, found.impact_score_low), (5.5, 4.81, 4.12));
        assert_eq!((found.estimation, found.modeled_kernel_count, found.time_ms), ("partial", 2, 0.8));
        assert_eq!((found.confidence, found.bound_type), (FusionConfidence::High, BoundType::Memory));
    }

    #[test]
    fn a_matrix_product_takes_what_follows_it() {
        let rows = [row("Cijk_A", "matrix_bf16", Some(1.0)), row("relu", "vector_bf16", Some(1.0))];
        let kernels = [("Cijk_A", 100.0), ("relu", 30.0), ("Cijk_A", 100.0)];
        let [found] = &of_module("nn.Module: Block_0", &kernels, &rows, 10.0)[..] else { panic!() };
        assert_eq!((found.impact_score_high, found.bound_type), (3.0, BoundType::Compute));
        // Two products and something between them look like a network's block; its name does not say so.
        assert_eq!(found.confidence, FusionConfidence::Medium);
    }

    #[test]
    fn what_no_fusion_helps_is_left_out() {
        let vector = |name: &str| row(name, "vector_bf16", Some(0.1));
        let matrix = row("Cijk_A", "matrix_bf16", Some(1.0));
        type Case<'c> = (&'c [(&'c str, f64)], &'c [OperationRow]);
        let cases: [Case<'_>; 6] = [
            // No model; matrix products only; made by a compiler; norms only behind a product; less than half modelled; little.
            (&[("pow", 30.0), ("mul", 30.0)], &[]),
            (&[("Cijk_A", 30.0), ("Cijk_A", 30.0)], std::slice::from_ref(&matrix)),
            (&[("triton_poi", 30.0), ("mul", 30.0)], &[vector("triton_poi"), vector("mul")]),
            (
                &[("Cijk_A", 30.0), ("layer_norm_layernorm", 30.0), ("Cijk_A", 9.0)],
                &[matrix.clone(), vector("layer_norm")],
            ),
            (&[("pow", 30.0), ("exp", 30.0), ("mul", 30.0)], &[vector("mul")]),
            (&[("pow", 1.0), ("mul", 1.0)], &[vector("pow"), vector("mul")]),
        ];
        for (kernels, rows) in cases {
            let found = of_module("nn.Module: M_0", kernels, rows, 10.0);
            assert!(found.is_empty(), "{kernels:?}: {found:?}");
        }
    }

    #[test]
    fn of_candidates_that_look_alike_the_shorter_name_stays() {
        let mut scopes = FusionScopes::default();
        scopes.add_module(
            "nn.Module: Decoder",
            [("a", 300.0), ("b", 300.0)].into_iter(),
            ScopeOrigin::default,
        );
        scopes.add_module("nn.Module: Layer", [("a", 300.0), ("c", 300.0)].into_iter(), ScopeOrigin::default);
        scopes.add_module("nn.Module: Short", [("a", 30.0), ("c", 30.0)].into_iter(), ScopeOrigin::default);
        let candidates = scopes.candidates(&ModelledKernels::new(&[]));
        let names: Vec<_> =
            worthwhile(&candidates, 10.0).iter().map(|candidate| candidate.base_name.as_str()).collect();
        assert_eq!(names, ["Layer"]);
    }
}
