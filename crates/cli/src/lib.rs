//! The `tracelens` command line: arguments in, library calls, text and files out.
//!
//! [`run`] is the whole of it, for any process; what only a process of its own may do stands in
//! [`clean_up_when_interrupted`]. [`model`] gives a program the answer that `tracelens model` prints.

#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod comparison_text;
mod console;
mod context;
mod destinations;
mod error;
mod extension_file;
mod interruption;
mod job_recordings;
mod model;
mod notices;
mod phases;
mod progress;
mod request;
mod standard_input;
mod summary;
mod timings;
mod trace_copy;
mod trace_request;
mod wrapping;

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

use answers::columns_page;
use answers::envelope::schema;
use arguments::answer_output::AnswerOutput;
use arguments::{Command, Given, any_report};
use context::Context;
use error::Failure;
use trace_ingest::{RecordingKind, recognise};

pub use context::TOOL;
pub use interruption::clean_up_when_interrupted;
pub use model::{ModelAnswer, NoAnswer, model};

/// Standard output takes one answer at a time.
static RUNNING: Mutex<()> = Mutex::new(());

/// Runs the command line on its arguments, the name of the program first, and gives the exit code of the program:
/// 0 when all went well, 2 when the arguments are wrong, others as `tracelens man` lists them.
///
/// It reads standard input, prints to standard output and standard error, and writes files where the arguments say.
/// Runs on several threads wait for each other.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Until the arguments are understood they say how an answer is written as far as they do without that.
    let output = AnswerOutput::written_in(&arguments);
    if let Some((before, now)) = arguments::renamed_in(&arguments) {
        let before = before.to_string_lossy();
        console::note(format_args!("`tracelens {before}` is now `tracelens {now}`"));
    }
    let exit_code = match arguments::parse(arguments) {
        Ok((command, given)) => answer(command, &Context::new(&given, given.answer_output())),
        Err(stop) => {
            if stop.is_wrong_usage() {
                Context::new(&Given::default(), output).print_usage_error(stop.command(), stop.text());
            }
            console::stop(&stop)
        }
    };
    console::flush();
    exit_code
}

fn answer(command: Command, context: &Context<'_>) -> u8 {
    // Which options a report of any recorder has is known when its recording is.
    let has_defaults = !matches!(command, Command::Report);
    context.ask(context.given.asked(|_| has_defaults));
    let outcome = carry_out(command, context).and_then(|()| context.check_whole());
    context.timings.take().finish().iter().for_each(console::timings);
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            context.print_failure(&failure);
            console::error(&failure);
            failure.exit_code()
        }
    }
}

fn carry_out(command: Command, context: &Context<'_>) -> Result<(), Failure> {
    match command {
        Command::Report => report(context),
        Command::Pytorch(arguments) => commands::pytorch::run(&arguments, context),
        Command::Inference(arguments) => commands::pytorch::inference(&arguments, context),
        Command::Jax(arguments) => commands::jax::run(&arguments, context),
        Command::Nsys(arguments) => commands::nsys::run(&arguments, context),
        Command::Rocprof(arguments) => commands::rocprof::run(&arguments, context),
        Command::Metal(arguments) => commands::metal::run(&arguments, context),
        Command::Advise(arguments) => commands::advise::run(&arguments, context),
        Command::RanksCollect(arguments) => commands::ranks::collect(&arguments, context),
        Command::RanksPack(arguments) => commands::ranks::pack(&arguments, context),
        Command::Ranks(arguments) => commands::ranks::run(&arguments, context),
        Command::Fuse(arguments) => commands::fuse::run(&arguments, context),
        Command::Compare(arguments) => commands::compare::run(&arguments, context),
        Command::Diff(arguments) => commands::diff::run(&arguments, context),
        Command::Gate(arguments) => commands::gate::run(&arguments, context),
        Command::GateSave(arguments) => commands::gate::save_baseline(&arguments, context),
        Command::CriticalPath(arguments) => commands::critical_path::run(&arguments, context),
        Command::Tree(arguments) => commands::tree::run(&arguments, context),
        Command::Doctor(arguments) => commands::doctor::run(&arguments, context),
        Command::Split(arguments) => commands::split::run(&arguments, context),
        Command::SplitMatch(arguments) => commands::match_blocks::run(&arguments, context),
        Command::Replay(arguments) => commands::replay::run(&arguments, context),
        Command::Model(arguments) => commands::model::run(&arguments, context),
        Command::Extension(arguments) => commands::extension::run(&arguments, context),
        Command::Archs { document } => commands::archs::run(document.json, context),
        Command::Info => Ok(console::print(arguments::help("info"))?),
        Command::InfoColumns { markdown: true, .. } => Ok(console::print(columns_page())?),
        Command::InfoColumns { sheet, document, .. } => {
            commands::columns::run(sheet.as_deref(), document.json, context)
        }
        Command::Table(arguments) => commands::table::table(&arguments, context),
        Command::Why(arguments) => commands::table::why(&arguments, context),
        #[cfg(feature = "mcp")]
        Command::Mcp(arguments) => commands::mcp::run(&arguments),
        #[cfg(feature = "mcp")]
        Command::InfoSkill => Ok(console::print(mcp::SKILL)?),
        Command::Schema { document } => Ok(console::print(schema(document))?),
        Command::Completions { shell } => commands::shell::completions(shell),
        Command::Man { command } => commands::shell::man_page(&command.join(" ")),
    }
}

/// `tracelens report`: the command of the recorder that the first file is of.
fn report(context: &Context<'_>) -> Result<(), Failure> {
    let given = context.given;
    let Some(first) = any_report::first_recording(given) else {
        return Err(answers::Error::NoRecording.into());
    };
    let (kind, unknown) = match recognise(first, &standard_input::reading()) {
        Ok(kind) => (kind, None),
        Err(error) => (RecordingKind::Trace, Some(error)),
    };
    context.ask(any_report::asked(given, kind));
    let command = any_report::check(given, kind, first).and_then(|()| {
        Ok(match kind {
            RecordingKind::Trace | RecordingKind::Nsys => Command::Pytorch(given.arguments()?),
            RecordingKind::XPlane => Command::Jax(given.arguments()?),
            RecordingKind::Rocprof => Command::Rocprof(given.arguments()?),
            RecordingKind::TenstorrentOps => Command::Metal(given.arguments()?),
        })
    });
    match (unknown, command.and_then(|command| carry_out(command, context))) {
        (None, outcome) => outcome,
        // What is wrong with the options comes before what is wrong with the file.
        (Some(_), Err(failure))
            if !matches!(failure, Failure::Ingest(_) | Failure::OptionOfOtherRecorder { .. }) =>
        {
            Err(failure)
        }
        (Some(error), _) => Err(error.into()),
    }
}
