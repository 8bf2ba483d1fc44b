//! What was recorded, as flat columns: device work by stream, calls and operators by thread, and what waits for what.
//! Both modes and the replay read these and nothing else; names were classified once, when they were made.

use std::ops::{Range, RangeInclusive};

use hashbrown::HashMap;
use perf_models::CommunicationPatterns;
use trace_ingest::{Category, EventId, PerString, StringId, Trace, TrackId};
use trace2tree::{HostWait, TraceTree};

use crate::class::{PathClass, work_class};
use crate::fault::{Fault, Faults};
use crate::graph_dependencies::{self, Dependency};
use crate::lists::Lists;
use crate::segments::ThreadSegments;

/// In nanoseconds: what waits longer than that without a known reason waited for something else that ran.
pub(crate) const LONG_GAP: i64 = 10_000;

/// Works that are tried where one is looked for that ended before a time.
pub(crate) const MOST_TRIED: usize = 4096;

/// No position.
pub(crate) const NONE: u32 = u32::MAX;

/// The position, where there is one.
pub(crate) fn some(position: u32) -> Option<usize> {
    (position != NONE).then_some(position as usize)
}

/// Which part of a recording the path goes through. Times are in the trace's unit, from its origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of it.
    #[default]
    Whole,
    /// What the host does in a stretch of time, and the device work that it launches in it.
    LaunchedIn(Range<i64>),
    /// A trace that was cut to a window: all device work that is left, and what the host does from the window's start on.
    Cut(Range<i64>),
}

/// Why there is no scope of this annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchAnnotation {
    /// How many ranges or operators of the host have such a name.
    pub found: usize,
}

impl Scope {
    /// What the host does, and launches, from the start of one range of the program to the end of another: of the ranges
    /// and operators whose names begin with a text, in order of time, those with these numbers.
    ///
    /// # Errors
    /// When the recording has fewer of them.
    pub fn annotated(
        trace: &Trace,
        prefix: &str,
        numbers: RangeInclusive<usize>,
    ) -> Result<Scope, NoSuchAnnotation> {
        let events = trace.events();
        let mut is_meant = PerString::new(trace.strings(), |name: &str| name.starts_with(prefix));
        let mut found: Vec<EventId> = events
            .ids()
            .filter(|&event| matches!(events.category(event), Category::USER_ANNOTATION | Category::CPU_OP))
            .filter(|&event| *is_meant.get(events.name(event)))
            .collect();
        found.sort_by_key(|&event| (events.start(event), event));
        Scope::around(trace, &found, numbers)
    }

    /// The same of all events whose names contain a text, those of devices too, in the order of the file; on request
    /// kernels, copies and fills before all others.
    ///
    /// # Errors
    /// When the recording has fewer of them.
    pub fn containing(
        trace: &Trace,
        part: &str,
        numbers: RangeInclusive<usize>,
        device_first: bool,
    ) -> Result<Scope, NoSuchAnnotation> {
        let events = trace.events();
        let mut is_meant = PerString::new(trace.strings(), |name: &str| name.contains(part));
        let mut found: Vec<EventId> =
            events.ids().filter(|&event| *is_meant.get(events.name(event))).collect();
        found.sort_by_key(|&event| device_first && !events.category(event).is_device());
        Scope::around(trace, &found, numbers)
    }

    /// From the first start to the last end of those of the events that have these numbers.
    fn around(
        trace: &Trace,
        found: &[EventId],
        numbers: RangeInclusive<usize>,
    ) -> Result<Scope, NoSuchAnnotation> {
        let events = trace.events();
        let chosen = found.get(numbers).filter(|chosen| !chosen.is_empty());
        let chosen = chosen.ok_or(NoSuchAnnotation { found: found.len() })?;
        let start = chosen.iter().map(|&event| events.start(event)).min().unwrap_or(0);
        let end = chosen.iter().map(|&event| events.end(event)).max().unwrap_or(start);
        Ok(Scope::LaunchedIn(start..end))
    }

    /// Whether an operator or call that starts at a time belongs to it.
    fn has_start(&self, time: i64) -> bool {
        match self {
            Scope::Whole | Scope::Cut(_) => true,
            Scope::LaunchedIn(range) => range.start <= time && time <= range.end,
        }
    }
}

/// A kernel, copy or fill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) event: EventId,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) stream: u32,
    /// Position among the calls.
    pub(crate) launch: u32,
    pub(crate) class: PathClass,
}

/// A runtime or driver call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) event: EventId,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) thread: u32,
    pub(crate) blocking: Option<HostWait>,
    /// What the recorder says that it waited for.
    pub(crate) waits_for: WaitsFor,
}

/// What a call waited for, as recorded by an event of the category `cuda_sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// Nothing is recorded.
    Unrecorded,
    /// All that was launched on a device before.
    Device(i64),
    /// All that was launched on a stream before.
    Stream(u32),
    /// A kernel, copy or fill.
    Work(u32),
    /// An event before which nothing ran on the stream.
    Nothing,
}

/// A kernel, copy or fill that was launched outside the scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outside {
    pub(crate) start: i64,
    pub(crate) stream: u32,
    /// Position among the calls.
    pub(crate) launch: u32,
}

/// A stream of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stream {
    pub(crate) device: i64,
    pub(crate) number: i64,
}

/// The recording, or a part of it.
pub struct Recorded<'t> {
    pub(crate) tree: &'t TraceTree,
    scope: Scope,
    /// From the first start to the last end of all that belongs to it.
    pub(crate) time: Range<i64>,
    /// By start, then by end.
    pub(crate) works: Vec<Work>,
    /// On the streams of the works, for the lengths of their queues.
    pub(crate) outside: Vec<Outside>,
    pub(crate) streams: Vec<Stream>,
    /// Works by stream, in the order of works.
    pub(crate) on_stream: Lists,
    /// Works by their launch, in the order of works.
    pub(crate) launched_by: Lists,
    /// By start.
    pub(crate) calls: Vec<Call>,
    /// Positions among the calls, by event.
    call_of_row: Vec<u32>,
    /// What runs on each host thread at any time.
    pub(crate) threads: ThreadSegments,
    /// By work: those before it in its replay of a graph.
    pub(crate) graph_predecessors: Lists,
    /// By call: the nodes of its replay of a graph that no other node waits for; where no dependencies are recorded, none.
    pub(crate) last_of_replay: Lists,
    /// By work: those that its stream was told to wait for.
    pub(crate) awaited: Lists,
    pub(crate) faults: Faults,
}

impl<'t> Recorded<'t> {
    /// The recording that a tree is of, within a scope.
    #[must_use]
    pub fn new(tree: &'t TraceTree, scope: &Scope, communication: &CommunicationPatterns) -> Self {
        let trace = tree.trace();
        let events = trace.events();
        let mut faults = Faults::default();
        let is_call_in = |event: EventId| scope.has_start(events.start(event));

        let mut kinds = PerString::new(trace.strings(), HostWait::from_call);
        let mut calls: Vec<Call> = Vec::new();
        for event in events.ids().filter(|&event| events.category(event).is_launch_api()) {
            let blocking = *kinds.get(events.name(event));
            let (start, end) = (events.start(event), events.end(event));
            let thread = events.track(event).index() as u32;
            calls.push(Call { event, start, end, thread, blocking, waits_for: WaitsFor::Unrecorded });
        }
        calls.sort_by_key(|call| (call.start, call.end));
        let mut call_of_row = vec![NONE; events.len()];
        for (position, call) in (0..).zip(&calls) {
            call_of_row[call.event.index()] = position;
        }

        let mut classes = PerString::new(trace.strings(), |name: &str| work_class(name, communication));
        let mut streams: HashMap<Stream, u32> = HashMap::new();
        let mut works: Vec<Work> = Vec::new();
        let mut outside: Vec<(EventId, EventId)> = Vec::new();
        let is_graph_node = graph_dependencies::node_categories(trace);
        for event in events.ids() {
            let category = events.category(event);
            if !category.is_device() && !is_graph_node(category) {
                continue;
            }
            let launch = tree.launch(event);
            if !match launch {
                Some(launch) => is_call_in(launch),
                None => !matches!(scope, Scope::LaunchedIn(_)),
            } {
                outside.extend(launch.map(|launch| (event, launch)));
                continue;
            }
            let next = streams.len() as u32;
            let stream = *streams.entry(stream_of(trace, event)).or_insert(next);
            works.push(Work {
                event,
                start: events.start(event),
                end: events.end(event),
                stream,
                launch: launch.map_or(NONE, |launch| call_of_row[launch.index()]),
                class: match category {
                    Category::KERNEL => *classes.get(events.name(event)),
                    category if category.is_device() => PathClass::GpuMemory,
                    _ => PathClass::GpuOther,
                },
            });
        }
        works.sort_by_key(|work| (work.start, work.end));
        for work in &mut works {
            if let Some(launch) = some(work.launch)
                && calls[launch].start > work.start
            {
                faults.add(Fault::LaunchAfterWork, trace, work.event);
                work.launch = NONE;
            }
        }
        let outside = outside.into_iter().filter_map(|(event, launch)| {
            let stream = *streams.get(&stream_of(trace, event))?;
            Some(Outside { start: events.start(event), stream, launch: call_of_row[launch.index()] })
        });
        let outside: Vec<Outside> = outside.filter(|outside| outside.launch != NONE).collect();
        let mut by_position = vec![Stream { device: 0, number: 0 }; streams.len()];
        streams.iter().for_each(|(&stream, &position)| by_position[position as usize] = stream);

        let by_stream: Vec<(u32, u32)> = works.iter().zip(0..).map(|(work, at)| (work.stream, at)).collect();
        let on_stream = Lists::group(by_position.len(), &by_stream);
        let by_launch: Vec<(u32, u32)> = (works.iter().zip(0..))
            .filter(|(work, _)| work.launch != NONE)
            .map(|(work, at)| (work.launch, at))
            .collect();
        let launched_by = Lists::group(calls.len(), &by_launch);

        let threads = ThreadSegments::new(tree, is_call_in);
        let host = threads.extent();
        let device = works.iter().map(|work| work.start).min().zip(works.iter().map(|work| work.end).max());
        let extent = [host, device].into_iter().flatten().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let (first, last) = extent.unwrap_or((0, 0));
        let time = match scope {
            Scope::Whole => first..last,
            Scope::LaunchedIn(time) => time.start..time.end.max(last),
            Scope::Cut(time) => {
                let device_end = device.map_or(time.end, |(_, end)| end);
                time.start..time.end.min(last).max(device_end)
            }
        };

        let mut recorded = Recorded {
            tree,
            scope: scope.clone(),
            time,
            works,
            outside,
            streams: by_position,
            on_stream,
            launched_by,
            calls,
            call_of_row,
            threads,
            graph_predecessors: Lists::default(),
            last_of_replay: Lists::default(),
            awaited: Lists::default(),
            faults,
        };
        recorded.add_graph_dependencies();
        recorded.add_synchronizations(&streams);
        recorded
    }

    pub(crate) fn trace(&self) -> &'t Trace {
        self.tree.trace()
    }

    /// Whether an operator or call is one of the host's in the scope, and takes time.
    pub(crate) fn runs_on_host(&self, event: EventId) -> bool {
        let events = self.trace().events();
        events.category(event) != Category::PYTHON_FUNCTION
            && events.duration(event) > 0
            && self.scope.has_start(events.start(event))
    }

    pub(crate) fn call(&self, event: EventId) -> Option<&Call> {
        some(self.call_of_row[event.index()]).map(|position| &self.calls[position])
    }

    /// The position of a call among the calls.
    pub(crate) fn call_position(&self, call: &Call) -> Option<usize> {
        some(self.call_of_row[call.event.index()])
    }

    /// Nanoseconds in the trace's unit.
    pub(crate) fn nanoseconds(&self, time: i64) -> i64 {
        time * (self.trace().time_unit().per_microsecond() / 1_000)
    }

    pub(crate) fn name(&self, event: EventId) -> StringId {
        self.trace().events().name(event)
    }

    /// From the first start to the last end of what belongs to it, in the trace's unit.
    #[must_use]
    pub fn time(&self) -> Range<i64> {
        self.time.clone()
    }

    /// What was odd about it, each kind once: how often, and at which event of the file's list first, where that is known.
    #[must_use]
    pub fn faults(&self) -> Vec<(Fault, u64, Option<u32>)> {
        self.faults.list()
    }

    fn add_graph_dependencies(&mut self) {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for Dependency { from, to } in graph_dependencies::resolve(
            self.trace(),
            self.works.iter().map(|work| work.event),
            &mut self.faults,
        ) {
            let (before, after) = (self.works[from as usize], self.works[to as usize]);
            if (before.start, before.end, from) >= (after.start, after.end, to) {
                self.faults.add(Fault::DependencyOnLater, self.trace(), after.event);
                continue;
            }
            if before.end > after.start {
                self.faults.add(Fault::DependencyOverlaps, self.trace(), after.event);
            }
            pairs.push((to, from));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let (mut is_waited_for, mut has_dependencies) =
            (vec![false; self.works.len()], vec![false; self.calls.len()]);
        for &(_, from) in &pairs {
            is_waited_for[from as usize] = true;
            if let Some(launch) = some(self.works[from as usize].launch) {
                has_dependencies[launch] = true;
            }
        }
        let last = self.works.iter().zip(0..).filter_map(|(work, at)| {
            let launch = some(work.launch).filter(|&launch| has_dependencies[launch])?;
            (!is_waited_for[at as usize]).then_some((launch as u32, at))
        });
        self.last_of_replay = Lists::group(self.calls.len(), &last.collect::<Vec<_>>());
        self.graph_predecessors = Lists::group(self.works.len(), &pairs);
    }

    /// What has to end before that which waits for a work: the work, or all of the replay of a graph that it is of, which
    /// a stream goes through as one.
    pub(crate) fn whole_of<'a>(&'a self, work: &'a u32) -> &'a [u32] {
        let launch = some(self.works[*work as usize].launch);
        let last = launch.map_or(&[][..], |launch| self.last_of_replay.get(launch));
        if last.is_empty() { std::slice::from_ref(work) } else { last }
    }

    /// Reads the events of the category `cuda_sync`.
    fn add_synchronizations(&mut self, streams: &HashMap<Stream, u32>) {
        let trace = self.trace();
        let events = trace.events();
        let column = &events.arguments().synchronization;
        if column.is_empty() {
            self.awaited = Lists::group(self.works.len(), &[]);
            return;
        }
        let call_of_correlation: HashMap<i64, u32> = (self.calls.iter().zip(0..))
            .filter_map(|(call, at)| Some((events.correlation(call.event)?, at)))
            .collect();
        // Launches onto each stream by time, of all threads and of each.
        let mut onto: HashMap<u32, Vec<(i64, u32)>> = HashMap::new();
        let mut onto_by: HashMap<(u32, u32), Vec<(i64, u32)>> = HashMap::new();
        for (call, launched) in self.calls.iter().zip(0..).map(|(call, at)| (call, self.launched_by.get(at)))
        {
            for &work in launched {
                let stream = self.works[work as usize].stream;
                onto.entry(stream).or_default().push((call.start, work));
                onto_by.entry((stream, call.thread)).or_default().push((call.start, work));
            }
        }
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (row, synchronization) in column.iter() {
            let event = EventId(row as u32);
            let call = events.correlation(event).and_then(|id| call_of_correlation.get(&id).copied());
            let device = device_of(trace, event);
            let kind = synchronization.kind.unwrap_or(events.name(event));
            // What the stream was given before the event was recorded on it.
            let source = || {
                let record = call_of_correlation.get(&synchronization.record?)?;
                let number = synchronization.stream?;
                let launches = onto.get(streams.get(&Stream { device, number })?)?;
                let time = self.calls[*record as usize].start;
                let before = launches.partition_point(|&(start, _)| start <= time);
                Some(launches[before.checked_sub(1)?].1)
            };
            let Some(call) = call else {
                self.faults.add(Fault::SynchronizationWithoutCall, trace, event);
                continue;
            };
            let stream = || {
                let number = events.stream(event)?;
                streams.get(&Stream { device, number }).copied()
            };
            match trace.text(kind) {
                "Context Sync" => self.calls[call as usize].waits_for = WaitsFor::Device(device),
                "Stream Sync" => {
                    self.calls[call as usize].waits_for =
                        stream().map_or(WaitsFor::Nothing, WaitsFor::Stream);
                }
                "Event Sync" => {
                    self.calls[call as usize].waits_for = source().map_or(WaitsFor::Nothing, WaitsFor::Work);
                }
                "Stream Wait Event" => {
                    let Some(source) = source() else { continue };
                    let Call { start, thread, .. } = self.calls[call as usize];
                    let launches = stream().and_then(|stream| onto_by.get(&(stream, thread)));
                    let Some(launches) = launches else { continue };
                    let next = launches.partition_point(|&(other, _)| other <= start);
                    let Some(&(_, target)) = launches.get(next) else { continue };
                    let (before, after) = (self.works[source as usize], self.works[target as usize]);
                    if (before.start, before.end, source) >= (after.start, after.end, target) {
                        self.faults.add(Fault::WaitsForLater, trace, event);
                    } else {
                        pairs.push((target, source));
                    }
                }
                _ => self.faults.add(Fault::UnknownSynchronization, trace, event),
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        self.awaited = Lists::group(self.works.len(), &pairs);
    }
}

/// The device of an event: its argument, or the process that stands for it.
fn device_of(trace: &Trace, event: EventId) -> i64 {
    let events = trace.events();
    events.device(event).unwrap_or_else(|| match trace.tracks().get(events.track(event)).pid {
        trace_ingest::RowId::Number(number) => number,
        _ => -1,
    })
}

/// The stream of an event: its argument, or the row that stands for it.
fn stream_of(trace: &Trace, event: EventId) -> Stream {
    let events = trace.events();
    // Below all numbers of streams.
    let row = |track: TrackId| -2 - track.index() as i64;
    let number = events.stream(event).unwrap_or_else(|| match trace.tracks().get(events.track(event)).tid {
        trace_ingest::RowId::Number(number) => number,
        _ => row(events.track(event)),
    });
    Stream { device: device_of(trace, event), number }
}
