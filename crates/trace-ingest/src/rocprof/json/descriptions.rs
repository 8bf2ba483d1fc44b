//! What a process says of itself and of what its records refer to: metadata, agents, kernels, counters.

use super::tables::Kind;
use super::values::{Texts, elements, handle, members, real, skip, small, text, time, unsigned, whole};
use crate::json::scanner::{Fault, Scan, Scanner, unescape};
use crate::rocprof::profile::{Agent, AgentKind, Counter, Kernel, Process};
use crate::string_table::StringId;
use crate::time::Nanoseconds;

/// A string of its own, of which a profile has few. `invalid` counts those that are not UTF-8.
fn owned(invalid: &mut u64, scanner: &mut Scanner<'_>) -> Scan<Option<String>> {
    Ok(text(scanner)?.map(|raw| {
        let (text, lossy) = unescape(raw);
        *invalid += u64::from(lossy);
        text
    }))
}

fn interned(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<Option<StringId>> {
    Ok(text(scanner)?.map(|raw| texts.intern(raw)))
}

/// `metadata`.
pub(super) fn metadata(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<Process> {
    let mut process = Process::default();
    members(scanner, |key, scanner| {
        match key {
            b"pid" => process.pid = whole(scanner)?,
            b"init_time" => process.init = time(scanner)?.map(Nanoseconds),
            b"fini_time" => process.fini = time(scanner)?.map(Nanoseconds),
            b"node" => members(scanner, |key, scanner| {
                match key {
                    b"hostname" => process.hostname = owned(&mut texts.lossy, scanner)?,
                    _ => skip(scanner)?,
                }
                Ok(())
            })?,
            _ => skip(scanner)?,
        }
        Ok(())
    })?;
    Ok(process)
}

/// An entry of `agents`.
pub(super) fn agent(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<Agent> {
    let agent = described_agent(&mut texts.lossy, scanner)?;
    match agent.handle {
        Some(handle) => Ok(Agent { label: handle.to_string(), ..agent }),
        None => Err(Fault::Malformed("an agent has no id")),
    }
}

/// The object by which the profiler describes an agent, also in rocpd databases. The agent has no label yet.
pub(in crate::rocprof) fn described_agent(invalid: &mut u64, scanner: &mut Scanner<'_>) -> Scan<Agent> {
    let mut agent = Agent::default();
    members(scanner, |key, scanner| {
        match key {
            b"id" => agent.handle = handle(scanner)?,
            b"type" => {
                agent.kind = match whole(scanner)? {
                    Some(1) => AgentKind::Cpu,
                    Some(2) => AgentKind::Gpu,
                    _ => AgentKind::Unknown,
                }
            }
            b"name" => agent.name = owned(invalid, scanner)?,
            b"product_name" => agent.product_name = owned(invalid, scanner)?,
            b"node_id" => agent.node_id = whole(scanner)?,
            b"logical_node_id" => agent.logical_node_id = whole(scanner)?,
            b"logical_node_type_id" => agent.ordinal = whole(scanner)?,
            b"cu_count" => agent.compute_units = small(scanner)?,
            b"simd_per_cu" => agent.simds_per_compute_unit = small(scanner)?,
            b"max_waves_per_simd" => agent.max_waves_per_simd = small(scanner)?,
            b"wave_front_size" => agent.wave_size = small(scanner)?,
            b"lds_size_in_kb" => agent.lds_kib = small(scanner)?,
            b"num_xcc" => agent.dies = small(scanner)?,
            b"max_engine_clk_fcompute" => agent.max_clock_mhz = small(scanner)?,
            b"mem_banks" => elements(scanner, |scanner| {
                let bank = memory_bank(scanner)?;
                agent.memory_bytes = Some(agent.memory_bytes.unwrap_or(0).saturating_add(bank.bytes));
                if bank.bandwidth > agent.memory_bandwidth.unwrap_or(0.0) {
                    agent.memory_bandwidth = Some(bank.bandwidth);
                }
                Ok(())
            })?,
            _ => skip(scanner)?,
        }
        Ok(())
    })?;
    Ok(agent)
}

struct MemoryBank {
    bytes: u64,
    /// Bytes per second, 0 when the file does not say.
    bandwidth: f64,
}

/// Memory of an agent: width of its bus in bits, highest clock in MHz. The bus moves two words a clock.
fn memory_bank(scanner: &mut Scanner<'_>) -> Scan<MemoryBank> {
    let (mut bytes, mut width, mut clock) = (0, 0.0, 0.0);
    members(scanner, |key, scanner| {
        match key {
            b"size_in_bytes" => bytes = unsigned(scanner)?.unwrap_or_default(),
            b"width" => width = real(scanner)?.unwrap_or_default(),
            b"mem_clk_max" => clock = real(scanner)?.unwrap_or_default(),
            _ => skip(scanner)?,
        }
        Ok(())
    })?;
    Ok(MemoryBank { bytes, bandwidth: width / 8.0 * clock * 1e6 * 2.0 })
}

/// Registers of a kernel: vector, accumulation, scalar.
pub(super) type Registers = [u32; 3];

/// An entry of `kernel_symbols`.
pub(super) fn kernel(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<(Kernel, Registers)> {
    let mut kernel = Kernel::default();
    let mut registers = [0; 3];
    members(scanner, |key, scanner| {
        match key {
            b"kernel_id" => kernel.id = unsigned(scanner)?,
            b"kernel_name" => kernel.mangled = interned(texts, scanner)?,
            b"demangled_kernel_name" => kernel.demangled = interned(texts, scanner)?,
            b"formatted_kernel_name" => kernel.formatted = interned(texts, scanner)?,
            b"truncated_kernel_name" => kernel.truncated = interned(texts, scanner)?,
            b"arch_vgpr_count" => registers[0] = small(scanner)?.unwrap_or_default(),
            b"accum_vgpr_count" => registers[1] = small(scanner)?.unwrap_or_default(),
            b"sgpr_count" => registers[2] = small(scanner)?.unwrap_or_default(),
            _ => skip(scanner)?,
        }
        Ok(())
    })?;
    if kernel.id.is_none() {
        return Err(Fault::Malformed("a kernel symbol has no kernel_id"));
    }
    Ok((kernel, registers))
}

/// An entry of `counters`, with the handle by which values refer to it.
pub(super) fn counter(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<(u64, Counter)> {
    let (mut id, mut name, mut counter) = (None, None, Counter::default());
    members(scanner, |key, scanner| {
        match key {
            b"id" => id = handle(scanner)?,
            b"name" => name = owned(&mut texts.lossy, scanner)?,
            b"description" => counter.description = owned(&mut texts.lossy, scanner)?,
            b"block" => counter.block = owned(&mut texts.lossy, scanner)?,
            b"expression" => counter.expression = owned(&mut texts.lossy, scanner)?,
            _ => skip(scanner)?,
        }
        Ok(())
    })?;
    for part in [&mut counter.description, &mut counter.block, &mut counter.expression] {
        *part = part.take().filter(|text| !text.is_empty());
    }
    match (id, name) {
        (Some(id), Some(name)) => Ok((id, Counter { name, ..counter })),
        _ => Err(Fault::Malformed("a counter has no id or no name")),
    }
}

/// An entry of `strings.buffer_records`.
pub(super) fn kind(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<Kind> {
    let mut kind = Kind { name: StringId::EMPTY, operations: Vec::new() };
    members(scanner, |key, scanner| {
        match key {
            b"kind" => kind.name = interned(texts, scanner)?.unwrap_or(StringId::EMPTY),
            b"operations" => elements(scanner, |scanner| {
                kind.operations.push(interned(texts, scanner)?.unwrap_or(StringId::EMPTY));
                Ok(())
            })?,
            _ => skip(scanner)?,
        }
        Ok(())
    })?;
    Ok(kind)
}

/// An entry of `strings.marker_api`: a correlation number and the text of its marker.
pub(super) fn marker(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<Option<(u64, StringId)>> {
    let (mut id, mut message) = (None, None);
    members(scanner, |key, scanner| {
        match key {
            b"key" => id = unsigned(scanner)?,
            b"value" => message = interned(texts, scanner)?,
            _ => skip(scanner)?,
        }
        Ok(())
    })?;
    Ok(id.zip(message))
}

/// An entry of `strings.pc_sample_instructions`.
pub(super) fn instruction(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<StringId> {
    Ok(interned(texts, scanner)?.unwrap_or(StringId::EMPTY))
}
