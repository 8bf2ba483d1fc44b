//! Convolutions as matrix products of gathered windows: `m` output points, `k = channels / groups · h · w` and `n`
//! output channels.

use super::other::dram_bytes;
use super::tensor::{Shape, product};
use super::{Call, Modelled};
use crate::attributes::{number_after, value, window};
use crate::op::Analysed;

pub(super) fn model(call: &Call<'_>) -> Modelled {
    let compat = call.options.compat;
    let analysed = if compat { Analysed::FlopsOnly } else { Analysed::Full };
    let Some(Product { m, k, n, batches }) = as_product(call) else {
        return Modelled::unknown_shape(analysed);
    };
    Modelled {
        sizes: format!("{m} x {k} x {n} {}", blocks(call)),
        analysed,
        flops: Some(product(&[m, k, n, batches, 2])),
        bytes: if compat { None } else { dram_bytes(call) },
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
    let length = |tensor: Option<&trace_ingest::metal::Tensor>, dim: usize| {
        tensor?.dims.get(dim)?.padded.filter(|length| *length > 0)
    };
    let (height, width) = window(call.attributes)?;
    let channels = length(call.inputs.first(), 3)?;
    let k = channels.checked_mul(height)?.checked_mul(width)?;
    let (m, n) = (length(call.outputs.first(), 2)?, length(call.inputs.get(1), 3)?);
    if call.options.compat {
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
        // The tool before took an attribute that is not there for one that is on.
        None => call.options.compat,
    };
    let double_buffer = if switched_on("enable_act_double_buffer") { " ADB" } else { "" };
    let split_reader = if switched_on("enable_split_reader") { " SR" } else { "" };
    format!(
        "[ABH={}|{}{double_buffer}{split_reader}]",
        tiles("per_core_out_matrix_height_ntile="),
        tiles("act_block_h_ntiles=")
    )
}
