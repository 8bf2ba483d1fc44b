#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod breakdown;
mod histogram;
mod interval;
mod interval_set;
mod overlap;
mod summary;

pub use breakdown::{Activity, Breakdown, IdleSplit, TimelineEvent};
pub use histogram::Histogram;
pub use interval::Interval;
pub use interval_set::{IntervalSet, busy_time};
pub use overlap::{GroupOverlap, Overlaps, SharedTime, StreamEvent, overlaps};
pub use summary::{Spread, Summary, percentile, quantile, summaries};
