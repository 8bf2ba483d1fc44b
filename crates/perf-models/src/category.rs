use std::fmt;

/// What kind of work an operator does: the unit over which reports sum GPU time.
///
/// Displays as the spelling that reports use ([`Category::as_str`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Category {
    /// Matrix multiplication.
    Gemm,
    /// Matrix multiplication in groups of different sizes, forward.
    GroupedGemmForward,
    /// Matrix multiplication in groups of different sizes, backward.
    GroupedGemmBackward,
    /// Scaled dot-product attention, forward.
    SdpaForward,
    /// Scaled dot-product attention, backward.
    SdpaBackward,
    /// Attention over the key-value cache of an inference engine, and the upkeep of that cache.
    InferenceAttention,
    /// Convolution, forward.
    ConvForward,
    /// Convolution, backward.
    ConvBackward,
    /// Batch, layer, group, instance and RMS normalization, forward.
    NormForward,
    /// Batch, layer, group, instance and RMS normalization, backward.
    NormBackward,
    /// RMS normalization of inference engines, often fused with addition or quantization.
    RmsNorm,
    /// Element by element: unary, binary, activations, padding, copies.
    Elementwise,
    /// Reductions and scans.
    Reduce,
    /// One kernel over a list of tensors (optimizers, `foreach` operators).
    MultiTensorApply,
    /// Quantization with a scale for each group of elements.
    GroupQuant,
    /// Mixture of experts: both projections in one kernel.
    MoeFused,
    /// Mixture of experts: one kernel for each projection.
    MoeUnfused,
    /// Mixture of experts: routing, sorting, alignment.
    MoeAuxiliary,
    /// Mixture of experts: dispatch to and combination from other devices, forward.
    MoeCommunicationForward,
    /// Mixture of experts: dispatch to and combination from other devices, backward.
    MoeCommunicationBackward,
    /// State-space models: causal convolution and selective scan, forward.
    StateSpaceForward,
    /// State-space models: causal convolution and selective scan, backward.
    StateSpaceBackward,
    /// Rotary position embedding, forward.
    RopeForward,
    /// Rotary position embedding, backward.
    RopeBackward,
    /// Rotary position embedding that an inference engine fused with other work of attention.
    FusedRope,
    /// Cross-entropy loss, forward.
    CrossEntropyForward,
    /// Cross-entropy loss, backward.
    CrossEntropyBackward,
    /// Collectives that inference engines implement themselves.
    CustomCollective,
    /// Manifold-constrained hyper-connections.
    HyperConnection,
    /// Kernels that TorchInductor generated.
    Triton,
    /// PyTorch's record of a collective of `torch.distributed`.
    RecordParamComms,
    /// None of the others.
    Other,
}

impl Category {
    /// Every category.
    pub const ALL: [Self; 32] = [
        Self::Gemm,
        Self::GroupedGemmForward,
        Self::GroupedGemmBackward,
        Self::SdpaForward,
        Self::SdpaBackward,
        Self::InferenceAttention,
        Self::ConvForward,
        Self::ConvBackward,
        Self::NormForward,
        Self::NormBackward,
        Self::RmsNorm,
        Self::Elementwise,
        Self::Reduce,
        Self::MultiTensorApply,
        Self::GroupQuant,
        Self::MoeFused,
        Self::MoeUnfused,
        Self::MoeAuxiliary,
        Self::MoeCommunicationForward,
        Self::MoeCommunicationBackward,
        Self::StateSpaceForward,
        Self::StateSpaceBackward,
        Self::RopeForward,
        Self::RopeBackward,
        Self::FusedRope,
        Self::CrossEntropyForward,
        Self::CrossEntropyBackward,
        Self::CustomCollective,
        Self::HyperConnection,
        Self::Triton,
        Self::RecordParamComms,
        Self::Other,
    ];

    /// The spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gemm => "GEMM",
            Self::GroupedGemmForward => "GroupedGEMM_fwd",
            Self::GroupedGemmBackward => "GroupedGEMM_bwd",
            Self::SdpaForward => "SDPA_fwd",
            Self::SdpaBackward => "SDPA_bwd",
            Self::InferenceAttention => "InferenceAttention",
            Self::ConvForward => "CONV_fwd",
            Self::ConvBackward => "CONV_bwd",
            Self::NormForward => "NORM_fwd",
            Self::NormBackward => "NORM_bwd",
            Self::RmsNorm => "RMSNorm",
            Self::Elementwise => "elementwise",
            Self::Reduce => "reduce",
            Self::MultiTensorApply => "multi_tensor_apply",
            Self::GroupQuant => "GroupQuant",
            Self::MoeFused => "MoE_fused",
            Self::MoeUnfused => "MoE_unfused",
            Self::MoeAuxiliary => "MoE_aux",
            Self::MoeCommunicationForward => "MoE_comm_fwd",
            Self::MoeCommunicationBackward => "MoE_comm_bwd",
            Self::StateSpaceForward => "SSM_fwd",
            Self::StateSpaceBackward => "SSM_bwd",
            Self::RopeForward => "RoPE_fwd",
            Self::RopeBackward => "RoPE_bwd",
            Self::FusedRope => "FusedRoPE",
            Self::CrossEntropyForward => "CrossEntropy_fwd",
            Self::CrossEntropyBackward => "CrossEntropy_bwd",
            Self::CustomCollective => "CustomCollective",
            Self::HyperConnection => "mHC",
            Self::Triton => "triton",
            Self::RecordParamComms => "record_param_comms",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Category;

    #[test]
    fn all_lists_every_category_once_in_order() {
        assert!(Category::ALL.is_sorted_by(|a, b| a < b));
        assert_eq!(Category::ALL.last().map(|&last| last as usize + 1), Some(Category::ALL.len()));
    }
}
