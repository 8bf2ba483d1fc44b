//! The part of XLA's HLO protobuf messages that analyses use, written by hand: a field that is not listed
//! is skipped. Field numbers are those of `xla/service/hlo.proto` and `xla/xla_data.proto` in OpenXLA.
//!
//! [`super::Programs`] decodes a module when it is asked for.

#![allow(clippy::doc_markdown)]

use std::collections::BTreeMap;

use prost::Message;

/// `xla.HloProto`: what a profile embeds for every compiled module.
#[derive(Clone, PartialEq, Message)]
pub struct HloProto {
    /// The module.
    #[prost(message, optional, tag = "1")]
    pub hlo_module: Option<HloModuleProto>,
}

impl HloProto {
    /// The message as a profile embeds it.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }
}

/// `xla.HloModuleProto`: a compiled program.
#[derive(Clone, PartialEq, Message)]
pub struct HloModuleProto {
    /// Name, such as `jit_train_step`.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Name of the computation that runs first.
    #[prost(string, tag = "2")]
    pub entry_computation_name: String,
    /// All computations, called ones before their callers.
    #[prost(message, repeated, tag = "3")]
    pub computations: Vec<HloComputationProto>,
    /// Id of the module; the program id of a profile is another number.
    #[prost(int64, tag = "5")]
    pub id: i64,
    /// Id of the computation that runs first.
    #[prost(int64, tag = "6")]
    pub entry_computation_id: i64,
    /// Order of execution.
    #[prost(message, optional, tag = "7")]
    pub schedule: Option<HloScheduleProto>,
    /// Source positions that instructions refer to.
    #[prost(message, optional, tag = "17")]
    pub stack_frame_index: Option<StackFrameIndexProto>,
    /// Attributes that the framework attached.
    #[prost(message, optional, tag = "19")]
    pub frontend_attributes: Option<FrontendAttributes>,
}

/// `xla.HloScheduleProto`.
#[derive(Clone, PartialEq, Message)]
pub struct HloScheduleProto {
    /// Instructions in order of execution, by computation id.
    #[prost(btree_map = "int64, message", tag = "1")]
    pub sequences: BTreeMap<i64, InstructionSequence>,
}

/// `xla.HloScheduleProto.InstructionSequence`.
#[derive(Clone, PartialEq, Message)]
pub struct InstructionSequence {
    /// Ids of instructions.
    #[prost(int64, repeated, tag = "1")]
    pub instruction_ids: Vec<i64>,
}

/// `xla.HloComputationProto`: a function of a module.
#[derive(Clone, PartialEq, Message)]
pub struct HloComputationProto {
    /// Name, unique in the module.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Instructions, operands before their users.
    #[prost(message, repeated, tag = "2")]
    pub instructions: Vec<HloInstructionProto>,
    /// Id, unique in the module.
    #[prost(int64, tag = "5")]
    pub id: i64,
    /// Id of the instruction whose value is the result.
    #[prost(int64, tag = "6")]
    pub root_id: i64,
    /// Whether it is the body of a fusion.
    #[prost(bool, tag = "7")]
    pub is_fusion_computation: bool,
    /// Thread that runs it; empty for the main one.
    #[prost(string, tag = "8")]
    pub execution_thread: String,
}

/// `xla.HloInstructionProto`.
#[derive(Clone, PartialEq, Message)]
pub struct HloInstructionProto {
    /// Name, unique in the module: the `hlo_op` of a profile's events.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Opcode, such as `dot` or `custom-call`.
    #[prost(string, tag = "2")]
    pub opcode: String,
    /// Shape of the result.
    #[prost(message, optional, tag = "3")]
    pub shape: Option<ShapeProto>,
    /// Where it comes from in the framework's program.
    #[prost(message, optional, tag = "7")]
    pub metadata: Option<OpMetadata>,
    /// Which parameter, for opcode `parameter`.
    #[prost(int64, tag = "9")]
    pub parameter_number: i64,
    /// Kind of a fusion, such as `kLoop`.
    #[prost(string, tag = "11")]
    pub fusion_kind: String,
    /// Which element, for opcode `get-tuple-element`.
    #[prost(int64, tag = "13")]
    pub tuple_index: i64,
    /// Dimensions that the opcode works on, such as the one of a concatenation.
    #[prost(int64, repeated, tag = "14")]
    pub dimensions: Vec<i64>,
    /// Window of a convolution or reduction.
    #[prost(message, optional, tag = "15")]
    pub window: Option<Window>,
    /// Which dimension is what, of a convolution.
    #[prost(message, optional, tag = "16")]
    pub convolution_dimension_numbers: Option<ConvolutionDimensionNumbers>,
    /// Number of communication channel.
    #[prost(int64, tag = "26")]
    pub channel_id: i64,
    /// What a custom call calls.
    #[prost(string, tag = "28")]
    pub custom_call_target: String,
    /// Which dimension is what, of a dot product.
    #[prost(message, optional, tag = "30")]
    pub dot_dimension_numbers: Option<DotDimensionNumbers>,
    /// Id, unique in the module; may exceed 32 bits.
    #[prost(int64, tag = "35")]
    pub id: i64,
    /// Ids of the operands, all in the same computation.
    #[prost(int64, repeated, tag = "36")]
    pub operand_ids: Vec<i64>,
    /// Ids of the computations that it calls.
    #[prost(int64, repeated, tag = "38")]
    pub called_computation_ids: Vec<i64>,
    /// Settings of the backend: JSON text, or an MLIR attribute dictionary.
    #[prost(bytes = "vec", tag = "43")]
    pub backend_config: Vec<u8>,
    /// Groups of a collective, as older compilers write them.
    #[prost(message, repeated, tag = "49")]
    pub replica_groups: Vec<ReplicaGroup>,
    /// Number of feature groups of a convolution; 0 means 1.
    #[prost(int64, tag = "50")]
    pub feature_group_count: i64,
    /// Pairs of a collective permute.
    #[prost(message, repeated, tag = "52")]
    pub source_target_pairs: Vec<SourceTarget>,
    /// Number of batch groups of a convolution; 0 means 1.
    #[prost(int64, tag = "58")]
    pub batch_group_count: i64,
    /// Attributes that the framework attached.
    #[prost(message, optional, tag = "68")]
    pub frontend_attributes: Option<FrontendAttributes>,
    /// Whether the groups of a collective name devices rather than replicas.
    #[prost(bool, tag = "71")]
    pub use_global_device_ids: bool,
    /// Thread that runs an asynchronous call; empty for the main one.
    #[prost(string, tag = "79")]
    pub async_execution_thread: String,
    /// Groups of a collective, as newer compilers write them.
    #[prost(message, optional, tag = "87")]
    pub collective_device_list: Option<CollectiveDeviceListProto>,
}

/// `xla.ShapeProto`.
#[derive(Clone, PartialEq, Message)]
pub struct ShapeProto {
    /// `xla.PrimitiveType`, such as 11 for `f32` and 13 for a tuple.
    #[prost(int32, tag = "2")]
    pub element_type: i32,
    /// Sizes, in elements; empty for scalars and tuples.
    #[prost(int64, repeated, tag = "3")]
    pub dimensions: Vec<i64>,
    /// Elements of a tuple.
    #[prost(message, repeated, tag = "4")]
    pub tuple_shapes: Vec<ShapeProto>,
    /// How it lies in memory.
    #[prost(message, optional, tag = "5")]
    pub layout: Option<LayoutProto>,
    /// Which sizes are upper bounds.
    #[prost(bool, repeated, tag = "6")]
    pub is_dynamic_dimension: Vec<bool>,
}

/// `xla.LayoutProto`.
#[derive(Clone, PartialEq, Message)]
pub struct LayoutProto {
    /// Dimensions, the fastest varying first.
    #[prost(int64, repeated, tag = "1")]
    pub minor_to_major: Vec<i64>,
    /// Tiles, the outermost first.
    #[prost(message, repeated, tag = "6")]
    pub tiles: Vec<TileProto>,
    /// Size of an element where it is not that of the type, in bits.
    #[prost(int64, tag = "7")]
    pub element_size_in_bits: i64,
    /// Memory that it lies in: 0 is the device's main memory, 5 the host's.
    #[prost(int64, tag = "8")]
    pub memory_space: i64,
}

/// `xla.TileProto`.
#[derive(Clone, PartialEq, Message)]
pub struct TileProto {
    /// Sizes, in elements.
    #[prost(int64, repeated, tag = "1")]
    pub dimensions: Vec<i64>,
}

/// `xla.OpMetadata`: the framework's operation that an instruction comes from.
#[derive(Clone, PartialEq, Message)]
pub struct OpMetadata {
    /// Type of operation.
    #[prost(string, tag = "1")]
    pub op_type: String,
    /// Name with its scopes, such as `jit(f)/jit(main)/dot_general`.
    #[prost(string, tag = "2")]
    pub op_name: String,
    /// Source file.
    #[prost(string, tag = "3")]
    pub source_file: String,
    /// Line of the source file, from 1; 0 when it is not known.
    #[prost(int32, tag = "4")]
    pub source_line: i32,
    /// Name of the instruction that this one duplicates.
    #[prost(string, tag = "12")]
    pub deduplicated_name: String,
    /// Frame in [`StackFrameIndexProto::stack_frames`], from 1; 0 is none.
    #[prost(int32, tag = "15")]
    pub stack_frame_id: i32,
    /// Name before scheduling.
    #[prost(string, tag = "16")]
    pub scheduling_name: String,
}

/// `xla.StackFrameIndexProto`: tables of source positions. All ids count from 1, and 0 is none.
#[derive(Clone, PartialEq, Message)]
pub struct StackFrameIndexProto {
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

/// `xla.StackFrameIndexProto.FileLocation`.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct FileLocation {
    /// In [`StackFrameIndexProto::file_names`].
    #[prost(int32, tag = "1")]
    pub file_name_id: i32,
    /// In [`StackFrameIndexProto::function_names`].
    #[prost(int32, tag = "2")]
    pub function_name_id: i32,
    /// Line, from 1.
    #[prost(int32, tag = "3")]
    pub line: i32,
    /// Column, from 1.
    #[prost(int32, tag = "4")]
    pub column: i32,
}

/// `xla.StackFrameIndexProto.StackFrame`.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct StackFrame {
    /// In [`StackFrameIndexProto::file_locations`].
    #[prost(int32, tag = "1")]
    pub file_location_id: i32,
    /// The calling frame, in [`StackFrameIndexProto::stack_frames`].
    #[prost(int32, tag = "2")]
    pub parent_frame_id: i32,
}

/// `xla.Window`.
#[derive(Clone, PartialEq, Message)]
pub struct Window {
    /// One per spatial dimension.
    #[prost(message, repeated, tag = "1")]
    pub dimensions: Vec<WindowDimension>,
}

/// `xla.WindowDimension`. All sizes are in elements.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct WindowDimension {
    /// Size.
    #[prost(int64, tag = "1")]
    pub size: i64,
    /// Step.
    #[prost(int64, tag = "2")]
    pub stride: i64,
    /// Padding in front; may be negative.
    #[prost(int64, tag = "3")]
    pub padding_low: i64,
    /// Padding behind; may be negative.
    #[prost(int64, tag = "4")]
    pub padding_high: i64,
    /// Dilation of the window.
    #[prost(int64, tag = "5")]
    pub window_dilation: i64,
    /// Dilation of the operand.
    #[prost(int64, tag = "6")]
    pub base_dilation: i64,
    /// Whether the window is read backwards.
    #[prost(bool, tag = "7")]
    pub window_reversal: bool,
}

/// `xla.ConvolutionDimensionNumbers`: which dimension of input, kernel and output is what.
#[derive(Clone, PartialEq, Message)]
pub struct ConvolutionDimensionNumbers {
    /// Input features of the kernel.
    #[prost(int64, tag = "3")]
    pub kernel_input_feature_dimension: i64,
    /// Output features of the kernel.
    #[prost(int64, tag = "4")]
    pub kernel_output_feature_dimension: i64,
    /// Spatial dimensions of the kernel.
    #[prost(int64, repeated, tag = "6")]
    pub kernel_spatial_dimensions: Vec<i64>,
    /// Batch of the input.
    #[prost(int64, tag = "7")]
    pub input_batch_dimension: i64,
    /// Features of the input.
    #[prost(int64, tag = "8")]
    pub input_feature_dimension: i64,
    /// Batch of the output.
    #[prost(int64, tag = "9")]
    pub output_batch_dimension: i64,
    /// Features of the output.
    #[prost(int64, tag = "10")]
    pub output_feature_dimension: i64,
    /// Spatial dimensions of the input.
    #[prost(int64, repeated, tag = "11")]
    pub input_spatial_dimensions: Vec<i64>,
    /// Spatial dimensions of the output.
    #[prost(int64, repeated, tag = "12")]
    pub output_spatial_dimensions: Vec<i64>,
}

/// `xla.DotDimensionNumbers`.
#[derive(Clone, PartialEq, Message)]
pub struct DotDimensionNumbers {
    /// Dimensions of the left operand that are summed over.
    #[prost(int64, repeated, tag = "1")]
    pub lhs_contracting_dimensions: Vec<i64>,
    /// Dimensions of the right operand that are summed over.
    #[prost(int64, repeated, tag = "2")]
    pub rhs_contracting_dimensions: Vec<i64>,
    /// Batch dimensions of the left operand.
    #[prost(int64, repeated, tag = "3")]
    pub lhs_batch_dimensions: Vec<i64>,
    /// Batch dimensions of the right operand.
    #[prost(int64, repeated, tag = "4")]
    pub rhs_batch_dimensions: Vec<i64>,
}

/// `xla.ReplicaGroup`.
#[derive(Clone, PartialEq, Message)]
pub struct ReplicaGroup {
    /// Members.
    #[prost(int64, repeated, tag = "1")]
    pub replica_ids: Vec<i64>,
}

/// `xla.CollectiveDeviceListProto`: groups one by one or by formula.
#[derive(Clone, PartialEq, Message)]
pub struct CollectiveDeviceListProto {
    /// The groups.
    #[prost(message, repeated, tag = "1")]
    pub replica_groups: Vec<ReplicaGroup>,
    /// The groups by formula.
    #[prost(message, optional, tag = "2")]
    pub iota_replica_group_list: Option<IotaReplicaGroupListProto>,
}

/// `xla.IotaReplicaGroupListProto`: the numbers from 0, reshaped, transposed, and cut into groups.
#[derive(Clone, PartialEq, Message)]
pub struct IotaReplicaGroupListProto {
    /// How many groups.
    #[prost(int64, tag = "1")]
    pub num_replica_groups: i64,
    /// Members of each.
    #[prost(int64, tag = "2")]
    pub num_devices_per_group: i64,
    /// Shape that the numbers are laid out in.
    #[prost(int64, repeated, tag = "3")]
    pub iota_reshape_dims: Vec<i64>,
    /// Order that the dimensions are then read in.
    #[prost(int32, repeated, tag = "4")]
    pub iota_transpose_perm: Vec<i32>,
}

/// `xla.SourceTarget`: one arrow of a collective permute.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct SourceTarget {
    /// Sender.
    #[prost(int64, tag = "1")]
    pub source: i64,
    /// Receiver.
    #[prost(int64, tag = "2")]
    pub target: i64,
}

/// `xla.FrontendAttributes`.
#[derive(Clone, PartialEq, Message)]
pub struct FrontendAttributes {
    /// Values by name.
    #[prost(btree_map = "string, string", tag = "1")]
    pub map: BTreeMap<String, String>,
}
