//! Text of recordings, where something obeys what stands in it.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with every character written out that a terminal, an editor or a line of a file obeys and does not show:
/// `\n`, `\r`, `\t`, `\x1b` for the other ASCII control characters, `\u{202e}` for those beyond ASCII. Names in a
/// recording can hold any; as they are they would break lines, move the cursor, and turn the order of what stands beside
/// them.
///
/// All other text, backslashes included, stays as it is and is not copied.
///
/// ```
/// use std::borrow::Cow;
/// use sheets::escaped;
///
/// assert_eq!(escaped("gemm\n\u{1b}[31m\u{202e}"), r"gemm\n\x1b[31m\u{202e}");
/// assert!(matches!(escaped("µs: C:\\gemm"), Cow::Borrowed("µs: C:\\gemm")));
/// ```
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    // Printable ASCII, as nearly all names are, is known without decoding characters.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let Some(first) = text.find(is_obeyed) else { return Cow::Borrowed(text) };
    let mut shown = String::with_capacity(text.len() + 8);
    shown.push_str(&text[..first]);
    for c in text[first..].chars() {
        // Writing to a String cannot fail.
        let _ = match c {
            '\n' => shown.write_str("\\n"),
            '\r' => shown.write_str("\\r"),
            '\t' => shown.write_str("\\t"),
            c if c.is_ascii_control() => write!(shown, "\\x{:02x}", u32::from(c)),
            c if is_obeyed(c) => write!(shown, "\\u{{{:x}}}", u32::from(c)),
            c => shown.write_char(c),
        };
    }
    Cow::Owned(shown)
}

/// Whether a character is obeyed and not shown: control characters (Unicode's category Cc), separators of lines and
/// paragraphs, and the marks, embeddings, overrides and isolates of the bidirectional algorithm (Unicode Standard
/// Annex 9, section 2), with which a text can be made to look like another. U+FFFE and U+FFFF, which are no characters, may
/// not stand in XML.
#[must_use]
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// A text in which names may stand as Markdown that shows it as it is: nothing in it is markup, mentions a person, or ends
/// a cell of a table.
#[must_use]
pub fn markdown_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escaped(text).chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_obeyed_is_written_out() {
        for (text, shown) in [
            ("a\nb\r\tc", r"a\nb\r\tc"),
            ("\u{1b}[31m\u{7}\0\u{7f}", r"\x1b[31m\x07\x00\x7f"),
            ("\u{85}\u{9b}31m", r"\u{85}\u{9b}31m"),
            ("\u{2028}\u{2029}", r"\u{2028}\u{2029}"),
            ("\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}", r"\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}"),
            ("\u{2066}\u{2067}\u{2068}\u{2069}", r"\u{2066}\u{2067}\u{2068}\u{2069}"),
            ("\u{61c}\u{200e}\u{200f}", r"\u{61c}\u{200e}\u{200f}"),
            ("\u{fffe}\u{ffff}\u{fffd}", "\\u{fffe}\\u{ffff}\u{fffd}"),
            ("漢字 µ\u{202e}x", r"漢字 µ\u{202e}x"),
        ] {
            assert_eq!(escaped(text), shown);
        }
    }

    #[test]
    fn all_other_text_is_not_copied() {
        for text in ["", "aten::mm", r"C:\new\x1b", "\u{a0}漢字 – µs", "עברית", "e\u{301}", "🚀\u{200d}"]
        {
            assert!(matches!(escaped(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_not_obeyed() {
        for c in '\0'..=char::MAX {
            assert!(!escaped(&c.to_string()).contains(is_obeyed), "{c:?}");
        }
    }

    #[test]
    fn names_are_no_markdown() {
        assert_eq!(markdown_text("f<int>(a|b)_*"), r"f&lt;int&gt;(a\|b)\_\*");
        assert_eq!(markdown_text("@all <img src=x>"), "&#64;all &lt;img src=x&gt;");
    }
}
