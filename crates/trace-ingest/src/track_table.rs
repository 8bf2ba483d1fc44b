//! Tracks: the rows of a trace, one per process and thread (or device and stream).

use hashbrown::HashMap;

use crate::index_set::IndexSet;
use crate::string_table::StringId;

/// A process or thread id as the trace writes it: a number, or a text such as `Spans`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowId {
    /// The event names none.
    Missing,
    /// A process id, thread id, device index or stream.
    Number(i64),
    /// A name in place of a number.
    Text(StringId),
}

/// Handle of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrackId(pub(crate) u32);

impl TrackId {
    /// Dense position in the table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What identifies a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track {
    /// Process; for device events the device index.
    pub pid: RowId,
    /// Thread; for device events the stream.
    pub tid: RowId,
}

/// What the metadata events say of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessInfo {
    /// `process_name`
    pub name: Option<StringId>,
    /// `process_labels`, such as `CPU` or `GPU 0`
    pub labels: Option<StringId>,
    /// `process_sort_index`: the viewer's order of processes
    pub sort_index: Option<i64>,
}

/// What the metadata events say of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadInfo {
    /// `thread_name`
    pub name: Option<StringId>,
    /// `thread_sort_index`: the viewer's order of threads
    pub sort_index: Option<i64>,
}

/// The distinct tracks of a trace and what is known of them.
#[derive(Clone, Debug, Default)]
pub struct TrackTable {
    tracks: IndexSet<Track>,
    processes: HashMap<RowId, ProcessInfo>,
    threads: HashMap<Track, ThreadInfo>,
}

impl TrackTable {
    /// Id of a track, added when it is new.
    pub fn intern(&mut self, track: Track) -> TrackId {
        TrackId(self.tracks.insert(track).0 as u32)
    }

    /// The names and labels of all processes and threads.
    pub(crate) fn names_mut(&mut self) -> impl Iterator<Item = &mut StringId> {
        let processes =
            self.processes.values_mut().flat_map(|process| [&mut process.name, &mut process.labels]);
        processes.chain(self.threads.values_mut().map(|thread| &mut thread.name)).flatten()
    }

    /// Id of a track, if an event lies on it.
    pub fn find(&self, track: Track) -> Option<TrackId> {
        self.tracks.position(&track).map(|index| TrackId(index as u32))
    }

    /// Process and thread of a track.
    pub fn get(&self, id: TrackId) -> Track {
        self.tracks[id.index()]
    }

    /// All tracks, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = TrackId> + use<> {
        (0..self.tracks.len() as u32).map(TrackId)
    }

    /// Number of tracks that events lie on.
    pub fn len(&self) -> usize {
        self.tracks.len()
    }

    /// Whether the trace has no track.
    pub fn is_empty(&self) -> bool {
        self.tracks.is_empty()
    }

    /// What is known of a process; empty when the trace does not describe it.
    pub fn process(&self, pid: RowId) -> ProcessInfo {
        self.processes.get(&pid).copied().unwrap_or_default()
    }

    /// What is known of a thread; empty when the trace does not describe it.
    pub fn thread(&self, track: Track) -> ThreadInfo {
        self.threads.get(&track).copied().unwrap_or_default()
    }

    pub(crate) fn process_mut(&mut self, pid: RowId) -> &mut ProcessInfo {
        self.processes.entry(pid).or_default()
    }

    pub(crate) fn thread_mut(&mut self, track: Track) -> &mut ThreadInfo {
        self.threads.entry(track).or_default()
    }
}
