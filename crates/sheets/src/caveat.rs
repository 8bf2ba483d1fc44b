//! Why figures of a table are missing or cannot be relied on.

/// What a reader has to know of a table or of single columns before relying on them. It is found in the recording, where a
/// description holds for every report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caveat {
    /// For a line below a printed table, such as `unreliable (W2): kernel times are too small`.
    pub brief: String,
    /// The evidence and, where there is one, the remedy: whole sentences.
    pub text: String,
}
