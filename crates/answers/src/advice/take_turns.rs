//! The rule on devices that run one after the other.

use advise::{Bucket, Claim, Inspection, Program, Rule};
use sheets::numbers::decimal;

use super::trace_rules::TraceRules;

pub(super) const RULES: TraceRules = TraceRules {
    ids: &[ID],
    make: |examined| {
        let several = examined.run.timelines_of_devices().len() > 1;
        let turns = several.then(|| examined.run.finding()).flatten().filter(|finding| finding.take_turns);
        let rule = turns.map(|finding| TakeTurns { idle_of_devices: finding.idle_of_devices });
        rule.map(|rule| Box::new(rule) as Box<dyn Rule>).into_iter().collect()
    },
};

const ID: &str = "DEVICES-TAKE-TURNS";

/// Devices that hardly ever run at the same time, such as those that hold the layers of one model without a pipeline.
struct TakeTurns {
    /// Share of its window in which each device is idle, 0 to 1.
    idle_of_devices: Vec<f64>,
}

impl Rule for TakeTurns {
    fn id(&self) -> &'static str {
        ID
    }

    fn what(&self) -> &'static str {
        "only one device works at a time"
    }

    fn remedy(&self, _: Program) -> &'static str {
        "run them concurrently: pipeline micro-batches across the devices, or split layers (tensor \
         parallelism) or batches (data parallelism)"
    }

    fn claims(&self, _: &Inspection<'_>) -> Vec<Claim> {
        let count = self.idle_of_devices.len();
        let idle = self.idle_of_devices.iter().sum::<f64>() / count as f64 * 100.0;
        let text =
            format!("on average, each of the {count} devices is idle {}% of its window", decimal(idle, 1));
        vec![Claim::without_time(Bucket::Idle, format!("{count} devices")).with_evidence(text)]
    }
}
