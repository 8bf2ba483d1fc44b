//! Phases of inference: their flags, their sheets, what the summary says of them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::program::{Sheets, Workplace};
use crate::trace::{kernel, launch, one_operator, operator_with, trace};

const ANALYSIS: &str = "--inference_phase_analysis";

/// A directory that holds the generated trace of an inference engine as `trace.json.gz`.
fn served() -> Workplace {
    let place = Workplace::with_generated();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/cuda_serving.json.gz");
    std::fs::copy(Path::new(trace), place.path("trace.json.gz")).unwrap();
    place
}

fn numbers(sheets: &Sheets, sheet: &str, column: &str) -> Vec<f64> {
    sheets.column(sheet, column).into_iter().map(|cell| cell.as_f64().unwrap()).collect()
}

fn texts<'s>(sheets: &'s Sheets, sheet: &str, column: &str) -> Vec<&'s str> {
    sheets.column(sheet, column).into_iter().map(|cell| cell.as_str().unwrap()).collect()
}

/// Kernel time by phase.
fn times(sheets: &Sheets) -> BTreeMap<&str, f64> {
    let phases = texts(sheets, "phase_summary", "phase");
    phases.into_iter().zip(numbers(sheets, "phase_summary", "kernel_time_us")).collect()
}

const METHODS: [&str; 6] =
    ["hybrid", "kernel_names", "operation_frequency", "framework_apis", "attention_patterns", "gemm_params"];

#[test]
fn sheets_of_phases_are_there_on_demand_only() {
    let place = served();
    let of_phases = |sheets: &Sheets| -> Vec<String> {
        let is_new = |name: &&str| {
            name.starts_with("phase_")
                || name.starts_with("step_")
                || name.ends_with("_prefill")
                || name.ends_with("_decode")
                || name.ends_with("_mixed")
                || name.ends_with("_unknown")
        };
        sheets.names().into_iter().filter(is_new).map(str::to_owned).collect()
    };
    assert_eq!(of_phases(&place.sheets("")), [] as [&str; 0]);
    let by_default =
        ["ops_summary_decode", "ops_summary_mixed", "ops_summary_prefill", "phase_summary", "step_summary"];
    assert_eq!(of_phases(&place.sheets(&[ANALYSIS])), by_default);
    let with_kernels = of_phases(&place.sheets(&[ANALYSIS, "--enable_kernel_summary"]));
    let of_kernels = ["kernel_summary_decode", "kernel_summary_mixed", "kernel_summary_prefill"];
    assert_eq!(with_kernels, [&of_kernels[..], &by_default].concat());
}

#[test]
fn sheets_stand_after_the_unified_one_and_before_those_of_families() {
    let place = served();
    let outcome = place.run(&["report", "trace.json.gz", "--json", ANALYSIS]).exits_with(0);
    let at = |name: &str| {
        outcome.out.find(&format!("\"name\": \"{name}\",\n")).unwrap_or_else(|| panic!("{name}"))
    };
    let order =
        ["unified_perf_summary", "phase_summary", "ops_summary_prefill", "ops_summary_decode", "GEMM"];
    assert!(order.map(at).is_sorted(), "{:?}", order.map(at));
}

#[test]
fn steps_are_those_that_the_engine_annotates() {
    let place = served();
    let sheets = place.sheets(&[ANALYSIS]);
    let annotations = texts(&sheets, "step_summary", "annotation");
    assert!(annotations.len() >= 8, "{annotations:?}");
    for (annotation, phase) in annotations.iter().zip(texts(&sheets, "step_summary", "phase")) {
        let expected = match (annotation.contains("context_0("), annotation.contains("generation_0(")) {
            (true, false) => "Decode",
            (false, true) => "Prefill",
            _ => "Mixed",
        };
        assert_eq!(phase, expected, "{annotation}");
    }
    let decoded = texts(&sheets, "ops_summary_decode", "name");
    assert_eq!(decoded[0], "cudaGraphLaunch");
    assert!(!texts(&sheets, "ops_summary_prefill", "name").contains(&"cudaGraphLaunch"));
    // A decode step replays one graph, others none.
    let graphs = numbers(&sheets, "step_summary", "graph_launches");
    let is_decode = annotations.iter().map(|text| if text.contains("context_0(") { 1.0 } else { 0.0 });
    assert_eq!(graphs, is_decode.collect::<Vec<f64>>());
}

#[test]
fn no_time_is_lost_whatever_the_method() {
    let place = served();
    let microseconds = |times: Vec<f64>| times.iter().sum::<f64>() * 1e3;
    let all = microseconds(numbers(&place.sheets(""), "ops_summary", "total_direct_kernel_time_ms"));
    let ours = METHODS.map(|method| vec!["--phase_detection_method", method]);
    let legacy = METHODS.map(|method| vec!["--phase_legacy", "--phase_detection_method", method]);
    let union = vec!["--phase_legacy", "--phase_detection_method", "union"];
    for options in ours.into_iter().chain(legacy).chain([union]) {
        let sheets = place.sheets(&[&options[..], &[ANALYSIS]].concat());
        let of_phases: f64 = times(&sheets).values().sum();
        assert!((of_phases - all).abs() < 1e-6 * all, "{options:?}: {of_phases} of {all}");
        let of_sheets: f64 = ["prefill", "decode", "mixed", "unknown"]
            .map(|phase| format!("ops_summary_{phase}"))
            .iter()
            .filter(|name| sheets.has(name))
            .map(|name| microseconds(numbers(&sheets, name, "total_direct_kernel_time_ms")))
            .sum();
        assert!((of_sheets - all).abs() < 1e-6 * all, "{options:?}: {of_sheets} of {all}");
        assert_eq!(sheets.has("step_summary"), options[1] == "hybrid" && options.len() == 2, "{options:?}");
    }
}

#[test]
fn the_report_of_engines_has_the_same_phases() {
    let place = served();
    let outcome = place.run(&["inference", "trace.json.gz", "--json", ANALYSIS]).exits_with(0);
    let (of_inference, of_report) = (Sheets::parse(&outcome.out), place.sheets(&[ANALYSIS]));
    for sheet in ["phase_summary", "step_summary", "ops_summary_prefill", "ops_summary_decode"] {
        assert_eq!(of_inference.rows(sheet), of_report.rows(sheet), "{sheet}");
    }
}

#[test]
fn the_summary_says_shares_sources_and_confidence() {
    let place = served();
    let report = ["report", "trace.json.gz", ANALYSIS];
    place.run(&report).exits_with(0).with_summary(&[
        "inference phases: Prefill ",
        "% of kernel time (",
        " steps, by annotation, confidence 1.00)",
        ", Decode ",
        ", Mixed ",
    ]);
    let outcome = place.run("report trace.json.gz").exits_with(0);
    assert!(!outcome.out.contains("phases"), "{outcome:#?}");
    let by_names = [&report[..], &["--phase_detection_method=kernel_names", "-v"]].concat();
    place
        .run(&by_names)
        .exits_with(0)
        .with_summary(&["inference phases by kernel_names: ", "kernel_names finds no phase for "]);
}

#[test]
fn what_no_annotation_says_is_a_warning() {
    let arguments = r#""Input Dims": [[888, 4096], [4096, 6144]]"#;
    let events =
        [operator_with("aten::mm", 0.0, 10.0, arguments), launch(1, 2.0), kernel("gemm", 1, 20.0, 100.0)];
    let place = Workplace::with(trace(&events));
    let report = ["report", "trace.json", ANALYSIS];
    place.run(&report).exits_with(0).with_summary(&["warning: the phase of 100.0% of device time is"]);
    let to_json = place.run(&[&report[..], &["--json"]].concat()).exits_with(0);
    assert!(to_json.err.contains("tracelens: warning: the phase of 100.0%"), "{to_json:#?}");
}

#[test]
fn a_trace_of_the_device_alone_says_that_its_phases_are_unknown() {
    let place = Workplace::with(trace(&[kernel("pa_decode", 1, 0.0, 5.0)]));
    let outcome = place.run(&["report", "trace.json", ANALYSIS]).exits_with(0);
    outcome.with_summary(&["warning: the trace has no host events", "all phases are Unknown"]);
    assert_eq!(texts(&place.sheets(&[ANALYSIS]), "phase_summary", "phase"), ["Unknown"]);
}

#[test]
fn rows_of_matrix_products_are_held_against_the_threshold() {
    let arguments = r#""Input Dims": [[32, 4096], [4096, 6144]]"#;
    let events =
        [operator_with("aten::mm", 0.0, 10.0, arguments), launch(1, 2.0), kernel("gemm", 1, 20.0, 100.0)];
    let place = Workplace::with(trace(&events));
    let method = "--phase_detection_method=gemm_params";
    for (threshold, phase) in [
        (None, "Prefill"),
        (Some("--decode_threshold=31"), "Prefill"),
        (Some("--decode-threshold=32"), "Decode"),
    ] {
        let options: Vec<&str> = [ANALYSIS, method].into_iter().chain(threshold).collect();
        assert_eq!(times(&place.sheets(&options)), BTreeMap::from([(phase, 100.0)]), "{threshold:?}");
    }
}

#[test]
fn requests_that_can_run_at_a_time_tell_prompts_on_a_rank_without_logits() {
    let table = r#""Input Dims": [[128256, 4096], [700]]"#;
    let weight = r#""Input Dims": [[700, 4096], [4096, 6144]]"#;
    let events = [
        operator_with("aten::embedding", 0.0, 10.0, table),
        launch(1, 2.0),
        kernel("gather", 1, 20.0, 100.0),
        operator_with("aten::mm", 12.0, 10.0, weight),
        launch(2, 14.0),
        kernel("gemm", 2, 120.0, 100.0),
    ];
    let place = Workplace::with(trace(&events));
    for (hint, prompts) in [(None, serde_json::Value::Null), (Some("--max_num_seqs=64"), "yes".into())] {
        let options: Vec<&str> = [ANALYSIS].into_iter().chain(hint).collect();
        let sheets = place.sheets(&options);
        assert_eq!(sheets.column("step_summary", "prompts"), [&prompts], "{hint:?}");
        assert_eq!(times(&sheets), BTreeMap::from([("Unknown", 200.0)]));
    }
    let outcome = place.run(&["report", "trace.json", ANALYSIS, "--max_num_seqs=64"]).exits_with(0);
    outcome.with_summary(&["100.0% are prompt steps"]);
}

#[test]
fn legacy_phases_are_those_of_the_reference() {
    // Its tuning makes every matrix kernel of the library one of decode.
    let arguments = r#""Input Dims": [[888, 4096], [4096, 6144]]"#;
    let tensile = "Cijk_Alik_Bljk_BBS_BH_USL1_UIOF";
    let events =
        [operator_with("aten::mm", 0.0, 10.0, arguments), launch(1, 2.0), kernel(tensile, 1, 20.0, 100.0)];
    let place = Workplace::with(trace(&events));
    let sheets = place.sheets(&[ANALYSIS, "--phase_legacy", "--enable_kernel_summary"]);
    assert_eq!(times(&sheets), BTreeMap::from([("Decode", 100.0)]));
    assert_eq!(texts(&sheets, "ops_summary_decode", "Kernel categories"), ["GEMM-CK"]);
    assert!(!sheets.has("kernel_summary_decode"));
    let by_rows = ["--phase_detection_method=gemm_params", ANALYSIS];
    let sheets = place.sheets(&by_rows);
    assert_eq!(times(&sheets), BTreeMap::from([("Prefill", 100.0)]));
    assert_eq!(texts(&sheets, "ops_summary_prefill", "Kernel categories"), ["GEMM-Tensile"]);
    let outcome = place.run(&["report", "trace.json", ANALYSIS, "--phase_legacy"]).exits_with(0);
    outcome.with_summary(&["warning: phases come from TraceLens's method hybrid, for comparison only"]);
}

#[test]
fn wrong_values_are_refused_before_reading() {
    let place = Workplace::with("");
    let run = |options: &[&str]| {
        place.run(&[&["report", "no-trace.json", ANALYSIS], options].concat()).exits_with(2)
    };
    let union = run(&["--phase_detection_method=union"]);
    union.with_error(&["union requires --phase_legacy", "add it", "hybrid, kernel_names"]);
    for (options, part) in [
        (["--phase_detection_method=guess"], "hybrid, kernel_names"),
        (["--decode_threshold=0"], "0 is not in 1.."),
        (["--decode_threshold=ten"], "invalid digit"),
        (["--max_num_seqs=0"], "0 is not in 1.."),
    ] {
        let outcome = run(&options);
        assert!(outcome.err.contains(part), "no {part} in {outcome:#?}");
    }
}

#[test]
fn options_without_effect_are_said() {
    let place = Workplace::with(trace(&one_operator()));
    let said = |options: &[&str], part: &str| {
        place.run(&[&["report", "trace.json"], options].concat()).exits_with(0).with_summary(&[part]);
    };
    for option in
        ["--decode_threshold=12", "--max_num_seqs=64", "--phase_detection_method=hybrid", "--phase_legacy"]
    {
        let name = option.split('=').next().unwrap();
        said(&[option], &format!("{name} has no effect without --inference_phase_analysis"));
    }
    let threshold = "--decode_threshold=12";
    let by_names = "--phase_detection_method=kernel_names";
    said(&[ANALYSIS, threshold, by_names], "--decode_threshold has no effect on kernel_names");
    said(&[ANALYSIS, threshold, "--phase_legacy"], "has no effect on TraceLens's hybrid");
    said(&[ANALYSIS, "--max_num_seqs=64", by_names], "--max_num_seqs has no effect on kernel_names");
}

#[test]
fn columns_of_the_sheets_are_explained() {
    let place = Workplace::with("");
    for (sheet, part) in [
        ("phase_summary", "tokens_per_s"),
        ("step_summary", "gpu_busy_us"),
        ("ops_summary_unknown", "Kernel categories"),
        ("kernel_summary_mixed", "Percent of kernels time (%)"),
    ] {
        let outcome = place.run(&["info", "columns", sheet]).exits_with(0);
        assert!(outcome.out.starts_with(sheet) && outcome.out.contains(part), "{outcome:#?}");
    }
    // Every column of a report has its description.
    let sheets = served().sheets(&[ANALYSIS, "--enable_kernel_summary"]);
    let names = sheets
        .names()
        .into_iter()
        .filter(|name| name.starts_with("phase_") || name.starts_with("step_") || name.ends_with("_decode"));
    for sheet in names {
        let text = place.run(&["info", "columns", sheet]).exits_with(0).out;
        for column in sheets.columns(sheet) {
            let in_json = format!(", in JSON {column}");
            let is_column = |line: &str| line.trim() == column || line.ends_with(&in_json);
            assert!(text.lines().any(is_column), "{sheet}: {column}");
        }
    }
}

#[test]
fn corpus_a_step_that_is_called_mixed_has_the_phase_of_its_numbers() {
    let Some(case) = testdata::corpus("field/cases/13-sglang-mixed-without-generation/steps.json") else {
        return;
    };
    let place = Workplace::with("");
    std::fs::copy(case, place.path("trace.json")).unwrap();
    let sheets = place.sheets(ANALYSIS);
    assert_eq!(texts(&sheets, "step_summary", "phase")[..2], ["Prefill", "Mixed"]);
    for (column, first) in [("context_requests", 1), ("context_tokens", 3), ("generation_requests", 0)] {
        assert_eq!(*sheets.column("step_summary", column)[0], first, "{column}");
    }
}
