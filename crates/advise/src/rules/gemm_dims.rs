use std::collections::BTreeMap;

use hashbrown::HashMap;
use sheets::numbers::counted;

use crate::facts::Program;
use crate::finding::Confidence;
use crate::product::Product;
use crate::rule::{Claim, Inspection, Rule};

/// Matrix products whose extents do not fit the tiles and the compute units.
pub(super) struct GemmDims;

/// A product is out of step when a neighbour of at most a tenth less extent would use the device so many times better.
const BETTER_FROM: f64 = 1.3;

impl Rule for GemmDims {
    fn id(&self) -> &'static str {
        "GEMM-DIMS"
    }

    fn what(&self) -> &'static str {
        "matrix products whose extents leave compute units without work"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "change the extents (vocabulary, hidden sizes, batch times sequence) so that their tiles fill whole rounds of the compute \
         units; a kernel that splits the inner dimension helps products with few tiles"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let Some(units) = facts.machine.as_ref().and_then(|machine| machine.units) else { return Vec::new() };
        let mut by_operator = BTreeMap::new();
        let mut neighbours: HashMap<u32, Option<(Product, f64)>> = HashMap::new();
        for (call, position) in facts.calls.iter().zip(0..) {
            let (Some(product), Some(tile)) = (facts.operators[call.operator as usize].product, call.tile)
            else {
                continue;
            };
            let own = product.fit(tile, units);
            // No product fits better than entirely.
            if BETTER_FROM * own > 1.0 {
                continue;
            }
            let neighbour =
                neighbours.entry(call.operator).or_insert_with(|| product.better_neighbour(units));
            let (Some(kernels), &mut Some((better, fit))) = (look.kernels(position), neighbour) else {
                continue;
            };
            // The extents of a product that waits for its data change nothing.
            let is_compute = call.least.is_some_and(|least| least.compute_us > own * least.memory_us);
            if own <= 0.0 || fit < BETTER_FROM * own || !is_compute {
                continue;
            }
            let work = better.elements() / product.elements();
            let lost = (call.time as f64 * (1.0 - work * own / fit)) as i64;
            let found = by_operator.entry(call.operator).or_insert_with(|| (Vec::new(), 0, own, better, fit));
            found.0.extend(look.divided(kernels, lost));
            found.1 += 1;
        }
        let claims = by_operator.into_iter().map(|(operator, (parts, calls, own, better, fit))| {
            let operator = &facts.operators[operator as usize];
            let name = facts.name(operator.name);
            Claim::new(format!("{name} {}", operator.arguments), parts)
                .with_range(0.5, 1.15)
                .with_confidence(Confidence::Medium)
                .with_evidence(format!(
                    "{}: tiles and rounds leave {:.0}% of the arithmetic to the result; of {} x {} it would be {:.0}%",
                    counted(calls, "call", "calls"),
                    own * 100.0,
                    better.m,
                    better.n,
                    fit * 100.0
                ))
                .with_row(facts.sheets.operators, name)
        });
        claims.collect()
    }
}
