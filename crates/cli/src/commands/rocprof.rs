//! `tracelens rocprof`.

use answers::RocprofReporter;
use rocprof_perf::RocprofOptions;
use trace_ingest::RecordingKind;

use crate::arguments::conventions;
use crate::arguments::rocprof::RocprofArguments;
use crate::context::Context;
use crate::error::Failure;
use crate::request::{PERF_REPORT, Request};

pub(crate) fn run(arguments: &RocprofArguments, context: &Context<'_>) -> Result<(), Failure> {
    let request = Request {
        workbook: Some((RecordingKind::Rocprof, PERF_REPORT)),
        ..Request::new("rocprof", arguments.recordings.paths(), &arguments.output, context)
    };
    request.answer(
        RocprofReporter {
            analysis: RocprofOptions {
                conventions: conventions(arguments.parity).rocprof,
                ..arguments.options.clone()
            },
            sheet_names: arguments.naming.sheet_names,
            window: arguments.window.chosen(),
            keep_overruns: arguments.overruns.keep_overruns,
        },
        &(),
    )
}
