//! FLOPs and bytes as the report has them.

use super::operand::{ReferenceArguments, arguments};
use super::{ReferenceModel, tensor};
use crate::hlo::backend_config::BackendConfig;
use crate::hlo::{ElementType, InstructionRef};
use crate::tensor::{count_value, elements, finite, shape_value};
use crate::{Figure, Parameter, Undefined, Value};

/// The report's figures of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceFigures {
    /// Operations.
    pub flops: f64,
    /// Bytes, or why there are none: the report knows sizes of few types.
    pub bytes: Figure,
    /// Parameters by the report's names.
    pub parameters: Vec<Parameter>,
}

/// The dimensions of a multiplication as the report reads them.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceGemm {
    /// Multiplications.
    pub batch: u64,
    /// Free extent of the second operand, of the first where the layout of the result has `0,1`.
    pub m: u64,
    /// Free extent of the other operand.
    pub n: u64,
    /// Extent that is summed over.
    pub k: u64,
    /// Factor of the addend.
    pub beta: f64,
    /// Type of the operands; `fp8` where the function's name has `f8`.
    pub element_type: String,
}

/// The figures of an instruction under a model.
///
/// # Errors
///
/// Where the model has no figures, the report ends, or the operands cannot be read.
pub fn figures(of: InstructionRef<'_>, model: ReferenceModel) -> Result<ReferenceFigures, Undefined> {
    let arguments = arguments(of, model);
    let figures = match model {
        ReferenceModel::Gemm => gemm_figures(&gemm(of)?),
        ReferenceModel::Attention => attention(&arguments, false)?,
        ReferenceModel::AttentionBackward => attention(&arguments, true)?,
        ReferenceModel::Convolution => convolution(&arguments, false)?,
        ReferenceModel::ConvolutionBackward => convolution(&arguments, true)?,
        ReferenceModel::Rest => return Err(Undefined::no_formula("the report has no model for it")),
    };
    Ok(ReferenceFigures { flops: finite(figures.flops)?, bytes: figures.bytes.and_then(finite), ..figures })
}

/// The dimensions of a multiplication of a library.
///
/// Where the report ends (a result that is no tuple, several dimensions summed over or in a batch, operands of
/// different types), this goes on: extents multiply, and the type is the first operand's.
///
/// # Errors
///
/// When the call is no multiplication, or operands cannot be read or do not fit each other.
pub fn gemm(of: InstructionRef<'_>) -> Result<ReferenceGemm, Undefined> {
    let missing = |what: &str| Undefined::arguments(format!("{what} cannot be read"));
    let operand = |index: usize| {
        let operand = of.operand(index).ok_or_else(|| missing("an operand"))?;
        operand.instruction().shape.as_array().ok_or_else(|| missing("an operand"))
    };
    let target = of.custom_call_target.as_str();
    if !target.contains("matmul") && !target.contains("cublas") {
        return Err(Undefined::no_formula("it calls no multiplication of a library"));
    }
    let (a, b) = (operand(0)?, operand(1)?);
    let config = BackendConfig::read(&of.backend_config);
    let numbers = config
        .dot("/gemm_backend_config/dot_dimension_numbers")
        .ok_or_else(|| missing("dimension numbers of the backend configuration"))?;
    let pick = |dimensions: &[u64], which: &[i64]| -> Result<Vec<u64>, Undefined> {
        let extent = |&axis: &i64| usize::try_from(axis).ok().and_then(|axis| dimensions.get(axis).copied());
        which.iter().map(extent).collect::<Option<_>>().ok_or_else(|| missing("a dimension"))
    };
    let summed = pick(&a.dimensions, &numbers.lhs_contracting)?;
    if summed != pick(&b.dimensions, &numbers.rhs_contracting)? {
        return Err(Undefined::arguments("the operands differ in the dimensions that are summed over"));
    }
    let batch = pick(&a.dimensions, &numbers.lhs_batch)?;
    let free = |dimensions: &[u64], without: [&[i64]; 2]| -> u64 {
        let axes = dimensions.iter().enumerate();
        let left = axes.filter(|(axis, _)| !without.iter().any(|list| list.contains(&(*axis as i64))));
        product(&left.map(|(_, &extent)| extent).collect::<Vec<_>>())
    };
    let of_a = free(&a.dimensions, [&numbers.lhs_contracting, &numbers.lhs_batch]);
    let of_b = free(&b.dimensions, [&numbers.rhs_contracting, &numbers.rhs_batch]);
    let result = tensor(&of.shape.to_string());
    let column_major = result.is_some_and(|result| result.layout.contains("0,1"));
    let (m, n) = if column_major { (of_a, of_b) } else { (of_b, of_a) };
    let element_type = if target.contains("f8") { "fp8".to_owned() } else { a.element_type.to_string() };
    let beta = config.number("/gemm_backend_config/beta").unwrap_or(0.0);
    Ok(ReferenceGemm { batch: product(&batch), m, n, k: product(&summed), beta, element_type })
}

fn product(extents: &[u64]) -> u64 {
    extents.iter().fold(1, |product, &extent| product.saturating_mul(extent))
}

/// Bytes of an element, of the few types that the report knows.
fn size(element_type: &str) -> Figure {
    match element_type {
        "f32" => Ok(4.0),
        "f16" | "bf16" => Ok(2.0),
        "f8" | "fp8" => Ok(1.0),
        other => Err(Undefined::data_type(other)),
    }
}

fn torch_name(element_type: &str) -> Value {
    ElementType::from_name(element_type)
        .map_or_else(|| element_type.into(), |known| known.torch_name().into())
}

/// `B·(2MNK + MN)` and `B·(MK + KN + MN + N)` elements, the last terms with an addend only.
fn gemm_figures(gemm: &ReferenceGemm) -> ReferenceFigures {
    let [batch, m, n, k] = [gemm.batch, gemm.m, gemm.n, gemm.k].map(|extent| extent as f64);
    let has_addend = gemm.beta != 0.0;
    let addend = f64::from(u8::from(has_addend));
    let precision = match gemm.element_type.as_str() {
        "f32" => "fp32",
        "f16" => "fp16",
        "f8" => "fp8",
        other => other,
    };
    ReferenceFigures {
        flops: batch * (2.0 * m * n * k + addend * m * n),
        bytes: size(&gemm.element_type).map(|size| batch * size * (m * k + k * n + m * n + addend * n)),
        parameters: vec![
            ("B", count_value(gemm.batch)),
            ("M", count_value(gemm.m)),
            ("N", count_value(gemm.n)),
            ("K", count_value(gemm.k)),
            ("bias", has_addend.into()),
            ("dtype_A_B", Value::Tuple(vec![gemm.element_type.as_str().into(); 2])),
            ("simulation_dtype", precision.into()),
        ],
    }
}

/// Query, key and value of (batch, sequence, heads, elements of a head); no mask.
fn attention(arguments: &ReferenceArguments, backward: bool) -> Result<ReferenceFigures, Undefined> {
    let of = |index: usize, name: &str| -> Result<[u64; 4], Undefined> {
        let found = arguments.inputs.get(index);
        let dimensions = found.and_then(|of| <[u64; 4]>::try_from(of.dimensions.as_slice()).ok());
        dimensions
            .ok_or_else(|| Undefined::arguments(format!("the {name} has no four dimensions of its own")))
    };
    let ([b, n_q, h_q, d_qk], [_, n_kv, h_kv, _], [_, _, _, d_v]) =
        (of(0, "query")?, of(1, "key")?, of(2, "value")?);
    let element_type = arguments.inputs.first().map_or("", |of| of.element_type.as_str());
    let size = size(element_type);
    let shared = h_q.checked_div(h_kv).map_or(0.0, |group| group.saturating_sub(1) as f64);
    let integers = [b, n_q, h_q, n_kv, h_kv, d_qk, d_v];
    let [batch, q, heads, kv, key_heads, qk, v] = integers.map(|extent| extent as f64);
    let scores = batch * heads * 2.0 * q * kv;
    let [of_q, of_k, of_v, of_o] = [q * heads * qk, kv * key_heads * qk, kv * key_heads * v, q * heads * v];
    let (flops, moved) = if backward {
        (scores * (3.0 * qk + 2.0 * v) + batch * kv * (qk + v) * shared, 2.0 * (of_q + of_k + of_v) + of_o)
    } else {
        (scores * (qk + v), of_q + of_k + of_v + of_o)
    };
    let names = ["B", "N_Q", "H_Q", "N_KV", "H_KV", "d_h_qk", "d_h_v"];
    let mut parameters: Vec<Parameter> = names.into_iter().zip(integers.map(count_value)).collect();
    parameters.extend([
        ("bias", false.into()),
        ("dtype_A_B", Value::Tuple(vec![torch_name(element_type); 2])),
        ("causal", false.into()),
        ("flash_impl", true.into()),
        ("fused", true.into()),
        ("bytes_per_element", size.as_ref().ok().map(|&size| size as i64).into()),
    ]);
    Ok(ReferenceFigures { flops, bytes: size.map(|size| size * batch * moved), parameters })
}

/// Filters without their first spatial extent; neither channels nor groups nor dilation.
fn convolution(arguments: &ReferenceArguments, backward: bool) -> Result<ReferenceFigures, Undefined> {
    let input = arguments.inputs.first().ok_or_else(|| Undefined::arguments("the input cannot be read"))?;
    let output =
        arguments.output.as_ref().ok_or_else(|| Undefined::arguments("the output cannot be read"))?;
    let rank = input.dimensions.len();
    if !(3..=5).contains(&rank) {
        return Err(Undefined::arguments(format!("no convolution has an input of {rank} dimensions")));
    }
    let (x, w, o) = (&input.dimensions, &arguments.filter_shape, &output.dimensions);
    let channels = o.get(1).map_or(0.0, |&channels| channels as f64);
    let has_bias = arguments.inputs.len() == 3;
    let bias = f64::from(u8::from(has_bias));
    let taps = elements(w.get(1..).unwrap_or_default());
    let size = size(&input.element_type);
    let mut flops = 2.0 * taps * elements(o) + bias * elements(o);
    let bytes = if backward {
        let per_filter = if channels > 0.0 { elements(o) / channels } else { 0.0 };
        flops += 2.0 * elements(w) * per_filter;
        let moved = 2.0 * (elements(x) + elements(w) + elements(o));
        size.as_ref().map(|size| size * moved + bias * (elements(o) + channels))
    } else {
        let moved = elements(x) + elements(w) + bias * channels + elements(o);
        size.as_ref().map(|size| size * moved)
    };
    Ok(ReferenceFigures {
        flops,
        bytes: bytes.map_err(Clone::clone),
        parameters: vec![
            ("convNd", format!("conv{}d", rank - 2).into()),
            ("input_shape", shape_value(x)),
            ("filter_shape", shape_value(w)),
            ("output_shape", shape_value(o)),
            ("bias", has_bias.into()),
            ("bytes_per_element", size.as_ref().ok().map(|&size| size as i64).into()),
            ("transposed_conv", false.into()),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::{HloComputation, HloInstruction, HloModule, Shape};

    /// A call of a function with operands of these types and extents.
    fn call(target: &str, config: &str, operands: &[(ElementType, &[u64])], shape: Shape) -> HloModule {
        let parameter = |(id, &(element, extents)): (usize, &(ElementType, &[u64]))| {
            HloInstruction::new(id as i64, format!("p{id}"), "parameter", Shape::array(element, extents))
        };
        let mut instructions: Vec<HloInstruction> = operands.iter().enumerate().map(parameter).collect();
        instructions.push(HloInstruction {
            operands: (0..operands.len() as i64).collect(),
            custom_call_target: target.into(),
            backend_config: config.into(),
            ..HloInstruction::new(99, "call", "custom-call", shape)
        });
        HloModule::new("m", 0, vec![HloComputation { root: 99, instructions, ..HloComputation::default() }])
    }

    fn of(module: &HloModule, category: &str) -> Result<ReferenceFigures, Undefined> {
        let call = module.instruction("call").unwrap();
        figures(call, ReferenceModel::of(&call.custom_call_target, category))
    }

    fn shown(figures: &ReferenceFigures, name: &str) -> String {
        figures.parameters.iter().find(|(key, _)| *key == name).unwrap().1.to_string()
    }

    const BF16: ElementType = ElementType::Bf16;

    #[test]
    fn a_row_major_multiplication_is_seen_column_major() {
        let config = r#"{"gemm_backend_config":{"beta":0,"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],
            "rhs_contracting_dimensions":["1"]}}}"#;
        let shape =
            Shape::Tuple(vec![Shape::array(BF16, [4096, 2048]), Shape::array(ElementType::S8, [67_108_864])]);
        let module =
            call("__cublas$lt$matmul", config, &[(BF16, &[4096, 6144]), (BF16, &[2048, 6144])], shape);
        let gemm = gemm(module.instruction("call").unwrap()).unwrap();
        assert_eq!((gemm.batch, gemm.m, gemm.n, gemm.k, gemm.beta), (1, 2048, 4096, 6144, 0.0));
        let figures = of(&module, "GEMM").unwrap();
        assert_eq!((figures.flops, figures.bytes.clone()), (103_079_215_104.0, Ok(88.0 * 1_048_576.0)));
        assert!((figures.flops / figures.bytes.clone().unwrap() - 1_117.090_909_090_909).abs() < 1e-9);
        assert!((figures.flops / 1e12 / 117.841e-6 - 874.731_333_780_263_3).abs() < 1e-9);
        assert_eq!(shown(&figures, "dtype_A_B"), "('bf16', 'bf16')");
        assert!(of(&module, "Conv").is_err());
    }

    #[test]
    fn where_the_report_ends_multiplications_go_on() {
        let config = r#"{"gemm_backend_config":{"beta":0.5,"dot_dimension_numbers":{
            "lhs_contracting_dimensions":["2","3"],"rhs_contracting_dimensions":["1","2"],
            "lhs_batch_dimensions":["0"],"rhs_batch_dimensions":["0"]}}}"#;
        let operands: &[(ElementType, &[u64])] =
            &[(BF16, &[2, 8, 3, 5]), (BF16, &[2, 3, 5, 7]), (ElementType::F32, &[2, 8, 7])];
        let module = call("__cublas$gemm", config, operands, Shape::array(BF16, [2, 8, 7]));
        let gemm = gemm(module.instruction("call").unwrap()).unwrap();
        assert_eq!((gemm.batch, gemm.m, gemm.n, gemm.k, gemm.beta), (2, 7, 8, 15, 0.5));
        let figures = of(&module, "GEMM").unwrap();
        assert_eq!(figures.flops, 2.0 * (2.0 * 7.0 * 8.0 * 15.0 + 56.0));
        assert_eq!(figures.bytes, Ok(2.0 * 2.0 * (7.0 * 15.0 + 15.0 * 8.0 + 56.0 + 8.0)));
    }

    #[test]
    fn attention_has_no_mask() {
        let qkv: &[u64] = &[1, 67_576, 24, 128];
        for (target, flops, bytes) in [
            ("te_fused_attn_forward_ffi", 56_113_345_855_488.0, 1_660_747_776.0),
            ("te_fused_attn_backward_ffi", 140_283_364_638_720.0, 2_906_308_608.0),
        ] {
            let module = call(target, "{mask_type = 2 : i64}", &[(BF16, qkv); 3], Shape::array(BF16, qkv));
            let figures = of(&module, "FA FWD").unwrap();
            assert_eq!((figures.flops, figures.bytes.clone()), (flops, Ok(bytes)), "{target}");
            assert_eq!(shown(&figures, "causal"), "False");
            assert_eq!(shown(&figures, "dtype_A_B"), "('c10::bfloat16', 'c10::bfloat16')");
        }
        let packed: &[u64] = &[2, 2048, 3, 16, 128];
        let module = call("te_fused_attn_forward_ffi", "", &[(BF16, packed)], Shape::array(BF16, [2]));
        assert!(of(&module, "FA FWD").unwrap_err().reason.contains("query"));
    }

    #[test]
    fn a_convolution_has_no_channels() {
        let (input, filter, output): (&[u64], &[u64], &[u64]) =
            (&[1, 16, 32, 60, 104], &[5120, 16, 1, 2, 2], &[1, 5120, 34, 31, 53]);
        let shape = |of: &[u64]| {
            Shape::Tuple(vec![Shape::array(BF16, of), Shape::array(ElementType::U8, [7_150_336])])
        };
        let module = call("__cudnn$convForward", "", &[(BF16, input), (BF16, filter)], shape(output));
        let figures = of(&module, "Conv").unwrap();
        assert_eq!((figures.flops, figures.bytes.clone()), (2_288_107_520.0, Ok(578_416_648.0)));
        assert_eq!(shown(&figures, "filter_shape"), "(1, 2, 2)");
        assert_eq!(shown(&figures, "convNd"), "conv3d");

        let module = call("__cudnn$convBackwardFilter", "", &[(BF16, input), (BF16, output)], shape(filter));
        let figures = of(&module, "Conv").unwrap();
        let result = 5120.0 * 16.0 * 4.0;
        assert_eq!(figures.flops, 2.0 * 4.0 * result + 2.0 * 4.0 * result / 16.0);
        assert_eq!(figures.bytes, Ok(2.0 * 2.0 * (3_194_880.0 + 4.0 + result)));
    }
}
