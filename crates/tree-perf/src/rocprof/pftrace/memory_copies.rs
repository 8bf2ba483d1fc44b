//! `memory_copy_by_copy_bytes`: memory copies by size and direction.

use std::collections::BTreeMap;

use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::rocprof::{Agent, CopyDirection, MemoryCopy, Profile};

use crate::column::{Column, ColumnKind};
use crate::frame::FrameBuilder;
use crate::rocprof::analysis::RocprofAnalysis;
use crate::sheet::Sheet;

pub(super) static SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "memory_copy_by_copy_bytes",
    current_name: "memory_copy_by_copy_bytes",
    description: "Memory copies whose size the profile gives by size and direction, the smallest first.",
    columns: &[
        Column::new("copy_bytes", ColumnKind::Count, "Size of a copy in bytes."),
        Column::new(
            "direction",
            ColumnKind::Text,
            "h2d with the GPU that was written, d2h with the GPU that was read, d2d with both, or other. The number is that of the node among all agents, CPUs first; ? where the profile does not say.",
        ),
        Column::new("count", ColumnKind::Count, "Number of copies."),
    ],
    chart: None,
    build,
};

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    if analysis.options().pftrace.is_none() {
        return Ok(None);
    }
    let profile = analysis.profile();
    let mut counts = BTreeMap::new();
    for copy in &profile.copies {
        let Some(bytes) = copy.bytes else { continue };
        *counts.entry((bytes, copy.direction, copy.source, copy.destination)).or_insert(0_i64) += 1;
    }
    // Agents of several processes may have one number.
    let mut rows = BTreeMap::new();
    for ((bytes, direction, source, destination), count) in counts {
        *rows.entry((bytes, label(profile, direction, source, destination))).or_insert(0) += count;
    }
    let mut frame = FrameBuilder::default();
    frame
        .integer("copy_bytes", rows.keys().map(|&(bytes, _)| Some(i64::try_from(bytes).unwrap_or(i64::MAX))));
    frame.text("direction", rows.keys().map(|(_, direction)| Some(direction)));
    frame.integer("count", rows.values().map(|&count| Some(count)));
    frame.finish().map(Some)
}

/// Copies whose size the profile does not give.
pub(super) fn without_size(profile: &Profile) -> usize {
    let has_no_size = |copy: &&MemoryCopy| copy.bytes.is_none();
    profile.copies.iter().filter(has_no_size).count()
}

fn label(
    profile: &Profile,
    direction: CopyDirection,
    source: Option<u32>,
    destination: Option<u32>,
) -> String {
    let node = |agent: Option<u32>| {
        agent.map_or_else(|| "?".to_owned(), |agent| node_number(&profile.agents[agent as usize]))
    };
    match direction {
        CopyDirection::HostToDevice => format!("h2d (GPU {})", node(destination)),
        CopyDirection::DeviceToHost => format!("d2h (GPU {})", node(source)),
        CopyDirection::DeviceToDevice => format!("d2d (GPU {} -> GPU {})", node(source), node(destination)),
        CopyDirection::HostToHost | CopyDirection::Other => "other".to_owned(),
    }
}

/// Number of an agent among all, as Perfetto traces give it; otherwise what records call it.
fn node_number(agent: &Agent) -> String {
    let of_label = || agent.label.strip_prefix("Agent ").unwrap_or(&agent.label).to_owned();
    agent.logical_node_id.map_or_else(of_label, |number| number.to_string())
}
