//! What an op was called with, as the profiler records it: dims, strides, types, concrete inputs.

use std::fmt::Write as _;
use std::rc::Rc;

use super::json::Layout;

/// One argument of an op.
#[derive(Debug, Clone)]
pub(super) enum Argument {
    /// A tensor of a type, its dims, and its strides.
    Tensor(&'static str, Vec<u64>, Vec<u64>),
    /// Several tensors (dims of each), contiguous.
    Tensors(Vec<Vec<u64>>),
    /// A number or a boolean, as text.
    Scalar(&'static str),
    /// A whole number.
    Number(u64),
    /// A list of numbers, as text.
    List(String),
    /// Not given.
    Absent,
}

/// The element type of the models' tensors.
pub(super) const BF16: &str = "c10::BFloat16";
/// The element type of statistics and of optimiser states.
pub(super) const FLOAT: &str = "float";
/// The element type of token numbers.
pub(super) const LONG: &str = "long int";

/// A contiguous tensor.
pub(super) fn tensor(element: &'static str, dims: &[u64]) -> Argument {
    Argument::Tensor(element, dims.to_vec(), contiguous(dims))
}

/// A contiguous `bf16` tensor.
pub(super) fn bf16(dims: &[u64]) -> Argument {
    tensor(BF16, dims)
}

/// A `bf16` tensor whose last two dims were transposed after it was laid out.
pub(super) fn bf16_transposed(dims: &[u64]) -> Argument {
    let mut stored = dims.to_vec();
    let last = stored.len() - 1;
    stored.swap(last, last - 1);
    let mut strides = contiguous(&stored);
    strides.swap(last, last - 1);
    Argument::Tensor(BF16, dims.to_vec(), strides)
}

/// A list argument of these numbers.
pub(super) fn list(values: &[u64]) -> Argument {
    let texts: Vec<String> = values.iter().map(u64::to_string).collect();
    Argument::List(format!("[{}]", texts.join(", ")))
}

fn contiguous(dims: &[u64]) -> Vec<u64> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis];
    }
    strides
}

/// Writes one argument's entry in one of the fields.
type PushField = fn(&mut String, &Argument, Layout);

/// The four argument fields as JSON text, in the order in which Kineto writes them.
pub(super) fn render(arguments: &[Argument], layout: Layout) -> Rc<str> {
    let mut text = String::new();
    let columns: [(&str, PushField); 4] = [
        ("Concrete Inputs", push_concrete),
        ("Input type", push_type),
        ("Input Strides", |text, argument, layout| push_shape(text, argument, layout, true)),
        ("Input Dims", |text, argument, layout| push_shape(text, argument, layout, false)),
    ];
    for (index, (key, push)) in columns.into_iter().enumerate() {
        if index > 0 {
            text.push_str(layout.comma());
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "\"{key}\"{}[", layout.colon());
        for (position, argument) in arguments.iter().enumerate() {
            if position > 0 {
                text.push_str(layout.comma());
            }
            push(&mut text, argument, layout);
        }
        text.push(']');
    }
    text.into()
}

fn push_concrete(text: &mut String, argument: &Argument, _: Layout) {
    let _ = match argument {
        Argument::Scalar(value) => write!(text, "\"{value}\""),
        Argument::Number(value) => write!(text, "\"{value}\""),
        Argument::List(value) => write!(text, "\"{value}\""),
        Argument::Tensor(..) | Argument::Tensors(_) | Argument::Absent => write!(text, "\"\""),
    };
}

fn push_type(text: &mut String, argument: &Argument, _: Layout) {
    let kind = match argument {
        Argument::Tensor(element, ..) => element,
        Argument::Tensors(_) => "TensorList",
        Argument::Scalar(_) | Argument::Number(_) => "Scalar",
        Argument::List(_) => "ScalarList",
        Argument::Absent => "",
    };
    let _ = write!(text, "\"{kind}\"");
}

fn push_shape(text: &mut String, argument: &Argument, layout: Layout, writes_strides: bool) {
    match argument {
        Argument::Tensor(_, dims, strides) => {
            push_numbers(text, if writes_strides { strides } else { dims }, layout);
        }
        Argument::Tensors(all) => {
            text.push('[');
            for (index, dims) in all.iter().enumerate() {
                if index > 0 {
                    text.push_str(layout.comma());
                }
                push_numbers(text, &if writes_strides { contiguous(dims) } else { dims.clone() }, layout);
            }
            text.push(']');
        }
        Argument::Scalar(_) | Argument::Number(_) | Argument::List(_) | Argument::Absent => {
            text.push_str("[]");
        }
    }
}

fn push_numbers(text: &mut String, numbers: &[u64], layout: Layout) {
    let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
    let _ = write!(text, "[{}]", texts.join(layout.comma()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_has_an_entry_in_each_of_the_four_fields() {
        let arguments = [
            bf16(&[2, 3, 4]),
            bf16_transposed(&[4, 8]),
            Argument::Tensors(vec![vec![5], vec![2, 2]]),
            Argument::Scalar("1"),
            Argument::Number(9),
            list(&[7, 8]),
            Argument::Absent,
        ];
        assert_eq!(
            &*render(&arguments, Layout::Compact),
            concat!(
                r#""Concrete Inputs":["","","","1","9","[7, 8]",""],"#,
                r#""Input type":["c10::BFloat16","c10::BFloat16","TensorList","Scalar","Scalar","ScalarList",""],"#,
                r#""Input Strides":[[12,4,1],[1,4],[[1],[2,1]],[],[],[],[]],"#,
                r#""Input Dims":[[2,3,4],[4,8],[[5],[2,2]],[],[],[],[]]"#
            )
        );
    }
}
