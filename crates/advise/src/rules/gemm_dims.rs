use std::collections::BTreeMap;

use sheets::numbers::counted;

use crate::facts::{LeastTime, Program};
use crate::finding::{Bucket, Confidence};
use crate::rule::{Claim, Inspection, Rule};
use crate::target::work_us;

/// Matrix products whose extents do not fit the tiles and the compute units.
pub(super) struct GemmDims;

/// Share of the arithmetic that has to be left by tiles and rounds for the extents to be in order.
const FITS_FROM: f64 = 0.7;

impl Rule for GemmDims {
    fn id(&self) -> &'static str {
        "GEMM-DIMS"
    }

    fn what(&self) -> &'static str {
        "matrix products whose extents leave compute units without work"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "pad or change the extents (vocabulary, hidden sizes, batch times sequence) so that their tiles fill whole rounds of the \
         compute units; a kernel that splits the inner dimension helps products with few tiles"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let Some(machine) = &facts.machine else { return Vec::new() };
        let mut by_operator = BTreeMap::new();
        for (call, position) in facts.calls.iter().zip(0..) {
            let (Some(least), Some(kernels)) = (call.least, look.kernels(position)) else { continue };
            let Some(fit) = least.quantisation.filter(|&fit| fit < FITS_FROM) else { continue };
            let whole = LeastTime { quantisation: None, ..least };
            let lost = facts.units(work_us(&least, machine) - work_us(&whole, machine));
            let lost = lost.min((call.time as f64 * (1.0 - fit)) as i64);
            if lost > 0 {
                let found = by_operator.entry(call.operator).or_insert_with(|| (Vec::new(), 0, fit));
                found.0.extend(look.divided(kernels, lost));
                found.1 += 1;
            }
        }
        let claims = by_operator.into_iter().map(|(operator, (parts, calls, fit))| {
            let operator = &facts.operators[operator as usize];
            let name = facts.name(operator.name);
            Claim::new(Bucket::Computation, format!("{name} {}", operator.arguments), parts)
                .with_range(0.5, 1.15)
                .with_confidence(Confidence::Medium)
                .with_evidence(format!(
                    "{}: tiles and rounds leave {:.0}% of the arithmetic to the result",
                    counted(calls, "call", "calls"),
                    fit * 100.0
                ))
                .with_row("unified_perf_summary", "name", name)
        });
        claims.collect()
    }
}
