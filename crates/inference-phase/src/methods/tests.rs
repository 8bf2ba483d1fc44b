use super::*;
use trace_ingest::{ArgumentValue, EventArguments, TraceBuilder};

/// Calls that launched kernels, `(name, shapes, [(kernel, duration)])`.
type Calls<'c> = &'c [(&'c str, Option<&'c [&'c [i64]]>, &'c [(&'c str, i64)])];

fn label(method: DetectionMethod, calls: Calls<'_>) -> Vec<Phase> {
    let mut builder = TraceBuilder::new();
    let (thread, stream) = (builder.track(1, 1), builder.track(0, 7));
    let mut at = 0;
    let mut events = Vec::new();
    for &(name, shapes, kernels) in calls {
        let shape =
            |shape: &&[i64]| ArgumentValue::List(shape.iter().map(|&n| ArgumentValue::Int(n)).collect());
        let dims = shapes.map(|shapes| ArgumentValue::List(shapes.iter().map(shape).collect()));
        let signature = dims.map(|dims| builder.signature([Some(dims), None, None, None]));
        let arguments = EventArguments { signature, ..EventArguments::default() };
        let event = builder.event(Category::CPU_OP, name, thread, at, 5, arguments);
        let mut launched = Vec::new();
        for &(kernel, duration) in kernels {
            let none = EventArguments::default();
            launched.push(builder.event(Category::KERNEL, kernel, stream, at, duration, none));
            at += duration;
        }
        events.push((event, launched));
        at += 10;
    }
    let trace = builder.finish();
    let calls: Vec<LaunchingCall<'_>> =
        events.iter().map(|(event, kernels)| LaunchingCall { event: *event, kernels }).collect();
    phases_of_calls(method, &trace, &calls, 10)
}

#[track_caller]
fn labels(method: DetectionMethod, name: &str, shapes: Option<&[&[i64]]>, kernels: &[(&str, i64)]) -> Phase {
    label(method, &[(name, shapes, kernels)])[0]
}

const TENSILE: (&str, i64) = ("Cijk_Alik_Bljk_BBS_BH_MT256x256x64_ULSGRO0_USL1_UIOFGRO0", 100);

#[test]
fn names_of_matrix_kernels_and_parts_of_words_say_nothing() {
    let label = |name, kernels: &[(&str, i64)]| labels(DetectionMethod::KernelNames, name, None, kernels);
    assert_eq!(label("aten::mm", &[TENSILE]), Phase::Unknown);
    assert_eq!(label("aten::mm", &[("gemm_SL128", 1)]), Phase::Unknown);
    assert_eq!(label("aten::copy_", &[("PersistentContext_elementwise", 1)]), Phase::Unknown);
    assert_eq!(label("aten::copy_", &[("fmhaSm100_PersistentContext", 1)]), Phase::Prefill);
    assert_eq!(label("_C_cache_ops::reshape_and_cache_flash", &[("reshape_and_cache", 1)]), Phase::Unknown);
    assert_eq!(label("aiter::mha_batch_prefill", &[("paged_attention_v1", 1)]), Phase::Prefill);
    assert_eq!(label("attention", &[("attention_seqlen_128", 1)]), Phase::Prefill);
    assert_eq!(label("attention", &[("attention_seqlen_1", 1)]), Phase::Decode);
    assert_eq!(label("attention", &[("attention_seqlen_7", 1)]), Phase::Unknown);
}

#[test]
fn kernels_of_one_launch_are_weighed_by_time() {
    let label =
        |kernels: &[(&str, i64)]| labels(DetectionMethod::KernelNames, "hipGraphLaunch", None, kernels);
    let (decode, prefill) = ("pa_decode_kernel", "batch_prefill");
    assert_eq!(label(&[TENSILE, (decode, 3)]), Phase::Decode);
    assert_eq!(label(&[(decode, 97), (prefill, 3)]), Phase::Decode);
    assert_eq!(label(&[(decode, 50), (prefill, 50)]), Phase::Mixed);
}

#[test]
fn rows_are_those_of_activations_of_matrix_products() {
    let label = |name, shapes| labels(DetectionMethod::GemmParams, name, Some(shapes), &[TENSILE]);
    assert_eq!(label("aten::mm", &[&[888, 4096], &[4096, 6144]]), Phase::Prefill);
    assert_eq!(label("aten::mm", &[&[10, 4096], &[4096, 6144]]), Phase::Decode);
    // The bias comes first.
    assert_eq!(label("aten::addmm", &[&[2880], &[4, 888], &[888, 2880]]), Phase::Decode);
    assert_eq!(label("aten::argmax", &[&[32, 151_936], &[]]), Phase::Unknown);
    assert_eq!(label("aten::mm", &[&[0, 4096], &[4096, 6144]]), Phase::Unknown);
}

#[test]
fn engines_speak_by_whole_words_of_the_phases() {
    let label = |name| labels(DetectionMethod::FrameworkApis, name, None, &[("paged_attention_v1", 1)]);
    assert_eq!(label("vllm::decode_attention"), Phase::Decode);
    assert_eq!(label("sglang::prefill_attention"), Phase::Prefill);
    assert_eq!(label("vllm::reshape_and_cache"), Phase::Unknown);
    assert_eq!(label("flash::mha_varlen_generation"), Phase::Unknown);
    assert_eq!(label("aiter::mha_batch_prefill"), Phase::Prefill);
}

#[test]
fn attention_is_told_by_lengths() {
    let label = |name, shapes| labels(DetectionMethod::AttentionPatterns, name, Some(shapes), &[("k", 1)]);
    let sdpa = "aten::_scaled_dot_product_flash_attention";
    assert_eq!(label(sdpa, &[&[2, 16, 1, 64], &[2, 16, 559, 64], &[2, 16, 559, 64]]), Phase::Decode);
    assert_eq!(label(sdpa, &[&[2, 16, 64, 64], &[2, 16, 64, 64], &[2, 16, 64, 64]]), Phase::Prefill);
    assert_eq!(label(sdpa, &[&[2, 16, 7, 64], &[2, 16, 7, 64], &[2, 16, 7, 64]]), Phase::Prefill);
    assert_eq!(label(sdpa, &[&[2, 16, 7, 64], &[2, 16, 99, 64], &[2, 16, 99, 64]]), Phase::Decode);
    assert_eq!(label("aten::mm", &[&[888, 4096], &[4096, 6144]]), Phase::Unknown);
    let by_kernel = labels(DetectionMethod::AttentionPatterns, "flash", None, &[("paged_attention_v1", 1)]);
    assert_eq!(by_kernel, Phase::Decode);
}

#[test]
fn frequency_abstains_between_rare_and_frequent() {
    let names = ["a", "b", "b", "b", "b", "c", "c", "c", "c", "c", "d", "d", "d", "d", "e", "e", "e", "e"];
    let calls: Vec<_> = names.iter().map(|&name| (name, None, &[("k", 1)][..])).collect();
    let labels = label(DetectionMethod::OperationFrequency, &calls);
    let of = |name| labels[names.iter().position(|&other| other == name).unwrap()];
    assert_eq!(
        (of("a"), of("b"), of("c"), of("d")),
        (Phase::Prefill, Phase::Unknown, Phase::Decode, Phase::Unknown)
    );
    let alike: Vec<_> = ["a", "b"].iter().map(|&name| (name, None, &[("k", 1)][..])).collect();
    assert_eq!(label(DetectionMethod::OperationFrequency, &alike), [Phase::Unknown; 2]);
    assert_eq!(label(DetectionMethod::OperationFrequency, &[]), []);
}

#[test]
fn every_method_gives_a_label_per_call() {
    for method in DetectionMethod::ALL {
        assert_eq!(label(method, &[("x", None, &[]), ("y", Some(&[]), &[])]).len(), 2, "{method}");
        assert_eq!(method.as_str().parse(), Ok(method));
    }
    let error = "union".parse::<DetectionMethod>().unwrap_err();
    let help = miette::Diagnostic::help(&error).unwrap().to_string();
    assert!(error.to_string().contains("\"union\"") && help.contains("gemm_params"), "{error}; {help}");
}
