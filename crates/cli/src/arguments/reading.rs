//! How a trace is read: flags that several subcommands share.

use std::num::NonZeroUsize;

use clap::Args;
use flags::one_of;
use trace_ingest::ReadOptions;
use trace2tree::{LinkBy, TreeOptions};

use crate::standard_input;

#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadingArguments {
    /// Match device events to launches by correlation id, with any number of events per launch, or by launch arrows
    /// (flow), with one event per launch, as TraceLens does
    #[arg(long = "link-by", default_value = "correlation", value_parser = one_of(LINK_BY), value_name = "RULE")]
    pub(crate) link_by: LinkBy,

    /// Worker threads; they do not affect the output [default: one per processor]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    #[command(flatten)]
    pub(crate) overruns: OverrunArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct OverrunArguments {
    /// Keep the recorded duration of device events that overlap the next one on their queue [default: cut them off at
    /// its start]
    #[arg(long = "keep-overruns")]
    pub(crate) keep_overruns: bool,
}

impl ReadingArguments {
    /// How recordings are read, standard input among them.
    pub(crate) fn options(&self) -> ReadOptions<'static> {
        ReadOptions { threads: self.threads.map(Into::into), ..standard_input::reading() }
    }

    /// How trees are built.
    pub(crate) fn tree_options(&self) -> TreeOptions {
        let (link_by, keep_overruns) = (self.link_by, self.overruns.keep_overruns);
        TreeOptions { link_by, keep_overruns, ..TreeOptions::default() }
    }
}

const LINK_BY: &[(&str, LinkBy)] = &[("correlation", LinkBy::Correlation), ("flow", LinkBy::Flow)];
