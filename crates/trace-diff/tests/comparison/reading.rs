//! Reports in every format, and files that are none.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use sheets::{Cell, Table};
use trace_diff::{ReadError, ReportFormat, is_compared, read_report, report_format};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn is_known(name: &str) -> bool {
    is_compared(name, &[])
}

fn read(path: &Path) -> Result<Vec<Table>, ReadError> {
    let format = report_format(path, &is_known)?.expect("a report");
    read_report(path, format, &|_, names| names, &is_compared)
}

fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| fs::write(directory.path().join(name), text).unwrap());
    directory
}

const SHEET: &str = "xl/worksheets/sheet1.xml";
const STRINGS: &str = "xl/sharedStrings.xml";

/// A workbook of one sheet `ops_summary`, with other or more parts.
fn workbook(directory: &Path, parts: &[(&str, &str)]) -> PathBuf {
    let mut all = vec![
        (
            "_rels/.rels".to_owned(),
            r#"<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#.to_owned(),
        ),
        (
            "xl/workbook.xml".to_owned(),
            r#"<workbook xmlns:r="r"><sheets><sheet name="ops_summary" sheetId="1" r:id="rId1"/></sheets></workbook>"#.to_owned(),
        ),
        (
            "xl/_rels/workbook.xml.rels".to_owned(),
            r#"<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#.to_owned(),
        ),
        (SHEET.to_owned(), sheet(ROWS)),
    ];
    for (name, text) in parts {
        all.retain(|(known, _)| known != name);
        all.push(((*name).to_owned(), (*text).to_owned()));
    }
    let path = directory.join("report.xlsx");
    let mut archive = ZipWriter::new(fs::File::create(&path).unwrap());
    for (name, text) in all {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap();
    path
}

const ROWS: &str = r#"<row r="1"><c r="A1" t="inlineStr"><is><t>name</t></is></c><c r="B1" t="inlineStr"><is><t>total_direct_kernel_time_ms</t></is></c><c r="C1" t="inlineStr"><is><t>Count</t></is></c></row>
<row r="2"><c r="A2" t="inlineStr"><is><t>aten::mm</t></is></c><c r="B2"><f>1+1</f><v>2.5</v></c><c r="C2"><v>7</v></c></row>
<row r="4"><c r="A4" t="inlineStr"><is><t>aten::add</t></is></c><c r="C4"><v>3</v></c></row>"#;

fn sheet(rows: &str) -> String {
    format!("<worksheet><sheetData>{rows}</sheetData></worksheet>")
}

#[test]
fn csv_cells_are_what_all_of_their_column_are() {
    let report = directory(&[
        (
            "ops_summary.csv",
            "name,total_direct_kernel_time_ms,Count,flag,mixed\n'=a,1.5,3,True,1\n,,NaN,,x\n",
        ),
        ("gpu_timeline.csv", "\n"),
        ("iteration_groups.csv", ""),
        ("other.csv", "damaged,\"\n"),
    ]);
    assert_eq!(report_format(report.path(), &is_known).unwrap(), Some(ReportFormat::CsvDirectory));
    let tables = read(report.path()).unwrap();
    let names: Vec<_> =
        tables.iter().map(|table| (table.name(), table.columns().len(), table.height())).collect();
    assert_eq!(names, [("gpu_timeline", 0, 0), ("iteration_groups", 0, 0), ("ops_summary", 5, 2)]);
    let row = |row: usize| tables[2].columns().iter().map(|column| column.cell(row)).collect::<Vec<_>>();
    assert_eq!(row(0), ["=a".into(), 1.5.into(), Cell::Whole(3), Cell::Flag(true), "1".into()]);
    assert_eq!(row(1), [Cell::Missing, Cell::Missing, Cell::Missing, Cell::Missing, "x".into()]);
}

#[test]
fn headers_that_occur_twice_are_numbered() {
    let report = directory(&[("ops_summary.csv", "name,name,name.1\na,b,c\n")]);
    let tables = read(report.path()).unwrap();
    let headers: Vec<&str> = tables[0].columns().iter().map(|column| column.name()).collect();
    assert_eq!(headers, ["name", "name.1", "name.1.1"]);
}

#[test]
fn a_workbook_has_the_cells_that_its_formulas_had() {
    let place = tempfile::tempdir().unwrap();
    let tables = read(&workbook(place.path(), &[])).unwrap();
    let [table] = &tables[..] else { panic!("{tables:?}") };
    assert_eq!((table.name(), table.height()), ("ops_summary", 2));
    let cells = |name: &str| table.column(name).unwrap().cells().collect::<Vec<_>>();
    assert_eq!(cells("total_direct_kernel_time_ms"), [2.5.into(), Cell::Missing]);
    assert_eq!(cells("Count"), [Cell::Whole(7), Cell::Whole(3)]);
}

#[test]
fn json_has_lists_as_lists() {
    let text = r#"{"schema": "tracelens.answer/1.0", "result": null, "tables": [
        {"name": "ops_all", "key": [], "columns": [{"name": "name", "kind": "text"}, {"name": "Input Dims"}],
         "rows": [["aten::mm", [[2, 3], []]], ["x", null]], "absent": []},
        {"name": "other", "columns": [], "rows": [[1]]}]}"#;
    let place = directory(&[("r.json", text)]);
    let tables = read(&place.path().join("r.json")).unwrap();
    let [table] = &tables[..] else { panic!("{tables:?}") };
    assert_eq!(table.columns()[1].cell(0), "[[2, 3], []]".into());
    assert_eq!(table.columns()[1].cell(1), Cell::Missing);
}

#[test]
fn recordings_and_other_files_are_no_reports() {
    let place = directory(&[
        ("trace.json", r#"{"schemaVersion": 1, "traceEvents": []}"#),
        ("empty", ""),
        ("1_kernel_trace.csv", "Kind,Agent_Id\n"),
    ]);
    let mut archive = ZipWriter::new(fs::File::create(place.path().join("trace.zip")).unwrap());
    archive.start_file("trace.json", SimpleFileOptions::default()).unwrap();
    archive.finish().unwrap();
    for name in ["trace.json", "empty", "trace.zip", "."] {
        assert_eq!(report_format(&place.path().join(name), &is_known).unwrap(), None, "{name}");
    }
    let missing = report_format(&place.path().join("none"), &is_known).unwrap_err();
    assert!(missing.to_string().contains("none: No such file"), "{missing}");
}

#[test]
fn damaged_reports_are_errors_that_name_the_file() {
    for (name, text, expected) in [
        (
            "r.json",
            r#"{"schema": "tracelens.answer/1.0", "tables": [{"name": "ops_all", "columns": [{"name": "a"}], "rows": [[1, 2]]}]}"#,
            "a row of 1 cells",
        ),
        (
            "r.json",
            r#"{"schema": "tracelens.answer/1.0", "tables": [{"name": "ops_all", "rows": []}]}"#,
            "precede its columns",
        ),
        (
            "r.json",
            r#"{"schema": "tracelens.answer/1.0", "tables": [{"name": "ops_all", "columns": [{"na"#,
            "EOF",
        ),
        ("ops_summary.csv", "name,Count\na\n", "ops_summary.csv: CSV error"),
    ] {
        let place = directory(&[(name, text)]);
        let path = if name.ends_with(".csv") { place.path().to_path_buf() } else { place.path().join(name) };
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(name), "{error}");
    }
    let deep = format!(
        r#"{{"schema": "tracelens.answer/1.0", "tables": [{{"name": "ops_all", "columns": [{{"name": "a"}}], "rows": [[{}"#,
        "[".repeat(100_000)
    );
    let place = directory(&[("deep.json", &deep)]);
    assert!(matches!(read(&place.path().join("deep.json")), Err(ReadError::Json { .. })));
}

#[test]
fn hostile_workbooks_are_errors() {
    let place = tempfile::tempdir().unwrap();
    let many_sheets = |count: usize| {
        let sheets: String =
            (0..count).map(|at| format!(r#"<sheet name="s{at}" sheetId="{at}" r:id="rId1"/>"#)).collect();
        format!(r#"<workbook xmlns:r="r"><sheets>{sheets}</sheets></workbook>"#)
    };
    let far_cell = |row: u32| {
        let cells: String = (0..row)
            .map(|row| format!(r#"<row r="{0}"><c r="XFD{0}"><v>1</v></c></row>"#, 1_000_000 - row))
            .collect();
        let headers: String =
            (0..5000).map(|_| "<c t=\"inlineStr\"><is><t>name</t></is></c>".to_owned()).collect();
        sheet(&format!(r#"<row r="1">{headers}</row>{cells}"#))
    };
    for (parts, expected) in [
        (vec![("xl/workbook.xml", many_sheets(1_000_000))], "more than 1024 sheets"),
        (
            vec![(STRINGS, r#"<sst uniqueCount="99999999999999999999"><si><t>a</t></si></sst>"#.to_owned())],
            "declares more strings",
        ),
        // Half a gibibyte, from half a megabyte of zip.
        (vec![("xl/media/bomb", "0".repeat((1 << 29) + 1))], "more than 536870912 bytes"),
        (
            vec![(SHEET, "<worksheet><sheetData><row r=\"1\"><c r=\"A1\">".to_owned())],
            "is not a readable workbook",
        ),
        (
            vec![(
                SHEET,
                "<worksheet><sheetData><row r=\"0\"><c r=\"99999999999\"/></row></sheetData></worksheet>"
                    .to_owned(),
            )],
            "is not a readable workbook",
        ),
        (vec![(SHEET, far_cell(5))], "are out of order"),
    ] {
        let parts: Vec<(&str, &str)> = parts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let path = workbook(place.path(), &parts);
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}, expected {expected}");
    }
    // A cell at the far end of the sheet costs no more than its row.
    let one_cell = sheet(&format!("{ROWS}<row r=\"1048576\"><c r=\"XFD1048576\"><v>1</v></c></row>"));
    let tables = read(&workbook(place.path(), &[(SHEET, &one_cell)])).unwrap();
    assert_eq!(tables[0].height(), 3);
    // Rows that cost more than any report: each has as many cells as there are headers.
    let headers: String =
        (0..16_000).map(|at| format!(r#"<c t="inlineStr"><is><t>h{at}</t></is></c>"#)).collect();
    let rows: String =
        (2..1000).map(|row| format!(r#"<row r="{row}"><c r="A{row}"><v>1</v></c></row>"#)).collect();
    let sparse = sheet(&format!(r#"<row r="1">{headers}</row>{rows}"#));
    let error = read(&workbook(place.path(), &[(SHEET, &sparse)])).unwrap_err().to_string();
    assert!(error.contains("more than 10000000 cells"), "{error}");
}
