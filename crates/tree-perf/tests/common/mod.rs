//! The sheets of an analysis as text, for tests to read.
#![allow(dead_code)] // each test program uses a part

mod table;

use operator_sheets::MissingPeak;
use perf_models::{PeakBasis, Tables};
use sheets::{Layout, Scope, Sheet};
use tree_perf::{
    Analysis, CategoryRule, CommunicationRule, Conventions, MessageTypes, RecomputeRule, RooflineRule,
    UnlinkedRule, all_sheets,
};

pub(crate) use table::Table;

/// The conventions that differ from ours in every rule: those of TraceLens.
pub(crate) const THEIRS: Conventions = Conventions {
    scope: Scope::Core,
    layout: Layout::Listed,
    unlinked: UnlinkedRule::LeftOut,
    categories: CategoryRule::FirstKernel,
    communication: CommunicationRule::LeftOut,
    models: Tables::Common,
    roofline: RooflineRule::Model,
    missing_peak: MissingPeak::NoRoofline,
    peak_basis: PeakBasis::Achievable,
    recompute: RecomputeRule::Frames,
    keep_overruns: true,
    message_types: MessageTypes::WithoutCharAndFp8,
};

/// [`THEIRS`], or ours.
pub(crate) fn conventions(are_theirs: bool) -> Conventions {
    if are_theirs { THEIRS } else { Conventions::default() }
}

pub(crate) fn sheet<'a>(name: &str) -> Sheet<'a, Analysis> {
    all_sheets().into_iter().find(|sheet| sheet.name == name).unwrap_or_else(|| panic!("no sheet {name}"))
}

impl Table {
    /// Builds a sheet in the layout of its report; `None` when the report leaves it out.
    pub(crate) fn build(analysis: &Analysis, name: &str) -> Option<Table> {
        let layout = analysis.options().conventions.layout;
        sheet(name).table_in(analysis, layout).unwrap().map(|table| Table::new(&table))
    }

    /// Builds a sheet that must be there.
    pub(crate) fn of_sheet(analysis: &Analysis, name: &str) -> Table {
        Table::build(analysis, name).unwrap_or_else(|| panic!("{name} was left out"))
    }
}
