//! Lines over time.

use sheets::{Chart, ChartShape, ColumnKind, Table, Unit};

use super::column;
use super::grouped::between;
use super::workbook::{has_part, part, report, written};

/// Device, time, used, held, border of a step.
type Row = (&'static str, f64, f64, Option<f64>, Option<f64>);

const ROWS: [Row; 5] = [
    ("GPU 0", 0.0, 5.0, Some(8.0), Some(8.0)),
    ("GPU 0", 1.0, 7.0, Some(8.0), None),
    ("GPU 0", 2.0, 6.0, Some(9.0), Some(9.0)),
    ("CPU", 0.0, 1.0, None, Some(1.0)),
    ("CPU", 2.0, 2.0, None, None),
];

fn chart() -> Chart {
    let shape = ChartShape::Lines { x: "t", x_axis: "time (ms)", also: &["held"], borders: Some("border") };
    Chart::new("Memory", "device", "used", "memory (MiB)", shape)
}

fn table(rows: &[Row], chart: Chart) -> Table {
    let mebibytes = ColumnKind::Number(Unit::Mebibytes);
    let columns = vec![
        column("device", ColumnKind::Text, rows.iter().map(|row| row.0)),
        column("t", ColumnKind::Number(Unit::Milliseconds), rows.iter().map(|row| row.1)),
        column("used", mebibytes, rows.iter().map(|row| row.2)),
        column("held", mebibytes, rows.iter().map(|row| row.3)),
        column("border", mebibytes, rows.iter().map(|row| row.4)),
    ];
    Table::new("m", columns).unwrap().with_chart(chart).unwrap()
}

fn chart_xml(table: Table) -> String {
    part(&written(&report(vec![table])).0, "xl/charts/chart1.xml")
}

#[test]
fn a_line_per_device_and_column_that_has_numbers() {
    let xml = chart_xml(table(&ROWS, chart()));
    let series = between(&xml, "<c:ser>", "</c:ser>");
    let names: Vec<&str> =
        series.iter().flat_map(|one| between(one, "<c:v>", "</c:v>").first().copied()).collect();
    assert_eq!(names[..3], ["GPU 0: used (MiB)", "GPU 0: held (MiB)", "CPU: used (MiB)"]);
    let cells: Vec<Vec<&str>> = series.iter().map(|one| between(one, "<c:f>", "</c:f>")).collect();
    assert_eq!(cells[1], ["m!$B$2:$B$4", "m!$D$2:$D$4"]);
    assert_eq!(cells[2], ["m!$B$5:$B$6", "m!$C$5:$C$6"]);
    for part in ["Memory", "time (ms)", "memory (MiB)"] {
        assert!(xml.contains(&format!("<a:t>{part}</a:t>")), "no {part:?} in {xml}");
    }
}

#[test]
fn borders_are_thin_lines_down_to_the_axis_of_the_highest_group() {
    let xml = chart_xml(table(&ROWS, chart()));
    let series = between(&xml, "<c:ser>", "</c:ser>");
    assert_eq!(series.len(), 4);
    assert_eq!(between(series[3], "<c:f>", "</c:f>"), ["m!$E$1", "m!$B$2:$B$4", "m!$E$2:$E$4"]);
    let bars = between(series[3], "<c:errBars>", "</c:errBars>")[0];
    for part in [r#"<c:errDir val="y"/>"#, r#"<c:errBarType val="minus"/>"#, r#"<c:val val="100"/>"#] {
        assert!(bars.contains(part), "no {part} in {bars}");
    }
}

#[test]
fn without_borders_or_further_columns_lines_are_named_by_cells() {
    let shape = ChartShape::Lines { x: "t", x_axis: "time (ms)", also: &[], borders: None };
    let xml = chart_xml(table(&ROWS, Chart { shape, ..chart() }));
    let series = between(&xml, "<c:ser>", "</c:ser>");
    let names: Vec<&str> = series.iter().map(|one| between(one, "<c:f>", "</c:f>")[0]).collect();
    assert_eq!(names, ["m!$A$2", "m!$A$5"]);
}

#[test]
fn lines_that_could_not_be_told_apart_are_left_out_and_said() {
    const NAMES: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let rows = NAMES.map(|name| (name, 0.0, 1.0, None, None));
    let xml = chart_xml(table(&rows, chart()));
    assert_eq!(between(&xml, "<c:ser>", "</c:ser>").len(), 8);
    assert!(xml.contains("<a:t>Memory (the first 8 of 10)</a:t>"), "{xml}");
}

#[test]
fn a_chart_without_numbers_is_left_out() {
    let rows = [("GPU 0", 0.0, f64::NAN, None, None)];
    assert!(!has_part(&written(&report(vec![table(&rows, chart())])).0, "xl/charts/chart1.xml"));
}
