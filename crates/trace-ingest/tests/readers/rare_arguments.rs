//! Arguments that few events have, read into their columns.
use std::io::Write;

use trace_ingest::{EventId, LaunchGeometry, ReadOptions, Trace, read_path};

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
