//! What the rules look at: counts, and calls and device events in the orders that rules need.

use std::sync::OnceLock;

use gpu_timeline::SortFew;
use hashbrown::{HashMap, HashSet};
use perf_models::CommunicationPatterns;
use trace_ingest::{Category, EventId, EventTable, PerString, Phase, Trace};
use trace2tree::{CallKind, CaptureSpan, LinkBy, TraceTree, busy_time, capture_spans};

/// Everything that rules share.
pub(crate) struct Facts<'t> {
    pub(crate) tree: &'t TraceTree,
    pub(crate) trace: &'t Trace,
    pub(crate) events: &'t EventTable,
    pub(crate) census: Census,
    /// Runtime and driver calls, by start.
    pub(crate) calls: Vec<Call>,
    /// Correlation ids other than 0 with their calls, by id, then by start.
    pub(crate) called: Vec<(i64, EventId)>,
    /// Kernels, copies and fills, by start.
    pub(crate) device: Vec<EventId>,
    /// The launch of each of them, where it is known.
    launches: Vec<Option<EventId>>,
    /// Time in which device events ran whose launch is known, and in which those ran whose launch is not, in the
    /// trace's time unit. Their sum is the device time of reports.
    pub(crate) linked_time: i64,
    pub(crate) unlinked_time: i64,
    pub(crate) captures: Vec<CaptureSpan>,
    /// What several rules ask for, made when the first of them does.
    pub(crate) unlinked_by_id: OnceLock<Unlinked>,
}

/// Device events without a known launch, by what their correlation id says of it. Each list is by start.
pub(crate) struct Unlinked {
    /// The launch has a smaller id than any recorded call.
    pub(crate) before_calls: Vec<EventId>,
    /// The launch would be among the recorded calls, or behind them.
    pub(crate) among_calls: Vec<EventId>,
    pub(crate) without_id: Vec<EventId>,
    /// Whether a smaller id means an earlier call.
    pub(crate) ids_grow: bool,
}

/// A runtime or driver call.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) event: EventId,
    pub(crate) kind: CallKind,
}

/// What the one pass over all events counts. Times are in the trace's time unit.
pub(crate) struct Census {
    /// Events with a length, the recording's own span excepted.
    pub(crate) spans: u64,
    /// Start of the first of them and end of the last.
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) operators: Tally,
    pub(crate) has_shapes: bool,
    /// External ids of operators but 0, and whether each is that of one operator.
    pub(crate) operator_ids: IdSet,
    pub(crate) operator_ids_are_different: bool,
    /// External ids of annotations.
    pub(crate) annotation_ids: IdSet,
    /// By track: whether operators or calls ran on it.
    pub(crate) is_host_track: Vec<bool>,
    /// Python frames, those included that the reader left out.
    pub(crate) python_frames: u64,
    /// Spans that carry metrics of kernels.
    pub(crate) kernel_metrics: Tally,
    /// Ranges of CUPTI's range profiler.
    pub(crate) profiler_ranges: Tally,
    pub(crate) allocations: u64,
    pub(crate) waits: u64,
    pub(crate) overhead: Tally,
    pub(crate) communication: Tally,
    /// Kernels of communication that do not say which collective they are.
    pub(crate) unnamed_communication: Tally,
    /// Annotations `ProfilerStep#…`, which were operators at first, by start.
    pub(crate) steps: Vec<EventId>,
    /// The mark `Record Window End`.
    pub(crate) window_end: Option<i64>,
    /// The unit of which all starts are multiples, absolute ones.
    pub(crate) granularity: Granularity,
}

/// How finely times are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granularity {
    WholeMicroseconds,
    /// Multiples of 0.25 µs: a double of this magnitude has no others.
    Quarters,
    Finer,
}

/// How many events, the sum of their lengths, and the first in the file.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) time: i64,
    pub(crate) first: Option<EventId>,
}

impl Tally {
    pub(crate) fn add(&mut self, events: &EventTable, event: EventId) {
        self.count += 1;
        self.time += events.duration(event);
        self.first.get_or_insert(event);
    }

    pub(crate) fn of(events: &EventTable, of: impl IntoIterator<Item = EventId>) -> Tally {
        let mut tally = Tally::default();
        of.into_iter().for_each(|event| tally.add(events, event));
        tally
    }
}

/// Ids, most of which lie close together.
pub(crate) enum IdSet {
    /// A bit for each number from the first on.
    Bits(i64, Vec<u64>),
    Others(HashSet<i64>),
}

impl IdSet {
    /// The ids, and whether each of them is there once.
    pub(crate) fn new(ids: impl Iterator<Item = i64> + Clone) -> (IdSet, bool) {
        let (mut least, mut most, mut count) = (i64::MAX, i64::MIN, 0_u64);
        for id in ids.clone() {
            (least, most, count) = (least.min(id), most.max(id), count + 1);
        }
        let words = if count == 0 { 0 } else { most.abs_diff(least) / 64 + 1 };
        let mut set = match words <= count.max(1024) {
            true => IdSet::Bits(least, vec![0; words as usize]),
            false => IdSet::Others(HashSet::with_capacity(count as usize)),
        };
        let mut are_different = true;
        for id in ids {
            are_different &= match &mut set {
                IdSet::Bits(least, bits) => {
                    let at = id.abs_diff(*least);
                    let (word, bit) = (&mut bits[(at / 64) as usize], 1 << (at % 64));
                    let is_new = *word & bit == 0;
                    *word |= bit;
                    is_new
                }
                IdSet::Others(ids) => ids.insert(id),
            };
        }
        (set, are_different)
    }

    pub(crate) fn contains(&self, id: i64) -> bool {
        match self {
            IdSet::Bits(least, bits) if id >= *least => {
                let at = id.abs_diff(*least);
                bits.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 == 1)
            }
            IdSet::Bits(..) => false,
            IdSet::Others(ids) => ids.contains(&id),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            IdSet::Bits(_, bits) => bits.iter().map(|word| u64::from(word.count_ones())).sum(),
            IdSet::Others(ids) => ids.len() as u64,
        }
    }
}

/// What a category without a constant of its own is.
#[derive(Clone, Copy)]
enum OtherCategory {
    Wait,
    ProfilerRange,
    Unknown,
}

impl OtherCategory {
    fn from_name(name: &str) -> OtherCategory {
        match name {
            "cuda_sync" => OtherCategory::Wait,
            "cuda_profiler_range" => OtherCategory::ProfilerRange,
            _ => OtherCategory::Unknown,
        }
    }
}

impl<'t> Facts<'t> {
    pub(crate) fn new(tree: &'t TraceTree) -> Self {
        let trace = tree.trace();
        let events = trace.events();
        let (mut calls, mut device) = (Vec::new(), Vec::new());
        let census = Census::new(trace, &mut calls, &mut device);
        calls.sort_by_key(|call| events.start(call.event));
        device.sort_by_key(|&event| events.start(event));
        let mut called: Vec<(i64, EventId)> = calls
            .iter()
            .filter_map(|call| Some((events.correlation(call.event).filter(|&id| id != 0)?, call.event)))
            .collect();
        called.sort_by_key(|&(id, _)| id);
        let busy = |linked| {
            busy_time(events, device.iter().copied().filter(|&event| tree.contains(event) == linked))
        };
        let (linked_time, unlinked_time) = (busy(true), busy(false));
        Facts {
            tree,
            trace,
            events,
            census,
            calls,
            called,
            launches: device.iter().map(|&event| tree.launch(event)).collect(),
            device,
            linked_time,
            unlinked_time,
            captures: capture_spans(trace),
            unlinked_by_id: OnceLock::new(),
        }
    }

    /// Time in which device events ran, as reports have it.
    pub(crate) fn device_time(&self) -> i64 {
        self.linked_time + self.unlinked_time
    }

    /// Time from the first start to the last end.
    pub(crate) fn span(&self) -> i64 {
        self.census.end - self.census.start
    }

    pub(crate) fn microseconds(&self, time: i64) -> f64 {
        self.trace.to_microseconds(time)
    }

    /// So many microseconds in the trace's time unit.
    pub(crate) fn in_trace_units(&self, microseconds: i64) -> i64 {
        microseconds * self.trace.time_unit().per_microsecond()
    }

    /// Why rules about links cannot run, if they cannot.
    pub(crate) fn unlinked_reason(&self) -> Option<&'static str> {
        (self.tree.options().link_by == LinkBy::Flow)
            .then_some("device events are linked by launch arrows only, as in TraceLens")
    }

    /// Device events without a known launch, by start.
    pub(crate) fn unlinked(&self) -> impl Iterator<Item = EventId> + '_ {
        self.device.iter().copied().filter(|&event| !self.tree.contains(event))
    }

    /// Device events with the call that launched them, by start.
    pub(crate) fn linked(&self) -> impl Iterator<Item = (EventId, EventId)> + Clone + '_ {
        self.device.iter().zip(&self.launches).filter_map(|(&event, &launch)| Some((event, launch?)))
    }

    /// Whether a call was recorded into a graph instead of starting work.
    pub(crate) fn is_captured(&self, call: EventId) -> bool {
        CaptureSpan::any_at(&self.captures, self.events.start(call))
    }

    /// Whether the recorder is that of ROCm.
    pub(crate) fn is_rocm(&self) -> bool {
        let facts = self.trace.facts();
        facts.roctracer_version.is_some() || facts.hip_runtime_version.is_some()
    }

    /// Whether the devices are neither NVIDIA's nor AMD's.
    pub(crate) fn has_foreign_device(&self) -> bool {
        self.trace.facts().accelerator.is_some()
    }
}

impl Census {
    /// Calls and device events are collected in the order of the file.
    fn new(trace: &Trace, calls: &mut Vec<Call>, device: &mut Vec<EventId>) -> Census {
        let events = trace.events();
        let patterns = CommunicationPatterns::default();
        let mut communicates = PerString::new(trace.strings(), |name| patterns.is_communication(name));
        let mut kinds: PerString<'_, CallKind> = PerString::new(trace.strings(), CallKind::from_name);
        let (mut operator_ids, mut annotation_ids) = (Vec::new(), Vec::new());
        let mut is_step = PerString::new(trace.strings(), |name: &str| name.starts_with("ProfilerStep#"));
        let (allocation, window_end) =
            (trace.strings().find("[memory]"), trace.strings().find("Record Window End"));
        let mut others: HashMap<Category, OtherCategory> = HashMap::new();
        let per_microsecond = trace.time_unit().per_microsecond();
        let mut granularity = Granularity::WholeMicroseconds;
        let mut census = Census {
            spans: 0,
            start: i64::MAX,
            end: i64::MIN,
            operators: Tally::default(),
            has_shapes: false,
            operator_ids: IdSet::Bits(0, Vec::new()),
            operator_ids_are_different: true,
            annotation_ids: IdSet::Bits(0, Vec::new()),
            is_host_track: vec![false; trace.tracks().len()],
            python_frames: u64::from(trace.skipped_frames()),
            kernel_metrics: Tally::default(),
            profiler_ranges: Tally::default(),
            allocations: 0,
            waits: 0,
            overhead: Tally::default(),
            communication: Tally::default(),
            unnamed_communication: Tally::default(),
            steps: Vec::new(),
            window_end: None,
            granularity,
        };
        for event in events.ids() {
            let (category, name) = (events.category(event), events.name(event));
            if events.phase(event) == Phase::Instant {
                census.allocations += u64::from(Some(name) == allocation);
                if Some(name) == window_end {
                    census.window_end = census.window_end.max(Some(events.start(event)));
                }
                continue;
            }
            if category == Category::TRACE {
                continue;
            }
            census.spans += 1;
            census.start = census.start.min(events.start(event));
            census.end = census.end.max(events.end(event));
            if granularity != Granularity::Finer {
                let microsecond_part = (trace.origin() + events.start(event)).rem_euclid(per_microsecond);
                granularity = match microsecond_part {
                    0 => granularity,
                    part if part * 4 % per_microsecond == 0 => Granularity::Quarters,
                    _ => Granularity::Finer,
                };
            }
            match category {
                Category::CPU_OP => {
                    census.operators.add(events, event);
                    census.is_host_track[events.track(event).index()] = true;
                    if *is_step.get(name) {
                        census.steps.push(event);
                    }
                    if let Some(id) = events.external_id(event).filter(|&id| id != 0) {
                        operator_ids.push(id);
                    }
                    if !census.has_shapes {
                        let signature = events.signature(event).map(|id| trace.signatures().get(id));
                        census.has_shapes = signature.is_some_and(|signature| signature.dims.is_some());
                    }
                }
                _ if category.is_launch_api() => {
                    census.is_host_track[events.track(event).index()] = true;
                    calls.push(Call { event, kind: *kinds.get(name) });
                }
                _ if category.is_device() => {
                    device.push(event);
                    if category == Category::KERNEL && *communicates.get(name) {
                        census.communication.add(events, event);
                        let collective = events.arguments().collective.get(event.index());
                        if collective.is_none_or(|collective| collective.name.is_none()) {
                            census.unnamed_communication.add(events, event);
                        }
                    }
                }
                Category::PYTHON_FUNCTION => census.python_frames += 1,
                Category::USER_ANNOTATION => {
                    annotation_ids.extend(events.external_id(event));
                    if *is_step.get(name) {
                        census.steps.push(event);
                    }
                }
                Category::KERNEL_METRICS => census.kernel_metrics.add(events, event),
                Category::OVERHEAD => census.overhead.add(events, event),
                _ => {
                    let other = *others
                        .entry(category)
                        .or_insert_with(|| OtherCategory::from_name(trace.category_name(category)));
                    match other {
                        OtherCategory::Wait => census.waits += 1,
                        OtherCategory::ProfilerRange => census.profiler_ranges.add(events, event),
                        OtherCategory::Unknown => {}
                    }
                }
            }
        }
        if census.spans == 0 {
            (census.start, census.end) = (0, 0);
        }
        census.steps.sort_few_by_key(|&step| events.start(step));
        let (operator_ids, operator_ids_are_different) = IdSet::new(operator_ids.iter().copied());
        let (annotation_ids, _) = IdSet::new(annotation_ids.iter().copied());
        Census { granularity, operator_ids, operator_ids_are_different, annotation_ids, ..census }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_however_far_apart_they_are() {
        for ids in [&[5, 7, -3, 64, 63][..], &[0, i64::MAX, i64::MIN, 1_000_000_000], &[]] {
            let (set, are_different) = IdSet::new(ids.iter().copied());
            assert!(are_different && ids.iter().all(|&id| set.contains(id)));
            assert!(![6, -4, 65, i64::MAX - 1].iter().any(|&other| set.contains(other)));
            assert_eq!(set.len(), ids.len() as u64);
        }
        assert!(!IdSet::new([1, 2, 1].into_iter()).1);
        assert!(!IdSet::new([1, i64::MAX, 1].into_iter()).1);
    }
}
