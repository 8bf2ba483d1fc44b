use hashbrown::HashMap;
use sheets::numbers::{counted, duration};

use crate::facts::Program;
use crate::finding::Confidence;
use crate::rule::{Claim, Inspection, Part, Rule};

/// Work that takes longer than in an earlier recording.
pub(super) struct Regression;

/// Work is slower from so much of its earlier time on: below, recordings of one program differ.
const FROM: f64 = 0.01;

impl Rule for Regression {
    fn id(&self) -> &'static str {
        "REGRESSION"
    }

    fn what(&self) -> &'static str {
        "work that takes longer than in the baseline"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "tracelens diff shows the kernels of both recordings side by side; tracelens gate says whether the step as a whole is slower"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        if facts.regressions.is_empty() {
            return Vec::new();
        }
        let positions: HashMap<u32, u32> =
            facts.works.iter().zip(0..).map(|(work, position)| (work.uid, position)).collect();
        // Equal work, such as that of the layers of a model, is one finding.
        let mut by_name: indexmap::IndexMap<&str, (Vec<Part>, usize, i64, i64)> = indexmap::IndexMap::new();
        for slower in &facts.regressions {
            let change = slower.after - slower.before;
            if (change as f64) < FROM * slower.before as f64 {
                continue;
            }
            let works: Vec<u32> = slower.uids.iter().filter_map(|uid| positions.get(uid).copied()).collect();
            let found = by_name.entry(&slower.name).or_default();
            found.0.extend(look.divided(&works, change));
            found.1 += 1;
            found.2 += slower.before;
            found.3 += slower.after;
        }
        let claims = by_name.into_iter().map(|(name, (parts, calls, before, after))| {
            Claim::new(name, parts)
                .with_range(0.75, 1.0)
                .with_confidence(Confidence::High)
                .with_evidence(format!(
                    "{}: {} in the baseline, {} now",
                    counted(calls, "call", "calls"),
                    duration(facts.us(before)),
                    duration(facts.us(after))
                ))
                .with_row(facts.sheets.operators, name)
        });
        claims.collect()
    }
}
