//! Kernels one by one.

use std::cmp::Reverse;

use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::rocprof::{Dispatch, Launch};

use super::whole_times;
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::analysis::RocprofAnalysis;
use crate::sheet::Sheet;

/// One row per dispatch.
pub(in crate::rocprof) const SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "kernel_details",
    current_name: "kernel_details",
    description: "Kernels one by one, the longest first, equally long ones in the order of dispatching; with --kernel_details only.",
    columns: &[
        Column::new("name", ColumnKind::Text, "Kernel, by the kind of name that was asked for."),
        Column::new("Kernel duration (µs)", ColumnKind::Number(Unit::Microseconds), "Duration in µs."),
        Column::new("stream", ColumnKind::Identifier, "HIP stream; 0 is the default stream."),
        Column::new(
            "dispatch_id",
            ColumnKind::Identifier,
            "Number in the order of dispatching, from 1; 0 where the profile does not number dispatches.",
        ),
        Column::new(
            "grid_x",
            ColumnKind::Count,
            "Work items along x (not work groups); of all three dimensions where the profile gives the product alone.",
        ),
        Column::new("grid_y", ColumnKind::Count, "Work items along y."),
        Column::new("grid_z", ColumnKind::Count, "Work items along z."),
        Column::new(
            "block_x",
            ColumnKind::Count,
            "Work items of a work group along x; of all three dimensions where the profile gives the product alone.",
        ),
        Column::new("block_y", ColumnKind::Count, "Work items of a work group along y."),
        Column::new("block_z", ColumnKind::Count, "Work items of a work group along z."),
        Column::new(
            "agent_id",
            ColumnKind::Text,
            "GPU, as the profile's records call it; empty where they name none.",
        ),
        Column::new(
            "thread_id",
            ColumnKind::Identifier,
            "Thread that launched it; 0 where the profile does not say.",
        ),
    ],
    chart: None,
    build,
};

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    if !analysis.options().kernel_details {
        return Ok(None);
    }
    let profile = analysis.profile();
    let mut rows: Vec<&Dispatch> = analysis.dispatches().collect();
    rows.sort_by_key(|dispatch| (Reverse(dispatch.duration()), dispatch.dispatch_id));
    rows.truncate(analysis.options().topk_kernels.unwrap_or(usize::MAX));

    let name = |dispatch: &Dispatch| &analysis.names()[analysis.name_of_kernel(dispatch.kernel) as usize];
    let agent = |dispatch: &Dispatch| match dispatch.agent {
        Some(agent) => Some(profile.agents[agent as usize].label.as_str()),
        None => analysis.options().parity.then_some("0"),
    };
    let mut frame = FrameBuilder::default();
    frame.text("name", rows.iter().map(|dispatch| Some(name(dispatch))));
    whole_times(
        &mut frame,
        analysis,
        "Kernel duration (µs)",
        rows.iter().map(|dispatch| dispatch.duration()),
    );
    frame.integer("stream", rows.iter().map(|dispatch| Some(dispatch.stream as i64)));
    frame.integer("dispatch_id", rows.iter().map(|dispatch| Some(dispatch.dispatch_id as i64)));
    type Size = fn(&Launch) -> u32;
    let sizes: [(&str, Size); 6] = [
        ("grid_x", |launch| launch.grid[0]),
        ("grid_y", |launch| launch.grid[1]),
        ("grid_z", |launch| launch.grid[2]),
        ("block_x", |launch| launch.workgroup[0]),
        ("block_y", |launch| launch.workgroup[1]),
        ("block_z", |launch| launch.workgroup[2]),
    ];
    for (column, size) in sizes {
        let launches = rows.iter().map(|dispatch| &profile.launches[dispatch.launch as usize]);
        frame.integer(column, launches.map(|launch| Some(size(launch).into())));
    }
    frame.text("agent_id", rows.iter().map(|dispatch| agent(dispatch)));
    frame.integer("thread_id", rows.iter().map(|dispatch| Some(dispatch.thread)));
    frame.finish().map(Some)
}
