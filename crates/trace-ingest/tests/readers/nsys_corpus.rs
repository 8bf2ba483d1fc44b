//! Real exports of Nsight Systems, held against tables that were computed of them by other means.

#![allow(clippy::expect_used)] // a test helper may stop at a fault

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use trace_ingest::{Category, EventId, ReadOptions, Trace, Warning, read_path};

const RECORDINGS: [&str; 2] = ["h100-2gpu-1s", "mock"];

/// How many, and how long in nanoseconds.
type Sum = (u64, i64);

fn folder(name: &str) -> Option<PathBuf> {
    testdata::corpus(&format!("nsys/{name}"))
}

fn read(path: &Path) -> Trace {
    read_path(path, &ReadOptions::default()).expect("a trace")
}

/// The columns of a reference table that are named, of each row; `None` where the recording has no such table.
fn table<const N: usize>(folder: &Path, table: &str, columns: [&str; N]) -> Option<Vec<[String; N]>> {
    let path = folder.join("reference").join(format!("{table}.csv"));
    let mut reader = csv::Reader::from_path(path).ok()?;
    let headers = reader.headers().expect("a header").clone();
    let places =
        columns.map(|column| headers.iter().position(|header| header == column).expect("the column"));
    let row = |row: csv::StringRecord| places.map(|place| row[place].to_string());
    Some(reader.records().map(|found| row(found.expect("a row"))).collect())
}

/// The sums of a reference table by a text.
fn sums<const N: usize>(folder: &Path, name: &str, columns: [&str; N]) -> Option<BTreeMap<Vec<String>, Sum>> {
    let rows = table(folder, name, columns)?;
    let mut sums = BTreeMap::new();
    for row in rows {
        let (key, [count, time]) = row.split_at(N - 2) else { unreachable!() };
        let sum: &mut Sum = sums.entry(key.to_vec()).or_default();
        sum.0 += count.parse::<u64>().expect("a count");
        sum.1 += time.parse::<i64>().expect("a time");
    }
    Some(sums)
}

/// The sums of the events of which `key` says something.
fn found(trace: &Trace, key: impl Fn(EventId) -> Option<Vec<String>>) -> BTreeMap<Vec<String>, Sum> {
    let mut sums = BTreeMap::new();
    for event in trace.events().ids() {
        if let Some(key) = key(event) {
            let sum: &mut Sum = sums.entry(key).or_default();
            sum.0 += 1;
            sum.1 += trace.events().duration(event);
        }
    }
    sums
}

fn category(trace: &Trace, event: EventId) -> &str {
    trace.category_name(trace.events().category(event))
}

fn names<'t>(trace: &'t Trace, categories: &'t [&'t str]) -> impl Fn(EventId) -> Option<Vec<String>> + 't {
    move |event| categories.contains(&category(trace, event)).then(|| vec![trace.name(event).to_string()])
}

#[test]
fn events_of_the_corpus_have_their_categories() {
    for name in RECORDINGS {
        let Some(folder) = folder(name) else { continue };
        let trace = read(&folder.join("trace.sqlite"));
        let expected = sums(&folder, "events_by_category", ["category", "Count", "Total Time (ns)"]);
        let by_category = found(&trace, |event| Some(vec![category(&trace, event).to_string()]));
        assert_eq!(Some(by_category), expected, "{name}");
    }
}

#[test]
fn kernels_and_calls_of_the_corpus_have_their_names() {
    for name in RECORDINGS {
        let Some(folder) = folder(name) else { continue };
        let trace = read(&folder.join("trace.sqlite"));
        let columns = ["Name", "Instances", "Total Time (ns)"];
        let expected = sums(&folder, "cuda_gpu_kern_sum", columns);
        assert_eq!(Some(found(&trace, names(&trace, &["kernel"]))), expected, "{name}");
        let expected = sums(&folder, "cuda_api_sum", ["Name", "Num Calls", "Total Time (ns)"]);
        let calls = found(&trace, names(&trace, &["cuda_runtime", "cuda_driver"]));
        assert_eq!(Some(calls), expected, "{name}");
        let expected = sums(&folder, "overheads", ["name", "Count", "Total Time (ns)"]);
        assert_eq!(Some(found(&trace, names(&trace, &["overhead"]))), expected, "{name}");

        let columns =
            ["Name", "GridX", "GridY", "GridZ", "BlockX", "BlockY", "BlockZ", "Instances", "Total Time (ns)"];
        let expected = sums(&folder, "cuda_gpu_kern_gb_sum", columns);
        let by_shape = found(&trace, |event| {
            let geometry = trace.events().arguments().geometry.get(event.index())?;
            let numbers = geometry.grid.iter().chain(&geometry.block).map(u32::to_string);
            Some(std::iter::once(trace.name(event).to_string()).chain(numbers).collect())
        });
        assert_eq!(Some(by_shape), expected, "{name}");
    }
}

#[test]
fn copies_of_the_corpus_have_direction_memory_and_bytes() {
    const DIRECTIONS: [(&str, &str); 3] =
        [("Host-to-Device", "HtoD"), ("Device-to-Host", "DtoH"), ("Device-to-Device", "DtoD")];
    for name in RECORDINGS {
        let Some(folder) = folder(name) else { continue };
        let trace = read(&folder.join("trace.sqlite"));
        let columns = ["device", "direction", "source", "destination", "Count", "Bytes", "Total Time (ns)"];
        let rows = table(&folder, "memory_copy_bandwidth", columns).expect("the table");
        let mut expected = BTreeMap::new();
        for [device, direction, source, destination, count, bytes, time] in rows {
            let (_, short) = DIRECTIONS.iter().find(|(long, _)| *long == direction).expect("a direction");
            let number = |text: String| text.parse::<u64>().expect("a number");
            expected.insert(
                (device, format!("Memcpy {short} ({source} -> {destination})")),
                (number(count), number(bytes), number(time)),
            );
        }
        let events = trace.events();
        let mut copies = BTreeMap::new();
        for event in events.ids().filter(|&event| events.category(event) == Category::GPU_MEMCPY) {
            let key = (events.device(event).expect("a device").to_string(), trace.name(event).to_string());
            let sum: &mut (u64, u64, u64) = copies.entry(key).or_default();
            let transfer = events.arguments().transfer.get(event.index()).expect("a size");
            sum.0 += 1;
            sum.1 += transfer.bytes.expect("a size");
            sum.2 += events.duration(event).unsigned_abs();
        }
        assert_eq!(copies, expected, "{name}");
    }
}

#[test]
fn ranges_of_the_corpus_have_their_texts() {
    let Some(folder) = folder("h100-2gpu-1s") else { return };
    let trace = read(&folder.join("trace.sqlite"));
    let expected = sums(&folder, "nvtx_sum", ["Range", "Instances", "Total Time (ns)"]);
    let ranges = found(&trace, |event| {
        matches!(events_category(&trace, event), Category::CPU_OP | Category::USER_ANNOTATION)
            .then(|| vec![format!(":{}", trace.name(event))])
    });
    assert_eq!(Some(ranges), expected);
}

fn events_category(trace: &Trace, event: EventId) -> Category {
    trace.events().category(event)
}

#[test]
fn device_work_of_the_corpus_is_linked_to_its_calls() {
    for name in RECORDINGS {
        let Some(folder) = folder(name) else { continue };
        let trace = read(&folder.join("trace.sqlite"));
        let events = trace.events();
        let mut ends = HashMap::new();
        for event in events.ids() {
            if let ("cuda_runtime" | "cuda_driver", Some(key)) =
                (category(&trace, event), events.correlation(event))
            {
                assert_eq!(ends.insert(key, events.end(event)), None, "{name}: two calls of {key}");
            }
        }
        let mut coverage: BTreeMap<(i64, &str), [u64; 3]> = BTreeMap::new();
        for event in events.ids().filter(|&event| events.category(event).is_device()) {
            let kind = match events.category(event) {
                Category::KERNEL => "kernel",
                Category::GPU_MEMCPY => "memcpy",
                _ => "memset",
            };
            let counts = coverage.entry((events.device(event).expect("a device"), kind)).or_default();
            let end = events.correlation(event).and_then(|key| ends.get(&key));
            counts[0] += 1;
            counts[1] += u64::from(end.is_some());
            counts[2] += u64::from(end.is_some_and(|&end| events.start(event) < end));
        }
        let found: BTreeSet<[String; 5]> = coverage
            .into_iter()
            .map(|((device, kind), [rows, linked, early])| {
                [
                    device.to_string(),
                    kind.to_string(),
                    rows.to_string(),
                    linked.to_string(),
                    early.to_string(),
                ]
            })
            .collect();
        let columns = ["device", "op", "Count", "with call", "started before the call ended"];
        let expected = table(&folder, "launch_coverage", columns).expect("the table");
        assert_eq!(found, expected.into_iter().collect(), "{name}");
    }
}

#[test]
fn waits_of_the_corpus_are_named_after_their_calls() {
    for name in RECORDINGS {
        let Some(folder) = folder(name) else { continue };
        let trace = read(&folder.join("trace.sqlite"));
        let rows = table(&folder, "sync_summary", ["call", "Count", "Sync Time (ns)"]).expect("the table");
        let kind = |call: &str| match call {
            "cudaStreamSynchronize" => "Stream Sync",
            "cudaStreamWaitEvent" => "Stream Wait Event",
            other => panic!("{other}"),
        };
        let expected: BTreeMap<Vec<String>, Sum> = rows
            .iter()
            .map(|[call, count, time]| {
                let sum = (count.parse().expect("a count"), time.parse().expect("a time"));
                (vec![kind(call).to_string()], sum)
            })
            .collect();
        assert_eq!(found(&trace, names(&trace, &["cuda_sync"])), expected, "{name}");
    }
}

#[test]
fn facts_of_the_corpus_are_those_of_its_machines() {
    let Some(folder) = folder("mock") else { return };
    let trace = read(&folder.join("trace.sqlite"));
    let facts = trace.facts();
    let [device] = &facts.devices[..] else { panic!("{:?}", facts.devices) };
    assert_eq!(device.name.as_deref(), Some("NVIDIA GeForce RTX 3080"));
    assert_eq!(
        (device.id, device.total_memory, device.multiprocessors),
        (Some(0), Some(10_736_893_952), Some(68))
    );
    assert_eq!((device.compute_major, device.compute_minor), (Some(8), Some(6)));
    assert_eq!(device.max_threads_per_multiprocessor, Some(1536));
    assert_eq!(facts.recorder_version.as_deref(), Some("NVIDIA Nsight Systems 2026.1.1.204, schema 3.24.14"));
    // Of the first kernel.
    let kernel = trace.events().ids().find(|&event| trace.events().category(event) == Category::KERNEL);
    let start = trace.origin() + trace.events().start(kernel.expect("a kernel"));
    assert_eq!(start, 1_517_727_052);
    assert_eq!(facts.base_time_nanoseconds.map(|base| base + start), Some(1_776_781_228_075_022_108));
    let messages =
        trace.warnings().iter().filter(|warning| matches!(warning, Warning::RecorderMessage { .. }));
    assert_eq!(messages.count(), 2, "{:?}", trace.warnings());
}

#[test]
fn an_export_of_the_corpus_without_any_one_table_is_read() {
    let Some(folder) = folder("h100-2gpu-1s") else { return };
    let directory = tempfile::tempdir().expect("a folder");
    let copy = directory.path().join("trace.sqlite");
    let tables: Vec<String> = {
        let database = Connection::open_with_flags(
            folder.join("trace.sqlite"),
            rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
        )
        .expect("the database");
        let mut names =
            database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").expect("a query");
        let names = names.query_map([], |row| row.get(0)).expect("names");
        names.collect::<Result<_, _>>().expect("names")
    };
    let whole = read(&folder.join("trace.sqlite"));
    for table in &tables {
        std::fs::write(&copy, std::fs::read(folder.join("trace.sqlite")).expect("bytes")).expect("a copy");
        let database = Connection::open(&copy).expect("the copy");
        let rows: i64 = database
            .query_row(&format!("SELECT count(*) FROM \"{table}\""), [], |row| row.get(0))
            .expect("a count");
        database
            .execute_batch(&format!("PRAGMA synchronous = OFF; DROP TABLE \"{table}\""))
            .expect("dropped");
        database.close().expect("closed");
        let trace = read(&copy);
        let events =
            if table.starts_with("CUPTI_") || table.starts_with("NVTX_EVENTS") { rows as usize } else { 0 };
        assert_eq!(trace.events().len(), whole.events().len() - events, "without {table}");
        let is_told = trace.warnings().iter().any(|warning| !whole.warnings().contains(warning));
        assert_eq!(
            is_told,
            matches!(table.as_str(), "NVTX_EVENTS" | "StringIds" | "CUPTI_ACTIVITY_KIND_RUNTIME"),
            "{table}: {:?}",
            trace.warnings()
        );
    }
}

/// A copy of the recording of two GPUs, changed by statements that are made for each of its tables of events and strings,
/// which are given with the names of their columns.
fn changed(
    folder: &Path,
    statements: impl Fn(&str, &[String]) -> String,
) -> Result<Trace, trace_ingest::IngestError> {
    const TABLES: [&str; 9] = [
        "StringIds",
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        "CUPTI_ACTIVITY_KIND_MEMSET",
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        "CUPTI_ACTIVITY_KIND_OVERHEAD",
        "NVTX_EVENTS",
        "ThreadNames",
    ];
    let directory = tempfile::tempdir().expect("a folder");
    let copy = directory.path().join("trace.sqlite");
    std::fs::write(&copy, std::fs::read(folder.join("trace.sqlite")).expect("bytes")).expect("a copy");
    let database = Connection::open(&copy).expect("the copy");
    let mut script = String::from("PRAGMA synchronous = OFF; BEGIN;");
    for table in TABLES {
        let mut columns = database.prepare(&format!("PRAGMA table_info({table})")).expect("columns");
        let columns: Vec<String> =
            columns.query_map([], |row| row.get(1)).expect("names").collect::<Result<_, _>>().expect("names");
        script.push_str(&statements(table, &columns));
    }
    database.execute_batch(&format!("{script} COMMIT;")).expect("statements");
    database.close().expect("closed");
    read_path(&copy, &ReadOptions::default())
}

/// Everything that events say, as text, sorted.
fn rows(trace: &Trace) -> Vec<String> {
    let events = trace.events();
    let row = |event: EventId| {
        let track = trace.tracks().get(events.track(event));
        let arguments = events.arguments();
        format!(
            "{} {} {} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            category(trace, event),
            trace.name(event),
            events.start(event) + trace.origin(),
            events.duration(event),
            (track.pid, track.tid),
            events.correlation(event),
            (events.device(event), events.stream(event)),
            (events.external_id(event), events.sequence_number(event)),
            trace.argument(event, |signature| signature.dims),
            arguments.geometry.get(event.index()),
            arguments.transfer.get(event.index()),
            arguments
                .synchronization
                .get(event.index())
                .and_then(|sync| sync.kind)
                .map(|kind| trace.text(kind)),
            arguments.graph_node.get(event.index()),
            trace.thread_name(events.track(event)),
        )
    };
    let mut rows: Vec<String> = events.ids().map(row).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn an_export_of_the_corpus_with_numbers_of_other_types_is_the_same() {
    let Some(folder) = folder("h100-2gpu-1s") else { return };
    let whole = read(&folder.join("trace.sqlite"));
    for kind in ["REAL", "TEXT"] {
        let trace = changed(&folder, |table, columns| {
            let cell = |column: &String| match column.as_str() {
                "text" | "value" => format!("\"{column}\""),
                _ => format!("CAST(\"{column}\" AS {kind}) AS \"{column}\""),
            };
            let columns: Vec<String> = columns.iter().map(cell).collect();
            format!(
                "CREATE TABLE changed AS SELECT {} FROM {table}; DROP TABLE {table};
                ALTER TABLE changed RENAME TO {table};",
                columns.join(", ")
            )
        });
        let trace = trace.expect("a trace");
        assert_eq!(rows(&trace), rows(&whole), "{kind}");
        assert_eq!(trace.warnings(), whole.warnings(), "{kind}");
    }
}

#[test]
fn an_export_of_the_corpus_is_the_same_in_any_order_of_rows() {
    let Some(folder) = folder("h100-2gpu-1s") else { return };
    let whole = read(&folder.join("trace.sqlite"));
    let trace = changed(&folder, |table, _| {
        format!(
            "CREATE TABLE changed AS SELECT * FROM {table} ORDER BY rowid DESC; DROP TABLE {table};
            ALTER TABLE changed RENAME TO {table};"
        )
    });
    let trace = trace.expect("a trace");
    // Numbers of processes follow the order of rows, and these the keys of calls and their work.
    let plain =
        |trace: &Trace| found(trace, names(trace, &["kernel", "cpu_op", "cuda_runtime", "cuda_sync"]));
    assert_eq!(plain(&trace), plain(&whole));
    assert_eq!(linked(&trace), linked(&whole));
}

/// How many device events have a call.
fn linked(trace: &Trace) -> usize {
    let events = trace.events();
    let calls: BTreeSet<i64> = (events.ids())
        .filter(|&event| events.category(event).is_launch_api())
        .filter_map(|event| events.correlation(event))
        .collect();
    let is_linked = |event: &EventId| events.correlation(*event).is_some_and(|key| calls.contains(&key));
    events.ids().filter(|&event| events.category(event).is_device()).filter(is_linked).count()
}

#[test]
fn an_export_of_the_corpus_without_processes_of_its_work_has_no_links() {
    let Some(folder) = folder("h100-2gpu-1s") else { return };
    let whole = read(&folder.join("trace.sqlite"));
    let trace = changed(&folder, |table, columns| match columns.iter().any(|column| column == "globalPid") {
        true => format!("ALTER TABLE {table} DROP COLUMN globalPid;"),
        false => String::new(),
    });
    let trace = trace.expect("a trace");
    assert_eq!(trace.events().len(), whole.events().len());
    assert_eq!((linked(&trace), linked(&whole)), (0, 2092));
}

#[test]
fn an_export_of_the_corpus_in_which_each_process_sees_one_gpu_has_those_of_the_machine() {
    let Some(folder) = folder("h100-2gpu-1s") else { return };
    let whole = read(&folder.join("trace.sqlite"));
    let trace = changed(&folder, |table, columns| {
        let mapping = match table {
            "StringIds" => {
                "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
                INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 111), (1, 0, 112);"
            }
            _ => "",
        };
        match columns.iter().any(|column| column == "deviceId") {
            true => format!("{mapping} UPDATE {table} SET deviceId = 0;"),
            false => mapping.to_string(),
        }
    });
    let trace = trace.expect("a trace");
    assert_eq!(rows(&trace), rows(&whole));
    assert!(
        trace
            .warnings()
            .iter()
            .any(|warning| warning.to_string().contains("renumbered to match the machine")),
        "{:?}",
        trace.warnings()
    );
}

#[test]
fn kernels_of_a_table_with_a_version_are_read() {
    let Some(path) = testdata::corpus("field/cases/08-nsys-versioned-tables/run.sqlite") else { return };
    let trace = read(&path);
    let events = trace.events();
    let kernels: Vec<i64> = events
        .ids()
        .filter(|&event| events.category(event) == Category::KERNEL)
        .map(|event| events.duration(event))
        .collect();
    assert_eq!((kernels.len(), kernels.iter().sum::<i64>()), (20, 18_000_000));
    assert!(trace.warnings().iter().all(|warning| !warning.reports_loss()), "{:?}", trace.warnings());
}
