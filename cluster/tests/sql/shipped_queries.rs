//! The shipped queries on DataFusion against plain Rust over the same tables, and what ends a query.

#![allow(clippy::disallowed_types)] // a port that nobody listens on

use std::fs;
use std::time::{Duration, Instant};

use crate::job::{answers, baseline, expected, job, options};
use multi_rank::SCHEMA;
use multi_rank_sql::{Engine, Query, SHIPPED, answer};

fn query(text: &str) -> Query {
    Query { name: "question.sql".to_owned(), text: text.to_owned() }
}

#[test]
fn shipped_queries_answer_as_plain_rust_does_five_times_byte_for_byte() {
    let (job, baseline) = (job(), baseline());
    let expected = expected(&job, &baseline);
    for (name, answer) in &expected {
        assert!(answer.lines().count() > 1, "{name} has no rows");
    }
    let options = options(&job, Some(&baseline), Engine::DataFusion);
    for _ in 0..5 {
        assert_eq!(answers(&options), expected);
    }
    for partitions in [1, 2, 7] {
        let partitions = partitions.try_into().unwrap();
        assert_eq!(answers(&multi_rank_sql::Options { partitions, ..options.clone() }), expected);
    }
}

#[test]
fn queries_of_the_user_see_all_tables_and_the_view() {
    let job = job();
    let options = options(&job, None, Engine::DataFusion);
    let ask = |text: &str| answer(&query(text), &options).unwrap();
    assert_eq!(
        ask("SELECT count(*) AS n, min(rank) AS first, max(rank) AS last FROM rank"),
        "n,first,last\n8,0,7\n"
    );
    for table in ["groups", "collectives", "steps", "kernels", "ops", "entries"] {
        let rows = ask(&format!("SELECT count(*) > 8 AS more FROM {table}"));
        assert_eq!(rows, "more\ntrue\n", "{table}");
        let joined = ask(&format!(
            "SELECT count(*) = 0 AS all FROM {table} t LEFT JOIN rank r ON r.recording = t.recording AND r.rank = t.rank \
             WHERE r.rank IS NULL"
        ));
        assert_eq!(joined, "all\ntrue\n", "{table}");
    }
    assert_eq!(ask("SELECT rank FROM rank WHERE rank > 99"), "rank\n");
}

#[test]
fn what_ends_a_query_is_said() {
    let job = job();
    let of_job = options(&job, None, Engine::DataFusion);
    let error = |text: &str| answer(&query(text), &of_job).unwrap_err().to_string();
    for (text, expected) in [
        ("SELECT nothing FROM rank", "question.sql: DataFusion says: Schema error: No field named nothing"),
        ("SELECT", "question.sql: DataFusion says: "),
        ("SELECT 1; SELECT 2", "only supports a single SQL statement"),
        ("CREATE TABLE t AS SELECT 1", "DDL not supported"),
        ("COPY rank TO 'copy.csv'", "DML not supported"),
        ("SET datafusion.execution.batch_size = 1", "Statement not supported"),
        ("SELECT * FROM baseline.steps", "compares with the tables of another job, and none is given"),
    ] {
        assert!(error(text).contains(expected), "{text}: {}", error(text));
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |folder: std::path::PathBuf| {
        let options = multi_rank_sql::Options { folder, ..of_job.clone() };
        answer(&query("SELECT 1"), &options).unwrap_err().to_string()
    };
    assert!(at(folder.path().join("none")).contains("is no folder; expected the tables of a job"));
    assert!(at(folder.path().to_owned()).contains("has no rank tables"));
    let rank = job.folder.join("rank-00003");
    fs::write(rank.join("ops.parquet"), "no table").unwrap();
    let message = error("SELECT sum(calls) FROM ops");
    assert!(message.contains("rank-00003/ops.parquet"), "{message}");
    fs::remove_file(rank.join("ops.parquet")).unwrap();
    assert!(error("SELECT 1").contains("rank-00003/ops.parquet: is missing; map"), "{}", error("SELECT 1"));
    let manifest = fs::read_to_string(rank.join("manifest.json")).unwrap();
    let (now, before) = (format!("\"schema\": {SCHEMA}"), format!("\"schema\": {}", SCHEMA - 1));
    fs::write(rank.join("manifest.json"), manifest.replacen(&now, &before, 1)).unwrap();
    let (message, versions) =
        (error("SELECT 1"), format!("have version {}, expected {SCHEMA}; map", SCHEMA - 1));
    assert!(message.contains(&format!("rank-00003: its tables {versions}")), "{message}");
}

#[test]
fn a_query_ends_when_its_time_is_over_or_nobody_listens() {
    let job = job();
    let mut options = options(&job, None, Engine::DataFusion);
    options.timeout = Duration::from_secs(1);
    let began = Instant::now();
    let endless = "SELECT count(*) FROM kernels a, kernels b, kernels c, kernels d WHERE a.sum_ns < b.sum_ns + c.sum_ns + d.sum_ns";
    let message = answer(&query(endless), &options).unwrap_err().to_string();
    assert!(message.contains("DataFusion gave no answer in 1 s"), "{message}");
    // A port that nobody listens on: it was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    options.engine = Engine::Ballista { scheduler: free.to_string() };
    let message = answer(&Query::from(&SHIPPED[0]), &options).unwrap_err().to_string();
    assert!(message.contains(&format!("no Ballista scheduler answers at {free}")), "{message}");
    assert!(began.elapsed() < Duration::from_secs(60));
}
