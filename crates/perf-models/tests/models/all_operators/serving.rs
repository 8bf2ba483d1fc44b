//! Operators of inference engines.

use super::{Group, NONE, PLAIN};

pub(crate) const GROUPS: &[Group] = &[
    Group {
        names: "aiter::rope_cached_positions_2c_fwd_impl",
        shapes: "1,17,8,10 1,17,2,10 1,17,8,10 1,17,2,10",
        types: "half",
        figures: [5100.0, 6800.0, NONE, NONE],
        spec: "vector_fp16",
        parameters: "x_shape y_shape num_elements",
        growing: "0.1 1.1 2.1 3.1",
        ..PLAIN
    },
    Group {
        names: "sgl_kernel::rotary_embedding, _C::rotary_embedding",
        shapes: "17 17,80 17,20 - 99,6",
        types: "long bf16 bf16 none bf16",
        scalars: &[(3, "10")],
        figures: [3060.0, 4080.0, NONE, NONE],
        parameters: "num_elements",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "aiter::fused_qk_rope_cat_and_cache_mla",
        shapes: "17,6,24 17,6,8 17,2,24 17,2,8 99,2,32",
        types: "bf16 bf16 bf16 bf16 fp8",
        figures: [3264.0, 16_320.0, NONE, NONE],
        parameters: "T QH KH D_lora D_pe dtype_in dtype_kv",
        growing: "0.0 1.0 2.0 3.0",
        ..PLAIN
    },
    Group {
        names: "aiter::fused_qk_rope_concat_and_cache_mla",
        shapes: "17,6,24 17,6,8 17,24 17,8 99,1,32 17,6,32",
        types: "bf16 bf16 bf16 bf16 fp8 fp8",
        figures: [2856.0, 11_424.0, NONE, NONE],
        parameters: "T QH KH D_lora D_pe dtype_in dtype_kv dtype_out",
        growing: "0.0 1.0 2.0 3.0 5.0",
        ..PLAIN
    },
    Group {
        names: "pseudo_op::moe_aiter_fused_1stage, vllm::inplace_fused_experts, vllm::outplace_fused_experts, \
                vllm::rocm_aiter_fused_moe, sglang::inplace_fused_experts, sglang::outplace_fused_experts",
        shapes: "7,64 8,48,32 8,64,12 7,2",
        types: "bf16 fp4",
        figures: [130_368.0, 17763.625, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "num_tokens hidden_dim inter_dim num_experts topk gated input_dtype weight_dtype",
        growing: "0.0 3.0",
        ..PLAIN
    },
    Group {
        names: "aiter::fmoe_fp8_blockscale_g1u1, aiter::fmoe_g1u1",
        shapes: "7,64 7,64 8,48,64 8,64,24",
        types: "bf16 fp8 fp8",
        scalars: &[(8, "2")],
        figures: [130_368.0, 33287.25, NONE, NONE],
        spec: "matrix_fp8",
        parameters: "num_tokens hidden_dim inter_dim num_experts topk gated input_dtype weight_dtype output_dtype",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aiter::moe_cktile2stages_gemm1_ck",
        shapes: "7,64 8,48,32 7,2,24",
        types: "bf16 fp4 float",
        figures: [86_016.0, 12887.75, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "num_tokens hidden_dim inter_dim num_experts topk gated input_dtype weight_dtype output_dtype",
        growing: "0.0 2.0",
        ..PLAIN
    },
    Group {
        names: "aiter::moe_cktile2stages_gemm2_ck",
        shapes: "7,2,24 8,64,12 7,64",
        types: "bf16 fp4 float",
        figures: [43_008.0, 7787.875, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "num_tokens hidden_dim inter_dim num_experts topk input_dtype weight_dtype output_dtype",
        growing: "0.0 2.0",
        ..PLAIN
    },
    Group {
        names: "aiter::ck_moe_stage1",
        shapes: "7,64 8,48,32 8,64,12 1 1 1 7,2,24",
        types: "bf16 fp4 fp4",
        figures: [86_016.0, 12215.75, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "num_tokens hidden_dim inter_dim num_experts topk gated input_dtype weight_dtype",
        growing: "0.0 6.0",
        ..PLAIN
    },
    Group {
        names: "aiter::ck_moe_stage2",
        shapes: "7,2,12 8,48,32 8,64,12",
        types: "fp4 fp4 fp4",
        figures: [43_008.0, 5715.875, NONE, NONE],
        spec: "matrix_fp4",
        parameters: "num_tokens hidden_dim inter_dim num_experts topk input_dtype weight_dtype",
        ..PLAIN
    },
    Group {
        names: "pseudo_op::moe_flydsl_stage1",
        shapes: "7,64 8,48,32 8,64,12 7,2",
        types: "bf16 fp4 fp4",
        figures: [86_016.0, 12215.75, NONE, NONE],
        spec: "matrix_fp4",
        parameters: "num_tokens hidden_dim inter_dim num_experts topk gated input_dtype weight_dtype",
        growing: "0.0 3.0",
        ..PLAIN
    },
    Group {
        names: "pseudo_op::moe_flydsl_stage2",
        shapes: "7,64 8,48,32 8,64,12 7,2",
        types: "bf16 fp4 fp4",
        figures: [43_008.0, 6891.875, NONE, NONE],
        spec: "matrix_fp4",
        parameters: "num_tokens hidden_dim inter_dim num_experts topk gated input_dtype weight_dtype",
        growing: "0.0 3.0",
        ..PLAIN
    },
    Group {
        names: "pseudo_op::moe_triton_unfused_up",
        shapes: "7,64 7,8",
        surroundings: &[("MoE topk", "2"), ("MoE GEMM gated", "True"), ("kernel", "_matmul_ogs_mxfp4")],
        figures: [229_376.0, 31_082.0, NONE, NONE],
        spec: "matrix_fp4",
        parameters: "num_tokens hidden_dim inter_dim num_experts topk gated input_dtype weight_dtype",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "pseudo_op::moe_triton_unfused_down",
        shapes: "7,64 7,8",
        surroundings: &[("MoE topk", "2"), ("MoE GEMM gated", "False"), ("kernel", "_matmul_ogs_fp8")],
        figures: [114_688.0, 31_082.0, NONE, NONE],
        spec: "matrix_fp8",
        parameters: "num_tokens hidden_dim inter_dim num_experts topk gated input_dtype weight_dtype",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "pseudo_op::moe_gptq_awq_up",
        shapes: "7,64 8,48,32 8,64,12 7,2",
        types: "bf16 uint8",
        surroundings: &[("MoE topk", "2")],
        figures: [86_016.0, 12215.75, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "num_tokens hidden_dim inter_dim num_experts topk gated input_dtype",
        ..PLAIN
    },
    Group {
        names: "pseudo_op::moe_gptq_awq_down",
        shapes: "7,64 8,48,32 8,64,12 7,2",
        types: "bf16 uint8",
        surroundings: &[("MoE topk", "2")],
        figures: [43_008.0, 6891.875, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "num_tokens hidden_dim inter_dim num_experts topk input_dtype",
        ..PLAIN
    },
    Group {
        names: "sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel",
        shapes: "7,64 8,24,64 - 14,24 - - - - 7,2",
        types: "bf16 fp8 none float none none none none int",
        figures: [43_008.0, 13783.75, NONE, NONE],
        spec: "matrix_fp8",
        parameters: "m_work num_tokens topk N K num_experts input_dtype weight_dtype output_dtype",
        growing: "0.0 3.0 8.0",
        ..PLAIN
    },
    Group {
        names: "aiter::biased_grouped_topk_hip, aiter::moe_sorting_fwd, aiter::mxfp4_moe_sort_hip",
        shapes: "17,6 6 17,2",
        types: "bf16 float int",
        figures: [102.0, 364.0, NONE, NONE],
        parameters: "operands",
        growing: "0.0 2.0",
        ..PLAIN
    },
    Group {
        names: "sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts",
        shapes: "17,6 17,6",
        types: "int half",
        figures: [102.0, 1224.0, NONE, NONE],
        spec: "vector_fp16",
        parameters: "shape_in1 shape_in2 dtype_in1_in2_out stride_input1 stride_input2 stride_output",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aiter::topk_softplus",
        shapes: "17,2 17,2 17,8",
        types: "float int bf16",
        figures: [816.0, 576.0, NONE, NONE],
        parameters: "M n C E topk dtype_in",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "aiter::rms_norm, aiter::rmsnorm2d_fwd_ck",
        shapes: "17,40 40",
        figures: [2754.0, 2800.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        ..PLAIN
    },
    Group {
        names: "aiter::rmsnorm, _C::rms_norm, sgl_kernel::rmsnorm",
        shapes: "17,40 17,40 40",
        types: "float",
        figures: [2754.0, 5600.0, NONE, NONE],
        spec: "vector_fp32",
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aiter::rmsnorm2d_fwd_with_add_ck, aiter::add_rmsnorm",
        shapes: "17,40 17,40 17,40 17,40 40",
        figures: [3434.0, 5520.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        growing: "0.0 1.0 2.0 3.0",
        ..PLAIN
    },
    Group {
        names: "aiter::rmsnorm2d_fwd_with_dynamicquant_ck",
        shapes: "17,40 17,40 17,1 40",
        types: "fp8 bf16 float bf16",
        figures: [4114.0, 2188.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "aiter::rmsnorm_quant",
        shapes: "17,40 17,40 17,3 40",
        types: "fp8 bf16 float bf16",
        scalars: &[(5, "16")],
        figures: [4114.0, 2324.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "vllm::rocm_aiter_rmsnorm_fp8_group_quant",
        shapes: "17,40 40",
        scalars: &[(3, "16")],
        figures: [4114.0, 2324.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        ..PLAIN
    },
    Group {
        names: "vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant",
        shapes: "17,40 17,40 40",
        scalars: &[(4, "16")],
        figures: [4794.0, 5044.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "vllm::rocm_aiter_triton_add_rmsnorm_pad, aiter::fused_add_rmsnorm_pad_",
        shapes: "17,40 40 - 17,40",
        scalars: &[(4, "16")],
        figures: [3434.0, 5792.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        growing: "0.0 3.0",
        ..PLAIN
    },
    Group {
        names: "sglang_profiler::fused_mxfp4_quant_fused_rms_mxfp4_quant, aiter::_fuse_rmsnorm_fp4_quant",
        shapes: "16,64 64 - 16,10 10 - 16,64",
        figures: [7845.0, 7476.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        growing: "0.0 3.0 6.0",
        ..PLAIN
    },
    Group {
        names: "aiter::fused_allreduce_rmsnorm",
        shapes: "1 - 17,40 17,40 17,40 17,40 40",
        figures: [3434.0, 5520.0, NONE, NONE],
        spec: "",
        parameters: "op_shape dtype_in stride_input num_channels",
        growing: "2.0",
        ..PLAIN
    },
    Group {
        names: "aiter::fused_allreduce_rmsnorm_",
        shapes: "17,40 17,40 40",
        figures: [3434.0, 5520.0, NONE, NONE],
        spec: "",
        parameters: "op_shape dtype_in stride_input num_channels",
        ..PLAIN
    },
    Group {
        names: "_C_custom_ar::all_reduce, _C_custom_ar::qr_all_reduce, sgl_kernel::all_reduce_reg, \
                sgl_kernel::qr_all_reduce",
        shapes: "- 17,40 17,40",
        figures: [0.0, 2720.0, NONE, NONE],
        spec: "",
        parameters: "op_shape dtype_in stride_input",
        growing: "1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "aiter::reduce_scatter, aiter::all_gather_reg",
        shapes: "- 17,40 34,40",
        figures: [0.0, 4080.0, NONE, NONE],
        spec: "",
        parameters: "op_shape out_shape dtype_in stride_input",
        growing: "1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "sglang::reg_all_gather_into_tensor",
        shapes: "34,40 17,40",
        figures: [0.0, 4080.0, NONE, NONE],
        spec: "",
        parameters: "out_shape op_shape dtype_in",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aiter::mixed_sample_outer_exponential",
        shapes: "17 17,40 17,40",
        types: "int bf16 float",
        figures: [1360.0, 4148.0, NONE, NONE],
        parameters: "T V dtype_logits dtype_noise",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "aiter::mhc_post",
        shapes: "17,4,10 17,10",
        figures: [6800.0, 4420.0, NONE, NONE],
        parameters: "M n C hc3 dtype_in",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aiter::mhc_pre_gemm_sqrsum",
        shapes: "3,17,24 3,17 17,4,10 24,40",
        types: "float float bf16 float",
        figures: [32_640.0, 10_300.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "M n C hc3 K split_k dtype_in",
        growing: "0.1 1.1 2.0",
        ..PLAIN
    },
    Group {
        names: "aiter::mhc_pre_big_fuse_rmsnorm",
        shapes: "17,4,1 17,4,4 17,10 3,17,24 3,17 3 24 17,4,10",
        types: "float float bf16 float float float float bf16",
        figures: [2210.0, 7976.0, NONE, NONE],
        parameters: "M n C hc3 split_k dtype_in",
        growing: "0.0 1.0 2.0 3.1 4.1 7.0",
        ..PLAIN
    },
    Group {
        names: "aiter::mhc_fused_post_pre_gemm_sqrsum",
        shapes: "3,17,24 3,17 17,4,10 17,10 17,4,10 17,4,1 17,4,4 24,40",
        types: "float float bf16 bf16 bf16 float float float",
        figures: [39_440.0, 14_720.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "M n C hc3 K split_k dtype_in",
        growing: "0.1 1.1 2.0 3.0 4.0 5.0 6.0",
        ..PLAIN
    },
    Group {
        names: "vllm::unified_attention_with_output, aiter::mha_varlen_fwd",
        shapes: "46,6,16 46,2,16 46,2,8",
        types: "bf16 fp8 fp8",
        surroundings: &[("step", "1")],
        figures: [556_800.0, 45_568.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q H_V H_K N_KV H_KV d_h_qk d_h_v dropout causal flash_impl c_sq c_sk c_sqsq c_sqsk g_sq g_sk g_sqsq g_sqsk dtype_Q dtype_KV",
        growing: "",
        ..PLAIN
    },
    Group {
        names: "aiter::fmha_v3_varlen_fwd, aiter::mha_batch_prefill, pseudo_mla_prefill_fwd",
        shapes: "46,6,16 46,2,16 46,2,8",
        types: "bf16 fp8 fp8",
        surroundings: &[("step", "1")],
        figures: [417_600.0, 34_176.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q H_V H_K N_KV H_KV d_h_qk d_h_v dropout causal flash_impl c_sq c_sk c_sqsq c_sqsk g_sq g_sk g_sqsq g_sqsk dtype_Q dtype_KV",
        growing: "",
        ..PLAIN
    },
    Group {
        names: "pseudo_mla_decode_fwd",
        shapes: "46,6,16 99,1,1,16 46,6,12",
        surroundings: &[("step", "1")],
        figures: [487_200.0, 27_936.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q H_V H_K N_KV H_KV d_h_qk d_h_v dropout causal flash_impl c_sq c_sk c_sqsq c_sqsk g_sq g_sk g_sqsq g_sqsk dtype_Q dtype_KV",
        growing: "",
        ..PLAIN
    },
    Group {
        names: "sglang_profiler::tilelang_kernel_tilelang_sparse_fwd",
        shapes: "46,6,576 99,1,576 46,1,64",
        surroundings: &[("step", "1")],
        figures: [18_931_200.0, 1_049_856.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q H_V H_K N_KV H_KV d_h_qk d_h_v dropout causal flash_impl c_sq c_sk c_sqsq c_sqsk g_sq g_sk g_sqsq g_sqsk dtype_Q dtype_KV",
        growing: "",
        ..PLAIN
    },
    Group {
        names: "sglang_profiler::attention_paged_attention_ragged",
        shapes: "46,6,8 9 46,6,16 50,4,2,16 50,4,2,8",
        types: "bf16 uint8 bf16 fp8 fp8",
        surroundings: &[("step", "1")],
        figures: [417_600.0, 50_688.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q H_V H_K N_KV H_KV d_h_qk d_h_v dropout causal flash_impl c_sq c_sk c_sqsq c_sqsk g_sq g_sk g_sqsq g_sqsk dtype_Q",
        growing: "",
        ..PLAIN
    },
    Group {
        names: "aiter::pa_decode_gluon",
        shapes: "46,6,16 46,6,16 50,2,4,16",
        types: "bf16 bf16 fp8",
        scalars: &[(19, "32")],
        surroundings: &[("step", "1")],
        figures: [73_728.0, 14_976.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q H_V H_K N_KV H_KV d_h_qk d_h_v dropout causal flash_impl c_sq c_sk c_sqsq c_sqsk g_sq g_sk g_sqsq g_sqsk dtype_Q dtype_KV sliding_window",
        growing: "",
    },
    Group {
        names: "pseudo_v4_paged_decode_swa",
        shapes: "6,32,512",
        surroundings: &[("v4_tp", "2"), ("v4_model_name", "DeepSeek-V4-Flash"), ("step", "1")],
        figures: [19_660_800.0, 700_416.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q H_V H_K N_KV H_KV d_h_qk d_h_v dropout causal flash_impl c_sq c_sk c_sqsq c_sqsk g_sq g_sk g_sqsq g_sqsk dtype_Q dtype_KV sliding_window",
        growing: "",
        ..PLAIN
    },
    Group {
        names: "pseudo_v4_paged_decode_csa",
        shapes: "6,32,512",
        surroundings: &[("v4_tp", "2"), ("v4_model_name", "DeepSeek-V4-Flash"), ("step", "1")],
        figures: [19_660_800.0, 700_416.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q H_V H_K N_KV H_KV d_h_qk d_h_v dropout causal flash_impl c_sq c_sk c_sqsq c_sqsk g_sq g_sk g_sqsq g_sqsk dtype_Q dtype_KV sliding_window",
        growing: "",
        ..PLAIN
    },
    Group {
        names: "pseudo_v4_paged_decode_hca",
        shapes: "6,32,512",
        surroundings: &[("v4_tp", "2"), ("v4_model_name", "DeepSeek-V4-Flash"), ("step", "1")],
        figures: [19_660_800.0, 700_416.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q H_V H_K N_KV H_KV d_h_qk d_h_v dropout causal flash_impl c_sq c_sk c_sqsq c_sqsk g_sq g_sk g_sqsq g_sqsk dtype_Q dtype_KV sliding_window",
        growing: "",
        ..PLAIN
    },
    Group {
        names: "aiter::pa_sparse_prefill_opus_fwd",
        shapes: "17,6,16 99,1,16 300 - - 40",
        types: "bf16 fp8",
        figures: [130_560.0, 11_968.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q H_V H_K N_KV H_KV d_h_qk d_h_v dropout causal flash_impl prefill_pairs dtype_Q dtype_KV",
        growing: "0.0 2.0 5.0",
        ..PLAIN
    },
    Group {
        names: "vllm::gdn_attention_core, aiter::linear_attention_with_output_base",
        shapes: "50,224 50,8 50,8 50,8,16",
        surroundings: &[("step", "1")],
        figures: [494_592.0, 33_856.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV H_V H_K d_h_qk d_h_v c_sq c_sk c_sqsq c_sqsk g_sq g_sk g_sqsq g_sqsk dtype_Q",
        growing: "",
        ..PLAIN
    },
    Group {
        names: "sglang::store_cache",
        shapes: "17,40 17,40",
        types: "float",
        figures: [0.0, 10_880.0, NONE, NONE],
        spec: "vector_fp32",
        parameters: "op_shape nelems dtype",
        growing: "0.0 1.0",
        ..PLAIN
    },
];
