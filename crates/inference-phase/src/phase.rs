//! What a step of an inference engine does.

use std::fmt;

/// Kind of work of an engine step, and of everything that it launched.
///
/// *Context* requests have their prompt processed (all of it or a chunk); *generation* requests are extended by
/// a token or a few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Context requests only.
    Prefill,
    /// Generation requests only.
    Decode,
    /// Both kinds in one step.
    Mixed,
    /// Nothing in the trace says which.
    Unknown,
}

impl Phase {
    /// All phases, in the order of reports.
    pub const ALL: [Phase; 4] = [Phase::Prefill, Phase::Decode, Phase::Mixed, Phase::Unknown];

    /// The name that reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Prefill => "Prefill",
            Phase::Decode => "Decode",
            Phase::Mixed => "Mixed",
            Phase::Unknown => "Unknown",
        }
    }

    /// Whether context requests are part of it.
    #[must_use]
    pub fn bears_context(self) -> bool {
        matches!(self, Phase::Prefill | Phase::Mixed)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
