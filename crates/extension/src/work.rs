//! Figures that an extension computes itself.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use perf_models::{ComputeSpec, Figure, Parameter, PerfModel, Undefined, Value};

/// Figures that an extension computes itself.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) flops: Option<f64>,
    pub(crate) bytes: Option<f64>,
    pub(crate) backward_flops: Option<f64>,
    pub(crate) backward_bytes: Option<f64>,
    pub(crate) spec: Option<ComputeSpec>,
    pub(crate) parameters: Vec<Parameter>,
}

fn given(figure: Option<f64>, what: &'static str) -> Figure {
    figure.ok_or_else(|| Undefined::no_formula(format!("the extension gives no {what}")))
}

impl PerfModel for Work {
    fn flops(&self) -> Figure {
        given(self.flops, "FLOPs")
    }

    fn bytes(&self) -> Figure {
        given(self.bytes, "bytes")
    }

    fn backward_flops(&self) -> Figure {
        given(self.backward_flops, "FLOPs of the backward pass")
    }

    fn backward_bytes(&self) -> Figure {
        given(self.backward_bytes, "bytes of the backward pass")
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.spec
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone()
    }
}

/// A model with figures of the backward pass that the extension computes itself, or with none because the backward
/// consists of calls of their own.
#[derive(Debug)]
pub(crate) struct OwnBackward {
    pub(crate) forward: Arc<dyn PerfModel>,
    pub(crate) flops: Option<f64>,
    pub(crate) bytes: Option<f64>,
}

impl PerfModel for OwnBackward {
    fn flops(&self) -> Figure {
        self.forward.flops()
    }

    fn bytes(&self) -> Figure {
        self.forward.bytes()
    }

    fn backward_flops(&self) -> Figure {
        given(self.flops, "FLOPs of the backward pass")
    }

    fn backward_bytes(&self) -> Figure {
        given(self.bytes, "bytes of the backward pass")
    }

    fn compute_spec(&self) -> Option<ComputeSpec> {
        self.forward.compute_spec()
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.forward.parameters()
    }

    fn assumption(&self) -> Option<String> {
        self.forward.assumption()
    }
}

/// A finite figure of at least 0.
pub(crate) fn figure(name: &str, value: &Value) -> Result<Option<f64>, String> {
    let number = match *value {
        Value::None => return Ok(None),
        Value::Int(number) => number as f64,
        Value::Float(number) => number,
        _ => f64::NAN,
    };
    match number.is_finite() && number >= 0.0 {
        true => Ok(Some(number)),
        false => {
            let mut found = String::new();
            let _ = value.write_literal(&mut found);
            Err(format!("{name} must be finite and not negative, found {found}"))
        }
    }
}

/// What a kind of work is held against.
pub(crate) fn spec(text: &str) -> Result<ComputeSpec, String> {
    text.parse().map_err(|_| format!("spec must be like \"matrix_bf16\" or \"vector_fp32\", found {text:?}"))
}

/// Names of parameters. Reports hold them as long as the program runs, so an extension may have only so many.
#[derive(Default)]
pub(crate) struct ParameterNames(Mutex<BTreeSet<&'static str>>);

impl ParameterNames {
    const MOST: usize = 1024;

    /// The name for reports.
    pub(crate) fn get(&self, name: &str) -> Result<&'static str, String> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            return Ok(known);
        }
        if names.len() >= Self::MOST {
            return Err(format!(
                "the file defines more than {} parameters: do not build names from values",
                Self::MOST
            ));
        }
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        names.insert(name);
        Ok(name)
    }
}
