//! What an XPlane profile says, message by message: hand-made profiles in, columns out.

use std::io::Write;
use std::path::Path;

use flate2::{Compression, write::GzEncoder};
use trace_ingest::Nanoseconds;
use trace_ingest::xplane::proto::{
    EventPlace, XEvent, XEventMetadata, XLine, XPlane, XSpace, XStat, XStatMetadata, XStatValue,
};
use trace_ingest::xplane::{DEVICE_NOTE, Profile, StatValue, profile_from_bytes, read_profile};
use trace_ingest::{Category, EventId, IngestError, Phase, ReadOptions, RowId, read_path};

fn event(kind: i64, offset_ps: i64, duration_ps: i64, stats: Vec<XStat>) -> XEvent {
    XEvent { metadata_id: kind, place: Some(EventPlace::OffsetPs(offset_ps)), duration_ps, stats }
}

fn stat(metadata_id: i64, value: XStatValue) -> XStat {
    XStat { metadata_id, value: Some(value) }
}

fn line(id: i64, name: &str, events: Vec<XEvent>) -> XLine {
    XLine { id, name: name.to_string(), timestamp_ns: 1000, events, ..XLine::default() }
}

/// A plane with kinds `1..` of these names and stats `1..` of these names.
fn plane(id: i64, name: &str, lines: Vec<XLine>, kinds: &[&str], stats: &[&str]) -> XPlane {
    let kinds = kinds
        .iter()
        .zip(1..)
        .map(|(name, id)| (id, XEventMetadata { id, name: name.to_string(), ..XEventMetadata::default() }));
    let stats = stats
        .iter()
        .zip(1..)
        .map(|(name, id)| (id, XStatMetadata { id, name: name.to_string(), ..XStatMetadata::default() }));
    XPlane {
        id,
        name: name.to_string(),
        lines,
        event_metadata: kinds.collect(),
        stat_metadata: stats.collect(),
        ..XPlane::default()
    }
}

fn space(planes: Vec<XPlane>) -> XSpace {
    XSpace { planes, ..XSpace::default() }
}

fn decode(space: &XSpace) -> Profile {
    profile_from_bytes(Path::new("worker.xplane.pb"), space.to_bytes()).unwrap()
}

fn host(events: Vec<XEvent>, kinds: &[&str], stats: &[&str]) -> Profile {
    decode(&space(vec![plane(0, "/host:CPU", vec![line(7, "main", events)], kinds, stats)]))
}

fn names(profile: &Profile) -> Vec<&str> {
    profile.trace.events().ids().map(|id| profile.trace.name(id)).collect()
}

fn warnings(profile: &Profile) -> Vec<String> {
    profile.trace.warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn times_are_exact_picoseconds() {
    let mut early = line(1, "early", vec![event(1, 5, 7, vec![])]);
    early.timestamp_ns = 999;
    let late = line(2, "late", vec![event(1, 123_456_789_123, 1, vec![])]);
    let profile = decode(&space(vec![plane(0, "/host:CPU", vec![late, early], &["f"], &[])]));
    let events = profile.trace.events();
    assert_eq!(profile.trace.origin(), 999_005);
    let spans: Vec<_> = events.ids().map(|id| (events.start(id), events.duration(id))).collect();
    assert_eq!(spans, [(0, 7), (123_456_789_123 + 995, 1)]);
    assert_eq!(profile.trace.to_microseconds(events.duration(EventId(0))), 7e-6);
}

#[test]
fn nanoseconds_since_1970_do_not_overflow() {
    let mut old = line(1, "Stream #1(Compute)", vec![event(1, 10, 5, vec![]), event(1, 30, 5, vec![])]);
    old.timestamp_ns = 1_574_000_000_123_456_789;
    let profile = decode(&space(vec![plane(0, "/device:GPU:0", vec![old], &["gemm"], &[])]));
    assert_eq!(profile.trace.facts().base_time_nanoseconds, Some(1_574_000_000_123_456_789));
    assert_eq!((profile.trace.origin(), profile.trace.events().start(EventId(1))), (10, 20));
}

#[test]
fn an_event_weeks_away_is_damage() {
    let mut lost = line(2, "b", vec![event(1, 0, 1, vec![])]);
    lost.timestamp_ns = i64::MAX;
    let lines = vec![line(1, "a", vec![event(1, 0, 1, vec![])]), lost];
    let bytes = space(vec![plane(0, "/host:CPU", lines, &["f"], &[])]).to_bytes();
    let error = profile_from_bytes(Path::new("x"), bytes).unwrap_err();
    assert!(error.to_string().contains("XLine.events at byte"), "{error}");
}

#[test]
fn labels_and_numbers_prefer_those_to_show() {
    let mut shown = line(5, "thread", vec![event(1, 0, 1, vec![])]);
    (shown.display_id, shown.display_name) = (-1, "shown".to_string());
    let mut host = plane(0, "/host:CPU", vec![shown], &["long name"], &[]);
    host.event_metadata.get_mut(&1).unwrap().display_name = "short".to_string();
    let profile = decode(&space(vec![host]));
    let (event, events) = (EventId(0), profile.trace.events());
    assert_eq!(profile.trace.name(event), "short");
    assert_eq!(profile.metadata(event).name, "long name");
    assert_eq!(profile.trace.thread_name(events.track(event)), Some("shown"));
    let track = profile.trace.tracks().get(events.track(event));
    assert_eq!((track.pid, track.tid), (RowId::Number(701), RowId::Number(0xFFFF_FFFF)));
    let process = profile.trace.process(events.track(event)).name.unwrap();
    assert_eq!(profile.trace.text(process), "worker /host:CPU");
}

#[test]
fn rows_follow_process_thread_start_and_length() {
    let spans = |spans: &[(i64, i64, i64)]| spans.iter().map(|&(k, o, d)| event(k, o, d, vec![])).collect();
    let gpu = vec![
        line(20, "Stream #20", spans(&[(2, 5, 1), (1, 5, 9), (3, 5, 1)])),
        line(3, "Stream #3", spans(&[(4, 9, 9)])),
    ];
    let planes = vec![
        plane(0, "/host:CPU", vec![line(1, "main", spans(&[(1, 0, 1)]))], &["host"], &[]),
        plane(0, "/device:CUSTOM:mine", vec![line(1, "x", spans(&[(1, 0, 1)]))], &["custom"], &[]),
        plane(2, "/device:GPU:2", gpu, &["long", "first", "second", "low stream"], &[]),
        plane(0, "/host:CUPTI", vec![line(1, "api", spans(&[(1, 0, 1)]))], &["unseen"], &[]),
    ];
    let profile = decode(&space(planes));
    assert_eq!(names(&profile), ["low stream", "long", "first", "second", "custom", "host", "unseen"]);
    assert_eq!(profile.shown_events, 6);
    assert!(!profile.shown(EventId(6)) && profile.shown(EventId(5)));
    let processes: Vec<_> = profile
        .trace
        .events()
        .ids()
        .map(|id| profile.trace.tracks().get(profile.trace.events().track(id)).pid)
        .collect();
    assert_eq!(processes[..6], [3, 3, 3, 3, 501, 701].map(RowId::Number));
    assert!(matches!(processes[6], RowId::Text(_)));
}

#[test]
fn tpu_planes_are_shown_only_without_a_gpu() {
    let tpu = || {
        plane(2, "/device:TPU:0", vec![line(3, "XLA Ops", vec![event(1, 0, 1, vec![])])], &["fusion"], &[])
    };
    let alone = decode(&space(vec![tpu()]));
    assert_eq!((alone.shown_events, alone.trace.events().device(EventId(0))), (1, Some(0)));
    let beside = decode(&space(vec![tpu(), plane(0, "/device:GPU:0", vec![], &[], &[])]));
    assert_eq!((beside.shown_events, beside.trace.events().len()), (0, 1));
}

#[test]
fn allocations_are_kept_and_not_counted_as_shown() {
    let stats = vec![stat(1, XStatValue::Unsigned(64))];
    let events = vec![event(1, 0, 9, vec![]), event(2, 3, 0, stats), event(1, 5, 1, vec![])];
    let profile = host(events, &["f", "MemoryAllocation"], &["bytes_allocated"]);
    assert_eq!(names(&profile), ["f", "f", "MemoryAllocation"]);
    assert_eq!(profile.shown_events, 2);
    let allocation = EventId(2);
    let events = profile.trace.events();
    assert_eq!(
        (events.category(allocation), events.phase(allocation)),
        (Category::CPU_INSTANT_EVENT, Phase::Instant)
    );
    assert_eq!(profile.stat(allocation, "bytes_allocated"), Some(StatValue::Unsigned(64)));
    // On its line it stands where it happened.
    assert_eq!(profile.planes[0].lines[0].events, [EventId(0), allocation, EventId(1)]);
}

#[test]
fn regions_of_thread_pools_count_in_the_viewers_numbers() {
    let events =
        vec![event(2, 0, 0, vec![]), event(1, 5, 1, vec![]), event(3, 9, 0, vec![]), event(3, 10, 0, vec![])];
    let kinds = ["f", "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"];
    let profile = host(events, &kinds, &[]);
    let uids: Vec<_> = profile.trace.events().ids().map(|id| profile.trace.events().uid(id)).collect();
    // 0 is the region from 0 to 9.
    assert_eq!((uids.as_slice(), profile.shown_events), (&[1, 2, 3, 4][..], 5));
}

#[test]
fn categories_follow_line_and_name() {
    let gpu = (1..=5).map(|kind| event(kind, kind, 1, vec![])).collect();
    let old = line(-559_038_735, "TensorFlow Name Scope", vec![event(1, 0, 1, vec![])]);
    let kinds = ["gemm", "MemcpyH2D", "Copy_kernel", "memset32", "xmemcpy"];
    let host_events = vec![
        event(1, 0, 1, vec![stat(1, XStatValue::Unsigned(8))]),
        event(2, 1, 1, vec![]),
        event(3, 2, 1, vec![stat(2, XStatValue::Signed(0))]),
        event(4, 3, 1, vec![]),
    ];
    let host_kinds = ["hipModuleLaunchKernel", "$train.py:3 step", "train", "PjRtExecute"];
    let profile = decode(&space(vec![
        plane(0, "/device:GPU:0", vec![line(1, "Stream #1(Kernel)", gpu), old], &kinds, &[]),
        plane(0, "/host:CPU", vec![line(1, "t", host_events)], &host_kinds, &["correlation_id", "step_num"]),
    ]));
    let categories: Vec<_> = profile
        .trace
        .events()
        .ids()
        .map(|id| profile.trace.category_name(profile.trace.events().category(id)))
        .collect();
    let device = ["kernel", "gpu_memcpy", "gpu_memcpy", "gpu_memset", "kernel", DEVICE_NOTE];
    assert_eq!(categories[..6], device);
    assert_eq!(categories[6..], ["cuda_runtime", "python_function", "user_annotation", "cpu_op"]);
    assert_eq!(profile.trace.events().correlation(EventId(6)), Some(8));
}

#[test]
fn stats_of_the_kind_come_first_and_those_of_the_event_override() {
    let own = vec![
        stat(1, XStatValue::Signed(-5)),
        stat(4, XStatValue::Reference(5)),
        stat(3, XStatValue::Bytes(vec![1, 2])),
    ];
    let mut host = plane(
        0,
        "/host:CPU",
        vec![line(1, "t", vec![event(1, 0, 1, own)])],
        &["f"],
        &["a", "b", "c", "d", "shared text"],
    );
    host.event_metadata.get_mut(&1).unwrap().stats = vec![
        stat(1, XStatValue::Signed(1)),
        stat(2, XStatValue::Double(0.5)),
        stat(4, XStatValue::Text("x".to_string())),
    ];
    let profile = decode(&space(vec![host]));
    let get = |name| profile.stat(EventId(0), name);
    assert_eq!(get("a").and_then(|value| value.as_i64()), Some(-5));
    assert_eq!(get("b").and_then(|value| value.as_f64()), Some(0.5));
    assert_eq!(get("c").and_then(|value| value.as_bytes().map(<[u8]>::to_vec)), Some(vec![1, 2]));
    assert_eq!(
        get("d").and_then(|value| value.as_str().map(str::to_string)),
        Some("shared text".to_string())
    );
    assert_eq!(get("e"), None);
    let kind = profile.kind_id(EventId(0)).unwrap();
    assert_eq!(profile.kind_stat(kind, "a"), Some(StatValue::Signed(1)));
}

#[test]
fn a_step_name_replaces_the_name() {
    let profile = host(
        vec![event(1, 0, 1, vec![stat(1, XStatValue::Text("step 3".to_string()))])],
        &["f"],
        &["step_name"],
    );
    assert_eq!((names(&profile), profile.metadata(EventId(0)).name.as_str()), (vec!["step 3"], "f"));
}

#[test]
fn aggregated_events_have_no_place_in_time() {
    let sum = XEvent {
        metadata_id: 1,
        place: Some(EventPlace::Occurrences(12)),
        duration_ps: 600,
        stats: vec![stat(1, XStatValue::Unsigned(3))],
    };
    let profile = host(vec![sum, event(1, 5, 1, vec![])], &["f"], &["size"]);
    assert_eq!(profile.trace.events().len(), 1);
    let [aggregated] = profile.planes[0].lines[0].aggregated[..] else { panic!("one sum was given") };
    assert_eq!((aggregated.occurrences, aggregated.duration.0), (12, 600));
    assert_eq!(profile.kind(aggregated.kind).name, "f");
    assert_eq!(profile.aggregated_stats(&aggregated).next(), Some(("size", StatValue::Unsigned(3))));
}

#[test]
fn missing_kinds_and_names_of_stats_are_counted() {
    let stats = vec![stat(9, XStatValue::Unsigned(1)), stat(1, XStatValue::Reference(77))];
    let profile = host(
        vec![event(1, 0, 1, vec![]), event(5, 1, -4, stats), event(-6, 2, 1, vec![])],
        &["f"],
        &["hlo_op"],
    );
    assert_eq!(names(&profile), ["f", "", ""]);
    assert_eq!((profile.metadata(EventId(1)).id, profile.metadata(EventId(2)).id), (5, -6));
    assert_eq!(profile.stat(EventId(1), "hlo_op").and_then(|text| text.as_str().map(str::len)), Some(0));
    assert_eq!(profile.trace.events().duration(EventId(1)), 0);
    assert_eq!(
        warnings(&profile),
        [
            "negative durations, set to zero: 1 (first: event 1)",
            "events without a name: 2 (first: event 1)",
            "unnamed arguments skipped: 2",
        ]
    );
}

#[test]
fn unknown_fields_are_skipped_and_bad_text_is_replaced() {
    let mut bytes =
        space(vec![plane(0, "/host:CPU", vec![line(1, "t", vec![event(1, 0, 1, vec![])])], &["f?"], &[])])
            .to_bytes();
    let at = bytes.windows(2).position(|pair| pair == b"f?").unwrap();
    bytes[at + 1] = 0xff;
    bytes.extend([0xa2, 0x06, 3, 1, 2, 3, 0x98, 0x06, 5]); // fields 100 and 99
    let profile = profile_from_bytes(Path::new("x"), bytes).unwrap();
    assert_eq!(names(&profile), ["f\u{fffd}"]);
    assert_eq!(warnings(&profile), ["strings with invalid UTF-8, replaced with U+FFFD: 1"]);
}

#[test]
fn what_the_recorder_says_of_itself_is_kept() {
    let mut environment =
        plane(0, "Task Environment", vec![], &[], &["profile_start_time", "profile_stop_time"]);
    environment.stats = vec![stat(1, XStatValue::Unsigned(1_700)), stat(2, XStatValue::Unsigned(1_900))];
    let profile = decode(&XSpace {
        planes: vec![environment],
        errors: vec!["no driver".to_string()],
        warnings: vec!["dropped events".to_string()],
        hostnames: vec!["w0".to_string()],
    });
    assert_eq!((profile.start, profile.stop), (Some(Nanoseconds(1_700)), Some(Nanoseconds(1_900))));
    assert_eq!(
        (profile.errors, profile.notes, profile.hostnames),
        (vec!["no driver".to_string()], vec!["dropped events".to_string()], vec!["w0".to_string()])
    );
    assert!(profile.trace.events().is_empty());
}

#[test]
fn compression_is_looked_through() {
    let bytes =
        space(vec![plane(0, "/host:CPU", vec![line(1, "t", vec![event(1, 0, 1, vec![])])], &["f"], &[])])
            .to_bytes();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&bytes).unwrap();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in [("README", &b"hello"[..]), ("plugins/w.xplane.pb", &bytes)] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("w.xplane.pb", bytes.clone()),
        ("w.xplane.pb.gz", gzip.finish().unwrap()),
        ("w.xplane.pb.zst", zstd::encode_all(&bytes[..], 1).unwrap()),
        ("w.zip", zip.finish().unwrap().into_inner()),
    ] {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        let profile = read_profile(&path, &ReadOptions::default()).unwrap();
        assert_eq!((names(&profile), profile.host.as_str()), (vec!["f"], "w"), "{name}");
        assert_eq!(read_path(&path, &ReadOptions::default()).unwrap().events().len(), 1, "{name}");
    }
}

#[test]
fn a_trace_of_another_format_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.json");
    std::fs::write(&path, r#"{"traceEvents": []}"#).unwrap();
    let error = read_profile(&path, &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, IngestError::OtherKind { .. }), "{error}");
    assert!(error.to_string().contains("is an event trace; expected an XPlane profile"), "{error}");
}
