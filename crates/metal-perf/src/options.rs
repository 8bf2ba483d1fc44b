//! What to report and how.

use std::num::NonZeroU64;

use crate::chips::UnknownChip;
use crate::conventions::Conventions;

/// What to report and how.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct MetalOptions {
    /// Report only operations after this signpost [default: the last one followed by operations]
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NAME", visible_alias = "signpost", help_heading = "Rows")
    )]
    pub start_signpost: Option<String>,

    /// Report only operations before this signpost
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", help_heading = "Rows"))]
    pub end_signpost: Option<String>,

    /// Start at the Nth occurrence of the start signpost, counted from 1 [default: the first]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", requires = "start_signpost", value_parser = counted_from_one, help_heading = "Rows"))]
    pub occurrence: Option<usize>,

    /// Report the whole file, ignoring signposts
    #[cfg_attr(feature = "clap", arg(long, conflicts_with_all = ["start_signpost", "end_signpost"], help_heading = "Rows"))]
    pub ignore_signposts: bool,

    /// Show signposts among the operations
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Rows"))]
    pub print_signposts: bool,

    /// Report only rows with these IDs: 5-10, 31- (from 31), -12 (up to 12). An ID is the row's line in a spreadsheet
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "RANGE", allow_hyphen_values = true, help_heading = "Rows")
    )]
    pub id_range: Option<IdRange>,

    /// Omit operations that ran on the host
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Rows"))]
    pub no_host_ops: bool,

    /// Keep rows in file order; for replayed traces, whose host times are those of the capture
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Rows"))]
    pub tracing_mode: bool,

    /// Show one row per device instead of one for all
    #[cfg_attr(feature = "clap", arg(id = "no_merge_devices", long = "no-merge-devices", action = clap::ArgAction::SetFalse, help_heading = "Rows"))]
    pub merge_devices: bool,

    /// Chip the operations ran on, such as wormhole, blackhole or p100 [default: as recorded, else wormhole]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", help_heading = "Figures"))]
    pub arch: Option<String>,

    /// Number of active experts of sparse matmuls whose attributes do not state it
    #[cfg_attr(feature = "clap", arg(long, value_name = "K", help_heading = "Figures"))]
    pub active_experts: Option<NonZeroU64>,

    /// Duration to use: that of the kernel alone (kernel), or including firmware (fw)
    #[cfg_attr(feature = "clap", arg(long, default_value = "kernel", value_parser = flags::one_of(DURATIONS), value_name = "WHICH", help_heading = "Figures"))]
    pub duration: DurationSource,

    /// Time of a collective: mean, min or max over its devices (min: that of the last to enter, which did not wait)
    #[cfg_attr(feature = "clap", arg(long, default_value = "mean", value_parser = flags::one_of(COLLECTIVE_TIMES), value_name = "WHICH", help_heading = "Figures"))]
    pub collective_time: CollectiveTime,

    /// Rows below this percentage of device time, and of device time plus gaps, are minor: shown in gray,
    /// or omitted if color is off. --compat ignores device time
    #[cfg_attr(feature = "clap", arg(long, value_name = "PERCENT", default_value_t = Self::default().min_percentage, value_parser = flags::number("of percent, 0 or more", |value| value >= 0.0), help_heading = "Terminal"))]
    pub min_percentage: f64,

    /// Group the summary by operation (op), operation and memory of its first input (memory), or category
    #[cfg_attr(feature = "clap", arg(long, default_value = "memory", value_parser = flags::one_of(GROUPINGS), value_name = "BY", help_heading = "Terminal"))]
    pub group_by: GroupBy,

    /// Which conventions to follow where reports of other tools differ from ours.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub conventions: Conventions,
}

#[cfg(feature = "clap")]
fn counted_from_one(text: &str) -> Result<usize, std::num::ParseIntError> {
    text.parse().map(std::num::NonZeroUsize::get)
}

#[cfg(feature = "clap")]
const DURATIONS: &[(&str, DurationSource)] =
    &[("kernel", DurationSource::Kernel), ("fw", DurationSource::Firmware)];

#[cfg(feature = "clap")]
const COLLECTIVE_TIMES: &[(&str, CollectiveTime)] =
    &[("mean", CollectiveTime::Mean), ("min", CollectiveTime::Min), ("max", CollectiveTime::Max)];

#[cfg(feature = "clap")]
const GROUPINGS: &[(&str, GroupBy)] =
    &[("op", GroupBy::Op), ("memory", GroupBy::Memory), ("category", GroupBy::Category)];

impl Default for MetalOptions {
    fn default() -> Self {
        MetalOptions {
            conventions: Conventions::default(),
            start_signpost: None,
            end_signpost: None,
            occurrence: None,
            ignore_signposts: false,
            print_signposts: false,
            id_range: None,
            arch: None,
            tracing_mode: false,
            no_host_ops: false,
            merge_devices: true,
            collective_time: CollectiveTime::default(),
            duration: DurationSource::default(),
            active_experts: None,
            group_by: GroupBy::default(),
            min_percentage: 0.5,
        }
    }
}

/// Rows from one ID to another, both included; an open end has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    /// First ID.
    pub first: Option<u32>,
    /// Last ID.
    pub last: Option<u32>,
}

/// Time of a collective that ran on several devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CollectiveTime {
    /// The mean: devices that come early wait for the others.
    #[default]
    Mean,
    /// The shortest: that of the device that came last and did not wait.
    Min,
    /// The longest.
    Max,
}

/// Which duration of an operation counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DurationSource {
    /// `DEVICE KERNEL DURATION [ns]`
    #[default]
    Kernel,
    /// `DEVICE FW DURATION [ns]`: with the firmware around the kernel.
    Firmware,
}

/// What the summary groups by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// Operation.
    Op,
    /// Operation and where its first input lies.
    #[default]
    Memory,
    /// Category.
    Category,
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum MetalError {
    /// No chip has the name that the user gives.
    #[error(transparent)]
    UnknownChip(#[from] UnknownChip),
    /// No chip has the name that the file gives.
    #[error("the file names its chip, but {0}")]
    #[diagnostic(help("specify the chip"))]
    UnknownChipInFile(#[source] UnknownChip),
    /// The first ID of the range comes after the last.
    #[error("the range of IDs is reversed: {first} comes after {last}")]
    ReversedIdRange {
        /// The first.
        first: u32,
        /// The last.
        last: u32,
    },
    /// Occurrences count from 1.
    #[error("signpost occurrences are counted from 1; found 0")]
    OccurrenceZero,
}
