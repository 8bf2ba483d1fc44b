#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod argument;
mod category;
#[cfg(any(feature = "metal", feature = "rocprof"))]
mod csv_limits;
mod error;
mod event_table;
mod facts;
mod foreign;
mod format;
mod gzip;
mod index_set;
#[cfg(feature = "kineto")]
mod json;
#[cfg(feature = "kineto")]
mod kineto;
mod memory;
#[cfg(feature = "metal")]
pub mod metal;
#[cfg(feature = "nsys")]
pub mod nsys;
mod open;
// Each recorder's reader uses a part of it.
#[cfg(feature = "kineto")]
#[cfg_attr(not(feature = "rocprof"), allow(dead_code))]
mod perfetto;
#[cfg(any(feature = "kineto", feature = "nsys", feature = "rocprof"))]
mod queue;
#[cfg(feature = "rocprof")]
mod read_ahead;
mod recording;
#[cfg(feature = "rocprof")]
pub mod rocprof;
mod source;
mod sparse_column;
// Each reader uses a part of it.
#[cfg(any(feature = "nsys", feature = "rocprof"))]
#[cfg_attr(not(all(feature = "nsys", feature = "rocprof")), allow(dead_code))]
mod sqlite;
mod string_table;
mod time;
mod trace;
mod track_table;
mod warning;
// The other formats use a part of it.
#[cfg(any(feature = "xplane", feature = "kineto"))]
#[cfg_attr(not(feature = "xplane"), allow(dead_code))]
mod wire;
#[cfg(feature = "xplane")]
pub mod xplane;

pub use argument::{ArgumentId, ArgumentValue, Sequence, Signature, SignatureId, SignatureTable};
pub use category::Category;
pub use error::IngestError;
pub use event_table::{
    ArgumentColumns, Collective, CounterSample, CudaWork, Event, EventId, EventTable, Flow, FlowEnd,
    FlowKind, LaunchGeometry, MemoryEvent, MemoryTransfer, NvtxRange, Overhead, Phase, PythonFrame,
    Synchronization, TritonCall,
};
pub use facts::{
    Accelerator, DeviceProperties, DistributedInfo, NumberGaps, ProcessGroup, RecorderFacts, RecorderLog,
    RecordingKind, TraceFacts,
};
pub use format::{Certainty, Format};
#[cfg(feature = "kineto")]
pub use kineto::{EntryVisitor, Member, RawEntry, check_entries, members, visit_entries};
pub use memory::MemoryDevice;
pub use open::{check_kind, open, open_bytes, open_stream, read_path, recognise};
pub use recording::Recording;
pub use source::{
    FileContent, MemoryFile, NsysKernelNames, NsysReading, Progress, ReadOptions, TextSource, is_plain_name,
    is_standard_input,
};
pub use sparse_column::SparseColumn;
pub use string_table::{PerString, StringId, StringTable};
pub use time::{Nanoseconds, Picoseconds, Time, TimeUnit};
pub use trace::{EventArguments, NewEvent, Trace, TraceBuilder};
pub use track_table::{ProcessInfo, RowId, ThreadInfo, Track, TrackId, TrackTable};
pub use warning::{EventFault, RecordFault, Warning};
