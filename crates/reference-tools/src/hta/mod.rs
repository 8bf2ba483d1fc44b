//! The tables of Holistic Trace Analysis (HTA) with its figures, its rounding and its quirks included, as its main branch at
//! f4d0062c has them. Our own sheets answer the same questions from exact times.

mod reading;
mod sheets;

use std::collections::BTreeMap;
use std::iter;

use critical_path::QUEUED_CALLS;
use gpu_timeline::{SortFew, quantile};
use hashbrown::HashMap;
use trace_ingest::{Category, EventId, PerString, StringId, Trace, TrackId};
use trace2tree::TraceTree;

use reading::{Reading, is_device_event};

pub use reading::read_as_hta;
pub use sheets::hta_sheets;

type IndexMap<K, V> = indexmap::IndexMap<K, V, hashbrown::DefaultHashBuilder>;

/// What HTA takes a device event for, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KernelType {
    Computation,
    Communication,
    Memory,
    /// Synchronisations, and launches in traces of other devices.
    Other,
}

impl KernelType {
    fn from_name(name: &str) -> KernelType {
        let begins = |parts: &[&str]| parts.iter().any(|part| name.starts_with(part));
        let other = ["Sync", "dma", "Memcpy", "Memset"].iter().any(|part| name.contains(part))
            || (name.starts_with("cuda") && name.contains("LaunchKernel"))
            || begins(&[
                "Stream Wait Event",
                "runFunction",
                "job_exe",
                "packet",
                "pe_exe",
                "cpum_exe_subgraph",
                "collective_subgraph_execution",
            ]);
        match () {
            () if begins(&["nccl", "hip", "hccl"]) || name.contains("ncclKernel") => {
                KernelType::Communication
            }
            () if begins(&["Memcpy", "Memset", "dma"]) => KernelType::Memory,
            () if other => KernelType::Other,
            () => KernelType::Computation,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            KernelType::Computation => "COMPUTATION",
            KernelType::Communication => "COMMUNICATION",
            KernelType::Memory => "MEMORY",
            KernelType::Other => "OTHER",
        }
    }
}

/// Calls in its statistics of launches.
const LAUNCHES: [&str; 5] = [
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "runFunction - job_prep_and_submit_for_execution",
    "cudaMemcpyAsync",
    "cudaMemsetAsync",
];

/// A queue of that length counts as full.
const FULL_QUEUE: i64 = 1024;

/// A gap before a kernel that was already launched is short below this, in µs.
const SHORT_GAP: i64 = 30;

/// Share of the sum of times up to which kernels have rows of their own.
const DURATION_RATIO: f64 = 0.8;

/// Start and end in µs; the end may be before the start.
type Span = (i64, i64);

/// An event on a stream.
struct OnStream {
    event: EventId,
    span: Span,
    stream: i64,
    kind: KernelType,
    /// Whether it is a kernel, copy or fill; HTA takes others for work, too, as soon as they have a stream.
    is_work: bool,
}

/// What HTA has read of a trace.
struct HtaEvents {
    reading: Reading,
    /// By start.
    on_streams: Vec<OnStream>,
    /// By correlation id: the last host event and the last device event.
    host: HashMap<i64, EventId>,
    device: HashMap<i64, EventId>,
    /// The first event of the file, which HTA takes for the launch of events whose launch is not in the file.
    first: Option<EventId>,
    /// Earliest start, from which HTA counts times, in µs.
    earliest: i64,
}

/// A trace as HTA reads it, for [`hta_sheets`]. Times are in µs.
pub struct Hta<'a> {
    trace: &'a Trace,
    tree: &'a TraceTree,
    read: HtaEvents,
    sequences_of: Option<String>,
}

struct TemporalBreakdown {
    idle: i64,
    compute: i64,
    non_compute: i64,
    kernel: i64,
}

/// A sum of times with the statistics that pandas' `describe` has.
#[derive(Clone, Copy, Default)]
struct Described {
    count: usize,
    sum: f64,
    mean: f64,
    /// `None` for one value.
    std: Option<f64>,
    min: f64,
    quartiles: [f64; 3],
    max: f64,
}

impl Described {
    /// `None` of no values.
    fn of(mut values: Vec<f64>) -> Option<Described> {
        let count = values.len();
        let sum: f64 = values.iter().sum();
        values.sort_by(f64::total_cmp);
        let mean = sum / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Described {
            count,
            sum,
            mean,
            std: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            min: *values.first()?,
            quartiles: [0.25, 0.5, 0.75].map(|q| quantile(&values, q)),
            max: *values.last()?,
        })
    }
}

/// The times of the events of one name.
struct NamedTimes {
    kind: KernelType,
    /// `None`: all that have no row of their own.
    name: Option<StringId>,
    times: Described,
}

/// The gaps of a stream with one cause.
struct IdleTime {
    stream: i64,
    category: &'static str,
    time: i64,
    /// Of the gaps of the stream; `None` without any.
    ratio: Option<f64>,
}

struct QueueSummary {
    stream: i64,
    lengths: Described,
    /// Time with a full queue, in µs and as a share, where time passes; of the last stream alone.
    full: Option<(i64, Option<f64>)>,
}

/// The length of a stream's queue after a launch or a start.
struct QueuePoint {
    time: i64,
    /// What was launched, or starts.
    work: EventId,
    stream: i64,
    length: i64,
}

/// The bandwidth of the copies of a kind after one starts or ends.
struct BandwidthPoint {
    time: i64,
    copy: EventId,
    kind: String,
    gb_per_s: f64,
}

/// Kernels that calls of an operator launch.
struct Sequence {
    /// Names of the operator and the kernels.
    pattern: String,
    /// Calls that launch these.
    count: usize,
    /// Durations of their kernels.
    device: i64,
    /// Durations of the calls.
    host: i64,
}

struct LaunchTimes {
    correlation: i64,
    cpu: i64,
    gpu: i64,
    delay: i64,
}

impl HtaEvents {
    fn new(trace: &Trace) -> Self {
        let (events, reading) = (trace.events(), Reading::new(trace));
        let mut kinds = PerString::new(trace.strings(), KernelType::from_name);
        let mut all = HtaEvents {
            on_streams: Vec::new(),
            host: HashMap::new(),
            device: HashMap::new(),
            first: events.find_uid(0).filter(|&event| reading.keeps(trace, event)),
            earliest: i64::MAX,
            reading,
        };
        for event in events.ids().filter(|&event| all.reading.keeps(trace, event)) {
            let span = all.reading.span(trace, event);
            all.earliest = all.earliest.min(span.0);
            if let Some(id) = events.correlation(event).filter(|&id| id >= 0) {
                let side = if is_device_event(trace, event) { &mut all.device } else { &mut all.host };
                side.insert(id, event);
            }
            if let Some(stream) = events.stream(event).filter(|&stream| stream != -1) {
                all.on_streams.push(OnStream {
                    event,
                    span,
                    stream,
                    kind: *kinds.get(events.name(event)),
                    is_work: events.category(event).is_device(),
                });
            }
        }
        all.on_streams.sort_by_key(|on_stream| on_stream.span.0);
        all
    }
}

impl<'a> Hta<'a> {
    /// Reads a trace; `sequences_of` is a part of the names of the operators whose sequences of kernels are written.
    #[must_use]
    pub fn new(tree: &'a TraceTree, sequences_of: Option<String>) -> Self {
        let trace = tree.trace();
        Hta { trace, tree, read: HtaEvents::new(trace), sequences_of }
    }

    /// The part of a name that no operator has which launches a sequence of kernels, if one is asked for.
    #[must_use]
    pub fn without_sequences(&self) -> Option<&str> {
        self.sequences_of.as_deref().filter(|_| self.sequences().is_empty())
    }

    fn span(&self, event: EventId) -> Span {
        self.read.reading.span(self.trace, event)
    }

    /// What ran of one type, or of all, as stretches that do not touch.
    fn merged(&self, kind: Option<KernelType>) -> Vec<Span> {
        let mut merged: Vec<Span> = Vec::new();
        for OnStream { span: (start, end), .. } in
            self.read.on_streams.iter().filter(|on_stream| kind.is_none_or(|kind| on_stream.kind == kind))
        {
            match merged.last_mut() {
                Some(last) if *start <= last.1 => last.1 = last.1.max(*end),
                _ => merged.push((*start, *end)),
            }
        }
        merged
    }

    /// `None` without an event on a stream.
    fn temporal_breakdown(&self) -> Option<TemporalBreakdown> {
        let all = self.merged(None);
        let kernel = all.last()?.1 - all.first()?.0;
        let idle = kernel - length(&all);
        let compute = length(&self.merged(Some(KernelType::Computation)));
        Some(TemporalBreakdown { idle, compute, non_compute: kernel - compute - idle, kernel })
    }

    /// Share of the communication that computation overlaps, in percent; `None` without communication.
    fn overlap(&self) -> Option<f64> {
        let communication = self.merged(Some(KernelType::Communication));
        let shared = shared(&communication, &self.merged(Some(KernelType::Computation)));
        let whole = length(&communication);
        (whole != 0).then(|| rounded(100.0 * shared as f64 / whole as f64, 2))
    }

    /// Time with computation alone, communication alone, and both, most first.
    fn kernel_types(&self) -> Vec<(String, i64)> {
        let [computation, communication] =
            [KernelType::Computation, KernelType::Communication].map(|kind| self.merged(Some(kind)));
        let both = shared(&computation, &communication);
        let [a, b] = [KernelType::Computation, KernelType::Communication].map(KernelType::as_str);
        let mut rows = vec![
            (a.to_owned(), length(&computation) - both),
            (b.to_owned(), length(&communication) - both),
            (format!("{a} overlapping {b}"), both),
        ];
        rows.retain(|&(_, time)| time > 0);
        rows.sort_few_by_key(|&(_, time)| std::cmp::Reverse(time));
        rows
    }

    /// The kernels that compute and those that communicate, by name, with a row for those that take little.
    fn kernels(&self) -> Vec<NamedTimes> {
        const MOST_KERNELS: usize = 10;
        let of = |kind| {
            let events = self.read.on_streams.iter().filter(move |on_stream| on_stream.kind == kind);
            let times = events.map(|on_stream| (self.trace.events().name(on_stream.event), on_stream.span));
            self.by_name(kind, times, MOST_KERNELS)
        };
        // By the names of the types.
        [KernelType::Communication, KernelType::Computation].into_iter().flat_map(of).collect()
    }

    /// The annotations that the profiler saw on streams, by name.
    fn annotations(&self) -> Vec<NamedTimes> {
        const MOST_ANNOTATIONS: usize = 1000;
        let events = self.trace.events();
        let annotations =
            events.ids().filter(|&event| events.category(event) == Category::GPU_USER_ANNOTATION);
        let kept = annotations.filter(|&event| self.read.reading.keeps(self.trace, event));
        let times = kept.map(|event| (events.name(event), self.span(event)));
        self.by_name(KernelType::Other, times, MOST_ANNOTATIONS)
    }

    fn by_name(
        &self,
        kind: KernelType,
        times: impl Iterator<Item = (StringId, Span)>,
        most: usize,
    ) -> Vec<NamedTimes> {
        let mut by_name: IndexMap<StringId, Vec<f64>> = IndexMap::default();
        for (name, (start, end)) in times {
            by_name.entry(name).or_default().push((end - start) as f64);
        }
        let described = |(name, times)| Some((name, Described::of(times)?));
        let mut names: Vec<(StringId, Described)> = by_name.into_iter().filter_map(described).collect();
        names.sort_few_by(|a, b| b.1.sum.total_cmp(&a.1.sum));
        let mut rows: Vec<NamedTimes> = Vec::new();
        if names.len() > most {
            let cumulative: Vec<f64> = names
                .iter()
                .scan(0.0, |sum, (_, times)| {
                    *sum += times.sum;
                    Some(*sum)
                })
                .collect();
            // The quantile of the running sums, and not the share of the time.
            let mut ascending = cumulative.clone();
            ascending.sort_by(f64::total_cmp);
            let limit = quantile(&ascending, DURATION_RATIO);
            let mut others = Vec::new();
            for (at, ((name, times), reached)) in names.into_iter().zip(cumulative).enumerate() {
                if reached > limit || at >= most {
                    others.push(times.sum);
                } else {
                    // Statistics are of the sum, as if it were one value.
                    let times = Described::of(vec![times.sum]).unwrap_or_default();
                    rows.push(NamedTimes { kind, name: Some(name), times });
                }
            }
            let others = Described::of(others).map(|times| NamedTimes { kind, name: None, times });
            rows.extend(others);
        } else {
            rows.extend(names.into_iter().map(|(name, times)| NamedTimes { kind, name: Some(name), times }));
        }
        let text = |row: &NamedTimes| row.name.map_or("others", |name| self.trace.text(name));
        rows.sort_few_by(|a, b| text(a).cmp(text(b)));
        rows
    }

    /// Gaps between events that follow each other in the order of their starts, by stream.
    fn idle_times(&self) -> Vec<IdleTime> {
        const CATEGORIES: [&str; 3] = ["host_wait", "kernel_wait", "other"];
        let events = self.trace.events();
        let mut streams: BTreeMap<i64, Vec<&OnStream>> = BTreeMap::new();
        for on_stream in self.read.on_streams.iter().filter(|on_stream| on_stream.is_work) {
            streams.entry(on_stream.stream).or_default().push(on_stream);
        }
        let mut rows = Vec::new();
        for (stream, work) in streams {
            // The first event of a stream counts for the last category, without a gap.
            let mut times = [None, None, Some(0)];
            for pair in work.windows(2) {
                let (end, gap) = (pair[0].span.1, pair[1].span.0 - pair[0].span.1);
                let partner = |id: i64| self.read.host.get(&id).copied().or(self.read.first);
                let launch = events.correlation(pair[1].event).filter(|&id| id >= 0).and_then(partner);
                let category = match launch {
                    Some(launch) if self.span(launch).0 > end => 0,
                    _ if gap < SHORT_GAP => 1,
                    _ => 2,
                };
                *times[category].get_or_insert(0) += gap;
            }
            let whole: i64 = times.iter().flatten().sum();
            let row = |(category, time): (&'static str, Option<i64>)| {
                let time = time?;
                let ratio = (whole != 0).then(|| rounded(time as f64 / whole as f64, 2));
                Some(IdleTime { stream, category, time, ratio })
            };
            rows.extend(CATEGORIES.into_iter().zip(times).filter_map(row));
        }
        rows
    }

    /// Pairs of host and device events of one correlation id whose host event is a call of one of these names.
    fn launched(&self, names: &'static [&'static str]) -> Vec<(i64, EventId, EventId)> {
        let mut is_one = PerString::new(self.trace.strings(), |name: &str| names.contains(&name));
        let name = |event| self.trace.events().name(event);
        let calls = self.read.host.iter().filter(|&(_, &call)| *is_one.get(name(call)));
        let mut pairs: Vec<(i64, EventId, EventId)> =
            calls.filter_map(|(id, &call)| Some((*id, call, *self.read.device.get(id)?))).collect();
        pairs.sort_unstable_by_key(|&(_, call, _)| call);
        pairs
    }

    /// Lengths of the queues after each launch and each start, by stream.
    fn queue_points(&self) -> Vec<QueuePoint> {
        let mut streams: BTreeMap<i64, Vec<(i64, i64, EventId)>> = BTreeMap::new();
        for (_, call, work) in self.launched(&QUEUED_CALLS) {
            let points = streams.entry(self.trace.events().stream(work).unwrap_or(-1)).or_default();
            points.push((self.span(call).0, 1, work));
            points.push((self.span(work).0, -1, work));
        }
        let stream_points = |(stream, mut points): (i64, Vec<(i64, i64, EventId)>)| {
            // Of points at one time HTA's order is not defined.
            points.sort_by_key(|&(time, change, _)| (time, -change));
            let mut length = 0;
            points.into_iter().map(move |(time, change, work)| {
                length += change;
                QueuePoint { time: time - self.read.earliest, work, stream, length }
            })
        };
        streams.into_iter().flat_map(stream_points).collect()
    }

    /// The same in figures of each stream, each point with the same weight.
    fn queues(&self) -> Vec<QueueSummary> {
        let all = self.queue_points();
        let row = |points: &[QueuePoint]| {
            let full = points.windows(2).filter(|pair| pair[0].length >= FULL_QUEUE);
            let full: i64 = full.map(|pair| pair[1].time - pair[0].time).sum();
            let span = points.last().zip(points.first()).map_or(0, |(last, first)| last.time - first.time);
            let full = (full, (span != 0).then(|| full as f64 / span as f64));
            let lengths = Described::of(points.iter().map(|point| point.length as f64).collect())?;
            Some(QueueSummary { stream: points.first()?.stream, lengths, full: Some(full) })
        };
        let mut rows: Vec<QueueSummary> = all.chunk_by(|a, b| a.stream == b.stream).filter_map(row).collect();
        if let Some((_, before)) = rows.split_last_mut() {
            before.iter_mut().for_each(|row| row.full = None);
        }
        rows
    }

    /// Bandwidth of all copies of a kind that run at the same time, at each point where it changes, by kind.
    fn bandwidth_points(&self) -> Vec<BandwidthPoint> {
        let mut kinds: BTreeMap<String, Vec<(i64, f64, EventId)>> = BTreeMap::new();
        let transfers = &self.trace.events().arguments().transfer;
        for &OnStream { event, span: (start, end), .. } in
            self.read.on_streams.iter().filter(|on_stream| on_stream.kind == KernelType::Memory)
        {
            let transfer = transfers.get(event.index());
            let rate = transfer.and_then(|transfer| transfer.bandwidth_gb_per_s).unwrap_or(0.0);
            let points = kinds.entry(copy_kind(self.trace.name(event))).or_default();
            points.push((start, rate, event));
            points.push((start + (end - start).max(1), -rate, event));
        }
        let kind_points = |(kind, mut points): (String, Vec<(i64, f64, EventId)>)| {
            points.sort_by_key(|&(time, ..)| time);
            let mut sum = 0.0;
            points.into_iter().map(move |(time, rate, copy)| {
                sum += rate;
                // Sums below 0 are residues of fractions.
                let time = time - self.read.earliest;
                BandwidthPoint { time, copy, kind: kind.clone(), gb_per_s: f64::max(sum, 0.0) }
            })
        };
        kinds.into_iter().flat_map(kind_points).collect()
    }

    /// The same in figures of each kind, of the points where it is not 0.
    fn bandwidths(&self) -> Vec<(String, Described)> {
        let all = self.bandwidth_points();
        let row = |points: &[BandwidthPoint]| {
            let rates = points.iter().map(|point| point.gb_per_s).filter(|&rate| rate > 0.0);
            Some((points.first()?.kind.clone(), Described::of(rates.collect())?))
        };
        all.chunk_by(|a, b| a.kind == b.kind).filter_map(row).collect()
    }

    /// Where devices saw annotations: kernels, copies and fills in the order of the file, each with the annotation that HTA puts it under: the shortest one
    /// on its row of the file that shares time with it; `None` without one.
    fn annotated_kernels(&self) -> Vec<(EventId, Option<EventId>)> {
        let events = self.trace.events();
        let is_kept = |&event: &EventId| self.read.reading.keeps(self.trace, event);
        let mut annotations: Vec<EventId> = (events.ids())
            .filter(|&event| events.category(event) == Category::GPU_USER_ANNOTATION)
            .filter(is_kept)
            .collect();
        if annotations.is_empty() {
            return Vec::new();
        }
        // Longest first, so that a shorter one overwrites it.
        let length = |event: EventId| {
            let (start, end) = self.span(event);
            end - start
        };
        annotations.sort_by_key(|&event| std::cmp::Reverse(length(event)));
        // By start, each with the latest end so far.
        let mut rows: HashMap<TrackId, Vec<(i64, &OnStream)>> = HashMap::new();
        for on_stream in self.read.on_streams.iter().filter(|on_stream| on_stream.is_work) {
            let row = rows.entry(events.track(on_stream.event)).or_default();
            let latest = row.last().map_or(i64::MIN, |&(latest, _)| latest);
            row.push((latest.max(on_stream.span.1), on_stream));
        }
        let mut under: HashMap<EventId, EventId> = HashMap::new();
        for annotation in annotations {
            let (start, end) = self.span(annotation);
            let Some(row) = rows.get(&events.track(annotation)) else { continue };
            let from = row.partition_point(|&(latest_end, _)| latest_end <= start);
            let work = row[from..].iter().map(|&(_, work)| work).take_while(|work| work.span.0 < end);
            let work = work.filter(|work| work.span.1 > start);
            under.extend(work.map(|work| (work.event, annotation)));
        }
        let mut kernels: Vec<EventId> = rows.into_values().flatten().map(|(_, work)| work.event).collect();
        kernels.sort_unstable();
        kernels.into_iter().map(|kernel| (kernel, under.get(&kernel).copied())).collect()
    }

    /// What calls of operators launch whose names contain a text, each sequence of at least three kernels once, the most
    /// frequent first. Only the calls count that have the fewest others around them.
    fn sequences(&self) -> Vec<Sequence> {
        const SHORTEST: usize = 3;
        let (tree, Some(part)) = (self.tree, self.sequences_of.as_deref()) else { return Vec::new() };
        let events = self.trace.events();
        let mut is_meant = PerString::new(self.trace.strings(), |name: &str| name.contains(part));
        let depth = |operator: EventId| tree.ancestors(operator).count();
        let calls: Vec<(usize, EventId)> = (tree.host_events().iter().copied())
            .filter(|&event| *is_meant.get(events.name(event)) && events.stream(event).is_none())
            .filter(|&event| self.read.reading.keeps(self.trace, event))
            .map(|event| (depth(event), event))
            .collect();
        let Some(least) = calls.iter().map(|&(depth, _)| depth).min() else { return Vec::new() };
        let mut launched: HashMap<i64, Vec<&OnStream>> = HashMap::new();
        for on_stream in &self.read.on_streams {
            if let Some(id) = events.correlation(on_stream.event).filter(|&id| id >= 0) {
                launched.entry(id).or_default().push(on_stream);
            }
        }
        let mut sequences: IndexMap<Vec<StringId>, Sequence> = IndexMap::default();
        for (_, call) in calls.into_iter().filter(|&(depth, _)| depth == least) {
            let ids = tree.host_subtree(call).iter().filter_map(|&inside| events.correlation(inside));
            let mut kernels: Vec<&OnStream> =
                ids.filter_map(|id| launched.get(&id)).flatten().copied().collect();
            if kernels.len() < SHORTEST {
                continue;
            }
            kernels.sort_by_key(|kernel| (kernel.span.0, kernel.event));
            let names = iter::once(call).chain(kernels.iter().map(|kernel| kernel.event));
            let names: Vec<StringId> = names.map(|event| events.name(event)).collect();
            let (start, end) = self.span(call);
            let sequence = sequences.entry(names).or_insert_with_key(|names| {
                let names: Vec<&str> = names.iter().map(|&name| self.trace.text(name)).collect();
                Sequence { pattern: names.join("|"), count: 0, device: 0, host: 0 }
            });
            sequence.count += 1;
            sequence.host += end - start;
            sequence.device += kernels.iter().map(|kernel| kernel.span.1 - kernel.span.0).sum::<i64>();
        }
        let mut rows: Vec<Sequence> = sequences.into_values().collect();
        rows.sort_few_by(|a, b| b.count.cmp(&a.count).then_with(|| a.pattern.cmp(&b.pattern)));
        rows
    }

    /// Start and end of an event as HTA counts them: from the earliest start.
    fn aligned(&self, event: EventId) -> Span {
        let (start, end) = self.span(event);
        (start - self.read.earliest, end - self.read.earliest)
    }

    /// The launches that HTA knows, in the order of the file.
    fn launches(&self) -> Vec<LaunchTimes> {
        let times = |(correlation, call, work)| {
            let [(start, end), (work_start, work_end)] = [call, work].map(|event| self.span(event));
            let delay = (work_start - end).max(0);
            LaunchTimes { correlation, cpu: end - start, gpu: work_end - work_start, delay }
        };
        self.launched(&LAUNCHES).into_iter().map(times).collect()
    }
}

fn length(spans: &[Span]) -> i64 {
    spans.iter().map(|(start, end)| end - start).sum()
}

/// Time that two lists of stretches have in common.
fn shared(a: &[Span], b: &[Span]) -> i64 {
    let (mut time, mut at) = (0, 0);
    for &(start, end) in a {
        while at < b.len() && b[at].1 <= start {
            at += 1;
        }
        let within = b[at..].iter().take_while(|other| other.0 < end);
        time += within.map(|other| (other.1.min(end) - other.0.max(start)).max(0)).sum::<i64>();
    }
    time
}

/// `Memset`, or the kind of copy with its direction: the first eleven characters.
fn copy_kind(name: &str) -> String {
    match name.get(..11) {
        _ if name.starts_with("Memset") => "Memset".to_owned(),
        Some(kind) if kind.starts_with("Memcpy ") => kind.to_owned(),
        _ => "Memcpy Unknown".to_owned(),
    }
}

/// As pandas rounds: the half to the even digit.
fn rounded(value: f64, places: i32) -> f64 {
    let power = 10_f64.powi(places);
    (value * power).round_ties_even() / power
}
