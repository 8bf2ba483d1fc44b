//! `--output-format json`: one line, records in lists by kind, names in tables beside them.

use std::io::{self, Write};

use super::kernels::{COUNTERS, SYMBOLS};
use super::run::{Agent, Allocation, Call, Copy, Direction, Dispatch, Domain, Run};

pub(super) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let kinds = Kinds::of(run);
    write!(out, "{{\"rocprofiler-sdk-tool\":[{{")?;
    metadata(run, out)?;
    list(out, ",\"agents\":[", run.agents.iter(), agent)?;
    list(out, ",\"counters\":[", run.agents.iter().filter(|agent| agent.is_gpu), counters_of)?;
    write!(out, ",\"strings\":{{")?;
    kinds.write(out)?;
    let markers = run.calls.iter().filter(|call| call.domain == Domain::Marker);
    list(out, ",\"marker_api\":[", markers, |call, out| {
        write!(out, "{{\"key\":{},\"value\":{}}}", call.correlation, quoted(&call.name))
    })?;
    write!(out, ",\"correlation_id\":{{\"external\":[]}}}}")?;
    write!(out, ",\"code_objects\":[{{\"size\":0,\"code_object_id\":0,\"uri\":\"\"}}]")?;
    write!(out, ",\"kernel_symbols\":[{{\"size\":0,\"kernel_id\":0,\"kernel_name\":\"\",")?;
    write!(
        out,
        "\"formatted_kernel_name\":\"\",\"demangled_kernel_name\":\"\",\"truncated_kernel_name\":\"\"}},"
    )?;
    symbols(out)?;
    write!(out, ",\"host_functions\":[],\"summary\":[],\"callback_records\":{{")?;
    let counted = || run.dispatches.iter().enumerate().filter(|(_, dispatch)| !dispatch.counters.is_empty());
    list(out, "\"counter_collection\":[", counted(), |(at, dispatch), out| {
        counted_dispatch(run, at, dispatch, out)
    })?;
    write!(out, "}},\"buffer_records\":{{")?;
    list(out, "\"kernel_dispatch\":[", run.dispatches.iter().enumerate(), |(at, dispatch), out| {
        kinds.begin(
            out,
            KERNEL_DISPATCH,
            2,
            (dispatch.thread, dispatch.correlation),
            (dispatch.start, dispatch.end),
        )?;
        dispatch_info(run, at, dispatch, out)?;
        write!(out, ",\"stream_id\":{{\"handle\":{}}}}}", dispatch.stream)
    })?;
    for domain in Domain::ALL {
        let calls = run.calls.iter().filter(|call| call.domain == domain);
        list(out, &format!(",\"{}\":[", domain.list()), calls, |call, out| {
            let (kind, operation) = kinds.call_kind(call);
            kinds.begin(out, kind, operation, (call.thread, call.correlation), (call.start, call.end))?;
            write!(out, "}}")
        })?;
    }
    list(out, ",\"memory_copy\":[", run.copies.iter(), |copy, out| memory_copy(run, &kinds, copy, out))?;
    list(out, ",\"memory_allocation\":[", run.allocations.iter(), |allocation, out| {
        let Allocation { thread, correlation, start, end, .. } = *allocation;
        kinds.begin(out, MEMORY_ALLOCATION, allocation.operation(), (thread, correlation), (start, end))?;
        let agent = run.agents[allocation.agent].handle;
        write!(out, ",\"agent_id\":{{\"handle\":{agent}}},\"address\":\"{:#x}\"", allocation.address)?;
        write!(out, ",\"allocation_size\":{}}}", allocation.bytes)
    })?;
    writeln!(out, ",\"hsa_api\":[],\"scratch_memory\":[]}}}}]}}")
}

const MEMORY_COPY: usize = 1;
const KERNEL_DISPATCH: usize = 2;
const MEMORY_ALLOCATION: usize = 3;

/// The table of kinds and operations, to which records refer by position.
struct Kinds(Vec<(&'static str, Vec<String>)>);

impl Kinds {
    fn of(run: &Run) -> Self {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut kinds = vec![
            ("NONE", Vec::new()),
            ("MEMORY_COPY", owned(&Direction::OPERATIONS)),
            (
                "KERNEL_DISPATCH",
                owned(&["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE", "KERNEL_DISPATCH_COMPLETE"]),
            ),
            ("MEMORY_ALLOCATION", owned(&Allocation::OPERATIONS)),
        ];
        for domain in Domain::ALL {
            let mut operations = Vec::new();
            for call in run.calls.iter().filter(|call| call.domain == domain) {
                let operation = operation_name(call);
                if !operations.iter().any(|known| known == operation) {
                    operations.push(operation.to_owned());
                }
            }
            kinds.push((domain.kind(), operations));
        }
        Kinds(kinds)
    }

    fn call_kind(&self, call: &Call) -> (usize, usize) {
        let kind = self.0.iter().position(|(kind, _)| *kind == call.domain.kind()).unwrap_or_default();
        let operation = self.0[kind].1.iter().position(|name| name == operation_name(call));
        (kind, operation.unwrap_or_default())
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        list(out, "\"buffer_records\":[", self.0.iter(), |(kind, operations), out| {
            write!(out, "{{\"kind\":{}", quoted(kind))?;
            list(out, ",\"operations\":[", operations.iter(), |name, out| write!(out, "{}", quoted(name)))?;
            write!(out, "}}")
        })
    }

    /// What all records begin with.
    fn begin(
        &self,
        out: &mut dyn Write,
        kind: usize,
        operation: usize,
        (thread, correlation): (u64, u64),
        (start, end): (u64, u64),
    ) -> io::Result<()> {
        write!(out, "{{\"size\":184,\"kind\":{kind},\"operation\":{operation},\"thread_id\":{thread}")?;
        write!(out, ",\"correlation_id\":{{\"internal\":{correlation},\"external\":0}}")?;
        write!(out, ",\"start_timestamp\":{start},\"end_timestamp\":{end}")
    }
}

/// The text of a marker stands in a table of its own.
fn operation_name(call: &Call) -> &str {
    if call.domain == Domain::Marker { "roctxRangePushA" } else { &call.name }
}

fn metadata(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "\"metadata\":{{\"node\":{{\"id\":0,\"hash\":0,\"system_name\":\"Linux\"")?;
    write!(out, ",\"hostname\":{},\"hardware_name\":\"x86_64\"}}", quoted(run.host))?;
    write!(out, ",\"pid\":{},\"init_time\":{},\"fini_time\":{}", run.process, run.init, run.fini)?;
    list(out, ",\"command\":[", run.command.iter(), |word, out| write!(out, "{}", quoted(word)))?;
    write!(out, ",\"config\":{{\"json_output\":true,\"kernel_rename\":false}}}}")
}

fn agent(agent: &Agent, out: &mut dyn Write) -> io::Result<()> {
    let Agent { handle, node, ordinal, is_gpu, name, vendor, product } = *agent;
    write!(out, "{{\"size\":304,\"id\":{{\"handle\":{handle}}},\"type\":{}", if is_gpu { 2 } else { 1 })?;
    write!(out, ",\"name\":{},\"vendor_name\":{}", quoted(name), quoted(vendor))?;
    write!(out, ",\"product_name\":{},\"node_id\":{node},\"logical_node_id\":{node}", quoted(product))?;
    write!(out, ",\"logical_node_type_id\":{ordinal}")?;
    if is_gpu {
        write!(out, ",\"gpu_index\":{ordinal},\"cu_count\":304,\"simd_per_cu\":4,\"max_waves_per_simd\":8")?;
        write!(
            out,
            ",\"wave_front_size\":64,\"lds_size_in_kb\":64,\"num_xcc\":8,\"gfx_target_version\":90402"
        )?;
        write!(out, ",\"max_engine_clk_fcompute\":2100,\"hive_id\":17332996360099338395")?;
        write!(out, ",\"mem_banks\":[{{\"heap_type\":1,\"width\":8192,\"mem_clk_max\":1300")?;
        write!(out, ",\"size_in_bytes\":206141652992}}],\"caches\":[{{\"level\":2,\"size\":4096}}]")?;
    } else {
        write!(out, ",\"gpu_index\":-1,\"cu_count\":0")?;
    }
    write!(out, "}}")
}

fn counters_of(agent: &Agent, out: &mut dyn Write) -> io::Result<()> {
    for (at, counter) in COUNTERS.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(
            out,
            "{comma}{{\"agent_id\":{{\"handle\":{}}},\"id\":{{\"handle\":{}}}",
            agent.handle, counter.id
        )?;
        write!(out, ",\"is_constant\":0,\"is_derived\":0,\"name\":{}", quoted(counter.name))?;
        write!(out, ",\"description\":{},\"block\":{}", quoted(counter.description), quoted(counter.block))?;
        write!(out, ",\"expression\":\"\",\"dimension_ids\":[]}}")?;
    }
    Ok(())
}

fn symbols(out: &mut dyn Write) -> io::Result<()> {
    for (at, symbol) in SYMBOLS.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(out, "{comma}{{\"size\":160,\"kernel_id\":{},\"code_object_id\":1", symbol.id)?;
        write!(out, ",\"kernel_name\":{}", quoted(&symbol.mangled()))?;
        write!(out, ",\"group_segment_size\":{},\"private_segment_size\":{}", symbol.lds, symbol.scratch)?;
        write!(out, ",\"sgpr_count\":{},\"arch_vgpr_count\":{}", symbol.sgprs, symbol.vgprs)?;
        write!(out, ",\"accum_vgpr_count\":{}", symbol.accum_vgprs)?;
        write!(out, ",\"formatted_kernel_name\":{}", quoted(symbol.formatted()))?;
        write!(out, ",\"demangled_kernel_name\":{}", quoted(&symbol.demangled()))?;
        write!(out, ",\"truncated_kernel_name\":{}}}", quoted(&symbol.truncated()))?;
    }
    write!(out, "]")
}

fn dispatch_info(run: &Run, at: usize, dispatch: &Dispatch, out: &mut dyn Write) -> io::Result<()> {
    let Dispatch { symbol, queue, grid, .. } = dispatch;
    let [x, y, z] = symbol.workgroup;
    write!(
        out,
        ",\"dispatch_info\":{{\"size\":80,\"agent_id\":{{\"handle\":{}}}",
        run.agents[dispatch.agent].handle
    )?;
    write!(
        out,
        ",\"queue_id\":{{\"handle\":{queue}}},\"kernel_id\":{},\"dispatch_id\":{}",
        symbol.id,
        at + 1
    )?;
    write!(out, ",\"private_segment_size\":{},\"group_segment_size\":{}", symbol.scratch, symbol.lds)?;
    write!(out, ",\"workgroup_size\":{{\"x\":{x},\"y\":{y},\"z\":{z}}}")?;
    write!(out, ",\"grid_size\":{{\"x\":{},\"y\":{},\"z\":{}}}}}", grid[0], grid[1], grid[2])
}

fn counted_dispatch(run: &Run, at: usize, dispatch: &Dispatch, out: &mut dyn Write) -> io::Result<()> {
    let Dispatch { symbol, thread, correlation, start, end, .. } = dispatch;
    write!(out, "{{\"thread_id\":{thread},\"dispatch_data\":{{\"size\":160")?;
    write!(out, ",\"correlation_id\":{{\"internal\":{correlation},\"external\":0}}")?;
    write!(out, ",\"start_timestamp\":{start},\"end_timestamp\":{end}")?;
    dispatch_info(run, at, dispatch, out)?;
    let values = dispatch.counters.iter().flat_map(|values| COUNTERS.iter().zip(values));
    list(out, "},\"records\":[", values, |(counter, value), out| {
        write!(out, "{{\"counter_id\":{{\"handle\":{}}},\"value\":{value}.0}}", counter.id)
    })?;
    write!(out, ",\"lds_block_size_v\":{},\"arch_vgpr_count\":{}", symbol.lds, symbol.vgprs)?;
    write!(out, ",\"sgpr_count\":{}}}", symbol.sgprs)
}

fn memory_copy(run: &Run, kinds: &Kinds, copy: &Copy, out: &mut dyn Write) -> io::Result<()> {
    let Copy { direction, source, destination, bytes, stream, thread, correlation, start, end } = *copy;
    kinds.begin(out, MEMORY_COPY, direction.operation(), (thread, correlation), (start, end))?;
    write!(out, ",\"dst_agent_id\":{{\"handle\":{}}}", run.agents[destination].handle)?;
    write!(out, ",\"src_agent_id\":{{\"handle\":{}}}", run.agents[source].handle)?;
    write!(out, ",\"bytes\":{bytes},\"stream_id\":{{\"handle\":{stream}}}}}")
}

/// A list whose beginning, with what comes before, is `begin`.
fn list<T>(
    out: &mut dyn Write,
    begin: &str,
    items: impl Iterator<Item = T>,
    mut item: impl FnMut(T, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    out.write_all(begin.as_bytes())?;
    for (at, one) in items.enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        item(one, out)?;
    }
    out.write_all(b"]")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
