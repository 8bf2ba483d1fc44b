//! Queries on recorded traces against answers published for them.

use trace_ingest::EventId;
use trace2tree::{
    CallStackOptions, LinkBackwardBy, OperatorField, PrintOptions, TraceTree, TreeOptions,
    insert_pseudo_operators,
};

fn tree(file: &str, python_frames: bool) -> Option<TraceTree> {
    let trace = crate::read(file)?;
    Some(TraceTree::build(trace, &TreeOptions { python_frames, ..TreeOptions::default() }))
}

/// The event with an index of the file's event list.
fn event(tree: &TraceTree, uid: u32) -> EventId {
    tree.trace().events().find_uid(uid).unwrap_or_else(|| panic!("event {uid} was not kept"))
}

fn uids(tree: &TraceTree, events: &[EventId]) -> Vec<u32> {
    events.iter().map(|&event| tree.trace().events().uid(event)).collect()
}

#[test]
fn a_compiled_region_lists_its_children_and_device_events() {
    let Some(tree) = tree("pytorch/torch-compile-triton/trace.json.gz", false) else { return };
    assert_eq!(uids(&tree, tree.operator_roots()), [0, 1]);
    let region = event(&tree, 1);
    let children = [2, 3, 5, 6, 7, 8, 9, 35, 36, 37, 114, 116, 38, 39, 40, 41];
    assert_eq!(uids(&tree, tree.children(region)), children);
    assert_eq!(uids(&tree, tree.children(event(&tree, 5))), [42, 44, 46, 48, 50, 52]);
    let device = uids(&tree, &tree.device_events_in_file_order(region));
    assert_eq!((device.len(), device[0], device[1], device.last()), (12, 160, 162, Some(&182)));
}

#[test]
fn a_compiled_region_prints_with_shapes_and_durations() {
    let Some(tree) = tree("pytorch/torch-compile-triton/trace.json.gz", false) else { return };
    let options = PrintOptions { operator_fields: &[OperatorField::InputDims], ..PrintOptions::default() };
    let text = tree.print_subtree(event(&tree, 1), &options).to_string();
    let expected = "\
└── UID: 1, Category: cpu_op, Name: Torch-Compiled Region: 0/0
    ├── UID: 5, Category: cpu_op, Name: triton_red_fused_add_mean_mul_pow_rsqrt_0
    │   |   Input Dims: [[8, 4096, 2048], [2048], [8, 4096, 2048], [], []]
    │   |   \n\
\x20   │   └── UID: 52, Category: cuda_runtime, Name: hipModuleLaunchKernel
    │       └── UID: 160, Category: kernel, Name: triton_red_fused_add_mean_mul_pow_rsqrt_0, Duration: 77.074
";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn a_kernel_finds_the_modules_it_ran_in() {
    let Some(tree) = tree("pytorch/mi300-bert-small/trace.json.gz", true) else { return };
    let options = CallStackOptions { filter: Some(&["nn.Module"]), follow_forward: false };
    let stack = tree.call_stack(event(&tree, 2477), &options);
    assert!(stack[0].contains("vectorized_layer_norm_kernel"), "{stack:?}");
    assert_eq!(
        stack[1..],
        [
            "nn.Module: LayerNorm_0",
            "nn.Module: BertEmbeddings_0",
            "nn.Module: BertModel_0",
            "nn.Module: BertLMHeadModel_0"
        ]
    );
}

#[test]
fn module_times_match_those_computed_in_doubles() {
    let Some(tree) = tree("pytorch/mi300-bert-small/trace.json.gz", true) else { return };
    let times = tree.module_times(event(&tree, 867));
    // Doubles of microseconds since the start of the machine are off by up to half a nanosecond per time.
    for (uid, device_events, microseconds, own) in [
        (867, 61, 390.74853515625, None),
        (876, 57, 352.8271484375, Some(10.78076171875)),
        (967, 48, 323.97119140625, None),
        (1990, 1, 25.537109375, None),
    ] {
        let time = times.iter().find(|time| time.module == event(&tree, uid));
        let time = time.unwrap_or_else(|| panic!("{uid} is not below the model"));
        let tolerance = 0.001 * f64::from(device_events);
        let close = |time: i64, other: f64| (tree.trace().to_microseconds(time) - other).abs() <= tolerance;
        assert_eq!(time.device_events, device_events as usize, "{uid}");
        assert!(close(time.gpu_time, microseconds), "{uid}: {time:?}");
        if let Some(own) = own {
            assert!(time.own_gpu_time.is_some_and(|time| close(time, own)), "{uid}: {time:?}");
        }
    }
}

#[test]
fn backward_operators_find_their_forward_ones() {
    let Some(tree) = tree("pytorch/normalization-layers/trace.json.gz", false) else { return };
    assert_eq!(tree.statistics().backward_links, 51);
    let (backward, forward) = (event(&tree, 149), event(&tree, 812));
    assert_eq!(tree.forward_event(backward), Some(forward));
    assert_eq!(tree.backward_events(forward), [backward]);
    assert_eq!(tree.backward_events_of_subtree(event(&tree, 811)), [backward]);

    let options = PrintOptions { follow_backward_links: true, ..PrintOptions::default() };
    let text = tree.print_subtree(forward, &options).to_string();
    let backward = "    └── [BWD] autograd::engine::evaluate_function: NativeLayerNormBackward0 (UID: 149)
        └── UID: 150, Category: cpu_op, Name: NativeLayerNormBackward0
";
    assert!(text.contains(backward), "{text}");
}

#[test]
fn one_forward_thread_links_backwards_as_numbers_alone_do() {
    let file = "pytorch/normalization-layers/trace.json.gz";
    let Some(by_number) = tree(file, false) else { return };
    let Some(trace) = crate::read(file) else { return };
    let link_backward_by = LinkBackwardBy::ForwardThread;
    let by_thread = TraceTree::build(trace, &TreeOptions { link_backward_by, ..TreeOptions::default() });
    assert_eq!(by_thread.statistics().backward_links, 51);
    for event in by_thread.trace().events().ids() {
        assert_eq!(by_thread.forward_event(event), by_number.forward_event(event));
    }
}

#[test]
fn launchers_are_the_same_with_and_without_python_frames() {
    let file = "pytorch/h100-qwen1.5-0.5b/trace.json.gz";
    let Some(with) = tree(file, true) else { return };
    let with = with.kernel_launchers(|_| true);
    let Some(without) = tree(file, false) else { return };
    assert_eq!(without.kernel_launchers(|_| true), with);
    assert_eq!(with.iter().map(|(_, device)| device.len()).sum::<usize>(), 1198);
}

#[test]
fn numbered_operators_of_sglang_merge() {
    let file = "inference/sglang-qwen3-8b-decode/capture_traces/bs_32_rank0.json.gz";
    let Some(mut tree) = tree(file, false) else { return };
    let name = "sglang_profiler::attention_paged_attention_ragged";
    let numbered = tree.find_by_name(&format!("{name}_100")).to_vec();
    assert_eq!((numbered.len(), tree.find_by_name(name).len()), (36, 0));
    let failures = insert_pseudo_operators(&mut tree);
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(tree.find_by_name(name), numbered);
}

#[test]
fn mixtures_of_experts_without_kernels_get_no_operators() {
    let file = "inference/vllm-prefilldecode-piecewise/capture_traces/\
                graph_capture_rank_0.1773709679453551615.pt.trace.json.gz";
    let Some(mut tree) = tree(file, true) else { return };
    assert_eq!(tree.find_by_name("vllm::moe_forward").len(), 24);
    let events = tree.trace().events().len();
    let failures = insert_pseudo_operators(&mut tree);
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(tree.trace().events().len(), events);
}

/// The recording begins amid the launches: the kernel of correlation 16 was queued before, and an operator that it is not of
/// has the id 16.
#[test]
fn a_kernel_queued_before_the_recording_belongs_to_no_operator() {
    let Some(tree) = tree("field/recordings/mi300x-replay/trace.json.gz", false) else { return };
    let operators = tree.operator_roots();
    let kernels: Vec<EventId> =
        operators.iter().flat_map(|&root| tree.device_events(root)).copied().collect();
    let ns: i64 = kernels.iter().map(|&kernel| tree.trace().events().duration(kernel)).sum();
    assert_eq!((kernels.len(), ns), (20, 21_037_504));
    assert_eq!(tree.unlinked_device_events().len(), 9);
}
