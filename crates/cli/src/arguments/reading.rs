//! How a trace is read: flags that several subcommands share.

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};

#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadingArguments {
    /// How device events find their launch: by correlation id, any number of them per launch, or by launch
    /// arrows (flow), one per launch, which gives the figures of the reference tool
    #[arg(long = "link-by", value_enum, default_value_t, value_name = "RULE")]
    pub(crate) link_by: LinkBy,

    /// Threads that work; the output is the same for any number [default: as many as the machine has]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LinkBy {
    #[default]
    Correlation,
    Flow,
}
