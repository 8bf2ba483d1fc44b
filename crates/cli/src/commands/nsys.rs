//! `tracelens nsys`.

use answers::NsysTables;
use nsys_perf::NsysOptions;
use trace_ingest::{RecordingKind, check_kind};

use super::pytorch;
use crate::arguments::Given;
use crate::arguments::nsys::NsysArguments;
use crate::error::Failure;
use crate::timings::Timings;

pub(crate) fn run(arguments: &NsysArguments, given: &Given, timings: &mut Timings) -> Result<(), Failure> {
    let (trace, asked) = (&arguments.trace, &arguments.recorder);
    for path in trace.recordings.paths() {
        check_kind(path, &[RecordingKind::Nsys])?;
    }
    let (mut request, mut reporter) = (pytorch::request(trace, given)?, pytorch::reporter(trace)?);
    request.warnings.extend(trace.analysis.devices.warning(reporter.analysis.architecture.as_ref()));
    request.os_calls = asked.os_calls;
    request.nsys_kernel_names = asked.kernel_names;
    if let Some((name, element)) = asked.assume_dtype {
        request.nsys_element_type = Some(element);
        request.warnings.push(format!(
            "element types are not recorded: FLOPs, bytes and rooflines take all tensors to be {name} (--assume_dtype)"
        ));
    }
    reporter.nsys = NsysTables {
        options: NsysOptions {
            nvtx_depth: asked.nvtx_depth.into(),
            gpu_trace: asked.gpu_trace,
            ..NsysOptions::default()
        },
        names_of_nsys: asked.nsys_names,
    };
    request.answer(reporter, &(), timings)
}
