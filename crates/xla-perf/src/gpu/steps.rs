//! Executions of programs: one by one, and in statistics that leave warm-up out.

use std::cmp::Reverse;

use gpu_timeline::Summary;
use sheets::{Chart, ChartShape, Column, ColumnKind, Field, Sheet, Statistics, Unit};

use super::call_groups::MODULE;
use crate::analysis::JaxAnalysis;
use crate::executions::Execution;
use crate::report::sheet;

const PROGRAM: Column = Column::new("program_id", ColumnKind::Text, "Id of that program in the profile.");
const GPU: Column = Column::new("gpu_pid", ColumnKind::Identifier, "The GPU: the id of its plane plus 1.");
const STEP: Column = Column::new(
    "step",
    ColumnKind::Identifier,
    "Number among the executions of the program on the GPU, from 0.",
);
const BUSY: Column = Column::new(
    "busy ms",
    ColumnKind::Number(Unit::Milliseconds),
    "Time in ms in which at least one of its kernels ran.",
);
const STEP_TIME: Statistics = Statistics {
    mean: Column::new(
        "Step Time (µs)_mean",
        ColumnKind::Number(Unit::Microseconds),
        "Mean busy time of the steady executions in µs.",
    ),
    median: Column::new(
        "Step Time (µs)_median",
        ColumnKind::Number(Unit::Microseconds),
        "Median of the same.",
    ),
    std: Column::new(
        "Step Time (µs)_std",
        ColumnKind::Number(Unit::Microseconds),
        "Standard deviation (of a sample, n − 1) of the same; empty for one execution.",
    ),
    min: Column::new("Step Time (µs)_min", ColumnKind::Number(Unit::Microseconds), "Smallest of the same."),
    max: Column::new("Step Time (µs)_max", ColumnKind::Number(Unit::Microseconds), "Largest of the same."),
};

/// The columns that say which program ran on which GPU.
fn program_fields<'a, R>(
    execution: impl Fn(&R) -> &Execution + Copy + Send + Sync + 'static,
) -> [Field<&'a JaxAnalysis, R>; 3] {
    [
        MODULE.field_in(move |analysis: &&JaxAnalysis, row| {
            analysis.program_name(&execution(row).program).into()
        }),
        PROGRAM.field(move |row| execution(row).program.id.map(|id| id.to_string()).into()),
        GPU.field_in(move |analysis: &&JaxAnalysis, row| analysis.gpus()[execution(row).gpu].pid.into()),
    ]
}

/// An execution beside others of its program on its GPU.
struct Step<'a> {
    execution: &'a Execution,
    /// From the end of the one before.
    gap: Option<i64>,
    /// Mean busy time of the steady ones.
    steady: Option<f64>,
}

/// One row per execution.
pub(super) fn steps_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    let ms = |name, description| Column::new(name, ColumnKind::Number(Unit::Milliseconds), description);
    let mut fields = vec![STEP.field(|row: &Step<'_>| row.execution.number.into())];
    fields.extend(program_fields(|row: &Step<'_>| row.execution));
    fields.extend([
        ms("start ms", "Start of the first kernel in ms since the profile's first event.")
            .field_in(|analysis: &&JaxAnalysis, row: &Step<'_>| analysis.ms(row.execution.start).into()),
        ms("duration ms", "From the start of the first kernel to the end of the last, in ms.")
            .field_in(|analysis: &&JaxAnalysis, row: &Step<'_>| analysis.ms(row.execution.end - row.execution.start).into()),
        BUSY.field_in(|analysis: &&JaxAnalysis, row: &Step<'_>| analysis.ms(row.execution.busy).into()),
        ms(
            "gap ms",
            "From the end of the program's execution before on the GPU to the start, in ms; empty for the first.",
        )
        .field_in(|analysis: &&JaxAnalysis, row: &Step<'_>| row.gap.map(|gap| analysis.ms(gap)).into()),
        Column::new("num_kernels", ColumnKind::Count, "Kernels.")
            .field(|row: &Step<'_>| row.execution.kernels.into()),
        Column::new(
            "is_warm_up",
            ColumnKind::Flag,
            "Whether it is at the program's beginning and busy for over 1.1 times the median of the later half of executions; never with fewer than three.",
        )
        .field(|row: &Step<'_>| row.execution.is_warm_up.into()),
        Column::new(
            "busy of steady (%)",
            ColumnKind::Number(Unit::Percent),
            "Busy time as a share of the mean of the program's steady executions on the GPU, in percent.",
        )
        .field(|row: &Step<'_>| row.steady.map(|steady| row.execution.busy as f64 / steady * 100.0).into()),
    ]);
    sheet(
        "steps",
        "Executions of programs on GPUs by start: the host's executions around the launches, where the profile has them, else told by the program's first kernel coming again.",
        fields,
        steps,
    )
    .with_chart(Chart::new(
        "Busy time of executions",
        STEP.name,
        BUSY.name,
        "busy time (ms)",
        ChartShape::Columns("executions of programs by start"),
    ))
}

fn steps(analysis: &JaxAnalysis) -> Vec<Step<'_>> {
    let mut steps = Vec::with_capacity(analysis.executions().len());
    for program in programs(analysis) {
        let busy: Vec<i64> = steady(program).map(|execution| execution.busy).collect();
        let steady = Summary::of(&busy).map(|summary| summary.mean).filter(|&mean| mean > 0.0);
        let mut before: Option<&Execution> = None;
        for execution in program {
            let gap = before.map(|before| execution.start - before.end);
            before = Some(execution);
            steps.push(Step { execution, gap, steady });
        }
    }
    steps.sort_by_key(|step| (step.execution.start, step.execution.gpu));
    steps
}

/// The executions of each program on each GPU; they stand next to each other.
fn programs(analysis: &JaxAnalysis) -> impl Iterator<Item = &[Execution]> {
    analysis.executions().chunk_by(|a, b| (a.gpu, a.program) == (b.gpu, b.program))
}

fn steady(executions: &[Execution]) -> impl Iterator<Item = &Execution> {
    executions.iter().filter(|execution| !execution.is_warm_up)
}

/// The executions of a program on a GPU.
struct ProgramSteps<'a> {
    executions: &'a [Execution],
    busy: i64,
    warm_up: usize,
    warm_up_busy: i64,
    /// Busy times of the steady ones.
    steady: Option<Summary>,
    /// The same in µs.
    steady_us: gpu_timeline::Spread,
}

/// One row per program and GPU.
pub(super) fn steps_summary_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    let mut fields = Vec::from(program_fields(|row: &ProgramSteps<'_>| &row.executions[0]));
    fields.extend([
        Column::new("steps", ColumnKind::Count, "Executions, warm-up included.")
            .field(|row: &ProgramSteps<'_>| row.executions.len().into()),
        Column::new("warm_up_steps", ColumnKind::Count, "Executions that count as warm-up.")
            .field(|row: &ProgramSteps<'_>| row.warm_up.into()),
        Column::new("warm_up busy ms", ColumnKind::Number(Unit::Milliseconds), "Busy time of these in ms.")
            .field_in(|analysis: &&JaxAnalysis, row: &ProgramSteps<'_>| analysis.ms(row.warm_up_busy).into()),
        BUSY.described("Busy time of all executions in ms.")
            .field_in(|analysis: &&JaxAnalysis, row: &ProgramSteps<'_>| analysis.ms(row.busy).into()),
    ]);
    fields.extend(STEP_TIME.fields(|row: &ProgramSteps<'_>| &row.steady_us));
    fields.extend([
        Column::new("Step Time (µs)_sum", ColumnKind::Number(Unit::Microseconds), "Sum of the same.")
            .field_in(|analysis: &&JaxAnalysis, row: &ProgramSteps<'_>| {
                row.steady.map(|steady| analysis.us(steady.sum)).into()
            }),
        Column::new(
            "jitter (%)",
            ColumnKind::Number(Unit::Percent),
            "Standard deviation over mean of the steady executions' busy time, in percent.",
        )
        .field(|row: &ProgramSteps<'_>| jitter(row.steady).into()),
    ]);
    sheet(
        "steps_summary",
        "Executions of each program on each GPU, warm-up left out of the times, most busy time first.",
        fields,
        |analysis| {
            let mut rows: Vec<_> =
                programs(analysis).map(|executions| ProgramSteps::new(analysis, executions)).collect();
            rows.sort_by_key(|row| Reverse(row.busy));
            rows
        },
    )
}

impl<'a> ProgramSteps<'a> {
    fn new(analysis: &JaxAnalysis, executions: &'a [Execution]) -> Self {
        let warm_up = || executions.iter().filter(|execution| execution.is_warm_up);
        let busy: Vec<i64> = steady(executions).map(|execution| execution.busy).collect();
        let steady = Summary::of(&busy);
        ProgramSteps {
            executions,
            busy: executions.iter().map(|execution| execution.busy).sum(),
            warm_up: warm_up().count(),
            warm_up_busy: warm_up().map(|execution| execution.busy).sum(),
            steady,
            steady_us: analysis.spread_us(steady),
        }
    }
}

fn jitter(steady: Option<Summary>) -> Option<f64> {
    let steady = steady?;
    Some(steady.sample_std.filter(|_| steady.mean > 0.0)? / steady.mean * 100.0)
}
