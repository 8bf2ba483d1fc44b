//! What the records say.

use trace_ingest::Nanoseconds;
use trace_ingest::rocprof::{AgentKind, CopyDirection, Domain, KernelNames};

use super::{profile, read_ok, synthetic, warnings};

#[test]
fn every_part_of_a_profile_is_read() {
    let profile = read_ok(synthetic());
    let process = &profile.processes[0];
    assert_eq!((process.pid, process.hostname.as_deref()), (Some(908), Some("host")));
    assert_eq!((process.init, process.fini), (Some(Nanoseconds(0)), Some(Nanoseconds(1000))));

    let [cpu, gpu] = &profile.agents[..] else { panic!("{:?}", profile.agents) };
    assert_eq!((cpu.kind, cpu.label.as_str(), cpu.handle), (AgentKind::Cpu, "60", Some(60)));
    assert_eq!((gpu.kind, gpu.ordinal, gpu.compute_units), (AgentKind::Gpu, Some(0), Some(256)));
    assert_eq!((gpu.memory_bytes, gpu.memory_bandwidth), (Some(309_220_868_096), Some(4.096e12)));

    let names: Vec<_> = profile
        .dispatches
        .iter()
        .map(|dispatch| profile.kernel_name(dispatch.kernel, KernelNames::Truncated).into_owned())
        .collect();
    assert_eq!(names, ["a_gemm", "reduce<float>", "raw.kd", "unknown_kernel_9", "a_gemm", ""]);
    let spans: Vec<_> =
        profile.dispatches.iter().map(|one| (one.start.0, one.end.0, one.dispatch_id)).collect();
    assert_eq!(
        spans,
        [(100, 105, 1), (103, 110, 2), (200, 205, 3), (300, 305, 4), (400, 408, 5), (500, 503, 6)]
    );
    let first = &profile.dispatches[0];
    assert_eq!((first.correlation, first.thread, first.queue, first.stream), (Some(1), 908, 16, 3));
    assert_eq!(first.agent, Some(1));
    let launch = profile.launches[first.launch as usize];
    assert_eq!((launch.grid, launch.workgroup, launch.group_segment), ([1000, 2, 1], [256, 1, 1], 512));
    assert_eq!((launch.vgprs, launch.accum_vgprs, launch.sgprs), (32, 4, 16));
    assert_eq!(profile.launches[profile.dispatches[2].launch as usize].vgprs, 0);

    let copy = &profile.copies[0];
    assert_eq!((copy.start.0, copy.end.0, copy.bytes), (90, 101, Some(4096)));
    assert_eq!(
        (copy.source, copy.destination, copy.direction),
        (Some(0), Some(1), CopyDirection::HostToDevice)
    );
    assert_eq!(profile.text(copy.name), "MEMORY_COPY_HOST_TO_DEVICE");

    let calls: Vec<_> = profile
        .calls
        .iter()
        .map(|call| (call.domain, profile.text(call.kind), profile.text(call.name), call.operation))
        .collect();
    assert_eq!(
        calls,
        [
            (Domain::Hip, "HIP_RUNTIME_API", "hipLaunchKernel", 1),
            (Domain::Marker, "MARKER_CORE_API", "step \"1\"", 0),
        ]
    );
    assert_eq!(
        warnings(&profile),
        ["dispatches of kernels without a description, named by kernel number: 1"]
    );
}

#[test]
fn the_order_of_the_parts_does_not_matter() {
    let text = synthetic();
    let at = |key: &str| text.find(key).unwrap();
    let begin = at("\"metadata\"");
    let records = text.rfind("\"buffer_records\":{").unwrap();
    let end = text.len() - "}]}".len();
    let turned = profile(&format!(
        "{},{}",
        &text[records..end],
        text[begin..records].trim_end().trim_end_matches(',')
    ));
    let (straight, turned) = (read_ok(&text), read_ok(&turned));
    assert_eq!(straight.agents, turned.agents);
    assert_eq!(straight.launches, turned.launches);
    for (one, other) in straight.dispatches.iter().zip(&turned.dispatches) {
        let name = |profile: &trace_ingest::rocprof::Profile, kernel| {
            profile.kernel_name(kernel, KernelNames::Truncated).into_owned()
        };
        assert_eq!(name(&straight, one.kernel), name(&turned, other.kernel));
        assert_eq!((one.start.0, one.agent, one.launch), (other.start.0, other.agent, other.launch));
    }
    let texts = |profile: &trace_ingest::rocprof::Profile| {
        let calls =
            profile.calls.iter().map(|call| call.name).chain(profile.copies.iter().map(|copy| copy.name));
        calls.map(|name| profile.text(name).to_string()).collect::<Vec<_>>()
    };
    assert_eq!(texts(&straight), texts(&turned));
}

#[test]
fn kinds_and_operations_may_be_texts_and_fields_may_miss() {
    let profile = read_ok(profile(
        r#""buffer_records":{"kernel_dispatch":[{},{"dispatch_info":null,"start_timestamp":"7","end_timestamp":"9","stream_id":4}],
        "memory_copy":[{"kind":"H2D","start_timestamp":1,"end_timestamp":2},{"operation":3,"start_timestamp":1,"end_timestamp":2},{"start_timestamp":5,"end_timestamp":4}],
        "hip_api":[{"operation":"hipLaunchKernel","start_timestamp":1,"end_timestamp":2}],"hsa_api":null}"#,
    ));
    let names: Vec<_> = profile.copies.iter().map(|copy| (profile.text(copy.name), copy.direction)).collect();
    assert_eq!(
        names,
        [
            ("H2D", CopyDirection::HostToDevice),
            ("unknown_operation_3", CopyDirection::Other),
            ("unknown", CopyDirection::Other),
        ]
    );
    assert_eq!(profile.text(profile.calls[0].name), "hipLaunchKernel");
    assert_eq!(profile.text(profile.calls[0].kind), "HIP_API");
    let second = &profile.dispatches[1];
    assert_eq!((second.start.0, second.end.0, second.stream, second.agent), (7, 9, 4, None));
    assert_eq!(profile.launches[second.launch as usize].grid, [1, 1, 1]);
    assert_eq!(profile.kernel_name(second.kernel, KernelNames::Truncated), "unknown_kernel_None");
    assert_eq!(
        warnings(&profile),
        [
            "records of kernel_dispatch without a start or an end, set to zero duration: 1",
            "records that end before they begin, set to zero duration: 1",
            "dispatches of kernels without a description, named by kernel number: 2",
        ]
    );
}

#[test]
fn counters_join_dispatches_or_make_them() {
    let counters = r#""agents":[{"id":{"handle":5},"type":2}],"counters":[{"id":{"handle":11},"name":"SQ_WAVES","description":"Waves.","block":"SQ","expression":""}],
        "callback_records":{"counter_collection":[
        {"thread_id":4,"dispatch_data":{"correlation_id":{"internal":2},"start_timestamp":10,"end_timestamp":20,"dispatch_info":{"agent_id":{"handle":5},"dispatch_id":1,"kernel_id":1}},
         "records":[{"counter_id":{"handle":11},"value":2.5},{"counter_id":{"handle":11},"value":1.5},{"counter_id":{"handle":12},"value":7}],"arch_vgpr_count":24,"sgpr_count":8}]}"#;
    let alone = read_ok(profile(&format!(r#"{counters},"buffer_records":{{"kernel_dispatch":[]}}"#)));
    let joined = read_ok(profile(&format!(
        r#"{counters},"buffer_records":{{"kernel_dispatch":[{{"start_timestamp":11,"end_timestamp":19,"dispatch_info":{{"agent_id":{{"handle":5}},"dispatch_id":1,"kernel_id":1}}}}]}}"#
    )));
    for (profile, start) in [(alone, 10), (joined, 11)] {
        let [dispatch] = profile.dispatches[..] else { panic!("{:?}", profile.dispatches) };
        assert_eq!((dispatch.start.0, dispatch.agent), (start, Some(0)));
        let launch = profile.launches[dispatch.launch as usize];
        assert_eq!((launch.vgprs, launch.sgprs), (24, 8));
        let values: Vec<_> = profile
            .counter_values
            .iter()
            .map(|one| (one.dispatch, profile.counters[one.counter as usize].name.as_str(), one.value))
            .collect();
        assert_eq!(values, [(0, "SQ_WAVES", 4.0), (0, "counter_12", 7.0)]);
        assert_eq!(profile.counters[0].description.as_deref(), Some("Waves."));
        assert_eq!(profile.counters[0].expression, None);
    }
}

#[test]
fn rare_records_are_read() {
    let profile = read_ok(profile(
        r#""strings":{"buffer_records":[{"kind":"MEMORY_ALLOCATION","operations":["NONE","MEMORY_ALLOCATION_ALLOCATE"]},{"kind":"SCRATCH_MEMORY","operations":["NONE","SCRATCH_MEMORY_ALLOC"]},{"kind":"RCCL_API","operations":["ncclAllReduce"]}],
        "pc_sample_instructions":["s_nop 0","v_add"]},
        "buffer_records":{
        "memory_allocation":[{"kind":0,"operation":1,"start_timestamp":1,"end_timestamp":2,"agent_id":{"handle":9},"address":"0x10","allocation_size":64}],
        "scratch_memory":[{"kind":1,"operation":1,"start_timestamp":1,"end_timestamp":2,"agent_id":{"handle":9},"queue_id":{"handle":2},"flags":0}],
        "rccl_api":[{"kind":2,"operation":0,"start_timestamp":1,"end_timestamp":2}],
        "pc_sample_host_trap":[{"record":{"pc":{"code_object_id":3,"code_object_offset":128},"timestamp":44,"dispatch_id":6},"inst_index":1}],
        "kfd_events":[{},{}]}"#,
    ));
    let allocation = &profile.allocations[0];
    assert_eq!((allocation.address, allocation.bytes), (16, 64));
    assert_eq!(profile.text(allocation.name), "MEMORY_ALLOCATION_ALLOCATE");
    let scratch = &profile.scratch[0];
    assert_eq!((profile.text(scratch.name), scratch.queue, scratch.bytes), ("SCRATCH_MEMORY_ALLOC", 2, None));
    assert_eq!(
        (profile.calls[0].domain, profile.text(profile.calls[0].name)),
        (Domain::Rccl, "ncclAllReduce")
    );
    let sample = &profile.samples[0];
    assert_eq!((sample.time.0, sample.dispatch_id, sample.code_object, sample.offset), (44, 6, 3, 128));
    assert_eq!(profile.text(sample.instruction), "v_add");
    assert_eq!(warnings(&profile), ["unused records of kfd_events skipped: 2"]);
}

#[test]
fn processes_keep_apart_what_is_theirs() {
    let element = |pid: u32, name: &str| {
        format!(
            r#"{{"metadata":{{"pid":{pid},"node":{{"hostname":"one"}}}},"agents":[{{"id":{{"handle":5}},"type":2,"node_id":1}}],"kernel_symbols":[{{"kernel_id":1,"truncated_kernel_name":"{name}"}}],"buffer_records":{{"kernel_dispatch":[{{"start_timestamp":1,"end_timestamp":2,"dispatch_info":{{"agent_id":{{"handle":5}},"kernel_id":1}}}}]}}}}"#
        )
    };
    let text = format!(r#"{{"rocprofiler-sdk-tool":[{},{}]}}"#, element(7, "first"), element(8, "second"));
    let profile = read_ok(text);
    assert_eq!(profile.processes.iter().map(|process| process.pid).collect::<Vec<_>>(), [Some(7), Some(8)]);
    let seen: Vec<_> = profile
        .dispatches
        .iter()
        .map(|one| {
            (one.process, profile.kernel_name(one.kernel, KernelNames::Truncated).into_owned(), one.agent)
        })
        .collect();
    assert_eq!(seen, [(0, "first".to_string(), Some(0)), (1, "second".to_string(), Some(0))]);
    assert_eq!(profile.agents.len(), 1);
}

#[test]
fn undescribed_agents_and_invalid_text_are_counted() {
    let mut text = profile(
        r#""agents":[{"id":{"handle":5},"type":2}],"kernel_symbols":[{"kernel_id":1,"truncated_kernel_name":"k?"}],
        "buffer_records":{"kernel_dispatch":[{"start_timestamp":1,"end_timestamp":2,"dispatch_info":{"agent_id":{"handle":6},"kernel_id":1}}]}"#,
    )
    .into_bytes();
    let at = text.iter().position(|&byte| byte == b'?').unwrap();
    text[at] = 0xff;
    let profile = read_ok(text);
    assert_eq!(profile.kernel_name(0, KernelNames::Truncated), "k\u{fffd}");
    assert_eq!(profile.agents[1].label, "6");
    assert_eq!(
        warnings(&profile),
        ["records of agents without a description: 1", "strings with invalid UTF-8, replaced with U+FFFD: 1",]
    );
}
