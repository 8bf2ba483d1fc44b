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
/// What TraceLens calls [`OPS_ALL`].
pub const OPS_UNIQUE_ARGS: &str = "ops_unique_args";
/// What TraceLens calls [`OPS_ALL`] with what ran beside each call.
pub const OPS_UNIQUE_ARGS_KL_OVERLAP: &str = "ops_unique_args_kl_overlap";
/// Kinds of time of a GPU, mean over several.
pub const GPU_EVENTS_AVERAGES: &str = "gpu_events_averages";
/// Kernels by kind of work.
pub const KERNEL_SUMMARY_BY_CATEGORY: &str = "kernel_summary_by_category";
/// Kernels of XPlane profiles by name.
pub const KERNEL_LAUNCHERS_SUMMARY: &str = "kernel_launchers_summary";
/// The same by kind of work.
pub const KERNEL_LAUNCHERS_SUMMARY_BY_CATEGORY: &str = "kernel_launchers_summary_by_category";
/// The same by arguments.
pub const KERNEL_LAUNCHERS_UNIQUE_ARGS: &str = "kernel_launchers_unique_args";
/// HLO operations of a TPU.
pub const HLO_STATS: &str = "hlo_stats";
/// Kinds of time of each of several devices.
pub const GPU_TIMELINE_PER_DEVICE: &str = "gpu_timeline_per_device";
/// The same of rocprofv3 profiles.
pub const GPU_TIMELINE_BY_AGENT: &str = "gpu_timeline_by_agent";
/// What the time waited for.
pub const CRITICAL_PATH: &str = "critical_path";
/// The differences of two runs that add up.
pub const DIFF_LEDGER: &str = "diff_ledger";
/// Units of difference of two runs.
pub const DIFF_UNITS: &str = "diff_units";
/// What both runs repeat, with the times of one.
pub const DIFF_CLASSES: &str = "diff_classes";
/// What two runs repeat whose recordings are cut differently.
pub const REPEATED_PARTS: &str = "repeated_parts";
/// Both runs node by node.
pub const DIFF_MAP: &str = "diff_map";
/// Ranks of a job.
pub const RANKS_OVERVIEW: &str = "ranks_overview";
/// Why ranks were late.
pub const STRAGGLER_CAUSES: &str = "straggler_causes";
/// Collectives of a job by group and size.
pub const GROUP_SUMMARY: &str = "group_summary";
/// Numbers of short kernels by duration, in rocprofv3 reports and in TraceLens's of traces.
pub const SHORT_KERNEL_HISTOGRAM: &str = "short_kernel_histogram";
/// Short kernels by operator and name, likewise.
pub const SHORT_KERNELS_SUMMARY: &str = "short_kernels_summary";
