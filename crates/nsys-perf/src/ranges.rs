//! Ranges of NVTX, how they nest, and the device work that was launched in them.

use std::cmp::Reverse;

use hashbrown::HashMap;
use trace_ingest::{Category, EventId};

use crate::analysis::{DeviceWork, NsysAnalysis};

/// How far a range may reach beyond the one around it, in nanoseconds: clocks are read one after the other.
const TOLERANCE_NS: i64 = 1_000;

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
    /// `(range, device work)`: each kernel, copy and fill with every range that it was launched in, the innermost last.
    pub(crate) launched: Vec<(u32, u32)>,
}

impl NvtxInstance {
    /// Length of the projection in ns; 0 without device work.
    #[must_use]
    pub fn projected(&self) -> i64 {
        self.projection.map_or(0, |(start, end)| end - start)
    }
}

impl NvtxRanges {
    pub(crate) fn new(analysis: &NsysAnalysis<'_>) -> Self {
        let events = analysis.trace().events();
        let is_range = |&event: &EventId| {
            matches!(events.category(event), Category::CPU_OP | Category::USER_ANNOTATION)
                && events.arguments().unfinished.get(event.index()).is_none()
        };
        let mut ranges: Vec<EventId> = events.ids().filter(is_range).collect();
        ranges.sort_by_key(|&event| {
            (events.track(event), events.start(event), Reverse(events.end(event)), event)
        });
        let mut launches: HashMap<EventId, Vec<u32>> = HashMap::new();
        for (work, position) in analysis.device_work().iter().zip(0..) {
            if let Some(call) = work.call {
                launches.entry(call).or_default().push(position);
            }
        }
        let mut calls: Vec<EventId> = launches.keys().copied().collect();
        calls.sort_by_key(|&call| (events.track(call), events.start(call), call));
        let mut found = NvtxRanges::default();
        let mut calls = calls.into_iter().peekable();
        for thread in ranges.chunk_by(|&a, &b| events.track(a) == events.track(b)) {
            let track = events.track(thread[0]);
            let first = found.instances.len();
            found.nest(analysis, thread);
            while calls.next_if(|&call| events.track(call) < track).is_some() {}
            let mut next = first;
            let mut open: Vec<u32> = Vec::new();
            while let Some(call) = calls.next_if(|&call| events.track(call) == track) {
                let (start, end) = (events.start(call), events.end(call));
                open.retain(|&range| events.end(found.instances[range as usize].event) >= start);
                while next < found.instances.len() && events.start(found.instances[next].event) <= start {
                    open.push(next as u32);
                    next += 1;
                }
                let holds = |range: u32| {
                    let event = found.instances[range as usize].event;
                    // What another thread ends says nothing of this thread's calls.
                    let special = events.arguments().nvtx.get(event.index()).unwrap_or_default();
                    events.end(event) >= end && !special.crosses_threads
                };
                let around: Vec<u32> = open.iter().copied().filter(|&range| holds(range)).collect();
                found.launch(analysis, &around, &launches[&call]);
            }
        }
        found
    }

    /// Adds the ranges of a thread.
    fn nest(&mut self, analysis: &NsysAnalysis<'_>, thread: &[EventId]) {
        let events = analysis.trace().events();
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
    fn launch(&mut self, analysis: &NsysAnalysis<'_>, around: &[u32], launched: &[u32]) {
        let events = analysis.trace().events();
        for &position in launched {
            let DeviceWork { event, .. } = analysis.device_work()[position as usize];
            let (start, end) = (events.start(event), events.end(event));
            for &range in around {
                let range_of = &mut self.instances[range as usize];
                range_of.operations += 1;
                range_of.operation_time += end - start;
                let (first, last) = range_of.projection.unwrap_or((start, end));
                range_of.projection = Some((first.min(start), last.max(end)));
                self.launched.push((range, position));
            }
            if let Some(&innermost) = around.last() {
                self.instances[innermost as usize].own_operation_time += end - start;
            }
        }
    }

    /// Whether a range was started and ended, not pushed and popped.
    pub(crate) fn is_start_end(&self, analysis: &NsysAnalysis<'_>, range: u32) -> bool {
        let event = self.instances[range as usize].event;
        analysis.trace().events().arguments().nvtx.get(event.index()).is_some_and(|range| range.is_start_end)
    }

    /// What a range is called: its domain, a colon, its text. The default domain has no name.
    pub(crate) fn label(&self, analysis: &NsysAnalysis<'_>, range: u32) -> String {
        let event = self.instances[range as usize].event;
        let name = analysis.trace().name(event);
        let has_domain = analysis
            .trace()
            .events()
            .arguments()
            .nvtx
            .get(event.index())
            .is_some_and(|range| range.has_domain);
        if has_domain { name.to_owned() } else { format!(":{name}") }
    }
}
