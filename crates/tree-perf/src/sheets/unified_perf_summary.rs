//! Every device event once, under the operator that accounts for it, with the figures of its model.

use std::cmp::Reverse;
use std::fmt::Write;

use hashbrown::HashMap;
use perf_models::{Category, ComputeSpec, Parameter};
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::{EventId, Signature, SignatureId};

use crate::analysis::Analysis;
use crate::call_overlap::{CallOverlap, NameLists, append_overlap, overlap_of};
use crate::call_stack::{call_stack_text, entry_point};
use crate::column::{Column, ColumnKind, shared};
use crate::figures::{AGGREGATES, Figures, Spread};
use crate::frame::FrameBuilder;
use crate::kernel_list::{KernelList, ListedKernel};
use crate::places::Places;
use crate::sheet::Sheet;
use crate::unified::UnifiedRow;

/// One row per operator and arguments.
pub(crate) const SHEET: Sheet = Sheet {
    name: "unified_perf_summary",
    current_name: "unified_perf_summary",
    description: "Every device event once, under the operator that accounts for it: the outermost one with a performance model, else the one that launched it. With FLOPs, bytes, achieved rates and distance from the roofline where there is a model.",
    columns: COLUMNS,
    chart: None,
    build: |analysis| build(analysis, false),
};

/// The same, with calls told apart by what ran beside them.
pub(crate) const WITH_OVERLAP: Sheet = Sheet {
    name: "unified_perf_summary_kl_overlap",
    current_name: "unified_perf_summary_kl_overlap",
    description: "unified_perf_summary with calls told apart by the kernels that ran at the same time on other streams; with --include_overlap_info only.",
    columns: COLUMNS,
    chart: None,
    build: |analysis| match analysis.options().include_overlap_info {
        true => build(analysis, true),
        false => Ok(None),
    },
};

static COLUMNS: &[Column] = &[
    Column::new(
        "name",
        ColumnKind::Text,
        "Operator; <operator>-><kernel> (Synthetic Op) for a device event that no row of its own operator accounts for.",
    ),
    Column::new(
        "overlapping_kernel_names",
        ColumnKind::Literal,
        "Kernels of other operators that ran at the same time on another stream for at least 1 µs, by start; in the sheet of overlap only.",
    ),
    shared::OP_CATEGORY,
    Column::new(
        "process_name",
        ColumnKind::Text,
        "Process of the calls; Unknown when the trace does not name it.",
    ),
    Column::new(
        "process_label",
        ColumnKind::Text,
        "Label of the process; Unknown when the trace does not name it.",
    ),
    Column::new(
        "thread_name",
        ColumnKind::Text,
        "Thread of the calls; Unknown when the trace does not name it.",
    ),
    Column::new(
        "Input Dims",
        ColumnKind::Literal,
        "Shapes of the inputs; empty when the profiler did not record shapes.",
    ),
    Column::new("Input type", ColumnKind::Literal, "Element types of the inputs."),
    Column::new("Input Strides", ColumnKind::Literal, "Strides of the inputs, in elements."),
    Column::new(
        "Concrete Inputs",
        ColumnKind::Literal,
        "Values of the inputs that are no tensors, as texts.",
    ),
    Column::new(
        "num_kernels",
        ColumnKind::Count,
        "Device events of one call; with --group_by_num_kernels only.",
    ),
    shared::IS_RECOMPUTE,
    Column::new(
        "ex_UID",
        ColumnKind::Identifier,
        "Index in the trace's event list of the first of these calls.",
    ),
    Column::new("operation_count", ColumnKind::Count, "Calls of the row."),
    Column::new(
        "total_duration_us",
        ColumnKind::Microseconds,
        "Sum over calls of the time in µs that the operator took on the host; in rows of single device events the operator counts once per device event.",
    ),
    Column::new("mean_duration_us", ColumnKind::Microseconds, "Mean over calls of the host time in µs."),
    Column::new(
        "std_duration_us",
        ColumnKind::Microseconds,
        "Standard deviation (of a sample, n − 1) over calls of the host time in µs; empty for one call.",
    ),
    Column::new(
        "GFLOPS",
        ColumnKind::Ratio,
        "Floating-point operations of one call in units of 1e9; a multiply-add counts as two.",
    ),
    Column::new(
        "Data Moved (MB)",
        ColumnKind::Mebibytes,
        "Bytes that one call has to move at least (every input and output once), divided by 1024².",
    ),
    Column::new("FLOPS/Byte", ColumnKind::Ratio, "Arithmetic intensity: floating-point operations per byte."),
    Column::new(
        "Compute Spec",
        ColumnKind::Text,
        "Peak that the work is held against: matrix or vector unit and precision; empty where none is stated for the element types.",
    ),
    Column::new(
        "Roofline Bound",
        ColumnKind::Text,
        "COMPUTE_BOUND when the work takes longer at the peak rate than its bytes at the peak bandwidth, else MEMORY_BOUND; left out without an architecture.",
    ),
    Column::new(
        "TB/s_mean",
        ColumnKind::Ratio,
        "Mean over calls of the achieved bandwidth: bytes over kernel time, in units of 1e12 bytes per second.",
    ),
    Column::new(
        "TB/s_std",
        ColumnKind::Ratio,
        "Standard deviation (of a sample, n − 1) over calls of the achieved bandwidth: bytes over kernel time, in units of 1e12 bytes per second; empty for one call.",
    ),
    Column::new(
        "TFLOPS/s_mean",
        ColumnKind::Ratio,
        "Mean over calls of the achieved rate: floating-point operations over kernel time, in units of 1e12 per second. For the backward of a modelled operator, over the time of all device events below the autograd node.",
    ),
    Column::new(
        "TFLOPS/s_std",
        ColumnKind::Ratio,
        "Standard deviation (of a sample, n − 1) over calls of the achieved rate: floating-point operations over kernel time, in units of 1e12 per second; empty for one call.",
    ),
    Column::new(
        "Kernel Time (µs)_mean",
        ColumnKind::Microseconds,
        "Mean over calls of the union of the spans of a call's device events, in µs.",
    ),
    Column::new(
        "Kernel Time (µs)_std",
        ColumnKind::Microseconds,
        "Standard deviation (of a sample, n − 1) over calls of the union of the spans of a call's device events, in µs; empty for one call.",
    ),
    Column::new(
        "Kernel Time (µs)_sum",
        ColumnKind::Microseconds,
        "Sum over calls of the kernel time in µs. Every device event of the timeline but communication is in one row, so the column adds up.",
    ),
    Column::new("duration_us_median", ColumnKind::Microseconds, "Median over calls of the host time in µs."),
    Column::new(
        "duration_us_min",
        ColumnKind::Microseconds,
        "Smallest value over calls of the host time in µs.",
    ),
    Column::new(
        "duration_us_max",
        ColumnKind::Microseconds,
        "Largest value over calls of the host time in µs.",
    ),
    Column::new(
        "TB/s_median",
        ColumnKind::Ratio,
        "Median over calls of the achieved bandwidth: bytes over kernel time, in units of 1e12 bytes per second.",
    ),
    Column::new(
        "TB/s_min",
        ColumnKind::Ratio,
        "Smallest value over calls of the achieved bandwidth: bytes over kernel time, in units of 1e12 bytes per second.",
    ),
    Column::new(
        "TB/s_max",
        ColumnKind::Ratio,
        "Largest value over calls of the achieved bandwidth: bytes over kernel time, in units of 1e12 bytes per second.",
    ),
    Column::new(
        "TFLOPS/s_median",
        ColumnKind::Ratio,
        "Median over calls of the achieved rate: floating-point operations over kernel time, in units of 1e12 per second.",
    ),
    Column::new(
        "TFLOPS/s_min",
        ColumnKind::Ratio,
        "Smallest value over calls of the achieved rate: floating-point operations over kernel time, in units of 1e12 per second.",
    ),
    Column::new(
        "TFLOPS/s_max",
        ColumnKind::Ratio,
        "Largest value over calls of the achieved rate: floating-point operations over kernel time, in units of 1e12 per second.",
    ),
    Column::new(
        "Roofline Time (µs)_first",
        ColumnKind::Microseconds,
        "Least time in µs that the work takes on the architecture: the larger of floating-point operations over peak rate and bytes over peak bandwidth; left out without an architecture.",
    ),
    Column::new(
        "Pct Roofline_mean",
        ColumnKind::Percent,
        "Mean over calls of roofline time over kernel time, in percent.",
    ),
    Column::new(
        "Pct Roofline_median",
        ColumnKind::Percent,
        "Median over calls of roofline time over kernel time, in percent.",
    ),
    Column::new(
        "Pct Roofline_std",
        ColumnKind::Percent,
        "Standard deviation (of a sample, n − 1) over calls of roofline time over kernel time, in percent; empty for one call.",
    ),
    Column::new(
        "Pct Roofline_min",
        ColumnKind::Percent,
        "Smallest value over calls of roofline time over kernel time, in percent.",
    ),
    Column::new(
        "Pct Roofline_max",
        ColumnKind::Percent,
        "Largest value over calls of roofline time over kernel time, in percent.",
    ),
    Column::new(
        "Kernel Time (µs)_median",
        ColumnKind::Microseconds,
        "Median over calls of the union of the spans of a call's device events, in µs.",
    ),
    Column::new(
        "Kernel Time (µs)_min",
        ColumnKind::Microseconds,
        "Smallest value over calls of the union of the spans of a call's device events, in µs.",
    ),
    Column::new(
        "Kernel Time (µs)_max",
        ColumnKind::Microseconds,
        "Largest value over calls of the union of the spans of a call's device events, in µs.",
    ),
    Column::new(
        "kernel_details_summary",
        ColumnKind::Literal,
        "Device events of a call, position by position, with count, total, mean, median, standard deviation (of a population, n), minimum and maximum over calls in µs; calls with another number of device events than the first do not count.",
    ),
    Column::new(
        "trunc_kernel_details",
        ColumnKind::Literal,
        "The same with names cut at 64 characters, stream and mean to 0.01 µs.",
    ),
    Column::new(
        "overlapping_kernels_details_summary",
        ColumnKind::Literal,
        "Overlapping kernels with the mean share of the call's run time that each ran beside, and their durations over calls in µs; in the sheet of overlap only.",
    ),
    Column::new(
        "trunc_overlapping_kernels_details",
        ColumnKind::Literal,
        "The same with names cut at 64 characters, stream and mean to 0.01 µs; in the sheet of overlap only.",
    ),
    Column::new(
        "overlap_pct_mean",
        ColumnKind::Ratio,
        "Mean over calls of the share of the call's run time that others ran beside, to 0.01.",
    ),
    Column::new(
        "overlap_pct_median",
        ColumnKind::Ratio,
        "Median over calls of the share of the call's run time that others ran beside, to 0.01.",
    ),
    Column::new(
        "overlap_pct_std",
        ColumnKind::Ratio,
        "Standard deviation (of a sample, n − 1) over calls of the share of the call's run time that others ran beside, to 0.01; 0 for one call.",
    ),
    Column::new(
        "overlap_pct_min",
        ColumnKind::Ratio,
        "Smallest value over calls of the share of the call's run time that others ran beside.",
    ),
    Column::new(
        "overlap_pct_max",
        ColumnKind::Ratio,
        "Largest value over calls of the share of the call's run time that others ran beside.",
    ),
    Column::new("perf_params", ColumnKind::Literal, "Parameters of the model."),
    Column::new(
        "has_perf_model",
        ColumnKind::Flag,
        "Whether the figures come from a model of the operator, or of the forward operator whose only backward it is.",
    ),
    Column::new("reason", ColumnKind::Text, "Why FLOPs or bytes are missing; empty where there are both."),
    Column::new(
        "note",
        ColumnKind::Text,
        "What the figures assume because the trace does not record it; empty where nothing is assumed.",
    ),
    Column::new(
        "entry_point",
        ColumnKind::Text,
        "Python function through which the program reached the operator; with --include_call_stack only.",
    ),
    Column::new(
        "call_stack_full",
        ColumnKind::Literal,
        "Frames from the outermost to the operator of the first of these calls; with --include_call_stack only.",
    ),
    shared::SHARE_OF_KERNEL_TIME,
    shared::CUMULATIVE,
];

/// What calls of one row have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    name: String,
    category: Category,
    place: u32,
    signature: Option<SignatureId>,
    kernels: Option<usize>,
    is_recompute: bool,
    overlapping: Option<u32>,
}

struct Group<'a> {
    key: Key,
    rows: Vec<&'a UnifiedRow>,
    overlaps: Vec<CallOverlap>,
}

impl Group<'_> {
    fn first(&self) -> EventId {
        self.rows[0].charged.operator
    }

    /// A figure of the first call that has it.
    fn figure<T>(&self, value: impl Fn(&Figures) -> Option<T>) -> Option<T> {
        self.rows.iter().find_map(|row| value(row.figures.as_ref()?))
    }

    fn time(&self) -> i64 {
        self.rows.iter().map(|row| row.time).sum()
    }

    fn spread(&self, value: impl Fn(&UnifiedRow) -> Option<f64>) -> Spread {
        Spread::of(self.rows.iter().map(|row| value(row)))
    }
}

fn build(analysis: &Analysis, with_overlap: bool) -> PolarsResult<Option<DataFrame>> {
    let rows = analysis.unified_rows();
    if analysis.is_gpu_only() || rows.is_empty() {
        return Ok(None);
    }
    let (trace, options) = (analysis.trace(), analysis.options());
    let events = trace.events();
    let mut places = Places::new(analysis);
    let mut name_lists = NameLists::default();
    let mut groups = groups(analysis, rows, with_overlap, &mut places, &mut name_lists);
    sort(analysis, &mut groups);

    let mut frame = FrameBuilder::default();
    append_keys(&mut frame, analysis, &groups, &places, with_overlap.then_some(&name_lists));
    frame.integer("ex_UID", groups.iter().map(|group| Some(i64::from(events.uid(group.first())))));
    frame.integer("operation_count", groups.iter().map(|group| Some(group.rows.len() as i64)));
    let host_time = |row: &UnifiedRow| Some(analysis.us(events.duration(row.charged.operator)));
    let host: Vec<Spread> = groups.iter().map(|group| group.spread(host_time)).collect();
    let total = |group: &Group<'_>| {
        analysis.us(group.rows.iter().map(|row| events.duration(row.charged.operator)).sum())
    };
    frame.float("total_duration_us", groups.iter().map(|group| Some(total(group))));
    frame.float("mean_duration_us", host.iter().map(|spread| spread.mean));
    frame.float("std_duration_us", host.iter().map(|spread| spread.std));
    let figure = |value: fn(&Figures) -> Option<f64>| groups.iter().map(move |group| group.figure(value));
    frame.float("GFLOPS", figure(|figures| Some(figures.gflops())));
    frame.float("Data Moved (MB)", figure(Figures::mebibytes));
    frame.float("FLOPS/Byte", figure(Figures::intensity));
    let spec = |figures: &Figures| figures.spec.as_ref().map(ComputeSpec::to_string);
    frame.text("Compute Spec", groups.iter().map(|group| group.figure(spec)));
    if analysis.architecture().is_some() {
        let bound = |figures: &Figures| Some(figures.roofline?.bound().to_string());
        frame.text("Roofline Bound", groups.iter().map(|group| group.figure(bound)));
    }
    append_rates(&mut frame, analysis, &groups, &host);

    let lists: Vec<KernelList> = groups.iter().map(|group| kernels(analysis, group)).collect();
    frame.text("kernel_details_summary", lists.iter().map(|list| Some(list.details(analysis))));
    frame.text("trunc_kernel_details", lists.iter().map(|list| list.shortened(analysis)));
    if with_overlap {
        let overlaps: Vec<Vec<&CallOverlap>> =
            groups.iter().map(|group| group.overlaps.iter().collect()).collect();
        append_overlap(&mut frame, analysis, "overlapping_kernels_details_summary", &overlaps);
    }
    let parameters = |group: &Group<'_>| {
        group
            .rows
            .iter()
            .find_map(|row| row.figures.and(row.evaluated()))
            .map(|evaluated| dict(&evaluated.parameters))
    };
    frame.text("perf_params", groups.iter().map(parameters));
    frame.flag("has_perf_model", groups.iter().map(|group| group.rows[0].has_model()));
    frame.text("reason", groups.iter().map(|group| group.rows.iter().find_map(|row| row.reason())));
    let assumption =
        |group: &Group<'_>| group.rows.iter().find_map(|row| row.evaluated()?.assumption.clone());
    frame.text("note", groups.iter().map(assumption));
    if options.include_call_stack {
        let tree = analysis.tree();
        let of = |group: &Group<'_>, text: fn(&trace2tree::TraceTree, EventId, &[EventId]) -> String| {
            Some(text(tree, group.first(), &group.rows[0].charged.device_events))
        };
        frame.text("entry_point", groups.iter().map(|group| of(group, entry_point)));
        frame.text("call_stack_full", groups.iter().map(|group| of(group, call_stack_text)));
    }
    frame.shares(groups.iter().map(Group::time));
    frame.finish().map(Some)
}

/// Most time first. Calls that only differ in what ran beside them stand together, by the time of them all.
fn sort(analysis: &Analysis, groups: &mut [Group<'_>]) {
    let events = analysis.trace().events();
    let together = |group: &Group<'_>| Key { overlapping: None, ..group.key.clone() };
    let mut of_all: HashMap<Key, (i64, u32)> = HashMap::new();
    for group in groups.iter() {
        let (time, first) = of_all.entry(together(group)).or_insert((0, u32::MAX));
        *time += group.time();
        *first = (*first).min(events.uid(group.first()));
    }
    groups.sort_by_cached_key(|group| {
        let (time, first) = of_all[&together(group)];
        (Reverse(time), first, Reverse(group.time()), events.uid(group.first()))
    });
}

fn groups<'a>(
    analysis: &'a Analysis,
    rows: &'a [UnifiedRow],
    with_overlap: bool,
    places: &mut Places<'a>,
    name_lists: &mut NameLists,
) -> Vec<Group<'a>> {
    let events = analysis.trace().events();
    let is_empty = |signature| analysis.trace().signatures().get(signature) == Signature::default();
    let mut index: HashMap<Key, usize> = HashMap::new();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for row in rows {
        let operator = row.charged.operator;
        let (overlapping, overlap) = match with_overlap {
            true => overlap_of(analysis, analysis.overlaps(), &row.charged.device_events, name_lists),
            false => (None, CallOverlap::default()),
        };
        let key = Key {
            name: row.name(analysis),
            category: row.category,
            place: places.of(events.track(operator)),
            signature: events.signature(operator).filter(|&signature| !is_empty(signature)),
            kernels: analysis.options().group_by_num_kernels.then_some(row.charged.device_events.len()),
            is_recompute: analysis.is_recompute(operator),
            overlapping,
        };
        let at = *index.entry(key.clone()).or_insert_with(|| {
            groups.push(Group { key, rows: Vec::new(), overlaps: Vec::new() });
            groups.len() - 1
        });
        groups[at].rows.push(row);
        groups[at].overlaps.push(overlap);
    }
    groups
}

fn append_keys(
    frame: &mut FrameBuilder,
    analysis: &Analysis,
    groups: &[Group<'_>],
    places: &Places<'_>,
    name_lists: Option<&NameLists>,
) {
    let keys = || groups.iter().map(|group| &group.key);
    frame.text("name", keys().map(|key| Some(&key.name)));
    if let Some(name_lists) = name_lists {
        let list = |id: u32| name_lists.literal(analysis, id);
        frame.text("overlapping_kernel_names", keys().map(|key| key.overlapping.map(list)));
    }
    frame.text("op category", keys().map(|key| Some(key.category.as_str())));
    for (position, name) in ["process_name", "process_label", "thread_name"].into_iter().enumerate() {
        frame.text(name, keys().map(|key| Some(places.texts(key.place)[position])));
    }
    let signatures = analysis.trace().signatures();
    for (position, name) in
        ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"].into_iter().enumerate()
    {
        let text = |key: &Key| {
            let Signature { dims, types, strides, concrete } = signatures.get(key.signature?);
            [dims, types, strides, concrete][position].map(|id| signatures.argument_text(id))
        };
        frame.text(name, keys().map(text));
    }
    if analysis.options().group_by_num_kernels {
        frame.integer("num_kernels", keys().map(|key| key.kernels.map(|count| count as i64)));
    }
    if analysis.options().detect_recompute {
        frame.flag("is_recompute", keys().map(|key| key.is_recompute));
    }
}

/// Rates, kernel times and host times, in the order that the table has always had.
fn append_rates(frame: &mut FrameBuilder, analysis: &Analysis, groups: &[Group<'_>], host: &[Spread]) {
    let spreads = |value: fn(&Figures) -> Option<f64>| -> Vec<Spread> {
        groups.iter().map(|group| group.spread(|row| value(row.figures.as_ref()?))).collect()
    };
    let bandwidth = spreads(Figures::tb_per_s);
    let rate = spreads(Figures::tflops_per_s);
    let kernel: Vec<Spread> =
        groups.iter().map(|group| group.spread(|row| Some(analysis.us(row.time)))).collect();
    add(frame, "TB/s", &bandwidth, &["mean", "std"]);
    add(frame, "TFLOPS/s", &rate, &["mean", "std"]);
    add(frame, "Kernel Time (µs)", &kernel, &["mean", "std"]);
    frame.float("Kernel Time (µs)_sum", groups.iter().map(|group| Some(analysis.us(group.time()))));
    let rest = ["median", "min", "max"];
    add(frame, "duration_us", host, &rest);
    add(frame, "TB/s", &bandwidth, &rest);
    add(frame, "TFLOPS/s", &rate, &rest);
    if analysis.architecture().is_some() {
        let least = |figures: &Figures| Some(figures.roofline?.time_us());
        frame.float("Roofline Time (µs)_first", groups.iter().map(|group| group.figure(least)));
        add(frame, "Pct Roofline", &spreads(Figures::percent_of_roofline), &AGGREGATES);
    }
    add(frame, "Kernel Time (µs)", &kernel, &rest);
}

fn add(frame: &mut FrameBuilder, column: &str, spreads: &[Spread], aggregates: &[&str]) {
    for aggregate in aggregates {
        frame.float(&format!("{column}_{aggregate}"), spreads.iter().map(|spread| spread.get(aggregate)));
    }
}

fn kernels(analysis: &Analysis, group: &Group<'_>) -> KernelList {
    let trace = analysis.trace();
    let lists: Vec<Vec<ListedKernel>> = group
        .rows
        .iter()
        .map(|row| row.charged.device_events.iter().map(|&event| ListedKernel::of(trace, event)).collect())
        .collect();
    KernelList::summarise(trace, lists.iter().map(Vec::as_slice))
}

/// Parameters as a Python dict.
fn dict(parameters: &[Parameter]) -> String {
    let mut out = String::from("{");
    for (position, (name, value)) in parameters.iter().enumerate() {
        let separator = if position > 0 { ", " } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(out, "{separator}'{name}': ");
        let _ = value.write_literal(&mut out);
    }
    out.push('}');
    out
}
