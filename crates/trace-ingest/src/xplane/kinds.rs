//! The kinds of events of all planes.

use super::facts::Facts;
use super::id_table::IdTable;
use super::profile::EventMetadata;
use crate::string_table::{StringId, StringTable};

/// Names of notes that the profiler's trace viewer leaves out.
const HIDDEN: [&str; 11] = [
    "PrefetchProduce",
    "PrefetchConsume",
    "ParallelInterleaveProduce",
    "ParallelInterleaveConsume",
    "ParallelInterleaveInitializeInput",
    "ParallelMapProduce",
    "ParallelMapConsume",
    "MapAndBatchProduce",
    "MapAndBatchConsume",
    "ParseExampleProduce",
    "ParseExampleConsume",
];

/// What the name of a kind says of its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum KindRole {
    #[default]
    Plain,
    /// A frame of the Python stack.
    Python,
    /// An allocation or its end; the viewer leaves it out.
    Allocation,
    /// A note that the viewer leaves out.
    Hidden,
    /// A worker of a thread pool begins a task.
    RegionStart,
    /// A worker of a thread pool ends a task.
    RegionStop,
}

/// A kind of events as reading sees it.
pub(crate) struct Kind {
    /// Interned label, once an event has needed it.
    label: Option<StringId>,
    /// What the stats of the kind say.
    pub(crate) facts: Facts,
    /// The call that these stats name.
    pub(crate) call: Option<u32>,
}

/// The kinds of all planes, plane by plane; those that the file lacks behind.
#[derive(Default)]
pub(crate) struct Kinds {
    pub(crate) metadata: Vec<EventMetadata>,
    kinds: Vec<Kind>,
    /// What the names of kinds say, apart because every event asks for it.
    roles: Vec<KindRole>,
    /// Per plane the position of its first kind, and positions from there by id.
    tables: Vec<(usize, IdTable)>,
}

impl Kinds {
    /// Adds the kinds of the next plane.
    pub(crate) fn add_plane(&mut self, kinds: Vec<(EventMetadata, Facts)>) {
        let first = self.metadata.len();
        self.tables.push((first, IdTable::new(kinds.iter().map(|(kind, _)| kind.id))));
        for (metadata, facts) in kinds {
            self.kinds.push(Kind { label: None, facts, call: None });
            self.roles.push(role(metadata.label()));
            self.metadata.push(metadata);
        }
    }

    /// The kind with this id; added, without a name, when the plane has none.
    #[inline]
    pub(crate) fn find(&mut self, plane: usize, id: i64) -> u32 {
        let (first, table) = &self.tables[plane];
        match table.find(id) {
            Some(position) => (first + position) as u32,
            None => self.add_missing(plane, id),
        }
    }

    #[cold]
    fn add_missing(&mut self, plane: usize, id: i64) -> u32 {
        let position = self.metadata.len();
        let (first, table) = &mut self.tables[plane];
        table.add(id, position - *first);
        self.metadata.push(EventMetadata { id, plane, ..EventMetadata::default() });
        self.kinds.push(Kind { label: Some(StringId::EMPTY), facts: Facts::default(), call: None });
        self.roles.push(KindRole::Plain);
        position as u32
    }

    pub(crate) fn get(&self, kind: u32) -> &Kind {
        &self.kinds[kind as usize]
    }

    pub(crate) fn set_call(&mut self, kind: u32, call: u32) {
        self.kinds[kind as usize].call = Some(call);
    }

    pub(crate) fn len(&self) -> usize {
        self.kinds.len()
    }

    pub(crate) fn role(&self, kind: u32) -> KindRole {
        self.roles[kind as usize]
    }

    /// Interned label of a kind.
    #[inline]
    pub(crate) fn label(&mut self, kind: u32, strings: &mut StringTable) -> StringId {
        let index = kind as usize;
        *self.kinds[index].label.get_or_insert_with(|| strings.intern(self.metadata[index].label()))
    }
}

fn role(label: &str) -> KindRole {
    match label {
        "MemoryAllocation" | "MemoryDeallocation" => KindRole::Allocation,
        "ThreadpoolListener::StartRegion" => KindRole::RegionStart,
        "ThreadpoolListener::StopRegion" => KindRole::RegionStop,
        _ if label.starts_with('$') => KindRole::Python,
        _ if HIDDEN.contains(&label) => KindRole::Hidden,
        _ => KindRole::Plain,
    }
}
