//! What a command runs with: the options that were given, and where its answer goes. The answer as JSON is one document on
//! standard output, whatever happens.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use answers::envelope::{Answer, Asked, Input, InputDetails, Problem, Role, Status, Tool};
use chrono::{DateTime, SecondsFormat, Utc};
use report_writers::terminal::Style;
use report_writers::write_json;
use serde::Serialize;

use crate::arguments::Given;
use crate::arguments::answer_output::AnswerOutput;
use crate::console;
use crate::error::Failure;
use crate::timings::Timings;

/// This program, as its answers name it.
pub const TOOL: Tool = Tool::with_features(&[
    #[cfg(feature = "mcp")]
    "mcp",
]);

/// A run of a command.
pub(crate) struct Context<'g> {
    /// The options that were given.
    pub(crate) given: &'g Given,
    /// Where the time of the run goes.
    pub(crate) timings: RefCell<Timings>,
    asked: RefCell<Asked>,
    /// How the answer is written.
    output: AnswerOutput,
    is_answered: Cell<bool>,
    /// Whether all answers so far are whole.
    is_whole: Cell<bool>,
}

impl<'g> Context<'g> {
    /// A run with these options, whose answer is written so.
    pub(crate) fn new(given: &'g Given, output: AnswerOutput) -> Self {
        Context {
            given,
            timings: RefCell::new(Timings::new(given.timings())),
            asked: RefCell::default(),
            output,
            is_answered: Cell::new(false),
            is_whole: Cell::new(true),
        }
    }

    /// Says what is asked.
    pub(crate) fn ask(&self, asked: Asked) {
        self.asked.replace(asked);
    }

    /// What standard output can show.
    pub(crate) fn style(&self) -> Style {
        console::style(self.given.color())
    }

    /// An answer from these inputs.
    fn answer_from(&self, inputs: Vec<Input>) -> Answer<'static> {
        let answer = Answer::new(TOOL, self.asked.borrow().clone(), inputs);
        let now = || DateTime::<Utc>::from(SystemTime::now()).to_rfc3339_opts(SecondsFormat::Secs, true);
        Answer { created_at: self.output.files.document.stamp.then(now), ..answer }
    }

    /// What inputs say of their files.
    fn details(&self) -> InputDetails {
        self.output.files.details()
    }

    /// An answer about recordings.
    pub(crate) fn about(&self, files: &[PathBuf]) -> Answer<'static> {
        self.answer_from(Input::all(files, Role::Trace, self.details()))
    }

    /// An answer about runs that are compared with the first of them.
    pub(crate) fn about_runs(&self, baseline: &[PathBuf], candidates: &[PathBuf]) -> Answer<'static> {
        let details = self.details();
        let mut inputs = Input::all(baseline, Role::Baseline, details);
        let others = candidates.iter().zip(inputs.len() + 1..);
        inputs.extend(others.map(|(path, number)| Input::of(path, Role::Candidate, number, details)));
        self.answer_from(inputs)
    }

    /// Notes whether an answer is whole, for `--strict`. Those that are printed are noted.
    pub(crate) fn note(&self, status: Status) {
        self.is_whole.set(self.is_whole.get() && status == Status::Ok);
    }

    /// Whether the answers are as whole as `--strict` wants them.
    pub(crate) fn check_whole(&self) -> Result<(), Failure> {
        if self.output.strict && !self.is_whole.get() { Err(Failure::Lacking) } else { Ok(()) }
    }

    /// Prints an answer.
    pub(crate) fn print(&self, answer: &Answer<'_>) -> Result<(), Failure> {
        self.note(answer.status);
        self.is_answered.set(true);
        Ok(console::write_with(|out| write_json(answer, out))?)
    }

    /// Prints an answer with what a command says in its own form.
    pub(crate) fn print_result(&self, answer: Answer<'_>, result: &impl Serialize) -> Result<(), Failure> {
        self.print(&answer.with_result(result).map_err(io::Error::from)?)
    }

    /// A file as answers name it.
    pub(crate) fn name(&self, path: &Path) -> String {
        self.details().name_of(path)
    }

    /// Prints why there is no answer, unless there was one.
    pub(crate) fn print_failure(&self, failure: &Failure) {
        let mut problem = Problem::new(failure);
        if let Some(file) = failure.input() {
            problem = problem.with_input(file, self.details());
        }
        self.print_problem(match failure {
            Failure::Ingest(error) | Failure::OtherReader { error, .. } => problem.with_content(error),
            _ => problem,
        });
    }

    /// Prints that the arguments of a command are wrong.
    pub(crate) fn print_usage_error(&self, command: Option<&str>, message: String) {
        self.asked.borrow_mut().name = command.unwrap_or_default().to_owned();
        self.print_problem(Problem::new(&Failure::Arguments(message)));
    }

    fn print_problem(&self, problem: Problem) {
        if self.output.is_json() && !self.is_answered.get() {
            // The failure itself is printed to standard error, and decides on the exit code.
            let _ = self.print(&self.answer_from(Vec::new()).failed(problem));
        }
    }
}
