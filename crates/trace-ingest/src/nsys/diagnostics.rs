//! What the recorder says of its recording.

use std::borrow::Cow;

use super::tables::{DIAGNOSTICS, Tables};
use crate::sqlite::Broken;
use crate::warning::Warning;

/// Messages that are told.
const MOST: usize = 10;
/// Letters of a message that are told.
const LONGEST: usize = 400;
/// Severities of what went wrong.
const WARNING_AND_ERROR: [i64; 2] = [2, 3];
/// Said as information, though it means that times are those of a trace in software.
const SOFTWARE_TRACE: &str = "CUDA hardware tracing is not supported";

/// The recorder's warnings and errors, in their order, each once. The warnings given get the rows that cannot be read.
pub(super) fn read(tables: &Tables<'_>, warnings: &mut Vec<Warning>) -> Result<Vec<Warning>, Broken> {
    let mut messages: Vec<String> = Vec::new();
    let mut more = 0;
    let refused = tables.rows(DIAGNOSTICS, &[], &["severity", "text"], |row| {
        let severity = row.integer(0)?.unwrap_or(0);
        let text = String::from_utf8_lossy(row.text(1).unwrap_or_default());
        if !WARNING_AND_ERROR.contains(&severity) && !text.contains(SOFTWARE_TRACE) {
            return Ok(());
        }
        let text = shown(&text);
        if messages.contains(&text) {
            return Ok(());
        }
        if messages.len() < MOST {
            messages.push(text);
        } else {
            more += 1;
        }
        Ok(())
    })?;
    warnings.extend(refused);
    let mut told: Vec<Warning> = messages.into_iter().map(|text| Warning::RecorderMessage { text }).collect();
    if more > 0 {
        told.push(Warning::RecorderMessage { text: format!("{more} more messages") });
    }
    Ok(told)
}

/// A message without control characters, and without the folders of files: these name people and machines.
fn shown(text: &str) -> String {
    let word = |word: &str| -> Cow<'_, str> {
        let is_path = word.contains(['/', '\\']) && !word.contains("://");
        let last = word.rsplit(['/', '\\']).find(|part| !part.is_empty());
        match last {
            Some(name) if is_path => name.to_string().into(),
            _ => word.chars().filter(|letter| !letter.is_control()).collect::<String>().into(),
        }
    };
    let words: Vec<_> = text.split_whitespace().map(word).collect();
    words.join(" ").chars().filter(|letter| !letter.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_no_folders() {
        for (text, expected) in [
            ("cannot open /home/jane/x.log:\n no", "cannot open x.log: no"),
            ("C:\\Users\\jane\\x.dll is missing", "x.dll is missing"),
            ("see https://example.org/a", "see https://example.org/a"),
            ("a\u{1b}[31mred\u{7} b", "a[31mred b"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }
}
