//! Rules, what they find, and what that does to figures.

use std::fmt;

use miette::Diagnostic;
use sheets::Figure;
use trace_ingest::{EventId, RecordingKind};

use crate::facts::{Facts, Tally};

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

/// What a rule that fires does to figures of reports.
#[derive(Clone, Copy, Debug)]
pub enum Harm {
    /// Nothing.
    None,
    /// They are not to be relied on.
    Unreliable(&'static [Figure]),
    /// They are missing: columns are empty and sheets are left out.
    Missing(&'static [Figure]),
    /// Some are missing, and those that are left are not to be relied on.
    Partial(&'static [Figure]),
}

impl Harm {
    /// The figures.
    #[must_use]
    pub const fn figures(self) -> &'static [Figure] {
        match self {
            Harm::None => &[],
            Harm::Unreliable(figures) | Harm::Missing(figures) | Harm::Partial(figures) => figures,
        }
    }

    /// Whether figures that are there are not to be relied on.
    #[must_use]
    pub const fn makes_unreliable(self) -> bool {
        matches!(self, Harm::Unreliable(_) | Harm::Partial(_))
    }

    /// Whether it explains that figures are missing.
    #[must_use]
    pub const fn explains_absence(self) -> bool {
        matches!(self, Harm::Missing(_) | Harm::Partial(_))
    }
}

/// Something that can be wrong with a recording.
#[derive(Debug)]
pub struct Rule {
    /// Short name, such as `W2`: its group (F file, R what was recorded, W window, L loss, C clocks, S streams, I ids,
    /// O overhead, N names, P `.pftrace`) and its number there.
    pub id: &'static str,
    /// What it looks for.
    pub looks_for: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// What it does to figures of reports.
    pub harm: Harm,
    /// Effect on a figure of a report's first page, if any.
    pub consequence: Option<&'static str>,
    /// Profilers other than PyTorch's to which it applies, too.
    pub elsewhere: &'static [Elsewhere],
    pub(crate) examine: fn(&Facts<'_>) -> Verdict,
}

impl Rule {
    /// Sheets and figures that cannot be relied on, or are missing, because of it.
    pub fn spoils(&self) -> impl Iterator<Item = &'static str> {
        self.harm.figures().iter().map(|figure| figure.name())
    }

    /// What to do, and what it does to a figure of a report's first page, where this recorder recorded; `None` where the rule
    /// is not about its recordings.
    pub(crate) fn advice(
        &self,
        recorder: Option<RecordingKind>,
    ) -> Option<(&'static str, Option<&'static str>)> {
        let Some(recorder) = recorder.filter(|&recorder| recorder != RecordingKind::Trace) else {
            return Some((self.remedy, self.consequence));
        };
        let elsewhere = self.elsewhere.iter().find(|elsewhere| elsewhere.recorders.contains(&recorder))?;
        Some((elsewhere.remedy.unwrap_or(self.remedy), elsewhere.consequence.or(self.consequence)))
    }

    /// Whether it compares the clocks of host and device.
    pub(crate) fn is_about_clocks(&self) -> bool {
        self.harm.figures().contains(&Figure::QueueTimes)
    }
}

/// What a rule says of recordings of other profilers than PyTorch's. `None` says the same as of PyTorch's.
#[derive(Debug)]
pub struct Elsewhere {
    /// These profilers.
    pub recorders: &'static [RecordingKind],
    /// What to do there.
    pub remedy: Option<&'static str>,
    /// What it does there to a figure of the first page.
    pub consequence: Option<&'static str>,
}

/// What a rule says of a recording.
pub(crate) enum Verdict {
    /// Nothing is wrong. This many events look like it but have a harmless explanation.
    Sound {
        guarded: u64,
    },
    Fires(Found),
    /// Why the recording does not say.
    NotExamined(&'static str),
}

impl Verdict {
    /// The same where the devices are NVIDIA's or AMD's. Recorders of other devices do as a rule what is a fault of CUPTI or
    /// ROCm.
    pub(crate) fn unless_of_foreign_device(self, facts: &Facts<'_>) -> Verdict {
        match self {
            Verdict::Fires(found) if facts.has_foreign_device() => {
                Verdict::Sound { guarded: found.count + found.guarded }
            }
            other => other,
        }
    }
}

/// The evidence of a rule that fires, as [`Finding`] has it.
pub(crate) struct Found {
    pub(crate) severity: Severity,
    pub(crate) count: u64,
    pub(crate) of: Option<u64>,
    pub(crate) time: Option<i64>,
    pub(crate) guarded: u64,
    pub(crate) first: Option<EventId>,
    pub(crate) text: String,
}

impl Found {
    pub(crate) fn new(severity: Severity, count: u64, text: impl Into<String>) -> Self {
        Found { severity, count, of: None, time: None, guarded: 0, first: None, text: text.into() }
    }

    /// With the count, the time and the first event of a tally.
    pub(crate) fn tally(severity: Severity, tally: &Tally, text: impl Into<String>) -> Self {
        let time = (tally.time > 0).then_some(tally.time);
        Found { time, first: tally.first, ..Found::new(severity, tally.count, text) }
    }
}

impl From<Option<Found>> for Verdict {
    fn from(found: Option<Found>) -> Self {
        found.map_or(Verdict::Sound { guarded: 0 }, Verdict::Fires)
    }
}

/// A rule that fires, with its evidence.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// What to do about it.
    pub remedy: &'static str,
    /// Effect on a figure of a report's first page, if any.
    pub consequence: Option<&'static str>,
    /// How much it matters.
    pub severity: Severity,
    /// How many events (or whatever the text counts) are affected.
    pub count: u64,
    /// Out of how many, where that is known.
    pub of: Option<u64>,
    /// Time that is affected, in the trace's time unit, where the rule measures one.
    pub time: Option<i64>,
    /// How many more look alike but have a harmless explanation.
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
        Some(Box::new(self.remedy))
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
