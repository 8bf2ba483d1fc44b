//! Collectives of XLA programs: what they exchange by the HLO, and how fast the kernels of the devices did it.
//!
//! [`CollectiveAnalysis::of_profiles`] takes the profiles of a run's nodes, reads each collective out of its program
//! ([`CollectiveOperation`]), puts the kernels of all devices together to executions ([`slices`]), and measures these
//! ([`measure`]). Everything below that works on plain values and needs no profile. [`parse_xla_dump`] reads
//! collectives out of XLA's text dumps.

mod aliases;
mod buffers;
mod collective_analysis;
mod dump;
mod executions;
#[cfg(test)]
pub(crate) mod fixture;
mod from_hlo;
mod groups;
mod kind;
mod measurement;
mod operation;
mod recorded;
mod sheets;
mod summary;
#[cfg(test)]
pub(crate) mod tests;

pub use aliases::renamed_collectives;
pub use buffers::{
    BANDWIDTH_RANGES, BandwidthRange, BufferSize, BufferedCollective, buffered, by_range, by_size,
};
pub use collective_analysis::{CollectiveAnalysis, ProgramCollective, RecordedKernel};
pub use dump::{DumpedCollective, parse_xla_dump};
pub use executions::{CollectiveKernel, Slice, slices};
pub use from_hlo::collective_operation;
pub use groups::{Devices, ExchangeGroups};
pub use kind::CollectiveKind;
pub use measurement::{Bandwidth, GroupMeasurement, SliceMeasurement, measure};
pub use operation::CollectiveOperation;
pub(crate) use sheets::OF_PROFILE;
pub use sheets::collective_sheets;
pub use summary::{Distribution, KindSummary, OperationSummary, by_kind, by_operation};
