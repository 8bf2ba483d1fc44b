//! What is odd about the recordings of a job.

use sheets::numbers::agreeing;

use crate::members::Members;

/// What a reader has to know of the recordings before trusting the figures.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum Diagnostic {
    /// Ranks of the job without a recording.
    #[error("{} of {of} ranks {} no recording ({ranks}): collectives are analyzed without {}", .ranks.len(), agreeing(.ranks.len() as u64, "has", "have"), agreeing(.ranks.len() as u64, "it", "them"))]
    #[diagnostic(code("job/ranks-missing"), severity(Warning))]
    RanksMissing {
        /// Which.
        ranks: Members,
        /// Number of ranks of the job.
        of: usize,
    },
    /// A recording that says another number of ranks than most; it is left out.
    #[error("{path}: omitted: its job has {world_size} ranks, but the job of most recordings has {usual}")]
    #[diagnostic(code("job/other-job"), severity(Warning))]
    OtherJob {
        /// Its path.
        path: String,
        /// Number of ranks of its job.
        world_size: i64,
        /// Number of ranks that most recordings say.
        usual: i64,
    },
    /// Nothing tells the rank of a recording.
    #[error("{path}: neither the recording nor its path states a rank: rank {rank} is assumed")]
    #[diagnostic(code("job/rank-by-order"), severity(Warning))]
    RankByOrder {
        /// Its path.
        path: String,
        /// The number that it got.
        rank: u32,
    },
    /// The recording of a process that is no rank of the job; it is left out.
    #[error("{path}: omitted, not a rank of the job: {why}")]
    #[diagnostic(code("job/no-rank"), severity(Warning))]
    NoRank {
        /// Its path.
        path: String,
        /// How that is known.
        why: &'static str,
    },
    /// The recording was cut off or damaged.
    #[error("rank {rank}: its recording is truncated or damaged ({path})")]
    #[diagnostic(code("job/cut-off"), severity(Error))]
    CutOff {
        /// Rank.
        rank: u32,
        /// Its path.
        path: String,
    },
    /// Figures of the recordings are not to be relied on.
    #[error("rank{} {ranks}: {consequence} ({rule}{}: {finding})", plural(.ranks.len() as u64), on_first(.ranks))]
    #[diagnostic(code("job/unreliable"), severity(Warning))]
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
    #[error("rank {rank}: its recording has no collective kernels")]
    #[diagnostic(code("job/no-collectives"), severity(Warning))]
    NoCollectives {
        /// Rank.
        rank: u32,
    },
    /// Another number of steps than most ranks.
    #[error("rank {rank}: its recording has {steps} steps, most recordings have {usual}")]
    #[diagnostic(code("job/other-steps"), severity(Warning))]
    OtherSteps {
        /// Rank.
        rank: u32,
        /// Its steps.
        steps: i64,
        /// Those of most ranks.
        usual: i64,
    },
    /// The profile of a host that begins at another step than that of another host.
    #[error(
        "{host}: its profile begins at a different step than that of {against}: collectives are matched by end time"
    )]
    #[diagnostic(code("job/other-first-step"), severity(Warning))]
    OtherFirstStep {
        /// The host.
        host: String,
        /// The host whose profile it is held against.
        against: String,
    },
    /// Kernels of collectives that say neither group nor size.
    #[error("{kernels} collective {} neither group nor size: matched by time only, bandwidth unknown (rank{} {ranks})", if *.kernels == 1 { "kernel records" } else { "kernels record" }, plural(.ranks.len() as u64))]
    #[diagnostic(code("job/no-metadata"), severity(Warning))]
    NoMetadata {
        /// Ranks that have such.
        ranks: Members,
        /// How many of all ranks.
        kernels: i64,
    },
    /// The members of a group are not all listed.
    #[error("group {group}: the recordings list only its first members")]
    #[diagnostic(code("job/members-partial"), severity(Warning))]
    MembersPartial {
        /// The group.
        group: String,
    },
    /// The pairs of a rank's collectives are a guess.
    #[error("group {group}, rank {rank}: its collectives cannot be matched reliably: {why}")]
    #[diagnostic(code("job/ambiguous"), severity(Warning))]
    Ambiguous {
        /// The group.
        group: String,
        /// Rank.
        rank: u32,
        /// Why, and what was done.
        why: &'static str,
    },
    /// Collectives of a rank that no other rank has.
    #[error("group {group}, rank {rank}: {collectives} collective{} without a match on other ranks", plural(*.collectives))]
    #[diagnostic(code("job/unmatched"), severity(Warning))]
    Unmatched {
        /// The group.
        group: String,
        /// Rank.
        rank: u32,
        /// How many.
        collectives: u64,
    },
    /// Collectives that other ranks have in the time of the recording of a rank, and it does not.
    #[error("rank {rank}: its recording lacks {collectives} collective{} that other ranks of the group have", plural(*.collectives))]
    #[diagnostic(code("job/kernels-missing"), severity(Warning))]
    KernelsMissing {
        /// Rank.
        rank: u32,
        /// How many.
        collectives: u64,
    },
    /// The recording of a rank begins later than the others, and its first collective waits for that.
    #[error(
        "rank {rank}: its recording begins {microseconds} µs after the others, so its first collective appears late too; that delay is not counted as lateness"
    )]
    #[diagnostic(code("job/start-skew"), severity(Warning))]
    StartSkew {
        /// Rank.
        rank: u32,
        /// By how much.
        microseconds: i64,
    },
    /// Collectives that other ranks have before or after the recording of a rank.
    #[error("rank {rank}: other ranks of its groups have {before} collective{} before its recording and {after} after it", plural(*.before))]
    #[diagnostic(code("job/shorter-window"), severity(Warning))]
    ShorterWindow {
        /// Rank.
        rank: u32,
        /// Before it.
        before: u64,
        /// After it.
        after: u64,
    },
    /// Ranks of one collective that say different things of it.
    #[error("group {group}: {collectives} collective{} with different kinds, types or sizes across ranks", plural(*.collectives))]
    #[diagnostic(code("job/contradiction"), severity(Warning))]
    Contradiction {
        /// The group.
        group: String,
        /// How many collectives.
        collectives: u64,
    },
    /// Collectives whose ends are further apart than the clocks are uncertain, though their members leave together.
    #[error("group {group}: {collectives} collective{} whose ranks end farther apart than clock errors can explain", plural(*.collectives))]
    #[diagnostic(code("job/ends-apart"), severity(Warning))]
    EndsApart {
        /// The group.
        group: String,
        /// How many collectives.
        collectives: u64,
    },
    /// A clock that was set while it was recorded.
    #[error("{host}: its clock jumped by {:.0} µs against that of {against}: later times are corrected", *.by as f64 / 1e3)]
    #[diagnostic(code("job/clock-jump"), severity(Warning))]
    ClockJump {
        /// Its host.
        host: String,
        /// The host whose clock it is held against.
        against: String,
        /// By how much it went ahead of that, in nanoseconds.
        by: i64,
    },
    /// A clock that nothing ties to the others.
    #[error("{host}: no collective aligns its clock with the other clocks: its times are uncorrected")]
    #[diagnostic(code("job/clock-alone"), severity(Warning))]
    ClockAlone {
        /// The host.
        host: String,
    },
    /// Tables that could not be used.
    #[error("{path}: tables not used: {why}")]
    #[diagnostic(code("job/stale-tables"), severity(Warning))]
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
            Diagnostic::OtherJob { .. } => "different job",
            Diagnostic::RankByOrder { .. } => "rank assumed",
            Diagnostic::NoRank { .. } => "not a rank",
            Diagnostic::CutOff { .. } => "truncated",
            Diagnostic::Unreliable { .. } => "unreliable recording",
            Diagnostic::NoCollectives { .. } => "no collectives",
            Diagnostic::OtherSteps { .. } => "different number of steps",
            Diagnostic::OtherFirstStep { .. } => "different first step",
            Diagnostic::NoMetadata { .. } => "no metadata",
            Diagnostic::MembersPartial { .. } => "incomplete member list",
            Diagnostic::Ambiguous { .. } => "uncertain matching",
            Diagnostic::Unmatched { .. } => "not matched",
            Diagnostic::KernelsMissing { .. } => "collectives missing",
            Diagnostic::StartSkew { .. } => "late start",
            Diagnostic::ShorterWindow { .. } => "shorter window",
            Diagnostic::Contradiction { .. } => "contradiction",
            Diagnostic::EndsApart { .. } => "ends differ",
            Diagnostic::ClockJump { .. } => "clock jump",
            Diagnostic::ClockAlone { .. } => "clock not aligned",
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
            | Diagnostic::StartSkew { rank, .. }
            | Diagnostic::ShorterWindow { rank, .. }
            | Diagnostic::Unmatched { rank, .. } => Some(*rank),
            _ => None,
        }
    }
}

/// Of which of several ranks a finding is.
fn on_first(ranks: &Members) -> String {
    match ranks.iter().next() {
        Some(first) if ranks.len() > 1 => format!(", on rank {first}"),
        _ => String::new(),
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}
