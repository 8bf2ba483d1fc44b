//! `tracelens pytorch` and `tracelens inference`.

use std::path::{Path, PathBuf};

use answers::{Analysed, OtherTrace, Report, write_counters};
use inference_phase::capture::CaptureLibrary;
use tree_perf::ReportLayout;

use crate::arguments::inference::InferenceArguments;
use crate::arguments::pytorch::TraceArguments;
use crate::context::Context;
use crate::destinations::{check_destinations, save};
use crate::error::Failure;
use crate::request::Extras;
use crate::trace_copy::TraceCopy;
use crate::trace_request::{reporter, request};

pub(crate) fn run(arguments: &TraceArguments, context: &Context<'_>) -> Result<(), Failure> {
    let (mut request, reporter) = (request(arguments, context)?, reporter(arguments)?);
    request.warnings.extend(arguments.analysis.devices.warning(reporter.analysis.architecture.as_ref()));
    let extras = CounterTrace::new(arguments, context)?;
    request.answer(reporter, &extras)
}

/// The trace with counters, written beside the tables.
struct CounterTrace<'a> {
    recordings: &'a [PathBuf],
    copy: TraceCopy<'a>,
}

impl<'a> CounterTrace<'a> {
    fn new(arguments: &'a TraceArguments, context: &Context<'_>) -> Result<Self, Failure> {
        let is_forced = arguments.output.tables.force || context.given.as_reference_tool;
        let (recordings, option) = (arguments.recordings.paths(), "--counter_trace");
        let output = arguments.output.counter_trace.as_deref();
        Ok(CounterTrace {
            recordings,
            copy: TraceCopy::new(option, output, recordings, arguments.reading.options(), is_forced)?,
        })
    }
}

impl Extras for CounterTrace<'_> {
    fn write(&self, report: &Report) -> Vec<Result<PathBuf, Failure>> {
        let (Analysed::Trace(analysis, _), [trace, ..]) = (&report.analysis, self.recordings) else {
            return Vec::new();
        };
        self.copy.write(|output, reading| write_counters(trace, analysis, output, reading))
    }
}

pub(crate) fn inference(arguments: &InferenceArguments, context: &Context<'_>) -> Result<(), Failure> {
    let (trace, engine) = (&arguments.trace, &arguments.engine);
    if let Some((option, instead)) = engine.unsupported() {
        return Err(Failure::Unsupported { option, instead });
    }
    let (mut request, mut reporter) = (request(trace, context)?, reporter(trace)?);
    request.warnings.extend(trace.analysis.devices.warning(reporter.analysis.architecture.as_ref()));
    reporter.analysis.layout = ReportLayout::Inference;
    reporter.tells_phases = !context.given.as_reference_tool;
    reporter.analysis.group_by_parent_module = engine.group_by_parent_module;
    if let Some(folder) = &engine.capture_folder {
        let details = engine.capture_details_path.as_deref();
        details.map(|path| check_details(path, folder, request.files)).transpose()?;
        let captures = CaptureLibrary::open(folder, &request.reading)?;
        if let Some(path) = details {
            request.written.push(save(path, |file| captures.write_details(file))?);
        }
        reporter.captures = Some(captures);
    }
    if let Some(path) = &engine.comparison_json_path {
        let files = request.output.files();
        let files = files.iter().map(|(format, path)| (*format, path.as_path()));
        check_destinations(std::slice::from_ref(path), files)?;
        let folder = engine.comparison_capture_folder.as_deref();
        let captures = folder.map(|folder| CaptureLibrary::open(folder, &request.reading)).transpose()?;
        reporter.other = Some(OtherTrace { path: path.clone(), captures });
    }
    request.answer(reporter, &CounterTrace::new(trace, context)?)
}

/// Refuses to write the list of captures where it cannot be written, or into their folder.
fn check_details(path: &Path, folder: &Path, read: &[PathBuf]) -> Result<(), Failure> {
    check_destinations(read, [("json", path)])?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let resolved = |path: &Path| path.canonicalize().ok();
    match resolved(directory) == resolved(folder) {
        true => {
            let detail = "outputs are never written to the capture folder".into();
            Err(Failure::Destination {
                path: path.to_path_buf(),
                detail,
                help: "choose another place".into(),
            })
        }
        false => Ok(()),
    }
}
