//! How a trace is read: flags that several subcommands share.

use std::num::NonZeroUsize;

use clap::Args;
use flags::one_of;
use trace2tree::LinkBy;

#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadingArguments {
    /// How device events find their launch: by correlation id, any number of them per launch, or by launch
    /// arrows (flow), one per launch, which gives the figures of TraceLens
    #[arg(long = "link-by", default_value = "correlation", value_parser = one_of(LINK_BY), value_name = "RULE")]
    pub(crate) link_by: LinkBy,

    /// Threads that work; the output is the same for any number [default: as many as the machine has]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

const LINK_BY: &[(&str, LinkBy)] = &[("correlation", LinkBy::Correlation), ("flow", LinkBy::Flow)];
