//! From a path to what a profiler recorded there: the formats, which of them a text belongs to, and reading it.

use std::io::{Cursor, Read};
use std::path::Path;

use crate::error::IngestError;
use crate::facts::RecordingKind;
use crate::foreign::{Foreign, foreign};
use crate::format::{Certainty, Format, describe};
use crate::recording::Recording;
use crate::source::{self, MemoryFile, ReadOptions, TextSource, is_archive, read_head, unpack};
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
pub(crate) fn detect<'f>(
    kinds: &[RecordingKind],
    path: &Path,
    head: &[u8],
    options: &ReadOptions<'f>,
) -> Result<&'f Format, IngestError> {
    #[cfg(all(feature = "nsys", feature = "rocprof"))]
    if crate::sqlite::is_database(head) {
        let format = database_format(kinds, path, options)?;
        return if kinds.contains(&format.kind) {
            Ok(format)
        } else {
            Err(other_kind(path, format.kind, kinds))
        };
    }
    let formats = FORMATS.iter().chain(options.formats);
    let mut claims: Vec<_> = formats.map(|format| ((format.probe)(head), *format)).collect();
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
fn database_format(
    kinds: &[RecordingKind],
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<&'static Format, IngestError> {
    use crate::sqlite::Entries;

    let database = crate::sqlite::open(path, options)?;
    let entries = Entries::read(&database).map_err(|broken| broken.in_file(path))?;
    let is_nsys = crate::nsys::is_export(&database, &entries).map_err(|broken| broken.in_file(path))?;
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
fn expected(kinds: &[RecordingKind]) -> String {
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
pub fn check_kind(
    path: &Path,
    kinds: &[RecordingKind],
    options: &ReadOptions<'_>,
) -> Result<(), IngestError> {
    match recognise(path, options)? {
        kind if kinds.contains(&kind) => Ok(()),
        kind => Err(other_kind(path, kind, kinds)),
    }
}

/// Reads a recording of any known kind, recognised by content: a file, plain or compressed (gzip, zstd, zip), or a
/// directory of rocprofv3's CSV files.
///
/// # Errors
/// When the path cannot be read, contains no known recording, or one that is damaged beyond use. Everything less is a
/// warning of what was read.
pub fn open(path: &Path, options: &ReadOptions<'_>) -> Result<Recording, IngestError> {
    open_one_of(RecordingKind::ALL, path, options)
}

/// [`open`], of a file that is in memory. `name` stands for it in messages.
///
/// # Errors
/// Those of [`open`].
pub fn open_bytes(name: &Path, bytes: &[u8], options: &ReadOptions<'_>) -> Result<Recording, IngestError> {
    open(name, &ReadOptions { in_memory: Some(MemoryFile { path: name, content: &bytes }), ..*options })
}

/// [`open`], of a file that comes as a stream, such as a download. `name` stands for it in messages. Text is parsed as it
/// comes; zip archives and databases, whose content stands at any place of the file, are taken into memory first.
///
/// # Errors
/// Those of [`open`].
pub fn open_stream(
    name: &Path,
    mut stream: impl Read + Send,
    options: &ReadOptions<'_>,
) -> Result<Recording, IngestError> {
    let (mut head, outcome) = read_head(&mut stream);
    let failed = |source| IngestError::Io { path: name.to_path_buf(), source };
    outcome.map_err(failed)?;
    if is_archive(&head) || is_database(&head) {
        stream.read_to_end(&mut head).map_err(failed)?;
        return open_bytes(name, &head, options);
    }
    let outcome = unpack(name, Cursor::new(head).chain(stream), 0, options)
        .and_then(|source| read_source(RecordingKind::ALL, name, source, options));
    unless_stopped(name, options, outcome)
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
pub fn recognise(path: &Path, options: &ReadOptions<'_>) -> Result<RecordingKind, IngestError> {
    let options = ReadOptions { progress: None, ..*options };
    #[cfg(feature = "rocprof")]
    if options.memory(path).is_none() && crate::rocprof::is_directory_of_traces(path) {
        return Ok(RecordingKind::Rocprof);
    }
    let found = source::open(path, &options)
        .and_then(|source| detect(RecordingKind::ALL, path, &source.head, &options))
        .map(|format| format.kind);
    unless_stopped(path, &options, found)
}

/// Reads a recording of one of these kinds; one of another kind is refused before it is read.
pub(crate) fn open_one_of(
    kinds: &[RecordingKind],
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Recording, IngestError> {
    unless_stopped(path, options, read_one_of(kinds, path, options))
}

fn unless_stopped<T>(
    path: &Path,
    options: &ReadOptions<'_>,
    outcome: Result<T, IngestError>,
) -> Result<T, IngestError> {
    // To a reader that was stopped, the file ended there.
    if options.is_stopped() { Err(IngestError::Stopped { path: path.to_path_buf() }) } else { outcome }
}

fn read_one_of(
    kinds: &[RecordingKind],
    path: &Path,
    options: &ReadOptions<'_>,
) -> Result<Recording, IngestError> {
    #[cfg(feature = "rocprof")]
    if kinds.contains(&RecordingKind::Rocprof)
        && options.memory(path).is_none()
        && crate::rocprof::is_directory_of_traces(path)
    {
        return crate::rocprof::read_directory(path).map(Recording::from);
    }
    read_source(kinds, path, source::open(path, options)?, options)
}

fn read_source<'a>(
    kinds: &[RecordingKind],
    path: &Path,
    source: TextSource<'a>,
    options: &ReadOptions<'a>,
) -> Result<Recording, IngestError> {
    let format = detect(kinds, path, &source.head, options)?;
    let expansion = source.expansion.clone();
    let mut recording = expansion.end(path, (format.read)(path, source, options))?;
    #[allow(irrefutable_let_patterns)] // there may be no other kind, with few features
    if let Recording::Trace(trace) = &mut recording {
        trace.shorten_names_of_tracks();
    }
    Ok(recording)
}

/// Whether a file that begins so is an SQLite database.
fn is_database(head: &[u8]) -> bool {
    head.starts_with(b"SQLite format 3\0")
}
