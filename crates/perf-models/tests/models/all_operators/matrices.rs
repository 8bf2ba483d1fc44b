//! Matrix multiplication, attention and convolution.

use super::{Group, NONE, PLAIN};

pub(crate) const GROUPS: &[Group] = &[
    Group {
        names: "aten::mm",
        shapes: "17,32 32,5",
        figures: [5440.0, 1578.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "M N K bias stride_A stride_B dtype_A_B B",
        ..PLAIN
    },
    Group {
        names: "aten::addmm",
        shapes: "5 17,32 32,5",
        types: "half",
        figures: [5525.0, 1588.0, NONE, NONE],
        spec: "matrix_fp16",
        parameters: "M N K bias stride_A stride_B dtype_A_B B",
        growing: "1.0",
        ..PLAIN
    },
    Group {
        names: "aten::_scaled_mm, trtllm::cublas_scaled_mm",
        shapes: "17,32 32,5",
        types: "fp8",
        figures: [5440.0, 874.0, NONE, NONE],
        spec: "matrix_fp8",
        parameters: "M N K bias stride_A stride_B dtype_A_B B",
        ..PLAIN
    },
    Group {
        names: "bitsandbytes::int8_linear_matmul, aten::_int_mm",
        shapes: "17,32 32,5",
        types: "int8",
        figures: [5440.0, 1044.0, NONE, NONE],
        spec: "matrix_int8",
        parameters: "M N K bias stride_A stride_B dtype_A_B B",
        ..PLAIN
    },
    Group {
        names: "aten::bmm",
        shapes: "3,17,32 3,32,5",
        figures: [16_320.0, 4734.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "B M N K bias stride_A stride_B dtype_A_B",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aten::baddbmm",
        shapes: "3,17,5 3,17,32 3,32,5",
        types: "float",
        figures: [16_575.0, 9528.0, NONE, NONE],
        spec: "matrix_fp32",
        parameters: "B M N K bias stride_A stride_B dtype_A_B",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "tex_ts::te_gemm_ts",
        shapes: "17,32 - - - - 5,32 - - - - 17,5 - - - 5 - - - -",
        types: "fp8 none none none none fp8 none none none none bf16 none none none bf16 none none none bf16",
        scalars: &[(4, "1"), (9, "0"), (14, "yes")],
        figures: [5525.0, 884.0, NONE, NONE],
        spec: "matrix_fp8",
        parameters: "M N K bias stride_A stride_B dtype_A_B B",
        growing: "0.0 10.0",
        ..PLAIN
    },
    Group {
        names: "_Linear_yfwd_mm, _LinearBackward_xgrad_mm, _LinearBackward_wgrad_mm, \
                _LayerNormLinear_yfwd_mm, _LayerNormLinearBackward_xgrad_mm, _LayerNormLinearBackward_wgrad_mm",
        shapes: "17,32 32,5",
        types: "fp8",
        figures: [5440.0, 874.0, NONE, NONE],
        spec: "matrix_fp8",
        parameters: "M N K bias stride_A stride_B dtype_A_B B",
        ..PLAIN
    },
    Group {
        names: "vllm::gemm_with_dynamic_quant",
        shapes: "17,32 5,16",
        types: "bf16 uint8",
        figures: [5440.0, 1578.0, 10_880.0, NONE],
        spec: "matrix_bf16",
        parameters: "M N K bias stride_A stride_B dtype_A_B B",
        ..PLAIN
    },
    Group {
        names: "primus_turbo_cpp_extension::hipblaslt_gemm_fp8, primus_turbo::hipblaslt_gemm_fp8",
        shapes: "32,17 - 5,32 -",
        types: "fp8 float fp8 float",
        scalars: &[(5, "True"), (6, "1"), (7, "")],
        figures: [5440.0, 874.0, NONE, NONE],
        spec: "matrix_fp8",
        parameters: "M N K bias stride_A stride_B dtype_A_B dtype_scaleA dtype_scaleB B",
        growing: "0.1",
        ..PLAIN
    },
    Group {
        names: "primus_turbo_cpp_extension::hipblaslt_gemm_fp4, primus_turbo::hipblaslt_gemm_fp4",
        shapes: "17,40 17,3 5,40 5,3",
        types: "fp4 e8m0 fp4 e8m0",
        scalars: &[(5, "False"), (6, "True"), (7, "False")],
        figures: [13_600.0, 1116.0, NONE, NONE],
        spec: "matrix_fp4",
        parameters: "M N K bias stride_A stride_B dtype_A_B dtype_scaleA dtype_scaleB B",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aiter::gemm_a4w4, aiter::_gemm_a4w4_asm",
        shapes: "17,40 5,40 17,3 5,3",
        types: "fp4 fp4 e8m0 e8m0",
        figures: [13_600.0, 1116.0, 27_200.0, NONE],
        spec: "matrix_fp4",
        parameters: "M N K bias stride_A stride_B dtype_A_B dtype_scaleA dtype_scaleB B",
        growing: "0.0 2.0",
        ..PLAIN
    },
    Group {
        names: "sglang_profiler::fp8_utils_gemm_a8w8_blockscale, \
                sglang_profiler::gemm_a8w8_blockscale_gemm_a8w8_blockscale, \
                vllm::rocm_aiter_triton_gemm_a8w8_blockscale, aiter::gemm_a8w8_blockscale_ck, \
                aiter::gemm_a8w8_blockscale_cktile, aiter::gemm_a8w8_blockscale_bpreshuffle_ck, \
                aiter::gemm_a8w8_blockscale_bpreshuffle_cktile, aiter::flatmm_a8w8_blockscale_asm, \
                aiter::gfx950_a8w8_blockscale_asm, aiter::gemm_a8w8_ck, aiter::gemm_a8w8_bpreshuffle_ck, \
                aiter::gemm_a8w8_bpreshuffle, vllm::_rocm_aiter_preshuffled_per_token_w8a8_gemm, \
                aiter::_gemm_a8w8_blockscale_bpreshuffle_asm",
        shapes: "17,256 384,256 17,2 3,2",
        types: "fp8 fp8 float",
        figures: [3_342_336.0, 115_712.0, 6_684_672.0, NONE],
        spec: "matrix_fp8",
        parameters: "B M N K bias dtype_A_B quant_scheme quant_granularity block_k block_n scale_dtype output_shape output_dtype",
        growing: "0.0 2.0",
        ..PLAIN
    },
    Group {
        names: "vllm::rocm_unquantized_gemm",
        shapes: "17,32 5,32 5",
        figures: [5525.0, 1588.0, 10_965.0, NONE],
        spec: "matrix_bf16",
        parameters: "M N K bias dtype_A_B B",
        ..PLAIN
    },
    Group {
        names: "aiter::gemm_a16w16",
        shapes: "17,32 5,32 5",
        figures: [5525.0, 1588.0, 10_965.0, NONE],
        spec: "matrix_bf16",
        parameters: "B M N K bias dtype_A_B",
        ..PLAIN
    },
    Group {
        names: "aiter::gemm_a16w16_atomic_, sglang_profiler::gemm_kernels_flydsl_hgemm",
        shapes: "17,32 5,32 - 17,5",
        types: "bf16 bf16 none float",
        figures: [5440.0, 1748.0, 10_880.0, NONE],
        spec: "matrix_bf16",
        parameters: "B M N K bias dtype_A_B",
        growing: "0.0 3.0",
        ..PLAIN
    },
    Group {
        names: "aiter::_gemm_a16w16_asm",
        shapes: "17,32 5,32 17,5",
        types: "bf16 bf16 float",
        figures: [5440.0, 1748.0, 10_880.0, NONE],
        spec: "matrix_bf16",
        parameters: "B M N K bias dtype_A_B",
        growing: "0.0 2.0",
        ..PLAIN
    },
    Group {
        names: "aiter::gemm_afp4wfp4_",
        shapes: "17,32 5,32",
        types: "uint8",
        figures: [10_880.0, 874.0, 21_760.0, NONE],
        spec: "matrix_fp4",
        parameters: "B M N K bias dtype_A_B",
        ..PLAIN
    },
    Group {
        names: "aiter::batched_gemm_a16wfp4_",
        shapes: "3,17,32 3,5,16",
        types: "bf16 uint8",
        figures: [16_320.0, 4014.0, 32_640.0, NONE],
        spec: "matrix_fp4",
        parameters: "B M N K bias dtype_A_B",
        growing: "0.1",
        ..PLAIN
    },
    Group {
        names: "sglang_profiler::batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant_batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant",
        shapes: "17,3,32 3,5,32",
        types: "bf16 fp8",
        figures: [16_320.0, 4254.0, 32_640.0, NONE],
        spec: "matrix_fp8",
        parameters: "B M N K bias dtype_A_B",
        ..PLAIN
    },
    Group {
        names: "primus_turbo::grouped_gemm, primus_turbo::grouped_gemm_impl, \
                primus_turbo_cpp_extension::grouped_gemm, primus_turbo_cpp_extension::ck_grouped_gemm",
        shapes: "17,32 3,5,32 3",
        types: "bf16 float long",
        figures: [5440.0, 2388.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "M K N G bpe_in bpe_out",
        ..PLAIN
    },
    Group {
        names: "primus_turbo::grouped_gemm_variable_k, primus_turbo::grouped_gemm_variable_k_impl, \
                primus_turbo_cpp_extension::grouped_gemm_variable_k, \
                primus_turbo_cpp_extension::ck_grouped_gemm_variable_k",
        shapes: "17,32 17,5 3",
        figures: [5440.0, 1578.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "M K N G bpe_in bpe_out group_pairs",
        ..PLAIN
    },
    Group {
        names: "aten::_grouped_mm",
        shapes: "12,6 4,6,10 4",
        types: "bf16 bf16 int",
        figures: [1440.0, 864.0, NONE, NONE],
        spec: "matrix_bf16",
        parameters: "M K N G bpe_in bpe_out",
        ..PLAIN
    },
    Group {
        names: "aten::_scaled_grouped_mm",
        shapes: "12,6 4,6,10 12 4,10 4",
        types: "fp8 fp8 float float int",
        figures: [1440.0, 552.0, NONE, NONE],
        spec: "matrix_fp8",
        parameters: "M K N G bpe_in bpe_out",
        ..PLAIN
    },
    Group {
        names: "FlashAttnFunc, flash_attn::_flash_attn_forward",
        shapes: "3,14,6,16 3,14,2,16 3,14,2,8",
        scalars: &[(3, "0.1"), (4, "0.25"), (5, "True")],
        figures: [84_672.0, 16_128.0, 226_800.0, 28_224.0],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v q_stride k_stride v_stride dropout causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "aten::_flash_attention_forward",
        shapes: "3,14,6,16 3,14,2,16 3,14,2,8",
        types: "bf16 bf16 bf16 none",
        scalars: &[(5, "14"), (6, "14"), (7, "0.1"), (8, "True"), (9, "False")],
        figures: [84_672.0, 16_128.0, 226_800.0, 28_224.0],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    // Top left: of 14 queries over 20 keys the first sees one key, the last 14, 105 in all: 3 · 6 · 105 scores of
    // 2 · (16 + 8) FLOPs.
    Group {
        names: "aten::_efficient_attention_forward",
        shapes: "3,14,6,16 3,20,6,16 3,20,6,8",
        types: "bf16 bf16 bf16 none",
        scalars: &[(8, "0.1"), (9, "1"), (10, "False")],
        figures: [90_720.0, 29_376.0, 181_440.0, 54_720.0],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    // The same with two heads of keys, INT8 and values of two bytes: 3 · 14 · 6 · 16 + 3 · 20 · 2 · 16 +
    // 2 · 3 · 20 · 2 · 8 + 2 · 3 · 14 · 6 · 8 bytes.
    Group {
        names: "sageattention::qk_int8_sv_f16_accum_f32_attn, sageattention::qk_int8_sv_f16_accum_f16_attn, \
                sageattention::qk_int8_sv_f16_accum_f16_attn_inst_buf",
        shapes: "3,14,6,16 3,20,2,16 3,20,2,8 3,14,6,8 3,6,1 3,2,1",
        types: "int8 int8 half half float float none",
        scalars: &[(6, "0"), (7, "1"), (8, "2"), (9, "0.25"), (10, "0")],
        figures: [90_720.0, 11_904.0, 182_520.0, 19_776.0],
        spec: "matrix_int8",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0 3.0",
        ..PLAIN
    },
    // Values of one byte lie as (batch, head dimension, heads, padded length).
    Group {
        names: "sageattention_sm89::qk_int8_sv_f8_accum_f32_fuse_v_scale_attn, \
                sageattention_sm89::qk_int8_sv_f8_accum_f32_fuse_v_scale_attn_inst_buf, \
                sageattention_sm89::qk_int8_sv_f8_accum_f16_fuse_v_scale_attn_inst_buf, \
                sageattention_sm90::qk_int8_sv_f8_accum_f32_fuse_v_scale_attn_inst_buf",
        shapes: "3,6,14,16 3,2,20,16 3,2,8,64 3,6,14,8 3,6,1 3,2,1 3,2,8",
        types: "int8 int8 fp8 bf16 float float float none",
        scalars: &[(7, "1"), (8, "0"), (9, "2"), (10, "0.25"), (11, "0")],
        figures: [241_920.0, 10_944.0, 486_720.0, 17_856.0],
        spec: "matrix_int8",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0 3.0",
        ..PLAIN
    },
    Group {
        names: "sageattention_sm90::qk_int8_sv_f8_accum_f32_attn_inst_buf",
        shapes: "3,6,14,16 3,2,20,16 3,2,8,64 3,6,14,8 3,6,1 3,2,1",
        types: "int8 int8 fp8 bf16 float float none",
        scalars: &[(6, "1"), (7, "0"), (8, "2"), (9, "0.25"), (10, "0")],
        figures: [241_920.0, 10_944.0, 486_720.0, 17_856.0],
        spec: "matrix_int8",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0 3.0",
        ..PLAIN
    },
    Group {
        names: "sageattention::qk_int8_sv_f16_accum_f16_fuse_v_mean_attn",
        shapes: "3,14,6,16 3,20,2,16 3,20,2,8 3,14,6,8 3,6,1 3,2,1 3,2,8",
        types: "int8 int8 half half float float float none",
        scalars: &[(7, "0"), (8, "1"), (9, "2"), (10, "0.25"), (11, "0")],
        figures: [90_720.0, 11_904.0, 182_520.0, 19_776.0],
        spec: "matrix_int8",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0 3.0",
        ..PLAIN
    },
    Group {
        names: "sageattention_sm89::qk_int8_sv_f8_accum_f32_fuse_v_scale_fuse_v_mean_attn",
        shapes: "3,6,14,16 3,2,20,16 3,2,8,64 3,6,14,8 3,6,1 3,2,1 3,2,8 3,2,8",
        types: "int8 int8 fp8 bf16 float float float float none",
        scalars: &[(8, "1"), (9, "0"), (10, "2"), (11, "0.25"), (12, "0")],
        figures: [241_920.0, 10_944.0, 486_720.0, 17_856.0],
        spec: "matrix_int8",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0 3.0",
        ..PLAIN
    },
    Group {
        names: "flash_attn::_flash_attn_backward",
        shapes: "3,14,6,8 3,14,6,16 3,14,2,16 3,14,2,8 3,14,6,8 3,6,14 3,14,6,16 3,14,2,16 3,14,2,8",
        types: "float",
        scalars: &[(9, "0.1"), (10, "0.25"), (11, "False")],
        figures: [453_600.0, 56_448.0, 453_600.0, 56_448.0],
        spec: "matrix_fp32",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v q_stride k_stride v_stride dropout causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0 3.0",
        ..PLAIN
    },
    Group {
        names: "flash_attn::_flash_attn_varlen_forward",
        shapes: "42,6,16 42,2,16 42,2,8 4 4",
        scalars: &[(5, "14"), (6, "14"), (7, "0."), (8, "0.25"), (9, "True")],
        figures: [84_672.0, 16_128.0, 226_800.0, 28_224.0],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v q_stride k_stride v_stride dropout causal flash_impl dtype_A_B num_seqs_q num_seqs_kv max_seqlen_q max_seqlen_kv",
        growing: "0.0 1.0 2.0 3.0+ 4.0+",
        ..PLAIN
    },
    Group {
        names: "flash_attn::_flash_attn_varlen_backward",
        shapes: "42,6,8 42,6,16 42,2,16 42,2,8 42,6,8 6,42 42,6,16 42,2,16 42,2,8 4 4",
        scalars: &[(11, "14"), (12, "14"), (13, "0."), (14, "0.25"), (15, "False")],
        figures: [453_600.0, 28_224.0, 453_600.0, 28_224.0],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v q_stride k_stride v_stride dropout causal flash_impl dtype_A_B num_seqs_q num_seqs_kv max_seqlen_q max_seqlen_kv",
        growing: "0.0 1.0 2.0 3.0 9.0+ 10.0+",
        ..PLAIN
    },
    Group {
        names: "aten::_scaled_dot_product_cudnn_attention, aten::_scaled_dot_product_efficient_attention",
        shapes: "3,6,14,16 3,2,14,16 3,2,14,8",
        types: "half",
        scalars: &[(4, "True"), (5, "0.1"), (6, "True")],
        figures: [84_672.0, 16_128.0, 170_352.0, 28_224.0],
        spec: "matrix_fp16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "aten::_scaled_dot_product_flash_attention",
        shapes: "3,6,14,16 3,2,14,16 3,2,14,8",
        types: "half",
        scalars: &[(3, "0.1"), (4, "False")],
        figures: [169_344.0, 16_128.0, 453_600.0, 28_224.0],
        spec: "matrix_fp16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "aten::_scaled_dot_product_cudnn_attention_backward",
        shapes: "3,6,14,8 3,6,14,16 3,2,14,16 3,2,14,8 3,6,14,8 3,6,14,1",
        types: "half half half half half float",
        scalars: &[(11, "14"), (12, "14"), (13, "0.1"), (14, "True"), (15, "0.25")],
        figures: [170_352.0, 28_224.0, 170_352.0, 28_224.0],
        spec: "matrix_fp16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0 3.0 4.0 5.0",
        ..PLAIN
    },
    Group {
        names: "aten::_scaled_dot_product_efficient_attention_backward",
        shapes: "3,6,14,8 3,6,14,16 3,2,14,16 3,2,14,8 - 3,6,14,8 3,6,14",
        types: "half half half half none half float",
        scalars: &[(9, "0.1"), (11, "True")],
        figures: [170_352.0, 28_224.0, 170_352.0, 28_224.0],
        spec: "matrix_fp16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0 3.0 5.0 6.0",
        ..PLAIN
    },
    Group {
        names: "aten::_scaled_dot_product_flash_attention_backward",
        shapes: "3,6,14,8 3,6,14,16 3,2,14,16 3,2,14,8 3,6,14,8 3,6,14",
        types: "half half half half half float",
        scalars: &[(8, "14"), (9, "14"), (10, "0.1"), (11, "False")],
        figures: [453_600.0, 28_224.0, 453_600.0, 28_224.0],
        spec: "matrix_fp16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl dtype_A_B",
        growing: "0.0 1.0 2.0 3.0 4.0 5.0",
        ..PLAIN
    },
    Group {
        names: "aiter::_flash_attn_forward, aiter::mha_fwd, aiter::fmha_v3_fwd",
        shapes: "3,14,6,16 3,14,2,16 3,14,2,8",
        scalars: &[(3, "0.1"), (4, "0.25"), (5, "True")],
        figures: [84_672.0, 16_128.0, 226_800.0, 28_224.0],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "aiter::wrapper_fmha_v3_fwd",
        shapes: "3,14,6,8 3,14,6,16 3,14,2,16 3,14,2,8",
        scalars: &[(4, "0.1"), (5, "0.25"), (6, "True")],
        figures: [84_672.0, 16_128.0, 226_800.0, 28_224.0],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl",
        growing: "1.0 2.0 3.0",
        ..PLAIN
    },
    Group {
        names: "aiter::_flash_attn_backward",
        shapes: "3,14,6,8 3,14,6,16 3,14,2,16 3,14,2,8 3,14,6,8 3,6,14 3,14,6,16 3,14,2,16 3,14,2,8",
        scalars: &[(10, "0.1"), (11, "0.25"), (12, "True")],
        figures: [226_800.0, 28_224.0, 226_800.0, 28_224.0],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl",
        growing: "1.0 2.0 3.0",
        ..PLAIN
    },
    Group {
        names: "aiter::mha_bwd",
        shapes: "3,14,6,8 3,14,6,16 3,14,2,16 3,14,2,8",
        scalars: &[(6, "0.1"), (7, "0.25"), (8, "True")],
        figures: [226_800.0, 28_224.0, 226_800.0, 28_224.0],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl",
        growing: "1.0 2.0 3.0",
        ..PLAIN
    },
    Group {
        names: "aiter::wrapper_fmha_v3_bwd",
        shapes: "3,14,6,8 3,14,6,16 3,14,2,16 3,14,2,8",
        scalars: &[(7, "0.1"), (8, "0.25"), (9, "False")],
        figures: [453_600.0, 28_224.0, 453_600.0, 28_224.0],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl",
        growing: "1.0 2.0 3.0",
        ..PLAIN
    },
    Group {
        names: "flash_attn_3::fwd",
        shapes: "3,14,6,16 3,14,2,16 3,14,2,8",
        scalars: &[(24, "True")],
        figures: [84_672.0, 16_128.0, 226_800.0, 28_224.0],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v dropout causal flash_impl",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "EvoformerAttention",
        shapes: "3,7,14,6,16",
        figures: [1_580_544.0, 225_792.0, 3_161_088.0, 395_136.0],
        spec: "matrix_bf16",
        parameters: "B N_Q H_Q N_KV H_KV d_h_qk d_h_v causal flash_impl dtype_A_B",
        ..PLAIN
    },
    Group {
        names: "aten::convolution",
        shapes: "3,8,13,11 6,4,3,2 6",
        scalars: &[(3, "[2, 1]"), (4, "[1, 0]"), (5, "[2, 1]"), (6, "False"), (7, "[0, 0]"), (8, "2")],
        figures: [52_920.0, 9324.0, 104_760.0, 20_796.0],
        spec: "matrix_bf16",
        parameters: "convNd input_shape filter_shape dtype_input_weight input_stride weight_stride bias stride padding dilation transposed_conv output_padding groups",
        ..PLAIN
    },
    Group {
        names: "aten::convolution_backward",
        shapes: "3,6,6,10 3,8,13,11 6,4,3,2",
        scalars: &[
            (3, "[0]"),
            (4, "[2, 1]"),
            (5, "[1, 0]"),
            (6, "[2, 1]"),
            (7, "False"),
            (8, "[0, 0]"),
            (9, "2"),
            (10, "[True, True, False]"),
        ],
        figures: [103_680.0, 18_624.0, 103_680.0, 18_624.0],
        spec: "matrix_bf16",
        parameters: "convNd input_shape filter_shape dtype_input_weight input_stride weight_stride bias stride padding dilation transposed_conv output_padding groups",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "ConvBias_, ConvBiasReLU_",
        shapes: "3,8,13,11 6,8,3,2 1,6,1,1",
        types: "half",
        scalars: &[(3, "2"), (4, "1")],
        figures: [73_332.0, 8964.0, 145_908.0, 19_428.0],
        spec: "matrix_fp16",
        parameters: "convNd input_shape filter_shape dtype_input_weight input_stride weight_stride bias stride padding dilation transposed_conv output_padding groups",
        ..PLAIN
    },
    Group {
        names: "ConvBias_Backward, ConvBiasReLU_Backward",
        shapes: "3,8,13,11 6,8,3,2 1,6,1,1",
        types: "half",
        scalars: &[(3, "2"), (4, "1")],
        surroundings: &[("forward", "itself")],
        figures: [145_908.0, 19_428.0, 145_908.0, 19_428.0],
        spec: "matrix_fp16",
        parameters: "convNd input_shape filter_shape dtype_input_weight input_stride weight_stride bias stride padding dilation transposed_conv output_padding groups",
        ..PLAIN
    },
];
