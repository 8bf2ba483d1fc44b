//! What the tables that are known from Perfetto traces leave out.

use std::fmt;

use super::{hip_summary, memory_copies};
use crate::rocprof::analysis::RocprofAnalysis;

/// Records that tables which are known from Perfetto traces leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PftraceOmission {
    /// Kernels shorter than the shortest that count, in the tables of categories and of kernels.
    ShortKernels {
        /// How many.
        count: usize,
        /// Their time in nanoseconds.
        time_ns: i64,
        /// The shortest time that counts, in nanoseconds.
        min_event_ns: i64,
    },
    /// The same of HIP calls, in their table.
    ShortCalls {
        /// How many.
        count: usize,
        /// Their time in nanoseconds.
        time_ns: i64,
        /// The shortest time that counts, in nanoseconds.
        min_event_ns: i64,
    },
    /// Kernels of which the profile does not say where they ran, in the tables of categories and of kernels.
    KernelsWithoutAgent {
        /// How many.
        count: usize,
    },
    /// Calls that launch something of which there is no record, in the table of calls and their kernels.
    LaunchesWithoutKernel {
        /// How many.
        count: usize,
    },
    /// Memory copies of which the profile does not give the size, in the table of copies.
    CopiesWithoutSize {
        /// How many.
        count: usize,
    },
}

impl PftraceOmission {
    /// What the tables of a profile leave out; nothing when they are not asked for.
    pub(in crate::rocprof) fn of(analysis: &RocprofAnalysis) -> Vec<Self> {
        let Some(options) = &analysis.options().pftrace else { return Vec::new() };
        let (profile, records) = (analysis.profile(), analysis.pftrace_records());
        let kernels = records.kernels(profile, options);
        let min_event_ns = options.min_event_ns;
        let short = |durations: &mut dyn Iterator<Item = i64>| {
            let short = durations.filter(|&duration| duration < min_event_ns);
            short.fold((0_usize, 0_i64), |(count, sum), duration| (count + 1, sum + duration))
        };
        let mut omissions = Vec::new();
        let (count, time_ns) = short(&mut kernels.all().map(|run| run.duration()));
        if count > 0 {
            omissions.push(PftraceOmission::ShortKernels { count, time_ns, min_event_ns });
        }
        if !options.no_hip_summary {
            let calls = hip_summary::hip_calls(profile, options);
            let (count, time_ns) = short(&mut calls.map(|call| call.duration()));
            if count > 0 {
                omissions.push(PftraceOmission::ShortCalls { count, time_ns, min_event_ns });
            }
        }
        let launches = records.pairs(analysis, options).launches_without_work;
        let copies = memory_copies::without_size(profile);
        let counted = [
            PftraceOmission::KernelsWithoutAgent { count: kernels.without_agent },
            PftraceOmission::LaunchesWithoutKernel { count: launches },
            PftraceOmission::CopiesWithoutSize { count: copies },
        ];
        omissions.extend(counted.into_iter().filter(|omission| omission.count() > 0));
        omissions
    }

    /// How many records.
    pub fn count(&self) -> usize {
        match *self {
            PftraceOmission::ShortKernels { count, .. }
            | PftraceOmission::ShortCalls { count, .. }
            | PftraceOmission::KernelsWithoutAgent { count }
            | PftraceOmission::LaunchesWithoutKernel { count }
            | PftraceOmission::CopiesWithoutSize { count } => count,
        }
    }
}

impl fmt::Display for PftraceOmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PftraceOmission::ShortKernels { count, time_ns, min_event_ns } => write!(
                f,
                "category_summary and pftrace_kernel_summary leave out kernels shorter than {min_event_ns} ns: \
                 {count}, {time_ns} ns together; --min_event_ns sets the limit"
            ),
            PftraceOmission::ShortCalls { count, time_ns, min_event_ns } => write!(
                f,
                "hip_summary leaves out calls shorter than {min_event_ns} ns: {count}, {time_ns} ns together; \
                 --min_event_ns sets the limit"
            ),
            PftraceOmission::KernelsWithoutAgent { count } => write!(
                f,
                "category_summary, xla_top and pftrace_kernel_summary leave out kernels of which the profile does \
                 not say on which GPU they ran: {count}"
            ),
            PftraceOmission::LaunchesWithoutKernel { count } => write!(
                f,
                "api_kernel_summary leaves out launches without a kernel that counts: {count}; \
                 --include_nonlaunch_apis lists them"
            ),
            PftraceOmission::CopiesWithoutSize { count } => write!(
                f,
                "memory_copy_by_copy_bytes leaves out copies of which the profile does not give the size: {count}"
            ),
        }
    }
}
