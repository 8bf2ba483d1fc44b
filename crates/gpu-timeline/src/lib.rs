#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod breakdown;
mod concurrency;
mod device_event;
mod held_samples;
mod histogram;
mod interval;
mod interval_set;
mod likeness;
mod overlap;
mod queue_length;
mod sequences;
mod sort_few;
mod suffix_array;
mod summary;
mod waits;

pub use breakdown::{Breakdown, IdleSplit, exposed_times};
pub use concurrency::{ConcurrentRate, OverlapMatrix};
pub use device_event::{Activity, DeviceEvent};
pub use held_samples::HeldSamples;
pub use histogram::Histogram;
pub use interval::{Interval, ReversedInterval};
pub use interval_set::{IntervalSet, busy_time};
pub use likeness::likeness;
pub use overlap::{GroupOverlap, Overlaps, SharedTime, overlaps};
pub use queue_length::QueueLength;
pub use sequences::{RepeatedSequence, repeated_sequences};
pub use sort_few::SortFew;
pub use summary::{Spread, Summary, lower_median, median, percentile, quantile, summaries, upper_median};
pub use waits::{
    Dependency, HostActivity, LINKED_ENOUGH, SHORT_WAIT_US, Wait, WaitCause, device_waits, short_wait,
    stream_waits, with_unrecorded,
};
