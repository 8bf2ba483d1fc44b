#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod analysis;
mod analysis_extension;
mod call_groups;
mod call_overlap;
mod call_stack;
mod charged_operators;
mod conventions;
mod derived;
mod device;
mod extended_operators;
mod finding;
mod gap_causes;
mod gaps;
mod held_against;
mod host_collectives;
mod host_operators;
mod idle;
mod kernel_records;
mod launchers;
mod memory;
mod memory_finding;
mod models;
mod notice;
mod options;
mod other_run;
mod report;
mod roofline_members;
mod roofs;
mod sanity_check;
mod sheets;
mod step_annotations;
mod unified;
mod unlinked;

pub use analysis::{Analysis, Coverage, WorkOfSteps};
pub use analysis_extension::{AnalysisExtension, ExtensionModel, TreeChanges};
pub use conventions::{
    CategoryRule, CommunicationRule, Conventions, MessageTypes, RecomputeRule, RooflineRule, UnlinkedRule,
};
pub use derived::{DeviceTimeline, UnlinkedEvent};
pub use finding::{KernelTotal, TraceFinding};
pub use gap_causes::{Gap, GapParts, TimeBudget};
pub use gaps::{GapFinding, LongestIteration, Utilization};
pub use idle::{HostHold, IdleFinding};
pub use launchers::{LauncherRow, LauncherWork};
pub use memory_finding::{FailedAllocation, MemoryFinding};
pub use notice::Notice;
pub use operator_sheets::{OpCategory, Roof, RooflinePoint};
pub use options::{AnalysisOptions, BudgetBounds, IterationName, ReportLayout};
pub use other_run::SharedWork;
pub use sanity_check::{CountMismatch, KernelSums, SanityCheck};
pub use sheets::coll_analysis::CollectiveMessage;
pub use sheets::concurrency::{CopyKind, CopyRateOverTime};
pub use sheets::kernel_summary::{KernelRow, KernelTable};
pub use sheets::launches::{StreamQueue, StreamQueueOverTime};
pub use sheets::{all_sheets, budget_sheets, inference_sheets, pytorch_sheets};
pub use unified::{ChargedWork, ModelledCall};

/// A map in the order in which its keys were first seen.
pub(crate) type IndexMap<K, V> = indexmap::IndexMap<K, V, hashbrown::DefaultHashBuilder>;

/// A set in the order in which its members were first seen.
pub(crate) type IndexSet<T> = indexmap::IndexSet<T, hashbrown::DefaultHashBuilder>;
