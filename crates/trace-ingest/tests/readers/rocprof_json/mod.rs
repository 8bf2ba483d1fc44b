//! `rocprofv3`'s JSON: what a profile holds, what is said of files that are none, and what is left of damaged ones.

mod corpus;
mod damage;
mod records;
mod refusals;
mod trace;

use std::path::PathBuf;

use trace_ingest::rocprof::{Profile, read_profile};
use trace_ingest::{IngestError, ReadOptions};

/// A file with this content in a folder of its own.
fn file(content: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("1_results.json");
    std::fs::write(&path, content).unwrap();
    (directory, path)
}

fn read(content: impl AsRef<[u8]>) -> Result<Profile, IngestError> {
    let (_directory, path) = file(content);
    read_profile(&path, &ReadOptions::default())
}

fn read_ok(content: impl AsRef<[u8]>) -> Profile {
    read(content).unwrap_or_else(|error| panic!("{error}"))
}

fn warnings(profile: &Profile) -> Vec<String> {
    profile.warnings.iter().map(ToString::to_string).collect()
}

/// A profile with one element of these members.
fn profile(members: &str) -> String {
    format!(r#"{{"rocprofiler-sdk-tool":[{{{members}}}]}}"#)
}

/// Kernels with every way to be named, dispatched six times; a copy.
fn synthetic() -> String {
    let dispatch = |number: u32, kernel: u32, start: u32, end: u32| {
        format!(
            r#"{{"size":184,"kind":11,"operation":2,"thread_id":908,"correlation_id":{{"internal":{number},"external":0}},"start_timestamp":{start},"end_timestamp":{end},"dispatch_info":{{"size":72,"agent_id":{{"handle":70}},"queue_id":{{"handle":16}},"kernel_id":{kernel},"dispatch_id":{number},"private_segment_size":0,"group_segment_size":512,"workgroup_size":{{"x":256,"y":1,"z":1}},"grid_size":{{"x":1000,"y":2,"z":1}}}},"stream_id":{{"handle":3}}}}"#
        )
    };
    let dispatches = [
        dispatch(1, 1, 100, 105),
        dispatch(2, 2, 103, 110),
        dispatch(3, 3, 200, 205),
        dispatch(4, 9, 300, 305),
        dispatch(5, 1, 400, 408),
        dispatch(6, 4, 500, 503),
    ];
    profile(&format!(
        r#""metadata":{{"node":{{"hostname":"host"}},"pid":908,"init_time":0,"fini_time":1000}},
"agents":[{{"size":312,"id":{{"handle":60}},"type":1,"name":"EPYC","node_id":0,"logical_node_type_id":0}},
{{"size":312,"id":{{"handle":70}},"type":2,"name":"gfx950","product_name":"AMD Instinct MI350X","node_id":2,"logical_node_type_id":0,"cu_count":256,"hive_id":17332996360099338395,"caches":[{{"size":1}}],
"mem_banks":[{{"width":8192,"mem_clk_max":2000,"size_in_bytes":309220868096}}]}}],
"strings":{{"buffer_records":[{{"kind":"NONE","operations":[]}},{{"kind":"MEMORY_COPY","operations":["MEMORY_COPY_NONE","MEMORY_COPY_HOST_TO_DEVICE"]}},{{"kind":"HIP_RUNTIME_API","operations":["hipInit","hipLaunchKernel"]}},{{"kind":"MARKER_CORE_API","operations":["roctxMarkA"]}}],
"callback_records":[{{"kind":"WRONG","operations":["wrong","wrong"]}}],
"marker_api":[{{"key":77,"value":"step \"1\""}}]}},
"kernel_symbols":[{{"size":0,"kernel_id":1,"kernel_name":"_Z6a_gemmv.kd","formatted_kernel_name":"a_gemm()","truncated_kernel_name":"a_gemm","arch_vgpr_count":32,"accum_vgpr_count":4,"sgpr_count":16}},
{{"size":0,"kernel_id":2,"kernel_name":"_Z.kd","formatted_kernel_name":"reduce<float>","truncated_kernel_name":""}},
{{"size":0,"kernel_id":3,"kernel_name":"raw.kd"}},{{"size":0,"kernel_id":4,"kernel_name":""}}],
"callback_records":{{"counter_collection":[]}},
"buffer_records":{{"kernel_dispatch":[{}],
"hip_api":[{{"size":1,"kind":2,"operation":1,"thread_id":908,"correlation_id":{{"internal":1}},"start_timestamp":90,"end_timestamp":95}}],
"marker_api":[{{"size":1,"kind":3,"operation":0,"thread_id":908,"correlation_id":{{"internal":77}},"start_timestamp":80,"end_timestamp":600}}],
"memory_copy":[{{"size":1,"kind":1,"operation":1,"correlation_id":{{"internal":9}},"start_timestamp":90,"end_timestamp":101,"src_agent_id":{{"handle":60}},"dst_agent_id":{{"handle":70}},"bytes":4096,"stream_id":{{"handle":0}}}}]}}"#,
        dispatches.join(",")
    ))
}
