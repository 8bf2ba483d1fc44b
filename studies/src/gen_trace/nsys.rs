//! A run as `nsys profile --trace=cuda,nvtx --pytorch=autograd-shapes-nvtx --cuda-graph-trace=node` records it and
//! `nsys export --type sqlite --include-blobs true` writes it.
//!
//! The recorder has no Python frames, steps of the allocator, element types and device sides of annotations; NCCL's
//! ranges and what the host waited for it has besides.

mod schema;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, ToSql, params};
use serde_json::Value;

use self::schema::Table;
use super::document::BASE_TIME;
use super::flavour::{Direction, Flavour, HostMemory, Stream, Thread};
use super::plan::{Kernel, Transfer};
use super::player::Player;
use super::segment::{
    CallDetail, CallRecord, DeviceRecord, DeviceWork, MULTIPROCESSORS, OpRecord, Segment, Span,
};

/// Whose recordings exist.
const FLAVOUR: Flavour = Flavour::Cuda;
/// Nanoseconds from the start of the session to that of Kineto's recording of the same run.
const SESSION_BEFORE: u64 = 1_304_000_000;
/// Number of the machine, above those of process and thread in a packed id.
const MACHINE: i64 = 1 << 48;
/// The only context of the process.
const CONTEXT: i64 = 1;
/// Stream of waits for all of a device.
const NO_STREAM: i64 = u32::MAX as i64;
/// Half of the bits of a graph node's number; the graph's number is above.
const NODE_BITS: u32 = 32;

/// Types of rows of NVTX.
const PUSH_POP: i64 = 59;
const DOMAIN_CREATED: i64 = 75;

/// NCCL's domain, and the communicator of all ranks.
const NCCL: i64 = 1;
const COMMUNICATOR: u64 = 0xa1b2_c3d4_e5f6_0718;
/// Schemas of NCCL's payloads: of a communicator's start, of collectives, of messages to a peer.
const INIT: i64 = 16_777_218;
const COLLECTIVE: i64 = 16_777_220;
const PEER: i64 = 16_777_225;
/// Types of a payload's fields: 32 bits, an id of 64 bits, a size.
const U32: i64 = 5;
const ID: i64 = 18;
const SIZE: i64 = 22;
/// Bytes of an element of a collective.
const ELEMENT: u64 = 2;

/// Versions of CUDA in which signatures of calls appeared; the others are of 3.2.
const SIGNATURES: [(&str, u32); 5] = [
    ("cudaLaunchKernel", 7_000),
    ("cudaLaunchKernelExC", 11_060),
    ("cudaGraphLaunch", 10_000),
    ("cudaStreamIsCapturing", 10_000),
    ("cudaFuncSetAttribute", 9_000),
];

/// A database that a run is written into while it is played.
pub(super) struct Database {
    connection: Connection,
    /// How to insert into the tables that exist.
    tables: HashMap<&'static str, String>,
    strings: HashMap<String, i64>,
    /// The sizes of an operator's inputs by its arguments.
    sizes: HashMap<String, Option<String>>,
    has_collectives: bool,
}

type Written = rusqlite::Result<()>;

/// Type, name and offset of a payload's field; the first has no offset.
type Field = (i64, &'static str, Option<i64>);

impl Database {
    /// Makes a database at a path, over one that is there.
    pub(super) fn create(path: &Path) -> Result<Database, Box<dyn std::error::Error>> {
        if path.exists() {
            std::fs::remove_file(path)?;
        }
        let connection = Connection::open(path)?;
        connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")?;
        let (tables, strings, sizes) = Default::default();
        Ok(Database { connection, tables, strings, sizes, has_collectives: false })
    }

    /// Adds a row to a table, which is created for its first one.
    fn insert(&mut self, table: &Table, values: &[&dyn ToSql]) -> Written {
        if !self.tables.contains_key(table.name) {
            self.connection.execute_batch(&table.creation())?;
            self.tables.insert(table.name, table.insertion());
        }
        let insertion = &self.tables[table.name];
        self.connection.prepare_cached(insertion)?.execute(values).map(drop)
    }

    fn string(&mut self, text: &str) -> rusqlite::Result<i64> {
        if let Some(&id) = self.strings.get(text) {
            return Ok(id);
        }
        // Ids of real exports have gaps.
        let id = 300 + 7 * self.strings.len() as i64;
        self.insert(&schema::STRINGS, params![id, text])?;
        self.strings.insert(text.to_owned(), id);
        Ok(id)
    }

    /// Adds what was recorded in a stretch of the program.
    pub(super) fn record(&mut self, segment: &Segment<'_>) -> Written {
        for op in &segment.ops {
            self.range(op)?;
        }
        for call in &segment.calls {
            self.call(call)?;
            let nodes = call.device.len();
            for (node, work) in call.device.iter().enumerate() {
                // Graphs of one number of kernels are one graph.
                let node = (nodes as i64) << NODE_BITS | (node as i64 + 1);
                self.device(call, work, node)?;
            }
        }
        Ok(())
    }

    fn range(&mut self, op: &OpRecord<'_>) -> Written {
        let mut text = op.name.to_string();
        if let Some((sequence, _)) = op.sequence {
            text.push_str(&format!(", seq = {sequence}"));
        }
        text.push_str(&format!(", op_id = {}", op.external_id));
        if !self.sizes.contains_key(op.arguments) {
            self.sizes.insert(op.arguments.to_owned(), sizes(op.arguments));
        }
        if let Some(sizes) = &self.sizes[op.arguments] {
            text.push_str(", sizes = ");
            text.push_str(sizes);
        }
        self.nvtx(PUSH_POP, &text, op.thread, op.span, 0, None)
    }

    fn nvtx(
        &mut self,
        kind: i64,
        text: &str,
        thread: Thread,
        span: Span,
        domain: i64,
        payload: Option<Vec<u8>>,
    ) -> Written {
        let end = (kind == PUSH_POP).then(|| time(span.end));
        let values = params![time(span.start), end, kind, text, global_thread(thread), domain, payload];
        self.insert(&schema::NVTX, values)
    }

    fn call(&mut self, call: &CallRecord<'_>) -> Written {
        if let CallDetail::Kernel(kernel) = call.detail
            && !kernel.collective.is_empty()
        {
            self.collective(kernel, call)?;
        }
        let (start, end) = (time(call.span.start), time(call.span.end));
        let is_driver = call.api.category == "cuda_driver";
        let name = if is_driver {
            call.api.name.to_owned()
        } else {
            let version = SIGNATURES.iter().find(|(name, _)| *name == call.api.name);
            format!("{}_v{}", call.api.name, version.map_or(3_020, |&(_, version)| version))
        };
        let name = self.string(&name)?;
        let (class, thread, correlation) =
            (i64::from(is_driver), global_thread(call.thread), call.correlation as i64);
        self.insert(&schema::RUNTIME, params![start, end, class, thread, correlation, name, 0])?;
        let compute = FLAVOUR.stream(Stream::Compute) as i64;
        let (kind, stream) = match call.api.name {
            "cudaEventSynchronize" => (1, compute),
            "cudaStreamWaitEvent" => (2, compute),
            "cudaStreamSynchronize" => (3, compute),
            "cudaDeviceSynchronize" => (4, NO_STREAM),
            _ => return Ok(()),
        };
        let values = params![start, end, device(), CONTEXT, stream, correlation, global_process(), kind, 0];
        self.insert(&schema::SYNCHRONIZATION, values)
    }

    fn device(&mut self, call: &CallRecord<'_>, record: &DeviceRecord<'_>, node: i64) -> Written {
        let (start, end) = (time(record.span.start), time(record.span.end));
        let stream = FLAVOUR.stream(record.stream) as i64;
        let (correlation, process) = (call.correlation as i64, global_process());
        match &record.work {
            DeviceWork::Kernel(kernel) | DeviceWork::GraphKernel(kernel) => {
                let (name, short) = (self.string(&kernel.name)?, self.string(short_name(&kernel.name))?);
                let node = matches!(record.work, DeviceWork::GraphKernel(_)).then_some(node);
                let [grid, block] = [kernel.grid, kernel.block].map(|sizes| sizes.map(|size| size as i64));
                let (registers, shared) = (kernel.registers as i64, kernel.shared_memory as i64);
                let values = params![
                    start,
                    end,
                    device(),
                    CONTEXT,
                    stream,
                    correlation,
                    process,
                    name,
                    short,
                    1,
                    registers,
                    grid[0],
                    grid[1],
                    grid[2],
                    block[0],
                    block[1],
                    block[2],
                    0,
                    shared,
                    0,
                    0,
                    correlation,
                    node,
                    "[]",
                ];
                self.insert(&schema::KERNEL, values)
            }
            DeviceWork::Copy(Transfer { direction, bytes, memory, .. }) => {
                let host = i64::from(*memory == HostMemory::Pinned);
                let (kind, source, destination) = match direction {
                    Direction::HostToDevice => (1, host, 2),
                    Direction::DeviceToHost => (2, 2, host),
                    Direction::DeviceToDevice => (8, 2, 2),
                };
                let values = params![
                    start,
                    end,
                    device(),
                    CONTEXT,
                    stream,
                    correlation,
                    process,
                    *bytes as i64,
                    kind,
                    source,
                    destination,
                    1,
                ];
                self.insert(&schema::MEMCPY, values)
            }
            DeviceWork::Set(bytes) => {
                let values = params![
                    start,
                    end,
                    device(),
                    CONTEXT,
                    stream,
                    correlation,
                    process,
                    0,
                    *bytes as i64,
                    2,
                ];
                self.insert(&schema::MEMSET, values)
            }
        }
    }

    /// NCCL's ranges around the launch of a collective's kernel. All-to-all is a group of messages, launched at its end.
    fn collective(&mut self, kernel: &Kernel, call: &CallRecord<'_>) -> Written {
        let said: Value = serde_json::from_str(&format!("{{{}}}", kernel.collective)).unwrap_or_default();
        let number = |key: &str| said[key].as_u64().unwrap_or_default();
        let (ranks, bytes) = (number("Group size"), ELEMENT * number("In msg nelems"));
        self.begin_nccl(ranks)?;
        let launch = call.span.start;
        // The player leaves at least 150 ns before each call and 100 behind.
        let around = Span { start: launch - 10, end: call.span.end + 50 };
        let operation = match said["Collective name"].as_str().unwrap_or_default() {
            "allreduce" => "ncclAllReduce",
            "_allgather_base" => "ncclAllGather",
            _ => {
                let moment = |before: u64| Span { start: launch - before, end: launch - before + 1 };
                self.nvtx(PUSH_POP, "ncclGroupStart", call.thread, moment(100), NCCL, None)?;
                for peer in 0..ranks {
                    for (text, before) in [("ncclSend", 98 - 4 * peer), ("ncclRecv", 96 - 4 * peer)] {
                        let mut fields = COMMUNICATOR.to_le_bytes().to_vec();
                        fields.extend((bytes / ranks).to_le_bytes());
                        fields.extend(peer.to_le_bytes());
                        let payload = Some(payload(PEER, &fields));
                        self.nvtx(PUSH_POP, text, call.thread, moment(before), NCCL, payload)?;
                    }
                }
                return self.nvtx(PUSH_POP, "ncclGroupEnd", call.thread, around, NCCL, None);
            }
        };
        let fields = [COMMUNICATOR.to_le_bytes(), bytes.to_le_bytes()].concat();
        self.nvtx(PUSH_POP, operation, call.thread, around, NCCL, Some(payload(COLLECTIVE, &fields)))
    }

    /// NCCL's domain with its schemas, and the start of its communicator.
    fn begin_nccl(&mut self, ranks: u64) -> Written {
        if std::mem::replace(&mut self.has_collectives, true) {
            return Ok(());
        }
        const COMMUNICATOR_FIELD: Field = (ID, "NCCL communicator ID", None);
        let schemas: [(i64, i64, &[Field]); 3] = [
            (
                INIT,
                24,
                &[
                    COMMUNICATOR_FIELD,
                    (U32, "No. of ranks", Some(8)),
                    (U32, "Rank", Some(12)),
                    (U32, "CUDA device", Some(16)),
                ],
            ),
            (COLLECTIVE, 16, &[COMMUNICATOR_FIELD, (SIZE, "Message size [bytes]", Some(8))]),
            (
                PEER,
                24,
                &[COMMUNICATOR_FIELD, (SIZE, "Message size [bytes]", Some(8)), (U32, "Peer rank", Some(16))],
            ),
        ];
        for (schema, size, fields) in schemas {
            self.insert(&schema::PAYLOAD_SCHEMAS, params![NCCL, schema, 1, fields.len() as i64, size])?;
            for (at, &(kind, name, offset)) in fields.iter().enumerate() {
                let values = params![NCCL, schema, at as i64, kind, name, offset];
                self.insert(&schema::PAYLOAD_ENTRIES, values)?;
            }
        }
        let start = Player::start_of_recording();
        let span = Span { start, end: start + 9_000 };
        self.nvtx(DOMAIN_CREATED, "NCCL", Thread::Main, span, NCCL, None)?;
        let mut fields = COMMUNICATOR.to_le_bytes().to_vec();
        for number in [ranks, FLAVOUR.rank(), FLAVOUR.rank(), 0] {
            fields.extend((number as u32).to_le_bytes());
        }
        let text = "ncclCommInitRank";
        self.nvtx(PUSH_POP, text, Thread::Main, span, NCCL, Some(payload(INIT, &fields)))
    }

    /// Adds what is known of machine, process and export, and closes the database.
    pub(super) fn finish(mut self) -> Written {
        let pid = FLAVOUR.process() as i64;
        for (name, value) in [
            ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
            ("EXPORT_PRODUCT_VERSION", "2026.2.1.210"),
            ("EXPORT_SCHEMA_VERSION", "3.25.0"),
            ("EXPORT_SCHEMA_VERSION_MAJOR", "3"),
            ("EXPORT_SCHEMA_VERSION_MINOR", "25"),
            ("EXPORT_SCHEMA_VERSION_MICRO", "0"),
            ("EXPORT_PARAM_LAZY", "true"),
            ("EXPORT_PARAM_INCLUDE_BLOBS", "true"),
            ("EXPORT_PARAM_TIME_NORMALIZE", "false"),
            ("EXPORT_PARAM_TIME_SHIFT", "0"),
        ] {
            self.insert(&schema::EXPORT, params![name, value])?;
        }
        for (name, value) in [
            ("CAPTURE_EVENT_TYPE", "NvtxEvents"),
            ("CAPTURE_EVENT_TYPE", "Cuda"),
            ("CUDA_GRAPH_TRACE_OPTIONS:MODE", "Node"),
            ("CUDA_SKIP_SOME_API_CALLS", "false"),
        ] {
            self.insert(&schema::CAPTURE, params![name, value])?;
        }
        let utc = (BASE_TIME + Player::start_of_recording() - SESSION_BEFORE) as i64;
        self.insert(&schema::SESSION_START, params![utc, 515_396_806_359_142_i64])?;
        self.insert(&schema::SYSTEM, params![MACHINE, "CPU", "CudaDriverVersion", 0, "12080"])?;
        let gpu = params![
            MACHINE,
            device(),
            "NVIDIA H100 80GB HBM3",
            84_942_979_072_i64,
            MULTIPROCESSORS as i64,
            "GH100",
            65_536,
            49_152,
            32,
            64,
            1_024,
            9,
            0,
        ];
        self.insert(&schema::GPU, gpu)?;
        self.insert(&schema::CUDA_DEVICE, params![device(), 0, pid, MULTIPROCESSORS as i64])?;
        let path = "/usr/bin/python";
        self.insert(&schema::PROCESSES, params![global_process(), pid, path])?;
        for (thread, name) in [(Thread::Main, "python"), (Thread::Autograd, "pt_autograd_0")] {
            let name = self.string(name)?;
            self.insert(&schema::THREAD_NAMES, params![name, global_thread(thread)])?;
        }
        for (table, entries) in &schema::ENUMERATIONS {
            for (id, name, label) in *entries {
                self.insert(table, params![id, name, label])?;
            }
        }
        self.connection.execute_batch("COMMIT")?;
        self.connection.close().map_err(|(_, error)| error)
    }
}

/// Time of the session.
fn time(nanoseconds: u64) -> i64 {
    (nanoseconds + SESSION_BEFORE - Player::start_of_recording()) as i64
}

fn device() -> i64 {
    FLAVOUR.rank() as i64
}

fn global_process() -> i64 {
    MACHINE | (FLAVOUR.process() as i64) << 24
}

fn global_thread(thread: Thread) -> i64 {
    global_process() | FLAVOUR.thread(thread) as i64
}

/// A kernel's name without return type, namespaces, template arguments and parameters.
fn short_name(name: &str) -> &str {
    let plain = name.split(['<', '(']).next().unwrap_or_default();
    plain.rsplit([' ', ':']).next().unwrap_or_default()
}

/// An event's binary data: the header, then the fields.
fn payload(schema: i64, fields: &[u8]) -> Vec<u8> {
    const HEADER: i64 = 32;
    let header = [NCCL, schema, fields.len() as i64, HEADER];
    header.iter().flat_map(|number| number.to_le_bytes()).chain(fields.iter().copied()).collect()
}

/// The shapes of an operator's inputs, lists of tensors flattened.
fn sizes(arguments: &str) -> Option<String> {
    let arguments: Value = serde_json::from_str(&format!("{{{arguments}}}")).ok()?;
    let mut shapes: Vec<&Value> = Vec::new();
    for input in arguments["Input Dims"].as_array()? {
        match input.as_array() {
            Some(tensors) if tensors.first().is_some_and(Value::is_array) => shapes.extend(tensors),
            _ => shapes.push(input),
        }
    }
    let shape = |shape: &Value| {
        let dims = shape.as_array().into_iter().flatten().map(Value::to_string);
        format!("[{}]", dims.collect::<Vec<_>>().join(", "))
    };
    Some(format!("[{}]", shapes.into_iter().map(shape).collect::<Vec<_>>().join(", ")))
}
