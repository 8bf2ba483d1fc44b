//! Executions of programs: one by one, and in statistics that leave warm-up out.

use gpu_timeline::Summary;
use polars::prelude::{DataFrame, PolarsResult};

use super::call_groups::append_durations;
use super::operator_columns::MODULE;
use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use crate::analysis::JaxAnalysis;
use crate::executions::Execution;
use tree_perf::{ChartShape, Sheet, SheetChart};

const PROGRAM: Column = Column::new("program_id", ColumnKind::Text, "Id of that program in the profile.");
const GPU: Column = Column::new("gpu_pid", ColumnKind::Identifier, "The GPU: the id of its plane plus 1.");

/// One row per execution.
pub(crate) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "steps",
    current_name: "steps",
    description: "Executions of programs on GPUs by start: the host's executions around the launches, where the profile has them, else told by the program's first kernel coming again.",
    columns: &[
        Column::new(
            "step",
            ColumnKind::Identifier,
            "Number among the executions of the program on the GPU, from 0.",
        ),
        MODULE,
        PROGRAM,
        GPU,
        Column::new(
            "start ms",
            ColumnKind::Number(Unit::Milliseconds),
            "Start of the first kernel in ms since the profile's first event.",
        ),
        Column::new(
            "duration ms",
            ColumnKind::Number(Unit::Milliseconds),
            "From the start of the first kernel to the end of the last, in ms.",
        ),
        Column::new(
            "busy ms",
            ColumnKind::Number(Unit::Milliseconds),
            "Time in ms in which at least one of its kernels ran.",
        ),
        Column::new(
            "gap ms",
            ColumnKind::Number(Unit::Milliseconds),
            "From the end of the program's execution before on the GPU to the start, in ms; empty for the first.",
        ),
        Column::new("num_kernels", ColumnKind::Count, "Kernels."),
        Column::new(
            "is_warm_up",
            ColumnKind::Flag,
            "Whether it is at the program's beginning and busy for over 1.1 times the median of the later half of executions; never with fewer than three.",
        ),
        Column::new(
            "busy of steady (%)",
            ColumnKind::Number(Unit::Percent),
            "Busy time as a share of the mean of the program's steady executions on the GPU, in percent.",
        ),
    ],
    chart: Some(SheetChart {
        title: "Busy time of executions",
        categories: "step",
        values: "busy ms",
        axis: "busy time (ms)",
        shape: ChartShape::Columns("executions of programs by start"),
    }),
    build,
};

fn build(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let executions = analysis.executions();
    if executions.is_empty() {
        return Ok(None);
    }
    let steady = steady_means(executions);
    let mut order: Vec<usize> = (0..executions.len()).collect();
    order.sort_by_key(|&at| (executions[at].start, executions[at].gpu, at));
    let rows = || order.iter().map(|&at| &executions[at]);
    let ms = |time: i64| Some(analysis.ms(time));
    let mut frame = FrameBuilder::default();
    frame.integer("step", rows().map(|row| Some(row.number as i64)));
    append_program(&mut frame, analysis, &rows().collect::<Vec<_>>());
    frame.float("start ms", rows().map(|row| ms(row.start)));
    frame.float("duration ms", rows().map(|row| ms(row.end - row.start)));
    frame.float("busy ms", rows().map(|row| ms(row.busy)));
    // Executions of one program on one GPU stand next to each other.
    let gap = |&at: &usize| {
        let before = executions.get(at.checked_sub(1)?).filter(|_| executions[at].number > 0)?;
        ms(executions[at].start - before.end)
    };
    frame.float("gap ms", order.iter().map(gap));
    frame.integer("num_kernels", rows().map(|row| Some(row.kernels as i64)));
    frame.flag("is_warm_up", rows().map(|row| row.is_warm_up));
    let share = |&at: &usize| Some(executions[at].busy as f64 / steady[at]? * 100.0);
    frame.float("busy of steady (%)", order.iter().map(share));
    frame.finish().map(Some)
}

/// Mean busy time of the steady executions of the same program and GPU, per execution.
fn steady_means(executions: &[Execution]) -> Vec<Option<f64>> {
    let mut means = Vec::with_capacity(executions.len());
    for of_program in executions.chunk_by(is_same) {
        let busy: Vec<i64> = steady(of_program).map(|execution| execution.busy).collect();
        let mean = Summary::of(&busy).map(|summary| summary.mean).filter(|&mean| mean > 0.0);
        means.extend(std::iter::repeat_n(mean, of_program.len()));
    }
    means
}

fn steady(executions: &[Execution]) -> impl Iterator<Item = &Execution> {
    executions.iter().filter(|execution| !execution.is_warm_up)
}

/// Whether two executions are of one program on one GPU.
fn is_same(a: &Execution, b: &Execution) -> bool {
    (a.gpu, a.program) == (b.gpu, b.program)
}

/// One row per program and GPU.
pub(crate) const SUMMARY: Sheet<JaxAnalysis> = Sheet {
    name: "steps_summary",
    current_name: "steps_summary",
    description: "Executions of each program on each GPU, warm-up left out of the times, most busy time first.",
    columns: &[
        MODULE,
        PROGRAM,
        GPU,
        Column::new("steps", ColumnKind::Count, "Executions, warm-up included."),
        Column::new("warm_up_steps", ColumnKind::Count, "Executions that count as warm-up."),
        Column::new("warm_up busy ms", ColumnKind::Number(Unit::Milliseconds), "Busy time of these in ms."),
        Column::new("busy ms", ColumnKind::Number(Unit::Milliseconds), "Busy time of all executions in ms."),
        Column::new(
            "Step Time (µs)_mean",
            ColumnKind::Number(Unit::Microseconds),
            "Mean busy time of the steady executions in µs.",
        ),
        Column::new("Step Time (µs)_median", ColumnKind::Number(Unit::Microseconds), "Median of the same."),
        Column::new(
            "Step Time (µs)_std",
            ColumnKind::Number(Unit::Microseconds),
            "Standard deviation (of a sample, n − 1) of the same; empty for one execution.",
        ),
        Column::new("Step Time (µs)_min", ColumnKind::Number(Unit::Microseconds), "Smallest of the same."),
        Column::new("Step Time (µs)_max", ColumnKind::Number(Unit::Microseconds), "Largest of the same."),
        Column::new("Step Time (µs)_sum", ColumnKind::Number(Unit::Microseconds), "Sum of the same."),
        Column::new(
            "jitter (%)",
            ColumnKind::Number(Unit::Percent),
            "Standard deviation over mean of the steady executions' busy time, in percent.",
        ),
    ],
    chart: None,
    build: build_summary,
};

fn build_summary(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let mut programs: Vec<&[Execution]> = analysis.executions().chunk_by(is_same).collect();
    if programs.is_empty() {
        return Ok(None);
    }
    let busy = |executions: &[Execution]| executions.iter().map(|execution| execution.busy).sum::<i64>();
    programs.sort_by_key(|executions| std::cmp::Reverse(busy(executions)));
    let warm_up = |executions: &[Execution]| {
        let of = executions.iter().filter(|execution| execution.is_warm_up);
        (of.clone().count() as i64, of.map(|execution| execution.busy).sum::<i64>())
    };
    let mut frame = FrameBuilder::default();
    append_program(&mut frame, analysis, &programs.iter().map(|of| &of[0]).collect::<Vec<_>>());
    frame.integer("steps", programs.iter().map(|of| Some(of.len() as i64)));
    frame.integer("warm_up_steps", programs.iter().map(|of| Some(warm_up(of).0)));
    frame.float("warm_up busy ms", programs.iter().map(|of| Some(analysis.ms(warm_up(of).1))));
    frame.float("busy ms", programs.iter().map(|of| Some(analysis.ms(busy(of)))));
    let times: Vec<Vec<i64>> =
        programs.iter().map(|of| steady(of).map(|execution| execution.busy).collect()).collect();
    append_durations(&mut frame, analysis, "Step Time (µs)", &times);
    let jitter = |times: &Vec<i64>| {
        let summary = Summary::of(times)?;
        Some(summary.sample_std.filter(|_| summary.mean > 0.0)? / summary.mean * 100.0)
    };
    frame.float("jitter (%)", times.iter().map(jitter));
    frame.finish().map(Some)
}

fn append_program(frame: &mut FrameBuilder, analysis: &JaxAnalysis, rows: &[&Execution]) {
    frame.text("hlo_module", rows.iter().map(|row| analysis.program_name(&row.program)));
    frame.text("program_id", rows.iter().map(|row| Some(row.program.id?.to_string())));
    frame.integer("gpu_pid", rows.iter().map(|row| Some(analysis.gpus()[row.gpu].pid)));
}
