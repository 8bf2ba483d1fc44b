//! Every device event once, under the operator that accounts for it, with the figures of its model.

mod columns;
mod groups;

use std::fmt::Write;

use perf_models::{ComputeSpec, Parameter};
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::EventId;
use trace2tree::TraceTree;

use crate::analysis::Analysis;
use crate::call_key::{CallKey, append_key_columns};
use crate::call_overlap::{CallOverlap, NameLists, append_overlap};
use crate::call_stack::{call_stack_text, entry_point};
use crate::frame::FrameBuilder;
use crate::places::Places;
use crate::sheet::Sheet;
use crate::unified::{RowName, UnifiedRow};
use gpu_timeline::Spread;
use operator_sheets::KernelList;
use operator_sheets::{AGGREGATES, Figures};

use columns::COLUMNS;
pub(crate) use groups::{Group, grouped_rows, sort};

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

fn build(analysis: &Analysis, with_overlap: bool) -> PolarsResult<Option<DataFrame>> {
    let rows = analysis.unified_rows();
    if analysis.is_gpu_only() || rows.is_empty() {
        return Ok(None);
    }
    let (trace, options) = (analysis.trace(), analysis.options());
    let events = trace.events();
    let mut places = Places::new(analysis);
    let mut name_lists = NameLists::default();
    let mut groups = grouped_rows(analysis, rows, with_overlap, &mut places, &mut name_lists);
    sort(analysis, &mut groups);

    let mut frame = FrameBuilder::default();
    let keys: Vec<&CallKey<RowName>> = groups.iter().map(|group| &group.key).collect();
    let name_lists = with_overlap.then_some(&name_lists);
    append_key_columns(&mut frame, analysis, &keys, |name| name.text(analysis), &places, name_lists);
    frame.integer("ex_UID", groups.iter().map(|group| Some(i64::from(events.uid(group.first())))));
    frame.integer("operation_count", groups.iter().map(|group| Some(group.rows.len() as i64)));
    let host_us = |row: &UnifiedRow| host_time(analysis, row).map(|time| analysis.us(time));
    let host: Vec<Spread> = groups.iter().map(|group| group.spread(host_us)).collect();
    frame.float("total_duration_us", groups.iter().map(|group| total_host_us(analysis, group)));
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
    frame.text(
        "kernel_details_summary",
        lists.iter().map(|list| Some(list.details(analysis.trace()).to_string())),
    );
    frame.text(
        "trunc_kernel_details",
        lists.iter().map(|list| list.shortened(analysis.trace()).map(|list| list.to_string())),
    );
    if with_overlap {
        let overlaps: Vec<Vec<&CallOverlap>> =
            groups.iter().map(|group| group.overlaps.iter().collect()).collect();
        append_overlap(&mut frame, analysis, "overlapping_kernels_details_summary", &overlaps);
    }
    let parameters = |group: &Group<'_>| {
        group
            .rows
            .iter()
            .find_map(|row| row.figures.and(row.evaluated(analysis)))
            .map(|evaluated| dict(&evaluated.parameters))
    };
    frame.text("perf_params", groups.iter().map(parameters));
    frame.flag("has_perf_model", groups.iter().map(|group| group.rows[0].has_model()));
    frame.text("reason", groups.iter().map(|group| group.rows.iter().find_map(|row| row.reason(analysis))));
    let assumption = |group: &Group<'_>| {
        group.rows.iter().find_map(|row| row.figures.and(row.evaluated(analysis))?.assumption.clone())
    };
    frame.text("note", groups.iter().map(assumption));
    if options.include_call_stack {
        let tree = analysis.tree();
        let of = |text: fn(&TraceTree, EventId, &[EventId]) -> String| {
            let cell = move |(group, list): (&Group<'_>, &KernelList)| {
                Some(text(tree, group.first(), &list.in_order(&group.rows[0].charged.device_events)))
            };
            groups.iter().zip(&lists).map(cell)
        };
        frame.text("entry_point", of(entry_point));
        frame.text("call_stack_full", of(call_stack_text));
    }
    frame.shares(groups.iter().map(Group::time));
    frame.finish().map(Some)
}

/// Time that the operator took on the host; `None` for one that was inserted around a device event (it has the
/// correlation id of that, and no span of its own), and for one of a captured graph, which the host did not run.
fn host_time(analysis: &Analysis, row: &UnifiedRow) -> Option<i64> {
    let operator = row.charged.operator;
    let ran = !is_around_device_event(analysis, operator) && !is_of_capture(analysis, operator);
    ran.then(|| analysis.trace().events().duration(operator))
}

/// Sum of [`host_time`]; `None` if all calls of the row ran when a graph was captured.
fn total_host_us(analysis: &Analysis, group: &Group<'_>) -> Option<f64> {
    let ran = group.rows.iter().any(|row| !is_of_capture(analysis, row.charged.operator));
    ran.then(|| analysis.us(group.rows.iter().filter_map(|row| host_time(analysis, row)).sum()))
}

fn is_around_device_event(analysis: &Analysis, operator: EventId) -> bool {
    let is_inserted = analysis.tree().is_pseudo_operator(operator);
    is_inserted && analysis.trace().events().external_id(operator).is_some()
}

/// Whether the operator, or the one that it was inserted for, ran when a graph was captured.
fn is_of_capture(analysis: &Analysis, operator: EventId) -> bool {
    let tree = analysis.tree();
    let is_inserted = tree.is_pseudo_operator(operator) && !is_around_device_event(analysis, operator);
    let around = tree.parent(operator).filter(|_| is_inserted);
    tree.is_captured(around.unwrap_or(operator))
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
    frame.statistics("TB/s", &bandwidth, &["mean", "std"]);
    frame.statistics("TFLOPS/s", &rate, &["mean", "std"]);
    frame.statistics("Kernel Time (µs)", &kernel, &["mean", "std"]);
    frame.float("Kernel Time (µs)_sum", groups.iter().map(|group| Some(analysis.us(group.time()))));
    let rest = ["median", "min", "max"];
    frame.statistics("duration_us", host, &rest);
    frame.statistics("TB/s", &bandwidth, &rest);
    frame.statistics("TFLOPS/s", &rate, &rest);
    if analysis.architecture().is_some() {
        let least = |figures: &Figures| Some(figures.roofline?.time_us());
        frame.float("Roofline Time (µs)_first", groups.iter().map(|group| group.figure(least)));
        frame.statistics("Pct Roofline", &spreads(Figures::percent_of_roofline), &AGGREGATES);
    }
    frame.statistics("Kernel Time (µs)", &kernel, &rest);
}

/// The device events of the calls of a row, position by position.
fn kernels(analysis: &Analysis, group: &Group<'_>) -> KernelList {
    let calls = group.rows.iter().map(|row| row.charged.device_events.as_slice());
    KernelList::of_events(analysis.trace(), calls)
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
