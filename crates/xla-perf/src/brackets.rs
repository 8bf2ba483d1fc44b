//! Texts with brackets, as HLO has them.

/// The parts of a text between commas outside of all brackets, up to the bracket that closes one opened before the text.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i64;
    let mut depth_behind = move |c: char| {
        depth += i64::from("{[(".contains(c)) - i64::from("}])".contains(c));
        depth
    };
    let mut depth_in_parts = depth_behind;
    let end = text.find(|c| depth_behind(c) < 0).unwrap_or(text.len());
    text[..end].split(move |c| depth_in_parts(c) == 0 && c == ',')
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
