//! Costs of instructions of compiled programs, made by hand.

use std::slice;

use hlo_cost::{
    ConvolutionDimensionNumbers, DotDimensionNumbers, ElementType, HloComputation, HloCost, HloInstruction,
    HloKind, HloModule, Shape, Window, WindowDimension,
};
use perf_models::{Gap, PerfModel, Value};
use proptest::prelude::*;

use ElementType::{Bf16, F32, Pred, S8, S32, U8};

fn array(element_type: ElementType, dimensions: &[u64]) -> Shape {
    Shape::array(element_type, dimensions)
}

/// A computation of parameters of these shapes and one instruction of them, its root.
fn computation(id: i64, parameters: &[Shape], last: HloInstruction) -> HloComputation {
    let numbers = 0..parameters.len() as i64;
    let parameter = |(number, shape): (i64, &Shape)| HloInstruction {
        parameter_number: number,
        ..HloInstruction::new(number, format!("p{id}_{number}"), "parameter", shape.clone())
    };
    let mut instructions: Vec<HloInstruction> = numbers.clone().zip(parameters).map(parameter).collect();
    let operands = if last.operands.is_empty() { numbers.collect() } else { last.operands.clone() };
    instructions.push(HloInstruction { id: 99, operands, ..last });
    HloComputation { id, root: 99, name: format!("computation.{id}"), instructions }
}

fn cost_of(parameters: &[Shape], last: HloInstruction) -> HloCost {
    cost_calling(parameters, last, Vec::new())
}

fn cost_calling(parameters: &[Shape], last: HloInstruction, called: Vec<HloComputation>) -> HloCost {
    let name = last.name.clone();
    let called_computations = called.iter().map(|computation| computation.id).collect();
    let last = HloInstruction { called_computations, ..last };
    let mut computations = called;
    computations.push(computation(1, parameters, last));
    HloModule::new("m", 1, computations).instruction(&name).unwrap().cost()
}

fn custom_call(target: &str, config: &str, shape: Shape) -> HloInstruction {
    HloInstruction {
        custom_call_target: target.into(),
        backend_config: config.into(),
        ..HloInstruction::new(0, "call", "custom-call", shape)
    }
}

fn dot(shape: Shape, contracting: [i64; 2], batch: &[i64]) -> HloInstruction {
    let [lhs, rhs] = contracting;
    HloInstruction {
        dot: Some(DotDimensionNumbers {
            lhs_contracting: vec![lhs],
            rhs_contracting: vec![rhs],
            lhs_batch: batch.to_vec(),
            rhs_batch: batch.to_vec(),
        }),
        ..HloInstruction::new(0, "dot", "dot", shape)
    }
}

fn parameter(cost: &HloCost, name: &str) -> String {
    let found = cost.parameters.iter().find(|(key, _)| *key == name);
    found.map(|(_, value)| value.to_string()).unwrap_or_default()
}

const GEMM: &str = r#"{"gemm_backend_config":{"alpha_real":1,"beta":BETA,"epilogue":"EPILOGUE",
    "dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["1"]}}}"#;

#[test]
fn a_library_multiplication_moves_its_operands_and_its_result_but_no_workspace() {
    let shape = Shape::Tuple(vec![array(Bf16, &[4096, 2048]), array(S8, &[67_108_864])]);
    let config = GEMM.replace("BETA", "0").replace("EPILOGUE", "DEFAULT");
    let operands = [array(Bf16, &[4096, 6144]), array(Bf16, &[2048, 6144])];
    let cost = cost_of(&operands, custom_call("__cublas$lt$matmul", &config, shape));
    assert_eq!(cost.kind, HloKind::Gemm);
    assert_eq!(cost.flops(), Ok(103_079_215_104.0));
    assert_eq!(cost.bytes(), Ok(88.0 * 1_048_576.0));
    assert_eq!(cost.compute_spec().unwrap().to_string(), "matrix_bf16");
    assert_eq!(cost.vector_flops, 0.0);
    for (name, value) in [
        ("M", "2048"),
        ("N", "4096"),
        ("K", "6144"),
        ("B", "1"),
        ("bias", "False"),
        ("simulation_dtype", "bf16"),
    ] {
        assert_eq!(parameter(&cost, name), value, "{name}");
    }
}

#[test]
fn what_is_fused_to_a_library_multiplication_is_work_of_the_vector_units() {
    let operands =
        [array(Bf16, &[64, 32]), array(Bf16, &[128, 32]), array(Bf16, &[64, 128]), array(Bf16, &[128])];
    let config = GEMM.replace("BETA", "0.5").replace("EPILOGUE", "BIAS_RELU");
    // Neither a tuple nor one type of operands is needed.
    let cost = cost_of(&operands, custom_call("__cublas$lt$matmul", &config, array(F32, &[64, 128])));
    assert_eq!(cost.flops(), Ok(2.0 * 64.0 * 128.0 * 32.0));
    assert_eq!(cost.vector_flops, 3.0 * 64.0 * 128.0);
    let moved = 2.0 * (64.0 * 32.0 + 128.0 * 32.0 + 64.0 * 128.0 + 128.0) + 4.0 * 64.0 * 128.0;
    assert_eq!(cost.bytes(), Ok(moved));
    assert_eq!(parameter(&cost, "bias"), "True");
}

#[test]
fn an_eight_bit_multiplication_reads_its_scales() {
    let f8 = ElementType::F8E4M3Fn;
    let scale = array(F32, &[]);
    let operands = [array(f8, &[64, 32]), array(ElementType::F8E5M2, &[128, 32]), scale.clone(), scale];
    let shape = Shape::Tuple(vec![array(Bf16, &[64, 128]), array(S8, &[1024])]);
    let config = GEMM.replace("BETA", "0").replace("EPILOGUE", "DEFAULT");
    let cost = cost_of(&operands, custom_call("__cublas$lt$matmul$f8", &config, shape));
    assert_eq!(cost.compute_spec().unwrap().to_string(), "matrix_fp8");
    assert_eq!(cost.bytes(), Ok(64.0 * 32.0 + 128.0 * 32.0 + 8.0 + 2.0 * 64.0 * 128.0));
}

#[test]
fn several_dimensions_can_be_summed_over_and_in_the_batch() {
    let numbers = DotDimensionNumbers {
        lhs_contracting: vec![2, 4],
        rhs_contracting: vec![4, 2],
        lhs_batch: vec![0, 1],
        rhs_batch: vec![0, 1],
    };
    let of = HloInstruction {
        dot: Some(numbers),
        ..HloInstruction::new(0, "dot", "dot", array(F32, &[2, 3, 7, 11]))
    };
    let cost = cost_of(&[array(F32, &[2, 3, 5, 7, 13]), array(F32, &[2, 3, 13, 11, 5])], of);
    assert_eq!(cost.flops(), Ok(2.0 * 2.0 * 3.0 * 7.0 * 11.0 * 5.0 * 13.0));
    for (name, value) in [("B", "6"), ("M", "11"), ("N", "7"), ("K", "65")] {
        assert_eq!(parameter(&cost, name), value, "{name}");
    }
}

#[test]
fn a_fusion_costs_what_the_multiplication_in_it_costs() {
    // A gradient of Transformer Engine's layer, fused by Triton.
    let result = array(F32, &[2, 4096, 6144]);
    let operands = [array(Bf16, &[2, 4096, 1024]), array(Bf16, &[2, 1024, 6144])];
    let inner = computation(2, &operands, dot(result.clone(), [2, 1], &[0]));
    let fusion = HloInstruction {
        fusion_kind: "kCustom".into(),
        ..HloInstruction::new(0, "gemm_fusion_dot", "fusion", result.clone())
    };
    let cost = cost_calling(&operands, fusion, vec![inner]);
    assert_eq!((cost.kind, cost.flops()), (HloKind::Gemm, Ok(103_079_215_104.0)));
    let tflops_per_s = cost.flops().unwrap() / 240.042e-6 / 1e12;
    assert!((tflops_per_s - 429.4).abs() < 0.05, "{tflops_per_s}");
    assert_eq!(cost.flops(), cost_of(&operands, dot(result, [2, 1], &[0])).flops());
}

/// Convolution of (N, C, D, H, W) by (O, I, d, h, w) to (N, O, D, H, W).
fn volumes() -> ConvolutionDimensionNumbers {
    ConvolutionDimensionNumbers {
        input_batch: 0,
        input_feature: 1,
        input_spatial: vec![2, 3, 4],
        kernel_input_feature: 1,
        kernel_output_feature: 0,
        kernel_spatial: vec![2, 3, 4],
        output_batch: 0,
        output_feature: 1,
        output_spatial: vec![2, 3, 4],
    }
}

#[test]
fn a_library_convolution_counts_every_tap_of_every_input_channel() {
    let (input, filter) = (array(Bf16, &[1, 16, 32, 60, 104]), array(Bf16, &[5120, 16, 1, 2, 2]));
    let output = array(Bf16, &[1, 5120, 34, 31, 53]);
    let workspace = array(U8, &[1 << 20]);
    let call = |target: &str, result: &Shape| HloInstruction {
        convolution: Some(volumes()),
        feature_group_count: 1,
        ..custom_call(target, "{}", Shape::Tuple(vec![result.clone(), workspace.clone()]))
    };
    for (target, operands, result, kind) in [
        ("__cudnn$convForward", [&input, &filter], &output, HloKind::ConvForward),
        ("__cudnn$convBackwardInput", [&output, &filter], &input, HloKind::ConvBackward),
        ("__cudnn$convBackwardFilter", [&input, &output], &filter, HloKind::ConvBackward),
    ] {
        let cost = cost_of(&operands.map(Clone::clone), call(target, result));
        assert_eq!((cost.kind, cost.flops()), (kind, Ok(36_609_720_320.0)), "{target}");
        assert_eq!(cost.bytes(), Ok(579_072_000.0), "{target}");
        assert_eq!(parameter(&cost, "input_shape"), "(1, 16, 32, 60, 104)");
        assert_eq!(parameter(&cost, "filter_shape"), "(1, 2, 2)");
        assert_eq!(parameter(&cost, "output_shape"), "(1, 5120, 34, 31, 53)");
    }
}

/// Convolution of (N, H, W, C) by (H, W, I, O) to (N, H, W, O).
fn images() -> ConvolutionDimensionNumbers {
    ConvolutionDimensionNumbers {
        input_batch: 0,
        input_feature: 3,
        input_spatial: vec![1, 2],
        kernel_input_feature: 2,
        kernel_output_feature: 3,
        kernel_spatial: vec![0, 1],
        output_batch: 0,
        output_feature: 3,
        output_spatial: vec![1, 2],
    }
}

fn convolution(output: Shape, dimension: WindowDimension, groups: i64) -> HloInstruction {
    HloInstruction {
        convolution: Some(images()),
        window: Some(Window { dimensions: vec![dimension; 2] }),
        feature_group_count: groups,
        ..HloInstruction::new(0, "conv", "convolution", output)
    }
}

#[test]
fn groups_and_dilation_change_what_a_convolution_takes() {
    let window = WindowDimension { size: 3, ..WindowDimension::default() };
    let dense = cost_of(
        &[array(F32, &[8, 10, 10, 64]), array(F32, &[3, 3, 64, 128])],
        convolution(array(F32, &[8, 8, 8, 128]), window, 1),
    );
    assert_eq!(dense.flops(), Ok(2.0 * 8.0 * 8.0 * 8.0 * 128.0 * 9.0 * 64.0));
    let grouped = cost_of(
        &[array(F32, &[8, 10, 10, 64]), array(F32, &[3, 3, 16, 128])],
        convolution(array(F32, &[8, 8, 8, 128]), window, 4),
    );
    assert_eq!(4.0 * grouped.flops().unwrap(), dense.flops().unwrap());
    assert_eq!(parameter(&grouped, "groups"), "4");

    // Taps apart from each other: as many as before.
    let apart = WindowDimension { window_dilation: 2, ..window };
    let dilated = cost_of(
        &[array(F32, &[8, 12, 12, 64]), array(F32, &[3, 3, 64, 128])],
        convolution(array(F32, &[8, 8, 8, 128]), apart, 1),
    );
    assert_eq!(dilated.flops(), dense.flops());

    // A transposed convolution: 7×7 elements meet 3×3 taps each, whatever the 15×15 of the result.
    let stretched = WindowDimension { base_dilation: 2, padding_low: 2, padding_high: 2, ..window };
    let transposed = cost_of(
        &[array(F32, &[8, 7, 7, 64]), array(F32, &[3, 3, 64, 128])],
        convolution(array(F32, &[8, 15, 15, 128]), stretched, 1),
    );
    assert_eq!(transposed.flops(), Ok(2.0 * 8.0 * 49.0 * 128.0 * 9.0 * 64.0));
    assert_eq!(parameter(&transposed, "transposed_conv"), "True");
}

const TRANSFORMER_ENGINE: &str = "{attn_heads = 16 : i64, bias_batch = 0 : i64, bias_heads = 0 : i64, bias_type = 0 : i64, \
    deterministic = false, dropout_probability = 0.000000e+00 : f64, input_batch = 2 : i64, is_training = true, \
    kv_max_seqlen = 2048 : i64, mask_type = MASK : i64, max_segments_per_seq = 1 : i64, num_gqa_groups = 16 : i64, \
    q_max_seqlen = 2048 : i64, qk_head_dim = 128 : i64, qkv_layout = LAYOUT : i64, scaling_factor = 8.838830e-02 : f64, \
    v_head_dim = 128 : i64, window_size_left = -1 : i64, window_size_right = RIGHT : i64}";

fn transformer_engine(target: &str, mask: &str, layout: &str) -> HloCost {
    let config = TRANSFORMER_ENGINE.replace("MASK", mask).replace("LAYOUT", layout).replace("RIGHT", "0");
    let config = if mask == "0" { config.replace("right = 0", "right = -1") } else { config };
    let packed = array(Bf16, &[2, 2048, 3, 16, 128]);
    cost_of(&[packed, array(Bf16, &[0])], custom_call(target, &config, array(Bf16, &[2, 2048, 16, 128])))
}

#[test]
fn attention_counts_the_scores_that_its_mask_keeps() {
    let (forward, backward) = ("te_fused_attn_forward_ffi", "te_fused_attn_backward_ffi");
    let causal = transformer_engine(forward, "2", "5");
    assert_eq!((causal.kind, causal.flops()), (HloKind::AttentionForward, Ok(34_359_738_368.0)));
    assert_eq!(causal.bytes(), Ok(4.0 * 2.0 * (2.0 * 2048.0 * 16.0 * 128.0)));
    assert_eq!(parameter(&causal, "qkv_layout"), "BS3HD");
    assert_eq!(parameter(&causal, "causal"), "True");
    assert_eq!(causal.assumption(), None);
    let gradient = transformer_engine(backward, "2", "5");
    assert_eq!((gradient.kind, gradient.flops()), (HloKind::AttentionBackward, Ok(85_899_345_920.0)));
    for mask in ["3", "4", "5"] {
        assert_eq!(transformer_engine(forward, mask, "9").flops(), causal.flops(), "{mask}");
    }
    let padded = transformer_engine(forward, "3", "9").assumption().unwrap();
    assert!(padded.contains("padding"), "{padded}");
    let packed = transformer_engine(forward, "3", "14").assumption().unwrap();
    assert!(packed.contains("batch row"), "{packed}");
}

#[test]
fn attention_that_cannot_be_told_says_what_is_missing() {
    let call =
        custom_call("te_fused_attn_forward_ffi", "{attn_heads = 16 : i64}", array(Bf16, &[2, 8, 16, 4]));
    let cost = cost_of(&[array(Bf16, &[2, 8, 16, 4])], call);
    assert_eq!(cost.kind, HloKind::AttentionForward);
    assert_eq!(cost.flops().unwrap_err().gap, Gap::Arguments);
    assert!(cost.flops().unwrap_err().reason.contains("mask_type"));
    assert_eq!(cost.bytes(), Ok(2.0 * 2.0 * (2.0 * 8.0 * 16.0 * 4.0)));
}

#[test]
fn attention_of_cudnn_is_read_from_its_dimension_numbers() {
    let numbers = |lhs: (u8, [u8; 2]), rhs: (u8, [u8; 2])| {
        format!(
            r#"{{"lhs_contracting_dimensions":["{}"],"rhs_contracting_dimensions":["{}"],"lhs_batch_dimensions":["{}","{}"],"rhs_batch_dimensions":["{}","{}"]}}"#,
            lhs.0, rhs.0, lhs.1[0], lhs.1[1], rhs.1[0], rhs.1[1]
        )
    };
    // (batch, sequence, heads, elements); half as many heads of keys; values of 64.
    let (q, k, v) =
        (array(Bf16, &[2, 512, 8, 128]), array(Bf16, &[2, 1024, 4, 128]), array(Bf16, &[2, 1024, 4, 64]));
    let of_v = array(Bf16, &[2, 512, 8, 64]);
    let forward = format!(
        r#"{{"cudnn_fmha_backend_config":{{"bmm1_dot_dimension_numbers":{},"bmm2_dot_dimension_numbers":{},"mask_type":"NO_MASK","sliding_window_length":0}}}}"#,
        numbers((3, [0, 2]), (3, [0, 2])),
        numbers((3, [0, 1]), (1, [0, 2])),
    );
    let shape = Shape::Tuple(vec![of_v.clone(), array(U8, &[64])]);
    let cost =
        cost_of(&[q.clone(), k.clone(), v.clone()], custom_call("__cudnn$fmhaSoftmax", &forward, shape));
    let scores = 2.0 * 8.0 * 512.0 * 1024.0;
    assert_eq!((cost.kind, cost.flops()), (HloKind::AttentionForward, Ok(2.0 * scores * (128.0 + 64.0))));
    for (name, value) in
        [("N_Q", "512"), ("H_Q", "8"), ("N_KV", "1024"), ("H_KV", "4"), ("d_h_qk", "128"), ("d_h_v", "64")]
    {
        assert_eq!(parameter(&cost, name), value, "{name}");
    }

    let backward = format!(
        r#"{{"cudnn_fmha_backend_config":{{"bmm1_grad_gemm1_dot_dimension_numbers":{},"bmm1_grad_gemm2_dot_dimension_numbers":{},"bmm2_grad_gemm2_dot_dimension_numbers":{},"mask_type":"CAUSAL","is_flash_attention":true}}}}"#,
        numbers((2, [0, 1]), (1, [0, 2])),
        numbers((3, [0, 1]), (1, [0, 2])),
        numbers((3, [0, 2]), (3, [0, 2])),
    );
    let shape = Shape::Tuple(vec![q.clone(), k.clone(), v.clone(), array(U8, &[64])]);
    let gradient = cost_of(&[q, k, v, of_v], custom_call("__cudnn$fmhaSoftmaxBackward", &backward, shape));
    assert_eq!(gradient.kind, HloKind::AttentionBackward);
    assert_eq!(parameter(&gradient, "N_KV"), "1024");
    assert_eq!(parameter(&gradient, "d_h_v"), "64");
    assert_eq!(parameter(&gradient, "causal"), "True");
}

fn adder(id: i64, element_type: ElementType) -> HloComputation {
    let scalar = array(element_type, &[]);
    let add = HloInstruction::new(0, format!("add.{id}"), "add", scalar.clone());
    computation(id, &[scalar.clone(), scalar], add)
}

#[test]
fn reductions_take_an_operation_for_each_element_that_they_combine() {
    let reduce = HloInstruction {
        dimensions: vec![1],
        ..HloInstruction::new(0, "reduce", "reduce", array(F32, &[64]))
    };
    let cost = cost_calling(&[array(F32, &[64, 100]), array(F32, &[])], reduce.clone(), vec![adder(2, F32)]);
    assert_eq!((cost.kind, cost.flops()), (HloKind::Reduction, Ok(64.0 * 99.0)));
    assert_eq!(cost.bytes(), Ok(4.0 * (6400.0 + 1.0 + 64.0)));
    assert_eq!(cost.compute_spec().unwrap().to_string(), "vector_fp32");

    let of_integers = HloInstruction { shape: array(S32, &[64]), ..reduce };
    let cost = cost_calling(&[array(S32, &[64, 100]), array(S32, &[])], of_integers, vec![adder(2, S32)]);
    assert_eq!((cost.kind, cost.flops(), cost.compute_spec()), (HloKind::Reduction, Ok(0.0), None));

    let pool = HloInstruction {
        window: Some(Window {
            dimensions: vec![WindowDimension { size: 4, stride: 4, ..WindowDimension::default() }],
        }),
        ..HloInstruction::new(0, "pool", "reduce-window", array(F32, &[25]))
    };
    let cost = cost_calling(&[array(F32, &[100]), array(F32, &[])], pool, vec![adder(2, F32)]);
    assert_eq!(cost.flops(), Ok(25.0 * 3.0));
}

#[test]
fn a_sum_fused_with_its_broadcast_takes_what_the_compiler_of_tpus_says() {
    let whole = array(F32, &[5, 1024, 1024, 256]);
    let shape = |id, opcode: &str, shape: &Shape| {
        HloInstruction::new(id, format!("{opcode}.{id}"), opcode, shape.clone())
    };
    let fused = HloComputation {
        id: 2,
        root: 3,
        name: "fused".into(),
        instructions: vec![
            shape(0, "parameter", &whole),
            shape(1, "constant", &array(F32, &[])),
            HloInstruction { operands: vec![1], ..shape(2, "broadcast", &whole) },
            HloInstruction { operands: vec![0, 2], ..shape(3, "add", &whole) },
        ],
    };
    let fusion = HloInstruction::new(0, "broadcast_add_fusion.1", "fusion", whole.clone());
    let cost = cost_calling(&[whole], fusion, vec![fused]);
    assert_eq!(
        (cost.kind, cost.flops(), cost.bytes()),
        (HloKind::Elementwise, Ok(1_342_177_280.0), Ok(10_737_418_240.0))
    );
}

#[test]
fn instructions_that_touch_a_part_count_the_part() {
    let (table, row, index) = (array(F32, &[1000, 256]), array(F32, &[1, 256]), array(S32, &[]));
    let of = |opcode: &str, shape: &Shape| HloInstruction::new(0, "i", opcode, shape.clone());
    let bytes = |operands: &[&Shape], opcode: &str, shape: &Shape| {
        let operands: Vec<Shape> = operands.iter().map(|&shape| shape.clone()).collect();
        cost_of(&operands, of(opcode, shape)).bytes().unwrap()
    };
    assert_eq!(bytes(&[&table, &index, &index], "dynamic-slice", &row), 2.0 * 1024.0 + 8.0);
    assert_eq!(bytes(&[&table, &row, &index, &index], "dynamic-update-slice", &table), 2.0 * 1024.0 + 8.0);
    assert_eq!(bytes(&[&table], "slice", &row), 2.0 * 1024.0);
    assert_eq!(bytes(&[&table], "transpose", &table), 2.0 * 1_024_000.0);
    assert_eq!(bytes(&[&table], "bitcast", &table), 0.0);
    let started = Shape::Tuple(vec![table.clone(), table.clone(), array(ElementType::U32, &[])]);
    assert_eq!(bytes(&[&table], "copy-start", &started), 2.0 * 1_024_000.0);
    let indices = array(S32, &[4, 1]);
    let rows = array(F32, &[4, 256]);
    assert_eq!(bytes(&[&table, &indices], "gather", &rows), 2.0 * 4096.0 + 16.0);
    assert_eq!(bytes(&[&table, &indices, &rows], "scatter", &table), 3.0 * 4096.0 + 16.0);

    let inner = |opcode: &str, operands: &[&Shape], shape: &Shape| {
        let operands: Vec<Shape> = operands.iter().map(|&shape| shape.clone()).collect();
        let body = computation(2, &operands, HloInstruction::new(0, "inner", opcode, shape.clone()));
        cost_calling(&operands, of("fusion", shape), vec![body]).bytes().unwrap()
    };
    assert_eq!(inner("dynamic-slice", &[&table, &index, &index], &row), 2.0 * 1024.0 + 8.0);
    assert_eq!(inner("dynamic-update-slice", &[&table, &row, &index, &index], &table), 2.0 * 1024.0 + 8.0);
}

#[test]
fn an_operand_that_is_passed_twice_is_read_once() {
    let square = HloInstruction { operands: vec![0, 0], ..dot(array(F32, &[8, 8]), [1, 0], &[]) };
    assert_eq!(cost_of(&[array(F32, &[8, 8])], square).bytes(), Ok(2.0 * 256.0));
}

#[test]
fn a_loop_takes_its_rounds() {
    let matrix = array(F32, &[8, 8]);
    let body = || computation(2, &[matrix.clone(), matrix.clone()], dot(matrix.clone(), [1, 0], &[]));
    let condition = || {
        computation(3, slice::from_ref(&matrix), HloInstruction::new(0, "less", "compare", array(Pred, &[])))
    };
    let of = |config: &str| {
        let of = HloInstruction {
            backend_config: config.into(),
            ..HloInstruction::new(0, "loop", "while", matrix.clone())
        };
        cost_calling(slice::from_ref(&matrix), of, vec![body(), condition()])
    };
    let known = of(r#"{"known_trip_count":{"n":"10"}}"#);
    assert_eq!((known.kind, known.flops()), (HloKind::ControlFlow, Ok(10.0 * 1024.0)));
    assert_eq!(known.bytes(), Ok(10.0 * (3.0 * 256.0 + 257.0)));
    let unknown = of("");
    assert!(unknown.flops().unwrap_err().reason.contains("trip count"));
    assert!(unknown.bytes().is_err());
}

#[test]
fn the_end_of_an_asynchronous_copy_has_no_cost_of_its_own() {
    let matrix = array(F32, &[8, 8]);
    let started = Shape::Tuple(vec![matrix.clone(), matrix.clone(), array(ElementType::U32, &[])]);
    let instructions = vec![
        HloInstruction::new(0, "p", "parameter", matrix.clone()),
        HloInstruction { operands: vec![0], ..HloInstruction::new(1, "copy-start.1", "copy-start", started) },
        HloInstruction { operands: vec![1], ..HloInstruction::new(2, "copy-done.1", "copy-done", matrix) },
    ];
    let module =
        HloModule::new("m", 0, vec![HloComputation { root: 2, instructions, ..HloComputation::default() }]);
    let done = module.instruction("copy-done.1").unwrap().cost();
    assert_eq!(done.kind, HloKind::DataMovement);
    assert_eq!(done.bytes().unwrap_err().reason, "waits for copy-start.1, which carries the cost");
    assert_eq!(module.instruction("copy-start.1").unwrap().cost().flops(), Ok(0.0));
}

#[test]
fn communication_moves_bytes_and_has_no_peak() {
    let (part, whole) = (array(Bf16, &[96, 128]), array(Bf16, &[768, 128]));
    let start = Shape::Tuple(vec![part.clone(), whole.clone()]);
    let cost = cost_of(slice::from_ref(&part), HloInstruction::new(0, "ag", "all-gather-start", start));
    assert_eq!(cost.kind, HloKind::Communication);
    assert_eq!(cost.bytes(), Ok(9.0 * 2.0 * 96.0 * 128.0));
    assert_eq!(cost.flops().unwrap_err().gap, Gap::NoFormula);

    // In a computation of its own.
    let scatter =
        computation(2, slice::from_ref(&whole), HloInstruction::new(0, "rs", "reduce-scatter", part.clone()));
    let start = HloInstruction::new(0, "rs-start", "async-start", Shape::Tuple(vec![whole.clone(), part]));
    let cost = cost_calling(&[whole], start, vec![scatter]);
    assert_eq!((cost.kind, cost.bytes()), (HloKind::Communication, Ok(9.0 * 2.0 * 96.0 * 128.0)));
}

#[test]
fn functions_without_a_formula_say_so_and_authors_may_state_their_work() {
    let operands = [array(F32, &[16])];
    let unknown = cost_of(&operands, custom_call("my_kernel", "", array(F32, &[16])));
    assert_eq!(unknown.kind, HloKind::CustomCall);
    assert!(unknown.flops().unwrap_err().reason.contains("my_kernel"));
    assert_eq!(unknown.bytes(), Ok(128.0));
    let config = r#"{"custom_call_config":{"cost_estimate":{"flops":"12345","bytes_accessed":"6"}}}"#;
    let stated = cost_of(&operands, custom_call("tpu_custom_call", config, array(F32, &[16])));
    assert_eq!(stated.flops(), Ok(12_345.0));
    assert!(stated.assumption().is_some());
}

#[test]
fn damaged_programs_have_reasons() {
    let matrix = array(F32, &[8, 8]);
    let without_numbers = HloInstruction::new(0, "dot", "dot", matrix.clone());
    assert!(cost_of(&[matrix.clone(), matrix.clone()], without_numbers).flops().is_err());
    assert!(cost_of(slice::from_ref(&matrix), dot(matrix.clone(), [7, 0], &[])).flops().is_err());
    assert!(
        cost_of(&[matrix.clone(), array(F32, &[9, 8])], dot(matrix.clone(), [1, 0], &[])).flops().is_err()
    );
    let calls_itself = HloInstruction {
        called_computations: vec![2],
        ..HloInstruction::new(0, "again", "call", matrix.clone())
    };
    let ring = computation(2, slice::from_ref(&matrix), calls_itself);
    let cost = cost_calling(
        slice::from_ref(&matrix),
        HloInstruction::new(0, "f", "fusion", matrix.clone()),
        vec![ring],
    );
    assert!(cost.flops().unwrap_err().reason.contains("deeply"));
    let lost = HloInstruction {
        called_computations: vec![77],
        ..HloInstruction::new(0, "f", "call", matrix.clone())
    };
    let module = HloModule::new("m", 1, vec![computation(1, &[matrix], lost)]);
    assert!(module.instruction("f").unwrap().cost().flops().unwrap_err().reason.contains("computation 77"));
}

#[test]
fn computations_that_many_call_are_looked_at_once() {
    // Each of sixty computations calls the next twice: 2^60 calls in all.
    let scalar = array(F32, &[]);
    let mut computations: Vec<HloComputation> = (2..62)
        .map(|id| {
            let call = |number: i64| HloInstruction {
                called_computations: vec![id + 1],
                ..HloInstruction::new(number, format!("call.{id}.{number}"), "call", scalar.clone())
            };
            HloComputation { id, root: 1, instructions: vec![call(0), call(1)], ..HloComputation::default() }
        })
        .collect();
    computations.push(adder(62, F32));
    let top =
        HloInstruction { called_computations: vec![2], ..HloInstruction::new(0, "top", "call", scalar) };
    computations.push(HloComputation {
        id: 1,
        root: 0,
        instructions: vec![top],
        ..HloComputation::default()
    });
    let module = HloModule::new("m", 1, computations);
    assert_eq!(module.instruction("top").unwrap().cost().flops(), Ok(2_f64.powi(60)));
}

fn extents(most: u64) -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        proptest::collection::vec(0..most, 0..6),
        proptest::collection::vec(prop_oneof![Just(0), Just(1), Just(u64::MAX)], 0..40),
    ]
}

fn any_type() -> impl Strategy<Value = ElementType> {
    (0..40_i32).prop_map(ElementType::from_number)
}

proptest! {
    #[test]
    fn figures_are_never_negative_and_always_numbers(
        opcode in proptest::sample::select(vec![
            "dot", "convolution", "reduce", "reduce-window", "fusion", "while", "conditional", "add", "scatter",
            "select-and-scatter", "dynamic-update-slice", "gather", "map", "all-reduce-start", "copy-start", "call",
        ]),
        a in extents(1 << 50), b in extents(1 << 50), c in extents(1 << 50),
        element in any_type(), other in any_type(),
        numbers in proptest::collection::vec(-2_i64..6, 4),
        size: i64, stride: i64, base_dilation: i64,
    ) {
        let dimension = WindowDimension { size, stride, base_dilation, ..WindowDimension::default() };
        let of = HloInstruction {
            dot: Some(DotDimensionNumbers {
                lhs_contracting: vec![numbers[0]], rhs_contracting: vec![numbers[1]],
                lhs_batch: vec![numbers[2]], rhs_batch: vec![numbers[3]],
            }),
            convolution: Some(images()),
            window: Some(Window { dimensions: vec![dimension; 3] }),
            backend_config: format!(r#"{{"known_trip_count":{{"n":"{size}"}}}}"#).into(),
            ..HloInstruction::new(0, "i", opcode, array(element, &c))
        };
        let cost = cost_calling(&[array(element, &a), array(other, &b)], of, vec![adder(2, element)]);
        for figure in [cost.flops(), cost.bytes()].into_iter().flatten() {
            prop_assert!(figure >= 0.0 && figure.is_finite(), "{figure}");
        }
        prop_assert!(cost.vector_flops >= 0.0);
    }

    #[test]
    fn twice_the_batch_is_twice_the_work(
        batch in 1_u64..1000, m in 0_u64..1000, n in 0_u64..1000, k in 0_u64..1000,
    ) {
        let of = |batch: u64| {
            let operands = [array(Bf16, &[batch, m, k]), array(Bf16, &[batch, k, n])];
            let result = array(Bf16, &[batch, m, n]);
            let alone = cost_of(&operands, dot(result.clone(), [2, 1], &[0]));
            let inner = computation(2, &operands, dot(result.clone(), [2, 1], &[0]));
            let fused = cost_calling(&operands, HloInstruction::new(0, "f", "fusion", result), vec![inner]);
            (alone, fused)
        };
        let ((one, one_fused), (two, _)) = (of(batch), of(2 * batch));
        prop_assert_eq!(one.flops(), one_fused.flops());
        prop_assert_eq!(one.bytes(), one_fused.bytes());
        prop_assert_eq!(&one.parameters, &one_fused.parameters);
        prop_assert_eq!(2.0 * one.flops().unwrap(), two.flops().unwrap());
        prop_assert_eq!(2.0 * one.bytes().unwrap(), two.bytes().unwrap());
    }

    #[test]
    fn twice_the_images_are_twice_the_operations(
        images in 1_u64..100, extent in 3_u64..40, channels in 1_u64..64, filters in 1_u64..64, base_dilation in 1_i64..3,
    ) {
        let of = |images: u64| {
            let window = WindowDimension { size: 3, base_dilation, ..WindowDimension::default() };
            let operands = [array(F32, &[images, extent, extent, channels]), array(F32, &[3, 3, channels, filters])];
            cost_of(&operands, convolution(array(F32, &[images, extent - 2, extent - 2, filters]), window, 1))
        };
        prop_assert_eq!(2.0 * of(images).flops().unwrap(), of(2 * images).flops().unwrap());
    }

    #[test]
    fn attention_grows_with_the_batch_and_shrinks_with_a_mask(batch in 1_u64..64, length in 1_u64..4096, mask in 0_u8..6) {
        let of = |batch: u64, mask: u8| {
            let config = format!(
                "{{attn_heads = 8 : i64, num_gqa_groups = 2 : i64, input_batch = {batch} : i64, head_dim = 64 : i64, \
                q_max_seqlen = {length} : i64, kv_max_seqlen = {length} : i64, mask_type = {mask} : i64}}"
            );
            let shape = array(Bf16, &[batch, length, 8, 64]);
            cost_of(slice::from_ref(&shape), custom_call("te_fused_attn_forward_ffi", &config, shape.clone()))
        };
        let (one, two, unmasked) = (of(batch, mask), of(2 * batch, mask), of(batch, 0));
        prop_assert_eq!(2.0 * one.flops().unwrap(), two.flops().unwrap());
        prop_assert!(one.flops().unwrap() <= unmasked.flops().unwrap());
        prop_assert!(one.parameters.contains(&("H_KV", Value::Int(2))));
    }
}
