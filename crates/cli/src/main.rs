//! The `tracelens` command line: arguments in, library calls, text and files out.

mod arguments;
mod commands;
mod console;
mod error;
mod progress;
mod report_request;
mod summary;
mod tables;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use arguments::Command;
use error::Failure;

/// Under this name the program takes the place of the reference tool's PyTorch report.
const REFERENCE_PYTORCH: &str = "TraceLens_generate_perf_report_pytorch";

fn main() -> ExitCode {
    let arguments = with_subcommand(std::env::args_os().collect());
    match run(arguments::parse(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console::error(&failure);
            failure.exit_code()
        }
    }
}

/// Puts in the subcommand that the program's name stands for.
fn with_subcommand(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let name = arguments.first().map(Path::new).and_then(Path::file_stem);
    if name.is_some_and(|name| name == REFERENCE_PYTORCH) {
        arguments.splice(1..1, ["pytorch".into(), "--sheet-names=current".into()]);
    }
    arguments
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Report(arguments) | Command::Pytorch(arguments) => commands::report::run(&arguments),
        Command::Tree(arguments) => commands::tree::run(&arguments),
        Command::Columns { sheet } => commands::columns::run(sheet.as_deref()),
        Command::Completions { shell } => commands::shell::completions(shell),
        Command::Man => commands::shell::man_page(),
    }
}
