//! Device events of any recorder, and what the threads that launched them did: the bars, trees and timeline of a page.

use std::collections::BTreeMap;

use gpu_timeline::{
    Activity, Breakdown, DeviceEvent, HostActivity, IntervalSet, SortFew, Wait, WaitCause, device_waits,
    short_wait,
};
use hashbrown::HashMap;
use iterations::{MeasuredIterations, Part};
use report_writers::page::{
    Counter, EventKind, Icicle, IcicleBuilder, Lane, LaneEvent, LaneKind, Launch, StackedBar, StackedBars,
    Timeline, TimelineMark,
};
use trace_ingest::TimeUnit;

pub(super) const COMMUNICATION: &str = "exposed communication";
pub(super) const COPIES: &str = "exposed copies";
pub(super) const IDLE: &str = "idle";
pub(super) const NOT_RECORDED: &str = "not recorded";
pub(super) const HOST_OPERATOR: &str = "operator";
pub(super) const HOST_CALL: &str = "runtime call";
pub(super) const HOST_RANGE: &str = "range or module";
pub(super) const EXPOSED: &str = "Every moment counts once: as computation if any runs, else as \
                                  communication, else as copies, else as idle.";

/// The counter of work that the host is ahead of the devices.
const QUEUE: &str = "launched, not started";

/// Without a device or a stream.
const NONE: i64 = -1;

/// Bars of steps: more are narrower than a line of text.
const MOST_BARS: usize = 400;

/// Texts by number, each once.
#[derive(Default)]
pub(super) struct Names {
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// The texts by their numbers.
    pub(super) fn into_texts(self) -> Vec<String> {
        self.texts
    }

    fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", String::as_str)
    }
}

/// The launchers of an event, outermost first: kinds (`module`, `operator`) and numbers of names.
type Place = Vec<(&'static str, u32)>;

/// A device event as the page shows it. Times are in the recording's unit.
#[derive(Clone, Copy)]
pub(super) struct WorkEvent {
    /// Its lane is that of its device and stream.
    pub(super) event: DeviceEvent,
    /// Number among the names.
    pub(super) category: u32,
    /// Number among the names.
    pub(super) name: u32,
    pub(super) place: u32,
    /// Device whose bar it is part of.
    pub(super) bar: i64,
    /// Whether the report's timeline counts it.
    pub(super) counts: bool,
    /// The step that launched it.
    pub(super) part: Option<Part>,
    /// The thread that launched it, among the host threads.
    pub(super) host: Option<u32>,
}

/// A thread that launched device work.
pub(super) struct HostThread {
    pub(super) name: String,
    pub(super) events: Vec<HostEvent>,
}

/// What a thread did, in the recording's unit of time.
#[derive(Clone, Copy)]
pub(super) struct HostEvent {
    pub(super) start: i64,
    pub(super) end: i64,
    /// Number among the names.
    pub(super) name: u32,
    /// [`HOST_OPERATOR`], [`HOST_CALL`] or [`HOST_RANGE`].
    pub(super) kind: &'static str,
}

/// A kind of idle time.
pub(super) struct IdleKind {
    /// Its name in the page, as a kind of work.
    pub(super) name: &'static str,
    /// Key of its colour in the page.
    pub(super) kind: &'static str,
    what: &'static str,
}

const fn idle(name: &'static str, kind: &'static str, what: &'static str) -> IdleKind {
    IdleKind { name, kind, what }
}

/// In the page's order.
pub(super) const IDLE_KINDS: [IdleKind; 12] = [
    idle("idle: late launch", "late launch", "late launch: the device had already run dry"),
    idle("idle: data loader", "data loader", "late launch: the host waited for its data loader"),
    idle("idle: synchronization", "synchronization", "late launch: the host waited for the device"),
    idle("idle: blocking copy", "blocking copy", "late launch: the host waited for a copy"),
    idle("idle: between kernels", "between kernels", "between kernels: already launched, a short wait"),
    idle("idle: already launched", "already launched", "already launched, a long wait"),
    idle("idle: launch not recorded", "launch not recorded", "the launch of the next event is not recorded"),
    idle("not recorded", "not recorded", "not recorded: the device may have been busy"),
    idle("idle: allocation", "allocation", "late launch: the host allocated or freed memory"),
    idle("idle: initialization", "initialization", "late launch: initialization on first use"),
    idle(
        "idle: host operator",
        "host operator",
        "late launch: a host operator ran without launching anything",
    ),
    idle("idle: profiler", "profiler", "late launch: the profiler blocked the host"),
];

/// The place of a cause's kind in [`IDLE_KINDS`].
const fn idle_kind(cause: WaitCause) -> usize {
    match cause {
        WaitCause::Host(HostActivity::DataLoader) => 1,
        WaitCause::Host(HostActivity::Sync) => 2,
        WaitCause::Host(HostActivity::Copy) => 3,
        WaitCause::Kernel => 4,
        WaitCause::Unlinked => 6,
        WaitCause::NotRecorded => 7,
        WaitCause::Host(HostActivity::Allocation) => 8,
        WaitCause::Host(HostActivity::Initialisation) => 9,
        WaitCause::Host(HostActivity::Operator) => 10,
        WaitCause::Host(HostActivity::Profiler) => 11,
        _ if cause.is_late_launch() => 0,
        WaitCause::Host(_) | WaitCause::Dependency(_) => 5,
    }
}

/// Device and stream of an event, by which lanes are ordered; unknown ones come first.
pub(super) fn lane(event: &DeviceEvent) -> (i64, i64) {
    (event.device.unwrap_or(NONE), event.stream.unwrap_or(NONE))
}

/// Device work of a recording.
pub(super) struct DeviceWork {
    unit: TimeUnit,
    pub(super) names: Names,
    places: Vec<Place>,
    numbers_of_places: HashMap<Place, u32>,
    pub(super) events: Vec<WorkEvent>,
    pub(super) hosts: Vec<HostThread>,
    /// Values that the recorder sampled: name, times and values.
    pub(super) counters: BTreeMap<String, Vec<(i64, f64)>>,
    /// Idle gaps: the device (the smallest number where several count as one), and the wait, whose event is the number
    /// of its name.
    pub(super) idle: Vec<(i64, Wait<u32>)>,
    /// Time in which devices may have worked without a record.
    pub(super) unrecorded: IntervalSet,
    /// Names of the lanes, by device and stream.
    pub(super) lanes: BTreeMap<(i64, i64), String>,
    pub(super) devices: BTreeMap<i64, String>,
    /// Lengths of the windows of devices that share one with others.
    pub(super) shared_windows: BTreeMap<i64, i64>,
}

/// A part of a bar. Of overlapping ones the least counts: computation of any step before communication.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BarPart {
    activity: Activity,
    /// Place of the kind of work among all.
    category: usize,
    part: Option<Part>,
}

impl DeviceWork {
    pub(super) fn new(unit: TimeUnit) -> Self {
        DeviceWork {
            unit,
            names: Names::default(),
            places: Vec::new(),
            numbers_of_places: HashMap::new(),
            events: Vec::new(),
            hosts: Vec::new(),
            counters: BTreeMap::new(),
            idle: Vec::new(),
            unrecorded: IntervalSet::default(),
            lanes: BTreeMap::new(),
            devices: BTreeMap::new(),
            shared_windows: BTreeMap::new(),
        }
    }

    pub(super) fn place(&mut self, place: Place) -> u32 {
        let next = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        *self.numbers_of_places.entry(place).or_insert_with_key(|place| {
            self.places.push(place.clone());
            next
        })
    }

    /// Finds idle gaps of each device and their causes, by launches alone.
    pub(super) fn find_idle_by_launches(&mut self) {
        let short = short_wait(self.unit.per_microsecond());
        for &device in self.devices.keys() {
            let device_events = self.events.iter().filter(|event| event.counts && event.bar == device);
            let (names, launched): (Vec<u32>, Vec<DeviceEvent>) =
                device_events.map(|event| (event.name, event.event)).unzip();
            let waits = device_waits(&launched, short).into_iter().filter(|wait| !wait.span.is_empty());
            self.idle.extend(waits.map(|Wait { span, event, cause, .. }| {
                (device, Wait { span, event: names[event], cause, waited_for: None })
            }));
        }
    }

    fn per_nanosecond(&self) -> i64 {
        self.unit.per_microsecond() / 1_000
    }

    fn ns(&self, time: i64) -> i64 {
        time / self.per_nanosecond()
    }

    /// The kinds of work, the most time first.
    fn categories(&self) -> Vec<u32> {
        let mut times: HashMap<u32, i64> = HashMap::new();
        for event in &self.events {
            *times.entry(event.category).or_default() += event.event.span.length();
        }
        let mut order: Vec<u32> = times.keys().copied().collect();
        order.sort_few_by(|a, b| {
            times[b].cmp(&times[a]).then_with(|| self.names.text(*a).cmp(self.names.text(*b)))
        });
        order
    }

    /// Bars of the whole recording, one per device, and of its steps where there is one device.
    pub(super) fn bars(&self, iterations: Option<&MeasuredIterations>) -> Vec<StackedBars> {
        let categories = self.categories();
        let place_of: HashMap<u32, usize> =
            categories.iter().enumerate().map(|(place, &category)| (category, place)).collect();
        let mut parts: Vec<String> =
            categories.iter().map(|&category| self.names.text(category).to_owned()).collect();
        let count = parts.len();
        parts.extend([COMMUNICATION, COPIES, IDLE].map(ToOwned::to_owned));
        if !self.unrecorded.as_slice().is_empty() {
            parts.push(NOT_RECORDED.to_owned());
        }
        let all = parts.len();
        let times = |breakdowns: &mut dyn Iterator<Item = (&BarPart, &Breakdown)>| {
            let mut times = vec![0; all];
            for (part, breakdown) in breakdowns {
                let place = match part.activity {
                    Activity::Computation => part.category,
                    Activity::Communication => count,
                    Activity::Memcpy => count + 1,
                };
                times[place] += breakdown.busy;
                times[count + 2] += breakdown.idle;
                if let Some(time) = times.get_mut(count + 3) {
                    *time += breakdown.unrecorded;
                }
            }
            times
        };
        let bar = |name: &str, times: Vec<i64>| {
            StackedBar::new(name, times.into_iter().enumerate(), self.per_nanosecond())
        };
        let device_breakdowns = |device: i64| {
            let events = self.events.iter().filter(|event| event.counts && event.bar == device);
            let timeline = events.map(|&WorkEvent { event, part, category, .. }| {
                let activity = event.activity;
                let category = if activity == Activity::Computation { place_of[&category] } else { 0 };
                (event, BarPart { part, activity, category })
            });
            Breakdown::by_part(timeline, None, &self.unrecorded)
        };
        let breakdowns = self.devices.keys().map(|&device| (device, device_breakdowns(device)));
        let breakdowns: Vec<_> = breakdowns.filter(|(_, parts)| !parts.is_empty()).collect();
        if breakdowns.is_empty() {
            return Vec::new();
        }
        let group = |title: String, note: &str, mut bars: Vec<StackedBar>| {
            let left_out = bars.len().saturating_sub(MOST_BARS);
            bars.truncate(MOST_BARS);
            StackedBars { title, note: note.to_owned(), parts: parts.clone(), bars, left_out }
        };
        let whole = |(device, part_breakdowns): &(i64, BTreeMap<BarPart, Breakdown>)| {
            let mut times = times(&mut part_breakdowns.iter());
            let rest = self.shared_windows.get(device).map_or(0, |window| window - times.iter().sum::<i64>());
            times[count + 2] += rest.max(0);
            bar(&self.devices[device], times)
        };
        let wholes = breakdowns.iter().map(whole).collect();
        let is_one = breakdowns.len() == 1;
        let title = if is_one { "whole recording" } else { "per device" };
        let note = format!(
            "{EXPOSED} Where kernels of several kinds overlap, the time counts toward the largest kind. The \
             parts add up to the time from first start to last end."
        );
        let mut groups = vec![group(title.to_owned(), &note, wholes)];
        let steps = iterations.and_then(MeasuredIterations::steps);
        if let (Some((level, measured)), [(_, parts)]) = (steps, breakdowns.as_slice()) {
            let mut step_parts: BTreeMap<Option<Part>, Vec<(&BarPart, &Breakdown)>> = BTreeMap::new();
            for (part, breakdown) in parts {
                step_parts.entry(part.part).or_default().push((part, breakdown));
            }
            let bars = step_parts.into_iter().map(|(part, breakdowns)| {
                let times = times(&mut breakdowns.into_iter());
                let (name, note) = match part {
                    Some(Part::Iteration(index)) => {
                        let mark = measured.iterations.get(index).and_then(|figures| figures.mark);
                        let note = mark.map(|mark| mark.as_str().to_owned()).unwrap_or_default();
                        (format!("{} {}", level.kind, level.first + index), note)
                    }
                    Some(Part::After(_)) => ("between".to_owned(), String::new()),
                    Some(Part::Before) | None => ("before".to_owned(), String::new()),
                };
                StackedBar { note, ..bar(&name, times) }
            });
            let note = "Device work counts toward the step that launched it, idle time toward the step that \
                        follows it. The bars add up to the whole recording.";
            groups.push(group(format!("{} by {}", level.kind, level.kind), note, bars.collect()));
        }
        groups
    }

    /// Device time by module, operator and kernel, and by kind of work, operator and kernel.
    pub(super) fn icicles(&self) -> Vec<Icicle> {
        const KERNEL: &str = "kernel";
        let (mut by_place, mut by_category) = (IcicleBuilder::default(), IcicleBuilder::default());
        let mut nodes: Vec<usize> = Vec::with_capacity(self.places.len());
        for place in &self.places {
            let root = IcicleBuilder::<u32, u32>::ROOT;
            nodes.push(place.iter().fold(root, |node, &(kind, name)| by_place.node(node, kind, name)));
        }
        for event in &self.events {
            let time = event.event.span.length();
            let node = by_place.node(nodes[event.place as usize], KERNEL, event.name);
            by_place.add(node, event.category, time);
            let mut node = by_category.node(IcicleBuilder::<u32, u32>::ROOT, "kind of work", event.category);
            if let Some(&(kind, name)) =
                self.places[event.place as usize].last().filter(|(kind, _)| *kind != "module")
            {
                node = by_category.node(node, kind, name);
            }
            let node = by_category.node(node, KERNEL, event.name);
            by_category.add(node, event.category, time);
        }
        let has = |kind: &str| self.places.iter().flatten().any(|(known, _)| *known == kind);
        let launched_by = match () {
            () if has("program") => "program → instruction → ",
            () if has("module") => "module → operator → ",
            () if has("operator") => "operator → ",
            () => "",
        };
        let by = launched_by.trim_start_matches("module → ").trim_start_matches("program → ");
        let text = |name| self.names.text(name).to_owned();
        let note = "Sums of device event times; overlapping events count in full. Modules and operators \
                    with the same name are merged. Click a part to zoom in.";
        let finish = |builder: IcicleBuilder<u32, u32>, title: &str| {
            builder.finish(title, note, self.per_nanosecond(), text, text)
        };
        let by_place = finish(by_place, &format!("{launched_by}{KERNEL}"));
        let by_category = finish(by_category, &format!("kind of work → {by}{KERNEL}"));
        // Without anything that launches, the first tree is a list of kernels, which the other has too.
        by_place.filter(|_| !launched_by.is_empty()).into_iter().chain(by_category).collect()
    }

    /// The events over time, with the steps above.
    pub(super) fn timeline(&self, iterations: Option<&MeasuredIterations>) -> Option<Timeline> {
        let first = self.events.iter().min_by_key(|event| event.event.span.start)?.event;
        let origin = first.launch.map_or(first.span.start, |launch| launch.min(first.span.start));
        let end = self.events.iter().map(|event| event.event.span.end).max()?;
        let categories = self.categories();
        let place_of: HashMap<u32, usize> =
            categories.iter().enumerate().map(|(place, &category)| (category, place)).collect();
        let mut kinds: Vec<EventKind> = Vec::new();
        let mut numbers: HashMap<(u32, u32, u32), usize> = HashMap::new();
        let mut lanes: BTreeMap<(i64, i64), Vec<LaneEvent>> = BTreeMap::new();
        for event in &self.events {
            let kind = *numbers.entry((event.name, event.category, event.place)).or_insert_with(|| {
                kinds.push(EventKind {
                    name: self.names.text(event.name).to_owned(),
                    category: place_of[&event.category],
                    place: self.place_in_words(event.place),
                });
                kinds.len() - 1
            });
            let launched = event.host.zip(event.event.launch.filter(|&launch| launch >= origin));
            let launch =
                launched.map(|(host, at)| Launch { host: host as usize, start_ns: self.ns(at - origin) });
            let lane_event = LaneEvent {
                launch,
                ..self.lane_event(event.event.span.start, event.event.span.end, origin, kind)
            };
            lanes.entry(lane(&event.event)).or_default().push(lane_event);
        }
        let mut categories: Vec<String> =
            categories.iter().map(|&category| self.names.text(category).to_owned()).collect();
        // What a device waited for stands above its streams.
        let mut by_key = self.idle_lanes(origin, &mut categories, &mut kinds);
        let mut marks = Vec::new();
        if let Some((level, measured)) = iterations.and_then(MeasuredIterations::steps) {
            for (index, figures) in measured.iterations.iter().enumerate() {
                let Some(span) = figures.device_span else { continue };
                marks.push(TimelineMark {
                    name: format!("{} {}", level.kind, level.first + index),
                    start_ns: self.ns(span.start - origin).max(0),
                    end_ns: self.ns(span.end - origin).max(0),
                });
            }
        }
        by_key.extend(lanes.into_iter().map(|(key, events)| {
            let name = self.lanes.get(&key).cloned().unwrap_or_default();
            (key, Lane { name, kind: LaneKind::Work, events })
        }));
        let hosts = self.host_lanes([origin, end], &mut categories, &mut kinds);
        let lanes = by_key.into_values().chain(hosts).collect();
        Some(Timeline { categories, kinds, lanes, marks, counters: self.counters([origin, end]) })
    }

    fn lane_event(&self, start: i64, end: i64, origin: i64, kind: usize) -> LaneEvent {
        let start_ns = self.ns(start - origin);
        LaneEvent { start_ns, duration_ns: self.ns(end - origin) - start_ns, kind, launch: None }
    }

    /// What the host threads did within a window.
    fn host_lanes(
        &self,
        [from, to]: [i64; 2],
        categories: &mut Vec<String>,
        kinds: &mut Vec<EventKind>,
    ) -> Vec<Lane> {
        let mut numbers: HashMap<(u32, &str), usize> = HashMap::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut lane = |host: &HostThread| {
            let mut events = Vec::new();
            for event in host.events.iter().filter(|event| event.start < to && event.end > from) {
                let kind = *numbers.entry((event.name, event.kind)).or_insert_with(|| {
                    let category = *places.entry(event.kind).or_insert_with(|| {
                        categories.push(event.kind.to_owned());
                        categories.len() - 1
                    });
                    let name = self.names.text(event.name).to_owned();
                    kinds.push(EventKind { name, category, place: String::new() });
                    kinds.len() - 1
                });
                events.push(self.lane_event(event.start.max(from), event.end.min(to), from, kind));
            }
            Lane { name: host.name.clone(), kind: LaneKind::Host, events }
        };
        self.hosts.iter().map(&mut lane).collect()
    }

    /// How much work is launched and has not begun, and what the recorder sampled, within a window.
    fn counters(&self, [from, to]: [i64; 2]) -> Vec<Counter> {
        let mut changes: Vec<(i64, f64)> = Vec::new();
        for event in &self.events {
            if let Some(launch) = event.event.launch.filter(|&launch| launch < event.event.span.start) {
                changes.extend([(launch.max(from), 1.0), (event.event.span.start, -1.0)]);
            }
        }
        changes.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut queued = 0.0;
        for (_, value) in &mut changes {
            queued += *value;
            *value = queued;
        }
        let queue = (!changes.is_empty()).then_some((QUEUE.to_owned(), changes));
        let sampled = self.counters.iter().map(|(name, values)| (name.clone(), values.clone()));
        let counter = |(name, values): (String, Vec<(i64, f64)>)| {
            // What stands at the start of the window was sampled before it.
            let before = values.iter().filter(|&&(time, _)| time < from).max_by_key(|&&(time, _)| time);
            let at_start = before.map(|&(_, value)| (from, value));
            let inside = values.iter().filter(|&&(time, _)| (from..=to).contains(&time)).copied();
            let in_ns = |(time, value)| (self.ns(time - from), value);
            Counter::new(name, at_start.into_iter().chain(inside).map(in_ns).collect(), self.ns(to - from))
        };
        queue.into_iter().chain(sampled).map(counter).collect()
    }

    /// The idle times of each device as a lane, with the causes among the categories and kinds.
    fn idle_lanes(
        &self,
        origin: i64,
        categories: &mut Vec<String>,
        kinds: &mut Vec<EventKind>,
    ) -> BTreeMap<(i64, i64), Lane> {
        let mut place_of: BTreeMap<usize, usize> =
            self.idle.iter().map(|(_, wait)| (idle_kind(wait.cause), 0)).collect();
        for (&kind, place) in &mut place_of {
            *place = categories.len();
            categories.push(IDLE_KINDS[kind].name.to_owned());
        }
        let mut numbers: HashMap<(usize, u32), usize> = HashMap::new();
        let mut lanes: BTreeMap<(i64, i64), Lane> = BTreeMap::new();
        for &(device, Wait { span, event: before, cause, .. }) in &self.idle {
            let cause_kind = idle_kind(cause);
            let kind = *numbers.entry((cause_kind, before)).or_insert_with(|| {
                kinds.push(EventKind {
                    name: IDLE_KINDS[cause_kind].what.to_owned(),
                    category: place_of[&cause_kind],
                    place: self.names.text(before).to_owned(),
                });
                kinds.len() - 1
            });
            let lane = lanes.entry((device, i64::MIN)).or_insert_with(|| {
                let device = self.devices.get(&device).map(|name| format!("{name} "));
                Lane {
                    name: format!("{}idle", device.unwrap_or_default()),
                    kind: LaneKind::Idle,
                    events: Vec::new(),
                }
            });
            lane.events.push(self.lane_event(span.start, span.end, origin, kind));
        }
        lanes
    }

    fn place_in_words(&self, place: u32) -> String {
        let names = self.places[place as usize].iter().map(|&(_, name)| self.names.text(name));
        names.collect::<Vec<_>>().join(" › ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() -> DeviceWork {
        let mut work = DeviceWork::new(TimeUnit::Nanoseconds);
        let (gemm, copy) = (work.names.number("GEMM"), work.names.number("copy/fill"));
        let operator = work.names.number("aten::mm");
        let (inside, outside) = (work.place(vec![("operator", operator)]), work.place(Vec::new()));
        for (start, end, activity, category, place) in [
            (0, 600, Activity::Computation, gemm, inside),
            (500, 800, Activity::Memcpy, copy, outside),
            (900, 1_000, Activity::Communication, copy, outside),
        ] {
            let event =
                DeviceEvent::new(start, end, activity).on(Some(0), Some(place.into())).launched(Some(0));
            work.events.push(WorkEvent {
                event,
                category,
                name: category,
                place,
                bar: 0,
                counts: true,
                part: None,
                host: None,
            });
        }
        work.devices.insert(0, "GPU".into());
        work.lanes.insert((0, 0), "stream 7".into());
        work
    }

    #[test]
    fn communication_of_a_step_is_hidden_by_computation_of_the_next() {
        let mut work = work();
        work.events.truncate(1);
        let first = WorkEvent {
            event: DeviceEvent::new(0, 700, Activity::Communication),
            part: Some(Part::Iteration(0)),
            ..work.events[0]
        };
        work.events[0].part = Some(Part::Iteration(1));
        work.events.insert(0, first);
        let bars = work.bars(None);
        let time = |name: &str| {
            let place = bars[0].parts.iter().position(|part| part == name);
            bars[0].bars[0].times.iter().find(|(part, _)| Some(*part) == place).map_or(0, |&(_, time)| time)
        };
        assert_eq!((time("GEMM"), time(COMMUNICATION)), (600, 100));
    }

    #[test]
    fn bars_add_up_to_the_span_and_give_each_moment_once() {
        let bars = work().bars(None);
        assert_eq!(bars.len(), 1);
        let bar = &bars[0].bars[0];
        assert_eq!(bar.total_ns, 1_000);
        assert_eq!(bar.times.iter().map(|(_, time)| time).sum::<i64>(), 1_000);
        let named: Vec<(&str, i64)> =
            bar.times.iter().map(|&(part, time)| (bars[0].parts[part].as_str(), time)).collect();
        assert_eq!(
            named,
            [("GEMM", 600), ("copy/fill", 0), (COMMUNICATION, 100), (COPIES, 200), (IDLE, 100)]
        );
    }

    #[test]
    fn trees_have_the_time_of_all_events() {
        let titles: Vec<String> = work().icicles().into_iter().map(|icicle| icicle.title).collect();
        assert_eq!(titles, ["operator → kernel", "kind of work → operator → kernel"]);
        for icicle in work().icicles() {
            assert_eq!(icicle.nodes[0].time_ns, 1_000, "{}", icicle.title);
            assert_eq!(icicle.nodes[0].count, 3);
        }
    }

    #[test]
    fn idle_times_stand_above_the_streams_with_their_causes() {
        let mut work = work();
        work.events[2].event.launch = Some(850);
        work.find_idle_by_launches();
        let timeline = work.timeline(None).unwrap();
        let idle = &timeline.lanes[0];
        assert_eq!((idle.name.as_str(), idle.kind), ("GPU idle", LaneKind::Idle));
        let &[LaneEvent { start_ns, duration_ns, kind, launch: None }] = idle.events.as_slice() else {
            panic!("{:?}", idle.events)
        };
        // As long as the idle part of the bar.
        assert_eq!((start_ns, duration_ns), (800, 100));
        let kind = &timeline.kinds[kind];
        assert_eq!(timeline.categories[kind.category], IDLE_KINDS[0].name);
        assert_eq!(kind.place, "copy/fill");
    }

    #[test]
    fn events_stand_in_lanes_with_what_launched_them() {
        let timeline = work().timeline(None).unwrap();
        assert_eq!(timeline.lanes.len(), 2);
        let first = &timeline.lanes[0];
        assert_eq!((first.name.as_str(), first.events[0].duration_ns), ("stream 7", 600));
        let kind = &timeline.kinds[first.events[0].kind];
        assert_eq!((kind.place.as_str(), timeline.categories[kind.category].as_str()), ("aten::mm", "GEMM"));
    }
}
