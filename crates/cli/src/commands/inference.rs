//! `tracelens inference`.

use std::path::Path;

use inference_phase::capture::{CaptureLibrary, MergeReport, merge};
use trace_ingest::{Category, ReadOptions};
use trace2tree::{TraceTree, is_graph_launch};
use tree_perf::ReportLayout;

use crate::arguments::inference::InferenceArguments;
use crate::commands::report;
use crate::error::Failure;
use crate::numbers::grouped;
use crate::report_request::ReportRequest;
use crate::timings::{Stage, Timings};

pub(crate) fn run(arguments: &InferenceArguments, timings: &mut Timings) -> Result<(), Failure> {
    let engine = &arguments.engine;
    if let Some((option, instead)) = engine.unsupported() {
        return Err(Failure::Unsupported { option, instead });
    }
    let mut request = ReportRequest::new(&arguments.report)?;
    request.analysis.layout = ReportLayout::Inference;
    request.analysis.group_by_parent_module = engine.group_by_parent_module;
    let reading = ReadOptions { threads: request.threads, ..ReadOptions::default() };
    let Some(folder) = &engine.capture_folder else {
        return report::write(request, timings, |tree, request| {
            request.notices.extend(graphs_without_operators(tree));
            Ok(())
        });
    };
    // Before the trace is read: a folder that cannot be used costs no time.
    timings.begin(Stage::Read);
    let mut captures = CaptureLibrary::open(folder, &reading)?;
    match captures.save() {
        Ok(path) => request.written.extend(path),
        // The next run finds out again what the folder does not say.
        Err(error) => request.notices.push(error.to_string()),
    }
    request.python_frames = true;
    report::write(request, timings, |tree, request| {
        let merged = merge(tree, &mut captures, &reading);
        request.notices.extend(captures.warnings().iter().map(ToString::to_string));
        request.notices.extend(of_merge(&merged, folder));
        Ok(())
    })
}

/// That replayed graphs hide their operators, if the trace has any.
fn graphs_without_operators(tree: &TraceTree) -> Option<String> {
    let trace = tree.trace();
    let by_name: Vec<bool> = trace.strings().iter().map(|(_, name)| is_graph_launch(name)).collect();
    let events = trace.events();
    let launches = tree
        .host_events()
        .iter()
        .filter(|&&event| events.category(event) != Category::PYTHON_FUNCTION)
        .filter(|&&event| by_name[events.name(event).index()] && !tree.device_events(event).is_empty())
        .count();
    (launches > 0).then(|| {
        format!(
            "{} launches of graphs are in the figures without the operators inside; --capture_folder takes traces of the graphs' capture and tells them",
            grouped(launches as u128)
        )
    })
}

/// What the captures did not explain, and on what the rest rests.
fn of_merge(merged: &MergeReport, folder: &Path) -> Vec<String> {
    let mut notices = Vec::new();
    if merged.launches.is_empty() {
        notices.push(format!(
            "--capture_folder {} has no effect: the trace launches no graph",
            folder.display()
        ));
    }
    for (reason, launches) in merged.skipped() {
        notices.push(format!(
            "{} of {} launches of graphs keep their operators to themselves: {reason}",
            grouped(launches as u128),
            grouped(merged.launches.len() as u128)
        ));
    }
    let unverified = merged.unverified_device_events();
    if unverified > 0 {
        notices.push(format!(
            "{} of {} device events of graphs have their operator by order and number alone: the capture names no kernels",
            grouped(unverified as u128),
            grouped(merged.merged_device_events() as u128)
        ));
    }
    notices
}
