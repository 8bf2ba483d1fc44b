use std::fmt;

use crate::Category;

/// Operators that share a performance model's parameters, and so a table in reports.
///
/// A family is not a [`Category`](crate::Category): the family `Normalization` holds operators of the
/// categories `NORM_fwd` and `NORM_bwd`, and a quantization with the parameters of a binary
/// elementwise operator is in the family `BinaryElementwise` with the category `GroupQuant`.
///
/// Families are ordered as reports list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // `Family::description` says it
pub enum Family {
    Gemm,
    Sdpa,
    Conv,
    InferenceAttention,
    BinaryElementwise,
    GroupedGemm,
    MoeCommunication,
    StateSpace,
    Rope,
    CrossEntropy,
    UnaryElementwise,
    MoeFused,
    MoeUnfused,
    MoeAuxiliary,
    RmsNorm,
    Sampling,
    GroupQuant,
    FusedRope,
    CustomCollective,
    HyperConnection,
    Normalization,
    Reduce,
    TensorTraffic,
}

/// Whether reports have one table for a family, or one for each direction.
const TOGETHER: bool = false;
const BY_DIRECTION: bool = true;

/// Name in reports, number of tables, and what the operators do.
const FAMILIES: [(Family, &str, bool, &str); 23] = [
    (Family::Gemm, "GEMM", TOGETHER, "Matrix multiplications"),
    (Family::Sdpa, "SDPA", BY_DIRECTION, "Scaled dot-product attention"),
    (Family::Conv, "CONV", BY_DIRECTION, "Convolutions"),
    (
        Family::InferenceAttention,
        "InferenceAttention",
        BY_DIRECTION,
        "Attention over an inference engine's KV cache",
    ),
    (Family::BinaryElementwise, "BinaryElementwise", TOGETHER, "Binary elementwise operations"),
    (Family::GroupedGemm, "GroupedGEMM", BY_DIRECTION, "Grouped matrix multiplications"),
    (Family::MoeCommunication, "MoE_comm", BY_DIRECTION, "Mixture-of-experts dispatch and combine"),
    (Family::StateSpace, "SSM", BY_DIRECTION, "State-space models"),
    (Family::Rope, "RoPE", BY_DIRECTION, "Rotary position embedding"),
    (Family::CrossEntropy, "CrossEntropy", BY_DIRECTION, "Cross entropy"),
    (Family::UnaryElementwise, "UnaryElementwise", TOGETHER, "Unary elementwise operations"),
    (Family::MoeFused, "MoE_fused", BY_DIRECTION, "Fused mixture-of-experts layers"),
    (Family::MoeUnfused, "MoE_unfused", BY_DIRECTION, "Mixture-of-experts matrix multiplications"),
    (Family::MoeAuxiliary, "MoE_aux", BY_DIRECTION, "Mixture-of-experts routing and sorting"),
    (Family::RmsNorm, "RMSNorm", BY_DIRECTION, "RMS normalization of inference engines"),
    (Family::Sampling, "elementwise", BY_DIRECTION, "Token sampling"),
    (Family::GroupQuant, "GroupQuant", BY_DIRECTION, "Group quantization"),
    (Family::FusedRope, "FusedRoPE", BY_DIRECTION, "Rotary position embedding fused with cache updates"),
    (Family::CustomCollective, "CustomCollective", BY_DIRECTION, "Collectives of inference engines"),
    (Family::HyperConnection, "mHC", BY_DIRECTION, "Manifold-constrained hyper-connections"),
    (Family::Normalization, "Normalization", TOGETHER, "Batch, layer, group, instance and RMS normalization"),
    (Family::Reduce, "Reduce", BY_DIRECTION, "Reductions"),
    (
        Family::TensorTraffic,
        "TensorTraffic",
        TOGETHER,
        "Operators that read each operand and write each result once: softmax, other elementwise operations, indexing, pooling, losses, optimizers",
    ),
];

impl Family {
    /// Every family, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        FAMILIES.iter().map(|&(family, ..)| family)
    }

    /// The spelling in the names of report tables, before `_fwd` or `_bwd`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        FAMILIES[self as usize].1
    }

    /// Whether reports have a table of forward and one of backward work.
    #[must_use]
    pub const fn is_split_by_direction(self) -> bool {
        FAMILIES[self as usize].2
    }

    /// The category of the backward pass of a forward operator, where models have figures of it.
    #[must_use]
    pub const fn backward_category(self) -> Option<Category> {
        match self {
            Self::Sdpa => Some(Category::SdpaBackward),
            Self::Conv => Some(Category::ConvBackward),
            Self::GroupedGemm => Some(Category::GroupedGemmBackward),
            Self::MoeCommunication => Some(Category::MoeCommunicationBackward),
            Self::StateSpace => Some(Category::StateSpaceBackward),
            _ => None,
        }
    }

    /// What the operators do, for people.
    #[must_use]
    pub const fn description(self) -> &'static str {
        FAMILIES[self as usize].3
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::FAMILIES;

    #[test]
    fn rows_stand_in_the_order_of_the_enumeration() {
        for (position, &(family, ..)) in FAMILIES.iter().enumerate() {
            assert_eq!(family as usize, position, "{family:?}");
        }
    }
}
