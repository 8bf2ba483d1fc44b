//! What to change in a job of many ranks: who holds the others back, and exposed communication.

use advise::{Advice, Bucket, Confidence, EvidenceRow, Finding, Gain, Limits, Message, Pace};
use multi_rank::{JobAnalysis, JobFinding};
use perf_models::{Device, architecture_of_device};
use sheets::names;
use sheets::numbers::{bytes, counted, duration};

use super::facts::share_of;

/// Collectives of one kind and size that are far below the speed of their link although all ranks have entered.
struct SlowExchange {
    message: Message,
    count: usize,
    /// Sum of the times.
    total_us: f64,
    least_us: f64,
}

impl SlowExchange {
    /// Those of a job within its hosts, of all groups of a size together, most time beyond the usual first.
    fn of_job(analysis: &JobAnalysis) -> Vec<Self> {
        let us = |time: i64| time as f64 / 1e3;
        let exchanges = analysis.local_exchanges().filter_map(|found| {
            let device = Device { name: found.device_name, ..Device::default() };
            let bytes = found.bytes as f64;
            let message = Message {
                name: found.collective.to_owned(),
                bytes,
                bus_bytes: bytes * found.bus_factor,
                devices: found.ranks,
                link: architecture_of_device(&device)?.group_link(found.ranks)?,
            };
            let (total_us, least_us) = (us(found.total), us(found.least));
            Some(SlowExchange { message, count: found.count, total_us, least_us })
        });
        let mut slow: Vec<Self> = Vec::new();
        for exchange in exchanges {
            match slow.iter_mut().find(|known| known.message == exchange.message) {
                Some(known) => {
                    known.count += exchange.count;
                    known.total_us += exchange.total_us;
                    known.least_us = known.least_us.min(exchange.least_us);
                }
                None => slow.push(exchange),
            }
        }
        slow.retain(|found| found.message.pace(found.mean_us()) == Pace::Slow);
        slow.sort_by(|a, b| b.excess_us().total_cmp(&a.excess_us()));
        slow
    }

    fn mean_us(&self) -> f64 {
        self.total_us / self.count as f64
    }

    /// Time beyond the usual, on one rank of each group.
    fn excess_us(&self) -> f64 {
        self.total_us - self.count as f64 * self.message.usual_us()
    }

    fn subject(&self) -> String {
        format!("{} of {}", self.message.name, bytes(self.message.bytes as i64))
    }

    fn bandwidth_in_words(&self) -> String {
        self.message.bandwidth_in_words(self.count, self.mean_us(), self.least_us)
    }
}

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
    for slow in SlowExchange::of_job(analysis) {
        // What ranks outside of the group do meanwhile is not told: the mean over all ranks.
        let excess = slow.excess_us() * slow.message.devices as f64 / ranks;
        let mid = excess.min(left);
        left -= mid;
        findings.push(Finding {
            amount_us: Some(excess.min(exposed)),
            gain: Some(Gain { low_us: 0.5 * mid, mid_us: mid, high_us: mid }),
            confidence: Confidence::Medium,
            evidence: vec![format!("after the last rank has entered, {}", slow.bandwidth_in_words())],
            rows: vec![EvidenceRow {
                table: names::GROUP_SUMMARY.to_owned(),
                key: ("collective".to_owned(), slow.message.name.clone()),
            }],
            remedy: "check the topology (nvidia-smi topo -m, rocm-smi --showtopo) and the library's choices \
                     (NCCL_DEBUG=INFO)"
                .to_owned(),
            ..Finding::new(
                "COMM-SLOW",
                "collectives far below link speed once all ranks have entered",
                slow.subject(),
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
