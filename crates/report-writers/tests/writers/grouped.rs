//! Columns coloured by group.

use sheets::{Chart, ChartShape, ColumnKind, Table, Unit};

use super::column;
use super::workbook::{has_part, part, report, written};

/// Phase, tokens of contexts, generated tokens, busy time.
type Step = (&'static str, Option<i64>, Option<i64>, f64);

const STEPS: [Step; 5] = [
    ("Prefill", Some(15360), Some(0), 450.0),
    ("Decode", Some(0), Some(32), 6.0),
    ("Decode", None, Some(31), 7.0),
    ("Mixed", Some(8155), Some(37), 90.0),
    ("Decode", Some(0), None, 5.0),
];

fn steps(steps: &[Step]) -> Table {
    let columns = vec![
        column("step", ColumnKind::Identifier, 0..steps.len()),
        column("phase", ColumnKind::Text, steps.iter().map(|step| step.0)),
        column("context", ColumnKind::Count, steps.iter().map(|step| step.1)),
        column("generation", ColumnKind::Count, steps.iter().map(|step| step.2)),
        column("busy", ColumnKind::Number(Unit::Microseconds), steps.iter().map(|step| step.3)),
    ];
    Table::new("the steps", columns).unwrap()
}

fn chart(rows: usize) -> Chart {
    let shape = ChartShape::Grouped {
        title: "number of the step",
        groups: "phase",
        order: &["Prefill", "Decode", "Mixed", "Unknown"],
        labels: &["context", "generation"],
        rows,
    };
    Chart::new("Busy time of steps", "step", "busy", "busy time (µs)", shape)
}

fn chart_xml(chart: Chart) -> String {
    let table = steps(&STEPS).with_chart(chart).unwrap();
    part(&written(&report(vec![table])).0, "xl/charts/chart1.xml")
}

/// The parts of a text that stand between two others.
pub(super) fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    text.split(before).skip(1).filter_map(|rest| Some(rest.split_once(after)?.0)).collect()
}

#[test]
fn a_column_per_row_in_the_colour_of_its_group() {
    let xml = chart_xml(chart(500));
    assert!(xml.contains(r#"<c:barDir val="col"/>"#), "{xml}");
    let series = between(&xml, "<c:ser>", "</c:ser>");
    assert_eq!(
        between(series[0], "<c:f>", "</c:f>"),
        ["'the steps'!$E$1", "'the steps'!$A$2:$A$6", "'the steps'!$E$2:$E$6"]
    );
    let colours = |xml: &str| -> Vec<String> {
        between(xml, r#"<a:srgbClr val=""#, r#"""#).into_iter().map(String::from).collect()
    };
    // The most frequent group has the colour of the series, the other rows their own.
    assert_eq!(colours(series[0])[0], "DDAA33");
    let points: Vec<(&str, String)> = between(series[0], "<c:dPt>", "</c:dPt>")
        .into_iter()
        .map(|point| (between(point, r#"<c:idx val=""#, r#"""#)[0], colours(point)[0].clone()))
        .collect();
    assert_eq!(points, [("0", "004488".into()), ("3", "BB5566".into())]);
}

#[test]
fn the_legend_has_the_groups_that_occur() {
    let xml = chart_xml(chart(500));
    let series = between(&xml, "<c:ser>", "</c:ser>");
    let names: Vec<(&str, &str)> = series[1..]
        .iter()
        .map(|series| {
            let name = between(series, "<c:tx>", "</c:tx>")[0];
            (between(name, "<c:f>", "</c:f>")[0], between(series, r#"<a:srgbClr val=""#, r#"""#)[0])
        })
        .collect();
    assert_eq!(
        names,
        [("'the steps'!$B$2", "004488"), ("'the steps'!$B$3", "DDAA33"), ("'the steps'!$B$5", "BB5566")]
    );
    assert_eq!(
        between(&xml, "<c:legendEntry>", "</c:legendEntry>"),
        [r#"<c:idx val="0"/><c:delete val="1"/>"#]
    );
    // They take no room beside the columns.
    assert!(xml.contains(r#"<c:overlap val="100"/>"#), "{xml}");
}

#[test]
fn labels_are_the_numbers_above_zero() {
    let xml = chart_xml(chart(500));
    let labels: Vec<&str> = between(&xml, "<c:dLbl>", "</c:dLbl>")
        .into_iter()
        .flat_map(|label| between(label, "<a:t>", "</a:t>"))
        .collect();
    assert_eq!(labels, ["15360", "32", "31", "8155+37"], "{xml}");
}

#[test]
fn axes_have_titles_and_begin_at_zero() {
    let xml = chart_xml(chart(500));
    for part in ["Busy time of steps", "number of the step", "busy time (µs)"] {
        assert!(xml.contains(&format!("<a:t>{part}</a:t>")), "no {part:?} in {xml}");
    }
    assert!(xml.contains(r#"<c:max val="500"/><c:min val="0"/>"#), "{xml}");
}

#[test]
fn a_cut_chart_says_so() {
    let xml = chart_xml(chart(2));
    assert!(xml.contains("<a:t>Busy time of steps (the first 2 of 5)</a:t>"), "{xml}");
    assert!(xml.contains("<c:f>'the steps'!$E$2:$E$3</c:f>"), "{xml}");
}

#[test]
fn a_chart_without_heights_is_left_out() {
    let table = steps(&[("Decode", Some(1), Some(1), f64::NAN)]).with_chart(chart(500)).unwrap();
    assert!(!has_part(&written(&report(vec![table])).0, "xl/charts/chart1.xml"));
}
