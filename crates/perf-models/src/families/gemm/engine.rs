//! Reads the matrix multiplications of inference engines out of recorded arguments.
//!
//! The rows of their weights are columns of the result.

use super::layout::{Read, Recorded, sizes};
use super::model::{Backward, Gemm, GemmSizes};
use crate::tensor::count_value;
use crate::{OpCall, Parameter, Precision, Undefined, Value, element_size, precision};

/// Type of results that are not recorded.
const BF16: &str = "c10::bfloat16";

/// A packed or quantized number of four bits.
const FOUR_BITS: f64 = 0.5;

/// A multiplication and the element types that reports show of it: operands and result.
struct EngineGemm<'a> {
    gemm: Gemm,
    types: [&'a str; 3],
    extras: Vec<Parameter>,
    batch_first: bool,
}

impl<'a> EngineGemm<'a> {
    fn new(gemm: Gemm, types: [&'a str; 3]) -> Self {
        Self { gemm, types, extras: Vec::new(), batch_first: true }
    }

    fn model(self, call: &OpCall<'_>) -> Read {
        let recorded = Recorded {
            gemm: self.gemm,
            batch_first: self.batch_first,
            strides: None,
            types: self.types.to_vec(),
            extras: self.extras,
            backward: Backward::Included,
            assumption: None,
        };
        recorded.model(call)
    }
}

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
pub(super) fn a8w8(call: &OpCall<'_>) -> Read {
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
    EngineGemm { extras, ..EngineGemm::new(gemm, types) }.model(call)
}

/// `vllm::rocm_unquantized_gemm(x, weight, bias)`: the result has the type of the bias or the weight.
pub(super) fn unquantized(call: &OpCall<'_>) -> Read {
    let [m, n, k] = activation_and_weight(call)?;
    let types = [call.type_of(0)?, call.type_of(1)?, type_or_none(call, 2)];
    let bias = call.has_dimensions(2);
    let output = if bias { types[2] } else { types[1] };
    let sizes = sizes(types[0], types[1], output, output);
    let gemm = Gemm { bias, sizes, ..Gemm::new(m, n, k, types[0]) };
    EngineGemm { batch_first: false, ..EngineGemm::new(gemm, types) }.model(call)
}

/// `aiter::gemm_a16w16(A, B, bias, ...)`: the result has the type of the activation.
pub(super) fn a16w16(call: &OpCall<'_>) -> Read {
    let activation = call.type_of(0)?;
    a16w16_of(call, call.has_dimensions(2), activation)
}

/// The type of the result is that of input 3.
pub(super) fn a16w16_atomic(call: &OpCall<'_>) -> Read {
    a16w16_of(call, false, call.type_of(3).unwrap_or(BF16))
}

/// The result is input 2, if that is a tensor.
pub(super) fn a16w16_assembly(call: &OpCall<'_>) -> Read {
    let activation = call.type_of(0)?;
    let output = call.type_of(2).ok().filter(|name| element_size(name).is_ok());
    a16w16_of(call, false, output.unwrap_or(activation))
}

fn a16w16_of(call: &OpCall<'_>, bias: bool, output: &str) -> Read {
    let [m, n, k] = activation_and_weight(call)?;
    let types = [call.type_of(0)?, call.type_of(1)?, output];
    let sizes = sizes(types[0], types[1], output, output);
    let gemm = Gemm { bias, sizes, ..Gemm::new(m, n, k, types[0]) };
    EngineGemm::new(gemm, types).model(call)
}

/// `aiter::gemm_afp4wfp4_`: two four-bit numbers an element in both operands.
pub(super) fn afp4_wfp4(call: &OpCall<'_>) -> Read {
    let [m, n, packed_k] = activation_and_weight(call)?;
    let types = [call.type_of(0)?, call.type_of(1)?, BF16];
    let sizes = Ok(GemmSizes { a: FOUR_BITS, b: FOUR_BITS, ..GemmSizes::uniform(2.0) });
    let precision = Some(Precision::Fp4);
    let gemm = Gemm { sizes, precision, ..Gemm::new(m, n, packed_k.saturating_mul(2), types[0]) };
    EngineGemm::new(gemm, types).model(call)
}

/// `aiter::batched_gemm_a16wfp4_`: a weight of four-bit numbers for each activation of the batch.
pub(super) fn batched_a16_wfp4(call: &OpCall<'_>) -> Read {
    let ([batch, m, k], n) = (call.dimensions_of(0)?, call.dimension(1, 1)?);
    let types = [call.type_of(0)?, call.type_of(1)?, BF16];
    let sizes = element_size(types[0]).map(|a| GemmSizes { a, b: FOUR_BITS, ..GemmSizes::uniform(2.0) });
    let precision = Some(Precision::Fp4);
    let gemm = Gemm { batch, sizes, precision, ..Gemm::new(m, n, k, types[0]) };
    EngineGemm::new(gemm, types).model(call)
}

/// A batch of weights of eight bits; the batch is the first or the second dimension of the activation,
/// which is quantized on the way, so that the weight's precision is that of the arithmetic.
pub(super) fn batched_a8w8(call: &OpCall<'_>) -> Read {
    let (batch, n) = (call.dimension(1, 0)?, call.dimension(1, 1)?);
    let [first, second, k] = call.dimensions_of(0)?;
    let m = if first == batch { second } else { first };
    let types = [call.type_of(0)?, call.type_of(1)?, BF16];
    let sizes = sizes(types[0], types[1], BF16, BF16);
    let gemm = Gemm { batch, sizes, precision: precision(types[1]), ..Gemm::new(m, n, k, types[0]) };
    EngineGemm::new(gemm, types).model(call)
}
