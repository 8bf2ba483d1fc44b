//! Operator arguments as the profiler recorded them: nested lists of numbers and texts.

use std::fmt;

pub use python_literal::Sequence;
use python_literal::{write_float, write_sequence, write_text};

use crate::index_set::IndexSet;
use crate::string_table::StringTable;

/// One recorded argument: a shape, a list of shapes, a scalar's text.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentValue {
    /// JSON `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without fraction or exponent that fits 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A text, unescaped.
    Text(String),
    /// A list; sequences nest.
    List(Vec<ArgumentValue>),
}

impl ArgumentValue {
    /// The elements of a list.
    pub fn as_list(&self) -> Option<&[ArgumentValue]> {
        match self {
            ArgumentValue::List(items) => Some(items),
            _ => None,
        }
    }

    /// The value of an integer.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            ArgumentValue::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The characters of a text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            ArgumentValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A list of integers, such as one tensor's shape.
    pub fn as_ints(&self) -> Option<Vec<i64>> {
        self.as_list()?.iter().map(ArgumentValue::as_int).collect()
    }

    /// Displays the value as a Python literal whose sequences are written as `sequence` says.
    pub fn display(&self, sequence: Sequence) -> impl fmt::Display + '_ {
        Literal { value: self, sequence }
    }
}

struct Literal<'v> {
    value: &'v ArgumentValue,
    sequence: Sequence,
}

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            ArgumentValue::Null => f.write_str("None"),
            ArgumentValue::Bool(true) => f.write_str("True"),
            ArgumentValue::Bool(false) => f.write_str("False"),
            ArgumentValue::Int(value) => write!(f, "{value}"),
            ArgumentValue::Float(value) => write_float(f, *value),
            ArgumentValue::Text(text) => write_text(f, text),
            ArgumentValue::List(items) => write_sequence(f, self.sequence, items, |f, value| {
                Literal { value, sequence: self.sequence }.fmt(f)
            }),
        }
    }
}

/// Handle of one distinct argument list (all shapes of a call, all types of a call …).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArgumentId(pub(crate) u32);

impl ArgumentId {
    /// Dense position in the table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Handle of one distinct call signature. Equal ids mean that shapes, types, strides and concrete inputs
/// are all equal, so grouping calls by their arguments is grouping by this integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SignatureId(pub(crate) u32);

impl SignatureId {
    /// Dense position in the table.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The four argument lists of an operator call; `None` where the profiler recorded none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Signature {
    /// `Input Dims`: per input its shape, `[]` for a scalar, a list of shapes for a tensor list.
    pub dims: Option<ArgumentId>,
    /// `Input type`: per input its element type.
    pub types: Option<ArgumentId>,
    /// `Input Strides`: per input its strides in elements.
    pub strides: Option<ArgumentId>,
    /// `Concrete Inputs`: per input the text of its value, empty for tensors.
    pub concrete: Option<ArgumentId>,
}

/// Table of distinct argument lists and signatures.
#[derive(Clone, Debug, Default)]
pub struct SignatureTable {
    /// Literal text (tuples) of each argument list, which is its identity. None is empty, so list `i` has text `i + 1`.
    texts: StringTable,
    arguments: Vec<ArgumentValue>,
    signatures: IndexSet<Signature>,
}

impl SignatureTable {
    /// Id of an argument list, added when it is new.
    pub fn intern_argument(&mut self, value: ArgumentValue) -> ArgumentId {
        let text = self.texts.intern(&value.display(Sequence::Tuple).to_string());
        let id = ArgumentId(text.0 - 1);
        if id.index() == self.arguments.len() {
            self.arguments.push(value);
        }
        id
    }

    /// Id of a signature, added when it is new.
    pub fn intern(&mut self, signature: Signature) -> SignatureId {
        SignatureId(self.signatures.insert(signature).0 as u32)
    }

    /// The four argument lists of a signature.
    pub fn get(&self, id: SignatureId) -> Signature {
        self.signatures[id.index()]
    }

    /// An argument list.
    pub fn argument(&self, id: ArgumentId) -> &ArgumentValue {
        &self.arguments[id.index()]
    }

    /// All signatures, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = SignatureId> + use<> {
        (0..self.signatures.len() as u32).map(SignatureId)
    }

    /// Number of distinct signatures.
    pub fn len(&self) -> usize {
        self.signatures.len()
    }

    /// Whether no operator recorded any argument.
    pub fn is_empty(&self) -> bool {
        self.signatures.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: Vec<ArgumentValue>) -> ArgumentValue {
        ArgumentValue::List(items)
    }

    #[test]
    fn values_print_as_python_literals() {
        use ArgumentValue::*;
        let cases = [
            (list(vec![]), "()", "[]"),
            (list(vec![Int(3)]), "(3,)", "[3]"),
            (list(vec![Float(60.0)]), "(60.0,)", "[60.0]"),
            (list(vec![Int(1), list(vec![Int(2), Int(-3)])]), "(1, (2, -3))", "[1, [2, -3]]"),
            (
                list(vec![Text("c10::Half".into()), Null, Bool(true)]),
                "('c10::Half', None, True)",
                "['c10::Half', None, True]",
            ),
            (Text("it's".into()), "\"it's\"", "\"it's\""),
            (Text("a'b\"c\\\n\u{1}".into()), "'a\\'b\"c\\\\\\n\\x01'", "'a\\'b\"c\\\\\\n\\x01'"),
        ];
        for (value, tuple, plain) in cases {
            assert_eq!(value.display(Sequence::Tuple).to_string(), tuple);
            assert_eq!(value.display(Sequence::List).to_string(), plain);
        }
    }

    #[test]
    fn equal_arguments_share_one_id_and_kinds_of_number_stay_apart() {
        let mut table = SignatureTable::default();
        let a = table.intern_argument(list(vec![ArgumentValue::Int(1)]));
        assert_eq!(table.intern_argument(list(vec![ArgumentValue::Int(1)])), a);
        assert_ne!(table.intern_argument(list(vec![ArgumentValue::Float(1.0)])), a);
        assert_ne!(table.intern_argument(list(vec![ArgumentValue::Text("1".into())])), a);
        let with = table.intern(Signature { dims: Some(a), ..Signature::default() });
        let without = table.intern(Signature::default());
        assert_ne!(with, without);
        assert_eq!(table.intern(Signature { dims: Some(a), ..Signature::default() }), with);
        assert_eq!(table.argument(a).display(Sequence::Tuple).to_string(), "(1,)");
    }
}
