//! `pftrace_kernel_summary`: kernels by name and launch configuration.

use std::cmp::Reverse;

use gpu_timeline::Summary;
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::rocprof::Launch;

use super::display_names::Labels;
use super::options::{KernelBaseline, KernelGrouping};
use super::timing_columns::{self as timing, Timing};
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::analysis::RocprofAnalysis;
use crate::sheet::Sheet;

const INSTANCES: Column = Column::new("Instances", ColumnKind::Count, "Kernels of the row.");

pub(super) static SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "pftrace_kernel_summary",
    current_name: "kernel_summary",
    description: "Kernels of all GPUs that are at least --min_event_ns long by name and launch configuration (by name alone with --kernel_summary_group name), most time first; collectives with --kernel_summary_include_rccl only.",
    columns: &[
        timing::TIME,
        timing::TOTAL_TIME,
        INSTANCES,
        timing::AVG,
        timing::MED,
        timing::MIN,
        timing::MAX,
        timing::STD_DEV,
        Column::new("GridXYZ", ColumnKind::Text, "GridX, GridY and GridZ."),
        Column::new("BlockXYZ", ColumnKind::Text, "BlockX, BlockY and BlockZ."),
        Column::new("VGPR", ColumnKind::Count, "Vector registers of a work item."),
        Column::new("AccumVGPR", ColumnKind::Count, "Accumulation registers of a work item."),
        Column::new("SGPR", ColumnKind::Count, "Scalar registers of a wave."),
        Column::new("LDS", ColumnKind::Count, "Local data share of a work group, in bytes."),
        Column::new("Scratch", ColumnKind::Count, "Scratch memory of a work item, in bytes."),
        Column::new("Name", ColumnKind::Text, "Kernel; without digits with --merge_kernels."),
        Column::new(
            "Time %",
            ColumnKind::Number(Unit::Percent),
            "Total time over that of all kernels that are long enough, in percent; over that of computation with --kernel_summary_baseline compute.",
        ),
        timing::TOTAL_TIME_NS,
        timing::AVG_NS,
        timing::MED_NS,
        timing::MIN_NS,
        timing::MAX_NS,
        timing::STD_DEV_NS,
        Column::new(
            "GridX",
            ColumnKind::Count,
            "Work items of the grid along the first dimension; Perfetto traces give the number of all, which stands here.",
        ),
        Column::new("GridY", ColumnKind::Count, "Along the second; 1 of Perfetto traces."),
        Column::new("GridZ", ColumnKind::Count, "Along the third; 1 of Perfetto traces."),
        Column::new(
            "BlockX",
            ColumnKind::Count,
            "Work items of a work group along the first dimension; Perfetto traces give the number of all, which stands here.",
        ),
        Column::new("BlockY", ColumnKind::Count, "Along the second; 1 of Perfetto traces."),
        Column::new("BlockZ", ColumnKind::Count, "Along the third; 1 of Perfetto traces."),
    ],
    chart: None,
    build,
};

/// Kernels of a row.
struct Group {
    label: u32,
    launch: Launch,
    durations: Vec<i64>,
}

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    let options = analysis.options().pftrace.as_ref();
    let Some(options) = options.filter(|options| !options.no_kernel_summary) else { return Ok(None) };
    let by_configuration = options.kernel_summary_group == KernelGrouping::Config;
    let kernels = analysis.pftrace_records().kernels(analysis.profile(), options);
    let labels = Labels::of(&kernels.names, options.merge_kernels);
    let launches = &analysis.profile().launches;

    let mut positions = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    let mut baseline = 0;
    for run in kernels.all().filter(|run| run.duration() >= options.min_event_ns) {
        let communicates = kernels.communicates(run);
        if !communicates || options.kernel_summary_baseline == KernelBaseline::Total {
            baseline += run.duration();
        }
        if communicates && !options.kernel_summary_include_rccl {
            continue;
        }
        let label = labels.of_name[run.name as usize];
        let key = (label, by_configuration.then_some(run.launch));
        let position = *positions.entry(key).or_insert(groups.len());
        if position == groups.len() {
            let launch = launches[run.launch as usize];
            groups.push(Group { label, launch, durations: Vec::new() });
        }
        groups[position].durations.push(run.duration());
    }
    let mut rows: Vec<(Summary, Group)> =
        groups.into_iter().filter_map(|group| Some((Summary::of(&group.durations)?, group))).collect();
    // Rows are in the order of their first kernels, which decides between equal times.
    rows.sort_by_key(|(summary, _)| Reverse(summary.sum));

    let times = Timing::new(rows.iter().map(|&(summary, _)| summary).collect(), baseline);
    let launches: Vec<Launch> = rows.iter().map(|(_, group)| group.launch).collect();
    let mut frame = FrameBuilder::default();
    times.write_readable(&mut frame, INSTANCES.name);
    if by_configuration {
        write_configuration(&mut frame, &launches);
    }
    frame.text("Name", rows.iter().map(|(_, group)| Some(&labels.texts[group.label as usize])));
    times.write_exact(&mut frame);
    if by_configuration {
        write_dimensions(&mut frame, &launches);
    }
    frame.finish().map(Some)
}

fn write_configuration(frame: &mut FrameBuilder, launches: &[Launch]) {
    let aligned = |[x, y, z]: [u32; 3]| Some(format!("{x:>7} {y:>4} {z:>4}"));
    frame.text("GridXYZ", launches.iter().map(|launch| aligned(launch.grid)));
    frame.text("BlockXYZ", launches.iter().map(|launch| aligned(launch.workgroup)));
    let mut number = |name: &str, of: fn(&Launch) -> u32| {
        frame.integer(name, launches.iter().map(|launch| Some(i64::from(of(launch)))));
    };
    number("VGPR", |launch| launch.vgprs);
    number("AccumVGPR", |launch| launch.accum_vgprs);
    number("SGPR", |launch| launch.sgprs);
    number("LDS", |launch| launch.group_segment);
    number("Scratch", |launch| launch.private_segment);
}

fn write_dimensions(frame: &mut FrameBuilder, launches: &[Launch]) {
    for (position, axis) in ["X", "Y", "Z"].into_iter().enumerate() {
        let sizes = launches.iter().map(|launch| Some(i64::from(launch.grid[position])));
        frame.integer(&format!("Grid{axis}"), sizes);
    }
    for (position, axis) in ["X", "Y", "Z"].into_iter().enumerate() {
        let sizes = launches.iter().map(|launch| Some(i64::from(launch.workgroup[position])));
        frame.integer(&format!("Block{axis}"), sizes);
    }
}
