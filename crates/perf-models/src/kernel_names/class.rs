//! What kernels do, by our rules: the first that fits decides.

use super::communication::prepares_exchange;
use super::{CommunicationPatterns, has, readable, without_arguments, words};
use crate::Category;

/// What a kernel, copy or fill does, as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelClass {
    /// Kind of work, in the terms of the tables of operators.
    pub category: Category,
    /// The same in more detail, such as `GEMM-Tensile`, `Attention-Forward`, `Comm-AllReduce`.
    pub detail: &'static str,
}

/// What a kernel, copy or fill of this name does; `None` where nothing in the name says it.
///
/// Kernels that one of the patterns knows communicate, whatever else their names say. What stands outside of template
/// arguments and parameters decides before what stands in them: `reduce_kernel<NormTwoOps>` is a reduction.
///
/// Cheap, but not free: a caller that meets a name many times should keep the answer.
#[must_use]
pub fn kernel_class(name: &str, communication: &CommunicationPatterns) -> Option<KernelClass> {
    let name_in_program = readable(name);
    let whole = words(&name_in_program);
    if communication.is_communication(name) {
        return COMMUNICATION.decide(&whole);
    }
    let own = words(&without_arguments(&name_in_program));
    if prepares_exchange(&own) {
        return Some(MOE_AUXILIARY);
    }
    let by = |rules: &[KindRule<KernelClass>], words: &str| rules.iter().find_map(|rule| rule.decide(words));
    by(RULES, &own).or_else(|| by(RULES, &whole)).or_else(|| by(LIBRARIES, &whole))
}

/// One rule: what it looks for, and which kinds it tells apart.
pub(super) struct KindRule<K: 'static> {
    /// Any of these parts makes the rule decide.
    pub(super) any: &'static [&'static str],
    /// But none of these may be there.
    pub(super) unless: &'static [&'static str],
    /// Kinds by further parts, the first that fits.
    pub(super) kinds: &'static [(&'static [&'static str], K)],
    /// The kind otherwise.
    pub(super) otherwise: K,
}

pub(super) const fn rule<K: Copy>(
    any: &'static [&'static str],
    kinds: &'static [(&'static [&'static str], K)],
    otherwise: K,
) -> KindRule<K> {
    KindRule { any, unless: &[], kinds, otherwise }
}

impl<K: Copy> KindRule<K> {
    pub(super) fn decide(&self, text: &str) -> Option<K> {
        (has(text, self.any) && !has(text, self.unless)).then(|| {
            let kind = self.kinds.iter().find(|(parts, _)| has(text, parts));
            kind.map_or(self.otherwise, |&(_, kind)| kind)
        })
    }
}

const fn class(detail: &'static str, category: Category) -> KernelClass {
    KernelClass { category, detail }
}

/// What is done around the products of experts: routing, permutation, activation, and what stays on the device of the
/// libraries that exchange tokens.
const MOE_AUXILIARY: KernelClass = class("MoE-Generic", Category::MoeAuxiliary);

const BACKWARD: &[&str] = &["bwd", "backward", "bprop"];
const FORWARD: &[&str] = &["fwd", "forward", "fprop"];

/// Kinds of collectives.
const COMMUNICATION: KindRule<KernelClass> = rule(
    &[""],
    &[
        (
            &["allreduce", "all reduce", "cross device reduce", "quickreduce", "quick reduce"],
            class("Comm-AllReduce", Category::Communication),
        ),
        (&["allgather", "all gather"], class("Comm-AllGather", Category::Communication)),
        (&["reducescatter", "reduce scatter"], class("Comm-ReduceScatter", Category::Communication)),
        (&["alltoall", "all to all"], class("Comm-AllToAll", Category::Communication)),
        (&[" send"], class("Comm-Send", Category::Communication)),
        (&[" recv"], class("Comm-Recv", Category::Communication)),
        (&["broadcast"], class("Comm-Broadcast", Category::Communication)),
        (&["barrier"], class("Comm-Barrier", Category::Communication)),
    ],
    class("Comm-Generic", Category::Communication),
);

/// In this order because a part of one kind of work's names is in another's: attention written with a matrix library,
/// `gemm` in `fbgemm`, normalization fused with additions.
const RULES: &[KindRule<KernelClass>] = &[
    rule(&[" memcpy "], &[], class("Memory-Copy", Category::CopyFill)),
    rule(&[" memset ", "fillbuffer", "fill buffer"], &[], class("Memory-Set", Category::CopyFill)),
    rule(
        &[" triton tem "],
        &[
            (&["attention", "sdpa"], class("Attention-Generic", Category::SdpaForward)),
            (&["convolution"], class("Conv-Generic", Category::ConvForward)),
        ],
        class("GEMM-Triton", Category::Gemm),
    ),
    rule(&[" triton poi ", " triton red ", " triton per "], &[], class("Triton-Custom", Category::Triton)),
    rule(
        &[
            "selective scan",
            "selective state",
            "causal conv1d",
            " chunk scan",
            " chunk state",
            " state passing",
            " chunk cumsum",
            "gated delta",
            " mamba",
            " ssd ",
            " ssm ",
        ],
        &[(BACKWARD, class("SSM-Backward", Category::StateSpaceBackward))],
        class("SSM-Forward", Category::StateSpaceForward),
    ),
    KindRule {
        any: &[
            "fbgemm",
            "embedding",
            "permute pooled embs",
            "bucketize",
            "bounds check indices",
            "linearize index",
            " tbe ",
            // PyTorch's backward pass of an embedding (ATen/native/cuda/EmbeddingBackwardKernel.cu).
            "partials per segment",
            "partial segment",
            "compute grad weight",
            "sum and scatter",
        ],
        unless: &["rotary"],
        kinds: &[
            (&[" cutlass "], class("GEMM-CUTLASS", Category::Gemm)),
            (&[" f8f8bf16", " bf16i4"], class("GEMM-FP8", Category::Gemm)),
            (
                &["quantize", "fp8", "fused8bit", "rowwise to float"],
                class("Quant-Generic", Category::GroupQuant),
            ),
            (&["elementwise"], class("Elementwise", Category::Elementwise)),
            (
                &["bwd", "backward", "segment", "grad weight", "sum and scatter"],
                class("Embedding-Backward", Category::Embedding),
            ),
        ],
        otherwise: class("Embedding-Forward", Category::Embedding),
    },
    rule(
        &[
            "reshape and cache",
            "store cache",
            "store kv",
            "concat and cache",
            "set kv buffer",
            "kv cache",
            "kvcache update",
            "append paged kvcache",
        ],
        &[
            (&["rope", "rotary"], class("Fused-QKRoPECache", Category::FusedRope)),
            (
                &["attention", " attn", " mha", "fmha", "batch prefill", "batch decode"],
                class("Attention-Generic", Category::InferenceAttention),
            ),
            (&["reshape"], class("KVCache-Reshape", Category::InferenceAttention)),
            (
                &["store", "set", "update", "append", "concat"],
                class("KVCache-Update", Category::InferenceAttention),
            ),
        ],
        class("KVCache-Generic", Category::InferenceAttention),
    ),
    rule(
        &[
            "paged attention",
            "pagedattention",
            "paged attn",
            " pa decode",
            " pa reduce",
            " pa bf16",
            " pa fp16",
            // Ragged paged attention of vLLM on TPUs.
            " rpa ",
        ],
        &[(&["reduce"], class("PagedAttention-Reduce", Category::InferenceAttention))],
        class("PagedAttention-Compute", Category::InferenceAttention),
    ),
    rule(
        &[
            "attention",
            "fmha",
            " attn",
            " mha",
            " mla ",
            " mlapaged",
            " mladecode",
            "flashmla",
            " mmha ",
            " xqa",
            "multihead",
            "multi head",
            " sage",
            "flash decod",
            // Decode and prefill of one request (FlashInfer), and of many in two stages (SGLang's Triton kernels).
            "single decode",
            "single prefill",
            "with kvcache",
            "paged kvcache",
            "ragged kvcache",
            " fwd kernel stage",
            " fwd grouped kernel stage",
            "merge state",
            // The scores that DeepSeek's sparse attention selects by.
            "mqa logits",
            "flash fwd",
            "flash bwd",
            "flash fprop",
            "flash bprop",
            "flash attn",
            "flashattn",
            "sdpa",
            "scaled dot product",
            "batch prefill",
            "batch decode",
            "qk int8",
            "qk int4",
            // AOTriton's backward kernels.
            " bwd kernel dk dv",
            " bwd kernel dq",
            " bwd kernel fuse",
            " bwd preprocess",
        ],
        &[
            (BACKWARD, class("Attention-Backward", Category::SdpaBackward)),
            (
                &["unified attention", "batch prefill", "batch decode", "paged"],
                class("Attention-Generic", Category::InferenceAttention),
            ),
            (FORWARD, class("Attention-Forward", Category::SdpaForward)),
        ],
        class("Attention-Generic", Category::SdpaForward),
    ),
    rule(
        &[
            "moe",
            "expert",
            "grouped topk",
            "topk gating",
            "bitmatrix",
            " routing",
            "dispatch layout",
            // Scattering of the results of triton_kernels' products, and TensorRT-LLM's permutation.
            "finalize matmul",
            "expand input rows",
            // ggml: rows of experts.
            " mm ids helper ",
            // vLLM: experts of equal numbers of tokens.
            " batched triton kernel ",
        ],
        &[
            (&["finalize matmul", "expand input rows", " mm ids helper "], MOE_AUXILIARY),
            (&[" fmoe ", "moe stage1 stage2"], class("MoE-Fused", Category::MoeFused)),
            (
                &[
                    "gemm",
                    "matmul",
                    "flatmm",
                    "fused moe",
                    "moe wna16",
                    "marlin",
                    " mul mat",
                    " batched triton kernel ",
                ],
                class("MoE-GEMM", Category::MoeUnfused),
            ),
            (&["moe ck2stages"], class("MoE-Fused", Category::MoeFused)),
            (&["quant"], class("Quant-Generic", Category::GroupQuant)),
        ],
        MOE_AUXILIARY,
    ),
    rule(
        &[
            "grouped gemm",
            "group gemm",
            "gemm grouped",
            "matmul ogs",
            // CUTLASS: the shape of the problem, and the way that operands are addressed.
            "group problem shape",
            "ptr array",
        ],
        &[
            (&["mxfp4", "fp4"], class("GEMM-FP4", Category::GroupedGemmForward)),
            (&[" m grouped "], class("GEMM-Grouped", Category::GroupedGemmForward)),
            // DeepSeek has dense products in this namespace, too.
            (&[" dpsk grouped gemm "], class("GEMM-Generic", Category::Gemm)),
        ],
        class("GEMM-Grouped", Category::GroupedGemmForward),
    ),
    rule(
        &[
            " conv ",
            " conv2 ",
            "conv1d",
            "conv2d",
            "conv3d",
            "convolution",
            "convolve",
            "winograd",
            "im2col",
            "im2d2 col",
            "col2im",
            "implicit gemm",
            "dgrad",
            "wgrad",
            "fprop",
            "scudnn",
            "hcudnn",
            " cask cudnn ",
            " cudnn cnn ",
            " igemm fwd ",
            " igemm bwd ",
            " igemm wrw ",
        ],
        &[
            (&["bwd", "backward", "dgrad", "wgrad", " wrw "], class("Conv-Backward", Category::ConvBackward)),
            (FORWARD, class("Conv-Forward", Category::ConvForward)),
        ],
        class("Conv-Generic", Category::ConvForward),
    ),
    rule(&["marlin repack"], &[], class("Memory-Transpose", Category::CopyFill)),
    // ggml: products of quantised matrices, and the quantisation of what they multiply.
    KindRule {
        any: &[" mul mat", " mul mm ", " mul mv ", " mmq ", " mmvq", " mmvf ", " mmf ", " mmv "],
        unless: &[" quantize "],
        kinds: &[],
        otherwise: class("GEMM-GGML", Category::Gemm),
    },
    KindRule {
        any: &[
            "gemm",
            " cijk ",
            "matmul",
            " bmm ",
            "marlin",
            "machete",
            "flatmm",
            "matvec",
            "mat vec",
            "cublas",
            "nvjet",
            " mfma",
            " wmma",
            "tensorop",
            "tensor op",
            "rocblas",
            "hipblas",
            "wv split",
            "wv splt",
            "splitkreduce",
            "split kreduce",
            "gemv",
            " mm ",
            " s884",
            " s1688",
            " s16816",
        ],
        // What DeepGEMM is given.
        unless: &["quant deep gemm"],
        kinds: &[
            (&["mxfp4", "fp4", "int4", "f4gemm", " e2m1"], class("GEMM-FP4", Category::Gemm)),
            (&["fp8", "int8", "f8gemm", "i8gemm", " f8", " e4m3"], class("GEMM-FP8", Category::Gemm)),
            (&[" cijk "], class("GEMM-Tensile", Category::Gemm)),
            (&["cublas"], class("GEMM-cuBLAS", Category::Gemm)),
            (&["nvjet"], class("GEMM-NVJET", Category::Gemm)),
            (&["cutlass"], class("GEMM-CUTLASS", Category::Gemm)),
            (&["rocblas", "hipblas"], class("GEMM-ROCm", Category::Gemm)),
            (&["splitk", "split k", "wv splt", "wv split"], class("GEMM-SplitK", Category::Gemm)),
            (&[" mfma"], class("GEMM-MFMA", Category::Gemm)),
            (&[" wmma"], class("GEMM-WMMA", Category::Gemm)),
            (&["tensor op", "tensorop"], class("GEMM-TensorOp", Category::Gemm)),
        ],
        otherwise: class("GEMM-Generic", Category::Gemm),
    },
    rule(&["multi tensor apply"], &[], class("Optimizer", Category::MultiTensorApply)),
    rule(
        &["adamw", " adam ", "optimizer", " lamb ", " sgd ", "adagrad"],
        &[],
        class("Optimizer", Category::MultiTensorApply),
    ),
    rule(
        &["rope", "rotary"],
        &[
            (BACKWARD, class("RoPE-Backward", Category::RopeBackward)),
            (&["norm"], class("Fused-QKNormRoPE", Category::FusedRope)),
            (&["cached"], class("RoPE-Cached", Category::RopeForward)),
            (&["gqa", "grouped"], class("RoPE-GQA", Category::RopeForward)),
        ],
        class("RoPE-Generic", Category::RopeForward),
    ),
    rule(
        &["cross entropy", "crossentropy", "nll loss"],
        &[(BACKWARD, class("Loss-Backward", Category::CrossEntropyBackward))],
        class("Loss-Forward", Category::CrossEntropyForward),
    ),
    rule(&["softmax", "soft max"], &[], class("Activation-Softmax", Category::Softmax)),
    rule(
        &[
            "rmsnorm",
            "rms norm",
            "layernorm",
            "layer norm",
            "batchnorm",
            "batch norm",
            "groupnorm",
            "group norm",
            "instance norm",
            " norm ",
            "norm2d",
            "norm kernel",
            " bn bw ",
            " bn fw ",
            " moments",
            "gamma beta",
            "fused params",
            "internal gradients",
            "compute grad input",
            "add norm",
        ],
        &[
            (
                &["bwd", "backward", " bw ", "grad", "gamma beta"],
                class("Norm-Backward", Category::NormBackward),
            ),
            (&[" fused add"], class("Fused-AddNorm", Category::RmsNorm)),
            (&["rms"], class("Norm-RMS", Category::RmsNorm)),
            (&["layernorm", "layer norm"], class("Norm-Layer", Category::NormForward)),
            (&["batchnorm", "batch norm", " bn "], class("Norm-Batch", Category::NormForward)),
        ],
        class("Norm-Generic", Category::NormForward),
    ),
    rule(
        &["quant", "per token group", "per group", "per channel"],
        &[
            (&["dequant"], class("Dequant", Category::GroupQuant)),
            (&["per group", "per token group", "per channel"], class("Quant-PerGroup", Category::GroupQuant)),
            (&["dynamic"], class("Quant-Dynamic", Category::GroupQuant)),
            (&["weight"], class("Quant-Weight", Category::GroupQuant)),
            (&[" act "], class("Quant-Activation", Category::GroupQuant)),
        ],
        class("Quant-Generic", Category::GroupQuant),
    ),
    rule(
        &[
            "distribution",
            "philox",
            "threefry",
            "bernoulli",
            "multinomial",
            "curand",
            "rocrand",
            "randperm",
            "rng ",
        ],
        &[],
        class("RNG", Category::Rng),
    ),
    KindRule {
        any: &[
            " index",
            "gather",
            "scatter",
            "masked select",
            "nonzero",
            "device select",
            // hipCUB's and rocPRIM's selection.
            " partition kernel",
            "compact init",
            "take along",
            "repeat interleave",
            " get rows",
            " set rows",
        ],
        // Element by element, each told its place.
        unless: &["elementwise kernel with index"],
        kinds: &[
            (&["gather"], class("Indexing-Gather", Category::SortIndex)),
            (&["scatter"], class("Indexing-Scatter", Category::SortIndex)),
        ],
        otherwise: class("Indexing-Generic", Category::SortIndex),
    },
    rule(
        &["topk", "top k", "topp", "top p ", "sampling", " sample ", "nucleus", " beam "],
        &[
            (&["topk", "top k"], class("Sampling-TopK", Category::SortIndex)),
            (&["topp", "top p ", "nucleus"], class("Sampling-TopP", Category::SortIndex)),
            (&[" beam "], class("Sampling-Beam", Category::SortIndex)),
        ],
        class("Sampling-Generic", Category::SortIndex),
    ),
    rule(&[" sort", "onesweep", "radix", "histogram", "bitonic"], &[], class("Sorting", Category::SortIndex)),
    rule(&["cumsum", " scan", "prefix sum"], &[], class("Scan", Category::SortIndex)),
    rule(
        &[" max pool", " avg pool", "maxpool", "avgpool", "pooling", "adaptive average pool"],
        &[],
        class("Pooling", Category::Pooling),
    ),
    rule(&["upsample", "interpolate", "grid sampler"], &[], class("Upsampling", Category::Upsampling)),
    rule(
        &[
            "transpose",
            "permute",
            "nchw to nhwc",
            "nhwc to nchw",
            "cat array",
            "chunk cat",
            " concat ",
            "copy out contiguous",
            "sub tensor op",
        ],
        &[(&["cat array", "chunk cat", " concat "], class("Memory-Concatenation", Category::CopyFill))],
        class("Memory-Transpose", Category::CopyFill),
    ),
    rule(
        &["act and mul", "relu", "gelu", "silu", "swish", "swiglu", "sigmoid", "tanh", "activation"],
        &[
            (
                &["act and mul", "silu and mul", "gelu and mul"],
                class("Activation-Gated", Category::Elementwise),
            ),
            (&["silu", "swish"], class("Activation-SiLU", Category::Elementwise)),
            (&["gelu"], class("Activation-GELU", Category::Elementwise)),
        ],
        class("Activation-Generic", Category::Elementwise),
    ),
    rule(
        &[
            "elementwise",
            "pointwise",
            "dropout",
            "scale packed tensor",
            " transform kernel ",
            " unary ",
            " bcast ",
            " scale ",
        ],
        &[],
        class("Elementwise", Category::Elementwise),
    ),
    rule(&[" copy", " cpy ", "memcpy"], &[], class("Memory-Copy", Category::CopyFill)),
    rule(&["memset", " fill"], &[], class("Memory-Set", Category::CopyFill)),
    rule(
        &[
            " reduce", "argmax", "arg max", "argmin", "arg min", " sum", " mean", " max ", " min ", "amax",
            "lpnorm",
        ],
        &[],
        class("Reduce", Category::Reduce),
    ),
    rule(
        &[
            " add ",
            " mul ",
            " div ",
            " sub ",
            " scalar ",
            " where ",
            " cast ",
            " convert",
            "multi tensor",
            "tensor op2d",
            " op tensor",
        ],
        &[],
        class("Elementwise", Category::Elementwise),
    ),
];

/// What the name of a library or framework says where nothing else in the name does.
const LIBRARIES: &[KindRule<KernelClass>] = &[
    rule(&["cutlass"], &[], class("GEMM-CUTLASS", Category::Gemm)),
    rule(&["flashinfer"], &[], class("FlashInfer", Category::Other)),
    rule(&["triton"], &[], class("Triton-Custom", Category::Triton)),
    rule(&["vllm"], &[], class("vLLM-Custom", Category::Other)),
    rule(&["sglang", " sgl "], &[], class("SGLang-Custom", Category::Other)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_kernels_do() {
        let lines = include_str!("classes.txt").lines();
        for line in lines.filter(|line| !line.starts_with('#')) {
            let (detail, rest) = line.split_once(' ').unwrap();
            let (category, name) = rest.split_once(' ').unwrap();
            let class = kernel_class(name, &CommunicationPatterns::default());
            assert_eq!(
                class.map(|class| (class.detail, class.category.as_str())),
                Some((detail, category)),
                "{name}"
            );
        }
        for name in ["my_kernel", "", "consumer_loop"] {
            assert_eq!(kernel_class(name, &CommunicationPatterns::default()), None, "{name}");
        }
    }

    #[test]
    fn no_rule_is_empty() {
        for rule in RULES.iter().chain(LIBRARIES) {
            assert!(!rule.any.is_empty(), "{}", rule.otherwise.detail);
            assert!(rule.kinds.iter().all(|(parts, _)| !parts.is_empty()), "{}", rule.otherwise.detail);
            assert!(!has("", rule.any));
        }
    }
}
