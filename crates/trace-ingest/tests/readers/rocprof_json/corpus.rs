//! The recorded run of the corpus with the figures that are known of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use trace_ingest::rocprof::{AgentKind, KernelNames, read_profile};
use trace_ingest::{Category, ReadOptions, read_path};

fn recorded() -> Option<PathBuf> {
    testdata::corpus("rocprof/mi300-allreduce/908_results.json.gz")
}

#[test]
fn the_recorded_run_has_the_figures_that_are_known_of_it() {
    let Some(path) = recorded() else { return };
    let profile = read_profile(&path, &ReadOptions::default()).unwrap();
    assert_eq!(profile.warnings, []);
    let process = &profile.processes[0];
    assert_eq!(
        (process.pid, process.fini.zip(process.init).map(|(fini, init)| (fini - init).0)),
        (Some(908), Some(19_207_532_470))
    );
    assert_eq!(process.hostname.as_deref(), Some("smci350-zts-gtu-c6-25"));

    let of_kind = |kind| profile.agents.iter().filter(move |agent| agent.kind == kind);
    assert_eq!((of_kind(AgentKind::Cpu).count(), of_kind(AgentKind::Gpu).count()), (2, 8));
    assert!(of_kind(AgentKind::Gpu).map(|agent| agent.ordinal).eq((0..8).map(Some)));
    let gpu = of_kind(AgentKind::Gpu).next().unwrap();
    assert_eq!((gpu.label.as_str(), gpu.product_name.as_deref()), ("37946", Some("AMD Instinct MI350X")));
    assert_eq!(
        (gpu.compute_units, gpu.wave_size, gpu.lds_kib, gpu.dies),
        (Some(256), Some(64), Some(160), Some(8))
    );

    assert_eq!((profile.kernels.len(), profile.dispatches.len()), (9_889, 43_915));
    assert_eq!(profile.dispatches.iter().map(|dispatch| dispatch.duration().0).sum::<i64>(), 4_441_741_378);
    let names = |form| {
        let name = |dispatch: &trace_ingest::rocprof::Dispatch| {
            profile.kernel_name(dispatch.kernel, form).into_owned()
        };
        profile.dispatches.iter().map(name).collect::<BTreeSet<_>>().len()
    };
    assert_eq!((names(KernelNames::Truncated), names(KernelNames::Formatted)), (44, 80));
    let mut queues: BTreeMap<u64, i64> = BTreeMap::new();
    for dispatch in &profile.dispatches {
        *queues.entry(dispatch.queue).or_default() += dispatch.duration().0;
    }
    let expected =
        [(16, 129_114_885), (17, 6_149_264), (18, 238_517_073), (19, 36_884_558), (20, 4_031_075_598)];
    assert!(queues.into_iter().eq(expected));
    assert_eq!(profile.dispatches.iter().map(|one| one.thread).collect::<BTreeSet<_>>().len(), 4);
    assert_eq!(profile.dispatches.iter().map(|one| one.agent).collect::<BTreeSet<_>>(), [Some(2)].into());
    assert_eq!(profile.dispatches.iter().map(|one| one.dispatch_id).collect::<BTreeSet<_>>().len(), 43_915);

    let mut spans: Vec<_> = profile.dispatches.iter().map(|one| (one.start.0, one.end.0)).collect();
    spans.sort_unstable();
    let (mut union, mut intervals, mut reached) = (0, 0, i64::MIN);
    for (start, end) in spans {
        intervals += u64::from(start > reached);
        union += (end - start.max(reached)).max(0);
        reached = reached.max(end);
    }
    assert_eq!((union, intervals), (4_233_112_334, 10_221));
}

#[test]
fn threads_do_not_change_the_result() {
    let Some(path) = recorded() else { return };
    let read = |threads| {
        read_profile(&path, &ReadOptions { threads: Some(threads), ..ReadOptions::default() }).unwrap()
    };
    let (one, two) = (read(1), read(2));
    assert_eq!(
        (&one.dispatches, &one.kernels, &one.launches),
        (&two.dispatches, &two.kernels, &two.launches)
    );
}

#[test]
fn the_recorded_run_is_a_trace() {
    let Some(path) = recorded() else { return };
    let trace = read_path(&path, &ReadOptions::default()).unwrap();
    let events = trace.events();
    assert_eq!(events.ids().filter(|&id| events.category(id) == Category::KERNEL).count(), 43_915);
    assert_eq!(events.ids().map(|id| events.duration(id)).sum::<i64>(), 4_441_741_378);
}
