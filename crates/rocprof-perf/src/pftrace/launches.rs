//! `api_kernel_summary` and `memory_copy_by_copy_bytes`: HIP calls with what they launched, and memory copies by size.

use std::collections::BTreeMap;

use gpu_timeline::{SortFew, Summary};
use hashbrown::HashMap;
use sheets::ColumnKind::{Number, Whole};
use sheets::Unit::{self, Bytes, Nanoseconds};
use sheets::{Column, ColumnKind, Field, Role, Sheet};
use trace_ingest::StringId;
use trace_ingest::rocprof::{Agent, CopyDirection, MemoryCopy, Profile};

use super::hip_launches::HipLaunches;
use crate::analysis::RocprofAnalysis;

pub(super) fn api_kernel_summary<'a>() -> Sheet<'a, RocprofAnalysis> {
    let keys = [
        Column::identifier("PID", "Process of the calls; 0 if not recorded.")
            .field(|row: &Row<'_>| row.pid.into()),
        Column::identifier("TID", "Thread of the calls.").field(|row: &Row<'_>| row.thread.into()),
        Column::identifier("DevId", "GPU number as in category_summary; 0 if unknown.")
            .field(|row: &Row<'_>| row.device.into()),
        Column::count("Count", "Number of calls, each counted once per included kernel.")
            .field(|row: &Row<'_>| row.times.call.len().into()),
        Column::count("QCount", "Number of calls with a kernel.")
            .field(|row: &Row<'_>| row.times.kernel.len().into()),
    ];
    let names = [
        Column::text("API Name", "HIP function.").field(|row: &Row<'_>| row.function.into()),
        Column::text(
            "Kernel Name",
            "Kernel, or kind of copy; empty for calls without one, which are excluded by default.",
        )
        .field(|row: &Row<'_>| row.kernel_name.into()),
    ];
    let fields = keys
        .into_iter()
        .chain(statistics(
            ["TAvg_ns", "TMed_ns", "TMin_ns", "TMax_ns", "TStdDev_ns"],
            "launch",
            "Mean sum of call, queue and kernel time in ns, over calls with a kernel; 0 if there are none.",
            |row| row.spread[0].as_ref(),
        ))
        .chain(statistics(
            ["AAvg_ns", "AMed_ns", "AMin_ns", "AMax_ns", "AStdDev_ns"],
            "call",
            "Mean duration of the call in ns.",
            |row| row.spread[1].as_ref(),
        ))
        .chain(statistics(
            ["QAvg_ns", "QMed_ns", "QMin_ns", "QMax_ns", "QStdDev_ns"],
            "kernel",
            "Mean time in ns from the end of the call to the start of its kernel; a kernel that started earlier counts as 0.",
            |row| row.spread[2].as_ref(),
        ))
        .chain(statistics(
            ["KAvg_ns", "KMed_ns", "KMin_ns", "KMax_ns", "KStdDev_ns"],
            "kernel",
            "Mean duration of the kernel or copy in ns.",
            |row| row.spread[3].as_ref(),
        ))
        .chain(names);
    Sheet::with_context(
        "api_kernel_summary",
        "HIP calls that launch kernels or copies, by thread, GPU, function and kernel, with call, queue and kernel times. Calls and kernels are matched by process and correlation ID.",
        fields,
        |analysis| Some(((), rows(analysis)?)),
    )
}

/// The columns of one time, by these names, of what `one` says; 0 in rows without values.
fn statistics<'a>(
    [mean, median, min, max, deviation]: [&'static str; 5],
    one: &'static str,
    description: &'static str,
    times: for<'r> fn(&'r Row<'_>) -> Option<&'r Summary>,
) -> [Field<(), Row<'a>>; 5] {
    let number = |column: Column, statistic: fn(&Summary) -> f64| {
        column.per(one).field(move |row: &Row<'_>| times(row).map_or(0.0, statistic).into())
    };
    let whole = |column: Column, statistic: fn(&Summary) -> i64| {
        column.per(one).field(move |row: &Row<'_>| times(row).map_or(0, statistic).into())
    };
    let spread = |name, kind: fn(Unit) -> ColumnKind, description| {
        Column::new(name, kind(Nanoseconds), description).spread_of(mean)
    };
    [
        number(Column::new(mean, Number(Nanoseconds), description), |times| times.mean),
        number(spread(median, Number, "Median."), |times| times.median),
        whole(spread(min, Whole, "Minimum."), |times| times.min),
        whole(spread(max, Whole, "Maximum."), |times| times.max),
        number(spread(deviation, Number, "Population standard deviation (n)."), |times| times.population_std),
    ]
}

struct Row<'a> {
    pid: i64,
    thread: i64,
    device: u32,
    function: &'a str,
    kernel: Option<u32>,
    kernel_name: &'a str,
    times: Times,
    /// Of the times, in their order.
    spread: [Option<Summary>; 4],
}

/// Times of a row, in nanoseconds.
#[derive(Default)]
struct Times {
    total: Vec<i64>,
    call: Vec<i64>,
    queue: Vec<i64>,
    kernel: Vec<i64>,
}

fn rows(analysis: &RocprofAnalysis) -> Option<Vec<Row<'_>>> {
    let options = analysis.options().pftrace()?;
    let profile = analysis.profile();
    let HipLaunches { launches, names, .. } = analysis.hip_launches(options);
    let mut groups: HashMap<(i64, i64, u32, StringId, Option<u32>), Times> = HashMap::new();
    for launch in launches {
        let pid = profile.processes.get(launch.process as usize).and_then(|process| process.pid).unwrap_or(0);
        let kernel = launch.work.map(|work| work.name);
        let key = (pid, launch.thread, launch.device, launch.function, kernel);
        let times = groups.entry(key).or_default();
        times.call.push(launch.call.0);
        if let Some(work) = launch.work {
            times.total.push((launch.call + work.queue + work.kernel).0);
            times.queue.push(work.queue.0);
            times.kernel.push(work.kernel.0);
        }
    }
    let row = |((pid, thread, device, function, kernel), times): (_, Times)| Row {
        pid,
        thread,
        device,
        function: profile.text(function),
        kernel,
        kernel_name: kernel.map_or("", |name: u32| names[name as usize].as_str()),
        spread: [&times.total, &times.call, &times.queue, &times.kernel]
            .map(|times| Summary::from_values(times)),
        times,
    };
    let mut rows: Vec<Row<'_>> = groups.into_iter().map(row).collect();
    // Calls without a kernel stand before those of a kernel without a name.
    rows.sort_few_by_key(|row| (row.pid, row.thread, row.device, row.function, row.kernel_name, row.kernel));
    Some(rows)
}

/// Size of a copy, its direction, and how many there are.
type CopyRow = ((u64, String), i64);

pub(super) fn memory_copies<'a>() -> Sheet<'a, RocprofAnalysis> {
    let fields = [
        Column::new("copy_bytes", Whole(Bytes), "Copy size.").with_role(Role::Name).per("copy").field(|((bytes, _), _): &CopyRow| {
            i64::try_from(*bytes).unwrap_or(i64::MAX).into()
        }),
        Column::text("direction", "h2d with the destination GPU, d2h with the source GPU, d2d with both, or other. GPUs are numbered among all agents, CPUs first; ? if not recorded.").field(|((_, direction), _): &CopyRow| direction.as_str().into()),
        Column::count("count", "Number of copies.").field(|(_, count): &CopyRow| (*count).into()),
    ];
    Sheet::with_context(
        "memory_copy_by_copy_bytes",
        "Memory copies with a recorded size, by size and direction, smallest first.",
        fields,
        |analysis: &RocprofAnalysis| {
            analysis.options().pftrace()?;
            Some(((), copy_rows(analysis.profile())))
        },
    )
}

fn copy_rows(profile: &Profile) -> Vec<CopyRow> {
    // Agents of several processes may have one number, so rows go by label.
    let mut rows = BTreeMap::new();
    for copy in &profile.copies {
        let Some(bytes) = copy.bytes else { continue };
        *rows.entry((bytes, direction(profile, copy))).or_insert(0) += 1;
    }
    rows.into_iter().collect()
}

fn direction(profile: &Profile, copy: &MemoryCopy) -> String {
    let node = |agent: Option<u32>| {
        agent.map_or_else(|| "?".to_owned(), |agent| node_number(&profile.agents[agent as usize]))
    };
    let (source, destination) = (copy.source, copy.destination);
    match copy.direction {
        CopyDirection::HostToDevice => format!("h2d (GPU {})", node(destination)),
        CopyDirection::DeviceToHost => format!("d2h (GPU {})", node(source)),
        CopyDirection::DeviceToDevice => format!("d2d (GPU {} -> GPU {})", node(source), node(destination)),
        CopyDirection::HostToHost | CopyDirection::Other => "other".to_owned(),
    }
}

/// Number of an agent among all, as Perfetto traces give it; otherwise what records call it.
fn node_number(agent: &Agent) -> String {
    let label_number = || agent.label.strip_prefix("Agent ").unwrap_or(&agent.label).to_owned();
    agent.logical_node_id.map_or_else(label_number, |number| number.to_string())
}
