//! What the text of an NVTX range says: PyTorch writes an operator's call into it.
//!
//! `NAME[, seq = N][, op_id = N][, sizes = [[d, d], [d], []]][, input_op_ids = [(op, out), …]]`, as
//! `torch.autograd.profiler.emit_nvtx` and `nsys profile --pytorch=autograd-shapes-nvtx` make it.

use crate::argument::ArgumentValue;

/// A text and its parts. What does not parse belongs to the name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NvtxText<'t> {
    /// Name of the operator or range.
    pub(super) name: &'t str,
    /// Number that a forward operator shares with its backward.
    pub(super) sequence: Option<i64>,
    /// Number of the call.
    pub(super) operator: Option<i64>,
    /// Shapes of the inputs, as written: [`shapes`].
    pub(super) sizes: Option<&'t str>,
    /// Whether a range of the default domain is a call of an operator.
    pub(super) is_operator: bool,
}

impl<'t> NvtxText<'t> {
    /// Reads the parts from the right, because the name may have commas.
    pub(super) fn parse(text: &'t str) -> NvtxText<'t> {
        let mut parsed = NvtxText { name: text, ..NvtxText::default() };
        let mut has_inputs = false;
        let mut last_list = list_at_end(text);
        if let Some((before, list)) = last_list
            && let Some(name) = before.strip_suffix(", input_op_ids ")
            && is_list(list, b"()")
        {
            (parsed.name, has_inputs) = (name, true);
            last_list = list_at_end(name);
        }
        if let Some((before, list)) = last_list
            && let Some(name) = before.strip_suffix(", sizes ")
            && is_list(list, b"[]")
        {
            (parsed.name, parsed.sizes) = (name, Some(list));
        }
        if let Some((before, number)) = number_at_end(parsed.name)
            && let Some(name) = before.strip_suffix(", op_id = ")
        {
            (parsed.name, parsed.operator) = (name, Some(number));
        }
        if let Some((before, number)) = number_at_end(parsed.name)
            && let Some(name) = before.strip_suffix(", seq = ")
        {
            (parsed.name, parsed.sequence) = (name, Some(number));
        }
        parsed.is_operator = parsed.is_call(has_inputs);
        parsed
    }

    /// Whether it is a call of an operator. Ranges of the program are written with a call's number, too; their names have
    /// what no operator's name has.
    fn is_call(&self, has_inputs: bool) -> bool {
        const WITH_SPACES: [&str; 4] = [
            "autograd::engine::evaluate_function: ",
            "Torch-Compiled Region",
            "TorchDynamo ",
            "AOTDispatcher",
        ];
        const NAMESPACES: [&str; 7] =
            ["aten", "prim", "prims", "torch", "c10d", "_c10d_functional", "quantized"];
        let name = self.name;
        let has_parts =
            self.sequence.is_some() || self.operator.is_some() || self.sizes.is_some() || has_inputs;
        if has_parts {
            let is_range =
                name.starts_with("nccl:") || memchr::memchr3(b' ', b'(', b'#', name.as_bytes()).is_some();
            return !is_range || WITH_SPACES.iter().any(|start| name.starts_with(start));
        }
        name.split_once("::").is_some_and(|(namespace, operator)| {
            let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
            NAMESPACES.contains(&namespace) && !operator.is_empty() && operator.chars().all(is_word)
        })
    }
}

/// What stands before the last equals sign and what behind it, in a text that ends with a bracket.
fn list_at_end(text: &str) -> Option<(&str, &str)> {
    let equals = memchr::memrchr(b'=', text.strip_suffix(']')?.as_bytes())?;
    Some((text.get(..equals)?, text.get(equals + 1..)?.strip_prefix(' ')?))
}

/// What stands before the number that a text ends with, and the number. Those of more than 18 digits are none.
fn number_at_end(text: &str) -> Option<(&str, i64)> {
    let (mut number, mut scale) = (0, 1);
    for (at, letter) in text.bytes().enumerate().rev() {
        if !letter.is_ascii_digit() {
            return Some((text.get(..=at)?, number)).filter(|_| scale > 1);
        }
        if scale == 1_000_000_000_000_000_000 {
            return None;
        }
        number += i64::from(letter - b'0') * scale;
        scale *= 10;
    }
    None
}

/// Whether a text is a list in brackets, of numbers and `brackets`.
fn is_list(text: &str, brackets: &[u8; 2]) -> bool {
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let &[open, close] = brackets;
    // Without a jump in it, so that many letters are looked at in one step.
    let may_stand = |letter: u8| {
        letter.is_ascii_digit()
            | (letter == b' ')
            | (letter == b',')
            | (letter == b'-')
            | (letter == open)
            | (letter == close)
    };
    inside.is_some_and(|inside| inside.bytes().fold(true, |all, letter| all & may_stand(letter)))
}

/// The shapes of `[[d, d], [d], []]`, as dims of a signature; `None` where the text is no list of lists of numbers.
pub(super) fn shapes(sizes: &str) -> Option<ArgumentValue> {
    let mut rest = sizes.strip_prefix('[')?.strip_suffix(']')?.trim();
    let mut shapes = Vec::new();
    while !rest.is_empty() {
        let (shape, after) = rest.strip_prefix('[')?.split_once(']')?;
        let numbers = shape.split(',').map(str::trim).filter(|number| !number.is_empty());
        let numbers = numbers.map(|number| number.parse().map(ArgumentValue::Int).ok());
        shapes.push(ArgumentValue::List(numbers.collect::<Option<_>>()?));
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if after.is_empty() => after,
            None => return None,
        };
    }
    Some(ArgumentValue::List(shapes))
}

/// The types that go with shapes where all tensors have one: inputs without a shape are none.
pub(super) fn types(dims: &ArgumentValue, element: &str) -> ArgumentValue {
    let ArgumentValue::List(shapes) = dims else { return ArgumentValue::Null };
    let shape_type = |shape: &ArgumentValue| match shape {
        ArgumentValue::List(extents) if !extents.is_empty() => element.to_owned(),
        _ => String::new(),
    };
    ArgumentValue::List(shapes.iter().map(|shape| ArgumentValue::Text(shape_type(shape))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::Sequence;

    #[test]
    fn parts_of_a_call_are_read() {
        let text = "aten::addmm, seq = 12, op_id = 345, sizes = [[4096], [8192, 1024], [1024, 4096], [], []], \
                    input_op_ids = [(340,0), (344,0)]";
        let parsed = NvtxText::parse(text);
        assert_eq!((parsed.name, parsed.sequence, parsed.operator), ("aten::addmm", Some(12), Some(345)));
        let dims = shapes(parsed.sizes.unwrap()).unwrap();
        assert_eq!(
            dims.display(Sequence::Tuple).to_string(),
            "((4096,), (8192, 1024), (1024, 4096), (), ())"
        );
        assert!(parsed.is_operator);
    }

    #[test]
    fn tensors_have_the_type_that_is_assumed() {
        let types = types(&shapes("[[2, 3], [], [3]]").unwrap(), "float");
        assert_eq!(types.display(Sequence::Tuple).to_string(), "('float', '', 'float')");
    }

    #[test]
    fn what_does_not_parse_belongs_to_the_name() {
        for (text, name, sequence, operator) in [
            ("aten::view, op_id = 314290", "aten::view", None, Some(314_290)),
            ("step, lr = 3", "step, lr = 3", None, None),
            ("a, b, seq = 4", "a, b", Some(4), None),
            ("x, op_id = many", "x, op_id = many", None, None),
            ("x, op_id = 1, seq = 2", "x, op_id = 1", Some(2), None),
            ("x, sizes = [[1, a]]", "x, sizes = [[1, a]]", None, None),
            ("", "", None, None),
            (", seq = 1", "", Some(1), None),
            ("é, seq = 3", "é", Some(3), None),
            ("x, seq = -1", "x, seq = -1", None, None),
            ("x, op_id = 123456789012345678", "x", None, Some(123_456_789_012_345_678)),
            ("x, op_id = 1234567890123456789", "x, op_id = 1234567890123456789", None, None),
            ("x, op_id = ", "x, op_id = ", None, None),
            ("42", "42", None, None),
            (
                "x, sizes = [[1]], input_op_ids = [(3,x)]",
                "x, sizes = [[1]], input_op_ids = [(3,x)]",
                None,
                None,
            ),
            ("x, op_id = 7, sizes = [], input_op_ids = []", "x", None, Some(7)),
            ("=]", "=]", None, None),
        ] {
            let parsed = NvtxText::parse(text);
            assert_eq!((parsed.name, parsed.sequence, parsed.operator), (name, sequence, operator), "{text}");
        }
    }

    #[test]
    fn operators_are_told_from_ranges() {
        for (text, is_operator) in [
            ("aten::mm, op_id = 1", true),
            ("FSDP::pre_forward (encoder.block.0), op_id = 2", false),
            ("autograd::engine::evaluate_function: MmBackward0, seq = 3", true),
            ("Torch-Compiled Region: 0/0, op_id = 4", true),
            ("Optimizer.step#Adam.step, op_id = 5", false),
            ("nccl:all_reduce, op_id = 6", false),
            ("MyFunction, seq = 7", true),
            ("aten::mm", true),
            ("aten::add_.Tensor", true),
            ("aten::mm please", false),
            ("forward", false),
            ("cub::DeviceReduce", false),
        ] {
            assert_eq!(NvtxText::parse(text).is_operator, is_operator, "{text}");
        }
    }

    #[test]
    fn broken_shapes_are_none() {
        for sizes in ["[[1], 2]", "[[1] [2]]", "[[1]", "[[-]]", "[[99999999999999999999]]", "[(1)]"] {
            assert_eq!(shapes(sizes), None, "{sizes}");
        }
        assert_eq!(shapes("[]"), Some(ArgumentValue::List(Vec::new())));
    }
}
