//! What is printed.

use std::path::{Path, PathBuf};

use super::place::{Row, generated, op, place, place_of, printed, signpost};
use crate::program::{Outcome, Workplace, run_as};

const WHOLE: &[&str] = &["--ignore-signposts"];

/// What is printed with the table of operations.
#[track_caller]
fn all(place: &Workplace, options: &[&str]) -> Outcome {
    printed(place, &[options, &["-v"]].concat())
}

fn table_lines(outcome: &Outcome) -> Vec<&str> {
    outcome.out.lines().filter(|line| line.starts_with('│')).collect()
}

#[test]
fn the_table_has_lines_around_and_sums_below() {
    let outcome = all(&place(), &["--signpost", "iteration", "--end-signpost", "iteration finished"]);
    let lines = table_lines(&outcome);
    assert!(lines[0].contains("OP Code") && lines[0].contains("Math Fidelity"), "{outcome:#?}");
    let length = lines[0].chars().count();
    let table = outcome.out.lines().filter(|line| line.starts_with(['│', '┌', '├', '└']));
    assert!(table.take(5).all(|line| line.chars().count() == length), "{outcome:#?}");
    let parts =
        ["device ops", "1 host op,", "0 signposts", "blackhole", "4 devices", "MatmulDeviceOperation"];
    outcome.with_summary(&parts);
}

#[test]
fn minor_rows_are_counted_where_there_is_no_colour() {
    let place = place();
    let plain = all(&place, WHOLE);
    let every = all(&place, &["--ignore-signposts", "--min-percentage", "0"]);
    let colored = all(&place, &["--ignore-signposts", "--color"]);
    let hidden = all(&place, &["--ignore-signposts", "--color", "--hide-minor"]);
    let high = all(&place, &["--ignore-signposts", "--min-percentage", "90"]);
    assert!(
        plain.out.contains("minor rows (each below 0.5% of total time and of device time) not shown"),
        "{plain:#?}"
    );
    assert!(hidden.out.contains("minor rows"));
    assert!(!every.out.contains("minor rows") && !colored.out.contains("minor rows"));
    assert!(table_lines(&plain).len() < table_lines(&every).len());
    assert!(table_lines(&high).len() < table_lines(&plain).len());
    assert!(colored.out.contains("\u{1b}[90m"), "grey");
    assert_eq!(table_lines(&hidden).len(), table_lines(&plain).len());
}

#[test]
fn rows_with_much_device_time_are_not_minor_where_gaps_are_most_of_the_time() {
    // 10 and 90 µs of device time after a gap of a second: each is less than 0.5% of all time.
    let row = |code, duration| Row { duration, ..op(code) };
    let gap = Row { gap: "1000000000", ..row("Waits", "1") };
    let place = place_of(&[row("Short", "10000"), gap, row("Long", "90000")]);
    let table = |options: &[&str]| all(&place, &[options, &["--no-summary", "--no-advice"]].concat());
    let plain = table(&[]);
    for name in ["Short", "Long"] {
        assert!(table_lines(&plain).iter().any(|line| line.contains(name)), "{plain:#?}");
    }
    let higher = table(&["--min-percentage", "50"]);
    assert!(table_lines(&higher).iter().any(|line| line.contains("Long")), "{higher:#?}");
    assert!(!table_lines(&higher).iter().any(|line| line.contains("Short")), "{higher:#?}");
    // The reference knows the share of all time only.
    let compat = table(&["--compat", "--color"]);
    let grey = compat.out.lines().find(|line| line.contains("Long")).unwrap();
    assert!(grey.contains("\u{1b}[90m"), "{compat:#?}");
    let colored = table(&["--color"]);
    let line = colored.out.lines().find(|line| line.contains("Long")).unwrap();
    assert!(!line.contains("\u{1b}[90mLong"), "{colored:#?}");
}

#[test]
fn colours_are_on_request_where_there_is_no_terminal() {
    let place = place();
    assert!(!all(&place, WHOLE).out.contains('\u{1b}'));
    let colored = all(&place, &["--ignore-signposts", "--color"]).out;
    for (what, sequence) in
        [("gap", "31"), ("matmul", "35"), ("conv", "38;5;208"), ("layer norm", "36"), ("green", "32")]
    {
        assert!(colored.contains(&format!("\u{1b}[{sequence}m")), "{what}");
    }
    assert!(!all(&place, &["--color", "--no-color"]).out.contains('\u{1b}'));
}

#[test]
fn few_cores_are_red_and_all_cores_green() {
    let row = |cores| Row { cores, ..op("A") };
    let outcome = all(&place_of(&[row("9"), row("110"), row("64")]), &["--color"]);
    assert!(outcome.out.contains("\u{1b}[31m9\u{1b}[0m"), "{outcome:#?}");
    assert!(outcome.out.contains("\u{1b}[32m110\u{1b}[0m"), "{outcome:#?}");
    assert!(outcome.out.contains(" 64 "), "{outcome:#?}");
}

#[test]
fn gaps_are_long_above_6500_ns() {
    let row = |gap| Row { gap, ..op("A") };
    let outcome = all(&place_of(&[row("0"), row("6500"), row("6501")]), &["--color"]);
    let red = "\u{1b}[31m";
    assert_eq!(outcome.out.matches(&format!("{red}7 μs")).count() % 2, 0, "in the table and in the advice");
    assert!(outcome.out.contains(&format!("{red}7 μs")), "{outcome:#?}");
    assert!(outcome.out.contains(" 6 μs ") && !outcome.out.contains(&format!("{red}6 μs")), "{outcome:#?}");
}

#[test]
fn advice_and_summary_may_be_left_out() {
    let place = place();
    let both = all(&place, WHOLE).out;
    let without_advice = all(&place, &["--ignore-signposts", "--no-advice"]).out;
    let without_summary = all(&place, &["--ignore-signposts", "--no-summary"]).out;
    assert!(both.contains("High op-to-op gaps") && both.contains("Device Time Sum"), "{both}");
    assert!(!without_advice.contains("High op-to-op gaps") && without_advice.contains("Device Time Sum"));
    assert!(without_summary.contains("High op-to-op gaps") && !without_summary.contains("Device Time Sum"));
    let old_name = all(&place, &["--ignore-signposts", "--no-stacked-report"]).out;
    assert_eq!(old_name, without_summary);
}

#[test]
fn advice_says_what_to_change() {
    let product = Row { product: Some([512, 512, 512]), ..op("MatmulDeviceOperation") };
    let host = Row { kind: "python_fallback", device: None, duration: "", gap: "", ..op("add (torch)") };
    let late = Row { gap: "106000", ..op("B") };
    let outcome = all(&place_of(&[op("A"), host, product, late]), &[]);
    outcome.with_summary(&["add (torch)", "program config", "L1", "100 μs"]);
}

#[test]
fn the_summary_groups_by_what_was_asked() {
    let place = place();
    let summary = |options: &[&str]| {
        let text = all(&place, &[WHOLE, options].concat()).out;
        text.split_once("Device Time Sum").map(|(_, summary)| summary.to_owned()).unwrap_or_default()
    };
    assert!(summary(&[]).contains("(in0:l1_interleaved)"));
    let by_op = summary(&["--group-by", "op"]);
    assert!(by_op.contains("MatmulDeviceOperation") && !by_op.contains("(in0:"), "{by_op}");
    assert_eq!(summary(&["--no-stack-by-in0"]), by_op);
    let by_category = summary(&["--group-by", "category"]);
    assert!(by_category.contains("CCL") && !by_category.contains("MatmulDeviceOperation"), "{by_category}");
    // A device each.
    let of_devices = summary(&["--group-by", "category", "--no-merge-devices"]);
    assert!(of_devices.matches("CCL").count() == 4, "{of_devices}");
}

#[test]
fn a_run_and_its_baseline_are_compared_as_any_runs_are() {
    let slow = Row { duration: "30000", ..op("A") };
    let place = place_of(&[slow, op("B"), op("N")]);
    let gone = Row { duration: "5000", ..op("G") };
    place.put("before.csv", super::place::table(&[op("A"), op("B"), gone]));
    let outcome = printed(&place, &["--baseline", "before.csv", "--no-summary", "--no-advice"]);
    let (_, changes) = outcome.out.split_once("\nbefore → ops\n").expect("a comparison");
    let tables = &changes[changes.find("time category").expect("tables")..];
    let tables = tables.split("\nwarning:").next().unwrap_or_default();
    let tables = tables.split_whitespace().collect::<Vec<_>>().join(" ");
    place.run("compare before.csv ops.csv").exits_with(0).with_summary(&[&tables]);
    let (_, changes) = changes.split_once("slower in ops").expect("a table");
    let line = |name: &str| changes.lines().find(|line| line.starts_with(&format!("{name} "))).expect(name);
    assert!(line("A").contains("+20"), "{changes}");
    assert!(line("N").contains("new"), "{changes}");
    assert!(line("G").contains("gone"), "{changes}");
}

#[test]
fn names_from_the_file_cannot_steer_the_terminal() {
    let place = place_of(&[op("A\u{1b}[2J"), signpost("s\u{1b}[2J"), op("B")]);
    let outcome = all(&place, &["--ignore-signposts", "--print-signposts"]);
    assert!(!outcome.out.contains('\u{1b}') && !outcome.err.contains('\u{1b}'), "{outcome:#?}");
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_failure() {
    let script = format!(
        "{} metal {} --ignore-signposts --color | head -n 1; exit ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_tracelens"),
        generated().display()
    );
    let outcome = run_as("bash", &["-c", &script], Path::new("."));
    assert!(!outcome.err.contains("panicked") && !outcome.err.contains("error"), "{outcome:#?}");
    outcome.exits_with(0);
}

#[test]
fn under_its_old_name_the_program_needs_no_subcommand() {
    let place = place();
    let link = place.path("tt-perf-report");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tracelens"), &link).unwrap();
    let directory = link.parent().unwrap();
    let outcome = run_as(&link, &["ops.csv", "--ignore-sign", "--no-color"], directory).exits_with(0);
    let compat = printed(&place, &["--compat", "--ignore-signposts"]).out;
    assert_eq!(outcome.out, compat, "options may be shortened, too");
    let usage = run_as(&link, &["--help"], directory).exits_with(0).out;
    assert!(usage.contains("tt-perf-report [OPTIONS] <FILE>..."), "{usage}");
}

/// Recorded tables and what tt-perf-report prints of them, where they are at hand.
fn recorded() -> Vec<PathBuf> {
    let Some(folder) = testdata::corpus("metal") else { return Vec::new() };
    testdata::entries(&folder)
}

/// The cells of the tables in a text, blanks between them made one.
fn tables(text: &str) -> Vec<Vec<String>> {
    let is_row = |line: &&str| {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        let (is_number, second) = (first.parse::<f64>().is_ok(), words.next().unwrap_or_default());
        is_number && (second == "%" || second == "🪧" || words.any(|word| word == "%" || word == "μs"))
    };
    let cells = |line: &str| line.split_whitespace().map(ToOwned::to_owned).collect();
    text.lines().filter(is_row).map(cells).collect()
}

#[test]
fn compat_prints_the_cells_of_tt_perf_report_for_the_corpus() {
    for case in recorded() {
        let place = Workplace::with("{}");
        std::fs::copy(case.join("ops.csv"), place.path("ops.csv")).unwrap();
        let ours = printed(&place, &["--compat", "--ignore-signposts", "--no-color"]).out;
        let reference = std::fs::read_to_string(case.join("ref_terminal.txt")).unwrap();
        let (ours, reference) = (tables(&ours), tables(&reference));
        assert!(reference.len() > 20, "{}", case.display());
        for (position, (ours, reference)) in ours.iter().zip(&reference).enumerate() {
            assert_eq!(ours, reference, "{} row {position}", case.display());
        }
        assert_eq!(ours.len(), reference.len(), "{}", case.display());
    }
}
