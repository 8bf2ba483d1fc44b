//! Records of the files of one process.

use hashbrown::HashMap;

use super::agents::Agents;
use super::table::{Column, Fault, Names, Row, Table};
use crate::error::IngestError;
use crate::rocprof::builder::{Machines, Place, ProfileBuilder};
use crate::rocprof::profile::{AgentKind, CopyDirection, Domain, Kernel, Launch, Sample};
use crate::string_table::StringId;
use crate::time::Nanoseconds;

pub(super) const START: Names = &["start_timestamp", "start_time", "start"];
pub(super) const END: Names = &["end_timestamp", "end_time", "end"];
pub(super) const KERNEL: Names = &["kernel_name", "kernel"];
pub(super) const DISPATCH: Names = &["dispatch_id"];
const AGENT: Names = &["agent_id", "agent"];
const KIND: Names = &["kind", "domain"];
pub(super) const PROCESS: Names = &["process_id", "pid"];

/// Reads the files of one process, file by file.
pub(super) struct Records<'b> {
    pub(super) builder: &'b mut ProfileBuilder,
    pub(super) machines: &'b mut Machines,
    pub(super) agents: Agents,
    pub(super) process: u32,
    kernels: HashMap<(u32, Option<u64>, StringId), u32>,
}

/// Columns of when and where something was done, and by whom.
struct PlaceColumns {
    start: Column,
    end: Column,
    correlation: Column,
    thread: Column,
    queue: Column,
    stream: Column,
}

impl PlaceColumns {
    fn new(table: &Table<'_>, start: Column, end: Column) -> Self {
        PlaceColumns {
            start,
            end,
            correlation: table.column(&["correlation_id"]),
            thread: table.column(&["thread_id", "tid"]),
            queue: table.column(&["queue_id", "queue"]),
            stream: table.column(&["stream_id", "stream"]),
        }
    }

    fn read(&self, row: &Row<'_>, process: u32) -> Result<Place, Fault> {
        Ok(Place {
            start: row.time(self.start)?,
            end: row.time(self.end)?,
            correlation: row.unsigned(self.correlation)?,
            thread: row.integer(self.thread)?.unwrap_or(0),
            queue: row.unsigned(self.queue)?.unwrap_or(0),
            stream: row.unsigned(self.stream)?.unwrap_or(0),
            process,
        })
    }
}

pub(super) struct DispatchColumns {
    kernel: Column,
    kernel_id: Column,
    pub(super) number: Column,
    agent: Column,
    place: PlaceColumns,
    configuration: Configuration,
}

impl DispatchColumns {
    pub(super) fn new(table: &Table<'_>, kernel: Column, start: Column, end: Column) -> Self {
        DispatchColumns {
            kernel,
            kernel_id: table.column(&["kernel_id"]),
            number: table.column(DISPATCH),
            agent: table.column(AGENT),
            place: PlaceColumns::new(table, start, end),
            configuration: Configuration::new(table),
        }
    }

    pub(super) fn correlation(&self) -> Column {
        self.place.correlation
    }

    /// Whether a row has all that makes a dispatch.
    pub(super) fn describe(&self, row: &Row<'_>) -> bool {
        !row.bytes(self.kernel).is_empty() && self.place.start.is_present() && self.place.end.is_present()
    }
}

/// A dispatch as a row has it.
pub(super) struct DispatchRow {
    pub(super) place: Place,
    number: Option<u64>,
    kernel_id: Option<u64>,
    pub(super) kernel: StringId,
    pub(super) agent: StringId,
    launch: Launch,
}

impl<'b> Records<'b> {
    pub(super) fn new(
        builder: &'b mut ProfileBuilder,
        machines: &'b mut Machines,
        host: Option<String>,
        process: u32,
    ) -> Self {
        Records { builder, machines, agents: Agents::new(host), process, kernels: HashMap::new() }
    }

    pub(super) fn describe_agents(&mut self, table: &mut Table<'_>) -> Result<(), IngestError> {
        self.agents.describe(table, self.builder, self.machines)
    }

    pub(super) fn dispatches(&mut self, table: &mut Table<'_>) -> Result<(), IngestError> {
        let [kernel, start, end] = table.required([KERNEL, START, END])?;
        let columns = DispatchColumns::new(table, kernel, start, end);
        table.rows(|row| self.dispatch(row, &columns).map(drop))
    }

    /// Adds the dispatch of a row; returns its position.
    fn dispatch(&mut self, row: &Row<'_>, columns: &DispatchColumns) -> Result<u32, Fault> {
        let row = self.dispatch_row(row, columns)?;
        Ok(self.add_dispatch(self.process, row))
    }

    /// What a row says of a dispatch.
    pub(super) fn dispatch_row(
        &mut self,
        row: &Row<'_>,
        columns: &DispatchColumns,
    ) -> Result<DispatchRow, Fault> {
        Ok(DispatchRow {
            place: columns.place.read(row, self.process)?,
            number: row.unsigned(columns.number)?,
            kernel_id: row.unsigned(columns.kernel_id)?,
            launch: columns.configuration.read(row)?,
            agent: self.builder.intern_bytes(row.bytes(columns.agent)),
            kernel: self.builder.intern_bytes(row.bytes(columns.kernel)),
        })
    }

    /// Adds a dispatch of a process; returns its position.
    pub(super) fn add_dispatch(&mut self, process: u32, row: DispatchRow) -> u32 {
        let DispatchRow { place, number, kernel_id, kernel, agent, launch } = row;
        let agent = self.builder.profile.text(agent).as_bytes().to_vec();
        let agent = self.agent(&agent, AgentKind::Gpu);
        let kernel = self.kernel(process, kernel_id, kernel);
        let launch = self.builder.launch(launch);
        self.builder.dispatch(Place { process, ..place }, number.unwrap_or(0), agent, kernel, launch)
    }

    pub(super) fn calls(&mut self, table: &mut Table<'_>) -> Result<(), IngestError> {
        let [name, start, end] = table.required([&["function", "name"], START, END])?;
        let columns = PlaceColumns::new(table, start, end);
        let (kind, process) = (table.column(KIND), table.column(PROCESS));
        // The domain of files without that column is in their name.
        let file_kind = table.name.to_ascii_uppercase();
        let domain_of_file = ["HIP", "HSA", "MARKER", "RCCL", "ROCDECODE", "ROCJPEG"]
            .into_iter()
            .find(|domain| file_kind.contains(&format!("{domain}_")))
            .unwrap_or_default();
        table.rows(|row| {
            let place = columns.read(row, self.process)?;
            self.note_process(self.process, row.integer(process)?);
            let kind = match row.bytes(kind) {
                b"" => self.builder.profile.strings.intern(domain_of_file),
                kind => self.builder.intern_bytes(kind),
            };
            let domain = Domain::from_kind(self.builder.profile.text(kind));
            let name = self.builder.intern_bytes(row.bytes(name));
            self.builder.call(place, domain, kind, name, 0);
            Ok(())
        })
    }

    pub(super) fn copies(&mut self, table: &mut Table<'_>) -> Result<(), IngestError> {
        let [name, start, end] = table.required([&["direction", "operation", "name"], START, END])?;
        let columns = PlaceColumns::new(table, start, end);
        let source = table.column(&["source_agent_id", "src_agent_id"]);
        let destination = table.column(&["destination_agent_id", "dst_agent_id"]);
        let bytes = table.column(&["copy_bytes", "bytes", "size"]);
        table.rows(|row| {
            let (place, bytes) = (columns.read(row, self.process)?, row.unsigned(bytes)?);
            let name = self.copy_name(row.bytes(name));
            let direction = CopyDirection::from_name(self.builder.profile.text(name));
            let [from, to] = direction.agent_kinds();
            let agents = [self.agent(row.bytes(source), from), self.agent(row.bytes(destination), to)];
            self.builder.copy(place, name, direction, bytes, agents);
            Ok(())
        })
    }

    pub(super) fn allocations(&mut self, table: &mut Table<'_>) -> Result<(), IngestError> {
        let [name, start, end] = table.required([&["operation", "type"], START, END])?;
        let (columns, agent) = (PlaceColumns::new(table, start, end), table.column(AGENT));
        let (bytes, address) = (table.column(&["allocation_size", "size"]), table.column(&["address"]));
        table.rows(|row| {
            let place = columns.read(row, self.process)?;
            let (bytes, address) = (row.unsigned(bytes)?, row.unsigned(address)?);
            let agent = self.agent(row.bytes(agent), AgentKind::Unknown);
            let name = self.builder.intern_bytes(row.bytes(name));
            self.builder.allocation(place, name, agent, address.unwrap_or(0), bytes.unwrap_or(0));
            Ok(())
        })
    }

    pub(super) fn scratch(&mut self, table: &mut Table<'_>) -> Result<(), IngestError> {
        let [name, start, end] = table.required([&["operation"], START, END])?;
        let (columns, agent) = (PlaceColumns::new(table, start, end), table.column(AGENT));
        let bytes = table.column(&["allocation_size", "size"]);
        table.rows(|row| {
            let (place, bytes) = (columns.read(row, self.process)?, row.unsigned(bytes)?);
            let agent = self.agent(row.bytes(agent), AgentKind::Gpu);
            let name = self.builder.intern_bytes(row.bytes(name));
            self.builder.scratch(place, name, agent, bytes);
            Ok(())
        })
    }

    pub(super) fn samples(&mut self, table: &mut Table<'_>) -> Result<(), IngestError> {
        let [time] = table.required([&["sample_timestamp"]])?;
        let (dispatch_id, instruction) = (table.column(DISPATCH), table.column(&["instruction"]));
        table.rows(|row| {
            let time = Nanoseconds(row.time(time)?);
            let dispatch_id = row.unsigned(dispatch_id)?;
            let instruction = self.builder.intern_bytes(row.bytes(instruction));
            self.builder.profile.samples.push(Sample {
                time,
                dispatch_id: dispatch_id.unwrap_or(0),
                process: self.process,
                instruction,
                ..Sample::default()
            });
            Ok(())
        })
    }

    fn agent(&mut self, text: &[u8], kind: AgentKind) -> Option<u32> {
        self.agents.find(text, kind, self.builder, self.machines)
    }

    /// A kernel by its number and the name that the files have of it. The truncated name is put in at the end, when
    /// it is known which name that was.
    fn kernel(&mut self, process: u32, id: Option<u64>, formatted: StringId) -> u32 {
        let Records { builder, kernels, .. } = self;
        *kernels.entry((process, id, formatted)).or_insert_with(|| {
            builder.named_kernel(Kernel { process, id, formatted: Some(formatted), ..Kernel::default() })
        })
    }

    /// The number of the process where its files are not named by it.
    pub(super) fn note_process(&mut self, process: u32, pid: Option<i64>) {
        let process = &mut self.builder.profile.processes[process as usize];
        process.pid = process.pid.or(pid);
    }

    /// Older files leave out `MEMORY_COPY_`, which all other formats have.
    fn copy_name(&mut self, name: &[u8]) -> StringId {
        if name.starts_with(b"HOST_TO_") || name.starts_with(b"DEVICE_TO_") {
            self.builder.intern_bytes(&[b"MEMORY_COPY_", name].concat())
        } else {
            self.builder.intern_bytes(name)
        }
    }
}

/// Columns of a launch configuration.
struct Configuration {
    grid: [Column; 3],
    workgroup: [Column; 3],
    products_only: bool,
    private_segment: Column,
    group_segment: Column,
    vgprs: Column,
    accum_vgprs: Column,
    sgprs: Column,
}

impl Configuration {
    fn new(table: &Table<'_>) -> Self {
        let axes = |x: Names, y: Names, z: Names| [table.column(x), table.column(y), table.column(z)];
        let grid = axes(&["grid_size_x", "grid_size"], &["grid_size_y"], &["grid_size_z"]);
        Configuration {
            grid,
            workgroup: axes(
                &["workgroup_size_x", "workgroup_size"],
                &["workgroup_size_y"],
                &["workgroup_size_z"],
            ),
            products_only: grid[0].is_present() && !grid[1].is_present(),
            private_segment: table.column(&["scratch_size", "private_segment_size"]),
            group_segment: table.column(&["lds_block_size", "group_segment_size"]),
            vgprs: table.column(&["vgpr_count", "arch_vgpr_count"]),
            accum_vgprs: table.column(&["accum_vgpr_count"]),
            sgprs: table.column(&["sgpr_count"]),
        }
    }

    fn read(&self, row: &Row<'_>) -> Result<Launch, Fault> {
        let axes = |columns: [Column; 3]| {
            Ok([row.size(columns[0], 1)?, row.size(columns[1], 1)?, row.size(columns[2], 1)?])
        };
        Ok(Launch {
            grid: axes(self.grid)?,
            workgroup: axes(self.workgroup)?,
            products_only: self.products_only,
            private_segment: row.size(self.private_segment, 0)?,
            group_segment: row.size(self.group_segment, 0)?,
            vgprs: row.size(self.vgprs, 0)?,
            accum_vgprs: row.size(self.accum_vgprs, 0)?,
            sgprs: row.size(self.sgprs, 0)?,
        })
    }
}
