//! Calls of whole models, and loops over Python frames.

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use trace_ingest::{Category, StringId, TrackId};
use trace2tree::{TraceTree, iteration_roots, module_class, module_name};

use super::host::Process;

/// Calls of one frame on the main thread, none of them within another call of a model.
#[derive(Clone, Debug)]
pub(crate) struct FrameCalls {
    /// Name without the number of the instance.
    pub(crate) name: String,
    /// Start and end of each call, by start.
    pub(crate) calls: Vec<(i64, i64)>,
    /// Share of the process's work that they launched.
    pub(crate) share: f64,
}

/// Whether the tree has Python frames.
pub(crate) fn has_frames(tree: &TraceTree) -> bool {
    let events = tree.trace().events();
    tree.host_events().iter().any(|&event| events.category(event) == Category::PYTHON_FUNCTION)
}

/// The outermost calls of `nn.Module`s, by module, the module with the most work first.
pub(crate) fn model_calls(tree: &TraceTree, process: &Process, main: TrackId) -> Vec<FrameCalls> {
    let trace = tree.trace();
    let events = trace.events();
    let mut by_name: HashMap<StringId, Vec<(i64, i64)>> = HashMap::new();
    let mut order: Vec<StringId> = Vec::new();
    for &event in tree.host_events() {
        if events.track(event) == main && tree.is_module(event) && tree.parent_module(event).is_none() {
            let calls = by_name.entry(events.name(event)).or_insert_with(|| {
                order.push(events.name(event));
                Vec::new()
            });
            calls.push((events.start(event), events.end(event)));
        }
    }
    let mut found: Vec<FrameCalls> = order
        .into_iter()
        .filter_map(|name| {
            let mut calls = by_name.remove(&name)?;
            calls.sort_unstable();
            let share = process.work.share(calls.iter().copied());
            let name = module_name(module_class(trace.text(name))).to_owned();
            Some(FrameCalls { name, calls, share })
        })
        .collect();
    found.sort_few_by(|a, b| b.share.total_cmp(&a.share));
    found
}

/// Passes of the outermost loop over frames that does device work, and whether they lie within a call of a model.
pub(crate) fn loop_passes(tree: &TraceTree, main: TrackId) -> Option<(FrameCalls, bool)> {
    let events = tree.trace().events();
    let passes = iteration_roots(tree);
    let first = passes.first().filter(|pass| events.track(pass.first) == main)?;
    let is_in_model = tree.parent_module(first.first).is_some()
        || tree.parent(first.first).is_some_and(|above| tree.is_module(above));
    let name = tree.trace().name(first.first).to_owned();
    let calls = passes.iter().map(|pass| (pass.start, pass.end)).collect();
    Some((FrameCalls { name, calls, share: 0.0 }, is_in_model))
}
