//! Matrix products: `C[b, m, n] = A[b, m, k] · B[b, k, n]`, so `2·m·k·n` operations for each of `b` batches.

use super::tensor::{Shape, dram_element_bytes, product};
use super::{Call, Modelled};
use crate::op::Analysed;

/// Program configuration whose weights are sharded over the DRAM banks: a core per bank computes.
const DRAM_SHARDED: &str = "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig";

pub(super) fn is_dram_sharded(call: &Call<'_>) -> bool {
    call.attributes.contains(DRAM_SHARDED)
}

/// Shapes of both inputs and the output.
pub(super) fn shapes(call: &Call<'_>) -> Option<[Shape; 3]> {
    Some([Shape::of(call.inputs.first())?, Shape::of(call.inputs.get(1))?, Shape::of(call.outputs.first())?])
}

pub(super) fn model(call: &Call<'_>) -> Modelled {
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
