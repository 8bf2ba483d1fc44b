//! What else a profile says: calls of the runtime and how long after them the GPU began, what copies moved, how memory
//! was allocated, what ran in the program's ranges, how kernels were launched, and what the hardware counted.

mod agent_names;
mod allocations;
mod api_kernel_latency;
mod api_summary;
mod callers;
mod copies;
mod counter_means;
mod counter_metrics;
mod counters;
mod hardware;
mod launch_shapes;
mod markers;
mod occupancy;
mod statistics;
#[cfg(test)]
mod tests;

pub(super) use callers::Callers;

use super::RocprofAnalysis;
use crate::sheet::Sheet;

/// The sheets of these, in order. Each is there when the profile has its records.
pub(super) static SHEETS: [&Sheet<RocprofAnalysis>; 8] = [
    &api_summary::SHEET,
    &api_kernel_latency::SHEET,
    &copies::SHEET,
    &allocations::SHEET,
    &markers::SHEET,
    &launch_shapes::SHEET,
    &counters::SHEET,
    &counter_metrics::SHEET,
];
