#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::fmt::{self, Write};

/// Writes a float the way Python prints it: the fewest digits that read back equal, `.0` on integral values, exponent
/// form (`1e-05`, `1e+16`) outside 1e-4 ≤ |value| < 1e16. Infinities are `inf` and `-inf`.
///
/// # Errors
/// When `out` refuses text.
pub fn write_float(out: &mut impl Write, value: f64) -> fmt::Result {
    let magnitude = value.abs();
    if value.is_nan() {
        out.write_str("nan")
    } else if value.is_infinite() {
        out.write_str(if value > 0.0 { "inf" } else { "-inf" })
    } else if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) =
            exponent.strip_prefix('-').map_or(('+', exponent), |magnitude| ('-', magnitude));
        write!(out, "{digits}e{sign}{exponent:0>2}")
    } else if value.fract() == 0.0 {
        write!(out, "{value:.1}")
    } else {
        write!(out, "{value}")
    }
}

/// [`write_float`] as a text of its own.
#[must_use]
pub fn float_text(value: f64) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_float(&mut text, value);
    text
}

/// Writes a text as a Python string literal: in single quotes, or in double quotes when it has single quotes and no
/// double ones.
///
/// # Errors
/// When `out` refuses text.
pub fn write_text(out: &mut impl Write, text: &str) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.write_char(quote)?;
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        let is_plain = c != '\\' && c != quote && !c.is_ascii_control();
        if is_plain {
            continue;
        }
        out.write_str(&text[plain..at])?;
        plain = at + c.len_utf8();
        match c {
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c if c.is_ascii_control() => write!(out, "\\x{:02x}", u32::from(c))?,
            c => write!(out, "\\{c}")?,
        }
    }
    out.write_str(&text[plain..])?;
    out.write_char(quote)
}

/// How a sequence prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// `(1, 2)`, `(1,)`, `()`
    Tuple,
    /// `[1, 2]`, `[1]`, `[]`
    List,
}

/// Writes a sequence, each item with `write_item`.
///
/// # Errors
/// When `out` refuses text.
pub fn write_sequence<W: Write, T>(
    out: &mut W,
    sequence: Sequence,
    items: impl IntoIterator<Item = T>,
    mut write_item: impl FnMut(&mut W, T) -> fmt::Result,
) -> fmt::Result {
    let (open, close) = match sequence {
        Sequence::Tuple => ('(', ')'),
        Sequence::List => ('[', ']'),
    };
    out.write_char(open)?;
    let mut count = 0;
    for item in items {
        if count > 0 {
            out.write_str(", ")?;
        }
        write_item(out, item)?;
        count += 1;
    }
    if count == 1 && sequence == Sequence::Tuple {
        out.write_char(',')?;
    }
    out.write_char(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_python_prints_them() {
        for (value, text) in [
            (60.0, "60.0"),
            (-0.0, "-0.0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (91.43279886779221, "91.43279886779221"),
            (1.123046875e-05, "1.123046875e-05"),
            (0.0001, "0.0001"),
            (0.000_099_9, "9.99e-05"),
            (1e15, "1000000000000000.0"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (1e16, "1e+16"),
            (-2.5e-7, "-2.5e-07"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(float_text(value), text);
        }
    }

    #[test]
    fn texts_are_quoted_as_python_quotes_them() {
        for (text, literal) in [
            ("plain µ", "'plain µ'"),
            ("it's", "\"it's\""),
            ("it's \"so\"", "'it\\'s \"so\"'"),
            ("a\\b\n\t\u{1}", r"'a\\b\n\t\x01'"),
        ] {
            let mut out = String::new();
            write_text(&mut out, text).unwrap();
            assert_eq!(out, literal);
        }
    }
}
