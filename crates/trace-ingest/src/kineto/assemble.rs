//! Puts a trace together from text and parsed runs that arrive in file order.
//!
//! The assembler is the only place that knows where in the file it is. A run that was parsed ahead on
//! another thread is used when the list of events is open exactly where the run begins; any other text
//! is parsed here. So parsing ahead can be wrong about where events begin without ever being wrong in the
//! result.

use hashbrown::HashMap;

use super::facts::{known_key, read_fact};
use super::number::{float, integer};
use super::run::{LocalMetadata, LocalRowId, RareField, RareValue, RowKind, Run, RunEnd, Tally};
use super::scanner::{Fault, RawValue, Scanner, unescape};
use crate::argument::{ArgumentId, ArgumentValue, Sequence, Signature, SignatureId};
use crate::category::{Category, KNOWN};
use crate::event_table::{
    Collective, Event, EventId, Flow, LaunchGeometry, MemoryTransfer, Phase, PythonFrame, TritonCall,
};
use crate::string_table::StringId;
use crate::trace::Trace;
use crate::track_table::{RowId, Track, TrackId};
use crate::warning::Warning;

/// Longest single event or known top-level value, in bytes. Real ones are thousands of times smaller; a
/// file that claims a larger one is damaged or hostile, and must not fill the memory.
const LONGEST_VALUE: usize = 64 << 20;

/// Deepest nesting of an operator's arguments; a tensor list takes three levels.
const DEEPEST_ARGUMENT: usize = 64;

/// Where in the file the assembler is.
#[derive(Debug)]
enum State {
    /// Before the first character.
    Start,
    /// Between the members of the top-level object.
    TopLevel,
    /// In the value of a top-level member that nobody needs: brackets open, inside a string, after a
    /// backslash. The value is not kept.
    Skipping(SkippedValue),
    /// In the list of events, between two of them.
    Events,
    /// After the end of the trace.
    Done,
}

#[derive(Clone, Copy, Debug, Default)]
struct SkippedValue {
    depth: u32,
    in_string: bool,
    escaped: bool,
}

/// Why a text cannot be read as a Kineto trace.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It holds no list of events.
    NotATrace {
        detail: String,
        /// In bytes of text.
        offset: u64,
    },
    /// Its events are more than ids can name.
    TooManyEvents,
}

pub(crate) struct Assembler {
    state: State,
    /// The trace is a bare list of events: its end is the end of the trace.
    bare_list: bool,
    /// Text that was read but is not used yet: an entry or top-level member whose end is still to come.
    carry: Vec<u8>,
    /// Bytes of text used so far, the carry excluded.
    offset: u64,
    events_found: bool,
    keys: Vec<String>,
    run: Run,
    translation: Translation,
    trace: Trace,
    begins: Vec<Begin>,
    ends: Vec<End>,
    faults: Faults,
}

struct Begin {
    uid: u32,
    event: EventId,
}

struct End {
    uid: u32,
    track: TrackId,
    time: i64,
}

#[derive(Default)]
struct Faults {
    malformed: u64,
    malformed_bytes: u64,
    first_malformed: Option<(u64, &'static str)>,
    without_timestamp: Tally,
    without_duration: Tally,
    negative_duration: Tally,
    without_name: Tally,
    unclosed: Tally,
    unopened: Tally,
    unused_phases: Vec<(Option<char>, u64)>,
    unknown_metadata: u64,
    invalid_utf8: u64,
    trailing: u64,
}

/// Reused buffers that map a run's local ids to the trace's.
#[derive(Default)]
struct Translation {
    strings: Vec<StringId>,
    categories: Vec<Category>,
    tracks: Vec<TrackId>,
    argument_lists: Vec<ArgumentId>,
    signatures: Vec<SignatureId>,
    /// Raw text of argument lists seen in earlier runs.
    known_lists: HashMap<Box<[u8]>, ArgumentId>,
}

impl Assembler {
    pub(crate) fn new() -> Self {
        Assembler {
            state: State::Start,
            bare_list: false,
            carry: Vec::new(),
            offset: 0,
            events_found: false,
            keys: Vec::new(),
            run: Run::default(),
            translation: Translation::default(),
            trace: Trace::default(),
            begins: Vec::new(),
            ends: Vec::new(),
            faults: Faults::default(),
        }
    }

    /// Takes the next stretch of text together with the run that was parsed from it as if it began
    /// between two events.
    pub(crate) fn take_parsed(&mut self, text: &[u8], run: &Run, end: RunEnd) -> Result<(), Refusal> {
        if matches!(self.state, State::Events) && self.carry.is_empty() {
            self.append(run)?;
            let used = self.leave_run(end, text.len());
            self.offset += used as u64;
            self.use_text(&text[used..])
        } else {
            self.take(text)
        }
    }

    /// Takes the next stretch of text.
    pub(crate) fn take(&mut self, text: &[u8]) -> Result<(), Refusal> {
        if self.carry.is_empty() {
            return self.use_text(text);
        }
        let mut joined = std::mem::take(&mut self.carry);
        joined.extend_from_slice(text);
        self.use_text(&joined)
    }

    fn use_text(&mut self, text: &[u8]) -> Result<(), Refusal> {
        let mut rest = text;
        while !rest.is_empty() {
            let used = match &mut self.state {
                State::Start => self.use_start(rest)?,
                State::TopLevel => self.use_top_level(rest)?,
                State::Skipping(value) => match value.skip(rest) {
                    Some(used) => {
                        self.state = State::TopLevel;
                        Some(used)
                    }
                    None => {
                        self.offset += rest.len() as u64;
                        return Ok(());
                    }
                },
                State::Events => {
                    let mut run = std::mem::take(&mut self.run);
                    run.clear();
                    let end = run.parse(rest);
                    let appended = self.append(&run);
                    self.run = run;
                    appended?;
                    // Without progress the entry at the beginning goes on behind the text.
                    Some(self.leave_run(end, rest.len())).filter(|&used| used > 0)
                }
                State::Done => {
                    self.faults.trailing +=
                        rest.iter().filter(|byte| !byte.is_ascii_whitespace()).count() as u64;
                    self.offset += rest.len() as u64;
                    return Ok(());
                }
            };
            let Some(used) = used else { return self.keep(rest) };
            self.offset += used as u64;
            rest = &rest[used..];
        }
        Ok(())
    }

    /// Takes note of how a run of `length` bytes ended; how much of it is used.
    fn leave_run(&mut self, end: RunEnd, length: usize) -> usize {
        match end {
            RunEnd::Open => length,
            RunEnd::Inside(at) => at,
            RunEnd::Closed(at) => {
                self.state = if self.bare_list { State::Done } else { State::TopLevel };
                at
            }
        }
    }

    /// Keeps text whose end is still to come.
    fn keep(&mut self, text: &[u8]) -> Result<(), Refusal> {
        if text.len() > LONGEST_VALUE {
            let detail = format!("a single value is longer than {} MiB", LONGEST_VALUE >> 20);
            return Err(Refusal::NotATrace { detail, offset: self.offset });
        }
        self.carry.extend_from_slice(text);
        Ok(())
    }

    /// Reads the opening bracket. Like [`Self::use_top_level`] it returns how much of the text it
    /// used, `None` when it needs more.
    fn use_start(&mut self, text: &[u8]) -> Result<Option<usize>, Refusal> {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        if BYTE_ORDER_MARK.starts_with(text) {
            return Ok(None);
        }
        let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let mut scanner = Scanner { text, position: mark };
        let Ok(byte) = scanner.peek() else { return Ok(Some(text.len())) };
        self.state = match byte {
            b'{' => State::TopLevel,
            b'[' => {
                (self.bare_list, self.events_found) = (true, true);
                State::Events
            }
            _ => {
                let detail = "the text begins neither with { nor with [".to_string();
                return Err(Refusal::NotATrace { detail, offset: self.offset + scanner.position as u64 });
            }
        };
        Ok(Some(scanner.position + 1))
    }

    fn use_top_level(&mut self, text: &[u8]) -> Result<Option<usize>, Refusal> {
        match self.try_top_level(text) {
            Ok(used) => Ok(Some(used)),
            Err(Fault::Incomplete) => Ok(None),
            // Nothing can be said about where the next member begins, so this is the end of what is read.
            // With events in hand the rest is a loss to report, without them the file is no trace.
            Err(Fault::Malformed(_)) if self.events_found => {
                self.state = State::Done;
                Ok(Some(0))
            }
            Err(Fault::Malformed(detail)) => Err(Refusal::NotATrace {
                detail: format!("the text is not JSON: {detail}"),
                offset: self.offset,
            }),
        }
    }

    fn try_top_level(&mut self, text: &[u8]) -> Result<usize, Fault> {
        let mut scanner = Scanner::new(text);
        if scanner.accept(b',')? {
            return Ok(scanner.position);
        }
        if scanner.accept(b'}')? {
            self.state = State::Done;
            return Ok(scanner.position);
        }
        let key = scanner.key()?;
        let first = scanner.peek()?;
        if key == b"traceEvents" && first == b'[' {
            self.state = State::Events;
            self.events_found = true;
            return Ok(scanner.position + 1);
        }
        if let Some(key) = known_key(key) {
            let start = scanner.position;
            scanner.value()?;
            let value = &text[start..scanner.position];
            read_fact(key, value, &mut self.trace.facts, &mut self.trace.warnings);
            return Ok(scanner.position);
        }
        if self.keys.len() < 8 {
            self.keys.push(unescape(key).0.chars().take(40).collect());
        }
        self.state = State::Skipping(SkippedValue::default());
        Ok(scanner.position)
    }

    /// Appends a parsed run to the trace.
    fn append(&mut self, run: &Run) -> Result<(), Refusal> {
        let entries = self.trace.entries.checked_add(run.entries).ok_or(Refusal::TooManyEvents)?;
        let Assembler { trace, translation, faults, .. } = self;
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
        self.append_rare(run, first_row);

        let Assembler { trace, translation, .. } = self;
        for flow in &run.flows {
            let track = translation.tracks[flow.track as usize];
            trace.flows.push(Flow { kind: flow.kind, end: flow.end, id: flow.id, track });
        }
        for end in &run.ends {
            let track = translation.tracks[end.track as usize];
            self.ends.push(End { uid: first_uid + end.entry, track, time: end.time });
        }
        for metadata in &run.metadata {
            if !translation.append_metadata(metadata, trace) {
                self.faults.unknown_metadata += 1;
            }
        }
        self.faults.append(run, self.offset, first_uid);
        self.trace.entries = entries;
        Ok(())
    }

    /// Appends launch geometry, transfers, collectives and Triton calls: rare fields grouped by row.
    fn append_rare(&mut self, run: &Run, first_row: usize) {
        let Assembler { trace, translation, .. } = self;
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
            let mut geometry = LaunchGeometry::default();
            let mut transfer = MemoryTransfer::default();
            let mut collective = Collective::default();
            let mut triton = TritonCall::default();
            for field in fields {
                let raw = translation.strings[field.raw as usize];
                let text = || trace.strings.get(raw).trim_ascii().as_bytes();
                let unsigned = || integer(text()).and_then(|value| u32::try_from(value).ok());
                match field.field {
                    RareField::RegistersPerThread => geometry.registers_per_thread = unsigned(),
                    RareField::SharedMemory => geometry.shared_memory = unsigned(),
                    RareField::Bytes => {
                        transfer.bytes = integer(text()).and_then(|value| u64::try_from(value).ok());
                    }
                    RareField::Bandwidth => transfer.bandwidth_gb_per_s = float(text()),
                    RareField::GraphNode => {
                        if let Some(node) = integer(text()) {
                            trace.events.arguments.graph_node.push(at, node);
                        }
                    }
                    RareField::CollectiveName => collective.name = Some(raw),
                    RareField::GroupName => collective.group_name = Some(raw),
                    RareField::GroupDescription => collective.group_description = Some(raw),
                    RareField::GroupRanks => collective.group_ranks = Some(printed(field, raw, trace)),
                    RareField::GroupSize => collective.group_size = integer(text()),
                    RareField::Dtype => collective.dtype = Some(raw),
                    RareField::InElements => collective.in_elements = integer(text()),
                    RareField::OutElements => collective.out_elements = integer(text()),
                    RareField::InSplitSize => collective.in_split_size = Some(printed(field, raw, trace)),
                    RareField::OutSplitSize => collective.out_split_size = Some(printed(field, raw, trace)),
                    RareField::Rank => collective.rank = integer(text()),
                    RareField::GlobalRankStart => collective.global_rank_start = integer(text()),
                    RareField::GlobalRankStride => collective.global_rank_stride = integer(text()),
                    RareField::TritonFile => triton.file = Some(raw),
                    RareField::TritonHash => triton.hash = Some(raw),
                    RareField::TritonArguments => triton.keyword_arguments = Some(raw),
                    RareField::TritonWarps => triton.warps = unsigned(),
                    RareField::TritonStages => triton.stages = unsigned(),
                }
            }
            let given = geometry != LaunchGeometry::default();
            append_geometry(trace, row, geometry, given);
            let columns = &mut trace.events.arguments;
            if transfer != MemoryTransfer::default() {
                columns.transfer.push(at, transfer);
            }
            if collective != Collective::default() {
                columns.collective.push(at, collective);
            }
            if triton != TritonCall::default() {
                columns.triton.push(at, triton);
            }
        }
        append_geometry(trace, u32::MAX, LaunchGeometry::default(), false);
    }

    /// The trace, once all text was taken. `damage` tells how reading broke off, if it did.
    pub(crate) fn finish(mut self, damage: Option<String>) -> Result<Trace, Refusal> {
        if !self.events_found {
            let detail = match (&self.state, self.keys.is_empty()) {
                (State::Done, true) => "the top-level object has no \"traceEvents\" list".to_string(),
                (State::Done, false) => {
                    format!(
                        "the top-level object has no \"traceEvents\" list; it begins with {}",
                        self.keys.join(", ")
                    )
                }
                _ => match damage {
                    Some(damage) => format!("the text ends before the list of events begins ({damage})"),
                    None => "the text ends before the list of events begins".to_string(),
                },
            };
            return Err(Refusal::NotATrace { detail, offset: self.offset });
        }
        self.close_begins();
        let complete = matches!(self.state, State::Done);
        let mut warnings = Vec::new();
        match damage {
            Some(detail) => {
                let bytes_read = self.offset + self.carry.len() as u64;
                warnings.push(Warning::DamagedCompression { bytes_read, detail });
            }
            None if !complete => warnings.push(Warning::Truncated { bytes_lost: self.carry.len() as u64 }),
            None => {}
        }
        self.faults.report(&mut warnings);
        self.trace.warnings.extend(warnings);
        self.trace.rebase();
        Ok(self.trace)
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

/// A list that a report shows: text as it stands, a JSON list as a tuple.
fn printed(field: &RareValue, raw: StringId, trace: &mut Trace) -> StringId {
    if field.quoted {
        return raw;
    }
    let text = parse_argument(trace.strings.get(raw).as_bytes()).display(Sequence::Tuple).to_string();
    trace.strings.intern(&text)
}

impl SkippedValue {
    /// Skips to the end of the value; `None` when the text ends first. The value's first byte is the first
    /// byte that is given.
    fn skip(&mut self, text: &[u8]) -> Option<usize> {
        for (position, &byte) in text.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return Some(position + 1);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth == 0 => return Some(position),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(position + 1);
                    }
                }
                b',' if self.depth == 0 => return Some(position),
                _ => {}
            }
        }
        None
    }
}

impl Translation {
    /// Interns the distinct texts, tracks and argument lists of a run.
    fn load(&mut self, run: &Run, trace: &mut Trace, invalid_utf8: &mut u64) {
        self.strings.clear();
        self.strings.extend(run.strings.iter().map(|raw| match std::str::from_utf8(raw) {
            Ok(text) if !raw.contains(&b'\\') => trace.strings.intern(text),
            _ => {
                let (text, lossy) = unescape(raw);
                let known = trace.strings.find(&text);
                *invalid_utf8 += u64::from(lossy && known.is_none());
                known.unwrap_or_else(|| trace.strings.intern(&text))
            }
        }));

        self.categories.clear();
        for &name in &run.categories {
            let text = trace.strings.get(self.strings[name as usize]).to_string();
            self.categories.push(trace.intern_category(&text));
        }

        self.tracks.clear();
        for &(pid, tid) in &run.tracks {
            let track = Track { pid: self.row_id(pid), tid: self.row_id(tid) };
            self.tracks.push(trace.tracks.intern(track));
        }

        self.argument_lists.clear();
        for raw in run.argument_lists.iter() {
            let id = match self.known_lists.get(raw) {
                Some(&id) => id,
                None => {
                    let id = trace.signatures.intern_argument(parse_argument(raw));
                    self.known_lists.insert(raw.into(), id);
                    id
                }
            };
            self.argument_lists.push(id);
        }

        self.signatures.clear();
        for lists in &run.signatures {
            let [dims, types, strides, concrete] =
                lists.map(|list| list.map(|list| self.argument_lists[list as usize]));
            self.signatures.push(trace.signatures.intern(Signature { dims, types, strides, concrete }));
        }
    }

    fn category(&self, local: u16) -> Category {
        match (local as usize).checked_sub(KNOWN.len()) {
            None => Category(local),
            Some(other) => self.categories[other],
        }
    }

    fn row_id(&self, local: LocalRowId) -> RowId {
        match local {
            LocalRowId::Missing => RowId::Missing,
            LocalRowId::Number(number) => RowId::Number(number),
            LocalRowId::Text(text) => RowId::Text(self.strings[text as usize]),
        }
    }

    /// Whether the metadata event is of a known kind.
    fn append_metadata(&self, metadata: &LocalMetadata, trace: &mut Trace) -> bool {
        let pid = self.row_id(metadata.pid);
        let track = Track { pid, tid: self.row_id(metadata.tid) };
        let Some(value) = metadata.value.map(|value| self.strings[value as usize]) else { return false };
        let number = integer(trace.strings.get(value).as_bytes());
        match trace.strings.get(self.strings[metadata.name as usize]) {
            "process_name" => trace.tracks.process_mut(pid).name = Some(value),
            "process_labels" => trace.tracks.process_mut(pid).labels = Some(value),
            "process_sort_index" => trace.tracks.process_mut(pid).sort_index = number,
            "thread_name" => trace.tracks.thread_mut(track).name = Some(value),
            "thread_sort_index" => trace.tracks.thread_mut(track).sort_index = number,
            _ => return false,
        }
        true
    }
}

impl Faults {
    fn append(&mut self, run: &Run, offset: u64, first_uid: u32) {
        let of_run = &run.faults;
        self.malformed += of_run.malformed;
        self.malformed_bytes += of_run.malformed_bytes;
        if let (None, Some((at, reason))) = (self.first_malformed, of_run.first_malformed) {
            self.first_malformed = Some((offset + at as u64, reason));
        }
        for (tally, more) in [
            (&mut self.without_timestamp, of_run.without_timestamp),
            (&mut self.without_duration, of_run.without_duration),
            (&mut self.negative_duration, of_run.negative_duration),
            (&mut self.without_name, of_run.without_name),
        ] {
            if tally.count == 0 {
                tally.first = first_uid + more.first;
            }
            tally.count += more.count;
        }
        for &(phase, count) in &of_run.unused_phases {
            match self.unused_phases.iter_mut().find(|(known, _)| *known == phase) {
                Some((_, total)) => *total += count,
                None => self.unused_phases.push((phase, count)),
            }
        }
        self.unknown_metadata += of_run.unknown_metadata;
    }

    fn report(&self, warnings: &mut Vec<Warning>) {
        if let Some((first_offset, detail)) = self.first_malformed {
            let (count, bytes_skipped) = (self.malformed, self.malformed_bytes);
            warnings.push(Warning::MalformedEvents { count, first_offset, detail, bytes_skipped });
        }
        let tallied = |tally: Tally, warning: fn(u64, u32) -> Warning| {
            (tally.count > 0).then(|| warning(tally.count, tally.first))
        };
        warnings.extend(tallied(self.without_timestamp, |count, first_uid| Warning::WithoutTimestamp {
            count,
            first_uid,
        }));
        warnings.extend(tallied(self.without_duration, |count, first_uid| Warning::WithoutDuration {
            count,
            first_uid,
        }));
        warnings.extend(tallied(self.negative_duration, |count, first_uid| Warning::NegativeDuration {
            count,
            first_uid,
        }));
        warnings
            .extend(tallied(self.without_name, |count, first_uid| Warning::WithoutName { count, first_uid }));
        warnings
            .extend(tallied(self.unclosed, |count, first_uid| Warning::UnclosedBegin { count, first_uid }));
        warnings.extend(tallied(self.unopened, |count, first_uid| Warning::UnopenedEnd { count, first_uid }));
        warnings
            .extend(self.unused_phases.iter().map(|&(phase, count)| Warning::UnusedPhase { phase, count }));
        if self.unknown_metadata > 0 {
            warnings.push(Warning::UnknownMetadata { count: self.unknown_metadata });
        }
        if self.invalid_utf8 > 0 {
            warnings.push(Warning::InvalidUtf8 { count: self.invalid_utf8 });
        }
        if self.trailing > 0 {
            warnings.push(Warning::TrailingText { bytes: self.trailing });
        }
    }
}

/// An argument list as a value. What is nested too deeply or is no JSON is kept as its text, so that
/// nothing that tells two calls apart is lost.
fn parse_argument(raw: &[u8]) -> ArgumentValue {
    // The scanner works on text that goes on, and a bare value needs a delimiter to end at.
    let mut text = raw.to_vec();
    text.push(b',');
    let mut scanner = Scanner::new(&text);
    argument(&mut scanner, 0)
        .unwrap_or_else(|_| ArgumentValue::Text(String::from_utf8_lossy(raw).into_owned()))
}

fn argument(scanner: &mut Scanner<'_>, depth: usize) -> Result<ArgumentValue, Fault> {
    if scanner.peek()? == b'[' {
        if depth == DEEPEST_ARGUMENT {
            return Err(Fault::Malformed("arguments are nested too deeply"));
        }
        scanner.position += 1;
        let mut items = Vec::new();
        loop {
            if scanner.accept(b']')? {
                return Ok(ArgumentValue::List(items));
            }
            items.push(argument(scanner, depth + 1)?);
            if !scanner.accept(b',')? {
                scanner.expect(b']', "expected a comma or a closing bracket after a value")?;
                return Ok(ArgumentValue::List(items));
            }
        }
    }
    Ok(match scanner.value()? {
        RawValue::Null => ArgumentValue::Null,
        RawValue::Text(raw) => ArgumentValue::Text(unescape(raw).0),
        RawValue::Bare(b"true") => ArgumentValue::Bool(true),
        RawValue::Bare(b"false") => ArgumentValue::Bool(false),
        RawValue::Bare(number) | RawValue::Nested(number) => {
            let text = String::from_utf8_lossy(number);
            match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(value), _) => ArgumentValue::Int(value),
                (_, Ok(value)) => ArgumentValue::Float(value),
                _ => ArgumentValue::Text(text.into_owned()),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_lists_parse_to_values() {
        for (raw, tuple) in [
            ("[]", "()"),
            ("[[1, 2], [], [[3], [4]]]", "((1, 2), (), ((3,), (4,)))"),
            (r#"["float", "", null, true]"#, "('float', '', None, True)"),
            ("[1.5, 1e3, NaN,]", "(1.5, 1000.0, nan)"),
            (r#"[{"a": 1}]"#, r#"('{"a": 1}',)"#),
        ] {
            assert_eq!(parse_argument(raw.as_bytes()).display(Sequence::Tuple).to_string(), tuple);
        }
    }

    #[test]
    fn arguments_nested_too_deeply_stay_text() {
        let raw = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(parse_argument(raw.as_bytes()), ArgumentValue::Text(raw));
    }

    #[test]
    fn a_skipped_value_ends_where_it_ends() {
        for (text, used) in [
            (r#"{"a": "}"}, 1"#, Some(10)),
            (r#""a\"b", 1"#, Some(6)),
            ("12, 1", Some(2)),
            ("12}", Some(2)),
            ("[[1], 2] ,", Some(8)),
            (r#"{"a": ["#, None),
        ] {
            assert_eq!(SkippedValue::default().skip(text.as_bytes()), used, "{text}");
        }
    }
}
