//! Details of the work of GPUs: launch geometry and latency, copies, memory, and time by source line and name scope.

mod launches;
mod memory;
mod source;
#[cfg(test)]
mod tests;

use sheets::Sheet;

use crate::JaxAnalysis;

/// The sheets of details, in order.
pub(crate) fn detail_sheets<'a>() -> Vec<Sheet<'a, JaxAnalysis>> {
    vec![
        source::source_lines_sheet(),
        source::name_scopes_sheet(),
        source::rematerialization_sheet(),
        launches::latency_sheet(),
        launches::geometry_sheet(),
        launches::copies_sheet(),
        memory::allocators_sheet(),
        memory::timeline_sheet(),
    ]
}
