//! Gives times and numbers to a plan: the host's clocks, the streams' clocks, every counter.

use std::collections::VecDeque;

use super::Plants;
use super::allocator::Allocator;
use super::flavour::{Call, Flavour, Stream, Thread};
use super::placed::Placed;
use super::plan::{Frame, FrameName, Gradient, Kernel, MEMORY_RATE, Node, Op, OpKind, Transfer};
use super::random::Random;
use super::segment::{
    CallDetail, CallRecord, DeviceAnnotation, DeviceRecord, DeviceWork, FrameRecord, GradientFlow,
    MemoryRecord, OpRecord, SampleRecord, Segment, Span,
};

/// Start of the recording: nanoseconds since the machine started, 13 digits of microseconds.
const EPOCH: u64 = 3_545_056_405_000_000;

/// Launches that the driver takes before the first of them has begun.
const LAUNCH_QUEUE: usize = 1_024;

/// What each step leaks where that is planted, in bytes.
const LEAK: u64 = 4 << 20;
/// Of so many steps of the allocator one is lost where that is planted.
const LOSS_PERIOD: u64 = 40;
/// Nanoseconds from one sample of the counters to the next.
const SAMPLING_INTERVAL: u64 = 1_000_000;

/// Where in the program a plan runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) thread: Thread,
    /// The model's layer, which numbers its modules and its tape.
    pub(super) layer: usize,
}

/// An op that recorded a gradient.
#[derive(Debug, Clone, Copy)]
struct TapeEntry {
    sequence: u64,
    start: u64,
}

/// A Python frame that outlives the stretch it was entered in.
struct OpenFrame {
    name: FrameName,
    start: u64,
    id: u64,
    parent: Option<u64>,
    event_index: u64,
}

/// A profiler step that is not over.
struct OpenStep {
    name: String,
    start: u64,
    external_id: u64,
    event_index: u64,
    /// From the step's first work on the compute stream to its last.
    device: Option<Span>,
}

/// Where the program's clocks stood, and what memory it had.
#[derive(Clone)]
pub(super) struct Clocks {
    host: [u64; 2],
    streams: [u64; 3],
    step_on_device: Option<Span>,
    allocator: Allocator,
    leaks: bool,
    marks: Vec<u64>,
    launched: VecDeque<u64>,
}

/// Counters of everything that bears a number.
#[derive(Default)]
struct Counters {
    correlation: u64,
    external_id: u64,
    event_index: u64,
    python_id: u64,
    sequence: u64,
    gradient_flow: u64,
}

fn next(counter: &mut u64) -> u64 {
    *counter += 1;
    *counter
}

/// The state of the recorded program.
pub(super) struct Player {
    random: Random,
    /// Where each operator has numbers of its own. Such a program also has a launch queue that ends somewhere, copies
    /// that block, and kernels of which the durations are almost exact.
    placed: Option<Placed>,
    /// Starts of what was launched last.
    launched: VecDeque<u64>,
    /// Where the compute stream was when the program recorded events.
    marks: Vec<u64>,
    flavour: Flavour,
    python_frames: bool,
    host: [u64; 2],
    streams: [u64; 3],
    counters: Counters,
    externals: Vec<u64>,
    python_stack: [Vec<u64>; 2],
    open_frames: Vec<OpenFrame>,
    step: Option<OpenStep>,
    tape: Vec<Vec<TapeEntry>>,
    records_gradients: bool,
    allocator: Allocator,
    plants: Plants,
    /// Whether the step's leak is still to come.
    leaks: bool,
    /// Steps of the allocator so far.
    memory_events: u64,
    /// When counters are sampled next.
    next_sample: u64,
}

impl Player {
    pub(super) fn new(random: Random, flavour: Flavour, python_frames: bool, plants: Plants) -> Self {
        let mut player = Self {
            random,
            placed: None,
            launched: VecDeque::new(),
            marks: Vec::new(),
            flavour,
            python_frames,
            host: [EPOCH; 2],
            streams: [EPOCH; 3],
            counters: Counters::default(),
            externals: Vec::new(),
            python_stack: Default::default(),
            open_frames: Vec::new(),
            step: None,
            tape: Vec::new(),
            records_gradients: true,
            allocator: Allocator::new(),
            plants,
            leaks: false,
            memory_events: 0,
            next_sample: EPOCH,
        };
        player.counters.correlation = player.random.between(1_000, 60_000);
        player.host[0] += player.random.between(10_000, 900_000);
        player
    }

    /// A program in which each operator has random numbers of its own.
    pub(super) fn with_placed_numbers(seed: u64, flavour: Flavour, python_frames: bool) -> Self {
        let mut player = Self::new(Random::new(seed), flavour, python_frames, Plants::default());
        player.placed = Some(Placed::new(seed));
        player
    }

    /// Places the random numbers of what follows.
    pub(super) fn begin_stretch(&mut self, step: u64) {
        if let Some(placed) = &mut self.placed {
            placed.begin_step(step);
        }
    }

    /// A number of `low..high`.
    fn draw(&mut self, low: u64, high: u64) -> u64 {
        match &mut self.placed {
            Some(placed) => placed.between(low, high),
            None => self.random.between(low, high),
        }
    }

    pub(super) fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// The main thread's time.
    pub(super) fn now(&self) -> u64 {
        self.host[Thread::Main as usize]
    }

    pub(super) fn clocks(&self) -> Clocks {
        let step_on_device = self.step.as_ref().and_then(|step| step.device);
        Clocks {
            host: self.host,
            streams: self.streams,
            step_on_device,
            allocator: self.allocator.clone(),
            leaks: self.leaks,
            marks: self.marks.clone(),
            launched: self.launched.clone(),
        }
    }

    /// Goes back to where the clocks stood, as if what was played since had not happened. The
    /// numbers it took stay taken.
    pub(super) fn turn_back(&mut self, clocks: Clocks) {
        (self.host, self.streams) = (clocks.host, clocks.streams);
        (self.allocator, self.leaks) = (clocks.allocator, clocks.leaks);
        (self.marks, self.launched) = (clocks.marks, clocks.launched);
        if let Some(step) = &mut self.step {
            step.device = clocks.step_on_device;
        }
    }

    pub(super) fn start_of_recording() -> u64 {
        EPOCH
    }

    /// Events that ending the step and the frames will take.
    pub(super) fn events_to_close(&self) -> u64 {
        let step_events = if self.step.is_some() { 2 + self.allocator.live() as u64 } else { 0 };
        self.open_frames.len() as u64 + step_events
    }

    /// Moves a thread's clock on by `low..high` nanoseconds and returns the new time.
    fn advance(&mut self, thread: Thread, low: u64, high: u64) -> u64 {
        let time = self.draw(low, high);
        let clock = &mut self.host[thread as usize];
        *clock += time;
        *clock
    }

    /// Enters a frame that later stretches run in.
    pub(super) fn enter(&mut self, name: FrameName) {
        if !self.python_frames {
            return;
        }
        let start = self.advance(Thread::Main, 500, 3_000);
        let id = next(&mut self.counters.python_id);
        let stack = &mut self.python_stack[Thread::Main as usize];
        let parent = stack.last().copied();
        stack.push(id);
        let event_index = next(&mut self.counters.event_index);
        self.open_frames.push(OpenFrame { name, start, id, parent, event_index });
    }

    /// Leaves frames until only `depth` are left.
    pub(super) fn leave_to(&mut self, depth: usize, segment: &mut Segment<'_>) {
        while self.open_frames.len() > depth {
            let Some(frame) = self.open_frames.pop() else { break };
            self.python_stack[Thread::Main as usize].pop();
            let span = Span { start: frame.start, end: self.advance(Thread::Main, 300, 1_500) };
            segment.frames.push(FrameRecord {
                name: frame.name,
                thread: Thread::Main,
                layer: 0,
                span,
                id: frame.id,
                parent: frame.parent,
                event_index: frame.event_index,
            });
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.open_frames.len()
    }

    /// Begins a step that the recorder marks by this name.
    pub(super) fn begin_step(&mut self, name: String) {
        let start = self.advance(Thread::Main, 2_000, 20_000);
        let external_id = next(&mut self.counters.external_id);
        let event_index = next(&mut self.counters.event_index);
        self.step = Some(OpenStep { name, start, external_id, event_index, device: None });
        self.leaks = self.plants.leak;
    }

    /// Begins a forward pass, whose gradients are those that a backward pass replays.
    pub(super) fn begin_forward(&mut self, records_gradients: bool) {
        self.tape.clear();
        self.records_gradients = records_gradients;
    }

    /// Ends the step on the host, and its annotation on the device where it ran there. What memory it still has, it gives
    /// back.
    pub(super) fn end_step(&mut self, segment: &mut Segment<'_>) {
        let Some(step) = self.step.take() else { return };
        while let Some(block) = self.allocator.give_back_last() {
            self.record_memory(-(block.size as i64), block.address, Thread::Main, segment);
        }
        let end = self.advance(Thread::Main, 2_000, 20_000);
        if let Some(span) = step.device {
            let (name, external_id) = (step.name.clone(), step.external_id);
            segment.annotations.push(DeviceAnnotation { name, span, external_id });
        }
        segment.ops.push(OpRecord {
            kind: OpKind::Annotation,
            name: step.name.into(),
            arguments: "",
            thread: Thread::Main,
            span: Span { start: step.start, end },
            external_id: step.external_id,
            event_index: step.event_index,
            sequence: None,
        });
    }

    /// Autograd's thread starts to work where the main thread is.
    pub(super) fn begin_backward(&mut self) {
        let now = self.advance(Thread::Main, 5_000, 30_000);
        self.host[Thread::Autograd as usize] = now;
    }

    /// The main thread waits for autograd's.
    pub(super) fn end_backward(&mut self) {
        self.host[Thread::Main as usize] =
            self.host[Thread::Main as usize].max(self.host[Thread::Autograd as usize]);
    }

    /// Waits for the whole device, outside of any op.
    pub(super) fn synchronize(&mut self, segment: &mut Segment<'_>) {
        self.call(Call::SynchronizeDevice, Thread::Main, CallDetail::None, segment);
    }

    /// Runs a plan.
    pub(super) fn play<'p>(&mut self, nodes: &'p [Node], place: Place, segment: &mut Segment<'p>) {
        if let Some(placed) = &mut self.placed {
            placed.begin_layer(place.layer as u64);
        }
        for node in nodes {
            match node {
                Node::Frame(frame) => self.frame(frame, place, segment),
                Node::Op(op) => self.op(op, place, segment),
                Node::Launch(kernel) => {
                    let detail = CallDetail::Kernel(kernel);
                    let call = self.call(kernel.call, place.thread, detail, segment);
                    self.kernel(kernel, DeviceWork::Kernel(kernel), &mut segment.calls[call]);
                }
                Node::Graph(kernels) => {
                    let call = self.call(Call::LaunchGraph, place.thread, CallDetail::None, segment);
                    for kernel in kernels {
                        self.kernel(kernel, DeviceWork::GraphKernel(kernel), &mut segment.calls[call]);
                    }
                }
                Node::Copy(copy) => self.copy(copy, place.thread, segment),
                Node::Set(bytes) => {
                    let call = self.call(Call::Set, place.thread, CallDetail::None, segment);
                    let duration = 1_000 + bytes / MEMORY_RATE;
                    let work = DeviceWork::Set(*bytes);
                    self.on_device(work, Stream::Compute, duration, &mut segment.calls[call]);
                }
                Node::Call(call) => {
                    self.call(*call, place.thread, CallDetail::None, segment);
                }
                Node::Memory(bytes) => self.memory(*bytes, place.thread, segment),
                Node::Await(stream) => {
                    self.call(Call::WaitEvent, place.thread, CallDetail::None, segment);
                    let busy_until = self.streams[*stream as usize];
                    let compute = &mut self.streams[Stream::Compute as usize];
                    *compute = busy_until.max(*compute);
                }
                Node::Mark => {
                    self.call(Call::RecordEvent, place.thread, CallDetail::None, segment);
                    self.marks.push(self.streams[Stream::Compute as usize]);
                }
                Node::AwaitMark(before) => {
                    let mark = self.marks.iter().rev().nth(*before).copied().unwrap_or_default();
                    self.call_until(Call::SynchronizeEvent, mark, place.thread, CallDetail::None, segment);
                }
                Node::Pause(nanoseconds) => self.host[place.thread as usize] += nanoseconds,
            }
        }
    }

    fn frame<'p>(&mut self, frame: &'p Frame, place: Place, segment: &mut Segment<'p>) {
        if !self.python_frames {
            return self.play(&frame.children, place, segment);
        }
        if let Some(placed) = &mut self.placed {
            placed.enter(frame.name.text(), "");
        }
        let start = self.advance(place.thread, 100, 900);
        let id = next(&mut self.counters.python_id);
        let index = segment.frames.len();
        segment.frames.push(FrameRecord {
            name: frame.name,
            thread: place.thread,
            layer: place.layer as u64,
            span: Span { start, end: start },
            id,
            parent: self.python_stack[place.thread as usize].last().copied(),
            event_index: next(&mut self.counters.event_index),
        });
        self.python_stack[place.thread as usize].push(id);
        self.play(&frame.children, place, segment);
        self.python_stack[place.thread as usize].pop();
        segment.frames[index].span.end = self.advance(place.thread, 100, 700);
        if let Some(placed) = &mut self.placed {
            placed.leave();
        }
    }

    fn op<'p>(&mut self, op: &'p Op, place: Place, segment: &mut Segment<'p>) {
        if let Some(placed) = &mut self.placed {
            placed.enter(&op.name, &op.arguments);
        }
        let start = self.advance(place.thread, 200, 1_500);
        let external_id = next(&mut self.counters.external_id);
        let index = segment.ops.len();
        let sequence = self.sequence(op.gradient, place, start, segment);
        segment.ops.push(OpRecord {
            kind: op.kind,
            name: op.name.as_ref().into(),
            arguments: &op.arguments,
            thread: place.thread,
            span: Span { start, end: start },
            external_id,
            event_index: next(&mut self.counters.event_index),
            sequence,
        });
        self.externals.push(external_id);
        self.play(&op.children, place, segment);
        self.externals.pop();
        segment.ops[index].span.end = self.advance(place.thread, 200, 1_200);
        if let Some(placed) = &mut self.placed {
            placed.leave();
        }
    }

    /// The op's sequence number and forward thread, with what follows from it.
    fn sequence(
        &mut self,
        gradient: Gradient,
        place: Place,
        start: u64,
        segment: &mut Segment<'_>,
    ) -> Option<(u64, u64)> {
        let taped = |player: &Self, slot: usize| player.tape.get(place.layer)?.get(slot).copied();
        match gradient {
            Gradient::None => None,
            Gradient::Announces | Gradient::Records if !self.records_gradients => None,
            Gradient::Announces => Some((self.counters.sequence + 1, 0)),
            Gradient::Records => {
                let sequence = next(&mut self.counters.sequence);
                if self.tape.len() <= place.layer {
                    self.tape.resize_with(place.layer + 1, Vec::new);
                }
                self.tape[place.layer].push(TapeEntry { sequence, start });
                Some((sequence, 0))
            }
            Gradient::Evaluates(slot) => taped(self, slot).map(|entry| (entry.sequence, 1)),
            Gradient::Replays(slot) => {
                let entry = taped(self, slot)?;
                let id = next(&mut self.counters.gradient_flow);
                segment.gradient_flows.push(GradientFlow { id, forward: entry.start, backward: start });
                Some((entry.sequence, 1))
            }
        }
    }

    /// Records a runtime call and returns its place in the segment.
    fn call<'p>(
        &mut self,
        call: Call,
        thread: Thread,
        detail: CallDetail<'p>,
        segment: &mut Segment<'p>,
    ) -> usize {
        let until = match call {
            Call::SynchronizeStream => self.streams[Stream::Compute as usize],
            Call::SynchronizeDevice => self.streams.into_iter().max().unwrap_or_default(),
            _ => 0,
        };
        self.call_until(call, until, thread, detail, segment)
    }

    /// Records a runtime call that does not return before a time.
    fn call_until<'p>(
        &mut self,
        call: Call,
        mut until: u64,
        thread: Thread,
        detail: CallDetail<'p>,
        segment: &mut Segment<'p>,
    ) -> usize {
        let start = self.advance(thread, 150, 900);
        if self.placed.is_some() && matches!(detail, CallDetail::Kernel(_) | CallDetail::Copy(_)) {
            while self.launched.len() >= LAUNCH_QUEUE {
                until = until.max(self.launched.pop_front().unwrap_or_default());
            }
        }
        let (low, high) = match call {
            Call::LaunchKernel | Call::LaunchLibrary | Call::LaunchModule => (2_500, 6_500),
            Call::LaunchCollective | Call::Copy | Call::CopyAsync | Call::CopyBlocking => (6_000, 20_000),
            Call::LaunchGraph => (20_000, 60_000),
            Call::Set | Call::SynchronizeStream | Call::SynchronizeDevice | Call::SynchronizeEvent => {
                (2_000, 6_000)
            }
            Call::RecordEvent | Call::WaitEvent => (600, 2_000),
            Call::QueryCapture | Call::SetFunctionAttribute => (200, 1_200),
        };
        let time = self.draw(low, high);
        let clock = &mut self.host[thread as usize];
        *clock = until.max(*clock) + time;
        let end = *clock;
        segment.calls.push(CallRecord {
            api: self.flavour.api(call),
            thread,
            span: Span { start, end },
            external_id: self.externals.last().copied(),
            correlation: next(&mut self.counters.correlation),
            detail,
            device: Vec::new(),
        });
        segment.calls.len() - 1
    }

    fn kernel<'p>(&mut self, kernel: &Kernel, work: DeviceWork<'p>, call: &mut CallRecord<'p>) {
        if kernel.stream == Stream::Communication {
            // A collective waits for the gradients it sends.
            let ready = self.streams[Stream::Compute as usize];
            let free = &mut self.streams[Stream::Communication as usize];
            *free = ready.max(*free);
        }
        let duration = if self.placed.is_some() {
            kernel.duration - kernel.duration / 50 + self.draw(0, kernel.duration / 25 + 1)
        } else {
            self.random.about(kernel.duration)
        };
        self.on_device(work, kernel.stream, duration, call);
    }

    fn copy<'p>(&mut self, copy: &'p Transfer, thread: Thread, segment: &mut Segment<'p>) {
        let call = self.call(copy.call, thread, CallDetail::Copy(copy), segment);
        let duration = 900 + copy.bytes / copy.rate;
        self.on_device(DeviceWork::Copy(copy), copy.stream, duration, &mut segment.calls[call]);
        if copy.call == Call::CopyBlocking {
            let returned = self.streams[copy.stream as usize] + self.draw(2_000, 6_000);
            self.host[thread as usize] = returned;
            segment.calls[call].span.end = returned;
        }
    }

    /// Puts work on a stream: after its launch, and after what the stream has to do already.
    fn on_device<'p>(
        &mut self,
        work: DeviceWork<'p>,
        stream: Stream,
        duration: u64,
        call: &mut CallRecord<'p>,
    ) {
        let launched = call.span.end + self.draw(500, 3_000);
        let (low, high) = match (&self.placed, &work) {
            (None, _) => (600, 1_800),
            (Some(_), DeviceWork::GraphKernel(_)) => (300, 600),
            (Some(_), _) => (500, 1_000),
        };
        let free = self.streams[stream as usize] + self.draw(low, high);
        let start = launched.max(free);
        if self.placed.is_some() && call.device.is_empty() {
            self.launched.push_back(start);
        }
        let span = Span { start, end: start + duration };
        self.streams[stream as usize] = span.end;
        if let (Stream::Compute, Some(step)) = (stream, &mut self.step) {
            step.device =
                Some(Span { start: step.device.map_or(start, |device| device.start), end: span.end });
        }
        call.device.push(DeviceRecord { work, stream, span });
    }

    /// An allocation, or the deallocation of the last block of its size.
    fn memory(&mut self, bytes: i64, thread: Thread, segment: &mut Segment<'_>) {
        self.advance(thread, 100, 600);
        let from = self.draw(0, 1 << 24);
        let size = bytes.unsigned_abs();
        let block = match bytes {
            0.. => Some(self.allocator.take(size, from)),
            _ => self.allocator.give_back(size),
        };
        if let Some(block) = block {
            self.record_memory(bytes, block.address, thread, segment);
        }
        if bytes > 0 && std::mem::take(&mut self.leaks) {
            let block = self.allocator.leak(LEAK, from);
            self.record_memory(LEAK as i64, block.address, thread, segment);
        }
    }

    /// Records a step of the allocator on a thread, where it stands.
    fn record_memory(&mut self, bytes: i64, address: u64, thread: Thread, segment: &mut Segment<'_>) {
        self.memory_events += 1;
        let record = MemoryRecord {
            thread,
            time: self.host[thread as usize],
            bytes,
            allocated: self.allocator.allocated(),
            reserved: self.allocator.reserved(),
            address,
            event_index: next(&mut self.counters.event_index),
        };
        if !self.plants.loses_memory_events || !self.memory_events.is_multiple_of(LOSS_PERIOD) {
            segment.memory.push(record);
        }
    }

    /// Samples the counters that are due.
    pub(super) fn sample(&mut self, segment: &mut Segment<'_>) {
        while self.plants.counters && self.next_sample <= self.now() {
            // Between idle and full, in a rhythm that has nothing to do with the program's.
            let load = (self.next_sample / SAMPLING_INTERVAL % 7) as f64 / 6.0;
            let time = self.next_sample;
            segment.samples.extend([
                SampleRecord { counter: "Power (W)", time, value: 120.0 + 560.0 * load },
                SampleRecord { counter: "SM Clock (MHz)", time, value: 1_980.0 - 360.0 * load },
            ]);
            self.next_sample += SAMPLING_INTERVAL;
        }
    }
}
