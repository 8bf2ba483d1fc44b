//! The members of an object as they stand in the text, for programs that write entries anew.

use crate::json::number::{integer, microseconds_to_nanoseconds};
use crate::json::scanner::{RawValue, Scan, Scanner};

pub(crate) fn time(value: RawValue<'_>) -> Option<i64> {
    microseconds_to_nanoseconds(value.number_text()?)
}

pub(crate) fn number(value: RawValue<'_>) -> Option<i64> {
    integer(value.number_text()?)
}

/// A member of a JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'t> {
    /// The key as it stands between its quotes, escapes not resolved.
    pub key: &'t [u8],
    /// The value as it stands, with quotes or brackets.
    pub text: &'t [u8],
    value: RawValue<'t>,
}

impl<'t> Member<'t> {
    /// The integer that the value is, in quotes or not. Unsigned ones above [`i64::MAX`] wrap around.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        number(self.value)
    }

    /// The value as microseconds, in nanoseconds.
    #[must_use]
    pub fn nanoseconds(&self) -> Option<i64> {
        time(self.value)
    }

    /// The characters between the quotes of a text, escapes not resolved.
    #[must_use]
    pub fn quoted(&self) -> Option<&'t [u8]> {
        match self.value {
            RawValue::Text(text) => Some(text),
            RawValue::Null | RawValue::Bare(_) | RawValue::Nested(_) => None,
        }
    }

    /// Whether the value is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.value == RawValue::Null
    }

    /// Whether the value is an array or an object.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        matches!(self.value, RawValue::Nested(_))
    }
}

/// The members of the object that a text is, in their order; `None` where it is no object.
#[must_use]
pub fn members(object: &[u8]) -> Option<Vec<Member<'_>>> {
    let mut scanner = Scanner::new(object);
    let mut found = Vec::with_capacity(16);
    read(&mut scanner, &mut found).ok()?;
    Some(found)
}

fn read<'t>(scanner: &mut Scanner<'t>, found: &mut Vec<Member<'t>>) -> Scan<()> {
    scanner.expect(b'{', "expected an object")?;
    scanner.members(|scanner, key| {
        scanner.peek()?;
        let start = scanner.position;
        let value = scanner.value()?;
        found.push(Member { key, text: &scanner.text[start..scanner.position], value });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_as_they_are_written() {
        let text = br#"{ "a\"" : "7", "ts":1.5, "n": null, "args": {"x": [1, "}"]} }"#;
        let found = members(text).unwrap();
        let texts: Vec<_> = found.iter().map(|member| (member.key, member.text)).collect();
        let expected: [(&[u8], &[u8]); 4] =
            [(br#"a\""#, br#""7""#), (b"ts", b"1.5"), (b"n", b"null"), (b"args", br#"{"x": [1, "}"]}"#)];
        assert_eq!(texts, expected);
        assert_eq!((found[0].integer(), found[0].quoted()), (Some(7), Some(&b"7"[..])));
        assert_eq!((found[1].nanoseconds(), found[1].integer()), (Some(1500), None));
        assert!(found[2].is_null() && found[3].is_nested());
        assert_eq!(members(found[3].text).unwrap().len(), 1);
        for text in [&b"[1]"[..], b"{\"a\": 1", b"{\"a\" 1}", b""] {
            assert_eq!(members(text), None);
        }
    }
}
