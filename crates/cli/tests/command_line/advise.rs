//! `tracelens advise`, and what reports say of it.

use serde_json::Value;

use crate::program::{Outcome, Workplace};
use crate::trace::{kernel, launch, operator, trace};

/// Kernels of 20 µs, each launched long after the one before is over.
fn starved() -> String {
    let events = (0..50).flat_map(|at: u32| {
        let start = 100.0 + 200.0 * f64::from(at);
        [operator("aten::mm", start, 30.0), launch(at, start + 5.0), kernel("gemm", at, start + 15.0, 20.0)]
    });
    trace(&events.collect::<Vec<_>>())
}

/// The same program with kernels of this length.
fn fed(us: f64) -> String {
    let events = (0..50).flat_map(|at: u32| {
        let start = 100.0 + 20.0 * f64::from(at);
        let on_device = 2000.0 + (us + 1.0) * f64::from(at);
        [operator("aten::mm", start, 15.0), launch(at, start + 5.0), kernel("gemm", at, on_device, us)]
    });
    trace(&events.collect::<Vec<_>>())
}

fn findings(outcome: &Outcome) -> Vec<Value> {
    let document: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!(document["schema"], "tracelens.answer/1.0");
    document["result"]["files"][0]["findings"].as_array().unwrap().clone()
}

#[test]
fn a_starved_device_is_the_first_finding() {
    let place = Workplace::with(starved());
    let outcome = place.run("advise trace.json --json").exits_with(0);
    let found = findings(&outcome);
    assert_eq!(found[0]["rule"], "IDLE-LAUNCH");
    assert_eq!(found[0]["rank"], 1);
    // Of 49 waits of 180 µs all but the microsecond between any two kernels, of which seven eighths.
    let gain = found[0]["gain"]["mid_us"].as_f64().unwrap();
    assert!((gain - 0.875 * 49.0 * 179.0).abs() < 1.0, "{gain}");
    let text = place.run("advise trace.json").exits_with(0);
    assert!(text.out.contains("IDLE-LAUNCH") && text.out.contains("capture the step"), "{}", text.out);
}

#[test]
fn reports_name_the_first_findings() {
    let place = Workplace::with(starved());
    let outcome = place.run("report trace.json").exits_with(0).with_summary(&["fix first ", "IDLE-LAUNCH"]);
    assert!(outcome.err.is_empty(), "{}", outcome.err);
    let sheets = place.sheets("");
    assert_eq!(sheets.column("advice", "rule")[0], "IDLE-LAUNCH");
    // What is to be like TraceLens's has none.
    assert!(!place.sheets("--parity tracelens").has("advice"));
}

#[test]
fn findings_can_fail_a_run_and_be_chosen() {
    let place = Workplace::with(starved());
    place.run("advise trace.json --fail-on IDLE-*").exits_with(3).with_error(&["--fail-on"]);
    place.run("advise trace.json --fail-on COMM-*").exits_with(0);
    let outcome = place.run("advise trace.json --rule COMM-* --json").exits_with(0);
    assert!(findings(&outcome).is_empty());
    place.run("advise trace.json --rule IDEL-*").exits_with(2);
    place.run("advise trace.json --min_share 101").exits_with(2);
}

#[test]
fn findings_go_to_files() {
    let place = Workplace::with(starved());
    place
        .run("advise trace.json -o advice.json --markdown advice.md")
        .exits_with(0)
        .with_summary(&["wrote advice.md", "wrote advice.json"]);
    let json: Value = serde_json::from_slice(&place.bytes("advice.json")).unwrap();
    assert_eq!(json["result"]["files"][0]["name"], "trace.json");
    let markdown = String::from_utf8(place.bytes("advice.md")).unwrap();
    assert!(markdown.starts_with("## What to change first: trace.json"), "{markdown}");
    place.run("advise trace.json -o trace.json").exits_with(2).with_error(&["is the trace itself"]);
}

#[test]
fn what_is_slower_than_the_baseline_is_a_finding() {
    let place = Workplace::with(fed(40.0));
    place.put("old.json", fed(30.0));
    let outcome = place.run("advise trace.json --baseline old.json --json").exits_with(0);
    let found = findings(&outcome);
    let slower = found.iter().find(|finding| finding["rule"] == "REGRESSION").expect("a finding");
    assert!((slower["gain"]["mid_us"].as_f64().unwrap() - 500.0).abs() < 1.0, "{slower}");
    let same = place.run("advise old.json --baseline old.json --json").exits_with(0);
    assert!(findings(&same).iter().all(|finding| finding["rule"] != "REGRESSION"));
}

#[test]
fn what_is_no_recording_of_device_work_is_refused() {
    let place = Workplace::with(trace(&[operator("aten::mm", 100.0, 10.0)]));
    place.run("advise trace.json").exits_with(2).with_error(&["trace.json", "no GPU events"]);
    place.run("advise absent.json").exits_with(2).with_error(&["absent.json"]);
    place.put("text.json", "not a trace");
    place.run("advise text.json").exits_with(2).with_error(&["text.json"]);
}

#[test]
fn a_cut_recording_gives_its_findings_and_says_that_it_is_cut() {
    let whole = starved();
    let place = Workplace::with(&whole[..whole.len() * 3 / 4]);
    let outcome = place.run("advise trace.json --json").exits_with(0);
    assert!(outcome.err.contains("warning"), "{}", outcome.err);
    let found = findings(&outcome);
    assert!(found.iter().any(|finding| finding["rule"] == "IDLE-LAUNCH"));
    assert!(
        found
            .iter()
            .any(|finding| finding["rule"] == "MISSING" && finding["subject"] == "the end of the file")
    );
}

#[test]
fn rules_of_tenstorrent_operations_can_be_chosen_too() {
    let operations = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/metal_ops.csv");
    let place = Workplace::with("");
    let outcome = place.run(&["advise", operations, "--rule", "metal-*", "--json"]).exits_with(0);
    let found = findings(&outcome);
    assert!(!found.is_empty());
    assert!(found.iter().all(|finding| finding["rule"].as_str().unwrap().starts_with("METAL-")));
    place.run(&["advise", operations, "--fail-on", "METAL-*"]).exits_with(3);
}
