//! Going through the entries of a file as they stand there.

use std::ops::ControlFlow;
use std::path::PathBuf;

use trace_ingest::{EntryVisitor, IngestError, RawEntry, ReadOptions, read_path, visit_entries};

/// Keeps everything, and breaks off after so many entries.
#[derive(Default)]
struct Kept {
    facts: Vec<(&'static str, String)>,
    entries: Vec<(u32, String, Option<String>)>,
    most: Option<usize>,
}

impl EntryVisitor for Kept {
    fn fact(&mut self, key: &'static str, value: &[u8]) -> ControlFlow<()> {
        self.facts.push((key, String::from_utf8(value.to_vec()).unwrap()));
        ControlFlow::Continue(())
    }

    fn entry(&mut self, entry: RawEntry<'_>) -> ControlFlow<()> {
        let text = String::from_utf8_lossy(entry.text).into_owned();
        let valid = entry.valid_json().map(|json| String::from_utf8(json.into_owned()).unwrap());
        self.entries.push((entry.uid, text, valid));
        if self.most == Some(self.entries.len()) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.json");
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

#[test]
fn entries_are_the_events_that_reading_finds() {
    let text = r#"{"schemaVersion": 1, "environment": {"TOKEN": "hunter2"}, "traceName": {"a": "hunter2"}, "traceEvents": [
        {"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}},
        {"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":10.5,"dur":2}, {"ph": "X" "broken"},
        {"ph":"s","cat":"ac2g","id":7,"pid":1,"tid":"main","ts":11},
        {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":12,"dur":NaN}
    ], "displayTimeUnit": "ms"}"#;
    let (_directory, path) = written(text);
    let mut kept = Kept::default();
    assert_eq!(visit_entries(&path, &ReadOptions::default(), &mut kept).unwrap(), 5);
    assert_eq!(kept.facts, [("schemaVersion", "1".to_string()), ("displayTimeUnit", "\"ms\"".to_string())]);

    let trace = read_path(&path, &ReadOptions::default()).unwrap();
    assert_eq!(trace.entries(), 5);
    let uids: Vec<u32> = kept.entries.iter().map(|(uid, ..)| *uid).collect();
    assert_eq!(uids, [0, 1, 3, 4]);
    for (uid, entry, _) in &kept.entries {
        assert!(text.contains(entry) && entry.starts_with('{') && entry.ends_with('}'), "{entry}");
        if let Some(event) = trace.events().find_uid(*uid) {
            assert!(entry.contains(&format!("\"name\":\"{}\"", trace.name(event))), "{entry}");
        }
    }
    assert_eq!(kept.entries[1].2.as_deref(), Some(&kept.entries[1].1[..]));
    assert!(kept.entries[3].2.as_deref().unwrap().contains("\"dur\":null"));
}

#[test]
fn what_an_entry_says_of_itself() {
    struct Told(Vec<String>, trace_ingest::Trace);
    impl EntryVisitor for Told {
        fn fact(&mut self, _: &'static str, _: &[u8]) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }
        fn entry(&mut self, entry: RawEntry<'_>) -> ControlFlow<()> {
            let track = entry.track(&self.1).map(|track| track.index());
            self.0.push(format!("{:?} {:?} {:?} {track:?}", entry.phase, entry.flow, entry.time));
            ControlFlow::Continue(())
        }
    }
    let (_directory, path) = written(
        r#"[{"ph":"X","name":"a","pid":1,"tid":"main","ts":10.5,"dur":2},
        {"ph":"f","cat":"ac2g","id":"7","pid":1,"tid":"main","ts":11},
        {"ph":"f","cat":"other","id":7,"pid":1,"tid":"elsewhere"},
        {"name":"b"}]"#,
    );
    let mut told = Told(Vec::new(), read_path(&path, &ReadOptions::default()).unwrap());
    visit_entries(&path, &ReadOptions::default(), &mut told).unwrap();
    let expected = [
        "Some(88) None Some(10500) Some(0)",
        "Some(102) Some((Launch, Finish, 7)) Some(11000) Some(0)",
        "Some(102) None None None",
        "None None None None",
    ];
    assert_eq!(told.0, expected);
}

#[test]
fn a_visitor_that_breaks_off_sees_no_more() {
    let event = r#"{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":2}"#;
    // More than a block of text.
    let (_directory, path) = written(&format!("[{}]", vec![event; 40_000].join(",\n")));
    let mut kept = Kept { most: Some(3), ..Kept::default() };
    assert_eq!(visit_entries(&path, &ReadOptions::default(), &mut kept).unwrap(), 3);
    assert_eq!(kept.entries.len(), 3);
    let mut kept = Kept::default();
    assert_eq!(visit_entries(&path, &ReadOptions::default(), &mut kept).unwrap(), 40_000);
    assert!(kept.entries.iter().zip(0..).all(|(entry, uid)| entry.0 == uid && entry.1 == event));
}

#[test]
fn what_is_no_trace_is_refused() {
    let (_directory, path) = written("{\"traceEvents\": 1}");
    let outcome = visit_entries(&path, &ReadOptions::default(), &mut Kept::default());
    assert!(matches!(outcome, Err(IngestError::NoEvents { .. })), "{outcome:?}");
}
