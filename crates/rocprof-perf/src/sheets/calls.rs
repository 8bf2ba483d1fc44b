//! Calls of the runtime and other libraries, by function and with the kernels and copies that they launch.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::{SortFew, Summary, percentile};
use hashbrown::HashMap;
use sheets::ColumnKind::{Count, Number, Text};
use sheets::Unit::Percent;
use sheets::{Chart, ChartShape, Column, Excerpt, Field, Role, Sheet, percent};
use trace_ingest::rocprof::{Domain, Profile};
use trace_ingest::{StringId, StringTable};

use crate::analysis::RocprofAnalysis;
use operator_sheets::durations::{TOTAL, durations, ms, us};

/// The call behind each kernel and copy, as a position in [`Profile::calls`].
pub(crate) struct Callers {
    pub(crate) dispatches: Vec<Option<u32>>,
    pub(crate) copies: Vec<Option<u32>>,
}

impl Callers {
    /// Joins by process and correlation id: processes number their calls independently of each other. An id of 0 says
    /// that there is none, and a marker launches nothing. Of several calls with one id, as a call and those that it
    /// makes in turn may have, a HIP call goes before those of other libraries, and then the one that began last.
    pub(crate) fn new(profile: &Profile) -> Self {
        let mut calls: HashMap<(u32, u64), u32> = HashMap::new();
        let linked = |process: u32, correlation: Option<u64>| {
            correlation.filter(|&correlation| correlation != 0).map(|correlation| (process, correlation))
        };
        let rank = |call: u32| {
            let call = &profile.calls[call as usize];
            (call.domain, Reverse(call.start), call.end)
        };
        for (position, call) in (0_u32..).zip(&profile.calls) {
            if call.domain == Domain::Marker {
                continue;
            }
            let Some(key) = linked(call.process, call.correlation) else { continue };
            let known = calls.entry(key).or_insert(position);
            if rank(position) < rank(*known) {
                *known = position;
            }
        }
        let caller =
            |process, correlation| linked(process, correlation).and_then(|key| calls.get(&key).copied());
        let dispatches = profile.dispatches.iter().map(|it| caller(it.process, it.correlation)).collect();
        let copies = profile.copies.iter().map(|it| caller(it.process, it.correlation)).collect();
        Callers { dispatches, copies }
    }
}

const COUNT: Column = Column::new("Count", Count, "Calls.");
const SHARE_OF_LIBRARY: Column = Column::new(
    "Percentage (%)",
    Number(Percent),
    "Share of the library's total call time. Times overlap: calls nest across libraries, and threads call concurrently.",
)
.with_role(Role::Headline);
const FUNCTION: Column = Column::new("function", Text, "Function.");

pub(super) fn by_function<'a>() -> Sheet<'a, RocprofAnalysis> {
    let keys = [
        Column::text(
            "domain",
            "Library: HIP, HSA, RCCL, ROCDECODE, ROCJPEG, or another as named by the profiler.",
        )
        .field(|row: &FunctionRow<'_>| row.domain.into()),
        FUNCTION.field(|row: &FunctionRow<'_>| row.name.into()),
        COUNT.field(|row: &FunctionRow<'_>| row.durations.count.into()),
    ];
    let shares = [
        SHARE_OF_LIBRARY.field_in(|totals: &Totals, row: &FunctionRow<'_>| {
            percent(row.durations.sum, totals[&row.library]).into()
        }),
        Column::percent("Cumulative Percentage (%)", "Running sum of Percentage (%) within the library.")
            .with_role(Role::Headline)
            .field_in(|totals: &Totals, row: &FunctionRow<'_>| {
                percent(row.running, totals[&row.library]).into()
            }),
        Column::count(
            "GPU Events",
            "Number of kernels and copies launched by the calls, matched by process and correlation ID.",
        )
        .field(|row: &FunctionRow<'_>| row.function.gpu_events.into()),
        Column::milliseconds("GPU Time (ms)", "Sum of the GPU events' durations.")
            .field(|row: &FunctionRow<'_>| ms(row.function.gpu_time).into()),
    ];
    let durations = durations("call", |row: &FunctionRow<'_>| &row.durations);
    Sheet::with_context(
        "api_summary",
        "Calls by library and function, most time first within a library; the program's markers are in marker_ranges.",
        keys.into_iter().chain(durations).chain(shares),
        |analysis: &RocprofAnalysis| {
            Some(function_rows(analysis.profile())).filter(|(_, rows)| !rows.is_empty())
        },
    )
    .with_chart(Chart::new(
        "Time in library calls",
        FUNCTION.name,
        TOTAL.name,
        "time in calls (ms)",
        ChartShape::Bars(15),
    ))
    .with_excerpt(Excerpt::new(
        5,
        [("function", FUNCTION), ("calls", COUNT), ("host ms", TOTAL), ("library %", SHARE_OF_LIBRARY)],
    ))
}

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
        _ => strings.get(kind),
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
            functions.entry(key(position)).or_default().durations.push(call.duration().0);
        }
    }
    let callers = Callers::new(profile);
    let kernels = profile.dispatches.iter().map(|kernel| kernel.duration()).zip(callers.dispatches);
    let copies = profile.copies.iter().map(|copy| copy.duration()).zip(callers.copies);
    for (duration, call) in kernels.chain(copies) {
        let Some(call) = call else { continue };
        let function = functions.entry(key(call)).or_default();
        function.gpu_events += 1;
        function.gpu_time = function.gpu_time.saturating_add(duration.0);
    }
    functions
}

/// Time of all calls of each library, in nanoseconds.
type Totals = BTreeMap<Library, i64>;

struct FunctionRow<'a> {
    library: Library,
    domain: &'a str,
    name: &'a str,
    durations: Summary,
    /// Time of the library's calls down to this row.
    running: i64,
    function: Function,
}

fn function_rows(profile: &Profile) -> (Totals, Vec<FunctionRow<'_>>) {
    let row = |((library, name), function): ((Library, StringId), Function)| {
        Some(FunctionRow {
            library,
            domain: library_name(&profile.strings, library),
            name: profile.strings.get(name),
            durations: Summary::from_values(&function.durations)?,
            running: 0,
            function,
        })
    };
    let mut rows: Vec<FunctionRow<'_>> = functions(profile).into_iter().filter_map(row).collect();
    rows.sort_few_by_key(|row| (row.library.0, row.domain, Reverse(row.durations.sum), row.name));
    let mut totals = Totals::new();
    for row in &mut rows {
        let total = totals.entry(row.library).or_default();
        *total = total.saturating_add(row.durations.sum);
        row.running = *total;
    }
    (totals, rows)
}

/// Names of the columns of a figure.
macro_rules! names {
    ($name:literal) => {
        [
            concat!($name, " Mean (µs)"),
            concat!($name, " Median (µs)"),
            concat!($name, " P95 (µs)"),
            concat!($name, " Max (µs)"),
        ]
    };
}

/// Columns of a row's values in nanoseconds, by these names, what `one` of them is of, and the sentence that says what
/// they are.
fn figures<'a>(
    [mean, median, p95, max]: [&'static str; 4],
    one: &'static str,
    description: &'static str,
    figure: for<'r> fn(&'r LatencyRow<'_>) -> &'r Figure,
) -> [Field<(), LatencyRow<'a>>; 4] {
    let field = |column: Column, value: fn(&Figure) -> Option<f64>| {
        column.per(one).field(move |row: &LatencyRow<'_>| value(figure(row)).map(us).into())
    };
    let spread = |name, description| Column::microseconds(name, description).spread_of(mean);
    [
        field(Column::microseconds(mean, description), |figure| Some(figure.summary?.mean)),
        field(spread(median, "Median."), |figure| Some(figure.summary?.median)),
        field(spread(p95, "95th percentile, interpolated between the two nearest values."), |figure| {
            figure.p95
        }),
        field(spread(max, "Maximum."), |figure| Some(figure.summary?.max as f64)),
    ]
}

pub(super) fn with_gpu_events<'a>() -> Sheet<'a, RocprofAnalysis> {
    let keys = [
        FUNCTION
            .described("Called function; empty if the profile has no call for these events.")
            .field(|row: &LatencyRow<'_>| row.function.into()),
        Column::text("event", "Launched work: kernel or copy.")
            .field(|row: &LatencyRow<'_>| row.event.into()),
        Column::text("name", "Kernel, or the profiler's name for the copy.")
            .field(|row: &LatencyRow<'_>| row.name.into()),
        Column::count("Launches", "Calls.").field(|row: &LatencyRow<'_>| row.launches.into()),
        Column::count("Count", "Number of kernels or copies; exceeds calls if a call launches several.")
            .field(|row: &LatencyRow<'_>| row.events.into()),
    ];
    let total = Column::milliseconds("GPU Time Total (ms)", "Sum of GPU times.")
        .with_role(Role::Headline)
        .field(|row: &LatencyRow<'_>| ms(row.total).into());
    let fields = keys
        .into_iter()
        .chain(figures(
            names!("Launch Overhead"),
            "call",
            "Launch overhead A: mean duration of the calls, each counted once whatever it launched; \
             empty without a call.",
            |row| &row.overhead,
        ))
        .chain(figures(
            names!("Queue Delay"),
            "event",
            "Queue delay Q: mean of GPU start minus call end, 0 if the GPU started before the call returned. \
             Every event of a call counts, so for a graph the delay includes the time its events wait for \
             earlier ones.",
            |row| &row.queued,
        ))
        .chain(figures(
            names!("Start Latency"),
            "event",
            "Start latency: mean of GPU start minus call start; negative if the clocks disagree.",
            |row| &row.latency,
        ))
        .chain(figures(
            names!("GPU Time"),
            "event",
            "Time on the GPU (K): mean duration of the kernel or copy.",
            |row| &row.on_gpu,
        ))
        .chain([total]);
    Sheet::new(
        "api_kernel_latency",
        "Calls with the kernels and copies they launched, matched by process and correlation ID, most GPU time first. Events without a recorded call have a row without a function.",
        fields,
        latency_rows,
    )
}

/// What a call launched: a kernel by position of its name, or a copy by its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Event {
    Kernel(u32),
    Copy(StringId),
}

#[derive(Default)]
struct Group {
    calls: Vec<u32>,
    queued: Vec<i64>,
    latency: Vec<i64>,
    on_gpu: Vec<i64>,
}

struct LatencyRow<'a> {
    function: Option<&'a str>,
    event: &'static str,
    name: &'a str,
    launches: usize,
    events: usize,
    /// Time on the GPU, in nanoseconds.
    total: i64,
    overhead: Figure,
    queued: Figure,
    latency: Figure,
    on_gpu: Figure,
}

/// Values in nanoseconds; without any there is no summary.
struct Figure {
    summary: Option<Summary>,
    p95: Option<f64>,
}

impl Figure {
    fn new(values: &[i64]) -> Self {
        Figure { summary: Summary::from_values(values), p95: percentile(values, 95) }
    }
}

fn groups(analysis: &RocprofAnalysis) -> HashMap<(Option<StringId>, Event), Group> {
    let profile = analysis.profile();
    let callers = Callers::new(profile);
    let kernels = profile.dispatches.iter().zip(callers.dispatches).map(|(kernel, call)| {
        (Event::Kernel(analysis.name_of_kernel(kernel.kernel)), kernel.start, kernel.duration(), call)
    });
    let copies = profile
        .copies
        .iter()
        .zip(callers.copies)
        .map(|(copy, call)| (Event::Copy(copy.name), copy.start, copy.duration(), call));
    let mut groups: HashMap<(Option<StringId>, Event), Group> = HashMap::new();
    for (event, start, duration, caller) in kernels.chain(copies) {
        let call = caller.map(|caller| &profile.calls[caller as usize]);
        let group = groups.entry((call.map(|call| call.name), event)).or_default();
        group.on_gpu.push(duration.0);
        if let (Some(caller), Some(call)) = (caller, call) {
            group.calls.push(caller);
            group.queued.push(start.without(call.end).0);
            group.latency.push((start - call.start).0);
        }
    }
    groups
}

fn latency_rows(analysis: &RocprofAnalysis) -> Vec<LatencyRow<'_>> {
    let profile = analysis.profile();
    // Without calls there is nothing to join.
    if !profile.calls.iter().any(|call| call.domain != Domain::Marker) {
        return Vec::new();
    }
    let row = |((function, event), mut group): ((Option<StringId>, Event), Group)| {
        group.calls.sort_unstable();
        group.calls.dedup();
        let overhead: Vec<i64> =
            group.calls.iter().map(|&call| profile.calls[call as usize].duration().0).collect();
        let (event, name) = match event {
            Event::Kernel(name) => ("kernel", analysis.names()[name as usize].as_str()),
            Event::Copy(name) => ("copy", profile.strings.get(name)),
        };
        LatencyRow {
            function: function.map(|name| profile.strings.get(name)),
            event,
            name,
            launches: group.calls.len(),
            events: group.on_gpu.len(),
            total: group.on_gpu.iter().fold(0, |sum: i64, &time| sum.saturating_add(time)),
            overhead: Figure::new(&overhead),
            queued: Figure::new(&group.queued),
            latency: Figure::new(&group.latency),
            on_gpu: Figure::new(&group.on_gpu),
        }
    };
    let mut rows: Vec<LatencyRow<'_>> = groups(analysis).into_iter().map(row).collect();
    rows.sort_few_by_key(|row| (Reverse(row.total), row.function, row.event, row.name));
    rows
}
