#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod analysis;
mod conventions;
#[cfg(test)]
mod fixture;
mod hardware;
mod notice;
mod options;
mod pftrace;
mod sheets;
#[cfg(test)]
mod tests;

pub use analysis::RocprofAnalysis;
pub use conventions::{
    Conventions, Cumulation, KernelCategories, LaunchRule, OverlapRule, Processes, TimeUnits, TimelineRule,
};
pub use notice::{RocprofNotice, rocprof_notices};
pub use options::{
    HipGrouping, KernelBaseline, KernelGrouping, KernelPattern, KernelPatternError, PftraceOptions,
    RocprofOptions,
};
pub use sheets::rocprof_sheets;
pub use sheets::timeline::{AgentTimeline, agent_timelines};

/// A map in the order in which its keys were first seen.
pub(crate) type IndexMap<K, V> = indexmap::IndexMap<K, V, hashbrown::DefaultHashBuilder>;

/// A set in the order in which its members were first seen.
pub(crate) type IndexSet<T> = indexmap::IndexSet<T, hashbrown::DefaultHashBuilder>;
