//! `tracelens completions` and `tracelens man`.

use clap_complete::Shell;

use crate::arguments;
use crate::console;
use crate::error::{EXIT_CODES, Failure};

pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut arguments::command_to_complete(), "tracelens", &mut script);
    Ok(console::write_with(|out| out.write_all(&script))?)
}

/// The page of the program, or of one of its subcommands, to which the program's page refers.
pub(crate) fn man_page(subcommand: &str) -> Result<(), Failure> {
    let mut program = arguments::command();
    // Gives the subcommands their full names.
    program.build();
    let described = match subcommand {
        "" => &program,
        name => program.find_subcommand(name).ok_or_else(|| {
            let known: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
            Failure::UnknownSubcommand { name: name.to_string(), known: known.join(", ") }
        })?,
    };
    let page = clap_mangen::Man::new(described.clone());
    Ok(console::write_with(|mut out| {
        page.render(&mut out)?;
        out.write_all(exit_status().as_bytes())
    })?)
}

/// The section on exit codes, in roff.
fn exit_status() -> String {
    let codes = EXIT_CODES.iter().map(|(code, meaning)| format!(".TP\n\\fB{code}\\fR\n{meaning}\n"));
    format!(".SH \"EXIT STATUS\"\n{}", codes.collect::<String>())
}
