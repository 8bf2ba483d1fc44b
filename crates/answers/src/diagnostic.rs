//! What is said, in its one form. Errors, warnings and findings of all crates are [`miette::Diagnostic`]s: a stable code, a
//! severity, a message and, apart from it, what to do. Who shows one asks for its parts here.

use miette::Diagnostic;

#[cfg(test)]
mod tests;

/// The code of a diagnostic: its own and, behind a slash, that of the one that it wraps, if it names one.
#[must_use]
pub fn code(said: &dyn Diagnostic) -> String {
    let own = said.code().map(|code| code.to_string());
    let inner = said.diagnostic_source().map(code);
    own.into_iter().chain(inner).collect::<Vec<_>>().join("/")
}

/// What to do, by the diagnostic or else by the one that it wraps.
#[must_use]
pub fn help(said: &dyn Diagnostic) -> Option<String> {
    let own = said.help().map(|help| help.to_string());
    own.or_else(|| said.diagnostic_source().and_then(help))
}

/// The message and what to do as one line, for tables and lists.
#[must_use]
pub fn in_one_line(said: &dyn Diagnostic) -> String {
    help(said).map_or_else(|| said.to_string(), |help| format!("{said}; {help}"))
}
