//! The device at a glance, a figure a row.

use polars::prelude::{DataFrame, PolarsResult};

use super::field::{Field, columns, field, frame};
use super::summed;
use tree_perf::{Column, ColumnKind, Unit};
use crate::analysis::JaxAnalysis;
use crate::tpu::{StepSource, TpuAnalysis, overview, tpu_finding};
use tree_perf::Sheet;

const COLUMNS: &[Column] = &columns(&fields());

pub(super) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "overview",
    current_name: "overview",
    description: "The tensor cores at a glance: what the program is bound by, lengths of steps, use of the units, idle time, and the operations that take most time.",
    columns: COLUMNS,
    chart: None,
    build,
};

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    summed(analysis, |tpu| frame(&fields(), &rows(tpu)))
}

struct Row {
    metric: String,
    value: Option<f64>,
    unit: &'static str,
    text: String,
    meaning: &'static str,
}

const fn fields() -> [Field<Row>; 5] {
    use ColumnKind::{Number, Text};
    use Unit::One;
    [
        field("Metric", Text, "What the row is about.", |row: &Row| row.metric.as_str().into()),
        field(
            "Value",
            Number(One),
            "The figure, in the unit of the row; empty when the profile does not have it.",
            |row| row.value.into(),
        ),
        field("Unit", Text, "Unit of the figure.", |row| row.unit.into()),
        field("Text", Text, "What is no figure: names, findings, why a figure is absent.", |row| {
            row.text.as_str().into()
        }),
        field("Meaning", Text, "What the metric is and how it is computed.", |row| row.meaning.into()),
    ]
}

const NOT_SAMPLED: &str = "the host's plane does not say";

fn rows(tpu: &TpuAnalysis) -> Vec<Row> {
    let overview = overview(tpu);
    let mut rows = Vec::new();
    let mut push = |metric: &str, value: Option<f64>, unit, text: String, meaning| {
        rows.push(Row { metric: metric.to_string(), value, unit, text, meaning });
    };
    let percent = |share: Option<f64>| share.map(|share| share * 100.0);
    let absent = |value: Option<f64>, why: &str| value.map_or(why.to_string(), |_| String::new());
    let finding = tpu_finding(tpu).map_or("nothing was recorded".to_string(), |finding| finding.to_string());
    push("Finding", None, "", finding, "The kind of work that takes most of the time of all cores.");
    push("Device type", None, "", overview.device_type.clone(), "Kind of device, as its plane says.");
    push("Tensor cores", Some(overview.cores as f64), "", String::new(), "Tensor cores of the profile.");
    let source =
        overview.steps.as_ref().map_or("no steps and no runs of programs".to_string(), |steps| match &steps
            .source
        {
            StepSource::Steps => "recorded steps".to_string(),
            StepSource::Runs(module) => format!("runs of {module}, because no steps were recorded"),
        });
    let steps = overview.steps.as_ref();
    for (metric, value, unit, meaning) in [
        (
            "Steps",
            steps.map(|steps| steps.count as f64),
            "",
            "Steps on all cores; what a step is stands beside it.",
        ),
        ("Step time, mean", steps.map(|steps| steps.mean_ms), "ms", "Mean length of a step on a core."),
        (
            "Step time, standard deviation",
            steps.map(|steps| steps.deviation_ms),
            "ms",
            "Of all steps on all cores, as a population.",
        ),
        ("Step time, shortest", steps.map(|steps| steps.min_ms), "ms", "Shortest step on a core."),
        ("Step time, longest", steps.map(|steps| steps.max_ms), "ms", "Longest step on a core."),
    ] {
        push(metric, value, unit, source.clone(), meaning);
    }
    let peaks =
        tpu.profile.peaks.as_ref().err().map_or("nothing was recorded".to_string(), ToString::to_string);
    let no_operation = "no operation was recorded";
    for (metric, value, why, meaning) in [
        (
            "MXU utilization",
            overview.mxu_utilization,
            NOT_SAMPLED,
            "Use of the matrix unit, as the host sampled it.",
        ),
        (
            "HBM utilization, sampled",
            overview.sampled_hbm_utilization,
            NOT_SAMPLED,
            "Use of the high-bandwidth memory, as the host sampled it.",
        ),
        (
            "FLOPS utilization",
            percent(overview.flops_utilization),
            peaks.as_str(),
            "Floating-point operations over all time as a share of the peak.",
        ),
        (
            "HBM utilization",
            percent(overview.hbm_utilization),
            peaks.as_str(),
            "Bytes of the high-bandwidth memory over all time as a share of its peak, by the compiler's account.",
        ),
        (
            "Duty cycle",
            percent(overview.duty_cycle),
            no_operation,
            "Time in which an operation ran other than infeed, outfeed and waits for the host, as a share of the time from the first run or operation to the last.",
        ),
        (
            "Idle",
            percent(overview.idle),
            no_operation,
            "Time in which no operation ran, as a share of the time from the first operation to the last.",
        ),
        (
            "16-bit compute",
            percent(overview.compute_16bit),
            "nothing was computed",
            "Share of the time of computing operations whose result has elements of 16 bits. The XLA profiler has no such figure for TPUs and shows 0.",
        ),
        (
            "32-bit compute",
            percent(overview.compute_32bit),
            "nothing was computed",
            "The same for elements of 32 bits.",
        ),
        (
            "Framework ops on the host",
            percent(overview.host_op_fraction),
            no_operation,
            "Calls on the host as a share of the executions of framework operations.",
        ),
        (
            "Framework ops on the device",
            percent(overview.device_op_fraction),
            no_operation,
            "Executions on the device as a share of these.",
        ),
    ] {
        push(metric, value, "%", absent(value, why), meaning);
    }
    for (at, op) in overview.top_ops.iter().enumerate() {
        let metric = format!("Top op {}", at + 1);
        let text = format!("{} ({}), {:.3} GFLOP/s", op.name, op.kind, op.flop_rate);
        push(
            &metric,
            Some(op.self_fraction * 100.0),
            "%",
            text,
            "Framework operation, with its own time as a share of the time in which something ran.",
        );
    }
    rows
}
