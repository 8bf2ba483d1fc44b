//! Arguments that few events have, read into their columns.
use std::io::Write;

use trace_ingest::{EventId, FlowEnd, FlowKind, LaunchGeometry, ReadOptions, Trace, read_path};

fn read(events: &str) -> Trace {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    write!(file, r#"{{"schemaVersion": 1, "traceEvents": [{events}]}}"#).unwrap();
    read_path(file.path(), &ReadOptions::default()).unwrap()
}

fn event(category: &str, arguments: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "n", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {{{arguments}}}}}"#
    )
}

#[test]
fn the_launched_kernel_is_kept_unescaped() {
    let trace = read(&event("cuda_runtime", r#""cid": 1, "kernel": "void f<\"a\">()", "correlation": 7"#));
    let kernel = trace.events().arguments().launched_kernel.get(0).unwrap();
    assert_eq!(trace.text(kernel), "void f<\"a\">()");
    assert_eq!(trace.events().correlation(EventId(0)), Some(7));
}

#[test]
fn call_stacks_in_texts_are_kept() {
    let stacks = [r#""Call stack": "f.py(2): g;main.py(1): <module>""#, r#""Call stack": """#, ""];
    let events = stacks.map(|arguments| event("cpu_op", arguments));
    let trace = read(&events.join(","));
    let kept = trace.events().arguments().call_stack.iter().map(|(row, text)| (row, trace.text(text)));
    assert_eq!(kept.collect::<Vec<_>>(), [(0, "f.py(2): g;main.py(1): <module>")]);
}

#[test]
fn spans_that_were_open_at_the_end_are_marked() {
    let memory = r#"{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1,
        "args": {"finished": false, "Bytes": 8, "Device Type": 0, "Device Id": 0}}"#;
    let spans = [r#""finished": true"#, r#""External id": 3, "finished": false"#, ""];
    let spans = spans.map(|arguments| event("user_annotation", arguments));
    let trace = read(&[memory.to_owned(), spans.join(",")].join(","));
    let unfinished: Vec<usize> = trace.events().arguments().unfinished.iter().map(|(row, ())| row).collect();
    assert_eq!(unfinished, [2]);
    assert_eq!(trace.events().external_id(EventId(2)), Some(3));
}

#[test]
fn geometry_and_graph_nodes_go_to_their_rows() {
    let launch =
        r#""grid": [4, 2, 1], "block": [256, 1, 1], "registers per thread": 32, "shared memory": 1024"#;
    let trace = read(
        &[
            event("kernel", launch),
            event("kernel", r#""graph node id": 12"#),
            event("kernel", r#""grid": [8, 1, 1], "block": [64, 1, 1]"#),
        ]
        .join(","),
    );
    let arguments = trace.events().arguments();
    let first = LaunchGeometry {
        grid: [4, 2, 1],
        block: [256, 1, 1],
        registers_per_thread: Some(32),
        shared_memory: Some(1024),
    };
    assert_eq!(arguments.geometry.get(0), Some(first));
    assert_eq!(arguments.geometry.get(1), None);
    assert_eq!(arguments.geometry.get(2).unwrap().grid, [8, 1, 1]);
    assert_eq!([0, 1, 2].map(|row| arguments.graph_node.get(row)), [None, Some(12), None]);
}

#[test]
fn transfers_collectives_and_triton_calls_go_to_their_rows() {
    let trace = read(
        &[
            event("gpu_memcpy", r#""bytes": 4096, "memory bandwidth (GB/s)": 2.5"#),
            event("cpu_op", r#""Collective name": "allreduce", "Group size": 8, "dtype": "BFloat16", "In msg nelems": 64"#),
            event("cpu_op", r#""kernel_file": "a.py", "num_warps": 4, "kernel_kwargs": "XBLOCK=2""#),
        ]
        .join(","),
    );
    let arguments = trace.events().arguments();
    let transfer = arguments.transfer.get(0).unwrap();
    assert_eq!((transfer.bytes, transfer.bandwidth_gb_per_s), (Some(4096), Some(2.5)));
    let collective = arguments.collective.get(1).unwrap();
    assert_eq!((collective.group_size, collective.in_elements), (Some(8), Some(64)));
    assert_eq!(trace.text(collective.name.unwrap()), "allreduce");
    let triton = arguments.triton.get(2).unwrap();
    assert_eq!((trace.text(triton.file.unwrap()), triton.warps), ("a.py", Some(4)));
    assert_eq!(trace.text(triton.keyword_arguments.unwrap()), "XBLOCK=2");
}

#[test]
fn synchronizations_go_to_their_rows() {
    let wait = r#""cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 1533"#;
    let trace = read(&[event("kernel", ""), event("cuda_sync", wait)].join(","));
    let column = &trace.events().arguments().synchronization;
    let given = column.get(1).unwrap();
    assert_eq!((column.len(), trace.text(given.kind.unwrap())), (1, "Stream Wait Event"));
    assert_eq!((given.stream, given.record), (Some(7), Some(1533)));
}

#[test]
fn arrows_between_graph_nodes_are_known_by_their_ids_and_keep_their_times() {
    let arrow = |phase: &str, id: i64, time: &str| {
        format!(
            r#"{{"ph": "{phase}", "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "id": {id}, "ts": {time}}}"#
        )
    };
    let trace = read(
        &[
            event("kernel", ""),
            arrow("s", 1 << 40, "35.001"),
            arrow("f", 1 << 40, "36"),
            arrow("s", (1 << 40) - 1, "35"),
        ]
        .join(","),
    );
    let found: Vec<_> = trace.flows().iter().map(|flow| (flow.kind, flow.end, flow.time)).collect();
    // Times are relative to the first event, at 1 µs.
    let expected = [
        (FlowKind::GraphDependency, FlowEnd::Start, Some(34_001)),
        (FlowKind::GraphDependency, FlowEnd::Finish, Some(35_000)),
        (FlowKind::Launch, FlowEnd::Start, None),
    ];
    assert_eq!(found, expected);
}
