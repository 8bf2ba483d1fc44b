//! Convolution.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::Conv,
        Category::ConvForward,
        &["aten::convolution", "ConvBias_", "ConvBiasReLU_"],
    ),
    OpGroup::modelled(
        Family::Conv,
        Category::ConvBackward,
        &["aten::convolution_backward", "ConvBias_Backward", "ConvBiasReLU_Backward"],
    ),
    OpGroup::category_only(Category::ConvForward, &["aten::miopen_convolution", "aten::cudnn_convolution"]),
];
