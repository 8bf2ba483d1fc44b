//! The collectives of one or more profiles of a run.

use std::collections::{BTreeMap, BTreeSet};

use hlo_cost::InstructionRef;
use perf_models::CollectiveKind;

use super::executions::{CollectiveKernel, Slice, SliceMeasurement, measure, slices};
use super::from_hlo::collective_operation;
use super::operation::{CollectiveOperation, Devices};
use super::summary::{KindSummary, OperationSummary, by_kind, by_operation};

/// A kernel of a collective as a profile has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedKernel<'a> {
    /// Where and when it ran; its collective is not known yet.
    pub(super) kernel: CollectiveKernel,
    /// Its position in [`crate::JaxAnalysis::device_events`] of its node.
    pub(super) device_event: usize,
    /// Module of its program; empty where the profile does not say.
    pub(super) module: &'a str,
    /// Its program's id.
    pub(super) program: Option<u64>,
    /// Name of its instruction; its own where the profile does not say.
    pub(super) name: &'a str,
    /// The instruction, where the profile embeds the program.
    pub(super) instruction: Option<InstructionRef<'a>>,
}

/// A collective of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramCollective {
    /// Module of its program.
    pub module: String,
    /// The program's id on the first node that ran it.
    pub program: Option<u64>,
    /// Whether a node runs several programs of the module, so that the id is needed to identify the program.
    pub is_one_of_several: bool,
}

/// A kernel with the execution of a collective that it is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutedKernel {
    /// Number of its node, from 0.
    pub node: u32,
    /// Its position in [`crate::JaxAnalysis::device_events`] of the node.
    pub device_event: usize,
    /// Index of the collective.
    pub operation: usize,
    /// Number of the execution among those of the collective, from 0: [`SliceMeasurement::index`].
    pub execution: usize,
}

/// Collectives with their executions, measured and summed up.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveAnalysis {
    /// The devices.
    pub devices: Devices,
    /// The collectives.
    pub operations: Vec<CollectiveOperation>,
    /// Their programs.
    pub programs: Vec<ProgramCollective>,
    /// The kernels, by node and position.
    pub kernels: Vec<ExecutedKernel>,
    /// Executions, by collective and in order.
    pub slices: Vec<SliceMeasurement>,
    /// The executions by collective.
    pub by_operation: Vec<OperationSummary>,
    /// The executions by kind.
    pub by_kind: Vec<KindSummary>,
}

impl CollectiveAnalysis {
    /// Analyses kernels of collectives. `shown` are the devices, by node and number, that the profiles show at work;
    /// ranks follow from `devices_per_node`. The profiles of a run number their nodes from 0.
    ///
    /// Collectives of several nodes are the same when module and instruction have the same names; where a node runs
    /// several programs of one module, the programs' ids have to be the same, too.
    pub(super) fn new(
        recorded: &[RecordedKernel<'_>],
        shown: impl IntoIterator<Item = (u32, u32)>,
        devices_per_node: u32,
    ) -> Self {
        let ambiguous = ambiguous_modules(recorded);
        let mut known: BTreeMap<(&str, Option<u64>, &str), usize> = BTreeMap::new();
        let (mut operations, mut programs, mut read) = (Vec::new(), Vec::new(), Vec::new());
        let mut kernels = Vec::with_capacity(recorded.len());
        for kernel in recorded {
            let program = kernel.program.filter(|_| ambiguous.contains(kernel.module));
            let operation = *known.entry((kernel.module, program, kernel.name)).or_insert_with(|| {
                operations.push(unread(kernel.name));
                programs.push(ProgramCollective {
                    module: kernel.module.to_owned(),
                    program: kernel.program,
                    is_one_of_several: program.is_some(),
                });
                read.push(false);
                operations.len() - 1
            });
            // One node may lack the program that another has.
            if let (false, Some(instruction)) = (read[operation], kernel.instruction) {
                read[operation] = true;
                if let Some(collective) = collective_operation(instruction) {
                    operations[operation] =
                        CollectiveOperation { name: kernel.name.to_owned(), ..collective };
                }
            }
            kernels.push(CollectiveKernel { operation, ..kernel.kernel });
        }
        let devices = Devices::new(shown, devices_per_node, &operations);
        let slices = slices(&kernels);
        let executed = executed(recorded, &kernels, &slices);
        let slices = measure(&slices, &kernels, &operations, &devices);
        let by_operation = by_operation(&slices);
        let by_kind = by_kind(&by_operation, &operations, devices.total);
        Self { devices, operations, programs, kernels: executed, slices, by_operation, by_kind }
    }
}

/// The kernels with their executions.
fn executed(
    recorded: &[RecordedKernel<'_>],
    kernels: &[CollectiveKernel],
    slices: &[Slice],
) -> Vec<ExecutedKernel> {
    let mut executed: Vec<ExecutedKernel> = recorded
        .iter()
        .zip(kernels)
        .map(|(recorded, &CollectiveKernel { node, operation, .. })| ExecutedKernel {
            node,
            device_event: recorded.device_event,
            operation,
            execution: 0,
        })
        .collect();
    for slice in slices {
        slice.kernels.iter().for_each(|&at| executed[at].execution = slice.index);
    }
    executed
}

/// A collective of which nothing is known but its name.
fn unread(name: &str) -> CollectiveOperation {
    let kind = CollectiveKind::from_name(name);
    CollectiveOperation { name: name.to_owned(), kind, ..CollectiveOperation::default() }
}

/// Modules of which a node runs several programs.
fn ambiguous_modules<'a>(recorded: &[RecordedKernel<'a>]) -> BTreeSet<&'a str> {
    let mut programs: BTreeMap<(u32, &str), BTreeSet<u64>> = BTreeMap::new();
    for kernel in recorded {
        programs.entry((kernel.kernel.node, kernel.module)).or_default().extend(kernel.program);
    }
    programs.into_iter().filter(|(_, ids)| ids.len() > 1).map(|((_, module), _)| module).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hlo_cost::{ElementType, HloComputation, HloInstruction, HloModule, Shape};
    use trace_ingest::Picoseconds;

    fn module(groups: &str) -> HloModule {
        let f32 = |length: u64| Shape::array(ElementType::F32, [length]);
        let instruction = |id, name: &str, opcode: &str, shape, dimensions: &[i64]| HloInstruction {
            operands: vec![1],
            dimensions: dimensions.to_vec(),
            replica_groups: groups.parse().unwrap(),
            ..HloInstruction::new(id, name, opcode, shape)
        };
        let instructions = vec![
            HloInstruction::new(1, "p", "parameter", f32(1 << 20)),
            instruction(2, "all-reduce.1", "all-reduce", f32(1 << 20), &[]),
            instruction(3, "reduce-scatter.1", "reduce-scatter", f32(1 << 19), &[0]),
        ];
        HloModule::new(
            "jit_step",
            1,
            vec![HloComputation { id: 1, name: "main".into(), root: 3, instructions }],
        )
    }

    fn kernel<'a>(
        module: &'a HloModule,
        name: &'a str,
        (node, device): (u32, u32),
        program: u64,
        (start, duration): (i64, i64),
    ) -> RecordedKernel<'a> {
        let (start, duration) = (Picoseconds(start), Picoseconds(duration));
        RecordedKernel {
            kernel: CollectiveKernel { operation: 0, node, device, start, duration, exposed: duration },
            device_event: 0,
            module: module.name(),
            program: Some(program),
            name,
            instruction: module.instruction(name),
        }
    }

    const FOUR: [(u32, u32); 4] = [(0, 0), (0, 1), (1, 0), (1, 1)];

    #[test]
    fn two_nodes_with_transposed_groups_and_programs_numbered_differently() {
        let module = module("[2,2]<=[2,2]T(1,0)");
        let mut recorded = Vec::new();
        for (node, device) in FOUR {
            // Each node numbers programs on its own and has a clock of its own.
            let (program, clock) = (7 + u64::from(node), i64::from(node) * 1_000_000_000_000);
            for run in 0..3 {
                let start = clock + run * 100_000_000;
                let duration = 10_000_000 + i64::from(device) * 10_000_000;
                recorded.push(kernel(&module, "all-reduce.1", (node, device), program, (start, duration)));
                let later = (start + 50_000_000, 4_000_000);
                recorded.push(kernel(&module, "reduce-scatter.1", (node, device), program, later));
            }
        }
        let analysis = CollectiveAnalysis::new(&recorded, FOUR, 2);
        assert_eq!((analysis.operations.len(), analysis.slices.len(), analysis.devices.total), (2, 6, 4));
        assert!(!analysis.programs.iter().any(|program| program.is_one_of_several));
        let reduce = &analysis.slices[0];
        assert_eq!((reduce.ranks.as_slice(), reduce.missing), (&[0, 1, 2, 3][..], 0));
        // Groups {0,2} in 10 µs and {1,3} in 20 µs: 2 · 4 MiB each.
        let rate = |seconds: f64| 8.0 / 1024.0 / seconds;
        let expected = (rate(10e-6) + rate(20e-6)) / 2.0;
        assert!((reduce.bandwidth.unwrap().algorithmic - expected).abs() < 1e-6);
        // A group of two: both factors are 1 and 1/2.
        assert!((reduce.bandwidth.unwrap().bus - expected).abs() < 1e-6);
        let scatter =
            analysis.by_kind.iter().find(|kind| kind.kind == CollectiveKind::ReduceScatter).unwrap();
        assert_eq!((scatter.operations, scatter.slices, scatter.measurements), (1, 3, 6));
        // Input of 4 MiB and output of 2 MiB in 4 µs.
        assert!((scatter.algorithmic.unwrap().mean - 6.0 / 1024.0 / 4e-6).abs() < 1e-6);
        assert_eq!(scatter.mean_data, Some(4.0));
    }

    #[test]
    fn programs_of_one_module_stay_apart() {
        let module = module("{}");
        let recorded = [
            kernel(&module, "all-reduce.1", (0, 0), 1, (0, 10)),
            kernel(&module, "all-reduce.1", (0, 0), 2, (100, 10)),
            kernel(&module, "all-reduce.1", (0, 1), 2, (100, 10)),
        ];
        let analysis = CollectiveAnalysis::new(&recorded, FOUR, 2);
        let programs: Vec<Option<u64>> = analysis.programs.iter().map(|program| program.program).collect();
        assert_eq!(programs, [Some(1), Some(2)]);
        assert!(analysis.programs.iter().all(|program| program.is_one_of_several));
        let missing: Vec<usize> = analysis.slices.iter().map(|slice| slice.missing).collect();
        assert_eq!(missing, [3, 2]);
    }

    #[test]
    fn a_collective_without_a_program_is_timed_but_has_no_rates() {
        let recorded = RecordedKernel {
            kernel: CollectiveKernel {
                operation: 0,
                node: 0,
                device: 0,
                start: Picoseconds(5),
                duration: Picoseconds(10),
                exposed: Picoseconds(4),
            },
            device_event: 0,
            module: "",
            program: None,
            name: "ncclDevKernel_Generic",
            instruction: None,
        };
        let analysis = CollectiveAnalysis::new(&[recorded], [(0, 0)], 8);
        let summary = &analysis.by_operation[0];
        assert_eq!((summary.total_duration.0, summary.exposed.0, summary.bandwidth), (10, 4, None));
        assert_eq!(analysis.by_kind[0].kind, CollectiveKind::Other);
    }

    #[test]
    fn nothing_recorded_is_nothing() {
        let analysis = CollectiveAnalysis::new(&[], [], 8);
        assert!(analysis.slices.is_empty() && analysis.by_kind.is_empty());
    }
}
