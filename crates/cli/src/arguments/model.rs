//! The flags of `tracelens model`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use perf_models::{Activation, ReductionKind};

use super::one_of;

pub(super) const EXAMPLES: &str = "\
Examples:
  tracelens model --list                                      what can be asked, with its arguments
  tracelens model gemm --m 8192 --n 8192 --k 8192 --arch h100
  tracelens model sdpa --batch 1 --heads 64 --kv-heads 8 --q-len 4096 --head-dim 128 --causal --json
  tracelens model --jsonl calls.jsonl                         recorded calls, one JSON object a line";

#[derive(Args)]
pub(crate) struct ModelArguments {
    /// List the models and their arguments
    #[arg(long)]
    pub(crate) list: bool,

    /// Answer the recorded operator calls in this file (- for standard input), one JSON object a line: name, args
    /// as in a Kineto event, and optionally annotation, kernel_details, forward
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    pub(crate) jsonl: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) model: Option<ModelCommand>,
}

/// A model, with the sizes to ask it for.
#[derive(Subcommand)]
pub(crate) enum ModelCommand {
    /// Matrix multiplication: M×K by K×N
    Gemm(Question<GemmArguments>),
    /// Matrix multiplication in groups that share the rows of the first operand
    GroupedGemm(Question<GroupedGemmArguments>),
    /// Scaled dot-product attention as flash attention does it
    Sdpa(Question<SdpaArguments>),
    /// Convolution in one, two or three dimensions
    Conv(Question<ConvArguments>),
    /// One operation on each element of a tensor
    Unary(Question<UnaryArguments>),
    /// One operation on each pair of elements of two tensors
    Binary(Question<BinaryArguments>),
    /// Normalization: batch, layer, group, RMS
    Norm(Question<NormArguments>),
    /// Reduction of a tensor along some of its dimensions
    Reduce(Question<ReduceArguments>),
    /// Rotary position embedding of query and key
    Rope(Question<RopeArguments>),
    /// Cross-entropy loss
    CrossEntropy(Question<CrossEntropyArguments>),
    /// Causal convolution of each channel along the sequence, of state-space models
    CausalConv1d(Question<CausalConv1dArguments>),
}

/// Sizes and what is wanted to be known of them.
#[derive(Args)]
pub(crate) struct Question<A: Args> {
    #[command(flatten)]
    pub(crate) sizes: A,
    /// Element type of what goes in
    #[arg(long, value_enum, default_value = "bf16")]
    pub(crate) dtype: DataType,
    #[command(flatten)]
    pub(crate) answer: AnswerArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Answer")]
pub(crate) struct AnswerArguments {
    /// Hold the figures against this bundled architecture; see tracelens archs
    #[arg(long, alias = "gpu_arch_platform", value_name = "NAME")]
    pub(crate) arch: Option<String>,

    /// Hold the figures against the architecture in this JSON file
    #[arg(long = "gpu_arch_json_path", value_name = "FILE", conflicts_with = "arch")]
    pub(crate) gpu_arch_json_path: Option<PathBuf>,

    /// The figures of the backward pass instead
    #[arg(long)]
    pub(crate) backward: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Element types under their common names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DataType {
    Fp64,
    Fp32,
    Fp16,
    Bf16,
    Fp8,
    Int8,
    /// Two numbers a byte; gemm only
    Fp4,
}

impl DataType {
    /// The name that PyTorch records.
    pub(crate) fn recorded_name(self) -> &'static str {
        match self {
            DataType::Fp64 => "double",
            DataType::Fp32 => "float",
            DataType::Fp16 => "c10::Half",
            DataType::Bf16 => "c10::BFloat16",
            DataType::Fp8 => "c10::Float8_e4m3fn",
            DataType::Int8 => "signed char",
            DataType::Fp4 => "c10::Float4_e2m1fn_x2",
        }
    }
}

#[derive(Args)]
pub(crate) struct GemmArguments {
    /// Rows of the first operand and of the result
    #[arg(long)]
    pub(crate) m: u64,
    /// Columns of the second operand and of the result
    #[arg(long)]
    pub(crate) n: u64,
    /// The dimension that is summed over
    #[arg(long)]
    pub(crate) k: u64,
    /// Multiplications of this shape
    #[arg(long, default_value = "1", value_name = "B")]
    pub(crate) batch: u64,
    /// Element type of bias and result [default: that of the operands; bf16 for fp8 and fp4]
    #[arg(long = "output-dtype", value_enum, value_name = "DTYPE")]
    pub(crate) output_dtype: Option<DataType>,
    /// Epilogue: add a vector of N elements to each row
    #[arg(long)]
    pub(crate) bias: bool,
    /// Epilogue: apply an activation function to each element of the result
    #[arg(long, value_name = "NAME", value_parser = activation_parser())]
    pub(crate) activation: Option<Activation>,
}

fn activation_parser() -> impl TypedValueParser<Value = Activation> {
    // Every possible value is the name of an activation.
    PossibleValuesParser::new(Activation::all().map(Activation::as_str))
        .try_map(|name| Activation::from_name(&name).ok_or("no activation of this name"))
}

#[derive(Args)]
pub(crate) struct GroupedGemmArguments {
    /// Rows of all groups together
    #[arg(long)]
    pub(crate) m: u64,
    /// Columns of each weight
    #[arg(long)]
    pub(crate) n: u64,
    /// The dimension that is summed over
    #[arg(long)]
    pub(crate) k: u64,
    /// Weights, one a group
    #[arg(long, value_name = "G")]
    pub(crate) groups: u64,
    /// Element type of the result [default: that of the operands; bf16 for fp8]
    #[arg(long = "output-dtype", value_enum, value_name = "DTYPE")]
    pub(crate) output_dtype: Option<DataType>,
}

#[derive(Args)]
pub(crate) struct SdpaArguments {
    /// Sequences
    #[arg(long, default_value = "1", value_name = "B")]
    pub(crate) batch: u64,
    /// Heads of the queries
    #[arg(long, value_name = "H")]
    pub(crate) heads: u64,
    /// Heads of keys and values [default: as many as of the queries]
    #[arg(long = "kv-heads", value_name = "H")]
    pub(crate) kv_heads: Option<u64>,
    /// Queries of a sequence
    #[arg(long = "q-len", value_name = "N")]
    pub(crate) q_len: u64,
    /// Keys of a sequence [default: as many as queries]
    #[arg(long = "kv-len", value_name = "N")]
    pub(crate) kv_len: Option<u64>,
    /// Elements of a query and of a key in one head
    #[arg(long = "head-dim", value_name = "D")]
    pub(crate) head_dim: u64,
    /// Elements of a value in one head [default: as many as of a key]
    #[arg(long = "v-head-dim", value_name = "D")]
    pub(crate) v_head_dim: Option<u64>,
    /// No query sees a key after its own position
    #[arg(long)]
    pub(crate) causal: bool,
}

#[derive(Args)]
pub(crate) struct ConvArguments {
    /// Shape of the input: batch, channels, then one to three extents
    #[arg(long, value_delimiter = ',', required = true, value_name = "N,C,H,W")]
    pub(crate) input: Vec<u64>,
    /// Shape of the filters: output channels, channels of a group, then their extents; transposed, the first two
    /// are input channels and output channels of a group
    #[arg(long, value_delimiter = ',', required = true, value_name = "O,C,H,W")]
    pub(crate) filter: Vec<u64>,
    /// Step of the filter, one number or one for each extent
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N,…")]
    pub(crate) stride: Vec<u64>,
    /// Zeros added at both ends of each extent
    #[arg(long, value_delimiter = ',', default_value = "0", value_name = "N,…")]
    pub(crate) padding: Vec<u64>,
    /// Distance of the filter's taps
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N,…")]
    pub(crate) dilation: Vec<u64>,
    /// Groups of channels that are convolved separately
    #[arg(long, default_value = "1", value_name = "G")]
    pub(crate) groups: u64,
    /// The transpose, which enlarges
    #[arg(long)]
    pub(crate) transposed: bool,
    /// What a transpose's result has more at the end of each extent
    #[arg(long = "output-padding", value_delimiter = ',', default_value = "0", value_name = "N,…")]
    pub(crate) output_padding: Vec<u64>,
    /// Add a number for each output channel
    #[arg(long)]
    pub(crate) bias: bool,
}

#[derive(Args)]
pub(crate) struct UnaryArguments {
    /// Shape of the tensor
    #[arg(long, value_delimiter = ',', required = true, value_name = "N,…")]
    pub(crate) shape: Vec<u64>,
    /// Element type of the result [default: that of the input]
    #[arg(long = "output-dtype", value_enum, value_name = "DTYPE")]
    pub(crate) output_dtype: Option<DataType>,
}

#[derive(Args)]
pub(crate) struct BinaryArguments {
    /// Shape of the first operand
    #[arg(long, value_delimiter = ',', required = true, value_name = "N,…")]
    pub(crate) shape: Vec<u64>,
    /// Shape of the second operand, broadcast where it is smaller [default: that of the first]
    #[arg(long = "other-shape", value_delimiter = ',', value_name = "N,…")]
    pub(crate) other_shape: Option<Vec<u64>>,
    /// Element type of the result [default: that of the operands]
    #[arg(long = "output-dtype", value_enum, value_name = "DTYPE")]
    pub(crate) output_dtype: Option<DataType>,
}

#[derive(Args)]
pub(crate) struct NormArguments {
    /// Shape of the tensor
    #[arg(long, value_delimiter = ',', required = true, value_name = "N,…")]
    pub(crate) shape: Vec<u64>,
    /// Elements that have a weight each [default: the last extent]
    #[arg(long, value_name = "C")]
    pub(crate) channels: Option<u64>,
    /// Divide by the root mean square instead of mean and variance
    #[arg(long)]
    pub(crate) rms: bool,
    /// No weights
    #[arg(long = "no-weight")]
    pub(crate) no_weight: bool,
    /// A bias for each channel, too
    #[arg(long)]
    pub(crate) bias: bool,
    /// Statistics are given and not computed
    #[arg(long)]
    pub(crate) inference: bool,
}

#[derive(Args)]
pub(crate) struct ReduceArguments {
    /// Shape of the tensor
    #[arg(long, value_delimiter = ',', required = true, value_name = "N,…")]
    pub(crate) shape: Vec<u64>,
    /// Dimensions that are reduced, from 0 [default: all]
    #[arg(long, value_delimiter = ',', value_name = "DIM,…")]
    pub(crate) dim: Option<Vec<usize>>,
    /// How elements are brought together
    #[arg(long, value_parser = one_of(REDUCTIONS), default_value = "sum")]
    pub(crate) kind: ReductionKind,
}

const REDUCTIONS: &[(&str, ReductionKind)] = &[
    ("sum", ReductionKind::Sum),
    ("mean", ReductionKind::Mean),
    ("max", ReductionKind::Max),
    ("min", ReductionKind::Min),
    ("norm", ReductionKind::Norm),
];

#[derive(Args)]
pub(crate) struct RopeArguments {
    /// Tokens of all sequences
    #[arg(long, value_name = "N")]
    pub(crate) tokens: u64,
    /// Heads of the query
    #[arg(long, value_name = "H")]
    pub(crate) heads: u64,
    /// Heads of the key [default: as many as of the query]
    #[arg(long = "kv-heads", value_name = "H")]
    pub(crate) kv_heads: Option<u64>,
    /// Elements of a head that are rotated
    #[arg(long = "rope-dim", value_name = "D")]
    pub(crate) rope_dim: u64,
}

#[derive(Args)]
pub(crate) struct CrossEntropyArguments {
    /// Elements of the batch
    #[arg(long, value_name = "N")]
    pub(crate) tokens: u64,
    /// Scores of an element
    #[arg(long, value_name = "N")]
    pub(crate) classes: u64,
}

#[derive(Args)]
pub(crate) struct CausalConv1dArguments {
    /// Sequences
    #[arg(long, default_value = "1", value_name = "B")]
    pub(crate) batch: u64,
    /// Channels, each with a filter
    #[arg(long, value_name = "C")]
    pub(crate) channels: u64,
    /// Positions of a sequence
    #[arg(long = "seq-len", value_name = "N")]
    pub(crate) seq_len: u64,
    /// Taps of a filter
    #[arg(long, default_value = "4", value_name = "N")]
    pub(crate) taps: u64,
    /// Add a number for each channel
    #[arg(long)]
    pub(crate) bias: bool,
}
