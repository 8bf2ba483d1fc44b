//! The signposts of a file, with what follows each.

use std::collections::HashMap;

use metal_perf::{MetalReport, Op, OpKind};
use report_writers::terminal::{Grid, TextColumn};

use super::columns::micros_text;
use super::request::Screen;
use answers::numbers::grouped;

/// A signpost with the operations up to the next.
struct Stretch<'a> {
    signpost: &'a Op,
    name: &'a str,
    occurrence: usize,
    ops: &'a [Op],
}

impl Stretch<'_> {
    fn count(&self, kind: OpKind) -> String {
        grouped(self.ops.iter().filter(|op| op.kind == kind).count() as u128)
    }

    fn sum(&self, time: fn(&Op) -> Option<f64>) -> String {
        micros_text(self.ops.iter().filter_map(time).sum(), 0)
    }
}

/// A line per signpost of a report of the whole file: operations and times from it to the next.
pub(super) fn text(report: &MetalReport, screen: &Screen) -> String {
    let is_signpost = |op: &Op| op.kind == OpKind::Signpost;
    let mut occurrences: HashMap<&str, usize> = HashMap::new();
    let stretches = report.ops.chunk_by(|_, next| !is_signpost(next)).filter_map(|stretch| {
        let (signpost, ops) = stretch.split_first().filter(|(first, _)| is_signpost(first))?;
        let name = report.table.text(signpost.raw_op_code);
        let occurrence = occurrences.entry(name).or_default();
        *occurrence += 1;
        Some(Stretch { signpost, name, occurrence: *occurrence, ops })
    });
    let stretches: Vec<Stretch<'_>> = stretches.collect();
    if stretches.is_empty() {
        return "no signposts\n".to_owned();
    }
    let columns = [
        TextColumn::right("ID", |stretch: &Stretch<'_>| stretch.signpost.id.to_string()),
        TextColumn::left("Signpost", |stretch: &Stretch<'_>| stretch.name),
        TextColumn::right("Occurrence", |stretch: &Stretch<'_>| grouped(stretch.occurrence as u128)),
        TextColumn::right("Device ops", |stretch: &Stretch<'_>| stretch.count(OpKind::Device)),
        TextColumn::right("Host ops", |stretch: &Stretch<'_>| stretch.count(OpKind::Host)),
        TextColumn::right("Device Time", |stretch: &Stretch<'_>| stretch.sum(|op| op.device_time_us)),
        TextColumn::right("Op-to-Op Gap", |stretch: &Stretch<'_>| stretch.sum(|op| op.gap_us)),
    ];
    Grid::new(&columns, &stretches, screen.frame, screen.style).text()
}
