//! Sampling of the next token.

use super::OpGroup;
use crate::{Category, Family};

pub(super) const GROUPS: &[OpGroup] =
    &[OpGroup::modelled(Family::Sampling, Category::Elementwise, &["aiter::mixed_sample_outer_exponential"])];
