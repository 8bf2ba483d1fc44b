//! Finds stretches of two traces in which the engine does the same work, so that the traces can be compared there.
//!
//! Two servers under the same load never run the same steps at the same time. [`match_blocks`] cuts both traces into
//! runs of steps of one phase and takes, for each phase, the two runs whose steps are nearest in requests and tokens.

mod pairing;
mod report;

pub use pairing::{
    Block, BlockMatch, MatchNote, MatchOptions, Matches, blocks, distance_terms, match_blocks,
};
pub use report::{MatchReport, MatchSide, REPORT, match_outputs, phase_name, shown_distance, write_report};
