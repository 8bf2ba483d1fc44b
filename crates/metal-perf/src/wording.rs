//! Numbers in sentences.

/// How many of what, with the words of its number: `1 row reaches`, `2 rows reach`.
pub(crate) fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}
