//! Executions of programs: one by one, and in statistics that leave warm-up out.

use std::cmp::Reverse;

use gpu_timeline::{SortFew, Spread, Summary};
use sheets::ColumnKind::{Identifier, Number};
use sheets::Unit::{Microseconds, Milliseconds};
use sheets::{Chart, ChartShape, Column, Field, Role, Sheet, Statistics};
use trace_ingest::Picoseconds;

use super::call_groups::MODULE;
use crate::analysis::JaxAnalysis;
use crate::executions::Execution;
use crate::sheet::sheet;

pub(super) const GPU: Column =
    Column::new("gpu_pid", Identifier, "GPU: its plane id plus 1.").with_role(Role::Name);
const STEP: Column = Column::new("step", Identifier, "Execution number of the program on the GPU, from 0.")
    .with_role(Role::Name);
const BUSY: Column =
    Column::new("busy ms", Number(Milliseconds), "Time with at least one kernel of the execution running.")
        .with_role(Role::Headline);
const STEP_TIME_MEAN: Column =
    Column::new("Step Time (µs)_mean", Number(Microseconds), "Mean busy time of steady executions.")
        .per("execution");

const STEP_TIME: Statistics = Statistics {
    mean: STEP_TIME_MEAN,
    median: Column::new(
        "Step Time (µs)_median",
        Number(Microseconds),
        "Median busy time of steady executions.",
    )
    .spread_of(STEP_TIME_MEAN.name)
    .per("execution"),
    std: Column::new(
        "Step Time (µs)_std",
        Number(Microseconds),
        "Sample standard deviation (n − 1) of the busy time of steady executions; empty for one execution.",
    )
    .spread_of(STEP_TIME_MEAN.name)
    .per("execution"),
    min: Column::new("Step Time (µs)_min", Number(Microseconds), "Minimum busy time of steady executions.")
        .spread_of(STEP_TIME_MEAN.name)
        .per("execution"),
    max: Column::new("Step Time (µs)_max", Number(Microseconds), "Maximum busy time of steady executions.")
        .spread_of(STEP_TIME_MEAN.name)
        .per("execution"),
};

/// The columns that say which program ran on which GPU.
fn program_fields<'a, R>(
    execution: impl Fn(&R) -> &Execution + Copy + Send + Sync + 'static,
) -> [Field<&'a JaxAnalysis, R>; 3] {
    [
        MODULE.with_role(Role::Name).field_in(move |analysis: &&JaxAnalysis, row| {
            analysis.program_name(&execution(row).program).into()
        }),
        Column::text("program_id", "Program ID in the profile.")
            .with_role(Role::Provenance)
            .field(move |row| execution(row).program.id.map(|id| id.to_string()).into()),
        GPU.field_in(move |analysis: &&JaxAnalysis, row| analysis.gpus()[execution(row).gpu].pid.into()),
    ]
}

/// An execution beside others of its program on its GPU.
struct Step<'a> {
    execution: &'a Execution,
    /// From the end of the one before.
    gap: Option<Picoseconds>,
    /// Mean busy time of the steady ones.
    steady: Option<f64>,
}

pub(super) fn steps_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    let mut fields = vec![STEP.field(|row: &Step<'_>| row.execution.number.into())];
    fields.extend(program_fields(|row: &Step<'_>| row.execution));
    fields.extend([
        Column::milliseconds("start ms", "Start of the first kernel, relative to the profile's first event.").field(|row: &Step<'_>| row.execution.start.to_milliseconds().into()),
        Column::milliseconds("duration ms", "From the start of the first kernel to the end of the last.").field(|row: &Step<'_>| {
            (row.execution.end - row.execution.start).to_milliseconds().into()
        }),
        BUSY.field(|row: &Step<'_>| row.execution.busy.to_milliseconds().into()),
        Column::milliseconds("gap ms", "From the end of the program's previous execution on the GPU to the start of this one; empty for the first.").field(|row: &Step<'_>| row.gap.map(Picoseconds::to_milliseconds).into()),
        Column::count("num_kernels", "Kernels.").field(|row: &Step<'_>| row.execution.kernels.into()),
        Column::flag("is_warm_up", "Whether this is one of the program's first executions, each with a busy time above 1.1 × the median of the later half; no warm-up if there are fewer than three executions, or if half or more of them would count.").field(|row: &Step<'_>| row.execution.is_warm_up.into()),
        Column::percent("busy of steady (%)", "Busy time as a share of the program's mean steady busy time on the GPU.").field(|row: &Step<'_>| {
            row.steady.map(|steady| row.execution.busy.0 as f64 / steady * 100.0).into()
        }),
    ]);
    sheet(
        "steps",
        "Executions of programs on GPUs by start: taken from the host executions that enclose the launches if the profile has them, otherwise from repeats of the program's first kernel.",
        fields,
        steps,
    )
    .with_chart(Chart::new(
        "Busy time of executions",
        STEP.name,
        BUSY.name,
        "busy time (ms)",
        ChartShape::Columns("program executions by start"),
    ))
}

fn steps(analysis: &JaxAnalysis) -> Vec<Step<'_>> {
    let mut steps = Vec::with_capacity(analysis.executions().len());
    for program in programs(analysis) {
        let busy: Vec<i64> = steady(program).map(|execution| execution.busy.0).collect();
        let steady = Summary::from_values(&busy).map(|summary| summary.mean).filter(|&mean| mean > 0.0);
        let mut before: Option<&Execution> = None;
        for execution in program {
            let gap = before.map(|before| execution.start - before.end);
            before = Some(execution);
            steps.push(Step { execution, gap, steady });
        }
    }
    steps.sort_few_by_key(|step| (step.execution.start, step.execution.gpu));
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
    busy: Picoseconds,
    warm_up: usize,
    warm_up_busy: Picoseconds,
    /// Busy times of the steady ones.
    steady: Option<Summary>,
    /// The same in µs.
    steady_us: Spread,
}

/// One row per program and GPU.
pub(super) fn steps_summary_sheet<'a>() -> Sheet<'a, JaxAnalysis> {
    let mut fields = Vec::from(program_fields(|row: &ProgramSteps<'_>| &row.executions[0]));
    fields.extend([
        Column::count("steps", "Number of executions, including warm-up.")
            .field(|row: &ProgramSteps<'_>| row.executions.len().into()),
        Column::count("warm_up_steps", "Number of warm-up executions.")
            .field(|row: &ProgramSteps<'_>| row.warm_up.into()),
        Column::milliseconds("warm_up busy ms", "Busy time of warm-up executions.")
            .field(|row: &ProgramSteps<'_>| row.warm_up_busy.to_milliseconds().into()),
        BUSY.described("Busy time of all executions.")
            .field(|row: &ProgramSteps<'_>| row.busy.to_milliseconds().into()),
    ]);
    fields.extend(STEP_TIME.fields(|row: &ProgramSteps<'_>| &row.steady_us));
    fields.extend([
        Column::microseconds("Step Time (µs)_sum", "Total busy time of steady executions.").field_in(
            |analysis: &&JaxAnalysis, row: &ProgramSteps<'_>| {
                row.steady.map(|steady| analysis.us(steady.sum)).into()
            },
        ),
        Column::percent("jitter (%)", "Standard deviation / mean of the steady executions' busy time.")
            .field(|row: &ProgramSteps<'_>| jitter(row.steady).into()),
    ]);
    sheet(
        "steps_summary",
        "Executions of each program on each GPU, times without warm-up, most busy time first.",
        fields,
        |analysis| {
            let mut rows: Vec<_> =
                programs(analysis).map(|executions| ProgramSteps::new(analysis, executions)).collect();
            rows.sort_few_by_key(|row| Reverse(row.busy));
            rows
        },
    )
}

impl<'a> ProgramSteps<'a> {
    fn new(analysis: &JaxAnalysis, executions: &'a [Execution]) -> Self {
        let warm_up = || executions.iter().filter(|execution| execution.is_warm_up);
        let busy: Vec<i64> = steady(executions).map(|execution| execution.busy.0).collect();
        let steady = Summary::from_values(&busy);
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
