//! rocpd databases made to exhaust the machine: each ends in an error within moments, whatever its views compute.

#![allow(clippy::expect_used)] // a test helper may stop at a fault

use std::path::Path;
use std::time::{Duration, Instant};

use crate::rocprof_run::{Naming, write_rocpd};
use rusqlite::Connection;
use tempfile::TempDir;
use trace_ingest::rocprof::Profile;
use trace_ingest::{IngestError, ReadOptions};

fn read(path: &Path) -> Result<Profile, IngestError> {
    trace_ingest::rocprof::read_profile(path, &ReadOptions::default())
}

/// The error of a database that these statements make.
#[track_caller]
fn refused(statements: &str) -> String {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("42_results.db");
    let database = Connection::open(&path).unwrap();
    database.execute_batch("PRAGMA synchronous = OFF").unwrap();
    database.execute_batch(statements).unwrap();
    database.close().unwrap();
    let begun = Instant::now();
    let error = read(&path).expect_err("the database is refused").to_string();
    assert!(begun.elapsed() < Duration::from_secs(30), "{error} took {:?}", begun.elapsed());
    assert!(error.contains("42_results.db"), "{error}");
    error
}

/// A table of as many numbers.
fn numbers(count: u32) -> String {
    format!(
        "CREATE TABLE kept (id INTEGER);
        WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < {count})
        INSERT INTO kept SELECT n FROM up;"
    )
}

#[test]
fn view_without_end_is_refused() {
    for view in [
        "WITH RECURSIVE up(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM up) SELECT id FROM up",
        "WITH RECURSIVE up(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM up) SELECT id FROM up WHERE id < 0",
        "WITH RECURSIVE up(id) AS (SELECT 1 UNION SELECT id + 1 FROM up) SELECT id FROM up ORDER BY id",
        "SELECT count(*) AS id FROM (WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up) SELECT * FROM up)",
    ] {
        let error = refused(&format!("CREATE VIEW rocpd_info_process AS {view}"));
        assert!(error.contains("rocpd_info_process"), "{error}");
    }
}

#[test]
fn view_with_more_rows_than_the_file_has_room_for_is_refused() {
    let view = "CREATE VIEW rocpd_string AS SELECT a.id FROM kept a, kept b, kept c";
    let error = refused(&format!("{} CREATE TABLE rocpd_region (id); {view}", numbers(2000)));
    assert!(error.contains("reading rocpd_string"), "{error}");
    assert!(error.contains("more rows than"), "{error}");
}

#[test]
fn view_that_looks_for_rows_without_end_is_refused() {
    let view = "CREATE VIEW rocpd_string AS
        SELECT a.id FROM kept a, kept b, kept c WHERE a.id + b.id + c.id < 0";
    let error = refused(&format!("{} CREATE TABLE rocpd_region (id); {view}", numbers(2000)));
    assert!(error.contains("reading rocpd_string"), "{error}");
    assert!(error.contains("steps"), "{error}");
}

#[test]
fn view_that_sorts_or_remembers_rows_is_refused() {
    for view in [
        "SELECT DISTINCT a.id || b.id AS id FROM kept a, kept b, kept c",
        "SELECT a.id FROM kept a, kept b, kept c ORDER BY a.id * b.id * c.id",
        "SELECT a.id FROM kept a, kept b, kept c GROUP BY a.id * b.id, c.id",
    ] {
        let view = format!("CREATE VIEW rocpd_string AS {view}");
        let error = refused(&format!("{} CREATE TABLE rocpd_region (id); {view}", numbers(2000)));
        assert!(error.contains("reading rocpd_string"), "{error}");
        assert!(error.contains("sorts, groups or repeats"), "{error}");
    }
}

#[test]
fn texts_that_a_view_makes_are_refused() {
    for text in [
        "hex(zeroblob(400000000))",
        "printf('%.*c', 400000000, 'x')",
        "replace(hex(zeroblob(20000)), '0', hex(zeroblob(10000)))",
    ] {
        let view = format!("CREATE VIEW rocpd_string AS SELECT id, {text} AS string FROM kept");
        let error = refused(&format!("{} CREATE TABLE rocpd_region (id); {view}", numbers(100)));
        assert!(error.contains("reading rocpd_string"), "{error}");
    }
    // Doubled in the expression, by an operator.
    let mut text = "CAST(id AS TEXT)".to_string();
    for _ in 0..12 {
        text = format!("({text} || {text})");
    }
    let view = format!("CREATE VIEW rocpd_string AS SELECT id, {text} AS string FROM kept");
    let error = refused(&format!("{} CREATE TABLE rocpd_region (id); {view}", numbers(2000)));
    assert!(error.contains("more text than"), "{error}");
}

#[test]
fn columns_that_are_computed_are_not_read() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("42_results.db");
    let database = Connection::open(&path).unwrap();
    let fill = "CREATE TABLE rocpd_info_process (id INTEGER, pid AS (length(hex(zeroblob(400000000)))), init AS (id) STORED);
        INSERT INTO rocpd_info_process (id) VALUES (1), (2), (3);";
    database.execute_batch(fill).unwrap();
    database.close().unwrap();
    let begun = Instant::now();
    let profile = read(&path).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5), "took {:?}", begun.elapsed());
    let told: Vec<_> = profile.processes.iter().map(|process| (process.pid, process.init)).collect();
    assert_eq!(told.len(), 3);
    assert_eq!(told[0].1, None);
}

#[test]
fn views_of_views_that_multiply_are_refused() {
    let mut statements = format!("{} CREATE TABLE rocpd_region (id);", numbers(1));
    statements.push_str("CREATE VIEW level_0 AS SELECT id FROM kept;");
    for level in 1..40 {
        let below = level - 1;
        statements.push_str(&format!(
            "CREATE VIEW level_{level} AS SELECT a.id FROM level_{below} a, level_{below} b, level_{below} c;"
        ));
    }
    statements.push_str("CREATE VIEW rocpd_string AS SELECT id FROM level_39");
    let error = refused(&statements);
    assert!(error.contains("reading rocpd_string"), "{error}");
}

#[test]
fn tables_that_share_their_pages_are_refused() {
    let mut statements = format!("{} ALTER TABLE kept RENAME TO rocpd_string;", numbers(5000));
    statements.push_str("CREATE TABLE rocpd_region (id); PRAGMA writable_schema = ON;");
    for part in 0..500 {
        statements.push_str(&format!(
            "INSERT INTO sqlite_schema SELECT type, 'rocpd_string_{part:08x}', 'rocpd_string_{part:08x}', rootpage,
            'CREATE TABLE rocpd_string_{part:08x} (id INTEGER)' FROM sqlite_schema WHERE name = 'rocpd_string';"
        ));
    }
    statements.push_str(
        "UPDATE sqlite_schema SET name = 'other', tbl_name = 'other',
        sql = 'CREATE TABLE other (id INTEGER)' WHERE name = 'rocpd_string';",
    );
    let error = refused(&statements);
    assert!(error.contains("more rows than"), "{error}");
}

#[test]
fn virtual_tables_are_not_read() {
    let error = refused(
        "PRAGMA writable_schema = ON;
        INSERT INTO sqlite_schema VALUES
        ('table', 'rocpd_region', 'rocpd_region', 0, 'CREATE VIRTUAL TABLE rocpd_region USING rtree(id, low, high)');",
    );
    assert!(error.contains("missing tables"), "{error}");
}

#[test]
fn as_many_runs_as_rows_take_no_longer_than_one() {
    const RUNS: u32 = 60_000;
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("42_results.db");
    let database = Connection::open(&path).unwrap();
    let fill = format!(
        "{} CREATE TABLE rocpd_info_process (id INTEGER, guid TEXT, pid INTEGER);
        INSERT INTO rocpd_info_process SELECT 1, 'run ' || id, id FROM kept;",
        numbers(RUNS)
    );
    database.execute_batch(&fill).unwrap();
    database.close().unwrap();
    assert_eq!(read(&path).unwrap().processes.len(), RUNS as usize);
}

#[test]
fn plain_views_are_read_as_their_tables() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("42_results.db");
    let database = Connection::open(&path).unwrap();
    write_rocpd(&database, "00000e57-6f6a-7b2c-8d11-0242ac120002", 42, "node-a", Naming::Plain);
    database.close().unwrap();
    let expected = read(&path).unwrap();

    // Tables of two names that no reader knows, united by views as tools that merge databases do.
    let database = Connection::open(&path).unwrap();
    let tables: Vec<String> = database
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for table in tables {
        database
            .execute_batch(&format!(
                "ALTER TABLE {table} RENAME TO first_{table};
                CREATE TABLE second_{table} AS SELECT * FROM first_{table} WHERE 0;
                CREATE VIEW {table} AS SELECT * FROM first_{table} UNION ALL SELECT * FROM second_{table};"
            ))
            .unwrap();
    }
    database.close().unwrap();
    let found = read(&path).unwrap();
    assert_eq!(found.warnings, []);
    assert_eq!(super::rocprof_run::told(&found), super::rocprof_run::told(&expected));
}
