//! Rules that look at more of a trace than [`advise::Facts`] hold. A file has such a rule with what it looks at.

use advise::Rule;
use tree_perf::Analysis;

/// What these rules may look at.
pub(super) struct Examined<'a> {
    pub(super) run: &'a Analysis,
    /// An earlier recording of the same program.
    pub(super) baseline: Option<&'a Analysis>,
}

/// The rules of a file.
pub(super) struct TraceRules {
    pub(super) ids: &'static [&'static str],
    /// Those that have something to look at.
    pub(super) make: fn(&Examined<'_>) -> Vec<Box<dyn Rule>>,
}
