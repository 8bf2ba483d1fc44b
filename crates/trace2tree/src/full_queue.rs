//! Launches that waited for room in the device's queue.

use gpu_timeline::QueueLength;
use hashbrown::HashMap;
use trace_ingest::EventId;

use crate::tree::TraceTree;

/// Duration in µs from which on a launch into such a queue waited for room in it.
const LONG_LAUNCH_US: f64 = 100.0;

impl TraceTree {
    /// Launches that take long while many others wait to be run, by start: the queue is full, and they wait for the device.
    #[must_use]
    pub fn held_by_full_queue(&self, device_events: impl Iterator<Item = EventId>) -> Vec<EventId> {
        let trace = self.trace();
        let events = trace.events();
        // By launch: the end of the last thing that it launched.
        let mut ends: HashMap<EventId, i64> = HashMap::new();
        // What was launched before the recording began is in the queue from its beginning.
        let mut done: Vec<i64> = Vec::new();
        for event in device_events {
            match self.recorded_launch(event) {
                Some(launch) => {
                    let end = ends.entry(launch).or_insert(i64::MIN);
                    *end = (*end).max(events.end(event));
                }
                None => done.push(events.end(event)),
            }
        }
        let launched_before = done.len();
        done.extend(ends.values());
        done.sort_unstable();
        let mut launches: Vec<EventId> = ends.into_keys().collect();
        launches.sort_unstable_by_key(|&launch| (events.start(launch), launch));
        let is_held = |&(at, launch): &(usize, EventId)| {
            let launched = launched_before + at;
            let waiting = launched - done.partition_point(|&end| end <= events.start(launch)).min(launched);
            waiting >= QueueLength::HOST_BLOCKING_LENGTH
                && trace.to_microseconds(events.duration(launch)) >= LONG_LAUNCH_US
        };
        launches.into_iter().enumerate().filter(is_held).map(|(_, launch)| launch).collect()
    }
}
