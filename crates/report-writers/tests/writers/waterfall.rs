//! Steps from one value to another, and cells that are good or bad.

use sheets::{Chart, ChartShape, Column, Table, TableColumn, Verdict};

use super::grouped::between;
use super::workbook::{part, report, written};

#[test]
fn steps_stand_on_an_invisible_column() {
    let number = |name: &'static str, cells: [Option<f64>; 3]| {
        TableColumn::new(Column::milliseconds(name, ""), cells.map(Into::into))
    };
    let columns = vec![
        TableColumn::new(Column::text("part", ""), ["a", "GEMM", "b"].map(Into::into)),
        number("whole", [Some(10.0), None, Some(8.0)]),
        number("base", [None, Some(8.0), None]),
        number("rise", [None, None, None]),
        number("fall", [None, Some(2.0), None]),
    ];
    let shape = ChartShape::Waterfall { base: "base", rise: "rise", fall: "fall" };
    let chart = Chart::new("From a to b", "part", "whole", "time (ms)", shape);
    let table = Table::new("steps", columns).unwrap().with_chart(chart).unwrap();
    let xml = part(&written(&report(vec![table])).0, "xl/charts/chart1.xml");
    assert!(xml.contains(r#"<c:grouping val="stacked"/>"#), "{xml}");
    let series = between(&xml, "<c:ser>", "</c:ser>");
    let cells: Vec<&str> = series.iter().map(|series| between(series, "<c:f>", "</c:f>")[2]).collect();
    assert_eq!(cells, ["steps!$C$2:$C$4", "steps!$B$2:$B$4", "steps!$D$2:$D$4", "steps!$E$2:$E$4"]);
    let is_invisible: Vec<bool> = series.iter().map(|series| series.contains("<a:noFill/>")).collect();
    assert_eq!(is_invisible, [true, false, false, false]);
}

#[test]
fn good_and_bad_cells_are_coloured_and_empty_ones_are_not() {
    let delta = Column::microseconds("delta", "").judged(Verdict::LessIsBetter);
    let speedup = Column::microseconds("speedup", "").judged(Verdict::AboveOneIsBetter);
    let cells = || [Some(1.0), None, Some(-1.0)].map(Into::into);
    let columns = vec![TableColumn::new(delta, cells()), TableColumn::new(speedup, cells())];
    let xml = part(&written(&report(vec![Table::new("t", columns).unwrap()])).0, "xl/worksheets/sheet1.xml");
    let rules = between(&xml, "<conditionalFormatting", "</conditionalFormatting>");
    let limits: Vec<_> = rules.iter().map(|rule| between(rule, "<formula>", "</formula>")).collect();
    assert_eq!(limits.len(), 2, "{xml}");
    assert_eq!((&limits[0][1..], &limits[1][1..]), (&["0", "0"][..], &["1", "1"][..]));
    for (rule, area) in rules.iter().zip(["A2:A4", "B2:B4"]) {
        assert!(rule.contains(&format!(r#"sqref="{area}""#)) && rule.contains(r#"stopIfTrue="1""#), "{rule}");
    }
}
