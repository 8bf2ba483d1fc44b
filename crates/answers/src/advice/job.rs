//! What to change in a job of many ranks: who holds the others back, and exposed communication.

use advise::{Advice, Bucket, Confidence, EvidenceRow, Finding, Gain, Limits};
use multi_rank::{JobAnalysis, JobFinding};
use sheets::names;
use sheets::numbers::{counted, duration};

use super::facts::share_of;

/// The findings of a job; `None` of a single rank or without collectives. Times are per rank.
pub(crate) fn job_advice(analysis: &JobAnalysis, limits: &Limits) -> Option<Advice> {
    let found = JobFinding::new(analysis)?;
    let ranks = found.ranks.max(1) as f64;
    let us = |time: i64| time as f64 / 1e3;
    let window = us(found.device) / ranks;
    let (communication, exposed) = (us(found.communication) / ranks, us(found.exposed_communication) / ranks);
    let mut left = exposed;
    let mut findings = Vec::new();
    for straggler in &found.stragglers {
        // Whoever is late keeps all others waiting in exposed communication, and no longer than that.
        let lateness = us(straggler.lateness);
        let mid = lateness.min(left);
        left -= mid;
        let cause = straggler.cause.as_ref().map(|(kind, what)| match what {
            Some(what) => format!("{}: {what}", kind.as_str()),
            None => kind.as_str().to_owned(),
        });
        let mut evidence = vec![format!(
            "last to enter {} of {}; in total {} later than the median rank",
            straggler.late,
            counted(straggler.collectives as usize, "collective", "collectives"),
            duration(lateness)
        )];
        evidence.extend(straggler.since.map(|step| format!("from step {step} on")));
        findings.push(Finding {
            amount_us: Some(lateness.min(exposed)),
            gain: Some(Gain { low_us: 0.5 * mid, mid_us: mid, high_us: mid }),
            confidence: if cause.is_some() { Confidence::High } else { Confidence::Medium },
            evidence,
            rows: vec![EvidenceRow {
                table: names::STRAGGLER_CAUSES.to_owned(),
                key: ("rank".to_owned(), straggler.rank.to_string()),
            }],
            remedy: "balance work across ranks and find what delays this one: run tracelens report on its \
                recording, and check its host's clock frequencies and links"
                .to_owned(),
            ..Finding::new(
                "COMM-SKEW",
                "a straggler keeps the other ranks waiting in collectives",
                format!(
                    "rank {}{}",
                    straggler.rank,
                    cause.map_or_else(String::new, |cause| format!(", {cause}"))
                ),
                Bucket::ExposedCommunication,
            )
        });
    }
    findings.push(Finding {
        amount_us: Some(exposed),
        gain: Some(Gain { low_us: 0.0, mid_us: 0.5 * left, high_us: left }),
        confidence: Confidence::Medium,
        evidence: vec![format!(
            "{} of {} communication per rank is exposed, including waits for late ranks; the gain excludes waits for \
             stragglers",
            duration(exposed),
            duration(communication)
        )],
        remedy:
            "start collectives earlier, on their own stream, in chunks that computation can hide; to find \
                 slow ones, sort the sheet nccl_summary_implicit_sync by bandwidth"
                .to_owned(),
        ..Finding::new(
            "COMM-EXPOSED",
            "exposed communication",
            format!("{} ranks", found.ranks),
            Bucket::ExposedCommunication,
        )
    });
    findings.retain(|finding| share_of(finding, window) >= limits.least_share);
    // What a job knows of its ranks does not tell copies from computation.
    Some(Advice::from_findings(window, Vec::new(), findings))
}
