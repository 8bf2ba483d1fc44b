//! The `tracelens` command line: arguments in, library calls, text and files out.
//!
//! [`run`] is the whole of it, for any process; what only a process of its own may do stands in
//! [`clean_up_when_interrupted`]. [`model`] gives a program the answer that `tracelens model` prints.

#![forbid(unsafe_code)]

mod answering;
mod arguments;
mod commands;
mod console;
mod error;
mod interruption;
mod model;
mod notices;
mod phases;
mod progress;
mod standard_input;
mod summary;
mod timings;
mod wrapping;

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

use answers::columns_page;
use answers::envelope::{Tool, schema};
use arguments::{Command, Given};
use error::Failure;
use timings::Timings;

pub use interruption::clean_up_when_interrupted;
pub use model::{ModelAnswer, NoAnswer, model};

/// This program, as its answers name it.
pub const TOOL: Tool = Tool::with_features(&[
    #[cfg(feature = "mcp")]
    "mcp",
]);

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
    answering::begin(&arguments);
    let exit_code = match arguments::parse(arguments) {
        Ok((command, given)) => answer(command, &given),
        Err(stop) => {
            if stop.is_wrong_usage() {
                answering::print_usage_error(stop.command(), stop.text());
            }
            console::stop(&stop)
        }
    };
    console::flush();
    exit_code
}

fn answer(command: Command, given: &Given) -> u8 {
    console::print_colors(given.color());
    // Which options a report of any recorder has is known when its recording is.
    let has_defaults = !matches!(command, Command::Report);
    answering::ask(given.asked(|_| has_defaults), given.answer_output());
    let mut timings = Timings::new(given.timings());
    let outcome = carry_out(command, given, &mut timings).and_then(|()| answering::check_whole());
    timings.finish().iter().for_each(console::timings);
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            answering::print_failure(&failure);
            console::error(&failure);
            failure.exit_code()
        }
    }
}

fn carry_out(command: Command, given: &Given, timings: &mut Timings) -> Result<(), Failure> {
    match command {
        Command::Report => commands::report::run(given, timings),
        Command::Pytorch(arguments) => commands::pytorch::run(&arguments, given, timings),
        Command::Inference(arguments) => commands::pytorch::inference(&arguments, given, timings),
        Command::Jax(arguments) => commands::jax::run(&arguments, given, timings),
        Command::Nsys(arguments) => commands::nsys::run(&arguments, given, timings),
        Command::Rocprof(arguments) => commands::rocprof::run(&arguments, given, timings),
        Command::Metal(arguments) => commands::metal::run(&arguments, given, timings),
        Command::Advise(arguments) => commands::advise::run(&arguments),
        Command::Map(arguments) => commands::ranks::map(&arguments),
        Command::Pack(arguments) => commands::ranks::pack(&arguments),
        Command::Ranks(arguments) => commands::ranks::run(&arguments, given, timings),
        Command::Fuse(arguments) => commands::fuse::run(&arguments, given),
        Command::Compare(arguments) => commands::compare::run(&arguments, given, timings),
        Command::Diff(arguments) => commands::diff::run(&arguments, given, timings),
        Command::Gate(arguments) => commands::gate::run(&arguments),
        Command::Baseline(arguments) => commands::gate::baseline(&arguments),
        Command::CriticalPath(arguments) => commands::critical_path::run(&arguments, given, timings),
        Command::Tree(arguments) => commands::tree::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Split(arguments) => commands::split::run(&arguments),
        Command::Match(arguments) => commands::match_blocks::run(&arguments),
        Command::Replay(arguments) => commands::replay::run(&arguments),
        Command::Model(arguments) => commands::model::run(&arguments),
        Command::Extension(arguments) => commands::extension::run(&arguments),
        Command::Archs { document } => commands::archs::run(document.json),
        Command::Columns { markdown: true, .. } => Ok(console::print(columns_page())?),
        Command::Columns { sheet, document, .. } => commands::columns::run(sheet.as_deref(), document.json),
        Command::Table(arguments) => commands::table::table(&arguments),
        Command::Why(arguments) => commands::table::why(&arguments),
        #[cfg(feature = "mcp")]
        Command::Mcp(arguments) => commands::mcp::run(&arguments),
        #[cfg(feature = "mcp")]
        Command::Skill => Ok(console::print(mcp::SKILL)?),
        Command::Schema { document } => Ok(console::print(schema(document))?),
        Command::Completions { shell } => commands::shell::completions(shell),
        Command::Man { command } => commands::shell::man_page(command.as_deref()),
    }
}
