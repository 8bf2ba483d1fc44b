//! Flags of `tracelens match`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use inference_phase::Phase;

use super::reading::ReadingArguments;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens match before.json.gz after.json.gz -o matched
  tracelens match a.json.gz b.json.gz -o matched --phases prefill_only --num-steps 4

match_report.json and match_report.csv say which steps are alike and how much,
match_notes.json for which phases there are none.";

#[derive(Args)]
pub(crate) struct MatchArguments {
    /// The first trace: plain, gzip, zstd or zip
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,

    /// The second trace
    #[arg(value_name = "B")]
    pub(crate) second: PathBuf,

    /// Write into this directory, which is made if need be
    #[arg(long = "output-dir", short = 'o', value_name = "DIR")]
    pub(crate) output_dir: PathBuf,

    /// Only say which steps match; write no traces of them
    #[arg(long = "no-extract")]
    pub(crate) no_extract: bool,

    /// Phases to find steps of, with commas between
    #[arg(
        long,
        value_name = "PHASES",
        value_enum,
        value_delimiter = ',',
        default_value = "decode_only,prefilldecode"
    )]
    pub(crate) phases: Vec<MatchPhase>,

    /// Steps that are matched at a time; 0 matches runs of a phase as a whole
    #[arg(long = "num-steps", value_name = "N", default_value = "16", allow_negative_numbers = true)]
    pub(crate) num_steps: i64,

    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

/// What the steps of a block run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatchPhase {
    /// Generation requests only
    #[value(name = "decode_only")]
    DecodeOnly,
    /// Context and generation requests
    #[value(name = "prefilldecode")]
    PrefillDecode,
    /// Context requests only
    #[value(name = "prefill_only")]
    PrefillOnly,
}

impl From<MatchPhase> for Phase {
    fn from(phase: MatchPhase) -> Self {
        match phase {
            MatchPhase::DecodeOnly => Phase::Decode,
            MatchPhase::PrefillDecode => Phase::Mixed,
            MatchPhase::PrefillOnly => Phase::Prefill,
        }
    }
}
