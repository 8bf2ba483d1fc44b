//! Where the time of the GPUs together went.

use gpu_timeline::{Interval, IntervalSet};
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::rocprof::SourceFormat;

use super::share;
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::analysis::RocprofAnalysis;
use crate::sheet::{ChartShape, Sheet, SheetChart};

/// One row per kind of time.
pub(in crate::rocprof) const SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "gpu_timeline",
    current_name: "gpu_timeline",
    description: "Where the time of the GPUs went, all of them together: one row per kind of time.",
    columns: &[
        Column::new(
            "type",
            ColumnKind::Text,
            "What the time is: total_time (from when the profiler was set up in the first process until it ended in the last; where the profile does not say, from the first start to the last end), kernel (kernels run), memory (memory is copied), busy_time (either), idle (neither). Busy and idle time add up to the total.",
        ),
        Column::new(
            "time ms",
            ColumnKind::Number(Unit::Milliseconds),
            "Length in ms of the union of the spans in question, over all GPUs together.",
        ),
        Column::new(
            "percent",
            ColumnKind::Number(Unit::Percent),
            "time ms as a share of total_time, in percent.",
        ),
    ],
    chart: Some(SheetChart {
        title: "GPU timeline",
        categories: "type",
        values: "time ms",
        axis: "time (ms)",
        shape: ChartShape::Stacked(&["busy_time", "idle"]),
    }),
    build,
};

/// What the timeline's total is.
pub(in crate::rocprof) struct Window {
    /// Its length in nanoseconds.
    total: i64,
    /// Whether it follows from the times of the processes.
    pub(in crate::rocprof) is_of_processes: bool,
}

/// The time of the processes, widened to all that ran; without such times the time from the first start to the last
/// end.
pub(in crate::rocprof) fn window(analysis: &RocprofAnalysis) -> Window {
    if is_of_reference(analysis) {
        let first = analysis.profile().processes.first();
        let [init, fini] = [first.and_then(|process| process.init), first.and_then(|process| process.fini)]
            .map(Option::unwrap_or_default);
        return Window { total: fini.saturating_sub(init), is_of_processes: true };
    }
    let processes = process_times(analysis);
    let spans = processes.into_iter().chain(records(analysis));
    let hull = spans.reduce(|hull, span| Interval::new(hull.start.min(span.start), hull.end.max(span.end)));
    Window { total: hull.map_or(0, Interval::length), is_of_processes: processes.is_some() }
}

/// Whether the total is that of the reference, which reads one format only: the time of the first process, however
/// little it says.
fn is_of_reference(analysis: &RocprofAnalysis) -> bool {
    analysis.options().parity && analysis.profile().source == SourceFormat::Json
}

/// How many kernels and copies lie outside of the time of the processes.
pub(in crate::rocprof) fn outside_process_times(analysis: &RocprofAnalysis) -> usize {
    let times = process_times(analysis).filter(|_| !is_of_reference(analysis));
    let Some(times) = times else { return 0 };
    records(analysis).filter(|span| span.start < times.start || span.end > times.end).count()
}

/// From when the profiler was set up in the first process until it ended in the last.
fn process_times(analysis: &RocprofAnalysis) -> Option<Interval> {
    let processes = &analysis.profile().processes;
    let init = processes.iter().filter_map(|process| process.init).min()?;
    let fini = processes.iter().filter_map(|process| process.fini).max()?;
    Some(Interval::new(init, fini)).filter(|times| !times.is_empty())
}

/// Spans of kernels and copies that have a length.
fn records(analysis: &RocprofAnalysis) -> impl Iterator<Item = Interval> {
    kernels(analysis).chain(copies(analysis)).filter(|span| !span.is_empty())
}

fn kernels(analysis: &RocprofAnalysis) -> impl Iterator<Item = Interval> {
    analysis.dispatches().map(|dispatch| Interval::new(dispatch.start, dispatch.end))
}

fn copies(analysis: &RocprofAnalysis) -> impl Iterator<Item = Interval> {
    analysis.copies().map(|copy| Interval::new(copy.start, copy.end))
}

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    let rows = times(analysis);
    let total = rows.first().map_or(0, |&(_, total)| total);
    let percent = |(at, &(_, time)): (usize, &(&str, i64))| match at {
        0 => 100.0,
        _ if total > 0 => share(time, total),
        _ => 0.0,
    };
    let mut frame = FrameBuilder::default();
    frame.text("type", rows.iter().map(|&(kind, _)| Some(kind)));
    frame.float("time ms", rows.iter().map(|&(_, time)| Some(time as f64 / 1e6)));
    frame.float("percent", rows.iter().enumerate().map(|row| Some(percent(row))));
    frame.finish().map(Some)
}

/// The rows: name and time in nanoseconds. The reference has none where no kernel ran, whatever was copied.
fn times(analysis: &RocprofAnalysis) -> Vec<(&'static str, i64)> {
    let has_kernels = analysis.dispatches().next().is_some();
    if !has_kernels && (analysis.options().parity || analysis.copies().next().is_none()) {
        return Vec::new();
    }
    let total = window(analysis).total;
    let kernel: IntervalSet = kernels(analysis).collect();
    let memory: IntervalSet = copies(analysis).collect();
    let busy = kernel.union(&memory).total_length();
    vec![
        ("total_time", total),
        ("kernel", kernel.total_length()),
        ("memory", memory.total_length()),
        ("busy_time", busy),
        ("idle", total.saturating_sub(busy).max(0)),
    ]
}
