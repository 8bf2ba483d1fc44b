//! Flags of `tracelens split match`.

use std::path::PathBuf;

use clap::Args;
use flags::one_of_explained;
use inference_phase::Phase;

use super::answer_output::AnswerOutput;
use super::reading::ReadingArguments;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens split match before.json.gz after.json.gz -o matched
  tracelens split match a.json.gz b.json.gz -o matched --phases prefill_only --num-steps 4

match_report.json and match_report.csv list the steps that match and how closely;
match_notes.json lists the phases without a match.";

#[derive(Args)]
pub(crate) struct MatchArguments {
    /// The first trace: plain, gzip, zstd or zip
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,

    /// The second trace
    #[arg(value_name = "B")]
    pub(crate) second: PathBuf,

    /// Write to this directory, created if missing
    #[arg(long = "output-dir", short = 'o', value_name = "DIR")]
    pub(crate) output_dir: PathBuf,

    /// Only report which steps match; write no traces
    #[arg(long = "no-extract")]
    pub(crate) no_extract: bool,

    /// Phases to match, comma-separated
    #[arg(
        long,
        value_name = "PHASES",
        value_parser = one_of_explained(PHASES),
        value_delimiter = ',',
        default_value = "decode_only,prefilldecode"
    )]
    pub(crate) phases: Vec<Phase>,

    /// Steps to match at a time; 0 matches whole blocks (consecutive steps of one phase)
    #[arg(long = "num-steps", value_name = "N", default_value = "16", allow_negative_numbers = true)]
    pub(crate) num_steps: i64,

    /// Overwrite existing files even if tracelens did not write them
    #[arg(long)]
    pub(crate) force: bool,

    /// Print nothing but errors
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

/// Phases by name.
const PHASES: &[(&str, &str, Phase)] = &[
    ("decode_only", "Generation requests only", Phase::Decode),
    ("prefilldecode", "Context and generation requests", Phase::Mixed),
    ("prefill_only", "Context requests only", Phase::Prefill),
];
