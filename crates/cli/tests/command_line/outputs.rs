//! What is written where, and what is printed.

use std::process::{Command, Stdio};

use crate::program::{Sheets, Workplace};
use crate::trace::{one_operator, trace};

const DOCUMENTED: &[&str] = &[
    "advice.csv",
    "coverage.csv",
    "gpu_timeline.csv",
    "ops_all.csv",
    "ops_summary.csv",
    "ops_summary_by_category.csv",
    "overview.csv",
    "recording.csv",
    "time_budget.csv",
    "unified_perf_summary.csv",
];

fn place() -> Workplace {
    Workplace::with(trace(&one_operator()))
}

#[test]
fn the_workbook_goes_beside_the_trace() {
    let place = place();
    std::fs::create_dir(place.path("runs")).unwrap();
    place.put("runs/a.pt.trace.json", trace(&one_operator()));
    let outcome = place.run("report runs/a.pt.trace.json").exits_with(0);
    assert_eq!(place.files("runs"), ["a.pt.trace.json", "a.pt.trace_perf_report.xlsx"]);
    outcome.with_summary(&["wrote runs/a.pt.trace_perf_report.xlsx"]);
    assert_eq!(place.files("."), ["runs", "trace.json"]);
}

#[test]
fn what_is_named_is_written_and_nothing_else() {
    for (options, files) in [
        (&["--output_csvs_dir=sheets"][..], &["sheets"][..]),
        (&["--output_xlsx_path=my.xlsx"], &["my.xlsx"]),
        (&["--output_json_path=my.json"], &["my.json"]),
        (&["--html=my.html"], &["my.html"]),
        (&["--output_csvs_dir=sheets", "--output_xlsx_path=my.xlsx"], &["my.xlsx", "sheets"]),
        (&["--output_csvs_dir=deep/er/sheets"], &["deep"]),
    ] {
        let place = place();
        place.run(&[&["report", "trace.json"], options].concat()).exits_with(0);
        assert_eq!(place.files("."), [files, &["trace.json"]].concat(), "{options:?}");
    }
}

#[test]
fn a_directory_of_csv_files_holds_one_run_and_keeps_what_is_not_ours() {
    let place = place();
    let report = |options: &[&str]| {
        let arguments = ["report", "trace.json", "--output_csvs_dir=sheets"];
        place.run(&[&arguments[..], options].concat()).exits_with(0);
        place.files("sheets")
    };
    report(&["--enable_kernel_summary"]);
    assert!(place.path("sheets/kernel_summary.csv").exists());
    for foreign in ["mine.csv", "ops_all.txt", "kernel_summary_old.csv"] {
        place.put(&format!("sheets/{foreign}"), "mine");
    }
    let mut expected = [DOCUMENTED, &["kernel_summary_old.csv", "mine.csv", "ops_all.txt"]].concat();
    expected.sort_unstable();
    assert_eq!(report(&[]), expected);
    assert_eq!(place.bytes("sheets/mine.csv"), b"mine");

    let current = report(&["--sheet-names", "current"]);
    assert!(current.contains(&"ops_unique_args.csv".to_string()), "{current:?}");
    assert!(!current.contains(&"ops_all.csv".to_string()), "{current:?}");
    assert!(!current.contains(&"overview.csv".to_string()), "{current:?}");
}

#[test]
fn sheets_have_their_current_names_when_asked() {
    let place = Workplace::with_generated();
    let options = ["--short_kernel_study", "--include_overlap_info", "--enable_kernel_summary"];
    let documented = place.sheets(&options);
    let current = place.sheets(&[&options[..], &["--sheet-names=current"]].concat());
    for (before, after) in [
        ("ops_all", "ops_unique_args"),
        ("ops_all_kl_overlap", "ops_unique_args_kl_overlap"),
        ("short_kernels_histogram", "short_kernel_histogram"),
        ("short_kernels_all_details", "short_kernels_summary"),
    ] {
        assert!(documented.has(before) && !documented.has(after), "{:?}", documented.names());
        assert!(current.has(after) && !current.has(before), "{:?}", current.names());
    }
    // Reports for programs that know TraceLens's have neither an overview, findings about the recording and replays, nor
    // memory that nobody asked for.
    let ours = [
        "advice",
        "overview",
        "recording",
        "graph_replays",
        "memory_summary",
        "memory_owners",
        "memory_blocks",
        "memory_timeline",
        "memory_steps",
    ];
    for name in ours {
        assert!(documented.has(name) && !current.has(name), "{name}");
    }
    assert_eq!(documented.names().len(), current.names().len() + ours.len());
}

#[test]
fn columns_are_in_our_order_but_under_the_names_and_with_the_figures_of_the_reference() {
    let place = Workplace::with_generated();
    let sheet = |options: &[&str]| {
        place
            .run(&[&["report", "trace.json.gz", "-q", "--output_csvs_dir=sheets"], options].concat())
            .exits_with(0);
        let content = String::from_utf8(place.bytes("sheets/ops_summary.csv")).unwrap();
        let mut lines = content.lines().map(ToOwned::to_owned);
        let of_gemm = lines.clone().find(|line| line.starts_with("aten::addmm,"));
        (lines.next().unwrap(), of_gemm.unwrap())
    };
    let (header, of_gemm) = sheet(&[]);
    assert_eq!(
        header,
        "name,direct kernel time (ms),share (%),cumulative share (%),subtree kernel time (ms),count,categories"
    );
    assert!(of_gemm.ends_with(",GEMM"), "{of_gemm}");
    for options in [["--sheet-names=current"], ["--parity=tracelens"]] {
        let (header, of_gemm) = sheet(&options);
        assert_eq!(
            header,
            "name,total_direct_kernel_time_sum,total_subtree_kernel_time_sum,total_direct_kernel_time_ms,\
             total_subtree_kernel_time_ms,Count,Categories,Percentage (%),Cumulative Percentage (%)"
        );
        assert!(of_gemm.contains(",['GEMM'],"), "{of_gemm}");
    }
}

#[test]
fn quiet_prints_nothing_and_writes_all_the_same() {
    let place = place();
    let outcome = place.run("report trace.json --quiet --topk_short_kernels=1").exits_with(0);
    assert_eq!((outcome.out.as_str(), outcome.err.as_str()), ("", ""));
    assert!(place.path("trace_perf_report.xlsx").exists());
    place.run("report no.json -q").exits_with(2).with_error(&["no.json"]);
}

#[test]
fn json_holds_the_sheets_of_the_other_formats_and_writes_no_file() {
    let place = Workplace::with_generated();
    let sheets = place.sheets("--enable_kernel_summary");
    assert_eq!(place.files("."), ["trace.json.gz"]);

    let options = ["--enable_kernel_summary", "--output_csvs_dir=sheets", "--output_json_path=report.json"];
    place.run(&[&["report", "trace.json.gz", "-q"], &options[..]].concat()).exits_with(0);
    let csv: Vec<String> = sheets.names().iter().map(|name| format!("{name}.csv")).collect();
    assert_eq!(place.files("sheets"), csv);
    for name in sheets.names() {
        let text = String::from_utf8(place.bytes(&format!("sheets/{name}.csv"))).unwrap();
        assert_eq!(text.lines().count(), sheets.rows(name).len() + 1, "{name}");
    }
    let file = Sheets::parse(&String::from_utf8(place.bytes("report.json")).unwrap());
    for name in sheets.names() {
        assert_eq!(file.rows(name), sheets.rows(name));
    }
}

#[test]
fn json_keeps_warnings_apart() {
    let outcome = place().run("report trace.json --json --topk_short_kernels=1").exits_with(0);
    assert!(outcome.err.starts_with("tracelens: warning: --topk_short_kernels"), "{outcome:#?}");
    Sheets::parse(&outcome.out);
}

#[test]
fn the_same_trace_gives_the_same_bytes_whatever_the_number_of_threads() {
    let place = Workplace::with_generated();
    let run = |to: &str, threads: &str| {
        let [xlsx, json, svg] = ["xlsx", "json", "svg"].map(|format| format!("{to}.{format}"));
        let arguments = [
            &["report", "trace.json.gz", "--json", "--threads", threads],
            &["--output_xlsx_path", &xlsx, "--output_json_path", &json, "--output_csvs_dir", to][..],
            &["--enable_kernel_summary", "--short_kernel_study", "--include_call_stack"],
            &["--include_overlap_info", "--detect_recompute", "--group_by_num_kernels"],
            &["--gpu_arch_platform=MI300X", "--roofline_svg", &svg],
        ];
        let printed = place.run(&arguments.concat()).exits_with(0).out;
        let sheets: Vec<(String, Vec<u8>)> = place
            .files(to)
            .into_iter()
            .map(|name| (name.clone(), place.bytes(&format!("{to}/{name}"))))
            .collect();
        (printed, [xlsx, json, svg].map(|file| place.bytes(&file)), sheets)
    };
    let first = run("first", "1");
    assert!(first.2.len() > 8, "{}", first.2.len());
    for (to, threads) in [("again", "1"), ("two", "2"), ("four", "4")] {
        assert!(first == run(to, threads), "one thread and {threads} differ");
    }
}

#[test]
fn what_is_printed_to_a_file_has_no_colours() {
    let outcome = place().run("report trace.json").exits_with(0);
    assert!(!outcome.out.contains('\u{1b}'), "{outcome:#?}");
    assert!(outcome.out.lines().all(|line| line.chars().count() <= 110), "{outcome:#?}");
}

#[test]
fn colours_are_printed_when_asked() {
    let place = place();
    for (options, colored) in [
        (&["--color"][..], true),
        (&["--color", "always"], true),
        (&["--color=always"], true),
        (&["--color", "auto"], false),
        (&["--color", "never"], false),
    ] {
        let outcome = place.run(&[&["report", "trace.json"], options].concat()).exits_with(0);
        assert_eq!(outcome.out.contains('\u{1b}'), colored, "{options:?}: {outcome:#?}");
    }
    // Before the subcommand, of any subcommand, and with a trace behind it.
    let before = place.run("--color always report trace.json").exits_with(0);
    assert!(before.out.contains('\u{1b}'), "{before:#?}");
    place.run("archs --color=always").exits_with(0);
    assert!(place.run("report --color trace.json").exits_with(0).out.contains('\u{1b}'));
    let wrong = place.run("report trace.json --color=blue").exits_with(2);
    assert!(wrong.err.contains("'blue'") && wrong.err.contains("never"), "{wrong:#?}");
    // How a report is printed is none of its options.
    let overview = place.run("report trace.json --json --color always").exits_with(0);
    assert!(!overview.out.contains("--color"), "{overview:#?}");
}

#[test]
fn a_locale_without_unicode_gets_plain_characters() {
    let place = Workplace::with_generated();
    let output = |locale: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_tracelens"))
            .args(["report", "trace.json.gz"])
            .current_dir(place.path("."))
            .env("LC_ALL", locale)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(output("C").is_ascii(), "{}", output("C"));
    assert!(!output("C.UTF-8").is_ascii());
}

#[test]
fn places_that_cannot_be_written_are_refused_before_reading() {
    let place = place();
    place.put("taken", "");
    for (option, parts) in [
        ("--output_xlsx_path=no/such/r.xlsx", &["no/such/r.xlsx", "its directory does not exist"][..]),
        ("--output_json_path=.", &["cannot write .: it is a directory"]),
        ("--output_csvs_dir=taken", &["taken", "a file with this name exists"]),
    ] {
        place.run(&["report", "trace.json", option]).exits_with(1).with_error(parts);
        // The trace has not even been looked for.
        place.run(&["report", "no.json", option]).exits_with(1).with_error(parts);
    }
    assert_eq!(place.files("."), ["taken", "trace.json"]);
}

#[test]
fn the_trace_is_never_overwritten() {
    let place = place();
    for option in ["--output_json_path=trace.json", "--output_xlsx_path=./trace.json"] {
        place.run(&["report", "trace.json", option]).exits_with(2).with_error(&["is the trace itself"]);
    }
    assert_eq!(place.bytes("trace.json"), trace(&one_operator()).as_bytes());
}

#[cfg(target_os = "linux")]
#[test]
fn one_place_that_cannot_be_written_does_not_take_the_rest_along() {
    let place = place();
    let arguments = ["report", "trace.json", "--output_xlsx_path=/dev/full", "--output_csvs_dir=sheets"];
    let outcome = place
        .run(&arguments)
        .exits_with(1)
        .with_error(&["/dev/full", "No space left", "the previous content is unchanged"])
        .with_summary(&["aten::mm", "wrote sheets (10 files)"]);
    assert!(!outcome.out.contains("wrote /dev/full"), "{outcome:#?}");
    assert_eq!(place.files("sheets"), DOCUMENTED);
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tracelens"))
        .args(["info", "columns"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn names_that_promise_another_format_are_refused() {
    let place = Workplace::with_generated();
    for (option, path, parts) in [
        ("--output_xlsx_path", "x.csv", &["its name ends in .csv", "end it in .xlsx"][..]),
        ("--output_xlsx_path", "x.XLS", &["its name ends in .xls,"]),
        ("--output_json_path", "x.xlsx", &["but the format is json"]),
        ("--html", "x.xlsx", &["but the format is html", "end it in .html"]),
        ("--roofline_svg", "x.png", &["its name ends in .png", "end it in .svg"]),
        ("--output_csvs_dir", "x.xlsx", &["CSV files need a directory"]),
    ] {
        let outcome = place.run(&["report", "trace.json.gz", option, path]).exits_with(1);
        outcome.with_error(&[&[&*format!("cannot write {path}")], parts].concat());
    }
    assert_eq!(place.files("."), ["trace.json.gz"], "they are refused before anything is written");
    for (option, path) in [("--output_xlsx_path", "X.XLSX"), ("--output_json_path", "plain")] {
        place.run(&["report", "trace.json.gz", option, path]).exits_with(0);
    }
}
