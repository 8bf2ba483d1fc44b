//! Values read from Python literals, as reports print them.

use crate::Value;

/// Why a text is no literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoLiteral {
    /// Byte at which it stops to be one.
    pub at: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl std::fmt::Display for NoLiteral {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not a Python literal: at byte {}, expected {}", self.at, self.expected)
    }
}

impl std::error::Error for NoLiteral {}

/// Sequences nest no deeper: recorded arguments are lists of shapes.
const DEEPEST: usize = 16;

/// A sequence whose end was not yet read.
struct Open {
    is_tuple: bool,
    items: Vec<Value>,
    /// Whether a comma stands behind the last item, or there is none.
    after_comma: bool,
}

impl Value {
    /// Reads a Python literal: what [`write_literal`](Self::write_literal) writes.
    ///
    /// ```
    /// use perf_models::Value;
    ///
    /// let shapes = Value::from_literal("((16, 64), (), [2.5, 'a'])").unwrap();
    /// assert_eq!(shapes.to_string(), "((16, 64), (), [2.5, 'a'])");
    /// ```
    ///
    /// # Errors
    ///
    /// When the text is no literal of a sequence, number, text, truth value or `None`.
    pub fn from_literal(text: &str) -> Result<Self, NoLiteral> {
        let mut open: Vec<Open> = Vec::new();
        let mut at = 0;
        loop {
            at += text[at..].len() - text[at..].trim_start().len();
            let error = move |expected| NoLiteral { at, expected };
            let next = text[at..].chars().next().ok_or(error("a value"))?;
            let mut value = match next {
                '(' | '[' if open.len() == DEEPEST => return Err(error("less nesting")),
                '(' | '[' => {
                    open.push(Open { is_tuple: next == '(', items: Vec::new(), after_comma: true });
                    at += 1;
                    continue;
                }
                ')' | ']' => {
                    let closed = open.pop().filter(|open| open.is_tuple == (next == ')') && open.after_comma);
                    at += 1;
                    sequence(closed.ok_or(error("a value"))?)
                }
                '\'' | '"' => {
                    let (value, length) = quoted(&text[at..], next).ok_or(error("a closing quote"))?;
                    at += length;
                    Value::Text(value)
                }
                _ => {
                    let rest = &text[at..];
                    let end = rest.find(|c: char| ",()[] \t\n'\"".contains(c)).unwrap_or(rest.len());
                    let value = word(&rest[..end]).ok_or(error("a value"))?;
                    at += end;
                    value
                }
            };
            // Hands the value to the sequence around it, which may end behind it.
            loop {
                at += text[at..].len() - text[at..].trim_start().len();
                let error = move |expected| NoLiteral { at, expected };
                let Some(around) = open.last_mut() else {
                    return if at == text.len() { Ok(value) } else { Err(error("the end")) };
                };
                around.items.push(value);
                around.after_comma = text[at..].starts_with(',');
                if around.after_comma {
                    at += 1;
                    break;
                }
                if !text[at..].starts_with(if around.is_tuple { ')' } else { ']' }) {
                    return Err(error("a comma or the end of the sequence"));
                }
                at += 1;
                value = sequence(open.pop().ok_or(error("the end"))?);
            }
        }
    }
}

/// Brackets around one item without a comma are no tuple.
fn sequence(open: Open) -> Value {
    let Open { is_tuple, mut items, after_comma } = open;
    match (is_tuple, items.len()) {
        (true, 1) if !after_comma => items.pop().unwrap_or(Value::None),
        (true, _) => Value::Tuple(items),
        (false, _) => Value::List(items),
    }
}

fn word(word: &str) -> Option<Value> {
    match word {
        "None" => Some(Value::None),
        "True" => Some(Value::Bool(true)),
        "False" => Some(Value::Bool(false)),
        "" => None,
        _ => word.parse().map(Value::Int).or_else(|_| word.parse().map(Value::Float)).ok(),
    }
}

/// The text between quotes, and the length with them.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Some((text, at + 1)),
            '\\' => match chars.next()?.1 {
                'n' => text.push('\n'),
                'r' => text.push('\r'),
                't' => text.push('\t'),
                'x' => {
                    let mut digit = || chars.next()?.1.to_digit(16);
                    text.push(char::from_u32(digit()? * 16 + digit()?)?);
                }
                other => text.push(other),
            },
            _ => text.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::None),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Int),
            (-1e300..1e300).prop_map(Value::Float),
            ".{0,8}".prop_map(Value::Text),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            let items = prop::collection::vec(inner, 0..5);
            prop_oneof![items.clone().prop_map(Value::List), items.prop_map(Value::Tuple)]
        })
    }

    proptest! {
        #[test]
        fn written_values_are_read_as_they_were(value in value()) {
            let mut text = String::new();
            value.write_literal(&mut text).unwrap();
            prop_assert_eq!(Value::from_literal(&text), Ok(value));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "[(\\[)\\],'\"\\\\x0-9a.\\- é]{0,40}") {
            let _ = Value::from_literal(&text);
        }
    }

    #[test]
    fn brackets_around_one_value_are_no_tuple() {
        for (text, expected) in [
            ("(1)", Value::Int(1)),
            ("(1,)", Value::tuple([1])),
            (" [ 1 , (2,), ] ", Value::List(vec![1.into(), Value::tuple([2])])),
            ("()", Value::tuple([])),
            ("'it\\'s \\x41'", "it's A".into()),
            ("-0.", (-0.0).into()),
        ] {
            assert_eq!(Value::from_literal(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_literal_says_where() {
        for (text, at, expected) in [
            ("", 0, "a value"),
            ("(1, 2", 5, "a comma or the end of the sequence"),
            ("(1 2)", 3, "a comma or the end of the sequence"),
            ("(1]", 2, "a comma or the end of the sequence"),
            ("(,)", 1, "a value"),
            ("(1,, 2)", 3, "a value"),
            ("1)", 1, "the end"),
            (")", 0, "a value"),
            ("'a", 0, "a closing quote"),
            ("np.float64(1)", 0, "a value"),
        ] {
            assert_eq!(Value::from_literal(text), Err(NoLiteral { at, expected }), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        let expected = "less nesting";
        assert_eq!(Value::from_literal(&deep), Err(NoLiteral { at: DEEPEST, expected }));
    }
}
