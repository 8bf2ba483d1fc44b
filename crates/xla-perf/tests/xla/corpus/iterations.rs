//! Iterations of recorded profiles: how many a person would count, that parts add up to the whole, and windows.

use std::collections::BTreeMap;

use gpu_timeline::{Breakdown, Interval, busy_time};
use iterations::{LevelKind, Part, Window};
use operator_sheets::Iterated;
use sheets::{Layout, Scope};
use trace_ingest::ReadOptions;
use trace_ingest::xplane::{Profile, read_profile};
use xla_perf::{Conventions, JaxAnalysis, JaxOptions, jax_sheets};

const GPUS: &str = "mi300-conv3d-jax06";
const TPUS: &str = "tpu-v6e-inference";

fn profile(case: &str) -> Option<Profile> {
    let path = super::folder(case)?.join("trace.xplane.pb");
    Some(read_profile(&path, &ReadOptions::default()).unwrap())
}

fn analysis(case: &str) -> Option<JaxAnalysis> {
    Some(JaxAnalysis::new(profile(case)?, JaxOptions::default()))
}

fn window(case: &str, window: &Window) -> JaxAnalysis {
    JaxAnalysis::from_window(profile(case).unwrap(), JaxOptions::default(), window).unwrap().0
}

/// All GPUs together.
fn timeline_of_gpus(analysis: &JaxAnalysis) -> Breakdown {
    let events = analysis.device_events().iter().map(|event| event.device_event(analysis.trace()));
    Breakdown::from_events(events, None).unwrap()
}

/// Busy time of all cores together, and the time from their first operation to their last.
fn timeline_of_tpus(analysis: &JaxAnalysis) -> (i64, i64) {
    let cores = &analysis.tpu().unwrap().profile.cores;
    let spans = || {
        let executions = cores.iter().flat_map(|core| &core.executions);
        executions.map(|execution| execution.recorded).map(|span| (span.start.0, span.end().0))
    };
    let busy = busy_time(spans().map(|(start, end)| Interval::between(start, end)), &mut Vec::new());
    (busy, spans().map(|span| span.1).max().unwrap() - spans().map(|span| span.0).min().unwrap())
}

/// Sums over all parts of a figure.
fn sum(analysis: &JaxAnalysis, figure: impl Fn(&Breakdown) -> i64) -> i64 {
    let (_, measured) = analysis.iterations().unwrap().steps().unwrap();
    let outside = measured.outside.iter().map(|(_, figures)| figures);
    measured.iterations.iter().chain(outside).map(|figures| figure(&figures.breakdown)).sum()
}

#[test]
fn calls_of_the_compiled_function_are_iterations_though_the_kernels_of_half_are_lost() {
    let Some(analysis) = analysis(GPUS) else { return };
    let (level, measured) = analysis.iterations().unwrap().steps().unwrap();
    assert_eq!(
        (level.kind, level.name.as_str(), level.iterations.len()),
        (LevelKind::ProgramRun, "jit_forward_3d_conv", 10)
    );
    assert_eq!(level.confidence, 0.9);
    // The recorder lost the kernels of the last five calls, and the copies of the last.
    let kernels: Vec<usize> = measured.iterations.iter().map(|figures| figures.kernels).collect();
    assert_eq!(kernels, [5, 5, 5, 5, 5, 0, 0, 0, 0, 0]);
    let events: Vec<usize> = measured.iterations.iter().map(|figures| figures.device_events).collect();
    assert_eq!(events.iter().sum::<usize>(), analysis.device_events().len());
    assert!(measured.outside.is_empty());
}

#[test]
fn parts_add_up_to_the_timeline_of_all_gpus() {
    let Some(analysis) = analysis(GPUS) else { return };
    let whole = timeline_of_gpus(&analysis);
    let figures: [fn(&Breakdown) -> i64; 5] = [
        |breakdown| breakdown.total,
        |breakdown| breakdown.busy,
        |breakdown| breakdown.idle,
        |breakdown| breakdown.computation,
        |breakdown| breakdown.exposed_memcpy,
    ];
    for figure in figures {
        assert_eq!(sum(&analysis, figure), figure(&whole));
    }
}

#[test]
fn parts_add_up_to_the_time_of_all_tensor_cores() {
    let Some(analysis) = analysis(TPUS) else { return };
    let (busy, total) = timeline_of_tpus(&analysis);
    assert_eq!(sum(&analysis, |breakdown| breakdown.busy), busy);
    assert_eq!(sum(&analysis, |breakdown| breakdown.total), total);
    assert_eq!(sum(&analysis, |breakdown| breakdown.idle), total - busy);
}

#[test]
fn parts_of_each_device_add_up_to_its_timeline() {
    let Some(gpus) = analysis(GPUS) else { return };
    let sum = |analysis: &JaxAnalysis, device: usize, figure: fn(&Breakdown) -> i64| -> i64 {
        let parts = analysis.device_parts().iter().filter(|of| of.device == device);
        parts.map(|of| figure(&of.breakdown)).sum()
    };
    let figures: [fn(&Breakdown) -> i64; 3] =
        [|breakdown| breakdown.total, |breakdown| breakdown.busy, |breakdown| breakdown.computation];
    for gpu in gpus.gpus() {
        for figure in figures {
            assert_eq!(sum(&gpus, gpu.plane, figure), figure(&gpu.breakdown));
        }
    }
    let tpus = analysis(TPUS).unwrap();
    let cores = &tpus.tpu().unwrap().profile.cores;
    for (core, device) in cores.iter().zip([0, 1, 2, 3]) {
        assert_eq!(tpus.device_name(device), format!("/device:TPU:{}", core.ordinal));
        let spans = core.executions.iter().map(|execution| execution.recorded);
        let intervals = spans.map(|span| Interval::between(span.start.0, span.end().0));
        let busy = busy_time(intervals, &mut Vec::new());
        assert_eq!(sum(&tpus, device, |breakdown| breakdown.busy), busy);
    }
    // Each core is busy nearly all of a run, which lasts 784 ms on average.
    let parts = tpus.device_parts().iter().filter(|of| of.part == Part::Iteration(50));
    let busy: Vec<i64> = parts.map(|of| of.breakdown.busy / 1_000_000_000).collect();
    assert!(busy.len() == 4 && busy.iter().all(|ms| (600..1000).contains(ms)), "{busy:?}");
}

#[test]
fn runs_of_all_cores_are_one_iteration_though_they_run_at_other_times() {
    let Some(analysis) = analysis(TPUS) else { return };
    let (level, measured) = analysis.iterations().unwrap().steps().unwrap();
    assert_eq!((level.name.as_str(), level.iterations.len()), ("jit_f", 100));
    // 15 operations on each of four cores, which begin a run at times that differ by up to a sixth of it.
    assert!(measured.iterations.iter().all(|figures| (figures.kernels, figures.launches) == (60, 4)));
    let outside: Vec<Part> = measured.outside.iter().map(|(part, _)| *part).collect();
    assert_eq!(outside, [Part::Before]);
}

#[test]
fn a_report_of_the_core_has_no_iterations() {
    let Some(profile) = profile(GPUS) else { return };
    let conventions = Conventions { scope: Scope::Core, ..Conventions::default() };
    let options = JaxOptions { conventions, ..JaxOptions::default() };
    assert!(JaxAnalysis::new(profile, options).iterations().is_none());
}

#[test]
fn windows_of_single_iterations_hold_all_work_of_gpus_once() {
    let Some(whole) = analysis(GPUS) else { return };
    let counts = |analysis: &JaxAnalysis| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for event in analysis.device_events() {
            let operator = &analysis.operators()[event.operator];
            // What the compiled program says of the instruction is still known.
            assert_eq!(operator.record.is_some(), operator.program.is_some());
            *counts.entry(operator.name.clone()).or_default() += 1;
        }
        counts
    };
    let mut of_windows: BTreeMap<String, usize> = BTreeMap::new();
    for index in 0..9 {
        let part = window(GPUS, &Window::Iterations(index..index + 1));
        for (name, count) in counts(&part) {
            *of_windows.entry(name).or_default() += count;
        }
        assert!(part.executions().len() == usize::from(index < 5));
        assert!(part.device_events().iter().all(|event| event.launch.is_some()));
    }
    assert_eq!(of_windows, counts(&whole));
}

#[test]
fn windows_of_tpus_hold_the_runs_of_all_cores() {
    let Some(whole) = profile(TPUS) else { return };
    let part = window(TPUS, &Window::Iterations(10..13));
    let tpu = &part.tpu().unwrap().profile;
    for core in &tpu.cores {
        assert_eq!((core.runs.len(), core.executions.len()), (3, 45));
        // Cores 1 to 3 have run 4 programs before, and numbers count from 1.
        let first = core.runs[0].run_id.unwrap();
        assert_eq!(first, if core.ordinal == 0 { 16 } else { 14 });
    }
    // What the host sampled over the whole recording says nothing of the window.
    assert_eq!((tpu.mxu_utilization, tpu.hbm_utilization), (None, None));
    assert!(part.trace().events().len() < whole.trace.events().len() / 10);
    // Runs of the program overlap on the cores, and each takes as long as in the whole recording.
    let steps = |analysis: &JaxAnalysis| -> Vec<[i64; 2]> {
        let (level, measured) = analysis.iterations().unwrap().steps().unwrap();
        let steps = level.iterations.iter().zip(&measured.iterations);
        steps.map(|(step, figures)| [figures.duration(step), figures.breakdown.busy]).collect()
    };
    assert_eq!(steps(&part), steps(&analysis(TPUS).unwrap())[10..13]);
}

#[test]
fn steady_iterations_leave_out_those_that_are_odd() {
    if analysis(GPUS).is_none() {
        return;
    }
    for (case, kept) in [(GPUS, 5), (TPUS, 99)] {
        let analysis = window(case, &Window::Steady);
        assert_eq!(analysis.iterations_of_window(), Some(kept), "{case}");
    }
}

#[test]
fn a_window_of_several_iterations_has_means_of_one() {
    let Some(_) = analysis(GPUS) else { return };
    let has_means = |analysis: &JaxAnalysis, name: &str| {
        let sheets = jax_sheets();
        let sheet = sheets.iter().find(|sheet| sheet.name == name).unwrap();
        let table = sheet.table_in(analysis, Layout::Roles).unwrap().unwrap();
        table.column("per iteration (ms)").is_some()
    };
    let several = window(GPUS, &Window::Iterations(1..4));
    let single = window(GPUS, &Window::Iterations(1..2));
    for name in ["gpu_timeline", "gpu_events_averages", "ops_summary", "ops_summary_by_category"] {
        assert!(has_means(&several, name) && !has_means(&single, name), "{name}");
    }
}
