//! Which iteration device work belongs to.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use trace_ingest::{Category, EventId, Trace, TrackId};
use trace2tree::TraceTree;

use crate::device_runs::DeviceRuns;
use crate::level::Iteration;
use crate::threads::{Span, ThreadSpans};

/// A part of a recording, by the iterations of a level. Ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Before the first iteration.
    Before,
    /// The iteration of this index.
    Iteration(usize),
    /// After the iteration of this index and before the next, if there is one.
    After(usize),
}

impl Part {
    /// A number that orders parts by time.
    fn place(self) -> u32 {
        let place = match self {
            Part::Before => 0,
            Part::Iteration(index) => 2 * index + 1,
            Part::After(index) => 2 * index + 2,
        };
        u32::try_from(place).unwrap_or(u32::MAX)
    }

    pub(crate) fn at(place: u32) -> Part {
        match place.checked_sub(1) {
            None => Part::Before,
            Some(place) if place % 2 == 0 => Part::Iteration(place as usize / 2),
            Some(place) => Part::After(place as usize / 2),
        }
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The part of a recording that every device event belongs to: that which launched it, whenever it runs. Events without
/// launch belong where their neighbours on the stream do; those of streams without any launch, where their time is. What was
/// launched before the recording began is before all iterations.
///
/// What runs on a TPU is launched by the run of the program that it is part of. A program runs once on each of several
/// devices, at times that differ; all of them belong to the iteration of that run.
#[derive(Clone, Debug)]
pub struct Division {
    /// [`Part::place`] by row of the trace; [`NO_PART`] for what is no device event.
    places: Vec<u32>,
}

const NO_PART: u32 = u32::MAX;

/// The device events of a trace with their launches, for the divisions of all levels.
pub(crate) struct LaunchedWork {
    /// Those of each stream, by start.
    streams: Vec<Vec<LaunchedEvent>>,
    runs: Option<DeviceRuns>,
    /// Start of the first call that launched any of them.
    first_call: Option<i64>,
    first_call_id: Option<i64>,
}

struct LaunchedEvent {
    event: EventId,
    start: i64,
    launch: Option<Launch>,
}

/// What launched a device event: a call of the host, or the run of a compiled program on a device that launches
/// nothing itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) event: EventId,
    /// Thread of the call; `None` for a run.
    track: Option<TrackId>,
    /// Its start; that of a run on the device that iterations are found on.
    time: i64,
}

impl LaunchedWork {
    pub(crate) fn new(tree: &TraceTree) -> Self {
        let (trace, events) = (tree.trace(), tree.trace().events());
        let mut streams: Vec<Vec<LaunchedEvent>> = Vec::new();
        streams.resize_with(trace.tracks().len(), Vec::new);
        let mut work = LaunchedWork {
            streams: Vec::new(),
            runs: DeviceRuns::new(trace),
            first_call: None,
            first_call_id: tree.first_call_id(),
        };
        for event in events.ids().filter(|&event| work.is_device_category(events.category(event))) {
            let launch = work.launch(tree, event);
            streams[events.track(event).index()].push(LaunchedEvent {
                event,
                start: events.start(event),
                launch,
            });
        }
        // Most are recorded in order, which a stable sort sees.
        streams.iter_mut().for_each(|stream| stream.sort_by_key(|event| event.start));
        let calls = streams.iter().flatten().filter_map(|event| event.launch);
        work.first_call = calls.filter(|launch| launch.track.is_some()).map(|launch| launch.time).min();
        work.streams = streams;
        work
    }

    /// Whether a device event without launch, before all of its stream that have one, was launched before the recording
    /// began: its id is smaller than that of any call, or, without an id, it began before the first call that launched
    /// anything.
    fn is_from_before(&self, trace: &Trace, event: EventId) -> bool {
        let events = trace.events();
        match events.correlation(event).filter(|&id| id > 0) {
            Some(id) => self.first_call_id.is_some_and(|first| id < first),
            None => self.first_call.is_some_and(|first| events.start(event) < first),
        }
    }

    /// Whether events of a category happen on a device.
    pub(crate) fn is_device_category(&self, category: Category) -> bool {
        category.is_device() || self.runs.as_ref().is_some_and(|runs| runs.has(category))
    }

    /// Device events in which a device works: kernels, copies and fills, and operations of programs.
    pub(crate) fn working<'w>(&'w self, trace: &'w Trace) -> impl Iterator<Item = EventId> + 'w {
        let is_operation =
            |category: Category| self.runs.as_ref().is_some_and(|runs| runs.is_operation(category));
        let works = move |event: &EventId| {
            let category = trace.events().category(*event);
            category.is_device() || is_operation(category)
        };
        self.streams.iter().flatten().map(|launched| launched.event).filter(works)
    }

    /// All device events that start in a stretch of time, with their launches.
    pub(crate) fn starting_in<'w>(
        &'w self,
        time: &'w Range<i64>,
    ) -> impl Iterator<Item = (EventId, Option<EventId>)> + 'w {
        let inside = self.streams.iter().flatten().filter(|event| time.contains(&event.start));
        inside.map(|event| (event.event, event.launch.map(|launch| launch.event)))
    }

    /// All device events whose launches start in a stretch of time, with these.
    pub(crate) fn launched_in<'w>(
        &'w self,
        time: &'w Range<i64>,
    ) -> impl Iterator<Item = (EventId, EventId)> + 'w {
        let launched = self.streams.iter().flatten().filter_map(|event| Some((event.event, event.launch?)));
        launched
            .filter(|(_, launch)| time.contains(&launch.time))
            .map(|(event, launch)| (event, launch.event))
    }

    /// What launched a device event.
    pub(crate) fn launch(&self, tree: &TraceTree, event: EventId) -> Option<Launch> {
        let events = tree.trace().events();
        let call = |event| Launch { event, track: Some(events.track(event)), time: events.start(event) };
        let run = || {
            let (event, time) = self.runs.as_ref()?.launch(tree.trace(), event)?;
            Some(Launch { event, track: None, time })
        };
        match events.category(event).is_device() {
            // XProf shows what runs of programs launched on TPUs as if it were kernels.
            true => tree.launch(event).map(call).or_else(run),
            false => run(),
        }
    }
}

impl Division {
    /// Divides the device events of a trace among iterations, which stand in their order.
    #[must_use]
    pub fn new(tree: &TraceTree, iterations: &[Iteration]) -> Division {
        Self::of(&LaunchedWork::new(tree), tree.trace(), iterations)
    }

    /// The same of work that several levels share.
    pub(crate) fn of(work: &LaunchedWork, trace: &Trace, iterations: &[Iteration]) -> Division {
        let ranges = Ranges::new(trace, iterations);
        let mut division = Division { places: vec![NO_PART; trace.events().len()] };
        let mut without_launch = Vec::new();
        for stream in &work.streams {
            let mut last = NO_PART;
            for event in stream {
                let part = event.launch.and_then(|launch| ranges.launch_part(launch));
                let place = &mut division.places[event.event.index()];
                last = part.map_or(last, Part::place);
                *place = last;
            }
            // Those before the first with a launch belong to its part, but for what was queued when recording began.
            let known = stream.iter().map(|event| division.places[event.event.index()]);
            let first = known.into_iter().find(|&place| place != NO_PART);
            let unknown = stream.iter().take_while(|event| division.places[event.event.index()] == NO_PART);
            let unknown = unknown.map(|event| event.event);
            let (queued, unknown): (Vec<EventId>, Vec<EventId>) =
                unknown.partition(|&event| work.is_from_before(trace, event));
            queued.iter().for_each(|event| division.places[event.index()] = Part::Before.place());
            match first {
                Some(first) => unknown.iter().for_each(|event| division.places[event.index()] = first),
                None => without_launch.extend(unknown),
            }
        }
        division.place_by_time(trace, &ranges, without_launch);
        division
    }

    /// Where parts of other streams began on the device, an event belongs to the last that began before it; where none
    /// did, to the iteration of its own time.
    fn place_by_time(&mut self, trace: &Trace, ranges: &Ranges, device_events: Vec<EventId>) {
        let events = trace.events();
        let mut began: BTreeMap<u32, i64> = BTreeMap::new();
        if !device_events.is_empty() {
            for event in events.ids().filter(|event| self.places[event.index()] != NO_PART) {
                let start = events.start(event);
                began
                    .entry(self.places[event.index()])
                    .and_modify(|first| *first = start.min(*first))
                    .or_insert(start);
            }
        }
        let mut starts: Vec<(i64, u32)> = began.into_iter().map(|(place, start)| (start, place)).collect();
        starts.sort_unstable();
        for event in device_events {
            let start = events.start(event);
            let place = match starts.is_empty() {
                true => ranges.at(start).place(),
                false => {
                    let after = starts.partition_point(|&(first, _)| first <= start);
                    starts[..after].last().map_or(Part::Before.place(), |&(_, place)| place)
                }
            };
            self.places[event.index()] = place;
        }
    }

    /// The parts in which these calls were made.
    pub(crate) fn call_parts(trace: &Trace, iterations: &[Iteration], calls: &[EventId]) -> Vec<Part> {
        if calls.is_empty() {
            return Vec::new();
        }
        let (ranges, events) = (Ranges::new(trace, iterations), trace.events());
        let part = |&call: &EventId| ranges.host_part(events.track(call), events.start(call));
        calls.iter().filter_map(part).collect()
    }

    /// The part of a device event; `None` for any other event.
    #[must_use]
    pub fn part_of(&self, event: EventId) -> Option<Part> {
        self.place_of(event).map(Part::at)
    }

    /// The place of that part among all, see [`Part::at`].
    pub(crate) fn place_of(&self, event: EventId) -> Option<u32> {
        self.places.get(event.index()).copied().filter(|&place| place != NO_PART)
    }
}

/// The iterations by thread.
struct Ranges {
    spans: ThreadSpans,
    /// By track: the threads whose iterations its calls belong to: itself, else those of its process, else all.
    owner_tracks: Vec<Vec<TrackId>>,
    /// Those found on the device, or all where none was, by start.
    device_spans: Vec<Span>,
    /// Where the last moment was found among spans: the next one is often there too.
    last: Cell<usize>,
}

impl Ranges {
    fn new(trace: &Trace, iterations: &[Iteration]) -> Self {
        let mut spans = ThreadSpans::new(trace);
        let (mut device_spans, mut all) = (Vec::new(), Vec::with_capacity(iterations.len()));
        for (index, iteration) in iterations.iter().enumerate() {
            let span = Span { start: iteration.start, end: iteration.end, index };
            all.push(span);
            match iteration.track {
                Some(track) => spans.push(track, span),
                None => device_spans.push(span),
            }
        }
        let owners = spans.owners(trace);
        let owner_tracks = |track| match owners.of(trace, track) {
            [] => owners.all().to_vec(),
            owners => owners.to_vec(),
        };
        let owner_tracks = trace.tracks().ids().map(owner_tracks).collect();
        let device_spans = if device_spans.is_empty() { all } else { device_spans };
        Ranges { spans, owner_tracks, device_spans, last: Cell::new(0) }
    }

    /// The part that a launch lies in.
    fn launch_part(&self, launch: Launch) -> Option<Part> {
        match launch.track {
            Some(track) => self.host_part(track, launch.time),
            None => Some(self.at(launch.time)),
        }
    }

    /// The part in which a host thread made a call: of a thread without iterations, that of its process at the time,
    /// as far as only one thread of it has iterations. `None` where there are no iterations on the host.
    fn host_part(&self, track: TrackId, time: i64) -> Option<Part> {
        let part = |owner: TrackId| self.among(self.spans.of(owner), time);
        match self.owner_tracks[track.index()].as_slice() {
            [owner] => Some(part(*owner)),
            // The earliest iteration under way, else the latest part.
            owners => {
                let parts = owners.iter().map(|&owner| part(owner));
                let running = |part: &Part| matches!(part, Part::Iteration(_));
                parts.clone().filter(running).min().or_else(|| parts.max())
            }
        }
    }

    /// The part of a moment on the device.
    fn at(&self, time: i64) -> Part {
        self.among(&self.device_spans, time)
    }

    /// The part of a moment by some iterations that do not overlap.
    fn among(&self, spans: &[Span], time: i64) -> Part {
        let has_begun = |span: &Span| span.start <= time;
        let last = self.last.get();
        let is_last = spans.get(last).is_some_and(has_begun) && !spans.get(last + 1).is_some_and(has_begun);
        let span = match is_last {
            true => Some(last),
            false => spans.partition_point(has_begun).checked_sub(1),
        };
        let Some(at) = span else { return Part::Before };
        self.last.set(at);
        let span = spans[at];
        if time < span.end { Part::Iteration(span.index) } else { Part::After(span.index) }
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::{EventArguments, TraceBuilder};
    use trace2tree::TreeOptions;

    use super::*;

    /// Iterations from 100 to 200 and from 300 to 400 on thread 1.
    fn iterations(track: TrackId) -> Vec<Iteration> {
        [(100, 200), (300, 400)]
            .map(|(start, end)| Iteration { number: None, track: Some(track), start, end, whole: true })
            .to_vec()
    }

    struct Recorded {
        builder: TraceBuilder,
        correlation: i64,
    }

    impl Recorded {
        /// From time 0 on.
        fn new() -> Self {
            let mut builder = TraceBuilder::new();
            let track = builder.track(1, 1);
            builder.event(Category::CPU_OP, "start", track, 0, 1, EventArguments::default());
            Recorded { builder, correlation: 0 }
        }

        /// A kernel on a stream at a time, launched by a thread at another.
        fn kernel(&mut self, stream: i64, start: i64, launch: Option<(i64, i64)>) -> EventId {
            let correlation = launch.map(|_| {
                self.correlation += 1;
                self.correlation
            });
            let arguments =
                || EventArguments { correlation, stream: Some(stream), ..EventArguments::default() };
            if let Some((thread, time)) = launch {
                let track = self.builder.track(1, thread);
                self.builder.event(Category::CUDA_RUNTIME, "cudaLaunchKernel", track, time, 1, arguments());
            }
            let track = self.builder.track(0, stream);
            self.builder.event(Category::KERNEL, "k", track, start, 10, arguments())
        }

        /// A kernel whose launch is not recorded, with the id of it.
        fn kernel_of(&mut self, stream: i64, start: i64, correlation: Option<i64>) -> EventId {
            let track = self.builder.track(0, stream);
            let arguments = EventArguments { correlation, stream: Some(stream), ..EventArguments::default() };
            self.builder.event(Category::KERNEL, "k", track, start, 10, arguments)
        }

        fn divided(mut self, events: &[EventId]) -> Vec<Part> {
            let track = self.builder.track(1, 1);
            let tree = TraceTree::build(self.builder.finish(), &TreeOptions::default());
            let division = Division::new(&tree, &iterations(track));
            let parts = events.iter().map(|&event| division.part_of(event).unwrap());
            parts.collect()
        }
    }

    #[test]
    fn work_belongs_to_the_iteration_that_launched_it_whenever_it_runs() {
        let mut recorded = Recorded::new();
        let late = recorded.kernel(7, 350, Some((1, 150)));
        let backward = recorded.kernel(7, 360, Some((2, 160)));
        let between = recorded.kernel(7, 370, Some((2, 250)));
        let second = recorded.kernel(7, 420, Some((1, 310)));
        let after = recorded.kernel(7, 500, Some((1, 400)));
        let before = recorded.kernel(9, 110, Some((1, 95)));
        let parts = recorded.divided(&[late, backward, between, second, after, before]);
        assert_eq!(
            parts,
            [
                Part::Iteration(0),
                Part::Iteration(0),
                Part::After(0),
                Part::Iteration(1),
                Part::After(1),
                Part::Before
            ]
        );
    }

    #[test]
    fn work_without_launch_belongs_where_its_neighbours_do() {
        let mut recorded = Recorded::new();
        let first = recorded.kernel(7, 100, None);
        recorded.kernel(7, 120, Some((1, 110)));
        let second = recorded.kernel(7, 140, None);
        recorded.kernel(7, 360, Some((1, 310)));
        let third = recorded.kernel(7, 380, None);
        let on_another_stream = [recorded.kernel(8, 50, None), recorded.kernel(8, 330, None)];
        let events = [first, second, third, on_another_stream[0], on_another_stream[1]];
        let parts = recorded.divided(&events);
        let expected =
            [Part::Before, Part::Iteration(0), Part::Iteration(1), Part::Before, Part::Iteration(0)];
        assert_eq!(parts, expected);
    }

    #[test]
    fn work_that_was_queued_when_recording_began_is_before_all_iterations() {
        let mut recorded = Recorded::new();
        // In the queue of stream 7 before the calls, whose ids come next.
        recorded.correlation = 5;
        let queued = [recorded.kernel_of(7, 90, Some(4)), recorded.kernel_of(7, 130, Some(5))];
        // Its launch, 9, is lost among others.
        let lost = recorded.kernel_of(7, 140, Some(9));
        let own = recorded.kernel(7, 150, Some((1, 110)));
        // Streams without launches: the id tells there, too.
        // It ran before the first call, whose id comes before its own: its launch is lost.
        let early = recorded.kernel_of(9, 95, Some(8));
        recorded.kernel(9, 150, Some((1, 120)));
        let other = [recorded.kernel_of(8, 160, Some(3)), recorded.kernel_of(8, 170, Some(9))];
        let parts = recorded.divided(&[queued[0], queued[1], lost, own, early, other[0], other[1]]);
        let (before, first) = (Part::Before, Part::Iteration(0));
        assert_eq!(parts, [before, before, first, first, first, before, first]);
    }

    #[test]
    fn without_any_launch_time_decides() {
        let mut recorded = Recorded::new();
        let events = [80, 150, 250, 350, 450].map(|start| recorded.kernel(7, start, None));
        let parts = recorded.divided(&events);
        let expected = [Part::Before, Part::Iteration(0), Part::After(0), Part::Iteration(1), Part::After(1)];
        assert_eq!(parts, expected);
    }

    #[test]
    fn parts_are_ordered_by_time() {
        let parts = [Part::Before, Part::Iteration(0), Part::After(0), Part::Iteration(1), Part::After(1)];
        assert!(parts.is_sorted());
        assert_eq!(parts.map(|part| Part::at(part.place())), parts);
    }
}
