//! A verdict in words, for the terminal and for Markdown.

use sheets::numbers::{counted, decimal, duration, plain};

use crate::comparability::CheckOutcome;
use crate::gate::{Gate, MetricResult, Verdict};
use crate::ledger::LedgerLine;
use crate::metric::Metric;
use crate::rule::{Decision, percent};

impl Gate {
    /// What to do where recordings do not tell.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self.metrics.iter().any(|metric| metric.estimate.is_some() && metric.because.is_some()) {
            // Few steps are the only reason that statistics do not know.
            true => "record more steps in each trace",
            false => "record three traces per side, in separate jobs",
        }
    }

    /// The verdict with what it is first said of, and of a step the part that changed most:
    /// `FAIL, step time +5.1% (+3.5 … +6.7%), limit 2%; largest cause aten::mm (slower kernel)`.
    #[must_use]
    pub fn headline(&self) -> String {
        let verdict = self.verdict.as_str();
        if self.verdict == Verdict::NotComparable {
            let refusing =
                self.comparability.checks.iter().filter(|check| check.outcome == CheckOutcome::Refuse);
            let mut names: Vec<&str> = refusing.map(|check| check.check.as_str()).collect();
            names.dedup();
            return format!("{verdict}: {}", names.join(", "));
        }
        match self.first_metric() {
            Some(metric) => format!("{verdict}, {}{}", metric.in_words(), self.cause_in_words(metric)),
            None => verdict.to_owned(),
        }
    }

    /// The culprit that changed the step most in the direction of the metric's change; nothing of other metrics, and where
    /// the step did not change.
    fn cause_in_words(&self, metric: &MetricResult) -> String {
        let changed = matches!(metric.decision, Decision::Fail | Decision::Improved);
        let [before, after] = metric.values;
        let is_same_way = |line: &&LedgerLine| (line.delta() > 0) == (after > before);
        match self.ledger.culprits().into_iter().find(is_same_way) {
            Some(line) if changed && metric.metric == Metric::StepWall => {
                let share = self.ledger.share(line);
                let share =
                    share.map_or(String::new(), |share| format!(", {}% of the change", decimal(share, 0)));
                format!(
                    "; largest cause {} ({}{share})",
                    sheets::escaped(line.part.name()),
                    line.change.as_str()
                )
            }
            _ => String::new(),
        }
    }

    /// What the verdict rests on: blocks, devices, noise, likeness of the workloads.
    #[must_use]
    pub fn basis(&self) -> String {
        let [blocks_a, blocks_b] = self.blocks.each_ref().map(Vec::len);
        let mut parts = vec![format!("{} vs. {blocks_b}", counted(blocks_a, "job", "jobs"))];
        if let Some(setup) = self.sides[1].first().map(|recording| &recording.setup)
            && let Some(device) = setup.devices.first()
        {
            let world = setup.world_size.map_or(String::new(), |size| format!(", {size} ranks"));
            let count = setup.devices.len();
            let several = if count > 1 { format!("{count} × ") } else { String::new() };
            parts.push(format!("{several}{device}{world}"));
        }
        if let Some(noise) = self.first_metric().and_then(|metric| metric.noise) {
            let source = if noise.is_measured { "measured on the baseline" } else { "assumed, not measured" };
            parts.push(format!("noise between jobs {}% ({source})", decimal(100.0 * noise.sd, 1)));
        }
        if let Some(likeness) = self.comparability.likeness {
            let flops = match likeness.flops_ratio {
                None => "FLOPs unknown".to_owned(),
                Some(ratio) if (ratio - 1.0).abs() < 5e-5 => "FLOPs equal".to_owned(),
                Some(ratio) => format!("FLOPs × {}", decimal(ratio, 4)),
            };
            parts.push(format!("workload similarity {} (calls), {flops}", decimal(likeness.calls, 2)));
        }
        parts.join(" · ")
    }
}

impl MetricResult {
    /// Its change, the bounds and the limit.
    #[must_use]
    pub fn in_words(&self) -> String {
        let name = match &self.metric {
            Metric::StepWall => "step time".to_owned(),
            Metric::GpuBusy => "busy time".to_owned(),
            Metric::Idle => "idle time".to_owned(),
            Metric::ExposedCommunication => "exposed communication".to_owned(),
            Metric::KernelCount => "kernels per step".to_owned(),
            named => sheets::escaped(&named.to_string()).into_owned(),
        };
        let because =
            self.because.as_ref().map_or(String::new(), |because| format!("; {}", sheets::escaped(because)));
        let [a, b] = self.values;
        if self.metric.is_count() {
            return format!("{name} {} → {}, limit +{}", plain(a), plain(b), self.more_by);
        }
        let limit = plain_percent(match self.decision {
            Decision::Fail | Decision::Improved => self.limits.slower_by,
            Decision::Pass | Decision::Inconclusive => self.limits.rule_out,
        });
        let limit = match self.decision {
            Decision::Fail => format!("limit {limit}%"),
            Decision::Improved => format!("more than {limit}% faster"),
            Decision::Pass => format!("below {limit}%"),
            Decision::Inconclusive => format!("neither a failure nor clearly below {limit}%"),
        };
        let limit = if because.is_empty() { format!(", {limit}") } else { because.clone() };
        match self.estimate {
            Some(estimate) => format!(
                "{name} {}% ({} … {}%){limit}",
                signed_percent(estimate.difference),
                signed_percent(estimate.lower),
                signed_percent(estimate.upper),
            ),
            None => format!("{name} {} → {}{because}", duration(a / 1e3), duration(b / 1e3)),
        }
    }
}

/// A difference of logarithms as a change in percent with its sign.
fn signed_percent(difference: f64) -> String {
    let text = decimal(percent(difference), 1);
    if text.starts_with('-') || text == "0.0" { text } else { format!("+{text}") }
}

/// A share in percent, without digits that say nothing.
fn plain_percent(share: f64) -> String {
    let text = decimal(100.0 * share, 2);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
