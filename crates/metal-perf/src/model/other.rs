//! Operations without a model of what they compute: what they move is known all the same.

use trace_ingest::metal::Tensor;

use super::tensor::{Shape, dram_element_bytes};
use super::{Call, Modelled};
use crate::attributes::{after, tuple};
use crate::op::Analysed;

/// Operations that read no more of an input than they write: they pick rows or a part.
const PICK: &[&str] = &["Slice", "Embedding", "Gather", "Split", "InterleavedToShardedPartial"];

/// Operations that write no more than their first input into a larger tensor, which is their output too.
const WRITE_PART: &[&str] = &["SliceWrite", "ShardedToInterleavedPartial"];

/// Operations that touch a part of a cache which the shapes do not tell.
const CACHE: &[&str] = &["Cache", "AttentionDecode", "SdpaDecode", "AttentionGQADecode"];

pub(super) fn model(call: &Call<'_>) -> Modelled {
    let bytes = if call.options.compat { None } else { dram_bytes(call).filter(|bytes| *bytes > 0.0) };
    let analysed = if bytes.is_some() { Analysed::DramOnly } else { Analysed::None };
    Modelled { analysed, bytes, ..Modelled::default() }
}

/// Halo exchange, what a sliding window needs of its neighbours' shards: window, stride, padding, dilation and how the output is sharded, for the label.
pub(super) fn halo(call: &Call<'_>) -> Modelled {
    let part = |marker, count| tuple(call.attributes, marker, count).unwrap_or_else(|| "x".to_owned());
    let layout = after(call.attributes, "memory_layout=")
        .and_then(|rest| rest.split(';').next())
        .and_then(|layout| layout.split("::").nth(1))
        .unwrap_or("x");
    let sizes = format!(
        "w={} s={} p={} d={} | {layout}",
        part("window_hw=", 2),
        part("stride_hw=", 2),
        part("padding=", 4),
        part("dilation_hw=", 2),
    );
    Modelled { sizes, ..model(call) }
}

/// Bytes of all inputs and outputs that lie in DRAM, each moved once: the least that the operation can move. `None`
/// if any of them is not known, or if it touches a part of them that is not. Optional tensors that are not given are
/// blank.
pub(super) fn dram_bytes(call: &Call<'_>) -> Option<f64> {
    if call.outputs.is_empty() || contains_any(call.name, CACHE) {
        return None;
    }
    let given = |tensor: &&Tensor| **tensor != Tensor::default();
    if contains_any(call.name, WRITE_PART) {
        let part = call.inputs.first()?;
        let elements = Shape::of(Some(part))?.elements();
        return Some(bytes(call, part, elements)? + bytes(call, call.outputs.first()?, elements)?);
    }
    let elements = |tensor| Shape::of(Some(tensor)).map(Shape::elements);
    let written = call.outputs.iter().filter(given).map(elements).sum::<Option<f64>>()?;
    // A collective's gather reads all that it has.
    let picks = contains_any(call.name, PICK) && !call.name.contains("AllGather");
    let read_at_most = if picks { written } else { f64::INFINITY };
    let read = call.inputs.iter().filter(given).map(|tensor| bytes(call, tensor, read_at_most));
    let write = call.outputs.iter().filter(given).map(|tensor| bytes(call, tensor, f64::INFINITY));
    read.chain(write).sum()
}

fn bytes(call: &Call<'_>, tensor: &Tensor, at_most: f64) -> Option<f64> {
    Some(Shape::of(Some(tensor))?.elements().min(at_most) * dram_element_bytes(call.table, tensor)?)
}

fn contains_any(name: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| name.contains(part))
}
