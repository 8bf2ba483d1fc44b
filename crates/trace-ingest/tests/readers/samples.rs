//! Steps of the memory allocator and samples of counters, read into their tables.

use std::io::Write;

use trace_ingest::{EventFault, EventId, MemoryDevice, MemoryEvent, ReadOptions, Trace, Warning, read_path};

fn read(events: &str) -> Trace {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    write!(file, r#"{{"schemaVersion": 1, "traceEvents": [{events}]}}"#).unwrap();
    read_path(file.path(), &ReadOptions::default()).unwrap()
}

fn moment(name: &str, time: &str, arguments: &str) -> String {
    format!(
        r#"{{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "{name}", "pid": 1, "tid": 2, "ts": {time}, "args": {{{arguments}}}}}"#
    )
}

fn counter(process: &str, name: &str, time: &str, arguments: &str) -> String {
    format!(r#"{{"ph": "C", "pid": {process}, "name": "{name}", "ts": {time}, "args": {arguments}}}"#)
}

/// The faults of events with how often each occurred and where first.
fn faults(trace: &Trace) -> Vec<(EventFault, u64, u32)> {
    let fault = |warning: &Warning| match *warning {
        Warning::Events { fault, count, first_uid } => Some((fault, count, first_uid)),
        _ => None,
    };
    trace.warnings().iter().filter_map(fault).collect()
}

const ALL: &str = r#""Total Reserved": 4096, "Total Allocated": 1536, "Bytes": 512, "Addr": 18446744073709551615, "Device Id": 3, "Device Type": 6, "Ev Idx": 17"#;

#[test]
fn what_the_allocator_did_stands_with_its_moment_wherever_the_keys_stand() {
    let all = MemoryEvent {
        device: MemoryDevice { kind: 6, index: 3 },
        bytes: 512,
        address: Some(u64::MAX),
        allocated: Some(1536),
        reserved: Some(4096),
        index: Some(17),
    };
    let arguments_first = format!(
        r#"{{"args": {{{ALL}}}, "ts": 4.5, "tid": 2, "pid": 1, "name": "[memory]", "cat": "cpu_instant_event", "ph": "i"}}"#
    );
    let old = r#""Device Type": 0, "Device Id": -1, "Bytes": -16"#;
    let trace = read(
        &[
            moment("[memory]", "1.5", ALL),
            arguments_first,
            moment("[OutOfMemory]", "5", ALL),
            moment("Record Window End", "6", ALL),
            moment("[memory]", "7", old),
        ]
        .join(","),
    );
    let memory: Vec<_> = trace.events().arguments().memory.iter().collect();
    let old =
        MemoryEvent { device: MemoryDevice { kind: 0, index: -1 }, bytes: -16, ..MemoryEvent::default() };
    assert_eq!(memory, [(0, all), (1, all), (2, all), (4, old)]);
    assert_eq!(trace.events().start(EventId(1)), 3_000);
    assert_eq!(trace.name(EventId(2)), "[OutOfMemory]");
    assert_eq!(trace.warnings(), []);
    // Numbers of no consequence are no texts of the trace.
    assert!(trace.strings().find("1536").is_none());
}

#[test]
fn allocations_without_a_size_or_device_are_counted() {
    let broken = [
        r#""Device Id": 0, "Device Type": 1"#,
        r#""Bytes": 8, "Device Type": 1"#,
        r#""Bytes": NaN, "Device Id": 0, "Device Type": 1"#,
        r#""Bytes": 9223372036854775807, "Device Id": 0, "Device Type": 1"#,
        r#""Bytes": 8, "Device Id": 0, "Device Type": 99999999999"#,
        r#""Bytes": [8], "Device Id": 0, "Device Type": 1"#,
    ];
    let mut events = vec![moment("[memory]", "1", ALL)];
    events.extend(broken.map(|arguments| moment("[memory]", "2", arguments)));
    events.push(r#"{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 3, "args": 7}"#.to_owned());
    events.push(r#"{"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 3}"#.to_owned());
    let trace = read(&events.join(","));
    assert_eq!(trace.events().len(), 9);
    assert_eq!(trace.events().arguments().memory.len(), 1);
    assert_eq!(faults(&trace), [(EventFault::UnreadableMemory, 8, 1)]);
}

#[test]
fn totals_that_are_no_sizes_are_left_out_of_their_event() {
    let trace = read(&moment(
        "[memory]",
        "1",
        r#""Bytes": 8, "Device Id": 0, "Device Type": 1, "Total Allocated": 1e300, "Total Reserved": "x""#,
    ));
    let (_, event) = trace.events().arguments().memory.iter().next().unwrap();
    assert_eq!((event.bytes, event.allocated, event.reserved), (8, None, None));
}

#[test]
fn counters_of_devices_are_samples_and_no_events() {
    let trace = read(
        &[
            r#"{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 100, "dur": 1}"#
                .to_owned(),
            counter("\"GPU 2 Counters\"", "Power (W)", "99.5", r#"{"": 312.25}"#),
            counter("\"GPU 2 Counters\"", "Power (W)", "100.5", r#"{"": "313"}"#),
            counter(
                "5, \"tid\": 1, \"cat\": \"hardware_counters\"",
                "sm__cycles",
                "-1",
                r#"{"a": 1, "b": 2}"#,
            ),
        ]
        .join(","),
    );
    let samples: Vec<_> = trace
        .counters()
        .iter()
        .map(|sample| (sample.device, trace.text(sample.counter), sample.time, sample.value))
        .collect();
    assert_eq!(
        samples,
        [
            (2, "Power (W)", -500, 312.25),
            (2, "Power (W)", 500, 313.0),
            (5, "sm__cycles: a", -101_000, 1.0),
            (5, "sm__cycles: b", -101_000, 2.0),
        ]
    );
    assert_eq!((trace.events().len(), trace.entries()), (1, 4));
    assert_eq!(trace.warnings(), []);
}

#[test]
fn samples_that_are_no_numbers_and_counters_of_no_device_are_counted() {
    let gpu = "\"GPU 0 Counters\"";
    let trace = read(
        &[
            counter(gpu, "Power (W)", "1", r#"{"": NaN}"#),
            counter(gpu, "Power (W)", "2", r#"{"": 1e999}"#),
            counter(gpu, "Power (W)", "3", "7"),
            counter(gpu, "Power (W)", "\"soon\"", r#"{"": 1}"#),
            counter(gpu, "Power (W)", "4", r#"{"good": 1, "bad": null}"#),
            counter("1", "heap", "1", r#"{"bytes": 1}"#),
            counter("\"GPU x Counters\"", "Power (W)", "1", r#"{"": 1}"#),
        ]
        .join(","),
    );
    let names: Vec<&str> = trace.counters().iter().map(|sample| trace.text(sample.counter)).collect();
    assert_eq!(names, ["Power (W): good"]);
    assert_eq!(faults(&trace), [(EventFault::WithoutTimestamp, 1, 3), (EventFault::UnreadableSample, 4, 0)]);
    assert!(trace.warnings().contains(&Warning::UnusedPhase { phase: Some('C'), count: 2 }));
}
