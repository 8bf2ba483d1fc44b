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
fn tasks_of_collective_operations_of_ascend_are_none_beside_them() {
    let process = |pid: u32, name: &str| {
        format!(r#"{{"ph":"M","name":"process_name","pid":{pid},"tid":0,"args":{{"name":"{name}"}}}}"#)
    };
    let thread = |tid: u32, name: &str| {
        format!(r#"{{"ph":"M","name":"thread_name","pid":1058,"tid":{tid},"args":{{"name":"{name}"}}}}"#)
    };
    let span = |pid: u32, tid: u32, name: &str, ts: u32, dur: u32, arguments: &str| {
        format!(
            r#"{{"ph":"X","name":"{name}","pid":{pid},"tid":{tid},"ts":"{ts}","dur":{dur},"args":{{{arguments}}}}}"#
        )
    };
    let task = |tid, kind: &str, ts, dur, id: u32| {
        let arguments = format!(r#""Task Type":"{kind}","Physic Stream Id":{tid},"connection_id":{id}"#);
        span(1026, tid, kind, ts, dur, &arguments)
    };
    for (communication, operation) in [("HCCL", ""), ("Communication", r#""connection_id":7"#)] {
        let tasks = [
            process(1026, "Ascend Hardware"),
            task(2, "AI_CORE", 0, 10, 1),
            task(4, "Notify Wait", 10, 60, 7),
            task(4, "Write Value", 70, 1, 7),
            task(4, "SDMA", 71, 9, 7),
            task(4, "SDMA", 90, 2, 3),
            task(2, "SDMA_SQE", 40, 5, 2),
            task(2, "PCIE_DMA_SQE", 45, 5, 2),
            task(2, "PLACE_HOLDER_SQE", 50, 0, 0),
            task(2, "EVENT_WAIT_SQE", 50, 30, 0),
        ];
        let operations = [
            process(1058, communication),
            thread(0, "Group 0 Communication"),
            thread(1, "Plane 0"),
            span(1058, 0, "hcom_allReduce__586_0_1", 10, 75, operation),
            span(1058, 1, "Notify_Wait", 10, 60, ""),
        ];
        let all = tasks.iter().chain(&operations).cloned().collect::<Vec<_>>().join(",");
        assert_eq!(
            rows(&parse(&all), Category::is_device),
            [
                "AI_CORE kernel 2 2 1",
                "SDMA gpu_memcpy 2 4 3",
                "SDMA_SQE gpu_memcpy 2 2 2",
                "PCIE_DMA_SQE gpu_memcpy 2 2 2",
                "hcom_allReduce__586_0_1 kernel 2 - 7",
            ],
            "{communication}"
        );
        // Without the operations, the waiting is what is known of them.
        let waits = rows(&parse(&tasks.join(",")), |category| category == Category::KERNEL);
        assert_eq!(waits, ["AI_CORE kernel 2 2 1", "Notify Wait kernel 2 4 7"]);
    }
}

#[test]
fn tpus_of_xprof_run_programs_of_operations() {
    let mut events = vec![
        r#"{"ph":"M","name":"process_name","pid":3,"tid":0,"args":{"name":"/device:TPU:1"}}"#.to_owned(),
    ];
    for (tid, thread, name) in [
        (1, "XLA Modules", "jit_step(2)"),
        (2, "Steps", "7"),
        (3, "XLA Ops", "fusion.3"),
        (3, "XLA Ops", "copy-start.2"),
        (3, "XLA Ops", "copy_bitcast_fusion"),
        (4, "Async XLA Ops", "copy.4"),
    ] {
        events.push(format!(
            r#"{{"ph":"M","name":"thread_name","pid":3,"tid":{tid},"args":{{"name":"{thread}"}}}}"#
        ));
        events.push(format!(r#"{{"ph":"X","name":"{name}","pid":3,"tid":{tid},"ts":1,"dur":1}}"#));
    }
    let trace = parse(&events.join(","));
    assert_eq!(trace.facts().accelerator, Some(Accelerator::Tpu));
    assert_eq!(
        rows(&trace, |category| category != Category::NONE),
        [
            "jit_step(2) xla_module - - -",
            "7 xla_step - - -",
            "fusion.3 kernel 1 3 -",
            "copy-start.2 gpu_memcpy 1 3 -",
            "copy_bitcast_fusion kernel 1 3 -",
        ]
    );
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
    // A copy and a packet.
    let said = "device events on MTIA's queue, packet and copy tracks, skipped because they duplicate events on its streams: 2";
    assert!(
        trace.warnings().iter().any(|warning| warning.to_string().starts_with(said)),
        "{:?}",
        trace.warnings()
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
