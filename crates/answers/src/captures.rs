//! Replayed graphs, whose operators the traces of their captures tell.

use inference_phase::capture::{CaptureLibrary, MergeReport, merge};
use trace_ingest::{Category, ReadOptions};
use trace2tree::{TraceTree, is_graph_launch};

use crate::notice::Notice;

/// Gives replayed graphs the operators of their captures.
pub(crate) fn graft(
    tree: &mut TraceTree,
    captures: &mut CaptureLibrary,
    reading: &ReadOptions<'_>,
) -> Vec<Notice> {
    let merged = merge(tree, captures, &ReadOptions { progress: None, ..*reading });
    let warnings = captures.warnings().iter().cloned().map(Notice::Captures);
    warnings.chain(notices_of_merge(&merged)).collect()
}

/// That replayed graphs hide their operators, if the trace has any.
pub(crate) fn unopened_graphs(tree: &TraceTree) -> Option<Notice> {
    let events = tree.trace().events();
    let by_name: Vec<bool> = tree.trace().strings().iter().map(|(_, name)| is_graph_launch(name)).collect();
    let launches = tree
        .host_events()
        .iter()
        .filter(|&&event| events.category(event) != Category::PYTHON_FUNCTION)
        .filter(|&&event| by_name[events.name(event).index()] && !tree.device_events(event).is_empty())
        .count();
    (launches > 0).then_some(Notice::UnopenedGraphs { launches })
}

/// What the captures did not explain, and on what the rest rests.
fn notices_of_merge(merged: &MergeReport) -> Vec<Notice> {
    let of = merged.launches.len();
    let mut notices = Vec::new();
    notices.extend((of == 0).then_some(Notice::NoGraphs));
    let unmerged = |(reason, launches)| Notice::UnmergedGraphs { launches, of, reason };
    notices.extend(merged.skipped().into_iter().map(unmerged));
    let device_events = merged.unverified_device_events();
    let of = merged.merged_device_events();
    notices.extend((device_events > 0).then_some(Notice::UnverifiedGraphs { device_events, of }));
    notices
}
