//! Tools whose figures reports can take after.

use reference_tools::Conventions;

/// A tool whose figures a report can give where ours differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    TraceLens,
    /// Holistic Trace Analysis, which reads PyTorch's traces alone.
    Hta,
}

/// What reports by the figures of a tool, or by ours, do.
pub(crate) fn conventions(parity: Option<Reference>) -> Conventions {
    match parity {
        Some(Reference::TraceLens) => reference_tools::tracelens(),
        // Of reports its tables stand beside ours.
        Some(Reference::Hta) => reference_tools::hta(),
        None => Conventions::default(),
    }
}

/// What reports of any recorder can take after.
pub(crate) const REFERENCES: &[(&str, Reference)] = &[("tracelens", Reference::TraceLens)];

/// What reports of traces can take after.
pub(crate) const TRACE_REFERENCES: &[(&str, Reference)] = &[REFERENCES[0], ("hta", Reference::Hta)];
