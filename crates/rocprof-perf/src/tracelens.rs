//! Figures as TraceLens prints them where they are known to be wrong, for comparison
//! ([`RocprofOptions::parity`](crate::RocprofOptions::parity)). Nothing else needs this module.
//!
//! Besides what stands here, [`RocprofAnalysis`](crate::RocprofAnalysis) gives nanoseconds under headers that say µs and
//! µs under headers that say ms (`us`, `ms`), and so takes the threshold of short kernels for nanoseconds; and
//! [`HipLaunches`](crate::pftrace::hip_launches::HipLaunches) matches by correlation numbers alone.

use std::cmp::Reverse;

use gpu_timeline::Interval;
use sheets::{ColumnKind, Unit, percent};
use trace_ingest::Nanoseconds;
use trace_ingest::rocprof::{Process, Profile, SourceFormat};

/// What kernels are called that name no agent.
pub(crate) const UNKNOWN_AGENT: &str = "0";

/// Whether figures count what a process did: TraceLens reads one format, and of that the first process.
pub(crate) fn reads_process(profile: &Profile, process: u32) -> bool {
    process == 0 || profile.source != SourceFormat::Json
}

/// The total of the timeline: the time of the first process, however little the profile says of it.
/// `None` of formats that TraceLens does not read.
pub(crate) fn total_time(profile: &Profile) -> Option<Nanoseconds> {
    let process = profile.processes.first();
    let time = |of: fn(&Process) -> Option<Nanoseconds>| process.and_then(of).unwrap_or_default();
    let total = time(|process| process.fini) - time(|process| process.init);
    (profile.source == SourceFormat::Json).then_some(total)
}

/// Times that are whole nanoseconds stay integers.
pub(crate) const WHOLE_TIME: ColumnKind = ColumnKind::Whole(Unit::Nanoseconds);

/// The rows, most time first, each with the shares that are summed up in doubles before the rows are sorted.
pub(crate) fn ranked<R>(rows: Vec<R>, total: i64, time: impl Fn(&R) -> i64) -> Vec<(R, f64)> {
    let mut running = 0.0;
    let add = |row: R| {
        running += percent(time(&row), total).unwrap_or(0.0);
        (row, running)
    };
    let mut rows: Vec<(R, f64)> = rows.into_iter().map(add).collect();
    rows.sort_by_key(|(row, _)| Reverse(time(row)));
    rows
}

/// Whether work that a HIP call launched counts as a kernel: whatever has the suffix of code objects in its name, and
/// of the rest what took time and has no `register` in its name.
pub(crate) fn is_kernel(name: &str, length: Nanoseconds) -> bool {
    let name = name.to_ascii_lowercase();
    let has_suffix = name.ends_with(".kd") || name.contains(".kd ");
    has_suffix || (length > Nanoseconds(0) && !name.contains("register"))
}

/// Time that communication shares with computation: that of each collective with each computing kernel, from the first
/// that ends behind the collective's start to the first that outlasts the collective. Both lists are sorted by start.
/// Kernels that run at once count several times, so that the sum may exceed all communication.
pub(crate) fn overlapped_communication(communication: &[Interval], compute: &[Interval]) -> i64 {
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
