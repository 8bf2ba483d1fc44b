//! Facts that recordings of several kinds have, and what is told of an advice.

use advise::{Advice, AttentionSpeed, Copied, Finding, LeastTime, Machine, Step, advice_sheet};
use gpu_timeline::Interval;
use hashbrown::HashMap;
use iterations::Mark;
use operator_sheets::{Figures, Iterated};
use perf_models::{
    Architecture, Category, ComputeSpec, ComputeUnit, HostMemory, MemoryCopy, Parameter, PeakBasis,
    Precision, Value,
};
use sheets::{Layout, Table, TableError};
use trace_ingest::{Category as EventCategory, EventId, StringId, Trace, TrackId};

use crate::report::tables;
use crate::steps::sure_steps;

/// The peaks of matrix units that an architecture states, in operations a microsecond.
pub(super) fn machine(architecture: &Architecture, units: Option<u64>) -> Machine {
    let spec = |precision| ComputeSpec { unit: ComputeUnit::Matrix, precision };
    let known = Precision::all()
        .filter_map(|precision| Some((precision, architecture.peak_tflops(spec(precision))? * 1e6)));
    let known: Vec<(Precision, f64)> = known.collect();
    let is_nominal = |&(precision, _): &(Precision, f64)| {
        architecture.basis_of(spec(precision)) == Some(PeakBasis::Nominal)
    };
    Machine {
        name: architecture.name.clone(),
        bytes_per_us: architecture.memory_bandwidth_gb_per_s * 1e3,
        units,
        is_nominal: known.iter().any(is_nominal),
        matrix_flops_per_us: known,
    }
}

/// The work of a call at the peaks of the device, of a part of what its figures are of.
pub(super) fn least_time(
    figures: &Figures,
    part: f64,
    category: &str,
    parameters: &[Parameter],
    quantisation: Option<f64>,
    architecture: Option<&Architecture>,
) -> Option<LeastTime> {
    let roofline = figures.roofline?;
    let spec = roofline.peak.or(figures.spec);
    let measured = architecture.zip(spec).and_then(|(known, spec)| known.achievable_tflops.get(&spec));
    Some(LeastTime {
        compute_us: roofline.compute_us.unwrap_or(0.0) * part,
        measured_compute_us: measured.map(|rate| figures.flops * part / (rate * 1e6)),
        memory_us: roofline.memory_us * part,
        path: roofline.path,
        flops: figures.flops * part,
        spec,
        attention: attention(category, parameters),
        quantisation,
    })
}

/// What the category of a call and the parameters of its model say of attention; `None` for other work.
fn attention(category: &str, parameters: &[Parameter]) -> Option<AttentionSpeed> {
    let kinds = [Category::SdpaForward, Category::SdpaBackward, Category::InferenceAttention];
    let kind = kinds.into_iter().find(|kind| kind.as_str() == category)?;
    let parameter =
        |name| parameters.iter().find(|parameter| parameter.0 == name).map(|parameter| &parameter.1);
    let number = |name| match parameter(name) {
        Some(&Value::Int(value)) => Some(value as f64),
        _ => None,
    };
    // A causal mask leaves half of the keys.
    let seen = if parameter("causal") == Some(&Value::Bool(true)) { 0.5 } else { 1.0 };
    Some(AttentionSpeed {
        head_dim: number("d_h_qk"),
        keys: number("N_KV").map(|keys| keys * seen),
        is_backward: kind == Category::SdpaBackward,
    })
}

/// Names by their place, each string of a recording once.
#[derive(Default)]
pub(super) struct Names {
    pub(super) texts: Vec<String>,
    places: HashMap<StringId, u32>,
}

impl Names {
    pub(super) fn of(&mut self, trace: &Trace, string: StringId) -> u32 {
        let texts = &mut self.texts;
        *self.places.entry(string).or_insert_with(|| {
            texts.push(trace.text(string).to_owned());
            texts.len() as u32 - 1
        })
    }

    pub(super) fn add(&mut self, text: &str) -> u32 {
        self.texts.push(text.to_owned());
        self.texts.len() as u32 - 1
    }
}

/// What a device event copies, if it is a copy.
pub(super) fn copied(trace: &Trace, event: EventId) -> Option<Copied> {
    let events = trace.events();
    if events.category(event) != EventCategory::GPU_MEMCPY {
        return None;
    }
    let copy = MemoryCopy::parse(trace.name(event))?;
    let bytes = events.arguments().transfer.get(event.index()).and_then(|transfer| transfer.bytes);
    Some(Copied {
        direction: copy.direction,
        bytes,
        pageable: copy.host_memory == Some(HostMemory::Pageable),
    })
}

/// The steps of a program, where it is sure that they are steps, of the threads that are meant.
pub(super) fn steps(analysis: &impl Iterated, is_meant: impl Fn(Option<TrackId>) -> bool) -> Vec<Step> {
    let Some((level, measured)) = sure_steps(analysis) else { return Vec::new() };
    let steps = level.iterations.iter().zip(&measured.iterations).filter(|(step, _)| is_meant(step.track));
    let steps = steps.map(|(step, figures)| Step {
        launched: Interval::between(step.start, step.end),
        duration: (!figures.lacks_work()).then(|| figures.duration(step)),
        is_warm_up: figures.mark == Some(Mark::WarmUp),
    });
    steps.collect()
}

/// The sheet of an advice, where it has findings.
pub(crate) fn tables_of(advice: &Advice, layout: Layout) -> Result<Vec<Table>, TableError> {
    Ok(tables(advice, vec![advice_sheet()], layout)?.0)
}

/// What the first page shows of an advice.
pub(crate) fn first_of(advice: Option<&Advice>) -> Vec<Finding> {
    advice.iter().flat_map(|advice| advice.first()).cloned().collect()
}

/// What a finding gives back, as a share of the window, 0 to 1.
pub(super) fn share_of(finding: &Finding, window_us: f64) -> f64 {
    finding.gain.map_or(0.0, |gain| gain.mid_us / window_us.max(f64::MIN_POSITIVE))
}
