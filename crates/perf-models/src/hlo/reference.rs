//! The figures of an established report, for comparison: coarser rules than [`HloCost`](super::HloCost).
//!
//! It takes shapes out of the text of operands, knows multiplications of cuBLAS, convolutions of cuDNN and
//! attention of Transformer Engine, and counts every mask as none. Where that report ends at an input, the
//! functions here say why there is no figure.

mod figures;
mod operand;

pub use figures::{ReferenceFigures, ReferenceGemm, figures, gemm};
pub use operand::{ReferenceArguments, ReferenceTensor, arguments, has_record, operand_texts, tensor};

use std::fmt;

/// The models of the report. Displays as its column has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferenceModel {
    /// A matrix multiplication of a library.
    Gemm,
    /// Attention of Transformer Engine, forward.
    Attention,
    /// Its backward pass.
    AttentionBackward,
    /// A convolution of a library, forward.
    Convolution,
    /// Its backward pass.
    ConvolutionBackward,
    /// No model.
    Rest,
}

impl ReferenceModel {
    /// The model for a custom call's function and the category of the kernel that runs for it, such as `GEMM`.
    #[must_use]
    pub fn of(custom_call_target: &str, category: &str) -> Self {
        let has = |part: &str| custom_call_target.contains(part);
        let is = |name: &str| category.eq_ignore_ascii_case(name);
        if (has("matmul") || has("cublas")) && is("gemm") {
            Self::Gemm
        } else if has("te_fused_attn_forward_ffi") {
            Self::Attention
        } else if has("te_fused_attn_backward_ffi") {
            Self::AttentionBackward
        } else if (has("cudnn$convForward") || has("cudnn$convBiasActivationForward")) && is("conv") {
            Self::Convolution
        } else if has("cudnn$convBackward") && is("conv") {
            Self::ConvolutionBackward
        } else {
            Self::Rest
        }
    }

    /// The spelling of the report.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gemm => "jax_gemm",
            Self::Attention => "jax_te_fused_attn",
            Self::AttentionBackward => "jax_te_fused_attn_bwd",
            Self::Convolution => "jax_conv",
            Self::ConvolutionBackward => "jax_conv_bwd",
            Self::Rest => "rest",
        }
    }
}

impl fmt::Display for ReferenceModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_follow_from_target_and_category() {
        for (target, category, name) in [
            ("__cublas$lt$matmul", "GEMM", "jax_gemm"),
            ("__cublas$gemm", "Conv", "rest"),
            ("te_fused_attn_forward_ffi", "FA FWD", "jax_te_fused_attn"),
            ("te_fused_attn_backward_ffi", "anything", "jax_te_fused_attn_bwd"),
            ("__cudnn$convForward", "Conv", "jax_conv"),
            ("__cudnn$convBiasActivationForward", "conv", "jax_conv"),
            ("__cudnn$convForward", "GEMM", "rest"),
            ("__cudnn$convBackwardFilter", "Conv", "jax_conv_bwd"),
            ("__cudnn$fmhaSoftmax", "FA FWD", "rest"),
        ] {
            assert_eq!(ReferenceModel::of(target, category).to_string(), name, "{target} {category}");
        }
    }
}
