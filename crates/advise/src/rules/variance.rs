use gpu_timeline::lower_median;
use sheets::numbers::duration;

use crate::facts::Program;
use crate::finding::{Bucket, Confidence};
use crate::rule::{Claim, Inspection, Part, Rule};

/// Calls with the same arguments of which some take many times as long.
pub(super) struct Variance;

/// Calls from which on times vary.
const FEWEST: usize = 10;
/// A call is an outlier from so many medians on.
const OUTLIER_FROM: i64 = 5;
/// At most one call in so many is an outlier.
const MOST_OUTLIERS: usize = 5;
/// Of the time of an operator, the part beyond the median that outliers have.
const EXCESS_FROM: f64 = 0.1;

impl Rule for Variance {
    fn id(&self) -> &'static str {
        "VARIANCE"
    }

    fn what(&self) -> &'static str {
        "calls with the same arguments of which some take many times as long"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "look at what is special about the slow calls: first use (lazy loading, autotuning: warm up before recording), another \
         stream's work beside them, clocks, contention"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let mut calls_of: Vec<Vec<u32>> = vec![Vec::new(); facts.operators.len()];
        for (call, position) in facts.calls.iter().zip(0..) {
            if look.kernels(position).is_some() && !facts.operator(position).inputs.is_empty() {
                calls_of[call.operator as usize].push(position);
            }
        }
        let mut claims = Vec::new();
        for (operator, calls) in facts.operators.iter().zip(&calls_of) {
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
                Claim::new(Bucket::Computation, format!("{name} {}", operator.arguments), parts)
                    .with_range(0.5, 1.0)
                    .with_confidence(Confidence::Low)
                    .with_evidence(format!(
                        "{} of {} calls take more than {OUTLIER_FROM} times the median of {}",
                        slow.len(),
                        calls.len(),
                        duration(facts.us(median))
                    ))
                    .with_row("unified_perf_summary", "name", name),
            );
        }
        claims
    }
}
