//! Records of the files of one process.

use hashbrown::HashMap;

use super::agents::{Agents, text};
use super::table::{Column, Fault, Names, Row, Table};
use crate::error::IngestError;
use crate::rocprof::builder::Machines;
use crate::rocprof::builder::ProfileBuilder;
use crate::rocprof::profile::{
    AgentKind, Allocation, Call, CopyDirection, Dispatch, Domain, Kernel, Launch, MemoryCopy, Sample,
    ScratchEvent,
};
use crate::string_table::StringId;

pub(super) const START: Names = &["start_timestamp", "start_time", "start"];
pub(super) const END: Names = &["end_timestamp", "end_time", "end"];
pub(super) const KERNEL: Names = &["kernel_name", "kernel"];
pub(super) const AGENT: Names = &["agent_id", "agent"];
pub(super) const CORRELATION: Names = &["correlation_id"];
pub(super) const PROCESS: Names = &["process_id", "pid"];
pub(super) const THREAD: Names = &["thread_id", "tid"];
pub(super) const DISPATCH: Names = &["dispatch_id"];
const QUEUE: Names = &["queue_id", "queue"];
const STREAM: Names = &["stream_id", "stream"];
const KIND: Names = &["kind", "domain"];

/// Reads the files of one process, file by file.
pub(super) struct Records<'b> {
    pub(super) builder: &'b mut ProfileBuilder,
    pub(super) machines: &'b mut Machines,
    pub(super) agents: Agents,
    pub(super) process: u32,
    /// Kernels by number and name.
    kernels: HashMap<(Option<u64>, StringId), u32>,
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

    pub(super) fn describe_agents(&mut self, table: &mut Table) -> Result<(), IngestError> {
        self.agents.describe(table, self.builder, self.machines)
    }

    pub(super) fn dispatches(&mut self, table: &mut Table) -> Result<(), IngestError> {
        let [name, start, end] = table.required([KERNEL, START, END])?;
        let kernel_id = table.column(&["kernel_id"]);
        let (agent, queue, stream, thread) =
            (table.column(AGENT), table.column(QUEUE), table.column(STREAM), table.column(THREAD));
        let (dispatch_id, correlation) = (table.column(DISPATCH), table.column(CORRELATION));
        let configuration = Configuration::of(table);
        table.rows(|row| {
            let (start, end) = (row.time(start)?, row.time(end)?);
            let correlation = row.unsigned(correlation)?;
            let (dispatch_id, thread) = (row.unsigned(dispatch_id)?, row.integer(thread)?);
            let (queue, stream) = (row.unsigned(queue)?, row.unsigned(stream)?);
            let kernel_id = row.unsigned(kernel_id)?;
            let launch = configuration.read(row)?;
            let (start, end) = self.builder.span(start, end);
            let dispatch = Dispatch {
                start,
                end,
                correlation,
                dispatch_id: dispatch_id.unwrap_or(0),
                thread: thread.unwrap_or(0),
                queue: queue.unwrap_or(0),
                stream: stream.unwrap_or(0),
                process: self.process,
                agent: self.agent(row.bytes(agent), AgentKind::Gpu),
                kernel: self.kernel(kernel_id, row.bytes(name)),
                launch: self.builder.launch(launch),
            };
            self.builder.profile.dispatches.push(dispatch);
            Ok(())
        })
    }

    pub(super) fn calls(&mut self, table: &mut Table) -> Result<(), IngestError> {
        let [name, start, end] = table.required([&["function", "name"], START, END])?;
        let (kind, thread, correlation) =
            (table.column(KIND), table.column(THREAD), table.column(CORRELATION));
        let (stream, process) = (table.column(STREAM), table.column(PROCESS));
        // The domain of files without that column is in their name.
        let file_kind = table.name.to_ascii_uppercase();
        let domain_of_file = ["HIP", "HSA", "MARKER", "RCCL", "ROCDECODE", "ROCJPEG"]
            .into_iter()
            .find(|domain| file_kind.contains(&format!("{domain}_")))
            .map_or("", |domain| domain);
        table.rows(|row| {
            let (start, end) = (row.time(start)?, row.time(end)?);
            let (correlation, thread) = (row.unsigned(correlation)?, row.integer(thread)?);
            let stream = row.unsigned(stream)?;
            self.note_process(row.integer(process)?);
            let kind = match row.bytes(kind) {
                b"" => self.builder.profile.strings.intern(domain_of_file),
                kind => self.intern(kind),
            };
            let (start, end) = self.builder.span(start, end);
            let call = Call {
                start,
                end,
                correlation,
                thread: thread.unwrap_or(0),
                stream: stream.unwrap_or(0),
                operation: 0,
                process: self.process,
                domain: Domain::of_kind(self.builder.profile.text(kind)),
                kind,
                name: self.intern(row.bytes(name)),
            };
            self.builder.profile.calls.push(call);
            Ok(())
        })
    }

    pub(super) fn copies(&mut self, table: &mut Table) -> Result<(), IngestError> {
        let [name, start, end] = table.required([&["direction", "operation", "name"], START, END])?;
        let (source, destination) = (
            table.column(&["source_agent_id", "src_agent_id"]),
            table.column(&["destination_agent_id", "dst_agent_id"]),
        );
        let (correlation, thread, stream) =
            (table.column(CORRELATION), table.column(THREAD), table.column(STREAM));
        let bytes = table.column(&["copy_bytes", "bytes", "size"]);
        table.rows(|row| {
            let (start, end) = (row.time(start)?, row.time(end)?);
            let (correlation, thread) = (row.unsigned(correlation)?, row.integer(thread)?);
            let (stream, bytes) = (row.unsigned(stream)?, row.unsigned(bytes)?);
            let name = self.copy_name(row.bytes(name));
            let direction = CopyDirection::of_name(self.builder.profile.text(name));
            let (from, to) = ends(direction);
            let (start, end) = self.builder.span(start, end);
            let copy = MemoryCopy {
                start,
                end,
                correlation,
                bytes,
                thread: thread.unwrap_or(0),
                stream: stream.unwrap_or(0),
                process: self.process,
                source: self.agent(row.bytes(source), from),
                destination: self.agent(row.bytes(destination), to),
                direction,
                name,
            };
            self.builder.profile.copies.push(copy);
            Ok(())
        })
    }

    pub(super) fn allocations(&mut self, table: &mut Table) -> Result<(), IngestError> {
        let [name, start, end] = table.required([&["operation", "type"], START, END])?;
        let (agent, correlation) = (table.column(AGENT), table.column(CORRELATION));
        let (bytes, address) = (table.column(&["allocation_size", "size"]), table.column(&["address"]));
        table.rows(|row| {
            let (start, end) = (row.time(start)?, row.time(end)?);
            let correlation = row.unsigned(correlation)?;
            let (bytes, address) = (row.unsigned(bytes)?, row.unsigned(address)?);
            let (start, end) = self.builder.span(start, end);
            let allocation = Allocation {
                start,
                end,
                correlation,
                address: address.unwrap_or(0),
                bytes: bytes.unwrap_or(0),
                process: self.process,
                agent: self.agent(row.bytes(agent), AgentKind::Unknown),
                name: self.intern(row.bytes(name)),
            };
            self.builder.profile.allocations.push(allocation);
            Ok(())
        })
    }

    pub(super) fn scratch(&mut self, table: &mut Table) -> Result<(), IngestError> {
        let [name, start, end] = table.required([&["operation"], START, END])?;
        let (agent, queue) = (table.column(AGENT), table.column(QUEUE));
        let bytes = table.column(&["allocation_size", "size"]);
        table.rows(|row| {
            let (start, end) = (row.time(start)?, row.time(end)?);
            let (queue, bytes) = (row.unsigned(queue)?, row.unsigned(bytes)?);
            let (start, end) = self.builder.span(start, end);
            let event = ScratchEvent {
                start,
                end,
                bytes,
                queue: queue.unwrap_or(0),
                process: self.process,
                agent: self.agent(row.bytes(agent), AgentKind::Gpu),
                name: self.intern(row.bytes(name)),
            };
            self.builder.profile.scratch.push(event);
            Ok(())
        })
    }

    pub(super) fn samples(&mut self, table: &mut Table) -> Result<(), IngestError> {
        let [time] = table.required([&["sample_timestamp"]])?;
        let (dispatch_id, instruction) = (table.column(DISPATCH), table.column(&["instruction"]));
        table.rows(|row| {
            let time = row.time(time)?;
            let dispatch_id = row.unsigned(dispatch_id)?;
            let instruction = self.intern(row.bytes(instruction));
            self.builder.profile.samples.push(Sample {
                time,
                dispatch_id: dispatch_id.unwrap_or(0),
                code_object: 0,
                offset: 0,
                process: self.process,
                instruction,
            });
            Ok(())
        })
    }

    pub(super) fn agent(&mut self, text: &[u8], kind: AgentKind) -> Option<u32> {
        self.agents.find(text, kind, self.builder, self.machines)
    }

    /// A kernel by its number and the name that the files have of it. The truncated name is put in at the end, when
    /// it is known which name that was.
    pub(super) fn kernel(&mut self, id: Option<u64>, name: &[u8]) -> u32 {
        let formatted = self.intern(name);
        let Records { builder, process, kernels, .. } = self;
        *kernels.entry((id, formatted)).or_insert_with(|| {
            builder.named_kernel(Kernel {
                process: *process,
                id,
                formatted: Some(formatted),
                ..Kernel::default()
            })
        })
    }

    /// The number of the process where its files are not named by it.
    pub(super) fn note_process(&mut self, pid: Option<i64>) {
        let process = &mut self.builder.profile.processes[self.process as usize];
        process.pid = process.pid.or(pid);
    }

    pub(super) fn intern(&mut self, bytes: &[u8]) -> StringId {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.builder.profile.strings.intern(text),
            Err(_) => {
                let text = text(bytes, self.builder);
                self.builder.profile.strings.intern(&text)
            }
        }
    }

    /// Older files leave out `MEMORY_COPY_`, which all other formats have.
    fn copy_name(&mut self, name: &[u8]) -> StringId {
        if name.starts_with(b"HOST_TO_") || name.starts_with(b"DEVICE_TO_") {
            self.intern(&[b"MEMORY_COPY_", name].concat())
        } else {
            self.intern(name)
        }
    }
}

/// What the agents of a copy are.
fn ends(direction: CopyDirection) -> (AgentKind, AgentKind) {
    match direction {
        CopyDirection::HostToHost => (AgentKind::Cpu, AgentKind::Cpu),
        CopyDirection::HostToDevice => (AgentKind::Cpu, AgentKind::Gpu),
        CopyDirection::DeviceToHost => (AgentKind::Gpu, AgentKind::Cpu),
        CopyDirection::DeviceToDevice => (AgentKind::Gpu, AgentKind::Gpu),
        CopyDirection::Other => (AgentKind::Unknown, AgentKind::Unknown),
    }
}

/// Columns of a launch configuration.
pub(super) struct Configuration {
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
    pub(super) fn of(table: &Table) -> Self {
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

    pub(super) fn read(&self, row: &Row<'_>) -> Result<Launch, Fault> {
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
