//! Worked examples of rotary embedding, RMS normalization, sampling, quantization, collectives,
//! hyper-connections and generated kernels, and what holds for all of their models.

use perf_models::{
    Gap, InferenceRmsNorm, OpCall, PerfModel, RmsNormFusion, Roofline, RotaryEmbedding, Tensor, architecture,
    model,
};
use proptest::prelude::*;

use crate::call::{Call, spec};
use crate::training_operators::Example;

#[rustfmt::skip]
const EXAMPLES: &[Example] = &[
    ("FusedRoPEFunc", "4096,2,32,128", "bf16", &[], 100_663_296.0, 134_217_728.0, "vector_bf16"),
    ("aiter::rope_cached_positions_2c_fwd_impl", "1 1 1,64,32,128 1,64,8,128", "bf16", &[], 983_040.0, 1_310_720.0, "vector_bf16"),
    ("sgl_kernel::rotary_embedding", "32 32,4096 32,1024 - 41216,128", "long bf16", &[(3, "128")], 491_520.0, 655_360.0, "vector_bf16"),
    // The same with the heads as a dimension of their own, and without the size of a head.
    ("sgl_kernel::rotary_embedding", "32 32,32,128 32,8,128 - 41216,128", "long bf16", &[], 491_520.0, 655_360.0, "vector_bf16"),
    ("aiter::fused_qk_rope_cat_and_cache_mla", "2,8,512 2,8,64 2,1,512 2,1,64 9,1,576", "bf16 bf16 bf16 bf16 fp8", &[], 3456.0, 40_320.0, "vector_bf16"),
    ("aiter::fused_qk_rope_concat_and_cache_mla", "2,8,512 2,8,64 2,512 2,64 9,1,576 2,8,576", "bf16 bf16 bf16 bf16 fp8 fp8", &[], 3456.0, 31_104.0, "vector_bf16"),
    ("aiter::rms_norm", "4,512 512", "bf16", &[], 8200.0, 9216.0, "vector_bf16"),
    ("aiter::rmsnorm2d_fwd_ck", "4,512 512", "bf16", &[], 8200.0, 9216.0, "vector_bf16"),
    ("aiter::rmsnorm", "4,512 4,512 512", "bf16", &[], 8200.0, 9216.0, "vector_bf16"),
    ("aiter::add_rmsnorm", "4,512 4,512 4,512 4,512 512", "bf16", &[], 10_248.0, 17_408.0, "vector_bf16"),
    ("aiter::rmsnorm2d_fwd_with_add_ck", "4,7168 4,7168 4,7168 4,7168 7168", "bf16", &[], 143_368.0, 243_712.0, "vector_bf16"),
    ("aiter::rmsnorm2d_fwd_with_dynamicquant_ck", "4,512 4,512 4,1 512", "bf16", &[], 12_296.0, 7184.0, "vector_bf16"),
    ("aiter::rmsnorm_quant", "4,512 4,512 4,4 512", "bf16", &[(5, "128")], 12_296.0, 7232.0, "vector_bf16"),
    // Without a size of groups a row has one scale.
    ("aiter::rmsnorm_quant", "4,512 4,512 4,1 512", "bf16", &[(5, "-1")], 12_296.0, 7184.0, "vector_bf16"),
    ("vllm::rocm_aiter_rmsnorm_fp8_group_quant", "4,1536 1536", "bf16", &[(3, "128")], 36_872.0, 21_696.0, "vector_bf16"),
    ("vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant", "4,7168 4,7168 7168", "bf16", &[(4, "128")], 200_712.0, 215_936.0, "vector_bf16"),
    ("vllm::rocm_aiter_triton_add_rmsnorm_pad", "64,2880 2880 - 64,2880", "bf16", &[(4, "256")], 921_728.0, 1_504_896.0, "vector_bf16"),
    ("aiter::_fuse_rmsnorm_fp4_quant", "4,256 256 - 4,128 128 - 4,256", "bf16", &[], 9228.0, 9504.0, "vector_bf16"),
    ("sglang_profiler::fused_mxfp4_quant_fused_rms_mxfp4_quant", "64,1536 1536", "bf16", &[], 589_952.0, 251_904.0, "vector_bf16"),
    ("aiter::mixed_sample_outer_exponential", "64 64,129280 64,129280", "int bf16 float", &[], 16_547_840.0, 49_643_776.0, "vector_bf16"),
    ("aiter::dynamic_per_token_scaled_quant", "4,256 4,256 4,1", "fp8 bf16 float", &[], 2656.0, 3088.0, "vector_bf16"),
    ("vllm::triton_per_token_group_quant_fp8", "4,256", "bf16", &[(1, "128")], 6144.0, 3104.0, "vector_bf16"),
    // Leading dimensions are rows.
    ("vllm::triton_per_token_group_quant_fp8", "2,2,256", "bf16", &[(1, "128")], 6144.0, 3104.0, "vector_bf16"),
    ("sglang_profiler::fused_mxfp4_quant_fused_flatten_mxfp4_quant", "64,16,128", "bf16", &[], 262_144.0, 331_776.0, "vector_bf16"),
    ("aiter::dynamic_per_group_scaled_quant_fp4", "64,3584 64,7168", "fp4 bf16", &[], 917_504.0, 1_161_216.0, "vector_bf16"),
    ("aiter::fused_dynamic_mxfp4_quant_moe_sort_hip", "64,3584 100,224 64,7168", "fp4 bf16", &[], 917_504.0, 1_161_216.0, "vector_bf16"),
    ("aiter::fused_allreduce_rmsnorm", "1 - 4,7168 4,7168 4,7168 4,7168 7168", "bf16", &[], 143_368.0, 243_712.0, ""),
    ("aiter::fused_allreduce_rmsnorm", "1 - 4,7168 4,7168 4,7168 4,7168 7168", "Scalar", &[], 143_368.0, 487_424.0, ""),
    ("aiter::fused_allreduce_rmsnorm_", "64,7168 64,7168 7168", "bf16", &[], 2_293_888.0, 3_684_352.0, ""),
    ("_C_custom_ar::all_reduce", "- 4,7168 4,7168", "bf16", &[], 0.0, 114_688.0, ""),
    ("sgl_kernel::qr_all_reduce", "- 4,7168 4,7168", "bf16", &[], 0.0, 114_688.0, ""),
    ("aiter::reduce_scatter", "- 8,7168 4,7168", "bf16", &[], 0.0, 172_032.0, ""),
    ("aiter::all_gather_reg", "- 4,7168 8,7168", "bf16", &[], 0.0, 172_032.0, ""),
    ("sglang::reg_all_gather_into_tensor", "256,16160 32,16160", "bf16", &[], 0.0, 9_308_160.0, ""),
    ("aiter::mhc_post", "4,2,128 4,128", "bf16", &[], 6144.0, 5216.0, "vector_bf16"),
    ("aiter::mhc_pre_gemm_sqrsum", "2,4,8 2,4 4,2,128 8,256", "float float bf16", &[], 16_384.0, 10_528.0, "matrix_bf16"),
    ("aiter::mhc_pre_big_fuse_rmsnorm", "4,2,1 4,2,2 4,128 2,4,8 2,4 4,128 8 -", "float", &[], 4608.0, 7008.0, "vector_fp32"),
    ("aiter::mhc_fused_post_pre_gemm_sqrsum", "2,4,8 2,4 4,2,128 4,128 4,2,128 4,2,1 4,2,2 8,256", "float", &[], 22_528.0, 22_912.0, "matrix_fp32"),
    // Larger calls.
    ("aiter::rms_norm", "32,2880 2880", "bf16", &[], 368_704.0, 374_400.0, "vector_bf16"),
    ("aiter::rmsnorm", "32,4096 32,4096 4096", "bf16", &[], 524_352.0, 532_480.0, "vector_bf16"),
    ("aiter::add_rmsnorm", "32,4096 32,4096 32,4096 32,4096 4096", "bf16", &[], 655_424.0, 1_056_768.0, "vector_bf16"),
    ("aiter::rmsnorm2d_fwd_with_dynamicquant_ck", "4,7168 4,7168 4,1 7168", "fp8 bf16 float bf16", &[], 172_040.0, 100_368.0, "vector_bf16"),
    ("aiter::rmsnorm_quant", "4,7168 4,7168 4,56 7168", "fp8 bf16 float bf16", &[(5, "128")], 172_040.0, 101_248.0, "vector_bf16"),
    ("aiter::_fuse_rmsnorm_fp4_quant", "64,1536 1536 - 64,512 512 - 64,1536", "bf16", &[], 819_370.0, 777_216.0, "vector_bf16"),
    ("aiter::dynamic_per_group_scaled_quant", "64,7168 64,7168 64,1", "fp8 bf16 float", &[], 1_189_888.0, 1_376_512.0, "vector_bf16"),
    ("vllm::triton_per_token_group_quant_fp8", "64,7168", "bf16", &[(1, "128")], 2_752_512.0, 1_390_592.0, "vector_bf16"),
    ("aiter::mixed_sample_outer_exponential", "64 64,128256 64,128256", "int bf16 float", &[], 16_416_768.0, 49_250_560.0, "vector_bf16"),
    ("aiter::fused_qk_rope_cat_and_cache_mla", "64,16,512 64,16,64 64,1,512 64,1,64 9,1,576", "bf16 bf16 bf16 bf16 fp8", &[], 208_896.0, 2_469_888.0, "vector_bf16"),
    ("aiter::fused_qk_rope_concat_and_cache_mla", "64,16,512 64,16,64 64,512 64,64 9,1,576 64,16,576", "bf16 bf16 bf16 bf16 fp8 fp8", &[], 208_896.0, 1_880_064.0, "vector_bf16"),
    ("aiter::mhc_post", "64,4,7168 64,7168", "bf16", &[], 18_350_080.0, 8_262_656.0, "vector_bf16"),
    ("aiter::mhc_pre_gemm_sqrsum", "2,64,24 2,64 64,4,7168 24,28672", "float float bf16", &[], 88_080_384.0, 6_435_328.0, "matrix_bf16"),
    ("aiter::mhc_pre_big_fuse_rmsnorm", "64,4,1 64,4,4 64,7168 2,64,24 2,64 3 24 64,4,7168", "float float bf16 float float float float bf16", &[], 5_963_776.0, 4_619_264.0, "vector_bf16"),
    ("aiter::mhc_fused_post_pre_gemm_sqrsum", "2,64,24 2,64 64,4,7168 64,7168 64,4,7168 64,4,1 64,4,4 24,28672", "float float bf16 bf16 bf16 float", &[], 106_430_464.0, 14_697_984.0, "matrix_bf16"),
    ("triton_red_fused_add_mean_mul_pow_rsqrt_0", "8,4096,2048 2048 8,4096,2048 - -", "bf16", &[(3, "32768"), (4, "2048")], 469_762_048.0, 268_439_552.0, "vector_bf16"),
    // The product of a gate and a matrix multiplication, written over the gate.
    ("triton_poi_fused__unsafe_view_mul_silu_2", "8,4096,8192 32768,8192 -", "bf16", &[(2, "268435456")], 1_342_177_280.0, 1_610_612_736.0, "vector_bf16"),
];

#[test]
fn figures_are_those_of_the_worked_examples() {
    for (name, shapes, types, scalars, flops, bytes, expected_spec) in EXAMPLES {
        let model = Call::new(name, shapes, types).with(scalars).model();
        assert_eq!((model.flops(), model.bytes()), (Ok(*flops), Ok(*bytes)), "{name} {shapes}");
        assert_eq!(spec(model.as_ref()), *expected_spec, "{name} {shapes}");
        for backward in [model.backward_flops(), model.backward_bytes()] {
            assert_eq!(backward.unwrap_err().gap, Gap::NoFormula, "{name}");
        }
    }
}

#[test]
fn what_is_missing_is_named() {
    let zero: &[(usize, &str)] = &[(3, "0")];
    let unread = [
        ("aiter::rms_norm", "4,512", &[][..], "Input Dims[1] is missing"),
        ("aiter::rms_norm", "4,512 0", &[], "the weight Input Dims[1] has no elements"),
        ("aiter::rms_norm", "-4,512 512", &[], "Input Dims[0] has the negative dimension -4"),
        (
            "vllm::rocm_aiter_rmsnorm_fp8_group_quant",
            "4,512 512",
            zero,
            "Concrete Inputs[3], the size of a group, is 0",
        ),
        ("FusedRoPEFunc", "4,2,32", &[], "Input Dims[0] has 3 dimensions, not 4"),
        ("sgl_kernel::rotary_embedding", "32 32,4096 32,1024", zero, "the size of a head is 0"),
        ("triton_poi_fused_0", "4,512", &[], "Concrete Inputs hold no extent of the grid"),
    ];
    for (name, shapes, scalars, reason) in unread {
        let undefined = Call::new(name, shapes, "bf16").with(scalars).read().unwrap_err();
        assert_eq!((undefined.gap, undefined.reason.as_ref()), (Gap::Arguments, reason), "{name}");
    }
    let of_unknown_type = Call::new("_C_custom_ar::all_reduce", "- 4,512", "ScalarList").model();
    assert_eq!(of_unknown_type.bytes().unwrap_err().gap, Gap::DataType);
    let unknown = model(&OpCall { name: "triton_tem_fused_mm_0", ..OpCall::default() });
    assert_eq!(unknown.unwrap_err().gap, Gap::NoModel);
}

#[test]
fn what_is_assumed_is_noted() {
    let cases = [
        ("vllm::triton_per_token_group_quant_fp8", "4,256", "bf16", (1, "0"), "group size 128"),
        ("FusedRoPEFunc", "1,1,1,2", "?", (4, ""), "2 bytes an element: the element type is unknown"),
        ("triton_poi_fused_silu_0", "8", "bf16", (1, "8"), "the first tensor is updated in place"),
        ("triton_poi_fused_add_attend_0", "8 8", "bf16", (2, "8"), "no FLOPs of attend"),
    ];
    for (name, shapes, types, scalar, note) in cases {
        let model = Call::new(name, shapes, types).with(&[scalar]).model();
        assert_eq!(model.assumption().as_deref(), Some(note), "{name}");
    }
}

#[test]
fn element_types_that_are_assumed_are_noted() {
    let untyped = [
        (
            "aiter::mixed_sample_outer_exponential",
            "64 64,100 64,100",
            "assumed type of logits c10::bfloat16; assumed type of noise float",
        ),
        (
            "aiter::mixed_sample_outer_exponential",
            "64 -",
            "assumed number of tokens 1; assumed number of logits 1; assumed type of logits c10::bfloat16; \
             assumed type of noise float",
        ),
        ("aiter::mhc_post", "64,4,4096 64,4096", "assumed element type c10::BFloat16"),
        ("aiter::topk_softplus", "64,8 64,8 64,256", "assumed element type c10::BFloat16"),
    ];
    for (name, shapes, note) in untyped {
        let typed = Call::new(name, shapes, "bf16");
        let untyped = Call { types: Vec::new(), ..typed.clone() }.model();
        assert_eq!(untyped.assumption().as_deref(), Some(note), "{name}");
        assert_eq!(untyped.flops(), typed.model().flops(), "{name}");
        assert!(untyped.bytes().unwrap() > 0.0, "{name}");
    }
    let typed = Call::new("aiter::topk_softplus", "64,8 64,8 64,256", "bf16");
    assert_eq!(typed.model().assumption(), None);
    let note = |element_type| {
        let call = Call::new("vllm::gdn_attention_core", "64,1536 64,8 64,8 64,8,128", element_type);
        call.model().assumption().unwrap()
    };
    assert_eq!(note("float"), format!("{}; assumed 2-byte elements", note("bf16")));
}

#[test]
fn data_movement_has_a_roofline() {
    let model = Call::new("_C_custom_ar::all_reduce", "- 4,7168", "bf16").model();
    let roofline = Roofline::from_model(model.as_ref(), architecture("mi300x").unwrap()).unwrap();
    assert_eq!(roofline.time_us(), 114688.0 / 5300e9 * 1e6);
    assert_eq!(roofline.bound().to_string(), "MEMORY_BOUND");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn twice_the_tokens_take_twice_the_work(tokens in 1..100_000_u64, channels in 1..10_000_u64) {
        let norm = |tokens: u64| InferenceRmsNorm {
            input: Tensor::new([tokens, channels], "c10::BFloat16"),
            input_strides: None,
            channels,
            fused: RmsNormFusion::Addition,
        };
        let (one, two) = (norm(tokens).flops().unwrap(), norm(2 * tokens).flops().unwrap());
        prop_assert!((two / one - 2.0).abs() < 1e-12);

        let rope = |tokens: u64| RotaryEmbedding { rotated_elements: tokens * channels, ..RotaryEmbedding::default() };
        prop_assert_eq!(rope(2 * tokens).flops().unwrap(), 2.0 * rope(tokens).flops().unwrap());
        prop_assert_eq!(rope(2 * tokens).bytes().unwrap(), 2.0 * rope(tokens).bytes().unwrap());
    }
}
