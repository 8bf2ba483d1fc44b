//! Operands as the report reads them from text.

use super::ReferenceModel;
use crate::hlo::{InstructionRef, Shape};

/// An array as the report reads it from the text of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceTensor {
    /// Letters and digits before the extents: `bf16`; of `f8e5m2` only `m2`.
    pub element_type: String,
    /// Extents.
    pub dimensions: Vec<u64>,
    /// Text of the layout: `1,0`.
    pub layout: String,
}

/// The first array in the text of a shape that has a type of letters and digits, extents, and a layout of
/// digits and commas. Scalars, truth values and tiled layouts are passed over.
#[must_use]
pub fn tensor(text: &str) -> Option<ReferenceTensor> {
    let is_list = |list: &str| !list.is_empty() && list.bytes().all(|c| c.is_ascii_digit() || c == b',');
    text.match_indices('[').find_map(|(open, _)| {
        let before = &text[..open];
        let letters = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let start = letters.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
        if letters.len() == before.len() || start == letters.len() {
            return None;
        }
        let (extents, rest) = text[open + 1..].split_once(']')?;
        let (layout, _) = rest.strip_prefix('{')?.split_once('}')?;
        if !is_list(extents) || !is_list(layout) {
            return None;
        }
        let dimensions =
            extents.split(',').filter(|extent| !extent.is_empty()).map(|extent| extent.parse().ok());
        Some(ReferenceTensor {
            element_type: before[start..].to_owned(),
            dimensions: dimensions.collect::<Option<_>>()?,
            layout: layout.to_owned(),
        })
    })
}

/// Whether the report has a record of an instruction: not of the last of a computation, and only where its
/// line names one of the types that it looks for.
#[must_use]
pub fn has_record(instruction: InstructionRef<'_>) -> bool {
    const HINTS: [&str; 10] = ["bf16", "f8", "f16", "f32", "f64", "s32", "s64", "u32", "u64", "pred"];
    let named = |text: &str| HINTS.iter().any(|hint| text.contains(hint));
    !instruction.is_root()
        && (instruction.opcode == "get-tuple-element"
            || named(&instruction.shape.to_string())
            || instruction.operand_texts().iter().any(|text| named(text)))
}

/// The texts of operands as the report has them: every fifth is unresolved, an instruction without operands
/// has an empty one, a parameter its number.
#[must_use]
pub fn operand_texts(instruction: InstructionRef<'_>) -> Vec<String> {
    if instruction.opcode == "parameter" {
        return vec![instruction.parameter_number.to_string()];
    }
    if instruction.operands.is_empty() {
        return vec![String::new()];
    }
    let text = |index: usize| match instruction.operand(index) {
        Some(operand) if index > 0 && index.is_multiple_of(5) => {
            format!("/*index={index}*/%{}", operand.name)
        }
        Some(operand) if has_record(operand) => commented(&operand.shape),
        Some(operand) => format!("%{}", operand.name),
        None => format!("%{}", instruction.operands[index]),
    };
    (0..instruction.operands.len()).map(text).collect()
}

/// Every fifth part of a tuple has a comment with its number.
fn commented(shape: &Shape) -> String {
    let Shape::Tuple(parts) = shape else { return shape.to_string() };
    let part = |(index, part): (usize, &Shape)| match index {
        0 => part.to_string(),
        index if index.is_multiple_of(5) => format!(",/*index={index}*/{part}"),
        _ => format!(",{part}"),
    };
    format!("({})", parts.iter().enumerate().map(part).collect::<String>())
}

/// What the report puts in an operator's columns of arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferenceArguments {
    /// `Input Dims` and `Input type`.
    pub inputs: Vec<ReferenceTensor>,
    /// `Output Dims`: the first array of the result.
    pub output: Option<ReferenceTensor>,
    /// `Concrete Inputs`: for attention the extents of operand 4, if it is an array.
    pub concrete_inputs: Vec<Vec<u64>>,
    /// `Filter Shape`: extents of the filter from the third on.
    pub filter_shape: Vec<u64>,
}

/// The arguments of an instruction under a model. Operands that cannot be read are left out.
#[must_use]
pub fn arguments(instruction: InstructionRef<'_>, model: ReferenceModel) -> ReferenceArguments {
    let read: Vec<_> = operand_texts(instruction).iter().map(|text| tensor(text)).collect();
    let output = tensor(&instruction.shape.to_string());
    let tail = |tensor: Option<&ReferenceTensor>| {
        tensor.map(|tensor| tensor.dimensions.iter().skip(2).copied().collect()).unwrap_or_default()
    };
    let all = || read.iter().flatten().cloned().collect::<Vec<_>>();
    match model {
        ReferenceModel::Attention | ReferenceModel::AttentionBackward => ReferenceArguments {
            inputs: read.iter().take(3).flatten().cloned().collect(),
            concrete_inputs: read.get(4).into_iter().flatten().map(|of| of.dimensions.clone()).collect(),
            output,
            filter_shape: Vec::new(),
        },
        ReferenceModel::Convolution => {
            let inputs = all();
            let filter_shape = tail(inputs.get(1));
            ReferenceArguments { inputs, output, filter_shape, concrete_inputs: Vec::new() }
        }
        ReferenceModel::ConvolutionBackward => {
            let filter_shape = tail(output.as_ref());
            ReferenceArguments { inputs: all(), output, filter_shape, concrete_inputs: Vec::new() }
        }
        ReferenceModel::Gemm | ReferenceModel::Rest => {
            ReferenceArguments { inputs: all(), output, ..ReferenceArguments::default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::{ElementType, HloComputation, HloInstruction, HloModule};

    #[test]
    fn shapes_are_read_like_the_report_does() {
        for (text, expected) in [
            ("bf16[1,2,3]{2,1,0}", Some(("bf16", vec![1, 2, 3], "2,1,0"))),
            ("(bf16[4,8]{1,0},s8[64]{0})", Some(("bf16", vec![4, 8], "1,0"))),
            ("(pred[4]{0},s8[64]{0})", Some(("s8", vec![64], "0"))),
            ("f8e5m2[4]{0}", Some(("m2", vec![4], "0"))),
            ("f8e4m3fn[4]{0}", None),
            ("f32[]", None),
            ("f32[4]", None),
            ("f32[8]{0:T(128)}", None),
            ("%name", None),
            ("", None),
        ] {
            let found = tensor(text);
            let found =
                found.as_ref().map(|of| (of.element_type.as_str(), of.dimensions.clone(), &*of.layout));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn every_fifth_operand_is_unresolved() {
        let shape = Shape::array(ElementType::F32, [2]);
        let mut instructions: Vec<HloInstruction> =
            (0..7).map(|id| HloInstruction::new(id, format!("p{id}"), "parameter", shape.clone())).collect();
        instructions[1].shape = Shape::array(ElementType::S8, [2]);
        instructions[3].parameter_number = 3;
        let tuple = Shape::Tuple(vec![shape.clone(); 6]);
        let of = |id, name: &str, operands: Vec<i64>, shape| HloInstruction {
            operands,
            ..HloInstruction::new(id, name, "custom-call", shape)
        };
        instructions.push(of(7, "t", (0..7).collect(), tuple));
        instructions.push(of(8, "f", vec![7], shape.clone()));
        instructions.push(of(9, "r", vec![8], shape));
        let computation = HloComputation { root: 9, instructions, ..HloComputation::default() };
        let module = HloModule::new("m", 0, vec![computation]);
        let texts = |name| operand_texts(module.instruction(name).unwrap());
        let f32s = "f32[2]{0}";
        assert_eq!(texts("t"), [f32s, "%p1", f32s, f32s, f32s, "/*index=5*/%p5", f32s]);
        assert_eq!(texts("f"), [format!("({f32s},{f32s},{f32s},{f32s},{f32s},/*index=5*/{f32s})")]);
        assert_eq!(texts("p3"), ["3"]);
        assert!(
            !has_record(module.instruction("r").unwrap()) && !has_record(module.instruction("p1").unwrap())
        );
    }
}
