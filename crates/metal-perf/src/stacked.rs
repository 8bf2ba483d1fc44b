//! Time by group of operations: what a stacked bar shows.

use hashbrown::HashMap;

use crate::exact_sum::CompensatedSum;
use crate::op::{Op, OpCategory, OpKind};
use crate::options::GroupBy;
use crate::report::MetalReport;

/// Operations that belong together, with their time.
#[derive(Clone, Debug, PartialEq)]
pub struct StackedGroup {
    /// Operation, operation and where its first input lies, or category.
    pub name: String,
    /// Kind of memory of the first input (`DRAM`, `L1`, `HOST`), when groups are by memory.
    pub buffer: Option<String>,
    /// Device, when devices are not merged.
    pub device: Option<u32>,
    /// Time on the device, in microseconds.
    pub time_us: f64,
    /// Of the time of all groups, or of all of the device's.
    pub percent: f64,
    /// Operations.
    pub count: usize,
    /// Category of the first operation.
    pub category: Option<OpCategory>,
    /// Percentages of the FLOPs, if any operation has one; groups by category have none.
    pub flops: Option<FlopsSpread>,
}

/// How percentages of the FLOPs spread over a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlopsSpread {
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation, of two operations or more.
    pub std: Option<f64>,
    /// Mean weighted with the times.
    pub weighted_mean: Option<f64>,
}

/// Rows that are shown, signposts left out, by group; the group that takes longest first.
pub fn stacked(report: &MetalReport) -> Vec<StackedGroup> {
    let split = !report.options.merge_devices;
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut of_key: HashMap<(Key, Option<u32>), usize> = HashMap::new();
    for op in report.ops.iter().filter(|op| op.kind != OpKind::Signpost) {
        let Some(key) = key(report, op) else { continue };
        let device = op.device.filter(|_| split);
        if split && device.is_none() && report.options.compat {
            continue;
        }
        let group = *of_key.entry((key.clone(), device)).or_insert_with(|| {
            groups.push(Group { key, device, ops: Vec::new() });
            groups.len() - 1
        });
        groups[group].ops.push(op);
    }
    let mut times: HashMap<Option<u32>, CompensatedSum> = HashMap::new();
    for group in &groups {
        let time = times.entry(group.device).or_default();
        group.ops.iter().for_each(|op| time.add(time_us(op)));
    }
    let mut stacked: Vec<StackedGroup> = groups
        .iter()
        .map(|group| {
            let time = group.ops.iter().map(|op| time_us(op)).collect::<CompensatedSum>().value();
            let all = times.get(&group.device).map_or(0.0, |all| all.value());
            let by_category = report.options.group_by == GroupBy::Category;
            let weighted: Vec<&Op> = if report.options.compat {
                groups
                    .iter()
                    .filter(|other| other.key == group.key)
                    .flat_map(|other| &other.ops)
                    .copied()
                    .collect()
            } else {
                group.ops.clone()
            };
            StackedGroup {
                name: group.key.name.clone(),
                buffer: group.key.buffer.clone(),
                device: group.device,
                time_us: time,
                percent: if all == 0.0 { 0.0 } else { time / all * 100.0 },
                count: group.ops.len(),
                category: group.ops.first().and_then(|op| op.category),
                flops: if by_category { None } else { spread(&group.ops, &weighted) },
            }
        })
        .collect();
    stacked.sort_by(|a, b| {
        b.time_us
            .total_cmp(&a.time_us)
            .then_with(|| (&a.name, &a.buffer, a.device).cmp(&(&b.name, &b.buffer, b.device)))
    });
    stacked
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    name: String,
    buffer: Option<String>,
}

struct Group<'a> {
    key: Key,
    device: Option<u32>,
    ops: Vec<&'a Op>,
}

fn time_us(op: &Op) -> f64 {
    op.device_time_us.filter(|_| op.kind != OpKind::Host).unwrap_or(0.0)
}

/// Group of an operation. The tool that came before has none for memories without a layout, such as the host's.
fn key(report: &MetalReport, op: &Op) -> Option<Key> {
    let compat = report.options.compat;
    let name = || {
        let whole = report.table.text(op.raw_op_code);
        let text = if op.kind == OpKind::Host && !compat { whole } else { &op.label };
        if op.kind == OpKind::Host && !compat {
            text.to_owned()
        } else {
            text.split_whitespace().next().unwrap_or("").to_owned()
        }
    };
    match report.options.group_by {
        GroupBy::Category => {
            Some(Key { name: op.category.map_or("", OpCategory::as_str).to_owned(), buffer: None })
        }
        GroupBy::Op => Some(Key { name: name(), buffer: None }),
        GroupBy::Memory => {
            let row = report.table.rows.get(op.row as usize)?;
            let memory = report.table.inputs(row).first().map_or("", |input| report.table.text(input.memory));
            if memory.is_empty() {
                return Some(Key { name: name(), buffer: None });
            }
            let parts: Vec<&str> = memory.split('_').collect();
            if parts.len() < 2 && compat {
                return None;
            }
            let layout = parts[parts.len().saturating_sub(2)..].join("_").to_lowercase();
            let buffer = (!compat).then(|| buffer(&parts).to_owned());
            Some(Key { name: format!("{} (in0:{layout})", name()), buffer })
        }
    }
}

/// Kind of memory in `DEV_<n>_<kind>_<layout>`, or what stands first.
fn buffer<'a>(parts: &[&'a str]) -> &'a str {
    let at = if parts.first() == Some(&"DEV") { 2 } else { 0 };
    parts.get(at).or(parts.first()).copied().unwrap_or("")
}

fn spread(ops: &[&Op], weighted: &[&Op]) -> Option<FlopsSpread> {
    let percents: Vec<f64> = ops.iter().filter_map(|op| op.flops_percent).collect();
    let min = percents.iter().copied().reduce(f64::min)?;
    let max = percents.iter().copied().reduce(f64::max)?;
    let count = percents.len() as f64;
    let mean = percents.iter().copied().collect::<CompensatedSum>().value() / count;
    let squares = percents.iter().map(|percent| (percent - mean).powi(2)).collect::<CompensatedSum>().value();
    let (mut product, mut time) = (CompensatedSum::default(), CompensatedSum::default());
    for op in weighted {
        if let Some(percent) = op.flops_percent {
            product.add(percent * time_us(op));
            time.add(time_us(op));
        }
    }
    let (product, time) = (product.value(), time.value());
    Some(FlopsSpread {
        min,
        max,
        mean,
        std: (percents.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
        weighted_mean: (time != 0.0).then(|| product / time),
    })
}

#[cfg(test)]
mod tests;
