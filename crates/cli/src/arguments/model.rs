//! The flags of `tracelens model`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, Subcommand};
use flags::{choice, one_of, one_of_explained};
use perf_models::{
    Activation, Attention, AttentionMask, BinaryElementwise, CausalConvolution, Channels, Convolution,
    CrossEntropy, Gemm, GemmSizes, GroupedGemm, Normalization, NormalizationBackward, NormalizationKind,
    PeakBasis, PerfModel, Reduction, ReductionKind, RotaryEmbedding, Statistics, Tensor, UnaryElementwise,
    number_size,
};

use super::answer_output::DocumentOutput;
use super::devices::PEAK_BASES;
use crate::error::Failure;

pub(super) const EXAMPLES: &str = "\
Examples:
  tracelens model --list                                      the models and their arguments
  tracelens model gemm --m 8192 --n 8192 --k 8192 --arch h100
  tracelens model sdpa --batch 1 --heads 64 --kv-heads 8 --q-len 4096 --head-dim 128 --causal --json
  tracelens model --jsonl calls.jsonl                         recorded calls, one JSON object per line";

#[derive(Args)]
pub(crate) struct ModelArguments {
    /// List the models and their arguments
    #[arg(long)]
    pub(crate) list: bool,

    /// Evaluate the operator calls in this file (- for standard input), one JSON object per line: name, args as in a
    /// Kineto event; optional: annotation, kernel_details, forward
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
    /// Grouped matrix multiplication; the groups split the rows of the first operand
    GroupedGemm(Question<GroupedGemmArguments>),
    /// Scaled dot-product attention (flash attention)
    Sdpa(Question<SdpaArguments>),
    /// Convolution in one, two or three dimensions
    Conv(Question<ConvArguments>),
    /// Elementwise operation on one tensor
    Unary(Question<UnaryArguments>),
    /// Elementwise operation on two tensors
    Binary(Question<BinaryArguments>),
    /// Normalization: batch, layer, group, RMS
    Norm(Question<NormArguments>),
    /// Reduction of a tensor over some or all dimensions
    Reduce(Question<ReduceArguments>),
    /// Rotary position embedding of query and key
    Rope(Question<RopeArguments>),
    /// Cross-entropy loss
    CrossEntropy(Question<CrossEntropyArguments>),
    /// Causal depthwise convolution along the sequence (state-space models)
    CausalConv1d(Question<CausalConv1dArguments>),
}

/// The parts of a question: model name, sizes, element type and options of the answer.
pub(crate) type Parts<'a> = (&'static str, &'a dyn Sizes, &'static str, &'a AnswerArguments);

impl ModelCommand {
    pub(crate) fn parts(&self) -> Parts<'_> {
        match self {
            ModelCommand::Gemm(question) => question.parts("gemm"),
            ModelCommand::GroupedGemm(question) => question.parts("grouped-gemm"),
            ModelCommand::Sdpa(question) => question.parts("sdpa"),
            ModelCommand::Conv(question) => question.parts("conv"),
            ModelCommand::Unary(question) => question.parts("unary"),
            ModelCommand::Binary(question) => question.parts("binary"),
            ModelCommand::Norm(question) => question.parts("norm"),
            ModelCommand::Reduce(question) => question.parts("reduce"),
            ModelCommand::Rope(question) => question.parts("rope"),
            ModelCommand::CrossEntropy(question) => question.parts("cross-entropy"),
            ModelCommand::CausalConv1d(question) => question.parts("causal-conv1d"),
        }
    }

    /// Options of the answer.
    pub(crate) fn answer_arguments(&self) -> &AnswerArguments {
        let (.., asked) = self.parts();
        asked
    }
}

/// Sizes, element type and options of the answer.
#[derive(Args)]
pub(crate) struct Question<A: Args> {
    #[command(flatten)]
    sizes: A,
    /// Element type of the inputs
    #[arg(long, value_parser = one_of_explained(DATA_TYPES), value_name = "DTYPE", default_value = "bf16")]
    dtype: &'static str,
    #[command(flatten)]
    answer: AnswerArguments,
}

impl<A: Args + Sizes> Question<A> {
    fn parts(&self, model: &'static str) -> Parts<'_> {
        (model, &self.sizes, self.dtype, &self.answer)
    }
}

#[derive(Args)]
#[command(next_help_heading = "Answer")]
pub(crate) struct AnswerArguments {
    /// Use this bundled architecture for the roofline; `tracelens archs` lists them
    #[arg(long, alias = "gpu_arch_platform", value_name = "NAME", group = "architecture")]
    pub(crate) arch: Option<String>,

    /// Use the GPU architecture in this JSON file for the roofline
    #[arg(long = "gpu_arch_json_path", value_name = "FILE", conflicts_with = "arch", group = "architecture")]
    pub(crate) gpu_arch_json_path: Option<PathBuf>,

    /// Use the peaks of the vendor's data sheet (nominal) or published measurements, where available (achievable)
    /// [default: nominal]
    #[arg(long, value_name = "BASIS", value_parser = one_of(PEAK_BASES), requires = "architecture")]
    pub(crate) peak: Option<PeakBasis>,

    /// Compute the backward pass instead
    #[arg(long)]
    pub(crate) backward: bool,

    #[command(flatten)]
    pub(crate) document: DocumentOutput,
}

/// Element types: common name, remark, and PyTorch's recorded name.
const DATA_TYPES: &[(&str, &str, &str)] = &[
    ("fp64", "", "double"),
    ("fp32", "", "float"),
    ("fp16", "", "c10::Half"),
    ("bf16", "", BF16),
    ("fp8", "", FP8),
    ("int8", "", "signed char"),
    ("fp4", "Two values per byte; gemm only", FP4),
];

const BF16: &str = "c10::BFloat16";
const FP8: &str = "c10::Float8_e4m3fn";
const FP4: &str = "c10::Float4_e2m1fn_x2";

/// The common name of an element type.
pub(crate) fn common_name(recorded: &'static str) -> &'static str {
    DATA_TYPES.iter().find(|(.., known)| *known == recorded).map_or(recorded, |(name, ..)| *name)
}

/// Sizes that make a model.
pub(crate) trait Sizes {
    /// The model for operands of an element type as PyTorch records it.
    ///
    /// # Errors
    ///
    /// When sizes do not match.
    fn model(&self, dtype: &'static str) -> Result<Model, Failure>;

    /// The model for the backward pass: a different one where that is an operator of its own.
    ///
    /// # Errors
    ///
    /// As [`Sizes::model`].
    fn backward_model(&self, dtype: &'static str) -> Result<Model, Failure> {
        self.model(dtype)
    }
}

type Model = Box<dyn PerfModel>;

fn misfit<T>(detail: String) -> Result<T, Failure> {
    Err(Failure::Sizes { detail })
}

/// Rejects fp4: only matrix multiplications support 4-bit values.
fn whole_bytes(dtype: &'static str) -> Result<String, Failure> {
    match dtype {
        FP4 => misfit("only gemm supports fp4".to_owned()),
        whole_bytes => Ok(whole_bytes.to_owned()),
    }
}

/// Default output type of a multiplication: bf16 for operands of eight bits or fewer.
fn usual_output(operands: &'static str) -> &'static str {
    if matches!(operands, FP8 | FP4) { BF16 } else { operands }
}

fn bytes_of(dtype: &str) -> Result<f64, Failure> {
    number_size(dtype).map_or_else(|| misfit(format!("{dtype} has no known size")), Ok)
}

#[derive(Args)]
pub(crate) struct GemmArguments {
    /// Rows of the first operand and of the result
    #[arg(long)]
    m: u64,
    /// Columns of the second operand and of the result
    #[arg(long)]
    n: u64,
    /// Reduction dimension
    #[arg(long)]
    k: u64,
    /// Batch size
    #[arg(long, default_value = "1", value_name = "B")]
    batch: u64,
    /// Element type of bias and result [default: same as the operands; bf16 for fp8 and fp4]
    #[arg(long = "output-dtype", value_parser = one_of_explained(DATA_TYPES), value_name = "DTYPE")]
    output_dtype: Option<&'static str>,
    /// Epilogue: add a vector of N elements to each row
    #[arg(long)]
    bias: bool,
    /// Epilogue: apply an activation function to each element of the result
    #[arg(long, value_name = "NAME", value_parser = activation_parser())]
    activation: Option<Activation>,
}

impl Sizes for GemmArguments {
    fn model(&self, dtype: &'static str) -> Result<Model, Failure> {
        let operand = bytes_of(dtype)?;
        let output = bytes_of(self.output_dtype.unwrap_or(usual_output(dtype)))?;
        let sizes = GemmSizes { bias: output, output, ..GemmSizes::uniform(operand) };
        let gemm = Gemm::new(self.m, self.n, self.k, dtype);
        let activation = self.activation;
        Ok(Box::new(Gemm { batch: self.batch, bias: self.bias, activation, sizes: Ok(sizes), ..gemm }))
    }
}

fn activation_parser() -> impl TypedValueParser<Value = Activation> {
    choice(
        Activation::all().map(|activation| (PossibleValue::new(activation.as_str()), activation)).collect(),
    )
}

#[derive(Args)]
pub(crate) struct GroupedGemmArguments {
    /// Rows, summed over all groups
    #[arg(long)]
    m: u64,
    /// Columns of each group's weight matrix
    #[arg(long)]
    n: u64,
    /// Reduction dimension
    #[arg(long)]
    k: u64,
    /// Number of groups, each with its own weight matrix
    #[arg(long, value_name = "G")]
    groups: u64,
    /// Element type of the result [default: same as the operands; bf16 for fp8]
    #[arg(long = "output-dtype", value_parser = one_of_explained(DATA_TYPES), value_name = "DTYPE")]
    output_dtype: Option<&'static str>,
}

impl Sizes for GroupedGemmArguments {
    fn model(&self, dtype: &'static str) -> Result<Model, Failure> {
        let output = self.output_dtype.unwrap_or(usual_output(dtype));
        Ok(Box::new(GroupedGemm {
            m: self.m,
            n: self.n,
            k: self.k,
            groups: self.groups,
            input_type: whole_bytes(dtype)?,
            output_type: whole_bytes(output)?,
        }))
    }
}

#[derive(Args)]
pub(crate) struct SdpaArguments {
    /// Sequences
    #[arg(long, default_value = "1", value_name = "B")]
    batch: u64,
    /// Query heads
    #[arg(long, value_name = "H")]
    heads: u64,
    /// Key and value heads [default: as many as query heads]
    #[arg(long = "kv-heads", value_name = "H")]
    kv_heads: Option<u64>,
    /// Queries per sequence
    #[arg(long = "q-len", value_name = "N")]
    q_len: u64,
    /// Keys per sequence [default: as many as queries]
    #[arg(long = "kv-len", value_name = "N")]
    kv_len: Option<u64>,
    /// Head dimension of queries and keys
    #[arg(long = "head-dim", value_name = "D")]
    head_dim: u64,
    /// Head dimension of values [default: same as keys]
    #[arg(long = "v-head-dim", value_name = "D")]
    v_head_dim: Option<u64>,
    /// Apply a causal mask
    #[arg(long)]
    causal: bool,
}

impl Sizes for SdpaArguments {
    fn model(&self, dtype: &'static str) -> Result<Model, Failure> {
        let key_heads = self.kv_heads.unwrap_or(self.heads);
        if key_heads == 0 || !self.heads.is_multiple_of(key_heads) {
            return misfit(format!("--kv-heads {key_heads} does not divide --heads {}", self.heads));
        }
        let element_type = whole_bytes(dtype)?;
        Ok(Box::new(Attention {
            batch: self.batch,
            query_length: self.q_len,
            query_heads: self.heads,
            key_length: self.kv_len.unwrap_or(self.q_len),
            key_heads,
            head_dim: self.head_dim,
            value_head_dim: self.v_head_dim.unwrap_or(self.head_dim),
            mask: AttentionMask { causal: self.causal, ..AttentionMask::default() },
            recomputes_scores: true,
            query_type: element_type.clone(),
            key_type: element_type,
            ..Attention::default()
        }))
    }
}

#[derive(Args)]
pub(crate) struct ConvArguments {
    /// Input shape: batch, channels, then one to three spatial dimensions
    #[arg(long, value_delimiter = ',', required = true, value_name = "N,C,H,W")]
    input: Vec<u64>,
    /// Filter shape: output channels, input channels per group, spatial dimensions; with --transposed: input channels,
    /// output channels per group, spatial dimensions
    #[arg(long, value_delimiter = ',', required = true, value_name = "O,C,H,W")]
    filter: Vec<u64>,
    /// Stride: one number, or one per spatial dimension
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N,…")]
    stride: Vec<u64>,
    /// Padding: zeros added at both ends of each spatial dimension
    #[arg(long, value_delimiter = ',', default_value = "0", value_name = "N,…")]
    padding: Vec<u64>,
    /// Dilation: distance between filter taps
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N,…")]
    dilation: Vec<u64>,
    /// Number of channel groups, convolved separately
    #[arg(long, default_value = "1", value_name = "G")]
    groups: u64,
    /// Transposed convolution
    #[arg(long)]
    transposed: bool,
    /// Output padding of a transposed convolution
    #[arg(long = "output-padding", value_delimiter = ',', default_value = "0", value_name = "N,…")]
    output_padding: Vec<u64>,
    /// Add a bias per output channel
    #[arg(long)]
    bias: bool,
}

impl ConvArguments {
    /// Whether the filters match the input's channels; both shapes have extents, so they have channels.
    fn check_channels(&self) -> Result<(), Failure> {
        let (channels, groups) = (self.input[1], self.groups);
        match (self.transposed, self.filter[0], self.filter[1]) {
            (true, expected, _) if expected == channels => Ok(()),
            (true, expected, _) => {
                misfit(format!("the filters need {expected} channels, the input has {channels}"))
            }
            (false, _, group_channels) if group_channels.checked_mul(groups) == Some(channels) => Ok(()),
            (false, _, group_channels) => misfit(format!(
                "the filters need {group_channels} channels in each of {groups} groups, the input has {channels}"
            )),
        }
    }
}

impl Sizes for ConvArguments {
    fn model(&self, dtype: &'static str) -> Result<Model, Failure> {
        let extents = self.input.len().saturating_sub(2);
        // One number stands for all extents.
        let each = |numbers: &[u64]| match numbers {
            [one] => vec![*one; extents],
            several => several.to_vec(),
        };
        let element_type = whole_bytes(dtype)?;
        let convolution = Convolution {
            input: Tensor::new(self.input.clone(), element_type.clone()),
            filter: Tensor::new(self.filter.clone(), element_type),
            bias: self.bias,
            stride: each(&self.stride),
            padding: each(&self.padding),
            dilation: each(&self.dilation),
            transposed: self.transposed,
            output_padding: each(&self.output_padding),
            groups: self.groups,
            input_strides: None,
            filter_strides: None,
        };
        convolution.output_shape().or_else(|undefined| misfit(undefined.to_string()))?;
        self.check_channels()?;
        Ok(Box::new(convolution))
    }
}

#[derive(Args)]
pub(crate) struct UnaryArguments {
    /// Shape of the tensor
    #[arg(long, value_delimiter = ',', required = true, value_name = "N,…")]
    shape: Vec<u64>,
    /// Element type of the result [default: same as the input]
    #[arg(long = "output-dtype", value_parser = one_of_explained(DATA_TYPES), value_name = "DTYPE")]
    output_dtype: Option<&'static str>,
}

impl Sizes for UnaryArguments {
    fn model(&self, dtype: &'static str) -> Result<Model, Failure> {
        Ok(Box::new(UnaryElementwise {
            input: Tensor::new(self.shape.clone(), whole_bytes(dtype)?),
            output_type: self.output_dtype.map(whole_bytes).transpose()?,
            ..UnaryElementwise::default()
        }))
    }
}

#[derive(Args)]
pub(crate) struct BinaryArguments {
    /// Shape of the first operand
    #[arg(long, value_delimiter = ',', required = true, value_name = "N,…")]
    shape: Vec<u64>,
    /// Shape of the second operand, broadcast if smaller [default: same as the first]
    #[arg(long = "other-shape", value_delimiter = ',', value_name = "N,…")]
    other_shape: Option<Vec<u64>>,
    /// Element type of the result [default: same as the operands]
    #[arg(long = "output-dtype", value_parser = one_of_explained(DATA_TYPES), value_name = "DTYPE")]
    output_dtype: Option<&'static str>,
}

impl Sizes for BinaryArguments {
    fn model(&self, dtype: &'static str) -> Result<Model, Failure> {
        let operand = |shape: &Vec<u64>| Ok::<_, Failure>(Tensor::new(shape.clone(), whole_bytes(dtype)?));
        let model = BinaryElementwise {
            inputs: [operand(&self.shape)?, operand(self.other_shape.as_ref().unwrap_or(&self.shape))?],
            output_type: self.output_dtype.map(whole_bytes).transpose()?,
            ..BinaryElementwise::default()
        };
        model.output_shape().or_else(|undefined| misfit(undefined.to_string()))?;
        Ok(Box::new(model))
    }
}

#[derive(Args)]
pub(crate) struct NormArguments {
    /// Shape of the tensor
    #[arg(long, value_delimiter = ',', required = true, value_name = "N,…")]
    shape: Vec<u64>,
    /// Number of weights [default: the size of the last dimension]
    #[arg(long, value_name = "C")]
    channels: Option<u64>,
    /// Normalize by root mean square instead of mean and variance
    #[arg(long)]
    rms: bool,
    /// Normalize without weights
    #[arg(long = "no-weight")]
    no_weight: bool,
    /// Add a bias per channel
    #[arg(long)]
    bias: bool,
    /// Use running statistics instead of computing them
    #[arg(long)]
    inference: bool,
}

impl NormArguments {
    fn normalization(&self, dtype: &'static str) -> Result<Normalization, Failure> {
        let input = Tensor::new(self.shape.clone(), whole_bytes(dtype)?);
        let channels = self.channels.or(self.shape.last().copied()).unwrap_or(1);
        if input.elements() % channels as f64 != 0.0 {
            return misfit(format!(
                "--channels {channels} does not divide the {} elements",
                input.elements()
            ));
        }
        Ok(Normalization {
            statistics: Statistics::by_sizes(&input, channels),
            input,
            channels: Channels::Count(channels),
            affine: !self.no_weight,
            bias: self.bias,
            training: !self.inference,
            kind: if self.rms { NormalizationKind::Rms } else { NormalizationKind::MeanAndVariance },
            ..Normalization::default()
        })
    }
}

impl Sizes for NormArguments {
    fn model(&self, dtype: &'static str) -> Result<Model, Failure> {
        Ok(Box::new(self.normalization(dtype)?))
    }

    fn backward_model(&self, dtype: &'static str) -> Result<Model, Failure> {
        let forward = self.normalization(dtype)?;
        let output_mask = vec![true, forward.affine, forward.bias];
        Ok(Box::new(NormalizationBackward { forward, output_mask }))
    }
}

#[derive(Args)]
pub(crate) struct ReduceArguments {
    /// Shape of the tensor
    #[arg(long, value_delimiter = ',', required = true, value_name = "N,…")]
    shape: Vec<u64>,
    /// Dimensions to reduce, counted from 0 [default: all]
    #[arg(long, value_delimiter = ',', value_name = "DIM,…")]
    dim: Option<Vec<usize>>,
    /// Reduction operation
    #[arg(long, value_parser = one_of(REDUCTIONS), default_value = "sum")]
    kind: ReductionKind,
}

impl Sizes for ReduceArguments {
    fn model(&self, dtype: &'static str) -> Result<Model, Failure> {
        let mut output_shape = self.shape.clone();
        match &self.dim {
            None => output_shape.fill(1),
            Some(dimensions) => {
                for &dimension in dimensions {
                    match output_shape.get_mut(dimension) {
                        Some(length) => *length = 1,
                        None => return misfit(format!("--shape has no dimension {dimension}")),
                    }
                }
            }
        }
        Ok(Box::new(Reduction {
            input: Tensor::new(self.shape.clone(), whole_bytes(dtype)?),
            output_shape,
            kind: self.kind,
            ..Reduction::default()
        }))
    }
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
    /// Tokens, summed over all sequences
    #[arg(long, value_name = "N")]
    tokens: u64,
    /// Query heads
    #[arg(long, value_name = "H")]
    heads: u64,
    /// Key heads [default: as many as query heads]
    #[arg(long = "kv-heads", value_name = "H")]
    kv_heads: Option<u64>,
    /// Rotated elements per head
    #[arg(long = "rope-dim", value_name = "D")]
    rope_dim: u64,
}

impl Sizes for RopeArguments {
    fn model(&self, dtype: &'static str) -> Result<Model, Failure> {
        let key_heads = self.kv_heads.unwrap_or(self.heads);
        let heads = self.heads.checked_add(key_heads);
        let rotated = heads.and_then(|heads| heads.checked_mul(self.tokens)?.checked_mul(self.rope_dim));
        let Some(rotated_elements) = rotated else {
            return misfit("too many elements".to_owned());
        };
        let shown = |count: u64| i64::try_from(count).unwrap_or(i64::MAX).into();
        Ok(Box::new(RotaryEmbedding {
            rotated_elements,
            element_type: Some(whole_bytes(dtype)?),
            dimensions: vec![
                ("tokens", shown(self.tokens)),
                ("H_Q", shown(self.heads)),
                ("H_KV", shown(key_heads)),
                ("rope_dim", shown(self.rope_dim)),
            ],
        }))
    }
}

#[derive(Args)]
pub(crate) struct CrossEntropyArguments {
    /// Tokens in the batch
    #[arg(long, value_name = "N")]
    tokens: u64,
    /// Classes per token (vocabulary size)
    #[arg(long, value_name = "N")]
    classes: u64,
}

impl Sizes for CrossEntropyArguments {
    fn model(&self, dtype: &'static str) -> Result<Model, Failure> {
        Ok(Box::new(CrossEntropy { logits: Tensor::new([self.tokens, self.classes], whole_bytes(dtype)?) }))
    }
}

#[derive(Args)]
pub(crate) struct CausalConv1dArguments {
    /// Sequences
    #[arg(long, default_value = "1", value_name = "B")]
    batch: u64,
    /// Number of channels, each with its own filter
    #[arg(long, value_name = "C")]
    channels: u64,
    /// Sequence length
    #[arg(long = "seq-len", value_name = "N")]
    seq_len: u64,
    /// Filter taps
    #[arg(long, default_value = "4", value_name = "N")]
    taps: u64,
    /// Add a bias per channel
    #[arg(long)]
    bias: bool,
}

impl Sizes for CausalConv1dArguments {
    fn model(&self, dtype: &'static str) -> Result<Model, Failure> {
        Ok(Box::new(CausalConvolution {
            batch: self.batch,
            channels: self.channels,
            sequence_length: self.seq_len,
            filter_length: self.taps,
            bias: self.bias,
            element_type: whole_bytes(dtype)?,
        }))
    }
}
