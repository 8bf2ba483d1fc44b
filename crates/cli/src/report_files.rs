//! The files of a report: its tables in the formats that were asked for, and pictures.

use std::io::Write;
use std::path::Path;

use perf_models::Architecture;
use report_writers::{Json, Report};
use tree_perf::Roof;

use crate::arguments::report_output::{Output, ReportOutput};
use crate::console;
use crate::error::Failure;
use crate::notes::Notes;
use crate::rooflines::Rooflines;

/// Writes the tables to their destinations, all that can be written; the failures of the others.
pub(crate) fn write_tables(report: &Report, outputs: &[Output], notes: &mut Notes) -> Vec<Failure> {
    let mut failures = Vec::new();
    for (writer, destination) in outputs {
        match writer.write(report, destination) {
            Ok(written) => {
                notes.wrote(destination, written.paths.len());
                notes.warnings.extend(written.warnings.iter().map(ToString::to_string));
            }
            Err(error) => failures.push(error.into()),
        }
    }
    failures
}

/// Prints what was asked for of the report of a profile.
pub(crate) fn show(
    output: &ReportOutput,
    report: &Report,
    notes: &Notes,
    summary: impl FnOnce() -> String,
) -> Result<(), Failure> {
    if output.json {
        console::write_with(|out| Json.write_to(report, out))?;
        notes.warnings.iter().for_each(console::warning);
    } else if !output.quiet {
        console::print(summary())?;
    }
    Ok(())
}

/// What the picture of the rooflines shows.
pub(crate) struct RooflinePicture<'a> {
    /// The rows of the report; `None` without operators.
    pub(crate) rooflines: Option<&'a Rooflines>,
    pub(crate) roofs: &'a [Roof],
    pub(crate) architecture: Option<&'a Architecture>,
    pub(crate) title: &'a str,
    /// What reasons for drawing nothing call the file: a trace, a profile.
    pub(crate) recording: &'static str,
}

impl RooflinePicture<'_> {
    /// Draws and writes it; notes what was written, or why there is nothing to draw.
    pub(crate) fn write(&self, destination: &Path, notes: &mut Notes) -> Result<(), Failure> {
        let recording = self.recording;
        let Some(architecture) = self.architecture else {
            notes.warnings.push(format!(
                "--roofline_svg writes nothing: the {recording} names no GPU with known peaks; name one with \
                 --gpu_arch_platform or --gpu_arch_json_path"
            ));
            return Ok(());
        };
        let svg = match self.rooflines {
            Some(rooflines) => rooflines.svg(self.title, self.roofs, architecture)?,
            None => None,
        };
        let Some(svg) = svg else {
            notes.warnings.push(format!(
                "--roofline_svg writes nothing: no operator of the {recording} has FLOPs and bytes under a peak of {}",
                architecture.name
            ));
            return Ok(());
        };
        save_picture(destination, &svg, notes)
    }
}

pub(crate) fn save_picture(destination: &Path, svg: &str, notes: &mut Notes) -> Result<(), Failure> {
    atomic_file::write_with(destination, |file| file.write_all(svg.as_bytes()))
        .map_err(|source| Failure::Picture { path: destination.to_path_buf(), source })?;
    notes.wrote(destination, 1);
    Ok(())
}

/// Prints all failures but the last, which is for the caller, who prints it too.
pub(crate) fn end_with(mut failures: Vec<Failure>) -> Result<(), Failure> {
    let last = failures.pop();
    failures.iter().for_each(console::error);
    last.map_or(Ok(()), Err)
}
