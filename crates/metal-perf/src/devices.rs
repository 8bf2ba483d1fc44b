//! How busy each device was, and how evenly they shared the work.

use std::collections::BTreeMap;

use trace_ingest::metal::OpRow;

use crate::op::{Op, OpKind};
use crate::report::MetalReport;
use crate::timing::{CompensatedSum, duration_ns, is_valid};

/// Work of a device in the rows that are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceLoad {
    /// Device.
    pub device: u32,
    /// Its operations.
    pub count: usize,
    /// Sum of their times, in microseconds.
    pub time_us: f64,
    /// Sum of the gaps before them, in microseconds; that before the first is none.
    pub gap_us: f64,
    /// Time in which at least one operation ran (the union of their intervals of firmware cycles), in microseconds.
    /// `None` without cycles, or without the durations that tell how long a cycle is.
    pub busy_us: Option<f64>,
    /// Time between the first and the last operation in which none ran, in microseconds.
    pub idle_us: Option<f64>,
    /// Clock that durations and cycles agree on, in MHz.
    pub clock_mhz: Option<f64>,
}

/// Times of one operation on several devices, in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct OpImbalance {
    /// Position in [`MetalReport::ops`].
    pub op: usize,
    /// Devices with a time.
    pub devices: usize,
    /// Least.
    pub min_us: f64,
    /// Mean.
    pub mean_us: f64,
    /// Greatest.
    pub max_us: f64,
    /// The device that took longest; the lowest of several.
    pub slowest: u32,
    /// How much longer the slowest took than the mean, in percent of the mean; 0 where the mean is 0.
    pub imbalance_percent: f64,
}

/// Work of each device, by device. Merged rows count for each of their devices.
pub fn device_loads(report: &MetalReport) -> Vec<DeviceLoad> {
    let mut rows_of: BTreeMap<u32, Vec<&OpRow>> = BTreeMap::new();
    for (_, row) in report.ops.iter().filter(|op| op.kind == OpKind::Device).flat_map(|op| rows(report, op)) {
        if let Some(device) = row.device {
            rows_of.entry(device).or_default().push(row);
        }
    }
    rows_of.into_iter().map(|(device, rows)| load(report, device, &rows)).collect()
}

/// Spread of the operations that several devices have a time of, in order.
pub fn imbalances(report: &MetalReport) -> Vec<OpImbalance> {
    let ops = report.ops.iter().enumerate().filter(|(_, op)| !op.merged_rows.is_empty());
    ops.filter_map(|(position, op)| {
        let mut times: Vec<(u32, f64)> =
            rows(report, op).filter_map(|(_, row)| Some((row.device?, time_us(report, row)?))).collect();
        times.sort_by_key(|(device, _)| *device);
        let &(first, first_time) = times.first().filter(|_| times.len() > 1)?;
        let (slowest, max_us) =
            times.iter().fold((first, first_time), |most, &time| if time.1 > most.1 { time } else { most });
        let sum: CompensatedSum = times.iter().map(|(_, time)| *time).collect();
        let mean_us = sum.value() / times.len() as f64;
        Some(OpImbalance {
            op: position,
            devices: times.len(),
            min_us: times.iter().map(|(_, time)| *time).fold(first_time, f64::min),
            mean_us,
            max_us,
            slowest,
            imbalance_percent: if mean_us == 0.0 { 0.0 } else { (max_us / mean_us - 1.0) * 100.0 },
        })
    })
    .collect()
}

/// Rows that a row of the report stands for.
fn rows<'a>(report: &'a MetalReport, op: &'a Op) -> impl Iterator<Item = (u32, &'a OpRow)> {
    let rows = std::iter::once(op.row).chain(op.merged_rows.iter().copied());
    rows.filter_map(|row| Some((row, report.table.rows.get(row as usize)?)))
}

fn time_us(report: &MetalReport, row: &OpRow) -> Option<f64> {
    let duration = duration_ns(row, report.options.duration);
    duration.filter(|_| is_valid(duration, row.op_to_op_ns)).map(|duration| duration / 1000.0)
}

fn load(report: &MetalReport, device: u32, rows: &[&OpRow]) -> DeviceLoad {
    let time: CompensatedSum = rows.iter().filter_map(|row| time_us(report, row)).collect();
    let gaps =
        rows.iter().skip(1).filter_map(|row| row.op_to_op_ns).filter(|gap| gap.is_finite() && *gap >= 0.0);
    let gap: CompensatedSum = gaps.map(|gap| gap / 1000.0).collect();
    let intervals = || {
        let cycles =
            rows.iter().filter_map(|row| Some((row.fw_start_cycle?, row.fw_end_cycle?, row.fw_duration_ns)));
        cycles.filter(|(start, end, _)| end > start)
    };
    let (mut cycles, mut nanoseconds) = (CompensatedSum::default(), CompensatedSum::default());
    for (start, end, duration) in intervals() {
        if let Some(duration) = duration.filter(|duration| duration.is_finite() && *duration > 0.0) {
            cycles.add((end - start) as f64);
            nanoseconds.add(duration);
        }
    }
    let clock_mhz = (nanoseconds.value() > 0.0).then(|| cycles.value() / nanoseconds.value() * 1000.0);
    let (busy, span) = union(intervals().map(|(start, end, _)| (start, end)).collect());
    DeviceLoad {
        device,
        count: rows.len(),
        time_us: time.value(),
        gap_us: gap.value(),
        busy_us: clock_mhz.map(|clock| busy as f64 / clock),
        idle_us: clock_mhz.map(|clock| (span - busy) as f64 / clock),
        clock_mhz,
    }
}

/// Length that intervals cover, and that from the first start to the last end.
fn union(mut intervals: Vec<(u64, u64)>) -> (u64, u64) {
    intervals.sort_unstable();
    let Some(&(first, _)) = intervals.first() else { return (0, 0) };
    let (mut covered, mut until) = (0, first);
    for (start, end) in intervals {
        covered += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    (covered, until - first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_made::{Line, report};
    use crate::options::MetalOptions;

    #[test]
    fn overlapping_intervals_count_once() {
        assert_eq!(union(vec![]), (0, 0));
        assert_eq!(union(vec![(10, 20), (15, 30), (16, 18), (40, 50)]), (30, 40));
    }

    #[test]
    fn a_device_is_busy_while_any_of_its_operations_runs() {
        let cycles = |start, end| Line {
            cycles: Some((start, end)),
            duration: Some((end - start) as f64),
            ..Line::op("A")
        };
        let report =
            report(&[cycles(1000, 2000), cycles(1500, 2500), cycles(4500, 5000)], MetalOptions::default());
        let loads = device_loads(&report);
        assert_eq!(loads.len(), 1);
        assert_eq!((loads[0].count, loads[0].time_us), (3, 2.5));
        assert_eq!(
            (loads[0].busy_us, loads[0].idle_us, loads[0].clock_mhz),
            (Some(2.0), Some(2.0), Some(1000.0))
        );
    }

    #[test]
    fn without_cycles_busy_time_is_unknown() {
        let loads = device_loads(&report(&[Line::op("A")], MetalOptions::default()));
        assert_eq!((loads[0].busy_us, loads[0].idle_us, loads[0].time_us), (None, None, 10.0));
    }

    #[test]
    fn imbalance_names_the_slowest_device() {
        let line = |device, duration| Line { device: Some(device), call: Some(0), duration, ..Line::op("A") };
        let lines = [line(0, Some(1000.0)), line(1, Some(3000.0)), line(2, None), line(3, Some(2000.0))];
        let found = imbalances(&report(&lines, MetalOptions::default()));
        assert_eq!(found.len(), 1);
        let op = &found[0];
        assert_eq!((op.devices, op.slowest), (3, 1));
        assert_eq!((op.min_us, op.mean_us, op.max_us, op.imbalance_percent), (1.0, 2.0, 3.0, 50.0));
    }
}
