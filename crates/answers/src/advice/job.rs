//! What to change in a job of many ranks: who holds the others back, and exposed communication.

use advise::{Advice, Bucket, Confidence, EvidenceRow, Finding, Gain, Limits};
use multi_rank::{JobAnalysis, JobFinding};
use sheets::names;
use sheets::numbers::{counted, duration};

use super::facts::share_of;

/// The findings of a job; `None` of a single rank or without collectives. Times are per rank.
pub(crate) fn of_job(analysis: &JobAnalysis, limits: &Limits) -> Option<Advice> {
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
            "enters {} of {} last, {} later than the middle rank in all",
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
            remedy: "give the ranks equal work, and look at what this rank does in that time: tracelens report of its own \
                     recording, clocks and links of its host"
                .to_owned(),
            ..Finding::new(
                "COMM-SKEW",
                "the other ranks wait in collectives for one that is late",
                format!("rank {}{}", straggler.rank, cause.map_or_else(String::new, |cause| format!(", {cause}"))),
                Bucket::ExposedCommunication,
            )
        });
    }
    findings.push(Finding {
        amount_us: Some(exposed),
        gain: Some(Gain { low_us: 0.0, mid_us: 0.5 * left, high_us: left }),
        confidence: Confidence::Medium,
        evidence: vec![format!(
            "{} of {} of communication a rank are exposed, waiting for late ranks included",
            duration(exposed),
            duration(communication)
        )],
        remedy: "start collectives earlier and on a stream of their own, in pieces that computation can hide; sort them by \
                 bandwidth in the sheet nccl_summary_implicit_sync"
            .to_owned(),
        ..Finding::new(
            "COMM-EXPOSED",
            "exposed communication beyond the waits for late ranks",
            format!("{} ranks", found.ranks),
            Bucket::ExposedCommunication,
        )
    });
    findings.retain(|finding| share_of(finding, window) >= limits.least_share);
    // What a job knows of its ranks does not tell copies from computation.
    Some(Advice::of_findings(window, Vec::new(), findings))
}
