//! What profilers write, as JSON that strict parsers take.

use std::borrow::Cow;

use serde_core::de::IgnoredAny;

use crate::json::scanner::{RawValue, Scanner, unescape};

/// The value as valid JSON; `None` when it is beyond mending.
pub(crate) fn valid_json(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    if is_valid(text) {
        return Some(Cow::Borrowed(text));
    }
    let mended = mend(text)?;
    is_valid(&mended).then_some(Cow::Owned(mended))
}

fn is_valid(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// Writes strings anew, takes out commas before closing brackets, and puts `null` for numbers that JSON
/// does not have and strings for other bare words.
fn mend(text: &[u8]) -> Option<Vec<u8>> {
    let mut mended = Vec::with_capacity(text.len() + 16);
    let mut scanner = Scanner::new(text);
    // The scanner ends where no further token begins.
    while let Ok(byte) = scanner.peek() {
        match byte {
            b'{' | b'[' | b':' | b',' => mended.push(byte),
            b'}' | b']' => {
                if mended.last() == Some(&b',') {
                    mended.pop();
                }
                mended.push(byte);
            }
            _ => {
                // Two values with nothing between them must not become one.
                if !matches!(mended.last(), None | Some(b'{' | b'[' | b':' | b',')) {
                    return None;
                }
                match scanner.value().ok()? {
                    RawValue::Text(raw) => serde_json::to_writer(&mut mended, &unescape(raw).0).ok()?,
                    RawValue::Null => mended.extend_from_slice(b"null"),
                    RawValue::Bare(raw) if is_valid(raw) => mended.extend_from_slice(raw),
                    RawValue::Bare(raw) => match std::str::from_utf8(raw).ok()?.parse::<f64>() {
                        Ok(number) if number.is_finite() => {
                            serde_json::to_writer(&mut mended, &number).ok()?;
                        }
                        Ok(_) => mended.extend_from_slice(b"null"),
                        Err(_) => {
                            serde_json::to_writer(&mut mended, &String::from_utf8_lossy(raw)).ok()?;
                        }
                    },
                    RawValue::Nested(_) => return None,
                }
                continue;
            }
        }
        scanner.position += 1;
    }
    Some(mended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_text_stays_as_it_is_and_the_rest_is_mended() {
        for (text, valid) in [
            (&br#"{"ts": 1.50, "a":[1,2 ]}"#[..], Some(&br#"{"ts": 1.50, "a":[1,2 ]}"#[..])),
            (b"{\"name\": \"a\nb\x01\"}", Some(br#"{"name":"a\nb\u0001"}"#)),
            (b"{\"name\": \"a\xffb\\q\"}", Some("{\"name\":\"a\u{fffd}b\u{fffd}\"}".as_bytes())),
            (br#"{"a": NaN, "b": -Infinity, "c": [1, ], }"#, Some(br#"{"a":null,"b":null,"c":[1]}"#)),
            (br#"{"a": +1, "b": .5, "c": nope}"#, Some(br#"{"a":1.0,"b":0.5,"c":"nope"}"#)),
            (br#"{"a": 1 2}"#, None),
            (br#"{"a" 1}"#, None),
        ] {
            assert_eq!(valid_json(text).as_deref(), valid, "{}", String::from_utf8_lossy(text));
        }
    }
}
