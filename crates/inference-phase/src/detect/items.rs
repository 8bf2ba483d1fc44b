//! The calls and launches of a trace that say something of phases, thread by thread in time order.

use trace_ingest::{Category, EventId, StringId, TrackId};
use trace2tree::TraceTree;

use super::calls::{Call, CallReader};
use super::names::{Names, Transfer, Words};

/// A call of interest or a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) start: i64,
    pub(super) end: i64,
    /// The operator's, or the call's.
    pub(super) name: StringId,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// An operator with shapes.
    Call(Call),
    /// An operator without shapes that attends.
    Attends,
    /// An operator without shapes that chooses tokens.
    Chooses,
    /// An operator whose name has a word of a phase.
    Named,
    /// A call that launched device work.
    Launch(Launch),
}

/// A call that launched device work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    /// Whether it replays a captured graph.
    pub(super) is_graph: bool,
    /// Σ of the durations of what it launched.
    pub(super) device_time: i64,
    /// How many of them attend.
    pub(super) attention: usize,
    /// How it attends, if it is no graph.
    pub(super) attends: Option<Attends>,
    /// Which way it copies.
    pub(super) transfer: Option<Transfer>,
}

/// How a kernel attends, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attends {
    /// As for generation alone.
    Generation,
    /// As for prompts, or for either.
    Otherwise,
}

/// Items of one thread, by start, of equal starts the longest first.
#[derive(Debug)]
pub(super) struct ThreadItems {
    pub(super) track: TrackId,
    pub(super) items: Vec<Item>,
}

impl ThreadItems {
    /// Whether anything says that the thread runs a model, rather than copying for one that does.
    pub(super) fn runs_model(&self) -> bool {
        self.items.iter().any(|item| match item.what {
            What::Call(Call::Image | Call::Wide { .. } | Call::Selection { .. }) => false,
            What::Named | What::Chooses => false,
            What::Call(_) | What::Attends => true,
            What::Launch(launch) => launch.is_graph || launch.attention > 0,
        })
    }
}

/// Device events by launch: the linked ones are sorted by it.
pub(super) fn launches(tree: &TraceTree) -> impl Iterator<Item = (EventId, &[EventId])> {
    tree.linked_device_events()
        .chunk_by(|&a, &b| tree.launch(a) == tree.launch(b))
        .filter_map(|group| Some((tree.launch(*group.first()?)?, group)))
}

/// All items of the trace, one list for each thread that has any.
pub(super) fn gather(tree: &TraceTree, names: &mut Names<'_>) -> Vec<ThreadItems> {
    let trace = tree.trace();
    let events = trace.events();
    let mut by_track: Vec<Vec<Item>> = Vec::new();
    by_track.resize_with(trace.tracks().len(), Vec::new);
    let mut reader = CallReader::new(trace);
    for event in events.ids().filter(|&event| events.category(event) == Category::CPU_OP) {
        let name = events.name(event);
        let words = names.get(name).words;
        let what = match reader.read(event, names) {
            Some(call) => What::Call(call),
            None if words.attention => What::Attends,
            None if names.get(name).chooses && events.signature(event).is_none() => What::Chooses,
            None if words.weak_context || words.weak_generation => What::Named,
            None => continue,
        };
        let item = Item { start: events.start(event), end: events.end(event), name, what };
        by_track[events.track(event).index()].push(item);
    }
    for (event, device_events) in launches(tree) {
        let name = events.name(event);
        let is_graph = names.get(name).graph_launch;
        let kernel =
            device_events.first().filter(|_| !is_graph).map(|&device| names.get(events.name(device)));
        let launch = Launch {
            is_graph,
            attends: kernel.and_then(|kernel| match kernel.words {
                Words { generation: true, .. } => Some(Attends::Generation),
                Words { context: true, .. } | Words { plain_attention: true, .. } => Some(Attends::Otherwise),
                _ => None,
            }),
            transfer: kernel.and_then(|kernel| kernel.transfer),
            device_time: device_events.iter().map(|&device| events.duration(device)).sum(),
            attention: device_events
                .iter()
                .filter(|&&device| names.get(events.name(device)).words.attention)
                .count(),
        };
        let item =
            Item { start: events.start(event), end: events.end(event), name, what: What::Launch(launch) };
        by_track[events.track(event).index()].push(item);
    }
    let mut threads: Vec<ThreadItems> = Vec::new();
    let mut tracks: Vec<Option<TrackId>> = vec![None; by_track.len()];
    for event in events.ids() {
        let track = events.track(event);
        tracks[track.index()] = Some(track);
    }
    for (track, mut items) in tracks.into_iter().zip(by_track) {
        let Some(track) = track.filter(|_| !items.is_empty()) else { continue };
        items.sort_by_key(|item| (item.start, std::cmp::Reverse(item.end)));
        threads.push(ThreadItems { track, items });
    }
    threads
}
