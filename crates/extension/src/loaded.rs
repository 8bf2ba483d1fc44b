//! What the two forms have in common once they are loaded.

use std::collections::BTreeMap;

use tree_perf::AnalysisExtension;

/// What a loaded file of either form can say.
pub(crate) trait Loaded: AnalysisExtension {
    /// The operators that it models, sorted.
    fn modelled(&self) -> Vec<&str>;
    /// Categories by operator, sorted by operator.
    fn categories(&self) -> Vec<(&str, &str)>;
    /// Roofline sheet and operator in it, sorted.
    fn sheet_members(&self) -> Vec<(&str, &str)>;
    /// Whether it has a rule on the tree.
    fn changes_tree(&self) -> bool {
        false
    }
}

/// Sheet and operator, sorted, out of sheets by operator.
pub(crate) fn sheet_members(sheets: &BTreeMap<String, Vec<String>>) -> Vec<(&str, &str)> {
    let mut members: Vec<_> = sheets
        .iter()
        .flat_map(|(operator, sheets)| sheets.iter().map(move |sheet| (sheet.as_str(), operator.as_str())))
        .collect();
    members.sort_unstable();
    members
}
