//! Reads matrix multiplications out of recorded arguments.

use super::super::rms_norm::MX_BLOCK;
use super::model::{Backward, Gemm, GemmCall, GemmSizes};
use crate::gemm_kernel::GemmKernel;
use crate::tensor::{count_value, strides_value};
use crate::{Figure, OpCall, Parameter, PerfModel, Undefined, Value, element_size};

pub(super) type Read = Result<Box<dyn PerfModel>, Undefined>;

/// A multiplication and what reports show of it besides its dimensions.
pub(super) struct Recorded<'a> {
    pub(super) gemm: Gemm,
    /// Whether the batch is the first parameter; otherwise it is the last.
    pub(super) batch_first: bool,
    /// Inputs whose strides are shown.
    pub(super) strides: Option<[Value; 2]>,
    /// Element types of operands and result, as far as they are shown.
    pub(super) types: Vec<&'a str>,
    pub(super) extras: Vec<Parameter>,
    pub(super) backward: Backward,
    pub(super) assumption: Option<String>,
}

impl Recorded<'_> {
    /// The model, with the transposes that the kernels' names tell.
    pub(super) fn model(self, call: &OpCall<'_>) -> Read {
        let Self { gemm, batch_first, strides, types, extras, backward, assumption } = self;
        let batch = [("B", count_value(gemm.batch))];
        let (first, last) = if batch_first { (Some(batch), None) } else { (None, Some(batch)) };
        let mut parameters: Vec<Parameter> = first.into_iter().flatten().collect();
        parameters.extend([
            ("M", count_value(gemm.m)),
            ("N", count_value(gemm.n)),
            ("K", count_value(gemm.k)),
            ("bias", gemm.bias.into()),
        ]);
        if let Some([a, b]) = strides {
            parameters.extend([("stride_A", a), ("stride_B", b)]);
        }
        parameters.push(("dtype_A_B", Value::Tuple(types.into_iter().map(Value::from).collect())));
        parameters.extend(extras);
        parameters.extend(last.into_iter().flatten());
        if let Some(kernel) = call.kernels.iter().find_map(|name| GemmKernel::parse(name)) {
            let transposes = vec![kernel.transpose_a.into(), kernel.transpose_b.into()];
            parameters.push(("transpose", Value::Tuple(transposes)));
        }
        Ok(Box::new(GemmCall { gemm, parameters, backward, assumption }))
    }
}

/// Strides of both operands; nothing where the call records no strides at all.
fn strides(call: &OpCall<'_>, [a, b]: [usize; 2]) -> Result<[Value; 2], Undefined> {
    let of = |index| Ok(strides_value(call.strides_if_recorded(index)?.as_deref()));
    Ok([of(a)?, of(b)?])
}

/// Strides of both operands; nothing where one is missing.
fn strides_unless_missing(call: &OpCall<'_>, operands: [usize; 2]) -> [Value; 2] {
    strides(call, operands).unwrap_or([Value::None, Value::None])
}

/// `m`, `n`, `k` of two matrices.
fn matrices(call: &OpCall<'_>, [a, b]: [usize; 2]) -> Result<[u64; 3], Undefined> {
    Ok([call.dimension(a, 0)?, call.dimension(b, 1)?, call.dimension(a, 1)?])
}

/// Where a call records its operands.
pub(super) struct Operands {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) bias: bool,
}

/// Two matrices; every operand has the size of the first one's elements.
pub(super) fn plain(call: &OpCall<'_>, &Operands { a, b, bias }: &Operands) -> Read {
    let [m, n, k] = matrices(call, [a, b])?;
    plain_gemm(call, [a, b], Gemm { bias, ..Gemm::new(m, n, k, call.type_of(a)?) }, false)
}

/// Two batches of matrices; every operand has the size of the first one's elements.
pub(super) fn batched(call: &OpCall<'_>, &Operands { a, b, bias }: &Operands) -> Read {
    let ([batch, m, k], [_, _, n]) = (call.dimensions_of(a)?, call.dimensions_of(b)?);
    plain_gemm(call, [a, b], Gemm { batch, bias, ..Gemm::new(m, n, k, call.type_of(a)?) }, true)
}

fn plain_gemm(call: &OpCall<'_>, operands: [usize; 2], gemm: Gemm, batch_first: bool) -> Read {
    let [a, b] = operands;
    let recorded = Recorded {
        gemm,
        batch_first,
        strides: Some(strides(call, operands)?),
        types: vec![call.type_of(a)?, call.type_of(b)?],
        extras: Vec::new(),
        backward: Backward::CallsOfTheirOwn,
        assumption: None,
    };
    recorded.model(call)
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
pub(super) fn scaled_mm(call: &OpCall<'_>) -> Read {
    let scale_stands_fourth = call.type_of(3).is_ok_and(|name| !matches!(name, "" | "Scalar"));
    let (bias, output) = if scale_stands_fourth { (4, 6) } else { (2, 3) };
    scaled(call, call.has_dimensions(bias), recorded_output(call, output))
}

/// `trtllm::cublas_scaled_mm(mat_a, mat_b, scale_a, scale_b, bias, out_dtype, ...)`.
pub(super) fn cublas_scaled_mm(call: &OpCall<'_>) -> Read {
    let bias = if call.input_count() == 3 { 2 } else { 4 };
    scaled(call, call.has_dimensions(bias), recorded_output(call, 5))
}

/// `bitsandbytes::int8_linear_matmul(A, B)`, which returns 32-bit integers.
pub(super) fn int8_linear_matmul(call: &OpCall<'_>) -> Read {
    scaled(call, call.has_dimensions(2), Output::Is("int"))
}

/// The type that input `index` chooses: none means that of the operands.
fn recorded_output<'a>(call: &OpCall<'a>, index: usize) -> Output<'a> {
    match call.type_of(index) {
        Ok("") => call.type_of(0).map_or(Output::Unrecorded, Output::Is),
        Ok("Scalar") => scalar_type(&call.written_value(index)).map_or(Output::Unrecorded, Output::Is),
        _ => Output::Unrecorded,
    }
}

/// The element type behind a number of PyTorch's enumeration `c10::ScalarType`.
fn scalar_type(code: &str) -> Option<&'static str> {
    Some(match code {
        "0" => "unsigned char",
        "1" => "signed char",
        "2" => "short int",
        "3" => "int",
        "4" => "long int",
        "5" => "c10::Half",
        "6" => "float",
        "7" => "double",
        "11" => "bool",
        "15" => "c10::BFloat16",
        "23" => "c10::Float8_e5m2",
        "24" => "c10::Float8_e4m3fn",
        "25" => "c10::Float8_e5m2fnuz",
        "26" => "c10::Float8_e4m3fnuz",
        _ => return None,
    })
}

fn scaled(call: &OpCall<'_>, bias: bool, output: Output<'_>) -> Read {
    let [m, n, k] = matrices(call, [0, 1])?;
    let types = vec![call.type_of(0)?, call.type_of(1)?];
    let (output, assumption) = match output {
        Output::Is(name) => (element_size(name), None),
        Output::Unrecorded => {
            let size = element_size(types[0]).map(wide_enough);
            let note = |&size: &f64| format!("result of {size} bytes an element: its type is not recorded");
            let note = size.as_ref().ok().map(note);
            (size, note)
        }
    };
    let sizes =
        element_size(types[0]).and_then(|size| Ok(GemmSizes { output: output?, ..GemmSizes::uniform(size) }));
    let gemm = Gemm { bias, sizes, ..Gemm::new(m, n, k, types[0]) };
    let recorded = Recorded {
        gemm,
        batch_first: false,
        strides: Some(strides(call, [0, 1])?),
        types,
        extras: Vec::new(),
        backward: Backward::CallsOfTheirOwn,
        assumption,
    };
    recorded.model(call)
}

/// Results of one-byte operands usually take two bytes.
pub(super) fn wide_enough(size: f64) -> f64 {
    if size == 1.0 { 2.0 } else { size }
}

/// Multiplications that a trace pass finds inside the linear layers of Transformer Engine.
pub(super) fn linear_layer(call: &OpCall<'_>) -> Read {
    let [m, n, k] = matrices(call, [0, 1])?;
    let types = vec![call.type_of(0)?, call.type_of(1)?];
    if types[0] != types[1] {
        let reason = format!("Input type[0] and [1] differ: {:?} and {:?}", types[0], types[1]);
        return Err(Undefined::arguments(reason));
    }
    let sizes = element_size(types[0]).map(|size| GemmSizes { output: 2.0, ..GemmSizes::uniform(size) });
    let recorded = Recorded {
        gemm: Gemm { sizes, ..Gemm::new(m, n, k, types[0]) },
        batch_first: false,
        strides: Some(strides(call, [0, 1])?),
        types,
        extras: Vec::new(),
        backward: Backward::CallsOfTheirOwn,
        assumption: None,
    };
    recorded.model(call)
}

/// `tex_ts::te_gemm_ts(A, .., transa (4), B (5), .., transb (9), D (10), .., bias (14), .., bias type (18))`.
pub(super) fn transformer_engine(call: &OpCall<'_>) -> Read {
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
    let recorded = Recorded {
        gemm: Gemm { bias, sizes, ..Gemm::new(m, n, k, types[0]) },
        batch_first: false,
        strides: Some(strides(call, [0, 5])?),
        types,
        extras: Vec::new(),
        backward: Backward::CallsOfTheirOwn,
        assumption: None,
    };
    recorded.model(call)
}

/// Sizes by the element types of operands, bias and result.
pub(super) fn sizes(a: &str, b: &str, bias: &str, output: &str) -> Result<GemmSizes, Undefined> {
    let of = |name: &str| -> Figure { element_size(name) };
    Ok(GemmSizes { a: of(a)?, b: of(b)?, bias: of(bias)?, output: of(output)?, scales: 0.0 })
}

/// `vllm::gemm_with_dynamic_quant`: activation and weight (rows are columns of the result) are the
/// first two matrices; the weight is charged at the activation's size.
pub(super) fn dynamic_quantization(call: &OpCall<'_>) -> Read {
    let mut matrices = (0..call.input_count())
        .filter_map(|index| call.dimensions(index).ok())
        .filter_map(|shape| <[u64; 2]>::try_from(shape).ok());
    let (Some([m, k]), Some([n, _])) = (matrices.next(), matrices.next()) else {
        return Err(Undefined::arguments("Input Dims hold fewer than two matrices"));
    };
    let types = vec![call.type_of(0)?, call.type_of(1)?];
    let recorded = Recorded {
        gemm: Gemm::new(m, n, k, types[0]),
        batch_first: false,
        strides: Some(strides(call, [0, 1])?),
        types,
        extras: Vec::new(),
        backward: Backward::Included,
        assumption: Some("weight charged at the element size of the activation".to_owned()),
    };
    recorded.model(call)
}

/// `hipblaslt_gemm_fp8|fp4(A, scaleA, B, scaleB, out_dtype, transA, transB, transC, ...)`.
pub(super) fn hipblaslt(call: &OpCall<'_>, numbers: ScaledNumbers) -> Read {
    let matrix = |index| Ok([call.dimension(index, 0)?, call.dimension(index, 1)?]);
    let (mut a, mut b) = (matrix(0)?, matrix(2)?);
    let [mut transpose_a, mut transpose_b, transpose_c] = [5, 6, 7].map(|index| is_true(call, index));
    if transpose_c {
        (a, b) = (b, a);
        (transpose_a, transpose_b) = (!transpose_b, !transpose_a);
    }
    let (m, k) = if transpose_a { (a[1], a[0]) } else { (a[0], a[1]) };
    let n = if transpose_b { b[0] } else { b[1] };
    let scaled = Scaled { operands: [0, 2], scales: [1, 3], backward: Backward::CallsOfTheirOwn };
    scaled_gemm(call, [m, n, k], numbers, &scaled)
}

/// `aiter::gemm_a4w4(A, B, A_scale, B_scale, ...)`: rows of the weight are columns of the result.
pub(super) fn a4w4(call: &OpCall<'_>) -> Read {
    let dimensions = [call.dimension(0, 0)?, call.dimension(1, 0)?, call.dimension(0, 1)?];
    let scaled = Scaled { operands: [0, 1], scales: [2, 3], backward: Backward::Included };
    scaled_gemm(call, dimensions, ScaledNumbers::PackedFp4, &scaled)
}

/// How the numbers of scaled operands are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScaledNumbers {
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

fn scaled_gemm(call: &OpCall<'_>, [m, n, k]: [u64; 3], numbers: ScaledNumbers, inputs: &Scaled) -> Read {
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
    let recorded = Recorded {
        gemm: Gemm { sizes, ..Gemm::new(m, n, k, types[0]) },
        batch_first: false,
        strides: Some(strides_unless_missing(call, operands)),
        types,
        extras: vec![("dtype_scaleA", type_of_scale(scales[0])), ("dtype_scaleB", type_of_scale(scales[1]))],
        backward,
        assumption: None,
    };
    recorded.model(call)
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
