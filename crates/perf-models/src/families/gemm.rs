//! Matrix multiplication.

pub(crate) mod call;
pub(crate) mod model;

use super::rms_norm::MX_BLOCK;
use super::{OpGroup, gemm};
use crate::data_type::type_of_scalar_number;
use crate::recorded::Backward;
use crate::tensor::count_value;
use crate::{Category, Family, Figure, OpCall, Precision, Undefined, Value, element_size, precision};
use call::{GemmCall, Gemmed, strides};
use model::{Gemm, GemmSizes};

/// `mm(self, mat2)`.
const MM: Operands = Operands { a: 0, b: 1, bias: false };
/// `addmm(self, mat1, mat2, beta, alpha)`.
const ADDMM: Operands = Operands { a: 1, b: 2, bias: true };

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::Gemm,
        Category::Gemm,
        &[
            gemm("aten::mm", |call| plain(call, &MM)),
            gemm("aten::addmm", |call| plain(call, &ADDMM)),
            gemm("aten::_scaled_mm", scaled_mm),
            gemm("aten::bmm", |call| batched(call, &MM)),
            gemm("aten::baddbmm", |call| batched(call, &ADDMM)),
            gemm("trtllm::cublas_scaled_mm", cublas_scaled_mm),
            gemm("bitsandbytes::int8_linear_matmul", int8_linear_matmul),
            gemm("tex_ts::te_gemm_ts", transformer_engine),
            gemm("vllm::gemm_with_dynamic_quant", dynamic_quantization),
            gemm("vllm::rocm_aiter_triton_gemm_a8w8_blockscale", a8w8),
            gemm("vllm::_rocm_aiter_preshuffled_per_token_w8a8_gemm", a8w8),
            gemm("vllm::rocm_unquantized_gemm", unquantized),
            gemm("_Linear_yfwd_mm", linear_layer),
            gemm("_LinearBackward_xgrad_mm", linear_layer),
            gemm("_LinearBackward_wgrad_mm", linear_layer),
            gemm("_LayerNormLinear_yfwd_mm", linear_layer),
            gemm("_LayerNormLinearBackward_xgrad_mm", linear_layer),
            gemm("_LayerNormLinearBackward_wgrad_mm", linear_layer),
            gemm("primus_turbo_cpp_extension::hipblaslt_gemm_fp8", |call| {
                hipblaslt(call, ScaledNumbers::Fp8)
            }),
            gemm("primus_turbo_cpp_extension::hipblaslt_gemm_fp4", |call| {
                hipblaslt(call, ScaledNumbers::PackedFp4)
            }),
            gemm("primus_turbo::hipblaslt_gemm_fp8", |call| hipblaslt(call, ScaledNumbers::Fp8)),
            gemm("primus_turbo::hipblaslt_gemm_fp4", |call| hipblaslt(call, ScaledNumbers::PackedFp4)),
            gemm("aiter::gemm_a4w4", a4w4),
            gemm("aiter::_gemm_a4w4_asm", a4w4),
            gemm("aiter::batched_gemm_a16wfp4_", batched_a16_wfp4),
            gemm("aiter::gemm_a8w8_blockscale_ck", a8w8),
            gemm("aiter::gemm_a8w8_blockscale_cktile", a8w8),
            gemm("aiter::gemm_a8w8_blockscale_bpreshuffle_ck", a8w8),
            gemm("aiter::gemm_a8w8_blockscale_bpreshuffle_cktile", a8w8),
            gemm("aiter::flatmm_a8w8_blockscale_asm", a8w8),
            gemm("aiter::gfx950_a8w8_blockscale_asm", a8w8),
            gemm("aiter::gemm_a8w8_ck", a8w8),
            gemm("aiter::gemm_a8w8_bpreshuffle_ck", a8w8),
            gemm("aiter::gemm_a8w8_bpreshuffle", a8w8),
            gemm("aiter::gemm_a16w16", a16w16),
            gemm("aiter::gemm_a16w16_atomic_", a16w16_atomic),
            gemm("aiter::_gemm_a16w16_asm", a16w16_assembly),
            gemm("aiter::gemm_afp4wfp4_", afp4_wfp4),
            gemm("aiter::_gemm_a8w8_blockscale_bpreshuffle_asm", a8w8),
            gemm("sglang_profiler::fp8_utils_gemm_a8w8_blockscale", a8w8),
            gemm("sglang_profiler::gemm_a8w8_blockscale_gemm_a8w8_blockscale", a8w8),
            gemm("sglang_profiler::gemm_kernels_flydsl_hgemm", a16w16_atomic),
            gemm(
                "sglang_profiler::batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant_batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant",
                batched_a8w8,
            ),
        ],
    ),
    OpGroup::ours(Family::Gemm, Category::Gemm, &[gemm("aten::_int_mm", int_mm)]),
];

/// `m`, `n`, `k` of two matrices.
fn matrices(call: &OpCall<'_>, [a, b]: [usize; 2]) -> Result<[u64; 3], Undefined> {
    Ok([call.dimension(a, 0)?, call.dimension(b, 1)?, call.dimension(a, 1)?])
}

/// Where a call records its operands, and whether it adds a bias.
struct Operands {
    a: usize,
    b: usize,
    bias: bool,
}

impl Operands {
    fn gemm(&self, call: &OpCall<'_>, [m, n, k]: [u64; 3]) -> Result<Gemm, Undefined> {
        Ok(Gemm { bias: self.bias, ..Gemm::new(m, n, k, call.type_of(self.a)?) })
    }

    /// Every operand has the size of the first one's elements.
    fn call<'a>(&self, call: &OpCall<'a>, gemm: Gemm) -> Result<GemmCall<'a>, Undefined> {
        let types = vec![call.type_of(self.a)?, call.type_of(self.b)?];
        let multiplication = GemmCall::from_training(call, [self.a, self.b], gemm, types)?;
        Ok(if self.bias { with_addend(call, multiplication) } else { multiplication })
    }
}

/// What is added is input 0: a vector, a whole matrix, or one for each multiplication, of a type of its own; TraceLens has it
/// as one vector for each. With a `beta` of zero it is not read.
fn with_addend<'a>(call: &OpCall<'a>, multiplication: GemmCall<'a>) -> GemmCall<'a> {
    let Ok(added) = call.tensor(0) else { return multiplication };
    let is_ignored = call.written_value(3).parse() == Ok(0.0);
    let elements = if is_ignored { 0.0 } else { added.elements() };
    let mut gemm = multiplication.gemm.clone();
    // Conversion saturates.
    gemm.addend = Some(elements as u64);
    gemm.sizes =
        gemm.sizes.and_then(|sizes| Ok(GemmSizes { bias: element_size(&added.element_type)?, ..sizes }));
    GemmCall { tracelens: Some(multiplication.gemm), gemm, ..multiplication }
}

/// Two matrices.
fn plain<'a>(call: &OpCall<'a>, operands: &Operands) -> Gemmed<'a> {
    let gemm = operands.gemm(call, matrices(call, [operands.a, operands.b])?)?;
    operands.call(call, gemm)
}

/// Two batches of matrices.
fn batched<'a>(call: &OpCall<'a>, operands: &Operands) -> Gemmed<'a> {
    let ([batch, m, k], [_, _, n]) = (call.dimensions_of(operands.a)?, call.dimensions_of(operands.b)?);
    let gemm = Gemm { batch, ..operands.gemm(call, [m, n, k])? };
    Ok(GemmCall { batch_first: true, ..operands.call(call, gemm)? })
}

/// Element type of the result of a multiplication of scaled operands.
enum Output<'a> {
    Is(&'a str),
    /// The call says that it was chosen, but not what it is.
    Unrecorded,
}

/// `aten::_scaled_mm(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum)`.
///
/// Up to PyTorch 2.4 the bias and the result's type came before the scales.
fn scaled_mm<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let has_fourth_scale = call.type_of(3).is_ok_and(|name| !matches!(name, "" | "Scalar"));
    let (bias, output) = if has_fourth_scale { (4, 6) } else { (2, 3) };
    scaled(call, call.has_dimensions(bias), recorded_output(call, output))
}

/// `trtllm::cublas_scaled_mm(mat_a, mat_b, scale_a, scale_b, bias, out_dtype, ...)`.
fn cublas_scaled_mm<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let bias = if call.input_count() == 3 { 2 } else { 4 };
    scaled(call, call.has_dimensions(bias), recorded_output(call, 5))
}

/// `aten::_int_mm(self, mat2)`, which returns 32-bit integers.
fn int_mm<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    scaled(call, false, Output::Is("int"))
}

/// `bitsandbytes::int8_linear_matmul(A, B)`, which returns 32-bit integers.
fn int8_linear_matmul<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    scaled(call, call.has_dimensions(2), Output::Is("int"))
}

/// The type that input `index` chooses: none means that of the operands.
fn recorded_output<'a>(call: &OpCall<'a>, index: usize) -> Output<'a> {
    match call.type_of(index) {
        Ok("") => call.type_of(0).map_or(Output::Unrecorded, Output::Is),
        Ok("Scalar") => {
            type_of_scalar_number(&call.written_value(index)).map_or(Output::Unrecorded, Output::Is)
        }
        _ => Output::Unrecorded,
    }
}

fn scaled<'a>(call: &OpCall<'a>, bias: bool, output: Output<'_>) -> Gemmed<'a> {
    let [m, n, k] = matrices(call, [0, 1])?;
    let types = vec![call.type_of(0)?, call.type_of(1)?];
    let (output, note) = match output {
        Output::Is(name) => (element_size(name), None),
        Output::Unrecorded => {
            let size = element_size(types[0]).map(wide_enough);
            let note =
                |&size: &f64| format!("assumed a result of {size} bytes per element: type not recorded");
            let note = size.as_ref().ok().map(note);
            (size, note)
        }
    };
    let sizes =
        element_size(types[0]).and_then(|size| Ok(GemmSizes { output: output?, ..GemmSizes::uniform(size) }));
    let gemm = Gemm { bias, sizes, ..Gemm::new(m, n, k, types[0]) };
    Ok(GemmCall { note, ..GemmCall::from_training(call, [0, 1], gemm, types)? })
}

/// Results of one-byte operands usually take two bytes.
fn wide_enough(size: f64) -> f64 {
    if size == 1.0 { 2.0 } else { size }
}

/// Multiplications that a trace pass finds inside the linear layers of Transformer Engine.
fn linear_layer<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let [m, n, k] = matrices(call, [0, 1])?;
    let types = vec![call.type_of(0)?, call.type_of(1)?];
    if types[0] != types[1] {
        let reason = format!("Input type[0] and [1] differ: {:?} and {:?}", types[0], types[1]);
        return Err(Undefined::arguments(reason));
    }
    let sizes = element_size(types[0]).map(|size| GemmSizes { output: 2.0, ..GemmSizes::uniform(size) });
    let gemm = Gemm { sizes, ..Gemm::new(m, n, k, types[0]) };
    GemmCall::from_training(call, [0, 1], gemm, types)
}

/// `tex_ts::te_gemm_ts(A, .., transa (4), B (5), .., transb (9), D (10), .., bias (14), .., bias type (18))`.
fn transformer_engine<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let (rows_a, columns_a) = (call.dimension(0, 0)?, call.dimension(0, 1)?);
    let (rows_b, columns_b) = (call.dimension(5, 0)?, call.dimension(5, 1)?);
    if call.concrete.is_none() {
        return Err(Undefined::arguments("Concrete Inputs were not recorded"));
    }
    let (m, k) = if is_true(call, 4) { (rows_a, columns_a) } else { (columns_a, rows_a) };
    let n = if is_true(call, 9) { columns_b } else { rows_b };
    let bias = !call.written_value(14).is_empty();
    let types = vec![call.type_of(0)?, call.type_of(5)?, call.type_of(10)?, call.type_of(18)?];
    let sizes = sizes(types[0], types[1], if bias { types[3] } else { types[2] }, types[2]);
    let gemm = Gemm { bias, sizes, ..Gemm::new(m, n, k, types[0]) };
    GemmCall::from_training(call, [0, 5], gemm, types)
}

/// Sizes by the element types of operands, bias and result.
fn sizes(a: &str, b: &str, bias: &str, output: &str) -> Result<GemmSizes, Undefined> {
    let of = |name: &str| -> Figure { element_size(name) };
    Ok(GemmSizes { a: of(a)?, b: of(b)?, bias: of(bias)?, output: of(output)?, scales: 0.0 })
}

/// `vllm::gemm_with_dynamic_quant`: activation and weight (rows are columns of the result) are the
/// first two matrices; the weight is charged at the activation's size.
fn dynamic_quantization<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let mut matrices = (0..call.input_count())
        .filter_map(|index| call.dimensions(index).ok())
        .filter_map(|shape| <[u64; 2]>::try_from(shape).ok());
    let (Some([m, k]), Some([n, _])) = (matrices.next(), matrices.next()) else {
        return Err(Undefined::arguments("Input Dims have fewer than two matrices"));
    };
    let types = vec![call.type_of(0)?, call.type_of(1)?];
    let gemm = Gemm::new(m, n, k, types[0]);
    Ok(GemmCall {
        backward: Backward::AsModelled,
        note: Some("weight counted at the element size of the activation".to_owned()),
        ..GemmCall::from_training(call, [0, 1], gemm, types)?
    })
}

/// `hipblaslt_gemm_fp8|fp4(A, scaleA, B, scaleB, out_dtype, transA, transB, transC, ...)`.
fn hipblaslt<'a>(call: &OpCall<'a>, numbers: ScaledNumbers) -> Gemmed<'a> {
    let matrix = |index| Ok([call.dimension(index, 0)?, call.dimension(index, 1)?]);
    let (mut a, mut b) = (matrix(0)?, matrix(2)?);
    let [mut transpose_a, mut transpose_b, transpose_c] = [5, 6, 7].map(|index| is_true(call, index));
    if transpose_c {
        (a, b) = (b, a);
        (transpose_a, transpose_b) = (!transpose_b, !transpose_a);
    }
    let (m, k) = if transpose_a { (a[1], a[0]) } else { (a[0], a[1]) };
    let n = if transpose_b { b[0] } else { b[1] };
    let scaled = Scaled { operands: [0, 2], scales: [1, 3], backward: Backward::OtherMultiplications };
    scaled_gemm(call, [m, n, k], numbers, &scaled)
}

/// `aiter::gemm_a4w4(A, B, A_scale, B_scale, ...)`: rows of the weight are columns of the result.
fn a4w4<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let dimensions = [call.dimension(0, 0)?, call.dimension(1, 0)?, call.dimension(0, 1)?];
    let scaled = Scaled { operands: [0, 1], scales: [2, 3], backward: Backward::AsModelled };
    scaled_gemm(call, dimensions, ScaledNumbers::PackedFp4, &scaled)
}

/// How the numbers of scaled operands are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScaledNumbers {
    /// One number an element, a few scales that do not count.
    Fp8,
    /// Two numbers an element, a scale for each [`MX_BLOCK`] numbers of a row.
    PackedFp4,
}

/// Inputs of a multiplication of scaled operands.
struct Scaled {
    operands: [usize; 2],
    scales: [usize; 2],
    backward: Backward,
}

fn scaled_gemm<'a>(
    call: &OpCall<'a>,
    [m, n, k]: [u64; 3],
    numbers: ScaledNumbers,
    inputs: &Scaled,
) -> Gemmed<'a> {
    let &Scaled { operands, scales, backward } = inputs;
    let types = vec![call.type_of(operands[0])?, call.type_of(operands[1])?];
    let (a, b) = (element_size(types[0]), element_size(types[1]));
    let (k, sizes) = match numbers {
        ScaledNumbers::Fp8 => {
            let sizes =
                a.and_then(|a| Ok(GemmSizes { b: b?, output: wide_enough(a), ..GemmSizes::uniform(a) }));
            (k, sizes)
        }
        ScaledNumbers::PackedFp4 => {
            let k = k.saturating_mul(2);
            let blocks = (k as f64 / MX_BLOCK).ceil();
            let size_of_scale = |index| call.type_of(index).and_then(element_size).unwrap_or(1.0);
            let [scale_a, scale_b] = scales.map(size_of_scale);
            let sizes = a.and_then(|a| {
                let scales = m as f64 * blocks * scale_a + n as f64 * blocks * scale_b;
                Ok(GemmSizes { a: a / 2.0, b: b? / 2.0, bias: 2.0, output: 2.0, scales })
            });
            (k, sizes)
        }
    };
    let type_of_scale = |index| Value::from(call.type_of(index).ok());
    let gemm = Gemm { sizes, ..Gemm::new(m, n, k, types[0]) };
    Ok(GemmCall {
        batch_first: false,
        strides: Some(strides(call, operands).unwrap_or([Value::None, Value::None])),
        extras: vec![("dtype_scaleA", type_of_scale(scales[0])), ("dtype_scaleB", type_of_scale(scales[1]))],
        backward,
        ..GemmCall::from_engine(gemm, types)
    })
}

/// Whether the value of input `index` says yes.
fn is_true(call: &OpCall<'_>, index: usize) -> bool {
    match call.concrete.and_then(|values| values.get(index)) {
        Some(Value::Bool(value)) => *value,
        Some(Value::Int(value)) => *value != 0,
        Some(Value::Text(text)) => !matches!(text.trim().to_ascii_lowercase().as_str(), "" | "0" | "false"),
        _ => false,
    }
}

// Operators of inference engines: the rows of their weights are columns of the result.

/// Type of results that are not recorded.
const BF16: &str = "c10::bfloat16";

/// A packed or quantized number of four bits.
const FOUR_BITS: f64 = 0.5;

/// `m`, `n`, `k` of an activation, whose leading dimensions are all rows, and a weight.
fn activation_and_weight(call: &OpCall<'_>) -> Result<[u64; 3], Undefined> {
    let activation = call.dimensions(0)?;
    let [first, others @ .., k] = activation.as_slice() else {
        let found = activation.len();
        return Err(Undefined::arguments(format!("Input Dims[0] has {found} dimensions, fewer than 2")));
    };
    let m = others.iter().fold(*first, |rows, &extent| rows.saturating_mul(extent));
    Ok([m, call.dimension(1, 0)?, *k])
}

fn type_or_none<'a>(call: &OpCall<'a>, index: usize) -> &'a str {
    call.type_of(index).unwrap_or("")
}

/// Eight-bit operands, a result of 16 bits; with scales for blocks of the operands as inputs 2 and 3.
fn a8w8<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let [m, n, k] = activation_and_weight(call)?;
    let types = [type_or_none(call, 0), type_or_none(call, 1), BF16];
    let mut extras = Vec::new();
    if call.input_count() > 3 {
        let block = |extent: u64, scales: Option<u64>| {
            let size = scales.filter(|&scales| scales > 0).map(|scales| extent.div_ceil(scales));
            size.map_or(Value::None, count_value)
        };
        let scales_of_activation = call.dimensions(2).ok().and_then(|shape| shape.last().copied());
        let scales_of_weight = call.dimensions(3).ok().and_then(|shape| shape.first().copied());
        extras.extend([
            ("quant_scheme", Value::from("a8w8_blockscale")),
            ("quant_granularity", Value::from("per_block")),
            ("block_k", block(k, scales_of_activation)),
            ("block_n", block(n, scales_of_weight)),
            ("scale_dtype", call.type_of(2).unwrap_or("float32").into()),
        ]);
    }
    extras.push(("output_shape", Value::Tuple(vec![count_value(m), count_value(n)])));
    extras.push(("output_dtype", BF16.into()));
    let gemm = Gemm { sizes: sizes(types[0], types[1], BF16, BF16), ..Gemm::new(m, n, k, types[0]) };
    Ok(GemmCall { extras, ..GemmCall::from_engine(gemm, types) })
}

/// `vllm::rocm_unquantized_gemm(x, weight, bias)`: the result has the type of the bias or the weight.
fn unquantized<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let [m, n, k] = activation_and_weight(call)?;
    let types = [call.type_of(0)?, call.type_of(1)?, type_or_none(call, 2)];
    let bias = call.has_dimensions(2);
    let output = if bias { types[2] } else { types[1] };
    let sizes = sizes(types[0], types[1], output, output);
    let gemm = Gemm { bias, sizes, ..Gemm::new(m, n, k, types[0]) };
    Ok(GemmCall { batch_first: false, ..GemmCall::from_engine(gemm, types) })
}

/// `aiter::gemm_a16w16(A, B, bias, ...)`: the result has the type of the activation.
fn a16w16<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let activation = call.type_of(0)?;
    a16w16_of(call, call.has_dimensions(2), activation)
}

/// The type of the result is that of input 3.
fn a16w16_atomic<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    a16w16_of(call, false, call.type_of(3).unwrap_or(BF16))
}

/// The result is input 2, if that is a tensor.
fn a16w16_assembly<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let activation = call.type_of(0)?;
    let output = call.type_of(2).ok().filter(|name| element_size(name).is_ok());
    a16w16_of(call, false, output.unwrap_or(activation))
}

fn a16w16_of<'a>(call: &OpCall<'a>, bias: bool, output: &'a str) -> Gemmed<'a> {
    let [m, n, k] = activation_and_weight(call)?;
    let types = [call.type_of(0)?, call.type_of(1)?, output];
    let sizes = sizes(types[0], types[1], output, output);
    let gemm = Gemm { bias, sizes, ..Gemm::new(m, n, k, types[0]) };
    Ok(GemmCall::from_engine(gemm, types))
}

/// `aiter::gemm_afp4wfp4_`: two four-bit numbers an element in both operands.
fn afp4_wfp4<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let [m, n, packed_k] = activation_and_weight(call)?;
    let types = [call.type_of(0)?, call.type_of(1)?, BF16];
    let sizes = Ok(GemmSizes { a: FOUR_BITS, b: FOUR_BITS, ..GemmSizes::uniform(2.0) });
    let precision = Some(Precision::Fp4);
    let gemm = Gemm { sizes, precision, ..Gemm::new(m, n, packed_k.saturating_mul(2), types[0]) };
    Ok(GemmCall::from_engine(gemm, types))
}

/// `aiter::batched_gemm_a16wfp4_`: a weight of four-bit numbers for each activation of the batch.
fn batched_a16_wfp4<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let ([batch, m, k], n) = (call.dimensions_of(0)?, call.dimension(1, 1)?);
    let types = [call.type_of(0)?, call.type_of(1)?, BF16];
    let sizes = element_size(types[0]).map(|a| GemmSizes { a, b: FOUR_BITS, ..GemmSizes::uniform(2.0) });
    let precision = Some(Precision::Fp4);
    let gemm = Gemm { batch, sizes, precision, ..Gemm::new(m, n, k, types[0]) };
    Ok(GemmCall::from_engine(gemm, types))
}

/// A batch of weights of eight bits; the batch is the first or the second dimension of the activation,
/// which is quantized on the way, so that the weight's precision is that of the arithmetic.
fn batched_a8w8<'a>(call: &OpCall<'a>) -> Gemmed<'a> {
    let (batch, n) = (call.dimension(1, 0)?, call.dimension(1, 1)?);
    let [first, second, k] = call.dimensions_of(0)?;
    let m = if first == batch { second } else { first };
    let types = [call.type_of(0)?, call.type_of(1)?, BF16];
    let sizes = sizes(types[0], types[1], BF16, BF16);
    let gemm = Gemm { batch, sizes, precision: precision(types[1]), ..Gemm::new(m, n, k, types[0]) };
    Ok(GemmCall::from_engine(gemm, types))
}
