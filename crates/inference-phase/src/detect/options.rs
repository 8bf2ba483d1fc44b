//! What the search for steps looks at.

/// What [`Steps::detect`](crate::Steps::detect) looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectOptions {
    /// The most new tokens per request that a step of generation may have: more than one where tokens are drafted and
    /// verified. Where tokens and requests of a step are known, more than this many tokens per request are a prompt's.
    /// Up to it, one token per request is generation; several are generation where padding to the size of a graph
    /// explains them or where four or more requests all have as many, and otherwise left to other evidence.
    pub decode_threshold: i64,
    /// The most requests that the engine runs at a time (`max_num_seqs` of vLLM, `max_running_requests` of SGLang), if
    /// known. More tokens than these can be extended by are a prompt's, also where nothing says how many requests a step
    /// has; without it, that is said of far larger steps alone.
    pub max_num_seqs: Option<i64>,
    /// Whether the engine's annotations of its steps are used.
    pub use_annotations: bool,
    /// Whether the engine's Python frames are used.
    pub use_frames: bool,
}

impl Default for DetectOptions {
    fn default() -> Self {
        DetectOptions { decode_threshold: 10, max_num_seqs: None, use_annotations: true, use_frames: true }
    }
}
