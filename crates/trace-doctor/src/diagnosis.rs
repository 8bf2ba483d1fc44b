//! All rules, applied to one recording.

use std::cmp::Reverse;
use std::panic::resume_unwind;

use gpu_timeline::SortFew;
use sheets::Figure;
use trace_ingest::TimeUnit;
use trace2tree::TraceTree;

use crate::facts::Facts;
use crate::finding::{Finding, Found, Harm, Place, Rule, Severity, Verdict};
use crate::rules::RULES;

/// Name of the sheet of findings.
pub const SHEET_NAME: &str = "recording";

/// Why rules about PyTorch's profiler do not run.
const WRONG_RECORDER: &str = "the rule does not apply to this profiler";

/// What is wrong with a recording.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// What fires, the worst first, then what affects most time, then in the order of [`RULES`].
    pub findings: Vec<Finding>,
    /// Rules that do not fire because everything they saw has a harmless explanation, with how many events that were.
    pub guarded: Vec<(&'static Rule, u64)>,
    /// Rules that could not run, with the reason.
    pub skipped: Vec<(&'static Rule, &'static str)>,
    /// Events with a length that are in the file, the recording's own span excepted.
    pub spans: u64,
    /// Time from the first start to the last end, in the trace's time unit.
    pub span: i64,
    /// Time in which device events ran, as reports have it, in the trace's time unit.
    pub device_time: i64,
    /// Unit of all times.
    pub time_unit: TimeUnit,
}

impl Diagnosis {
    /// Examines the recording of a tree that was built from all its events. Of what other profilers than PyTorch's recorded,
    /// the rules run that are about such recordings.
    #[must_use]
    pub fn new(tree: &TraceTree) -> Diagnosis {
        let facts = Facts::new(tree);
        let mut diagnosis = Diagnosis {
            spans: facts.census.spans,
            span: facts.span(),
            device_time: facts.device_time(),
            time_unit: facts.trace.time_unit(),
            ..Diagnosis::default()
        };
        let recorder = tree.trace().facts().recorder.kind;
        for (rule, verdict) in RULES.iter().zip(verdicts(&facts)) {
            let (remedy, consequence) = rule.advice(recorder).unwrap_or((rule.remedy, None));
            match verdict {
                Verdict::Sound { guarded: 0 } => {}
                Verdict::Sound { guarded } => diagnosis.guarded.push((rule, guarded)),
                Verdict::NotExamined(reason) => diagnosis.skipped.push((rule, reason)),
                Verdict::Fires(Found { severity, count, of, time, guarded, first, text }) => {
                    let place =
                        |event| Place { uid: facts.events.uid(event), start: facts.events.start(event) };
                    let first = first.map(place);
                    let finding = Finding {
                        rule,
                        remedy,
                        consequence,
                        severity,
                        count,
                        of,
                        time,
                        guarded,
                        first,
                        text,
                    };
                    diagnosis.findings.push(finding);
                }
            }
        }
        diagnosis.findings.sort_few_by_key(|finding| (Reverse(finding.severity), Reverse(finding.time)));
        diagnosis
    }

    /// The severity of the worst finding; `None` without any.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings.first().map(|finding| finding.severity)
    }

    /// Whether graph replays without device events were found (L8).
    #[must_use]
    pub fn reports_lost_replays(&self) -> bool {
        self.findings.iter().any(|finding| finding.rule.id == "L8")
    }

    /// Whether a rule about the clocks of host and device (C1 to C3) could run.
    #[must_use]
    pub fn has_examined_clocks(&self) -> bool {
        let is_skipped = |rule: &Rule| self.skipped.iter().any(|(skipped, _)| skipped.id == rule.id);
        RULES.iter().any(|rule| rule.is_about_clocks() && !is_skipped(rule))
    }

    /// The severity of the worst finding about these clocks; `None` without any.
    #[must_use]
    pub fn worst_about_clocks(&self) -> Option<Severity> {
        let about_clocks = self.findings.iter().filter(|finding| finding.rule.is_about_clocks());
        about_clocks.map(|finding| finding.severity).max()
    }

    /// One line about what makes figures of a report's first page doubtful, if anything does: the worst of it, and the
    /// rules that find more.
    #[must_use]
    pub fn doubts(&self) -> Option<String> {
        self.doubts_by(|finding| finding.consequence)
    }

    /// Whether something makes the time doubtful in which devices were busy.
    #[must_use]
    pub fn doubts_device_time(&self) -> bool {
        const TIMES: [Figure; 4] = [Figure::Everything, Figure::EveryTime, Figure::BusyTime, Figure::Span];
        let harms =
            |finding: &Finding| finding.rule.harm.figures().iter().any(|figure| TIMES.contains(figure));
        self.doubts_by(|finding| finding.consequence.filter(|_| harms(finding))).is_some()
    }

    /// One line about what makes a critical path doubtful, if anything does.
    #[must_use]
    pub fn doubts_about_critical_path(&self) -> Option<String> {
        self.doubts_by(|finding| match finding.rule.harm {
            Harm::Unreliable(harmed) if harmed.contains(&Figure::CriticalPath) => {
                Some("parts of the path may be missing or attributed to the wrong cause")
            }
            harm if harm
                .figures()
                .iter()
                .any(|figure| matches!(figure, Figure::Everything | Figure::EveryTime)) =>
            {
                finding.consequence
            }
            _ => None,
        })
    }

    fn doubts_by(&self, consequence: impl Fn(&Finding) -> Option<&'static str>) -> Option<String> {
        let doubtful = self.findings.iter().filter(|finding| finding.severity >= Severity::Warning);
        let mut doubtful = doubtful.filter_map(|finding| Some((finding, consequence(finding)?)));
        let (finding, consequence) = doubtful.next()?;
        let others: Vec<&str> = doubtful.map(|(other, _)| other.rule.id).collect();
        let also = if others.is_empty() { String::new() } else { format!("; also {}", others.join(", ")) };
        Some(format!(
            "recording: {}: {consequence} ({}{also}; sheet {SHEET_NAME})",
            finding.text, finding.rule.id
        ))
    }
}

/// What each rule says, in their order. Rules do not depend on each other, so they run on as many threads as the tree was
/// built on.
fn verdicts(facts: &Facts<'_>) -> Vec<Verdict> {
    let threads = facts.tree.options().threads.clamp(1, RULES.len());
    let recorder = facts.trace.facts().recorder.kind;
    let verdict = |rule: &Rule| match rule.advice(recorder) {
        Some(_) => (rule.examine)(facts),
        None => Verdict::NotExamined(WRONG_RECORDER),
    };
    // Neighbours in the list cost alike, so each thread takes every so many of them.
    let share =
        |first: usize| -> Vec<Verdict> { RULES.iter().skip(first).step_by(threads).map(verdict).collect() };
    let share = &share;
    let mut shares: Vec<_> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|first| scope.spawn(move || share(first))).collect();
        let own = share(0);
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(others).map(Vec::into_iter).collect()
    });
    (0..RULES.len()).filter_map(|rule| shares[rule % threads].next()).collect()
}
