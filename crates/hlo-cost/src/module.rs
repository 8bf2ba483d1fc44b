//! A compiled program: computations of instructions, as XLA's protocol buffers have them.
//!
//! The structs are those messages: field numbers are those of `xla/service/hlo.proto` and `xla/xla_data.proto` in
//! OpenXLA, and what is not listed is skipped. Only shapes and groups of devices have another form in memory.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::OnceLock;

use prost::Message;

use crate::{ReplicaGroup, ReplicaGroups, Shape};

/// A compiled program.
///
/// ```
/// use hlo_cost::{
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
    message: ModuleMessage,
    computation_of_id: HashMap<i64, usize>,
    by_name: HashMap<String, Place>,
    by_id: HashMap<(usize, i64), usize>,
    /// The only instruction with this name as a kernel has it; built when first asked.
    by_kernel: OnceLock<HashMap<String, Option<Place>>>,
}

/// Where an instruction stands: its computation, and its position in that.
type Place = (usize, usize);

/// Why bytes are no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HloDecodeError {
    /// They break the wire format, or a text is not UTF-8.
    #[error(transparent)]
    Malformed(#[from] prost::DecodeError),
    /// The message is empty.
    #[error("it contains no module")]
    NoModule,
}

/// `xla.HloProto`.
#[derive(Clone, PartialEq, Message)]
struct ProgramMessage {
    #[prost(message, optional, tag = "1")]
    module: Option<ModuleMessage>,
}

/// `xla.HloModuleProto`.
#[derive(Clone, PartialEq, Message)]
struct ModuleMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    computations: Vec<HloComputation>,
    #[prost(int64, tag = "6")]
    entry: i64,
    #[prost(message, optional, tag = "17")]
    stack_frames: Option<StackFrameIndex>,
}

/// A computation: instructions in an order in which operands come before their users.
#[derive(Clone, PartialEq, Message)]
pub struct HloComputation {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The instructions.
    #[prost(message, repeated, tag = "2")]
    pub instructions: Vec<HloInstruction>,
    /// Its number, unique in the module.
    #[prost(int64, tag = "5")]
    pub id: i64,
    /// Number of the instruction whose value is the computation's.
    #[prost(int64, tag = "6")]
    pub root: i64,
}

/// An instruction. Fields that its opcode does not use are empty.
#[derive(Clone, PartialEq, Message)]
pub struct HloInstruction {
    /// Its name, unique in the module, without `%`.
    #[prost(string, tag = "1")]
    pub name: String,
    /// What it does: `dot`, `fusion`, `custom-call`.
    #[prost(string, tag = "2")]
    pub opcode: String,
    /// Shape of its value.
    #[prost(message, required, tag = "3")]
    pub shape: Shape,
    /// Where it comes from.
    #[prost(message, required, tag = "7")]
    pub metadata: OpMetadata,
    /// Which parameter of the computation it is.
    #[prost(int64, tag = "9")]
    pub parameter_number: i64,
    /// Kind of a fusion: `kLoop`, `kInput`, `kOutput`, `kCustom`.
    #[prost(string, tag = "11")]
    pub fusion_kind: String,
    /// Dimensions that it works along.
    #[prost(int64, repeated, tag = "14")]
    pub dimensions: Vec<i64>,
    /// How a window moves over the operand.
    #[prost(message, optional, tag = "15")]
    pub window: Option<Window>,
    /// Dimensions of a convolution.
    #[prost(message, optional, tag = "16")]
    pub convolution: Option<ConvolutionDimensionNumbers>,
    /// Channel of a collective across modules.
    #[prost(int64, optional, tag = "26")]
    pub channel_id: Option<i64>,
    /// Function that a custom call calls.
    #[prost(string, tag = "28")]
    pub custom_call_target: String,
    /// Dimensions of a matrix multiplication.
    #[prost(message, optional, tag = "30")]
    pub dot: Option<DotDimensionNumbers>,
    /// Its number, unique in the computation; may exceed 32 bits.
    #[prost(int64, tag = "35")]
    pub id: i64,
    /// Numbers of its operands, which are of the same computation.
    #[prost(int64, repeated, tag = "36")]
    pub operands: Vec<i64>,
    /// Numbers of the computations that it calls.
    #[prost(int64, repeated, tag = "38")]
    pub called_computations: Vec<i64>,
    /// What the compiler tells the function: JSON or a dictionary of MLIR attributes.
    #[prost(bytes = "vec", tag = "43")]
    pub backend_config: Vec<u8>,
    /// Groups of devices of a collective, as older compilers write them.
    #[prost(message, repeated, tag = "49")]
    pub older_replica_groups: Vec<ReplicaGroup>,
    /// Groups of channels that a convolution keeps apart; 0 means 1.
    #[prost(int64, tag = "50")]
    pub feature_group_count: i64,
    /// Pairs of sender and receiver of a collective permute.
    #[prost(message, repeated, tag = "52")]
    pub source_target_pairs: Vec<SourceTarget>,
    /// Whether groups of devices have numbers of devices rather than of replicas.
    #[prost(bool, tag = "71")]
    pub use_global_device_ids: bool,
    /// Groups of devices of a collective, as newer compilers write them. See [`device_groups`](Self::device_groups).
    #[prost(message, required, tag = "87")]
    pub replica_groups: ReplicaGroups,
}

/// Where an instruction comes from; texts are empty where the program does not say.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct OpMetadata {
    /// Type of the framework's operation.
    #[prost(string, tag = "1")]
    pub op_type: String,
    /// Path of the framework's operation: `jit(f)/jit(main)/dot_general`.
    #[prost(string, tag = "2")]
    pub op_name: String,
    /// Source file.
    #[prost(string, tag = "3")]
    pub source_file: String,
    /// Line in it, from 1; 0 where it is not known.
    #[prost(int32, tag = "4")]
    pub source_line: i32,
    /// Number of the frame in [`HloModule::stack_frames`], from 1; 0 for none.
    #[prost(int32, tag = "15")]
    pub stack_frame: i32,
}

/// Source positions that instructions refer to. All numbers count from 1, and 0 is none.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct StackFrameIndex {
    /// File names.
    #[prost(string, repeated, tag = "1")]
    pub file_names: Vec<String>,
    /// Function names.
    #[prost(string, repeated, tag = "2")]
    pub function_names: Vec<String>,
    /// Positions.
    #[prost(message, repeated, tag = "3")]
    pub file_locations: Vec<FileLocation>,
    /// Frames.
    #[prost(message, repeated, tag = "4")]
    pub stack_frames: Vec<StackFrame>,
}

/// A position of a [`StackFrameIndex`].
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct FileLocation {
    /// In [`StackFrameIndex::file_names`].
    #[prost(int32, tag = "1")]
    pub file_name_id: i32,
    /// In [`StackFrameIndex::function_names`].
    #[prost(int32, tag = "2")]
    pub function_name_id: i32,
    /// Line, from 1.
    #[prost(int32, tag = "3")]
    pub line: i32,
    /// Column, from 1.
    #[prost(int32, tag = "4")]
    pub column: i32,
}

/// A frame of a [`StackFrameIndex`].
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct StackFrame {
    /// In [`StackFrameIndex::file_locations`].
    #[prost(int32, tag = "1")]
    pub file_location_id: i32,
    /// The calling frame, in [`StackFrameIndex::stack_frames`].
    #[prost(int32, tag = "2")]
    pub parent_frame_id: i32,
}

/// One arrow of a collective permute.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct SourceTarget {
    /// The sending device.
    #[prost(int64, tag = "1")]
    pub source: i64,
    /// The receiving device.
    #[prost(int64, tag = "2")]
    pub target: i64,
}

/// The dimensions of a matrix multiplication.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct DotDimensionNumbers {
    /// Dimensions of the first operand that are summed over.
    #[prost(int64, repeated, tag = "1")]
    pub lhs_contracting: Vec<i64>,
    /// Those of the second operand, in the same order.
    #[prost(int64, repeated, tag = "2")]
    pub rhs_contracting: Vec<i64>,
    /// Batch dimensions of the first operand.
    #[prost(int64, repeated, tag = "3")]
    pub lhs_batch: Vec<i64>,
    /// Those of the second operand, in the same order.
    #[prost(int64, repeated, tag = "4")]
    pub rhs_batch: Vec<i64>,
}

/// The dimensions of a convolution.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ConvolutionDimensionNumbers {
    /// Channels of the input that a filter covers: those of one group.
    #[prost(int64, tag = "3")]
    pub kernel_input_feature: i64,
    /// Filters.
    #[prost(int64, tag = "4")]
    pub kernel_output_feature: i64,
    /// Extents of a filter.
    #[prost(int64, repeated, tag = "6")]
    pub kernel_spatial: Vec<i64>,
    /// Images of the input.
    #[prost(int64, tag = "7")]
    pub input_batch: i64,
    /// Channels of the input.
    #[prost(int64, tag = "8")]
    pub input_feature: i64,
    /// Images of the result.
    #[prost(int64, tag = "9")]
    pub output_batch: i64,
    /// Channels of the result.
    #[prost(int64, tag = "10")]
    pub output_feature: i64,
    /// Extents of the input.
    #[prost(int64, repeated, tag = "11")]
    pub input_spatial: Vec<i64>,
    /// Extents of the result.
    #[prost(int64, repeated, tag = "12")]
    pub output_spatial: Vec<i64>,
}

/// How a filter or a window moves: one entry for each spatial dimension.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Window {
    /// The dimensions, in the order of the spatial dimensions.
    #[prost(message, repeated, tag = "1")]
    pub dimensions: Vec<WindowDimension>,
}

/// How a window moves along one dimension, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct WindowDimension {
    /// Extent of the window.
    #[prost(int64, tag = "1")]
    pub size: i64,
    /// Step from one position to the next.
    #[prost(int64, tag = "2")]
    pub stride: i64,
    /// Elements added before the input; negative ones are cut off.
    #[prost(int64, tag = "3")]
    pub padding_low: i64,
    /// Elements added after the input.
    #[prost(int64, tag = "4")]
    pub padding_high: i64,
    /// Distance of the window's taps; 1 for neighbours.
    #[prost(int64, tag = "5")]
    pub window_dilation: i64,
    /// Distance of the input's elements; 1 for neighbours, more in transposed convolutions.
    #[prost(int64, tag = "6")]
    pub base_dilation: i64,
}

impl HloInstruction {
    /// An instruction with what every one has.
    pub fn new(id: i64, name: impl Into<String>, opcode: impl Into<String>, shape: Shape) -> Self {
        Self { id, name: name.into(), opcode: opcode.into(), shape, ..Self::default() }
    }

    /// Groups of devices of a collective: the newer list where the program has one, else the older groups;
    /// neither means everyone.
    #[must_use]
    pub fn device_groups(&self) -> ReplicaGroups {
        let mut groups = self.replica_groups.clone();
        if groups == ReplicaGroups::Everyone {
            groups.add_lists(&self.older_replica_groups);
        }
        groups
    }
}

impl HloModule {
    /// A module whose entry is the computation with number `entry`.
    ///
    /// Where names or numbers occur twice, the first one counts.
    pub fn new(name: impl Into<String>, entry: i64, computations: Vec<HloComputation>) -> Self {
        Self::index(ModuleMessage { name: name.into(), computations, entry, stack_frames: None })
    }

    /// Decodes a program: the bytes of an `xla.HloProto`, as a profile embeds it and as XLA writes it to
    /// `*.hlo.pb` with `--xla_dump_hlo_as_proto`. Fields that a message leaves out have the value that protocol
    /// buffers give them.
    ///
    /// # Errors
    ///
    /// When the bytes are damaged or hold no module.
    pub fn decode(bytes: &[u8]) -> Result<Self, HloDecodeError> {
        let program = ProgramMessage::decode(bytes)?;
        program.module.map(Self::index).ok_or(HloDecodeError::NoModule)
    }

    /// The bytes that [`HloModule::decode`] reads.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        ProgramMessage { module: Some(self.message.clone()) }.encode_to_vec()
    }

    /// The module with the source positions that its instructions refer to.
    #[must_use]
    pub fn with_stack_frames(mut self, frames: StackFrameIndex) -> Self {
        self.message.stack_frames = Some(frames);
        self
    }

    fn index(message: ModuleMessage) -> Self {
        let mut module = Self::default();
        for (place, computation) in message.computations.iter().enumerate() {
            module.computation_of_id.entry(computation.id).or_insert(place);
            for (position, instruction) in computation.instructions.iter().enumerate() {
                module.by_name.entry(instruction.name.clone()).or_insert((place, position));
                module.by_id.entry((place, instruction.id)).or_insert(position);
            }
        }
        module.message = message;
        module
    }

    /// Source positions that instructions refer to, where the program has them.
    #[must_use]
    pub fn stack_frames(&self) -> Option<&StackFrameIndex> {
        self.message.stack_frames.as_ref()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.message.name
    }

    /// All computations, in the order of the file.
    #[must_use]
    pub fn computations(&self) -> &[HloComputation] {
        &self.message.computations
    }

    /// The computation that runs when the program does.
    #[must_use]
    pub fn entry(&self) -> Option<&HloComputation> {
        self.computation_of_id.get(&self.message.entry).map(|&place| &self.message.computations[place])
    }

    /// The instruction of this name; a leading `%` is ignored.
    #[must_use]
    pub fn instruction(&self, name: &str) -> Option<InstructionRef<'_>> {
        let &(computation, position) = self.by_name.get(name.strip_prefix('%').unwrap_or(name))?;
        Some(InstructionRef { module: self, computation, position })
    }

    /// The instruction that a kernel of this name was compiled for: XLA calls a kernel as the instruction, with `_` in
    /// place of what is neither letter nor digit. `None` where several instructions have this name; those inside a
    /// fusion have no kernel.
    #[must_use]
    pub fn instruction_of_kernel(&self, kernel: &str) -> Option<InstructionRef<'_>> {
        let (computation, position) = (*self.by_kernel.get_or_init(|| self.kernel_names()).get(kernel)?)?;
        Some(InstructionRef { module: self, computation, position })
    }

    fn kernel_names(&self) -> HashMap<String, Option<Place>> {
        let fusions = self.instructions().filter(|instruction| instruction.opcode == "fusion");
        let fused: HashSet<i64> =
            fusions.flat_map(|fusion| fusion.instruction().called_computations.iter().copied()).collect();
        let mut names = HashMap::new();
        for instruction in self.instructions() {
            if !fused.contains(&instruction.computation().id) {
                let name = instruction.name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
                let place = Some((instruction.computation, instruction.position));
                names.entry(name).and_modify(|place| *place = None).or_insert(place);
            }
        }
        names
    }

    /// All instructions of all computations.
    pub fn instructions(&self) -> impl Iterator<Item = InstructionRef<'_>> {
        (0..self.message.computations.len()).flat_map(|computation| self.instructions_at(computation))
    }

    fn instructions_at(&self, computation: usize) -> impl Iterator<Item = InstructionRef<'_>> {
        let count = self.message.computations[computation].instructions.len();
        (0..count).map(move |position| InstructionRef { module: self, computation, position })
    }

    /// The instructions of the computation with this number; `None` where the module lacks it.
    pub fn instructions_of(&self, id: i64) -> Option<impl Iterator<Item = InstructionRef<'_>>> {
        self.computation_of_id.get(&id).map(|&computation| self.instructions_at(computation))
    }

    pub(crate) fn root_of(&self, id: i64) -> Option<InstructionRef<'_>> {
        let &computation = self.computation_of_id.get(&id)?;
        let &position = self.by_id.get(&(computation, self.message.computations[computation].root))?;
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
        &self.module.message.computations[self.computation]
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
    use crate::ElementType;

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
        assert!(negate.operand(1).is_none());
        assert_eq!(module.entry().unwrap().instructions.len(), module.instructions().count());

        let mut alone = chain(&["negate"]).message.computations;
        alone[0].instructions[0].operands = vec![77];
        assert_eq!(HloModule::new("m", 0, alone).instruction("negate.0").unwrap().operand_texts(), ["%77"]);
    }

    #[test]
    fn a_kernel_is_called_as_its_instruction_unless_several_have_the_name() {
        let named = |id, name: &str, opcode: &str| HloInstruction {
            name: name.to_owned(),
            opcode: opcode.to_owned(),
            id,
            ..HloInstruction::default()
        };
        let fusion =
            HloInstruction { called_computations: vec![1], ..named(0, "loop_add-fusion.1", "fusion") };
        let entry = vec![fusion, named(1, "copy.2", "copy"), named(2, "copy_2", "copy")];
        let fused = vec![named(0, "add.3", "add")];
        let computation = |id, instructions| HloComputation { id, instructions, ..HloComputation::default() };
        let module = HloModule::new("m", 0, vec![computation(0, entry), computation(1, fused)]);
        let found = |kernel| module.instruction_of_kernel(kernel).map(|of| of.name.clone());
        assert_eq!(found("loop_add_fusion_1").as_deref(), Some("loop_add-fusion.1"));
        assert_eq!([found("copy_2"), found("add_3"), found("nvjet_sm90")], [None, None, None]);
    }

    #[test]
    fn groups_of_devices_come_from_the_newer_list_first() {
        let older = vec![ReplicaGroup { devices: vec![0, 1] }];
        for (newer, older, text) in [
            ("[4,2]<=[2,4]T(1,0)", older.clone(), "[4,2]<=[2,4]T(1,0)"),
            ("{}", older, "{{0,1}}"),
            ("{}", vec![ReplicaGroup::default()], "{}"),
            ("{}", Vec::new(), "{}"),
        ] {
            let instruction = HloInstruction {
                replica_groups: newer.parse().unwrap(),
                older_replica_groups: older,
                ..HloInstruction::default()
            };
            assert_eq!(instruction.device_groups().to_string(), text);
        }
    }

    #[test]
    fn the_end_of_an_asynchronous_operation_finds_its_start() {
        let module = chain(&["parameter", "async-start", "async-update", "async-done", "negate"]);
        let start = |name| module.instruction(name).unwrap().async_start().map(|of| of.name.clone());
        assert_eq!(start("async-done.3").as_deref(), Some("async-start.1"));
        assert_eq!(start("async-update.2").as_deref(), Some("async-start.1"));
        assert_eq!(start("async-start.1"), None);
        assert_eq!(start("negate.4"), None);
        let mut ring = chain(&["async-done"]).message.computations;
        ring[0].instructions[0].operands = vec![0];
        assert!(HloModule::new("m", 0, ring).instruction("async-done.0").unwrap().async_start().is_none());
    }
}
