//! What ends reading.

use std::path::{Path, PathBuf};

use crate::facts::RecordingKind;

/// Why a file could not be read as a trace. Every message names the file, what was found, and what to do.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum IngestError {
    /// The file cannot be opened or read.
    #[error("{path}: cannot be read: {source}", path = .path.display())]
    #[diagnostic(code("ingest/io"), help("check the path and its permissions"))]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Reading was stopped by [`ReadOptions::stop`](crate::ReadOptions::stop).
    #[error("{path}: reading was stopped early", path = .path.display())]
    #[diagnostic(code("ingest/stopped"), help("run it again to read the file in full"))]
    Stopped {
        /// The file.
        path: PathBuf,
    },
    /// The path names a directory.
    #[error("{path}: is a directory", path = .path.display())]
    #[diagnostic(code("ingest/directory"), help("pass a recording inside it{recordings}", recordings = named(.recordings)))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Files in it, or below its `plugins/profile`, that are named as recordings are.
        recordings: Vec<PathBuf>,
    },
    /// The file (or the archive's content) is empty.
    #[error("{path}: is empty: the profiler probably stopped before it wrote anything", path = .path.display())]
    #[diagnostic(code("ingest/empty"), help("record it again"))]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// No reader knows the content.
    #[error("{path}: not recognized: found {found}, expected {expected}", path = .path.display())]
    #[diagnostic(
        code("ingest/unknown-format"),
        help("check the path, or export the recording in one of these formats")
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// What the first bytes look like.
        found: String,
        /// What can be read.
        expected: String,
    },
    /// The path names no file and looks like a pattern.
    #[error("{path}: no such file; it looks like a pattern that the shell did not expand", path = .path.display())]
    #[diagnostic(code("ingest/pattern"), help("remove the quotes, or pass a file"))]
    Pattern {
        /// The path.
        path: PathBuf,
    },
    /// A feature of this crate reads such content, and the build does without it.
    #[error("{path}: is {what}, which this build cannot read", path = .path.display())]
    #[diagnostic(
        code("ingest/not-compiled"),
        help("enable the feature `{feature}` of trace-ingest, or unpack the file")
    )]
    NotCompiled {
        /// The file.
        path: PathBuf,
        /// What the content is.
        what: &'static str,
        /// The feature.
        feature: &'static str,
    },
    /// The file is of a tool whose recordings are not read.
    #[error("{path}: is {what}", path = .path.display())]
    #[diagnostic(code("ingest/foreign"), help("{advice}"))]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What its owner can do.
        advice: &'static str,
    },
    /// The content is a recording, but not of the kind that was asked for.
    #[error("{path}: is {found}; expected {expected}", path = .path.display())]
    #[diagnostic(code("ingest/other-kind"))]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: RecordingKind,
        /// What was asked for.
        expected: String,
    },
    /// Two readers claim the content with the same certainty.
    #[error("{path}: could be {first} or {second}", path = .path.display())]
    #[diagnostic(
        code("ingest/ambiguous-format"),
        help("report this as a bug, including how it was recorded")
    )]
    AmbiguousFormat {
        /// The file.
        path: PathBuf,
        /// One candidate.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// The archive cannot be opened or contains no trace.
    #[error("{path}: {detail}", path = .path.display())]
    #[diagnostic(code("ingest/archive"), help("unpack it and pass the trace file"))]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// The content is of the right format but contains no event list.
    #[error("{path}: {detail} (at byte {offset} of the text); expected a Kineto trace, an object with a \"traceEvents\" list", path = .path.display())]
    #[diagnostic(code("ingest/no-events"), help("pass the file that the profiler exported"))]
    NoEvents {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        detail: String,
        /// Where reading stopped, in bytes of decompressed text.
        offset: u64,
    },
    /// A Perfetto trace that neither PyTorch's profiler nor `rocprofv3` recorded.
    #[error("{path}: is a Perfetto trace by another program, with slices of {found}; expected one by PyTorch's profiler or rocprofv3", path = .path.display())]
    #[diagnostic(code("ingest/other-perfetto"), help("view it at https://ui.perfetto.dev"))]
    OtherPerfetto {
        /// The file.
        path: PathBuf,
        /// Categories of its slices.
        found: String,
    },
    /// The file's entries cannot be copied one by one: it is no JSON.
    #[error("{path}: is a Perfetto trace; events can be copied from JSON traces only", path = .path.display())]
    #[diagnostic(code("ingest/no-entries"), help("export the recording to a .json file"))]
    NoEntries {
        /// The file.
        path: PathBuf,
    },
    /// The content is no profile of `rocprofv3`, or lacks what every such profile has.
    #[error("{path}: Not a valid rocprofv3 file: {missing}; found {found}, expected the output of rocprofv3: *_results.json, *_results.db, *_results.pftrace or a directory of *_trace.csv", path = .path.display())]
    #[diagnostic(code("ingest/not-rocprof"))]
    NotRocprof {
        /// The file.
        path: PathBuf,
        /// What it lacks, such as `missing 'rocprofiler-sdk-tool' key`.
        missing: String,
        /// What it looks like instead.
        found: String,
    },
    /// The recording has no event.
    #[error("{path}: nothing was recorded{faults}", path = .path.display(), faults = listed(.faults))]
    #[diagnostic(
        code("ingest/nothing-recorded"),
        help("check the recorder's options, and that the program ran to completion")
    )]
    NothingRecorded {
        /// The file.
        path: PathBuf,
        /// What else is wrong with it, as the warnings of a recording say it.
        faults: Vec<String>,
    },
    /// The content is no CSV of operations from tt-metal's profiler.
    #[error("{path}: is not a Tenstorrent ops CSV: found {found}", path = .path.display())]
    #[diagnostic(
        code("ingest/not-ops-csv"),
        help(
            "pass an ops_perf_results_*.csv, written by tt-metal's profiler below generated/profiler/reports"
        )
    )]
    NotOpsCsv {
        /// The file.
        path: PathBuf,
        /// What it looks like instead.
        found: String,
    },
    /// A CSV of operations lacks columns that no report can do without.
    #[error("{path}: lacks {missing}; its header is {header}", path = .path.display())]
    #[diagnostic(
        code("ingest/missing-columns"),
        help("give the columns the names that tt-metal's profiler writes, or record again")
    )]
    MissingColumns {
        /// The file.
        path: PathBuf,
        /// `column "OP CODE"` or `columns "OP CODE", "OP TYPE"`.
        missing: String,
        /// Names of the columns that it has, cut when they are many.
        header: String,
    },
    /// CSV files of operations that were named together are of runs on different numbers of devices.
    #[error("{path}: has {devices} {}, but {first} has {expected}", if *.devices == 1 { "device" } else { "devices" }, path = .path.display(), first = .first.display())]
    #[diagnostic(
        code("ingest/different-devices"),
        help("read hosts with different device counts separately")
    )]
    DifferentDevices {
        /// The file.
        path: PathBuf,
        /// How many devices it has: one more than its highest device number.
        devices: u32,
        /// The first file that has devices.
        first: PathBuf,
        /// How many that one has.
        expected: u32,
    },
    /// The content is of a binary format and breaks its rules.
    #[error("{path}: is a damaged {format} file: {field} at byte {offset}: {detail}", path = .path.display())]
    #[diagnostic(code("ingest/damaged"), help("copy or record it again"))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the file is.
        format: &'static str,
        /// Message and field that are broken.
        field: String,
        /// Where, in bytes of decompressed content.
        offset: u64,
        /// What was found.
        detail: String,
    },
    /// The content is an SQLite database that cannot be read.
    #[error("{path}: is a damaged database: reading {table}: {detail}", path = .path.display())]
    #[diagnostic(code("ingest/damaged-database"), help("copy or record it again"))]
    DamagedDatabase {
        /// The file.
        path: PathBuf,
        /// The table that was read.
        table: String,
        /// What SQLite said.
        detail: String,
    },
    /// Something in the content is larger than profilers make it; reading on could take all memory or time.
    #[error("{path}: {what} exceeds {limit}, more than any profiler writes", path = .path.display())]
    #[diagnostic(code("ingest/too-long"), help("copy or record it again"))]
    TooLong {
        /// The file.
        path: PathBuf,
        /// What is too large, such as `the header of the table`.
        what: &'static str,
        /// What it may have at most, such as `16384 columns`.
        limit: String,
    },
    /// More events than 32-bit ids can name.
    #[error("{path}: has more than {limit} events", path = .path.display())]
    #[diagnostic(code("ingest/too-many-events"), help("split the trace"))]
    TooManyEvents {
        /// The file.
        path: PathBuf,
        /// The largest number of events.
        limit: u32,
    },
}

impl IngestError {
    /// The file that it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            IngestError::Io { path, .. }
            | IngestError::Stopped { path, .. }
            | IngestError::Directory { path, .. }
            | IngestError::Empty { path, .. }
            | IngestError::UnknownFormat { path, .. }
            | IngestError::Pattern { path, .. }
            | IngestError::NotCompiled { path, .. }
            | IngestError::Foreign { path, .. }
            | IngestError::OtherKind { path, .. }
            | IngestError::AmbiguousFormat { path, .. }
            | IngestError::Archive { path, .. }
            | IngestError::NoEvents { path, .. }
            | IngestError::OtherPerfetto { path, .. }
            | IngestError::NoEntries { path, .. }
            | IngestError::NotRocprof { path, .. }
            | IngestError::NothingRecorded { path, .. }
            | IngestError::NotOpsCsv { path, .. }
            | IngestError::MissingColumns { path, .. }
            | IngestError::DifferentDevices { path, .. }
            | IngestError::Damaged { path, .. }
            | IngestError::DamagedDatabase { path, .. }
            | IngestError::TooLong { path, .. }
            | IngestError::TooManyEvents { path, .. } => path,
        }
    }
}

/// Faults in brackets.
fn listed(faults: &[String]) -> String {
    if faults.is_empty() { String::new() } else { format!(" ({})", faults.join("; ")) }
}

/// The recordings of a directory for its message, cut when they are many.
fn named(recordings: &[PathBuf]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<String> = recordings.iter().take(SHOWN).map(|path| path.display().to_string()).collect();
    match recordings.len() {
        0 => " (no file name matches a recording or *_kernel_trace.csv)".to_string(),
        count if count > SHOWN => format!(": {} ... ({count} in all)", shown.join(", ")),
        _ => format!(": {}", shown.join(", ")),
    }
}
