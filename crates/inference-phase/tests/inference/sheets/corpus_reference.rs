//! Phases of recorded traces by the methods of TraceLens and by ours.

use inference_phase::Phase;
use inference_phase::methods::DetectionMethod;
use inference_phase::sheets::{PhaseAnalysis, PhaseMethod, PhaseOptions};
use inference_phase::tracelens::Method;
use tree_perf::Analysis;

use crate::sheets::corpus::analysis;
use crate::sheets::table::{numbers, rows, sheet};

const DECODE_TRACE: &str = "inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz";
const MIXED_TRACE: &str = "inference/vllm-prefilldecode-piecewise/graph_execution.json.gz";

fn recorded(trace: &str) -> Option<Analysis> {
    testdata::corpus(trace).map(|path| analysis(&path))
}

fn legacy(analysis: &Analysis, method: Method) -> PhaseAnalysis<'_> {
    let method = PhaseMethod::TraceLens(method);
    PhaseAnalysis::new(analysis, PhaseOptions { method, ..PhaseOptions::default() })
}

/// Share of the kernel time in percent.
fn share(phases: &PhaseAnalysis<'_>, phase: Phase) -> f64 {
    let total: i64 = phases.phases().iter().map(|row| row.kernel_time).sum();
    let of = phases.phases().iter().find(|row| row.phase == phase).map_or(0, |row| row.kernel_time);
    of as f64 / total as f64 * 100.0
}

/// Compares the first rows of a sheet by name, µs and calls. The reference keeps times in doubles, which costs it a
/// few nanoseconds.
#[track_caller]
fn assert_rows(phases: &PhaseAnalysis<'_>, name: &str, expected: &[(&str, f64, u32)]) {
    let table = sheet(phases, name).unwrap();
    let found = rows(&table, "name | Count");
    let expected_rows: Vec<String> =
        expected.iter().map(|(name, _, count)| format!("{name} | {count}")).collect();
    assert_eq!(found[..expected.len()], expected_rows);
    let times = numbers(&table, "total_direct_kernel_time_sum").into_iter();
    for (found, (name, time, _)) in times.zip(expected) {
        assert!((found - time).abs() < 0.01, "{name}: {found} for {time}");
    }
}

#[test]
fn the_vote_of_the_reference_splits_a_decode_step() {
    let Some(analysis) = recorded(DECODE_TRACE) else { return };
    let phases = legacy(&analysis, Method::Union);
    assert_rows(
        &phases,
        "ops_summary_decode",
        &[
            ("hipGraphLaunch", 9656.405273, 1),
            ("hipLaunchKernel", 12.176758, 2),
            ("aten::_foreach_copy_", 12.096680, 2),
        ],
    );
    assert_rows(
        &phases,
        "ops_summary_prefill",
        &[("aten::argmax", 53.839844, 1), ("aten::copy_", 23.509766, 5), ("aten::cumsum", 5.247070, 1)],
    );
    let shares: Vec<String> = ["ops_summary_decode", "ops_summary_prefill"]
        .map(|name| rows(&sheet(&phases, name).unwrap(), "Percentage (%)")[0].clone())
        .to_vec();
    assert_eq!(shares, ["99.749", "65.184"]);
}

#[test]
fn the_vote_of_the_reference_calls_most_of_a_mixed_step_decode() {
    let Some(analysis) = recorded(MIXED_TRACE) else { return };
    let phases = legacy(&analysis, Method::Union);
    let decode = [("hipGraphLaunch", 149_919.649414, 25), ("aten::mm", 346.636719, 1)];
    assert_rows(&phases, "ops_summary_decode", &decode);
    assert_rows(
        &phases,
        "ops_summary_prefill",
        &[
            ("vllm::unified_attention_with_output", 5146.907227, 24),
            ("_C_cache_ops::reshape_and_cache_flash", 586.371094, 24),
            ("aten::copy_", 79.196289, 11),
            ("aten::index", 3.638672, 1),
            ("aten::sub", 3.399414, 1),
        ],
    );
}

/// Right shares in percent: decode of the decode step, prefill of the mixed step.
const SHARES: [(Method, f64, f64); 7] = [
    (Method::Named(DetectionMethod::Hybrid), 100.0, 0.0),
    (Method::Union, 98.998, 3.728),
    (Method::Named(DetectionMethod::KernelNames), 98.750, 0.0),
    (Method::Named(DetectionMethod::FrameworkApis), 0.0, 0.0),
    (Method::Named(DetectionMethod::AttentionPatterns), 0.0, 0.0),
    (Method::Named(DetectionMethod::OperationFrequency), 100.0, 0.0),
    (Method::Named(DetectionMethod::GemmParams), 0.0, 3.950),
];

#[test]
fn every_method_of_the_reference_has_its_measured_share() {
    let (Some(decode), Some(mixed)) = (recorded(DECODE_TRACE), recorded(MIXED_TRACE)) else { return };
    for (method, of_decode, of_mixed) in SHARES {
        let found =
            [share(&legacy(&decode, method), Phase::Decode), share(&legacy(&mixed, method), Phase::Prefill)];
        let rounded = found.map(|share| (share * 1000.0).round() / 1000.0);
        assert_eq!(rounded, [of_decode, of_mixed], "{method}");
    }
}

#[test]
fn steps_are_told_by_their_annotations() {
    for (trace, phase) in [(DECODE_TRACE, Phase::Decode), (MIXED_TRACE, Phase::Mixed)] {
        let Some(analysis) = recorded(trace) else { continue };
        let phases = PhaseAnalysis::new(&analysis, PhaseOptions::default());
        assert_eq!(share(&phases, phase), 100.0, "{trace}: {:?}", phases.phases());
        assert!(phases.notices().is_empty(), "{:?}", phases.notices());
    }
}

#[test]
fn single_methods_call_nothing_the_wrong_phase_by_tuning_tokens() {
    let Some(analysis) = recorded(MIXED_TRACE) else { return };
    let method = PhaseMethod::Ours(DetectionMethod::KernelNames);
    let phases = PhaseAnalysis::new(&analysis, PhaseOptions { method, ..PhaseOptions::default() });
    assert_eq!(share(&phases, Phase::Decode), 0.0, "{:?}", phases.phases());
}
