//! How kernels were launched: work groups, registers, memory, and the occupancy that these allow.

use gpu_timeline::{Summary, summaries};
use sheets::ColumnKind::{Number, Whole};
use sheets::Unit::{Bytes, One};
use sheets::columns::{CUMULATIVE, SHARE_OF_KERNEL_TIME};
use sheets::{Column, Nested, Role, Sheet, shares};
use trace_ingest::rocprof::Launch;

use super::counters::{NAME, TARGET};
use crate::analysis::RocprofAnalysis;
use crate::hardware::{Hardware, HardwareKinds, Occupancy, occupancy, waves_per_work_group};
use operator_sheets::durations::durations;

pub(super) fn sheet<'a>() -> Sheet<'a, RocprofAnalysis> {
    let configuration = [
        NAME.field(|row: &Row<'_>| row.name.into()),
        TARGET.field(|row: &Row<'_>| row.hardware.target.into()),
        Column::nested("grid", "Work groups per dimension, or their product if only that is recorded.").with_role(Role::Name).field(|row: &Row<'_>| row.extents(row.blocks()).into()),
        Column::nested("work_group", "Work items per work group, by dimension, or their product if only that is recorded.").with_role(Role::Name).field(|row: &Row<'_>| row.extents(row.launch.workgroup).into()),
        Column::count("Work Groups", "Work groups per launch.").per("launch").field(|row: &Row<'_>| row.work_groups().into()),
        Column::count("Work Items per Group", "Work group size.").per("work group").field(|row: &Row<'_>| product(row.launch.workgroup).into()),
        Column::count("Waves per Group", "Work items per work group / wave size, rounded up.").per("work group").field(|row: &Row<'_>| {
            row.hardware.wave_size.and_then(|size| waves_per_work_group(&row.launch, size)).into()
        }),
        Column::new("Work Groups per CU", Number(One), "Work groups per launch / compute units of the GPU; below 1, some units are unused.").per("compute unit").field(|row: &Row<'_>| row.groups_per_compute_unit().into()),
        Column::count("VGPRs", "Vector registers per work item; empty if the format lacks registers.").distinguishing().per("work item").field(|row: &Row<'_>| row.registers(row.launch.vgprs).into()),
        Column::count("Accumulation VGPRs", "Accumulation registers per work item.").distinguishing().per("work item").field(|row: &Row<'_>| row.registers(row.launch.accum_vgprs).into()),
        Column::count("SGPRs", "Scalar registers per wave.").distinguishing().per("wave").field(|row: &Row<'_>| row.registers(row.launch.sgprs).into()),
        Column::new("LDS (bytes)", Whole(Bytes), "Local data share per work group, in bytes.").distinguishing().per("work group").field(|row: &Row<'_>| row.launch.group_segment.into()),
        Column::new("Scratch (bytes)", Whole(Bytes), "Scratch memory per work item; above 0 if registers spill or local arrays are indexed dynamically.").distinguishing().per("work item").field(|row: &Row<'_>| row.launch.private_segment.into()),
        Column::count("Waves per SIMD by VGPRs", "Waves per SIMD unit allowed by its vector registers, at most its wave slots: on gfx90a and later 512 per lane / (VGPRs rounded up to a multiple of 4 plus accumulation VGPRs, the sum rounded up to a multiple of 8), on older targets 256 / VGPRs (rounded up to a multiple of 4).").per("simd").field(|row: &Row<'_>| {
            row.occupancy.map(|it| it.waves_by_registers).into()
        }),
        Column::count("Resident Groups per CU", "Maximum work groups per compute unit: the minimum allowed by its wave slots, vector registers, local data share (in steps of 512 bytes, 1280 on gfx950) and the limit of 16 multi-wave work groups.").per("compute unit").field(|row: &Row<'_>| row.occupancy.map(|it| it.work_groups).into()),
        Column::percent("Theoretical Occupancy (%)", "Waves of the resident work groups / wave slots of the compute unit; empty if the format lacks registers or GPU limits, and for targets other than gfx9.").field(|row: &Row<'_>| {
            row.occupancy.map(|it| it.percent).into()
        }),
        Column::text("occupancy_limit", "Resource that limits the occupancy.").with_role(Role::Detail).field(|row: &Row<'_>| row.occupancy.map(|it| it.limit).into()),
        Column::count("Count", "Number of launches on all GPUs of this model.").field(|row: &Row<'_>| row.durations.count.into()),
    ];
    let fields = configuration
        .into_iter()
        .chain(durations("launch", |row: &Row<'_>| &row.durations))
        .chain(shares(SHARE_OF_KERNEL_TIME, CUMULATIVE, |row: &Row<'_>| row.durations.sum));
    Sheet::new(
        "kernel_launch_shapes",
        "Launch configurations by kernel and GPU model, most time first.",
        fields,
        |analysis| {
            let rows = rows(analysis);
            let is_described = rows.iter().any(|row| is_described(&row.launch));
            if is_described { rows } else { Vec::new() }
        },
    )
}

/// A kernel in a launch configuration on a kind of GPU.
struct Row<'a> {
    name: &'a str,
    hardware: Hardware<'a>,
    launch: Launch,
    durations: Summary,
    occupancy: Option<Occupancy>,
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

    /// `None` where the format gives no registers.
    fn registers(&self, count: u32) -> Option<u32> {
        let Launch { vgprs, accum_vgprs, sgprs, .. } = self.launch;
        ([vgprs, accum_vgprs, sgprs] != [0; 3]).then_some(count)
    }

    fn extents(&self, extents: [u32; 3]) -> Nested {
        let [x, y, z] = extents.map(|extent| Nested::Whole(extent.into()));
        if self.launch.products_only { x } else { Nested::Tuple(vec![x, y, z]) }
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
    let hardware = HardwareKinds::new(profile);
    let durations = profile.dispatches.iter().map(|dispatch| {
        let name = analysis.name_of_kernel(dispatch.kernel);
        ((name, hardware.position(dispatch.agent), dispatch.launch), dispatch.duration().0)
    });
    let row = |((name, kind, launch), durations): ((u32, usize, u32), Summary)| {
        let hardware = hardware.kinds[kind];
        let launch = *profile.launches.get(launch as usize)?;
        let occupancy = occupancy(&hardware, &launch);
        Some(Row { name: &analysis.names()[name as usize], hardware, launch, durations, occupancy })
    };
    summaries(durations).into_iter().filter_map(row).collect()
}
