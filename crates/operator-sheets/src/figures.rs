//! The figures of one operator call: its model's work held against the time it took.

use perf_models::{Architecture, ComputeSpec, Family, Figure, Parameter, PerfModel, Roofline};

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
    /// Least time of the work on the architecture; `None` without one, or where it states no peak.
    pub roofline: Option<Roofline>,
}

impl Figures {
    /// `None` when the model has no FLOPs: then no figure means anything.
    pub fn new(
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
}
