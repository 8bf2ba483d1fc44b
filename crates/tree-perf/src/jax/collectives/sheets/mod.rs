//! Sheets of the collectives.

mod by_execution;
mod by_kind;
mod by_operation;
mod by_size;
mod columns;

use super::collective_analysis::CollectiveAnalysis;
use crate::jax::JaxAnalysis;
use crate::sheet::Sheet;

/// The sheets of collectives, in order.
pub(in crate::jax) static SHEETS: [&Sheet<JaxAnalysis>; 6] = [
    &by_kind::SHEET,
    &by_operation::SHEET,
    &by_execution::SHEET,
    &by_size::BUFFERS,
    &by_size::SIZES,
    &by_size::RANGES,
];

/// The collectives of the profile; `None` where it has none.
fn collectives(analysis: &JaxAnalysis) -> Option<&CollectiveAnalysis> {
    let collectives = analysis.collectives();
    (!collectives.slices.is_empty()).then_some(collectives)
}
