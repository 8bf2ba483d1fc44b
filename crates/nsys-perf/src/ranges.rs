//! Ranges of NVTX, how they nest, and the device work that was launched in them.

use std::cmp::Reverse;

use hashbrown::HashMap;
use trace_ingest::{Category, EventId, NvtxRange, StringId, Trace};

/// How far a range may reach beyond the one around it, in nanoseconds: clocks are read one after the other.
const TOLERANCE_NS: i64 = 1_000;

/// A kernel, copy or fill, or the replay of a graph whose nodes were not recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceWork {
    pub(crate) event: EventId,
    /// Index of the GPU.
    pub(crate) device: i64,
    /// The call that launched it, if that is in the recording.
    pub(crate) call: Option<EventId>,
}

/// One range with what was launched in it.
#[derive(Clone, Debug)]
pub struct NvtxInstance {
    /// The range.
    pub event: EventId,
    /// The range around it, as a position in [`NvtxRanges::instances`].
    pub parent: Option<u32>,
    /// Ranges around it, in the same thread.
    pub level: u32,
    /// Ranges directly in it.
    pub children: u32,
    /// Device work that was launched in it and in the ranges in it.
    pub operations: u32,
    /// Sum of the durations of that work in ns.
    pub operation_time: i64,
    /// The same of the work whose innermost range it is.
    pub own_operation_time: i64,
    /// From the first start to the last end of that work, in ns; `None` without any.
    pub projection: Option<(i64, i64)>,
}

/// The ranges that have an end, thread by thread in the order of their starts.
#[derive(Clone, Debug, Default)]
pub struct NvtxRanges {
    /// The ranges.
    pub instances: Vec<NvtxInstance>,
}

impl NvtxInstance {
    /// Length of the projection in ns; 0 without device work.
    #[must_use]
    pub fn projected(&self) -> i64 {
        self.projection.map_or(0, |(start, end)| end - start)
    }
}

/// What tells ranges apart in the sheets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RangeName {
    /// The text as recorded, where that was asked for; else without the number of the call.
    text: StringId,
    has_domain: bool,
    pub(crate) is_start_end: bool,
}

impl RangeName {
    pub(crate) fn of(trace: &Trace, event: EventId) -> Self {
        let NvtxRange { text, has_domain, is_start_end, .. } =
            trace.events().arguments().nvtx.get(event.index()).unwrap_or_default();
        RangeName { text: text.unwrap_or_else(|| trace.events().name(event)), has_domain, is_start_end }
    }
}

impl NvtxRanges {
    pub(crate) fn new(trace: &Trace, works: &[DeviceWork]) -> Self {
        let events = trace.events();
        let is_range = |&event: &EventId| {
            matches!(events.category(event), Category::CPU_OP | Category::USER_ANNOTATION)
                && events.arguments().unfinished.get(event.index()).is_none()
        };
        let mut ranges: Vec<EventId> = events.ids().filter(is_range).collect();
        ranges.sort_by_key(|&event| {
            (events.track(event), events.start(event), Reverse(events.end(event)), event)
        });
        let mut found = NvtxRanges::default();
        for thread in ranges.chunk_by(|&a, &b| events.track(a) == events.track(b)) {
            found.nest(trace, thread);
        }
        for_each_launch(trace, works, &ranges, |around, launched| {
            found.launch(trace, works, around, launched)
        });
        found
    }

    /// Hands over the ranges around each call that launched device work, the innermost last, as positions in
    /// [`NvtxRanges::instances`], with the positions of that work. Found anew each time: to keep all pairs of ranges and
    /// work would take as much memory as ranges are deep.
    pub(crate) fn for_each_launch(
        &self,
        trace: &Trace,
        works: &[DeviceWork],
        visit: impl FnMut(&[u32], &[u32]),
    ) {
        let ranges: Vec<EventId> = self.instances.iter().map(|instance| instance.event).collect();
        for_each_launch(trace, works, &ranges, visit);
    }

    /// Adds the ranges of a thread.
    fn nest(&mut self, trace: &Trace, thread: &[EventId]) {
        let events = trace.events();
        let mut around: Vec<(u32, i64)> = Vec::new();
        for &event in thread {
            let (start, end) = (events.start(event), events.end(event));
            while around.last().is_some_and(|&(_, until)| until <= start) {
                around.pop();
            }
            let is_start_end =
                events.arguments().nvtx.get(event.index()).is_some_and(|range| range.is_start_end);
            let at = self.instances.len() as u32;
            let parent = around.last().copied().filter(|_| !is_start_end);
            if let Some((parent, _)) = parent {
                self.instances[parent as usize].children += 1;
            }
            self.instances.push(NvtxInstance {
                event,
                parent: parent.map(|(parent, _)| parent),
                level: if is_start_end { 0 } else { around.len() as u32 },
                children: 0,
                operations: 0,
                operation_time: 0,
                own_operation_time: 0,
                projection: None,
            });
            if !is_start_end {
                let until = parent.map_or(end, |(_, until)| end.min(until.saturating_add(TOLERANCE_NS)));
                around.push((at, until));
            }
        }
    }

    /// Counts what one call launched for the ranges around it, the innermost of which is the last.
    fn launch(&mut self, trace: &Trace, works: &[DeviceWork], around: &[u32], launched: &[u32]) {
        let events = trace.events();
        for &position in launched {
            let DeviceWork { event, .. } = works[position as usize];
            let (start, end) = (events.start(event), events.end(event));
            for &range in around {
                let range_of = &mut self.instances[range as usize];
                range_of.operations += 1;
                range_of.operation_time += end - start;
                let (first, last) = range_of.projection.unwrap_or((start, end));
                range_of.projection = Some((first.min(start), last.max(end)));
            }
            if let Some(&innermost) = around.last() {
                self.instances[innermost as usize].own_operation_time += end - start;
            }
        }
    }

    /// What a range is called: its domain, a colon, its text. The default domain has no name.
    pub(crate) fn label(&self, trace: &Trace, range: u32) -> String {
        let event = self.instances[range as usize].event;
        let RangeName { text, has_domain, .. } = RangeName::of(trace, event);
        let text = trace.text(text);
        if has_domain { text.to_owned() } else { format!(":{text}") }
    }
}

/// [`NvtxRanges::for_each_launch`] of ranges by thread and start, the longer ones first.
fn for_each_launch(
    trace: &Trace,
    works: &[DeviceWork],
    ranges: &[EventId],
    mut visit: impl FnMut(&[u32], &[u32]),
) {
    let events = trace.events();
    let mut launched: HashMap<EventId, Vec<u32>> = HashMap::new();
    for (work, position) in works.iter().zip(0..) {
        if let Some(call) = work.call {
            launched.entry(call).or_default().push(position);
        }
    }
    let mut calls: Vec<EventId> = launched.keys().copied().collect();
    calls.sort_by_key(|&call| (events.track(call), events.start(call), call));
    let (mut next, mut open, mut around) = (0, Vec::<u32>::new(), Vec::new());
    for calls in calls.chunk_by(|&a, &b| events.track(a) == events.track(b)) {
        let track = events.track(calls[0]);
        open.clear();
        while next < ranges.len() && events.track(ranges[next]) < track {
            next += 1;
        }
        for &call in calls {
            let (start, end) = (events.start(call), events.end(call));
            open.retain(|&range| events.end(ranges[range as usize]) >= start);
            while next < ranges.len()
                && events.track(ranges[next]) == track
                && events.start(ranges[next]) <= start
            {
                open.push(next as u32);
                next += 1;
            }
            let holds = |&range: &u32| {
                let event = ranges[range as usize];
                // What another thread ends says nothing of this thread's calls.
                let special = events.arguments().nvtx.get(event.index()).unwrap_or_default();
                events.end(event) >= end && !special.crosses_threads
            };
            around.clear();
            around.extend(open.iter().copied().filter(holds));
            visit(&around, &launched[&call]);
        }
    }
}
