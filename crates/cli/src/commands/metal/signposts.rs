//! The signposts of a file, with what follows each.

use metal_perf::{MetalReport, Op, OpKind};

use super::request::Screen;
use crate::metal_table::{Align, Cell, Grid, GridColumn, Priority, micros_text};
use crate::numbers::grouped;

/// A line per signpost of a report of the whole file: operations and times from it to the next.
pub(super) fn text(report: &MetalReport, screen: &Screen) -> String {
    let is_signpost = |op: &Op| op.kind == OpKind::Signpost;
    if !report.ops.iter().any(is_signpost) {
        return "no signposts\n".to_owned();
    }
    let column = |header, align, priority| GridColumn { header, align, least: 0, priority };
    let number = |header| column(header, Align::Right, Priority::Kept);
    let columns = vec![
        number("ID"),
        column("Signpost", Align::Left, Priority::Shortened),
        number("Occurrence"),
        number("Device ops"),
        number("Host ops"),
        number("Device Time"),
        number("Op-to-Op Gap"),
    ];
    let mut names: Vec<&str> = Vec::new();
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for stretch in report.ops.chunk_by(|_, next| !is_signpost(next)) {
        let Some((signpost, ops)) = stretch.split_first().filter(|(first, _)| is_signpost(first)) else {
            continue;
        };
        let name = report.table.text(signpost.raw_op_code);
        names.push(name);
        let occurrence = names.iter().filter(|one| **one == name).count();
        let of_kind = |kind| grouped(ops.iter().filter(|op| op.kind == kind).count() as u128);
        let sum = |time: fn(&Op) -> Option<f64>| micros_text(ops.iter().filter_map(time).sum(), 0);
        let cells = [
            signpost.id.to_string(),
            name.to_owned(),
            grouped(occurrence as u128),
            of_kind(OpKind::Device),
            of_kind(OpKind::Host),
            sum(|op| op.device_time_us),
            sum(|op| op.gap_us),
        ];
        rows.push(cells.into_iter().map(|text| Cell::new(text, None)).collect());
    }
    let grid = Grid::new(columns, rows.iter(), screen.frame, screen.paint);
    let mut text = grid.head();
    rows.iter().for_each(|row| text.push_str(&grid.line(row)));
    text.push_str(&grid.foot());
    text
}
