use super::*;

const P: Phase = Phase::Prefill;
const D: Phase = Phase::Decode;
const M: Phase = Phase::Mixed;

fn dims(shapes: &[&[i64]]) -> ArgumentValue {
    let shape = |shape: &&[i64]| ArgumentValue::List(shape.iter().map(|&n| ArgumentValue::Int(n)).collect());
    ArgumentValue::List(shapes.iter().map(shape).collect())
}

fn row<'t>(name: &'t str, kernels: &[&'t str], input_dims: Option<&'t ArgumentValue>) -> Call<'t> {
    Call { name, kernels: kernels.to_vec(), input_dims }
}

#[track_caller]
fn labels(method: Method, name: &str, kernels: &[&str], shapes: Option<&[&[i64]]>) -> Phase {
    let dims = shapes.map(dims);
    phases(method, &[row(name, kernels, dims.as_ref())], 10)[0]
}

const TENSILE: &str = "Cijk_Alik_Bljk_BBS_BH_MT256x256x64_ULSGRO0_USL1_UIOFGRO0";

#[test]
fn every_method_is_known_by_its_name() {
    for method in Method::all() {
        assert_eq!(method.as_str().parse(), Ok(method));
    }
    let error = "both".parse::<Method>().unwrap_err();
    let help = miette::Diagnostic::help(&error).unwrap().to_string();
    assert!(error.to_string().contains("\"both\"") && help.contains("union"), "{error}; {help}");
}

#[test]
fn gemm_params_take_the_first_dimension_of_any_operator() {
    let label = |name, kernels: &[&str], shapes| {
        labels(Method::Named(DetectionMethod::GemmParams), name, kernels, shapes)
    };
    assert_eq!(label("aten::mm", &[TENSILE], Some(&[&[11, 8], &[8, 4]])), P);
    assert_eq!(label("aten::mm", &[TENSILE], Some(&[&[10, 8], &[8, 4]])), D);
    // Of a bias as well.
    assert_eq!(label("aten::addmm", &[], Some(&[&[2880], &[4, 888], &[888, 2880]])), P);
    assert_eq!(label("aten::argmax", &[], Some(&[&[32, 151_936], &[]])), P);
    assert_eq!(label("aten::argmax", &[], Some(&[&[32, 151_936]])), M);
    assert_eq!(label("aten::mm", &[], Some(&[&[], &[8, 4]])), M);
    assert_eq!(label("aten::mm", &[], Some(&[&[0, 8], &[8, 4]])), M);
    assert_eq!(label("aten::mm", &[], None), M);
    assert_eq!(label("x", &["Batch_Decode"], Some(&[&[99, 1], &[1]])), D);
    assert_eq!(label("x_prefill", &["a_decode"], None), M);
    assert_eq!(label("x_prefill", &[], None), P);
}

#[test]
fn attention_patterns_go_by_the_operators_name_alone() {
    let label = |name, shapes| {
        labels(Method::Named(DetectionMethod::AttentionPatterns), name, &["prefill_attention"], shapes)
    };
    assert_eq!(label("aten::mm_decode", None), M);
    assert_eq!(label("vllm::paged_attention_v1", None), D);
    assert_eq!(label("chunked_prefill_attn", None), P);
    // A shape is no length.
    assert_eq!(label("my_sdpa", Some(&[&[1, 2], &[3, 4], &[5, 6]])), M);
}

#[test]
fn framework_apis_stop_at_the_first_framework() {
    let label = |name| labels(Method::Named(DetectionMethod::FrameworkApis), name, &[], None);
    assert_eq!(label("vllm::decode"), D);
    assert_eq!(label("vllm::x_cache_prefill"), D);
    assert_eq!(label("vllm::prefill"), P);
    assert_eq!(label("VLLM::prefill"), M);
    assert_eq!(label("vllm::mha_context_phase"), M);
    assert_eq!(label("_C_cache_ops::reshape_and_cache_flash"), D);
    assert_eq!(label("tgi::encode"), P);
    assert_eq!(label("aiter::mha_batch_prefill"), P);
    assert_eq!(label("mha_generation_context"), D);
    assert_eq!(label("aten::mm"), M);
}

#[test]
fn kernel_names_read_tuning_as_sequence_lengths() {
    let label =
        |name, kernels: &[&str]| labels(Method::Named(DetectionMethod::KernelNames), name, kernels, None);
    assert_eq!(label("aten::mm", &[TENSILE]), D);
    assert_eq!(label("aten::mm", &["gemm_SL128"]), P);
    assert_eq!(label("aten::mm", &["fmhaPersistentContext"]), P);
    assert_eq!(label("store_kv_cache", &[]), D);
    assert_eq!(label("decode", &["prompt"]), P);
    assert_eq!(label("aten::mm", &["ampere_sgemm"]), M);
}

#[test]
fn frequency_never_abstains() {
    let rows: Vec<Call<'_>> = [("a", 1), ("b", 2), ("c", 36), ("d", 73)]
        .into_iter()
        .flat_map(|(name, count)| std::iter::repeat_n(row(name, &[], None), count))
        .collect();
    let labels = phases(Method::Named(DetectionMethod::OperationFrequency), &rows, 10);
    // The 0.15-quantile of 1, 2, 36, 73 is 1.45.
    assert_eq!((labels[0], labels[1], labels[3], labels[111]), (P, D, D, D));
    assert_eq!(phases(Method::Named(DetectionMethod::OperationFrequency), &[row("a", &[], None)], 10), [D]);
}

#[test]
fn hybrid_takes_the_first_that_decides() {
    let label = |name, kernels: &[&str]| labels(Method::Named(DetectionMethod::Hybrid), name, kernels, None);
    assert_eq!(label("aiter::mha_batch_prefill", &["fmha_fwd"]), P);
    assert_eq!(label("vllm::x_cache", &["fmha_fwd"]), D);
    assert_eq!(label("aten::mm", &["ampere_sgemm"]), D);
}

#[test]
fn votes_are_weighed() {
    let label = |name, kernels: &[&str], shapes| labels(Method::Union, name, kernels, shapes);
    // 4 for the name against 3 for the rows.
    assert_eq!(label("aten::mm", &[TENSILE], Some(&[&[888, 8], &[8, 4]])), D);
    assert_eq!(label("aten::mm", &["nvjet"], Some(&[&[888, 8], &[8, 4]])), P);
    // 4 + 2 + 1 against none.
    assert_eq!(label("batch_prefill_varlen_prefill", &[], None), P);
    // 2 + 2 for the cache.
    assert_eq!(label("vllm::reshape_and_cache", &[], None), D);
    // 1 is no quorum; one name is neither rare nor frequent.
    assert_eq!(label("dynamic_batch", &[], None), M);
    // Names of both kinds do not vote, framework and attention tie.
    assert_eq!(label("sglang::radix", &["chunked_prefill", "generation"], None), M);
}

#[test]
fn undecided_rows_of_the_vote_go_by_frequency() {
    let rows: Vec<Call<'_>> = [("a", 1), ("b", 2), ("c", 36), ("d", 73)]
        .into_iter()
        .flat_map(|(name, count)| std::iter::repeat_n(row(name, &[], None), count))
        .collect();
    let labels = phases(Method::Union, &rows, 10);
    // The quantiles 0.3 and 0.7 are 1.9 and 39.7.
    assert_eq!((labels[0], labels[1], labels[3], labels[111]), (P, M, M, D));
}
