//! Puts positions and names into the records of an element, once all of it was read.

use hashbrown::HashMap;

use super::element::Element;
use super::records::CounterRecord;
use super::tables::{Label, Labels};
use crate::rocprof::profile::{Agent, AgentKind, CopyDirection, Counter, Domain};
use crate::string_table::StringId;

/// Where records of a handle belong.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    agent: Option<u32>,
    /// The file describes agents, but not this one.
    is_unknown: bool,
}

/// The records of this element, the last ones of the profile, of which each has an entry in `notes`.
fn own<'r, T, N>(records: &'r mut [T], notes: &[N]) -> &'r mut [T] {
    let first = records.len() - notes.len();
    &mut records[first..]
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
        let samples = own(&mut self.builder.profile.samples, &self.instructions);
        for (sample, index) in samples.iter_mut().zip(&self.instructions) {
            let position = index.and_then(|index| usize::try_from(index).ok());
            if let Some(&text) = position.and_then(|position| self.tables.instructions.get(position)) {
                sample.instruction = text;
            }
        }
    }

    /// The agents behind the handles, added where the file describes none. The handle 0 is no agent, unless it is
    /// described.
    fn agents(&mut self) -> Vec<Place> {
        let mut has_kernels = vec![false; self.handles.distinct.len()];
        for dispatch in &self.builder.profile.dispatches[self.first_dispatch..] {
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
        let seen = self.handles.distinct.iter().zip(has_kernels);
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
        let own = self.builder.profile.dispatches[self.first_dispatch..].iter().enumerate();
        let mut by_number: HashMap<u64, u32> = own
            .filter(|(_, dispatch)| dispatch.dispatch_id != 0)
            .map(|(position, dispatch)| (dispatch.dispatch_id, (self.first_dispatch + position) as u32))
            .collect();
        let positions = records.iter().map(|record| {
            let number = record.dispatch.info.dispatch;
            if let Some(&position) = by_number.get(&number) {
                return position;
            }
            self.note_times("counter_collection", &record.dispatch.head);
            let position = self.add_dispatch(&record.dispatch);
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
        for position in self.first_dispatch..self.builder.profile.dispatches.len() {
            let dispatch = self.builder.profile.dispatches[position];
            let own = self.registers.get(dispatch.kernel as usize).copied().unwrap_or_default();
            let registers = match told.get(&(position as u32)) {
                Some(&told) if own == [0; 3] => told,
                _ => own,
            };
            let launch = *launches.entry((dispatch.launch, registers)).or_insert_with(|| {
                let mut launch = self.launches[dispatch.launch as usize];
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
                self.builder.add_counter_value(dispatch, counter, value);
            }
        }
    }

    fn resolve_copies(&mut self, agents: &[Place]) {
        let mut unknown = 0;
        let copies = self.builder.profile.copies.len();
        for (position, labels) in
            (copies - self.copy_labels.len()..).zip(std::mem::take(&mut self.copy_labels))
        {
            let copy = self.builder.profile.copies[position];
            let (source, destination) = (place(agents, copy.source), place(agents, copy.destination));
            unknown += u64::from(source.is_unknown || destination.is_unknown);
            let (source, destination) = (source.agent, destination.agent);
            let name = self.copy_name(labels);
            let direction = match CopyDirection::from_name(self.builder.profile.text(name)) {
                CopyDirection::Other => self.direction_between([source, destination]),
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

    fn direction_between(&self, agents: [Option<u32>; 2]) -> CopyDirection {
        let described = &self.builder.profile.agents;
        CopyDirection::between(
            agents.map(|agent| agent.map_or(AgentKind::Unknown, |agent| described[agent as usize].kind)),
        )
    }

    fn resolve_calls(&mut self) {
        let profile = &mut self.builder.profile;
        let calls = own(&mut profile.calls, &self.call_labels);
        for (call, &labels) in calls.iter_mut().zip(&self.call_labels) {
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
        let allocations = own(&mut profile.allocations, &self.allocation_labels).iter_mut();
        let scratch = own(&mut profile.scratch, &self.scratch_labels).iter_mut();
        let events = allocations
            .map(|allocation| (&mut allocation.agent, &mut allocation.name))
            .chain(scratch.map(|event| (&mut event.agent, &mut event.name)));
        for ((agent, name), &labels) in events.zip(self.allocation_labels.iter().chain(&self.scratch_labels))
        {
            let place = place(agents, *agent);
            unknown += u64::from(place.is_unknown);
            *agent = place.agent;
            *name = self.tables.operation_name(labels, &mut profile.strings);
        }
        self.builder.unknown_agents += unknown;
    }
}
