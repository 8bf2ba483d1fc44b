#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod baseline;
mod block;
mod comparability;
mod document;
mod gate;
mod junit;
mod ledger;
mod location;
mod markdown;
mod metric;
mod recording;
mod rule;
mod student;
mod thresholds;
mod words;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub use baseline::{
    BASELINE_SCHEMA, BaselineError, MOST_BASELINE_BYTES, baseline_schema, is_baseline, read_baseline,
    write_baseline,
};
pub use block::{Block, BlockReason, SAME_JOB_NS, blocks};
pub use comparability::{Check, CheckName, CheckOutcome, Comparability, Likeness, Side, UnknownCheck};
pub use gate::{FEWEST_STEPS, Gate, GateError, MetricResult, Verdict};
pub use ledger::{Change, Ledger, LedgerLine, Part};
pub use location::Location;
pub use metric::{Metric, UnknownMetric};
pub use recording::{Inconsistent, MOST_STEPS, MOST_UNITS, Recording, Rest, Setup, Steps, Unit, Workload};
pub use rule::{
    Decision, Estimate, FEWEST_BLOCKS_OF_NOISE, Limits, Noise, benjamini_hochberg, holm, percent,
};
pub use student::{t_quantile, t_upper_tail};
pub use thresholds::{
    Exception, GatedMetric, Inconclusive, THRESHOLDS_TEMPLATE, Thresholds, ThresholdsError, share,
};
