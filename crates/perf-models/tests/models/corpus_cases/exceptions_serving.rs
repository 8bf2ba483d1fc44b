//! Kernels that TorchInductor generated (page 03, quirk 17).

use serde_json::Value as Json;

use super::case::{Case, Outcome};
use super::exception::{Exception, Ours};

const fn exception(op: &'static str, field: &'static str, ours: Ours, why: &'static str) -> Exception {
    Exception { op, args: "*", field, quirk: "03 #17", ours, why }
}

const IN_PLACE: &str = "floats count, and the last tensor is no output, so the first is read and written";
const GRID: &str = "the grid has more dimensions than the last";
const CUSTOM: &str = "a custom operator in the name does not void the others";

pub(crate) const EXCEPTIONS: &[Exception] = &[
    exception(
        "triton_*",
        "spec",
        Ours::Rule(first_float),
        "spelt as in architecture files, and floats count",
    ),
    // Tensors of other than 16 bits, and outputs that stand in the list of tensors.
    exception(
        "triton_poi_fused__to_copy_add_cat_div_empty_like_mean_mul_neg_stack_sub_transpose_unbind_unsqueeze_view_17",
        "bytes",
        Ours::Rule(first_twice),
        IN_PLACE,
    ),
    exception(
        "triton_red_fused__to_copy_add_addmm_as_strided_fmha_v3_fwd_mean_mul_neg_pow_rsqrt_stack_unbind_unsqueeze_view_24",
        "bytes",
        Ours::Rule(first_twice),
        IN_PLACE,
    ),
    exception(
        "triton_red_fused__to_copy_add_addmm_div_empty_like_mean_mul_neg_pow_rsqrt_stack_sub_transpose_unbind_unsqueeze_view_31",
        "bytes",
        Ours::Rule(first_twice),
        IN_PLACE,
    ),
    exception(
        "triton_red_fused_add_addmm_cat_mul_native_layer_norm_slice_split_unsqueeze_27",
        "bytes",
        Ours::Rule(first_twice),
        IN_PLACE,
    ),
    exception(
        "triton_red_fused_add_addmm_cat_mul_native_layer_norm_slice_split_unsqueeze_36",
        "bytes",
        Ours::Rule(first_twice),
        IN_PLACE,
    ),
    exception("triton_*", "bytes", Ours::Rule(each_once), "floats count, and outputs count once"),
    // Grids of several dimensions.
    exception(
        "triton_poi_fused__to_copy_add_addmm_cat_mean_mul_pow_rsqrt_view_9",
        "flops",
        Ours::Figure(18432.0 * 128.0 * 7.0),
        GRID,
    ),
    exception(
        "triton_poi_fused__to_copy_add_addmm_cat_mean_mul_pow_rsqrt_view_9",
        "param: xnumel",
        Ours::Text("2359296"),
        GRID,
    ),
    exception(
        "triton_poi_fused__unsafe_view_add_addmm_clone_convolution_mul_native_layer_norm_slice_split_transpose_unsqueeze_view_7",
        "flops",
        Ours::Figure(8192.0 * 2432.0 * 2.0),
        GRID,
    ),
    exception(
        "triton_poi_fused__unsafe_view_add_addmm_clone_convolution_mul_native_layer_norm_slice_split_transpose_unsqueeze_view_7",
        "param: xnumel",
        Ours::Text("19922944"),
        GRID,
    ),
    exception("triton_poi_fused_addmm_clone_permute_view_25", "param: xnumel", Ours::Text("524288"), GRID),
    exception(
        "triton_red_fused__unsafe_view_add_clone_convolution_native_layer_norm_slice_transpose_view_4",
        "flops",
        Ours::Figure(8192.0 * 19.0 * 128.0),
        GRID,
    ),
    exception(
        "triton_red_fused__unsafe_view_add_clone_convolution_native_layer_norm_slice_transpose_view_4",
        "param: xnumel",
        Ours::Text("155648"),
        GRID,
    ),
    // Operators that PyTorch does not have.
    exception(
        "triton_poi_fused__to_copy_add_cat_fmha_v3_fwd_mul_neg_stack_unbind_unsqueeze_view_*",
        "flops",
        Ours::Figure(2_359_296.0 * 3.0),
        CUSTOM,
    ),
    exception(
        "triton_poi_fused__to_copy_add_cat_fmha_v3_fwd_mul_neg_stack_unbind_unsqueeze_view_*",
        "param: fused_ops",
        Ours::Text(
            "aten._to_copy, aten.add, aten.cat, fmha_v3_fwd, aten.mul, aten.neg, aten.stack, aten.unbind, \
             aten.unsqueeze, aten.view",
        ),
        CUSTOM,
    ),
    exception(
        "triton_red_fused__to_copy_add_addmm_as_strided_fmha_v3_fwd_mean_mul_neg_pow_rsqrt_stack_unbind_unsqueeze_view_24",
        "flops",
        Ours::Figure(18432.0 * 128.0 * 8.0),
        CUSTOM,
    ),
    exception(
        "triton_red_fused__to_copy_add_addmm_as_strided_fmha_v3_fwd_mean_mul_neg_pow_rsqrt_stack_unbind_unsqueeze_view_24",
        "param: fused_ops",
        Ours::Text(
            "aten._to_copy, aten.add, aten.addmm, aten.as_strided, fmha_v3_fwd, aten.mean, aten.mul, aten.neg, \
             aten.pow, aten.rsqrt, aten.stack, aten.unbind, aten.unsqueeze, aten.view",
        ),
        CUSTOM,
    ),
    exception(
        "triton_poi_fused_constant_pad_nd_moe_forward_0",
        "param: fused_ops",
        Ours::Text("aten.constant_pad_nd, moe_forward"),
        CUSTOM,
    ),
];

/// The element types and sizes of the tensors of a case.
fn tensors(case: &Case) -> Vec<(String, f64)> {
    let line: Json = serde_json::from_str(&case.line).unwrap();
    let list = |key: &str| line["args"][key].as_array().unwrap().clone();
    let extents =
        |dims: &Json| dims.as_array().unwrap().iter().map(|extent| extent.as_f64().unwrap()).collect();
    let elements = |dims: &Json| Vec::<f64>::into_iter(extents(dims)).product::<f64>();
    list("Input Dims")
        .iter()
        .zip(list("Input type"))
        .filter(|(dims, _)| !dims.as_array().unwrap().is_empty())
        .map(|(dims, element_type)| {
            let element_type = element_type.as_str().unwrap();
            let size = match element_type {
                "c10::BFloat16" => 2.0,
                "float" | "int" => 4.0,
                "long int" => 8.0,
                "bool" => 1.0,
                other => panic!("{other}"),
            };
            (element_type.to_owned(), size * elements(dims))
        })
        .collect()
}

fn each_once(case: &Case) -> Outcome {
    Outcome::Figure(tensors(case).iter().map(|(_, bytes)| bytes).sum())
}

fn first_twice(case: &Case) -> Outcome {
    let tensors = tensors(case);
    Outcome::Figure(tensors[0].1 + tensors.iter().map(|(_, bytes)| bytes).sum::<f64>())
}

fn first_float(case: &Case) -> Outcome {
    let spec = tensors(case).iter().find_map(|(element_type, _)| match element_type.as_str() {
        "c10::BFloat16" => Some("vector_bf16"),
        "float" => Some("vector_fp32"),
        _ => None,
    });
    spec.map_or(Outcome::Absent, |spec| Outcome::Text(spec.to_owned()))
}
