//! Flags of `tracelens mcp`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tracelens mcp --root ~/traces                       serve the recordings of a folder to an agent
  claude mcp add tracelens -- tracelens mcp --root .  how one agent is told to start it

The server speaks the Model Context Protocol on standard input and output. It reads regular files below its roots, writes
nothing and opens no connection. It runs an extension file only when it is started with one: clients cannot name any. `tracelens info skill` prints what an agent should know.";

#[derive(Args)]
pub(crate) struct McpArguments {
    /// Folders whose recordings may be read; nothing outside of them is
    #[arg(long = "root", value_name = "DIR", required = true, num_args = 1..)]
    pub(crate) roots: Vec<PathBuf>,

    /// Characters of an answer, as structure and as text each; rows beyond them are left for the next page
    #[arg(long = "max-chars", value_name = "N", default_value = "24000", value_parser = clap::value_parser!(u64).range(4_000..=100_000))]
    pub(crate) max_chars: u64,

    /// Recordings that are held at most; the least recently used go first
    #[arg(long = "max-traces", value_name = "N", default_value = "16", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub(crate) max_traces: u64,

    /// Memory for held recordings in bytes, as M or G too
    #[arg(long = "max-memory", value_name = "BYTES", default_value = "2G", value_parser = bytes)]
    pub(crate) max_memory: u64,

    /// Largest file that is read in bytes, as M or G too
    #[arg(long = "max-file", value_name = "BYTES", default_value = "8G", value_parser = bytes)]
    pub(crate) max_file: u64,

    /// Seconds that a call may take
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,

    /// Analyse the recordings with the models, categories and tree passes of this file (.toml or .py) too
    #[arg(long = "extension_file", value_name = "FILE")]
    pub(crate) extension_file: Option<PathBuf>,

    /// Python interpreter for an --extension_file that ends in .py (default: python3 on PATH)
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
