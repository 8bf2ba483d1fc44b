//! Columns coloured by group.

use polars::prelude::{DataFrame, df};
use report_writers::{GroupColumns, TableError};

use super::{has_part, part, report, table, written};

fn steps() -> DataFrame {
    df!(
        "step" => [0i64, 1, 2, 3, 4],
        "phase" => ["Prefill", "Decode", "Decode", "Mixed", "Decode"],
        "context" => [Some(15360i64), Some(0), None, Some(8155), Some(0)],
        "generation" => [Some(0i64), Some(32), Some(31), Some(37), None],
        "busy" => [450.0, 6.0, 7.0, 90.0, 5.0],
    )
    .unwrap()
}

fn chart() -> GroupColumns {
    GroupColumns {
        title: "Busy time of steps".into(),
        categories: "step".into(),
        category_axis: "number of the step".into(),
        values: "busy".into(),
        value_axis: "busy time (µs)".into(),
        groups: "phase".into(),
        group_order: ["Prefill", "Decode", "Mixed", "Unknown"].map(String::from).to_vec(),
        labels: vec!["context".into(), "generation".into()],
        max_rows: 500,
    }
}

fn chart_xml(frame: DataFrame, chart: GroupColumns) -> String {
    let table = table("the steps", frame).with_group_columns(chart).unwrap();
    part(&written(&report(vec![table])).0, "xl/charts/chart1.xml")
}

/// The parts of a text that stand between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    text.split(before).skip(1).filter_map(|rest| Some(rest.split_once(after)?.0)).collect()
}

#[test]
fn a_column_per_row_in_the_colour_of_its_group() {
    let xml = chart_xml(steps(), chart());
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
    let xml = chart_xml(steps(), chart());
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
    let xml = chart_xml(steps(), chart());
    let labels: Vec<&str> = between(&xml, "<c:dLbl>", "</c:dLbl>")
        .into_iter()
        .flat_map(|label| between(label, "<a:t>", "</a:t>"))
        .collect();
    assert_eq!(labels, ["15360", "32", "31", "8155+37"], "{xml}");
}

#[test]
fn axes_have_titles_and_begin_at_zero() {
    let xml = chart_xml(steps(), chart());
    for part in ["Busy time of steps", "number of the step", "busy time (µs)"] {
        assert!(xml.contains(&format!("<a:t>{part}</a:t>")), "no {part:?} in {xml}");
    }
    assert!(xml.contains(r#"<c:max val="500"/><c:min val="0"/>"#), "{xml}");
}

#[test]
fn a_cut_chart_says_so() {
    let xml = chart_xml(steps(), GroupColumns { max_rows: 2, ..chart() });
    assert!(xml.contains("<a:t>Busy time of steps (the first 2 of 5)</a:t>"), "{xml}");
    assert!(xml.contains("<c:f>'the steps'!$E$2:$E$3</c:f>"), "{xml}");
}

#[test]
fn a_chart_without_heights_is_left_out() {
    let frame = df!("step" => [0i64], "phase" => ["Decode"], "context" => [1i64], "generation" => [1i64], "busy" => [Some(f64::NAN)]);
    let table = table("t", frame.unwrap()).with_group_columns(chart()).unwrap();
    assert!(!has_part(&written(&report(vec![table])).0, "xl/charts/chart1.xml"));
}

#[test]
fn columns_that_are_missing_or_no_numbers_are_refused() {
    let with = |chart| table("t", steps()).with_group_columns(chart);
    let missing = with(GroupColumns { groups: "kind".into(), ..chart() });
    assert!(matches!(missing, Err(TableError::ChartColumn { ref column, .. }) if column == "kind"));
    let text = with(GroupColumns { labels: vec!["phase".into()], ..chart() });
    assert!(matches!(text, Err(TableError::ChartValues { ref column, .. }) if column == "phase"));
}
