//! What a second, independent derivation from the case says of it.

use serde_json::Value as Json;

use super::case::{Case, Outcome};

pub(crate) fn rule(name: &str) -> fn(&Case) -> Outcome {
    match name {
        "bias_flops" => bias_flops,
        "bias_bytes" => bias_bytes,
        "bias_backward_flops" => bias_backward_flops,
        "bias_backward_bytes" => bias_backward_bytes,
        "doubled_flops" => doubled_flops,
        "doubled_bytes" => doubled_bytes,
        "input_shape" => input_shape,
        "doubled_shape" => doubled_shape,
        "input_strides" => input_strides,
        "first_float" => first_float,
        "first_twice" => first_twice,
        "each_once" => each_once,
        _ => panic!("no rule {name}"),
    }
}

/// Elements of a convolution's result, from the reference's FLOPs without bias.
fn results(case: &Case) -> f64 {
    case.reference("flops") / (2.0 * case.shape(1)[1..].iter().product::<f64>())
}

fn channels(case: &Case) -> f64 {
    case.shape(1)[0]
}

fn bias_flops(case: &Case) -> Outcome {
    Outcome::Figure(case.reference("flops") + results(case))
}

fn bias_backward_flops(case: &Case) -> Outcome {
    Outcome::Figure(case.reference("flops_bwd") + results(case))
}

fn bias_bytes(case: &Case) -> Outcome {
    Outcome::Figure(case.reference("bytes") + 2.0 * channels(case))
}

fn bias_backward_bytes(case: &Case) -> Outcome {
    Outcome::Figure(case.reference("bytes_bwd") + 2.0 * (results(case) + channels(case)))
}

fn doubled_elements(case: &Case) -> f64 {
    4.0 * case.shape(0).iter().product::<f64>()
}

fn doubled_flops(case: &Case) -> Outcome {
    Outcome::Figure(doubled_elements(case))
}

fn doubled_bytes(case: &Case) -> Outcome {
    Outcome::Figure(2.0 * (doubled_elements(case) + case.shape(0).iter().product::<f64>()))
}

fn tuple(sides: &[f64]) -> Outcome {
    let sides: Vec<String> = sides.iter().map(f64::to_string).collect();
    Outcome::Text(format!("({})", sides.join(", ")))
}

fn input_shape(case: &Case) -> Outcome {
    tuple(&case.shape(0))
}

fn doubled_shape(case: &Case) -> Outcome {
    let shape = case.shape(0);
    tuple(&[shape[0], shape[1], 2.0 * shape[2], 2.0 * shape[3]])
}

fn input_strides(case: &Case) -> Outcome {
    let strides = case.call.with_call(|call| call.strides_of(0).unwrap());
    tuple(&strides.into_iter().map(|stride| stride as f64).collect::<Vec<_>>())
}

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
