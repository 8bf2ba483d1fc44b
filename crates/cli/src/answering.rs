//! The answer as JSON: one document on standard output, whatever happens.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use answers::envelope::{Answer, Asked, Input, Problem, Role, code_of};
use report_writers::write_json;
use serde::Serialize;

use crate::console;
use crate::error::Failure;

/// What was asked; set once, before anything is answered.
static ASKED: OnceLock<Asked> = OnceLock::new();
static IS_ANSWERED: AtomicBool = AtomicBool::new(false);

/// Says what is asked.
pub(crate) fn begin(asked: Asked) {
    ASKED.get_or_init(|| asked);
}

fn asked() -> Asked {
    ASKED.get().cloned().unwrap_or_default()
}

/// Whether the answer is to be JSON, as far as arguments tell that nobody may have understood.
pub(crate) fn is_wanted() -> bool {
    std::env::args_os().any(|argument| argument == "--json")
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
    IS_ANSWERED.store(true, Ordering::Relaxed);
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
    begin(Asked { name: command.unwrap_or_default().to_owned(), options: Vec::new() });
    print_problem(Problem::new("arguments", message));
}

fn print_problem(problem: Problem) {
    if is_wanted() && !IS_ANSWERED.load(Ordering::Relaxed) {
        // The failure itself is printed to standard error, and decides on the exit code.
        let _ = print(&Answer::failed(asked(), Vec::new(), problem));
    }
}
