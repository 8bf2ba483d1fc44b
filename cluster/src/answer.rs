//! Runs a query and writes its answer as CSV.

use std::io;
use std::net::ToSocketAddrs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ballista::prelude::{SessionConfigExt, SessionContextExt};
use datafusion::arrow::array::Int64Array;
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::{MemorySchemaProvider, SchemaProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::engine::Engine;
use crate::error::Error;
use crate::query::{ENTRIES, Query};
use crate::tables::JobTables;

/// How long a scheduler may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// Bytes of the stack of a thread.
const STACK: usize = 8 << 20;

/// The schema of the other job's tables.
const BASELINE: &str = "baseline";

/// What a query is asked of, and where it runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of the job's tables.
    pub folder: PathBuf,
    /// The folder of another job's tables: `baseline.steps` and so on.
    pub baseline: Option<PathBuf>,
    /// What runs the query.
    pub engine: Engine,
    /// Parts in which the engine divides its work.
    pub partitions: NonZeroUsize,
    /// How long the query may take.
    pub timeout: Duration,
}

/// Answers a query as CSV: a line of column names, and a line for each row. Empty cells are empty.
///
/// The query may use the tables of the folder by their names, the view `entries`, and as `baseline.NAME` the tables of the
/// other job. It reads and changes nothing: statements that create or write are refused.
///
/// # Errors
/// When tables are missing or of another version, the cluster does not see them, no scheduler answers, the engine refuses the query or fails, or the
/// time is over.
pub fn answer(query: &Query, options: &Options) -> Result<String, Error> {
    let tables = JobTables::find(&options.folder)?;
    let baseline = options.baseline.as_deref().map(JobTables::find).transpose()?;
    if let Engine::Ballista { scheduler } = &options.engine {
        connect(scheduler).map_err(|source| Error::NoScheduler { scheduler: scheduler.clone(), source })?;
    }
    // Plans are trees that engines walk in recursion.
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let runtime = threads.enable_all().thread_stack_size(STACK).build().map_err(Error::Threads)?;
    let run = async {
        let run = run(query, options, &tables, baseline.as_ref());
        tokio::time::timeout(options.timeout, run).await
    };
    let outcome = runtime.block_on(run);
    // What the engine still does after the time is over, nobody waits for.
    runtime.shutdown_background();
    outcome.unwrap_or_else(|_| {
        let (query, engine) = (query.name.clone(), options.engine.clone());
        Err(Error::TimedOut { query, engine, allowed: options.timeout })
    })
}

/// Whether anybody listens there. The engine itself tries again and again.
#[allow(clippy::disallowed_types)] // the one address that the user names, in a build that asks for it
fn connect(scheduler: &str) -> io::Result<()> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in scheduler.to_socket_addrs()? {
        match std::net::TcpStream::connect_timeout(&address, CONNECT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn lacks_baseline(error: &DataFusionError) -> bool {
    error.strip_backtrace().contains(&format!("'datafusion.{BASELINE}."))
}

async fn run(
    query: &Query,
    options: &Options,
    tables: &JobTables,
    baseline: Option<&JobTables>,
) -> Result<String, Error> {
    let failed = |source: DataFusionError| match baseline {
        None if lacks_baseline(&source) => Error::NoBaseline { query: query.name.clone() },
        _ => {
            let (query, engine) = (query.name.clone(), options.engine.clone());
            Error::Engine { query, engine, source: Box::new(source) }
        }
    };
    let context = session(&options.engine, options.partitions).await.map_err(failed)?;
    register(&context, tables, baseline).await.map_err(failed)?;
    if matches!(options.engine, Engine::Ballista { .. }) {
        for (schema, tables) in [("public", Some(tables)), (BASELINE, baseline)] {
            let Some(tables) = tables else { continue };
            let found = recordings(&context, schema).await.map_err(failed)?;
            if usize::try_from(found) != Ok(tables.recordings) {
                let (engine, path) = (options.engine.clone(), tables.folder.clone());
                return Err(Error::NotShared { engine, path, found, expected: tables.recordings });
            }
        }
    }
    ask(&context, &query.text).await.map_err(failed)
}

async fn register(context: &SessionContext, tables: &JobTables, baseline: Option<&JobTables>) -> Result<()> {
    for table in tables.tables() {
        let (name, table) = table?;
        context.register_table(name, table)?;
    }
    let entries = context.sql(ENTRIES.text).await?.into_view();
    context.register_table(ENTRIES.name, entries)?;
    if let (Some(baseline), Some(catalog)) = (baseline, context.catalog("datafusion")) {
        let schema = Arc::new(MemorySchemaProvider::new());
        for table in baseline.tables() {
            let (name, table) = table?;
            schema.register_table(name.to_owned(), table)?;
        }
        catalog.register_schema(BASELINE, schema)?;
    }
    Ok(())
}

/// How many recordings the engine finds. Files that a scheduler does not see it leaves out without a word.
async fn recordings(context: &SessionContext, schema: &str) -> Result<i64> {
    let rows = context.sql(&format!("SELECT count(*) FROM {schema}.rank")).await?.collect().await?;
    let counts = rows.iter().filter_map(|rows| rows.column(0).as_any().downcast_ref::<Int64Array>());
    Ok(counts.flat_map(|counts| counts.iter().flatten()).sum())
}

/// The rows of a query as CSV.
async fn ask(context: &SessionContext, query: &str) -> Result<String> {
    let only_reads =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    let frame = context.sql_with_options(query, only_reads).await?;
    let columns = RecordBatch::new_empty(Arc::new(frame.schema().as_arrow().clone()));
    csv(&columns, &frame.collect().await?)
}

/// A session of the engine. What would let an answer depend on the machine or the engine is pinned.
async fn session(engine: &Engine, partitions: NonZeroUsize) -> Result<SessionContext> {
    let config = match engine {
        Engine::DataFusion => SessionConfig::new(),
        // Adaptive planning chooses joins anew at run time, and had wrong results in the versions before this one.
        Engine::Ballista { .. } => {
            SessionConfig::new_with_ballista().with_ballista_adaptive_query_planner(false)
        }
    };
    let config = config
        .with_target_partitions(partitions.get())
        // Statistics would have every file opened before the query begins.
        .with_collect_statistics(false)
        .set_bool("datafusion.optimizer.prefer_hash_join", false);
    match engine {
        Engine::DataFusion => Ok(SessionContext::new_with_config(config)),
        Engine::Ballista { scheduler } => {
            let state = SessionStateBuilder::new().with_default_features().with_config(config).build();
            SessionContext::remote_with_state(&format!("df://{scheduler}"), state).await
        }
    }
}

/// The rows as CSV under the names of their columns, which `columns` has.
fn csv(columns: &RecordBatch, rows: &[RecordBatch]) -> Result<String> {
    let mut text = Vec::new();
    let mut writer = WriterBuilder::new().with_header(true).build(&mut text);
    writer.write(columns)?;
    for rows in rows {
        writer.write(rows)?;
    }
    drop(writer);
    String::from_utf8(text).map_err(|error| DataFusionError::External(Box::new(error)))
}
