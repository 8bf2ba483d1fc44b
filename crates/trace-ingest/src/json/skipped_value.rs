//! A value that nobody needs, skipped without being kept.

use wide::u8x16;

use super::lanes::{LANES, equal};

/// How far a value was skipped: brackets open, inside a string, after a backslash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SkippedValue {
    /// Wide enough for a text that is nothing but brackets.
    depth: u64,
    in_string: bool,
    escaped: bool,
}

/// Bytes that are looked at in one step.
const BLOCK: usize = u64::BITS as usize;

impl SkippedValue {
    /// A value whose first byte, an opening bracket, was skipped.
    pub(crate) fn inside_nested() -> Self {
        SkippedValue { depth: 1, ..SkippedValue::default() }
    }

    /// Skips to the end of the value; `None` when the text ends first. The value's first byte is the first
    /// byte that is given.
    pub(crate) fn skip(&mut self, text: &[u8]) -> Option<usize> {
        let mut start = 0;
        while start < text.len() {
            let rest = &text[start..];
            let end = match rest
                .first_chunk()
                .filter(|_| self.depth > 0)
                .and_then(|block| self.skip_block(block))
            {
                Some(end) => end,
                None => self.skip_bytes(&rest[..rest.len().min(BLOCK)]),
            };
            if let Some(length) = end {
                return Some(start + length);
            }
            start += BLOCK;
        }
        None
    }

    /// The end of the value in a block of an array or object, if it is there; where a backslash is outside strings, which
    /// is no JSON, nothing is said or skipped.
    #[inline(always)]
    fn skip_block(&mut self, block: &[u8; BLOCK]) -> Option<Option<usize>> {
        /// The bits in which the four brackets differ, and what all of them are with these set.
        const DIFFERENT: u8 = 0b0010_0110;
        const BRACKET: u8 = 0b0111_1111;
        // A bit per byte, that of the first byte lowest; of brackets, `Y`, `_` and `y` have one, too.
        let [mut quotes, mut brackets] = [0u64; 2];
        let mut is_backslash = u8x16::ZERO;
        for (position, lanes) in block.as_chunks::<LANES>().0.iter().enumerate() {
            let put = |mask: &mut u64, bits: u32| *mask |= u64::from(bits) << (LANES * position);
            let bytes = u8x16::new(*lanes);
            put(&mut quotes, equal(bytes, b'"'));
            put(&mut brackets, equal(bytes | u8x16::splat(DIFFERENT), BRACKET));
            is_backslash |= bytes.simd_eq(u8x16::splat(b'\\'));
        }
        let (mut backslashes, mut escapes_next) = (0, false);
        if self.escaped || is_backslash.to_bitmask() != 0 {
            backslashes = backslashes_of(block);
            let escaped;
            (escaped, escapes_next) = escaped_bytes(backslashes, self.escaped);
            quotes &= !escaped;
        }
        let mut strings = parity(quotes);
        if self.in_string {
            strings = !strings;
        }
        if backslashes & !strings != 0 {
            return None;
        }
        brackets &= !strings;
        let mut depth = self.depth;
        while brackets != 0 {
            let here = brackets.trailing_zeros() as usize;
            brackets &= brackets - 1;
            match block[here] {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(Some(here + 1));
                    }
                }
                _ => {}
            }
        }
        *self = SkippedValue { depth, in_string: strings >> (BLOCK - 1) == 1, escaped: escapes_next };
        Some(None)
    }

    fn skip_bytes(&mut self, text: &[u8]) -> Option<usize> {
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

/// A bit per backslash.
fn backslashes_of(block: &[u8; BLOCK]) -> u64 {
    let lanes = block.as_chunks::<LANES>().0.iter().rev();
    lanes.fold(0, |mask, lanes| mask << LANES | u64::from(equal(u8x16::new(*lanes), b'\\')))
}

/// Of each bit, whether an odd number of `bits` is set up to and with it.
#[inline(always)]
fn parity(mut bits: u64) -> u64 {
    for distance in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << distance;
    }
    bits
}

/// Which bytes stand behind an odd number of backslashes, and whether the next block's first does. `escaped`: whether this
/// block's first does.
fn escaped_bytes(backslashes: u64, escaped: bool) -> (u64, bool) {
    let (mut escapes, mut rest) = (u64::from(escaped), backslashes & !u64::from(escaped));
    let mut escapes_next = false;
    while rest != 0 {
        let here = rest & rest.wrapping_neg();
        let next = here << 1;
        escapes_next = next == 0;
        escapes |= next;
        rest &= !(here | next);
    }
    (escapes, escapes_next)
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

    proptest::proptest! {
        #[test]
        fn a_value_ends_where_it_ends_however_the_text_is_cut(
            text in proptest::collection::vec(proptest::sample::select(&b"[{[{]}\"\\\\a1 "[..]), 0..400),
            cut in 0usize..400,
        ) {
            let text = [b"[[[\"", text.as_slice()].concat();
            let mut one_by_one = SkippedValue::default();
            let end = (0..text.len()).find_map(|at| one_by_one.skip(&text[at..=at]).map(|used| at + used));
            proptest::prop_assert_eq!(SkippedValue::default().skip(&text), end);
            let (first, second) = text.split_at(cut.min(text.len()));
            let mut skipped = SkippedValue::default();
            let in_two = skipped.skip(first).or_else(|| skipped.skip(second).map(|used| first.len() + used));
            proptest::prop_assert_eq!(in_two, end);
        }
    }
}
