//! Calls of the runtime and other libraries by function.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::Summary;
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::rocprof::{Domain, Profile};
use trace_ingest::{StringId, StringTable};

use super::callers::Callers;
use super::statistics::{MAX, MEAN, MEDIAN, MIN, STD, TOTAL, append_durations, ms};
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::{FrameBuilder, percent};
use crate::rocprof::RocprofAnalysis;
use crate::sheet::{ChartShape, Sheet, SheetChart};

/// One row per library and function.
pub(in crate::rocprof) const SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "api_summary",
    current_name: "api_summary",
    description: "Calls of libraries by library and function, most time first within a library; the program's markers are in marker_ranges.",
    columns: &[
        Column::new(
            "domain",
            ColumnKind::Text,
            "Library: HIP, HSA, RCCL, ROCDECODE, ROCJPEG, or what the profiler calls another.",
        ),
        Column::new("function", ColumnKind::Text, "Function."),
        Column::new("Count", ColumnKind::Count, "Calls."),
        TOTAL,
        MEAN,
        MEDIAN,
        STD,
        MIN,
        MAX,
        Column::new(
            "Percentage (%)",
            ColumnKind::Number(Unit::Percent),
            "Share of the time of all calls of the library, in percent. Calls of one library may stand in calls of another, and threads call at once.",
        ),
        Column::new(
            "Cumulative Percentage (%)",
            ColumnKind::Number(Unit::Percent),
            "Sum of Percentage (%) over this row and all above it of the same library, in percent.",
        ),
        Column::new(
            "GPU Events",
            ColumnKind::Count,
            "Kernels and copies that the calls set off, by process and correlation id.",
        ),
        Column::new(
            "GPU Time (ms)",
            ColumnKind::Number(Unit::Milliseconds),
            "Sum of the durations of these in ms.",
        ),
    ],
    chart: Some(SheetChart {
        title: "Time in library calls",
        categories: "function",
        values: TOTAL.name,
        axis: "time in calls (ms)",
        shape: ChartShape::Bars(15),
    }),
    build,
};

/// Library; of those without a domain of their own, what the profiler calls it.
type Library = (Domain, StringId);

#[derive(Default)]
struct Function {
    durations: Vec<i64>,
    gpu_events: i64,
    gpu_time: i64,
}

fn library_name(strings: &StringTable, (domain, kind): Library) -> &str {
    match domain {
        Domain::Hip => "HIP",
        Domain::Hsa => "HSA",
        Domain::Rccl => "RCCL",
        Domain::Rocdecode => "ROCDECODE",
        Domain::Rocjpeg => "ROCJPEG",
        Domain::Marker | Domain::Other => strings.get(kind),
    }
}

fn functions(profile: &Profile) -> HashMap<(Library, StringId), Function> {
    let key = |call: u32| {
        let call = &profile.calls[call as usize];
        let kind = if call.domain == Domain::Other { call.kind } else { StringId::EMPTY };
        ((call.domain, kind), call.name)
    };
    let mut functions: HashMap<(Library, StringId), Function> = HashMap::new();
    for (position, call) in (0_u32..).zip(&profile.calls) {
        if call.domain != Domain::Marker {
            functions.entry(key(position)).or_default().durations.push(call.duration());
        }
    }
    let callers = Callers::of(profile);
    let kernels = profile.dispatches.iter().map(|kernel| kernel.duration()).zip(callers.dispatches);
    let copies = profile.copies.iter().map(|copy| copy.duration()).zip(callers.copies);
    for (duration, call) in kernels.chain(copies) {
        let Some(call) = call else { continue };
        let function = functions.entry(key(call)).or_default();
        function.gpu_events += 1;
        function.gpu_time = function.gpu_time.saturating_add(duration);
    }
    functions
}

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    let profile = analysis.profile();
    let mut rows: Vec<(Library, &str, Summary, Function)> = functions(profile)
        .into_iter()
        .filter_map(|((library, name), function)| {
            let durations = Summary::of(&function.durations)?;
            Some((library, profile.strings.get(name), durations, function))
        })
        .collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let domain = |library| library_name(&profile.strings, library);
    rows.sort_by_key(|&(library, name, durations, _)| {
        (library.0, domain(library), Reverse(durations.sum), name)
    });
    let mut totals: BTreeMap<Library, i64> = BTreeMap::new();
    let running: Vec<i64> = rows
        .iter()
        .map(|&(library, _, durations, _)| {
            let total = totals.entry(library).or_default();
            *total = total.saturating_add(durations.sum);
            *total
        })
        .collect();
    let total = |library: &Library| totals.get(library).copied().unwrap_or_default();

    let mut frame = FrameBuilder::default();
    frame.text("domain", rows.iter().map(|row| Some(domain(row.0))));
    frame.text("function", rows.iter().map(|row| Some(row.1)));
    frame.integer("Count", rows.iter().map(|row| Some(row.2.count as i64)));
    append_durations(&mut frame, &rows.iter().map(|row| row.2).collect::<Vec<_>>());
    frame.float("Percentage (%)", rows.iter().map(|row| percent(row.2.sum, total(&row.0))));
    let cumulative = rows.iter().zip(running).map(|(row, running)| percent(running, total(&row.0)));
    frame.float("Cumulative Percentage (%)", cumulative);
    frame.integer("GPU Events", rows.iter().map(|row| Some(row.3.gpu_events)));
    frame.float("GPU Time (ms)", rows.iter().map(|row| Some(ms(row.3.gpu_time))));
    frame.finish().map(Some)
}
