//! `tracelens doctor`.

use std::path::Path;

use serde_json::Value;

use crate::program::{Sheets, Workplace};
use crate::trace::{kernel, launch, operator, trace};

/// An operator with its kernel, and a kernel whose launch has a smaller id than any in the file.
fn place() -> Workplace {
    let events = [
        operator("aten::mm", 5.25, 90.0),
        launch(10, 20.125),
        kernel("gemm", 10, 100.125, 10.0),
        kernel("early", 1, 6.125, 10.0),
    ];
    let place = Workplace::with(trace(&events));
    let text = std::fs::read_to_string(place.path("trace.json")).unwrap();
    place.put("cut.json", &text[..text.len() - 20]);
    place
}

#[test]
fn findings_are_printed_with_their_remedy() {
    let out = place().run("doctor trace.json").exits_with(0).out;
    assert!(out.starts_with("trace.json: ") && out.contains("worst: warning"), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("  W2  warning")).unwrap();
    let text = lines[at..].join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "W2 warning 1 of 2 device events (10.00 µs, 50.0% of device time) was queued before the recording \
                    began and has no launch in the file Synchronize the device";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn the_exit_code_tells_whether_a_finding_is_as_severe_as_asked() {
    let place = place();
    for (file, fail_on, code) in [
        ("trace.json", "error", 0),
        ("trace.json", "warning", 3),
        ("trace.json", "note", 3),
        ("cut.json", "error", 3),
        ("cut.json", "never", 0),
        ("absent.json", "never", 2),
    ] {
        place.run(&["doctor", file, "--fail-on", fail_on]).exits_with(code);
    }
    let outcome = place.run("doctor absent.json trace.json cut.json").exits_with(2);
    assert!(outcome.out.contains("trace.json: ") && outcome.out.contains("cut.json: "), "{outcome:?}");
}

#[test]
fn json_has_the_findings_of_each_file() {
    let place = place();
    let out = place.run("doctor trace.json cut.json --json").exits_with(3).out;
    let document: Value = serde_json::from_str(&out).unwrap();
    let [whole, cut] = document["result"]["files"].as_array().unwrap().as_slice() else { panic!("{out}") };
    assert_eq!(whole["name"], "trace.json");
    assert_eq!((&whole["worst"], &cut["worst"]), (&Value::from("warning"), &Value::from("error")));
    let found = whole["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == "W2").unwrap();
    for (key, value) in [("count", 1), ("of", 2), ("time_ns", 10_000), ("guarded", 0)] {
        assert_eq!(found[key], value, "{key}");
    }
    assert_eq!(found["first"]["ts_ns"], 875);
    assert!(whole["skipped"].as_array().unwrap().iter().any(|skipped| skipped["rule"] == "L5"));
}

/// The generated run of rocprofv3, of whose rows of dispatches `change` says what becomes: start and end.
fn rocprof_place(change: impl Fn(usize, &mut [String; 2]) -> bool) -> Workplace {
    let place = Workplace::with("[]");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated/rocprof/csv");
    std::fs::create_dir(place.path("run")).unwrap();
    for file in testdata::entries(&folder) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let mut text = std::fs::read_to_string(&file).unwrap();
        // Counters can be of some dispatches only.
        if name.contains("counter") {
            continue;
        }
        if name.ends_with("kernel_trace.csv") {
            let mut lines = text.lines();
            let header = lines.next().unwrap();
            let column =
                |name| header.split(',').position(|column| column.trim_matches('"') == name).unwrap();
            let from_end = header.split(',').count() - column("Start_Timestamp");
            let mut changed = vec![header.to_owned()];
            for (number, line) in lines.enumerate() {
                // Names of kernels have commas.
                let mut cells: Vec<String> = line.split(',').map(ToOwned::to_owned).collect();
                let start = cells.len() - from_end;
                let mut times = [cells[start].clone(), cells[start + 1].clone()];
                if change(number, &mut times) {
                    let [begin, end] = times;
                    (cells[start], cells[start + 1]) = (begin, end);
                    changed.push(cells.join(","));
                }
            }
            text = changed.join("\n");
        }
        place.put(&format!("run/{name}"), text);
    }
    place
}

#[test]
fn a_sound_profile_of_rocprofv3_has_no_findings() {
    let place = rocprof_place(|_, _| true);
    assert_eq!(place.run("doctor run --fail-on note").exits_with(0).out, "run: no findings\n");
    let report = place.run("rocprof run --json").exits_with(0).out;
    let document: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(document["trust"]["verdict"], "full");
    assert!(!Sheets::parse(&report).has("recording"));
}

#[test]
fn faults_of_rocprofv3_are_found_and_told_on_the_first_page() {
    type Change = fn(usize, &mut [String; 2]) -> bool;
    let half: Change = |number, _| number % 2 == 0;
    let overrun: Change = |number, [_, end]| {
        if number == 20 {
            *end = (end.parse::<u64>().unwrap() + 3_000_000).to_string();
        }
        true
    };
    let zero: Change = |number, times| {
        if [3, 9, 20, 40].contains(&number) {
            *times = ["0".to_owned(), "0".to_owned()];
        }
        true
    };
    for (change, rules, text) in [
        (half, vec!["L2", "L9"], "kernel times and busy time are too short"),
        (overrun, vec!["C4"], "busy time may be off by up to the overrun"),
        (zero, vec!["F6"], "4 of 271 kernels and copies have a time of 0 and are skipped"),
    ] {
        let place = rocprof_place(change);
        let out = place.run("doctor run --json --fail-on never").exits_with(0).out;
        let document: Value = serde_json::from_str(&out).unwrap();
        let found = document["result"]["files"][0]["findings"].as_array().unwrap();
        let found: Vec<&Value> = found.iter().filter(|finding| finding["rule"] != "W3").collect();
        assert_eq!(found.iter().map(|finding| &finding["rule"]).collect::<Vec<_>>(), rules, "{out}");
        assert!(found.iter().all(|finding| !finding["remedy"].as_str().unwrap().contains("CUPTI")), "{out}");
        let printed = place.run("rocprof run --output_csvs_dir out").exits_with(0).out;
        let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains("recording: ") && printed.contains(text), "{printed}");
        assert!(
            printed.contains(&format!(", see {}]", rules[0])) && !printed.contains("loads data"),
            "{printed}"
        );
        let report = place.run("rocprof run --json").exits_with(0).out;
        let document: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(document["trust"]["verdict"], "degraded");
        assert!(Sheets::parse(&report).column("recording", "rule").contains(&&Value::from(rules[0])));
    }
}

#[test]
fn a_kernel_that_overruns_the_next_one_counts_until_that_begins() {
    let step = |length: f64| {
        let launches = (1..=3).map(|id| launch(id, 3.0 * id as f64));
        let kernels = [kernel("a", 1, 10.0, length), kernel("b", 2, 60.0, 40.0), kernel("a", 3, 100.0, 40.0)];
        Workplace::with(trace(&launches.chain(kernels).collect::<Vec<_>>()))
    };
    let busy = |place: &Workplace, options: &[&str]| {
        let report = [&["report", "trace.json", "--json"], options].concat();
        let outcome = place.run(&report).exits_with(0);
        (Sheets::parse(&outcome.out).timeline("busy_time"), outcome.err)
    };
    let (clean, wrong) = (step(40.0), step(940.0));
    assert_eq!(busy(&clean, &[]).0, 0.12);
    let (time, said) = busy(&wrong, &[]);
    assert_eq!(time, 0.13);
    assert!(said.contains("which they overlapped by up to 890.000 µs: 1"), "{said}");
    let (time, said) = busy(&wrong, &["--keep-overruns"]);
    assert_eq!(time, 0.94);
    assert!(!said.contains("--keep-overruns"), "{said}");
    assert_eq!(busy(&wrong, &["--parity=tracelens"]).0, 0.94);
}

#[test]
fn every_command_that_takes_it_obeys_keep_overruns() {
    let launches = (1..=2).map(|id| launch(id, 3.0 * id as f64));
    let kernels = [kernel("a", 1, 10.0, 940.0), kernel("b", 2, 60.0, 40.0)];
    let events: Vec<String> =
        [operator("aten::mm", 1.0, 30.0)].into_iter().chain(launches).chain(kernels).collect();
    let place = Workplace::with(trace(&events));
    for command in [
        "report trace.json",
        "table trace.json gpu_timeline",
        "why trace.json aten::mm",
        "advise trace.json",
        "diff trace.json trace.json",
        "critical-path trace.json",
        "gate --baseline trace.json --candidate trace.json",
        "tree trace.json",
    ] {
        // What is printed names no options, so that only figures differ.
        let printed = |options: &str| place.run(&*format!("{command}{options}")).out;
        assert_ne!(printed(""), printed(" --keep-overruns"), "{command}");
    }
}

#[test]
fn reports_have_the_findings_unless_they_are_to_be_those_of_tracelens() {
    let place = place();
    let report =
        |options: &[&str]| place.run(&[&["report", "trace.json"], options].concat()).exits_with(0).out;
    let sheets = Sheets::parse(&report(&["--json"]));
    assert!(sheets.column("recording", "rule").contains(&&Value::from("W2")));
    for options in [["--json", "--sheet-names=current"], ["--json", "--parity=tracelens"]] {
        assert!(!Sheets::parse(&report(&options)).has("recording"), "{options:?}");
    }
    let printed = report(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("operator kernel times are too short (W2; sheet recording)"), "{printed}");
}

#[test]
fn corpus_a_second_trace_behind_the_first_makes_the_answer_partial() {
    let case = testdata::corpus("field/cases/16-second-trace-behind-the-first/both.json");
    let Some(case) = case else { return };
    let both = std::fs::read_to_string(case).unwrap();
    let mut traces = serde_json::Deserializer::from_str(&both).into_iter::<Value>();
    traces.next().unwrap().unwrap();
    let first = &both[..traces.byte_offset()];
    let place = Workplace::with(first);
    place.put("noted.json", format!("{first}\nwritten by job 17\n"));
    place.put("both.json", &both);
    let finding = "F10 warning a second trace of 68 events seems to follow";
    place.run("doctor both.json").exits_with(0).with_summary(&[finding]);
    let answer = |file: &str| -> Value {
        serde_json::from_str(&place.run(&["doctor", file, "--json"]).exits_with(0).out).unwrap()
    };
    let codes = |answer: &Value| -> Vec<String> {
        let warnings = answer["warnings"].as_array().unwrap().iter();
        let codes = warnings.map(|warning| warning["code"].as_str().unwrap().to_owned());
        codes.filter(|code| code.starts_with("reading/")).collect()
    };
    let (both, noted) = (answer("both.json"), answer("noted.json"));
    assert_eq!((&both["status"], codes(&both)), (&"partial".into(), vec!["reading/second-trace".to_owned()]));
    assert_eq!((&noted["status"], codes(&noted)), (&"ok".into(), vec!["reading/trailing-text".to_owned()]));
}
