//! What changed between two runs.

use crate::align::align;
use crate::op::{Op, OpKind};
use crate::report::MetalReport;

/// Whether both runs have an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaKind {
    /// Both, with the same sizes.
    Same,
    /// Both, with other sizes or settings.
    Changed,
    /// Only the run now.
    New,
    /// Only the baseline.
    Gone,
}

impl DeltaKind {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            DeltaKind::Same => "both",
            DeltaKind::Changed => "both, other sizes",
            DeltaKind::New => "new",
            DeltaKind::Gone => "gone",
        }
    }
}

/// An operation in two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct OpDelta {
    /// Whether both runs have it.
    pub kind: DeltaKind,
    /// Name with sizes: now, or then if it is gone.
    pub label: String,
    /// Position in the operations of the baseline.
    pub baseline: Option<usize>,
    /// Position in the operations now.
    pub now: Option<usize>,
    /// Its ID in the baseline.
    pub then_id: Option<u32>,
    /// Its ID now.
    pub now_id: Option<u32>,
    /// Device time in the baseline, in microseconds.
    pub time_then_us: Option<f64>,
    /// Device time now, in microseconds.
    pub time_now_us: Option<f64>,
    /// Time now less time then, in microseconds; an operation that a run lacks has taken none in it. `None` where a
    /// run has the operation but no time of it.
    pub delta_us: Option<f64>,
    /// That, of the time then.
    pub delta_percent: Option<f64>,
}

/// Operations of two runs side by side, in the order of both. Operations are the same that have the same label in the
/// longest common sequence; between those, operations of the same name follow each other.
fn compare(baseline: &MetalReport, now: &MetalReport) -> Vec<OpDelta> {
    let (then_ops, now_ops) = (operations(baseline), operations(now));
    let labels =
        |ops: &[(usize, &Op)]| -> Vec<String> { ops.iter().map(|(_, op)| op.label.clone()).collect() };
    let mut deltas = Vec::new();
    let (mut gone, mut new): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for pair in align(&labels(&then_ops), &labels(&now_ops)) {
        match pair {
            (Some(then), None) => gone.push(then),
            (None, Some(at)) => new.push(at),
            (then, at) => {
                between(baseline, now, (&then_ops, &gone), (&now_ops, &new), &mut deltas);
                (gone, new) = (Vec::new(), Vec::new());
                deltas.push(delta(then.map(|then| then_ops[then]), at.map(|at| now_ops[at])));
            }
        }
    }
    between(baseline, now, (&then_ops, &gone), (&now_ops, &new), &mut deltas);
    deltas
}

/// Two runs side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The operations of either run, the biggest changes first.
    pub deltas: Vec<OpDelta>,
    /// Device time of the baseline, in microseconds.
    pub then_us: f64,
    /// Device time now, in microseconds.
    pub now_us: f64,
    /// Name of the baseline's file; empty for a table that was read from none.
    pub baseline: String,
}

impl Comparison {
    /// Compares a run with an earlier one.
    pub fn new(baseline: &MetalReport, now: &MetalReport) -> Self {
        let mut deltas = compare(baseline, now);
        let change = |delta: &OpDelta| delta.delta_us.unwrap_or(0.0).abs();
        deltas.sort_by(|a, b| change(b).total_cmp(&change(a)));
        let file = baseline.table.files.first().map(|file| file.path.as_path());
        let name = file.and_then(|path| path.file_name()).unwrap_or_default();
        Comparison {
            deltas,
            then_us: baseline.totals.device_time_us,
            now_us: now.totals.device_time_us,
            baseline: name.to_string_lossy().into_owned(),
        }
    }
}

fn operations(report: &MetalReport) -> Vec<(usize, &Op)> {
    report.ops.iter().enumerate().filter(|(_, op)| op.kind != OpKind::Signpost).collect()
}

/// Operations between two that are the same: by name, without sizes.
fn between(
    baseline: &MetalReport,
    now: &MetalReport,
    (then_ops, gone): (&[(usize, &Op)], &[usize]),
    (now_ops, new): (&[(usize, &Op)], &[usize]),
    deltas: &mut Vec<OpDelta>,
) {
    let then_names: Vec<&str> =
        gone.iter().map(|&at| baseline.table.text(then_ops[at].1.raw_op_code)).collect();
    let now_names: Vec<&str> = new.iter().map(|&at| now.table.text(now_ops[at].1.raw_op_code)).collect();
    for (then, at) in align(&then_names, &now_names) {
        deltas.push(delta(then.map(|then| then_ops[gone[then]]), at.map(|at| now_ops[new[at]])));
    }
}

fn delta(then: Option<(usize, &Op)>, now: Option<(usize, &Op)>) -> OpDelta {
    let kind = match (then, now) {
        (Some((_, then)), Some((_, now))) if then.label == now.label => DeltaKind::Same,
        (Some(_), Some(_)) => DeltaKind::Changed,
        (None, _) => DeltaKind::New,
        (Some(_), None) => DeltaKind::Gone,
    };
    let time = |op: Option<(usize, &Op)>| op.map_or(Some(0.0), |(_, op)| op.device_time_us);
    let delta_us = time(now).zip(time(then)).map(|(now, then)| now - then);
    OpDelta {
        kind,
        label: now.or(then).map_or_else(String::new, |(_, op)| op.label.clone()),
        baseline: then.map(|(position, _)| position),
        now: now.map(|(position, _)| position),
        then_id: then.map(|(_, op)| op.id),
        now_id: now.map(|(_, op)| op.id),
        time_then_us: then.and_then(|(_, op)| op.device_time_us),
        time_now_us: now.and_then(|(_, op)| op.device_time_us),
        delta_us,
        delta_percent: delta_us
            .zip(then.and_then(|(_, op)| op.device_time_us))
            .filter(|(_, then)| *then != 0.0)
            .map(|(delta, then)| delta / then * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_made::{Line, report};
    use crate::options::MetalOptions;

    fn run(ops: &[(&'static str, f64)]) -> MetalReport {
        let lines: Vec<Line> =
            ops.iter().map(|&(name, us)| Line { duration: Some(us * 1000.0), ..Line::op(name) }).collect();
        report(&lines, MetalOptions::default())
    }

    #[test]
    fn operations_are_aligned_by_sequence_and_occurrence() {
        let then = run(&[("A", 1.0), ("B", 2.0), ("A", 3.0), ("C", 4.0)]);
        let now = run(&[("A", 1.5), ("A", 3.0), ("D", 5.0), ("C", 2.0)]);
        let deltas = compare(&then, &now);
        let short: Vec<_> =
            deltas.iter().map(|d| (d.label.as_str(), d.kind, d.delta_us, d.delta_percent)).collect();
        assert_eq!(
            short,
            [
                ("A", DeltaKind::Same, Some(0.5), Some(50.0)),
                ("B", DeltaKind::Gone, Some(-2.0), Some(-100.0)),
                ("A", DeltaKind::Same, Some(0.0), Some(0.0)),
                ("D", DeltaKind::New, Some(5.0), None),
                ("C", DeltaKind::Same, Some(-2.0), Some(-50.0)),
            ]
        );
    }

    #[test]
    fn deltas_add_up_to_the_difference_of_the_totals() {
        let then = run(&[("A", 1.0), ("B", 2.0), ("C", 4.0)]);
        let now = run(&[("C", 1.0), ("E", 8.0)]);
        let sum: f64 = compare(&then, &now).iter().filter_map(|delta| delta.delta_us).sum();
        assert_eq!(sum, now.totals.device_time_us - then.totals.device_time_us);
        assert!(compare(&then, &then).iter().all(|delta| delta.kind == DeltaKind::Same));
        assert_eq!(compare(&run(&[]), &now).len(), 2);
    }

    #[test]
    fn an_operation_with_other_sizes_is_changed_and_one_without_a_time_has_no_delta() {
        let mut then = run(&[("A", 1.0), ("B", 2.0)]);
        then.ops[0].label = "A 1 x 2".to_owned();
        then.ops[1].device_time_us = None;
        let deltas = compare(&then, &run(&[("A", 4.0), ("B", 2.0)]));
        assert_eq!((deltas[0].kind, deltas[0].delta_us), (DeltaKind::Changed, Some(3.0)));
        assert_eq!((deltas[1].kind, deltas[1].delta_us), (DeltaKind::Same, None));
    }
}
