//! Device work by recorder.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use gpu_timeline::{Activity, DeviceEvent, Wait};
use hashbrown::HashMap;
use iterations::{Division, Part};
use metal_perf::{MetalReport, OpCategory, StackedGroup, stacked};
use operator_sheets::Iterated;
use perf_models::Category;
use report_writers::page::{Page, PageFigure, StackedBar, StackedBars};
use rocprof_perf::{RocprofAnalysis, agent_timelines};
use trace_ingest::rocprof::{AgentKind, Call, Domain, Profile};
use trace_ingest::{Category as EventCategory, EventId, TimeUnit, Trace, Track, TrackId};
use trace2tree::{module_class, module_name};
use tree_perf::Analysis;
use xla_perf::JaxAnalysis;

use super::device_work::{
    DeviceWork, HOST_CALL, HOST_OPERATOR, HOST_RANGE, HostEvent, HostThread, Names, WorkEvent, lane,
};
use crate::numbers::{counted, duration, grouped};

/// Threads of the host that a page has: those that launched most.
const MOST_THREADS: usize = 16;

fn show(work: &DeviceWork, iterated: &impl Iterated, page: &mut Page) {
    let iterations = iterated.iterations();
    page.bars = work.bars(iterations);
    page.icicles = work.icicles();
    page.timeline = work.timeline(iterations);
}

/// Of PyTorch's profiler: kernels below operators below modules.
pub(super) fn trace(analysis: &Analysis, page: &mut Page) {
    let (tree, trace) = (analysis.tree(), analysis.trace());
    let mut work = DeviceWork::new(trace.time_unit());
    let mut categories: HashMap<EventId, u32> = HashMap::new();
    for launched in analysis.work() {
        let category = work.names.number(launched.category);
        categories.extend(launched.kernels.iter().map(|&kernel| (kernel, category)));
    }
    let steps = Iterated::iterations(analysis).and_then(|iterations| iterations.steps());
    let division = steps.map(|(level, _)| Division::new(tree, &level.iterations));
    let mut places: HashMap<Option<EventId>, u32> = HashMap::new();
    let launches = analysis.device_events().filter_map(|event| tree.recorded_launch(event));
    let hosts = host_threads(trace, launches, |event| tree.is_module(event), &mut work);
    let device = trace.facts().kind_of_devices();
    for (event, activity) in analysis.activities() {
        let head = tree.operator(event).or_else(|| tree.launch(event));
        let place = match places.get(&head) {
            Some(&place) => place,
            None => {
                let path = head.map_or_else(Vec::new, |head| path(analysis, head, &mut work));
                let place = work.place(path);
                places.insert(head, place);
                place
            }
        };
        let category = match categories.get(&event) {
            Some(&category) => category,
            None => work.names.number(analysis.class(event).as_str()),
        };
        let name = work.names.number(trace.name(event));
        let device_event = analysis.device_event(event, activity);
        work.lanes.entry(lane(&device_event)).or_insert_with(|| {
            match (device_event.device, device_event.stream) {
                (None, None) => device.clone(),
                (None, Some(stream)) => format!("stream {stream}"),
                (Some(number), None) => format!("{device} {number}"),
                (Some(number), Some(stream)) => format!("{device} {number} stream {stream}"),
            }
        });
        let part = division.as_ref().map(|division| division.part_of(event).unwrap_or(Part::Before));
        work.events.push(WorkEvent {
            event: device_event,
            category,
            name,
            place,
            // The timeline of a trace has all devices as one.
            bar: 0,
            counts: analysis.options().include_unlinked_kernels || tree.contains(event),
            part,
            host: tree
                .recorded_launch(event)
                .and_then(|launch| hosts.get(&trace.events().track(launch)).copied()),
        });
    }
    sampled(trace, &mut work);
    work.devices.insert(0, device);
    work.unrecorded = analysis.unrecorded().clone();
    for Wait { span, event, cause, .. } in analysis.idle_stretches(|_| true).0 {
        let event = work.names.number(trace.name(event));
        // All devices of a trace are idle at the same time: their lane stands above those of all.
        work.idle.push((i64::MIN, Wait { span, event, cause, waited_for: None }));
    }
    show(&work, analysis, page);
}

/// Adds the threads that made these launches, those that launched most first, with what they did. Their tracks have their
/// places.
fn host_threads(
    trace: &Trace,
    launches: impl Iterator<Item = EventId>,
    is_module: impl Fn(EventId) -> bool,
    work: &mut DeviceWork,
) -> HashMap<TrackId, u32> {
    let events = trace.events();
    let mut counts: BTreeMap<TrackId, usize> = BTreeMap::new();
    launches.for_each(|launch| *counts.entry(events.track(launch)).or_default() += 1);
    let mut tracks: Vec<TrackId> = counts.keys().copied().collect();
    tracks.sort_by_key(|track| Reverse(counts[track]));
    tracks.truncate(MOST_THREADS);
    let processes: BTreeSet<_> = tracks.iter().map(|&track| trace.tracks().get(track).pid).collect();
    for &track in &tracks {
        let Track { pid, tid } = trace.tracks().get(track);
        let id = |id| trace.row_text(id).unwrap_or_default();
        let thread = trace.thread_name(track).filter(|name| !name.is_empty());
        let thread = thread.map_or_else(|| format!("thread {}", id(tid)), ToOwned::to_owned);
        let name = if processes.len() > 1 { format!("{thread}, process {}", id(pid)) } else { thread };
        work.hosts.push(HostThread { name, events: Vec::new() });
    }
    let numbers: HashMap<TrackId, u32> = tracks.into_iter().zip(0..).collect();
    for event in events.ids() {
        let Some(&number) = numbers.get(&events.track(event)) else { continue };
        let kind = match events.category(event) {
            EventCategory::CPU_OP => HOST_OPERATOR,
            EventCategory::USER_ANNOTATION => HOST_RANGE,
            EventCategory::PYTHON_FUNCTION if is_module(event) => HOST_RANGE,
            category if category.is_launch_api() => HOST_CALL,
            _ => continue,
        };
        let name = work.names.number(trace.name(event));
        let (start, end) = (events.start(event), events.end(event));
        work.hosts[number as usize].events.push(HostEvent { start, end, name, kind });
    }
    numbers
}

/// Adds what the recorder sampled, and the memory that the allocator of each device had given out.
fn sampled(trace: &Trace, work: &mut DeviceWork) {
    for sample in trace.counters() {
        let name = trace.text(sample.counter).to_owned();
        work.counters.entry(name).or_default().push((sample.time, sample.value));
    }
    for (device, allocations) in trace.allocations().into_iter().filter(|(device, _)| !device.is_cpu()) {
        let allocated = allocations.iter().filter_map(|(event, memory)| {
            Some((trace.events().start(*event), memory.allocated? as f64 / f64::from(1 << 20)))
        });
        work.counters.insert(format!("{device} memory, MiB"), allocated.collect());
    }
}

/// The modules around an operator or call, and the outermost and innermost operator in these.
fn path(analysis: &Analysis, head: EventId, work: &mut DeviceWork) -> Vec<(&'static str, u32)> {
    let (tree, trace) = (analysis.tree(), analysis.trace());
    let is_operator = |event: EventId| trace.events().category(event) == EventCategory::CPU_OP;
    let modules = std::iter::successors(tree.parent_module(head), |&module| tree.parent_module(module));
    let mut path: Vec<(&'static str, u32)> = modules
        .map(|module| ("module", work.names.number(module_name(module_class(trace.name(module))))))
        .collect();
    path.reverse();
    let inside = tree.ancestors(head).take_while(|&event| !tree.is_module(event));
    if let Some(outermost) = inside.filter(|&event| is_operator(event)).last() {
        path.push(("operator", work.names.number(trace.name(outermost))));
    }
    let kind = if is_operator(head) { "operator" } else { "call" };
    path.push((kind, work.names.number(trace.name(head))));
    path
}

/// Of XLA programs on GPUs: kernels below instructions below programs.
pub(super) fn xla(analysis: &JaxAnalysis, page: &mut Page) {
    let trace = analysis.trace();
    let mut work = DeviceWork::new(trace.time_unit());
    let planes = &analysis.profile().planes;
    for (number, gpu) in analysis.gpus().iter().enumerate() {
        let name = planes.get(gpu.plane).map_or("", |plane| plane.name.as_str());
        work.devices.insert(number as i64, name.to_owned());
    }
    let mut places: HashMap<usize, u32> = HashMap::new();
    let launches = analysis.device_events().iter().filter_map(|event| event.launch);
    let hosts = host_threads(trace, launches, |_| false, &mut work);
    for event in analysis.device_events() {
        let Some(operator) = analysis.operators().get(event.operator) else { continue };
        let kernel = trace.name(event.event);
        let place = *places.entry(event.operator).or_insert_with(|| {
            let program = operator.program.as_ref().and_then(|program| analysis.program_name(program));
            let mut path: Vec<_> =
                program.map(|name| ("program", work.names.number(name))).into_iter().collect();
            if operator.name != kernel {
                path.push(("instruction", work.names.number(&operator.name)));
            }
            work.place(path)
        });
        let device_event = event.device_event(trace);
        let device = event.gpu as i64;
        let named = work.devices.get(&device).cloned().unwrap_or_default();
        work.lanes
            .entry(lane(&device_event))
            .or_insert_with(|| format!("{} stream {}", named.trim_start_matches("/device:"), event.stream));
        work.events.push(WorkEvent {
            event: device_event,
            category: work.names.number(operator.category.as_str()),
            name: work.names.number(kernel),
            place,
            bar: device,
            counts: true,
            part: event.part,
            host: event.launch.and_then(|launch| hosts.get(&trace.events().track(launch)).copied()),
        });
    }
    work.find_idle_by_launches();
    show(&work, analysis, page);
}

/// Of rocprofv3: kernels and copies of queues.
pub(super) fn rocprof(analysis: &RocprofAnalysis, page: &mut Page) {
    let profile = analysis.profile();
    let mut work = DeviceWork::new(TimeUnit::Nanoseconds);
    let place = work.place(Vec::new());
    // Of several calls with one number the innermost launches: that which began last.
    let mut launches: HashMap<(u32, u64), &Call> = HashMap::new();
    for call in profile.calls.iter().filter(|call| call.domain == Domain::Hip) {
        let Some(correlation) = call.correlation else { continue };
        let innermost = launches.entry((call.process, correlation)).or_insert(call);
        if call.start >= innermost.start {
            *innermost = call;
        }
    }
    // The number 0 says that there is none.
    let launch = |process: u32, correlation: Option<u64>| {
        launches.get(&(process, correlation.filter(|&correlation| correlation != 0)?)).copied()
    };
    let launched = analysis.dispatches().map(|dispatch| launch(dispatch.process, dispatch.correlation));
    let copied = analysis.copies().map(|copy| launch(copy.process, copy.correlation));
    let hosts = threads_of_calls(profile, launched.chain(copied).flatten(), &mut work);
    let host = |launch: Option<&Call>| hosts.get(&launch.map(|call| (call.process, call.thread))?).copied();
    for dispatch in analysis.dispatches() {
        let device = device(profile, dispatch.agent, &mut work);
        // Queues are what runs side by side; some programs make a stream per call.
        let queue = i64::try_from(dispatch.queue).unwrap_or(i64::MAX - 1);
        let class = analysis.class(dispatch.kernel);
        let activity = match class {
            Category::Communication => Activity::Communication,
            _ => Activity::Computation,
        };
        let launch = launch(dispatch.process, dispatch.correlation);
        let event = DeviceEvent::new(dispatch.start.0, dispatch.end.0, activity)
            .on(Some(device), Some(queue))
            .launched(launch.map(|call| call.start.0));
        work.lanes.entry(lane(&event)).or_insert_with(|| format!("GPU {device} queue {}", dispatch.queue));
        work.events.push(WorkEvent {
            event,
            category: work.names.number(class.as_str()),
            name: work.names.number(&analysis.names()[analysis.name_of_kernel(dispatch.kernel) as usize]),
            place,
            bar: device,
            counts: true,
            part: None,
            host: host(launch),
        });
    }
    let category = work.names.number(Category::CopyFill.as_str());
    for copy in analysis.copies() {
        // What a copy between two GPUs keeps busy is both; here it stands where it goes to.
        let agent = [copy.destination, copy.source].into_iter().flatten().find(|&agent| {
            profile.agents.get(agent as usize).is_some_and(|agent| agent.kind == AgentKind::Gpu)
        });
        let device = device(profile, agent, &mut work);
        let launch = launch(copy.process, copy.correlation);
        let event = DeviceEvent::new(copy.start.0, copy.end.0, Activity::Memcpy)
            .on(Some(device), Some(i64::MAX))
            .launched(launch.map(|call| call.start.0));
        work.lanes.entry(lane(&event)).or_insert(format!("GPU {device} copies"));
        work.events.push(WorkEvent {
            event,
            category,
            name: work.names.number(profile.strings.get(copy.name)),
            place,
            bar: device,
            counts: true,
            part: None,
            host: host(launch),
        });
    }
    work.find_idle_by_launches();
    work.shared_windows = agent_timelines(analysis)
        .iter()
        .filter(|timeline| timeline.shares_window)
        .filter_map(|timeline| Some((timeline.agent?.ordinal?, timeline.breakdown.total)))
        .collect();
    page.icicles = work.icicles();
    page.timeline = work.timeline(Iterated::iterations(analysis));
    page.bars = work.bars(None);
}

/// Adds the threads that made these calls, those that launched most first, with all calls and ranges of them. Process and
/// thread have their places.
fn threads_of_calls<'p>(
    profile: &Profile,
    launches: impl Iterator<Item = &'p Call>,
    work: &mut DeviceWork,
) -> HashMap<(u32, i64), u32> {
    let mut counts: BTreeMap<(u32, i64), usize> = BTreeMap::new();
    launches.for_each(|call| *counts.entry((call.process, call.thread)).or_default() += 1);
    let mut threads: Vec<(u32, i64)> = counts.keys().copied().collect();
    threads.sort_by_key(|thread| Reverse(counts[thread]));
    threads.truncate(MOST_THREADS);
    let named =
        threads.iter().map(|(_, thread)| HostThread { name: format!("thread {thread}"), events: Vec::new() });
    work.hosts.extend(named);
    let numbers: HashMap<(u32, i64), u32> = threads.into_iter().zip(0..).collect();
    for call in &profile.calls {
        let Some(&number) = numbers.get(&(call.process, call.thread)) else { continue };
        let kind = if call.domain == Domain::Marker { HOST_RANGE } else { HOST_CALL };
        let name = work.names.number(profile.strings.get(call.name));
        let (start, end) = (call.start.0, call.end.0);
        work.hosts[number as usize].events.push(HostEvent { start, end, name, kind });
    }
    numbers
}

/// The number of a GPU, which gets its bar.
fn device(profile: &Profile, agent: Option<u32>, work: &mut DeviceWork) -> i64 {
    let agent = agent.and_then(|agent| profile.agents.get(agent as usize));
    let number = agent.and_then(|agent| agent.ordinal).unwrap_or(0);
    work.devices.entry(number).or_insert_with(|| format!("GPU {number}"));
    number
}

/// Of Tenstorrent operations: the time of each kind of operation, and of each operation.
pub(super) fn tenstorrent(report: &MetalReport, page: &mut Page) {
    let groups = stacked(report);
    let category = |group: &StackedGroup| group.category.unwrap_or(OpCategory::Other).as_str().to_owned();
    page.bars.extend(bars_of_operations("by kind", &groups, category));
    page.bars.extend(bars_of_operations("by operation", &groups, |group| group.name.clone()));
    let total: f64 = groups.iter().map(|group| group.time_us).sum();
    let operations: usize = groups.iter().map(|group| group.count).sum();
    page.figures.push(PageFigure {
        name: "device time".to_owned(),
        value: duration(total),
        note: "of all operations, without gaps".to_owned(),
    });
    page.figures.push(PageFigure {
        name: "operations".to_owned(),
        value: grouped(operations as u128),
        note: counted(report.ops.len(), "row", "rows"),
    });
}

/// A bar for each device; `None` where nothing took time.
fn bars_of_operations(
    title: &str,
    groups: &[StackedGroup],
    part: impl Fn(&StackedGroup) -> String,
) -> Option<StackedBars> {
    let mut parts = Names::default();
    // Each device's times by part, devices in order.
    let mut devices: BTreeMap<Option<u32>, BTreeMap<u32, i64>> = BTreeMap::new();
    for group in groups.iter().filter(|group| group.time_us > 0.0) {
        let part = parts.number(&part(group));
        *devices.entry(group.device).or_default().entry(part).or_default() +=
            (group.time_us * 1e3).round() as i64;
    }
    let bar = |(device, times): (Option<u32>, BTreeMap<u32, i64>)| {
        let name = device.map_or_else(|| "all devices".to_owned(), |device| format!("device {device}"));
        StackedBar::new(name, times.into_iter().map(|(part, time)| (part as usize, time)), 1)
    };
    let bars: Vec<StackedBar> = devices.into_iter().map(bar).collect();
    (!bars.is_empty()).then(|| StackedBars {
        title: title.to_owned(),
        note: "Sums of the operations' device times, without the gaps between them.".to_owned(),
        parts: parts.into_texts(),
        bars,
        left_out: 0,
    })
}
