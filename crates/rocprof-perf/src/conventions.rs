//! The rules on which reports of rocprofv3 profiles differ.

use std::cmp::Reverse;

use gpu_timeline::{Interval, SortFew};
use sheets::{Layout, Scope, percent};
use trace_ingest::Nanoseconds;

/// How figures are made and shown where reports of other tools differ from ours. The default is ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conventions {
    /// How much a report tells.
    pub scope: Scope,
    /// Which columns tables have, and in which order.
    pub layout: Layout,
    /// What kernels are called by what they do.
    pub categories: KernelCategories,
    /// What figures under headers with a unit are in.
    pub units: TimeUnits,
    /// Whose records count.
    pub processes: Processes,
    /// Down to which row a cumulated share adds up.
    pub cumulation: Cumulation,
    /// What counts as communication that overlaps computation.
    pub overlap: OverlapRule,
    /// How HIP calls and what they launched are matched.
    pub launches: LaunchRule,
    /// What the timeline of all GPUs together is of.
    pub timeline: TimelineRule,
    /// What the agent of kernels is called that name none.
    pub unknown_agent: Option<&'static str>,
}

/// What kernels are called by what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelCategories {
    /// As in reports of traces, such as `GEMM`, `SDPA_fwd` and `elementwise`, by the full names.
    #[default]
    Trace,
    /// In few words, such as `GEMM`, `Attention` and `Elementwise`, by the names that are shown.
    Short,
}

/// What figures under headers with a unit are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnits {
    /// The unit of the header.
    #[default]
    Header,
    /// Nanoseconds under headers that say µs, and µs under those that say ms. The threshold of short kernels is in ns, too.
    AThousandthBelow,
}

/// Whose records count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processes {
    /// Those of all processes.
    #[default]
    All,
    /// In JSON those of the first process. Where the timeline is of processes, its time is the total, however little the
    /// profile says of it.
    First,
}

/// Down to which row a cumulated share adds up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cumulation {
    /// In the order that is shown, most time first.
    #[default]
    Ranked,
    /// In the order in which kernels were found, before they are sorted.
    AsFound,
}

/// What counts as communication that overlaps computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverlapRule {
    /// Time in which both ran.
    #[default]
    Time,
    /// The time that each collective shares with each kernel; kernels that run at once count several times.
    Pairs,
}

/// How HIP calls and what they launched are matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaunchRule {
    /// By process and correlation number; of several calls the innermost counts, and of work one that took time.
    #[default]
    ProcessAndNumber,
    /// By the number alone, whatever it is; the last call in the file counts, and of work what has the suffix of code objects or took
    /// time.
    Number,
}

/// What the timeline of all GPUs together is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimelineRule {
    /// The time from the first start of a kernel or copy to the last end: the window of the first page.
    #[default]
    DeviceWork,
    /// The time of the processes, widened to all that ran, as far as the profile says it. A profile of copies alone has none.
    Processes,
}

/// [`Cumulation::AsFound`]: the rows, most time first, each with the shares that are summed up in doubles before the rows are
/// sorted.
pub(crate) fn cumulated_as_found<R>(rows: Vec<R>, total: i64, time: impl Fn(&R) -> i64) -> Vec<(R, f64)> {
    let mut running = 0.0;
    let add = |row: R| {
        running += percent(time(&row), total).unwrap_or(0.0);
        (row, running)
    };
    let mut rows: Vec<(R, f64)> = rows.into_iter().map(add).collect();
    rows.sort_few_by_key(|(row, _)| Reverse(time(row)));
    rows
}

/// [`LaunchRule::Number`]: whether work that a HIP call launched counts as a kernel: whatever has the suffix of code objects in its name, and
/// of the rest what took time and has no `register` in its name.
pub(crate) fn is_kernel(name: &str, length: Nanoseconds) -> bool {
    let name = name.to_ascii_lowercase();
    let has_suffix = name.ends_with(".kd") || name.contains(".kd ");
    has_suffix || (length > Nanoseconds(0) && !name.contains("register"))
}

/// [`OverlapRule::Pairs`]: time that communication shares with computation: that of each collective with each computing kernel, from the first
/// that ends behind the collective's start to the first that outlasts the collective. Both lists are sorted by start.
/// Kernels that run at once count several times, so that the sum may exceed all communication.
pub(crate) fn overlapped_pairs(communication: &[Interval], compute: &[Interval]) -> i64 {
    let mut first = 0;
    let mut overlapped = 0;
    for &collective in communication {
        while compute.get(first).is_some_and(|kernel| kernel.end <= collective.start) {
            first += 1;
        }
        for &kernel in compute[first..].iter().take_while(|kernel| kernel.start < collective.end) {
            overlapped += collective.shared_time(kernel);
            if kernel.end > collective.end {
                break;
            }
        }
    }
    overlapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_known_by_suffix_or_time() {
        for (name, length, expected) in [
            ("kA.kd", 0, true),
            ("register_tiles.kd", 5, true),
            ("kA(float*) [clone .kd] ", 0, false),
            ("a.kd (x)", 0, true),
            ("kA", 0, false),
            ("kA", 1, true),
            ("Register_tiles", 5, false),
        ] {
            assert_eq!(is_kernel(name, Nanoseconds(length)), expected, "{name}");
        }
    }
}
