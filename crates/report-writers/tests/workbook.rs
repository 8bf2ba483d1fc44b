//! Workbooks, read back with calamine for the cells and as zip archives for everything else.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::io::{Cursor, Read};

use calamine::{Data, Range, Reader, Xlsx};
use polars::prelude::{DataFrame, df};
use report_writers::{
    CellKind, Chart, ChartKind, ColumnFormat, Report, SeriesFrom, Table, Warning, Workbook, WriteError,
    Writer,
};

#[path = "workbook/group_columns.rs"]
mod group_columns;
#[path = "workbook/scatter.rs"]
mod scatter;

fn text_formats(columns: usize) -> Vec<ColumnFormat> {
    vec![ColumnFormat::new(CellKind::Text, ""); columns]
}

fn table(name: &str, frame: DataFrame) -> Table {
    let formats = text_formats(frame.width());
    Table::new(name, frame, formats).unwrap()
}

fn report(tables: Vec<Table>) -> Report {
    Report::new("Sample", tables).unwrap()
}

fn written(report: &Report) -> (Vec<u8>, Vec<Warning>) {
    let mut file = Cursor::new(Vec::new());
    let warnings = Workbook.write_to(report, &mut file).unwrap();
    (file.into_inner(), warnings)
}

fn sheet(bytes: &[u8], name: &str) -> Range<Data> {
    Xlsx::new(Cursor::new(bytes)).unwrap().worksheet_range(name).unwrap()
}

/// A part of the workbook's archive, as text.
fn part(bytes: &[u8], path: &str) -> String {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut text = String::new();
    archive.by_name(path).unwrap().read_to_string(&mut text).unwrap();
    text
}

fn has_part(bytes: &[u8], path: &str) -> bool {
    zip::ZipArchive::new(Cursor::new(bytes)).unwrap().by_name(path).is_ok()
}

fn ops() -> DataFrame {
    df!(
        "op" => ["GEMM", "add", "mul", "mean"],
        "ms" => [9.0, 17.25, 2.5, 1234.5],
        "subtree" => [9.5, 18.25, 2.5, 1300.0],
    )
    .unwrap()
}

#[test]
fn cells_keep_their_types_and_nothing_becomes_a_formula_or_link() {
    let frame = df!(
        "text" => [Some("=1+1"), Some("https://example.org"), Some(""), None],
        "int" => [Some(8944i64), Some(-1), Some(1i64 << 53), None],
        "large" => [Some(u64::MAX), Some((1 << 53) + 1), Some(0), None],
        "float" => [Some(0.1 + 0.2), Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY)],
        "bool" => [Some(true), Some(false), None, None],
    )
    .unwrap();
    let (bytes, warnings) = written(&report(vec![table("t", frame)]));
    assert_eq!(warnings, []);
    let text = |text: &str| Data::String(text.to_owned());
    let expected = [
        [text("text"), text("int"), text("large"), text("float"), text("bool")],
        [
            text("=1+1"),
            Data::Float(8944.0),
            text("18446744073709551615"),
            Data::Float(0.1 + 0.2),
            Data::Bool(true),
        ],
        [
            text("https://example.org"),
            Data::Float(-1.0),
            text("9007199254740993"),
            Data::Empty,
            Data::Bool(false),
        ],
        [Data::Empty, Data::Float(9_007_199_254_740_992.0), Data::Float(0.0), text("inf"), Data::Empty],
        [Data::Empty, Data::Empty, Data::Empty, text("-inf"), Data::Empty],
    ];
    let range = sheet(&bytes, "t");
    assert_eq!(range.get_size(), (5, 5));
    for (row, cells) in expected.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            assert_eq!(range.get((row, column)).unwrap(), cell, "row {row}, column {column}");
        }
    }
    let sheet_xml = part(&bytes, "xl/worksheets/sheet1.xml");
    assert!(!sheet_xml.contains("<f>") && !sheet_xml.contains("<hyperlink"));
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    let make = || {
        let chart = Chart::new(ChartKind::Bar, "c", "op", ["ms"]);
        let formats = ["Operation.", "Time in ms.", "Time in ms."]
            .map(|d| ColumnFormat::new(CellKind::Number, d))
            .to_vec();
        let charted = Table::new("charted", ops(), formats).unwrap().with_chart(chart).unwrap();
        written(&report(vec![charted, table("plain", ops())])).0
    };
    let first = make();
    // Times in zip archives have a resolution of two seconds, in properties of one.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    assert!(first == make(), "two runs differ");
    assert!(part(&first, "docProps/core.xml").contains("1980-01-01T00:00:00Z"));
}

#[test]
fn headers_are_bold_frozen_filtered_and_explained() {
    let formats = vec![
        ColumnFormat::new(CellKind::Text, "Name of the operation."),
        ColumnFormat::new(CellKind::Milliseconds, "Device time in ms."),
        ColumnFormat::new(CellKind::Milliseconds, ""),
    ];
    let (bytes, _) = written(&report(vec![Table::new("t", ops(), formats).unwrap()]));
    let sheet_xml = part(&bytes, "xl/worksheets/sheet1.xml");
    assert!(
        sheet_xml.contains(r#"<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>"#)
    );
    assert!(sheet_xml.contains(r#"<autoFilter ref="A1:C5"/>"#));
    let bold = part(&bytes, "xl/styles.xml");
    assert!(bold.contains("<b/>"));
    let notes = part(&bytes, "xl/comments1.xml");
    assert!(notes.contains(r#"ref="A1""#) && notes.contains("Name of the operation."));
    assert!(notes.contains(r#"ref="B1""#) && notes.contains("Device time in ms."));
    assert!(!notes.contains(r#"ref="C1""#));
}

#[test]
fn kinds_choose_the_number_format_and_keep_the_value() {
    let cases = [
        (CellKind::Integer, Some("0")),
        (CellKind::Percent, Some("0.00")),
        (CellKind::Decimal { places: 1 }, Some("#,##0.0")),
        (CellKind::Decimal { places: 0 }, Some("0")),
        (CellKind::Milliseconds, Some("#,##0.000")),
        (CellKind::Microseconds, Some("#,##0.000")),
        (CellKind::Number, None),
    ];
    for (kind, code) in cases {
        let frame = df!("ms" => [1234.5678]).unwrap();
        let made = Table::new("t", frame, vec![ColumnFormat::new(kind, "")]).unwrap();
        let (bytes, _) = written(&report(vec![made]));
        let styles = part(&bytes, "xl/styles.xml");
        let written_code =
            styles.split_once("formatCode=\"").and_then(|(_, rest)| Some(rest.split_once('"')?.0));
        assert_eq!(written_code, code, "{kind:?}");
        assert_eq!(sheet(&bytes, "t").get((1, 0)), Some(&Data::Float(1234.5678)), "{kind:?}");
    }
}

#[test]
fn sheets_follow_the_tables_order_and_long_names_are_reported() {
    let long = "unified_perf_summary_kl_overlap_of_rank_7";
    let (bytes, warnings) = written(&report(vec![table("z", ops()), table(long, ops()), table("a", ops())]));
    let shortened = "unified_perf_summary_kl_overlap";
    assert_eq!(Xlsx::new(Cursor::new(&bytes)).unwrap().sheet_names(), ["z", shortened, "a"]);
    assert_eq!(warnings, [Warning::SheetRenamed { table: long.to_owned(), sheet: shortened.to_owned() }]);
    assert!(warnings[0].to_string().contains(shortened));
}

#[test]
fn texts_beyond_the_limit_are_cut_and_counted() {
    let long = "x".repeat(40_000);
    let frame = df!("op" => ["a", long.as_str(), long.as_str()], "n" => [1i64, 2, 3]).unwrap();
    let (bytes, warnings) = written(&report(vec![table("t", frame)]));
    assert_eq!(
        warnings,
        [Warning::TextCut { table: "t".to_owned(), column: "op".to_owned(), cells: 2, limit: 32_767 }]
    );
    let Some(Data::String(cut)) =
        sheet(&bytes, "t").get((1, 0)).cloned().and(sheet(&bytes, "t").get((2, 0)).cloned())
    else {
        panic!("no text");
    };
    assert_eq!(cut.chars().count(), 32_767);
    assert!(cut.ends_with("x…"));
}

#[test]
fn rows_beyond_the_limit_are_counted() {
    let rows = 1_048_576 + 4;
    let frame = df!("n" => vec![true; rows]).unwrap();
    let (bytes, warnings) = written(&report(vec![table("t", frame)]));
    assert_eq!(warnings, [Warning::RowsCut { table: "t".to_owned(), rows: 5, limit: 1_048_575 }]);
    assert!(part(&bytes, "xl/worksheets/sheet1.xml").contains(r#"<autoFilter ref="A1:A1048576"/>"#));
}

#[test]
fn empty_tables_and_reports_are_valid_workbooks() {
    let no_rows = df!("a" => Vec::<i64>::new()).unwrap();
    let chart = Chart::new(ChartKind::Bar, "c", "a", ["a"]);
    let charted = table("no_rows", no_rows).with_chart(chart).unwrap();
    let (bytes, warnings) = written(&report(vec![charted, table("no_columns", DataFrame::empty())]));
    assert_eq!(warnings, []);
    assert_eq!(sheet(&bytes, "no_rows").get_size(), (1, 1));
    assert!(sheet(&bytes, "no_columns").is_empty());
    assert!(!has_part(&bytes, "xl/charts/chart1.xml"));

    let (bytes, _) = written(&report(Vec::new()));
    assert_eq!(Xlsx::new(Cursor::new(&bytes)).unwrap().sheet_names().len(), 1);
}

fn charted(frame: DataFrame, chart: Chart) -> Vec<u8> {
    written(&report(vec![table("my ops", frame).with_chart(chart).unwrap()])).0
}

#[test]
fn charts_refer_to_the_tables_cells() {
    let chart = Chart::new(ChartKind::Bar, "Time", "op", ["ms", "subtree"])
        .with_value_axis("time (ms)")
        .with_max_rows(3);
    let xml = part(&charted(ops(), chart), "xl/charts/chart1.xml");
    for expected in [
        r#"<c:barDir val="bar"/>"#,
        r#"<c:grouping val="clustered"/>"#,
        "<a:t>Time</a:t>",
        "<a:t>time (ms)</a:t>",
        "<c:f>'my ops'!$B$1</c:f>",
        "<c:f>'my ops'!$C$1</c:f>",
        "<c:f>'my ops'!$A$2:$A$4</c:f>",
        "<c:f>'my ops'!$B$2:$B$4</c:f>",
        "<c:f>'my ops'!$C$2:$C$4</c:f>",
    ] {
        assert!(xml.contains(expected), "{expected} is not in {xml}");
    }
}

#[test]
fn bars_start_at_zero_with_the_first_row_on_top() {
    let chart = || Chart::new(ChartKind::Bar, "Time", "op", ["ms"]);
    let xml = part(&charted(ops(), chart()), "xl/charts/chart1.xml");
    let (category_axis, value_axis) = xml.split_once("<c:catAx>").unwrap().1.split_once("<c:valAx>").unwrap();
    assert!(category_axis.contains(r#"<c:orientation val="maxMin"/>"#), "{xml}");
    assert!(value_axis.contains(r#"<c:orientation val="minMax"/><c:min val="0"/>"#), "{xml}");
    assert!(value_axis.contains(r#"<c:crosses val="max"/>"#), "{xml}");

    let mut signed = ops();
    signed.with_column(polars::prelude::Column::new("ms".into(), [1.0, -2.0, 0.0, 3.0])).unwrap();
    assert!(!part(&charted(signed, chart()), "xl/charts/chart1.xml").contains("<c:min"));
}

#[test]
fn columns_say_what_they_stand_on() {
    let chart = |kind| Chart::new(kind, "Time", "op", ["ms"]).with_category_axis("start of the bin (µs)");
    let xml = part(&charted(ops(), chart(ChartKind::Column)), "xl/charts/chart1.xml");
    let (category_axis, _) = xml.split_once("<c:catAx>").unwrap().1.split_once("</c:catAx>").unwrap();
    assert!(category_axis.contains("<a:t>start of the bin (µs)</a:t>"), "{xml}");
    let bars = part(&charted(ops(), chart(ChartKind::Bar)), "xl/charts/chart1.xml");
    assert!(!bars.contains("start of the bin"), "{bars}");
}

#[test]
fn rows_that_are_apart_are_referred_to_as_a_union() {
    let chart = Chart::new(ChartKind::Column, "Time", "op", ["ms"]).with_only_rows(["GEMM", "mul", "mean"]);
    let xml = part(&charted(ops(), chart), "xl/charts/chart1.xml");
    assert!(xml.contains(r#"<c:barDir val="col"/>"#));
    assert!(xml.contains("<c:f>('my ops'!$B$2,'my ops'!$B$4:$B$5)</c:f>"), "{xml}");
}

#[test]
fn rows_can_be_the_parts_of_one_stacked_bar() {
    let chart = Chart::new(ChartKind::StackedBar, "Time", "op", ["ms"])
        .with_only_rows(["GEMM", "mean"])
        .with_series_from(SeriesFrom::Rows);
    let xml = part(&charted(ops(), chart), "xl/charts/chart1.xml");
    assert!(xml.contains(r#"<c:grouping val="stacked"/>"#));
    let references: Vec<&str> =
        xml.split("<c:f>").skip(1).filter_map(|rest| Some(rest.split_once("</c:f>")?.0)).collect();
    assert_eq!(
        references,
        [
            "'my ops'!$A$2",
            "'my ops'!$B$1",
            "'my ops'!$B$2",
            "'my ops'!$A$5",
            "'my ops'!$B$1",
            "'my ops'!$B$5"
        ]
    );
}

/// The zero-based column and row of the cell at the chart's upper left corner.
fn chart_corner(bytes: &[u8]) -> (usize, usize) {
    let drawing = part(bytes, "xl/drawings/drawing1.xml");
    let from = drawing.split_once("<xdr:from>").unwrap().1;
    let number = |tag: &str| from.split_once(tag).unwrap().1.split_once('<').unwrap().0.parse().unwrap();
    (number("<xdr:col>"), number("<xdr:row>"))
}

#[test]
fn charts_never_cover_cells() {
    let chart = || Chart::new(ChartKind::Bar, "c", "op", ["ms"]);
    let (column, _) = chart_corner(&charted(ops(), chart()));
    assert!(column >= 3, "beside a narrow table");

    let mut wide = ops();
    for column in 0..30 {
        let name = format!("a rather wide column {column}");
        wide.with_column(polars::prelude::Column::new(name.into(), [0i64; 4])).unwrap();
    }
    let (_, row) = chart_corner(&charted(wide, chart()));
    assert!(row >= 5, "below a wide table");
}

#[test]
fn a_file_that_cannot_be_made_is_an_error_that_names_it() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("missing/report.xlsx");
    let error = Workbook.write(&report(Vec::new()), &path).unwrap_err();
    assert!(matches!(error, WriteError::Create { .. }));
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
}
