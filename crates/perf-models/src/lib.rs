#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod activation;
mod annotation;
mod architecture;
mod architectures;
mod call;
mod category;
mod collective_kind;
mod completed;
mod concrete;
mod data_type;
mod families;
mod family;
mod gemm_kernel;
mod kernel_names;
mod literal;
mod memory_copy;
mod model;
mod promotion;
mod recorded;
mod registry;
mod roofline;
mod softmax;
mod tensor;
mod undefined;
mod value;

pub use activation::Activation;
pub use annotation::{
    AnnotationKind, IterationAnnotation, StepMode, StepPhase, StepStatistics, TokenStatistics, graph_capture,
};
pub use architecture::{Architecture, ArchitectureError, GroupLink, Link, PeakBasis, UnknownComputeSpec};
pub use architectures::{Device, architecture, architecture_of_device, architectures};
pub use call::OpCall;
pub use category::Category;
pub use collective_kind::CollectiveKind;
pub use data_type::{
    ComputeSpec, ComputeUnit, Precision, element_size, number_size, precision, type_of_scalar_name,
};
pub use families::BackwardWork;
pub use families::attention::{Attention, AttentionMask, MaskAlignment, PackedSequences};
pub use families::collective::{AllReduceRmsNorm, CustomAllReduce, CustomReshard};
pub use families::convolution::model::{Convolution, ConvolutionBackward, Gradients};
pub use families::cross_entropy::CrossEntropy;
pub use families::elementwise::binary::BinaryElementwise;
pub use families::elementwise::gated::GatedActivation;
pub use families::elementwise::resizing::ResizingCopy;
pub use families::elementwise::unary::{Mxfp4DualQuantization, UnaryElementwise};
pub use families::gemm::model::{Gemm, GemmSizes};
pub use families::grouped_gemm::{GroupShape, GroupedGemm, VariableKGroupedGemm};
pub use families::hyper_connection::{HyperConnection, HyperConnectionStage, MixtureMatmul};
pub use families::inference_attention::{
    GatedDeltaAttention, InferenceAttention, KeyValueStore, SparsePrefillAttention,
};
pub use families::moe::{
    ExpertLayer, ExpertMatmul, ExpertStage, ExpertTokens, RoutingOperands, SharedExpertAppend, TopkSoftplus,
};
pub use families::normalization::model::{
    Channels, Normalization, NormalizationBackward, NormalizationKind, Statistics,
};
pub use families::quantization::{GroupQuantizationFp8, Mxfp4Quantization, ScaledQuantization};
pub use families::reduce::{Reduction, ReductionKind};
pub use families::rms_norm::{InferenceRmsNorm, RmsNormFusion};
pub use families::rope::{FusedRopeAndCache, RotaryEmbedding};
pub use families::sampling::ExponentialSampling;
pub use families::state_space::{CausalConvolution, SelectiveScan};
pub use families::traffic::TensorTraffic;
pub use families::traffic::element_type::list_element_type;
pub use families::triton::{FusedOperator, TritonKernel};
pub use family::Family;
pub use gemm_kernel::{DimensionEfficiency, GemmKernel, MacroTile, tile_of_gemm};
pub use kernel_names::{
    AttentionLayout, CommunicationPatterns, KernelClass, KernelWords, LoopWords, MemoryKernel,
    ParameterUpdate, PftraceKernel, PhaseOperator, PhaseWords, WorkKind, XlaKernel, bare_kernel_name,
    convolution_category, custom_call_category, fp32_matrix_spec, is_library_gemm, kernel_class,
    rocm_memory_kernel, tracelens_engine_kernel, tracelens_rocprof_category,
};
pub use literal::NoLiteral;
pub use memory_copy::{CopyDirection, HostMemory, MemoryCopy};
pub use model::{Figure, Parameter, PerfModel};
pub use registry::{
    Operator, Tables, family, has_model, model, op_category, operator, operators, ops_of_family,
    work_category,
};
pub use roofline::{Bound, DataPath, Roofline};
pub use softmax::Softmax;
pub use tensor::{Tensor, count_value, elements, finite, shape_value};
pub use undefined::{Gap, Undefined};
pub use value::Value;
