//! What is odd about the recordings of a job.

use std::fmt;

use crate::members::Members;

/// What a reader has to know of the recordings before trusting the figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Diagnostic {
    /// Ranks of the job without a recording.
    RanksMissing {
        /// Which.
        ranks: Members,
        /// Number of ranks of the job.
        of: usize,
    },
    /// A recording that says another number of ranks than most; it is left out.
    OtherJob {
        /// Its path.
        path: String,
        /// Number of ranks of its job.
        world_size: i64,
        /// Number of ranks that most recordings say.
        usual: i64,
    },
    /// Nothing tells the rank of a recording.
    RankByOrder {
        /// Its path.
        path: String,
        /// The number that it got.
        rank: u32,
    },
    /// The recording was cut off or damaged.
    CutOff {
        /// Rank.
        rank: u32,
        /// Its path.
        path: String,
    },
    /// Figures of the recordings are not to be relied on.
    Unreliable {
        /// Rule of `tracelens doctor` that says so, such as `W2`.
        rule: String,
        /// Ranks whose recordings it is about.
        ranks: Members,
        /// What was seen in the recording of the first of them.
        finding: String,
        /// What that does to figures.
        consequence: String,
    },
    /// No kernel of a collective was recorded.
    NoCollectives {
        /// Rank.
        rank: u32,
    },
    /// Another number of steps than most ranks.
    OtherSteps {
        /// Rank.
        rank: u32,
        /// Its steps.
        steps: i64,
        /// Those of most ranks.
        usual: i64,
    },
    /// The profile of a host that begins at another step than that of another host.
    OtherFirstStep {
        /// The host.
        host: String,
        /// The host whose profile it is held against.
        against: String,
    },
    /// Kernels of collectives that say neither group nor size.
    NoMetadata {
        /// Ranks that have such.
        ranks: Members,
        /// How many of all ranks.
        kernels: i64,
    },
    /// The members of a group are not all listed.
    MembersPartial {
        /// The group.
        group: String,
    },
    /// The pairs of a rank's collectives are a guess.
    Ambiguous {
        /// The group.
        group: String,
        /// Rank.
        rank: u32,
        /// Why, and what was done.
        why: &'static str,
    },
    /// Collectives of a rank that no other rank has.
    Unmatched {
        /// The group.
        group: String,
        /// Rank.
        rank: u32,
        /// How many.
        collectives: u64,
    },
    /// Collectives that other ranks have in the time of the recording of a rank, and it does not.
    KernelsMissing {
        /// Rank.
        rank: u32,
        /// How many.
        collectives: u64,
    },
    /// Collectives that other ranks have before or after the recording of a rank.
    ShorterWindow {
        /// Rank.
        rank: u32,
        /// Before it.
        before: u64,
        /// After it.
        after: u64,
    },
    /// Ranks of one collective that say different things of it.
    Contradiction {
        /// The group.
        group: String,
        /// How many collectives.
        collectives: u64,
    },
    /// Collectives whose ends are further apart than the clocks are uncertain, though their members leave together.
    EndsApart {
        /// The group.
        group: String,
        /// How many collectives.
        collectives: u64,
    },
    /// A clock that was set while it was recorded.
    ClockJump {
        /// Its host.
        host: String,
        /// The host whose clock it is held against.
        against: String,
        /// By how much it went ahead of that, in nanoseconds.
        by: i64,
    },
    /// A clock that nothing ties to the others.
    ClockAlone {
        /// The host.
        host: String,
    },
    /// Tables that could not be used.
    StaleTables {
        /// Their folder.
        path: String,
        /// Why.
        why: String,
    },
}

impl Diagnostic {
    /// What kind of oddity, in a word or two.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Diagnostic::RanksMissing { .. } => "ranks missing",
            Diagnostic::OtherJob { .. } => "other job",
            Diagnostic::RankByOrder { .. } => "rank not known",
            Diagnostic::CutOff { .. } => "cut off",
            Diagnostic::Unreliable { .. } => "unreliable recording",
            Diagnostic::NoCollectives { .. } => "no collectives",
            Diagnostic::OtherSteps { .. } => "other number of steps",
            Diagnostic::OtherFirstStep { .. } => "other first step",
            Diagnostic::NoMetadata { .. } => "no metadata",
            Diagnostic::MembersPartial { .. } => "members not listed",
            Diagnostic::Ambiguous { .. } => "ambiguous pairs",
            Diagnostic::Unmatched { .. } => "not matched",
            Diagnostic::KernelsMissing { .. } => "kernels missing",
            Diagnostic::ShorterWindow { .. } => "shorter window",
            Diagnostic::Contradiction { .. } => "contradiction",
            Diagnostic::EndsApart { .. } => "ends apart",
            Diagnostic::ClockJump { .. } => "clock jump",
            Diagnostic::ClockAlone { .. } => "clock alone",
            Diagnostic::StaleTables { .. } => "tables of another version",
        }
    }

    /// The rank that it is about, if it is one.
    #[must_use]
    pub fn rank(&self) -> Option<u32> {
        match self {
            Diagnostic::RankByOrder { rank, .. }
            | Diagnostic::CutOff { rank, .. }
            | Diagnostic::NoCollectives { rank }
            | Diagnostic::OtherSteps { rank, .. }
            | Diagnostic::Ambiguous { rank, .. }
            | Diagnostic::KernelsMissing { rank, .. }
            | Diagnostic::ShorterWindow { rank, .. }
            | Diagnostic::Unmatched { rank, .. } => Some(*rank),
            _ => None,
        }
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Diagnostic::RanksMissing { ranks, of } => write!(
                formatter,
                "{} of {of} ranks have no recording ({ranks}): a collective is judged by the ranks that are there",
                ranks.len()
            ),
            Diagnostic::OtherJob { path, world_size, usual } => write!(
                formatter,
                "{path}: is of a job of {world_size} ranks, the others of one of {usual}: it is left out"
            ),
            Diagnostic::RankByOrder { path, rank } => write!(
                formatter,
                "{path}: neither the recording nor its path tells the rank: it is called rank {rank}"
            ),
            Diagnostic::CutOff { rank, path } => {
                write!(formatter, "rank {rank}: its recording is cut off or damaged ({path})")
            }
            Diagnostic::Unreliable { rule, ranks, finding, consequence } => {
                let of_first = match ranks.iter().next() {
                    Some(first) if ranks.len() > 1 => format!(", on rank {first}"),
                    _ => String::new(),
                };
                let plural = plural(ranks.len() as u64);
                write!(formatter, "rank{plural} {ranks}: {consequence} ({rule}{of_first}: {finding})")
            }
            Diagnostic::NoCollectives { rank } => {
                write!(formatter, "rank {rank}: its recording has no kernel of a collective")
            }
            Diagnostic::OtherSteps { rank, steps, usual } => {
                write!(formatter, "rank {rank}: its recording has {steps} steps, most have {usual}")
            }
            Diagnostic::OtherFirstStep { host, against } => write!(
                formatter,
                "{host}: its profile begins at another step than that of {against}: their collectives are matched by the time \
                 at which they end"
            ),
            Diagnostic::NoMetadata { ranks, kernels } => write!(
                formatter,
                "{kernels} kernels of collectives say neither group nor size: they are matched by time alone and have no \
                 bandwidth (rank{} {ranks})",
                plural(ranks.len() as u64)
            ),
            Diagnostic::MembersPartial { group } => {
                write!(formatter, "group {group}: the recordings list only the first of its members")
            }
            Diagnostic::Ambiguous { group, rank, why } => {
                write!(
                    formatter,
                    "group {group}, rank {rank}: which collectives belong together is a guess: {why}"
                )
            }
            Diagnostic::Unmatched { group, rank, collectives } => write!(
                formatter,
                "group {group}, rank {rank}: {collectives} collective{} without a partner on another rank",
                plural(*collectives)
            ),
            Diagnostic::KernelsMissing { rank, collectives } => write!(
                formatter,
                "rank {rank}: its recording lacks {collectives} collective{} that other ranks of the group have",
                plural(*collectives)
            ),
            Diagnostic::ShorterWindow { rank, before, after } => write!(
                formatter,
                "rank {rank}: other ranks of its groups have {before} collective{} before its recording and {after} after it",
                plural(*before)
            ),
            Diagnostic::Contradiction { group, collectives } => write!(
                formatter,
                "group {group}: in {collectives} collective{} ranks name different kinds, types or sizes",
                plural(*collectives)
            ),
            Diagnostic::EndsApart { group, collectives } => write!(
                formatter,
                "group {group}: {collectives} collective{} whose ranks end further apart than the clocks explain",
                plural(*collectives)
            ),
            Diagnostic::ClockJump { host, against, by } => write!(
                formatter,
                "{host}: its clock was set by {:.0} µs against that of {against}: times after that are taken back by as much",
                *by as f64 / 1e3
            ),
            Diagnostic::ClockAlone { host } => write!(
                formatter,
                "{host}: no collective ties its clock to that of the others: its times are taken as they are"
            ),
            Diagnostic::StaleTables { path, why } => write!(formatter, "{path}: is not used: {why}"),
        }
    }
}
