//! Sparse matrix products of mixtures of experts: of all pairs of batches only the active ones are computed.

use super::matmul::{is_dram_sharded, shapes};
use super::tensor::{Shape, dram_element_bytes, product};
use super::{Call, Modelled};
use crate::attributes::value;
use crate::op::{Analysed, SparseBatches};

pub(super) fn model(call: &Call<'_>) -> Modelled {
    let Some([a, b, _]) = shapes(call) else { return Modelled::unknown_shape(Analysed::Full) };
    let (m, k, n) = (a.y, a.x, b.x);
    let batches = batches(call, a, b);
    let dense = batches.dense;
    let active = batches.active.map_or_else(|| "?".to_owned(), |active| active.to_string());
    Modelled {
        sizes: format!("active={active}/{dense} x {m} x {k} x {n}"),
        analysed: Analysed::Full,
        flops: batches.active.map(|active| product(&[m, k, n, active, 2])),
        bytes: batches.active.and_then(|active| Some(active as f64 * bytes_of_one(call, m, k, n)?)),
        dram_sharded: is_dram_sharded(call),
        sparse: Some(batches),
    }
}

/// Batches that are computed, by the operation's count of them or by the experts that the user says are active for
/// each group of tokens; and how many there are.
fn batches(call: &Call<'_>, a: Shape, b: Shape) -> SparseBatches {
    let flag = |key, default| {
        value(call.attributes, key).map_or(default, |text| text.trim().eq_ignore_ascii_case("true"))
    };
    let (of_a, of_b) = (a.batches(), b.batches());
    let (groups, dense) = match (flag("is_input_a_sparse", false), flag("is_input_b_sparse", true)) {
        (true, true) => (1, of_b),
        (true, false) => {
            let groups = (of_a / of_b.max(1)).max(1);
            (groups, groups.saturating_mul(of_b))
        }
        (false, true) => (of_a, of_a.saturating_mul(of_b)),
        (false, false) => (of_a, of_a.max(of_b)),
    };
    let counted = value(call.attributes, "nnz").and_then(|text| text.trim().parse::<u64>().ok());
    let active =
        counted.or_else(|| call.options.active_experts.map(|experts| experts.get().saturating_mul(groups)));
    SparseBatches { active, dense }
}

/// Bytes of one product of two matrices that go through DRAM.
fn bytes_of_one(call: &Call<'_>, m: u64, k: u64, n: u64) -> Option<f64> {
    let matrices = [product(&[m, k]), product(&[k, n]), product(&[m, n])];
    let tensors = call.inputs.iter().take(2).chain(call.outputs.first());
    tensors
        .zip(matrices)
        .map(|(tensor, elements)| Some(elements * dram_element_bytes(call.table, tensor)?))
        .sum()
}
