//! Texts with brackets, as HLO has them.

/// The parts of a text between commas outside of all brackets, up to the bracket that closes one opened before the text.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (part, end) = until(text, &[',']);
        rest = (end == Some(',')).then(|| &text[part.len() + 1..]);
        Some(part)
    })
}

/// The text up to one of these characters outside of all brackets or to a bracket that closes none of its own, and that
/// character.
pub(crate) fn until<'t>(text: &'t str, ends: &[char]) -> (&'t str, Option<char>) {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            _ if depth == 0 && (ends.contains(&c) || "}])".contains(c)) => return (&text[..at], Some(c)),
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            _ => {}
        }
    }
    (text, None)
}

#[cfg(test)]
mod tests {
    use super::{parts, until};

    #[test]
    fn commas_and_ends_count_outside_of_brackets() {
        for (text, expected) in [
            ("f32[8,4]{1,0}, u32[]", &["f32[8,4]{1,0}", " u32[]"][..]),
            ("a,b) c,d", &["a", "b"]),
            ("", &[""]),
            ("(a,b", &["(a,b"]),
        ] {
            assert_eq!(parts(text).collect::<Vec<_>>(), expected, "{text}");
        }
        assert_eq!(until("{{0, 1}} x", &[',', ' ']), ("{{0, 1}}", Some(' ')));
    }
}
