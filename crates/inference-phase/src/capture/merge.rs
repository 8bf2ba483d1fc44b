//! Puts the calls of captures above the kernels of their replays, and reports what became of every graph launch.

use std::collections::BTreeMap;
use std::fmt;

use gpu_timeline::SortFew;
use trace_ingest::{Category, EventId, ReadOptions, StringTable};
use trace2tree::{Graft, TraceTree};

use super::align::{Alignment, Dispatch, Mismatch, Pairing, Replayed, Work, align};
use super::library::CaptureLibrary;
use super::replays::{Candidate, Replays, candidates, replays};
use super::windows::CaptureWindow;

/// What [`merge`](super::merge()) did, launch by launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeReport {
    /// The graph launches, by start.
    pub launches: Vec<GraphLaunch>,
}

/// One graph launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphLaunch {
    /// The call.
    pub launch: EventId,
    /// Annotation of the engine step that made it.
    pub step: Option<EventId>,
    /// Number of kernels, copies and fills that it started.
    pub device_events: usize,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a graph launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its device events hang below the calls that they were captured from.
    Merged {
        /// Index in [`CaptureLibrary::files`](super::CaptureLibrary::files).
        file: usize,
        /// Which capture of the file, counted from 0.
        capture: usize,
        /// How device events and calls were paired.
        pairing: Pairing,
        /// Pairs that rest on order and number alone, because no name was recorded for the call.
        unverified: usize,
    },
    /// It is as it was.
    Skipped(SkipReason),
}

/// Why a graph launch is as it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// No device event of it was recorded, or they were moved elsewhere before.
    NoDeviceEvents,
    /// No step is annotated around it, and the folder has captures of several sizes.
    NoStep,
    /// No capture is as large as its step.
    NoCaptureOfSize {
        /// Tokens of the step.
        tokens: i64,
    },
    /// The captures of its size could not be read, or there are none in their files.
    NoCaptures,
    /// The capture has several graphs, and not as many as the step launches.
    GraphCount {
        /// Graph launches of the step.
        launches: usize,
        /// Graphs of the capture.
        captures: usize,
    },
    /// Its device events are not those of the capture.
    Mismatch(Mismatch),
    /// Only captures of another size have as many calls, and no names that would speak for one of them.
    Unnamed,
    /// The tree could not be edited; what it said.
    NotEdited(String),
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::NoDeviceEvents => f.write_str("no device event was recorded for the launch"),
            SkipReason::NoStep => {
                f.write_str("no annotated engine step around the launch gives the capture size")
            }
            SkipReason::NoCaptureOfSize { tokens } => {
                write!(f, "no capture is large enough for a step of {tokens} tokens")
            }
            SkipReason::NoCaptures => f.write_str("the capture trace has no usable capture"),
            SkipReason::GraphCount { launches, captures } => {
                write!(f, "the step's graph launches ({launches}) differ in number from the graphs of its capture ({captures})")
            }
            SkipReason::Mismatch(Mismatch::Counts) => {
                f.write_str("the device events do not match the captured calls in number")
            }
            SkipReason::Mismatch(Mismatch::Names) => {
                f.write_str("the device events do not match the captured calls by name")
            }
            SkipReason::Mismatch(Mismatch::Unnamed) => f.write_str(
                "the device events ran on several streams, and the capture does not name the launched kernels",
            ),
            SkipReason::Unnamed => f.write_str(
                "the expected capture size was not launched, and kernel names do not show which other size was",
            ),
            SkipReason::NotEdited(error) => write!(f, "the tree could not be edited: {error}"),
        }
    }
}

impl MergeReport {
    /// Number of launches that were merged.
    #[must_use]
    pub fn merged(&self) -> usize {
        self.launches.iter().filter(|launch| launch.is_merged()).count()
    }

    /// Number of device events of all launches.
    #[must_use]
    pub fn device_events(&self) -> usize {
        self.launches.iter().map(|launch| launch.device_events).sum()
    }

    /// Number of device events that have got the call that they were captured from.
    #[must_use]
    pub fn merged_device_events(&self) -> usize {
        let merged = self.launches.iter().filter(|launch| launch.is_merged());
        merged.map(|launch| launch.device_events).sum()
    }

    /// Number of these that no name speaks for, only their place among the others.
    #[must_use]
    pub fn unverified_device_events(&self) -> usize {
        let unverified = |launch: &GraphLaunch| match launch.outcome {
            Outcome::Merged { unverified, .. } => unverified,
            Outcome::Skipped(_) => 0,
        };
        self.launches.iter().map(unverified).sum()
    }

    /// Why launches are as they were, with the number of launches for each reason, the most frequent first.
    #[must_use]
    pub fn skipped(&self) -> Vec<(SkipReason, usize)> {
        let mut counts: BTreeMap<&SkipReason, usize> = BTreeMap::new();
        for launch in &self.launches {
            if let Outcome::Skipped(reason) = &launch.outcome {
                *counts.entry(reason).or_default() += 1;
            }
        }
        let mut counts: Vec<(SkipReason, usize)> =
            counts.into_iter().map(|(reason, count)| (reason.clone(), count)).collect();
        counts.sort_few_by_key(|&(_, count)| std::cmp::Reverse(count));
        counts
    }
}

impl GraphLaunch {
    /// Whether its device events hang below the calls that they were captured from.
    #[must_use]
    pub fn is_merged(&self) -> bool {
        matches!(self.outcome, Outcome::Merged { .. })
    }
}

/// Puts the calls recorded during graph captures below the graph launches of a tree, so that the device events of
/// every replay have the operators, shapes and modules of their capture.
///
/// Each launch takes the capture that its step's annotation asks for and whose calls its device events match in number
/// and, where the recorder wrote them, by name. A launch that none matches stays as it is; the others are not
/// affected. A trace with one capture serves every launch of a step; one with several serves the launches of a step
/// in turn. Device events are moved, never copied: their number, times and places on the device stay what they were.
///
/// The tree should have Python frames ([`trace2tree::TreeOptions::python_frames`]), else the frames and modules of the
/// capture are left out. Passes that move device events, such as those for pseudo operators, come after it.
pub fn merge(tree: &mut TraceTree, library: &mut CaptureLibrary, reading: &ReadOptions<'_>) -> MergeReport {
    let mut matcher = Matcher { tree, library, reading, dispatches: BTreeMap::new() };
    let mut matched: Vec<(GraphLaunch, Option<Match>)> = Vec::new();
    for step in replays(tree) {
        matched.extend(matcher.step(&step));
    }
    let events = tree.trace().events();
    matched.sort_few_by_key(|(launch, _)| (events.start(launch.launch), launch.launch));

    let library = &*library;
    let grafts: Vec<Graft<'_>> = matched
        .iter_mut()
        .filter_map(|(launch, found)| {
            let Match { file, capture, pairs } = found.take()?;
            let calls = &library.read_captures(file).get(capture)?.calls;
            Some(Graft { launch: launch.launch, calls, device_events: pairs })
        })
        .collect();
    let edited = tree.edit().graft(&grafts);
    let mut launches: Vec<GraphLaunch> = matched.into_iter().map(|(launch, _)| launch).collect();
    if let Err(error) = edited {
        for launch in launches.iter_mut().filter(|launch| launch.is_merged()) {
            launch.outcome = Outcome::Skipped(SkipReason::NotEdited(error.to_string()));
        }
    }
    MergeReport { launches }
}

/// The capture of a launch, and which of its calls each device event belongs below.
struct Match {
    file: usize,
    capture: usize,
    pairs: Vec<(usize, EventId)>,
}

/// The calls of a capture in the ids of the tree, with their places among all calls.
struct Dispatches {
    /// Of the capturing thread.
    own: Vec<(usize, Dispatch)>,
    /// Of all threads, if others made any.
    all: Option<Vec<(usize, Dispatch)>>,
}

struct Matcher<'m, 'r> {
    tree: &'m TraceTree,
    library: &'m mut CaptureLibrary,
    reading: &'m ReadOptions<'r>,
    /// By file and capture.
    dispatches: BTreeMap<(usize, usize), Dispatches>,
}

impl Matcher<'_, '_> {
    /// Finds the captures of a step's launches.
    fn step(&mut self, step: &Replays) -> Vec<(GraphLaunch, Option<Match>)> {
        let rank = self.tree.trace().facts().distributed.as_ref().and_then(|distributed| distributed.rank);
        let candidates = candidates(self.library.files(), step.size, step.launches.len(), rank);
        let mut matched = Vec::new();
        for (position, &launch) in step.launches.iter().enumerate() {
            let (events, replayed) = self.replayed(launch);
            let found = match (events.is_empty(), step.size) {
                (true, _) => Err(SkipReason::NoDeviceEvents),
                (_, None) if candidates.is_empty() => Err(SkipReason::NoStep),
                (_, Some(size)) if candidates.is_empty() => {
                    Err(SkipReason::NoCaptureOfSize { tokens: size.tokens })
                }
                _ => self.launch(&candidates, position, step.launches.len(), &replayed),
            };
            let (outcome, found) = match found {
                Err(reason) => (Outcome::Skipped(reason), None),
                Ok((file, capture, Alignment { pairing, pairs, unverified })) => {
                    let pairs = pairs.into_iter().map(|(call, event)| (call, events[event])).collect();
                    (
                        Outcome::Merged { file, capture, pairing, unverified },
                        Some(Match { file, capture, pairs }),
                    )
                }
            };
            let device_events = events.len();
            matched.push((GraphLaunch { launch, step: step.step, device_events, outcome }, found));
        }
        matched
    }

    /// The first candidate whose calls a launch's device events match. When none does, why the first did not.
    fn launch(
        &mut self,
        candidates: &[Candidate],
        position: usize,
        launches: usize,
        replayed: &[Replayed],
    ) -> Result<(usize, usize, Alignment), SkipReason> {
        let mut first_reason = None;
        for &Candidate { file, needs_names } in candidates {
            let reason = match self.library.captures(file, self.reading).len() {
                0 => SkipReason::NoCaptures,
                captures if !launches.is_multiple_of(captures) => {
                    SkipReason::GraphCount { launches, captures }
                }
                captures => match self.align(file, position % captures, replayed) {
                    Ok(alignment) if needs_names && alignment.unverified > 0 => SkipReason::Unnamed,
                    Ok(alignment) => return Ok((file, position % captures, alignment)),
                    Err(mismatch) => SkipReason::Mismatch(mismatch),
                },
            };
            first_reason.get_or_insert(reason);
        }
        Err(first_reason.unwrap_or(SkipReason::NoCaptures))
    }

    fn align(&mut self, file: usize, capture: usize, replayed: &[Replayed]) -> Result<Alignment, Mismatch> {
        let Matcher { tree, library, dispatches, .. } = self;
        let dispatches = dispatches.entry((file, capture)).or_insert_with(|| {
            let windows = library.read_captures(file);
            windows.get(capture).map_or(Dispatches { own: Vec::new(), all: None }, |window| {
                Dispatches::new(window, tree.trace().strings())
            })
        });
        let align = |calls: &[(usize, Dispatch)]| {
            let plain: Vec<Dispatch> = calls.iter().map(|&(_, dispatch)| dispatch).collect();
            let mut alignment = align(&plain, replayed)?;
            for (call, _) in &mut alignment.pairs {
                *call = calls[*call].0;
            }
            Ok(alignment)
        };
        align(&dispatches.own).or_else(|mismatch| dispatches.all.as_deref().map_or(Err(mismatch), align))
    }

    /// The device events right below a launch, by start.
    fn replayed(&self, launch: EventId) -> (Vec<EventId>, Vec<Replayed>) {
        let (tree, trace) = (self.tree, self.tree.trace());
        let events = trace.events();
        let mut below: Vec<EventId> = tree
            .children(launch)
            .iter()
            .copied()
            .filter(|&child| events.category(child).is_device())
            .collect();
        below.sort_by_key(|&event| (events.start(event), event));
        let replayed = |&event: &EventId| Replayed {
            work: replayed_work(events.category(event), trace.name(event)),
            is_kernel: events.category(event) == Category::KERNEL,
            name: events.name(event).index() as u32,
            stream: events.stream(event),
            node: events.arguments().graph_node.get(event.index()),
        };
        let replayed = below.iter().map(replayed).collect();
        (below, replayed)
    }
}

impl Dispatches {
    fn new(window: &CaptureWindow, strings: &StringTable) -> Dispatches {
        // A name that the tree's trace does not have is the name of none of its events.
        const NOWHERE: u32 = u32::MAX;
        let dispatch = |(call, &work): (usize, &Work)| {
            let kernel = window.calls.launched_kernel(call);
            let kernel = kernel.map(|name| strings.find(name).map_or(NOWHERE, |id| id.index() as u32));
            (call, Dispatch { work, kernel })
        };
        let all: Vec<(usize, Dispatch)> = window.works.iter().enumerate().map(dispatch).collect();
        let own: Vec<_> = all.iter().copied().filter(|&(call, _)| window.on_thread[call]).collect();
        let others = own.len() < all.len();
        Dispatches { own, all: others.then_some(all) }
    }
}

/// What a device event did. The ROCm runtime copies and fills with kernels of its own.
fn replayed_work(category: Category, name: &str) -> Work {
    match category {
        Category::GPU_MEMCPY => Work::Copy,
        Category::GPU_MEMSET => Work::Fill,
        _ if name.starts_with("Memcpy") || name.contains("copyBuffer") => Work::Copy,
        _ if name.starts_with("Memset") || name.contains("fillBuffer") => Work::Fill,
        _ => Work::Kernel,
    }
}
