//! Cross-entropy loss.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(Family::CrossEntropy, Category::CrossEntropyForward, &["CrossEntropyFunction"]),
    OpGroup::category_only(Category::CrossEntropyBackward, &["CrossEntropyFunctionBackward"]),
];
