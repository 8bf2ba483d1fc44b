//! A profile as a whole.

use super::programs::{FileBytes, Programs};
use super::stat::{StatNames, StatValue};
use crate::event_table::EventId;
use crate::index_set::IndexSet;
use crate::sparse_column::SparseColumn;
use crate::string_table::StringId;
use crate::time::{Nanoseconds, Picoseconds};
use crate::trace::Trace;
use crate::track_table::TrackId;

/// Field of `XEvent` that holds its stats.
pub(crate) const EVENT_STATS: u32 = 4;
/// Field of `XEventMetadata` that holds its stats.
pub(crate) const METADATA_STATS: u32 = 5;

/// An XPlane profile: what a JAX, TensorFlow or PyTorch/XLA profiler recorded of one host and its devices.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Every event of every plane that has a position in time, in picoseconds.
    ///
    /// Rows stand in the order of the profiler's own trace viewer, and [`crate::EventTable::uid`] counts as
    /// the viewer does: processes, then threads by number, then events by start, longer ones first. The
    /// lines that the viewer derives are counted and have no rows. Events that the viewer leaves out
    /// follow behind all others ([`Profile::shown`]).
    pub trace: Trace,
    /// The planes in file order.
    pub planes: Vec<Plane>,
    /// HLO modules by program id.
    pub programs: Programs,
    /// Name of the recording: the file name without its endings. The viewer's process names begin with it.
    pub host: String,
    /// Hosts that were recorded.
    pub hostnames: Vec<String>,
    /// What failed while recording.
    pub errors: Vec<String>,
    /// What the recorder warns of (`XSpace.warnings`); recoverable faults are in [`Trace::warnings`].
    pub notes: Vec<String>,
    /// Begin of the recording since 1970.
    pub start: Option<Nanoseconds>,
    /// End of the recording since 1970.
    pub stop: Option<Nanoseconds>,
    /// How many events the profiler's trace viewer shows, derived ones included: uids below this are shown.
    pub shown_events: u32,
    pub(crate) bytes: FileBytes,
    pub(crate) stat_names: Vec<StatNames>,
    pub(crate) metadata: Vec<EventMetadata>,
    pub(crate) columns: EventColumns,
    pub(crate) xla_calls: IndexSet<XlaCall>,
}

/// What the profile knows of each event beside the columns of the [`Trace`].
#[derive(Clone, Debug, Default)]
pub(crate) struct EventColumns {
    /// Where the tag of the event stands in the file.
    pub(crate) position: Vec<u64>,
    /// In [`Profile::metadata`].
    pub(crate) metadata: Vec<u32>,
    /// In [`Profile::xla_calls`].
    pub(crate) xla: SparseColumn<u32>,
    /// Offset and duration by the device's clock, in picoseconds.
    pub(crate) device_clock: SparseColumn<(i64, i64)>,
}

/// A device, a host, or something else that was recorded.
#[derive(Clone, Debug, Default)]
pub struct Plane {
    /// Number; that of the device for GPUs, any for others.
    pub id: i64,
    /// Name, such as `/device:GPU:0`.
    pub name: String,
    /// What the name says.
    pub kind: PlaneKind,
    /// Facts of the plane, such as `core_count`, in file order.
    pub stats: Vec<(String, StatValue<'static>)>,
    /// Streams or threads in file order.
    pub lines: Vec<Line>,
}

impl Plane {
    /// A fact of the plane; of several with the same name, the last.
    pub fn stat(&self, name: &str) -> Option<&StatValue<'static>> {
        self.stats.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

/// What a plane stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaneKind {
    /// A GPU.
    Gpu {
        /// Index on its host.
        ordinal: u32,
    },
    /// The TensorCore of a TPU.
    Tpu {
        /// Index on its host.
        ordinal: u32,
    },
    /// A SparseCore of a TPU.
    SparseCore {
        /// The TPU's index on its host.
        ordinal: u32,
        /// Index of the SparseCore.
        core: u32,
    },
    /// The host's threads.
    HostCpu,
    /// HLO modules and other tables.
    Metadata,
    /// What a program recorded itself.
    Custom,
    /// When and how the profile was recorded.
    Environment,
    /// Anything else.
    #[default]
    Other,
}

/// A stream of a device or a thread of a host.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Line {
    /// Number: the stream of a GPU. Host threads have large or negative ones.
    pub id: i64,
    /// Name, such as `Stream #1(Kernel)` or `XLA Ops`.
    pub name: String,
    /// Its track in the trace.
    pub track: TrackId,
    /// Its events by start, longer ones first.
    pub events: Vec<EventId>,
    /// Sums over events that were not recorded one by one.
    pub aggregated: Vec<AggregatedEvent>,
}

/// A sum over events of one kind, without a position in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AggregatedEvent {
    /// What the events are ([`Profile::kind`]).
    pub kind: KindId,
    /// How many events.
    pub occurrences: i64,
    /// Their total length.
    pub duration: Picoseconds,
    pub(crate) position: u64,
}

/// Handle of an [`EventMetadata`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindId(pub(crate) u32);

impl KindId {
    /// Dense position: a `Vec` indexed by this is a map from kind to value.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What events of one kind share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventMetadata {
    /// Its key in the plane's table.
    pub id: i64,
    /// Name; on a TPU the text of the HLO instruction. Empty when the table has no such entry.
    pub name: String,
    /// Short name; may be empty.
    pub display_name: String,
    /// Position of its plane in [`Profile::planes`].
    pub plane: usize,
    /// Where its tag stands in the file; `None` for an entry that the file lacks.
    pub(crate) position: Option<u64>,
}

impl EventMetadata {
    /// What a viewer shows: the short name, or the name where there is none.
    pub fn label(&self) -> &str {
        if self.display_name.is_empty() { &self.name } else { &self.display_name }
    }
}

/// Which instruction of which program an event ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct XlaCall {
    /// `hlo_op`: name of the instruction; several joined by `::` when calls nest, the innermost last. On a
    /// TPU's line of operations, whose events lack the stat, the event's short name.
    pub hlo_op: Option<StringId>,
    /// `hlo_module`
    pub hlo_module: Option<StringId>,
    /// `program_id`: key of [`Profile::programs`].
    pub program_id: Option<u64>,
    /// `symbol_id`: number of the instruction.
    pub symbol_id: Option<u64>,
    /// `run_id`: number of the execution.
    pub run_id: Option<u64>,
}

impl Profile {
    /// Which instruction of which program an event ran, if it says.
    pub fn xla(&self, event: EventId) -> Option<&XlaCall> {
        self.xla_calls.get(self.columns.xla.get(event.index())? as usize)
    }

    /// Number of an event's kind; `None` for an event that the file does not have.
    pub fn kind_id(&self, event: EventId) -> Option<KindId> {
        self.columns.metadata.get(event.index()).copied().map(KindId)
    }

    /// What an event's kind is. Kinds that the file lacks, and events that it does not have (such as ones
    /// appended to the trace), have an empty name.
    pub fn metadata(&self, event: EventId) -> &EventMetadata {
        const MISSING: &EventMetadata = &EventMetadata::MISSING;
        match self.columns.metadata.get(event.index()) {
            Some(&kind) => &self.metadata[kind as usize],
            None => MISSING,
        }
    }

    /// A kind of events.
    pub fn kind(&self, kind: KindId) -> &EventMetadata {
        &self.metadata[kind.0 as usize]
    }

    /// All kinds of events of all planes.
    pub fn kinds(&self) -> impl ExactSizeIterator<Item = (KindId, &EventMetadata)> {
        self.metadata.iter().enumerate().map(|(index, kind)| (KindId(index as u32), kind))
    }

    /// A stat of an event: its own, or else that of its kind.
    pub fn stat(&self, event: EventId, name: &str) -> Option<StatValue<'_>> {
        self.event_stats(event).filter(|(key, _)| *key == name).last().map(|(_, value)| value)
    }

    /// All stats of an event: those of its kind, then its own, which override these.
    pub fn event_stats(&self, event: EventId) -> impl Iterator<Item = (&str, StatValue<'_>)> {
        let kind = self.columns.metadata.get(event.index());
        let position = self.columns.position.get(event.index()).copied();
        let plane = kind.map(|&kind| self.metadata[kind as usize].plane);
        let kind_stats = kind.into_iter().flat_map(|&kind| self.kind_stats(KindId(kind)));
        kind_stats.chain(position.zip(plane).into_iter().flat_map(|(position, plane)| {
            self.stat_names[plane].stats_of(&self.bytes, position as usize, EVENT_STATS)
        }))
    }

    /// A stat of a kind of events, such as `flops` or `hlo_category`.
    pub fn kind_stat(&self, kind: KindId, name: &str) -> Option<StatValue<'_>> {
        self.kind_stats(kind).filter(|(key, _)| *key == name).last().map(|(_, value)| value)
    }

    /// All stats of a kind of events.
    pub fn kind_stats(&self, kind: KindId) -> impl Iterator<Item = (&str, StatValue<'_>)> {
        let kind = &self.metadata[kind.0 as usize];
        let names = &self.stat_names[kind.plane];
        let stats = move |position| names.stats_of(&self.bytes, position as usize, METADATA_STATS);
        kind.position.into_iter().flat_map(stats)
    }

    /// All stats of an aggregated event: those of its kind, then its own, which override these.
    pub fn aggregated_stats(&self, event: &AggregatedEvent) -> impl Iterator<Item = (&str, StatValue<'_>)> {
        let names = &self.stat_names[self.kind(event.kind).plane];
        let own = names.stats_of(&self.bytes, event.position as usize, EVENT_STATS);
        self.kind_stats(event.kind).chain(own)
    }

    /// Offset from its line's time and length of an event by the device's own clock.
    /// `None` unless both are recorded.
    pub fn device_clock(&self, event: EventId) -> Option<(Picoseconds, Picoseconds)> {
        let (offset, duration) = self.columns.device_clock.get(event.index())?;
        Some((Picoseconds(offset), Picoseconds(duration)))
    }

    /// Keeps only the events that are chosen, under new ids in the same order, in the trace and on the lines. Sums over
    /// events without a position in time ([`Line::aggregated`]) are dropped: nothing says what of them is chosen. All else
    /// stays as it is, facts of planes among it.
    pub fn retain(&mut self, mut keep: impl FnMut(EventId) -> bool) {
        let kept: Vec<bool> = self.trace.events().ids().map(&mut keep).collect();
        let mut new_ids = Vec::with_capacity(kept.len());
        let mut rows = Vec::new();
        for (row, &is_kept) in (0..).zip(&kept) {
            new_ids.push(EventId(rows.len() as u32));
            rows.extend(is_kept.then_some(row));
        }
        self.trace.retain(|event| kept[event.index()]);
        let EventColumns { position, metadata, xla, device_clock } = &mut self.columns;
        // Events that were appended to the trace have no columns here; they stand behind all others.
        let dense = rows.partition_point(|&row| (row as usize) < position.len());
        *position = rows[..dense].iter().map(|&row| position[row as usize]).collect();
        *metadata = rows[..dense].iter().map(|&row| metadata[row as usize]).collect();
        *xla = xla.select_rows(&rows);
        *device_clock = device_clock.select_rows(&rows);
        for line in self.planes.iter_mut().flat_map(|plane| &mut plane.lines) {
            line.events.retain(|event| kept[event.index()]);
            line.events.iter_mut().for_each(|event| *event = new_ids[event.index()]);
            line.aggregated.clear();
        }
    }

    /// Whether the profiler's trace viewer shows an event. It leaves out allocations and a few kinds of
    /// notes, lines of asynchronous operations, and planes that are neither devices nor the host.
    pub fn shown(&self, event: EventId) -> bool {
        self.trace.events().uid(event) < self.shown_events
    }
}

impl EventMetadata {
    /// Stands for a kind that the file lacks.
    const MISSING: EventMetadata = EventMetadata {
        id: 0,
        name: String::new(),
        display_name: String::new(),
        plane: usize::MAX,
        position: None,
    };
}
