//! Reductions and scans.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] = &[OpGroup::modelled(
    Family::Reduce,
    Category::Reduce,
    &[
        "aten::sum",
        "aten::mean",
        "aten::max",
        "aten::min",
        "aten::norm",
        "aten::linalg_norm",
        "aten::std",
        "aten::var",
        "aten::logsumexp",
        "aten::cumsum",
        "aten::cumprod",
        "aten::amin",
        "aten::amax",
    ],
)];
