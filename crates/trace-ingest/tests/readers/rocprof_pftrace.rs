//! Perfetto traces of rocprofv3: decoded natively, and converted to Chrome's JSON.

use std::path::Path;

use crate::perfetto_writer::{Annotation, Event, Packet, compressed, trace, zlib};
use proptest::prelude::*;
use trace_ingest::rocprof::{
    AgentKind, Call, CopyDirection, Dispatch, Domain, KernelNames, Profile, SourceFormat, read_profile,
};
use trace_ingest::{IngestError, ReadOptions, RecordFault, Warning};

/// A trace that an independent decoder understands the same way: a dispatch and an instant on the incremental clock,
/// a call with an absolute time between them.
const VECTOR: &str = "0a3132180a080806108094ebdc030a0c0840108094ebdc0318012001408094ebdc0350016801d00306da03075a0258\
01d003400a0d50016802e2030608011a02080a0a2e50016802e2032708071221434f4d50555445204147454e54205b325d205155455545205b305d\
20284750552928010a950140f40350015a3618012208080118f497ebdc032205080218b817220b080332074167656e74203222040804182a480150\
015807f902630000000000000062540a130801120f6b65726e656c5f64697370617463681209080112056b412e6b641a0c08011208626567696e5f\
6e731a0c0802120864656c74615f6e731a09080312056167656e741a0b08041207636f72725f696468020a0d40b81750015a044802580768020a3a\
40e494ebdc0350015a2b220b202a5207636f72725f69644801b201076869705f617069ba010f6869704c61756e63684b65726e656c6802d003060a\
1140de96ebdc0350015a0248026802d003060a10406450015a0818014803500158076802";

fn vector() -> Vec<u8> {
    let digits: Vec<u32> = VECTOR.chars().map(|digit| digit.to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn read_named(name: &str, content: &[u8]) -> Result<Profile, IngestError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    read_profile(&path, &ReadOptions::default())
}

fn read(content: &[u8]) -> Profile {
    let profile = read_named("run_results.pftrace", content).unwrap();
    assert_eq!(profile.source, SourceFormat::Pftrace);
    profile
}

fn read_chrome(text: &str) -> Profile {
    let profile = read_named("run_results.json", text.as_bytes()).unwrap();
    assert_eq!(profile.source, SourceFormat::ChromeJson);
    profile
}

fn times(dispatches: &[Dispatch]) -> Vec<(i64, i64)> {
    dispatches.iter().map(|dispatch| (dispatch.start.0, dispatch.end.0)).collect()
}

fn call_times(calls: &[Call]) -> Vec<(i64, i64)> {
    calls.iter().map(|call| (call.start.0, call.end.0)).collect()
}

fn names(profile: &Profile) -> Vec<String> {
    let name =
        |dispatch: &Dispatch| profile.kernel_name(dispatch.kernel, KernelNames::Demangled).into_owned();
    profile.dispatches.iter().map(name).collect()
}

/// A sequence's first packet, after which the others are understood.
fn start() -> Packet {
    Packet::new(1).cleared()
}

/// A dispatch as the profiler writes it.
fn dispatch(name: &str, agent: Annotation, begin: i64, length: i64) -> Packet {
    Event::begin("kernel_dispatch", name)
        .with("begin_ns", Annotation::Signed(begin))
        .with("end_ns", Annotation::Signed(begin + length))
        .with("delta_ns", Annotation::Signed(length))
        .with("agent", agent)
        .packet(begin)
}

#[test]
fn the_vector_is_read() {
    let content = vector();
    assert_eq!(content.len(), 378);
    let profile = read(&content);
    assert_eq!(profile.warnings, []);
    assert_eq!(times(&profile.dispatches), [(1_000_000_500, 1_000_003_500), (1_000_003_600, 1_000_003_600)]);
    assert_eq!(names(&profile), ["kA.kd", "kA.kd"]);
    let kernel = profile.dispatches[0].kernel;
    assert_eq!(profile.kernel_name(kernel, KernelNames::Truncated), "kA.kd");
    assert_eq!(profile.kernel_name(kernel, KernelNames::Formatted), "kA");
    assert_eq!(profile.dispatches[1].kernel, kernel);
    assert_eq!((profile.dispatches[0].correlation, profile.dispatches[1].correlation), (Some(42), None));
    let agent = &profile.agents[profile.dispatches[0].agent.unwrap() as usize];
    assert_eq!((agent.label.as_str(), agent.kind, profile.agents.len()), ("Agent 2", AgentKind::Gpu, 1));

    let call = profile.calls[0];
    assert_eq!(call_times(&profile.calls), [(1_000_000_100, 1_000_000_350)]);
    assert_eq!((profile.text(call.name), profile.text(call.kind)), ("hipLaunchKernel", "hip_api"));
    assert_eq!((call.correlation, call.domain), (Some(42), Domain::Hip));
    let processes: Vec<_> = profile.processes.iter().map(|process| process.pid).collect();
    assert_eq!((processes, call.thread), (vec![Some(10)], 10));
}

#[test]
fn every_kind_of_record_is_told_from_its_category() {
    let content = trace([
        start(),
        Packet::new(1).process_track(1, 77),
        Packet::new(1).thread_track(2, 1, 77, 78),
        Packet::new(1).named_track(3, 1, "COMPUTE AGENT [2] STREAM [5] (GPU)"),
        Event::begin("kernel_dispatch", "void ns::add<int>(int*) [clone .kd]")
            .on(3)
            .with("begin_ns", Annotation::Unsigned(1000))
            .with("end_ns", Annotation::Unsigned(1600))
            .with("agent", Annotation::Text("Agent-2"))
            .with("corr_id", Annotation::Unsigned(9))
            .with("queue", Annotation::Unsigned(4))
            .with("tid", Annotation::Unsigned(78))
            .with("kernel_id", Annotation::Unsigned(12))
            .with("grid_size", Annotation::Unsigned(4096))
            .with("workgroup_size", Annotation::Text("256"))
            .with("VGPR_Count", Annotation::Unsigned(32))
            .with("Accum_VGPR_Count", Annotation::Unsigned(4))
            .with("SGPR_Count", Annotation::Unsigned(16))
            .with("LDS_Block_Size", Annotation::Unsigned(512))
            .with("private_segment_size", Annotation::Unsigned(64))
            .packet(1000),
        Event::begin("memory_copy", "MEMORY_COPY_HOST_TO_DEVICE")
            .on(3)
            .with("begin_ns", Annotation::Unsigned(100))
            .with("delta_ns", Annotation::Unsigned(50))
            .with("src_agent", Annotation::Unsigned(0))
            .with("dst_agent", Annotation::Unsigned(2))
            .with("copy_bytes", Annotation::Unsigned(20138))
            .with("stream_ID", Annotation::Unsigned(7))
            .with("corr_id", Annotation::Unsigned(3))
            .packet(100),
        Event::begin("hsa_api", "hsa_queue_create")
            .on(2)
            .with("begin_ns", Annotation::Unsigned(10))
            .with("delta_ns", Annotation::Unsigned(5))
            .with("operation", Annotation::Unsigned(33))
            .packet(10),
        Event::begin("marker_api", "step 1")
            .on(2)
            .with("begin_ns", Annotation::Unsigned(20))
            .with("delta_ns", Annotation::Unsigned(900))
            .packet(20),
        Event::begin("memory_allocation", "MEMORY_ALLOCATION_ALLOCATE")
            .on(2)
            .with("begin_ns", Annotation::Unsigned(30))
            .with("delta_ns", Annotation::Unsigned(2))
            .with("agent", Annotation::Text("Agent-2"))
            .with("allocation_size", Annotation::Unsigned(1 << 40))
            .with("address", Annotation::Pointer(0xffff_8000_0000_0000))
            .packet(30),
        Event::begin("scratch_memory", "SCRATCH_MEMORY_ALLOC")
            .on(2)
            .with("begin_ns", Annotation::Unsigned(40))
            .with("delta_ns", Annotation::Unsigned(2))
            .with("queue", Annotation::Unsigned(4))
            .packet(40),
    ]);
    let profile = read(&content);
    assert_eq!(profile.warnings, []);
    assert_eq!(profile.processes.len(), 1);

    let dispatch = profile.dispatches[0];
    assert_eq!((dispatch.start.0, dispatch.end.0, dispatch.correlation), (1000, 1600, Some(9)));
    assert_eq!(
        (dispatch.thread, dispatch.queue, dispatch.stream),
        (78, 4, 5),
        "the stream is in the track's name"
    );
    let launch = profile.launches[dispatch.launch as usize];
    assert_eq!((launch.grid, launch.workgroup, launch.products_only), ([4096, 1, 1], [256, 1, 1], true));
    assert_eq!((launch.vgprs, launch.accum_vgprs, launch.sgprs), (32, 4, 16));
    assert_eq!((launch.group_segment, launch.private_segment), (512, 64));
    let kernel = profile.kernels[dispatch.kernel as usize];
    assert_eq!(kernel.id, Some(12));
    for (form, name) in [
        (KernelNames::Demangled, "void ns::add<int>(int*) [clone .kd]"),
        (KernelNames::Formatted, "void ns::add<int>(int*)"),
        (KernelNames::Truncated, "add"),
    ] {
        assert_eq!(profile.kernel_name(dispatch.kernel, form), name);
    }

    let copy = profile.copies[0];
    assert_eq!((copy.start.0, copy.end.0, copy.bytes, copy.stream), (100, 150, Some(20138), 7));
    assert_eq!((copy.direction, copy.correlation, copy.thread), (CopyDirection::HostToDevice, Some(3), 77));
    assert_eq!(copy.destination, dispatch.agent, "agent 2 is Agent-2");
    let host = &profile.agents[copy.source.unwrap() as usize];
    assert_eq!((host.label.as_str(), host.kind, host.logical_node_id), ("0", AgentKind::Cpu, Some(0)));
    assert_eq!(profile.agents[copy.destination.unwrap() as usize].label, "Agent-2");

    let calls: Vec<_> = profile.calls.iter().map(|call| (call.domain, call.operation, call.thread)).collect();
    assert_eq!(calls, [(Domain::Hsa, 33, 78), (Domain::Marker, 0, 78)]);
    let allocation = profile.allocations[0];
    assert_eq!((allocation.bytes, allocation.address), (1 << 40, 0xffff_8000_0000_0000));
    assert_eq!(allocation.agent, dispatch.agent);
    assert_eq!((profile.scratch[0].start.0, profile.scratch[0].end.0, profile.scratch[0].queue), (40, 42, 4));
}

#[test]
fn slices_without_lengths_are_paired_as_brackets_in_order_of_time() {
    let begin = |name, time| Event::begin("hip_api", name).on(1).packet(time);
    let end = |time| Event::end().on(1).packet(time);
    let content = trace([
        start(),
        // A second pair, written before the pair that encloses it.
        begin("inner", 120),
        end(150),
        begin("outer", 100),
        end(200),
        // Another track does not interfere.
        Event::begin("hip_api", "other").on(2).packet(110),
        Event::end().on(2).packet(400),
        begin("unclosed", 300),
    ]);
    let profile = read(&content);
    assert_eq!(call_times(&profile.calls), [(120, 150), (100, 200), (110, 400), (300, 300)]);
    assert_eq!(profile.warnings, [Warning::Records { fault: RecordFault::UnclosedSlice, count: 1 }]);
}

#[test]
fn told_lengths_go_before_ends() {
    let content = trace([
        start(),
        // Two dispatches that overlap on one track: brackets would swap their ends.
        dispatch("a.kd", Annotation::Unsigned(2), 100, 100).on(1),
        dispatch("b.kd", Annotation::Unsigned(2), 150, 100).on(1),
        Event::end().on(1).packet(200),
        Event::end().on(1).packet(250),
        // One without lengths behind them is still paired.
        Event::begin("hip_api", "c").on(1).packet(300),
        Event::end().on(1).packet(310),
        // An end too many.
        Event::end().on(1).packet(320),
    ]);
    let profile = read(&content);
    assert_eq!(times(&profile.dispatches), [(100, 200), (150, 250)]);
    assert_eq!(call_times(&profile.calls), [(300, 310)]);
    let [Warning::MalformedRecords { count: 1, detail, .. }] = &profile.warnings[..] else {
        panic!("{:?}", profile.warnings)
    };
    assert!(detail.contains("without a matching start"), "{detail}");
}

#[test]
fn packets_that_rely_on_lost_ones_are_left_out_and_counted() {
    let slice = |number: u64, begin| {
        Event::begin_interned(number)
            .with("begin_ns", Annotation::Signed(begin))
            .with("delta_ns", Annotation::Signed(1))
            .packet(begin)
            .relying()
    };
    let content = trace([
        // The ring buffer has overwritten where the sequence began.
        slice(1, 10),
        slice(1, 20),
        start().interned(1, "hip_api", "hipMalloc"),
        slice(1, 30),
        slice(1, 40).dropped(),
        slice(1, 50),
        start().interned(1, "hip_api", "hipFree"),
        slice(1, 60),
        // A number that was never told.
        slice(2, 70),
    ]);
    let profile = read(&content);
    let calls: Vec<_> = profile.calls.iter().map(|call| (call.start.0, profile.text(call.name))).collect();
    assert_eq!(calls, [(30, "hipMalloc"), (60, "hipFree")]);
    assert_eq!(profile.warnings, [Warning::Records { fault: RecordFault::LostPacket, count: 5 }]);
}

#[test]
fn clocks_are_converted() {
    let call = |clock, timestamp| Event::instant("hip_api", "x").packet_on(clock, timestamp);
    let content = trace([
        start().clocks(&[
            (6, 1_000_000, false, 1),
            (3, 400_000, false, 1),
            (64, 1_000_000, true, 1),
            (65, 1000, true, 1000),
        ]),
        call(64, 5),
        call(6, 77),
        call(64, 5),
        call(3, 400_001),
        call(65, 2),
        call(65, 1),
        call(66, 1),
    ]);
    let profile = read(&content);
    let starts: Vec<_> = profile.calls.iter().map(|call| call.start.0).collect();
    assert_eq!(starts, [1_000_005, 77, 1_000_010, 1_000_001, 1_002_000, 1_003_000]);
    let [Warning::MalformedRecords { count: 1, detail, .. }] = &profile.warnings[..] else {
        panic!("{:?}", profile.warnings)
    };
    assert!(detail.contains("time"), "{detail}");
}

#[test]
fn compressed_packets_are_read_in_their_place() {
    let one = |name, begin| dispatch(name, Annotation::Unsigned(2), begin, 10);
    let inner = trace([one("b.kd", 200), one("c.kd", 300)]);
    let content = trace([start(), one("a.kd", 100), compressed(&inner), one("d.kd", 400)]);
    let profile = read(&content);
    assert_eq!(names(&profile), ["a.kd", "b.kd", "c.kd", "d.kd"]);
    assert_eq!(profile.warnings, []);

    // A whole trace may be compressed, and be compressed again.
    let content = trace([compressed(&trace([start(), compressed(&inner)]))]);
    assert_eq!(names(&read(&content)), ["b.kd", "c.kd"]);
}

#[test]
fn damaged_and_bottomless_compression_costs_no_more_than_itself() {
    let one = |name, begin| dispatch(name, Annotation::Unsigned(2), begin, 10);
    let inner = trace([one("b.kd", 200)]);
    let mut broken = zlib(&inner);
    let middle = broken.len() / 2;
    broken.truncate(middle);
    let mut deep = inner;
    for _ in 0..8 {
        deep = trace([compressed(&deep)]);
    }
    let broken = Packet::new(1).bytes(50, &broken);
    let profile = read(&trace([start(), one("a.kd", 100), broken, compressed(&deep), one("c.kd", 300)]));
    assert_eq!(names(&profile), ["a.kd", "c.kd"]);
    let [Warning::MalformedRecords { list, count: 2, .. }] = &profile.warnings[..] else {
        panic!("{:?}", profile.warnings)
    };
    assert_eq!(list, "TracePacket.compressed_packets");
}

#[test]
fn all_compressed_packets_together_are_no_more_than_a_trace_of_this_size_has() {
    let one = |name, begin| dispatch(name, Annotation::Unsigned(2), begin, 10);
    let blank = Packet::new(1).bytes(999, &vec![0; 1 << 20]).framed();
    let part = compressed(&compressed(&blank.repeat(30)).framed());
    let content = trace([start(), one("a.kd", 100), part.clone(), part.clone(), part, one("c.kd", 300)]);
    let profile = read(&content);
    assert_eq!(names(&profile), ["a.kd", "c.kd"]);
    let [Warning::MalformedRecords { list, detail, .. }] = &profile.warnings[..] else {
        panic!("{:?}", profile.warnings)
    };
    assert_eq!(list, "TracePacket.compressed_packets");
    assert!(detail.contains("far more than a trace would"), "{detail}");
}

#[test]
fn a_cut_off_packet_ends_the_trace_with_a_warning() {
    let whole = trace([start(), dispatch("a.kd", Annotation::Unsigned(2), 100, 10)]);
    let last = dispatch("b.kd", Annotation::Unsigned(2), 200, 10).framed();
    let content = [&whole[..], &last[..last.len() - 3]].concat();
    let profile = read(&content);
    assert_eq!(names(&profile), ["a.kd"]);
    assert_eq!(profile.warnings, [Warning::Truncated { bytes_lost: last.len() as u64 - 3 }]);
}

#[test]
fn a_packet_above_the_limit_is_an_error() {
    let mut content = trace([start(), dispatch("a.kd", Annotation::Unsigned(2), 100, 10)]);
    content.extend([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2, 3]);
    let error = read_named("x.pftrace", &content).unwrap_err().to_string();
    assert!(error.contains("Perfetto") && error.contains("limit of 256 MiB"), "{error}");
}

#[test]
fn a_damaged_packet_costs_only_itself() {
    let broken = Packet::new(1).bytes(11, &[0x48, 0x80]);
    let profile = read(&trace([start(), broken, dispatch("a.kd", Annotation::Unsigned(2), 100, 10)]));
    assert_eq!(names(&profile), ["a.kd"]);
    let [Warning::MalformedRecords { count: 1, detail, .. }] = &profile.warnings[..] else {
        panic!("{:?}", profile.warnings)
    };
    assert!(detail.contains("TrackEvent"), "{detail}");
}

#[test]
fn a_trace_of_another_program_is_refused_by_what_it_holds() {
    let event = |category| Event::begin(category, "Task").packet(100);
    let error =
        read_named("x.pftrace", &trace([start(), event("toplevel"), event("cc")])).unwrap_err().to_string();
    assert!(error.contains("Perfetto trace by another program"), "{error}");
    assert!(error.contains("\"toplevel\", \"cc\""), "{error}");
    let empty = read(&trace([start()]));
    assert!(empty.dispatches.is_empty() && empty.warnings.is_empty());
}

#[test]
fn a_compressed_file_is_the_same() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&vector()).unwrap();
    let profile = read(&encoder.finish().unwrap());
    assert_eq!(names(&profile), ["kA.kd", "kA.kd"]);
}

/// Profiles of another protobuf format begin with the same byte.
#[test]
fn xplane_profiles_of_the_corpus_are_not_claimed() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut profiles = vec![project.join("testdata/recorded/cpu/jax_step.xplane.pb")];
    let cases = ["mi300-conv3d-jax06", "tpu-v6e-inference"];
    profiles.extend(cases.iter().filter_map(|case| testdata::corpus(&format!("jax/{case}/trace.xplane.pb"))));
    for profile in profiles {
        let error = read_profile(&profile, &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, IngestError::OtherKind { .. }), "{error}");
    }
}

#[test]
fn chrome_events_become_the_same_records() {
    let profile = read_chrome(
        r#"{"displayTimeUnit": "ns", "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 10, "tid": 10, "args": {"name": "python"}},
            {"ph": "X", "cat": "kernel_dispatch", "name": "kA.kd", "pid": 10, "tid": 7, "ts": 1000000, "dur": 3,
             "args": {"begin_ns": "1000000500", "delta_ns": 3000, "agent": "Agent 2", "corr_id": 42, "grid_size": 64,
                      "workgroup_size": "32", "LDS_Block_Size": 512, "Scratch_Size": null, "tid": 11}},
            {"ph": "X", "cat": "hip_api", "name": "hip\u004caunchKernel", "pid": 10, "tid": 11, "ts": 1000.5, "dur": 10.0,
             "args": {"corr_id": "42"}},
            {"ph": "X", "cat": "gpu_activity", "name": "kB", "pid": 10, "tid": 7, "ts": 20000000000, "dur": 2,
             "args": {"agent": 3, "kernel_name": "_Z2kBv.kd"}},
            {"ph": "b", "cat": "hip_api", "name": "never ends", "pid": 12, "tid": 12, "ts": 7},
            {"ph": "e", "cat": "hip_api", "name": "kA.kd", "pid": 10, "tid": 7, "ts": 1000003},
            {"ph": "C", "cat": "memory_copy", "name": "COPY BYTES", "pid": 10, "ts": 5, "args": {"value": 3}},
            {"cat": " Memory_Copy ", "name": "MEMORY_COPY_DEVICE_TO_HOST", "ts": 1, "dur": 2,
             "args": {"begin_ns": 5, "end_ns": 9, "copy_bytes": "4096", "src_agent": 2, "dst_agent": 0}},
            {"cat": "hip_api", "name": "no time"},
        ]}"#,
    );
    assert_eq!(
        times(&profile.dispatches),
        [(1_000_000_500, 1_000_003_500), (20_000_000_000_000, 20_000_000_002_000)]
    );
    assert_eq!(names(&profile), ["kA.kd", "kB"]);
    assert_eq!(profile.dispatches[0].thread, 11);
    let launch = profile.launches[profile.dispatches[0].launch as usize];
    assert_eq!(
        (launch.grid[0], launch.workgroup[0], launch.group_segment, launch.private_segment),
        (64, 32, 512, 0)
    );
    let symbol = profile.kernels[profile.dispatches[1].kernel as usize].mangled;
    assert_eq!(symbol.map(|symbol| profile.text(symbol)), Some("_Z2kBv.kd"));
    assert_eq!(call_times(&profile.calls), [(1_000_500, 1_010_500), (7_000, 7_000)]);
    assert_eq!(
        (profile.text(profile.calls[0].name), profile.calls[0].correlation),
        ("hipLaunchKernel", Some(42))
    );
    let copy = profile.copies[0];
    assert_eq!((copy.start.0, copy.end.0, copy.bytes), (5, 9, Some(4096)));
    assert_eq!(copy.source, profile.dispatches[0].agent);
    let labels: Vec<_> = profile.agents.iter().map(|agent| agent.label.as_str()).collect();
    assert_eq!(labels, ["Agent 2", "3", "0"]);
    let pids: Vec<_> = profile.processes.iter().map(|process| process.pid).collect();
    assert_eq!(pids, [Some(10), Some(12), None]);
    let warnings: Vec<_> = profile.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("no usable time") && warnings[1].contains("without an end"), "{warnings:?}");
}

#[test]
fn a_cut_off_chrome_trace_keeps_what_is_whole() {
    let profile = read_chrome(
        r#"{"traceEvents": [{"ph": "X", "cat": "kernel_dispatch", "name": "k", "ts": 1, "dur": 2, "args": {"corr_id": 1}},
            {"ph": "X", "cat": "kernel_dispatch", "name": [}, {"ph": "X", "cat": "kernel_disp"#,
    );
    assert_eq!(times(&profile.dispatches), [(1000, 3000)]);
    assert!(profile.warnings.iter().any(|warning| matches!(warning, Warning::Truncated { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn damage_never_panics(cut in 0usize..1000, flips in prop::collection::vec((0usize..1000, any::<u8>()), 0..6), packed in any::<bool>()) {
        let body = trace([
            start().interned(1, "hip_api", "hipMalloc").clocks(&[(6, 1000, false, 1), (64, 1000, true, 1)]),
            Packet::new(1).thread_track(2, 1, 77, 78),
            Event::begin_interned(1).on(2).packet_on(64, 5).relying(),
            Event::end().on(2).packet_on(64, 5),
            dispatch("a.kd", Annotation::Text("Agent 2"), 100, 10),
        ]);
        let mut content = [vector(), if packed { trace([compressed(&body)]) } else { body }].concat();
        for (at, byte) in flips {
            let at = at % content.len();
            content[at] ^= byte;
        }
        content.truncate(content.len() - cut % content.len());
        if let Ok(profile) = read_named("x.pftrace", &content) {
            for dispatch in &profile.dispatches {
                prop_assert!(dispatch.duration().0 >= 0);
                let _ = profile.kernel_name(dispatch.kernel, KernelNames::Truncated);
                prop_assert!((dispatch.process as usize) < profile.processes.len());
            }
            prop_assert!(profile.calls.iter().all(|call| call.duration().0 >= 0));
        }
    }
}
