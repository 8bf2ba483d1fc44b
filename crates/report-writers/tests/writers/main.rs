//! All writers: what they write reads back.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod any_tables;
mod csv;
mod grouped;
mod json;
mod lines;
mod scatter;
mod waterfall;
mod workbook;

use report_writers::{Report, WRITERS, writer_by_name};
use sheets::{Cell, Column, ColumnKind, Table, TableColumn};

fn column<'c, C: Into<Cell<'c>>>(
    name: &'static str,
    kind: ColumnKind,
    cells: impl IntoIterator<Item = C>,
) -> TableColumn {
    TableColumn::new(Column::new(name, kind, ""), cells.into_iter().map(Into::into))
}

#[test]
fn every_writer_has_its_own_name_and_says_what_it_wrote() {
    let table = Table::new("t", vec![column("n", ColumnKind::Count, [1_i64])]).unwrap();
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
