//! Puts positions and names into the records of an element, once all of it was read.

use hashbrown::HashMap;

use super::element::Element;
use super::records::CounterRecord;
use super::tables::{Label, Labels};
use crate::rocprof::profile::{Agent, AgentKind, CopyDirection, Counter, CounterValue, Domain};
use crate::string_table::StringId;

/// Where records of a handle belong.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    agent: Option<u32>,
    /// The file describes agents, but not this one.
    is_unknown: bool,
}

fn place(agents: &[Place], handle: Option<u32>) -> Place {
    handle.map_or_else(Place::default, |handle| agents[handle as usize])
}

impl Element<'_> {
    /// Replaces what the records of this element have from the file by what it stands for.
    pub(super) fn resolve(mut self) {
        let counter_records = std::mem::take(&mut self.counter_records);
        let counted = self.counted_dispatches(&counter_records);
        let agents = self.agents();
        self.resolve_dispatches(&agents, &counter_records, &counted);
        self.counter_values(&counter_records, &counted);
        self.resolve_copies(&agents);
        self.resolve_calls();
        self.resolve_memory(&agents);
        let profile = &mut self.builder.profile;
        for (sample, index) in profile.samples[self.begins.samples..].iter_mut().zip(&self.instructions) {
            let position = index.and_then(|index| usize::try_from(index).ok());
            if let Some(&text) = position.and_then(|position| self.tables.instructions.get(position)) {
                sample.instruction = text;
            }
        }
    }

    /// The agents behind the handles, added where the file describes none. The handle 0 is no agent, unless it is
    /// described.
    fn agents(&mut self) -> Vec<Place> {
        let mut has_kernels = vec![false; self.handles.seen.len()];
        for dispatch in &self.builder.profile.dispatches[self.begins.dispatches..] {
            if let Some(handle) = dispatch.agent {
                has_kernels[handle as usize] = true;
            }
        }
        let host = self.builder.profile.processes[self.process as usize].hostname.clone();
        let mut add = |agent| self.machines.agent(self.builder, host.as_deref(), agent);
        let has_agents = !self.described_agents.is_empty();
        let mut described = HashMap::new();
        for agent in self.described_agents.drain(..) {
            described.extend(agent.handle.map(|handle| (handle, add(agent))));
        }
        let seen = self.handles.seen.iter().zip(has_kernels);
        seen.map(|(&handle, has_kernels)| match described.get(&handle) {
            Some(&agent) => Place { agent: Some(agent), is_unknown: false },
            None if handle == 0 => Place { agent: None, is_unknown: false },
            None => {
                let kind = if has_kernels { AgentKind::Gpu } else { AgentKind::Unknown };
                let agent =
                    Agent { kind, label: handle.to_string(), handle: Some(handle), ..Agent::default() };
                Place { agent: Some(add(agent)), is_unknown: has_agents }
            }
        })
        .collect()
    }

    /// Dispatches that counters were collected for: those with their number, new ones where there are none.
    fn counted_dispatches(&mut self, records: &[CounterRecord]) -> Vec<u32> {
        if records.is_empty() {
            return Vec::new();
        }
        let own = self.builder.profile.dispatches[self.begins.dispatches..].iter().enumerate();
        let mut by_number: HashMap<u64, u32> = own
            .filter(|(_, dispatch)| dispatch.dispatch_id != 0)
            .map(|(position, dispatch)| (dispatch.dispatch_id, (self.begins.dispatches + position) as u32))
            .collect();
        let positions = records.iter().map(|record| {
            let number = record.dispatch.info.dispatch;
            if let Some(&position) = by_number.get(&number) {
                return position;
            }
            self.faults.times("counter_collection", &record.dispatch.head);
            let position = self.builder.profile.dispatches.len() as u32;
            let dispatch = self.dispatch(&record.dispatch);
            self.builder.profile.dispatches.push(dispatch);
            if number != 0 {
                by_number.insert(number, position);
            }
            position
        });
        positions.collect()
    }

    fn resolve_dispatches(&mut self, agents: &[Place], records: &[CounterRecord], counted: &[u32]) {
        // Where the file does not describe kernels, the records of counters still tell registers.
        let told: HashMap<u32, [u32; 3]> = (counted.iter().copied())
            .zip(records.iter().map(|record| [record.vgprs, 0, record.sgprs]))
            .collect();
        let mut launches = HashMap::new();
        let mut unknown = 0;
        for position in self.begins.dispatches..self.builder.profile.dispatches.len() {
            let dispatch = self.builder.profile.dispatches[position];
            let own = self.registers.get(dispatch.kernel as usize).copied().unwrap_or_default();
            let registers = match told.get(&(position as u32)) {
                Some(&told) if own == [0; 3] => told,
                _ => own,
            };
            let launch = *launches.entry((dispatch.launch, registers)).or_insert_with(|| {
                let mut launch = self.launches.distinct[dispatch.launch as usize];
                [launch.vgprs, launch.accum_vgprs, launch.sgprs] = registers;
                self.builder.launch(launch)
            });
            let Place { agent, is_unknown } = place(agents, dispatch.agent);
            unknown += u64::from(is_unknown);
            let dispatch = &mut self.builder.profile.dispatches[position];
            (dispatch.launch, dispatch.agent) = (launch, agent);
        }
        self.builder.unknown_agents += unknown;
    }

    /// Adds a value per dispatch and counter, the sum over the counter's instances.
    fn counter_values(&mut self, records: &[CounterRecord], counted: &[u32]) {
        let mut places: HashMap<(u32, u32), usize> = HashMap::new();
        for (record, &dispatch) in records.iter().zip(counted) {
            for &(handle, value) in &record.values {
                let counter = match self.counters.get(&handle) {
                    Some(&counter) => counter,
                    None => {
                        let name = format!("counter_{handle}");
                        let unnamed = Counter { name: name.clone(), ..Counter::default() };
                        self.builder.counter(&name, || unnamed)
                    }
                };
                let values = &mut self.builder.profile.counter_values;
                let place = *places.entry((dispatch, counter)).or_insert_with(|| {
                    values.push(CounterValue { dispatch, counter, value: 0.0 });
                    values.len() - 1
                });
                values[place].value += value;
            }
        }
    }

    fn resolve_copies(&mut self, agents: &[Place]) {
        let mut unknown = 0;
        for (index, labels) in std::mem::take(&mut self.copy_labels).into_iter().enumerate() {
            let position = self.begins.copies + index;
            let copy = self.builder.profile.copies[position];
            let (source, destination) = (place(agents, copy.source), place(agents, copy.destination));
            unknown += u64::from(source.is_unknown || destination.is_unknown);
            let (source, destination) = (source.agent, destination.agent);
            let name = self.copy_name(labels);
            let direction = match CopyDirection::of_name(self.builder.profile.text(name)) {
                CopyDirection::Other => self.direction_between(source, destination),
                direction => direction,
            };
            let copy = &mut self.builder.profile.copies[position];
            (copy.source, copy.destination) = (source, destination);
            (copy.name, copy.direction) = (name, direction);
        }
        self.builder.unknown_agents += unknown;
    }

    /// Name of the operation; where the record has none, its kind may say what it is.
    fn copy_name(&mut self, labels: Labels) -> StringId {
        let strings = &mut self.builder.profile.strings;
        match (labels.operation, self.tables.kind_name(labels)) {
            (Label::Missing, Some(kind)) => kind,
            _ => self.tables.operation_name(labels, strings),
        }
    }

    fn direction_between(&self, source: Option<u32>, destination: Option<u32>) -> CopyDirection {
        let kind = |agent: Option<u32>| {
            agent.map_or(AgentKind::Unknown, |agent| self.builder.profile.agents[agent as usize].kind)
        };
        match (kind(source), kind(destination)) {
            (AgentKind::Cpu, AgentKind::Cpu) => CopyDirection::HostToHost,
            (AgentKind::Cpu, AgentKind::Gpu) => CopyDirection::HostToDevice,
            (AgentKind::Gpu, AgentKind::Cpu) => CopyDirection::DeviceToHost,
            (AgentKind::Gpu, AgentKind::Gpu) => CopyDirection::DeviceToDevice,
            _ => CopyDirection::Other,
        }
    }

    fn resolve_calls(&mut self) {
        let profile = &mut self.builder.profile;
        for (call, &labels) in profile.calls[self.begins.calls..].iter_mut().zip(&self.call_labels) {
            let marker = || {
                let number = call.correlation.filter(|_| call.domain == Domain::Marker)?;
                self.tables.markers.get(&number).copied()
            };
            call.name = match marker() {
                Some(text) => text,
                None => self.tables.operation_name(labels, &mut profile.strings),
            };
            call.kind = self.tables.kind_name(labels).unwrap_or(call.kind);
            call.operation = self.tables.operation_number(labels);
        }
    }

    fn resolve_memory(&mut self, agents: &[Place]) {
        let profile = &mut self.builder.profile;
        let mut unknown = 0;
        let own = profile.allocations[self.begins.allocations..].iter_mut();
        for (allocation, &labels) in own.zip(&self.allocation_labels) {
            let place = place(agents, allocation.agent);
            unknown += u64::from(place.is_unknown);
            allocation.agent = place.agent;
            allocation.name = self.tables.operation_name(labels, &mut profile.strings);
        }
        let own = profile.scratch[self.begins.scratch..].iter_mut();
        for (event, &labels) in own.zip(&self.scratch_labels) {
            let place = place(agents, event.agent);
            unknown += u64::from(place.is_unknown);
            event.agent = place.agent;
            event.name = self.tables.operation_name(labels, &mut profile.strings);
        }
        self.builder.unknown_agents += unknown;
    }
}
