//! `tracelens ranks-sql`.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use multi_rank_sql::{Options, Query, SHIPPED, answer};

use super::report::save;
use crate::arguments::ranks_sql::RanksSqlArguments;
use crate::console;
use crate::error::Failure;

pub(crate) fn run(arguments: &RanksSqlArguments) -> Result<(), Failure> {
    let query = query(&arguments.query)?;
    let options = Options {
        folder: arguments.folder.clone(),
        baseline: arguments.baseline.clone(),
        engine: arguments.engine.clone(),
        partitions: arguments.partitions,
        timeout: Duration::from_secs(arguments.timeout.get()),
    };
    let answer = answer(&query, &options)?;
    match &arguments.output {
        Some(path) => save(path, |file| file.write_all(answer.as_bytes())).map(drop),
        None => Ok(console::print(answer)?),
    }
}

/// The query in a file, else the shipped one of this name.
fn query(path: &Path) -> Result<Query, Failure> {
    if path.is_file() {
        let detail =
            |error: std::io::Error| Failure::Input { path: path.to_owned(), detail: error.to_string() };
        let text = fs::read_to_string(path).map_err(detail)?;
        return Ok(Query { name: path.display().to_string(), text });
    }
    let shipped = SHIPPED.iter().find(|query| Path::new(query.name) == path);
    let known = || SHIPPED.iter().map(|query| query.name).collect::<Vec<_>>().join(", ");
    shipped
        .map(Query::from)
        .ok_or_else(|| Failure::UnknownQuery { name: path.display().to_string(), known: known() })
}
