use std::collections::BTreeMap;

use sheets::numbers::{counted, duration};

use crate::facts::{Facts, Operator};
use crate::finding::{Bucket, Confidence};
use crate::rule::{Claim, Inspection, Rule, probable};

/// Kernels that bring data into another order or type and compute nothing.
pub(super) struct Layout;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Order,
    Type,
    Copy,
}

impl Rule for Layout {
    fn id(&self) -> &'static str {
        "LAYOUT"
    }

    fn what(&self) -> &'static str {
        "kernels that only reorder, convert or copy data"
    }

    fn remedy(&self) -> &'static str {
        "keep one memory format (channels_last for convolutions) and one type across operators, choose views and strides that the \
         next operator takes as they are; torch.compile fuses what is left into its neighbours"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let changes: Vec<Option<Change>> =
            facts.operators.iter().map(|operator| change(facts, operator)).collect();
        let mut by_change = BTreeMap::new();
        for (call, position) in facts.calls.iter().zip(0..) {
            let Some(kernels) = look.kernels(position) else { continue };
            let of_operator = changes[call.operator as usize];
            for &work in kernels {
                let by_kernel = look.named(look.work(work).name).changes_layout.then_some(Change::Order);
                let Some(change) = by_kernel.or(of_operator) else { continue };
                let found = by_change.entry(change).or_insert_with(|| (Vec::new(), 0, 0, BTreeMap::new()));
                let duration = look.work(work).duration();
                found.0.extend(look.divided(&[work], probable(duration)));
                found.1 += 1;
                found.2 += duration;
                *found.3.entry(facts.operators[call.operator as usize].name).or_insert(0) += duration;
            }
        }
        let claims = by_change.into_iter().map(|(change, (parts, kernels, time, operators))| {
            let most = operators.into_iter().max_by_key(|&(_, time)| time);
            let most = most.map_or("", |(name, _)| facts.name(name));
            let subject = match change {
                Change::Order => "other order",
                Change::Type => "other type",
                Change::Copy => "copies of the same type",
            };
            Claim::new(Bucket::Computation, format!("{subject}: most in {most}"), parts)
                .with_confidence(Confidence::Medium)
                .with_evidence(format!(
                    "{} in {}",
                    duration(facts.us(time)),
                    counted(kernels, "kernel", "kernels")
                ))
                .with_row("unified_perf_summary", "name", most)
        });
        claims.collect()
    }
}

/// What an operator changes besides values, by its name and the types of its inputs.
fn change(facts: &Facts, operator: &Operator) -> Option<Change> {
    match (facts.name(operator.name), operator.inputs.as_slice()) {
        ("aten::copy_", [to, from, ..]) if to.element_bytes != from.element_bytes => Some(Change::Type),
        ("aten::copy_" | "aten::clone" | "aten::contiguous", _) => Some(Change::Copy),
        ("aten::_to_copy" | "aten::to", _) => Some(Change::Type),
        _ => None,
    }
}
