//! The XPlane protobuf messages (`tsl/profiler/protobuf/xplane.proto` in OpenXLA), to write a profile or to
//! look at one message by message.
//!
//! [`super::read_profile`] does not go through them: it reads events where they lie in the file, which
//! costs neither an allocation nor a copy per event.

use std::collections::BTreeMap;

use prost::{Message, Oneof};

/// `XSpace`: a profile.
#[derive(Clone, PartialEq, Message)]
pub struct XSpace {
    /// Devices, hosts, and what else was recorded.
    #[prost(message, repeated, tag = "1")]
    pub planes: Vec<XPlane>,
    /// What failed while recording.
    #[prost(string, repeated, tag = "2")]
    pub errors: Vec<String>,
    /// What the recorder warns of.
    #[prost(string, repeated, tag = "3")]
    pub warnings: Vec<String>,
    /// Hosts that were recorded.
    #[prost(string, repeated, tag = "4")]
    pub hostnames: Vec<String>,
}

impl XSpace {
    /// The profile as the bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }
}

/// `XPlane`: lines that share metadata tables.
#[derive(Clone, PartialEq, Message)]
pub struct XPlane {
    /// Number of the device.
    #[prost(int64, tag = "1")]
    pub id: i64,
    /// Name, such as `/device:GPU:0`.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Streams or threads.
    #[prost(message, repeated, tag = "3")]
    pub lines: Vec<XLine>,
    /// What events are, by number.
    #[prost(btree_map = "int64, message", tag = "4")]
    pub event_metadata: BTreeMap<i64, XEventMetadata>,
    /// What stats are, by number.
    #[prost(btree_map = "int64, message", tag = "5")]
    pub stat_metadata: BTreeMap<i64, XStatMetadata>,
    /// Facts of the plane.
    #[prost(message, repeated, tag = "6")]
    pub stats: Vec<XStat>,
}

/// `XLine`: a stream or thread.
#[derive(Clone, PartialEq, Message)]
pub struct XLine {
    /// Number.
    #[prost(int64, tag = "1")]
    pub id: i64,
    /// Name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// What the offsets of the events count from, in nanoseconds.
    #[prost(int64, tag = "3")]
    pub timestamp_ns: i64,
    /// Events.
    #[prost(message, repeated, tag = "4")]
    pub events: Vec<XEvent>,
    /// Length of the line in picoseconds.
    #[prost(int64, tag = "9")]
    pub duration_ps: i64,
    /// Number to show instead of [`XLine::id`]; 0 is none.
    #[prost(int64, tag = "10")]
    pub display_id: i64,
    /// Name to show instead of [`XLine::name`]; empty is none.
    #[prost(string, tag = "11")]
    pub display_name: String,
}

/// `XEvent`: something that ran.
#[derive(Clone, PartialEq, Message)]
pub struct XEvent {
    /// In [`XPlane::event_metadata`].
    #[prost(int64, tag = "1")]
    pub metadata_id: i64,
    /// When it began, or how many events it stands for.
    #[prost(oneof = "EventPlace", tags = "2, 5")]
    pub place: Option<EventPlace>,
    /// Length in picoseconds.
    #[prost(int64, tag = "3")]
    pub duration_ps: i64,
    /// Arguments.
    #[prost(message, repeated, tag = "4")]
    pub stats: Vec<XStat>,
}

/// `XEvent.data`.
#[derive(Clone, Copy, PartialEq, Eq, Oneof)]
pub enum EventPlace {
    /// Picoseconds after the line's timestamp.
    #[prost(int64, tag = "2")]
    OffsetPs(i64),
    /// The event sums up so many; it has no position.
    #[prost(int64, tag = "5")]
    Occurrences(i64),
}

/// `XStat`: a named value.
#[derive(Clone, PartialEq, Message)]
pub struct XStat {
    /// In [`XPlane::stat_metadata`].
    #[prost(int64, tag = "1")]
    pub metadata_id: i64,
    /// The value.
    #[prost(oneof = "XStatValue", tags = "2, 3, 4, 5, 6, 7")]
    pub value: Option<XStatValue>,
}

/// `XStat.value`.
#[derive(Clone, PartialEq, Oneof)]
pub enum XStatValue {
    /// A number.
    #[prost(double, tag = "2")]
    Double(f64),
    /// An integer.
    #[prost(uint64, tag = "3")]
    Unsigned(u64),
    /// An integer.
    #[prost(int64, tag = "4")]
    Signed(i64),
    /// A text.
    #[prost(string, tag = "5")]
    Text(String),
    /// A message or other data.
    #[prost(bytes = "vec", tag = "6")]
    Bytes(Vec<u8>),
    /// A text: the name of that entry of [`XPlane::stat_metadata`].
    #[prost(uint64, tag = "7")]
    Reference(u64),
}

/// `XEventMetadata`: what events of one kind share.
#[derive(Clone, PartialEq, Message)]
pub struct XEventMetadata {
    /// Its key.
    #[prost(int64, tag = "1")]
    pub id: i64,
    /// Name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// More of it.
    #[prost(bytes = "vec", tag = "3")]
    pub metadata: Vec<u8>,
    /// Name to show; empty is none.
    #[prost(string, tag = "4")]
    pub display_name: String,
    /// Arguments that all events of the kind have.
    #[prost(message, repeated, tag = "5")]
    pub stats: Vec<XStat>,
    /// Kinds that are part of this one.
    #[prost(int64, repeated, tag = "6")]
    pub child_id: Vec<i64>,
}

/// `XStatMetadata`: what stats of one kind share.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct XStatMetadata {
    /// Its key.
    #[prost(int64, tag = "1")]
    pub id: i64,
    /// Name, or the text that a reference stands for.
    #[prost(string, tag = "2")]
    pub name: String,
    /// What it means.
    #[prost(string, tag = "3")]
    pub description: String,
}

/// `OpMetrics.MemoryAccessed` of xprof, which a stat of an operation's kind holds: what the compiler says of its accesses to
/// memory.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct MemoryBreakdown {
    /// One for each memory and way.
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<MemoryEntry>,
}

impl MemoryBreakdown {
    /// The entries up to the place where the message is damaged.
    #[must_use]
    pub fn from_damaged(message: &[u8]) -> Self {
        let mut breakdown = MemoryBreakdown::default();
        breakdown.merge(message).ok();
        breakdown
    }
}

/// Bytes that are read from a memory, or written to it.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct MemoryEntry {
    /// 1 for reads, 2 for writes.
    #[prost(uint64, tag = "1")]
    pub kind: u64,
    /// Number of the memory.
    #[prost(uint64, tag = "2")]
    pub space: u64,
    /// How many.
    #[prost(uint64, tag = "3")]
    pub bytes: u64,
}
