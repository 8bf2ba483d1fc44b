//! The host's executions of programs, which launches lie in.

use hashbrown::HashMap;
use trace_ingest::xplane::{PlaneKind, Profile};
use trace_ingest::{EventId, TrackId};

/// How XLA names the host's work on one execution of a program on a GPU, behind the name of the module.
const OF_MODULE: &str = ":XLA GPU module";

/// Finds the host's execution around a launch.
pub(super) struct HostExecutions<'p> {
    profile: &'p Profile,
    /// Executions of a thread by start. They do not overlap.
    by_track: HashMap<TrackId, Vec<EventId>>,
}

impl<'p> HostExecutions<'p> {
    pub(super) fn new(profile: &'p Profile) -> Self {
        let hosts = profile.planes.iter().filter(|plane| plane.kind == PlaneKind::HostCpu);
        let mut by_track = HashMap::new();
        for line in hosts.flat_map(|plane| &plane.lines) {
            let is_execution = |event: &EventId| profile.trace.name(*event).ends_with(OF_MODULE);
            let executions: Vec<EventId> = line.events.iter().copied().filter(is_execution).collect();
            if !executions.is_empty() {
                by_track.insert(line.track, executions);
            }
        }
        HostExecutions { profile, by_track }
    }

    /// The execution on the launch's thread that the launch lies in.
    pub(super) fn around(&self, launch: EventId) -> Option<EventId> {
        let events = self.profile.trace.events();
        let executions = self.by_track.get(&events.track(launch))?;
        let start = events.start(launch);
        let behind = executions.partition_point(|&execution| events.start(execution) <= start);
        let around = *executions.get(behind.checked_sub(1)?)?;
        (events.end(around) > start).then_some(around)
    }
}
