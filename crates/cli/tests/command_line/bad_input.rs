//! What profilers and disks really leave behind: a report with counted warnings, or one clear error.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use crate::program::{Workplace, recorded_without_gpu};
use crate::trace::{one_operator, one_operator_and, trace};

const FIGURES: &[&str] = &["GPU window 100.0 µs", "aten::mm 1 100.000 100.0"];

fn report(content: impl AsRef<[u8]>) -> crate::program::Outcome {
    Workplace::with(content).run("report trace.json")
}

#[test]
fn faulty_events_are_counted_and_the_others_reported() {
    // Raw control characters in a text are read as they are.
    let control = r#"{"ph": "X", "cat": "cpu_op", "name": "a?b", "pid": 1, "tid": 1, "ts": 300, "dur": 1}"#;
    check_event(&control.replace('?', "\u{1}\u{1b}[31m"), "");
    for row in include_str!("faulty_events.txt").lines().filter(|line| !line.starts_with('#')) {
        let (event, warning) = row.split_once("=>").unwrap();
        check_event(event.trim(), warning.trim());
    }
}

/// Makes sure of the one warning of an event, or of none, and that the report is that of the others.
fn check_event(event: &str, warning: &str) {
    let outcome = report(one_operator_and(event)).exits_with(0).with_summary(FIGURES);
    let expected = usize::from(!warning.is_empty());
    assert_eq!(outcome.out.matches("warning: ").count(), expected, "{event}: {outcome:#?}");
    assert_eq!(outcome.err, "", "{event}");
    assert!(!outcome.out.contains(['\u{1}', '\u{1b}']), "{event}: {outcome:#?}");
    outcome.with_summary(&[warning]);
}

#[test]
fn of_duplicate_keys_the_last_one_counts() {
    let content = trace(&one_operator()).replace(r#""dur": 100"#, r#""dur": 7, "dur": 100"#);
    assert!(content.contains(r#""dur": 7"#));
    report(content).exits_with(0).with_summary(FIGURES);
}

#[test]
fn invalid_utf8_is_replaced_and_counted() {
    let mut content = trace(&one_operator()).into_bytes();
    let name = content.windows(4).position(|window| window == b"gemm").unwrap();
    content[name] = 0xff;
    report(content)
        .exits_with(0)
        .with_summary(&["GPU window 100.0 µs", "warning: strings with invalid UTF-8, replaced with U+FFFD"]);
}

#[test]
fn a_cut_off_file_is_reported_as_far_as_it_goes() {
    let content = one_operator_and(r#"{"ph": "X", "name": "the rest of this event is mis"#);
    let cut = &content[..content.find("is mis").unwrap()];
    report(cut)
        .exits_with(0)
        .with_summary(FIGURES)
        .with_summary(&["warning: the file is truncated: all complete events were read, "]);
}

#[test]
fn damaged_compression_is_reported_as_far_as_it_goes() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    let many = [one_operator(), vec![r#"{"ph": "i", "name": "x", "ts": 400}"#.to_string(); 10_000]].concat();
    encoder.write_all(trace(&many).as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    report(&whole[..whole.len() / 2])
        .exits_with(0)
        .with_summary(FIGURES)
        .with_summary(&["warning: the compressed data is damaged"]);
    let mut garbled = whole;
    let middle = garbled.len() / 2;
    garbled[middle..].fill(0xff);
    report(garbled).exits_with(0).with_summary(FIGURES).with_summary(&["warning: "]);
}

#[test]
fn what_is_no_trace_is_one_error() {
    for (content, parts) in [
        (&b""[..], &["trace.json: is empty", "record it again"][..]),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &["trace.json: ", "found a PNG image", "such as PyTorch's"]),
        (b"hello", &["trace.json: ", "found text in an unknown format", "such as PyTorch's"]),
        (br#"{"a": 1}"#, &["trace.json: ", "expected a Kineto trace", "traceEvents", "byte"]),
        (b"{", &["trace.json: ", "traceEvents"]),
        (b"[]", &["trace.json: "]),
        (br#"{"traceEvents": []}"#, &["trace.json: "]),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\xff", &["trace.json: "]),
    ] {
        let place = Workplace::with(content);
        let outcome = place.run("report trace.json").exits_with(2).with_error(parts);
        assert_eq!(outcome.out, "");
        assert_eq!(place.files("."), ["trace.json"], "an error writes nothing");
    }
}

#[test]
fn a_directory_and_a_missing_file_are_named() {
    let place = Workplace::with("");
    place.run("report .").exits_with(2).with_error(&[".: is a directory; pass a recording inside it"]);
    place.run("report no.json").exits_with(2).with_error(&["no.json: cannot be read: No such file"]);
    place.run("tree no.json").exits_with(2).with_error(&["no.json: cannot be read: No such file"]);
}

#[test]
fn a_trace_without_gpu_events_has_the_times_of_the_host_and_says_how_to_record_more() {
    let launched = trace(&one_operator()[..2]);
    report(launched).exits_with(0).with_summary(&[
        "no device work in this recording, although the host made 1 launch: times are host times",
        "aten::mm",
        "gpu_timeline and the other device sheets are omitted",
        "ProfilerActivity.CUDA",
    ]);
    let place = Workplace::with("");
    let recorded = recorded_without_gpu().to_str().unwrap();
    place
        .run(&["report", recorded, "--output_csvs_dir", "csv"])
        .exits_with(0)
        .with_summary(&["no device work in this recording: times are host times", "host self"]);
    let files = place.files("csv");
    assert!(files.contains(&"host_ops.csv".to_owned()), "{files:?}");
    assert!(!files.iter().any(|file| file.starts_with("gpu_timeline")), "{files:?}");
}

#[test]
fn the_range_profiler_takes_the_place_of_device_records() {
    let range =
        r#"{"ph":"X","cat":"cuda_profiler_range","name":"k","pid":0,"tid":0,"ts":1,"dur":1,"args":{}}"#;
    let events = [one_operator()[0].clone(), one_operator()[1].clone(), range.to_owned()];
    report(trace(&events))
        .exits_with(0)
        .with_summary(&["range profiler replaced the device records", "record without it"]);
}

#[test]
fn a_trace_without_gpu_events_and_operators_has_no_report() {
    let call = trace(&one_operator()[1..2]);
    report(call).exits_with(2).with_error(&["has no GPU events, only 1 host event", "ProfilerActivity.CUDA"]);
}

#[test]
fn gpu_events_that_may_be_lost_are_not_said_to_be_unrecorded() {
    let content = trace(&one_operator());
    let cut = &content[..content.find("gemm").unwrap()];
    let outcome = report(cut).exits_with(0).with_summary(&[
        "no device work in the readable part of this recording",
        "in the lost part",
        "warning: the file is truncated",
    ]);
    assert!(!outcome.out.contains("ProfilerActivity"), "{outcome:#?}");
}

#[test]
fn mps_is_no_run_of_the_cpu_alone() {
    let allocation = r#"{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":2,"s":"t",
        "args":{"Device Type":13,"Device Id":0,"Bytes":64}}"#;
    let events = [one_operator()[0].clone(), allocation.to_owned()];
    let outcome = report(trace(&events)).exits_with(0).with_summary(&[
        "MPS work is not in this recording: times are host times, including waits for MPS",
        "torch.mps.profiler",
    ]);
    assert!(!outcome.out.contains("no device work"), "{outcome:#?}");
}

#[test]
fn a_view_of_xprof_names_the_profile_beside_it() {
    let view = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/devices/xprof.json");
    let place = Workplace::with("");
    place.put("host.trace.json", std::fs::read(view).unwrap());
    let report = || place.run("report host.trace.json --output_csvs_dir csv").exits_with(0);
    let outcome = report().with_summary(&["gemm_fusion_dot", "*.xplane.pb), which is not beside it"]);
    assert!(outcome.out.contains("busy 120.0 µs"), "{outcome:#?}");
    place.put("host.xplane.pb", "");
    report().with_summary(&["the profile host.xplane.pb beside it has more"]);
}

#[test]
fn control_characters_of_a_device_name_do_not_reach_the_terminal() {
    let events = trace(&one_operator());
    let content =
        events.replacen('{', r#"{"deviceProperties": [{"id": 0, "name": "GPU\u001b[31m \u0007X"}],"#, 1);
    report(content).exits_with(0).with_summary(&["· GPU\\x1b[31m \\x07X · 3 events"]);
}
