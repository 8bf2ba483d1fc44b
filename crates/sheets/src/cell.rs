//! The value of a row in a column.

use std::borrow::Cow;
use std::fmt::{self, Write};

use python_literal::{float_text, write_float, write_text};

/// A cell. Texts may be borrowed from the row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'r> {
    /// There is no such figure.
    Missing,
    /// `True` or `False`.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A number; NaN counts as missing.
    Number(f64),
    /// A name.
    Text(Cow<'r, str>),
    /// A list or a record.
    Nested(Cow<'r, Nested>),
}

impl Cell<'_> {
    /// The cell as CSV files and workbooks show it: numbers as Python prints them, lists and records as Python
    /// literals, lists of names as `GEMM, other`, texts as they are; empty where the figure is missing.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Cell::Missing => Cow::Borrowed(""),
            Cell::Flag(flag) => Cow::Borrowed(if *flag { "True" } else { "False" }),
            Cell::Whole(value) => Cow::Owned(value.to_string()),
            Cell::Number(value) => Cow::Owned(float_text(*value)),
            Cell::Text(text) => Cow::Borrowed(text),
            Cell::Nested(value) => match value.as_ref() {
                Nested::Text(text) => Cow::Borrowed(text),
                Nested::Names(names) => Cow::Owned(names.join(", ")),
                value => Cow::Owned(value.to_string()),
            },
        }
    }

    /// A list of texts as [`Nested::Names`]; any other cell as it is.
    pub(crate) fn into_names(self) -> Self {
        let Cell::Nested(value) = self else { return self };
        let (Nested::List(items) | Nested::Tuple(items)) = value.as_ref() else { return Cell::Nested(value) };
        let text = |item: &Nested| match item {
            Nested::Text(text) => Some(text.clone()),
            _ => None,
        };
        match items.iter().map(text).collect() {
            Some(names) => Nested::Names(names).into(),
            None => Cell::Nested(value),
        }
    }
}

impl From<bool> for Cell<'_> {
    fn from(flag: bool) -> Self {
        Cell::Flag(flag)
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Cell::Number(number)
    }
}

impl<'r> From<&'r str> for Cell<'r> {
    fn from(text: &'r str) -> Self {
        Cell::Text(Cow::Borrowed(text))
    }
}

impl<'r> From<&'r String> for Cell<'r> {
    fn from(text: &'r String) -> Self {
        Cell::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Cell::Text(Cow::Owned(text))
    }
}

impl<'r> From<Cow<'r, str>> for Cell<'r> {
    fn from(text: Cow<'r, str>) -> Self {
        Cell::Text(text)
    }
}

impl From<Nested> for Cell<'_> {
    fn from(value: Nested) -> Self {
        Cell::Nested(Cow::Owned(value))
    }
}

impl<'r> From<&'r Nested> for Cell<'r> {
    fn from(value: &'r Nested) -> Self {
        Cell::Nested(Cow::Borrowed(value))
    }
}

impl<'r, T: Into<Cell<'r>>> From<Option<T>> for Cell<'r> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Missing, Into::into)
    }
}

macro_rules! whole_numbers {
    ($($integer:ty),*) => {
        $(impl From<$integer> for Cell<'_> {
            /// A number beyond the 64 bits of a column is missing.
            fn from(number: $integer) -> Self {
                i64::try_from(number).map_or(Cell::Missing, Cell::Whole)
            }
        })*
    };
}

whole_numbers!(u16, u32, u64, usize, i32, i64);

/// A list or a record of values. [`Display`](fmt::Display) prints it as a Python literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Nested {
    /// `None`
    None,
    /// `True` or `False`.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// `[1, 2]`, `[1]`, `[]`
    List(Vec<Nested>),
    /// `(1, 2)`, `(1,)`, `()`; a list in JSON.
    Tuple(Vec<Nested>),
    /// Names, which a cell shows as `GEMM, other`; a list in JSON and inside of other values.
    Names(Vec<String>),
    /// `{'name': 1}`, keys in their order.
    Record(Vec<(Cow<'static, str>, Nested)>),
}

impl Nested {
    /// Bytes of the texts in it, and of the values themselves.
    pub(crate) fn text_bytes(&self) -> usize {
        let own = size_of::<Nested>();
        match self {
            Nested::Text(text) => own + text.len(),
            Nested::List(items) | Nested::Tuple(items) => {
                own + items.iter().map(Nested::text_bytes).sum::<usize>()
            }
            Nested::Names(names) => {
                own + names.iter().map(|name| size_of::<String>() + name.len()).sum::<usize>()
            }
            Nested::Record(entries) => {
                own + entries.iter().map(|(key, value)| key.len() + own + value.text_bytes()).sum::<usize>()
            }
            _ => own,
        }
    }
}

impl fmt::Display for Nested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Nested::None => f.write_str("None"),
            Nested::Flag(true) => f.write_str("True"),
            Nested::Flag(false) => f.write_str("False"),
            Nested::Whole(value) => write!(f, "{value}"),
            Nested::Number(value) => write_float(f, *value),
            Nested::Text(text) => write_text(f, text),
            Nested::List(items) => {
                f.write_char('[')?;
                write_items(f, items, Nested::fmt)?;
                f.write_char(']')
            }
            Nested::Names(names) => {
                f.write_char('[')?;
                write_items(f, names, |name, f| write_text(f, name))?;
                f.write_char(']')
            }
            Nested::Tuple(items) => {
                f.write_char('(')?;
                write_items(f, items, Nested::fmt)?;
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Nested::Record(entries) => {
                f.write_char('{')?;
                for (position, (key, value)) in entries.iter().enumerate() {
                    f.write_str(if position > 0 { ", " } else { "" })?;
                    write_text(f, key)?;
                    write!(f, ": {value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn write_items<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    write: fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    for (position, item) in items.iter().enumerate() {
        f.write_str(if position > 0 { ", " } else { "" })?;
        write(item, f)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_values_print_as_python_literals() {
        use Nested::{Flag, List, Names, None, Number, Record, Text, Tuple, Whole};
        let shape = |dims: &[i64]| Tuple(dims.iter().copied().map(Whole).collect());
        for (value, text) in [
            (Tuple(vec![shape(&[8944, 1024]), shape(&[7]), shape(&[])]), "((8944, 1024), (7,), ())"),
            (List(vec![Text("it's".into()), None, Flag(true)]), r#"["it's", None, True]"#),
            (List(vec![]), "[]"),
            (
                Record(vec![("name".into(), Text("a\nb".into())), ("us".into(), Number(1e-5))]),
                r"{'name': 'a\nb', 'us': 1e-05}",
            ),
            (Number(8944.0), "8944.0"),
            (Names(vec!["it's".into(), "GEMM".into()]), r#"["it's", 'GEMM']"#),
        ] {
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn numbers_beyond_a_column_are_missing() {
        assert_eq!(Cell::from(u64::MAX), Cell::Missing);
        assert_eq!(Cell::from(Some(7_u32)), Cell::Whole(7));
        assert_eq!(Cell::from(None::<f64>), Cell::Missing);
    }
}
