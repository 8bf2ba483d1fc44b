//! Traces and extensions made to do harm: they end in an error or a warning, and text from a trace stays text.

use std::io::Write;

use crate::program::{Sheets, Workplace};
use crate::trace::{kernel, launch, one_operator, operator_with, trace};

#[test]
fn a_member_of_an_archive_cannot_leave_the_output_folder() {
    let place = Workplace::with("");
    let absolute = place.path("absolute/trace.json").to_string_lossy().into_owned();
    for name in ["../../escaped/trace.json", "..\\..\\escaped\\trace.json", &absolute] {
        let mut zip = zip::ZipWriter::new(std::fs::File::create(place.path("trace.zip")).unwrap());
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(trace(&one_operator()).as_bytes()).unwrap();
        zip.finish().unwrap();
        place.run("report trace.zip --output_csvs_dir out").exits_with(0);
        assert_eq!(place.files("."), ["out", "trace.json", "trace.zip"], "{name}");
        assert!(!place.path("../../escaped").exists(), "{name}");
        assert_eq!(place.files("out").iter().filter(|file| !file.ends_with(".csv")).count(), 0, "{name}");
    }
}

#[test]
fn a_sheet_that_an_extension_names_cannot_leave_the_output_folder() {
    let place = Workplace::with(trace(&one_operator()));
    place.put("my.toml", "[operator.\"aten::mm\"]\nflops = 1\nbytes = 1\ncategory = \"../../escaped\"\n");
    place.run("report trace.json --extension_file my.toml --output_csvs_dir out").exits_with(0);
    assert_eq!(place.files("."), ["my.toml", "out", "trace.json"]);
    assert!(!place.path("../escaped_fwd.csv").exists());
    let files = place.files("out");
    assert!(files.iter().any(|file| file.ends_with("escaped_fwd.csv")), "{files:?}");
}

#[test]
fn names_that_look_like_formulas_stay_text() {
    let names = ["=1+1", "+A1", "-A1", "@SUM(A1)"];
    let mut events = Vec::new();
    for (position, name) in names.iter().enumerate() {
        let start = 100.0 * position as f64;
        events.push(operator_with(name, start, 50.0, r#""Input Dims": [[2, 2]], "Input type": ["float"]"#));
        events.push(launch(position as u32 + 1, start + 5.0));
        events.push(kernel("k", position as u32 + 1, start + 20.0, 10.0));
    }
    let place = Workplace::with(trace(&events));
    place.run("report trace.json --output_csvs_dir csvs").exits_with(0);
    let mut found = 0;
    for file in place.files("csvs") {
        let text = String::from_utf8(place.bytes(&format!("csvs/{file}"))).unwrap();
        for name in names {
            found += usize::from(text.lines().any(|line| line.starts_with(&format!("'{name},"))));
            assert!(!text.lines().any(|line| line.starts_with(&format!("{name},"))), "{file}: {text}");
            assert!(!text.contains(&format!(",{name},")), "{file}: {text}");
        }
    }
    assert!(found >= names.len(), "{found}");
}

/// Names of an operator and its kernel that would break lines, paint, and turn the order of what follows.
const OBEYED: [&str; 2] = ["aten::mm\nGPU 0 time 0.000 ms\u{2069}", "gemm\r\n\u{1b}[31mred\u{202e}\u{9b}0m"];

/// The same as they may be shown.
const SHOWN: [&str; 2] = [r"aten::mm\nGPU 0 time 0.000 ms\u{2069}", r"gemm\r\n\x1b[31mred\u{202e}\u{9b}0m"];

fn with_obeyed_names() -> Workplace {
    let json = |name: &str| serde_json::to_string(name).unwrap().trim_matches('"').to_owned();
    let [operator_name, kernel_name] = OBEYED.map(json);
    let attributes = r#""Input Dims": [[2, 2]], "Input type": ["float"]"#;
    Workplace::with(trace(&[
        operator_with(&operator_name, 0.0, 50.0, attributes),
        launch(1, 5.0),
        kernel(&kernel_name, 1, 20.0, 10.0),
    ]))
}

#[track_caller]
fn assert_shown(text: &str, names: &[&str]) {
    for name in names {
        assert!(text.contains(name), "no {name} in {text}");
    }
    for c in ['\u{1b}', '\r', '\u{202e}', '\u{2069}', '\u{9b}'] {
        assert!(!text.contains(c), "{c:?} in {text}");
    }
    assert!(!text.lines().any(|line| line.starts_with("GPU 0 time 0.000 ms")), "{text}");
}

#[test]
fn names_cannot_forge_what_the_terminal_shows() {
    let place = with_obeyed_names();
    let tree = place.run(&["tree", "trace.json", "--field", "Input Dims"]).exits_with(0).out;
    assert_shown(&tree, &SHOWN);
    assert_eq!(tree.lines().count(), 5, "{tree}");
    let callers = place.run("tree trace.json --uid 2 --parents").exits_with(0).out;
    assert_shown(&callers, &SHOWN);
    assert_eq!(callers.lines().count(), 6, "{callers}");
    let missing = place.run(&["tree", "trace.json", "--name", &format!("{}?", OBEYED[1])]);
    assert_shown(&missing.exits_with(2).err, &[]);
    let summary = place.run("report trace.json --enable_kernel_summary").exits_with(0).out;
    assert_shown(&summary, &[]);
    assert!(summary.contains(r"aten::mm\nGPU"), "{summary}");
}

#[test]
fn names_cannot_forge_rows_of_csv_files_and_stay_whole_in_json() {
    let place = with_obeyed_names();
    place.run("report trace.json --enable_kernel_summary --output_csvs_dir csvs").exits_with(0);
    let csvs = place.files("csvs").into_iter().map(|file| place.bytes(&format!("csvs/{file}")));
    let all: Vec<String> = csvs.map(|bytes| String::from_utf8(bytes).unwrap()).collect();
    assert_shown(&all.concat(), &SHOWN);
    let json = place.run("report trace.json --enable_kernel_summary --json").exits_with(0).out;
    assert_shown(&json, &[r"\u001b[31mred\u202e\u009b0m", r"ms\u2069"]);
    let sheets = Sheets::parse(&json);
    assert_eq!(sheets.column("ops_summary", "name"), [OBEYED[0]]);
}

#[test]
fn names_cannot_give_commands_to_who_runs_the_job() {
    let [command, marked] = ["::error file=a,line=1::pwn", "##[error]x"];
    let place = Workplace::with(trace(&[
        operator_with(command, 0.0, 50.0, r#""Input Dims": [[2, 2]], "Input type": ["float"]"#),
        launch(1, 5.0),
        kernel(marked, 1, 20.0, 10.0),
    ]));
    let report = ["report", "trace.json", "-v", "--enable_kernel_summary"];
    for arguments in [&report[..], &["tree", "trace.json"]] {
        let shown = place.run_in(&[("GITHUB_ACTIONS", "true")], arguments).exits_with(0).out;
        assert!(!shown.lines().any(|line| line.trim_start().starts_with("::")), "{shown}");
        assert!(!shown.contains("##[") && shown.contains(r"#\x23[error]x"), "{shown}");
    }
}

#[test]
fn names_of_files_and_operators_cannot_paint_either() {
    let place = with_obeyed_names();
    place.run("diff trace.json trace.json --merged_tree merged.txt").exits_with(0);
    assert_shown(&String::from_utf8(place.bytes("merged.txt")).unwrap(), &SHOWN);
    place.put("calls.jsonl", r#"{"name": "aten::mm\u202e\u001b", "args": {}}"#);
    let answers = place.run("model --jsonl calls.jsonl").exits_with(0).out;
    assert_shown(&answers, &[r"aten::mm\u202e\u001b"]);
    assert_eq!(answers.lines().count(), 1, "{answers}");
}

#[cfg(unix)]
#[test]
fn lines_without_an_end_and_devices_that_are_full_end_the_run() {
    let place = Workplace::with(trace(&one_operator()));
    let refused = place.run("model --jsonl /dev/zero").exits_with(2);
    assert!(refused.err.contains("line 1 has more than 64 MiB"), "{}", refused.err);
    if std::path::Path::new("/dev/full").exists() {
        std::os::unix::fs::symlink("/dev/full", place.path("full.json")).unwrap();
        let full = ["critical-path", "trace.json", "--force", "--overlay", "full.json"];
        place.run(&full).exits_with(1);
    }
    place.put("file", "");
    place.run("ranks collect trace.json --out file/tables").exits_with(1).with_error(&["cannot write"]);
}
