//! The tables of a rank, from the analysis of its recording.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::OnceLock;
use std::thread::Builder;

use gpu_timeline::{Activity, SortFew};
use hashbrown::HashMap;
use iterations::{Division, Part};
use perf_models::{CollectiveKind, CommunicationPatterns, element_size, type_of_scalar_name};
use trace_ingest::{
    Category, Collective, EventId, EventTable, Sequence, Signature, SignatureId, StringId, Trace, Warning,
};
use trace2tree::{EventSet, TraceTree};
use tree_perf::Analysis;

use crate::members::Members;
use crate::occupancy::{HostWait, LaunchedSpan, Occupancy};
use crate::rows::Text;
use crate::source::{host_of_path, usual_rank_of_path};
use crate::tables::{CollectiveRow, EventRow, GroupRow, KernelRow, OpRow, RankRow, RankTables, StepRow};

/// Makes the tables of a rank. `path` is where its recording was read from, which tells what the recording does not.
#[must_use]
pub fn rank_tables(analysis: &Analysis, path: &Path) -> RankTables {
    let map = Map::new(analysis);
    std::thread::scope(|scope| {
        // Models take about as long as iterations and all other tables.
        let ops = Builder::new().name("operators".to_owned()).spawn_scoped(scope, || map.ops());
        let (groups, collectives) = map.collectives();
        let steps = map.steps();
        let kernels = map.kernels();
        RankTables {
            rank: map.rank(path, collectives.len(), &steps),
            groups,
            collectives,
            steps,
            kernels,
            ops: match ops {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(_) => map.ops(),
            },
            findings: Vec::new(),
            waits: None,
            events: None,
        }
    })
}

/// The rows of single events, for [`RankTables::events`]. They take more space than all tables together.
#[must_use]
pub fn single_events(analysis: &Analysis) -> Vec<EventRow> {
    Map::new(analysis).events()
}

/// Times of a recording as the tables have them.
#[derive(Clone, Copy)]
pub(crate) struct Clock<'a>(pub(crate) &'a Trace);

impl Clock<'_> {
    /// Units of the recording's times in a nanosecond.
    fn unit(self) -> i64 {
        self.0.time_unit().per_microsecond() / 1000
    }

    /// A length in nanoseconds.
    pub(crate) fn ns(self, time: i64) -> i64 {
        time / self.unit()
    }

    /// A moment on the clock of the recording.
    pub(crate) fn moment(self, time: i64) -> i64 {
        self.ns(self.0.origin().saturating_add(time))
    }

    /// Start of the first event and end of the last.
    pub(crate) fn window(self) -> (i64, i64) {
        let events = self.0.events();
        let starts = events.ids().map(|event| events.start(event));
        let ends = events.ids().map(|event| events.end(event));
        (self.moment(starts.min().unwrap_or(0)), self.moment(ends.max().unwrap_or(0)))
    }
}

/// What all tables are made from.
struct Map<'a> {
    analysis: &'a Analysis,
    tree: &'a TraceTree,
    trace: &'a Trace,
    /// Device events with what they do, in file order.
    device: Vec<(EventId, Activity)>,
    /// Made when it is first asked for.
    division: OnceLock<Option<Division>>,
    /// Texts by id, shared among rows.
    texts: HashMap<StringId, Text>,
}

impl<'a> Map<'a> {
    fn new(analysis: &'a Analysis) -> Self {
        let (tree, trace) = (analysis.tree(), analysis.trace());
        let device: Vec<(EventId, Activity)> = analysis.activities().collect();
        let (division, texts) = (OnceLock::new(), HashMap::new());
        let mut map = Map { analysis, tree, trace, device, division, texts };
        let collective = trace.events().arguments().collective.iter();
        let collective_texts = collective.flat_map(|(_, collective)| {
            let Collective { name, group_name, group_description, group_ranks, dtype, .. } = collective;
            let splits = [collective.in_split_size, collective.out_split_size];
            [name, group_name, group_description, group_ranks, dtype].into_iter().chain(splits).flatten()
        });
        let kernel_names = map.device.iter().map(|&(event, _)| trace.events().name(event));
        for id in collective_texts.chain(kernel_names) {
            map.texts.entry(id).or_insert_with(|| trace.text(id).into());
        }
        map
    }

    fn text(&self, id: Option<StringId>) -> Option<Text> {
        id.and_then(|id| self.texts.get(&id).cloned())
    }

    fn ns(&self, time: i64) -> i64 {
        Clock(self.trace).ns(time)
    }

    fn moment(&self, time: i64) -> i64 {
        Clock(self.trace).moment(time)
    }

    fn launch(&self, event: EventId) -> Option<EventId> {
        self.tree.launch(event)
    }

    /// Index of the step that launched a device event.
    fn step(&self, event: EventId) -> Option<i64> {
        let division = self.division.get_or_init(|| {
            let steps = self.analysis.iterations().detected().steps()?;
            Some(Division::new(self.tree, &steps.iterations))
        });
        match division.as_ref()?.part_of(event)? {
            Part::Iteration(index) => i64::try_from(index).ok(),
            Part::Before | Part::After(_) => None,
        }
    }

    fn rank(&self, path: &Path, collectives: usize, steps: &[StepRow]) -> RankRow {
        let facts = self.trace.facts();
        let distributed = facts.distributed.clone().unwrap_or_default();
        let path_rank = || usual_rank_of_path(path).map(|rank| (i64::from(rank), "file name"));
        let rank = distributed.rank.map(|rank| (rank, "recording")).or_else(path_rank);
        let events = self.trace.events();
        let (window_start_ns, window_end_ns) = Clock(self.trace).window();
        let device = events.arguments().device.iter().map(|(_, device)| device).find(|&device| device >= 0);
        let device_numbered = |index: i64| facts.devices.iter().find(|device| device.id == Some(index));
        let properties = device.and_then(device_numbered).or_else(|| facts.devices.first());
        let timeline = self.analysis.timeline().unwrap_or_default();
        let level = self.analysis.iterations().detected().steps();
        RankRow {
            rank: rank.map(|(rank, _)| rank),
            rank_source: rank.map(|(_, source)| source.into()),
            world_size: distributed.world_size,
            host: host_of_path(path).map(Text::from),
            device,
            device_name: properties.and_then(|device| device.name.as_deref()).map(Text::from),
            visible_devices: count(facts.devices.len()),
            backend: distributed.backend.map(Text::from),
            base_time_ns: facts.base_time_nanoseconds.unwrap_or(0),
            window_start_ns,
            window_end_ns,
            busy_ns: self.ns(timeline.busy),
            computation_ns: self.ns(timeline.computation),
            communication_ns: self.ns(timeline.total_communication),
            exposed_communication_ns: self.ns(timeline.exposed_communication),
            exposed_copies_ns: self.ns(timeline.exposed_memcpy),
            idle_ns: self.ns(timeline.idle),
            step_kind: level.map(|level| level.kind.as_str().into()),
            steps: count(steps.len()),
            collectives: count(collectives),
            warnings: count(self.trace.warnings().len()),
            damaged: i64::from(self.trace.warnings().iter().any(is_damage)),
        }
    }

    fn steps(&self) -> Vec<StepRow> {
        let Some((level, measured)) = self.analysis.iterations().steps() else { return Vec::new() };
        let steps = level.iterations.iter().zip(&measured.iterations).zip(0..);
        steps
            .map(|((iteration, figures), step)| StepRow {
                step,
                number: iteration.number,
                start_ns: self.moment(iteration.start),
                end_ns: self.moment(iteration.end),
                device_ns: self.ns(figures.breakdown.total + figures.lead.unwrap_or(0)),
                computation_ns: self.ns(figures.breakdown.computation),
                exposed_communication_ns: self.ns(figures.breakdown.exposed_communication),
                exposed_copies_ns: self.ns(figures.breakdown.exposed_memcpy),
                idle_ns: self.ns(figures.breakdown.idle),
                kernels: count(figures.kernels),
                whole: i64::from(iteration.whole),
            })
            .collect()
    }

    fn kernels(&self) -> Vec<KernelRow> {
        let events = self.trace.events();
        let mut rows = KernelRows::default();
        for &(event, activity) in &self.device {
            let key = (self.step(event), events.name(event), activity, events.stream(event));
            rows.add(key, self.ns(events.duration(event)), |name| self.text(Some(name)));
        }
        rows.sorted()
    }

    /// Operators by name, kind of work and arguments.
    fn ops(&self) -> Vec<OpRow> {
        let events = self.trace.events();
        let mut rows: HashMap<(StringId, &str, Option<SignatureId>), OpRow> = HashMap::new();
        let [mut counted, mut modelled] = [(); 2].map(|()| EventSet::with_capacity(events.len()));
        for work in self.analysis.charged_work() {
            let (name, signature) = (events.name(work.operator), events.signature(work.operator));
            let row = rows.entry((name, work.category, signature)).or_insert_with(|| {
                let category = Some(work.category.into());
                OpRow { name: Some(self.trace.text(name).into()), category, ..self.signature(signature) }
            });
            if counted.insert(work.operator) {
                row.calls += 1;
                row.host_ns += self.ns(events.duration(work.operator));
            }
            row.modelled_calls += i64::from(work.flops().is_some() && modelled.insert(work.operator));
            row.kernels += count(work.device_events.len());
            row.device_ns += self.ns(work.time);
            add(&mut row.flops, work.flops());
            add(&mut row.bytes, work.bytes());
        }
        let mut rows: Vec<OpRow> = rows.into_values().collect();
        rows.sort_few_by(|a, b| {
            (&a.name, &a.category, &a.input_dims, &a.input_types, a.signature).cmp(&(
                &b.name,
                &b.category,
                &b.input_dims,
                &b.input_types,
                b.signature,
            ))
        });
        rows
    }

    /// A row that says the arguments of its calls.
    fn signature(&self, signature: Option<SignatureId>) -> OpRow {
        let signatures = self.trace.signatures();
        let Signature { dims, types, strides, concrete } =
            signature.map(|id| signatures.get(id)).unwrap_or_default();
        let parts = [dims, types, strides, concrete]
            .map(|part| part.map(|id| signatures.argument(id).display(Sequence::Tuple).to_string()));
        let is_recorded = parts.iter().any(Option::is_some);
        // Before each part its place, so that equal texts in different places differ.
        let places =
            parts.iter().zip('0'..).filter_map(|(part, place)| Some(format!("{place}{}\n", part.as_ref()?)));
        let hash = is_recorded.then(|| hash(&places.collect::<String>()));
        let [input_dims, input_types, ..] = parts.map(|part| part.map(Text::from));
        OpRow { signature: hash, input_dims, input_types, ..OpRow::default() }
    }

    fn events(&self) -> Vec<EventRow> {
        let (tree, events) = (self.tree, self.trace.events());
        let outermost = |call: EventId| std::iter::successors(Some(call), |&call| tree.operator(call)).last();
        let row = |event: EventId| EventRow {
            event: events.uid(event),
            name: Some(self.trace.name(event).into()),
            category: Some(self.trace.category_name(events.category(event)).into()),
            start_ns: self.moment(events.start(event)),
            duration_ns: self.ns(events.duration(event)),
            ..EventRow::default()
        };
        let is_call = |event: &EventId| {
            let category = events.category(*event);
            (category == Category::CPU_OP || category.is_launch_api()) && tree.operator(*event).is_none()
        };
        let iterations = self.analysis.iterations().detected().steps().map(|level| &level.iterations);
        // Steps follow each other.
        let step_at = |time: i64| {
            let iterations = iterations?;
            let at = iterations.partition_point(|iteration| iteration.start <= time).checked_sub(1)?;
            (time < iterations[at].end).then(|| count(at))
        };
        let calls = tree.host_events().iter().copied().filter(is_call).map(|event| EventRow {
            thread: Some(count(events.track(event).index())),
            step: step_at(events.start(event)),
            ..row(event)
        });
        let on_device = self.device.iter().map(|&(event, _)| EventRow {
            stream: events.stream(event),
            step: self.step(event),
            launched_by: self.launch(event).and_then(outermost).map(|call| events.uid(call).into()),
            ..row(event)
        });
        let mut rows: Vec<EventRow> = calls.chain(on_device).collect();
        rows.sort_by_key(|row| (row.start_ns, row.event));
        rows
    }

    /// Groups and the kernels of their collectives.
    fn collectives(&self) -> (Vec<GroupRow>, Vec<CollectiveRow>) {
        let events = self.trace.events();
        let needs_ids = self.trace.facts().recorder.launches;
        let has_id = |event| events.correlation(event).or(events.external_id(event)).is_some();
        let kernels = self.device.iter().filter(|&&(event, activity)| {
            activity == Activity::Communication
                && events.category(event) == Category::KERNEL
                && (!needs_ids || has_id(event))
        });
        let described = DescribedCalls::new(self.tree);
        let mut groups = Groups::default();
        let mut rows: Vec<CollectiveRow> = Vec::new();
        for (ordinal, &(kernel, _)) in (0_u32..).zip(kernels) {
            let (collective, described_by, call) = described.of(self.tree, kernel);
            rows.push(self.collective(kernel, ordinal, &collective, described_by, call, &mut groups));
        }
        let mut groups = groups.rows(self);
        rows.sort_by_key(|row| (row.group, row.start_ns, row.ordinal));
        for row in &rows {
            groups[row.group as usize].collectives += 1;
        }
        let spans = self.device.iter().map(|&(event, activity)| self.span(event, activity)).collect();
        fill_preceding_activity(&mut rows, spans, Clock(self.trace));
        (groups, rows)
    }

    fn collective(
        &self,
        kernel: EventId,
        ordinal: u32,
        collective: &Collective,
        mut described_by: Option<&'static str>,
        call: Option<EventId>,
        groups: &mut Groups,
    ) -> CollectiveRow {
        let events = self.trace.events();
        let kernel_name = self.trace.name(kernel);
        let name = self.text(collective.name).or_else(|| {
            let (name, by) = name_by_kernel(kernel_name, &self.analysis.options().communication)?;
            described_by = described_by.or(Some(by));
            Some(name.into())
        });
        let dtype = self.text(collective.dtype);
        let size = dtype.as_deref().and_then(type_of_scalar_name).and_then(|dtype| element_size(dtype).ok());
        let bytes = |elements: Option<i64>| Some((elements? as f64 * size?) as i64);
        let point_to_point =
            name.as_deref().is_some_and(|name| name.starts_with("send") || name.starts_with("recv"));
        let peer = match name.as_deref() {
            Some(name) if name.starts_with("send") => collective.destination_rank,
            Some(name) if name.starts_with("recv") => collective.source_rank,
            _ => None,
        };
        let launch = self.launch(kernel);
        CollectiveRow {
            group: groups.index(collective),
            ordinal,
            name,
            dtype,
            in_elements: collective.in_elements,
            out_elements: collective.out_elements,
            in_bytes: bytes(collective.in_elements),
            out_bytes: bytes(collective.out_elements),
            in_split: self.text(collective.in_split_size),
            out_split: self.text(collective.out_split_size),
            stream: events.stream(kernel),
            start_ns: self.moment(events.start(kernel)),
            duration_ns: self.ns(events.duration(kernel)),
            launch_ns: launch.map(|launch| self.moment(events.start(launch))),
            step: self.step(kernel),
            sequence: collective.sequence,
            peer,
            point_to_point: i64::from(point_to_point),
            described_by: described_by.map(Text::from),
            call: call.map(|call| i64::from(events.uid(call))),
            ..CollectiveRow::default()
        }
    }

    fn span(&self, event: EventId, activity: Activity) -> LaunchedSpan {
        let events = self.trace.events();
        let (start, end) = (events.start(event), events.end(event));
        let launch = self.launch(event).map(|launch| done_launch(events, launch, start));
        LaunchedSpan { start, end, activity, launch }
    }
}

/// What the device and the host did between a collective and the one before it of its group; `spans` are the events of
/// the device.
pub(crate) fn fill_preceding_activity(
    rows: &mut [CollectiveRow],
    mut spans: Vec<LaunchedSpan>,
    clock: Clock<'_>,
) {
    let trace = clock.0;
    let events = trace.events();
    // The time before the first of them counts from the start of the recording.
    let start = events.ids().map(|event| events.start(event)).min().unwrap_or(0);
    spans.push(LaunchedSpan { start, end: start, activity: Activity::Computation, launch: None });
    let occupancy = Occupancy::new(spans);
    let origin = clock.moment(0);
    let unit = clock.unit();
    let mut waits = Vec::with_capacity(rows.len());
    for group in rows.chunk_by_mut(|a, b| a.group == b.group) {
        let (mut previous_start, mut previous_end) = (i64::MIN, i64::MIN);
        for row in group {
            let start = (row.start_ns - origin) * unit;
            let from = previous_end.min(start);
            let usage = occupancy.between(from, start);
            // What it did during the collective before, it need not do after that.
            let during = occupancy.between(previous_start, from);
            row.computation_ns =
                clock.ns(occupancy.between(start, start + row.duration_ns * unit).computation);
            row.since_computation_ns = clock.ns(usage.computation + during.computation);
            row.since_communication_ns = clock.ns(usage.communication);
            row.since_copies_ns = clock.ns(usage.copies + during.copies);
            row.since_host_ns = clock.ns(usage.host + during.host);
            row.since_idle_ns = clock.ns(usage.idle + during.idle);
            previous_start = start;
            waits.push(occupancy.longest_host_wait(from, start));
            previous_end = previous_end.max(start + row.duration_ns * unit);
        }
    }
    for (row, activity) in rows.iter_mut().zip(host_activities(trace, &waits)) {
        row.host_activity = activity.map(|event| trace.name(event).into());
    }
}

/// When the launch of what starts then was done: a call that lasts beyond the start counts from its own start.
pub(crate) fn done_launch(events: &EventTable, launch: EventId, start: i64) -> i64 {
    Some(events.end(launch)).filter(|&done| done <= start).unwrap_or(events.start(launch))
}

/// Whether a warning says that the recording is cut off or damaged.
pub(crate) fn is_damage(warning: &Warning) -> bool {
    matches!(warning, Warning::Truncated { .. } | Warning::DamagedCompression { .. })
}

pub(crate) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Adds a figure, to the next integer, where it is known.
fn add(sum: &mut Option<i64>, figure: Option<f64>) {
    if let Some(figure) = figure {
        *sum = Some(sum.unwrap_or(0).saturating_add(figure.round() as i64));
    }
}

/// Hash of a text, the same on every machine.
fn hash(text: &str) -> i64 {
    twox_hash::XxHash64::oneshot(0, text.as_bytes()).cast_signed()
}

/// The name of a collective by that of its kernel, and what told it.
fn name_by_kernel<'a>(kernel: &str, patterns: &'a CommunicationPatterns) -> Option<(&'a str, &'static str)> {
    if let Some(name) = patterns.collective(kernel) {
        return Some((name, "pattern"));
    }
    let name = match CollectiveKind::from_name(kernel) {
        CollectiveKind::AllGather => "allgather",
        CollectiveKind::AllReduce => "allreduce",
        CollectiveKind::ReduceScatter => "reducescatter",
        CollectiveKind::AllToAll => "all_to_all",
        CollectiveKind::CollectivePermute => "collective_permute",
        CollectiveKind::Other => return None,
    };
    Some((name, "kernel name"))
}

/// The host's calls that describe collectives.
struct DescribedCalls {
    by_external_id: HashMap<i64, EventId>,
}

impl DescribedCalls {
    fn new(tree: &TraceTree) -> Self {
        let events = tree.trace().events();
        let described = events.arguments().collective.iter().map(|(row, _)| EventId(row as u32));
        let by_external_id = described
            .filter(|&event| !events.category(event).is_device())
            .filter_map(|event| Some((events.operator_id(event)?, event)))
            .collect();
        DescribedCalls { by_external_id }
    }

    /// What is known of the collective of a kernel, from where, and the host's call.
    fn of(&self, tree: &TraceTree, kernel: EventId) -> (Collective, Option<&'static str>, Option<EventId>) {
        let events = tree.trace().events();
        let recorded_collective = |event: EventId| events.arguments().collective.get(event.index());
        let same_id = events.operator_id(kernel).and_then(|id| self.by_external_id.get(&id)).copied();
        let above = || {
            let launch = tree.launch(kernel)?;
            tree.ancestors(launch).find(|&event| recorded_collective(event).is_some())
        };
        let call = same_id.or_else(above);
        let own = recorded_collective(kernel).filter(|own| own.name.is_some() || own.group_name.is_some());
        match (own, call.and_then(recorded_collective)) {
            // Newer recorders number the collective on the call alone.
            (Some(own), call_collective) => {
                let sequence = own.sequence.or_else(|| call_collective?.sequence);
                (Collective { sequence, ..own }, Some("kernel"), call)
            }
            (None, Some(call_collective)) => (call_collective, Some("operator"), call),
            (None, None) => (Collective::default(), None, call),
        }
    }
}

/// Kernels by step, name, what they do, and stream.
#[derive(Default)]
pub(crate) struct KernelRows(HashMap<(Option<i64>, StringId, Activity, Option<i64>), KernelRow>);

impl KernelRows {
    /// Adds a kernel with its duration in nanoseconds; `text` spells its name.
    pub(crate) fn add(
        &mut self,
        key: (Option<i64>, StringId, Activity, Option<i64>),
        duration: i64,
        text: impl FnOnce(StringId) -> Option<Text>,
    ) {
        let row = self.0.entry(key).or_insert_with(|| KernelRow {
            step: key.0,
            name: text(key.1),
            activity: Some(key.2.as_str().into()),
            stream: key.3,
            min_ns: duration,
            ..KernelRow::default()
        });
        row.count += 1;
        row.sum_ns += duration;
        row.min_ns = row.min_ns.min(duration);
        row.max_ns = row.max_ns.max(duration);
    }

    pub(crate) fn sorted(self) -> Vec<KernelRow> {
        let mut rows: Vec<KernelRow> = self.0.into_values().collect();
        rows.sort_few_by(|a, b| {
            (a.step, &a.name, &a.activity, a.stream).cmp(&(b.step, &b.name, &b.activity, b.stream))
        });
        rows
    }
}

/// What tells groups apart in a recording: name, list of ranks, size.
type GroupIdentity = (Option<StringId>, Option<StringId>, Option<i64>);

/// The groups of a recording, by what it says of them.
#[derive(Default)]
struct Groups {
    known: HashMap<GroupIdentity, u32>,
    in_order: Vec<Collective>,
}

impl Groups {
    fn index(&mut self, collective: &Collective) -> u32 {
        let key = (collective.group_name, collective.group_ranks, collective.group_size);
        *self.known.entry(key).or_insert_with(|| {
            self.in_order.push(*collective);
            self.in_order.len() as u32 - 1
        })
    }

    fn rows(self, map: &Map<'_>) -> Vec<GroupRow> {
        let row = |(group, collective): (u32, Collective)| {
            let name = map.text(collective.group_name);
            let ranks_text = map.text(collective.group_ranks);
            let (members, whole) = members(map.trace, &collective, name.as_deref(), ranks_text.as_deref());
            let text = members.to_string();
            let members = (!members.is_empty()).then(|| Text::from(text));
            GroupRow {
                group,
                key: group_key(name.as_deref(), members.as_deref(), collective.group_size),
                description: map.text(collective.group_description),
                ranks_text,
                size: collective.group_size,
                members_partial: i64::from(!whole),
                members,
                name,
                collectives: 0,
            }
        };
        (0..).zip(self.in_order).map(row).collect()
    }
}

/// What identifies a group in a job.
pub(crate) fn group_key(name: Option<&str>, members: Option<&str>, size: Option<i64>) -> i64 {
    let size = size.map_or_else(String::new, |size| size.to_string());
    hash(&[name.unwrap_or_default(), members.unwrap_or_default(), &size].join("\n"))
}

/// The ranks of a group, and whether they are all: by the recording's list of groups, which is whole; by the list at
/// the collective, unless it is cut; by first rank, stride and size; else as many as the cut list has.
fn members(
    trace: &Trace,
    collective: &Collective,
    name: Option<&str>,
    ranks_text: Option<&str>,
) -> (Members, bool) {
    let groups = trace.facts().distributed.iter().flat_map(|distributed| &distributed.process_groups);
    let mut same_name = groups.filter(|group| name.is_some() && group.name.as_deref() == name);
    let listed = same_name.find(|group| {
        !group.ranks.is_empty() && collective.group_size.is_none_or(|size| size == count(group.ranks.len()))
    });
    if let Some(group) = listed {
        return (Members::new(group.ranks.iter().filter_map(|&rank| u32::try_from(rank).ok())), true);
    }
    let text_members = ranks_text.and_then(Members::from_list);
    if let Some((members, true)) = &text_members {
        return (members.clone(), true);
    }
    let regular = || {
        let (start, stride) = (collective.global_rank_start?, collective.global_rank_stride?);
        Members::regular(start, stride, collective.group_size?)
    };
    match (regular(), text_members) {
        (Some(members), _) => (members, true),
        (None, Some((members, _))) => (members, false),
        (None, None) => (Members::default(), false),
    }
}

/// What the host did in waits of the device: of the events that fill more than half of a wait the shortest, on any
/// thread. Marks of iterations, which fill everything, tell nothing.
fn host_activities(trace: &Trace, waits: &[Option<HostWait>]) -> Vec<Option<EventId>> {
    const TELLING: [Category; 3] = [Category::CPU_OP, Category::USER_ANNOTATION, Category::PYTHON_FUNCTION];
    let events = trace.events();
    let middle = |wait: &HostWait| wait.start + (wait.end - wait.start) / 2;
    let mut by_middle: Vec<(usize, HostWait)> =
        waits.iter().enumerate().filter_map(|(at, wait)| Some((at, (*wait)?))).collect();
    by_middle.sort_by_key(|(_, wait)| middle(wait));
    let middles: Vec<i64> = by_middle.iter().map(|(_, wait)| middle(wait)).collect();
    let mut found: Vec<Option<EventId>> = vec![None; waits.len()];
    let key = |event: EventId| (events.duration(event), event);
    // The first middle that is not before the event. Files are nearly in the order of time, so it is often that of the
    // event before.
    let mut first = 0;
    for event in events.ids() {
        let (start, end) = (events.start(event), events.end(event));
        let is_before = |at: usize| middles.get(at).is_some_and(|&middle| middle < start);
        if is_before(first) || !first.checked_sub(1).is_none_or(is_before) {
            first = middles.partition_point(|&middle| middle < start);
        }
        // What fills more than half of a wait lasts in the middle of it, which few events do.
        if middles.get(first).is_none_or(|&middle| middle >= end)
            || !(TELLING.contains(&events.category(event)) || events.category(event).is_launch_api())
            || trace.name(event).starts_with("ProfilerStep#")
        {
            continue;
        }
        let within =
            by_middle[first..].iter().zip(&middles[first..]).take_while(|(_, middle)| **middle < end);
        for ((at, wait), _) in within {
            let part = end.min(wait.end) - start.max(wait.start);
            if 2 * part > wait.end - wait.start
                && found[*at].is_none_or(|shortest| key(event) < key(shortest))
            {
                found[*at] = Some(event);
            }
        }
    }
    found
}
