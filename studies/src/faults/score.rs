//! What findings are worth: which faults they name, what they say that nobody planted, and how far their gains are from
//! the truth.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::cases::Case;
use super::kinds::{Effect, KINDS};
use crate::gen_trace::tuned::Program;

/// A fault of this share of the span has to be found.
const REQUIRED_SHARE: f64 = 0.03;
/// By a finding of at least this share.
const FINDING_COUNTS: f64 = 0.01;
/// A finding of this share that nobody planted is wrong.
const FALSE_FINDING: f64 = 0.03;
/// And one of this share is, in a trace without faults.
const CLEAN_FALSE_FINDING: f64 = 0.01;
/// A gain this near to the truth is right.
const GAIN_WITHIN: f64 = 0.2;

/// A finding about a trace.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    /// `IDLE-SYNC` and the like.
    pub(crate) rule: String,
    /// Microseconds that could be saved; 0 of a warning.
    pub(crate) mid_us: f64,
    /// The same as a share of the recording's time, 0 to 1.
    pub(crate) share: f64,
}

/// Counts of right and wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Tally {
    right: u32,
    all: u32,
}

impl Tally {
    fn count(&mut self, is_right: bool) {
        self.right += u32::from(is_right);
        self.all += 1;
    }

    fn and(self, other: Tally) -> Tally {
        Tally { right: self.right + other.right, all: self.all + other.all }
    }

    fn share(self) -> f64 {
        if self.all == 0 { 1.0 } else { f64::from(self.right) / f64::from(self.all) }
    }

    fn text(self) -> String {
        match self.all {
            0 => "–".into(),
            all => format!("{}/{all} ({:.0}%)", self.right, 100.0 * self.share()),
        }
    }
}

/// Scores of many cases.
#[derive(Debug, Default)]
pub(crate) struct Scores {
    cases: u32,
    clean: Tally,
    /// By the kind's place: found; gain right of those found by a rule with a number; sum of relative errors.
    kinds: BTreeMap<usize, KindScore>,
    /// By rule: findings that name a planted fault.
    precision: BTreeMap<String, Tally>,
    /// What to look at.
    notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default)]
struct KindScore {
    found: Tally,
    gain: Tally,
    error: f64,
}

impl Scores {
    /// Holds the findings about a case against its truth.
    pub(crate) fn judge(&mut self, number: u64, case: &Case, findings: &[Found]) {
        self.cases += 1;
        if case.faults.is_empty() {
            let wrong: Vec<&Found> =
                findings.iter().filter(|found| found.share > CLEAN_FALSE_FINDING).collect();
            self.clean.count(wrong.is_empty());
            for found in wrong {
                self.note_finding(number, case, "clean, but", found);
            }
        }
        for planted in &case.faults {
            let kind = planted.kind();
            let share = case.share(planted.gain_ns);
            let counts = |found: &&Found| {
                kind.is_expected(&found.rule)
                    && (found.share >= FINDING_COUNTS || !matches!(kind.effect, Effect::Slower(_)))
            };
            let named: Vec<&Found> = findings.iter().filter(counts).collect();
            let is_required = share >= REQUIRED_SHARE || kind.effect == Effect::Recording;
            let scores = self.kinds.entry(planted.fault as usize).or_default();
            if is_required {
                scores.found.count(!named.is_empty());
            }
            if is_required && named.is_empty() {
                self.notes.push(format!(
                    "case {number} {}: missed {} of {:.1}%",
                    about(case),
                    kind.name,
                    100.0 * share
                ));
                continue;
            }
            if is_required && matches!(kind.effect, Effect::Slower(_)) {
                // A rule does not say which fault it means: what it claims is held against all that it can mean.
                let meant: Vec<_> =
                    case.faults.iter().filter(|other| kind.shares_rule(other.kind())).collect();
                let is_meant =
                    |found: &&Found| meant.iter().any(|other| other.kind().is_expected(&found.rule));
                let claimed: f64 = findings.iter().filter(is_meant).map(|found| found.mid_us).sum();
                let truth = meant.iter().map(|other| other.gain_ns).sum::<u64>() as f64 / 1e3;
                let error = (claimed - truth) / truth;
                scores.gain.count(error.abs() <= GAIN_WITHIN);
                scores.error += error.abs();
                if error.abs() > GAIN_WITHIN {
                    self.notes.push(format!(
                        "case {number} {}: {} is worth {truth:.0} µs, claimed {claimed:.0} µs ({:+.0}%)",
                        about(case),
                        kind.name,
                        100.0 * error
                    ));
                }
            }
        }
        if case.faults.is_empty() {
            return;
        }
        for found in findings.iter().filter(|found| found.share >= FALSE_FINDING) {
            let is_right = case.faults.iter().any(|planted| planted.kind().explains(&found.rule));
            self.precision.entry(found.rule.clone()).or_default().count(is_right);
            if !is_right {
                self.note_finding(number, case, "nobody planted", found);
            }
        }
    }

    fn note_finding(&mut self, number: u64, case: &Case, what: &str, found: &Found) {
        let Found { rule, mid_us, share } = found;
        let about = about(case);
        self.notes
            .push(format!("case {number} {about}: {what} {rule} {mid_us:.0} µs ({:.1}%)", 100.0 * share));
    }

    /// Share of the faults that had to be found, and were.
    pub(crate) fn recall(&self) -> f64 {
        self.kinds.values().fold(Tally::default(), |sum, scores| sum.and(scores.found)).share()
    }

    /// Share of the findings that name what was planted.
    pub(crate) fn precision(&self) -> f64 {
        self.precision.values().fold(Tally::default(), |sum, &tally| sum.and(tally)).share()
    }

    /// Share of the gains that are near the truth.
    pub(crate) fn gains(&self) -> f64 {
        self.kinds.values().fold(Tally::default(), |sum, scores| sum.and(scores.gain)).share()
    }

    /// Share of the traces without faults about which nothing was said.
    pub(crate) fn clean(&self) -> f64 {
        self.clean.share()
    }

    /// The scores as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{} cases: recall {:.1}%, precision {:.1}%, gains within 20% {:.1}%, clean traces without findings {}\n",
            self.cases,
            100.0 * self.recall(),
            100.0 * self.precision(),
            100.0 * self.gains(),
            self.clean.text(),
        );
        text.push_str("| fault | expected | found | gain within 20% | mean error of the gain |\n");
        text.push_str("| --- | --- | ---: | ---: | ---: |\n");
        for (place, scores) in &self.kinds {
            let kind = &KINDS[*place];
            let error = match scores.gain.all {
                0 => "–".into(),
                count => format!("{:.0}%", 100.0 * scores.error / f64::from(count)),
            };
            let (found, gain) = (scores.found.text(), scores.gain.text());
            let expected = kind.expected.join(" or ");
            let _ = writeln!(text, "| {} | {expected} | {found} | {gain} | {error} |", kind.name);
        }
        text.push_str("\n| rule | findings of 3% that name a planted fault |\n| --- | ---: |\n");
        for (rule, tally) in &self.precision {
            let _ = writeln!(text, "| {rule} | {} |", tally.text());
        }
        text.push('\n');
        for note in &self.notes {
            let _ = writeln!(text, "- {note}");
        }
        text
    }
}

/// What a case is, in a few words.
pub(crate) fn about(case: &Case) -> String {
    let program = match case.run.program {
        Program::Training => "training",
        Program::Serving => "serving",
    };
    let faults: Vec<String> = case
        .faults
        .iter()
        .map(|planted| format!("{} {:.1}%", planted.kind().name, 100.0 * case.share(planted.gain_ns)))
        .collect();
    let faults = if faults.is_empty() { "clean".into() } else { faults.join(", ") };
    format!("({program}, {:?}: {faults})", case.run.flavour)
}

#[cfg(test)]
mod tests {
    use super::super::cases::Planted;
    use super::*;
    use crate::gen_trace::Flavour;
    use crate::gen_trace::tuned::{Fault, Faults, Run};

    fn case(faults: &[(Fault, u64)]) -> Case {
        let run =
            Run { program: Program::Training, flavour: Flavour::Cuda, seed: 1, faults: Faults::default() };
        let planted = |&(fault, gain_ns): &(Fault, u64)| Planted { fault, asked: 0.0, gain_ns };
        Case { run, faults: faults.iter().map(planted).collect(), span_ns: 1_000_000 }
    }

    fn found(rule: &str, mid_us: f64) -> Found {
        Found { rule: rule.into(), mid_us, share: mid_us / 1e3 }
    }

    fn scores(case: &Case, findings: &[Found]) -> [f64; 4] {
        let mut scores = Scores::default();
        scores.judge(0, case, findings);
        [scores.recall(), scores.precision(), scores.gains(), scores.clean()]
    }

    #[test]
    fn a_fault_is_found_by_its_rule_and_by_no_other() {
        let casts = case(&[(Fault::LateLoader, 100_000)]);
        assert_eq!(scores(&casts, &[found("IDLE-DATA", 110.0)]), [1.0, 1.0, 1.0, 1.0]);
        assert_eq!(scores(&casts, &[found("IDLE-DATA", 130.0)]), [1.0, 1.0, 0.0, 1.0]);
        assert_eq!(scores(&casts, &[found("IDLE-DATA", 9.0)]), [0.0, 1.0, 1.0, 1.0]);
        assert_eq!(scores(&casts, &[found("DTYPE", 110.0)]), [0.0, 0.0, 1.0, 1.0]);
        // Too little to be wrong.
        assert_eq!(scores(&casts, &[found("IDLE-DATA", 110.0), found("DTYPE", 29.0)]), [1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn what_a_rule_claims_is_held_against_all_faults_that_it_can_mean() {
        let both = case(&[(Fault::Item, 100_000), (Fault::TinyReadbacks, 60_000)]);
        assert_eq!(scores(&both, &[found("IDLE-SYNC", 150.0)]), [1.0, 1.0, 1.0, 1.0]);
        assert_eq!(scores(&both, &[found("IDLE-SYNC", 100.0)]), [1.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn a_small_fault_may_be_missed_but_not_be_called_something_else() {
        let small = case(&[(Fault::LateLoader, 20_000)]);
        assert_eq!(scores(&small, &[]), [1.0, 1.0, 1.0, 1.0]);
        assert_eq!(scores(&small, &[found("LAYOUT", 40.0)]), [1.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn a_clean_trace_bears_findings_up_to_one_percent() {
        assert_eq!(scores(&case(&[]), &[found("KERNEL-EFF", 9.9)]), [1.0, 1.0, 1.0, 1.0]);
        assert_eq!(scores(&case(&[]), &[found("KERNEL-EFF", 10.1)]), [1.0, 1.0, 1.0, 0.0]);
    }

    #[test]
    fn warnings_have_no_number() {
        let missing = case(&[(Fault::NoShapes, 0)]);
        assert_eq!(scores(&missing, &[found("MISSING", 0.0)]), [1.0, 1.0, 1.0, 1.0]);
        assert_eq!(scores(&missing, &[]), [0.0, 1.0, 1.0, 1.0]);
        let uneven = case(&[(Fault::UnevenKernel, 100_000)]);
        assert_eq!(scores(&uneven, &[found("VARIANCE", 0.0)]), [1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn tables_name_faults_and_rules() {
        let mut scores = Scores::default();
        scores.judge(4, &case(&[(Fault::LateLoader, 100_000)]), &[found("DTYPE", 50.0)]);
        let text = scores.markdown();
        assert!(text.contains("| late loader | IDLE-DATA | 0/1 (0%) | – | – |"), "{text}");
        assert!(text.contains("| DTYPE | 0/1 (0%) |"), "{text}");
        assert!(
            text.contains("- case 4 (training, Cuda: late loader 10.0%): missed late loader of 10.0%"),
            "{text}"
        );
        assert!(text.contains("nobody planted DTYPE 50 µs (5.0%)"), "{text}");
    }
}
