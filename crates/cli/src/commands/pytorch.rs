//! `tracelens pytorch` and `tracelens inference`.

use std::path::{Path, PathBuf};

use answers::{Analysed, HtaTables, NsysTables, OtherTrace, Picture, Report, TraceReporter, write_counters};
use inference_phase::capture::CaptureLibrary;
use trace_ingest::{ReadOptions, RecordingKind};
use tree_perf::{AnalysisOptions, ReportLayout};

use super::report::{Extras, PERF_REPORT, Request, check_destinations, save};
use super::trace_copy::TraceCopy;
use crate::arguments::inference::InferenceArguments;
use crate::arguments::pytorch::TraceArguments;
use crate::arguments::{Reference, conventions};
use crate::context::Context;
use crate::error::Failure;
use crate::phases;
use crate::standard_input;

pub(crate) fn run(arguments: &TraceArguments, context: &Context<'_>) -> Result<(), Failure> {
    let (mut request, reporter) = (request(arguments, context)?, reporter(arguments)?);
    request.warnings.extend(arguments.analysis.devices.warning(reporter.analysis.architecture.as_ref()));
    let extras = CounterTrace::new(arguments)?;
    request.answer(reporter, &extras)
}

/// The trace with counters, written beside the tables.
struct CounterTrace<'a> {
    recordings: &'a [PathBuf],
    copy: TraceCopy<'a>,
}

impl<'a> CounterTrace<'a> {
    fn new(arguments: &'a TraceArguments) -> Result<Self, Failure> {
        let (recordings, option) = (arguments.recordings.paths(), "--counter_trace");
        let threads = arguments.reading.threads.map(Into::into);
        let output = arguments.output.counter_trace.as_deref();
        Ok(CounterTrace { recordings, copy: TraceCopy::new(option, output, recordings, threads)? })
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
    reporter.analysis.group_by_parent_module = engine.group_by_parent_module;
    if let Some(folder) = &engine.capture_folder {
        let reading = ReadOptions { threads: request.threads, ..standard_input::reading() };
        let details = engine.capture_details_path.as_deref();
        details.map(|path| check_details(path, folder, request.files)).transpose()?;
        let captures = CaptureLibrary::open(folder, &reading)?;
        if let Some(path) = details {
            request.written.push(save(path, |file| captures.write_details(file))?);
        }
        reporter.captures = Some(captures);
    }
    if let Some(path) = &engine.comparison_json_path {
        let files = request.output.files();
        let files = files.iter().map(|(format, path)| (*format, path.as_path()));
        check_destinations(std::slice::from_ref(path), files)?;
        let reading = ReadOptions { threads: request.threads, ..standard_input::reading() };
        let folder = engine.comparison_capture_folder.as_deref();
        let captures = folder.map(|folder| CaptureLibrary::open(folder, &reading)).transpose()?;
        reporter.other = Some(OtherTrace { path: path.clone(), captures });
    }
    request.answer(reporter, &CounterTrace::new(trace)?)
}

/// Refuses to write the list of captures where it cannot be written, or into their folder.
fn check_details(path: &Path, folder: &Path, read: &[PathBuf]) -> Result<(), Failure> {
    check_destinations(read, [("json", path)])?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let resolved = |path: &Path| path.canonicalize().ok();
    match resolved(directory) == resolved(folder) {
        true => {
            let detail = "it is in the folder of the captures, where nothing is written".into();
            Err(Failure::Destination { path: path.to_path_buf(), detail, help: "name another place".into() })
        }
        false => Ok(()),
    }
}

pub(super) fn request<'a>(
    arguments: &'a TraceArguments,
    context: &'a Context<'a>,
) -> Result<Request<'a>, Failure> {
    let output = &arguments.output;
    let rooflines = output.roofline_svg.as_deref().map(|path| (Picture::Rooflines, path));
    let steps = output.step_svg.as_deref().map(|path| (Picture::Steps, path));
    let finds_steps = phases::options(&arguments.phases)?.is_none_or(|phases| phases.finds_steps());
    if steps.is_some() && !finds_steps {
        return Err(Failure::StepsNotLookedFor { option: "--step_svg" });
    }
    let mut request = Request {
        pictures: rooflines.into_iter().chain(steps).collect(),
        workbook: Some((RecordingKind::Trace, PERF_REPORT)),
        threads: arguments.reading.threads.map(Into::into),
        ..Request::new("pytorch", arguments.recordings.paths(), &output.tables, context)
    };
    request.warnings.extend(phases::without_effect(&arguments.phases));
    Ok(request)
}

pub(super) fn reporter(arguments: &TraceArguments) -> Result<TraceReporter, Failure> {
    let (asked, output) = (&arguments.analysis, &arguments.output);
    if asked.hta_sequences_of.is_some() && asked.parity != Some(Reference::Hta) {
        let lacks = "--hta_sequences_of is about the tables of --parity hta; frequent_sequences of --waits has those of \
                     all operators";
        return Err(Failure::Arguments(lacks.to_owned()));
    }
    Ok(TraceReporter {
        analysis: AnalysisOptions {
            link_by: arguments.reading.link_by,
            architecture: asked.devices.architecture()?,
            peak_basis: asked.devices.peak_basis(),
            communication: asked.devices.communication(asked.parity),
            conventions: conventions(asked.parity).traces,
            ..asked.options.clone()
        },
        phases: phases::options(&arguments.phases)?,
        extension: match &asked.extension_file {
            Some(path) => Some(super::extension::load(path, asked.python.as_deref())?),
            None => None,
        },
        captures: None,
        sheet_names: output.naming.sheet_names,
        window: arguments.window.chosen(),
        other: None,
        nsys: NsysTables::default(),
        hta: (asked.parity == Some(Reference::Hta))
            .then(|| HtaTables { sequences_of: asked.hta_sequences_of.clone() }),
        modules: output.tables.html.is_some(),
    })
}
