//! Worked examples of attention and of mixtures of experts, and what holds for all of their models.

use perf_models::{
    Attention, AttentionMask, ExpertLayer, ExpertStage, Gap, InferenceAttention, OpCall, PackedSequences,
    PerfModel, StepStatistics, TokenStatistics, Undefined, Value, model,
};
use proptest::prelude::*;

use crate::call::{Call, figures, spec};

const SQUARE: &str = "2,4096,32,128 2,4096,8,128 2,4096,8,128";
const GRADIENT_AND_SQUARE: &str = "2,4096,32,128 2,4096,32,128 2,4096,8,128 2,4096,8,128 2,4096,32,128 2,32,4096 \
     2,4096,32,128 2,4096,8,128 2,4096,8,128";
const VARLEN: &str = "8192,32,128 8192,8,128 8192,8,128 5 5";

#[test]
fn attention_of_every_layout_has_the_figures_of_its_worked_example() {
    let flash = |shapes, types, causal: &str| {
        Call::new("flash_attn::_flash_attn_forward", shapes, types)
            .scalars(3, &format!("0. 0.088 {causal} -1 -1"))
    };
    let varlen = |shapes, longest: &str, causal: &str| {
        Call::new("flash_attn::_flash_attn_varlen_forward", shapes, "bf16")
            .scalars(5, &format!("{longest} 0. 0.088 {causal} -1 -1"))
    };
    let head_major = "2,32,4096,128 2,8,4096,128 2,8,4096,128";
    let mla = "1,1024,16,192 1,1024,16,192 1,1024,16,128";
    let causal_bf16 = [274_877_906_944.0, 167_772_160.0, 687_197_913_088.0, 268_435_456.0];
    let cases: [(&str, Call, [f64; 4], &str); 14] = [
        ("causal", flash(SQUARE, "bf16", "True"), causal_bf16, "matrix_bf16"),
        (
            "not causal",
            flash(SQUARE, "bf16", "False"),
            [549_755_813_888.0, 167_772_160.0, 1_374_395_826_176.0, 268_435_456.0],
            "matrix_bf16",
        ),
        (
            "four bytes an element",
            flash(SQUARE, "float", "False"),
            [549_755_813_888.0, 335_544_320.0, 1_374_395_826_176.0, 536_870_912.0],
            "matrix_fp32",
        ),
        (
            "eight bits in, sixteen out",
            Call::new("flash_attn_3::fwd", SQUARE, "fp8").scalars(24, "True -1 -1"),
            // Outputs take twice as many bytes as queries.
            [274_877_906_944.0, 117_440_512.0, 687_197_913_088.0, 167_772_160.0],
            "matrix_fp8",
        ),
        (
            "packed sequences of flash-attention 3",
            Call::new(
                "flash_attn_3::fwd",
                "8192,32,128 8192,8,128 8192,8,128 - - - 8192,32,128 5 5 - - - - -",
                "bf16",
            )
            .scalars(12, "4096 4096")
            .scalars(24, "True -1 -1"),
            [183_229_571_072.0, 167_772_160.0, 458_077_073_024.0, 268_435_456.0],
            "matrix_bf16",
        ),
        (
            "scores are not recomputed",
            Call::new("aten::_scaled_dot_product_efficient_attention", head_major, "bf16")
                .scalars(4, "True 0. True"),
            [274_877_906_944.0, 167_772_160.0, 549_758_959_616.0, 268_435_456.0],
            "matrix_bf16",
        ),
        (
            "recorded with PyTorch",
            Call::new(
                "aten::_scaled_dot_product_flash_attention",
                "4,12,197,64 4,12,197,64 4,12,197,64",
                "bf16",
            )
            .scalars(3, "0. False False 0.125"),
            [476_884_992.0, 4_841_472.0, 1_192_212_480.0, 8_472_576.0],
            "matrix_bf16",
        ),
        (
            "recorded with aiter",
            Call::new("aiter::fmha_v3_fwd", "1,768,24,128 1,768,24,128 1,768,24,128", "bf16")
                .scalars(3, "0. 0.088 False -1 -1"),
            [7_247_757_312.0, 18_874_368.0, 18_119_393_280.0, 33_030_144.0],
            "matrix_bf16",
        ),
        (
            "output first",
            Call::new("aiter::wrapper_fmha_v3_fwd", &format!("- {SQUARE}"), "none bf16")
                .scalars(4, "0. 0.088 True"),
            causal_bf16,
            "matrix_bf16",
        ),
        (
            "values of another head dimension",
            flash(mla, "bf16", "True"),
            [5_368_709_120.0, 20_971_520.0, 13_958_643_712.0, 37_748_736.0],
            "matrix_bf16",
        ),
        (
            "packed sequences",
            varlen(VARLEN, "4096 4096", "True"),
            [183_229_571_072.0, 167_772_160.0, 458_077_073_024.0, 268_435_456.0],
            "matrix_bf16",
        ),
        (
            "packed sequences that do not divide evenly",
            varlen("8191,32,128 8191,8,128 8191,8,128 5 5", "4096 4096", "False"),
            [366_459_142_144.0, 167_751_680.0, 916_154_146_048.0, 268_402_688.0],
            "matrix_bf16",
        ),
        (
            "rows and columns of a protein",
            Call::new("EvoformerAttention", "1,512,256,4,32 1,512,256,4,32 1,512,256,4,32", "bf16"),
            [17_179_869_184.0, 134_217_728.0, 34_359_738_368.0, 234_881_024.0],
            "matrix_bf16",
        ),
        (
            "all keys of one sequence",
            varlen("8192,32,128 8192,8,128 8192,8,128 2 2", "8192 8192", "True"),
            [549_755_813_888.0, 167_772_160.0, 1_374_392_680_448.0, 268_435_456.0],
            "matrix_bf16",
        ),
    ];
    for (what, call, expected, expected_spec) in cases {
        let model = call.model();
        assert_eq!(figures(&*model), expected.map(Ok), "{what}");
        assert_eq!(spec(&*model), expected_spec, "{what}");
    }
}

#[test]
fn backward_operators_are_their_own_backward_pass() {
    let all = 1_374_395_826_176.0;
    let grouped = GRADIENT_AND_SQUARE;
    let cases = [
        (
            Call::new("flash_attn::_flash_attn_backward", grouped, "bf16")
                .scalars(9, "0. 0.0883 False -1 -1"),
            all,
            "False",
        ),
        (
            Call::new("flash_attn::_flash_attn_backward", grouped, "bf16")
                .scalars(9, "0.1 0.0883 True -1 -1"),
            all / 2.0,
            "True",
        ),
        (Call::new("flash_attn::_flash_attn_backward", grouped, "bf16"), all / 2.0, "True"),
        // Without the dropout.
        (
            Call::new("flash_attn::_flash_attn_backward", grouped, "bf16")
                .scalars(9, "0.0883 False -1 -1 0."),
            all,
            "False",
        ),
        (
            Call::new("aiter::_flash_attn_backward", grouped, "bf16")
                .scalars(9, "None 0.1 0.0883 False -1 -1"),
            all,
            "False",
        ),
        // Without the bias' gradient.
        (
            Call::new("aiter::_flash_attn_backward", grouped, "bf16").scalars(9, "0.1 0.0883 True -1 -1"),
            all / 2.0,
            "True",
        ),
        (Call::new("aiter::mha_bwd", grouped, "bf16").scalars(6, "0.1 0.0883 True -1 -1"), all / 2.0, "True"),
        (
            Call::new("aiter::wrapper_fmha_v3_bwd", grouped, "bf16").scalars(7, "0.1 0.0883 False -1 -1"),
            all,
            "False",
        ),
    ];
    for (call, flops, causal) in cases {
        let model = call.model();
        assert_eq!(model.flops(), Ok(flops), "{}", call.name);
        assert_eq!(model.backward_flops(), Ok(flops), "{}", call.name);
        assert_eq!(model.bytes(), Ok(268_435_456.0), "{}", call.name);
        assert_eq!(spec(&*model), "matrix_bf16", "{}", call.name);
        assert_eq!((call.parameter("causal").as_str(), call.parameter("H_KV").as_str()), (causal, "8"));
        let dropout =
            if call.concrete.iter().any(|text| text.as_text() == Some("0.1")) { "0.1" } else { "0.0" };
        assert_eq!(call.parameter("dropout"), dropout, "{}", call.name);
    }
}

#[test]
fn earlier_releases_of_pytorch_have_no_bias_before_the_flag() {
    let head_major = "2,32,4096,128 2,8,4096,128 2,8,4096,128";
    let cases = [
        ("aten::_scaled_dot_product_cudnn_attention", "0.1 True False", "True", "0.1"),
        ("aten::_scaled_dot_product_cudnn_attention", "0. False False", "False", "0.0"),
        ("aten::_scaled_dot_product_efficient_attention", "False True", "True", "0.0"),
        ("aten::_scaled_dot_product_efficient_attention", "True False", "False", "0.0"),
    ];
    for (name, scalars, causal, dropout) in cases {
        let call = Call::new(name, head_major, "bf16").scalars(3, scalars);
        let flops = if causal == "True" { 274_877_906_944.0 } else { 549_755_813_888.0 };
        assert_eq!(call.model().flops(), Ok(flops), "{name} {scalars}");
        assert_eq!((call.parameter("causal"), call.parameter("dropout")), (causal.into(), dropout.into()));
    }
}

#[test]
fn a_backward_call_of_three_inputs_records_no_gradient() {
    let call = Call::new("aiter::_flash_attn_backward", SQUARE, "bf16").scalars(10, "0.1 0.0883 True");
    let model = call.model();
    assert_eq!((model.flops(), model.bytes()), (Ok(687_197_913_088.0), Ok(268_435_456.0)));
    assert_eq!((call.parameter("N_Q"), call.parameter("H_Q")), ("4096".into(), "32".into()));
}

#[test]
fn packed_sequences_of_flash_attention_3_need_their_offsets() {
    let shapes = "8192,32,128 8192,8,128 8192,8,128 - - - 8192,32,128";
    let call = Call::new("flash_attn_3::fwd", shapes, "bf16").scalars(12, "4096 4096").scalars(24, "True");
    assert_eq!(call.read().unwrap_err().reason, "Input Dims[7] is missing");
}

#[test]
fn values_are_read_as_texts_are() {
    let mut call = Call::new("flash_attn::_flash_attn_varlen_forward", VARLEN, "bf16")
        .scalars(5, "4096 4096 0.5 0.088 True 15 0");
    let of = |call: &Call| (call.model().flops().unwrap(), call.model().parameters());
    let as_texts = of(&call);
    let values = [
        Value::Int(4096),
        Value::Int(4096),
        Value::Float(0.5),
        Value::Float(0.088),
        true.into(),
        Value::Int(15),
        Value::Int(0),
    ];
    call.concrete.splice(5.., values);
    assert_eq!(of(&call), as_texts);
}

#[test]
fn masks_of_unequal_lengths_count_what_queries_see() {
    let heads_and_dims = 4.0 * 64.0;
    let flash =
        |name, shapes, causal: &str| Call::new(name, shapes, "bf16").scalars(3, &format!("0. 0.1 {causal}"));
    let decode = "1,1,1,64 1,100,1,64 1,100,1,64";
    let chunk = "1,2,1,64 1,5,1,64 1,5,1,64";
    let head_major_chunk = "1,1,2,64 1,1,5,64 1,1,5,64";
    let efficient = "aten::_scaled_dot_product_efficient_attention";
    let cases = [
        ("one query sees all keys", flash("flash_attn::_flash_attn_forward", decode, "True -1 -1"), 100.0),
        ("the last query stands at the last key", flash("FlashAttnFunc", chunk, "True"), 9.0),
        ("aiter likewise", flash("aiter::mha_fwd", chunk, "True -1 -1"), 9.0),
        (
            "PyTorch's flash backend likewise",
            Call::new("aten::_scaled_dot_product_flash_attention", head_major_chunk, "bf16")
                .scalars(3, "0. True"),
            9.0,
        ),
        (
            "PyTorch's first query stands at the first key",
            Call::new(efficient, head_major_chunk, "bf16").scalars(4, "True 0. True"),
            3.0,
        ),
        ("a window of one key before", flash("flash_attn::_flash_attn_forward", chunk, "True 1 0"), 4.0),
        ("a window as a pair", flash("FlashAttnFunc", chunk, "True [1,0]"), 4.0),
        ("a window on both sides", flash("aiter::fmha_v3_fwd", chunk, "False 1 1"), 5.0),
    ];
    for (what, call, pairs) in cases {
        assert_eq!(call.model().flops(), Ok(pairs * heads_and_dims), "{what}");
    }
    assert_eq!(
        flash("aiter::fmha_v3_fwd", chunk, "False 1 1").parameter("window_size"),
        "(1, 1)",
        "figures that depend on a window show it"
    );
}

const DECODE: &str = "execute_64_context_0(sq0sk0sqsq0sqsk0)_generation_64(sq64sk131072sqsq64sqsk131072)";
const MIXED: &str =
    "execute_6147_context_2(sq6144sk7144sqsq20971520sqsk23019520)_generation_3(sq3sk6144sqsq3sqsk6144)";
const MIXED_8192: &str =
    "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)";
const DECODE_32: &str = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)";
const PREFILL: &str =
    "execute_15360_context_15(sq15360sk15360sqsq15728640sqsk15728640)_generation_0(sq0sk0sqsq0sqsk0)";
const NOTHING: &str = "execute_0_context_0(sq0sk0sqsq0sqsk0)_generation_0(sq0sk0sqsq0sqsk0)";

const TILELANG: &str = "sglang_profiler::tilelang_kernel_tilelang_sparse_fwd";
const RAGGED: &str = "sglang_profiler::attention_paged_attention_ragged";

#[rustfmt::skip]
#[test]
fn attention_of_inference_engines_has_the_figures_of_its_worked_example() {
    let unified = "vllm::unified_attention_with_output";
    let v4 = |name| Call::new(name, "1,8,512", "bf16").step(DECODE).attribute("v4_model_name", "DeepSeek-V4-Flash");
    let gluon = |window| Call::new("aiter::pa_decode_gluon", "64,8,64 64,8,64 1000,1,16,64", "bf16 bf16 fp8").scalars(19, window).step(DECODE);
    // A latent of 576 per cached token; 2 bytes, or 1 with eight-bit caches, where new ones are still read at 2.
    let latent = |cached: f64| 2.0 * (64.0 * 16.0 * (576.0 + 512.0) + 64.0 * 576.0) + cached * (131_072.0 - 64.0) * 576.0;
    let cases = [
        (Call::new(unified, "6147,64,128 6147,8,128 6147,8,128", "bf16").step(MIXED), 410_907_574_272.0, 255_852_544.0, "matrix_bf16"),
        (Call::new(unified, "6147,32,128 6147,8,128", "bf16").step(MIXED), 205_453_787_136.0, 155_140_096.0, "matrix_bf16"),
        (Call::new(unified, "6147,32,128 6147,8,128", "bf16").step(MIXED).attribute("k_cache_dtype", "c10::Float8_e4m3fn"), 205_453_787_136.0, 140_515_328.0, "matrix_bf16"),
        (Call::new(unified, "8192,64,64 8192,8,64", "bf16").step(MIXED_8192), 65_010_180_096.0, 211.826171875 * 1_048_576.0, "matrix_bf16"),
        (Call::new(unified, "32,64,64 32,8,64", "bf16").step(DECODE_32), 902_529_024.0, 108.08984375 * 1_048_576.0, "matrix_bf16"),
        (Call::new("aiter::fmha_v3_varlen_fwd", "6147,16,192 7144,16,192 7144,16,128", "bf16").step(MIXED), 128_408_616_960.0, 199_014_400.0, "matrix_bf16"),
        (Call::new("aiter::fmha_v3_varlen_fwd", "64,8,64 64,8,64 64,8,128", "bf16").step(DECODE), 402_653_184.0, 402_849_792.0, "matrix_bf16"),
        (Call::new("aiter::mha_varlen_fwd", "64,8,64 64,8,64 64,8,128", "bf16").step(DECODE), 268_435_456.0, 268_566_528.0, "matrix_bf16"),
        (Call::new("aiter::mha_batch_prefill", "15360,32,128 835874,8,128 835874,8,128", "bf16").step(PREFILL), 128_849_018_880.0, 314_572_800.0, "matrix_bf16"),
        (Call::new("pseudo_mla_prefill_fwd", "15360,16,192 15360,16,192 15360,16,128", "fp8").step(PREFILL), 80_530_636_800.0, 157_286_400.0, "matrix_fp8"),
        (Call::new("pseudo_mla_decode_fwd", "64,16,576 1000,1,1,576", "bf16").step(DECODE), 4_563_402_752.0, latent(2.0), "matrix_bf16"),
        (Call::new("pseudo_mla_decode_fwd", "64,16,576 1000,1,1,576", "bf16 fp8").step(DECODE), 4_563_402_752.0, latent(1.0), "matrix_bf16"),
        (Call::new(TILELANG, "64,16,576 4096,1,576 64,1,2048", "bf16").scalars(4, "256").step(DECODE), 2.0 * 16.0 * 832.0 * 131_072.0, latent(2.0) - 2.0 * 64.0 * 16.0 * 256.0, "matrix_bf16"),
        (Call::new(RAGGED, "- - 64,8,64 128,16,1,64 128,16,1,128", "none none bf16").step(DECODE), 402_653_184.0, 50_528_256.0, "matrix_bf16"),
        (Call::new(RAGGED, "64,32,128 1 64,32,128 5000,16,8,128 5000,16,8,128", "bf16").step(DECODE), 2_147_483_648.0, 537_919_488.0, "matrix_bf16"),
        (gluon("128"), 16_777_216.0, 1_187_840.0, "matrix_bf16"),
        (gluon("-1"), 268_435_456.0, 16_916_480.0, "matrix_bf16"),
        (v4("pseudo_v4_paged_decode_swa"), 1_073_741_824.0, 1024.0 * (64.0 * 128.0 + 64.0 * 128.0), "matrix_bf16"),
        (v4("pseudo_v4_paged_decode_csa"), 5_368_709_120.0, 1024.0 * (64.0 * 128.0 + 64.0 * 640.0), "matrix_bf16"),
        (v4("pseudo_v4_paged_decode_hca"), 1_207_959_552.0, 1024.0 * (64.0 * 128.0 + 64.0 * 144.0), "matrix_bf16"),
        (v4("pseudo_v4_paged_decode_swa").attribute("v4_H_Q", 32), 536_870_912.0, 1024.0 * (64.0 * 64.0 + 64.0 * 128.0), "matrix_bf16"),
        (Call::new("aiter::pa_sparse_prefill_opus_fwd", "64,8,64 - 32 - - 16", "bf16"), 98_304.0, 137_216.0, "matrix_bf16"),
        (Call::new("aiter::pa_sparse_prefill_opus_fwd", "1024,16,512 9,512 600000 1 1 131072", "bf16 fp8"), 23_955_767_296.0, 407_863_296.0, "matrix_bf16"),
        (Call::new("vllm::gdn_attention_core", "64,1536 64,8 64,8 64,8,128 -", "bf16").step(DECODE), 29_360_128.0, 329_728.0, "matrix_bf16"),
        (Call::new("vllm::gdn_attention_core", "6147,2048 6147,8 6147,8 6147,8,128", "bf16").step(MIXED), 5_639_897_088.0, 37_963_872.0, "matrix_bf16"),
        (Call::new("sglang::store_cache", "64,5120 64,5120", "bf16"), 0.0, 2_621_440.0, "vector_bf16"),
        (Call::new("sglang::store_cache", "15360,1024 15360,1024", "bf16"), 0.0, 125_829_120.0, "vector_bf16"),
    ];
    for (call, flops, bytes, expected_spec) in cases {
        let model = call.model();
        assert_eq!(model.flops(), Ok(flops), "{}", call.name);
        assert_eq!(model.bytes(), Ok(bytes), "{}", call.name);
        assert_eq!(spec(&*model), expected_spec, "{}", call.name);
        assert_eq!(model.backward_flops().unwrap_err().gap, Gap::NoFormula, "{}", call.name);
    }
}

#[test]
fn attention_without_token_counts_says_why_it_has_no_figures() {
    let unified = |step: Option<&str>| {
        let call = Call::new("vllm::unified_attention_with_output", "64,32,128 64,8,128 64,8,128", "bf16");
        Call { step: step.map(str::to_owned), ..call }
    };
    let gdn = Call::new("vllm::gdn_attention_core", "64,1536 64,8 64,8 64,8,128", "bf16").step(NOTHING);
    let v4 = Call::new("pseudo_v4_paged_decode_hca", "64,16,512", "bf16").step(PREFILL);
    let native = "execute_context_2(6144)_generation_3(3)";
    let cases = [
        (unified(None), Gap::Arguments, "no annotation of a step is around the call"),
        (
            unified(Some("ProfilerStep#3")),
            Gap::Arguments,
            "the annotation around the call is of no known engine",
        ),
        (
            unified(Some(native)),
            Gap::Arguments,
            "the annotation of the step around the call does not say how long its contexts are",
        ),
        (unified(Some(NOTHING)), Gap::NoFormula, "the step around the call counts no tokens"),
        (gdn, Gap::NoFormula, "the step around the call counts no tokens"),
        (v4, Gap::NoFormula, "the step around the call counts no tokens"),
    ];
    for (call, gap, reason) in cases {
        let model = call.model();
        let expected = Undefined { gap, reason: reason.into() };
        assert_eq!(model.flops(), Err(expected.clone()), "{} in {:?}", call.name, call.step);
        assert_eq!(model.bytes(), Err(expected), "{} in {:?}", call.name, call.step);
        // The row stays, with what is known.
        assert_eq!(spec(&*model), "matrix_bf16");
        assert_eq!(
            call.parameter("N_Q"),
            if call.step.as_deref() == Some(NOTHING) && call.name.contains("gdn") { "0" } else { "64" }
        );
    }
}

#[test]
fn a_window_can_be_given_where_it_is_not_recorded() {
    let unified =
        Call::new("vllm::unified_attention_with_output", "64,8,64 64,8,64 64,8,64", "bf16").step(DECODE);
    let gluon = Call::new("aiter::pa_decode_gluon", "64,8,64 64,8,64 1000,8,16,64", "bf16")
        .scalars(19, "-1")
        .step(DECODE);
    let ragged = Call::new(RAGGED, "- - 64,8,64 128,16,8,64 128,16,8,64", "bf16").step(DECODE);
    for call in [unified, gluon, ragged] {
        let all = call.model();
        assert_eq!(all.flops(), Ok(4.0 * 8.0 * 64.0 * 131_072.0), "{}", call.name);
        let windowed = call.attribute("sliding_window", 128);
        let model = windowed.model();
        // 64 queries, each with 128 of its 2048 keys.
        assert_eq!(model.flops(), Ok(4.0 * 8.0 * 64.0 * 64.0 * 128.0), "{}", windowed.name);
        assert!(model.bytes().unwrap() < all.bytes().unwrap() / 8.0, "{}", windowed.name);
        assert_eq!(windowed.parameter("sliding_window"), "128", "{}", windowed.name);
    }
}

const FUSED: &str = "pseudo_op::moe_aiter_fused_1stage";
const BLOCKSCALE: &str = "aiter::fmoe_fp8_blockscale_g1u1";
const GEMM1: &str = "aiter::moe_cktile2stages_gemm1_ck";
const GEMM2: &str = "aiter::moe_cktile2stages_gemm2_ck";
const TRITON_UP: &str = "pseudo_op::moe_triton_unfused_up";
const TRITON_DOWN: &str = "pseudo_op::moe_triton_unfused_down";
const GPTQ_UP: &str = "pseudo_op::moe_gptq_awq_up";
const GPTQ_DOWN: &str = "pseudo_op::moe_gptq_awq_down";
const INVOKE: &str = "sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel";
const APPEND: &str = "sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts";

#[rustfmt::skip]
#[test]
fn experts_have_the_figures_of_their_worked_example() {
    let triton = |name, shapes, kernel, topk: i64| Call::new(name, shapes, "bf16").kernel(kernel).attribute("MoE topk", topk).attribute("MoE GEMM gated", name == TRITON_UP);
    let gptq = |name| Call::new(name, "32,4096 8,14336,2048 8,4096,3584 32,2 32,2", "bf16 uint8 uint8").attribute("MoE topk", 2);
    let flydsl = "32,7168 257,512,3584 257,7168,128 32,9";
    let sorting = "128,8 128,8 1024 1024 64 2 128,7168";
    let cases = [
        (Call::new(FUSED, "32,4096 8,14336,4096 8,4096,7168 32,2", "bf16 fp8 fp8"), 11_274_682_368.0, 705_096_576.8941504, "matrix_bf16"),
        (Call::new(FUSED, "32,7168 257,512,3584 257,7168,128 32,9", "bf16 fp4"), 3_174_793_216.0, 482_236_190.7301055, "matrix_bf16"),
        // Four-bit weights in bytes: as many bytes as in the type of pairs.
        (Call::new(FUSED, "32,7168 257,512,3584 257,7168,128 32,9", "bf16 uint8"), 3_174_793_216.0, 482_236_190.7301055, "matrix_bf16"),
        (Call::new(FUSED, "32,4096 64,2816,4096 64,4096,1408 32,6", "bf16 fp8"), 6_645_219_328.0, 1_060_374_450.7572932, "matrix_bf16"),
        (Call::new(BLOCKSCALE, "32,4096 32,4096 8,14336,4096 8,4096,7168", "bf16 fp8").scalars(8, "2"), 11_274_682_368.0, 704_965_504.8941504, "matrix_fp8"),
        (Call::new("aiter::fmoe_g1u1", "16,7168 16,7168 256,512,7168 256,7168,256", "bf16 fp8").scalars(8, "8"), 1_411_006_464.0, 561_648_214.6711447, "matrix_fp8"),
        (Call::new(GEMM1, "32,4096 8,14336,512 32,2,7168", "bf16 fp8 bf16"), 7_516_192_768.0, 470_894_507.2627669, "matrix_bf16"),
        (Call::new(GEMM1, "16,2880 32,5760,1440 16,4,2880", "bf16 fp4 bf16"), 2_123_366_400.0, 234_544_139.30915055, "matrix_bf16"),
        (Call::new(GEMM2, "32,2,7168 8,4096,896 32,4096", "bf16 fp8 bf16"), 3_758_096_384.0, 236_037_077.63138345, "matrix_bf16"),
        (Call::new(GEMM2, "16,4,2880 32,2880,1440 16,2880", "bf16 fp4 bf16"), 1_061_683_200.0, 117_502_469.65457527, "matrix_bf16"),
        (Call::new("aiter::ck_moe_stage1", "32,3584 257,512,3584 257,7168,128 1 1 1 32,9,256", "fp4"), 2_113_929_216.0, 321_030_676.486737, "matrix_fp4"),
        (Call::new("aiter::ck_moe_stage2", "32,9,128 257,512,3584 257,7168,128", "fp4"), 1_056_964_608.0, 160_591_114.2433685, "matrix_fp4"),
        (Call::new("pseudo_op::moe_flydsl_stage1", flydsl, "bf16 fp4"), 2_113_929_216.0, 321_485_332.486737, "matrix_fp4"),
        (Call::new("pseudo_op::moe_flydsl_stage2", flydsl, "bf16 fp4"), 1_056_964_608.0, 161_045_770.2433685, "matrix_fp4"),
        (triton(TRITON_UP, "32,4096 32,8", "moe_mxfp4_up_kernel", 2), 4_294_967_296.0, 134_990_677.50364769, "matrix_fp4"),
        (triton(TRITON_DOWN, "32,4096 32,8", "moe_fp8_down_kernel", 2), 2_147_483_648.0, 134_990_677.50364769, "matrix_fp8"),
        (triton(TRITON_UP, "32,3072 32,32", "_matmul_ogs_NNT_bf16xbf16xmxfp4", 4), 4_831_838_208.0, 298_763_238.17425185, "matrix_fp4"),
        (triton(TRITON_DOWN, "32,3072 32,32", "_matmul_ogs_NNT_bf16xbf16xmxfp4", 4), 2_415_919_104.0, 142.93016346657365 * 1_048_576.0, "matrix_fp4"),
        (triton(TRITON_UP, "8192,3072 8192,32", "_matmul_ogs_NNT_bf16xbf16xmxfp4", 4), 1_236_950_581_248.0, 528.0 * 1_048_576.0, "matrix_fp4"),
        (triton(TRITON_DOWN, "8192,3072 8192,32", "_matmul_ogs_NNT_bf16xbf16xmxfp4", 4), 618_475_290_624.0, 384.0 * 1_048_576.0, "matrix_fp4"),
        (Call::new(GPTQ_UP, "32,2048 64,2816,1024 64,2048,704 32,6 32,6", "bf16 uint8").attribute("MoE topk", 6).attribute("MoE GEMM gated", true), 2_214_592_512.0, 177_313_437.7928822, "matrix_bf16"),
        (Call::new(GPTQ_DOWN, "32,2048 64,2816,1024 64,2048,704 32,6 32,6", "bf16 uint8").attribute("MoE topk", 6), 1_107_296_256.0, 88_992_590.8964411, "matrix_bf16"),
        (Call::new("aiter::ck_moe_stage1", "16,7168 32,4096,3584 32,7168,1024 1 1 1 16,8,2048", "bf16 fp4"), 7_516_192_768.0, 465_807_476.890625, "matrix_bf16"),
        (Call::new("aiter::ck_moe_stage2", "16,8,1024 32,4096,3584 32,7168,1024", "fp4"), 3_758_096_384.0, 232_715_322.4453125, "matrix_fp4"),
        (Call::new("pseudo_op::moe_flydsl_stage1", "32,7168 32,4096,3584 32,7168,1024 32,8", "bf16 fp4"), 15_032_385_536.0, 471_222_187.2627669, "matrix_fp4"),
        (Call::new("pseudo_op::moe_flydsl_stage2", "32,7168 32,4096,3584 32,7168,1024 32,8", "bf16 fp4"), 7_516_192_768.0, 236_364_757.63138345, "matrix_fp4"),
        (Call::new("aiter::moe_sorting_fwd", "64,8 64,8 2048 2048 64 2 64,7168", "int float int float int int bf16"), 458_752.0, 938_248.0, "vector_bf16"),
        (gptq(GPTQ_UP), 7_516_192_768.0, 236_037_077.63138345, "matrix_bf16"),
        (gptq(GPTQ_DOWN), 3_758_096_384.0, 118_608_362.81569172, "matrix_bf16"),
        (Call::new(INVOKE, "64,2048 128,1536,2048 - 512,1536 - - - - 64,4", "bf16 fp8 none bf16"), 1_610_612_736.0, 351_706_788.95098263, "matrix_fp8"),
        (Call::new(INVOKE, "64,2048 128,1536,2048 - 512,1536 - 128 - - 64,8", "bf16 fp8 none bf16"), 3_221_225_472.0, 399_850_390.47522694, "matrix_fp8"),
        (Call::new(APPEND, "64,8 64,8", "int float"), 512.0, 8192.0, "vector_fp32"),
        (Call::new("aiter::biased_grouped_topk_hip", "64,256 256 64,8 64,8 -", "bf16 bf16 float int"), 16_384.0, 37_376.0, "vector_bf16"),
        (Call::new("aiter::moe_sorting_fwd", sorting, "int float int float int int bf16"), 917_504.0, 1_851_656.0, "vector_bf16"),
        (Call::new("aiter::topk_softplus", "64,6 64,6 64,256", "float int bf16"), 98_304.0, 36_864.0, "vector_bf16"),
        (Call::new("aiter::topk_softplus", "64,8 64,8 64,256", "bf16"), 98_304.0, 37_888.0, "vector_bf16"),
        (Call::new("MoEDispatch", "8192,4096", "bf16"), 0.0, 67_108_864.0, ""),
    ];
    for (call, flops, bytes, expected_spec) in cases {
        let model = call.model();
        assert_eq!(model.flops(), Ok(flops), "{}", call.name);
        let found = model.bytes().unwrap();
        assert!((found - bytes).abs() <= 1e-12 * bytes, "{}: {found} bytes, not {bytes}", call.name);
        assert_eq!(spec(&*model), expected_spec, "{}", call.name);
    }
}

#[test]
fn experts_without_types_or_sizes_keep_what_is_known() {
    let bf16_kernel = "_matmul_ogs_NNN_bf16xbf16xbf16_128x128";
    let up = Call::new(TRITON_UP, "32,3072 32,32", "bf16").kernel(bf16_kernel).attribute("MoE topk", 4);
    let model = up.model();
    assert_eq!(model.flops(), Ok(2_415_919_104.0), "no gate in the kernel's name");
    assert!(model.bytes().unwrap() > 2.0 * 31.0 * 3072.0 * 3072.0);
    assert_eq!((spec(&*model).as_str(), up.parameter("weight_dtype").as_str()), ("matrix_bf16", "None"));

    let no_topk = Call::new("aiter::fmoe_g1u1", "16,7168 16,7168 256,512,7168 256,7168,256", "bf16 fp8");
    assert_eq!(no_topk.read().unwrap_err().gap, Gap::Arguments);
    let no_weights = Call::new(GEMM1, "16,2880 32,5760,0 16,4,2880", "bf16 fp4 bf16");
    assert_eq!(no_weights.read().unwrap_err().reason, "Input Dims[1] has weights of no elements");
    let unrecorded = Call::new("MoECombine", "", "").model();
    assert_eq!((unrecorded.flops(), unrecorded.backward_flops()), (Ok(0.0), Ok(0.0)));
    assert_eq!(unrecorded.backward_bytes().unwrap_err().gap, Gap::Arguments);
    let unknown =
        Call::new("flash_attn::_flash_attn_forward", SQUARE, "none").scalars(3, "0. 0.1 True").model();
    assert_eq!((unknown.flops(), unknown.bytes().unwrap_err().gap), (Ok(274_877_906_944.0), Gap::DataType));
}

#[test]
fn figures_that_rest_on_an_assumption_say_so() {
    let v4 = |name| Call::new(name, "64,16,512", "bf16").step(DECODE);
    let all_v4 = "assumed 64 query heads; assumed a window of 128 tokens; assumed top-k 512; assumed DeepSeek-V4-Flash";
    let gdn = "64,1536 64,8 64,8 64,8,128";
    let batch_prefill =
        Call::new("aiter::mha_batch_prefill", "96,32,128 9999,8,128 9999,8,128 4 4 128", "bf16")
            .scalars(6, "32 64 0. 0.08 0. False True -1 -1");
    let cases = [
        (v4("pseudo_v4_paged_decode_csa"), Some(all_v4)),
        (
            v4("pseudo_v4_paged_decode_swa")
                .attribute("v4_model_name", "deepseek-v4-pro")
                .attribute("v4_H_Q", 16)
                .attribute("v4_window", 64),
            None,
        ),
        (
            Call::new("pseudo_mla_decode_fwd", "64,16,576 1000,1,1,576", "bf16").step(DECODE),
            Some("assumed values of 512 elements"),
        ),
        (Call::new("pseudo_mla_decode_fwd", "64,16,576 4096,1,576 64,16,512", "bf16").step(DECODE), None),
        (
            Call::new("vllm::gdn_attention_core", gdn, "bf16"),
            Some("tokens counted by rows, padding included; assumed two value heads per key head"),
        ),
        (
            Call::new("vllm::unified_attention_with_output", "888,8,64 888,1,64", "bf16")
                .step("execute_context_1(888_788544)_generation_0(0)"),
            Some("assumed that prompts have no cached prefix"),
        ),
        (
            batch_prefill,
            Some(
                "token counts from the call's own lengths; assumed that all contexts are as long as the longest",
            ),
        ),
        (
            Call::new("flash_attn::_flash_attn_varlen_forward", VARLEN, "bf16")
                .scalars(5, "4096 4096 0. 0.1 True"),
            Some("assumed that all sequences but the longest are equally long"),
        ),
        (
            Call::new("flash_attn::_flash_attn_varlen_forward", VARLEN, "bf16")
                .scalars(5, "2048 2048 0. 0.1 True"),
            None,
        ),
        (
            Call::new("flash_attn::_flash_attn_backward", GRADIENT_AND_SQUARE, "bf16"),
            Some("assumed a causal mask"),
        ),
        (
            Call::new(TRITON_UP, "32,3072 32,32", "bf16").kernel("_matmul_ogs_bf16xmxfp4_swiglu"),
            Some(
                "assumed as many intermediate as hidden elements; assumed top-k 4; assumed a gate by the kernel's name",
            ),
        ),
        (
            Call::new(GPTQ_UP, "32,2048 64,2816,1024 64,2048,704", "bf16 uint8"),
            Some("assumed a gate; assumed top-k 8; assumed weights of four bits"),
        ),
        (
            Call::new(GPTQ_DOWN, "32,2048 64,2816,1024 64,2048,704 - 32,6", "bf16 uint8"),
            Some("assumed weights of four bits"),
        ),
        (
            Call::new(FUSED, "32,4096 8,14336,4096 8,4096,7168 32,2", "bf16 none"),
            Some("assumed 1-byte weights"),
        ),
        (Call::new(FUSED, "32,4096 8,14336,4096 8,4096,7168 32,2", "bf16 fp8"), None),
    ];
    for (call, note) in cases {
        assert_eq!(call.model().assumption().as_deref(), note, "{}", call.name);
    }
}

#[test]
fn lengths_of_a_call_stand_in_for_a_missing_step() {
    let scalars = "32 64 1 0. 0.08 0. False";
    let call = |causal: &str| {
        Call::new("aiter::mha_varlen_fwd", "96,32,128 192,8,128 192,8,128 4 4", "bf16")
            .scalars(5, &format!("{scalars} {causal} -1 -1"))
    };
    // Three sequences, each of 32 queries that end at its 64 keys.
    let pairs = 3.0 * (32.0 * 64.0 - 32.0 * 32.0 / 2.0);
    assert_eq!(call("True").model().flops(), Ok(4.0 * 32.0 * 128.0 * pairs));
    assert_eq!(call("False").model().flops(), Ok(4.0 * 32.0 * 128.0 * 3.0 * 32.0 * 64.0));
    let window = Call::new("aiter::mha_varlen_fwd", "3,32,128 192,8,128 192,8,128 4 4", "bf16")
        .scalars(5, "1 64 1 0. 0.08 0. False True 15 0");
    assert_eq!(window.model().flops(), Ok(4.0 * 32.0 * 128.0 * 3.0 * 16.0), "16 of 64 keys are visible");
    assert_eq!(window.parameter("sliding_window"), "16");
}

fn attention() -> impl Strategy<Value = Attention> {
    let mask = (any::<bool>(), proptest::option::of(0..200_u64), proptest::option::of(0..200_u64));
    let packed = proptest::option::of((0..9_u64, 0..9_u64, 0..300_u64, 0..300_u64));
    let dims = proptest::array::uniform7(1..300_u64);
    (dims, mask, packed, any::<bool>()).prop_map(
        |(dims, (causal, window_left, window_right), packed, recomputes)| Attention {
            batch: dims[0],
            query_length: dims[1],
            query_heads: dims[2],
            key_length: dims[3],
            key_heads: dims[4],
            head_dim: dims[5],
            value_head_dim: dims[6],
            mask: AttentionMask { causal, window_left, window_right, ..AttentionMask::default() },
            packed: packed.map(|(query_sequences, key_sequences, longest_query, longest_key)| {
                PackedSequences { query_sequences, key_sequences, longest_query, longest_key }
            }),
            recomputes_scores: recomputes,
            query_type: "c10::Half".to_owned(),
            key_type: "c10::Half".to_owned(),
            value_type: String::new(),
        },
    )
}

proptest! {
    #[test]
    fn twice_the_batch_is_twice_the_work(attention in attention()) {
        let attention = Attention { packed: None, ..attention };
        let twice = Attention { batch: 2 * attention.batch, ..attention.clone() };
        for figure in [PerfModel::flops, PerfModel::bytes, PerfModel::backward_flops, PerfModel::backward_bytes] {
            prop_assert_eq!(figure(&twice).unwrap(), 2.0 * figure(&attention).unwrap());
        }
    }

    #[test]
    fn masks_take_work_away_and_the_backward_pass_adds_some(attention in attention()) {
        let unmasked = Attention { mask: AttentionMask::default(), ..attention.clone() };
        prop_assert!(attention.flops().unwrap() <= unmasked.flops().unwrap());
        prop_assert!(attention.backward_flops().unwrap() >= 2.0 * attention.flops().unwrap() * (1.0 - 1e-12));
        prop_assert_eq!(attention.bytes().unwrap(), unmasked.bytes().unwrap());
    }

    #[test]
    fn windows_take_work_away(
        window in 0..4000_u64,
        counts in proptest::array::uniform4(1..1000_i64),
    ) {
        let [queries, more_keys, context, more_context] = counts;
        let tokens = |queries: i64, more: i64| TokenStatistics {
            queries,
            keys: queries + more,
            squared_queries: queries * queries,
            query_key_pairs: queries * (queries + more),
        };
        let step = StepStatistics { context: tokens(context, more_context), generation: tokens(queries, more_keys) };
        let all = InferenceAttention {
            query_heads: 8,
            key_heads: 2,
            head_dim: 64,
            value_head_dim: 64,
            statistics: Ok(step),
            query_type: "c10::Half".to_owned(),
            key_type: "c10::Half".to_owned(),
            ..InferenceAttention::default()
        };
        let windowed = InferenceAttention { sliding_window: Some(window), ..all.clone() };
        prop_assert!(windowed.flops().unwrap() <= all.flops().unwrap());
        prop_assert!(windowed.bytes().unwrap() <= all.bytes().unwrap());
        prop_assert!(windowed.flops().unwrap() > 0.0);
    }

    #[test]
    fn the_parts_of_a_layer_are_the_whole_but_for_the_sum(
        dims in proptest::array::uniform5(1..2000_u64),
        gated: bool,
    ) {
        let [tokens, hidden, intermediate, experts, topk] = dims;
        let layer = |stage| ExpertLayer {
            stage,
            tokens,
            hidden,
            intermediate,
            experts,
            topk,
            gated,
            input_bytes: 2.0,
            weight_bytes: 1.0,
            output_bytes: 2.0,
            precision: None,
        };
        let flops = |stage| layer(stage).flops().unwrap();
        let sum = (tokens * hidden * (2 * topk - 1)) as f64;
        prop_assert_eq!(flops(ExpertStage::Fused), flops(ExpertStage::Up) + flops(ExpertStage::Down) + sum);
        let active = layer(ExpertStage::Up).active_experts();
        prop_assert!(active >= 0.0 && active <= experts as f64);
        let twice = ExpertLayer { tokens: 2 * tokens, ..layer(ExpertStage::Up) };
        prop_assert_eq!(twice.flops().unwrap(), 2.0 * flops(ExpertStage::Up));
    }
}

/// Of 14 queries each sees itself and the three keys before it: 1 + 2 + 3 + 11 · 4 = 50 scores, each a product of 16
/// elements and one with 16 elements of the values.
#[test]
fn pytorch_s_flash_attention_counts_the_keys_of_its_window() {
    let tensor = Value::tuple([1, 14, 1, 16]);
    let dims: Vec<Value> = (0..13).map(|at| if at < 3 { tensor.clone() } else { Value::tuple([]) }).collect();
    let types: Vec<Value> =
        (0..13).map(|at| if at < 3 { "c10::BFloat16".into() } else { "".into() }).collect();
    for (left, right, scores) in [("3", "0", 50.0), ("", "", 14.0 * 14.0 / 2.0)] {
        let concrete = ["", "", "", "", "", "14", "14", "0.", "True", "False", "", left, right];
        let concrete = concrete.map(Value::from);
        let call = OpCall {
            name: "aten::_flash_attention_forward",
            dims: Some(&dims),
            types: Some(&types),
            concrete: Some(&concrete),
            ..OpCall::default()
        };
        let model = model(&call).unwrap();
        assert_eq!(model.flops(), Ok(scores * 2.0 * (16.0 + 16.0)), "{left} {right}");
    }
}
