//! The tables of the ranks of a host, from the analysis of its XPlane profile: each GPU that did something is a rank.
//!
//! A collective has no number in a profile. What identifies it is its instruction and the number of the execution on its
//! host, which [`xla_perf::collectives`] counts for all devices of the host together.

use std::collections::BTreeMap;
use std::path::Path;

use gpu_timeline::{Activity, Breakdown, DeviceEvent, Interval, IntervalSet};
use hashbrown::HashMap;
use iterations::{Level, Part};
use operator_sheets::Iterated;
use perf_models::CollectiveKind;
use trace_ingest::EventId;
use trace_ingest::xplane::Profile;
use xla_perf::collectives::{
    CollectiveOperation, Devices, ExchangeGroups, ExecutedKernel, ProgramCollective,
};
use xla_perf::{Gpu, GpuEvent, JaxAnalysis, Operator};

use crate::map::{Clock, KernelRows, count, done_launch, fill_preceding_activity, group_key, is_damage};
use crate::members::Members;
use crate::occupancy::LaunchedSpan;
use crate::rows::Text;
use crate::source::host_of_path;
use crate::tables::{
    CollectiveRow, GroupRow, KernelRow, OpRow, RankRow, RankTables, StepRow, counted_sequence,
};

/// The place of a host in its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostOfJob {
    /// What identifies the host in the job.
    pub name: String,
    /// Rank of its first GPU; the others follow in the order of their numbers.
    pub first_rank: u32,
    /// Ranks of the job.
    pub world_size: u32,
}

/// Names of the hosts of profiles, by the paths of these and the names that they record: the recorded name, else that of a
/// folder `node…` or `host…`, else that of the file. Where files in several folders have one name and record none, the path
/// is the name.
#[must_use]
pub fn host_names(profiles: &[(&Path, Option<String>)]) -> Vec<String> {
    let file_stem = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.split(".xplane").next().unwrap_or_default().to_owned()
    };
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    for (path, _) in profiles {
        *files.entry(file_stem(path)).or_default() += 1;
    }
    let name = |(path, recorded): &(&Path, Option<String>)| {
        let stem = file_stem(path);
        let by_path = || match files.get(&stem) {
            Some(1) => stem.clone(),
            _ => path.display().to_string(),
        };
        recorded.clone().or_else(|| host_of_path(path)).unwrap_or_else(by_path)
    };
    profiles.iter().map(name).collect()
}

/// Name of the host that a profile records, if it is of one.
#[must_use]
pub fn recorded_host(profile: &Profile) -> Option<String> {
    match profile.hostnames.as_slice() {
        [name] if !name.is_empty() => Some(name.clone()),
        _ => None,
    }
}

/// Makes the tables of the ranks of a host: of each GPU of [`JaxAnalysis::gpus`], with the id of its plane.
///
/// Numbers that programs give to devices are taken to be ranks. A collective whose program the profile does not embed, or
/// whose groups do not name the rank, is of no group and has no sequence number.
#[must_use]
pub fn rank_tables_of_host(analysis: &JaxAnalysis, host: &HostOfJob) -> Vec<(i64, RankTables)> {
    let map = HostMap::new(analysis, host);
    let gpus = analysis.gpus().iter().zip(host.first_rank..).enumerate();
    gpus.map(|(position, (gpu, rank))| (gpu.pid - 1, map.tables(position, gpu, rank))).collect()
}

/// What the tables of all GPUs of a profile are made from.
struct HostMap<'a> {
    analysis: &'a JaxAnalysis,
    host: &'a HostOfJob,
    clock: Clock<'a>,
    /// By collective the groups of ranks.
    groups: Vec<Vec<Members>>,
    /// By GPU the kernels of its collectives.
    kernels: Vec<Vec<ExecutedKernel>>,
    /// By GPU what ran on it.
    device: Vec<Vec<Work<'a>>>,
}

/// An event of a GPU. Kernels of collectives communicate, also those that only their instruction tells.
struct Work<'a> {
    event: &'a GpuEvent,
    activity: Activity,
}

impl Work<'_> {
    /// Index of the step that launched it.
    fn step(&self) -> Option<usize> {
        match self.event.part {
            Some(Part::Iteration(step)) => Some(step),
            _ => None,
        }
    }
}

impl<'a> HostMap<'a> {
    fn new(analysis: &'a JaxAnalysis, host: &'a HostOfJob) -> Self {
        let collectives = analysis.collectives();
        let devices = Devices {
            per_node: count_ranks(analysis.gpus().len()),
            total: host.world_size as usize,
            shown: (0..u64::from(host.world_size)).collect(),
        };
        let groups = collectives.operations.iter().map(|operation| groups(operation, &devices)).collect();
        let gpus = analysis.gpus().len();
        let mut kernels = vec![Vec::new(); gpus];
        let mut communicates = vec![false; analysis.device_events().len()];
        for kernel in &collectives.kernels {
            kernels[analysis.device_events()[kernel.device_event].gpu].push(*kernel);
            communicates[kernel.device_event] = true;
        }
        let mut device: Vec<Vec<Work<'_>>> = (0..gpus).map(|_| Vec::new()).collect();
        for (event, communicates) in analysis.device_events().iter().zip(communicates) {
            let activity = if communicates { Activity::Communication } else { event.activity };
            device[event.gpu].push(Work { event, activity });
        }
        HostMap { analysis, host, clock: Clock(analysis.trace()), groups, kernels, device }
    }

    fn tables(&self, position: usize, gpu: &Gpu, rank: u32) -> RankTables {
        let (groups, collectives) = self.collectives(position, rank);
        let steps = self.steps(position);
        RankTables {
            rank: self.rank(position, gpu, rank, collectives.len(), steps.len()),
            groups,
            collectives,
            steps,
            kernels: self.kernel_rows(position),
            ops: self.ops(position),
            findings: Vec::new(),
            waits: None,
            events: None,
        }
    }

    fn rank(&self, position: usize, gpu: &Gpu, rank: u32, collectives: usize, steps: usize) -> RankRow {
        let (profile, trace) = (self.analysis.profile(), self.analysis.trace());
        let time = Breakdown::from_events(self.device[position].iter().map(|work| self.timeline(work)), None);
        let time = time.unwrap_or_default();
        let plane = &profile.planes[gpu.plane];
        let device_name = plane.stat("gpu_device_name").and_then(|name| name.as_str());
        let (window_start_ns, window_end_ns) = self.clock.window();
        RankRow {
            rank: Some(i64::from(rank)),
            rank_source: Some("order of hosts".into()),
            world_size: Some(i64::from(self.host.world_size)),
            host: Some(self.host.name.as_str().into()),
            device: Some(plane.id),
            device_name: device_name
                .or_else(|| Some(self.analysis.architecture()?.name.as_str()))
                .map(Text::from),
            visible_devices: count(self.analysis.gpus().len()),
            backend: None,
            base_time_ns: trace.facts().base_time_nanoseconds.unwrap_or(0),
            window_start_ns,
            window_end_ns,
            busy_ns: self.clock.ns(time.busy),
            computation_ns: self.clock.ns(time.computation),
            communication_ns: self.clock.ns(time.total_communication),
            exposed_communication_ns: self.clock.ns(time.exposed_communication),
            exposed_copies_ns: self.clock.ns(time.exposed_memcpy),
            idle_ns: self.clock.ns(time.idle),
            step_kind: self.level().map(|level| level.kind.as_str().into()),
            steps: count(steps),
            collectives: count(collectives),
            warnings: count(trace.warnings().len() + profile.errors.len() + profile.notes.len()),
            damaged: i64::from(trace.warnings().iter().any(is_damage)),
        }
    }

    fn level(&self) -> Option<&'a Level> {
        self.analysis.iterations()?.detected().steps()
    }

    fn timeline(&self, work: &Work<'_>) -> DeviceEvent {
        DeviceEvent { activity: work.activity, ..work.event.device_event(self.clock.0) }
    }

    fn steps(&self, position: usize) -> Vec<StepRow> {
        let Some(level) = self.level() else { return Vec::new() };
        let device = &self.device[position];
        let in_parts =
            device.iter().map(|work| (self.timeline(work), work.event.part.unwrap_or(Part::Before)));
        let times: HashMap<Part, Breakdown> =
            Breakdown::by_part(in_parts, None, &IntervalSet::EMPTY).into_iter().collect();
        let mut kernels = vec![0_usize; level.iterations.len()];
        for step in device.iter().filter(|work| work.event.category.is_some()).filter_map(Work::step) {
            kernels[step] += 1;
        }
        let steps = level.iterations.iter().enumerate();
        steps
            .map(|(step, iteration)| {
                let time = times.get(&Part::Iteration(step)).copied().unwrap_or_default();
                StepRow {
                    step: count(step),
                    number: iteration.number,
                    start_ns: self.clock.moment(iteration.start),
                    end_ns: self.clock.moment(iteration.end),
                    device_ns: self.clock.ns(time.total),
                    computation_ns: self.clock.ns(time.computation),
                    exposed_communication_ns: self.clock.ns(time.exposed_communication),
                    exposed_copies_ns: self.clock.ns(time.exposed_memcpy),
                    idle_ns: self.clock.ns(time.idle),
                    kernels: count(kernels[step]),
                    whole: i64::from(iteration.whole),
                }
            })
            .collect()
    }

    fn kernel_rows(&self, position: usize) -> Vec<KernelRow> {
        let mut rows = KernelRows::default();
        let trace = self.analysis.trace();
        for work in &self.device[position] {
            let GpuEvent { event, stream, .. } = *work.event;
            let duration = self.clock.ns(trace.events().duration(event));
            let key = (work.step().map(count), trace.events().name(event), work.activity, Some(stream));
            rows.add(key, duration, |name| Some(trace.text(name).into()));
        }
        rows.sorted()
    }

    /// Instructions by name and kind of work. The host calls programs, and none of them on its own.
    fn ops(&self, position: usize) -> Vec<OpRow> {
        let analysis = self.analysis;
        let is_on_gpu = |kernels: &[usize]| {
            kernels.first().is_some_and(|&first| analysis.device_events()[first].gpu == position)
        };
        let mut rows: BTreeMap<(&str, &str), OpRow> = BTreeMap::new();
        for call in analysis.calls().iter().filter(|call| is_on_gpu(&call.kernels)) {
            let Operator { name, category, .. } = &analysis.operators()[call.operator];
            let row = rows.entry((name, category.as_str())).or_insert_with(|| OpRow {
                name: Some(name.as_str().into()),
                category: Some(category.as_str().into()),
                ..OpRow::default()
            });
            row.calls += 1;
            row.kernels += count(call.kernels.len());
            row.device_ns += self.clock.ns(call.time.0);
        }
        rows.into_values().collect()
    }

    /// Groups and the kernels of their collectives.
    fn collectives(&self, position: usize, rank: u32) -> (Vec<GroupRow>, Vec<CollectiveRow>) {
        let collectives = self.analysis.collectives();
        let mut groups: Vec<GroupRow> = Vec::new();
        let mut rows: Vec<CollectiveRow> = Vec::new();
        for (ordinal, kernel) in (0_u32..).zip(&self.kernels[position]) {
            let operation = &collectives.operations[kernel.operation];
            let program = &collectives.programs[kernel.operation];
            let members = self.groups[kernel.operation].iter().find(|group| group.contains(rank));
            let group = self.group(&mut groups, operation, members);
            let sequence = members.map(|_| sequence(program, operation, kernel.execution));
            let event = &self.analysis.device_events()[kernel.device_event];
            let row = self.collective(&Work { event, activity: Activity::Communication }, operation);
            rows.push(CollectiveRow { group, ordinal, sequence, ..row });
        }
        rows.sort_by_key(|row| (row.group, row.start_ns, row.ordinal));
        for row in &rows {
            groups[row.group as usize].collectives += 1;
        }
        let spans = self.device[position].iter().map(|work| self.span(work)).collect();
        fill_preceding_activity(&mut rows, spans, self.clock);
        (groups, rows)
    }

    /// Index of the group with these members.
    fn group(
        &self,
        groups: &mut Vec<GroupRow>,
        operation: &CollectiveOperation,
        members: Option<&Members>,
    ) -> u32 {
        let name = members.map(ToString::to_string);
        if let Some(known) = groups.iter().find(|group| group.name.as_deref() == name.as_deref()) {
            return known.group;
        }
        let size = members.map(|members| count(members.len()));
        let group = groups.len() as u32;
        groups.push(GroupRow {
            group,
            key: group_key(name.as_deref(), name.as_deref(), size),
            ranks_text: members.and(operation.groups.as_ref()).map(|groups| groups.to_string().into()),
            size,
            members: name.as_deref().map(Text::from),
            members_partial: i64::from(members.is_none()),
            name: name.map(Text::from),
            ..GroupRow::default()
        });
        group
    }

    /// A kernel of a collective, without its group and its numbers.
    fn collective(&self, work: &Work<'_>, operation: &CollectiveOperation) -> CollectiveRow {
        let (event, trace) = (work.event, self.analysis.trace());
        let events = trace.events();
        let is_read = operation.groups.is_some();
        let figure = |figure: u64| is_read.then(|| i64::try_from(figure).unwrap_or(i64::MAX));
        let mut types: Vec<String> =
            operation.inputs.iter().map(|array| array.element_type.to_string()).collect();
        types.dedup();
        // The opcode of what is of no kind stands before the number in the name.
        let opcode = operation.name.split('.').next().filter(|_| is_read);
        let name = Some(operation.kind).filter(|kind| *kind != CollectiveKind::Other);
        CollectiveRow {
            name: name.map(CollectiveKind::name).or(opcode).map(Text::from),
            dtype: (!types.is_empty()).then(|| types.join(", ").into()),
            in_elements: figure(operation.input_elements()),
            out_elements: figure(operation.output_elements()),
            in_bytes: figure(operation.input_bytes()),
            out_bytes: figure(operation.output_bytes()),
            stream: Some(event.stream),
            start_ns: self.clock.moment(events.start(event.event)),
            duration_ns: self.clock.ns(events.duration(event.event)),
            launch_ns: event.launch.map(|launch| self.clock.moment(events.start(launch))),
            step: work.step().map(count),
            described_by: Some(if is_read { "instruction" } else { "kernel name" }.into()),
            ..CollectiveRow::default()
        }
    }

    fn span(&self, work: &Work<'_>) -> LaunchedSpan {
        let DeviceEvent { span: Interval { start, end }, activity, .. } = self.timeline(work);
        let done = |launch: EventId| done_launch(self.clock.0.events(), launch, start);
        LaunchedSpan { start, end, activity, launch: work.event.launch.map(done) }
    }
}

fn count_ranks(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The groups of a collective. The pairs of a permute make one group: a device sends to one and receives from another.
fn groups(operation: &CollectiveOperation, devices: &Devices) -> Vec<Members> {
    let Some(groups) = &operation.groups else { return Vec::new() };
    let ranks = |group: &Vec<u64>| Members::new(group.iter().filter_map(|&rank| u32::try_from(rank).ok()));
    let resolved = groups.resolve(devices);
    match groups {
        ExchangeGroups::Replicas(_) => resolved.iter().map(ranks).collect(),
        ExchangeGroups::Pairs(_) => vec![ranks(&resolved.concat())],
    }
}

/// What identifies an execution of a collective in its group, on all ranks whose profiles begin at the same step: its
/// instruction and its number.
fn sequence(program: &ProgramCollective, operation: &CollectiveOperation, execution: usize) -> i64 {
    let id = program.program.filter(|_| program.is_one_of_several);
    let id = id.map_or_else(String::new, |id| id.to_string());
    let text = [&program.module, &id, &operation.name].map(String::as_str).join("\n");
    let instruction = twox_hash::XxHash64::oneshot(0, text.as_bytes());
    counted_sequence(instruction, execution as u64)
}
