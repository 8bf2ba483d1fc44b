//! Flags of `tracelens ranks-sql`.

use std::fmt::Write as _;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use multi_rank_sql::{Engine, SHIPPED};

const EXAMPLES: &str = "\
Examples:
  tracelens ranks-sql tables slowest-groups                           a shipped query, as CSV
  tracelens ranks-sql tables step-regression --baseline old_tables    against another job
  tracelens ranks-sql tables question.sql -o answer.csv               a query of your own
  tracelens ranks-sql tables question.sql --engine ballista=df://scheduler:50050";

const TABLES: &str = "\
Tables: rank, groups, collectives, steps, kernels, ops, those of --baseline as baseline.rank and so on, and the view entries
(a rank in a collective that the program numbers, with how long it waited). `recording` joins the tables of a rank.";

/// The shipped queries, the tables and examples, below the options.
pub(crate) fn after_help() -> String {
    let width = SHIPPED.iter().map(|query| query.name.len()).max().unwrap_or_default();
    let mut text = "Queries:\n".to_owned();
    for query in SHIPPED {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "  {:width$}  {}", query.name, query.about);
    }
    format!("{text}\n{TABLES}\n\n{EXAMPLES}")
}

#[derive(Args)]
pub(crate) struct RanksSqlArguments {
    /// Folder of tables that `tracelens map` wrote
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// File with a statement of SQL, or the name of a shipped query
    #[arg(value_name = "QUERY")]
    pub(crate) query: PathBuf,

    /// Folder of the tables of another job, which queries name baseline.TABLE
    #[arg(long, value_name = "DIR")]
    pub(crate) baseline: Option<PathBuf>,

    /// What runs the query: datafusion in this process, or ballista=df://HOST:PORT, whose executors must see the tables at
    /// the same path
    #[arg(long, value_name = "ENGINE", default_value = "datafusion")]
    pub(crate) engine: Engine,

    /// Parts in which the engine divides its work
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) partitions: NonZeroUsize,

    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value = "600")]
    pub(crate) timeout: NonZeroU64,

    /// Write the answer here instead of printing it
    #[arg(long, short, value_name = "FILE.csv")]
    pub(crate) output: Option<PathBuf>,
}
