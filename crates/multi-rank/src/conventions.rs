//! The rules on which reports of jobs differ.

use sheets::{Layout, Scope};

use crate::clocks::ClockMode;
use crate::matching::Pairing;

/// How figures are made and shown where reports of other tools differ from ours. The default is ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conventions {
    /// How much a report tells: that of the core says nothing of steps, causes of lateness and the recordings.
    pub scope: Scope,
    /// Which columns tables have, and in which order.
    pub layout: Layout,
    /// How collectives are matched, whatever is asked for.
    pub pairing: Option<Pairing>,
    /// Whether clocks are brought together, whatever is asked for.
    pub clock: Option<ClockMode>,
    /// What is known of a collective.
    pub metadata: MetadataRule,
    /// What collectives are called.
    pub labels: LabelRule,
    /// Which collectives nobody leaves before all have entered.
    pub synchronising: SynchronisingRule,
    /// Which collectives have a bandwidth.
    pub bandwidth: BandwidthRule,
    /// Who was first and last where ranks wait equally long.
    pub ties: TieRule,
    /// What shares of a rank are of.
    pub shares: ShareRule,
    /// To what the figures of stragglers are rounded.
    pub rounding: Rounding,
    /// Which jobs have columns for each rank.
    pub rank_columns: RankColumns,
}

/// What is known of a collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataRule {
    /// What the recording says, and what follows from it: its kernel's name, the members of its group.
    #[default]
    Deduced,
    /// What the recording says of it in so many words, with the sizes of the usual element types; what lacks a part is left out of
    /// the classes of collectives, and parts of uneven exchanges go to ranks from 0 on.
    Recorded,
}

/// What collectives are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelRule {
    /// Group, with its members where several groups have its name, and number.
    #[default]
    Unique,
    /// Group and number; the number alone where nothing is known of groups, and each rank uses one stream.
    GroupName,
}

/// Which collectives nobody leaves before all have entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SynchronisingRule {
    /// By their kind.
    #[default]
    Kind,
    /// Those of a list of names; all where collectives are called by their number alone.
    Listed,
}

/// Which collectives have a bandwidth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BandwidthRule {
    /// Those of which all members were recorded.
    #[default]
    Whole,
    /// All.
    Any,
}

/// Who was first and last where ranks wait equally long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TieRule {
    /// Nobody.
    #[default]
    Nobody,
    /// The last of them in order was first, and the one that took part first was last.
    ByOrder,
}

/// What shares of a rank are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShareRule {
    /// Its collectives.
    #[default]
    Rank,
    /// Those of all ranks.
    Job,
}

/// To what figures are rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// They are not.
    #[default]
    Exact,
    /// To one decimal, half to even.
    Tenths,
}

/// Which jobs have columns for each rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankColumns {
    /// Those of few ranks ([`JobOptions::wide_ranks`](crate::JobOptions::wide_ranks)).
    #[default]
    UpToLimit,
    /// All.
    Always,
}
