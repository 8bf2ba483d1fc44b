//! What kind of program was recorded.

use std::fmt;

/// Kind of a program, as far as the recording shows it. Only [`Program::LanguageModel`] has prefill and decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Program {
    /// Backward passes or updates of parameters ran.
    Training,
    /// A language model answered requests: an engine's steps, attention on a cache of keys and values, choice of tokens.
    LanguageModel,
    /// A diffusion model made images or videos.
    Diffusion,
    /// Tables of embeddings were looked up for a recommender, without training it.
    Recommender,
    /// Nothing in the recording says.
    #[default]
    Unknown,
}

impl Program {
    /// Name in sheets.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Program::Training => "training",
            Program::LanguageModel => "language model",
            Program::Diffusion => "diffusion",
            Program::Recommender => "recommender",
            Program::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
