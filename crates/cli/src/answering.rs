//! The answer as JSON: one document on standard output, whatever happens.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use answers::envelope::{Answer, Asked, Input, InputDetails, Problem, Role, Status, code_of};
use report_writers::write_json;
use serde::Serialize;

use crate::TOOL;
use crate::arguments::answer_output::AnswerOutput;
use crate::console;
use crate::error::Failure;

/// The answer of a run.
struct Answering {
    /// What was asked.
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

/// An answer from these inputs.
fn from_inputs(inputs: Vec<Input>) -> Answer<'static> {
    let run = of_run();
    let answer = Answer::new(TOOL, run.asked.clone(), inputs);
    Answer { created_at: run.output.document.stamp.then(|| date_and_time(SystemTime::now())), ..answer }
}

/// A time as RFC 3339 has it, in UTC and whole seconds.
fn date_and_time(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, so that the day of a leap year is their last. Of 400 years all have as many days.
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z", 400 * era + year)
}

/// What inputs say of their files.
fn details() -> InputDetails {
    let AnswerOutput { no_hash, full_paths, .. } = of_run().output;
    InputDetails { hash: !no_hash, full_path: full_paths }
}

/// An answer about recordings.
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

/// Prints an answer.
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
    let mut problem = Problem::new(code_of(failure), failure.to_string());
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
    print_problem(Problem::new("arguments", message));
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_dates_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_795_824_000, "2026-11-28T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date_and_time(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }
}
