//! Analysis of a job.

use sheets::Scope;

use crate::clocks::ClockMode;
use crate::conventions::Conventions;
use crate::matching::Pairing;
use crate::statistic::Statistic;

/// Analysis of a job.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Analysis"))]
pub struct JobOptions {
    /// Align host clocks by the ends of collectives (align), or keep recorded times (raw)
    #[cfg_attr(feature = "clap", arg(long, value_name = "HOW", default_value = "align", value_parser = flags::one_of(ClockMode::NAMES)))]
    pub clock: ClockMode,

    /// How to match the kernels of a collective across ranks
    #[cfg_attr(feature = "clap", arg(long = "match", value_name = "HOW", default_value = "best", value_parser = flags::one_of_explained(PAIRINGS)))]
    pub pairing: Pairing,

    /// Devices per node; adds node ID and node span [default with --parity: as in the first recording]
    #[cfg_attr(feature = "clap", arg(long = "gpus_per_node", value_name = "N", value_parser = clap::value_parser!(u32).range(1..)))]
    pub gpus_per_node: Option<u32>,

    /// Statistics in the summaries of collectives
    #[cfg_attr(feature = "clap", arg(long = "agg_metrics", value_name = "NAME", num_args = 1.., default_values_t = Self::default().agg_metrics))]
    pub agg_metrics: Vec<Statistic>,

    /// Add the amount of data each rank sent to every other rank in uneven all-to-alls
    #[cfg_attr(feature = "clap", arg(long = "all2allv_heatmap"))]
    pub all2allv_heatmap: bool,

    /// Give each rank its own columns in the tables of individual collectives, for up to this many ranks
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().wide_ranks))]
    pub wide_ranks: usize,

    /// List individual collectives if they have at most this many kernels
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = Self::default().detail_rows))]
    pub detail_rows: usize,

    /// Which conventions to follow where reports of other tools differ from ours.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub conventions: Conventions,
}

#[cfg(feature = "clap")]
const PAIRINGS: &[(&str, &str, Pairing)] = &[
    ("best", "by the program's sequence numbers, else by end times", Pairing::Best),
    ("position", "only by position in the recording", Pairing::Position),
];

impl Default for JobOptions {
    fn default() -> Self {
        JobOptions {
            conventions: Conventions::default(),
            pairing: Pairing::default(),
            clock: ClockMode::default(),
            gpus_per_node: None,
            detail_rows: 1_000_000,
            wide_ranks: 64,
            all2allv_heatmap: false,
            agg_metrics: Statistic::USUAL.to_vec(),
        }
    }
}

impl JobOptions {
    pub(crate) fn tells_all(&self) -> bool {
        self.conventions.scope == Scope::Full
    }
}
