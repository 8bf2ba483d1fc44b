//! The advice on Tenstorrent operations, as findings like those of other recordings.

use advise::{Advice, Bucket, Confidence, EvidenceRow, Finding, Gain, Limits};
use metal_perf::{Finding as Found, MetalReport, findings};
use sheets::numbers::{counted, duration};

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
    let found = findings(report);
    let in_long_gaps = found.iter().find_map(|found| match found {
        Found::HighGaps { gap_us, .. } => Some(*gap_us),
        _ => None,
    });
    let in_long_gaps = in_long_gaps.unwrap_or_default();
    let all = found.iter().filter_map(|found| finding(report, found, in_long_gaps));
    let mut all: Vec<Finding> = all.collect();
    all.retain(|finding| finding.gain.is_none() || share_of(finding, window) >= limits.least_share);
    Advice::of_findings(window, vec![(Bucket::Computation, device), (Bucket::Idle, gaps)], all)
}

fn finding(report: &MetalReport, found: &Found, in_long_gaps: f64) -> Option<Finding> {
    let ops = found.ops();
    let id = |&op: &usize| report.ops.get(op).map(|op| op.id.to_string());
    let subject = match ops {
        [op] => report.ops.get(*op).map(|op| format!("{} (ID {})", op.label, op.id)),
        _ => Some(format!("{} operations", ops.len())),
    };
    let gain = |amount: f64, mid_us: f64, low: f64, high_us: f64| {
        Some((amount, Gain { low_us: mid_us * low, mid_us, high_us }))
    };
    let text = found.to_string();
    let mut sentences = text.lines().map(|line| line.trim_start_matches("- ").to_owned());
    let (rule, bucket, gain, confidence) = match found {
        // While the host computes, the device has a gap, which long gaps are a part of.
        Found::HostFallback { host_time_us, .. } => {
            let gaps = report.totals.gap_us;
            let at_host = host_time_us.map(|time| time.min(gaps));
            let gain = at_host.and_then(|time| gain(time, 0.0, 0.0, time.min(gaps - in_long_gaps)));
            (HOST, Bucket::Idle, gain, Confidence::Medium)
        }
        Found::HighGaps { saving_us, gap_us, .. } => {
            (GAPS, Bucket::Idle, gain(*gap_us, saving_us.min(*gap_us), 0.75, *gap_us), Confidence::High)
        }
        Found::MatrixProduct { op, advice, at_most_us, .. } => {
            let most = at_most_us.filter(|_| !advice.is_empty())?;
            let time = report.ops.get(*op).and_then(|op| op.device_time_us).unwrap_or(most);
            (MATMUL, Bucket::Computation, gain(time, OF_ROOFLINE * most, 0.0, most), Confidence::Low)
        }
        Found::AboveRoofline { .. } => (MODEL, Bucket::Recording, None, Confidence::High),
    };
    let remedy = sentences.next()?;
    let (amount_us, gain) = gain.unzip();
    let time = amount_us
        .map(|time| format!("{} in {}", duration(time), counted(ops.len(), "operation", "operations")));
    Some(Finding {
        amount_us,
        gain,
        confidence,
        evidence: time.into_iter().chain(sentences).collect(),
        rows: ops
            .iter()
            .take(5)
            .filter_map(|op| Some(EvidenceRow { table: "ops".to_owned(), key: ("ID".to_owned(), id(op)?) }))
            .collect(),
        remedy,
        ..Finding::new(rule, found.title(), subject.unwrap_or_default(), bucket)
    })
}
