//! The GPUs that kernels ran on, what they have, and how many waves of a launch find room on them. GPUs that are alike
//! are one.

use trace_ingest::rocprof::{Agent, Launch, Profile};

/// What a kind of GPU has. Figures are `None` where the format does not give them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Hardware<'p> {
    /// Target without features, such as `gfx942`.
    pub(crate) target: Option<&'p str>,
    pub(crate) compute_units: Option<u32>,
    pub(crate) simds: Option<u32>,
    pub(crate) max_waves_per_simd: Option<u32>,
    pub(crate) wave_size: Option<u32>,
    pub(crate) lds_bytes: Option<u64>,
    pub(crate) dies: Option<u32>,
    /// In bytes per second.
    pub(crate) memory_bandwidth: Option<f64>,
}

impl<'p> Hardware<'p> {
    fn new(agent: &'p Agent) -> Self {
        let count = |figure: Option<u32>| figure.filter(|&figure| figure > 0);
        Hardware {
            target: agent.name.as_deref().map(|name| name.split(':').next().unwrap_or(name)),
            compute_units: count(agent.compute_units),
            simds: count(agent.simds_per_compute_unit),
            max_waves_per_simd: count(agent.max_waves_per_simd),
            wave_size: count(agent.wave_size),
            lds_bytes: count(agent.lds_kib).map(|kib| u64::from(kib) << 10),
            dies: count(agent.dies),
            memory_bandwidth: agent.memory_bandwidth.filter(|&bandwidth| bandwidth > 0.0),
        }
    }

    /// Waves that a compute unit holds at most.
    pub(crate) fn wave_slots(&self) -> Option<u32> {
        self.simds?.checked_mul(self.max_waves_per_simd?)
    }
}

/// The kinds of GPU of a profile; the first is that of kernels whose agent is not known.
pub(crate) struct HardwareKinds<'p> {
    pub(crate) kinds: Vec<Hardware<'p>>,
    agent_kinds: Vec<usize>,
}

impl<'p> HardwareKinds<'p> {
    pub(crate) fn new(profile: &'p Profile) -> Self {
        let mut kinds = vec![Hardware::default()];
        let agent_kinds = profile
            .agents
            .iter()
            .map(|agent| {
                let hardware = Hardware::new(agent);
                kinds.iter().position(|kind| *kind == hardware).unwrap_or_else(|| {
                    kinds.push(hardware);
                    kinds.len() - 1
                })
            })
            .collect();
        HardwareKinds { kinds, agent_kinds }
    }

    /// Position of the kind of an agent.
    pub(crate) fn position(&self, agent: Option<u32>) -> usize {
        agent.and_then(|agent| self.agent_kinds.get(agent as usize).copied()).unwrap_or_default()
    }
}

/// How many waves a compute unit can hold of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Occupancy {
    /// Waves per SIMD unit that the vector registers leave room for.
    pub(crate) waves_by_registers: u32,
    /// Work groups per compute unit.
    pub(crate) work_groups: u32,
    /// Waves of these over the wave slots of the compute unit, in percent.
    pub(crate) percent: f64,
    /// What keeps a further work group out.
    pub(crate) limit: &'static str,
}

/// Vector registers per lane of a SIMD unit and how they are handed out, after LLVM's AMDGPU back end
/// (`AMDGPUUsage`, kernel descriptor; `AMDGPUBaseInfo`).
enum RegisterFile {
    /// Accumulation registers follow the others, from a multiple of 4, out of 512 in steps of 8.
    Unified,
    /// Two files of 256, in steps of 4.
    Separate,
    /// 256 in steps of 4, no accumulation registers.
    VectorOnly,
}

impl RegisterFile {
    fn from_target(target: &str) -> Option<Self> {
        match target {
            "gfx90a" | "gfx940" | "gfx941" | "gfx942" | "gfx950" => Some(RegisterFile::Unified),
            "gfx908" => Some(RegisterFile::Separate),
            "gfx900" | "gfx902" | "gfx904" | "gfx906" | "gfx909" | "gfx90c" => Some(RegisterFile::VectorOnly),
            _ => None,
        }
    }

    /// Waves that find room; 0 when not even one does.
    fn waves(&self, vgprs: u32, accum_vgprs: u32) -> u32 {
        let multiple = |count: u32, of: u32| count.div_ceil(of).saturating_mul(of);
        let (file, used) = match self {
            RegisterFile::Unified => (512, multiple(multiple(vgprs, 4).saturating_add(accum_vgprs), 8)),
            RegisterFile::Separate => (256, multiple(vgprs.max(accum_vgprs), 4)),
            RegisterFile::VectorOnly => (256, multiple(vgprs, 4)),
        };
        file / used.max(1)
    }
}

/// Work groups with barriers that a compute unit keeps track of.
const MOST_WORK_GROUPS: u32 = 16;

/// Step in which the local data share is handed out, in bytes.
fn lds_step(target: &str) -> u64 {
    if target == "gfx950" { 1280 } else { 512 }
}

/// The occupancy of a launch. `None` where the target is not known, the format does not give registers or limits, or
/// its figures leave no room for a single work group. Scalar registers are not looked at: these GPUs have as many as
/// all waves can use.
pub(crate) fn occupancy(hardware: &Hardware<'_>, launch: &Launch) -> Option<Occupancy> {
    let target = hardware.target?;
    let file = RegisterFile::from_target(target)?;
    // Every kernel has vector registers.
    if launch.vgprs == 0 && launch.accum_vgprs == 0 {
        return None;
    }
    let (simds, slots) = (hardware.simds?, hardware.wave_slots()?);
    let waves = waves_per_work_group(launch, hardware.wave_size?)?;
    let waves_by_registers = file.waves(launch.vgprs, launch.accum_vgprs).min(hardware.max_waves_per_simd?);
    let by_lds = match u64::from(launch.group_segment) {
        0 => u32::MAX,
        bytes => {
            let step = lds_step(target);
            let groups = hardware.lds_bytes? / bytes.div_ceil(step).saturating_mul(step);
            u32::try_from(groups).unwrap_or(u32::MAX)
        }
    };
    let limits = [
        (slots / waves, "wave slots"),
        (simds.saturating_mul(waves_by_registers) / waves, "vector registers"),
        (by_lds, "local data share"),
        (if waves > 1 { MOST_WORK_GROUPS } else { u32::MAX }, "work groups"),
    ];
    let (work_groups, limit) = limits.into_iter().min_by_key(|&(groups, _)| groups)?;
    (work_groups > 0).then(|| Occupancy {
        waves_by_registers,
        work_groups,
        percent: f64::from(work_groups.saturating_mul(waves)) / f64::from(slots) * 100.0,
        limit,
    })
}

/// Waves of a work group; `None` for one without work items.
pub(crate) fn waves_per_work_group(launch: &Launch, wave_size: u32) -> Option<u32> {
    let items = launch.workgroup.iter().fold(1_u32, |product, &extent| product.saturating_mul(extent));
    (items > 0 && wave_size > 0).then(|| items.div_ceil(wave_size))
}

#[cfg(test)]
mod tests {
    use trace_ingest::rocprof::Launch;

    use super::{Hardware, occupancy};

    fn gpu(target: &str, lds_kib: u64) -> Hardware<'_> {
        Hardware {
            target: Some(target),
            compute_units: Some(304),
            simds: Some(4),
            max_waves_per_simd: Some(8),
            wave_size: Some(64),
            lds_bytes: Some(lds_kib << 10),
            ..Hardware::default()
        }
    }

    fn launch(items: u32, vgprs: u32, accum_vgprs: u32, group_segment: u32) -> Launch {
        Launch { workgroup: [items, 1, 1], vgprs, accum_vgprs, group_segment, ..Launch::default() }
    }

    #[test]
    fn the_scarcest_resource_limits_the_waves() {
        // target, LDS in KiB, launch, waves per SIMD by registers, work groups, percent, limit
        let cases = [
            ("gfx942", 64, launch(256, 64, 0, 0), 8, 8, 100.0, "wave slots"),
            ("gfx942", 64, launch(256, 65, 0, 0), 7, 7, 87.5, "vector registers"),
            ("gfx942", 64, launch(256, 128, 128, 0), 2, 2, 25.0, "vector registers"),
            // 66 rounds up to 68, and with 60 makes 128.
            ("gfx90a", 64, launch(256, 66, 60, 0), 4, 4, 50.0, "vector registers"),
            ("gfx942", 64, launch(256, 32, 0, 20_000), 8, 3, 37.5, "local data share"),
            // 16385 bytes take 33 steps of 512, and 32001 bytes 26 steps of 1280.
            ("gfx942", 64, launch(256, 32, 0, 16_385), 8, 3, 37.5, "local data share"),
            ("gfx950", 160, launch(256, 32, 0, 32_001), 8, 4, 50.0, "local data share"),
            ("gfx942", 64, launch(64, 32, 0, 0), 8, 32, 100.0, "wave slots"),
            ("gfx942", 64, launch(65, 32, 0, 0), 8, 16, 100.0, "wave slots"),
            ("gfx942", 64, launch(192, 32, 0, 0), 8, 10, 93.75, "wave slots"),
            ("gfx908", 64, launch(256, 64, 128, 0), 2, 2, 25.0, "vector registers"),
            ("gfx906", 64, launch(256, 64, 128, 0), 4, 4, 50.0, "vector registers"),
        ];
        for (target, lds, launch, waves, groups, percent, limit) in cases {
            let found = occupancy(&gpu(target, lds), &launch).unwrap();
            let figures = (found.waves_by_registers, found.work_groups, found.percent, found.limit);
            assert_eq!(figures, (waves, groups, percent, limit), "{target} {launch:?}");
        }
    }

    #[test]
    fn barriers_limit_the_work_groups_of_gpus_with_many_slots() {
        let hardware = Hardware { max_waves_per_simd: Some(10), ..gpu("gfx906", 64) };
        let found = occupancy(&hardware, &launch(128, 24, 0, 0)).unwrap();
        assert_eq!((found.work_groups, found.percent, found.limit), (16, 80.0, "work groups"));
    }

    #[test]
    fn what_is_not_known_has_no_occupancy() {
        let known = gpu("gfx942", 64);
        let cases = [
            ("no registers", known, launch(256, 0, 0, 0)),
            ("no work items", known, launch(0, 32, 0, 0)),
            ("other target", gpu("gfx1100", 64), launch(256, 32, 0, 0)),
            ("no target", Hardware { target: None, ..known }, launch(256, 32, 0, 0)),
            ("no limits", Hardware { simds: None, ..known }, launch(256, 32, 0, 0)),
            ("no size of the share", Hardware { lds_bytes: None, ..known }, launch(256, 32, 0, 1)),
            ("no room", known, launch(1024, 512, 0, 0)),
            ("more than there is", known, launch(256, 32, 0, 70_000)),
            ("more registers than there are", known, launch(64, u32::MAX, u32::MAX, 0)),
        ];
        for (case, hardware, launch) in cases {
            assert_eq!(occupancy(&hardware, &launch), None, "{case}");
        }
    }
}
