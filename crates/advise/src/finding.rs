//! What is found: where time is lost, how much of it would come back, how that is known and what to do.

use serde::{Deserialize, Serialize};
use sheets::numbers::{decimal, duration};

/// The part of the window that a finding's time comes from. The parts of [`gpu_timeline::Breakdown`], and what lies
/// outside the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// Time with a computation.
    Computation,
    /// Time with communication alone.
    ExposedCommunication,
    /// Time with copies alone.
    ExposedCopy,
    /// Time with nothing.
    Idle,
    /// Time without an event in which the device may have been busy.
    NotRecorded,
    /// No time: the finding is about the recording itself.
    Recording,
}

impl Bucket {
    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Bucket::Computation => "computation",
            Bucket::ExposedCommunication => "exposed communication",
            Bucket::ExposedCopy => "exposed copy",
            Bucket::Idle => "idle",
            Bucket::NotRecorded => "not recorded",
            Bucket::Recording => "recording",
        }
    }
}

/// From where on something is worth a finding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Least share of the window that a finding gives back, 0 to 1.
    pub least_share: f64,
    /// The same of time that gives less back, because the device would wait for its host instead.
    pub least_share_off_path: f64,
    /// A call is slow from so many times its target time on.
    pub slow_from: f64,
    /// A kernel is short below so many µs.
    pub short_kernel_us: f64,
    /// Share of short kernels among all from which on they are a finding.
    pub short_kernels_from: f64,
    /// A host that launches nothing for so many µs was held.
    pub long_hold_us: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            least_share: 0.005,
            least_share_off_path: 0.05,
            slow_from: 1.3,
            short_kernel_us: 10.0,
            short_kernels_from: 0.2,
            long_hold_us: 1000.0,
        }
    }
}

/// Time that a change would give back, in µs of the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// Surely.
    pub low_us: f64,
    /// Probably.
    pub mid_us: f64,
    /// At most.
    pub high_us: f64,
}

impl Gain {
    /// For people: `up to 93.00 ms recoverable`.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("up to {} recoverable", duration(self.high_us))
    }

    pub(crate) fn scaled(self, factor: f64) -> Self {
        Gain { low_us: self.low_us * factor, mid_us: self.mid_us * factor, high_us: self.high_us * factor }
    }
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// A guess from names or usual values.
    Low,
    /// A model's figure, or what shapes suggest.
    Medium,
    /// Measured in the recording itself.
    High,
}

impl Confidence {
    /// Its name in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// A row of the report that shows what a finding rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceRow {
    /// The sheet.
    pub table: String,
    /// The column that names the row, and what stands there.
    pub key: (String, String),
}

/// Kernels of a finding that have one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelShare {
    /// Their name.
    pub name: String,
    /// How many.
    pub count: usize,
    /// Their time in µs.
    pub time_us: f64,
}

/// Another explanation of the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// The rule that has it.
    pub rule: String,
    /// What it would call the finding.
    pub what: String,
    /// What it alone would give back, in µs.
    pub mid_us: f64,
}

/// What is wrong with a recording, so that a figure may be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Doubt {
    /// The rule of `tracelens doctor` that says so.
    pub rule: String,
    /// What it says.
    pub text: String,
}

/// Something to change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its place, from 1.
    pub rank: usize,
    /// The rule that found it, such as `IDLE-SYNC`.
    pub rule: String,
    /// What is wrong, in a line.
    pub what: String,
    /// Where: operator, kernels or call, with its arguments.
    pub subject: String,
    /// Which part of the window its time comes from, or most of it.
    pub bucket: Bucket,
    /// Whether nearly all of its time is of warm-up steps.
    #[serde(default)]
    pub in_warm_up: bool,
    /// Time of the window that it is about, in µs, of which [`Finding::gain`] is a part; `None` where no figure is known.
    pub amount_us: Option<f64>,
    /// That in percent of the window.
    pub amount_percent: Option<f64>,
    /// What the change would give back; `None` where no figure is known.
    pub gain: Option<Gain>,
    /// [`Gain::mid_us`] in percent of the window.
    pub share_percent: Option<f64>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Of a gain in which device events get shorter: the share of it that the device is done earlier by, 0 to 1; for the
    /// rest it would wait longer for its host. The gain is only that share.
    pub on_path: Option<f64>,
    /// What the figure rests on, a sentence each.
    pub evidence: Vec<String>,
    /// Rows of the report that show it.
    pub rows: Vec<EvidenceRow>,
    /// Events of the recording that show it, the ones with the most time first; a few of them.
    pub events: Vec<u32>,
    /// The kernels, the most time first; a few of them.
    pub kernels: Vec<KernelShare>,
    /// Module of the program with the most of the time.
    pub module: Option<String>,
    /// Line of the program with the most of the time.
    pub call_site: Option<String>,
    /// What to do.
    pub remedy: String,
    /// Other explanations of the same time.
    pub alternatives: Vec<Alternative>,
    /// Why the figure may be wrong.
    pub doubts: Vec<Doubt>,
}

impl Finding {
    /// A finding without figures and evidence.
    #[must_use]
    pub fn new(
        rule: impl Into<String>,
        what: impl Into<String>,
        subject: impl Into<String>,
        bucket: Bucket,
    ) -> Self {
        Finding {
            rank: 0,
            rule: rule.into(),
            what: what.into(),
            subject: subject.into(),
            bucket,
            in_warm_up: false,
            amount_us: None,
            amount_percent: None,
            gain: None,
            share_percent: None,
            confidence: Confidence::Low,
            on_path: None,
            evidence: Vec::new(),
            rows: Vec::new(),
            events: Vec::new(),
            kernels: Vec::new(),
            module: None,
            call_site: None,
            remedy: String::new(),
            alternatives: Vec::new(),
            doubts: Vec::new(),
        }
    }

    /// The time that it is about, for people: `357.0 ms (5.4%)`; empty where no figure is known.
    #[must_use]
    pub fn amount_in_words(&self) -> String {
        let figures = self.amount_us.zip(self.amount_percent);
        figures.map_or_else(String::new, |(time, percent)| {
            format!("{} ({}%)", duration(time), decimal(percent, 1))
        })
    }

    /// Whether its time is that of a first use or of warm-up, which does not come again in the same run.
    #[must_use]
    pub fn happens_once(&self) -> bool {
        self.rule == FIRST_USE || self.in_warm_up
    }

    /// Whether a pattern such as `IDLE-*` means the finding's rule.
    #[must_use]
    pub fn is_of(&self, pattern: &str) -> bool {
        means_rule(pattern, &self.rule)
    }
}

/// The rule about the first use of something.
pub(crate) const FIRST_USE: &str = "IDLE-INIT";

/// Whether a pattern means a rule: it is the rule's name, or its start with `*` behind it, such as `IDLE-*`.
#[must_use]
pub fn means_rule(pattern: &str, rule: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => rule.starts_with(start),
        None => rule == pattern,
    }
}
