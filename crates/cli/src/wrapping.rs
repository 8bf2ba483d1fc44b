//! Text in lines that fit the terminal.

use std::borrow::Cow;

use sheets::escaped;

/// Adds `text` to `out` in lines of at most `width` characters: `first` before the first line, `rest` before
/// the others. Words are not broken, nor numbers from their units of time; what a terminal would obey is [`escaped`], line
/// breaks included.
pub(crate) fn wrap(text: &str, first: &str, rest: &str, width: usize, out: &mut String) {
    let text = escaped(text);
    out.push_str(first);
    let mut used = first.chars().count();
    let mut at_start = true;
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let unit = words.next_if(|next| word.ends_with(|c: char| c.is_ascii_digit()) && is_unit(next));
        let word = unit.map_or(Cow::Borrowed(word), |unit| format!("{word} {unit}").into());
        let length = word.chars().count();
        if !at_start && used + 1 + length > width {
            out.push('\n');
            out.push_str(rest);
            used = rest.chars().count();
            at_start = true;
        }
        if !at_start {
            out.push(' ');
            used += 1;
        }
        out.push_str(&word);
        used += length;
        at_start = false;
    }
    out.push('\n');
}

/// Whether a word is a unit of time, whatever stands behind it.
fn is_unit(word: &str) -> bool {
    ["ns", "µs", "ms", "s"].contains(&word.trim_end_matches([')', ',', ';', '.', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_are_indented() {
        let mut out = String::new();
        wrap("one two three four", "- ", "  ", 11, &mut out);
        assert_eq!(out, "- one two\n  three\n  four\n");
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        let mut out = String::new();
        wrap("it took 7.5 ms (0.883 µs) each", "", "  ", 14, &mut out);
        assert_eq!(out, "it took 7.5 ms\n  (0.883 µs)\n  each\n");
    }

    #[test]
    fn a_word_wider_than_the_line_stays_whole() {
        let mut out = String::new();
        wrap("a extraordinary b", "", "", 5, &mut out);
        assert_eq!(out, "a\nextraordinary\nb\n");
    }
}
