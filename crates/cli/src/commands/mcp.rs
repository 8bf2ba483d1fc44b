//! `tracelens mcp`: answers for agents.

use std::time::Duration;

use mcp::{Options, Roots, serve};

use crate::TOOL;
use crate::arguments::mcp::McpArguments;
use crate::error::Failure;

pub(crate) fn run(arguments: &McpArguments) -> Result<(), Failure> {
    let options = Options {
        tool: TOOL,
        roots: Roots::new(&arguments.roots, arguments.max_file)?,
        most_characters: arguments.max_chars as usize,
        most_memory: arguments.max_memory,
        most_traces: arguments.max_traces as usize,
        timeout: Duration::from_secs(arguments.timeout),
    };
    Ok(serve(options, std::io::stdin().lock(), std::io::stdout())?)
}
