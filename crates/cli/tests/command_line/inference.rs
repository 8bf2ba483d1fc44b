//! The report of a trace of an inference engine.

use crate::program::{Sheets, Workplace, run_as};
use crate::trace::{
    annotation, kernel, launch, one_operator, operator, operator_with, python_frame, runtime_call, trace,
};

/// Two operators in one module, one in another, one in none.
fn modules() -> Vec<String> {
    let mut events = vec![
        python_frame("nn.Module: Linear_0", 0.0, 40.0),
        python_frame("nn.Module: Linear_1", 50.0, 40.0),
        python_frame("nn.Module: Head_0", 100.0, 40.0),
    ];
    for (id, at) in [(1, 10.0), (2, 60.0), (3, 110.0), (4, 150.0)] {
        events.extend([
            operator("aten::mm", at, 10.0),
            launch(id, at + 1.0),
            kernel("gemm", id, at + 300.0, 10.0),
        ]);
    }
    events
}

/// A step of two graph launches, each of which ran two kernels.
fn replay() -> Vec<String> {
    // The engine's own operator, without work on the device: traces without any have no tables of operators.
    let mut events = vec![annotation("step[DECODE bs=8]", 0.0, 50.0), operator("aten::empty", 1.0, 2.0)];
    for (id, at) in [(1, 10.0), (2, 20.0)] {
        let launch = runtime_call("cudaGraphLaunch", at, &format!(r#""correlation": {id}"#));
        events.extend([launch, kernel("gemm", id, at + 100.0, 3.0), kernel("silu", id, at + 104.0, 2.0)]);
    }
    events
}

/// The capture of that graph.
fn capture() -> Vec<String> {
    let launch_of =
        |kernel: &str, at| runtime_call("cudaLaunchKernel", at, &format!(r#""kernel": "{kernel}""#));
    vec![
        annotation("capture_8_FULL", 0.0, 100.0),
        runtime_call("cudaStreamBeginCapture", 1.0, ""),
        python_frame("nn.Module: Linear_0", 5.0, 60.0),
        operator_with(
            "aten::mm",
            10.0,
            10.0,
            r#""Input Dims": [[8, 16], [16, 4]], "Input type": ["float", "float"]"#,
        ),
        launch_of("gemm", 12.0),
        operator_with("aten::silu", 30.0, 10.0, r#""Input Dims": [[8, 4]], "Input type": ["float"]"#),
        launch_of("silu", 32.0),
        runtime_call("cudaStreamEndCapture", 90.0, ""),
    ]
}

/// `name | calls` of the rows.
fn rows(sheets: &Sheets, sheet: &str, columns: [&str; 2]) -> Vec<String> {
    let [names, counts] = columns.map(|column| sheets.column(sheet, column));
    names
        .iter()
        .zip(&counts)
        .map(|(name, count)| format!("{} | {count}", name.as_str().unwrap_or("-")))
        .collect()
}

fn sheets(place: &Workplace, options: &[&str]) -> Sheets {
    let outcome = place.run(&[&["inference", "trace.json", "--json"], options].concat()).exits_with(0);
    Sheets::parse(&outcome.out)
}

#[test]
fn the_summary_holds_the_tables_against_the_device() {
    let place = Workplace::with(trace(&one_operator()));
    place.run("inference trace.json").exits_with(0).with_summary(&[
        "sanity check",
        "ops_summary 100.0 µs 100.0 µs PASS 1 1 PASS",
        "unified_perf_summary 100.0 µs 100.0 µs PASS 1 1 PASS",
    ]);
    assert!(place.path("trace_perf_report.xlsx").exists());
    assert!(!place.run("report trace.json").exits_with(0).out.contains("sanity check"));
}

#[test]
fn operators_are_told_apart_by_module() {
    let place = Workplace::with(trace(&modules()));
    let plain = sheets(&place, &[]);
    assert_eq!(rows(&plain, "ops_summary", ["name", "total_subtree_kernel_time_count"]), ["aten::mm | 4"]);
    let modules = sheets(&place, &["--group_by_parent_module"]);
    let expected = ["NA | 1", "nn.Module: Head | 1", "nn.Module: Linear | 2"];
    for (sheet, count) in
        [("ops_summary", "Count"), ("ops_summary_by_category", "Count"), ("ops_all", "operation_count")]
    {
        let mut found = rows(&modules, sheet, ["parent_module", count]);
        found.sort();
        assert_eq!(found, expected, "{sheet}");
    }
    let summary = place.run("inference trace.json --group-by-parent-module").exits_with(0);
    summary.with_summary(&["module", "nn.Module: Linear", "nn.Module: Head"]);
}

#[test]
fn modules_of_a_trace_without_stacks_are_none() {
    let place = Workplace::with(trace(&one_operator()));
    let outcome = place.run("inference trace.json --group_by_parent_module").exits_with(0);
    outcome.with_summary(&["--group_by_parent_module finds nothing: the trace has no Python frames"]);
}

#[test]
fn a_capture_gives_the_operators_of_replayed_graphs() {
    let place = Workplace::with(trace(&replay()));
    let without = sheets(&place, &[]);
    assert_eq!(rows(&without, "ops_summary", ["name", "Count"]), ["cudaGraphLaunch | 2"]);
    let outcome = place.run("inference trace.json").exits_with(0);
    outcome.with_summary(&["2 graph launches are counted without their operators", "--capture_folder"]);

    std::fs::create_dir(place.path("captures")).unwrap();
    place.put("captures/bs_8.json", trace(&capture()));
    let options = ["--capture_folder", "captures", "--group_by_parent_module", "--gpu_arch_platform=h100"];
    let run = || place.run(&[&["inference", "trace.json"], &options[..]].concat()).exits_with(0);
    let first = run().with_summary(&["nn.Module: Linear"]);
    assert!(!first.out.contains("warning"), "{first:?}");
    assert_eq!(place.files("captures"), ["bs_8.json"], "nothing is written into the folder");

    let with = sheets(&place, &options);
    assert_eq!(rows(&with, "ops_summary", ["name", "Count"]), ["aten::mm | 2", "aten::silu | 2"]);
    assert_eq!(rows(&with, "GEMM", ["name", "name_count"]), ["aten::mm | 2"]);
    let phases = sheets(&place, &[&options[..], &["--inference_phase_analysis"]].concat());
    let launches = phases.column("step_summary", "graph_launches");
    assert_eq!(launches.into_iter().filter_map(serde_json::Value::as_i64).sum::<i64>(), 2);
    // The host did not run them.
    let host_times = with.column("unified_perf_summary", "total_duration_us");
    assert!(host_times.iter().all(|time| time.is_null()), "{host_times:?}");
}

#[test]
fn graphs_that_no_capture_explains_are_counted() {
    let place = Workplace::with(trace(&replay()));
    std::fs::create_dir(place.path("captures")).unwrap();
    let mut capture = capture();
    capture.remove(4);
    place.put("captures/bs_8.json", trace(&capture));
    let outcome = place.run("inference trace.json --capture_folder captures").exits_with(0);
    outcome.with_summary(&["2 of 2 graph launches hide their operators: the device events do not match"]);
    let eager = Workplace::with(trace(&one_operator()));
    std::fs::create_dir(eager.path("captures")).unwrap();
    let outcome = eager.run("inference trace.json --capture_folder captures").exits_with(0);
    outcome
        .with_summary(&["--capture_folder has no effect: the trace has no graph launches", "has no trace"]);
}

#[test]
fn what_is_known_of_captures_is_written_on_request_and_not_into_their_folder() {
    let place = Workplace::with(trace(&replay()));
    std::fs::create_dir(place.path("captures")).unwrap();
    place.put("captures/bs_8.json", trace(&capture()));
    place.put("captures/plain.json", trace(&capture()[1..]));
    let run = |details: &str| {
        let options = ["--capture_folder", "captures", "--capture_details_path", details];
        place.run(&[&["inference", "trace.json"], &options[..]].concat())
    };
    run("details.json").exits_with(0).with_summary(&["wrote details.json"]);
    let details: serde_json::Value = serde_json::from_slice(&place.bytes("details.json")).unwrap();
    // Only a size that an annotation states is one; shapes are a guess.
    let expected = serde_json::json!([
        {"file": "bs_8.json", "batch_size": 8, "mode": "FULL"},
        {"file": "plain.json", "batch_size": null, "mode": "FULL"},
    ]);
    assert_eq!(details, expected);
    for inside in ["captures/execution_details.json", "captures/../captures/x.json"] {
        run(inside).exits_with(1).with_error(&[inside, "never written to the capture folder"]);
    }
    run("details.csv").exits_with(1).with_error(&["details.csv", "end it in .json"]);
    assert_eq!(place.files("captures"), ["bs_8.json", "plain.json"]);
    let alone = place.run("inference trace.json --capture_details_path details.json");
    assert!(alone.exits_with(2).err.contains("--capture_folder"));
}

#[test]
fn a_capture_folder_that_is_none_is_an_error() {
    let place = Workplace::with(trace(&replay()));
    for (folder, part) in [("missing", "missing"), ("trace.json", "is not a folder")] {
        let outcome = place.run(&["inference", "trace.json", "--capture_folder", folder]).exits_with(2);
        outcome.with_error(&[folder, part]);
    }
    assert_eq!(place.files(".").len(), 1);
}

#[test]
fn what_is_not_supported_is_refused() {
    let place = Workplace::with(trace(&one_operator()));
    for options in [&["--enable-origami"][..], &["--enable_origami"], &["--python_path", "python3"]] {
        let outcome = place.run(&[&["inference", "trace.json"], options].concat()).exits_with(2);
        outcome.with_error(&[&options[0].replace("enable_", "enable-"), "is not supported"]);
    }
    let folder_alone = place.run("inference trace.json --comparison_capture_folder captures");
    assert!(folder_alone.exits_with(2).err.contains("--comparison_json_path"));
    assert_eq!(place.files(".").len(), 1);
}

#[test]
fn the_options_of_a_report_have_their_effect() {
    let place = Workplace::with(trace(&modules()));
    let all = [
        "--group_by_parent_module",
        "--topk_ops",
        "1",
        "--topk_roofline_ops",
        "1",
        "--enable_kernel_summary",
    ];
    let found = sheets(&place, &all);
    assert_eq!(found.column("ops_all", "name").len(), 1);
    assert!(found.has("kernel_summary"));
    assert!(sheets(&place, &["--sheet-names", "current"]).has("ops_unique_args"));
}

#[test]
fn normalizations_have_the_name_of_this_report() {
    let norm = operator_with(
        "aten::native_layer_norm",
        0.0,
        10.0,
        r#""Input Dims": [[4, 8], [], [8], [8], []], "Input type": ["float", "ScalarList", "float", "float", "Scalar"], "Input Strides": [[8, 1], [], [1], [1], []], "Concrete Inputs": ["", "[8]", "", "", "1e-05"]"#,
    );
    let place = Workplace::with(trace(&[norm, launch(1, 2.0), kernel("norm", 1, 20.0, 5.0)]));
    assert!(sheets(&place, &[]).has("Normalization_fwd"));
    assert!(place.sheets("").has("Normalization"));
    place.run("info columns Normalization_fwd").exits_with(0).with_summary(&["Normalization_fwd"]);
}

#[cfg(unix)]
#[test]
fn under_the_name_of_the_reference_tool_it_is_that_tool() {
    const NAME: &str = "TraceLens_generate_perf_report_pytorch_inference";
    let place = Workplace::with(trace(&modules()));
    let link = place.path(NAME);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tracelens"), &link).unwrap();
    let run = |arguments: &[&str]| run_as(&link, arguments, &place.path("."));
    run(&["--profile_json_path", "trace.json", "--output_csvs_dir", "sheets", "--group_by_parent_module"])
        .exits_with(0);
    assert!(place.files("sheets").contains(&"ops_unique_args.csv".to_string()));
    let summary = String::from_utf8(place.bytes("sheets/ops_summary.csv")).unwrap();
    assert!(summary.starts_with("name,parent_module,total_direct_kernel_time_sum"), "{summary}");
    let usage = run(&["--help"]).exits_with(0).out;
    assert!(usage.contains(&format!("{NAME} [OPTIONS] --profile_json_path")), "{usage}");
}

#[test]
fn phases_stand_on_the_first_page_where_they_are_known() {
    let place = crate::split::served();
    place.run("inference trace.json").exits_with(0).with_summary(&["inference phases:", "Decode"]);
    assert!(!place.run("report trace.json").exits_with(0).out.contains("inference phases"));
    let unknown = Workplace::with(trace(&one_operator())).run("inference trace.json").exits_with(0);
    assert!(!unknown.out.contains("inference phases"), "{unknown:#?}");
}
