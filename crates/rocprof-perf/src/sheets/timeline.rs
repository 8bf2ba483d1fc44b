//! Timelines of the GPUs, together and one by one.

use gpu_timeline::{Activity, Breakdown, DeviceEvent, Interval, IntervalSet, SortFew};
use operator_sheets::per_iteration;
use perf_models::Category;
use sheets::columns::{TIME_MS, TIME_SHARE, TIME_TYPE};
use sheets::names;
use sheets::{Chart, ChartShape, Column, Figure, Role, Sheet, percent};
use trace_ingest::Nanoseconds;
use trace_ingest::rocprof::{Agent, AgentKind, CopyDirection, MemoryCopy, Process, SourceFormat};

use crate::analysis::{RocprofAnalysis, interval};
use crate::conventions::{Processes, TimelineRule};

const TYPE: Column = TIME_TYPE.described("Kind of time: total_time (first start of a kernel or copy to last end; with --parity, profiler setup in the first process to profiler shutdown in the last, if recorded), kernel (kernels run), memory (copies run), busy_time (either), idle (neither), unrecorded_time (nothing recorded, but the GPUs may have been busy). Busy, idle and unrecorded time add up to the total.");
const TIME: Column = TIME_MS
    .described("Time of this kind, all GPUs combined, overlaps counted once.")
    .showing(&[Figure::GpuTimeline, Figure::Span, Figure::BusyTime, Figure::IdleTime]);

const AGENT: Column = Column::text("agent", "GPU, as named in the profile; empty if not named.");

pub(super) fn together<'a>() -> Sheet<'a, RocprofAnalysis> {
    /// Name, time in nanoseconds, share of the total in percent.
    type Row = (&'static str, i64, f64);
    let fields = [
        TYPE.field(|&(kind, ..): &Row| kind.into()),
        TIME.field(|&(_, time, _): &Row| (time as f64 / 1e6).into()),
        TIME_SHARE.field(|&(.., percent): &Row| percent.into()),
        per_iteration(&[], |&(_, time, _): &Row| time as f64),
    ];
    Sheet::with_context(
        names::GPU_TIMELINE,
        "Time across all GPUs by kind of activity.",
        fields,
        |analysis: &'a RocprofAnalysis| {
            let times = times(analysis);
            let total = times.first().map_or(0, |&(_, total)| total);
            let share = |kind, time| match kind {
                TOTAL => 100.0,
                _ => percent(time, total.max(0)).unwrap_or(0.0),
            };
            let row = |(kind, time)| (kind, time, share(kind, time));
            Some((analysis, times.into_iter().map(row).collect()))
        },
    )
    .with_chart(Chart::new(
        "GPU timeline",
        TYPE.name,
        TIME.name,
        "time (ms)",
        ChartShape::Stacked { parts: &["busy_time", "idle", UNRECORDED], per: None },
    ))
}

/// The row of the whole time.
const TOTAL: &str = "total_time";
/// The row of the time in which GPUs may have worked without a record; there where there is some.
const UNRECORDED: &str = "unrecorded_time";

/// The rows: name and time in nanoseconds.
fn times(analysis: &RocprofAnalysis) -> Vec<(&'static str, i64)> {
    let has_kernels = analysis.dispatches().next().is_some();
    let needs_kernels = spans_processes(analysis);
    if !has_kernels && (needs_kernels || analysis.copies().next().is_none()) {
        return Vec::new();
    }
    let total = window(analysis).total;
    let kernel: IntervalSet = kernels(analysis).collect();
    let memory: IntervalSet = copies(analysis).collect();
    let all_busy = kernel.union(&memory);
    let busy = all_busy.total_length();
    // Before the first start and behind the last end there is no timeline.
    let inside = |hull| analysis.unrecorded().subtract(&all_busy).clipped(hull).map(Interval::length).sum();
    let unrecorded: i64 = all_busy.span().map_or(0, inside);
    let mut times = vec![
        (TOTAL, total),
        ("kernel", kernel.total_length()),
        ("memory", memory.total_length()),
        ("busy_time", busy),
        ("idle", total.saturating_sub(busy).saturating_sub(unrecorded).max(0)),
    ];
    times.extend((unrecorded > 0).then_some((UNRECORDED, unrecorded)));
    times
}

/// What the timeline's total is.
pub(crate) struct Window {
    /// Its length in nanoseconds.
    total: i64,
    /// Whether it follows from the times of the processes.
    pub(crate) spans_processes: bool,
}

/// Whether the timeline is of the time of the processes.
pub(crate) fn spans_processes(analysis: &RocprofAnalysis) -> bool {
    analysis.options().conventions.timeline == TimelineRule::Processes
}

/// The time from the first start to the last end, or that of the processes, widened to it.
pub(crate) fn window(analysis: &RocprofAnalysis) -> Window {
    if let Some(total) = time_of_first_process(analysis) {
        return Window { total: total.0, spans_processes: true };
    }
    let processes = process_times(analysis);
    let spans = processes.into_iter().chain(records(analysis));
    let hull = spans.reduce(Interval::hull);
    Window { total: hull.map_or(0, Interval::length), spans_processes: processes.is_some() }
}

/// The total where the first process alone counts; `None` of formats other than JSON.
fn time_of_first_process(analysis: &RocprofAnalysis) -> Option<Nanoseconds> {
    let (options, profile) = (analysis.options(), analysis.profile());
    let counts = options.conventions.processes == Processes::First && profile.source == SourceFormat::Json;
    let process = profile.processes.first();
    let time = |of: fn(&Process) -> Option<Nanoseconds>| process.and_then(of).unwrap_or_default();
    (counts && spans_processes(analysis) && !analysis.is_window())
        .then(|| time(|process| process.fini) - time(|process| process.init))
}

/// How many kernels and copies lie outside of the time of the processes.
pub(crate) fn outside_process_times(analysis: &RocprofAnalysis) -> usize {
    let times = process_times(analysis).filter(|_| time_of_first_process(analysis).is_none());
    let Some(times) = times else { return 0 };
    records(analysis).filter(|span| span.start < times.start || span.end > times.end).count()
}

/// From when the profiler was set up in the first process until it ended in the last, where the timeline is of that.
fn process_times(analysis: &RocprofAnalysis) -> Option<Interval> {
    let processes = if spans_processes(analysis) { &*analysis.profile().processes } else { &[] };
    let init = processes.iter().filter_map(|process| process.init).min()?;
    let fini = processes.iter().filter_map(|process| process.fini).max()?;
    Some(interval(init, fini)).filter(|times| !times.is_empty())
}

/// Spans of kernels and copies that have a length.
fn records(analysis: &RocprofAnalysis) -> impl Iterator<Item = Interval> {
    kernels(analysis).chain(copies(analysis)).filter(|span| !span.is_empty())
}

fn kernels(analysis: &RocprofAnalysis) -> impl Iterator<Item = Interval> {
    analysis.dispatches().map(|dispatch| interval(dispatch.start, dispatch.end))
}

fn copies(analysis: &RocprofAnalysis) -> impl Iterator<Item = Interval> {
    analysis.copies().map(|copy| interval(copy.start, copy.end))
}

pub(super) fn by_agent<'a>() -> Sheet<'a, RocprofAnalysis> {
    /// GPU, name, time in nanoseconds, share of the GPU's total in percent.
    type Row<'a> = (Option<&'a Agent>, &'static str, i64, f64);
    let fields = [
        AGENT.field(|(agent, ..): &Row<'_>| agent.map(|agent| agent.label.as_str()).into()),
        Column::identifier("gpu", "Index of the GPU among those visible to the process.").with_role(Role::Name).field(|(agent, ..): &Row<'_>| agent.and_then(|agent| agent.ordinal).into()),
        Column::text("product", "Product name, or target if not recorded.").with_role(Role::Detail).field(|(agent, ..): &Row<'_>| {
            agent.and_then(|agent| agent.product_name.as_deref().or(agent.name.as_deref())).into()
        }),
        TYPE.described("Kind of time: total_time (first start to last end on any GPU of its process), kernel (kernels run), memory (copies run), busy_time (either), idle (neither), computation_time (non-collective kernels run), comm_time (collectives run), exposed_comm_time (collectives run without computation), exposed_memcpy_time (copies run while no kernel does), unrecorded_time (nothing recorded, but the GPU may have been busy). Computation, exposed communication, exposed copies, idle and unrecorded time add up to the total.").field(|&(_, kind, ..): &Row<'_>| kind.into()),
        TIME.described("Time of this kind on one GPU, overlaps counted once.").field(|&(.., time, _): &Row<'_>| (time as f64 / 1e6).into()),
        TIME_SHARE.described("time ms as a share of the GPU's total_time; empty if that is 0.").field(|&(.., percent): &Row<'_>| percent.into()),
        per_iteration(&[], |&(.., time, _): &Row<'_>| time as f64),
    ];
    Sheet::with_context(
        names::GPU_TIMELINE_BY_AGENT,
        "Where each GPU's time went: one row per kind of time for each GPU that did work. A copy between two GPUs counts toward both; copies within host memory count toward none.",
        fields,
        |analysis| {
            let rows = |AgentTimeline { agent, breakdown, .. }: AgentTimeline<'a>| {
                let row = move |(kind, time)| (agent, kind, time, breakdown.percent_of_total(time));
                times_of_agent(&breakdown).into_iter().map(row)
            };
            let rows: Vec<Row<'a>> = agent_timelines(analysis).into_iter().flat_map(rows).collect();
            (!rows.is_empty()).then_some((analysis, rows))
        },
    )
    .with_chart(Chart::new(
        "Timeline of each GPU",
        TYPE.name,
        TIME.name,
        "time (ms)",
        ChartShape::Stacked {
            parts: &["computation_time", "exposed_comm_time", "exposed_memcpy_time", "idle", UNRECORDED],
            per: Some(AGENT.name),
        },
    ))
}

/// The rows of a GPU: name and time in nanoseconds.
fn times_of_agent(breakdown: &Breakdown) -> Vec<(&'static str, i64)> {
    let mut times = vec![
        (TOTAL, breakdown.total),
        ("kernel", breakdown.computation + breakdown.exposed_communication),
        ("memory", breakdown.total_memcpy),
        ("busy_time", breakdown.busy),
        ("idle", breakdown.idle),
        ("computation_time", breakdown.computation),
        ("comm_time", breakdown.total_communication),
        ("exposed_comm_time", breakdown.exposed_communication),
        ("exposed_memcpy_time", breakdown.exposed_memcpy),
    ];
    times.extend((breakdown.unrecorded > 0).then_some((UNRECORDED, breakdown.unrecorded)));
    times
}

/// Where the time of one GPU went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentTimeline<'a> {
    /// The GPU; `None` of records that name none.
    pub agent: Option<&'a Agent>,
    /// Lengths in nanoseconds.
    pub breakdown: Breakdown,
    /// Whether the whole is the time from the first start to the last end on several GPUs of one process.
    pub shares_window: bool,
}

/// The agents on which something ran, by their ordinals, with where their time went; what names no agent last.
#[must_use]
pub fn agent_timelines(analysis: &RocprofAnalysis) -> Vec<AgentTimeline<'_>> {
    let agents = &analysis.profile().agents;
    let mut events: Vec<Vec<(Interval, Activity)>> = vec![Vec::new(); agents.len() + 1];
    let mut add = |agent: Option<u32>, start: Nanoseconds, end: Nanoseconds, activity| {
        let place = agent.map_or(agents.len(), |agent| agent as usize);
        events[place].push((Interval::between(start.0, end.0), activity));
    };
    for dispatch in analysis.dispatches() {
        // Not by the category that the sheets of kernels show, which may be TraceLens's.
        let activity = match analysis.class(dispatch.kernel) {
            Category::Communication => Activity::Communication,
            _ => Activity::Computation,
        };
        add(dispatch.agent, dispatch.start, dispatch.end, activity);
    }
    for copy in analysis.copies() {
        let [first, second] = gpus_of(copy, agents);
        if copy.direction != CopyDirection::HostToHost || first.is_some() {
            add(first, copy.start, copy.end, Activity::Memcpy);
        }
        if second.is_some() {
            add(second, copy.start, copy.end, Activity::Memcpy);
        }
    }
    let mut found: Vec<AgentTimeline<'_>> = events
        .into_iter()
        .enumerate()
        .filter_map(|(place, events)| {
            let events =
                events.into_iter().map(|(span, activity)| DeviceEvent::new(span.start, span.end, activity));
            let agent = agents.get(place);
            let breakdown = Breakdown::from_partial_events(events, None, analysis.unrecorded())?;
            let window = agent.and_then(|agent| analysis.shared_window(agent.ordinal?));
            Some(AgentTimeline {
                agent,
                breakdown: breakdown.within(window.unwrap_or(0)),
                shares_window: window.is_some(),
            })
        })
        .collect();
    found.sort_few_by_key(|AgentTimeline { agent, .. }| {
        (agent.is_none(), agent.and_then(|agent| agent.ordinal).unwrap_or(i64::MAX))
    });
    found
}

/// The GPUs that a copy keeps busy, each once: its ends as far as its direction says that they are GPUs, else as far
/// as the agents are not known to be CPUs.
fn gpus_of(copy: &MemoryCopy, agents: &[Agent]) -> [Option<u32>; 2] {
    let is_gpu = |agent: &u32| agents[*agent as usize].kind == AgentKind::Gpu;
    let may_be_gpu = |agent: &u32| agents[*agent as usize].kind != AgentKind::Cpu;
    let (source, destination) = (copy.source, copy.destination);
    let [first, second] = match copy.direction {
        CopyDirection::HostToDevice => [destination, None],
        CopyDirection::DeviceToHost => [source, None],
        CopyDirection::DeviceToDevice => [source, destination],
        CopyDirection::HostToHost => [source.filter(is_gpu), destination.filter(is_gpu)],
        CopyDirection::Other => [source.filter(may_be_gpu), destination.filter(may_be_gpu)],
    };
    match (first, second) {
        (None, second) => [second, None],
        (first, second) => [first, second.filter(|_| first != second)],
    }
}
