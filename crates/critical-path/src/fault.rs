//! What is odd about a recording, counted.

use std::fmt;

use trace_ingest::{EventId, Trace};

/// A contradiction or gap of the recording that the path gets over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Device work starts before the call that launches it: the launch is not followed.
    LaunchAfterWork,
    /// An arrow between nodes of a graph has one end only, or ends where no node of one replay is.
    UnresolvedDependency,
    /// An arrow between nodes of a graph fits several: the first in the file is taken.
    AmbiguousDependency,
    /// A node of a graph depends on a later one: the dependency is left out.
    DependencyOnLater,
    /// A node of a graph starts before one ends that it depends on: taken to start at its end.
    DependencyOverlaps,
    /// A stream waits for later work: the wait is left out.
    WaitsForLater,
    /// A recorded synchronization belongs to no call.
    SynchronizationWithoutCall,
    /// A recorded synchronization is of an unknown kind.
    UnknownSynchronization,
    /// Something waits for itself, over others: an edge of the circle is left out.
    Circle,
    /// A launch waited for room in a full queue: with changes it would wait for another time, and is taken to wait as long.
    FullQueue,
}

impl Fault {
    const ALL: [Fault; 10] = [
        Fault::LaunchAfterWork,
        Fault::UnresolvedDependency,
        Fault::AmbiguousDependency,
        Fault::DependencyOnLater,
        Fault::DependencyOverlaps,
        Fault::WaitsForLater,
        Fault::SynchronizationWithoutCall,
        Fault::UnknownSynchronization,
        Fault::Circle,
        Fault::FullQueue,
    ];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::LaunchAfterWork => {
                "device events that start before their launch, treated as having no launch"
            }
            Fault::UnresolvedDependency => {
                "dependencies between graph nodes that are not in the same replay, ignored"
            }
            Fault::AmbiguousDependency => {
                "dependencies between graph nodes with several matches, resolved to the first"
            }
            Fault::DependencyOnLater => "dependencies of graph nodes on later nodes, ignored",
            Fault::DependencyOverlaps => {
                "graph nodes that start before a dependency ends, treated as starting when it ends"
            }
            Fault::WaitsForLater => "stream waits for later work, ignored",
            Fault::SynchronizationWithoutCall => "synchronizations without a recorded call, ignored",
            Fault::UnknownSynchronization => "synchronizations of an unknown kind, ignored",
            Fault::Circle => "dependencies that close a cycle, ignored",
            Fault::FullQueue => {
                "launches blocked by a full queue: predicted times still include these waits and are inexact"
            }
        })
    }
}

/// How often each fault occurred, and at which event first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults([(u64, Option<u32>); Fault::ALL.len()]);

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault, trace: &Trace, event: EventId) {
        self.count(fault, Some(trace.events().uid(event)));
    }

    /// Counts one at an event of the file's list, or at none.
    pub(crate) fn count(&mut self, fault: Fault, uid: Option<u32>) {
        let (count, first) = &mut self.0[fault as usize];
        *count += 1;
        *first = first.or(uid);
    }

    /// Those that occurred: how often, and the index of the first event in the file's list, where one is known.
    pub(crate) fn list(&self) -> Vec<(Fault, u64, Option<u32>)> {
        let of = |fault: Fault| {
            let (count, first) = self.0[fault as usize];
            (fault, count, first)
        };
        Fault::ALL.into_iter().map(of).filter(|&(_, count, _)| count > 0).collect()
    }
}
