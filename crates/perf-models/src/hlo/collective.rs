//! Which instructions exchange data between devices, and what of their value they return.

use super::{HloInstruction, Shape};

const COLLECTIVES: [&str; 7] = [
    "all-gather",
    "all-reduce",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
];

/// Whether an opcode is that of a collective, of its start or of its end.
pub(super) fn is_collective(opcode: &str) -> bool {
    let base = opcode.strip_suffix("-start").or_else(|| opcode.strip_suffix("-done")).unwrap_or(opcode);
    COLLECTIVES.contains(&base)
}

/// The results of a start: gathers and permutations return `(operands, results, context...)`.
pub(super) fn output_shape(of: &HloInstruction) -> &Shape {
    match (of.opcode.as_str(), of.shape.parts()) {
        ("all-reduce-start", _) => &of.shape,
        (opcode, [_, results, ..]) if opcode.ends_with("-start") => results,
        _ => &of.shape,
    }
}
