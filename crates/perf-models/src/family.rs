use std::fmt;

/// Operators that share a performance model's parameters, and so a table in reports.
///
/// A family is not a [`Category`](crate::Category): the family `Normalization` holds operators of the
/// categories `NORM_fwd` and `NORM_bwd`, and a quantization with the parameters of a binary
/// elementwise operator is in the family `BinaryElementwise` with the category `GroupQuant`.
///
/// Families are ordered as reports list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Family {
    /// Matrix multiplication.
    Gemm,
    /// Scaled dot-product attention.
    Sdpa,
    /// Convolution.
    Conv,
    /// Attention over the key-value cache of an inference engine.
    InferenceAttention,
    /// Two tensors in, one out, element by element.
    BinaryElementwise,
    /// Matrix multiplication in groups of different sizes.
    GroupedGemm,
    /// Mixture of experts: dispatch and combination.
    MoeCommunication,
    /// State-space models.
    StateSpace,
    /// Rotary position embedding.
    Rope,
    /// Cross-entropy loss.
    CrossEntropy,
    /// One tensor in, one out, element by element.
    UnaryElementwise,
    /// Mixture of experts: both projections in one kernel.
    MoeFused,
    /// Mixture of experts: one kernel for each projection.
    MoeUnfused,
    /// Mixture of experts: routing, sorting, alignment.
    MoeAuxiliary,
    /// RMS normalization of inference engines.
    RmsNorm,
    /// Sampling of the next token.
    Sampling,
    /// Quantization with a scale for each group of elements.
    GroupQuant,
    /// Rotary position embedding fused with the write to the key-value cache.
    FusedRope,
    /// Collectives that inference engines implement themselves.
    CustomCollective,
    /// Manifold-constrained hyper-connections.
    HyperConnection,
    /// Batch, layer, group, instance and RMS normalization.
    Normalization,
    /// Reductions and scans.
    Reduce,
}

impl Family {
    /// Every family, in the order of reports.
    pub const ALL: [Self; 22] = [
        Self::Gemm,
        Self::Sdpa,
        Self::Conv,
        Self::InferenceAttention,
        Self::BinaryElementwise,
        Self::GroupedGemm,
        Self::MoeCommunication,
        Self::StateSpace,
        Self::Rope,
        Self::CrossEntropy,
        Self::UnaryElementwise,
        Self::MoeFused,
        Self::MoeUnfused,
        Self::MoeAuxiliary,
        Self::RmsNorm,
        Self::Sampling,
        Self::GroupQuant,
        Self::FusedRope,
        Self::CustomCollective,
        Self::HyperConnection,
        Self::Normalization,
        Self::Reduce,
    ];

    /// The spelling in the names of report tables, before `_fwd` or `_bwd`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gemm => "GEMM",
            Self::Sdpa => "SDPA",
            Self::Conv => "CONV",
            Self::InferenceAttention => "InferenceAttention",
            Self::BinaryElementwise => "BinaryElementwise",
            Self::GroupedGemm => "GroupedGEMM",
            Self::MoeCommunication => "MoE_comm",
            Self::StateSpace => "SSM",
            Self::Rope => "RoPE",
            Self::CrossEntropy => "CrossEntropy",
            Self::UnaryElementwise => "UnaryElementwise",
            Self::MoeFused => "MoE_fused",
            Self::MoeUnfused => "MoE_unfused",
            Self::MoeAuxiliary => "MoE_aux",
            Self::RmsNorm => "RMSNorm",
            Self::Sampling => "elementwise",
            Self::GroupQuant => "GroupQuant",
            Self::FusedRope => "FusedRoPE",
            Self::CustomCollective => "CustomCollective",
            Self::HyperConnection => "mHC",
            Self::Normalization => "Normalization",
            Self::Reduce => "Reduce",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Family;

    #[test]
    fn all_lists_every_family_once_in_order() {
        assert!(Family::ALL.is_sorted_by(|a, b| a < b));
        assert_eq!(Family::ALL.last().map(|&last| last as usize + 1), Some(Family::ALL.len()));
    }
}
