//! The search for what a recording does not have: launches whose device events are missing, stretches between the cycles of a
//! profiler. Devices may have worked then, so that such time is no idle time.

use gpu_timeline::Interval;
use hashbrown::{HashMap, HashSet};
use trace_ingest::{Category, EventId, PerString, RecordingKind, RowId, TrackId};

use crate::capture_span::{CaptureSpan, capture_spans};
use crate::linking::LinkBy;
use crate::names::{CallKind, HostWait};
use crate::tree::TraceTree;
use crate::unrecorded::{LostLaunches, Unrecorded};

/// Of all launches, the share in percent from which on lost ones are missing throughout the recording.
const LOST_THROUGHOUT: usize = 5;
/// So many lost launches in a row are a lost buffer, whatever their share. Fewer say nothing.
const LOST_BUFFER: usize = 8;

impl TraceTree {
    /// The launches without a device event. Found once; none where launches and device events are linked by arrows alone, or
    /// where the recorder does not know the launches of all device work.
    pub fn lost_launches(&self) -> &LostLaunches {
        self.lost_launches.get_or_init(|| lost_launches(self))
    }

    /// The smallest correlation id of a recorded call that may launch: device work with a smaller one was launched before the
    /// recording began. Ids of 0 are none.
    #[must_use]
    pub fn first_call_id(&self) -> Option<i64> {
        let events = self.trace().events();
        let calls = self.host_events().iter().filter(|&&event| events.category(event).is_launch_api());
        calls.filter_map(|&event| events.correlation(event).filter(|&id| id > 0)).min()
    }

    /// The time in which a device may have worked without a record. Found once.
    pub fn unrecorded(&self) -> &Unrecorded {
        self.unrecorded.get_or_init(|| unrecorded(self))
    }
}

fn lost_launches(tree: &TraceTree) -> LostLaunches {
    let (trace, events) = (tree.trace(), tree.trace().events());
    let mut lost = LostLaunches::default();
    if tree.options().link_by == LinkBy::Flow {
        return lost;
    }
    let mut kinds = PerString::new(trace.strings(), CallKind::from_name);
    let mut without: Vec<(i64, EventId, CallKind)> = Vec::new();
    let (mut first, mut last) = ((i64::MAX, EventId(u32::MAX)), None);
    for &call in tree.host_events() {
        if !events.category(call).is_launch_api() || tree.is_captured(call) {
            continue;
        }
        let kind = *kinds.get(events.name(call));
        if !kind.starts_device_work() {
            continue;
        }
        lost.launches += 1;
        lost.graph_launches += u64::from(kind == CallKind::GraphLaunch);
        if tree.device_events(call).is_empty() {
            without.push((events.start(call), call, kind));
        } else {
            let at = (events.start(call), call);
            (first, last) = (first.min(at), last.max(Some(at)));
        }
    }
    let Some(last) = last else { return lost };
    if without.is_empty() {
        return lost;
    }
    without.sort_unstable();
    // Several records of one launch share its id; the device work hangs below one of them.
    let mut ids: HashSet<i64> =
        without.iter().filter_map(|&(_, call, _)| events.correlation(call).filter(|&id| id != 0)).collect();
    let with_device_event: HashSet<i64> = tree
        .linked_device_events()
        .iter()
        .filter_map(|&event| events.correlation(event).filter(|id| ids.remove(id)))
        .collect();
    // rocprofv3 records kernels and copies each where that is asked for, and copies none that the host makes.
    let is_rocprof = trace.facts().recorder.kind == Some(RecordingKind::Rocprof);
    // Launches between others whose dispatches are all there have none: a graph captured them.
    let has_all_dispatches = trace.facts().dispatch_gaps.is_some_and(|gaps| gaps.missing == 0);
    let device_events = || tree.linked_device_events().iter().chain(tree.unlinked_device_events());
    let lacks_kernels =
        is_rocprof && device_events().all(|&event| events.category(event) != Category::KERNEL);
    let mut copies =
        PerString::new(trace.strings(), |name| HostWait::from_call(name).is_some_and(HostWait::is_copy));
    let captures = capture_spans(trace);
    let mut fills = Vec::new();
    let mut replays = Vec::new();
    for (start, call, kind) in without {
        let shares_id = events.correlation(call).is_some_and(|id| with_device_event.contains(&id));
        let is_captured = CaptureSpan::any_at(&captures, start);
        let at = (start, call);
        match kind {
            _ if shares_id || is_captured => lost.explained += 1,
            _ if lacks_kernels || (is_rocprof && *copies.get(events.name(call))) => lost.explained += 1,
            CallKind::GraphLaunch => replays.push(at),
            CallKind::Memset => fills.push(at),
            _ if at < first => lost.before.push(call),
            _ if at > last => lost.after.push(call),
            _ if has_all_dispatches => lost.explained += 1,
            _ => lost.between.push(call),
        }
    }
    // Fills of no bytes have no device event. Where other work is missing too, theirs may be as well.
    if lost.between.is_empty() {
        lost.explained += fills.len() as u64;
    } else {
        let (between, outside): (Vec<_>, Vec<_>) =
            fills.into_iter().partition(|at| (first..=last).contains(at));
        lost.explained += outside.len() as u64;
        lost.between.extend(between.into_iter().map(|(_, event)| event));
        lost.between.sort_by_key(|&event| events.start(event));
    }
    if !replays.is_empty() {
        let ends = Ends::new(tree);
        let mut unlinked: Vec<i64> =
            tree.unlinked_device_events().iter().map(|&event| events.start(event)).collect();
        unlinked.sort_unstable();
        for (start, call) in replays {
            match ends.of(tree, call) {
                // The work is there; which launch it belongs to is not.
                Some(end)
                    if unlinked.partition_point(|&at| at < start)
                        < unlinked.partition_point(|&at| at < end) =>
                {
                    lost.explained += 1;
                }
                Some(_) => lost.replays.push(call),
                // The recording ends while the graph may still run.
                None => lost.explained += 1,
            }
        }
    }
    lost
}

/// When work that a process launched had ended at the latest.
struct Ends {
    by_process: HashMap<RowId, ProcessEnds>,
}

#[derive(Default)]
struct ProcessEnds {
    /// Starts of calls that wait for the device, with the earliest end of this call and all that start later.
    waits: Vec<(i64, i64)>,
    /// Launches, with the earliest start of the device work of this launch and all later ones.
    launched: Vec<(i64, i64)>,
}

impl Ends {
    fn new(tree: &TraceTree) -> Self {
        let (trace, events) = (tree.trace(), tree.trace().events());
        let process = |track: TrackId| trace.tracks().get(track).pid;
        let mut waits = PerString::new(trace.strings(), |name| {
            HostWait::from_call(name).is_some_and(HostWait::is_synchronization)
        });
        let mut by_process: HashMap<RowId, ProcessEnds> = HashMap::new();
        for &call in tree.host_events() {
            if events.category(call).is_launch_api() && *waits.get(events.name(call)) {
                let process_ends = by_process.entry(process(events.track(call))).or_default();
                process_ends.waits.push((events.start(call), events.end(call)));
            }
        }
        for &event in tree.linked_device_events() {
            if let Some(launch) = tree.recorded_launch(event) {
                let process_ends = by_process.entry(process(events.track(launch))).or_default();
                process_ends.launched.push((events.start(launch), events.start(event)));
            }
        }
        for ProcessEnds { waits, launched } in by_process.values_mut() {
            for ends in [waits, launched] {
                ends.sort_unstable();
                let mut earliest = i64::MAX;
                for (_, end) in ends.iter_mut().rev() {
                    earliest = earliest.min(*end);
                    *end = earliest;
                }
            }
        }
        Ends { by_process }
    }

    /// When the work of a launch had ended at the latest; `None` where the recording does not tell.
    fn of(&self, tree: &TraceTree, launch: EventId) -> Option<i64> {
        let events = tree.trace().events();
        let process_ends = self.by_process.get(&tree.trace().tracks().get(events.track(launch)).pid)?;
        let start = events.start(launch);
        let after =
            |ends: &[(i64, i64)]| ends.get(ends.partition_point(|&(at, _)| at <= start)).map(|&(_, end)| end);
        [after(&process_ends.waits), after(&process_ends.launched)].into_iter().flatten().min()
    }
}

fn unrecorded(tree: &TraceTree) -> Unrecorded {
    let events = tree.trace().events();
    let lost = tree.lost_launches();
    let mut launches: Vec<EventId> = lost.replays.clone();
    // Copies of no bytes have no device event.
    let mut copies = PerString::new(tree.trace().strings(), |name| {
        HostWait::from_call(name).is_some_and(HostWait::is_copy)
    });
    let kernels: Vec<EventId> =
        lost.between.iter().copied().filter(|&call| !*copies.get(events.name(call))).collect();
    let is_throughout = kernels.len() * 100 >= LOST_THROUGHOUT * lost.launches.max(1) as usize;
    let is_left_out = tree.trace().warnings().iter().any(|warning| warning.device_work_without_times() > 0);
    match is_left_out || (is_throughout && kernels.len() >= LOST_BUFFER) {
        true => launches.extend(&lost.between),
        false => launches.extend(lost_buffers(tree, &kernels)),
    }
    let between_cycles = between_cycles(tree);
    let mut stretches: Vec<Interval> = between_cycles.iter().map(|&(gap, _)| gap).collect();
    if !launches.is_empty() {
        let ends = Ends::new(tree);
        let stretch = |launch: EventId| Some(Interval::between(events.start(launch), ends.of(tree, launch)?));
        stretches.extend(launches.iter().copied().filter_map(stretch));
        stretches.extend(long_waits(tree));
    }
    Unrecorded { time: stretches.into_iter().collect(), launches, between_cycles }
}

/// The calls that wait for the device. They return when it has done its work: where work is missing from the recording, a
/// device without any in such a call did what is missing.
fn long_waits(tree: &TraceTree) -> impl Iterator<Item = Interval> {
    let (trace, events) = (tree.trace(), tree.trace().events());
    let mut waits = PerString::new(trace.strings(), |name| {
        matches!(HostWait::from_call(name), Some(HostWait::Device | HostWait::Stream))
    });
    let calls = tree
        .host_events()
        .iter()
        .filter(move |&&call| events.category(call).is_launch_api() && *waits.get(events.name(call)));
    calls.map(|&call| Interval::between(events.start(call), events.end(call)))
}

/// Of lost launches those of which many follow each other without one that has device work.
fn lost_buffers(tree: &TraceTree, lost: &[EventId]) -> Vec<EventId> {
    if lost.len() < LOST_BUFFER {
        return Vec::new();
    }
    let events = tree.trace().events();
    let mut linked: Vec<i64> = tree
        .linked_device_events()
        .iter()
        .filter_map(|&event| Some(events.start(tree.recorded_launch(event)?)))
        .collect();
    linked.sort_unstable();
    let before = |event: &EventId| linked.partition_point(|&start| start < events.start(*event));
    let runs = lost.chunk_by(|a, b| before(a) == before(b));
    runs.filter(|run| run.len() >= LOST_BUFFER).flatten().copied().collect()
}

/// The stretches between steps whose numbers are not neighbours and between which the host recorded nothing.
fn between_cycles(tree: &TraceTree) -> Vec<(Interval, u64)> {
    let (trace, events) = (tree.trace(), tree.trace().events());
    let number = |name: &str| name.strip_prefix("ProfilerStep#")?.parse::<u64>().ok();
    let numbers = trace.strings().classify(number);
    if numbers.iter().flatten().count() < 2 {
        return Vec::new();
    }
    let is_mark = |event: &EventId| {
        matches!(events.category(*event), Category::CPU_OP | Category::USER_ANNOTATION)
            && numbers[events.name(*event).index()].is_some()
    };
    let mut marks: Vec<(RowId, i64, u64, EventId)> = events
        .ids()
        .filter(is_mark)
        .filter_map(|mark| {
            let process = trace.tracks().get(events.track(mark)).pid;
            Some((process, events.start(mark), numbers[events.name(mark).index()]?, mark))
        })
        .collect();
    marks.sort_unstable();
    let mut gaps = Vec::new();
    for pair in marks.windows(2) {
        let [(process, _, number, mark), (next_process, next, next_number, _)] = [pair[0], pair[1]];
        let gap = Interval::between(events.end(mark), next);
        if process == next_process && next_number > number + 1 && !gap.is_empty() {
            gaps.push((process, gap, next_number - number - 1));
        }
    }
    if gaps.is_empty() {
        return Vec::new();
    }
    // What the host did between the marks belongs to one of the cycles.
    let mut host: Vec<(RowId, Interval)> = tree
        .host_events()
        .iter()
        .filter(|event| !is_mark(event))
        .map(|&event| {
            let span = Interval::between(events.start(event), events.end(event));
            (trace.tracks().get(events.track(event)).pid, span)
        })
        .collect();
    host.sort_unstable_by_key(|&(process, span)| (process, span.start));
    let empty = gaps.into_iter().filter_map(|(process, gap, steps)| {
        let from = host.partition_point(|&(of, span)| (of, span.start) < (process, gap.start));
        let within = host[from..].iter().take_while(|&&(of, span)| of == process && span.start < gap.end);
        let (mut longest, mut at) = (Interval::between(gap.start, gap.start), gap.start);
        for span in within.map(|&(_, span)| span).chain([Interval::between(gap.end, gap.end)]) {
            let free = Interval::between(at, span.start.max(at));
            if free.length() > longest.length() {
                longest = free;
            }
            at = at.max(span.end);
        }
        (2 * longest.length() >= gap.length()).then_some((longest, steps))
    });
    empty.collect()
}
