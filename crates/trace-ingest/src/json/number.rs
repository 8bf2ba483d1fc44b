//! Numbers of a trace, from their decimal text.
//!
//! Timestamps have up to 16 significant digits. A double loses the last of them, so they are read from
//! the text into integer nanoseconds and never pass through a float.

/// Largest magnitude of a time in nanoseconds. A quarter of the range of `i64`: a start plus a duration,
/// or the distance of two starts, cannot overflow.
pub(crate) const LATEST: i64 = i64::MAX / 4;

const LIMIT: i128 = LATEST as i128;

/// Microseconds as decimal text (`3743411252990.51`, `5`, `-1.5e3`) in nanoseconds, rounded half away from
/// zero at the fourth decimal. `None` when the text is no finite number or the time is out of range.
pub(crate) fn microseconds_to_nanoseconds(text: &[u8]) -> Option<i64> {
    // The form that Kineto writes: digits, a point, up to three digits. Eighteen digits cannot overflow.
    if text.len() <= 18 {
        let (mut value, mut position) = (0i64, 0);
        while position < text.len() && text[position].is_ascii_digit() {
            value = value * 10 + i64::from(text[position] - b'0');
            position += 1;
        }
        let whole = position;
        if whole > 0 && whole <= 15 {
            if position == text.len() {
                return Some(value * 1000);
            }
            let decimals = text.len() - whole - 1;
            if text[whole] == b'.' && (1..=3).contains(&decimals) {
                position += 1;
                while position < text.len() && text[position].is_ascii_digit() {
                    value = value * 10 + i64::from(text[position] - b'0');
                    position += 1;
                }
                if position == text.len() {
                    return Some(value * [0, 100, 10, 1][decimals]);
                }
            }
        }
    }
    decimal_scaled(text, 3).and_then(|value| i64::try_from(value).ok())
}

/// The decimal number `text`, times `10^shift`, rounded half away from zero.
fn decimal_scaled(text: &[u8], shift: i32) -> Option<i128> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    let (number, exponent) = match digits.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => (&digits[..at], exponent(&digits[at + 1..])?),
        None => (digits, 0),
    };
    let (whole, fraction) = match number.iter().position(|&b| b == b'.') {
        Some(at) => (&number[..at], &number[at + 1..]),
        None => (number, &[][..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // Digits up to the scaled unit count; the one after it rounds.
    let kept = whole.len() as i64 + i64::from(exponent) + i64::from(shift);
    let (mut value, mut round_up) = (0i128, false);
    for (position, &byte) in whole.iter().chain(fraction).enumerate() {
        if !byte.is_ascii_digit() {
            return None;
        }
        let digit = byte - b'0';
        if (position as i64) < kept {
            value = value * 10 + i128::from(digit);
            if value > LIMIT {
                return None;
            }
        } else if position as i64 == kept {
            round_up = digit >= 5;
        }
    }
    let missing = kept - (whole.len() + fraction.len()) as i64;
    for _ in 0..missing.max(0) {
        if value == 0 {
            break;
        }
        value *= 10;
        if value > LIMIT {
            return None;
        }
    }
    value += i128::from(round_up);
    (value <= LIMIT).then_some(if negative { -value } else { value })
}

fn exponent(text: &[u8]) -> Option<i32> {
    let text = std::str::from_utf8(text).ok()?;
    let value: i32 = text.parse().ok()?;
    (value.abs() <= 4096).then_some(value)
}

/// The value of at most eighteen digits; `None` where there is anything else.
#[inline]
fn decimal_digits(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0i64, |value, &byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9).then(|| value * 10 + i64::from(digit))
    })
}

/// An integer, also when it is written with a fraction of zero or an exponent (`8.0`, `1e3`). Unsigned
/// numbers above `i64::MAX` wrap around: they are identifiers, and equal ones stay equal.
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    // Eighteen digits cannot overflow.
    if (1..=18).contains(&digits.len())
        && let Some(value) = decimal_digits(digits)
    {
        return Some(if negative { -value } else { value });
    }
    let text = std::str::from_utf8(text).ok()?;
    if let Ok(value) = text.parse::<i64>() {
        return Some(value);
    }
    if let Ok(value) = text.parse::<u64>() {
        return Some(value as i64);
    }
    let value: f64 = text.parse().ok()?;
    (value.fract() == 0.0 && value.abs() < 9.0e15).then_some(value as i64)
}

/// A finite decimal number.
pub(crate) fn float(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn microsecond_text_becomes_exact_nanoseconds() {
        for (text, nanoseconds) in [
            ("1419116104994.671", Some(1_419_116_104_994_671)),
            ("6870000000000.5", Some(6_870_000_000_000_500)),
            ("5", Some(5_000)),
            ("0", Some(0)),
            ("0.001", Some(1)),
            ("5.74", Some(5_740)),
            ("-2.5", Some(-2_500)),
            ("+7", Some(7_000)),
            ("1.5e3", Some(1_500_000)),
            ("1E-3", Some(1)),
            ("12.3456", Some(12_346)),
            ("12.3454", Some(12_345)),
            ("0.0005", Some(1)),
            ("1733000000000000.123", Some(1_733_000_000_000_000_123)),
            ("00012.500", Some(12_500)),
            ("5.", Some(5_000)),
            (".5", Some(500)),
            ("0e300", Some(0)),
            ("1e300", None),
            ("99999999999999999999", None),
            ("NaN", None),
            ("Infinity", None),
            ("-", None),
            (".", None),
            ("", None),
            ("1.2.3", None),
            ("12a", None),
            ("1e", None),
            ("1e99999", None),
        ] {
            assert_eq!(microseconds_to_nanoseconds(text.as_bytes()), nanoseconds, "{text}");
        }
    }

    #[test]
    fn integers_may_be_written_as_floats_or_wrap() {
        for (text, value) in [
            ("8", Some(8)),
            ("-8", Some(-8)),
            ("8.0", Some(8)),
            ("1e3", Some(1000)),
            ("18446744073709551615", Some(-1)),
            ("8.5", None),
            ("", None),
            ("-", None),
            ("N/A", None),
        ] {
            assert_eq!(integer(text.as_bytes()), value, "{text}");
        }
    }

    proptest! {
        #[test]
        fn three_decimals_round_trip(nanoseconds in 0i64..4_000_000_000_000_000_000) {
            let text = format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
            let expected = (nanoseconds <= LATEST).then_some(nanoseconds);
            prop_assert_eq!(microseconds_to_nanoseconds(text.as_bytes()), expected);
        }

        #[test]
        fn any_bytes_are_handled(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = (microseconds_to_nanoseconds(&text), integer(&text), float(&text));
        }
    }
}
