//! Device events whose recorded ends are wrong: they run far into the next one of their queue.

use trace_ingest::{EventId, RecordingKind};

use crate::busy_time::busy_time;
use crate::names::is_graph_launch;
use crate::tree::TraceTree;
use crate::unrecorded::Overruns;
use crate::warning::TreeWarning;

/// In µs: kernels that start early overlap by less.
const LEAST_MICROSECONDS: i64 = 100;
/// The excess counts from this part of the device time on.
const LEAST_PART: i64 = 1000;

impl TraceTree {
    /// Device events whose recorded ends were found to be wrong when the tree was built.
    pub fn overruns(&self) -> &Overruns {
        &self.overruns
    }

    /// Finds the events that overrun the next one of their queue, and ends them there unless recorded ends are to be kept.
    pub(crate) fn end_overruns(&mut self) {
        let mut found = self.find_overruns();
        let events = self.trace.events();
        let device = events.ids().filter(|&event| events.category(event).is_device());
        let is_wrong = !found.events.is_empty() && found.excess() * LEAST_PART >= busy_time(events, device);
        if !is_wrong {
            found.events.clear();
        }
        if !self.options.keep_overruns {
            if let Some(most) = found.events.iter().map(|&(_, excess)| excess).max() {
                let (count, most_microseconds) =
                    (found.events.len() as u64, self.trace.to_microseconds(most));
                self.warnings.push(TreeWarning::Overruns { count, most_microseconds });
            }
            for &(event, excess) in &found.events {
                let events = self.trace.events();
                let (start, duration) = (events.start(event), events.duration(event) - excess);
                self.trace.retime(event, start, duration);
            }
        }
        self.overruns = Overruns { kept: self.options.keep_overruns, ..found };
    }

    fn find_overruns(&self) -> Overruns {
        let mut found = Overruns::default();
        let recorder = self.trace.facts().recorder.kind;
        if recorder == Some(RecordingKind::XPlane) {
            // Its lines are levels of one program, not queues.
            return found;
        }
        let (events, tracks) = (self.trace.events(), self.trace.tracks());
        let arguments = events.arguments();
        let has_queues = recorder == Some(RecordingKind::Rocprof);
        // Recordings of other profilers than PyTorch's can be of several processes, whose streams have the same numbers.
        let process = |event: EventId| {
            let launch =
                self.launch(event).filter(|_| recorder.is_some_and(RecordingKind::is_machine_wide))?;
            Some(tracks.get(events.track(launch)).pid)
        };
        let queue = |event: EventId| {
            let queue = arguments.queue.get(event.index());
            let context = arguments.cuda.get(event.index()).and_then(|work| work.context);
            (events.device(event), events.stream(event), queue, context, process(event))
        };
        let is_replay = |event: EventId| {
            self.launch(event).is_some_and(|launch| is_graph_launch(self.trace.name(launch)))
        };
        // What names no queue where others do may run on any.
        let is_queued = |event: &EventId| {
            events.category(*event).is_device()
                && (!has_queues || arguments.queue.get(event.index()).is_some())
        };
        let mut by_start: Vec<EventId> = events.ids().filter(is_queued).collect();
        by_start.sort_by_key(|&event| events.start(event));
        let least = LEAST_MICROSECONDS * self.trace.time_unit().per_microsecond();
        // By track, which mostly is one queue of a device: the last event of each queue.
        let mut before: Vec<Vec<(_, EventId)>> = vec![Vec::new(); tracks.len()];
        for next in by_start {
            let queues = &mut before[events.track(next).index()];
            let next_queue = queue(next);
            let Some((_, known)) = queues.iter_mut().find(|(queue, _)| *queue == next_queue) else {
                queues.push((next_queue, next));
                continue;
            };
            let event = std::mem::replace(known, next);
            let excess = events.end(event) - events.start(next);
            if excess <= events.duration(next).max(least) {
                continue;
            }
            match is_replay(event) && is_replay(next) {
                true => found.replays += 1,
                false => found.events.push((event, excess)),
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use trace_ingest::{RecorderFacts, RecordingKind, TraceFacts};

    use crate::fixture::Fixture;
    use crate::{TraceTree, TreeOptions};

    /// How long two kernels of a stream are in the tree, and the excess of the first.
    fn seen(length: f64, launch: &str, keep_overruns: bool, kind: Option<RecordingKind>) -> ([i64; 2], i64) {
        let mut fixture = Fixture::new();
        fixture.launch(launch, (0.0, 5.0), 1);
        let first = fixture.kernel("k", (10.0, length), 1);
        let second = fixture.kernel("k", (20.0, 50.0), 1);
        let recorder = RecorderFacts { kind, ..RecorderFacts::default() };
        fixture.builder.facts(TraceFacts { recorder, ..TraceFacts::default() });
        let options = TreeOptions { keep_overruns, ..TreeOptions::default() };
        let tree = TraceTree::build(fixture.finish(), &options);
        let events = tree.trace().events();
        ([first, second].map(|event| events.duration(event)), tree.overruns().excess())
    }

    #[test]
    fn an_event_that_overruns_the_next_one_ends_where_that_starts() {
        assert_eq!(seen(120.0, "cudaLaunchKernel", false, None), ([10_000, 50_000], 110_000));
        assert_eq!(seen(120.0, "cudaLaunchKernel", true, None), ([120_000, 50_000], 110_000));
        assert_eq!(seen(105.0, "cudaLaunchKernel", false, None), ([105_000, 50_000], 0));
        assert_eq!(seen(120.0, "cudaGraphLaunch", false, None), ([120_000, 50_000], 0));
        assert_eq!(seen(120.0, "launch", false, Some(RecordingKind::XPlane)), ([120_000, 50_000], 0));
    }
}
