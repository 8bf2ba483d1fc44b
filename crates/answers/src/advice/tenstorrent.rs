//! The advice on Tenstorrent operations, as findings like those of other recordings.

use advise::{Advice, Bucket, Confidence, EvidenceRow, Finding, Gain, Limits};
use indexmap::IndexMap;
use metal_perf::{Finding as Found, MetalReport, Op, USUAL_GAP_US, findings};
use sheets::numbers::{counted, duration};

use super::facts::share_of;

/// Of what a matrix product takes beyond its roofline, the part that better settings probably give back.
const RECOVERABLE_SHARE: f64 = 0.5;

const HOST: &str = "METAL-HOST";
const GAPS: &str = "METAL-GAPS";
const MATMUL: &str = "METAL-MATMUL";
const MODEL: &str = "METAL-MODEL";

pub(super) const RULES: [&str; 4] = [HOST, GAPS, MATMUL, MODEL];

/// The findings of operations; products of the same sizes with the same advice are one.
pub(crate) fn operation_advice(report: &MetalReport, limits: &Limits) -> Advice {
    let (device, gaps) = (report.totals.device_time_us, report.totals.gap_us);
    let window = device + gaps;
    let found = findings(report);
    let in_long_gaps = found.iter().find_map(|found| match found {
        Found::HighGaps { gap_us, .. } => Some(*gap_us),
        _ => None,
    });
    let in_long_gaps = in_long_gaps.unwrap_or_default();
    let mut groups: IndexMap<(&str, String), Vec<&Found>> = IndexMap::new();
    for one in &found {
        let label = one.ops().first().and_then(|&op| report.ops.get(op)).map_or("", |op| op.label.as_str());
        groups.entry((label, one.to_string())).or_default().push(one);
    }
    let all = groups.values().filter_map(|alike| finding(report, alike, in_long_gaps));
    let mut all: Vec<Finding> = all.collect();
    all.retain(|finding| finding.gain.is_none() || share_of(finding, window) >= limits.least_share);
    Advice::from_findings(window, vec![(Bucket::Computation, device), (Bucket::Idle, gaps)], all)
}

/// One finding of several that say the same of the same operation.
fn finding(report: &MetalReport, alike: &[&Found], in_long_gaps: f64) -> Option<Finding> {
    let found = *alike.first()?;
    let ops: Vec<&Op> =
        alike.iter().flat_map(|found| found.ops()).filter_map(|&op| report.ops.get(op)).collect();
    let gain = |amount: f64, mid_us: f64, low: f64, high_us: f64| {
        Some((amount, Gain { low_us: mid_us * low, mid_us, high_us }))
    };
    let text = found.to_string();
    let sentences = text.lines().map(|line| line.trim_start_matches("- ").to_owned());
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
        Found::MatrixProduct { .. } => {
            let most: f64 = alike.iter().filter_map(|found| found.at_most_us()).sum();
            let time: f64 = ops.iter().filter_map(|op| op.device_time_us).sum();
            let gain = gain(time, RECOVERABLE_SHARE * most, 0.0, most).filter(|_| most > 0.0)?;
            (MATMUL, Bucket::Computation, Some(gain), Confidence::Low)
        }
        Found::AboveRoofline { .. } => (MODEL, Bucket::Recording, None, Confidence::High),
    };
    let remedy = remedy(found)?;
    let (amount_us, gain) = gain.unzip();
    let count = counted(ops.len(), "operation", "operations");
    let time = amount_us.map(|time| format!("{} in {count}", duration(time)));
    let subject = match (found, &ops[..]) {
        (_, []) => String::new(),
        (_, [op]) => format!("{} (ID {})", op.label, op.id),
        (Found::HighGaps { .. }, _) => {
            let gap = |op: &Op| op.gap_us.unwrap_or_default();
            let longest = ops.iter().max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
            format!("before {} (ID {}) and {} more", longest.label, longest.id, ops.len() - 1)
        }
        (Found::HostFallback { .. }, [first, ..]) => {
            format!("{} (ID {}) and {} more", first.label, first.id, ops.len() - 1)
        }
        (_, [first, ..]) => format!("{} × {} (first ID {})", ops.len(), first.label, first.id),
    };
    Some(Finding {
        amount_us,
        gain,
        confidence,
        evidence: time.into_iter().chain(sentences).collect(),
        rows: ops
            .iter()
            .take(5)
            .map(|op| EvidenceRow { table: "ops".to_owned(), key: ("ID".to_owned(), op.id.to_string()) })
            .collect(),
        remedy,
        ..Finding::new(rule, what(found), subject, bucket)
    })
}

fn what(found: &Found) -> &'static str {
    match found {
        Found::HostFallback { .. } => "operations on the host",
        Found::HighGaps { .. } => "long gaps between operations",
        Found::MatrixProduct { .. } => "matmuls below the chip's peaks",
        Found::AboveRoofline { .. } => "figures above the chip's peaks",
    }
}

/// What to do; `None` where there is nothing.
fn remedy(found: &Found) -> Option<String> {
    Some(match found {
        Found::HostFallback { .. } => "run them on the device".to_owned(),
        Found::HighGaps { .. } => format!(
            "capture a trace and replay it; remove waits for the device and reads from it; turn \
             runtime arguments that never change into compile-time arguments (gaps of {USUAL_GAP_US} µs are usual)"
        ),
        Found::MatrixProduct { advice, .. } => {
            let actions: Vec<String> = advice.iter().filter_map(metal_perf::Advice::action).collect();
            return (!actions.is_empty()).then(|| actions.join("; "));
        }
        Found::AboveRoofline { .. } => "check that the right chip is assumed".to_owned(),
    })
}
