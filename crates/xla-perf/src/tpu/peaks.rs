//! What a core can do, as its plane says.

use std::fmt;

const GIB: f64 = (1_u64 << 30) as f64;

/// Giga per second as gibi per second.
pub(super) fn giga_to_gibi(giga: f64) -> f64 {
    giga * 1e9 / GIB
}

/// Highest rates of one core. Rates of memories are 0 where the device has no such memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peaks {
    /// Floating-point operations, in TFLOP/s.
    pub teraflops: f64,
    /// High-bandwidth memory, reads and writes together, in GB/s.
    pub hbm: f64,
    /// Memory on the chip, reads, in GB/s.
    pub sram_read: f64,
    /// Memory on the chip, writes, in GB/s.
    pub sram_write: f64,
    /// Common memory, reads, in GB/s.
    pub cmem_read: f64,
    /// Common memory, writes, in GB/s.
    pub cmem_write: f64,
    /// Vector memory, reads, in GB/s.
    pub vmem_read: f64,
    /// Vector memory, writes, in GB/s.
    pub vmem_write: f64,
    /// Whether vector memory is one with the rest of the memory on the chip.
    pub has_merged_vmem: bool,
    /// Whether two cores work as one.
    pub has_megacore: bool,
}

/// Figures that no roofline can do without and that a plane does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingPeaks(pub Vec<&'static str>);

impl fmt::Display for MissingPeaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("the profile has no plane of a tensor core"),
            names => write!(f, "the plane of the device does not say {}", names.join(" and ")),
        }
    }
}

impl Peaks {
    /// Peaks from the figures of a plane, by their names there.
    ///
    /// # Errors
    /// When the peak of arithmetic or of the memory is absent or 0: nothing can be held against it.
    pub fn from_figures(figure: impl Fn(&str) -> Option<f64>) -> Result<Self, MissingPeaks> {
        const FLOPS: &str = "peak_teraflops_per_second";
        const HBM: &str = "peak_hbm_bw_gigabytes_per_second";
        let known = |name: &str| figure(name).filter(|value| value.is_finite() && *value > 0.0);
        let missing: Vec<&'static str> =
            [FLOPS, HBM].into_iter().filter(|name| known(name).is_none()).collect();
        let (Some(teraflops), Some(hbm)) = (known(FLOPS), known(HBM)) else {
            return Err(MissingPeaks(missing));
        };
        let rate = |memory: &str| known(&format!("peak_{memory}_bw_gigabytes_per_second")).unwrap_or(0.0);
        Ok(Peaks {
            teraflops,
            hbm,
            sram_read: rate("sram_rd"),
            sram_write: rate("sram_wr"),
            cmem_read: rate("cmem_rd"),
            cmem_write: rate("cmem_wr"),
            vmem_read: rate("vmem_rd"),
            vmem_write: rate("vmem_wr"),
            has_merged_vmem: known("has_merged_vmem").is_some(),
            has_megacore: known("has_megacore").is_some(),
        })
    }

    /// Whether the device has common memory.
    #[must_use]
    pub fn has_cmem(&self) -> bool {
        self.cmem_read > 0.0 || self.cmem_write > 0.0
    }

    /// Intensity at which arithmetic and a memory of this rate, in GB/s, bind alike, in FLOP/byte; `None` without
    /// such a memory.
    #[must_use]
    pub fn ridge_point(&self, memory: f64) -> Option<f64> {
        (memory > 0.0).then(|| self.teraflops * 1e3 / memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ridge_is_where_both_bind() {
        let v6e = Peaks { teraflops: 918.0, hbm: 1637.993152512, ..Peaks::default() };
        assert!((v6e.ridge_point(v6e.hbm).unwrap() - 560.442).abs() < 1e-3);
        assert_eq!(v6e.ridge_point(v6e.cmem_read), None);
        assert!((giga_to_gibi(v6e.hbm) - 1525.50).abs() < 1e-2);
    }

    #[test]
    fn absent_peaks_are_named() {
        let none = Peaks::from_figures(|_| None).unwrap_err();
        assert_eq!(
            none.to_string(),
            "the plane of the device does not say peak_teraflops_per_second and peak_hbm_bw_gigabytes_per_second"
        );
        let zero = Peaks::from_figures(|name| name.contains("hbm").then_some(0.0).or(Some(1.0))).unwrap_err();
        assert_eq!(zero, MissingPeaks(vec!["peak_hbm_bw_gigabytes_per_second"]));
    }
}
