//! What profilers really write, and what is left of it: every input ends in a trace with counted warnings
//! or in one clear error, and nothing is lost silently.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use miette::Diagnostic;
use proptest::prelude::*;
use trace_ingest::{EventId, IngestError, Phase, ReadOptions, Trace, Warning, read_path};

fn read(content: impl AsRef<[u8]>) -> Result<Trace, IngestError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.json");
    std::fs::write(&path, content).unwrap();
    read_path(&path, &ReadOptions::default())
}

fn read_ok(content: impl AsRef<[u8]>) -> Trace {
    read(content).unwrap_or_else(|error| panic!("{error}"))
}

fn error(content: impl AsRef<[u8]>) -> String {
    read(content).map(|trace| trace.entries()).unwrap_err().to_string()
}

fn warnings(trace: &Trace) -> Vec<String> {
    trace.warnings().iter().map(ToString::to_string).collect()
}

fn names(trace: &Trace) -> Vec<&str> {
    trace.events().ids().map(|event| trace.name(event)).collect()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

const TWO_EVENTS: &str = r#"{"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "first", "pid": 1, "tid": 1, "ts": 10.5, "dur": 4},
    {"ph": "X", "cat": "cpu_op", "name": "second", "pid": 1, "tid": 1, "ts": 11.0, "dur": 0.25}
]}"#;

/// A list of one event with these members after `ph`, `name`, `pid` and `tid`.
fn one(members: &str) -> String {
    format!(r#"{{"traceEvents":[{{"ph":"X","name":"n","pid":1,"tid":1,{members}}}]}}"#)
}

#[test]
fn the_event_list_may_stand_anywhere() {
    for text in [
        TWO_EVENTS.to_string(),
        format!(r#"{{"metadata": {{"a": ["]", {{}}]}}, {}"#, &TWO_EVENTS[1..]),
        format!(r#"{}, "traceName": "x"}}"#, TWO_EVENTS.trim_end_matches('}')),
        TWO_EVENTS[TWO_EVENTS.find('[').unwrap()..TWO_EVENTS.len() - 1].to_string(),
        format!("\u{feff}{TWO_EVENTS}"),
        format!("\n  {TWO_EVENTS}\n"),
    ] {
        let trace = read_ok(&text);
        assert_eq!(names(&trace), ["first", "second"], "{text}");
        assert_eq!(warnings(&trace), [""; 0], "{text}");
        assert_eq!((trace.origin(), trace.events().end(EventId(1))), (10_500, 750));
    }
}

#[test]
fn any_number_of_event_lists_is_read() {
    let lists = r#""traceEvents": [{"ph":"X","name":"n","ts":1,"dur":1}],"#.repeat(100_000);
    assert_eq!(read_ok(format!("{{{lists}\"traceName\": \"t\"}}")).entries(), 100_000);
}

#[test]
fn compression_is_recognised_by_content() {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, text) in [("readme.txt", "hello"), ("run/trace.json", TWO_EVENTS)] {
        zip.start_file(name, options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    let zip = zip.finish().unwrap().into_inner();
    let mut two_members = gzip(&TWO_EVENTS.as_bytes()[..100]);
    two_members.extend(gzip(&TWO_EVENTS.as_bytes()[100..]));
    for (content, expected) in [
        (gzip(TWO_EVENTS.as_bytes()), None),
        (two_members, None),
        (gzip(&gzip(TWO_EVENTS.as_bytes())), None),
        (zstd::encode_all(TWO_EVENTS.as_bytes(), 1).unwrap(), None),
        (zip, Some("run/trace.json")),
    ] {
        let trace = read_ok(content);
        assert_eq!(names(&trace), ["first", "second"]);
        match expected {
            None => assert_eq!(warnings(&trace), [""; 0]),
            Some(read) => assert!(warnings(&trace)[0].contains(read), "{:?}", warnings(&trace)),
        }
    }
}

#[test]
fn a_changed_member_of_an_archive_is_told() {
    for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        zip.start_file("trace.json", options).unwrap();
        zip.write_all(TWO_EVENTS.as_bytes()).unwrap();
        let mut zip = zip.finish().unwrap().into_inner();
        assert_eq!(warnings(&read_ok(&zip)), [""; 0], "{method}");
        // The checksum of the member where the archive lists it, behind the signature, versions, flags, method and time.
        let listed = zip.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        zip[listed + 16] ^= 1;
        let trace = read_ok(&zip);
        assert_eq!(names(&trace), ["first", "second"], "{method}");
        assert!(warnings(&trace)[0].contains("matching checksum"), "{:?}", warnings(&trace));
    }
}

#[test]
fn long_names_of_processes_and_threads_are_cut() {
    let name = |kind: &str, length: usize| {
        let text = "é".repeat(length);
        format!(
            r#"{{"ph": "M", "name": "{kind}", "pid": 1, "tid": 2, "args": {{"name": "{text}", "labels": "{text}"}}}}"#
        )
    };
    let names = [name("process_name", 1_001), name("process_labels", 1_000), name("thread_name", 70_000)];
    let trace = read_ok(format!(
        r#"{{"traceEvents": [{}, {{"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": 1, "dur": 1}}]}}"#,
        names.join(", ")
    ));
    let warned = [Warning::LongNames { count: 2, longest: 1_000 }];
    assert_eq!(trace.warnings(), warned);
    let row = trace.events().track(EventId(0));
    let process = trace.tracks().process(trace.tracks().get(row).pid);
    let length = |name: Option<trace_ingest::StringId>| trace.text(name.unwrap()).chars().count();
    assert_eq!((length(process.name), length(process.labels)), (1_001, 1_000));
    assert_eq!(length(trace.tracks().thread(trace.tracks().get(row)).name), 1_001);
}

#[test]
fn times_are_exact_in_every_notation() {
    for (ts, dur, start, duration) in [
        ("1419116104994.671", "0.001", 1_419_116_104_994_671, 1),
        ("5", "2", 5_000, 2_000),
        ("\"6870000000000.123\"", "\"1.5\"", 6_870_000_000_000_123, 1_500),
        ("1.5e3", "1E-3", 1_500_000, 1),
    ] {
        let trace = read_ok(one(&format!(r#""ts": {ts}, "dur": {dur}"#)));
        assert_eq!((trace.origin(), trace.events().duration(EventId(0))), (start, duration), "{ts} {dur}");
    }
}

#[test]
fn raw_control_characters_in_strings_are_kept() {
    let trace = read_ok(one("\"cat\": \"a\u{1}\n\tb\", \"ts\": 1, \"dur\": 1"));
    assert_eq!(trace.category_name(trace.events().category(EventId(0))), "a\u{1}\n\tb");
}

#[test]
fn not_a_number_and_infinity_are_no_times_but_break_nothing() {
    let trace = read_ok(
        r#"{"traceEvents":[
        {"ph":"X","name":"a","ts":NaN,"dur":1},
        {"ph":"X","name":"b","ts":1,"dur":Infinity,"args":{"bytes":-Infinity,"stream":NaN}},
        {"ph":"X","name":"c","ts":2,"dur":3}]}"#,
    );
    assert_eq!(names(&trace), ["b", "c"]);
    assert_eq!(trace.events().uid(EventId(0)), 1);
    let warnings = warnings(&trace);
    assert!(
        warnings[0].contains("events without a readable time (ts), skipped: 1 (first: event 0)"),
        "{warnings:?}"
    );
    assert!(
        warnings[1].contains("events without a readable duration (dur), set to zero: 1 (first: event 1)"),
        "{warnings:?}"
    );
}

#[test]
fn invalid_utf8_is_replaced_and_counted() {
    let mut text = one("\"ts\": 1, \"dur\": 1").into_bytes();
    let at = text.windows(3).position(|window| window == b"\"n\"").unwrap();
    text[at + 1] = 0xff;
    let trace = read_ok(text);
    assert_eq!(names(&trace), ["\u{fffd}"]);
    assert!(warnings(&trace)[0].contains("strings with invalid UTF-8"), "{:?}", warnings(&trace));
}

#[test]
fn the_last_of_duplicate_keys_wins() {
    let trace = read_ok(one(r#""ts": 1, "ts": 2, "dur": 1, "args": {"stream": 1, "stream": 7}"#));
    assert_eq!((trace.origin(), trace.events().stream(EventId(0))), (2_000, Some(7)));
}

#[test]
fn missing_fields_are_counted_by_kind() {
    let trace = read_ok(
        r#"{"traceEvents":[
        {"ph":"X","name":"no ts","dur":1},
        {"ph":"X","name":"no dur","ts":1},
        {"ph":"X","ts":2,"dur":1},
        {"ph":"X","name":"negative","ts":3,"dur":-1},
        {"name":"no ph","ts":4},
        {"ph":"C","name":"counter","ts":5},
        {"ph":"M","name":"process_name","args":{"name":"no pid"}},
        {"ph":"M","name":"process_colour","pid":1,"args":{"name":"red"}}]}"#,
    );
    assert_eq!(names(&trace), ["no dur", "", "negative"]);
    assert_eq!(trace.entries(), 8);
    assert_eq!(trace.events().duration(EventId(2)), 0);
    let expected = [
        "events without a readable time (ts), skipped: 1 (first: event 0)",
        "events without a readable duration (dur), set to zero: 1 (first: event 1)",
        "negative durations, set to zero: 1 (first: event 3)",
        "events without a name: 1 (first: event 2)",
        "events without a readable phase (ph) skipped: 1",
        "unused counter samples (ph C) skipped: 1",
        "metadata events of unknown kind or without a process skipped: 2",
    ];
    assert_eq!(warnings(&trace), expected);
}

#[test]
fn arrows_that_no_figure_needs_are_no_faults() {
    let trace = read_ok(
        r#"{"traceEvents":[
        {"ph":"X","name":"op","cat":"cpu_op","pid":1,"tid":1,"ts":1,"dur":1},
        {"ph":"s","name":"async","cat":"async_gpu","id":1,"pid":1,"tid":1,"ts":1},
        {"ph":"t","name":"async","cat":"async_gpu","id":1,"pid":1,"tid":1,"ts":2},
        {"ph":"f","name":"async","cat":"async_gpu","id":1,"pid":1,"tid":1,"ts":3},
        {"ph":"s","name":"ac2g","cat":"ac2g","pid":1,"tid":1,"ts":3}]}"#,
    );
    assert_eq!((trace.entries(), names(&trace).len()), (5, 1));
    assert_eq!(warnings(&trace), ["unused flow events without an id (ph s) skipped: 1"]);
}

#[test]
fn begin_and_end_events_become_spans() {
    let trace = read_ok(
        r#"{"traceEvents":[
        {"ph":"B","name":"outer","pid":1,"tid":1,"ts":10},
        {"ph":"B","name":"inner","pid":1,"tid":1,"ts":20},
        {"ph":"B","name":"other thread","pid":1,"tid":2,"ts":21},
        {"ph":"E","pid":1,"tid":1,"ts":30},
        {"ph":"E","pid":1,"tid":1,"ts":50},
        {"ph":"E","pid":1,"tid":1,"ts":51},
        {"ph":"i","name":"moment","pid":1,"tid":2,"ts":60}]}"#,
    );
    let spans: Vec<_> =
        trace.events().ids().map(|event| (trace.name(event), trace.events().duration(event))).collect();
    assert_eq!(spans, [("outer", 40_000), ("inner", 10_000), ("other thread", 39_000), ("moment", 0)]);
    assert_eq!(trace.events().phase(EventId(3)), Phase::Instant);
    let expected = [
        "spans without an end (B without E), extended to the end of their track: 1 (first: event 2)",
        "span ends without a begin (E without B), skipped: 1 (first: event 5)",
    ];
    assert_eq!(warnings(&trace), expected);
}

#[test]
fn trailing_commas_are_tolerated() {
    let trace = read_ok(r#"{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1,"args":{"stream":3,},},],}"#);
    assert_eq!((names(&trace), trace.events().stream(EventId(0))), (vec!["a"], Some(3)));
    assert_eq!(warnings(&trace), [""; 0]);
}

#[test]
fn malformed_events_are_skipped_counted_and_located() {
    for broken in [
        r#"{"ph": "X" "name": "no comma", "ts": 1, "dur": 1}"#,
        r#"{"ph": "X", "name": oops", "ts": 1, "dur": 1}"#,
        r#"{"ph": "X", "name": "no quote, "ts": 1, "dur": 1}"#,
        r#"{"ph": "X", "ts": 1"name": 1, "dur": 1}"#,
        r#"{"ph": "X", "name": , "ts": 1}"#,
        r#"{"ph": "X", "name": "no brace", "ts": 1"#,
        "17",
        "null",
    ] {
        let text = format!(
            r#"{{"traceEvents":[{{"ph":"X","name":"before","ts":1,"dur":1}},{broken},{{"ph":"X","name":"after","ts":2,"dur":1}}],"traceName":"t"}}"#
        );
        let trace = read_ok(&text);
        assert_eq!(names(&trace), ["before", "after"], "{broken}");
        assert_eq!(trace.events().uid(EventId(1)), 2, "{broken}");
        let warnings = warnings(&trace);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let position = format!("first at byte {}", text.find(broken).unwrap());
        assert!(
            warnings[0].contains("malformed events skipped: 1") && warnings[0].contains(&position),
            "{warnings:?}"
        );
        assert_eq!(trace.facts().trace_name.as_deref(), Some("t"), "{broken}");
    }
}

#[test]
fn files_that_are_no_traces_say_what_they_are() {
    for (content, parts) in [
        (&b""[..], &["is empty: the profiler probably stopped"][..]),
        (b"\x89PNG\r\n\x1a\n\x00\x00", &["found a PNG image", "expected an event trace"]),
        (b"\x00\x01\x02\xff\xfe", &["found binary data in an unknown format"]),
        (b"name,value\n1,2\n", &["found text in an unknown format"]),
        (b"   \n", &["found text in an unknown format"]),
        (b"{}", &["no \"traceEvents\" list (at byte 2"]),
        (b"{\"a\": 1, \"b\": {\"c\": 2}}", &["it begins with a, b"]),
        (b"{\"traceEvents\": 5}", &["'traceEvents' must be a list"]),
        (b"{\"a\": 1, ", &["ends before the list of events begins"]),
        (b"{oops", &["not JSON: expected a key in quotes (at byte 1"]),
    ] {
        let message = error(content);
        assert!(message.contains("trace.json"), "{message}");
        for part in parts {
            assert!(message.contains(part), "{part:?} not in {message:?}");
        }
    }
}

#[test]
fn a_directory_and_a_missing_file_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let error = read_path(directory.path(), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().ends_with("is a directory"), "{error}");
    assert!(error.help().unwrap().to_string().starts_with("pass a recording inside it"));
    let missing = directory.path().join("missing.json");
    let message = read_path(&missing, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("missing.json: cannot be read"), "{message}");
}

/// A trace of `count` events in which event `i` is named `e{i}`.
fn numbered(count: usize) -> String {
    let events: Vec<String> = (0..count)
        .map(|i| format!(r#"{{"ph": "X", "name": "e{i}", "ts": {i}.5, "dur": 1, "args": {{"x": ["]", {{"name": "}}"}}]}}}}"#))
        .collect();
    format!("{{\"traceEvents\": [\n{}\n]}}", events.join(",\n"))
}

#[test]
fn a_gzip_damaged_half_way_gives_what_comes_before() {
    let text = numbered(20_000);
    let mut packed = gzip(text.as_bytes());
    let middle = packed.len() / 2;
    packed.truncate(middle);
    let trace = read_ok(&packed);
    assert!(trace.entries() > 1000, "{}", trace.entries());
    assert!(warnings(&trace)[0].contains("compressed data is damaged"), "{:?}", warnings(&trace));

    let mut packed = gzip(text.as_bytes());
    packed[middle..middle + 64].fill(0xff);
    let trace = read_ok(&packed);
    assert!(trace.entries() > 1000 && trace.entries() < 20_000, "{}", trace.entries());
    assert!(!warnings(&trace).is_empty());

    let message = error(&gzip(text.as_bytes())[..12]);
    assert!(message.contains("trace.json"), "{message}");
}

#[test]
fn a_secret_in_the_environment_dump_reaches_nothing() {
    let secret = "hf_PLANTED_SECRET";
    let environment = format!(
        r#""metadata": {{"HF_TOKEN": "{secret}", "nested": [{{"KEY": "{secret}"}}]}}, "{secret}x": 1"#
    );
    let whole = format!(
        r#"{{{environment}, "deviceProperties": "{secret}", "traceEvents": [{{"ph":"X","name":"n","ts":1,"dur":1}}]}}"#
    );
    let trace = read_ok(&whole);
    let shown = format!("{trace:?} {:?}", warnings(&trace));
    assert!(!shown.contains(secret), "{shown}");
    for cut in 0..whole.len() {
        if let Err(error) = read(&whole[..cut]) {
            let message = error.to_string();
            assert!(!message.contains(secret) || cut > whole.find("x\": 1").unwrap(), "{message}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The index of the last event that is complete before the cut tells how many must be there.
    #[test]
    fn a_cut_loses_no_complete_event(count in 0usize..30, cut in 0.0f64..1.0) {
        let text = numbered(count);
        let cut = (cut * text.len() as f64) as usize;
        let complete = text[..cut].matches("}]}}").count();
        match read(&text[..cut]) {
            Ok(trace) => {
                let expected: Vec<String> = (0..complete).map(|i| format!("e{i}")).collect();
                prop_assert_eq!(names(&trace), expected);
                let lost = cut - text[..cut].rfind("}]}}").map_or(text.find('[').unwrap() + 1, |at| at + 4);
                let [Warning::Truncated { bytes_lost }] = trace.warnings() else { panic!("{:?}", trace.warnings()) };
                // Blanks and the comma between events are no loss.
                let between = lost as u64 - bytes_lost;
                prop_assert!(between <= 3, "{bytes_lost} reported, {lost} lost");
            }
            Err(_) => prop_assert_eq!(complete, 0),
        }
    }

    #[test]
    fn any_bytes_end_in_a_trace_or_an_error(content in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&content).map(|trace| trace.entries());
        let mut in_list = b"{\"traceEvents\":[".to_vec();
        in_list.extend(&content);
        prop_assert!(read(&in_list).is_ok());
    }
}
