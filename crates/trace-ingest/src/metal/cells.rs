//! What a cell says. A cell that says nothing usable is read as blank.

use std::borrow::Cow;

/// Texts that stand for "nothing here" when they are the whole cell: what spreadsheets, C libraries and data-frame
/// libraries write for a missing figure.
const BLANKS: [&[u8]; 18] = [
    b"#N/A",
    b"#N/A N/A",
    b"#NA",
    b"-1.#IND",
    b"-1.#QNAN",
    b"-NaN",
    b"-nan",
    b"1.#IND",
    b"1.#QNAN",
    b"<NA>",
    b"N/A",
    b"NA",
    b"NULL",
    b"NaN",
    b"None",
    b"n/a",
    b"nan",
    b"null",
];

/// The most cores that a chip is believed to have.
const MOST_CORES: i128 = 1 << 20;

/// The longest dimension that a tensor is believed to have, in elements.
const LONGEST_DIM: i128 = 1 << 32;

/// The most devices that a run is believed to have.
const MOST_DEVICES: i128 = 1 << 20;

/// How many characters of a sub-device's name are kept.
const SUB_DEVICE_CHARACTERS: usize = 32;

/// Whether a cell says nothing.
pub(super) fn is_blank(cell: &[u8]) -> bool {
    // Nearly all cells begin with something else.
    match cell.first() {
        None => true,
        Some(b'#' | b'-' | b'1' | b'<' | b'N' | b'n') => cell.len() <= 9 && BLANKS.contains(&cell),
        Some(_) => false,
    }
}

/// A number of either kind, before it is judged.
enum Number {
    Whole(i128),
    Float(f64),
}

fn number(cell: &[u8]) -> Option<Number> {
    let cell = cell.trim_ascii();
    // Nearly all numbers are plain digits; 18 of them fit without a check.
    if !cell.is_empty() && cell.len() <= 18 && cell.iter().all(u8::is_ascii_digit) {
        let value = cell.iter().fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'));
        return Some(Number::Whole(value.into()));
    }
    let text = std::str::from_utf8(cell).ok()?;
    match text.parse::<i128>() {
        Ok(value) => Some(Number::Whole(value)),
        Err(_) => text.parse::<f64>().ok().filter(|value| value.is_finite()).map(Number::Float),
    }
}

/// A number that is neither infinite nor "not a number".
pub(super) fn finite(cell: &[u8]) -> Option<f64> {
    match number(cell)? {
        Number::Whole(value) => Some(value as f64),
        Number::Float(value) => Some(value),
    }
}

/// A number without a fraction, written with or without one (`7`, `7.0`, `7e3`).
fn wide(cell: &[u8]) -> Option<i128> {
    match number(cell)? {
        Number::Whole(value) => Some(value),
        Number::Float(value) if value.fract() == 0.0 && value.abs() < 1e30 => Some(value as i128),
        Number::Float(_) => None,
    }
}

pub(super) fn whole(cell: &[u8]) -> Option<i64> {
    i64::try_from(wide(cell)?).ok()
}

/// A count of clock cycles.
pub(super) fn cycle(cell: &[u8]) -> Option<u64> {
    u64::try_from(wide(cell)?).ok()
}

/// A number of cores, 1 to 2^20.
pub(super) fn cores(cell: &[u8]) -> Option<u32> {
    wide(cell).filter(|value| (1..=MOST_CORES).contains(value)).map(|value| value as u32)
}

/// Number of a device, from 0.
pub(super) fn device(cell: &[u8]) -> Option<u32> {
    wide(cell).filter(|value| (0..MOST_DEVICES).contains(value)).map(|value| value as u32)
}

/// Length of a dimension: `padded[logical]`, or one number for both.
pub(super) fn dim(cell: &[u8]) -> (Option<u64>, Option<u64>) {
    let length =
        |text: &[u8]| wide(text).filter(|value| (1..=LONGEST_DIM).contains(value)).map(|value| value as u64);
    let Some(open) = memchr::memchr(b'[', cell) else {
        let both = length(cell);
        return (both, both);
    };
    let (padded, rest) = (&cell[..open], &cell[open + 1..]);
    match memchr::memchr(b']', rest) {
        Some(close) => (length(padded), length(&rest[..close])),
        None => (None, None),
    }
}

/// Whether a dimension is written as 0: its tensor has no elements.
pub(super) fn is_zero_dim(cell: &[u8]) -> bool {
    wide(cell.split(|&byte| byte == b'[').next().unwrap_or_default()) == Some(0)
}

/// A text as it stands.
pub(super) fn text(cell: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(cell)
}

/// A text without control characters, which would act on a terminal. Tabs stay.
pub(super) fn printable(cell: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(cell);
    match text.contains(acts_on_terminal) {
        true => Cow::Owned(text.chars().filter(|&letter| !acts_on_terminal(letter)).collect()),
        false => text,
    }
}

fn acts_on_terminal(letter: char) -> bool {
    letter.is_control() && letter != '\t'
}

/// Name of a sub-device that is no number.
pub(super) fn sub_device_name(cell: &[u8]) -> String {
    printable(cell).trim().chars().take(SUB_DEVICE_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_cells_are_blank() {
        for cell in BLANKS.iter().chain([&&b""[..]]) {
            assert!(is_blank(cell), "{}", String::from_utf8_lossy(cell));
        }
        for cell in ["0", "-", "none", "NONE", "N/A ", "1", "-1", "nano", "#N/A N/A N"] {
            assert!(!is_blank(cell.as_bytes()), "{cell}");
        }
    }

    #[test]
    fn numbers_are_finite_and_whole_ones_are_not_cut() {
        for (cell, as_finite, as_whole) in [
            ("12", Some(12.0), Some(12)),
            (" 12 ", Some(12.0), Some(12)),
            ("-7", Some(-7.0), Some(-7)),
            ("1024.0", Some(1024.0), Some(1024)),
            ("1e3", Some(1000.0), Some(1000)),
            ("1.5", Some(1.5), None),
            ("inf", None, None),
            ("-Infinity", None, None),
            ("NaN", None, None),
            ("1e999", None, None),
            ("", None, None),
            ("12 ns", None, None),
            ("9007199254740993", Some(9_007_199_254_740_992.0), Some(9_007_199_254_740_993)),
            ("9223372036854775808", Some(2f64.powi(63)), None),
        ] {
            assert_eq!((finite(cell.as_bytes()), whole(cell.as_bytes())), (as_finite, as_whole), "{cell:?}");
        }
        assert_eq!(cycle(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(cycle(b"-1"), None);
    }

    #[test]
    fn cores_devices_and_dims_have_bounds() {
        let cores_of: Vec<_> =
            ["0", "1", "64.0", "1048576", "1048577", "-3", "2.5"].map(|cell| cores(cell.as_bytes())).into();
        assert_eq!(cores_of, [None, Some(1), Some(64), Some(1 << 20), None, None, None]);
        let devices: Vec<_> = ["0", "7", "-1", "0.5", "x"].map(|cell| device(cell.as_bytes())).into();
        assert_eq!(devices, [Some(0), Some(7), None, None, None]);
        for (cell, expected) in [
            ("32[19]", (Some(32), Some(19))),
            ("256", (Some(256), Some(256))),
            ("256.0", (Some(256), Some(256))),
            ("0[0]", (None, None)),
            ("-32[19]", (None, Some(19))),
            ("32[x]", (Some(32), None)),
            ("32[19", (None, None)),
            ("32]19[", (None, None)),
            ("4294967296", (Some(1 << 32), Some(1 << 32))),
            ("4294967297", (None, None)),
            ("1.5[1]", (None, Some(1))),
        ] {
            assert_eq!(dim(cell.as_bytes()), expected, "{cell}");
        }
    }

    #[test]
    fn lengths_of_empty_tensors_are_no_fault() {
        let found = ["0[0]", "0", "0.0[1]", "1[0]", "[0]", "x[0]"].map(|cell| is_zero_dim(cell.as_bytes()));
        assert_eq!(found, [true, true, true, false, false, false]);
    }

    #[test]
    fn names_lose_what_acts_on_a_terminal() {
        assert_eq!(printable("a\x1b[31m\tb\u{9b}c\x7f\n".as_bytes()), "a[31m\tbc");
        assert_eq!(printable(b"Matmul"), "Matmul");
        assert_eq!(sub_device_name(b"  \x07worker "), "worker");
        assert_eq!(sub_device_name("ü".repeat(40).as_bytes()), "ü".repeat(32));
    }
}
