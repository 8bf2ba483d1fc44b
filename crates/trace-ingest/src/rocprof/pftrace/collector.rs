//! Slices, wherever they come from, as records of a profile.

use std::path::Path;

use hashbrown::HashMap;

use super::arguments::{Arguments, Key};
use super::slice::{Class, Lane, Slice, is_descriptor, kernel_of_name, times};
use crate::error::IngestError;
use crate::index_set::IndexSet;
use crate::json::number::LATEST;
use crate::rocprof::builder::{Place, ProfileBuilder};
use crate::rocprof::profile::{
    Agent, AgentKind, CopyDirection, Domain, Kernel, Launch, Process, Profile, SourceFormat,
};
use crate::string_table::StringId;
use crate::time::Nanoseconds;
use crate::warning::{RecordFault, Warning};

/// Stands for a thread or stream that the slice does not tell, until its row tells it.
const THREAD_OF_LANE: i64 = i64::MIN;
const STREAM_OF_LANE: u64 = u64::MAX;

/// How many foreign categories an error names.
const NAMED_CATEGORIES: usize = 4;

/// What became of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A record whose end is known, or nothing that a profile keeps.
    Done,
    /// A record whose end is still to come.
    Open(RecordId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordId {
    Dispatch(usize),
    Copy(usize),
    Allocation(usize),
    Scratch(usize),
    Call(usize),
}

/// A kernel as slices describe it: its row stands for its process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct SliceKernel {
    lane: u32,
    id: Option<u64>,
    name: StringId,
    symbol: Option<StringId>,
}

/// Makes records of slices.
#[derive(Default)]
pub(super) struct Collector {
    builder: ProfileBuilder,
    classes: HashMap<StringId, Class>,
    descriptors: HashMap<StringId, bool>,
    kernels: IndexSet<SliceKernel>,
    /// Agents by number, so that `2`, `Agent 2` and `Agent-2` are one.
    numbered_agents: HashMap<i64, u32>,
    /// Slices of categories that the profiler has.
    recognised: u64,
    foreign: Vec<StringId>,
    without_time: u64,
    unclosed: u64,
}

impl Collector {
    pub(super) fn intern(&mut self, text: &str) -> StringId {
        self.builder.profile.strings.intern(text)
    }

    /// The id of a text that may not be UTF-8.
    pub(super) fn intern_bytes(&mut self, text: &[u8]) -> StringId {
        self.builder.intern_bytes(text)
    }

    pub(super) fn text(&self, id: StringId) -> &str {
        self.builder.profile.strings.get(id)
    }

    /// Counts a text that was not UTF-8.
    pub(super) fn count_invalid_utf8(&mut self) {
        self.builder.invalid_utf8 += 1;
    }

    /// Counts a record whose end never comes.
    pub(super) fn count_unclosed(&mut self) {
        self.unclosed += 1;
    }

    /// Adds a warning, if it counts anything.
    pub(super) fn warn(&mut self, count: u64, warning: Warning) {
        if count > 0 {
            self.builder.profile.warnings.push(warning);
        }
    }

    pub(super) fn slice(&mut self, slice: &Slice<'_>) -> Outcome {
        let Some(class) = self.class(slice) else { return Outcome::Done };
        let Some((start, end)) = times(slice) else {
            self.without_time += 1;
            return Outcome::Done;
        };
        let arguments = slice.arguments;
        let place = Place {
            start,
            end: end.unwrap_or(start),
            correlation: arguments.integer(Key::Correlation),
            thread: arguments.integer(Key::Thread).unwrap_or(THREAD_OF_LANE),
            queue: arguments.integer(Key::Queue).unwrap_or(0),
            stream: arguments.integer(Key::Stream).unwrap_or(STREAM_OF_LANE),
            process: slice.lane,
        };
        let profile = &self.builder.profile;
        let record = match class {
            Class::Copy => RecordId::Copy(profile.copies.len()),
            Class::Allocation => RecordId::Allocation(profile.allocations.len()),
            Class::Scratch => RecordId::Scratch(profile.scratch.len()),
            Class::Call(_) => RecordId::Call(profile.calls.len()),
            Class::Dispatch | Class::Foreign => RecordId::Dispatch(profile.dispatches.len()),
        };
        match class {
            Class::Copy => self.copy(slice, place),
            Class::Allocation => {
                let agent = self.agent(arguments, Key::Agent, AgentKind::Unknown);
                let address = arguments.integer(Key::Address).unwrap_or(0);
                let bytes = arguments.integer(Key::AllocationSize).unwrap_or(0);
                self.builder.allocation(place, slice.name, agent, address, bytes);
            }
            Class::Scratch => {
                let agent = self.agent(arguments, Key::Agent, AgentKind::Gpu);
                self.builder.scratch(place, slice.name, agent, arguments.integer(Key::AllocationSize));
            }
            Class::Call(domain) => {
                let stream = arguments.integer(Key::Stream).unwrap_or(0);
                let operation = arguments.integer(Key::Operation).unwrap_or(0);
                self.builder.call(Place { stream, ..place }, domain, slice.category, slice.name, operation);
            }
            Class::Dispatch | Class::Foreign => self.dispatch(slice, place),
        }
        if end.is_some() { Outcome::Done } else { Outcome::Open(record) }
    }

    /// Sets the end of a record.
    pub(super) fn close(&mut self, record: RecordId, end: i64) {
        let profile = &mut self.builder.profile;
        let (start, place) = match record {
            RecordId::Dispatch(at) => {
                let dispatch = &mut profile.dispatches[at];
                (dispatch.start, &mut dispatch.end)
            }
            RecordId::Copy(at) => {
                let copy = &mut profile.copies[at];
                (copy.start, &mut copy.end)
            }
            RecordId::Allocation(at) => {
                let allocation = &mut profile.allocations[at];
                (allocation.start, &mut allocation.end)
            }
            RecordId::Scratch(at) => {
                let scratch = &mut profile.scratch[at];
                (scratch.start, &mut scratch.end)
            }
            RecordId::Call(at) => {
                let call = &mut profile.calls[at];
                (call.start, &mut call.end)
            }
        };
        *place = Nanoseconds(end).clamp(start, Nanoseconds(LATEST));
    }

    /// What a slice is; `None` for what is no record of the profiler.
    fn class(&mut self, slice: &Slice<'_>) -> Option<Class> {
        let strings = &self.builder.profile.strings;
        let class = *self
            .classes
            .entry(slice.category)
            .or_insert_with(|| Class::from_category(strings.get(slice.category)));
        // A kernel is known by its agent or its name in whatever category it is.
        let kernel = || slice.arguments.text(Key::Agent).is_some();
        let class = match class {
            Class::Call(_) | Class::Foreign if kernel() => Class::Dispatch,
            Class::Call(Domain::Marker) => class,
            Class::Call(_) | Class::Foreign => {
                let descriptor = self
                    .descriptors
                    .entry(slice.name)
                    .or_insert_with(|| is_descriptor(strings.get(slice.name)));
                if *descriptor { Class::Dispatch } else { class }
            }
            class => class,
        };
        if class != Class::Foreign {
            self.recognised += 1;
            return Some(class);
        }
        if self.foreign.len() < NAMED_CATEGORIES && !self.foreign.contains(&slice.category) {
            self.foreign.push(slice.category);
        }
        // Programs may put slices of their own into the profiler's trace.
        (slice.category != StringId::EMPTY).then_some(Class::Call(Domain::Other))
    }
}

impl Collector {
    fn dispatch(&mut self, slice: &Slice<'_>, place: Place) {
        let arguments = slice.arguments;
        let agent = self.agent(arguments, Key::Agent, AgentKind::Gpu);
        let symbol = arguments.text(Key::Symbol).map(|symbol| self.builder.profile.strings.intern(&symbol));
        let id = arguments.integer(Key::KernelId);
        let kernel = self.kernels.insert(SliceKernel { lane: slice.lane, id, name: slice.name, symbol }).0;
        let launch = self.builder.launch(Launch {
            grid: [arguments.size(Key::GridSize), 1, 1],
            workgroup: [arguments.size(Key::WorkgroupSize), 1, 1],
            products_only: true,
            private_segment: arguments.size(Key::PrivateSegment),
            group_segment: arguments.size(Key::GroupSegment),
            vgprs: arguments.size(Key::Vgprs),
            accum_vgprs: arguments.size(Key::AccumVgprs),
            sgprs: arguments.size(Key::Sgprs),
        });
        let number = arguments.integer(Key::DispatchId).unwrap_or(0);
        self.builder.dispatch(place, number, agent, kernel as u32, launch);
    }

    fn copy(&mut self, slice: &Slice<'_>, place: Place) {
        let arguments = slice.arguments;
        let direction = CopyDirection::from_name(self.text(slice.name));
        let [from, to] = direction.agent_kinds();
        let source = self.agent(arguments, Key::SourceAgent, from);
        let destination = self.agent(arguments, Key::DestinationAgent, to);
        let bytes = arguments.integer(Key::CopyBytes);
        self.builder.copy(place, slice.name, direction, bytes, [source, destination]);
    }

    fn agent(&mut self, arguments: &Arguments<'_>, key: Key, kind: AgentKind) -> Option<u32> {
        let device: Option<i64> = (key == Key::Agent).then(|| arguments.integer(Key::Device)).flatten();
        let label = arguments.text(key).or_else(|| device.map(|device| device.to_string().into()))?;
        let node = node_number(&label);
        let position = match node.and_then(|node| self.numbered_agents.get(&node)) {
            Some(&position) => position,
            None => self.builder.agent(&label, || Agent {
                label: label.to_string(),
                logical_node_id: node,
                ..Agent::default()
            }),
        };
        if let Some(node) = node {
            self.numbered_agents.entry(node).or_insert(position);
        }
        let agent = &mut self.builder.profile.agents[position as usize];
        // What dispatches call an agent is its name.
        if key == Key::Agent && agent.label != *label {
            agent.label = label.to_string();
        }
        if agent.kind == AgentKind::Unknown {
            agent.kind = kind;
        }
        agent.ordinal = agent.ordinal.or(device);
        Some(position)
    }
}

/// Fields of a record that its row may give.
struct LaneFields<'r> {
    /// Until the end the row.
    process: &'r mut u32,
    thread: Option<&'r mut i64>,
    stream: Option<&'r mut u64>,
}

fn lane_fields(profile: &mut Profile) -> impl Iterator<Item = LaneFields<'_>> {
    let Profile { dispatches, copies, calls, allocations, scratch, .. } = profile;
    let fields = |process, thread, stream| LaneFields { process, thread, stream };
    let dispatches = dispatches.iter_mut();
    let dispatches = dispatches
        .map(move |record| fields(&mut record.process, Some(&mut record.thread), Some(&mut record.stream)));
    let copies = copies.iter_mut();
    let copies = copies
        .map(move |record| fields(&mut record.process, Some(&mut record.thread), Some(&mut record.stream)));
    let calls = calls.iter_mut();
    let calls = calls.map(move |record| fields(&mut record.process, Some(&mut record.thread), None));
    let allocations = allocations.iter_mut().map(move |record| fields(&mut record.process, None, None));
    let scratch = scratch.iter_mut().map(move |record| fields(&mut record.process, None, None));
    dispatches.chain(copies).chain(calls).chain(allocations).chain(scratch)
}

/// The number of a node by which an agent is called: `2`, `Agent 2`, `Agent-2`.
fn node_number(label: &str) -> Option<i64> {
    let digits = label.strip_prefix("Agent").map_or(label, |rest| rest.trim_start_matches([' ', '-', '_']));
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

impl Collector {
    /// The profile, once every slice was taken. `lanes` are the rows that slices referred to.
    ///
    /// # Errors
    /// When there are slices and none is the profiler's.
    pub(super) fn finish(
        mut self,
        path: &Path,
        source: SourceFormat,
        lanes: &[Lane],
    ) -> Result<Profile, IngestError> {
        if self.recognised == 0 && !self.foreign.is_empty() {
            let categories: Vec<String> =
                self.foreign.iter().map(|&category| format!("{:?}", self.text(category))).collect();
            let (path, found) = (path.to_path_buf(), categories.join(", "));
            return Err(match source {
                SourceFormat::Pftrace => IngestError::OtherPerfetto { path, found },
                _ => IngestError::NotRocprof {
                    path,
                    missing:
                        "no slice of kernel_dispatch, memory_copy, hip_api or another rocprofv3 category"
                            .to_string(),
                    found: format!(
                        "a trace from another program, with slices of {found} (view it at https://ui.perfetto.dev)"
                    ),
                },
            });
        }
        let detail = "no usable time".to_string();
        self.warn(
            self.without_time,
            Warning::MalformedRecords { list: "slices".to_string(), count: self.without_time, detail },
        );
        self.warn(
            self.unclosed,
            Warning::Records { fault: RecordFault::UnclosedSlice, count: self.unclosed },
        );

        let processes = self.place_processes(lanes);
        self.name_kernels(&processes);
        let lane = |lane: u32| lanes.get(lane as usize).copied().unwrap_or_default();
        let process = |lane: u32| processes.get(lane as usize).copied().unwrap_or(0);
        let thread = |thread: i64, own: u32| match thread {
            THREAD_OF_LANE => lane(own).tid.unwrap_or(0),
            thread => thread,
        };
        let stream = |stream: u64, own: u32| match stream {
            STREAM_OF_LANE => lane(own).stream.unwrap_or(0),
            stream => stream,
        };
        let profile = &mut self.builder.profile;
        profile.source = source;
        for row in lane_fields(profile) {
            let own = *row.process;
            if let Some(recorded_lane) = row.thread {
                *recorded_lane = thread(*recorded_lane, own);
            }
            if let Some(recorded_lane) = row.stream {
                *recorded_lane = stream(*recorded_lane, own);
            }
            *row.process = process(own);
        }
        Ok(self.builder.finish())
    }

    /// Adds the processes of the rows that records lie on; the position of each row's process.
    fn place_processes(&mut self, lanes: &[Lane]) -> Vec<u32> {
        let profile = &mut self.builder.profile;
        let mut used = vec![false; lanes.len()];
        for row in lane_fields(profile) {
            if let Some(used) = used.get_mut(*row.process as usize) {
                *used = true;
            }
        }
        let mut positions = HashMap::new();
        let mut processes = Vec::with_capacity(lanes.len());
        for (lane, used) in lanes.iter().zip(used) {
            processes.push(if used {
                *positions.entry(lane.pid).or_insert_with(|| {
                    profile.processes.push(Process { pid: lane.pid, ..Process::default() });
                    profile.processes.len() as u32 - 1
                })
            } else {
                0
            });
        }
        if profile.processes.is_empty() {
            profile.processes.push(Process::default());
        }
        processes
    }

    /// Adds the kernels of the dispatches.
    fn name_kernels(&mut self, processes: &[u32]) {
        let positions: Vec<u32> = std::mem::take(&mut self.kernels)
            .into_iter()
            .map(|seen| {
                let process = processes.get(seen.lane as usize).copied().unwrap_or(0);
                let names = kernel_of_name(&mut self.builder, seen.name, seen.symbol);
                self.builder.named_kernel(Kernel { process, id: seen.id, ..names })
            })
            .collect();
        for dispatch in &mut self.builder.profile.dispatches {
            dispatch.kernel = positions[dispatch.kernel as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_of_one_number_are_one() {
        for (label, number) in [
            ("2", Some(2)),
            ("Agent 2", Some(2)),
            ("Agent-12", Some(12)),
            ("GPU-0", None),
            ("Agent", None),
            ("", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(node_number(label), number, "{label:?}");
        }
    }
}
