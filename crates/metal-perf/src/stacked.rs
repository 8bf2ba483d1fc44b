//! Time by group of operations: what a stacked bar shows.

use hashbrown::HashMap;
use indexmap::IndexMap;

use crate::op::{Op, OpCategory, OpKind};
use crate::options::GroupBy;
use crate::report::MetalReport;
use crate::timing::CompensatedSum;

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
    let rules = report.options.conventions;
    let mut groups: IndexMap<(Key, Option<u32>), Vec<&Op>> = IndexMap::new();
    for op in report.ops.iter().filter(|op| op.kind != OpKind::Signpost) {
        let Some(key) = key(report, op) else { continue };
        let device = op.device.filter(|_| split);
        if split && device.is_none() && rules.drops_unplaced {
            continue;
        }
        groups.entry((key, device)).or_default().push(op);
    }
    let mut times: HashMap<Option<u32>, CompensatedSum> = HashMap::new();
    for ((_, device), ops) in &groups {
        let time = times.entry(*device).or_default();
        ops.iter().for_each(|op| time.add(time_us(op)));
    }
    let mut stacked: Vec<StackedGroup> = groups
        .iter()
        .map(|((key, device), ops)| {
            let time = ops.iter().map(|op| time_us(op)).collect::<CompensatedSum>().value();
            let all = times.get(device).map_or(0.0, |all| all.value());
            let by_category = report.options.group_by == GroupBy::Category;
            let same = || groups.iter().filter(|((other, _), _)| other == key);
            let weighted: Vec<&Op> = match rules.weighs_all_devices {
                true => same().flat_map(|(_, ops)| ops).copied().collect(),
                false => ops.clone(),
            };
            StackedGroup {
                name: key.name.clone(),
                buffer: key.buffer.clone(),
                device: *device,
                time_us: time,
                percent: if all == 0.0 { 0.0 } else { time / all * 100.0 },
                count: ops.len(),
                category: ops.first().and_then(|op| op.category),
                flops: if by_category { None } else { spread(ops, &weighted) },
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

fn time_us(op: &Op) -> f64 {
    op.device_time_us.filter(|_| op.kind != OpKind::Host).unwrap_or(0.0)
}

/// Group of an operation, if it has one.
fn key(report: &MetalReport, op: &Op) -> Option<Key> {
    let rules = report.options.conventions;
    let name = || match op.kind == OpKind::Host && !rules.short_host_names {
        true => report.table.text(op.raw_op_code).to_owned(),
        false => op.label.split_whitespace().next().unwrap_or("").to_owned(),
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
            if parts.len() < 2 && rules.drops_unplaced {
                return None;
            }
            let layout = parts[parts.len().saturating_sub(2)..].join("_").to_lowercase();
            let buffer = (!rules.no_buffers).then(|| buffer(&parts).to_owned());
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hand_made::{Line, THEIRS, conventions, report};
    use crate::options::MetalOptions;

    fn at(name: &'static str, memory: &'static str, us: f64) -> Line {
        Line { memory, duration: Some(us * 1000.0), ..Line::op(name) }
    }

    fn options(group_by: GroupBy) -> MetalOptions {
        MetalOptions { group_by, ..MetalOptions::default() }
    }

    fn rows(groups: &[StackedGroup]) -> Vec<(&str, Option<&str>, f64, usize)> {
        groups.iter().map(|g| (g.name.as_str(), g.buffer.as_deref(), g.time_us, g.count)).collect()
    }

    #[test]
    fn groups_are_by_operation_memory_or_category() {
        let lines = [
            at("Transpose", "DEV_0_DRAM_INTERLEAVED", 1.0),
            at("Transpose", "DEV_0_L1_HEIGHT_SHARDED", 2.0),
            at("Transpose", "DEV_0_DRAM_HEIGHT_SHARDED", 4.0),
            at("Halo", "", 3.0),
        ];
        let by = |group_by| stacked(&report(&lines, options(group_by)));
        assert_eq!(rows(&by(GroupBy::Op)), [("Transpose", None, 7.0, 3), ("Halo", None, 3.0, 1)]);
        assert_eq!(rows(&by(GroupBy::Category)), [("TM", None, 7.0, 3), ("DM", None, 3.0, 1)]);
        assert_eq!(
            rows(&by(GroupBy::Memory)),
            [
                ("Transpose (in0:height_sharded)", Some("DRAM"), 4.0, 1),
                ("Halo", None, 3.0, 1),
                ("Transpose (in0:height_sharded)", Some("L1"), 2.0, 1),
                ("Transpose (in0:dram_interleaved)", Some("DRAM"), 1.0, 1),
            ]
        );
        let theirs = MetalOptions { conventions: THEIRS, ..MetalOptions::default() };
        assert_eq!(
            rows(&stacked(&report(&lines, theirs))),
            [
                ("Transpose (in0:height_sharded)", None, 6.0, 2),
                ("Halo", None, 3.0, 1),
                ("Transpose (in0:dram_interleaved)", None, 1.0, 1),
            ]
        );
    }

    #[test]
    fn memories_without_a_layout_and_host_operations_keep_their_rows() {
        let lines = [at("Copy", "HOST", 1.0), Line::host("add (torch)"), Line::signpost("run")];
        let of = |are_theirs, merge_devices| {
            let options = MetalOptions {
                conventions: conventions(are_theirs),
                merge_devices,
                ignore_signposts: true,
                ..MetalOptions::default()
            };
            stacked(&report(&lines, options)).into_iter().map(|group| group.name).collect::<Vec<_>>()
        };
        assert_eq!(of(false, true), ["Copy (in0:host)", "add (torch)"]);
        assert_eq!(of(false, false), ["Copy (in0:host)", "add (torch)"]);
        assert_eq!(of(true, true), ["add"]);
        assert!(of(true, false).is_empty());
    }

    #[test]
    fn sums_keep_their_second_decimal() {
        let lines = [161.244, 81.979, 20.382, 3.470].map(|us| at("A", "", us));
        let groups = stacked(&report(&lines, options(GroupBy::Op)));
        assert_eq!(format!("{:.2}", groups[0].time_us), "267.07");
    }

    #[test]
    fn ties_are_in_order_of_names_and_no_time_is_no_percent() {
        let groups = stacked(&report(&[at("B", "", 0.0), at("A", "", 0.0)], options(GroupBy::Op)));
        assert_eq!(rows(&groups), [("A", None, 0.0, 1), ("B", None, 0.0, 1)]);
        assert!(groups.iter().all(|group| group.percent == 0.0));
    }

    #[test]
    fn flops_spread_over_operations_weighted_with_their_times() {
        let mut report =
            report(&[at("A", "", 1.0), at("A", "", 3.0), at("A", "", 5.0)], options(GroupBy::Op));
        report.ops[0].flops_percent = Some(10.0);
        report.ops[1].flops_percent = Some(30.0);
        let flops = stacked(&report)[0].flops.unwrap();
        assert_eq!((flops.min, flops.max, flops.mean), (10.0, 30.0, 20.0));
        assert_eq!((flops.std, flops.weighted_mean), (Some(200.0_f64.sqrt()), Some(25.0)));
        report.ops[1].flops_percent = None;
        assert_eq!(stacked(&report)[0].flops.unwrap().std, None);
    }

    #[test]
    fn devices_kept_apart_have_groups_and_weights_of_their_own() {
        let on = |device, us| Line { device: Some(device), ..at("A", "", us) };
        let of = |are_theirs| {
            let options = MetalOptions {
                conventions: conventions(are_theirs),
                merge_devices: false,
                ..options(GroupBy::Op)
            };
            let mut report = report(&[on(0, 1.0), on(1, 3.0)], options);
            report.ops[0].flops_percent = Some(10.0);
            report.ops[1].flops_percent = Some(30.0);
            let groups = stacked(&report);
            let row =
                |group: &StackedGroup| (group.device, group.percent, group.flops.unwrap().weighted_mean);
            groups.iter().map(row).collect::<Vec<_>>()
        };
        assert_eq!(of(false), [(Some(1), 100.0, Some(30.0)), (Some(0), 100.0, Some(10.0))]);
        assert_eq!(of(true), [(Some(1), 100.0, Some(25.0)), (Some(0), 100.0, Some(25.0))]);
    }

    proptest! {
        #[test]
        fn percentages_sum_to_a_hundred_and_counts_to_the_rows(
            picks in prop::collection::vec((0_usize..4, 1_u32..100_000), 1..50),
        ) {
            let name = |at: usize| ["A", "B", "C", "D"][at];
            let lines: Vec<Line> = picks.iter().map(|&(op, ns)| at(name(op), "", f64::from(ns) / 1000.0)).collect();
            let report = report(&lines, options(GroupBy::Op));
            let groups = stacked(&report);
            prop_assert!((groups.iter().map(|group| group.percent).sum::<f64>() - 100.0).abs() < 1e-9);
            prop_assert_eq!(groups.iter().map(|group| group.count).sum::<usize>(), lines.len());
            let shares = report.ops.iter().filter_map(|op| op.total_percent).sum::<f64>();
            prop_assert!((shares - 100.0).abs() < 1e-9);
        }
    }
}
