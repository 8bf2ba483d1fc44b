//! The program `tracelens`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    tracelens::clean_up_when_interrupted();
    tracelens::run(std::env::args_os()).into()
}
