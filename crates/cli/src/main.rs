//! The `tracelens` command line: arguments in, library calls, text and files out.

#![forbid(unsafe_code)]

mod answering;
mod arguments;
mod commands;
mod console;
mod error;
mod interruption;
mod notices;
mod phases;
mod progress;
mod summary;
mod timings;
mod wrapping;

use std::process::ExitCode;

use answers::envelope::schema;
use arguments::{Command, Given};
use error::Failure;
use timings::Timings;

fn main() -> ExitCode {
    interruption::clean_up_when_interrupted();
    let (command, given) = arguments::parse(std::env::args_os().collect());
    console::print_colors(given.color());
    answering::begin(given.asked());
    let mut timings = Timings::new(given.timings());
    let outcome = run(command, &given, &mut timings);
    timings.finish().iter().for_each(console::timings);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            answering::print_failure(&failure);
            console::error(&failure);
            failure.exit_code()
        }
    }
}

fn run(command: Command, given: &Given, timings: &mut Timings) -> Result<(), Failure> {
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
        #[cfg(feature = "cluster")]
        Command::RanksSql(arguments) => commands::ranks_sql::run(&arguments),
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
        Command::Archs { json } => commands::archs::run(json),
        Command::Columns { sheet, json } => commands::columns::run(sheet.as_deref(), json),
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
