//! `tracelens split`.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::program::{Outcome, Workplace, run_as};
use crate::trace::{kernel, launch, one_operator, trace};

/// A trace of steps with these names, 100 µs apart, each with a kernel of 50 µs.
fn steps(names: &[String]) -> String {
    let mut events = Vec::new();
    for (name, number) in names.iter().zip(1..) {
        let start = 100.0 * f64::from(number);
        events.push(format!(
            r#"{{"ph": "X", "cat": "user_annotation", "name": "{name}", "pid": 1, "tid": 1, "ts": {start}, "dur": 90}}"#
        ));
        events.push(launch(number, start + 1.0));
        events.push(kernel("gemm", number, start + 1000.0, 50.0));
    }
    trace(&events)
}

fn prefill(requests: u32) -> String {
    format!("execute_context_{requests}({})_generation_0(0)", 100 * requests)
}

fn decode(requests: u32) -> String {
    format!("execute_context_0(0)_generation_{requests}({requests})")
}

/// A prefill of 8 requests and nine decode steps of them.
pub(crate) fn served() -> Workplace {
    Workplace::with(steps(&[vec![prefill(8)], vec![decode(8); 9]].concat()))
}

fn json(place: &Workplace, file: &str) -> Value {
    let bytes = place.bytes(file);
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        (&bytes[..]).read_to_string(&mut text).unwrap();
    }
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn is_quiet(outcome: &Outcome) {
    assert_eq!(outcome.err, "", "{outcome:#?}");
}

#[test]
fn a_trace_per_step() {
    let place = served();
    let outcome = place.run("split trace.json -o out/steps --store-single-iteration").exits_with(0);
    is_quiet(&outcome);
    outcome.with_summary(&[
        "trace.json: 10 steps (1 prefill, 9 decode), annotated by the engine",
        "trace_annotation_iteration_9_execute_context_0_0_generation_8_8.json.gz",
        "1 step, 3 events, 1 on GPUs: busy 0.050 of 0.050 ms",
        "wrote 10 traces, execution_details.json and execution_details.csv to out/steps",
    ]);
    assert_eq!(place.files("out/steps").len(), 12);
    let details = json(&place, "out/steps/execution_details.json");
    assert_eq!(details.as_array().unwrap().len(), 10);
    let expected = serde_json::json!({
        "idx": 0,
        "output_path": "out/steps/trace_annotation_iteration_0_execute_context_8_800_generation_0_0.json.gz",
        "event_count": 3,
        "num_gpu_events": 1,
        "gpu_duration": 50.0,
        "gpu_busy_duration": 50.0,
        "steps": [{"batch_size": 800, "num_requests": 8, "context_requests": 8, "context_sum": 800,
            "generation_requests": 0, "generation_sum": 0}],
        "phase": {"num_prefill": 1, "num_prefilldecode": 0, "num_decode": 0, "avg_bs": 800, "avg_conc": 8},
    });
    assert_eq!(details[0], expected);
    for row in details.as_array().unwrap() {
        let part = json(&place, row["output_path"].as_str().unwrap());
        assert_eq!(part["schemaVersion"], 1);
        assert_eq!(part["traceEvents"].as_array().unwrap().len(), 3);
        place.run(&["report", row["output_path"].as_str().unwrap(), "--json"]).exits_with(0);
    }
    let csv = String::from_utf8(place.bytes("out/steps/execution_details.csv")).unwrap();
    assert!(csv.starts_with("idx,output_path,event_count,num_gpu_events,gpu_duration,"), "{csv}");
    assert!(csv.lines().nth(1).unwrap().ends_with(".json.gz,3,1,50.00,50.00,1,0,0,800,8,1"), "{csv}");
}

#[test]
fn chosen_steps_only() {
    let place = served();
    let names = |iterations: &str| {
        let outcome = place.run(&[
            "split",
            "trace.json",
            "-o",
            iterations,
            "-i",
            iterations,
            "--store-single-iteration",
        ]);
        let warnings = outcome.exits_with(0).err.lines().count();
        let files = place.files(iterations);
        let number = |file: &String| file.split('_').nth(3).and_then(|number| number.parse().ok());
        (files.iter().filter_map(number).collect::<Vec<u32>>(), warnings)
    };
    assert_eq!(names("3"), (vec![3], 0));
    assert_eq!(names("2:4"), (vec![2, 3], 0));
    assert_eq!(names("8:12"), (vec![8, 9], 1));
    place
        .run("split trace.json -o none -i 10 --store-single-iteration")
        .exits_with(2)
        .with_error(&["trace.json: has no step 10; choose one from 0 to 9"]);
    for wrong in ["5:5", "x", "3:1"] {
        let outcome = place.run(&["split", "trace.json", "-o", "none", "-i", wrong]).exits_with(2);
        assert!(outcome.err.contains(wrong), "{outcome:#?}");
    }
}

#[test]
fn windows_of_the_steady_state() {
    let place = served();
    let run = |directory: &str, more: &[&str]| {
        let arguments = ["split", "trace.json", "-o", directory, "--find-steady-state", "--num-steps=4"];
        let outcome = place.run(&[&arguments[..], more].concat()).exits_with(0);
        (place.files(directory), outcome)
    };
    let (files, outcome) = run("out", &[]);
    let mixed = "mixed_steady_state_prefill_1_prefilldecode_0_decode_3_bs206_conc8_trace.json.gz";
    let decode = "decode_only_steady_state_prefill_0_prefilldecode_0_decode_4_bs8_conc8_trace.json.gz";
    let prefill = "prefilldecode_steady_state_prefill_1_prefilldecode_0_decode_0_bs800_conc8_trace.json.gz";
    assert_eq!(files, [decode, "execution_details.csv", "execution_details.json", mixed, prefill]);
    is_quiet(&outcome);
    outcome.with_summary(&["steady state: steps 0 to 9"]);
    let (_, outcome) = run("parity", &["--parity"]);
    outcome.with_summary(&["steady state: steps 0 to 8"]);

    // One prefill in every 8 steps is wanted, so the window has that many.
    let (files, _) = run("loaded", &["--CONC=4", "--OSL=64", "--R=0"]);
    assert!(
        files.iter().any(|file| file.starts_with("mixed_steady_state_prefill_1_prefilldecode_0_decode_7_")),
        "{files:?}"
    );
    let (files, outcome) = run("decode", &["-i", "1:10"]);
    assert_eq!(files.len(), 4);
    assert!(outcome.err.contains("no step qualifies for prefilldecode_steady_state"), "{outcome:#?}");
    let alone = ["split", "trace.json", "-o", "out", "--find-steady-state", "--CONC=4"];
    let outcome = place.run(&alone).exits_with(2);
    assert!(outcome.err.contains("--OSL"), "{outcome:#?}");
}

#[test]
fn a_trace_per_phase() {
    let place = Workplace::with(steps(
        &[vec![prefill(8)], vec![decode(8); 3], vec![prefill(8)], vec![decode(8); 3]].concat(),
    ));
    let outcome = place.run("split trace.json -o out --divide-phases --find-steady-state").exits_with(0);
    assert!(outcome.err.contains("--find-steady-state has no effect"), "{outcome:#?}");
    assert_eq!(
        place.files("out"),
        ["decode_only", "execution_details.csv", "execution_details.json", "prefilldecodemix"]
    );
    assert_eq!(
        place.files("out/decode_only"),
        [0, 1].map(|chunk| format!(
            "decode_only_chunk{chunk}_steps3_bs8_conc8_prefill_0_prefilldecode_0_decode_3_bs8_conc8_trace.json.gz"
        ))
    );
    assert_eq!(place.files("out/prefilldecodemix").len(), 2);
}

#[test]
fn windows_of_the_mix_say_how_far_they_are_from_it() {
    // Prompts, and batches that come and go.
    let batches = [prefill(4), decode(4), decode(4), decode(1), decode(1), prefill(4), decode(4), decode(1)];
    let place = Workplace::with(steps(&batches));
    let windows = ["split", "trace.json", "-o", "out", "--mix-windows=2", "--num-steps=2"];
    let outcome = place.run(&windows).exits_with(0);
    is_quiet(&outcome);
    outcome.with_summary(&[
        "mix_window_0_steps_2_to_3_prefill_0_prefilldecode_0_decode_2_bs2_conc2_trace.json.gz",
        "differs from the overall mix in 25.0% of its steps",
        "differs from the overall mix in 37.5% of its steps; together with the traces above, in 12.5%",
    ]);
    let details = json(&place, "out/execution_details.json");
    let distances = |of: &str| {
        details.as_array().unwrap().iter().map(|row| row[of].as_f64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(distances("mix_distance"), [0.25, 0.375]);
    assert_eq!(distances("mix_distance_together"), [0.25, 0.125]);
    let table = String::from_utf8(place.bytes("out/execution_details.csv")).unwrap();
    assert!(
        table.lines().next().unwrap().ends_with("num_steps,mix_distance,mix_distance_together"),
        "{table}"
    );

    let other = Workplace::with(steps(&["ProfilerStep#1".to_owned(), "ProfilerStep#2".to_owned()]));
    let outcome = other.run(&windows).exits_with(2);
    outcome.with_error(&["tokens per step are unknown"]);
}

#[test]
fn what_cannot_be_split_is_told() {
    let place = served();
    place
        .run("split trace.json -o out")
        .exits_with(2)
        .with_summary(&["10 steps (1 prefill, 9 decode)"])
        .with_error(&[
            "nothing written",
            "--store-single-iteration, --representatives, --steady, --find-steady-state, --mix-windows or --divide-phases",
        ]);
    place
        .run("split trace.json --divide-phases")
        .exits_with(2)
        .with_error(&["nothing written", "choose an output directory with -o"]);
    place
        .run("split trace.json -o trace.json --divide-phases")
        .exits_with(1)
        .with_error(&["cannot write trace.json", "a file with this name exists"]);
    place
        .run("split trace.json -o trace.json/below --divide-phases")
        .exits_with(1)
        .with_error(&["cannot write trace.json/below"]);
    place.run("split no.json -o out --divide-phases").exits_with(2).with_error(&["no.json"]);
    place.put("operator.json", trace(&one_operator()));
    place.run("split operator.json -o out --divide-phases").exits_with(2).with_error(&[
        "operator.json: has no steps",
        "execute_",
        "step[",
        "with_stack=True",
    ]);
    place.put("diffusion.json", steps(&vec!["execute_diffusion_1_8x8".to_string(); 3]));
    place
        .run("split diffusion.json -o out --divide-phases")
        .exits_with(2)
        .with_error(&["diffusion.json: nothing written", "prefilldecodemix or decode_only"]);
    assert_eq!(place.files("out").len(), 0);
}

#[test]
fn nothing_is_copied_from_the_environment() {
    const SECRET: &str = "hunter2-0451";
    let body = steps(&vec![decode(8); 3]);
    let body = body.trim_start_matches('{').trim_end().trim_end_matches('}');
    let place = Workplace::with(format!(
        r#"{{"metadata": {{"environment": {{"TOKEN": "{SECRET}"}}}}, {body}, "host": "{SECRET}", "{SECRET}": 1}}"#
    ));
    let outcome = place.run("split trace.json -o out --store-single-iteration").exits_with(0);
    assert!(!outcome.out.contains(SECRET) && !outcome.err.contains(SECRET), "{outcome:#?}");
    let files = place.files("out");
    assert_eq!(files.len(), 5);
    for file in files.iter().filter(|file| !file.ends_with(".csv")) {
        assert!(!json(&place, &format!("out/{file}")).to_string().contains(SECRET), "{file}");
    }
}

#[test]
fn gpu_work_of_no_step_is_told() {
    let text = steps(&vec![decode(8); 3]);
    let text = text.trim_end().trim_end_matches(['}', ']']).trim_end().to_string();
    let place = Workplace::with(format!("{text},\n{}\n]}}", kernel("lost", 99, 5.0, 1.0)));
    let outcome = place.run("split trace.json -o out --store-single-iteration").exits_with(0);
    assert!(outcome.err.contains("omitted from all files: 1"), "{outcome:#?}");
    let quiet = place.run("split trace.json -o out --store-single-iteration --quiet").exits_with(0);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
}

#[cfg(unix)]
#[test]
fn under_the_name_of_the_reference_splitter_it_is_that() {
    let place = served();
    let link = place.path("TraceLens_split_inference_trace");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tracelens"), &link).unwrap();
    let run = |arguments: &[&str]| run_as(&link, arguments, &place.path("."));
    run(&["trace.json", "-o", "out", "--store-single-iteration"]).exits_with(0);
    assert_eq!(place.files("out").len(), 12);
    let usage = run(&["--help"]).exits_with(0).out;
    assert!(usage.contains("TraceLens_split_inference_trace [OPTIONS] <FILE>"), "{usage}");
}

#[test]
fn without_options_the_steps_are_listed() {
    let place = served();
    let outcome = place.run("split trace.json").exits_with(0);
    is_quiet(&outcome);
    let lines: Vec<Vec<&str>> = outcome.out.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = |index: usize| lines.iter().find(|line| line.first() == Some(&&*index.to_string())).unwrap();
    assert_eq!(row(0)[1..], ["Prefill", "800", "0.000", "0.090", "1", "0.050", &*prefill(8)]);
    assert_eq!(row(9)[1..], ["Decode", "8", "0.900", "0.090", "1", "0.050", &*decode(8)]);
    let one = place.run("split trace.json -i 3").exits_with(0).out;
    assert_eq!(one.matches("execute_").count(), 1, "{one}");
    assert_eq!(place.run("split trace.json --quiet").exits_with(0).out, "");
    assert_eq!(place.files("."), ["trace.json"]);
}

#[test]
fn foreign_files_are_replaced_only_by_force() {
    let place = served();
    let split = "split trace.json -o out --store-single-iteration -i 0:2";
    place.run(split).exits_with(0);
    // What this program wrote is written again without a question.
    place.run(split).exits_with(0);
    for file in ["execution_details.json", "execution_details.csv"] {
        let ours = place.bytes(&format!("out/{file}"));
        place.put(&format!("out/{file}"), "{\"mine\": 1}");
        place.run(split).exits_with(1).with_error(&[file, "was not written by tracelens", "--force"]);
        assert_eq!(place.bytes(&format!("out/{file}")), b"{\"mine\": 1}");
        place.run(&*format!("{split} --force")).exits_with(0);
        assert_eq!(place.bytes(&format!("out/{file}")), ours);
    }
    let details = json(&place, "out/execution_details.json");
    let trace = details[0]["output_path"].as_str().unwrap();
    place.put(trace, "somebody's");
    place.run(split).exits_with(1).with_error(&["was not written by tracelens"]);
    assert_eq!(place.bytes(trace), b"somebody's");
}
