//! Codes and severities of all that is said, as programs rely on them.

use std::fs::{read_dir, read_to_string};
use std::path::Path;

use multi_rank::Error as JobError;
use trace_ingest::{IngestError, RecordFault, Warning};

use crate::envelope::{AnswerWarning, Problem};
use crate::{Error, Notice};

/// The text of all source files below a folder.
fn sources(folder: &Path, text: &mut String) {
    for entry in read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            *text += &read_to_string(path).unwrap();
        }
    }
}

/// The text between two others, of which the second follows the first; `None` where either is not there.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(between, _)| between)
}

/// Crate, code and severity of every diagnostic, as its attribute states them.
fn stated() -> Vec<String> {
    let mut stated = Vec::new();
    for folder in read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap() {
        let folder = folder.unwrap();
        let mut text = String::new();
        if folder.path().join("src").is_dir() {
            sources(&folder.path().join("src"), &mut text);
        }
        let messages = text.split("#[error(\"").skip(1).filter_map(|rest| rest.split_once("\")]"));
        for (message, _) in messages {
            assert!(!message.ends_with('.'), "{message}");
        }
        for attribute in text.split("#[diagnostic(").skip(1) {
            let (attribute, _) = attribute.split_once(")]").unwrap();
            let Some(code) = between(attribute, "code(\"", "\")") else { continue };
            let severity = between(attribute, "severity(", ")").unwrap_or("Error");
            stated.push(format!("{} {code} {severity}\n", folder.file_name().display()));
            assert_ne!(between(attribute, "help(\"", "\")"), Some(""), "{code}");
        }
    }
    stated.sort();
    stated.dedup();
    stated
}

#[test]
fn codes_are_never_renamed() {
    let stated = stated();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/codes-1.txt");
    let kept = read_to_string(&path).unwrap();
    let lost: Vec<&str> =
        kept.split_inclusive('\n').filter(|kept| !stated.iter().any(|stated| stated == kept)).collect();
    assert!(lost.is_empty(), "codes that programs rely on are gone: {lost:?}");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, stated.concat()).unwrap();
    } else {
        let update = "UPDATE_SCHEMA=1 cargo test -p tracelens-answers diagnostic";
        assert_eq!(kept, stated.concat(), "new codes are kept: {update}");
    }
}

#[test]
fn what_is_wrapped_is_heard() {
    let notice =
        Notice::Reading(Warning::NotRecorded { what: "GPU activity", advice: "record with --trace=cuda" });
    let notice = Notice::OfFile { path: "a; b".into(), notice: Box::new(notice) };
    let warning = AnswerWarning::from(&notice);
    assert_eq!(warning.message, "a; b: the recording lacks GPU activity");
    assert_eq!(
        (warning.code.as_str(), warning.action.as_deref()),
        ("reading/not-recorded", Some("record with --trace=cuda"))
    );
    let lost = Notice::Reading(Warning::Records { fault: RecordFault::LostPacket, count: 2 });
    assert_eq!(AnswerWarning::from(&lost).action.as_deref(), Some("record with a larger buffer"));
    let empty = IngestError::Empty { path: "trace.json".into() };
    let problem = Problem::new(&Error::Job(JobError::Ingest(empty)));
    assert_eq!(
        (problem.code.as_str(), problem.action.as_deref()),
        ("job/ingest/empty", Some("record it again"))
    );
}
