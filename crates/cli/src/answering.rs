//! The answer as JSON: one document on standard output, whatever happens.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use answers::envelope::{Answer, Asked, Input, Problem, Role, code_of};
use report_writers::write_json;
use serde::Serialize;

use crate::console;
use crate::error::Failure;

/// The answer of a run.
struct Answering {
    /// What was asked.
    asked: Asked,
    /// Whether it is to be JSON, as far as arguments tell that nobody may have understood.
    is_wanted: bool,
    is_answered: bool,
}

static RUN: Mutex<Answering> = Mutex::new(Answering {
    asked: Asked { name: String::new(), options: Vec::new() },
    is_wanted: false,
    is_answered: false,
});

fn of_run() -> MutexGuard<'static, Answering> {
    RUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a run with these arguments.
pub(crate) fn begin(arguments: &[OsString]) {
    let is_wanted = arguments.iter().any(|argument| argument == "--json");
    *of_run() = Answering { asked: Asked::default(), is_wanted, is_answered: false };
}

/// Says what is asked.
pub(crate) fn ask(asked: Asked) {
    of_run().asked = asked;
}

fn asked() -> Asked {
    of_run().asked.clone()
}

/// Whether the answer is to be JSON.
pub(crate) fn is_wanted() -> bool {
    of_run().is_wanted
}

/// An answer about recordings.
pub(crate) fn about(files: &[PathBuf], is_hashed: bool) -> Answer<'static> {
    Answer::new(asked(), Input::all(files, Role::Trace, is_hashed))
}

/// An answer about runs that are compared with the first of them.
pub(crate) fn about_runs(baseline: &[PathBuf], candidates: &[PathBuf], is_hashed: bool) -> Answer<'static> {
    let mut inputs = Input::all(baseline, Role::Baseline, is_hashed);
    let others = candidates.iter().zip(inputs.len() + 1..);
    inputs.extend(others.map(|(path, number)| Input::of(path, Role::Candidate, number, is_hashed)));
    Answer::new(asked(), inputs)
}

/// Prints an answer.
pub(crate) fn print(answer: &Answer<'_>) -> Result<(), Failure> {
    of_run().is_answered = true;
    Ok(console::write_with(|out| write_json(answer, out))?)
}

/// Prints an answer with what a command says in its own form.
pub(crate) fn print_result(answer: Answer<'_>, result: &impl Serialize) -> Result<(), Failure> {
    print(&answer.with_result(result).map_err(io::Error::from)?)
}

/// A file in an answer: its name without its folder, which is the machine's.
pub(crate) fn name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()
}

/// Prints why there is no answer, unless there was one.
pub(crate) fn print_failure(failure: &Failure) {
    let problem = Problem::new(code_of(failure), failure.to_string());
    print_problem(match failure {
        Failure::Ingest(error) | Failure::OtherReader { error, .. } => problem.with_content(error),
        _ => problem,
    });
}

/// Prints that the arguments of a command are wrong.
pub(crate) fn print_usage_error(command: Option<&str>, message: String) {
    ask(Asked { name: command.unwrap_or_default().to_owned(), options: Vec::new() });
    print_problem(Problem::new("arguments", message));
}

fn print_problem(problem: Problem) {
    if is_wanted() && !of_run().is_answered {
        // The failure itself is printed to standard error, and decides on the exit code.
        let _ = print(&Answer::failed(asked(), Vec::new(), problem));
    }
}
