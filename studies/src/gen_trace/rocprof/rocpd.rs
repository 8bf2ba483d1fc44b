//! `--output-format rocpd`: an SQLite database. Its tables are named after the capture; views have the plain names.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, ToSql, params};

use super::kernels::{COUNTERS, SYMBOLS};
use super::run::{Dispatch, Domain, Run};

/// Identity of the capture, which also ends the names of its tables.
const GUID: &str = "0f5c3a52-7d1e-4c1b-9a60-5e2f8b7d4c11";

/// Columns of each table between `id, guid` and `extdata`.
const TABLES: [(&str, &str); 19] = [
    ("string", "string TEXT"),
    ("info_node", "hash INTEGER, machine_id TEXT, system_name TEXT, hostname TEXT"),
    (
        "info_process",
        "nid INTEGER, ppid INTEGER, pid INTEGER, init INTEGER, fini INTEGER, start INTEGER, \"end\" INTEGER, \
         command TEXT, environment TEXT",
    ),
    (
        "info_thread",
        "nid INTEGER, ppid INTEGER, pid INTEGER, tid INTEGER, name TEXT, start INTEGER, \"end\" INTEGER",
    ),
    (
        "info_agent",
        "nid INTEGER, pid INTEGER, type TEXT, absolute_index INTEGER, logical_index INTEGER, type_index INTEGER, \
         uuid INTEGER, name TEXT, model_name TEXT, vendor_name TEXT, product_name TEXT, user_name TEXT",
    ),
    ("info_queue", "nid INTEGER, pid INTEGER, name TEXT"),
    ("info_stream", "nid INTEGER, pid INTEGER, name TEXT"),
    ("info_code_object", "nid INTEGER, pid INTEGER, agent_id INTEGER, uri TEXT"),
    (
        "info_kernel_symbol",
        "nid INTEGER, pid INTEGER, code_object_id INTEGER, kernel_name TEXT, display_name TEXT, \
         group_segment_size INTEGER, private_segment_size INTEGER, sgpr_count INTEGER, arch_vgpr_count INTEGER, \
         accum_vgpr_count INTEGER",
    ),
    (
        "info_pmc",
        "nid INTEGER, pid INTEGER, agent_id INTEGER, name TEXT, symbol TEXT, description TEXT, units TEXT, \
         value_type TEXT, block TEXT, expression TEXT, is_constant INTEGER, is_derived INTEGER",
    ),
    (
        "kernel_dispatch",
        "nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, \
         queue_id INTEGER, stream_id INTEGER, start INTEGER, \"end\" INTEGER, private_segment_size INTEGER, \
         group_segment_size INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER, \
         workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, \
         region_name_id INTEGER, event_id INTEGER",
    ),
    (
        "memory_copy",
        "nid INTEGER, pid INTEGER, tid INTEGER, start INTEGER, \"end\" INTEGER, name_id INTEGER, \
         dst_agent_id INTEGER, dst_address INTEGER, src_agent_id INTEGER, src_address INTEGER, size INTEGER, \
         queue_id INTEGER, stream_id INTEGER, region_name_id INTEGER, event_id INTEGER",
    ),
    (
        "memory_allocate",
        "nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, type TEXT, level TEXT, start INTEGER, \
         \"end\" INTEGER, address INTEGER, size INTEGER, queue_id INTEGER, stream_id INTEGER, event_id INTEGER",
    ),
    (
        "region",
        "nid INTEGER, pid INTEGER, tid INTEGER, start INTEGER, \"end\" INTEGER, name_id INTEGER, event_id INTEGER",
    ),
    (
        "event",
        "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, \
         call_stack TEXT, line_info TEXT",
    ),
    ("arg", "event_id INTEGER, position INTEGER, type TEXT, name TEXT, value TEXT"),
    ("pmc_event", "event_id INTEGER, pmc_id INTEGER, value REAL"),
    ("sample", "track_id INTEGER, timestamp INTEGER, event_id INTEGER"),
    ("track", "nid INTEGER, pid INTEGER, tid INTEGER, name_id INTEGER"),
];

/// Writes the database into a file that does not exist yet.
pub(super) fn write(run: &Run, path: &Path) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    let transaction = connection.transaction()?;
    let mut database = Database { connection: &transaction, next: HashMap::new(), strings: HashMap::new() };
    database.create()?;
    database.describe(run)?;
    database.record(run)?;
    transaction.commit()
}

struct Database<'c> {
    connection: &'c Connection,
    /// Last number given, by table.
    next: HashMap<&'static str, i64>,
    strings: HashMap<String, i64>,
}

impl Database<'_> {
    fn create(&self) -> rusqlite::Result<()> {
        let suffix = GUID.replace('-', "_");
        let mut script = format!(
            "CREATE TABLE rocpd_metadata_{suffix} (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);\n\
             CREATE VIEW rocpd_metadata AS SELECT * FROM rocpd_metadata_{suffix};\n\
             INSERT INTO rocpd_metadata_{suffix} (tag, value) \
             VALUES ('schema_version', '3'), ('uuid', '_{suffix}'), ('guid', '{GUID}');\n"
        );
        for (table, columns) in TABLES {
            script.push_str(&format!(
                "CREATE TABLE rocpd_{table}_{suffix} (id INTEGER PRIMARY KEY, guid TEXT DEFAULT '{GUID}', {columns}, \
                 extdata TEXT DEFAULT '{{}}');\n\
                 CREATE VIEW rocpd_{table} AS SELECT * FROM rocpd_{table}_{suffix};\n"
            ));
        }
        self.connection.execute_batch(&script)
    }

    /// Adds a row and returns its number. Values stand in the order of `columns`, which are the table's first ones.
    fn insert(&mut self, table: &'static str, columns: &str, values: &[&dyn ToSql]) -> rusqlite::Result<i64> {
        let next = self.next.entry(table).or_default();
        *next += 1;
        let id = *next;
        self.insert_as(id, table, columns, values)?;
        Ok(id)
    }

    fn insert_as(&self, id: i64, table: &str, columns: &str, values: &[&dyn ToSql]) -> rusqlite::Result<()> {
        let suffix = GUID.replace('-', "_");
        let places = vec!["?"; values.len() + 1].join(", ");
        let query = format!("INSERT INTO rocpd_{table}_{suffix} (id, {columns}) VALUES ({places})");
        let mut all: Vec<&dyn ToSql> = vec![&id];
        all.extend(values);
        self.connection.prepare_cached(&query)?.execute(all.as_slice())?;
        Ok(())
    }

    fn string(&mut self, text: &str) -> rusqlite::Result<i64> {
        if let Some(&id) = self.strings.get(text) {
            return Ok(id);
        }
        let id = self.insert("string", "string", params![text])?;
        self.strings.insert(text.to_owned(), id);
        Ok(id)
    }

    fn describe(&mut self, run: &Run) -> rusqlite::Result<()> {
        self.insert(
            "info_node",
            "hash, machine_id, system_name, hostname",
            params![0, "", "Linux", run.host],
        )?;
        let process =
            params![1, 1, run.process, run.init, run.fini, run.init, run.fini, run.command.join(" ")];
        let columns = "nid, ppid, pid, init, fini, start, \"end\", command";
        self.insert_as(process_id(run), "info_process", columns, process)?;
        let mut threads: Vec<u64> = run.calls.iter().map(|call| call.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        for thread in threads {
            let values = params![1, 1, process_id(run), thread, format!("thread {thread}")];
            self.insert_as(thread as i64, "info_thread", "nid, ppid, pid, tid, name", values)?;
        }
        for agent in &run.agents {
            let kind = if agent.is_gpu { "GPU" } else { "CPU" };
            let details = if agent.is_gpu {
                "{\"cu_count\": 304, \"simd_per_cu\": 4, \"max_waves_per_simd\": 8, \"wave_front_size\": 64, \
                 \"lds_size_in_kb\": 64, \"num_xcc\": 8, \"max_engine_clk_fcompute\": 2100}"
            } else {
                "{}"
            };
            let columns = "nid, pid, type, absolute_index, logical_index, type_index, name, vendor_name, \
                           product_name, extdata";
            let values = params![
                1,
                process_id(run),
                kind,
                agent.node,
                agent.node,
                agent.ordinal,
                agent.name,
                agent.vendor,
                agent.product,
                details
            ];
            self.insert("info_agent", columns, values)?;
        }
        let mut queues: Vec<(u64, u64)> =
            run.dispatches.iter().map(|dispatch| (dispatch.queue, dispatch.stream)).collect();
        queues.sort_unstable();
        queues.dedup();
        for (queue, stream) in queues {
            let queue_of = params![1, process_id(run), format!("Queue {queue}")];
            self.insert_as(queue as i64, "info_queue", "nid, pid, name", queue_of)?;
            let stream_of = params![1, process_id(run), format!("Stream {stream}")];
            self.insert_as(stream as i64, "info_stream", "nid, pid, name", stream_of)?;
        }
        for symbol in &SYMBOLS {
            let columns = "nid, pid, code_object_id, kernel_name, display_name, group_segment_size, \
                           private_segment_size, sgpr_count, arch_vgpr_count, accum_vgpr_count";
            let values = params![
                1,
                process_id(run),
                1,
                symbol.mangled(),
                symbol.formatted(),
                symbol.lds,
                symbol.scratch,
                symbol.sgprs,
                symbol.vgprs,
                symbol.accum_vgprs
            ];
            self.insert_as(symbol.id as i64, "info_kernel_symbol", columns, values)?;
        }
        for agent in run.agents.iter().filter(|agent| agent.is_gpu) {
            for counter in &COUNTERS {
                let columns = "nid, pid, agent_id, name, symbol, description, value_type, block, is_constant, is_derived";
                let (name, description) = (counter.name, counter.description);
                let values = params![
                    1,
                    process_id(run),
                    agent.node + 1,
                    name,
                    name,
                    description,
                    "ABS",
                    counter.block,
                    0,
                    0
                ];
                self.insert("info_pmc", columns, values)?;
            }
        }
        Ok(())
    }

    /// An event of a category that the host's correlation number is the stack number of.
    fn event(&mut self, category: &str, correlation: u64) -> rusqlite::Result<i64> {
        let category = self.string(category)?;
        let columns = "category_id, stack_id, parent_stack_id, correlation_id";
        self.insert("event", columns, params![category, correlation, 0, 0])
    }

    fn record(&mut self, run: &Run) -> rusqlite::Result<()> {
        let process = process_id(run);
        for domain in Domain::ALL {
            for call in run.calls.iter().filter(|call| call.domain == domain) {
                let event = self.event(domain.kind(), call.correlation)?;
                let name = self.string(&call.name)?;
                let values = params![1, process, call.thread, call.start, call.end, name, event];
                self.insert("region", "nid, pid, tid, start, \"end\", name_id, event_id", values)?;
            }
        }
        for (at, dispatch) in run.dispatches.iter().enumerate() {
            self.dispatch(run, at, dispatch)?;
        }
        for copy in &run.copies {
            let event = self.event("MEMORY_COPY", copy.correlation)?;
            let name = self.string(copy.direction.name())?;
            let (source, destination) = (agent_id(run, copy.source), agent_id(run, copy.destination));
            let columns = "nid, pid, tid, start, \"end\", name_id, dst_agent_id, src_agent_id, size, stream_id, event_id";
            let values = params![
                1,
                process,
                copy.thread,
                copy.start,
                copy.end,
                name,
                destination,
                source,
                copy.bytes,
                copy.stream,
                event
            ];
            self.insert("memory_copy", columns, values)?;
        }
        for allocation in &run.allocations {
            let event = self.event("MEMORY_ALLOCATION", allocation.correlation)?;
            let kind = if allocation.bytes > 0 { "ALLOC" } else { "FREE" };
            let agent = agent_id(run, allocation.agent);
            let columns = "nid, pid, tid, agent_id, type, level, start, \"end\", address, size, event_id";
            let values = params![
                1,
                process,
                allocation.thread,
                agent,
                kind,
                "REAL",
                allocation.start,
                allocation.end,
                allocation.address,
                allocation.bytes,
                event
            ];
            self.insert("memory_allocate", columns, values)?;
        }
        Ok(())
    }

    fn dispatch(&mut self, run: &Run, at: usize, dispatch: &Dispatch) -> rusqlite::Result<()> {
        let Dispatch { symbol, queue, stream, thread, correlation, start, end, grid, .. } = dispatch;
        let event = self.event("KERNEL_DISPATCH", *correlation)?;
        let region = self.string("")?;
        let columns = "nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, \"end\", \
                       private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y, \
                       workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id";
        let agent = agent_id(run, dispatch.agent);
        let [x, y, z] = symbol.workgroup;
        let values = params![
            1,
            process_id(run),
            thread,
            agent,
            symbol.id,
            at + 1,
            queue,
            stream,
            start,
            end,
            symbol.scratch,
            symbol.lds,
            x,
            y,
            z,
            grid[0],
            grid[1],
            grid[2],
            region,
            event
        ];
        self.insert("kernel_dispatch", columns, values)?;
        // Counters stand agent by agent.
        let first = (dispatch.agent - 1) * COUNTERS.len() + 1;
        for values in &dispatch.counters {
            for (position, value) in values.iter().enumerate() {
                let values = params![event, first + position, *value as f64];
                self.insert("pmc_event", "event_id, pmc_id, value", values)?;
            }
        }
        Ok(())
    }
}

fn process_id(run: &Run) -> i64 {
    run.process as i64
}

/// Agents are numbered from 1.
fn agent_id(run: &Run, agent: usize) -> u64 {
    run.agents[agent].node + 1
}
