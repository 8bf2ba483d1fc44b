//! Fused operators of inference engines, split by their kernels.

use tree_perf::{AnalysisOptions, Notice};

use crate::common::Table;
use crate::fixture::{Analysed, Fixture};

const FUSED: (&str, i64, f64, f64) = ("void aiter::fmoe_bf16_g1u1", 7, 100.0, 40.0);
const OTHER: (&str, i64, f64, f64) = ("void MoeSorting", 7, 150.0, 10.0);

/// A mixture of experts whose fused operator launches two kernels.
fn mixture() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.op("vllm::moe_forward", (0.0, 60.0));
    fixture.call("vllm::rocm_aiter_fused_moe", 1.0, &[FUSED, OTHER]);
    fixture
}

fn options(enable_pseudo_ops: bool) -> AnalysisOptions {
    AnalysisOptions { enable_pseudo_ops, ..AnalysisOptions::default() }
}

#[test]
fn a_pseudo_operator_takes_its_kernel_from_the_operator_in_every_table() {
    for (sheet, column, sum) in [
        ("ops_summary", "total_direct_kernel_time_ms", 0.05),
        ("unified_perf_summary", "Kernel Time (µs)_sum", 50.0),
    ] {
        let plain = mixture().table_with(sheet, options(false));
        assert_eq!(plain.numbers(column).iter().sum::<f64>(), sum, "{sheet}");
        let split = mixture().table_with(sheet, options(true));
        assert_eq!(split.numbers(column).iter().sum::<f64>(), sum, "{sheet}");
        let names = split.select("name").join(" ");
        assert!(names.contains("pseudo_op::moe_aiter_fused_1stage"), "{sheet}: {names}");
        assert!(!plain.select("name").join(" ").contains("pseudo_op"), "{sheet}");
    }
}

#[test]
fn a_pass_that_lacks_python_frames_is_reported_and_stops_no_other() {
    let mut fixture = mixture();
    fixture.call("aiter::fused_moe_", 200.0, &[("k", 7, 300.0, 5.0)]);
    let analysis = fixture.analyse(options(true));
    let failed = |notice: &Notice| matches!(notice, Notice::PassFailed { pass, .. } if pass == "MoE_Flydsl");
    assert!(analysis.notices().iter().any(failed), "{:?}", analysis.notices());
    let names = Table::of_sheet(&analysis, "ops_summary").select("name").join(" ");
    assert!(names.contains("pseudo_op::moe_aiter_fused_1stage"), "{names}");
}

#[test]
fn numbered_names_of_the_sglang_profiler_are_one_operator() {
    let mut fixture = Fixture::new();
    fixture.call("sglang_profiler::attention_paged_attention_ragged_100", 0.0, &[("a", 7, 20.0, 5.0)]);
    fixture.call("sglang_profiler::attention_paged_attention_ragged_101", 10.0, &[("a", 7, 30.0, 5.0)]);
    let table = fixture.table("ops_summary");
    assert_eq!(table.select("name"), ["sglang_profiler::attention_paged_attention_ragged"]);
}

#[test]
fn an_operator_inserted_around_a_kernel_took_no_time_on_the_host() {
    let table = mixture().table_with("unified_perf_summary", options(true));
    let columns = "name | total_duration_us | mean_duration_us | std_duration_us | duration_us_max";
    let rows = table.select(columns);
    assert_eq!(rows[0], "pseudo_op::moe_aiter_fused_1stage | 0 | - | - | -");
    assert!(rows[1].starts_with("vllm::rocm_aiter_fused_moe->"), "{rows:?}");
    assert!(rows[1].ends_with(" | 10 | 10 | - | 10"), "{rows:?}");
}
