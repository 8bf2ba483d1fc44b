//! What exports say beside rows of work and calls: NCCL's payloads, enumerations, processes that count for themselves.

#![allow(clippy::expect_used)] // a test helper may stop at a fault

use trace_ingest::{EventId, NsysReading, ReadOptions, Trace, Warning, read_path};

use crate::nsys::{
    OTHER_PROCESS, OTHER_THREAD, PROCESS, TABLES, THREAD, call, database, find, kernel, range, read, told,
};

/// NCCL's domain with two schemas: of a communicator and of a collective.
const NCCL: &str = r#"
    DROP TABLE NVTX_EVENTS;
    CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER,
        textId INTEGER, domainId INTEGER, binaryData TEXT);
    INSERT INTO StringIds VALUES (20, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)');
    CREATE TABLE NVTX_PAYLOAD_SCHEMAS (domainId INTEGER, schemaId INTEGER, payloadSize INTEGER);
    INSERT INTO NVTX_PAYLOAD_SCHEMAS VALUES (1, 16777218, 24), (1, 16777220, 16), (1, 16777220, 16);
    CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER, type INTEGER, name TEXT,
        "offset" INTEGER);
    INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 16777218, 0, 18, 'NCCL communicator ID', NULL),
        (1, 16777218, 1, 5, 'No. of ranks', 8), (1, 16777218, 2, 5, 'Rank', 12), (1, 16777218, 3, 5, 'CUDA device', 16),
        (1, 16777220, 0, 18, 'NCCL communicator ID', NULL), (1, 16777220, 1, 22, 'Message size [bytes]', 8),
        (1, 16777220, 1, 22, 'Message size [bytes]', 8);
"#;

/// A communicator of 8 ranks, of which this is number 3.
const INIT: &str = "X'0100000000000000 0200000100000000 1800000000000000 2000000000000000 \
                    1807F6E5D4C3B2A1 08000000 03000000 03000000 00000000'";
/// A collective of 4 MiB.
const COLLECTIVE: &str = "X'0100000000000000 0400000100000000 1000000000000000 2000000000000000 \
                          1807F6E5D4C3B2A1 0000400000000000'";

fn nccl_range(start: i64, end: i64, text: &str, data: &str) -> String {
    let data = data.replace(' ', "").replacen("X'", " X'", 1);
    format!("INSERT INTO NVTX_EVENTS VALUES ({start}, {end}, 59, '{text}', {THREAD}, NULL, 1, {data});")
}

fn nccl_kernel(start: i64, correlation: i64) -> String {
    format!(
        "{} UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 20 WHERE correlationId = {correlation};",
        kernel(start, start + 250_000, 0, correlation, PROCESS)
    )
}

/// Name, communicator, ranks, rank, and bytes sent and received of a collective.
type Collective<'t> = (&'t str, &'t str, Option<i64>, Option<i64>, Option<i64>, Option<i64>);

fn collective(trace: &Trace, event: EventId) -> Option<Collective<'_>> {
    let found = trace.events().arguments().collective.get(event.index())?;
    let text = |id| trace.text(Option::unwrap(id));
    assert_eq!(found.dtype.map(|dtype| trace.text(dtype)), found.in_elements.map(|_| "Byte"));
    let group = found.group_name.map_or("", |group| trace.text(group));
    Some((text(found.name), group, found.group_size, found.rank, found.in_elements, found.out_elements))
}

fn kernels(trace: &Trace) -> Vec<Option<Collective<'_>>> {
    let events = trace.events();
    let is_kernel = |event: &EventId| trace.category_name(events.category(*event)) == "kernel";
    events.ids().filter(is_kernel).map(|event| collective(trace, event)).collect()
}

#[test]
fn kernels_of_nccl_have_the_message_of_the_range_around_their_launch() {
    let trace = read(
        &[
            NCCL.to_string(),
            nccl_range(0, 10, "ncclCommInitRank", INIT),
            nccl_range(100, 200, "ncclAllReduce", COLLECTIVE),
            nccl_range(300, 400, "ncclAllGather", COLLECTIVE),
            nccl_range(
                500,
                600,
                "ncclReduceScatter",
                &COLLECTIVE.replace("1000000000000000 2", "1100000000000000 2"),
            ),
            call(120, 180, 49, THREAD, 7),
            call(320, 380, 50, THREAD, 7),
            call(520, 580, 51, THREAD, 7),
            call(700, 710, 52, THREAD, 7),
            call(130, 140, 53, THREAD, 7),
            nccl_kernel(1_000, 49),
            nccl_kernel(300_000, 50),
            nccl_kernel(600_000, 51),
            nccl_kernel(900_000, 52),
            kernel(1_200_000, 1_200_100, 0, 53, PROCESS),
        ]
        .concat(),
    )
    .unwrap();
    let part = 4_194_304;
    let group = "0xa1b2c3d4e5f60718";
    assert_eq!(
        kernels(&trace),
        [
            Some(("allreduce", group, Some(8), Some(3), Some(part), Some(part))),
            Some(("allgather", group, Some(8), Some(3), Some(part), Some(8 * part))),
            // A payload of another size than its schema's is not read: the operation alone is known.
            Some(("reducescatter", "", None, None, None, None)),
            // Launched outside of any range, and no kernel of NCCL.
            None,
            None,
        ]
    );
    assert_eq!(trace.warnings(), []);
}

#[test]
fn the_end_of_a_group_launches_all_that_was_enqueued_in_it() {
    let group = [
        nccl_range(100, 105, "ncclGroupStart", "NULL"),
        nccl_range(106, 110, "ncclAllReduce", COLLECTIVE),
        nccl_range(111, 112, "ncclGroupStart", "NULL"),
        nccl_range(113, 115, "ncclSend", COLLECTIVE),
        // Ends a group in a group, which launches nothing.
        nccl_range(116, 118, "ncclGroupEnd", "NULL"),
        nccl_range(119, 121, "ncclSend", COLLECTIVE),
        nccl_range(122, 300, "ncclGroupEnd", "NULL"),
    ];
    let trace = read(
        &[NCCL.to_string(), group.concat(), call(150, 160, 49, THREAD, 7), nccl_kernel(1_000, 49)].concat(),
    )
    .unwrap();
    let part = 4_194_304;
    let expected = ("allreduce+send", "0xa1b2c3d4e5f60718", None, None, Some(3 * part), Some(part));
    assert_eq!(kernels(&trace), [Some(expected)]);
}

#[test]
fn schemas_that_contradict_each_other_are_left_out() {
    let trace = read(
        &[
            NCCL.to_string(),
            "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 16777220, 1, 22, 'Message size [bytes]', 0);"
                .to_string(),
            nccl_range(100, 200, "ncclAllReduce", COLLECTIVE),
            call(120, 180, 49, THREAD, 7),
            nccl_kernel(1_000, 49),
        ]
        .concat(),
    )
    .unwrap();
    assert_eq!(kernels(&trace), [Some(("allreduce", "", None, None, None, None))]);
    let [warning] = trace.warnings() else { panic!("{:?}", trace.warnings()) };
    assert!(warning.to_string().contains("1 NCCL payload schema is contradictory"), "{warning}");
}

#[test]
fn what_numbers_mean_the_export_says_first() {
    let trace = read(&format!(
        "CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, name TEXT, label TEXT);
        INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'),
            (20, 'CUDA_MEMCPY_KIND_NEW', 'Over-the-Moon');
        CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER, name TEXT, label TEXT);
        INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (159, 'NvtxPushPopRange', ''), (59, 'CpuCycles', '');
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1000, 1100, 0, 1, 7, 50, {PROCESS}, 6400, 1, 2, 1),
            (1100, 1200, 0, 1, 7, 51, {PROCESS}, 6400, 20, 2, 1), (1200, 1300, 0, 1, 7, 52, {PROCESS}, 6400, 8, 2, 2);
        {}{}",
        range(5, "6", 159, "'step'", 0),
        range(5, "6", 59, "'cycles'", 0)
    ))
    .unwrap();
    let names: Vec<&str> = told(&trace).iter().map(|(_, name, ..)| *name).collect();
    assert_eq!(
        names,
        [
            "step",
            "Memcpy DtoH (Device -> Pinned)",
            "Memcpy Over-the-Moon (Device -> Pinned)",
            "Memcpy DtoD (Device -> Device)"
        ]
    );
}

#[test]
fn operators_of_two_processes_have_numbers_of_their_own() {
    let operator = |thread: i64| {
        format!(
            "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'aten::mm, seq = 4, op_id = 9', {thread}, NULL, NULL, 0);"
        )
    };
    let trace = read(&[operator(THREAD), operator(OTHER_THREAD)].concat()).unwrap();
    let events = trace.events();
    let numbers: Vec<_> =
        events.ids().map(|event| (events.sequence_number(event), events.external_id(event))).collect();
    assert_eq!(numbers[0], (Some(4), Some(9)));
    assert_ne!(numbers[1].0, Some(4));
    assert_ne!(numbers[1].1, Some(9));
}

#[test]
fn empty_texts_of_old_recorders_are_those_of_registered_strings() {
    let trace = read(&format!(
        "INSERT INTO StringIds VALUES (0, 'of no row');
        INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, '', {THREAD}, 0, 12, 0), (3, 4, 59, '', {THREAD}, 0, 0, 0);"
    ))
    .unwrap();
    let names: Vec<&str> = told(&trace).iter().map(|(_, name, ..)| *name).collect();
    assert_eq!(names, ["autograd", ""]);
}

#[test]
fn calls_of_the_operating_system_are_read_where_they_are_asked_for() {
    let statements = format!(
        "{TABLES}{}CREATE TABLE OSRT_API (start INTEGER, \"end\" INTEGER, globalTid INTEGER, nameId INTEGER);
        INSERT INTO StringIds VALUES (30, 'pthread_cond_wait');
        INSERT INTO OSRT_API VALUES (100, 400, {THREAD}, 30), (NULL, 500, {THREAD}, 30);",
        kernel(500, 900, 0, 49, PROCESS)
    );
    let (_directory, path) = database(&statements);
    let read = |os_calls| {
        let nsys = NsysReading { os_calls, ..NsysReading::default() };
        read_path(&path, &ReadOptions { nsys, ..ReadOptions::default() }).unwrap()
    };
    let without = read(false);
    assert_eq!(told(&without).len(), 1);
    assert_eq!(without.warnings(), [Warning::UnreadTables { tables: vec![("OSRT_API".to_string(), 2)] }]);
    assert_eq!(without.strings().find("pthread_cond_wait"), None);
    let with = read(true);
    let wait = find(&with, "pthread_cond_wait");
    assert_eq!(told(&with)[wait.index()], ("os_runtime", "pthread_cond_wait", 100, 300));
    let [Warning::MalformedRecords { list, count: 1, .. }] = with.warnings() else {
        panic!("{:?}", with.warnings())
    };
    assert_eq!(list, "OSRT_API");
}

#[test]
fn shifted_times_and_calls_that_were_skipped_are_told() {
    let trace = read(&format!(
        "{}{}INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_SHIFT', '-5');
        CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
        INSERT INTO META_DATA_CAPTURE VALUES ('CUDA_SKIP_SOME_API_CALLS', 'true');
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
        INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({});",
        kernel(500, 900, 0, 49, PROCESS),
        call(0, 100, 49, THREAD, 7),
        i64::MAX
    ))
    .unwrap();
    let told: Vec<String> = trace.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("shifted all times by -5 ns"), "{told:?}");
    let help = miette::Diagnostic::help(&trace.warnings()[1]).unwrap().to_string();
    assert!(help.contains("--cuda-trace-all-apis=true"), "{help}");
    // A start of the session that leaves no room for times is none.
    assert_eq!(trace.facts().base_time_nanoseconds, None);
}

#[test]
fn waits_lie_on_the_gpu_of_graphs_in_their_context() {
    let trace = read(&format!(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, \"end\" INTEGER, deviceId INTEGER,
        contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1000, 9000, 3, 2, 7, 50, {OTHER_PROCESS}, 5);
        CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, \"end\" INTEGER, deviceId INTEGER,
        contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (10, 20, 0, 2, 7, 60, {OTHER_PROCESS}, 3);"
    ))
    .unwrap();
    assert_eq!(trace.events().device(find(&trace, "Stream Sync")), Some(3));
}
