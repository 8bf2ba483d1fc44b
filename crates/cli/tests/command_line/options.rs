//! Every option does what it says.

use serde_json::Value;

use crate::program::{Workplace, run_as};
use crate::trace::{kernel, kernel_on_stream, launch, one_operator, operator, python_frame, trace};

fn numbers(cells: &[&Value]) -> Vec<f64> {
    cells.iter().map(|cell| cell.as_f64().unwrap()).collect()
}

#[test]
fn topk_ops_keeps_the_first_rows_and_their_percentages() {
    let place = Workplace::with_generated();
    let (all, first) = (place.sheets(""), place.sheets("--topk_ops 3"));
    assert!(all.rows("ops_all").len() > 3);
    assert_eq!(first.rows("ops_all")[..], all.rows("ops_all")[..3]);
    assert_eq!(first.rows("ops_summary"), all.rows("ops_summary"));
}

#[test]
fn topk_short_kernels_keeps_the_first_rows() {
    let place = Workplace::with_generated();
    let study = ["--short_kernel_study", "--short_kernel_threshold_us=50"];
    let all = place.sheets(&study);
    let first = place.sheets(&[&study[..], &["--topk_short_kernels=2"]].concat());
    let sheet = "short_kernels_all_details";
    assert!(all.rows(sheet).len() > 2);
    assert_eq!(first.rows(sheet)[..], all.rows(sheet)[..2]);
}

#[test]
fn options_without_effect_are_pointed_out() {
    let place = Workplace::with(trace(&one_operator()));
    for (option, said) in [
        (
            "--topk_short_kernels=3",
            "warning: --topk_short_kernels has no effect without --short_kernel_study",
        ),
        ("--short_kernel_threshold_us=3", "warning: --short_kernel_threshold_us has no effect"),
        ("--short_kernel_histogram_bins=3", "warning: --short_kernel_histogram_bins has no effect"),
        ("--queue_limit=3", "warning: --queue_limit has no effect without --waits"),
        ("--kernel_wait_threshold_us=3", "warning: --kernel_wait_threshold_us has no effect without --waits"),
        ("--min_gap_us=3", "warning: --min_gap_us has no effect without --waits"),
        ("--iteration=epoch", "warning: --iteration finds nothing: no range or operator is named epoch"),
        (
            "--include_call_stack",
            "warning: --include_call_stack finds nothing: the trace has no Python frames",
        ),
        ("--detect_recompute", "warning: --detect_recompute finds nothing: the trace has no Python frames"),
    ] {
        place.run(&["report", "trace.json", option]).exits_with(0).with_summary(&[said]);
    }
}

#[test]
fn waits_have_sheets_and_a_line_when_asked_for() {
    let place = Workplace::with_generated();
    for options in [&[][..], &["--parity=tracelens"], &["--sheet-names=current"]] {
        let sheets = place.sheets(options);
        assert!(["idle_causes", "queue_length", "overlap_matrix"].iter().all(|name| !sheets.has(name)));
    }
    let sheets = place.sheets("--waits");
    assert!(!sheets.rows("idle_causes").is_empty() && !sheets.rows("queue_length").is_empty());
    let said = ["of the idle time", "from first start to last end"];
    place.run("report trace.json.gz --waits").exits_with(0).with_summary(&said);
}

#[test]
fn the_tables_of_hta_stand_beside_ours_when_asked_for() {
    let place = Workplace::with_generated();
    let (ours, both) = (place.sheets(""), place.sheets("--parity hta"));
    assert!(!ours.has("hta_temporal_breakdown"));
    let times = ["idle_time(us)", "compute_time(us)", "non_compute_time(us)"];
    let of = |column: &str| both.column("hta_temporal_breakdown", column)[0].as_f64().unwrap();
    assert!((times.map(of).iter().sum::<f64>() - of("kernel_time(us)")).abs() < 1e-9);
    assert_eq!(both.timeline("busy_time"), ours.timeline("busy_time"));
}

#[test]
fn sequences_of_hta_are_those_of_an_operator_that_is_named() {
    let events = ["a", "b", "c"].iter().zip(1_u32..).flat_map(|(name, at)| {
        let start = 100.0 + f64::from(at);
        [launch(at, start), kernel(name, at, start + 50.0, 1.0)]
    });
    let events: Vec<String> = [operator("aten::conv2d", 100.0, 40.0)].into_iter().chain(events).collect();
    let place = Workplace::with(trace(&events));
    let sheets = place.sheets("--parity hta --hta_sequences_of conv2d");
    let patterns = sheets.column("hta_frequent_kernel_sequences", "pattern");
    assert_eq!(patterns, ["aten::conv2d|a|b|c"]);
    assert!(!place.sheets("--parity hta").has("hta_frequent_kernel_sequences"));
    let without_match = place.run("report trace.json --parity hta --hta_sequences_of matmul");
    assert!(without_match.out.contains("hta_frequent_kernel_sequences is omitted"), "{without_match:?}");
    place
        .run("report trace.json --hta_sequences_of conv2d")
        .exits_with(2)
        .with_error(&["--hta_sequences_of", "--parity hta"]);
}

#[test]
fn kernels_are_listed_when_asked_for() {
    let place = Workplace::with(trace(&one_operator()));
    assert!(!place.sheets("").has("kernel_details"));
    let sheets = place.sheets("--kernel_details");
    assert!(!sheets.rows("kernel_details").is_empty());
}

#[test]
fn the_trace_is_written_with_counters_when_asked_for() {
    let mut events = one_operator();
    // Launched at 200 and 210 µs, started at 220 and 230 µs.
    events.extend([
        launch(70, 200.0),
        launch(71, 210.0),
        kernel("x", 70, 220.0, 5.0),
        kernel("y", 71, 230.0, 5.0),
    ]);
    let place = Workplace::with(trace(&events));
    place.run("report trace.json -q --counter_trace counters.json").exits_with(0);
    let entries = |name: &str| -> Vec<Value> {
        let file: Value = serde_json::from_slice(&place.bytes(name)).unwrap();
        file["traceEvents"].as_array().unwrap().clone()
    };
    let (recorded, written) = (entries("trace.json"), entries("counters.json"));
    assert_eq!(written[..recorded.len()], recorded);
    let counters = &written[recorded.len()..];
    assert!(!counters.is_empty() && counters.iter().all(|entry| entry["ph"] == "C"), "{counters:#?}");
    let of = |time: f64| {
        let at = counters.iter().find(|entry| entry["ts"].as_f64() == Some(time));
        at.map(|entry| entry["args"]["events"].as_f64().unwrap())
    };
    assert_eq!([200.0, 210.0, 220.0, 230.0].map(of), [Some(1.0), Some(2.0), Some(1.0), Some(0.0)]);
    // It is a recording like any other.
    place.run("report counters.json --json").exits_with(0);

    let same = ["report", "trace.json", "--counter_trace", "trace.json"];
    place.run(&same).exits_with(2).with_error(&["trace.json"]);
    let piped = ["report", "-", "--counter_trace", "piped.json"];
    place
        .run_on(&place.path("trace.json"), &piped)
        .exits_with(2)
        .with_error(&["--counter_trace", "standard input"]);
}

#[test]
fn unlinked_kernels_are_counted_but_under_the_rules_of_the_reference() {
    let mut events = one_operator();
    events.push(kernel("early", 99, 500.0, 25.0));
    let place = Workplace::with(trace(&events));
    assert_eq!(place.sheets("").timeline("busy_time"), 0.125);
    assert_eq!(place.sheets("--parity tracelens").timeline("busy_time"), 0.1);
    assert_eq!(place.sheets("--parity tracelens --include_unlinked_kernels").timeline("busy_time"), 0.125);

    place.run("report trace.json").exits_with(0).with_summary(&[
        "(25.00 µs) without a launch in the recording: counted in the timeline, but under no operator",
    ]);
    place.run("report trace.json --parity tracelens").exits_with(0).with_summary(&[
        "warning: 1 device event (25.00 µs) without a launch in the recording: counted neither",
    ]);
}

#[test]
fn idle_time_is_split_at_the_threshold() {
    let mut events = one_operator();
    events.extend([launch(2, 4.0), kernel("gemm", 2, 123.0, 10.0)]);
    events.extend([launch(3, 6.0), kernel("gemm", 3, 183.0, 10.0)]);
    let place = Workplace::with(trace(&events));
    assert_eq!(place.sheets("").timeline("idle_time"), 0.053);
    for (threshold, micro, macro_) in [("3", 0.0, 0.053), ("3.5", 0.003, 0.05), ("50.1", 0.053, 0.0)] {
        let sheets = place.sheets(&["--micro_idle_thresh_us", threshold]);
        let split = (sheets.timeline("micro_idle_time"), sheets.timeline("macro_idle_time"));
        assert_eq!(split, (micro, macro_), "{threshold}");
    }
}

#[test]
fn the_short_kernel_study_has_its_threshold_and_bins() {
    let place = Workplace::with_generated();
    let histogram = "short_kernels_histogram";
    assert!(!place.sheets("").has(histogram));

    let sheets = place.sheets("--short_kernel_study");
    assert_eq!(sheets.rows(histogram).len(), 100);
    assert!(sheets.has("short_kernels_all_details"));
    let short: f64 = numbers(&sheets.column(histogram, "count")).iter().sum();

    let wider = place.sheets("--short_kernel_study --short_kernel_threshold_us 200");
    assert!(numbers(&wider.column(histogram, "count")).iter().sum::<f64>() > short);
    assert!(*numbers(&wider.column(histogram, "bin_end")).last().unwrap() > 10.0);

    let coarse = place.sheets("--short_kernel_study --short_kernel_histogram_bins 7");
    assert_eq!(coarse.rows(histogram).len(), 7);
    assert_eq!(numbers(&coarse.column(histogram, "count")).iter().sum::<f64>(), short);
}

#[test]
fn the_kernel_summary_is_added() {
    let place = Workplace::with(trace(&one_operator()));
    assert!(!place.sheets("").has("kernel_summary"));
    for option in ["--enable_kernel_summary", "--enable-kernel-summary", "--kernel_summary"] {
        assert_eq!(place.sheets(&[option]).column("kernel_summary", "Kernel name"), ["gemm"]);
    }
}

#[test]
fn recomputed_work_is_told_apart() {
    let mut events = one_operator();
    events.push(python_frame("torch/utils/checkpoint.py(1): recompute_fn", 200.0, 50.0));
    events.extend([operator("aten::mm", 210.0, 10.0), launch(2, 212.0), kernel("gemm", 2, 230.0, 40.0)]);
    let place = Workplace::with(trace(&events));
    let plain = place.sheets("");
    assert!(!plain.columns("ops_summary").contains(&"is_recompute"));
    assert_eq!(plain.rows("ops_summary").len(), 1);

    let sheets = place.sheets("--detect_recompute");
    assert_eq!(sheets.column("ops_summary", "is_recompute"), [false, true]);
    let times = numbers(&sheets.column("ops_summary", "total_direct_kernel_time_ms"));
    assert_eq!(times, [0.1, 0.04]);
}

#[test]
fn call_stacks_are_added() {
    let mut events = one_operator();
    events.push(python_frame("model/train.py(3): main", 0.0, 500.0));
    let place = Workplace::with(trace(&events));
    let plain = place.sheets("");
    let sheets = place.sheets("--include_call_stack");
    let added: Vec<&str> = sheets
        .columns("ops_all")
        .into_iter()
        .filter(|column| !plain.columns("ops_all").contains(column))
        .collect();
    assert!(added.contains(&"call_stack_full"), "{added:?}");
    let stack = sheets.column("ops_all", "call_stack_full")[0].to_string();
    assert!(stack.contains("model/train.py(3): main"), "{stack}");
}

#[test]
fn overlap_is_added() {
    let mut events = one_operator();
    events.extend([operator("aten::copy_", 12.0, 5.0), launch(2, 13.0)]);
    events.push(kernel_on_stream(8, "copy", 2, 50.0, 10.0));
    let place = Workplace::with(trace(&events));
    assert!(!place.sheets("").has("ops_all_kl_overlap"));
    let sheets = place.sheets("--include_overlap_info");
    let rows = serde_json::to_string(sheets.rows("ops_all_kl_overlap")).unwrap();
    assert!(rows.contains("aten::mm") && rows.contains("copy"), "{rows}");
}

#[test]
fn fused_operators_are_split_into_pseudo_operators() {
    let events = [
        operator("vllm::moe_forward", 0.0, 50.0),
        operator("vllm::rocm_aiter_fused_moe", 1.0, 40.0),
        launch(1, 2.0),
        kernel("void aiter::fmoe_bf16_g1u1", 1, 60.0, 40.0),
    ];
    let place = Workplace::with(trace(&events));
    let names = |options: &[&str]| serde_json::to_string(place.sheets(options).rows("ops_summary")).unwrap();
    assert!(!names(&[]).contains("pseudo_op::"));
    assert!(names(&["--enable_pseudo_ops"]).contains("pseudo_op::moe_aiter_fused_1stage"));
}

#[test]
fn the_time_of_the_first_call_is_added() {
    let place = Workplace::with(trace(&one_operator()));
    let (plain, with) = (place.sheets(""), place.sheets("--include_first_occurrence_time"));
    assert_eq!(with.columns("ops_all").len(), plain.columns("ops_all").len() + 1);
}

#[test]
fn calls_are_grouped_by_number_of_kernels() {
    let mut events = one_operator();
    events.extend([operator("aten::mm", 200.0, 10.0), launch(2, 202.0), launch(3, 204.0)]);
    events.extend([kernel("gemm", 2, 230.0, 40.0), kernel("gemm", 3, 280.0, 40.0)]);
    let place = Workplace::with(trace(&events));
    assert_eq!(place.sheets("").rows("ops_all").len(), 1);
    assert_eq!(place.sheets("--group_by_num_kernels").rows("ops_all").len(), 2);
}

#[test]
fn collectives_are_left_out() {
    let place = Workplace::with_generated();
    assert!(place.sheets("").has("coll_analysis"));
    assert!(!place.sheets("--disable_coll_analysis").has("coll_analysis"));
}

#[test]
fn a_pattern_makes_kernels_communication() {
    let place = Workplace::with(trace(&one_operator()));
    assert_eq!(place.sheets("").timeline("exposed_comm_time"), 0.0);
    let sheets = place.sheets("--communication-pattern other --communication_pattern GEMM");
    assert_eq!(sheets.timeline("exposed_comm_time"), 0.1);
    assert_eq!(sheets.timeline("computation_time"), 0.0);
}

#[test]
fn linking_by_flow_needs_arrows() {
    let place = Workplace::with(trace(&one_operator()));
    place
        .run("report trace.json --link-by correlation")
        .exits_with(0)
        .with_summary(&["aten::mm 1 100.000 100.0"]);
    place
        .run("report trace.json --link_by=flow")
        .exits_with(0)
        .with_summary(&["warning: 1 device event (100.0 µs) without a launch"]);
}

#[test]
fn every_option_of_the_reference_tool_is_understood_in_both_spellings() {
    let place = Workplace::with(trace(&one_operator()));
    place.put("arch.json", r#"{"mem_bw_gbps": 1, "max_achievable_tflops": {}}"#);
    for option in [
        "--topk_ops=1",
        "--topk_short_kernels=1",
        "--topk_roofline_ops=1",
        "--include_unlinked_kernels",
        "--micro_idle_thresh_us=5",
        "--waits",
        "--kernel_wait_threshold_us=30",
        "--queue_limit=1024",
        "--memory",
        "--short_kernel_study",
        "--short_kernel_threshold_us=10",
        "--short_kernel_histogram_bins=100",
        "--enable_kernel_summary",
        "--detect_recompute",
        "--include_call_stack",
        "--include_overlap_info",
        "--include_first_occurrence_time",
        "--group_by_num_kernels",
        "--disable_coll_analysis",
        "--gpu_arch_platform=MI300X",
        "--gpu_arch_json_path=arch.json",
        "--output_xlsx_path=x.xlsx",
        "--output_csvs_dir=out",
    ] {
        for spelling in [option.to_string(), option.replace('_', "-")] {
            let arguments = ["pytorch", "--profile_json_path", "trace.json", "--quiet", &spelling];
            place.run(&arguments).exits_with(0);
            let arguments = ["pytorch", "--profile-json-path", "trace.json", "--quiet", &spelling];
            place.run(&arguments).exits_with(0);
        }
    }
}

#[test]
fn wrong_usage_exits_with_2_and_says_what_is_wrong() {
    let place = Workplace::with(trace(&one_operator()));
    for (arguments, part) in [
        (&["report"][..], "<FILE>"),
        (&["report", "trace.json", "--no-such-option"], "--no-such-option"),
        (&["report", "trace.json", "--topk_op", "3"], "--topk_ops"),
        (&["report", "trace.json", "--topk_ops", "many"], "many"),
        (&["report", "trace.json", "--micro_idle_thresh_us=-1"], "0 or more"),
        (&["report", "trace.json", "--short_kernel_histogram_bins=0"], "--short_kernel_histogram_bins"),
        (&["report", "trace.json", "--link-by", "name"], "correlation"),
        (&["report", "trace.json", "--sheet-names", "legacy"], "documented"),
        (&["report", "trace.json", "--json", "--quiet"], "--quiet"),
        (&["pytorch", "trace.json", "--profile_json_path", "trace.json"], "--profile_json_path"),
        (&["no-such-command"], "no-such-command"),
        (&["trace.json"], "tracelens report trace.json"),
        (&[], "Usage"),
    ] {
        let outcome = place.run(arguments).exits_with(2);
        assert!(outcome.err.contains(part), "no {part:?} in {outcome:#?}");
        assert_eq!(place.files(".").len(), 1);
        // Programs that asked for JSON get some.
        match arguments.contains(&"--json") {
            true => {
                let answer: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
                assert_eq!(
                    (&answer["status"], &answer["error"]["code"]),
                    (&"error".into(), &"arguments".into())
                );
            }
            false => assert_eq!(outcome.out, ""),
        }
    }
}

#[cfg(unix)]
#[test]
fn under_the_name_of_the_reference_tool_it_is_that_tool() {
    let place = Workplace::with(trace(&one_operator()));
    let link = place.path("TraceLens_generate_perf_report_pytorch");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tracelens"), &link).unwrap();
    let run = |arguments: &[&str]| run_as(&link, arguments, &place.path("."));

    let names = |options: &[&str]| {
        let arguments = [&["--profile_json_path", "trace.json", "--output_csvs_dir", "sheets"], options];
        run(&arguments.concat()).exits_with(0);
        place.files("sheets")
    };
    assert!(names(&[]).contains(&"ops_unique_args.csv".to_string()));
    assert!(!names(&[]).contains(&"ops_all.csv".to_string()));
    assert!(names(&["--sheet-names", "documented"]).contains(&"ops_all.csv".to_string()));

    run(&["--profile_json_path", "trace.json"]).exits_with(0);
    assert!(place.path("trace_perf_report.xlsx").exists());
    let usage = run(&["--help"]).exits_with(0).out;
    assert!(
        usage.contains("TraceLens_generate_perf_report_pytorch [OPTIONS] --profile_json_path"),
        "{usage}"
    );
    let words = usage.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("[default: current]"), "{usage}");
    run(&[]).exits_with(2);
}

#[test]
fn memory_has_sheets_where_it_was_recorded_and_modules_when_asked_for() {
    let place = Workplace::with_generated();
    let kinds = |options: &[&str]| {
        let sheets = place.sheets(options);
        sheets.column("memory_owners", "by").iter().any(|kind| **kind == "module")
    };
    assert!(!kinds(&[]) && kinds(&["--memory"]));
    let outcome = place
        .run("report trace.json.gz")
        .exits_with(0)
        .with_summary(&["memory: peak 3.223 GiB, 3.242 GiB reserved on CUDA 0"]);
    // Nobody asked for modules, so that there are none is no warning, and where a page is read not worth a note.
    assert!(!outcome.out.contains("modules") && outcome.err.is_empty(), "{outcome:#?}");
    let outcome = place.run("report trace.json.gz --json").exits_with(0);
    assert!(outcome.err.contains("read them with --memory"), "{outcome:#?}");
    let place = Workplace::with(trace(&one_operator()));
    assert!(!place.sheets("").has("memory_summary"));
    let said = ["--memory finds nothing: the trace has no allocations"];
    place.run("report trace.json --memory").exits_with(0).with_summary(&said);
}

#[test]
fn a_wrong_expression_is_refused_with_what_expressions_can_have() {
    let place = Workplace::with("{}");
    for command in [
        "pytorch trace.json --iteration /(?=step)/",
        "rocprof trace.json --pftrace_tables --exclude_kernel_regex (?=gemm)",
        "ranks trace.json --rank_regex (?=rank)",
    ] {
        let outcome = place.run(command).exits_with(2);
        assert!(outcome.err.contains("look-around") && outcome.err.contains("[a-z]"), "{outcome:?}");
    }
}
