//! What else a profile says of the work of its GPUs: how kernels were launched, what copies moved, how memory was
//! used, and which parts of the source the time belongs to.

mod copies;
mod kernel_geometry;
mod launch_latency;
mod memory;
mod memory_sheets;
mod name_scopes;
mod origin;
mod rematerialization;
mod source_lines;
#[cfg(test)]
mod tests;

pub use copies::CopyDetails;
pub use kernel_geometry::KernelGeometry;
pub use memory::{AllocatorUse, MemoryEvent, MemoryPoint, allocator_use, timeline};

use super::JaxAnalysis;
use tree_perf::Sheet;

/// The sheets of these, in order.
pub(super) static SHEETS: [&Sheet<JaxAnalysis>; 8] = [
    &source_lines::SHEET,
    &name_scopes::SHEET,
    &rematerialization::SHEET,
    &launch_latency::SHEET,
    &kernel_geometry::SHEET,
    &copies::SHEET,
    &memory_sheets::ALLOCATORS,
    &memory_sheets::TIMELINE,
];
