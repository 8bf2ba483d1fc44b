//! What a rule finds.

use std::fmt;

use miette::Diagnostic;

use crate::rules::Rule;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Info,
    /// Sheets are empty or partial.
    Note,
    /// Some figures cannot be trusted.
    Warning,
    /// Figures are wrong.
    Error,
}

impl Severity {
    /// All, the least severe first.
    pub const ALL: [Severity; 4] = [Severity::Info, Severity::Note, Severity::Warning, Severity::Error];

    /// Its name in outputs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A rule that fires, with its evidence.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// How much it matters.
    pub severity: Severity,
    /// How many events (or whatever the text counts) are affected.
    pub count: u64,
    /// Out of how many, where that is known.
    pub of: Option<u64>,
    /// Time that is affected, in the trace's time unit, where the rule measures one.
    pub time: Option<i64>,
    /// How many more look alike and are explained by something harmless.
    pub guarded: u64,
    /// The earliest event that is affected.
    pub first: Option<Place>,
    /// What was seen, as a sentence without its full stop.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Finding {}

impl Diagnostic for Finding {
    fn code(&self) -> Option<Box<dyn fmt::Display + '_>> {
        Some(Box::new(self.rule.id))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Info | Severity::Note => miette::Severity::Advice,
            Severity::Warning => miette::Severity::Warning,
            Severity::Error => miette::Severity::Error,
        })
    }

    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        Some(Box::new(self.rule.remedy))
    }
}

/// Where an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index in the file's event list.
    pub uid: u32,
    /// Start relative to the trace's origin, in the trace's time unit.
    pub start: i64,
}
