//! The rule on work that takes longer than in an earlier recording.

use advise::{Claim, Confidence, Inspection, Part, Program, Rule};
use hashbrown::HashMap;
use sheets::numbers::{counted, duration};
use trace_diff::{DiffOptions, TreeDiff};
use tree_perf::Analysis;

use super::trace_rules::TraceRules;

pub(super) const RULES: TraceRules = TraceRules {
    ids: &[ID],
    make: |examined| {
        let slower = examined.baseline.map(|baseline| slower_work(baseline, examined.run));
        slower.map(|slower| Box::new(Regression { slower }) as Box<dyn Rule>).into_iter().collect()
    },
};

const ID: &str = "REGRESSION";

/// Work that takes longer than in an earlier recording.
struct Regression {
    slower: Vec<SlowerWork>,
}

/// Work that both recordings have.
struct SlowerWork {
    name: String,
    /// Its device events, by how they are known in the recording.
    uids: Vec<u32>,
    /// Its time in the earlier recording, in this one's unit.
    before: i64,
    /// Its time now.
    after: i64,
}

/// Work of a run that another one has too and that takes longer than there.
fn slower_work(baseline: &Analysis, run: &Analysis) -> Vec<SlowerWork> {
    let options =
        DiffOptions { communication: run.options().communication.clone(), ..DiffOptions::default() };
    let diff = TreeDiff::new(baseline.tree(), run.tree(), options);
    let per_us = run.trace().time_unit().per_microsecond() as f64;
    let units = |time: i64| (diff.time_unit().to_microseconds(time) * per_us).round() as i64;
    let events = run.trace().events();
    let slower = diff.unit_work().filter(|unit| unit.events.iter().all(|side| !side.is_empty()));
    let slower = slower.filter(|unit| unit.busy[1] > unit.busy[0]).map(|unit| SlowerWork {
        name: unit.name(),
        uids: unit.events[1].iter().map(|&event| events.uid(event)).collect(),
        before: units(unit.busy[0]),
        after: units(unit.busy[1]),
    });
    slower.collect()
}

/// Work is slower from so much of its earlier time on: below, recordings of one program differ.
const FROM: f64 = 0.01;

impl Rule for Regression {
    fn id(&self) -> &'static str {
        ID
    }

    fn what(&self) -> &'static str {
        "slower than in the baseline"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "tracelens diff shows the kernels of both recordings side by side; tracelens gate says whether the whole step \
         is slower"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        let positions: HashMap<u32, u32> =
            facts.works.iter().zip(0..).map(|(work, position)| (work.uid, position)).collect();
        // Equal work, such as that of the layers of a model, is one finding.
        let mut by_name: indexmap::IndexMap<&str, (Vec<Part>, usize, i64, i64)> = indexmap::IndexMap::new();
        for slower in &self.slower {
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
