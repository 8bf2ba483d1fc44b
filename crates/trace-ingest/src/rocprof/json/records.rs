//! The records of `buffer_records` and `callback_records`, one function per kind of record.

use super::tables::{Label, Labels};
use super::values::{
    Texts, elements, extents, handle, members, real, skip, small, text, time, unsigned, whole,
};
use crate::json::scanner::{Scan, Scanner};
use crate::rocprof::builder::Place;
use crate::rocprof::profile::{Launch, Sample};
use crate::time::Nanoseconds;

/// What records of all kinds begin with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    pub(super) labels: Labels,
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) correlation: Option<u64>,
    pub(super) thread: i64,
    pub(super) stream: u64,
}

impl Head {
    /// When and where it was done, and by whom. Without one of the times it has no length.
    pub(super) fn place(&self, process: u32, queue: u64) -> Place {
        let start = self.start.or(self.end).unwrap_or_default();
        Place {
            start,
            end: self.end.unwrap_or(start),
            correlation: self.correlation,
            thread: self.thread,
            queue,
            stream: self.stream,
            process,
        }
    }

    /// Reads a member that records of all kinds have; skips any other.
    #[inline]
    fn take(&mut self, texts: &mut Texts<'_>, key: &[u8], scanner: &mut Scanner<'_>) -> Scan<()> {
        match key {
            b"start_timestamp" => self.start = time(scanner)?,
            b"end_timestamp" => self.end = time(scanner)?,
            b"correlation_id" => self.correlation = correlation(scanner)?,
            b"thread_id" => self.thread = whole(scanner)?.unwrap_or_default(),
            b"stream_id" => self.stream = handle(scanner)?.unwrap_or_default(),
            b"kind" => self.labels.kind = label(texts, scanner)?,
            b"operation" => self.labels.operation = label(texts, scanner)?,
            _ => skip(scanner)?,
        }
        Ok(())
    }
}

fn label(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<Label> {
    if scanner.peek()? != b'"' {
        return Ok(small(scanner)?.map_or(Label::Missing, Label::Number));
    }
    Ok(text(scanner)?.map_or(Label::Missing, |raw| Label::Text(texts.intern(raw))))
}

/// The number that a record shares with the call that caused it; the profiler's 0 is none.
fn correlation(scanner: &mut Scanner<'_>) -> Scan<Option<u64>> {
    let mut found = None;
    if scanner.peek()? == b'{' {
        members(scanner, |key, scanner| {
            match key {
                b"internal" => found = unsigned(scanner)?,
                _ => skip(scanner)?,
            }
            Ok(())
        })?;
    } else {
        found = unsigned(scanner)?;
    }
    Ok(found.filter(|&number| number != 0))
}

/// `dispatch_info`.
#[derive(Clone, Copy, Debug)]
pub(super) struct DispatchInfo {
    pub(super) agent: Option<u64>,
    pub(super) queue: u64,
    pub(super) kernel: Option<u64>,
    pub(super) dispatch: u64,
    /// Without registers.
    pub(super) launch: Launch,
}

impl Default for DispatchInfo {
    fn default() -> Self {
        let launch = Launch { grid: [1; 3], workgroup: [1; 3], ..Launch::default() };
        DispatchInfo { agent: None, queue: 0, kernel: None, dispatch: 0, launch }
    }
}

#[inline]
fn dispatch_info(scanner: &mut Scanner<'_>) -> Scan<DispatchInfo> {
    let mut info = DispatchInfo::default();
    members(scanner, |key, scanner| {
        match key {
            b"agent_id" => info.agent = handle(scanner)?,
            b"queue_id" => info.queue = handle(scanner)?.unwrap_or_default(),
            b"kernel_id" => info.kernel = unsigned(scanner)?,
            b"dispatch_id" => info.dispatch = unsigned(scanner)?.unwrap_or_default(),
            b"private_segment_size" => info.launch.private_segment = small(scanner)?.unwrap_or_default(),
            b"group_segment_size" => info.launch.group_segment = small(scanner)?.unwrap_or_default(),
            b"workgroup_size" => info.launch.workgroup = extents(scanner)?,
            b"grid_size" => info.launch.grid = extents(scanner)?,
            _ => skip(scanner)?,
        }
        Ok(())
    })?;
    Ok(info)
}

/// An entry of `kernel_dispatch`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DispatchRecord {
    pub(super) head: Head,
    pub(super) info: DispatchInfo,
}

#[inline]
pub(super) fn dispatch(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<DispatchRecord> {
    let mut record = DispatchRecord::default();
    members(scanner, |key, scanner| match key {
        b"dispatch_info" => {
            record.info = dispatch_info(scanner)?;
            Ok(())
        }
        _ => record.head.take(texts, key, scanner),
    })?;
    Ok(record)
}

/// An entry of `hip_api`, `marker_api`, ….
pub(super) fn call(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<Head> {
    let mut head = Head::default();
    members(scanner, |key, scanner| head.take(texts, key, scanner))?;
    Ok(head)
}

/// An entry of `memory_copy`, `memory_allocation` or `scratch_memory`, each of which has some of the members.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MemoryRecord {
    pub(super) head: Head,
    pub(super) agent: Option<u64>,
    pub(super) source: Option<u64>,
    pub(super) destination: Option<u64>,
    pub(super) queue: u64,
    pub(super) address: u64,
    pub(super) bytes: Option<u64>,
}

pub(super) fn memory(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<MemoryRecord> {
    let mut record = MemoryRecord::default();
    members(scanner, |key, scanner| {
        match key {
            b"agent_id" => record.agent = handle(scanner)?,
            b"src_agent_id" => record.source = handle(scanner)?,
            b"dst_agent_id" => record.destination = handle(scanner)?,
            b"queue_id" => record.queue = handle(scanner)?.unwrap_or_default(),
            b"address" => record.address = handle(scanner)?.unwrap_or_default(),
            b"bytes" | b"allocation_size" => record.bytes = unsigned(scanner)?,
            _ => record.head.take(texts, key, scanner)?,
        }
        Ok(())
    })?;
    Ok(record)
}

/// An entry of `counter_collection`.
#[derive(Clone, Debug, Default)]
pub(super) struct CounterRecord {
    pub(super) dispatch: DispatchRecord,
    pub(super) vgprs: u32,
    pub(super) sgprs: u32,
    /// Handles of counters with their values, one pair per instance.
    pub(super) values: Vec<(u64, f64)>,
}

pub(super) fn counters(texts: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<CounterRecord> {
    let mut record = CounterRecord::default();
    members(scanner, |key, scanner| {
        match key {
            b"dispatch_data" => members(scanner, |key, scanner| match key {
                b"dispatch_info" => {
                    record.dispatch.info = dispatch_info(scanner)?;
                    Ok(())
                }
                _ => record.dispatch.head.take(texts, key, scanner),
            })?,
            b"records" => {
                record.values.clear();
                elements(scanner, |scanner| {
                    record.values.extend(counter_value(scanner)?);
                    Ok(())
                })?;
            }
            b"arch_vgpr_count" => record.vgprs = small(scanner)?.unwrap_or_default(),
            b"sgpr_count" => record.sgprs = small(scanner)?.unwrap_or_default(),
            _ => record.dispatch.head.take(texts, key, scanner)?,
        }
        Ok(())
    })?;
    Ok(record)
}

fn counter_value(scanner: &mut Scanner<'_>) -> Scan<Option<(u64, f64)>> {
    let (mut counter, mut value) = (None, None);
    members(scanner, |key, scanner| {
        match key {
            b"counter_id" => counter = handle(scanner)?,
            b"value" => value = real(scanner)?,
            _ => skip(scanner)?,
        }
        Ok(())
    })?;
    Ok(counter.zip(value))
}

/// An entry of `pc_sample_host_trap` or `pc_sample_stochastic`, with the position of its instruction in their table.
pub(super) fn sample(_: &mut Texts<'_>, scanner: &mut Scanner<'_>) -> Scan<(Sample, Option<i64>)> {
    let mut sample = Sample::default();
    let mut instruction = None;
    members(scanner, |key, scanner| {
        match key {
            b"inst_index" => instruction = whole(scanner)?,
            b"record" => members(scanner, |key, scanner| {
                match key {
                    b"timestamp" => sample.time = Nanoseconds(time(scanner)?.unwrap_or_default()),
                    b"dispatch_id" => sample.dispatch_id = unsigned(scanner)?.unwrap_or_default(),
                    b"pc" => members(scanner, |key, scanner| {
                        match key {
                            b"code_object_id" => sample.code_object = unsigned(scanner)?.unwrap_or_default(),
                            b"code_object_offset" => sample.offset = unsigned(scanner)?.unwrap_or_default(),
                            _ => skip(scanner)?,
                        }
                        Ok(())
                    })?,
                    _ => skip(scanner)?,
                }
                Ok(())
            })?,
            _ => skip(scanner)?,
        }
        Ok(())
    })?;
    Ok((sample, instruction))
}
