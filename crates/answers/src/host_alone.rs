//! Recordings without device events.

use std::path::Path;

use trace_ingest::{Accelerator, EventId, Flow, FlowEnd, FlowKind, RecordingKind, Trace};
use trace2tree::CallKind;
use tree_perf::Analysis;

use crate::error::Error;
use crate::numbers::counted;
use crate::report::{is_other_tool, lost_events};

/// Why there is no report of figures of devices.
pub(crate) fn no_gpu_events(path: &Path, trace: &Trace) -> Error {
    Error::NoGpuEvents {
        path: path.to_path_buf(),
        events: trace.events().len() + trace.skipped_frames() as usize,
        advice: device_recording_advice(trace),
        warnings: trace.warnings().to_vec(),
    }
}

/// Whether kernels were measured one by one by CUPTI's range profiler.
fn has_profiler_ranges(trace: &Trace) -> bool {
    let events = trace.events();
    events.ids().any(|event| trace.category_name(events.category(event)) == "cuda_profiler_range")
}

/// What gives a recording without device events some.
pub(crate) fn device_recording_advice(trace: &Trace) -> &'static str {
    match trace.facts().recorder.kind {
        Some(RecordingKind::Nsys) => "record it with nsys profile --trace=cuda,nvtx",
        Some(RecordingKind::Rocprof) => "record it with --kernel-trace",
        _ if lost_events(trace) => {
            "device events may be in the lost part: copy the file again, or record again"
        }
        Some(RecordingKind::XPlane) => "record it where the program runs on a GPU",
        _ if trace.facts().accelerator == Some(Accelerator::Mps) => {
            "PyTorch's profiler records no MPS work: use torch.mps.profiler and Instruments"
        }
        _ if has_profiler_ranges(trace) => {
            "CUPTI's range profiler replaced the device records: record without it"
        }
        _ if trace.facts().is_view_of_xplane => {
            "it is an XProf viewer export: report on the original profile (*.xplane.pb)"
        }
        Some(RecordingKind::Trace) if is_other_tool(trace) => {
            "it is not from PyTorch's profiler: view it at https://ui.perfetto.dev, or record the run with \
             torch.profiler"
        }
        _ => "if a GPU did the work, record its activities (torch.profiler.ProfilerActivity.CUDA)",
    }
}

/// What a recording without device events has instead of their figures.
pub(crate) fn host_alone(analysis: &Analysis) -> String {
    let (trace, tree) = (analysis.trace(), analysis.tree());
    let launches = || {
        let starts_work = |&&event: &&EventId| {
            trace.events().category(event).is_launch_api()
                && CallKind::from_name(trace.name(event)).starts_device_work()
        };
        let is_arrow = |flow: &&Flow| flow.kind == FlowKind::OperatorToDevice && flow.end == FlowEnd::Start;
        tree.host_events().iter().filter(starts_work).count() + trace.flows().iter().filter(is_arrow).count()
    };
    let why = match launches() {
        _ if lost_events(trace) => "no device work in the readable part of this recording".to_owned(),
        _ if trace.facts().accelerator == Some(Accelerator::Mps) => {
            return "MPS work is not in this recording: times are host times, including waits for MPS"
                .to_owned();
        }
        0 => "no device work in this recording".to_owned(),
        count => {
            let launches = counted(count, "launch", "launches");
            format!("no device work in this recording, although the host made {launches}")
        }
    };
    format!("{why}: times are host times")
}
