//! The runs of a snapshot: every command and every option that changes an output, on inputs that show it.

/// A run by the name of its folder. Arguments that begin with `testdata/`, `examples/`, `xtask/` or `corpus/` name
/// inputs, `@files` stands for every output of a report, and quotes hold a word with blanks together.
pub(super) struct Run {
    pub(super) name: String,
    pub(super) arguments: String,
}

/// A name, inputs, and the arguments that are the same for all of them, which stand in place of `{}`.
type Runs = (&'static str, &'static [Input], &'static str);

/// A name, which is part of the run's, with what stands for it among the arguments.
type Input = (&'static str, &'static str);

/// Kineto traces with device events.
const TRACES: &[Input] = &[
    ("cuda-training", "testdata/generated/cuda_training_step.json.gz"),
    ("rocm-training", "testdata/generated/rocm_training_step.json.gz"),
    ("cuda-serving", "testdata/generated/cuda_serving.json.gz"),
    ("falconsai-vit", "corpus/pytorch/h100-falconsai-vit/trace.json.gz"),
    ("owlv2-large", "corpus/pytorch/h100-owlv2-large/trace.json.gz"),
    ("qwen-h100", "corpus/pytorch/h100-qwen1.5-0.5b/trace.json.gz"),
    ("qwen-mi300", "corpus/pytorch/mi300-qwen1.5-0.5b/trace.json.gz"),
    ("bert-small", "corpus/pytorch/mi300-bert-small/trace.json.gz"),
    ("timesformer", "corpus/pytorch/mi300-timesformer/trace.json.gz"),
    ("gpu-only", "corpus/pytorch/mi210-gpu-only/trace.json.gz"),
    ("normalization", "corpus/pytorch/normalization-layers/trace.json.gz"),
    ("compiled", "corpus/pytorch/torch-compile-triton/trace.json.gz"),
    ("event-sync", "corpus/kineto/cuda-event-sync/trace.json.gz"),
    ("integer-us", "corpus/kineto/integer-us-rank1/trace.json.gz"),
    ("execution-trace", "corpus/kineto/execution-trace/trace.json.gz"),
    ("sglang", "corpus/inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz"),
    ("vllm", "corpus/inference/vllm-prefilldecode-piecewise/graph_execution.json.gz"),
    ("diffusion", "corpus/inference/xdit-sd-3.5/profile_trace_rank_0.json.gz"),
];

/// Inputs that `report` refuses, or knows only a part of.
const OTHERS: &[Input] = &[
    ("cpu-compiled", "testdata/recorded/cpu/compiled_cpp.json.gz"),
    ("cpu-collectives", "testdata/recorded/cpu/gloo_collectives_rank0.json.gz"),
    ("cpu-jax", "testdata/recorded/cpu/jax_step.xplane.pb"),
    ("cupti-range", "corpus/kineto/cupti-range/trace.json.gz"),
    ("mtia", "corpus/kineto/mtia-inference/trace.json.gz"),
    ("pytorch-1.9", "corpus/kineto/pytorch-1.9-resnet50/trace.json.gz"),
    ("et", "corpus/kineto/execution-trace/execution_trace.json.gz"),
    ("nsys", "corpus/nsys/mock/trace.sqlite"),
    ("tpu", "corpus/jax/tpu-v6e-inference/trace.xplane.pb"),
    ("xla", "corpus/jax/mi300-conv3d-jax06/trace.xplane.pb"),
    ("rocprof-json", "testdata/generated/rocprof/run_results.json.gz"),
    ("rocprof-rocpd", "testdata/generated/rocprof/run_results.db"),
    ("rocprof-perfetto", "testdata/generated/rocprof/run_results.pftrace.gz"),
    ("rocprof-csv", "testdata/generated/rocprof/csv/4242_kernel_trace.csv"),
    ("metal", "testdata/generated/metal_ops.csv"),
    ("no-trace", "testdata/generated/README.md"),
];

/// Traces that show what single options do: operators of training, stacks, several streams.
const OPTIONS: &[Input] = &[
    ("cuda-training", "testdata/generated/cuda_training_step.json.gz"),
    ("rocm-training", "testdata/generated/rocm_training_step.json.gz"),
    ("qwen-mi300", "corpus/pytorch/mi300-qwen1.5-0.5b/trace.json.gz"),
    ("compiled", "corpus/pytorch/torch-compile-triton/trace.json.gz"),
];

/// Traces of engines, with the captures of their graphs where there are some.
const ENGINES: &[Input] = &[
    ("made", "xtask/src/snapshot/steps_b.json"),
    ("cuda", "testdata/generated/cuda_serving.json.gz"),
    (
        "sglang",
        "corpus/inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz \
         --capture_folder corpus/inference/sglang-qwen3-8b-decode/capture_traces",
    ),
    (
        "vllm",
        "corpus/inference/vllm-prefilldecode-piecewise/graph_execution.json.gz \
         --capture_folder corpus/inference/vllm-prefilldecode-piecewise/capture_traces",
    ),
    ("diffusion", "corpus/inference/xdit-sd-3.5/profile_trace_rank_0.json.gz"),
];

const XLA: &[Input] = &[
    ("gpu", "corpus/jax/mi300-conv3d-jax06/trace.xplane.pb"),
    ("tpu", "corpus/jax/tpu-v6e-inference/trace.xplane.pb"),
];

const ROCPROF: &[Input] = &[
    ("json", "testdata/generated/rocprof/run_results.json.gz"),
    ("rocpd", "testdata/generated/rocprof/run_results.db"),
    ("perfetto", "testdata/generated/rocprof/run_results.pftrace.gz"),
    ("csv", "testdata/generated/rocprof/csv"),
    ("allreduce", "corpus/rocprof/mi300-allreduce/908_results.json.gz"),
];

const METAL: &[Input] = &[
    ("generated", "testdata/generated/metal_ops.csv"),
    ("bh20", "corpus/metal/bh20_oft_integral_image_trace/ops.csv"),
    ("clip", "corpus/metal/bh_64_clip_encoder_1/ops.csv"),
    ("deepseek", "corpus/metal/bh_8xp150_deepseek_v3_d_p/ops.csv"),
    ("oft", "corpus/metal/ops_perf_results_2025_09_18_11_39_20/ops.csv"),
];

/// Scripts of the examples, on a trace made for them.
const SCRIPTS: &[Input] = &[
    ("attention", "examples/extensions/my_attention.py"),
    ("block", "examples/extensions/my_block.py"),
    ("megatron", "examples/extensions/megatron_te_v2.py"),
];

const ARCHITECTURES: &[Input] = &[("h100", "H100-SXM"), ("mi300x", "MI300X"), ("tpu", "TPU-v6e")];

const METHODS: &[Input] = &[
    ("kernel-names", "kernel_names"),
    ("frequency", "operation_frequency"),
    ("apis", "framework_apis"),
    ("attention", "attention_patterns"),
    ("gemm", "gemm_params"),
];

/// Traces that are split into steps.
const SPLIT: &[Input] = &[
    ("made", "xtask/src/snapshot/steps_a.json"),
    ("cuda", "testdata/generated/cuda_serving.json.gz"),
    ("sglang", "corpus/inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz"),
    ("vllm", "corpus/inference/vllm-prefilldecode-piecewise/graph_execution.json.gz"),
];

/// Pairs of traces whose steps are matched.
const MATCHES: &[Input] = &[
    ("made", "xtask/src/snapshot/steps_a.json xtask/src/snapshot/steps_b.json"),
    ("itself", "testdata/generated/cuda_serving.json.gz testdata/generated/cuda_serving.json.gz=b.json.gz"),
    (
        "engines",
        "testdata/generated/cuda_serving.json.gz \
         corpus/inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz",
    ),
];

/// Traces whose trees are printed.
const TREES: &[Input] = &[
    ("cuda", "testdata/generated/cuda_training_step.json.gz"),
    ("rocm", "testdata/generated/rocm_training_step.json.gz"),
    ("stacks", "testdata/recorded/cpu/stacks_modules.json.gz"),
    ("compiled", "corpus/pytorch/torch-compile-triton/trace.json.gz"),
    ("xla", "corpus/jax/mi300-conv3d-jax06/trace.xplane.pb"),
];

/// Operations of which figures are asked by hand.
const MODELS: &[Input] = &[
    ("gemm", "gemm --m 8192 --n 1024 --k 512 --batch 3 --bias"),
    ("gemm-fp8", "gemm --m 128 --n 128 --k 64 --dtype fp8"),
    ("grouped", "grouped-gemm --m 4096 --n 1024 --k 512 --groups 8"),
    ("sdpa", "sdpa --batch 2 --heads 64 --kv-heads 8 --q-len 4096 --head-dim 128 --causal"),
    ("sdpa-cross", "sdpa --heads 16 --q-len 1 --kv-len 512 --head-dim 128 --v-head-dim 64 --dtype fp16"),
    ("conv", "conv --input 8,64,56,56 --filter 128,32,3,3 --stride 2 --padding 1 --groups 2 --bias"),
    (
        "conv-transposed",
        "conv --input 8,64,28,28 --filter 64,32,4,4 --stride 2 --padding 1 --transposed --output-padding 1",
    ),
    ("unary", "unary --shape 1024,4096 --output-dtype fp32"),
    ("binary", "binary --shape 1024,4096 --other-shape 4096"),
    ("norm", "norm --shape 1024,4096 --bias"),
    ("rms-norm", "norm --shape 1024,4096 --rms --inference --no-weight"),
    ("reduce", "reduce --shape 1024,4096 --dim 1 --kind mean"),
    ("rope", "rope --tokens 4096 --heads 32 --kv-heads 8 --rope-dim 128"),
    ("cross-entropy", "cross-entropy --tokens 4096 --classes 32000"),
    ("causal-conv1d", "causal-conv1d --channels 1024 --seq-len 2048 --bias"),
];

/// Commands whose help is kept.
const COMMANDS: &str = "report pytorch inference jax rocprof metal tree split match model archs columns";

/// For runs that stand alone.
const NONE: &[Input] = &[("", "")];

/// The sheets that `columns` explains one by one.
const SHEETS: &str = "\
    gpu_timeline gpu_timeline_per_device ops_summary_by_category ops_summary ops_all ops_all_kl_overlap \
    unified_perf_summary unified_perf_summary_kl_overlap coverage roofline roofline_points GEMM \
    GEMM_kl_overlap SDPA_fwd SDPA_bwd SDPA_fwd_kl_overlap SDPA_bwd_kl_overlap CONV_fwd CONV_bwd \
    CONV_fwd_kl_overlap CONV_bwd_kl_overlap InferenceAttention_fwd InferenceAttention_bwd \
    InferenceAttention_fwd_kl_overlap InferenceAttention_bwd_kl_overlap BinaryElementwise \
    BinaryElementwise_kl_overlap GroupedGEMM_fwd GroupedGEMM_bwd GroupedGEMM_fwd_kl_overlap \
    GroupedGEMM_bwd_kl_overlap MoE_comm_fwd MoE_comm_bwd MoE_comm_fwd_kl_overlap MoE_comm_bwd_kl_overlap \
    SSM_fwd SSM_bwd SSM_fwd_kl_overlap SSM_bwd_kl_overlap RoPE_fwd RoPE_bwd RoPE_fwd_kl_overlap \
    RoPE_bwd_kl_overlap CrossEntropy_fwd CrossEntropy_bwd CrossEntropy_fwd_kl_overlap \
    CrossEntropy_bwd_kl_overlap UnaryElementwise UnaryElementwise_kl_overlap MoE_fused_fwd MoE_fused_bwd \
    MoE_fused_fwd_kl_overlap MoE_fused_bwd_kl_overlap MoE_unfused_fwd MoE_unfused_bwd \
    MoE_unfused_fwd_kl_overlap MoE_unfused_bwd_kl_overlap MoE_aux_fwd MoE_aux_bwd MoE_aux_fwd_kl_overlap \
    MoE_aux_bwd_kl_overlap RMSNorm_fwd RMSNorm_bwd RMSNorm_fwd_kl_overlap RMSNorm_bwd_kl_overlap \
    elementwise_fwd elementwise_bwd elementwise_fwd_kl_overlap elementwise_bwd_kl_overlap GroupQuant_fwd \
    GroupQuant_bwd GroupQuant_fwd_kl_overlap GroupQuant_bwd_kl_overlap FusedRoPE_fwd FusedRoPE_bwd \
    FusedRoPE_fwd_kl_overlap FusedRoPE_bwd_kl_overlap CustomCollective_fwd CustomCollective_bwd \
    CustomCollective_fwd_kl_overlap CustomCollective_bwd_kl_overlap mHC_fwd mHC_bwd mHC_fwd_kl_overlap \
    mHC_bwd_kl_overlap Normalization_fwd Normalization_fwd_kl_overlap Normalization Normalization_kl_overlap \
    Reduce_fwd Reduce_bwd Reduce_fwd_kl_overlap Reduce_bwd_kl_overlap kernel_summary short_kernels_histogram \
    short_kernels_all_details coll_analysis phase_summary step_summary ops_summary_prefill ops_summary_decode \
    ops_summary_mixed ops_summary_unknown kernel_summary_prefill kernel_summary_decode kernel_summary_mixed \
    kernel_summary_unknown gpu_events_averages gpu_events_averages_overlap steps_summary steps op_gemm \
    op_fa_bwd op_fa_fwd op_fa_v3 op_conv op_te op_communication_rccl_nccl op_xla kernel_launchers \
    kernel_launchers_summary kernel_launchers_summary_by_category kernel_launchers_unique_args df_xla_perf \
    xla_summary gpu_events_categorized_mean xla_grouped gemms gemms_detailed overview hlo_stats roofline_model \
    op_profile framework_op_stats module_runs tpu_collectives async_copies host_offload collective_types \
    collectives collective_slices collective_buffers collective_buffer_sizes collective_bw_ranges source_lines \
    name_scopes rematerialization launch_latency kernel_launch_geometry copy_bandwidth memory_allocators \
    memory_timeline kernel_summary_by_category kernel_details short_kernels_summary short_kernel_histogram \
    gpu_timeline_by_agent api_summary api_kernel_latency memory_copy_bandwidth memory_allocations \
    marker_ranges kernel_launch_shapes kernel_counters kernel_counter_metrics category_summary xla_top \
    pftrace_kernel_summary hip_summary api_kernel_summary memory_copy_by_copy_bytes ops summary advice devices \
    imbalance baseline";

const RUNS: &[Runs] = &[
    ("report", TRACES, "report {} @files"),
    (
        "report-all-options",
        TRACES,
        "report {} @files --enable_kernel_summary --short_kernel_study --include_overlap_info \
                    --include_call_stack --group_by_num_kernels --detect_recompute --enable_pseudo_ops \
                    --include_first_occurrence_time --include_unlinked_kernels --micro_idle_thresh_us 5 \
                    --inference_phase_analysis --roofline_svg roofline.svg --step_svg steps.svg",
    ),
    ("report-other", OTHERS, "report {} @files"),
    ("report-beside-input", OPTIONS, "report {}"),
    ("report-json", OPTIONS, "report {} --json"),
    ("report-quiet", OPTIONS, "report {} --quiet"),
    ("pytorch-kernel-summary", OPTIONS, "pytorch {} @files --enable_kernel_summary"),
    (
        "pytorch-short-kernels",
        OPTIONS,
        "pytorch {} @files --short_kernel_study --short_kernel_threshold_us 20 \
                    --short_kernel_histogram_bins 7 --topk_short_kernels 5",
    ),
    ("pytorch-overlap", OPTIONS, "pytorch {} @files --include_overlap_info"),
    ("pytorch-call-stack", OPTIONS, "pytorch {} --output_csvs_dir csv --include_call_stack"),
    ("pytorch-num-kernels", OPTIONS, "pytorch {} --output_csvs_dir csv --group_by_num_kernels"),
    ("pytorch-recompute", OPTIONS, "pytorch {} @files --detect_recompute"),
    ("pytorch-pseudo-ops", OPTIONS, "pytorch {} --output_csvs_dir csv --enable_pseudo_ops"),
    ("pytorch-first-occurrence", OPTIONS, "pytorch {} --output_csvs_dir csv --include_first_occurrence_time"),
    ("pytorch-unlinked", OPTIONS, "pytorch {} --output_csvs_dir csv --include_unlinked_kernels"),
    ("pytorch-micro-idle", OPTIONS, "pytorch {} @files --micro_idle_thresh_us 10"),
    ("pytorch-top", OPTIONS, "pytorch {} --output_csvs_dir csv --topk_ops 3 --topk_roofline_ops 2"),
    ("pytorch-no-collectives", OPTIONS, "pytorch {} --output_csvs_dir csv --disable_coll_analysis"),
    (
        "pytorch-communication",
        OPTIONS,
        "pytorch {} --output_csvs_dir csv --communication-pattern gemm --communication-pattern \
                    elementwise",
    ),
    ("pytorch-flow", OPTIONS, "pytorch {} --output_csvs_dir csv --link-by flow"),
    (
        "pytorch-current-names",
        OPTIONS,
        "pytorch {} @files --sheet-names current --enable_kernel_summary --short_kernel_study \
                    --include_overlap_info",
    ),
    ("pytorch-extension", OPTIONS, "pytorch {} @files --extension_file xtask/src/snapshot/extension.py"),
    ("pytorch-svg", OPTIONS, "pytorch {} --output_csvs_dir csv --roofline_svg roofline.svg"),
    ("pytorch-one-thread", OPTIONS, "pytorch {} --output_csvs_dir csv --threads 1"),
    ("pytorch-example", SCRIPTS, "pytorch xtask/src/snapshot/layers.json @files --extension_file {}"),
    (
        "pytorch-stacks",
        NONE,
        "pytorch testdata/recorded/cpu/stacks_modules.json.gz --output_csvs_dir csv \
                    --detect_recompute",
    ),
    (
        "pytorch-architecture",
        ARCHITECTURES,
        "pytorch testdata/generated/cuda_training_step.json.gz --output_csvs_dir csv \
                    --gpu_arch_platform {} --roofline_svg roofline.svg",
    ),
    (
        "pytorch-architecture-file",
        NONE,
        "pytorch testdata/generated/cuda_training_step.json.gz --output_csvs_dir csv \
                    --gpu_arch_json_path xtask/src/snapshot/architecture.json",
    ),
    ("pytorch-xplane", XLA, "pytorch {} --output_csvs_dir csv"),
    ("inference", ENGINES, "inference {} @files"),
    (
        "inference-all-options",
        ENGINES,
        "inference {} @files --enable_pseudo_ops --group_by_parent_module --group_by_num_kernels \
                    --include_call_stack --enable_kernel_summary --short_kernel_study --include_overlap_info",
    ),
    (
        "inference-reference",
        ENGINES,
        "inference {} --output_csvs_dir csv --enable_pseudo_ops --group_by_parent_module \
                    --group_by_num_kernels --include_call_stack --disable_coll_analysis --sheet-names current \
                    --link-by flow",
    ),
    (
        "inference-phases",
        ENGINES,
        "inference {} @files --inference_phase_analysis --enable_kernel_summary --roofline_svg \
                    roofline.svg --step_svg steps.svg",
    ),
    (
        "inference-threshold",
        ENGINES,
        "inference {} --output_csvs_dir csv --inference_phase_analysis --decode_threshold 2",
    ),
    (
        "inference-union",
        ENGINES,
        "inference {} --output_csvs_dir csv --inference_phase_analysis --phase_legacy \
                    --phase_detection_method union",
    ),
    ("inference-no-captures", TRACES, "inference {} --output_csvs_dir csv --group_by_parent_module"),
    (
        "inference-method-cuda",
        METHODS,
        "inference testdata/generated/cuda_serving.json.gz --output_csvs_dir csv \
                    --inference_phase_analysis --phase_detection_method {}",
    ),
    (
        "inference-legacy-cuda",
        METHODS,
        "inference testdata/generated/cuda_serving.json.gz --output_csvs_dir csv \
                    --inference_phase_analysis --phase_legacy --phase_detection_method {}",
    ),
    (
        "inference-method-sglang",
        METHODS,
        "inference corpus/inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz \
                    --output_csvs_dir csv --inference_phase_analysis --phase_detection_method {}",
    ),
    (
        "inference-legacy-sglang",
        METHODS,
        "inference corpus/inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz \
                    --output_csvs_dir csv --inference_phase_analysis --phase_legacy --phase_detection_method \
                    {}",
    ),
    ("split", SPLIT, "split {}"),
    ("split-steps", SPLIT, "split {} -o steps --store-single-iteration"),
    ("split-some", SPLIT, "split {} -o steps --store-single-iteration -i 0:2"),
    ("split-steady", SPLIT, "split {} -o steady --find-steady-state --num-steps 4"),
    ("split-parity", SPLIT, "split {} -o steady --find-steady-state --num-steps 4 --parity"),
    ("split-load", SPLIT, "split {} -o steady --find-steady-state --num-steps 4 --CONC 4 --OSL 64 --R 0.5"),
    ("split-phases", SPLIT, "split {} -o phases --divide-phases"),
    ("match", MATCHES, "match {} -o matched --num-steps 2"),
    (
        "match-whole",
        MATCHES,
        "match {} -o matched --num-steps 0 --phases decode_only,prefilldecode,prefill_only",
    ),
    ("match-report", MATCHES, "match {} -o matched --no-extract"),
    ("jax", XLA, "jax {} @files"),
    ("jax-parity", XLA, "jax {} @files --parity"),
    ("jax-architecture", XLA, "jax {} @files --gpu_arch_platform MI300X --roofline_svg roofline.svg"),
    ("jax-rebucket", XLA, "jax {} --output_csvs_dir csv --rebucket_copy_kernels"),
    ("jax-filters", XLA, "jax {} --output_csvs_dir csv --kernel_metadata_keyword_filters conv dot"),
    (
        "jax-communication",
        XLA,
        "jax {} @files --communication-pattern Cijk --communication-pattern fusion --gpus_per_node \
                    4",
    ),
    ("jax-json", XLA, "jax {} --json"),
    (
        "jax-hosts",
        NONE,
        "jax corpus/jax/mi300-conv3d-jax06/trace.xplane.pb=host1.xplane.pb \
                    corpus/jax/mi300-conv3d-jax06/trace.xplane.pb @files --communication-pattern Cijk",
    ),
    (
        "jax-hosts-tpu",
        NONE,
        "jax corpus/jax/tpu-v6e-inference/trace.xplane.pb=host1.xplane.pb \
                    corpus/jax/tpu-v6e-inference/trace.xplane.pb @files",
    ),
    ("jax-cpu", NONE, "jax testdata/recorded/cpu/jax_step.xplane.pb @files"),
    ("rocprof", ROCPROF, "rocprof {} @files"),
    ("rocprof-full", ROCPROF, "rocprof {} @files --kernel_details --short_kernel_study --pftrace_tables"),
    (
        "rocprof-parity",
        ROCPROF,
        "rocprof {} --output_csvs_dir csv --kernel_details --short_kernel_study --pftrace_tables \
                    --parity",
    ),
    (
        "rocprof-short",
        ROCPROF,
        "rocprof {} --output_csvs_dir csv --short_kernel_study --short_kernel_threshold_us 40 \
                    --short_kernel_histogram_bins 9 --kernel_details --topk_kernels 7",
    ),
    (
        "rocprof-no-summary",
        ROCPROF,
        "rocprof {} --output_csvs_dir csv --disable_kernel_summary --pftrace_tables \
                    --no_kernel_summary --no_hip_summary",
    ),
    ("rocprof-mangled", ROCPROF, "rocprof {} --output_csvs_dir csv --kernel_names mangled --pftrace_tables"),
    (
        "rocprof-formatted",
        ROCPROF,
        "rocprof {} --output_csvs_dir csv --kernel_names formatted --pftrace_tables",
    ),
    ("rocprof-demangled", ROCPROF, "rocprof {} --output_csvs_dir csv --kernel_names demangled"),
    (
        "rocprof-merged",
        ROCPROF,
        "rocprof {} --output_csvs_dir csv --pftrace_tables --merge_kernels --min_event_ns 0 \
                    --kernel_summary_group name --kernel_summary_baseline compute \
                    --kernel_summary_include_rccl --hip_summary_group name+stream --top_xla 3",
    ),
    (
        "rocprof-calls",
        ROCPROF,
        "rocprof {} --output_csvs_dir csv --pftrace_tables --hip_summary_group name+stream+op \
                    --exclude_kernel_regex '' --allow_multi_kernel_per_api --include_nonlaunch_apis",
    ),
    (
        "rocprof-threads",
        ROCPROF,
        "rocprof {} --output_csvs_dir csv --pftrace_tables --min_tid 1 --max_tid 4300 \
                    --hip_summary_group name+op",
    ),
    ("metal", METAL, "metal {}"),
    ("metal-files", METAL, "metal {} @files"),
    (
        "metal-csv",
        METAL,
        "metal {} --csv ops-report.csv --raw-op-codes --summary-file summary.csv --summary-svg \
                    summary.svg",
    ),
    ("metal-compat", METAL, "metal {} --compat --no-color --ignore-signposts"),
    ("metal-compat-csv", METAL, "metal {} --compat --csv ops-report.csv --summary-file summary.csv"),
    (
        "metal-devices",
        METAL,
        "metal {} --ignore-signposts --no-merge-devices --csv ops-report.csv --summary-file \
                    summary.csv --summary-svg summary.svg",
    ),
    ("metal-devices-files", METAL, "metal {} --ignore-signposts --no-merge-devices @files"),
    ("metal-signposts", METAL, "metal {} --list-signposts"),
    (
        "metal-rows",
        METAL,
        "metal {} --id-range 20-120 --ignore-signposts --print-signposts --no-host-ops --hide-minor \
                    --min-percentage 2 --no-advice",
    ),
    (
        "metal-figures",
        METAL,
        "metal {} --arch blackhole --duration fw --collective-time max --group-by category \
                    --tracing-mode --active-experts 4 --classic-colors --summary-svg summary.svg",
    ),
    (
        "metal-by-op",
        METAL,
        "metal {} --ignore-signposts --collective-time min --group-by op --no-summary \
                    --output_csvs_dir csv",
    ),
    ("metal-colors", METAL, "metal {} --color"),
    ("metal-json", METAL, "metal {} --json"),
    (
        "metal-between",
        NONE,
        "metal testdata/generated/metal_ops.csv --start-signpost iteration --occurrence 1 \
                    --end-signpost 'iteration finished'",
    ),
    ("metal-baseline", METAL, "metal {} --baseline testdata/generated/metal_ops.csv @files"),
    (
        "metal-hosts",
        NONE,
        "metal testdata/generated/metal_ops.csv testdata/generated/metal_ops.csv=other.csv @files",
    ),
    ("tree", TREES, "tree {}"),
    ("tree-all", TREES, "tree {} --all --python-frames --depth 4"),
    ("tree-name", TREES, "tree {} --name aten::mm --parents --field 'Input Dims'"),
    ("tree-backward", TREES, "tree {} --name aten::linear --backward --depth 6"),
    ("tree-uid", TREES, "tree {} --uid 26 --parents --python-frames"),
    ("tree-flow", TREES, "tree {} --link-by flow --name aten::copy_"),
    ("model", MODELS, "model {} --arch H100-SXM"),
    ("model-backward", MODELS, "model {} --backward"),
    ("model-json", MODELS, "model {} --json --arch MI300X"),
    ("model-list", NONE, "model --list"),
    ("model-calls", NONE, "model --jsonl corpus/perf-models/cases.jsonl"),
    ("archs", NONE, "archs"),
    ("columns", NONE, "columns"),
    ("columns-unknown", NONE, "columns no_such_sheet"),
];

/// Every run, in the order of the lists.
pub(super) fn all() -> Vec<Run> {
    let listed = RUNS.iter().flat_map(|(name, inputs, arguments)| {
        inputs.iter().map(move |(input, text)| Run {
            name: if input.is_empty() { (*name).to_owned() } else { format!("{name}.{input}") },
            arguments: arguments.replace("{}", text),
        })
    });
    let columns = SHEETS.split_whitespace().map(|sheet| ("columns", sheet, format!("columns {sheet}")));
    let help = COMMANDS.split_whitespace().map(|command| ("help", command, format!("{command} --help")));
    let named =
        columns.chain(help).map(|(of, what, arguments)| Run { name: format!("{of}.{what}"), arguments });
    listed.chain(named).collect()
}
