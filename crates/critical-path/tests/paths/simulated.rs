//! What-if against the truth: programs whose timing is simulated are recorded, replayed with an operator changed, and
//! held against a simulation of the changed program.

use critical_path::{PathClass, Recorded, Replay, Scaling, Scope};
use perf_models::CommunicationPatterns;
use testdata::random::Random;
use trace_ingest::{
    Category, EventArguments, Flow, FlowEnd, FlowKind, Synchronization, Trace, TraceBuilder, TrackId,
};
use trace2tree::{TraceTree, TreeOptions};

/// Length of a call and of the launch of a graph, in ns.
const CALL: i64 = 2_500;
const GRAPH_CALL: i64 = 6_000;

/// How long it takes, in ns,
#[derive(Clone, Copy)]
struct Latencies {
    /// from the start of a launch to that of its kernel on a free stream,
    launch: i64,
    graph_launch: i64,
    /// between kernels of a stream,
    between: i64,
    /// between nodes of a graph,
    node: i64,
    /// from the end of the work that a call waits for to its return,
    wakeup: i64,
    /// and from thread to thread.
    hand_over: i64,
}

const USUAL: Latencies = Latencies {
    launch: 4_000,
    graph_launch: 9_000,
    between: 900,
    node: 600,
    wakeup: 2_000,
    hand_over: 25_000,
};

/// Everything begins when what it waits for has ended.
const NONE: Latencies =
    Latencies { launch: CALL, graph_launch: GRAPH_CALL, between: 0, node: 0, wakeup: 0, hand_over: 0 };

/// What a thread does, one after the other. Times are in ns.
#[derive(Clone, Debug)]
enum Action {
    /// An operator that only computes on the host.
    Host { op: usize, time: i64 },
    /// An operator that launches a kernel.
    Launch { op: usize, host: i64, stream: usize, kernel: i64 },
    /// An operator that replays a graph on a stream: nodes with their lane, time, and those before them.
    Graph { op: usize, stream: usize, nodes: Vec<(usize, i64, Vec<usize>)> },
    /// One stream waits for another.
    Wait { stream: usize, source: usize },
    /// The host waits for all streams.
    SyncDevice,
    /// The host waits for one stream.
    SyncStream { stream: usize },
    /// Nothing that is recorded.
    Python { time: i64 },
    /// Another thread does this meanwhile, and this one waits for it.
    Elsewhere(Vec<Action>),
}

const STREAMS: usize = 3;
const OPS: usize = 6;

/// A machine that runs actions and records what it does.
struct Machine {
    builder: TraceBuilder,
    latencies: Latencies,
    factors: [f64; OPS],
    free: Vec<Option<i64>>,
    /// By stream: when what it was told to wait for ends.
    waits: Vec<i64>,
    /// By stream: correlation of the last launch.
    correlation: i64,
    arrow: i64,
    end: i64,
}

impl Machine {
    fn new(latencies: Latencies, factors: [f64; OPS]) -> Self {
        Machine {
            builder: TraceBuilder::new(),
            latencies,
            factors,
            free: vec![None; STREAMS],
            waits: vec![0; STREAMS],
            correlation: 0,
            arrow: FlowKind::FIRST_GRAPH_DEPENDENCY,
            end: 0,
        }
    }

    fn scaled(&self, op: usize, time: i64) -> i64 {
        (time as f64 * self.factors[op]).round() as i64
    }

    fn host(
        &mut self,
        category: Category,
        name: &str,
        thread: i64,
        span: (i64, i64),
        arguments: EventArguments,
    ) {
        let track = self.builder.track(100, thread);
        self.builder.event(category, name, track, span.0, span.1 - span.0, arguments);
        self.end = self.end.max(span.1);
    }

    fn operator(&mut self, op: usize, thread: i64, span: (i64, i64)) {
        self.host(Category::CPU_OP, &format!("op{op}"), thread, span, EventArguments::default());
    }

    fn call(&mut self, name: &str, thread: i64, span: (i64, i64)) -> i64 {
        self.correlation += 1;
        let arguments = EventArguments { correlation: Some(self.correlation), ..EventArguments::default() };
        self.host(Category::CUDA_RUNTIME, name, thread, span, arguments);
        self.correlation
    }

    fn stream_track(&mut self, stream: usize) -> TrackId {
        self.builder.track(0, 7 + stream as i64)
    }

    fn device(&mut self, name: &str, stream: usize, span: (i64, i64), correlation: i64, node: Option<i64>) {
        let track = self.stream_track(stream);
        let arguments = EventArguments {
            correlation: Some(correlation),
            device: Some(0),
            stream: Some(7 + stream as i64),
            graph_node: node,
            ..EventArguments::default()
        };
        self.builder.event(Category::KERNEL, name, track, span.0, span.1 - span.0, arguments);
        self.end = self.end.max(span.1);
    }

    fn synchronization(
        &mut self,
        kind: &str,
        stream: usize,
        span: (i64, i64),
        correlation: i64,
        record: Option<(usize, i64)>,
    ) {
        let (category, kind_id) = (self.builder.category("cuda_sync"), self.builder.intern(kind));
        let track = self.stream_track(stream);
        let arguments = EventArguments {
            correlation: Some(correlation),
            device: Some(0),
            stream: Some(7 + stream as i64),
            synchronization: Some(Synchronization {
                kind: Some(kind_id),
                stream: record.map(|(source, _)| 7 + source as i64),
                record: record.map(|(_, record)| record),
            }),
            ..EventArguments::default()
        };
        self.builder.event(category, kind, track, span.0, span.1 - span.0, arguments);
    }

    /// When work can start on a stream whose launch allows it at a time.
    fn start(&mut self, stream: usize, launched: i64) -> i64 {
        let free = self.free[stream].map_or(0, |end| end + self.latencies.between);
        let waited = std::mem::take(&mut self.waits[stream]);
        launched.max(free).max(waited)
    }

    /// Runs actions on a thread from a time on, and returns when they are done.
    fn run(&mut self, actions: &[Action], thread: i64, mut now: i64) -> i64 {
        for action in actions {
            let begin = now;
            match action {
                Action::Host { op, time } => {
                    now += self.scaled(*op, *time).max(1);
                    self.operator(*op, thread, (begin, now));
                }
                Action::Launch { op, host, stream, kernel } => {
                    let half = self.scaled(*op, *host / 2);
                    let call = (begin + half, begin + half + self.scaled(*op, CALL).max(1));
                    now = call.1 + half.max(1);
                    self.operator(*op, thread, (begin, now));
                    let correlation = self.call("cudaLaunchKernel", thread, call);
                    let start = self.start(*stream, call.0 + self.latencies.launch);
                    let end = start + self.scaled(*op, *kernel);
                    self.device(&format!("kernel{op}"), *stream, (start, end), correlation, None);
                    self.free[*stream] = Some(end);
                }
                Action::Graph { op, stream, nodes } => {
                    let before = begin + self.scaled(*op, 1_000);
                    let call = (before, before + self.scaled(*op, GRAPH_CALL).max(1));
                    now = call.1 + self.scaled(*op, 500).max(1);
                    self.operator(*op, thread, (begin, now));
                    let correlation = self.call("cudaGraphLaunch", thread, call);
                    let root = self.start(*stream, call.0 + self.latencies.graph_launch);
                    // The first lane is the stream, the others have numbers of their own.
                    let lane_of = |lane: usize| if lane == 0 { *stream } else { 20 + lane };
                    let mut spans: Vec<(usize, i64, i64)> = Vec::new();
                    for (number, (lane, time, before)) in nodes.iter().enumerate() {
                        let lane = lane_of(*lane);
                        let ready = before
                            .iter()
                            .map(|&before| spans[before].2 + self.latencies.node)
                            .max()
                            .unwrap_or(root);
                        let end = ready + self.scaled(*op, *time).max(1);
                        self.device(
                            &format!("node{op}"),
                            lane,
                            (ready, end),
                            correlation,
                            Some(number as i64 + 1),
                        );
                        for &before in before {
                            let id = self.arrow;
                            self.arrow += 1;
                            let ends = [
                                (FlowEnd::Start, spans[before].0, spans[before].2),
                                (FlowEnd::Finish, lane, ready),
                            ];
                            for (end, lane, time) in ends {
                                let track = self.stream_track(lane);
                                let kind = FlowKind::GraphDependency;
                                self.builder.flow(Flow {
                                    kind,
                                    end,
                                    id,
                                    track,
                                    time: Some(time),
                                    event: None,
                                });
                            }
                        }
                        spans.push((lane, ready, end));
                    }
                    let last = spans.iter().map(|&(_, _, end)| end).max().unwrap();
                    // What comes behind a replay on its stream waits for all of it.
                    self.free[*stream] = Some(last);
                }
                Action::Wait { stream, source } => {
                    let record = self.call("cudaEventRecord", thread, (begin, begin + 1_000));
                    let wait = (begin + 1_000, begin + 2_000);
                    let correlation = self.call("cudaStreamWaitEvent", thread, wait);
                    self.synchronization(
                        "Stream Wait Event",
                        *stream,
                        wait,
                        correlation,
                        Some((*source, record)),
                    );
                    if let Some(end) = self.free[*source] {
                        self.waits[*stream] = self.waits[*stream].max(end + self.latencies.between);
                    }
                    now = wait.1;
                }
                Action::SyncDevice => {
                    let last = self.free.iter().flatten().max().copied();
                    now = (begin + CALL).max(last.map_or(0, |end| end + self.latencies.wakeup));
                    let correlation = self.call("cudaDeviceSynchronize", thread, (begin, now));
                    self.synchronization("Context Sync", 0, (begin, now), correlation, None);
                }
                Action::SyncStream { stream } => {
                    now = (begin + CALL).max(self.free[*stream].map_or(0, |end| end + self.latencies.wakeup));
                    let correlation = self.call("cudaStreamSynchronize", thread, (begin, now));
                    self.synchronization("Stream Sync", *stream, (begin, now), correlation, None);
                }
                Action::Python { time } => now += time,
                Action::Elsewhere(actions) => {
                    now = self.run(actions, thread + 1, begin + self.latencies.hand_over)
                        + self.latencies.hand_over;
                }
            }
        }
        now
    }
}

/// A program of some kind: bound by the host, by one stream, by several.
fn program(random: &mut Random, depth: usize) -> Vec<Action> {
    let host_bound = random.between(0, 3 - 1) == 0;
    let mut actions = Vec::new();
    let count = 15 + random.between(0, 40 - 1);
    for _ in 0..count {
        let op = random.between(0, OPS as u64 - 1) as usize;
        let stream = random.between(0, STREAMS as u64 - 1) as usize;
        let time = |random: &mut Random, most: u64| 1_000 + random.between(0, most - 1) as i64;
        let kernel_most = if host_bound { 8_000 } else { 150_000 };
        match random.between(0, 20 - 1) {
            0..=2 => actions.push(Action::Host { op, time: time(random, 40_000) }),
            3..=11 => {
                let (host, kernel) = (time(random, 20_000), time(random, kernel_most));
                actions.push(Action::Launch { op, host, stream, kernel });
            }
            12 | 13 => {
                let mut nodes: Vec<(usize, i64, Vec<usize>)> = vec![(0, time(random, kernel_most), vec![])];
                for number in 1..4 + random.between(0, 8 - 1) as usize {
                    let mut before = vec![random.between(0, number as u64 - 1) as usize];
                    if random.between(0, 2 - 1) == 0 && before[0] != number - 1 {
                        before.push(number - 1);
                    }
                    nodes.push((number % STREAMS, time(random, kernel_most), before));
                }
                actions.push(Action::Graph { op, stream, nodes });
            }
            14 | 15 => {
                let source = (stream + 1) % STREAMS;
                actions.push(Action::Wait { stream, source });
                let (host, kernel) = (time(random, 20_000), time(random, kernel_most));
                actions.push(Action::Launch { op, host, stream, kernel });
            }
            16 => actions.push(Action::SyncDevice),
            17 => actions.push(Action::SyncStream { stream }),
            18 => actions.push(Action::Python { time: time(random, 60_000) }),
            _ if depth == 0 => actions.push(Action::Elsewhere(program(random, 1))),
            _ => {}
        }
    }
    if depth == 0 {
        actions.push(Action::SyncDevice);
    }
    actions
}

/// The recorded trace and how long it took from its first event on.
fn simulate(actions: &[Action], latencies: Latencies, factors: [f64; OPS]) -> (Trace, i64) {
    let mut machine = Machine::new(latencies, factors);
    machine.run(actions, 1, 0);
    let end = machine.end;
    let trace = machine.builder.finish();
    let first = trace.origin();
    (trace, end - first)
}

#[test]
fn a_replay_without_a_change_takes_as_long_as_the_recording() {
    for seed in 0..200 {
        let actions = program(&mut Random::new(seed), 0);
        let (trace, length) = simulate(&actions, USUAL, [1.0; OPS]);
        let tree = TraceTree::build(trace, &TreeOptions::default());
        let recorded = Recorded::new(&tree, &Scope::Whole, &CommunicationPatterns::default());
        assert_eq!(recorded.faults(), [], "seed {seed}");
        assert_eq!(recorded.time(), 0..length, "seed {seed}");
        assert_eq!(Replay::new(&recorded).with(&[]).duration, length, "seed {seed}");
    }
}

#[test]
fn the_new_time_of_a_step_is_within_a_percent_of_the_truth() {
    let mut errors = Vec::new();
    for seed in 0..50 {
        let mut random = Random::new(1_000 + seed);
        let actions = program(&mut random, 0);
        let (op, factor) = (
            random.between(0, OPS as u64 - 1) as usize,
            [0.0, 0.25, 0.5, 2.0][random.between(0, 4 - 1) as usize],
        );
        let (trace, before) = simulate(&actions, USUAL, [1.0; OPS]);
        let mut factors = [1.0; OPS];
        factors[op] = factor;
        let (_, truth) = simulate(&actions, USUAL, factors);
        let tree = TraceTree::build(trace, &TreeOptions::default());
        let recorded = Recorded::new(&tree, &Scope::Whole, &CommunicationPatterns::default());
        let predicted = Replay::new(&recorded).with(&[Scaling { name: format!("op{op}"), factor }]).duration;
        let error = (predicted - truth) as f64 / truth as f64;
        errors.push((error.abs(), seed, before, truth, predicted, factor));
    }
    errors.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (worst, ..) = errors[0];
    assert!(worst <= 0.01, "{:#?}", &errors[..8]);
}

/// The longest chain of things that wait for each other is as long as such a program: nothing begins later than it can.
#[test]
fn where_nothing_takes_time_between_works_the_path_is_work_alone() {
    let between =
        [PathClass::KernelGap, PathClass::GraphDependency, PathClass::LaunchDelay, PathClass::Unknown];
    let mut on_device = 0;
    for seed in 0..1_000 {
        let actions = program(&mut Random::new(5_000 + seed), 0);
        let (trace, length) = simulate(&actions, NONE, [1.0; OPS]);
        let tree = TraceTree::build(trace, &TreeOptions::default());
        let recorded = Recorded::new(&tree, &Scope::Whole, &CommunicationPatterns::default());
        let path = recorded.wall_path();
        assert_eq!(path.iter().map(|part| part.duration()).sum::<i64>(), length, "seed {seed}");
        for part in &path {
            assert!(!between.contains(&part.class), "seed {seed}: {part:?}");
            // Work may end in a call that would have taken its time without it, too.
            assert!(part.class != PathClass::SyncReturn || part.duration() < CALL, "seed {seed}: {part:?}");
        }
        on_device += path.iter().filter(|part| part.class == PathClass::GpuCompute).count();
    }
    assert!(on_device > 5_000, "{on_device}");
}
