//! Profiles of AMD's `rocprofv3`, from any of its output formats.
//!
//! [`RocprofAnalysis`] has what all sheets are made from: the profile and the names and categories of its kernels.
//! [`rocprof_sheets`] lists the sheets.

mod analysis;
mod category;
mod details;
mod finding;
#[cfg(test)]
mod fixture;
mod kernel_groups;
mod notice;
mod options;
mod pftrace;
mod sheets;
#[cfg(test)]
mod tests;

pub use analysis::RocprofAnalysis;
pub use category::KernelCategory;
pub use finding::{RocprofBound, RocprofFinding, rocprof_finding};
pub use notice::RocprofNotice;
pub use options::RocprofOptions;
pub use pftrace::{
    HipGrouping, KernelBaseline, KernelGrouping, KernelPattern, KernelPatternError, PftraceOmission,
    PftraceOptions,
};
pub use sheets::{AgentTimeline, agent_timelines, rocprof_sheets};
