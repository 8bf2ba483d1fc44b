//! Collectives of XLA programs: what they exchange by the HLO, and how fast the kernels of the devices did it.
//!
//! [`CollectiveAnalysis::from_profiles`] takes the profiles of a run's nodes, reads each collective out of its program
//! ([`CollectiveOperation`]), groups the kernels of all devices into executions, and measures these
//! ([`SliceMeasurement`]).

mod analysis;
mod executions;
mod from_hlo;
mod from_profiles;
mod operation;
pub(crate) mod sheets;
mod summary;
#[cfg(test)]
mod tests;

pub use analysis::{CollectiveAnalysis, ExecutedKernel, ProgramCollective};
pub use executions::{Bandwidth, GroupMeasurement, SliceMeasurement};
pub use operation::{CollectiveOperation, Devices, ExchangeGroups};
pub use sheets::collective_sheets;
pub use summary::{Distribution, KindSummary, OperationSummary};
