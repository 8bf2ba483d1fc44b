//! Sizes of tensors as the device computes them (padded), and what operations move, also those without a model of what
//! they compute.

use trace_ingest::metal::{OpsTable, Tensor};

use super::call::{Call, Modelled};
use crate::attributes::{after, tuple};
use crate::op::Analysed;

/// Lengths along W, Z, Y and X with padding; `None` unless all are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) w: u64,
    pub(super) z: u64,
    pub(super) y: u64,
    pub(super) x: u64,
}

impl Shape {
    pub(super) fn of(tensor: Option<&Tensor>) -> Option<Shape> {
        let dims = tensor?.dims.map(|dim| dim.padded.filter(|length| *length > 0));
        let [Some(w), Some(z), Some(y), Some(x)] = dims else { return None };
        Some(Shape { w, z, y, x })
    }

    pub(super) fn elements(self) -> f64 {
        product(&[self.w, self.z, self.y, self.x])
    }

    /// Matrices in it.
    pub(super) fn batches(self) -> u64 {
        self.w.saturating_mul(self.z)
    }
}

/// Product of whole numbers, rounded once.
pub(super) fn product(factors: &[u64]) -> f64 {
    let exact = factors.iter().try_fold(1_u128, |product, factor| product.checked_mul(u128::from(*factor)));
    exact.map_or_else(|| factors.iter().map(|factor| *factor as f64).product(), |exact| exact as f64)
}

/// Bytes of an element: the first number in a datatype's name is its bits. `None` for a blank one; 4 for a name
/// without a number.
pub(super) fn element_bytes(datatype: &str) -> Option<f64> {
    if datatype.is_empty() {
        return None;
    }
    let Some(start) = datatype.find(|c: char| c.is_ascii_digit()) else { return Some(4.0) };
    let digits = &datatype[start..];
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse::<f64>().ok().map(|bits| bits / 8.0)
}

/// Bytes of an element of `tensor` that go through DRAM: 0 if it lies elsewhere, `None` if its memory or its
/// datatype is blank.
pub(super) fn dram_element_bytes(table: &OpsTable, tensor: &Tensor) -> Option<f64> {
    let memory = table.text(tensor.memory);
    if memory.is_empty() {
        return None;
    }
    if memory.contains("DRAM") { element_bytes(table.text(tensor.datatype)) } else { Some(0.0) }
}

/// Operations that read no more of an input than they write: they pick rows or a part.
const PICK: &[&str] = &["Slice", "Embedding", "Gather", "Split", "InterleavedToShardedPartial"];

/// Operations that write no more than their first input into a larger tensor, which is their output too.
const WRITE_PART: &[&str] = &["SliceWrite", "ShardedToInterleavedPartial"];

/// Operations that touch a part of a cache which the shapes do not tell.
const CACHE: &[&str] = &["Cache", "AttentionDecode", "SdpaDecode", "AttentionGQADecode"];

pub(super) fn unmodelled(call: &Call<'_>) -> Modelled {
    let is_modelled = !call.options.conventions.traffic_of_matmul_only;
    let bytes = dram_bytes(call).filter(|bytes| is_modelled && *bytes > 0.0);
    let analysed = if bytes.is_some() { Analysed::DramOnly } else { Analysed::None };
    Modelled { analysed, bytes, ..Modelled::default() }
}

/// Halo exchange, what a sliding window needs of its neighbours' shards. Its label has window, stride, padding, dilation
/// and how the output is sharded.
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
    Modelled { sizes, ..unmodelled(call) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_the_first_number_of_a_datatype() {
        let cases = [
            ("BFLOAT16", Some(2.0)),
            ("BFLOAT8_B", Some(1.0)),
            ("BFLOAT4_B", Some(0.5)),
            ("FLOAT32", Some(4.0)),
            ("UINT8", Some(1.0)),
            ("INVALID", Some(4.0)),
            ("", None),
        ];
        for (datatype, expected) in cases {
            assert_eq!(element_bytes(datatype), expected, "{datatype}");
        }
    }

    #[test]
    fn products_that_do_not_fit_are_rounded_instead_of_wrapped() {
        assert_eq!(product(&[3, 5]), 15.0);
        assert_eq!(product(&[]), 1.0);
        let large = product(&[1 << 32; 5]);
        assert!((large / 2_f64.powi(160) - 1.0).abs() < 1e-12, "{large}");
    }
}
