//! Parts of a recording: `--iterations`, `--steady`, `--window`, and splitting by iterations.

use serde_json::Value;

use crate::program::{Outcome, Sheets, Workplace};
use crate::trace::{annotation, kernel, launch, operator, trace};

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
        outcome.out.lines().find(|line| line.starts_with("all figures are of")).unwrap_or_default().to_owned()
    };
    assert_eq!(says(&["--iterations", "3..4"]), "all figures are of the iterations 3 to 4 out of 10");
    assert_eq!(says(&["--iterations", "3"]), "all figures are of iteration 3 out of 10");
    assert_eq!(says(&["--steady"]), "all figures are of the iterations 2 to 4 out of 10");
    assert!(says(&["--window", "0.2..0.4"]).contains("starts in the window"));
    assert_eq!(says(&[]), "");
    let whole = place.run(&["report", "trace.json", "--output_csvs_dir", "sheets"]).exits_with(0);
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
        (&["--iterations", "first"], "expected numbers"),
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
    single
        .run(&["report", "trace.json", "--steady"])
        .exits_with(2)
        .with_error(&["no iterations can be chosen"]);
}

#[test]
fn a_trace_is_split_into_its_iterations_with_the_work_of_all_threads() {
    let place = trained();
    place
        .run(&["split", "trace.json"])
        .exits_with(0)
        .with_summary(&["trace.json: 10 steps (step, by recorded steps)"]);
    place
        .run(&["split", "trace.json", "-o", "one", "--store-single-iteration", "-i", "3"])
        .exits_with(0)
        .with_summary(&["1 step", "2 on GPUs"]);
    place.run(&["split", "trace.json", "-o", "kinds", "--representatives"]).exits_with(0);
    let kinds = place.files("kinds");
    assert_eq!(kinds.len(), 3, "{kinds:?}");
    assert!(kinds.iter().any(|name| name.starts_with("group_0_of_10_iteration_")), "{kinds:?}");
    place
        .run(&["split", "trace.json", "-o", "steady", "--steady"])
        .exits_with(0)
        .with_summary(&["3 steps", "6 on GPUs"]);
    assert!(place.files("steady").contains(&"steady_iterations_2_to_4_trace.json.gz".to_owned()));
}
