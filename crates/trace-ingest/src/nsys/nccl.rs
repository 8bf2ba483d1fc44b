//! NCCL's ranges: which call of the library launched a kernel, and what it was about.
//!
//! Between `ncclGroupStart` and `ncclGroupEnd` calls only enqueue. The end of the outermost group launches them all, so
//! its kernels are about all calls since the group began.

use hashbrown::HashMap;

use super::global_id::GlobalId;
use super::payload::Payload;
use crate::event_table::Collective;
use crate::trace::Trace;
use crate::track_table::TrackId;

/// What names of NCCL's functions and kernels begin with.
pub(super) const PREFIX: &str = "nccl";
/// Name of its NVTX domain.
pub(super) const DOMAIN: &str = "NCCL";
const GROUP_START: &str = "ncclGroupStart";
const GROUP_END: &str = "ncclGroupEnd";

/// A range of NCCL.
struct Range {
    start: i64,
    end: i64,
    /// The function without `nccl`, in lower case.
    operation: String,
    payload: Payload,
    /// The innermost range around it, of the same thread.
    parent: Option<usize>,
    /// What its kernels are about: itself, or what was enqueued in the group that it ends. Places of ranges.
    launches: Vec<usize>,
}

/// The ranges of a thread, by start once [`Ranges::arrange`] has been called.
#[derive(Default)]
struct Thread {
    process: Option<GlobalId>,
    ranges: Vec<Range>,
    /// How many ranges begin before the call that was asked for last: calls mostly come in their order.
    begun: usize,
}

/// A range by thread and place.
#[derive(Clone, Copy)]
pub(super) struct RangeId(TrackId, usize);

/// The ranges of all threads.
#[derive(Default)]
pub(super) struct Ranges {
    threads: HashMap<TrackId, Thread>,
    /// What a process said of a communicator when it joined it.
    members: HashMap<(Option<GlobalId>, u64), Payload>,
}

impl Ranges {
    /// Adds a range whose text is the name of a function.
    pub(super) fn add(
        &mut self,
        (process, track): (Option<GlobalId>, TrackId),
        (start, end): (i64, i64),
        function: &str,
        payload: Payload,
    ) {
        if let (Some(communicator), Some(_)) = (payload.communicator, payload.ranks) {
            self.members.insert((process, communicator), payload);
        }
        let operation = match function {
            GROUP_START | GROUP_END => function.to_string(),
            _ => function.strip_prefix(PREFIX).unwrap_or(function).to_lowercase(),
        };
        let thread = self.threads.entry(track).or_default();
        thread.process = process;
        thread.ranges.push(Range { start, end, operation, payload, parent: None, launches: Vec::new() });
    }

    /// Finds out which range lies in which, and what the ends of groups launch.
    pub(super) fn arrange(&mut self) {
        for thread in self.threads.values_mut() {
            thread.ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
            let (mut around, mut depth, mut enqueued): (Vec<usize>, u32, Vec<usize>) = Default::default();
            for at in 0..thread.ranges.len() {
                let (start, end) = (thread.ranges[at].start, thread.ranges[at].end);
                while around.last().is_some_and(|&outer| thread.ranges[outer].end < end.max(start)) {
                    around.pop();
                }
                thread.ranges[at].parent = around.last().copied();
                around.push(at);
                match thread.ranges[at].operation.as_str() {
                    GROUP_START => depth += 1,
                    GROUP_END => {
                        depth = depth.saturating_sub(1);
                        if depth == 0 {
                            thread.ranges[at].launches = std::mem::take(&mut enqueued);
                        }
                    }
                    _ => {
                        thread.ranges[at].launches = vec![at];
                        if depth > 0 {
                            enqueued.push(at);
                        }
                    }
                }
            }
        }
    }

    /// The innermost range around a call.
    pub(super) fn around(&mut self, track: TrackId, start: i64, end: i64) -> Option<RangeId> {
        let Thread { ranges, begun, .. } = self.threads.get_mut(&track)?;
        if *begun > 0 && ranges[*begun - 1].start > start {
            *begun = ranges.partition_point(|range| range.start <= start);
        } else {
            *begun += ranges[*begun..].iter().take_while(|range| range.start <= start).count();
        }
        let mut at = begun.checked_sub(1);
        while let Some(place) = at {
            if ranges[place].end >= end {
                return Some(RangeId(track, place));
            }
            at = ranges[place].parent;
        }
        None
    }

    /// What the kernels of a launch in a range are about. Sizes are in bytes: NCCL has those of one rank's part, from which
    /// follow those of all that a rank sends and receives.
    pub(super) fn collective(&self, RangeId(track, place): RangeId, trace: &mut Trace) -> Option<Collective> {
        let thread = self.threads.get(&track)?;
        let mut names: Vec<&str> = Vec::new();
        let (mut sent, mut received, mut communicator) = (0_u64, 0_u64, None);
        for call in thread.ranges[place].launches.iter().map(|&call| &thread.ranges[call]) {
            if !names.contains(&call.operation.as_str()) {
                names.push(&call.operation);
            }
            communicator = communicator.or(call.payload.communicator);
            let Some(part) = call.payload.bytes else { continue };
            let members = communicator.and_then(|id| self.members.get(&(thread.process, id)));
            let ranks = members.and_then(|member| member.ranks).unwrap_or(1);
            let all = part.saturating_mul(ranks);
            let (sent_elements, received_elements) = match call.operation.as_str() {
                "send" => (part, 0),
                "recv" => (0, part),
                "allgather" => (part, all),
                "reducescatter" => (all, part),
                "alltoall" => (all, all),
                _ => (part, part),
            };
            sent = sent.saturating_add(sent_elements);
            received = received.saturating_add(received_elements);
        }
        let has_size = sent > 0 || received > 0;
        let members = communicator.and_then(|id| self.members.get(&(thread.process, id)));
        let number = |value: u64| i64::try_from(value).ok();
        Some(Collective {
            name: (!names.is_empty()).then(|| trace.intern(&names.join("+"))),
            group_name: communicator.map(|id| trace.intern(&format!("{id:#018x}"))),
            group_size: members.and_then(|member| member.ranks).and_then(number),
            rank: members.and_then(|member| member.rank).and_then(number),
            dtype: has_size.then(|| trace.intern("Byte")),
            in_elements: number(sent).filter(|_| has_size),
            out_elements: number(received).filter(|_| has_size),
            ..Collective::default()
        })
        .filter(|collective| collective.name.is_some())
    }
}
