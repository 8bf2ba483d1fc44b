//! Kernels too short to be worth a launch.

use std::cmp::Reverse;

use gpu_timeline::SortFew;
use operator_sheets::{nested_argument, short_kernel_histogram};
use sheets::names;
use sheets::{Cell, Column, Figure, Role, Sheet, percent};
use trace_ingest::{ArgumentId, Sequence, StringId};

use crate::IndexMap;
use crate::analysis::Analysis;
use crate::kernel_records::{KernelRecord, kernel_records};
use crate::notice::Notice;

/// How many short kernels there are by duration.
pub(crate) fn histogram_sheet<'a>() -> Sheet<'a, Analysis> {
    short_kernel_histogram("short_kernels_histogram", |analysis: &Analysis| {
        let events = analysis.trace().events();
        let us = |record: &KernelRecord| analysis.us(events.duration(record.kernel));
        let options = analysis.options();
        let durations = || short_kernels(analysis).iter().map(us).collect();
        options.kernels.short_kernel_study.then(|| (durations(), options.kernels.short_kernel_histogram_bins))
    })
    .known_as(names::SHORT_KERNEL_HISTOGRAM)
}

/// An operator with its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Operator {
    name: StringId,
    dims: ArgumentId,
    strides: ArgumentId,
    concrete: ArgumentId,
}

/// Kernels of one name by operator and arguments.
struct Row {
    /// Where the trace has operators.
    operator: Option<Operator>,
    kernel: StringId,
    time: i64,
    count: i64,
}

/// What all rows share.
struct ShortKernels<'a> {
    analysis: &'a Analysis,
    /// Without any short kernel the table has no columns.
    is_empty: bool,
    total_time: i64,
}

impl ShortKernels<'_> {
    fn text(&self, id: StringId) -> Cell<'_> {
        self.analysis.trace().text(id).into()
    }

    fn argument(&self, row: &Row, part: fn(&Operator) -> ArgumentId) -> Cell<'_> {
        let signatures = self.analysis.trace().signatures();
        let argument = |operator| nested_argument(signatures.argument(part(operator)), Sequence::Tuple);
        row.operator.as_ref().map(argument).into()
    }
}

/// Which operators launch them.
pub(crate) fn details_sheet<'a>() -> Sheet<'a, Analysis> {
    let operator_fields = [
        Column::text("Parent cpu_op", "Operator that accounts for the kernel, as in operator sheets.")
            .with_role(Role::Detail)
            .distinguishing()
            .field_in(|short: &ShortKernels<'_>, row: &Row| {
                row.operator.map(|operator| short.text(operator.name)).into()
            }),
        Column::nested("Input dims", "Shapes of the operator's inputs.")
            .with_role(Role::Detail)
            .distinguishing()
            .field_in(|short: &ShortKernels<'_>, row: &Row| short.argument(row, |operator| operator.dims)),
        Column::nested("Input strides", "Strides of the operator's inputs, in elements.")
            .distinguishing()
            .field_in(|short: &ShortKernels<'_>, row: &Row| short.argument(row, |operator| operator.strides)),
        Column::nested("Concrete Inputs", "Values of the operator's non-tensor inputs, as text.")
            .distinguishing()
            .field_in(|short: &ShortKernels<'_>, row: &Row| {
                short.argument(row, |operator| operator.concrete)
            }),
    ];
    let kernel_fields = [
        Column::text("Kernel name", "Kernel, as named by the profiler.")
            .field_in(|short: &ShortKernels<'_>, row: &Row| short.text(row.kernel)),
        Column::microseconds(
            "Short Kernel duration (µs) sum",
            "Sum of the short kernels' durations.",
        ).showing(&[Figure::ShortKernels, Figure::SumsOverShortEvents]).with_role(Role::Headline)
        .field_in(|short: &ShortKernels<'_>, row: &Row| short.analysis.us(row.time).into()),
        Column::count("Short Kernel count", "Number of short kernels.")
            .field(|row: &Row| row.count.into()),
        Column::microseconds(
            "Short Kernel duration (µs) mean",
            "Mean duration.",
        ).showing(&[Figure::ShortKernels, Figure::SumsOverShortEvents])
        .per("kernel")
        .field_in(|short: &ShortKernels<'_>, row: &Row| {
            (short.analysis.us(row.time) / row.count as f64).into()
        }),
        Column::percent(
            "Short Kernel duration (µs) percent of total time",
            "Sum as a share of total_time in gpu_timeline (for the entire trace, including recomputed work); empty if the timeline is empty.",
        ).with_role(Role::Headline)
        .field_in(|short: &ShortKernels<'_>, row: &Row| percent(row.time, short.total_time).into()),
    ];
    let operator_fields = operator_fields
        .map(|field| field.when(|short: &ShortKernels<'_>| !short.is_empty && !short.analysis.is_gpu_only()));
    let kernel_fields = kernel_fields.map(|field| field.when(|short: &ShortKernels<'_>| !short.is_empty));
    Sheet::with_context(
        "short_kernels_all_details",
        "Kernels below the threshold by operator, arguments and kernel, most time first; needs --short_kernel_study. Excludes kernels of calls without recorded arguments.",
        operator_fields.into_iter().chain(kernel_fields),
        |analysis: &Analysis| analysis.options().kernels.short_kernel_study.then(|| details(analysis)),
    )
    .known_as(names::SHORT_KERNELS_SUMMARY)
}

/// The kernels below the threshold, in file order.
fn short_kernels(analysis: &Analysis) -> Vec<KernelRecord> {
    let threshold = analysis.options().kernels.short_kernel_threshold_us;
    let events = analysis.trace().events();
    let mut records = kernel_records(analysis);
    records.retain(|record| analysis.us(events.duration(record.kernel)) < threshold);
    records
}

fn details(analysis: &Analysis) -> (ShortKernels<'_>, Vec<Row>) {
    let records = short_kernels(analysis);
    let short = ShortKernels {
        analysis,
        is_empty: records.is_empty(),
        total_time: analysis.timeline().map_or(0, |timeline| timeline.total),
    };
    let gpu_only = analysis.is_gpu_only();
    let events = analysis.trace().events();
    let mut rows: IndexMap<(Option<Operator>, StringId), Row> = IndexMap::default();
    for record in &records {
        let operator = if gpu_only { None } else { operator(analysis, record) };
        if operator.is_none() && !gpu_only {
            continue;
        }
        let kernel = events.name(record.kernel);
        let new = Row { operator, kernel, time: 0, count: 0 };
        let row = rows.entry((operator, kernel)).or_insert(new);
        row.time += events.duration(record.kernel);
        row.count += 1;
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    // Equal sums: fewer kernels first; equal counts then mean equal means. Stable, so by appearance.
    rows.sort_few_by_key(|row| (Reverse(row.time), row.count));
    rows.truncate(analysis.options().topk_short_kernels.unwrap_or(usize::MAX));
    (short, rows)
}

/// The short kernels that the details leave out, if they are asked for and there are any.
pub(crate) fn short_kernels_without_arguments(analysis: &Analysis) -> Option<Notice> {
    if !analysis.options().kernels.short_kernel_study || analysis.is_gpu_only() {
        return None;
    }
    let events = analysis.trace().events();
    let mut left_out = short_kernels(analysis);
    left_out.retain(|record| operator(analysis, record).is_none());
    let time: i64 = left_out.iter().map(|record| events.duration(record.kernel)).sum();
    (!left_out.is_empty())
        .then(|| Notice::ShortKernelsWithoutArguments { count: left_out.len(), time_us: analysis.us(time) })
}

/// The operator of a kernel with its arguments; `None` when one of them was not recorded.
fn operator(analysis: &Analysis, record: &KernelRecord) -> Option<Operator> {
    let trace = analysis.trace();
    let operator = record.operator?;
    let signature = trace.signatures().get(trace.events().signature(operator)?);
    Some(Operator {
        name: trace.events().name(operator),
        dims: signature.dims?,
        strides: signature.strides?,
        concrete: signature.concrete?,
    })
}
