//! The sheets of an XLA profile, in order.

use sheets::Sheet;

use crate::analysis::JaxAnalysis;
use crate::collectives::sheets::profile_collective_sheets;
use crate::details::detail_sheets;
use crate::gpu::gpu_sheets;
use crate::tpu::tpu_sheets;

/// The sheets of an XLA profile, in order: those of GPUs, those of TPUs, and those of what both have.
#[must_use]
pub fn jax_sheets<'a>() -> Vec<Sheet<'a, JaxAnalysis>> {
    let lists = [gpu_sheets(), tpu_sheets(), profile_collective_sheets(), detail_sheets()];
    lists.into_iter().flatten().collect()
}
