//! From a path to what a profiler recorded there: the formats, which of them a text belongs to, and reading it.
//!
//! Readers with an entry point of their own, such as [`crate::visit_entries`], recognise their texts with [`detect`],
//! so this file and theirs use each other.

use std::path::Path;

use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::foreign::{Foreign, foreign};
use crate::format::{Certainty, Format, describe};
use crate::recording::Recording;
use crate::source::{self, ReadOptions};
use crate::trace::Trace;

/// All formats that this build reads.
const FORMATS: &[&Format] = &[
    #[cfg(feature = "kineto")]
    &crate::kineto::FORMAT,
    #[cfg(feature = "kineto")]
    &crate::kineto::PFTRACE,
    #[cfg(feature = "xplane")]
    &crate::xplane::FORMAT,
    #[cfg(feature = "nsys")]
    &crate::nsys::FORMAT,
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
/// When none claims it, two do with the same certainty, or it is of another kind or another tool.
pub(crate) fn detect(
    kinds: &[RecordingKind],
    path: &Path,
    head: &[u8],
) -> Result<&'static Format, IngestError> {
    #[cfg(all(feature = "nsys", feature = "rocprof"))]
    if crate::sqlite::is_database(head) {
        let format = database_format(kinds, path)?;
        return if kinds.contains(&format.kind) {
            Ok(format)
        } else {
            Err(other_kind(path, format.kind, kinds))
        };
    }
    let mut claims: Vec<_> = FORMATS.iter().map(|format| ((format.probe)(head), *format)).collect();
    claims.retain(|(certainty, _)| *certainty > Certainty::No);
    claims.sort_by_key(|(certainty, _)| std::cmp::Reverse(*certainty));
    let is_claimed = claims.first().is_some_and(|(certainty, _)| *certainty >= Certainty::Likely);
    if let (false, Some(Foreign { what, advice })) = (is_claimed, foreign(path, head)) {
        return Err(IngestError::Foreign { path: path.to_path_buf(), what, advice });
    }
    match claims[..] {
        [(first, one), (second, other), ..] if first == second => Err(IngestError::AmbiguousFormat {
            path: path.to_path_buf(),
            first: one.name,
            second: other.name,
        }),
        [(_, format), ..] if kinds.contains(&format.kind) => Ok(format),
        [(Certainty::Likely | Certainty::Certain, format), ..] => Err(other_kind(path, format.kind, kinds)),
        _ => Err(IngestError::UnknownFormat {
            path: path.to_path_buf(),
            found: describe(head).to_string(),
            expected: expected(kinds),
        }),
    }
}

/// The format of a database: all begin alike, and what they have stands anywhere in the file.
#[cfg(all(feature = "nsys", feature = "rocprof"))]
fn database_format(kinds: &[RecordingKind], path: &Path) -> Result<&'static Format, IngestError> {
    use crate::sqlite::Entries;

    let database = crate::sqlite::open(path)?;
    let entries = Entries::read(&database).map_err(|broken| broken.of_file(path))?;
    let is_nsys = crate::nsys::is_export(&database, &entries).map_err(|broken| broken.of_file(path))?;
    let (nsys, rocpd) = (&crate::nsys::FORMAT, &crate::rocprof::ROCPD);
    match (is_nsys, crate::rocprof::is_rocpd(&entries)) {
        (true, true) => Err(IngestError::AmbiguousFormat {
            path: path.to_path_buf(),
            first: nsys.name,
            second: rocpd.name,
        }),
        (true, false) => Ok(nsys),
        (false, true) => Ok(rocpd),
        // Its reader says what a profile has that the database lacks.
        (false, false) if kinds == [RecordingKind::Rocprof] => Ok(rocpd),
        (false, false) => match crate::foreign::database(&entries) {
            Some(Foreign { what, advice }) => {
                Err(IngestError::Foreign { path: path.to_path_buf(), what, advice })
            }
            None => Err(IngestError::UnknownFormat {
                path: path.to_path_buf(),
                found: entries.describe(),
                expected: expected(kinds),
            }),
        },
    }
}

/// The kinds that were asked for and that this build reads, with what their files are.
pub(crate) fn expected(kinds: &[RecordingKind]) -> String {
    let is_read = |kind: &&RecordingKind| FORMATS.iter().any(|format| format.kind == **kind);
    let described = kinds.iter().filter(is_read).map(|kind| format!("{kind} ({})", kind.files()));
    described.collect::<Vec<_>>().join(" or ")
}

/// The error of a recording that is of another kind than those that were asked for.
pub(crate) fn other_kind(path: &Path, found: RecordingKind, expected: &[RecordingKind]) -> IngestError {
    IngestError::OtherKind { path: path.to_path_buf(), found, expected: self::expected(expected) }
}

/// Checks that a recording is of one of these kinds, by its content.
///
/// # Errors
/// Those of [`recognise`], and [`IngestError::OtherKind`] for a recording of another kind.
pub fn check_kind(path: &Path, kinds: &[RecordingKind]) -> Result<(), IngestError> {
    match recognise(path)? {
        kind if kinds.contains(&kind) => Ok(()),
        kind => Err(other_kind(path, kind, kinds)),
    }
}

/// Reads a recording of any known kind, recognised by content: a file, plain or compressed (gzip, zstd, zip), a
/// directory of rocprofv3's CSV files, or standard input where the path is `-`.
///
/// # Errors
/// When the path cannot be read, contains no known recording, or one that is damaged beyond use. Everything less is a
/// warning of what was read.
pub fn open(path: &Path, options: &ReadOptions<'_>) -> Result<Recording, IngestError> {
    open_one_of(RecordingKind::ALL, path, options)
}

/// Reads a recording as a trace: what [`open`] reads, and [`Recording::into_trace`] converts.
///
/// # Errors
/// Those of [`open`], and [`IngestError::OtherKind`] for a recording that is no trace.
pub fn read_path(path: &Path, options: &ReadOptions<'_>) -> Result<Trace, IngestError> {
    let recording = open_one_of(RecordingKind::TRACES, path, options)?;
    let kind = recording.kind();
    recording.into_trace().ok_or_else(|| other_kind(path, kind, RecordingKind::TRACES))
}

/// The kind of recording that a file or directory holds, by its beginning alone.
///
/// # Errors
/// When the path cannot be read or contains no known recording.
pub fn recognise(path: &Path) -> Result<RecordingKind, IngestError> {
    #[cfg(feature = "rocprof")]
    if crate::rocprof::is_directory_of_traces(path) {
        return Ok(RecordingKind::Rocprof);
    }
    let source = source::open(path, &ReadOptions::default())?;
    detect(RecordingKind::ALL, path, &source.head).map(|format| format.kind)
}

/// Reads a recording of one of these kinds; one of another kind is refused before it is read.
pub(crate) fn open_one_of(
    kinds: &[RecordingKind],
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Recording, IngestError> {
    let outcome = read_one_of(kinds, path, options);
    // To a reader that was stopped, the file ended there.
    if options.is_stopped() { Err(IngestError::Stopped { path: path.to_path_buf() }) } else { outcome }
}

fn read_one_of(
    kinds: &[RecordingKind],
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Recording, IngestError> {
    #[cfg(feature = "rocprof")]
    if kinds.contains(&RecordingKind::Rocprof) && crate::rocprof::is_directory_of_traces(path) {
        return crate::rocprof::read_directory(path).map(Recording::from);
    }
    let source = source::open(path, options)?;
    let format = detect(kinds, path, &source.head)?;
    let expansion = source.expansion.clone();
    expansion.end(path, (format.read)(path, source, options))
}
