//! The figures of one operator call: its model's work held against the time it took.

use perf_models::{Architecture, ComputeSpec, Roofline};

use crate::models::Work;

/// Work and time of one call, and what follows from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// Floating-point operations.
    pub(crate) flops: f64,
    /// Bytes moved; `None` where the model cannot say.
    pub(crate) bytes: Option<f64>,
    /// Time in which at least one device event of the call ran, in µs.
    pub(crate) time_us: f64,
    /// Peak that the work is held against.
    pub(crate) spec: Option<ComputeSpec>,
    /// Least time of the work on the architecture; `None` without one, or where it states no peak.
    pub(crate) roofline: Option<Roofline>,
}

impl Figures {
    /// `None` when the model has no FLOPs: then no figure means anything.
    pub(crate) fn of(
        work: &Work,
        spec: Option<ComputeSpec>,
        time_us: f64,
        architecture: Option<&Architecture>,
    ) -> Option<Self> {
        let flops = *work.flops.as_ref().ok()?;
        let bytes = work.bytes.as_ref().ok().copied();
        let roofline = |architecture| Roofline::new(flops, bytes?, spec, architecture).ok();
        Some(Figures { flops, bytes, time_us, spec, roofline: architecture.and_then(roofline) })
    }

    /// Least time over measured time, in percent.
    pub(crate) fn percent_of_roofline(&self) -> Option<f64> {
        self.roofline.as_ref()?.percent_of(self.time_us)
    }

    pub(crate) fn gflops(&self) -> f64 {
        self.flops / 1e9
    }

    /// In units of 1024² bytes, which the reports have always called MB.
    pub(crate) fn mebibytes(&self) -> Option<f64> {
        self.bytes.map(|bytes| bytes / (1024.0 * 1024.0))
    }

    /// Arithmetic intensity in FLOPs per byte.
    pub(crate) fn intensity(&self) -> Option<f64> {
        self.bytes.filter(|&bytes| bytes > 0.0).map(|bytes| self.flops / bytes)
    }

    /// 1e12 FLOPs per second; `None` when nothing ran.
    pub(crate) fn tflops_per_s(&self) -> Option<f64> {
        (self.time_us > 0.0).then(|| self.flops / 1e6 / self.time_us)
    }

    /// 1e12 bytes per second; `None` when nothing ran.
    pub(crate) fn tb_per_s(&self) -> Option<f64> {
        self.bytes.filter(|_| self.time_us > 0.0).map(|bytes| bytes / 1e6 / self.time_us)
    }
}

/// The aggregates that statistics columns come in, in their order.
pub(crate) const AGGREGATES: [&str; 5] = ["mean", "median", "std", "min", "max"];

/// Mean, median, spread and range of measured rates or times; undefined ones do not count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    pub(crate) mean: Option<f64>,
    pub(crate) median: Option<f64>,
    /// Of a sample: divided by n − 1; `None` for one value.
    pub(crate) std: Option<f64>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
}

impl Spread {
    pub(crate) fn of(values: impl Iterator<Item = Option<f64>>) -> Self {
        let mut values: Vec<f64> = values.flatten().filter(|value| !value.is_nan()).collect();
        values.sort_unstable_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else { return Spread::default() };
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let middle = (values[(count - 1) / 2] + values[count / 2]) / 2.0;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Spread {
            mean: Some(mean),
            median: Some(middle),
            std: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            min: Some(min),
            max: Some(max),
        }
    }

    /// The figures by name, in the order in which statistics columns come.
    pub(crate) fn get(&self, aggregate: &str) -> Option<f64> {
        match aggregate {
            "mean" => self.mean,
            "median" => self.median,
            "std" => self.std,
            "min" => self.min,
            _ => self.max,
        }
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
        };
        assert_eq!(figures.gflops(), 51.581550592);
        assert_eq!(figures.mebibytes(), Some(71.0078125));
        assert!((figures.intensity().unwrap() - 692.7688414567059).abs() < 1e-9);
        assert!((figures.tflops_per_s().unwrap() - 610.660).abs() < 1e-2);
        assert!((figures.tb_per_s().unwrap() - 0.88148).abs() < 1e-4);
    }

    #[test]
    fn nothing_that_ran_has_no_rate() {
        let figures = Figures { flops: 1.0, bytes: None, time_us: 0.0, spec: None, roofline: None };
        assert_eq!((figures.tflops_per_s(), figures.tb_per_s(), figures.intensity()), (None, None, None));
    }

    #[test]
    fn a_spread_skips_what_is_undefined() {
        let spread = Spread::of([Some(10.0), None, Some(14.0), Some(17.0)].into_iter());
        assert_eq!(spread.median, Some(14.0));
        assert!((spread.std.unwrap() - 3.5118845842842465).abs() < 1e-12);
        assert_eq!(Spread::of([Some(1.0)].into_iter()).std, None);
        assert_eq!(Spread::of(std::iter::empty()).mean, None);
    }
}
