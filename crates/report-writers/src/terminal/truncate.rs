//! Shortening names in the middle: kernel names differ at both ends.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// `text` in at most `width` terminal columns, with `…` (or `...` where `unicode` is false) in
/// place of its middle if it is longer.
#[must_use]
pub fn truncate_middle(text: &str, width: usize, unicode: bool) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mark = if unicode { "…" } else { "..." };
    let Some(room) = width.checked_sub(mark.width()) else {
        return start_of(text.chars(), width);
    };
    let tail_room = room / 2;
    let head = start_of(text.chars(), room - tail_room);
    let tail: String = start_of(text.chars().rev(), tail_room).chars().rev().collect();
    head + mark + &tail
}

/// The first of `chars` that fit `width` columns.
fn start_of(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_text_are_kept() {
        let cases = [
            ("short", 5, true, "short"),
            ("0123456789", 10, true, "0123456789"),
            ("0123456789", 7, true, "012…789"),
            ("0123456789", 6, true, "012…89"),
            ("0123456789", 7, false, "01...89"),
            ("0123456789", 1, true, "…"),
            ("0123456789", 2, false, "01"),
            ("0123456789", 0, true, ""),
            ("µµµµµµ", 5, true, "µµ…µµ"),
            // Two columns each.
            ("漢字漢字漢字", 7, true, "漢…字"),
        ];
        for (text, width, unicode, shortened) in cases {
            let result = truncate_middle(text, width, unicode);
            assert_eq!(result, shortened);
            assert!(result.width() <= width);
        }
    }
}
