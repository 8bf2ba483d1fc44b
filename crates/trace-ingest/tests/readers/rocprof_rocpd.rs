//! rocpd databases, as profiles.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::rocprof_run::{Naming, told, write_csv, write_rocpd};
use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;
use trace_ingest::Nanoseconds;
use trace_ingest::rocprof::{AgentKind, CopyDirection, Domain, KernelNames, Profile, SourceFormat};
use trace_ingest::{IngestError, ReadOptions, RecordFault, Warning};

const RUN: &str = "00000e57-6f6a-7b2c-8d11-0242ac120002";
const OTHER_RUN: &str = "00000e57-6f6a-7b2c-8d11-0242ac120003";

fn read(path: &Path) -> Result<Profile, IngestError> {
    trace_ingest::rocprof::read_profile(path, &ReadOptions::default())
}

fn database(directory: &TempDir, fill: impl FnOnce(&Connection)) -> PathBuf {
    let path = directory.path().join("42_results.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA synchronous = OFF; BEGIN").unwrap();
    fill(&connection);
    connection.execute_batch("COMMIT").unwrap();
    connection.close().unwrap();
    path
}

fn small(naming: Naming) -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = database(&directory, |database| write_rocpd(database, RUN, 42, "node-a", naming));
    (directory, path)
}

#[test]
fn every_table_of_a_run_is_read() {
    let (_directory, path) = small(Naming::Views);
    let profile = read(&path).unwrap();
    assert_eq!(profile.source, SourceFormat::Rocpd);
    assert_eq!(profile.warnings, []);
    let process = &profile.processes[0];
    assert_eq!(
        (process.pid, process.init, process.fini),
        (Some(42), Some(Nanoseconds(50)), Some(Nanoseconds(7_000)))
    );
    assert_eq!(process.hostname.as_deref(), Some("node-a"));
    let agent = &profile.agents[1];
    assert_eq!((agent.label.as_str(), agent.kind, agent.ordinal), ("Agent 1", AgentKind::Gpu, Some(0)));
    assert_eq!(
        (agent.compute_units, agent.dies, agent.memory_bytes),
        (Some(304), Some(8), Some(206_141_652_992))
    );
    // 8192 bits, 2600 MHz, two transfers a clock.
    assert_eq!(agent.memory_bandwidth, Some(5.3248e12));
    let names: Vec<_> =
        profile.dispatches.iter().map(|d| profile.kernel_name(d.kernel, KernelNames::Truncated)).collect();
    assert_eq!(names, ["add", "attn_fwd.kd", "softmax", "add"]);
    assert_eq!(profile.kernel_name(profile.dispatches[0].kernel, KernelNames::Mangled), "_Z3addPf.kd");
    let launch = profile.launches[profile.dispatches[1].launch as usize];
    assert_eq!((launch.grid, launch.workgroup), ([1024, 2, 1], [256, 1, 1]));
    assert_eq!((launch.private_segment, launch.group_segment, launch.vgprs), (16, 512, 32));
    let copy = profile.copies[1];
    assert_eq!((copy.bytes, copy.direction), (Some(65_536), CopyDirection::DeviceToDevice));
    assert_eq!((copy.source, copy.destination, copy.correlation), (Some(1), Some(2), Some(16)));
    let marks: Vec<_> = profile
        .calls
        .iter()
        .filter(|call| call.domain == Domain::Marker)
        .map(|call| (profile.text(call.name), call.start.0, call.end.0))
        .collect();
    assert_eq!(marks, [("step 1", 890, 4_200), ("checkpoint", 2_500, 2_500)]);
    assert_eq!((profile.allocations.len(), profile.scratch.len()), (2, 1));
    let values: Vec<_> = profile.counter_values.iter().map(|v| (v.dispatch, v.counter, v.value)).collect();
    assert_eq!(values, [(0, 0, 8.0), (1, 0, 64.0), (0, 1, 0.5)]);
    let counters: Vec<&str> = profile.counters.iter().map(|counter| counter.name.as_str()).collect();
    assert_eq!(counters, ["SQ_WAVES", "GRBM_GUI_ACTIVE"], "only counters with values");
}

#[test]
fn csv_and_database_of_one_run_tell_the_same() {
    let (_directory, path) = small(Naming::Views);
    let csv = TempDir::new().unwrap();
    write_csv(csv.path(), "42");
    let (from_csv, from_database) = (told(&read(csv.path()).unwrap()), told(&read(&path).unwrap()));
    assert_eq!(from_csv.len(), 4 + 2 + 7 + 2 + 1 + 3);
    assert_eq!(from_csv, from_database);
}

#[test]
fn tables_are_found_under_every_naming() {
    let (_directory, path) = small(Naming::Views);
    let expected = told(&read(&path).unwrap());
    for naming in [Naming::Suffixed, Naming::Plain] {
        let (_directory, path) = small(naming);
        assert_eq!(told(&read(&path).unwrap()), expected);
    }
}

#[test]
fn runs_of_a_merged_database_do_not_mix() {
    for (naming, second) in
        [(Naming::Views, OTHER_RUN), (Naming::Suffixed, OTHER_RUN), (Naming::Plain, OTHER_RUN)]
    {
        let directory = TempDir::new().unwrap();
        let path = database(&directory, |database| {
            write_rocpd(database, RUN, 42, "node-a", naming);
            // The same ids mean other things in the second run.
            write_rocpd(database, second, 43, "node-b", naming);
            let table = |name: &str| match naming {
                Naming::Plain => format!("rocpd_{name}"),
                _ => format!("\"rocpd_{name}_{}\"", second.replace('-', "_")),
            };
            database
                .execute_batch(&format!(
                    "UPDATE {} SET display_name = 'other(int)', extdata = '{{}}' WHERE guid = '{second}' AND id = 1;
                     UPDATE {} SET string = 'hipOther' WHERE guid = '{second}' AND string = 'hipMemcpyAsync';
                     UPDATE {} SET stack_id = stack_id + 1000 WHERE guid = '{second}';",
                    table("info_kernel_symbol"),
                    table("string"),
                    table("event"),
                ))
                .unwrap();
        });
        let profile = read(&path).unwrap();
        assert_eq!(profile.warnings, []);
        let processes: Vec<_> =
            profile.processes.iter().map(|process| (process.pid, process.hostname.as_deref())).collect();
        assert_eq!(processes, [(Some(42), Some("node-a")), (Some(43), Some("node-b"))]);
        assert_eq!(profile.agents.len(), 6);
        assert_eq!(profile.agents[4].label, "Agent 1 (node-b)");
        let dispatches: Vec<_> = profile
            .dispatches
            .iter()
            .map(|d| {
                (d.process, profile.kernel_name(d.kernel, KernelNames::Truncated), d.correlation, d.agent)
            })
            .filter(|dispatch| dispatch.2.is_some_and(|id| id % 1000 == 11))
            .collect();
        assert_eq!(
            dispatches,
            [(0, "add".into(), Some(11), Some(1)), (1, "other".into(), Some(1011), Some(4))]
        );
        let copies = profile.calls.iter().filter(|call| call.correlation.is_some_and(|id| id % 1000 == 15));
        assert_eq!(
            copies.map(|call| profile.text(call.name)).collect::<Vec<_>>(),
            ["hipMemcpyAsync", "hipOther"]
        );
        assert_eq!(profile.counter_values.len(), 6);
    }
}

#[test]
fn names_in_the_description_of_a_kernel_come_first() {
    let (_directory, path) = small(Naming::Plain);
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            r#"UPDATE rocpd_info_kernel_symbol SET extdata = '{"formatted_kernel_name": "add(float*)",
               "demangled_kernel_name": "add(float*) [clone .kd]", "truncated_kernel_name": "short"}' WHERE id = 1"#,
        )
        .unwrap();
    connection.close().unwrap();
    let profile = read(&path).unwrap();
    let kernel = profile.dispatches[0].kernel;
    assert_eq!(profile.kernel_name(kernel, KernelNames::Truncated), "short");
    assert_eq!(profile.kernel_name(kernel, KernelNames::Demangled), "add(float*) [clone .kd]");
}

#[test]
fn times_and_places_by_reference_are_followed() {
    let directory = TempDir::new().unwrap();
    let path = database(&directory, |database| {
        database
            .execute_batch(
                "CREATE TABLE rocpd_string (id, guid, string);
                 INSERT INTO rocpd_string VALUES (1, 'r', 'hipLaunchKernel'), (2, 'r', 'HIP_RUNTIME_API');
                 CREATE TABLE rocpd_info_category (id, guid, name);
                 INSERT INTO rocpd_info_category VALUES (7, 'r', 'HIP_RUNTIME_API');
                 CREATE TABLE rocpd_info_process (id, guid, pid, init, fini);
                 INSERT INTO rocpd_info_process VALUES (1, 'r', 4242, 0, 99);
                 CREATE TABLE rocpd_info_agent (id, guid, type, absolute_index);
                 INSERT INTO rocpd_info_agent VALUES (3, 'r', 'GPU', 3);
                 CREATE TABLE rocpd_info_kernel_symbol (id, guid, kernel_name, display_name);
                 INSERT INTO rocpd_info_kernel_symbol VALUES (5, 'r', '_Z1kv.kd', 'k()');
                 CREATE TABLE rocpd_track (id, guid, pid, tid, agent_id, queue_id, stream_id);
                 INSERT INTO rocpd_track VALUES (1, 'r', 1, 70, 3, 8, 9);
                 CREATE TABLE rocpd_timestamp (id, guid, value);
                 INSERT INTO rocpd_timestamp VALUES (1, 'r', 10), (2, 'r', 30), (3, 'r', 40), (4, 'r', 45);
                 CREATE TABLE rocpd_event (id, guid, category_id, stack_id);
                 INSERT INTO rocpd_event VALUES (1, 'r', 7, 61);
                 CREATE TABLE rocpd_kernel_dispatch (id, guid, track_id, kernel_id, dispatch_id, start_id, end_id, event_id);
                 INSERT INTO rocpd_kernel_dispatch VALUES (1, 'r', 1, 5, 1, 1, 2, 1), (2, 'r', 1, 5, 2, 3, 99, 1);
                 CREATE TABLE rocpd_region (id, guid, track_id, name_id, start_id, end_id, event_id);
                 INSERT INTO rocpd_region VALUES (1, 'r', 1, 1, 3, 4, 1);",
            )
            .unwrap();
    });
    let profile = read(&path).unwrap();
    let dispatch = profile.dispatches[0];
    assert_eq!((dispatch.start.0, dispatch.end.0, dispatch.correlation), (10, 30, Some(61)));
    assert_eq!((dispatch.queue, dispatch.stream, dispatch.thread, dispatch.agent), (8, 9, 70, Some(0)));
    assert_eq!(profile.processes[0].pid, Some(4242));
    let call = profile.calls[0];
    assert_eq!(
        (profile.text(call.name), call.domain, call.start.0, call.end.0),
        ("hipLaunchKernel", Domain::Hip, 40, 45)
    );
    let expected = Warning::MalformedRecords {
        list: "rocpd_kernel_dispatch".to_string(),
        count: 1,
        detail: "end_id is not a timestamp in the database".to_string(),
    };
    assert_eq!(profile.warnings, [expected]);
}

#[test]
fn absent_tables_and_columns_are_no_fault() {
    let directory = TempDir::new().unwrap();
    let path = database(&directory, |database| {
        database
            .execute_batch(
                "CREATE TABLE rocpd_kernel_dispatch (start, \"end\", kernel_id, agent_id);
                 INSERT INTO rocpd_kernel_dispatch VALUES (1, 5, 9, 2), ('7', '8', 9, NULL), (NULL, 8, 9, 2), (x'00', 1, 9, 2);",
            )
            .unwrap();
    });
    let profile = read(&path).unwrap();
    let spans: Vec<_> = profile.dispatches.iter().map(|d| (d.start.0, d.end.0, d.agent)).collect();
    assert_eq!(spans, [(1, 5, Some(0)), (7, 8, None)]);
    assert_eq!(profile.kernel_name(profile.dispatches[0].kernel, KernelNames::Truncated), "unknown_kernel_9");
    assert_eq!(
        profile.warnings,
        [
            Warning::MalformedRecords {
                list: "rocpd_kernel_dispatch".to_string(),
                count: 2,
                detail: "start is NULL".to_string()
            },
            Warning::Records { fault: RecordFault::UnknownKernel, count: 2 },
            Warning::Records { fault: RecordFault::UnknownAgent, count: 1 },
        ]
    );
}

#[test]
fn other_databases_are_refused_by_their_tables() {
    for (tables, found) in [
        (&["rocpd_op", "rocpd_api", "rocpd_string"][..], "an rpd tracer database"),
        (&["t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9"], "an SQLite database with 9 tables: t1, t2"),
        (&["rocpd_event_operation_00000e57_6f6a", "notes"], "notes"),
    ] {
        let directory = TempDir::new().unwrap();
        let path = database(&directory, |database| {
            for table in tables {
                database.execute_batch(&format!("CREATE TABLE \"{table}\" (a)")).unwrap();
            }
        });
        let error = read(&path).unwrap_err();
        assert!(matches!(&error, IngestError::NotRocprof { .. }));
        assert!(error.to_string().contains(found), "{error}");
        assert!(error.to_string().contains("rocpd_kernel_dispatch"), "{error}");
    }
}

#[test]
fn nothing_is_written_beside_the_database() {
    let (directory, path) = small(Naming::Views);
    let listed = || {
        let mut names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let (before, bytes) = (listed(), fs::read(&path).unwrap());
    read(&path).unwrap();
    assert_eq!((listed(), fs::read(&path).unwrap()), (before, bytes));
}

#[test]
fn changes_that_stand_in_a_journal_are_told() {
    let (_directory, path) = small(Naming::Views);
    fs::write(path.with_file_name("42_results.db-wal"), [1; 64]).unwrap();
    let profile = read(&path).unwrap();
    assert_eq!(profile.dispatches.len(), 4);
    let [Warning::UnreadFile { name, .. }] = &profile.warnings[..] else { panic!("{:?}", profile.warnings) };
    assert_eq!(name, "42_results.db-wal");
}

#[test]
fn paths_with_marks_of_addresses_are_opened() {
    let (directory, path) = small(Naming::Views);
    let odd = directory.path().join("a b?mode=memory&x#é%41.db");
    fs::copy(&path, &odd).unwrap();
    assert_eq!(read(&odd).unwrap().dispatches.len(), 4);
}

#[test]
fn compressed_databases_are_refused() {
    let (_directory, path) = small(Naming::Views);
    let packed = zstd::encode_all(&fs::read(&path).unwrap()[..], 1).unwrap();
    let other = path.with_extension("db.zst");
    fs::write(&other, packed).unwrap();
    let error = read(&other).unwrap_err().to_string();
    assert!(error.contains("compressed SQLite database"), "{error}");
}

#[test]
fn a_database_cut_anywhere_is_refused() {
    let (_directory, path) = small(Naming::Views);
    let bytes = fs::read(&path).unwrap();
    for length in [16, 60, 99, 100, 512, 4096, bytes.len() / 2, bytes.len() - 4096, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        let error = read(&path).unwrap_err();
        assert!(matches!(error, IngestError::Damaged { .. }), "{length}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn damage_is_an_error_or_a_profile_and_never_a_panic(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)
    ) {
        static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let (_directory, path) = small(Naming::Suffixed);
            fs::read(path).unwrap()
        });
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("42_results.db");
        let mut bytes = SOUND.clone();
        for (place, value) in places {
            let place = place.index(bytes.len() - 16) + 16;
            bytes[place] = value;
        }
        fs::write(&path, &bytes).unwrap();
        if let Err(error) = read(&path) {
            prop_assert!(error.to_string().contains("42_results.db"));
        }
    }
}

#[test]
fn samples_of_counters_over_time_are_no_totals_of_dispatches() {
    for naming in [Naming::Views, Naming::Suffixed, Naming::Plain] {
        let (_directory, path) = small(naming);
        let whole = read(&path).unwrap();
        let suffix =
            if naming == Naming::Plain { String::new() } else { format!("_{}", RUN.replace('-', "_")) };
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(&format!(
                "ALTER TABLE \"rocpd_pmc_event{suffix}\" ADD COLUMN sample_id INTEGER;
                INSERT INTO \"rocpd_pmc_event{suffix}\"
                SELECT id + 100, guid, event_id, pmc_id, 1e6, id + 500 FROM \"rocpd_pmc_event{suffix}\";
                INSERT INTO \"rocpd_string{suffix}\" VALUES (800, '{RUN}', 'SPM');
                INSERT INTO \"rocpd_track{suffix}\" VALUES (800, '{RUN}', 1, 42, 70, 800);
                INSERT INTO \"rocpd_sample{suffix}\" VALUES (501, '{RUN}', 800, 1100, NULL), (502, '{RUN}', 800, 1200, NULL);"
            ))
            .unwrap();
        drop(connection);
        let profile = read(&path).unwrap();
        assert_eq!(told(&profile), told(&whole));
        let sampled = Warning::Records { fault: RecordFault::SampledCounter, count: 4 };
        assert_eq!(profile.warnings, [sampled]);
    }
}

#[test]
fn a_schema_of_another_major_version_is_told() {
    let warnings = |version: &str| {
        let (_directory, path) = small(Naming::Plain);
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(&format!(
                "CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
                INSERT INTO rocpd_metadata VALUES (1, 'schema_version', '{version}'), (2, 'uuid', '9');"
            ))
            .unwrap();
        drop(connection);
        let warnings = read(&path).unwrap().warnings;
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for known in ["3", "3.0.2", "4.0.0"] {
        assert_eq!(warnings(known), [""; 0], "{known}");
    }
    let [warning] = &warnings("5.1.0")[..] else { panic!("one warning") };
    assert!(warning.contains("rocpd_metadata") && warning.contains("version 5.1.0"), "{warning}");
}
