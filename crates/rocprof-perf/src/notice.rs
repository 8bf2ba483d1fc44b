//! What the sheets of a profile leave out or assume.

use trace_ingest::Nanoseconds;

use crate::analysis::RocprofAnalysis;
use crate::conventions::TimeUnits;
use crate::pftrace::hip_launches::hip_calls;
use crate::sheets::kernels::short_kernels;
use crate::sheets::timeline::{outside_process_times, spans_processes, window};

/// A notice about a profile for the reader of its sheets.
#[derive(Clone, Debug, PartialEq, thiserror::Error, miette::Diagnostic)]
pub enum RocprofNotice {
    /// No kernel ran, as far as the profile says.
    #[error("No kernel events found")]
    #[diagnostic(
        code("rocprof/no-kernels"),
        severity(Warning),
        help(
            "check: rocprofv3 ran with --kernel-trace (or --sys-trace, --runtime-trace); the program saw the GPU (ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES) and did not fall back to the CPU; this is the profile of the process that launched the work, not of a launcher or another rank; no filter (--kernel-include-regex, --kernel-exclude-regex, --collection-period) dropped the kernels; the program exited normally, so the profiler could flush"
        )
    )]
    NoKernels,
    /// No kernel is as short as was asked for.
    #[error("No kernels found with duration < {threshold_us} µs")]
    #[diagnostic(code("rocprof/no-short-kernels"), severity(Warning))]
    NoShortKernels {
        /// The threshold in µs.
        threshold_us: f64,
    },
    /// The profile does not say when its processes began and ended: the timeline's total is that from the first start
    /// to the last end.
    #[error(
        "the profile has no process start and end times: total_time runs from the first start to the last end of recorded work"
    )]
    #[diagnostic(code("rocprof/no-process-times"), severity(Warning))]
    NoProcessTimes,
    /// Records lie before the profiler was set up or after it ended: the timeline's total reaches from the first to the
    /// last.
    #[error(
        "kernels and copies that began before the profiler started or ended after it stopped, included in \
         total_time: {records}"
    )]
    #[diagnostic(code("rocprof/outside-process-times"), severity(Warning))]
    OutsideProcessTimes {
        /// How many kernels and copies.
        records: usize,
    },
    /// The figures are those of TraceLens.
    #[error(
        "figures as TraceLens prints them: except in gpu_timeline, columns named µs are in ns and columns named ms in µs"
    )]
    #[diagnostic(code("rocprof/trace-lens-figures"), severity(Warning))]
    TraceLensFigures,
    /// The tables of categories and of kernels leave out kernels that are too short to count.
    #[error("category_summary and pftrace_kernel_summary omit kernels shorter than {} ns: {count}, {} ns in total", .min_event.0, .time.0)]
    #[diagnostic(code("rocprof/pftrace-short-kernels"), severity(Warning))]
    PftraceShortKernels {
        /// How many.
        count: usize,
        /// Their time.
        time: Nanoseconds,
        /// The shortest time that counts.
        min_event: Nanoseconds,
    },
    /// The table of HIP calls leaves out calls that are too short to count.
    #[error("hip_summary omits calls shorter than {} ns: {count}, {} ns in total", .min_event.0, .time.0)]
    #[diagnostic(code("rocprof/pftrace-short-calls"), severity(Warning))]
    PftraceShortCalls {
        /// How many.
        count: usize,
        /// Their time.
        time: Nanoseconds,
        /// The shortest time that counts.
        min_event: Nanoseconds,
    },
    /// Kernels of which the profile does not say where they ran, in the tables of categories and of kernels.
    #[error(
        "category_summary, xla_top and pftrace_kernel_summary omit kernels without a recorded GPU: {count}"
    )]
    #[diagnostic(code("rocprof/kernels-without-agent"), severity(Warning))]
    KernelsWithoutAgent {
        /// How many.
        count: usize,
    },
    /// Calls that launch something of which there is no record, in the table of calls and their kernels.
    #[error("api_kernel_summary omits launches without a counted kernel: {count}")]
    #[diagnostic(code("rocprof/launches-without-kernel"), severity(Warning))]
    LaunchesWithoutKernel {
        /// How many.
        count: usize,
    },
    /// Memory copies of which the profile does not give the size, in the table of copies.
    #[error("memory_copy_by_copy_bytes omits copies without a recorded size: {count}")]
    #[diagnostic(code("rocprof/copies-without-size"), severity(Warning))]
    CopiesWithoutSize {
        /// How many.
        count: usize,
    },
}

/// What the sheets leave out or assume, so that nothing goes missing silently.
#[must_use]
pub fn rocprof_notices(analysis: &RocprofAnalysis) -> Vec<RocprofNotice> {
    let options = analysis.options();
    let mut notices = Vec::new();
    if options.conventions.units == TimeUnits::AThousandthBelow {
        notices.push(RocprofNotice::TraceLensFigures);
    }
    let has_kernels = analysis.dispatches().next().is_some();
    if !has_kernels {
        notices.push(RocprofNotice::NoKernels);
    }
    let has_records = has_kernels || analysis.copies().next().is_some();
    let lacks_process_times = spans_processes(analysis) && !window(analysis).spans_processes;
    if has_records && !analysis.is_window() && lacks_process_times {
        notices.push(RocprofNotice::NoProcessTimes);
    }
    let records = outside_process_times(analysis);
    if records > 0 {
        notices.push(RocprofNotice::OutsideProcessTimes { records });
    }
    if has_kernels && options.kernels.short_kernel_study && short_kernels(analysis).next().is_none() {
        let threshold_us = options.kernels.short_kernel_threshold_us;
        notices.push(RocprofNotice::NoShortKernels { threshold_us });
    }
    notices.extend(pftrace_notices(analysis));
    notices
}

/// What the tables known from Perfetto traces leave out.
pub(crate) fn pftrace_notices(analysis: &RocprofAnalysis) -> Vec<RocprofNotice> {
    let Some(options) = analysis.options().pftrace() else { return Vec::new() };
    let mut notices = Vec::new();
    let profile = analysis.profile();
    let kernels = analysis.gpu_kernels(options);
    let min_event = options.min_event();
    let short = |durations: &mut dyn Iterator<Item = Nanoseconds>| {
        let short = durations.filter(|&duration| duration < min_event);
        short.fold((0_usize, Nanoseconds(0)), |(count, sum), duration| (count + 1, sum + duration))
    };
    let (count, time) = short(&mut kernels.all().map(|run| run.duration()));
    if count > 0 {
        notices.push(RocprofNotice::PftraceShortKernels { count, time, min_event });
    }
    if !options.no_hip_summary {
        let (count, time) = short(&mut hip_calls(profile, options).map(|call| call.duration()));
        if count > 0 {
            notices.push(RocprofNotice::PftraceShortCalls { count, time, min_event });
        }
    }
    let (agents, launches) = (kernels.without_agent, analysis.hip_launches(options).without_work);
    let copies = profile.copies.iter().filter(|copy| copy.bytes.is_none()).count();
    let counted = [
        (agents, RocprofNotice::KernelsWithoutAgent { count: agents }),
        (launches, RocprofNotice::LaunchesWithoutKernel { count: launches }),
        (copies, RocprofNotice::CopiesWithoutSize { count: copies }),
    ];
    notices.extend(counted.into_iter().filter(|(count, _)| *count > 0).map(|(_, notice)| notice));
    notices
}
