//! The registry: every format is found by its name and writes where it is told to.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use polars::prelude::df;
use report_writers::{CellKind, ColumnFormat, Report, Table, WRITERS, writer_by_name};

#[test]
fn every_writer_has_its_own_name_and_says_what_it_wrote() {
    let frame = df!("n" => [1i64]).unwrap();
    let table = Table::new("t", frame, vec![ColumnFormat::new(CellKind::Integer, "N.")]).unwrap();
    let report = Report::new("r", vec![table]).unwrap();
    let root = tempfile::tempdir().unwrap();
    for (position, writer) in WRITERS.iter().enumerate() {
        let name = writer.name();
        assert!(WRITERS[..position].iter().all(|other| other.name() != name), "{name}");
        assert_eq!(writer_by_name(name).map(|found| found.name()), Some(name));
        let destination = root.path().join(name);
        let written = writer.write(&report, &destination).unwrap();
        assert_eq!(written.paths.len(), 1);
        assert!(written.paths[0].starts_with(&destination) && written.paths[0].is_file(), "{name}");
    }
    assert!(writer_by_name("docx").is_none());
}
