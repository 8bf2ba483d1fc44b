//! `tracelens report` and `tracelens pytorch`.

use report_writers::{Json, writer_by_name};
use trace_ingest::{ReadOptions, Trace, read_path};
use tree_perf::Analysis;

use crate::arguments::ReportArguments;
use crate::console;
use crate::error::Failure;
use crate::progress::ReadingProgress;
use crate::report_request::{Print, ReportRequest};
use crate::summary::{self, Notes};
use crate::tables;

pub(crate) fn run(arguments: &ReportArguments) -> Result<(), Failure> {
    let request = ReportRequest::new(arguments);
    let trace = read(&request)?;
    let analysis = Analysis::new(trace, request.analysis.clone());
    if analysis.device_event_count() == 0 {
        let events = analysis.trace().events().len();
        return Err(Failure::NoGpuEvents { path: request.trace.clone(), events });
    }
    let title = request.trace.file_name().unwrap_or_default().to_string_lossy();
    let report = tables::report(&analysis, &title, request.sheet_names)?;

    let mut notes = Notes::of(&analysis, &request.notices);
    for (writer, destination) in &request.outputs {
        // The names are those of the registry.
        let Some(writer) = writer_by_name(writer) else { continue };
        let written = writer.write(&report, destination)?;
        notes.wrote(destination, written.paths.len());
        notes.warnings.extend(written.warnings.iter().map(ToString::to_string));
    }
    match request.print {
        Print::Summary => console::print(summary::text(&analysis, &report, &notes, console::style()))?,
        Print::Json => {
            console::write_with(|out| Json.write_to(&report, out))?;
            notes.warnings.iter().for_each(console::warning);
        }
        Print::Nothing => {}
    }
    Ok(())
}

fn read(request: &ReportRequest) -> Result<Trace, Failure> {
    let progress = ReadingProgress::new(request.print == Print::Nothing);
    let update = |state| progress.update(state);
    let options = ReadOptions { threads: request.threads, progress: Some(&update) };
    Ok(read_path(&request.trace, &options)?)
}
