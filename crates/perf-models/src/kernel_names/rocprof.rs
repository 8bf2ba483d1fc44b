//! Kernels of rocprofv3 profiles, by our rules and by those of TraceLens.

use std::fmt;

use super::{CUSTOM_ALL_REDUCE, Rule, first_rule, label, without_arguments};

/// What a kernel does, as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RocprofKernel {
    /// Matrix multiplication.
    Gemm,
    /// The same for every element.
    Elementwise,
    /// Sums and other reductions.
    Reduction,
    /// Convolution.
    Convolution,
    /// Normalization.
    Normalization,
    /// Fused attention.
    Attention,
    /// Copies and fills.
    Memory,
    /// Collectives: exchange with other devices.
    Communication,
    /// Everything else.
    Other,
}

/// Part of a name, in lower case. It says nothing within longer words: right behind one of `not_behind`, or, in the
/// same word, before one of `not_before`.
struct Part {
    text: &'static str,
    not_behind: &'static [&'static str],
    not_before: &'static [&'static str],
}

const fn part(text: &'static str) -> Part {
    Part { text, not_behind: &[], not_before: &[] }
}

/// Reductions within a block or a wave are no exchange with other devices.
const fn collective(text: &'static str) -> Part {
    Part { text, not_behind: &["block", "block_", "warp", "warp_", "wave", "wave_"], not_before: &[] }
}

/// Parts that decide, in the order in which they are tried.
const RULES: &[(RocprofKernel, &str, &[Part])] = &[
    (
        RocprofKernel::Communication,
        "COMM",
        &[
            part("rccl"),
            part("nccl"),
            part(CUSTOM_ALL_REDUCE),
            collective("allreduce"),
            collective("all_reduce"),
            part("quick_reduce"),
            part("reducescatter"),
            part("reduce_scatter"),
            part("allgather"),
            part("all_gather"),
        ],
    ),
    (RocprofKernel::Gemm, "GEMM", &[part("gemm"), part("matmul"), part("cijk"), part("nvjet")]),
    (RocprofKernel::Elementwise, "Elementwise", &[part("elementwise")]),
    (RocprofKernel::Attention, "Attention", &[part("flash"), part("attn"), part("fmha"), part("attention")]),
    (
        RocprofKernel::Reduction,
        "Reduction",
        &[part("reduce"), Part { text: "sum", not_behind: &["con", "as", "re"], not_before: &[] }],
    ),
    (
        RocprofKernel::Convolution,
        "Convolution",
        &[Part { text: "conv", not_behind: &[], not_before: &["e"] }],
    ),
    (
        RocprofKernel::Normalization,
        "Normalization",
        &[part("normaliz"), Part { text: "norm", not_behind: &[], not_before: &["al"] }],
    ),
    (
        RocprofKernel::Memory,
        "Memory",
        &[
            part("copy"),
            part("memcpy"),
            part("memset"),
            Part { text: "fill", not_behind: &["pre", "pre_", "back"], not_before: &[] },
        ],
    ),
];

impl RocprofKernel {
    /// The spelling in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        RULES.iter().find(|rule| rule.0 == self).map_or("Other", |rule| rule.1)
    }

    /// The kind that a kernel's name says; ASCII letters compare without regard to case. The first match
    /// decides; what stands outside of template arguments and parameters decides before what stands in them.
    ///
    /// | kind | parts of names | not |
    /// | --- | --- | --- |
    /// | Communication | `rccl` `nccl` `cross_device_reduce` `quick_reduce` `all_reduce` `reduce_scatter` `all_gather` (also without `_`) | `block_all_reduce`, `warp_all_reduce`: within a device |
    /// | GEMM | `gemm` `matmul` `cijk` (Tensile, hipBLASLt), `nvjet` (cuBLAS) | |
    /// | Elementwise | `elementwise` | |
    /// | Attention | `flash` `attn` `fmha` `attention` | |
    /// | Reduction | `reduce` `sum` | `consumer`, `assume`, `resume` |
    /// | Convolution | `conv` | `convert`, `conversion`: `conv` and an `e` of the same word |
    /// | Normalization | `norm` | `normal`, which draws random numbers; `normalize` is one |
    /// | Memory | `copy` `memcpy` `memset` `fill` | `prefill`, `backfill` |
    ///
    /// So communication that reduces is no reduction, attention that normalizes or reduces along the way
    /// (`FlashAttnNorm`, `paged_attention_reduce`) is attention, a concatenation (`CatArrayBatchedCopy`) and the
    /// runtime's fills (`__amd_rocclr_fillBuffer`) move memory.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        let of_text = |text: &str| {
            let lower = text.to_ascii_lowercase();
            let says = |rule: &&(Self, &str, &[Part])| rule.2.iter().any(|part| part.occurs(text, &lower));
            RULES.iter().find(says).map(|&(kind, ..)| kind)
        };
        of_text(&without_arguments(name)).or_else(|| of_text(name)).unwrap_or(Self::Other)
    }
}

impl fmt::Display for RocprofKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Part {
    /// Whether a name has this part as a word of its own, or within one that is not excluded.
    fn occurs(&self, name: &str, lower: &str) -> bool {
        lower.match_indices(self.text).any(|(begin, _)| {
            let end = begin + self.text.len();
            let bytes = name.as_bytes();
            // `ConvEpilogue` is two words, `CONVERT` and `convert` are one.
            let is_next_word =
                bytes[end - 1].is_ascii_lowercase() && bytes.get(end).is_some_and(u8::is_ascii_uppercase);
            let (before, behind) = (&lower[..begin], &lower[end..]);
            !self.not_behind.iter().any(|text| before.ends_with(text))
                && (is_next_word || !self.not_before.iter().any(|text| behind.starts_with(text)))
        })
    }
}

/// TraceLens's parts of names in the order in which they are tried: communication last, and no exceptions.
const TRACELENS_RULES: [Rule<RocprofKernel>; 8] = [
    (RocprofKernel::Gemm, "GEMM", &["gemm", "matmul", "cijk"]),
    (RocprofKernel::Elementwise, "Elementwise", &["elementwise"]),
    (RocprofKernel::Reduction, "Reduction", &["reduce", "sum"]),
    (RocprofKernel::Convolution, "Convolution", &["conv"]),
    (RocprofKernel::Normalization, "Normalization", &["norm"]),
    (RocprofKernel::Attention, "Attention", &["flash", "attn", "fmha"]),
    (RocprofKernel::Memory, "Memory", &["copy", "memcpy"]),
    (RocprofKernel::Communication, "COMM", &["rccl", "nccl", CUSTOM_ALL_REDUCE]),
];

/// The kind of kernel that TraceLens takes a name for, for comparison with its reports.
#[must_use]
pub fn tracelens_rocprof_kernel(name: &str) -> RocprofKernel {
    first_rule(&TRACELENS_RULES, &name.to_lowercase()).unwrap_or(RocprofKernel::Other)
}

/// Kind of a kernel in the tables of Perfetto traces, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PftraceKernel {
    /// Collectives.
    Rccl,
    /// Matrix products of a library.
    Gemm,
    /// Backward attention of Composable Kernel, cuDNN or the third generation of AMD's assembly.
    AttentionBackward,
    /// Forward attention of Composable Kernel or cuDNN.
    AttentionForward,
    /// Copies and fills that run as kernels.
    Copy,
    /// Helpers of Transformer Engine.
    TransformerEngine,
    /// Forward attention of AITER.
    AiterForward,
    /// Backward attention of AITER.
    AiterBackward,
    /// Fills of the runtime.
    FillBuffer,
    /// All others, most of them fusions of XLA.
    Xla,
}

/// Texts of each class in lower case; the first class with a text in the name counts. Fills stand behind copies and
/// AITER behind the other attention kernels, so a name with both texts belongs to the earlier one.
const PFTRACE_RULES: [Rule<PftraceKernel>; 9] = [
    (PftraceKernel::Rccl, "rccl", &["rccl", "nccl", CUSTOM_ALL_REDUCE]),
    (PftraceKernel::Gemm, "gemm", &["cublaslt", "cijk", "gemm", "nvjet"]),
    (PftraceKernel::AttentionBackward, "ckbwd", &["fmhabwd", "kernel_func", "flash_bprop"]),
    (PftraceKernel::AttentionForward, "ckfwd", &["fmhafwd", "flash_fprop"]),
    (PftraceKernel::Copy, "memcpy/memset", &["copy", "memcpy", "memset"]),
    (PftraceKernel::TransformerEngine, "te", &["transformer_engine"]),
    (PftraceKernel::AiterForward, "aiterfwd", &["aiter::fmha_fwd"]),
    (PftraceKernel::AiterBackward, "aiterbwd", &["aiter::fmha_bwd"]),
    (PftraceKernel::FillBuffer, "fillBuffer", &["fillbuffer"]),
];

impl PftraceKernel {
    /// Kind of a kernel; letters compare without regard to case.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        first_rule(&PFTRACE_RULES, &name.to_ascii_lowercase()).unwrap_or(Self::Xla)
    }

    /// Label of its row.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        label(&PFTRACE_RULES, self).unwrap_or("xla")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::RocprofKernel::*;
    use super::*;

    #[test]
    fn names_say_what_kernels_do() {
        for (name, category) in [
            ("Cijk_gemm", Gemm),
            ("vectorized_elementwise_kernel", Elementwise),
            ("reduce_kernel_sum", Reduction),
            ("conv2d_fwd", Convolution),
            ("layer_norm_kernel", Normalization),
            ("flash_attn_fwd", Attention),
            ("MemcpyDtoD", Memory),
            ("ncclBroadcast", Communication),
            ("unknown_xyz", Other),
            ("", Other),
            ("ncclKernel_AllReduce_RING_LL_Sum_float", Communication),
            ("cross_device_reduce_1stage", Communication),
            ("aiter::allreduce_fusion_kernel_1stage", Communication),
            ("reduce_scatter_cross_device_store", Communication),
            ("allgather_lastdim", Communication),
            ("warp_all_reduce_kernel", Reduction),
            ("BlockAllReduceSum", Reduction),
            ("wrapped_convert", Other),
            ("CONVERT_F32", Other),
            ("dtype_conversion", Other),
            ("ConvEpilogue", Convolution),
            ("miopenConvolutionFwd", Convolution),
            ("naive_conv_nonpacked", Convolution),
            ("convert_then_conv", Convolution),
            ("CatArrayBatchedCopy_contig", Memory),
            ("__amd_rocclr_fillBufferAligned.kd", Memory),
            ("hipMemsetAsync", Memory),
            ("prefill_schedule", Other),
            ("FlashAttnNorm", Attention),
            ("paged_attention_ll4mi_reduce_kernel", Attention),
            ("paged_attention_ll4mi_QKV_mfma16", Attention),
            ("normal_kernel", Other),
            ("l2_normalize", Normalization),
            ("nvjet_hsh_128x256", Gemm),
            ("consumer_loop", Other),
            ("logsumexp", Reduction),
            ("Cijk_Ailk_reduce", Gemm),
            ("bwd_kernel_fuse.kd", Other),
        ] {
            assert_eq!(RocprofKernel::from_name(name), category, "{name}");
        }
    }

    #[test]
    fn template_arguments_decide_only_where_the_name_says_nothing() {
        for (name, category) in [
            ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, NormTwoOps>>(T)", Reduction),
            ("void layer_norm_kernel<reduce<float> >(float*)", Normalization),
            ("void ck_tile::kentry<256, ck_tile::FmhaFwdKernel<Shape> >(Args)", Attention),
            ("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", Communication),
            ("void foo<int>(copy_args)", Memory),
        ] {
            assert_eq!(RocprofKernel::from_name(name), category, "{name}");
        }
    }

    #[test]
    fn rules_of_tracelens_follow_any_part_of_the_name() {
        for (name, expected) in [
            ("Cijk_gemm", Gemm),
            ("vectorized_elementwise_kernel", Elementwise),
            ("conv2d_fwd", Convolution),
            ("layer_norm_kernel", Normalization),
            ("flash_attn_fwd", Attention),
            ("MemcpyDtoD", Memory),
            ("ncclBroadcast", Communication),
            ("", Other),
            ("ncclKernel_AllReduce_RING_LL_Sum_float", Reduction),
            ("cross_device_reduce_1stage", Reduction),
            ("allgather_lastdim", Other),
            ("wrapped_convert", Convolution),
            ("__amd_rocclr_fillBufferAligned.kd", Other),
            ("FlashAttnNorm", Normalization),
            ("paged_attention_ll4mi_reduce_kernel", Reduction),
            ("normal_kernel", Normalization),
            ("nvjet_hsh_128x256", Other),
            ("consumer_loop", Reduction),
        ] {
            assert_eq!(tracelens_rocprof_kernel(name), expected, "{name}");
        }
    }

    #[test]
    fn names_decide_the_kind_in_tables_of_perfetto_traces() {
        for (name, label) in [
            ("ncclRing", "rccl"),
            ("void vllm::cross_device_reduce_1stage<8>", "rccl"),
            ("Cijk_AB", "gemm"),
            ("nvjet_tst_128x8", "gemm"),
            ("FmhaBwd_kernel_func", "ckbwd"),
            ("kernel_func_bwd", "ckbwd"),
            ("FmhaFwd_x", "ckfwd"),
            ("memcpyDtoH", "memcpy/memset"),
            ("__amd_rocclr_copyBuffer.kd", "memcpy/memset"),
            ("transformer_engine::copy_kernel", "memcpy/memset"),
            ("transformer_engine_linear", "te"),
            ("aiter::fmha_fwd_x", "aiterfwd"),
            ("aiter::fmha_bwd_x", "aiterbwd"),
            ("fillBuffer_x", "fillBuffer"),
            ("__amd_rocclr_fillBufferAligned.kd", "fillBuffer"),
            ("xla_fusion", "xla"),
            ("attn_fwd.kd", "xla"),
            ("", "xla"),
        ] {
            assert_eq!(PftraceKernel::from_name(name).as_str(), label, "{name}");
        }
    }

    #[test]
    fn a_collective_of_a_sum_is_a_collective() {
        assert_eq!(PftraceKernel::from_name("ncclDevKernel_AllReduce_Sum_f32_copy"), PftraceKernel::Rccl);
    }

    proptest! {
        #[test]
        fn any_text_has_a_category(name in any::<String>(), word in "[a-zA-Z_<>():é]{0,12}") {
            for text in [name.clone(), format!("{word}conv{name}fill{word}")] {
                let category = RocprofKernel::from_name(&text);
                prop_assert!(!category.as_str().is_empty());
            }
        }
    }
}
