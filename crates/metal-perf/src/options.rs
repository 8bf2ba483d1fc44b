//! What to report and how.

use std::num::NonZeroU64;

use crate::chips::UnknownChip;
use crate::conventions::Conventions;

/// What to report and how.
#[derive(Clone, Debug, PartialEq)]
pub struct MetalOptions {
    /// How figures are made and shown where reports differ.
    pub conventions: Conventions,
    /// Report what comes after this signpost.
    pub start_signpost: Option<String>,
    /// Report what comes before this signpost.
    pub end_signpost: Option<String>,
    /// Which occurrence of the start signpost counts, from 1; `None` takes the first.
    pub occurrence: Option<usize>,
    /// Report whole files.
    pub ignore_signposts: bool,
    /// Keep rows of signposts.
    pub print_signposts: bool,
    /// Report these rows only.
    pub id_range: Option<IdRange>,
    /// Chip; `None` takes what the file says.
    pub arch: Option<String>,
    /// Keep the order of the file.
    pub tracing_mode: bool,
    /// Leave out operations of the host.
    pub no_host_ops: bool,
    /// Put the rows of all devices that belong to one call together.
    pub merge_devices: bool,
    /// Time of a collective that ran on several devices.
    pub collective_time: CollectiveTime,
    /// Which duration counts.
    pub duration: DurationSource,
    /// Experts that a sparse product computes, where its attributes do not say.
    pub active_experts: Option<NonZeroU64>,
    /// What the summary groups by.
    pub group_by: GroupBy,
    /// Share in percent, of the total and of device time, below which a row is minor.
    pub min_percentage: f64,
}

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
#[allow(missing_docs, reason = "the messages say what their fields are")]
pub enum MetalError {
    /// No chip has the name that the user gives.
    #[error(transparent)]
    UnknownChip(#[from] UnknownChip),
    /// No chip has the name that the file gives.
    #[error("the file names its chip, but {0}")]
    #[diagnostic(help("name the chip to compare with"))]
    UnknownChipInFile(#[source] UnknownChip),
    /// The first ID of the range comes after the last.
    #[error("the range of IDs is reversed: {first} comes after {last}")]
    ReversedIdRange { first: u32, last: u32 },
    /// Occurrences count from 1.
    #[error("occurrences of a signpost count from 1: there is no occurrence 0")]
    OccurrenceZero,
}
