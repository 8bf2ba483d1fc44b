//! Collectives of XLA programs: what they exchange by the HLO, and how fast the kernels of the devices did it.
//!
//! [`CollectiveAnalysis::from_profiles`] takes the profiles of a run's nodes, reads each collective out of its program
//! ([`CollectiveOperation`]), groups the kernels of all devices into executions ([`slices`]), and measures these
//! ([`measure`]). All of that works on plain values and needs no profile.

mod analysis;
mod executions;
mod from_hlo;
mod from_profiles;
mod operation;
pub(crate) mod sheets;
mod summary;
#[cfg(test)]
mod tests;

pub use analysis::{CollectiveAnalysis, ProgramCollective, RecordedKernel};
pub use executions::{
    Bandwidth, CollectiveKernel, GroupMeasurement, Slice, SliceMeasurement, measure, slices,
};
pub use from_hlo::{collective_operation, renamed_collectives};
pub use operation::{CollectiveKind, CollectiveOperation, Devices, ExchangeGroups};
pub use sheets::collective_sheets;
pub use summary::{
    BANDWIDTH_RANGES, BandwidthRange, BufferSize, BufferedCollective, Distribution, KindSummary,
    OperationSummary, buffered, by_kind, by_operation, by_range, by_size,
};
