//! The phases of inference: what was asked for.

use inference_phase::methods::{DetectionMethod, UnknownMethod};
use inference_phase::sheets::{PhaseMethod, PhaseOptions};
use inference_phase::tracelens;

use crate::arguments::phases::PhaseArguments;
use crate::error::Failure;

/// What the arguments ask for, `None` if for nothing.
pub(crate) fn options(asked: &PhaseArguments) -> Result<Option<PhaseOptions>, Failure> {
    let method = method(asked)?;
    let defaults = PhaseOptions::default();
    let decode_threshold = asked.decode_threshold.unwrap_or(defaults.decode_threshold);
    Ok(asked.inference_phase_analysis.then_some(PhaseOptions { method, decode_threshold }))
}

fn method(asked: &PhaseArguments) -> Result<PhaseMethod, Failure> {
    let name = asked.phase_detection_method.as_deref();
    if asked.phase_legacy {
        let method = name.map(str::parse::<tracelens::Method>).transpose()?;
        return Ok(PhaseMethod::TraceLens(method.unwrap_or_default()));
    }
    let method = name.map(str::parse::<DetectionMethod>).transpose();
    match method {
        Ok(method) => Ok(PhaseMethod::Ours(method.unwrap_or_default())),
        Err(UnknownMethod { name, known }) if name.parse::<tracelens::Method>().is_ok() => {
            Err(Failure::LegacyMethod { name, known: known.join(", ") })
        }
        Err(error) => Err(error.into()),
    }
}

/// What there is to say of a threshold that the method does not look at.
pub(crate) fn without_effect(asked: &PhaseArguments) -> Option<String> {
    asked.decode_threshold.filter(|_| asked.inference_phase_analysis)?;
    let (uses_threshold, name) = match method(asked).ok()? {
        PhaseMethod::Ours(method) => (method.uses_threshold(), method.to_string()),
        PhaseMethod::TraceLens(method) => (method.uses_threshold(), format!("TraceLens' {method}")),
    };
    (!uses_threshold).then(|| format!("--decode_threshold has no effect on {name}"))
}
