//! The files that are this report's own: operations and summary as CSV, the summary as a picture.

use std::io;
use std::path::Path;

use atomic_file::AtomicFile;
use metal_perf::{CsvOptions, MetalReport, write_csv, write_summary_csv};

use super::picture;
use crate::arguments::metal::MetalArguments;
use crate::error::Failure;
use crate::notes::Notes;
use crate::report_files::save_picture;

/// Writes those that were asked for, all that can be written; the failures of the others.
pub(super) fn write(arguments: &MetalArguments, report: &MetalReport, notes: &mut Notes) -> Vec<Failure> {
    let output = &arguments.output;
    let mut failures = Vec::new();
    let options = CsvOptions { advice: !arguments.terminal.no_advice, raw_op_codes: output.raw_op_codes };
    if let Some(path) = &output.csv {
        failures.extend(save(path, notes, |out| write_csv(report, options, out)).err());
    }
    if let Some(path) = &output.summary_file {
        failures.extend(save(path, notes, |out| write_summary_csv(report, out)).err());
    }
    if let Some(path) = &output.summary_svg {
        let title = arguments.files.first().and_then(|file| file.file_name()).unwrap_or_default();
        let svg = picture::svg(report, &title.to_string_lossy(), output.classic_colors);
        failures.extend(svg.map_err(Failure::from).and_then(|svg| save_picture(path, &svg, notes)).err());
    }
    failures
}

fn save(
    path: &Path,
    notes: &mut Notes,
    write: impl FnOnce(&mut AtomicFile) -> io::Result<()>,
) -> Result<(), Failure> {
    atomic_file::write_with(path, write)
        .map_err(|source| Failure::File { path: path.to_path_buf(), source })?;
    notes.wrote(path, 1);
    Ok(())
}
