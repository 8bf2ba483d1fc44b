//! Recoverable faults of an input, counted.

use std::fmt;

/// A recoverable fault of an input. Each kind occurs once per recording (and list of records) with its count; none
/// ends the run and none is silent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The file ends in the middle; every complete event before was read.
    Truncated {
        /// Bytes after the last complete event (of decompressed content) that could not be used.
        bytes_lost: u64,
    },
    /// Decompression failed before the end; everything before was read.
    DamagedCompression {
        /// Decompressed bytes that were still read; `None` where the reader does not count them.
        bytes_read: Option<u64>,
        /// What the decompressor said.
        detail: String,
    },
    /// The text is malformed from a place on; everything before was read.
    BrokenText {
        /// The place, in bytes of decompressed text.
        offset: u64,
        /// What is wrong there.
        detail: String,
        /// Bytes that could not be used.
        bytes_lost: u64,
    },
    /// Text after the end of the trace was not read.
    TrailingText {
        /// How much, in bytes.
        bytes: u64,
    },
    /// An archive contains several files; only one was read.
    OtherArchiveMembers {
        /// The file that was read.
        read: String,
        /// How many were not.
        ignored: u64,
    },
    /// Files beside the named one could not be read.
    UnreadFile {
        /// Name of the file.
        name: String,
        /// Why.
        detail: String,
    },
    /// Texts contained bytes that are not UTF-8; these were replaced by `U+FFFD`.
    InvalidUtf8 {
        /// How many texts.
        count: u64,
    },
    /// Entries of a Kineto event list that are not valid events were skipped.
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
    /// Events of a trace with a fault of their own.
    Events {
        /// The fault, and what was done about it.
        fault: EventFault,
        /// How many.
        count: u64,
        /// Index of the first in the event list.
        first_uid: u32,
    },
    /// Events of a phase that no analysis uses (async spans, objects, counters of no known device) were left out. Arrows between events are
    /// none of them: those of a launch and of a backward are read, and all others only guide the eye in a viewer.
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
    /// Records of a profile, rows of a table, or packets of a Perfetto trace that could not be read were left out.
    MalformedRecords {
        /// List or table that contains them.
        list: String,
        /// How many.
        count: u64,
        /// What is wrong with the first.
        detail: String,
    },
    /// Records of a kind that no analysis uses were left out.
    UnusedRecords {
        /// List that contains them.
        list: String,
        /// How many.
        count: u64,
    },
    /// Records of a rocprofv3 profile without a start or an end were read as having no length.
    RecordsWithoutTimes {
        /// List that contains them.
        list: String,
        /// How many.
        count: u64,
    },
    /// Records with a fault of their own.
    Records {
        /// The fault, and what was done about it.
        fault: RecordFault,
        /// How many.
        count: u64,
    },
    /// Tables of events of which no analysis makes use were not read.
    UnreadTables {
        /// Their names, each with the number of its rows.
        tables: Vec<(String, u64)>,
    },
    /// The recorder was not asked for something that users would miss.
    NotRecorded {
        /// What is missing.
        what: &'static str,
        /// How to record it.
        advice: &'static str,
    },
    /// The recorder itself told a fault of its recording.
    RecorderMessage {
        /// What it said.
        text: String,
    },
}

/// A fault of single events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventFault {
    /// Spans or moments without a readable `ts` cannot be placed in time and were left out.
    WithoutTimestamp,
    /// Spans without a readable `dur` were read as having no length.
    WithoutDuration,
    /// Negative durations were read as zero.
    NegativeDuration,
    /// Events without a name were kept under the empty name.
    WithoutName,
    /// Allocations without a readable size and device are in no figure of memory.
    UnreadableMemory,
    /// Samples of counters whose value is no finite number were left out.
    UnreadableSample,
    /// `B` events without an `E` were closed at the last time seen on their track.
    UnclosedBegin,
    /// `E` events without a `B` were left out.
    UnopenedEnd,
    /// Slices of a Perfetto trace, or ranges and calls of Nsight Systems, without an end were closed at the last time of the recording.
    UnendedSlice,
    /// Ends of slices of a Perfetto trace do not stand in the order of their begins, so that all were matched by time.
    EndOutOfOrder,
    /// Events whose name was told in a part of the file that is lost were kept as `<unknown>`.
    LostName,
    /// Device work of a kind that the reader does not know was kept in the category `other device`.
    UnknownStage,
}

/// A fault of single records of a profile of rocprofv3 or Nsight Systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordFault {
    /// Records that end before they begin were read as having no length.
    NegativeDuration,
    /// Dispatches of kernels that the file does not describe are named after the kernel's number.
    UnknownKernel,
    /// Records refer to agents that the file does not describe.
    UnknownAgent,
    /// Packets that rely on packets which the file has lost were left out.
    LostPacket,
    /// Slices that were begun and never ended were read as having no length.
    UnclosedSlice,
    /// Device work whose times CUPTI did not collect was left out.
    NotCollected,
    /// Names that the file does not give were replaced by their number.
    UnknownName,
    /// Device numbers of a process that sees only some of the machine's GPUs were replaced by those of the machine.
    RenumberedDevice,
    /// Texts of more than 1 MiB were cut.
    LongText,
    /// Rows that name no process are in no report of one process.
    NoProcess,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Truncated { bytes_lost } => write!(
                f,
                "the file ends early: every complete event was read, {bytes_lost} bytes after the last one are lost"
            ),
            Warning::DamagedCompression { bytes_read: Some(bytes), detail } => write!(
                f,
                "the compressed data is damaged ({detail}): the first {bytes} bytes of text were read, the rest is lost"
            ),
            Warning::DamagedCompression { bytes_read: None, detail } => {
                write!(f, "the compressed data is damaged ({detail}): the rest of the file is lost")
            }
            Warning::BrokenText { offset, detail, bytes_lost } => write!(
                f,
                "the text is malformed at byte {offset} ({detail}): every record before was read, {bytes_lost} bytes are lost"
            ),
            Warning::TrailingText { bytes } => {
                write!(f, "{bytes} bytes after the end of the trace were not read")
            }
            Warning::OtherArchiveMembers { read, ignored } => {
                write!(f, "the archive contains {ignored} more files: only {read:?} was read")
            }
            Warning::UnreadFile { name, detail } => write!(f, "{name} was not read: {detail}"),
            Warning::InvalidUtf8 { count } => {
                write!(f, "texts with invalid UTF-8, replaced by U+FFFD: {count}")
            }
            Warning::MalformedEvents { count, first_offset, detail, bytes_skipped } => write!(
                f,
                "malformed events, which are in no figure: {count} ({bytes_skipped} bytes; first at byte {first_offset}: {detail})"
            ),
            Warning::Events { fault, count, first_uid } => {
                write!(f, "{fault}: {count} (first: event {first_uid})")
            }
            Warning::UnusedPhase { phase: Some(phase), count } => {
                let what = phase_name(*phase);
                write!(f, "{what} (ph {phase}), which no figure needs, left out: {count}")
            }
            Warning::UnusedPhase { phase: None, count } => {
                write!(f, "events without a readable phase (ph), which are in no figure: {count}")
            }
            Warning::UnknownMetadata { count } => {
                write!(
                    f,
                    "metadata events of unknown kind or without a process, which no figure needs, left out: {count}"
                )
            }
            Warning::UnnamedArguments { count } => {
                write!(f, "arguments whose name the file does not give left out: {count}")
            }
            Warning::UnreadableFact { key, detail } => {
                write!(f, "top-level {key} could not be read and was left out ({detail})")
            }
            Warning::MalformedRecords { list, count, detail } => {
                write!(f, "unreadable records of {list} left out: {count} (first: {detail})")
            }
            Warning::UnusedRecords { list, count } => {
                write!(f, "records of {list}, which no analysis uses, left out: {count}")
            }
            Warning::RecordsWithoutTimes { list, count } => {
                write!(f, "records of {list} without a start or an end read as zero long: {count}")
            }
            Warning::Records { fault, count } => {
                write!(f, "{fault}: {count}")?;
                f.write_str(match fault {
                    RecordFault::LostPacket => "; record with a larger buffer",
                    _ => "",
                })
            }
            Warning::UnreadTables { tables } => {
                const SHOWN: usize = 8;
                let shown: Vec<String> =
                    tables.iter().take(SHOWN).map(|(name, rows)| format!("{name} ({rows} rows)")).collect();
                let more = if tables.len() > SHOWN { ", ..." } else { "" };
                write!(f, "tables that no figure needs were not read: {}{more}", shown.join(", "))
            }
            Warning::NotRecorded { what, advice } => write!(f, "the recording lacks {what}; {advice}"),
            Warning::RecorderMessage { text } => write!(f, "the recorder says: {text}"),
        }
    }
}

/// What the events of a phase are, after the description of the trace-event format.
fn phase_name(phase: char) -> &'static str {
    match phase {
        'C' => "counter samples",
        'b' | 'n' | 'e' | 'S' | 'T' | 'p' | 'F' => "parts of asynchronous spans",
        'N' | 'O' | 'D' => "snapshots of objects",
        'P' => "samples of the call stack",
        'R' => "marks",
        'v' | 'V' => "dumps of memory",
        'c' => "marks of clocks",
        's' | 't' | 'f' => "arrows without an id",
        _ => "events of an unknown phase",
    }
}

impl fmt::Display for EventFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EventFault::WithoutTimestamp => "events without a readable time (ts), which are in no figure",
            EventFault::WithoutDuration => "events without a readable duration (dur), counted as zero long",
            EventFault::NegativeDuration => "negative durations read as zero",
            EventFault::WithoutName => "events without a name",
            EventFault::UnreadableMemory => {
                "allocations without a readable size and device, which are in no figure of memory"
            }
            EventFault::UnreadableSample => "samples of counters that are no finite number, left out",
            EventFault::UnclosedBegin => {
                "spans that begin and do not end (B without E), taken to last to the end of their track"
            }
            EventFault::UnopenedEnd => "ends of spans that do not begin (E without B), left out",
            EventFault::UnendedSlice => {
                "spans that begin and do not end, taken to last to the end of the recording"
            }
            EventFault::EndOutOfOrder => {
                "ends of spans that do not stand in the order of their begins, so that all were matched by time"
            }
            EventFault::LostName => "events whose name is lost, shown as <unknown>",
            EventFault::UnknownStage => {
                "device work of an unknown kind, which counts neither as kernels nor as copies"
            }
        })
    }
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecordFault::NegativeDuration => "records that end before they begin read as zero long",
            RecordFault::UnknownKernel => {
                "dispatches of kernels that the file does not describe, named by kernel number"
            }
            RecordFault::UnknownAgent => "records of agents that the file does not describe",
            RecordFault::LostPacket => "packets that rely on lost ones left out",
            RecordFault::UnclosedSlice => "slices without an end read as zero long",
            RecordFault::NotCollected => {
                "device work whose times the recorder did not collect, which is in no figure"
            }
            RecordFault::UnknownName => "events whose name the file does not give, named by its number",
            RecordFault::RenumberedDevice => {
                "events whose process numbers the GPUs that it sees, given the machine's number of the GPU"
            }
            RecordFault::LongText => "texts of more than 1 MiB cut",
            RecordFault::NoProcess => "rows that name no process, which are in no report of one process",
        })
    }
}

/// Events with a fault: how many, and the first.
#[cfg(any(feature = "kineto", feature = "nsys", feature = "xplane"))]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) first: u32,
}

#[cfg(any(feature = "kineto", feature = "nsys", feature = "xplane"))]
impl Tally {
    pub(crate) fn add(&mut self, event: u32) {
        if self.count == 0 {
            self.first = event;
        }
        self.count += 1;
    }

    /// The warning of these events, if there are any.
    pub(crate) fn warning(self, fault: EventFault) -> Option<Warning> {
        let Tally { count, first: first_uid } = self;
        (count > 0).then_some(Warning::Events { fault, count, first_uid })
    }
}
