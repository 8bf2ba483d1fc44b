//! What holds for the models of attention and of mixtures of experts.

use perf_models::{
    Attention, AttentionMask, ExpertLayer, ExpertStage, Gap, InferenceAttention, OpCall, PackedSequences,
    PerfModel, StepStatistics, TokenStatistics, Undefined, Value, model,
};
use proptest::prelude::*;

use crate::call::{Call, spec};

const SQUARE: &str = "2,4096,32,128 2,4096,8,128 2,4096,8,128";
const VARLEN: &str = "8192,32,128 8192,8,128 8192,8,128 5 5";

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

const DECODE: &str = "execute_64_context_0(sq0sk0sqsq0sqsk0)_generation_64(sq64sk131072sqsq64sqsk131072)";
const PREFILL: &str =
    "execute_15360_context_15(sq15360sk15360sqsq15728640sqsk15728640)_generation_0(sq0sk0sqsq0sqsk0)";
const NOTHING: &str = "execute_0_context_0(sq0sk0sqsq0sqsk0)_generation_0(sq0sk0sqsq0sqsk0)";

const RAGGED: &str = "sglang_profiler::attention_paged_attention_ragged";

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
        (unified(None), Gap::Arguments, "no step annotation encloses the call"),
        (
            unified(Some("ProfilerStep#3")),
            Gap::Arguments,
            "the enclosing annotation comes from an unknown engine",
        ),
        (unified(Some(native)), Gap::Arguments, "the enclosing step's annotation has no context lengths"),
        (unified(Some(NOTHING)), Gap::NoFormula, "the enclosing step has no token count"),
        (gdn, Gap::NoFormula, "the enclosing step has no token count"),
        (v4, Gap::NoFormula, "the enclosing step has no token count"),
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

const GEMM1: &str = "aiter::moe_cktile2stages_gemm1_ck";
const TRITON_UP: &str = "pseudo_op::moe_triton_unfused_up";
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
    assert_eq!(no_weights.read().unwrap_err().reason, "the weight Input Dims[1] has no elements");
    let unrecorded = Call::new("MoECombine", "", "").model();
    assert_eq!((unrecorded.flops(), unrecorded.backward_flops()), (Ok(0.0), Ok(0.0)));
    assert_eq!(unrecorded.backward_bytes().unwrap_err().gap, Gap::Arguments);
    let unknown =
        Call::new("flash_attn::_flash_attn_forward", SQUARE, "none").scalars(3, "0. 0.1 True").model();
    assert_eq!((unknown.flops(), unknown.bytes().unwrap_err().gap), (Ok(274_877_906_944.0), Gap::DataType));
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
