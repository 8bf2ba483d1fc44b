//! Errors of scripts, with the line and, where a script is Python, with what to write instead.

use std::collections::BTreeMap;
use std::fmt;

use starlark::codemap::Pos;

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
    /// The script as it was named to [`Extension::load`](crate::Extension::load).
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

/// The lines of the script, counted from 1, by where their statements and expressions begin in the rewritten text.
pub(crate) struct Lines(pub(crate) BTreeMap<u32, usize>);

impl Lines {
    /// The line of what stands at a place of the rewritten text.
    pub(crate) fn line(&self, at: Pos) -> Option<usize> {
        self.0.range(..=at.get()).next_back().map(|(_, &line)| line)
    }
}

/// How a script stopped, before it is known what it was doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) line: Option<usize>,
    pub(crate) reason: String,
    pub(crate) kind: FaultKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    Syntax,
    Script,
    Limit,
}

impl Fault {
    pub(crate) fn limit(reason: impl Into<String>) -> Self {
        Fault { line: None, reason: reason.into(), kind: FaultKind::Limit }
    }

    /// `lines` are those of a script that was rewritten.
    pub(crate) fn from_error(error: &starlark::Error, lines: Option<&Lines>) -> Self {
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
        let line = error.span().and_then(|place| match lines {
            Some(lines) => lines.line(place.span.begin()),
            None => Some(place.resolve_span().begin.line + 1),
        });
        Fault { line, reason, kind }
    }

    /// Where the script asked for a field that is not there, and none is called much like it: says which
    /// `fields` there are.
    pub(crate) fn naming_fields(mut self, fields: impl FnOnce() -> String) -> Self {
        let is_missing = self.reason.starts_with("Object of type `struct` has no attribute");
        if is_missing && !self.reason.contains("did you mean") {
            self.reason = format!("{}; {}", self.reason, fields());
        }
        self
    }

    pub(crate) fn at(self, path: &str, text: &str, activity: &'static str) -> ExtensionError {
        let at = Place { path: path.to_owned(), line: self.line };
        match self.kind {
            FaultKind::Syntax => syntax(at, &self.reason, text),
            FaultKind::Script => ExtensionError::Failed { at, activity, reason: self.reason },
            FaultKind::Limit => ExtensionError::Limit { at, activity, reason: self.reason },
        }
    }
}

/// A complaint about what a script gave to a builtin function.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Complaint(String);

pub(crate) fn complain(reason: impl Into<String>) -> starlark::Error {
    starlark::Error::new_other(Complaint(reason.into()))
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

/// Statements by their first word.
const STATEMENTS: &[(&str, &str)] = &[
    ("import", "remove the import: `model`, `work`, `prod` and `element_size` are there without one"),
    ("from", "remove the import: `model`, `work`, `prod` and `element_size` are there without one"),
    (
        "class",
        "write a function of the event that returns `model(\"gemm\", …)` or `work(flops=…, bytes=…, …)` in place of a model class",
    ),
    (
        "try",
        "there are no exceptions to catch: test first (`if len(event.dims) > 3:`); an error leaves the call without figures and is shown as the reason",
    ),
    ("except", "there are no exceptions to catch: test first"),
    ("finally", "there are no exceptions to catch: test first"),
    ("raise", "call `fail(\"reason\")` in place of `raise`"),
    ("assert", "write `if not condition: fail(\"reason\")` in place of `assert`"),
    ("with", "scripts open no files: remove the `with` block"),
    ("while", "write `for _ in range(limit):` with a `break` in place of `while`"),
    ("global", "functions cannot change globals: return the value"),
    ("nonlocal", "functions cannot change outer variables: return the value"),
    ("del", "use `d.pop(key)` in place of `del`"),
    ("yield", "collect a list and return it in place of `yield`"),
    ("async", "there is nothing asynchronous: remove `async`"),
    ("@", "there are no decorators: call the function around it"),
];

/// Operators and literals that can stand anywhere in a line.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("f\"", "an f-string takes values without a format (`:.2f`, `=`): write `{value}`, or `\"…\" % value`"),
    ("f'", "an f-string takes values without a format (`:.2f`, `=`): write `{value}`, or `'…' % value`"),
    (" is not None", "write `!= None` in place of `is not None`"),
    (" is None", "write `== None` in place of `is None`"),
    (" is ", "write `==` in place of `is`"),
    ("**", "there is no power operator: multiply"),
    (":=", "assign on a line of its own in place of `:=`"),
    ("lambda *", "write a `def` in place of the lambda"),
];

/// A line that is Python but not Starlark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PythonLine {
    /// Counted from 1.
    line: usize,
    /// The word or sign.
    found: &'static str,
    /// What to write instead.
    instead: &'static str,
}

/// What of a line is Python but not Starlark.
fn python_in(text: &str, line: usize) -> Option<PythonLine> {
    let source = text.lines().nth(line.checked_sub(1)?)?;
    statement(source)
        .or_else(|| EXPRESSIONS.iter().copied().find(|(sign, _)| source.contains(sign)))
        .map(|(found, instead)| PythonLine { line, found: found.trim(), instead })
}

/// All statements of the text that are Python but not Starlark; texts in triple quotes are passed over.
fn python_statements(text: &str) -> Vec<PythonLine> {
    let mut in_text = false;
    let mut found = Vec::new();
    for (position, source) in text.lines().enumerate() {
        let quotes = source.matches("\"\"\"").count() + source.matches("'''").count();
        if !in_text && let Some((word, instead)) = statement(source) {
            found.push(PythonLine { line: position + 1, found: word, instead });
        }
        in_text ^= quotes % 2 == 1;
    }
    found
}

fn statement(source: &str) -> Option<(&'static str, &'static str)> {
    let source = source.trim_start();
    STATEMENTS.iter().copied().find(|(word, _)| {
        source.strip_prefix(word).is_some_and(|rest| {
            *word == "@"
                || !rest.starts_with(|next: char| {
                    next.is_alphanumeric() || "_.=([ ".contains(next) && is_use(rest)
                })
        })
    })
}

/// Whether what follows a word makes it a name that is used rather than a statement: `from = 1`, `del.x`.
fn is_use(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.starts_with('.') || (rest.starts_with('=') && !rest.starts_with("==")) || rest.starts_with('_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_python_are_found_outside_of_texts() {
        let text = "\"\"\"\nimport this\n\"\"\"\nimport math\nimported = 1\nclass A:\n    raise ValueError()\nwithout = 2\n@wrap\n";
        let found: Vec<_> = python_statements(text).into_iter().map(|line| (line.line, line.found)).collect();
        assert_eq!(found, [(4, "import"), (6, "class"), (7, "raise"), (9, "@")]);
    }

    #[test]
    fn signs_of_python_are_found_in_their_line() {
        for (text, found) in [
            ("x = 2 ** 3", Some("**")),
            ("if x is None:", Some("is None")),
            ("x = f\"{a.b}\"", Some("f\"")),
            ("if (n := 1):", Some(":=")),
            ("x = 1", None),
        ] {
            assert_eq!(python_in(text, 1).map(|line| line.found), found, "{text}");
        }
        assert_eq!(python_in("", 1), None);
    }
}
