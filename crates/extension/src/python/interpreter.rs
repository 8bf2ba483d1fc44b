//! The Python that runs extension files, and its limits.

use std::path::PathBuf;
use std::time::Duration;

/// The interpreter of Python files, and how much they may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Python {
    /// The program: a path, or a name to look for on `PATH`.
    pub program: PathBuf,
    /// How much the file may use.
    pub limits: Limits,
}

impl Default for Python {
    /// `python3` (on Windows `python`) on `PATH`.
    fn default() -> Self {
        let program = if cfg!(windows) { "python" } else { "python3" };
        Python { program: program.into(), limits: Limits::default() }
    }
}

/// How much a Python file may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time of loading, of the rule on the tree, and of the models of one report.
    pub time: Duration,
    /// Bytes of the process, which the operating system counts (not on Windows and macOS).
    pub memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { time: Duration::from_secs(60), memory_bytes: 8 << 30 }
    }
}
