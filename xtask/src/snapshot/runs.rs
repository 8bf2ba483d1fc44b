//! The runs of a snapshot: every command and every option that changes an output, on inputs that show it.

/// A run by the name of its folder. Arguments that begin with `testdata/`, `examples/`, `xtask/` or `corpus/` name
/// inputs, `@files` stands for every output of a report, and quotes hold a word with blanks together.
pub(super) struct Run {
    pub(super) name: String,
    pub(super) arguments: String,
}

/// The same arguments for several inputs, which stand in place of `{}`.
struct Runs {
    name: &'static str,
    inputs: &'static [Input],
    arguments: &'static str,
}

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
    Runs { name: "report", inputs: TRACES, arguments: "report {} @files" },
    Runs {
        name: "report-all-options",
        inputs: TRACES,
        arguments: "report {} @files --enable_kernel_summary --short_kernel_study --include_overlap_info \
                    --include_call_stack --group_by_num_kernels --detect_recompute --enable_pseudo_ops \
                    --include_first_occurrence_time --include_unlinked_kernels --micro_idle_thresh_us 5 \
                    --inference_phase_analysis --roofline_svg roofline.svg --step_svg steps.svg",
    },
    Runs { name: "report-other", inputs: OTHERS, arguments: "report {} @files" },
    Runs { name: "report-beside-input", inputs: OPTIONS, arguments: "report {}" },
    Runs { name: "report-json", inputs: OPTIONS, arguments: "report {} --json" },
    Runs { name: "report-quiet", inputs: OPTIONS, arguments: "report {} --quiet" },
    Runs {
        name: "pytorch-kernel-summary",
        inputs: OPTIONS,
        arguments: "pytorch {} @files --enable_kernel_summary",
    },
    Runs {
        name: "pytorch-short-kernels",
        inputs: OPTIONS,
        arguments: "pytorch {} @files --short_kernel_study --short_kernel_threshold_us 20 \
                    --short_kernel_histogram_bins 7 --topk_short_kernels 5",
    },
    Runs { name: "pytorch-overlap", inputs: OPTIONS, arguments: "pytorch {} @files --include_overlap_info" },
    Runs {
        name: "pytorch-call-stack",
        inputs: OPTIONS,
        arguments: "pytorch {} --output_csvs_dir csv --include_call_stack",
    },
    Runs {
        name: "pytorch-num-kernels",
        inputs: OPTIONS,
        arguments: "pytorch {} --output_csvs_dir csv --group_by_num_kernels",
    },
    Runs { name: "pytorch-recompute", inputs: OPTIONS, arguments: "pytorch {} @files --detect_recompute" },
    Runs {
        name: "pytorch-pseudo-ops",
        inputs: OPTIONS,
        arguments: "pytorch {} --output_csvs_dir csv --enable_pseudo_ops",
    },
    Runs {
        name: "pytorch-first-occurrence",
        inputs: OPTIONS,
        arguments: "pytorch {} --output_csvs_dir csv --include_first_occurrence_time",
    },
    Runs {
        name: "pytorch-unlinked",
        inputs: OPTIONS,
        arguments: "pytorch {} --output_csvs_dir csv --include_unlinked_kernels",
    },
    Runs {
        name: "pytorch-micro-idle",
        inputs: OPTIONS,
        arguments: "pytorch {} @files --micro_idle_thresh_us 10",
    },
    Runs {
        name: "pytorch-top",
        inputs: OPTIONS,
        arguments: "pytorch {} --output_csvs_dir csv --topk_ops 3 --topk_roofline_ops 2",
    },
    Runs {
        name: "pytorch-no-collectives",
        inputs: OPTIONS,
        arguments: "pytorch {} --output_csvs_dir csv --disable_coll_analysis",
    },
    Runs {
        name: "pytorch-communication",
        inputs: OPTIONS,
        arguments: "pytorch {} --output_csvs_dir csv --communication-pattern gemm --communication-pattern \
                    elementwise",
    },
    Runs {
        name: "pytorch-flow",
        inputs: OPTIONS,
        arguments: "pytorch {} --output_csvs_dir csv --link-by flow",
    },
    Runs {
        name: "pytorch-current-names",
        inputs: OPTIONS,
        arguments: "pytorch {} @files --sheet-names current --enable_kernel_summary --short_kernel_study \
                    --include_overlap_info",
    },
    Runs {
        name: "pytorch-extension",
        inputs: OPTIONS,
        arguments: "pytorch {} @files --extension_file xtask/src/snapshot/extension.py",
    },
    Runs {
        name: "pytorch-svg",
        inputs: OPTIONS,
        arguments: "pytorch {} --output_csvs_dir csv --roofline_svg roofline.svg",
    },
    Runs {
        name: "pytorch-one-thread",
        inputs: OPTIONS,
        arguments: "pytorch {} --output_csvs_dir csv --threads 1",
    },
    Runs {
        name: "pytorch-example",
        inputs: SCRIPTS,
        arguments: "pytorch xtask/src/snapshot/layers.json @files --extension_file {}",
    },
    Runs {
        name: "pytorch-stacks",
        inputs: NONE,
        arguments: "pytorch testdata/recorded/cpu/stacks_modules.json.gz --output_csvs_dir csv \
                    --detect_recompute",
    },
    Runs {
        name: "pytorch-architecture",
        inputs: ARCHITECTURES,
        arguments: "pytorch testdata/generated/cuda_training_step.json.gz --output_csvs_dir csv \
                    --gpu_arch_platform {} --roofline_svg roofline.svg",
    },
    Runs {
        name: "pytorch-architecture-file",
        inputs: NONE,
        arguments: "pytorch testdata/generated/cuda_training_step.json.gz --output_csvs_dir csv \
                    --gpu_arch_json_path xtask/src/snapshot/architecture.json",
    },
    Runs { name: "pytorch-xplane", inputs: XLA, arguments: "pytorch {} --output_csvs_dir csv" },
    Runs { name: "inference", inputs: ENGINES, arguments: "inference {} @files" },
    Runs {
        name: "inference-all-options",
        inputs: ENGINES,
        arguments: "inference {} @files --enable_pseudo_ops --group_by_parent_module --group_by_num_kernels \
                    --include_call_stack --enable_kernel_summary --short_kernel_study --include_overlap_info",
    },
    Runs {
        name: "inference-reference",
        inputs: ENGINES,
        arguments: "inference {} --output_csvs_dir csv --enable_pseudo_ops --group_by_parent_module \
                    --group_by_num_kernels --include_call_stack --disable_coll_analysis --sheet-names current \
                    --link-by flow",
    },
    Runs {
        name: "inference-phases",
        inputs: ENGINES,
        arguments: "inference {} @files --inference_phase_analysis --enable_kernel_summary --roofline_svg \
                    roofline.svg --step_svg steps.svg",
    },
    Runs {
        name: "inference-threshold",
        inputs: ENGINES,
        arguments: "inference {} --output_csvs_dir csv --inference_phase_analysis --decode_threshold 2",
    },
    Runs {
        name: "inference-union",
        inputs: ENGINES,
        arguments: "inference {} --output_csvs_dir csv --inference_phase_analysis --phase_legacy \
                    --phase_detection_method union",
    },
    Runs {
        name: "inference-no-captures",
        inputs: TRACES,
        arguments: "inference {} --output_csvs_dir csv --group_by_parent_module",
    },
    Runs {
        name: "inference-method-cuda",
        inputs: METHODS,
        arguments: "inference testdata/generated/cuda_serving.json.gz --output_csvs_dir csv \
                    --inference_phase_analysis --phase_detection_method {}",
    },
    Runs {
        name: "inference-legacy-cuda",
        inputs: METHODS,
        arguments: "inference testdata/generated/cuda_serving.json.gz --output_csvs_dir csv \
                    --inference_phase_analysis --phase_legacy --phase_detection_method {}",
    },
    Runs {
        name: "inference-method-sglang",
        inputs: METHODS,
        arguments: "inference corpus/inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz \
                    --output_csvs_dir csv --inference_phase_analysis --phase_detection_method {}",
    },
    Runs {
        name: "inference-legacy-sglang",
        inputs: METHODS,
        arguments: "inference corpus/inference/sglang-qwen3-8b-decode/sglang_Qwen3-8B_decode.json.gz \
                    --output_csvs_dir csv --inference_phase_analysis --phase_legacy --phase_detection_method \
                    {}",
    },
    Runs { name: "split", inputs: SPLIT, arguments: "split {}" },
    Runs { name: "split-steps", inputs: SPLIT, arguments: "split {} -o steps --store-single-iteration" },
    Runs {
        name: "split-some",
        inputs: SPLIT,
        arguments: "split {} -o steps --store-single-iteration -i 0:2",
    },
    Runs {
        name: "split-steady",
        inputs: SPLIT,
        arguments: "split {} -o steady --find-steady-state --num-steps 4",
    },
    Runs {
        name: "split-parity",
        inputs: SPLIT,
        arguments: "split {} -o steady --find-steady-state --num-steps 4 --parity",
    },
    Runs {
        name: "split-load",
        inputs: SPLIT,
        arguments: "split {} -o steady --find-steady-state --num-steps 4 --CONC 4 --OSL 64 --R 0.5",
    },
    Runs { name: "split-phases", inputs: SPLIT, arguments: "split {} -o phases --divide-phases" },
    Runs { name: "match", inputs: MATCHES, arguments: "match {} -o matched --num-steps 2" },
    Runs {
        name: "match-whole",
        inputs: MATCHES,
        arguments: "match {} -o matched --num-steps 0 --phases decode_only,prefilldecode,prefill_only",
    },
    Runs { name: "match-report", inputs: MATCHES, arguments: "match {} -o matched --no-extract" },
    Runs { name: "jax", inputs: XLA, arguments: "jax {} @files" },
    Runs { name: "jax-parity", inputs: XLA, arguments: "jax {} @files --parity" },
    Runs {
        name: "jax-architecture",
        inputs: XLA,
        arguments: "jax {} @files --gpu_arch_platform MI300X --roofline_svg roofline.svg",
    },
    Runs {
        name: "jax-rebucket",
        inputs: XLA,
        arguments: "jax {} --output_csvs_dir csv --rebucket_copy_kernels",
    },
    Runs {
        name: "jax-filters",
        inputs: XLA,
        arguments: "jax {} --output_csvs_dir csv --kernel_metadata_keyword_filters conv dot",
    },
    Runs {
        name: "jax-communication",
        inputs: XLA,
        arguments: "jax {} @files --communication-pattern Cijk --communication-pattern fusion --gpus_per_node \
                    4",
    },
    Runs { name: "jax-json", inputs: XLA, arguments: "jax {} --json" },
    Runs {
        name: "jax-hosts",
        inputs: NONE,
        arguments: "jax corpus/jax/mi300-conv3d-jax06/trace.xplane.pb=host1.xplane.pb \
                    corpus/jax/mi300-conv3d-jax06/trace.xplane.pb @files --communication-pattern Cijk",
    },
    Runs {
        name: "jax-hosts-tpu",
        inputs: NONE,
        arguments: "jax corpus/jax/tpu-v6e-inference/trace.xplane.pb=host1.xplane.pb \
                    corpus/jax/tpu-v6e-inference/trace.xplane.pb @files",
    },
    Runs { name: "jax-cpu", inputs: NONE, arguments: "jax testdata/recorded/cpu/jax_step.xplane.pb @files" },
    Runs { name: "rocprof", inputs: ROCPROF, arguments: "rocprof {} @files" },
    Runs {
        name: "rocprof-full",
        inputs: ROCPROF,
        arguments: "rocprof {} @files --kernel_details --short_kernel_study --pftrace_tables",
    },
    Runs {
        name: "rocprof-parity",
        inputs: ROCPROF,
        arguments: "rocprof {} --output_csvs_dir csv --kernel_details --short_kernel_study --pftrace_tables \
                    --parity",
    },
    Runs {
        name: "rocprof-short",
        inputs: ROCPROF,
        arguments: "rocprof {} --output_csvs_dir csv --short_kernel_study --short_kernel_threshold_us 40 \
                    --short_kernel_histogram_bins 9 --kernel_details --topk_kernels 7",
    },
    Runs {
        name: "rocprof-no-summary",
        inputs: ROCPROF,
        arguments: "rocprof {} --output_csvs_dir csv --disable_kernel_summary --pftrace_tables \
                    --no_kernel_summary --no_hip_summary",
    },
    Runs {
        name: "rocprof-mangled",
        inputs: ROCPROF,
        arguments: "rocprof {} --output_csvs_dir csv --kernel_names mangled --pftrace_tables",
    },
    Runs {
        name: "rocprof-formatted",
        inputs: ROCPROF,
        arguments: "rocprof {} --output_csvs_dir csv --kernel_names formatted --pftrace_tables",
    },
    Runs {
        name: "rocprof-demangled",
        inputs: ROCPROF,
        arguments: "rocprof {} --output_csvs_dir csv --kernel_names demangled",
    },
    Runs {
        name: "rocprof-merged",
        inputs: ROCPROF,
        arguments: "rocprof {} --output_csvs_dir csv --pftrace_tables --merge_kernels --min_event_ns 0 \
                    --kernel_summary_group name --kernel_summary_baseline compute \
                    --kernel_summary_include_rccl --hip_summary_group name+stream --top_xla 3",
    },
    Runs {
        name: "rocprof-calls",
        inputs: ROCPROF,
        arguments: "rocprof {} --output_csvs_dir csv --pftrace_tables --hip_summary_group name+stream+op \
                    --exclude_kernel_regex '' --allow_multi_kernel_per_api --include_nonlaunch_apis",
    },
    Runs {
        name: "rocprof-threads",
        inputs: ROCPROF,
        arguments: "rocprof {} --output_csvs_dir csv --pftrace_tables --min_tid 1 --max_tid 4300 \
                    --hip_summary_group name+op",
    },
    Runs { name: "metal", inputs: METAL, arguments: "metal {}" },
    Runs { name: "metal-files", inputs: METAL, arguments: "metal {} @files" },
    Runs {
        name: "metal-csv",
        inputs: METAL,
        arguments: "metal {} --csv ops-report.csv --raw-op-codes --summary-file summary.csv --summary-svg \
                    summary.svg",
    },
    Runs {
        name: "metal-compat",
        inputs: METAL,
        arguments: "metal {} --compat --no-color --ignore-signposts",
    },
    Runs {
        name: "metal-compat-csv",
        inputs: METAL,
        arguments: "metal {} --compat --csv ops-report.csv --summary-file summary.csv",
    },
    Runs {
        name: "metal-devices",
        inputs: METAL,
        arguments: "metal {} --ignore-signposts --no-merge-devices --csv ops-report.csv --summary-file \
                    summary.csv --summary-svg summary.svg",
    },
    Runs {
        name: "metal-devices-files",
        inputs: METAL,
        arguments: "metal {} --ignore-signposts --no-merge-devices @files",
    },
    Runs { name: "metal-signposts", inputs: METAL, arguments: "metal {} --list-signposts" },
    Runs {
        name: "metal-rows",
        inputs: METAL,
        arguments: "metal {} --id-range 20-120 --ignore-signposts --print-signposts --no-host-ops --hide-minor \
                    --min-percentage 2 --no-advice",
    },
    Runs {
        name: "metal-figures",
        inputs: METAL,
        arguments: "metal {} --arch blackhole --duration fw --collective-time max --group-by category \
                    --tracing-mode --active-experts 4 --classic-colors --summary-svg summary.svg",
    },
    Runs {
        name: "metal-by-op",
        inputs: METAL,
        arguments: "metal {} --ignore-signposts --collective-time min --group-by op --no-summary \
                    --output_csvs_dir csv",
    },
    Runs { name: "metal-colors", inputs: METAL, arguments: "metal {} --color" },
    Runs { name: "metal-json", inputs: METAL, arguments: "metal {} --json" },
    Runs {
        name: "metal-between",
        inputs: NONE,
        arguments: "metal testdata/generated/metal_ops.csv --start-signpost iteration --occurrence 1 \
                    --end-signpost 'iteration finished'",
    },
    Runs {
        name: "metal-baseline",
        inputs: METAL,
        arguments: "metal {} --baseline testdata/generated/metal_ops.csv @files",
    },
    Runs {
        name: "metal-hosts",
        inputs: NONE,
        arguments: "metal testdata/generated/metal_ops.csv testdata/generated/metal_ops.csv=other.csv @files",
    },
    Runs { name: "tree", inputs: TREES, arguments: "tree {}" },
    Runs { name: "tree-all", inputs: TREES, arguments: "tree {} --all --python-frames --depth 4" },
    Runs {
        name: "tree-name",
        inputs: TREES,
        arguments: "tree {} --name aten::mm --parents --field 'Input Dims'",
    },
    Runs {
        name: "tree-backward",
        inputs: TREES,
        arguments: "tree {} --name aten::linear --backward --depth 6",
    },
    Runs { name: "tree-uid", inputs: TREES, arguments: "tree {} --uid 26 --parents --python-frames" },
    Runs { name: "tree-flow", inputs: TREES, arguments: "tree {} --link-by flow --name aten::copy_" },
    Runs { name: "model", inputs: MODELS, arguments: "model {} --arch H100-SXM" },
    Runs { name: "model-backward", inputs: MODELS, arguments: "model {} --backward" },
    Runs { name: "model-json", inputs: MODELS, arguments: "model {} --json --arch MI300X" },
    Runs { name: "model-list", inputs: NONE, arguments: "model --list" },
    Runs { name: "model-calls", inputs: NONE, arguments: "model --jsonl corpus/perf-models/cases.jsonl" },
    Runs { name: "archs", inputs: NONE, arguments: "archs" },
    Runs { name: "columns", inputs: NONE, arguments: "columns" },
    Runs { name: "columns-unknown", inputs: NONE, arguments: "columns no_such_sheet" },
];

/// Every run, in the order of the lists.
pub(super) fn all() -> Vec<Run> {
    let listed = RUNS.iter().flat_map(|runs| {
        runs.inputs.iter().map(|(input, text)| Run {
            name: if input.is_empty() { runs.name.to_owned() } else { format!("{}.{input}", runs.name) },
            arguments: runs.arguments.replace("{}", text),
        })
    });
    let columns = SHEETS.split_whitespace().map(|sheet| ("columns", sheet, format!("columns {sheet}")));
    let help = COMMANDS.split_whitespace().map(|command| ("help", command, format!("{command} --help")));
    let named =
        columns.chain(help).map(|(of, what, arguments)| Run { name: format!("{of}.{what}"), arguments });
    listed.chain(named).collect()
}
