//! Collectives read out of compiled programs, and those that a runtime calls by other names than the program does.

use std::collections::BTreeMap;

use hlo_cost::{ArrayShape, HloInstruction, InstructionRef, ReplicaGroups, Shape};
use perf_models::CollectiveKind;

use super::operation::{CollectiveOperation, ExchangeGroups};
use crate::programs::RENAMED;

/// The collective that an instruction is, or begins asynchronously; `None` for every other instruction.
pub(super) fn collective_operation(instruction: InstructionRef<'_>) -> Option<CollectiveOperation> {
    let (exchange, kind) = exchange(instruction)?;
    let inputs = exchange.operands().flat_map(|operand| tensors(&operand.shape)).collect();
    let groups = groups(&exchange, kind);
    Some(CollectiveOperation {
        name: instruction.name.clone(),
        kind,
        inputs,
        outputs: tensors(outputs(&exchange, kind)),
        groups,
        channel: exchange.channel_id,
    })
}

/// The instruction that exchanges: the one itself, or the one that an `async-start` wraps.
fn exchange(instruction: InstructionRef<'_>) -> Option<(InstructionRef<'_>, CollectiveKind)> {
    if let Some(kind) = CollectiveKind::from_opcode(&instruction.opcode) {
        return Some((instruction, kind));
    }
    if instruction.opcode != "async-start" {
        return None;
    }
    let called = instruction.instruction().called_computations.iter();
    let wrapped = called.filter_map(|&id| instruction.module().instructions_of(id));
    wrapped.flatten().find_map(|inner| Some((inner, CollectiveKind::from_opcode(&inner.opcode)?)))
}

/// What a device gets. The first half of an asynchronous gather or permute has its inputs in front; behind the
/// outputs of a permute there are words of the runtime's.
fn outputs(exchange: &HloInstruction, kind: CollectiveKind) -> &Shape {
    let returns_inputs = matches!(kind, CollectiveKind::AllGather | CollectiveKind::CollectivePermute);
    match &exchange.shape {
        Shape::Tuple(parts) if returns_inputs && exchange.opcode.ends_with("-start") => {
            parts.get(1).unwrap_or(&exchange.shape)
        }
        shape => shape,
    }
}

/// The arrays of a shape, without their layouts.
fn tensors(shape: &Shape) -> Vec<ArrayShape> {
    let plain = |array: &&ArrayShape| ArrayShape {
        element_type: array.element_type,
        dimensions: array.dimensions.clone(),
        ..ArrayShape::default()
    };
    shape.arrays().iter().map(plain).collect()
}

fn groups(exchange: &HloInstruction, kind: CollectiveKind) -> Option<ExchangeGroups> {
    if !exchange.source_target_pairs.is_empty() {
        let device = |number: i64| u64::try_from(number).ok();
        let pairs = exchange.source_target_pairs.iter();
        return pairs
            .map(|pair| Some((device(pair.source)?, device(pair.target)?)))
            .collect::<Option<_>>()
            .map(ExchangeGroups::Pairs);
    }
    // With a channel, groups of replicas are joined with those of all partitions; of a program with one replica
    // these are all devices.
    let joins_partitions = !exchange.use_global_device_ids
        && exchange.channel_id.is_some()
        && matches!(
            kind,
            CollectiveKind::AllReduce | CollectiveKind::AllGather | CollectiveKind::ReduceScatter
        );
    let groups = match exchange.device_groups() {
        ReplicaGroups::Lists(lists) if joins_partitions && lists == [[0]] => ReplicaGroups::Everyone,
        groups => groups,
    };
    Some(ExchangeGroups::Replicas(groups))
}

/// The instructions that names of events mean which the module does not have: names such as `all-gather.7`, ordered
/// by number, stand for the instructions `all-gather-start…` in the order of their names (for `all-gather-done…` where
/// there are none of these). When there are more names than instructions, the last instruction has the rest.
pub(super) fn renamed_collectives<'n>(
    names: impl IntoIterator<Item = &'n str>,
    instructions: &[&'n str],
) -> BTreeMap<&'n str, &'n str> {
    let names: Vec<&str> = names.into_iter().collect();
    let mut found = BTreeMap::new();
    for family in RENAMED {
        let beginning = |suffix: &str| {
            let mut halves: Vec<&str> = instructions
                .iter()
                .copied()
                .filter(|name| name.strip_prefix(family).is_some_and(|rest| rest.starts_with(suffix)))
                .collect();
            halves.sort_unstable();
            halves
        };
        let starts = Some(beginning("-start")).filter(|starts| !starts.is_empty());
        let halves = starts.unwrap_or_else(|| beginning("-done"));
        let number = |name: &str| name.strip_prefix(family)?.strip_prefix('.')?.parse::<u64>().ok();
        let mut numbered: Vec<(u64, &str)> = names
            .iter()
            .filter(|name| !instructions.contains(name))
            .filter_map(|&name| Some((number(name)?, name)))
            .collect();
        numbered.sort_unstable();
        numbered.dedup();
        for (position, (_, name)) in numbered.into_iter().enumerate() {
            if let Some(half) = halves.get(position).or(halves.last()) {
                found.insert(name, *half);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use hlo_cost::{ElementType, HloComputation, HloModule, SourceTarget};

    fn bf16(dimensions: &[u64]) -> Shape {
        Shape::array(ElementType::Bf16, dimensions)
    }

    /// A module of a parameter and an instruction that takes it; an `async-start` wraps a computation of the same.
    fn module(parameter: Shape, instruction: HloInstruction, wrapped: Option<HloInstruction>) -> HloModule {
        let computation = |id: i64, suffix: &str, last: HloInstruction| HloComputation {
            id,
            name: format!("computation{suffix}"),
            root: 2,
            instructions: vec![
                HloInstruction::new(1, format!("p{suffix}"), "parameter", parameter.clone()),
                HloInstruction { operands: vec![1], ..last },
            ],
        };
        let entry = computation(1, "", instruction);
        let inner = wrapped.map(|last| computation(2, ".inner", last));
        HloModule::new("jit_step", 1, std::iter::once(entry).chain(inner).collect())
    }

    fn texts(tensors: &[ArrayShape]) -> Vec<String> {
        tensors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_asynchronous_gather_gives_what_it_gets_and_its_transposed_groups() {
        let gather = HloInstruction {
            dimensions: vec![1],
            channel_id: Some(3),
            replica_groups: "[4,2]<=[2,4]T(1,0)".parse().unwrap(),
            ..HloInstruction::new(
                2,
                "ag.1",
                "all-gather-start",
                Shape::Tuple(vec![bf16(&[8, 4]), bf16(&[8, 8])]),
            )
        };
        let module = module(bf16(&[8, 4]), gather, None);
        let operation = collective_operation(module.instruction("ag.1").unwrap()).unwrap();
        assert_eq!(operation.kind, CollectiveKind::AllGather);
        assert_eq!(
            (texts(&operation.inputs), texts(&operation.outputs)),
            (vec!["bf16[8,4]".into()], vec!["bf16[8,8]".into()])
        );
        assert_eq!(operation.channel, Some(3));
        assert_eq!((operation.data_bytes(2), operation.message_bytes()), (64, 128));
        let groups = operation.groups.unwrap();
        assert_eq!(groups.to_string(), "[4,2]<=[2,4]T(1,0)");
    }

    #[test]
    fn a_wrapped_collective_is_read_from_inside_and_named_by_its_start() {
        let scatter = HloInstruction {
            dimensions: vec![0],
            replica_groups: ReplicaGroups::Lists(vec![vec![0, 1], vec![2, 3]]),
            ..HloInstruction::new(2, "rs.inner", "reduce-scatter", bf16(&[4, 4]))
        };
        let start = HloInstruction {
            called_computations: vec![2],
            ..HloInstruction::new(2, "reduce-scatter-start", "async-start", Shape::default())
        };
        let module = module(bf16(&[8, 4]), start, Some(scatter));
        let operation = collective_operation(module.instruction("reduce-scatter-start").unwrap()).unwrap();
        assert_eq!(
            (operation.name.as_str(), operation.kind),
            ("reduce-scatter-start", CollectiveKind::ReduceScatter)
        );
        assert_eq!(
            (operation.input_bytes(), operation.output_bytes(), operation.data_bytes(2)),
            (64, 32, 64)
        );
    }

    #[test]
    fn the_only_replica_stands_for_all_devices_unless_the_numbers_are_of_devices() {
        for (use_global_device_ids, channel_id, text) in
            [(false, Some(1), "{}"), (true, Some(1), "{{0}}"), (false, None, "{{0}}")]
        {
            let reduce = HloInstruction {
                channel_id,
                use_global_device_ids,
                replica_groups: ReplicaGroups::Lists(vec![vec![0]]),
                ..HloInstruction::new(2, "ar", "all-reduce", bf16(&[4]))
            };
            let module = module(bf16(&[4]), reduce, None);
            let operation = collective_operation(module.instruction("ar").unwrap()).unwrap();
            assert_eq!(operation.groups.unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_permute_has_pairs_and_leaves_the_runtimes_words_out() {
        let word = Shape::array(ElementType::U32, []);
        let parts = vec![bf16(&[16]), bf16(&[16]), word.clone(), word];
        let permute = HloInstruction {
            source_target_pairs: [(0, 1), (1, 0)]
                .map(|(source, target)| SourceTarget { source, target })
                .to_vec(),
            ..HloInstruction::new(2, "cp", "collective-permute-start", Shape::Tuple(parts))
        };
        let module = module(bf16(&[16]), permute, None);
        let operation = collective_operation(module.instruction("cp").unwrap()).unwrap();
        assert_eq!(operation.groups.as_ref().map(ToString::to_string).as_deref(), Some("{{0,1},{1,0}}"));
        assert_eq!(operation.output_bytes(), 32);
        assert_eq!(collective_operation(module.instruction("p").unwrap()), None);
    }

    #[test]
    fn numbered_names_stand_for_the_starts_in_order() {
        let instructions = [
            "all-gather-start.2",
            "all-gather-start",
            "all-gather-done",
            "reduce-scatter-done.1",
            "all-to-all.4",
        ];
        let names =
            ["all-gather.20", "all-gather.3", "all-gather.100", "reduce-scatter.1", "all-to-all.4", "dot.1"];
        let found: Vec<(&str, &str)> = renamed_collectives(names, &instructions).into_iter().collect();
        assert_eq!(
            found,
            [
                ("all-gather.100", "all-gather-start.2"),
                ("all-gather.20", "all-gather-start.2"),
                ("all-gather.3", "all-gather-start"),
                ("reduce-scatter.1", "reduce-scatter-done.1"),
            ]
        );
    }

    #[test]
    fn names_without_a_counterpart_mean_nothing() {
        assert!(renamed_collectives(["all-gather.1", "all-gather"], &["dot.1"]).is_empty());
    }
}
