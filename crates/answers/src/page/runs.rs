//! What there is to show of several runs or ranks: waterfalls, what differs, bars by rank.

use report_writers::Report as Tables;
use report_writers::page::{Difference, DifferingUnit, Page, StackedBar, StackedBars, Waterfall};
use sheets::{Cell, Table};
use trace_diff::{Comparison, LedgerItem, TreeDiff, waterfall};

use super::device_work::{COMMUNICATION, COPIES, EXPOSED, IDLE};

/// Pieces of differing work that are shown.
const MOST_UNITS: usize = 2_000;

/// The waterfall of a comparison; `None` where it has no times.
pub(super) fn waterfall_of(comparison: &Comparison) -> Option<Waterfall> {
    let steps = waterfall(comparison);
    let wholes: Vec<f64> = steps.iter().filter_map(|step| step.whole_us).collect();
    let &[first, last] = wholes.as_slice() else { return None };
    let ns = |us: f64| (us * 1e3).round() as i64;
    // Levels are rounded, not changes, so that these add up.
    let (mut level, mut before) = (first, ns(first));
    let mut changes = Vec::new();
    for step in &steps {
        let Some(delta) = step.delta_us else { continue };
        level += delta;
        changes.push((step.name.clone(), ns(level) - before));
        before = ns(level);
    }
    if let Some((_, change)) = changes.last_mut() {
        *change += ns(last) - before;
    }
    Some(Waterfall {
        title: "From the time of the first run to that of the second, part by part.".to_owned(),
        runs: comparison.names.clone(),
        totals_ns: [ns(first), ns(last)],
        steps: changes,
    })
}

/// Two aligned trees: the ledger as a waterfall, and the work that differs.
pub(super) fn trees(diff: &TreeDiff, page: &mut Page) {
    let per_nanosecond = diff.time_unit().per_microsecond() / 1_000;
    let ns = |time: i64| time / per_nanosecond;
    let runs = ["A", "B"].map(ToOwned::to_owned);
    let mut lines = diff.ledger();
    if let Some(total) = lines.pop().filter(|line| line.item == LedgerItem::Total && line.times != [0, 0]) {
        let (mut level, mut before) = (total.times[0], ns(total.times[0]));
        let mut changes = Vec::new();
        for line in lines.iter().filter(|line| line.delta() != 0) {
            level += line.delta();
            changes.push((line.item.name(), ns(level) - before));
            before = ns(level);
        }
        page.waterfall = Some(Waterfall {
            title: "From the first to the last device event of each run; the parts add up.".to_owned(),
            runs: runs.clone(),
            totals_ns: total.times.map(ns),
            steps: merged(changes),
        });
    }
    let groups = diff.unit_groups();
    let mut units = groups.into_iter().filter(|group| group.delta() != 0);
    let shown = units.by_ref().take(MOST_UNITS).map(|group| {
        let name = match &group.names {
            [a, b] if a == b || b.is_empty() => a.clone(),
            [a, b] if a.is_empty() => b.clone(),
            [a, b] => format!("{a} → {b}"),
        };
        DifferingUnit {
            place: group.module.clone(),
            name,
            status: group.status.as_str().replace('-', " "),
            count: group.count,
            times_ns: group.busy.map(ns),
            kernels: group.kernels,
        }
    });
    let shown: Vec<DifferingUnit> = shown.collect();
    let left_out = units.fold((0, 0), |(count, time), group| (count + 1, time + ns(group.delta())));
    page.difference = Some(Difference { runs, units: shown, left_out });
}

/// The largest changes; the others are one.
fn merged(mut changes: Vec<(String, i64)>) -> Vec<(String, i64)> {
    /// Columns that have room for their names.
    const MOST: usize = 12;
    if changes.len() > MOST {
        let others: i64 = changes.drain(MOST - 1..).map(|(_, change)| change).sum();
        changes.push(("other changes".to_owned(), others));
    }
    changes
}

/// A bar for each rank of a job, from the sheet with what each took.
pub(super) fn bars_of_ranks(tables: &Tables) -> Option<StackedBars> {
    /// Ranks whose bars are shown.
    const MOST: usize = 1_024;
    let table = tables.tables().iter().find(|table| table.name() == "ranks_overview")?;
    let ns = |column: &str, row: usize| nanoseconds(table, column, row);
    let rank = table.column("rank")?;
    let bar = |row: usize| {
        let computation = ns("computation (ms)", row)?;
        let communication = ns("exposed communication (ms)", row)?;
        let copies = (ns("busy (ms)", row)? - computation - communication).max(0);
        let parts = [computation, communication, copies, ns("idle (ms)", row)?];
        Some(StackedBar::new(format!("rank {}", rank.cell(row).text()), parts.into_iter().enumerate(), 1))
    };
    let bars: Vec<StackedBar> = (0..table.height().min(MOST)).filter_map(bar).collect();
    (!bars.is_empty()).then(|| StackedBars {
        title: "rank by rank".to_owned(),
        note: EXPOSED.to_owned(),
        parts: ["computation", COMMUNICATION, COPIES, IDLE].map(ToOwned::to_owned).to_vec(),
        bars,
        left_out: table.height().saturating_sub(MOST),
    })
}

/// A cell of a column in milliseconds.
fn nanoseconds(table: &Table, column: &str, row: usize) -> Option<i64> {
    match table.column(column)?.cell(row) {
        Cell::Number(ms) if ms.is_finite() => Some((ms * 1e6).round() as i64),
        Cell::Whole(ms) => Some(ms * 1_000_000),
        _ => None,
    }
}
