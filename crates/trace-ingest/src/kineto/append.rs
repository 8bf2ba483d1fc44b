//! Makes a trace of parsed runs: appends their events, counts what was wrong with them, and takes from the assembler
//! what stands around them.

use hashbrown::HashMap;

use super::assemble::{Ending, Refusal, Sink, TrailingText};
use super::facts::read_fact;
use super::other_recorders::settle;
use super::rare_arguments::{RareArguments, RareText};
use super::run::{LocalFlow, RowKind, Run, RunEnd};
use super::translation::{Translation, parse_argument};
use crate::argument::Sequence;
use crate::event_table::{CounterSample, Event, EventId, Flow, LaunchGeometry, Phase, PythonFrame};
use crate::facts::Accelerator;
use crate::string_table::StringId;
use crate::trace::Trace;
use crate::track_table::TrackId;
use crate::warning::{EventFault, Tally, Warning};

/// The trace so far, and what waits for later runs.
#[derive(Default)]
struct Appender {
    trace: Trace,
    faults: Faults,
    translation: Translation,
    begins: Vec<Begin>,
    ends: Vec<End>,
    /// [`RareArguments::kind_of_work`], by row.
    kinds_of_work: Vec<(usize, StringId)>,
}

/// A `B` event, whose duration is still unknown.
struct Begin {
    uid: u32,
    event: EventId,
}

/// An `E` event.
struct End {
    uid: u32,
    track: TrackId,
    time: i64,
}

impl Appender {
    /// Appends a run that begins at `offset` of the text.
    fn append(&mut self, run: &Run, offset: u64) -> Result<(), Refusal> {
        let entries = self.trace.entries.checked_add(run.entries).ok_or(Refusal::TooManyEvents)?;
        let Appender { trace, translation, faults, .. } = self;
        translation.load(run, trace, &mut faults.invalid_utf8);
        let first_uid = trace.entries;
        let first_row = trace.events.len();

        for row in &run.rows {
            let event = trace.events.push(Event {
                uid: first_uid + row.entry,
                phase: if row.kind == RowKind::Instant { Phase::Instant } else { Phase::Complete },
                category: translation.category(row.category),
                name: translation.strings[row.name as usize],
                track: translation.tracks[row.track as usize],
                start: row.start,
                duration: row.duration,
            });
            if row.kind == RowKind::Begin {
                self.begins.push(Begin { uid: first_uid + row.entry, event });
            }
        }

        let columns = &mut trace.events.arguments;
        for (values, column) in [
            (&run.external_id, &mut columns.external_id),
            (&run.correlation, &mut columns.correlation),
            (&run.device, &mut columns.device),
            (&run.stream, &mut columns.stream),
            (&run.sequence_number, &mut columns.sequence_number),
            (&run.forward_thread, &mut columns.forward_thread),
        ] {
            for &(row, value) in values {
                column.push(first_row + row as usize, value);
            }
        }
        for &(row, signature) in &run.signature {
            columns.signature.push(first_row + row as usize, translation.signatures[signature as usize]);
        }
        for &(row, [id, parent, module]) in &run.python_frame {
            columns.python_frame.push(first_row + row as usize, PythonFrame { id, parent, module });
        }
        trace.facts.accelerator = trace.facts.accelerator.or(run.accelerator);
        for &(row, event) in &run.memory {
            if event.device.is_mps() {
                trace.facts.accelerator = Some(Accelerator::Mps);
            }
            columns.memory.push(first_row + row as usize, event);
        }
        for &row in &run.unfinished {
            columns.unfinished.push(first_row + row as usize, ());
        }
        self.append_rare(run, first_row);

        let Appender { trace, translation, .. } = self;
        for flow in &run.flows {
            let track = translation.tracks[flow.track as usize];
            let LocalFlow { kind, end, id, time, .. } = *flow;
            trace.flows.push(Flow { kind, end, id, track, time, event: None });
        }
        for end in &run.ends {
            let track = translation.tracks[end.track as usize];
            self.ends.push(End { uid: first_uid + end.entry, track, time: end.time });
        }
        for sample in &run.samples {
            let counter = translation.strings[sample.counter as usize];
            trace.counters.push(CounterSample {
                device: sample.device,
                counter,
                time: sample.time,
                value: sample.value,
            });
        }
        for metadata in &run.metadata {
            if !translation.append_metadata(metadata, trace) {
                self.faults.unknown_metadata += 1;
            }
        }
        self.faults.append(run, offset, first_uid);
        self.trace.entries = entries;
        self.trace.skipped_frames += run.skipped_frames;
        Ok(())
    }

    /// Appends launch geometry, transfers, collectives and Triton calls: rare fields grouped by row.
    fn append_rare(&mut self, run: &Run, first_row: usize) {
        let Appender { trace, translation, .. } = self;
        let mut geometries = run.grid_and_block.iter().peekable();
        let mut append_geometry = |trace: &mut Trace, row: u32, rest: LaunchGeometry, given: bool| {
            // Kernels without registers or shared memory come before this row.
            while let Some(&&(earlier, [grid, block])) = geometries.peek()
                && earlier < row
            {
                let geometry = LaunchGeometry { grid, block, ..LaunchGeometry::default() };
                trace.events.arguments.geometry.push(first_row + earlier as usize, geometry);
                geometries.next();
            }
            let sizes = geometries.next_if(|(at, _)| *at == row).map(|&(_, sizes)| sizes);
            if given || sizes.is_some() {
                let [grid, block] = sizes.unwrap_or([[1; 3]; 2]);
                let geometry = LaunchGeometry { grid, block, ..rest };
                trace.events.arguments.geometry.push(first_row + row as usize, geometry);
            }
        };
        for fields in run.rare.chunk_by(|a, b| a.row == b.row) {
            let row = fields[0].row;
            let at = first_row + row as usize;
            let mut arguments = RareArguments::default();
            for value in fields {
                let mut id = translation.strings[value.raw as usize];
                if value.field.is_shown() && !value.quoted {
                    id = tuple_text(id, trace);
                }
                let text = trace.strings.get(id).trim_ascii().as_bytes();
                value.field.set(&mut arguments, RareText { id, text });
            }
            self.kinds_of_work.extend(arguments.kind_of_work().map(|kind| (at, kind)));
            let mut arguments = arguments.into_arguments();
            let geometry = arguments.geometry.take();
            append_geometry(trace, row, geometry.unwrap_or_default(), geometry.is_some());
            arguments.push_into(&mut trace.events, EventId(at as u32));
        }
        append_geometry(trace, u32::MAX, LaunchGeometry::default(), false);
    }

    /// Gives every `B` event the time of the `E` that closes it: the next one on its track that no later
    /// `B` claims.
    fn close_begins(&mut self) {
        if self.begins.is_empty() && self.ends.is_empty() {
            return;
        }
        let events = &mut self.trace.events;
        let mut open: HashMap<TrackId, Vec<&Begin>> = HashMap::new();
        let (mut unclosed, mut unopened) = (Tally::default(), Tally::default());
        let mut begins = self.begins.iter().peekable();
        for end in &self.ends {
            while let Some(begin) = begins.next_if(|begin| begin.uid < end.uid) {
                open.entry(events.track(begin.event)).or_default().push(begin);
            }
            match open.get_mut(&end.track).and_then(Vec::pop) {
                Some(begin) => {
                    let duration = end.time - events.start(begin.event);
                    if duration < 0 {
                        self.faults.negative_duration.add(begin.uid);
                    }
                    events.duration[begin.event.index()] = duration.max(0);
                }
                None => unopened.add(end.uid),
            }
        }
        for begin in begins {
            open.entry(events.track(begin.event)).or_default().push(begin);
        }
        let mut left: Vec<&Begin> = open.into_values().flatten().collect();
        if !left.is_empty() {
            left.sort_by_key(|begin| begin.uid);
            let mut last_seen: HashMap<TrackId, i64> = HashMap::new();
            for event in events.ids() {
                let last = last_seen.entry(events.track(event)).or_insert(i64::MIN);
                *last = (*last).max(events.end(event));
            }
            for begin in left {
                unclosed.add(begin.uid);
                let end = last_seen[&events.track(begin.event)];
                events.duration[begin.event.index()] = end - events.start(begin.event);
            }
        }
        self.faults.unclosed = unclosed;
        self.faults.unopened = unopened;
    }
}

/// The text of a JSON list as a tuple.
fn tuple_text(list: StringId, trace: &mut Trace) -> StringId {
    let text = parse_argument(trace.strings.get(list).as_bytes()).display(Sequence::Tuple).to_string();
    trace.strings.intern(&text)
}

/// Faults of all runs so far.
#[derive(Default)]
struct Faults {
    malformed: u64,
    malformed_bytes: u64,
    first_malformed: Option<(u64, &'static str)>,
    without_timestamp: Tally,
    without_duration: Tally,
    negative_duration: Tally,
    without_name: Tally,
    unreadable_memory: Tally,
    unreadable_sample: Tally,
    unclosed: Tally,
    unopened: Tally,
    unused_phases: Vec<(Option<char>, u64)>,
    unknown_metadata: u64,
    invalid_utf8: u64,
    /// Text after the end of the trace.
    trailing: TrailingText,
}

impl Faults {
    /// Adds those of a run that begins at `offset` of the text with entry `first_uid`.
    fn append(&mut self, run: &Run, offset: u64, first_uid: u32) {
        let run_faults = &run.faults;
        self.malformed += run_faults.malformed;
        self.malformed_bytes += run_faults.malformed_bytes;
        if let (None, Some((at, reason))) = (self.first_malformed, run_faults.first_malformed) {
            self.first_malformed = Some((offset + at as u64, reason));
        }
        for (tally, more) in [
            (&mut self.without_timestamp, run_faults.without_timestamp),
            (&mut self.without_duration, run_faults.without_duration),
            (&mut self.negative_duration, run_faults.negative_duration),
            (&mut self.without_name, run_faults.without_name),
            (&mut self.unreadable_memory, run_faults.unreadable_memory),
            (&mut self.unreadable_sample, run_faults.unreadable_sample),
        ] {
            if tally.count == 0 {
                tally.first = first_uid + more.first;
            }
            tally.count += more.count;
        }
        for &(phase, count) in &run_faults.unused_phases {
            match self.unused_phases.iter_mut().find(|(known, _)| *known == phase) {
                Some((_, total)) => *total += count,
                None => self.unused_phases.push((phase, count)),
            }
        }
        self.unknown_metadata += run_faults.unknown_metadata;
    }

    /// Adds a warning per kind that occurred.
    fn report(&self, warnings: &mut Vec<Warning>) {
        if let Some((first_offset, detail)) = self.first_malformed {
            let (count, bytes_skipped) = (self.malformed, self.malformed_bytes);
            warnings.push(Warning::MalformedEvents { count, first_offset, detail, bytes_skipped });
        }
        let tallies = [
            (self.without_timestamp, EventFault::WithoutTimestamp),
            (self.without_duration, EventFault::WithoutDuration),
            (self.negative_duration, EventFault::NegativeDuration),
            (self.without_name, EventFault::WithoutName),
            (self.unreadable_memory, EventFault::UnreadableMemory),
            (self.unreadable_sample, EventFault::UnreadableSample),
            (self.unclosed, EventFault::UnclosedBegin),
            (self.unopened, EventFault::UnopenedEnd),
        ];
        warnings.extend(tallies.into_iter().filter_map(|(tally, fault)| tally.warning(fault)));
        warnings
            .extend(self.unused_phases.iter().map(|&(phase, count)| Warning::UnusedPhase { phase, count }));
        if self.unknown_metadata > 0 {
            warnings.push(Warning::UnknownMetadata { count: self.unknown_metadata });
        }
        if self.invalid_utf8 > 0 {
            warnings.push(Warning::InvalidUtf8 { count: self.invalid_utf8 });
        }
        warnings.extend(self.trailing.warning());
    }
}

/// The trace so far.
pub(crate) struct TraceSink {
    run: Run,
    appender: Appender,
}

impl Sink for TraceSink {
    fn fact(&mut self, key: &'static str, value: &[u8]) {
        let trace = &mut self.appender.trace;
        read_fact(key, value, &mut trace.facts, &mut trace.warnings);
    }

    fn entries(&mut self, text: &[u8], offset: u64) -> Result<RunEnd, Refusal> {
        self.run.clear();
        let end = self.run.parse(text);
        self.appender.append(&self.run, offset)?;
        Ok(end)
    }

    fn trailing(&mut self, text: &[u8]) {
        self.appender.faults.trailing.add(text);
    }
}

impl TraceSink {
    /// An empty trace, with Python frames or without.
    pub(crate) fn new(skip_frames: bool) -> Self {
        TraceSink { run: Run::new(skip_frames), appender: Appender::default() }
    }

    /// Appends a run that begins at `offset` of the text.
    pub(crate) fn append(&mut self, run: &Run, offset: u64) -> Result<(), Refusal> {
        self.appender.append(run, offset)
    }

    /// The trace, once all text was taken. `damage` tells how reading broke off, if it did.
    pub(crate) fn finish(mut self, ending: &Ending, damage: Option<String>) -> Trace {
        self.appender.close_begins();
        let mut warnings = Vec::new();
        match damage {
            Some(detail) => {
                let bytes_read = Some(ending.used + ending.unused);
                warnings.push(Warning::DamagedCompression { bytes_read, detail });
            }
            None if !ending.complete => warnings.push(Warning::Truncated { bytes_lost: ending.unused }),
            None => {}
        }
        let Appender { mut trace, faults, kinds_of_work, .. } = self.appender;
        settle(&mut trace, &kinds_of_work);
        faults.report(&mut warnings);
        trace.warnings.extend(warnings);
        trace.rebase();
        trace
    }
}
