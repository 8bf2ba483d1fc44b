//! The sheets of modelled operators: which calls have a row, what a row says, in which sheet it stands.

use std::path::Path;

use perf_models::{PeakBasis, architecture};
use testdata::trace::correlated;
use trace_ingest::{Category, DeviceProperties, EventArguments, EventId, ReadOptions, TraceFacts, read_path};
use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

use crate::common::{Table, conventions};
use crate::fixture::{Analysed, Fixture, Input, Kernel};

/// Measured peaks of MI300X.
fn mi300x() -> AnalysisOptions {
    AnalysisOptions {
        architecture: architecture("MI300X").cloned(),
        peak_basis: Some(PeakBasis::Achievable),
        ..AnalysisOptions::default()
    }
}

/// Forward and backward of an operator: the forward, then on another thread the autograd node with the same
/// sequence number, the backward operator inside it, and that one's kernels.
struct Linked<'a> {
    forward: &'a str,
    inputs: &'a [Input<'a>],
    /// Of the autograd node, behind `autograd::engine::evaluate_function: `.
    node: &'a str,
    /// With a kernel each.
    backward: &'a [&'a str],
}

/// Adds both, at 100 µs on the device each kernel of 50 µs; the forward's takes 20 µs. The autograd node.
fn linked(fixture: &mut Fixture, sequence_number: i64, linked: &Linked<'_>) -> EventId {
    let numbered = EventArguments { sequence_number: Some(sequence_number), ..EventArguments::default() };
    let start = sequence_number as f64 * 1000.0;
    let forward =
        EventArguments { sequence_number: Some(sequence_number), ..fixture.arguments(linked.inputs) };
    fixture.event(Category::CPU_OP, linked.forward, (1, 1), (start, 10.0), forward);
    fixture.launches(start + 1.0, &[("forward", 7, start + 100.0, 20.0)]);
    let node = format!("autograd::engine::evaluate_function: {}", linked.node);
    let node = fixture.event(Category::CPU_OP, &node, (1, 2), (start + 200.0, 100.0), numbered);
    for (position, name) in linked.backward.iter().enumerate() {
        let at = start + 210.0 + position as f64 * 20.0;
        fixture.op_on(2, name, (at, 10.0));
        let correlation = fixture.correlation();
        let launched = correlated(correlation);
        fixture.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", (1, 2), (at + 1.0, 1.0), launched);
        let kernel = ("backward", 7, start + 400.0 + position as f64 * 60.0, 50.0);
        fixture.device(Category::KERNEL, kernel, correlation);
    }
    node
}

/// Causal flash attention of (2, 4, 128, 64) in BF16.
const ATTENTION: &[Input<'_>] = &[
    (&[2, 4, 128, 64], "c10::BFloat16", ""),
    (&[2, 4, 128, 64], "c10::BFloat16", ""),
    (&[2, 4, 128, 64], "c10::BFloat16", ""),
    (&[], "Scalar", "0."),
    (&[], "Scalar", "True"),
];

const ATTENTION_BACKWARD: Linked<'_> = Linked {
    forward: "aten::_scaled_dot_product_flash_attention",
    inputs: ATTENTION,
    node: "ScaledDotProductFlashAttentionBackward0",
    backward: &["ScaledDotProductFlashAttentionBackward0"],
};

/// Forward, backward and bias of a convolution of (4, 8, 16, 16) by (8, 8, 3, 3) in FP32.
fn convolution(bias: bool) -> [Input<'static>; 9] {
    let bias: Input<'_> = if bias { (&[8], "float", "") } else { (&[], "", "") };
    [
        (&[4, 8, 16, 16], "float", ""),
        (&[8, 8, 3, 3], "float", ""),
        bias,
        (&[], "ScalarList", "[1, 1]"),
        (&[], "ScalarList", "[1, 1]"),
        (&[], "ScalarList", "[1, 1]"),
        (&[], "Scalar", "False"),
        (&[], "ScalarList", "[0, 0]"),
        (&[], "Scalar", "1"),
    ]
}

const FIGURES: &str = "name | GFLOPS_first | Data Moved (MB)_first | FLOPS/Byte_first | Kernel Time (µs)_sum";

#[test]
fn a_call_is_held_against_the_time_of_its_kernels() {
    let mut fixture = Fixture::new();
    fixture.mm(0.0, &[("gemmA", 7, 1050.0, 50.0), ("gemmB", 8, 1060.0, 50.0)]);
    let analysis = fixture.analyse(AnalysisOptions::default());
    let table = Table::of_sheet(&analysis, "GEMM");
    // 2·32·64·128 FLOPs and 4·(32·64 + 64·128 + 32·128) bytes in 60 µs.
    let figures = "param: M | param: N | param: K | GFLOPS_first | Compute Spec | name_count";
    assert_eq!(table.select(figures), ["32 | 128 | 64 | 0.000524288 | matrix_fp32 | 1"]);
    assert!((table.numbers("TFLOPS/s_mean")[0] - 0.008738133333333334).abs() < 1e-15);
    assert!((table.numbers("TB/s_mean")[0] - 0.0009557333333333333).abs() < 1e-15);
    assert!(!table.headers.iter().any(|header| header.contains("Roofline")), "no architecture is known");
}

#[test]
fn calls_with_the_same_parameters_are_one_row_by_kernel_time() {
    let mut fixture = Fixture::new();
    let small: &[Input<'_>] = &[(&[2, 2], "float", ""), (&[2, 2], "float", "")];
    fixture.modelled_call("aten::mm", 0.0, small, &[("k", 7, 1000.0, 5.0)]);
    fixture.mm(20.0, &[("k", 7, 1100.0, 20.0)]);
    fixture.modelled_call("aten::mm", 40.0, small, &[("k", 7, 1200.0, 7.0)]);
    fixture.mm(60.0, &[]);
    let columns = "param: M | name_count | Kernel Time (µs)_sum | Kernel Time (µs)_std | UID_first";
    let rows = fixture.table("GEMM").select(columns);
    // The call without kernels counts, with no time.
    assert_eq!(rows, ["32 | 2 | 20 | 14.142135623730951 | 3", "2 | 2 | 12 | 1.4142135623730951 | 0"]);
}

#[test]
fn calls_with_unlike_numbers_of_kernels_are_told_apart_on_demand() {
    let trace = || {
        let mut fixture = Fixture::new();
        fixture.mm(0.0, &[("g", 7, 1000.0, 10.0)]);
        fixture.mm(20.0, &[("g", 7, 1100.0, 14.0)]);
        fixture.mm(40.0, &[("g", 7, 1200.0, 14.0), ("h", 7, 1300.0, 3.0)]);
        fixture
    };
    let analyse = |group_by_num_kernels| {
        trace().analyse(AnalysisOptions { group_by_num_kernels, ..AnalysisOptions::default() })
    };
    let list = "[{'name': 'g', 'stream': 7, 'count': 2, 'total_duration_us': 24.0, 'mean_duration_us': 12.0, \
                'median_duration_us': 12.0, 'std_dev_duration_us': 2.0, 'min_duration_us': 10.0, \
                'max_duration_us': 14.0}]";
    let (together, apart) = (analyse(false), analyse(true));
    for (sheet, count, details) in [
        ("GEMM", "name_count", "kernel_details__summarize_kernel_stats"),
        ("unified_perf_summary", "operation_count", "kernel_details_summary"),
    ] {
        let table = Table::of_sheet(&together, sheet);
        assert_eq!(
            table.select(&format!("{count} | Kernel Time (µs)_sum | {details}")),
            [format!("3 | 41 | {list}")]
        );
        assert!((table.numbers("Kernel Time (µs)_std")[0] - 3.5118845842842465).abs() < 1e-12);
        let table = Table::of_sheet(&apart, sheet);
        let rows = table.select(&format!("num_kernels | {count} | Kernel Time (µs)_sum"));
        assert_eq!(rows, ["1 | 2 | 24", "2 | 1 | 17"], "{sheet}");
    }
}

#[test]
fn parameters_that_some_calls_lack_print_as_floats() {
    let mut fixture = Fixture::new();
    fixture.mm(0.0, &[("k", 7, 1000.0, 5.0)]);
    let matrix: Input<'_> = (&[2, 2], "float", "");
    fixture.modelled_call("aten::sum", 20.0, &[matrix], &[("k", 7, 1100.0, 5.0)]);
    let analysis = fixture.analyse(AnalysisOptions::default());
    assert_eq!(Table::of_sheet(&analysis, "GEMM").select("param: M | param: bias"), ["32 | False"]);
    assert_eq!(Table::of_sheet(&analysis, "Reduce_fwd").rows.len(), 1);
}

#[test]
fn the_roofline_is_that_of_the_architecture() {
    // addmm of 788×768 by 768×768 in BF16, and a layer norm of (4, 197, 768).
    let mut fixture = Fixture::new();
    let bf16 = "c10::BFloat16";
    let operands: [Input<'_>; 5] = [
        (&[768], bf16, ""),
        (&[788, 768], bf16, ""),
        (&[768, 768], bf16, ""),
        (&[], "Scalar", "1"),
        (&[], "Scalar", "1"),
    ];
    fixture.modelled_call("aten::addmm", 0.0, &operands, &[("gemm", 7, 1000.0, 10.0)]);
    let normalized: [Input<'_>; 6] = [
        (&[4, 197, 768], bf16, ""),
        (&[], "ScalarList", "[768]"),
        (&[768], bf16, ""),
        (&[768], bf16, ""),
        (&[], "Scalar", "1e-12"),
        (&[], "Scalar", "True"),
    ];
    fixture.modelled_call("aten::layer_norm", 20.0, &normalized, &[("norm", 7, 1100.0, 5.0)]);
    let analysis = fixture.analyse(mi300x());
    let unified = Table::of_sheet(&analysis, "unified_perf_summary");
    let expected = [
        ("aten::addmm", "COMPUTE_BOUND", 0.930167808, 3.43505859375, 1.313796338983051, 13.13796338983051),
        (
            "aten::layer_norm",
            "MEMORY_BOUND",
            f64::NAN,
            2.317535400390625,
            0.4585116981132075,
            9.17023396226415,
        ),
    ];
    for (row, (name, bound, gflops, mebibytes, time, share)) in expected.into_iter().enumerate() {
        assert_eq!(unified.select("name | Roofline Bound")[row], format!("{name} | {bound}"));
        for (column, expected) in [
            ("GFLOPS", gflops),
            ("Data Moved (MB)", mebibytes),
            ("Roofline Time (µs)_first", time),
            ("Pct Roofline_mean", share),
        ] {
            let found = unified.numbers(column)[row];
            assert!(expected.is_nan() || (found - expected).abs() < 1e-9, "{name} {column}: {found}");
        }
    }
    for (sheet, bound) in [("GEMM", "COMPUTE_BOUND"), ("Normalization", "MEMORY_BOUND")] {
        assert_eq!(Table::of_sheet(&analysis, sheet).select("Roofline Bound_first"), [bound]);
    }
}

#[test]
fn the_device_of_the_trace_gives_the_architecture() {
    let trace = |device: Option<&str>| {
        let mut fixture = Fixture::new();
        fixture.mm(0.0, &[("k", 7, 1000.0, 5.0)]);
        let device = device
            .map(|name| DeviceProperties { name: Some(name.to_owned()), ..DeviceProperties::default() });
        fixture.builder.facts(TraceFacts { devices: device.into_iter().collect(), ..TraceFacts::default() });
        fixture
    };
    let name = |analysis: &Analysis| analysis.architecture().map(|architecture| architecture.name.clone());
    let has_roofline = |analysis: &Analysis| {
        let table = Table::of_sheet(analysis, "GEMM");
        table.headers.iter().any(|header| header == "Roofline Bound_first")
    };
    for (device, expected) in
        [(None, None), (Some("a toaster"), None), (Some("AMD Instinct MI300X"), Some("MI300X".to_owned()))]
    {
        let analysis = trace(device).analyse(AnalysisOptions::default());
        assert_eq!((name(&analysis), has_roofline(&analysis)), (expected.clone(), expected.is_some()));
    }
    // What was asked for goes first.
    let mi325x = architecture("MI325X").cloned();
    let options = AnalysisOptions { architecture: mi325x, ..AnalysisOptions::default() };
    assert_eq!(name(&trace(Some("AMD Instinct MI300X")).analyse(options)).as_deref(), Some("MI325X"));
}

#[test]
fn moving_data_is_bound_by_memory() {
    let mut fixture = Fixture::new();
    let half: Input<'_> = (&[1024, 1024], "c10::Half", "");
    let copied = [half, half, (&[], "Scalar", "False")];
    fixture.modelled_call("aten::copy_", 0.0, &copied, &[("copy", 7, 1000.0, 5.0)]);
    fixture.mm(20.0, &[("k", 7, 1100.0, 1.0)]);
    let analysis = fixture.analyse(mi300x());
    let rows = Table::of_sheet(&analysis, "unified_perf_summary").select("name | Roofline Bound");
    assert_eq!(rows, ["aten::copy_ | MEMORY_BOUND", "aten::mm | MEMORY_BOUND"]);
    assert_eq!(analysis.notices(), []);
}

#[test]
fn peaks_that_the_architecture_lacks_are_told() {
    let mut toaster = architecture("MI300X").unwrap().clone();
    toaster.name = "toaster".to_owned();
    toaster.nominal_tflops.clear();
    toaster.achievable_tflops.clear();
    for (are_theirs, consequence, bound) in
        [(true, "have no roofline", "-"), (false, "are rated against bandwidth only", "BANDWIDTH_ONLY")]
    {
        let mut fixture = Fixture::new();
        fixture.mm(0.0, &[("k", 7, 1000.0, 5.0)]);
        fixture.mm(20.0, &[("k", 7, 1100.0, 5.0)]);
        let architecture = Some(toaster.clone());
        let options = AnalysisOptions {
            architecture,
            conventions: conventions(are_theirs),
            ..AnalysisOptions::default()
        };
        let analysis = fixture.analyse(options);
        let notices: Vec<String> = analysis.notices().iter().map(ToString::to_string).collect();
        let expected =
            format!("architecture toaster has no peak for matrix_fp32 (2 calls): these calls {consequence}");
        assert_eq!(notices, [expected]);
        let row = Table::of_sheet(&analysis, "unified_perf_summary").select("GFLOPS | Roofline Bound");
        assert_eq!(row, [format!("0.000524288 | {bound}")]);
    }
}

#[test]
fn models_of_ours_are_not_in_reports_as_tracelens_makes_them() {
    let softmax: &[Input<'_>] = &[(&[64, 128], "float", ""), (&[], "Scalar", "-1"), (&[], "Scalar", "False")];
    let vector: &[Input<'_>] = &[(&[64, 128], "float", ""), (&[128], "float", "")];
    let elementwise = "void at::native::vectorized_elementwise_kernel<4, at::native::unheard_of>";
    let rows = |are_theirs: bool| {
        let mut fixture = Fixture::new();
        fixture.modelled_call("aten::_softmax", 0.0, softmax, &[("softmax_warp_forward", 7, 1000.0, 9.0)]);
        fixture.modelled_call("aten::unheard_of", 20.0, vector, &[(elementwise, 7, 1100.0, 5.0)]);
        let analysis = fixture
            .analyse(AnalysisOptions { conventions: conventions(are_theirs), ..AnalysisOptions::default() });
        let unified = Table::of_sheet(&analysis, "unified_perf_summary");
        let shown = unified.select("name | op category | has_perf_model | Data Moved (MB)");
        (
            shown,
            Table::build(&analysis, "TensorTraffic").map(|sheet| sheet.select("name | param: largest_shape")),
        )
    };
    let theirs = ["aten::_softmax | other | False | -", "aten::unheard_of | elementwise | False | -"];
    assert_eq!(rows(true), (theirs.map(str::to_owned).to_vec(), None));
    // 64 × 128 numbers of four bytes are read and written; the second operand has one row.
    let ours =
        ["aten::_softmax | softmax | True | 0.0625", "aten::unheard_of | elementwise | True | 0.06298828125"];
    let sheet = vec!["aten::_softmax | (64, 128)".to_owned()];
    assert_eq!(rows(false), (ours.map(str::to_owned).to_vec(), Some(sheet)));
}

#[test]
fn kernels_speak_for_the_operator_that_launched_them_alone() {
    let vector: &[Input<'_>] = &[(&[64, 128], "float", "")];
    let mut fixture = Fixture::new();
    let arguments = fixture.arguments(vector);
    fixture.event(Category::CPU_OP, "aten::wrapper", (1, 1), (0.0, 30.0), arguments);
    let elementwise = "void at::native::vectorized_elementwise_kernel<4, at::native::unheard_of>";
    fixture.modelled_call("aten::unheard_of", 5.0, vector, &[(elementwise, 7, 1100.0, 5.0)]);
    let analysis = fixture.analyse(AnalysisOptions::default());
    let rows = Table::of_sheet(&analysis, "unified_perf_summary").select("name | has_perf_model");
    assert_eq!(rows, ["aten::unheard_of | True"]);
}

#[test]
fn launches_without_arguments_say_why_they_have_no_figures() {
    let mut fixture = Fixture::new();
    fixture.mm(40.0, &[("k", 7, 1100.0, 5.0)]);
    for (name, at) in [("cudaGraphLaunch", 0.0), ("cudaLaunchKernel", 20.0)] {
        fixture.launch(name, (at, 2.0), at as i64 + 100);
        fixture.device(Category::KERNEL, ("gemm", 7, 1000.0 + at, 5.0), at as i64 + 100);
    }
    let reasons = Table::of_sheet(&fixture.analyse(AnalysisOptions::default()), "coverage").select("reason");
    assert_eq!(
        reasons,
        [
            "-",
            "a graph replay is recorded without the arguments of its calls",
            "launched outside any operator, so no arguments are recorded"
        ]
    );
}

#[test]
fn only_the_first_rows_are_shown_on_demand() {
    let mut fixture = Fixture::new();
    for (at, size, time) in [(0.0, 2, 5.0), (20.0, 4, 20.0), (40.0, 8, 10.0)] {
        let inputs: &[Input<'_>] = &[(&[size, size], "float", ""), (&[size, size], "float", "")];
        fixture.modelled_call("aten::mm", at, inputs, &[("k", 7, 1000.0 + at * 2.0, time)]);
    }
    let options = AnalysisOptions { topk_roofline_ops: Some(2), ..AnalysisOptions::default() };
    let analysis = fixture.analyse(options);
    assert_eq!(Table::of_sheet(&analysis, "GEMM").select("param: M"), ["4", "8"]);
    assert_eq!(Table::of_sheet(&analysis, "unified_perf_summary").rows.len(), 3);
}

#[test]
fn calls_inside_calls_of_the_sheet_are_marked() {
    let mut fixture = Fixture::new();
    let input: Input<'_> = (&[4, 8], "float", "");
    let weight: Input<'_> = (&[8], "float", "");
    let arguments: [Input<'_>; 5] =
        [input, (&[], "ScalarList", "[8]"), weight, weight, (&[], "Scalar", "1e-05")];
    let call = |fixture: &mut Fixture, name: &str, span| {
        let arguments = fixture.arguments(&arguments);
        fixture.event(Category::CPU_OP, name, (1, 1), span, arguments);
    };
    call(&mut fixture, "aten::layer_norm", (0.0, 20.0));
    call(&mut fixture, "aten::native_layer_norm", (1.0, 15.0));
    fixture.launches(2.0, &[("norm", 7, 1000.0, 5.0)]);
    let columns = "name | nested | nested_count | name_count";
    let nested = |fixture: Fixture| fixture.table("Normalization").select(columns);
    // One more outside any: then the row is not all nested.
    let mut other = Fixture::new();
    call(&mut other, "aten::layer_norm", (0.0, 20.0));
    call(&mut other, "aten::native_layer_norm", (1.0, 15.0));
    call(&mut other, "aten::native_layer_norm", (30.0, 15.0));
    other.launches(31.0, &[("norm", 7, 1000.0, 5.0)]);
    assert_eq!(
        nested(fixture),
        ["aten::layer_norm | False | 0 | 1", "aten::native_layer_norm | True | 1 | 1"]
    );
    assert_eq!(
        nested(other),
        ["aten::native_layer_norm | False | 1 | 2", "aten::layer_norm | False | 0 | 1"]
    );
}

#[test]
fn the_backward_of_attention_has_the_figures_of_its_forward() {
    let mut fixture = Fixture::new();
    // The forward operator is the first event of the trace, which is no reason to lose the link.
    linked(&mut fixture, 0, &ATTENTION_BACKWARD);
    let analysis = fixture.analyse(AnalysisOptions::default());
    let rows = Table::of_sheet(&analysis, "unified_perf_summary").select(
        "name | op category | GFLOPS | Data Moved (MB) | FLOPS/Byte | Kernel Time (µs)_sum \
         | has_perf_model",
    );
    assert_eq!(
        rows[0],
        "ScaledDotProductFlashAttentionBackward0 | SDPA_bwd | 0.04194304 | 0.875 | 45.714285714285715 | 50 | True"
    );
    assert!(rows[1].starts_with("aten::_scaled_dot_product_flash_attention | SDPA_fwd | "), "{}", rows[1]);
    assert_eq!(rows.len(), 2);
    let backward = Table::of_sheet(&analysis, "SDPA_bwd").select(FIGURES);
    assert_eq!(
        backward,
        ["aten::_scaled_dot_product_flash_attention | 0.04194304 | 0.875 | 45.714285714285715 | 50"]
    );
    assert_eq!(Table::of_sheet(&analysis, "SDPA_fwd").select("Kernel Time (µs)_sum"), ["20"]);
}

#[test]
fn a_backward_that_is_not_alone_has_no_figures() {
    let mut fixture = Fixture::new();
    let name = ATTENTION_BACKWARD.node;
    linked(&mut fixture, 1, &Linked { backward: &[name, name], ..ATTENTION_BACKWARD });
    let analysis = fixture.analyse(AnalysisOptions::default());
    let rows = Table::of_sheet(&analysis, "unified_perf_summary")
        .select("name | op category | GFLOPS | has_perf_model | reason");
    assert_eq!(rows[0], format!("{name} | SDPA_bwd | - | False | no performance model for this operator"));
    // The sheet of the family needs no operator to be alone: all that the node launched is the backward.
    let backward = Table::of_sheet(&analysis, "SDPA_bwd").select("Kernel Time (µs)_sum");
    assert_eq!(backward, ["100"]);
}

/// `(grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal)` of
/// [`ATTENTION`].
const OWN_BACKWARD: &[Input<'_>] = &[
    ATTENTION[0],
    ATTENTION[0],
    ATTENTION[1],
    ATTENTION[2],
    ATTENTION[0],
    (&[2, 4, 128], "float", ""),
    (&[], "", ""),
    (&[], "", ""),
    (&[], "Scalar", "128"),
    (&[], "Scalar", "128"),
    (&[], "Scalar", "0."),
    (&[], "Scalar", "True"),
];

#[test]
fn backward_work_that_no_forward_call_stands_for_has_figures_of_its_own() {
    const BACKWARD: &str = "aten::_scaled_dot_product_flash_attention_backward";
    let unified = "name | op category | GFLOPS | Data Moved (MB) | Kernel Time (µs)_sum";
    // Compiled programs call it without a node of autograd.
    let mut fixture = Fixture::new();
    fixture.modelled_call(
        BACKWARD,
        0.0,
        OWN_BACKWARD,
        &[("backward", 7, 1000.0, 50.0), ("dq", 7, 1060.0, 5.0)],
    );
    let analysis = fixture.analyse(AnalysisOptions::default());
    let rows = Table::of_sheet(&analysis, "unified_perf_summary").select(unified);
    assert_eq!(rows, [format!("{BACKWARD} | SDPA_bwd | 0.04194304 | 0.875 | 55")]);
    let backward = Table::of_sheet(&analysis, "SDPA_bwd").select("name | Kernel Time (µs)_sum");
    assert_eq!(backward, [format!("{BACKWARD} | 55")]);
    assert!(Table::build(&analysis, "SDPA_fwd").is_none());

    // A copy beside it keeps the node from standing for all of its work.
    let mut fixture = Fixture::new();
    linked(&mut fixture, 1, &Linked { backward: &[], ..ATTENTION_BACKWARD });
    let copied = [ATTENTION[0], ATTENTION[0]];
    for (name, inputs, at) in [("aten::copy_", &copied[..], 1210.0), (BACKWARD, OWN_BACKWARD, 1230.0)] {
        let arguments = fixture.arguments(inputs);
        fixture.event(Category::CPU_OP, name, (1, 2), (at, 10.0), arguments);
        let correlation = fixture.correlation();
        let launched = correlated(correlation);
        fixture.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", (1, 2), (at + 1.0, 1.0), launched);
        fixture.device(Category::KERNEL, ("kernel", 7, at + 200.0, 15.0), correlation);
    }
    let analysis = fixture.analyse(AnalysisOptions::default());
    let rows = Table::of_sheet(&analysis, "unified_perf_summary").select(unified);
    assert!(rows.contains(&format!("{BACKWARD} | SDPA_bwd | 0.04194304 | 0.875 | 15")), "{rows:?}");
    assert!(rows.iter().any(|row| row.starts_with("aten::copy_ | ")), "{rows:?}");
    // The row of the forward operator has the work of the whole node, and the operator none beside it.
    let backward = Table::of_sheet(&analysis, "SDPA_bwd").select("name | Kernel Time (µs)_sum");
    assert_eq!(backward, ["aten::_scaled_dot_product_flash_attention | 30"]);
}

#[test]
fn recorded_programs_have_the_flops_of_attention_and_of_experts() {
    let flops = |file: &str, operator: &str| -> Vec<Option<f64>> {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recorded/h200");
        let trace = read_path(&recorded.join(file), &ReadOptions::default()).unwrap();
        let analysis = Analysis::new(trace, AnalysisOptions::default());
        let work = analysis.charged_work();
        let of_operator = work.filter(|work| analysis.trace().name(work.operator) == operator);
        of_operator.map(|work| work.flops()).collect()
    };
    // Four products of half of 1024 by 1024 scores, 2 by 8 heads of 64: autograd links nothing to the forward call.
    let backward = "aten::_scaled_dot_product_cudnn_attention_backward";
    assert_eq!(flops("compiled_attention.json.gz", backward), [Some(4_294_967_296.0)]);
    // Two forward and three backward, of 4096 tokens, 512 by 1408.
    let products = flops("experts_step.json.gz", "aten::_grouped_mm");
    assert_eq!(products, [Some(2.0 * 4096.0 * 512.0 * 1408.0); 5]);
}

#[test]
fn backward_operators_stand_in_the_backward_sheet() {
    let mut fixture = Fixture::new();
    fixture.modelled_call("aten::convolution", 0.0, &convolution(true), &[("conv", 7, 1000.0, 20.0)]);
    let forward = convolution(false);
    let mut backward: Vec<Input<'_>> = vec![(&[4, 8, 16, 16], "float", ""), forward[0], forward[1]];
    backward.push((&[], "ScalarList", "[8]"));
    backward.extend(&forward[3..]);
    backward.push((&[], "", "[True, True, True]"));
    fixture.modelled_call("aten::convolution_backward", 20.0, &backward, &[("wgrad", 7, 1100.0, 40.0)]);
    let analysis = fixture.analyse(AnalysisOptions::default());
    let names = |sheet: &str| Table::of_sheet(&analysis, sheet).select("name | Kernel Time (µs)_sum");
    assert_eq!(names("CONV_fwd"), ["aten::convolution | 20"]);
    assert_eq!(names("CONV_bwd"), ["aten::convolution_backward | 40"]);
}

#[test]
fn the_backward_of_packed_attention_stands_in_the_backward_sheet() {
    let mut fixture = Fixture::new();
    let tensor: Input<'_> = (&[256, 4, 64], "c10::BFloat16", "");
    let lengths: Input<'_> = (&[3], "int", "");
    let scalar = |value| -> Input<'static> { (&[], "Scalar", value) };
    // dout, q, k, v, out, softmax statistics, dq, dk, dv, lengths of q and k, then numbers.
    let inputs = [
        tensor,
        tensor,
        tensor,
        tensor,
        tensor,
        (&[4, 256], "float", ""),
        tensor,
        tensor,
        tensor,
        lengths,
        lengths,
        scalar("128"),
        scalar("128"),
        scalar("0."),
        scalar("0.125"),
        scalar("True"),
    ];
    let kernels = [("backward", 7, 1000.0, 5.0)];
    fixture.modelled_call("flash_attn::_flash_attn_varlen_backward", 0.0, &inputs, &kernels);
    fixture.modelled_call("flash_attn::_flash_attn_backward", 20.0, &inputs, &[("other", 7, 1100.0, 5.0)]);
    let analysis = fixture.analyse(AnalysisOptions::default());
    let names = |sheet| Table::build(&analysis, sheet).map(|table| table.select("name"));
    let varlen = vec!["flash_attn::_flash_attn_varlen_backward".to_owned()];
    assert_eq!(names("SDPA_bwd"), Some(varlen.clone()));
    assert!(names("SDPA_fwd").is_none_or(|names| !names.contains(&varlen[0])));
}

#[test]
fn a_convolution_that_links_to_its_backward_does_not_count_twice() {
    let mut fixture = Fixture::new();
    let backward = Linked {
        forward: "aten::convolution",
        inputs: &convolution(true),
        node: "ConvolutionBackward0",
        backward: &["ConvolutionBackward0"],
    };
    linked(&mut fixture, 1, &backward);
    let analysis = fixture.analyse(AnalysisOptions::default());
    assert!(Table::build(&analysis, "CONV_bwd").is_none());
    let rows = Table::of_sheet(&analysis, "unified_perf_summary").select("name | op category");
    assert_eq!(rows, ["ConvolutionBackward0 | CONV_bwd", "aten::convolution | CONV_fwd"]);
}

#[test]
fn fused_convolutions_find_their_forward_by_sequence_number() {
    let mut fixture = Fixture::new();
    let inputs = &convolution(true)[..3];
    for (name, inputs, thread, at) in
        [("ConvBias_", inputs, 1, 0.0), ("ConvBias_Backward", &inputs[..0], 2, 50.0)]
    {
        let arguments = EventArguments { sequence_number: Some(7), ..fixture.arguments(inputs) };
        fixture.event(Category::CPU_OP, name, (1, thread), (at, 10.0), arguments);
    }
    let alone = EventArguments { sequence_number: Some(8), ..EventArguments::default() };
    fixture.event(Category::CPU_OP, "ConvBias_Backward", (1, 2), (70.0, 10.0), alone);
    fixture.unlinked(("k", 7, 1000.0, 5.0));
    let analysis = fixture.analyse(AnalysisOptions::default());
    let rows = Table::of_sheet(&analysis, "CONV_bwd").select("name | name_count | param: input_shape");
    assert_eq!(rows, ["ConvBias_Backward | 1 | (4, 8, 16, 16)"]);
}

#[test]
fn recomputed_calls_are_rows_of_their_own() {
    let mut fixture = Fixture::new();
    fixture.mm(0.0, &[("gemm", 7, 1000.0, 100.0)]);
    fixture.python("torch/utils/checkpoint.py(1110): recompute_fn", (20.0, 30.0));
    fixture.mm(25.0, &[("gemm", 7, 1100.0, 50.0)]);
    let options = AnalysisOptions { detect_recompute: true, ..AnalysisOptions::default() };
    let analysis = fixture.analyse(options);
    for sheet in ["GEMM", "unified_perf_summary"] {
        let rows = Table::of_sheet(&analysis, sheet).select("name | is_recompute | Kernel Time (µs)_sum");
        assert_eq!(rows, ["aten::mm | False | 100", "aten::mm | True | 50"], "{sheet}");
    }
}

#[test]
fn calls_that_differ_in_what_ran_beside_them_stand_together() {
    let mut fixture = Fixture::new();
    let other: &[Input<'_>] = &[(&[2, 2], "float", ""), (&[2, 2], "float", "")];
    let calls: [(&[Input<'_>], Kernel<'_>); 3] = [
        (other, ("gemm", 7, 1000.0, 50.0)),
        (&[(&[4, 4], "float", ""), (&[4, 4], "float", "")], ("gemm", 7, 1100.0, 30.0)),
        (&[(&[4, 4], "float", ""), (&[4, 4], "float", "")], ("gemm", 7, 1200.0, 40.0)),
    ];
    for (position, (inputs, kernel)) in calls.into_iter().enumerate() {
        fixture.modelled_call("aten::mm", position as f64 * 20.0, inputs, &[kernel]);
    }
    fixture.call("beside", 80.0, &[("k", 8, 1200.0, 10.0)]);
    let options = AnalysisOptions { include_overlap_info: true, ..AnalysisOptions::default() };
    let analysis = fixture.analyse(options);
    let rows = Table::of_sheet(&analysis, "GEMM_kl_overlap").select(
        "param: M | overlapping_kernel_names_first | Kernel Time (µs)_sum | overlap_pct_mean \
         | overlap_pct_std",
    );
    // 4×4 takes 70 µs in all, more than 2×2; within it the longer call comes first.
    assert_eq!(rows, ["4 | ['k'] | 40 | 0.25 | 0", "4 | - | 30 | - | -", "2 | - | 50 | - | -"]);
    let rows = Table::of_sheet(&analysis, "unified_perf_summary_kl_overlap").select(
        "name | overlapping_kernel_names | Kernel Time (µs)_sum | overlap_pct_mean \
         | overlap_pct_std",
    );
    let expected = [
        "aten::mm | ['k'] | 40 | 0.25 | 0",
        "aten::mm | - | 30 | - | -",
        "aten::mm | - | 50 | - | -",
        "beside | ['gemm'] | 10 | 1 | 0",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn every_family_has_its_sheets_in_order() {
    let sheets = pytorch_sheets();
    let at = |name: &str| sheets.iter().position(|sheet| sheet.name == name).unwrap();
    for pair in [
        "GEMM",
        "SDPA_fwd",
        "SDPA_bwd",
        "SDPA_fwd_kl_overlap",
        "SDPA_bwd_kl_overlap",
        "CONV_fwd",
        "InferenceAttention_fwd",
        "BinaryElementwise",
        "GroupedGEMM_fwd",
        "MoE_comm_fwd",
        "SSM_fwd",
        "RoPE_fwd",
        "CrossEntropy_fwd",
        "UnaryElementwise",
        "MoE_fused_fwd",
        "MoE_unfused_fwd",
        "MoE_aux_fwd",
        "RMSNorm_fwd",
        "elementwise_fwd",
        "GroupQuant_fwd",
        "FusedRoPE_fwd",
        "CustomCollective_fwd",
        "mHC_fwd",
        "Normalization",
        "Reduce_fwd",
        "kernel_summary",
    ]
    .windows(2)
    {
        assert!(at(pair[0]) < at(pair[1]), "{pair:?}");
    }
}
