//! Keys by which rows of two reports are the same, however their recorders write them.

use crate::names::NameClasses;

/// Element types that other releases and other programs name differently, in lower case, with what stands for them.
const TYPE_NAMES: &[(&str, &str)] = &[
    ("long", "long int"),
    ("int64", "long int"),
    ("torch.int64", "long int"),
    ("short", "short int"),
    ("int16", "short int"),
    ("torch.int16", "short int"),
    ("int32", "int"),
    ("torch.int32", "int"),
    ("float64", "double"),
    ("torch.float64", "double"),
    ("float32", "float"),
    ("torch.float32", "float"),
    ("float16", "c10::half"),
    ("half", "c10::half"),
    ("torch.float16", "c10::half"),
    ("bfloat16", "c10::bfloat16"),
    ("torch.bfloat16", "c10::bfloat16"),
];

/// What the cells of a key column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// An operator: names of one class are equal.
    Operator,
    /// Any other name.
    Name,
    /// Shapes, strides, types or values, as a Python literal or a JSON list.
    Literal,
}

impl KeyKind {
    /// The form in which equal keys are the same text.
    pub(crate) fn normal_form(self, text: &str, classes: &NameClasses) -> String {
        match self {
            KeyKind::Operator => classes.canonical(text).to_owned(),
            KeyKind::Name => text.to_owned(),
            KeyKind::Literal => literal(text),
        }
    }
}

/// Lists and tuples in brackets, without blanks and commas at their ends; texts in double quotes, and element types
/// by one name; whole numbers without a fraction. Anything else as it is.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '(' | '[' => {
                out.push('[');
                1
            }
            ')' | ']' => {
                if out.ends_with(',') {
                    out.pop();
                }
                out.push(']');
                1
            }
            '\'' | '"' => quoted(rest, first, &mut out),
            ',' | '{' | '}' | ':' => {
                out.push(first);
                1
            }
            _ if first.is_whitespace() => first.len_utf8(),
            _ => word(rest, &mut out),
        };
        rest = &rest[taken..];
    }
    out
}

/// Appends the text in quotes at the beginning, and says how long it is with its quotes.
fn quoted(rest: &str, quote: char, out: &mut String) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|&(_, c)| match (escaped, c) {
        (true, _) => {
            escaped = false;
            false
        }
        (false, '\\') => {
            escaped = true;
            false
        }
        (false, c) => c == quote,
    });
    // Without an end it goes on to the end of the cell.
    let (content, taken) = match end {
        Some((end, _)) => (&rest[1..end], end + 1),
        None => (&rest[1..], rest.len()),
    };
    out.push('"');
    out.push_str(&type_name(content));
    out.push('"');
    taken
}

/// Appends a word outside of quotes, such as a number or a type, up to what ends it, and says how long it is. Blanks
/// inside, as in `long int`, belong to it.
fn word(rest: &str, out: &mut String) -> usize {
    let end = rest.find([',', '(', ')', '[', ']', '{', '}', '\'', '"']).unwrap_or(rest.len());
    let word = rest[..end].trim_end();
    match word.parse::<f64>() {
        // Whole numbers print with a fraction in columns that have blanks.
        Ok(number) if number.fract() == 0.0 && number.abs() < 1e15 => out.push_str(&format!("{number:.0}")),
        _ => out.push_str(&type_name(word)),
    }
    end
}

/// The one name of an element type that has several.
pub(crate) fn type_name(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    match TYPE_NAMES.iter().find(|(other, _)| *other == lower) {
        Some((_, canonical)) => (*canonical).to_owned(),
        None if lower.starts_with("c10::") => lower,
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_that_mean_the_same_have_one_form() {
        for (one, other) in [
            ("((8944, 1024), (1024, 2816))", "[[8944,1024],[1024,2816]]"),
            ("((7,), ())", "[[7], []]"),
            ("('long', 'c10::BFloat16')", r#"["long int", "bfloat16"]"#),
            ("('', '')", r#"["", ""]"#),
            ("1024.0", "1024"),
            ("{'dtype': 'long'}", r#"{"dtype":"int64"}"#),
            ("torch.float16", "c10::Half"),
            ("-0.0", "-0"),
        ] {
            assert_eq!(literal(one), literal(other), "{one}");
        }
    }

    #[test]
    fn literals_that_differ_keep_apart() {
        for (one, other) in [
            ("((1, 2), (3,))", "((1,), (2, 3))"),
            ("('a', 'b')", "('a,b',)"),
            ("(1.5,)", "(1,)"),
            ("('long',)", "('int',)"),
            ("(True,)", "(1,)"),
            (r"('it\'s',)", "('it', 's')"),
        ] {
            assert_ne!(literal(one), literal(other), "{one}");
        }
    }

    #[test]
    fn a_cell_that_is_no_literal_has_a_form_too() {
        for text in ["", "(", ")", "'", r"'\", "(1, 'a", "µ(é", ",,,"] {
            literal(text);
        }
    }
}
