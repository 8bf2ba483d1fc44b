//! `--timings`: where the time of a run went.

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use crate::program::{Workplace, generated};
use crate::xplane::gpu;

const STAGES: [&str; 5] = ["read", "analysis", "sheets", "write", "terminal"];

fn testdata(name: &str) -> String {
    let folder = generated().parent().unwrap_or(Path::new(""));
    folder.join(name).to_string_lossy().into_owned()
}

/// Runs with `--timings=json` and gives what it said on standard error, which must be nothing else.
fn timings(place: &Workplace, arguments: &[&str]) -> Value {
    let started = Instant::now();
    let outcome = place.run(&[arguments, &["--timings=json"]].concat()).exits_with(0);
    let longest = started.elapsed().as_secs_f64();
    let line = outcome.err.lines().last().unwrap();
    let said: Value = serde_json::from_str(line).unwrap();
    let seconds = |value: &Value| value.as_f64().filter(|seconds| *seconds >= 0.0).unwrap();
    let stages: f64 = said["stages"].as_array().unwrap().iter().map(|stage| seconds(&stage["seconds"])).sum();
    let whole = seconds(&said["whole_seconds"]);
    assert!((stages + seconds(&said["unaccounted_seconds"]) - whole).abs() < 1e-6, "{said}");
    assert!(stages > 0.0 && whole < longest, "{said}");
    said
}

fn stages(said: &Value) -> Vec<&str> {
    said["stages"].as_array().unwrap().iter().map(|stage| stage["stage"].as_str().unwrap()).collect()
}

#[test]
fn every_report_lists_its_stages() {
    let place = Workplace::with_generated();
    place.put("host.xplane.pb", gpu(0, &[("gemm_fusion_dot.1", 60)]));
    let [serving, rocprof, operations] =
        ["cuda_serving.json.gz", "rocprof/run_results.json.gz", "metal_ops.csv"].map(testdata);
    for arguments in [
        ["report", "trace.json.gz"],
        ["pytorch", "trace.json.gz"],
        ["inference", &serving],
        ["jax", "host.xplane.pb"],
        ["rocprof", &rocprof],
        ["metal", &operations],
    ] {
        let said = timings(&place, &[&arguments[..], &["--output_csvs_dir", "sheets", "--quiet"]].concat());
        assert_eq!(stages(&said), STAGES, "{arguments:?}");
        assert!(said["events"].as_u64().is_some_and(|events| events > 0), "{arguments:?}: {said}");
        assert!(said["events_per_second"].as_f64().is_some_and(|rate| rate > 0.0), "{said}");
    }
}

#[test]
fn memory_grows_from_stage_to_stage() {
    let place = Workplace::with_generated();
    let said = timings(&place, &["report", "trace.json.gz", "--quiet"]);
    assert_eq!(said["events"], 2208);
    let stages = said["stages"].as_array().unwrap();
    let peaks: Vec<Option<u64>> =
        stages.iter().chain([&said]).map(|stage| stage["peak_memory_bytes"].as_u64()).collect();
    assert!(peaks.is_sorted(), "{peaks:?}");
    assert!(peaks.iter().all(|peak| peak.is_some() == cfg!(target_os = "linux")), "{peaks:?}");
}

#[test]
fn the_table_follows_the_report() {
    let place = Workplace::with_generated();
    let plain = place.run("report trace.json.gz --json").exits_with(0);
    let timed = place.run("report --timings trace.json.gz --json").exits_with(0);
    assert_eq!(plain.out, timed.out);
    assert!(!plain.err.contains("whole"), "{plain:?}");
    for line in ["read ", "tree and analysis ", "sheets ", "write ", "terminal ", "unaccounted ", "whole "] {
        assert_eq!(timed.err.lines().filter(|said| said.starts_with(line)).count(), 1, "{line}: {timed:?}");
    }
    assert!(timed.err.ends_with("2,208 events\n"), "{timed:?}");
}

#[test]
fn a_run_that_fails_says_how_far_it_came() {
    let place = Workplace::with("{");
    let outcome = place.run("report trace.json --timings=json").exits_with(2);
    let said: Value =
        serde_json::from_str(outcome.err.lines().find(|line| line.starts_with('{')).unwrap()).unwrap();
    assert_eq!(stages(&said)[0], "read");
    // Nothing was done yet.
    let outcome = place.run("report trace.json --output_xlsx_path no/dir/x.xlsx --timings");
    assert!(outcome.code != 0 && !outcome.err.contains("whole"), "{outcome:?}");
    place.run("report trace.json --timings=xml").exits_with(2);
    place.run("tree trace.json --timings").exits_with(2);
}
