use std::collections::BTreeMap;

use sheets::numbers::{counted, duration};

use crate::facts::{DataChange, Program};
use crate::finding::Confidence;
use crate::rule::{Claim, Inspection, Rule};

/// Kernels that only reorder or convert data.
pub(super) struct Layout;

impl Rule for Layout {
    fn id(&self) -> &'static str {
        "LAYOUT"
    }

    fn what(&self) -> &'static str {
        "layout and dtype conversions"
    }

    fn remedy(&self, program: Program) -> &'static str {
        match program {
            Program::Xla => {
                "choose shapes and layouts that matmuls and convolutions use unchanged (NHWC, multiples of \
                 the tile), and one dtype throughout; the rest comes from layout assignment: see the HLO of \
                 these instructions"
            }
            Program::Native => {
                "keep data in the layout and type that the next kernel reads, or fuse the conversion into a \
                 neighboring kernel"
            }
            Program::PyTorch => {
                "keep one memory format (channels_last for convolutions) and one dtype, with views and strides that \
                 the next operator accepts; torch.compile fuses the rest into its neighbors"
            }
        }
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let mut by_change = BTreeMap::new();
        for (call, position) in facts.calls.iter().zip(0..) {
            let Some(kernels) = look.kernels(position) else { continue };
            let operator_change = facts.operators[call.operator as usize].change;
            for &work in kernels {
                let by_kernel = look.named(look.work(work).name).changes_layout.then_some(DataChange::Order);
                let Some(change) = by_kernel.or(operator_change) else { continue };
                let found = by_change.entry(change).or_insert_with(|| (Vec::new(), 0, 0, BTreeMap::new()));
                let duration = look.work(work).duration();
                found.0.extend(look.divided(&[work], duration));
                found.1 += 1;
                found.2 += duration;
                *found.3.entry(facts.operators[call.operator as usize].name).or_insert(0) += duration;
            }
        }
        let claims = by_change.into_iter().map(|(change, (parts, kernels, time, operators))| {
            let most = operators.into_iter().max_by_key(|&(_, time)| time);
            let most = most.map_or("", |(name, _)| facts.name(name));
            let subject = match change {
                DataChange::Order => "layout",
                DataChange::Type => "dtype",
                DataChange::Copy => "plain copies",
                DataChange::Padding => "padding",
            };
            Claim::new(format!("{subject}: mostly in {most}"), parts)
                .with_range(0.75, 1.0)
                .with_confidence(Confidence::Medium)
                .with_evidence(format!(
                    "{} in {}",
                    duration(facts.us(time)),
                    counted(kernels, "kernel", "kernels")
                ))
                .with_row(facts.sheets.operators, most)
        });
        claims.collect()
    }
}
