//! `tracelens report` and `tracelens pytorch`.

use std::path::Path;

use report_writers::{Json, writer_by_name};
use trace_ingest::{ReadOptions, Trace, Warning, read_path};
use tree_perf::Analysis;

use crate::arguments::ReportArguments;
use crate::console;
use crate::error::Failure;
use crate::progress::ReadingProgress;
use crate::report_request::{Print, ReportRequest};
use crate::rooflines::Rooflines;
use crate::summary::{self, Notes};
use crate::tables;

pub(crate) fn run(arguments: &ReportArguments) -> Result<(), Failure> {
    let request = ReportRequest::new(arguments)?;
    let trace = read(&request)?;
    let analysis = Analysis::new(trace, request.analysis.clone());
    if analysis.device_event_count() == 0 {
        return Err(no_gpu_events(analysis.trace(), &request));
    }
    let title = request.trace.file_name().unwrap_or_default().to_string_lossy();
    let report = tables::report(&analysis, &title, request.sheet_names)?;

    let mut notes = Notes::of(&analysis, &request);
    // What can be written is written and shown even if something else cannot.
    let mut pending: Vec<Failure> = Vec::new();
    for (writer, destination) in &request.outputs {
        // The names are those of the registry.
        let Some(writer) = writer_by_name(writer) else { continue };
        match writer.write(&report, destination) {
            Ok(written) => {
                notes.wrote(destination, written.paths.len());
                notes.warnings.extend(written.warnings.iter().map(ToString::to_string));
            }
            Err(error) => pending.push(error.into()),
        }
    }
    let rooflines = Rooflines::of(&report);
    if let Some(destination) = &request.roofline_svg {
        match draw(rooflines.as_ref(), &analysis, &title, destination) {
            Ok(Drawn::Written) => notes.wrote(destination, 1),
            Ok(Drawn::Nothing(why)) => notes.warnings.push(format!("--roofline_svg writes nothing: {why}")),
            Err(error) => pending.push(error),
        }
    }
    match request.print {
        Print::Summary => {
            let text = summary::text(&analysis, &report, rooflines.as_ref(), &notes, console::style());
            console::print(text)?;
        }
        Print::Json => {
            console::write_with(|out| Json.write_to(&report, out))?;
            notes.left_out.iter().chain(&notes.warnings).for_each(console::warning);
        }
        Print::Nothing => {}
    }
    // The last one is for the caller, who prints it too.
    let last = pending.pop();
    pending.iter().for_each(console::error);
    last.map_or(Ok(()), Err)
}

/// What became of a picture.
enum Drawn {
    Written,
    /// There is nothing to draw, for this reason.
    Nothing(String),
}

fn draw(
    rooflines: Option<&Rooflines>,
    analysis: &Analysis,
    title: &str,
    destination: &Path,
) -> Result<Drawn, Failure> {
    let Some(architecture) = analysis.architecture() else {
        let why = "the trace names no GPU with known peaks; name one with --gpu_arch_platform or --gpu_arch_json_path";
        return Ok(Drawn::Nothing(why.into()));
    };
    let svg = match rooflines {
        Some(rooflines) => rooflines.svg(title, architecture)?,
        None => None,
    };
    let Some(svg) = svg else {
        let why =
            format!("no operator of the trace has FLOPs and bytes under a peak of {}", architecture.name);
        return Ok(Drawn::Nothing(why));
    };
    std::fs::write(destination, svg)
        .map_err(|source| Failure::Picture { path: destination.to_path_buf(), source })?;
    Ok(Drawn::Written)
}

/// The failure, and before it what reading got over: it may be the reason.
fn no_gpu_events(trace: &Trace, request: &ReportRequest) -> Failure {
    if request.print != Print::Nothing {
        trace.warnings().iter().for_each(console::warning);
    }
    let is_loss =
        |warning: &Warning| matches!(warning, Warning::Truncated { .. } | Warning::DamagedCompression { .. });
    let advice = match trace.warnings().iter().any(is_loss) {
        true => "they may be in the part that is lost: copy the file again, or record it again",
        false => "record it with the GPU's activities (torch.profiler.ProfilerActivity.CUDA)",
    };
    Failure::NoGpuEvents { path: request.trace.clone(), events: trace.events().len(), advice }
}

fn read(request: &ReportRequest) -> Result<Trace, Failure> {
    let progress = ReadingProgress::new(request.print == Print::Nothing);
    let update = |state| progress.update(state);
    let options = ReadOptions { threads: request.threads, progress: Some(&update) };
    Ok(read_path(&request.trace, &options)?)
}
