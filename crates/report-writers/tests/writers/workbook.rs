//! Workbooks, read back with calamine for the cells and as zip archives for everything else.

use std::io::{Cursor, Read};
use std::sync::Arc;

use calamine::{Data, Range, Reader, Xlsx};
use report_writers::{Report, Warning, Workbook, WriteError, Writer};
use sheets::{Caveat, Chart, ChartShape, Column, ColumnKind, Layout, Role, Sheet, Table, TableColumn, Unit};

use super::column;

const MS: ColumnKind = ColumnKind::Number(Unit::Milliseconds);

pub(super) fn report(tables: Vec<Table>) -> Report {
    Report::new("Sample", tables).unwrap()
}

pub(super) fn written(report: &Report) -> (Vec<u8>, Vec<Warning>) {
    let mut file = Cursor::new(Vec::new());
    let warnings = Workbook.write_to(report, &mut file).unwrap();
    (file.into_inner(), warnings)
}

fn sheet(bytes: &[u8], name: &str) -> Range<Data> {
    Xlsx::new(Cursor::new(bytes)).unwrap().worksheet_range(name).unwrap()
}

/// A part of the workbook's archive, as text.
pub(super) fn part(bytes: &[u8], path: &str) -> String {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut text = String::new();
    archive.by_name(path).unwrap().read_to_string(&mut text).unwrap();
    text
}

pub(super) fn has_part(bytes: &[u8], path: &str) -> bool {
    zip::ZipArchive::new(Cursor::new(bytes)).unwrap().by_name(path).is_ok()
}

fn ops(name: &str) -> Table {
    let columns = vec![
        column("op", ColumnKind::Text, ["GEMM", "add", "mul", "mean"]),
        column("ms", MS, [9.0, 17.25, 2.5, 1234.5]),
    ];
    Table::new(name, columns).unwrap()
}

#[test]
fn cells_keep_their_types_and_nothing_becomes_a_formula_or_link() {
    let columns = vec![
        column("text", ColumnKind::Text, [Some("=1+1"), Some("https://example.org"), Some(""), None]),
        column("int", ColumnKind::Count, [Some(8944), Some(-1), Some(1_i64 << 53), None]),
        column("large", ColumnKind::Count, [Some(i64::MAX), Some((1 << 53) + 1), Some(0), None]),
        column("float", MS, [0.1 + 0.2, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
        column("bool", ColumnKind::Flag, [Some(true), Some(false), None, None]),
    ];
    let (bytes, warnings) = written(&report(vec![Table::new("t", columns).unwrap()]));
    assert_eq!(warnings, []);
    let text = |text: &str| Data::String(text.to_owned());
    let expected = [
        [text("text"), text("int"), text("large"), text("float (ms)"), text("bool")],
        [
            text("=1+1"),
            Data::Float(8944.0),
            text("9223372036854775807"),
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
        let charted = ops("charted").with_chart(bars(9)).unwrap();
        written(&report(vec![charted, ops("plain")])).0
    };
    let first = make();
    // Times in zip archives have a resolution of two seconds, in properties of one.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    assert!(first == make(), "two runs differ");
    assert!(part(&first, "docProps/core.xml").contains("1980-01-01T00:00:00Z"));
}

#[test]
fn headers_are_bold_frozen_filtered_and_explained() {
    let described =
        |name, description| TableColumn::new(Column::new(name, MS, description), [1.0, 2.0].map(Into::into));
    const LONG: &str = concat!(
        "Time in ms of all that the device does, whatever it is called and whoever asked for it: kernels, copies ",
        "and fills, on whichever stream they ran and however they were launched, each moment counted once, from ",
        "the begin of the first of them to the end of the last one."
    );
    assert!(LONG.len() > 255);
    let columns =
        vec![described("a", "Device \"time\" in ms\n<1>."), described("b", ""), described("c", LONG)];
    let (bytes, _) = written(&report(vec![Table::new("t", columns).unwrap()]));
    let sheet_xml = part(&bytes, "xl/worksheets/sheet1.xml");
    assert!(
        sheet_xml.contains(r#"<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>"#)
    );
    assert!(sheet_xml.contains(r#"<autoFilter ref="A1:C3"/>"#));
    let bold = part(&bytes, "xl/styles.xml");
    assert!(bold.contains("<b/>"));
    // A message at the header, which is not selected from the start.
    assert!(
        sheet_xml.contains(r#"prompt="Device &quot;time&quot; in ms &lt;1&gt;." sqref="A1""#),
        "{sheet_xml}"
    );
    assert!(sheet_xml.contains(r#"activeCell="A2""#), "{sheet_xml}");
    assert_eq!(sheet_xml.matches("<dataValidation ").count(), 1);
    // What is too long for a message is a note.
    let notes = part(&bytes, "xl/comments1.xml");
    assert!(notes.contains(r#"ref="C1""#) && notes.contains(LONG) && !notes.contains(r#"ref="A1""#));
}

#[test]
fn headers_say_what_makes_their_columns_unreliable() {
    let described = |name| TableColumn::new(Column::new(name, MS, "Time in ms."), [1.0, 2.0].map(Into::into));
    let mut table = Table::new("t", vec![described("a"), described("b"), described("c")]).unwrap();
    let caveat = |text: &str| Arc::new(Caveat { brief: String::new(), text: text.to_owned() });
    table.add_caveat(&caveat("Of all."));
    table.add_caveat_to(&caveat("Unreliable: 9 of 10 are lost (W2)."), |column| column.name() == "b");
    let (bytes, _) = written(&report(vec![table]));
    let sheet_xml = part(&bytes, "xl/worksheets/sheet1.xml");
    for (cell, prompt) in [
        ("A1", "Time in ms. Of all."),
        ("B1", "Time in ms. Unreliable: 9 of 10 are lost (W2)."),
        ("C1", "Time in ms."),
    ] {
        assert!(sheet_xml.contains(&format!(r#"prompt="{prompt}" sqref="{cell}""#)), "{sheet_xml}");
    }
    let style = |cell: &str| {
        let (_, rest) = sheet_xml.split_once(&format!(r#"<c r="{cell}" s=""#)).unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    assert_eq!(style("A1"), style("B1"));
    assert_ne!(style("B1"), style("C1"));
    assert!(part(&bytes, "xl/styles.xml").contains(r#"<fgColor rgb="FFFFE699"/>"#));
}

#[test]
fn kinds_choose_the_number_format_and_keep_the_value() {
    let cases = [
        (ColumnKind::Count, "#,##0"),
        (ColumnKind::Identifier, "0"),
        (ColumnKind::Whole(Unit::Microseconds), "#,##0&quot; µs&quot;"),
        (ColumnKind::Number(Unit::Percent), "0.00&quot;%&quot;"),
        (ColumnKind::Number(Unit::Milliseconds), "#,##0.000&quot; ms&quot;"),
        (ColumnKind::Number(Unit::One), "[=0]0;[&gt;=0.001]#,##0.000;0.00E+00"),
    ];
    for (kind, code) in cases {
        let made = Table::new("t", vec![column("n", kind, [1234_i64])]).unwrap().keeping_names();
        let (bytes, _) = written(&report(vec![made]));
        let styles = part(&bytes, "xl/styles.xml");
        let written_code =
            styles.split_once("formatCode=\"").and_then(|(_, rest)| Some(rest.split_once('"')?.0));
        assert_eq!(written_code, Some(code), "{kind:?}");
        assert_eq!(sheet(&bytes, "t").get((1, 0)), Some(&Data::Float(1234.0)), "{kind:?}");
    }
}

#[test]
fn sheets_follow_the_tables_order_and_long_names_are_reported() {
    let long = "unified_perf_summary_kl_overlap_of_rank_7";
    let (bytes, warnings) = written(&report(vec![ops("z"), ops(long), ops("a")]));
    let shortened = "unified_perf_summary_kl_overlap";
    assert_eq!(Xlsx::new(Cursor::new(&bytes)).unwrap().sheet_names(), ["z", shortened, "a"]);
    assert_eq!(warnings, [Warning::SheetRenamed { table: long.to_owned(), sheet: shortened.to_owned() }]);
    assert!(warnings[0].to_string().contains(shortened));
}

#[test]
fn an_index_tells_long_names_so_that_nobody_has_to_warn_of_them() {
    let long = "unified_perf_summary_kl_overlap_of_rank_7";
    let names: Vec<String> = (0..8).map(|number| format!("t{number}")).collect();
    let tables = names.iter().map(String::as_str).chain([long]).map(ops).collect();
    let (bytes, warnings) = written(&report(tables));
    assert_eq!(warnings, []);
    let index = sheet(&bytes, "index");
    let contents = index.get((9, 2)).unwrap().to_string();
    assert!(contents.starts_with(&format!("Table {long}. ")), "{contents}");
}

#[test]
fn texts_beyond_the_limit_are_cut_and_counted() {
    let long = "x".repeat(40_000);
    let columns = vec![
        column("op", ColumnKind::Text, ["a", &long, &long]),
        column("n", ColumnKind::Count, [1_i64, 2, 3]),
    ];
    let (bytes, warnings) = written(&report(vec![Table::new("t", columns).unwrap()]));
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
    let columns = vec![column("n", ColumnKind::Flag, vec![true; rows])];
    let (bytes, warnings) = written(&report(vec![Table::new("t", columns).unwrap()]));
    assert_eq!(warnings, [Warning::RowsCut { table: "t".to_owned(), rows: 5, limit: 1_048_575 }]);
    assert!(part(&bytes, "xl/worksheets/sheet1.xml").contains(r#"<autoFilter ref="A1:A1048576"/>"#));
}

#[test]
fn empty_tables_and_reports_are_valid_workbooks() {
    let no_cells: [i64; 0] = [];
    let no_rows = Table::new("no_rows", vec![column("ms", MS, no_cells)]).unwrap();
    let charted = no_rows.with_chart(Chart::new("c", "ms", "ms", "", ChartShape::Bars(9))).unwrap();
    let (bytes, warnings) = written(&report(vec![charted, Table::new("no_columns", Vec::new()).unwrap()]));
    assert_eq!(warnings, []);
    assert_eq!(sheet(&bytes, "no_rows").get_size(), (1, 1));
    assert!(sheet(&bytes, "no_columns").is_empty());
    assert!(!has_part(&bytes, "xl/charts/chart1.xml"));

    let (bytes, _) = written(&report(Vec::new()));
    assert_eq!(Xlsx::new(Cursor::new(&bytes)).unwrap().sheet_names().len(), 1);
}

fn chart(shape: ChartShape) -> Chart {
    Chart::new("Time", "op", "ms", "time (ms)", shape)
}

fn bars(rows: usize) -> Chart {
    chart(ChartShape::Bars(rows))
}

fn charted(table: Table, chart: Chart) -> Vec<u8> {
    written(&report(vec![table.with_chart(chart).unwrap()])).0
}

fn chart_xml(chart: Chart) -> String {
    part(&charted(ops("my ops"), chart), "xl/charts/chart1.xml")
}

#[test]
fn charts_refer_to_the_tables_cells() {
    let xml = chart_xml(bars(3));
    for expected in [
        r#"<c:barDir val="bar"/>"#,
        r#"<c:grouping val="clustered"/>"#,
        "<a:t>Time</a:t>",
        "<a:t>time (ms)</a:t>",
        "<c:f>'my ops'!$B$1</c:f>",
        "<c:f>'my ops'!$A$2:$A$4</c:f>",
        "<c:f>'my ops'!$B$2:$B$4</c:f>",
    ] {
        assert!(xml.contains(expected), "{expected} is not in {xml}");
    }
}

#[test]
fn bars_start_at_zero_with_the_first_row_on_top() {
    let xml = chart_xml(bars(9));
    let (category_axis, value_axis) = xml.split_once("<c:catAx>").unwrap().1.split_once("<c:valAx>").unwrap();
    assert!(category_axis.contains(r#"<c:orientation val="maxMin"/>"#), "{xml}");
    assert!(value_axis.contains(r#"<c:orientation val="minMax"/><c:min val="0"/>"#), "{xml}");
    assert!(value_axis.contains(r#"<c:crosses val="max"/>"#), "{xml}");

    let columns =
        vec![column("op", ColumnKind::Text, ["a", "b", "c"]), column("ms", MS, [1.0, -2.0, f64::NAN])];
    let signed = charted(Table::new("signed", columns).unwrap(), bars(9));
    assert!(!part(&signed, "xl/charts/chart1.xml").contains("<c:min"));
}

#[test]
fn columns_say_what_they_stand_on() {
    let xml = chart_xml(chart(ChartShape::Columns("start of the bin (µs)")));
    assert!(xml.contains(r#"<c:barDir val="col"/>"#));
    let (category_axis, _) = xml.split_once("<c:catAx>").unwrap().1.split_once("</c:catAx>").unwrap();
    assert!(category_axis.contains("<a:t>start of the bin (µs)</a:t>"), "{xml}");
}

#[test]
fn rows_are_the_parts_of_a_stacked_bar() {
    let xml = chart_xml(chart(ChartShape::Stacked { parts: &["GEMM", "mean"], per: None }));
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

const NAMED: Column = Column::new("kernel", ColumnKind::Text, "");
const TIME: Column = Column::new("time_mean", ColumnKind::Number(Unit::Milliseconds), "");

/// A name, a figure with its spread, a note, and where they come from.
fn with_roles(names: [&'static str; 3]) -> Table {
    let times = || [3.0, 2.0, 1.0].map(Into::into);
    let columns = vec![
        TableColumn::new(NAMED, names.map(Into::into)),
        TableColumn::new(TIME, times()),
        TableColumn::new(TIME.named("time_min").spread_of("time_mean"), times()),
        TableColumn::new(TIME.named("time_max").spread_of("time_mean"), times()),
        TableColumn::new(Column::text("note", "").with_role(Role::Detail), ["a", "b", "c"].map(Into::into)),
        TableColumn::new(Column::identifier("uid", ""), [7, 8, 9].map(Into::into)),
    ];
    Table::new("t", columns).unwrap()
}

#[test]
fn names_stay_in_view_and_spread_and_provenance_are_folded() {
    let (bytes, _) = written(&report(vec![with_roles(["a", "b", "c"])]));
    let xml = part(&bytes, "xl/worksheets/sheet1.xml");
    assert!(xml.contains(r#"<pane xSplit="1" ySplit="1" topLeftCell="B2""#), "{xml}");
    assert!(xml.contains(r#"<outlinePr summaryRight="0"/>"#), "{xml}");
    let column = |number: usize| {
        let start = xml.find("<cols>").unwrap();
        let of_column = |col: &&str| {
            let bound = |name: &str| -> usize {
                col.split_once(name).unwrap().1.split_once('"').unwrap().0.parse().unwrap()
            };
            (bound("min=\"")..=bound("max=\"")).contains(&number)
        };
        xml[start..].split("<col ").skip(1).find(of_column).unwrap().split_once("/>").unwrap().0.to_owned()
    };
    let is_folded = |number| {
        let column = column(number);
        column.contains(r#"hidden="1""#) && column.contains(r#"outlineLevel="1""#)
    };
    assert_eq!((1..=6).map(is_folded).collect::<Vec<_>>(), [false, false, true, true, false, true]);
}

#[test]
fn the_layout_of_a_reference_tool_is_not_folded() {
    let field =
        |name| Column::new(name, ColumnKind::Identifier, "").field::<(), i64>(|&row: &i64| row.into());
    let rows = vec![1, 2];
    let sheet = Sheet::new("t", "", [field("uid"), field("other")], |rows: &Vec<i64>| rows.clone());
    let table = sheet.table_in(&rows, Layout::Listed).unwrap().unwrap();
    let (bytes, _) = written(&report(vec![table]));
    let xml = part(&bytes, "xl/worksheets/sheet1.xml");
    assert!(!xml.contains("outline") && !xml.contains("xSplit"), "{xml}");
}

fn labels_of(table: Table, told_by: &'static [&'static str]) -> Option<Vec<String>> {
    let chart = Chart::new("c", "kernel", "time_mean", "", ChartShape::Bars(9)).told_by(told_by);
    let bytes = charted(table, chart);
    let mut workbook = Xlsx::new(Cursor::new(&bytes)).unwrap();
    let labels = workbook.worksheet_range("chart_labels").ok()?;
    assert!(part(&bytes, "xl/workbook.xml").contains(r#"name="chart_labels" sheetId="2" state="hidden""#));
    assert!(part(&bytes, "xl/charts/chart1.xml").contains("<c:f>chart_labels!$A$1:$A$3</c:f>"));
    Some(labels.rows().map(|row| row[0].to_string()).collect())
}

#[test]
fn charts_show_long_names_without_their_middle_and_never_alike() {
    assert_eq!(labels_of(with_roles(["a", "b", "c"]), &[]), None);
    let long = |tile: &str| -> &'static str {
        format!("Cijk_Alik_Bljk_{}_{tile}_{}", "x".repeat(90), "y".repeat(90)).leak()
    };
    let labels = labels_of(with_roles([long("MT256"), long("MT128"), "short"]), &[]).unwrap();
    assert!(labels[0].contains("256") && labels[1].contains("128"), "{labels:?}");
    assert_eq!(labels[2], "short");
    assert!(labels.iter().all(|label| label.chars().count() <= 84), "{labels:?}");
}

#[test]
fn bars_of_one_name_say_what_distinguishes_them() {
    let labels = labels_of(with_roles(["allreduce", "allreduce", "b"]), &["note", "time_min", "uid"]);
    assert_eq!(labels.unwrap(), ["allreduce (a, 3 ms, UID 7)", "allreduce (b, 2 ms, UID 8)", "b"]);
}

#[test]
fn a_bar_per_device_is_stacked_of_its_kinds_of_time() {
    let columns = vec![
        column("op", ColumnKind::Text, ["busy", "idle", "busy", "idle"]),
        column("ms", MS, [1.0, 2.0, 3.0, 4.0]),
        column("device", ColumnKind::Count, [0_i64, 0, 1, 1]),
    ];
    let shape = ChartShape::Stacked { parts: &["busy", "idle"], per: Some("device") };
    let bytes = charted(Table::new("t", columns).unwrap(), chart(shape));
    let xml = part(&bytes, "xl/charts/chart1.xml");
    for expected in ["<c:f>t!$A$2</c:f>", "<c:f>(t!$C$2,t!$C$4)</c:f>", "<c:f>(t!$B$3,t!$B$5)</c:f>"] {
        assert!(xml.contains(expected), "{expected} is not in {xml}");
    }
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
    let (corner, _) = chart_corner(&charted(ops("narrow"), bars(9)));
    assert!(corner >= 2, "beside a narrow table");

    let mut columns = vec![column("op", ColumnKind::Text, ["a"; 4]), column("ms", MS, [1.0; 4])];
    let wide = Column::new("", ColumnKind::Count, "");
    columns.extend((0..30).map(|number| {
        TableColumn::named(format!("a rather wide column {number}"), wide, [0_i64; 4].map(Into::into))
    }));
    let (_, row) = chart_corner(&charted(Table::new("wide", columns).unwrap(), bars(9)));
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
