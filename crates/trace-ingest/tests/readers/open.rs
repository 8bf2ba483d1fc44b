//! [`trace_ingest::open`]: every kind of recording is recognised by content, and what is none is named.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use miette::Diagnostic;
use tempfile::TempDir;
use trace_ingest::{
    Category, IngestError, Progress, ReadOptions, Recording, RecordingKind, TimeUnit, open, open_bytes,
    open_stream, read_path, recognise,
};

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// Files of all formats, the kind of each, and how many kernels or operations it holds.
const RECORDINGS: &[(&str, RecordingKind)] = &[
    ("generated/cuda_training_step.json.gz", RecordingKind::Trace),
    ("recorded/cpu/jax_step.xplane.pb", RecordingKind::XPlane),
    ("generated/rocprof/run_results.json.gz", RecordingKind::Rocprof),
    ("generated/rocprof/run_results.db", RecordingKind::Rocprof),
    ("generated/rocprof/run_results.pftrace.gz", RecordingKind::Rocprof),
    ("generated/rocprof/csv", RecordingKind::Rocprof),
    ("generated/rocprof/csv/4242_kernel_trace.csv", RecordingKind::Rocprof),
    ("generated/nsys/run.sqlite", RecordingKind::Nsys),
    ("generated/metal_ops.csv", RecordingKind::TenstorrentOps),
];

/// A stream that comes in pieces.
struct Pieces<'b>(&'b [u8]);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(self.0.len()).min(1000);
        self.0.read(&mut buffer[..length])
    }
}

#[test]
fn every_format_is_read_from_bytes_and_streams_like_from_a_file() {
    let directory = TempDir::new().unwrap();
    let events = |recording: Recording| match recording {
        Recording::TenstorrentOps(table) => format!("{:?}", table.rows),
        recording => {
            let trace = recording.into_trace().unwrap();
            let events = trace.events().ids().map(|event| (trace.name(event), trace.events().get(event)));
            format!("{:?} {:?} {:?}", trace.facts(), trace.warnings(), events.collect::<Vec<_>>())
        }
    };
    let of_files = RECORDINGS.iter().filter(|(name, _)| testdata(name).is_file());
    for &(name, kind) in of_files.chain([&("generated/pftrace/run.k2.pftrace", RecordingKind::Trace)]) {
        // A name that no file has, so that none is beside it.
        let alone = directory.path().join(Path::new(name).file_name().unwrap());
        let bytes = fs::read(testdata(name)).unwrap();
        fs::write(&alone, &bytes).unwrap();
        let of_file = events(opened(&alone));
        fs::remove_file(&alone).unwrap();
        let options = ReadOptions::default();
        assert_eq!(events(open_bytes(&alone, &bytes, &options).unwrap()), of_file, "{name}");
        let streamed = open_stream(&alone, Pieces(&bytes), &options).unwrap();
        assert_eq!(streamed.kind(), kind, "{name}");
        assert_eq!(events(streamed), of_file, "{name}");
    }
}

const CHROME: &str = r#"{"displayTimeUnit": "ns", "traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "GPU"}},
    {"ph": "X", "cat": "kernel_dispatch", "name": "k.kd", "pid": 1, "tid": 1, "ts": 1, "dur": 2,
     "args": {"agent": "Agent 2", "begin_ns": "1000", "end_ns": "3000", "corr_id": "5"}}]}"#;

fn opened(path: &Path) -> Recording {
    open(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn error(path: &Path) -> IngestError {
    open(path, &ReadOptions::default()).map(|recording| recording.kind()).unwrap_err()
}

#[test]
fn every_kind_is_recognised_by_content_whatever_its_name() {
    let directory = TempDir::new().unwrap();
    for &(name, kind) in RECORDINGS {
        let path = testdata(name);
        assert_eq!(recognise(&path, &ReadOptions::default()).unwrap(), kind, "{name}");
        let recording = opened(&path);
        assert_eq!(recording.kind(), kind, "{name}");
        assert_eq!(recording.into_trace().is_some(), kind != RecordingKind::TenstorrentOps, "{name}");
        if path.is_file() {
            let nameless = directory.path().join("recording");
            fs::copy(&path, &nameless).unwrap();
            assert_eq!(opened(&nameless).kind(), kind, "{name}");
        }
    }
}

#[test]
fn a_compressed_recording_is_of_the_same_kind() {
    let directory = TempDir::new().unwrap();
    for name in ["recorded/cpu/jax_step.xplane.pb", "generated/metal_ops.csv"] {
        let path = directory.path().join("packed");
        let mut encoder = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::fast());
        encoder.write_all(&fs::read(testdata(name)).unwrap()).unwrap();
        encoder.finish().unwrap();
        assert_eq!(
            recognise(&path, &ReadOptions::default()).unwrap(),
            opened(&testdata(name)).kind(),
            "{name}"
        );
    }
}

#[test]
fn the_four_formats_of_rocprofv3_give_one_profile() {
    let dispatches = |name: &str| match opened(&testdata(name)) {
        Recording::Rocprof(profile) => profile.dispatches.len(),
        other => panic!("{name}: {}", other.kind()),
    };
    let of_rocprof: Vec<usize> = RECORDINGS
        .iter()
        .filter(|(_, kind)| *kind == RecordingKind::Rocprof)
        .map(|(name, _)| dispatches(name))
        .collect();
    assert!(of_rocprof[0] > 0 && of_rocprof.iter().all(|&count| count == of_rocprof[0]), "{of_rocprof:?}");
}

#[test]
fn chrome_events_of_rocprofv3_are_no_kineto_trace() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("trace.json");
    fs::write(&path, CHROME).unwrap();
    let Recording::Rocprof(profile) = opened(&path) else { panic!("taken for another kind") };
    assert_eq!((profile.dispatches[0].start.0, profile.dispatches[0].end.0), (1000, 3000));
    // The first event that shows its recorder decides.
    let operator =
        r#"{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2},"#;
    fs::write(&path, CHROME.replacen('[', &format!("[{operator}"), 1)).unwrap();
    assert_eq!(recognise(&path, &ReadOptions::default()).unwrap(), RecordingKind::Trace);
}

#[test]
fn read_path_gives_a_trace_of_whatever_is_one() {
    let kernels = |name: &str| {
        let trace = read_path(&testdata(name), &ReadOptions::default()).unwrap();
        let events = trace.events();
        events.ids().filter(|&event| events.category(event) == Category::KERNEL).count()
    };
    let of_rocprof = kernels("generated/rocprof/run_results.json.gz");
    assert!(of_rocprof > 0);
    for name in ["run_results.db", "run_results.pftrace.gz", "csv"] {
        assert_eq!(kernels(&format!("generated/rocprof/{name}")), of_rocprof, "{name}");
    }
    let refused = read_path(&testdata("generated/metal_ops.csv"), &ReadOptions::default()).unwrap_err();
    assert!(
        matches!(refused, IngestError::OtherKind { found: RecordingKind::TenstorrentOps, .. }),
        "{refused}"
    );
}

#[test]
fn what_is_no_recording_is_named_with_the_kinds_that_are_known() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    for (content, found) in [
        (&b"\x89PNG\r\n\x1a\n"[..], "found a PNG image"),
        (b"hello, world\n", "found text in an unknown format"),
        (b"a,b\n1,2\n", "found text in an unknown format"),
    ] {
        fs::write(&path, content).unwrap();
        let message = error(&path).to_string();
        for part in [
            "file: not recognized",
            found,
            "an event trace",
            "an XPlane profile",
            "an Nsight Systems export",
            "a rocprofv3 profile",
            "a Tenstorrent ops CSV",
        ] {
            assert!(message.contains(part), "{part:?} not in {message:?}");
        }
        assert!(!message.contains("--") && !message.contains('`'), "{message}");
    }
    fs::write(&path, "").unwrap();
    assert!(matches!(error(&path), IngestError::Empty { .. }));
    assert!(matches!(error(&directory.path().join("absent")), IngestError::Io { .. }));
}

#[test]
fn a_directory_is_the_traces_in_it_or_names_its_recordings() {
    let directory = TempDir::new().unwrap();
    let help = error(directory.path()).help().unwrap().to_string();
    assert!(help.contains("pass a recording inside it (no file name matches"), "{help}");
    let run = directory.path().join("plugins/profile/today");
    fs::create_dir_all(&run).unwrap();
    for name in ["b.xplane.pb", "a.xplane.pb", "notes.txt"] {
        fs::write(run.join(name), "").unwrap();
    }
    let IngestError::Directory { recordings, .. } = error(directory.path()) else { panic!("opened") };
    assert_eq!(recordings, ["a.xplane.pb", "b.xplane.pb"].map(|name| run.join(name)));
    // The profiler makes a directory for each machine.
    let machine = directory.path().join("machine");
    fs::create_dir(&machine).unwrap();
    for entry in fs::read_dir(testdata("generated/rocprof/csv")).unwrap() {
        let file = entry.unwrap().path();
        if file.is_file() {
            fs::copy(&file, machine.join(file.file_name().unwrap())).unwrap();
        }
    }
    assert_eq!(opened(directory.path()).kind(), RecordingKind::Rocprof);
    assert_eq!(recognise(directory.path(), &ReadOptions::default()).unwrap(), RecordingKind::Rocprof);
}

#[test]
fn a_recording_cut_anywhere_is_opened_or_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("cut");
    for &(name, kind) in RECORDINGS.iter().filter(|(name, _)| testdata(name).is_file()) {
        let whole = fs::read(testdata(name)).unwrap();
        for length in (1..whole.len()).step_by(whole.len() / 7 + 1) {
            fs::write(&path, &whole[..length]).unwrap();
            match open(&path, &ReadOptions::default()) {
                Ok(recording) => assert_eq!(recording.kind(), kind, "{name}, {length}"),
                Err(error) => assert!(error.to_string().contains("cut: "), "{name}, {length}: {error}"),
            }
        }
    }
}

#[test]
fn a_recorder_states_what_it_can_know() {
    let facts = |name: &str| {
        let trace = opened(&testdata(name)).into_trace().unwrap();
        trace.facts().recorder
    };
    let kineto = facts("generated/cuda_training_step.json.gz");
    assert!(kineto.operators && kineto.launches && kineto.shapes && kineto.python_frames);
    assert_eq!((kineto.kind, kineto.time_unit), (Some(RecordingKind::Trace), TimeUnit::Nanoseconds));
    let rocprof = facts("generated/rocprof/run_results.db");
    assert!(rocprof.launches && rocprof.launch_geometry && !rocprof.operators && !rocprof.shapes);
    let xplane = facts("recorded/cpu/jax_step.xplane.pb");
    assert_eq!((xplane.kind, xplane.time_unit), (Some(RecordingKind::XPlane), TimeUnit::Picoseconds));
    assert!(xplane.operators && !xplane.shapes);

    // Without the tracing of calls nothing launches.
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("trace.json");
    fs::write(&path, CHROME).unwrap();
    assert!(!opened(&path).into_trace().unwrap().facts().recorder.launches);
}

#[test]
fn reading_ends_where_it_is_stopped() {
    let stop = AtomicBool::new(false);
    let content = format!("{{\"schemaVersion\": 1, \"traceEvents\": [{}]}}", " ".repeat(64 << 20));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), content).unwrap();
    let progress = |progress: Progress| {
        assert!(progress.bytes < progress.total / 2, "{progress:?}: read on after it was stopped");
        stop.store(progress.bytes > progress.total / 10, Ordering::Relaxed);
    };
    let options = ReadOptions { stop: Some(&stop), progress: Some(&progress), ..ReadOptions::default() };
    let error = open(file.path(), &options).map(|recording| recording.kind()).unwrap_err();
    assert!(matches!(error, IngestError::Stopped { .. }), "{error}");
}
