//! `tracelens rocprof`.

use answers::RocprofReporter;
use rocprof_perf::{PftraceOptions, RocprofOptions};
use trace_ingest::{Nanoseconds, RecordingKind};

use super::report::{PERF_REPORT, Request};
use crate::arguments::rocprof::{PftraceArguments, RocprofArguments};
use crate::arguments::{Given, conventions};
use crate::error::Failure;
use crate::timings::Timings;

pub(crate) fn run(arguments: &RocprofArguments, given: &Given, timings: &mut Timings) -> Result<(), Failure> {
    let request = Request {
        workbook: Some((RecordingKind::Rocprof, PERF_REPORT)),
        ..Request::new("rocprof", arguments.recordings.paths(), &arguments.output, given)
    };
    request.answer(
        RocprofReporter {
            analysis: options(arguments),
            sheet_names: arguments.naming.sheet_names,
            window: arguments.window.window(),
        },
        &(),
        timings,
    )
}

fn options(arguments: &RocprofArguments) -> RocprofOptions {
    let (asked, pftrace) = (&arguments.analysis, &arguments.pftrace);
    let short_kernels = &asked.short_kernels;
    RocprofOptions {
        disable_kernel_summary: asked.disable_kernel_summary,
        kernel_details: asked.kernel_details.kernel_details,
        short_kernel_study: short_kernels.short_kernel_study,
        short_kernel_threshold_us: short_kernels.short_kernel_threshold_us,
        short_kernel_histogram_bins: short_kernels.short_kernel_histogram_bins,
        topk_kernels: asked.kernel_details.topk_kernels,
        kernel_names: asked.kernel_names.unwrap_or_default(),
        conventions: conventions(asked.parity).rocprof,
        pftrace: pftrace.pftrace_tables.then(|| pftrace_options(arguments, pftrace)),
    }
}

fn pftrace_options(arguments: &RocprofArguments, asked: &PftraceArguments) -> PftraceOptions {
    let defaults = PftraceOptions::default();
    PftraceOptions {
        kernel_names: arguments.analysis.kernel_names.or(defaults.kernel_names),
        merge_kernels: asked.merge_kernels,
        min_tid: asked.min_tid.unwrap_or(defaults.min_tid),
        max_tid: asked.max_tid.unwrap_or(defaults.max_tid),
        min_event: asked.min_event_ns.map_or(defaults.min_event, Nanoseconds),
        no_kernel_summary: asked.no_kernel_summary,
        kernel_summary_include_rccl: asked.kernel_summary_include_rccl,
        kernel_summary_baseline: asked.kernel_summary_baseline.unwrap_or(defaults.kernel_summary_baseline),
        kernel_summary_group: asked.kernel_summary_group.unwrap_or(defaults.kernel_summary_group),
        no_hip_summary: asked.no_hip_summary,
        hip_summary_group: asked.hip_summary_group.unwrap_or(defaults.hip_summary_group),
        top_xla: asked.top_xla.unwrap_or(defaults.top_xla),
        exclude_kernel_pattern: match &asked.exclude_kernel_regex {
            Some(excluded) => excluded.0.clone(),
            None => defaults.exclude_kernel_pattern,
        },
        allow_multi_kernel_per_api: asked.allow_multi_kernel_per_api,
        include_nonlaunch_apis: asked.include_nonlaunch_apis,
    }
}
