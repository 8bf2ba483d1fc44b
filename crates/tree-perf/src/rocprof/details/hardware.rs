//! Limits and counts of the GPUs that kernels ran on. GPUs that are alike are one.

use trace_ingest::rocprof::{Agent, Profile};

/// What a kind of GPU has. Figures are `None` where the format does not give them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Hardware<'p> {
    /// Target without features, such as `gfx942`.
    pub(super) target: Option<&'p str>,
    pub(super) compute_units: Option<u32>,
    pub(super) simds: Option<u32>,
    pub(super) max_waves_per_simd: Option<u32>,
    pub(super) wave_size: Option<u32>,
    pub(super) lds_bytes: Option<u64>,
    pub(super) dies: Option<u32>,
    /// In bytes per second.
    pub(super) memory_bandwidth: Option<f64>,
}

impl<'p> Hardware<'p> {
    fn of(agent: &'p Agent) -> Self {
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
    pub(super) fn wave_slots(&self) -> Option<u32> {
        self.simds?.checked_mul(self.max_waves_per_simd?)
    }
}

/// The kinds of GPU of a profile; the first is that of kernels whose agent is not known.
pub(super) struct HardwareKinds<'p> {
    pub(super) kinds: Vec<Hardware<'p>>,
    of_agent: Vec<usize>,
}

impl<'p> HardwareKinds<'p> {
    pub(super) fn of(profile: &'p Profile) -> Self {
        let mut kinds = vec![Hardware::default()];
        let of_agent = profile
            .agents
            .iter()
            .map(|agent| {
                let hardware = Hardware::of(agent);
                kinds.iter().position(|kind| *kind == hardware).unwrap_or_else(|| {
                    kinds.push(hardware);
                    kinds.len() - 1
                })
            })
            .collect();
        HardwareKinds { kinds, of_agent }
    }

    /// Position of the kind of an agent.
    pub(super) fn position(&self, agent: Option<u32>) -> usize {
        agent.and_then(|agent| self.of_agent.get(agent as usize).copied()).unwrap_or_default()
    }
}
