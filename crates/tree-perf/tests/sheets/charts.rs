//! What a chart draws is in the sheets.

use sheets::ChartShape;
use tree_perf::all_sheets;

#[test]
fn charts_show_columns_of_their_sheets() {
    for sheet in all_sheets() {
        let Some(chart) = sheet.chart else { continue };
        let (any, numbers) = chart.columns();
        for name in any.into_iter().chain(numbers) {
            assert!(sheet.column(name).is_some(), "{}: {name}", sheet.name);
        }
        if let ChartShape::Scatter { points, .. } = chart.shape {
            let other = crate::common::sheet(points.table);
            for name in [points.x, points.y, points.groups, points.labels, points.weights] {
                assert!(other.column(name).is_some(), "{}: {name}", other.name);
            }
        }
    }
}
