//! The known file formats, recognised by content.

use std::path::Path;

use crate::error::IngestError;
use crate::recording::{Recording, RecordingKind};
use crate::source::TextSource;

/// How sure a format is that a text is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

#[cfg(any(feature = "metal", feature = "rocprof"))]
impl Certainty {
    /// Of a format that tells its own texts for sure.
    pub(crate) fn certain_if(is_own: bool) -> Self {
        if is_own { Certainty::Certain } else { Certainty::No }
    }
}

/// How far reading has come, in bytes of the file (compressed, if it is).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read.
    pub bytes: u64,
    /// Size of the file.
    pub total: u64,
}

/// How to read a trace. The defaults suit every use.
#[derive(Clone, Copy, Default)]
pub struct ReadOptions<'a> {
    /// Threads that parse; `None` takes as many as the machine has. The result is the same for any number.
    pub threads: Option<usize>,
    /// Called every now and then from a thread that reads.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Leave out Python frames, often most events of a trace with stacks: in Kineto JSON complete events of
    /// category `python_function`, where the phase stands before the category, as profilers write it. They keep their
    /// place in the numbering of entries, see [`Trace::skipped_frames`].
    pub skip_python_frames: bool,
}

impl ReadOptions<'_> {
    /// Number of threads to parse with, at least one.
    pub fn thread_count(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(available).max(1)
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

/// All formats that this build reads.
const FORMATS: &[&Format] = &[
    #[cfg(feature = "kineto")]
    &crate::kineto::FORMAT,
    #[cfg(feature = "xplane")]
    &crate::xplane::FORMAT,
    #[cfg(feature = "rocprof")]
    &crate::rocprof::JSON,
    #[cfg(feature = "rocprof")]
    &crate::rocprof::CHROME_JSON,
    #[cfg(feature = "rocprof")]
    &crate::rocprof::PERFETTO,
    #[cfg(feature = "rocprof")]
    &crate::rocprof::ROCPD,
    #[cfg(feature = "rocprof")]
    &crate::rocprof::CSV,
    #[cfg(feature = "metal")]
    &crate::metal::FORMAT,
];

/// The format that a text belongs to, among those of these kinds.
///
/// # Errors
/// When none claims it, two do with the same certainty, or it is of another kind.
pub(crate) fn detect(
    kinds: &[RecordingKind],
    path: &Path,
    head: &[u8],
) -> Result<&'static Format, IngestError> {
    let mut claims: Vec<_> = FORMATS.iter().map(|format| ((format.probe)(head), *format)).collect();
    claims.retain(|(certainty, _)| *certainty > Certainty::No);
    claims.sort_by_key(|(certainty, _)| std::cmp::Reverse(*certainty));
    match claims[..] {
        [(first, one), (second, other), ..] if first == second => Err(IngestError::AmbiguousFormat {
            path: path.to_path_buf(),
            first: one.name,
            second: other.name,
        }),
        [(_, format), ..] if kinds.contains(&format.kind) => Ok(format),
        [(Certainty::Likely | Certainty::Certain, format), ..] => {
            Err(IngestError::other_kind(path, format.kind, kinds))
        }
        _ => Err(IngestError::UnknownFormat {
            path: path.to_path_buf(),
            found: describe(head).to_string(),
            expected: expected(kinds),
        }),
    }
}

/// The kinds that were asked for and that this build reads, with what their files are.
pub(crate) fn expected(kinds: &[RecordingKind]) -> String {
    let is_read = |kind: &&RecordingKind| FORMATS.iter().any(|format| format.kind == **kind);
    let described = kinds.iter().filter(is_read).map(|kind| format!("{kind} ({})", kind.files()));
    described.collect::<Vec<_>>().join(" or ")
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
