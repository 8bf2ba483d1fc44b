//! What holds for the models of rotary embedding, RMS normalization, sampling, quantization, collectives,
//! hyper-connections and generated kernels.

use perf_models::{
    Gap, InferenceRmsNorm, OpCall, PerfModel, RmsNormFusion, Roofline, RotaryEmbedding, Tensor, architecture,
    model,
};
use proptest::prelude::*;

use crate::call::Call;

#[test]
fn what_is_missing_is_named() {
    let of_unknown_type = Call::new("_C_custom_ar::all_reduce", "- 4,512", "ScalarList").model();
    assert_eq!(of_unknown_type.bytes().unwrap_err().gap, Gap::DataType);
    let unknown = model(&OpCall { name: "triton_tem_fused_mm_0", ..OpCall::default() });
    assert_eq!(unknown.unwrap_err().gap, Gap::NoModel);
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
