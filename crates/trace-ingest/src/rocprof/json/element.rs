//! One element of `rocprofiler-sdk-tool`: what a process recorded. Records are taken as they come, with numbers in
//! place of what other parts of the element describe; [`Element::resolve`] puts positions and names there at the end.

use hashbrown::HashMap;

use super::descriptions::{self, Registers};
use super::faults::Faults;
use super::records::{self, CounterRecord, DispatchRecord, Head, MemoryRecord};
use super::tables::{Labels, Tables};
use super::values::Texts;
use super::walker::{Container, Tally, Walk, Walker};
use crate::index_set::IndexSet;
use crate::json::scanner::{Scan, Scanner};
use crate::rocprof::builder::{Machines, ProfileBuilder};
use crate::rocprof::profile::{Agent, CopyDirection, Domain, Kernel, Launch, Process, Sample};
use crate::string_table::StringId;

/// Numbers by which records refer to agents, in the order of their first use.
#[derive(Default)]
pub(super) struct Handles {
    pub(super) distinct: IndexSet<u64>,
    last: Option<(u64, u32)>,
}

impl Handles {
    /// Position among the distinct handles.
    #[inline]
    fn position(&mut self, handle: Option<u64>) -> Option<u32> {
        let handle = handle?;
        if let Some((last, position)) = self.last
            && last == handle
        {
            return Some(position);
        }
        let position = self.distinct.insert(handle).0 as u32;
        self.last = Some((handle, position));
        Some(position)
    }
}

/// An element in the reading.
pub(super) struct Element<'b> {
    pub(super) builder: &'b mut ProfileBuilder,
    pub(super) machines: &'b mut Machines,
    pub(super) faults: &'b mut Faults,
    /// Position of the process.
    pub(super) process: u32,
    /// How many dispatches the profile has from elements before.
    pub(super) first_dispatch: usize,
    pub(super) tables: Tables,
    pub(super) handles: Handles,
    /// Launch configurations without registers.
    pub(super) launches: IndexSet<Launch>,
    pub(super) described_agents: Vec<Agent>,
    /// Registers of kernels, by position.
    pub(super) registers: Vec<Registers>,
    /// Names of counters, by handle.
    pub(super) counters: HashMap<u64, u32>,
    pub(super) counter_records: Vec<CounterRecord>,
    pub(super) copy_labels: Vec<Labels>,
    pub(super) call_labels: Vec<Labels>,
    pub(super) allocation_labels: Vec<Labels>,
    pub(super) scratch_labels: Vec<Labels>,
    /// Positions of sampled instructions in their table.
    pub(super) instructions: Vec<Option<i64>>,
    /// Whether there is a `buffer_records`.
    pub(super) has_records: bool,
}

impl<'b> Element<'b> {
    pub(super) fn new(
        builder: &'b mut ProfileBuilder,
        machines: &'b mut Machines,
        faults: &'b mut Faults,
    ) -> Self {
        let profile = &mut builder.profile;
        let process = profile.processes.len() as u32;
        profile.processes.push(Process::default());
        let first_dispatch = profile.dispatches.len();
        Element {
            builder,
            machines,
            faults,
            process,
            first_dispatch,
            tables: Tables::default(),
            handles: Handles::default(),
            launches: IndexSet::default(),
            described_agents: Vec::new(),
            registers: Vec::new(),
            counters: HashMap::new(),
            counter_records: Vec::new(),
            copy_labels: Vec::new(),
            call_labels: Vec::new(),
            allocation_labels: Vec::new(),
            scratch_labels: Vec::new(),
            instructions: Vec::new(),
            has_records: false,
        }
    }

    pub(super) fn walk(&mut self, walker: &mut Walker<'_>) -> Walk<()> {
        let found = walker.object(&mut |walker, key| match key {
            "metadata" => self.metadata(walker),
            "agents" => {
                let keep = |element: &mut Self, agent| element.described_agents.push(agent);
                self.list(walker, key, descriptions::agent, keep)
            }
            "counters" => self.list(walker, key, descriptions::counter, |element, (handle, counter)| {
                let name = counter.name.clone();
                let position = element.builder.counter(&name, || counter);
                element.counters.insert(handle, position);
            }),
            "strings" => self.strings(walker),
            "kernel_symbols" => self.list(walker, key, descriptions::kernel, Self::add_kernel),
            "callback_records" => self.members(walker, key, Self::callback_records),
            "buffer_records" => {
                self.has_records = true;
                self.members(walker, key, Self::buffer_records)
            }
            _ => walker.skip(),
        })?;
        if found != Container::Entered {
            self.faults.malformed("rocprofiler-sdk-tool", walker.offset(), "expected an object");
        }
        Ok(())
    }

    /// Reads a list of records.
    fn list<T>(
        &mut self,
        walker: &mut Walker<'_>,
        name: &str,
        mut read: impl FnMut(&mut Texts<'_>, &mut Scanner<'_>) -> Scan<T>,
        mut keep: impl FnMut(&mut Self, T),
    ) -> Walk<()> {
        let mut tally = Tally::default();
        let outcome = walker.records(
            &mut tally,
            self,
            |element, scanner| {
                let mut texts = Texts::new(&mut element.builder.profile.strings);
                Ok((read(&mut texts, scanner)?, texts.lossy))
            },
            |element, (record, lossy)| {
                element.builder.invalid_utf8 += lossy;
                keep(element, record);
            },
        );
        self.faults.tally(name, tally);
        outcome
    }

    /// Goes through an object of lists.
    fn members(
        &mut self,
        walker: &mut Walker<'_>,
        name: &str,
        member: fn(&mut Self, &mut Walker<'_>, &str) -> Walk<()>,
    ) -> Walk<()> {
        if walker.object(&mut |walker, key| member(self, walker, key))? == Container::Other {
            self.faults.malformed(name, walker.offset(), "expected an object");
        }
        Ok(())
    }

    fn metadata(&mut self, walker: &mut Walker<'_>) -> Walk<()> {
        let mut texts = Texts::new(&mut self.builder.profile.strings);
        let process = walker.step(|scanner| descriptions::metadata(&mut texts, scanner))?;
        self.builder.invalid_utf8 += texts.lossy;
        self.builder.profile.processes[self.process as usize] = process;
        Ok(())
    }

    fn strings(&mut self, walker: &mut Walker<'_>) -> Walk<()> {
        self.members(walker, "strings", |element, walker, key| match key {
            "buffer_records" => {
                element.list(walker, "strings.buffer_records", descriptions::kind, |element, kind| {
                    element.tables.kinds.push(kind);
                })
            }
            "marker_api" => {
                element.list(walker, "strings.marker_api", descriptions::marker, |element, marker| {
                    element.tables.markers.extend(marker);
                })
            }
            "pc_sample_instructions" => {
                let keep = |element: &mut Self, text| element.tables.instructions.push(text);
                element.list(walker, "strings.pc_sample_instructions", descriptions::instruction, keep)
            }
            _ => walker.skip(),
        })
    }

    fn callback_records(&mut self, walker: &mut Walker<'_>, key: &str) -> Walk<()> {
        match key {
            "counter_collection" => self.list(walker, key, records::counters, |element, record| {
                element.counter_records.push(record);
            }),
            _ => self.unused(walker, key),
        }
    }

    fn buffer_records(&mut self, walker: &mut Walker<'_>, key: &str) -> Walk<()> {
        match key {
            "kernel_dispatch" => self.list(walker, key, records::dispatch, |element, record| {
                element.note_times("kernel_dispatch", &record.head);
                element.add_dispatch(&record);
            }),
            "memory_copy" => self.list(walker, key, records::memory, Self::add_copy),
            "memory_allocation" => self.list(walker, key, records::memory, Self::add_allocation),
            "scratch_memory" => self.list(walker, key, records::memory, Self::add_scratch),
            "pc_sample_host_trap" | "pc_sample_stochastic" => {
                self.list(walker, key, records::sample, Self::add_sample)
            }
            _ if key.ends_with("_api") => {
                let domain = Domain::from_kind(key);
                let kind = self.builder.profile.strings.intern(&key.to_ascii_uppercase());
                self.list(walker, key, records::call, |element, head| {
                    element.add_call(key, domain, kind, &head)
                })
            }
            _ => self.unused(walker, key),
        }
    }

    /// Counts the records of a list that no analysis uses.
    fn unused(&mut self, walker: &mut Walker<'_>, name: &str) -> Walk<()> {
        let mut tally = Tally::default();
        let outcome = walker.records(&mut tally, self, |_, scanner| scanner.value().map(drop), |_, ()| {});
        self.faults.unused(name, tally);
        outcome
    }

    fn add_kernel(&mut self, (mut kernel, registers): (Kernel, Registers)) {
        kernel.process = self.process;
        // A symbol without any name that says something is known by its number.
        if kernel.mangled.is_none() {
            for name in [&mut kernel.truncated, &mut kernel.formatted] {
                *name = name.filter(|&name| name != StringId::EMPTY);
            }
        }
        let position = self.builder.add_kernel(kernel) as usize;
        if self.registers.len() <= position {
            self.registers.resize(position + 1, [0; 3]);
        }
        self.registers[position] = registers;
    }

    /// Adds a dispatch with handles and a launch configuration of this element in place of positions; returns its
    /// position.
    pub(super) fn add_dispatch(&mut self, record: &DispatchRecord) -> u32 {
        let DispatchRecord { head, info } = record;
        let launch = self.launches.insert(info.launch).0 as u32;
        let kernel = match info.kernel {
            Some(id) => self.builder.kernel(self.process, id),
            None => self.builder.named_kernel(Kernel { process: self.process, ..Kernel::default() }),
        };
        let agent = self.handles.position(info.agent);
        self.builder.dispatch(head.place(self.process, info.queue), info.dispatch, agent, kernel, launch)
    }

    /// Counts a record that does not say when it began or ended.
    pub(super) fn note_times(&mut self, list: &str, head: &Head) {
        if head.start.is_none() || head.end.is_none() {
            self.faults.without_times(list);
        }
    }

    fn add_copy(&mut self, record: MemoryRecord) {
        self.note_times("memory_copy", &record.head);
        let agents = [record.source, record.destination].map(|handle| self.handles.position(handle));
        let place = record.head.place(self.process, 0);
        self.builder.copy(place, StringId::EMPTY, CopyDirection::Other, record.bytes, agents);
        self.copy_labels.push(record.head.labels);
    }

    fn add_call(&mut self, list: &str, domain: Domain, kind: StringId, head: &Head) {
        self.note_times(list, head);
        self.builder.call(head.place(self.process, 0), domain, kind, StringId::EMPTY, 0);
        self.call_labels.push(head.labels);
    }

    fn add_allocation(&mut self, record: MemoryRecord) {
        self.note_times("memory_allocation", &record.head);
        let agent = self.handles.position(record.agent);
        let (place, bytes) = (record.head.place(self.process, 0), record.bytes.unwrap_or_default());
        self.builder.allocation(place, StringId::EMPTY, agent, record.address, bytes);
        self.allocation_labels.push(record.head.labels);
    }

    fn add_scratch(&mut self, record: MemoryRecord) {
        self.note_times("scratch_memory", &record.head);
        let agent = self.handles.position(record.agent);
        let place = record.head.place(self.process, record.queue);
        self.builder.scratch(place, StringId::EMPTY, agent, record.bytes);
        self.scratch_labels.push(record.head.labels);
    }

    fn add_sample(&mut self, (mut sample, instruction): (Sample, Option<i64>)) {
        sample.process = self.process;
        self.builder.profile.samples.push(sample);
        self.instructions.push(instruction);
    }
}
