//! Device time by operator and arguments.

use gpu_timeline::Summary;
use hashbrown::HashMap;
use perf_models::Category;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::{Signature, SignatureId, StringId};

use crate::analysis::{Analysis, OverlapIndex};
use crate::call_overlap::{CallOverlap, NameLists, overlap_of};
use crate::call_stack::{call_stack_text, entry_point};
use crate::column::{Column, ColumnKind, shared};
use crate::frame::FrameBuilder;
use crate::kernel_list::{KernelList, ListedKernel};
use crate::launchers::Launcher;
use crate::notice::Notice;
use crate::places::Places;
use crate::sheet::Sheet;

macro_rules! columns {
    ([$($before:expr),*], [$($after:expr),*]) => {
        &[
            shared::OP_NAME,
            $($before,)*
            shared::OP_CATEGORY,
            Column::new("process_name", ColumnKind::Text, "Process of the calls; Unknown when the trace does not name it."),
            Column::new("process_label", ColumnKind::Text, "Label of the process; Unknown when the trace does not name it."),
            Column::new("thread_name", ColumnKind::Text, "Thread of the calls; Unknown when the trace does not name it."),
            Column::new("Input Dims", ColumnKind::Literal, "Shapes of the inputs; empty when the profiler did not record shapes."),
            Column::new("Input type", ColumnKind::Literal, "Element types of the inputs."),
            Column::new("Input Strides", ColumnKind::Literal, "Strides of the inputs, in elements."),
            Column::new("Concrete Inputs", ColumnKind::Literal, "Values of the inputs that are no tensors, as texts."),
            Column::new("num_kernels", ColumnKind::Count, "Kernels that one call launched itself; with --group_by_num_kernels only."),
            shared::IS_RECOMPUTE,
            Column::new("operation_count", ColumnKind::Count, "Calls with these arguments that launched device work."),
            Column::new("first_occurrence_time", ColumnKind::Microseconds, "Start of the first of these calls in µs, counted from the first call of the sheet; with --include_first_occurrence_time only."),
            Column::new("total_direct_kernel_time_mean", ColumnKind::Microseconds, "Mean over calls, in µs, of the union of the spans of the kernels that a call launched itself; communication kernels are left out."),
            Column::new("total_subtree_kernel_time_mean", ColumnKind::Microseconds, "Mean over calls, in µs, of the union of the spans of all kernels below a call, communication included."),
            Column::new("total_direct_kernel_time_median", ColumnKind::Microseconds, "Median over calls of the direct kernel time in µs."),
            Column::new("total_subtree_kernel_time_median", ColumnKind::Microseconds, "Median over calls of the subtree kernel time in µs."),
            Column::new("total_direct_kernel_time_std", ColumnKind::Microseconds, "Standard deviation (of a sample, n − 1) over calls of the direct kernel time in µs; empty for one call."),
            Column::new("total_subtree_kernel_time_std", ColumnKind::Microseconds, "Standard deviation (of a sample, n − 1) over calls of the subtree kernel time in µs; empty for one call."),
            Column::new("total_direct_kernel_time_min", ColumnKind::Microseconds, "Smallest direct kernel time of a call in µs."),
            Column::new("total_subtree_kernel_time_min", ColumnKind::Microseconds, "Smallest subtree kernel time of a call in µs."),
            Column::new("total_direct_kernel_time_max", ColumnKind::Microseconds, "Largest direct kernel time of a call in µs."),
            Column::new("total_subtree_kernel_time_max", ColumnKind::Microseconds, "Largest subtree kernel time of a call in µs."),
            Column::new("total_direct_kernel_time_sum", ColumnKind::Microseconds, "Sum over calls of the direct kernel time in µs."),
            Column::new("total_subtree_kernel_time_sum", ColumnKind::Microseconds, "Sum over calls of the subtree kernel time in µs."),
            Column::new("ex_UID", ColumnKind::Identifier, "Index in the trace's event list of the first of these calls, to look at it with tracelens tree --uid."),
            Column::new("kernel_details_summary", ColumnKind::Literal, "Kernels of a call, position by position, with count, total, mean, median, standard deviation (of a population, n), minimum and maximum over calls in µs; calls with another number of kernels than the first do not count."),
            Column::new("trunc_kernel_details", ColumnKind::Literal, "Name (cut at 64 characters), stream and mean duration (to 0.01 µs) of each kernel of kernel_details_summary."),
            $($after,)*
            Column::new("entry_point", ColumnKind::Text, "Python function through which the program reached the operator; with --include_call_stack only."),
            Column::new("call_stack_full", ColumnKind::Literal, "Frames from the outermost to the operator of the first of these calls; with --include_call_stack only."),
            shared::PERCENTAGE,
            shared::CUMULATIVE,
        ]
    };
}

/// One row per operator and arguments.
pub(crate) const SHEET: Sheet = Sheet {
    name: "ops_all",
    current_name: "ops_unique_args",
    description: "Device time by operator, thread and arguments: one row per distinct call signature, most direct time first.",
    columns: columns!([], []),
    chart: None,
    build: |analysis| build(analysis, None),
};

/// The same, with calls told apart by what ran beside them.
pub(crate) const WITH_OVERLAP: Sheet = Sheet {
    name: "ops_all_kl_overlap",
    current_name: "ops_unique_args_kl_overlap",
    description: "ops_all with calls told apart by the kernels that ran at the same time on other streams; with --include_overlap_info only.",
    columns: columns!(
        [Column::new(
            "overlapping_kernel_names",
            ColumnKind::Literal,
            "Kernels of other operators that ran at the same time on another stream for at least 1 µs, by start; empty when there are none."
        )],
        [
            Column::new(
                "overlapping_kernels_details_summary",
                ColumnKind::Literal,
                "Overlapping kernels with the mean share of the call's run time that each ran beside, and their durations over calls in µs."
            ),
            Column::new(
                "trunc_overlapping_kernels_details",
                ColumnKind::Literal,
                "Name (cut at 64 characters), stream and mean duration (to 0.01 µs) of each kernel of overlapping_kernels_details_summary."
            ),
            Column::new(
                "overlap_pct_mean",
                ColumnKind::Ratio,
                "Mean over calls of the overlap: for each kernel the time that something ran beside it, summed and divided by the union of the call's kernels; 1 is full overlap, and kernels of a call that overlap each other can exceed it."
            ),
            Column::new("overlap_pct_median", ColumnKind::Ratio, "Median over calls of the overlap."),
            Column::new(
                "overlap_pct_std",
                ColumnKind::Ratio,
                "Standard deviation (of a sample, n − 1) over calls of the overlap; empty for one call."
            ),
            Column::new("overlap_pct_min", ColumnKind::Ratio, "Smallest overlap of a call."),
            Column::new("overlap_pct_max", ColumnKind::Ratio, "Largest overlap of a call.")
        ]
    ),
    chart: None,
    build: |analysis| match analysis.options().include_overlap_info {
        true => build(analysis, Some(analysis.overlaps())),
        false => Ok(None),
    },
};

/// A figure of a summary; `None` where the summary has none.
type Aggregate = fn(&Summary) -> Option<f64>;

/// The aggregates that statistics columns come in, in their order.
const AGGREGATES: [(&str, Aggregate); 5] = [
    ("mean", |summary| Some(summary.mean)),
    ("median", |summary| Some(summary.median)),
    ("std", |summary| summary.sample_std),
    ("min", |summary| Some(summary.min as f64)),
    ("max", |summary| Some(summary.max as f64)),
];

/// What calls of one row have in common. All ids, so that grouping compares integers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    name: StringId,
    category: Category,
    place: u32,
    signature: Option<SignatureId>,
    kernels: Option<u32>,
    is_recompute: bool,
    /// Index into the distinct lists of overlapping names.
    overlapping: Option<u32>,
}

struct Group<'a> {
    key: Key,
    calls: Vec<&'a Launcher>,
    overlaps: Vec<CallOverlap>,
}

fn build(analysis: &Analysis, overlaps: Option<&OverlapIndex>) -> PolarsResult<Option<DataFrame>> {
    if analysis.is_gpu_only() || analysis.launchers.is_empty() {
        return Ok(None);
    }
    let options = analysis.options();
    let events = analysis.trace().events();
    let mut places = Places::new(analysis);
    let mut name_lists = NameLists::default();
    let mut groups = groups(analysis, overlaps, &mut places, &mut name_lists);
    let direct = |group: &Group<'_>| group.calls.iter().map(|call| call.direct_time).sum::<i64>();
    groups.sort_by_key(|group| (std::cmp::Reverse(direct(group)), events.uid(group.calls[0].event)));
    // Shares are of all rows, also when only the first are shown.
    let mut shares = FrameBuilder::default();
    shares.shares(groups.iter().map(direct));
    let shown = options.topk_ops.unwrap_or(usize::MAX).min(groups.len());
    let shares = shares.finish()?.head(Some(shown));
    let first_start = groups.iter().map(|group| first_occurrence(analysis, group)).min().unwrap_or(0);
    groups.truncate(shown);

    let mut frame = FrameBuilder::default();
    append_key_columns(&mut frame, analysis, &groups, &places, overlaps.map(|_| &name_lists));
    frame.integer("operation_count", groups.iter().map(|group| Some(group.calls.len() as i64)));
    if options.include_first_occurrence_time {
        let since_first = |group| analysis.us(first_occurrence(analysis, group) - first_start);
        frame.float("first_occurrence_time", groups.iter().map(|group| Some(since_first(group))));
    }
    append_time_columns(&mut frame, analysis, &groups);
    frame.integer("ex_UID", groups.iter().map(|group| Some(i64::from(events.uid(group.calls[0].event)))));

    let lists: Vec<KernelList> = groups.iter().map(|group| kernels_of(analysis, group)).collect();
    frame.text("kernel_details_summary", lists.iter().map(|list| Some(list.details(analysis))));
    frame.text("trunc_kernel_details", lists.iter().map(|list| list.shortened(analysis)));
    if overlaps.is_some() {
        append_overlap_columns(&mut frame, analysis, &groups);
    }
    if options.include_call_stack {
        let calls =
            || groups.iter().map(|group| (group.calls[0].event, analysis.launchers.kernels(group.calls[0])));
        let tree = analysis.tree();
        frame.text("entry_point", calls().map(|(event, kernels)| Some(entry_point(tree, event, kernels))));
        frame.text(
            "call_stack_full",
            calls().map(|(event, kernels)| Some(call_stack_text(tree, event, kernels))),
        );
    }
    let mut frame = frame.finish()?;
    frame.hstack_mut(shares.columns())?;
    Ok(Some(frame))
}

/// The calls by what a row stands for, in order of their first call.
fn groups<'a>(
    analysis: &'a Analysis,
    overlaps: Option<&OverlapIndex>,
    places: &mut Places<'a>,
    name_lists: &mut NameLists,
) -> Vec<Group<'a>> {
    let events = analysis.trace().events();
    // Arguments none of which was recorded are no arguments.
    let is_empty = |signature| analysis.trace().signatures().get(signature) == Signature::default();
    let mut index: HashMap<Key, usize> = HashMap::new();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for call in analysis.launchers.iter() {
        let (overlapping, overlap) = match overlaps {
            None => (None, CallOverlap::default()),
            Some(overlaps) => overlap_of(analysis, overlaps, analysis.launchers.kernels(call), name_lists),
        };
        let key = Key {
            name: events.name(call.event),
            category: call.category,
            place: places.of(events.track(call.event)),
            signature: events.signature(call.event).filter(|&signature| !is_empty(signature)),
            kernels: analysis
                .options()
                .group_by_num_kernels
                .then(|| analysis.launchers.kernels(call).len() as u32),
            is_recompute: analysis.is_recompute(call.event),
            overlapping,
        };
        let at = *index.entry(key).or_insert_with(|| {
            groups.push(Group { key, calls: Vec::new(), overlaps: Vec::new() });
            groups.len() - 1
        });
        groups[at].calls.push(call);
        groups[at].overlaps.push(overlap);
    }
    groups
}

/// The calls that the lists of kernels leave out, if there are any.
pub(crate) fn calls_outside_kernel_lists(analysis: &Analysis) -> Option<Notice> {
    if analysis.is_gpu_only() || analysis.options().group_by_num_kernels {
        return None;
    }
    let kernels = |call: &Launcher| analysis.launchers.kernels(call).len();
    let outside = |group: &Group<'_>| {
        let listed = kernels(group.calls[0]);
        group.calls.iter().filter(|call| kernels(call) != listed).count()
    };
    let groups = groups(analysis, None, &mut Places::new(analysis), &mut NameLists::default());
    let calls: usize = groups.iter().map(outside).sum();
    (calls > 0).then(|| Notice::CallsOutsideKernelLists { calls, of: analysis.launchers.iter().len() })
}

fn first_occurrence(analysis: &Analysis, group: &Group<'_>) -> i64 {
    let events = analysis.trace().events();
    group.calls.iter().map(|call| events.start(call.event)).min().unwrap_or(0)
}

fn append_key_columns(
    frame: &mut FrameBuilder,
    analysis: &Analysis,
    groups: &[Group<'_>],
    places: &Places<'_>,
    name_lists: Option<&NameLists>,
) {
    let trace = analysis.trace();
    let keys = || groups.iter().map(|group| group.key);
    frame.text("name", keys().map(|key| Some(trace.text(key.name))));
    if let Some(name_lists) = name_lists {
        let list = |id: u32| name_lists.literal(analysis, id);
        frame.text("overlapping_kernel_names", keys().map(|key| key.overlapping.map(list)));
    }
    frame.text("op category", keys().map(|key| Some(key.category.as_str())));
    for (position, name) in ["process_name", "process_label", "thread_name"].into_iter().enumerate() {
        frame.text(name, keys().map(|key| Some(places.texts(key.place)[position])));
    }
    let signatures = trace.signatures();
    for (position, name) in
        ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"].into_iter().enumerate()
    {
        let text = |key: Key| {
            let Signature { dims, types, strides, concrete } = signatures.get(key.signature?);
            [dims, types, strides, concrete][position].map(|id| signatures.argument_text(id))
        };
        frame.text(name, keys().map(text));
    }
    if analysis.options().group_by_num_kernels {
        frame.integer("num_kernels", keys().map(|key| key.kernels.map(i64::from)));
    }
    if analysis.options().detect_recompute {
        frame.flag("is_recompute", keys().map(|key| key.is_recompute));
    }
}

fn append_time_columns(frame: &mut FrameBuilder, analysis: &Analysis, groups: &[Group<'_>]) {
    let us = |time: f64| time / analysis.trace().time_unit().per_microsecond() as f64;
    let summaries = |time: fn(&Launcher) -> i64| -> Vec<Option<Summary>> {
        let times = |group: &Group<'_>| group.calls.iter().map(|call| time(call)).collect::<Vec<i64>>();
        groups.iter().map(|group| Summary::of(&times(group))).collect()
    };
    let direct = summaries(|call| call.direct_time);
    let subtree = summaries(|call| call.subtree_time);
    let sum: (&str, Aggregate) = ("sum", |summary| Some(summary.sum as f64));
    for (aggregate, value) in AGGREGATES.into_iter().chain([sum]) {
        for (kind, summaries) in [("direct", &direct), ("subtree", &subtree)] {
            let values = summaries.iter().map(|summary| summary.as_ref().and_then(value).map(us));
            frame.float(&format!("total_{kind}_kernel_time_{aggregate}"), values);
        }
    }
}

fn append_overlap_columns(frame: &mut FrameBuilder, analysis: &Analysis, groups: &[Group<'_>]) {
    let list = |group: &Group<'_>| {
        KernelList::summarise(analysis.trace(), group.overlaps.iter().map(|overlap| &overlap.kernels[..]))
    };
    let lists: Vec<KernelList> = groups.iter().map(list).collect();
    frame.text("overlapping_kernels_details_summary", lists.iter().map(|list| Some(list.details(analysis))));
    frame.text("trunc_overlapping_kernels_details", lists.iter().map(|list| list.shortened(analysis)));
    // Shares are rounded to hundredths, so their statistics are exact on integers.
    let hundredths = |group: &Group<'_>| -> Vec<i64> {
        group
            .overlaps
            .iter()
            .filter_map(|overlap| overlap.share)
            .map(|share| (share * 100.0).round() as i64)
            .collect()
    };
    let summaries: Vec<Option<Summary>> =
        groups.iter().map(|group| Summary::of(&hundredths(group))).collect();
    for (aggregate, value) in AGGREGATES {
        let values =
            summaries.iter().map(|summary| summary.as_ref().and_then(value).map(|share| share / 100.0));
        frame.float(&format!("overlap_pct_{aggregate}"), values);
    }
}

fn kernels_of(analysis: &Analysis, group: &Group<'_>) -> KernelList {
    let trace = analysis.trace();
    let lists: Vec<Vec<ListedKernel>> = group
        .calls
        .iter()
        .map(|call| {
            analysis.launchers.kernels(call).iter().map(|&kernel| ListedKernel::of(trace, kernel)).collect()
        })
        .collect();
    KernelList::summarise(trace, lists.iter().map(Vec::as_slice))
}
