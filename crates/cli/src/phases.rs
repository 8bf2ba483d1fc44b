//! The phases of inference: what was asked for, and the line of the summary about them.

use inference_phase::methods::{DetectionMethod, UnknownMethod};
use inference_phase::sheets::{PhaseAnalysis, PhaseMethod, PhaseOptions, PhaseStatistics};
use inference_phase::tracelens;

use crate::arguments::phases::PhaseArguments;
use crate::error::Failure;
use crate::numbers::grouped;

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

/// What was asked for and has no effect.
pub(crate) fn without_effect(asked: &PhaseArguments) -> Vec<String> {
    let given = [
        ("--decode_threshold", asked.decode_threshold.is_some()),
        ("--phase_detection_method", asked.phase_detection_method.is_some()),
        ("--phase_legacy", asked.phase_legacy),
    ];
    if !asked.inference_phase_analysis {
        let given = given.into_iter().filter(|(_, given)| *given);
        return given
            .map(|(option, _)| format!("{option} has no effect without --inference_phase_analysis"))
            .collect();
    }
    let uses_threshold = match method(asked) {
        Ok(PhaseMethod::Ours(method)) => method.uses_threshold(),
        Ok(PhaseMethod::TraceLens(method)) => method.uses_threshold(),
        // Refused elsewhere.
        Err(_) => true,
    };
    let method = asked.phase_detection_method.as_deref().unwrap_or(DetectionMethod::Hybrid.as_str());
    let of_whom = if asked.phase_legacy { "TraceLens' " } else { "" };
    let is_lost = asked.decode_threshold.is_some() && !uses_threshold;
    is_lost.then(|| format!("--decode_threshold has no effect on {of_whom}{method}")).into_iter().collect()
}

/// The phases with their shares of the kernel time; `None` without any kernel time.
pub(crate) fn summary_line(phases: &PhaseAnalysis<'_>) -> Option<String> {
    let total: i64 = phases.phases().iter().map(|phase| phase.kernel_time).sum();
    let mut rows: Vec<&PhaseStatistics> = phases.phases().iter().filter(|row| row.kernel_time > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.kernel_time));
    let described: Vec<String> = rows
        .iter()
        .enumerate()
        .map(|(position, row)| {
            let percent = row.kernel_time as f64 / total as f64 * 100.0;
            let of = if position == 0 { " of kernel time" } else { "" };
            format!("{} {percent:.1}%{of}{}", row.phase, basis(row))
        })
        .collect();
    let by = match phases.steps() {
        Some(_) => String::new(),
        None => format!(" by {}", phases.options().method),
    };
    (!described.is_empty()).then(|| format!("inference phases{by}: {}", described.join(", ")))
}

/// In how many steps, what says so, and how sure that is.
fn basis(row: &PhaseStatistics) -> String {
    let (Some(steps), Some(confidence)) = (row.steps, row.confidence) else { return String::new() };
    let sources: Vec<&str> = row.sources.iter().map(|source| source.as_str()).collect();
    let noun = if steps == 1 { "step" } else { "steps" };
    format!(" ({} {noun}, by {}, confidence {confidence:.2})", grouped(steps as u128), sources.join(" and "))
}
