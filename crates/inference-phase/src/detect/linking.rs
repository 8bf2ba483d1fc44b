//! Which step launched a device event.
//!
//! Device time says nothing of it: devices run behind the host, by whole steps where graphs are replayed. The launch
//! does, because a step's own thread made it between the step's begin and end.

use hashbrown::HashMap;
use trace_ingest::{EventId, RowId, StringId, Trace, TrackId};

use super::annotations::AnnotatedStep;
use super::spans::Spans;

/// How a step was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// On the step's own thread.
    OnThread(usize),
    /// On another thread, while exactly one step of the process was under way.
    ByTime(usize),
}

/// Looks up steps by thread and time.
pub(super) struct Locator<'s> {
    spans: &'s Spans,
    /// Threads with steps, by process.
    by_process: HashMap<RowId, Vec<TrackId>>,
    processes: Vec<RowId>,
}

impl<'s> Locator<'s> {
    pub(super) fn new(trace: &Trace, spans: &'s Spans, tracks: &[TrackId]) -> Self {
        let mut processes = vec![RowId::Missing; trace.tracks().len()];
        let mut by_process: HashMap<RowId, Vec<TrackId>> = HashMap::new();
        for &track in tracks {
            let process = trace.tracks().get(track).pid;
            processes[track.index()] = process;
            if !spans.of(track).is_empty() {
                by_process.entry(process).or_default().push(track);
            }
        }
        Locator { spans, by_process, processes }
    }

    /// The step of a call on this thread at this time.
    pub(super) fn locate(&self, track: TrackId, time: i64) -> Option<Found> {
        if let Some(span) = self.spans.find(track, time) {
            return Some(Found::OnThread(span.step));
        }
        // A thread with steps of its own made the call outside of them.
        if !self.spans.of(track).is_empty() {
            return None;
        }
        let engines = self.by_process.get(&self.processes[track.index()])?;
        let mut active = engines.iter().filter_map(|&engine| self.spans.find(engine, time));
        let only = active.next()?;
        active.next().is_none().then_some(Found::ByTime(only.step))
    }
}

/// Ranges of steps on the device, as the profiler copies them from the host's annotations around what these launched.
pub(super) struct DeviceRanges {
    by_track: HashMap<TrackId, Vec<(i64, i64, usize)>>,
}

impl DeviceRanges {
    /// Pairs ranges with the host's steps by name: of equally many in order, else each with the last that began before
    /// it. A range without partner gets a step of its own from `add`.
    pub(super) fn new(
        trace: &Trace,
        ranges: Vec<(TrackId, AnnotatedStep)>,
        host: &[(EventId, usize)],
        mut add: impl FnMut(&AnnotatedStep) -> usize,
    ) -> Self {
        let events = trace.events();
        let mut host_by_name: HashMap<StringId, Vec<(i64, usize)>> = HashMap::new();
        for &(annotation, step) in host {
            host_by_name.entry(events.name(annotation)).or_default().push((events.start(annotation), step));
        }
        for steps in host_by_name.values_mut() {
            steps.sort_unstable();
        }
        let mut total: HashMap<(TrackId, StringId), usize> = HashMap::new();
        for (track, range) in &ranges {
            *total.entry((*track, name(trace, range))).or_default() += 1;
        }
        let mut seen: HashMap<(TrackId, StringId), usize> = HashMap::new();
        let mut by_track: HashMap<TrackId, Vec<(i64, i64, usize)>> = HashMap::new();
        for (track, range) in ranges {
            let name = name(trace, &range);
            let place = seen.entry((track, name)).or_default();
            let steps = host_by_name.get(&name).map(Vec::as_slice).unwrap_or_default();
            let partner = if total.get(&(track, name)) == Some(&steps.len()) {
                steps.get(*place)
            } else {
                steps[..steps.partition_point(|&(start, _)| start <= range.start)].last()
            };
            *place += 1;
            let step = partner.map_or_else(|| add(&range), |&(_, step)| step);
            by_track.entry(track).or_default().push((range.start, range.end, step));
        }
        DeviceRanges { by_track }
    }

    pub(super) fn find(&self, track: TrackId, time: i64) -> Option<usize> {
        let ranges = self.by_track.get(&track)?;
        let after = ranges.partition_point(|&(start, ..)| start <= time);
        ranges[..after].last().filter(|&&(_, end, _)| time < end).map(|&(.., step)| step)
    }
}

fn name(trace: &Trace, range: &AnnotatedStep) -> StringId {
    range.annotations.first().map_or(StringId::EMPTY, |&annotation| trace.events().name(annotation))
}
