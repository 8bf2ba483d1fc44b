//! Recoverable faults of an input, counted.

/// A recoverable fault of an input. Each kind occurs once per recording (and list of records) with its count; none
/// ends the run and none is silent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum Warning {
    /// The file ends in the middle; every complete event before was read.
    #[error("the file is truncated: all complete events were read, the last {bytes_lost} bytes are lost")]
    #[diagnostic(code("reading/truncated"), severity(Error), help("export or copy the recording again"))]
    Truncated {
        /// Bytes after the last complete event (of decompressed content) that could not be used.
        bytes_lost: u64,
    },
    /// Decompression failed before the end; everything before was read.
    #[error("the compressed data is damaged ({detail}): {}", damage(*.bytes_read))]
    #[diagnostic(
        code("reading/damaged-compression"),
        severity(Error),
        help("export or copy the recording again")
    )]
    DamagedCompression {
        /// Decompressed bytes that were still read; `None` where the reader does not count them.
        bytes_read: Option<u64>,
        /// What the decompressor said.
        detail: String,
    },
    /// The text is malformed from a place on; everything before was read.
    #[error(
        "the text is malformed at byte {offset} ({detail}): all records before it were read, {bytes_lost} bytes are lost"
    )]
    #[diagnostic(code("reading/broken-text"), severity(Warning))]
    BrokenText {
        /// The place, in bytes of decompressed text.
        offset: u64,
        /// What is wrong there.
        detail: String,
        /// Bytes that could not be used.
        bytes_lost: u64,
    },
    /// Text after the end of the trace was not read.
    #[error("{bytes} bytes after the end of the trace were not read")]
    #[diagnostic(code("reading/trailing-text"), severity(Warning))]
    TrailingText {
        /// How much, in bytes.
        bytes: u64,
    },
    /// Text after the end of the trace, which was not read, looks like another trace or the end of one.
    #[error("a second trace of {events} events seems to follow: its {bytes} bytes were not read")]
    #[diagnostic(
        code("reading/second-trace"),
        severity(Warning),
        help("write one file per process; split this file to read the second trace")
    )]
    SecondTrace {
        /// How much, in bytes.
        bytes: u64,
        /// Keys of events in it.
        events: u64,
    },
    /// An archive contains several files; only one was read.
    #[error("the archive contains {ignored} more {}: only {read:?} was read", if *.ignored == 1 { "file" } else { "files" })]
    #[diagnostic(code("reading/other-archive-members"), severity(Warning))]
    OtherArchiveMembers {
        /// The file that was read.
        read: String,
        /// How many were not.
        ignored: u64,
    },
    /// Files beside the named one could not be read.
    #[error("{name} was not read: {detail}")]
    #[diagnostic(code("reading/unread-file"), severity(Warning))]
    UnreadFile {
        /// Name of the file.
        name: String,
        /// Why.
        detail: String,
    },
    /// Texts contained bytes that are not UTF-8; these were replaced by `U+FFFD`.
    #[error("strings with invalid UTF-8, replaced with U+FFFD: {count}")]
    #[diagnostic(code("reading/invalid-utf8"), severity(Warning))]
    InvalidUtf8 {
        /// How many texts.
        count: u64,
    },
    /// Entries of a Kineto event list that are not valid events were skipped.
    #[error(
        "malformed events skipped: {count} ({bytes_skipped} bytes; first at byte {first_offset}: {detail})"
    )]
    #[diagnostic(code("reading/malformed-events"), severity(Warning))]
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
    #[error("{fault}: {count} (first: event {first_uid})")]
    #[diagnostic(code("reading/events"), severity(Warning))]
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
    #[error("{}: {count}", unused(*.phase))]
    #[diagnostic(code("reading/unused-phase"), severity(Warning))]
    UnusedPhase {
        /// The `ph` field; `None` when the event has none.
        phase: Option<char>,
        /// How many.
        count: u64,
    },
    /// Metadata events that name no process, or that are of an unknown kind, were left out.
    #[error("metadata events of unknown kind or without a process skipped: {count}")]
    #[diagnostic(code("reading/unknown-metadata"), severity(Warning))]
    UnknownMetadata {
        /// How many.
        count: u64,
    },
    /// Names of processes and threads were cut: tables have them in each row.
    #[error("names and labels of processes and threads cut to {longest} characters: {count}")]
    #[diagnostic(code("reading/long-names"), severity(Warning))]
    LongNames {
        /// How many.
        count: u64,
        /// Characters that are kept.
        longest: usize,
    },
    /// Arguments of events whose name the file does not give were left out.
    #[error("unnamed arguments skipped: {count}")]
    #[diagnostic(code("reading/unnamed-arguments"), severity(Warning))]
    UnnamedArguments {
        /// How many.
        count: u64,
    },
    /// A known top-level entry could not be understood and was left out.
    #[error("unreadable top-level {key} skipped ({detail})")]
    #[diagnostic(code("reading/unreadable-fact"), severity(Warning))]
    UnreadableFact {
        /// Its key.
        key: &'static str,
        /// What is wrong with it.
        detail: String,
    },
    /// Records of a profile, rows of a table, or packets of a Perfetto trace that could not be read were left out.
    #[error("unreadable records of {list} skipped: {count} (first: {detail})")]
    #[diagnostic(code("reading/malformed-records"), severity(Warning))]
    MalformedRecords {
        /// List or table that contains them.
        list: String,
        /// How many.
        count: u64,
        /// What is wrong with the first.
        detail: String,
    },
    /// Records of a kind that no analysis uses were left out.
    #[error("unused records of {list} skipped: {count}")]
    #[diagnostic(code("reading/unused-records"), severity(Warning))]
    UnusedRecords {
        /// List that contains them.
        list: String,
        /// How many.
        count: u64,
    },
    /// Records of a rocprofv3 profile without a start or an end were read as having no length.
    #[error("records of {list} without a start or an end, set to zero duration: {count}")]
    #[diagnostic(code("reading/records-without-times"), severity(Warning))]
    RecordsWithoutTimes {
        /// List that contains them.
        list: String,
        /// How many.
        count: u64,
    },
    /// Device work whose start is 0, far from all other times, was left out: its times were not recorded.
    #[error("{count} of {of} kernels and copies have a time of 0 and are skipped")]
    #[diagnostic(
        code("reading/device-work-without-times"),
        severity(Warning),
        help("record again with a newer version of the profiler")
    )]
    DeviceWorkWithoutTimes {
        /// How many.
        count: u64,
        /// All device work.
        of: u64,
    },
    /// Hardware counters were collected in another run of the program than the trace.
    #[error(
        "{file} is a counter pass from a different run than {trace}: its times are ignored, and its counters are joined for {joined} of its {dispatches} dispatches"
    )]
    #[diagnostic(
        code("reading/counter-pass"),
        severity(Warning),
        help("dispatches are joined by id if the kernel names agree, else by kernel and order")
    )]
    CounterPass {
        /// The file with the counters.
        file: String,
        /// The file with the trace.
        trace: String,
        /// Dispatches that were found in the trace.
        joined: u64,
        /// Dispatches of the file.
        dispatches: u64,
    },
    /// Records with a fault of their own.
    #[error("{fault}: {count}")]
    #[diagnostic(code("reading/records"), severity(Warning), forward(fault))]
    Records {
        /// The fault, and what was done about it.
        fault: RecordFault,
        /// How many.
        count: u64,
    },
    /// Tables of events of which no analysis makes use were not read.
    #[error("unused tables were not read: {}", names(.tables))]
    #[diagnostic(code("reading/unread-tables"), severity(Warning))]
    UnreadTables {
        /// Their names, each with the number of its rows.
        tables: Vec<(String, u64)>,
    },
    /// Tables hold events of a kind that is read, in a version that was not.
    #[error("tables of an unknown version were skipped, and their events with them: {}", names(.tables))]
    #[diagnostic(
        code("reading/unread-versions"),
        severity(Warning),
        help("export the recording again with the nsys version that recorded it")
    )]
    UnreadVersions {
        /// Their names, each with the number of its rows.
        tables: Vec<(String, u64)>,
    },
    /// The recorder was not asked for something that users would miss.
    #[error("the recording lacks {what}")]
    #[diagnostic(code("reading/not-recorded"), severity(Warning), help("{advice}"))]
    NotRecorded {
        /// What is missing.
        what: &'static str,
        /// How to record it.
        advice: &'static str,
    },
    /// The recorder itself told a fault of its recording.
    #[error("the profiler reports: {text}")]
    #[diagnostic(code("reading/recorder-message"), severity(Warning))]
    RecorderMessage {
        /// What it said.
        text: String,
    },
}

impl Warning {
    /// Number of kernels and copies that it says were left out because they have no times.
    #[must_use]
    pub fn device_work_without_times(&self) -> u64 {
        match self {
            Warning::DeviceWorkWithoutTimes { count, .. }
            | Warning::Records { fault: RecordFault::NotCollected, count } => *count,
            _ => 0,
        }
    }

    /// Whether a part of what was recorded is missing in the figures: the file is cut off, or holds more than was read.
    #[must_use]
    pub fn reports_loss(&self) -> bool {
        matches!(
            self,
            Warning::Truncated { .. }
                | Warning::DamagedCompression { .. }
                | Warning::UnreadVersions { .. }
                | Warning::SecondTrace { .. }
        )
    }
}

/// A fault of single events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventFault {
    /// Spans or moments without a readable `ts` cannot be placed in time and were left out.
    #[error("events without a readable time (ts), skipped")]
    WithoutTimestamp,
    /// Spans without a readable `dur` were read as having no length.
    #[error("events without a readable duration (dur), set to zero")]
    WithoutDuration,
    /// Negative durations were read as zero.
    #[error("negative durations, set to zero")]
    NegativeDuration,
    /// Events without a name were kept under the empty name.
    #[error("events without a name")]
    WithoutName,
    /// Allocations without a readable size and device are in no figure of memory.
    #[error("allocations without a readable size or device, skipped")]
    UnreadableMemory,
    /// Samples of counters whose value is no finite number were left out.
    #[error("counter samples that are not finite numbers, skipped")]
    UnreadableSample,
    /// `B` events without an `E` were closed at the last time seen on their track.
    #[error("spans without an end (B without E), extended to the end of their track")]
    UnclosedBegin,
    /// `E` events without a `B` were left out.
    #[error("span ends without a begin (E without B), skipped")]
    UnopenedEnd,
    /// Slices of a Perfetto trace, or ranges and calls of Nsight Systems, without an end were closed at the last time of the recording.
    #[error("spans without an end, extended to the end of the recording")]
    UnendedSlice,
    /// Ends of slices of a Perfetto trace do not stand in the order of their begins, so that all were matched by time.
    #[error("span ends out of order (all spans are matched by time instead)")]
    EndOutOfOrder,
    /// Events whose name was told in a part of the file that is lost were kept as `<unknown>`.
    #[error("events with a lost name, shown as <unknown>")]
    LostName,
    /// MTIA records work on its streams, and again on tracks of submission queues, packets and copies.
    #[error(
        "device events on MTIA's queue, packet and copy tracks, skipped because they duplicate events on its streams"
    )]
    RepeatedOnQueue,
    /// Device work of a kind that the reader does not know was kept in the category `other device`.
    #[error("device work of an unknown kind, counted neither as kernels nor as copies")]
    UnknownStage,
}

/// A fault of single records of a profile of rocprofv3 or Nsight Systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum RecordFault {
    /// Records that end before they begin were read as having no length.
    #[error("records that end before they begin, set to zero duration")]
    NegativeDuration,
    /// Dispatches of kernels that the file does not describe are named after the kernel's number.
    #[error("dispatches of kernels without a description, named by kernel number")]
    UnknownKernel,
    /// Records refer to agents that the file does not describe.
    #[error("records of agents without a description")]
    UnknownAgent,
    /// Packets that rely on packets which the file has lost were left out.
    #[error("packets that depend on lost ones, skipped")]
    #[diagnostic(help("record with a larger buffer"))]
    LostPacket,
    /// Slices that were begun and never ended were read as having no length.
    #[error("slices without an end, set to zero duration")]
    UnclosedSlice,
    /// Device work whose times CUPTI did not collect was left out.
    #[error("device work without collected times, skipped")]
    NotCollected,
    /// Names that the file does not give were replaced by their number.
    #[error("events whose name is missing, shown by the name's ID")]
    UnknownName,
    /// Device numbers of a process that sees only some of the machine's GPUs were replaced by those of the machine.
    #[error("events with process-local GPU numbers, renumbered to match the machine")]
    RenumberedDevice,
    /// Texts of more than 1 MiB were cut.
    #[error("strings truncated to 1 MiB")]
    LongText,
    /// Values of counters at moments of a dispatch (SPM) make no total of it.
    #[error("counter samples over time (SPM), skipped because they are not totals per dispatch")]
    SampledCounter,
    /// Rows that name no process are in no report of one process.
    #[error("rows without a process, excluded from single-process reports")]
    NoProcess,
}

/// What was read of damaged data.
fn damage(bytes_read: Option<u64>) -> String {
    match bytes_read {
        Some(bytes) => format!("the first {bytes} bytes of text were read, the rest is lost"),
        None => "the rest of the file is lost".to_owned(),
    }
}

/// What is left out with the events of a phase.
fn unused(phase: Option<char>) -> String {
    match phase {
        Some(phase) => format!("unused {} (ph {phase}) skipped", phase_name(phase)),
        None => "events without a readable phase (ph) skipped".to_owned(),
    }
}

/// Tables with their rows, cut when they are many.
fn names(tables: &[(String, u64)]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = tables
        .iter()
        .take(SHOWN)
        .map(|(name, rows)| format!("{name} ({rows} {})", if *rows == 1 { "row" } else { "rows" }))
        .collect();
    let more = if tables.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// What the events of a phase are, after the description of the trace-event format.
fn phase_name(phase: char) -> &'static str {
    match phase {
        'C' => "counter samples",
        'b' | 'n' | 'e' | 'S' | 'T' | 'p' | 'F' => "asynchronous span events",
        'N' | 'O' | 'D' => "object events",
        'P' => "call stack samples",
        'R' => "marks",
        'v' | 'V' => "memory dumps",
        'c' => "clock sync events",
        's' | 't' | 'f' => "flow events without an id",
        _ => "events of an unknown phase",
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
