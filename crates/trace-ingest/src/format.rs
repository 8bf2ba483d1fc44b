//! What a file format is, and what a text looks like that has none.

use std::path::Path;

use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::recording::Recording;
use crate::source::{ReadOptions, TextSource};

/// How sure a format is that a text is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It is not.
    No,
    /// Nothing speaks against it.
    Possible,
    /// It has features of the format.
    Likely,
    /// It has what only this format has.
    Certain,
}

impl Certainty {
    /// Of a format that tells its own texts for sure.
    pub fn certain_if(is_own: bool) -> Self {
        if is_own { Certainty::Certain } else { Certainty::No }
    }
}

// Circle: the options of reading may name formats, and a format reads with such options.

/// A file format: recognises its texts and reads them. One kind of recording may have several.
///
/// A format of your own is read by every function of this crate that is given it:
///
/// ```
/// use std::io::Read;
/// use std::path::Path;
///
/// use trace_ingest::{
///     Category, Certainty, EventArguments, Format, IngestError, ReadOptions, Recording, RecordingKind, TextSource,
///     TraceBuilder, open_bytes,
/// };
///
/// /// Lines `kernel NAME START LENGTH`, in nanoseconds.
/// const LINES: Format = Format {
///     name: "list of kernels",
///     kind: RecordingKind::Trace,
///     probe: |head| Certainty::certain_if(head.starts_with(b"kernel ")),
///     read,
/// };
///
/// fn read(path: &Path, mut source: TextSource<'_>, _: &ReadOptions<'_>) -> Result<Recording, IngestError> {
///     let mut text = String::new();
///     source.read_to_string(&mut text).map_err(|source| IngestError::Io { path: path.to_path_buf(), source })?;
///     let mut builder = TraceBuilder::new();
///     let stream = builder.track(0, 7);
///     for line in text.lines() {
///         let mut words = line.split(' ').skip(1);
///         let name = words.next().unwrap_or_default();
///         let mut time = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
///         builder.event(Category::KERNEL, name, stream, time(), time(), EventArguments::default());
///     }
///     Ok(Recording::Trace(Box::new(builder.finish())))
/// }
///
/// let options = ReadOptions { formats: &[&LINES], ..ReadOptions::default() };
/// let recording = open_bytes(Path::new("run.txt"), b"kernel gemm 100 77\nkernel relu 200 5\n", &options)?;
/// assert_eq!(recording.into_trace().map(|trace| trace.events().len()), Some(2));
/// # Ok::<(), IngestError>(())
/// ```
pub struct Format {
    /// What users call it.
    pub name: &'static str,
    /// What its files hold.
    pub kind: RecordingKind,
    /// How sure it is that a text that begins with `head` (up to 64 KiB, decompressed) is its own.
    pub probe: fn(head: &[u8]) -> Certainty,
    /// Reads a text. The path is for error messages, and for formats that are not read as a stream. A text that turns
    /// out not to be of the format is an error, recoverable faults are warnings of the recording.
    pub read: fn(&Path, TextSource<'_>, &ReadOptions<'_>) -> Result<Recording, IngestError>,
}

/// What [`describe`] calls a text that has no signature.
pub(crate) const UNKNOWN_TEXT: &str = "text in an unknown format";

/// What a text that no format claims looks like. Never its content: that may be anything.
pub(crate) fn describe(head: &[u8]) -> &'static str {
    const SIGNATURES: &[(&[u8], &str)] = &[
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF", "a PDF document"),
        (b"\x7fELF", "an ELF binary"),
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
        Err(_) => "binary data in an unknown format",
    }
}
