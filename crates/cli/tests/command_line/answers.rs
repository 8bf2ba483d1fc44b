//! What `--json` prints, for every command and every kind of recording: the schema is kept, and nothing is null without a
//! reason.

use std::io::Read;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::program::Workplace;
use crate::trace::{annotation, kernel, launch, operator, trace};

const RECORDINGS: &[&str] = &[
    "generated/cuda_training_step.json.gz",
    "generated/cuda_serving.json.gz",
    "generated/rocprof/run_results.db",
    "generated/nsys/run.sqlite",
    "generated/pftrace/run.k2.pftrace",
    "generated/devices/xpu.json",
    "generated/metal_ops.csv",
    "recorded/h200/jax_step.xplane.pb",
    "recorded/cpu/gloo_collectives_rank0.json.gz",
];

/// Commands of one recording, with what stands behind its name.
const COMMANDS: &[(&str, &[&str])] = &[
    ("report", &[]),
    ("table", &[]),
    ("table", &["overview", "--top", "3", "--sort", "topic"]),
    ("why", &["aten::mm"]),
    ("advise", &[]),
    ("doctor", &[]),
    ("critical-path", &[]),
    ("replay", &[]),
    ("split", &[]),
    ("split", &["--store-single-iteration", "-o", "steps"]),
    ("tree", &[]),
    ("tree", &["--name", "aten::mm", "--parents"]),
    ("baseline", &["-o", "baseline.json"]),
    ("map", &["--out", "job"]),
];

fn test_data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

fn validator() -> Validator {
    let place = Workplace::with("");
    let schema: Value = serde_json::from_str(&place.run("schema").exits_with(0).out).unwrap();
    assert_eq!(schema["$id"], "urn:tracelens:answer-1");
    jsonschema::validator_for(&schema).unwrap()
}

/// The answer of a run: one document that keeps the schema, and is an error where the run ended with one.
#[track_caller]
fn answer(place: &Workplace, validator: &Validator, arguments: &[&str]) -> Value {
    let outcome = place.run(&[arguments, &["--json"]].concat());
    let document: Value = serde_json::from_str(&outcome.out)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{outcome:#?}"));
    let faults: Vec<String> = validator.iter_errors(&document).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{arguments:?}: {faults:?}");
    let is_error = matches!(outcome.code, 1 | 2);
    assert_eq!(document["status"] == "error", is_error, "{arguments:?}: {}", outcome.err);
    assert_eq!(document["error"].is_object(), is_error, "{arguments:?}");
    // Commands of two words have their earlier name.
    let name = match arguments {
        ["gate", "save", ..] => "baseline",
        ["ranks", "collect", ..] => "map",
        ["ranks", "pack", ..] => "pack",
        ["split", "match", ..] => "match",
        ["info", "columns", ..] => "columns",
        [name, ..] => name,
        [] => unreachable!(),
    };
    assert_eq!(document["command"]["name"], name);
    for table in document["tables"].as_array().unwrap() {
        nulls_have_reasons(table, arguments);
    }
    // Evidence is in the same answer, or another command has it.
    let names: Vec<&Value> =
        document["tables"].as_array().unwrap().iter().map(|table| &table["name"]).collect();
    if arguments[0] == "report" {
        let findings = document["findings"].as_array().unwrap().iter();
        let mut rows = findings.flat_map(|finding| finding["evidence"].as_array().unwrap());
        assert!(rows.all(|row| names.contains(&&row["table"])), "{arguments:?}");
    }
    document
}

#[track_caller]
fn nulls_have_reasons(table: &Value, arguments: &[&str]) {
    let columns = table["columns"].as_array().unwrap();
    let rows = table["rows"].as_array().unwrap();
    assert_eq!(table["rows_returned"], rows.len());
    for (at, column) in columns.iter().enumerate() {
        let nulls: Vec<usize> = (0..rows.len()).filter(|&row| rows[row][at].is_null()).collect();
        let absent =
            table["absent"].as_array().unwrap().iter().filter(|absent| absent["column"] == column["name"]);
        let mut explained: Vec<usize> = absent
            .flat_map(|absent| match absent["rows"].as_array() {
                Some(of) => of.iter().map(|row| row.as_u64().unwrap() as usize).collect(),
                None => (0..rows.len()).collect::<Vec<_>>(),
            })
            .collect();
        explained.sort_unstable();
        assert_eq!(nulls, explained, "{arguments:?}: {} {}", table["name"], column["name"]);
        assert_eq!(column["nullable"], !nulls.is_empty());
    }
}

fn files(place: &Workplace) -> Vec<String> {
    let recordings = RECORDINGS.iter().map(|name| test_data(name).to_str().unwrap().to_owned());
    let whole = std::fs::read(test_data("recorded/cpu/gloo_collectives_rank0.json.gz")).unwrap();
    std::fs::write(place.path("cut.json.gz"), &whole[..whole.len() * 3 / 4]).unwrap();
    std::fs::write(place.path("foreign.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    place.put("empty.json", "");
    recordings
        .chain(["cut.json.gz", "foreign.png", "empty.json", "missing.json"].map(ToOwned::to_owned))
        .collect()
}

#[test]
fn every_command_keeps_the_schema_on_every_recording() {
    let place = Workplace::with("");
    let (validator, files) = (validator(), files(&place));
    for file in &files {
        for (command, options) in COMMANDS {
            let arguments = [&[*command, file.as_str()][..], options].concat();
            let document = answer(&place, &validator, &arguments);
            for table in document["tables"].as_array().unwrap() {
                let is_told_apart = table["key"].as_array().is_some_and(|key| !key.is_empty());
                let rows = table["rows"].as_array().unwrap().len();
                assert!(is_told_apart || rows < 2, "{arguments:?}: rows of {} are alike", table["name"]);
                assert!(table["title"].is_string(), "{arguments:?}: {} has no title", table["name"]);
            }
        }
    }
    let [a, b] = [&files[0], &files[1]];
    for pair in [[a, b], [a, a], [&files[2], &files[6]], [a, &files[files.len() - 1]]] {
        let [a, b] = pair.map(String::as_str);
        for arguments in [
            &["compare", a, b][..],
            &["diff", a, b],
            &["gate", "--baseline", a, "--candidate", b],
            &["ranks", a, b],
            &["split", "match", a, b, "-o", "matches"],
            &["fuse", a, b, "-o", "fused.json"],
        ] {
            let document = answer(&place, &validator, arguments);
            let is_of_two = ["compare", "diff", "gate"].contains(&arguments[0]);
            if is_of_two && document["status"] != "error" {
                assert_eq!(document["inputs"][0]["role"], "baseline", "{arguments:?}");
            }
            if arguments[0] == "gate" && document["status"] != "error" {
                let is_told = document["result"]["verdict"] == "pass";
                assert_eq!(document["status"] == "ok", is_told, "{}", document["result"]["verdict"]);
            }
        }
    }
    for arguments in [
        &["archs"][..],
        &["info", "columns", "ops_all"],
        &["info", "columns", "nothing"],
        &["model", "gemm", "--m", "8", "--n", "8", "--k", "8"],
        &["report"],
        &["ranks", "pack", "job"],
        &["table", a.as_str(), "ops_summary", "--where", "Count many 3"],
    ] {
        answer(&place, &validator, arguments);
    }
}

/// The findings that a command gives of a recording, without the rows of sheets that a report does not always have.
fn findings(place: &Workplace, command: &str, file: &str) -> Value {
    let answer: Value = serde_json::from_str(&place.run(&[command, file, "--json"]).out).unwrap();
    let mut findings = answer["findings"].clone();
    for finding in findings.as_array_mut().into_iter().flatten() {
        finding.as_object_mut().unwrap().remove("evidence");
    }
    findings
}

#[test]
fn report_and_advise_find_the_same() {
    let place = Workplace::with("");
    let recordings = RECORDINGS.iter().map(|name| Some(test_data(name)));
    let of_corpus = [
        "pytorch/h100-owlv2-large/trace.json.gz",
        "field/recordings/a100-particle-transformer/trace.json.gz",
    ];
    for file in recordings.chain(of_corpus.map(testdata::corpus)).flatten() {
        let [report, advise] =
            ["report", "advise"].map(|command| findings(&place, command, file.to_str().unwrap()));
        assert_eq!(report, advise, "{}", file.display());
    }
}

/// The words of a command as a shell splits them, up to a pipe, or to blanks before an explanation.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    let mut letters = command.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            '|' if !is_quoted => break,
            ' ' if !is_quoted && letters.peek() == Some(&' ') => break,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().unwrap().push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn a_range_that_a_finding_names_is_explained_by_it() {
    let next = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    let mut events = Vec::new();
    for step in 0..4_u32 {
        let start = 10_000.0 * f64::from(step);
        events.push(annotation(next, start, 6_000.0));
        events.push(operator("aten::mm", start + 6_100.0, 20.0));
        events.push(launch(step + 1, start + 6_105.0));
        events.push(kernel("gemm", step + 1, start + 6_200.0, 3_000.0));
    }
    let place = Workplace::with(trace(&events));
    place.run(&["why", "trace.json", next]).exits_with(0).with_summary(&["IDLE-DATA", "range"]);
    place.run("why trace.json enumerate(Loader)").exits_with(2);
}

#[test]
fn tables_in_pipes_have_whole_names_however_wide_they_are() {
    let place = Workplace::with_generated();
    let narrow = place.run_in_columns("40", "table trace.json.gz unified_perf_summary --top 1").exits_with(0);
    let all: Value = serde_json::from_str(
        &place.run("table trace.json.gz unified_perf_summary --top 1 --json").exits_with(0).out,
    )
    .unwrap();
    let name = all["tables"][0]["rows"][0][0].as_str().unwrap();
    assert!(narrow.out.contains(name) && !narrow.out.contains("no room for"), "{}", narrow.out);
    place
        .run("table trace.json.gz phase_summary")
        .exits_with(2)
        .with_error(&["no rows for table", "info columns phase_summary"]);
}

#[test]
fn commands_of_the_documents_have_answers() {
    const PAGE: &str = include_str!("../../../../docs/src/reference/json.md");
    let place = Workplace::with_generated();
    let section = PAGE.split("\n## ").next().unwrap();
    let mut commands: Vec<String> =
        section.lines().filter_map(|line| Some(line.strip_prefix("tracelens ")?.to_owned())).collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in ["table", "why"] {
        let help = place.run(&[command, "--help"]).exits_with(0).out;
        commands.extend(help.lines().filter_map(|line| Some(line.strip_prefix("  tracelens ")?.to_owned())));
    }
    assert!(commands.len() >= 10, "{commands:?}");
    for command in &commands {
        let words = words(command);
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let outcome = place.run(&arguments);
        let expected = if command.contains("nothing.json") { 2 } else { 0 };
        assert_eq!(outcome.code, expected, "{command}: {}", outcome.err);
        assert!(!outcome.out.is_empty(), "{command}");
    }
}

#[test]
fn what_is_missing_says_how_to_record_it() {
    let place = Workplace::with("");
    let validator = validator();
    let failed = answer(&place, &validator, &["report", "nothing.json"]);
    assert_eq!(failed["error"]["code"], "ingest/io");
    // Without shapes there are no FLOPs.
    let event = |category: &str, name: &str, tid: u32, [ts, dur]: [u32; 2], args: Value| json!({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args});
    let trace = |shapes: Value| {
        let mut args = json!({"External id": 1});
        if !shapes.is_null() {
            args["Input Dims"] = shapes;
            args["Input type"] = json!(["float", "float"]);
        }
        // As many as the rule wants.
        let events = (0..20).flat_map(|at| {
            let start = 100 * at;
            let linked = |device: bool| {
                let mut args = json!({"External id": at, "correlation": at});
                if device {
                    (args["device"], args["stream"]) = (json!(0), json!(7));
                }
                args
            };
            args["External id"] = json!(at);
            [
                event("cpu_op", "aten::mm", 1, [start, 50], args.clone()),
                event("cuda_runtime", "cudaLaunchKernel", 1, [start + 10, 9], linked(false)),
                event("kernel", "gemm", 7, [start + 100, 50], linked(true)),
            ]
        });
        let events: Vec<Value> = events.collect();
        let device = json!([{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]);
        json!({"schemaVersion": 1, "deviceProperties": device, "traceEvents": events}).to_string()
    };
    place.put("without.json", trace(Value::Null));
    place.put("with.json", trace(json!([[8, 8], [8, 8]])));
    let lacks = |document: &Value| {
        let all = document["cannot_answer"].as_array().unwrap().clone();
        all.into_iter().find(|lacking| lacking["code"] == "no-shapes")
    };
    let without = answer(&place, &validator, &["report", "without.json"]);
    let lacking = lacks(&without).unwrap();
    assert!(lacking["needs"].as_str().unwrap().contains("record_shapes=True"), "{lacking}");
    assert_eq!((&without["status"], &without["trust"]["shapes"]), (&json!("partial"), &json!(false)));
    let with = answer(&place, &validator, &["report", "with.json"]);
    assert_eq!((lacks(&with), &with["trust"]["shapes"]), (None, &json!(true)));
}

#[test]
fn figures_of_models_say_why_they_are_missing() {
    let place = Workplace::with_generated();
    let document = answer(&place, &validator(), &["report", "trace.json.gz"]);
    let tables = document["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["name"] == "unified_perf_summary").unwrap();
    let column = |name: &str| {
        let columns = table["columns"].as_array().unwrap();
        columns.iter().position(|column| column["name"] == name).unwrap_or_else(|| panic!("no column {name}"))
    };
    let rows = table["rows"].as_array().unwrap();
    let code = |column: &str, row: usize| {
        let absent = table["absent"].as_array().unwrap();
        let of_row = absent.iter().find(|absent| {
            let rows = &absent["rows"];
            absent["column"] == column
                && (*rows == "all" || rows.as_array().is_some_and(|rows| rows.contains(&json!(row))))
        });
        of_row.map(|absent| (absent["code"].as_str().unwrap(), absent["reason"].clone()))
    };
    let mut codes = std::collections::BTreeSet::new();
    for (place, row) in rows.iter().enumerate() {
        for figure in ["GFLOPS", "TFLOPS/s_mean"] {
            let told = code(figure, place);
            assert_eq!(told.is_some(), row[column(figure)].is_null(), "{figure} of {row}");
            if let Some((told, reason)) = told {
                assert_eq!(reason, row[column("reason")], "{figure} of {row}");
                codes.insert(told);
            }
        }
        if !row[column("TFLOPS/s_mean")].is_null() && row[column("TFLOPS/s_std")].is_null() {
            assert_eq!(code("TFLOPS/s_std", place).map(|(code, _)| code), Some("undefined"), "{row}");
            codes.insert("undefined");
        }
    }
    assert!(["arguments", "no-formula", "undefined"].iter().all(|code| codes.contains(code)), "{codes:?}");
}

#[test]
fn recordings_of_every_kind_say_how_far_they_can_be_trusted() {
    let place = Workplace::with("");
    let validator = validator();
    let of = |command: &str, file: &Path| {
        let document = answer(&place, &validator, &[command, file.to_str().unwrap()]);
        (document["trust"].clone(), document["inputs"][0].clone())
    };
    let (trust, input) = of("rocprof", &test_data("generated/rocprof/run_results.json.gz"));
    assert_eq!(
        (&trust["verdict"], &trust["device_events"], &trust["truncated"], &trust["shapes"]),
        (&json!("full"), &json!(234 + 37), &json!(false), &Value::Null)
    );
    assert!(trust["linked_pct_of_time"].as_f64().is_some_and(|percent| percent > 95.0), "{trust}");
    assert_eq!(input["devices"], json!(["AMD Instinct MI300X", "AMD Instinct MI300X"]));
    assert!(input["span_ns"].as_i64().is_some_and(|span| (1..1_136_480_673).contains(&span)), "{input}");
    let (trust, input) = of("jax", &test_data("recorded/h200/jax_step.xplane.pb"));
    assert_eq!(trust["verdict"], "full");
    for share in ["linked_pct_of_time", "modelled_pct_of_time"] {
        assert!(trust[share].as_f64().is_some_and(|percent| percent > 50.0), "{trust}");
    }
    assert!(trust["device_events"].as_u64() < input["events"].as_u64(), "{trust} {input}");
    assert_eq!(input["devices"], json!(["NVIDIA H200"]));
    let operations = test_data("generated/metal_ops.csv");
    let (trust, input) = of("metal", &operations);
    assert_eq!(
        (&trust["verdict"], &trust["device_events"], &trust["shapes"], &trust["linked_pct_of_time"]),
        (&json!("full"), &json!(312), &json!(true), &Value::Null)
    );
    assert_eq!((&input["events"], &input["span_ns"]), (&json!(312 + 5 + 3), &Value::Null));
    // A row that is cut off is lost, and without rows of devices there is nothing to look at.
    let text = std::fs::read_to_string(&operations).unwrap();
    let whole: Vec<&str> = text.lines().collect();
    place.put("cut.csv", whole[..40].join("\n") + "\nMatmul,tt_dnn_device");
    let (trust, _) = of("metal", &place.path("cut.csv"));
    assert_eq!((&trust["verdict"], &trust["events_lost"]), (&json!("degraded"), &json!(1)));
    let marks = whole.iter().filter(|line| !line.contains("tt_dnn_device")).copied();
    place.put("marks.csv", marks.collect::<Vec<_>>().join("\n"));
    let (trust, _) = of("metal", &place.path("marks.csv"));
    assert_eq!((&trust["verdict"], &trust["device_events"]), (&json!("unusable"), &json!(0)));
}

/// A recorder that tells all launches lost those that are missing; one that does not only did not see them.
#[test]
fn launches_that_are_lost_degrade_a_trace() {
    let place = Workplace::with("");
    let kernel = |at: u32, correlation: u32| {
        json!({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10 * at, "dur": 5,
            "args": {"device": 0, "stream": 7, "correlation": correlation}})
    };
    let launch = json!({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
        "ts": 1, "dur": 2, "args": {"correlation": 1}});
    let verdict = |correlations: [u32; 2]| {
        let mut events = vec![launch.clone()];
        events.extend(correlations.iter().zip(1..).map(|(&correlation, at)| kernel(at, correlation)));
        place.put("trace.json", json!({"schemaVersion": 1, "traceEvents": events}).to_string());
        let document = answer(&place, &validator(), &["report", "trace.json"]);
        (document["trust"]["verdict"].clone(), document["trust"]["linked_pct_of_time"].clone())
    };
    assert_eq!(verdict([1, 1]), (json!("full"), json!(100.0)));
    assert_eq!(verdict([1, 9]), (json!("degraded"), json!(50.0)));
}

/// Puts a file of `testdata`, or this part of it, under a name.
fn put(place: &Workplace, name: &str, recording: &str, kept: f64) {
    let whole = std::fs::read(test_data(recording)).unwrap();
    std::fs::write(place.path(name), &whole[..(whole.len() as f64 * kept) as usize]).unwrap();
}

#[test]
fn strict_answers_end_with_4_where_something_is_missing() {
    let place = Workplace::with_generated();
    put(&place, "cut.json.gz", "generated/cuda_serving.json.gz", 0.75);
    for (command, options) in [
        ("report", &[] as &[&str]),
        ("table", &["overview"]),
        ("why", &["aten::mm"]),
        ("tree", &[]),
        ("split", &[]),
        ("replay", &[]),
        ("advise", &[]),
        ("doctor", &["--fail-on", "never"]),
    ] {
        let of =
            |file, strict: &[&str]| place.run(&[&[command, file], options, strict, &["--json"]].concat());
        let document: Value =
            serde_json::from_str(&of("cut.json.gz", &["--strict"]).exits_with(4).out).unwrap();
        assert_eq!(document["status"], "partial", "{command}");
        let mut warnings = document["warnings"].as_array().unwrap().iter();
        let cut = warnings.find(|warning| warning["severity"] == "distrust");
        assert!(cut.is_some_and(|cut| cut["code"] == "reading/damaged-compression"), "{command}: {cut:?}");
        of("cut.json.gz", &[]).exits_with(0);
    }
    let tree = place.run("tree trace.json.gz --json --strict").exits_with(0);
    assert_eq!(serde_json::from_str::<Value>(&tree.out).unwrap()["status"], "ok");
    // A report is judged in whatever form it is; other answers only as JSON.
    place.run("report cut.json.gz --strict --output_csvs_dir sheets").exits_with(4);
    place.run("tree trace.json.gz --strict").exits_with(2);
    place.run("advise cut.json.gz --strict -o advice.json").exits_with(4);
}

#[test]
fn what_is_kept_of_a_cut_recording_says_that_it_is_cut() {
    let place = Workplace::with_generated();
    put(&place, "cut.json.gz", "generated/cuda_training_step.json.gz", 0.9);
    for (command, code) in [
        (["map", "cut.json.gz", "--out", "tables"], "reading/damaged-compression"),
        (["baseline", "cut.json.gz", "-o", "kept.json"], "cut-off-in-baseline"),
    ] {
        let outcome = place.run(&command).exits_with(0);
        assert!(outcome.err.contains("tracelens: warning: cut.json.gz: "), "{outcome:#?}");
        let _ = std::fs::remove_dir_all(place.path("tables"));
        let outcome = place.run(&[&command[..], &["--json", "--strict"]].concat()).exits_with(4);
        let document: Value = serde_json::from_str(&outcome.out).unwrap();
        assert_eq!(document["status"], "partial", "{document}");
        let warning = &document["warnings"][0];
        assert_eq!((&warning["code"], &warning["severity"]), (&json!(code), &json!("distrust")), "{warning}");
    }
    // Where the tables are there, the recording is not read again.
    let again = ["ranks", "collect", "cut.json.gz", "--out", "tables"];
    place.run(&again).exits_with(0);
    let outcome = place.run(&again).exits_with(0);
    assert!(
        outcome.err.contains("already there\ntracelens: warning: cut.json.gz: was truncated or damaged when its tables were made"),
        "{outcome:#?}"
    );
    let outcome = place.run(&[&again[..], &["--json", "--strict"]].concat()).exits_with(4);
    let document: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!(document["result"]["recordings"][0]["was_there"], true, "{document}");
    assert_eq!(document["warnings"][0]["code"], "cut-off-when-mapped", "{document}");
}

/// `cargo study evals` asks agents the questions.
#[test]
fn the_facts_that_agents_are_asked_for_are_those_that_the_program_answers() {
    let place = Workplace::with("");
    let cases = std::fs::read_to_string(test_data("../crates/mcp/skills/evals.json")).unwrap();
    let document: Value = serde_json::from_str(&cases).unwrap();
    for case in document["cases"].as_array().unwrap() {
        for recording in texts(&case["recordings"]) {
            let name = recording.rsplit('/').next().unwrap();
            put(&place, name, recording, case["keep"].as_f64().unwrap_or(1.0));
        }
        for fact in case["facts"].as_array().unwrap() {
            let arguments: Vec<&str> = texts(&fact["ask"]).chain(["--json"]).collect();
            let answer: Value = serde_json::from_str(&place.run(&arguments).out).unwrap();
            let found = match fact["at"].as_str() {
                Some(place) => answer.pointer(place),
                None => cell(&answer["tables"][0], &fact["row"], &fact["column"]),
            };
            assert_eq!(found, Some(&fact["is"]), "{fact}");
        }
    }
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap())
}

/// The cell of a column in the row that has a value in another: `[column, value]`.
fn cell<'t>(table: &'t Value, row: &Value, column: &Value) -> Option<&'t Value> {
    let place =
        |name: &Value| table["columns"].as_array().unwrap().iter().position(|column| column["name"] == *name);
    let (of, wanted) = (place(&row[0])?, place(column)?);
    let found = table["rows"].as_array().unwrap().iter().find(|cells| cells[of] == row[1])?;
    Some(&found[wanted])
}

#[test]
fn work_without_a_launch_is_lost_to_operators_with_its_time() {
    let place = Workplace::with("");
    let events = json!([
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 9},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 1,
            "args": {"correlation": 1}},
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 4, "dur": 30,
            "args": {"device": 0, "stream": 7, "correlation": 1}},
        {"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 7, "ts": 40, "dur": 12.5,
            "args": {"device": 0, "stream": 7, "correlation": 9}},
    ]);
    place.put("trace.json", json!({"schemaVersion": 1, "traceEvents": events}).to_string());
    let document = answer(&place, &validator(), &["report", "trace.json"]);
    let mut warnings = document["warnings"].as_array().unwrap().iter();
    let warning = warnings.find(|warning| warning["code"] == "unlinked-device-events").unwrap();
    assert_eq!(warning["lost"], json!({"bytes": 0, "events": 1, "time_us": 12.5}));
    assert_eq!(document["trust"]["clock"], "sound");
}

#[test]
fn answers_say_what_was_asked_with_defaults() {
    let place = Workplace::with_generated();
    let validator = validator();
    let options = |arguments: &[&str]| answer(&place, &validator, arguments)["command"]["options"].take();
    let trace = "trace.json.gz";
    assert_eq!(
        options(&["report", trace, "--no-hash", "--threads", "1", "--topk_ops", "3"]),
        json!(["--budget step", "--link-by correlation", "--sheet-names documented", "--topk_ops 3"])
    );
    let named = place.path("trace.json.gz");
    let named = named.to_str().unwrap();
    let gate = ["gate", "--baseline", named, "--candidate", named, "--json"];
    let outcome = place.run(&gate).exits_with(4);
    let document: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!(document["command"]["options"][0], "--baseline trace.json.gz");
    let profile = test_data("recorded/h200/jax_step.xplane.pb");
    let of_jax = options(&["report", profile.to_str().unwrap()]);
    assert!(!of_jax.to_string().contains("--link-by"), "an option of other recorders: {of_jax}");
    assert_eq!(
        options(&["table", trace, "ops_summary", "--where", "Count gt 3"]),
        json!(["--link-by correlation", "--skip 0", "--top 20", "--where Count gt 3", "ops_summary"])
    );
    assert_eq!(
        options(&["model", "gemm", "--m", "8", "--n", "8", "--k", "4", "--stamp"]),
        json!(["--batch 1", "--dtype bf16", "--k 4", "--m 8", "--n 8"])
    );
    assert_eq!(options(&["tree", "missing.json", "--all"]), json!(["--all", "--link-by correlation"]));
}

#[test]
fn answers_name_the_features_of_the_program() {
    let document = answer(&Workplace::with(""), &validator(), &["archs"]);
    let built = if cfg!(feature = "mcp") { json!(["mcp"]) } else { json!([]) };
    assert_eq!(document["tool"]["features"], built);
}

#[test]
fn answers_are_stamped_where_that_is_asked() {
    let place = Workplace::with_generated();
    let validator = validator();
    let asked = |arguments: &[&str]| answer(&place, &validator, arguments);
    for arguments in [
        &["report", "trace.json.gz"] as &[&str],
        &["tree", "trace.json.gz", "--depth", "1"],
        &["model", "gemm", "--m", "8", "--n", "8", "--k", "8"],
        &["archs"],
        &["info", "columns", "ops_summary"],
        &["tree", "missing.json"],
        &["tree", "--unknown"],
    ] {
        assert_eq!(asked(arguments).get("created_at"), None, "{arguments:?}");
        let stamped = asked(&[arguments, &["--stamp"]].concat());
        let stamp = stamped["created_at"].as_str().unwrap_or_else(|| panic!("{arguments:?}"));
        assert!(stamp.starts_with("20") && stamp.len() == 20 && stamp.ends_with('Z'), "{stamp}");
    }
}

#[test]
fn options_of_json_want_json() {
    let place = Workplace::with_generated();
    for option in ["--stamp", "--no-hash", "--full-paths"] {
        for command in ["report", "tree", "doctor", "advise", "table", "split"] {
            let outcome = place.run(&[command, "trace.json.gz", option]).exits_with(2);
            assert!(outcome.err.contains("--json"), "{command} {option}: {}", outcome.err);
        }
        place.run(&["report", "trace.json.gz", option, "--output_json_path", "answer.json"]).exits_with(0);
        place.run(&["advise", "trace.json.gz", option, "-o", "advice.json"]).exits_with(0);
    }
    place.run("archs --json --no-hash").exits_with(2);
}

#[test]
fn errors_name_their_input() {
    let place = Workplace::with("");
    let validator = validator();
    let asked = |arguments: &[&str]| answer(&place, &validator, arguments)["error"].take();
    place.put("a; b.json", "no trace");
    for command in ["report", "tree", "doctor", "table", "replay"] {
        let error = asked(&[command, "a; b.json"]);
        let action = json!("check the path, or export the recording in one of these formats");
        assert_eq!((&error["input"], &error["action"]), (&json!("a; b.json"), &action), "{command}");
    }
    let path = place.path("a; b.json");
    let error = asked(&["tree", path.to_str().unwrap(), "--full-paths"]);
    assert_eq!(error["input"], path.to_str().unwrap());
    let error = asked(&["tree", "missing.json"]);
    assert_eq!(
        (&error["input"], &error["action"]),
        (&json!("missing.json"), &json!("check the path and its permissions"))
    );
    assert_eq!(asked(&["info", "columns", "no_such_sheet"])["input"], Value::Null);
}

#[test]
fn warnings_say_what_to_do_or_nothing() {
    let place = Workplace::with("");
    let validator = validator();
    let action = |recording: &str, code: &str| {
        let document = answer(&place, &validator, &["report", test_data(recording).to_str().unwrap()]);
        let mut warnings = document["warnings"].as_array().unwrap().iter();
        let found = warnings.find(|warning| warning["code"] == code);
        found.unwrap_or_else(|| panic!("{recording}: {code}"))["action"].clone()
    };
    let without_device = action("recorded/cpu/transformer_step.json.gz", "no-device-events");
    assert!(without_device.as_str().unwrap().contains("ProfilerActivity.CUDA"), "{without_device}");
    assert_eq!(action("recorded/h200/nsys/cuda_graph_nodes.sqlite", "reading/unread-tables"), Value::Null);
}

#[test]
fn files_are_told_by_their_content() {
    let place = Workplace::with_generated();
    let of = |options: &[&str]| -> Value {
        let outcome = place.run(&[&["report", "trace.json.gz", "--json"], options].concat()).exits_with(0);
        serde_json::from_str(&outcome.out).unwrap()
    };
    let input = of(&[])["inputs"][0].clone();
    assert_eq!(
        (&input["file"], &input["format"], &input["rank"]),
        (&json!("trace.json.gz"), &json!("kineto"), &json!(0))
    );
    assert_eq!(input["bytes"], Path::new(&place.path("trace.json.gz")).metadata().unwrap().len());
    assert_eq!(input["sha256"].as_str().map(str::len), Some(64));
    let path = place.path("trace.json.gz");
    let path = path.to_str().unwrap();
    for (command, options) in [
        ("report", &[] as &[&str]),
        ("table", &["overview"]),
        ("tree", &["--depth", "1"]),
        ("advise", &[]),
        ("doctor", &[]),
        ("baseline", &["-o", "kept.json"]),
    ] {
        let options = [&[command, path, "--json", "--full-paths", "--no-hash"], options].concat();
        let document: Value = serde_json::from_str(&place.run(&options).exits_with(0).out).unwrap();
        let input = &document["inputs"][0];
        assert_eq!((&input["file"], &input["sha256"]), (&json!(path), &Value::Null), "{command}");
        if let Some(file) = document["result"].get("files") {
            assert_eq!(file[0]["name"], path, "{command}");
        }
    }
    for threads in ["1", "2", "8"] {
        assert_eq!(of(&["--threads", threads]), of(&[]), "{threads} threads");
    }
}

#[test]
fn commands_that_write_say_what_they_wrote() {
    let place = Workplace::with_generated();
    let validator = validator();
    let asked = |arguments: &[&str]| answer(&place, &validator, arguments);
    let steps = asked(&["split", "trace.json.gz"]);
    let listed = steps["result"]["steps"].as_array().unwrap();
    assert_eq!(listed.len(), 4);
    let busy: f64 = listed.iter().map(|step| step["device_ms"].as_f64().unwrap()).sum();
    assert!(busy > 0.0, "{listed:?}");
    let written = asked(&["split", "trace.json.gz", "--store-single-iteration", "-o", "steps"]);
    let files = written["result"]["written"].as_array().unwrap();
    assert_eq!(files.len(), 4);
    for file in files {
        assert!(!file["output_path"].as_str().unwrap().contains('/'), "{file}");
    }
    let tree = asked(&["tree", "trace.json.gz", "--depth", "1"]);
    let events = tree["result"]["events"].as_array().unwrap();
    let below: f64 = events
        .iter()
        .filter(|event| event["depth"] == 0)
        .map(|event| event["device_us"].as_f64().unwrap())
        .sum();
    let summary = asked(&["report", "trace.json.gz"]);
    let ops =
        summary["tables"].as_array().unwrap().iter().find(|table| table["name"] == "ops_summary").unwrap();
    let columns = ops["columns"].as_array().unwrap();
    let at = columns.iter().position(|column| column["name"] == "total_direct_kernel_time_ms").unwrap();
    let all: f64 = ops["rows"].as_array().unwrap().iter().map(|row| row[at].as_f64().unwrap()).sum();
    assert!((below / 1e3 - all).abs() < 1e-6 * all, "{below} µs in the tree, {all} ms in the report");
    let baseline = asked(&["gate", "save", "trace.json.gz", "-o", "kept.json"]);
    assert_eq!(baseline["result"], json!({"written": ["kept.json"], "recordings": 1, "steps": 3, "jobs": 1}));
    let schema: Value = serde_json::from_str(&place.run("schema baseline").exits_with(0).out).unwrap();
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path("kept.json")).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = validator.iter_errors(&kept).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    let mapped = asked(&["ranks", "collect", "trace.json.gz", "--out", "job"]);
    assert_eq!(mapped["result"]["recordings"][0]["ranks"], "0");
    assert_eq!(asked(&["ranks", "pack", "job"])["result"]["ranks"], 1);
}

#[test]
fn what_cannot_be_read_is_told_in_parts() {
    let place = Workplace::with("");
    files(&place);
    let validator = validator();
    let foreign = answer(&place, &validator, &["report", "foreign.png"]);
    let error = &foreign["error"];
    assert_eq!(error["code"], "ingest/unknown-format");
    assert!(error["found"].as_str().unwrap().contains("PNG"), "{error}");
    assert!(error["expected"].as_str().unwrap().contains("event trace"), "{error}");
    let missing = answer(&place, &validator, &["report", "missing.json"]);
    assert_eq!((&missing["error"]["found"], &missing["error"]["expected"]), (&Value::Null, &Value::Null));
    assert_eq!(missing["error"]["action"], "check the path and its permissions");
    let operations = test_data("generated/metal_ops.csv");
    let option = answer(&place, &validator, &["report", operations.to_str().unwrap(), "--detect_recompute"]);
    assert_eq!(option["error"]["action"], "omit it");
}

#[test]
fn losses_are_told_in_numbers() {
    let place = Workplace::with("");
    files(&place);
    let cut = answer(&place, &validator(), &["report", "cut.json.gz"]);
    assert_eq!(cut["inputs"][0]["compression"], "gzip");
    assert_eq!(cut["trust"]["truncated"], true);
    // What is in the rest of a broken archive nobody knows.
    assert_eq!(cut["trust"]["bytes_lost"], Value::Null);
    let whole = std::fs::read(test_data("recorded/cpu/gloo_collectives_rank0.json.gz")).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(whole.as_slice()).read_to_string(&mut text).unwrap();
    place.put("cut.json", &text[..text.len() / 2]);
    let plain = answer(&place, &validator(), &["report", "cut.json"]);
    assert!(plain["trust"]["bytes_lost"].as_u64().unwrap() < text.len() as u64, "{}", plain["trust"]);
    let warnings = cut["warnings"].as_array().unwrap();
    let truncated = warnings.iter().find(|warning| warning["code"] == "reading/damaged-compression");
    assert!(truncated.is_some(), "{warnings:#?}");
    place.put(
        "odd.json",
        r#"{"traceEvents": [7, {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 5},
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 5}]}"#,
    );
    let odd = answer(&place, &validator(), &["report", "odd.json"]);
    assert_eq!(odd["inputs"][0]["compression"], "none");
    assert_eq!(odd["trust"]["events_lost"], 2);
    let warnings = odd["warnings"].as_array().unwrap();
    let of = |code: &str| warnings.iter().find(|warning| warning["code"] == code).unwrap();
    let without_time = of("reading/events");
    assert_eq!((&without_time["count"], &without_time["first"]), (&json!(1), &json!({"uid": 1})));
    let malformed = of("reading/malformed-events");
    assert_eq!(malformed["lost"]["events"], 1);
    assert!(malformed["first"]["offset"].as_u64().unwrap() > 0, "{malformed}");
    let nsys =
        answer(&place, &validator(), &["report", test_data("generated/nsys/run.sqlite").to_str().unwrap()]);
    assert!(
        nsys["inputs"][0]["recorder"].as_str().unwrap().contains("Nsight Systems"),
        "{}",
        nsys["inputs"][0]
    );
}
