//! What the report of an inference engine has that others have not: modules, counts, names of sheets.

use sheets::Sheet;
use trace_ingest::Category;
use trace2tree::TraceTree;
use tree_perf::{Analysis, AnalysisOptions, ReportLayout, inference_sheets, pytorch_sheets};

use crate::common::{THEIRS, Table};
use crate::fixture::{Analysed, Fixture};

fn by_module() -> AnalysisOptions {
    AnalysisOptions {
        layout: ReportLayout::Inference,
        group_by_parent_module: true,
        ..AnalysisOptions::default()
    }
}

/// The same operator in two instances of one module, in another module and outside of all.
fn four_calls() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.python("nn.Module: Model_0", (0.0, 100.0));
    fixture.python("nn.Module: RMSNorm_3", (1.0, 20.0));
    fixture.call("aten::copy_", 5.0, &[("k", 7, 1000.0, 1.0)]);
    fixture.python("nn.Module: RMSNorm_12", (30.0, 20.0));
    fixture.call("aten::copy_", 35.0, &[("k", 7, 1010.0, 2.0)]);
    fixture.python("nn.Module: Conv_2d_1", (60.0, 30.0));
    fixture.python("model.py(3): forward", (61.0, 28.0));
    fixture.call("aten::copy_", 65.0, &[("k", 7, 1020.0, 40.0)]);
    fixture.call("aten::copy_", 200.0, &[("k", 7, 1100.0, 10.0)]);
    fixture
}

#[test]
fn operators_and_categories_are_told_apart_by_module() {
    let analysis = four_calls().analyse(by_module());
    let columns = "parent_module | Count | total_subtree_kernel_time_count | call_stack_first";
    let expected = [
        "nn.Module: Conv_2d | 1 | 1 | ['aten::copy_', 'nn.Module: Conv_2d_1', 'nn.Module: Model_0']",
        "NA | 1 | 1 | ['aten::copy_']",
        "nn.Module: RMSNorm | 2 | 2 | ['aten::copy_', 'nn.Module: RMSNorm_3', 'nn.Module: Model_0']",
    ];
    assert_eq!(Table::of_sheet(&analysis, "ops_summary").select(columns), expected);
    let by_category = Table::of_sheet(&analysis, "ops_summary_by_category");
    let rows = by_category.select("op category | parent_module | Count | total_direct_kernel_time_ms");
    let expected = [
        "elementwise | nn.Module: Conv_2d | 1 | 0.04",
        "elementwise | NA | 1 | 0.01",
        "elementwise | nn.Module: RMSNorm | 2 | 0.003",
    ];
    assert_eq!(rows, expected);
    assert_eq!(by_category.select("call_stack_first")[1], "['aten::copy_']");
}

#[test]
fn calls_with_the_same_arguments_are_told_apart_by_module() {
    let analysis = four_calls().analyse(by_module());
    let rows = Table::of_sheet(&analysis, "ops_all").select("parent_module | operation_count | call_stack");
    let expected = [
        "nn.Module: Conv_2d | 1 | ['aten::copy_', 'nn.Module: Conv_2d_1', 'nn.Module: Model_0']",
        "NA | 1 | ['aten::copy_']",
        "nn.Module: RMSNorm | 2 | ['aten::copy_', 'nn.Module: RMSNorm_3', 'nn.Module: Model_0']",
    ];
    assert_eq!(rows, expected);
    // The table of what accounts for device time has modules in its stacks only.
    assert_eq!(Table::of_sheet(&analysis, "unified_perf_summary").select("operation_count"), ["4"]);
}

#[test]
fn modules_are_shown_when_asked_for_only() {
    let options = AnalysisOptions { layout: ReportLayout::Inference, ..AnalysisOptions::default() };
    let analysis = four_calls().analyse(options);
    for sheet in ["ops_summary", "ops_summary_by_category", "ops_all"] {
        let table = Table::of_sheet(&analysis, sheet);
        assert_eq!(table.rows.len(), 1, "{sheet}");
        let of_modules = ["parent_module", "call_stack", "call_stack_first"];
        assert!(!table.headers.iter().any(|header| of_modules.contains(&header.as_str())), "{sheet}");
    }
}

#[test]
fn the_summary_of_operators_has_the_columns_of_its_report() {
    for (layout, has, lacks) in [
        (ReportLayout::Inference, "total_subtree_kernel_time_count", "total_subtree_kernel_time_ms"),
        (ReportLayout::Standard, "total_subtree_kernel_time_ms", "total_subtree_kernel_time_count"),
    ] {
        let options = AnalysisOptions { layout, conventions: THEIRS, ..Default::default() };
        let table = four_calls().table_with("ops_summary", options);
        assert!(table.headers.iter().any(|header| header == has), "{layout:?}");
        assert!(!table.headers.iter().any(|header| header == lacks), "{layout:?}");
    }
}

#[test]
fn normalizations_have_their_own_name_in_the_inference_report() {
    let names = |sheets: Vec<Sheet<'_, Analysis>>| -> Vec<String> {
        sheets.into_iter().map(|sheet| sheet.name.into_owned()).collect()
    };
    let expected: Vec<String> = names(pytorch_sheets())
        .into_iter()
        .map(|name| name.replacen("Normalization", "Normalization_fwd", 1))
        .collect();
    assert_eq!(names(inference_sheets()), expected);
    let fixture = || {
        let mut fixture = Fixture::new();
        let inputs = [
            (&[2, 8][..], "float", ""),
            (&[][..], "ScalarList", "[8]"),
            (&[8][..], "float", ""),
            (&[8][..], "float", ""),
            (&[][..], "Scalar", "1e-05"),
        ];
        fixture.modelled_call("aten::layer_norm", 0.0, &inputs, &[("k", 7, 1000.0, 1.0)]);
        fixture
    };
    let analysis = fixture().analyse(by_module());
    let of_inference = Table::of_sheet(&analysis, "Normalization_fwd");
    assert_eq!(of_inference.select("name | name_count"), ["aten::layer_norm | 1"]);
    assert_eq!(of_inference.rows, Table::of_sheet(&analysis, "Normalization").rows);
}

#[test]
fn a_tree_that_was_built_before_gives_the_same_sheets() {
    let options = by_module();
    let trace = four_calls().builder.finish();
    let analysis = Analysis::from_tree(TraceTree::build(trace, &options.tree_options()), options.clone());
    let built = four_calls().analyse(options);
    for sheet in inference_sheets() {
        let rows = |analysis| Table::build(analysis, &sheet.name).map(|table| table.rows);
        assert_eq!(rows(&analysis), rows(&built), "{}", sheet.name);
    }
}

/// Attention of one token of each of 32 requests, in a step of the engine.
fn attention(step: &str) -> Analysis {
    let mut fixture = Fixture::new();
    fixture.annotation("ProfilerStep#3", 1, (0.0, 400.0));
    fixture.annotation(step, 1, (1.0, 300.0));
    let empty = (&[][..], "", "");
    let inputs = [
        empty,
        empty,
        (&[32, 32, 128][..], "c10::BFloat16", ""),
        (&[32, 8, 128][..], "c10::BFloat16", ""),
        (&[32, 8, 128][..], "c10::BFloat16", ""),
    ];
    fixture.modelled_call(
        "sglang_profiler::attention_paged_attention_ragged_17",
        10.0,
        &inputs,
        &[("paged_attention_ragged", 7, 1000.0, 50.0)],
    );
    fixture.analyse(AnalysisOptions { layout: ReportLayout::Inference, ..AnalysisOptions::default() })
}

#[test]
fn attention_is_modelled_from_the_sums_of_its_step() {
    let analysis = attention("step[DECODE bs=32 g_sq=32 g_sqsq=32 g_sqsk=32785 g_sk=32785]");
    let row = Table::of_sheet(&analysis, "InferenceAttention_fwd")
        .select("name | GFLOPS_first | Data Moved (MB)_first | param: g_sk");
    // The number behind the name is one of the profiler's; the model is found without it.
    let expected = "sglang_profiler::attention_paged_attention_ragged | 0.53714944 | 128.56640625 | 32785";
    assert_eq!(row, [expected]);
}

#[test]
fn attention_in_a_step_without_token_counts_says_why_it_has_no_figures() {
    let analysis = attention("step[DECODE bs=32]");
    let row = Table::of_sheet(&analysis, "unified_perf_summary").select("name | GFLOPS | reason");
    assert!(row[0].starts_with("sglang_profiler::attention_paged_attention_ragged | - | "), "{row:?}");
    assert!(Table::build(&analysis, "InferenceAttention_fwd").is_none());
}

#[test]
fn replays_of_a_graph_are_calls_of_one_row_position_by_position() {
    let mut fixture = Fixture::new();
    for (replay, durations) in [[20.0, 30.0, 40.0], [22.0, 28.0, 41.0]].into_iter().enumerate() {
        let at = replay as f64 * 50.0;
        fixture.op("compiled_step", (at, 20.0));
        let correlation = fixture.correlation();
        fixture.launch("cudaGraphLaunch", (at + 1.0, 2.0), correlation);
        for (position, duration) in durations.into_iter().enumerate() {
            let name = ["first", "second", "third"][position];
            let start = 1000.0 + at * 10.0 + position as f64 * 50.0;
            fixture.device(Category::KERNEL, (name, 7, start, duration), correlation);
        }
    }
    let table = fixture.table_with("ops_all", by_module());
    let columns = "name | operation_count | total_direct_kernel_time_sum | trunc_kernel_details";
    let kernels = "[{'name': 'first', 'stream': 7, 'mean_duration_us': 21.0}, \
                   {'name': 'second', 'stream': 7, 'mean_duration_us': 29.0}, \
                   {'name': 'third', 'stream': 7, 'mean_duration_us': 40.5}]";
    assert_eq!(table.select(columns), [format!("compiled_step | 2 | 181 | {kernels}")]);
    let details = &table.select("kernel_details_summary")[0];
    assert_eq!(details.matches("'count': 2").count(), 3, "{details}");
}
