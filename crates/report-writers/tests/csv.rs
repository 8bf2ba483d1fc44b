//! CSV directories: the text of cells and what happens to files already there.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs;

use polars::prelude::{Column, DataFrame, IntoColumn, NamedFrom, Series, df};
use report_writers::{CellKind, ColumnFormat, CsvDirectory, Report, Table, WriteError, Writer};

fn table(name: &str, frame: DataFrame) -> Table {
    let formats = vec![ColumnFormat::new(CellKind::Text, ""); frame.width()];
    Table::new(name, frame, formats).unwrap()
}

fn csv(frame: DataFrame) -> String {
    let mut bytes = Vec::new();
    CsvDirectory.write_table(&table("t", frame), &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn every_dtype_prints_as_pandas_prints_it() {
    let frame = df!(
        "bool" => [Some(true), Some(false), None],
        "i64" => [Some(i64::MIN), Some(0), None],
        "u32" => [Some(7u32), Some(u32::MAX), None],
        "u64" => [Some(u64::MAX), Some(1), None],
        "f64 (µs)" => [Some(60.0), Some(1.123046875e-05), None],
        "text" => [Some("x"), Some(""), None],
    )
    .unwrap();
    assert_eq!(
        csv(frame),
        "bool,i64,u32,u64,f64 (µs),text\n\
         True,-9223372036854775808,7,18446744073709551615,60.0,x\n\
         False,0,4294967295,1,1.123046875e-05,\n\
         ,,,,,\n"
    );
}

#[test]
fn floats_without_digits_are_inf_or_empty() {
    let frame = df!(
        "f" => [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, 1e16],
        "n" => [1i64, 2, 3, 4, 5],
    )
    .unwrap();
    assert_eq!(csv(frame), "f,n\ninf,1\n-inf,2\n,3\n-0.0,4\n1e+16,5\n");
}

#[test]
fn only_commas_quotes_and_line_breaks_are_quoted_and_formulas_stay_text() {
    let frame = df!(
        "a,b" => ["((8944, 1024), (1,))", "say \"hi\"", "two\nlines", "it's; [1]", "=1+1", "@x"],
        "n" => [0i64; 6],
    )
    .unwrap();
    assert_eq!(
        csv(frame),
        "\"a,b\",n\n\"((8944, 1024), (1,))\",0\n\"say \"\"hi\"\"\",0\n\"two\nlines\",0\nit's; [1],0\n'=1+1,0\n'@x,0\n"
    );
}

#[test]
fn empty_tables_are_a_header_or_one_line_break() {
    assert_eq!(csv(DataFrame::empty()), "\n");
    let no_rows = df!("a" => Vec::<i64>::new(), "b" => Vec::<f64>::new()).unwrap();
    assert_eq!(csv(no_rows), "a,b\n");
}

#[test]
fn an_all_null_column_without_a_dtype_is_empty() {
    let nothing: Column = Series::new_null("nothing".into(), 2).into_column();
    let number = Series::new("n".into(), [1i64, 2]).into_column();
    assert_eq!(csv(DataFrame::new_infer_height(vec![number, nothing]).unwrap()), "n,nothing\n1,\n2,\n");
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
    let report = Report::new("r", vec![table("gpu_timeline", df!("a" => [1i64]).unwrap())])
        .unwrap()
        .with_known_names(["gpu_timeline", "kernel_summary", "coll_analysis", "../outside"]);
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
    let rows = df!("a" => [1i64]).unwrap();
    let tables = vec![table("first", rows.clone()), table("second", rows)];
    let report = Report::new("r", tables).unwrap().with_known_names(["first", "second", "stale"]);
    let error = CsvDirectory.write(&report, root.path()).unwrap_err();

    assert!(matches!(&error, WriteError::Write { path, .. } if *path == at("second.csv")), "{error}");
    assert_eq!(fs::read_to_string(at("first.csv")).unwrap(), "old");
    assert_eq!(fs::read_to_string(at("stale.csv")).unwrap(), "old");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3);
}
