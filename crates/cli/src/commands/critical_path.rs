//! `tracelens critical-path`.

use std::path::PathBuf;

use answers::{Analysed, CriticalPathReporter, Report, write_overlay};
use critical_path::{PathMode, PathOptions, Scaling};
use multi_rank::FuseOutput;
use trace_ingest::{ReadOptions, RecordingKind, is_standard_input};

use super::report::{Extras, Request, check_destinations, copyable};
use crate::arguments::Given;
use crate::arguments::critical_path::CriticalPathArguments;
use crate::console;
use crate::error::Failure;
use crate::timings::Timings;

/// The overlay, written beside the tables.
struct Overlay<'a> {
    files: &'a [PathBuf],
    output: Option<FuseOutput>,
    reading: ReadOptions<'a>,
}

impl Extras for Overlay<'_> {
    fn write(&self, report: &Report) -> Vec<Result<PathBuf, Failure>> {
        let (Some(output), [trace, ..]) = (&self.output, self.files) else { return Vec::new() };
        let Analysed::CriticalPath(path) = &report.analysis else { return Vec::new() };
        let written = write_overlay(trace, path, output, &self.reading).map(|unusable| {
            if unusable > 0 {
                console::warning(format_args!(
                    "entries left out of the overlay because they are not JSON: {unusable}"
                ));
            }
            output.path().to_path_buf()
        });
        vec![written.map_err(Failure::from)]
    }
}

pub(crate) fn run(
    arguments: &CriticalPathArguments,
    given: &Given,
    timings: &mut Timings,
) -> Result<(), Failure> {
    let files = arguments.recordings.paths();
    let output =
        arguments.overlay.as_deref().map(FuseOutput::new).transpose().map_err(answers::Error::from)?;
    if output.is_some() && files.iter().any(|file| is_standard_input(file)) {
        let instead =
            "--overlay reads the trace a second time, which standard input does not allow; name a file";
        return Err(Failure::Arguments(instead.to_owned()));
    }
    if output.is_some() {
        files.iter().try_for_each(|file| copyable(file, "leave --overlay out"))?;
    }
    check_destinations(files, output.iter().map(|output| ("trace", output.path())))?;
    let threads = arguments.reading.threads.map(Into::into);
    let request = Request {
        workbook: Some((RecordingKind::Trace, "_critical_path")),
        threads,
        ..Request::new("critical-path", files, &arguments.tables, given)
    };
    let as_hta = arguments.parity.is_some();
    let mode = match (as_hta, given.has("mode"), arguments.mode) {
        (true, true, PathMode::Wall) => {
            let conflict =
                "--parity hta is about --mode dag: Holistic Trace Analysis has no walk by the clock";
            return Err(Failure::Arguments(conflict.to_owned()));
        }
        (true, ..) => PathMode::Dag,
        (false, _, mode) => mode,
    };
    let without = arguments.without.iter().map(|name| Scaling { name: name.clone(), factor: 0.0 });
    let reporter = CriticalPathReporter {
        path: PathOptions {
            mode,
            changes: without.chain(arguments.scale.iter().cloned()).collect(),
            ..PathOptions::default()
        },
        as_hta,
        link_by: arguments.reading.link_by,
        window: arguments.window.window(),
        annotation: arguments.annotation.clone().map(|annotation| (annotation.0, annotation.1)),
    };
    let reading = ReadOptions { threads, ..ReadOptions::default() };
    request.answer(reporter, &Overlay { files, output, reading }, timings)
}
