use std::collections::{BTreeMap, BTreeSet};

use sheets::numbers::{counted, duration};

use crate::facts::{Program, RecordingGap};
use crate::finding::{Bucket, Confidence};
use crate::rule::{Claim, Inspection, Rule};

/// Operators with much time and no performance model.
pub(super) struct Unmodelled;

/// Least share of the window of an operator that is named.
const FROM: f64 = 0.01;

impl Rule for Unmodelled {
    fn id(&self) -> &'static str {
        "UNMODELLED"
    }

    fn what(&self) -> &'static str {
        "no performance model: efficiency unknown"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "record shapes (record_shapes=True), or define the operator's work in a script (--extension_file)"
    }

    fn claims(&self, look: &Inspection<'_>) -> Vec<Claim> {
        let facts = look.facts;
        // Without operators nothing is modelled, by the nature of the recording or as the rule about it says.
        if facts.program == Program::Native || facts.gaps.contains(&RecordingGap::Operators) {
            return Vec::new();
        }
        // By the calls themselves: one that does work of several kinds comes once for each of them.
        let mut by_name: BTreeMap<(u32, &str), (i64, BTreeSet<u32>)> = BTreeMap::new();
        for (call, position) in facts.calls.iter().zip(0..) {
            let operator = facts.operator(position);
            let Some(why) = operator.unknown.filter(|_| look.kernels(position).is_some()) else { continue };
            let exposed: i64 =
                look.works_of[position as usize].iter().map(|&work| look.work(work).exposed).sum();
            let sum = by_name.entry((facts.operators[call.operator as usize].name, why)).or_default();
            sum.0 += exposed;
            sum.1.insert(call.uid);
        }
        let share = |time: i64| time as f64 / facts.window().max(1) as f64;
        let large = by_name.into_iter().filter(|(_, (time, _))| share(*time) >= FROM);
        let claims = large.map(|((name, why), (time, calls))| {
            let name = facts.name(name);
            Claim::without_time(Bucket::Computation, name)
                .with_confidence(Confidence::High)
                .with_evidence(format!(
                    "{}, {:.1}% of the window ({}): {why}",
                    counted(calls.len(), "call", "calls"),
                    share(time) * 100.0,
                    duration(facts.us(time))
                ))
                .with_row(facts.sheets.operators, name)
        });
        claims.collect()
    }
}
