//! Which event belongs to which step.

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use trace_ingest::{Category, EventId, FlowKind, RawEntry, RowId, TrackId, TrackTable};
use trace2tree::TraceTree;

use super::steps::SplitStep;

/// No step.
const NONE: u32 = u32::MAX;

/// The step of every event that belongs to one.
///
/// A host event belongs to the step on its thread that it lies in, or of its process ([`SplitStep::with_process`]), a device event to the step of its launch, an
/// annotation's device range to the step of the annotation. So every event belongs to one step at most.
#[derive(Debug)]
pub struct Membership {
    /// By event.
    step_of: Vec<u32>,
    /// By correlation id of a call.
    by_correlation: HashMap<i64, u32>,
    on_tracks: StepsOnTracks,
    device_work: Vec<DeviceWork>,
    /// Device events that belong to no step.
    pub unassigned_device_events: usize,
}

/// What a step had done by devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceWork {
    /// Kernels, copies, fills.
    pub events: usize,
    /// From the start of the first to the end of the last, in the trace's unit.
    pub span: i64,
    /// Sum of durations, in the trace's unit.
    pub busy: i64,
}

impl Membership {
    /// Assigns the events of a trace.
    #[must_use]
    pub fn new(tree: &TraceTree, steps: &[SplitStep]) -> Self {
        let trace = tree.trace();
        let events = trace.events();
        let on_tracks = StepsOnTracks::new(steps, trace.tracks());
        let mut step_of = vec![NONE; events.len()];
        let (mut by_correlation, mut annotations) = (HashMap::new(), HashMap::new());
        let is_on_device =
            |category: Category| category.is_device() || category == Category::GPU_USER_ANNOTATION;
        for event in events.ids().filter(|&event| !is_on_device(events.category(event))) {
            let found = on_tracks.containing(events.track(event), events.start(event), events.end(event));
            let Some(step) = found else { continue };
            step_of[event.index()] = step;
            if let Some(id) = events.correlation(event) {
                by_correlation.entry(id).or_insert(step);
            }
            if events.category(event) == Category::USER_ANNOTATION
                && let Some(id) = events.external_id(event)
            {
                annotations.entry(id).or_insert(step);
            }
        }
        let mut extents = vec![(i64::MAX, i64::MIN); steps.len()];
        let mut device_work = vec![DeviceWork::default(); steps.len()];
        let mut unassigned_device_events = 0;
        for event in events.ids().filter(|&event| is_on_device(events.category(event))) {
            let step = if events.category(event).is_device() {
                tree.launch(event).map_or(NONE, |launch| step_of[launch.index()])
            } else {
                let id = events.external_id(event);
                id.and_then(|id| annotations.get(&id)).copied().unwrap_or(NONE)
            };
            step_of[event.index()] = step;
            if events.category(event).is_device() {
                let Some(work) = device_work.get_mut(step as usize) else {
                    unassigned_device_events += 1;
                    continue;
                };
                let extent = &mut extents[step as usize];
                *extent = (extent.0.min(events.start(event)), extent.1.max(events.end(event)));
                work.events += 1;
                work.busy += events.duration(event);
                work.span = extent.1 - extent.0;
            }
        }
        Membership { step_of, by_correlation, on_tracks, device_work, unassigned_device_events }
    }

    /// The step that an event belongs to.
    #[must_use]
    pub fn step_of(&self, event: EventId) -> Option<usize> {
        self.step_of.get(event.index()).filter(|&&step| step != NONE).map(|&step| step as usize)
    }

    /// What a step had done by devices.
    #[must_use]
    pub fn device_work(&self, step: usize) -> DeviceWork {
        self.device_work.get(step).copied().unwrap_or_default()
    }

    /// The step that an entry belongs to that is no event: the one of the launch that an arrow is for, otherwise
    /// the one on its thread at its time.
    pub(crate) fn step_of_entry(&self, entry: &RawEntry<'_>, tree: &TraceTree) -> Option<usize> {
        let step = match entry.flow {
            Some((FlowKind::Launch, _, id)) => self.by_correlation.get(&id).copied(),
            _ => {
                let trace = tree.trace();
                let time = entry.time? - trace.origin();
                self.on_tracks.containing(entry.track(trace)?, time, time)
            }
        };
        step.map(|step| step as usize)
    }
}

/// Steps of each thread in time order. None of a thread lies in another, so ends are in order too.
#[derive(Debug)]
struct StepsOnTracks(Vec<Vec<Span>>);

#[derive(Clone, Copy, Debug)]
struct Span {
    start: i64,
    end: i64,
    step: u32,
}

impl StepsOnTracks {
    fn new(steps: &[SplitStep], tracks: &TrackTable) -> Self {
        let mut spans = vec![Vec::new(); tracks.len()];
        for (step, &SplitStep { start, end, track, .. }) in (0..NONE).zip(steps) {
            spans[track.index()].push(Span { start, end, step });
        }
        spans.iter_mut().for_each(|spans| spans.sort_few_by_key(|span| (span.start, span.end)));
        // Threads without steps work for those of the one thread of their process that has some.
        let mut owners: HashMap<RowId, Vec<TrackId>> = HashMap::new();
        for step in steps.iter().filter(|step| step.with_process) {
            let process_tracks = owners.entry(tracks.get(step.track).pid).or_default();
            if !process_tracks.contains(&step.track) {
                process_tracks.push(step.track);
            }
        }
        for track in tracks
            .ids()
            .filter(|track| !owners.is_empty() && spans[track.index()].is_empty())
            .collect::<Vec<_>>()
        {
            if let Some([owner]) = owners.get(&tracks.get(track).pid).map(Vec::as_slice) {
                spans[track.index()] = spans[owner.index()].clone();
            }
        }
        StepsOnTracks(spans)
    }

    /// The step that this stretch of a track lies in, its ends included; the later one of two that touch.
    fn containing(&self, track: TrackId, start: i64, end: i64) -> Option<u32> {
        let spans = self.0.get(track.index())?;
        let begun = spans.partition_point(|span| span.start <= start);
        let last = spans[..begun].last()?;
        // A step ends no earlier than those before it.
        (end <= last.end).then_some(last.step)
    }
}
