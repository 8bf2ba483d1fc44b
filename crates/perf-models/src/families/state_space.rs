//! State-space models (Mamba).

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::StateSpace,
        Category::StateSpaceForward,
        &["DaoAILab::_causal_conv1d_fwd_cpp", "MambaSplitConv1dScanCombinedFn"],
    ),
    OpGroup::category_only(
        Category::StateSpaceBackward,
        &["MambaSplitConv1dScanCombinedFnBackward", "DaoAILab::_causal_conv1d_bwd_cpp"],
    ),
];
