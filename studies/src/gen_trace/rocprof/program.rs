//! What the profiled program does: two GPUs train in step, one thread of the host for each.

use super::kernels::{
    ADD, ALL_REDUCE, ATTENTION, CONCATENATE, COUNTERS, FILL, GEMM, LAYER_NORM, SUM, SYMBOLS, Symbol,
};
use super::run::{Agent, Allocation, Call, Copy, Direction, Dispatch, Domain, Run};
use crate::gen_trace::random::Random;

/// Position of the CPU among the agents; GPUs come behind.
const CPU: usize = 0;
const GPUS: usize = 2;

/// When the profiler was set up: hours after the machine was started.
const INIT: u64 = 63_855_948_165_371;

/// From there to the program's first call.
const START_UP: u64 = 900_000_000;

const LAYERS: usize = 2;

/// Bytes a copy moves in a microsecond: over the bus, and from GPU to GPU.
const BUS: u64 = 48_000;
const LINK: u64 = 41_000;

/// Instances of a counter: dies of the GPU.
const INSTANCES: u64 = 2;

/// A run with exactly so many calls, markers, dispatches, copies and allocations together.
pub(super) fn run(events: u64, seed: u64) -> Run {
    let mut player = Player::new(events, seed);
    (0..GPUS).for_each(|gpu| player.set_up(gpu));
    let mut step = 0;
    // A step writes something as long as there is room for a marker.
    while player.room(1) {
        (0..GPUS).for_each(|gpu| player.step(gpu, step));
        step += 1;
    }
    player.finish()
}

/// Where one GPU and the thread that drives it have come to.
#[derive(Clone, Copy)]
struct Lane {
    host: u64,
    compute: u64,
    communication: u64,
    /// Address of what it has allocated.
    address: u64,
}

struct Player {
    random: Random,
    /// Records that may still be written.
    left: u64,
    correlation: u64,
    lanes: [Lane; GPUS],
    run: Run,
}

impl Player {
    fn new(events: u64, seed: u64) -> Self {
        let start = INIT + START_UP;
        let lane = |gpu: u64| Lane {
            host: start + gpu * 37_000,
            compute: start,
            communication: start,
            address: 0x7f30_0000_0000 + (gpu << 36),
        };
        let gpu = |ordinal: u64| Agent {
            handle: 37_944 + 1 + ordinal,
            node: 1 + ordinal,
            ordinal,
            is_gpu: true,
            name: "gfx942",
            vendor: "AMD",
            product: "AMD Instinct MI300X",
        };
        let cpu = Agent {
            handle: 37_944,
            node: 0,
            ordinal: 0,
            is_gpu: false,
            name: "AMD EPYC 9654 96-Core Processor",
            vendor: "CPU",
            product: "AMD EPYC 9654 96-Core Processor",
        };
        let run = Run {
            process: 4_242,
            host: "node-7",
            command: &["python3", "train.py", "--gpus", "2"],
            init: INIT,
            fini: INIT,
            agents: [cpu, gpu(0), gpu(1)],
            calls: Vec::new(),
            dispatches: Vec::new(),
            copies: Vec::new(),
            allocations: Vec::new(),
        };
        Player { random: Random::new(seed), left: events, correlation: 0, lanes: [lane(0), lane(1)], run }
    }

    fn room(&self, records: u64) -> bool {
        self.left >= records
    }

    fn thread(&self, gpu: usize) -> u64 {
        self.run.process + gpu as u64 * 11
    }

    /// A call of the host that takes about so long; its number, start and end.
    fn call(&mut self, gpu: usize, domain: Domain, name: &str, duration: u64) -> (u64, u64, u64) {
        let duration = self.random.about(duration);
        let start = self.lanes[gpu].host + self.random.between(300, 1_400);
        let end = start + duration;
        self.lanes[gpu].host = end;
        (self.record(gpu, domain, name, start, end), start, end)
    }

    /// Writes a call down; its number.
    fn record(&mut self, gpu: usize, domain: Domain, name: &str, start: u64, end: u64) -> u64 {
        self.correlation += 1;
        self.left -= 1;
        let (thread, correlation) = (self.thread(gpu), self.correlation);
        self.run.calls.push(Call { domain, name: name.to_owned(), thread, correlation, start, end });
        correlation
    }

    fn set_up(&mut self, gpu: usize) {
        for bytes in [1 << 30, 96 << 20] {
            let (correlation, start, end) = self.call(gpu, Domain::Hip, "hipMalloc", 140_000);
            let address = self.lanes[gpu].address;
            self.lanes[gpu].address += bytes;
            self.allocate(gpu, address, bytes, correlation, (start + 2_000, end - 1_500));
        }
    }

    fn allocate(&mut self, gpu: usize, address: u64, bytes: u64, correlation: u64, (start, end): (u64, u64)) {
        self.left -= 1;
        let thread = self.thread(gpu);
        self.run.allocations.push(Allocation {
            agent: 1 + gpu,
            address,
            bytes,
            thread,
            correlation,
            start,
            end,
        });
    }

    /// One step of training, as much of it as there is room for, in a marker.
    fn step(&mut self, gpu: usize, step: u64) {
        // The place of the marker, which is written when it ends.
        if !self.room(1) {
            return;
        }
        self.left -= 1;
        let begin = self.lanes[gpu].host + 200;
        self.lanes[gpu].host = begin + 100;
        self.copy(gpu, Direction::HostToDevice, 8 << 20);
        self.launch(gpu, FILL, [4_096, 1, 1]);
        for layer in 0..LAYERS {
            self.launch(gpu, LAYER_NORM, [64 * 512, 4, 1]);
            self.launch(gpu, GEMM, [256 * 304, 1, 1]);
            self.launch(gpu, ATTENTION, [256 * 16, 32, 8]);
            self.launch(gpu, GEMM, [256 * 608, 1, 1]);
            self.launch(gpu, ADD, [256 * 2_048, 1, 1]);
            if layer == 0 {
                self.launch(gpu, CONCATENATE, [128 * 64, 2 * 8, 1]);
            }
        }
        self.all_reduce(gpu);
        self.launch(gpu, SUM, [32 * 4, 16, 1]);
        if step % 4 == 3 {
            self.copy(gpu, Direction::DeviceToDevice, 3 << 19);
        }
        self.copy(gpu, Direction::DeviceToHost, 4);
        self.synchronize(gpu);
        let end = self.lanes[gpu].host + 150;
        self.lanes[gpu].host = end;
        self.left += 1;
        self.record(gpu, Domain::Marker, &format!("step {step}"), begin, end);
    }

    /// A call that launches a kernel on the stream of computation.
    fn launch(&mut self, gpu: usize, symbol: usize, grid: [u64; 3]) {
        if !self.room(2) {
            return;
        }
        let function = if symbol == GEMM { "hipExtModuleLaunchKernel" } else { "hipLaunchKernel" };
        let (correlation, _, end) = self.call(gpu, Domain::Hip, function, 3_400);
        let symbol = &SYMBOLS[symbol];
        let start = self.lanes[gpu].compute.max(end + self.random.between(1_500, 4_500)) + 800;
        let end = start + self.random.about(symbol.duration);
        self.lanes[gpu].compute = end;
        self.dispatch(gpu, symbol, false, correlation, (start, end), grid);
    }

    /// A call of RCCL, and in it the call that launches its kernel on a stream of its own.
    fn all_reduce(&mut self, gpu: usize) {
        if !self.room(3) {
            return;
        }
        let begin = self.lanes[gpu].host + 500;
        self.lanes[gpu].host = begin + 6_000;
        let (correlation, _, end) = self.call(gpu, Domain::Hip, "hipExtLaunchKernel", 4_100);
        self.lanes[gpu].host = end + 900;
        self.record(gpu, Domain::Rccl, "ncclAllReduce", begin, end + 900);
        let symbol = &SYMBOLS[ALL_REDUCE];
        // Begins beside what computes, and ends behind it: part of it is exposed.
        let lane = self.lanes[gpu];
        let start = lane.communication.max(end + 5_000).max(lane.compute.saturating_sub(120_000));
        let end = start + self.random.about(symbol.duration);
        self.lanes[gpu].communication = end;
        self.dispatch(gpu, symbol, true, correlation, (start, end), [256 * 32, 1, 1]);
    }

    fn dispatch(
        &mut self,
        gpu: usize,
        symbol: &'static Symbol,
        communicates: bool,
        correlation: u64,
        (start, end): (u64, u64),
        grid: [u64; 3],
    ) {
        self.left -= 1;
        let waves = grid.iter().product::<u64>() / 64;
        let mut counters = Vec::new();
        if std::ptr::eq(symbol, &SYMBOLS[GEMM]) {
            for _ in 0..INSTANCES {
                counters.push([waves / INSTANCES, waves * 2_048, self.random.about((end - start) * 2)]);
            }
        }
        let lane = gpu as u64 * 2 + u64::from(communicates);
        self.run.dispatches.push(Dispatch {
            symbol,
            agent: 1 + gpu,
            queue: 16 + lane,
            stream: lane,
            thread: self.thread(gpu),
            correlation,
            start,
            end,
            grid,
            counters,
        });
    }

    /// A call that copies, on the stream of computation.
    fn copy(&mut self, gpu: usize, direction: Direction, bytes: u64) {
        if !self.room(2) {
            return;
        }
        let (agent, other) = (1 + gpu, 1 + (gpu + 1) % GPUS);
        let (source, destination, rate) = match direction {
            Direction::HostToDevice => (CPU, agent, BUS),
            Direction::DeviceToHost => (agent, CPU, BUS),
            Direction::DeviceToDevice => (agent, other, LINK),
        };
        let function = match direction {
            Direction::DeviceToDevice => "hipMemcpyPeerAsync",
            Direction::HostToDevice | Direction::DeviceToHost => "hipMemcpyAsync",
        };
        let (correlation, _, end) = self.call(gpu, Domain::Hip, function, 5_200);
        let start = self.lanes[gpu].compute.max(end + 2_200) + 600;
        let end = start + self.random.about(bytes * 1_000 / rate + 1_600);
        self.lanes[gpu].compute = end;
        self.left -= 1;
        let (stream, thread) = (gpu as u64 * 2, self.thread(gpu));
        self.run.copies.push(Copy {
            direction,
            source,
            destination,
            bytes,
            stream,
            thread,
            correlation,
            start,
            end,
        });
    }

    /// The host waits for everything that it has asked of the GPU.
    fn synchronize(&mut self, gpu: usize) {
        if !self.room(1) {
            return;
        }
        let lane = self.lanes[gpu];
        let start = lane.host + 400;
        let end = lane.compute.max(lane.communication).max(start) + self.random.between(2_000, 6_000);
        self.lanes[gpu] = Lane { host: end, ..lane };
        self.record(gpu, Domain::Hip, "hipStreamSynchronize", start, end);
    }

    fn finish(mut self) -> Run {
        let lanes = self.lanes.iter();
        let last = lanes.map(|lane| lane.host.max(lane.compute).max(lane.communication)).max();
        self.run.fini = last.unwrap_or(INIT) + START_UP / 4;
        debug_assert_eq!((self.left, COUNTERS.len()), (0, 3));
        self.run
    }
}
