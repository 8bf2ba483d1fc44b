//! `api_kernel_summary`: HIP calls with what they set off: time of the call, in the queue, and of the kernel.

use gpu_timeline::Summary;
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::StringId;

use super::api_kernel_pairs::Pairs;
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::analysis::RocprofAnalysis;
use crate::sheet::Sheet;

const fn median(name: &'static str) -> Column {
    Column::new(name, ColumnKind::Number(Unit::One), "The same, median in ns.")
}

const fn least(name: &'static str) -> Column {
    Column::new(name, ColumnKind::Count, "The same, least in ns.")
}

const fn most(name: &'static str) -> Column {
    Column::new(name, ColumnKind::Count, "The same, most in ns.")
}

const fn deviation(name: &'static str) -> Column {
    Column::new(name, ColumnKind::Number(Unit::One), "The same, standard deviation of a population in ns.")
}

pub(super) static SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "api_kernel_summary",
    current_name: "api_kernel_summary",
    description: "HIP calls that launch kernels or copies, by thread, GPU, function and kernel, with the time of the call, in the queue, and of the kernel. Call and kernel belong together by process and correlation number.",
    columns: &[
        Column::new("PID", ColumnKind::Identifier, "Process of the calls; 0 where the profile does not say."),
        Column::new("TID", ColumnKind::Identifier, "Thread of the calls."),
        Column::new(
            "DevId",
            ColumnKind::Identifier,
            "Number of the GPU as in category_summary; 0 where it is not known.",
        ),
        Column::new("Count", ColumnKind::Count, "Calls, each with each of its kernels that count."),
        Column::new("QCount", ColumnKind::Count, "Those with a kernel."),
        Column::new(
            "TAvg_ns",
            ColumnKind::Number(Unit::One),
            "A + Q + K of calls with a kernel, mean in ns; as all such columns 0 when there are none.",
        ),
        median("TMed_ns"),
        least("TMin_ns"),
        most("TMax_ns"),
        deviation("TStdDev_ns"),
        Column::new("AAvg_ns", ColumnKind::Number(Unit::One), "Duration of the call, mean in ns."),
        median("AMed_ns"),
        least("AMin_ns"),
        most("AMax_ns"),
        deviation("AStdDev_ns"),
        Column::new(
            "QAvg_ns",
            ColumnKind::Number(Unit::One),
            "From the end of the call to the start of its kernel, 0 for kernels that started before, mean in ns.",
        ),
        median("QMed_ns"),
        least("QMin_ns"),
        most("QMax_ns"),
        deviation("QStdDev_ns"),
        Column::new("KAvg_ns", ColumnKind::Number(Unit::One), "Duration of the kernel or copy, mean in ns."),
        median("KMed_ns"),
        least("KMin_ns"),
        most("KMax_ns"),
        deviation("KStdDev_ns"),
        Column::new("API Name", ColumnKind::Text, "HIP function."),
        Column::new(
            "Kernel Name",
            ColumnKind::Text,
            "Kernel, or kind of copy; empty for calls without one, which are there with --include_nonlaunch_apis only.",
        ),
    ],
    chart: None,
    build,
};

/// What makes a row: process number, thread, GPU, function, position of the kernel's name.
type Key = (i64, i64, u32, StringId, Option<u32>);

/// Times of a row, in nanoseconds.
#[derive(Default)]
struct Times {
    total: Vec<i64>,
    call: Vec<i64>,
    queue: Vec<i64>,
    kernel: Vec<i64>,
}

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    let Some(options) = &analysis.options().pftrace else { return Ok(None) };
    let profile = analysis.profile();
    let Pairs { pairs, names, .. } = analysis.pftrace_records().pairs(analysis, options);
    let mut groups: HashMap<Key, Times> = HashMap::new();
    for pair in pairs {
        let pid = profile.processes.get(pair.process as usize).and_then(|process| process.pid).unwrap_or(0);
        let kernel = pair.work.map(|work| work.name);
        let times = groups.entry((pid, pair.thread, pair.device, pair.function, kernel)).or_default();
        times.call.push(pair.call);
        if let Some(work) = pair.work {
            times.total.push(pair.call + work.queue + work.kernel);
            times.queue.push(work.queue);
            times.kernel.push(work.kernel);
        }
    }
    let kernel_name = |kernel: Option<u32>| kernel.map_or("", |name| names[name as usize].as_str());
    let mut rows: Vec<(Key, Times)> = groups.into_iter().collect();
    rows.sort_unstable_by_key(|&((pid, thread, device, function, kernel), _)| {
        // Calls without a kernel stand before those of a kernel without a name.
        (pid, thread, device, profile.text(function), kernel_name(kernel), kernel)
    });

    let mut frame = FrameBuilder::default();
    frame.integer("PID", rows.iter().map(|((pid, ..), _)| Some(*pid)));
    frame.integer("TID", rows.iter().map(|((_, thread, ..), _)| Some(*thread)));
    frame.integer("DevId", rows.iter().map(|((_, _, device, ..), _)| Some(i64::from(*device))));
    frame.integer("Count", rows.iter().map(|(_, times)| Some(times.call.len() as i64)));
    frame.integer("QCount", rows.iter().map(|(_, times)| Some(times.kernel.len() as i64)));
    write_statistics(&mut frame, "T", rows.iter().map(|(_, times)| &times.total));
    write_statistics(&mut frame, "A", rows.iter().map(|(_, times)| &times.call));
    write_statistics(&mut frame, "Q", rows.iter().map(|(_, times)| &times.queue));
    write_statistics(&mut frame, "K", rows.iter().map(|(_, times)| &times.kernel));
    frame.text("API Name", rows.iter().map(|((.., function, _), _)| Some(profile.text(*function))));
    frame.text("Kernel Name", rows.iter().map(|((.., kernel), _)| Some(kernel_name(*kernel))));
    frame.finish().map(Some)
}

/// The columns of one time; 0 in rows without values.
fn write_statistics<'a>(frame: &mut FrameBuilder, time: &str, rows: impl Iterator<Item = &'a Vec<i64>>) {
    let rows: Vec<Option<Summary>> = rows.map(|times| Summary::of(times)).collect();
    let float = |of: fn(&Summary) -> f64| rows.iter().map(move |row| Some(row.as_ref().map_or(0.0, of)));
    let integer = |of: fn(&Summary) -> i64| rows.iter().map(move |row| Some(row.as_ref().map_or(0, of)));
    frame.float(&format!("{time}Avg_ns"), float(|row| row.mean));
    frame.float(&format!("{time}Med_ns"), float(|row| row.median));
    frame.integer(&format!("{time}Min_ns"), integer(|row| row.min));
    frame.integer(&format!("{time}Max_ns"), integer(|row| row.max));
    frame.float(&format!("{time}StdDev_ns"), float(|row| row.population_std));
}
