//! Real profiles: one of a JAX step on this machine's CPU, which is part of the repository, and, where the
//! corpus is at hand, those of GPUs and TPUs with the figures that are known of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prost::Message as _;
use trace_ingest::xplane::proto::{EventPlace, XLine, XPlane, XSpace, XStat, XStatValue};
use trace_ingest::xplane::{PlaneKind, Profile, StatValue, XLA_ASYNC_OP, XLA_MODULE, XLA_OP, read_profile};
use trace_ingest::{Category, EventId, ReadOptions, RowId, read_path};

fn corpus_path(name: &str) -> Option<PathBuf> {
    testdata::corpus(&format!("jax/{name}/trace.xplane.pb"))
}

fn corpus(name: &str) -> Option<Profile> {
    corpus_path(name).map(|path| read_profile(&path, &ReadOptions::default()).unwrap())
}

fn recorded_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recorded/cpu/jax_step.xplane.pb")
}

fn categories(profile: &Profile) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for event in profile.trace.events().ids() {
        let category = profile.trace.category_name(profile.trace.events().category(event));
        *counts.entry(category).or_insert(0) += 1;
    }
    counts
}

fn number(id: RowId) -> i64 {
    match id {
        RowId::Number(number) => number,
        other => panic!("{other:?} is not a number"),
    }
}

/// Every event lies on the line that lists it, in order, and uids ascend.
fn assert_consistent(profile: &Profile) {
    let events = profile.trace.events();
    let mut listed = 0;
    for line in profile.planes.iter().flat_map(|plane| &plane.lines) {
        listed += line.events.len();
        let spans: Vec<_> = line
            .events
            .iter()
            .map(|&id| (events.start(id), std::cmp::Reverse(events.duration(id))))
            .collect();
        assert!(spans.is_sorted(), "{}", line.name);
        assert!(line.events.iter().all(|&id| events.track(id) == line.track), "{}", line.name);
    }
    assert_eq!(listed, events.len());
    assert!(events.ids().map(|id| events.uid(id)).is_sorted_by(|a, b| a < b));
}

#[test]
fn mi300_conv3d_is_numbered_as_in_the_viewer() {
    let Some(profile) = corpus("mi300-conv3d-jax06") else { return };
    assert_consistent(&profile);
    let (trace, events) = (&profile.trace, profile.trace.events());
    assert_eq!(trace.warnings(), []);
    assert_eq!(profile.shown_events, 5903);
    let counts = categories(&profile);
    assert_eq!((counts["kernel"], counts["gpu_memcpy"], counts.get("gpu_memset")), (25, 53, None));

    let kernels: Vec<EventId> = events.ids().filter(|&id| events.category(id) == Category::KERNEL).collect();
    assert!(kernels.iter().map(|&id| events.uid(id)).eq(53..=77));
    let devices = events.ids().filter(|&id| events.category(id).is_device());
    let mut processes: Vec<_> = devices.map(|id| number(trace.tracks().get(events.track(id)).pid)).collect();
    processes.dedup();
    assert_eq!(processes, [1, 8]);

    let first = kernels[0];
    assert_eq!(trace.name(first), "loop_transpose_fusion");
    assert_eq!(trace.origin() + events.start(first), 1_635_859_993_000);
    assert_eq!(events.duration(first), 6_890_000);
    assert_eq!(
        (events.correlation(first), events.device(first), events.stream(first)),
        (Some(171), Some(7), Some(1))
    );
    let launch = events
        .ids()
        .find(|&id| events.correlation(id) == Some(171) && !events.category(id).is_device())
        .unwrap();
    let track = trace.tracks().get(events.track(launch));
    assert_eq!((number(track.pid), number(track.tid)), (701, 837_089_336));
    assert_eq!(trace.origin() + events.start(launch), 1_635_839_051_000);
    assert_eq!(events.category(launch), Category::CUDA_RUNTIME);
}

#[test]
fn mi300_conv3d_kernels_name_their_instructions() {
    let Some(profile) = corpus("mi300-conv3d-jax06") else { return };
    let events = profile.trace.events();
    let kernel = events.find_uid(55).unwrap();
    let call = profile.xla(kernel).unwrap();
    assert_eq!(call.hlo_op.map(|id| profile.trace.text(id)), Some("cudnn-conv.1.0"));
    assert_eq!(call.hlo_module.map(|id| profile.trace.text(id)), Some("jit_forward_3d_conv"));
    assert_eq!(call.program_id, Some(15));
    assert_eq!(profile.programs.find_by_name("jit_forward_3d_conv").collect::<Vec<_>>(), [15]);

    assert_eq!(profile.stat(kernel, "tf_op").unwrap().as_str(), Some("XlaModule:"));
    assert_eq!(profile.stat(kernel, "program_id").unwrap().as_u64(), Some(15));
    assert_eq!(profile.stat(kernel, "no such stat"), None);
    let copy = events.ids().find(|&id| events.category(id) == Category::GPU_MEMCPY).unwrap();
    let transfer = events.arguments().transfer.get(copy.index()).unwrap();
    let details = profile.stat(copy, "memcpy_details").unwrap();
    assert!(details.as_str().unwrap().contains(&format!("size:{} ", transfer.bytes.unwrap())));

    let gpu = profile.planes.iter().find(|plane| plane.kind == PlaneKind::Gpu { ordinal: 7 }).unwrap();
    assert_eq!(gpu.stat("device_vendor").and_then(StatValue::as_str), Some("AMD"));
    assert_eq!(gpu.stat("memory_bandwidth").and_then(StatValue::as_u64), Some(2_662_400_000_000));
    assert_eq!(profile.trace.facts().devices[7].multiprocessors, Some(304));
}

#[test]
fn tpu_v6e_has_its_lines_clocks_and_programs() {
    let Some(profile) = corpus("tpu-v6e-inference") else { return };
    assert_consistent(&profile);
    let events = profile.trace.events();
    let cores: Vec<_> =
        profile.planes.iter().filter(|plane| matches!(plane.kind, PlaneKind::Tpu { .. })).collect();
    assert_eq!(cores.iter().map(|core| core.id).collect::<Vec<_>>(), [2, 10, 18, 26]);
    let counts = |name: &str| -> Vec<usize> {
        let lines = cores.iter().flat_map(|core| &core.lines).filter(|line| line.name == name);
        lines.map(|line| line.events.len()).filter(|&events| events > 0).collect()
    };
    assert_eq!(counts("XLA Modules"), [105, 103, 103, 103]);
    assert_eq!(counts("XLA Ops"), [1504, 1503, 1503, 1503]);
    assert_eq!(counts("Async XLA Ops"), [600]);
    assert_eq!(counts("XLA TraceMe"), [108, 106, 106, 106]);
    let by_category = categories(&profile);
    assert_eq!((by_category[XLA_OP], by_category[XLA_MODULE], by_category[XLA_ASYNC_OP]), (6013, 414, 600));
    assert!(!by_category.contains_key("kernel"), "instructions of a TPU are no kernels");
    assert_eq!(cores[0].stat("peak_teraflops_per_second").and_then(StatValue::as_f64), Some(918.0));

    // broadcast_add_fusion.1: 400 runs on four cores, 3,262,107.41375 µs by the device's clock.
    let fusion: Vec<_> = events
        .ids()
        .filter(|&id| profile.trace.category_name(events.category(id)) == XLA_OP)
        .filter(|&id| profile.metadata(id).display_name == "broadcast_add_fusion.1")
        .collect();
    assert_eq!(fusion.len(), 400);
    let device_ps: i64 = fusion.iter().map(|&id| profile.device_clock(id).unwrap().1.0).sum();
    assert_eq!(device_ps, 3_262_107_413_750);
    assert_eq!(profile.stat(fusion[0], "flops").unwrap().as_u64(), Some(1_342_177_280));
    assert_eq!(profile.stat(fusion[0], "bytes_accessed").unwrap().as_u64(), Some(10_737_418_240));
    assert!(profile.stat(fusion[0], "memory_access_breakdown").unwrap().as_bytes().is_some());

    let call = profile.xla(fusion[0]).unwrap();
    assert_eq!(call.hlo_op.map(|id| profile.trace.text(id)), Some("broadcast_add_fusion.1"));
    assert!(call.symbol_id.is_some());

    // The viewer leaves asynchronous operations out.
    let asynchronous = cores[0].lines.iter().find(|line| line.name == "Async XLA Ops").unwrap();
    assert!(asynchronous.events.iter().all(|&id| !profile.shown(id)));
    let run = cores[0].lines.iter().find(|line| line.name == "XLA Modules").unwrap().events[0];
    let call = profile.xla(run).unwrap();
    assert!(call.run_id.is_some() && profile.programs.name(call.program_id.unwrap()).is_some());
}

#[test]
fn the_recorded_cpu_step_has_its_planes_and_modules() {
    let path = recorded_path();
    let profile = read_profile(&path, &ReadOptions::default()).unwrap();
    assert_consistent(&profile);
    assert_eq!(profile.host, "jax_step");
    let kinds: Vec<_> = profile.planes.iter().map(|plane| plane.kind).collect();
    assert_eq!(kinds, [PlaneKind::Metadata, PlaneKind::HostCpu, PlaneKind::Environment]);
    assert_eq!(profile.planes[1].lines.len(), 4);
    assert_eq!(profile.trace.events().len(), 258);
    assert_eq!(profile.trace.warnings(), []);
    assert_eq!(profile.programs.len(), 14);
    let (start, stop) = (profile.start.unwrap(), profile.stop.unwrap());
    assert!(start < stop);

    let events = profile.trace.events();
    let steps = events.ids().filter(|&id| events.category(id) == Category::USER_ANNOTATION);
    assert_eq!(steps.map(|id| profile.trace.name(id)).collect::<Vec<_>>(), ["train", "train"]);
    let operations = events.ids().filter_map(|id| profile.xla(id).and_then(|call| call.hlo_op.map(|_| call)));
    let named: Vec<_> = operations.collect();
    assert!(!named.is_empty());
    assert!(named.iter().all(|call| call.program_id.is_none_or(|id| profile.programs.name(id).is_some())));

    // The trace alone is read by the same call as every other format.
    let trace = read_path(&path, &ReadOptions::default()).unwrap();
    assert_eq!((trace.events().len(), trace.origin()), (258, profile.trace.origin()));
}

/// Value of a stat, as the messages have it.
fn value_of<'a>(stat: &'a XStat, plane: &'a XPlane) -> StatValue<'a> {
    match stat.value.as_ref().unwrap() {
        XStatValue::Double(value) => StatValue::Double(*value),
        XStatValue::Unsigned(value) => StatValue::Unsigned(*value),
        XStatValue::Signed(value) => StatValue::Signed(*value),
        XStatValue::Text(text) => StatValue::Text(text.into()),
        XStatValue::Bytes(bytes) => StatValue::Bytes(bytes.into()),
        XStatValue::Reference(id) => StatValue::Text((&plane.stat_metadata[&(*id as i64)].name).into()),
    }
}

/// Every event of a line is where and what the message says, stats included. Returns how many there are.
fn assert_line(profile: &Profile, plane: &XPlane, message: &XLine, events: &[EventId]) -> usize {
    let start = |place: Option<EventPlace>| match place {
        Some(EventPlace::OffsetPs(offset)) => message.timestamp_ns * 1000 + offset,
        other => panic!("{other:?} has no position"),
    };
    let mut expected: Vec<_> = message.events.iter().collect();
    expected.sort_by_key(|event| (start(event.place), std::cmp::Reverse(event.duration_ps)));
    assert_eq!(events.len(), expected.len());
    for (&id, event) in events.iter().zip(&expected) {
        let table = profile.trace.events();
        assert_eq!(table.start(id) + profile.trace.origin(), start(event.place));
        assert_eq!(table.duration(id), event.duration_ps);
        let kind = &plane.event_metadata[&event.metadata_id];
        assert_eq!(
            (&profile.metadata(id).name, &profile.metadata(id).display_name),
            (&kind.name, &kind.display_name)
        );
        let stats = kind.stats.iter().chain(&event.stats);
        let stats = stats.map(|stat| (&*plane.stat_metadata[&stat.metadata_id].name, value_of(stat, plane)));
        assert!(profile.event_stats(id).eq(stats));
    }
    expected.len()
}

#[test]
fn reading_in_place_agrees_with_decoding_the_messages() {
    let corpus = ["mi300-conv3d-jax06", "tpu-v6e-inference"].into_iter().filter_map(corpus_path);
    for path in std::iter::once(recorded_path()).chain(corpus) {
        let profile = read_profile(&path, &ReadOptions::default()).unwrap();
        let space = XSpace::decode(&std::fs::read(&path).unwrap()[..]).unwrap();
        let mut events = 0;
        for (message, plane) in space.planes.iter().zip(&profile.planes) {
            assert_eq!((message.id, &message.name), (plane.id, &plane.name));
            for (line_message, line) in message.lines.iter().zip(&plane.lines) {
                events += assert_line(&profile, message, line_message, &line.events);
            }
        }
        assert_eq!((space.planes.len(), events), (profile.planes.len(), profile.trace.events().len()));
    }
}
