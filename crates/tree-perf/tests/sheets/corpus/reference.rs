//! Compares sheets with those of a reference implementation on a corpus of recorded traces.
#![allow(clippy::print_stderr)] // how much agrees

use operator_sheets::KernelOptions;
use perf_models::CommunicationPatterns;
use trace2tree::LinkBy;
use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

use super::conformance::{Comparison, Meant, Reference, Verdicts};
use crate::common::{THEIRS, Table};

/// Sheets that the reference does not have.
const ADDED_SHEETS: &[&str] =
    &["gpu_timeline_per_device", "host_ops", "coverage", "roofline", "roofline_points"];

/// Columns that the reference does not have. Those of the roofline it has too, when it is given an architecture;
/// here they follow from the device that the trace names.
const ADDED_COLUMNS: &[&str] = &[
    "Linked",
    "reason",
    "note",
    "nested",
    "nested_count",
    "Roofline Bound",
    "Roofline Bound_first",
    "Roofline Time (µs)_first",
    "Pct Roofline_mean",
    "Pct Roofline_median",
    "Pct Roofline_std",
    "Pct Roofline_min",
    "Pct Roofline_max",
];

const MEANT: &[Meant] = &[
    Meant {
        cases: "h100-falconsai-vit | mi300-timesformer",
        sheets: "CONV_fwd | unified_perf_summary",
        names: "aten::convolution",
        columns: "GFLOPS | Data Moved (MB) | FLOPS/Byte | param: bias | perf_params",
        why: "03-Q2: the reference never counts the bias of a convolution.",
    },
    Meant {
        cases: "h100-owlv2-large | h100-qwen1.5-0.5b | mi300-qwen1.5-0.5b | mi300-timesformer \
                  | normalization-layers",
        sheets: "Reduce_fwd | unified_perf_summary",
        names: "aten::linalg_norm | aten::max | aten::mean | aten::sum",
        columns: "Data Moved (MB) | FLOPS/Byte | param: num_ | perf_params",
        why: "03-Q1: the reference does not read which dimensions are reduced and counts one output element.",
    },
    Meant {
        cases: "h100-owlv2-large",
        sheets: "UnaryElementwise | unified_perf_summary",
        names: "aten::copy_",
        columns: "Data Moved (MB) | FLOPS/Byte | TB/s",
        why: "03-Q15: the reference has no size for bool and so no bytes.",
    },
    Meant {
        cases: "normalization-layers",
        sheets: "Normalization",
        names: "aten::batch_norm | aten::group_norm | aten::instance_norm | aten::layer_norm \
                  | aten::_fused_rms_norm | aten::native_group_norm | aten::native_layer_norm",
        columns: "rows | name_count | TB/s | TFLOPS/s | Kernel Time (µs) \
                  | kernel_details__summarize_kernel_stats | trunc_kernel_details",
        why: "03-Q12: the reference takes every normalization for affine, with a bias and in training, \
              so that calls which differ in that are one row.",
    },
    Meant {
        cases: "normalization-layers",
        sheets: "Normalization",
        names: "aten::native_batch_norm | aten::native_batch_norm_backward \
                  | aten::native_group_norm_backward | aten::_fused_rms_norm_backward",
        columns: "GFLOPS | Data Moved (MB) | FLOPS/Byte | TFLOPS/s | param: is_affine | param: has_bias",
        why: "03-Q12: as above.",
    },
    Meant {
        cases: "normalization-layers",
        sheets: "unified_perf_summary",
        names: "aten::batch_norm | aten::group_norm | aten::instance_norm | aten::layer_norm \
                  | aten::_fused_rms_norm | aten::native_batch_norm_backward \
                  | aten::native_group_norm_backward | aten::_fused_rms_norm_backward",
        columns: "GFLOPS | Data Moved (MB) | FLOPS/Byte | TB/s | TFLOPS/s | perf_params",
        why: "03-Q12: as above.",
    },
    Meant {
        cases: "torch-compile-triton",
        sheets: "unified_perf_summary",
        names: "triton_poi_fused__unsafe_view_add_3 | triton_poi_fused__unsafe_view_mul_silu_2 \
                  | triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1 \
                  | triton_red_fused_add_mean_mul_pow_rsqrt_0",
        columns: "Compute Spec",
        why: "03-Q17: the reference writes vector_bfloat16, which no architecture states a peak for.",
    },
    Meant {
        cases: "normalization-layers",
        sheets: "unified_perf_summary",
        names: "aten::mse_loss->*",
        columns: "ex_UID",
        why: "02 section 10.1: the reference numbers the rows of single device events behind the last event of the \
              trace; ours have the index of the operator, which a reader can look up.",
    },
    Meant {
        cases: "normalization-layers",
        sheets: "ops_unique_args | unified_perf_summary | BinaryElementwise",
        names: "aten::add_",
        columns: "trunc_kernel_details",
        why: "The mean of four kernels is 4.115 µs. The reference computes 4.114999999999999 from durations in \
              doubles and rounds it to 4.11; the exact mean rounds to 4.12.",
    },
];

#[test]
fn sheets_agree_with_the_reference_cell_by_cell() {
    let Some(folder) = testdata::corpus("pytorch") else { return };
    let cases = super::cases(&folder);
    assert!(!cases.is_empty(), "no cases in {}", folder.display());
    let mut verdicts = Verdicts::new(MEANT, ADDED_COLUMNS);
    for case in &cases {
        let options = AnalysisOptions {
            link_by: LinkBy::Flow,
            kernel_summary: true,
            kernels: KernelOptions { short_kernel_study: true, ..KernelOptions::default() },
            conventions: THEIRS,
            communication: CommunicationPatterns::tracelens(),
            ..AnalysisOptions::default()
        };
        let folder = folder.join(case);
        let analysis = Analysis::new(super::read(&folder.join("trace.json.gz")), options);
        let references = super::tables(&folder.join("reference"));
        for (sheet, comparison) in compare(&analysis, &references) {
            verdicts.add(case, &sheet, comparison);
        }
    }
    eprintln!("{} cases: {} cells exact, {} within the clock", cases.len(), verdicts.exact, verdicts.clock);
    let wrong = verdicts.wrong();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// All sheets of a case with their references.
fn compare(analysis: &Analysis, references: &[(String, Reference)]) -> Vec<(String, Comparison)> {
    let difference = |what: &str| {
        let mut comparison = Comparison::default();
        comparison.differ("rows", "", what.to_owned());
        comparison
    };
    let mut compared = Vec::new();
    for sheet in pytorch_sheets() {
        let name = sheet.reference_name.unwrap_or(&sheet.name);
        let reference = references.iter().find(|(reference, _)| reference == name);
        let comparison = match (reference, Table::build(analysis, &sheet.name)) {
            (Some((_, reference)), Some(ours)) => reference.compare(&ours),
            (Some((_, reference)), None) if !reference.is_empty() => difference("the sheet is missing"),
            (None, Some(ours)) if !ours.rows.is_empty() && !ADDED_SHEETS.contains(&name) => {
                difference("a sheet that the reference lacks")
            }
            _ => continue,
        };
        compared.push((name.to_owned(), comparison));
    }
    for (name, _) in references {
        let made = pytorch_sheets().iter().any(|sheet| sheet.reference_name.unwrap_or(&sheet.name) == name);
        if !made {
            compared.push((name.clone(), difference("no such sheet is made")));
        }
    }
    compared
}
