//! `ranks-sql DIR QUERY`: answers SQL over the tables of a job's ranks.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use multi_rank_sql::{Engine, Error, Options, Query, SHIPPED, answer};
use sheets::escaped;

const EXAMPLES: &str = "\
Examples:
  ranks-sql tables slowest-groups                           a shipped query, as CSV
  ranks-sql tables step-regression --baseline old_tables    against another job
  ranks-sql tables question.sql -o answer.csv               a query of your own
  ranks-sql tables question.sql --engine ballista=df://scheduler:50050";

const TABLES: &str = "\
Tables: rank, groups, collectives, steps, kernels, ops, those of --baseline as baseline.rank and so on, and the view entries
(a rank in a collective that the program numbers, with how long it waited). `recording` joins the tables of a rank.";

/// Answer SQL over the tables of a job, which `tracelens ranks collect` writes
#[derive(Parser)]
#[command(version, after_help = after_help())]
struct Arguments {
    /// Folder of tables that `tracelens ranks collect` wrote
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// File with a statement of SQL, or the name of a shipped query
    #[arg(value_name = "QUERY")]
    query: PathBuf,

    /// Folder of the tables of another job, which queries name baseline.TABLE
    #[arg(long, value_name = "DIR")]
    baseline: Option<PathBuf>,

    /// What runs the query: datafusion in this process, or ballista=df://HOST:PORT, whose executors must see the tables at
    /// the same path
    #[arg(long, value_name = "ENGINE", default_value = "datafusion")]
    engine: Engine,

    /// Parts in which the engine divides its work
    #[arg(long, value_name = "N", default_value = "4")]
    partitions: NonZeroUsize,

    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value = "600")]
    timeout: NonZeroU64,

    /// Write the answer here instead of printing it
    #[arg(long, short, value_name = "FILE.csv")]
    output: Option<PathBuf>,
}

/// The shipped queries, the tables and examples, below the options.
fn after_help() -> String {
    let width = SHIPPED.iter().map(|query| query.name.len()).max().unwrap_or_default();
    let mut text = "Queries:\n".to_owned();
    for query in SHIPPED {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "  {:width$}  {}", query.name, query.about);
    }
    format!("{text}\n{TABLES}\n\n{EXAMPLES}")
}

/// What ends the run: its exit code is 1 where the answer cannot be written, 2 where there is none.
struct Failure {
    exit_code: u8,
    message: String,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { exit_code, message }) => {
            // Nowhere is left to report a standard error that cannot be written.
            let _ = writeln!(io::stderr(), "ranks-sql: error: {}", escaped(&message));
            exit_code.into()
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let no_answer = |message| Failure { exit_code: 2, message };
    let query = query(&arguments.query).map_err(no_answer)?;
    let options = Options {
        folder: arguments.folder.clone(),
        baseline: arguments.baseline.clone(),
        engine: arguments.engine.clone(),
        partitions: arguments.partitions,
        timeout: Duration::from_secs(arguments.timeout.get()),
    };
    let answer =
        answer(&query, &options).map_err(|error| no_answer(format!("{error}{}", remedy_option(&error))))?;
    let (place, written) = match &arguments.output {
        Some(path) => {
            let written = atomic_file::write_with(path, |file| file.write_all(answer.as_bytes()));
            (path.display().to_string(), written)
        }
        None => ("standard output".to_owned(), print(&answer)),
    };
    written.map_err(|error| Failure { exit_code: 1, message: format!("cannot write {place}: {error}") })
}

/// The query in a file, else the shipped one of this name.
fn query(path: &Path) -> Result<Query, String> {
    let name = path.display().to_string();
    if path.is_file() {
        let text = fs::read_to_string(path).map_err(|error| format!("{name}: cannot be read: {error}"))?;
        return Ok(Query { name, text });
    }
    let shipped = SHIPPED.iter().find(|query| Path::new(query.name) == path);
    shipped.map(Query::from).ok_or_else(|| {
        let known: Vec<&str> = SHIPPED.iter().map(|query| query.name).collect();
        format!("{name}: is neither a file nor a shipped query; the shipped queries are {}", known.join(", "))
    })
}

fn remedy_option(error: &Error) -> &'static str {
    match error {
        Error::NoBaseline { .. } => " with --baseline DIR",
        Error::TimedOut { .. } => " with --timeout",
        _ => "",
    }
}

/// Prints the answer. A reader that has seen enough and closed the pipe is no failure.
fn print(answer: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(answer.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
