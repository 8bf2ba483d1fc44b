//! A rule looks at the facts and claims time of them; the advice decides who gets what two rules claim.

use std::sync::OnceLock;

use gpu_timeline::{Activity, WaitCause};
use hashbrown::HashMap;
use perf_models::{CopyDirection, KernelWords};

use crate::facts::{Copied, Facts, Program, SheetColumn, Work};
use crate::finding::{Bucket, Confidence, EvidenceRow, Limits};
use crate::late_launches::{LateLaunch, late_launches};

/// A rule: what it looks for, and the time of the recording that it claims. Those of this crate are in [`crate::rule_names`];
/// [`crate::Advice::with_rules`] takes others.
///
/// ```
/// use advise::{Advice, Claim, Facts, Inspection, Limits, Program, Rule};
///
/// /// Copies that the program waits for in its debugging mode.
/// struct DebugCopies;
///
/// impl Rule for DebugCopies {
///     fn id(&self) -> &'static str {
///         "DEBUG-COPIES"
///     }
///
///     fn what(&self) -> &'static str {
///         "copies of the debugging mode"
///     }
///
///     fn remedy(&self, _: Program) -> &'static str {
///         "Run with DEBUG=0."
///     }
///
///     fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
///         let is_debugging = |&work: &u32| look.name_of(work).starts_with("debug_");
///         let works: Vec<u32> = (0..look.facts.works.len() as u32).filter(is_debugging).collect();
///         let parts = look.tail_parts(&works, i64::MAX);
///         if parts.is_empty() { Vec::new() } else { vec![Claim::new("debug_* kernels", parts)] }
///     }
/// }
///
/// let advice = Advice::with_rules(&Facts::default(), &Limits::default(), &(), &[&DebugCopies]);
/// assert!(advice.findings.iter().all(|finding| finding.rule != "DEBUG-COPIES"));
/// ```
pub trait Rule: Sync {
    /// Its identifier, such as `IDLE-SYNC`.
    fn id(&self) -> &'static str;
    /// What it looks for, in a line.
    fn what(&self) -> &'static str;
    /// What to do about it.
    fn remedy(&self, program: Program) -> &'static str;
    /// What it finds.
    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim>;
}

/// The facts with what several rules make of them.
pub struct Inspection<'f> {
    /// The facts.
    pub facts: &'f Facts,
    /// From where on something is worth a finding.
    pub limits: &'f Limits,
    /// By call: positions of its device events.
    pub works_of: Vec<Vec<u32>>,
    /// Positions of the device events of each queue, by start.
    pub streams: Vec<Vec<u32>>,
    /// By name: what it says.
    named: Vec<KernelWords>,
    /// By device event: the stretch without any that it ended.
    idle_before: Vec<Option<u32>>,
    late_launches: OnceLock<Vec<LateLaunch>>,
    rows: OnceLock<Vec<Vec<u32>>>,
}

impl<'f> Inspection<'f> {
    pub(crate) fn new(facts: &'f Facts, limits: &'f Limits) -> Self {
        let mut works_of = vec![Vec::new(); facts.calls.len()];
        let mut streams: Vec<Vec<u32>> = Vec::new();
        let mut known: HashMap<(Option<i64>, Option<i64>), usize> = HashMap::new();
        for (work, position) in facts.works.iter().zip(0..) {
            let stream = *known.entry((work.event.device, work.event.stream)).or_insert(streams.len());
            if stream == streams.len() {
                streams.push(Vec::new());
            }
            streams[stream].push(position);
            if let Some(call) = work.call {
                works_of[call as usize].push(position);
            }
        }
        let mut idle_before = vec![None; facts.works.len()];
        for (idle, position) in facts.idle.iter().zip(0..) {
            idle_before[idle.event as usize] = Some(position);
        }
        let named = facts.names.iter().map(|name| KernelWords::from_name(name)).collect();
        Inspection {
            facts,
            limits,
            works_of,
            streams,
            named,
            idle_before,
            late_launches: OnceLock::new(),
            rows: OnceLock::new(),
        }
    }

    pub(crate) fn named(&self, name: u32) -> KernelWords {
        self.named[name as usize]
    }

    /// The stretch without any work that a device event ended.
    pub(crate) fn idle_before(&self, work: u32) -> Option<u32> {
        self.idle_before[work as usize]
    }

    /// The same, where the device took that time between two kernels that it had.
    pub(crate) fn wait_before(&self, work: u32) -> Option<u32> {
        self.idle_before(work).filter(|&idle| self.facts.idle[idle as usize].cause == WaitCause::Kernel)
    }

    /// The name of a device event.
    pub fn name_of(&self, work: u32) -> &'f str {
        &self.facts.names[self.work(work).name as usize]
    }

    /// A device event, by its position.
    pub fn work(&self, work: u32) -> &'f Work {
        &self.facts.works[work as usize]
    }

    /// The waits for launches, divided among what held the host.
    pub fn late_launches(&self) -> &[LateLaunch] {
        self.late_launches.get_or_init(|| late_launches(self.facts, self.limits))
    }

    /// The rows of calls with one kernel each, which follow each other on a queue.
    pub(crate) fn rows(&self) -> &[Vec<u32>] {
        self.rows.get_or_init(|| rows(self))
    }

    /// The device events of a call, where all of them compute.
    pub fn kernels(&self, call: u32) -> Option<&[u32]> {
        let works = self.works_of[call as usize].as_slice();
        let computes = |&work: &u32| self.work(work).event.activity == Activity::Computation;
        (!works.is_empty() && works.iter().all(computes)).then_some(works)
    }

    /// So much of the time of these device events: they go from the last one on until that is reached.
    pub fn tail_parts(&self, works: &[u32], time: i64) -> Vec<Part> {
        let mut left = time;
        let part = |&work: &u32| {
            let mid = self.work(work).duration().min(left);
            left -= mid;
            Part { slot: Slot::Work(work), mid }
        };
        works.iter().rev().map(part).collect()
    }

    /// So much of a call's time, divided among its device events by their lengths.
    pub fn divided(&self, works: &[u32], time: i64) -> Vec<Part> {
        let all: i64 = works.iter().map(|&work| self.work(work).duration()).sum();
        let share = |work: u32| self.work(work).duration() as f64 / all.max(1) as f64;
        let part =
            |&work: &u32| Part { slot: Slot::Work(work), mid: (time as f64 * share(work)).round() as i64 };
        works.iter().map(part).collect()
    }
}

/// A gap in µs up to which calls follow each other.
const LONGEST_GAP_US: f64 = 50.0;

/// The rows of two calls and more. The device events of a call in a row follow each other, too, such as a product and what
/// clears its workspace; none of them leaves the device.
fn rows(look: &Inspection<'_>) -> Vec<Vec<u32>> {
    let gap = look.facts.units(LONGEST_GAP_US);
    let stays = |&work: &u32| {
        let work = look.work(work);
        let is_within = |copy: &Copied| copy.direction == CopyDirection::WithinDevice;
        work.event.activity != Activity::Communication && work.copy.as_ref().is_none_or(is_within)
    };
    let mut rows = Vec::new();
    for stream in &look.streams {
        let mut row: Vec<u32> = Vec::new();
        let mut end = i64::MIN;
        let call_of = |work: u32| look.work(work).call;
        for works in stream.chunk_by(|&a, &b| call_of(a).is_some() && call_of(a) == call_of(b)) {
            let is_whole = |&call: &u32| look.works_of[call as usize] == works && works.iter().all(stays);
            let call = call_of(works[0]).filter(is_whole);
            if look.work(works[0]).event.span.start > end.saturating_add(gap) || call.is_none() {
                rows.extend(Some(std::mem::take(&mut row)).filter(|row| row.len() > 1));
            }
            row.extend(call);
            end = look.work(works[works.len() - 1]).event.span.end;
        }
        rows.extend(Some(row).filter(|row| row.len() > 1));
    }
    rows
}

/// Something whose time can be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// A device event, by position: time charged to it.
    Work(u32),
    /// A stretch without any, by position.
    Idle(u32),
}

/// Time that a change would probably give back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Of what.
    pub slot: Slot,
    /// In the recording's unit.
    pub mid: i64,
}

/// What a rule found.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Which part of the window it is about, where it has no time of its own; otherwise the time says it.
    pub bucket: Option<Bucket>,
    /// Where: operator, kernels or call.
    pub subject: String,
    /// The time; empty where no figure is known.
    pub parts: Vec<Part>,
    /// What surely comes back, as a multiple of the probable.
    pub low: f64,
    /// What may come back at most, as a multiple of the probable.
    pub high: f64,
    /// How sure it is.
    pub confidence: Confidence,
    /// What the figure rests on, a sentence each.
    pub evidence: Vec<String>,
    /// Rows of the report that show it.
    pub rows: Vec<EvidenceRow>,
    /// Calls of the host that show it, by their numbers in the recording; those of the device follow from the parts.
    pub events: Vec<u32>,
    /// Share of the window that makes it worth saying although no time is known.
    pub worth: f64,
    /// Time of the window that it is about, where nobody knows what would come back.
    pub amount: Option<i64>,
    /// Whether none of the device events is launched any more, although others take a part of their time.
    pub removes_launches: bool,
    /// What to do about it, where that is not what the [rule](Rule::remedy) says.
    pub remedy: Option<&'static str>,
}

impl Claim {
    /// A claim of these parts, of which three quarters to all of it come back where the middle is seven eighths.
    pub fn new(subject: impl Into<String>, parts: Vec<Part>) -> Self {
        Claim {
            bucket: None,
            subject: subject.into(),
            parts,
            low: 0.75 / MID,
            high: 1.0 / MID,
            confidence: Confidence::High,
            evidence: Vec::new(),
            rows: Vec::new(),
            events: Vec::new(),
            worth: 0.0,
            amount: None,
            removes_launches: false,
            remedy: None,
        }
    }

    /// Something to know that has no time of its own.
    pub fn without_time(bucket: Bucket, subject: impl Into<String>) -> Self {
        Claim { bucket: Some(bucket), worth: 1.0, ..Claim::new(subject, Vec::new()) }
    }

    /// About so much time of the window, of which nobody knows what would come back.
    #[must_use]
    pub fn with_time(mut self, time: i64) -> Self {
        self.amount = Some(time);
        self
    }

    /// As sure as this.
    #[must_use]
    pub fn with_confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }

    /// With a sentence that the figure rests on.
    #[must_use]
    pub fn with_evidence(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    /// With the row of the report that has this value, where the report has the sheet.
    #[must_use]
    pub fn with_row(mut self, sheet: Option<SheetColumn>, value: &str) -> Self {
        let row = |(sheet, column): SheetColumn| EvidenceRow {
            table: sheet.to_owned(),
            key: (column.to_owned(), value.to_owned()),
        };
        self.rows.extend(sheet.map(row));
        self
    }

    /// With the least and the most that comes back, as multiples of the probable.
    #[must_use]
    pub fn with_range(mut self, low: f64, high: f64) -> Self {
        (self.low, self.high) = (low, high);
        self
    }

    /// With the calls of the host that show it.
    #[must_use]
    pub fn with_events(mut self, events: impl IntoIterator<Item = u32>) -> Self {
        self.events.extend(events);
        self
    }

    /// The probable time, in the recording's unit.
    pub fn mid(&self) -> i64 {
        self.parts.iter().map(|part| part.mid).sum()
    }
}

/// Of time that a change takes away whole, what probably comes back: the middle of 75, 87.5 and 100 percent.
pub(crate) const MID: f64 = 0.875;

/// The part of a time that probably comes back.
#[must_use]
pub fn probable(time: i64) -> i64 {
    (time as f64 * MID).round() as i64
}
