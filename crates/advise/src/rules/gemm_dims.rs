use std::collections::BTreeMap;

use hashbrown::HashMap;
use sheets::numbers::{counted, duration};

use crate::facts::Program;
use crate::finding::Confidence;
use crate::product::Product;
use crate::rule::{Claim, Inspection, Part, Rule};
use crate::target::target_us;

/// Matrix products whose dimensions do not fit tiles and compute units, or vector loads.
pub(super) struct GemmDims;

/// Bytes that a thread loads at once: rows that are not a multiple of it need narrower loads.
const VECTOR_BYTES: f64 = 16.0;

/// Products with a smaller extent are bound by memory or launch.
const SMALLEST_EXTENT: u64 = 64;
/// A product is misaligned if a neighbour with at most a tenth less extent uses the device this many times better.
const BETTER_FROM: f64 = 1.3;

impl Rule for GemmDims {
    fn id(&self) -> &'static str {
        "GEMM-DIMS"
    }

    fn what(&self) -> &'static str {
        "GEMM dimensions not aligned to the tile size"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "pad the dimensions (vocabulary, hidden size, batch times sequence) so that rows are multiples of 16 bytes and \
         tiles fill whole waves; use a split-K kernel if there are few tiles"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let mut claims = odd_rows(look);
        claims.extend(odd_rounds(look));
        claims
    }
}

/// Slow products with an extent that is no multiple of a vector.
fn odd_rows(look: &Inspection<'_>) -> Vec<Claim> {
    let facts = look.facts;
    let Some(machine) = &facts.machine else { return Vec::new() };
    let mut by_extent: BTreeMap<u64, OddRows> = BTreeMap::new();
    for (call, position) in facts.calls.iter().zip(0..) {
        let operator = facts.operator(position);
        let (Some(product), Some(first)) = (operator.product, operator.inputs.first()) else { continue };
        let (Some(least), Some(kernels)) = (call.least, look.kernels(position)) else { continue };
        let is_odd = |extent: &u64| (*extent as f64 * first.element_bytes) % VECTOR_BYTES != 0.0;
        let Some(extent) = [product.n, product.k, product.m].into_iter().filter(is_odd).max() else {
            continue;
        };
        let target = target_us(&least, machine, kernels.len());
        // A vector has rows of one element: what is not wide is bound by memory.
        if product.n.min(product.m).min(product.k) < SMALLEST_EXTENT
            || facts.us(call.time) < BETTER_FROM * target
        {
            continue;
        }
        let rows = by_extent.entry(extent).or_default();
        rows.parts.extend(look.divided(kernels, call.time - facts.units(target)));
        rows.calls += 1;
        rows.time += call.time;
        rows.element_bytes = first.element_bytes;
        *rows.operators.entry(call.operator).or_default() += call.time;
    }
    let claims = by_extent.into_iter().map(|(extent, rows)| {
        let most = rows.operators.iter().max_by_key(|(_, time)| **time).map_or(0, |(&operator, _)| operator);
        let most = &facts.operators[most as usize];
        let name = facts.name(most.name);
        let scope_phrase = if rows.operators.len() > 1 { "mostly in " } else { "" };
        Claim::new(format!("{scope_phrase}{name} {}", most.arguments), rows.parts)
            .with_range(0.6, 1.15)
            .with_confidence(Confidence::Medium)
            .with_evidence(format!(
                "{} ({}): {extent} elements of {} bytes are not a multiple of {VECTOR_BYTES} bytes, which rules out \
                 the fast kernels",
                counted(rows.calls, "call", "calls"),
                duration(facts.us(rows.time)),
                rows.element_bytes
            ))
            .with_row(facts.sheets.operators, name)
    });
    claims.collect()
}

/// Products with one odd extent.
#[derive(Default)]
struct OddRows {
    parts: Vec<Part>,
    calls: usize,
    time: i64,
    element_bytes: f64,
    /// Time by operator.
    operators: BTreeMap<u32, i64>,
}

/// Products whose tiles do not fill the rounds of the compute units.
fn odd_rounds(look: &Inspection<'_>) -> Vec<Claim> {
    let facts = look.facts;
    let Some(units) = facts.machine.as_ref().and_then(|machine| machine.units) else { return Vec::new() };
    let mut by_operator = BTreeMap::new();
    let mut neighbours: HashMap<u32, Option<(Product, f64)>> = HashMap::new();
    for (call, position) in facts.calls.iter().zip(0..) {
        let (Some(product), Some(tile)) = (facts.operators[call.operator as usize].product, call.tile) else {
            continue;
        };
        let own = product.fit(tile, units);
        // No product fits better than entirely.
        if BETTER_FROM * own > 1.0 {
            continue;
        }
        let neighbour = neighbours.entry(call.operator).or_insert_with(|| product.better_neighbour(units));
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
                    "{}: tile and wave quantization leave {:.0}% of the arithmetic useful; at {} x {} it would be \
                     {:.0}%",
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
