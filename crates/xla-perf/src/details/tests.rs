//! Details of a profile as a whole.

use sheets::Table;
use trace_ingest::xplane::proto::XStatValue;

use super::detail_sheets;
use crate::JaxAnalysis;
use crate::fixture::{
    Recorded, analysis, assert_described, floats, integers, kernel, plane, stat, table, text, texts,
};

fn memory(name: &'static str, start: i64, bytes: u64, in_use: u64) -> Recorded {
    let stats = vec![
        ("allocator_name", text("GPU_0_bfc")),
        ("allocation_bytes", XStatValue::Unsigned(bytes)),
        ("requested_bytes", XStatValue::Unsigned(bytes - 256)),
        ("bytes_allocated", XStatValue::Unsigned(in_use)),
        ("bytes_available", XStatValue::Unsigned((64 << 20) - in_use)),
        ("peak_bytes_in_use", XStatValue::Unsigned(48 << 20)),
        ("fragmentation", XStatValue::Double(0.25)),
    ];
    Recorded { name, start, duration: 1, stats }
}

fn profile() -> JaxAnalysis {
    let copy = Recorded {
        name: "CopyDeviceToDevice",
        start: 9_000,
        duration: 2_000,
        stats: vec![
            ("correlation_id", XStatValue::Unsigned(3)),
            ("memcpy_details", text("kind:Unknown size:4000000 dest:2 async:1")),
        ],
    };
    let kernels = vec![
        kernel("fusion_kernel", "fusion.remat", 3_000, 3_000, 1),
        kernel("fusion_kernel", "fusion.remat", 6_000, 1_000, 2),
        kernel("other_kernel", "not-in-the-program", 7_000, 500, 9),
    ];
    let mut gpu = plane(
        0,
        "/device:GPU:0",
        vec![(1, "Stream #1(Kernel)", kernels), (2, "Stream #2(MemcpyD2D)", vec![copy])],
    );
    let cores = stat(&mut gpu, "core_count", XStatValue::Signed(8));
    gpu.stats.push(cores);
    let launch = |start, correlation| Recorded {
        name: "hipModuleLaunchKernel",
        start,
        duration: 100,
        stats: vec![("correlation_id", XStatValue::Unsigned(correlation))],
    };
    let host = vec![
        launch(1_000, 1),
        launch(2_000, 2),
        memory("MemoryAllocation", 500, 16 << 20, 16 << 20),
        memory("MemoryAllocation", 600, 16 << 20, 32 << 20),
        memory("MemoryDeallocation", 8_000, 16 << 20, 16 << 20),
    ];
    analysis(vec![gpu, plane(0, "/host:CPU", vec![(11, "python", host)])], 8)
}

fn sheet(analysis: &JaxAnalysis, name: &str) -> Table {
    table(&detail_sheets(), analysis, name)
}

#[test]
fn every_sheet_has_the_columns_that_it_describes() {
    let analysis = profile();
    assert_described(&detail_sheets(), &analysis);
}

#[test]
fn a_profile_without_the_data_has_no_such_sheets() {
    let analysis = analysis(vec![plane(0, "/host:CPU", vec![(11, "python", Vec::new())])], 8);
    for described in detail_sheets() {
        assert!(described.table(&analysis).unwrap().is_none(), "{}", described.name);
    }
}

#[test]
fn launches_with_their_geometry_and_latency() {
    let analysis = profile();
    let geometry = sheet(&analysis, "kernel_launch_geometry");
    assert_eq!(texts(&geometry, "name"), ["fusion_kernel", "other_kernel"]);
    assert_eq!(
        (integers(&geometry, "threads_per_block")[0], integers(&geometry, "group_memory_bytes")[0]),
        (128, 32)
    );
    assert_eq!(floats(&geometry, "blocks_per_core")[0], 0.5);
    let latency = sheet(&analysis, "launch_latency");
    assert_eq!(
        (texts(&latency, "launched_by"), integers(&latency, "count")),
        (vec!["hipModuleLaunchKernel".into()], vec![2])
    );
    // 3 − 1 µs and 6 − 2 µs.
    assert_eq!(
        (floats(&latency, "latency_mean_us"), floats(&latency, "queued_mean_us")),
        (vec![3.0], vec![2.9])
    );
}

#[test]
fn copies_have_a_bandwidth_and_allocators_a_peak() {
    let analysis = profile();
    let copies = sheet(&analysis, "copy_bandwidth");
    // 4 MB in 2 µs.
    assert_eq!(
        (integers(&copies, "size_bytes"), floats(&copies, "bandwidth (GB/s)")),
        (vec![4_000_000], vec![2_000.0])
    );
    let allocators = sheet(&analysis, "memory_allocators");
    assert_eq!(
        (floats(&allocators, "peak (MiB)"), floats(&allocators, "lifetime_peak (MiB)")),
        (vec![32.0], vec![48.0])
    );
    assert_eq!(
        (integers(&allocators, "allocations"), integers(&allocators, "deallocations")),
        (vec![2], vec![1])
    );
    let timeline = sheet(&analysis, "memory_timeline");
    assert_eq!(floats(&timeline, "in_use (MiB)"), [16.0, 32.0, 16.0]);
}

#[test]
fn devices_whose_allocators_have_no_name_stay_apart() {
    let of_device = |index, start| {
        let mut event = memory("MemoryAllocation", start, 1 << 20, 1 << 20);
        event.stats[0] = ("index_on_host", XStatValue::Signed(index));
        event
    };
    let host = vec![of_device(0, 100), of_device(1, 200), of_device(0, 300)];
    let analysis = analysis(vec![plane(0, "/host:CPU", vec![(11, "python", host)])], 8);
    let allocators = sheet(&analysis, "memory_allocators");
    assert_eq!(texts(&allocators, "allocator"), ["device 0", "device 1"]);
    assert_eq!(integers(&allocators, "allocations"), [2, 1]);
}

#[test]
fn time_belongs_to_source_lines_and_scopes() {
    let analysis = profile();
    let lines = sheet(&analysis, "source_lines");
    // The copy and the kernel of an unknown instruction have no source.
    assert_eq!(texts(&lines, "source"), ["layers.py:20", ""]);
    assert_eq!(texts(&lines, "call_stack")[0], "layer (layers.py:20) < step (train.py:10)");
    assert_eq!(floats(&lines, "total_time_ms"), [0.004, 0.0025]);
    let scopes = sheet(&analysis, "name_scopes");
    assert_eq!(
        texts(&scopes, "scope"),
        ["jit(step)", "jit(step)/layer", "jit(step)/layer/rematted_computation"]
    );
    assert_eq!(floats(&scopes, "own_time_ms"), [0.0, 0.0, 0.004]);
    let again = sheet(&analysis, "rematerialization");
    assert_eq!(texts(&again, "kind"), ["recomputed by jax.checkpoint", "other"]);
    assert!((floats(&again, "percent")[0] - 4.0 / 6.5 * 100.0).abs() < 1e-9);
}
