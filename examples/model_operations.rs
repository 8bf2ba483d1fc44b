//! Work and least time of a matrix product and of an operation of one's own: `cargo run -p examples model_operations`

use std::error::Error;
use std::io::Write;

use perf_models::{ComputeSpec, Figure, Gemm, Parameter, PerfModel, Roofline, architecture, element_size};

/// `y = a * x + y` over vectors.
#[derive(Debug)]
struct Axpy {
    elements: f64,
    dtype: &'static str,
}

impl PerfModel for Axpy {
    fn flops(&self) -> Figure {
        Ok(2.0 * self.elements)
    }
    fn bytes(&self) -> Figure {
        Ok(3.0 * self.elements * element_size(self.dtype)?)
    }
    fn compute_spec(&self) -> Option<ComputeSpec> {
        ComputeSpec::vector(self.dtype)
    }
    fn parameters(&self) -> Vec<Parameter> {
        vec![("dtype", self.dtype.into())]
    }
}

pub(crate) fn run(_: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let device = architecture("h100-sxm").ok_or("no such architecture")?;
    let models: [&dyn PerfModel; 2] =
        [&Gemm::new(4096, 512, 1024, "torch.bfloat16"), &Axpy { elements: 1e8, dtype: "float32" }];
    for model in models {
        let roofline = Roofline::from_model(model, device)?;
        writeln!(out, "{:.0} FLOPs, {:.2} µs, {}", model.flops()?, roofline.time_us(), roofline.bound())?;
    }
    Ok(())
}
