//! Parts of a recording: `--iterations`, `--steady`, `--window`, and splitting by iterations.

use serde_json::Value;

use crate::program::{Outcome, Sheets, Workplace};
use crate::trace::{annotation, kernel, launch, operator, trace};
use crate::xplane::{gpu, plane};

/// Ten marked steps of 100 µs from 1000 µs on, each with an operator and a kernel of 40 µs, and a kernel of 20 µs that
/// the backward thread launches; that of the first and of the sixth takes so long that the next step waits for it.
fn trained() -> Workplace {
    let mut events = Vec::new();
    for step in 0..10 {
        let start = 1000.0 + 100.0 * f64::from(step);
        events.push(annotation(&format!("ProfilerStep#{}", step + 4), start, 99.0));
        events.push(operator("aten::mm", start + 1.0, 20.0));
        events.push(launch(2 * step + 1, start + 2.0));
        events.push(kernel("gemm", 2 * step + 1, start + 10.0, 40.0));
        events.push(launch(2 * step + 2, start + 50.0).replace(r#""tid": 1"#, r#""tid": 2"#));
        let length = if step == 0 || step == 5 { 90.0 } else { 20.0 };
        events.push(kernel("gemm_backward", 2 * step + 2, start + 60.0, length));
    }
    Workplace::with(trace(&events))
}

fn sheets(place: &Workplace, options: &[&str]) -> Sheets {
    place.sheets(options)
}

fn sum(sheets: &Sheets, sheet: &str, column: &str) -> f64 {
    sheets.column(sheet, column).into_iter().filter_map(Value::as_f64).sum()
}

#[test]
fn iterations_add_up_to_the_timeline() {
    let all = sheets(&trained(), &[]);
    assert_eq!(all.rows("iterations").len(), 10);
    for (column, kind) in
        [("busy (ms)", "busy_time"), ("idle (ms)", "idle_time"), ("duration (ms)", "total_time")]
    {
        let (sum, whole) = (sum(&all, "iterations", column), all.timeline(kind));
        assert!((sum - whole).abs() < 1e-9, "{column}: {sum}, not {whole}");
    }
    let text =
        |column: &str| -> Vec<Value> { all.column("iterations", column).into_iter().cloned().collect() };
    assert_eq!(text("recorded number")[..2], [Value::from(4), Value::from(5)]);
    assert_eq!(text("kernels"), vec![Value::from(2); 10]);
    assert_eq!(text("state")[..3], ["warm-up", "fast", "steady"].map(Value::from));
    assert_eq!(text("state")[5], "slow");
}

#[test]
fn a_report_of_some_iterations_is_of_what_they_launched() {
    let place = trained();
    let all = sheets(&place, &[]);
    for (options, first, count) in
        [(&["--iterations", "1..2"][..], 1, 2), (&["--iterations=7"], 7, 1), (&["--iterations", "2:5"], 2, 3)]
    {
        let some = sheets(&place, options);
        let numbers: Vec<_> = some.column("iterations", "iteration").into_iter().cloned().collect();
        assert_eq!(numbers, (first..first + count).map(Value::from).collect::<Vec<_>>(), "{options:?}");
        assert_eq!(sum(&some, "ops_summary", "Count"), f64::from(count) * 2.0, "{options:?}");
        assert!(sum(&some, "ops_summary", "Count") < sum(&all, "ops_summary", "Count"));
        // A table of several has the mean of one beside the sum.
        for (sheet, time) in [
            ("gpu_timeline", "time ms"),
            ("ops_summary", "total_direct_kernel_time_ms"),
            ("ops_summary_by_category", "total_direct_kernel_time_ms"),
        ] {
            assert_eq!(some.columns(sheet).contains(&"per iteration (ms)"), count > 1, "{sheet} {options:?}");
            if count > 1 {
                let means = some.column(sheet, "per iteration (ms)").into_iter();
                for (mean, time) in means.zip(some.column(sheet, time)) {
                    let expected = time.as_f64().unwrap() / f64::from(count);
                    assert!((mean.as_f64().unwrap() - expected).abs() < 1e-12, "{sheet}");
                }
            }
        }
    }
}

#[test]
fn the_first_page_says_what_window_it_is_of() {
    let place = trained();
    let says = |options: &[&str]| -> String {
        let arguments = [&["report", "trace.json", "--output_csvs_dir", "sheets"], options].concat();
        let outcome = place.run(&arguments).exits_with(0);
        outcome.out.lines().find(|line| line.starts_with("figures cover only")).unwrap_or_default().to_owned()
    };
    assert_eq!(says(&["--iterations", "3..4"]), "figures cover only iterations 3 to 4 of 10");
    assert_eq!(says(&["--iterations", "3"]), "figures cover only iteration 3 of 10");
    assert_eq!(says(&["--steady"]), "figures cover only iterations 2 to 4 of 10");
    assert!(says(&["--window", "0.2..0.4"]).contains("starts in the window"));
    assert_eq!(says(&[]), "");
    let whole = place.run("report trace.json --output_csvs_dir sheets").exits_with(0);
    whole.with_summary(&["10 steps (by recorded steps)", "0 is warm-up", "5 is slow"]);
}

#[test]
fn a_stretch_of_time_has_the_kernels_that_start_in_it() {
    // The first event is at 1000 µs: kernels start at 1210, 1260 and 1310 µs.
    let some = sheets(&trained(), &["--window", "200us..350us"]);
    assert_eq!(sum(&some, "ops_summary", "Count"), 3.0);
}

#[test]
fn windows_that_are_not_there_are_refused() {
    let place = trained();
    let refused = |options: &[&str]| -> Outcome {
        place.run(&[&["report", "trace.json"], options].concat()).exits_with(2)
    };
    refused(&["--iterations", "12"]).with_error(&["trace.json", "iteration 12", "0 to 9"]);
    refused(&["--iterations", "8..12"]).with_error(&["iterations 8 to 12", "0 to 9"]);
    refused(&["--window", "5s..6s"]).with_error(&["no device work starts in the window"]);
    for (options, says) in [
        (&["--iterations", "5..3"][..], "no iteration"),
        (&["--iterations", "first"], "expected iteration numbers"),
        (&["--window", "10"], "expected two times"),
        (&["--window", "3ms..1ms"], "ends before it starts"),
        (&["--steady", "--iterations", "3"], "cannot be used with"),
    ] {
        let outcome = refused(options);
        assert!(outcome.err.contains(says), "{options:?}: {outcome:#?}");
    }
    // One kernel repeats nothing.
    let single = Workplace::with(trace(&[
        operator("aten::mm", 0.0, 20.0),
        launch(1, 1.0),
        kernel("gemm", 1, 5.0, 9.0),
    ]));
    single.run("report trace.json --steady").exits_with(2).with_error(&["iterations cannot be selected"]);
}

#[test]
fn a_trace_is_split_into_its_iterations_with_the_work_of_all_threads() {
    let place = trained();
    place
        .run("split trace.json")
        .exits_with(0)
        .with_summary(&["trace.json: 10 steps (step, by recorded steps)"]);
    place
        .run("split trace.json -o one --store-single-iteration -i 3")
        .exits_with(0)
        .with_summary(&["1 step", "2 on GPUs"]);
    place.run("split trace.json -o kinds --representatives").exits_with(0);
    let kinds = place.files("kinds");
    assert_eq!(kinds.len(), 3, "{kinds:?}");
    assert!(kinds.iter().any(|name| name.starts_with("group_0_of_10_iteration_")), "{kinds:?}");
    place.run("split trace.json -o steady --steady").exits_with(0).with_summary(&["3 steps", "6 on GPUs"]);
    assert!(place.files("steady").contains(&"steady_iterations_2_to_4_trace.json.gz".to_owned()));
}

/// Two tensor cores that run a program eight times, the second 30 µs after the first; the first run takes longest.
fn run_on_tpus() -> Workplace {
    let core = |ordinal: u64, late: u64| {
        let runs = (0..8).map(|run| 200 * run + late + if run > 0 { 400 } else { 0 });
        let length = |start: u64| if start == late { 500 } else { 150 };
        let modules = runs.clone().map(|start| ("jit_step(7)", start, length(start))).collect();
        let operations = runs.map(|start| ("fusion.1", start + 10, length(start) - 20)).collect();
        let lines = [("XLA Modules", modules), ("XLA Ops", operations)];
        plane(2 + ordinal, &format!("/device:TPU:{ordinal}"), &lines)
    };
    let place = Workplace::with("{}");
    place.put("host.xplane.pb", [core(0, 0), core(1, 30)].concat());
    place
}

#[test]
fn runs_of_programs_on_tpus_are_iterations() {
    let place = run_on_tpus();
    let arguments = ["jax", "host.xplane.pb", "--step_svg", "steps.svg", "--output_json_path=all.json"];
    place.run(&arguments).exits_with(0).with_summary(&[
        "8 program runs (by recorded steps): 200.0 µs each (median of 6; 200.0 µs to 200.0 µs); program run 0 is warm-up",
    ]);
    let svg = String::from_utf8(place.bytes("steps.svg")).unwrap();
    assert!(svg.contains("Iterations · host.xplane.pb"), "{svg}");
    let all = Sheets::parse(&String::from_utf8(place.bytes("all.json")).unwrap());
    let text =
        |column: &str| -> Vec<Value> { all.column("iterations", column).into_iter().cloned().collect() };
    assert_eq!(text("kernels"), vec![Value::from(2); 8]);
    assert_eq!(text("name"), vec![Value::from("jit_step"); 8]);
    // Both cores together are busy from the first operation of a run to the last.
    assert!((sum(&all, "iterations", "busy (ms)") - (510.0 + 7.0 * 160.0) / 1e3).abs() < 1e-9);
    assert!((sum(&all, "iterations", "duration (ms)") - 1.96).abs() < 1e-9);
}

#[test]
fn a_report_of_a_tpus_runs_is_of_these_alone() {
    let place = run_on_tpus();
    let run = |options: &[&str]| -> (String, Sheets) {
        let arguments = [&["jax", "host.xplane.pb", "--output_json_path=some.json"], options].concat();
        let outcome = place.run(&arguments).exits_with(0);
        let line = outcome.out.lines().find(|line| line.starts_with("figures cover only"));
        (
            line.unwrap_or_default().to_owned(),
            Sheets::parse(&String::from_utf8(place.bytes("some.json")).unwrap()),
        )
    };
    let (says, some) = run(&["--iterations", "2..4"]);
    assert_eq!(says, "figures cover only iterations 2 to 4 of 8");
    assert_eq!((some.rows("module_runs").len(), sum(&some, "module_runs", "#Ops")), (6, 6.0));
    let values: Vec<&Value> = some.column("summary", "value");
    assert!(values.contains(&&Value::from(says)), "{values:?}");
    let metrics = some.column("overview", "Metric").into_iter().zip(some.column("overview", "Text"));
    let sampled: Vec<&Value> =
        metrics.filter(|(metric, _)| **metric == "MXU utilization").map(|(_, text)| text).collect();
    assert_eq!(sampled, ["the host samples it over the whole recording, not the window"]);
    let (says, some) = run(&["--steady"]);
    assert_eq!(says, "figures cover only iterations 2 to 7 of 8");
    assert_eq!((some.rows("module_runs").len(), sum(&some, "module_runs", "#Ops")), (12, 12.0));
    // Runs start at 600, 800, 1000 µs, the operations 10 µs after; those of the second core 30 µs later.
    let (says, some) = run(&["--window", "600us..820us"]);
    assert!(says.ends_with("device work that starts in the window"), "{says}");
    assert_eq!((some.rows("module_runs").len(), sum(&some, "module_runs", "#Ops")), (3, 3.0));
    // The window cuts the third run behind the start of its operation, of which it has all.
    let duration = |some: &Sheets| sum(some, "module_runs", "Duration (us)");
    assert_eq!(duration(&some), 150.0 + 150.0 + 140.0);
    // And before it: what is left of the run is idle.
    let (_, some) = run(&["--window", "600us..805us"]);
    assert_eq!((sum(&some, "module_runs", "#Ops"), duration(&some)), (2.0, 150.0 + 150.0 + 5.0));
    let refused = |options: &[&str], says: &[&str]| {
        place.run(&[&["jax", "host.xplane.pb"], options].concat()).exits_with(2).with_error(says);
    };
    refused(&["--iterations", "9"], &["host.xplane.pb", "iteration 9", "0 to 7"]);
    refused(&["--window", "5s..6s"], &["no device work starts in the window"]);
}

#[test]
fn a_report_of_a_gpus_iterations_has_the_mean_of_one() {
    let kernels: Vec<(&str, u64)> =
        (0..8).flat_map(|_| [("dot.1", 60), ("add.1", 20), ("copy.1", 10)]).collect();
    let place = Workplace::with("{}");
    place.put("host.xplane.pb", gpu(0, &kernels));
    let arguments = ["jax", "host.xplane.pb", "--iterations", "1..2", "--output_json_path=some.json"];
    place.run(&arguments).exits_with(0);
    let some = Sheets::parse(&String::from_utf8(place.bytes("some.json")).unwrap());
    for (sheet, time) in [
        ("gpu_timeline", "time ms"),
        ("gpu_events_averages", "time ms"),
        ("ops_summary", "total_direct_kernel_time_ms"),
        ("ops_summary_by_category", "total_direct_kernel_time_ms"),
    ] {
        for (mean, time) in some.column(sheet, "per iteration (ms)").into_iter().zip(some.column(sheet, time))
        {
            assert!((mean.as_f64().unwrap() - time.as_f64().unwrap() / 2.0).abs() < 1e-12, "{sheet}");
        }
    }
    assert_eq!(some.column("ops_summary", "Count"), vec![&Value::from(2); 3]);
}

#[test]
fn windows_of_other_recordings_are_refused_with_what_they_have_instead() {
    let place = run_on_tpus();
    place.put("other.xplane.pb", gpu(0, &[("all-reduce.1", 60)]));
    let outcome = place.run("jax host.xplane.pb other.xplane.pb --steady").exits_with(2);
    outcome.with_error(&["--steady", "applies to a single profile"]);
    let operations = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/metal_ops.csv");
    for command in ["metal", "report"] {
        for option in [&["--iterations", "3"][..], &["--steady"], &["--window", "1ms..2ms"]] {
            let outcome = place.run(&[&[command, operations], option].concat()).exits_with(2);
            outcome.with_error(&[option[0], "--start-signpost", "--id-range"]);
        }
    }
}
