//! [`WorkRule::LibraryKernel`](crate::WorkRule::LibraryKernel), by which TraceLens counts where it is known to be wrong. A reader
//! of the other modules may skip this one: its sheets replace those of the module `gpu`, and the sheets of kernels take arguments
//! from here.
//!
//! The rule credits the work of an instruction to each of its kernels, by formulas of library calls only. Faults of the
//! formulas stay: filters of convolutions without channels, attention without masks. No strides are shown, and of
//! attention three operands.

use std::cmp::Reverse;

use gpu_timeline::{SortFew, Spread, Summary};
use hlo_cost::InstructionRef;
use operator_sheets::duration_statistics;
use perf_models::XlaKernel;
use sheets::columns::{KERNEL_TIME, TB_PER_S, TFLOPS_PER_S, WORK_OF_FIRST};
use sheets::{Field, Sheet};

use crate::IndexMap;
use crate::analysis::JaxAnalysis;
use crate::gpu::call_groups::{OperatorContext, STEM};
use crate::gpu::gemms::{LibraryGemm, transposes};
use crate::gpu::kernel_rows::{Arguments, KernelRow, gpu_kernels, kernel_list};
use crate::gpu::op_sheets::{
    COUNT, DETAILS, DIMS, Members, PROCESS_LABEL, PROCESS_NAME, THREAD_NAME, TIME_SUM, TYPES, UID,
    parameter_field,
};
use crate::operators::{Record, number_tuple, number_tuples, operand_arrays, text_tuple};

/// Arguments of an instruction as its sheets of kernels show them.
pub(crate) fn arguments(record: &Record) -> Arguments<'_> {
    let is_attention = record.custom_call_target.contains("te_fused_attn");
    let shown = if is_attention { record.dims.len().min(3) } else { record.dims.len() };
    let concrete = record.dims.get(3).filter(|_| is_attention);
    Arguments {
        dims: &record.dims[..shown],
        types: &record.types[..shown],
        strides: &[],
        concrete: concrete.map(std::slice::from_ref).unwrap_or_default(),
    }
}

/// Kernels of one name whose instructions have the same parameters.
struct Group<'a> {
    rows: Vec<KernelRow<'a>>,
    model: Model,
    times: Summary,
    /// The same in µs.
    spread: Spread,
    /// Bytes over time, in units of 1e12 per second.
    bandwidth: Spread,
    /// FLOPs over time, in units of 1e12 per second.
    rate: Spread,
}

/// A sheet of a kind of instructions by this rule.
pub(crate) fn op_sheet<'a>(members: Members) -> Sheet<'a, JaxAnalysis> {
    let description = "One row per kernel and parameters of the library call that launched it.";
    Sheet::with_context("op", description, fields(), move |analysis| match members {
        Members::Of(category) => groups(analysis, category),
        Members::Rest => None,
    })
}

fn fields<'a>() -> Vec<Field<OperatorContext<'a>, Group<'a>>> {
    let mut fields = vec![
        STEM.field(|row: &Group<'_>| row.rows[0].name.into()),
        parameter_field(|row: &Group<'_>, name| {
            let value = row.model.parameters.iter().find(|(parameter, _)| *parameter == name);
            value.map(|(_, value)| value.as_str()).into()
        }),
    ];
    let work: [fn(&Model) -> Option<f64>; 3] = [
        |model| Some(model.flops / 1e9),
        |model| Some(model.bytes? / (1024.0 * 1024.0)),
        |model| model.bytes.filter(|&bytes| bytes > 0.0).map(|bytes| model.flops / bytes),
    ];
    let work = WORK_OF_FIRST.into_iter().zip(work);
    fields
        .extend(work.map(|(column, figure)| column.field(move |row: &Group<'_>| figure(&row.model).into())));
    fields.extend(TB_PER_S.fields(|row: &Group<'_>| &row.bandwidth));
    fields.extend(TFLOPS_PER_S.fields(|row: &Group<'_>| &row.rate));
    fields.extend([
        PROCESS_NAME.field(|_: &Group<'_>| "Unknown".into()),
        PROCESS_LABEL.field(|_: &Group<'_>| "Unknown".into()),
        THREAD_NAME.field_in(|context: &OperatorContext<'_>, row: &Group<'_>| {
            let trace = context.analysis.trace();
            trace.thread_name(trace.events().track(row.rows[0].event.event)).into()
        }),
        DETAILS.field_in(|context: &OperatorContext<'_>, row: &Group<'_>| {
            let statistics = duration_statistics(context.analysis.trace(), &row.times);
            kernel_list(row.rows[0].name, statistics.into_iter()).into()
        }),
        DIMS.field(|row: &Group<'_>| row.arguments().map(|arguments| number_tuples(arguments.dims)).into()),
        TYPES.field(|row: &Group<'_>| row.arguments().map(|arguments| text_tuple(arguments.types)).into()),
    ]);
    fields.extend(KERNEL_TIME.fields(|row: &Group<'_>| &row.spread));
    fields.extend([
        TIME_SUM.field_in(|context: &OperatorContext<'_>, row: &Group<'_>| {
            context.analysis.us(row.times.sum).into()
        }),
        COUNT.field(|row: &Group<'_>| row.rows.len().into()),
        UID.field(|row: &Group<'_>| row.rows[0].uid.into()),
    ]);
    fields
}

impl<'a> Group<'a> {
    fn arguments(&self) -> Option<Arguments<'a>> {
        self.rows[0].operator.record.as_ref().map(arguments)
    }
}

/// The groups, most time first.
fn groups<'a>(
    analysis: &'a JaxAnalysis,
    category: XlaKernel,
) -> Option<(OperatorContext<'a>, Vec<Group<'a>>)> {
    let mut groups: IndexMap<_, (Model, Vec<KernelRow<'_>>)> = IndexMap::default();
    for row in gpu_kernels(analysis).into_iter().filter(|row| row.category == category) {
        let Some(instruction) = analysis.instruction(row.event.event) else { continue };
        let Some(mut model) = Model::new(instruction, category) else { continue };
        if category == XlaKernel::Gemm {
            let transposes = transposes(row.name).map(|sides| ("transpose", sides.to_string()));
            model.parameters.extend(transposes);
        }
        let key = (row.name, model.parameters.clone());
        groups.entry(key).or_insert_with(|| (model, Vec::new())).1.push(row);
    }
    let group = |(model, rows): (Model, Vec<KernelRow<'a>>)| {
        let times: Vec<i64> = rows.iter().map(|row| row.time).collect();
        let rates = |work: Option<f64>| {
            let us = times.iter().map(|&time| analysis.us(time));
            Spread::from_values(us.map(|us| Some(work.filter(|_| us > 0.0)? / 1e6 / us)))
        };
        let summary = Summary::from_values(&times)?;
        Some(Group {
            times: summary,
            spread: analysis.spread_us(Some(summary)),
            bandwidth: rates(model.bytes),
            rate: rates(Some(model.flops)),
            rows,
            model,
        })
    };
    let mut groups: Vec<Group<'_>> = groups.into_values().filter_map(group).collect();
    groups.sort_few_by_key(|group| Reverse(group.times.sum));
    let parameters = groups.iter().flat_map(|group| &group.model.parameters).map(|&(name, _)| name).collect();
    (!groups.is_empty()).then_some((OperatorContext { analysis, parameters }, groups))
}

/// Work of a library call and its parameters as texts.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    /// Floating-point operations.
    flops: f64,
    /// Bytes moved; `None` for element types that TraceLens has no size of.
    bytes: Option<f64>,
    /// Names and values in the order of the columns.
    parameters: Vec<(&'static str, String)>,
}

impl Model {
    /// The model of a kernel of this category; `None` where TraceLens has none.
    fn new(instruction: InstructionRef<'_>, category: XlaKernel) -> Option<Self> {
        let target = instruction.custom_call_target.as_str();
        let calls = |names: &[&str]| names.iter().any(|name| target.contains(name));
        if instruction.operands.is_empty() || target.is_empty() {
            None
        } else if calls(&["matmul", "cublas"]) && category == XlaKernel::Gemm {
            LibraryGemm::new(instruction).map(|gemm| matrix_product(&gemm))
        } else if calls(&["te_fused_attn_forward_ffi", "te_fused_attn_backward_ffi"]) {
            attention(instruction, calls(&["te_fused_attn_backward_ffi"]))
        } else if calls(&["cudnn$convForward", "cudnn$convBiasActivationForward", "cudnn$convBackward"])
            && category == XlaKernel::Convolution
        {
            convolution(instruction, calls(&["cudnn$convBackward"]))
        } else {
            None
        }
    }
}

fn matrix_product(gemm: &LibraryGemm) -> Model {
    let [b, m, n, k] = [gemm.batch, gemm.m, gemm.n, gemm.k].map(|size| size as f64);
    let addend = if gemm.beta == 0.0 { 0.0 } else { 1.0 };
    let bytes = element_bytes(&gemm.types[0]);
    Model {
        flops: b * (2.0 * m * n * k + addend * m * n),
        bytes: bytes.map(|size| b * size * (m * k + k * n + m * n + addend * n)),
        parameters: vec![
            ("B", gemm.batch.to_string()),
            ("M", gemm.m.to_string()),
            ("N", gemm.n.to_string()),
            ("K", gemm.k.to_string()),
            ("bias", python_bool(gemm.beta != 0.0).to_owned()),
            ("dtype_A_B", text_tuple(&gemm.types).to_string()),
            ("simulation_dtype", simulation_type(&gemm.types[0]).to_owned()),
        ],
    }
}

fn attention(instruction: InstructionRef<'_>, is_backward: bool) -> Option<Model> {
    let arrays = operand_arrays(instruction);
    let extents = |at: usize| <[u64; 4]>::try_from(arrays.get(at)?.dimensions.as_slice()).ok();
    let ([b, n_q, h_q, d_qk], [_, n_kv, h_kv, _], [.., d_v]) = (extents(0)?, extents(1)?, extents(2)?);
    let element_type = arrays.first()?.element_type;
    let size = element_bytes(&element_type.to_string());
    let sizes = [b, n_q, h_q, n_kv, h_kv, d_qk, d_v];
    let [batch, q, heads, kv, key_heads, qk, v] = sizes.map(|size| size as f64);
    let scores = batch * heads * 2.0 * q * kv;
    let [elements_q, elements_k, elements_v, elements_o] =
        [q * heads * qk, kv * key_heads * qk, kv * key_heads * v, q * heads * v];
    let (flops, elements) = match is_backward {
        false => (scores * (qk + v), elements_q + elements_k + elements_v + elements_o),
        true => {
            let groups = h_q.checked_div(h_kv)? as f64;
            let repeated = batch * kv * (qk + v) * (groups - 1.0);
            (
                scores * (3.0 * qk + 2.0 * v) + repeated,
                2.0 * (elements_q + elements_k + elements_v) + elements_o,
            )
        }
    };
    let torch_name = element_type.torch_name();
    let names = ["B", "N_Q", "H_Q", "N_KV", "H_KV", "d_h_qk", "d_h_v"];
    let mut parameters: Vec<(&'static str, String)> =
        names.into_iter().zip(sizes.map(|size| size.to_string())).collect();
    parameters.extend([
        ("bias", python_bool(false).to_owned()),
        ("dtype_A_B", text_tuple(&[&torch_name, &torch_name]).to_string()),
        ("causal", python_bool(false).to_owned()),
        ("bytes_per_element", size.map(|size| size.to_string()).unwrap_or_default()),
    ]);
    Some(Model { flops, bytes: size.map(|size| size * batch * elements), parameters })
}

fn convolution(instruction: InstructionRef<'_>, is_backward: bool) -> Option<Model> {
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
    Some(Model {
        flops,
        bytes,
        parameters: vec![
            ("convNd", format!("conv{spatial}d")),
            ("input_shape", number_tuple(&input.dimensions).to_string()),
            ("filter_shape", number_tuple(filter).to_string()),
            ("output_shape", number_tuple(&output.dimensions).to_string()),
            ("bias", python_bool(has_bias).to_owned()),
            ("bytes_per_element", size.map(|size| size.to_string()).unwrap_or_default()),
            ("transposed_conv", python_bool(false).to_owned()),
        ],
    })
}

/// Bytes of an element that TraceLens knows.
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

#[cfg(test)]
mod tests {
    use hlo_cost::{ElementType, HloComputation, HloInstruction, HloModule, Shape};

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

    fn model(module: &HloModule, category: XlaKernel) -> Model {
        Model::new(module.instruction("call").unwrap(), category).unwrap()
    }

    fn parameter<'m>(model: &'m Model, name: &str) -> &'m str {
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
        let gemm = LibraryGemm::new(module.instruction("call").unwrap()).unwrap();
        assert_eq!((gemm.batch, gemm.m, gemm.n, gemm.k, gemm.beta), (1, 2048, 4096, 6144, 0.0));
        let model = model(&module, XlaKernel::Gemm);
        assert_eq!(model.flops, 103_079_215_104.0);
        assert_eq!(model.bytes, Some(88.0 * 1_048_576.0));
        assert!((model.flops / model.bytes.unwrap() - 1117.090909090909).abs() < 1e-9);
        assert!((model.flops / 1e6 / 117.841 - 874.7313337802633).abs() < 1e-9);
        assert_eq!(parameter(&model, "simulation_dtype"), "bf16");
        assert_eq!(Model::new(module.instruction("call").unwrap(), XlaKernel::Convolution), None);
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
            let model = model(&module, XlaKernel::AttentionForward);
            assert_eq!((model.flops, model.bytes), (flops, Some(bytes)), "{target}");
        }
    }

    #[test]
    fn a_packed_attention_operand_has_no_model_and_ends_nothing() {
        let operands: &[(ElementType, &[u64])] = &[(ElementType::Bf16, &[2, 2048, 3, 16, 128])];
        let module = call("te_fused_attn_forward_ffi", "", operands, Shape::array(ElementType::Bf16, [2]));
        let instruction = module.instruction("call").unwrap();
        assert_eq!(Model::new(instruction, XlaKernel::AttentionForward), None);
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
        let model = model(&module, XlaKernel::Convolution);
        assert_eq!((model.flops, model.bytes), (2_288_107_520.0, Some(578_416_648.0)));
        assert_eq!(parameter(&model, "convNd"), "conv3d");
        assert_eq!(parameter(&model, "filter_shape"), "(1, 2, 2)");
    }
}
