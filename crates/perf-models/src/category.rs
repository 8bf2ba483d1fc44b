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
    /// Softmax that is no part of attention.
    Softmax,
    /// Lookup in embedding tables, forward and backward.
    Embedding,
    /// Sorting, scans, selection by index, gather and scatter.
    SortIndex,
    /// Pooling.
    Pooling,
    /// Interpolation to another size.
    Upsampling,
    /// Random numbers.
    Rng,
    /// Copies, fills, concatenations and changes of the layout of memory.
    CopyFill,
    /// Exchange with other devices, whatever launched it.
    Communication,
    /// None of the others.
    Other,
}

/// The spelling of each category in reports.
const NAMES: [(Category, &str); 40] = [
    (Category::Gemm, "GEMM"),
    (Category::GroupedGemmForward, "GroupedGEMM_fwd"),
    (Category::GroupedGemmBackward, "GroupedGEMM_bwd"),
    (Category::SdpaForward, "SDPA_fwd"),
    (Category::SdpaBackward, "SDPA_bwd"),
    (Category::InferenceAttention, "InferenceAttention"),
    (Category::ConvForward, "CONV_fwd"),
    (Category::ConvBackward, "CONV_bwd"),
    (Category::NormForward, "NORM_fwd"),
    (Category::NormBackward, "NORM_bwd"),
    (Category::RmsNorm, "RMSNorm"),
    (Category::Elementwise, "elementwise"),
    (Category::Reduce, "reduce"),
    (Category::MultiTensorApply, "multi_tensor_apply"),
    (Category::GroupQuant, "GroupQuant"),
    (Category::MoeFused, "MoE_fused"),
    (Category::MoeUnfused, "MoE_unfused"),
    (Category::MoeAuxiliary, "MoE_aux"),
    (Category::MoeCommunicationForward, "MoE_comm_fwd"),
    (Category::MoeCommunicationBackward, "MoE_comm_bwd"),
    (Category::StateSpaceForward, "SSM_fwd"),
    (Category::StateSpaceBackward, "SSM_bwd"),
    (Category::RopeForward, "RoPE_fwd"),
    (Category::RopeBackward, "RoPE_bwd"),
    (Category::FusedRope, "FusedRoPE"),
    (Category::CrossEntropyForward, "CrossEntropy_fwd"),
    (Category::CrossEntropyBackward, "CrossEntropy_bwd"),
    (Category::CustomCollective, "CustomCollective"),
    (Category::HyperConnection, "mHC"),
    (Category::Triton, "triton"),
    (Category::RecordParamComms, "record_param_comms"),
    (Category::Softmax, "softmax"),
    (Category::Embedding, "embedding"),
    (Category::SortIndex, "sort/index"),
    (Category::Pooling, "pooling"),
    (Category::Upsampling, "upsampling"),
    (Category::Rng, "rng"),
    (Category::CopyFill, "copy/fill"),
    (Category::Communication, "communication"),
    (Category::Other, "other"),
];

impl Category {
    /// Every category.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|&(category, _)| category)
    }

    /// The spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        NAMES[self as usize].1
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::NAMES;

    #[test]
    fn names_stand_in_the_order_of_the_enumeration() {
        for (position, &(category, name)) in NAMES.iter().enumerate() {
            assert_eq!(category as usize, position, "{name}");
        }
    }
}
