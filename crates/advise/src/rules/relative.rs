use std::collections::BTreeMap;

use gpu_timeline::lower_median;
use sheets::numbers::counted;

use crate::facts::{LeastTime, Machine, Program};
use crate::finding::Confidence;
use crate::rule::{Claim, Inspection, Part, Rule};
use crate::target::target_us;

/// Calls that take longer than the program's own best ones of the same kind.
pub(super) struct RelativeEfficiency;

/// Fewest calls with the same arguments that give a reference time.
const FEWEST: usize = 3;
/// Work that differs by less than this factor is of the same size.
const SAME_SIZE: f64 = 2.0;

/// Calls with other arguments need this much more to be slow: the effect of their size is only modelled.
const OTHER_ARGUMENTS: f64 = 1.2;

/// Calls of one operator with the same arguments that ran as the same kernel.
struct Kind {
    operator: u32,
    name: u32,
    calls: Vec<u32>,
    /// Median of their times.
    time: i64,
    least: Option<LeastTime>,
}

impl Rule for RelativeEfficiency {
    fn id(&self) -> &'static str {
        "KERNEL-EFF-REL"
    }

    fn what(&self) -> &'static str {
        "calls slower than the best call of the same operator"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "compare with the fast calls: chosen kernel, operand layout and alignment, shapes in multiples of 8 or 16; \
         tracelens replay runs both alone"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let kinds = kinds(look);
        let mut by_operator: BTreeMap<u32, Vec<&Kind>> = BTreeMap::new();
        for kind in &kinds {
            by_operator.entry(kind.name).or_default().push(kind);
        }
        let mut claims = Vec::new();
        for (name, kinds) in by_operator {
            let mut parts: Vec<Part> = Vec::new();
            let (mut calls, mut fastest, mut slowest) = (0, f64::MAX, 1.0_f64);
            for kind in &kinds {
                let expected = kinds.iter().filter_map(|best| {
                    let expected = expected(best, kind, facts.machine.as_ref())?;
                    let ratio = kind.time as f64 / expected.max(1) as f64;
                    let is_same = best.operator == kind.operator;
                    let from = if is_same { 1.0 } else { OTHER_ARGUMENTS } * look.limits.slow_from;
                    (ratio >= from).then_some(expected)
                });
                let Some(expected) = expected.min() else { continue };
                let ratio = kind.time as f64 / expected.max(1) as f64;
                (fastest, slowest) = (fastest.min(ratio), slowest.max(ratio));
                for &call in &kind.calls {
                    let excess = facts.calls[call as usize].time - expected;
                    if let Some(kernels) = look.kernels(call).filter(|_| excess > 0) {
                        calls += 1;
                        parts.extend(look.divided(kernels, excess));
                    }
                }
            }
            if calls > 0 {
                let claim = Claim::new(facts.name(name), parts)
                    .with_range(0.75, 1.1)
                    .with_confidence(Confidence::High)
                    .with_evidence(format!(
                        "{} took {} times as long as the best call of the same size",
                        counted(calls, "call", "calls"),
                        ratios(fastest, slowest)
                    ))
                    .with_row(facts.sheets.operators, facts.name(name));
                claims.push(claim);
            }
        }
        claims
    }
}

/// The least and the most of some ratios.
fn ratios(least: f64, most: f64) -> String {
    let [least, most] = [least, most].map(|ratio| format!("{ratio:.1}"));
    if least == most { least } else { format!("{least} to {most}") }
}

fn kinds(look: &Inspection<'_>) -> Vec<Kind> {
    let facts = look.facts;
    let mut calls: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
    for (call, position) in facts.calls.iter().zip(0..) {
        let Some(&[kernel, ..]) = look.kernels(position) else { continue };
        if !facts.operators[call.operator as usize].inputs.is_empty() {
            calls.entry((call.operator, look.work(kernel).name)).or_default().push(position);
        }
    }
    let kinds = calls.into_iter().filter_map(|((operator, _), calls)| {
        let time = lower_median(calls.iter().map(|&call| facts.calls[call as usize].time))?;
        let least = facts.calls[calls[0] as usize].least;
        Some(Kind { operator, name: facts.operators[operator as usize].name, calls, time, least })
    });
    kinds.collect()
}

/// What calls of a kind would take at the speed of another one; `None` where the two cannot be compared.
fn expected(best: &Kind, kind: &Kind, machine: Option<&Machine>) -> Option<i64> {
    if best.calls.len() < FEWEST {
        return None;
    }
    if best.operator == kind.operator {
        return Some(best.time);
    }
    let (best_least, least) = (best.least?, kind.least?);
    let is_alike = |a: f64, b: f64| a.max(b) <= SAME_SIZE * a.min(b);
    let comparable = best_least.spec == least.spec
        && is_alike(best_least.flops, least.flops)
        && is_alike(best_least.memory_us, least.memory_us);
    let machine = machine?;
    let [best_us, kind_us] = [best_least, least].map(|least| target_us(&least, machine, 1));
    comparable.then(|| (best.time as f64 * kind_us / best_us).round() as i64)
}
