//! Where the time of each GPU went.

use gpu_timeline::{Activity, Breakdown, TimelineEvent};
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::rocprof::{Agent, AgentKind, CopyDirection, MemoryCopy};

use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::analysis::RocprofAnalysis;
use crate::rocprof::category::KernelCategory;
use crate::sheet::Sheet;

/// One row per GPU and kind of time.
pub(in crate::rocprof) const SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "gpu_timeline_by_agent",
    current_name: "gpu_timeline_by_agent",
    description: "Where the time of each GPU went between its first start and its last end: one row per GPU on which something ran and kind of time. A copy between two GPUs counts for both; copies within the host's memory count for none.",
    columns: &[
        Column::new(
            "agent",
            ColumnKind::Text,
            "The GPU, as the profile's records call it; empty for records that name none.",
        ),
        Column::new("gpu", ColumnKind::Identifier, "Index of the GPU among those that the process saw."),
        Column::new("product", ColumnKind::Text, "Product, or target where the profile does not name it."),
        Column::new(
            "type",
            ColumnKind::Text,
            "What the time is: total_time (first start to last end), kernel (kernels run), memory (memory is copied), busy_time (either), idle (neither), computation_time (kernels that are no collectives run), comm_time (collectives run), exposed_comm_time (collectives run while nothing computes), exposed_memcpy_time (memory is copied while no kernel runs). Computation, exposed communication, exposed copies and idle time add up to the total.",
        ),
        Column::new(
            "time ms",
            ColumnKind::Number(Unit::Milliseconds),
            "Length in ms of the union of the spans in question on one GPU.",
        ),
        Column::new(
            "percent",
            ColumnKind::Number(Unit::Percent),
            "time ms as a share of the GPU's total_time, in percent; empty where that is 0.",
        ),
    ],
    chart: None,
    build,
};

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    let agents = agent_timelines(analysis);
    if agents.is_empty() {
        return Ok(None);
    }
    let rows: Vec<(Option<&Agent>, &str, i64, f64)> = agents
        .iter()
        .flat_map(|AgentTimeline { agent, breakdown }| {
            times(breakdown).map(|(kind, time)| (*agent, kind, time, breakdown.percent_of_total(time)))
        })
        .collect();
    let agents = || rows.iter().map(|row| row.0);
    let product = |agent: &Agent| agent.product_name.clone().or_else(|| agent.name.clone());
    let mut frame = FrameBuilder::default();
    frame.text("agent", agents().map(|agent| Some(agent?.label.as_str())));
    frame.integer("gpu", agents().map(|agent| agent?.ordinal));
    frame.text("product", agents().map(|agent| product(agent?)));
    frame.text("type", rows.iter().map(|row| Some(row.1)));
    frame.float("time ms", rows.iter().map(|row| Some(row.2 as f64 / 1e6)));
    frame.float("percent", rows.iter().map(|row| Some(row.3)));
    frame.finish().map(Some)
}

/// The rows of a GPU: name and time in nanoseconds.
fn times(breakdown: &Breakdown) -> [(&'static str, i64); 9] {
    [
        ("total_time", breakdown.total),
        ("kernel", breakdown.computation + breakdown.exposed_communication),
        ("memory", breakdown.total_memcpy),
        ("busy_time", breakdown.busy),
        ("idle", breakdown.idle),
        ("computation_time", breakdown.computation),
        ("comm_time", breakdown.total_communication),
        ("exposed_comm_time", breakdown.exposed_communication),
        ("exposed_memcpy_time", breakdown.exposed_memcpy),
    ]
}

/// Where the time of one GPU went between its first start and its last end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentTimeline<'a> {
    /// The GPU; `None` of records that name none.
    pub agent: Option<&'a Agent>,
    /// Lengths in nanoseconds.
    pub breakdown: Breakdown,
}

/// The agents on which something ran, by their ordinals, with where their time went; what names no agent last.
#[must_use]
pub fn agent_timelines(analysis: &RocprofAnalysis) -> Vec<AgentTimeline<'_>> {
    let agents = &analysis.profile().agents;
    let mut communicates = vec![false; analysis.names().len()];
    for group in &analysis.groups().rows {
        // Not by the category that the sheets of kernels show, which may be the reference's.
        let name = &analysis.names()[group.name as usize];
        communicates[group.name as usize] = KernelCategory::of_name(name) == KernelCategory::Communication;
    }
    let mut events: Vec<Vec<TimelineEvent>> = vec![Vec::new(); agents.len() + 1];
    let mut add = |agent: Option<u32>, start, end, activity| {
        let place = agent.map_or(agents.len(), |agent| agent as usize);
        events[place].push(TimelineEvent { start, end, activity });
    };
    for dispatch in analysis.dispatches() {
        let activity = match communicates[analysis.name_of_kernel(dispatch.kernel) as usize] {
            true => Activity::Communication,
            false => Activity::Computation,
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
            Some(AgentTimeline { agent: agents.get(place), breakdown: Breakdown::of(events, None)? })
        })
        .collect();
    found.sort_by_key(|AgentTimeline { agent, .. }| {
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
