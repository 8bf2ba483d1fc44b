//! Recoverable faults of an input, counted.

use std::fmt;

/// A fault that reading got over. Each kind occurs once per trace with its count; none ends the run and
/// none is silent.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// The file ends in the middle; every complete event before was read.
    Truncated {
        /// Bytes after the last complete event (of decompressed text) that could not be used.
        bytes_lost: u64,
    },
    /// Decompression failed before the end; everything before was read.
    DamagedCompression {
        /// Decompressed bytes that were still read.
        bytes_read: u64,
        /// What the decompressor said.
        detail: String,
    },
    /// Entries of the event list that are not valid events were skipped.
    MalformedEvents {
        /// How many.
        count: u64,
        /// Offset of the first in the decompressed text, in bytes.
        first_offset: u64,
        /// What is wrong with the first.
        detail: &'static str,
        /// Text skipped over, in bytes.
        bytes_skipped: u64,
    },
    /// Spans or moments without a readable `ts` cannot be placed in time and were left out.
    WithoutTimestamp {
        /// How many.
        count: u64,
        /// Index of the first in the event list.
        first_uid: u32,
    },
    /// Spans without a readable `dur` were read as having no length.
    WithoutDuration {
        /// How many.
        count: u64,
        /// Index of the first in the event list.
        first_uid: u32,
    },
    /// Negative durations were read as zero.
    NegativeDuration {
        /// How many.
        count: u64,
        /// Index of the first in the event list.
        first_uid: u32,
    },
    /// Events without a name were kept under the empty name.
    WithoutName {
        /// How many.
        count: u64,
        /// Index of the first in the event list.
        first_uid: u32,
    },
    /// `B` events without an `E` were closed at the last time seen on their track.
    UnclosedBegin {
        /// How many.
        count: u64,
        /// Index of the first in the event list.
        first_uid: u32,
    },
    /// `E` events without a `B` were left out.
    UnopenedEnd {
        /// How many.
        count: u64,
        /// Index of the first in the event list.
        first_uid: u32,
    },
    /// Events of a kind that no analysis uses (counters, async spans, objects) were left out.
    UnusedPhase {
        /// The `ph` field; `None` when the event has none.
        phase: Option<char>,
        /// How many.
        count: u64,
    },
    /// Metadata events that name no process, or that are of an unknown kind, were left out.
    UnknownMetadata {
        /// How many.
        count: u64,
    },
    /// Texts held bytes that are not UTF-8; these were replaced by `U+FFFD`.
    InvalidUtf8 {
        /// How many distinct texts.
        count: u64,
    },
    /// Arguments of events whose name the file does not give were left out.
    UnnamedArguments {
        /// How many.
        count: u64,
    },
    /// A known top-level entry could not be understood and was left out.
    UnreadableFact {
        /// Its key.
        key: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// Text after the end of the trace was not read.
    TrailingText {
        /// How much, in bytes.
        bytes: u64,
    },
    /// An archive holds several files; only one was read.
    OtherArchiveMembers {
        /// The file that was read.
        read: String,
        /// How many were not.
        ignored: u64,
    },
    /// What reading a profile of `rocprofv3` got over.
    #[cfg(feature = "rocprof")]
    Rocprof(crate::rocprof::ProfileWarning),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Truncated { bytes_lost } => write!(
                f,
                "the file ends early: every complete event was read, {bytes_lost} bytes after the last one are lost"
            ),
            Warning::DamagedCompression { bytes_read, detail } => write!(
                f,
                "the compressed data is damaged ({detail}): the first {bytes_read} bytes of text were read, the rest is lost"
            ),
            Warning::MalformedEvents { count, first_offset, detail, bytes_skipped } => write!(
                f,
                "malformed entries of traceEvents skipped: {count} ({bytes_skipped} bytes; first at byte {first_offset}: {detail})"
            ),
            Warning::WithoutTimestamp { count, first_uid } => {
                write!(f, "events without a usable ts left out: {count} (first: event {first_uid})")
            }
            Warning::WithoutDuration { count, first_uid } => {
                write!(f, "events without a usable dur read as zero long: {count} (first: event {first_uid})")
            }
            Warning::NegativeDuration { count, first_uid } => {
                write!(f, "negative durations read as zero: {count} (first: event {first_uid})")
            }
            Warning::WithoutName { count, first_uid } => {
                write!(f, "events without a name: {count} (first: event {first_uid})")
            }
            Warning::UnclosedBegin { count, first_uid } => write!(
                f,
                "B events without an E closed at the end of their track: {count} (first: event {first_uid})"
            ),
            Warning::UnopenedEnd { count, first_uid } => {
                write!(f, "E events without a B left out: {count} (first: event {first_uid})")
            }
            Warning::UnusedPhase { phase: Some(phase), count } => {
                write!(f, "events with ph {phase:?}, which no analysis uses, left out: {count}")
            }
            Warning::UnusedPhase { phase: None, count } => {
                write!(f, "events without a usable ph left out: {count}")
            }
            Warning::UnknownMetadata { count } => {
                write!(f, "metadata events of unknown kind or without a process left out: {count}")
            }
            Warning::InvalidUtf8 { count } => {
                write!(f, "texts with invalid UTF-8, replaced by U+FFFD: {count}")
            }
            Warning::UnnamedArguments { count } => {
                write!(f, "arguments whose name the file does not give left out: {count}")
            }
            Warning::UnreadableFact { key, detail } => {
                write!(f, "top-level {key} could not be read and was left out ({detail})")
            }
            Warning::TrailingText { bytes } => {
                write!(f, "{bytes} bytes after the end of the trace were not read")
            }
            Warning::OtherArchiveMembers { read, ignored } => {
                write!(f, "the archive holds {ignored} more files; only {read:?} was read")
            }
            #[cfg(feature = "rocprof")]
            Warning::Rocprof(warning) => warning.fmt(f),
        }
    }
}
