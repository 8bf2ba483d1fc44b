//! A compiled program: computations of instructions.

use std::collections::HashMap;
use std::ops::Deref;

use super::{ConvolutionDimensionNumbers, DotDimensionNumbers, ReplicaGroups, Shape, Window};

/// A compiled program.
///
/// ```
/// use perf_models::hlo::{
///     DotDimensionNumbers, ElementType, HloComputation, HloInstruction, HloModule, Shape,
/// };
/// use perf_models::PerfModel;
///
/// let parameter = |id, name: &str, shape| HloInstruction::new(id, name, "parameter", shape);
/// let dot = HloInstruction {
///     operands: vec![1, 2],
///     dot: Some(DotDimensionNumbers {
///         lhs_contracting: vec![1],
///         rhs_contracting: vec![0],
///         ..DotDimensionNumbers::default()
///     }),
///     ..HloInstruction::new(3, "dot.1", "dot", Shape::array(ElementType::F32, [64, 128]))
/// };
/// let entry = HloComputation {
///     id: 1,
///     name: "main".into(),
///     root: 3,
///     instructions: vec![
///         parameter(1, "a", Shape::array(ElementType::F32, [64, 32])),
///         parameter(2, "b", Shape::array(ElementType::F32, [32, 128])),
///         dot,
///     ],
/// };
/// let module = HloModule::new("jit_f", 1, vec![entry]);
/// let cost = module.instruction("dot.1").ok_or("no such instruction")?.cost();
/// assert_eq!(cost.flops()?, 2.0 * 64.0 * 32.0 * 128.0);
/// assert_eq!(cost.bytes()?, 4.0 * (64.0 * 32.0 + 32.0 * 128.0 + 64.0 * 128.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct HloModule {
    name: String,
    entry: i64,
    computations: Vec<HloComputation>,
    computation_of_id: HashMap<i64, usize>,
    by_name: HashMap<String, Place>,
    by_id: HashMap<(usize, i64), usize>,
}

/// Where an instruction stands: its computation, and its position in that.
type Place = (usize, usize);

/// A computation: instructions in an order in which operands come before their users.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HloComputation {
    /// Its number, unique in the module.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Number of the instruction whose value is the computation's.
    pub root: i64,
    /// The instructions.
    pub instructions: Vec<HloInstruction>,
}

/// An instruction. Fields that its opcode does not use are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HloInstruction {
    /// Its number, unique in the computation.
    pub id: i64,
    /// Its name, unique in the module, without `%`.
    pub name: String,
    /// What it does: `dot`, `fusion`, `custom-call`.
    pub opcode: String,
    /// Shape of its value.
    pub shape: Shape,
    /// Numbers of its operands, which are of the same computation.
    pub operands: Vec<i64>,
    /// Numbers of the computations that it calls.
    pub called_computations: Vec<i64>,
    /// Where it comes from.
    pub metadata: OpMetadata,
    /// Which parameter of the computation it is.
    pub parameter_number: i64,
    /// Which part of its operand a `get-tuple-element` takes.
    pub tuple_index: i64,
    /// Dimensions that it works along.
    pub dimensions: Vec<i64>,
    /// Kind of a fusion: `kLoop`, `kInput`, `kOutput`, `kCustom`.
    pub fusion_kind: String,
    /// How a window moves over the operand.
    pub window: Option<Window>,
    /// Dimensions of a convolution.
    pub convolution: Option<ConvolutionDimensionNumbers>,
    /// Dimensions of a matrix multiplication.
    pub dot: Option<DotDimensionNumbers>,
    /// Groups of channels that a convolution keeps apart.
    pub feature_group_count: i64,
    /// Groups of images that a convolution keeps apart.
    pub batch_group_count: i64,
    /// Channel of a collective across modules.
    pub channel_id: Option<i64>,
    /// Function that a custom call calls.
    pub custom_call_target: String,
    /// What the compiler tells the function: JSON or a dictionary of MLIR attributes.
    pub backend_config: String,
    /// Groups of devices of a collective.
    pub replica_groups: ReplicaGroups,
    /// Whether these are numbers of devices rather than of replicas.
    pub use_global_device_ids: bool,
    /// Pairs of sender and receiver of a collective permute.
    pub source_target_pairs: Vec<(i64, i64)>,
    /// Attributes that the framework set, by name.
    pub frontend_attributes: Vec<(String, String)>,
    /// Thread of an asynchronous call.
    pub async_execution_thread: String,
}

/// Where an instruction comes from; texts are empty where the program does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpMetadata {
    /// Type of the framework's operation.
    pub op_type: String,
    /// Path of the framework's operation: `jit(f)/jit(main)/dot_general`.
    pub op_name: String,
    /// Source file.
    pub source_file: String,
    /// Line in it, from 1.
    pub source_line: i32,
    /// Name that equal instructions share.
    pub deduplicated_name: String,
    /// Name that the scheduler used.
    pub scheduling_name: String,
    /// Number of the frame in the module's stack index, from 1; 0 for none.
    pub stack_frame: i32,
}

impl HloInstruction {
    /// An instruction with what every one has.
    pub fn new(id: i64, name: impl Into<String>, opcode: impl Into<String>, shape: Shape) -> Self {
        Self { id, name: name.into(), opcode: opcode.into(), shape, ..Self::default() }
    }
}

impl HloModule {
    /// A module whose entry is the computation with number `entry`.
    ///
    /// Where names or numbers occur twice, the first one counts.
    pub fn new(name: impl Into<String>, entry: i64, computations: Vec<HloComputation>) -> Self {
        let mut module = Self { name: name.into(), entry, ..Self::default() };
        for (place, computation) in computations.iter().enumerate() {
            module.computation_of_id.entry(computation.id).or_insert(place);
            for (position, instruction) in computation.instructions.iter().enumerate() {
                module.by_name.entry(instruction.name.clone()).or_insert((place, position));
                module.by_id.entry((place, instruction.id)).or_insert(position);
            }
        }
        module.computations = computations;
        module
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All computations, in the order of the file.
    #[must_use]
    pub fn computations(&self) -> &[HloComputation] {
        &self.computations
    }

    /// The computation that runs when the program does.
    #[must_use]
    pub fn entry(&self) -> Option<&HloComputation> {
        self.computation_of_id.get(&self.entry).map(|&place| &self.computations[place])
    }

    /// The instruction of this name; a leading `%` is ignored.
    #[must_use]
    pub fn instruction(&self, name: &str) -> Option<InstructionRef<'_>> {
        let &(computation, position) = self.by_name.get(name.strip_prefix('%').unwrap_or(name))?;
        Some(InstructionRef { module: self, computation, position })
    }

    /// All instructions of all computations.
    pub fn instructions(&self) -> impl Iterator<Item = InstructionRef<'_>> {
        (0..self.computations.len()).flat_map(|computation| self.instructions_at(computation))
    }

    fn instructions_at(&self, computation: usize) -> impl Iterator<Item = InstructionRef<'_>> {
        let count = self.computations[computation].instructions.len();
        (0..count).map(move |position| InstructionRef { module: self, computation, position })
    }

    pub(super) fn instructions_of(&self, id: i64) -> Option<impl Iterator<Item = InstructionRef<'_>>> {
        self.computation_of_id.get(&id).map(|&computation| self.instructions_at(computation))
    }

    pub(super) fn root_of(&self, id: i64) -> Option<InstructionRef<'_>> {
        let &computation = self.computation_of_id.get(&id)?;
        let &position = self.by_id.get(&(computation, self.computations[computation].root))?;
        Some(InstructionRef { module: self, computation, position })
    }
}

/// An instruction in its module. Dereferences to the instruction.
#[derive(Clone, Copy, Debug)]
pub struct InstructionRef<'m> {
    module: &'m HloModule,
    computation: usize,
    position: usize,
}

impl Deref for InstructionRef<'_> {
    type Target = HloInstruction;

    fn deref(&self) -> &HloInstruction {
        self.instruction()
    }
}

impl<'m> InstructionRef<'m> {
    /// Its module.
    #[must_use]
    pub fn module(self) -> &'m HloModule {
        self.module
    }

    /// The instruction itself.
    #[must_use]
    pub fn instruction(self) -> &'m HloInstruction {
        &self.computation().instructions[self.position]
    }

    /// The computation that it belongs to.
    #[must_use]
    pub fn computation(self) -> &'m HloComputation {
        &self.module.computations[self.computation]
    }

    /// Whether its value is that of the computation.
    #[must_use]
    pub fn is_root(self) -> bool {
        self.computation().root == self.instruction().id
    }

    /// Operand `index`; `None` where there is none or the module lacks it.
    #[must_use]
    pub fn operand(self, index: usize) -> Option<InstructionRef<'m>> {
        self.with_id(*self.instruction().operands.get(index)?)
    }

    /// The operands that the module has.
    pub fn operands(self) -> impl Iterator<Item = InstructionRef<'m>> {
        self.instruction().operands.iter().filter_map(move |&id| self.with_id(id))
    }

    fn with_id(self, id: i64) -> Option<Self> {
        let &position = self.module.by_id.get(&(self.computation, id))?;
        Some(Self { position, ..self })
    }

    /// Shapes of all operands as texts; the name of an operand that the module lacks is its number.
    #[must_use]
    pub fn operand_texts(self) -> Vec<String> {
        let ids = self.instruction().operands.iter();
        ids.map(|&id| self.with_id(id).map_or_else(|| format!("%{id}"), |of| of.shape.to_string())).collect()
    }

    /// The instruction that began what this `-done` or `-update` instruction waits for; `None` for all others.
    #[must_use]
    pub fn async_start(self) -> Option<InstructionRef<'m>> {
        let mut at = self;
        // Updates can be chained; a damaged module may chain them in a ring.
        for _ in 0..=self.computation().instructions.len() {
            if !(at.opcode.ends_with("-done") || at.opcode.ends_with("-update")) {
                break;
            }
            at = at.operand(0)?;
        }
        (at.position != self.position && at.opcode.ends_with("-start")).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::ElementType;

    fn chain(opcodes: &[&str]) -> HloModule {
        let shape = Shape::array(ElementType::F32, [2]);
        let instructions = opcodes.iter().enumerate().map(|(position, opcode)| HloInstruction {
            operands: if position > 0 { vec![position as i64 - 1] } else { Vec::new() },
            ..HloInstruction::new(position as i64, format!("{opcode}.{position}"), *opcode, shape.clone())
        });
        let root = opcodes.len() as i64 - 1;
        let computation =
            HloComputation { root, instructions: instructions.collect(), ..HloComputation::default() };
        HloModule::new("m", 0, vec![computation])
    }

    #[test]
    fn operands_are_looked_up_by_number_in_their_computation() {
        let module = chain(&["parameter", "negate"]);
        let negate = module.instruction("%negate.1").unwrap();
        assert_eq!(negate.operand(0).unwrap().name, "parameter.0");
        assert_eq!(negate.operand_texts(), ["f32[2]{0}"]);
        assert!(negate.is_root() && negate.operand(1).is_none());
        assert_eq!(module.entry().unwrap().instructions.len(), module.instructions().count());

        let mut alone = chain(&["negate"]).computations;
        alone[0].instructions[0].operands = vec![77];
        assert_eq!(HloModule::new("m", 0, alone).instruction("negate.0").unwrap().operand_texts(), ["%77"]);
    }

    #[test]
    fn the_end_of_an_asynchronous_operation_finds_its_start() {
        let module = chain(&["parameter", "async-start", "async-update", "async-done", "negate"]);
        let start = |name| module.instruction(name).unwrap().async_start().map(|of| of.name.clone());
        assert_eq!(start("async-done.3").as_deref(), Some("async-start.1"));
        assert_eq!(start("async-update.2").as_deref(), Some("async-start.1"));
        assert_eq!(start("async-start.1"), None);
        assert_eq!(start("negate.4"), None);
        let mut ring = chain(&["async-done"]).computations;
        ring[0].instructions[0].operands = vec![0];
        assert!(HloModule::new("m", 0, ring).instruction("async-done.0").unwrap().async_start().is_none());
    }
}
