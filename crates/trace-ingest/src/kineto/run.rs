//! One run of events: a stretch of the event list parsed into columns of its own.
//!
//! Runs are parsed independently of each other, on any thread, with ids that are local to the run; the
//! assembler translates the ids when it appends the run to the trace. A run is a reused buffer.

use std::hash::BuildHasher;
use std::ops::{ControlFlow, Range};

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use super::arguments::Argument;
use super::boundary::event_starts;
use super::key_predictor::{Key, KeyPredictor, Place};
use super::members::{number, time};
use super::rare_arguments::RareField;
use super::samples::{MemoryArguments, counted_device, counter_values, is_memory, memory_event};
use crate::category::{Category, KNOWN};
use crate::event_table::{FlowEnd, FlowKind, MemoryEvent};
use crate::facts::Accelerator;
use crate::json::number::integer;
use crate::json::scanner::{Fault, RawValue, Scan, Scanner};
use crate::warning::Tally;

/// How the parsing of a run ended; offsets are in bytes of the run's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// All text was used; the list goes on.
    #[default]
    Open,
    /// The list was closed; the offset is behind its bracket.
    Closed(usize),
    /// The text ends inside the entry that begins at the offset.
    Inside(usize),
}

/// Distinct byte strings of a run, as they stand in the text.
#[derive(Default)]
pub(crate) struct RawTable {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    lookup: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl RawTable {
    #[inline]
    fn intern(&mut self, raw: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(raw);
        if let Some(&id) = self.lookup.find(hash, |&id| raw_slice(&self.bytes, &self.ends, id) == raw) {
            return id;
        }
        let id = self.ends.len() as u32;
        self.bytes.extend_from_slice(raw);
        self.ends.push(self.bytes.len() as u32);
        let (bytes, ends, hasher) = (&self.bytes, &self.ends, &self.hasher);
        self.lookup.insert_unique(hash, id, |&other| hasher.hash_one(raw_slice(bytes, ends, other)));
        id
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len() as u32).map(|id| raw_slice(&self.bytes, &self.ends, id))
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.lookup.clear();
    }
}

fn raw_slice<'b>(bytes: &'b [u8], ends: &[u32], id: u32) -> &'b [u8] {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] as usize };
    &bytes[start..ends[id] as usize]
}

/// A process or thread id with a run-local text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LocalRowId {
    Missing,
    Number(i64),
    Text(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    Complete,
    Instant,
    /// A `B` event, whose duration the matching `E` will tell.
    Begin,
}

/// Dense fields of one event.
pub(crate) struct Row {
    /// Index among the entries of the run.
    pub(crate) entry: u32,
    pub(crate) kind: RowKind,
    /// A known category, or `KNOWN.len()` plus an index into [`Run::categories`].
    pub(crate) category: u16,
    pub(crate) name: u32,
    pub(crate) track: u32,
    /// Absolute, in nanoseconds.
    pub(crate) start: i64,
    pub(crate) duration: i64,
}

/// Shapes, types, strides, concrete inputs: offsets into [`Run::argument_lists`].
pub(crate) type LocalSignature = [Option<u32>; 4];

/// Value of a rare argument, not decoded: the text's run-local id and whether it stood in quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RareValue {
    pub(crate) row: u32,
    pub(crate) field: RareField,
    pub(crate) raw: u32,
    pub(crate) quoted: bool,
}

/// An end of a flow arrow.
pub(crate) struct LocalFlow {
    pub(crate) kind: FlowKind,
    pub(crate) end: FlowEnd,
    pub(crate) id: i64,
    pub(crate) track: u32,
    /// Absolute, in nanoseconds, where it is kept.
    pub(crate) time: Option<i64>,
}

/// A sample of a device counter.
pub(crate) struct LocalSample {
    pub(crate) device: i64,
    pub(crate) counter: u32,
    /// Absolute, in nanoseconds.
    pub(crate) time: i64,
    pub(crate) value: f64,
}

/// A metadata event.
pub(crate) struct LocalMetadata {
    pub(crate) name: u32,
    pub(crate) pid: LocalRowId,
    pub(crate) tid: LocalRowId,
    /// The value as text, `None` when the event has none.
    pub(crate) value: Option<u32>,
}

/// An `E` event.
pub(crate) struct LocalEnd {
    pub(crate) entry: u32,
    pub(crate) track: u32,
    pub(crate) time: i64,
}

#[derive(Default)]
pub(crate) struct RunFaults {
    pub(crate) malformed: u64,
    pub(crate) malformed_bytes: u64,
    /// Offset in the run and reason of the first malformed entry.
    pub(crate) first_malformed: Option<(usize, &'static str)>,
    pub(crate) without_timestamp: Tally,
    pub(crate) without_duration: Tally,
    pub(crate) negative_duration: Tally,
    pub(crate) without_name: Tally,
    pub(crate) unreadable_memory: Tally,
    pub(crate) unreadable_sample: Tally,
    pub(crate) unused_phases: Vec<(Option<char>, u64)>,
    pub(crate) unknown_metadata: u64,
}

/// The parsed run.
#[derive(Default)]
pub(crate) struct Run {
    /// Whether Python frames are left out.
    skip_frames: bool,
    pub(crate) entries: u32,
    /// Python frames among them that were left out.
    pub(crate) skipped_frames: u32,
    pub(crate) rows: Vec<Row>,
    pub(crate) strings: RawTable,
    /// Local string ids of the categories that are not known.
    pub(crate) categories: Vec<u32>,
    pub(crate) tracks: Vec<(LocalRowId, LocalRowId)>,
    track_lookup: HashMap<(LocalRowId, LocalRowId), u32>,
    pub(crate) argument_lists: RawTable,
    pub(crate) signatures: Vec<LocalSignature>,
    signature_lookup: HashMap<LocalSignature, u32>,

    pub(crate) external_id: Vec<(u32, i64)>,
    pub(crate) correlation: Vec<(u32, i64)>,
    pub(crate) device: Vec<(u32, i64)>,
    pub(crate) stream: Vec<(u32, i64)>,
    pub(crate) sequence_number: Vec<(u32, i64)>,
    pub(crate) forward_thread: Vec<(u32, i64)>,
    pub(crate) signature: Vec<(u32, u32)>,
    pub(crate) python_frame: Vec<(u32, [Option<u32>; 3])>,
    pub(crate) grid_and_block: Vec<(u32, [[u32; 3]; 2])>,
    pub(crate) rare: Vec<RareValue>,
    pub(crate) memory: Vec<(u32, MemoryEvent)>,
    /// Spans that were still open when the recording ended.
    pub(crate) unfinished: Vec<u32>,

    /// The kind of devices that events of the run are of, where their category tells and is none of their work.
    pub(crate) accelerator: Option<Accelerator>,
    pub(crate) samples: Vec<LocalSample>,
    /// Where names of series are put together.
    series_name: Vec<u8>,
    pub(crate) flows: Vec<LocalFlow>,
    pub(crate) metadata: Vec<LocalMetadata>,
    pub(crate) ends: Vec<LocalEnd>,
    pub(crate) faults: RunFaults,
}

/// One entry of the event list while it is read: slices of the text, nothing kept.
#[derive(Default)]
pub(crate) struct Entry<'t> {
    pub(crate) phase: RawValue<'t>,
    pub(crate) category: &'t [u8],
    pub(crate) name: Option<&'t [u8]>,
    pub(crate) pid: RawValue<'t>,
    pub(crate) tid: RawValue<'t>,
    pub(crate) timestamp: RawValue<'t>,
    duration: RawValue<'t>,
    pub(crate) id: RawValue<'t>,

    pub(crate) external_id: RawValue<'t>,
    pub(crate) correlation: RawValue<'t>,
    device: RawValue<'t>,
    stream: RawValue<'t>,
    sequence_number: RawValue<'t>,
    forward_thread: RawValue<'t>,
    python: [RawValue<'t>; 3],
    signature: [RawValue<'t>; 4],
    grid: RawValue<'t>,
    block: RawValue<'t>,
    metadata: RawValue<'t>,
    is_unfinished: bool,
    memory: MemoryArguments<'t>,
    /// `args` of a counter as it stands.
    series: &'t [u8],
    /// A Python frame of which nothing behind its category was read.
    is_skipped: bool,
}

impl Entry<'_> {
    /// What a flow arrow of the entry's category and id connects.
    pub(crate) fn flow_kind(&self) -> Option<FlowKind> {
        match self.category {
            b"ac2g" => match number(self.id) {
                Some(FlowKind::FIRST_GRAPH_DEPENDENCY..) => Some(FlowKind::GraphDependency),
                _ => Some(FlowKind::Launch),
            },
            b"fwdbwd" => Some(FlowKind::ForwardBackward),
            category if category.starts_with(b"cpu_to_") => Some(FlowKind::OperatorToDevice),
            _ => None,
        }
    }

    /// Whether the keys of its arguments are names of series.
    fn is_counter(&self) -> bool {
        self.phase == RawValue::Text(b"C")
    }

    /// Whether it is a step of the memory allocator, which has no arguments but those of one.
    fn is_memory(&self) -> bool {
        matches!(self.phase, RawValue::Text(b"i" | b"I")) && is_memory(self.name)
    }

    fn is_complete_frame(&self) -> bool {
        self.phase == RawValue::Text(b"X")
            && Category::known(self.category) == Some(Category::PYTHON_FUNCTION)
    }
}

impl Run {
    /// An empty run, which leaves out Python frames or does not.
    pub(crate) fn new(skip_frames: bool) -> Self {
        Run { skip_frames, ..Run::default() }
    }

    /// Empties the run, keeping its memory.
    pub(crate) fn clear(&mut self) {
        macro_rules! clear {
            ($($field:ident),*) => { $(self.$field.clear();)* };
        }
        clear!(
            rows,
            strings,
            categories,
            tracks,
            track_lookup,
            argument_lists,
            signatures,
            signature_lookup,
            external_id,
            correlation,
            device,
            stream,
            sequence_number,
            forward_thread,
            signature,
            python_frame,
            grid_and_block,
            rare,
            memory,
            unfinished,
            samples,
            flows,
            metadata,
            ends
        );
        self.entries = 0;
        self.skipped_frames = 0;
        self.accelerator = None;
        self.faults = RunFaults::default();
    }

    /// Parses `text`, which begins between two entries of the event list.
    pub(crate) fn parse(&mut self, text: &[u8]) -> RunEnd {
        walk(text, self.skip_frames, |range, parsed| {
            match parsed {
                Ok((entry, _)) if entry.is_skipped => self.skipped_frames += 1,
                Ok((entry, rare)) => self.commit(entry, rare),
                Err(reason) => {
                    self.faults.malformed += 1;
                    self.faults.malformed_bytes += range.len() as u64;
                    self.faults.first_malformed.get_or_insert((range.start, reason));
                }
            }
            self.entries += 1;
            ControlFlow::Continue(())
        })
    }

    fn commit(&mut self, entry: &Entry<'_>, rare: &[(RareField, RawValue<'_>)]) {
        let phase = match entry.phase {
            RawValue::Text(&[phase]) => phase,
            _ => 0,
        };
        match phase {
            b'X' => self.commit_event(entry, rare, RowKind::Complete),
            b'B' => self.commit_event(entry, rare, RowKind::Begin),
            b'i' | b'I' => self.commit_event(entry, rare, RowKind::Instant),
            b'E' => match time(entry.timestamp) {
                Some(time) => {
                    let track = self.track(entry);
                    self.ends.push(LocalEnd { entry: self.entries, track, time });
                }
                None => self.faults.without_timestamp.add(self.entries),
            },
            b's' | b'f' => match entry.flow_kind().zip(number(entry.id)) {
                Some((kind, id)) => {
                    let end = if phase == b's' { FlowEnd::Start } else { FlowEnd::Finish };
                    let track = self.track(entry);
                    let time = if kind.is_placed_by_time() { time(entry.timestamp) } else { None };
                    self.flows.push(LocalFlow { kind, end, id, track, time });
                }
                // All other arrows only guide the eye in a viewer.
                None if entry.flow_kind().is_none() => {}
                None => self.count_unused(Some(phase as char)),
            },
            b't' => {}
            b'M' => match entry.name {
                Some(name) if entry.pid != RawValue::Null => {
                    let name = self.strings.intern(name);
                    let (pid, tid) = (self.row_id(entry.pid), self.row_id(entry.tid));
                    let value = match entry.metadata {
                        RawValue::Text(text) | RawValue::Bare(text) => Some(self.strings.intern(text)),
                        RawValue::Null | RawValue::Nested(_) => None,
                    };
                    self.metadata.push(LocalMetadata { name, pid, tid, value });
                }
                _ => self.faults.unknown_metadata += 1,
            },
            b'C' => self.commit_samples(entry),
            0 => self.count_unused(None),
            other => self.count_unused(Some(other as char)),
        }
    }

    /// A sample per series of a counter; of counters that are of no known device nothing is kept.
    fn commit_samples(&mut self, entry: &Entry<'_>) {
        let (Some(device), Some(name)) = (counted_device(entry.category, entry.pid), entry.name) else {
            return self.count_unused(Some('C'));
        };
        let Some(time) = time(entry.timestamp) else {
            return self.faults.without_timestamp.add(self.entries);
        };
        let Run { strings, samples, series_name, .. } = self;
        let mut is_readable = true;
        let read = counter_values(entry.series, |series, value| match value {
            Some(value) => {
                let counter = match series {
                    b"" => strings.intern(name),
                    series => {
                        series_name.clear();
                        series_name.extend_from_slice(name);
                        series_name.extend_from_slice(b": ");
                        series_name.extend_from_slice(series);
                        strings.intern(series_name)
                    }
                };
                samples.push(LocalSample { device, counter, time, value });
            }
            None => is_readable = false,
        });
        if read.is_err() || !is_readable {
            self.faults.unreadable_sample.add(self.entries);
        }
    }

    fn count_unused(&mut self, phase: Option<char>) {
        match self.faults.unused_phases.iter_mut().find(|(known, _)| *known == phase) {
            Some((_, count)) => *count += 1,
            None => self.faults.unused_phases.push((phase, 1)),
        }
    }

    fn commit_event(&mut self, entry: &Entry<'_>, rare: &[(RareField, RawValue<'_>)], kind: RowKind) {
        let Some(start) = time(entry.timestamp) else {
            self.faults.without_timestamp.add(self.entries);
            return;
        };
        let duration = match (kind, time(entry.duration)) {
            (RowKind::Complete, None) => {
                self.faults.without_duration.add(self.entries);
                0
            }
            (RowKind::Complete, Some(duration)) if duration < 0 => {
                self.faults.negative_duration.add(self.entries);
                0
            }
            (RowKind::Complete, Some(duration)) => duration,
            (RowKind::Instant | RowKind::Begin, _) => 0,
        };
        if entry.name.is_none() {
            self.faults.without_name.add(self.entries);
        }
        let row = self.rows.len() as u32;
        let name = self.strings.intern(entry.name.unwrap_or_default());
        let category = self.category(entry, row);
        let track = self.track(entry);
        self.rows.push(Row { entry: self.entries, kind, category, name, track, start, duration });

        if kind == RowKind::Instant && is_memory(entry.name) {
            match memory_event(&entry.memory) {
                Some(event) => self.memory.push((row, event)),
                None => self.faults.unreadable_memory.add(self.entries),
            }
        }
        for (value, column) in [
            (entry.external_id, &mut self.external_id),
            (entry.correlation, &mut self.correlation),
            (entry.device, &mut self.device),
            (entry.stream, &mut self.stream),
            (entry.sequence_number, &mut self.sequence_number),
            (entry.forward_thread, &mut self.forward_thread),
        ] {
            if value != RawValue::Null
                && let Some(value) = number(value)
            {
                column.push((row, value));
            }
        }
        if entry.python.iter().any(|&id| id != RawValue::Null) {
            let id = |value| number(value).and_then(|value| u32::try_from(value).ok());
            self.python_frame.push((row, entry.python.map(id)));
        }
        if entry.signature.iter().any(|list| matches!(list, RawValue::Nested(_))) {
            let signature = entry.signature.map(|list| match list {
                RawValue::Nested(raw) => Some(self.argument_lists.intern(raw)),
                _ => None,
            });
            let next = self.signatures.len() as u32;
            let id = *self.signature_lookup.entry(signature).or_insert_with(|| {
                self.signatures.push(signature);
                next
            });
            self.signature.push((row, id));
        }
        if entry.grid != RawValue::Null || entry.block != RawValue::Null {
            self.grid_and_block.push((row, [dimensions(entry.grid), dimensions(entry.block)]));
        }
        if entry.is_unfinished && kind != RowKind::Instant {
            self.unfinished.push(row);
        }
        for &(field, value) in rare {
            let (raw, quoted) = match value {
                RawValue::Text(raw) => (raw, true),
                RawValue::Bare(raw) | RawValue::Nested(raw) => (raw, false),
                RawValue::Null => continue,
            };
            let raw = self.strings.intern(raw);
            self.rare.push(RareValue { row, field, raw, quoted });
        }
    }

    fn category(&mut self, entry: &Entry<'_>, row: u32) -> u16 {
        if let Some(known) = Category::known(entry.category) {
            return known.0;
        }
        if let Some((accelerator, category)) =
            Category::from_device_event(entry.category, entry.name.unwrap_or_default())
        {
            self.accelerator = Some(accelerator);
            // The process of such an event is its device.
            if entry.device == RawValue::Null
                && let Some(device) = number(entry.pid)
            {
                self.device.push((row, device));
            }
            if let Some(category) = category {
                return category.0;
            }
        }
        let name = self.strings.intern(entry.category);
        let position = self.categories.iter().position(|&other| other == name).unwrap_or_else(|| {
            self.categories.push(name);
            self.categories.len() - 1
        });
        u16::try_from(KNOWN.len() + position).unwrap_or(Category::NONE.0)
    }

    fn track(&mut self, entry: &Entry<'_>) -> u32 {
        let track = (self.row_id(entry.pid), self.row_id(entry.tid));
        // Neighbours mostly share their track.
        if let Some(last) = self.rows.last()
            && self.tracks[last.track as usize] == track
        {
            return last.track;
        }
        let next = self.tracks.len() as u32;
        *self.track_lookup.entry(track).or_insert_with(|| {
            self.tracks.push(track);
            next
        })
    }

    fn row_id(&mut self, value: RawValue<'_>) -> LocalRowId {
        match value {
            RawValue::Null | RawValue::Nested(_) => LocalRowId::Missing,
            RawValue::Bare(text) | RawValue::Text(text) => match integer(text) {
                Some(number) => LocalRowId::Number(number),
                None => LocalRowId::Text(self.strings.intern(text)),
            },
        }
    }
}

/// Up to three extents; what is missing is 1, the extent of an unused dimension.
fn dimensions(value: RawValue<'_>) -> [u32; 3] {
    let mut extents = [1; 3];
    if let RawValue::Nested(list) = value {
        let inner = list.get(1..list.len() - 1).unwrap_or_default();
        for (extent, text) in extents.iter_mut().zip(inner.split(|&byte| byte == b',')) {
            if let Some(value) = integer(text.trim_ascii()).and_then(|value| u32::try_from(value).ok()) {
                *extent = value;
            }
        }
    }
    extents
}

/// An entry and those of its arguments that few entries have, or why it is malformed.
type Parsed<'p, 't> = Result<(&'p Entry<'t>, &'p [(RareField, RawValue<'t>)]), &'static str>;

/// Goes through the entries of `text`, which begins between two of the event list, with where each stands.
/// Breaking off ends the run inside the entry that comes next. Python frames may be skipped: of these only phase and
/// category are read.
#[inline]
pub(crate) fn walk<'t>(
    text: &'t [u8],
    skip_frames: bool,
    mut visit: impl FnMut(Range<usize>, Parsed<'_, 't>) -> ControlFlow<()>,
) -> RunEnd {
    let mut scanner = Scanner::new(text);
    let (mut keys, mut rare) = (KeyPredictor::new(), Vec::new());
    let mut search = Search::new(text);
    loop {
        let Ok(byte) = scanner.peek() else { return RunEnd::Open };
        match byte {
            b',' => {
                scanner.position += 1;
                continue;
            }
            b']' => return RunEnd::Closed(scanner.position + 1),
            _ => {}
        }
        let start = scanner.position;
        rare.clear();
        let parsed = if byte == b'{' {
            parse_entry(&mut scanner, &mut keys, skip_frames, &mut rare)
        } else {
            scanner.value().and(Err(Fault::Malformed("an entry is not an object")))
        };
        let outcome = match &parsed {
            Ok(entry) => Ok((entry, &rare[..])),
            Err(Fault::Incomplete) => return RunEnd::Inside(start),
            Err(Fault::Malformed(reason)) => {
                search.spend(scanner.position - start);
                match end_of_malformed(text, start, &mut search) {
                    None => return RunEnd::Inside(start),
                    Some(end) => {
                        scanner.position = end;
                        Err(*reason)
                    }
                }
            }
        };
        if visit(start..scanner.position, outcome).is_break() {
            return RunEnd::Inside(scanner.position);
        }
    }
}

/// How much of a text is looked at in all to find the way back after malformed entries, at least, in bytes. What
/// looks like the beginning of an event may have no end, and thousands of these would be followed to the end of the
/// text each.
const RECOVERY_SEARCH: usize = 16 << 20;

/// The search for the way back behind malformed entries.
struct Search {
    /// How much may still be looked at again, in bytes; once that is spent, the rest of the text is given up.
    left: usize,
    /// The next event that was found, which is that of all malformed entries before it; the end of the text if there is none.
    next: Option<usize>,
    /// Of what may be events.
    keys: KeyPredictor,
}

impl Search {
    fn new(text: &[u8]) -> Self {
        Search { left: RECOVERY_SEARCH.max(8 * text.len()), next: None, keys: KeyPredictor::new() }
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// End of the malformed entry that begins at `start`: where its brackets balance or where the next event
/// begins, whichever comes first. `None` when the text shows neither.
fn end_of_malformed(text: &[u8], start: usize, search: &mut Search) -> Option<usize> {
    let known = search.next.filter(|&next| next > start);
    let mut is_event = |&at: &usize| {
        let mut scanner = Scanner { text, position: at };
        let entry = parse_entry(&mut scanner, &mut search.keys, false, &mut Vec::new());
        let end = if matches!(entry, Err(Fault::Incomplete)) { text.len() } else { scanner.position };
        search.spend(end - at);
        entry.is_ok_and(|entry| entry.phase != RawValue::Null) || search.left == 0
    };
    let found = known.or_else(|| event_starts(text, start + 1).find(&mut is_event));
    let next = found.unwrap_or(text.len());
    if known.is_none() {
        search.spend(next - start);
    }
    search.next = Some(next);
    if search.left == 0 {
        search.next = None;
        return end_in(text, start).or(Some(text.len()));
    }
    end_in(&text[..next], start).or(Some(next).filter(|&next| next < text.len()))
}

/// Where the brackets of the entry at `start` balance.
fn end_in(text: &[u8], start: usize) -> Option<usize> {
    let mut scanner = Scanner { text, position: start };
    scanner.value().ok().map(|_| scanner.position)
}

/// Reads the members of an object up to and with its closing brace; the position is behind the opening one, `take`
/// consumes a value. As [`Scanner::members`], with predictions.
#[inline(always)]
fn members<'t>(
    scanner: &mut Scanner<'t>,
    keys: &mut KeyPredictor,
    start: Place,
    key_of: fn(&[u8]) -> Key,
    mut take: impl FnMut(&mut Scanner<'t>, &mut KeyPredictor, Key) -> Scan<()>,
) -> Scan<()> {
    let mut place = start;
    loop {
        let from = scanner.position;
        let key = match keys.predict(place, &scanner.text[from..]) {
            Some((next, key, length)) => {
                scanner.position += length;
                place = next;
                key
            }
            None => {
                let key = next_key(scanner, place == start, key_of)?;
                place = keys.learn(place, &scanner.text[from..scanner.position], key);
                key
            }
        };
        if key == Key::End {
            return Ok(());
        }
        take(scanner, keys, key)?;
    }
}

/// What comes next in an object, behind its opening brace or behind a value.
#[cold]
fn next_key(scanner: &mut Scanner<'_>, is_first: bool, key_of: fn(&[u8]) -> Key) -> Scan<Key> {
    if !is_first && !scanner.accept(b',')? {
        scanner.expect(b'}', "expected a comma or a closing brace after a value")?;
        return Ok(Key::End);
    }
    if scanner.accept(b'}')? {
        return Ok(Key::End);
    }
    let key = key_of(scanner.key()?);
    scanner.peek()?;
    Ok(key)
}

fn parse_entry<'t>(
    scanner: &mut Scanner<'t>,
    keys: &mut KeyPredictor,
    skip_frames: bool,
    rare: &mut Vec<(RareField, RawValue<'t>)>,
) -> Scan<Entry<'t>> {
    let mut entry = Entry::default();
    scanner.expect(b'{', "an entry is not an object")?;
    members(scanner, keys, KeyPredictor::ENTRY, Key::of_entry, |scanner, keys, key| {
        let slot = match key {
            Key::Phase => &mut entry.phase,
            Key::Pid => &mut entry.pid,
            Key::Tid => &mut entry.tid,
            Key::Timestamp => &mut entry.timestamp,
            Key::Duration => &mut entry.duration,
            Key::Id => &mut entry.id,
            Key::Category => {
                if let RawValue::Text(text) = scanner.value()? {
                    entry.category = text;
                }
                if skip_frames && entry.is_complete_frame() {
                    scanner.leave_nested()?;
                    // The closing brace stays for the end of the members.
                    scanner.position -= 1;
                    entry.is_skipped = true;
                }
                return Ok(());
            }
            Key::Name => {
                if let RawValue::Text(text) | RawValue::Bare(text) = scanner.value()? {
                    entry.name = Some(text);
                }
                return Ok(());
            }
            Key::Arguments => {
                let start = scanner.position;
                if entry.is_counter() || !scanner.accept(b'{')? {
                    scanner.value()?;
                    entry.series = &scanner.text[start..scanner.position];
                    return Ok(());
                }
                let is_memory = entry.is_memory();
                let outcome =
                    members(scanner, keys, KeyPredictor::ARGUMENTS, Key::of_arguments, |scanner, _, key| {
                        let value = scanner.value()?;
                        match key {
                            Key::Memory(position) => entry.memory[usize::from(position)] = value,
                            _ if is_memory => {}
                            key => take_argument(value, key, &mut entry, rare),
                        }
                        Ok(())
                    });
                // The moment is kept without its arguments.
                if is_memory && outcome.is_err() {
                    entry.memory = MemoryArguments::default();
                    scanner.position = start;
                    scanner.value()?;
                    return Ok(());
                }
                return outcome;
            }
            Key::End | Key::Argument(_) | Key::Metadata | Key::Memory(_) | Key::Other => {
                scanner.value()?;
                return Ok(());
            }
        };
        *slot = scanner.value()?;
        Ok(())
    })?;
    Ok(entry)
}

#[inline(always)]
fn take_argument<'t>(
    value: RawValue<'t>,
    key: Key,
    entry: &mut Entry<'t>,
    rare: &mut Vec<(RareField, RawValue<'t>)>,
) {
    let slot = match key {
        Key::Argument(argument) => match argument {
            Argument::ExternalId => &mut entry.external_id,
            Argument::Correlation => &mut entry.correlation,
            Argument::Device => &mut entry.device,
            Argument::Stream => &mut entry.stream,
            Argument::SequenceNumber => &mut entry.sequence_number,
            Argument::ForwardThread => &mut entry.forward_thread,
            Argument::Signature(part) => &mut entry.signature[usize::from(part)],
            Argument::Python(part) => &mut entry.python[usize::from(part)],
            Argument::Grid => &mut entry.grid,
            Argument::Block => &mut entry.block,
            Argument::Finished => {
                entry.is_unfinished = value == RawValue::Bare(b"false");
                return;
            }
            Argument::Rare(field) => return rare.push((field, value)),
        },
        Key::Metadata => &mut entry.metadata,
        _ => return,
    };
    *slot = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    // Millions of steps, each interpreted.
    #[cfg_attr(miri, ignore)]
    #[test]
    fn the_way_back_behind_a_malformed_entry_is_not_searched_for_ever() {
        let text = [&b"{\"ph\" 1}"[..], &b",{\"ph\":[".repeat(20_000)].concat();
        let mut search = Search { left: RECOVERY_SEARCH, ..Search::new(b"") };
        assert_eq!(end_of_malformed(&text, 0, &mut search), Some(8));
        assert_eq!(search.left, 0);
        let open = &text[..7];
        let text = [open, &text[8..]].concat();
        let mut search = Search { left: RECOVERY_SEARCH, ..Search::new(b"") };
        assert_eq!(end_of_malformed(&text, 0, &mut search), Some(text.len()));

        // However many entries are malformed, the text behind them is looked through once.
        for entry in ["{ },{\"", "\"", "}"] {
            let text = entry.repeat(50_000);
            let mut search = Search::new(text.as_bytes());
            let (mut at, mut before) = (0, search.left);
            while let Some(end) = end_of_malformed(text.as_bytes(), at, &mut search).filter(|&end| end > at) {
                assert!(before - search.left <= text.len(), "{entry}: {at}");
                (at, before) = (end, search.left);
            }
            assert!(Search::new(text.as_bytes()).left - search.left <= 3 * text.len(), "{entry}");
        }

        let text = br#"{"ph" 1, {"ph":["#;
        let text = [&text[..], br#"{"ph":"X","ts":1},{"ph":"X"}"#].concat();
        let mut search = Search { left: RECOVERY_SEARCH, ..Search::new(b"") };
        assert_eq!(end_of_malformed(&text, 0, &mut search), Some(text.len() - 10));
        assert!(search.left > RECOVERY_SEARCH - 200);
    }
}
