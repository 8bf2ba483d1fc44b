//! Text in Python's literal syntax, read so that JSON can hold it as real arrays and objects.
//!
//! Grammar: <https://docs.python.org/3/reference/lexical_analysis.html#literals>, less what a
//! report never prints (complex numbers, bytes, sets, prefixes, digit separators, other bases).

use std::borrow::Cow;
use std::io::{self, Write};

use crate::float_text::float_text;

/// Nesting beyond this is taken for plain text: parsing recurses, and its stack must not depend
/// on the input.
const MAX_DEPTH: usize = 64;

/// A parsed literal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal<'a> {
    None,
    Boolean(bool),
    /// The digits as written; Python's integers have no width.
    Integer(&'a str),
    Float(f64),
    Text(Cow<'a, str>),
    /// A tuple or a list.
    Sequence(Vec<Literal<'a>>),
    /// A dict in the order of its text, keys as text.
    Mapping(Vec<(Cow<'a, str>, Literal<'a>)>),
}

impl<'a> Literal<'a> {
    /// The literal that `text` is, or `None` when it is not exactly one.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut parser = Parser { rest: text };
        let literal = parser.value(MAX_DEPTH)?;
        parser.skip_space();
        parser.rest.is_empty().then_some(literal)
    }

    /// Writes the literal as JSON. `inf` and NaN cannot occur: they are names, not literals.
    pub(crate) fn write_json(&self, output: &mut impl Write) -> io::Result<()> {
        match self {
            Self::None => output.write_all(b"null"),
            Self::Boolean(value) => write!(output, "{value}"),
            Self::Integer(digits) => output.write_all(digits.as_bytes()),
            // Overflowing exponents such as 1e999 are infinite, which JSON has no number for.
            Self::Float(value) if value.is_infinite() => write!(output, "\"{}\"", float_text(*value)),
            Self::Float(value) => output.write_all(float_text(*value).as_bytes()),
            Self::Text(text) => Ok(serde_json::to_writer(output, text)?),
            Self::Sequence(items) => {
                output.write_all(b"[")?;
                for (position, item) in items.iter().enumerate() {
                    if position > 0 {
                        output.write_all(b", ")?;
                    }
                    item.write_json(output)?;
                }
                output.write_all(b"]")
            }
            Self::Mapping(entries) => {
                output.write_all(b"{")?;
                for (position, (key, value)) in entries.iter().enumerate() {
                    if position > 0 {
                        output.write_all(b", ")?;
                    }
                    serde_json::to_writer(&mut *output, key)?;
                    output.write_all(b": ")?;
                    value.write_json(output)?;
                }
                output.write_all(b"}")
            }
        }
    }
}

/// What is left to read.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// Skips space, then reads `token` if it comes next.
    fn take(&mut self, token: &str) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Literal<'a>> {
        let depth = depth.checked_sub(1)?;
        self.skip_space();
        match self.rest.chars().next()? {
            '(' => self.tuple(depth),
            '[' => self.list(depth),
            '{' => self.dict(depth),
            '\'' | '"' => self.text().map(Literal::Text),
            '0'..='9' | '.' | '-' | '+' => self.number(),
            _ => self.name(),
        }
    }

    /// `()`, `(1,)`, `(1, 2)`; `(1)` is the value in it.
    fn tuple(&mut self, depth: usize) -> Option<Literal<'a>> {
        self.take("(");
        let mut items = Vec::new();
        let mut ends_in_comma = true;
        while !self.take(")") {
            if !ends_in_comma {
                return None;
            }
            items.push(self.value(depth)?);
            ends_in_comma = self.take(",");
        }
        if items.len() == 1 && !ends_in_comma { items.pop() } else { Some(Literal::Sequence(items)) }
    }

    fn list(&mut self, depth: usize) -> Option<Literal<'a>> {
        self.take("[");
        let mut items = Vec::new();
        let mut ends_in_comma = true;
        while !self.take("]") {
            if !ends_in_comma {
                return None;
            }
            items.push(self.value(depth)?);
            ends_in_comma = self.take(",");
        }
        Some(Literal::Sequence(items))
    }

    fn dict(&mut self, depth: usize) -> Option<Literal<'a>> {
        self.take("{");
        let mut entries = Vec::new();
        let mut ends_in_comma = true;
        while !self.take("}") {
            if !ends_in_comma {
                return None;
            }
            self.skip_space();
            let before = self.rest;
            let key = match self.value(depth)? {
                Literal::Text(text) => text,
                // JSON's keys are texts: the number or tuple as it is written.
                _ => Cow::Borrowed(&before[..before.len() - self.rest.len()]),
            };
            if !self.take(":") {
                return None;
            }
            entries.push((key, self.value(depth)?));
            ends_in_comma = self.take(",");
        }
        Some(Literal::Mapping(entries))
    }

    fn name(&mut self) -> Option<Literal<'a>> {
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        match name {
            "None" => Some(Literal::None),
            "True" => Some(Literal::Boolean(true)),
            "False" => Some(Literal::Boolean(false)),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<Literal<'a>> {
        let is_part = |position: usize, c: char| match c {
            '0'..='9' | '.' | 'e' | 'E' => true,
            '+' | '-' => position == 0 || self.rest[..position].ends_with(['e', 'E']),
            _ => false,
        };
        let end = self
            .rest
            .char_indices()
            .find(|&(position, c)| !is_part(position, c))
            .map_or(self.rest.len(), |(position, _)| position);
        let (number, rest) = self.rest.split_at(end);
        // `12px` is neither a number nor the number 12.
        if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return None;
        }
        self.rest = rest;
        let digits = number.strip_prefix('+').unwrap_or(number);
        let magnitude = digits.strip_prefix('-').unwrap_or(digits);
        if !magnitude.is_empty() && magnitude.bytes().all(|b| b.is_ascii_digit()) {
            // Leading zeros are no literal in Python and no number in JSON.
            return (magnitude == "0" || !magnitude.starts_with('0')).then_some(Literal::Integer(digits));
        }
        number.parse().ok().map(Literal::Float)
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        let quote = self.rest.chars().next()?;
        let body = &self.rest[quote.len_utf8()..];
        let end_of_plain = body.find([quote, '\\', '\n'])?;
        if body[end_of_plain..].starts_with(quote) {
            self.rest = &body[end_of_plain + quote.len_utf8()..];
            return Some(Cow::Borrowed(&body[..end_of_plain]));
        }
        let mut text = String::new();
        let mut chars = body.chars();
        loop {
            match chars.next()? {
                c if c == quote => break,
                '\n' => return None,
                '\\' => unescape(&mut chars, &mut text)?,
                c => text.push(c),
            }
        }
        self.rest = chars.as_str();
        Some(Cow::Owned(text))
    }
}

/// Reads what follows a backslash. Octal escapes, `\N{…}` and lone surrogates are refused; an
/// unknown escape keeps its backslash, as in Python.
fn unescape(chars: &mut std::str::Chars<'_>, text: &mut String) -> Option<()> {
    let escaped = chars.next()?;
    let code_digits = match escaped {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => 0,
    };
    match escaped {
        '\\' | '\'' | '"' => text.push(escaped),
        'n' => text.push('\n'),
        'r' => text.push('\r'),
        't' => text.push('\t'),
        'a' => text.push('\u{7}'),
        'b' => text.push('\u{8}'),
        'f' => text.push('\u{c}'),
        'v' => text.push('\u{b}'),
        'x' | 'u' | 'U' => {
            let rest = chars.as_str();
            let digits =
                rest.get(..code_digits).filter(|code| code.bytes().all(|b| b.is_ascii_hexdigit()))?;
            text.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
            *chars = rest[code_digits..].chars();
        }
        '0'..='7' | 'N' | '\n' => return None,
        other => text.extend(['\\', other]),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::Literal;

    fn to_json(text: &str) -> Option<String> {
        let mut json = Vec::new();
        Literal::parse(text)?.write_json(&mut json).unwrap();
        Some(String::from_utf8(json).unwrap())
    }

    #[test]
    fn literals_become_json_values() {
        let cases = [
            ("((8944, 1024), (1024, 2816))", "[[8944, 1024], [1024, 2816]]"),
            ("((1024, 1), (), ())", "[[1024, 1], [], []]"),
            ("(1,)", "[1]"),
            ("('',)", r#"[""]"#),
            ("()", "[]"),
            ("(1)", "1"),
            ("[ ]", "[]"),
            ("[1, 2,]", "[1, 2]"),
            ("{}", "{}"),
            ("[{'name': 'x', 'count': 2}]", r#"[{"name": "x", "count": 2}]"#),
            ("{'z': 1, 'a': {'b': None}}", r#"{"z": 1, "a": {"b": null}}"#),
            ("{1: 2, (3, 4): 'x'}", r#"{"1": 2, "(3, 4)": "x"}"#),
            ("('c10::BFloat16', None)", r#"["c10::BFloat16", null]"#),
            ("True", "true"),
            ("[False, None]", "[false, null]"),
            ("8944", "8944"),
            ("-3", "-3"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("8944.0", "8944.0"),
            ("1.123046875e-05", "1.123046875e-05"),
            ("1e+16", "1e+16"),
            (".5", "0.5"),
            ("0.", "0.0"),
            (r#""it's""#, r#""it's""#),
            (r"'it\'s \\ \n \t \x41 \u00b5 \U0001F600'", "\"it's \\\\ \\n \\t A µ 😀\""),
            (r"'\d'", r#""\\d""#),
            ("'a \"quoted\" µ'", r#""a \"quoted\" µ""#),
            ("'void f<(int)1, 2>(a[3])'", r#""void f<(int)1, 2>(a[3])""#),
        ];
        for (text, json) in cases {
            assert_eq!(to_json(text).as_deref(), Some(json), "{text}");
            serde_json::from_str::<serde_json::Value>(json).unwrap();
        }
    }

    #[test]
    fn what_is_no_literal_is_refused() {
        let cases = [
            "",
            "aten::mm",
            "Nonesuch",
            "(1, 2",
            "(1 2)",
            "[1, 2)",
            "{'a'}",
            "{1, 2}",
            "'open",
            "'a' 'b'",
            "1 2",
            "12px",
            "0x10",
            "007",
            "--1",
            "1.2.3",
            "-",
            ".",
            "e5",
            "inf",
            "nan",
            "b'x'",
            r"'\x4'",
            r"'\ud800'",
            r"'\012'",
            "(,)",
            "[,]",
            "'two\nlines'",
        ];
        for text in cases {
            assert_eq!(Literal::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_instead_of_exhausting_the_stack() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Literal::parse(&nested(super::MAX_DEPTH)).is_some());
        assert_eq!(Literal::parse(&nested(super::MAX_DEPTH + 1)), None);
        assert_eq!(Literal::parse(&"[".repeat(1_000_000)), None);
    }
}
