//! Text in lines that fit the terminal.

use sheets::escaped;

/// Adds `text` to `out` in lines of at most `width` characters: `first` before the first line, `rest` before
/// the others. Words are not broken; what a terminal would obey is [`escaped`], line breaks included.
pub(crate) fn wrap(text: &str, first: &str, rest: &str, width: usize, out: &mut String) {
    let text = escaped(text);
    out.push_str(first);
    let mut used = first.chars().count();
    let mut at_start = true;
    for word in text.split_whitespace() {
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
        out.push_str(word);
        used += length;
        at_start = false;
    }
    out.push('\n');
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
    fn a_word_wider_than_the_line_stays_whole() {
        let mut out = String::new();
        wrap("a extraordinary b", "", "", 5, &mut out);
        assert_eq!(out, "a\nextraordinary\nb\n");
    }
}
