//! The first row: names of the columns, and what a file without the right ones may be instead.

use std::path::Path;

use ::csv::{ByteRecord, ReaderBuilder};

use super::columns::Column;
use super::ops_table::CsvFormat;
use crate::error::IngestError;
use crate::format::{Certainty, describe, formats};

/// Columns that only this profiler's files have.
const TELLING: [&str; 8] = [
    "OP CODE",
    "OP TYPE",
    "GLOBAL CALL COUNT",
    "DEVICE FW START CYCLE",
    "DEVICE FW DURATION [ns]",
    "DEVICE KERNEL DURATION [ns]",
    "OP TO OP LATENCY [ns]",
    "HOST START TS",
];

/// How many of them make a file the profiler's, though others may have been renamed.
const ENOUGH: usize = 2;

/// How much of a header a message shows, in characters.
const SHOWN: usize = 300;

/// Names of the columns of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) names: Vec<String>,
}

/// Whether a text begins with the header of an ops CSV.
pub fn is_ops_csv(head: &[u8]) -> bool {
    Header::at_start(head).is_some_and(|header| header.is_of_profiler())
}

impl Header {
    pub(super) fn of(record: &ByteRecord) -> Header {
        let name = |cell: &[u8]| String::from_utf8_lossy(cell).trim_matches(is_around_names).to_string();
        Header { names: record.iter().map(name).collect() }
    }

    /// The header that a text begins with, if its first row has several cells.
    fn at_start(head: &[u8]) -> Option<Header> {
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let start = text.iter().position(|byte| !matches!(byte, b'\r' | b'\n'))?;
        let line = text[start..].split(|&byte| byte == b'\n').next().filter(|line| line.contains(&b','))?;
        let mut reader = ReaderBuilder::new().has_headers(false).from_reader(line);
        let mut record = ByteRecord::new();
        reader.read_byte_record(&mut record).ok()?.then(|| Header::of(&record))
    }

    #[cfg(test)]
    pub(super) fn of_names(names: &[&str]) -> Header {
        Header { names: names.iter().map(ToString::to_string).collect() }
    }

    /// Position of a column; of equal names the first counts.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other == name)
    }

    fn is_of_profiler(&self) -> bool {
        TELLING.iter().filter(|name| self.position(name).is_some()).count() >= ENOUGH
    }

    /// Form of the header.
    pub(super) fn format(&self) -> CsvFormat {
        let of_device = ["DEVICE ARCH", "AVAILABLE WORKER CORE COUNT"];
        if of_device.iter().any(|name| self.position(name).is_some()) {
            CsvFormat::V2_1
        } else if self.names.iter().any(|name| name.contains("_PAD[LOGICAL]")) {
            CsvFormat::V2
        } else {
            CsvFormat::V1
        }
    }

    /// Ends reading when columns that no report can do without are missing. `head` is the beginning of the text.
    pub(super) fn require_columns(&self, path: &Path, head: &[u8]) -> Result<(), IngestError> {
        let required = &Column::ALL[..Column::REQUIRED];
        let missing: Vec<String> = required
            .iter()
            .filter(|(_, name)| self.position(name).is_none())
            .map(|(_, name)| self.named_with_look_alike(name))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        if !self.is_of_profiler() {
            let found = self.what_it_is(head);
            return Err(IngestError::NotOpsCsv { path: path.to_path_buf(), found });
        }
        let plural = if missing.len() == 1 { "column" } else { "columns" };
        Err(IngestError::MissingColumns {
            path: path.to_path_buf(),
            missing: format!("{plural} {}", missing.join(", ")),
            header: self.shown(),
        })
    }

    /// A name, and the column that probably is the same under another one.
    fn named_with_look_alike(&self, name: &str) -> String {
        let letters = |name: &str| -> String {
            name.chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|letter| letter.to_ascii_uppercase())
                .collect()
        };
        let wanted = letters(name);
        match self.names.iter().find(|other| letters(other) == wanted) {
            Some(other) => format!("{name:?} (there is {other:?})"),
            None => format!("{name:?}"),
        }
    }

    /// The names for a message, cut when they are many.
    fn shown(&self) -> String {
        let text = self.names.join(", ");
        match text.char_indices().nth(SHOWN) {
            Some((cut, _)) => format!("{}... ({} columns)", text[..cut].escape_debug(), self.names.len()),
            None => text.escape_debug().to_string(),
        }
    }

    fn what_it_is(&self, head: &[u8]) -> String {
        let claimed = formats().iter().find(|format| format.probe(head) >= Certainty::Likely);
        if let Some(format) = claimed {
            return format!("a trace of the format {}", format.name());
        }
        if self.position("OP Code").is_some() && self.position("Total %").is_some() {
            return "the CSV of a report, not the profiler's".to_string();
        }
        if let [only] = &self.names[..]
            && let Some(separator) = [';', '\t'].into_iter().find(|&other| only.split(other).any(is_telling))
        {
            return format!("one with {separator:?} between the columns instead of a comma");
        }
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        if text.starts_with(b"{") || text.starts_with(b"[") {
            return "JSON".to_string();
        }
        match std::str::from_utf8(head) {
            Err(error) if error.valid_up_to() + 4 < head.len() => describe(head).to_string(),
            _ if head.contains(&0) => "binary data of an unknown kind".to_string(),
            _ if self.names.len() > 1 => format!("a table with the header {}", self.shown()),
            _ => "text without columns".to_string(),
        }
    }
}

fn is_telling(name: &str) -> bool {
    TELLING.contains(&name)
}

fn is_around_names(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{feff}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_apart_by_their_columns() {
        for (names, expected) in [
            (&["OP CODE", "INPUT_0_W"][..], CsvFormat::V1),
            (&["OP CODE", "INPUT_0_W_PAD[LOGICAL]"], CsvFormat::V2),
            (&["OP CODE", "INPUT_0_W", "DEVICE ARCH"], CsvFormat::V2_1),
            (&["AVAILABLE WORKER CORE COUNT", "INPUT_0_W_PAD[LOGICAL]"], CsvFormat::V2_1),
        ] {
            assert_eq!(Header::of_names(names).format(), expected, "{names:?}");
        }
    }

    #[test]
    fn files_of_the_profiler_are_recognised_by_their_header() {
        assert!(is_ops_csv(b"OP CODE,OP TYPE,X\r\n"));
        assert!(is_ops_csv(b"\xef\xbb\xbf\"OP CODE\",X,\"GLOBAL CALL COUNT\"\nMatmul,1,2\n"));
        assert!(is_ops_csv(b"\n\nOP TYPE,HOST START TS"));
        for other in [&b""[..], b"OP CODE\n", b"OP CODE,Y\n", b"{\"OP CODE\": 1, \"OP TYPE\": 2}", b",,,\n"] {
            assert!(!is_ops_csv(other), "{}", String::from_utf8_lossy(other));
        }
    }
}
