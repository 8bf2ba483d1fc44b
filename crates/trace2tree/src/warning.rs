//! Counts and recoverable faults of building a tree.

/// Counts of one build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeStatistics {
    /// Host events placed in the tree.
    pub host_events: u64,
    /// Events taken for siblings of an event that ends less than a microsecond after they start.
    pub sibling_overlaps: u64,
    /// Events that outlive the event they start in, placed under one that encloses them or as roots.
    pub reattached: u64,
    /// Device events linked by the correlation id of a call that is not a graph launch.
    pub linked_by_correlation: u64,
    /// Device events linked by the id of a graph launch.
    pub linked_by_graph_launch: u64,
    /// Device events linked by a launch arrow.
    pub linked_by_flow: u64,
    /// Device events linked by the External id of a call.
    pub linked_by_external_id: u64,
    /// Device events whose launch was not found.
    pub unlinked_device_events: u64,
    /// Backward operators whose forward operator was found.
    pub backward_links: u64,
}

impl TreeStatistics {
    /// Device events placed in the tree.
    pub fn linked_device_events(&self) -> u64 {
        self.linked_by_correlation
            + self.linked_by_graph_launch
            + self.linked_by_flow
            + self.linked_by_external_id
    }
}

/// A contradiction or gap of the trace that building, or a pass after it, recovered from. Each kind occurs once
/// with its count.
#[derive(Clone, Debug, PartialEq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum TreeWarning {
    /// Host events outlive the event they start in.
    #[error(
        "{count} host {} in and {} moved to one that encloses {} (first: event {first_uid})",
        if *.count == 1 { "event outlasts the event it starts" } else { "events outlast the event they start" },
        if *.count == 1 { "was" } else { "were" },
        if *.count == 1 { "it" } else { "them" }
    )]
    #[diagnostic(code("tree/reattached-host-events"), severity(Warning))]
    ReattachedHostEvents {
        /// How many.
        count: u64,
        /// Index in the file's event list of the earliest one.
        first_uid: u32,
    },
    /// Device events whose launch is not in the trace; they belong to no operator.
    #[error(
        "{count} device {} ({busy_microseconds:.3} µs) {} no launch in the trace and no operator",
        if *.count == 1 { "event" } else { "events" },
        if *.count == 1 { "has" } else { "have" }
    )]
    #[diagnostic(code("tree/unlinked-device-events"), severity(Warning))]
    UnlinkedDeviceEvents {
        /// How many.
        count: u64,
        /// Time in which at least one of them ran, in microseconds.
        busy_microseconds: f64,
    },
    /// Events that a pass left as they are, or for which it had to assume something.
    #[error("{pass}: {problem} (events: {count}, first: event {first_uid})")]
    #[diagnostic(code("tree/pass"), severity(Warning))]
    Pass {
        /// Name of the pass.
        pass: String,
        /// What it met.
        problem: String,
        /// At how many events.
        count: u64,
        /// Index in the file's event list of the first one.
        first_uid: u32,
    },
    /// Device events that ran far into the next one of their queue.
    #[error(
        "device events truncated at the start of the next one on their queue, which they overlapped by up to {most_microseconds:.3} µs: {count}"
    )]
    #[diagnostic(
        code("tree/overruns"),
        severity(Warning),
        help("to keep recorded durations, pass --keep-overruns with a single recording")
    )]
    Overruns {
        /// How many.
        count: u64,
        /// By how much at most, in microseconds.
        most_microseconds: f64,
    },
    /// Correlation ids of device events that several calls carry.
    #[error(
        "{count} correlation {} shared by several calls: the likeliest launch was chosen",
        if *.count == 1 { "id of a device event is" } else { "ids of device events are" }
    )]
    #[diagnostic(code("tree/shared-correlations"), severity(Warning))]
    SharedCorrelations {
        /// How many ids.
        count: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_read_as_one_line() {
        let warning = TreeWarning::UnlinkedDeviceEvents { count: 509, busy_microseconds: 13741.8276 };
        assert_eq!(
            warning.to_string(),
            "509 device events (13741.828 µs) have no launch in the trace and no operator"
        );
        let warning = TreeWarning::ReattachedHostEvents { count: 3, first_uid: 8 };
        assert!(!warning.to_string().contains('\n') && !warning.to_string().contains("  "));
    }
}
