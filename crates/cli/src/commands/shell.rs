//! `tracelens completions` and `tracelens man`.

use clap_complete::Shell;

use crate::arguments;
use crate::console;
use crate::error::Failure;

pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut arguments::command(), "tracelens", &mut script);
    Ok(console::write_with(|out| out.write_all(&script))?)
}

pub(crate) fn man_page() -> Result<(), Failure> {
    let page = clap_mangen::Man::new(arguments::command());
    Ok(console::write_with(|mut out| page.render(&mut out))?)
}
