//! The sheets of an XLA profile, in order.

use operator_sheets::{iteration_groups_sheet, iterations_per_device_sheet, iterations_sheet};
use sheets::Sheet;

use crate::analysis::JaxAnalysis;
use crate::collectives::sheets::profile_collective_sheets;
use crate::details::detail_sheets;
use crate::gpu::gpu_sheets;
use crate::tpu::tpu_sheets;

/// The sheets of an XLA profile, in order: those of GPUs, those of TPUs, and those of what both have, iterations
/// first.
#[must_use]
pub fn jax_sheets<'a>() -> Vec<Sheet<'a, JaxAnalysis>> {
    let iteration_sheets = vec![iterations_sheet(), iterations_per_device_sheet(), iteration_groups_sheet()];
    let lists = [gpu_sheets(), tpu_sheets(), iteration_sheets, profile_collective_sheets(), detail_sheets()];
    lists.into_iter().flatten().collect()
}
