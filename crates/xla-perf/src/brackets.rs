//! Texts with brackets, as HLO has them.

/// The parts of a text between commas outside of all brackets, up to the first bracket that closes none of its own.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut depth = 0_usize;
        // Commas and brackets are single bytes, and part of no other character.
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b',' | b'}' | b']' | b')' if depth == 0 => {
                    rest = (byte == b',').then(|| &text[at + 1..]);
                    return Some(&text[..at]);
                }
                b'{' | b'[' | b'(' => depth += 1,
                b'}' | b']' | b')' => depth -= 1,
                _ => {}
            }
        }
        rest.take()
    })
}

#[cfg(test)]
mod tests {
    use super::parts;

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
    }
}
