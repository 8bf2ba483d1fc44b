//! What changed since the run that is compared with.

use metal_perf::{DeltaKind, MetalReport, OpDelta, compare};
use polars::prelude::{DataFrame, PolarsResult};
use tree_perf::{Column, ColumnKind, FrameBuilder, Sheet};

use super::request::Screen;
use crate::metal_table::{Align, Cell, Grid, GridColumn, Ink, Priority, micros_text, of_label};
use crate::numbers::{decimal, grouped};
use crate::wrapping::wrap;

/// Lines that are printed; the sheet has all.
const MOST_ROWS: usize = 30;
/// A change by less, in percent of the time before, is noise.
const NOISE_PERCENT: f64 = 2.0;

/// Two runs side by side.
pub(crate) struct Comparison {
    deltas: Vec<Delta>,
    then_us: f64,
    now_us: f64,
    /// Name of the file that is compared with.
    baseline: String,
}

/// An operation in both, with its lines of the files.
struct Delta {
    delta: OpDelta,
    then_id: Option<u32>,
    now_id: Option<u32>,
}

impl Delta {
    fn change(&self) -> f64 {
        self.delta.delta_us.unwrap_or(0.0)
    }
}

impl Comparison {
    /// The biggest changes first.
    pub(super) fn new(baseline: &MetalReport, now: &MetalReport) -> Self {
        let id = |report: &MetalReport, position: Option<usize>| Some(report.ops.get(position?)?.id);
        let mut deltas: Vec<Delta> = compare(baseline, now)
            .into_iter()
            .map(|delta| Delta { then_id: id(baseline, delta.baseline), now_id: id(now, delta.now), delta })
            .collect();
        deltas.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
        let file = baseline.table.files.first().map(|file| file.path.as_path());
        let name = file.and_then(|path| path.file_name()).unwrap_or_default();
        Comparison {
            deltas,
            then_us: baseline.totals.device_time_us,
            now_us: now.totals.device_time_us,
            baseline: name.to_string_lossy().into_owned(),
        }
    }

    pub(super) fn write(&self, screen: &Screen, out: &mut String) {
        out.push_str(&format!("\nCompared with {}\n", self.baseline));
        let shown: Vec<&Delta> = self.deltas.iter().filter(|delta| is_told(delta)).take(MOST_ROWS).collect();
        let mut rows: Vec<Vec<Cell>> = shown.iter().map(|delta| row(delta)).collect();
        rows.push(self.total());
        let grid = Grid::new(columns(), rows.iter(), screen.frame, screen.paint);
        out.push_str(&grid.head());
        if let Some((total, rows)) = rows.split_last() {
            rows.iter().for_each(|row| out.push_str(&grid.line(row)));
            out.push_str(&grid.rule());
            out.push_str(&grid.line(total));
        }
        out.push_str(&grid.foot());
        let count = |kind: DeltaKind| self.deltas.iter().filter(|one| one.delta.kind == kind).count() as u128;
        let text = format!(
            "operations in both runs: {}, of them with other sizes {}; new {}, gone {}; lines not shown {}",
            grouped(count(DeltaKind::Same) + count(DeltaKind::Changed)),
            grouped(count(DeltaKind::Changed)),
            grouped(count(DeltaKind::New)),
            grouped(count(DeltaKind::Gone)),
            grouped((self.deltas.len() - shown.len()) as u128),
        );
        wrap(&text, "", "  ", screen.text_width, out);
    }

    fn total(&self) -> Vec<Cell> {
        let change = self.now_us - self.then_us;
        let share = (self.then_us > 0.0).then(|| change / self.then_us * 100.0);
        let texts = [
            String::new(),
            String::new(),
            "all device time".to_owned(),
            String::new(),
            micros_text(self.then_us, 1),
            micros_text(self.now_us, 1),
            signed(change) + " μs",
            share.map_or(String::new(), |share| signed(share) + " %"),
        ];
        texts.into_iter().map(|text| Cell::new(text, Some(Ink::Grey))).collect()
    }
}

/// Whether a line is worth the room: operations that come and go, and changes above noise.
fn is_told(delta: &Delta) -> bool {
    let is_noise = |share: f64| share.abs() < NOISE_PERCENT;
    match delta.delta.kind {
        DeltaKind::New | DeltaKind::Gone | DeltaKind::Changed => true,
        DeltaKind::Same => delta.change() != 0.0 && !delta.delta.delta_percent.is_some_and(is_noise),
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

fn row(delta: &Delta) -> Vec<Cell> {
    let OpDelta { kind, label, time_then_us, time_now_us, delta_us, delta_percent, .. } = &delta.delta;
    let id = |id: Option<u32>| Cell::new(id.map_or(String::new(), |id| id.to_string()), None);
    let time = |time: &Option<f64>| Cell::new(time.map_or(String::new(), |us| micros_text(us, 1)), None);
    let ink = delta_us.map(|change| if change > 0.0 { Ink::Red } else { Ink::Green });
    vec![
        id(delta.now_id),
        id(delta.then_id),
        Cell::new(label.clone(), Some(of_label(label))),
        Cell::new(kind_text(*kind), None),
        time(time_then_us),
        time(time_now_us),
        Cell::new(delta_us.map_or(String::new(), |change| signed(change) + " μs"), ink),
        Cell::new(delta_percent.map_or(String::new(), |share| signed(share) + " %"), ink),
    ]
}

fn kind_text(kind: DeltaKind) -> &'static str {
    match kind {
        DeltaKind::Same => "both",
        DeltaKind::Changed => "both, other sizes",
        DeltaKind::New => "new",
        DeltaKind::Gone => "gone",
    }
}

/// A number with its sign and one decimal.
fn signed(value: f64) -> String {
    let sign = if value < 0.0 { '-' } else { '+' };
    format!("{sign}{}", decimal(value.abs(), 1))
}

/// The comparison as a sheet, the biggest changes first.
pub(crate) const SHEET: Sheet<Comparison> = Sheet::new(
    "baseline",
    "An operation of this run, of the one that it is compared with (--baseline), or of both; biggest changes first.",
    &[
        Column::new("ID", ColumnKind::Identifier, "ID in this run; empty for operations that are gone."),
        Column::new("baseline ID", ColumnKind::Identifier, "ID in the other run; empty for new operations."),
        Column::new("OP Code", ColumnKind::Text, "Operation with the sizes of what it computes."),
        Column::new(
            "in",
            ColumnKind::Text,
            "both; both, other sizes; new; gone. Operations are matched by name and sizes in the longest common sequence, and between those by name.",
        ),
        Column::new(
            "baseline Device Time",
            ColumnKind::Microseconds,
            "Time on the device in the other run, in µs.",
        ),
        Column::new("Device Time", ColumnKind::Microseconds, "Time on the device in this run, in µs."),
        Column::new(
            "change",
            ColumnKind::Microseconds,
            "Device Time − baseline Device Time, in µs; an operation that a run lacks has taken none in it.",
        ),
        Column::new("change %", ColumnKind::Percent, "change / baseline Device Time × 100."),
    ],
    frame,
);

fn frame(comparison: &Comparison) -> PolarsResult<Option<DataFrame>> {
    let of = || comparison.deltas.iter();
    let mut frame = FrameBuilder::default();
    frame.integer("ID", of().map(|one| one.now_id.map(Into::into)));
    frame.integer("baseline ID", of().map(|one| one.then_id.map(Into::into)));
    frame.text("OP Code", of().map(|one| Some(&one.delta.label)));
    frame.text("in", of().map(|one| Some(kind_text(one.delta.kind))));
    frame.float("baseline Device Time", of().map(|one| one.delta.time_then_us));
    frame.float("Device Time", of().map(|one| one.delta.time_now_us));
    frame.float("change", of().map(|one| one.delta.delta_us));
    frame.float("change %", of().map(|one| one.delta.delta_percent));
    frame.finish().map(Some)
}
