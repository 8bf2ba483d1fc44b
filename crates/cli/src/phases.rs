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
    let max_num_seqs = asked.max_num_seqs;
    Ok(asked.inference_phase_analysis.then_some(PhaseOptions { method, decode_threshold, max_num_seqs }))
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

/// The options that the method does not look at, and its name.
pub(crate) fn without_effect(asked: &PhaseArguments) -> Vec<String> {
    let Some(method) = method(asked).ok().filter(|_| asked.inference_phase_analysis) else {
        return Vec::new();
    };
    let (uses_threshold, finds_steps, name) = match method {
        PhaseMethod::Ours(method) => {
            (method.uses_threshold(), method == DetectionMethod::Hybrid, method.to_string())
        }
        PhaseMethod::TraceLens(method) => (method.uses_threshold(), false, format!("TraceLens's {method}")),
    };
    let ignored = [
        ("--decode_threshold", asked.decode_threshold.is_some() && !uses_threshold),
        ("--max_num_seqs", asked.max_num_seqs.is_some() && !finds_steps),
    ];
    let ignored = ignored.into_iter().filter(|(_, is_ignored)| *is_ignored);
    ignored.map(|(option, _)| format!("{option} has no effect on {name}")).collect()
}
