//! What records of a rocpd database refer to: names, processes, agents, kernels, events.

use hashbrown::HashMap;

use super::schema::{self, Columns, Record, Runs, Schema};
use crate::rocprof::builder::{Machines, ProfileBuilder};
use crate::rocprof::profile::{Agent, AgentKind, Counter, Launch, Process};
use crate::sqlite::{Broken, Database, Fault};
use crate::string_table::StringId;

/// Number of a row, with the position of the run that it belongs to.
pub(super) type Key = (u32, i64);

/// What an event tells of its record.
#[derive(Clone, Copy)]
pub(super) struct Event {
    /// Kind of the record: `HIP_RUNTIME_API`.
    pub(super) category: StringId,
    /// Number that a call shares with what it set off.
    pub(super) correlation: Option<u64>,
    /// Text of a marker.
    pub(super) message: Option<StringId>,
}

/// Where a record ran, in databases that say so once for many records.
#[derive(Clone, Copy, Default)]
pub(super) struct Track {
    pub(super) process: Option<i64>,
    pub(super) thread: Option<i64>,
    pub(super) agent: Option<i64>,
    pub(super) queue: Option<i64>,
    pub(super) stream: Option<i64>,
    pub(super) name: Option<i64>,
}

pub(super) struct Context<'d> {
    pub(super) database: &'d Database,
    pub(super) schema: Schema,
    pub(super) runs: Runs,
    pub(super) builder: ProfileBuilder,
    pub(super) machines: Machines,
    pub(super) strings: HashMap<Key, StringId>,
    pub(super) hosts: HashMap<Key, String>,
    pub(super) processes: HashMap<Key, u32>,
    pub(super) threads: HashMap<Key, i64>,
    pub(super) agents: HashMap<Key, u32>,
    /// Position, and a launch configuration with nothing but the registers.
    pub(super) kernels: HashMap<Key, (u32, Launch)>,
    pub(super) events: HashMap<Key, Event>,
    pub(super) tracks: HashMap<Key, Track>,
    pub(super) timestamps: HashMap<Key, i64>,
    pub(super) described_counters: HashMap<Key, Counter>,
    counters: HashMap<Key, u32>,
}

impl<'d> Context<'d> {
    pub(super) fn new(database: &'d Database, schema: Schema) -> Self {
        Context {
            database,
            schema,
            runs: Runs::default(),
            builder: ProfileBuilder::default(),
            machines: Machines::default(),
            strings: HashMap::new(),
            hosts: HashMap::new(),
            processes: HashMap::new(),
            threads: HashMap::new(),
            agents: HashMap::new(),
            kernels: HashMap::new(),
            events: HashMap::new(),
            tracks: HashMap::new(),
            timestamps: HashMap::new(),
            described_counters: HashMap::new(),
            counters: HashMap::new(),
        }
    }

    /// Reads a table; see [`schema::rows`].
    pub(super) fn rows(
        &mut self,
        table: &str,
        columns: &[&str],
        mut read: impl FnMut(&mut Self, &Record<'_>, &Columns) -> Result<(), Fault>,
    ) -> Result<(), Broken> {
        let mut runs = std::mem::take(&mut self.runs);
        let mut warnings = Vec::new();
        let database = self.database;
        let parts: Vec<String> = self.schema.parts(table).into_iter().map(str::to_string).collect();
        let outcome =
            schema::rows(database, &parts, &mut runs, &mut warnings, table, columns, &mut |row, columns| {
                read(self, row, columns)
            });
        self.runs = runs;
        self.builder.profile.warnings.append(&mut warnings);
        outcome
    }

    /// Text of a column, interned. `None` for NULL.
    pub(super) fn text(&mut self, row: &Record<'_>, column: usize) -> Option<StringId> {
        row.text(column).map(|bytes| self.builder.intern_bytes(bytes))
    }

    pub(super) fn owned_text(&mut self, row: &Record<'_>, column: usize) -> Option<String> {
        row.text(column).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// Text that a record refers to; empty when it refers to none.
    pub(super) fn string(&self, run: u32, id: Option<i64>) -> StringId {
        id.and_then(|id| self.strings.get(&(run, id)).copied()).unwrap_or(StringId::EMPTY)
    }

    /// Position of a process, added when no table describes it.
    pub(super) fn process(&mut self, run: u32, id: Option<i64>) -> u32 {
        let processes = &mut self.builder.profile.processes;
        *self.processes.entry((run, id.unwrap_or(0))).or_insert_with(|| {
            processes.push(Process { pid: id, ..Process::default() });
            processes.len() as u32 - 1
        })
    }

    pub(super) fn thread(&self, run: u32, id: Option<i64>) -> i64 {
        id.map_or(0, |id| self.threads.get(&(run, id)).copied().unwrap_or(id))
    }

    /// Position of the agent that a record refers to, added when no table describes it.
    pub(super) fn agent(&mut self, run: u32, id: Option<i64>, kind: AgentKind) -> Option<u32> {
        let id = id?;
        if let Some(&position) = self.agents.get(&(run, id)) {
            return Some(position);
        }
        self.builder.unknown_agents += 1;
        let agent = Agent { kind, label: format!("Agent {id}"), ..Default::default() };
        Some(self.machines.agent(&mut self.builder, None, agent))
    }

    /// Position and registers of a kernel, which is nameless when no table describes it.
    pub(super) fn kernel(&mut self, run: u32, process: u32, id: i64) -> (u32, Launch) {
        match self.kernels.get(&(run, id)) {
            Some(&known) => known,
            None => (self.builder.kernel(process, id as u64), Launch::default()),
        }
    }

    /// What the event of a record tells.
    pub(super) fn event(&self, run: u32, id: Option<i64>) -> Option<Event> {
        id.and_then(|id| self.events.get(&(run, id)).copied())
    }

    /// Position of a counter that has a value.
    pub(super) fn counter(&mut self, run: u32, id: i64) -> Option<u32> {
        if let Some(&position) = self.counters.get(&(run, id)) {
            return Some(position);
        }
        let counter = self.described_counters.get(&(run, id))?.clone();
        let position = self.builder.counter(&counter.name.clone(), || counter);
        self.counters.insert((run, id), position);
        Some(position)
    }
}
