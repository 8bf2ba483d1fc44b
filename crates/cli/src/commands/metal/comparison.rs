//! What changed since the run that is compared with, on the terminal.

use metal_perf::{Comparison, DeltaKind, OpDelta};

use super::request::Screen;
use crate::metal_table::{Align, Cell, Grid, GridColumn, Ink, Priority, micros_text, of_label};
use crate::numbers::{decimal, grouped};
use crate::wrapping::wrap;

/// Lines that are printed; the sheet has all.
const MOST_ROWS: usize = 30;
/// A change by less, in percent of the time before, is noise.
const NOISE_PERCENT: f64 = 2.0;

/// The biggest changes as a table, then what is in both runs.
pub(super) fn write(comparison: &Comparison, screen: &Screen, out: &mut String) {
    out.push_str(&format!("\nCompared with {}\n", comparison.baseline));
    let shown: Vec<&OpDelta> =
        comparison.deltas.iter().filter(|delta| is_told(delta)).take(MOST_ROWS).collect();
    let mut rows: Vec<Vec<Cell>> = shown.iter().map(|delta| row(delta)).collect();
    rows.push(total(comparison));
    let grid = Grid::new(columns(), rows.iter(), screen.frame, screen.paint);
    out.push_str(&grid.head());
    if let Some((total, rows)) = rows.split_last() {
        rows.iter().for_each(|row| out.push_str(&grid.line(row)));
        out.push_str(&grid.rule());
        out.push_str(&grid.line(total));
    }
    out.push_str(&grid.foot());
    let count = |kind: DeltaKind| comparison.deltas.iter().filter(|one| one.kind == kind).count() as u128;
    let text = format!(
        "operations in both runs: {}, of them with other sizes {}; new {}, gone {}; lines not shown {}",
        grouped(count(DeltaKind::Same) + count(DeltaKind::Changed)),
        grouped(count(DeltaKind::Changed)),
        grouped(count(DeltaKind::New)),
        grouped(count(DeltaKind::Gone)),
        grouped((comparison.deltas.len() - shown.len()) as u128),
    );
    wrap(&text, "", "  ", screen.text_width, out);
}

fn total(comparison: &Comparison) -> Vec<Cell> {
    let change = comparison.now_us - comparison.then_us;
    let share = (comparison.then_us > 0.0).then(|| change / comparison.then_us * 100.0);
    let texts = [
        String::new(),
        String::new(),
        "all device time".to_owned(),
        String::new(),
        micros_text(comparison.then_us, 1),
        micros_text(comparison.now_us, 1),
        signed(change) + " μs",
        share.map_or(String::new(), |share| signed(share) + " %"),
    ];
    texts.into_iter().map(|text| Cell::new(text, Some(Ink::Grey))).collect()
}

/// Whether a line is worth the room: operations that come and go, and changes above noise.
fn is_told(delta: &OpDelta) -> bool {
    let is_noise = |share: f64| share.abs() < NOISE_PERCENT;
    match delta.kind {
        DeltaKind::New | DeltaKind::Gone | DeltaKind::Changed => true,
        DeltaKind::Same => {
            delta.delta_us.is_some_and(|change| change != 0.0) && !delta.delta_percent.is_some_and(is_noise)
        }
    }
}

fn columns() -> Vec<GridColumn> {
    let column = |header, align, priority| GridColumn { header, align, least: 0, priority };
    let number = |header, priority| column(header, Align::Right, priority);
    vec![
        number("ID", Priority::Kept),
        number("ID Then", Priority::Dropped(2)),
        column("OP Code", Align::Left, Priority::Shortened),
        column("In", Align::Left, Priority::Kept),
        number("Then", Priority::Dropped(1)),
        number("Now", Priority::Dropped(1)),
        number("Change", Priority::Kept),
        number("Change %", Priority::Kept),
    ]
}

fn row(delta: &OpDelta) -> Vec<Cell> {
    let OpDelta { kind, label, time_then_us, time_now_us, delta_us, delta_percent, .. } = delta;
    let id = |id: Option<u32>| Cell::new(id.map_or(String::new(), |id| id.to_string()), None);
    let time = |time: &Option<f64>| Cell::new(time.map_or(String::new(), |us| micros_text(us, 1)), None);
    let ink = delta_us.map(|change| if change > 0.0 { Ink::Red } else { Ink::Green });
    vec![
        id(delta.now_id),
        id(delta.then_id),
        Cell::new(label.clone(), Some(of_label(label))),
        Cell::new(kind.as_str(), None),
        time(time_then_us),
        time(time_now_us),
        Cell::new(delta_us.map_or(String::new(), |change| signed(change) + " μs"), ink),
        Cell::new(delta_percent.map_or(String::new(), |share| signed(share) + " %"), ink),
    ]
}

/// A number with its sign and one decimal.
fn signed(value: f64) -> String {
    let sign = if value < 0.0 { '-' } else { '+' };
    format!("{sign}{}", decimal(value.abs(), 1))
}
