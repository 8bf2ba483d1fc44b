//! Why an extension file cannot be used, or stopped.

use std::fmt;

/// Why an extension file cannot be used, or stopped. Displays with file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum ExtensionError {
    /// The file is not in its language.
    #[error("{at}: {reason} (in {activity})")]
    #[diagnostic(code("extension/syntax"))]
    Syntax {
        /// Where.
        at: Place,
        /// What the file was doing: `loading`.
        activity: &'static str,
        /// What stands there.
        reason: String,
    },
    /// A member that the program reads has another form than it must have.
    #[error("{at}: {reason} (in {activity})")]
    #[diagnostic(code("extension/member"))]
    Member {
        /// Where it is assigned.
        at: Place,
        /// What the file was doing.
        activity: &'static str,
        /// What the member must be, and what it is.
        reason: String,
    },
    /// The file raised an exception.
    #[error("{at}: {reason} (in {activity})")]
    #[diagnostic(code("extension/failed"))]
    Failed {
        /// Where.
        at: Place,
        /// What the file was doing: `loading`, `tree_postprocess_extension`.
        activity: &'static str,
        /// What failed.
        reason: String,
    },
    /// The file took more time or memory than it may.
    #[error("{at}: {reason} (in {activity})")]
    #[diagnostic(
        code("extension/limit"),
        help("look for an endless loop or a value that grows without bound")
    )]
    Limit {
        /// Where it was stopped.
        at: Place,
        /// What the file was doing.
        activity: &'static str,
        /// Which limit.
        reason: String,
    },
    /// There is no Python to run the file with.
    #[error("{path} needs Python, but {python:?} cannot be started: {reason}")]
    #[diagnostic(
        code("extension/no-python"),
        help("choose an interpreter with --python, or write the extension in TOML, which needs none")
    )]
    NoPython {
        /// The extension file.
        path: String,
        /// The interpreter that was tried.
        python: String,
        /// What the operating system says.
        reason: String,
    },
    /// The name of the file says neither TOML nor Python.
    #[error("{path}: extension files end in .toml or .py")]
    #[diagnostic(code("extension/form"), help("{help}"))]
    Form {
        /// The extension file.
        path: String,
        /// What to do about it.
        help: &'static str,
    },
}

/// A line of an extension file. Displays as `path:line`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file as it was named to [`Extension::load`](crate::Extension::load).
    pub path: String,
    /// Counted from 1; `None` where no line is to blame.
    pub line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        match self.line {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}
