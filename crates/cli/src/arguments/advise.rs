//! Flags of `tracelens advise`.

use std::path::PathBuf;

use clap::Args;

use super::answer_output::{AnswerOutput, JSON_DOCUMENT};
use super::devices::DeviceArguments;
use super::reading::ReadingArguments;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens advise trace.json.gz                           what to change first, and the possible gain
  tracelens advise trace.json.gz --json                    the same for programs
  tracelens advise trace.json.gz --markdown advice.md      the same for a ticket
  tracelens advise trace.json.gz --baseline old.json.gz    plus what got slower since then
  tracelens advise trace.json.gz --fail-on 'IDLE-*'        exit code 3 on any IDLE finding";

#[derive(Args)]
pub(crate) struct AdviseArguments {
    /// Recordings of any kind that `tracelens report` reads
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Earlier recording of the same program; slowdowns since then become findings
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) answer: AnswerOutput,

    /// Write the JSON to this file
    #[arg(long, short = 'o', value_name = "FILE", group = JSON_DOCUMENT)]
    pub(crate) output: Option<PathBuf>,

    /// Write the findings as Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Show only findings of these rules, such as IDLE-SYNC or IDLE-*. Repeatable
    #[arg(long = "rule", value_name = "PATTERN", value_parser = rule_pattern)]
    pub(crate) rules: Vec<String>,

    /// Hide findings that would recover less than this share of the window
    #[arg(long = "min_share", value_name = "PERCENT", default_value = "0.5", value_parser = percent)]
    pub(crate) min_share: f64,

    /// Exit with code 3 if a finding of these rules is shown. Repeatable. Example: IDLE-*
    #[arg(long = "fail-on", value_name = "PATTERN", value_parser = rule_pattern)]
    pub(crate) fail_on: Vec<String>,

    #[command(flatten)]
    pub(crate) device: DeviceArguments,

    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

fn rule_pattern(text: &str) -> Result<String, String> {
    let pattern = text.to_uppercase();
    match answers::advice_rules().any(|rule| advise::means_rule(&pattern, rule)) {
        true => Ok(pattern),
        false => {
            let known: Vec<&str> = answers::advice_rules().collect();
            Err(format!("no such rule; the rules are {}", known.join(", ")))
        }
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>().map_err(|error| error.to_string())?;
    match (0.0..=100.0).contains(&number) {
        true => Ok(number),
        false => Err("expected a percentage from 0 to 100".to_owned()),
    }
}
