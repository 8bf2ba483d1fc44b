//! One module per sheet, and the list of them.

mod kernel_details;
mod kernel_summary;
mod short_kernels;
mod timeline;
mod timeline_by_agent;

pub(super) use short_kernels::short_kernels;
pub(super) use timeline::{outside_process_times, window};
pub use timeline_by_agent::{AgentTimeline, agent_timelines};

use std::sync::LazyLock;

use crate::frame::{FrameBuilder, percent};
use crate::rocprof::analysis::RocprofAnalysis;
use crate::rocprof::{details, pftrace};
use crate::sheet::Sheet;

/// The sheets of a profile, in order.
pub fn rocprof_sheets() -> &'static [&'static Sheet<RocprofAnalysis>] {
    static OWN: [&Sheet<RocprofAnalysis>; 7] = [
        &timeline::SHEET,
        &kernel_summary::BY_NAME,
        &kernel_summary::BY_CATEGORY,
        &kernel_details::SHEET,
        &short_kernels::SUMMARY,
        &short_kernels::HISTOGRAM,
        &timeline_by_agent::SHEET,
    ];
    static ALL: LazyLock<Vec<&'static Sheet<RocprofAnalysis>>> =
        LazyLock::new(|| OWN.into_iter().chain(details::SHEETS).chain(pftrace::SHEETS).collect());
    &ALL
}

/// A column in µs of times in nanoseconds; of the times themselves, as whole numbers, for the figures of the
/// reference.
fn whole_times(
    frame: &mut FrameBuilder,
    analysis: &RocprofAnalysis,
    name: &str,
    times: impl Iterator<Item = i64>,
) {
    match analysis.options().parity {
        true => frame.integer(name, times.map(Some)),
        false => frame.float(name, times.map(|time| Some(analysis.us(time as f64)))),
    }
}

/// A share in percent; nothing has no share of nothing.
fn share(part: i64, whole: i64) -> f64 {
    percent(part, whole).unwrap_or(0.0)
}
