//! A forgiving scanner over JSON text.
//!
//! Profilers write what strict JSON parsers refuse: raw control characters in names, `NaN`, bytes that are
//! not UTF-8, trailing commas, files that end anywhere. One pass of this scanner serves both well-formed
//! and damaged text: it looks for structure only, hands out slices of the text, and says whether a value
//! is broken or merely not all there yet.

use memchr::memchr;
use wide::u8x16;

use super::lanes::{LANES, beside_digits, equal};
use super::skipped_value::SkippedValue;

/// Why a value cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The text ends before the value does.
    Incomplete,
    /// The text is not JSON here.
    Malformed(&'static str),
}

pub(crate) type Scan<T> = Result<T, Fault>;

/// A value as a slice of the text, nothing decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RawValue<'t> {
    /// The characters between the quotes, escapes not resolved.
    Text(&'t [u8]),
    /// `null`
    #[default]
    Null,
    /// A number, `true`, `false`, or a bare word such as `NaN`.
    Bare(&'t [u8]),
    /// An array or object with its brackets.
    Nested(&'t [u8]),
}

impl<'t> RawValue<'t> {
    /// The text of a number, whether it is quoted or not.
    pub(crate) fn number_text(self) -> Option<&'t [u8]> {
        match self {
            RawValue::Text(text) => Some(text.trim_ascii()),
            RawValue::Bare(text) => Some(text),
            RawValue::Null | RawValue::Nested(_) => None,
        }
    }
}

/// What UTF-8 text may begin with.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Which bytes end a number, `true`, `false` or `null`.
const ENDS_BARE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte <= b' ' as usize || matches!(byte as u8, b',' | b']' | b'}' | b'"' | b':');
        byte += 1;
    }
    table
};

/// How long the number or word is that the text begins with; `None` where it may go on behind the text.
#[inline(always)]
fn length_of_bare(text: &[u8]) -> Option<usize> {
    // Times have up to 20 characters.
    for (position, lanes) in text.as_chunks::<LANES>().0.iter().take(2).enumerate() {
        let marks = beside_digits(u8x16::new(*lanes));
        if marks != 0 {
            let length = LANES * position + marks.trailing_zeros() as usize;
            if ENDS_BARE[text[length] as usize] {
                return Some(length);
            }
            break;
        }
    }
    text.iter().position(|&byte| ENDS_BARE[byte as usize])
}

/// A position in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanner<'t> {
    pub(crate) text: &'t [u8],
    pub(crate) position: usize,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t [u8]) -> Self {
        Scanner { text, position: 0 }
    }

    /// The next byte that is not white space, not consumed.
    #[inline]
    pub(crate) fn peek(&mut self) -> Scan<u8> {
        // Recorders write one blank behind a colon or a comma, and lines with indentation.
        for _ in 0..2 {
            match self.text.get(self.position) {
                Some(&byte) if byte > b' ' => return Ok(byte),
                Some(_) => self.position += 1,
                None => return Err(Fault::Incomplete),
            }
        }
        self.peek_behind_indentation()
    }

    /// As [`peek`](Self::peek), where more white space is likely. Pretty-printed traces are a third indentation: this
    /// takes eight blanks at a time.
    fn peek_behind_indentation(&mut self) -> Scan<u8> {
        loop {
            while self.text.get(self.position..).and_then(|rest| rest.first_chunk()) == Some(b"        ") {
                self.position += 8;
            }
            match self.text.get(self.position) {
                Some(&byte) if byte > b' ' => return Ok(byte),
                Some(_) => self.position += 1,
                None => return Err(Fault::Incomplete),
            }
        }
    }

    /// Consumes `byte`, which must come next.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, message: &'static str) -> Scan<()> {
        if self.peek()? == byte {
            self.position += 1;
            Ok(())
        } else {
            Err(Fault::Malformed(message))
        }
    }

    /// Consumes `byte` if it comes next.
    #[inline]
    pub(crate) fn accept(&mut self, byte: u8) -> Scan<bool> {
        let found = self.peek()? == byte;
        self.position += usize::from(found);
        Ok(found)
    }

    /// A string; the position is at its opening quote.
    #[inline(always)]
    fn string(&mut self) -> Scan<&'t [u8]> {
        let start = self.position + 1;
        let text = &self.text[start..];
        // Most keys and values are short: looking at a few bytes here costs less than a call.
        let Some(beginning) = text.first_chunk::<LANES>() else { return self.long_string(start, 0) };
        let quotes = equal(u8x16::new(*beginning), b'"');
        if quotes == 0 {
            return self.long_string(start, LANES);
        }
        let length = quotes.trailing_zeros() as usize;
        let string = &text[..length];
        if string.last() == Some(&b'\\') {
            return self.long_string(start, length);
        }
        self.position = start + length + 1;
        Ok(string)
    }

    /// A string that begins at `start` and does not end in its first `length` bytes.
    #[inline(never)]
    fn long_string(&mut self, start: usize, mut length: usize) -> Scan<&'t [u8]> {
        let text = &self.text[start..];
        loop {
            length += memchr(b'"', &text[length..]).ok_or(Fault::Incomplete)?;
            let string = &text[..length];
            // To look back from a quote costs less than to look for backslashes all the way: an odd number escapes it.
            if string.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 0 {
                self.position = start + length + 1;
                return Ok(string);
            }
            length += 1;
        }
    }

    /// A key and its colon.
    #[inline]
    pub(crate) fn key(&mut self) -> Scan<&'t [u8]> {
        if self.peek()? != b'"' {
            return Err(Fault::Malformed("expected a key in quotes"));
        }
        let key = self.string()?;
        self.expect(b':', "expected a colon after a key")?;
        Ok(key)
    }

    /// Any value.
    #[inline]
    pub(crate) fn value(&mut self) -> Scan<RawValue<'t>> {
        match self.peek()? {
            b'"' => self.string().map(RawValue::Text),
            b'{' | b'[' => self.nested().map(RawValue::Nested),
            // Numbers, true, false, null, NaN, Infinity.
            b'0'..=b'9' | b'-' | b'+' | b'.' | b't' | b'f' | b'n' | b'N' | b'I' | b'i' => {
                let start = self.position;
                let rest = &self.text[start..];
                let length = length_of_bare(rest).ok_or(Fault::Incomplete)?;
                if matches!(rest[length], b'"' | b':') {
                    return Err(Fault::Malformed("expected a comma after a value"));
                }
                self.position += length;
                Ok(match &rest[..length] {
                    b"null" => RawValue::Null,
                    bare => RawValue::Bare(bare),
                })
            }
            _ => Err(Fault::Malformed("expected a value")),
        }
    }

    /// Reads the members of an object up to and with its closing brace, the opening one being consumed; `member`
    /// consumes the value. A trailing comma is tolerated.
    #[inline]
    pub(crate) fn members(&mut self, mut member: impl FnMut(&mut Self, &'t [u8]) -> Scan<()>) -> Scan<()> {
        loop {
            if self.accept(b'}')? {
                return Ok(());
            }
            let key = self.key()?;
            member(self, key)?;
            if !self.accept(b',')? {
                return self.expect(b'}', "expected a comma or a closing brace after a value");
            }
        }
    }

    /// An array or object, skipped to its end by counting brackets outside strings.
    fn nested(&mut self) -> Scan<&'t [u8]> {
        let start = self.position;
        self.position += 1;
        self.leave_nested()?;
        Ok(&self.text[start..self.position])
    }

    /// Goes behind the end of the array or object that the position is in, by counting brackets outside strings.
    pub(crate) fn leave_nested(&mut self) -> Scan<()> {
        let rest = self.text.get(self.position..).unwrap_or_default();
        self.position += SkippedValue::inside_nested().skip(rest).ok_or(Fault::Incomplete)?;
        Ok(())
    }
}

/// The characters of a string, escapes resolved. Broken escapes and bytes that are not UTF-8 become
/// `U+FFFD`; the flag says whether that happened.
pub(crate) fn unescape(raw: &[u8]) -> (String, bool) {
    if memchr(b'\\', raw).is_none() {
        let text = String::from_utf8_lossy(raw);
        let lossy = matches!(text, std::borrow::Cow::Owned(_));
        return (text.into_owned(), lossy);
    }
    let (mut bytes, mut lossy) = (Vec::with_capacity(raw.len()), false);
    let push = |bytes: &mut Vec<u8>, c: char| {
        let mut buffer = [0; 4];
        bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
    };
    let mut at = 0;
    while at < raw.len() {
        if raw[at] != b'\\' {
            bytes.push(raw[at]);
            at += 1;
            continue;
        }
        let escape = raw.get(at + 1).copied();
        at += 2;
        match escape {
            Some(c @ (b'"' | b'\\' | b'/')) => bytes.push(c),
            Some(b'b') => bytes.push(8),
            Some(b'f') => bytes.push(12),
            Some(b'n') => bytes.push(b'\n'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'u') => {
                let unit = hex4(raw, at);
                at = (at + 4).min(raw.len());
                let low = match unit {
                    Some(0xd800..=0xdbff) if raw.get(at..at + 2) == Some(b"\\u") => hex4(raw, at + 2),
                    _ => None,
                };
                let character = match (unit, low) {
                    (Some(high), Some(low @ 0xdc00..=0xdfff)) => {
                        at += 6;
                        char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
                    }
                    (Some(unit), _) => char::from_u32(unit),
                    (None, _) => None,
                };
                lossy |= character.is_none();
                push(&mut bytes, character.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(_) | None => {
                lossy = true;
                push(&mut bytes, char::REPLACEMENT_CHARACTER);
            }
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => (text, lossy),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    }
}

fn hex4(raw: &[u8], at: usize) -> Option<u32> {
    let digits = raw.get(at..at + 4)?;
    digits.iter().try_fold(0, |value, &digit| Some(value << 4 | (digit as char).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sliced_not_decoded() {
        for (text, value) in [
            (r#" "a\"b" "#, Ok(RawValue::Text(br#"a\"b"#))),
            ("  12.5,", Ok(RawValue::Bare(b"12.5"))),
            ("NaN}", Ok(RawValue::Bare(b"NaN"))),
            ("null ", Ok(RawValue::Null)),
            (r#"[1, {"a": "]"}] "#, Ok(RawValue::Nested(br#"[1, {"a": "]"}]"#))),
            ("\"a\u{1}b\n\"", Ok(RawValue::Text(b"a\x01b\n"))),
            ("12", Err(Fault::Incomplete)),
            (r#""abc"#, Err(Fault::Incomplete)),
            (r#""abc\"#, Err(Fault::Incomplete)),
            (r#""abc\""#, Err(Fault::Incomplete)),
            ("[1, [2]", Err(Fault::Incomplete)),
            ("   ", Err(Fault::Incomplete)),
            (", 1", Err(Fault::Malformed("expected a value"))),
        ] {
            assert_eq!(Scanner::new(text.as_bytes()).value(), value, "{text}");
        }
    }

    /// End of a string whose opening quote is the first byte, byte by byte.
    fn end_of_string(text: &[u8]) -> Option<usize> {
        let mut at = 1;
        while let Some(&byte) = text.get(at) {
            match byte {
                b'"' => return Some(at),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        None
    }

    proptest::proptest! {
        #[test]
        fn strings_of_every_length_end_where_their_quote_stands(
            body in proptest::collection::vec(proptest::sample::select(&b"ab\"\\\x01\xa2\xdc\xff"[..]), 0..90),
            plain in 0usize..90,
        ) {
            let text = [b"\"", vec![b'x'; plain].as_slice(), &body, b"\" "].concat();
            for cut in 1..=text.len() {
                let text = &text[..cut];
                let expected = end_of_string(text).map(|end| &text[1..end]).ok_or(Fault::Incomplete);
                let mut scanner = Scanner::new(text);
                proptest::prop_assert_eq!(scanner.string(), expected);
                if let Ok(read) = expected {
                    proptest::prop_assert_eq!(scanner.position, read.len() + 2);
                }
            }
        }
    }

    /// End of the array or object whose opening bracket is before the text, byte by byte.
    fn end_of_nested(text: &[u8]) -> Option<usize> {
        let (mut at, mut depth) = (0, 1);
        while let Some(&byte) = text.get(at) {
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                b'"' => at += end_of_string(&text[at..])?,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    proptest::proptest! {
        #[test]
        fn nested_values_end_where_their_brackets_do(
            text in proptest::collection::vec(proptest::sample::select(&b"{}[]{[\"\\ab_yY\x7f ,1\x00\xdb\xff"[..]), 0..300),
        ) {
            for cut in 0..=text.len() {
                let mut scanner = Scanner::new(&text[..cut]);
                let outcome = scanner.leave_nested().map(|()| scanner.position);
                proptest::prop_assert_eq!(outcome, end_of_nested(&text[..cut]).ok_or(Fault::Incomplete));
            }
        }
    }

    #[test]
    fn escapes_are_resolved_and_broken_text_is_marked() {
        for (raw, text, lossy) in [
            (&b"plain"[..], "plain", false),
            (br#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t", false),
            (br"\u00e9\u4e2d", "é中", false),
            (br"\ud83d\ude00", "😀", false),
            (br"\ud83d!", "\u{fffd}!", true),
            (br"\ude00", "\u{fffd}", true),
            (br"\u12", "\u{fffd}", true),
            (br"\x", "\u{fffd}", true),
            (b"a\xffb", "a\u{fffd}b", true),
            (b"\\n\xff", "\n\u{fffd}", true),
        ] {
            assert_eq!(unescape(raw), (text.to_string(), lossy), "{raw:?}");
        }
    }
}
