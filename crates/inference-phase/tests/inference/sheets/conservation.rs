//! No device time is lost or counted twice, whatever the method.

use std::path::Path;

use inference_phase::Phase;
use inference_phase::methods::DetectionMethod;
use inference_phase::sheets::{PhaseAnalysis, PhaseMethod, PhaseOptions};
use inference_phase::tracelens::Method;
use tree_perf::Analysis;

use crate::sheets::corpus::{analysis, traces};
use crate::sheets::table::{kernel_time_us, sheet, sum};

fn methods() -> impl Iterator<Item = PhaseMethod> {
    let ours = DetectionMethod::ALL.into_iter().map(PhaseMethod::Ours);
    ours.chain(Method::all().into_iter().map(PhaseMethod::TraceLens))
}

fn check(analysis: &Analysis, case: &str) {
    let trace = analysis.trace();
    let of_launchers: i64 = analysis.launchers().map(|row| row.direct_time).sum();
    let device_events = analysis.device_event_count();
    for method in methods() {
        let phases = PhaseAnalysis::new(analysis, PhaseOptions { method, ..PhaseOptions::default() });
        let of_phases: i64 = phases.phases().iter().map(|phase| phase.kernel_time).sum();
        assert_eq!(of_phases, of_launchers, "{case}, {method}");
        let events: usize = phases.phases().iter().map(|phase| phase.device_events).sum();
        assert_eq!(events, device_events, "{case}, {method}");

        let names = Phase::ALL.map(|phase| format!("ops_summary_{}", phase.as_str().to_lowercase()));
        let in_sheets: f64 =
            names.iter().filter_map(|name| sheet(&phases, name)).map(|table| kernel_time_us(&table)).sum();
        let expected = trace.to_microseconds(of_launchers);
        assert!((in_sheets - expected).abs() <= 1e-9 * expected.max(1.0), "{case}, {method}: {in_sheets}");
        if let Some(summary) = sheet(&phases, "phase_summary").filter(|_| of_launchers > 0) {
            assert!((sum(&summary, "percent_of_kernel_time") - 100.0).abs() < 1e-9, "{case}, {method}");
        }
        if let Some(steps) = phases.steps() {
            let in_steps: usize = phases.step_statistics().iter().map(|step| step.device_events).sum();
            let links = steps.links();
            let linked = links.on_thread + links.by_time + links.by_device_annotation;
            assert_eq!(in_steps as u64, linked, "{case}");
            assert_eq!(linked + links.none, device_events as u64, "{case}");
        }
    }
}

#[test]
fn phases_add_up_in_generated_traces() {
    let generated = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated");
    let mut count = 0;
    for entry in std::fs::read_dir(generated).unwrap() {
        let file = entry.unwrap().path();
        if file.to_string_lossy().ends_with(".json.gz") {
            check(&analysis(&file), &file.to_string_lossy());
            count += 1;
        }
    }
    assert!(count >= 2, "{count}");
}

#[test]
fn phases_add_up_in_the_corpus() {
    for folder in ["pytorch", "inference"].into_iter().filter_map(testdata::corpus) {
        let traces = traces(&folder);
        assert!(!traces.is_empty(), "no traces in {}", folder.display());
        for file in traces {
            check(&analysis(&file), &file.to_string_lossy());
        }
    }
}
