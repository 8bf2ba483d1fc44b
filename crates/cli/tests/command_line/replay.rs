//! `tracelens replay`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::program::{Workplace, recorded_without_gpu};
use crate::trace::{kernel, launch, operator_with, trace};

/// The Python that `PYTORCH_PYTHON` names, else `python3`, if it has PyTorch. Says so where it has not: the test returns.
///
/// # Panics
/// Where `PYTORCH_PYTHON` names one without.
pub(crate) fn python_with_pytorch() -> Option<PathBuf> {
    let named = std::env::var_os("PYTORCH_PYTHON").map(PathBuf::from);
    let python = named.clone().unwrap_or_else(|| PathBuf::from("python3"));
    let has_pytorch = Command::new(&python).args(["-c", "import torch"]).output();
    if has_pytorch.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    let absent = format!("{} cannot import torch; PYTORCH_PYTHON names a Python that can", python.display());
    assert!(named.is_none(), "{absent}");
    let thread = std::thread::current();
    let _ = writeln!(std::io::stderr(), "SKIPPED {}: {absent}", thread.name().unwrap_or_default());
    None
}

/// Runs the program that `tracelens replay` wrote into the folder `out`, on the CPU.
pub(crate) fn replay(python: &Path, place: &Workplace, arguments: &[&str]) -> Output {
    let program = place.path("out/replay.py");
    let command = [program.to_str().unwrap(), "--device", "cpu"];
    Command::new(python).args(command).args(arguments).current_dir(place.path("")).output().unwrap()
}

pub(crate) fn json(place: &Workplace, name: &str) -> Vec<Value> {
    serde_json::from_slice(&place.bytes(name)).unwrap()
}

/// Name and arguments of each operator of a replay file.
pub(crate) fn calls(entries: &[Value]) -> Vec<(&str, &Value)> {
    entries.iter().map(|entry| (entry["op_name"].as_str().unwrap(), &entry["replay_ir"])).collect()
}

const TWO_MATRICES: &str = r#""Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"],
    "Input Strides": [[32, 1], [1, 32]], "Concrete Inputs": ["", ""]"#;

/// A matrix product with its kernel, `gelu`, and a collective.
fn place() -> Workplace {
    let gelu = r#""Input Dims": [[64, 16], []], "Input type": ["float", ""],
        "Input Strides": [[16, 1], []], "Concrete Inputs": ["", ""]"#;
    let collective =
        r#""Input Dims": [[64]], "Input type": ["float"], "Input Strides": [[1]], "Concrete Inputs": [""]"#;
    Workplace::with(trace(&[
        operator_with("aten::mm", 0.0, 10.0, TWO_MATRICES),
        launch(1, 2.0),
        operator_with("aten::mm", 20.0, 10.0, TWO_MATRICES),
        launch(2, 22.0),
        operator_with("aten::gelu", 40.0, 10.0, gelu),
        launch(3, 42.0),
        operator_with("c10d::allreduce_", 60.0, 10.0, collective),
        launch(4, 62.0),
        kernel("gemm", 1, 100.0, 30.0),
        kernel("gemm", 2, 200.0, 40.0),
        kernel("gelu_kernel", 3, 300.0, 20.0),
        kernel("ncclDevKernel_AllReduce_Sum_f32", 4, 400.0, 5.0),
    ]))
}

#[test]
fn operators_are_written_as_a_list_and_a_program() {
    let place = place();
    let out = place.run("replay trace.json -o out").exits_with(0).out;
    let lines: Vec<&str> = out.lines().collect();
    let mm = lines.iter().find(|line| line.starts_with("aten::mm")).unwrap();
    for part in ["float32[64, 32], float32[32, 16]", " 2 ", "35.00", "73.7", "yes"] {
        assert!(mm.contains(part), "no {part:?} in {mm}");
    }
    for line in [
        "aten::gelu: assumed: approximate = \"none\"",
        "c10d::allreduce_: is a collective, which needs the other ranks",
        "2 of 3 operators can be replayed; wrote out/replay.json, out/replay.py",
        "run them where PyTorch is installed: python out/replay.py",
    ] {
        assert!(lines.contains(&line), "no {line:?} in {out}");
    }
    assert_eq!(place.files("out"), ["replay.json", "replay.py"]);
    let golden = include_str!("replay_golden.json");
    let written = String::from_utf8(place.bytes("out/replay.json")).unwrap();
    assert_eq!(written, golden);
    assert!(String::from_utf8(place.bytes("out/replay.py")).unwrap().contains(golden));
}

#[test]
fn a_report_gives_the_operators_of_its_trace() {
    let place = Workplace::with_generated();
    let reports = [
        "--output_csvs_dir",
        "csv",
        "--output_xlsx_path",
        "report.xlsx",
        "--output_json_path",
        "report.json",
    ];
    place.run(&[&["pytorch", "trace.json.gz"][..], &reports].concat()).exits_with(0);
    let operators = |file: &str| {
        let out = place.run(&["replay", file, "--top", "8", "--json"]).exits_with(0).out;
        let mut document = serde_json::from_str::<Value>(&out).unwrap()["result"].take();
        for operator in document["operators"].as_array_mut().unwrap() {
            // Sums of rounded figures, and what reports do not have.
            operator
                .as_object_mut()
                .unwrap()
                .retain(|key, _| !matches!(&**key, "time_us" | "share_percent" | "uid"));
            if let Some(entry) = operator["entry"].as_object_mut() {
                let kernels = entry["kernels"].as_array_mut().unwrap();
                kernels.sort_by_key(ToString::to_string);
                entry.retain(|key, _| !matches!(&**key, "median_us" | "host_median_us"));
            }
        }
        document["operators"].clone()
    };
    let of_trace = operators("trace.json.gz");
    assert_eq!(of_trace.as_array().unwrap().len(), 8);
    for file in ["csv", "report.xlsx", "report.json"] {
        assert_eq!(operators(file), of_trace, "{file}");
    }
}

#[test]
fn operators_are_chosen_by_name_and_by_event() {
    let place = place();
    let names = |arguments: &[&str]| {
        let out = place.run(&[&["replay", "trace.json", "--json"][..], arguments].concat()).exits_with(0).out;
        let document: Value = serde_json::from_str(&out).unwrap();
        let operators = document["result"]["operators"].as_array().unwrap().iter();
        operators
            .map(|operator| {
                (operator["name"].as_str().unwrap().to_owned(), operator["count"].as_u64().unwrap())
            })
            .collect::<Vec<_>>()
    };
    let named = |names: &[(&str, u64)]| -> Vec<(String, u64)> {
        names.iter().map(|&(name, count)| (name.to_owned(), count)).collect()
    };
    assert_eq!(names(&["--op", "aten::gelu"]), named(&[("aten::gelu", 1)]));
    assert_eq!(
        names(&["--op", "aten::gelu", "--op", "aten::mm"]),
        named(&[("aten::mm", 2), ("aten::gelu", 1)])
    );
    // The operator, its launch, its kernel.
    for uid in ["2", "3", "9"] {
        assert_eq!(names(&["--uid", uid]), named(&[("aten::mm", 2)]), "{uid}");
    }
    assert_eq!(names(&["--top", "1"]), named(&[("aten::mm", 2)]));
}

#[test]
fn what_cannot_be_replayed_is_an_error_that_says_why() {
    let place = place();
    place.put("cut.json", &place.bytes("trace.json")[..300]);
    place.put("file", "");
    for (arguments, parts) in [
        (&["trace.json", "--op", "aten::m"][..], &["has no operator named \"aten::m\"", "ops_all"][..]),
        (&["trace.json", "--uid", "77"], &["has no operator at event 77 or above it in the call tree"]),
        (
            &["trace.json", "--op", "c10d::allreduce_", "-o", "out"],
            &["none of these operators can be replayed"],
        ),
        (&["trace.json", "-o", "file"], &["a file with this name exists"]),
        (&["absent.json"], &["absent.json"]),
        (&["file"], &["file"]),
    ] {
        let outcome = place.run(&[&["replay"][..], arguments].concat());
        let code = if arguments.contains(&"file") && arguments.contains(&"-o") { 1 } else { 2 };
        outcome.exits_with(code).with_error(parts);
    }
    assert!(!place.path("out").exists());
    let cut = place.run("replay cut.json").exits_with(0);
    assert!(cut.err.contains("tracelens: warning: "), "{cut:?}");
    place.run("replay trace.json --op aten::mm --uid 1").exits_with(2);
    let refused = place.run("replay trace.json --max-bytes 100").exits_with(0).out;
    assert!(
        refused.contains("aten::mm: its tensors take 10240 bytes, more than the limit of 100"),
        "{refused}"
    );
}

#[test]
fn replayed_calls_have_the_recorded_shapes_types_and_strides() {
    let Some(python) = python_with_pytorch() else { return };
    for recording in ["conv_net_step", "transformer_step", "transformer_fp8"] {
        let place = Workplace::with("");
        let recording = recorded_without_gpu().with_file_name(format!("{recording}.json.gz"));
        place.run(&["replay", recording.to_str().unwrap(), "--top", "60", "-o", "out"]).exits_with(0);
        let arguments = ["--runs", "2", "--warm-up", "1", "--refill", "--max-bytes", "20000000", "--verify"];
        let files = ["--json", "rows.json", "--csv", "rows.csv", "--trace", "again.json"];
        let output = replay(&python, &place, &[&arguments[..], &files].concat());
        let rows = json(&place, "rows.json");
        let ran: Vec<bool> = rows.iter().map(|row| row["status"] == "ok").collect();
        assert!(ran.iter().filter(|&&ran| ran).count() >= 10, "{output:?}");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(
            rows.iter().filter(|row| row["status"] == "ok").all(|row| row["replay_us"].as_f64() > Some(0.0))
        );
        assert_eq!(String::from_utf8(place.bytes("rows.csv")).unwrap().lines().count(), rows.len() + 1);
        let entries = json(&place, "out/replay.json");
        let kept: Vec<Value> =
            std::iter::zip(entries, ran).filter(|(_, ran)| *ran).map(|(entry, _)| entry).collect();
        same_calls(&place, &kept);
    }
}

/// Checks that the trace `again.json` that a replay wrote has a call like each of these entries.
pub(crate) fn same_calls(place: &Workplace, entries: &[Value]) {
    let mut arguments = vec!["replay", "again.json", "-o", "again"];
    for (name, _) in calls(entries) {
        if !arguments.contains(&name) {
            arguments.extend(["--op", name]);
        }
    }
    place.run(&arguments).exits_with(0);
    let again = json(place, "again/replay.json");
    let again: Vec<(&str, Value)> =
        calls(&again).into_iter().map(|(name, arguments)| (name, as_recorded(arguments))).collect();
    for (name, arguments) in calls(entries) {
        let call = (name, as_recorded(arguments));
        assert!(again.contains(&call), "{name} {arguments:#}");
    }
}

/// Arguments without what recordings do not say, and without parameters that a later PyTorch added.
fn as_recorded(arguments: &Value) -> Value {
    let mut values: Vec<Value> = ["list_pos_args", "list_kwargs"]
        .iter()
        .flat_map(|list| arguments[list].as_array().unwrap())
        .map(|argument| argument["value"].clone())
        .collect();
    for value in &mut values {
        match value {
            Value::Object(tensor) => {
                tensor.retain(|key, _| matches!(&**key, "shape" | "strides" | "dtype"));
            }
            // The types of lists are not recorded.
            Value::Array(items) => items.iter_mut().filter_map(Value::as_object_mut).for_each(|tensor| {
                tensor.retain(|key, _| matches!(&**key, "shape" | "strides"));
            }),
            _ => {}
        }
    }
    while values.last() == Some(&Value::Null) {
        values.pop();
    }
    Value::Array(values)
}

#[test]
fn operators_that_fail_are_counted_and_end_with_1() {
    let Some(python) = python_with_pytorch() else { return };
    let wrong = TWO_MATRICES.replace("[32, 16]]", "[33, 16]]");
    let place = Workplace::with(trace(&[
        operator_with("aten::mm", 0.0, 10.0, &wrong),
        operator_with("aten::mm", 20.0, 5.0, TWO_MATRICES),
        operator_with("own::\\\"\\\"\\\"; import os; os.abort() #", 40.0, 1.0, TWO_MATRICES),
    ]));
    place.run("replay trace.json -o out").exits_with(0);
    let output = replay(&python, &place, &["--runs", "1", "--warm-up", "0"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("3 of 3 tried: 1 ran, 2 failed, 0 skipped"), "{said}");
    assert!(said.contains("cannot be multiplied"), "{said}");
    assert!(said.contains("has no operator own::\"\"\"; import os"), "{said}");
    for (arguments, counts) in [
        (&["--stop-on-error"][..], "1 of 3 tried: 0 ran, 1 failed, 0 skipped"),
        (&["--op-filter", "aten", "--op-limit", "1"], "1 of 1 tried: 0 ran, 1 failed, 0 skipped"),
        (&["--max-bytes", "10"], "3 of 3 tried: 0 ran, 0 failed, 3 skipped"),
    ] {
        let output = replay(&python, &place, &[&["--runs", "0"], arguments].concat());
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(counts), "{said}");
    }
}
