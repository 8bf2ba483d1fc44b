//! Sequence lengths that the reference tool reads out of names, tuning tokens of matrix kernels (`USL1`) included.

use crate::phase::Phase;

/// The phase by the mean of all lengths in a text in lower case; `None` where there are none or it lies between.
pub(super) fn phase(text: &str) -> Option<Phase> {
    let (sum, count) = lengths(text)
        .into_iter()
        .filter(|&length| length != 0.0)
        .fold((0.0, 0usize), |(sum, count), length| (sum + length, count + 1));
    if count == 0 {
        return None;
    }
    let mean = sum / count as f64;
    if mean == 1.0 {
        Some(Phase::Decode)
    } else if mean > 10.0 {
        Some(Phase::Prefill)
    } else {
        None
    }
}

/// Numbers after `sl`, after `seqlen` with or without a separator, and after `seq`, from left to right.
fn lengths(text: &str) -> Vec<f64> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('s') {
        rest = &rest[at..];
        match length_at(rest) {
            Some((length, end)) => {
                found.push(length);
                rest = &rest[end..];
            }
            None => rest = &rest[1..],
        }
    }
    found
}

/// The length that the text begins with, and where it ends.
fn length_at(text: &str) -> Option<(f64, usize)> {
    let number = |from: usize| {
        let digits = text[from..].bytes().take_while(u8::is_ascii_digit).count();
        Some((text[from..from + digits].parse().ok()?, from + digits))
    };
    let after_separator = |from: usize| {
        let separator = text[from..].chars().next().filter(|&c| c == '_' || c.is_whitespace())?;
        number(from + separator.len_utf8())
    };
    if text.starts_with("sl") {
        return number("sl".len());
    }
    if text.starts_with("seqlen") {
        let from = "seqlen".len();
        return number(from).or_else(|| after_separator(from));
    }
    text.starts_with("seq").then(|| number("seq".len())).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_wherever_they_stand() {
        for (text, expected) in [
            ("cijk_ailk_usl1_uiof", &[1.0][..]),
            ("seqlen_128 seqlen 64 seqlen32", &[128.0, 64.0, 32.0]),
            ("seq7seq9", &[7.0, 9.0]),
            ("seqlen__5 seq_5 slx sl", &[]),
            ("ssl12", &[12.0]),
            ("seqlen_", &[]),
        ] {
            assert_eq!(lengths(text), expected, "{text}");
        }
    }

    #[test]
    fn one_is_decode_and_many_are_prefill() {
        for (text, expected) in [
            ("usl1", Some(Phase::Decode)),
            ("sl11", Some(Phase::Prefill)),
            ("sl10", None),
            ("sl0 sl1", Some(Phase::Decode)),
            ("sl1 sl3", None),
            ("sl0", None),
        ] {
            assert_eq!(phase(text), expected, "{text}");
        }
    }
}
