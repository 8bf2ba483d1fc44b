//! What an operation costs: by its model, whose sizes are given, or as a recorded call.

mod recorded;

use std::path::Path;

use perf_models::{
    Architecture, ComputeSpec, Figure, PerfModel, Roofline, Undefined, Value, architecture, architectures,
};
use serde_json::{Value as Json, json};

use crate::Error;
use crate::numbers::json_number;

pub use recorded::{RecordedCalls, RecordedFigures, figures_of};

/// The architecture that figures are held against: from a file, or a bundled one by its name; `None` where neither is
/// given.
///
/// # Errors
///
/// When the file is no description of an architecture, or none of that name is bundled.
pub fn chosen_architecture(file: Option<&Path>, name: Option<&str>) -> Result<Option<Architecture>, Error> {
    if let Some(path) = file {
        let failed = |detail: String| Error::ArchitectureFile { path: path.to_path_buf(), detail };
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        return Architecture::from_json(&text).map(Some).map_err(|error| failed(error.to_string()));
    }
    let Some(name) = name else { return Ok(None) };
    architecture(name).cloned().map(Some).ok_or_else(|| {
        let known: Vec<&str> = architectures().map(|known| known.name.as_str()).collect();
        Error::UnknownArchitecture { name: name.to_owned(), known: known.join(", ") }
    })
}

/// The figures of one pass of an operation.
#[derive(Clone, Debug)]
pub struct ModelFigures<'a> {
    /// Floating point operations.
    pub flops: Figure,
    /// Bytes that are read and written.
    pub bytes: Figure,
    /// The arithmetic unit that does the operations; `None` for work without arithmetic.
    pub spec: Option<ComputeSpec>,
    /// The sizes of the operation, without those that are not known.
    pub parameters: Vec<(&'static str, Value)>,
    /// What the figures assume.
    pub assumption: Option<String>,
    /// The figures held against an architecture.
    pub least_time: Option<LeastTime<'a>>,
}

/// The least time that an architecture takes for an operation.
#[derive(Clone, Debug)]
pub struct LeastTime<'a> {
    /// The architecture.
    pub architecture: &'a Architecture,
    /// Its roofline at this operation.
    pub roofline: Result<Roofline, Undefined>,
    /// Why the roofline is that of the bytes alone, if it is.
    pub without_peak: Option<Undefined>,
}

impl<'a> ModelFigures<'a> {
    /// Of the forward pass.
    pub fn forward(model: &dyn PerfModel, architecture: Option<&'a Architecture>) -> Self {
        ModelFigures::new(model, model.flops(), model.bytes(), architecture)
    }

    /// Of the backward pass.
    pub fn backward(model: &dyn PerfModel, architecture: Option<&'a Architecture>) -> Self {
        ModelFigures::new(model, model.backward_flops(), model.backward_bytes(), architecture)
    }

    fn new(
        model: &dyn PerfModel,
        flops: Figure,
        bytes: Figure,
        architecture: Option<&'a Architecture>,
    ) -> Self {
        let spec = model.compute_spec();
        let least_time = architecture.map(|architecture| {
            let work = || Ok((flops.clone()?, bytes.clone()?));
            let roofline = work()
                .and_then(|(flops, bytes)| Roofline::with_known_peaks(flops, bytes, spec, architecture));
            let is_memory_only = roofline.as_ref().is_ok_and(|roofline| roofline.missing_peak.is_some());
            let strict = || work().and_then(|(flops, bytes)| Roofline::new(flops, bytes, spec, architecture));
            let without_peak = is_memory_only.then(strict).and_then(Result::err);
            LeastTime { architecture, roofline, without_peak }
        });
        let mut parameters = model.parameters();
        // Element types are one answer for all tensors.
        parameters.retain(|(name, value)| *value != Value::None && !name.starts_with("dtype"));
        ModelFigures { flops, bytes, spec, parameters, assumption: model.assumption(), least_time }
    }

    /// Floating point operations for each byte.
    pub fn intensity(&self) -> Option<f64> {
        let (flops, bytes) = (*self.flops.as_ref().ok()?, *self.bytes.as_ref().ok()?);
        (bytes > 0.0).then(|| flops / bytes)
    }

    /// The figures as an object, with the reasons why some are missing.
    pub fn to_json(&self) -> Json {
        let number = |figure: &Figure| figure.as_ref().map_or(Json::Null, |&value| json_number(value));
        let parameters =
            self.parameters.iter().map(|(name, value)| ((*name).to_owned(), value.to_string().into()));
        let mut answer = json!({
            "params": parameters.collect::<serde_json::Map<_, _>>(),
            "flops": number(&self.flops),
            "bytes": number(&self.bytes),
            "intensity": self.intensity().map(json_number),
            "spec": self.spec.map(|spec| spec.to_string()),
        });
        let mut missing: Vec<&Undefined> =
            [&self.flops, &self.bytes].map(|figure| figure.as_ref().err()).into_iter().flatten().collect();
        if let Some(least) = &self.least_time {
            let roofline = least.roofline.as_ref().ok();
            answer["arch"] = json!({
                "name": least.architecture.name,
                "peaks": least.architecture.peaks_in_words(),
                "memory_bandwidth_gb_per_s": json_number(least.architecture.memory_bandwidth_gb_per_s),
                "peak_spec": least.peak().map(|spec| spec.to_string()),
                "peak_basis": least.peak().and_then(|spec| least.architecture.basis_of(spec)).map(|basis| basis.to_string()),
                "peak_tflops": least.peak_tflops().map(json_number),
                "ridge_point": least.ridge_point().map(json_number),
                "bound": roofline.map(|roofline| roofline.bound().to_string()),
                "roofline_time_us": roofline.map(|roofline| json_number(roofline.time_us())),
            });
            missing.extend(least.roofline.as_ref().err());
            missing.extend(&least.without_peak);
        }
        let mut reasons: Vec<String> = missing.into_iter().map(ToString::to_string).collect();
        reasons.dedup();
        if !reasons.is_empty() {
            answer["reason"] = reasons.join("; ").into();
        }
        answer
    }
}

impl LeastTime<'_> {
    /// The unit whose peak the operations are held against.
    pub fn peak(&self) -> Option<ComputeSpec> {
        self.roofline.as_ref().ok()?.peak
    }

    /// Its peak in TFLOP/s.
    pub fn peak_tflops(&self) -> Option<f64> {
        self.architecture.peak_tflops(self.peak()?)
    }

    /// Operations for each byte from which on arithmetic is the bound.
    pub fn ridge_point(&self) -> Option<f64> {
        self.architecture.ridge_point(self.peak()?)
    }
}
