//! The advice on Tenstorrent operations, as findings like those of other recordings.

use advise::{Advice, Bucket, Confidence, EvidenceRow, Finding, Gain, Limits};
use metal_perf::{Finding as Found, MetalReport, findings};
use sheets::numbers::duration;

use super::facts::share_of;

/// Of what a matrix product takes beyond its roofline, the part that better settings probably give back.
const OF_ROOFLINE: f64 = 0.5;

const HOST: &str = "METAL-HOST";
const GAPS: &str = "METAL-GAPS";
const MATMUL: &str = "METAL-MATMUL";
const MODEL: &str = "METAL-MODEL";

pub(super) const RULES: [&str; 4] = [HOST, GAPS, MATMUL, MODEL];

/// The findings of operations.
pub(crate) fn of_operations(report: &MetalReport, limits: &Limits) -> Advice {
    let (device, gaps) = (report.totals.device_time_us, report.totals.gap_us);
    let window = device + gaps;
    let mut all: Vec<Finding> = findings(report).iter().filter_map(|found| finding(report, found)).collect();
    all.retain(|finding| finding.gain.is_none() || share_of(finding, window) >= limits.least_share);
    Advice::of_findings(window, vec![(Bucket::Computation, device), (Bucket::Idle, gaps)], all)
}

fn finding(report: &MetalReport, found: &Found) -> Option<Finding> {
    let ops = found.ops();
    let id = |&op: &usize| report.ops.get(op).map(|op| op.id.to_string());
    let subject = match ops {
        [op] => report.ops.get(*op).map(|op| format!("{} (ID {})", op.label, op.id)),
        _ => Some(format!("{} operations", ops.len())),
    };
    let gain = |mid_us: f64, low: f64, high_us: f64| Some(Gain { low_us: mid_us * low, mid_us, high_us });
    let text = found.to_string();
    let mut sentences = text.lines().map(|line| line.trim_start_matches("- ").to_owned());
    let (rule, bucket, gain, confidence) = match found {
        Found::HostFallback { host_time_us, .. } => {
            let gain = host_time_us.and_then(|time| gain(0.0, 0.0, time));
            (HOST, Bucket::Idle, gain, Confidence::Medium)
        }
        Found::HighGaps { saving_us, gap_us, .. } => {
            (GAPS, Bucket::Idle, gain(*saving_us, 0.75, gap_us.max(*saving_us)), Confidence::High)
        }
        Found::MatrixProduct { advice, at_most_us, .. } => {
            let most = at_most_us.filter(|_| !advice.is_empty())?;
            (MATMUL, Bucket::Computation, gain(OF_ROOFLINE * most, 0.0, most), Confidence::Low)
        }
        Found::AboveRoofline { .. } => (MODEL, Bucket::Recording, None, Confidence::High),
    };
    let remedy = sentences.next()?;
    let most = gain.map(|gain| format!("at most {} to win", duration(gain.high_us)));
    Some(Finding {
        gain,
        confidence,
        evidence: most.into_iter().chain(sentences).collect(),
        rows: ops
            .iter()
            .take(5)
            .filter_map(|op| Some(EvidenceRow { table: "ops".to_owned(), key: ("ID".to_owned(), id(op)?) }))
            .collect(),
        remedy,
        ..Finding::new(rule, found.title(), subject.unwrap_or_default(), bucket)
    })
}
