//! The `tracelens` command line: arguments in, library calls, text and files out.

#![forbid(unsafe_code)]

mod architecture_choice;
mod arguments;
mod commands;
mod console;
mod error;
mod interruption;
mod jax_summary;
mod notes;
mod numbers;
mod parallel;
mod phases;
mod progress;
mod report_files;
mod report_request;
mod rocprof_summary;
mod rooflines;
mod sanity_check;
mod step_picture;
mod summary;
mod tables;
mod timings;
mod top_table;
mod wrapping;

use std::process::ExitCode;

use arguments::Command;
use error::Failure;
use timings::Timings;

fn main() -> ExitCode {
    interruption::clean_up_when_interrupted();
    let command = arguments::parse(std::env::args_os().collect());
    let mut timings = Timings::new(command.timings());
    let outcome = run(command, &mut timings);
    timings.finish().iter().for_each(console::timings);
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console::error(&failure);
            failure.exit_code()
        }
    }
}

fn run(command: Command, timings: &mut Timings) -> Result<(), Failure> {
    match command {
        Command::Report(arguments) | Command::Pytorch(arguments) => {
            commands::report::run(&arguments, timings)
        }
        Command::Inference(arguments) => commands::inference::run(&arguments, timings),
        Command::Jax(arguments) => commands::jax::run(&arguments, timings),
        Command::Rocprof(arguments) => commands::rocprof::run(&arguments, timings),
        Command::Metal(arguments) => commands::metal::run(&arguments, timings),
        Command::Tree(arguments) => commands::tree::run(&arguments),
        Command::Split(arguments) => commands::split::run(&arguments),
        Command::Match(arguments) => commands::match_blocks::run(&arguments),
        Command::Model(arguments) => commands::model::run(&arguments),
        Command::Archs => commands::archs::run(),
        Command::Columns { sheet } => commands::columns::run(sheet.as_deref()),
        Command::Completions { shell } => commands::shell::completions(shell),
        Command::Man { command } => commands::shell::man_page(command.as_deref()),
    }
}
