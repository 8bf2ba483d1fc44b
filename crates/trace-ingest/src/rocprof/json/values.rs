//! Values of records, read where they stand. `null` is an absent value; numbers may stand in quotes.

use memchr::memchr;

use crate::json::number::{LATEST, float, integer};
use crate::json::scanner::{Fault, RawValue, Scan, Scanner, unescape};
use crate::string_table::{StringId, StringTable};

/// Where the texts of a record go.
pub(super) struct Texts<'s> {
    strings: &'s mut StringTable,
    /// How many hold bytes that are not UTF-8.
    pub(super) lossy: u64,
}

impl<'s> Texts<'s> {
    pub(super) fn new(strings: &'s mut StringTable) -> Self {
        Texts { strings, lossy: 0 }
    }

    /// Interns the characters of a string, escapes not resolved.
    pub(super) fn intern(&mut self, raw: &[u8]) -> StringId {
        if memchr(b'\\', raw).is_none()
            && let Ok(text) = std::str::from_utf8(raw)
        {
            return self.strings.intern(text);
        }
        let (text, lossy) = unescape(raw);
        self.lossy += u64::from(lossy);
        self.strings.intern(&text)
    }
}

/// Goes through the members of an object; `each` consumes the value.
#[inline]
pub(super) fn members<'t>(
    scanner: &mut Scanner<'t>,
    mut each: impl FnMut(&'t [u8], &mut Scanner<'t>) -> Scan<()>,
) -> Scan<()> {
    if !enter(scanner, b'{', "expected an object")? {
        return Ok(());
    }
    scanner.members(|scanner, key| each(key, scanner))
}

/// Goes through the elements of a list; `each` consumes one.
pub(super) fn elements<'t>(
    scanner: &mut Scanner<'t>,
    mut each: impl FnMut(&mut Scanner<'t>) -> Scan<()>,
) -> Scan<()> {
    if !enter(scanner, b'[', "expected a list")? {
        return Ok(());
    }
    while scanner.peek()? != b']' {
        each(scanner)?;
        if !scanner.accept(b',')? && scanner.peek()? != b']' {
            return Err(Fault::Malformed("expected a comma or the end of a list"));
        }
    }
    scanner.position += 1;
    Ok(())
}

/// Consumes an opening bracket. `false` for `null`, which is consumed instead.
#[inline]
fn enter(scanner: &mut Scanner<'_>, bracket: u8, message: &'static str) -> Scan<bool> {
    if scanner.accept(bracket)? {
        return Ok(true);
    }
    match scanner.value()? {
        RawValue::Null => Ok(false),
        _ => Err(Fault::Malformed(message)),
    }
}

/// Consumes a value that nobody needs.
#[inline]
pub(super) fn skip(scanner: &mut Scanner<'_>) -> Scan<()> {
    scanner.value().map(drop)
}

/// An integer. Above `i64::MAX` it wraps around: such numbers are identifiers, and equal ones stay equal.
#[inline]
pub(super) fn whole(scanner: &mut Scanner<'_>) -> Scan<Option<i64>> {
    scanner.peek()?;
    let rest = &scanner.text[scanner.position..];
    // The form that the profiler writes; eighteen digits cannot overflow.
    let (mut value, mut length) = (0i64, 0);
    while let Some(digit @ b'0'..=b'9') = rest.get(length)
        && length < 18
    {
        value = value * 10 + i64::from(digit - b'0');
        length += 1;
    }
    if length > 0 && matches!(rest.get(length), Some(b',' | b'}' | b']')) {
        scanner.position += length;
        return Ok(Some(value));
    }
    match scanner.value()? {
        RawValue::Null => Ok(None),
        value => match value.number_text().and_then(integer) {
            None => Err(Fault::Malformed("expected an integer")),
            number => Ok(number),
        },
    }
}

/// An identifier or amount.
#[inline]
pub(super) fn unsigned(scanner: &mut Scanner<'_>) -> Scan<Option<u64>> {
    Ok(whole(scanner)?.map(|value| value as u64))
}

/// A small amount; what is too large or negative becomes the nearest that is not.
#[inline]
pub(super) fn small(scanner: &mut Scanner<'_>) -> Scan<Option<u32>> {
    Ok(whole(scanner)?.map(|value| value.clamp(0, i64::from(u32::MAX)) as u32))
}

/// A time in nanoseconds.
#[inline]
pub(super) fn time(scanner: &mut Scanner<'_>) -> Scan<Option<i64>> {
    match whole(scanner)? {
        Some(time) if !(-LATEST..=LATEST).contains(&time) => Err(Fault::Malformed("a time is out of range")),
        time => Ok(time),
    }
}

/// A finite number.
pub(super) fn real(scanner: &mut Scanner<'_>) -> Scan<Option<f64>> {
    match scanner.value()? {
        RawValue::Null => Ok(None),
        value => match value.number_text().and_then(float) {
            None => Err(Fault::Malformed("expected a finite number")),
            number => Ok(number),
        },
    }
}

/// The characters of a string, escapes not resolved.
pub(super) fn text<'t>(scanner: &mut Scanner<'t>) -> Scan<Option<&'t [u8]>> {
    match scanner.value()? {
        RawValue::Null => Ok(None),
        RawValue::Text(text) => Ok(Some(text)),
        _ => Err(Fault::Malformed("expected a string")),
    }
}

/// An identifier that stands in an object of its own, `{"handle": 16}`; alone or as hexadecimal text it is taken
/// too.
#[inline]
pub(super) fn handle(scanner: &mut Scanner<'_>) -> Scan<Option<u64>> {
    match scanner.peek()? {
        b'{' => {
            let mut found = None;
            members(scanner, |key, scanner| match key {
                b"handle" | b"value" => {
                    found = number_or_hexadecimal(scanner)?.or(found);
                    Ok(())
                }
                _ => skip(scanner),
            })?;
            Ok(found)
        }
        _ => number_or_hexadecimal(scanner),
    }
}

#[inline]
fn number_or_hexadecimal(scanner: &mut Scanner<'_>) -> Scan<Option<u64>> {
    if scanner.peek()? != b'"' {
        return unsigned(scanner);
    }
    let start = scanner.position;
    let RawValue::Text(digits) = scanner.value()? else { return Ok(None) };
    match digits.strip_prefix(b"0x").and_then(|digits| std::str::from_utf8(digits).ok()) {
        Some(digits) => match u64::from_str_radix(digits, 16) {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Fault::Malformed("expected a hexadecimal number")),
        },
        None => {
            scanner.position = start;
            unsigned(scanner)
        }
    }
}

/// Three extents, `{"x": 256, "y": 1, "z": 1}`; what is missing is 1, the extent of an unused dimension.
#[inline]
pub(super) fn extents(scanner: &mut Scanner<'_>) -> Scan<[u32; 3]> {
    let mut extents = [1; 3];
    members(scanner, |key, scanner| {
        let axis = match key {
            b"x" => 0,
            b"y" => 1,
            b"z" => 2,
            _ => return skip(scanner),
        };
        extents[axis] = small(scanner)?.unwrap_or(1);
        Ok(())
    })?;
    Ok(extents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T>(text: &str, read: impl FnOnce(&mut Scanner<'_>) -> Scan<T>) -> Scan<T> {
        read(&mut Scanner::new(text.as_bytes()))
    }

    #[test]
    fn numbers_may_be_quoted_or_null() {
        for (text, value) in [
            ("12,", Ok(Some(12))),
            (" -12 }", Ok(Some(-12))),
            ("\"12\"", Ok(Some(12))),
            ("8.0]", Ok(Some(8))),
            ("17332996360099338395,", Ok(Some(17_332_996_360_099_338_395_u64 as i64))),
            ("null,", Ok(None)),
            ("12", Err(Fault::Incomplete)),
            ("123456789012345678901234567890,", Err(Fault::Malformed("expected an integer"))),
            ("\"twelve\"", Err(Fault::Malformed("expected an integer"))),
            ("[],", Err(Fault::Malformed("expected an integer"))),
        ] {
            assert_eq!(read(text, whole), value, "{text}");
        }
        assert_eq!(read("-1,", small), Ok(Some(0)));
        assert_eq!(read("4294967296,", small), Ok(Some(u32::MAX)));
        assert_eq!(read("9223372036854775807,", time), Err(Fault::Malformed("a time is out of range")));
        assert_eq!(read("2.5,", real), Ok(Some(2.5)));
        assert_eq!(read("NaN,", real), Err(Fault::Malformed("expected a finite number")));
    }

    #[test]
    fn handles_stand_in_objects_or_alone() {
        for (text, value) in [
            ("{\"handle\":16}", Ok(Some(16))),
            ("{\"other\":[{}],\"handle\":\"16\"}", Ok(Some(16))),
            ("16,", Ok(Some(16))),
            ("\"0x10\"", Ok(Some(16))),
            ("{}", Ok(None)),
            ("null,", Ok(None)),
            ("\"0xzz\"", Err(Fault::Malformed("expected a hexadecimal number"))),
        ] {
            assert_eq!(read(text, handle), value, "{text}");
        }
        assert_eq!(read("{\"x\":256,\"z\":null}", extents), Ok([256, 1, 1]));
    }
}
