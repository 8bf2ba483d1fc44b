//! What is kept of a rank: tables of integers and texts, small enough to hold those of a whole job.
//!
//! Times are nanoseconds on the clock of the recording, to which [`RankRow::base_time_ns`] adds what makes them a time of
//! the host's clock. Only integers, so that sums do not depend on the order in which ranks are added.

use crate::error::Error;
use crate::rows::{Row, Text, rows};

rows! {
    /// The recording of a rank as a whole. Sums of device time are those of the report of the recording.
    pub struct RankRow in "rank" {
        /// Rank by the recording, else by the name of its file.
        rank: Option<i64>,
        /// `recording`, `file name`, `order of hosts` for a device of a profile, or empty where the rank is not known.
        rank_source: Option<Text>,
        /// Number of ranks of the job.
        world_size: Option<i64>,
        /// Host by the recording, the name of the file or of a folder above it.
        host: Option<Text>,
        /// Index of the device on its host.
        device: Option<i64>,
        /// Name of the device.
        device_name: Option<Text>,
        /// Devices that the process sees.
        visible_devices: i64,
        /// Library of communication, such as `nccl`.
        backend: Option<Text>,
        /// Time of the host's clock at 0 of the recording's clock; 0 where the recording's times are such themselves.
        base_time_ns: i64,
        /// Start of the first event.
        window_start_ns: i64,
        /// End of the last event.
        window_end_ns: i64,
        /// Time in which the device did something.
        busy_ns: i64,
        /// Time in which it computed.
        computation_ns: i64,
        /// Time in which it communicated.
        communication_ns: i64,
        /// Time in which it communicated and did not compute.
        exposed_communication_ns: i64,
        /// Time in which it copied and did nothing else.
        exposed_copies_ns: i64,
        /// Time in which it did nothing.
        idle_ns: i64,
        /// What the program repeats, such as `step`.
        step_kind: Option<Text>,
        /// Iterations of that kind.
        steps: i64,
        /// Kernels of collectives.
        collectives: i64,
        /// Warnings of reading.
        warnings: i64,
        /// Whether the file was cut off or damaged: 1, else 0.
        damaged: i64,
    }
}

rows! {
    /// A group of ranks that communicate.
    pub struct GroupRow in "groups" {
        /// Index in this table.
        group: u32,
        /// Hash of the name and the members.
        key: i64,
        /// Name, such as `0`; empty for kernels that tell none.
        name: Option<Text>,
        /// What the group is for, such as `default_pg`.
        description: Option<Text>,
        /// Ranks as the recording writes them, perhaps cut after 30.
        ranks_text: Option<Text>,
        /// Number of ranks.
        size: Option<i64>,
        /// Members as ranges: `0-7,16`.
        members: Option<Text>,
        /// 1 where members are missing in the list, 0 where it is whole.
        members_partial: i64,
        /// Kernels of its collectives.
        collectives: i64,
    }
}

/// Marks sequence numbers that were counted in a profile. No program counts this far.
const COUNTED: i64 = 1 << 62;

/// Bits of a counted sequence number that hold the number of the execution.
const EXECUTION_BITS: u32 = 24;

/// Sequence number of an execution of an instruction that hashes to this, in a profile that has no numbers of its own.
pub(crate) fn counted_sequence(instruction: u64, execution: u64) -> i64 {
    let hash = (instruction >> (EXECUTION_BITS + 2)) << EXECUTION_BITS;
    COUNTED | (hash | execution & ((1 << EXECUTION_BITS) - 1)).cast_signed()
}

/// What all executions of the instruction of a counted sequence number have in common; `None` of numbers that a program
/// gave. Executions count from the start of the profile, so those of profiles that begin at different steps have other
/// numbers.
pub(crate) fn counted_instruction(sequence: i64) -> Option<u64> {
    (sequence & COUNTED != 0).then_some(sequence.cast_unsigned() >> EXECUTION_BITS)
}

rows! {
    /// A kernel of a collective, in the order of groups and of starts.
    pub struct CollectiveRow in "collectives" {
        /// Index of its group.
        group: u32,
        /// Index of the kernel among those of the recording's collectives, in the order of the file.
        ordinal: u32,
        /// Name of the collective, such as `allreduce`.
        name: Option<Text>,
        /// Element type as recorded, such as `BFloat16`.
        dtype: Option<Text>,
        /// Elements given.
        in_elements: Option<i64>,
        /// Elements got.
        out_elements: Option<i64>,
        /// Bytes given; empty where the size of the type is not known.
        in_bytes: Option<i64>,
        /// Bytes got.
        out_bytes: Option<i64>,
        /// Elements given to each rank, as the recording writes them.
        in_split: Option<Text>,
        /// Elements got from each rank.
        out_split: Option<Text>,
        /// Stream of the kernel.
        stream: Option<i64>,
        /// Start.
        start_ns: i64,
        /// Duration.
        duration_ns: i64,
        /// When the host launched it.
        launch_ns: Option<i64>,
        /// Index of the step that launched it.
        step: Option<i64>,
        /// Number of the collective in its group, counted by the program. Of an XLA program, which counts none, bit 62, a hash
        /// of the instruction (38 bits) and the number of its execution in the profile (24 bits).
        sequence: Option<i64>,
        /// The other rank of a point-to-point operation, within the group.
        peer: Option<i64>,
        /// 1 for a point-to-point operation, else 0.
        point_to_point: i64,
        /// Where the description of the collective comes from: `kernel`, `operator`, `instruction`, or empty.
        described_by: Option<Text>,
        /// Number of the host's call, which kernels of one collective share.
        call: Option<i64>,
        /// Computation while it ran.
        computation_ns: i64,
        /// Computation since the start of the group's previous collective, or the start of the recording.
        since_computation_ns: i64,
        /// Communication since the end of that, outside of computation.
        since_communication_ns: i64,
        /// Copies since its start outside of both.
        since_copies_ns: i64,
        /// Time since then in which the device did nothing, and the host had not launched what came next.
        since_host_ns: i64,
        /// Other time in which the device did nothing.
        since_idle_ns: i64,
        /// What the host did in the longest wait for it.
        host_activity: Option<Text>,
    }
}

rows! {
    /// An iteration of the program.
    pub struct StepRow in "steps" {
        /// Index from 0.
        step: i64,
        /// Number that the program gave it.
        number: Option<i64>,
        /// Start on the host.
        start_ns: i64,
        /// End on the host.
        end_ns: i64,
        /// Its part of the device's time: computation, exposed communication and copies, idle; of the first also its wait before.
        device_ns: i64,
        /// Time in which the device computed.
        computation_ns: i64,
        /// Time in which it communicated and did not compute.
        exposed_communication_ns: i64,
        /// Time in which it copied and did nothing else.
        exposed_copies_ns: i64,
        /// Time in which it did nothing.
        idle_ns: i64,
        /// Kernels launched in it.
        kernels: i64,
        /// 1 where all of it was recorded, else 0.
        whole: i64,
    }
}

rows! {
    /// Kernels of one name in a step.
    pub struct KernelRow in "kernels" {
        /// Index of the step that launched them; empty outside of steps.
        step: Option<i64>,
        /// Name.
        name: Option<Text>,
        /// What kind of work: `computation`, `communication` or `copy`.
        activity: Option<Text>,
        /// Stream.
        stream: Option<i64>,
        /// How many.
        count: i64,
        /// Sum of their durations.
        sum_ns: i64,
        /// Shortest.
        min_ns: i64,
        /// Longest.
        max_ns: i64,
    }
}

rows! {
    /// What the calls of one operator with the same arguments did of one kind of work: rows of the sheet
    /// `unified_perf_summary` of a report. Figures add up over rows: a call with work of several kinds counts in the row of
    /// the first.
    pub struct OpRow in "ops" {
        /// Name of the operator; of the runtime's call where no operator launched the work.
        name: Option<Text>,
        /// Kind of work, such as `GEMM`.
        category: Option<Text>,
        /// Hash of the recorded arguments: shapes, types, strides, values. The same on all ranks; empty where none were
        /// recorded.
        signature: Option<i64>,
        /// Shapes of the inputs, such as `((512, 1024), (1024, 4096))`.
        input_dims: Option<Text>,
        /// Element types of the inputs, such as `('c10::BFloat16', 'c10::BFloat16')`.
        input_types: Option<Text>,
        /// Calls.
        calls: i64,
        /// Calls whose FLOPs are known, which of copies are none.
        modelled_calls: i64,
        /// Sum of the durations of the calls on the host.
        host_ns: i64,
        /// Device events that they account for: each whose launch was recorded counts for one operator.
        kernels: i64,
        /// Device time of these: per call the union of their spans, summed over calls.
        device_ns: i64,
        /// Floating-point operations of the modelled calls; empty where there are none.
        flops: Option<i64>,
        /// Bytes that the modelled calls and copies moved; empty where none are known.
        bytes: Option<i64>,
    }
}

rows! {
    /// Something that the device did, or an outermost call of the host: an operator in no other, or a call of the runtime
    /// in none. By start.
    pub struct EventRow in "events" {
        /// Index in the recording's list of events.
        event: u32,
        /// Name.
        name: Option<Text>,
        /// Category, such as `kernel`, `gpu_memcpy` or `cpu_op`.
        category: Option<Text>,
        /// Start.
        start_ns: i64,
        /// Duration.
        duration_ns: i64,
        /// Stream of what the device did.
        stream: Option<i64>,
        /// Number of the thread of a call, counted over the recording; empty for what the device did.
        thread: Option<i64>,
        /// Index of the step that launched it, of a call the one in which it begins; empty outside of steps.
        step: Option<i64>,
        /// `event` of the outermost call that launched it; empty for calls, and where the launch was not recorded.
        launched_by: Option<i64>,
    }
}

rows! {
    /// How long so many events were launched and not started on a stream, one row for each range of lengths that occurs. The
    /// ranges begin at 0 and at the powers of two up to 1024, which is as many as CUDA and HIP let wait. The times of
    /// a stream's rows add up to the time from its first launch to its last start.
    pub struct QueueRow in "queue" {
        /// Stream.
        stream: Option<i64>,
        /// Least length of the range.
        from_length: i64,
        /// Greatest length of the range that occurs.
        max_length: i64,
        /// Time with such a length.
        time_ns: i64,
        /// The length, summed over that time.
        length_ns: i64,
    }
}

rows! {
    /// How long copies and fills of one kind had such a rate together, one row for each range of rates that occurs. The ranges
    /// begin at 0 and at the powers of two. Each copy has the same rate all the time it runs; one without a recorded size or
    /// without duration has none.
    pub struct CopyRateRow in "membw" {
        /// Kind of copy or fill, as the profiler names it.
        name: Option<Text>,
        /// Least rate of the range, in 10⁶ bytes per second.
        from_mb_per_s: i64,
        /// Greatest rate of the range that occurs, in 10⁶ bytes per second.
        max_mb_per_s: i64,
        /// Time with such a rate.
        time_ns: i64,
        /// Bytes moved in that time.
        bytes: i64,
    }
}

rows! {
    /// What the recording waited for, the most first: the stretches of its critical path of one class and name. Their times
    /// add up to the length of the recording.
    pub struct PathRow in "critical_path" {
        /// What it is, such as `compute_kernel`.
        class: Option<Text>,
        /// What it is charged to; of a gap what comes after it. Empty where nothing was recorded after it.
        name: Option<Text>,
        /// Time on the path.
        time_ns: i64,
        /// Stretches of the path.
        count: i64,
        /// The longest of them.
        longest_ns: i64,
    }
}

rows! {
    /// Something that is wrong with the recording, or missing in it, as `tracelens doctor` finds it. The worst first.
    pub struct FindingRow in "findings" {
        /// Short name of the rule, such as `W2`.
        rule: Option<Text>,
        /// `error`, `warning`, `note` or `info`.
        severity: Option<Text>,
        /// How many events, ids or calls are affected.
        count: i64,
        /// Out of how many, where that is known.
        out_of: Option<i64>,
        /// Time that is affected, where the rule measures one.
        time_ns: Option<i64>,
        /// What was seen.
        finding: Option<Text>,
        /// What that does to the figures that a report begins with; empty where it does nothing.
        consequence: Option<Text>,
    }
}

/// What device and host waited for: [`waits`](crate::waits).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitTables {
    /// Lengths of queues, by stream.
    pub queues: Vec<QueueRow>,
    /// Rates of copies, by kind.
    pub copy_rates: Vec<CopyRateRow>,
    /// The critical path, the most time first.
    pub critical_path: Vec<PathRow>,
}

/// The tables of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankTables {
    /// The recording as a whole.
    pub rank: RankRow,
    /// Groups of ranks.
    pub groups: Vec<GroupRow>,
    /// Kernels of collectives, by group and start.
    pub collectives: Vec<CollectiveRow>,
    /// Iterations.
    pub steps: Vec<StepRow>,
    /// Kernels by name and step.
    pub kernels: Vec<KernelRow>,
    /// Operators that account for device time.
    pub ops: Vec<OpRow>,
    /// What is wrong with the recording; none of recordings that are not examined.
    pub findings: Vec<FindingRow>,
    /// What was waited for, where it is wanted.
    pub waits: Option<WaitTables>,
    /// Events one by one, where they are kept: [`single_events`](crate::single_events).
    pub events: Option<Vec<EventRow>>,
}

/// Something to do with each table of a rank.
pub(crate) trait EachTable {
    /// `rows` are `None` where the rank does not have the table.
    fn table<R: Row>(&mut self, rows: Option<&[R]>) -> Result<(), Error>;
}

impl RankTables {
    /// All tables in their order: the one list of them.
    pub(crate) fn each(&self, each: &mut impl EachTable) -> Result<(), Error> {
        each.table(Some(std::slice::from_ref(&self.rank)))?;
        each.table(Some(&self.groups))?;
        each.table(Some(&self.collectives))?;
        each.table(Some(&self.steps))?;
        each.table(Some(&self.kernels))?;
        each.table(Some(&self.ops))?;
        each.table(Some(&self.findings))?;
        let waits = self.waits.as_ref();
        each.table(waits.map(|waits| &waits.queues[..]))?;
        each.table(waits.map(|waits| &waits.copy_rates[..]))?;
        each.table(waits.map(|waits| &waits.critical_path[..]))?;
        each.table(self.events.as_deref())
    }
}
