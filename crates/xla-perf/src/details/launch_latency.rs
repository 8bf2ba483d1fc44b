//! How long kernels took to start after the host launched them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::Summary;

use tree_perf::{Column, ColumnKind, Unit};
use tree_perf::FrameBuilder;
use crate::JaxAnalysis;
use tree_perf::Sheet;

/// One row per kernel and kind of call that launches it.
pub(crate) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "launch_latency",
    current_name: "launch_latency",
    description: "Time from the host's launch to the start on the GPU, by kernel and launching call, the largest sum first; what no call is known to have launched is left out.",
    columns: &[
        Column::new("name", ColumnKind::Text, "Kernel, copy or fill."),
        Column::new(
            "launched_by",
            ColumnKind::Text,
            "The host's call with the same correlation id; some profilers give it the kernel's name.",
        ),
        Column::new("count", ColumnKind::Count, "Launches."),
        Column::new(
            "latency_mean_us",
            ColumnKind::Number(Unit::Microseconds),
            "Start on the GPU less start of the call in µs, mean: the time to launch and to wait for earlier work of the stream.",
        ),
        Column::new("latency_median_us", ColumnKind::Number(Unit::Microseconds), "The same, median."),
        Column::new(
            "latency_min_us",
            ColumnKind::Number(Unit::Microseconds),
            "The same, least: about what a launch costs when the GPU is free.",
        ),
        Column::new("latency_max_us", ColumnKind::Number(Unit::Microseconds), "The same, largest."),
        Column::new(
            "latency_std_us",
            ColumnKind::Number(Unit::Microseconds),
            "Standard deviation (of a sample, n − 1) of the same; empty for one launch.",
        ),
        Column::new(
            "call_mean_us",
            ColumnKind::Number(Unit::Microseconds),
            "Duration of the call in µs, mean.",
        ),
        Column::new(
            "queued_mean_us",
            ColumnKind::Number(Unit::Microseconds),
            "Start on the GPU less end of the call in µs, mean; negative where the GPU began before the call returned.",
        ),
    ],
    chart: None,
    build: |analysis| {
        let events = analysis.trace().events();
        let mut groups: BTreeMap<(&str, &str), [Vec<i64>; 3]> = BTreeMap::new();
        for kernel in analysis.device_events() {
            let Some(launch) = kernel.launch else { continue };
            let names = (analysis.trace().name(kernel.event), analysis.trace().name(launch));
            let [latency, call, queued] = groups.entry(names).or_default();
            let start = events.start(kernel.event);
            latency.push(start.saturating_sub(events.start(launch)));
            call.push(events.duration(launch));
            queued.push(start.saturating_sub(events.end(launch)));
        }
        let mut rows: Vec<_> = groups
            .into_iter()
            .filter_map(|(names, [latency, call, queued])| {
                Some((names, Summary::of(&latency)?, Summary::of(&call)?, Summary::of(&queued)?))
            })
            .collect();
        if rows.is_empty() {
            return Ok(None);
        }
        rows.sort_by_key(|(_, latency, ..)| Reverse(latency.sum));
        let us = |time: f64| Some(time / analysis.trace().time_unit().per_microsecond() as f64);
        let mut frame = FrameBuilder::default();
        frame.text("name", rows.iter().map(|((kernel, _), ..)| Some(kernel)));
        frame.text("launched_by", rows.iter().map(|((_, launch), ..)| Some(launch)));
        frame.integer("count", rows.iter().map(|(_, latency, ..)| Some(latency.count as i64)));
        frame.float("latency_mean_us", rows.iter().map(|(_, latency, ..)| us(latency.mean)));
        frame.float("latency_median_us", rows.iter().map(|(_, latency, ..)| us(latency.median)));
        frame.float("latency_min_us", rows.iter().map(|(_, latency, ..)| us(latency.min as f64)));
        frame.float("latency_max_us", rows.iter().map(|(_, latency, ..)| us(latency.max as f64)));
        frame.float("latency_std_us", rows.iter().map(|(_, latency, ..)| latency.sample_std.and_then(us)));
        frame.float("call_mean_us", rows.iter().map(|(_, _, call, _)| us(call.mean)));
        frame.float("queued_mean_us", rows.iter().map(|(.., queued)| us(queued.mean)));
        frame.finish().map(Some)
    },
};
