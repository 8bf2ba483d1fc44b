use std::collections::BTreeMap;

use gpu_timeline::lower_median;
use sheets::numbers::duration;

use crate::facts::Program;
use crate::finding::{Bucket, Confidence};
use crate::rule::{Claim, Inspection, Part, Rule};

/// Outliers among calls with the same arguments.
pub(super) struct Variance;

/// Fewest steps after the first that tell what is usual.
const FEWEST_STEPS: usize = 2;
/// A first step is cold from this multiple of the usual time.
const COLD_FROM: f64 = 1.2;
/// Fewest calls to judge variance.
const FEWEST: usize = 10;
/// A call is an outlier above this multiple of the median.
const OUTLIER_FROM: i64 = 5;
/// At most one call in so many is an outlier.
const MOST_OUTLIERS: usize = 5;
/// Least share of an operator's time that outliers take beyond the median.
const EXCESS_FROM: f64 = 0.1;

impl Rule for Variance {
    fn id(&self) -> &'static str {
        "VARIANCE"
    }

    fn what(&self) -> &'static str {
        "outliers among identical calls or steps"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "find what sets them apart: first use (lazy loading, autotuning: warm up before recording), concurrent work on \
         other streams, clocks, contention"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let mut claims: Vec<Claim> = cold_start(look).into_iter().collect();
        // Calls that ran as the same kernel: another one is another matter.
        let mut calls_of: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (call, position) in facts.calls.iter().zip(0..) {
            let Some(&[kernel, ..]) = look.kernels(position) else { continue };
            if !facts.operator(position).inputs.is_empty() {
                calls_of.entry((call.operator, look.work(kernel).name)).or_default().push(position);
            }
        }
        for ((operator, _), calls) in &calls_of {
            let operator = &facts.operators[*operator as usize];
            let time = |call: u32| facts.calls[call as usize].time;
            let Some(median) = lower_median(calls.iter().map(|&call| time(call))) else { continue };
            if calls.len() < FEWEST {
                continue;
            }
            let slow: Vec<u32> =
                calls.iter().copied().filter(|&call| time(call) > OUTLIER_FROM * median.max(1)).collect();
            let excess: i64 = slow.iter().map(|&call| time(call) - median).sum();
            let all: i64 = calls.iter().map(|&call| time(call)).sum();
            // Where many are slow, they are another kind of calls.
            if slow.is_empty()
                || MOST_OUTLIERS * slow.len() > calls.len()
                || (excess as f64) < EXCESS_FROM * all as f64
            {
                continue;
            }
            let parts: Vec<Part> = slow
                .iter()
                .filter_map(|&call| Some(look.divided(look.kernels(call)?, time(call) - median)))
                .flatten()
                .collect();
            let name = facts.name(operator.name);
            claims.push(
                Claim::new(format!("{name} {}", operator.arguments), parts)
                    .with_range(0.5, 1.0)
                    .with_confidence(Confidence::Low)
                    .with_evidence(format!(
                        "{} of {} calls took more than {OUTLIER_FROM} times the median of {}",
                        slow.len(),
                        calls.len(),
                        duration(facts.us(median))
                    ))
                    .with_row(facts.sheets.operators, name),
            );
        }
        claims
    }
}

/// A first step that takes much longer than the others.
fn cold_start(look: &Inspection<'_>) -> Option<Claim> {
    let facts = look.facts;
    let (first, others) = facts.steps.split_first()?;
    let first = first.duration?;
    let others: Vec<i64> = others.iter().filter_map(|step| step.duration).collect();
    let enough = others.len() >= FEWEST_STEPS;
    let usual = lower_median(others).filter(|_| enough)?;
    let excess = first - usual;
    if (first as f64) < COLD_FROM * usual as f64 {
        return None;
    }
    let share = excess as f64 / facts.window().max(1) as f64;
    let claim = Claim::without_time(Bucket::Recording, "the first step")
        .with_confidence(Confidence::High)
        .with_evidence(format!(
            "{}, against a median of {} for the other steps: a one-time excess of {:.1}% of the window",
            duration(facts.us(first)),
            duration(facts.us(usual)),
            share * 100.0
        ))
        .with_row(facts.sheets.iterations, "0");
    Some(Claim { worth: share, ..claim })
}
