//! Which recordings count as one: those of a job share clocks, placement and neighbours.

use gpu_timeline::SortFew;

use crate::recording::Recording;

/// Recordings of one job on one machine: what is repeated when an experiment is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Places of its recordings in the list of its side.
    pub recordings: Vec<usize>,
    /// Why they are one.
    pub reason: BlockReason,
}

/// Why recordings are a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockReason {
    /// They are of the job of this name.
    Job(String),
    /// They were recorded within [`SAME_JOB_NS`] of each other, and nothing says that it was on different hosts.
    Time,
    /// It is a single one, and nothing is known of when it was recorded.
    Unknown,
}

/// Recordings of one host that lie no further apart are taken to be of one job: ten minutes.
pub const SAME_JOB_NS: i64 = 600 * 1_000_000_000;

/// Divides the recordings of a side into blocks.
#[must_use]
pub fn blocks(recordings: &[Recording]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut order: Vec<usize> = (0..recordings.len()).collect();
    order.sort_few_by_key(|&at| (recordings[at].recorded_at, at));
    for at in order {
        let recording = &recordings[at];
        let reason = match (&recording.job, recording.recorded_at) {
            (Some(job), _) => BlockReason::Job(job.clone()),
            (None, Some(_)) => BlockReason::Time,
            (None, None) => BlockReason::Unknown,
        };
        let joins = |block: &&mut Block| match (&block.reason, &reason) {
            (BlockReason::Job(job), BlockReason::Job(own)) => job == own,
            // The last one of a block is the nearest, as they come by time.
            (BlockReason::Time, BlockReason::Time) => {
                let last = block.recordings.last().map(|&last| &recordings[last]);
                last.is_some_and(|last| is_same_job(last, recording))
            }
            _ => false,
        };
        match blocks.iter_mut().find(joins) {
            Some(block) => block.recordings.push(at),
            None => blocks.push(Block { recordings: vec![at], reason }),
        }
    }
    for block in &mut blocks {
        block.recordings.sort_unstable();
    }
    blocks.sort_few_by(|a, b| a.recordings.cmp(&b.recordings));
    blocks
}

fn is_same_job(a: &Recording, b: &Recording) -> bool {
    let is_other_host = matches!((&a.host, &b.host), (Some(a), Some(b)) if a != b);
    let apart = a.recorded_at.zip(b.recorded_at).map(|(a, b)| a.abs_diff(b));
    !is_other_host && apart.is_some_and(|apart| apart <= SAME_JOB_NS.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_of_a_job_or_of_ten_minutes_are_one_block() {
        const MINUTE: i64 = 60 * 1_000_000_000;
        let of = |job: Option<&str>, host: Option<&str>, minute: Option<i64>| Recording {
            job: job.map(ToOwned::to_owned),
            host: host.map(ToOwned::to_owned),
            recorded_at: minute.map(|minute| minute * MINUTE),
            ..Recording::default()
        };
        let recordings = [
            of(Some("a"), None, None),
            of(None, Some("x"), Some(25)),
            of(Some("a"), None, Some(900)),
            of(None, Some("x"), Some(5)),
            // Nine minutes after the one before, which is nine minutes after the first: a chain.
            of(None, Some("x"), Some(14)),
            of(None, Some("y"), Some(14)),
            of(None, None, None),
            of(None, None, None),
        ];
        let found: Vec<Vec<usize>> = blocks(&recordings).into_iter().map(|block| block.recordings).collect();
        assert_eq!(found, [vec![0, 2], vec![1], vec![3, 4], vec![5], vec![6], vec![7]]);
    }
}
