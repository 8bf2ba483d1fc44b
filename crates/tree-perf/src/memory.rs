//! Memory of the devices over time, from what PyTorch's allocator said of every block that it gave out or took back: how
//! much is live, who asked for it, how long it stays, and what each step leaves behind.
//!
//! Totals are the allocator's own, so they are right from the first event on. Owners are known of the blocks that were
//! given out while the recording ran; what was live before, such as weights, stays unattributed.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use trace_ingest::{Category, EventId, MemoryDevice, MemoryEvent, PerString, StringId, Trace, TrackId};
use trace2tree::{TraceTree, is_module_frame};

/// Memory of all devices. Times are in the trace's unit, sizes in bytes.
pub(crate) struct MemoryUse {
    pub(crate) devices: Vec<DeviceMemory>,
    /// The program's marked steps, by start.
    pub(crate) steps: Vec<Step>,
    /// Whether the tree has frames of modules.
    pub(crate) has_modules: bool,
    /// Allocations that failed, by time.
    pub(crate) failures: Vec<Failure>,
    /// Events that do not say how much is allocated in all, as recorders of 2021 wrote them; they are in no figure.
    pub(crate) without_totals: usize,
}

/// An allocation that failed, and who asked for it.
pub(crate) struct Failure {
    pub(crate) time: i64,
    pub(crate) event: MemoryEvent,
    pub(crate) owner: Owner,
}

/// A range `ProfilerStep#…`.
pub(crate) struct Step {
    pub(crate) name: StringId,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

pub(crate) struct DeviceMemory {
    pub(crate) device: MemoryDevice,
    /// What is live before the first event.
    pub(crate) base: i64,
    /// After each event, in the order in which they happened. Never empty.
    pub(crate) states: Vec<State>,
    /// The first state with the most memory allocated.
    pub(crate) peak: usize,
    pub(crate) blocks: Vec<Block>,
    pub(crate) growths: Growths,
    /// Whether it grows from step to step.
    pub(crate) growth: Growth,
    /// Allocations that failed.
    pub(crate) failures: usize,
}

/// The device after an event of its allocator.
#[derive(Clone, Copy)]
pub(crate) struct State {
    pub(crate) time: i64,
    track: TrackId,
    /// Size of the block given out; negative when taken back.
    pub(crate) change: i64,
    pub(crate) allocated: i64,
    /// `None` on the CPU, whose allocator reserves nothing.
    pub(crate) reserved: Option<i64>,
}

/// A block of memory.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) bytes: i64,
    /// State that it was given out at; `None` of a block from before the recording.
    pub(crate) from: Option<usize>,
    /// State that it was taken back at, if it was.
    pub(crate) until: Option<usize>,
    pub(crate) owner: Owner,
}

/// Who asked for a block: names, where the thread was in such.
#[derive(Clone, Copy, Default)]
pub(crate) struct Owner {
    /// Innermost operator that does more than allocate, else the innermost.
    pub(crate) operator: Option<StringId>,
    pub(crate) outermost: Option<Outermost>,
    /// Innermost frame of a module.
    pub(crate) module: Option<StringId>,
}

#[derive(Clone, Copy)]
pub(crate) struct Outermost {
    pub(crate) name: StringId,
    end: i64,
}

/// How often the allocator asked the driver for more.
#[derive(Clone, Copy, Default)]
pub(crate) struct Growths {
    pub(crate) count: usize,
    pub(crate) bytes: i64,
    /// Calls of the driver that stand before them on their threads, and their time.
    pub(crate) calls: usize,
    pub(crate) time: i64,
}

/// What a step did to the memory of a device.
pub(crate) struct StepMemory {
    pub(crate) peak: i64,
    /// Live at the end.
    pub(crate) allocated: i64,
    /// More than at the end of the step before; of the first step, than at its start.
    pub(crate) growth: i64,
    /// What was given out in the step and is live at the end of the next; `None` of the last step.
    pub(crate) survivors: Option<i64>,
    /// The operator that most of it was given to.
    pub(crate) survivor: Option<StringId>,
    pub(crate) allocations: usize,
    pub(crate) churn: i64,
}

/// Whether memory grows from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Growth {
    /// The steps are too few to tell.
    Unknown,
    /// It does not, or not always.
    Steady,
    /// It does in every step from the third on, by so much in all of these.
    Leak { bytes: i64, steps: usize, owner: Option<StringId> },
}

/// A part of the time, with the extremes in it.
pub(crate) struct Bucket {
    pub(crate) start: i64,
    pub(crate) min: i64,
    pub(crate) max: i64,
    pub(crate) reserved: Option<i64>,
}

/// How long a block was needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Taken back while the outermost operator that it was given to still ran.
    WithinOperator,
    /// Taken back in the same step.
    WithinStep,
    /// Taken back later.
    Held,
    /// Not taken back while the recording ran.
    ToEnd,
    /// Given out before the recording began, and taken back while it ran.
    Preexisting,
}

impl Lifetime {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Lifetime::WithinOperator => "within operator",
            Lifetime::WithinStep => "within step",
            Lifetime::Held => "held",
            Lifetime::ToEnd => "to the end",
            Lifetime::Preexisting => "from before",
        }
    }
}

/// The largest of some sizes; of equal ones the first name.
pub(crate) fn largest(sizes: BTreeMap<StringId, i64>) -> Option<(StringId, i64)> {
    sizes.into_iter().max_by_key(|&(name, size)| (size, Reverse(name)))
}

impl MemoryUse {
    pub(crate) fn new(tree: &TraceTree) -> MemoryUse {
        let trace = tree.trace();
        let (steps, driver_calls) = (marked_steps(trace), driver_calls(trace));
        let mut stacks = HostStacks::new(tree);
        let (mut devices, mut without_totals) = (Vec::new(), 0);
        let failure = |(id, event): (EventId, MemoryEvent)| {
            let (track, time) = (trace.events().track(id), trace.events().start(id));
            Failure { time, event, owner: stacks.owner(track, time) }
        };
        let failures: Vec<Failure> = trace.failed_allocations().into_iter().map(failure).collect();
        for (device, events) in trace.allocations() {
            let all = events.len();
            let events: Vec<(EventId, MemoryEvent, i64)> =
                events.into_iter().filter_map(|(id, event)| Some((id, event, event.allocated?))).collect();
            without_totals += all - events.len();
            let failed = failures.iter().filter(|failure| failure.event.device == device).count();
            let mut memory = DeviceMemory::new(trace, device, &events, &mut stacks, &driver_calls, failed);
            if let Some(memory) = &mut memory {
                memory.growth = memory.growth_over(&steps);
            }
            devices.extend(memory);
        }
        let names_modules = |(_, name): (StringId, &str)| is_module_frame(name);
        let has_modules = tree.options().python_frames && trace.strings().iter().any(names_modules);
        MemoryUse { devices, steps, has_modules, failures, without_totals }
    }

    /// The step around a time.
    pub(crate) fn step_at(&self, time: i64) -> Option<&Step> {
        step_at(&self.steps, time).map(|at| &self.steps[at])
    }

    /// How long a block of a device was needed.
    pub(crate) fn lifetime(&self, device: &DeviceMemory, block: &Block) -> Lifetime {
        let Some(from) = block.from else { return Lifetime::Preexisting };
        let Some(until) = block.until else { return Lifetime::ToEnd };
        let (from, until) = (device.states[from], device.states[until]);
        let step = step_at(&self.steps, from.time);
        if from.track == until.track && block.owner.outermost.is_some_and(|around| until.time < around.end) {
            Lifetime::WithinOperator
        } else if step.is_some() && step == step_at(&self.steps, until.time) {
            Lifetime::WithinStep
        } else {
            Lifetime::Held
        }
    }
}

fn step_at(steps: &[Step], time: i64) -> Option<usize> {
    let at = steps.partition_point(|step| step.start <= time).checked_sub(1)?;
    (time < steps[at].end).then_some(at)
}

/// The steps that the program marked (`prof.step()`), by start.
pub(crate) fn marked_steps(trace: &Trace) -> Vec<Step> {
    let events = trace.events();
    let mut is_step = PerString::new(trace.strings(), |name: &str| name.starts_with("ProfilerStep#"));
    let mut steps: Vec<Step> = events
        .ids()
        .filter(|&event| {
            events.category(event) == Category::USER_ANNOTATION && *is_step.get(events.name(event))
        })
        .map(|event| Step { name: events.name(event), start: events.start(event), end: events.end(event) })
        .collect();
    steps.sort_few_by_key(|step| (step.start, step.end));
    steps
}

/// The calls of each thread that ask the driver for memory of a device: start and end, in that order.
type DriverCalls = HashMap<TrackId, Vec<(i64, i64)>>;

fn driver_calls(trace: &Trace) -> DriverCalls {
    let events = trace.events();
    let mut asks_driver = PerString::new(trace.strings(), |name: &str| {
        ["Malloc", "MemCreate", "MemAlloc"].iter().any(|part| name.contains(part)) && !name.contains("Host")
    });
    let mut calls = DriverCalls::new();
    for event in events.ids().filter(|&event| events.category(event).is_launch_api()) {
        if *asks_driver.get(events.name(event)) {
            calls.entry(events.track(event)).or_default().push((events.start(event), events.end(event)));
        }
    }
    calls.values_mut().for_each(|calls| calls.sort_unstable());
    calls
}

impl DeviceMemory {
    /// `None` without any event.
    fn new(
        trace: &Trace,
        device: MemoryDevice,
        events: &[(EventId, MemoryEvent, i64)],
        stacks: &mut HostStacks<'_>,
        driver_calls: &DriverCalls,
        failures: usize,
    ) -> Option<DeviceMemory> {
        let &(_, first, allocated) = events.first()?;
        let table = trace.events();
        let state = |&(id, event, allocated): &(EventId, MemoryEvent, i64)| State {
            time: table.start(id),
            track: table.track(id),
            change: event.bytes,
            allocated,
            reserved: event.reserved.filter(|_| !device.is_cpu()),
        };
        let states: Vec<State> = events.iter().map(state).collect();
        // Of equal ones the first.
        let peak = (0..states.len()).max_by_key(|&at| (states[at].allocated, Reverse(at)))?;
        let mut blocks: Vec<Block> = Vec::new();
        let mut live: HashMap<u64, usize> = HashMap::new();
        for (at, (_, event, _)) in events.iter().enumerate() {
            let Some(address) = event.address else { continue };
            let known = if event.bytes == 0 { None } else { live.remove(&address) };
            // Where a free is lost, the next block at the address says that it has happened.
            if let Some(block) = known {
                blocks[block].until = Some(at);
            }
            if event.bytes > 0 {
                let owner = stacks.owner(states[at].track, states[at].time);
                live.insert(address, blocks.len());
                blocks.push(Block { bytes: event.bytes, from: Some(at), until: None, owner });
            } else if event.bytes < 0 && known.is_none() {
                let owner = Owner::default();
                blocks.push(Block { bytes: -event.bytes, from: None, until: Some(at), owner });
            }
        }
        let growths = Growths::new(&states, driver_calls);
        let base = allocated - first.bytes;
        Some(DeviceMemory { device, base, states, peak, blocks, growths, growth: Growth::Unknown, failures })
    }

    /// The most that the allocator held.
    pub(crate) fn reserved_peak(&self) -> Option<i64> {
        self.states.iter().filter_map(|state| state.reserved).max()
    }

    /// Blocks given out while the recording ran that are live at the peak.
    pub(crate) fn live_at_peak(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(|block| block.from.is_some() && block.is_live(self.peak))
    }

    /// Their size.
    pub(crate) fn attributed(&self) -> i64 {
        sum(self.live_at_peak().map(|block| block.bytes))
    }

    /// Sizes of all blocks that were given out.
    pub(crate) fn churn(&self) -> i64 {
        churn(&self.states)
    }

    /// States before a time.
    fn until(&self, time: i64) -> usize {
        self.states.partition_point(|state| state.time < time)
    }

    /// What is live after so many events.
    fn allocated_after(&self, events: usize) -> i64 {
        events.checked_sub(1).map_or(self.base, |last| self.states[last].allocated)
    }

    /// What each of the steps did.
    pub(crate) fn in_steps(&self, steps: &[Step]) -> Vec<StepMemory> {
        let ranges: Vec<(usize, usize)> = steps
            .iter()
            .map(|step| {
                let start = self.until(step.start);
                (start, self.until(step.end).max(start))
            })
            .collect();
        let survivors = self.survivors(&ranges);
        let row = |(at, &(start, end)): (usize, &(usize, usize))| {
            let before = self.allocated_after(at.checked_sub(1).map_or(start, |previous| ranges[previous].1));
            let inside = &self.states[start..end];
            let allocated = self.allocated_after(end);
            let left = survivors.get(at).filter(|_| at + 1 < ranges.len());
            StepMemory {
                peak: inside.iter().map(|state| state.allocated).fold(self.allocated_after(start), i64::max),
                allocated,
                growth: allocated - before,
                survivors: left.map(|left| sum(left.values().copied())),
                survivor: left.and_then(|left| {
                    largest(left.iter().filter_map(|(&name, &size)| Some((name?, size))).collect())
                        .map(|(name, _)| name)
                }),
                allocations: inside.iter().filter(|state| state.change > 0).count(),
                churn: churn(inside),
            }
        };
        ranges.iter().enumerate().map(row).collect()
    }

    /// What was given out in each of the steps, which are ranges of states, and is live at the end of the next, by
    /// operator.
    fn survivors(&self, ranges: &[(usize, usize)]) -> Vec<BTreeMap<Option<StringId>, i64>> {
        let mut survivors = vec![BTreeMap::new(); ranges.len()];
        for block in &self.blocks {
            let Some(from) = block.from else { continue };
            let Some(step) = ranges.partition_point(|&(start, _)| start <= from).checked_sub(1) else {
                continue;
            };
            let Some(&(_, next_end)) = ranges.get(step + 1) else { continue };
            if from < ranges[step].1 && block.until.is_none_or(|until| until >= next_end) {
                let size: &mut i64 = survivors[step].entry(block.owner.operator).or_default();
                *size = size.saturating_add(block.bytes);
            }
        }
        survivors
    }

    /// Whether memory grows from step to step: in each from the third on, for the first ones set everything up, and by
    /// no less than a mebibyte and a thousandth of the peak in all.
    fn growth_over(&self, steps: &[Step]) -> Growth {
        const SET_UP: usize = 2;
        const FEWEST: usize = 4;
        const LEAST: i64 = 1 << 20;
        let rows = self.in_steps(steps);
        if rows.len() < FEWEST {
            return Growth::Unknown;
        }
        let later = &rows[SET_UP..];
        let grown = sum(later.iter().map(|row| row.growth));
        let peak = self.states[self.peak].allocated;
        if later.iter().any(|row| row.growth <= 0) || grown < LEAST.max(peak / 1000) {
            return Growth::Steady;
        }
        let mut owners: BTreeMap<StringId, i64> = BTreeMap::new();
        for row in later {
            if let (Some(owner), Some(size)) = (row.survivor, row.survivors) {
                let sum = owners.entry(owner).or_default();
                *sum = sum.saturating_add(size);
            }
        }
        let owner = largest(owners).map(|(owner, _)| owner);
        Growth::Leak { bytes: grown, steps: later.len(), owner }
    }

    /// The time from the first event to the last in at most so many equal parts, and no more than there are events.
    pub(crate) fn timeline(&self, most: usize) -> Vec<Bucket> {
        let (Some(first), Some(last)) = (self.states.first(), self.states.last()) else { return Vec::new() };
        let parts = most.min(self.states.len()) as i128;
        let span = i128::from(last.time - first.time) + 1;
        let mut buckets: Vec<Bucket> = Vec::new();
        let mut states = self.states.iter().peekable();
        let (mut allocated, mut reserved) = (first.allocated, first.reserved);
        for part in 0..parts {
            let time = |part: i128| first.time + (part * span / parts) as i64;
            let end = time(part + 1);
            let mut bucket = Bucket { start: time(part), min: allocated, max: allocated, reserved };
            while let Some(state) = states.next_if(|state| state.time < end) {
                (allocated, reserved) = (state.allocated, state.reserved);
                bucket.min = bucket.min.min(allocated);
                bucket.max = bucket.max.max(allocated);
                bucket.reserved = bucket.reserved.max(reserved);
            }
            buckets.push(bucket);
        }
        buckets
    }
}

fn sum(sizes: impl Iterator<Item = i64>) -> i64 {
    sizes.fold(0, i64::saturating_add)
}

fn churn(states: &[State]) -> i64 {
    sum(states.iter().map(|state| state.change.max(0)))
}

impl Block {
    /// Whether it is given out after the event of a state.
    pub(crate) fn is_live(&self, state: usize) -> bool {
        self.from.is_none_or(|from| from <= state) && self.until.is_none_or(|until| until > state)
    }
}

impl Growths {
    /// What a device reserved more after an event than before it. The calls between that event and the one before it on
    /// its thread are those that asked for it.
    fn new(states: &[State], driver_calls: &DriverCalls) -> Growths {
        let mut growths = Growths::default();
        let mut last_on: HashMap<TrackId, i64> = HashMap::new();
        for (before, state) in states.iter().zip(states.iter().skip(1)) {
            last_on.insert(before.track, before.time);
            let (Some(had), Some(has)) = (before.reserved, state.reserved) else { continue };
            if has <= had {
                continue;
            }
            growths.count += 1;
            growths.bytes = growths.bytes.saturating_add(has - had);
            let since = last_on.get(&state.track).copied().unwrap_or(before.time);
            let calls = driver_calls.get(&state.track).map_or(&[][..], Vec::as_slice);
            let first = calls.partition_point(|&(start, _)| start < since);
            for (start, end) in calls[first..].iter().take_while(|&&(_, end)| end <= state.time) {
                growths.calls += 1;
                growths.time += end - start;
            }
        }
        growths
    }
}

/// What the threads were in at any time.
struct HostStacks<'t> {
    tree: &'t TraceTree,
    roots: HashMap<TrackId, Vec<EventId>>,
    /// What a name says of an event.
    names: PerString<'t, NameClass>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NameClass {
    /// An operator that only allocates, for the operator around it.
    Allocator,
    /// The frame of a module.
    Module,
    Other,
}

impl NameClass {
    fn from_name(name: &str) -> NameClass {
        // All operators whose names begin so.
        const ALLOCATORS: [&str; 3] = ["aten::empty", "aten::new_empty", "aten::resize_"];
        if ALLOCATORS.iter().any(|start| name.starts_with(start)) {
            NameClass::Allocator
        } else if is_module_frame(name) {
            NameClass::Module
        } else {
            NameClass::Other
        }
    }
}

impl<'t> HostStacks<'t> {
    fn new(tree: &'t TraceTree) -> Self {
        let events = tree.trace().events();
        let mut roots: HashMap<TrackId, Vec<EventId>> = HashMap::new();
        for &root in tree.roots() {
            roots.entry(events.track(root)).or_default().push(root);
        }
        HostStacks { tree, roots, names: PerString::new(tree.trace().strings(), NameClass::from_name) }
    }

    /// Who asks for memory on a thread at a time.
    fn owner(&mut self, track: TrackId, time: i64) -> Owner {
        let (tree, events) = (self.tree, self.tree.trace().events());
        let Some(innermost) = self.innermost(track, time) else { return Owner::default() };
        let mut owner = Owner::default();
        let mut allocator = None;
        for event in std::iter::once(innermost).chain(tree.ancestors(innermost)) {
            let name = events.name(event);
            match (events.category(event), *self.names.get(name)) {
                (Category::CPU_OP, class) => {
                    owner.outermost = Some(Outermost { name, end: events.end(event) });
                    match class {
                        NameClass::Allocator => allocator = allocator.or(Some(name)),
                        _ => owner.operator = owner.operator.or(Some(name)),
                    }
                }
                (Category::PYTHON_FUNCTION, NameClass::Module) => owner.module = owner.module.or(Some(name)),
                _ => {}
            }
        }
        owner.operator = owner.operator.or(allocator);
        owner
    }

    /// The innermost event of a thread around a time.
    fn innermost(&self, track: TrackId, time: i64) -> Option<EventId> {
        let events = self.tree.trace().events();
        let around = |nodes: &[EventId]| {
            let started = nodes.partition_point(|&node| events.start(node) <= time);
            nodes[..started].last().copied().filter(|&node| time < events.end(node))
        };
        let mut found = around(self.roots.get(&track)?)?;
        loop {
            let children = self.tree.children(found);
            let hosts = children.partition_point(|&child| self.tree.is_host(child));
            match around(&children[..hosts]) {
                Some(inner) => found = inner,
                None => return Some(found),
            }
        }
    }
}
