//! Operator arguments from their JSON text.

use crate::argument::ArgumentValue;
use crate::json::scanner::{Fault, RawValue, Scanner, unescape};

/// Deepest nesting of an operator's arguments; a tensor list takes three levels.
const DEEPEST_ARGUMENT: usize = 64;

/// An argument list as a value. What is nested too deeply or is no JSON is kept as its text, so that
/// nothing that tells two calls apart is lost.
pub(crate) fn parse_argument(raw: &[u8]) -> ArgumentValue {
    // The scanner works on text that goes on, and a bare value needs a delimiter to end at.
    let mut text = raw.to_vec();
    text.push(b',');
    let mut scanner = Scanner::new(&text);
    argument(&mut scanner, 0)
        .unwrap_or_else(|_| ArgumentValue::Text(String::from_utf8_lossy(raw).into_owned()))
}

fn argument(scanner: &mut Scanner<'_>, depth: usize) -> Result<ArgumentValue, Fault> {
    if scanner.peek()? == b'[' {
        if depth == DEEPEST_ARGUMENT {
            return Err(Fault::Malformed("arguments are nested too deeply"));
        }
        scanner.position += 1;
        let mut items = Vec::new();
        loop {
            if scanner.accept(b']')? {
                return Ok(ArgumentValue::List(items));
            }
            items.push(argument(scanner, depth + 1)?);
            if !scanner.accept(b',')? {
                scanner.expect(b']', "expected a comma or a closing bracket after a value")?;
                return Ok(ArgumentValue::List(items));
            }
        }
    }
    Ok(match scanner.value()? {
        RawValue::Null => ArgumentValue::Null,
        RawValue::Text(raw) => ArgumentValue::Text(unescape(raw).0),
        RawValue::Bare(b"true") => ArgumentValue::Bool(true),
        RawValue::Bare(b"false") => ArgumentValue::Bool(false),
        RawValue::Bare(number) | RawValue::Nested(number) => {
            let text = String::from_utf8_lossy(number);
            match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(value), _) => ArgumentValue::Int(value),
                (_, Ok(value)) => ArgumentValue::Float(value),
                _ => ArgumentValue::Text(text.into_owned()),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::Sequence;

    #[test]
    fn argument_lists_parse_to_values() {
        for (raw, tuple) in [
            ("[]", "()"),
            ("[[1, 2], [], [[3], [4]]]", "((1, 2), (), ((3,), (4,)))"),
            (r#"["float", "", null, true]"#, "('float', '', None, True)"),
            ("[1.5, 1e3, NaN,]", "(1.5, 1000.0, nan)"),
            (r#"[{"a": 1}]"#, r#"('{"a": 1}',)"#),
        ] {
            assert_eq!(parse_argument(raw.as_bytes()).display(Sequence::Tuple).to_string(), tuple);
        }
    }

    #[test]
    fn arguments_nested_too_deeply_stay_text() {
        let raw = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(parse_argument(raw.as_bytes()), ArgumentValue::Text(raw));
    }
}
