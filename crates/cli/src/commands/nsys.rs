//! `tracelens nsys`.

use std::collections::BTreeSet;

use answers::{NsysReporter, Report};
use iterations::Window;
use report_writers::terminal::Style;
use trace_ingest::nsys::{process_id, read_session};
use trace_ingest::{NsysReading, RecordingKind, check_kind};

use crate::arguments::nsys::NsysArguments;
use crate::context::Context;
use crate::error::Failure;
use crate::request::Extras;
use crate::standard_input;
use crate::summary::{self, Detail};
use crate::trace_request;

pub(crate) fn run(arguments: &NsysArguments, context: &Context<'_>) -> Result<(), Failure> {
    let paths = arguments.trace.recordings.paths();
    let reading = standard_input::reading();
    for path in paths {
        check_kind(path, &[RecordingKind::Nsys], &reading)?;
    }
    let processes = match (arguments.recorder.per_process, paths) {
        (true, [path]) => read_session(path, &reading)?.processes,
        _ => BTreeSet::new(),
    };
    if processes.is_empty() {
        return report(arguments, context, None);
    }
    processes.iter().try_for_each(|&process| {
        let number = process_id(process);
        let is_alone = processes.iter().filter(|&&process| process_id(process) == number).count() == 1;
        // Machines may have processes of one number; the packed number tells them apart.
        let name = if is_alone { number.to_string() } else { process.to_string() };
        report(arguments, context, Some((process, name)))
    })
}

/// The report of a recording, or of what one process did in it, which has a packed number and a name.
fn report(
    arguments: &NsysArguments,
    context: &Context<'_>,
    process: Option<(u64, String)>,
) -> Result<(), Failure> {
    let (trace, asked) = (&arguments.trace, &arguments.recorder);
    let (mut request, mut reporter) =
        (trace_request::request(trace, context)?, trace_request::reporter(trace)?);
    request.warnings.extend(trace.analysis.devices.warning(reporter.analysis.architecture.as_ref()));
    request.reading.nsys = NsysReading {
        os_calls: asked.os_calls,
        kernel_names: asked.kernel_names,
        element_type: asked.assume_dtype.map(|(_, element)| element),
        whole_texts: asked.nvtx_text,
        process: process.as_ref().map(|(process, _)| *process),
    };
    if let Some((name, _)) = asked.assume_dtype {
        request.warnings.push(format!(
            "element types are not recorded: FLOPs, bytes and rooflines assume {name} for all tensors (--assume_dtype)"
        ));
    }
    if asked.per_process && process.is_none() {
        let lacks = "--per_process has no effect: the recording does not link launches to processes";
        request.warnings.push(lacks.to_owned());
    }
    request.part = process.as_ref().map(|(_, name)| format!(".pid{name}"));
    reporter.window = match reporter.window {
        Some(Window::Microseconds(time)) => Some(Window::Launches(time)),
        None => asked.nvtx.clone().map(Window::Named),
        other => other,
    };
    let reporter = NsysReporter { trace: reporter, sheets: asked.sheets.clone() };
    match process {
        None => request.answer(reporter, &()),
        Some((_, name)) => request.answer(reporter, &ProcessReport(name)),
    }
}

/// The report of one of several processes, with a line above that says which.
struct ProcessReport(String);

impl Extras for ProcessReport {
    fn text(&self, report: &Report, _: &str, detail: Detail, style: Style) -> String {
        format!("\nprocess {}\n{}", self.0, summary::text(report, detail, style))
    }
}
