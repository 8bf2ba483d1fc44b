//! Pictures of several runs or ranks: waterfalls, differences, bars per rank, communication.

use gpu_timeline::SortFew;
use report_writers::Report as Tables;
use report_writers::page::{
    Communication, CommunicationPoint, Difference, DifferingUnit, Page, PagePoint, PageRoofline, PointRates,
    StackedBar, StackedBars, UnitChange, Waterfall,
};
use sheets::columns::{self, collectives, job};
use sheets::names;
use sheets::{Cell, Table};
use trace_diff::{Comparison, Figures, LedgerItem, Row, Subject, TreeDiff, UnitStatus, waterfall};

use super::device_work::{COMMUNICATION, COPIES, EXPOSED, IDLE};

/// Number of pieces of work shown.
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
        title: "Change in time from the first run to the second, part by part.".to_owned(),
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
            title: "Time from the first to the last device event of each run; the parts add up to the difference.".to_owned(),
            runs: runs.clone(),
            totals_ns: total.times.map(ns),
            steps: merged(changes),
        });
    }
    let mut units = diff.unit_groups().into_iter();
    let shown = units.by_ref().take(MOST_UNITS).map(|group| {
        let name = match &group.names {
            [a, b] if a == b || b.is_empty() => a.clone(),
            [a, b] if a.is_empty() => b.clone(),
            [a, b] => format!("{a} → {b}"),
        };
        DifferingUnit {
            modules: group.modules,
            name,
            status: match group.status {
                UnitStatus::SameKernels => UnitChange::Same,
                UnitStatus::ChangedKernels => UnitChange::Kernels,
                UnitStatus::ChangedStructure => UnitChange::Structure,
                UnitStatus::Moved => UnitChange::Moved,
                UnitStatus::OnlyA => UnitChange::OnlyA,
                UnitStatus::OnlyB => UnitChange::OnlyB,
            },
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

/// Calls in both runs, with their rates in each; `None` where no rates are known.
pub(super) fn rates_of(comparison: &Comparison) -> Option<PageRoofline> {
    fn rates(figures: &Figures) -> Option<PointRates> {
        let [tflops, tb_per_s] = figures.rates;
        let tb_per_s = tb_per_s.filter(|&rate| rate > 0.0)?;
        // 1 TB/s is 10⁶ bytes a µs.
        let bytes = tb_per_s * 1e6 * figures.mean_us?;
        Some(PointRates { bytes, tflops: tflops.unwrap_or_default(), tb_per_s, time_us: figures.time_us })
    }
    let point = |row: &Row| {
        let [a, b] = row.figures.each_ref().map(rates);
        let key = |at: usize| row.keys.get(at).cloned().flatten().unwrap_or_default();
        Some(PagePoint {
            name: row.name().to_owned(),
            category: String::new(),
            // The keys are name, types, shapes.
            dims: key(2),
            calls: row.figures[1].calls.unwrap_or_default().round() as usize,
            rates: b?,
            before: Some(a?),
        })
    };
    let tables = comparison.tables.iter().filter(|table| table.subject == Subject::Call);
    let mut points: Vec<PagePoint> = tables
        .map(|table| table.rows.iter().filter_map(point).collect())
        .find(|points: &Vec<_>| !points.is_empty())?;
    points.sort_few_by(|a, b| b.rates.time_us.total_cmp(&a.rates.time_us));
    points.truncate(MOST_UNITS);
    Some(PageRoofline { title: comparison.names.join(" → "), ceilings: None, points })
}

/// Collectives of a job, from the sheet of groups: the exchange alone, without waiting for the last rank.
pub(super) fn communication_of_job(tables: &Tables) -> Option<Communication> {
    let columns = CollectiveColumns {
        table: names::GROUP_SUMMARY,
        name: "collective",
        group: "group",
        bandwidth: collectives::BUS_BANDWIDTH.name,
        count: "count",
        time: job::EXCHANGE.name,
        per_ms: 1.0,
    };
    let ranks = |table: &Table| {
        let rank = table.column("rank")?;
        let bar = |row: usize| {
            let waiting = nanoseconds(table, job::WAITING.name, row)?;
            let exchange = (nanoseconds(table, job::COMMUNICATION.name, row)? - waiting).max(0);
            let parts = [(0, waiting), (1, exchange)];
            Some(StackedBar::new(format!("rank {}", rank.cell(row).text()), parts, 1))
        };
        let bars: Vec<StackedBar> = (0..table.height().min(MOST_RANKS)).filter_map(bar).collect();
        bars.iter().any(|bar| bar.total_ns > 0).then(|| StackedBars {
            title: "communication per rank".to_owned(),
            note: "Time in collectives, including time hidden by computation.".to_owned(),
            parts: ["waiting for other ranks", "communication"].map(ToOwned::to_owned).to_vec(),
            bars,
            left_out: table.height().saturating_sub(MOST_RANKS),
        })
    };
    let points = points_of_collectives(tables, &columns).unwrap_or_default();
    let ranks = named(tables, names::RANKS_OVERVIEW).and_then(ranks);
    (!points.is_empty() || ranks.is_some()).then(|| Communication {
        note: "Bus bandwidth of the transfer alone, without waiting for the last rank.".to_owned(),
        points,
        ranks,
    })
}

/// Collectives of one rank, by their fastest run; the others include waiting for ranks outside this recording.
pub(super) fn communication_of_rank(tables: &Tables) -> Option<Communication> {
    let columns = CollectiveColumns {
        table: names::COLL_ANALYSIS,
        name: collectives::NAME.name,
        group: collectives::GROUP.name,
        bandwidth: collectives::BUS_BANDWIDTH_MAX.name,
        count: columns::OPERATION_COUNT.name,
        time: collectives::DURATION_SUM.name,
        per_ms: 1e3,
    };
    let points = points_of_collectives(tables, &columns).filter(|points| !points.is_empty())?;
    let note = "Bus bandwidth of the fastest call of each collective. Times include waiting for other ranks.";
    Some(Communication { note: note.to_owned(), points, ranks: None })
}

/// Where a sheet has what a point needs.
struct CollectiveColumns {
    table: &'static str,
    name: &'static str,
    group: &'static str,
    bandwidth: &'static str,
    count: &'static str,
    time: &'static str,
    /// Units of the column of times in a ms.
    per_ms: f64,
}

fn points_of_collectives(tables: &Tables, columns: &CollectiveColumns) -> Option<Vec<CommunicationPoint>> {
    let table = named(tables, columns.table)?;
    let text = |name: &str, row: usize| table.column(name).map(|column| column.cell(row).text().into_owned());
    let figure = |name: &str, row: usize| number(&table.column(name)?.cell(row)).filter(|&value| value > 0.0);
    let point = |row: usize| {
        Some(CommunicationPoint {
            name: text(columns.name, row)?,
            group: text(columns.group, row)?,
            bytes: figure(collectives::MESSAGE_SIZE.name, row)?,
            gb_per_s: figure(columns.bandwidth, row)?,
            count: figure(columns.count, row)? as usize,
            time_ms: figure(columns.time, row)? / columns.per_ms,
        })
    };
    let mut points: Vec<CommunicationPoint> = (0..table.height()).filter_map(point).collect();
    points.sort_few_by(|a, b| b.time_ms.total_cmp(&a.time_ms));
    points.truncate(MOST_UNITS);
    Some(points)
}

fn named<'t>(tables: &'t Tables, name: &str) -> Option<&'t Table> {
    tables.tables().iter().find(|table| table.name() == name)
}

/// Number of ranks with a bar.
const MOST_RANKS: usize = 1_024;

/// A bar per rank of a job, from the sheet of their times.
pub(super) fn bars_of_ranks(tables: &Tables) -> Option<StackedBars> {
    let table = named(tables, names::RANKS_OVERVIEW)?;
    let ns = |column: &str, row: usize| nanoseconds(table, column, row);
    let rank = table.column("rank")?;
    let bar = |row: usize| {
        let computation = ns(job::COMPUTATION.name, row)?;
        let communication = ns(job::EXPOSED_COMMUNICATION.name, row)?;
        let copies = (ns(job::BUSY.name, row)? - computation - communication).max(0);
        let parts = [computation, communication, copies, ns(job::IDLE.name, row)?];
        Some(StackedBar::new(format!("rank {}", rank.cell(row).text()), parts.into_iter().enumerate(), 1))
    };
    let bars: Vec<StackedBar> = (0..table.height().min(MOST_RANKS)).filter_map(bar).collect();
    (!bars.is_empty()).then(|| StackedBars {
        title: "per rank".to_owned(),
        note: EXPOSED.to_owned(),
        parts: ["computation", COMMUNICATION, COPIES, IDLE].map(ToOwned::to_owned).to_vec(),
        bars,
        left_out: table.height().saturating_sub(MOST_RANKS),
    })
}

/// A cell of a column in milliseconds.
fn nanoseconds(table: &Table, column: &str, row: usize) -> Option<i64> {
    Some((number(&table.column(column)?.cell(row))? * 1e6).round() as i64)
}

fn number(cell: &Cell) -> Option<f64> {
    match *cell {
        Cell::Number(number) if number.is_finite() => Some(number),
        Cell::Whole(number) => Some(number as f64),
        _ => None,
    }
}
