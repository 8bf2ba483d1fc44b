//! What the sheets of a profile leave out or assume.

use std::fmt;

use super::analysis::RocprofAnalysis;
use super::pftrace::PftraceOmission;
use super::sheets::{outside_process_times, short_kernels, window};

/// Something of a profile that a reader of its sheets ought to know.
#[derive(Clone, Debug, PartialEq)]
pub enum RocprofNotice {
    /// No kernel ran, as far as the profile says.
    NoKernels,
    /// No kernel is as short as was asked for.
    NoShortKernels {
        /// The threshold in µs.
        threshold_us: f64,
    },
    /// The profile does not say when its processes began and ended: the timeline's total is that from the first start
    /// to the last end.
    NoProcessTimes,
    /// Records lie before the profiler was set up or after it ended: the timeline's total reaches from the first to the
    /// last.
    OutsideProcessTimes {
        /// How many kernels and copies.
        records: usize,
    },
    /// The figures are those of the reference tool.
    ReferenceFigures,
    /// A table that is known from Perfetto traces leaves records out.
    Pftrace(PftraceOmission),
}

impl RocprofNotice {
    pub(super) fn of(analysis: &RocprofAnalysis) -> Vec<Self> {
        let options = analysis.options();
        let mut notices = Vec::new();
        if options.parity {
            notices.push(RocprofNotice::ReferenceFigures);
        }
        let has_kernels = analysis.dispatches().next().is_some();
        if !has_kernels {
            notices.push(RocprofNotice::NoKernels);
        }
        let has_records = has_kernels || analysis.copies().next().is_some();
        if has_records && !window(analysis).is_of_processes {
            notices.push(RocprofNotice::NoProcessTimes);
        }
        let records = outside_process_times(analysis);
        if records > 0 {
            notices.push(RocprofNotice::OutsideProcessTimes { records });
        }
        if has_kernels && options.short_kernel_study && short_kernels(analysis).next().is_none() {
            let threshold_us = options.short_kernel_threshold_us;
            notices.push(RocprofNotice::NoShortKernels { threshold_us });
        }
        notices.extend(PftraceOmission::of(analysis).into_iter().map(RocprofNotice::Pftrace));
        notices
    }
}

impl fmt::Display for RocprofNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RocprofNotice::NoKernels => f.write_str(
                "No kernel events found. Check that rocprofv3 was given --kernel-trace (--sys-trace and \
                 --runtime-trace include it), that the program launched work on a GPU and did not fall back to the \
                 CPU, that the GPU was visible to it (ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES), that this is the \
                 profile of the process that launched the work and not of a launcher or another rank, that no filter \
                 (--kernel-include-regex, --kernel-exclude-regex, --collection-period) left the kernels out, and that \
                 the program ended by itself, so that the profiler could write what it held",
            ),
            RocprofNotice::NoShortKernels { threshold_us } => {
                write!(f, "No kernels found with duration < {threshold_us} µs")
            }
            RocprofNotice::NoProcessTimes => f.write_str(
                "the profile does not say when the processes began and ended: total_time is that from the first start \
                 to the last end of what ran",
            ),
            RocprofNotice::OutsideProcessTimes { records } => write!(
                f,
                "{records} kernels and copies lie outside of the time in which the profiler was active in its \
                 processes: total_time reaches from the first of all to the last"
            ),
            RocprofNotice::Pftrace(omission) => omission.fmt(f),
            RocprofNotice::ReferenceFigures => f.write_str(
                "figures as the reference tool prints them: outside of gpu_timeline, columns that say µs hold ns and \
                 columns that say ms hold µs",
            ),
        }
    }
}
