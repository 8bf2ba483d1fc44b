//! Device time by operator and arguments.

use std::borrow::Cow;

use gpu_timeline::Summary;
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::{EventId, StringId};
use trace2tree::TraceTree;

use crate::analysis::{Analysis, OverlapIndex};
use crate::call_key::{CallKey, append_key_columns};
use crate::call_overlap::{CallOverlap, NameLists, overlap_of};
use crate::call_stack::{call_stack_text, entry_point};
use crate::column::{Column, ColumnKind, Unit, shared};
use crate::frame::FrameBuilder;
use crate::launchers::Launcher;
use crate::notice::Notice;
use crate::parent_module::module_call_stack;
use crate::places::Places;
use crate::sheet::Sheet;
use operator_sheets::columns::overlap;
use operator_sheets::{KernelList, ListedKernel};

macro_rules! columns {
    ([$($before:expr),*], [$($after:expr),*]) => {
        &[
            shared::OP_NAME,
            $($before,)*
            shared::OP_CATEGORY,
            shared::PARENT_MODULE,
            shared::PROCESS_NAME,
            shared::PROCESS_LABEL,
            shared::THREAD_NAME,
            shared::INPUT_DIMS,
            shared::INPUT_TYPE,
            shared::INPUT_STRIDES,
            shared::CONCRETE_INPUTS,
            Column::new("num_kernels", ColumnKind::Count, "Kernels that one call launched itself; with --group_by_num_kernels only."),
            shared::IS_RECOMPUTE,
            Column::new("operation_count", ColumnKind::Count, "Calls with these arguments that launched device work."),
            Column::new("first_occurrence_time", ColumnKind::Number(Unit::Microseconds), "Start of the first of these calls in µs, counted from the first call of the sheet; with --include_first_occurrence_time only."),
            Column::new("total_direct_kernel_time_mean", ColumnKind::Number(Unit::Microseconds), "Mean over calls, in µs, of the union of the spans of the kernels that a call launched itself; communication kernels are left out."),
            Column::new("total_subtree_kernel_time_mean", ColumnKind::Number(Unit::Microseconds), "Mean over calls, in µs, of the union of the spans of all kernels below a call, communication included."),
            Column::new("total_direct_kernel_time_median", ColumnKind::Number(Unit::Microseconds), "Median over calls of the direct kernel time in µs."),
            Column::new("total_subtree_kernel_time_median", ColumnKind::Number(Unit::Microseconds), "Median over calls of the subtree kernel time in µs."),
            Column::new("total_direct_kernel_time_std", ColumnKind::Number(Unit::Microseconds), "Standard deviation (of a sample, n − 1) over calls of the direct kernel time in µs; empty for one call."),
            Column::new("total_subtree_kernel_time_std", ColumnKind::Number(Unit::Microseconds), "Standard deviation (of a sample, n − 1) over calls of the subtree kernel time in µs; empty for one call."),
            Column::new("total_direct_kernel_time_min", ColumnKind::Number(Unit::Microseconds), "Smallest direct kernel time of a call in µs."),
            Column::new("total_subtree_kernel_time_min", ColumnKind::Number(Unit::Microseconds), "Smallest subtree kernel time of a call in µs."),
            Column::new("total_direct_kernel_time_max", ColumnKind::Number(Unit::Microseconds), "Largest direct kernel time of a call in µs."),
            Column::new("total_subtree_kernel_time_max", ColumnKind::Number(Unit::Microseconds), "Largest subtree kernel time of a call in µs."),
            Column::new("total_direct_kernel_time_sum", ColumnKind::Number(Unit::Microseconds), "Sum over calls of the direct kernel time in µs."),
            Column::new("total_subtree_kernel_time_sum", ColumnKind::Number(Unit::Microseconds), "Sum over calls of the subtree kernel time in µs."),
            Column::new("ex_UID", ColumnKind::Identifier, "Index in the trace's event list of the first of these calls, to look at it with tracelens tree --uid."),
            shared::CALL_STACK,
            Column::new("kernel_details_summary", ColumnKind::Nested, "Kernels of a call, position by position, with count, total, mean, median, standard deviation (of a population, n), minimum and maximum over calls in µs; calls with another number of kernels than the first do not count."),
            Column::new("trunc_kernel_details", ColumnKind::Nested, "Name (cut at 64 characters), stream and mean duration (to 0.01 µs) of each kernel of kernel_details_summary."),
            $($after,)*
            Column::new("entry_point", ColumnKind::Text, "Python function through which the program reached the operator; with --include_call_stack only."),
            Column::new("call_stack_full", ColumnKind::Nested, "Frames from the outermost to the operator of the first of these calls; with --include_call_stack only."),
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
        [overlap::NAMES],
        [
            overlap::DETAILS,
            overlap::DETAILS_SHORT,
            Column::new(
                "overlap_pct_mean",
                ColumnKind::Number(Unit::One),
                "Mean over calls of the overlap: for each kernel the time that something ran beside it, summed and divided by the union of the call's kernels; 1 is full overlap, and kernels of a call that overlap each other can exceed it."
            ),
            Column::new(
                "overlap_pct_median",
                ColumnKind::Number(Unit::One),
                "Median over calls of the overlap."
            ),
            Column::new(
                "overlap_pct_std",
                ColumnKind::Number(Unit::One),
                "Standard deviation (of a sample, n − 1) over calls of the overlap; empty for one call."
            ),
            overlap::SHARE.min,
            overlap::SHARE.max
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

struct Group<'a> {
    key: CallKey<StringId>,
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
    if overlaps.is_none() {
        analysis.count_calls_outside_lists(|| calls_outside_lists(analysis, &groups));
    }
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
    let keys: Vec<&CallKey<StringId>> = groups.iter().map(|group| &group.key).collect();
    let text = |name: &StringId| Cow::Borrowed(analysis.trace().text(*name));
    let name_lists = overlaps.map(|_| &name_lists);
    append_key_columns(&mut frame, analysis, &keys, text, &places, name_lists);
    frame.integer("operation_count", groups.iter().map(|group| Some(group.calls.len() as i64)));
    if options.include_first_occurrence_time {
        let since_first = |group| analysis.us(first_occurrence(analysis, group) - first_start);
        frame.float("first_occurrence_time", groups.iter().map(|group| Some(since_first(group))));
    }
    append_time_columns(&mut frame, analysis, &groups);
    frame.integer("ex_UID", groups.iter().map(|group| Some(i64::from(events.uid(group.calls[0].event)))));
    if options.group_by_parent_module {
        let stack = |group: &Group<'_>| module_call_stack(analysis.tree(), group.calls[0].event);
        frame.text("call_stack", groups.iter().map(|group| Some(stack(group))));
    }

    let lists: Vec<KernelList> = groups.iter().map(|group| kernels_of(analysis, group)).collect();
    frame.text(
        "kernel_details_summary",
        lists.iter().map(|list| Some(list.details(analysis.trace()).to_string())),
    );
    frame.text(
        "trunc_kernel_details",
        lists.iter().map(|list| list.shortened(analysis.trace()).map(|list| list.to_string())),
    );
    if overlaps.is_some() {
        append_overlap_columns(&mut frame, analysis, &groups);
    }
    if options.include_call_stack {
        let tree = analysis.tree();
        let of = |text: fn(&TraceTree, EventId, &[EventId]) -> String| {
            let cell = move |(group, list): (&Group<'_>, &KernelList)| {
                let kernels = list.in_order(analysis.launchers.kernels(group.calls[0]));
                Some(text(tree, group.calls[0].event, &kernels))
            };
            groups.iter().zip(&lists).map(cell)
        };
        frame.text("entry_point", of(entry_point));
        frame.text("call_stack_full", of(call_stack_text));
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
    let mut index: HashMap<CallKey<StringId>, usize> = HashMap::new();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for call in analysis.launchers.iter() {
        let (overlapping, overlap) = match overlaps {
            None => (None, CallOverlap::default()),
            Some(overlaps) => overlap_of(analysis, overlaps, analysis.launchers.kernels(call), name_lists),
        };
        let key = CallKey::of(analysis, call.event, events.name(call.event), call.category.clone(), places)
            .with_module(analysis, call.event, places)
            .with_kernels(analysis, analysis.launchers.kernels(call).len())
            .with_overlapping(overlapping);
        let at = *index.entry(key.clone()).or_insert_with(|| {
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
    let calls = analysis.count_calls_outside_lists(|| {
        let groups = groups(analysis, None, &mut Places::new(analysis), &mut NameLists::default());
        calls_outside_lists(analysis, &groups)
    });
    (calls > 0).then(|| Notice::CallsOutsideKernelLists { calls, of: analysis.launchers.iter().len() })
}

/// Calls with another number of kernels than the first of their group.
fn calls_outside_lists(analysis: &Analysis, groups: &[Group<'_>]) -> usize {
    let kernels = |call: &Launcher| analysis.launchers.kernels(call).len();
    let outside = |group: &Group<'_>| {
        let listed = kernels(group.calls[0]);
        group.calls.iter().filter(|call| kernels(call) != listed).count()
    };
    groups.iter().map(outside).sum()
}

fn first_occurrence(analysis: &Analysis, group: &Group<'_>) -> i64 {
    let events = analysis.trace().events();
    group.calls.iter().map(|call| events.start(call.event)).min().unwrap_or(0)
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
        KernelList::summarise(
            analysis.trace(),
            group.overlaps.iter().map(|overlap| &overlap.kernels[..]),
            ListedKernel::clone,
        )
    };
    let lists: Vec<KernelList> = groups.iter().map(list).collect();
    frame.text(
        "overlapping_kernels_details_summary",
        lists.iter().map(|list| Some(list.details(analysis.trace()).to_string())),
    );
    frame.text(
        "trunc_overlapping_kernels_details",
        lists.iter().map(|list| list.shortened(analysis.trace()).map(|list| list.to_string())),
    );
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
    KernelList::of_events(analysis.trace(), group.calls.iter().map(|call| analysis.launchers.kernels(call)))
}
