//! Kinds of kernels by their names.

use std::fmt;

/// What a kernel does, as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelCategory {
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
const RULES: &[(KernelCategory, &[Part])] = &[
    (
        KernelCategory::Communication,
        &[
            part("rccl"),
            part("nccl"),
            part("cross_device_reduce"),
            collective("allreduce"),
            collective("all_reduce"),
            part("quick_reduce"),
            part("reducescatter"),
            part("reduce_scatter"),
            part("allgather"),
            part("all_gather"),
        ],
    ),
    (KernelCategory::Gemm, &[part("gemm"), part("matmul"), part("cijk"), part("nvjet")]),
    (KernelCategory::Elementwise, &[part("elementwise")]),
    (KernelCategory::Attention, &[part("flash"), part("attn"), part("fmha"), part("attention")]),
    (
        KernelCategory::Reduction,
        &[part("reduce"), Part { text: "sum", not_behind: &["con", "as", "re"], not_before: &[] }],
    ),
    (KernelCategory::Convolution, &[Part { text: "conv", not_behind: &[], not_before: &["e"] }]),
    (
        KernelCategory::Normalization,
        &[part("normaliz"), Part { text: "norm", not_behind: &[], not_before: &["al"] }],
    ),
    (
        KernelCategory::Memory,
        &[
            part("copy"),
            part("memcpy"),
            part("memset"),
            Part { text: "fill", not_behind: &["pre", "pre_", "back"], not_before: &[] },
        ],
    ),
];

impl KernelCategory {
    /// The spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gemm => "GEMM",
            Self::Elementwise => "Elementwise",
            Self::Reduction => "Reduction",
            Self::Convolution => "Convolution",
            Self::Normalization => "Normalization",
            Self::Attention => "Attention",
            Self::Memory => "Memory",
            Self::Communication => "COMM",
            Self::Other => "Other",
        }
    }

    /// The category that a kernel's name says; ASCII letters compare without regard to case. The first match
    /// decides; what stands outside of template arguments and parameters decides before what stands in them.
    ///
    /// | category | parts of names | not |
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
    pub fn of_name(name: &str) -> Self {
        let of_text = |text: &str| {
            let lower = text.to_ascii_lowercase();
            let says = |rule: &&(Self, &[Part])| rule.1.iter().any(|part| part.occurs(text, &lower));
            RULES.iter().find(says).map(|&(category, _)| category)
        };
        of_text(&without_arguments(name)).or_else(|| of_text(name)).unwrap_or(Self::Other)
    }
}

impl fmt::Display for KernelCategory {
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

/// A name without what stands in angle brackets or parentheses.
fn without_arguments(name: &str) -> String {
    let mut depth = 0_usize;
    let outside = |&character: &char| match character {
        '<' | '(' => {
            depth += 1;
            false
        }
        '>' | ')' => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => depth == 0,
    };
    name.chars().filter(outside).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::KernelCategory::*;
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
            assert_eq!(KernelCategory::of_name(name), category, "{name}");
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
            assert_eq!(KernelCategory::of_name(name), category, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_category(name in any::<String>(), word in "[a-zA-Z_<>():é]{0,12}") {
            for text in [name.clone(), format!("{word}conv{name}fill{word}")] {
                let category = KernelCategory::of_name(&text);
                prop_assert!(!category.as_str().is_empty());
            }
        }
    }
}
