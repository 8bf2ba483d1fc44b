//! Tables of TPU profiles, in the terms of the XLA profiler's own tools.
//!
//! [`TpuProfile::new`] takes what a profile recorded of tensor cores; a [`TpuProfile`] can be filled in by hand, too.
//! [`TpuAnalysis::new`] sums it up, and a function per table makes its rows: [`hlo_stats`], [`roofline`],
//! [`op_profile`], [`framework_op_stats`], [`overview`], [`module_runs`], [`tpu_collectives`], [`transfers`],
//! [`async_copies`] and [`host_offload`]. [`tpu_sheets`] makes sheets of them, and [`tpu_finding`] says in a sentence
//! where the time goes.
//!
//! Times are [`Picoseconds`](trace_ingest::Picoseconds) until they become figures. Operations count by the clock of the
//! device where it was recorded, which can differ much from that of the profile.

mod analysis;
mod category;
mod collectives;
mod findings;
mod framework_op_stats;
mod hlo_stats;
mod module_runs;
mod op_profile;
mod overview;
mod profile;
mod rates;
mod read;
mod roofline;
mod transfers;

pub use analysis::{DutyCycle, MemoryBytes, OpMetrics, OpTable, StepTable, TpuAnalysis, Work};
pub use category::WorkClass;
pub use collectives::{CollectiveRow, tpu_collectives};
pub use findings::{TpuFinding, TpuNotice, tpu_finding};
pub use framework_op_stats::{FrameworkOpRow, IDLE, IdleTime, Place, framework_op_stats};
pub use hlo_stats::{HloStatsRow, OpTimes, hlo_stats};
pub use module_runs::{ModuleRunRow, module_runs};
pub use op_profile::{OpProfileGrouping, OpProfileLevel, OpProfileMetrics, OpProfileNode, op_profile};
pub use overview::{Overview, StepSource, StepTimes, overview};
pub use profile::{
    AccessKind, AggregatedExecutions, HostOp, MemoryAccess, MemorySpace, MissingPeaks, ModuleRun,
    OpExecution, Peaks, PicoSpan, TpuCore, TpuOp, TpuProfile, TpuStep,
};
pub use rates::{ByMemory, Rates, Resource, Utilization};
pub use roofline::{RooflineRow, RooflineStep, roofline};
pub use transfers::{
    AsyncCopyRow, Direction, HostOffloadRow, Transfer, async_copies, host_offload, transfers,
};

pub(crate) use read::core_activities;

use sheets::Sheet;

use crate::JaxAnalysis;

/// The sheets of a TPU profile, in order, named as in the XLA profiler where it has them. A profile without tensor
/// cores has none of them.
#[must_use]
pub fn tpu_sheets<'a>() -> Vec<Sheet<'a, JaxAnalysis>> {
    vec![
        overview::overview_sheet(),
        hlo_stats::hlo_stats_sheet(),
        roofline::roofline_model_sheet(),
        op_profile::op_profile_sheet(),
        framework_op_stats::framework_op_stats_sheet(),
        module_runs::module_runs_sheet(),
        collectives::collectives_sheet(),
        transfers::async_copies_sheet(),
        transfers::host_offload_sheet(),
    ]
}
