//! Where the reference is wrong, and ours is not.

use super::conformance::Meant;

/// Differences that are meant. Numbers of faults are those of the pages 01 to 05 of the specification.
pub(crate) const MEANT: &[Meant] = &[
    Meant {
        cases: "xdit-sd-3.5",
        sheets: "CONV_fwd | unified_perf_summary",
        names: "aten::convolution",
        columns: "GFLOPS | Data Moved (MB) | FLOPS/Byte | TFLOPS/s | param: bias | perf_params",
        why: "03-Q2: the reference never counts the bias of a convolution.",
    },
    Meant {
        cases: "xdit-sd-3.5",
        sheets: "Reduce_fwd | unified_perf_summary",
        names: "aten::mean | aten::min",
        columns: "Data Moved (MB) | FLOPS/Byte | TB/s | param: num_ | perf_params",
        why: "03-Q1: the reference does not read which dimensions are reduced and counts one output element, and of \
              the elementwise minimum of two tensors it counts one input.",
    },
    Meant {
        cases: "vllm-prefilldecode-piecewise | xdit-sd-3.5",
        sheets: "UnaryElementwise | unified_perf_summary",
        names: "aten::copy_",
        columns: "Data Moved (MB) | FLOPS/Byte | TB/s",
        why: "03-Q15: the reference has no size for bool and so no bytes.",
    },
    Meant {
        cases: "xdit-sd-3.5",
        sheets: "UnaryElementwise",
        names: "aten::upsample_nearest2d",
        columns: "TB/s_std | TFLOPS/s_std | kernel_details__summarize_kernel_stats | Input \
                  | Concrete Inputs_first | Kernel Time (µs)_s | name_count | UID_first",
        why: "03-Q16: the reference cannot read the overload that calls the other one; here both are calls, and the \
              column nested_count says that one lies in the other.",
    },
    Meant {
        cases: "xdit-sd-3.5",
        sheets: "unified_perf_summary",
        names: "aten::upsample_nearest2d",
        columns: "GFLOPS | Data Moved (MB) | FLOPS/Byte | Compute Spec | TB/s | TFLOPS/s | perf_params",
        why: "03-Q16: as above.",
    },
    Meant {
        cases: "xdit-sd-3.5 | vllm-prefilldecode-piecewise",
        sheets: "unified_perf_summary",
        names: "triton_*",
        columns: "GFLOPS | Data Moved (MB) | FLOPS/Byte | Compute Spec | TB/s | TFLOPS/s \
                  | perf_params | has_perf_model",
        why: "03-Q17: of generated kernels the reference counts float and int tensors as 0 bytes and outputs twice, \
              takes only the last extent of a grid, gives up where one name is unknown to it, and writes \
              vector_bfloat16, which no architecture states a peak for.",
    },
    Meant {
        cases: "xdit-sd-3.5",
        sheets: "unified_perf_summary",
        names: "*",
        columns: "call_stack_full",
        why: "01-Q3: the reference adds start and duration in doubles of 2⁻¹¹ µs, by which a frame ends after the one \
              around it, and drops it from all stacks.",
    },
    Meant {
        cases: "sglang-qwen3-8b-decode | vllm-prefilldecode-piecewise",
        sheets: "unified_perf_summary",
        names: "*(Synthetic Op)",
        columns: "entry_point | call_stack_full",
        why: "05 B9: of device events that no row of an operator accounts for the reference shows the kernel alone; \
              here they have the frames around their launch.",
    },
    Meant {
        cases: "sglang-qwen3-8b-decode | vllm-prefilldecode-piecewise",
        sheets: "unified_perf_summary",
        names: "*",
        columns: "total_duration_us | mean_duration_us | std_duration_us | duration_us_",
        why: "05-Q4: the reference gives every operator of a graph the time of the launch of the whole graph, and sums \
              that up. The host did not run them at all.",
    },
    Meant {
        cases: "sglang-qwen3-8b-decode | vllm-prefilldecode-piecewise",
        sheets: "GEMM | InferenceAttention_fwd | MoE_unfused_fwd | RMSNorm_fwd | RoPE_fwd \
                  | UnaryElementwise | ops_unique_args | unified_perf_summary",
        names: "*",
        columns: "ex_UID | UID_first",
        why: "05 B16: events that were not recorded, calls of a capture and pseudo operators, have indices behind those \
              that were. The reference copies a capture with all its events, and counts rows of single device \
              events there too.",
    },
    Meant {
        cases: "vllm-prefilldecode-piecewise",
        sheets: "ops_summary | ops_unique_args",
        names: "vllm::moe_forward | pseudo_op::moe_triton_unfused_up \
                  | pseudo_op::moe_triton_unfused_down \
                  | pseudo_op::moe_triton_unfused_finalize_matmul_scatter",
        columns: "rows",
        why: "04-Q3: the reference splits fused operators in the unified table and in no other.",
    },
    Meant {
        cases: "vllm-prefilldecode-piecewise",
        sheets: "ops_summary | ops_unique_args",
        names: "aiter::rmsnorm2d_fwd_with_add_ck | aten::addmm | vllm::unified_attention_with_output",
        columns: "Cumulative Percentage (%)",
        why: "04-Q3: rows of the parts come before and after these.",
    },
    Meant {
        cases: "vllm-prefilldecode-piecewise",
        sheets: "ops_summary_by_category",
        names: "",
        columns: "rows | total_direct_kernel_time_ms | Percentage (%) | Cumulative Percentage (%)",
        why: "04-Q3: the reference leaves the time of the parts in the category other.",
    },
    Meant {
        cases: "vllm-prefilldecode-piecewise",
        sheets: "unified_perf_summary",
        names: "pseudo_op::moe_triton_unfused_up | pseudo_op::moe_triton_unfused_down \
                  | pseudo_op::moe_triton_unfused_finalize_matmul_scatter",
        columns: "call_stack_full",
        why: "04-Q3: in the reference the launch is below the pseudo operator and still in the operator that was split, \
              and its stack goes through both.",
    },
];
