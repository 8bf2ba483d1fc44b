//! Peaks of Tenstorrent's chips, one table.

use std::fmt;

use crate::fidelity::Fidelity;

/// A chip and what it can do at best. Figures are those of one chip (ASIC), not of a board with several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chip {
    /// Name, as options take it.
    pub name: &'static str,
    /// Other names: of boards that carry it, and what the profiler calls it.
    pub aliases: &'static [&'static str],
    /// Cores that programs can use, for files that do not say.
    pub worker_cores: u32,
    /// Cores that take part in a product whose weights are sharded over the DRAM banks.
    pub dram_sharded_cores: u32,
    /// In 1e9 bytes per second.
    pub dram_gb_per_s: f64,
    /// In 1e12 floating point operations per second, of one core, from [`Fidelity::HiFi4`] to [`Fidelity::LoFi`]: the
    /// more passes over the bits of the operands, the slower.
    pub tflops_per_core: [f64; 4],
    /// Where the figures are from.
    pub source: &'static str,
}

/// Peaks of a core whose products take one pass at `lofi`, and with every other fidelity as many times as long as it
/// has passes.
const fn by_passes(lofi: f64) -> [f64; 4] {
    [lofi / 4.0, lofi / 3.0, lofi / 2.0, lofi]
}

impl Chip {
    /// Peak of one core in 1e12 operations per second at a fidelity as the profiler writes it (`HiFi2`).
    pub fn tflops_per_core(&self, fidelity: &str) -> Option<f64> {
        Fidelity::from_name(fidelity).map(|fidelity| self.tflops_per_core[fidelity as usize])
    }
}

/// No chip has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnknownChip {
    /// The name.
    pub name: String,
}

impl fmt::Display for UnknownChip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown chip '{}'; known chips: ", self.name.escape_default())?;
        for (position, chip) in CHIPS.iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(f, "{comma}{}", chip.name)?;
            if !chip.aliases.is_empty() {
                write!(f, " (or {})", chip.aliases.join(", "))?;
            }
        }
        Ok(())
    }
}

/// A Tensix core of Blackhole: 4096 operations a cycle in one pass.
const BLACKHOLE_OPS_PER_CYCLE: f64 = 4096.0;

/// Blackhole's core at 1.35 GHz.
const BLACKHOLE_PEAKS: [f64; 4] = by_passes(BLACKHOLE_OPS_PER_CYCLE * 1.35 / 1000.0);

const CHIPS: &[Chip] = &[
    Chip {
        name: "wormhole",
        aliases: &["wormhole_b0", "n150", "n150d", "n150s", "n300", "n300d", "n300s"],
        worker_cores: 64,
        dram_sharded_cores: 12,
        dram_gb_per_s: 288.0,
        tflops_per_core: [74.0 / 72.0, 74.0 / 72.0 * 4.0 / 3.0, 148.0 / 72.0, 262.0 / 72.0],
        source: "Tenstorrent, Wormhole add-in boards, specifications: n150 has 72 cores, 288 GB/s, 262 TFLOPS (FP8), \
                 148 (block FP8), 74 (FP16); n300 twice the bandwidth on two chips. tt-metal: 64 cores for programs, \
                 12 DRAM banks",
    },
    Chip {
        name: "blackhole",
        aliases: &["p150", "p150a", "p150b", "p150c", "blackhole_p150"],
        worker_cores: 110,
        dram_sharded_cores: 8,
        dram_gb_per_s: 512.0,
        tflops_per_core: BLACKHOLE_PEAKS,
        source: "Tenstorrent, Blackhole p150: 8 channels of GDDR6 at 16 GT/s, 512 GB/s, 1.35 GHz; tt-perf-report: \
                 4096 operations per cycle per core, 110 cores for programs",
    },
    Chip {
        name: "blackhole_p100",
        aliases: &["p100", "p100a", "blackhole_p100a"],
        worker_cores: 110,
        dram_sharded_cores: 7,
        dram_gb_per_s: 448.0,
        tflops_per_core: BLACKHOLE_PEAKS,
        source: "Tenstorrent, Blackhole p100a: 7 channels of GDDR6 at 16 GT/s, 448 GB/s, 1.35 GHz; otherwise as p150",
    },
    Chip {
        name: "bh20",
        aliases: &[],
        worker_cores: 20,
        dram_sharded_cores: 8,
        dram_gb_per_s: 512.0,
        tflops_per_core: BLACKHOLE_PEAKS,
        source: "tt-perf-report: Blackhole with 20 cores for programs",
    },
    Chip {
        name: "n1",
        aliases: &[],
        worker_cores: 20,
        dram_sharded_cores: 8,
        dram_gb_per_s: 120.0,
        tflops_per_core: by_passes(BLACKHOLE_OPS_PER_CYCLE * 0.65 / 1000.0),
        source: "tt-perf-report: 20 cores at 0.65 GHz, 120 GB/s",
    },
    Chip {
        name: "grayskull",
        aliases: &["e150", "grayskull_e150"],
        worker_cores: 108,
        dram_sharded_cores: 8,
        dram_gb_per_s: 118.4,
        tflops_per_core: by_passes(332.0 / 120.0),
        source: "Tenstorrent, Grayskull e150, specifications: 120 cores, 118.4 GB/s of LPDDR4 on 8 channels, \
                 332 TFLOPS (FP8), 83 (FP16); tt-metal: 108 cores for programs",
    },
    Chip {
        name: "grayskull_e75",
        aliases: &["e75"],
        worker_cores: 88,
        dram_sharded_cores: 8,
        dram_gb_per_s: 102.4,
        tflops_per_core: by_passes(221.0 / 96.0),
        source: "Tenstorrent, Grayskull e75, specifications: 96 cores, 102.4 GB/s of LPDDR4 on 8 channels, \
                 221 TFLOPS (FP8), 55 (FP16); tt-metal: 88 cores for programs",
    },
];

/// All chips whose peaks are known.
pub fn chips() -> &'static [Chip] {
    CHIPS
}

/// The chip of a name or another name of it, in any case.
///
/// # Errors
/// [`UnknownChip`], which lists the known names.
pub fn chip(name: &str) -> Result<&'static Chip, UnknownChip> {
    let wanted = name.trim();
    let is_it = |known: &&str| known.eq_ignore_ascii_case(wanted);
    CHIPS
        .iter()
        .find(|chip| is_it(&chip.name) || chip.aliases.iter().any(&is_it))
        .ok_or_else(|| UnknownChip { name: wanted.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_is_found_by_every_name_in_any_case() {
        let cases = [
            ("wormhole_b0", "wormhole"),
            ("Wormhole", "wormhole"),
            ("n300", "wormhole"),
            ("P150b", "blackhole"),
            ("blackhole_p150", "blackhole"),
            ("p100a", "blackhole_p100"),
            ("BH20", "bh20"),
            ("n1", "n1"),
            ("grayskull", "grayskull"),
            ("e75", "grayskull_e75"),
        ];
        for (name, expected) in cases {
            assert_eq!(chip(name).map(|chip| chip.name), Ok(expected), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = chip("quasar").unwrap_err().to_string();
        assert!(
            message.starts_with("unknown chip 'quasar'; known chips: wormhole (or wormhole_b0, "),
            "{message}"
        );
        for known in chips() {
            assert!(message.contains(known.name), "{message} lacks {}", known.name);
        }
    }

    #[test]
    fn names_are_not_shared() {
        let mut names: Vec<&str> =
            chips().iter().flat_map(|chip| chip.aliases.iter().copied().chain([chip.name])).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn peaks_per_core_are_those_published() {
        let cases = [
            ("wormhole", [1.0277777777777777, 1.3703703703703702, 2.0555555555555554, 3.638888888888889]),
            ("blackhole", [1.3824, 1.8432, 2.7648, 5.5296]),
            ("blackhole_p100", [1.3824, 1.8432, 2.7648, 5.5296]),
            ("n1", [0.6656, 0.8874666666666667, 1.3312, 2.6624]),
        ];
        for (name, expected) in cases {
            let chip = chip(name).unwrap();
            for (fidelity, expected) in ["HiFi4", "HiFi3", "HiFi2", "LoFi"].into_iter().zip(expected) {
                let peak = chip.tflops_per_core(fidelity).unwrap();
                assert!((peak - expected).abs() < 1e-12, "{name} {fidelity}: {peak}");
            }
        }
        assert_eq!(chip("n1").unwrap().tflops_per_core("HiFi5"), None);
        let e150 = chip("e150").unwrap();
        assert_eq!(e150.tflops_per_core("HiFi4").map(|peak| peak * 120.0), Some(83.0));
    }
}
