//! The answer as JSON: one document on standard output, whatever happens.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use answers::envelope::{Answer, Asked, Input, InputDetails, Problem, Role, Status};
use chrono::{DateTime, SecondsFormat, Utc};
use report_writers::write_json;
use serde::Serialize;

use crate::TOOL;
use crate::arguments::answer_output::AnswerOutput;
use crate::console;
use crate::error::Failure;

/// The answer of a run.
struct Answering {
    asked: Asked,
    /// How the answer is written; until the arguments are understood, as far as they tell without that.
    output: AnswerOutput,
    is_answered: bool,
    /// Whether all answers so far are whole.
    is_whole: bool,
}

static RUN: Mutex<Answering> = Mutex::new(Answering {
    asked: Asked { name: String::new(), options: Vec::new() },
    output: AnswerOutput::NONE,
    is_answered: false,
    is_whole: true,
});

fn of_run() -> MutexGuard<'static, Answering> {
    RUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a run with these arguments.
pub(crate) fn begin(arguments: &[OsString]) {
    let output = AnswerOutput::written_in(arguments);
    *of_run() = Answering { asked: Asked::default(), output, is_answered: false, is_whole: true };
}

/// Says what is asked, and how the answer is to be written.
pub(crate) fn ask(asked: Asked, output: AnswerOutput) {
    let mut run = of_run();
    (run.asked, run.output) = (asked, output);
}

fn from_inputs(inputs: Vec<Input>) -> Answer<'static> {
    let run = of_run();
    let answer = Answer::new(TOOL, run.asked.clone(), inputs);
    let now = || DateTime::<Utc>::from(SystemTime::now()).to_rfc3339_opts(SecondsFormat::Secs, true);
    Answer { created_at: run.output.files.document.stamp.then(now), ..answer }
}

/// What inputs say of their files.
fn details() -> InputDetails {
    of_run().output.files.details()
}

pub(crate) fn about(files: &[PathBuf]) -> Answer<'static> {
    from_inputs(Input::all(files, Role::Trace, details()))
}

/// An answer about runs that are compared with the first of them.
pub(crate) fn about_runs(baseline: &[PathBuf], candidates: &[PathBuf]) -> Answer<'static> {
    let details = details();
    let mut inputs = Input::all(baseline, Role::Baseline, details);
    let others = candidates.iter().zip(inputs.len() + 1..);
    inputs.extend(others.map(|(path, number)| Input::of(path, Role::Candidate, number, details)));
    from_inputs(inputs)
}

/// Notes whether an answer is whole, for `--strict`. Those that are printed are noted.
pub(crate) fn note(status: Status) {
    of_run().is_whole &= status == Status::Ok;
}

/// Whether the answers are as whole as `--strict` wants them.
pub(crate) fn check_whole() -> Result<(), Failure> {
    let run = of_run();
    if run.output.strict && !run.is_whole { Err(Failure::Lacking) } else { Ok(()) }
}

pub(crate) fn print(answer: &Answer<'_>) -> Result<(), Failure> {
    note(answer.status);
    of_run().is_answered = true;
    Ok(console::write_with(|out| write_json(answer, out))?)
}

/// Prints an answer with what a command says in its own form.
pub(crate) fn print_result(answer: Answer<'_>, result: &impl Serialize) -> Result<(), Failure> {
    print(&answer.with_result(result).map_err(io::Error::from)?)
}

/// A file as answers name it.
pub(crate) fn name(path: &Path) -> String {
    details().name_of(path)
}

/// Prints why there is no answer, unless there was one.
pub(crate) fn print_failure(failure: &Failure) {
    let mut problem = Problem::new(failure);
    if let Some(file) = failure.input() {
        problem = problem.with_input(file, details());
    }
    print_problem(match failure {
        Failure::Ingest(error) | Failure::OtherReader { error, .. } => problem.with_content(error),
        _ => problem,
    });
}

/// Prints that the arguments of a command are wrong.
pub(crate) fn print_usage_error(command: Option<&str>, message: String) {
    of_run().asked.name = command.unwrap_or_default().to_owned();
    print_problem(Problem::new(&Failure::Arguments(message)));
}

fn print_problem(problem: Problem) {
    let is_missing = {
        let run = of_run();
        run.output.is_json() && !run.is_answered
    };
    if is_missing {
        // The failure itself is printed to standard error, and decides on the exit code.
        let _ = print(&from_inputs(Vec::new()).failed(problem));
    }
}
