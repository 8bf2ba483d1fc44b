//! What the names on a page stand for.

use std::collections::BTreeMap;

use perf_models::WorkKind;
use report_writers::page::{MOST_ROWS, Page, PageKind};
use sheets::{ChartShape, ColumnKind, Table};

use super::device_work::{IDLE, IDLE_KINDS};
use crate::report::Report;

/// The kinds of all names that the page colours.
pub(super) fn kinds(page: &Page, report: &Report) -> BTreeMap<String, PageKind> {
    let mut kinds = BTreeMap::new();
    let mut add = |name: &str| {
        if !kinds.contains_key(name)
            && let Some(kind) = kind(name)
        {
            kinds.insert(name.to_owned(), PageKind { kind, backward: name.ends_with("_bwd") });
        }
    };
    let ranks = page.communication.iter().flat_map(|communication| &communication.ranks);
    page.bars.iter().chain(ranks).flat_map(|bars| &bars.parts).for_each(|name| add(name));
    page.icicles.iter().flat_map(|icicle| &icicle.nodes).for_each(|node| add(&node.category));
    page.timeline.iter().flat_map(|timeline| &timeline.categories).for_each(|name| add(name));
    page.rooflines.iter().flat_map(|roofline| &roofline.points).for_each(|point| add(&point.category));
    report.tables.tables().iter().for_each(|table| names_of_chart(table, &mut add));
    kinds
}

fn kind(name: &str) -> Option<&'static str> {
    let idle = IDLE_KINDS.iter().find(|idle| idle.name == name).map(|idle| idle.kind);
    idle.or((name == IDLE).then_some(IDLE)).or_else(|| WorkKind::from_label(name).map(WorkKind::as_str))
}

/// The names that colour the chart of a table: its categories or the names of its rows, or the groups of its columns.
fn names_of_chart(table: &Table, add: &mut impl FnMut(&str)) {
    let Some(chart) = table.chart() else { return };
    let category = table.columns().iter().find(|column| {
        let is_text = matches!(column.kind(), ColumnKind::Text | ColumnKind::Names);
        is_text && column.name().to_ascii_lowercase().contains("categor")
    });
    let names = match chart.shape {
        ChartShape::Grouped { groups, .. } => table.column(groups),
        ChartShape::Bars(_) => category.or_else(|| table.column(chart.categories)),
        _ => None,
    };
    for cell in names.iter().flat_map(|column| column.cells()).take(MOST_ROWS) {
        let text = cell.text();
        add(text.split(", ").next().unwrap_or_default());
    }
}
