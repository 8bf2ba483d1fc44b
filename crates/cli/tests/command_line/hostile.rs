//! Traces and scripts made to do harm: they end in an error or a warning, and text from a trace stays text.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::program::Workplace;
use crate::trace::{kernel, launch, one_operator, operator_with, trace};

/// Longest that a refusal may take on a busy machine.
const SOON: Duration = Duration::from_secs(100);

#[test]
fn a_script_that_loops_while_it_is_loaded_is_one_error() {
    let place = Workplace::with(trace(&one_operator()));
    place.put("my.star", "def f():\n    for i in range(1000000000):\n        pass\nf()\n");
    let begun = Instant::now();
    let outcome = place.run(&["report", "trace.json", "--extension_file", "my.star"]).exits_with(2);
    outcome.with_error(&["my.star", "calls and passes of loops without an end"]);
    assert!(begun.elapsed() < SOON);
    assert_eq!(place.files("."), ["my.star", "trace.json"]);
}

#[test]
fn a_member_of_an_archive_cannot_leave_the_output_folder() {
    let place = Workplace::with("");
    let absolute = place.path("absolute/trace.json").to_string_lossy().into_owned();
    for name in ["../../escaped/trace.json", "..\\..\\escaped\\trace.json", &absolute] {
        let mut zip = zip::ZipWriter::new(std::fs::File::create(place.path("trace.zip")).unwrap());
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(trace(&one_operator()).as_bytes()).unwrap();
        zip.finish().unwrap();
        place.run(&["report", "trace.zip", "--output_csvs_dir", "out"]).exits_with(0);
        assert_eq!(place.files("."), ["out", "trace.json", "trace.zip"], "{name}");
        assert!(!place.path("../../escaped").exists(), "{name}");
        assert_eq!(place.files("out").iter().filter(|file| !file.ends_with(".csv")).count(), 0, "{name}");
    }
}

#[test]
fn a_sheet_that_a_script_names_cannot_leave_the_output_folder() {
    let place = Workplace::with(trace(&one_operator()));
    place.put(
        "my.star",
        "def model(event):\n    return work(flops = 1, bytes = 1, category = \"../../escaped\")\n\
         perf_model_extension = {\"aten::mm\": model}\n",
    );
    place
        .run(&["report", "trace.json", "--extension_file", "my.star", "--output_csvs_dir", "out"])
        .exits_with(0);
    assert_eq!(place.files("."), ["my.star", "out", "trace.json"]);
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
    place.run(&["report", "trace.json", "--output_csvs_dir", "csvs"]).exits_with(0);
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
