//! What the names on a page stand for.

use std::collections::BTreeMap;

use perf_models::WorkKind;
use report_writers::page::{MOST_ROWS, Page, PageKind};
use sheets::{ChartShape, ColumnKind, Table};

use super::device_work::{HOST_CALL, HOST_OPERATOR, HOST_RANGE, IDLE, IDLE_KINDS};
use crate::report::Report;

/// Fill and letter of each kind. The fills of work are based on those of Okabe and Ito, which the colour-blind tell apart;
/// causes of idle time are lighter and have digits, backward parts are lighter and have small letters, and what the host
/// did shows its names.
const LOOKS: [(&str, &str, &str); 33] = [
    ("gemm", "#0072b2", "G"),
    ("attention", "#d55e00", "A"),
    ("convolution", "#56b4e9", "V"),
    ("normalization", "#cc79a7", "N"),
    ("softmax", "#b05a9c", "S"),
    ("communication", "#009e73", "C"),
    ("copy", "#c9b400", "M"),
    ("elementwise", "#e69f00", "E"),
    ("reduction", "#8f8f2f", "R"),
    ("optimizer", "#9a6fd0", "O"),
    ("experts", "#3ba99c", "X"),
    ("triton", "#6e78d6", "T"),
    ("computation", "#4f5fa8", "K"),
    ("waiting", "#e0a3a3", "W"),
    ("selection", "#b4605f", "I"),
    ("position", "#7d9a3c", "P"),
    ("movement", "#5b8fb9", "D"),
    (IDLE, "var(--idle)", ""),
    ("late launch", "#f0a58f", "1"),
    ("data loader", "#cbb2e3", "2"),
    ("synchronization", "#8fc1e3", "3"),
    ("blocking copy", "#e3cf6b", "4"),
    ("between kernels", "#a9d6b5", "5"),
    ("already launched", "#c9b8a4", "6"),
    ("allocation", "#e8b3c9", "7"),
    ("initialization", "#d8dca0", "8"),
    ("host operator", "#f3c98b", "9"),
    ("profiler", "#9fd6d2", "0"),
    ("launch not recorded", "#b9bfc7", "?"),
    ("not recorded", "#dfd5cb", "–"),
    (HOST_OPERATOR, "#9db7d5", ""),
    (HOST_CALL, "#d9b99b", ""),
    (HOST_RANGE, "#b5cfae", ""),
];

/// The looks of all names that the page colours.
pub(super) fn kinds(page: &Page, report: &Report) -> BTreeMap<String, PageKind> {
    let mut kinds = BTreeMap::new();
    let mut add = |name: &str| {
        if !kinds.contains_key(name)
            && let Some(look) = look(name)
        {
            kinds.insert(name.to_owned(), look);
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

fn look(name: &str) -> Option<PageKind> {
    let idle = IDLE_KINDS.iter().find(|idle| idle.name == name).map(|idle| idle.kind);
    let is_plain = [IDLE, HOST_OPERATOR, HOST_CALL, HOST_RANGE].contains(&name);
    let kind = idle.or(is_plain.then_some(name));
    let kind = kind.or_else(|| WorkKind::from_label(name).map(WorkKind::as_str))?;
    let &(_, fill, letter) = LOOKS.iter().find(|(of, ..)| *of == kind)?;
    Some(match name.ends_with("_bwd") {
        true => PageKind { fill: lighter(fill), letter: letter.to_lowercase() },
        false => PageKind { fill: fill.to_owned(), letter: letter.to_owned() },
    })
}

/// A colour mixed with white.
fn lighter(fill: &str) -> String {
    const WHITE: f64 = 0.38;
    let channel = |at: usize| {
        let channel =
            fill.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or_default();
        (f64::from(channel) * (1.0 - WHITE) + 255.0 * WHITE).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(1), channel(3), channel(5))
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_kinds_look_alike() {
        let (mut fills, mut letters) = (HashSet::new(), HashSet::new());
        for (kind, fill, letter) in LOOKS {
            assert!(fills.insert(fill.to_owned()), "{kind}: {fill}");
            assert!(letter.is_empty() || letters.insert(letter), "{kind}: {letter}");
            if fill.starts_with('#') {
                assert!(fills.insert(lighter(fill)), "{kind}, backward");
            }
        }
        assert!(IDLE_KINDS.iter().all(|idle| look(idle.name).is_some()));
        assert_eq!(look("SDPA_bwd").unwrap(), PageKind { fill: "#e59b61".into(), letter: "a".into() });
        assert_eq!(look("nothing known"), None);
    }
}
