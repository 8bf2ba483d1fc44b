//! Sheets of the collectives.

mod by_execution;
mod by_kind;
mod by_operation;
mod by_size;
mod columns;

use super::collective_analysis::CollectiveAnalysis;
use crate::JaxAnalysis;
use tree_perf::Sheet;

/// What collectives were found in.
pub(crate) trait HasCollectives {
    fn collectives(&self) -> &CollectiveAnalysis;
}

impl HasCollectives for JaxAnalysis {
    fn collectives(&self) -> &CollectiveAnalysis {
        self.collectives()
    }
}

impl HasCollectives for CollectiveAnalysis {
    fn collectives(&self) -> &CollectiveAnalysis {
        self
    }
}

/// The sheets of the collectives of one profile, in order.
pub(crate) static OF_PROFILE: [Sheet<JaxAnalysis>; 6] = sheets();

/// The sheets of the collectives of a run, whose nodes have a profile each: the same as those of one profile.
pub fn collective_sheets() -> &'static [Sheet<CollectiveAnalysis>] {
    static OF_RUN: [Sheet<CollectiveAnalysis>; 6] = sheets();
    &OF_RUN
}

const fn sheets<A: HasCollectives>() -> [Sheet<A>; 6] {
    [
        by_kind::sheet(),
        by_operation::sheet(),
        by_execution::sheet(),
        by_size::buffers(),
        by_size::sizes(),
        by_size::ranges(),
    ]
}

/// The collectives; `None` where there are none.
fn collectives<A: HasCollectives>(of: &A) -> Option<&CollectiveAnalysis> {
    let collectives = of.collectives();
    (!collectives.slices.is_empty()).then_some(collectives)
}
