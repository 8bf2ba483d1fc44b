//! One run as PyTorch's profiler writes it to JSON and to Perfetto traces.

use std::io::Read;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::program::Workplace;

fn kept(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/pftrace")).join(file)
}

/// The run in JSON, without what no Perfetto trace has.
fn document() -> Map<String, Value> {
    let mut text = String::new();
    let file = std::fs::File::open(kept("run.json.gz")).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let document: Map<String, Value> = serde_json::from_str(&text).unwrap();
    let is_kept = |event: &&Value| match event["ph"].as_str().unwrap() {
        "X" => event["cat"] != "Trace",
        "M" => ["process_name", "thread_name"].contains(&event["name"].as_str().unwrap()),
        "i" => false,
        _ => true,
    };
    let mut events: Vec<Value> =
        document["traceEvents"].as_array().unwrap().iter().filter(is_kept).cloned().collect();
    for event in &mut events {
        // Of devices the number is known, and no name.
        if event["ph"] == "M" && event["pid"] != 41207 {
            event["name"] = json!("process_labels");
            event["args"] = json!({"labels": format!("GPU {}", event["pid"])});
        }
        if event["cat"] != "cpu_op"
            && let Some(arguments) = event["args"].as_object_mut()
        {
            arguments.remove("External id");
            arguments.remove("memory bandwidth (GB/s)");
        }
    }
    let base = document["baseTimeNanoseconds"].clone();
    Map::from_iter([("baseTimeNanoseconds".to_owned(), base), ("traceEvents".to_owned(), json!(events))])
}

/// The same without what is missing of device work that has events of its own.
fn document_of_stages() -> Map<String, Value> {
    let mut document = document();
    for event in document["traceEvents"].as_array_mut().unwrap() {
        match event["cat"].as_str() {
            Some("gpu_memcpy") => event["name"] = json!("Memcpy"),
            Some("gpu_memset") => event["name"] = json!("Memset"),
            Some("kernel") => drop(event["args"].as_object_mut().unwrap().remove("shared memory")),
            _ => {}
        }
    }
    document
}

/// The same without what says which node of a graph waits for which.
fn without_dependencies(mut document: Map<String, Value>) -> Map<String, Value> {
    let events = document["traceEvents"].as_array_mut().unwrap();
    events.retain(|event| event["id"].as_u64().is_none_or(|id| id < 1 << 40));
    document
}

/// What each sheet is called and holds, for a file of the run.
fn sheets(place: &Workplace, file: &str, out: &str) -> Vec<(String, String)> {
    let device = ["--gpu_arch_platform", "H100"];
    place.run(&[&["report", file, "--output_csvs_dir", out][..], &device].concat()).exits_with(0);
    let read = |name: String| {
        let text = std::fs::read_to_string(place.path(&format!("{out}/{name}"))).unwrap();
        (name, text)
    };
    // The overview names the file, and what is wrong with a recording differs by its form.
    let differs = |name: &String| ["overview.csv", "recording.csv"].contains(&name.as_str());
    place.files(out).into_iter().filter(|name| !differs(name)).map(read).collect()
}

#[test]
fn sheets_are_alike_but_for_what_a_form_lacks() {
    let place = Workplace::with("");
    for (file, document) in [
        ("run.k1.pftrace.gz", without_dependencies(document())),
        ("run.k2.pftrace", without_dependencies(document_of_stages())),
        ("run.k3.pftrace", document_of_stages()),
    ] {
        std::fs::copy(kept(file), place.path(file)).unwrap();
        place.put("run.json", serde_json::to_vec(&document).unwrap());
        let (expected, found) = (sheets(&place, "run.json", "expected"), sheets(&place, file, "found"));
        assert!(expected.iter().any(|(name, _)| name == "graph_replays.csv"));
        for (expected, found) in expected.iter().zip(&found) {
            assert_eq!(expected, found, "{file}");
        }
        assert_eq!(expected.len(), found.len(), "{file}");
    }
}

#[test]
fn nothing_is_read_or_written_where_events_cannot_be_copied() {
    let place = Workplace::with("");
    std::fs::copy(kept("run.k3.pftrace"), place.path("run.pftrace")).unwrap();
    std::fs::copy(kept("../rocprof/run_results.db"), place.path("run.db")).unwrap();
    let before = place.files(".");
    for (arguments, instead) in [
        (&["split", "run.pftrace", "--steady", "-o", "out"][..], "export the recording to a .json file"),
        (&["critical-path", "run.pftrace", "--overlay", "path.json"], "export the recording to a .json file"),
        (
            &["fuse", "run.pftrace", "-o", "job.json", "--tables", "kept"],
            "export the recording to a .json file",
        ),
        (&["split", "run.db", "--steady", "-o", "out"], "use tracelens report with"),
        (&["critical-path", "run.db", "--overlay", "path.json"], "omit --overlay"),
    ] {
        let outcome = place.run(arguments).exits_with(2);
        let outcome = outcome.with_error(&["events can be copied from JSON traces only", instead]);
        assert_eq!(outcome.out, "", "{arguments:?}");
    }
    assert_eq!(place.files("."), before);
}

#[test]
fn a_trace_of_packets_is_examined() {
    let place = Workplace::with("");
    std::fs::copy(kept("run.k3.pftrace"), place.path("run.pftrace")).unwrap();
    let outcome = place.run("doctor run.pftrace --json").exits_with(0);
    let document: Value = serde_json::from_str(&outcome.out).unwrap();
    let file = &document["result"]["files"][0];
    assert_eq!(file["format"], "kineto-pftrace");
    let rules: Vec<&str> = file["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap())
        .collect();
    assert!(rules.contains(&"P1") && !rules.contains(&"R7"), "{rules:?}");
}
