//! Scatter charts with points from another table.

use std::error::Error;

use report_writers::{Report, WRITERS};
use sheets::{Chart, ChartShape, ColumnKind, ScatterPoints, Table, Unit};

use super::column;
use super::grouped::between;
use super::workbook::{has_part, part, report, written};

const NUMBER: ColumnKind = ColumnKind::Number(Unit::One);

#[derive(Clone, Copy)]
struct Point {
    name: &'static str,
    spec: &'static str,
    intensity: f64,
    rate: f64,
    share: f64,
}

/// Two groups that stand together; the last row has no place on a logarithmic axis.
const POINTS: [Point; 5] = [
    Point { name: "mm", spec: "matrix", intensity: 300.0, rate: 600.0, share: 60.0 },
    Point { name: "mm", spec: "matrix", intensity: 200.0, rate: 300.0, share: 20.0 },
    Point { name: "bmm", spec: "matrix", intensity: 0.5, rate: 1.0, share: 5.0 },
    Point { name: "add", spec: "vector", intensity: 0.25, rate: 0.5, share: 0.5 },
    Point { name: "mul", spec: "vector", intensity: 0.0, rate: 0.0, share: 14.5 },
];

fn points(points: [Point; 5]) -> Table {
    let columns = vec![
        column("name", ColumnKind::Text, points.map(|point| point.name)),
        column("spec", ColumnKind::Text, points.map(|point| point.spec)),
        column("intensity", NUMBER, points.map(|point| point.intensity)),
        column("rate", NUMBER, points.map(|point| point.rate)),
        column("share", NUMBER, points.map(|point| point.share)),
    ];
    Table::new("points", columns).unwrap()
}

fn roofs() -> Table {
    let columns = vec![
        column("spec", ColumnKind::Text, [None, None, Some("matrix"), Some("matrix")]),
        column("label", ColumnKind::Text, ["memory", "memory", "matrix: 1000", "matrix: 1000"]),
        column("at", NUMBER, [0.1, 250.0, 250.0, 1000.0]),
        column("height", NUMBER, [0.4, 1000.0, 1000.0, 1000.0]),
    ];
    Table::new("the roofs", columns).unwrap()
}

fn chart() -> Chart {
    let points = ScatterPoints {
        table: "points",
        x: "intensity",
        y: "rate",
        groups: "spec",
        labels: "name",
        weights: "share",
        thresholds: &[10.0, 1.0],
    };
    let shape = ChartShape::Scatter { x: "at", x_axis: "intensity (FLOP/byte)", groups: "spec", points };
    Chart::new("Rooflines", "label", "height", "rate (TFLOP/s)", shape)
}

fn of(rows: [Point; 5], chart: Chart) -> Result<Report, Box<dyn Error>> {
    Ok(Report::new("Sample", vec![roofs().with_chart(chart)?, points(rows)])?)
}

fn chart_xml(rows: [Point; 5], chart: Chart) -> String {
    part(&written(&of(rows, chart).unwrap()).0, "xl/charts/chart1.xml")
}

#[test]
fn series_are_the_lines_and_the_groups_by_size() {
    let xml = chart_xml(POINTS, chart());
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
fn points_that_are_the_rows_of_the_table_have_no_lines() {
    let Chart { shape: ChartShape::Scatter { x_axis, points: described, .. }, .. } = chart() else {
        unreachable!("the chart above is one of points")
    };
    let shape = ChartShape::Scatter { x: "intensity", x_axis, groups: "spec", points: described };
    let own = Chart::new("Points", "name", "rate", "rate (TFLOP/s)", shape);
    let report = Report::new("Sample", vec![points(POINTS).with_chart(own).unwrap()]).unwrap();
    let xml = part(&written(&report).0, "xl/charts/chart1.xml");
    assert_eq!(between(&xml, r#"<c:symbol val=""#, r#"""#), ["circle", "circle", "circle"]);
}

#[test]
fn a_line_has_the_colour_of_the_points_of_its_group() {
    let xml = chart_xml(POINTS, chart());
    let first_colour = |series: &&str| between(series, r#"<a:srgbClr val=""#, r#"""#)[0].to_owned();
    let colours: Vec<String> = between(&xml, "<c:ser>", "</c:ser>").iter().map(first_colour).collect();
    assert_eq!(colours[1..4], ["0072B2", "0072B2", "0072B2"]);
    assert_eq!([&colours[0], &colours[4]], ["595959", "E69F00"]);
}

#[test]
fn both_axes_are_logarithmic_titled_and_cross_at_their_least() {
    let xml = chart_xml(POINTS, chart());
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
    let xml = chart_xml(POINTS, chart());
    let labels = between(&xml, "<c:dLbl>", "</c:dLbl>");
    let texts: Vec<&str> = labels.iter().flat_map(|label| between(label, "<a:t>", "</a:t>")).collect();
    assert_eq!(texts, ["mm", "bmm", "add"], "{xml}");
    let deleted = labels.iter().filter(|label| label.contains(r#"<c:delete val="1"/>"#)).count();
    assert_eq!(deleted, 1, "the second mm: {xml}");
}

#[test]
fn nothing_to_draw_is_no_chart() {
    let (bytes, warnings) =
        written(&of(POINTS.map(|point| Point { rate: f64::NAN, ..point }), chart()).unwrap());
    assert_eq!(warnings, []);
    assert!(!has_part(&bytes, "xl/charts/chart1.xml"));
}

#[test]
fn rows_of_a_group_that_are_apart_are_still_one_series() {
    let specs = ["matrix", "vector", "matrix", "vector", "vector"];
    let shares = [50.0, 50.0, 50.0, 5.0, 5.0];
    let mut mixed = POINTS;
    for (row, point) in mixed.iter_mut().enumerate() {
        (point.spec, point.share) = (specs[row], shares[row]);
    }
    let xml = chart_xml(mixed, chart());
    assert!(xml.contains("<c:f>(points!$D$2,points!$D$4)</c:f>"), "{xml}");
}

#[test]
fn what_a_chart_names_must_be_there() {
    type Change = fn(&mut Chart, &mut &'static str, &mut ScatterPoints);
    let refused = |change: Change| {
        let mut changed = chart();
        let ChartShape::Scatter { x, points, .. } = &mut changed.shape else { panic!("no scatter chart") };
        let (mut own_x, mut own_points) = (*x, *points);
        change(&mut changed, &mut own_x, &mut own_points);
        let ChartShape::Scatter { x, points, .. } = &mut changed.shape else { panic!("no scatter chart") };
        (*x, *points) = (own_x, own_points);
        of(POINTS, changed).unwrap_err().to_string()
    };
    let changes: [(Change, &str); 6] = [
        (|_, x, _| *x = "x", "needs column `x`, which table `the roofs` lacks"),
        (|chart, _, _| chart.values = "label", "cannot draw column `label` of table `the roofs`"),
        (|chart, _, _| chart.categories = "x", "needs column `x`, which table `the roofs`"),
        (|_, _, points| points.table = "dots", "needs table `dots`, which the report lacks"),
        (|_, _, points| points.labels = "kind", "needs column `kind`, which table `points`"),
        (|_, _, points| points.weights = "name", "cannot draw column `name` of table `points`"),
    ];
    for (change, expected) in changes {
        let error = refused(change);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn writers_without_pictures_ignore_the_chart() {
    let root = tempfile::tempdir().unwrap();
    let with_chart = of(POINTS, chart()).unwrap();
    let without = report(vec![roofs(), points(POINTS)]);
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
