//! What a file format is, and what a text looks like that has none.

use std::path::Path;

use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::recording::Recording;
use crate::source::{ReadOptions, TextSource};

/// How sure a format is that a text is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
// Not every format is ever certain.
#[cfg_attr(not(all(feature = "kineto", any(feature = "metal", feature = "rocprof"))), allow(dead_code))]
pub(crate) enum Certainty {
    /// It is not.
    No,
    /// Nothing speaks against it.
    Possible,
    /// It has features of the format.
    Likely,
    /// It has what only this format has.
    Certain,
}

#[cfg(any(feature = "metal", feature = "nsys", feature = "kineto"))]
impl Certainty {
    /// Of a format that tells its own texts for sure.
    pub(crate) fn certain_if(is_own: bool) -> Self {
        if is_own { Certainty::Certain } else { Certainty::No }
    }
}

/// A file format: recognises its texts and reads them. One kind of recording may have several.
pub(crate) struct Format {
    /// What users call it.
    pub(crate) name: &'static str,
    /// What its files hold.
    pub(crate) kind: RecordingKind,
    /// How sure it is that a text that begins with `head` (up to 64 KiB, decompressed) is its own.
    pub(crate) probe: fn(head: &[u8]) -> Certainty,
    /// Reads a text. The path is for error messages, and for formats that are not read as a stream. A text that turns
    /// out not to be of the format is an error, recoverable faults are warnings of the recording.
    pub(crate) read: fn(&Path, TextSource<'_>, &ReadOptions<'_>) -> Result<Recording, IngestError>,
}

/// What [`describe`] calls a text that has no signature.
pub(crate) const UNKNOWN_TEXT: &str = "text of an unknown kind";

/// What a text that no format claims looks like. Never its content: that may be anything.
pub(crate) fn describe(head: &[u8]) -> &'static str {
    const SIGNATURES: &[(&[u8], &str)] = &[
        (b"\x89PNG", "a PNG picture"),
        (b"\xff\xd8\xff", "a JPEG picture"),
        (b"GIF8", "a GIF picture"),
        (b"%PDF", "a PDF document"),
        (b"\x7fELF", "an ELF program"),
        (b"SQLite format 3", "an SQLite database"),
        (b"\xfd7zXZ", "xz-compressed data"),
        (b"BZh", "bzip2-compressed data"),
        (b"7z\xbc\xaf", "a 7-Zip archive"),
        (b"PK\x03\x04", "a zip archive"),
        (b"PAR1", "a Parquet table"),
        (b"<!DOCTYPE", "an HTML page"),
        (b"<html", "an HTML page"),
    ];
    if let Some((_, name)) = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature)) {
        return name;
    }
    match std::str::from_utf8(&head[..head.len().min(512)]) {
        Ok(text) => match text.trim_start_matches('\u{feff}').trim_start().chars().next() {
            Some('{') => "a JSON object",
            Some('[') => "a JSON list",
            _ => UNKNOWN_TEXT,
        },
        Err(error) if error.valid_up_to() > 256 => UNKNOWN_TEXT,
        Err(_) => "binary data of an unknown kind",
    }
}
