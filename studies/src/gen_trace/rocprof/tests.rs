//! What holds for every generated run, and the runs that are kept.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use trace_ingest::ReadOptions;
use trace_ingest::rocprof::{Profile, read_profile};

use super::*;

fn document(events: u64, seed: u64) -> Value {
    let mut text = Vec::new();
    write(Format::Json, events, seed, &mut text).expect("written");
    serde_json::from_slice(&text).expect("valid JSON")
}

#[test]
fn number_of_events_is_exact() {
    for events in [100, 101, 102, 103, 257, 1_000, 4_321] {
        let run = play(events, 5).expect("played");
        let records = run.calls.len() + run.dispatches.len() + run.copies.len() + run.allocations.len();
        assert_eq!(records as u64, events);
    }
    let error = play(99, 5).err().expect("refused").to_string();
    assert_eq!(error, "a run has at least 100 events");
}

#[test]
fn seeds_tell_runs_apart() {
    assert_eq!(document(300, 1), document(300, 1));
    assert_ne!(document(300, 1), document(300, 2));
}

#[test]
fn what_runs_on_a_gpu_has_a_call_that_began_before() {
    let run = play(2_000, 9).expect("played");
    let began = |correlation: u64| {
        run.calls.iter().find(|call| call.correlation == correlation).map(|call| call.start)
    };
    let device = run.dispatches.iter().map(|dispatch| (dispatch.correlation, dispatch.start, dispatch.end));
    let device = device.chain(run.copies.iter().map(|copy| (copy.correlation, copy.start, copy.end)));
    let mut seen = BTreeSet::new();
    for (correlation, start, end) in device {
        assert!(began(correlation).expect("a call") < start && start < end);
        assert!(start > run.init && end < run.fini);
        assert!(seen.insert(correlation), "one call, one piece of work");
    }
    let ordered = run.dispatches.windows(2).all(|pair| pair[0].start <= pair[1].start);
    assert!(!ordered, "as in real files, records are not in order of time");
}

#[test]
fn streams_of_bytes_are_refused_for_the_other_formats() {
    for format in [Format::Csv, Format::Rocpd] {
        let error = write(format, 200, 1, &mut Vec::new()).expect_err("refused").to_string();
        assert!(error.contains("--out"), "{error}");
    }
}

fn kept(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/generated/rocprof").join(name)
}

fn unzipped(path: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    flate2::read::GzDecoder::new(file).read_to_end(&mut content).expect("gzip");
    content
}

/// All cells of all tables.
fn cells(path: &Path) -> Vec<(String, Vec<Vec<Cell>>)> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("database");
    let mut names =
        database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").expect("names");
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).expect("names").collect::<Result<_, _>>().expect("names");
    let rows = |name: &String| {
        let mut table = database.prepare(&format!("SELECT * FROM {name} ORDER BY id")).expect("table");
        let width = table.column_count();
        let rows = table.query_map([], |row| (0..width).map(|at| row.get::<_, Cell>(at)).collect());
        rows.expect("rows").collect::<Result<Vec<Vec<Cell>>, _>>().expect("rows")
    };
    names.iter().map(|name| (name.clone(), rows(name))).collect()
}

/// The run kept in the repository; `testdata/generated/README.md` gives the same commands.
#[test]
fn kept_runs_are_those_that_the_generator_writes() {
    let (events, seed) = (600, 1);
    for (name, format) in [("run_results.json.gz", Format::Json), ("run_results.pftrace.gz", Format::Pftrace)]
    {
        let mut written = Vec::new();
        write(format, events, seed, &mut written).expect("written");
        assert!(unzipped(&kept(name)) == written, "{name} differs: write it again as its README says");
    }
    let folder = tempfile::tempdir().expect("folder");
    let tables = folder.path().join("csv");
    write_to(&tables, Format::Csv, events, seed).expect("written");
    let names = |path: &Path| -> BTreeSet<std::ffi::OsString> {
        std::fs::read_dir(path).expect("folder").map(|entry| entry.expect("entry").file_name()).collect()
    };
    assert_eq!(names(&kept("csv")), names(&tables));
    for name in names(&tables) {
        let read = |folder: &Path| std::fs::read_to_string(folder.join(&name)).expect("text");
        assert!(read(&kept("csv")) == read(&tables), "{name:?} differs: write it again as its README says");
    }
    let database = folder.path().join("run_results.db");
    write_to(&database, Format::Rocpd, events, seed).expect("written");
    assert!(cells(&kept("run_results.db")) == cells(&database), "run_results.db differs: write it again");
}

fn read(path: &Path) -> Profile {
    read_profile(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The readers find in each format what was written, or what the format has of it.
#[test]
fn every_format_is_read_as_the_run_that_was_written() {
    let folder = tempfile::tempdir().expect("folder");
    let run = play(500, 3).expect("played");
    for (format, name) in [
        (Format::Json, "run_results.json"),
        (Format::Csv, "csv"),
        (Format::Rocpd, "run_results.db"),
        (Format::Pftrace, "run_results.pftrace"),
    ] {
        let path = folder.path().join(name);
        write_to(&path, format, 500, 3).expect("written");
        let profile = read(&path);
        assert_eq!(profile.warnings, [], "{format:?}");
        let spans = |spans: &mut dyn Iterator<Item = (i64, i64)>| {
            let mut spans: Vec<(i64, i64)> = spans.collect();
            spans.sort_unstable();
            spans
        };
        let written = |start: u64, end: u64| (start as i64, end as i64);
        assert_eq!(
            spans(&mut profile.dispatches.iter().map(|dispatch| (dispatch.start.0, dispatch.end.0))),
            spans(&mut run.dispatches.iter().map(|dispatch| written(dispatch.start, dispatch.end))),
            "dispatches of {format:?}"
        );
        assert_eq!(
            spans(&mut profile.calls.iter().map(|call| (call.start.0, call.end.0))),
            spans(&mut run.calls.iter().map(|call| written(call.start, call.end))),
            "calls of {format:?}"
        );
        let sizes = |sizes: &mut dyn Iterator<Item = Option<u64>>| {
            let mut sizes: Vec<Option<u64>> = sizes.collect();
            sizes.sort_unstable();
            sizes
        };
        let size = |bytes: u64| (format != Format::Csv).then_some(bytes);
        assert_eq!(
            sizes(&mut profile.copies.iter().map(|copy| copy.bytes)),
            sizes(&mut run.copies.iter().map(|copy| size(copy.bytes))),
            "copies of {format:?}"
        );
        if format != Format::Pftrace {
            let total: u64 = run.dispatches.iter().flat_map(|one| &one.counters).flatten().sum();
            let values = profile.counter_values.iter().map(|value| value.value).sum::<f64>();
            assert_eq!(values, total as f64, "counters of {format:?}");
            let allocated = |bytes: &mut dyn Iterator<Item = u64>| bytes.sum::<u64>();
            assert_eq!(
                allocated(&mut profile.allocations.iter().map(|allocation| allocation.bytes)),
                allocated(&mut run.allocations.iter().map(|allocation| allocation.bytes)),
                "allocations of {format:?}"
            );
        }
    }
}
