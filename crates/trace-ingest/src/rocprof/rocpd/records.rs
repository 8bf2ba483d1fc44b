//! Records of a rocpd database.

use hashbrown::HashMap;

use super::context::{Context, Key, Track};
use super::schema::{Broken, Columns, Fault, Record};
use crate::rocprof::profile::{
    AgentKind, Allocation, Call, CopyDirection, CounterValue, Dispatch, Domain, Launch, MemoryCopy,
    ScratchEvent,
};
use crate::string_table::StringId;

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

/// What every record has.
struct Place {
    start: i64,
    end: i64,
    process: u32,
    thread: i64,
    queue: u64,
    stream: u64,
    agent: Option<i64>,
    correlation: Option<u64>,
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
        self.read_moments()?;
        self.read_allocations()?;
        self.read_counters(&dispatch_of_event)
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
        let mut of_event = HashMap::new();
        self.rows("rocpd_kernel_dispatch", &wanted, |context, row, known| {
            let place = context.place(row, known)?;
            let kernel = row.required(OWN)?;
            let dispatch_id = row.unsigned(OWN + 1)?;
            let (private_segment, group_segment) = (row.size(OWN + 2, 0)?, row.size(OWN + 3, 0)?);
            let workgroup = [row.size(OWN + 4, 1)?, row.size(OWN + 5, 1)?, row.size(OWN + 6, 1)?];
            let grid = [row.size(OWN + 7, 1)?, row.size(OWN + 8, 1)?, row.size(OWN + 9, 1)?];
            let (kernel, registers) = context.kernel(row.run, place.process, kernel);
            let launch = context.builder.launch(Launch {
                grid,
                workgroup,
                products_only: false,
                private_segment,
                group_segment,
                vgprs: registers.vgprs,
                accum_vgprs: registers.accum_vgprs,
                sgprs: registers.sgprs,
            });
            let agent = context.agent(row.run, place.agent, AgentKind::Gpu);
            let (start, end) = context.builder.span(place.start, place.end);
            let dispatches = &mut context.builder.profile.dispatches;
            if let Some(event) = place.event {
                of_event.insert((row.run, event), dispatches.len() as u32);
            }
            dispatches.push(Dispatch {
                start,
                end,
                correlation: place.correlation,
                dispatch_id,
                thread: place.thread,
                queue: place.queue,
                stream: place.stream,
                process: place.process,
                agent,
                kernel,
                launch,
            });
            Ok(())
        })?;
        Ok(of_event)
    }

    fn read_copies(&mut self) -> Result<(), Broken> {
        const OWN: usize = COMMON.len();
        let wanted = columns(&["name_id", "src_agent_id", "dst_agent_id", "size"]);
        self.rows("rocpd_memory_copy", &wanted, |context, row, known| {
            let place = context.place(row, known)?;
            let name = context.string(row.run, row.integer(OWN)?);
            let (source, destination) = (row.integer(OWN + 1)?, row.integer(OWN + 2)?);
            let bytes = row.integer(OWN + 3)?.and_then(|bytes| u64::try_from(bytes).ok());
            let source = context.agent(row.run, source, AgentKind::Unknown);
            let destination = context.agent(row.run, destination, AgentKind::Unknown);
            let (start, end) = context.builder.span(place.start, place.end);
            let direction = CopyDirection::of_name(context.builder.profile.text(name));
            context.builder.profile.copies.push(MemoryCopy {
                start,
                end,
                correlation: place.correlation,
                bytes,
                thread: place.thread,
                stream: place.stream,
                process: place.process,
                source,
                destination,
                direction,
                name,
            });
            Ok(())
        })
    }

    /// Calls of libraries and ranges of the program.
    fn read_calls(&mut self) -> Result<(), Broken> {
        self.rows("rocpd_region", &columns(&["name_id"]), |context, row, known| {
            let place = context.place(row, known)?;
            let name = context.string(row.run, row.integer(COMMON.len())?);
            context.push_call(place, name);
            Ok(())
        })
    }

    /// Calls and marks without length, which stand in a table of their own and may have no name there.
    fn read_moments(&mut self) -> Result<(), Broken> {
        const OWN: usize = COMMON.len();
        self.rows("rocpd_sample", &columns(&["timestamp", "timestamp_id", "name_id"]), |context, row, _| {
            let track = context.track(row)?;
            let time = match (row.integer(OWN)?, row.integer(OWN + 1)?) {
                (Some(time), _) => time,
                (None, Some(id)) => {
                    context.timestamps.get(&(row.run, id)).copied().map_or_else(|| row.required(OWN), Ok)?
                }
                (None, None) => row.required(OWN)?,
            };
            let place = context.placed(row, track, time, time)?;
            let name = context.string(row.run, row.integer(OWN + 2)?.or(track.name));
            context.push_call(place, name);
            Ok(())
        })
    }

    fn push_call(&mut self, place: Place, name: StringId) {
        let (start, end) = self.builder.span(place.start, place.end);
        let domain = Domain::of_kind(self.builder.profile.text(place.category));
        self.builder.profile.calls.push(Call {
            start,
            end,
            correlation: place.correlation,
            thread: place.thread,
            stream: place.stream,
            operation: 0,
            process: place.process,
            domain,
            kind: place.category,
            name: place.message.filter(|_| domain == Domain::Marker).unwrap_or(name),
        });
    }

    /// Device memory and scratch memory.
    fn read_allocations(&mut self) -> Result<(), Broken> {
        const OWN: usize = COMMON.len();
        self.rows(
            "rocpd_memory_allocate",
            &columns(&["type", "level", "address", "size"]),
            |context, row, known| {
                let place = context.place(row, known)?;
                let (kind, level) =
                    (row.text(OWN).unwrap_or_default(), row.text(OWN + 1).unwrap_or_default());
                let (address, bytes) = (row.unsigned(OWN + 2)?, row.integer(OWN + 3)?);
                let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
                let agent = context.agent(row.run, place.agent, AgentKind::Unknown);
                let (start, end) = context.builder.span(place.start, place.end);
                let name = operation(kind, level);
                let profile = &mut context.builder.profile;
                let name = profile.strings.intern(&name);
                if level == b"SCRATCH" {
                    let (queue, process) = (place.queue, place.process);
                    profile.scratch.push(ScratchEvent { start, end, bytes, queue, process, agent, name });
                } else {
                    profile.allocations.push(Allocation {
                        start,
                        end,
                        correlation: place.correlation,
                        address,
                        bytes: bytes.unwrap_or(0),
                        process: place.process,
                        agent,
                        name,
                    });
                }
                Ok(())
            },
        )
    }

    fn read_counters(&mut self, dispatch_of_event: &HashMap<Key, u32>) -> Result<(), Broken> {
        let mut values: HashMap<(u32, u32), usize> = HashMap::new();
        self.rows("rocpd_pmc_event", &["event_id", "pmc_id", "value"], |context, row, _| {
            // Other events have counters too: pages that were moved, queues that were evicted.
            let dispatch =
                row.integer(0)?.and_then(|event| dispatch_of_event.get(&(row.run, event)).copied());
            let Some(dispatch) = dispatch else { return Ok(()) };
            let id = row.required(1)?;
            let value = row.float(2)?;
            let counter =
                context.counter(row.run, id).ok_or_else(|| row.fault(1, "no counter of the database"))?;
            let all = &mut context.builder.profile.counter_values;
            match values.get(&(dispatch, counter)) {
                Some(&known) => all[known].value += value,
                None => {
                    values.insert((dispatch, counter), all.len());
                    all.push(CounterValue { dispatch, counter, value });
                }
            }
            Ok(())
        })
    }

    /// Times and place of a record.
    fn place(&mut self, row: &Record<'_>, known: &Columns) -> Result<Place, Fault> {
        let time = |context: &Self, direct: usize, by_reference: usize| {
            if known.has(direct) || !known.has(by_reference) {
                return row.required(direct);
            }
            let id = row.required(by_reference)?;
            let time = context.timestamps.get(&(row.run, id)).copied();
            time.ok_or_else(|| row.fault(by_reference, "no timestamp of the database"))
        };
        let (start, end) = (time(self, 0, 2)?, time(self, 1, 3)?);
        let track = self.track(row)?;
        self.placed(row, track, start, end)
    }

    fn track(&self, row: &Record<'_>) -> Result<Track, Fault> {
        let id = row.integer(4)?;
        Ok(id.and_then(|id| self.tracks.get(&(row.run, id)).copied()).unwrap_or_default())
    }

    fn placed(&mut self, row: &Record<'_>, track: Track, start: i64, end: i64) -> Result<Place, Fault> {
        let process = row.integer(5)?.or(track.process);
        let thread = row.integer(6)?.or(track.thread);
        let queue = row.integer(7)?.or(track.queue);
        let stream = row.integer(8)?.or(track.stream);
        let event = row.integer(9)?;
        let agent = row.integer(10)?.or(track.agent);
        let told = self.event(row.run, event);
        Ok(Place {
            start,
            end,
            process: self.process(row.run, process),
            thread: self.thread(row.run, thread),
            queue: queue.unwrap_or(0) as u64,
            stream: stream.unwrap_or(0) as u64,
            agent,
            correlation: told.and_then(|event| event.correlation),
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
