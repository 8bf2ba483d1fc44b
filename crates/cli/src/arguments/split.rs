//! Flags of `tracelens split`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::Range;
use std::path::PathBuf;

use clap::Args;
use flags::number;

use super::answer_output::AnswerOutput;
use super::reading::ReadingArguments;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens split trace.json.gz                          list the steps
  tracelens split trace.json.gz -o steps --store-single-iteration
  tracelens split trace.json.gz -o steps --store-single-iteration -i 10:20
  tracelens split trace.json.gz -o steady --find-steady-state --num-steps 16
  tracelens split trace.json.gz -o mix --mix-windows 4 --num-steps 8
  tracelens split trace.json.gz -o phases --divide-phases
  tracelens split trace.json.gz -o kinds --representatives

Steps are those of an inference engine, or the iterations of any other program. Each trace has the host work of its
steps on the thread that ran them, and all GPU work that this host work launched.
execution_details.json and execution_details.csv beside the traces describe them.";

#[derive(Args)]
pub(crate) struct SplitArguments {
    /// The trace: plain, gzip, zstd or zip; - reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Write to this directory, created if missing
    #[arg(long = "output-dir", short = 'o', value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,

    /// Steps to write: all, step N (from 0), or A:B (B excluded). Chosen steps count as steady state
    #[arg(long, short, value_name = "all|N|A:B", value_parser = iterations, default_value = "all")]
    pub(crate) iterations: Iterations,

    /// Write one trace per step
    #[arg(long = "store-single-iteration")]
    pub(crate) store_single_iteration: bool,

    /// Write windows of the steady state, at maximum concurrency: one with the average share of prefill, one
    /// decode-only, one with prefill in every step
    #[arg(long = "find-steady-state")]
    pub(crate) find_steady_state: bool,

    /// Steps per window
    #[arg(long = "num-steps", value_name = "N", default_value = "32")]
    pub(crate) num_steps: NonZeroUsize,

    /// Write up to N windows of --num-steps steps that together have the overall mix of step shapes (requests, new and
    /// cached tokens), for servers without a steady state; the distance of each window from the mix is stated
    #[arg(long = "mix-windows", value_name = "N")]
    pub(crate) mix_windows: Option<NonZeroUsize>,

    /// Concurrent requests; with --OSL and --R, sets the prefill share of the mixed window [default: that of the steady
    /// state]
    #[arg(long = "CONC", value_name = "N", requires_all = ["osl", "ratio", "find_steady_state"])]
    pub(crate) conc: Option<NonZeroU32>,

    /// Maximum output length of a request, in tokens
    #[arg(long = "OSL", id = "osl", value_name = "TOKENS", requires_all = ["conc", "ratio"], value_parser = number("of tokens above 0", |value| value > 0.0))]
    pub(crate) osl: Option<f64>,

    /// Minimum output length as a share of the maximum, 0 to 1
    #[arg(long = "R", id = "ratio", value_name = "SHARE", requires_all = ["conc", "osl"], value_parser = number("from 0 to 1", |_| true))]
    pub(crate) ratio: Option<f64>,

    /// Write one trace per block of consecutive prefill steps or decode steps in the steady state; overrides
    /// --find-steady-state
    #[arg(long = "divide-phases")]
    pub(crate) divide_phases: bool,

    /// Write one trace per kind of step: the step with the median duration; steps of one kind do the same device work
    #[arg(long)]
    pub(crate) representatives: bool,

    /// Write one trace of the longest sequence of consecutive steady steps (complete, warmed up, no outliers); for any
    /// program
    #[arg(long, conflicts_with = "iterations")]
    pub(crate) steady: bool,

    /// Maximum concurrent requests of the engine: an unannotated step counts as prefill if it has more
    /// tokens than this number of requests can decode
    #[arg(long = "max_num_seqs", value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) max_num_seqs: Option<i64>,

    /// Find the steady state as TraceLens does: it ends at the sixth step below full concurrency and excludes the last
    /// step
    #[arg(long)]
    pub(crate) parity: bool,

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

impl SplitArguments {
    /// Whether there is anything to write.
    pub(crate) fn has_action(&self) -> bool {
        self.store_single_iteration
            || self.find_steady_state
            || self.mix_windows.is_some()
            || self.divide_phases
            || self.representatives
            || self.steady
    }
}

/// Steps by number, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Iterations {
    All,
    Only(Range<usize>),
}

fn iterations(text: &str) -> Result<Iterations, String> {
    if text == "all" {
        return Ok(Iterations::All);
    }
    let expected = || "expected all, a step number N, or A:B".to_string();
    let number = |text: &str| text.parse::<usize>().map_err(|_| expected());
    let range = match text.split_once(':') {
        Some((start, end)) => number(start)?..number(end)?,
        None => {
            let step = number(text)?;
            step..step.checked_add(1).ok_or_else(expected)?
        }
    };
    if range.is_empty() {
        return Err("the range is empty: A:B excludes B, so B must be greater than A".to_string());
    }
    Ok(Iterations::Only(range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_named_in_three_ways() {
        for (text, expected) in [
            ("all", Ok(Iterations::All)),
            ("3", Ok(Iterations::Only(3..4))),
            ("0:5", Ok(Iterations::Only(0..5))),
        ] {
            assert_eq!(iterations(text), expected);
        }
        for text in ["", "-1", "5:5", "5:3", "1:", ":3", "a", "1:2:3", "18446744073709551615"] {
            assert!(iterations(text).is_err(), "{text}");
        }
    }
}
