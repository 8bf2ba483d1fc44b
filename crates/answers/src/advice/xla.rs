//! The facts about an XPlane profile of GPUs.

use advise::{
    Advice, Call, DataChange, EvidenceSheets, Facts, Input, Limits, Operator, Program, RecordingGap, Work,
};
use gpu_timeline::{DeviceEvent, Wait, device_waits, short_wait};
use hashbrown::HashMap;
use perf_models::{Category as Kind, number_size};
use sheets::names;
use xla_perf::{GpuEvent, JaxAnalysis, Operator as Instruction};

use super::facts::{Names, copied, least_time, machine, steps};

/// Where reports of profiles show what findings rest on.
const SHEETS: EvidenceSheets = EvidenceSheets {
    timeline: Some((names::GPU_TIMELINE, "type")),
    operators: Some((names::OPS_ALL, "name")),
    idle_causes: None,
    waited_for: None,
    iterations: Some(("iterations", "iteration")),
};

/// What to change in the program of a profile: of its GPU with the most work, the others do alike. `None` without GPUs.
pub(crate) fn profile_advice(analysis: &JaxAnalysis, limits: &Limits) -> Option<Advice> {
    let busiest = (0..analysis.gpus().len()).max_by_key(|&gpu| analysis.gpus()[gpu].breakdown.busy)?;
    let facts = facts(analysis, busiest);
    Some(Advice::new(&facts, limits, &ProfileRecording { analysis }))
}

struct ProfileRecording<'a> {
    analysis: &'a JaxAnalysis,
}

impl advise::Recording for ProfileRecording<'_> {
    fn call_site(&self, event: u32) -> Option<String> {
        let event = self.analysis.trace().events().find_uid(event)?;
        let found = self.analysis.device_events().iter().find(|device_event| device_event.event == event)?;
        let record = self.analysis.operators()[found.operator].record.as_ref()?;
        Some(record.source.clone()).filter(|source| !source.is_empty())
    }
}

fn facts(analysis: &JaxAnalysis, gpu: usize) -> Facts {
    let trace = analysis.trace();
    let events = trace.events();
    let mut names = Names::default();
    let operators: Vec<Operator> =
        analysis.operators().iter().map(|operator| instruction(operator, &mut names)).collect();

    let mut call_of: HashMap<usize, u32> = HashMap::new();
    let mut calls: Vec<Call> = Vec::new();
    for call in analysis.calls() {
        let Some(first) = call.kernels.first().map(|&kernel| &analysis.device_events()[kernel]) else {
            continue;
        };
        if first.gpu != gpu {
            continue;
        }
        call_of.extend(call.kernels.iter().map(|&kernel| (kernel, calls.len() as u32)));
        let operator = &analysis.operators()[call.operator];
        let figures = analysis.figures(call);
        let least = figures.as_ref().and_then(|figures| {
            least_time(
                figures,
                1.0,
                operator.category.as_str(),
                operator.parameters(),
                None,
                analysis.architecture(),
            )
        });
        calls.push(Call {
            operator: call.operator as u32,
            time: call.time.0,
            bytes: figures.and_then(|figures| figures.bytes),
            least,
            tile: None,
            uid: events.uid(first.event),
            module: None,
            recomputed: is_rematerialised(operator),
        });
    }

    let mut gpu_events: Vec<(usize, &GpuEvent)> =
        analysis.device_events().iter().enumerate().filter(|(_, event)| event.gpu == gpu).collect();
    gpu_events.sort_by_key(|(_, event)| (events.start(event.event), events.uid(event.event)));
    let works = gpu_events.iter().map(|(position, event)| Work {
        event: event.device_event(trace),
        name: names.of(trace, events.name(event.event)),
        launched: None,
        call: call_of.get(position).copied(),
        exposed: 0,
        uid: events.uid(event.event),
        copy: copied(trace, event.event),
        message: None,
    });
    let works = Work::charged(works.collect());
    let units_per_us = trace.time_unit().per_microsecond();
    let plane = analysis.profile().planes.get(analysis.gpus()[gpu].plane);
    let lacks_device = analysis.architecture().is_none();
    Facts {
        units_per_us,
        device: plane.filter(|_| analysis.gpus().len() > 1).map(|plane| plane.name.clone()),
        program: Program::Xla,
        sheets: SHEETS,
        idle: idle(&works, units_per_us),
        works,
        calls,
        operators,
        breakdown: analysis.gpus()[gpu].breakdown,
        machine: analysis.architecture().map(|known| machine(known, None)),
        steps: steps(analysis, |_| true),
        gaps: lacks_device.then_some(RecordingGap::Device).into_iter().collect(),
        names: names.texts,
        ..Facts::default()
    }
}

fn instruction(operator: &Instruction, names: &mut Names) -> Operator {
    let record = operator.record.as_ref();
    let dims = record.into_iter().flat_map(|record| record.dims.iter().zip(&record.types));
    let inputs = dims.filter_map(|(shape, element)| {
        Some(Input { shape: shape.clone(), element_bytes: number_size(element)? })
    });
    let category = operator.category.as_str();
    let is_instruction = |kinds: &[&str]| kinds.iter().any(|kind| operator.name.starts_with(kind));
    Operator {
        name: names.add(&operator.name),
        category: category.to_owned(),
        kind: Kind::all().find(|kind| kind.as_str() == category),
        arguments: record.map_or_else(String::new, |record| record.operands.join(", ")),
        inputs: inputs.collect(),
        product: None,
        // Layout assignment, padding and conversion leave instructions of their own.
        change: match () {
            () if is_instruction(&["copy", "transpose", "loop_transpose_fusion", "wrapped_transpose"]) => {
                Some(DataChange::Order)
            }
            () if is_instruction(&["pad", "wrapped_pad"]) => Some(DataChange::Padding),
            () if is_instruction(&["convert", "wrapped_convert"]) => Some(DataChange::Type),
            () => None,
        },
        unknown: None,
    }
}

/// Whether an instruction computes again what was computed before: XLA and `jax.checkpoint` say so in its name and path.
fn is_rematerialised(operator: &Instruction) -> bool {
    let is_checkpointed = |record: &xla_perf::Record| {
        record.op_name.contains("rematted_computation") || record.op_name.contains("checkpoint/remat")
    };
    operator.name.contains(".remat") || operator.record.as_ref().is_some_and(is_checkpointed)
}

/// Waits between the events of a GPU, by launches alone: a profile does not say what held the host.
fn idle(works: &[Work], units_per_us: i64) -> Vec<Wait<u32>> {
    let events: Vec<DeviceEvent> = works.iter().map(|work| work.event).collect();
    let waits = device_waits(&events, short_wait(units_per_us)).into_iter();
    waits
        .filter(|wait| !wait.span.is_empty())
        .map(|Wait { span, event, cause, .. }| Wait { span, event: event as u32, cause, waited_for: None })
        .collect()
}
