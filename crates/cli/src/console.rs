//! Standard output and standard error: the only place that prints.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use answers::diagnostic::help;
use clap::ColorChoice;
use miette::Diagnostic;
use report_writers::terminal::Style;
use sheets::escaped;
use tree_perf::Notice;

use crate::arguments::Stop;
use crate::error::Failure;

/// Widest text when the terminal does not say how wide it is.
const DEFAULT_WIDTH: usize = 110;
/// Fewest columns that are laid out for.
const LEAST_WIDTH: usize = 40;

/// What standard output can show, with colours where they are wanted.
pub(crate) fn style(color: ColorChoice) -> Style {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_terminal = io::stdout().is_terminal();
    let columns = || match terminal_size::terminal_size() {
        Some((width, _)) if is_terminal => usize::from(width.0),
        _ => DEFAULT_WIDTH,
    };
    let dumb = set("TERM").is_some_and(|term| term == "dumb");
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    Style {
        width: set("COLUMNS")
            .and_then(|columns| columns.parse().ok())
            .unwrap_or_else(columns)
            .max(LEAST_WIDTH),
        colored: match color {
            ColorChoice::Auto => is_terminal && !dumb && set("NO_COLOR").is_none(),
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        },
        unicode: !locale.is_some_and(|locale| locale == "C" || locale == "POSIX"),
    }
}

/// Columns of the terminal that standard output is; `None` where it is a file or pipe and lines may have any length.
pub(crate) fn terminal_width() -> Option<usize> {
    io::stdout().is_terminal().then(|| style(ColorChoice::Never).width)
}

/// Prints to standard output. A reader that has seen enough and closed the pipe is no failure.
pub(crate) fn print(text: impl fmt::Display) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = match is_read_for_commands() {
        true => out.write_all(without_commands(&text.to_string()).as_bytes()),
        false => write!(out, "{text}"),
    };
    ignore_closed_pipe(written.and_then(|()| out.flush()))
}

/// Runs `write` on standard output; like [`print`] for output that is not a text.
pub(crate) fn write_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    ignore_closed_pipe(write(&mut out).and_then(|()| out.flush()))
}

/// The same of a text.
pub(crate) fn write_text_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if !is_read_for_commands() {
        return write_with(write);
    }
    let mut text = Vec::new();
    write(&mut text)?;
    print(String::from_utf8_lossy(&text))
}

/// Whether lines of the output may be taken for commands: GitHub Actions, Azure Pipelines and TeamCity look for such.
fn is_read_for_commands() -> bool {
    ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"].iter().any(|name| std::env::var_os(name).is_some())
}

/// A text of which no line is a command to who runs the job: names in it may be from anybody.
fn without_commands(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let start = line.len() - line.trim_start().len();
        let (indent, rest) = line.split_at(start);
        out.push_str(indent);
        let rest = rest.strip_prefix("::").map_or(rest, |rest| {
            out.push_str("\\x3a:");
            rest
        });
        let marked = ["##[", "##vso[", "##teamcity["].iter().fold(rest.to_owned(), |line, command| {
            line.replace(command, &format!("#\\x23{}", &command[2..]))
        });
        out.push_str(&marked);
    }
    out
}

fn ignore_closed_pipe(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

/// Prints what stands in place of an answer, and gives the exit code.
pub(crate) fn stop(stop: &Stop) -> u8 {
    // Nowhere is left to report what cannot be printed.
    let _ = stop.print();
    stop.exit_code()
}

/// Hands on what standard output still holds, which else happens at the end of a program alone.
pub(crate) fn flush() {
    // What was printed has been told to whoever printed it.
    let _ = io::stdout().lock().flush();
}

/// A message for people and, apart from it, what to do.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Said {
    /// What a library says.
    pub(crate) fn new(said: &dyn Diagnostic) -> Self {
        Said { message: said.to_string(), help: help(said) }
    }

    /// With what to do in this program, behind what the library says of that.
    pub(crate) fn with_help(self, more: &str) -> Self {
        let help = self.help.map_or_else(|| more.to_owned(), |help| format!("{help}; {more}"));
        Said { help: Some(help), ..self }
    }

    /// With a remark before the message.
    pub(crate) fn with_start(self, start: &str) -> Self {
        Said { message: format!("{start}: {}", self.message), ..self }
    }
}

impl From<String> for Said {
    fn from(message: String) -> Self {
        Said { message, help: None }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escaped(&self.message).fmt(f)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "\n  help: {}", escaped(help)))
    }
}

/// Prints what ends the run to standard error.
pub(crate) fn error(failure: &Failure) {
    let said = Said::new(failure);
    match failure.has_lines() {
        true => {
            to_stderr(format_args!("tracelens: error: {}", OwnLines(&said.message)));
            said.help.iter().for_each(|help| to_stderr(format_args!("  help: {}", OwnLines(help))));
        }
        false => say("error", &said),
    }
}

/// Prints what the run got over to standard error.
pub(crate) fn warning(message: impl fmt::Display) {
    say("warning", &message.to_string().into());
}

/// Prints what a library got over to standard error.
pub(crate) fn diagnostic(said: &impl Diagnostic) {
    say("warning", &Said::new(said));
}

/// Prints what the reader should know of what the run did to standard error.
pub(crate) fn note(message: impl fmt::Display) {
    say("note", &message.to_string().into());
}

/// Prints a message to standard error.
pub(crate) fn say(label: &str, said: &Said) {
    to_stderr(format_args!("tracelens: {label}: {said}"));
}

/// Prints where the time of the run went to standard error.
pub(crate) fn timings(text: impl fmt::Display) {
    to_stderr(format_args!("{text}"));
}

/// Prints what an extension says to standard error: what its script prints, as it is, and what went wrong.
pub(crate) fn extension(notice: &Notice) {
    match notice {
        Notice::ExtensionSays { text } => to_stderr(format_args!("{}", OwnLines(text))),
        notice => to_stderr(format_args!("tracelens: warning: {}", OwnLines(&notice.to_string()))),
    }
}

/// A text in which ends of lines and tabs are meant, as in excerpts of a script; all else is [`escaped`].
struct OwnLines<'a>(&'a str);

impl fmt::Display for OwnLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.split_inclusive(['\n', '\t']).try_for_each(|part| {
            let line = part.trim_end_matches(['\n', '\t']);
            write!(f, "{}{}", escaped(line), &part[line.len()..])
        })
    }
}

fn to_stderr(line: fmt::Arguments<'_>) {
    // Nowhere is left to report a standard error that cannot be written.
    let _ = match is_read_for_commands() {
        true => writeln!(io::stderr().lock(), "{}", without_commands(&line.to_string())),
        false => writeln!(io::stderr().lock(), "{line}"),
    };
}
