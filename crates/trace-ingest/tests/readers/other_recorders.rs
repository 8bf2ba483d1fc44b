//! Traces of other devices, of the autograd profiler and of XProf: what is work of a device, and whose.

use std::path::Path;

use trace_ingest::{
    Accelerator, Category, EventArguments, FlowKind, Phase, ReadOptions, Trace, TraceBuilder, read_path,
};

fn read(name: &str) -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated/devices").join(name);
    read_path(&path, &ReadOptions::default()).unwrap()
}

fn parse(events: &str) -> Trace {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.json");
    std::fs::write(&path, format!(r#"{{"schemaVersion": 1, "traceEvents": [{events}]}}"#)).unwrap();
    read_path(&path, &ReadOptions::default()).unwrap()
}

/// Name, category, device, stream and correlation of all events of devices, and of calls.
fn rows(trace: &Trace, of: impl Fn(Category) -> bool) -> Vec<String> {
    let events = trace.events();
    let shown = |value: Option<i64>| value.map_or("-".to_owned(), |value| value.to_string());
    let chosen = events.ids().filter(|&event| of(events.category(event)));
    chosen
        .map(|event| {
            let ids = [events.device(event), events.stream(event), events.correlation(event)].map(shown);
            let category = trace.category_name(events.category(event));
            format!("{} {category} {}", trace.name(event), ids.join(" "))
        })
        .collect()
}

#[test]
fn every_device_has_its_work_under_the_categories_of_kineto() {
    for (file, accelerator, expected) in [
        ("xpu.json", Some(Accelerator::Xpu), ["gemm_kernel kernel 0 3 11", "M2D gpu_memcpy 0 3 12"]),
        (
            "privateuse1.json",
            Some(Accelerator::PrivateUse1),
            ["matmul kernel 1 5 11", "Memcpy HtoD gpu_memcpy 1 5 12"],
        ),
        ("hpu.json", Some(Accelerator::Hpu), ["gemm kernel 2 1 -", "add kernel 2 1 -"]),
        ("ascend.json", Some(Accelerator::Npu), ["MatMulV2 kernel 3 2 11", "MEMCPY_ASYNC gpu_memcpy 3 2 12"]),
        ("autograd.json", None, ["gemm kernel 0 - -", "add kernel 0 - -"]),
        ("xprof.json", None, ["MemcpyH2D gpu_memcpy 0 14 -", "gemm_fusion_dot kernel 0 14 -"]),
    ] {
        let trace = read(file);
        assert_eq!(trace.facts().accelerator, accelerator, "{file}");
        assert_eq!(rows(&trace, Category::is_device), expected, "{file}");
        assert_eq!(trace.warnings(), [], "{file}");
        assert_eq!(trace.facts().is_view_of_xplane, file == "xprof.json");
    }
}

#[test]
fn calls_of_every_runtime_are_calls() {
    for (file, expected) in [
        (
            "xpu.json",
            &[
                "urEnqueueKernelLaunch xpu_runtime - - 11",
                "urEnqueueUSMMemcpy xpu_runtime - - 12",
                "zeCommandListAppendMemoryCopy xpu_driver - - 13",
            ][..],
        ),
        (
            "privateuse1.json",
            &["LaunchKernel privateuse1_runtime - - 11", "MemcpyAsync privateuse1_driver - - 12"],
        ),
        (
            "ascend.json",
            &["Node@launch privateuse1_runtime - - 11", "MemcopyAsync privateuse1_runtime - - 12"],
        ),
        ("hpu.json", &[]),
    ] {
        assert_eq!(rows(&read(file), Category::is_launch_api), expected, "{file}");
    }
}

#[test]
fn what_repeats_work_is_none() {
    let repeats = |category| matches!(category, Category::DEVICE_RECORD | Category::KERNEL_METRICS);
    assert_eq!(rows(&read("xpu.json"), repeats), ["metrics: gemm_kernel kernel_metrics 0 3 -"]);
    let of_ascend = rows(&read("ascend.json"), repeats);
    assert_eq!(of_ascend, ["EVENT_WAIT device_record 3 2 13", "Computing device_record - - -"]);
    // On a GPU of another vendor a kernel may have any name.
    let kernel = r#"{"ph":"X","cat":"kernel","name":"metrics: k","pid":0,"tid":7,"ts":1,"dur":1}"#;
    assert_eq!(rows(&parse(kernel), repeats), [""; 0]);
}

#[test]
fn operators_of_lists_without_categories_are_operators() {
    for file in ["ascend.json", "autograd.json"] {
        let operators = rows(&read(file), |category| category == Category::CPU_OP);
        assert_eq!(operators.len(), 2, "{file}: {operators:?}");
        assert!(operators[0].starts_with("aten::mm ") && operators[1].starts_with("aten::add "), "{file}");
    }
    let arrows = read("autograd.json");
    let kinds: Vec<FlowKind> = arrows.flows().iter().map(|flow| flow.kind).collect();
    assert_eq!(kinds, [FlowKind::OperatorToDevice; 4]);
    assert_eq!(arrows.flows()[0].time, Some(0));
}

#[test]
fn queues_of_mtia_repeat_the_work_of_its_streams() {
    let row = |tid: u32, name: &str, thread: &str| {
        format!(
            r#"{{"ph":"X","cat":"mtia_ccp_events","name":"{name}","pid":17,"tid":{tid},"ts":{tid},"dur":1,
                "args":{{"stream":"101","direction":"HOST_TO_DEVICE","size":64}}}},
               {{"ph":"M","name":"thread_name","pid":17,"tid":{tid},"args":{{"name":"{thread}"}}}},"#
        )
    };
    let events = [
        row(3, "dma_request", "Stream 101"),
        row(4, "dma_request", "Stream 101 Submission Queue"),
        row(5, "merge", "PACKET"),
        row(6, "merge", "Stream 7"),
        row(7, "event_wait", "Stream 8"),
        row(8, "kernel_of_training", "Cluster 0"),
    ];
    let trace = parse(events.concat().trim_end_matches(','));
    assert_eq!(trace.facts().accelerator, Some(Accelerator::Mtia));
    assert_eq!(
        rows(&trace, |_| true),
        [
            "dma_request gpu_memcpy 17 101 -",
            "dma_request device_record 17 101 -",
            "merge device_record 17 101 -",
            "merge kernel 17 101 -",
            "event_wait mtia_ccp_events 17 101 -",
            "kernel_of_training kernel 17 101 -",
        ]
    );
    let transfer = trace.events().arguments().transfer.get(0).unwrap();
    assert_eq!(
        (transfer.bytes, transfer.direction.map(|id| trace.text(id))),
        (Some(64), Some("HOST_TO_DEVICE"))
    );
}

#[test]
fn allocations_tell_of_mps() {
    let allocation = |device: u32| {
        format!(
            r#"{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":5}},
               {{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":2,"s":"t",
                 "args":{{"Device Type":{device},"Device Id":0,"Bytes":64}}}}"#
        )
    };
    let [cpu, mps] = [0, 13].map(|device| parse(&allocation(device)));
    assert_eq!((cpu.facts().accelerator, mps.facts().accelerator), (None, Some(Accelerator::Mps)));
    assert_eq!(mps.events().ids().filter(|&event| mps.events().phase(event) == Phase::Instant).count(), 1);
}

#[test]
fn a_trace_that_is_built_by_hand_has_no_accelerator() {
    let mut builder = TraceBuilder::new();
    let track = builder.track(1, 1);
    builder.event(Category::XPU_RUNTIME, "launch", track, 0, 1, EventArguments::default());
    assert_eq!(builder.finish().facts().accelerator, None);
}
