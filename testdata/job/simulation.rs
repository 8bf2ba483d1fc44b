//! Plays the programs of all ranks together.

use std::collections::BTreeMap;

use super::fault::FaultKind;
use super::layout::Dimension;
use super::program::{Exchange, Op, Work};
use super::recording::Recorder;
use super::{Job, TrueCollective};
use crate::random::Random;

/// Host time of an operator before its launch, of the launch, and what a kernel takes from there to its start.
const OPERATOR: i64 = 8_000;
const LAUNCH: i64 = 4_000;
const LATENCY: i64 = 2_000;
/// Between two kernels of a stream.
const GAP: i64 = 1_000;
/// Kernels differ by so much of their duration, one part in this many.
const NOISE: i64 = 50;

/// What ranks meet in: a group, the source and the destination of a transfer, and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Meeting {
    pub(super) group: u32,
    pub(super) pair: Option<(u32, u32)>,
    pub(super) number: u32,
}

/// What a rank comes to a meeting with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coming {
    pub(super) meeting: Meeting,
    pub(super) exchange: Exchange,
    /// Whether it gets data of one other rank, or gives them.
    pub(super) receives: bool,
    pub(super) entry: i64,
    step: u32,
}

/// The outcome.
#[derive(Default)]
pub(super) struct Simulation {
    pub(super) ends: Vec<Vec<i64>>,
    pub(super) collectives: Vec<TrueCollective>,
    pub(super) lateness: Vec<Vec<i64>>,
    pub(super) steps: Vec<i64>,
    /// When clocks are set: in the second step.
    pub(super) jump: i64,
    meetings: BTreeMap<Meeting, Vec<(u32, Coming)>>,
}

impl Simulation {
    pub(super) fn run(job: &Job) -> Result<Self, String> {
        let ranks = job.plan.ranks as usize;
        let mut simulation = Simulation {
            ends: vec![Vec::new(); ranks],
            lateness: vec![vec![0; job.plan.steps as usize]; ranks],
            ..Simulation::default()
        };
        let mut players: Vec<Player<'_>> = (0..job.plan.ranks).map(|rank| Player::new(job, rank)).collect();
        let mut ready: Vec<u32> = (0..job.plan.ranks).rev().collect();
        while let Some(rank) = ready.pop() {
            let player = &mut players[rank as usize];
            while let Some(coming) = player.play(&simulation.ends[rank as usize], None) {
                if let Some(met) = simulation.meet(job, rank, coming) {
                    ready.extend(met.into_iter().filter(|&other| other != rank));
                } else {
                    break;
                }
            }
        }
        if let Some(player) = players.iter().find(|player| !player.is_done()) {
            return Err(format!("rank {} waits forever", player.rank));
        }
        simulation.steps = std::mem::take(&mut players[0].step_durations);
        simulation.jump = simulation.steps.first().map_or(0, |first| first * 3 / 2);
        Ok(simulation)
    }

    /// A rank enters; with the last one of a meeting all learn its end.
    fn meet(&mut self, job: &Job, rank: u32, coming: Coming) -> Option<Vec<u32>> {
        let group = &job.groups.all[coming.meeting.group as usize];
        let needed = if coming.meeting.pair.is_some() { 2 } else { group.members.len() };
        let there = self.meetings.entry(coming.meeting).or_default();
        there.push((rank, coming));
        if there.len() < needed {
            return None;
        }
        let mut there = self.meetings.remove(&coming.meeting)?;
        there.sort_by_key(|(rank, _)| *rank);
        let Meeting { group: number, pair, number: ordinal } = coming.meeting;
        let lane =
            pair.map_or(0, |(source, destination)| 1 + (u64::from(source) << 32 | u64::from(destination)));
        let mut random = job.plan.random([u64::from(number), lane, u64::from(ordinal)]);
        let Exchange { dimension, transfer, .. } = coming.exchange;
        let mut duration =
            transfer - transfer / NOISE + random.between(0, (transfer / NOISE * 2) as u64 + 1) as i64;
        for fault in &job.plan.faults {
            let is_link = fault.kind == FaultKind::SlowLink
                && fault.steps.contains(&coming.step)
                && group.members.contains(&fault.at)
                && dimension == job.slow_dimension();
            if is_link {
                let exchanges = job.program(rank).exchanges_of(dimension).max(1);
                duration += fault.amount * 1_000 / exchanges as i64;
            }
        }
        let latest = there.iter().map(|(_, coming)| coming.entry).max().unwrap_or(0);
        let mut members = Vec::with_capacity(there.len());
        for (rank, _) in &there {
            let jitter = random.between(0, 2 * job.plan.end_jitter.unsigned_abs() + 1) as i64;
            let ends = &mut self.ends[*rank as usize];
            members.push((*rank, ends.len() as u32));
            ends.push(latest + duration + jitter);
        }
        let synchronising = pair.is_none() && there.len() > 1;
        if synchronising {
            let mut entries: Vec<(i64, u32)> =
                there.iter().map(|(rank, coming)| (coming.entry, *rank)).collect();
            entries.sort_unstable();
            let [middle, last] = [entries[(entries.len() - 1) / 2], entries[entries.len() - 1]];
            self.lateness[last.1 as usize][coming.step as usize] += last.0 - middle.0;
        }
        let met = members.iter().map(|member| member.0).collect();
        self.collectives.push(TrueCollective { group: number, members, synchronising });
        Some(met)
    }
}

impl Job {
    /// Whose collectives a slow link makes longer: those of the innermost groups.
    pub(super) fn slow_dimension(&self) -> Dimension {
        let parallelism = self.plan.parallelism;
        match () {
            () if parallelism.tensor > 1 => Dimension::Tensor,
            () if parallelism.expert > 1 => Dimension::Expert,
            () => Dimension::Data,
        }
    }
}

/// Streams of a device beside that of computation.
const STREAMS: usize = 7;

/// A rank on its way through the program. Times are nanoseconds since the start of the job.
pub(super) struct Player<'j> {
    job: &'j Job,
    rank: u32,
    random: Random,
    step: u32,
    at: usize,
    host: i64,
    /// When the stream of computation is free.
    computation: i64,
    /// When those of communication are: by dimension, then of sends and receives.
    streams: [i64; STREAMS],
    exchanges: u32,
    /// Numbers of the next collective by dimension, and of the transfers by direction.
    numbers: [u32; 5],
    transfers: [u32; 4],
    step_start: i64,
    step_durations: Vec<i64>,
}

/// A kernel that was launched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launched<'a> {
    pub(super) operator: &'a str,
    pub(super) name: &'a str,
    pub(super) stream: u64,
    /// Of the operator.
    pub(super) begun: i64,
    /// Of the call that launches.
    pub(super) launch: i64,
    pub(super) launched: i64,
    pub(super) start: i64,
    pub(super) end: i64,
}

impl<'j> Player<'j> {
    pub(super) fn new(job: &'j Job, rank: u32) -> Self {
        let mut random = job.plan.random([1, u64::from(rank), 0]);
        let start = random.between(0, 20_000) as i64;
        Player {
            job,
            rank,
            random,
            step: 0,
            at: 0,
            host: start,
            computation: start,
            streams: [start; STREAMS],
            exchanges: 0,
            numbers: [0; 5],
            transfers: [0; 4],
            step_start: start,
            step_durations: Vec::new(),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.step >= self.job.plan.steps
    }

    fn noisy(&mut self, duration: i64) -> i64 {
        let noise = duration / NOISE;
        duration - noise + self.random.between(0, 2 * noise as u64 + 1) as i64
    }

    /// A call of the host that takes so long, and longer on a busy host.
    fn call(&mut self, duration: i64) -> i64 {
        let ops = self.job.program(self.rank).ops.len().max(1) as i64;
        duration + self.amount(FaultKind::SlowHost) / ops
    }

    /// Nanoseconds of a fault in this step.
    fn amount(&self, kind: FaultKind) -> i64 {
        self.job.plan.amount(kind, self.rank, self.step) * 1_000
    }

    /// Plays on until it comes to a collective whose end is not known, and returns that; `None` at the end.
    pub(super) fn play(
        &mut self,
        ends: &[i64],
        mut recorder: Option<&mut Recorder<'_, '_>>,
    ) -> Option<Coming> {
        while !self.is_done() {
            let op = self.job.program(self.rank).ops[self.at];
            if let Some(coming) = self.coming(op) {
                let Some(&end) = ends.get(self.exchanges as usize) else { return Some(coming) };
                self.exchange(coming, end, recorder.as_deref_mut());
            } else {
                self.operation(op, recorder.as_deref_mut());
            }
            self.at += 1;
            if op == Op::EndStep {
                (self.at, self.step) = (0, self.step + 1);
            }
        }
        None
    }

    /// The meeting that an operation is; `None` of others.
    fn coming(&mut self, op: Op) -> Option<Coming> {
        let entry = |player: &mut Self, stream: usize| {
            let launched = player.host + player.call(OPERATOR) + player.call(LAUNCH);
            (launched + LATENCY).max(player.streams[stream] + GAP).max(player.computation)
        };
        let transfer = |player: &mut Self, backward: bool, receives: bool| {
            let plan = &player.job.plan;
            let stage = plan.parallelism.tensor * plan.parallelism.data;
            let own = player.rank;
            let other = if backward == receives { own + stage } else { own - stage };
            let pair = if receives { (other, own) } else { (own, other) };
            let number = player.transfers[usize::from(backward) * 2 + usize::from(receives)];
            let exchange = Exchange {
                dimension: Dimension::Pipeline,
                operator: if receives { "c10d::recv_" } else { "c10d::send" },
                name: if receives { "recv" } else { "send" },
                kernel: "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
                dtype: "BFloat16",
                elements: 8 << 20,
                transfer: 60_000,
                blocking: receives,
            };
            let group = player.job.groups.of(own, Dimension::Pipeline)?;
            let meeting = Meeting { group, pair: Some(pair), number };
            let entry = entry(player, stream(&exchange, backward));
            Some(Coming { meeting, exchange, receives, entry, step: player.step })
        };
        match op {
            Op::Exchange(exchange) => {
                let dimension = exchange.dimension;
                let group = self.job.groups.of(self.rank, dimension)?;
                let meeting = Meeting { group, pair: None, number: self.numbers[dimension as usize] };
                let entry = entry(self, dimension as usize);
                Some(Coming { meeting, exchange, receives: false, entry, step: self.step })
            }
            Op::Send { backward } => transfer(self, backward, false),
            Op::Receive { backward } => transfer(self, backward, true),
            _ => None,
        }
    }

    fn exchange(&mut self, coming: Coming, end: i64, recorder: Option<&mut Recorder<'_, '_>>) {
        let Coming { meeting, exchange, receives, entry, .. } = coming;
        let begun = self.host;
        let launch = begun + self.call(OPERATOR);
        self.host = launch + self.call(LAUNCH);
        let backward = meeting.pair.is_some_and(|(source, destination)| source > destination);
        let stream = stream(&exchange, backward);
        self.streams[stream] = end;
        if exchange.blocking {
            self.computation = self.computation.max(end);
        }
        match meeting.pair {
            Some(_) => self.transfers[usize::from(backward) * 2 + usize::from(receives)] += 1,
            None => self.numbers[exchange.dimension as usize] += 1,
        }
        if let Some(recorder) = recorder {
            let (operator, name) = (exchange.operator, exchange.kernel);
            let stream = exchange.dimension.stream() + 2 * (stream as u64).saturating_sub(4);
            let launched = self.host;
            let kernel = Launched { operator, name, stream, begun, launch, launched, start: entry, end };
            let transfers: u32 = self.transfers.iter().sum();
            recorder.collective(&kernel, &coming, self.exchanges, transfers);
        }
        self.exchanges += 1;
    }

    fn operation(&mut self, op: Op, mut recorder: Option<&mut Recorder<'_, '_>>) {
        let begun = self.host;
        let mut annotate = |category, name: &str, start, end| {
            if let Some(recorder) = recorder.as_deref_mut() {
                recorder.host(category, name, start, end);
            }
        };
        match op {
            Op::BeginStep => self.step_start = self.host,
            Op::Load => {
                let usual = self.noisy(40_000);
                self.host += usual + self.amount(FaultKind::DataLoader);
                let name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
                annotate("user_annotation", name, begun, self.host);
            }
            Op::Stall => self.host += self.amount(FaultKind::HostStall),
            Op::Collect => {
                self.host += self.amount(FaultKind::GarbageCollection);
                if self.host > begun {
                    annotate("python_function", "<built-in function collect>", begun, self.host);
                }
            }
            Op::Preempt => {
                // Another program has the device until then.
                let idle = self.amount(FaultKind::DeviceIdle);
                self.computation =
                    if idle > 0 { self.computation.max(self.host) + idle } else { self.computation };
            }
            Op::Launch(work) => self.launch(work, recorder),
            Op::Copy => {
                let duration = self.noisy(60_000) + self.amount(FaultKind::SlowCopy);
                let (start, end) = self.on_computation(duration);
                if let Some(recorder) = recorder {
                    let launch = begun + self.call(OPERATOR);
                    let (operator, name) = ("aten::copy_", "Memcpy HtoD (Pinned -> Device)");
                    recorder.copy(&Launched {
                        operator,
                        name,
                        stream: 7,
                        begun,
                        launch,
                        launched: self.host,
                        start,
                        end,
                    });
                }
            }
            Op::Await => {
                let latest = self.streams.iter().copied().max().unwrap_or(0);
                self.computation = self.computation.max(latest);
            }
            Op::Synchronise => {
                self.host = self.host.max(self.computation) + 5_000;
                annotate("cuda_runtime", "cudaStreamSynchronize", begun, self.host);
            }
            Op::EndStep => {
                let name = format!("ProfilerStep#{}", self.step + super::recording::FIRST_STEP);
                annotate("user_annotation", &name, self.step_start, self.host);
                self.step_durations.push(self.host - self.step_start);
                if let Some(recorder) = recorder {
                    recorder.step_ended(self.step);
                }
            }
            Op::Exchange(_) | Op::Send { .. } | Op::Receive { .. } => {}
        }
    }

    /// Runs something on the stream of computation.
    fn on_computation(&mut self, duration: i64) -> (i64, i64) {
        self.host += self.call(OPERATOR) + self.call(LAUNCH);
        let start = (self.host + LATENCY).max(self.computation + GAP);
        self.computation = start + duration;
        (start, self.computation)
    }

    fn launch(&mut self, work: Work, recorder: Option<&mut Recorder<'_, '_>>) {
        let begun = self.host;
        let program = self.job.program(self.rank);
        let mut duration = self.noisy(work.duration);
        if work.is_gemm {
            duration += self.amount(FaultKind::SlowGemm) / program.launches(true).max(1) as i64;
        }
        duration += self.amount(FaultKind::SlowDevice) / program.launches(false).max(1) as i64;
        let (start, end) = self.on_computation(duration);
        if let Some(recorder) = recorder {
            let Work { operator, kernel, .. } = work;
            let launch = begun + self.call(OPERATOR);
            recorder.kernel(&Launched {
                operator,
                name: kernel,
                stream: 7,
                begun,
                launch,
                launched: self.host,
                start,
                end,
            });
        }
    }
}

/// Sends and receives of a pipeline, forward and backward, have a stream each.
fn stream(exchange: &Exchange, backward: bool) -> usize {
    match (exchange.dimension, exchange.blocking) {
        (Dimension::Pipeline, receives) => match (receives, backward) {
            (false, false) => Dimension::Pipeline as usize,
            (false, true) => 5,
            (true, _) => 6,
        },
        (dimension, _) => dimension as usize,
    }
}
