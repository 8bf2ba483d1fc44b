//! One function per reader: reads bytes that may be anything, then everything that is read on demand. For the fuzz
//! targets of this repository and for the smoke test that goes through damaged traces in every test run.

#![allow(unreachable_pub)] // the fuzz targets include this file too

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::limits::Limit;
use trace_ingest::rocprof::KernelNames;
use trace_ingest::{
    EntryVisitor, RawEntry, ReadOptions, Trace, metal, read_path, rocprof, visit_entries, xplane,
};

/// Parts the files of a CSV profile in one input: ASCII's record separator.
pub const SEPARATOR: u8 = 0x1e;

/// Kinds of CSV files, in the order in which the parts of an input are taken for them.
pub const CSV_FILES: [&str; 9] = [
    "agent_info",
    "kernel_trace",
    "memory_copy_trace",
    "memory_allocation_trace",
    "scratch_memory_trace",
    "hip_api_trace",
    "marker_api_trace",
    "pc_sampling_host_trap",
    "counter_collection",
];

/// What was read, to be compared with the size of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Events, records or rows.
    pub records: usize,
    /// Interned texts, in number.
    pub strings: usize,
    /// Warnings.
    pub warnings: usize,
}

/// A directory for the readers that take files, such as one in a file system in memory.
pub struct Probes {
    directory: PathBuf,
}

impl Probes {
    /// Probes that put their files into `directory`, which has to exist and to be nobody else's.
    pub fn new(directory: &Path) -> Self {
        Probes { directory: directory.to_path_buf() }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Option<PathBuf> {
        let path = self.directory.join(name);
        fs::write(&path, bytes).ok()?;
        Some(path)
    }

    /// Any file as a trace, compressed or not: what [`read_path`] and, for Kineto, [`visit_entries`] make of it.
    /// `None` for an error, whose text is made all the same.
    pub fn trace(&self, bytes: &[u8]) -> Option<Found> {
        let path = self.put("input", bytes)?;
        let outcome = read_path(&path, &one_thread());
        if let Ok(without_frames) =
            read_path(&path, &ReadOptions { skip_python_frames: true, ..one_thread() })
        {
            exhaust(&without_frames);
        }
        let mut entries = Entries { trace: outcome.as_ref().ok(), seen: 0 };
        if let Err(error) = visit_entries(&path, &one_thread(), &mut entries) {
            let _ = error.to_string();
        }
        match outcome {
            Ok(trace) => Some(exhaust(&trace)),
            Err(error) => {
                let _ = error.to_string();
                None
            }
        }
    }

    /// A profile of rocprofv3 in any of its formats.
    pub fn rocprof(&self, bytes: &[u8]) -> Option<Found> {
        let path = self.put("input", bytes)?;
        profile(&path)
    }

    /// A rocpd database: the file itself, or the statements that make it, one in a line. Those of damaged statements
    /// are sound databases with any tables, views and values, which damaged files hardly ever are.
    pub fn rocpd(&self, bytes: &[u8]) -> Option<Found> {
        if bytes.starts_with(b"SQLite format 3") {
            return self.rocprof(bytes);
        }
        let path = self.put("made.db", b"")?;
        execute(&path, &String::from_utf8_lossy(bytes)).ok()?;
        profile(&path)
    }

    /// An export of Nsight Systems: the file itself, or the statements that make it, one in a line.
    pub fn nsys(&self, bytes: &[u8]) -> Option<Found> {
        if bytes.starts_with(b"SQLite format 3") {
            return self.trace(bytes);
        }
        let path = self.put("made.sqlite", b"")?;
        execute(&path, &String::from_utf8_lossy(bytes)).ok()?;
        let outcome = read_path(&path, &one_thread());
        outcome.map_err(|error| error.to_string()).ok().map(|trace| exhaust(&trace))
    }

    /// The text of a range of NVTX, and the payload of one of NCCL: an export with two ranges of these bytes around the launch of
    /// a kernel, under a schema that NCCL has.
    pub fn nvtx_text(&self, bytes: &[u8]) -> Option<Found> {
        // One in a line.
        const STATEMENTS: &str = r#"CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'ncclDevKernel_AllReduce'), (2, 'cudaLaunchKernel_v7000');
CREATE TABLE NVTX_PAYLOAD_SCHEMAS (domainId, schemaId, payloadSize);
INSERT INTO NVTX_PAYLOAD_SCHEMAS VALUES (1, 16777220, 16);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId, schemaId, idx, type, name, "offset");
INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 16777220, 0, 18, 'NCCL communicator ID', NULL);
INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 16777220, 1, 22, 'Message size [bytes]', 8);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", globalTid, correlationId, nameId);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (20, 30, 281476838981743, 5, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", deviceId, streamId, correlationId, globalPid, demangledName);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (50, 90, 0, 7, 5, 281476838981632, 1);
CREATE TABLE NVTX_EVENTS (start, "end", eventType, text, globalTid, textId, domainId, binaryData);"#;
        let path = self.put("made.sqlite", b"")?;
        execute(&path, STATEMENTS).ok()?;
        let database = Connection::open(&path).ok()?;
        let insert = "INSERT INTO NVTX_EVENTS VALUES
            (?1, ?2, 59, CAST(?3 AS TEXT), 281476838981743, NULL, ?4, ?5)";
        database.execute(insert, (0, 100, bytes, 0, rusqlite::types::Null)).ok()?;
        database.execute(insert, (10, 40, b"ncclAllReduce", 1, bytes)).ok()?;
        database.close().ok()?;
        let outcome = read_path(&path, &one_thread());
        outcome.map_err(|error| error.to_string()).ok().map(|trace| exhaust(&trace))
    }

    /// CSV files of rocprofv3: one, known by its header, or those of [`CSV_FILES`] with a [`SEPARATOR`] between
    /// them.
    pub fn rocprof_csv(&self, bytes: &[u8]) -> Option<Found> {
        if !bytes.contains(&SEPARATOR) {
            let path = self.put("input.csv", bytes)?;
            return profile(&path);
        }
        let run = self.directory.join("run");
        fs::create_dir_all(&run).ok()?;
        let mut parts = bytes.split(|&byte| byte == SEPARATOR);
        for kind in CSV_FILES {
            let path = run.join(format!("7_{kind}.csv"));
            match parts.next() {
                Some(part) if !part.is_empty() => fs::write(&path, part).ok()?,
                _ => drop(fs::remove_file(&path)),
            }
        }
        profile(&run)
    }
}

/// An XPlane file, decompressed.
pub fn xplane(bytes: &[u8]) -> Option<Found> {
    let outcome = xplane::profile_from_bytes(Path::new("host.xplane.pb"), bytes.to_vec());
    let profile = outcome.map_err(|error| error.to_string()).ok()?;
    for event in profile.trace.events().ids() {
        let _ = profile.event_stats(event).count();
        let _ = (profile.metadata(event).label(), profile.xla(event), profile.device_clock(event));
        let _ = (profile.stat(event, "flops"), profile.shown(event));
    }
    for (kind, _) in profile.kinds() {
        let _ = profile.kind_stats(kind).count();
    }
    for event in profile.planes.iter().flat_map(|plane| &plane.lines).flat_map(|line| &line.aggregated) {
        let _ = profile.aggregated_stats(event).count();
    }
    for id in profile.programs.ids() {
        let _ = profile.programs.encoded(id).map(|program| program.bytes.len());
    }
    Some(exhaust(&profile.trace))
}

/// CSV files of Tenstorrent operations with a [`SEPARATOR`] between them.
pub fn metal_ops(bytes: &[u8]) -> Option<Found> {
    let parts = bytes.split(|&byte| byte == SEPARATOR).enumerate();
    let files = parts.map(|(number, part)| (PathBuf::from(format!("ops_{number}.csv")), part.to_vec()));
    let table = metal::ops_from_bytes(files.collect()).map_err(|error| error.to_string()).ok()?;
    for row in &table.rows {
        let _ = (table.text(row.op_code), table.text(row.attributes));
        let _ = (table.inputs(row).len(), table.outputs(row).len());
    }
    let warnings = table.warnings.iter().map(ToString::to_string).count();
    Some(Found { records: table.rows.len() + table.tensors.len(), strings: table.strings.len(), warnings })
}

/// Executes what can be executed of `statements`, without spending long on any.
fn execute(path: &Path, statements: &str) -> rusqlite::Result<()> {
    const STEPS: i32 = 20_000;
    let database = Connection::open(path)?;
    database.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 512; BEGIN",
    )?;
    database.set_limit(Limit::SQLITE_LIMIT_LENGTH, 1 << 16)?;
    database.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    for statement in statements.lines() {
        let mut looked = false;
        database.progress_handler(STEPS, Some(move || std::mem::replace(&mut looked, true))).unwrap();
        let _ = database.execute_batch(statement);
    }
    if !database.is_autocommit() {
        database.execute_batch("COMMIT")?;
    }
    database.close().map_err(|(_, error)| error)
}

fn one_thread() -> ReadOptions<'static> {
    ReadOptions { threads: Some(1), ..ReadOptions::default() }
}

fn profile(path: &Path) -> Option<Found> {
    let outcome = rocprof::read_profile(path, &one_thread());
    let profile = outcome.map_err(|error| error.to_string()).ok()?;
    for kernel in 0..profile.kernels.len() as u32 {
        let _ = (
            profile.kernel_name(kernel, KernelNames::Truncated),
            profile.kernel_name(kernel, KernelNames::Formatted),
        );
    }
    let _ = profile.dispatches.iter().map(|one| one.duration()).max();
    let _ = profile.copies.iter().map(|one| one.duration()).max();
    let _ = profile.calls.iter().map(|one| one.duration()).max();
    exhaust(&profile.to_trace());
    let records = profile.processes.len()
        + profile.agents.len()
        + profile.kernels.len()
        + profile.launches.len()
        + profile.dispatches.len()
        + profile.copies.len()
        + profile.calls.len()
        + profile.allocations.len()
        + profile.scratch.len()
        + profile.counters.len()
        + profile.counter_values.len()
        + profile.samples.len();
    let warnings = profile.warnings.iter().map(ToString::to_string).count();
    Some(Found { records, strings: profile.strings.len(), warnings })
}

fn exhaust(trace: &Trace) -> Found {
    let events = trace.events();
    for event in events.ids() {
        let _ = (trace.name(event), events.end(event), events.get(event));
        let _ = trace.to_microseconds(events.start(event));
        let _ = events.signature(event).map(|signature| trace.signatures().get(signature));
        let track = events.track(event);
        let _ = (trace.process(track), trace.thread_name(track));
    }
    Found {
        records: events.len() + trace.flows().len(),
        strings: trace.strings().len(),
        warnings: trace.warnings().iter().map(ToString::to_string).count(),
    }
}

/// Makes valid JSON of every entry.
struct Entries<'t> {
    trace: Option<&'t Trace>,
    seen: usize,
}

impl EntryVisitor for Entries<'_> {
    fn fact(&mut self, _: &'static str, _: &[u8]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn entry(&mut self, entry: RawEntry<'_>) -> ControlFlow<()> {
        self.seen += 1;
        let _ = entry.valid_json();
        let _ = self.trace.map(|trace| entry.track(trace));
        ControlFlow::Continue(())
    }
}
