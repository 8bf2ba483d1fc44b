//! How near an operator is to its roofline, and what it would give back there.

use serde::Serialize;

use super::{FirstInput, Platform, Timeline, round};

/// A row of `unified_perf_summary`: calls of one operator with the same arguments and the same number of kernels.
#[derive(Clone, Debug, Default)]
pub struct OperationRow {
    /// Operator.
    pub name: String,
    /// Kind of work as the sheet has it, such as `GEMM`; may be empty.
    pub category: String,
    /// Calls.
    pub count: u64,
    /// Sum of kernel time in µs.
    pub kernel_us: f64,
    /// Mean of kernel time over calls, in µs.
    pub kernel_us_mean: Option<f64>,
    /// Sample deviation of kernel time over calls, in µs.
    pub kernel_us_std: Option<f64>,
    /// Sum of time on the host, in µs.
    pub host_us: Option<f64>,
    /// Mean of least time over measured time, in percent.
    pub roofline_percent: Option<f64>,
    /// What bounds the work, where the roofline says it.
    pub bound: Option<BoundType>,
    /// Peak that the work is held against, such as `matrix_bf16`.
    pub compute_spec: Option<String>,
    /// Floating-point operations of a call in units of 1e9.
    pub gflops: Option<f64>,
    /// Bytes of a call in units of 1024².
    pub mebibytes: Option<f64>,
    /// Floating-point operations per byte.
    pub flops_per_byte: Option<f64>,
    /// Mean achieved rate in 10¹² operations a second.
    pub tflops_per_s: Option<f64>,
    /// Mean achieved bandwidth in 10¹² bytes a second.
    pub tb_per_s: Option<f64>,
    /// Names of the kernels of a call, as its list has them.
    pub kernels: Vec<String>,
    /// First input.
    pub input: Option<FirstInput>,
    /// Inputs as a cell of a table: `(16,559,1024) c10::BFloat16<br>…`.
    pub arguments: Option<String>,
    /// M, N and K of a matrix product.
    pub product: Option<[i64; 3]>,
    /// Whether the model has a second input.
    pub is_binary: bool,
    /// Python function through which the program reached the operator.
    pub entry_point: Option<String>,
    /// Frames from the outermost to the kernel.
    pub call_stack: Vec<String>,
}

/// What bounds work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundType {
    /// Arithmetic.
    Compute,
    /// Memory.
    Memory,
}

/// How near an operator is to its roofline.
#[derive(Clone, Debug, Serialize)]
pub struct Efficiency {
    /// In 10¹² operations a second.
    pub tflops_achieved: Option<f64>,
    /// In 10¹² bytes a second.
    pub tb_s_achieved: Option<f64>,
    /// Least time over measured time, in percent.
    pub efficiency_percent: Option<f64>,
    /// What bounds the work.
    pub bound_type: Option<BoundType>,
    /// Floating-point operations per byte.
    pub flops_per_byte: Option<f64>,
    /// Peak that the work is held against.
    pub compute_spec: Option<String>,
    /// That peak in 10¹² operations a second.
    pub resolved_peak_maf: Option<f64>,
    /// Memory bandwidth in 10¹² bytes a second.
    pub resolved_peak_hbm_bw: f64,
    /// That the efficiency cannot be right.
    pub warning: Option<String>,
    /// Whether it cannot be right.
    pub is_anomaly: bool,
}

/// An operator with its efficiency, as `<category>_metrics.json` lists it.
#[derive(Clone, Debug, Serialize)]
pub struct Operation {
    /// Operator.
    pub name: String,
    /// Calls.
    pub count: u64,
    /// Kernel time in ms.
    pub time_ms: f64,
    /// Share of its category's kernel time.
    pub percent_of_category: f64,
    /// Share of the whole time.
    pub percent_of_total: Option<f64>,
    /// Distance from the roofline.
    pub efficiency: Efficiency,
    /// The warning of the efficiency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency_warning: Option<String>,
    /// Inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// Deviation of kernel time over its mean; of operators with more than ten calls and 5 % of the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cov: Option<f64>,
    /// Whether the calls differ more than their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_variance: Option<bool>,
    /// Library that the kernels come from.
    pub library: Option<&'static str>,
    /// Whether a fusion that is probably possible covers a kernel of the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fusion_flagged: Option<bool>,
    /// That fusion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fusion_candidate_name: Option<String>,
    /// Where the program calls the operator.
    pub launcher_path: String,
    /// Modules and frames around it, without the framework's own.
    pub call_chain: Vec<String>,
}

/// What an operator would give back at its roofline.
#[derive(Clone, Debug, Serialize)]
pub struct ImpactEstimate {
    /// Operator.
    pub operation: String,
    /// Its category.
    pub category: String,
    /// Always `kernel_tuning`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What reaching 87.5 % of the way gives back, in percent of the whole time.
    pub impact_score: f64,
    /// The same for 75 %.
    pub impact_score_low: f64,
    /// The same for all of it.
    pub impact_score_high: f64,
    /// Whether a model stands behind it.
    pub estimation: Estimation,
    /// Least time over measured time, in percent.
    pub efficiency_pct: Option<f64>,
    /// What bounds the work.
    pub bound_type: Option<BoundType>,
    /// Library that the kernels come from.
    pub library: Option<&'static str>,
    /// Kernel time in ms.
    pub time_ms: f64,
}

/// What an estimate rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Estimation {
    /// A model of the operator.
    Quantified,
    /// A fixed share of the time of an operator without a model.
    Heuristic,
}

/// Efficiencies above this are not right.
const ANOMALY_PERCENT: f64 = 110.0;

/// Marks of libraries in names of operators, in lower case.
const LIBRARIES_BY_OPERATOR: [(&str, &str); 5] = [
    ("aiter::", "AITER"),
    ("rocm_aiter", "AITER"),
    ("fbgemm", "FBGEMM"),
    ("miopen", "MIOpen"),
    ("triton", "Triton"),
];

/// Marks of libraries in names of kernels. Mangled names of MIOpen and CK, and NVIDIA's libraries, are missing (AQ12).
const LIBRARIES_BY_KERNEL: [(&str, &str); 11] = [
    ("aiter", "AITER"),
    ("ck_tile::", "CK"),
    ("ck_tile6kentry", "CK"),
    ("FmhaFwd", "CK"),
    ("FmhaBwd", "CK"),
    ("Cijk_", "Tensile"),
    ("wvSplitK", "rocBLAS"),
    ("splitKreduce", "rocBLAS"),
    ("rocprim::", "rocPRIM"),
    ("triton_", "Triton"),
    ("void at::native::", "PyTorch Native"),
];

/// Frames of the framework.
const FRAMEWORK: [&str; 11] = [
    "torch/nn/modules/module.py",
    "torch/utils/_device.py",
    "torch/overrides.py",
    "torch/_ops.py",
    "multiprocessing/spawn.py",
    "torch/_dynamo/eval_frame.py",
    "torch/_functorch/",
    "torch/autograd/function.py",
    "torch/_inductor/",
    "torch/cuda/graphs.py",
    "torch/utils/_contextlib.py",
];

impl OperationRow {
    /// Names that the reference reads back from the list's text: those that Python writes in single quotes.
    pub(super) fn listed_kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(String::as_str).filter(|name| !name.contains('\''))
    }

    fn efficiency(&self, platform: &Platform) -> Efficiency {
        let efficiency_percent = self.roofline_percent.map(|percent| round(percent, 2));
        let anomaly = efficiency_percent.filter(|&percent| percent > ANOMALY_PERCENT);
        let peak = platform.peak_or_matrix_bf16(self.compute_spec.as_deref());
        Efficiency {
            tflops_achieved: self.tflops_per_s.map(|rate| round(rate, 2)),
            tb_s_achieved: self.tb_per_s.map(|rate| round(rate, 2)),
            efficiency_percent,
            bound_type: self.bound,
            flops_per_byte: self
                .flops_per_byte
                .filter(|&intensity| intensity != 0.0)
                .map(|value| round(value, 2)),
            compute_spec: self.compute_spec.clone(),
            resolved_peak_maf: peak.map(|peak| round(peak, 2)),
            resolved_peak_hbm_bw: round(platform.tb_per_s(), 2),
            warning: anomaly.map(|percent| {
                format!("[ANOMALY] Pct Roofline exceeds 110% ({percent:.1}%) - verify measurement")
            }),
            is_anomaly: anomaly.is_some(),
        }
    }

    fn library(&self) -> Option<&'static str> {
        let operator = self.name.to_lowercase();
        let by_operator = LIBRARIES_BY_OPERATOR.iter().find(|(mark, _)| operator.contains(mark));
        let is_of = |mark: &str| self.kernels.iter().any(|kernel| kernel.contains(mark));
        let by_kernel = || LIBRARIES_BY_KERNEL.iter().find(|(mark, _)| is_of(mark));
        by_operator.or_else(by_kernel).map(|&(_, library)| library)
    }

    fn call_chain(&self) -> Vec<String> {
        let is_shown = |frame: &&String| {
            ["nn.Module:", ".py", "::"].iter().any(|part| frame.contains(part))
                && !FRAMEWORK.iter().any(|part| frame.contains(part))
        };
        self.call_stack.iter().filter(is_shown).cloned().collect()
    }

    fn launcher(&self, library: Option<&str>) -> String {
        if let Some(entry_point) = &self.entry_point {
            return entry_point.clone();
        }
        let modules = self.call_stack.iter().rev().filter_map(|frame| frame.strip_prefix("nn.Module: "));
        let modules: Vec<&str> = modules.take(3).collect();
        match library {
            _ if !modules.is_empty() => modules.join(" > "),
            Some(library) => format!("{library} (vendor)"),
            None => "Not found".to_owned(),
        }
    }

    /// The operator as `<category>_metrics.json` lists it. `category_us` is the kernel time of its category, `fusion` the
    /// fusion that is probably possible and covers it.
    pub(super) fn operation(
        &self,
        timeline: &Timeline,
        platform: &Platform,
        category_us: f64,
        fusion: Option<&str>,
    ) -> Operation {
        let time_ms = self.kernel_us / 1000.0;
        let category_ms = category_us / 1000.0;
        let of_total = (timeline.total_ms > 0.0).then(|| time_ms / timeline.total_ms);
        let efficiency = self.efficiency(platform);
        let spread = self.kernel_us_std.zip(self.kernel_us_mean).filter(|&(_, mean)| mean > 0.0);
        let is_large = self.count > 10 && of_total.unwrap_or(1.0) >= 0.05;
        let cov = spread.filter(|_| is_large).map(|(std, mean)| round(std / mean, 3));
        let library = self.library();
        Operation {
            name: self.name.clone(),
            count: self.count,
            time_ms: round(time_ms, 3),
            percent_of_category: match category_ms > 0.0 {
                true => round(time_ms / category_ms * 100.0, 2),
                false => 0.0,
            },
            percent_of_total: of_total.map(|share| round(share * 100.0, 2)),
            efficiency_warning: efficiency.warning.clone(),
            efficiency,
            args: self.arguments.clone(),
            cov,
            high_variance: cov.map(|cov| cov > 1.0),
            library,
            fusion_flagged: fusion.is_some().then_some(true),
            fusion_candidate_name: fusion.map(str::to_owned),
            launcher_path: self.launcher(library),
            call_chain: self.call_chain(),
        }
    }
}

/// Shares of the way to the roofline: low, probable, all of it.
pub(super) const TARGETS: [f64; 3] = [0.75, 0.875, 1.0];

impl Operation {
    /// What the operator would give back; `None` where a fusion covers it, or where it is next to nothing.
    pub(super) fn estimate(&self, category: &str, timeline: &Timeline) -> Option<ImpactEstimate> {
        /// The least in percent of the whole time.
        const LEAST_HIGH: f64 = 0.01;
        /// Of an operator without a model, in parts of its time: low, probable, high.
        const UNMODELLED: [f64; 3] = [0.15, 0.30, 0.45];
        if self.fusion_flagged.is_some() || self.time_ms <= 0.0 || timeline.total_ms <= 0.0 {
            return None;
        }
        let known = self.efficiency.efficiency_percent.filter(|_| !self.efficiency.is_anomaly);
        let ([low, mid, high], estimation) = match known {
            Some(percent) => {
                let gap = (1.0 - percent / 100.0).max(0.0);
                let scores = TARGETS.map(|target| target * gap * self.time_ms / timeline.total_ms * 100.0);
                if scores[2] < LEAST_HIGH {
                    return None;
                }
                (scores, Estimation::Quantified)
            }
            None => {
                let percent = self.percent_of_total.filter(|&percent| percent > 0.0)?;
                (UNMODELLED.map(|share| share * percent), Estimation::Heuristic)
            }
        };
        Some(ImpactEstimate {
            operation: self.name.clone(),
            category: category.to_owned(),
            kind: "kernel_tuning",
            impact_score: round(mid, 2),
            impact_score_low: round(low, 2),
            impact_score_high: round(high, 2),
            estimation,
            efficiency_pct: known,
            bound_type: self.efficiency.bound_type,
            library: self.library,
            time_ms: self.time_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMELINE: Timeline = Timeline {
        total_ms: 33.131_333_496_093_75,
        computation_percent: 89.77,
        exposed_communication_percent: 0.0,
        exposed_copy_percent: 0.0,
        idle_percent: 10.22,
    };

    fn estimate(row: &OperationRow, fusion: Option<&str>) -> Option<ImpactEstimate> {
        let operation = row.operation(&TIMELINE, &Platform::default(), row.kernel_us, fusion);
        operation.estimate("category", &TIMELINE)
    }

    #[test]
    fn distance_from_the_roofline_is_what_can_be_gained() {
        let row = |roofline_percent, kernel_us| OperationRow {
            roofline_percent,
            kernel_us,
            ..OperationRow::default()
        };
        let cases = [
            (row(Some(8.68), 4_016.343_261_718_75), Some([8.30, 9.69, 11.07])),
            (row(Some(72.29), 689.412_109_375), Some([0.43, 0.50, 0.58])),
            // At the roofline, above it, and beyond belief: the last has no model to rely on.
            (row(Some(100.0), 4000.0), None),
            (row(Some(105.0), 4000.0), None),
            (row(Some(110.5), 4000.0), Some([1.81, 3.62, 5.43])),
            (row(None, 4000.0), Some([1.81, 3.62, 5.43])),
            (row(None, 0.0), None),
        ];
        for (row, scores) in cases {
            let found = estimate(&row, None);
            let found =
                found.map(|found| [found.impact_score_low, found.impact_score, found.impact_score_high]);
            assert_eq!(found, scores, "{row:?}");
        }
        assert!(estimate(&row(Some(8.68), 4000.0), Some("Qwen2MLP")).is_none());
    }

    #[test]
    fn libraries_are_known_by_operator_then_by_kernel() {
        let cases = [
            ("aiter::fmha", "Cijk_", Some("AITER")),
            ("aten::miopen_convolution", "Cijk_", Some("MIOpen")),
            ("aten::mm", "Cijk_Ailk", Some("Tensile")),
            ("aten::mm", "ck_tile::kentry", Some("CK")),
            ("aten::sort", "rocprim::sort", Some("rocPRIM")),
            ("aten::add", "void at::native::elementwise_kernel", Some("PyTorch Native")),
            ("aten::mm", "_ZN2ck16kernel", None),
        ];
        for (name, kernel, library) in cases {
            let row =
                OperationRow { name: name.into(), kernels: vec![kernel.into()], ..OperationRow::default() };
            assert_eq!(row.library(), library, "{name} {kernel}");
        }
    }

    #[test]
    fn calls_that_differ_more_than_their_mean_are_marked() {
        let row = OperationRow {
            count: 11,
            kernel_us: 4000.0,
            kernel_us_mean: Some(363.0),
            kernel_us_std: Some(400.0),
            ..OperationRow::default()
        };
        let operation = |row: &OperationRow| row.operation(&TIMELINE, &Platform::default(), 8000.0, None);
        assert_eq!((operation(&row).cov, operation(&row).high_variance), (Some(1.102), Some(true)));
        assert_eq!(operation(&row).percent_of_category, 50.0);
        let few = OperationRow { count: 10, ..row };
        assert_eq!(operation(&few).cov, None);
    }
}
