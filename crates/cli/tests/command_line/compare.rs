//! `tracelens compare`.

use crate::program::{Sheets, Workplace, run_as};
use crate::trace::{kernel, launch, operator, trace};

/// Operators one after the other, each with a kernel of so many µs.
fn run_of(operators: &[(&str, f64)]) -> String {
    let mut events = Vec::new();
    let mut start = 100.0;
    for (position, (name, us)) in operators.iter().enumerate() {
        let id = u32::try_from(position).unwrap() + 1;
        events.push(operator(name, start, 10.0));
        events.push(launch(id, start + 2.0));
        events.push(kernel(&format!("kernel_of_{position}"), id, start + 5.0, *us));
        start += us + 20.0;
    }
    trace(&events)
}

/// `before.json` and `after.json`.
fn two_runs() -> Workplace {
    let place = Workplace::with(run_of(&[
        ("aten::mm", 100.0),
        ("aten::miopen_convolution", 50.0),
        ("aten::old", 30.0),
    ]));
    place.put("before.json", place.bytes("trace.json"));
    place.put(
        "after.json",
        run_of(&[("aten::mm", 160.0), ("aten::cudnn_convolution", 40.0), ("aten::new", 10.0)]),
    );
    place
}

#[test]
fn the_first_page_says_what_became_slower_and_faster_and_what_is_new() {
    let place = two_runs();
    place.run("compare before.json after.json").exits_with(0).with_summary(&[
        "before → after",
        "slower in after",
        "aten::mm",
        "+60.000",
        "faster in after",
        // Of both names, which stand for the same work, as much as there is room for.
        "cudnn_convolution",
        "aten::new new",
        "aten::old gone",
    ]);
    // Nothing is written that nobody asked for.
    assert_eq!(place.files("."), ["after.json", "before.json", "trace.json"]);
}

#[test]
fn recordings_and_reports_of_any_format_have_the_same_differences() {
    let place = two_runs();
    let report =
        ["report", "after.json", "--quiet", "--output_csvs_dir", "sheets", "--output_json_path", "r.json"];
    let report = [&report[..], &["--output_xlsx_path", "r.xlsx"]].concat();
    place.run(&report).exits_with(0);
    let deltas = |file: &str| {
        let names =
            ["compare", "before.json", file, "--json", "--names", "a", "b", "--sheets", "ops_summary"];
        let sheets = Sheets::parse(&place.run(&names).exits_with(0).out);
        format!("{:?} {:?}", sheets.column("ops_summary", "name"), sheets.column("ops_summary", "delta_us"))
    };
    let of_recording = deltas("after.json");
    for file in ["sheets", "r.json", "r.xlsx"] {
        assert_eq!(deltas(file), of_recording, "{file}");
    }
}

#[test]
fn several_runs_are_each_compared_with_the_first() {
    let place = two_runs();
    place.put("last.json", run_of(&[("aten::mm", 90.0)]));
    let outcome = place.run("compare before.json after.json last.json --json").exits_with(0);
    let sheets = Sheets::parse(&outcome.out);
    assert!(!sheets.rows("ops_summary_after").is_empty() && !sheets.rows("ops_summary_last").is_empty());
}

#[test]
fn a_limit_that_is_exceeded_is_exit_code_3() {
    let place = two_runs();
    let with =
        |limit: &str| place.run(&["compare", "before.json", "after.json", "--quiet", "--fail-on", limit]);
    with("op:aten::mm>70%").exits_with(0);
    with("op:aten::mm>50%").exits_with(3).with_error(&["after exceeds op:aten::mm>50%: +60.00 µs (+60.0%)"]);
    with("new>5us").exits_with(3).with_error(&["new>5us"]);
    with("op:none>5%").exits_with(2).with_error(&["has op:none"]);
    with("much").exits_with(2);
}

#[test]
fn a_run_and_itself_are_alike() {
    let place = two_runs();
    place.run("compare before.json before.json").exits_with(0).with_summary(&[
        "before → before 2",
        "similarity: 100.0% of the calls in ops_all occur in both runs",
    ]);
}

#[test]
fn markdown_is_written_beside_the_tables() {
    let place = two_runs();
    let arguments =
        ["compare", "before.json", "after.json", "--quiet", "--output_markdown_path", "change.md"];
    place.run(&arguments).exits_with(0);
    let text = String::from_utf8(place.bytes("change.md")).unwrap();
    assert!(text.starts_with("### after against before\n") && text.contains("| aten::new | new |"), "{text}");
}

#[test]
fn called_by_the_name_of_tracelens_it_writes_its_sheets() {
    let place = two_runs();
    for (file, directory) in [("before.json", "a"), ("after.json", "b")] {
        let names = [
            "--sheet-names",
            "current",
            "--enable_kernel_summary",
            "--quiet",
            "--output_csvs_dir",
            directory,
        ];
        place.run(&[&["report", file][..], &names].concat()).exits_with(0);
    }
    let link = place.path("TraceLens_compare_perf_reports_pytorch");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tracelens"), &link).unwrap();
    let outcome = run_as(&link, &["a", "b", "-o", "c.xlsx", "--output_csvs_dir", "c"], &place.path("."));
    outcome.exits_with(0);
    let files = place.files("c");
    for name in
        ["gpu_timeline.csv", "ops_summary.csv", "kernel_summary.csv", "ops_unique_args_only_variant_b.csv"]
    {
        assert!(files.contains(&name.to_owned()), "{files:?}");
    }
    let timeline = String::from_utf8(place.bytes("c/gpu_timeline.csv")).unwrap();
    assert!(timeline.starts_with("type,time ms__b_diff,time ms__b_pct,a::time ms,"), "{timeline}");
    let usage = run_as(&link, &["--help"], &place.path(".")).out;
    assert!(
        usage.contains("TraceLens_compare_perf_reports_pytorch [OPTIONS] <REPORT> <REPORT>..."),
        "{usage}"
    );
}

#[test]
fn runs_that_cannot_be_compared_are_errors_that_say_why() {
    let place = two_runs();
    place.put(
        "broken.json",
        r#"{"schema": "tracelens.answer/1.0", "tables": [{"name": "ops_summary", "columns": ["#,
    );
    place.put(
        "chip.json",
        r#"{"schema": "tracelens.answer/1.0", "tables": [{"name": "ops",
            "columns": [{"name": "OP Code"}, {"name": "Device Time"}], "rows": [["Matmul", 3.0]]}]}"#,
    );
    for (arguments, expected) in [
        (&["before.json", "chip.json"][..], "chip.json: has no sheet in common with"),
        (&["before.json"], "only 1 run given; pass at least two"),
        (&["before.json", "after.json", "--names", "a"], "1 names for 2 runs"),
        (&["before.json", "after.json", "--names", "a", "a"], "`a` is not a valid run name"),
        (&["before.json", "after.json", "--steps", "3"], "1 step counts for 2 runs"),
        (&["before.json", "after.json", "--sheets", "nothing"], "requested (nothing)"),
        (&["before.json", "none.json"], "none.json"),
        (&["before.json", "broken.json"], "broken.json: is not a JSON report"),
        (
            &["before.json", "after.json", "--parity", "tracelens", "--same", "a=b"],
            "--same does not apply with",
        ),
        (&["before.json", "after.json", "--parity", "tracelens", "--sheets", "x"], "--sheets x"),
    ] {
        place.run(&[&["compare"], arguments].concat()).exits_with(2).with_error(&[expected]);
    }
}
