//! Normalization, element-wise operators, quantization, reductions and what training has besides.

use super::{Group, NONE, PLAIN};

pub(crate) const GROUPS: &[Group] = &[
    Group {
        names: "aten::batch_norm, aten::native_batch_norm, aten::miopen_batch_norm, aten::cudnn_batch_norm, \
                aten::instance_norm, aten::native_instance_norm, aten::miopen_instance_norm, \
                aten::cudnn_instance_norm",
        shapes: "3,8,5,7 8 8 8 8",
        scalars: &[(5, "True")],
        figures: [4248.0, 3456.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        ..PLAIN
    },
    Group {
        names: "aten::layer_norm, aten::native_layer_norm, aten::miopen_layer_norm, aten::cudnn_layer_norm",
        shapes: "3,8,5,7 - 35 35",
        scalars: &[(1, "[5, 7]")],
        figures: [4410.0, 3780.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        ..PLAIN
    },
    Group {
        names: "aten::group_norm, aten::miopen_group_norm, aten::cudnn_group_norm, aiter::_groupnorm_run",
        shapes: "3,8,5,7 - 8 8",
        types: "float",
        scalars: &[(1, "2")],
        figures: [4248.0, 6912.0, NONE, NONE],
        spec: "vector_fp32",
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        ..PLAIN
    },
    Group {
        names: "aten::native_group_norm",
        shapes: "3,8,5,7 8 8",
        types: "float",
        scalars: &[(3, "3"), (4, "8"), (5, "35"), (6, "2")],
        figures: [4248.0, 6912.0, NONE, NONE],
        spec: "vector_fp32",
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        ..PLAIN
    },
    Group {
        names: "aten::_fused_rms_norm",
        shapes: "3,8,5,7 - 35",
        types: "float",
        scalars: &[(1, "[5, 7]")],
        figures: [3408.0, 6860.0, NONE, NONE],
        spec: "vector_fp32",
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        ..PLAIN
    },
    Group {
        names: "aten::batch_norm_backward, aten::native_batch_norm_backward",
        shapes: "3,8,5,7 3,8,5,7 8 8 8 8 8",
        scalars: &[(7, "True"), (9, "[True, True, True]")],
        figures: [7560.0, 5104.0, 7560.0, 5104.0],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training output_mask",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aten::miopen_batch_norm_backward, aten::cudnn_batch_norm_backward",
        shapes: "3,8,5,7 3,8,5,7 8",
        figures: [3384.0, 3376.0, 3384.0, 3376.0],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training output_mask",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aten::layer_norm_backward, aten::native_layer_norm_backward, \
                aten::miopen_layer_norm_backward, aten::cudnn_layer_norm_backward",
        shapes: "3,8,5,7 3,8,5,7 - 3,8 3,8 35 35",
        scalars: &[(2, "[5, 7]"), (7, "[True, True, False]")],
        figures: [7560.0, 5250.0, 7560.0, 5250.0],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training output_mask",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aten::group_norm_backward, aten::native_group_norm_backward, \
                aten::miopen_group_norm_backward, aten::cudnn_group_norm_backward",
        shapes: "3,8,5,7 3,8,5,7 3,2 3,2 8",
        scalars: &[(5, "3"), (6, "8"), (7, "35"), (8, "2"), (9, "[False, True, True]")],
        figures: [5040.0, 3392.0, 5040.0, 3392.0],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training output_mask",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aten::rms_norm_backward, aten::native_rms_norm_backward, aten::miopen_rms_norm_backward, \
                aten::cudnn_rms_norm_backward, aten::_fused_rms_norm_backward",
        shapes: "3,8,5,7 3,8,5,7 - 3,8 35",
        scalars: &[(2, "[5, 7]"), (5, "[True, True]")],
        figures: [8400.0, 5180.0, 8400.0, 5180.0],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training output_mask",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "primus::fused_ln_modulate",
        shapes: "17,3,20",
        figures: [12_240.0, 4728.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        ..PLAIN
    },
    Group {
        names: "primus::fused_ln_modulate_backward",
        shapes: "17,3,20",
        figures: [15_300.0, 6888.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training output_mask",
        ..PLAIN
    },
    Group {
        names: "aten::copy, aten::copy_, aten::clamp_min, aten::clamp_min_, aten::clamp_max, \
                aten::clamp_max_, aten::sigmoid, aten::rsqrt, aten::silu, aten::neg, aten::pow",
        shapes: "17,6 17,6",
        types: "bf16 float",
        figures: [102.0, 612.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aten::replication_pad1d",
        shapes: "4,3,10 -",
        types: "float",
        scalars: &[(1, "[1, 2]")],
        figures: [156.0, 1104.0, NONE, NONE],
        spec: "vector_fp32",
        parameters: "input_shape output_shape padding op_shape dtype_in_out stride_input stride_output",
        ..PLAIN
    },
    Group {
        names: "aten::replication_pad2d",
        shapes: "4,3,10,9 -",
        types: "float",
        scalars: &[(1, "[1, 2, 3, 4]")],
        figures: [2448.0, 14_112.0, NONE, NONE],
        spec: "vector_fp32",
        parameters: "input_shape output_shape padding op_shape dtype_in_out stride_input stride_output",
        ..PLAIN
    },
    Group {
        names: "aten::replication_pad3d",
        shapes: "4,3,2,10,9 -",
        types: "float",
        scalars: &[(1, "[1, 2, 3, 4, 5, 6]")],
        figures: [31_824.0, 135_936.0, NONE, NONE],
        spec: "vector_fp32",
        parameters: "input_shape output_shape padding op_shape dtype_in_out stride_input stride_output",
        ..PLAIN
    },
    Group {
        names: "aten::upsample_nearest1d",
        shapes: "4,3,10 -",
        types: "half",
        scalars: &[(1, "[25]")],
        figures: [300.0, 840.0, NONE, NONE],
        spec: "vector_fp16",
        parameters: "input_shape output_shape op_shape dtype_in_out stride_input stride_output",
        ..PLAIN
    },
    Group {
        names: "aten::upsample_nearest2d",
        shapes: "4,3,10,9 -",
        types: "half",
        scalars: &[(1, "[25, 18]")],
        figures: [5400.0, 12_960.0, NONE, NONE],
        spec: "vector_fp16",
        parameters: "input_shape output_shape op_shape dtype_in_out stride_input stride_output",
        ..PLAIN
    },
    Group {
        names: "aten::upsample_nearest3d",
        shapes: "4,3,2,10,9 -",
        types: "half",
        scalars: &[(1, "[4, 25, 18]")],
        figures: [21_600.0, 47_520.0, NONE, NONE],
        spec: "vector_fp16",
        parameters: "input_shape output_shape op_shape dtype_in_out stride_input stride_output",
        ..PLAIN
    },
    Group {
        names: "aiter::silu_and_mul, _C::silu_and_mul, sgl_kernel::silu_and_mul",
        shapes: "17,6 17,12",
        types: "bf16 float",
        figures: [510.0, 1020.0, NONE, NONE],
        spec: "vector_fp32",
        parameters: "op_shape dtype_in_out stride_input stride_output",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aiter::gelu_and_mul, _C::gelu_and_mul, sgl_kernel::gelu_and_mul",
        shapes: "17,6 17,12",
        types: "bf16 float",
        figures: [816.0, 1020.0, NONE, NONE],
        spec: "vector_fp32",
        parameters: "op_shape dtype_in_out stride_input stride_output",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aiter::gelu_tanh_and_mul, _C::gelu_tanh_and_mul, sgl_kernel::gelu_tanh_and_mul",
        shapes: "17,6 17,12",
        types: "bf16 float",
        figures: [1020.0, 1020.0, NONE, NONE],
        spec: "vector_fp32",
        parameters: "op_shape dtype_in_out stride_input stride_output",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "primus_turbo_cpp_extension::quantize_fp8_tensorwise, primus_turbo::quantize_fp8_tensorwise",
        shapes: "17,6",
        figures: [102.0, 306.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output",
        ..PLAIN
    },
    Group {
        names: "primus_turbo_cpp_extension::quantize_mxfp4_dual, primus_turbo::quantize_mxfp4_dual, \
                primus::quantize_mxfp4_dual",
        shapes: "64,40",
        figures: [2560.0, 7888.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output",
        ..PLAIN
    },
    Group {
        names: "aten::div, aten::div_, aten::mul, aten::mul_, aten::add, aten::add_, aten::sigmoid_backward, \
                aten::threshold_backward",
        shapes: "17,1,6 3,6",
        types: "bf16 float",
        figures: [306.0, 1500.0, NONE, NONE],
        parameters: "shape_in1 shape_in2 dtype_in1_in2_out stride_input1 stride_input2 stride_output",
        ..PLAIN
    },
    Group {
        names: "LigerSiLUMulFunction",
        shapes: "17,6 17,6",
        figures: [102.0, 612.0, NONE, NONE],
        parameters: "shape_in1 shape_in2 dtype_in1_in2_out stride_input1 stride_input2 stride_output",
        growing: "0.0 1.0",
        ..PLAIN
    },
    Group {
        names: "aiter::dynamic_per_token_scaled_quant, aiter::dynamic_per_group_scaled_quant, \
                aiter::dynamic_per_tensor_quant",
        shapes: "16,64 16,64 16,1",
        types: "fp8 bf16 float",
        figures: [2656.0, 3136.0, NONE, NONE],
        parameters: "shape_in1 shape_in2 shape_out dtype_in1_in2_out stride_input1 stride_input2 stride_output",
        growing: "0.0 1.0 2.0",
        ..PLAIN
    },
    Group {
        names: "vllm::triton_per_token_group_quant_fp8",
        shapes: "17,70",
        scalars: &[(1, "32")],
        figures: [7140.0, 3774.0, NONE, NONE],
        parameters: "M N group_size num_groups shape_x dtype_x shape_in1 shape_in2 shape_out dtype_in1_in2_out stride_input1 stride_input2 stride_output",
        ..PLAIN
    },
    Group {
        names: "sglang_profiler::fused_mxfp4_quant_fused_flatten_mxfp4_quant, \
                sglang_profiler::quant_dynamic_mxfp4_quant",
        shapes: "32,6",
        figures: [384.0, 486.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output",
        ..PLAIN
    },
    Group {
        names: "aiter::dynamic_per_group_scaled_quant_fp4",
        shapes: "16,6 32,6",
        types: "fp4 bf16",
        figures: [384.0, 486.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output",
        growing: "1.0",
        ..PLAIN
    },
    Group {
        names: "aiter::fused_dynamic_mx_quant_moe_sort_hip, aiter::fused_dynamic_mxfp4_quant_moe_sort_hip",
        shapes: "16,6 9 32,6",
        types: "fp4 e8m0 bf16",
        figures: [384.0, 486.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output",
        growing: "2.0",
        ..PLAIN
    },
    Group {
        names: "aten::sum, aten::mean, aten::std, aten::var, aten::logsumexp, aten::amin, aten::amax",
        shapes: "17,6,5 - - -",
        types: "float none",
        scalars: &[(1, "[1]"), (2, "True")],
        figures: [510.0, 2380.0, 510.0, 2380.0],
        spec: "vector_fp32",
        parameters: "num_input_elems num_output_elems dtype_in_out reduce_type",
        ..PLAIN
    },
    Group {
        names: "aten::max, aten::min",
        shapes: "17,6,5 - - -",
        types: "float none",
        scalars: &[(1, "1"), (2, "False")],
        figures: [510.0, 2380.0, 510.0, 2380.0],
        spec: "vector_fp32",
        parameters: "num_input_elems num_output_elems dtype_in_out reduce_type",
        ..PLAIN
    },
    Group {
        names: "aten::norm, aten::linalg_norm",
        shapes: "17,6,5 - - -",
        types: "float none",
        scalars: &[(1, "2"), (2, "[1]"), (3, "False")],
        figures: [510.0, 2380.0, 510.0, 2380.0],
        spec: "vector_fp32",
        parameters: "num_input_elems num_output_elems dtype_in_out reduce_type",
        ..PLAIN
    },
    Group {
        names: "aten::cumsum, aten::cumprod",
        shapes: "17,6 -",
        types: "float Scalar",
        scalars: &[(1, "1")],
        figures: [102.0, 816.0, 102.0, 816.0],
        spec: "vector_fp32",
        parameters: "num_input_elems num_output_elems dtype_in_out reduce_type",
        ..PLAIN
    },
    Group {
        names: "MoEDispatch, MoECombine",
        shapes: "17,6",
        figures: [0.0, 204.0, 0.0, 204.0],
        spec: "",
        parameters: "num_tokens hidden_dim bpe",
        ..PLAIN
    },
    Group {
        names: "DaoAILab::_causal_conv1d_fwd_cpp",
        shapes: "3,8,17 8,4 8",
        types: "float",
        figures: [3264.0, 3424.0, NONE, NONE],
        spec: "matrix_fp32",
        parameters: "batch channels seq_len kernel_size has_bias",
        ..PLAIN
    },
    Group {
        names: "MambaSplitConv1dScanCombinedFn",
        shapes: "3,17,72 44,4 44 4 4 4",
        types: "bf16 bf16 bf16 float float bf16",
        scalars: &[(6, "16"), (15, "6"), (16, "2")],
        figures: [97_920.0, 10_272.0, 97_920.0, 10_272.0],
        spec: "matrix_bf16",
        parameters: "B T H P G N C d_inner d_conv conv_channels combined_dim",
        ..PLAIN
    },
    Group {
        names: "FusedRoPEFunc",
        shapes: "17,3,4,10",
        figures: [6120.0, 8160.0, NONE, NONE],
        parameters: "seq_len batch heads head_dim num_elements",
        ..PLAIN
    },
    Group {
        names: "CrossEntropyFunction",
        shapes: "17,1,30 17,1",
        types: "float long",
        figures: [2550.0, 2244.0, NONE, NONE],
        spec: "vector_fp32",
        parameters: "batch vocab_size logits_shape",
        growing: "0.0 1.0",
        ..PLAIN
    },
];
