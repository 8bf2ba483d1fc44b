//! A trace may hold its machine's environment. None of it may come out again.

use std::io::Read;

use crate::program::{Outcome, Workplace};
use crate::trace::{one_operator, trace};

const SECRET: &str = "hunter2-0451";

/// Metadata as profilers write it, with a secret as value, as key and deep inside.
fn with_secrets() -> String {
    let metadata = format!(
        r#""metadata": {{"environment": {{"API_TOKEN": "{SECRET}", "{SECRET}": [{{"a": "{SECRET}"}}]}}}}"#
    );
    let trace = trace(&one_operator());
    let body = trace.trim_start_matches('{').trim_end().trim_end_matches('}');
    format!("{{{metadata}, {body}, \"host\": \"{SECRET}\", \"{SECRET}\": 1}}")
}

#[track_caller]
fn tells_nothing(outcome: &Outcome) {
    assert!(!outcome.out.contains(SECRET), "{outcome:#?}");
    assert!(!outcome.err.contains(SECRET), "{outcome:#?}");
}

fn holds_secret(bytes: &[u8]) -> bool {
    bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
}

#[test]
fn the_search_would_find_the_secret() {
    assert!(holds_secret(with_secrets().as_bytes()));
    assert_eq!(with_secrets().matches(SECRET).count(), 5);
}

#[test]
fn metadata_is_in_no_output() {
    let place = Workplace::with(with_secrets());
    let everything = [
        "report",
        "trace.json",
        "--output_xlsx_path=report.xlsx",
        "--output_csvs_dir=sheets",
        "--output_json_path=report.json",
        "--enable_kernel_summary",
        "--short_kernel_study",
        "--include_call_stack",
        "--include_overlap_info",
    ];
    let outcome = place.run(&everything).exits_with(0).with_summary(&["aten::mm"]);
    tells_nothing(&outcome);
    tells_nothing(&place.run(&[&everything[..], &["--json"]].concat()).exits_with(0));

    assert!(!holds_secret(&place.bytes("report.json")));
    let sheets = place.files("sheets");
    assert!(sheets.len() > 4, "{sheets:?}");
    for sheet in sheets {
        assert!(!holds_secret(&place.bytes(&format!("sheets/{sheet}"))), "{sheet}");
    }
    let mut workbook = zip::ZipArchive::new(std::io::Cursor::new(place.bytes("report.xlsx"))).unwrap();
    assert!(workbook.len() > 4);
    for index in 0..workbook.len() {
        let mut part = workbook.by_index(index).unwrap();
        let mut content = Vec::new();
        part.read_to_end(&mut content).unwrap();
        assert!(!holds_secret(&content), "{}", part.name().unwrap());
    }
}

#[test]
fn metadata_is_in_no_tree() {
    let place = Workplace::with(with_secrets());
    tells_nothing(&place.run("tree trace.json --all").exits_with(0));
}

#[test]
fn metadata_is_in_no_message_wherever_the_file_ends() {
    let content = with_secrets();
    for cut in (1..content.len()).step_by(5) {
        let outcome = Workplace::with(&content[..cut]).run("report trace.json");
        tells_nothing(&outcome);
        assert!([0, 2].contains(&outcome.code), "{outcome:#?}");
    }
}

#[test]
fn metadata_is_in_no_message_when_it_is_malformed() {
    for broken in [
        format!(r#"{{"metadata": {{"token": {SECRET}}}, "traceEvents": []}}"#),
        format!(r#"{{"metadata": "{SECRET}"#),
        format!(r#"{{"{SECRET}"}}"#),
        format!(r#"{{"traceEvents": "{SECRET}"}}"#),
        format!(r#"{{"deviceProperties": "{SECRET}", "distributedInfo": ["{SECRET}"], "traceEvents": []}}"#),
        SECRET.to_string(),
    ] {
        let place = Workplace::with(&broken);
        tells_nothing(&place.run("report trace.json").exits_with(2));
        tells_nothing(&place.run("tree trace.json --all"));
    }
}
