//! What is known of a recording as a whole: its kind, its clock, devices, distributed set-up, profiler options.

use std::fmt;

use crate::time::TimeUnit;

/// The kinds of recordings, whether this build reads them or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordingKind {
    /// [`crate::Recording::Trace`]
    Trace,
    /// [`crate::Recording::XPlane`]
    XPlane,
    /// [`crate::Recording::Trace`], of an export of NVIDIA Nsight Systems
    Nsys,
    /// [`crate::Recording::Rocprof`]
    Rocprof,
    /// [`crate::Recording::TenstorrentOps`]
    TenstorrentOps,
}

impl RecordingKind {
    /// All kinds.
    pub const ALL: &[RecordingKind] = &[
        RecordingKind::Trace,
        RecordingKind::XPlane,
        RecordingKind::Nsys,
        RecordingKind::Rocprof,
        RecordingKind::TenstorrentOps,
    ];

    /// The kinds that [`crate::Recording::into_trace`] converts.
    pub(crate) const TRACES: &[RecordingKind] =
        &[RecordingKind::Trace, RecordingKind::XPlane, RecordingKind::Nsys, RecordingKind::Rocprof];

    /// Whether such a recording can be of several processes of a machine.
    #[must_use]
    pub const fn is_machine_wide(self) -> bool {
        matches!(self, RecordingKind::Nsys | RecordingKind::Rocprof)
    }

    pub(crate) fn files(self) -> &'static str {
        match self {
            RecordingKind::Trace => {
                "Chrome trace-event JSON, such as PyTorch's *.pt.trace.json, or PyTorch's *.pftrace"
            }
            RecordingKind::XPlane => "plugins/profile/<time>/<host>.xplane.pb",
            RecordingKind::Nsys => "*.sqlite from nsys export",
            RecordingKind::Rocprof => {
                "*_results.json, *_results.db, *_results.pftrace or a directory of *_trace.csv"
            }
            RecordingKind::TenstorrentOps => "generated/profiler/reports/.../ops_perf_results_*.csv",
        }
    }
}

/// With its article: `an XPlane profile`.
impl fmt::Display for RecordingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RecordingKind::Trace => "an event trace",
            RecordingKind::XPlane => "an XPlane profile",
            RecordingKind::Nsys => "an Nsight Systems export",
            RecordingKind::Rocprof => "a rocprofv3 profile",
            RecordingKind::TenstorrentOps => "a Tenstorrent ops CSV",
        })
    }
}

/// The known top-level facts of a trace. Everything else at the top level, such as the recorder's dump of
/// the host's environment, is skipped unread and never reaches an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceFacts {
    /// What its recorder can know
    pub recorder: RecorderFacts,
    /// Name and version of the recorder, and of the schema of its file, where these say more than the kind
    pub recorder_version: Option<String>,
    /// Kind of the devices, where they are neither NVIDIA's nor AMD's
    pub accelerator: Option<Accelerator>,
    /// Whether XProf wrote the trace, for viewing, of an XPlane profile
    pub is_view_of_xplane: bool,
    /// `schemaVersion`
    pub schema_version: Option<i64>,
    /// `traceName`: where the recorder wrote the trace
    pub trace_name: Option<String>,
    /// `trace_id`
    pub trace_id: Option<String>,
    /// `displayTimeUnit`: unit that a viewer should show; times are microseconds in the file regardless
    pub display_time_unit: Option<String>,
    /// `baseTimeNanoseconds`: what to add to a timestamp for the wall clock
    pub base_time_nanoseconds: Option<i64>,
    /// `record_shapes`: whether operators carry their arguments
    pub record_shapes: Option<bool>,
    /// `with_stack`: whether Python frames were recorded
    pub with_stack: Option<bool>,
    /// `with_flops`
    pub with_flops: Option<bool>,
    /// `with_modules`
    pub with_modules: Option<bool>,
    /// `profile_memory`
    pub profile_memory: Option<bool>,
    /// `cuda_runtime_version`
    pub cuda_runtime_version: Option<String>,
    /// `cuda_driver_version`
    pub cuda_driver_version: Option<String>,
    /// `cupti_version`
    pub cupti_version: Option<String>,
    /// `hip_runtime_version`
    pub hip_runtime_version: Option<String>,
    /// `hip_driver_version`
    pub hip_driver_version: Option<String>,
    /// `roctracer_version`
    pub roctracer_version: Option<String>,
    /// `deviceProperties`: the devices of the host
    pub devices: Vec<DeviceProperties>,
    /// `distributedInfo`: the process's place in a distributed job
    pub distributed: Option<DistributedInfo>,
    /// Gaps in the numbers that rocprofv3 gives dispatches; `None` where it need not record all of them
    pub dispatch_gaps: Option<NumberGaps>,
    /// `INFO`, `WARNING`, `ERROR`: what the recorder's own log counts; nothing else of it is kept
    pub log: RecorderLog,
}

impl TraceFacts {
    /// What a device of the trace is called: `GPU`, `TPU`, `NPU`.
    #[must_use]
    pub fn kind_of_devices(&self) -> String {
        self.accelerator.map_or_else(|| "GPU".to_owned(), |accelerator| accelerator.to_string())
    }

    /// What a device is called: `GPU 0`.
    #[must_use]
    pub fn name_of_device(&self, number: i64) -> String {
        format!("{} {number}", self.kind_of_devices())
    }
}

/// Numbers that a recording lacks of those that its recorder gave one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberGaps {
    /// How many are missing.
    pub missing: u64,
    /// All numbers from the first to the last.
    pub of: u64,
}

/// Numbers of the log that recorders up to April 2026 write into the trace. Its lines, which name hosts and processes, are
/// not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderLog {
    /// Lines of errors, those about missing GPUs excepted.
    pub errors: u64,
    /// Lines that say that no GPU was found, which is right where there is none.
    pub missing_gpus: u64,
    /// Lines of warnings.
    pub warnings: u64,
    /// `Out-of-range`: device records outside the window, which were dropped.
    pub out_of_range: u64,
    /// `Invalid ext correlations`.
    pub invalid_external_ids: u64,
    /// `CPU GPU out-of-order`: device records before their launch.
    pub out_of_order: u64,
    /// `Unexpected CUDA events`.
    pub unexpected_events: u64,
    /// `CUPTI stopped early?`
    pub stopped_early: bool,
}

/// Kinds of devices beside the GPUs of NVIDIA and AMD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Accelerator {
    /// Meta's inference and training accelerator.
    Mtia,
    /// Intel's GPUs.
    Xpu,
    /// Intel's Gaudi.
    Hpu,
    /// Huawei's Ascend.
    Npu,
    /// Google's tensor processing units.
    Tpu,
    /// Apple's GPUs, whose work Kineto does not record.
    Mps,
    /// A device that PyTorch knows by an extension alone.
    PrivateUse1,
}

impl Accelerator {
    /// Whether the recorder gives all work of the device the correlation id of a call. Where not, work without a call is no
    /// sign of loss.
    #[must_use]
    pub fn links_all_work(self) -> bool {
        !matches!(self, Accelerator::Mtia | Accelerator::Hpu | Accelerator::Tpu)
    }
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Accelerator::Mtia => "MTIA",
            Accelerator::Xpu => "XPU",
            Accelerator::Hpu => "HPU",
            Accelerator::Npu => "NPU",
            Accelerator::Tpu => "TPU",
            Accelerator::Mps => "MPS",
            Accelerator::PrivateUse1 => "PrivateUse1",
        })
    }
}

/// What the recorder of a trace can know, set by the reader of its format. Where a fact is false, no trace that was
/// recorded in this way could hold it; where it is true, this trace may lack it all the same. Analyses take their
/// defaults from these facts, and messages their advice.
///
/// By default everything can be known, as in a trace that is built by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecorderFacts {
    /// Kind of the recording; `None` for a trace that was built by hand
    pub kind: Option<RecordingKind>,
    /// Calls of a framework's operators on the host
    pub operators: bool,
    /// Calls of the runtime on the host, and which device events each launched
    pub launches: bool,
    /// The launches of all device events, but of those that came before the recording began. Where there may be others,
    /// device events without a launch are as sound as those with one
    pub all_launches: bool,
    /// Shapes and types of the operators' arguments
    pub shapes: bool,
    /// Python frames of the host's threads
    pub python_frames: bool,
    /// Grids and blocks of kernels
    pub launch_geometry: bool,
    /// Allocations of memory
    pub allocations: bool,
    /// Device times as they were: the recorder did not cut events where the next one of their row starts
    pub uncut_device_times: bool,
    /// Unit of all times
    pub time_unit: TimeUnit,
}

impl Default for RecorderFacts {
    fn default() -> Self {
        RecorderFacts {
            kind: None,
            operators: true,
            launches: true,
            all_launches: true,
            shapes: true,
            python_frames: true,
            launch_geometry: true,
            allocations: true,
            uncut_device_times: true,
            time_unit: TimeUnit::Nanoseconds,
        }
    }
}

/// One entry of `deviceProperties`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceProperties {
    /// Index of the device.
    pub id: Option<i64>,
    /// Marketing name, such as `NVIDIA H100 80GB HBM3`.
    pub name: Option<String>,
    /// Memory in bytes.
    pub total_memory: Option<u64>,
    /// Major compute capability.
    pub compute_major: Option<i64>,
    /// Minor compute capability.
    pub compute_minor: Option<i64>,
    /// Streaming multiprocessors or compute units.
    pub multiprocessors: Option<i64>,
    /// Threads per warp or wave front.
    pub warp_size: Option<i64>,
    /// Threads per block at most.
    pub max_threads_per_block: Option<i64>,
    /// Threads per multiprocessor at most.
    pub max_threads_per_multiprocessor: Option<i64>,
    /// Registers per block.
    pub registers_per_block: Option<i64>,
    /// Shared memory per block in bytes.
    pub shared_memory_per_block: Option<i64>,
}

/// `distributedInfo`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DistributedInfo {
    /// Communication library, such as `nccl`.
    pub backend: Option<String>,
    /// Rank of the recorded process.
    pub rank: Option<i64>,
    /// Number of ranks.
    pub world_size: Option<i64>,
    /// Number of process groups.
    pub process_group_count: Option<i64>,
    /// Process groups.
    pub process_groups: Vec<ProcessGroup>,
    /// Version of the communication library.
    pub nccl_version: Option<String>,
}

/// One entry of `distributedInfo.pg_config`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessGroup {
    /// Name that collectives refer to.
    pub name: Option<String>,
    /// What the group is for, such as `default_pg`.
    pub description: Option<String>,
    /// Number of ranks.
    pub size: Option<i64>,
    /// Its ranks.
    pub ranks: Vec<i64>,
}
