//! The reference tool's formulas for the work of library calls, for comparison with its reports. Known faults of
//! theirs stay: filters of convolutions without channels, attention without masks, library calls only.

use perf_models::hlo::{ArrayShape, InstructionRef, Shape};

use super::kernel_category::KernelCategory;
use super::record::{number_tuple, text_tuple};

/// Work of a library call and its parameters as texts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReferenceModel {
    /// Floating-point operations.
    pub(super) flops: f64,
    /// Bytes moved; `None` for element types that the reference tool has no size of.
    pub(super) bytes: Option<f64>,
    /// Names and values in the order of the columns.
    pub(super) parameters: Vec<(&'static str, String)>,
}

/// The model of a kernel of this category; `None` where the reference tool has none.
pub(super) fn reference_model(
    instruction: InstructionRef<'_>,
    category: KernelCategory,
) -> Option<ReferenceModel> {
    let target = instruction.custom_call_target.as_str();
    let calls = |names: &[&str]| names.iter().any(|name| target.contains(name));
    if instruction.operands.is_empty() || target.is_empty() {
        None
    } else if calls(&["matmul", "cublas"]) && category == KernelCategory::Gemm {
        Gemm::of(instruction).map(|gemm| gemm.model())
    } else if calls(&["te_fused_attn_forward_ffi", "te_fused_attn_backward_ffi"]) {
        attention(instruction, calls(&["te_fused_attn_backward_ffi"]))
    } else if calls(&["cudnn$convForward", "cudnn$convBiasActivationForward", "cudnn$convBackward"])
        && category == KernelCategory::Convolution
    {
        convolution(instruction, calls(&["cudnn$convBackward"]))
    } else {
        None
    }
}

/// A matrix multiplication of a library, in the column-major view of the library.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gemm {
    pub(super) batch: u64,
    pub(super) m: u64,
    pub(super) n: u64,
    pub(super) k: u64,
    /// Factor of the addend.
    pub(super) beta: f64,
    /// Element types of both factors.
    pub(super) types: [String; 2],
}

impl Gemm {
    /// `None` where the call is none, or one that the view cannot tell.
    pub(super) fn of(instruction: InstructionRef<'_>) -> Option<Self> {
        let target = instruction.custom_call_target.as_str();
        if !["matmul", "cublas"].iter().any(|name| target.contains(name)) {
            return None;
        }
        let arrays = operand_arrays(instruction);
        let (lhs, rhs) = (*arrays.first()?, *arrays.get(1)?);
        let config = instruction.backend_config.as_str();
        let contracted = |key: &str| Some(number_behind(config, key)? as usize);
        let lhs_dimension = contracted("\"lhs_contracting_dimensions\"").unwrap_or(1);
        let rhs_dimension = contracted("\"rhs_contracting_dimensions\"").unwrap_or(0);
        let k = *lhs.dimensions.get(lhs_dimension)?;
        if rhs.dimensions.get(rhs_dimension) != Some(&k) {
            return None;
        }
        let results = instruction.shape.arrays();
        let result = results.iter().find(|array| array.element_type.is_floating_point())?;
        let (mut a, mut b) = (lhs.dimensions.clone(), rhs.dimensions.clone());
        without_first(&mut a, k);
        without_first(&mut b, k);
        let batch = if result.dimensions.len() > 2 { *result.dimensions.first()? } else { 1 };
        if result.dimensions.len() > 2 {
            without_first(&mut a, batch);
            without_first(&mut b, batch);
        }
        let order = result.layout.as_ref().map(|layout| layout.minor_to_major.as_slice()).unwrap_or_default();
        let is_column_major = order.windows(2).any(|pair| pair == [0, 1]);
        let (rows, columns) = (a.first().copied().unwrap_or(1), b.first().copied().unwrap_or(1));
        let (m, n) = if is_column_major { (rows, columns) } else { (columns, rows) };
        let types = [lhs, rhs].map(|array| array.element_type.to_string());
        let beta = number_behind(config, "\"beta\"").unwrap_or(0.0);
        Some(Gemm { batch, m, n, k, beta, types })
    }

    fn model(&self) -> ReferenceModel {
        let [b, m, n, k] = [self.batch, self.m, self.n, self.k].map(|size| size as f64);
        let addend = if self.beta == 0.0 { 0.0 } else { 1.0 };
        let bytes = element_bytes(&self.types[0]);
        ReferenceModel {
            flops: b * (2.0 * m * n * k + addend * m * n),
            bytes: bytes.map(|size| b * size * (m * k + k * n + m * n + addend * n)),
            parameters: vec![
                ("B", self.batch.to_string()),
                ("M", self.m.to_string()),
                ("N", self.n.to_string()),
                ("K", self.k.to_string()),
                ("bias", python_bool(self.beta != 0.0).to_owned()),
                ("dtype_A_B", text_tuple(&self.types)),
                ("simulation_dtype", simulation_type(&self.types[0]).to_owned()),
            ],
        }
    }
}

fn attention(instruction: InstructionRef<'_>, is_backward: bool) -> Option<ReferenceModel> {
    let arrays = operand_arrays(instruction);
    let extents = |at: usize| <[u64; 4]>::try_from(arrays.get(at)?.dimensions.as_slice()).ok();
    let ([b, n_q, h_q, d_qk], [_, n_kv, h_kv, _], [.., d_v]) = (extents(0)?, extents(1)?, extents(2)?);
    let element_type = arrays.first()?.element_type;
    let size = element_bytes(&element_type.to_string());
    let sizes = [b, n_q, h_q, n_kv, h_kv, d_qk, d_v];
    let [batch, q, heads, kv, key_heads, qk, v] = sizes.map(|size| size as f64);
    let scores = batch * heads * 2.0 * q * kv;
    let [of_q, of_k, of_v, of_o] = [q * heads * qk, kv * key_heads * qk, kv * key_heads * v, q * heads * v];
    let (flops, elements) = match is_backward {
        false => (scores * (qk + v), of_q + of_k + of_v + of_o),
        true => {
            let groups = h_q.checked_div(h_kv)? as f64;
            let repeated = batch * kv * (qk + v) * (groups - 1.0);
            (scores * (3.0 * qk + 2.0 * v) + repeated, 2.0 * (of_q + of_k + of_v) + of_o)
        }
    };
    let torch_name = element_type.torch_name();
    let names = ["B", "N_Q", "H_Q", "N_KV", "H_KV", "d_h_qk", "d_h_v"];
    let mut parameters: Vec<(&'static str, String)> =
        names.into_iter().zip(sizes.map(|size| size.to_string())).collect();
    parameters.extend([
        ("bias", python_bool(false).to_owned()),
        ("dtype_A_B", text_tuple(&[&torch_name, &torch_name])),
        ("causal", python_bool(false).to_owned()),
        ("bytes_per_element", size.map(|size| size.to_string()).unwrap_or_default()),
    ]);
    Some(ReferenceModel { flops, bytes: size.map(|size| size * batch * elements), parameters })
}

fn convolution(instruction: InstructionRef<'_>, is_backward: bool) -> Option<ReferenceModel> {
    let arrays = operand_arrays(instruction);
    let results = instruction.shape.arrays();
    let (input, output) = (*arrays.first()?, *results.iter().find(|array| !array.dimensions.is_empty())?);
    let filter_of = if is_backward { output } else { arrays.get(1)? };
    let filter = filter_of.dimensions.get(2..)?;
    let spatial = input.dimensions.len().checked_sub(2).filter(|spatial| (1..=3).contains(spatial))?;
    let has_bias = arrays.len() == 3;
    let bias = if has_bias { 1.0 } else { 0.0 };
    let product = |sizes: &[u64]| sizes.iter().map(|&size| size as f64).product::<f64>();
    let (x, w, o) = (product(&input.dimensions), product(filter), product(&output.dimensions));
    let taps = product(filter.get(1..).unwrap_or_default());
    let channels = *output.dimensions.get(1)? as f64;
    let size = element_bytes(&input.element_type.to_string());
    let (flops, bytes) = match is_backward {
        false => (2.0 * taps * o + bias * o, size.map(|size| size * (x + w + bias * channels + o))),
        true => (
            2.0 * taps * o + if channels > 0.0 { 2.0 * w * o / channels } else { 0.0 } + bias * o,
            size.map(|size| size * 2.0 * (x + w + o) + bias * (o + channels)),
        ),
    };
    Some(ReferenceModel {
        flops,
        bytes,
        parameters: vec![
            ("convNd", format!("conv{spatial}d")),
            ("input_shape", number_tuple(&input.dimensions)),
            ("filter_shape", number_tuple(filter)),
            ("output_shape", number_tuple(&output.dimensions)),
            ("bias", python_bool(has_bias).to_owned()),
            ("bytes_per_element", size.map(|size| size.to_string()).unwrap_or_default()),
            ("transposed_conv", python_bool(false).to_owned()),
        ],
    })
}

/// Operands that are arrays of some rank, of tuples their first array.
fn operand_arrays(instruction: InstructionRef<'_>) -> Vec<&ArrayShape> {
    let shapes = instruction.operands().map(|operand| &operand.instruction().shape);
    shapes.filter_map(first_array).collect()
}

fn first_array(shape: &Shape) -> Option<&ArrayShape> {
    shape.arrays().into_iter().find(|array| !array.dimensions.is_empty())
}

/// Bytes of an element that the reference tool knows.
fn element_bytes(name: &str) -> Option<f64> {
    match name {
        "f32" => Some(4.0),
        "f16" | "bf16" => Some(2.0),
        name if name.starts_with("f8") => Some(1.0),
        _ => None,
    }
}

fn simulation_type(name: &str) -> &str {
    match name {
        "f32" => "fp32",
        "f16" => "fp16",
        name if name.starts_with("f8") => "fp8",
        name => name,
    }
}

fn python_bool(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// Takes out the first size of this value.
fn without_first(sizes: &mut Vec<u64>, size: u64) {
    if let Some(at) = sizes.iter().position(|&other| other == size) {
        sizes.remove(at);
    }
}

/// The number behind a key of JSON text, in a text or a list of its own or by itself.
fn number_behind(json: &str, key: &str) -> Option<f64> {
    let rest = json[json.find(key)? + key.len()..].trim_start_matches([':', '[', '"', ' ']);
    let end = rest.find(|c: char| !(c.is_ascii_digit() || ".-+eE".contains(c))).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use perf_models::hlo::{ElementType, HloComputation, HloInstruction, HloModule};

    use super::*;

    fn call(target: &str, config: &str, operands: &[(ElementType, &[u64])], shape: Shape) -> HloModule {
        let mut instructions: Vec<HloInstruction> = operands
            .iter()
            .enumerate()
            .map(|(at, &(element, dimensions))| {
                let shape = Shape::array(element, dimensions.to_vec());
                HloInstruction::new(at as i64, format!("p{at}"), "parameter", shape)
            })
            .collect();
        instructions.push(HloInstruction {
            operands: (0..operands.len() as i64).collect(),
            custom_call_target: target.into(),
            backend_config: config.into(),
            ..HloInstruction::new(99, "call", "custom-call", shape)
        });
        let computation = HloComputation { id: 1, name: "main".into(), root: 99, instructions };
        HloModule::new("m", 1, vec![computation])
    }

    fn model(module: &HloModule, category: KernelCategory) -> ReferenceModel {
        reference_model(module.instruction("call").unwrap(), category).unwrap()
    }

    fn parameter<'m>(model: &'m ReferenceModel, name: &str) -> &'m str {
        &model.parameters.iter().find(|(key, _)| *key == name).unwrap().1
    }

    #[test]
    fn a_matrix_multiplication_is_seen_column_major() {
        let result = Shape::Tuple(vec![
            Shape::array(ElementType::Bf16, [4096, 2048]),
            Shape::array(ElementType::S8, [67_108_864]),
        ]);
        let config = r#"{"gemm_backend_config":{"beta":0,"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["1"],"lhs_batch_dimensions":[]}}}"#;
        let operands: &[(ElementType, &[u64])] =
            &[(ElementType::Bf16, &[4096, 6144]), (ElementType::Bf16, &[2048, 6144])];
        let module = call("__cublas$gemm", config, operands, result);
        let gemm = Gemm::of(module.instruction("call").unwrap()).unwrap();
        assert_eq!((gemm.batch, gemm.m, gemm.n, gemm.k, gemm.beta), (1, 2048, 4096, 6144, 0.0));
        let model = model(&module, KernelCategory::Gemm);
        assert_eq!(model.flops, 103_079_215_104.0);
        assert_eq!(model.bytes, Some(88.0 * 1_048_576.0));
        assert!((model.flops / model.bytes.unwrap() - 1117.090909090909).abs() < 1e-9);
        assert!((model.flops / 1e6 / 117.841 - 874.7313337802633).abs() < 1e-9);
        assert_eq!(parameter(&model, "simulation_dtype"), "bf16");
        assert_eq!(reference_model(module.instruction("call").unwrap(), KernelCategory::Convolution), None);
    }

    #[test]
    fn attention_has_no_masks() {
        let qkv: &[u64] = &[1, 67576, 24, 128];
        let operands: Vec<(ElementType, &[u64])> = vec![(ElementType::Bf16, qkv); 3];
        for (target, flops, bytes) in [
            ("te_fused_attn_forward_ffi", 56_113_345_855_488.0, 1_660_747_776.0),
            ("te_fused_attn_backward_ffi", 140_283_364_638_720.0, 2_906_308_608.0),
        ] {
            let module = call(target, "", &operands, Shape::array(ElementType::Bf16, qkv.to_vec()));
            let model = model(&module, KernelCategory::AttentionForward);
            assert_eq!((model.flops, model.bytes), (flops, Some(bytes)), "{target}");
        }
    }

    #[test]
    fn a_packed_attention_operand_has_no_model_and_ends_nothing() {
        let operands: &[(ElementType, &[u64])] = &[(ElementType::Bf16, &[2, 2048, 3, 16, 128])];
        let module = call("te_fused_attn_forward_ffi", "", operands, Shape::array(ElementType::Bf16, [2]));
        let instruction = module.instruction("call").unwrap();
        assert_eq!(reference_model(instruction, KernelCategory::AttentionForward), None);
    }

    #[test]
    fn a_convolution_has_no_channels() {
        let operands: &[(ElementType, &[u64])] =
            &[(ElementType::Bf16, &[1, 16, 32, 60, 104]), (ElementType::Bf16, &[5120, 16, 1, 2, 2])];
        let result = Shape::Tuple(vec![
            Shape::array(ElementType::Bf16, [1, 5120, 34, 31, 53]),
            Shape::array(ElementType::U8, [64]),
        ]);
        let module = call("__cudnn$convForward", "", operands, result);
        let model = model(&module, KernelCategory::Convolution);
        assert_eq!((model.flops, model.bytes), (2_288_107_520.0, Some(578_416_648.0)));
        assert_eq!(parameter(&model, "convNd"), "conv3d");
        assert_eq!(parameter(&model, "filter_shape"), "(1, 2, 2)");
    }

    #[test]
    fn numbers_of_the_configuration_are_those_behind_their_key() {
        let config = r#"{"alpha":1,"beta":0.5,"lhs":["2"],"rhs":[],"next":["3"]}"#;
        for (key, expected) in
            [("\"beta\"", Some(0.5)), ("\"lhs\"", Some(2.0)), ("\"rhs\"", None), ("\"x\"", None)]
        {
            assert_eq!(number_behind(config, key), expected, "{key}");
        }
    }
}
