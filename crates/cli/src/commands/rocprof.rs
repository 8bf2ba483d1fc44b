//! `tracelens rocprof`.

use answers::RocprofReporter;
use rocprof_perf::RocprofOptions;
use trace_ingest::RecordingKind;

use super::report::{PERF_REPORT, Request};
use crate::arguments::rocprof::RocprofArguments;
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
            analysis: RocprofOptions {
                conventions: conventions(arguments.parity).rocprof,
                ..arguments.options.clone()
            },
            sheet_names: arguments.naming.sheet_names,
            window: arguments.window.chosen(),
        },
        &(),
        timings,
    )
}
