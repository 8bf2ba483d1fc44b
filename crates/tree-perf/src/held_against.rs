//! What the work of a call is held against: the device's units and memory, or the link that a copy passes; with
//! [`RooflineRule::Model`](crate::RooflineRule::Model) what the model says.

use operator_sheets::{Figures, Work};
use perf_models::{ComputeSpec, ComputeUnit, MemoryCopy, Precision, fp32_matrix_spec};
use trace_ingest::{Category, EventId};

use crate::analysis::Analysis;

/// The figures of a call whose device events took `time_us`. Where the architecture states no peak for its arithmetic, its
/// bytes are held against the bandwidth alone.
pub(crate) fn figures(
    analysis: &Analysis,
    work: &Work,
    spec: Option<ComputeSpec>,
    device_events: &[EventId],
    time_us: f64,
) -> Option<Figures> {
    if is_copy(analysis, device_events) {
        return copy_figures(analysis, device_events, time_us);
    }
    let spec = spec.map(|spec| arithmetic(analysis, spec, device_events).unwrap_or(spec));
    let missing_peak = analysis.options().conventions.missing_peak;
    Figures::new(work, spec, time_us, analysis.architecture(), missing_peak)
}

/// Whether a call did nothing on the device but recorded copies.
pub(crate) fn is_copy(analysis: &Analysis, device_events: &[EventId]) -> bool {
    let trace = analysis.trace();
    let is_copy = |&event: &EventId| {
        trace.events().category(event) == Category::GPU_MEMCPY
            && MemoryCopy::parse(trace.name(event)).is_some()
    };
    judges_executed_work(analysis) && !device_events.is_empty() && device_events.iter().all(is_copy)
}

/// The figures of copies; `None` where the size of one is not recorded.
pub(crate) fn copy_figures(analysis: &Analysis, device_events: &[EventId], time_us: f64) -> Option<Figures> {
    let trace = analysis.trace();
    let copy = |&event: &EventId| {
        let bytes = trace.events().arguments().transfer.get(event.index())?.bytes?;
        Some((MemoryCopy::parse(trace.name(event))?, bytes as f64))
    };
    let copies = device_events.iter().map(copy).collect::<Option<Vec<_>>>()?;
    Some(Figures::from_copies(&copies, time_us, analysis.architecture()))
}

/// The arithmetic of FP32 matrices, where the name of a kernel tells it.
fn arithmetic(analysis: &Analysis, spec: ComputeSpec, device_events: &[EventId]) -> Option<ComputeSpec> {
    if !judges_executed_work(analysis) || !is_fp32_matrix(spec) {
        return None;
    }
    device_events.iter().find_map(|&event| fp32_matrix_spec(analysis.trace().name(event)))
}

fn judges_executed_work(analysis: &Analysis) -> bool {
    analysis.options().conventions.judges_executed_work()
}

fn is_fp32_matrix(spec: ComputeSpec) -> bool {
    spec == ComputeSpec { unit: ComputeUnit::Matrix, precision: Precision::Fp32 }
}

/// What there is to say of what a call is held against, as clauses.
pub(crate) fn note(
    analysis: &Analysis,
    spec: Option<ComputeSpec>,
    figures: &Figures,
    device_events: &[EventId],
) -> Option<String> {
    if !judges_executed_work(analysis) {
        return None;
    }
    let trace = analysis.trace();
    let architecture = analysis.architecture();
    if is_copy(analysis, device_events) {
        let copy = device_events
            .iter()
            .find_map(|&event| MemoryCopy::parse(trace.name(event))?.held_against(architecture));
        return copy.or_else(|| cache_note(analysis, figures));
    }
    let spec_note = spec.filter(|&spec| is_fp32_matrix(spec)).and_then(|spec| {
        let peak = figures.roofline.and_then(|roofline| roofline.peak).filter(|&peak| peak != spec);
        match arithmetic(analysis, spec, device_events) {
            Some(told) if told.precision == Precision::Fp16 || told.precision == Precision::Bf16 => {
                let name = told.precision.as_str().to_ascii_uppercase();
                Some(format!("judging by its name, the kernel converts FP32 inputs to {name}"))
            }
            Some(told) => Some(match told.unit {
                ComputeUnit::Matrix => "judging by its name, the kernel runs FP32 math as TF32".to_owned(),
                ComputeUnit::Vector => {
                    "judging by its name, the kernel runs FP32 math without matrix units".to_owned()
                }
            }),
            None => peak.filter(|peak| peak.precision == Precision::Tf32).map(|peak| {
                format!("compared with {peak}: the trace does not say whether FP32 math runs as TF32")
            }),
        }
    });
    let clauses: Vec<String> = spec_note.into_iter().chain(cache_note(analysis, figures)).collect();
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

/// That a cache explains why the work took less than its least time.
fn cache_note(analysis: &Analysis, figures: &Figures) -> Option<String> {
    let cache = figures.explaining_cache(analysis.architecture())?;
    Some(format!("faster than memory: the data fits in the {} MiB cache", cache / (1024.0 * 1024.0)))
}
