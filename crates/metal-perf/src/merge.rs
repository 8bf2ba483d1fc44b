//! One row for what several devices did in the same call.

use hashbrown::HashMap;
use trace_ingest::StringId;
use trace_ingest::metal::{OpRow, OpType, OpsTable};

use crate::align::align;
use crate::conventions::by_fronts;
use crate::notice::MetalNotice;
use crate::options::{CollectiveTime, MetalOptions};
use crate::timing::{duration_ns, is_valid};

/// Calls are numbered in steps of this: the rest of a call count is the device.
const CALL_COUNT_STEP: i64 = 1024;

/// A row of the report before it is modelled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MergedRow {
    /// The row whose figures count.
    pub(crate) row: u32,
    /// Rows of the other devices, in order of devices.
    pub(crate) others: Vec<u32>,
    /// Duration in nanoseconds in place of the row's.
    pub(crate) duration_ns: Option<Option<f64>>,
}

impl MergedRow {
    fn alone(row: u32) -> MergedRow {
        MergedRow { row, others: Vec::new(), duration_ns: None }
    }
}

/// Puts the rows of all devices that belong to one call together. Other rows stay as they are.
pub(crate) fn merge(
    table: &OpsTable,
    rows: &[u32],
    options: &MetalOptions,
    notices: &mut Vec<MetalNotice>,
) -> Vec<MergedRow> {
    let alone = || rows.iter().map(|&row| MergedRow::alone(row)).collect();
    let mut devices: Vec<u32> = rows.iter().filter_map(|&row| table.rows[row as usize].device).collect();
    devices.sort_unstable();
    devices.dedup();
    if devices.is_empty() {
        if !rows.is_empty() {
            notices.push(MetalNotice::NoDevices);
        }
        return alone();
    }
    if !options.merge_devices && devices.len() > 1 {
        notices.push(MetalNotice::DevicesKeptApart { devices: devices.len() });
        return alone();
    }
    let mut results: Vec<(usize, MergedRow)> = Vec::new();
    let mut queues: Vec<Vec<Entry>> = vec![Vec::new(); devices.len()];
    let mut unknown = 0;
    for (position, &row) in rows.iter().enumerate() {
        let source = &table.rows[row as usize];
        let is_device_op = source.op_type == OpType::Device;
        match source.device.filter(|_| is_device_op).and_then(|device| devices.binary_search(&device).ok()) {
            Some(device) => queues[device].push(Entry { row, position, name: source.op_code }),
            None => {
                unknown += usize::from(is_device_op);
                results.push((position, MergedRow::alone(row)));
            }
        }
    }
    if unknown > 0 {
        notices.push(MetalNotice::DeviceUnknown { rows: unknown });
    }
    let blocks =
        if options.conventions.merges_by_front {
            let (blocks, differing) = by_fronts(&queues, |entry| entry.name);
            notices.extend(differing.map(|(times, first)| MetalNotice::FrontsDiffer {
                times,
                first: table.text(first).to_owned(),
            }));
            blocks
        } else if devices.len() == 1 {
            queues.iter().flatten().map(|&entry| vec![entry]).collect()
        } else {
            let blocks = if has_device_call_counts(table, &queues) {
                by_call_count(table, &queues)
            } else {
                let rows = queues.iter().map(Vec::len).sum();
                notices.push(MetalNotice::AlignedByName { rows });
                by_names(&queues)
            };
            tell_incomplete(table, &devices, &blocks, notices);
            blocks
        };
    if devices.len() > 1 {
        notices.push(MetalNotice::DevicesMerged {
            devices: devices.len(),
            rows: queues.iter().map(Vec::len).sum(),
            into: blocks.len(),
        });
    }
    for block in &blocks {
        let position = block.iter().map(|entry| entry.position).min().unwrap_or(0);
        results.push((position, choose(table, block, options)));
    }
    results.sort_by_key(|(position, _)| *position);
    results.into_iter().map(|(_, row)| row).collect()
}

/// An operation of a device.
#[derive(Clone, Copy, Debug)]
struct Entry {
    row: u32,
    /// Position in the window.
    position: usize,
    name: StringId,
}

/// Operations of one call, in order of devices.
type Block = Vec<Entry>;

/// Whether all rows have a call count whose rest is their device.
fn has_device_call_counts(table: &OpsTable, queues: &[Vec<Entry>]) -> bool {
    let devices = table.files.iter().find_map(|file| file.devices).unwrap_or(u32::MAX).max(1);
    queues.iter().flatten().all(|entry| {
        let row = &table.rows[entry.row as usize];
        row.global_call_count
            .zip(row.device)
            .is_some_and(|(count, device)| count.rem_euclid(CALL_COUNT_STEP) == i64::from(device % devices))
    })
}

/// What tells a call from others: its number, the trace and the replay of it that it belongs to, and its name. Calls
/// that repeat all of this are told apart by how often the device has had it.
type CallKey = (i64, Option<i64>, Option<i64>, StringId, usize);

fn by_call_count(table: &OpsTable, queues: &[Vec<Entry>]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut block_by_call: HashMap<CallKey, usize> = HashMap::new();
    for queue in queues {
        let mut seen: HashMap<(i64, Option<i64>, Option<i64>, StringId), usize> = HashMap::new();
        for &entry in queue {
            let row = &table.rows[entry.row as usize];
            let call = row.global_call_count.unwrap_or(0).div_euclid(CALL_COUNT_STEP);
            let times = seen.entry((call, row.trace_id, row.replay_session, entry.name)).or_insert(0);
            let key = (call, row.trace_id, row.replay_session, entry.name, *times);
            *times += 1;
            let block = *block_by_call.entry(key).or_insert_with(|| {
                blocks.push(Vec::new());
                blocks.len() - 1
            });
            blocks[block].push(entry);
        }
    }
    blocks
}

/// Aligns the names of each further device with those of all devices before.
fn by_names(queues: &[Vec<Entry>]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for queue in queues {
        let names: Vec<StringId> = blocks.iter().map(|block| block[0].name).collect();
        let queue_names: Vec<StringId> = queue.iter().map(|entry| entry.name).collect();
        let mut before = std::mem::take(&mut blocks).into_iter();
        for (block, entry) in align(&names, &queue_names) {
            let mut merged = block.and_then(|_| before.next()).unwrap_or_default();
            merged.extend(entry.map(|entry| queue[entry]));
            blocks.push(merged);
        }
    }
    blocks
}

fn tell_incomplete(table: &OpsTable, devices: &[u32], blocks: &[Block], notices: &mut Vec<MetalNotice>) {
    let incomplete = || blocks.iter().filter(|block| block.len() < devices.len());
    let Some(first) = incomplete().min_by_key(|block| block.iter().map(|entry| entry.position).min()) else {
        return;
    };
    let has = |device: u32| first.iter().any(|entry| table.rows[entry.row as usize].device == Some(device));
    notices.push(MetalNotice::IncompleteCalls {
        calls: incomplete().count(),
        first: table.text(first[0].name).to_owned(),
        id: table.rows[first[0].row as usize].id,
        lacking: devices.iter().copied().filter(|&device| !has(device)).collect(),
    });
}

/// The row that stands for a call: the one that took longest, or, as devices wait for each other in a collective,
/// the lowest device's with a time of all.
fn choose(table: &OpsTable, block: &[Entry], options: &MetalOptions) -> MergedRow {
    let valid = |entry: &Entry| -> Option<f64> {
        let row: &OpRow = &table.rows[entry.row as usize];
        duration_ns(row, options.duration).filter(|&duration| is_valid(Some(duration), row.op_to_op_ns))
    };
    let name = block.first().map_or("", |entry| table.text(entry.name));
    let is_collective = ["AllGather", "ReduceScatter", "AllReduce"].iter().any(|part| name.contains(part));
    let (chosen, duration_ns) = if is_collective {
        let durations: Vec<f64> = block.iter().filter_map(valid).collect();
        let time = match options.collective_time {
            CollectiveTime::Mean if durations.is_empty() => None,
            CollectiveTime::Mean => Some(durations.iter().sum::<f64>() / durations.len() as f64),
            CollectiveTime::Min => durations.iter().copied().reduce(f64::min),
            CollectiveTime::Max => durations.iter().copied().reduce(f64::max),
        };
        (0, Some(time))
    } else {
        let mut longest = (0, f64::NEG_INFINITY);
        for (place, entry) in block.iter().enumerate() {
            let duration = valid(entry).unwrap_or(-1.0);
            if duration > longest.1 {
                longest = (place, duration);
            }
        }
        (longest.0, None)
    };
    let others =
        block.iter().enumerate().filter(|(place, _)| *place != chosen).map(|(_, entry)| entry.row).collect();
    MergedRow { row: block[chosen].row, others, duration_ns }
}

#[cfg(test)]
mod tests;
