//! Verdicts on whole sides.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::fixture::{recording, recording_of};
use crate::{Change, CheckName, Gate, GateError, GatedMetric, Part, Recording, Thresholds, Verdict};

fn gate(baseline: Vec<Recording>, candidate: Vec<Recording>) -> Gate {
    Gate::new(baseline, candidate, &Thresholds::default(), &BTreeSet::new()).unwrap()
}

fn gating(metrics: &[&str]) -> Thresholds {
    let metrics = metrics.iter().map(|name| GatedMetric::new(name.parse().unwrap())).collect();
    Thresholds { metrics, ..Thresholds::default() }
}

/// Steps around a duration in microseconds, with some scatter.
fn steps(us: i64, count: i64) -> Vec<i64> {
    (0..count).map(|step| 1000 * us + 7 * us * (step * 37 % 5 - 2) / 5).collect()
}

#[test]
fn an_unchanged_version_passes_and_has_an_empty_ledger() {
    let a = recording_of(&[("aten::mm", &steps(900, 20)), ("aten::add", &steps(100, 20))]);
    let found = gate(vec![a.clone()], vec![a]);
    assert_eq!(found.verdict, Verdict::Pass);
    assert!(found.ledger.lines.iter().all(|line| line.delta() == 0), "{:?}", found.ledger);
    assert_eq!(
        (found.ledger.step_ns[0], found.metrics[0].estimate.unwrap().difference),
        (found.ledger.step_ns[1], 0.0)
    );
    assert_eq!(found.lets_through(), Some(true));
}

#[test]
fn the_operator_at_fault_is_the_first_culprit() {
    let a = recording_of(&[("aten::mm", &steps(700, 20)), ("aten::add", &steps(300, 20))]);
    let b = recording_of(&[("aten::mm", &steps(700, 20)), ("aten::add", &steps(390, 20))]);
    let found = gate(vec![a], vec![b]);
    assert_eq!(found.verdict, Verdict::Fail);
    let culprits = found.ledger.culprits();
    assert_eq!(culprits.len(), 1);
    assert_eq!((culprits[0].part.name(), culprits[0].change), ("aten::add", Change::SlowerKernel));
    assert!((found.ledger.share(culprits[0]).unwrap() - 100.0).abs() < 1e-9);
    assert!(found.headline().starts_with("FAIL, step time +9.0% ("), "{}", found.headline());
    assert!(
        found.headline().ends_with("; largest cause aten::add (slower kernel, 100% of the change)"),
        "{}",
        found.headline()
    );
}

#[test]
fn changes_are_named_by_their_kind() {
    let a = recording_of(&[
        ("slower", &steps(100, 8)),
        ("faster", &steps(200, 8)),
        ("other", &steps(100, 8)),
        ("called more", &steps(100, 8)),
        ("called less", &steps(200, 8)),
        ("gone", &steps(100, 8)),
        ("alike", &steps(500, 8)),
    ]);
    let mut b = recording_of(&[
        ("slower", &steps(150, 8)),
        ("faster", &steps(120, 8)),
        ("other", &steps(150, 8)),
        ("called more", &steps(200, 8)),
        ("called less", &steps(100, 8)),
        ("new", &steps(100, 8)),
        ("alike", &steps(502, 8)),
    ]);
    b.units[2].kernel = "another kernel".to_owned();
    b.units[3].calls = 2.0;
    b.units[4].calls = 0.5;
    b.idle = steps(80, 8);
    (0..8).for_each(|step| b.steps.duration[step] += b.idle[step]);
    let found = gate(vec![a], vec![b]);
    let mut changes: Vec<(&str, Change, bool)> =
        found.ledger.lines.iter().map(|line| (line.part.name(), line.change, line.is_culprit)).collect();
    changes.sort_by_key(|&(name, ..)| name);
    assert_eq!(
        changes,
        [
            ("alike", Change::SlowerKernel, false),
            ("all other units", Change::Same, false),
            ("called less", Change::FewerCalls, true),
            ("called more", Change::MoreCalls, true),
            ("exposed communication", Change::Same, false),
            ("faster", Change::FasterKernel, true),
            ("gone", Change::Gone, true),
            ("idle", Change::Waiting, true),
            ("new", Change::New, true),
            ("other", Change::OtherKernel, true),
            ("slower", Change::SlowerKernel, true),
        ]
    );
    // What explains that the candidate is slower comes first.
    let culprits = found.ledger.culprits();
    let slower = culprits.iter().take_while(|line| line.delta() > 0).count();
    assert!(slower == 5 && culprits[slower..].iter().all(|line| line.delta() < 0));
}

#[test]
fn few_steps_are_inconclusive_whatever_they_show() {
    let found = gate(vec![recording(&steps(100, 20))], vec![recording(&[100_000, 150_000])]);
    assert_eq!((found.verdict, found.lets_through()), (Verdict::Inconclusive, None));
    assert!(found.headline().contains("1 step is left after warm-up in "), "{}", found.headline());
}

#[test]
fn copies_of_a_recording_count_once() {
    let (a, b) = (recording(&steps(100, 9)), recording(&steps(101, 9)));
    let found = gate(vec![a.clone(), a], vec![b]);
    assert_eq!((found.sides[0].len(), found.remarks.len()), (1, 1));
    assert!(found.remarks[0].contains("in the baseline more than once"));
}

#[test]
fn recordings_of_a_job_are_one_block() {
    let of = |us: i64, job: &str| Recording { job: Some(job.to_owned()), ..recording(&steps(us, 12)) };
    let found = gate(vec![of(100, "a"), of(102, "a"), of(101, "b")], vec![of(103, "c"), of(104, "c")]);
    assert_eq!(found.blocks.each_ref().map(Vec::len), [2, 1]);
    let degrees = found.metrics[0].estimate.unwrap().degrees_of_freedom;
    assert_eq!(degrees, 4.0 + 1.0);
}

#[test]
fn noise_is_measured_on_six_jobs() {
    let of = |us: i64| recording(&steps(us, 12));
    let history: Vec<Recording> = [1000, 1010, 990, 1005, 995, 1002].map(of).into();
    let found = gate(history, vec![of(1003)]);
    let noise = found.metrics[0].noise.unwrap();
    assert!(noise.is_measured && (noise.sd - 0.0072).abs() < 0.0005, "{noise:?}");
    assert!(found.basis().contains("measured on the baseline"));
}

#[test]
fn metrics_that_name_nothing_are_errors() {
    let a = recording(&steps(100, 9));
    let with = |metric: &str| {
        Gate::new(vec![a.clone()], vec![a.clone()], &gating(&[metric]), &BTreeSet::new())
            .map(|gate| gate.verdict)
    };
    assert_eq!(with("op:aten::mm"), Ok(Verdict::Pass));
    assert!(matches!(with("op:aten::no"), Err(GateError::NoSuchWork { .. })));
    assert!(matches!(with("module:Linear"), Err(GateError::NoModules { .. })));
    assert_eq!(
        Gate::new(vec![], vec![a.clone()], &Thresholds::default(), &BTreeSet::new()),
        Err(GateError::NoRecording { side: "baseline" })
    );
}

#[test]
fn what_takes_no_time_has_no_ratio_and_counts_by_its_share() {
    let a = recording(&steps(100, 9));
    let waits = |us: i64| {
        let mut b = recording(&steps(100, 9));
        b.hash = format!("waits {us}");
        b.exposed_communication = vec![1000 * us; 9];
        b.steps.duration.iter_mut().for_each(|duration| *duration += 1000 * us);
        b
    };
    let verdict = |b: Recording| {
        let thresholds = gating(&["exposed_comm"]);
        Gate::new(vec![a.clone()], vec![b], &thresholds, &BTreeSet::new()).unwrap().verdict
    };
    assert_eq!(
        [verdict(waits(0)), verdict(waits(1)), verdict(waits(5))],
        [Verdict::Pass, Verdict::Pass, Verdict::Fail]
    );
}

#[test]
fn kernels_are_counted_exactly() {
    let a = recording(&steps(100, 9));
    let mut b = recording(&steps(101, 9));
    b.kernels = vec![2; 9];
    let mut thresholds = gating(&["kernel_count"]);
    let gate = |thresholds: &Thresholds| {
        Gate::new(vec![a.clone()], vec![b.clone()], thresholds, &BTreeSet::new()).unwrap()
    };
    assert_eq!(gate(&thresholds).headline(), "FAIL, kernels per step 1 → 2, limit +0");
    thresholds.metrics[0].more_by = 1;
    assert_eq!(gate(&thresholds).verdict, Verdict::Pass);
}

#[test]
fn several_metrics_are_corrected_for_their_number() {
    let noisy = |us: [i64; 3], names: [&str; 3]| -> Recording {
        let times = us.map(|us| steps(us, 20));
        recording_of(&[(names[0], &times[0]), (names[1], &times[1]), (names[2], &times[2])])
    };
    let names = ["a", "b", "c"];
    let a = noisy([1000, 1000, 1000], names);
    // At 1 v 1 a slow-down by 3.6% is just significant by itself.
    let b = noisy([1036, 1000, 1000], names);
    let decision = |metrics: &[&str]| {
        let found = Gate::new(vec![a.clone()], vec![b.clone()], &gating(metrics), &BTreeSet::new()).unwrap();
        found.verdict
    };
    assert_eq!(decision(&["op:a"]), Verdict::Fail);
    assert_eq!(decision(&["op:a", "op:b", "op:c"]), Verdict::Inconclusive);
}

#[test]
fn a_refusal_names_its_check_and_can_be_allowed() {
    let a = recording(&steps(100, 9));
    let mut b = recording(&steps(150, 9));
    b.setup.devices = vec!["AMD Instinct MI300X".to_owned()];
    let found = gate(vec![a.clone()], vec![b.clone()]);
    assert_eq!((found.verdict, found.lets_through()), (Verdict::NotComparable, None));
    assert_eq!(found.headline(), "NOT COMPARABLE: device");
    let allowed = BTreeSet::from([CheckName::Device]);
    let found = Gate::new(vec![a], vec![b], &Thresholds::default(), &allowed).unwrap();
    assert_eq!(found.verdict, Verdict::Fail);
}

#[test]
fn small_units_that_a_cut_side_lacks_are_part_of_the_rest() {
    let a = recording_of(&[("large", &steps(900, 9)), ("small", &steps(10, 9))]);
    let mut b = recording_of(&[("large", &steps(900, 9))]);
    b.rest.units = 3;
    b.rest.own_time = steps(10, 9);
    (0..9).for_each(|step| b.steps.duration[step] += b.rest.own_time[step]);
    let found = gate(vec![a], vec![b]);
    let names: Vec<&str> = found.ledger.lines.iter().map(|line| line.part.name()).collect();
    assert!(
        !names.contains(&"small") && found.ledger.lines.iter().all(|line| line.delta() == 0),
        "{names:?}"
    );
    assert!(found.ledger.lines.iter().any(|line| line.part == Part::Rest && line.ns[0] > 0));
}

proptest! {
    /// Whatever the recordings are, the parts of the ledger are the step, and the sides may be exchanged.
    #[test]
    fn ledgers_add_up_and_sides_mirror(
        times in proptest::collection::vec(proptest::collection::vec(1_i64..10_000_000, 7), 12),
        sizes in (1_usize..4, 1_usize..4),
    ) {
        let side = |first: usize, count: usize| -> Vec<Recording> {
            (0..count)
                .map(|at| recording_of(&[("a", &times[first + 2 * at]), ("b", &times[first + 2 * at + 1])]))
                .collect()
        };
        let (a, b) = (side(0, sizes.0), side(6, sizes.1));
        let there = gate(a.clone(), b.clone());
        let back = gate(b, a);
        let sum: i64 = there.ledger.lines.iter().map(crate::LedgerLine::delta).sum();
        prop_assert_eq!(sum, there.ledger.delta());
        prop_assert_eq!(there.ledger.delta(), -back.ledger.delta());
        for line in &there.ledger.lines {
            let mirrored = back.ledger.lines.iter().find(|other| other.part == line.part).unwrap();
            prop_assert_eq!(line.ns, [mirrored.ns[1], mirrored.ns[0]]);
        }
        let (there, back) = (there.metrics[0].estimate.unwrap(), back.metrics[0].estimate.unwrap());
        prop_assert!((there.difference + back.difference).abs() < 1e-9);
        prop_assert!((there.lower + back.upper).abs() < 1e-9 && (there.upper + back.lower).abs() < 1e-9);
    }
}
