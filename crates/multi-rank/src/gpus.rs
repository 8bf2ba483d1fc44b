//! The GPUs of a trace that has several as ranks of a job: a trace of each, and its place.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use trace_ingest::{Trace, TrackId};

use crate::host_profile::HostOfJob;
use crate::tables::RankTables;

/// The GPUs that did something, in the order of their numbers.
#[must_use]
pub fn gpus_of_trace(trace: &Trace) -> Vec<i64> {
    let events = trace.events();
    let work = events.ids().filter(|&event| events.category(event).is_device());
    let gpus: BTreeSet<i64> = work.filter_map(|event| events.device(event)).collect();
    gpus.into_iter().collect()
}

/// The work of one GPU, with what those processes did that launched it. Where no launch is known, the host's events are
/// those of all GPUs.
#[must_use]
pub fn trace_of_gpu(trace: &Trace, gpu: i64) -> Trace {
    let events = trace.events();
    let mut gpu_of_work = HashMap::new();
    for event in events.ids().filter(|&event| events.category(event).is_device()) {
        if let (Some(key), Some(gpu)) = (events.correlation(event), events.device(event)) {
            gpu_of_work.insert(key, gpu);
        }
    }
    let process = |track: TrackId| trace.tracks().get(track).pid;
    let mut gpus_of_process: BTreeMap<_, BTreeSet<i64>> = BTreeMap::new();
    for event in events.ids().filter(|&event| events.category(event).is_launch_api()) {
        if let Some(&gpu) = events.correlation(event).and_then(|key| gpu_of_work.get(&key)) {
            gpus_of_process.entry(process(events.track(event))).or_default().insert(gpu);
        }
    }
    let is_on_gpu = |track: TrackId| match gpus_of_process.get(&process(track)) {
        Some(gpus) => gpus.contains(&gpu),
        None => gpus_of_process.is_empty(),
    };
    let mut gpu_trace = trace.clone();
    gpu_trace.retain(|event| match events.device(event) {
        Some(device) => device == gpu,
        None => is_on_gpu(events.track(event)),
    });
    gpu_trace
}

/// Gives the tables of a GPU its place among the ranks of the job.
pub fn place_rank(tables: &mut RankTables, gpu: i64, rank: u32, host: &HostOfJob) {
    let row = &mut tables.rank;
    row.rank = Some(i64::from(rank));
    row.rank_source = Some("order of hosts".into());
    row.world_size = Some(i64::from(host.world_size));
    row.host = Some(host.name.as_str().into());
    row.device = Some(gpu);
}

#[cfg(test)]
mod tests {
    use trace_ingest::{Category, EventArguments, TraceBuilder};

    use super::*;

    /// Two processes of two GPUs: operator, launch and kernel of each, and a process without any GPU.
    fn two_gpus(are_linked: bool) -> Trace {
        let mut builder = TraceBuilder::new();
        for (gpu, pid) in [(3, 111), (5, 112)] {
            let (thread, stream) = (builder.track(pid, pid), builder.track(gpu, 7));
            let launch =
                EventArguments { correlation: are_linked.then_some(gpu * 10), ..EventArguments::default() };
            let work = EventArguments { device: Some(gpu), correlation: Some(gpu * 10), ..launch };
            let name = |what: &str| format!("{what} {gpu}");
            builder.event(Category::CPU_OP, &name("op"), thread, 0, 100, EventArguments::default());
            builder.event(Category::CUDA_RUNTIME, &name("launch"), thread, 10, 20, launch);
            builder.event(Category::KERNEL, &name("kernel"), stream, 50, 100, work);
        }
        let other = builder.track(113, 113);
        builder.event(Category::CPU_OP, "alone", other, 0, 10, EventArguments::default());
        builder.finish()
    }

    fn names(trace: &Trace) -> Vec<&str> {
        trace.events().ids().map(|event| trace.name(event)).collect()
    }

    #[test]
    fn a_gpu_has_what_its_processes_did() {
        let trace = two_gpus(true);
        assert_eq!(gpus_of_trace(&trace), [3, 5]);
        assert_eq!(names(&trace_of_gpu(&trace, 3)), ["op 3", "launch 3", "kernel 3"]);
        assert_eq!(names(&trace_of_gpu(&trace, 5)), ["op 5", "launch 5", "kernel 5"]);
    }

    #[test]
    fn without_launches_all_gpus_have_the_events_of_the_host() {
        let trace = two_gpus(false);
        let expected = ["op 3", "launch 3", "kernel 3", "op 5", "launch 5", "alone"];
        assert_eq!(names(&trace_of_gpu(&trace, 3)), expected);
    }
}
