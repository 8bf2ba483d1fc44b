//! The device at a glance.

use std::collections::BTreeMap;

use super::analysis::TpuAnalysis;
use super::category::{WorkClass, work_class};
use super::framework_op_stats::{FrameworkOpRow, IdleTime, Place, framework_op_stats};
use super::module_runs::module_runs;
use super::op_metrics::Work;
use super::peaks::giga_to_gibi;
use super::rates::{Rates, Roof};

/// What a step is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepSource {
    /// What the profiler recorded as steps.
    Steps,
    /// Runs of the program that takes most time, because no steps were recorded.
    Runs(String),
}

/// Lengths of steps on all cores, in ms.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTimes {
    /// What a step is.
    pub source: StepSource,
    /// How many steps; those of several cores count each.
    pub count: usize,
    /// Mean.
    pub mean_ms: f64,
    /// Standard deviation of the population.
    pub deviation_ms: f64,
    /// Shortest.
    pub min_ms: f64,
    /// Longest.
    pub max_ms: f64,
}

/// One of the operations of the framework that take most time.
#[derive(Clone, Debug, PartialEq)]
pub struct TopOp {
    /// Type.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Own time as a share of the time in which something ran, 0 to 1.
    pub self_fraction: f64,
    /// Sum of the shares of this one and those before.
    pub cumulative_fraction: f64,
    /// Arithmetic, in GFLOP/s.
    pub flop_rate: f64,
}

/// The figures. Shares are 0 to 1; `None` where the profile does not have what they are made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// Kind of device.
    pub device_type: String,
    /// Tensor cores.
    pub cores: usize,
    /// Lengths of steps; `None` without steps and runs.
    pub steps: Option<StepTimes>,
    /// Use of the matrix unit as the host sampled it, in percent.
    pub mxu_utilization: Option<f64>,
    /// Use of the memory as the host sampled it, in percent.
    pub sampled_hbm_utilization: Option<f64>,
    /// Arithmetic over all time as a share of its peak.
    pub flops_utilization: Option<f64>,
    /// Bytes of the high-bandwidth memory over all time as a share of its peak.
    pub hbm_utilization: Option<f64>,
    /// Time in which the cores worked as a share of all time.
    pub duty_cycle: Option<f64>,
    /// Time in which nothing ran as a share of all time.
    pub idle: Option<f64>,
    /// Time of computing operations whose result has 16 bits an element, as a share of that of all.
    pub compute_16bit: Option<f64>,
    /// The same for 32 bits.
    pub compute_32bit: Option<f64>,
    /// Calls on the host as a share of the executions of all framework operations.
    pub host_op_fraction: Option<f64>,
    /// Executions on the device as a share of these.
    pub device_op_fraction: Option<f64>,
    /// The ten framework operations that take most time of the device.
    pub top_ops: Vec<TopOp>,
}

/// The figures of a profile.
#[must_use]
pub fn overview(analysis: &TpuAnalysis) -> Overview {
    let profile = &analysis.profile;
    let table = &analysis.table;
    let roof = profile.peaks.as_ref().ok().filter(|_| table.total_ps > 0).map(|peaks| {
        let mut work = Work { time_ps: table.total_ps, ..Work::default() };
        for op in table.ops.iter().filter(|op| !analysis.may_have_inner_ops(op)) {
            work.add_work(&op.work);
        }
        let rates = Rates::of(&work);
        let hbm = rates.bandwidth.hbm / giga_to_gibi(peaks.hbm);
        (Roof::of(&rates, peaks).compute_utilization, hbm)
    });
    let rows = framework_op_stats(analysis, IdleTime::Excluded);
    let executions = |place: Place| -> u64 {
        rows.iter().filter(|row| row.place == place).map(|row| row.occurrences).sum()
    };
    let (host, device) = (executions(Place::Host), executions(Place::Device));
    let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let (bits_16, bits_32, all_bits) = time_by_width(analysis);
    Overview {
        device_type: profile.device_type.clone(),
        cores: profile.cores.len(),
        steps: step_times(analysis),
        mxu_utilization: profile.mxu_utilization,
        sampled_hbm_utilization: profile.hbm_utilization,
        flops_utilization: roof.map(|roof| roof.0),
        hbm_utilization: roof.map(|roof| roof.1),
        duty_cycle: analysis.duty_cycle_ps().fraction(),
        idle: share(table.idle_ps(), table.total_ps),
        compute_16bit: share(bits_16, all_bits),
        compute_32bit: share(bits_32, all_bits),
        host_op_fraction: share(host, host + device),
        device_op_fraction: share(device, host + device),
        top_ops: top_ops(&rows),
    }
}

fn top_ops(rows: &[FrameworkOpRow<'_>]) -> Vec<TopOp> {
    let device = rows.iter().filter(|row| row.place == Place::Device).take(10);
    let top = device.map(|row| TopOp {
        kind: row.kind.to_string(),
        name: row.name.to_string(),
        self_fraction: row.self_fraction,
        cumulative_fraction: row.cumulative_fraction,
        flop_rate: row.rates.flop_rate,
    });
    top.collect()
}

fn step_times(analysis: &TpuAnalysis) -> Option<StepTimes> {
    let steps = analysis.steps();
    if !steps.is_empty() {
        let lengths = steps.iter().flat_map(|step| step.lengths_ps.iter().copied()).collect();
        return statistics(StepSource::Steps, lengths);
    }
    let runs = module_runs(analysis);
    let mut by_module: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for row in &runs {
        by_module.entry(&row.run.module).or_default().push(row.run.span.duration_ps);
    }
    let longest = by_module.into_iter().max_by_key(|(_, lengths)| lengths.iter().sum::<u64>());
    longest.and_then(|(module, lengths)| statistics(StepSource::Runs(module.to_string()), lengths))
}

fn statistics(source: StepSource, lengths_ps: Vec<u64>) -> Option<StepTimes> {
    let (count, ms) = (lengths_ps.len(), |ps: f64| ps / 1e9);
    let (min, max) = (*lengths_ps.iter().min()?, *lengths_ps.iter().max()?);
    let mean = lengths_ps.iter().map(|&length| length as f64).sum::<f64>() / count as f64;
    let variance =
        lengths_ps.iter().map(|&length| (length as f64 - mean).powi(2)).sum::<f64>() / count as f64;
    Some(StepTimes {
        source,
        count,
        mean_ms: ms(mean),
        deviation_ms: ms(variance.sqrt()),
        min_ms: ms(min as f64),
        max_ms: ms(max as f64),
    })
}

/// Own time of computing operations whose results have 16 bits an element, 32, and any number, in picoseconds.
fn time_by_width(analysis: &TpuAnalysis) -> (u64, u64, u64) {
    let mut times = (0, 0, 0);
    for op in analysis.table.ops.iter().filter(|op| !analysis.may_have_inner_ops(op)) {
        let described = analysis.op(op);
        let (category, expression) = (&described.category, &described.expression);
        if work_class(category, expression) != WorkClass::Compute {
            continue;
        }
        let shape = match described.shape.is_empty() {
            true => expression.split_once(" = ").map_or("", |sides| sides.1),
            false => &described.shape,
        };
        match element_bits(shape) {
            Some(16) => times.0 += op.self_time_ps,
            Some(32) => times.1 += op.self_time_ps,
            _ => {}
        }
        times.2 += op.self_time_ps;
    }
    times
}

/// Bits of an element of the first array of a shape text, `(bf16[8]{0}, f32[8]{0})` has 16.
fn element_bits(shape: &str) -> Option<u32> {
    let text = shape.trim_start_matches('(');
    let digits = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_of_an_element_is_in_its_type() {
        for (shape, bits) in [
            ("bf16[8,128]{1,0}", Some(16)),
            ("(f32[8]{0}, bf16[8]{0})", Some(32)),
            ("f8e4m3fn[8]{0}", Some(8)),
            ("pred[]", None),
            ("", None),
        ] {
            assert_eq!(element_bits(shape), bits, "{shape}");
        }
    }
}
