//! The trace as a whole, and how to build one by hand.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::argument::{ArgumentId, ArgumentValue, Signature, SignatureId, SignatureTable};
use crate::category::{Category, KNOWN};
use crate::event_table::{
    ArgumentColumns, Collective, CounterSample, CudaWork, Event, EventId, EventTable, Flow, LaunchGeometry,
    MemoryEvent, MemoryTransfer, NvtxRange, Overhead, Phase, PythonFrame, Synchronization, TritonCall,
};
use crate::facts::TraceFacts;
use crate::memory::MemoryDevice;
use crate::string_table::{StringId, StringTable};
use crate::time::{Time, TimeUnit, TimesOfOthers};
use crate::track_table::{ProcessInfo, RowId, Track, TrackId, TrackTable};
use crate::warning::Warning;

/// Hands the names of all columns of arguments to a macro.
macro_rules! each_argument {
    ($with:ident) => {
        $with!(
            external_id,
            correlation,
            device,
            stream,
            signature,
            sequence_number,
            forward_thread,
            python_frame,
            geometry,
            transfer,
            collective,
            triton,
            synchronization,
            memory,
            graph_node,
            queue,
            launched_kernel,
            framework_op,
            call_stack,
            unfinished,
            nvtx,
            overhead,
            cuda
        )
    };
}

/// A profiler trace: events in columns, with everything repeated interned.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub(crate) strings: StringTable,
    /// Texts of the categories that are not constants of [`Category`].
    pub(crate) other_categories: Vec<StringId>,
    pub(crate) tracks: TrackTable,
    pub(crate) signatures: SignatureTable,
    pub(crate) events: EventTable,
    pub(crate) flows: Vec<Flow>,
    pub(crate) counters: Vec<CounterSample>,
    pub(crate) entries: u32,
    pub(crate) skipped_frames: u32,
    pub(crate) origin: i64,
    pub(crate) facts: TraceFacts,
    pub(crate) warnings: Vec<Warning>,
}

impl Trace {
    /// The events.
    pub fn events(&self) -> &EventTable {
        &self.events
    }

    /// The flow arrows, in file order.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The samples of device counters, in file order. They are no events.
    pub fn counters(&self) -> &[CounterSample] {
        &self.counters
    }

    /// The interned strings.
    pub fn strings(&self) -> &StringTable {
        &self.strings
    }

    /// The text of an interned string.
    #[inline]
    pub fn text(&self, id: StringId) -> &str {
        self.strings.get(id)
    }

    /// Name of an event.
    #[inline]
    pub fn name(&self, event: EventId) -> &str {
        self.strings.get(self.events.name(event))
    }

    /// Text of a category.
    pub fn category_name(&self, category: Category) -> &str {
        let index = category.0 as usize;
        match KNOWN.get(index) {
            Some(text) => text,
            None => self.strings.get(self.other_categories[index - KNOWN.len()]),
        }
    }

    /// Processes and threads.
    pub fn tracks(&self) -> &TrackTable {
        &self.tracks
    }

    /// Name and labels of the process of a track.
    pub fn process(&self, track: TrackId) -> ProcessInfo {
        self.tracks.process(self.tracks.get(track).pid)
    }

    /// Name of the thread (or stream) that a track stands for.
    pub fn thread_name(&self, track: TrackId) -> Option<&str> {
        self.tracks.thread(self.tracks.get(track)).name.map(|name| self.strings.get(name))
    }

    /// The distinct call signatures.
    pub fn signatures(&self) -> &SignatureTable {
        &self.signatures
    }

    /// An argument list of an event, if recorded: `trace.argument(event, |s| s.dims)`.
    pub fn argument(
        &self,
        event: EventId,
        part: impl FnOnce(Signature) -> Option<ArgumentId>,
    ) -> Option<&ArgumentValue> {
        let signature = self.events.signature(event)?;
        part(self.signatures.get(signature)).map(|id| self.signatures.argument(id))
    }

    /// Number of entries of the file's event list, those that are not kept as events included.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// Number of Python frames that were left out because the reader was asked to
    /// ([`ReadOptions::skip_python_frames`](crate::ReadOptions::skip_python_frames)).
    pub fn skipped_frames(&self) -> u32 {
        self.skipped_frames
    }

    /// Absolute time of relative time zero, in [`Trace::time_unit`]s: the earliest start of an event.
    pub fn origin(&self) -> i64 {
        self.origin
    }

    /// Unit of all times.
    #[inline]
    pub fn time_unit(&self) -> TimeUnit {
        self.facts.recorder.time_unit
    }

    /// A time of ticks, as the columns of this trace have them.
    #[inline]
    pub fn time(&self, ticks: i64) -> Time {
        Time::from_ticks(ticks, self.time_unit())
    }

    /// Start of an event, counted from the trace's origin.
    #[inline]
    pub fn start(&self, event: EventId) -> Time {
        self.time(self.events.start(event))
    }

    /// Length of an event, never negative.
    #[inline]
    pub fn duration(&self, event: EventId) -> Time {
        self.time(self.events.duration(event))
    }

    /// End of an event, counted from the trace's origin.
    #[inline]
    pub fn end(&self, event: EventId) -> Time {
        self.time(self.events.end(event))
    }

    /// A number of ticks in microseconds.
    #[inline]
    pub fn to_microseconds(&self, time: i64) -> f64 {
        self.time_unit().to_microseconds(time)
    }

    /// The id of a process or thread as a text; `None` where it is missing.
    pub fn row_text(&self, id: RowId) -> Option<Cow<'_, str>> {
        match id {
            RowId::Number(number) => Some(number.to_string().into()),
            RowId::Text(text) => Some(self.text(text).into()),
            RowId::Missing => None,
        }
    }

    /// What the trace says of the recording.
    pub fn facts(&self) -> &TraceFacts {
        &self.facts
    }

    /// Faults that did not stop reading.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Appends an event that the file does not have, such as an operator that a rule inserted. It gets the
    /// next free uid. Strings, tracks and signatures can be interned with [`Trace::intern`],
    /// [`Trace::intern_track`] and [`Trace::intern_signature`].
    #[inline]
    pub fn append(&mut self, event: NewEvent) -> EventId {
        let NewEvent { phase, category, name, track, start, duration, arguments } = event;
        let id = self.append_plain(phase, category, name, track, (start, duration));
        arguments.push_into(&mut self.events, id);
        id
    }

    /// Adds an event without arguments; its time is its start and its length.
    #[inline]
    pub(crate) fn append_plain(
        &mut self,
        phase: Phase,
        category: Category,
        name: StringId,
        track: TrackId,
        (start, duration): (i64, i64),
    ) -> EventId {
        let uid = self.entries;
        self.entries += 1;
        self.events.push(Event { uid, phase, category, name, track, start, duration })
    }

    /// Keeps only the events that are chosen, under new ids in the same order. All else stays as it is: times, uids,
    /// tracks, texts and flow arrows.
    pub fn retain(&mut self, mut keep: impl FnMut(EventId) -> bool) {
        let rows: Vec<u32> = self.events.ids().filter(|&event| keep(event)).map(|event| event.0).collect();
        let events = &self.events;
        fn dense<T: Copy>(column: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().map(|&row| column[row as usize]).collect()
        }
        macro_rules! sparse {
            ($($field:ident),*) => {
                ArgumentColumns { $($field: events.arguments.$field.select_rows(&rows)),* }
            };
        }
        self.events = EventTable {
            uid: dense(&events.uid, &rows),
            phase: dense(&events.phase, &rows),
            category: dense(&events.category, &rows),
            name: dense(&events.name, &rows),
            track: dense(&events.track, &rows),
            start: dense(&events.start, &rows),
            duration: dense(&events.duration, &rows),
            arguments: each_argument!(sparse),
        };
    }

    /// Gives an event another name, interned with [`Trace::intern`].
    pub fn rename(&mut self, event: EventId, name: StringId) {
        self.events.name[event.index()] = name;
    }

    /// Gives an event another time, relative to the trace's origin. The duration may be below 0.
    pub fn retime(&mut self, event: EventId, start: i64, duration: i64) {
        self.events.start[event.index()] = start;
        self.events.duration[event.index()] = duration;
    }

    /// Adds a text to the string table.
    pub fn intern(&mut self, text: &str) -> StringId {
        self.strings.intern(text)
    }

    /// Adds a track to the track table.
    pub fn intern_track(&mut self, track: Track) -> TrackId {
        self.tracks.intern(track)
    }

    /// Adds argument lists to the signature table.
    pub fn intern_signature(
        &mut self,
        [dims, types, strides, concrete]: [Option<ArgumentValue>; 4],
    ) -> SignatureId {
        let mut part =
            |value: Option<ArgumentValue>| value.map(|value| self.signatures.intern_argument(value));
        let signature = Signature {
            dims: part(dims),
            types: part(types),
            strides: part(strides),
            concrete: part(concrete),
        };
        self.signatures.intern(signature)
    }

    /// The category with this text, added when it is new.
    pub fn intern_category(&mut self, text: &str) -> Category {
        if let Some(known) = Category::known(text.as_bytes()) {
            return known;
        }
        let name = self.strings.intern(text);
        let position = self.other_categories.iter().position(|&other| other == name).unwrap_or_else(|| {
            self.other_categories.push(name);
            self.other_categories.len() - 1
        });
        // A trace with more distinct categories than ids keeps the surplus under "no category".
        u16::try_from(KNOWN.len() + position).map_or(Category::NONE, Category)
    }

    /// What the allocator of each device did, in the order in which it happened: by time, then by the recorder's order.
    /// Those of the file differ where threads take turns. Allocations that failed (`[OutOfMemory]`) changed nothing and
    /// are left out.
    #[must_use]
    pub fn allocations(&self) -> BTreeMap<MemoryDevice, Vec<(EventId, MemoryEvent)>> {
        let failed = self.strings.find(Self::OUT_OF_MEMORY);
        let mut devices: BTreeMap<MemoryDevice, Vec<(EventId, MemoryEvent)>> = BTreeMap::new();
        for (row, event) in self.events.arguments.memory.iter() {
            let id = EventId(row as u32);
            if Some(self.events.name(id)) != failed {
                devices.entry(event.device).or_default().push((id, event));
            }
        }
        for steps in devices.values_mut() {
            steps.sort_by_key(|&(id, event)| (self.events.start(id), event.index, id));
        }
        devices
    }

    /// The allocations that failed for lack of memory, in the order of time.
    #[must_use]
    pub fn failed_allocations(&self) -> Vec<(EventId, MemoryEvent)> {
        let Some(failed) = self.strings.find(Self::OUT_OF_MEMORY) else { return Vec::new() };
        let all = self.events.arguments.memory.iter().map(|(row, event)| (EventId(row as u32), event));
        let mut found: Vec<_> = all.filter(|&(id, _)| self.events.name(id) == failed).collect();
        found.sort_by_key(|&(id, event)| (self.events.start(id), event.index, id));
        found
    }

    /// Name of the moments at which an allocation failed.
    pub(crate) const OUT_OF_MEMORY: &str = "[OutOfMemory]";
}

/// An event to append to a trace ([`Trace::append`]).
#[derive(Clone, Copy, Debug)]
pub struct NewEvent {
    /// Span or moment.
    pub phase: Phase,
    /// Category.
    pub category: Category,
    /// Interned name.
    pub name: StringId,
    /// Process and thread.
    pub track: TrackId,
    /// Start relative to the trace's origin.
    pub start: i64,
    /// Length.
    pub duration: i64,
    /// Arguments.
    pub arguments: EventArguments,
}

/// The arguments of one event; see [`crate::ArgumentColumns`] for what each is.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)] // documented on the columns of the same name
pub struct EventArguments {
    pub external_id: Option<i64>,
    pub correlation: Option<i64>,
    pub device: Option<i64>,
    pub stream: Option<i64>,
    pub signature: Option<SignatureId>,
    pub sequence_number: Option<i64>,
    pub forward_thread: Option<i64>,
    pub python_frame: Option<PythonFrame>,
    pub geometry: Option<LaunchGeometry>,
    pub transfer: Option<MemoryTransfer>,
    pub collective: Option<Collective>,
    pub triton: Option<TritonCall>,
    pub synchronization: Option<Synchronization>,
    pub memory: Option<MemoryEvent>,
    pub graph_node: Option<i64>,
    pub queue: Option<i64>,
    pub launched_kernel: Option<StringId>,
    pub framework_op: Option<StringId>,
    pub call_stack: Option<StringId>,
    pub unfinished: Option<()>,
    pub nvtx: Option<NvtxRange>,
    pub overhead: Option<Overhead>,
    pub cuda: Option<CudaWork>,
}

impl EventArguments {
    // Inlined, so that only those are looked at of which it is not known that they are not there.
    #[inline(always)]
    pub(crate) fn push_into(&self, events: &mut EventTable, event: EventId) {
        let (row, columns) = (event.index(), &mut events.arguments);
        macro_rules! fill {
            ($($field:ident),*) => {
                $(if let Some(value) = self.$field {
                    columns.$field.push(row, value);
                })*
            };
        }
        each_argument!(fill);
    }
}

/// Builds a trace by hand: for tests, and for programs that have events from elsewhere. Times are given in
/// nanoseconds; the trace's origin is their smallest start.
///
/// ```
/// use trace_ingest::{Category, EventArguments, TraceBuilder};
///
/// let mut builder = TraceBuilder::new();
/// let thread = builder.track(1, 1);
/// let event = builder.event(Category::CPU_OP, "aten::mm", thread, 10_000, 5_000, EventArguments::default());
/// let trace = builder.finish();
/// assert_eq!(trace.name(event), "aten::mm");
/// assert_eq!((trace.origin(), trace.events().start(event), trace.events().end(event)), (10_000, 0, 5_000));
/// ```
#[derive(Debug, Default)]
pub struct TraceBuilder {
    trace: Trace,
}

impl TraceBuilder {
    /// An empty trace.
    pub fn new() -> Self {
        TraceBuilder::default()
    }

    /// Id of a text, for names in arguments.
    pub fn intern(&mut self, text: &str) -> StringId {
        self.trace.intern(text)
    }

    /// Track of a process and thread (or device and stream).
    pub fn track(&mut self, pid: i64, tid: i64) -> TrackId {
        self.trace.intern_track(Track { pid: RowId::Number(pid), tid: RowId::Number(tid) })
    }

    /// Id of a call signature from shapes, types, strides and concrete inputs.
    pub fn signature(&mut self, parts: [Option<ArgumentValue>; 4]) -> SignatureId {
        self.trace.intern_signature(parts)
    }

    /// Category of any text.
    pub fn category(&mut self, text: &str) -> Category {
        self.trace.intern_category(text)
    }

    /// Adds a span; `start` is absolute, both times are in nanoseconds. Events are given in file order.
    pub fn event(
        &mut self,
        category: Category,
        name: &str,
        track: TrackId,
        start: i64,
        duration: i64,
        arguments: EventArguments,
    ) -> EventId {
        let name = self.trace.intern(name);
        let phase = Phase::Complete;
        self.trace.append(NewEvent { phase, category, name, track, start, duration, arguments })
    }

    /// Adds a moment; `time` is absolute, in nanoseconds.
    pub fn instant(&mut self, name: &str, track: TrackId, time: i64, arguments: EventArguments) -> EventId {
        let (phase, category) = (Phase::Instant, Category::CPU_INSTANT_EVENT);
        let name = self.trace.intern(name);
        self.trace.append(NewEvent { phase, category, name, track, start: time, duration: 0, arguments })
    }

    /// Adds a sample of a device counter; its time is absolute, in nanoseconds. Like in a file, it takes an entry of the
    /// event list.
    pub fn counter(&mut self, sample: CounterSample) {
        self.trace.entries += 1;
        self.trace.counters.push(sample);
    }

    /// Adds one end of a flow arrow. Like in a file, it takes an entry of the event list.
    pub fn flow(&mut self, flow: Flow) {
        self.trace.entries += 1;
        self.trace.flows.push(flow);
    }

    /// Names a process.
    pub fn process(&mut self, pid: i64, name: Option<&str>, labels: Option<&str>) {
        let name = name.map(|text| self.trace.strings.intern(text));
        let labels = labels.map(|text| self.trace.strings.intern(text));
        let info = self.trace.tracks.process_mut(RowId::Number(pid));
        info.name = name.or(info.name);
        info.labels = labels.or(info.labels);
    }

    /// Names a thread.
    pub fn thread(&mut self, pid: i64, tid: i64, name: &str) {
        let name = self.trace.strings.intern(name);
        self.trace.tracks.thread_mut(Track { pid: RowId::Number(pid), tid: RowId::Number(tid) }).name =
            Some(name);
    }

    /// States what is known of the recording.
    pub fn facts(&mut self, facts: TraceFacts) {
        self.trace.facts = facts;
    }

    /// The trace, its times made relative to the earliest start.
    pub fn finish(mut self) -> Trace {
        self.trace.rebase();
        self.trace
    }
}

impl Trace {
    /// Cuts names and labels of processes and threads that no program has: tables have them in each row.
    pub(crate) fn shorten_names_of_tracks(&mut self) {
        /// Characters that are kept.
        const LONGEST: usize = 1_000;
        let mut long: Vec<StringId> = self.tracks.names_mut().map(|name| *name).collect();
        long.retain(|&name| self.strings.get(name).chars().nth(LONGEST).is_some());
        long.sort_unstable();
        let count = long.len() as u64;
        long.dedup();
        for id in long {
            let short: String = self.strings.get(id).chars().take(LONGEST).chain(['…']).collect();
            let short = self.strings.intern(&short);
            self.tracks.names_mut().filter(|name| **name == id).for_each(|name| *name = short);
        }
        if count > 0 {
            self.warnings.push(Warning::LongNames { count, longest: LONGEST });
        }
    }

    /// Makes absolute starts relative to the earliest one. Device work whose times are 0 is left out before.
    pub(crate) fn rebase(&mut self) {
        self.leave_out_work_without_times();
        self.origin = self.events.start.iter().copied().min().unwrap_or(0);
        for start in &mut self.events.start {
            *start -= self.origin;
        }
        for sample in &mut self.counters {
            sample.time = sample.time.saturating_sub(self.origin);
        }
        for time in self.flows.iter_mut().filter_map(|flow| flow.time.as_mut()) {
            *time = time.saturating_sub(self.origin);
        }
    }

    fn leave_out_work_without_times(&mut self) {
        // Where the file has a base, its times are relative to that.
        let base = self.facts.base_time_nanoseconds.unwrap_or(0);
        let base_time = base.saturating_neg().saturating_mul(self.time_unit().per_microsecond() / 1000);
        for zero in [0, base_time] {
            let events = &self.events;
            let is_device_work = |event: &EventId| events.category(*event).is_device();
            if !events.ids().any(|event| events.start(event) == zero && is_device_work(&event)) {
                continue;
            }
            let span = |event: EventId| (events.start(event), events.end(event));
            let work = || events.ids().filter(is_device_work).map(span);
            let Some(others) = TimesOfOthers::new(zero, work(), events.ids().map(span)) else { continue };
            let without: Vec<bool> =
                events.ids().map(|event| is_device_work(&event) && others.is_untimed(span(event))).collect();
            let count = without.iter().filter(|is_without| **is_without).count() as u64;
            if count > 0 {
                self.warnings.push(Warning::DeviceWorkWithoutTimes { count, of: work().count() as u64 });
                self.retain(|event| !without[event.index()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spans of kernels that a trace keeps, and how many it leaves out.
    fn kept(calls: &[(i64, i64)], kernels: &[(i64, i64)], base: i64) -> (Vec<(i64, i64)>, u64) {
        let mut builder = TraceBuilder::new();
        let track = builder.track(1, 1);
        for (category, spans) in [(Category::CUDA_RUNTIME, calls), (Category::KERNEL, kernels)] {
            for &(start, duration) in spans {
                builder.event(category, "name", track, start, duration, EventArguments::default());
            }
        }
        let base_time_nanoseconds = (base != 0).then_some(base);
        builder.facts(TraceFacts { base_time_nanoseconds, ..TraceFacts::default() });
        let trace = builder.finish();
        let events = trace.events();
        let kernels = events.ids().filter(|&event| events.category(event).is_device());
        let spans =
            kernels.map(|event| (trace.origin() + events.start(event), events.duration(event))).collect();
        let left_out = trace.warnings().iter().map(|warning| match warning {
            Warning::DeviceWorkWithoutTimes { count, .. } => *count,
            _ => 0,
        });
        (spans, left_out.sum())
    }

    #[test]
    fn device_work_with_times_of_0_is_left_out() {
        let hour = 3_600_000_000_000;
        let (call, kernel) = ((hour, 10), (hour + 5, 100));
        assert_eq!(kept(&[call], &[(0, 0), kernel, (0, 0)], 0), (vec![kernel], 2));
        // An end without a start.
        assert_eq!(kept(&[call], &[(0, hour + 50), kernel], 0), (vec![kernel], 1));
        // The time 0 of the clock, in a file whose times are relative to a base.
        assert_eq!(kept(&[call], &[(-7 * hour, 0), kernel], 7 * hour), (vec![kernel], 1));
        // Nothing tells that there were other times, or the recording begins at 0.
        assert_eq!(kept(&[call], &[(0, 0)], 0), (vec![(0, 0)], 0));
        assert_eq!(kept(&[(0, 50)], &[(0, 0), (20, 30)], 0), (vec![(0, 0), (20, 30)], 0));
        assert_eq!(kept(&[], &[(0, 10), (50, 10)], 0), (vec![(0, 10), (50, 10)], 0));
    }

    #[test]
    fn a_renamed_event_keeps_everything_but_its_name() {
        let mut builder = TraceBuilder::new();
        let track = builder.track(1, 1);
        let arguments = EventArguments { sequence_number: Some(3), ..EventArguments::default() };
        let renamed = builder.event(Category::CPU_OP, "gemm_17", track, 5, 10, arguments);
        let other = builder.event(Category::CPU_OP, "gemm_17", track, 20, 10, EventArguments::default());
        let mut trace = builder.finish();
        let name = trace.intern("gemm");
        trace.rename(renamed, name);
        assert_eq!((trace.name(renamed), trace.name(other)), ("gemm", "gemm_17"));
        let events = trace.events();
        assert_eq!((events.start(renamed), events.duration(renamed)), (0, 10));
        assert_eq!(events.sequence_number(renamed), Some(3));
    }

    #[test]
    fn chosen_events_keep_all_that_is_theirs() {
        let mut builder = TraceBuilder::new();
        let track = builder.track(1, 1);
        for number in 0..5 {
            let arguments = EventArguments {
                correlation: (number % 2 == 0).then_some(number),
                stream: Some(number * 10),
                ..EventArguments::default()
            };
            builder.event(Category::KERNEL, &format!("k{number}"), track, number * 100, 10, arguments);
        }
        let mut trace = builder.finish();
        trace.retain(|event| event.0 >= 2 && event.0 != 3);
        let events = trace.events();
        let rows: Vec<_> = events
            .ids()
            .map(|id| {
                (trace.name(id), events.uid(id), events.start(id), events.correlation(id), events.stream(id))
            })
            .collect();
        assert_eq!(rows, [("k2", 2, 200, Some(2), Some(20)), ("k4", 4, 400, Some(4), Some(40))]);
        assert_eq!(events.find_uid(4), Some(EventId(1)));
        let appended = trace.append(NewEvent {
            phase: Phase::Complete,
            category: Category::KERNEL,
            name: StringId::EMPTY,
            track,
            start: 0,
            duration: 0,
            arguments: EventArguments::default(),
        });
        assert_eq!(trace.events().uid(appended), 5);
    }

    #[test]
    fn allocations_stand_by_device_in_the_order_of_time_and_of_the_recorder() {
        let mut builder = TraceBuilder::new();
        let track = builder.track(1, 1);
        let mut add = |name: &str, time, (kind, index), order| {
            let device = MemoryDevice { kind, index };
            let memory = Some(MemoryEvent { device, bytes: 1, index: Some(order), ..MemoryEvent::default() });
            builder.instant(name, track, time, EventArguments { memory, ..EventArguments::default() });
        };
        add("[memory]", 20, (1, 0), 5);
        add("[memory]", 10, (1, 0), 4);
        add("[memory]", 10, (1, 0), 3);
        add("[OutOfMemory]", 5, (1, 0), 1);
        add("[memory]", 1, (0, -1), 0);
        let trace = builder.finish();
        let found: Vec<(String, Vec<Option<i64>>)> = trace
            .allocations()
            .iter()
            .map(|(device, steps)| (device.to_string(), steps.iter().map(|(_, step)| step.index).collect()))
            .collect();
        let expected =
            [("CPU".to_owned(), vec![Some(0)]), ("CUDA 0".to_owned(), vec![Some(3), Some(4), Some(5)])];
        assert_eq!(found, expected);
        assert_eq!(trace.failed_allocations().len(), 1);
        assert_eq!(MemoryDevice { kind: 77, index: 2 }.to_string(), "device type 77 2");
    }
}
