use std::fmt;

use crate::{Architecture, ComputeSpec, Link, PerfModel, Undefined};

/// The least time in which a device can do some work, and what keeps it from being faster.
///
/// The work takes at least as long as its arithmetic at the peak of the unit that does it, and at least as
/// long as its bytes at the bandwidth of the memory, whichever is longer (Williams, Waterman, Patterson,
/// *Roofline*, Communications of the ACM 52(4), 2009). Work without arithmetic is bound by its bytes.
///
/// ```
/// use perf_models::{Bound, PeakBasis, Roofline, architecture};
///
/// // A matrix multiplication of 788×768 by 768×768 in BF16 with a bias.
/// let mi300x = architecture("MI300X").ok_or("not bundled")?.with_basis(PeakBasis::Achievable);
/// let roofline = Roofline::new(930_167_808.0, 3_601_920.0, Some("matrix_bf16".parse()?), &mi300x)?;
/// assert_eq!(roofline.bound(), Bound::Compute);
/// assert_eq!(roofline.time_us(), 1.313796338983051);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// Time of the arithmetic in microseconds; `None` for work without arithmetic, and for work that the
    /// model holds against no arithmetic unit.
    pub compute_us: Option<f64>,
    /// Time of the bytes in microseconds, on the way that they take.
    pub memory_us: f64,
    /// The peak that the arithmetic was held against. Not the model's own compute spec where the
    /// architecture states no peak for that; see [`Architecture::applicable_peak`].
    pub peak: Option<ComputeSpec>,
    /// What the bytes pass.
    pub path: DataPath,
    /// The peak that the arithmetic would be held against, had the architecture one: the bytes alone are, then. `None`
    /// where nothing is missing.
    pub missing_peak: Option<ComputeSpec>,
}

/// What the bytes of some work pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataPath {
    /// The device's memory.
    #[default]
    Memory,
    /// A link to the host or to another device.
    Link,
}

/// What bounds the speed of some work. Displays as reports print it: `COMPUTE_BOUND`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Its arithmetic.
    Compute,
    /// Its bytes, in the device's memory.
    Memory,
    /// Its bytes, on the link that they pass.
    Link,
    /// Not known: it takes at least the time of its bytes, but the architecture states no peak for its arithmetic.
    /// Displays as `BANDWIDTH_ONLY`.
    AtLeastMemory,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bound::Compute => "COMPUTE_BOUND",
            Bound::Memory => "MEMORY_BOUND",
            Bound::Link => "LINK_BOUND",
            Bound::AtLeastMemory => "BANDWIDTH_ONLY",
        })
    }
}

impl Roofline {
    /// The roofline of `flops` operations and `bytes` bytes on a device.
    ///
    /// The arithmetic is held against [`Architecture::applicable_peak`]. Work with arithmetic but without a compute
    /// spec is bound by its bytes.
    ///
    /// # Errors
    ///
    /// When the architecture states no peak for the compute spec, when there is no work at all, or when a
    /// figure is negative or no number.
    pub fn new(
        flops: f64,
        bytes: f64,
        spec: Option<ComputeSpec>,
        architecture: &Architecture,
    ) -> Result<Self, Undefined> {
        let roofline = Self::with_known_peaks(flops, bytes, spec, architecture)?;
        match roofline.missing_peak {
            Some(spec) => Err(no_peak(spec, architecture)),
            None => Ok(roofline),
        }
    }

    /// The roofline of `bytes` bytes that are copied over a link.
    #[must_use]
    pub fn over_link(bytes: f64, link: &Link) -> Self {
        Self::from_memory_time(bytes / (link.gb_per_s * 1e9) * 1e6, DataPath::Link)
    }

    fn from_memory_time(memory_us: f64, path: DataPath) -> Self {
        Roofline { compute_us: None, memory_us, peak: None, path, missing_peak: None }
    }

    /// As [`new`](Self::new), but work whose arithmetic has no peak is held against the bandwidth alone, and its
    /// roofline says so: [`missing_peak`](Self::missing_peak), [`Bound::AtLeastMemory`].
    ///
    /// ```
    /// use perf_models::{Bound, Roofline, architecture};
    ///
    /// // A kilobyte of FP8 vectors, for which the H100 states no rate.
    /// let h100 = architecture("h100-sxm").ok_or("not bundled")?;
    /// let roofline = Roofline::with_known_peaks(1024.0, 1024.0, Some("vector_fp8".parse()?), h100)?;
    /// assert_eq!(roofline.bound(), Bound::AtLeastMemory);
    /// assert_eq!(roofline.time_us(), 1024.0 / 3.35e6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), where there are no bytes either.
    pub fn with_known_peaks(
        flops: f64,
        bytes: f64,
        spec: Option<ComputeSpec>,
        architecture: &Architecture,
    ) -> Result<Self, Undefined> {
        let is_figure = |figure: f64| figure.is_finite() && figure >= 0.0;
        if !is_figure(flops) || !is_figure(bytes) {
            return Err(Undefined::arguments("FLOPs and bytes must be finite and not negative"));
        }
        if flops == 0.0 && bytes == 0.0 {
            return Err(Undefined::no_formula("neither FLOPs nor bytes are known"));
        }
        let memory_us = bytes / (architecture.memory_bandwidth_gb_per_s * 1e9) * 1e6;
        let memory_bound = Self::from_memory_time(memory_us, DataPath::Memory);
        let Some(spec) = spec.filter(|_| flops > 0.0) else { return Ok(memory_bound) };
        match architecture.applicable_peak(spec) {
            Some((peak, tflops)) => {
                let compute_us = Some(flops / (tflops * 1e12) * 1e6);
                Ok(Self { compute_us, peak: Some(peak), ..memory_bound })
            }
            None if bytes > 0.0 => Ok(Self { missing_peak: Some(spec), ..memory_bound }),
            None => Err(no_peak(spec, architecture)),
        }
    }

    /// The roofline of a model's forward work.
    ///
    /// # Errors
    ///
    /// When the model states no FLOPs or no bytes, and as [`Roofline::new`].
    pub fn from_model(model: &dyn PerfModel, architecture: &Architecture) -> Result<Self, Undefined> {
        Self::new(model.flops()?, model.bytes()?, model.compute_spec(), architecture)
    }

    /// The least time in microseconds.
    #[must_use]
    pub fn time_us(&self) -> f64 {
        self.compute_us.unwrap_or(0.0).max(self.memory_us)
    }

    /// What takes that time; the arithmetic, where both take it.
    #[must_use]
    pub fn bound(&self) -> Bound {
        match self.compute_us {
            Some(compute_us) if compute_us >= self.memory_us => Bound::Compute,
            _ if self.path == DataPath::Link => Bound::Link,
            None if self.missing_peak.is_some() => Bound::AtLeastMemory,
            _ => Bound::Memory,
        }
    }

    /// The least time in percent of a measured time; `None` if nothing was measured.
    #[must_use]
    pub fn percent_of(&self, measured_us: f64) -> Option<f64> {
        (measured_us > 0.0).then(|| self.time_us() / measured_us * 100.0)
    }
}

fn no_peak(spec: ComputeSpec, architecture: &Architecture) -> Undefined {
    Undefined::no_formula(format!("{} has no peak for {spec}", architecture.name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{PeakBasis, architecture};

    /// With the peaks that AMD and TraceLens measured.
    fn mi300x() -> Architecture {
        architecture("mi300x").unwrap().with_basis(PeakBasis::Achievable)
    }

    fn spec(text: &str) -> Option<ComputeSpec> {
        (!text.is_empty()).then(|| text.parse().unwrap())
    }

    #[test]
    fn the_longer_of_both_times_is_the_bound() {
        let mi300x = &mi300x();
        let cases = [
            // A bias and a matrix multiplication in BF16; a layer norm of (4, 197, 768).
            (930_167_808.0, 3_601_920.0, "matrix_bf16", 1.313796338983051, Bound::Compute),
            (3_030_528.0, 2_429_952.0, "vector_bf16", 0.45848150943396226, Bound::Memory),
            // Equal times count as arithmetic.
            (708e12, 5300e9, "matrix_bf16", 1e6, Bound::Compute),
            // Data movement, whatever the spec.
            (0.0, 5300e9, "vector_bf16", 1e6, Bound::Memory),
            (0.0, 5300e9, "", 1e6, Bound::Memory),
            (0.0, 5300e9, "matrix_fp4", 1e6, Bound::Memory),
            // A collective with a normalization: no arithmetic unit is named.
            (1e15, 5300e9, "", 1e6, Bound::Memory),
            (708e12, 0.0, "matrix_bf16", 1e6, Bound::Compute),
        ];
        for (flops, bytes, text, time_us, bound) in cases {
            let roofline = Roofline::new(flops, bytes, spec(text), mi300x).unwrap();
            assert_eq!((roofline.time_us(), roofline.bound()), (time_us, bound), "{flops} {bytes} {text}");
        }
    }

    #[test]
    fn the_share_is_of_the_measured_time() {
        let mi300x = &mi300x();
        let roofline = Roofline::new(0.0, 5300e3, None, mi300x).unwrap();
        assert_eq!(roofline.time_us(), 1.0);
        assert_eq!(roofline.percent_of(4.0), Some(25.0));
        assert_eq!(roofline.percent_of(0.0), None);
    }

    #[test]
    fn a_missing_peak_is_named() {
        let mi300x = &mi300x();
        let missing = Roofline::new(1.0, 1.0, spec("matrix_fp4"), mi300x).unwrap_err();
        assert_eq!(missing.reason, "MI300X has no peak for matrix_fp4");
        for (flops, bytes) in [(0.0, 0.0), (f64::NAN, 1.0), (1.0, -1.0), (f64::INFINITY, 1.0)] {
            assert!(Roofline::new(flops, bytes, spec("matrix_bf16"), mi300x).is_err(), "{flops} {bytes}");
        }
    }

    #[test]
    fn bytes_bound_work_whose_arithmetic_has_no_peak() {
        let mi300x = architecture("mi300x").unwrap();
        let known = |flops, bytes, text| Roofline::with_known_peaks(flops, bytes, spec(text), mi300x);
        let roofline = known(1e9, 5300e9, "matrix_fp4").unwrap();
        assert_eq!((roofline.time_us(), roofline.bound()), (1e6, Bound::AtLeastMemory));
        assert_eq!((roofline.peak, roofline.missing_peak), (None, spec("matrix_fp4")));
        assert_eq!(roofline.bound().to_string(), "BANDWIDTH_ONLY");
        // Without bytes nothing is known; without arithmetic, and with a peak, nothing is missing.
        assert_eq!(known(1.0, 0.0, "matrix_fp4").unwrap_err().reason, "MI300X has no peak for matrix_fp4");
        assert_eq!(known(0.0, 5300e9, "matrix_fp4").unwrap().bound(), Bound::Memory);
        for (flops, bytes) in [(1e15, 1.0), (1.0, 1e9)] {
            assert_eq!(
                known(flops, bytes, "matrix_bf16"),
                Roofline::new(flops, bytes, spec("matrix_bf16"), mi300x)
            );
        }
    }

    #[test]
    fn vectors_of_16_bits_without_a_peak_are_held_against_fp32() {
        let b200 = architecture("b200").unwrap();
        let roofline = Roofline::new(75e12, 1.0, spec("vector_bf16"), b200).unwrap();
        assert_eq!((roofline.time_us(), roofline.peak), (1e6, spec("vector_fp32")));
        let own = Roofline::new(163e12, 1.0, spec("vector_bf16"), &mi300x()).unwrap();
        assert_eq!((own.time_us(), own.peak), (1e6, spec("vector_bf16")));
        let tpu = architecture("tpu-v4").unwrap();
        assert!(Roofline::new(1.0, 1.0, spec("vector_bf16"), tpu).is_err());
    }

    #[test]
    fn a_copy_is_bound_by_its_link() {
        let link = Link { name: "PCIe 4.0 x16".to_owned(), gb_per_s: 31.5, peers: None };
        let roofline = Roofline::over_link(63e9, &link);
        assert_eq!((roofline.time_us(), roofline.bound()), (2e6, Bound::Link));
        assert_eq!(roofline.bound().to_string(), "LINK_BOUND");
    }

    proptest! {
        #[test]
        fn twice_the_work_takes_twice_the_time(flops in 0.0..1e18_f64, bytes in 1.0..1e15_f64) {
            let mi300x = &mi300x();
            let one = Roofline::new(flops, bytes, spec("matrix_bf16"), mi300x).unwrap();
            let two = Roofline::new(2.0 * flops, 2.0 * bytes, spec("matrix_bf16"), mi300x).unwrap();
            prop_assert!(one.time_us() > 0.0);
            prop_assert!((two.time_us() / one.time_us() - 2.0).abs() < 1e-9);
            prop_assert_eq!(one.bound(), two.bound());
            let intensity = flops / bytes;
            let ridge = mi300x.ridge_point(spec("matrix_bf16").unwrap()).unwrap();
            prop_assume!((intensity / ridge - 1.0).abs() > 1e-9);
            prop_assert_eq!(one.bound() == Bound::Compute, intensity > ridge);
        }
    }
}
