//! From the packets of a trace to its columns.

use std::io::Read;
use std::path::Path;

use hashbrown::HashMap;

use super::annotations::{Arguments, KnownLists};
use super::interned::{Interned, LaunchArgument, Specification};
use super::slices::Slices;
use crate::category::Category;
use crate::error::IngestError;
use crate::event_table::{CounterSample, Event, EventId, Flow, FlowEnd, FlowKind, Phase};
use crate::facts::{RecorderFacts, RecordingKind};
use crate::json::number::LATEST;
use crate::perfetto::{
    Content, Descriptor, EventHead, EventKind, Packet, Reader, Tracks, Walked, each_number, walk,
};
use crate::source::Expansion;
use crate::string_table::{StringId, lossy};
use crate::trace::Trace;
use crate::track_table::{RowId, Track, TrackId};
use crate::warning::{EventFault, Tally, Warning};
use crate::wire::{Message, Wire};

/// Category of device work that is none of JSON's.
const OTHER_DEVICE: &str = "other device";

/// Times from here on are counted from 1970.
const SINCE_1970: i64 = 100_000_000_000_000_000;

const SECOND: i64 = 1_000_000_000;

/// Reads a trace, without its Python frames or with them.
///
/// # Errors
/// When it begins with what is no packet, holds one that is too long, or more events than ids can name.
pub(super) fn read(
    path: &Path,
    content: impl Read,
    expansion: &Expansion,
    skip_frames: bool,
) -> Result<Trace, IngestError> {
    let Walked { reader, warnings, .. } = walk(path, content, expansion, Builder::default())?;
    if reader.is_full {
        return Err(IngestError::TooManyEvents { path: path.to_path_buf(), limit: u32::MAX });
    }
    let mut trace = reader.finish(warnings);
    if skip_frames {
        let all = trace.events.len();
        let categories = trace.events.category.clone();
        trace.retain(|event| categories[event.index()] != Category::PYTHON_FUNCTION);
        trace.skipped_frames = (all - trace.events.len()) as u32;
    }
    Ok(trace)
}

/// What descriptors tell of the process of a track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Process {
    #[default]
    Host,
    /// The recorder's own work.
    Overhead,
    /// A device's.
    Device,
}

/// The row of the table that a track is, and whose it is.
#[derive(Clone, Copy, Debug)]
struct Row {
    track: TrackId,
    process: Process,
}

/// The trace so far, and what waits for later packets.
#[derive(Default)]
struct Builder {
    trace: Trace,
    tracks: Tracks<Process>,
    /// By number of the track, as far as slices needed them.
    rows: HashMap<u32, Row>,
    /// Rows of devices, by device and number of the row's specification.
    lanes: HashMap<(u64, u64), TrackId>,
    slices: Slices,
    known_lists: KnownLists,
    /// Correlation ids of launches by the number that they give their device work.
    launched: HashMap<u64, i64>,
    /// Device work by number, and the numbers of what it waits for.
    stages: Vec<(u64, u32)>,
    waits: Vec<(u32, u64)>,
    boot_and_day: Option<[i64; 2]>,
    /// Last time of any packet.
    last: i64,
    faults: Faults,
    is_full: bool,
}

#[derive(Default)]
struct Faults {
    without_timestamp: Tally,
    without_duration: Tally,
    lost_name: Tally,
    unknown_stage: Tally,
    unreadable_sample: Tally,
    unknown_counters: u64,
    invalid_utf8: u64,
}

impl Reader for Builder {
    type Interned = Interned;

    const READS_UNFOUNDED: bool = true;

    fn intern(&mut self, data: Message<'_>, interned: &mut Interned) -> Wire<()> {
        interned.take(data, &mut self.trace, &mut self.faults.invalid_utf8)
    }

    fn describe(&mut self, descriptor: Descriptor<'_>) {
        let Some(track) = self.tracks.describe(&descriptor) else { return };
        if let Some(name) = &descriptor.process_name {
            track.own = match &**name {
                "Overhead" => Process::Overhead,
                name if name.strip_prefix("GPU ").is_some_and(|number| number.parse::<u32>().is_ok()) => {
                    Process::Device
                }
                _ => Process::Host,
            };
        }
        let Some(pid) = track.pid.map(RowId::Number) else { return };
        let tid = track.tid.map(RowId::Number);
        let mut intern = |text: &str| self.trace.strings.intern(text);
        if let Some(name) = descriptor.process_name.as_deref().map(&mut intern) {
            self.trace.tracks.process_mut(pid).name = Some(name);
        }
        let thread_name = descriptor.thread_name.as_deref().map(intern);
        if let (Some(tid), Some(name)) = (tid, thread_name) {
            self.trace.tracks.thread_mut(Track { pid, tid }).name = Some(name);
        }
        self.rows.clear();
    }

    fn packet(&mut self, packet: &Packet<'_>, interned: &Interned) -> Wire<()> {
        self.boot_and_day = self.boot_and_day.or(packet.boot_and_day);
        let time = packet.time.filter(|time| (-LATEST..=LATEST).contains(time));
        self.last = self.last.max(time.unwrap_or(self.last));
        match &packet.content {
            Content::TrackEvent(message) => {
                let head = EventHead::read(message.clone())?;
                let track = self.tracks.number(head.track.or(packet.track).unwrap_or(0));
                match (head.kind, time) {
                    (EventKind::Begin, _) => self.begin(message, track, time, interned),
                    (EventKind::End, Some(time)) => {
                        self.slices.end(track, time, &mut self.trace.events);
                        Ok(())
                    }
                    _ => Ok(()),
                }
            }
            Content::RenderStage(message) => self.stage(message, time, interned),
            Content::Counters(message) => self.counters(message, time, interned),
        }
    }
}

impl Builder {
    /// The place of the next event in the file's list.
    fn next_uid(&mut self) -> u32 {
        let uid = self.trace.entries;
        self.is_full |= uid == u32::MAX;
        self.trace.entries = uid.saturating_add(1);
        uid
    }

    /// A slice begins.
    fn begin(
        &mut self,
        message: &Message<'_>,
        track: u32,
        time: Option<i64>,
        interned: &Interned,
    ) -> Wire<()> {
        let uid = self.next_uid();
        let (mut category, mut name) = (None, None);
        let mut arguments = Arguments::default();
        let (mut flow, mut launched) = (None, Vec::new());
        let mut fields = message.clone();
        while let Some(field) = fields.next_field()? {
            match field.number {
                3 => each_number(&fields, field, |id| {
                    category = category.or(interned.categories.get(&id).copied());
                })?,
                4 => {
                    let annotation = fields.message(field, "DebugAnnotation")?;
                    let bytes = fields.bytes(field)?;
                    arguments.take(&annotation, bytes, &mut self.trace, &mut self.known_lists)?;
                }
                10 => name = interned.names.get(&fields.unsigned(field)?).copied(),
                47 => flow = Some(fields.fixed64(field)?),
                3000 => {
                    let mut correlation = fields.message(field, "GpuCorrelation")?;
                    while let Some(field) = correlation.next_field()? {
                        if field.number == 1 {
                            each_number(&correlation, field, |id| launched.push(id))?;
                        }
                    }
                }
                _ => {}
            }
        }
        let Some(start) = time else {
            self.faults.without_timestamp.add(uid);
            return Ok(());
        };
        let name = name.unwrap_or_else(|| self.lost_name(uid));
        let row = self.row(track);
        let category = category.unwrap_or_else(|| self.category(&arguments, row.process, name));
        let arguments = arguments.finish(&mut self.trace);
        let event = self.trace.events.push(Event {
            uid,
            phase: Phase::Complete,
            category,
            name,
            track: row.track,
            start,
            duration: 0,
        });
        arguments.push_into(&mut self.trace.events, event);
        self.slices.begin(event, track, &self.trace.events);
        if let Some(flow) = flow.and_then(|flow| i64::try_from(flow).ok()) {
            // Arrows between other slices have no meaning of their own.
            let end = [(category.is_launch_api(), FlowEnd::Start), (category.is_device(), FlowEnd::Finish)];
            for (_, end) in end.into_iter().filter(|(is_end, _)| *is_end) {
                self.arrow(FlowKind::Launch, end, flow, event);
            }
        }
        if let Some(&first) = launched.first() {
            let correlation = arguments.correlation.or(i64::try_from(first).ok()).unwrap_or(0);
            self.launched.extend(launched.into_iter().map(|work| (work, correlation)));
            self.arrow(FlowKind::Launch, FlowEnd::Start, correlation, event);
        }
        Ok(())
    }

    fn arrow(&mut self, kind: FlowKind, end: FlowEnd, id: i64, event: EventId) {
        let events = &self.trace.events;
        let (track, event) = (events.track(event), Some(events.uid(event)));
        self.trace.flows.push(Flow { kind, end, id, track, time: None, event });
    }

    fn lost_name(&mut self, uid: u32) -> StringId {
        self.faults.lost_name.add(uid);
        self.trace.intern("<unknown>")
    }

    /// The category of a slice that has none: what its row and its arguments make it.
    fn category(&mut self, arguments: &Arguments, process: Process, name: StringId) -> Category {
        let is_driver = |name: &str| {
            name.strip_prefix("cu")
                .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
        };
        match process {
            Process::Overhead => Category::OVERHEAD,
            _ if arguments.is_synchronization() => self.trace.intern_category("cuda_sync"),
            _ if arguments.has_callback_id => match is_driver(self.trace.text(name)) {
                true => Category::CUDA_DRIVER,
                false => Category::CUDA_RUNTIME,
            },
            _ if arguments.has_grid() => Category::KERNEL,
            _ if arguments.has_copy_kind => Category::GPU_MEMCPY,
            Process::Device if arguments.has_bytes() => Category::GPU_MEMSET,
            Process::Device => Category::GPU_USER_ANNOTATION,
            Process::Host if arguments.is_python_frame() => Category::PYTHON_FUNCTION,
            Process::Host if arguments.event.external_id.is_some() => Category::CPU_OP,
            Process::Host => Category::USER_ANNOTATION,
        }
    }

    fn row(&mut self, track: u32) -> Row {
        if let Some(row) = self.rows.get(&track) {
            return *row;
        }
        let line = self.tracks.line(track);
        let number = |number: Option<i64>| number.map_or(RowId::Missing, RowId::Number);
        let pid = number(line.clone().find_map(|track| track.pid));
        let tid = match (pid, self.tracks.uuid(track)) {
            // Rows that nothing describes are told apart by the numbers of their tracks.
            (RowId::Missing, Some(uuid)) => RowId::Number(uuid as i64),
            _ => number(line.clone().find_map(|track| track.tid.or(track.pid))),
        };
        let process = line.map(|track| track.own).find(|&process| process != Process::Host);
        let track_id = self.trace.intern_track(Track { pid, tid });
        let row = Row { track: track_id, process: process.unwrap_or_default() };
        self.rows.insert(track, row);
        row
    }

    /// Takes work of a device.
    fn stage(&mut self, message: &Message<'_>, time: Option<i64>, interned: &Interned) -> Wire<()> {
        let uid = self.next_uid();
        let (mut number, mut duration, mut device) = (None, None, 0);
        let (mut lane, mut stage, mut name, mut kernel) = (None, None, None, None);
        let mut arguments = Arguments::default();
        let first_wait = self.waits.len();
        let mut fields = message.clone();
        while let Some(field) = fields.next_field()? {
            match field.number {
                1 => number = Some(fields.unsigned(field)?),
                2 => {
                    duration = i64::try_from(fields.unsigned(field)?).ok().filter(|&length| length <= LATEST)
                }
                6 => {
                    let (name, value) = read_extra(fields.message(field, "ExtraData")?)?;
                    let value = lossy(value, &mut self.faults.invalid_utf8);
                    // What JSON calls `stream` of the same work.
                    let name = if name == b"stream id" { b"stream" } else { name };
                    arguments.take_text(name, &value, &mut self.trace);
                }
                11 => device = fields.unsigned(field)?,
                13 => lane = Some(fields.unsigned(field)?),
                14 => stage = interned.specifications.get(&fields.unsigned(field)?),
                18 => each_number(&fields, field, |before| self.waits.push((uid, before)))?,
                19 => kernel = Some(interned.kernels.get(&fields.unsigned(field)?).copied()),
                20 => name = Some(interned.names.get(&fields.unsigned(field)?).copied()),
                21 => {
                    let launch = fields.message(field, "ComputeKernelLaunch")?;
                    let (grid, block, registers) = read_launch(launch, interned)?;
                    arguments.set_launch(grid, block, registers);
                }
                _ => {}
            }
        }
        let Some(start) = time else {
            self.faults.without_timestamp.add(uid);
            self.waits.truncate(first_wait);
            return Ok(());
        };
        let duration = duration.unwrap_or_else(|| {
            self.faults.without_duration.add(uid);
            0
        });
        self.last = self.last.max(start + duration);
        let category = stage.and_then(|stage| stage.category).unwrap_or_else(|| {
            self.faults.unknown_stage.add(uid);
            self.trace.intern_category(OTHER_DEVICE)
        });
        let named = name.or(kernel).or(stage.map(|stage| Some(stage.name))).flatten();
        let name = named.unwrap_or_else(|| self.lost_name(uid));
        let launched_by = number.and_then(|number| self.launched.get(&number).copied());
        let mut arguments = arguments.finish(&mut self.trace);
        // In files without a clock the number is that of the call, too.
        let call_correlation =
            number.filter(|_| self.boot_and_day.is_none()).and_then(|id| i64::try_from(id).ok());
        arguments.correlation = arguments.correlation.or(launched_by).or(call_correlation);
        arguments.device = i64::try_from(device).ok();
        let specification = lane.and_then(|lane| interned.specifications.get(&lane));
        let track = self.lane((device, lane.unwrap_or(0)), specification, arguments.stream);
        arguments.stream =
            arguments.stream.or(specification.and_then(|lane| lane.lane).map(|(number, _)| number));
        let event = self.trace.events.push(Event {
            uid,
            phase: Phase::Complete,
            category,
            name,
            track,
            start,
            duration,
        });
        arguments.push_into(&mut self.trace.events, event);
        if let Some(number) = number {
            self.stages.push((number, uid));
        }
        if let Some(correlation) = launched_by {
            self.arrow(FlowKind::Launch, FlowEnd::Finish, correlation, event);
        }
        Ok(())
    }

    /// The row of a device that a specification names, or that of a stream where it names none.
    fn lane(
        &mut self,
        (device, lane): (u64, u64),
        specification: Option<&Specification>,
        stream: Option<i64>,
    ) -> TrackId {
        let pid = RowId::Number(device as i64);
        let Some((number, label)) = specification.and_then(|specification| specification.lane) else {
            let tid = stream.map_or(RowId::Missing, RowId::Number);
            return self.trace.intern_track(Track { pid, tid });
        };
        if let Some(&track) = self.lanes.get(&(device, lane)) {
            return track;
        }
        let row = Track { pid, tid: RowId::Number(number) };
        let labels = self.trace.intern(&format!("GPU {device}"));
        self.trace.tracks.process_mut(pid).labels = Some(labels);
        self.trace.tracks.thread_mut(row).name = Some(label);
        let track = self.trace.intern_track(row);
        self.lanes.insert((device, lane), track);
        track
    }

    /// Samples of counters of one time. Those of counters that nothing describes are counted.
    fn counters(&mut self, message: &Message<'_>, time: Option<i64>, interned: &Interned) -> Wire<()> {
        let (mut described, mut values) = (None, Vec::new());
        let mut fields = message.clone();
        while let Some(field) = fields.next_field()? {
            match field.number {
                2 => values.push((self.next_uid(), sample(fields.message(field, "GpuCounter")?)?)),
                4 => described = interned.counters.get(&fields.unsigned(field)?),
                _ => {}
            }
        }
        for (uid, (counter, value)) in values {
            let known = described.and_then(|of| Some((of.gpu, *of.names.get(&counter)?)));
            match (known, time, value.filter(|value| value.is_finite())) {
                (Some((device, counter)), Some(time), Some(value)) => {
                    self.trace.counters.push(CounterSample { device, counter, time, value });
                }
                (None, ..) => self.faults.unknown_counters += 1,
                (_, None, _) => self.faults.without_timestamp.add(uid),
                (.., None) => self.faults.unreadable_sample.add(uid),
            }
        }
        Ok(())
    }

    /// The trace, once all packets were taken; `warnings` are those of the packets.
    fn finish(mut self, warnings: Vec<Warning>) -> Trace {
        self.add_dependencies();
        let Builder { mut trace, slices, faults, boot_and_day, last, .. } = self;
        trace.warnings = warnings;
        slices.finish(last, &mut trace.events, &mut trace.warnings);
        let tallies = [
            (faults.without_timestamp, EventFault::WithoutTimestamp),
            (faults.without_duration, EventFault::WithoutDuration),
            (faults.lost_name, EventFault::LostName),
            (faults.unknown_stage, EventFault::UnknownStage),
            (faults.unreadable_sample, EventFault::UnreadableSample),
        ];
        trace.warnings.extend(tallies.into_iter().filter_map(|(tally, fault)| tally.warning(fault)));
        if faults.unknown_counters > 0 {
            trace.warnings.push(Warning::UnusedPhase { phase: Some('C'), count: faults.unknown_counters });
        }
        if faults.invalid_utf8 > 0 {
            trace.warnings.push(Warning::InvalidUtf8 { count: faults.invalid_utf8 });
        }
        trace.rebase();
        // Times count from a base as in JSON: the moment at which the clocks were read, or a whole second.
        let base = match boot_and_day {
            Some(clocks) => Some(clocks),
            None if trace.origin >= SINCE_1970 => Some([trace.origin - trace.origin % SECOND; 2]),
            None => None,
        };
        if let Some([boot, day]) = base {
            trace.origin -= boot;
            trace.facts.base_time_nanoseconds = Some(day);
        }
        trace.facts.recorder = RecorderFacts {
            kind: Some(RecordingKind::Trace),
            allocations: false,
            uncut_device_times: false,
            ..RecorderFacts::default()
        };
        trace
    }

    /// Adds an arrow for each thing that device work waits for.
    fn add_dependencies(&mut self) {
        self.stages.sort_unstable();
        for (id, &(after, number)) in (FlowKind::FIRST_GRAPH_DEPENDENCY..).zip(&self.waits) {
            let before = self.stages.partition_point(|&(other, _)| other < number);
            let before = self.stages.get(before).filter(|stage| stage.0 == number).map(|&(_, uid)| uid);
            for (end, uid) in [(FlowEnd::Start, before), (FlowEnd::Finish, Some(after))] {
                let Some(event) = uid.and_then(|uid| self.trace.events.find_uid(uid)) else { continue };
                let (track, event) = (self.trace.events.track(event), uid);
                let kind = FlowKind::GraphDependency;
                self.trace.flows.push(Flow { kind, end, id, track, time: None, event });
            }
        }
    }
}

/// Name and value of a piece of extra data.
fn read_extra(mut extra: Message<'_>) -> Wire<(&[u8], &[u8])> {
    let (mut name, mut value) = (&[][..], &[][..]);
    while let Some(field) = extra.next_field()? {
        match field.number {
            1 => name = extra.bytes(field)?,
            2 => value = extra.bytes(field)?,
            _ => {}
        }
    }
    Ok((name, value))
}

/// Grid, block and registers per thread that a kernel was launched with.
fn read_launch(mut launch: Message<'_>, interned: &Interned) -> Wire<([u32; 3], [u32; 3], Option<u32>)> {
    let (mut grid, mut block, mut registers) = ([1; 3], [1; 3], None);
    while let Some(field) = launch.next_field()? {
        match field.number {
            1 => grid = read_extents(launch.message(field, "grid")?)?,
            2 => block = read_extents(launch.message(field, "workgroup")?)?,
            3 => {
                let mut argument = launch.message(field, "launch argument")?;
                let (mut name, mut value) = (LaunchArgument::Other, None);
                while let Some(field) = argument.next_field()? {
                    match field.number {
                        1 => {
                            let known = interned.launch_arguments.get(&argument.unsigned(field)?);
                            name = known.copied().unwrap_or(LaunchArgument::Other);
                        }
                        2 => name = LaunchArgument::from_name(argument.bytes(field)?),
                        3 | 4 => value = u32::try_from(argument.unsigned(field)?).ok(),
                        _ => {}
                    }
                }
                if name == LaunchArgument::RegistersPerThread {
                    registers = value;
                }
            }
            _ => {}
        }
    }
    Ok((grid, block, registers))
}

/// The extents of three dimensions; what is missing is 1.
fn read_extents(mut extents: Message<'_>) -> Wire<[u32; 3]> {
    let mut read = [1; 3];
    while let Some(field) = extents.next_field()? {
        if let 1..=3 = field.number {
            read[field.number as usize - 1] = u32::try_from(extents.unsigned(field)?).unwrap_or(u32::MAX);
        }
    }
    Ok(read)
}

/// Number and value of a counter in a sample; a value is an integer or a number with a fraction.
fn sample(mut counter: Message<'_>) -> Wire<(u64, Option<f64>)> {
    let (mut id, mut value) = (0, None);
    while let Some(field) = counter.next_field()? {
        match field.number {
            1 => id = counter.unsigned(field)?,
            2 => value = Some(counter.signed(field)? as f64),
            3 => value = Some(counter.double(field)?),
            _ => {}
        }
    }
    Ok((id, value))
}
