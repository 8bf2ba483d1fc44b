//! What may be given as a recording: standard input, files of other tools, too many files.

use serde_json::Value;

use std::path::Path;

use crate::program::{Sheets, Workplace, generated};
use crate::split::served;
use crate::trace::{one_operator, trace};

fn test_data(name: &str) -> std::path::PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated")).join(name)
}

#[test]
fn standard_input_is_read_like_a_file() {
    let place = Workplace::with_generated();
    for (subcommand, options) in [
        ("report", &["--json"][..]),
        ("pytorch", &["--json"]),
        ("inference", &["--json"]),
        ("tree", &["--depth", "1"]),
        ("tree", &["--name", "aten::mm", "--parents"]),
    ] {
        let piped = place.run_on(generated(), &[&[subcommand, "-"], options].concat()).exits_with(0);
        let named = place.run(&[&[subcommand, "trace.json.gz"], options].concat()).exits_with(0);
        let piped_out = match serde_json::from_str::<Value>(&piped.out) {
            Ok(answer) => {
                // A stream has no size and no hash.
                assert_eq!(answer["inputs"][0]["sha256"], Value::Null);
                let mut named: Value = serde_json::from_str(&named.out).unwrap();
                named["inputs"] = answer["inputs"].clone();
                assert_eq!(answer.to_string(), named.to_string().replace("trace.json.gz", "standard input"));
                continue;
            }
            Err(_) => piped.out,
        };
        assert_eq!(piped_out, named.out.replace("trace.json.gz", "standard input"), "{subcommand}");
    }
    // Nothing is beside standard input, so no workbook is written unasked.
    place
        .run_on(generated(), "report -")
        .exits_with(0)
        .with_summary(&["standard input · 1 of 8 × NVIDIA H100"]);
    assert_eq!(place.files("."), ["trace.json.gz"]);
    place.run_on(generated(), "report - --output_xlsx_path out.xlsx").exits_with(0);
    assert_eq!(place.files("."), ["out.xlsx", "trace.json.gz"]);
}

#[test]
fn every_format_that_is_a_stream_is_recognised_on_standard_input() {
    let place = Workplace::with("");
    for (file, sheet) in [
        ("rocprof/run_results.json.gz", "kernel_summary"),
        ("rocprof/run_results.pftrace.gz", "kernel_summary"),
        ("metal_ops.csv", "ops"),
    ] {
        let out = place.run_on(&test_data(file), &["report", "-", "--json"]).exits_with(0).out;
        assert!(Sheets::parse(&out).has(sheet), "{file}");
    }
    let mut archive = zip::ZipWriter::new(std::fs::File::create(place.path("trace.zip")).unwrap());
    archive.start_file("trace.json", zip::write::SimpleFileOptions::default()).unwrap();
    std::io::Write::write_all(&mut archive, trace(&one_operator()).as_bytes()).unwrap();
    archive.finish().unwrap();
    let out = place.run_on(&place.path("trace.zip"), &["report", "-", "--json"]).exits_with(0).out;
    assert!(Sheets::parse(&out).has("ops_summary"));
}

#[test]
fn a_trace_on_standard_input_is_split() {
    let place = served();
    let file = place.path("trace.json");
    place.run_on(&file, &["split", "-"]).exits_with(0).with_summary(&["standard input: 10 steps"]);
    place.run_on(&file, &["split", "-", "-o", "out", "--store-single-iteration"]).exits_with(0);
    let files = place.files("out");
    assert_eq!(files.len(), 12);
    assert_eq!(files.iter().filter(|file| file.starts_with("stdin_annotation_iteration_")).count(), 10);
}

#[test]
fn databases_are_read_from_standard_input() {
    let place = Workplace::with("");
    for file in ["rocprof/run_results.db", "nsys/run.sqlite"] {
        let out = place.run_on(&test_data(file), &["report", "-", "--json"]).exits_with(0).out;
        assert!(Sheets::parse(&out).has("kernel_summary"), "{file}");
    }
    place.put("run.db", b"SQLite format 3\0 and pages");
    place
        .run_on(&place.path("run.db"), &["report", "-"])
        .exits_with(2)
        .with_error(&["the file ends here, but its header says 100 bytes"]);
    place.run_on(&place.path("trace.json"), &["report", "-"]).exits_with(2).with_error(&["is empty"]);
}

#[test]
fn recordings_of_other_tools_are_named_as_what_they_are() {
    let place = Workplace::with("");
    for (file, content, parts) in [
        ("a.nsys-rep", &b"\x01\x02\x03"[..], &["a.nsys-rep: is an Nsight Systems recording", "nsys export --type sqlite"][..]),
        ("a.qdrep", b"\x01\x02\x03", &["Nsight Systems"]),
        ("a.ncu-rep", b"\x01\x02\x03", &["an Nsight Compute report", "ncu --import"]),
        ("renamed.bin", b"NVR\0\x01\x02", &["an Nsight Compute report"]),
        ("a.h5", b"\x89HDF\r\n\x1a\n", &["an HDF5 file"]),
        (
            "chrome.json",
            br#"{"traceEvents": [{"ph": "X", "cat": "toplevel", "name": "Task", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}"#,
            &["not from PyTorch's profiler", "ui.perfetto.dev", "record the run with torch.profiler"],
        ),
    ] {
        place.put(file, content);
        for subcommand in ["report", "pytorch"] {
            place.run(&[subcommand, file]).exits_with(2).with_error(parts);
        }
    }
    // The content counts: a trace with the name of another tool's file is a trace.
    place.put("b.nsys-rep", trace(&one_operator()));
    place.run("report b.nsys-rep --json").exits_with(0);
    // Slices of a category that rocprofv3 does not write.
    let packet = |message: &[u8]| [&[0x0a, message.len() as u8], message].concat();
    let slice =
        [&[0x58, 0x01, 0x48, 0x01][..], &[0xb2, 0x01, 0x07], b"toplevl", &[0xba, 0x01, 0x01, b'n']].concat();
    let event = [&[0x40, 0x05, 0x5a, slice.len() as u8][..], &slice, &[0x50, 0x01]].concat();
    place.put("other.pftrace", packet(&event).repeat(3));
    place.run("report other.pftrace").exits_with(2).with_error(&[
        "a Perfetto trace by another program, with slices of \"toplevl\"; expected one",
        "one by PyTorch's profiler or rocprofv3",
    ]);
}

#[test]
fn more_files_than_are_read_get_a_tip() {
    let place = Workplace::with(trace(&one_operator()));
    for (arguments, tip) in [
        (&["tree", "trace.json", "other.json"][..], "`tracelens tree` reads one recording"),
        (&["split", "trace.json", "other.json", "-o", "out"], "`tracelens split` reads one trace"),
        (
            &["split", "match", "trace.json", "b.json", "c.json", "-o", "out"],
            "`tracelens split match` reads two traces",
        ),
    ] {
        let outcome = place.run(arguments).exits_with(2);
        assert!(outcome.err.contains(tip), "{outcome:#?}");
    }
    let outcome = place.run("report trace.json trace.json").exits_with(2);
    outcome.with_error(&[
        "a report covers a single recording",
        "report on each separately; `tracelens ranks` reports on several ranks of one job",
    ]);
    for subcommand in ["tree", "report", "split"] {
        place.run(&[subcommand, "*.json"]).exits_with(2).with_error(&["*.json: no such file", "pattern"]);
    }
}
