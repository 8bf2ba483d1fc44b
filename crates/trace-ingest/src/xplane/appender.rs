//! Appends events to the trace and to the columns of the profile.

use std::cmp::Reverse;
use std::num::NonZeroUsize;

use hashbrown::HashMap;

use super::categories::{LineRole, XLA_MODULE, category};
use super::derived::DerivedLines;
use super::details::{read_geometry, read_transfer};
use super::facts::Facts;
use super::kinds::Kinds;
use super::profile::{EVENT_STATS, PlaneKind, Profile, XlaCall};
use super::programs::{InstructionIndex, split_title};
use super::rows::Row;
use super::scan::PlaneScan;
use super::stat::{StatValue, read_stat};
use crate::category::Category;
use crate::event_table::{Event, EventId, LaunchGeometry, MemoryTransfer, Phase};
use crate::facts::{DeviceProperties, RecorderFacts, RecordingKind};
use crate::string_table::StringId;
use crate::time::{Nanoseconds, TimeUnit};
use crate::trace::EventArguments;
use crate::warning::{EventFault, Tally, Warning};
use crate::wire::{Fault, Message, Wire};

/// What ends reading.
pub(crate) enum Refusal {
    Fault(Box<Fault>),
    TooManyEvents,
}

impl From<Box<Fault>> for Refusal {
    fn from(fault: Box<Fault>) -> Self {
        Refusal::Fault(fault)
    }
}

/// A line: position of its plane, and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) plane: usize,
    pub(crate) line: usize,
}

/// Faults that did not stop reading.
#[derive(Default)]
pub(crate) struct Faults {
    negative_duration: Tally,
    without_name: Tally,
    pub(crate) invalid_utf8: u64,
}

/// The profile so far, and what its events need.
pub(crate) struct Appender {
    pub(crate) profile: Profile,
    pub(crate) scans: Vec<PlaneScan>,
    pub(crate) kinds: Kinds,
    /// What the events of each line of each plane are.
    pub(crate) roles: Vec<Vec<LineRole>>,
    /// Per plane of a GPU the line that others are derived from, and these.
    pub(crate) derived: Vec<Option<(usize, DerivedLines)>>,
    /// Earliest timestamp of a line with events, in nanoseconds: what starts count from.
    pub(crate) base_ns: i64,
    pub(crate) faults: Faults,
    instructions: InstructionIndex,
    geometries: HashMap<StringId, Option<LaunchGeometry>>,
    transfers: HashMap<StringId, Option<MemoryTransfer>>,
    module: Category,
}

impl Appender {
    /// Takes over what was found of the planes, their events apart.
    pub(crate) fn new(mut profile: Profile, mut scans: Vec<PlaneScan>) -> Self {
        let mut kinds = Kinds::default();
        for scan in &mut scans {
            let plane_kinds = std::mem::take(&mut scan.kinds);
            for (metadata, facts) in plane_kinds.iter().filter(|_| scan.kind == PlaneKind::Metadata) {
                if let Some((start, end)) = facts.hlo_proto {
                    profile.programs.add(metadata.id, &metadata.name, start..end);
                }
            }
            kinds.add_plane(plane_kinds);
        }
        let lines = scans.iter().flat_map(|scan| &scan.lines).filter(|line| line.events > 0);
        let base_ns = lines.map(|line| line.timestamp_ns).min().unwrap_or(0);
        let events = scans.iter().flat_map(|scan| &scan.lines).map(|line| line.events).sum();
        reserve(&mut profile, events);
        let module = profile.trace.intern_category(XLA_MODULE);
        let mut appender = Appender {
            profile,
            scans,
            kinds,
            roles: Vec::new(),
            derived: Vec::new(),
            base_ns,
            faults: Faults::default(),
            instructions: InstructionIndex::default(),
            geometries: HashMap::new(),
            transfers: HashMap::new(),
            module,
        };
        appender.name_calls();
        appender
    }

    /// Notes the calls that kinds name. A kind of a TPU that states a program and an instruction's number
    /// goes by the instruction's name.
    fn name_calls(&mut self) {
        for kind in 0..self.kinds.len() as u32 {
            if !self.kinds.get(kind).facts.names_call {
                continue;
            }
            let mut call = call_of(&self.kinds.get(kind).facts);
            if call.hlo_op.is_none() && call.program_id.is_some() && call.symbol_id.is_some() {
                call.hlo_op = Some(self.kinds.label(kind, &mut self.profile.trace.strings));
            }
            let call = self.profile.xla_calls.insert(call).0;
            self.kinds.set_call(kind, call as u32);
        }
    }

    /// Counts events that have no row.
    pub(crate) fn count(&mut self, events: u32) -> Result<(), Refusal> {
        let entries = &mut self.profile.trace.entries;
        *entries = entries.checked_add(events).ok_or(Refusal::TooManyEvents)?;
        Ok(())
    }

    pub(crate) fn push(&mut self, place: Place, row: Row) -> Result<(), Refusal> {
        let uid = self.profile.trace.entries;
        self.count(1)?;
        let mut facts = self.kinds.get(row.kind).facts.clone();
        let Some(offset) = row.offset.map(NonZeroUsize::get) else { return Ok(()) };
        let own_call = self.read_stats(place.plane, offset, row.stats, &mut facts)?;

        let role = self.roles[place.plane][place.line];
        let kind_call = self.kinds.get(row.kind).call;
        let strings = &mut self.profile.trace.strings;
        let label = self.kinds.label(row.kind, strings);
        let name = if facts.step_name == StringId::EMPTY { label } else { facts.step_name };
        if name == StringId::EMPTY {
            self.faults.without_name.add(uid);
        }
        if row.duration < 0 {
            self.faults.negative_duration.add(uid);
        }
        let category = category(role, row.role, &facts, || strings.get(name), self.module);
        let moment = category == Category::CPU_INSTANT_EVENT && row.duration <= 0;
        let event = self.profile.trace.events.push(Event {
            uid,
            phase: if moment { Phase::Instant } else { Phase::Complete },
            category,
            name,
            track: self.profile.planes[place.plane].lines[place.line].track,
            start: row.start,
            duration: row.duration.max(0),
        });
        self.push_arguments(event, place, role, &facts);

        let columns = &mut self.profile.columns;
        columns.position.push(offset as u64);
        columns.metadata.push(row.kind);
        if let (Some(offset), Some(duration)) = (facts.device_offset, facts.device_duration) {
            columns.device_clock.push(event.index(), (offset, duration));
        }
        if role == LineRole::Modules && facts.program_id.is_none() {
            facts.program_id = split_title(self.profile.trace.strings.get(name)).map(|(_, program)| program);
        }
        let call = if own_call || (role == LineRole::Modules && facts.program_id.is_some()) {
            let mut call = call_of(&facts);
            let kind_hlo_op = kind_call.and_then(|kind| self.profile.xla_calls[kind as usize].hlo_op);
            call.hlo_op = call.hlo_op.or(kind_hlo_op);
            Some(self.profile.xla_calls.insert(call).0 as u32)
        } else {
            kind_call
        };
        if let Some(call) = call {
            columns.xla.push(event.index(), call);
        }
        self.profile.planes[place.plane].lines[place.line].events.push(event);
        if let Some((line, lines)) = &mut self.derived[place.plane]
            && *line == place.line
        {
            let (strings, programs) = (&self.profile.trace.strings, &self.profile.programs);
            lines.add(&facts, strings, programs, &mut self.instructions);
        }
        Ok(())
    }

    /// Adds what the stats of an event say to `facts`. Returns whether they name a call.
    fn read_stats(&mut self, plane: usize, offset: usize, stats: u32, facts: &mut Facts) -> Wire<bool> {
        let PlaneScan { stat_reader, stat_names, .. } = &mut self.scans[plane];
        let Profile { trace, bytes, .. } = &mut self.profile;
        facts.names_call = false;
        if stats == 0 {
            return Ok(false);
        }
        let event = Message::at_field(bytes, offset, "XEvent")?;
        let mut event = event.resume_at(offset + stats as usize);
        while let Some(field) = event.next_field()? {
            if field.number == EVENT_STATS {
                let stat = read_stat(event.message(field, "XStat")?)?;
                stat_reader.note(facts, stat, stat_names, bytes, &mut trace.strings);
            }
        }
        Ok(facts.names_call)
    }

    fn push_arguments(&mut self, event: EventId, place: Place, role: LineRole, facts: &Facts) {
        let Profile { trace, planes, .. } = &mut self.profile;
        let plane = &planes[place.plane];
        let mut arguments = EventArguments { correlation: facts.correlation, ..EventArguments::default() };
        if let PlaneKind::Gpu { ordinal } | PlaneKind::Tpu { ordinal } = plane.kind {
            arguments.device = Some(i64::from(ordinal));
        }
        if role == LineRole::Stream {
            arguments.stream = Some(plane.lines[place.line].id);
        }
        let strings = &trace.strings;
        if facts.kernel_details != StringId::EMPTY {
            let geometry = self.geometries.entry(facts.kernel_details);
            arguments.geometry = *geometry.or_insert_with_key(|&text| read_geometry(strings.get(text)));
        }
        if facts.memcpy_details != StringId::EMPTY {
            let transfer = self.transfers.entry(facts.memcpy_details);
            arguments.transfer = *transfer.or_insert_with_key(|&text| read_transfer(strings.get(text)));
        }
        arguments.push_into(&mut trace.events, event);
    }

    /// Brings the events of lines that some were appended late to into order.
    pub(crate) fn order_lines(&mut self, places: impl Iterator<Item = Place>) {
        let mut places: Vec<Place> = places.collect();
        places.sort_unstable();
        places.dedup();
        let Profile { planes, trace, columns, .. } = &mut self.profile;
        let events = &trace.events;
        for Place { plane, line } in places {
            planes[plane].lines[line].events.sort_by_key(|&event| {
                let position = columns.position[event.index()];
                (events.start(event), Reverse(events.duration(event)), position)
            });
        }
    }

    /// The profile, once all events were appended.
    pub(crate) fn finish(self) -> Profile {
        let Appender { mut profile, scans, kinds, base_ns, mut faults, .. } = self;
        profile.metadata = kinds.metadata;
        let mut unnamed = 0;
        for scan in scans {
            unnamed += scan.stat_reader.unnamed;
            faults.invalid_utf8 += scan.stat_reader.invalid_utf8;
            profile.stat_names.push(scan.stat_names);
        }
        let warnings = &mut profile.trace.warnings;
        warnings.extend(faults.negative_duration.warning(EventFault::NegativeDuration));
        warnings.extend(faults.without_name.warning(EventFault::WithoutName));
        if unnamed > 0 {
            warnings.push(Warning::UnnamedArguments { count: unnamed });
        }
        if faults.invalid_utf8 > 0 {
            warnings.push(Warning::InvalidUtf8 { count: faults.invalid_utf8 });
        }
        place_in_time(&mut profile, base_ns);
        profile.trace.facts.devices = devices(&profile);
        profile.trace.facts.recorder = recorder(&profile);
        profile
    }
}

/// What the profiler can know: of the host nothing where its tracer was off. Shapes stand in the HLO modules.
fn recorder(profile: &Profile) -> RecorderFacts {
    let traces_host = profile.planes.iter().any(|plane| {
        plane.kind == PlaneKind::HostCpu && plane.lines.iter().any(|line| !line.events.is_empty())
    });
    RecorderFacts {
        kind: Some(RecordingKind::XPlane),
        operators: traces_host,
        launches: traces_host,
        all_launches: true,
        shapes: false,
        python_frames: traces_host,
        launch_geometry: true,
        allocations: traces_host,
        uncut_device_times: true,
        time_unit: TimeUnit::Picoseconds,
    }
}

/// Makes room for events; each takes two bytes of the file at least, so the file bounds the room.
fn reserve(profile: &mut Profile, events: usize) {
    let (table, columns) = (&mut profile.trace.events, &mut profile.columns);
    table.uid.reserve(events);
    table.phase.reserve(events);
    table.category.reserve(events);
    table.name.reserve(events);
    table.track.reserve(events);
    table.start.reserve(events);
    table.duration.reserve(events);
    columns.position.reserve(events);
    columns.metadata.reserve(events);
}

/// Makes starts relative to the earliest and says what they count from. Old profilers give nanoseconds since
/// 1970, which do not fit a 64-bit number of picoseconds: then the origin counts from the earliest line.
fn place_in_time(profile: &mut Profile, base_ns: i64) {
    for plane in profile.planes.iter().filter(|plane| plane.kind == PlaneKind::Environment) {
        let time = |name| i64::try_from(plane.stat(name)?.as_id()?).ok().map(Nanoseconds);
        profile.start = profile.start.or(time("profile_start_time"));
        profile.stop = profile.stop.or(time("profile_stop_time"));
    }
    let trace = &mut profile.trace;
    trace.rebase();
    match base_ns.checked_mul(1000).and_then(|base| base.checked_add(trace.origin)) {
        Some(origin) => {
            trace.origin = origin;
            trace.facts.base_time_nanoseconds = profile.start.map(|start| start.0);
        }
        None => trace.facts.base_time_nanoseconds = Some(base_ns),
    }
}

/// The GPUs that say what they are.
fn devices(profile: &Profile) -> Vec<DeviceProperties> {
    let gpus = profile.planes.iter().filter_map(|plane| match plane.kind {
        PlaneKind::Gpu { ordinal } => Some((plane, ordinal)),
        _ => None,
    });
    let described = gpus.filter(|(plane, _)| plane.stat("core_count").is_some());
    described
        .map(|(plane, ordinal)| DeviceProperties {
            id: Some(i64::from(ordinal)),
            name: plane.stat("gpu_device_name").and_then(|name| name.as_str().map(str::to_string)),
            total_memory: plane.stat("memory_size").and_then(StatValue::as_u64),
            compute_major: plane.stat("compute_cap_major").and_then(StatValue::as_i64),
            compute_minor: plane.stat("compute_cap_minor").and_then(StatValue::as_i64),
            multiprocessors: plane.stat("core_count").and_then(StatValue::as_i64),
            ..DeviceProperties::default()
        })
        .collect()
}

/// The call that stats name.
fn call_of(facts: &Facts) -> XlaCall {
    let text = |id: StringId| (id != StringId::EMPTY).then_some(id);
    XlaCall {
        hlo_op: text(facts.hlo_op),
        hlo_module: text(facts.hlo_module),
        program_id: facts.program_id,
        symbol_id: facts.symbol_id,
        run_id: facts.run_id,
    }
}
