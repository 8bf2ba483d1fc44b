//! Puts a profile together, whichever format its records come from.

use hashbrown::HashMap;

use super::profile::{
    Agent, Allocation, Call, CopyDirection, Counter, CounterValue, Dispatch, Domain, Kernel, Launch,
    MemoryCopy, Profile, ScratchEvent,
};
use crate::string_table::{StringId, lossy};
use crate::time::{Nanoseconds, TimesOfOthers};
use crate::warning::{RecordFault, Warning};

/// When and where something was done, and by whom. What the format does not say is 0.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) correlation: Option<u64>,
    pub(crate) thread: i64,
    pub(crate) queue: u64,
    pub(crate) stream: u64,
    /// Position of the process.
    pub(crate) process: u32,
}

/// A profile in the making: finds agents, kernels, launch configurations and counters again that were seen
/// before, and counts what was wrong.
#[derive(Default)]
pub(crate) struct ProfileBuilder {
    pub(crate) profile: Profile,
    agents: HashMap<String, u32>,
    kernels: HashMap<(u32, u64), u32>,
    named_kernels: HashMap<Kernel, u32>,
    launches: HashMap<Launch, u32>,
    counters: HashMap<String, u32>,
    /// Positions of counter values, by dispatch and counter.
    counter_values: HashMap<(u32, u32), usize>,
    negative_durations: u64,
    pub(crate) unknown_agents: u64,
    pub(crate) invalid_utf8: u64,
}

impl ProfileBuilder {
    /// Position of the agent that records call `label`. `None` when no agent has it.
    pub(crate) fn find_agent(&self, label: &str) -> Option<u32> {
        self.agents.get(label).copied()
    }

    /// Adds an agent; of several with one label the last counts.
    pub(crate) fn add_agent(&mut self, agent: Agent) -> u32 {
        let position = self.profile.agents.len() as u32;
        self.agents.insert(agent.label.clone(), position);
        self.profile.agents.push(agent);
        position
    }

    /// Position of the agent that records call `label`, added with `describe` when none has it.
    pub(crate) fn agent(&mut self, label: &str, describe: impl FnOnce() -> Agent) -> u32 {
        match self.find_agent(label) {
            Some(position) => position,
            None => self.add_agent(describe()),
        }
    }

    /// Adds a kernel with a number; of several with one number the last counts.
    pub(crate) fn add_kernel(&mut self, kernel: Kernel) -> u32 {
        let key = kernel.id.map(|id| (kernel.process, id));
        match key.and_then(|key| self.kernels.get(&key).copied()) {
            Some(position) => {
                self.profile.kernels[position as usize] = kernel;
                position
            }
            None => {
                let position = self.profile.kernels.len() as u32;
                if let Some(key) = key {
                    self.kernels.insert(key, position);
                }
                self.profile.kernels.push(kernel);
                position
            }
        }
    }

    /// Position of the kernel with a number, added without a name when the file has not described it yet.
    pub(crate) fn kernel(&mut self, process: u32, id: u64) -> u32 {
        match self.kernels.get(&(process, id)) {
            Some(&position) => position,
            None => self.add_kernel(Kernel { process, id: Some(id), ..Kernel::default() }),
        }
    }

    /// Position of a kernel that is known by its names alone, or by names and number together.
    pub(crate) fn named_kernel(&mut self, kernel: Kernel) -> u32 {
        let kernels = &mut self.profile.kernels;
        *self.named_kernels.entry(kernel).or_insert_with(|| {
            kernels.push(kernel);
            kernels.len() as u32 - 1
        })
    }

    /// Position of a launch configuration.
    pub(crate) fn launch(&mut self, launch: Launch) -> u32 {
        let launches = &mut self.profile.launches;
        *self.launches.entry(launch).or_insert_with(|| {
            launches.push(launch);
            launches.len() as u32 - 1
        })
    }

    /// Position of the counter with a name, added with `describe` when none has it.
    pub(crate) fn counter(&mut self, name: &str, describe: impl FnOnce() -> Counter) -> u32 {
        if let Some(&position) = self.counters.get(name) {
            return position;
        }
        let position = self.profile.counters.len() as u32;
        self.counters.insert(name.to_string(), position);
        self.profile.counters.push(describe());
        position
    }

    /// Whether a counter has a value during a dispatch among the first `before` values.
    pub(crate) fn has_counter_value(&self, dispatch: u32, counter: u32, before: usize) -> bool {
        self.counter_values.get(&(dispatch, counter)).is_some_and(|&position| position < before)
    }

    /// Adds to the value of a counter during a dispatch.
    pub(crate) fn add_counter_value(&mut self, dispatch: u32, counter: u32, value: f64) {
        let values = &mut self.profile.counter_values;
        let position = *self.counter_values.entry((dispatch, counter)).or_insert_with(|| {
            values.push(CounterValue { dispatch, counter, value: 0.0 });
            values.len() - 1
        });
        values[position].value += value;
    }

    /// Id of a text that should be UTF-8.
    pub(crate) fn intern_bytes(&mut self, bytes: &[u8]) -> StringId {
        let text = lossy(bytes, &mut self.invalid_utf8);
        self.profile.strings.intern(&text)
    }

    /// Start and end of a record; one that ends before it begins has no length.
    fn span(&mut self, at: &Place) -> (Nanoseconds, Nanoseconds) {
        self.negative_durations += u64::from(at.end < at.start);
        (Nanoseconds(at.start), Nanoseconds(at.end.max(at.start)))
    }

    /// Adds a dispatch; returns its position.
    pub(crate) fn dispatch(
        &mut self,
        at: Place,
        dispatch_id: u64,
        agent: Option<u32>,
        kernel: u32,
        launch: u32,
    ) -> u32 {
        let (start, end) = self.span(&at);
        let Place { correlation, thread, queue, stream, process, .. } = at;
        let dispatches = &mut self.profile.dispatches;
        dispatches.push(Dispatch {
            start,
            end,
            correlation,
            dispatch_id,
            thread,
            queue,
            stream,
            process,
            agent,
            kernel,
            launch,
        });
        dispatches.len() as u32 - 1
    }

    /// Adds a copy between two agents.
    pub(crate) fn copy(
        &mut self,
        at: Place,
        name: StringId,
        direction: CopyDirection,
        bytes: Option<u64>,
        [source, destination]: [Option<u32>; 2],
    ) {
        let (start, end) = self.span(&at);
        let Place { correlation, thread, stream, process, .. } = at;
        self.profile.copies.push(MemoryCopy {
            start,
            end,
            correlation,
            bytes,
            thread,
            stream,
            process,
            source,
            destination,
            direction,
            name,
        });
    }

    /// Adds a call of a library, or a marker.
    pub(crate) fn call(&mut self, at: Place, domain: Domain, kind: StringId, name: StringId, operation: u32) {
        let (start, end) = self.span(&at);
        let Place { correlation, thread, stream, process, .. } = at;
        self.profile.calls.push(Call {
            start,
            end,
            correlation,
            thread,
            stream,
            operation,
            process,
            domain,
            kind,
            name,
        });
    }

    /// Adds an allocation of device memory, or its end.
    pub(crate) fn allocation(
        &mut self,
        at: Place,
        name: StringId,
        agent: Option<u32>,
        address: u64,
        bytes: u64,
    ) {
        let (start, end) = self.span(&at);
        let Place { correlation, process, .. } = at;
        let allocation = Allocation { start, end, correlation, address, bytes, process, agent, name };
        self.profile.allocations.push(allocation);
    }

    /// Adds an event of scratch memory.
    pub(crate) fn scratch(&mut self, at: Place, name: StringId, agent: Option<u32>, bytes: Option<u64>) {
        let (start, end) = self.span(&at);
        let Place { queue, process, .. } = at;
        self.profile.scratch.push(ScratchEvent { start, end, bytes, queue, process, agent, name });
    }

    /// The profile, once everything was added.
    pub(crate) fn finish(self) -> Profile {
        let ProfileBuilder { mut profile, negative_durations, unknown_agents, invalid_utf8, .. } = self;
        leave_out_work_without_times(&mut profile);
        let unnamed = |kernel: u32| {
            let Kernel { mangled, demangled, formatted, truncated, .. } = profile.kernels[kernel as usize];
            [mangled, demangled, formatted, truncated].iter().all(Option::is_none)
        };
        let unknown_kernels =
            profile.dispatches.iter().filter(|dispatch| unnamed(dispatch.kernel)).count() as u64;
        for (count, warning) in [
            (
                negative_durations,
                Warning::Records { fault: RecordFault::NegativeDuration, count: negative_durations },
            ),
            (unknown_kernels, Warning::Records { fault: RecordFault::UnknownKernel, count: unknown_kernels }),
            (unknown_agents, Warning::Records { fault: RecordFault::UnknownAgent, count: unknown_agents }),
            (invalid_utf8, Warning::InvalidUtf8 { count: invalid_utf8 }),
        ] {
            if count > 0 {
                profile.warnings.push(warning);
            }
        }
        profile
    }
}

/// As [`crate::Trace`] leaves it out; what was counted in such dispatches goes with them.
fn leave_out_work_without_times(profile: &mut Profile) {
    let dispatch = |dispatch: &Dispatch| (dispatch.start.0, dispatch.end.0);
    let copy = |copy: &MemoryCopy| (copy.start.0, copy.end.0);
    let Profile { dispatches, copies, calls, .. } = &*profile;
    let work = || dispatches.iter().map(dispatch).chain(copies.iter().map(copy));
    if !work().any(|(start, _)| start == 0) {
        return;
    }
    let calls = calls.iter().map(|call| (call.start.0, call.end.0)).filter(|&(_, end)| end != 0);
    let Some(others) = TimesOfOthers::new(0, work(), work().chain(calls)) else { return };
    let (of, kept): (u64, Vec<bool>) =
        (work().count() as u64, dispatches.iter().map(|one| !others.is_untimed(dispatch(one))).collect());
    profile.retain_dispatches(&kept);
    profile.copies.retain(|one| !others.is_untimed(copy(one)));
    let count = of - (profile.dispatches.len() + profile.copies.len()) as u64;
    if count > 0 {
        profile.warnings.push(Warning::DeviceWorkWithoutTimes { count, of });
    }
}

/// Which agents were added for which machine. Processes of one machine describe the same agents; processes of
/// different machines call different agents by the same labels.
#[derive(Default)]
pub(crate) struct Machines {
    /// Machine (name of the host) and position, by label.
    owners: HashMap<String, Vec<(Option<String>, u32)>>,
}

impl Machines {
    /// Position of an agent of `host`, added when its label is new there. On a second machine the label gets the
    /// name of the machine. An agent that records named before it was described takes the description.
    pub(crate) fn agent(
        &mut self,
        builder: &mut ProfileBuilder,
        host: Option<&str>,
        mut agent: Agent,
    ) -> u32 {
        let owners = self.owners.entry(agent.label.clone()).or_default();
        if let Some((_, position)) = owners.iter().find(|(owner, _)| owner.as_deref() == host) {
            let known = &mut builder.profile.agents[*position as usize];
            if known.node_id.is_none() && agent.node_id.is_some() {
                agent.label.clone_from(&known.label);
                *known = agent;
            }
            return *position;
        }
        if !owners.is_empty() {
            agent.label = match host {
                Some(host) => format!("{} ({host})", agent.label),
                None => format!("{} (machine {})", agent.label, owners.len() + 1),
            };
        }
        let position = builder.add_agent(agent);
        owners.push((host.map(str::to_string), position));
        position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(label: &str, node_id: Option<i64>) -> Agent {
        Agent { label: label.to_string(), node_id, ..Agent::default() }
    }

    #[test]
    fn one_machine_has_one_agent_of_a_label_and_two_have_two() {
        let mut builder = ProfileBuilder::default();
        let mut machines = Machines::default();
        let first = machines.agent(&mut builder, Some("a"), agent("Agent 2", None));
        assert_eq!(machines.agent(&mut builder, Some("a"), agent("Agent 2", Some(2))), first);
        let second = machines.agent(&mut builder, Some("b"), agent("Agent 2", Some(2)));
        assert_ne!(first, second);
        let third = machines.agent(&mut builder, None, agent("Agent 2", Some(2)));
        let agents = &builder.profile.agents;
        assert_eq!(agents[first as usize], agent("Agent 2", Some(2)));
        assert_eq!(agents[second as usize].label, "Agent 2 (b)");
        assert_eq!(agents[third as usize].label, "Agent 2 (machine 3)");
    }
}
