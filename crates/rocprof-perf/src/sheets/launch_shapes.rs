//! How kernels were launched: work groups, registers, memory, and the occupancy that these allow.

use gpu_timeline::{Summary, summaries};
use operator_sheets::columns::{CUMULATIVE, SHARE_OF_KERNEL_TIME};
use sheets::ColumnKind::{Count, Number, Text, Whole};
use sheets::Unit::{Bytes, One, Percent};
use sheets::{ColumnKind, Field, Nested, Role, Sheet, shares};
use trace_ingest::rocprof::Launch;

use super::counters::{NAME, TARGET};
use crate::analysis::RocprofAnalysis;
use crate::hardware::{Hardware, HardwareKinds, Occupancy, occupancy, waves_per_work_group};
use operator_sheets::durations::durations;

pub(super) fn sheet<'a>() -> Sheet<'a, RocprofAnalysis> {
    type F<'a> = Field<(), Row<'a>>;
    let configuration = [
        F::from_column(NAME, |_, row| row.name.into()),
        F::from_column(TARGET, |_, row| row.hardware.target.into()),
        F::new(ColumnKind::Nested, "grid", |_, row| row.extents(row.blocks()).into())
            .described("Work groups per dimension; their product alone where the format gives products.").with_role(Role::Name),
        F::new(ColumnKind::Nested, "work_group", |_, row| row.extents(row.launch.workgroup).into())
            .described("Work items of a work group per dimension; their product alone where the format gives products.").with_role(Role::Name),
        F::new(Count, "Work Groups", |_, row| row.work_groups().into())
            .described("Work groups of a launch.")
            .per("launch"),
        F::new(Count, "Work Items per Group", |_, row| product(row.launch.workgroup).into())
            .described("Work items of a work group.")
            .per("work group"),
        F::new(Count, "Waves per Group", |_, row| {
            row.hardware.wave_size.and_then(|size| waves_per_work_group(&row.launch, size)).into()
        })
        .described("Work items of a work group over the lanes of a wave, rounded up.")
        .per("work group"),
        F::new(Number(One), "Work Groups per CU", |_, row| row.groups_per_compute_unit().into())
            .described("Work groups of a launch over the compute units of the GPU: below 1, some have nothing to do.")
            .per("compute unit"),
        F::new(Count, "VGPRs", |_, row| row.registers(row.launch.vgprs).into())
            .described("Vector registers of a work item; empty where the format gives no registers.").distinguishing().per("work item"),
        F::new(Count, "Accumulation VGPRs", |_, row| row.registers(row.launch.accum_vgprs).into())
            .described("Accumulation registers of a work item.").distinguishing().per("work item"),
        F::new(Count, "SGPRs", |_, row| row.registers(row.launch.sgprs).into())
            .described("Scalar registers of a wave.").distinguishing().per("wave"),
        F::new(Whole(Bytes), "LDS (bytes)", |_, row| row.launch.group_segment.into())
            .described("Local data share of a work group, in bytes.").distinguishing().per("work group"),
        F::new(Whole(Bytes), "Scratch (bytes)", |_, row| row.launch.private_segment.into())
            .described("Scratch memory of a work item, in bytes: more than 0 says that registers were spilled or arrays indexed.").distinguishing().per("work item"),
        F::new(Count, "Waves per SIMD by VGPRs", |_, row| {
            row.occupancy.map(|it| it.waves_by_registers).into()
        })
        .described("Waves that a SIMD unit's vector registers leave room for, at most its wave slots: on gfx90a and later 512 per lane over VGPRs (to a multiple of 4) plus accumulation VGPRs (to a multiple of 8 together), on older targets 256 over VGPRs (to a multiple of 4).")
        .per("simd"),
        F::new(Count, "Resident Groups per CU", |_, row| row.occupancy.map(|it| it.work_groups).into())
            .described("Work groups that a compute unit holds at most: the least that its wave slots, vector registers, local data share (handed out in steps of 512 bytes, on gfx950 of 1280) and the 16 work groups of several waves leave room for.")
            .per("compute unit"),
        F::new(Number(Percent), "Theoretical Occupancy (%)", |_, row| {
            row.occupancy.map(|it| it.percent).into()
        })
        .described("Waves of these work groups over the wave slots of the compute unit, in percent; empty where the format lacks registers or limits of the GPU, and for targets other than gfx9."),
        F::new(Text, "occupancy_limit", |_, row| row.occupancy.map(|it| it.limit).into())
            .described("What keeps a further work group out.").with_role(Role::Detail),
        F::new(Count, "Count", |_, row| row.durations.count.into())
            .described("Launches on all GPUs of the kind."),
    ];
    let fields = configuration
        .into_iter()
        .chain(durations("launch", |row: &Row<'_>| &row.durations))
        .chain(shares(SHARE_OF_KERNEL_TIME, CUMULATIVE, |row: &Row<'_>| row.durations.sum));
    Sheet::new(
        "kernel_launch_shapes",
        "How kernels were launched, by kernel, kind of GPU and configuration, most time first.",
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
