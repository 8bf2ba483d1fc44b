//! A value that nobody needs, skipped without being kept.

/// How far a value was skipped: brackets open, inside a string, after a backslash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SkippedValue {
    /// Wide enough for a text that is nothing but brackets.
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl SkippedValue {
    /// Skips to the end of the value; `None` when the text ends first. The value's first byte is the first
    /// byte that is given.
    #[inline]
    pub(crate) fn skip(&mut self, text: &[u8]) -> Option<usize> {
        for (position, &byte) in text.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return Some(position + 1);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth == 0 => return Some(position),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(position + 1);
                    }
                }
                b',' if self.depth == 0 => return Some(position),
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_value_ends_where_it_ends() {
        for (text, used) in [
            (r#"{"a": "}"}, 1"#, Some(10)),
            (r#""a\"b", 1"#, Some(6)),
            ("12, 1", Some(2)),
            ("12}", Some(2)),
            ("[[1], 2] ,", Some(8)),
            (r#"{"a": ["#, None),
        ] {
            assert_eq!(SkippedValue::default().skip(text.as_bytes()), used, "{text}");
        }
    }
}
