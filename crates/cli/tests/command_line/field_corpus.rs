//! Recordings of strangers that were once answered wrongly: what the program says of them, and what it must not say.

use std::path::Path;

use crate::program::Workplace;

/// A line each: the folder of the case, the command with its files, texts that stand in the answer, and behind `!` those that
/// do not, with `;` between them. The first page is one line in which each blank is one.
const CASES: &str = include_str!("field_corpus.txt");

#[test]
fn claims_are_shown_by_the_recording() {
    for line in CASES.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let [case, command, texts] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        let Some(folder) = testdata::corpus(&format!("field/{case}")) else { return };
        let place = Workplace::with("[]");
        for file in testdata::entries(&folder) {
            if file.is_file() {
                place.put(name(&file), std::fs::read(&file).unwrap());
            }
        }
        let outcome = place.run(command);
        assert!(!outcome.err.contains("panicked") && outcome.code != 2, "{outcome:#?}");
        let said = outcome.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let (present, absent) = texts.split_once('!').unwrap_or((texts, ""));
        for text in present.split(';').map(str::trim).filter(|text| !text.is_empty()) {
            assert!(said.contains(text), "{case}: {command}: no {text:?} in {said}");
        }
        for text in absent.split(';').map(str::trim).filter(|text| !text.is_empty()) {
            assert!(!said.contains(text), "{case}: {command}: {text:?} in {said}");
        }
    }
}

fn name(file: &Path) -> &str {
    file.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
