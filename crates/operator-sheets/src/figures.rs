//! The figures of one operator call: its model's work held against the time it took.

use perf_models::{
    Architecture, ComputeSpec, CopyDirection, DataPath, Family, Figure, MemoryCopy, Parameter, PerfModel,
    Roofline, Undefined,
};

use crate::category::OpCategory;

/// The answers of a model, kept.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// Of the call itself.
    pub forward: Work,
    /// Of its backward pass.
    pub backward: Work,
    /// Peak that the work is held against.
    pub spec: Option<ComputeSpec>,
    /// Parameters of the model.
    pub parameters: Vec<Parameter>,
    /// What the figures assume because the recording does not say it.
    pub assumption: Option<String>,
    /// Where an extension's model gave the answers: what it says of the call beside figures.
    pub by_extension: Option<Classified>,
}

/// What kind of call an extension's model takes a call for.
#[derive(Clone, Debug)]
pub struct Classified {
    /// Kind of work.
    pub category: OpCategory,
    /// Family of models that it counts as.
    pub family: Option<Family>,
}

/// FLOPs and bytes of one direction.
#[derive(Clone, Debug)]
pub struct Work {
    /// Floating-point operations.
    pub flops: Figure,
    /// Bytes moved.
    pub bytes: Figure,
}

impl Work {
    /// Why FLOPs or bytes are missing; `None` where there are both.
    pub fn undefined(&self) -> Option<&Undefined> {
        self.flops.as_ref().err().or(self.bytes.as_ref().err())
    }
}

impl Evaluated {
    /// What a model says.
    pub fn new(model: &dyn PerfModel) -> Self {
        Evaluated {
            forward: Work { flops: model.flops(), bytes: model.bytes() },
            backward: Work { flops: model.backward_flops(), bytes: model.backward_bytes() },
            spec: model.compute_spec(),
            parameters: model.parameters(),
            assumption: model.assumption(),
            by_extension: None,
        }
    }
}

/// What is made of calls whose arithmetic the architecture states no peak for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingPeak {
    /// They have no roofline.
    NoRoofline,
    /// They are held against the bandwidth alone ([`Roofline::with_known_peaks`]).
    #[default]
    BytesAlone,
}

/// Work and time of one call, and what follows from them.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes moved; `None` where the model cannot say.
    pub bytes: Option<f64>,
    /// Time in which at least one device event of the call ran, in µs.
    pub time_us: f64,
    /// Peak that the work is held against.
    pub spec: Option<ComputeSpec>,
    /// Least time of the work on the architecture; `None` without one, and where it states no peak if
    /// [`MissingPeak`] says so.
    pub roofline: Option<Roofline>,
    /// What the bytes pass.
    pub path: DataPath,
}

impl Figures {
    /// `None` when the model has no FLOPs: then no figure means anything.
    pub fn new(
        work: &Work,
        spec: Option<ComputeSpec>,
        time_us: f64,
        architecture: Option<&Architecture>,
        missing_peak: MissingPeak,
    ) -> Option<Self> {
        let flops = *work.flops.as_ref().ok()?;
        let bytes = work.bytes.as_ref().ok().copied();
        let new = match missing_peak {
            MissingPeak::NoRoofline => Roofline::new,
            MissingPeak::BytesAlone => Roofline::with_known_peaks,
        };
        let roofline = |architecture| new(flops, bytes?, spec, architecture).ok();
        let roofline = architecture.and_then(roofline);
        Some(Figures { flops, bytes, time_us, spec, roofline, path: DataPath::Memory })
    }

    /// Of copies, each with its bytes, that took `time_us` together. Their least time is the sum of each one's.
    pub fn from_copies(
        copies: &[(MemoryCopy, f64)],
        time_us: f64,
        architecture: Option<&Architecture>,
    ) -> Self {
        let least = |architecture| -> Option<Roofline> {
            let each = copies.iter().map(|(copy, bytes)| copy.roofline(*bytes, architecture));
            each.reduce(|sum, next| {
                let (sum, next) = (sum?, next?);
                let path = if next.path == DataPath::Link { next.path } else { sum.path };
                Some(Roofline { memory_us: sum.memory_us + next.memory_us, path, ..sum })
            })?
        };
        let is_within = |(copy, _): &(MemoryCopy, f64)| copy.direction == CopyDirection::WithinDevice;
        Figures {
            flops: 0.0,
            bytes: Some(copies.iter().map(|(copy, bytes)| copy.traffic(*bytes)).sum()),
            time_us,
            spec: None,
            roofline: architecture.and_then(least),
            path: if copies.iter().all(is_within) { DataPath::Memory } else { DataPath::Link },
        }
    }

    /// The size of the last cache before the memory, where it explains that the work took less than its least time:
    /// only the memory's bandwidth was beaten, and all bytes fit the cache.
    pub fn explaining_cache(&self, architecture: Option<&Architecture>) -> Option<f64> {
        let (roofline, cache) = (self.roofline?, architecture?.last_level_cache_bytes?);
        let beats_memory = roofline.path == DataPath::Memory
            && self.time_us < roofline.memory_us
            && roofline.compute_us.unwrap_or(0.0) <= self.time_us;
        (beats_memory && self.bytes? <= cache).then_some(cache)
    }

    /// Least time over measured time, in percent.
    pub fn percent_of_roofline(&self) -> Option<f64> {
        self.roofline.as_ref()?.percent_of(self.time_us)
    }

    /// Floating-point operations in units of 1e9.
    pub fn gflops(&self) -> f64 {
        self.flops / 1e9
    }

    /// In units of 1024² bytes, which the reports have always called MB.
    pub fn mebibytes(&self) -> Option<f64> {
        self.bytes.map(|bytes| bytes / (1024.0 * 1024.0))
    }

    /// Arithmetic intensity in FLOPs per byte.
    pub fn intensity(&self) -> Option<f64> {
        self.bytes.filter(|&bytes| bytes > 0.0).map(|bytes| self.flops / bytes)
    }

    /// 1e12 FLOPs per second; `None` when nothing ran.
    pub fn tflops_per_s(&self) -> Option<f64> {
        (self.time_us > 0.0).then(|| self.flops / 1e6 / self.time_us)
    }

    /// 1e12 bytes per second; `None` when nothing ran.
    pub fn tb_per_s(&self) -> Option<f64> {
        self.bytes.filter(|_| self.time_us > 0.0).map(|bytes| bytes / 1e6 / self.time_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_from_work_and_time() {
        // aten::mm (8944, 1024) x (1024, 2816) bf16.
        let figures = Figures {
            flops: 51_581_550_592.0,
            bytes: Some(71.0078125 * 1_048_576.0),
            time_us: 84.4684,
            spec: None,
            roofline: None,
            path: DataPath::Memory,
        };
        assert_eq!(figures.gflops(), 51.581550592);
        assert_eq!(figures.mebibytes(), Some(71.0078125));
        assert!((figures.intensity().unwrap() - 692.7688414567059).abs() < 1e-9);
        assert!((figures.tflops_per_s().unwrap() - 610.660).abs() < 1e-2);
        assert!((figures.tb_per_s().unwrap() - 0.88148).abs() < 1e-4);
    }

    #[test]
    fn nothing_that_ran_has_no_rate() {
        let figures = Figures {
            flops: 1.0,
            bytes: None,
            time_us: 0.0,
            spec: None,
            roofline: None,
            path: DataPath::Memory,
        };
        assert_eq!((figures.tflops_per_s(), figures.tb_per_s(), figures.intensity()), (None, None, None));
    }

    #[test]
    fn copies_are_summed_over_their_links() {
        let copies = ["Memcpy HtoD (Pinned -> Device)", "Memcpy DtoD (Device -> Device)"]
            .map(|name| (MemoryCopy::parse(name).unwrap(), 63e6));
        let h100 = perf_models::architecture("h100");
        let figures = Figures::from_copies(&copies, 2000.0, h100);
        // 63e6 bytes over 63 GB/s, and 126e6 through 3350 GB/s.
        let roofline = figures.roofline.unwrap();
        assert!((roofline.time_us() - (1000.0 + 126e6 / 3350e3)).abs() < 1e-9, "{roofline:?}");
        assert_eq!(
            (figures.bytes, roofline.path, figures.path),
            (Some(189e6), DataPath::Link, DataPath::Link)
        );
        // The rate of the link to Grace is not stated.
        assert_eq!(Figures::from_copies(&copies, 1.0, perf_models::architecture("gb200")).roofline, None);
        assert_eq!(Figures::from_copies(&copies[1..], 1.0, h100).path, DataPath::Memory);
    }

    #[test]
    fn a_cache_explains_what_beats_the_memory_alone() {
        let h100 = perf_models::architecture("h100");
        let mebibyte = 1024.0 * 1024.0;
        let figures = |flops: f64, mebibytes: f64, share: f64| {
            let work = Work { flops: Ok(flops), bytes: Ok(mebibytes * mebibyte) };
            let spec = "vector_fp32".parse().ok();
            let least = Figures::new(&work, spec, 1.0, h100, MissingPeak::NoRoofline)
                .unwrap()
                .roofline
                .unwrap()
                .memory_us;
            Figures::new(&work, spec, least * share, h100, MissingPeak::NoRoofline).unwrap()
        };
        let cache = Some(50.0 * mebibyte);
        assert_eq!(figures(1.0, 50.0, 0.5).explaining_cache(h100), cache);
        // More than the cache holds; no faster than the memory; faster than the arithmetic, too; no cache known.
        assert_eq!(figures(1.0, 51.0, 0.5).explaining_cache(h100), None);
        assert_eq!(figures(1.0, 50.0, 1.5).explaining_cache(h100), None);
        assert_eq!(figures(1e12, 50.0, 0.5).explaining_cache(h100), None);
        assert_eq!(figures(1.0, 50.0, 0.5).explaining_cache(perf_models::architecture("h100-nvl")), None);
    }
}
