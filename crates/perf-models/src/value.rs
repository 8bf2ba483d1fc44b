use std::fmt::{self, Write};

use python_literal::{Sequence, write_float, write_sequence, write_text};

/// A recorded argument of an operator call, or a parameter of a model.
///
/// Displays as a Python literal, which is how reports print parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing recorded.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A text. The profiler records values of scalars as texts: `"True"`, `"0."`, `"[1, 1]"`.
    Text(String),
    /// A list that prints with brackets.
    List(Vec<Value>),
    /// A list that prints with parentheses.
    Tuple(Vec<Value>),
}

impl Value {
    /// The elements of a list or tuple.
    #[must_use]
    pub fn items(&self) -> Option<&[Value]> {
        match self {
            Value::List(items) | Value::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// The value of a whole number.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// A whole number, also one that was recorded as a text.
    pub(crate) fn whole_number(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            Value::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// As [`whole_number`](Self::whole_number), where it is not negative.
    pub(crate) fn count(&self) -> Option<u64> {
        u64::try_from(self.whole_number()?).ok()
    }

    /// The characters of a text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A tuple of whole numbers: a shape, strides.
    pub fn tuple(values: impl IntoIterator<Item = i64>) -> Self {
        Value::Tuple(values.into_iter().map(Value::Int).collect())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}

impl From<&[i64]> for Value {
    fn from(values: &[i64]) -> Self {
        Value::tuple(values.iter().copied())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::None, Into::into)
    }
}

impl fmt::Display for Value {
    /// A text on its own prints bare, inside a list in quotes, like Python's `str`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            other => other.write_literal(f),
        }
    }
}

impl Value {
    /// Writes the value as a Python literal, texts in quotes.
    pub fn write_literal(&self, out: &mut impl Write) -> fmt::Result {
        match self {
            Value::None => out.write_str("None"),
            Value::Bool(true) => out.write_str("True"),
            Value::Bool(false) => out.write_str("False"),
            Value::Int(value) => write!(out, "{value}"),
            Value::Float(value) => write_float(out, *value),
            Value::Text(text) => write_text(out, text),
            Value::List(items) => {
                write_sequence(out, Sequence::List, items, |out, item| item.write_literal(out))
            }
            Value::Tuple(items) => {
                write_sequence(out, Sequence::Tuple, items, |out, item| item.write_literal(out))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_like_python() {
        let nested = Value::Tuple(vec![Value::from("c10::Half"), Value::None, Value::List(vec![1.into()])]);
        for (value, text) in [
            (Value::from(true), "True"),
            (Value::tuple([2048, 1]), "(2048, 1)"),
            (Value::tuple([16]), "(16,)"),
            (Value::tuple([]), "()"),
            (Value::from(0.0), "0.0"),
            (Value::from(1e-5), "1e-05"),
            (Value::from("conv2d"), "conv2d"),
            (nested, "('c10::Half', None, [1])"),
        ] {
            assert_eq!(value.to_string(), text);
        }
    }
}
