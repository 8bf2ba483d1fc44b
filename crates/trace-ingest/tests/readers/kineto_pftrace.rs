//! Perfetto traces of PyTorch's profiler.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use trace_ingest::{
    Category, EventFault, EventId, FlowEnd, FlowKind, IngestError, LaunchGeometry, ReadOptions,
    RecordingKind, RowId, Sequence, Trace, Warning, check_entries, read_path, recognise, rocprof,
    visit_entries,
};

use crate::perfetto_writer::compressed;
use crate::reader_probes::Probes;

/// A trace that Perfetto's own message classes decode: host slices of which one begins when another ends, a launch of a
/// kernel, one of a graph of two kernels of which the second waits for the first, a copy, samples of two counters.
const VECTOR: &str = "0a2a40808082c58faa94c3185001321c0a0c080610808082c58faa94c3180a0c080110808082c58faa94c3180a12e2030f08011a0b0892213206\
707974686f6e0a1ce203190802280122130892211092212a0b74687265616420343234320a17e2031408031a1008ffffffff0732084f76657268\
6561640a1be2031808042803221208ffffffff0710002a084f766572686561640ad18280005001680162c8828000fa0228080112220a0d080012\
09506f776572202857290a110801120d534d20416374697665202825291800120c080112086174656e3a3a6d6d121408021210637564614c6175\
6e63684b65726e656c12130803120f6375646147726170684c61756e636812100804120c42756666657220466c757368120a0805120667656d6d\
5f6b120a0806120672656c755f6b0a0a080112066370755f6f700a100802120c637564615f72756e74696d65c2010c080112064b65726e656c20\
02c2010c080212064d656d6370792000c201120864120c5b375d2073747265616d20372000ba01050801109221c23e0a08011a0667656d6d5f6b\
c23e0a08021a0672656c755f6bca3e18080112147265676973746572735f7065725f746872656164ca3e16080212127368617265645f6d656d5f\
64796e616d6963ca3e100803120c7468726561645f636f756e740ab881800040e88782c58faa94c318500168025aa58180004801580250011801\
220f520b45787465726e616c20696420072222520a496e7075742044696d7362096202204062032080016209620320800162022020221e520a49\
6e707574207479706562073205666c6f617462073205666c6f61742219520f436f6e637265746520496e7075747362023200620232002215520d\
4677642074687265616420696432046e756c6c221452125265636f72642066756e6374696f6e2069640a124088a483c58faa94c31850015a0448\
0258020a3b40d08f82c58faa94c318500168025a2b4801580250021802c2bb01020801220952046362696420d3012210520b636f7272656c6174\
696f6e20a9460a3b40e0dd82c58faa94c318500168025a2b4801580250031802c2bb01020802220952046362696420b7022210520b636f727265\
6c6174696f6e20aa460a1240e0dd82c58faa94c31850015a04480258020a1240a09c83c58faa94c31850015a04480258020a1640f0ab83c58faa\
94c318500168025a064801580450040a1240d8b383c58faa94c31850015a04480258040a724098f582c58faa94c31850016802aa0361080110a0\
1f5800686470012801a00105980101aa01260a060801100218011207088001100118011a04080120401a060802208080011a050803208001320e\
0a0973747265616d20696412013732130a0b636f7272656c6174696f6e1204393030310a8e81800040b0ea83c58faa94c31850016802aa037d08\
021088275800686470012801a00105980101aa011e0a060801100218011207088001100118011a04080120401a050803208001320e0a09737472\
65616d20696412013732130a0b636f7272656c6174696f6e120439303032320d0a08677261706820696412013332130a0d6772617068206e6f64\
65206964120231310a9481800040b89184c58faa94c31850016802aa0380818000080310d00f5800686470012801a00106900102980102aa011e\
0a060808100118011207088002100118011a04080120201a050803208002320e0a0973747265616d20696412013732130a0b636f7272656c6174\
696f6e120439303032320d0a08677261706820696412013332130a0d6772617068206e6f6465206964120231320a5240c0b884c58faa94c31850\
016802aa0341080410dc0b5800686470022801320e0a0973747265616d20696412013732130a0b636f7272656c6174696f6e120439303033320d\
0a0562797465731204383139320a2040808082c58faa94c31850016802a2030f2001120b0800190000000000906a400a2040c084bfc58faa94c3\
1850016802a2030f2001120b0801190000000000a04e40";

/// What its times count from.
const BASE: i64 = 1_767_189_312_000_000_000;

pub(crate) fn vector() -> Vec<u8> {
    let digits: Vec<u32> = VECTOR.chars().map(|digit| digit.to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn read_named(name: &str, content: &[u8]) -> Result<Trace, IngestError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    read_path(&path, &ReadOptions::default())
}

fn read(content: &[u8]) -> Trace {
    read_named("trace.pftrace", content).unwrap()
}

/// Category, name, start and end in nanoseconds from the base, and correlation id.
type Seen<'t> = (&'t str, &'t str, i64, i64, Option<i64>);

fn seen(trace: &Trace) -> Vec<Seen<'_>> {
    let events = trace.events();
    let row = |event| {
        let (start, end) = (events.start(event) + trace.origin(), events.end(event) + trace.origin());
        (
            trace.category_name(events.category(event)),
            trace.name(event),
            start,
            end,
            events.correlation(event),
        )
    };
    events.ids().map(row).collect()
}

const SEEN: [Seen<'_>; 8] = [
    ("cpu_op", "aten::mm", 1_000, 21_000, None),
    ("cuda_runtime", "cudaLaunchKernel", 2_000, 12_000, Some(9001)),
    ("cuda_runtime", "cudaGraphLaunch", 12_000, 20_000, Some(9002)),
    ("overhead", "Buffer Flush", 22_000, 23_000, None),
    ("kernel", "gemm_k", 15_000, 19_000, Some(9001)),
    ("kernel", "gemm_k", 30_000, 35_000, Some(9002)),
    ("kernel", "relu_k", 35_000, 37_000, Some(9002)),
    ("gpu_memcpy", "Memcpy", 40_000, 41_500, Some(9003)),
];

#[test]
fn the_vector_is_read() {
    let content = vector();
    assert_eq!(content.len(), 1473);
    let trace = read(&content);
    assert_eq!(seen(&trace), SEEN);
    assert_eq!(trace.warnings(), []);
    let samples = trace.counters().iter();
    let samples: Vec<_> =
        samples.map(|it| (it.device, trace.text(it.counter), it.time + trace.origin(), it.value)).collect();
    assert_eq!(samples, [(0, "Power (W)", 0, 212.5), (0, "SM Active (%)", 1_000_000, 61.25)]);
    assert_eq!((trace.entries(), trace.origin()), (10, 1_000));
    let facts = trace.facts();
    assert_eq!(facts.base_time_nanoseconds, Some(BASE));
    assert_eq!(facts.recorder.kind, Some(RecordingKind::Trace));
    assert!(!facts.recorder.allocations && !facts.recorder.uncut_device_times);

    let events = trace.events();
    let argument = |part: usize| {
        trace.argument(EventId(0), |signature| {
            [signature.dims, signature.types, signature.strides, signature.concrete][part]
        })
    };
    let texts: Vec<_> =
        (0..4).map(|part| argument(part).map(|list| list.display(Sequence::List).to_string())).collect();
    let texts: Vec<_> = texts.iter().map(Option::as_deref).collect();
    assert_eq!(texts, [Some("[[64, 128], [128, 32]]"), Some("['float', 'float']"), None, Some("['', '']")]);
    assert_eq!(events.external_id(EventId(0)), Some(7));
    assert_eq!(events.arguments().forward_thread.get(0), None);

    let geometry = |grid, block, registers| {
        let registers_per_thread = Some(registers);
        LaunchGeometry { grid, block, registers_per_thread, shared_memory: None }
    };
    assert_eq!(events.arguments().geometry.get(4), Some(geometry([1, 2, 1], [128, 1, 1], 64)));
    let nodes: Vec<_> = (4..8).map(|row| events.arguments().graph_node.get(row)).collect();
    assert_eq!(nodes, [None, Some(12_884_901_899), Some(12_884_901_900), None]);
    assert_eq!(events.arguments().transfer.get(7).unwrap().bytes, Some(8192));
    for event in (4..8).map(EventId) {
        assert_eq!((events.device(event), events.stream(event)), (Some(0), Some(7)));
    }

    let row = |row: u32| {
        let track = trace.tracks().get(events.track(EventId(row)));
        let text = |id: Option<_>| id.map(|id| trace.text(id));
        (
            track.pid,
            track.tid,
            text(trace.process(events.track(EventId(row))).name),
            trace.thread_name(events.track(EventId(row))),
        )
    };
    let number = RowId::Number;
    assert_eq!(row(0), (number(4242), number(4242), Some("python"), Some("thread 4242")));
    assert_eq!(row(3), (number(2_147_483_647), number(0), Some("Overhead"), Some("Overhead")));
    assert_eq!(row(4), (number(0), number(7), None, Some("stream 7")));
}

#[test]
fn arrows_name_the_events_at_their_ends() {
    let trace = read(&vector());
    let flows: Vec<_> = trace.flows().iter().map(|flow| (flow.kind, flow.end, flow.id, flow.event)).collect();
    let (launch, dependency) = (FlowKind::Launch, FlowKind::GraphDependency);
    let first = FlowKind::FIRST_GRAPH_DEPENDENCY;
    assert_eq!(
        flows,
        [
            (launch, FlowEnd::Start, 9001, Some(1)),
            (launch, FlowEnd::Start, 9002, Some(2)),
            (launch, FlowEnd::Finish, 9001, Some(4)),
            (launch, FlowEnd::Finish, 9002, Some(5)),
            (dependency, FlowEnd::Start, first, Some(5)),
            (dependency, FlowEnd::Finish, first, Some(6)),
        ]
    );
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(content).unwrap();
    packed.finish().unwrap()
}

#[test]
fn content_decides_and_not_the_name() {
    let (plain, packed) = (vector(), gzip(&vector()));
    for (name, content) in [
        ("trace.pftrace", &packed),
        ("trace.pftrace.gz", &packed),
        ("trace.pftrace.gz", &plain),
        ("trace.json", &plain),
        ("trace", &compressed(&plain).framed()),
    ] {
        assert_eq!(seen(&read_named(name, content).unwrap()), SEEN, "{name}");
    }
}

#[test]
fn it_is_no_profile_of_rocprofv3_and_has_no_entries_to_copy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.pftrace");
    std::fs::write(&path, vector()).unwrap();
    assert_eq!(recognise(&path, &ReadOptions::default()).unwrap(), RecordingKind::Trace);
    let error = rocprof::read_profile(&path, &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, IngestError::OtherKind { found: RecordingKind::Trace, .. }), "{error}");
    struct Nobody;
    impl trace_ingest::EntryVisitor for Nobody {
        fn fact(&mut self, _: &'static str, _: &[u8]) -> std::ops::ControlFlow<()> {
            std::ops::ControlFlow::Continue(())
        }
        fn entry(&mut self, _: trace_ingest::RawEntry<'_>) -> std::ops::ControlFlow<()> {
            std::ops::ControlFlow::Continue(())
        }
    }
    let visited = visit_entries(&path, &ReadOptions::default(), &mut Nobody).map(drop);
    for error in [visited, check_entries(&path, &ReadOptions::default())].map(Result::unwrap_err) {
        assert!(matches!(error, IngestError::NoEntries { .. }), "{error}");
    }
}

#[test]
fn a_file_may_end_anywhere() {
    let directory = tempfile::tempdir().unwrap();
    let probes = Probes::new(directory.path());
    let (plain, packed) = (vector(), gzip(&vector()));
    let whole = probes.trace(&plain).unwrap();
    assert_eq!((whole.records, probes.trace(&packed)), (8 + 6, Some(whole)));
    for content in [&plain, &packed] {
        for end in 0..content.len() {
            if let Some(found) = probes.trace(&content[..end]) {
                assert!(found.records <= whole.records, "{end}: {found:?}");
            }
        }
    }
}

/// The vector without some of its packets, by their positions.
fn without(left_out: &[usize]) -> Vec<u8> {
    let content = vector();
    let (mut at, mut kept) = (0, Vec::new());
    for position in 0..20 {
        let (mut length, mut shift, mut end) = (0usize, 0, at + 1);
        loop {
            length |= usize::from(content[end] & 0x7f) << shift;
            shift += 7;
            end += 1;
            if content[end - 1] < 0x80 {
                break;
            }
        }
        if !left_out.contains(&position) {
            kept.extend(&content[at..end + length]);
        }
        at = end + length;
    }
    assert_eq!(at, content.len());
    kept
}

fn ends(trace: &Trace) -> Vec<i64> {
    seen(trace).into_iter().map(|(.., end, _)| end).collect()
}

#[test]
fn slices_without_an_end_last_until_the_end_of_the_recording() {
    // The file ends before the end of the second call.
    let trace = read(&without(&[11, 12, 13, 14, 15, 16, 17, 18, 19]));
    assert_eq!(ends(&trace), [21_000, 12_000, 21_000]);
    let unended = Warning::Events { fault: EventFault::UnendedSlice, count: 1, first_uid: 2 };
    assert_eq!(trace.warnings(), [unended]);
}

#[test]
fn ends_out_of_order_are_matched_by_time() {
    // That end is missing and others follow: by time the second call ends where it begins, which is when the first ends.
    let trace = read(&without(&[11]));
    assert_eq!(ends(&trace)[..4], [1_000_000, 21_000, 12_000, 23_000]);
    let fault = |fault, first_uid| Warning::Events { fault, count: 1, first_uid };
    let expected = [fault(EventFault::EndOutOfOrder, 2), fault(EventFault::UnendedSlice, 0)];
    assert_eq!(trace.warnings()[..2], expected);
}

#[test]
fn events_whose_names_are_lost_keep_their_times() {
    let trace = read_path_without_names();
    let times: Vec<_> =
        seen(&trace).into_iter().map(|(.., start, end, correlation)| (start, end, correlation)).collect();
    let expected: Vec<_> =
        SEEN.iter().map(|&(.., start, end, correlation)| (start, end, correlation)).collect();
    assert_eq!(times, expected);
    assert!(trace.events().ids().all(|event| trace.name(event) == "<unknown>"));
    let lost = Warning::Events { fault: EventFault::LostName, count: 8, first_uid: 0 };
    assert!(trace.warnings().contains(&lost), "{:?}", trace.warnings());
    // Without a category, what is beside a slice says what it is.
    let categories: Vec<_> =
        trace.events().ids().map(|event| trace.events().category(event)).take(4).collect();
    assert_eq!(
        categories,
        [Category::CPU_OP, Category::CUDA_RUNTIME, Category::CUDA_RUNTIME, Category::OVERHEAD]
    );
}

/// The vector without the packet that names everything.
fn read_path_without_names() -> Trace {
    read(&without(&[5]))
}

#[test]
fn python_frames_are_left_out_where_nobody_asks_for_them() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/generated/pftrace/run.k3.pftrace");
    let read = |skip_python_frames| {
        let options = ReadOptions { skip_python_frames, ..ReadOptions::default() };
        read_path(std::path::Path::new(path), &options).unwrap()
    };
    let (all, some) = (read(false), read(true));
    let is_frame = |event: &EventId| all.events().category(*event) == Category::PYTHON_FUNCTION;
    let frames = all.events().ids().filter(is_frame).count();
    assert_eq!((frames, some.skipped_frames(), all.skipped_frames()), (16, 16, 0));
    let rows = |trace: &Trace| -> Vec<_> {
        let events = trace.events();
        let row = |event| (events.uid(event), events.start(event) + trace.origin(), events.duration(event));
        let is_other = |event: &EventId| events.category(*event) != Category::PYTHON_FUNCTION;
        events.ids().filter(is_other).map(row).collect()
    };
    assert_eq!(rows(&all), rows(&some));
}

#[test]
fn a_trace_of_another_program_is_refused() {
    let content: Vec<u8> = ["cpu_op", "cuda_runtime"].iter().fold(vector(), |content, category| {
        let at = content.windows(category.len()).position(|window| window == category.as_bytes()).unwrap();
        let mut changed = content;
        changed[at..at + category.len()].fill(b'x');
        changed
    });
    // Of its other evidence.
    let mut content = content;
    for text in ["aten::", "registers_per_thread", "External id", "Record function id", "cbid"] {
        while let Some(at) = content.windows(text.len()).position(|window| window == text.as_bytes()) {
            content[at..at + text.len()].fill(b'y');
        }
    }
    let error = read_named("trace.pftrace", &content).unwrap_err().to_string();
    for part in ["Perfetto trace by another program", "PyTorch's profiler or rocprofv3"] {
        assert!(error.contains(part), "{error}");
    }
}
