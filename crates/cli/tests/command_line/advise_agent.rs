//! `tracelens advise --compat agent`: which files it writes, and what it refuses.

use serde_json::Value;

use crate::program::Workplace;
use crate::trace::{kernel, launch, operator_with, trace};

const MI300X: [&str; 2] = ["--gpu_arch_platform", "MI300X"];

/// A matrix product of BF16 at 3 % of the roofline, with a third of the time idle.
fn place() -> Workplace {
    let arguments = r#""Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Strides": [[1024, 1], [1024, 1]], "Concrete Inputs": ["", ""]"#;
    let events = [
        operator_with("aten::mm", 5.0, 90.0, arguments),
        launch(10, 20.0),
        kernel("Cijk_Ailk_Bljk", 10, 100.0, 100.0),
        operator_with("aten::mm", 205.0, 90.0, arguments),
        launch(11, 220.0),
        kernel("Cijk_Ailk_Bljk", 11, 300.0, 100.0),
    ];
    Workplace::with(trace(&events))
}

fn json(place: &Workplace, name: &str) -> Value {
    serde_json::from_slice(&place.bytes(name)).unwrap()
}

#[test]
fn a_directory_gets_all_files_of_the_agent() {
    let place = place();
    let command = ["advise", "trace.json", "--compat", "agent", "-o", "agent"];
    place.run(&[&command[..], &MI300X].concat()).exits_with(0);
    let found = json(&place, "agent/priority_data.json");
    assert_eq!(found["baseline_ms"], 0.3);
    assert_eq!(found["findings"][0]["category"], "gemm");
    assert_eq!(found["findings"][0]["library"], "Tensile");
    assert_eq!(found["priorities"][0]["impact_score"], found["recommendations"][0]["impact_score"]);
    let manifest = json(&place, "agent/category_data/category_manifest.json");
    assert_eq!(manifest["gpu_utilization"]["idle_time_percent"].as_f64().map(f64::round), Some(33.0));
    assert_eq!(json(&place, "agent/category_data/cpu_idle_metrics.json")["idle_flagged"], true);
    let metrics = json(&place, "agent/category_data/gemm_metrics.json");
    assert_eq!(metrics["operations"][0]["args"], "(1024,1024) c10::BFloat16<br>(1024,1024) c10::BFloat16");
}

#[test]
fn a_file_or_the_terminal_gets_the_priorities_alone() {
    let place = place();
    let command = [&["advise", "trace.json", "--compat", "agent"][..], &MI300X].concat();
    let printed = place.run(&command).exits_with(0).out;
    place.run(&[&command[..], &["-o", "mine.json"]].concat()).exits_with(0);
    assert_eq!(printed.as_bytes(), place.bytes("mine.json"));
    assert!(printed.contains("\"priorities\""), "{printed}");
}

#[test]
fn what_the_agent_does_not_read_is_refused() {
    let place = place();
    let rocprof =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/rocprof/run_results.json.gz");
    let refused: [(&[&str], &str); 4] = [
        (&[rocprof], "is a rocprofv3 profile; the files of TraceLens's agent are made from traces"),
        (&["trace.json"], "names no device whose peaks are known"),
        (
            &["trace.json", "trace.json"],
            "--compat agent writes the files of one trace, and 2 are given; name one",
        ),
        (&["trace.json", "--baseline", "trace.json"], "cannot be used with '--compat <PROGRAM>'"),
    ];
    for (arguments, text) in refused {
        let outcome = place.run(&[&["advise"], arguments, &["--compat", "agent"]].concat()).exits_with(2);
        assert!(outcome.err.contains(text), "{outcome:#?}");
    }
}
