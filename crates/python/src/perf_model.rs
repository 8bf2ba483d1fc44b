//! Work of operations by their sizes, as the classes of TraceLens are asked for it.

use perf_models::{Attention, AttentionMask, Figure, Gemm, GemmSizes, PerfModel};
use pyo3::prelude::*;

use crate::boundary::refused_by_reason;

fn known(figure: Figure) -> PyResult<f64> {
    figure.map_err(refused_by_reason)
}

/// FLOPs and bytes of a matrix product, whose operands, bias and result have elements of these bytes.
#[pyfunction]
pub(crate) fn gemm_work(m: u64, n: u64, k: u64, bias: bool, element_bytes: [f64; 4]) -> PyResult<(f64, f64)> {
    let [a, b, added, output] = element_bytes;
    let sizes = GemmSizes { a, b, bias: added, output, scales: 0.0 };
    let gemm = Gemm { bias, sizes: Ok(sizes), ..Gemm::new(m, n, k, "") };
    Ok((known(gemm.flops())?, known(gemm.bytes())?))
}

/// FLOPs and bytes of attention, forward and then backward, by batch, queries, their heads, keys, their heads, elements of
/// a key and of a value in a head.
#[pyfunction]
pub(crate) fn attention_work(
    sizes: [u64; 7],
    causal: bool,
    element_type: &str,
    recomputes_scores: bool,
) -> PyResult<[f64; 4]> {
    let [batch, query_length, query_heads, key_length, key_heads, head_dim, value_head_dim] = sizes;
    let attention = Attention {
        batch,
        query_length,
        query_heads,
        key_length,
        key_heads,
        head_dim,
        value_head_dim,
        mask: AttentionMask { causal, ..AttentionMask::default() },
        recomputes_scores,
        query_type: element_type.to_owned(),
        key_type: element_type.to_owned(),
        ..Attention::default()
    };
    let figures =
        [attention.flops(), attention.bytes(), attention.backward_flops(), attention.backward_bytes()];
    let [flops, bytes, backward_flops, backward_bytes] = figures.map(known);
    Ok([flops?, bytes?, backward_flops?, backward_bytes?])
}
