//! Matrix multiplication, convolution, normalization, element-wise operators, reductions.

use super::case::{Case, Outcome};
use super::exception::Exception;
use super::exception::Ours::{self, Figure, Rule, Text};

/// One row; quirk and reason are those of its group.
const fn row(
    op: &'static str,
    args: &'static str,
    field: &'static str,
    (quirk, why): (&'static str, &'static str),
    ours: Ours,
) -> Exception {
    Exception { op, args, field, quirk, ours, why }
}

const SCALED_OUTPUT: (&str, &str) = ("03 #4", "8-bit integers multiply into 32-bit ones, not 16-bit ones");
const BATCHED_BACKWARD: (&str, &str) =
    ("03 §5", "the backward pass has as many multiplications as the batch");
const INT8: (&str, &str) = ("03b #8", "8-bit integers have a peak");
const ELEMENT_SIZE: (&str, &str) = ("03 #15", "every element type has a size");
const CONV_BIAS: (&str, &str) = ("03 #2", "a bias counts where input 2 is a tensor");
const CONV_BIAS_BYTES: (&str, &str) = ("03 #3", "elements of the bias have a size, too");
const AFFINE: (&str, &str) = ("03 #12", "an absent weight or bias is absent");
const EVALUATION: (&str, &str) = ("03 #12", "the text False says no");
const REDUCED: (&str, &str) = ("03 #1", "the reduced dimensions are read");
const COMPARED: (&str, &str) = ("03 #1", "two tensors are compared element by element");
const SCALE_FACTORS: (&str, &str) = ("03 #16", "scale factors say the size of the result");

/// Types of a convolution of PyTorch that has a bias.
const WITH_BIAS: &str = r#""c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "ScalarList""#;
/// Inputs of a convolution without bias whose reference counts one because there are three inputs.
const THREE_INPUTS: &str = "[[2, 4, 10], [6, 4, 3], []]";
/// Inputs of a convolution with bias that records no settings as inputs.
const THREE_TENSORS: &str = "[[8, 64, 56, 56], [128, 64, 3, 3], [128]]";

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

pub(crate) const EXCEPTIONS: &[Exception] = &[
    row(
        "bitsandbytes::int8_linear_matmul",
        "*",
        "bytes",
        SCALED_OUTPUT,
        Figure(16.0 * 32.0 + 32.0 * 8.0 + 4.0 * 16.0 * 8.0),
    ),
    row("bitsandbytes::int8_linear_matmul", "*", "spec", INT8, Text("matrix_int8")),
    row("aiter::gemm_a8w8_ck", "signed char", "spec", INT8, Text("matrix_int8")),
    row(
        "aten::_scaled_mm",
        "bool",
        "bytes",
        ELEMENT_SIZE,
        Figure(16.0 * 32.0 + 32.0 * 8.0 + 2.0 * 16.0 * 8.0),
    ),
    row("aiter::batched_gemm_a16wfp4_", "*", "flops_bwd", BATCHED_BACKWARD, Figure(16.0 * 16_777_216.0)),
    row(
        "sglang_profiler::batched_gemm_a8w8_*",
        "*",
        "flops_bwd",
        BATCHED_BACKWARD,
        Figure(16.0 * 16_777_216.0),
    ),
    // Convolution.
    row("aten::convolution", WITH_BIAS, "flops", CONV_BIAS, Rule(bias_flops)),
    row("aten::convolution", WITH_BIAS, "bytes", CONV_BIAS, Rule(bias_bytes)),
    row("aten::convolution", WITH_BIAS, "flops_bwd", CONV_BIAS, Rule(bias_backward_flops)),
    row("aten::convolution", WITH_BIAS, "bytes_bwd", CONV_BIAS, Rule(bias_backward_bytes)),
    row("aten::convolution", WITH_BIAS, "param: bias", CONV_BIAS, Text("True")),
    row("aten::convolution", THREE_INPUTS, "flops", CONV_BIAS, Figure(2304.0)),
    row("aten::convolution", THREE_INPUTS, "bytes", CONV_BIAS, Figure(992.0)),
    row("aten::convolution", THREE_INPUTS, "flops_bwd", CONV_BIAS, Figure(4608.0)),
    row("aten::convolution", THREE_INPUTS, "bytes_bwd", CONV_BIAS, Figure(1984.0)),
    row("aten::convolution", THREE_INPUTS, "param: bias", CONV_BIAS, Text("False")),
    row("aten::convolution_backward", "[True, True, False]", "param: bias", CONV_BIAS, Text("False")),
    row("aten::convolution", THREE_TENSORS, "bytes_bwd", CONV_BIAS_BYTES, Figure(22_773_888.0 + 3_211_392.0)),
    row("ConvBias_", "*", "bytes_bwd", CONV_BIAS_BYTES, Figure(22_773_888.0 + 3_211_392.0)),
    row("ConvBias_Backward", "*", "bytes", CONV_BIAS_BYTES, Figure(22_773_888.0 + 3_211_392.0)),
    row("ConvBias_Backward", "*", "bytes_bwd", CONV_BIAS_BYTES, Figure(22_773_888.0 + 3_211_392.0)),
    row(
        "aten::convolution_backward",
        r#""[32]""#,
        "bytes",
        CONV_BIAS_BYTES,
        Figure(10_698_784.0 + 3.0 * 802_848.0),
    ),
    row(
        "aten::convolution_backward",
        r#""[32]""#,
        "bytes_bwd",
        CONV_BIAS_BYTES,
        Figure(10_698_784.0 + 3.0 * 802_848.0),
    ),
    // Normalization without weights.
    row("aten::batch_norm", "[1, 128, 32, 32], []", "bytes", AFFINE, Figure(1_048_576.0 + 4.0 * 512.0)),
    row("aten::batch_norm", "[1, 128, 32, 32], []", "param: is_affine", AFFINE, Text("False")),
    row("aten::batch_norm", "[1, 128, 32, 32], []", "param: has_bias", AFFINE, Text("False")),
    row(
        "aten::native_batch_norm",
        "[1, 128, 32, 32], []",
        "bytes",
        AFFINE,
        Figure(1_048_576.0 + 4.0 * 512.0),
    ),
    row("aten::native_batch_norm", "[8, 16, 32, 32], []", "bytes", AFFINE, Figure(1_048_576.0 + 4.0 * 64.0)),
    row("aten::native_batch_norm", "32, 32], []", "param: is_affine", AFFINE, Text("False")),
    row("aten::native_batch_norm", "32, 32], []", "param: has_bias", AFFINE, Text("False")),
    row(
        "aten::native_batch_norm_backward",
        "[1, 128, 32, 32], []",
        "bytes",
        AFFINE,
        Figure(1_572_864.0 + 512.0),
    ),
    row(
        "aten::native_batch_norm_backward",
        "[1, 128, 32, 32], []",
        "bytes_bwd",
        AFFINE,
        Figure(1_572_864.0 + 512.0),
    ),
    row(
        "aten::native_batch_norm_backward",
        "[8, 16, 32, 32], []",
        "bytes",
        AFFINE,
        Figure(1_572_864.0 + 64.0),
    ),
    row(
        "aten::native_batch_norm_backward",
        "[8, 16, 32, 32], []",
        "bytes_bwd",
        AFFINE,
        Figure(1_572_864.0 + 64.0),
    ),
    row("aten::native_batch_norm_backward", "32, 32], []", "param: is_affine", AFFINE, Text("False")),
    row("aten::native_batch_norm_backward", "32, 32], []", "param: has_bias", AFFINE, Text("False")),
    row("aten::native_group_norm_backward", "[8, 4], []", "bytes", AFFINE, Figure(1_572_864.0 + 16.0)),
    row("aten::native_group_norm_backward", "[8, 4], []", "bytes_bwd", AFFINE, Figure(1_572_864.0 + 16.0)),
    row("aten::native_group_norm_backward", "[8, 4], []", "param: is_affine", AFFINE, Text("False")),
    row("aten::native_group_norm_backward", "[8, 4], []", "param: has_bias", AFFINE, Text("False")),
    row(
        "aten::layer_norm",
        "[[8, 16, 32, 32], [], [], []",
        "bytes",
        AFFINE,
        Figure(1_048_576.0 + 4.0 * 65_536.0),
    ),
    row("aten::layer_norm", "[[8, 16, 32, 32], [], [], []", "param: is_affine", AFFINE, Text("False")),
    row("aten::layer_norm", "[[8, 16, 32, 32], [], [], []", "param: has_bias", AFFINE, Text("False")),
    row(
        "aten::native_layer_norm",
        "[[8, 16, 32, 32], [], [], []",
        "bytes",
        AFFINE,
        Figure(1_048_576.0 + 4.0 * 65_536.0),
    ),
    row("aten::native_layer_norm", "[], [], []]", "param: is_affine", AFFINE, Text("False")),
    row("aten::native_layer_norm", "[], [], []]", "param: has_bias", AFFINE, Text("False")),
    row(
        "aten::_fused_rms_norm_backward",
        "[8, 16, 1, 1], [], []",
        "flops",
        AFFINE,
        Figure(1_048_576.0 - 131_072.0),
    ),
    row(
        "aten::_fused_rms_norm_backward",
        "[8, 16, 1, 1], [], []",
        "flops_bwd",
        AFFINE,
        Figure(1_048_576.0 - 131_072.0),
    ),
    row("aten::_fused_rms_norm_backward", "[8, 16, 1, 1], [], []", "bytes", AFFINE, Figure(1_572_864.0)),
    row("aten::_fused_rms_norm_backward", "[8, 16, 1, 1], [], []", "bytes_bwd", AFFINE, Figure(1_572_864.0)),
    row("aten::_fused_rms_norm_backward", "[8, 16, 1, 1], [], []", "param: is_affine", AFFINE, Text("False")),
    row("aten::batch_norm", r#""False""#, "flops", EVALUATION, Figure(504_832.0)),
    row("aten::batch_norm", r#""False""#, "bytes", EVALUATION, Figure(1_007_616.0)),
    row("aten::batch_norm", r#""False""#, "param: is_training", EVALUATION, Text("False")),
    // Reductions.
    row("aten::sum", r#""[0]", "True""#, "bytes", REDUCED, Figure(2.0 * 11_000.0)),
    row("aten::sum", r#""[0]", "True""#, "bytes_bwd", REDUCED, Figure(2.0 * 11_000.0)),
    row("aten::sum", r#""[0]", "True""#, "param: num_output_elems", REDUCED, Text("1000")),
    row("aten::logsumexp", "*", "bytes", REDUCED, Figure(4.0 * 10_010.0)),
    row("aten::logsumexp", "*", "bytes_bwd", REDUCED, Figure(4.0 * 10_010.0)),
    row("aten::logsumexp", "*", "param: num_output_elems", REDUCED, Text("10")),
    row("aten::mean", "[16, 559, 1024]", "bytes", REDUCED, Figure(4.0 * 16.0 * 559.0 * 1025.0)),
    row("aten::mean", "[16, 559, 1024]", "bytes_bwd", REDUCED, Figure(4.0 * 16.0 * 559.0 * 1025.0)),
    row("aten::mean", "[16, 559, 1024]", "param: num_output_elems", REDUCED, Text("8944")),
    row("aten::mean", "[1, 512, 4096]", "bytes", REDUCED, Figure(4.0 * 512.0 * 4097.0)),
    row("aten::mean", "[1, 512, 4096]", "bytes_bwd", REDUCED, Figure(4.0 * 512.0 * 4097.0)),
    row("aten::mean", "[1, 512, 4096]", "param: num_output_elems", REDUCED, Text("512")),
    row("aten::mean", "[1, 256, 4096]", "bytes", REDUCED, Figure(4.0 * 256.0 * 4097.0)),
    row("aten::mean", "[1, 256, 4096]", "bytes_bwd", REDUCED, Figure(4.0 * 256.0 * 4097.0)),
    row("aten::mean", "[1, 256, 4096]", "param: num_output_elems", REDUCED, Text("256")),
    row("aten::max", "[[1], [1]]", "bytes", COMPARED, Figure(12.0)),
    row("aten::max", "[[1], [1]]", "bytes_bwd", COMPARED, Figure(12.0)),
    row("aten::max", "[[1], [1]]", "param: num_input_elems", COMPARED, Text("2")),
    row("aten::min", "[512, 512], [512, 512]", "bytes", COMPARED, Figure(3.0 * 8.0 * 262_144.0)),
    row("aten::min", "[512, 512], [512, 512]", "bytes_bwd", COMPARED, Figure(3.0 * 8.0 * 262_144.0)),
    row("aten::min", "[512, 512], [512, 512]", "param: num_input_elems", COMPARED, Text("524288")),
    row("aten::min", "[512, 512], [512, 512]", "param: num_output_elems", COMPARED, Text("262144")),
    // Element sizes.
    row("aten::add", r#"["bool", "bool"#, "bytes", ELEMENT_SIZE, Figure(12.0)),
    row("aten::copy_", r#"["bool", "c10::BFloat16""#, "bytes", ELEMENT_SIZE, Figure(25.0 * 3.0)),
    row("aten::copy_", r#"["bool", "bool""#, "bytes", ELEMENT_SIZE, Figure(64.0)),
    row("aten::copy_", r#"["long int", "bool""#, "bytes", ELEMENT_SIZE, Figure(262_144.0 * 9.0)),
    row(
        "aten::native_layer_norm",
        r#"["bool", "ScalarList""#,
        "bytes",
        ELEMENT_SIZE,
        Figure(2.0 * 605_184.0 + 4.0 * 768.0),
    ),
    // Scale factors.
    row("aten::upsample_nearest2d", "[2., 2.]", "flops", SCALE_FACTORS, Rule(doubled_flops)),
    row("aten::upsample_nearest2d", "[2., 2.]", "bytes", SCALE_FACTORS, Rule(doubled_bytes)),
    row("aten::upsample_nearest2d", "[2., 2.]", "spec", SCALE_FACTORS, Text("vector_bf16")),
    row(
        "aten::upsample_nearest2d",
        "[2., 2.]",
        "params",
        SCALE_FACTORS,
        Text("input_shape, output_shape, op_shape, dtype_in_out, stride_input, stride_output"),
    ),
    row("aten::upsample_nearest2d", "[2., 2.]", "param: input_shape", SCALE_FACTORS, Rule(input_shape)),
    row("aten::upsample_nearest2d", "[2., 2.]", "param: output_shape", SCALE_FACTORS, Rule(doubled_shape)),
    row("aten::upsample_nearest2d", "[2., 2.]", "param: op_shape", SCALE_FACTORS, Rule(doubled_shape)),
    row(
        "aten::upsample_nearest2d",
        "[2., 2.]",
        "param: dtype_in_out",
        SCALE_FACTORS,
        Text("('c10::BFloat16', 'c10::BFloat16')"),
    ),
    row("aten::upsample_nearest2d", "[2., 2.]", "param: stride_input", SCALE_FACTORS, Rule(input_strides)),
];
