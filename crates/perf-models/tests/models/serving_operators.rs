//! Worked examples of rotary embedding, RMS normalization, sampling, quantization, collectives,
//! hyper-connections and generated kernels, and what holds for all of their models.

use perf_models::{
    Family, Figure, Gap, InferenceRmsNorm, OpCall, PerfModel, RmsNormFusion, Roofline, RotaryEmbedding,
    Tensor, Undefined, Value, architecture, model, ops_of_family,
};
use proptest::prelude::*;

const BF: &str = "c10::BFloat16";
const F8: &str = "c10::Float8_e4m3fn";
const F4: &str = "c10::Float4_e2m1fn_x2";

/// A call whose strides are recorded as 1 everywhere.
struct Call {
    name: &'static str,
    dims: Vec<Value>,
    types: Vec<Value>,
    strides: Vec<Value>,
    concrete: Vec<Value>,
}

impl Call {
    /// The last type is that of all further inputs.
    fn new(name: &'static str, dims: &[&[i64]], types: &[&str], concrete: &[(usize, &str)]) -> Self {
        let mut texts = vec![Value::from(""); dims.len().max(concrete.len() + 30)];
        for (index, text) in concrete {
            texts[*index] = Value::from(*text);
        }
        let type_of = |index: usize| types.get(index).or(types.last()).copied().unwrap_or_default();
        Self {
            name,
            dims: dims.iter().map(|shape| Value::tuple(shape.iter().copied())).collect(),
            types: (0..dims.len()).map(|index| Value::from(type_of(index))).collect(),
            strides: dims.iter().map(|shape| Value::tuple(shape.iter().map(|_| 1))).collect(),
            concrete: texts,
        }
    }

    fn model(&self) -> Result<Box<dyn PerfModel>, Undefined> {
        model(&OpCall {
            name: self.name,
            dims: Some(&self.dims),
            types: Some(&self.types),
            strides: Some(&self.strides),
            concrete: Some(&self.concrete),
            ..OpCall::default()
        })
    }
}

fn spec(model: &dyn PerfModel) -> String {
    model.compute_spec().map(|spec| spec.to_string()).unwrap_or_default()
}

/// Shapes, types, values of scalars, FLOPs, bytes, compute spec.
type Example = (
    &'static str,
    &'static [&'static [i64]],
    &'static [&'static str],
    &'static [(usize, &'static str)],
    f64,
    f64,
    &'static str,
);

const EXAMPLES: &[Example] = &[
    ("FusedRoPEFunc", &[&[4096, 2, 32, 128]], &[BF], &[], 100663296.0, 134217728.0, "vector_bf16"),
    (
        "aiter::rope_cached_positions_2c_fwd_impl",
        &[&[1], &[1], &[1, 64, 32, 128], &[1, 64, 8, 128]],
        &[BF],
        &[],
        983040.0,
        1310720.0,
        "vector_bf16",
    ),
    (
        "sgl_kernel::rotary_embedding",
        &[&[32], &[32, 4096], &[32, 1024], &[], &[41216, 128]],
        &["long int", BF],
        &[(3, "128")],
        491520.0,
        655360.0,
        "vector_bf16",
    ),
    // The same with the heads as a dimension of their own, and without the size of a head.
    (
        "sgl_kernel::rotary_embedding",
        &[&[32], &[32, 32, 128], &[32, 8, 128], &[], &[41216, 128]],
        &["long int", BF],
        &[],
        491520.0,
        655360.0,
        "vector_bf16",
    ),
    (
        "aiter::fused_qk_rope_cat_and_cache_mla",
        &[&[2, 8, 512], &[2, 8, 64], &[2, 1, 512], &[2, 1, 64], &[9, 1, 576]],
        &[BF, BF, BF, BF, F8],
        &[],
        3456.0,
        40320.0,
        "vector_bf16",
    ),
    (
        "aiter::fused_qk_rope_concat_and_cache_mla",
        &[&[2, 8, 512], &[2, 8, 64], &[2, 512], &[2, 64], &[9, 1, 576], &[2, 8, 576]],
        &[BF, BF, BF, BF, F8, F8],
        &[],
        3456.0,
        31104.0,
        "vector_bf16",
    ),
    ("aiter::rms_norm", &[&[4, 512], &[512]], &[BF], &[], 8200.0, 9216.0, "vector_bf16"),
    ("aiter::rmsnorm2d_fwd_ck", &[&[4, 512], &[512]], &[BF], &[], 8200.0, 9216.0, "vector_bf16"),
    ("aiter::rmsnorm", &[&[4, 512], &[4, 512], &[512]], &[BF], &[], 8200.0, 9216.0, "vector_bf16"),
    (
        "aiter::add_rmsnorm",
        &[&[4, 512], &[4, 512], &[4, 512], &[4, 512], &[512]],
        &[BF],
        &[],
        10248.0,
        17408.0,
        "vector_bf16",
    ),
    (
        "aiter::rmsnorm2d_fwd_with_add_ck",
        &[&[4, 7168], &[4, 7168], &[4, 7168], &[4, 7168], &[7168]],
        &[BF],
        &[],
        143368.0,
        243712.0,
        "vector_bf16",
    ),
    (
        "aiter::rmsnorm2d_fwd_with_dynamicquant_ck",
        &[&[4, 512], &[4, 512], &[4, 1], &[512]],
        &[BF],
        &[],
        12296.0,
        7184.0,
        "vector_bf16",
    ),
    (
        "aiter::rmsnorm_quant",
        &[&[4, 512], &[4, 512], &[4, 4], &[512]],
        &[BF],
        &[(5, "128")],
        12296.0,
        7232.0,
        "vector_bf16",
    ),
    // Without a size of groups a row has one scale.
    (
        "aiter::rmsnorm_quant",
        &[&[4, 512], &[4, 512], &[4, 1], &[512]],
        &[BF],
        &[(5, "-1")],
        12296.0,
        7184.0,
        "vector_bf16",
    ),
    (
        "vllm::rocm_aiter_rmsnorm_fp8_group_quant",
        &[&[4, 1536], &[1536]],
        &[BF],
        &[(3, "128")],
        36872.0,
        21696.0,
        "vector_bf16",
    ),
    (
        "vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant",
        &[&[4, 7168], &[4, 7168], &[7168]],
        &[BF],
        &[(4, "128")],
        200712.0,
        215936.0,
        "vector_bf16",
    ),
    (
        "vllm::rocm_aiter_triton_add_rmsnorm_pad",
        &[&[64, 2880], &[2880], &[], &[64, 2880]],
        &[BF],
        &[(4, "256")],
        921728.0,
        1504896.0,
        "vector_bf16",
    ),
    (
        "aiter::_fuse_rmsnorm_fp4_quant",
        &[&[4, 256], &[256], &[], &[4, 128], &[128], &[], &[4, 256]],
        &[BF],
        &[],
        9228.0,
        9504.0,
        "vector_bf16",
    ),
    (
        "sglang_profiler::fused_mxfp4_quant_fused_rms_mxfp4_quant",
        &[&[64, 1536], &[1536]],
        &[BF],
        &[],
        589952.0,
        251904.0,
        "vector_bf16",
    ),
    (
        "aiter::mixed_sample_outer_exponential",
        &[&[64], &[64, 129280], &[64, 129280]],
        &["int", BF, "float"],
        &[],
        16547840.0,
        49643776.0,
        "vector_bf16",
    ),
    (
        "aiter::dynamic_per_token_scaled_quant",
        &[&[4, 256], &[4, 256], &[4, 1]],
        &[F8, BF, "float"],
        &[],
        2656.0,
        3088.0,
        "vector_bf16",
    ),
    (
        "vllm::triton_per_token_group_quant_fp8",
        &[&[4, 256]],
        &[BF],
        &[(1, "128")],
        6144.0,
        3104.0,
        "vector_bf16",
    ),
    // Leading dimensions are rows.
    (
        "vllm::triton_per_token_group_quant_fp8",
        &[&[2, 2, 256]],
        &[BF],
        &[(1, "128")],
        6144.0,
        3104.0,
        "vector_bf16",
    ),
    (
        "sglang_profiler::fused_mxfp4_quant_fused_flatten_mxfp4_quant",
        &[&[64, 16, 128]],
        &[BF],
        &[],
        262144.0,
        331776.0,
        "vector_bf16",
    ),
    (
        "aiter::dynamic_per_group_scaled_quant_fp4",
        &[&[64, 3584], &[64, 7168]],
        &[F4, BF],
        &[],
        917504.0,
        1161216.0,
        "vector_bf16",
    ),
    (
        "aiter::fused_dynamic_mxfp4_quant_moe_sort_hip",
        &[&[64, 3584], &[100, 224], &[64, 7168]],
        &[F4, BF],
        &[],
        917504.0,
        1161216.0,
        "vector_bf16",
    ),
    (
        "aiter::fused_allreduce_rmsnorm",
        &[&[1], &[], &[4, 7168], &[4, 7168], &[4, 7168], &[4, 7168], &[7168]],
        &[BF],
        &[],
        143368.0,
        243712.0,
        "",
    ),
    (
        "aiter::fused_allreduce_rmsnorm",
        &[&[1], &[], &[4, 7168], &[4, 7168], &[4, 7168], &[4, 7168], &[7168]],
        &["Scalar"],
        &[],
        143368.0,
        487424.0,
        "",
    ),
    (
        "aiter::fused_allreduce_rmsnorm_",
        &[&[64, 7168], &[64, 7168], &[7168]],
        &[BF],
        &[],
        2293888.0,
        3684352.0,
        "",
    ),
    ("_C_custom_ar::all_reduce", &[&[], &[4, 7168], &[4, 7168]], &[BF], &[], 0.0, 114688.0, ""),
    ("sgl_kernel::qr_all_reduce", &[&[], &[4, 7168], &[4, 7168]], &[BF], &[], 0.0, 114688.0, ""),
    ("aiter::reduce_scatter", &[&[], &[8, 7168], &[4, 7168]], &[BF], &[], 0.0, 172032.0, ""),
    ("aiter::all_gather_reg", &[&[], &[4, 7168], &[8, 7168]], &[BF], &[], 0.0, 172032.0, ""),
    ("sglang::reg_all_gather_into_tensor", &[&[256, 16160], &[32, 16160]], &[BF], &[], 0.0, 9308160.0, ""),
    ("aiter::mhc_post", &[&[4, 2, 128], &[4, 128]], &[BF], &[], 6144.0, 5216.0, "vector_bf16"),
    (
        "aiter::mhc_pre_gemm_sqrsum",
        &[&[2, 4, 8], &[2, 4], &[4, 2, 128], &[8, 256]],
        &["float", "float", BF],
        &[],
        16384.0,
        10528.0,
        "matrix_bf16",
    ),
    (
        "aiter::mhc_pre_big_fuse_rmsnorm",
        &[&[4, 2, 1], &[4, 2, 2], &[4, 128], &[2, 4, 8], &[2, 4], &[4, 128], &[8], &[]],
        &["float"],
        &[],
        4608.0,
        7008.0,
        "vector_fp32",
    ),
    (
        "aiter::mhc_fused_post_pre_gemm_sqrsum",
        &[&[2, 4, 8], &[2, 4], &[4, 2, 128], &[4, 128], &[4, 2, 128], &[4, 2, 1], &[4, 2, 2], &[8, 256]],
        &["float"],
        &[],
        22528.0,
        22912.0,
        "matrix_fp32",
    ),
    // Larger calls.
    ("aiter::rms_norm", &[&[32, 2880], &[2880]], &[BF], &[], 368704.0, 374400.0, "vector_bf16"),
    ("aiter::rmsnorm", &[&[32, 4096], &[32, 4096], &[4096]], &[BF], &[], 524352.0, 532480.0, "vector_bf16"),
    (
        "aiter::add_rmsnorm",
        &[&[32, 4096], &[32, 4096], &[32, 4096], &[32, 4096], &[4096]],
        &[BF],
        &[],
        655424.0,
        1056768.0,
        "vector_bf16",
    ),
    (
        "aiter::rmsnorm2d_fwd_with_dynamicquant_ck",
        &[&[4, 7168], &[4, 7168], &[4, 1], &[7168]],
        &[F8, BF, "float", BF],
        &[],
        172040.0,
        100368.0,
        "vector_bf16",
    ),
    (
        "aiter::rmsnorm_quant",
        &[&[4, 7168], &[4, 7168], &[4, 56], &[7168]],
        &[F8, BF, "float", BF],
        &[(5, "128")],
        172040.0,
        101248.0,
        "vector_bf16",
    ),
    (
        "aiter::_fuse_rmsnorm_fp4_quant",
        &[&[64, 1536], &[1536], &[], &[64, 512], &[512], &[], &[64, 1536]],
        &[BF],
        &[],
        819370.0,
        777216.0,
        "vector_bf16",
    ),
    (
        "aiter::dynamic_per_group_scaled_quant",
        &[&[64, 7168], &[64, 7168], &[64, 1]],
        &[F8, BF, "float"],
        &[],
        1189888.0,
        1376512.0,
        "vector_bf16",
    ),
    (
        "vllm::triton_per_token_group_quant_fp8",
        &[&[64, 7168]],
        &[BF],
        &[(1, "128")],
        2752512.0,
        1390592.0,
        "vector_bf16",
    ),
    (
        "aiter::mixed_sample_outer_exponential",
        &[&[64], &[64, 128256], &[64, 128256]],
        &["int", BF, "float"],
        &[],
        16416768.0,
        49250560.0,
        "vector_bf16",
    ),
    (
        "aiter::fused_qk_rope_cat_and_cache_mla",
        &[&[64, 16, 512], &[64, 16, 64], &[64, 1, 512], &[64, 1, 64], &[9, 1, 576]],
        &[BF, BF, BF, BF, F8],
        &[],
        208896.0,
        2469888.0,
        "vector_bf16",
    ),
    (
        "aiter::fused_qk_rope_concat_and_cache_mla",
        &[&[64, 16, 512], &[64, 16, 64], &[64, 512], &[64, 64], &[9, 1, 576], &[64, 16, 576]],
        &[BF, BF, BF, BF, F8, F8],
        &[],
        208896.0,
        1880064.0,
        "vector_bf16",
    ),
    ("aiter::mhc_post", &[&[64, 4, 7168], &[64, 7168]], &[BF], &[], 18350080.0, 8262656.0, "vector_bf16"),
    (
        "aiter::mhc_pre_gemm_sqrsum",
        &[&[2, 64, 24], &[2, 64], &[64, 4, 7168], &[24, 28672]],
        &["float", "float", BF],
        &[],
        88080384.0,
        6435328.0,
        "matrix_bf16",
    ),
    (
        "aiter::mhc_pre_big_fuse_rmsnorm",
        &[&[64, 4, 1], &[64, 4, 4], &[64, 7168], &[2, 64, 24], &[2, 64], &[3], &[24], &[64, 4, 7168]],
        &["float", "float", BF, "float", "float", "float", "float", BF],
        &[],
        5963776.0,
        4619264.0,
        "vector_bf16",
    ),
    (
        "aiter::mhc_fused_post_pre_gemm_sqrsum",
        &[
            &[2, 64, 24],
            &[2, 64],
            &[64, 4, 7168],
            &[64, 7168],
            &[64, 4, 7168],
            &[64, 4, 1],
            &[64, 4, 4],
            &[24, 28672],
        ],
        &["float", "float", BF, BF, BF, "float"],
        &[],
        106430464.0,
        14697984.0,
        "matrix_bf16",
    ),
    (
        "triton_red_fused_add_mean_mul_pow_rsqrt_0",
        &[&[8, 4096, 2048], &[2048], &[8, 4096, 2048], &[], &[]],
        &[BF],
        &[(3, "32768"), (4, "2048")],
        469762048.0,
        268439552.0,
        "vector_bf16",
    ),
    // The product of a gate and a matrix multiplication, written over the gate.
    (
        "triton_poi_fused__unsafe_view_mul_silu_2",
        &[&[8, 4096, 8192], &[32768, 8192], &[]],
        &[BF],
        &[(2, "268435456")],
        1342177280.0,
        1610612736.0,
        "vector_bf16",
    ),
];

#[test]
fn figures_are_those_of_the_worked_examples() {
    for (name, dims, types, concrete, flops, bytes, expected_spec) in EXAMPLES {
        let model =
            Call::new(name, dims, types, concrete).model().unwrap_or_else(|gap| panic!("{name}: {gap}"));
        assert_eq!((model.flops(), model.bytes()), (Ok(*flops), Ok(*bytes)), "{name} {dims:?}");
        assert_eq!(spec(model.as_ref()), *expected_spec, "{name} {dims:?}");
        for backward in [model.backward_flops(), model.backward_bytes()] {
            assert_eq!(backward.unwrap_err().gap, Gap::NoFormula, "{name}");
        }
    }
}

#[test]
fn what_is_missing_is_named() {
    let matrix: &[i64] = &[4, 512];
    type Unread = (&'static str, &'static [&'static [i64]], &'static [(usize, &'static str)], &'static str);
    let unread: [Unread; 7] = [
        ("aiter::rms_norm", &[&[4, 512]], &[], "Input Dims[1] is missing"),
        ("aiter::rms_norm", &[&[4, 512], &[0]], &[], "the weight Input Dims[1] has no elements"),
        ("aiter::rms_norm", &[&[-4, 512], &[512]], &[], "Input Dims[0] has the negative dimension -4"),
        (
            "vllm::rocm_aiter_rmsnorm_fp8_group_quant",
            &[&[4, 512], &[512]],
            &[(3, "0")],
            "Concrete Inputs[3], the size of a group, is 0",
        ),
        ("FusedRoPEFunc", &[&[4, 2, 32]], &[], "Input Dims[0] has 3 dimensions, not 4"),
        (
            "sgl_kernel::rotary_embedding",
            &[&[32], &[32, 4096], &[32, 1024]],
            &[(3, "0")],
            "the size of a head is 0",
        ),
        ("triton_poi_fused_0", &[&[4, 512]], &[], "Concrete Inputs hold no extent of the grid"),
    ];
    for (name, dims, concrete, reason) in unread {
        let undefined = Call::new(name, dims, &[BF], concrete).model().unwrap_err();
        assert_eq!((undefined.gap, undefined.reason.as_ref()), (Gap::Arguments, reason), "{name}");
    }
    let of_unknown_type =
        Call::new("_C_custom_ar::all_reduce", &[&[], matrix], &["ScalarList"], &[]).model().unwrap();
    assert_eq!(of_unknown_type.bytes().unwrap_err().gap, Gap::DataType);
    assert_eq!(
        model(&OpCall { name: "triton_tem_fused_mm_0", ..OpCall::default() }).unwrap_err().gap,
        Gap::NoModel
    );
}

#[test]
fn what_is_assumed_is_noted() {
    type Assuming = (
        &'static str,
        &'static [&'static [i64]],
        &'static [&'static str],
        &'static [(usize, &'static str)],
        &'static str,
    );
    let assuming: [Assuming; 4] = [
        ("vllm::triton_per_token_group_quant_fp8", &[&[4, 256]], &[BF], &[(1, "0")], "group size 128"),
        ("FusedRoPEFunc", &[&[1, 1, 1, 2]], &["?"], &[], "2 bytes an element: the element type is unknown"),
        ("triton_poi_fused_silu_0", &[&[8]], &[BF], &[(1, "8")], "the first tensor is updated in place"),
        ("triton_poi_fused_add_attend_0", &[&[8], &[8]], &[BF], &[(2, "8")], "no FLOPs of attend"),
    ];
    for (name, dims, types, concrete, note) in assuming {
        let model = Call::new(name, dims, types, concrete).model().unwrap();
        assert_eq!(model.assumption().as_deref(), Some(note), "{name}");
    }
}

#[test]
fn element_types_that_are_assumed_are_noted() {
    type Untyped = (&'static str, &'static [&'static [i64]], &'static str);
    let untyped: [Untyped; 4] = [
        (
            "aiter::mixed_sample_outer_exponential",
            &[&[64], &[64, 100], &[64, 100]],
            "assumed type of logits c10::bfloat16; assumed type of noise float",
        ),
        (
            "aiter::mixed_sample_outer_exponential",
            &[&[64], &[]],
            "assumed number of tokens 1; assumed number of logits 1; assumed type of logits c10::bfloat16; \
             assumed type of noise float",
        ),
        ("aiter::mhc_post", &[&[64, 4, 4096], &[64, 4096]], "assumed element type c10::BFloat16"),
        ("aiter::topk_softplus", &[&[64, 8], &[64, 8], &[64, 256]], "assumed element type c10::BFloat16"),
    ];
    for (name, dims, note) in untyped {
        let typed = Call::new(name, dims, &[BF], &[]);
        let untyped = Call { types: Vec::new(), ..Call::new(name, dims, &[], &[]) }.model().unwrap();
        assert_eq!(untyped.assumption().as_deref(), Some(note), "{name}");
        assert_eq!(untyped.flops(), typed.model().unwrap().flops(), "{name}");
        assert!(untyped.bytes().unwrap() > 0.0, "{name}");
    }
    let typed = Call::new("aiter::topk_softplus", &[&[64, 8], &[64, 8], &[64, 256]], &[BF], &[]);
    assert_eq!(typed.model().unwrap().assumption(), None);
    let dims: &[&[i64]] = &[&[64, 1536], &[64, 8], &[64, 8], &[64, 8, 128]];
    let note = |element_type| {
        Call::new("vllm::gdn_attention_core", dims, &[element_type], &[])
            .model()
            .unwrap()
            .assumption()
            .unwrap()
    };
    assert_eq!(note("float"), format!("{}; assumed 2-byte elements", note(BF)));
}

#[test]
fn data_movement_has_a_roofline() {
    let model = Call::new("_C_custom_ar::all_reduce", &[&[], &[4, 7168]], &[BF], &[]).model().unwrap();
    let roofline = Roofline::from_model(model.as_ref(), architecture("mi300x").unwrap()).unwrap();
    assert_eq!(roofline.time_us(), 114688.0 / 5300e9 * 1e6);
    assert_eq!(roofline.bound().to_string(), "MEMORY_BOUND");
}

/// Names of the operators whose models are tested here, generated kernels among them.
fn names() -> Vec<&'static str> {
    let families = [
        Family::Rope,
        Family::FusedRope,
        Family::RmsNorm,
        Family::Sampling,
        Family::GroupQuant,
        Family::CustomCollective,
        Family::HyperConnection,
    ];
    let mut names: Vec<&str> = families.into_iter().flat_map(ops_of_family).collect();
    names.extend(ops_of_family(Family::BinaryElementwise).filter(|name| name.contains("quant")));
    names.extend([
        "triton_poi_fused_add_mul_0",
        "triton_red_fused_sum_1",
        "triton_per_fused_x_y_2",
        "triton_poi_",
    ]);
    names
}

/// Anything that an argument could be recorded as.
fn value() -> impl Strategy<Value = Value> {
    let integer = prop_oneof![any::<i64>(), -2..70_i64, Just(i64::MAX), Just(0)];
    let text = prop_oneof![
        Just(BF.to_owned()),
        Just("float".to_owned()),
        Just("Scalar".to_owned()),
        integer.clone().prop_map(|number| number.to_string()),
        ".{0,5}",
    ];
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::Bool),
        integer.clone().prop_map(Value::Int),
        any::<f64>().prop_map(Value::Float),
        text.prop_map(Value::Text),
        proptest::collection::vec(integer, 0..5).prop_map(Value::tuple),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| proptest::collection::vec(inner, 0..4).prop_map(Value::List))
}

fn is_sound(figure: &Figure) -> bool {
    figure.as_ref().map_or(true, |figure| *figure >= 0.0 && figure.is_finite())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_call_makes_a_figure_negative(
        name in proptest::sample::select(names()),
        dims in proptest::option::of(proptest::collection::vec(value(), 0..10)),
        types in proptest::option::of(proptest::collection::vec(value(), 0..10)),
        strides in proptest::option::of(proptest::collection::vec(value(), 0..10)),
        concrete in proptest::option::of(proptest::collection::vec(value(), 0..10)),
    ) {
        let call = OpCall {
            name,
            dims: dims.as_deref(),
            types: types.as_deref(),
            strides: strides.as_deref(),
            concrete: concrete.as_deref(),
            ..OpCall::default()
        };
        if let Ok(model) = model(&call) {
            prop_assert!(is_sound(&model.flops()), "{:?}", model);
            prop_assert!(is_sound(&model.bytes()), "{:?}", model);
            let _ = (model.parameters(), model.compute_spec(), model.assumption());
        }
    }

    /// Shapes that fit an operator, of every extent.
    #[test]
    fn extents_of_any_size_are_figures(example in 0..EXAMPLES.len(), extents in proptest::collection::vec(any::<i64>(), 40)) {
        let (name, dims, types, concrete, ..) = EXAMPLES[example];
        let mut call = Call::new(name, dims, types, concrete);
        let mut extents = extents.into_iter();
        for shape in &mut call.dims {
            let Value::Tuple(items) = shape else { unreachable!() };
            for item in items {
                *item = Value::Int(extents.next().unwrap().saturating_abs());
            }
        }
        if let Ok(model) = call.model() {
            prop_assert!(is_sound(&model.flops()), "{:?}", model);
            prop_assert!(is_sound(&model.bytes()), "{:?}", model);
        }
    }

    #[test]
    fn twice_the_tokens_take_twice_the_work(tokens in 1..100_000_u64, channels in 1..10_000_u64) {
        let norm = |tokens: u64| InferenceRmsNorm {
            input: Tensor::new([tokens, channels], BF),
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
