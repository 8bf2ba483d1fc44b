//! Exports of Nsight Systems, as traces.

#![allow(clippy::expect_used)] // a test helper may stop at a fault

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;
use trace_ingest::{
    Category, EventFault, EventId, IngestError, Phase, ReadOptions, RecordFault, RecordingKind, RowId, Trace,
    Warning, open, read_path, recognise,
};

/// Tables as exports have them, with the columns that matter.
pub(crate) const TABLES: &str = r#"
    CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
    INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'NVIDIA Nsight Systems'),
        ('EXPORT_PRODUCT_VERSION', '2026.2.1.210'), ('EXPORT_SCHEMA_VERSION', '3.25.0'),
        ('EXPORT_SCHEMA_VERSION_MAJOR', '3'), ('EXPORT_PARAM_TIME_NORMALIZE', 'false');
    CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (7, 'cudaLaunchKernel_v7000'), (8, 'void add<(int)4>(float *)'),
        (9, 'cudaGraphLaunch_v10000'), (10, 'cudaMemcpyAsync_v3020'), (11, 'cudaStreamSynchronize_v3020'),
        (12, 'autograd'), (13, 'TOKEN=secret'), (14, 'cuLaunchKernel'), (15, 'Command Buffer Full');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
        registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,
        blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER, eventClass INTEGER, globalTid INTEGER,
        correlationId INTEGER, nameId INTEGER);
    CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER,
        endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, "end" INTEGER, deviceId INTEGER, contextId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER,
        srcKind INTEGER, dstKind INTEGER);
"#;

/// A process and its first thread, packed; the second process is of a hardware id above 127.
pub(crate) const PROCESS: i64 = 281_476_838_981_632;
pub(crate) const THREAD: i64 = PROCESS + 111;
pub(crate) const OTHER_PROCESS: i64 = -144_115_186_213_584_896;
pub(crate) const OTHER_THREAD: i64 = OTHER_PROCESS + 111;

pub(crate) fn database(statements: &str) -> (TempDir, PathBuf) {
    let directory = TempDir::new().expect("a folder");
    let path = directory.path().join("trace.sqlite");
    let database = Connection::open(&path).expect("a database");
    database.execute_batch("PRAGMA synchronous = OFF").expect("a setting");
    database.execute_batch(statements).expect("statements");
    database.close().expect("a closed database");
    (directory, path)
}

pub(crate) fn read_file(path: &Path) -> Result<Trace, IngestError> {
    read_path(path, &ReadOptions::default())
}

pub(crate) fn read(statements: &str) -> Result<Trace, IngestError> {
    let (_directory, path) = database(&format!("{TABLES}{statements}"));
    read_file(&path)
}

pub(crate) fn refused(statements: &str) -> String {
    read(statements).expect_err("the database is refused").to_string()
}

pub(crate) fn kernel(start: i64, end: i64, device: i64, correlation: i64, process: i64) -> String {
    format!(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({start}, {end}, {device}, 1, 7, {correlation}, {process}, 8, 8,
        32, 4, 2, 1, 128, 1, 1, 1024, 512, NULL);"
    )
}

pub(crate) fn call(start: i64, end: i64, correlation: i64, thread: i64, name: i64) -> String {
    format!(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({start}, {end}, {}, {thread}, {correlation}, {name});",
        i64::from(name == 14)
    )
}

pub(crate) fn range(start: i64, end: &str, kind: i64, text: &str, domain: i64) -> String {
    format!(
        "INSERT INTO NVTX_EVENTS VALUES ({start}, {end}, {kind}, {text}, {THREAD}, NULL, NULL, {domain});"
    )
}

/// Category, name, start and duration of each event.
pub(crate) fn told(trace: &Trace) -> Vec<(&str, &str, i64, i64)> {
    let events = trace.events();
    let row = |event: EventId| {
        let category = trace.category_name(events.category(event));
        (category, trace.name(event), events.start(event) + trace.origin(), events.duration(event))
    };
    events.ids().map(row).collect()
}

pub(crate) fn find(trace: &Trace, name: &str) -> EventId {
    trace.events().ids().find(|&event| trace.name(event) == name).expect("an event of this name")
}

#[test]
fn rows_become_events_with_what_launched_them() {
    let trace = read(&[
        kernel(500, 900, 0, 49, PROCESS),
        call(0, 100, 49, THREAD, 7),
        call(10, 90, 49, THREAD, 14),
        call(100, 180, 50, THREAD, 10),
        call(200, 210, 51, THREAD, 7),
        format!("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1000, 1100, 0, 1, 7, 50, {PROCESS}, 6400, 1, 1, 2);"),
        range(0, "190", 59, "'aten::addmm, seq = 12, op_id = 345, sizes = [[4096], [8, 4]]'", 0),
        range(0, "400", 59, "'step'", 0),
        range(5, "6", 60, "'ncclAllReduce'", 1),
        range(7, "NULL", 34, "'here'", 0),
        range(0, "NULL", 75, "'NCCL'", 1),
        format!("CREATE TABLE ThreadNames (nameId INTEGER, globalTid INTEGER);
            INSERT INTO ThreadNames VALUES (12, {THREAD}), (13, {OTHER_THREAD});
            CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
            INSERT INTO PROCESSES VALUES ({PROCESS}, 111, '/usr/bin/python3'), ({OTHER_PROCESS}, 111, 'sshd');
            CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
            INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1776781226557295056);
            CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start INTEGER, \"end\" INTEGER, globalTid INTEGER,
            correlationId INTEGER, nameId INTEGER, overheadType INTEGER);
            INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (20, 80, {THREAD}, 49, 15, 8), (30, 40, {THREAD}, 0, NULL, 7);"),
    ].concat()).unwrap();
    assert_eq!(trace.warnings(), []);
    assert_eq!(
        told(&trace),
        [
            ("cpu_op", "aten::addmm", 0, 190),
            ("user_annotation", "step", 0, 400),
            ("cpu_instant_event", "here", 7, 0),
            // The row that names its domain comes after it, so that its name is known last.
            ("user_annotation", "NCCL:ncclAllReduce", 5, 1),
            ("cuda_runtime", "cudaLaunchKernel", 0, 100),
            ("cuda_driver", "cuLaunchKernel", 10, 80),
            ("cuda_runtime", "cudaMemcpyAsync", 100, 80),
            ("cuda_runtime", "cudaLaunchKernel", 200, 10),
            ("kernel", "void add<(int)4>(float *)", 500, 400),
            ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1000, 100),
            ("overhead", "Command Buffer Full", 20, 60),
            ("overhead", "Lazy function loading", 30, 10),
        ]
    );
    let events = trace.events();
    let correlations: Vec<_> = events.ids().skip(4).map(|event| events.correlation(event)).collect();
    // The last call launched nothing that was recorded.
    let [first, second] = [Some(49), Some(50)];
    assert_eq!(correlations, [first, first, second, None, first, second, first, None]);

    let arguments = events.arguments();
    let operator = find(&trace, "aten::addmm");
    assert_eq!((events.external_id(operator), events.sequence_number(operator)), (Some(345), Some(12)));
    let dims = trace.argument(operator, |signature| signature.dims).unwrap();
    assert_eq!(dims.display(trace_ingest::Sequence::Tuple).to_string(), "((4096,), (8, 4))");
    let work = find(&trace, "void add<(int)4>(float *)");
    assert_eq!((events.device(work), events.stream(work)), (Some(0), Some(7)));
    let geometry = arguments.geometry.get(work.index()).unwrap();
    assert_eq!((geometry.grid, geometry.block), ([4, 2, 1], [128, 1, 1]));
    assert_eq!((geometry.registers_per_thread, geometry.shared_memory), (Some(32), Some(1536)));
    let copy = arguments.transfer.get(find(&trace, "Memcpy HtoD (Pinned -> Device)").index()).unwrap();
    assert_eq!((copy.bytes, copy.bandwidth_gb_per_s), (Some(6400), Some(64.0)));
    assert_eq!(events.phase(find(&trace, "here")), Phase::Instant);

    let tracks = trace.tracks();
    let track = |event| tracks.get(events.track(event));
    assert_eq!((track(work).pid, track(work).tid), (RowId::Number(0), RowId::Number(7)));
    assert_eq!((track(operator).pid, track(operator).tid), (RowId::Number(111), RowId::Number(111)));
    assert_eq!(trace.thread_name(events.track(operator)), Some("autograd"));
    let process = trace.process(events.track(operator));
    assert_eq!(process.name.map(|name| trace.text(name)), Some("python3"));
    assert_eq!(trace.process(events.track(work)).labels.map(|label| trace.text(label)), Some("GPU 0"));
    // Strings that no event refers to are not loaded.
    assert_eq!((trace.strings().find("TOKEN=secret"), trace.strings().find("sshd")), (None, None));

    let facts = trace.facts();
    assert_eq!(facts.recorder.kind, Some(RecordingKind::Nsys));
    assert_eq!(facts.recorder_version.as_deref(), Some("NVIDIA Nsight Systems 2026.2.1.210, schema 3.25.0"));
    assert_eq!(facts.base_time_nanoseconds, Some(1_776_781_226_557_295_056));
    assert_eq!(facts.record_shapes, Some(true));
}

#[test]
fn replays_of_graphs_are_work_unless_their_nodes_are() {
    let replay = format!(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, \"end\" INTEGER, deviceId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1000, 9000, 0, 7, 50, {PROCESS}, 5);"
    );
    let calls = [call(0, 100, 49, THREAD, 7), call(100, 600, 50, THREAD, 9)].concat();
    let trace = read(&[kernel(500, 900, 0, 49, PROCESS), calls.clone(), replay.clone()].concat()).unwrap();
    assert_eq!(told(&trace)[3], ("kernel", "CUDA graph 5", 1000, 8000));
    assert_eq!(trace.events().correlation(find(&trace, "CUDA graph 5")), Some(50));
    assert!(matches!(trace.warnings(), [Warning::NotRecorded { .. }]), "{:?}", trace.warnings());

    let nodes =
        [(1000, 3000), (3100, 6000), (6200, 9000)].map(|(start, end)| kernel(start, end, 0, 50, PROCESS));
    let trace = read(&[nodes.concat(), calls, replay].concat()).unwrap();
    let kernels = told(&trace).iter().filter(|(category, ..)| *category == "kernel").count();
    assert_eq!(kernels, 3);
    assert_eq!(trace.warnings(), []);
}

#[test]
fn processes_and_gpus_are_told_apart() {
    let rows = [
        kernel(500, 900, 0, 49, PROCESS),
        kernel(500, 900, 0, 49, OTHER_PROCESS),
        call(0, 100, 49, THREAD, 7),
        call(0, 100, 49, OTHER_THREAD, 7),
    ]
    .concat();
    let trace = read(&rows).unwrap();
    let events = trace.events();
    let keys: Vec<_> = events.ids().map(|event| events.correlation(event).unwrap()).collect();
    assert_eq!(keys[0], keys[2]);
    assert_eq!(keys[1], keys[3]);
    assert_ne!(keys[0], keys[1]);
    // Both are process 111, of different machines.
    let processes: Vec<_> =
        events.ids().take(2).map(|event| trace.tracks().get(events.track(event)).pid).collect();
    assert_ne!(processes[0], processes[1]);
    assert_eq!(trace.row_text(processes[1]).unwrap(), "111 on machine 65024");

    // Each process sees one GPU, number 0 of its own.
    let third = PROCESS + (1 << 24);
    let mapped = format!(
        "{}{}CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
        INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 111), (3, 0, 112);",
        kernel(500, 900, 0, 49, PROCESS),
        kernel(500, 900, 0, 49, third)
    );
    let trace = read(&mapped).unwrap();
    let devices: Vec<_> = trace.events().ids().map(|event| trace.events().device(event)).collect();
    assert_eq!(devices, [Some(0), Some(3)]);
    assert!(
        trace.warnings().contains(&Warning::Records { fault: RecordFault::RenumberedDevice, count: 1 }),
        "{:?}",
        trace.warnings()
    );
}

#[test]
fn integers_may_be_numbers_or_texts_of_any_kind() {
    let rows = [kernel(500, 900, 0, 49, PROCESS), call(0, 100, 49, THREAD, 7)].concat();
    let expected = read(&rows).unwrap();
    for kind in ["TEXT", "REAL"] {
        let cast = |columns: &[&str]| {
            let cast = columns.iter().map(|column| format!("CAST(\"{column}\" AS {kind}) AS \"{column}\""));
            cast.collect::<Vec<_>>().join(", ")
        };
        let calls = cast(&["start", "end", "eventClass", "globalTid", "correlationId", "nameId"]);
        let kernels = cast(&[
            "start",
            "end",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "globalPid",
            "demangledName",
            "registersPerThread",
            "gridX",
            "gridY",
            "gridZ",
            "blockX",
            "blockY",
            "blockZ",
            "staticSharedMemory",
            "dynamicSharedMemory",
        ]);
        let converted = format!(
            "{rows} CREATE TABLE calls AS SELECT {calls} FROM CUPTI_ACTIVITY_KIND_RUNTIME;
            DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME; ALTER TABLE calls RENAME TO CUPTI_ACTIVITY_KIND_RUNTIME;
            CREATE TABLE kernels AS SELECT {kernels} FROM CUPTI_ACTIVITY_KIND_KERNEL;
            DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; ALTER TABLE kernels RENAME TO CUPTI_ACTIVITY_KIND_KERNEL;"
        );
        let trace = read(&converted).unwrap();
        assert_eq!(told(&trace), told(&expected), "{kind}");
        assert_eq!(trace.warnings(), expected.warnings(), "{kind}");
        let correlations = |trace: &Trace| {
            trace.events().ids().map(|event| trace.events().correlation(event)).collect::<Vec<_>>()
        };
        assert_eq!(correlations(&trace), correlations(&expected), "{kind}");
    }
}

#[test]
fn few_columns_suffice() {
    // As hand-made databases of other tools have them.
    let (_directory, path) = database(&format!(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO StringIds VALUES (1, 'k'), (2, 'cudaLaunchKernel');
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId INTEGER,
        correlationId INTEGER, shortName INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 3, 1), (30, 40, 0, 7, 4, 99);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, \"end\" INTEGER, globalTid INTEGER,
        correlationId INTEGER, nameId INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, {THREAD}, 3, 2);"
    ));
    let trace = read_file(&path).unwrap();
    assert_eq!(
        told(&trace),
        [
            ("cuda_runtime", "cudaLaunchKernel", 1, 1),
            ("kernel", "k", 10, 10),
            ("kernel", "kernel 99", 30, 10)
        ]
    );
    // Device work that names no process is of the only one that has calls.
    assert_eq!(trace.events().correlation(find(&trace, "k")), Some(3));
    assert_eq!(trace.events().correlation(find(&trace, "cudaLaunchKernel")), Some(3));
    assert!(
        trace.warnings().contains(&Warning::Records { fault: RecordFault::UnknownName, count: 1 }),
        "{:?}",
        trace.warnings()
    );
}

#[test]
fn rows_that_cannot_be_events_are_counted() {
    let trace = read(&[
        kernel(500, 900, 0, 49, PROCESS),
        kernel(0, 0, 0, 50, PROCESS),
        kernel(900, 800, 0, 51, PROCESS),
        kernel(500, 900, -1, 52, PROCESS),
        kernel(i64::MIN, 900, 0, 53, PROCESS),
        kernel(500, i64::MAX, 0, 53, PROCESS),
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = 'wide' WHERE correlationId = 51;".to_string(),
        kernel(500, 900, 0, -7, PROCESS),
        call(0, 100, 49, THREAD, 7),
        call(100, 90, 54, THREAD, 7),
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (200, 210, 0, 1, 2, NULL), (NULL, 1, 0, 1, 2, 7);".to_string(),
        range(5, "NULL", 59, "'open'", 0),
        range(5, "6", 35, "'raw push'", 0),
        range(5, "6", 59, "NULL", 9),
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 1, 7, 1, 1, -5, 1, 1, 2), (1, 2, 0, 1, 7, 1, 1, 5, 99, 1, 2);"
            .to_string(),
    ].concat()).unwrap();
    assert_eq!(
        told(&trace),
        [
            ("user_annotation", "open", 5, 895),
            ("user_annotation", "domain 9:", 5, 1),
            ("cuda_runtime", "cudaLaunchKernel", 0, 100),
            ("cuda_runtime", "cudaLaunchKernel", 100, 0),
            ("kernel", "void add<(int)4>(float *)", 500, 400),
            ("kernel", "void add<(int)4>(float *)", 500, 400),
            ("gpu_memcpy", "Memcpy 99 (Pinned -> Device)", 1, 1),
        ]
    );
    assert_eq!(trace.events().arguments().unfinished.iter().count(), 1);
    let malformed = |list: &str, count, detail: &str| Warning::MalformedRecords {
        list: list.to_string(),
        count,
        detail: detail.to_string(),
    };
    let expected = [
        malformed("CUPTI_ACTIVITY_KIND_RUNTIME", 2, "nameId is NULL"),
        malformed("CUPTI_ACTIVITY_KIND_KERNEL", 4, "gridX is wide"),
        malformed("CUPTI_ACTIVITY_KIND_MEMCPY", 1, "bytes is -5"),
        Warning::Events { fault: EventFault::UnendedSlice, count: 1, first_uid: 0 },
        Warning::Records { fault: RecordFault::NotCollected, count: 1 },
        Warning::Records { fault: RecordFault::NegativeDuration, count: 1 },
        Warning::UnusedRecords { list: "NVTX_EVENTS".to_string(), count: 1 },
    ];
    assert_eq!(trace.warnings(), expected);
    assert!(trace.events().ids().all(|event| trace.events().duration(event) >= 0));
}

#[test]
fn long_and_broken_texts_are_cut_and_mended() {
    let trace = read(&format!(
        "{}{}INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, CAST(x'61ff62' AS TEXT), {THREAD}, NULL, NULL, 0);
        INSERT INTO NVTX_EVENTS VALUES (3, 4, 59, NULL, {THREAD}, NULL, 12, 0);",
        range(0, "9", 59, "replace(hex(zeroblob(1000000)), '0', 'é')", 0),
        kernel(500, 900, 0, 49, PROCESS),
    ))
    .unwrap();
    let names: Vec<&str> = told(&trace).iter().map(|(_, name, ..)| *name).collect();
    assert_eq!(names[0].len(), 1 << 20);
    assert_eq!(names[1..3], ["a\u{fffd}b", "autograd"]);
    assert_eq!(
        trace.warnings()[..],
        [Warning::Records { fault: RecordFault::LongText, count: 1 }, Warning::InvalidUtf8 { count: 1 },]
    );
}

#[test]
fn names_that_stand_for_no_table_are_refused() {
    let view = "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;
        CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up)
        SELECT n AS start FROM up;";
    let error = refused(view);
    assert!(error.contains("reading CUPTI_ACTIVITY_KIND_KERNEL: is a view"), "{error}");
    let error = refused(
        "DROP TABLE NVTX_EVENTS; PRAGMA writable_schema = ON;
        INSERT INTO sqlite_schema
        VALUES ('table', 'NVTX_EVENTS', 'NVTX_EVENTS', 0, 'CREATE VIRTUAL TABLE NVTX_EVENTS USING fts5(text)');",
    );
    assert!(error.contains("reading NVTX_EVENTS: is a virtual table"), "{error}");
    let error = refused("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN deviceId;");
    assert!(error.contains("reading CUPTI_ACTIVITY_KIND_KERNEL: has no column deviceId"), "{error}");
}

#[test]
fn triggers_and_views_of_other_names_are_never_run() {
    let trace = read(&format!(
        "{}CREATE TRIGGER once AFTER INSERT ON StringIds BEGIN DELETE FROM StringIds; END;
        CREATE VIEW OSRT_API AS WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up) SELECT n FROM up;",
        kernel(500, 900, 0, 49, PROCESS)
    ))
    .unwrap();
    assert_eq!(told(&trace).len(), 1);
}

#[test]
fn tables_that_are_not_read_are_named() {
    let trace = read(&format!(
        "{}CREATE TABLE OSRT_API (start INTEGER); INSERT INTO OSRT_API VALUES (1), (2);
        CREATE TABLE GPU_METRICS (timestamp INTEGER); CREATE TABLE mine (a); INSERT INTO mine VALUES (1);
        CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT);
        INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 'all is well'), (2, 'cannot write /home/jane/x'), (2, 'cannot write /home/jane/x');",
        kernel(500, 900, 0, 49, PROCESS)
    ))
    .unwrap();
    let expected = [
        Warning::UnreadTables { tables: vec![("OSRT_API".to_string(), 2)] },
        Warning::RecorderMessage { text: "cannot write x".to_string() },
    ];
    assert_eq!(trace.warnings(), expected);
}

/// Tables of kernels of version `version` with one kernel of `length` ns, if it has any.
fn kernel_table(name: &str, length: Option<i64>) -> String {
    let row = length
        .map(|length| format!("INSERT INTO {name} VALUES (500, {}, 0, 7, {PROCESS}, 49, 8);", 500 + length));
    format!(
        "CREATE TABLE {name} (start INTEGER, \"end\" INTEGER, deviceId INTEGER, streamId INTEGER, globalPid INTEGER,
        correlationId INTEGER, demangledName INTEGER);{}",
        row.unwrap_or_default()
    )
}

#[test]
fn of_versions_of_a_table_the_highest_with_rows_is_read() {
    const KERNEL: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
    let name = |version: &str| format!("{KERNEL}{version}");
    let lengths = |versions: &[(&str, Option<i64>)]| {
        let tables = versions.iter().map(|&(version, length)| kernel_table(&name(version), length));
        let trace = read(&format!("DROP TABLE {KERNEL};{}", tables.collect::<String>())).unwrap();
        let lengths: Vec<i64> = told(&trace).iter().map(|&(_, _, _, length)| length).collect();
        (lengths, trace.warnings().to_vec())
    };
    assert_eq!(lengths(&[("_V3", Some(30))]), (vec![30], vec![]));
    assert_eq!(lengths(&[("", None), ("_V2", Some(20)), ("_V10", Some(100)), ("_V11", None)]).0, [100]);
    let unread = |names: &[&str]| {
        let tables = names.iter().map(|version| (name(version), 1)).collect();
        vec![Warning::UnreadVersions { tables }]
    };
    assert_eq!(lengths(&[("", Some(1)), ("_V2", Some(20))]), (vec![20], unread(&[""])));
    let unknown = [("", Some(1)), ("_V3B", Some(20)), ("4", Some(30)), ("_V99999999999", None)];
    assert_eq!(lengths(&unknown), (vec![1], unread(&["4", "_V3B"])));

    let error = refused(&format!(
        "{} ALTER TABLE {KERNEL}_V3 DROP COLUMN deviceId;",
        kernel_table(&name("_V3"), Some(3))
    ));
    assert!(error.contains("reading CUPTI_ACTIVITY_KIND_KERNEL_V3: has no column deviceId"), "{error}");
}

#[test]
fn every_table_that_is_read_may_have_a_version() {
    let statements = format!(
        "{}{}{}{}
        ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO CUPTI_ACTIVITY_KIND_KERNEL_V3;
        ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME RENAME TO CUPTI_ACTIVITY_KIND_RUNTIME_V2;
        ALTER TABLE NVTX_EVENTS RENAME TO NVTX_EVENTS_V2;
        ALTER TABLE StringIds RENAME TO StringIds_V2;
        ALTER TABLE META_DATA_EXPORT RENAME TO META_DATA_EXPORT_V4;",
        TABLES,
        kernel(500, 900, 0, 49, PROCESS),
        call(0, 100, 49, THREAD, 7),
        range(0, "400", 59, "'step'", 0),
    );
    let (_directory, path) = database(&statements);
    let trace = read_file(&path).unwrap();
    let names: Vec<_> = told(&trace).iter().map(|&(category, name, ..)| (category, name)).collect();
    let expected = [
        ("user_annotation", "step"),
        ("cuda_runtime", "cudaLaunchKernel"),
        ("kernel", "void add<(int)4>(float *)"),
    ];
    assert_eq!(names, expected);
    assert_eq!(trace.warnings(), []);
    assert!(trace.facts().recorder_version.is_some());
}

#[test]
fn empty_recordings_are_refused_with_what_is_known_of_them() {
    let error = refused("").to_string();
    assert!(error.contains("trace.sqlite: nothing was recorded"), "{error}");
    let error = refused(&kernel(0, 0, 0, 50, PROCESS));
    assert!(error.contains("without collected times"), "{error}");
    let error = refused(&kernel_table("CUPTI_ACTIVITY_KIND_KERNEL_V3B", Some(20)));
    assert!(error.contains("CUPTI_ACTIVITY_KIND_KERNEL_V3B (1 row)"), "{error}");
}

#[test]
fn databases_are_told_apart_by_their_tables() {
    let (_directory, path) = database(&format!("{TABLES}{}", kernel(500, 900, 0, 49, PROCESS)));
    assert_eq!(recognise(&path, &ReadOptions::default()).unwrap(), RecordingKind::Nsys);
    assert_eq!(open(&path, &ReadOptions::default()).unwrap().kind(), RecordingKind::Nsys);
    let error = trace_ingest::rocprof::read_profile(&path, &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, IngestError::OtherKind { found: RecordingKind::Nsys, .. }), "{error}");

    let error = |statements: &str| {
        let (_directory, path) = database(statements);
        recognise(&path, &ReadOptions::default()).expect_err("an unknown database").to_string()
    };
    let both = error(&format!("{TABLES} CREATE TABLE rocpd_region (id INTEGER);"));
    assert!(both.contains("Nsight Systems export or rocpd database"), "{both}");
    let nvprof = error(
        "CREATE TABLE StringTable (_id_ INTEGER); CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (a);",
    );
    assert!(nvprof.contains("an nvprof database"), "{nvprof}");
    let other = error("CREATE TABLE mine (a);");
    assert!(other.contains("found an SQLite database with the tables mine"), "{other}");
    assert!(other.contains("from nsys export"), "{other}");
}

#[test]
fn recordings_are_refused_with_the_command_that_exports_them() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("run.nsys-rep");
    std::fs::write(&path, b"\x01\x02closed").unwrap();
    let error = crate::said(&read_file(&path).unwrap_err());
    assert!(error.contains("nsys export --type sqlite"), "{error}");
}

#[test]
fn cut_databases_and_changes_beside_them_are_told() {
    let rows: String = (0..2000).map(|row| kernel(row, row + 1, 0, row, PROCESS)).collect();
    let (_directory, path) = database(&format!("{TABLES}BEGIN;{rows}COMMIT;"));
    let wal = path.with_file_name("trace.sqlite-wal");
    std::fs::write(&wal, [1; 64]).unwrap();
    let trace = read_file(&path).unwrap();
    assert_eq!(trace.events().len(), 2000);
    assert!(matches!(trace.warnings(), [Warning::UnreadFile { name, .. }] if name == "trace.sqlite-wal"));

    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = read_file(&path).unwrap_err();
    assert!(matches!(error, IngestError::Damaged { .. }), "{error}");
}

#[test]
fn waits_are_named_after_their_calls_and_lie_on_the_gpu_of_their_context() {
    let trace = read(&format!(
        "{}{}{}CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, \"end\" INTEGER, deviceId INTEGER,
        contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (10, 20, 0, 1, 7, 60, {PROCESS}, 2),
        (30, 40, 4294967295, 9, 4294967295, 61, {PROCESS}, 4);",
        kernel(500, 900, 1, 49, PROCESS),
        call(0, 100, 49, THREAD, 7),
        call(5, 25, 60, THREAD, 11)
    ))
    .unwrap();
    let events = trace.events();
    let wait = find(&trace, "Stream Sync");
    assert_eq!(
        (events.device(wait), events.stream(wait), events.correlation(wait)),
        (Some(1), Some(7), Some(60))
    );
    assert_eq!(events.correlation(find(&trace, "cudaStreamSynchronize")), Some(60));
    let kind = events.arguments().synchronization.get(wait.index()).unwrap().kind;
    assert_eq!(kind.map(|kind| trace.text(kind)), Some("Stream Sync"));
    let context = find(&trace, "Context Sync");
    assert_eq!((events.device(context), events.stream(context)), (None, None));
    assert_eq!(events.category(find(&trace, "cudaStreamSynchronize")), Category::CUDA_RUNTIME);
}
