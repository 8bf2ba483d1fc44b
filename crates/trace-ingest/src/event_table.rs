//! The columns of events.

use crate::argument::SignatureId;
use crate::category::Category;
use crate::memory::MemoryDevice;
use crate::sparse_column::SparseColumn;
use crate::string_table::StringId;
use crate::track_table::TrackId;

/// Bits of the number of a graph's node below those of the graph's number.
pub(crate) const GRAPH_NODE_BITS: u32 = 32;

/// Bits of the number that a call of a process shares with its device work; those above tell processes apart.
#[cfg(any(feature = "nsys", feature = "rocprof"))]
const CORRELATION_BITS: u32 = 40;

/// A correlation number among those of all processes of a recording, which number their calls alike. That of the first
/// process, 0, is the number itself.
#[cfg(any(feature = "nsys", feature = "rocprof"))]
pub(crate) fn process_correlation(process: u32, id: u64) -> i64 {
    (id ^ u64::from(process) << CORRELATION_BITS) as i64
}

/// Handle of an event: its row in the [`EventTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(pub u32);

impl EventId {
    /// Row in the table.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Shape of an event in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A span with a start and a duration (`X`, or a `B`/`E` pair put together).
    Complete,
    /// A moment (`i`); its duration is zero.
    Instant,
}

/// Who a Python frame is and who called it, by the profiler's frame numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PythonFrame {
    /// `Python id`
    pub id: Option<u32>,
    /// `Python parent id`
    pub parent: Option<u32>,
    /// `Python module id`, present on `nn.Module` frames
    pub module: Option<u32>,
}

/// How a kernel was launched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaunchGeometry {
    /// Blocks (work groups) per dimension.
    pub grid: [u32; 3],
    /// Threads (work items) per block and dimension.
    pub block: [u32; 3],
    /// Registers per thread.
    pub registers_per_thread: Option<u32>,
    /// Shared memory (LDS) per block in bytes.
    pub shared_memory: Option<u32>,
}

/// What a copy or fill moved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryTransfer {
    /// Size in bytes.
    pub bytes: Option<u64>,
    /// Bandwidth that the profiler computed, in 1e9 bytes per second.
    pub bandwidth_gb_per_s: Option<f64>,
    /// Direction, such as `HOST_TO_DEVICE`, where the profiler has it beside the name.
    pub direction: Option<StringId>,
}

/// What a collective communication call moved and between whom. On the host call (`record_param_comms`)
/// and on its kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Collective {
    /// `Collective name`, such as `allreduce`
    pub name: Option<StringId>,
    /// `Process Group Name`
    pub group_name: Option<StringId>,
    /// `Process Group Description`
    pub group_description: Option<StringId>,
    /// `Process Group Ranks`, the text as written (`[0, 1]`)
    pub group_ranks: Option<StringId>,
    /// `Group size`: number of ranks
    pub group_size: Option<i64>,
    /// `dtype`, such as `BFloat16`
    pub dtype: Option<StringId>,
    /// `In msg nelems`: elements sent
    pub in_elements: Option<i64>,
    /// `Out msg nelems`: elements received
    pub out_elements: Option<i64>,
    /// `In split size`, the text as written (`[]`)
    pub in_split_size: Option<StringId>,
    /// `Out split size`, the text as written
    pub out_split_size: Option<StringId>,
    /// `Rank`
    pub rank: Option<i64>,
    /// `Global rank start`
    pub global_rank_start: Option<i64>,
    /// `Global rank stride`
    pub global_rank_stride: Option<i64>,
    /// `Seq`: number of the collective among those of its process group, the same on all ranks; point-to-point
    /// operations count for themselves. Recorded by PyTorch of 2026 on.
    pub sequence: Option<i64>,
    /// `Src Rank`, of point-to-point operations
    pub source_rank: Option<i64>,
    /// `Dst Rank`, of point-to-point operations
    pub destination_rank: Option<i64>,
}

/// What the inductor recorded of a Triton kernel call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TritonCall {
    /// `kernel_file`
    pub file: Option<StringId>,
    /// `kernel_hash`
    pub hash: Option<StringId>,
    /// `kernel_kwargs`, such as `XBLOCK=2,R0_BLOCK=2048`
    pub keyword_arguments: Option<StringId>,
    /// `num_warps`
    pub warps: Option<u32>,
    /// `num_stages`
    pub stages: Option<u32>,
}

/// What is special about a range of NVTX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NvtxRange {
    /// It is of a domain other than the default one, with whose name and a colon its own begins.
    pub has_domain: bool,
    /// It was started and ended, not pushed and popped: it need not nest.
    pub is_start_end: bool,
    /// Another thread ended it.
    pub crosses_threads: bool,
    /// What was recorded as its text, where that was asked for ([`crate::NsysReading::whole_texts`]).
    pub text: Option<StringId>,
}

/// Time that the driver or the recorder took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overhead {
    /// Kind of work: `Lazy Function Loading`, `Command Buffer Full`.
    pub kind: StringId,
    /// The recorder's own work, not the driver's.
    pub is_recorder_work: bool,
}

/// What Nsight Systems alone says of device work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CudaWork {
    /// CUDA context.
    pub context: Option<u32>,
    /// Green context: a context that has some of the multiprocessors.
    pub green_context: Option<u32>,
    /// The part of a kernel's shared memory whose size was known when it was compiled, in bytes per block.
    pub static_shared_memory: Option<u32>,
}

/// What a synchronization waits for. On events of the category `cuda_sync`, which PyTorch records on request
/// (`enable_cuda_sync_events`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Synchronization {
    /// `cuda_sync_kind`: `Stream Sync`, `Context Sync`, `Event Sync`, `Stream Wait Event`
    pub kind: Option<StringId>,
    /// `wait_on_stream`: stream that the event was recorded on
    pub stream: Option<i64>,
    /// `wait_on_cuda_event_record_corr_id`: correlation id of the `cudaEventRecord` that is waited for
    pub record: Option<i64>,
}

/// What the memory allocator did, on the moments `[memory]` and `[OutOfMemory]`, which PyTorch records on request
/// (`profile_memory`). Sizes are in bytes, and of no more than 2⁶⁰.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryEvent {
    /// `Device Type` and `Device Id`.
    pub device: MemoryDevice,
    /// `Bytes`: size of the block that was given out, negative for one that was taken back; what was asked for where there
    /// was not enough.
    pub bytes: i64,
    /// `Addr`: address of the block. Old recorders lack it, and the next two.
    pub address: Option<u64>,
    /// `Total Allocated`: size of all blocks of the device that are given out after the event.
    pub allocated: Option<i64>,
    /// `Total Reserved`: what the allocator holds of the device's memory after the event; 0 for the CPU.
    pub reserved: Option<i64>,
    /// `Ev Idx`: order of the recorder, which decides where times are equal.
    pub index: Option<i64>,
}

/// A sample of a counter of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterSample {
    /// Index of the device.
    pub device: i64,
    /// Name of the counter; with that of the series, `name: series`, where the counter has several.
    pub counter: StringId,
    /// When, relative to the trace's origin. Negative where sampling began before the first event.
    pub time: i64,
    /// The value, a finite number.
    pub value: f64,
}

/// One event as a whole, for building a trace and for looking at one event. Times are in the trace's
/// [`crate::TimeUnit`].
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Index of the event in the file's list, counting every entry (also those that are not kept).
    pub uid: u32,
    /// Span or moment.
    pub phase: Phase,
    /// The profiler's category.
    pub category: Category,
    /// Name of the operator, call, frame or kernel.
    pub name: StringId,
    /// Where it ran.
    pub track: TrackId,
    /// Start, relative to the trace's origin.
    pub start: i64,
    /// Length; never negative.
    pub duration: i64,
}

/// Columns of events, in file order. Dense columns have a value per event, sparse ones where the trace
/// gives one. Times are bare ticks of the trace's [`crate::TimeUnit`], for analyses that add up many of them;
/// [`crate::Trace::start`], [`crate::Trace::duration`] and [`crate::Trace::end`] give them with their unit.
#[derive(Clone, Debug, Default)]
pub struct EventTable {
    pub(crate) uid: Vec<u32>,
    pub(crate) phase: Vec<Phase>,
    pub(crate) category: Vec<Category>,
    pub(crate) name: Vec<StringId>,
    pub(crate) track: Vec<TrackId>,
    pub(crate) start: Vec<i64>,
    pub(crate) duration: Vec<i64>,
    pub(crate) arguments: ArgumentColumns,
}

/// Sparse columns of event arguments. All fields are `None` for an event whose trace entry lacks them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ArgumentColumns {
    /// `External id`: number that an operator shares with the calls and device events it caused.
    pub external_id: SparseColumn<i64>,
    /// `correlation` or `connection_id`: number that a launch shares with the device events it caused.
    pub correlation: SparseColumn<i64>,
    /// `device`: index of the device.
    pub device: SparseColumn<i64>,
    /// `stream`, `sycl queue` or `Physic Stream Id`: queue on the device.
    pub stream: SparseColumn<i64>,
    /// `Queue_Id`: hardware queue of a dispatch, which streams can share.
    pub queue: SparseColumn<i64>,
    /// `Input Dims`, `Input type`, `Input Strides`, `Concrete Inputs`.
    pub signature: SparseColumn<SignatureId>,
    /// `Sequence number`: links a forward operator to its backward.
    pub sequence_number: SparseColumn<i64>,
    /// `Fwd thread id`: the forward's thread, on backward operators.
    pub forward_thread: SparseColumn<i64>,
    /// `Python id`, `Python parent id`, `Python module id`.
    pub python_frame: SparseColumn<PythonFrame>,
    /// `grid`, `block`, `registers per thread`, `shared memory`.
    pub geometry: SparseColumn<LaunchGeometry>,
    /// `bytes` or `size`, `memory bandwidth (GB/s)`, `direction`.
    pub transfer: SparseColumn<MemoryTransfer>,
    /// Fields of a collective.
    pub collective: SparseColumn<Collective>,
    /// Fields of a Triton kernel call.
    pub triton: SparseColumn<TritonCall>,
    /// What a synchronization waits for.
    pub synchronization: SparseColumn<Synchronization>,
    /// What the memory allocator did.
    pub memory: SparseColumn<MemoryEvent>,
    /// `graph node id`: node of a captured graph. The number of the graph is in the upper half, where it is known.
    pub graph_node: SparseColumn<i64>,
    /// `kernel`: name of the kernel that a launch is for, also of launches that a graph capture records.
    pub launched_kernel: SparseColumn<StringId>,
    /// `tf_op` of what XLA calls a convolution on a TPU, which may be a matrix product: the operation of the framework.
    pub framework_op: SparseColumn<StringId>,
    /// `Call stack`: the Python frames around an operator, the innermost first, `file(line): function` each, with `;` between.
    /// PyTorch before 1.12 has them in place of events of frames.
    pub call_stack: SparseColumn<StringId>,
    /// `finished: false`: spans that were still open when the recording ended. Their durations are lower bounds.
    pub unfinished: SparseColumn<()>,
    /// What is special about a range of NVTX; none of those that a thread pushes and pops in the default domain.
    pub nvtx: SparseColumn<NvtxRange>,
    /// What kind of overhead a span is, as Nsight Systems tells it.
    pub overhead: SparseColumn<Overhead>,
    /// Context of device work, and how its shared memory divides.
    pub cuda: SparseColumn<CudaWork>,
}

impl EventTable {
    /// Number of events kept.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// All event ids in file order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = EventId> + ExactSizeIterator + Clone + use<> {
        (0..self.start.len() as u32).map(EventId)
    }

    /// Index of the event in the file's list of events.
    #[inline]
    pub fn uid(&self, event: EventId) -> u32 {
        self.uid[event.index()]
    }

    /// The event with this index in the file's list, if it was kept.
    pub fn find_uid(&self, uid: u32) -> Option<EventId> {
        self.uid.binary_search(&uid).ok().map(|row| EventId(row as u32))
    }

    /// Span or moment.
    #[inline]
    pub fn phase(&self, event: EventId) -> Phase {
        self.phase[event.index()]
    }

    /// Category.
    #[inline]
    pub fn category(&self, event: EventId) -> Category {
        self.category[event.index()]
    }

    /// Interned name.
    #[inline]
    pub fn name(&self, event: EventId) -> StringId {
        self.name[event.index()]
    }

    /// Process and thread.
    #[inline]
    pub fn track(&self, event: EventId) -> TrackId {
        self.track[event.index()]
    }

    /// Start in ticks since the trace's origin.
    #[inline]
    pub fn start(&self, event: EventId) -> i64 {
        self.start[event.index()]
    }

    /// Length in ticks, never negative.
    #[inline]
    pub fn duration(&self, event: EventId) -> i64 {
        self.duration[event.index()]
    }

    /// End in ticks since the trace's origin.
    #[inline]
    pub fn end(&self, event: EventId) -> i64 {
        self.start[event.index()] + self.duration[event.index()]
    }

    /// The event's dense fields together.
    pub fn get(&self, event: EventId) -> Event {
        let row = event.index();
        Event {
            uid: self.uid[row],
            phase: self.phase[row],
            category: self.category[row],
            name: self.name[row],
            track: self.track[row],
            start: self.start[row],
            duration: self.duration[row],
        }
    }

    /// The argument columns.
    pub fn arguments(&self) -> &ArgumentColumns {
        &self.arguments
    }

    /// `External id`.
    #[inline]
    pub fn external_id(&self, event: EventId) -> Option<i64> {
        self.arguments.external_id.get(event.index())
    }

    /// The operator that `External id` names. ROCm's tracer writes the correlation id there where no operator is known; a
    /// mere repetition names none.
    #[inline]
    pub fn operator_id(&self, event: EventId) -> Option<i64> {
        self.external_id(event).filter(|&id| self.correlation(event) != Some(id))
    }

    /// `correlation`.
    #[inline]
    pub fn correlation(&self, event: EventId) -> Option<i64> {
        self.arguments.correlation.get(event.index())
    }

    /// `device`.
    #[inline]
    pub fn device(&self, event: EventId) -> Option<i64> {
        self.arguments.device.get(event.index())
    }

    /// `stream`.
    #[inline]
    pub fn stream(&self, event: EventId) -> Option<i64> {
        self.arguments.stream.get(event.index())
    }

    /// Shapes, types, strides and concrete inputs.
    #[inline]
    pub fn signature(&self, event: EventId) -> Option<SignatureId> {
        self.arguments.signature.get(event.index())
    }

    /// `Sequence number`.
    #[inline]
    pub fn sequence_number(&self, event: EventId) -> Option<i64> {
        self.arguments.sequence_number.get(event.index())
    }

    /// Number of the captured graph that the event is a node of, where the recorder tells it.
    #[inline]
    pub fn graph(&self, event: EventId) -> Option<i64> {
        self.arguments
            .graph_node
            .get(event.index())
            .map(|node| node >> GRAPH_NODE_BITS)
            .filter(|&graph| graph > 0)
    }

    #[inline]
    pub(crate) fn push(&mut self, event: Event) -> EventId {
        let row = self.start.len();
        self.uid.push(event.uid);
        self.phase.push(event.phase);
        self.category.push(event.category);
        self.name.push(event.name);
        self.track.push(event.track);
        self.start.push(event.start);
        self.duration.push(event.duration);
        EventId(row as u32)
    }
}

/// End of a flow arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// `ph: "s"`
    Start,
    /// `ph: "f"`
    Finish,
}

/// What a flow arrow connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlowKind {
    /// `ac2g`: a launch and the device event it caused.
    Launch,
    /// `ac2g` with an id of [`FlowKind::FIRST_GRAPH_DEPENDENCY`] or more: two device events of one replay of a graph, the
    /// second of which waits for the first. The start stands at the end of the first, the finish at the start of the
    /// second.
    GraphDependency,
    /// `fwdbwd`: a forward operator and its backward.
    ForwardBackward,
    /// `cpu_to_cuda`, as the autograd profiler's own export has it: an operator, at whose start the arrow starts, and the
    /// device work at whose start it ends.
    OperatorToDevice,
}

impl FlowKind {
    /// Smallest id of an arrow between nodes of a graph. Ids of launches are correlation ids, which have 32 bits.
    pub const FIRST_GRAPH_DEPENDENCY: i64 = 1 << 40;

    /// Whether the times of its ends say at which events they are.
    pub(crate) fn is_placed_by_time(self) -> bool {
        matches!(self, FlowKind::GraphDependency | FlowKind::OperatorToDevice)
    }
}

/// One end of a flow arrow; start and finish share kind and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// What it connects.
    pub kind: FlowKind,
    /// Which end.
    pub end: FlowEnd,
    /// Number that both ends share; for launches the correlation id.
    pub id: i64,
    /// Where the end is attached.
    pub track: TrackId,
    /// When, relative to the trace's origin; kept for [`FlowKind::GraphDependency`] and
    /// [`FlowKind::OperatorToDevice`] only, whose ids name no event.
    pub time: Option<i64>,
    /// Index in the file's list of the event at this end, where the file says which it is.
    pub event: Option<u32>,
}
