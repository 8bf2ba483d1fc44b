//! What changed since the run that is compared with, on the terminal.

use metal_perf::{Comparison, DeltaKind, OpDelta};
use report_writers::terminal::{Color, Grid, TextCell, TextColumn};

use super::columns::{labelled, micros_text};
use super::request::Screen;
use crate::wrapping::wrap;
use answers::numbers::{decimal, grouped};

/// Lines that are printed; the sheet has all.
const MOST_ROWS: usize = 30;
/// A change by less, in percent of the time before, is noise.
const NOISE_PERCENT: f64 = 2.0;

/// The biggest changes as a table, then what is in both runs.
pub(super) fn write(comparison: &Comparison, screen: &Screen, out: &mut String) {
    out.push_str(&format!("\nCompared with {}\n", comparison.baseline));
    let shown: Vec<&OpDelta> =
        comparison.deltas.iter().filter(|delta| is_told(delta)).take(MOST_ROWS).collect();
    let grid = Grid::new(&columns(comparison), shown.iter().copied(), screen.frame, screen.style);
    out.push_str(&grid.text());
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

fn columns(comparison: &Comparison) -> [TextColumn<'_, OpDelta>; 8] {
    let id = |id: Option<u32>| id.map_or(String::new(), |id| id.to_string());
    let time = |time: Option<f64>| time.map_or(String::new(), |us| micros_text(us, 1));
    let change = |change: Option<f64>, unit: &str| {
        change.map_or(String::new(), |change| format!("{} {unit}", signed(change)))
    };
    let color =
        |delta: &OpDelta| delta.delta_us.map(|change| if change > 0.0 { Color::Red } else { Color::Green });
    let Comparison { then_us, now_us, .. } = *comparison;
    let all = now_us - then_us;
    let all_percent = (then_us > 0.0).then(|| all / then_us * 100.0);
    [
        TextColumn::right("ID", move |delta: &OpDelta| id(delta.now_id)),
        TextColumn::right("ID Then", move |delta: &OpDelta| id(delta.then_id)).droppable(2),
        TextColumn::left("OP Code", |delta: &OpDelta| labelled(&delta.label)).with_total("all device time"),
        TextColumn::left("In", |delta: &OpDelta| delta.kind.as_str()).kept(),
        TextColumn::right("Then", move |delta: &OpDelta| time(delta.time_then_us))
            .droppable(1)
            .with_total(micros_text(then_us, 1)),
        TextColumn::right("Now", move |delta: &OpDelta| time(delta.time_now_us))
            .droppable(1)
            .with_total(micros_text(now_us, 1)),
        TextColumn::right("Change", move |delta: &OpDelta| {
            TextCell::new(change(delta.delta_us, "μs"), color(delta))
        })
        .with_total(change(Some(all), "μs")),
        TextColumn::right("Change %", move |delta: &OpDelta| {
            TextCell::new(change(delta.delta_percent, "%"), color(delta))
        })
        .with_total(change(all_percent, "%")),
    ]
}

/// A number with its sign and one decimal.
fn signed(value: f64) -> String {
    let sign = if value < 0.0 { '-' } else { '+' };
    format!("{sign}{}", decimal(value.abs(), 1))
}
