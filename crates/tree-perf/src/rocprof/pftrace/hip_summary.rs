//! `hip_summary`: time of HIP calls by function.

use std::cmp::Reverse;

use gpu_timeline::Summary;
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::StringId;
use trace_ingest::rocprof::{Call, Domain, Profile};

use super::options::PftraceOptions;
use super::timing_columns::{self as timing, Timing};
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::analysis::RocprofAnalysis;
use crate::sheet::Sheet;

const CALLS: Column = Column::new("Instances", ColumnKind::Count, "Calls of the row.");

pub(super) static SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "hip_summary",
    current_name: "hip_summary",
    description: "HIP calls that took at least --min_event_ns by function, most time first.",
    columns: &[
        timing::TIME,
        timing::TOTAL_TIME,
        CALLS,
        timing::AVG,
        timing::MED,
        timing::MIN,
        timing::MAX,
        timing::STD_DEV,
        Column::new(
            "Stream",
            ColumnKind::Identifier,
            "HIP stream, 0 where the profile does not say; with --hip_summary_group name+stream or name+stream+op only.",
        ),
        Column::new(
            "Op",
            ColumnKind::Identifier,
            "Number of the function in the profiler's table, 0 where the profile does not say; with --hip_summary_group name+op or name+stream+op only.",
        ),
        Column::new("Name", ColumnKind::Text, "Function."),
        Column::new(
            "Time %",
            ColumnKind::Number(Unit::Percent),
            "Total time over that of all rows, in percent.",
        ),
        timing::TOTAL_TIME_NS,
        timing::AVG_NS,
        timing::MED_NS,
        timing::MIN_NS,
        timing::MAX_NS,
        timing::STD_DEV_NS,
    ],
    chart: None,
    build,
};

/// What makes a row; 0 for what does not.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    name: StringId,
    stream: u64,
    operation: u32,
}

/// HIP calls with a length of threads that were asked for.
pub(super) fn hip_calls<'a>(
    profile: &'a Profile,
    options: &PftraceOptions,
) -> impl Iterator<Item = &'a Call> + use<'a> {
    let threads = options.min_tid..=options.max_tid;
    let counts = move |call: &&Call| {
        call.domain == Domain::Hip && call.duration() > 0 && threads.contains(&call.thread)
    };
    profile.calls.iter().filter(counts)
}

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    let options = analysis.options().pftrace.as_ref();
    let Some(options) = options.filter(|options| !options.no_hip_summary) else { return Ok(None) };
    let profile = analysis.profile();
    let (by_stream, by_operation) =
        (options.hip_summary_group.by_stream(), options.hip_summary_group.by_operation());

    let mut positions = HashMap::new();
    let mut groups: Vec<(Key, Vec<i64>)> = Vec::new();
    for call in hip_calls(profile, options).filter(|call| call.duration() >= options.min_event_ns) {
        let stream = if by_stream { call.stream } else { 0 };
        let operation = if by_operation { call.operation } else { 0 };
        let key = Key { name: call.name, stream, operation };
        let position = *positions.entry(key).or_insert(groups.len());
        match groups.get_mut(position) {
            Some((_, durations)) => durations.push(call.duration()),
            None => groups.push((key, vec![call.duration()])),
        }
    }
    let mut rows: Vec<(Summary, Key)> =
        groups.into_iter().filter_map(|(key, durations)| Some((Summary::of(&durations)?, key))).collect();
    // Rows are in the order of their first calls, which decides between equal times.
    rows.sort_by_key(|(summary, _)| Reverse(summary.sum));
    let baseline = rows.iter().map(|(summary, _)| summary.sum).sum();

    let times = Timing::new(rows.iter().map(|&(summary, _)| summary).collect(), baseline);
    let mut frame = FrameBuilder::default();
    times.write_readable(&mut frame, CALLS.name);
    if by_stream {
        // A stream beyond the range of the column has no number.
        frame.integer("Stream", rows.iter().map(|(_, key)| i64::try_from(key.stream).ok()));
    }
    if by_operation {
        frame.integer("Op", rows.iter().map(|(_, key)| Some(i64::from(key.operation))));
    }
    frame.text("Name", rows.iter().map(|(_, key)| Some(profile.text(key.name))));
    times.write_exact(&mut frame);
    frame.finish().map(Some)
}
