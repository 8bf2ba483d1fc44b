//! `tracelens critical-path`.

use std::path::PathBuf;

use answers::{Analysed, CriticalPathReporter, OverlayEvents, Report, write_overlay};
use critical_path::{PathMode, PathOptions, Scaling};
use perf_models::CommunicationPatterns;

use crate::arguments::conventions;
use crate::arguments::critical_path::{CriticalPathArguments, OverlayEdges};
use crate::context::Context;
use crate::error::Failure;
use crate::request::{Extras, Request};
use crate::trace_copy::TraceCopy;

/// The overlay, written beside the tables.
struct Overlay<'a> {
    files: &'a [PathBuf],
    events: OverlayEvents,
    copy: TraceCopy<'a>,
}

impl Extras for Overlay<'_> {
    fn write(&self, report: &Report) -> Vec<Result<PathBuf, Failure>> {
        let (Analysed::CriticalPath(path), [trace, ..]) = (&report.analysis, self.files) else {
            return Vec::new();
        };
        self.copy.write(|output, reading| write_overlay(trace, path, self.events, output, reading))
    }
}

pub(crate) fn run(arguments: &CriticalPathArguments, context: &Context<'_>) -> Result<(), Failure> {
    let files = arguments.recordings.paths();
    let reading = arguments.reading.options();
    let is_forced = arguments.tables.force || context.given.as_reference_tool;
    let copy = TraceCopy::new("--overlay", arguments.overlay.as_deref(), files, reading, is_forced)?;
    let page = Some(arguments.page);
    let request =
        Request { reading, page, ..Request::new("critical-path", files, &arguments.tables, context) };
    let as_hta = arguments.parity.is_some();
    let mode = match (as_hta, context.given.has("mode"), arguments.mode) {
        (true, true, PathMode::Wall) => {
            let conflict = "--parity hta requires --mode dag: Holistic Trace Analysis has no wall mode";
            return Err(Failure::Arguments(conflict.to_owned()));
        }
        (true, ..) => PathMode::Dag,
        (false, _, mode) => mode,
    };
    let all_edges = arguments.overlay_edges == OverlayEdges::All;
    let conflict = match (all_edges, mode, arguments.overlay_events) {
        (true, PathMode::Wall, _) => Some("--overlay_edges all requires --mode dag: wall mode has no graph"),
        (true, _, OverlayEvents::Path) => {
            Some("--overlay_edges all needs the events at both ends: omit --overlay_events path")
        }
        _ => None,
    };
    if let Some(conflict) = conflict {
        return Err(Failure::Arguments(conflict.to_owned()));
    }
    let without = arguments.without.iter().map(|name| Scaling { name: name.clone(), factor: 0.0 });
    let reporter = CriticalPathReporter {
        path: PathOptions {
            mode,
            conventions: conventions(arguments.parity).critical_path,
            all_edges,
            communication: match as_hta {
                true => CommunicationPatterns::libraries_only(),
                false => CommunicationPatterns::default(),
            },
            changes: without.chain(arguments.scale.iter().cloned()).collect(),
            ..PathOptions::default()
        },
        as_hta,
        tree: arguments.reading.tree_options(),
        window: arguments.window.chosen(),
        annotation: arguments.annotation.clone().map(|annotation| (annotation.0, annotation.1)),
    };
    request.answer(reporter, &Overlay { files, events: arguments.overlay_events, copy })
}
