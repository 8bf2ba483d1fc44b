//! Scatter charts with points from another table.

use polars::prelude::{DataFrame, df};
use report_writers::{
    Report, ScatterAxis, ScatterChart, ScatterPoints, ScatterWeights, Table, TableError, WRITERS,
};

use super::{has_part, part, table, written};

/// Two groups that stand together; the last row has no place on a logarithmic axis.
fn points() -> DataFrame {
    df!(
        "name" => ["mm", "mm", "bmm", "add", "mul"],
        "spec" => ["matrix", "matrix", "matrix", "vector", "vector"],
        "intensity" => [300.0, 200.0, 0.5, 0.25, 0.0],
        "rate" => [600.0, 300.0, 1.0, 0.5, 0.0],
        "share" => [60.0, 20.0, 5.0, 0.5, 14.5],
    )
    .unwrap()
}

fn lines() -> DataFrame {
    df!(
        "spec" => [None, None, Some("matrix"), Some("matrix")],
        "label" => ["memory", "memory", "matrix: 1000", "matrix: 1000"],
        "at" => [0.1, 250.0, 250.0, 1000.0],
        "height" => [0.4, 1000.0, 1000.0, 1000.0],
    )
    .unwrap()
}

fn chart() -> ScatterChart {
    let axis = |column: &str, title: &str| ScatterAxis { column: column.into(), title: title.into() };
    ScatterChart {
        title: "Rooflines".into(),
        x: axis("at", "intensity (FLOP/byte)"),
        y: axis("height", "rate (TFLOP/s)"),
        groups: "spec".into(),
        names: "label".into(),
        points: ScatterPoints {
            table: "points".into(),
            x: "intensity".into(),
            y: "rate".into(),
            groups: "spec".into(),
            labels: "name".into(),
            weights: ScatterWeights { column: "share".into(), thresholds: vec![10.0, 1.0] },
        },
    }
}

fn report(points: DataFrame, chart: ScatterChart) -> Result<Report, TableError> {
    let roofs = table("the roofs", lines()).with_scatter(chart)?;
    Report::new("Sample", vec![roofs, table("points", points)])
}

fn chart_xml(points: DataFrame, chart: ScatterChart) -> String {
    part(&written(&report(points, chart).unwrap()).0, "xl/charts/chart1.xml")
}

/// The parts of a text that stand between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    text.split(before).skip(1).filter_map(|rest| Some(rest.split_once(after)?.0)).collect()
}

#[test]
fn series_are_the_lines_and_the_groups_by_size() {
    let xml = chart_xml(points(), chart());
    assert!(xml.contains("<c:scatterChart>"), "{xml}");
    let series: Vec<Vec<&str>> = between(&xml, "<c:ser>", "</c:ser>")
        .iter()
        .map(|series| between(series, "<c:f>", "</c:f>"))
        .collect();
    let expected = [
        ["'the roofs'!$B$2", "'the roofs'!$C$2:$C$3", "'the roofs'!$D$2:$D$3"],
        ["'the roofs'!$B$4", "'the roofs'!$C$4:$C$5", "'the roofs'!$D$4:$D$5"],
        ["points!$B$2", "points!$C$2:$C$3", "points!$D$2:$D$3"],
        ["points!$B$4", "points!$C$4", "points!$D$4"],
        ["points!$B$5", "points!$C$5", "points!$D$5"],
    ];
    assert_eq!(series, expected, "{xml}");
    // Lines have no markers; the sizes are those of the classes.
    assert_eq!(between(&xml, r#"<c:symbol val=""#, r#"""#), ["none", "none", "circle", "circle", "circle"]);
    assert_eq!(between(&xml, r#"<c:size val=""#, r#"""#), ["14", "10", "5"]);
    // The second class of `matrix` is not in the legend again.
    assert_eq!(
        between(&xml, "<c:legendEntry>", "</c:legendEntry>"),
        [r#"<c:idx val="3"/><c:delete val="1"/>"#]
    );
}

#[test]
fn a_line_has_the_colour_of_the_points_of_its_group() {
    let xml = chart_xml(points(), chart());
    let first_colour = |series: &&str| between(series, r#"<a:srgbClr val=""#, r#"""#)[0].to_owned();
    let colours: Vec<String> = between(&xml, "<c:ser>", "</c:ser>").iter().map(first_colour).collect();
    assert_eq!(colours[1..4], ["0072B2", "0072B2", "0072B2"]);
    assert_eq!([&colours[0], &colours[4]], ["595959", "E69F00"]);
}

#[test]
fn both_axes_are_logarithmic_titled_and_cross_at_their_least() {
    let xml = chart_xml(points(), chart());
    let axes = between(&xml, "<c:valAx>", "</c:valAx>");
    assert_eq!(axes.len(), 2, "{xml}");
    for (axis, (title, least, most)) in
        axes.into_iter().zip([("intensity (FLOP/byte)", "0.1", "1000"), ("rate (TFLOP/s)", "0.1", "2000")])
    {
        for expected in [
            r#"<c:logBase val="10"/>"#.to_owned(),
            format!("<a:t>{title}</a:t>"),
            format!(r#"<c:min val="{least}"/>"#),
            format!(r#"<c:max val="{most}"/>"#),
            r#"<c:crosses val="min"/>"#.to_owned(),
        ] {
            assert!(axis.contains(&expected), "{expected} is not in {axis}");
        }
    }
}

#[test]
fn the_heaviest_point_of_a_name_is_labelled_and_no_other() {
    let xml = chart_xml(points(), chart());
    let labels = between(&xml, "<c:dLbl>", "</c:dLbl>");
    let texts: Vec<&str> = labels.iter().flat_map(|label| between(label, "<a:t>", "</a:t>")).collect();
    assert_eq!(texts, ["mm", "bmm", "add"], "{xml}");
    let deleted = labels.iter().filter(|label| label.contains(r#"<c:delete val="1"/>"#)).count();
    assert_eq!(deleted, 1, "the second mm: {xml}");
}

#[test]
fn nothing_to_draw_is_no_chart() {
    let mut nowhere = points();
    nowhere.with_column(polars::prelude::Column::new("rate".into(), [f64::NAN; 5])).unwrap();
    let (bytes, warnings) = written(&report(nowhere, chart()).unwrap());
    assert_eq!(warnings, []);
    assert!(!has_part(&bytes, "xl/charts/chart1.xml"));
}

#[test]
fn rows_of_a_group_that_are_apart_are_still_one_series() {
    let mut mixed = points();
    let specs = ["matrix", "vector", "matrix", "vector", "vector"];
    mixed.with_column(polars::prelude::Column::new("spec".into(), specs)).unwrap();
    mixed.with_column(polars::prelude::Column::new("share".into(), [50.0, 50.0, 50.0, 5.0, 5.0])).unwrap();
    let xml = chart_xml(mixed, chart());
    assert!(xml.contains("<c:f>(points!$D$2,points!$D$4)</c:f>"), "{xml}");
}

#[test]
fn what_a_chart_names_must_be_there() {
    type Change = fn(&mut ScatterChart);
    let refused = |change: Change| {
        let mut changed = chart();
        change(&mut changed);
        report(points(), changed).unwrap_err().to_string()
    };
    let changes: [(Change, &str); 6] = [
        (|chart| chart.x.column = "x".into(), "needs column `x`, which table `the roofs` does not have"),
        (|chart| chart.y.column = "label".into(), "column `label` of table `the roofs`: its dtype is"),
        (|chart| chart.names = "x".into(), "needs column `x`, which table `the roofs`"),
        (|chart| chart.points.table = "dots".into(), "needs table `dots`, which the report does not have"),
        (|chart| chart.points.labels = "kind".into(), "needs column `kind`, which table `points`"),
        (|chart| chart.points.weights.column = "name".into(), "column `name` of table `points`: its dtype"),
    ];
    for (change, expected) in changes {
        let error = refused(change);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn writers_without_pictures_ignore_the_chart() {
    let root = tempfile::tempdir().unwrap();
    let with_chart = report(points(), chart()).unwrap();
    let plain: Vec<Table> = vec![table("the roofs", lines()), table("points", points())];
    let without = Report::new("Sample", plain).unwrap();
    for writer in WRITERS.iter().filter(|writer| writer.name() != "xlsx") {
        let write = |report: &Report, to: &str| {
            let paths = writer.write(report, &root.path().join(to)).unwrap().paths;
            paths.iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>()
        };
        let (charted, uncharted) =
            (write(&with_chart, &format!("{}.with", writer.name())), write(&without, writer.name()));
        assert!(charted == uncharted && !charted.is_empty(), "{}", writer.name());
    }
}
