//! Rows that the sheets in our names and those in NVIDIA's share.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::{Interval, IntervalSet, SortFew, Summary};
use hashbrown::{HashMap, HashSet};
use trace_ingest::{Category, EventId, StringId};
use trace2tree::HostWait;

use crate::analysis::{NsysAnalysis, Thread};
use crate::ranges::DeviceWork;

/// A name with its durations in ns.
pub(crate) struct Sum<K> {
    pub(crate) key: K,
    pub(crate) values: Summary,
    /// Share of the sum of all rows, 0 to 1.
    pub(crate) share: f64,
}

/// Sums by key, the largest first, then by what the key is called.
pub(crate) fn sums<K: Ord, L: Ord>(
    values: impl IntoIterator<Item = (K, i64)>,
    label: impl Fn(&K) -> L,
) -> Vec<Sum<K>> {
    let summaries = gpu_timeline::summaries(values);
    let all: i128 = summaries.iter().map(|(_, values)| i128::from(values.sum)).sum();
    let share = |sum: i64| if all > 0 { sum as f64 / all as f64 } else { 0.0 };
    let mut sums: Vec<Sum<K>> =
        summaries.into_iter().map(|(key, values)| Sum { share: share(values.sum), key, values }).collect();
    sums.sort_few_by_cached_key(|sum| (Reverse(sum.values.sum), label(&sum.key)));
    sums
}

/// Grid and block of a launch.
pub(crate) type Shape = ([u32; 3], [u32; 3]);

/// Kernels by name and by how they were launched.
pub(crate) fn launch_shapes<'a>(analysis: &'a NsysAnalysis<'_>) -> Vec<Sum<(&'a str, Shape)>> {
    let trace = analysis.trace();
    let kernels = analysis.kernels().filter_map(|work| {
        let geometry = trace.events().arguments().geometry.get(work.event.index())?;
        Some(((trace.name(work.event), (geometry.grid, geometry.block)), analysis.duration(work.event)))
    });
    sums(kernels, |&(name, shape)| (name, shape))
}

pub(crate) fn calls<'a>(analysis: &'a NsysAnalysis<'_>) -> Vec<Sum<&'a str>> {
    let trace = analysis.trace();
    sums(analysis.calls().map(|call| (trace.name(call), analysis.duration(call))), |&name| name)
}

/// Calls of the operating system by name.
pub(crate) fn system_calls<'a>(analysis: &'a NsysAnalysis<'_>) -> Vec<Sum<&'a str>> {
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let calls = events.ids().filter(|&event| trace.category_name(events.category(event)) == "os_runtime");
    sums(calls.map(|call| (trace.name(call), analysis.duration(call))), |&name| name)
}

/// Between which memories a copy goes, as its name tells it: `Memcpy HtoD (Pinned -> Device)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CopyKind<'a> {
    /// As NVIDIA's tools spell it since 2023: `Host-to-Device`.
    pub(crate) direction: &'a str,
    pub(crate) source: &'a str,
    pub(crate) destination: &'a str,
}

impl<'a> CopyKind<'a> {
    pub(crate) fn of(name: &'a str) -> Option<Self> {
        const DIRECTIONS: [(&str, &str); 11] = [
            ("HtoD", "Host-to-Device"),
            ("DtoH", "Device-to-Host"),
            ("DtoD", "Device-to-Device"),
            ("PtoP", "Peer-to-Peer"),
            ("HtoH", "Host-to-Host"),
            ("HtoA", "Host-to-Array"),
            ("AtoH", "Array-to-Host"),
            ("AtoA", "Array-to-Array"),
            ("AtoD", "Array-to-Device"),
            ("DtoA", "Device-to-Array"),
            ("Unknown", "Unknown"),
        ];
        let (direction, kinds) = name.strip_prefix("Memcpy ")?.split_once(" (")?;
        let (source, destination) = kinds.strip_suffix(')')?.split_once(" -> ")?;
        let known = DIRECTIONS.into_iter().find(|(short, _)| *short == direction);
        Some(CopyKind { direction: known.map_or(direction, |(_, long)| long), source, destination })
    }

    /// The memory that a fill writes.
    pub(crate) fn filled_memory(name: &str) -> Option<&str> {
        name.strip_prefix("Memset (")?.strip_suffix(')')
    }

    /// Whether memory that can be paged out takes part.
    pub(crate) fn is_pageable(&self) -> bool {
        [self.source, self.destination].contains(&"Pageable")
    }
}

/// What a copy or fill is called in the tables of `nsys stats`.
pub(crate) fn operation(analysis: &NsysAnalysis<'_>, work: DeviceWork) -> String {
    let name = analysis.trace().name(work.event);
    match (analysis.trace().events().category(work.event), CopyKind::of(name)) {
        (Category::GPU_MEMSET, _) => "[CUDA memset]".to_owned(),
        (_, Some(kind)) => format!("[CUDA memcpy {}]", kind.direction),
        (_, None) => name.to_owned(),
    }
}

/// Copies and fills with what `value` says of each.
pub(crate) fn memory_operations(
    analysis: &NsysAnalysis<'_>,
    value: impl Fn(DeviceWork) -> Option<i64>,
) -> Vec<Sum<String>> {
    let copies = analysis.work_of(Category::GPU_MEMCPY);
    let work = copies.chain(analysis.work_of(Category::GPU_MEMSET));
    let rows = work.filter_map(|work| Some((operation(analysis, work), value(work)?)));
    sums(rows, Clone::clone)
}

/// Bytes of a copy or fill.
pub(crate) fn bytes(analysis: &NsysAnalysis<'_>, work: DeviceWork) -> Option<i64> {
    let transfer = analysis.trace().events().arguments().transfer.get(work.event.index())?;
    transfer.bytes.and_then(|bytes| i64::try_from(bytes).ok())
}

/// Copies or fills of one kind on one GPU.
pub(crate) struct Bandwidth<'a> {
    pub(crate) device: i64,
    pub(crate) name: &'a str,
    pub(crate) kind: Option<CopyKind<'a>>,
    pub(crate) durations: Summary,
    pub(crate) bytes: i64,
    /// Time in which at least one of them ran.
    pub(crate) union: i64,
}

/// Copies, or fills, by GPU and kind; most time first on each GPU.
pub(crate) fn bandwidths<'a>(analysis: &'a NsysAnalysis<'_>, category: Category) -> Vec<Bandwidth<'a>> {
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let mut groups: BTreeMap<(i64, &str), Vec<DeviceWork>> = BTreeMap::new();
    for work in analysis.work_of(category) {
        groups.entry((work.device, trace.name(work.event))).or_default().push(work);
    }
    let row = |((device, name), works): ((i64, &'a str), Vec<DeviceWork>)| {
        let durations: Vec<i64> = works.iter().map(|work| analysis.duration(work.event)).collect();
        let spans =
            works.iter().map(|work| Interval::between(events.start(work.event), events.end(work.event)));
        Some(Bandwidth {
            device,
            name,
            kind: CopyKind::of(name),
            durations: Summary::from_values(&durations)?,
            bytes: works.iter().filter_map(|&work| bytes(analysis, work)).sum(),
            union: spans.collect::<IntervalSet>().total_length(),
        })
    };
    let mut rows: Vec<Bandwidth<'a>> = groups.into_iter().filter_map(row).collect();
    rows.sort_few_by_key(|row| (row.device, Reverse(row.durations.sum), row.name));
    rows
}

/// Kernels of one name that calls of one name and thread launched on one GPU. Times are ns.
///
/// Of a call that launched several kernels, such as the replay of a graph, call and queue count once, with the first of
/// them; the total ends with the last.
#[derive(Clone, Debug)]
pub struct LaunchedKernel<'a> {
    /// Process and thread of the call.
    pub thread: Thread,
    /// The GPU.
    pub device: i64,
    /// Name of the call.
    pub call: &'a str,
    /// Name of the kernel.
    pub kernel: &'a str,
    /// From the start of the call to the end of both; `None` where another kernel is the first of all calls.
    pub total: Option<Summary>,
    /// The calls.
    pub calls: Option<Summary>,
    /// From the end of the call to the start of the kernel, of those that started later.
    pub queued: Option<Summary>,
    /// The kernels.
    pub kernels: Summary,
}

/// Kernels with their calls, most time from call to end first.
pub(crate) fn launched_kernels<'a>(analysis: &'a NsysAnalysis<'_>) -> Vec<LaunchedKernel<'a>> {
    type Key = (Thread, i64, StringId, StringId);
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    // By call: the first kernel, and the end of the last one.
    let mut launched: HashMap<EventId, (EventId, i64)> = HashMap::new();
    for (work, call) in analysis.kernels().filter_map(|work| Some((work.event, work.call?))) {
        let (first, end) = launched.entry(call).or_insert((work, i64::MIN));
        if (events.start(work), work) < (events.start(*first), *first) {
            *first = work;
        }
        *end = (*end).max(events.end(work));
    }
    let mut groups: BTreeMap<Key, [Vec<i64>; 4]> = BTreeMap::new();
    for work in analysis.kernels() {
        let Some(call) = work.call else { continue };
        let key = (analysis.thread(call), work.device, analysis.name(call), analysis.name(work.event));
        let [total, calls, queued, kernels] = groups.entry(key).or_default();
        kernels.push(analysis.duration(work.event));
        let (first, end) = launched[&call];
        if work.event == first {
            total.push(events.end(call).max(end) - events.start(call));
            calls.push(analysis.duration(call));
            queued.extend(Some(events.start(work.event) - events.end(call)).filter(|&time| time > 0));
        }
    }
    let row = |((thread, device, call, kernel), [total, calls, queued, kernels]): (Key, [Vec<i64>; 4])| {
        Some(LaunchedKernel {
            thread,
            device,
            call: trace.text(call),
            kernel: trace.text(kernel),
            total: Summary::from_values(&total),
            calls: Summary::from_values(&calls),
            queued: Summary::from_values(&queued),
            kernels: Summary::from_values(&kernels)?,
        })
    };
    let mut rows: Vec<LaunchedKernel<'a>> = groups.into_iter().filter_map(row).collect();
    let total = |row: &LaunchedKernel<'_>| row.total.map_or(0, |total| total.sum);
    rows.sort_few_by_key(|row| (Reverse(total(row)), row.thread, row.device, row.call, row.kernel));
    rows
}

/// Device work of a kind on a GPU by whether its call is known.
pub(crate) struct Coverage {
    pub(crate) device: i64,
    pub(crate) kind: &'static str,
    pub(crate) count: u64,
    pub(crate) with_call: u64,
    pub(crate) after_call: u64,
}

pub(crate) fn coverage(analysis: &NsysAnalysis<'_>) -> Vec<Coverage> {
    let events = analysis.trace().events();
    let mut rows: BTreeMap<(i64, &'static str), Coverage> = BTreeMap::new();
    for work in analysis.device_work() {
        let kind = match events.category(work.event) {
            Category::GPU_MEMCPY => "memcpy",
            Category::GPU_MEMSET => "memset",
            _ => "kernel",
        };
        let device = work.device;
        let row = rows.entry((device, kind)).or_insert(Coverage {
            device,
            kind,
            count: 0,
            with_call: 0,
            after_call: 0,
        });
        row.count += 1;
        row.with_call += u64::from(work.call.is_some());
        row.after_call +=
            u64::from(work.call.is_some_and(|call| events.start(work.event) >= events.end(call)));
    }
    rows.into_values().collect()
}

/// What a kind of synchronization is a sign of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncFinding {
    /// A call that copies asynchronously, from or to memory that can be paged out: it waits.
    PageableCopy,
    /// A call that copies and waits for it.
    BlockingCopy,
    /// A call that waits for the device.
    Wait,
}

impl SyncFinding {
    /// In words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SyncFinding::PageableCopy => "pageable memory: the copy is synchronous",
            SyncFinding::BlockingCopy => "blocking copy",
            SyncFinding::Wait => "the host waits",
        }
    }
}

/// Calls of a name that wait in one way. Times are ns.
pub(crate) struct Synchronizations<'a> {
    pub(crate) call: &'a str,
    pub(crate) kind: Option<&'a str>,
    pub(crate) count: u64,
    pub(crate) call_time: i64,
    pub(crate) sync_time: i64,
    pub(crate) finding: Option<SyncFinding>,
}

/// Synchronizations by call and kind, then copies that make the host wait.
pub(crate) fn synchronizations<'a>(analysis: &'a NsysAnalysis<'_>) -> Vec<Synchronizations<'a>> {
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let mut call_of = HashMap::new();
    for call in analysis.calls() {
        if let Some(correlation) = events.correlation(call) {
            call_of.entry(correlation).or_insert(call);
        }
    }
    let mut rows: BTreeMap<(&str, Option<&str>), Synchronizations<'a>> = BTreeMap::new();
    let mut waited: HashSet<EventId> = HashSet::new();
    let mut add = |call: EventId, kind: Option<&'a str>, sync_time: i64, finding: Option<SyncFinding>| {
        let name = trace.name(call);
        let empty = Synchronizations { call: name, kind, count: 0, call_time: 0, sync_time: 0, finding };
        let row = rows.entry((name, kind)).or_insert(empty);
        row.count += 1;
        row.call_time += analysis.duration(call);
        row.sync_time += sync_time;
    };
    for event in events.ids().filter(|&event| trace.category_name(events.category(event)) == "cuda_sync") {
        let call = events.correlation(event).and_then(|correlation| call_of.get(&correlation).copied());
        if let Some(call) = call {
            waited.insert(call);
            let waits = HostWait::from_call(trace.name(call));
            let is_wait = waits.is_some_and(|waits| waits.is_synchronization() || waits == HostWait::Copy);
            let finding = is_wait.then_some(SyncFinding::Wait);
            add(call, Some(trace.name(event)), analysis.duration(event), finding);
        }
    }
    let mut seen = HashSet::new();
    for work in analysis.work_of(Category::GPU_MEMCPY) {
        let Some(call) = work.call.filter(|&call| !waited.contains(&call) && seen.insert(call)) else {
            continue;
        };
        let name = trace.name(call);
        let is_pageable = CopyKind::of(trace.name(work.event)).is_some_and(|kind| kind.is_pageable());
        match HostWait::from_call(name) {
            Some(HostWait::Copy) => add(call, None, 0, Some(SyncFinding::BlockingCopy)),
            Some(HostWait::AsyncCopy) if is_pageable => add(call, None, 0, Some(SyncFinding::PageableCopy)),
            _ => {}
        }
    }
    let mut rows: Vec<Synchronizations<'a>> = rows.into_values().collect();
    rows.sort_few_by_key(|row| (row.kind.is_none(), Reverse(row.call_time), row.call, row.kind));
    rows
}

/// Work of the driver inside calls, or of the recorder, by kind and name. Times are ns.
#[derive(Clone, Debug)]
pub struct OverheadSum<'a> {
    /// Whether it is the recorder's own work.
    pub is_recorder_work: bool,
    /// Kind of work.
    pub kind: Option<&'a str>,
    /// What it is.
    pub name: &'a str,
    /// Its durations.
    pub durations: Summary,
}

pub(crate) fn overheads<'a>(analysis: &'a NsysAnalysis<'_>) -> Vec<OverheadSum<'a>> {
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let overheads = events.ids().filter(|&event| events.category(event) == Category::OVERHEAD);
    let key = |event: EventId| {
        let overhead = events.arguments().overhead.get(event.index());
        let kind = overhead.map(|overhead| trace.text(overhead.kind));
        (overhead.is_some_and(|overhead| overhead.is_recorder_work), kind, trace.name(event))
    };
    sums(overheads.map(|event| (key(event), analysis.duration(event))), |&key| key)
        .into_iter()
        .map(|Sum { key: (is_recorder_work, kind, name), values: durations, .. }| OverheadSum {
            is_recorder_work,
            kind,
            name,
            durations,
        })
        .collect()
}
