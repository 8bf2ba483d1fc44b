//! Device time of every node of a tree.

use trace_ingest::EventId;

use crate::tree::TraceTree;

/// Device time of all nodes: the sum of the durations of the device events that a node and everything below it
/// launched. Unlike [`TraceTree::gpu_time`] it counts events that run at the same time one by one, so that the time of a
/// node is the sum of its children's.
#[derive(Clone, Debug)]
pub struct DeviceTimes<'t> {
    tree: &'t TraceTree,
    /// Duration of the linked device events before each position in the tree's order, and of all.
    before: Vec<i64>,
    total: i64,
}

impl TraceTree {
    /// Sums the device events once for all nodes.
    pub fn device_times(&self) -> DeviceTimes<'_> {
        let events = self.trace().events();
        let mut sum = 0i64;
        let mut before = vec![0];
        for &event in self.linked_device_events() {
            sum = sum.saturating_add(events.duration(event));
            before.push(sum);
        }
        let unlinked = self.unlinked_device_events().iter().map(|&event| events.duration(event));
        DeviceTimes { tree: self, before, total: unlinked.fold(sum, i64::saturating_add) }
    }
}

impl DeviceTimes<'_> {
    /// Device time of a node in the trace's time unit: a device event's own duration, the sum of those below a host
    /// event, 0 for all others.
    pub fn of(&self, event: EventId) -> i64 {
        let events = self.tree.trace().events();
        match events.category(event).is_device() {
            true => events.duration(event),
            false => {
                let below = self.tree.device_positions(event);
                self.before[below.end] - self.before[below.start]
            }
        }
    }

    /// [`DeviceTimes::of`] in microseconds.
    pub fn microseconds(&self, event: EventId) -> f64 {
        self.tree.trace().to_microseconds(self.of(event))
    }

    /// [`DeviceTimes::of`] as percentage of the durations of all device events of the trace, linked or not; `None`
    /// where these take no time.
    pub fn percent(&self, event: EventId) -> Option<f64> {
        (self.total > 0).then(|| self.of(event) as f64 / self.total as f64 * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Fixture, Planted};

    #[test]
    fn the_time_of_a_node_is_the_sum_of_its_childrens() {
        let mut fixture = Fixture::new();
        let outer = fixture.op("outer", (0.0, 100.0));
        let inner = fixture.op("inner", (1.0, 20.0));
        let launch = fixture.launch("cudaLaunchKernel", (2.0, 5.0), 1);
        fixture.launch("cudaLaunchKernel", (50.0, 5.0), 2);
        let idle = fixture.op("idle", (60.0, 5.0));
        let kernel = fixture.kernel("k", (200.0, 10.0), 1);
        // Runs at the same time, and counts all the same.
        fixture.kernel("k", (205.0, 20.0), 2);
        let unlinked = fixture.kernel("k", (300.0, 10.0), 99);
        let tree = fixture.tree();
        let times = tree.device_times();
        for (event, microseconds, percent) in [
            (outer, 30.0, 75.0),
            (inner, 10.0, 25.0),
            (launch, 10.0, 25.0),
            (kernel, 10.0, 25.0),
            (idle, 0.0, 0.0),
            (unlinked, 10.0, 25.0),
        ] {
            assert_eq!(times.microseconds(event), microseconds, "{event:?}");
            assert_eq!(times.percent(event), Some(percent), "{event:?}");
        }
    }

    #[test]
    fn there_is_no_share_without_device_time() {
        let mut fixture = Fixture::new();
        let op = fixture.op("op", (0.0, 100.0));
        let tree = fixture.tree();
        assert_eq!((tree.device_times().of(op), tree.device_times().percent(op)), (0, None));
    }
}
