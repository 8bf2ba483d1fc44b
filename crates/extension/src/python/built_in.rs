//! What a file can ask at any time: sizes of element types, and the built-in models, for classes that build on those of
//! TraceLens.

use perf_models::{OpCall, Operator, Value, operators};
use serde_json::{Map, Value as Json, json};

use super::json::{from_json, to_json};
use super::process::Reply;

/// Classes of TraceLens whose names do not follow from those of their operators.
const CLASSES: &[(&str, &str)] = &[
    ("BiasedGroupedTopk", "aiter::biased_grouped_topk_hip"),
    ("MoeSortScatterGather", "aiter::moe_sorting_fwd"),
    ("aiter_paged_attention_ragged", "sglang_profiler::attention_paged_attention_ragged"),
    ("aten_conv", "aten::convolution"),
    ("aten_conv_bwd", "aten::convolution_backward"),
    ("custom_ar_all_reduce", "_C_custom_ar::all_reduce"),
    ("custom_ar_qr_all_reduce", "_C_custom_ar::qr_all_reduce"),
    ("flash_attention", "flash_attn::_flash_attn_forward"),
    ("flash_attention_backward", "flash_attn::_flash_attn_backward"),
    ("flash_attention_varlen_backward", "flash_attn::_flash_attn_varlen_backward"),
    ("flash_attention_varlen_forward", "flash_attn::_flash_attn_varlen_forward"),
    ("fused_flatten_mxfp4_quant", "sglang_profiler::fused_mxfp4_quant_fused_flatten_mxfp4_quant"),
    ("fused_rms_mxfp4_quant", "sglang_profiler::fused_mxfp4_quant_fused_rms_mxfp4_quant"),
    ("mla_decode_fwd", "pseudo_mla_decode_fwd"),
    ("mla_tilelang_sparse_fwd", "sglang_profiler::tilelang_kernel_tilelang_sparse_fwd"),
    ("moe_aiter_ck_stage1", "aiter::ck_moe_stage1"),
    ("moe_aiter_ck_stage2", "aiter::ck_moe_stage2"),
    ("moe_aiter_fused_blockscale", "aiter::fmoe_fp8_blockscale_g1u1"),
    ("moe_aiter_unfused_down", "aiter::moe_cktile2stages_gemm2_ck"),
    ("moe_aiter_unfused_up", "aiter::moe_cktile2stages_gemm1_ck"),
    ("moe_triton_invoke_grouped_gemm", "sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel"),
    ("per_group_quant", "aiter::dynamic_per_token_scaled_quant"),
    (
        "sglang_fused_append_shared_experts",
        "sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts",
    ),
];

/// Answers a question of the process that needs no tree.
///
/// # Errors
/// Why it cannot be answered.
pub(super) fn answer(question: &Json) -> Result<Reply, String> {
    let asked = &question[1];
    let name = asked.as_str().unwrap_or_default();
    Ok(Reply::Json(match question[0].as_str() {
        Some("element_size") => {
            let size = perf_models::element_size(name).map_err(|undefined| undefined.reason.into_owned())?;
            number(size).to_string()
        }
        Some("operator") => operator(name).unwrap_or(Json::Null).to_string(),
        Some("figures") => figures(asked)?.to_string(),
        _ => return Err("the tree is available only in tree functions".to_owned()),
    }))
}

/// A number, whole where it is.
fn number(figure: f64) -> Json {
    match figure.fract() == 0.0 && figure.abs() < 2_f64.powi(63) {
        true => json!(figure as i64),
        false => json!(figure),
    }
}

/// The operator that a class of TraceLens models, or that has this name: `aten_mm` and `aten::mm` are one.
fn operator(class: &str) -> Option<Json> {
    let listed = CLASSES.iter().find(|(name, _)| *name == class).map(|(_, operator)| *operator);
    let wanted = identifier(listed.unwrap_or(class));
    let without_namespace = |operator: &Operator| {
        operator.name.split_once("::").is_some_and(|(_, name)| identifier(name) == wanted)
    };
    let modelled = || operators().filter(|operator| operator.family.is_some());
    let found = modelled()
        .find(|operator| identifier(operator.name) == wanted)
        .or_else(|| modelled().find(without_namespace))?;
    Some(json!({
        "operator": found.name,
        "category": found.category.as_str(),
        "family": found.family.map(|family| family.to_string()),
    }))
}

/// A name of letters, digits and single underscores.
fn identifier(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

/// Figures and parameters of the built-in model of a call.
///
/// # Errors
/// When the call does not say what the model needs.
fn figures(call: &Json) -> Result<Json, String> {
    let list = |position: usize| match call["lists"].get(position).and_then(Json::as_array) {
        None => Ok(None),
        Some(items) => items.iter().map(from_json).collect::<Result<Vec<Value>, _>>().map(Some),
    };
    let lists = [list(0)?, list(1)?, list(2)?, list(3)?];
    let attributes = call["args"].as_object().into_iter().flatten();
    let attributes: Vec<(&str, Value)> =
        attributes.filter_map(|(name, value)| Some((name.as_str(), from_json(value).ok()?))).collect();
    let kernels = call["kernels"].as_array().into_iter().flatten();
    let kernels: Vec<&str> = kernels.filter_map(Json::as_str).collect();
    let [dims, types, strides, concrete] = &lists;
    let call = OpCall {
        name: call["name"].as_str().unwrap_or_default(),
        dims: dims.as_deref(),
        types: types.as_deref(),
        strides: strides.as_deref(),
        concrete: concrete.as_deref(),
        attributes: &attributes,
        annotation: call["annotation"].as_str(),
        kernels: &kernels,
        forward: None,
    };
    let model = perf_models::model(&call).map_err(|undefined| undefined.to_string())?;
    let params: Map<String, Json> =
        model.parameters().iter().map(|(name, value)| ((*name).to_owned(), to_json(value))).collect();
    Ok(json!({
        "flops": model.flops().ok().map(number),
        "bytes": model.bytes().ok().map(number),
        "flops_bwd": model.backward_flops().ok().map(number),
        "bytes_bwd": model.backward_bytes().ok().map(number),
        "spec": model.compute_spec().map(|spec| spec.to_string()),
        "params": params,
    }))
}
