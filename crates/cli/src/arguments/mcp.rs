//! Flags of `tracelens mcp`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens mcp --root ~/traces                       serve the recordings in a folder to an agent
  claude mcp add tracelens -- tracelens mcp --root .  register it with an agent

The server speaks the Model Context Protocol on standard input and output. It reads regular files below its roots, writes
nothing and opens no connection. It runs an --extension_file only if it is given here; clients cannot pass one.
`tracelens info skill` prints instructions for agents.";

#[derive(Args)]
pub(crate) struct McpArguments {
    /// Folders with recordings; nothing outside them is read
    #[arg(long = "root", value_name = "DIR", required = true, num_args = 1..)]
    pub(crate) roots: Vec<PathBuf>,

    /// Maximum length of an answer in characters, separately for JSON and text; further rows go to the next page
    #[arg(long = "max-chars", value_name = "N", default_value = "24000", value_parser = clap::value_parser!(u64).range(4_000..=100_000))]
    pub(crate) max_chars: u64,

    /// Maximum number of recordings to hold; the least recently used is dropped first
    #[arg(long = "max-traces", value_name = "N", default_value = "16", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub(crate) max_traces: u64,

    /// Memory for open recordings. Example: 512M
    #[arg(long = "max-memory", value_name = "BYTES", default_value = "2G", value_parser = bytes)]
    pub(crate) max_memory: u64,

    /// Maximum file size. Example: 512M
    #[arg(long = "max-file", value_name = "BYTES", default_value = "8G", value_parser = bytes)]
    pub(crate) max_file: u64,

    /// Time limit per call, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,

    /// Add the models, categories and tree passes of this file (.toml or .py)
    #[arg(long = "extension_file", value_name = "FILE")]
    pub(crate) extension_file: Option<PathBuf>,

    /// Python interpreter for a .py extension file [default: python3 on PATH]
    #[arg(long, value_name = "PATH", requires = "extension_file")]
    pub(crate) python: Option<PathBuf>,
}

/// A number of bytes, with K, M or G for 2¹⁰, 2²⁰, 2³⁰ of them.
fn bytes(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.trim_end_matches(['B', 'b']).char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let bytes = number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    bytes.filter(|&bytes| bytes > 0).ok_or_else(|| "expected a number of bytes, such as 2G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes("2G"), Ok(2 << 30));
        assert_eq!(bytes("100MB"), Ok(100 << 20));
        assert_eq!(bytes("4096"), Ok(4096));
        assert!(bytes("0").is_err() && bytes("many").is_err() && bytes("99999999999G").is_err());
    }
}
