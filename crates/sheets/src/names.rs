//! Names of sheets that more than one crate refers to. Any other sheet is named where it is made.

/// Kinds of time of the device.
pub const GPU_TIMELINE: &str = "gpu_timeline";
/// Device time by kind of work.
pub const OPS_SUMMARY_BY_CATEGORY: &str = "ops_summary_by_category";
/// Device time by operator.
pub const OPS_SUMMARY: &str = "ops_summary";
/// Device time by operator and arguments.
pub const OPS_ALL: &str = "ops_all";
/// Every device event once, with the figures of models.
pub const UNIFIED_PERF_SUMMARY: &str = "unified_perf_summary";
/// How much of the device time models know.
pub const COVERAGE: &str = "coverage";
/// The roofs of the device.
pub const ROOFLINE: &str = "roofline";
/// The operators under them.
pub const ROOFLINE_POINTS: &str = "roofline_points";
/// Kernels by name.
pub const KERNEL_SUMMARY: &str = "kernel_summary";
/// Iterations of the program.
pub const ITERATIONS: &str = "iterations";
/// Groups of iterations that do alike.
pub const ITERATION_GROUPS: &str = "iteration_groups";
/// Why devices had nothing to run.
pub const IDLE_CAUSES: &str = "idle_causes";
/// Collectives by kind and size.
pub const COLL_ANALYSIS: &str = "coll_analysis";
/// Memory of a device in all.
pub const MEMORY_SUMMARY: &str = "memory_summary";
/// Memory by who allocated it.
pub const MEMORY_OWNERS: &str = "memory_owners";
/// Blocks of memory.
pub const MEMORY_BLOCKS: &str = "memory_blocks";
/// Memory over time.
pub const MEMORY_TIMELINE: &str = "memory_timeline";
/// Memory by step.
pub const MEMORY_STEPS: &str = "memory_steps";
/// Replays of captured graphs.
pub const GRAPH_REPLAYS: &str = "graph_replays";
