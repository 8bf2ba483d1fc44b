//! The first page of a report.

use advise::Finding;
use gpu_timeline::Breakdown;
use operator_sheets::{BestRates, RooflineShares, Rooflines};
use perf_models::Architecture;
use serde_json::{Value, json};
use tree_perf::{KernelTotal, SanityCheck};

/// The first page of a report; the tables with an [`excerpt`](sheets::Table::excerpt) belong to it too.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// What was recorded: the name, the devices, how much of what.
    pub head: Vec<String>,
    /// What is known of the recorder, such as versions, by item.
    pub recorder: Vec<(&'static str, String)>,
    /// What the figures cover, and what bounds the work, a sentence each.
    pub statements: Vec<String>,
    /// How busy the devices were.
    pub timelines: Vec<Timeline>,
    /// How many devices have their timeline in the tables only, and in which.
    pub more_timelines: Option<(usize, &'static str)>,
    /// What the program did, a sentence each.
    pub program: Vec<String>,
    /// The tables of operators held against the device's work, where that was checked.
    pub check: Option<SanityCheck>,
    /// The kernels with the most time, where no table has them.
    pub kernels: Vec<KernelTotal>,
    /// How much of the device time the models know, and what of it is lost.
    pub coverage: Option<RooflineShares>,
    /// What the work is held against, and what its peaks are, where the device is known: `H100-SXM (nominal peaks)`.
    pub architecture: Option<String>,
    /// What to change first: the first findings of the advice.
    pub findings: Vec<Finding>,
    /// Sheets that are missing for what is wrong with the recording, and why.
    pub left_out: Vec<LeftOut>,
    /// The highest rates of the recording, which stand in for peaks where the device is not known.
    pub best_rates: Option<BestRates>,
}

impl Summary {
    /// The first page as figures.
    pub(crate) fn to_json(&self) -> Value {
        let devices = self.timelines.iter().map(Timeline::to_json);
        let coverage = self.coverage.as_ref().map(|coverage| {
            json!({
                "modelled_pct": coverage.modelled_percent,
                "rest_pct": named(coverage.rest.iter().map(|(name, percent)| (*name, *percent))),
                "near_roofline_pct": coverage.near_percent,
                "lost_us": named(coverage.losses.iter().map(|(name, us)| (name.as_str(), *us))),
            })
        });
        json!({
            "head": self.head,
            "recorder": self.recorder.iter().map(|(item, value)| json!({"item": item, "value": value})).collect::<Vec<_>>(),
            "statements": self.statements,
            "devices": devices.collect::<Vec<_>>(),
            "program": self.program,
            "architecture": self.architecture,
            "coverage": coverage,
        })
    }

    /// Timelines that a first page has room for.
    pub(crate) const MOST_TIMELINES: usize = 4;

    pub(crate) fn more_timelines(devices: usize, sheet: &'static str) -> Option<(usize, &'static str)> {
        devices.checked_sub(Self::MOST_TIMELINES).filter(|&more| more > 0).map(|more| (more, sheet))
    }

    /// An architecture with what its peaks are.
    pub(crate) fn architecture(architecture: &Architecture) -> String {
        format!("{} ({})", architecture.name, architecture.peaks_in_words())
    }

    pub(crate) fn best_rates(
        analysis: &impl Rooflines,
        architecture: Option<&Architecture>,
    ) -> Option<BestRates> {
        if architecture.is_some() { None } else { BestRates::new(analysis) }
    }
}

/// Sheets that a report would have of a better recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Their names.
    pub sheets: Vec<&'static str>,
    /// The rule of `doctor` that found it.
    pub rule: &'static str,
    /// What the recording lacks.
    pub lacks: String,
    /// What to do about it.
    pub remedy: &'static str,
}

impl LeftOut {
    /// What the recording lacks, by which rule, and what to do about it.
    pub(crate) fn why(&self) -> String {
        format!("{} ({}). {}", self.lacks, self.rule, self.remedy)
    }
}

/// What a device did from its first event to the end of its last.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// The device, as its recorder names it.
    pub device: String,
    /// The whole span in µs.
    pub total_us: f64,
    /// Time with at least one event in µs.
    pub busy_us: f64,
    /// Time without any event in µs.
    pub idle_us: f64,
    /// The whole in parts that add up to it.
    pub breakdown: Breakdown,
}

/// Names with their figures.
fn named<'n>(figures: impl Iterator<Item = (&'n str, f64)>) -> Vec<Value> {
    figures.map(|(name, value)| json!({"name": name, "value": value})).collect()
}

impl Timeline {
    /// Times in µs that add up to the whole.
    fn to_json(&self) -> Value {
        let Timeline { device, total_us, busy_us, idle_us, breakdown } = self;
        // The breakdown is in the recording's unit.
        let us = |time: i64| {
            if breakdown.total == 0 { 0.0 } else { total_us * time as f64 / breakdown.total as f64 }
        };
        json!({
            "device": device,
            "total_us": total_us,
            "busy_us": busy_us,
            "idle_us": idle_us,
            "computation_us": us(breakdown.computation),
            "exposed_communication_us": us(breakdown.exposed_communication),
            "exposed_memcpy_us": us(breakdown.exposed_memcpy),
        })
    }

    pub(crate) fn new(device: impl Into<String>, breakdown: Breakdown, us: impl Fn(i64) -> f64) -> Self {
        Timeline {
            device: device.into(),
            total_us: us(breakdown.total),
            busy_us: us(breakdown.busy),
            idle_us: us(breakdown.idle),
            breakdown,
        }
    }
}

/// Devices of one name with their number: `8 × NVIDIA H200`.
pub(crate) fn devices(count: usize, name: &str) -> String {
    if count > 1 { format!("{count} × {name}") } else { name.to_owned() }
}
