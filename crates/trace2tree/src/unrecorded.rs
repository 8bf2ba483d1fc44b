//! What a recording does not have, or has with wrong times.

use gpu_timeline::{Interval, IntervalSet};
use trace_ingest::EventId;

/// Launches without a device event. Each list is by start.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LostLaunches {
    /// All calls that start device work.
    pub launches: u64,
    /// Launches of graphs among them.
    pub graph_launches: u64,
    /// Before the first launch with device work.
    pub before: Vec<EventId>,
    /// Between the first and the last launch with device work, launches of graphs left out.
    pub between: Vec<EventId>,
    /// After the last launch with device work.
    pub after: Vec<EventId>,
    /// Launches of graphs that the device has worked off, as the recording shows.
    pub replays: Vec<EventId>,
    /// Launches that may have no device event: fills of no bytes, calls during the capture of a graph, second records.
    pub explained: u64,
}

/// Time in which a device may have worked without a record.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Unrecorded {
    /// All of it.
    pub time: IntervalSet,
    /// The launches of the work that is missing in it.
    pub launches: Vec<EventId>,
    /// The part between two cycles of a profiler, whose step numbers jump, with the number of steps left out.
    pub between_cycles: Vec<(Interval, u64)>,
}

impl Unrecorded {
    /// Whether the recording lacks work while the profiler recorded.
    #[must_use]
    pub fn lacks_work(&self) -> bool {
        self.time.total_length() > self.between_cycles.iter().map(|(gap, _)| gap.length()).sum()
    }
}

/// Device events that end long after the next one of their queue began, although a queue works off one after the other.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Overruns {
    /// By the start of the next one: each event, and how far its recorded end lies behind that start, in ticks.
    pub events: Vec<(EventId, i64)>,
    /// Events of graph replays that do the same. They are left alone: branches of a graph run beside each other.
    pub replays: u64,
    /// Whether the recorded ends were kept; otherwise the events end where the next one starts.
    pub kept: bool,
}

impl Overruns {
    /// How much longer the events were recorded than until the next one started, in ticks.
    pub fn excess(&self) -> i64 {
        self.events.iter().map(|&(_, excess)| excess).sum()
    }
}
