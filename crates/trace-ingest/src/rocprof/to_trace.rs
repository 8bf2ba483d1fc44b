//! A profile as a [`Trace`], for every analysis that is not this profiler's alone, and the part of a profile that such
//! an analysis chose.

use std::ops::Range;

use hashbrown::HashSet;

use super::profile::{Agent, AgentKind, Call, Dispatch, Domain, KernelNames, Launch, MemoryCopy, Profile};
use crate::category::Category;
use crate::event_table::{EventId, LaunchGeometry, MemoryTransfer, Phase, process_correlation};
use crate::facts::{DeviceProperties, NumberGaps, RecorderFacts, RecordingKind, TraceFacts};
use crate::string_table::StringId;
use crate::time::{Nanoseconds, TimeUnit};
use crate::trace::{EventArguments, NewEvent, Trace};
use crate::track_table::{RowId, Track, TrackId};

impl Profile {
    /// The profile as a trace: dispatches are kernels, memory copies are copies, calls of HIP and HSA are runtime
    /// calls, those of other libraries operators, and markers annotations of the user's. Device events lie on the
    /// GPU's ordinal and the HIP stream; what was launched shares its correlation number with the call. Calls come
    /// first, then dispatches, then copies, each in their order.
    pub fn to_trace(&self) -> Trace {
        Conversion { profile: self, trace: Trace::default(), interned: vec![None; self.strings.len()] }.run()
    }

    /// Keeps only the calls, dispatches and copies whose events in [`Profile::to_trace`] are chosen, and what was
    /// counted and sampled in these dispatches. Allocations and scratch memory are no events of the trace: those that
    /// are under way in `time` stay. The times of the processes, which are of more than what is left, go.
    pub fn retain(&mut self, mut keep: impl FnMut(EventId) -> bool, time: &Range<Nanoseconds>) {
        let mut events = (0..).map(EventId);
        let mut is_kept = || events.next().is_some_and(&mut keep);
        self.calls.retain(|_| is_kept());
        let places: Vec<bool> = self.dispatches.iter().map(|_| is_kept()).collect();
        self.copies.retain(|_| is_kept());

        self.retain_dispatches(&places);
        let is_inside = |start: Nanoseconds, end: Nanoseconds| start < time.end && end >= time.start;
        self.allocations.retain(|one| is_inside(one.start, one.end));
        self.scratch.retain(|one| is_inside(one.start, one.end));
        for process in &mut self.processes {
            (process.init, process.fini) = (None, None);
        }
    }

    /// Ends events earlier, each by so many nanoseconds; they are those of [`Profile::to_trace`]. Calls stay as they are.
    pub fn shorten(&mut self, events: &[(EventId, i64)]) {
        let (calls, dispatches) = (self.calls.len(), self.dispatches.len());
        for &(event, excess) in events {
            let Some(place) = event.index().checked_sub(calls) else { continue };
            let end = match place.checked_sub(dispatches) {
                None => &mut self.dispatches[place].end,
                Some(place) => match self.copies.get_mut(place) {
                    Some(copy) => &mut copy.end,
                    None => continue,
                },
            };
            end.0 -= excess;
        }
    }

    /// Keeps only these dispatches, in their order, and what was counted and sampled in them.
    pub(super) fn retain_dispatches(&mut self, kept_places: &[bool]) {
        let mut kept = 0;
        let new_place = |is_kept: bool| {
            let place = is_kept.then_some(kept);
            kept += u32::from(is_kept);
            place
        };
        let places: Vec<Option<u32>> = kept_places.iter().copied().map(new_place).collect();
        let mut place = places.iter();
        self.dispatches.retain(|_| place.next().is_some_and(Option::is_some));
        self.counter_values.retain_mut(|value| {
            let place = places.get(value.dispatch as usize).copied().flatten();
            value.dispatch = place.unwrap_or(value.dispatch);
            place.is_some()
        });
        let dispatches: HashSet<(u32, u64)> =
            self.dispatches.iter().map(|dispatch| (dispatch.process, dispatch.dispatch_id)).collect();
        self.samples.retain(|sample| dispatches.contains(&(sample.process, sample.dispatch_id)));
    }
}

struct Conversion<'p> {
    profile: &'p Profile,
    trace: Trace,
    /// Strings of the profile that the trace has.
    interned: Vec<Option<StringId>>,
}

impl Conversion<'_> {
    fn run(mut self) -> Trace {
        let profile = self.profile;
        for call in &profile.calls {
            self.call(call);
        }
        let mut names = vec![None; profile.kernels.len()];
        for dispatch in &profile.dispatches {
            let name = *names[dispatch.kernel as usize].get_or_insert_with(|| {
                self.trace.intern(&profile.kernel_name(dispatch.kernel, KernelNames::Formatted))
            });
            self.dispatch(dispatch, name);
        }
        for copy in &profile.copies {
            self.copy(copy);
        }
        self.describe_processes();
        let mut trace = self.trace;
        trace.facts = TraceFacts {
            recorder: RecorderFacts {
                kind: Some(RecordingKind::Rocprof),
                operators: false,
                // Calls are traced only when that is asked for.
                launches: profile.calls.iter().any(|call| launches(call.domain)),
                all_launches: true,
                shapes: false,
                python_frames: false,
                launch_geometry: true,
                allocations: false,
                uncut_device_times: true,
                time_unit: TimeUnit::Nanoseconds,
            },
            dispatch_gaps: dispatch_gaps(profile),
            devices: profile.agents.iter().filter_map(device).collect(),
            ..TraceFacts::default()
        };
        trace.warnings.clone_from(&profile.warnings);
        trace.rebase();
        trace
    }

    fn call(&mut self, call: &Call) {
        let category = match call.domain {
            domain if launches(domain) => Category::CUDA_RUNTIME,
            Domain::Marker => Category::USER_ANNOTATION,
            _ => Category::CPU_OP,
        };
        let track = Track { pid: self.process(call.process), tid: RowId::Number(call.thread) };
        let arguments = EventArguments {
            correlation: call
                .correlation
                .filter(|_| launches(call.domain))
                .map(|id| process_correlation(call.process, id)),
            ..EventArguments::default()
        };
        let (track, name) = (self.trace.intern_track(track), self.intern(call.name));
        self.push(category, name, track, (call.start, call.end), arguments);
    }

    fn dispatch(&mut self, dispatch: &Dispatch, name: StringId) {
        let launch = &self.profile.launches[dispatch.launch as usize];
        let arguments = EventArguments {
            correlation: dispatch.correlation.map(|id| process_correlation(dispatch.process, id)),
            device: Some(self.device(dispatch.agent)),
            stream: Some(dispatch.stream as i64),
            // Formats that do not tell it have 0.
            queue: Some(dispatch.queue as i64).filter(|&queue| queue != 0),
            geometry: Some(geometry(launch)),
            ..EventArguments::default()
        };
        let track = self.stream(dispatch.agent, dispatch.stream);
        self.push(Category::KERNEL, name, track, (dispatch.start, dispatch.end), arguments);
    }

    fn copy(&mut self, copy: &MemoryCopy) {
        // A copy runs on the GPU it writes to, or else on the one it reads from.
        let is_gpu = |agent: &u32| self.profile.agents[*agent as usize].kind == AgentKind::Gpu;
        let agent = copy.destination.filter(is_gpu).or(copy.source.filter(is_gpu));
        let arguments = EventArguments {
            correlation: copy.correlation.map(|id| process_correlation(copy.process, id)),
            device: Some(self.device(agent)),
            stream: Some(copy.stream as i64),
            transfer: copy
                .bytes
                .map(|bytes| MemoryTransfer { bytes: Some(bytes), ..MemoryTransfer::default() }),
            ..EventArguments::default()
        };
        let (track, name) = (self.stream(agent, copy.stream), self.intern(copy.name));
        self.push(Category::GPU_MEMCPY, name, track, (copy.start, copy.end), arguments);
    }

    fn push(
        &mut self,
        category: Category,
        name: StringId,
        track: TrackId,
        (start, end): (Nanoseconds, Nanoseconds),
        arguments: EventArguments,
    ) {
        let (start, duration) = (start.0, end.0.saturating_sub(start.0));
        self.trace.append(NewEvent {
            phase: Phase::Complete,
            category,
            name,
            track,
            start,
            duration,
            arguments,
        });
    }

    fn intern(&mut self, id: StringId) -> StringId {
        *self.interned[id.index()].get_or_insert_with(|| self.trace.intern(self.profile.text(id)))
    }

    /// A process without a number is told from GPUs, which have small ones, by a name.
    fn process(&mut self, process: u32) -> RowId {
        match self.profile.processes.get(process as usize).and_then(|process| process.pid) {
            Some(pid) => RowId::Number(pid),
            None => RowId::Text(self.trace.intern(&format!("process {process}"))),
        }
    }

    /// Ordinal of a GPU; where the file does not give it, its place among the agents.
    fn device(&self, agent: Option<u32>) -> i64 {
        let Some(agent) = agent else { return 0 };
        self.profile.agents[agent as usize].ordinal.unwrap_or(i64::from(agent))
    }

    fn stream(&mut self, agent: Option<u32>, stream: u64) -> TrackId {
        let track = Track { pid: RowId::Number(self.device(agent)), tid: RowId::Number(stream as i64) };
        self.trace.intern_track(track)
    }

    fn describe_processes(&mut self) {
        for position in 0..self.profile.processes.len() as u32 {
            let process = self.process(position);
            let label = self.trace.intern("CPU");
            self.trace.tracks.process_mut(process).labels = Some(label);
        }
        for agent in self.profile.agents.iter().filter(|agent| agent.kind == AgentKind::Gpu) {
            if let Some(ordinal) = agent.ordinal {
                let label = self.trace.intern(&format!("GPU {ordinal}"));
                let name = agent.product_name.as_deref().map(|name| self.trace.intern(name));
                let info = self.trace.tracks.process_mut(RowId::Number(ordinal));
                (info.labels, info.name) = (Some(label), name);
            }
        }
    }
}

/// Gaps in the numbers of dispatches, of all processes together; each process begins at 1. `None` where dispatches have no
/// numbers of their own, and of gaps where counters were collected, which can be of some kernels only.
fn dispatch_gaps(profile: &Profile) -> Option<NumberGaps> {
    let mut numbers: Vec<(u32, u64)> =
        profile.dispatches.iter().map(|dispatch| (dispatch.process, dispatch.dispatch_id)).collect();
    numbers.sort_unstable();
    let mut gaps = NumberGaps::default();
    for process_numbers in numbers.chunk_by(|a, b| a.0 == b.0) {
        let [(_, first), .., (_, last)] = *process_numbers else { continue };
        let is_counted = first > 0 && process_numbers.windows(2).all(|pair| pair[0] != pair[1]);
        if is_counted {
            let all = (last - first).saturating_add(1);
            gaps.of = gaps.of.saturating_add(all);
            gaps.missing = gaps.missing.saturating_add(all - process_numbers.len() as u64);
        }
    }
    (gaps.of > 0 && (gaps.missing == 0 || profile.counter_values.is_empty())).then_some(gaps)
}

/// Whether calls of a library launch device work.
fn launches(domain: Domain) -> bool {
    matches!(domain, Domain::Hip | Domain::Hsa)
}

fn geometry(launch: &Launch) -> LaunchGeometry {
    let blocks = |axis: usize| launch.grid[axis].div_ceil(launch.workgroup[axis].max(1));
    LaunchGeometry {
        grid: std::array::from_fn(blocks),
        block: launch.workgroup,
        registers_per_thread: Some(launch.vgprs).filter(|&registers| registers > 0),
        shared_memory: Some(launch.group_segment),
    }
}

fn device(agent: &Agent) -> Option<DeviceProperties> {
    if agent.kind != AgentKind::Gpu {
        return None;
    }
    Some(DeviceProperties {
        id: agent.ordinal,
        name: agent.product_name.clone().or(agent.name.clone()),
        total_memory: agent.memory_bytes,
        multiprocessors: agent.compute_units.map(i64::from),
        warp_size: agent.wave_size.map(i64::from),
        ..DeviceProperties::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::profile::{Allocation, CopyDirection, CounterValue, Kernel, Process, Sample};
    use super::*;

    #[test]
    fn a_part_of_a_profile_keeps_what_belongs_to_its_events() {
        let mut profile = Profile::default();
        let name = profile.strings.intern("name");
        let at = |time| (Nanoseconds(time), Nanoseconds(time + 10));
        profile.processes.push(Process { init: Some(Nanoseconds(0)), ..Process::default() });
        profile.kernels.push(Kernel::default());
        profile.launches.push(Launch::default());
        for step in 0..4_u32 {
            let (start, end) = at(1000 + 100 * i64::from(step));
            profile.calls.push(Call {
                start,
                end,
                correlation: None,
                thread: 1,
                stream: 0,
                operation: 0,
                process: 0,
                domain: Domain::Hip,
                kind: name,
                name,
            });
            profile.dispatches.push(Dispatch {
                start,
                end,
                correlation: None,
                dispatch_id: u64::from(step) + 1,
                thread: 1,
                queue: 0,
                stream: 0,
                process: 0,
                agent: None,
                kernel: 0,
                launch: 0,
            });
            profile.counter_values.push(CounterValue { dispatch: step, counter: 0, value: f64::from(step) });
            profile.samples.push(Sample { dispatch_id: u64::from(step) + 1, ..Sample::default() });
            profile.allocations.push(Allocation {
                start,
                end,
                correlation: None,
                address: 1,
                bytes: 1,
                process: 0,
                agent: None,
                name,
            });
        }
        let (start, end) = at(2000);
        profile.copies.push(MemoryCopy {
            start,
            end,
            correlation: None,
            bytes: None,
            thread: 1,
            stream: 0,
            process: 0,
            source: None,
            destination: None,
            direction: CopyDirection::Other,
            name,
        });

        let trace = profile.to_trace();
        let is_in_second_half = |event| trace.events().start(event) >= 200;
        profile.retain(is_in_second_half, &(Nanoseconds(1200)..Nanoseconds(1300)));
        let starts =
            |starts: &mut dyn Iterator<Item = Nanoseconds>| starts.map(|start| start.0).collect::<Vec<_>>();
        assert_eq!(starts(&mut profile.calls.iter().map(|call| call.start)), [1200, 1300]);
        assert_eq!(starts(&mut profile.dispatches.iter().map(|one| one.start)), [1200, 1300]);
        assert_eq!(starts(&mut profile.copies.iter().map(|copy| copy.start)), [2000]);
        assert_eq!(starts(&mut profile.allocations.iter().map(|one| one.start)), [1200]);
        let counted: Vec<_> =
            profile.counter_values.iter().map(|value| (value.dispatch, value.value)).collect();
        assert_eq!(counted, [(0, 2.0), (1, 3.0)]);
        assert_eq!(profile.samples.iter().map(|sample| sample.dispatch_id).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(profile.processes[0].init, None);
    }
}
