//! Parts of a profile: nothing is lost, and nothing is in two.

use std::path::Path;

use iterations::{Part, Window, WindowError};
use operator_sheets::Iterated;
use rocprof_perf::{RocprofAnalysis, RocprofOptions};
use trace_ingest::ReadOptions;
use trace_ingest::rocprof::{Profile, read_profile};

fn generated() -> Profile {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated/rocprof/run_results.json.gz");
    read_profile(&file, &ReadOptions::default()).unwrap()
}

fn window(window: Window) -> Result<RocprofAnalysis, WindowError> {
    RocprofAnalysis::from_window(generated(), RocprofOptions::default(), &window)
        .map(|(analysis, _)| analysis)
}

/// Dispatches, copies, and values of counters.
fn records(profile: &Profile) -> [usize; 3] {
    [profile.dispatches.len(), profile.copies.len(), profile.counter_values.len()]
}

#[test]
fn windows_of_single_iterations_have_all_that_iterations_launched_each_once() {
    let whole = RocprofAnalysis::new(generated(), RocprofOptions::default());
    let (steps, measured) = whole.iterations().unwrap().steps().unwrap();
    let mut sum = [0; 3];
    for (index, figures) in measured.iterations.iter().enumerate() {
        let analysis = window(Window::Iterations(index..index + 1)).unwrap();
        let profile = analysis.profile();
        assert_eq!(
            profile.dispatches.len() + profile.copies.len(),
            figures.device_events,
            "iteration {index}"
        );
        assert_eq!(analysis.iterations_of_window(), None, "a mean of one is no mean");
        let (own, of_window) = analysis.iterations().unwrap().steps().unwrap();
        assert_eq!((own.first, own.iterations.len()), (index, 1));
        assert_eq!(own.iterations[0], steps.iterations[index], "times and thread are those of the recording");
        assert_eq!(of_window.iterations[0].kernels, figures.kernels);
        for (sum, of_window) in sum.iter_mut().zip(records(profile)) {
            *sum += of_window;
        }
        // Counters follow their dispatches to new places.
        for value in &profile.counter_values {
            let dispatch = &profile.dispatches[value.dispatch as usize];
            let same = |other: &&trace_ingest::rocprof::CounterValue| {
                whole.profile().dispatches[other.dispatch as usize] == *dispatch
                    && (other.counter, other.value) == (value.counter, value.value)
            };
            assert!(whole.profile().counter_values.iter().any(|other| same(&other)));
        }
    }
    let outside: usize = measured.outside.iter().map(|(_, figures)| figures.device_events).sum();
    let [dispatches, copies, values] = records(whole.profile());
    assert_eq!(sum[0] + sum[1] + outside, dispatches + copies);
    assert!(measured.outside.iter().all(|(part, _)| !matches!(part, Part::Iteration(_))));
    assert!(sum[2] > 0 && sum[2] <= values);
}

#[test]
fn a_window_of_several_has_means_and_no_times_of_processes() {
    let analysis = window(Window::Iterations(2..5)).unwrap();
    assert_eq!(analysis.iterations_of_window(), Some(3));
    assert!(
        analysis.profile().processes.iter().all(|process| process.init.is_none() && process.fini.is_none())
    );
    // A stretch of time that cuts an iteration has no mean of iterations.
    let cut = window(Window::Microseconds(2_000.0..5_000.0)).unwrap();
    assert_eq!(cut.iterations_of_window(), None);
    assert!(window(Window::Iterations(20..21)).is_err());
}
