//! Kernels of XLA programs.

use std::fmt;

use super::{COLLECTIVE_LIBRARIES, Rule, first_rule, label};
use crate::Category;

/// What a kernel does, as its name or that of its HLO instruction says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum XlaKernel {
    /// Matrix multiplication.
    Gemm,
    /// Fused attention, backward.
    AttentionBackward,
    /// Fused attention, forward.
    AttentionForward,
    /// Fused attention, kernels of the third version of AMD's assembly library.
    AttentionV3,
    /// Convolution.
    Convolution,
    /// Helpers of Transformer Engine.
    TransformerEngine,
    /// Collectives of RCCL or NCCL.
    Communication,
    /// Whatever XLA generated, and everything else.
    Uncategorized,
}

/// Texts that decide, in the order in which they are tried; case counts.
const NAMES: [Rule<XlaKernel>; 7] = [
    (XlaKernel::Gemm, "GEMM", &["Cijk", "gemm", "nvjet", "cublasLt"]),
    (
        XlaKernel::AttentionBackward,
        "FA BWD",
        &["FmhaBwd", "flash_bprop", "ck_fused_attn::dk_dv_reduce_thd", "fmha_bwd"],
    ),
    (XlaKernel::AttentionForward, "FA FWD", &["FmhaFwd", "flash_fprop", "fmha_fwd"]),
    (XlaKernel::AttentionV3, "FA V3", &["kernel_func"]),
    (XlaKernel::Convolution, "Conv", &["conv_", "conv.", "conv-"]),
    (XlaKernel::TransformerEngine, "TE", &["transformer_engine", "te_fused_attn"]),
    (XlaKernel::Communication, "Communication rccl/nccl", &COLLECTIVE_LIBRARIES),
];

impl XlaKernel {
    /// Every kind that a name can give, in the order in which they are tried.
    pub fn named() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|&(kind, ..)| kind)
    }

    /// The spelling in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        label(&NAMES, self).unwrap_or("Uncategorized Events/XLA")
    }

    /// The kind that a name says; `None` when it says none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        first_rule(&NAMES, name)
    }

    /// The kind of a kernel. The name of its instruction decides before its own, except for attention: library
    /// kernels that XLA calls for a convolution are part of the convolution.
    #[must_use]
    pub fn from_kernel(kernel: &str, instruction: Option<&str>) -> Self {
        let own = Self::from_name(kernel);
        let is_attention =
            matches!(own, Some(Self::AttentionBackward | Self::AttentionForward | Self::AttentionV3));
        let instruction_class = instruction.filter(|_| !is_attention).and_then(Self::from_name);
        instruction_class.or(own).unwrap_or(Self::Uncategorized)
    }

    /// The kind of a kernel by its own name first; that of its instruction decides only where the name says
    /// nothing.
    #[must_use]
    pub fn by_own_name(kernel: &str, instruction: Option<&str>) -> Self {
        Self::from_name(kernel)
            .or_else(|| instruction.and_then(Self::from_name))
            .unwrap_or(Self::Uncategorized)
    }
}

impl fmt::Display for XlaKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Whether an instruction that XLA calls a convolution is one: on TPUs it writes matrix products as convolutions, too, and
/// the operation of the framework says which, such as `jit(f)/mn,np->mp/dot_general:`. `None` where that is neither.
#[must_use]
pub fn convolution_category(framework_op: &str) -> Option<Category> {
    let (path, kind) = framework_op.split_once(':').unwrap_or((framework_op, ""));
    let op = if kind.is_empty() { path.rsplit('/').next().unwrap_or_default() } else { kind };
    let lower = op.to_ascii_lowercase();
    let has = |part: &&str| lower.contains(part);
    match () {
        () if lower.contains("conv") => Some(Category::ConvForward),
        () if ["dot", "matmul", "einsum"].iter().any(has) => Some(Category::Gemm),
        () => None,
    }
}

/// What a custom call of a compiled program does, by the function that it calls; `None` where that says nothing.
#[must_use]
pub fn custom_call_category(target: &str) -> Option<Category> {
    let lower = target.to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    let either = |forward, backward| if has("backward") || has("bwd") { backward } else { forward };
    if has("fmha") || has("fused_attn") || has("flash_attention") {
        Some(either(Category::SdpaForward, Category::SdpaBackward))
    } else if has("$conv") {
        Some(either(Category::ConvForward, Category::ConvBackward))
    } else if has("matmul") || has("gemm") {
        Some(Category::Gemm)
    } else if has("norm") {
        Some(Category::NormForward)
    } else if has("topk") || has("sort") {
        Some(Category::SortIndex)
    } else if has("nccl") || has("rccl") {
        Some(Category::Communication)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::XlaKernel::*;
    use super::*;

    #[test]
    fn convolutions_are_matrix_products_where_the_framework_says_so() {
        for (op, category) in [
            ("jit(step_fun)/RowParallelLinear/mn,pn->mp/dot_general:", Some(Category::Gemm)),
            ("model/dense/MatMul:MatMul", Some(Category::Gemm)),
            ("jit(f)/conv_general_dilated:", Some(Category::ConvForward)),
            ("model/conv1/Conv2D:Conv2D", Some(Category::ConvForward)),
            ("model/conv1/MatMul:MatMul", Some(Category::Gemm)),
            ("jit(f)/reduce_sum:", None),
            ("", None),
        ] {
            assert_eq!(convolution_category(op), category, "{op}");
        }
    }

    #[test]
    fn names_decide_in_order_and_instructions_before_kernels() {
        // kernel, instruction, category, category by the kernel's own name first
        for (kernel, instruction, category, by_own_name) in [
            ("Cijk_Ailk_Bljk_BBS_BH", Some("cudnn-conv.1"), Convolution, Gemm),
            ("Im3d2Col", Some("cudnn-conv.1"), Convolution, Convolution),
            ("Im3d2Col", Some("cudnn-conv"), Uncategorized, Uncategorized),
            ("gemm_fusion_dot_1", Some("gemm_fusion_dot.1"), Gemm, Gemm),
            ("nvjet_hsh_128x256", Some("custom-call.1"), Gemm, Gemm),
            (
                "FmhaBwdDQDKDVKernel",
                Some("te_fused_attn_backward_ffi.1"),
                AttentionBackward,
                AttentionBackward,
            ),
            ("ck_helper", Some("te_fused_attn_backward_ffi.1"), TransformerEngine, TransformerEngine),
            ("ncclDevKernel_AllReduce", Some("all-reduce-start.2"), Communication, Communication),
            ("loop_add_fusion", Some("loop_add_fusion"), Uncategorized, Uncategorized),
            ("cijk", None, Uncategorized, Uncategorized),
        ] {
            assert_eq!(XlaKernel::from_kernel(kernel, instruction), category, "{kernel}");
            assert_eq!(XlaKernel::by_own_name(kernel, instruction), by_own_name, "{kernel}");
        }
    }
}
