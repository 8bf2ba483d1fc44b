//! How kernels were launched: work groups, registers, memory, and the occupancy that these allow.

use std::cmp::Reverse;

use gpu_timeline::Summary;
use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::rocprof::Launch;

use super::hardware::{Hardware, HardwareKinds};
use super::occupancy::{Occupancy, occupancy, waves_per_work_group};
use super::statistics::{MAX, MEAN, MEDIAN, MIN, STD, TOTAL, append_durations, whole};
use crate::column::shared::{CUMULATIVE, SHARE_OF_KERNEL_TIME};
use crate::column::{Column, ColumnKind, Unit};
use crate::frame::FrameBuilder;
use crate::rocprof::RocprofAnalysis;
use crate::sheet::Sheet;

/// One row per kernel, kind of GPU and launch configuration.
pub(in crate::rocprof) const SHEET: Sheet<RocprofAnalysis> = Sheet {
    name: "kernel_launch_shapes",
    current_name: "kernel_launch_shapes",
    description: "How kernels were launched, by kernel, kind of GPU and configuration, most time first.",
    columns: &[
        Column::new("name", ColumnKind::Text, "Kernel."),
        Column::new(
            "target",
            ColumnKind::Text,
            "Target of the GPU, such as gfx942; empty where the format does not say.",
        ),
        Column::new(
            "grid",
            ColumnKind::Nested,
            "Work groups per dimension; their product alone where the format gives products.",
        ),
        Column::new(
            "work_group",
            ColumnKind::Nested,
            "Work items of a work group per dimension; their product alone where the format gives products.",
        ),
        Column::new("Work Groups", ColumnKind::Count, "Work groups of a launch."),
        Column::new("Work Items per Group", ColumnKind::Count, "Work items of a work group."),
        Column::new(
            "Waves per Group",
            ColumnKind::Count,
            "Work items of a work group over the lanes of a wave, rounded up.",
        ),
        Column::new(
            "Work Groups per CU",
            ColumnKind::Number(Unit::One),
            "Work groups of a launch over the compute units of the GPU: below 1, some have nothing to do.",
        ),
        Column::new(
            "VGPRs",
            ColumnKind::Count,
            "Vector registers of a work item; empty where the format gives no registers.",
        ),
        Column::new("Accumulation VGPRs", ColumnKind::Count, "Accumulation registers of a work item."),
        Column::new("SGPRs", ColumnKind::Count, "Scalar registers of a wave."),
        Column::new("LDS (bytes)", ColumnKind::Count, "Local data share of a work group, in bytes."),
        Column::new(
            "Scratch (bytes)",
            ColumnKind::Count,
            "Scratch memory of a work item, in bytes: more than 0 says that registers were spilled or arrays indexed.",
        ),
        Column::new(
            "Waves per SIMD by VGPRs",
            ColumnKind::Count,
            "Waves that a SIMD unit's vector registers leave room for, at most its wave slots: on gfx90a and later 512 per lane over VGPRs (to a multiple of 4) plus accumulation VGPRs (to a multiple of 8 together), on older targets 256 over VGPRs (to a multiple of 4).",
        ),
        Column::new(
            "Resident Groups per CU",
            ColumnKind::Count,
            "Work groups that a compute unit holds at most: the least that its wave slots, vector registers, local data share (handed out in steps of 512 bytes, on gfx950 of 1280) and the 16 work groups of several waves leave room for.",
        ),
        Column::new(
            "Theoretical Occupancy (%)",
            ColumnKind::Number(Unit::Percent),
            "Waves of these work groups over the wave slots of the compute unit, in percent; empty where the format lacks registers or limits of the GPU, and for targets other than gfx9.",
        ),
        Column::new("occupancy_limit", ColumnKind::Text, "What keeps a further work group out."),
        Column::new("Count", ColumnKind::Count, "Launches on all GPUs of the kind."),
        TOTAL,
        MEAN,
        MEDIAN,
        STD,
        MIN,
        MAX,
        SHARE_OF_KERNEL_TIME,
        CUMULATIVE,
    ],
    chart: None,
    build,
};

struct Row<'a> {
    name: &'a str,
    hardware: Hardware<'a>,
    launch: Launch,
    durations: Summary,
}

impl Row<'_> {
    fn blocks(&self) -> [u32; 3] {
        let Launch { grid, workgroup, .. } = self.launch;
        [0, 1, 2].map(|axis| grid[axis].div_ceil(workgroup[axis].max(1)))
    }

    fn work_groups(&self) -> u64 {
        product(self.blocks())
    }

    fn groups_per_compute_unit(&self) -> Option<f64> {
        Some(self.work_groups() as f64 / f64::from(self.hardware.compute_units?))
    }

    fn registers(&self, count: u32) -> Option<i64> {
        let Launch { vgprs, accum_vgprs, sgprs, .. } = self.launch;
        ([vgprs, accum_vgprs, sgprs] != [0; 3]).then(|| i64::from(count))
    }

    fn literal(&self, [x, y, z]: [u32; 3]) -> Option<String> {
        Some(if self.launch.products_only { x.to_string() } else { format!("({x}, {y}, {z})") })
    }
}

fn product(extents: [u32; 3]) -> u64 {
    extents.iter().fold(1, |product, &extent| u64::from(extent).saturating_mul(product))
}

/// Whether the format says anything of a launch: one of a single work item is what stands in for nothing.
fn is_described(launch: &Launch) -> bool {
    let nothing = Launch { grid: [1; 3], workgroup: [1; 3], ..Launch::default() };
    *launch != Launch { products_only: launch.products_only, ..nothing } && *launch != Launch::default()
}

fn rows(analysis: &RocprofAnalysis) -> Vec<Row<'_>> {
    let profile = analysis.profile();
    let hardware = HardwareKinds::of(profile);
    let mut groups: HashMap<(u32, usize, u32), Vec<i64>> = HashMap::new();
    for dispatch in &profile.dispatches {
        let name = analysis.name_of_kernel(dispatch.kernel);
        let key = (name, hardware.position(dispatch.agent), dispatch.launch);
        groups.entry(key).or_default().push(dispatch.duration());
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_unstable_by_key(|&(key, _)| key);
    let mut rows: Vec<Row<'_>> = groups
        .into_iter()
        .filter_map(|((name, kind, launch), durations)| {
            Some(Row {
                name: &analysis.names()[name as usize],
                hardware: hardware.kinds[kind],
                launch: *profile.launches.get(launch as usize)?,
                durations: Summary::of(&durations)?,
            })
        })
        .collect();
    rows.sort_by_key(|row| Reverse(row.durations.sum));
    rows
}

fn build(analysis: &RocprofAnalysis) -> PolarsResult<Option<DataFrame>> {
    let rows = rows(analysis);
    if !rows.iter().any(|row| is_described(&row.launch)) {
        return Ok(None);
    }
    let waves = |row: &Row<'_>| waves_per_work_group(&row.launch, row.hardware.wave_size?);
    let occupancies: Vec<Option<Occupancy>> =
        rows.iter().map(|row| occupancy(&row.hardware, &row.launch)).collect();
    let of_occupancy = |figure: fn(&Occupancy) -> u32| {
        occupancies.iter().map(move |it| it.as_ref().map(figure).map(i64::from))
    };

    let mut frame = FrameBuilder::default();
    frame.text("name", rows.iter().map(|row| Some(row.name)));
    frame.text("target", rows.iter().map(|row| row.hardware.target));
    frame.text("grid", rows.iter().map(|row| row.literal(row.blocks())));
    frame.text("work_group", rows.iter().map(|row| row.literal(row.launch.workgroup)));
    frame.integer("Work Groups", rows.iter().map(|row| whole(row.work_groups())));
    frame.integer("Work Items per Group", rows.iter().map(|row| whole(product(row.launch.workgroup))));
    frame.integer("Waves per Group", rows.iter().map(|row| waves(row).map(i64::from)));
    frame.float("Work Groups per CU", rows.iter().map(Row::groups_per_compute_unit));
    frame.integer("VGPRs", rows.iter().map(|row| row.registers(row.launch.vgprs)));
    frame.integer("Accumulation VGPRs", rows.iter().map(|row| row.registers(row.launch.accum_vgprs)));
    frame.integer("SGPRs", rows.iter().map(|row| row.registers(row.launch.sgprs)));
    frame.integer("LDS (bytes)", rows.iter().map(|row| Some(i64::from(row.launch.group_segment))));
    frame.integer("Scratch (bytes)", rows.iter().map(|row| Some(i64::from(row.launch.private_segment))));
    frame.integer("Waves per SIMD by VGPRs", of_occupancy(|it| it.waves_by_registers));
    frame.integer("Resident Groups per CU", of_occupancy(|it| it.work_groups));
    frame.float("Theoretical Occupancy (%)", occupancies.iter().map(|it| it.map(|it| it.percent)));
    frame.text("occupancy_limit", occupancies.iter().map(|it| it.map(|it| it.limit)));
    frame.integer("Count", rows.iter().map(|row| Some(row.durations.count as i64)));
    append_durations(&mut frame, &rows.iter().map(|row| row.durations).collect::<Vec<_>>());
    frame.shares(rows.iter().map(|row| row.durations.sum));
    frame.finish().map(Some)
}
