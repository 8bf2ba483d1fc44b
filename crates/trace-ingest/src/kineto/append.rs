//! Appends parsed runs to the trace.

use hashbrown::HashMap;

use super::argument::parse_argument;
use super::faults::Faults;
use super::run::{RareField, RareValue, RowKind, Run, Tally};
use super::translation::Translation;
use crate::argument::Sequence;
use crate::event_table::{
    Collective, Event, EventId, Flow, LaunchGeometry, MemoryTransfer, Phase, PythonFrame, TritonCall,
};
use crate::json::number::{float, integer};
use crate::string_table::StringId;
use crate::trace::Trace;
use crate::track_table::TrackId;

/// The events are more than ids can name.
#[derive(Debug)]
pub(crate) struct TooManyEvents;

/// The trace so far, and what waits for later runs.
#[derive(Default)]
pub(crate) struct Appender {
    pub(crate) trace: Trace,
    pub(crate) faults: Faults,
    translation: Translation,
    begins: Vec<Begin>,
    ends: Vec<End>,
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
    pub(crate) fn append(&mut self, run: &Run, offset: u64) -> Result<(), TooManyEvents> {
        let entries = self.trace.entries.checked_add(run.entries).ok_or(TooManyEvents)?;
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
        self.append_rare(run, first_row);

        let Appender { trace, translation, .. } = self;
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
                    RareField::LaunchedKernel => trace.events.arguments.launched_kernel.push(at, raw),
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

    /// Gives every `B` event the time of the `E` that closes it: the next one on its track that no later
    /// `B` claims.
    pub(crate) fn close_begins(&mut self) {
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
