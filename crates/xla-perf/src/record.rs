//! What the HLO of an instruction says, as reports show it.

use perf_models::hlo::{ArrayShape, InstructionRef, Shape};
use trace_ingest::write_text;

/// An instruction in texts and numbers.
#[derive(Clone, Debug)]
pub struct Record {
    /// Shapes of the operands: `bf16[4096,2048]{1,0}`.
    pub operands: Vec<String>,
    /// Shape of the result.
    pub output: String,
    /// What a custom call calls; empty for all others.
    pub custom_call_target: String,
    /// Path of the framework's operation: `jit(f)/jit(main)/dot_general`.
    pub op_name: String,
    /// Source file and line that the operation comes from; empty where the program does not say.
    pub source: String,
    /// Extents of the operands that are arrays of some rank, of tuples those of the first array.
    pub dims: Vec<Vec<u64>>,
    /// Element types of the same.
    pub types: Vec<String>,
    /// Distances of neighbours along each dimension of the same, in elements.
    pub strides: Vec<Vec<u64>>,
    /// Bytes of the operands that are arrays with dimensions.
    pub operand_bytes: f64,
}

impl Record {
    pub(super) fn of(instruction: InstructionRef<'_>) -> Self {
        let shapes: Vec<&Shape> =
            instruction.operands().map(|operand| &operand.instruction().shape).collect();
        // Scalars are no inputs that a reader would know an operation by.
        let arrays: Vec<&ArrayShape> = shapes
            .iter()
            .filter_map(|shape| shape.arrays().into_iter().find(|array| !array.dimensions.is_empty()))
            .collect();
        let plain = shapes.iter().filter_map(|shape| shape.as_array());
        let sized = plain.filter(|array| !array.dimensions.is_empty());
        let metadata = &instruction.metadata;
        let source = match metadata.source_line {
            0 => metadata.source_file.clone(),
            line if !metadata.source_file.is_empty() => format!("{}:{line}", metadata.source_file),
            _ => String::new(),
        };
        Record {
            operands: instruction.operand_texts(),
            output: instruction.shape.to_string(),
            custom_call_target: instruction.custom_call_target.clone(),
            op_name: metadata.op_name.clone(),
            source,
            dims: arrays.iter().map(|array| array.dimensions.clone()).collect(),
            types: arrays.iter().map(|array| array.element_type.to_string()).collect(),
            strides: arrays.iter().map(|array| strides(array)).collect(),
            operand_bytes: sized.filter_map(|array| array.bytes().ok()).sum(),
        }
    }

    /// The operation and its source as reports show them; `None` where the program says neither.
    pub(super) fn metadata(&self) -> Option<String> {
        let parts = [("op_name", &self.op_name), ("source", &self.source)];
        let said: Vec<String> = parts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(key, text)| format!("{key}={text:?}"))
            .collect();
        (!said.is_empty()).then(|| said.join(" "))
    }

    /// Whether the operation or its source file has one of these texts.
    pub(super) fn has_keyword(&self, keywords: &[String]) -> bool {
        keywords.iter().any(|keyword| self.op_name.contains(keyword) || self.source.contains(keyword))
    }
}

/// Distances of neighbours along each dimension, in elements, by the layout; row-major where there is none.
fn strides(array: &ArrayShape) -> Vec<u64> {
    let rank = array.dimensions.len();
    let mut strides = vec![0; rank];
    let mut distance = 1_u64;
    let row_major: Vec<i64> = (0..rank as i64).rev().collect();
    let order = array.layout.as_ref().map_or(&row_major, |layout| &layout.minor_to_major);
    for &dimension in order {
        let Some(at) = usize::try_from(dimension).ok().filter(|&at| at < rank) else { continue };
        strides[at] = distance;
        distance = distance.saturating_mul(array.dimensions[at]);
    }
    strides
}

/// A list of texts as a Python tuple.
pub(super) fn text_tuple<S: AsRef<str>>(texts: &[S]) -> String {
    tuple(texts.iter().map(|text| quoted(text.as_ref())))
}

/// Lists of numbers as a Python tuple of tuples.
pub(super) fn number_tuples(lists: &[Vec<u64>]) -> String {
    tuple(lists.iter().map(|list| number_tuple(list)))
}

/// Numbers as a Python tuple.
pub(super) fn number_tuple(numbers: &[u64]) -> String {
    tuple(numbers.iter().map(u64::to_string))
}

/// A list of texts as a Python list.
pub(super) fn text_list<S: AsRef<str>>(texts: &[S]) -> String {
    let parts: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", parts.join(", "))
}

/// A text as a Python literal.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_text(&mut out, text);
    out
}

fn tuple(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    let comma = if parts.len() == 1 { "," } else { "" };
    format!("({}{comma})", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use perf_models::hlo::{ElementType, Layout};

    use super::*;

    #[test]
    fn strides_follow_the_layout() {
        let array = |dimensions: &[u64], layout: Option<&[i64]>| ArrayShape {
            element_type: ElementType::Bf16,
            dimensions: dimensions.to_vec(),
            dynamic: Vec::new(),
            layout: layout.map(|order| Layout { minor_to_major: order.to_vec(), ..Layout::default() }),
        };
        for (dimensions, layout, expected) in [
            (&[2, 3, 4][..], Some(&[2, 1, 0][..]), &[12, 4, 1][..]),
            (&[2, 3, 4], Some(&[0, 1, 2]), &[1, 2, 6]),
            (&[2, 3, 4], None, &[12, 4, 1]),
            (&[2, 3], Some(&[7, 1, 0]), &[3, 1]),
        ] {
            assert_eq!(strides(&array(dimensions, layout)), expected);
        }
    }

    #[test]
    fn lists_are_python_literals() {
        assert_eq!(number_tuples(&[vec![1, 2], vec![3]]), "((1, 2), (3,))");
        assert_eq!(number_tuples(&[]), "()");
        assert_eq!(text_tuple(&["bf16"]), "('bf16',)");
        assert_eq!(text_list(&["a", "b'"]), "['a', \"b'\"]");
    }
}
