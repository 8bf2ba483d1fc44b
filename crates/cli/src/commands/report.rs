//! `tracelens report` and `tracelens pytorch`.

use std::mem;

use inference_phase::sheets::PhaseAnalysis;
use report_writers::Json;
use trace_ingest::{ReadOptions, RecordingKind, Trace, Warning, read_path};
use trace2tree::TraceTree;
use tree_perf::Analysis;

use crate::arguments::report::ReportArguments;
use crate::console;
use crate::error::Failure;
use crate::notes::Notes;
use crate::progress::ReadingProgress;
use crate::report_files::{RooflinePicture, end_with, save_picture, write_tables};
use crate::report_request::{Print, ReportRequest};
use crate::rooflines::Rooflines;
use crate::step_picture;
use crate::summary::{self, Found};
use crate::tables;
use crate::timings::{Stage, Timings};

pub(crate) fn run(arguments: &ReportArguments, timings: &mut Timings) -> Result<(), Failure> {
    write(ReportRequest::new(arguments)?, timings, |_, _| Ok(()))
}

/// Writes and prints the report of a tree, after it was changed. The change may add to the notices of the request.
pub(crate) fn write(
    mut request: ReportRequest,
    timings: &mut Timings,
    change: impl FnOnce(&mut TraceTree, &mut ReportRequest) -> Result<(), Failure>,
) -> Result<(), Failure> {
    timings.begin(Stage::Read);
    let trace = read(&request)?;
    timings.count_events(trace.events().len() + trace.skipped_frames() as usize);
    timings.begin(Stage::Analysis);
    request.notices.extend(fuller_report(&trace).map(str::to_owned));
    let mut options = request.analysis.tree_options();
    options.python_frames |= request.python_frames;
    let threads = ReadOptions { threads: request.threads, ..ReadOptions::default() }.thread_count();
    options.threads = threads;
    let mut tree = TraceTree::build(trace, &options);
    change(&mut tree, &mut request)?;
    let options = request.analysis.clone();
    // What a script prints, and how often, must not depend on which thread asks it first.
    let threads_of_sheets = if request.extension.is_some() { 1 } else { threads };
    let analysis = match request.extension.take() {
        Some(extension) => Analysis::from_tree_with_extension(tree, options, Box::new(extension)),
        None => Analysis::from_tree(tree, options),
    };
    if analysis.device_event_count() == 0 {
        return Err(no_gpu_events(analysis.trace(), &request));
    }
    let title = request.trace.file_name().unwrap_or_default().to_string_lossy();
    let phases = request.phases.map(|options| PhaseAnalysis::new(&analysis, options));
    timings.begin(Stage::Sheets);
    let report = tables::report(&analysis, phases.as_ref(), &title, request.sheet_names, threads_of_sheets)?
        .with_threads(threads);

    timings.begin(Stage::Write);
    let mut notes = Notes::of(&analysis, &request);
    if let Some(phases) = &phases {
        notes.warnings.extend(phases.notices().iter().map(ToString::to_string));
    }
    request.written.iter().for_each(|path| notes.wrote(path, 1));
    // What can be written is written and shown even if something else cannot.
    let mut pending = write_tables(&report, &request.outputs, &mut notes);
    let rooflines = Rooflines::of(&report);
    if let Some(destination) = &request.roofline_svg {
        let picture = RooflinePicture {
            rooflines: rooflines.as_ref(),
            roofs: analysis.roofs(),
            architecture: analysis.architecture(),
            title: &title,
            recording: "trace",
        };
        pending.extend(picture.write(destination, &mut notes).err());
    }
    if let (Some(destination), Some(phases)) = (&request.step_svg, &phases) {
        match step_picture::svg(phases, &title)? {
            Some(svg) => pending.extend(save_picture(destination, &svg, &mut notes).err()),
            None => notes.warnings.push("--step_svg writes nothing: the trace has no steps".into()),
        }
    }
    timings.begin(Stage::Terminal);
    match request.print {
        Print::Summary => {
            let found = Found { rooflines: rooflines.as_ref(), phases: phases.as_ref() };
            let text = summary::text(&analysis, &report, found, &notes, console::style());
            console::print(text)?;
        }
        Print::Json => {
            console::write_with(|out| Json.write_to(&report, out))?;
            notes.left_out.iter().chain(&notes.warnings).for_each(console::warning);
        }
        Print::Nothing => {}
    }
    if request.print != Print::Nothing {
        notes.of_extension.iter().for_each(console::extension);
    }
    timings.end();
    // The process is about to end, and the system takes its memory back at once.
    mem::forget((rooflines, report));
    mem::forget(phases);
    mem::forget(analysis);
    end_with(pending)
}

/// The failure, and before it what reading got over: it may be the reason.
fn no_gpu_events(trace: &Trace, request: &ReportRequest) -> Failure {
    if request.print != Print::Nothing {
        trace.warnings().iter().for_each(console::warning);
    }
    let is_loss =
        |warning: &Warning| matches!(warning, Warning::Truncated { .. } | Warning::DamagedCompression { .. });
    let advice = match trace.facts().recorder.kind {
        Some(RecordingKind::XPlane) => "this is an XPlane profile: `tracelens jax` reads it",
        Some(RecordingKind::Rocprof) => {
            "this is a profile of rocprofv3: `tracelens rocprof` says what to check"
        }
        _ if trace.warnings().iter().any(is_loss) => {
            "they may be in the part that is lost: copy the file again, or record it again"
        }
        _ => "record it with the GPU's activities (torch.profiler.ProfilerActivity.CUDA)",
    };
    Failure::NoGpuEvents {
        path: request.trace.clone(),
        events: trace.events().len() + trace.skipped_frames() as usize,
        advice,
    }
}

/// The report that has more of such a recording than what it has in common with other traces.
fn fuller_report(trace: &Trace) -> Option<&'static str> {
    match trace.facts().recorder.kind? {
        RecordingKind::XPlane => Some(
            "this is an XPlane profile: `tracelens jax` knows its programs and their work, and this report only its times",
        ),
        RecordingKind::Rocprof => Some(
            "this is a profile of rocprofv3: `tracelens rocprof` has its calls, copies and counters, and this report only what it has in common with other traces",
        ),
        RecordingKind::Kineto | RecordingKind::TenstorrentOps => None,
    }
}

fn read(request: &ReportRequest) -> Result<Trace, Failure> {
    let progress = ReadingProgress::new(request.print == Print::Nothing);
    let update = |state| progress.update(state);
    let options = ReadOptions {
        threads: request.threads,
        progress: Some(&update),
        skip_python_frames: !request.needs_python_frames(),
    };
    Ok(read_path(&request.trace, &options)?)
}
