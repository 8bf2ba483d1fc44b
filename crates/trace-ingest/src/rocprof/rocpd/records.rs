//! Records of a rocpd database.

use hashbrown::{HashMap, HashSet};

use super::context::{Context, Key, Track};
use super::schema::{Columns, Record};
use crate::rocprof::builder::Place;
use crate::rocprof::profile::{AgentKind, CopyDirection, Domain, Launch};
use crate::sqlite::{Broken, Fault};
use crate::string_table::StringId;
use crate::warning::{RecordFault, Warning};

/// Columns that all tables of records have, first in every query. Newer databases give times and places by
/// reference.
const COMMON: [&str; 11] = [
    "start",
    "end",
    "start_id",
    "end_id",
    "track_id",
    "pid",
    "tid",
    "queue_id",
    "stream_id",
    "event_id",
    "agent_id",
];

struct Head {
    place: Place,
    agent: Option<i64>,
    category: StringId,
    message: Option<StringId>,
    event: Option<i64>,
}

fn columns<'c>(own: &[&'c str]) -> Vec<&'c str> {
    COMMON.iter().chain(own).copied().collect()
}

impl Context<'_> {
    /// Reads all records.
    pub(super) fn read_records(&mut self) -> Result<(), Broken> {
        let dispatch_of_event = self.read_dispatches()?;
        self.read_copies()?;
        self.read_calls()?;
        let counter_samples = self.read_counters(&dispatch_of_event)?;
        self.read_moments(&counter_samples)?;
        self.read_allocations()
    }

    /// Returns which event belongs to which dispatch.
    fn read_dispatches(&mut self) -> Result<HashMap<Key, u32>, Broken> {
        let wanted = columns(&[
            "kernel_id",
            "dispatch_id",
            "private_segment_size",
            "group_segment_size",
            "workgroup_size_x",
            "workgroup_size_y",
            "workgroup_size_z",
            "grid_size_x",
            "grid_size_y",
            "grid_size_z",
        ]);
        const OWN: usize = COMMON.len();
        let mut dispatch_by_event = HashMap::new();
        self.rows("rocpd_kernel_dispatch", &wanted, |context, row, known| {
            let head = context.head(row, known)?;
            let kernel = row.required(OWN)?;
            let dispatch_id = row.unsigned(OWN + 1)?;
            let (private_segment, group_segment) = (row.size(OWN + 2, 0)?, row.size(OWN + 3, 0)?);
            let workgroup = [row.size(OWN + 4, 1)?, row.size(OWN + 5, 1)?, row.size(OWN + 6, 1)?];
            let grid = [row.size(OWN + 7, 1)?, row.size(OWN + 8, 1)?, row.size(OWN + 9, 1)?];
            let (kernel, registers) = context.kernel(row.run, head.place.process, kernel);
            let launch = context.builder.launch(Launch {
                grid,
                workgroup,
                private_segment,
                group_segment,
                ..registers
            });
            let agent = context.agent(row.run, head.agent, AgentKind::Gpu);
            let dispatch = context.builder.dispatch(head.place, dispatch_id, agent, kernel, launch);
            dispatch_by_event.extend(head.event.map(|event| ((row.run, event), dispatch)));
            Ok(())
        })?;
        Ok(dispatch_by_event)
    }

    fn read_copies(&mut self) -> Result<(), Broken> {
        const OWN: usize = COMMON.len();
        let wanted = columns(&["name_id", "src_agent_id", "dst_agent_id", "size"]);
        self.rows("rocpd_memory_copy", &wanted, |context, row, known| {
            let place = context.head(row, known)?.place;
            let name = context.string(row.run, row.integer(OWN)?);
            let agents = [row.integer(OWN + 1)?, row.integer(OWN + 2)?];
            let bytes = row.integer(OWN + 3)?.and_then(|bytes| u64::try_from(bytes).ok());
            let agents = agents.map(|agent| context.agent(row.run, agent, AgentKind::Unknown));
            let direction = CopyDirection::from_name(context.builder.profile.text(name));
            context.builder.copy(place, name, direction, bytes, agents);
            Ok(())
        })
    }

    /// Calls of libraries and ranges of the program.
    fn read_calls(&mut self) -> Result<(), Broken> {
        self.rows("rocpd_region", &columns(&["name_id"]), |context, row, known| {
            let head = context.head(row, known)?;
            let name = context.string(row.run, row.integer(COMMON.len())?);
            context.add_call(&head, name);
            Ok(())
        })
    }

    /// Calls and marks without length, which stand in a table of their own and may have no name there. So do the moments
    /// at which counters were sampled, which are none.
    fn read_moments(&mut self, counter_samples: &HashSet<Key>) -> Result<(), Broken> {
        const OWN: usize = COMMON.len();
        let wanted = columns(&["timestamp", "timestamp_id", "name_id", "id"]);
        self.rows("rocpd_sample", &wanted, |context, row, _| {
            if row.integer(OWN + 3)?.is_some_and(|id| counter_samples.contains(&(row.run, id))) {
                return Ok(());
            }
            let track = context.track(row)?;
            let time = match (row.integer(OWN)?, row.integer(OWN + 1)?) {
                (Some(time), _) => time,
                (None, Some(id)) => {
                    context.timestamps.get(&(row.run, id)).copied().map_or_else(|| row.required(OWN), Ok)?
                }
                (None, None) => row.required(OWN)?,
            };
            let head = context.head_at(row, track, time, time)?;
            let name = context.string(row.run, row.integer(OWN + 2)?.or(track.name));
            context.add_call(&head, name);
            Ok(())
        })
    }

    fn add_call(&mut self, head: &Head, name: StringId) {
        let domain = Domain::from_kind(self.builder.profile.text(head.category));
        let name = head.message.filter(|_| domain == Domain::Marker).unwrap_or(name);
        self.builder.call(head.place, domain, head.category, name, 0);
    }

    /// Device memory and scratch memory.
    fn read_allocations(&mut self) -> Result<(), Broken> {
        const OWN: usize = COMMON.len();
        self.rows(
            "rocpd_memory_allocate",
            &columns(&["type", "level", "address", "size"]),
            |context, row, known| {
                let head = context.head(row, known)?;
                let (kind, level) =
                    (row.text(OWN).unwrap_or_default(), row.text(OWN + 1).unwrap_or_default());
                let (address, bytes) = (row.unsigned(OWN + 2)?, row.integer(OWN + 3)?);
                let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
                let agent = context.agent(row.run, head.agent, AgentKind::Unknown);
                let name = context.builder.profile.strings.intern(&operation(kind, level));
                if level == b"SCRATCH" {
                    context.builder.scratch(head.place, name, agent, bytes);
                } else {
                    context.builder.allocation(head.place, name, agent, address, bytes.unwrap_or(0));
                }
                Ok(())
            },
        )
    }

    /// Values of counters during dispatches. Rows with a sample are values at a moment of a dispatch (SPM), which make
    /// no total of it; returns the samples of these.
    fn read_counters(&mut self, dispatch_of_event: &HashMap<Key, u32>) -> Result<HashSet<Key>, Broken> {
        let mut samples = HashSet::new();
        let mut sampled = 0;
        self.rows("rocpd_pmc_event", &["event_id", "pmc_id", "value", "sample_id"], |context, row, _| {
            if let Some(sample) = row.integer(3)? {
                samples.insert((row.run, sample));
                sampled += 1;
                return Ok(());
            }
            // Other events have counters too: pages that were moved, queues that were evicted.
            let dispatch =
                row.integer(0)?.and_then(|event| dispatch_of_event.get(&(row.run, event)).copied());
            let Some(dispatch) = dispatch else { return Ok(()) };
            let id = row.required(1)?;
            let value = row.float(2)?;
            let counter =
                context.counter(row.run, id).ok_or_else(|| row.fault(1, "not a counter in the database"))?;
            context.builder.add_counter_value(dispatch, counter, value);
            Ok(())
        })?;
        if sampled > 0 {
            let warning = Warning::Records { fault: RecordFault::SampledCounter, count: sampled };
            self.builder.profile.warnings.push(warning);
        }
        Ok(samples)
    }

    /// Times and place of a record.
    fn head(&mut self, row: &Record<'_>, known: &Columns) -> Result<Head, Fault> {
        let time = |context: &Self, direct: usize, by_reference: usize| {
            if known.has(direct) || !known.has(by_reference) {
                return row.required(direct);
            }
            let id = row.required(by_reference)?;
            let time = context.timestamps.get(&(row.run, id)).copied();
            time.ok_or_else(|| row.fault(by_reference, "not a timestamp in the database"))
        };
        let (start, end) = (time(self, 0, 2)?, time(self, 1, 3)?);
        let track = self.track(row)?;
        self.head_at(row, track, start, end)
    }

    fn track(&self, row: &Record<'_>) -> Result<Track, Fault> {
        let id = row.integer(4)?;
        Ok(id.and_then(|id| self.tracks.get(&(row.run, id)).copied()).unwrap_or_default())
    }

    fn head_at(&mut self, row: &Record<'_>, track: Track, start: i64, end: i64) -> Result<Head, Fault> {
        let process = row.integer(5)?.or(track.process);
        let thread = row.integer(6)?.or(track.thread);
        let queue = row.integer(7)?.or(track.queue);
        let stream = row.integer(8)?.or(track.stream);
        let event = row.integer(9)?;
        let agent = row.integer(10)?.or(track.agent);
        let told = self.event(row.run, event);
        let place = Place {
            start,
            end,
            correlation: told.and_then(|event| event.correlation),
            thread: self.thread(row.run, thread),
            queue: queue.unwrap_or(0) as u64,
            stream: stream.unwrap_or(0) as u64,
            process: self.process(row.run, process),
        };
        Ok(Head {
            place,
            agent,
            category: told.map_or(StringId::EMPTY, |event| event.category),
            message: told.and_then(|event| event.message),
            event,
        })
    }
}

/// The name that the other formats have of an allocation; the database has it in two parts.
fn operation(kind: &[u8], level: &[u8]) -> String {
    let name = match (level, kind) {
        (b"REAL", b"ALLOC") => "MEMORY_ALLOCATION_ALLOCATE",
        (b"REAL", b"FREE") => "MEMORY_ALLOCATION_FREE",
        (b"VIRTUAL", b"ALLOC") => "MEMORY_ALLOCATION_VMEM_ALLOCATE",
        (b"VIRTUAL", b"FREE") => "MEMORY_ALLOCATION_VMEM_FREE",
        (b"SCRATCH", b"ALLOC") => "SCRATCH_MEMORY_ALLOC",
        (b"SCRATCH", b"FREE") => "SCRATCH_MEMORY_FREE",
        (b"SCRATCH", b"RECLAIM") => "SCRATCH_MEMORY_ASYNC_RECLAIM",
        _ => return format!("{}_{}", String::from_utf8_lossy(level), String::from_utf8_lossy(kind)),
    };
    name.to_string()
}
