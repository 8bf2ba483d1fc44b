//! CSV directories: the text of cells and what happens to files already there.

use std::fs;

use report_writers::{CsvDirectory, Report, WriteError, Writer};
use sheets::{ColumnKind, Nested, Table, TableColumn, Unit};

use super::column;

const TIME: ColumnKind = ColumnKind::Number(Unit::Microseconds);

fn csv(columns: Vec<TableColumn>) -> String {
    let mut bytes = Vec::new();
    CsvDirectory.write_table(&Table::new("t", columns).unwrap(), &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn numbers(name: &str) -> Table {
    Table::new(name, vec![column("a", ColumnKind::Count, [1_i64])]).unwrap()
}

#[test]
fn every_kind_prints_as_pandas_prints_it() {
    let shape = |dims: &[i64]| Nested::Tuple(dims.iter().copied().map(Nested::Whole).collect());
    let columns = vec![
        column("flag", ColumnKind::Flag, [Some(true), Some(false), None]),
        column("count", ColumnKind::Count, [Some(i64::MIN), Some(0), None]),
        column("bytes", ColumnKind::Whole(Unit::Bytes), [Some(i64::MAX), Some(1), None]),
        column("time (µs)", TIME, [Some(60.0), Some(1.123046875e-05), None]),
        column("text", ColumnKind::Text, [Some("x"), Some(""), None]),
        column("shape", ColumnKind::Nested, [Some(shape(&[1])), Some(shape(&[])), None]),
    ];
    assert_eq!(
        csv(columns),
        "flag,count,size (B),time (µs),text,shape\n\
         True,-9223372036854775808,9223372036854775807,60.0,x,\"(1,)\"\n\
         False,0,1,1.123046875e-05,,()\n\
         ,,,,,\n"
    );
}

#[test]
fn floats_without_digits_are_inf_or_empty() {
    let columns = vec![
        column("f", TIME, [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, 1e16]),
        column("n", ColumnKind::Count, [1_i64, 2, 3, 4, 5]),
    ];
    assert_eq!(csv(columns), "f (µs),n\ninf,1\n-inf,2\n,3\n-0.0,4\n1e+16,5\n");
}

#[test]
fn only_commas_and_quotes_are_quoted_line_breaks_written_out_and_formulas_stay_text() {
    let texts = ["a, b", "say \"hi\"", "two\nlines", "it's; [1]", "=1+1", "@x"];
    let columns = vec![column("a,b", ColumnKind::Text, texts), column("n", ColumnKind::Count, [0_i64; 6])];
    assert_eq!(
        csv(columns),
        "\"a,b\",n\n\"a, b\",0\n\"say \"\"hi\"\"\",0\ntwo\\nlines,0\nit's; [1],0\n'=1+1,0\n'@x,0\n"
    );
}

#[test]
fn empty_tables_are_a_header_or_one_line_break() {
    assert_eq!(csv(Vec::new()), "\n");
    let no_cells: [i64; 0] = [];
    let no_rows = vec![column("a", ColumnKind::Count, no_cells), column("b", TIME, no_cells)];
    assert_eq!(csv(no_rows), "a,b (µs)\n");
}

#[test]
fn only_known_names_that_were_not_written_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("deep/csvs");
    fs::create_dir_all(&directory).unwrap();
    for name in ["gpu_timeline", "kernel_summary", "my_notes"] {
        fs::write(directory.join(format!("{name}.csv")), "old").unwrap();
    }
    let outside = root.path().join("deep/outside.csv");
    fs::write(&outside, "other").unwrap();
    let report = Report::new("r", vec![numbers("gpu_timeline")]).unwrap().with_known_names([
        "gpu_timeline",
        "kernel_summary",
        "coll_analysis",
        "../outside",
    ]);
    let written = CsvDirectory.write(&report, &directory).unwrap();

    assert_eq!(written.paths, [directory.join("gpu_timeline.csv")]);
    assert_eq!(written.warnings, []);
    assert_eq!(fs::read_to_string(directory.join("gpu_timeline.csv")).unwrap(), "a\n1\n");
    assert!(!directory.join("kernel_summary.csv").exists());
    assert_eq!(fs::read_to_string(directory.join("my_notes.csv")).unwrap(), "old");
    assert!(outside.exists());
}

#[test]
fn a_file_in_the_directorys_place_is_an_error_that_names_it() {
    let root = tempfile::tempdir().unwrap();
    let blocked = root.path().join("report.csv");
    fs::write(&blocked, "").unwrap();
    let error = CsvDirectory.write(&Report::new("r", Vec::new()).unwrap(), &blocked).unwrap_err();
    assert!(matches!(error, WriteError::CreateDirectory { .. }));
    assert!(error.to_string().contains(&blocked.display().to_string()), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_table_that_finds_no_room_leaves_every_file_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    for name in ["first.csv", "stale.csv"] {
        fs::write(at(name), "old").unwrap();
    }
    std::os::unix::fs::symlink("/dev/full", at("second.csv")).unwrap();
    let tables = vec![numbers("first"), numbers("second")];
    let report = Report::new("r", tables).unwrap().with_known_names(["first", "second", "stale"]);
    let error = CsvDirectory.write(&report, root.path()).unwrap_err();

    assert!(matches!(&error, WriteError::Write { path, .. } if *path == at("second.csv")), "{error}");
    assert_eq!(fs::read_to_string(at("first.csv")).unwrap(), "old");
    assert_eq!(fs::read_to_string(at("stale.csv")).unwrap(), "old");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3);
}
