//! Kernels too short to be worth a launch.

use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::{ArgumentId, StringId};

use crate::analysis::Analysis;
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::{FrameBuilder, percent};
use crate::kernel_records::{KernelRecord, kernel_records};
use crate::notice::Notice;
use crate::sheet::Sheet;
use crate::short_kernel_histogram;

/// How many short kernels there are by duration.
pub(crate) const HISTOGRAM: Sheet = Sheet {
    name: "short_kernels_histogram",
    current_name: "short_kernel_histogram",
    description: short_kernel_histogram::DESCRIPTION,
    columns: short_kernel_histogram::COLUMNS,
    chart: Some(short_kernel_histogram::CHART),
    build: build_histogram,
};

/// Which operators launch them.
pub(crate) const DETAILS: Sheet = Sheet {
    name: "short_kernels_all_details",
    current_name: "short_kernels_summary",
    description: "Kernels shorter than the threshold by operator, arguments and kernel, most time first; with --short_kernel_study only. Kernels of calls without recorded arguments are left out.",
    columns: &[
        Column::new(
            "Parent cpu_op",
            ColumnKind::Text,
            "Operator that the kernel is charged to, as in the operator sheets.",
        ),
        Column::new("Input dims", ColumnKind::Nested, "Shapes of the operator's inputs."),
        Column::new("Input strides", ColumnKind::Nested, "Strides of the operator's inputs, in elements."),
        Column::new(
            "Concrete Inputs",
            ColumnKind::Nested,
            "Values of the operator's inputs that are no tensors, as texts.",
        ),
        Column::new("Kernel name", ColumnKind::Text, "Kernel, as the profiler names it."),
        Column::new(
            "Short Kernel duration (µs) sum",
            ColumnKind::Number(Unit::Microseconds),
            "Sum of the short kernels' durations in µs.",
        ),
        Column::new("Short Kernel count", ColumnKind::Count, "Number of short kernels."),
        Column::new(
            "Short Kernel duration (µs) mean",
            ColumnKind::Number(Unit::Microseconds),
            "Mean duration in µs.",
        ),
        Column::new(
            "Short Kernel duration (µs) percent of total time",
            ColumnKind::Number(Unit::Percent),
            "Sum as a share of total_time of gpu_timeline (of the whole trace, also with --detect_recompute), in percent; empty when the timeline is.",
        ),
    ],
    chart: None,
    build: build_details,
};

/// The kernels below the threshold, in file order.
fn short_kernels(analysis: &Analysis) -> Vec<KernelRecord> {
    let threshold = analysis.options().short_kernel_threshold_us;
    let events = analysis.trace().events();
    let mut records = kernel_records(analysis);
    records.retain(|record| analysis.us(events.duration(record.kernel)) < threshold);
    records
}

fn build_histogram(analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
    if !analysis.options().short_kernel_study {
        return Ok(None);
    }
    let events = analysis.trace().events();
    let durations: Vec<f64> =
        short_kernels(analysis).iter().map(|record| analysis.us(events.duration(record.kernel))).collect();
    short_kernel_histogram::table(&durations, analysis.options().short_kernel_histogram_bins).map(Some)
}

/// What a row is made of: the operator's name and arguments where the trace has operators, and the kernel.
type Key = (Option<(StringId, ArgumentId, ArgumentId, ArgumentId)>, StringId);

fn build_details(analysis: &Analysis) -> PolarsResult<Option<DataFrame>> {
    if !analysis.options().short_kernel_study {
        return Ok(None);
    }
    let records = short_kernels(analysis);
    if records.is_empty() {
        return FrameBuilder::default().finish().map(Some);
    }
    let gpu_only = analysis.is_gpu_only();
    let events = analysis.trace().events();
    let mut order: Vec<Key> = Vec::new();
    let mut groups: HashMap<Key, (i64, i64)> = HashMap::new();
    for record in &records {
        let operator = if gpu_only { None } else { operator_key(analysis, record) };
        if operator.is_none() && !gpu_only {
            continue;
        }
        let key = (operator, events.name(record.kernel));
        let (sum, count) = groups.entry(key).or_insert_with(|| {
            order.push(key);
            (0, 0)
        });
        *sum += events.duration(record.kernel);
        *count += 1;
    }
    let mut rows: Vec<(Key, i64, i64)> = order
        .into_iter()
        .map(|key| {
            let (sum, count) = groups[&key];
            (key, sum, count)
        })
        .collect();
    // Equal sums: fewer kernels first; equal counts then mean equal means. Stable, so by appearance.
    rows.sort_by_key(|&(_, sum, count)| (std::cmp::Reverse(sum), count));
    rows.truncate(analysis.options().topk_short_kernels.unwrap_or(usize::MAX));

    let trace = analysis.trace();
    let total = analysis.timeline().map_or(0, |timeline| timeline.total);
    let mut frame = FrameBuilder::default();
    if !gpu_only {
        let operators = || rows.iter().map(|((operator, _), ..)| *operator);
        let argument = |id: ArgumentId| trace.signatures().argument_text(id);
        frame.text("Parent cpu_op", operators().map(|key| key.map(|(name, ..)| trace.text(name))));
        frame.text("Input dims", operators().map(|key| key.map(|(_, dims, _, _)| argument(dims))));
        frame.text("Input strides", operators().map(|key| key.map(|(_, _, strides, _)| argument(strides))));
        frame.text(
            "Concrete Inputs",
            operators().map(|key| key.map(|(_, _, _, concrete)| argument(concrete))),
        );
    }
    frame.text("Kernel name", rows.iter().map(|((_, kernel), ..)| Some(trace.text(*kernel))));
    frame.float("Short Kernel duration (µs) sum", rows.iter().map(|&(_, sum, _)| Some(analysis.us(sum))));
    frame.integer("Short Kernel count", rows.iter().map(|&(_, _, count)| Some(count)));
    let mean = |sum: i64, count: i64| analysis.us(sum) / count as f64;
    frame
        .float("Short Kernel duration (µs) mean", rows.iter().map(|&(_, sum, count)| Some(mean(sum, count))));
    let shares = rows.iter().map(|&(_, sum, _)| percent(sum, total));
    frame.float("Short Kernel duration (µs) percent of total time", shares);
    frame.finish().map(Some)
}

/// The short kernels that the details leave out, if they are asked for and there are any.
pub(crate) fn short_kernels_without_arguments(analysis: &Analysis) -> Option<Notice> {
    if !analysis.options().short_kernel_study || analysis.is_gpu_only() {
        return None;
    }
    let events = analysis.trace().events();
    let mut left_out = short_kernels(analysis);
    left_out.retain(|record| operator_key(analysis, record).is_none());
    let time: i64 = left_out.iter().map(|record| events.duration(record.kernel)).sum();
    (!left_out.is_empty())
        .then(|| Notice::ShortKernelsWithoutArguments { count: left_out.len(), time_us: analysis.us(time) })
}

/// The operator of a kernel with its arguments; `None` when one of them was not recorded.
fn operator_key(
    analysis: &Analysis,
    record: &KernelRecord,
) -> Option<(StringId, ArgumentId, ArgumentId, ArgumentId)> {
    let trace = analysis.trace();
    let operator = record.operator?;
    let signature = trace.signatures().get(trace.events().signature(operator)?);
    Some((trace.events().name(operator), signature.dims?, signature.strides?, signature.concrete?))
}
