//! The device at a glance.

use std::collections::BTreeMap;

use sheets::ColumnKind::Number;
use sheets::Unit::One;
use sheets::{Column, Role, Sheet};
use trace_ingest::Picoseconds;

use super::analysis::{TpuAnalysis, Work};
use super::category::{WorkClass, work_class};
use super::findings::tpu_finding;
use super::framework_op_stats::{FrameworkOpRow, IdleTime, Place, framework_op_stats};
use super::module_runs::module_runs;
use super::rates::{Rates, Utilization, giga_to_gibi};
use crate::JaxAnalysis;
use crate::sheet::tpu_sheet;

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

/// The figures. Shares are 0 to 1; `None` where the profile does not have what they are made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview<'a> {
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
    pub top_ops: Vec<FrameworkOpRow<'a>>,
}

/// The figures of a profile.
#[must_use]
pub fn overview(analysis: &TpuAnalysis) -> Overview<'_> {
    let profile = &analysis.profile;
    let table = &analysis.table;
    let roof = profile.peaks.as_ref().ok().filter(|_| table.total.0 > 0).map(|peaks| {
        let mut work = Work { time: table.total, ..Work::default() };
        for op in table.ops.iter().filter(|op| !analysis.may_have_inner_ops(op)) {
            work.add_work(&op.work);
        }
        let rates = Rates::new(&work);
        let hbm = rates.bandwidth.hbm / giga_to_gibi(peaks.hbm);
        (Utilization::new(&rates, peaks).compute_utilization, hbm)
    });
    let rows = framework_op_stats(analysis, IdleTime::Excluded);
    let executions = |place: Place| -> i64 {
        rows.iter().filter(|row| row.place == place).map(|row| row.occurrences as i64).sum()
    };
    let (host, device) = (executions(Place::Host), executions(Place::Device));
    let share = |part: i64, whole: i64| (whole > 0).then(|| part as f64 / whole as f64);
    let (bits_16, bits_32, all_bits) = time_by_width(analysis);
    Overview {
        device_type: profile.device_type.clone(),
        cores: profile.cores.len(),
        steps: step_times(analysis),
        mxu_utilization: profile.mxu_utilization,
        sampled_hbm_utilization: profile.hbm_utilization,
        flops_utilization: roof.map(|roof| roof.0),
        hbm_utilization: roof.map(|roof| roof.1),
        duty_cycle: analysis.duty_cycle().fraction(),
        idle: share(table.idle_time().0, table.total.0),
        compute_16bit: share(bits_16.0, all_bits.0),
        compute_32bit: share(bits_32.0, all_bits.0),
        host_op_fraction: share(host, host + device),
        device_op_fraction: share(device, host + device),
        top_ops: rows.into_iter().filter(|row| row.place == Place::Device).take(10).collect(),
    }
}

fn step_times(analysis: &TpuAnalysis) -> Option<StepTimes> {
    let steps = analysis.steps();
    if !steps.is_empty() {
        let lengths = steps.iter().flat_map(|step| step.lengths.iter().copied()).collect();
        return statistics(StepSource::Steps, lengths);
    }
    let runs = module_runs(analysis);
    let mut by_module: BTreeMap<&str, Vec<Picoseconds>> = BTreeMap::new();
    for row in &runs {
        by_module.entry(&row.run.module).or_default().push(row.run.span.duration);
    }
    let longest =
        by_module.into_iter().max_by_key(|(_, lengths)| lengths.iter().copied().sum::<Picoseconds>());
    longest.and_then(|(module, lengths)| statistics(StepSource::Runs(module.to_string()), lengths))
}

fn statistics(source: StepSource, lengths: Vec<Picoseconds>) -> Option<StepTimes> {
    let (count, ms) = (lengths.len(), |ps: f64| ps / 1e9);
    let (min, max) = (*lengths.iter().min()?, *lengths.iter().max()?);
    let mean = lengths.iter().map(|&length| length.0 as f64).sum::<f64>() / count as f64;
    let variance = lengths.iter().map(|&length| (length.0 as f64 - mean).powi(2)).sum::<f64>() / count as f64;
    Some(StepTimes {
        source,
        count,
        mean_ms: ms(mean),
        deviation_ms: ms(variance.sqrt()),
        min_ms: ms(min.0 as f64),
        max_ms: ms(max.0 as f64),
    })
}

/// Own time of computing operations whose results have 16 bits an element, 32, and any number, in picoseconds.
fn time_by_width(analysis: &TpuAnalysis) -> (Picoseconds, Picoseconds, Picoseconds) {
    let mut times = <(Picoseconds, Picoseconds, Picoseconds)>::default();
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
            Some(16) => times.0 += op.self_time,
            Some(32) => times.1 += op.self_time,
            _ => {}
        }
        times.2 += op.self_time;
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

/// The table as a sheet.
pub(super) fn overview_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    let fields = [
        Column::text("Metric", "Name of the metric.").field(|row: &Row| row.metric.as_str().into()),
        Column::new("Value", Number(One), "Figure in the row's unit; empty if not in the profile.")
            .field(|row: &Row| row.value.into()),
        Column::text("Unit", "Unit of the figure.")
            .with_role(Role::Detail)
            .field(|row: &Row| row.unit.into()),
        Column::text(
            "Text",
            "Text where the metric is not a number: a name, a finding, or why a figure is missing.",
        )
        .with_role(Role::Detail)
        .field(|row: &Row| row.text.as_str().into()),
        Column::text("Meaning", "Definition of the metric.")
            .with_role(Role::Detail)
            .field(|row: &Row| row.meaning.into()),
    ];
    tpu_sheet(
        "overview",
        "The tensor cores at a glance: the largest kind of work, step times, unit utilization, idle time, and the \
         largest operations.",
        fields,
        rows,
    )
}

struct Row {
    metric: String,
    value: Option<f64>,
    unit: &'static str,
    text: String,
    meaning: &'static str,
}

impl Row {
    fn new(metric: &str, value: Option<f64>, unit: &'static str, text: &str) -> Self {
        Row { metric: metric.to_string(), value, unit, text: text.to_string(), meaning: "" }
    }

    /// A share in percent, or why there is none.
    fn percent(metric: &str, percent: Option<f64>, why: &str) -> Self {
        Row::new(metric, percent, "%", if percent.is_some() { "" } else { why })
    }

    fn meaning(self, meaning: &'static str) -> Self {
        Row { meaning, ..self }
    }
}

const NOT_SAMPLED: &str = "the host plane does not state it";
const SAMPLED_OVER_ALL: &str = "the host samples it over the whole recording, not the window";
const NO_OPERATION: &str = "no operation was recorded";

fn rows(tpu: &TpuAnalysis) -> Vec<Row> {
    let overview = overview(tpu);
    let share =
        |metric, share: Option<f64>, why: &str| Row::percent(metric, share.map(|share| share * 100.0), why);
    let finding = tpu_finding(tpu).map_or("nothing was recorded".to_string(), |finding| finding.to_string());
    let steps = overview.steps.as_ref();
    let source = match steps.map(|steps| &steps.source) {
        None => "no steps and no runs of programs".to_string(),
        Some(StepSource::Steps) => "recorded steps".to_string(),
        Some(StepSource::Runs(module)) => format!("runs of {module}, because no steps were recorded"),
    };
    let step_time = |metric, time: fn(&StepTimes) -> f64| Row::new(metric, steps.map(time), "ms", &source);
    let peaks = tpu.profile.peaks.as_ref().err();
    let peaks = peaks.map_or("nothing was recorded".to_string(), ToString::to_string);
    let not_sampled = if tpu.profile.is_window { SAMPLED_OVER_ALL } else { NOT_SAMPLED };
    let mut rows = vec![
        Row::new("Finding", None, "", &finding)
            .meaning("Largest kind of work over all cores."),
        Row::new("Device type", None, "", &overview.device_type).meaning("Kind of device, from its plane."),
        Row::new("Tensor cores", Some(overview.cores as f64), "", "").meaning("Number of tensor cores in the profile."),
        Row::new("Steps", steps.map(|steps| steps.count as f64), "", &source)
            .meaning("Number of steps on all cores; the Text column says what counts as a step."),
        step_time("Step time, mean", |steps| steps.mean_ms).meaning("Mean length of a step on a core."),
        step_time("Step time, standard deviation", |steps| steps.deviation_ms)
            .meaning("Population standard deviation over all steps on all cores."),
        step_time("Step time, shortest", |steps| steps.min_ms).meaning("Shortest step on a core."),
        step_time("Step time, longest", |steps| steps.max_ms).meaning("Longest step on a core."),
        Row::percent("MXU utilization", overview.mxu_utilization, not_sampled)
            .meaning("Utilization of the matrix unit, sampled by the host."),
        Row::percent("HBM utilization, sampled", overview.sampled_hbm_utilization, not_sampled)
            .meaning("HBM bandwidth utilization, sampled by the host."),
        share("FLOPS utilization", overview.flops_utilization, &peaks)
            .meaning("Mean FLOP rate over the window as a share of the peak."),
        share("HBM utilization", overview.hbm_utilization, &peaks)
            .meaning("Mean HBM bandwidth over the window as a share of its peak, from bytes counted by the compiler."),
        share("Duty cycle", overview.duty_cycle, NO_OPERATION)
            .meaning("Time with an operation other than infeed, outfeed and host waits, as a share of the time from the first run or operation to the last."),
        share("Idle", overview.idle, NO_OPERATION)
            .meaning("Time without any operation, as a share of the time from the first operation to the last."),
        share("16-bit compute", overview.compute_16bit, "nothing was computed")
            .meaning("Share of compute time in operations with 16-bit results. The XLA profiler has no such figure for TPUs and shows 0."),
        share("32-bit compute", overview.compute_32bit, "nothing was computed")
            .meaning("Share of compute time in operations with 32-bit results."),
        share("Framework ops on the host", overview.host_op_fraction, NO_OPERATION)
            .meaning("Host calls as a share of the executions of framework operations."),
        share("Framework ops on the device", overview.device_op_fraction, NO_OPERATION)
            .meaning("Device executions as a share of the executions of framework operations."),
    ];
    rows.extend((1..).zip(&overview.top_ops).map(|(at, op)| {
        let text = format!("{} ({}), {:.3} GFLOP/s", op.name, op.kind, op.rates.flop_rate);
        Row::new(&format!("Top op {at}"), Some(op.self_fraction * 100.0), "%", &text)
            .meaning("Framework operation, with its self time as a share of busy time.")
    }));
    rows
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
