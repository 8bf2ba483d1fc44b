//! Jobs of many ranks, simulated, and their recordings as Kineto writes them.
//!
//! A [`JobPlan`] says how many ranks train a model, how they share the work and what goes wrong. [`Job::new`] plays it: a
//! kernel starts when it is launched and its stream is free, and a collective ends on all members together, so that
//! waiting is part of its duration. [`Job::truth`] is what happened; [`Job::recording`] is what a rank's profiler saw of
//! it, on the clock of its host. The same plan gives the same bytes.

mod fault;
mod layout;
mod program;
mod recording;
mod simulation;

use std::collections::BTreeMap;

pub use fault::{Fault, FaultKind};
pub use layout::{Dimension, Group, Parallelism};

use layout::Groups;
use program::Program;
pub use recording::Recording;
use simulation::Simulation;

use crate::random::Random;

/// What is simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPlan {
    /// Number of ranks.
    pub ranks: u32,
    /// Devices of a host.
    pub ranks_per_host: u32,
    /// How they share the work.
    pub parallelism: Parallelism,
    /// Steps of training, all recorded.
    pub steps: u32,
    /// Each rank has at least so many kernels of collectives: the model has as many layers as that needs.
    pub collectives: u32,
    /// Of the random numbers.
    pub seed: u64,
    /// Where collectives are numbered.
    pub numbered: Numbered,
    /// Whether the groups of a dimension share a name.
    pub same_names: bool,
    /// A rank leaves a collective up to twice this later than the first could, in nanoseconds.
    pub end_jitter: i64,
    /// Names of the files.
    pub naming: Naming,
    /// What goes wrong.
    pub faults: Vec<Fault>,
}

/// Which events bear the number of their collective.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Numbered {
    /// None, as PyTorch did until 2026-03.
    Nowhere,
    /// The host's call.
    Operator,
    /// The host's call and the kernel.
    #[default]
    Kernel,
}

/// How files are called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Naming {
    /// `gpu-03_4713.1690000000123.pt.trace.json`: host, process and time.
    #[default]
    Host,
    /// `rank7_trace.json`.
    Rank,
}

impl JobPlan {
    /// A job of four steps on hosts of four devices, without faults.
    pub fn new(ranks: u32, parallelism: Parallelism, seed: u64) -> Self {
        JobPlan {
            ranks,
            ranks_per_host: 4,
            parallelism,
            steps: 4,
            collectives: 32,
            seed,
            numbered: Numbered::default(),
            same_names: false,
            end_jitter: 1_500,
            naming: Naming::default(),
            faults: Vec::new(),
        }
    }

    /// The host of a rank.
    pub fn host(&self, rank: u32) -> u32 {
        rank / self.ranks_per_host.max(1)
    }

    /// The amount of a fault of a rank in a step; 0 without.
    fn amount(&self, kind: FaultKind, rank: u32, step: u32) -> i64 {
        let of = |fault: &&Fault| fault.kind == kind && fault.at == rank && fault.steps.contains(&step);
        self.faults.iter().filter(of).map(|fault| fault.amount).sum()
    }

    /// A fault of a rank's recording or a host's clock.
    fn fault(&self, kind: FaultKind, at: u32) -> Option<i64> {
        self.faults.iter().find(|fault| fault.kind == kind && fault.at == at).map(|fault| fault.amount)
    }

    /// A random number that belongs to something of the job.
    fn random(&self, what: [u64; 3]) -> Random {
        let mut seed = Random::new(self.seed).next();
        for part in what {
            seed = Random::new(seed ^ part).next();
        }
        Random::new(seed)
    }

    /// What the file of a rank is called.
    pub fn file_name(&self, rank: u32) -> String {
        match self.naming {
            Naming::Host => {
                let (host, process) = (self.host(rank), 4_700 + rank % self.ranks_per_host.max(1));
                format!("gpu-{host:02}_{process}.{}.pt.trace.json", 1_767_189_400_123 + u64::from(rank))
            }
            Naming::Rank => format!("rank{rank}_trace.json"),
        }
    }
}

/// A collective, or one transfer from a rank to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrueCollective {
    /// Index among [`Truth::groups`].
    pub group: u32,
    /// Rank, and index of the collective among those of the rank, in the order of its program.
    pub members: Vec<(u32, u32)>,
    /// Whether nobody leaves before all have entered.
    pub synchronising: bool,
}

/// What happened in a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Truth {
    /// Groups of ranks.
    pub groups: Vec<Group>,
    /// All collectives, in the order in which they ended.
    pub collectives: Vec<TrueCollective>,
    /// By rank and step the sum of the times in nanoseconds by which the rank entered collectives after the middle rank,
    /// where it was the last.
    pub lateness: Vec<Vec<i64>>,
    /// Duration of the steps on the first rank in nanoseconds.
    pub steps: Vec<i64>,
    /// Clocks of hosts against true time.
    pub clocks: Vec<TrueClock>,
    /// What made ranks late.
    pub causes: Vec<Fault>,
}

/// The clock of a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrueClock {
    /// Nanoseconds ahead at the start of the job.
    pub offset: i64,
    /// Nanoseconds per second that it gains.
    pub drift: i64,
    /// When it was set, in nanoseconds since the start of the job, and by how much.
    pub jump: Option<(i64, i64)>,
}

impl TrueClock {
    /// What it shows at a time.
    pub fn at(&self, time: i64) -> i64 {
        let drift = i128::from(time) * i128::from(self.drift) / 1_000_000_000;
        let jump = self.jump.map_or(0, |(at, by)| if time >= at { by } else { 0 });
        time + self.offset + drift as i64 + jump
    }
}

/// A file of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingFile {
    /// Rank.
    pub rank: u32,
    /// Its name.
    pub name: String,
}

/// A job that was played.
#[derive(Debug)]
pub struct Job {
    plan: JobPlan,
    groups: Groups,
    /// By stage.
    programs: Vec<Program>,
    /// By rank when its collectives ended.
    ends: Vec<Vec<i64>>,
    truth: Truth,
}

impl Job {
    /// Plays a job.
    ///
    /// # Errors
    /// In words, when ranks wait for each other forever.
    pub fn new(plan: JobPlan) -> Result<Self, String> {
        let groups = Groups::new(plan.ranks, plan.parallelism, plan.same_names);
        let stages = 0..plan.parallelism.pipeline;
        let programs = |layers| -> Vec<Program> {
            stages.clone().map(|stage| Program::new(plan.parallelism, stage, layers)).collect()
        };
        let mut layers = 2;
        let enough = |programs: &[Program]| {
            programs.iter().all(|program| {
                let exchanges = program.exchanges();
                exchanges == 0 || exchanges * plan.steps as usize >= plan.collectives as usize
            })
        };
        while layers < 4096 && !enough(&programs(layers)) {
            layers += 1;
        }
        let programs = programs(layers);
        let mut job = Job { plan, groups, programs, ends: Vec::new(), truth: Truth::default() };
        let Simulation { ends, collectives, lateness, steps, jump, .. } = Simulation::run(&job)?;
        let hosts = job.plan.host(job.plan.ranks.saturating_sub(1)) + 1;
        let clock = |host| TrueClock {
            offset: job.plan.fault(FaultKind::ClockOffset, host).unwrap_or(0) * 1_000,
            drift: job.plan.fault(FaultKind::ClockDrift, host).unwrap_or(0) * 1_000,
            jump: job.plan.fault(FaultKind::ClockJump, host).map(|by| (jump, by * 1_000)),
        };
        job.truth = Truth {
            groups: job.groups.all.clone(),
            collectives,
            lateness,
            steps,
            clocks: (0..hosts).map(clock).collect(),
            causes: job.plan.faults.iter().filter(|fault| fault.kind.is_cause()).cloned().collect(),
        };
        job.ends = ends;
        Ok(job)
    }

    /// What it was made from.
    pub fn plan(&self) -> &JobPlan {
        &self.plan
    }

    /// What happened.
    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    /// The files that its ranks leave.
    pub fn files(&self) -> Vec<RecordingFile> {
        let mut files = Vec::new();
        for rank in 0..self.plan.ranks {
            if self.plan.fault(FaultKind::MissingRank, rank).is_some() {
                continue;
            }
            files.push(RecordingFile { rank, name: self.plan.file_name(rank) });
            if self.plan.fault(FaultKind::DuplicateRank, rank).is_some() {
                files.push(RecordingFile { rank, name: format!("copy-of-{}", self.plan.file_name(rank)) });
            }
        }
        files
    }

    fn program(&self, rank: u32) -> &Program {
        &self.programs[self.plan.parallelism.stage(rank) as usize]
    }

    /// By rank the true collectives of its exchanges.
    pub fn collective_of(&self) -> BTreeMap<(u32, u32), usize> {
        let of = |(at, collective): (usize, &TrueCollective)| {
            collective.members.iter().map(move |&member| (member, at)).collect::<Vec<_>>()
        };
        self.truth.collectives.iter().enumerate().flat_map(of).collect()
    }
}
