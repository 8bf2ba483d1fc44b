//! A verdict for programs.

use gpu_timeline::median;
use serde::Serialize;

use crate::comparability::{Check, Likeness};
use crate::gate::{Gate, Verdict};
use crate::ledger::LedgerLine;
use crate::metric::Metric;
use crate::recording::Recording;
use crate::rule::{Estimate, percent};

/// What a document says of itself first.
const SCHEMA: &str = "tracelens.gate/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    verdict: Verdict,
    headline: String,
    slowdown_pct: Option<f64>,
    metrics: Vec<MetricRecord<'a>>,
    comparability: ComparabilityRecord<'a>,
    ledger: LedgerRecord<'a>,
    baseline: Vec<RecordingRecord>,
    candidate: Vec<RecordingRecord>,
    remarks: &'a [String],
}

#[derive(Serialize)]
struct MetricRecord<'a> {
    name: &'a Metric,
    /// Unit of `a` and `b`.
    unit: &'static str,
    a: f64,
    b: f64,
    slowdown_pct: Option<f64>,
    lower_pct: Option<f64>,
    upper_pct: Option<f64>,
    p: Option<f64>,
    blocks: [usize; 2],
    noise: Option<NoiseRecord>,
    slower_by_pct: Option<f64>,
    rule_out_pct: Option<f64>,
    more_by: Option<u64>,
    exception: Option<ExceptionRecord<'a>>,
    verdict: &'static str,
    because: Option<&'a str>,
}

#[derive(Serialize)]
struct NoiseRecord {
    sd_pct: f64,
    assumed: bool,
}

#[derive(Serialize)]
struct ExceptionRecord<'a> {
    until: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct ComparabilityRecord<'a> {
    likeness: Option<Likeness>,
    checks: &'a [Check],
}

#[derive(Serialize)]
struct LedgerRecord<'a> {
    step_ns: [i64; 2],
    delta_ns: i64,
    lines: Vec<LineRecord<'a>>,
}

#[derive(Serialize)]
struct LineRecord<'a> {
    #[serde(flatten)]
    line: &'a LedgerLine,
    delta_ns: i64,
    share_pct: Option<f64>,
    share_of_slower_pct: Option<f64>,
}

#[derive(Serialize)]
struct RecordingRecord {
    file: String,
    hash: String,
    block: Option<usize>,
    steps: usize,
    counted_steps: usize,
    step_ns: f64,
}

impl Gate {
    /// The verdict with all that it rests on, as JSON.
    ///
    /// # Errors
    /// Never in practice: all of it can be written as JSON.
    pub fn to_json(&self) -> serde_json::Result<serde_json::Value> {
        let metrics = self.metrics.iter().map(|metric| {
            let of = |value: fn(&Estimate) -> f64| metric.estimate.as_ref().map(|of| percent(value(of)));
            let is_time = !metric.metric.is_count();
            MetricRecord {
                name: &metric.metric,
                unit: if is_time { "ns" } else { "1" },
                a: metric.values[0],
                b: metric.values[1],
                slowdown_pct: of(|estimate| estimate.difference),
                lower_pct: of(|estimate| estimate.lower),
                upper_pct: of(|estimate| estimate.upper),
                p: metric.p,
                blocks: self.blocks.each_ref().map(Vec::len),
                noise: metric
                    .noise
                    .map(|noise| NoiseRecord { sd_pct: 100.0 * noise.sd, assumed: !noise.is_measured }),
                slower_by_pct: is_time.then_some(100.0 * metric.limits.slower_by),
                rule_out_pct: is_time.then_some(100.0 * metric.limits.rule_out),
                more_by: (!is_time).then_some(metric.more_by),
                exception: metric.exception.as_ref().map(|(until, reason)| ExceptionRecord { until, reason }),
                verdict: metric.decision.as_str(),
                because: metric.because.as_deref(),
            }
        });
        let lines = self.ledger.lines.iter().map(|line| LineRecord {
            line,
            delta_ns: line.delta(),
            share_pct: self.ledger.share(line),
            share_of_slower_pct: self.ledger.share_of_slower(line),
        });
        let recordings = |side: usize| {
            let record = |(at, recording): (usize, &'_ Recording)| {
                let mut counted = Metric::StepWall.values(recording, self.warmup);
                let block = self.blocks[side].iter().position(|block| block.recordings.contains(&at));
                RecordingRecord {
                    file: recording.file.clone(),
                    hash: recording.hash.clone(),
                    block,
                    steps: recording.steps.recorded,
                    counted_steps: counted.len(),
                    step_ns: median(&mut counted).unwrap_or(0.0),
                }
            };
            self.sides[side].iter().enumerate().map(record).collect()
        };
        let first = self.first_metric().and_then(|metric| metric.estimate);
        serde_json::to_value(Document {
            schema: SCHEMA,
            verdict: self.verdict,
            headline: self.headline(),
            slowdown_pct: first.map(|estimate| percent(estimate.difference)),
            metrics: metrics.collect(),
            comparability: ComparabilityRecord {
                likeness: self.comparability.likeness,
                checks: &self.comparability.checks,
            },
            ledger: LedgerRecord {
                step_ns: self.ledger.step_ns,
                delta_ns: self.ledger.delta(),
                lines: lines.collect(),
            },
            baseline: recordings(0),
            candidate: recordings(1),
            remarks: &self.remarks,
        })
    }
}
