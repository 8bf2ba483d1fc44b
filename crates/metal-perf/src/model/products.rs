//! Matrix products: `C[b, m, n] = A[b, m, k] · B[b, k, n]`, so `2·m·k·n` operations for each of `b` batches; dense ones,
//! sparse ones, and convolutions.

use trace_ingest::metal::Tensor;

use super::call::{Call, Modelled};
use super::memory::{Shape, dram_bytes, dram_element_bytes, product};
use crate::attributes::{number_after, value, window};
use crate::op::{Analysed, SparseBatches};

/// Program configuration whose weights are sharded over the DRAM banks: a core per bank computes.
const DRAM_SHARDED: &str = "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig";

fn is_dram_sharded(call: &Call<'_>) -> bool {
    call.attributes.contains(DRAM_SHARDED)
}

/// Shapes of both inputs and the output.
fn shapes(call: &Call<'_>) -> Option<[Shape; 3]> {
    Some([Shape::of(call.inputs.first())?, Shape::of(call.inputs.get(1))?, Shape::of(call.outputs.first())?])
}

pub(super) fn dense(call: &Call<'_>) -> Modelled {
    let Some([a, b, c]) = shapes(call) else { return Modelled::unknown_shape(Analysed::Full) };
    let (m, k, n) = (a.y, a.x, b.x);
    let (w, z) = (a.w.max(b.w), a.z.max(b.z));
    let batches = w.saturating_mul(z);
    let sizes =
        if batches > 1 { format!("b={{{batches}}} x {m} x {k} x {n}") } else { format!("{m} x {k} x {n}") };
    // Each operand once; a bias or whatever is fused into the product is small beside them.
    let tensors = call.inputs.iter().take(2).chain(call.outputs.first());
    let bytes = tensors
        .zip([a, b, c])
        .map(|(tensor, shape)| Some(shape.elements() * dram_element_bytes(call.table, tensor)?))
        .sum::<Option<f64>>();
    Modelled {
        sizes,
        analysed: Analysed::Full,
        flops: Some(product(&[m, k, n, w, z, 2])),
        bytes,
        dram_sharded: is_dram_sharded(call),
        sparse: None,
    }
}

/// Sparse matrix products of mixtures of experts: of all pairs of batches only the active ones are computed.
pub(super) fn sparse(call: &Call<'_>) -> Modelled {
    let Some([a, b, _]) = shapes(call) else { return Modelled::unknown_shape(Analysed::Full) };
    let (m, k, n) = (a.y, a.x, b.x);
    let batches = batches(call, a, b);
    let dense = batches.dense;
    let active = batches.active.map_or_else(|| "?".to_owned(), |active| active.to_string());
    Modelled {
        sizes: format!("active={active}/{dense} x {m} x {k} x {n}"),
        analysed: Analysed::Full,
        flops: batches.active.map(|active| product(&[m, k, n, active, 2])),
        bytes: batches.active.and_then(|active| Some(active as f64 * product_bytes(call, m, k, n)?)),
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
    let (batches_a, batches_b) = (a.batches(), b.batches());
    let (groups, dense) = match (flag("is_input_a_sparse", false), flag("is_input_b_sparse", true)) {
        (true, true) => (1, batches_b),
        (true, false) => {
            let groups = (batches_a / batches_b.max(1)).max(1);
            (groups, groups.saturating_mul(batches_b))
        }
        (false, true) => (batches_a, batches_a.saturating_mul(batches_b)),
        (false, false) => (batches_a, batches_a.max(batches_b)),
    };
    let counted = value(call.attributes, "nnz").and_then(|text| text.trim().parse::<u64>().ok());
    let active =
        counted.or_else(|| call.options.active_experts.map(|experts| experts.get().saturating_mul(groups)));
    SparseBatches { active, dense }
}

/// Bytes of one product of two matrices that go through DRAM.
fn product_bytes(call: &Call<'_>, m: u64, k: u64, n: u64) -> Option<f64> {
    let matrices = [product(&[m, k]), product(&[k, n]), product(&[m, n])];
    let tensors = call.inputs.iter().take(2).chain(call.outputs.first());
    tensors
        .zip(matrices)
        .map(|(tensor, elements)| Some(elements * dram_element_bytes(call.table, tensor)?))
        .sum()
}

/// Convolutions as matrix products of gathered windows: `m` output points, `k = channels / groups · h · w` and `n`
/// output channels.
pub(super) fn convolution(call: &Call<'_>) -> Modelled {
    let has_traffic = !call.options.conventions.traffic_of_matmul_only;
    let analysed = if has_traffic { Analysed::Full } else { Analysed::FlopsOnly };
    let Some(Product { m, k, n, batches }) = as_product(call) else {
        return Modelled::unknown_shape(analysed);
    };
    Modelled {
        sizes: format!("{m} x {k} x {n} {}", blocks(call)),
        analysed,
        flops: Some(product(&[m, k, n, batches, 2])),
        bytes: dram_bytes(call).filter(|_| has_traffic),
        ..Modelled::default()
    }
}

struct Product {
    m: u64,
    k: u64,
    n: u64,
    batches: u64,
}

fn as_product(call: &Call<'_>) -> Option<Product> {
    let length =
        |tensor: Option<&Tensor>, dim: usize| tensor?.dims.get(dim)?.padded.filter(|length| *length > 0);
    let (height, width) = window(call.attributes)?;
    let channels = length(call.inputs.first(), 3)?;
    let k = channels.checked_mul(height)?.checked_mul(width)?;
    let (m, n) = (length(call.outputs.first(), 2)?, length(call.inputs.get(1), 3)?);
    if call.options.conventions.one_product_per_convolution {
        return Some(Product { m, k, n, batches: 1 });
    }
    let groups = value(call.attributes, "groups").and_then(|text| text.trim().parse::<u64>().ok());
    let batches = Shape::of(call.outputs.first()).map_or(1, Shape::batches);
    Some(Product { m, k: (k / groups.unwrap_or(1).max(1)).max(1), n, batches })
}

/// Block sizes and what is switched on: `[ABH=192|1 ADB SR]`, for the height of the activation blocks in tiles
/// (whole output of a core, block), double buffered activations and the split reader.
fn blocks(call: &Call<'_>) -> String {
    let tiles = |marker| {
        number_after(call.attributes, marker).map_or_else(|| "x".to_owned(), |tiles| tiles.to_string())
    };
    let switched_on = |name: &str| match call.attributes.split_once(&format!("{name}': '")) {
        Some((_, rest)) => rest.starts_with("true'"),
        None => call.options.conventions.absent_is_on,
    };
    let double_buffer = if switched_on("enable_act_double_buffer") { " ADB" } else { "" };
    let split_reader = if switched_on("enable_split_reader") { " SR" } else { "" };
    format!(
        "[ABH={}|{}{double_buffer}{split_reader}]",
        tiles("per_core_out_matrix_height_ntile="),
        tiles("act_block_h_ntiles=")
    )
}
