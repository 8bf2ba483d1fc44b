//! Tables of TPU profiles, in the terms of the XLA profiler's own tools.
//!
//! [`TpuProfile::of`] takes what a profile recorded of tensor cores; a [`TpuProfile`] can be filled in by hand as well.
//! [`TpuAnalysis::new`] sums it up, and a function per table makes its rows: [`hlo_stats`], [`roofline`],
//! [`op_profile`], [`framework_op_stats`], [`overview`], [`module_runs`], [`tpu_collectives`], [`transfers`],
//! [`async_copies`], [`host_offload`] and [`tpu_finding`], which says in a sentence where the time goes. [`tpu_sheets`] are the same as DataFrames.
//!
//! Times are integers in picoseconds until they become figures. Operations count by the clock of the device where it
//! was recorded, which can differ much from that of the profile.

mod analysis;
mod async_copies;
mod category;
mod collectives;
mod finding;
mod framework_op;
mod framework_op_stats;
mod hlo_stats;
mod memory_breakdown;
mod module_runs;
mod notice;
mod op_metrics;
mod op_profile;
mod overview;
mod peaks;
mod profile;
mod rates;
mod read;
mod roofline;
mod self_time;
mod sheets;
mod transfer_sums;

pub use analysis::{DutyCycle, StepTable, TpuAnalysis};
pub use async_copies::{Direction, Transfer, transfers};
pub use category::WorkClass;
pub use collectives::{CollectiveRow, tpu_collectives};
pub use finding::{TpuFinding, tpu_finding};
pub use framework_op::{FrameworkOp, parse_framework_op};
pub use framework_op_stats::{FrameworkOpRow, IDLE, IdleTime, Place, framework_op_stats};
pub use hlo_stats::{HloStatsRow, OpTimes, hlo_stats};
pub use module_runs::{ModuleRunRow, module_runs};
pub use notice::TpuNotice;
pub use op_metrics::{MemoryBytes, OpMetrics, OpTable, Work};
pub use op_profile::{OpProfileGrouping, OpProfileLevel, OpProfileMetrics, OpProfileNode, op_profile};
pub use overview::{Overview, StepSource, StepTimes, TopOp, overview};
pub use peaks::{MissingPeaks, Peaks};
pub use profile::{
    AccessKind, AggregatedExecutions, Execution, HostOp, MemoryAccess, MemorySpace, ModuleRun, PicoSpan,
    TpuCore, TpuOp, TpuProfile, TpuStep,
};
pub use rates::{ByMemory, Rates, Resource, Roof};
pub use roofline::{RooflineRow, RooflineStep, roofline};
pub use self_time::self_times;
pub use sheets::tpu_sheets;
pub use transfer_sums::{AsyncCopyRow, HostOffloadRow, async_copies, host_offload};
