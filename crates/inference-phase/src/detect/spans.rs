//! Where the host runs which step, and to which step device events belong.

use hashbrown::HashMap;
use iterations::{Owners, ThreadSpans};
use trace_ingest::{EventId, StringId, Trace, TrackId};

use super::marks::AnnotatedStep;

/// How a step was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Located {
    /// On the step's own thread.
    OnThread(usize),
    /// On another thread, while exactly one step of the process was under way.
    ByTime(usize),
}

/// The step of a call on a thread at a time.
pub(super) fn locate(
    trace: &Trace,
    spans: &ThreadSpans,
    owners: &Owners,
    track: TrackId,
    time: i64,
) -> Option<Located> {
    let owners = owners.of(trace, track);
    let mut active = owners.iter().filter_map(|&owner| spans.find(owner, time));
    let step = active.next()?.index;
    let located = if *owners == [track] { Located::OnThread(step) } else { Located::ByTime(step) };
    active.next().is_none().then_some(located)
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
