//! `tracelens mcp`: answers for agents.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use extension::Extension;
use mcp::{ExtensionFile, Options, Roots, serve};

use crate::TOOL;
use crate::arguments::mcp::McpArguments;
use crate::error::Failure;

/// The extension file, which must load.
fn extension(path: &Path, arguments: &McpArguments) -> Result<Arc<ExtensionFile>, Failure> {
    let (path, text, python) = crate::extension_file::read(path, arguments.python.as_deref())?;
    Extension::load(&path, &text, &python)?;
    Ok(Arc::new(ExtensionFile { path, text, python }))
}

pub(crate) fn run(arguments: &McpArguments) -> Result<(), Failure> {
    let options = Options {
        tool: TOOL,
        roots: Roots::new(&arguments.roots, arguments.max_file)?,
        most_characters: arguments.max_chars as usize,
        most_memory: arguments.max_memory,
        most_traces: arguments.max_traces as usize,
        timeout: Duration::from_secs(arguments.timeout),
        extension: arguments.extension_file.as_deref().map(|path| extension(path, arguments)).transpose()?,
    };
    Ok(serve(options, std::io::stdin().lock(), std::io::stdout())?)
}
