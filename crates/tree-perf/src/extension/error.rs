use std::fmt;

use super::python::{PythonLine, python_in, python_statements};

/// Why an extension script cannot be used, or stopped. Displays with file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtensionError {
    /// The text is not Starlark.
    #[error("{at}: {found}; {help}")]
    Syntax {
        /// Where.
        at: Place,
        /// What stands there.
        found: String,
        /// What to write instead.
        help: String,
    },
    /// The script failed while it ran.
    #[error("{at}: {reason} (in {activity})")]
    Failed {
        /// Where.
        at: Place,
        /// What the script was doing: `loading`, `tree_postprocess_extension`.
        activity: &'static str,
        /// What failed.
        reason: String,
    },
    /// A member that the tool reads has another form than it must have.
    #[error("{at}: {member} must be {expected}, found {found}")]
    Member {
        /// Where it is assigned.
        at: Place,
        /// Its name.
        member: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// The script took more time, memory or calls than it may.
    #[error(
        "{at}: {reason} (in {activity}); look for a loop or recursion that does not end, or a value that grows too large"
    )]
    Limit {
        /// Where it was stopped.
        at: Place,
        /// What the script was doing.
        activity: &'static str,
        /// Which limit.
        reason: String,
    },
}

/// A line of a script. Displays as `path:line`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The script as it was named to [`Extension::load`](super::Extension::load).
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

/// How a script stopped, before it is known what it was doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: Option<usize>,
    pub(super) reason: String,
    pub(super) kind: FaultKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    Syntax,
    Script,
    Limit,
}

impl Fault {
    pub(super) fn limit(reason: impl Into<String>) -> Self {
        Fault { line: None, reason: reason.into(), kind: FaultKind::Limit }
    }

    pub(super) fn of(error: &starlark::Error) -> Self {
        let kind = match error.kind() {
            starlark::ErrorKind::Parser(_) => FaultKind::Syntax,
            starlark::ErrorKind::StackOverflow(_) => FaultKind::Limit,
            _ => FaultKind::Script,
        };
        let reason = match error.kind() {
            starlark::ErrorKind::StackOverflow(_) => "functions call each other too deeply".to_owned(),
            starlark::ErrorKind::Fail(reason) => reason.to_string().trim().to_owned(),
            _ => error.without_diagnostic().to_string(),
        };
        let line = error.span().map(|span| span.resolve_span().begin.line + 1);
        Fault { line, reason, kind }
    }

    /// Where the script asked for a field that is not there, and none is called much like it: says which
    /// `fields` there are.
    pub(super) fn naming_fields(mut self, fields: impl FnOnce() -> String) -> Self {
        let is_missing = self.reason.starts_with("Object of type `struct` has no attribute");
        if is_missing && !self.reason.contains("did you mean") {
            self.reason = format!("{}; {}", self.reason, fields());
        }
        self
    }

    pub(super) fn at(self, path: &str, text: &str, activity: &'static str) -> ExtensionError {
        let at = Place { path: path.to_owned(), line: self.line };
        match self.kind {
            FaultKind::Syntax => syntax(at, &self.reason, text),
            FaultKind::Script => ExtensionError::Failed { at, activity, reason: self.reason },
            FaultKind::Limit => ExtensionError::Limit { at, activity, reason: self.reason },
        }
    }
}

/// The parser's error, or the Python that caused it. The parser stops where it understands no more, which
/// may be later than the first line that has to change; all such lines are listed.
fn syntax(at: Place, parser: &str, text: &str) -> ExtensionError {
    let statements = python_statements(text);
    let there = at.line.and_then(|line| python_in(text, line));
    let Some(PythonLine { line, found, instead }) = there.or_else(|| statements.first().copied()) else {
        // The parser blames the line before the tab.
        let tab = text.lines().position(|line| line.trim_start_matches(' ').starts_with('\t'));
        let (line, help) = match tab.filter(|_| parser.contains("tabs are not allowed")) {
            Some(position) => (Some(position + 1), "indent with spaces"),
            None => {
                (at.line, "extension scripts are written in Starlark, which has a part of Python's syntax")
            }
        };
        return ExtensionError::Syntax {
            at: Place { line, ..at },
            found: parser.to_owned(),
            help: help.to_owned(),
        };
    };
    let others: Vec<String> = statements
        .iter()
        .filter(|other| other.line != line)
        .map(|other| format!("{} (`{}`)", other.line, other.found))
        .collect();
    let more = match others.as_slice() {
        [] => String::new(),
        [other] => format!("; to be changed, too: line {other}"),
        others => format!("; to be changed, too: lines {}", others.join(", ")),
    };
    ExtensionError::Syntax {
        at: Place { line: Some(line), ..at },
        found: format!("`{found}` is Python but not Starlark, the language of extension scripts"),
        help: format!("{instead}{more}"),
    }
}
