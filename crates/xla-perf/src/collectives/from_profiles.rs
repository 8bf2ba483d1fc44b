//! The kernels of collectives in the profiles of a run's nodes.

use std::collections::{BTreeMap, BTreeSet};

use gpu_timeline::{Activity, Interval, IntervalSet};
use hlo_cost::InstructionRef;
use trace_ingest::Picoseconds;

use super::analysis::{CollectiveAnalysis, RecordedKernel};
use super::executions::CollectiveKernel;
use super::from_hlo::{collective_operation, renamed_collectives};
use crate::analysis::JaxAnalysis;
use crate::device_events::{GpuEvent, is_copy_kernel};

impl JaxAnalysis {
    /// The collectives of this profile alone, as those of one node. Computed once.
    pub fn collectives(&self) -> &CollectiveAnalysis {
        self.collectives
            .get_or_init(|| CollectiveAnalysis::from_profiles(&[self], self.options().gpus_per_node()))
    }
}

impl CollectiveAnalysis {
    /// The collectives of the profiles of a run's nodes, in the order of the nodes. A device's number is that of its
    /// plane, and `devices_per_node` is what ranks follow from.
    ///
    /// Kernels of collectives are those that communicate by their own name and those of an instruction that is a
    /// collective, except for copies.
    #[must_use]
    pub fn from_profiles(nodes: &[&JaxAnalysis], devices_per_node: u32) -> Self {
        let mut recorded = Vec::new();
        let mut shown = BTreeSet::new();
        for (node, analysis) in (0_u32..).zip(nodes) {
            let kernels = analysis.device_events().iter().filter(|event| event.category.is_some());
            shown.extend(kernels.map(|event| (node, device(event))));
            record(node, analysis, &mut recorded);
        }
        Self::new(&recorded, shown, devices_per_node)
    }
}

fn device(event: &GpuEvent) -> u32 {
    u32::try_from(event.pid - 1).unwrap_or(0)
}

fn record<'a>(node: u32, analysis: &'a JaxAnalysis, recorded: &mut Vec<RecordedKernel<'a>>) {
    let events = analysis.trace().events();
    let instructions = instructions(analysis);
    let exchanges = |operator: &usize| {
        let instruction = instructions.get(operator).copied().flatten();
        instruction.is_some_and(|instruction| collective_operation(instruction).is_some())
    };
    let exchanging: BTreeSet<usize> = instructions.keys().copied().filter(exchanges).collect();
    let (mut collectives, mut computing) = (Vec::new(), BTreeMap::<usize, Vec<Interval>>::new());
    for (position, event) in analysis.device_events().iter().enumerate() {
        let by_instruction =
            || exchanging.contains(&event.operator) && !is_copy_kernel(analysis.trace().name(event.event));
        let communicates =
            event.category.is_some() && (event.activity == Activity::Communication || by_instruction());
        let span = Interval::between(events.start(event.event), events.end(event.event));
        if communicates {
            collectives.push((position, event, span));
        } else if event.activity == Activity::Computation {
            computing.entry(event.gpu).or_default().push(span);
        }
    }
    let computing: BTreeMap<usize, IntervalSet> =
        computing.into_iter().map(|(gpu, spans)| (gpu, spans.into_iter().collect())).collect();
    for (device_event, event, span) in collectives {
        let operator = &analysis.operators()[event.operator];
        let hidden = computing.get(&event.gpu).map_or(0, |set| covered(set, span));
        recorded.push(RecordedKernel {
            kernel: CollectiveKernel {
                operation: 0,
                node,
                device: device(event),
                start: Picoseconds(span.start),
                duration: Picoseconds(span.length()),
                exposed: Picoseconds(span.length() - hidden),
            },
            device_event,
            module: analysis.module_name(operator).unwrap_or_default(),
            program: operator.program.and_then(|program| program.id),
            name: &operator.name,
            instruction: instructions.get(&event.operator).copied().flatten(),
        });
    }
}

/// The instructions of the operators that kernels were launched for, those that the runtime renamed among them.
fn instructions(analysis: &JaxAnalysis) -> BTreeMap<usize, Option<InstructionRef<'_>>> {
    let mut found: BTreeMap<usize, Option<InstructionRef<'_>>> = BTreeMap::new();
    for event in analysis.device_events() {
        found.entry(event.operator).or_insert_with(|| analysis.instruction(event.event));
    }
    let mut unknown: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (&operator, instruction) in &found {
        let program = analysis.operators()[operator].program.and_then(|program| program.id);
        if let (None, Some(program)) = (instruction, program) {
            unknown.entry(program).or_default().push(operator);
        }
    }
    for (program, operators) in unknown {
        let Some(module) = analysis.module(program) else { continue };
        let names: Vec<&str> =
            module.instructions().map(|instruction| instruction.instruction().name.as_str()).collect();
        let renamed = |&operator: &usize| analysis.operators()[operator].name.as_str();
        let aliases = renamed_collectives(operators.iter().map(renamed), &names);
        for operator in operators {
            let alias = aliases.get(analysis.operators()[operator].name.as_str());
            let instruction = alias.and_then(|alias| module.instruction(alias));
            found.insert(operator, instruction.map(|half| half.async_start().unwrap_or(half)));
        }
    }
    found
}

/// Length of the part of a span that a set contains.
fn covered(set: &IntervalSet, span: Interval) -> i64 {
    let first = set.as_slice().partition_point(|interval| interval.end <= span.start);
    let inside = set.as_slice()[first..].iter().take_while(|interval| interval.start < span.end);
    inside.map(|interval| interval.shared_time(span)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_covered_part_of_a_span_is_what_the_set_shares_with_it() {
        let set: IntervalSet = [0..10, 20..30, 40..50].map(Interval::from).into_iter().collect();
        for (span, expected) in [(5..45, 20), (10..20, 0), (22..24, 2), (50..60, 0), (0..50, 30)] {
            assert_eq!(covered(&set, span.clone().into()), expected, "{span:?}");
        }
    }
}
