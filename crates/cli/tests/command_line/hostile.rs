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
    let mut zip = zip::ZipWriter::new(std::fs::File::create(place.path("trace.zip")).unwrap());
    zip.start_file("../../escaped/trace.json", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(trace(&one_operator()).as_bytes()).unwrap();
    zip.finish().unwrap();
    place.run(&["report", "trace.zip", "--output_csvs_dir", "out"]).exits_with(0);
    assert_eq!(place.files("."), ["out", "trace.json", "trace.zip"]);
    assert!(!place.path("../../escaped").exists());
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
