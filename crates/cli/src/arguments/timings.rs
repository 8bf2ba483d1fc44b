//! `--timings`, a flag of all reports.

use clap::{Args, ValueEnum};

#[derive(Args)]
pub(crate) struct TimingsArguments {
    /// Print tracelens's own time and memory use to standard error, as a table (text) or a line of JSON
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text"
    )]
    pub(crate) timings: Option<TimingsForm>,
}

/// How the times of a run are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimingsForm {
    Text,
    Json,
}
