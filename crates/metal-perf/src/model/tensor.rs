//! Sizes of tensors, as the device computes them: padded.

use trace_ingest::metal::{OpsTable, Tensor};

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

    /// Number of elements.
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
