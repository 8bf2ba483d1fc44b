//! How a server works.

use std::sync::Arc;
use std::time::Duration;

use answers::envelope::Tool;
use extension::{Extension, ExtensionError, Python};

use crate::roots::Roots;

/// How a server works.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program that serves, as its answers name it.
    pub tool: Tool,
    /// Which files may be read.
    pub roots: Roots,
    /// Characters of an answer, as structure and as text each.
    pub most_characters: usize,
    /// Memory that recordings may take before the least recently used are given up, in bytes, by the server's own count.
    pub most_memory: u64,
    /// Recordings that are held at most.
    pub most_traces: usize,
    /// How long a call may take.
    pub timeout: Duration,
    /// What the recordings are analysed with. No client can name another.
    pub extension: Option<Arc<ExtensionFile>>,
}

/// An extension file, as it was when the server started. Each recording has it loaded anew, and a Python file in a process of
/// its own.
#[derive(Clone, Debug)]
pub struct ExtensionFile {
    /// What messages call it; its ending decides the form.
    pub path: String,
    /// What stands in it.
    pub text: String,
    /// Who runs it.
    pub python: Python,
}

impl ExtensionFile {
    pub(crate) fn load(&self) -> Result<Extension, ExtensionError> {
        Extension::load(&self.path, &self.text, &self.python)
    }
}
