#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod analysis;
mod finding;
#[cfg(test)]
mod fixture;
mod hardware;
mod notice;
mod options;
mod pftrace;
mod sheets;
#[cfg(test)]
mod tests;
mod tracelens_parity;

pub use analysis::RocprofAnalysis;
pub use finding::{RocprofBound, RocprofFinding, rocprof_finding};
pub use notice::{PftraceOmission, RocprofNotice, rocprof_notices};
pub use options::{
    HipGrouping, KernelBaseline, KernelGrouping, KernelPattern, KernelPatternError, PftraceOptions,
    RocprofOptions,
};
pub use sheets::rocprof_sheets;
pub use sheets::timeline::{AgentTimeline, agent_timelines};
